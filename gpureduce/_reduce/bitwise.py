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
        Elements, of any shape, strides, byte order and alignment: a NumPy array, or whatever `numpy.asarray`
        takes; or an array on a device, which is read there without a copy: a `DeviceArray`, or another
        library's array with DLPack or ``__cuda_array_interface__``. Subclasses such as ``numpy.matrix`` are
        read as plain arrays; masked arrays are refused.
    axis : int or tuple of int, optional
        Axes to reduce. None reduces all.
    dtype : dtype_like, optional
        Dtype of the result, to which elements are cast before they are reduced. None takes NumPy's choice.
        The cast of an array on a device makes a temporary copy there.
    out : numpy.ndarray or device array, optional
        Array of the shape of the result, which receives it and is returned. The result is cast to the dtype
        of a host array, as NumPy does; an array on a device must have the result's dtype and C order.
    keepdims : bool
        True keeps reduced axes, with length one, so that the result broadcasts against `a`.
    initial : scalar, optional
        Value with which every result begins, as if it were one more element.
    where : array_like of bool
        Elements to include, broadcast to the shape of `a`: an array of bool in host memory or, for an array
        on a device, on that device.
    variant : str
        Kernel: ``"auto"``, or the name of one of `variants`, for whole arrays and for the operators and
        dtypes in its ``coverage``.
    device : str, Device or list of them, optional
        Device that does the work: ``"cuda"``, ``"cuda:1"`` or ``"sim"``. None means the device of `a`; for a
        host array the default device, which `set_default_device` sets, else the first CUDA device or, without
        one, the simulator, with one `SimulatorWarning`. A list, or ``"cuda:all"``, distributes a host array
        over several devices: see docs/how-to/merge-partial-results.md.
    block_size, grid_size : int, optional
        Threads per block, and blocks of the first launch; only with a named variant. None takes its defaults.
    stream : int or object, optional
        CUDA stream of the work: an integer handle, or an object that has one (``torch.cuda.Stream``,
        ``cupy.cuda.Stream``, anything with ``__cuda_stream__``). None takes the stream of the first array on
        a device: the current stream of its library, or the stream of a `DeviceArray`. The work comes after
        earlier work in that stream and in the streams of the other arrays. The host waits only for results in
        host memory. See docs/explanation/streams.md.
    as_device : bool, optional
        True leaves the result on the device, as a `DeviceArray`; False copies it to host memory. None leaves
        it there if `a` is on a device and `axis` is given.
    progress : callable or bool, optional
        Called as ``progress(done, total)``, in bytes, about every 50 ms while a long host array is copied to
        the device, and at the end; an exception that it raises stops the call. True shows a bar, tqdm's if it
        is installed. Only whole contiguous arrays are copied in chunks: other calls do not report, and a
        named variant refuses it.

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
        Elements, of any shape, strides, byte order and alignment: a NumPy array, or whatever `numpy.asarray`
        takes; or an array on a device, which is read there without a copy: a `DeviceArray`, or another
        library's array with DLPack or ``__cuda_array_interface__``. Subclasses such as ``numpy.matrix`` are
        read as plain arrays; masked arrays are refused.
    axis : int or tuple of int, optional
        Axes to reduce. None reduces all.
    dtype : dtype_like, optional
        Dtype of the result, to which elements are cast before they are reduced. None takes NumPy's choice.
        The cast of an array on a device makes a temporary copy there.
    out : numpy.ndarray or device array, optional
        Array of the shape of the result, which receives it and is returned. The result is cast to the dtype
        of a host array, as NumPy does; an array on a device must have the result's dtype and C order.
    keepdims : bool
        True keeps reduced axes, with length one, so that the result broadcasts against `a`.
    initial : scalar, optional
        Value with which every result begins, as if it were one more element.
    where : array_like of bool
        Elements to include, broadcast to the shape of `a`: an array of bool in host memory or, for an array
        on a device, on that device.
    variant : str
        Kernel: ``"auto"``, or the name of one of `variants`, for whole arrays and for the operators and
        dtypes in its ``coverage``.
    device : str, Device or list of them, optional
        Device that does the work: ``"cuda"``, ``"cuda:1"`` or ``"sim"``. None means the device of `a`; for a
        host array the default device, which `set_default_device` sets, else the first CUDA device or, without
        one, the simulator, with one `SimulatorWarning`. A list, or ``"cuda:all"``, distributes a host array
        over several devices: see docs/how-to/merge-partial-results.md.
    block_size, grid_size : int, optional
        Threads per block, and blocks of the first launch; only with a named variant. None takes its defaults.
    stream : int or object, optional
        CUDA stream of the work: an integer handle, or an object that has one (``torch.cuda.Stream``,
        ``cupy.cuda.Stream``, anything with ``__cuda_stream__``). None takes the stream of the first array on
        a device: the current stream of its library, or the stream of a `DeviceArray`. The work comes after
        earlier work in that stream and in the streams of the other arrays. The host waits only for results in
        host memory. See docs/explanation/streams.md.
    as_device : bool, optional
        True leaves the result on the device, as a `DeviceArray`; False copies it to host memory. None leaves
        it there if `a` is on a device and `axis` is given.
    progress : callable or bool, optional
        Called as ``progress(done, total)``, in bytes, about every 50 ms while a long host array is copied to
        the device, and at the end; an exception that it raises stops the call. True shows a bar, tqdm's if it
        is installed. Only whole contiguous arrays are copied in chunks: other calls do not report, and a
        named variant refuses it.

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
        Elements, of any shape, strides, byte order and alignment: a NumPy array, or whatever `numpy.asarray`
        takes; or an array on a device, which is read there without a copy: a `DeviceArray`, or another
        library's array with DLPack or ``__cuda_array_interface__``. Subclasses such as ``numpy.matrix`` are
        read as plain arrays; masked arrays are refused.
    axis : int or tuple of int, optional
        Axes to reduce. None reduces all.
    dtype : dtype_like, optional
        Dtype of the result, to which elements are cast before they are reduced. None takes NumPy's choice.
        The cast of an array on a device makes a temporary copy there.
    out : numpy.ndarray or device array, optional
        Array of the shape of the result, which receives it and is returned. The result is cast to the dtype
        of a host array, as NumPy does; an array on a device must have the result's dtype and C order.
    keepdims : bool
        True keeps reduced axes, with length one, so that the result broadcasts against `a`.
    initial : scalar, optional
        Value with which every result begins, as if it were one more element.
    where : array_like of bool
        Elements to include, broadcast to the shape of `a`: an array of bool in host memory or, for an array
        on a device, on that device.
    variant : str
        Kernel: ``"auto"``, or the name of one of `variants`, for whole arrays and for the operators and
        dtypes in its ``coverage``.
    device : str, Device or list of them, optional
        Device that does the work: ``"cuda"``, ``"cuda:1"`` or ``"sim"``. None means the device of `a`; for a
        host array the default device, which `set_default_device` sets, else the first CUDA device or, without
        one, the simulator, with one `SimulatorWarning`. A list, or ``"cuda:all"``, distributes a host array
        over several devices: see docs/how-to/merge-partial-results.md.
    block_size, grid_size : int, optional
        Threads per block, and blocks of the first launch; only with a named variant. None takes its defaults.
    stream : int or object, optional
        CUDA stream of the work: an integer handle, or an object that has one (``torch.cuda.Stream``,
        ``cupy.cuda.Stream``, anything with ``__cuda_stream__``). None takes the stream of the first array on
        a device: the current stream of its library, or the stream of a `DeviceArray`. The work comes after
        earlier work in that stream and in the streams of the other arrays. The host waits only for results in
        host memory. See docs/explanation/streams.md.
    as_device : bool, optional
        True leaves the result on the device, as a `DeviceArray`; False copies it to host memory. None leaves
        it there if `a` is on a device and `axis` is given.
    progress : callable or bool, optional
        Called as ``progress(done, total)``, in bytes, about every 50 ms while a long host array is copied to
        the device, and at the end; an exception that it raises stops the call. True shows a bar, tqdm's if it
        is installed. Only whole contiguous arrays are copied in chunks: other calls do not report, and a
        named variant refuses it.

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
