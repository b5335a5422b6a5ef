"""Reductions of truth values: any, all and count_nonzero."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpureduce._reduce.engine import reduction
from gpureduce._reduce.fast_path import fast_path
from gpureduce._reduce.options import Options
from gpureduce._reduce.progress import Progress

if TYPE_CHECKING:
    from typing import SupportsIndex

    from gpureduce._reduce.types import AnyArray, Devices, Out, Stream


@fast_path
def any(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    out: Out | None = None,
    keepdims: bool = False,
    *,
    where: AnyArray = True,
    variant: str = "auto",
    device: Devices = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return whether any element is true; NaN counts as true.

    Parameters
    ----------
    a : array_like or device array
        A NumPy array of any shape, strides, byte order and alignment, whatever `numpy.asarray` takes, or an
        array on a device: a `DeviceArray`, or one that speaks DLPack or ``__cuda_array_interface__``, which
        is read where it lies. Subclasses such as ``numpy.matrix`` are read as plain arrays; masked arrays are
        refused.
    axis : int or tuple of int, optional
        The axes to reduce; None reduces all.
    out : numpy.ndarray or device array, optional
        Where the result goes; it is returned. A host array is cast to, as NumPy does; one on a device
        must have the result's dtype and C order.
    keepdims : bool
        Whether reduced axes stay, with length one.
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

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.any([0, 0, 3], device="sim")
    np.True_
    >>> gpureduce.any([[True, False], [False, False]], axis=1, device="sim")
    array([ True, False])
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return reduction("any", a, options, axis=axis, out=out, keepdims=keepdims, where=where)


@fast_path
def all(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    out: Out | None = None,
    keepdims: bool = False,
    *,
    where: AnyArray = True,
    variant: str = "auto",
    device: Devices = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return whether all elements are true; NaN counts as true.

    Parameters
    ----------
    a : array_like or device array
        A NumPy array of any shape, strides, byte order and alignment, whatever `numpy.asarray` takes, or an
        array on a device: a `DeviceArray`, or one that speaks DLPack or ``__cuda_array_interface__``, which
        is read where it lies. Subclasses such as ``numpy.matrix`` are read as plain arrays; masked arrays are
        refused.
    axis : int or tuple of int, optional
        The axes to reduce; None reduces all.
    out : numpy.ndarray or device array, optional
        Where the result goes; it is returned. A host array is cast to, as NumPy does; one on a device
        must have the result's dtype and C order.
    keepdims : bool
        Whether reduced axes stay, with length one.
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

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.all([1, 2, 0], device="sim")
    np.False_
    >>> gpureduce.all([[True, False], [True, True]], axis=1, device="sim")
    array([False,  True])
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return reduction("all", a, options, axis=axis, out=out, keepdims=keepdims, where=where)


@fast_path
def count_nonzero(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    *,
    keepdims: bool = False,
    variant: str = "auto",
    device: Devices = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return how many elements are not zero; NaN counts.

    Parameters
    ----------
    a : array_like or device array
        A NumPy array of any shape, strides, byte order and alignment, whatever `numpy.asarray` takes, or an
        array on a device: a `DeviceArray`, or one that speaks DLPack or ``__cuda_array_interface__``, which
        is read where it lies. Subclasses such as ``numpy.matrix`` are read as plain arrays; masked arrays are
        refused.
    axis : int or tuple of int, optional
        The axes to reduce; None reduces all.
    keepdims : bool
        Whether reduced axes stay, with length one.
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

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.count_nonzero([0, 3, 0, 5], device="sim")
    np.int64(2)
    >>> gpureduce.count_nonzero([[0, 1], [2, 3]], axis=1, device="sim")
    array([1, 2])
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return reduction("count_nonzero", a, options, axis=axis, keepdims=keepdims)
