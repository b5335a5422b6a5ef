"""Positions of extremes: argmin and argmax."""

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
def argmin(
    a: AnyArray,
    axis: SupportsIndex | None = None,
    out: Out | None = None,
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
    """Return the position of the smallest element.

    Parameters
    ----------
    a : array_like or device array
        A NumPy array of any shape, strides, byte order and alignment, whatever `numpy.asarray` takes, or an
        array on a device: a `DeviceArray`, or one that speaks DLPack or ``__cuda_array_interface__``, which
        is read where it lies. Subclasses such as ``numpy.matrix`` are read as plain arrays; masked arrays are
        refused.
    axis : int, optional
        The axis to search; None searches the array in C order.
    out : numpy.ndarray or device array, optional
        Where the result goes; it is returned. A host array is cast to, as NumPy does; one on a device
        must have the result's dtype and C order.
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

    Notes
    -----
    The first of equals wins, and the first NaN before everything. No elements raise ValueError.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.argmin([3, 1, 2], device="sim")
    np.int64(1)
    >>> gpureduce.argmin([[3, 1], [2, 5]], axis=0, device="sim")
    array([1, 0])
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return reduction("argmin", a, options, axis=axis, out=out, keepdims=keepdims)


@fast_path
def argmax(
    a: AnyArray,
    axis: SupportsIndex | None = None,
    out: Out | None = None,
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
    """Return the position of the largest element.

    Parameters
    ----------
    a : array_like or device array
        A NumPy array of any shape, strides, byte order and alignment, whatever `numpy.asarray` takes, or an
        array on a device: a `DeviceArray`, or one that speaks DLPack or ``__cuda_array_interface__``, which
        is read where it lies. Subclasses such as ``numpy.matrix`` are read as plain arrays; masked arrays are
        refused.
    axis : int, optional
        The axis to search; None searches the array in C order.
    out : numpy.ndarray or device array, optional
        Where the result goes; it is returned. A host array is cast to, as NumPy does; one on a device
        must have the result's dtype and C order.
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

    Notes
    -----
    The first of equals wins, and the first NaN before everything. No elements raise ValueError.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.argmax([3, 7, 7], device="sim")
    np.int64(1)
    >>> gpureduce.argmax([[3, 1], [2, 5]], axis=0, device="sim")
    array([0, 1])
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return reduction("argmax", a, options, axis=axis, out=out, keepdims=keepdims)
