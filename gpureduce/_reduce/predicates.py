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
        Elements, of any shape, strides, byte order and alignment: a NumPy array, or whatever `numpy.asarray`
        takes; or an array on a device, which is read there without a copy: a `DeviceArray`, or another
        library's array with DLPack or ``__cuda_array_interface__``. Subclasses such as ``numpy.matrix`` are
        read as plain arrays; masked arrays are refused.
    axis : int or tuple of int, optional
        Axes to reduce. None reduces all.
    out : numpy.ndarray or device array, optional
        Array of the shape of the result, which receives it and is returned. The result is cast to the dtype
        of a host array, as NumPy does; an array on a device must have the result's dtype and C order.
    keepdims : bool
        True keeps reduced axes, with length one, so that the result broadcasts against `a`.
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
        Elements, of any shape, strides, byte order and alignment: a NumPy array, or whatever `numpy.asarray`
        takes; or an array on a device, which is read there without a copy: a `DeviceArray`, or another
        library's array with DLPack or ``__cuda_array_interface__``. Subclasses such as ``numpy.matrix`` are
        read as plain arrays; masked arrays are refused.
    axis : int or tuple of int, optional
        Axes to reduce. None reduces all.
    out : numpy.ndarray or device array, optional
        Array of the shape of the result, which receives it and is returned. The result is cast to the dtype
        of a host array, as NumPy does; an array on a device must have the result's dtype and C order.
    keepdims : bool
        True keeps reduced axes, with length one, so that the result broadcasts against `a`.
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
        Elements, of any shape, strides, byte order and alignment: a NumPy array, or whatever `numpy.asarray`
        takes; or an array on a device, which is read there without a copy: a `DeviceArray`, or another
        library's array with DLPack or ``__cuda_array_interface__``. Subclasses such as ``numpy.matrix`` are
        read as plain arrays; masked arrays are refused.
    axis : int or tuple of int, optional
        Axes to reduce. None reduces all.
    keepdims : bool
        True keeps reduced axes, with length one, so that the result broadcasts against `a`.
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
