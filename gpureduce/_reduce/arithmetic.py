"""The public arithmetic reductions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from gpureduce._reduce import exact as _exact
from gpureduce._reduce.engine import dot as _dot
from gpureduce._reduce.engine import mean as _mean
from gpureduce._reduce.engine import reduction, warn_of_empty_mean
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
        Input array of any shape, strides, byte order and alignment: a NumPy array, or anything that
        `numpy.asarray` accepts, or an array on a device, which is read there without a copy (a `DeviceArray`,
        or another library's array that supports DLPack or ``__cuda_array_interface__``). Subclasses such as
        ``numpy.matrix`` are treated as plain arrays; masked arrays raise TypeError.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    dtype : dtype_like, optional
        Data type of the accumulator and of the result. Default: as in NumPy. For an array on a device, the
        cast makes a temporary copy there.
    out : numpy.ndarray or device array, optional
        Output array of the shape of the result; it is also returned. A host array may have any dtype to which
        NumPy would cast the result; an array on a device must have the result's dtype and C order.
    keepdims : bool
        True keeps the reduced axes with length one, so that the result broadcasts against `a`.
    initial : scalar, optional
        Starting value of the reduction, which counts as one more element.
    where : array_like of bool
        Elements to include, broadcast to the shape of `a`. For an array on a device, the mask may be on that
        device or in host memory; for a host array, in host memory only.
    variant : str
        Kernel to run: ``"auto"``, or the name of one of `variants`, which reduces whole arrays only, with the
        operators and dtypes in its ``coverage``.
    device : str, Device or list of them, optional
        Device that runs the call: ``"cuda"``, ``"cuda:1"`` or ``"sim"``. Default: the device of `a`, or for a
        host array the default device (see `set_default_device`): without a setting, the first CUDA device, or
        the simulator with a `SimulatorWarning` if there is none. A list, or ``"cuda:all"``, splits a host
        array across several devices: see docs/how-to/several-gpus.md.
    block_size, grid_size : int, optional
        Threads per block, and blocks of the first launch. Only for a named variant. Default: chosen by the
        variant.
    stream : int or object, optional
        CUDA stream to work on: an integer handle, or an object that has one (``torch.cuda.Stream``,
        ``cupy.cuda.Stream``, anything with ``__cuda_stream__``). Default: the stream of the first argument on
        a device, which is its library's current stream, or the stream of a `DeviceArray`. The call is ordered
        after the work already queued on this stream and on the streams of the other arguments. The host
        synchronizes only when a result is returned to host memory. See docs/explanation/streams.md.
    as_device : bool, optional
        True leaves the result on the device, as a `DeviceArray`; False copies it to host memory. Default:
        True if `a` is on a device and `axis` is given.
    progress : callable or bool, optional
        Called as ``progress(done, total)``, in bytes, about every 50 ms while a large host array is copied to
        the device, and at the end. An exception that it raises stops the call. True shows a progress bar
        (tqdm's, if installed). Only a contiguous host array that is reduced as a whole is copied in chunks:
        other calls report nothing, and a named variant raises ValueError.
    exact : bool
        True returns the correctly rounded result (to nearest, ties to even), which depends neither on the
        order of the elements nor on the device. See docs/explanation/exact-sums.md.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    The result has the dtype that `numpy.sum` gives: bool and integers of fewer than 64 bits are summed in 64
    bits, and wrap around there. float16 and bfloat16 are accumulated in float32 and rounded once. float32 and
    complex64 sums are compensated. The sum of an empty array is 0. With ``exact=True``, an integer sum that
    overflows raises OverflowError.

    The ladder of named variants follows M. Harris, "Optimizing Parallel Reduction in CUDA" (NVIDIA, 2007),
    without the data races and the dropped tail elements of the printed kernels; `source` shows each rung.

    The call raises what `numpy.sum` raises, and DeviceError if the device does not exist or fails.

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
        Input array of any shape, strides, byte order and alignment: a NumPy array, or anything that
        `numpy.asarray` accepts, or an array on a device, which is read there without a copy (a `DeviceArray`,
        or another library's array that supports DLPack or ``__cuda_array_interface__``). Subclasses such as
        ``numpy.matrix`` are treated as plain arrays; masked arrays raise TypeError.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    dtype : dtype_like, optional
        Data type of the accumulator and of the result. Default: as in NumPy. For an array on a device, the
        cast makes a temporary copy there.
    out : numpy.ndarray or device array, optional
        Output array of the shape of the result; it is also returned. A host array may have any dtype to which
        NumPy would cast the result; an array on a device must have the result's dtype and C order.
    keepdims : bool
        True keeps the reduced axes with length one, so that the result broadcasts against `a`.
    initial : scalar, optional
        Starting value of the reduction, which counts as one more element.
    where : array_like of bool
        Elements to include, broadcast to the shape of `a`. For an array on a device, the mask may be on that
        device or in host memory; for a host array, in host memory only.
    variant : str
        Kernel to run: ``"auto"``, or the name of one of `variants`, which reduces whole arrays only, with the
        operators and dtypes in its ``coverage``.
    device : str, Device or list of them, optional
        Device that runs the call: ``"cuda"``, ``"cuda:1"`` or ``"sim"``. Default: the device of `a`, or for a
        host array the default device (see `set_default_device`): without a setting, the first CUDA device, or
        the simulator with a `SimulatorWarning` if there is none. A list, or ``"cuda:all"``, splits a host
        array across several devices: see docs/how-to/several-gpus.md.
    block_size, grid_size : int, optional
        Threads per block, and blocks of the first launch. Only for a named variant. Default: chosen by the
        variant.
    stream : int or object, optional
        CUDA stream to work on: an integer handle, or an object that has one (``torch.cuda.Stream``,
        ``cupy.cuda.Stream``, anything with ``__cuda_stream__``). Default: the stream of the first argument on
        a device, which is its library's current stream, or the stream of a `DeviceArray`. The call is ordered
        after the work already queued on this stream and on the streams of the other arguments. The host
        synchronizes only when a result is returned to host memory. See docs/explanation/streams.md.
    as_device : bool, optional
        True leaves the result on the device, as a `DeviceArray`; False copies it to host memory. Default:
        True if `a` is on a device and `axis` is given.
    progress : callable or bool, optional
        Called as ``progress(done, total)``, in bytes, about every 50 ms while a large host array is copied to
        the device, and at the end. An exception that it raises stops the call. True shows a progress bar
        (tqdm's, if installed). Only a contiguous host array that is reduced as a whole is copied in chunks:
        other calls report nothing, and a named variant raises ValueError.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    The product of an empty array is 1. The result has the dtype that `numpy.prod` gives.

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
        Input array of any shape, strides, byte order and alignment: a NumPy array, or anything that
        `numpy.asarray` accepts, or an array on a device, which is read there without a copy (a `DeviceArray`,
        or another library's array that supports DLPack or ``__cuda_array_interface__``). Subclasses such as
        ``numpy.matrix`` are treated as plain arrays; masked arrays raise TypeError.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    out : numpy.ndarray or device array, optional
        Output array of the shape of the result; it is also returned. A host array may have any dtype to which
        NumPy would cast the result; an array on a device must have the result's dtype and C order.
    keepdims : bool
        True keeps the reduced axes with length one, so that the result broadcasts against `a`.
    initial : scalar, optional
        Starting value of the reduction, which counts as one more element.
    where : array_like of bool
        Elements to include, broadcast to the shape of `a`. For an array on a device, the mask may be on that
        device or in host memory; for a host array, in host memory only.
    variant : str
        Kernel to run: ``"auto"``, or the name of one of `variants`, which reduces whole arrays only, with the
        operators and dtypes in its ``coverage``.
    device : str, Device or list of them, optional
        Device that runs the call: ``"cuda"``, ``"cuda:1"`` or ``"sim"``. Default: the device of `a`, or for a
        host array the default device (see `set_default_device`): without a setting, the first CUDA device, or
        the simulator with a `SimulatorWarning` if there is none. A list, or ``"cuda:all"``, splits a host
        array across several devices: see docs/how-to/several-gpus.md.
    block_size, grid_size : int, optional
        Threads per block, and blocks of the first launch. Only for a named variant. Default: chosen by the
        variant.
    stream : int or object, optional
        CUDA stream to work on: an integer handle, or an object that has one (``torch.cuda.Stream``,
        ``cupy.cuda.Stream``, anything with ``__cuda_stream__``). Default: the stream of the first argument on
        a device, which is its library's current stream, or the stream of a `DeviceArray`. The call is ordered
        after the work already queued on this stream and on the streams of the other arguments. The host
        synchronizes only when a result is returned to host memory. See docs/explanation/streams.md.
    as_device : bool, optional
        True leaves the result on the device, as a `DeviceArray`; False copies it to host memory. Default:
        True if `a` is on a device and `axis` is given.
    progress : callable or bool, optional
        Called as ``progress(done, total)``, in bytes, about every 50 ms while a large host array is copied to
        the device, and at the end. An exception that it raises stops the call. True shows a progress bar
        (tqdm's, if installed). Only a contiguous host array that is reduced as a whole is copied in chunks:
        other calls report nothing, and a named variant raises ValueError.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    NaNs propagate. An empty array, or a mask, requires `initial`; otherwise ValueError is raised.

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
        Input array of any shape, strides, byte order and alignment: a NumPy array, or anything that
        `numpy.asarray` accepts, or an array on a device, which is read there without a copy (a `DeviceArray`,
        or another library's array that supports DLPack or ``__cuda_array_interface__``). Subclasses such as
        ``numpy.matrix`` are treated as plain arrays; masked arrays raise TypeError.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    out : numpy.ndarray or device array, optional
        Output array of the shape of the result; it is also returned. A host array may have any dtype to which
        NumPy would cast the result; an array on a device must have the result's dtype and C order.
    keepdims : bool
        True keeps the reduced axes with length one, so that the result broadcasts against `a`.
    initial : scalar, optional
        Starting value of the reduction, which counts as one more element.
    where : array_like of bool
        Elements to include, broadcast to the shape of `a`. For an array on a device, the mask may be on that
        device or in host memory; for a host array, in host memory only.
    variant : str
        Kernel to run: ``"auto"``, or the name of one of `variants`, which reduces whole arrays only, with the
        operators and dtypes in its ``coverage``.
    device : str, Device or list of them, optional
        Device that runs the call: ``"cuda"``, ``"cuda:1"`` or ``"sim"``. Default: the device of `a`, or for a
        host array the default device (see `set_default_device`): without a setting, the first CUDA device, or
        the simulator with a `SimulatorWarning` if there is none. A list, or ``"cuda:all"``, splits a host
        array across several devices: see docs/how-to/several-gpus.md.
    block_size, grid_size : int, optional
        Threads per block, and blocks of the first launch. Only for a named variant. Default: chosen by the
        variant.
    stream : int or object, optional
        CUDA stream to work on: an integer handle, or an object that has one (``torch.cuda.Stream``,
        ``cupy.cuda.Stream``, anything with ``__cuda_stream__``). Default: the stream of the first argument on
        a device, which is its library's current stream, or the stream of a `DeviceArray`. The call is ordered
        after the work already queued on this stream and on the streams of the other arguments. The host
        synchronizes only when a result is returned to host memory. See docs/explanation/streams.md.
    as_device : bool, optional
        True leaves the result on the device, as a `DeviceArray`; False copies it to host memory. Default:
        True if `a` is on a device and `axis` is given.
    progress : callable or bool, optional
        Called as ``progress(done, total)``, in bytes, about every 50 ms while a large host array is copied to
        the device, and at the end. An exception that it raises stops the call. True shows a progress bar
        (tqdm's, if installed). Only a contiguous host array that is reduced as a whole is copied in chunks:
        other calls report nothing, and a named variant raises ValueError.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    NaNs propagate. An empty array, or a mask, requires `initial`; otherwise ValueError is raised.

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


@partial(fast_path, report=warn_of_empty_mean)
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
        Input array of any shape, strides, byte order and alignment: a NumPy array, or anything that
        `numpy.asarray` accepts, or an array on a device, which is read there without a copy (a `DeviceArray`,
        or another library's array that supports DLPack or ``__cuda_array_interface__``). Subclasses such as
        ``numpy.matrix`` are treated as plain arrays; masked arrays raise TypeError.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    dtype : dtype_like, optional
        Data type of the accumulator and of the result. Default: as in NumPy. For an array on a device, the
        cast makes a temporary copy there.
    out : numpy.ndarray or device array, optional
        Output array of the shape of the result; it is also returned. A host array may have any dtype to which
        NumPy would cast the result; an array on a device must have the result's dtype and C order.
    keepdims : bool
        True keeps the reduced axes with length one, so that the result broadcasts against `a`.
    where : array_like of bool
        Elements to include, broadcast to the shape of `a`. For an array on a device, the mask may be on that
        device or in host memory; for a host array, in host memory only.
    variant : str
        Kernel to run: ``"auto"``, or the name of one of `variants`, which reduces whole arrays only, with the
        operators and dtypes in its ``coverage``.
    device : str, Device or list of them, optional
        Device that runs the call: ``"cuda"``, ``"cuda:1"`` or ``"sim"``. Default: the device of `a`, or for a
        host array the default device (see `set_default_device`): without a setting, the first CUDA device, or
        the simulator with a `SimulatorWarning` if there is none. A list, or ``"cuda:all"``, splits a host
        array across several devices: see docs/how-to/several-gpus.md.
    block_size, grid_size : int, optional
        Threads per block, and blocks of the first launch. Only for a named variant. Default: chosen by the
        variant.
    stream : int or object, optional
        CUDA stream to work on: an integer handle, or an object that has one (``torch.cuda.Stream``,
        ``cupy.cuda.Stream``, anything with ``__cuda_stream__``). Default: the stream of the first argument on
        a device, which is its library's current stream, or the stream of a `DeviceArray`. The call is ordered
        after the work already queued on this stream and on the streams of the other arguments. The host
        synchronizes only when a result is returned to host memory. See docs/explanation/streams.md.
    as_device : bool, optional
        True leaves the result on the device, as a `DeviceArray`; False copies it to host memory. Default:
        True if `a` is on a device and `axis` is given.
    progress : callable or bool, optional
        Called as ``progress(done, total)``, in bytes, about every 50 ms while a large host array is copied to
        the device, and at the end. An exception that it raises stops the call. True shows a progress bar
        (tqdm's, if installed). Only a contiguous host array that is reduced as a whole is copied in chunks:
        other calls report nothing, and a named variant raises ValueError.
    exact : bool
        True returns the correctly rounded result (to nearest, ties to even), which depends neither on the
        order of the elements nor on the device. See docs/explanation/exact-sums.md.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    The mean of integers or bool is float64: their exact sum, divided and rounded once. float16 and bfloat16
    are accumulated in float32 and rounded once. The mean of float32 or complex64 elements is finite even if
    their sum would overflow the dtype. The mean of an empty slice is NaN, with a RuntimeWarning. If a mask
    leaves a slice empty, the warning is issued only for results in host memory.

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
    """Return the dot product of two vectors.

    Parameters
    ----------
    a : array_like or device array
        Input array of any shape, strides, byte order and alignment: a NumPy array, or anything that
        `numpy.asarray` accepts, or an array on a device, which is read there without a copy (a `DeviceArray`,
        or another library's array that supports DLPack or ``__cuda_array_interface__``). Subclasses such as
        ``numpy.matrix`` are treated as plain arrays; masked arrays raise TypeError.
    b : array_like or device array
        Second vector, of the length of `a`: in host memory if `a` is, else on the device of `a`.
    out : numpy.ndarray or device array, optional
        Output array of the shape of the result; it is also returned. A host array may have any dtype to which
        NumPy would cast the result; an array on a device must have the result's dtype and C order.
    variant : str
        Kernel to run: ``"auto"``, or the name of one of `variants`, which reduces whole arrays only, with the
        operators and dtypes in its ``coverage``.
    device : str, Device or list of them, optional
        Device that runs the call: ``"cuda"``, ``"cuda:1"`` or ``"sim"``. Default: the device of `a`, or for a
        host array the default device (see `set_default_device`): without a setting, the first CUDA device, or
        the simulator with a `SimulatorWarning` if there is none. A list, or ``"cuda:all"``, splits a host
        array across several devices: see docs/how-to/several-gpus.md.
    block_size, grid_size : int, optional
        Threads per block, and blocks of the first launch. Only for a named variant. Default: chosen by the
        variant.
    stream : int or object, optional
        CUDA stream to work on: an integer handle, or an object that has one (``torch.cuda.Stream``,
        ``cupy.cuda.Stream``, anything with ``__cuda_stream__``). Default: the stream of the first argument on
        a device, which is its library's current stream, or the stream of a `DeviceArray`. The call is ordered
        after the work already queued on this stream and on the streams of the other arguments. The host
        synchronizes only when a result is returned to host memory. See docs/explanation/streams.md.
    as_device : bool, optional
        True leaves the result on the device, as a `DeviceArray`; False copies it to host memory. Default:
        True if `a` is on a device and `axis` is given.
    progress : callable or bool, optional
        Called as ``progress(done, total)``, in bytes, about every 50 ms while a large host array is copied to
        the device, and at the end. An exception that it raises stops the call. True shows a progress bar
        (tqdm's, if installed). Only a contiguous host array that is reduced as a whole is copied in chunks:
        other calls report nothing, and a named variant raises ValueError.
    exact : bool
        True returns the correctly rounded result (to nearest, ties to even), which depends neither on the
        order of the elements nor on the device. See docs/explanation/exact-sums.md.

    Returns
    -------
    numpy scalar, or `out`

    Raises
    ------
    ValueError
        If `a` and `b` are not two vectors of the same length, or two scalars.

    Notes
    -----
    Accumulates as `sum` does, but integers wrap around in the dtype of the result, as in NumPy. Complex
    numbers are not conjugated. `out` must have exactly the dtype of the result. ``exact=True`` requires
    floating-point or complex elements.

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
    """Return the correctly rounded sum of array elements: ``sum(..., exact=True)``.

    Parameters
    ----------
    a, axis, dtype, out, keepdims, initial, where, device, stream, as_device
        As for `sum`.

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
