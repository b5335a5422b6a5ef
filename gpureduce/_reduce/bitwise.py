"""The public reductions of bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpureduce._reduce.engine import reduction
from gpureduce._reduce.fast_path import fast_path
from gpureduce._reduce.options import Options
from gpureduce._reduce.progress import Progress
from gpureduce._rules.arguments import NO_VALUE

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import DTypeLike

    from gpureduce._reduce.types import AnyArray, Devices, Out, Scalar, Stream


@fast_path
def bitwise_and(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    keepdims: bool = False,
    initial: Scalar | None = NO_VALUE,
    where: AnyArray = True,
    *,
    variant: str = "auto",
    device: Devices = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the bitwise and of integers or bools.

    Parameters
    ----------
    a : array_like or device array
        A NumPy array of any shape, strides, byte order and alignment, whatever `numpy.asarray` takes, or an
        array on a device: a `DeviceArray`, or one that speaks DLPack or ``__cuda_array_interface__``, which
        is read where it lies. Subclasses such as ``numpy.matrix`` are read as plain arrays; masked arrays are
        refused.
    axis : int or tuple of int, optional
        The axes to reduce; None reduces all.
    dtype : dtype_like, optional
        Elements are cast to it, added up in it, and it is the result's. None takes NumPy's choice.
    out : numpy.ndarray or device array, optional
        Where the result goes; it is returned. A host array is cast to, as NumPy does; one on a device
        must have the result's dtype and C order.
    keepdims : bool
        Whether reduced axes stay, with length one.
    initial : scalar, optional
        One more element, for every element of the result.
    where : array_like of bool
        Which elements take part; broadcast to the shape of `a`.
    variant : str
        The kernel: ``"auto"``, or one of `variants` where its record covers the operator, for a whole array.
    device : str, Device or list of them, optional
        ``"cuda"``, ``"cuda:1"`` or ``"sim"``. None takes the device on which `a` lies; for a host array the
        first CUDA device or, when there is none, the simulator, with one `SimulatorWarning`. A list, or
        ``"cuda:all"``, spreads a host array over several: see docs/states.md.
    block_size, grid_size : int, optional
        Threads a block, and blocks of the first pass; with a named variant only.
    stream : int or object, optional
        The CUDA stream to work in: a handle, or an object that has one (``torch.cuda.Stream``,
        ``cupy.cuda.Stream``, anything with ``__cuda_stream__``). None takes the current one of the library of
        the first array on a device, or the stream of a `DeviceArray`. The call comes after what is in it and
        in the streams of the arrays; the host waits only for results that it gets. See docs/streams.md.
    as_device : bool, optional
        Whether the result stays on the device, as a `DeviceArray`. None leaves it there when `a` is there
        and `axis` is given.
    progress : callable or bool, optional
        Called as ``progress(done, total)``, in bytes, every 50 ms or so while a long host array is copied to
        the device, and at its end; an exception that it raises stops the call. True shows a bar, tqdm's where
        that is installed. Only whole contiguous arrays go in steps: other calls do not report, and a named
        variant, which takes the array in one piece, refuses it.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    The axis defaults to None, all axes, unlike that of NumPy's ``ufunc.reduce``.
    No elements give all bits set.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.bitwise_and([0b111, 0b110], device="sim")
    np.int64(6)
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return reduction(
        "bitwise_and",
        a,
        options,
        axis=axis,
        dtype=dtype,
        out=out,
        keepdims=keepdims,
        initial=initial,
        where=where,
    )


@fast_path
def bitwise_or(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    keepdims: bool = False,
    initial: Scalar | None = NO_VALUE,
    where: AnyArray = True,
    *,
    variant: str = "auto",
    device: Devices = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the bitwise or of integers or bools.

    Parameters
    ----------
    a : array_like or device array
        A NumPy array of any shape, strides, byte order and alignment, whatever `numpy.asarray` takes, or an
        array on a device: a `DeviceArray`, or one that speaks DLPack or ``__cuda_array_interface__``, which
        is read where it lies. Subclasses such as ``numpy.matrix`` are read as plain arrays; masked arrays are
        refused.
    axis : int or tuple of int, optional
        The axes to reduce; None reduces all.
    dtype : dtype_like, optional
        Elements are cast to it, added up in it, and it is the result's. None takes NumPy's choice.
    out : numpy.ndarray or device array, optional
        Where the result goes; it is returned. A host array is cast to, as NumPy does; one on a device
        must have the result's dtype and C order.
    keepdims : bool
        Whether reduced axes stay, with length one.
    initial : scalar, optional
        One more element, for every element of the result.
    where : array_like of bool
        Which elements take part; broadcast to the shape of `a`.
    variant : str
        The kernel: ``"auto"``, or one of `variants` where its record covers the operator, for a whole array.
    device : str, Device or list of them, optional
        ``"cuda"``, ``"cuda:1"`` or ``"sim"``. None takes the device on which `a` lies; for a host array the
        first CUDA device or, when there is none, the simulator, with one `SimulatorWarning`. A list, or
        ``"cuda:all"``, spreads a host array over several: see docs/states.md.
    block_size, grid_size : int, optional
        Threads a block, and blocks of the first pass; with a named variant only.
    stream : int or object, optional
        The CUDA stream to work in: a handle, or an object that has one (``torch.cuda.Stream``,
        ``cupy.cuda.Stream``, anything with ``__cuda_stream__``). None takes the current one of the library of
        the first array on a device, or the stream of a `DeviceArray`. The call comes after what is in it and
        in the streams of the arrays; the host waits only for results that it gets. See docs/streams.md.
    as_device : bool, optional
        Whether the result stays on the device, as a `DeviceArray`. None leaves it there when `a` is there
        and `axis` is given.
    progress : callable or bool, optional
        Called as ``progress(done, total)``, in bytes, every 50 ms or so while a long host array is copied to
        the device, and at its end; an exception that it raises stops the call. True shows a bar, tqdm's where
        that is installed. Only whole contiguous arrays go in steps: other calls do not report, and a named
        variant, which takes the array in one piece, refuses it.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    The axis defaults to None, all axes, unlike that of NumPy's ``ufunc.reduce``.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.bitwise_or([[1, 2], [4, 8]], axis=0, device="sim")
    array([ 5, 10])
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return reduction(
        "bitwise_or",
        a,
        options,
        axis=axis,
        dtype=dtype,
        out=out,
        keepdims=keepdims,
        initial=initial,
        where=where,
    )


@fast_path
def bitwise_xor(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    keepdims: bool = False,
    initial: Scalar | None = NO_VALUE,
    where: AnyArray = True,
    *,
    variant: str = "auto",
    device: Devices = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the bitwise exclusive or of integers or bools.

    Parameters
    ----------
    a : array_like or device array
        A NumPy array of any shape, strides, byte order and alignment, whatever `numpy.asarray` takes, or an
        array on a device: a `DeviceArray`, or one that speaks DLPack or ``__cuda_array_interface__``, which
        is read where it lies. Subclasses such as ``numpy.matrix`` are read as plain arrays; masked arrays are
        refused.
    axis : int or tuple of int, optional
        The axes to reduce; None reduces all.
    dtype : dtype_like, optional
        Elements are cast to it, added up in it, and it is the result's. None takes NumPy's choice.
    out : numpy.ndarray or device array, optional
        Where the result goes; it is returned. A host array is cast to, as NumPy does; one on a device
        must have the result's dtype and C order.
    keepdims : bool
        Whether reduced axes stay, with length one.
    initial : scalar, optional
        One more element, for every element of the result.
    where : array_like of bool
        Which elements take part; broadcast to the shape of `a`.
    variant : str
        The kernel: ``"auto"``, or one of `variants` where its record covers the operator, for a whole array.
    device : str, Device or list of them, optional
        ``"cuda"``, ``"cuda:1"`` or ``"sim"``. None takes the device on which `a` lies; for a host array the
        first CUDA device or, when there is none, the simulator, with one `SimulatorWarning`. A list, or
        ``"cuda:all"``, spreads a host array over several: see docs/states.md.
    block_size, grid_size : int, optional
        Threads a block, and blocks of the first pass; with a named variant only.
    stream : int or object, optional
        The CUDA stream to work in: a handle, or an object that has one (``torch.cuda.Stream``,
        ``cupy.cuda.Stream``, anything with ``__cuda_stream__``). None takes the current one of the library of
        the first array on a device, or the stream of a `DeviceArray`. The call comes after what is in it and
        in the streams of the arrays; the host waits only for results that it gets. See docs/streams.md.
    as_device : bool, optional
        Whether the result stays on the device, as a `DeviceArray`. None leaves it there when `a` is there
        and `axis` is given.
    progress : callable or bool, optional
        Called as ``progress(done, total)``, in bytes, every 50 ms or so while a long host array is copied to
        the device, and at its end; an exception that it raises stops the call. True shows a bar, tqdm's where
        that is installed. Only whole contiguous arrays go in steps: other calls do not report, and a named
        variant, which takes the array in one piece, refuses it.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    The axis defaults to None, all axes, unlike that of NumPy's ``ufunc.reduce``.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.bitwise_xor([0b111, 0b110], device="sim")
    np.int64(1)
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return reduction(
        "bitwise_xor",
        a,
        options,
        axis=axis,
        dtype=dtype,
        out=out,
        keepdims=keepdims,
        initial=initial,
        where=where,
    )
