"""The public reductions: variances and higher moments."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from gpureduce._arrays.device_array import to_device
from gpureduce._arrays.operand import as_operand
from gpureduce._device.devices import device_name
from gpureduce._reduce.fast_path import fast_path, fast_path_named, fast_path_op
from gpureduce._reduce.options import Options, reject_variant
from gpureduce._reduce.output import OutputSpec
from gpureduce._reduce.power_sums import rounded_moments
from gpureduce._reduce.progress import Progress
from gpureduce._reduce.variance import reject_named, report_variance_status, variance_reduction, warn_of_few
from gpureduce._rules import arguments as rules
from gpureduce._rules.arguments import NO_VALUE

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import DTypeLike

    from gpureduce._device.devices import Device
    from gpureduce._reduce.types import AnyArray, Devices, Out, Stream


class Moments(NamedTuple):
    """Named tuple that `moments` returns. Moments above the requested order are None.

    Attributes
    ----------
    count : numpy scalar, numpy.ndarray or DeviceArray
        Number of elements.
    mean, var, skewness, kurtosis : numpy scalar, numpy.ndarray or DeviceArray
        Mean, variance, skewness and kurtosis.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.moments([1.0, 2.0, 6.0], order=2, device="sim").mean
    np.float64(3.0)
    """

    count: Any
    mean: Any
    var: Any = None
    skewness: Any = None
    kurtosis: Any = None


@partial(fast_path, report=partial(report_variance_status, "var"))
def var(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: AnyArray = True,
    mean: AnyArray = NO_VALUE,
    correction: float = NO_VALUE,
    variant: str = "auto",
    device: Devices = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
    exact: bool = False,
) -> Any:
    """Return the variance.

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
    ddof : float
        Delta degrees of freedom: the variance of N elements divides by ``N - ddof``. 0 gives the population
        variance, 1 the sample variance.
    keepdims : bool
        True keeps the reduced axes with length one, so that the result broadcasts against `a`.
    where : array_like of bool
        Elements to include, broadcast to the shape of `a`. For an array on a device, the mask may be on that
        device or in host memory; for a host array, in host memory only.
    mean : array_like, optional
        Mean to take deviations from, instead of computing it. Its shape broadcasts to the shape that the
        result has with ``keepdims=True``.
    correction : float, optional
        Name of `ddof` in the array API standard. Pass only one of the two.
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
    The elements are read once. Each thread accumulates sums about a point near its elements. Sums are merged
    as described by T. F. Chan, G. H. Golub and R. J. LeVeque, "Algorithms for computing the sample variance"
    (1983), so that a large mean costs no accuracy: see docs/explanation/variance.md. The result has the dtype
    that `numpy.var` gives. float16 and bfloat16 are accumulated in float32, float32 in float32 and float64,
    integers of up to 32 bits exactly, everything else in float64. The variance of complex numbers is real:
    the mean of ``abs(x - mean)**2``.

    With ``exact=True``, the exact sum and the exact sum of squares give the variance, which the host rounds:
    the call synchronizes, and cannot be captured into a graph. Integers are converted to float64 first, as in
    NumPy. `mean` is not supported.

    If the number of elements is not greater than `ddof`, the result is NaN or infinity, with NumPy's
    RuntimeWarning if it is in host memory.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.var(np.array([1.0, 2.0, 4.0]) + 1e8, ddof=1, device="sim")
    np.float64(2.3333333333333335)
    >>> gpureduce.var([[1.0, 2.0], [3.0, 6.0]], axis=0, device="sim")
    array([1., 4.])
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return variance_reduction(
        "var", a, options, axis, dtype, out, ddof, keepdims, where, mean, correction, exact
    )


@partial(fast_path, report=partial(report_variance_status, "std"))
def std(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: AnyArray = True,
    mean: AnyArray = NO_VALUE,
    correction: float = NO_VALUE,
    variant: str = "auto",
    device: Devices = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
    exact: bool = False,
) -> Any:
    """Return the standard deviation.

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
    ddof : float
        Delta degrees of freedom: the variance of N elements divides by ``N - ddof``. 0 gives the population
        variance, 1 the sample variance.
    keepdims : bool
        True keeps the reduced axes with length one, so that the result broadcasts against `a`.
    where : array_like of bool
        Elements to include, broadcast to the shape of `a`. For an array on a device, the mask may be on that
        device or in host memory; for a host array, in host memory only.
    mean : array_like, optional
        Mean to take deviations from, instead of computing it. Its shape broadcasts to the shape that the
        result has with ``keepdims=True``.
    correction : float, optional
        Name of `ddof` in the array API standard. Pass only one of the two.
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
    The square root of `var`; see there for the algorithm and for result dtypes. With ``exact=True``, the
    root of the exact variance is rounded once.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.std([[1.0, 2.0], [3.0, 6.0]], axis=0, device="sim")
    array([1., 2.])
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return variance_reduction(
        "std", a, options, axis, dtype, out, ddof, keepdims, where, mean, correction, exact
    )


@fast_path_op("nanvar", report=partial(report_variance_status, "nanvar"))
def nanvar(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: AnyArray = True,
    mean: AnyArray = NO_VALUE,
    correction: float = NO_VALUE,
    variant: str = "auto",
    device: str | Device | None = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the variance of the elements, ignoring NaNs.

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
    ddof : float
        Delta degrees of freedom: the variance of N elements divides by ``N - ddof``. 0 gives the population
        variance, 1 the sample variance.
    keepdims : bool
        True keeps the reduced axes with length one, so that the result broadcasts against `a`.
    where : array_like of bool
        Elements to include, broadcast to the shape of `a`. For an array on a device, the mask may be on that
        device or in host memory; for a host array, in host memory only.
    mean : array_like, optional
        Mean to take deviations from, instead of computing it. Its shape broadcasts to the shape that the
        result has with ``keepdims=True``.
    correction : float, optional
        Name of `ddof` in the array API standard. Pass only one of the two.
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
    As `var`, in the same single pass. If the number of elements that are not NaN is not greater than `ddof`,
    the result is NaN.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.nanvar([1.0, 3.0, float("nan")], device="sim")
    np.float64(1.0)
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return variance_reduction("nanvar", a, options, axis, dtype, out, ddof, keepdims, where, mean, correction)


@fast_path_op("nanstd", report=partial(report_variance_status, "nanstd"))
def nanstd(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: AnyArray = True,
    mean: AnyArray = NO_VALUE,
    correction: float = NO_VALUE,
    variant: str = "auto",
    device: str | Device | None = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the standard deviation of the elements, ignoring NaNs.

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
    ddof : float
        Delta degrees of freedom: the variance of N elements divides by ``N - ddof``. 0 gives the population
        variance, 1 the sample variance.
    keepdims : bool
        True keeps the reduced axes with length one, so that the result broadcasts against `a`.
    where : array_like of bool
        Elements to include, broadcast to the shape of `a`. For an array on a device, the mask may be on that
        device or in host memory; for a host array, in host memory only.
    mean : array_like, optional
        Mean to take deviations from, instead of computing it. Its shape broadcasts to the shape that the
        result has with ``keepdims=True``.
    correction : float, optional
        Name of `ddof` in the array API standard. Pass only one of the two.
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
    The square root of `nanvar`.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.nanstd([1.0, 5.0, float("nan")], device="sim")
    np.float64(2.0)
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return variance_reduction("nanstd", a, options, axis, dtype, out, ddof, keepdims, where, mean, correction)


@fast_path_named(Moments)
def moments(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    order: int = 4,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: AnyArray = True,
    bias: bool = True,
    fisher: bool = True,
    nan_policy: str = "propagate",
    variant: str = "auto",
    device: str | Device | None = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
    exact: bool = False,
) -> Moments:
    """Return count, mean, variance, skewness and kurtosis, computed in one pass.

    Parameters
    ----------
    a : array_like or device array
        Input array of any shape, strides, byte order and alignment: a NumPy array, or anything that
        `numpy.asarray` accepts, or an array on a device, which is read there without a copy (a `DeviceArray`,
        or another library's array that supports DLPack or ``__cuda_array_interface__``). Subclasses such as
        ``numpy.matrix`` are treated as plain arrays; masked arrays raise TypeError.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    order : int
        Order of the highest moment: 1 (mean), 2 (variance), 3 (skewness) or 4 (kurtosis).
    ddof : float
        Delta degrees of freedom: the variance of N elements divides by ``N - ddof``. 0 gives the population
        variance, 1 the sample variance.
    keepdims : bool
        True keeps the reduced axes with length one, so that the result broadcasts against `a`.
    where : array_like of bool
        Elements to include, broadcast to the shape of `a`. For an array on a device, the mask may be on that
        device or in host memory; for a host array, in host memory only.
    bias : bool
        True, as in `scipy.stats`, computes skewness and kurtosis of the elements themselves; False corrects
        them for the bias of a sample.
    fisher : bool
        True subtracts 3 from the kurtosis, so that the normal distribution has kurtosis 0.
    nan_policy : str
        ``"propagate"`` returns NaN if an element is NaN; ``"omit"`` ignores NaNs.
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
    Moments
        Named tuple of numpy scalars, arrays or DeviceArrays; moments above `order` are None.

    Notes
    -----
    Threads accumulate the first four powers of ``x - shift``, with a shift near the mean, in float64, and
    merge them as described by P. Pebay, "Formulas for robust, one-pass parallel computation of covariances
    and arbitrary-order statistical moments" (2008): see docs/explanation/variance.md. The count is int64; the
    moments have the dtype that `numpy.var` gives. Skewness and kurtosis of equal elements are NaN. Of float64
    elements, the host computes the moments from the sums, as powers may over- or underflow: the call
    synchronizes with the device, and cannot be captured into a graph. Of other elements, moments that stay on
    the device are computed there. Complex numbers raise TypeError.

    With ``exact=True``, each moment is rounded once, by the host, from exact sums of powers: the call
    synchronizes. Orders 3 and 4 are for float16, bfloat16 and float32, whose squares are copied to the device
    as float64. Integers are converted to float64 first. NaNs cannot be omitted.

    Examples
    --------
    >>> import gpureduce
    >>> found = gpureduce.moments([1.0, 2.0, 6.0], order=3, device="sim")
    >>> found.count, found.mean, found.var.round(3), found.skewness.round(3)
    (np.int64(3), np.float64(3.0), np.float64(4.667), np.float64(0.595))
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    order = rules.integer(order, "order")
    ddof, bias, fisher = rules.degrees(ddof), rules.flag(bias, "bias"), rules.flag(fisher, "fisher")
    exact = rules.flag(exact, "exact")
    if not 1 <= order <= 4:
        raise ValueError(f"order: expected 1 to 4, got {order}")
    if not isinstance(nan_policy, str) or nan_policy not in ("propagate", "omit"):
        raise ValueError(f"nan_policy: expected 'propagate' or 'omit', got {nan_policy!r}")
    if exact and nan_policy == "omit":
        raise ValueError("nan_policy: exact=True requires 'propagate', got 'omit'")
    operand = as_operand(a, options.device)
    reject_variant(axis)
    axes = rules.reduced_axes(axis, len(operand.shape), scalar_axis=False)
    output = OutputSpec(None, options, operand, axis, operand.shape, axes, keepdims)
    mask = None
    if where is not True:
        mask = output.take_mask(where, operand)
    reject_named("moments", options)
    if operand.dtype.kind == "c":
        raise TypeError(f"a: moments requires real numbers, got {operand.dtype}")
    output.reject_capture("moments are finished on the host, and cannot be captured into a graph")
    output.wait_for_inputs()
    if exact:
        from gpureduce._reduce.exact_moments import exact_moments  # few calls need fractions

        parts = exact_moments(operand, axes, mask, order, ddof, bias, fisher, output)
    else:
        parts = rounded_moments(operand, axes, mask, order, ddof, bias, fisher, nan_policy == "omit", output)
    if not output.on_device and (ddof >= parts[0]).any() and order > 1:
        warn_of_few()
    destination = device_name(output.kind, output.index)
    shaped = [part.reshape(output.shape) for part in parts]
    return Moments(*[to_device(part, destination) if output.on_device else part[()] for part in shaped])
