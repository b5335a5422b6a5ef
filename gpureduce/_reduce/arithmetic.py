"""The public reductions that combine elements, with NumPy's arguments and a few of our own."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from gpureduce._reduce import exact as _exact
from gpureduce._reduce.engine import dot as _dot
from gpureduce._reduce.engine import mean as _mean
from gpureduce._reduce.engine import reduction, tell_of_mean
from gpureduce._reduce.fast_path import fast_path, fast_path_exact
from gpureduce._reduce.options import Options
from gpureduce._reduce.progress import Progress
from gpureduce._rules import arguments as rules
from gpureduce._rules.arguments import NO_VALUE

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import DTypeLike

    from gpureduce._reduce.types import AnyArray, Devices, Out, Scalar, Stream


@fast_path
def sum(
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
    exact: bool = False,
) -> Any:
    """Return the sum of array elements.

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
    exact : bool
        Whether the result is the exact one, rounded once to nearest, ties to even: it depends neither on the
        order of the elements nor on the device. See docs/exact.md.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    Result dtypes are those of `numpy.sum`: integers smaller than 64 bits and bool add up in 64 bits, and wrap
    there. float16 and bfloat16 are added in float32 and rounded once; float32 and complex64 sums are
    compensated. No elements give 0. With `exact`, sums of integers that do not fit raise
    OverflowError.

    The ladder of named variants follows M. Harris, "Optimizing Parallel Reduction in CUDA" (NVIDIA, 2007),
    with the races and lost tails of the printed kernels mended; `source` shows each rung.

    Errors are those of `numpy.sum` for the same call, and `DeviceError` when the device is not there
    or fails.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.sum(np.array([1, 2, 3], dtype=np.int32), variant="v2", device="sim")
    np.int64(6)
    >>> gpureduce.sum([[1.0, 2.0], [3.0, 4.0]], axis=0, device="sim")
    array([4., 6.])
    """
    exact = rules.flag(exact, "exact")
    ladder = "exact" if exact else "reduction"
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress, ladder)
    if exact:
        return _exact.sum(a, options, axis, dtype, out, keepdims, initial, where)
    return reduction(
        "sum", a, options, axis=axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where
    )


@fast_path
def prod(
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
    """Return the product of array elements.

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
    No elements give 1. Result dtypes are those of `numpy.prod`.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.prod([2, 3, 4], device="sim")
    np.int64(24)
    >>> gpureduce.prod([[1.0, 2.0], [3.0, 4.0]], axis=1, device="sim")
    array([ 2., 12.])
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return reduction(
        "prod", a, options, axis=axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where
    )


@fast_path
def min(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
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
    """Return the smallest element.

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
    NaN propagates. No elements, or a mask, without `initial` raise ValueError.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.min([[3, 1], [2, 5]], axis=0, device="sim")
    array([2, 1])
    >>> gpureduce.min([3.0, float("nan")], device="sim")
    np.float64(nan)
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return reduction("min", a, options, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)


@fast_path
def max(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
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
    """Return the largest element.

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
    NaN propagates. No elements, or a mask, without `initial` raise ValueError.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.max([[3, 1], [2, 5]], axis=0, device="sim")
    array([3, 5])
    >>> gpureduce.max([3, 1, 2], initial=10, device="sim")
    np.int64(10)
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return reduction("max", a, options, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)


@partial(fast_path, report=tell_of_mean)
def mean(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
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
    exact: bool = False,
) -> Any:
    """Return the arithmetic mean.

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
    exact : bool
        Whether the result is the exact one, rounded once to nearest, ties to even: it depends neither on the
        order of the elements nor on the device. See docs/exact.md.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    Integers and bool give float64. float16 and bfloat16 are averaged in float32 and rounded once. The mean of
    float32 or complex64 elements is finite also where their sum is beyond the dtype. The mean of no elements
    is NaN, with a RuntimeWarning; of a mask that leaves some without any, it comes with results on the host.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.mean([1, 2, 6], device="sim")
    np.float64(3.0)
    >>> gpureduce.mean([[1.0, 2.0], [3.0, 4.0]], axis=1, keepdims=True, device="sim")
    array([[1.5],
           [3.5]])
    """
    exact = rules.flag(exact, "exact")
    ladder = "exact" if exact else "reduction"
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress, ladder)
    if exact:
        return _exact.mean(a, options, axis, dtype, out, keepdims, where)
    return _mean(a, options, axis=axis, dtype=dtype, out=out, keepdims=keepdims, where=where)


@fast_path
def dot(
    a: AnyArray,
    b: AnyArray,
    out: Out | None = None,
    *,
    variant: str = "auto",
    device: Devices = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
    exact: bool = False,
) -> Any:
    """Return the dot product of two vectors of one length.

    Parameters
    ----------
    a : array_like or device array
        A NumPy array of any shape, strides, byte order and alignment, whatever `numpy.asarray` takes, or an
        array on a device: a `DeviceArray`, or one that speaks DLPack or ``__cuda_array_interface__``, which
        is read where it lies. Subclasses such as ``numpy.matrix`` are read as plain arrays; masked arrays are
        refused.
    b : array_like or device array
        As long as `a`, and in the memory of `a`.
    out : numpy.ndarray or device array, optional
        Where the result goes; it is returned. A host array is cast to, as NumPy does; one on a device
        must have the result's dtype and C order.
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
    exact : bool
        Whether the result is the exact one, rounded once to nearest, ties to even: it depends neither on the
        order of the elements nor on the device. See docs/exact.md.

    Returns
    -------
    numpy scalar, or `out`

    Raises
    ------
    ValueError
        Unless both have one dimension and one length, or none.

    Notes
    -----
    Accumulates as `sum` does, but integers wrap in the result's own dtype, as in NumPy. Complex numbers are
    not conjugated. An `out` must have exactly the result's dtype. Integers have no `exact` result.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.dot([1, 2, 3], [4, 5, 6], device="sim")
    np.int64(32)
    """
    exact = rules.flag(exact, "exact")
    ladder = "exact" if exact else "reduction"
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress, ladder)
    if exact:
        return _exact.dot(a, b, out, options)
    return _dot(a, b, out, options)


@fast_path_exact("sum")
def fsum(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    keepdims: bool = False,
    initial: Scalar | None = NO_VALUE,
    where: AnyArray = True,
    *,
    device: Devices = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Return the exact sum of array elements, rounded once: ``sum(..., exact=True)``.

    Parameters
    ----------
    a, axis, dtype, out, keepdims, initial, where, device, stream, as_device
        As those of `sum`.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.fsum([1e100, 1.0, -1e100], device="sim")
    np.float64(1.0)
    """
    options = Options(device=device, stream=stream, as_device=as_device)
    return _exact.sum(a, options, axis, dtype, out, keepdims, initial, where)
