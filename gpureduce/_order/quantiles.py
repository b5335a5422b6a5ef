"""The public functions: medians, quantiles and percentiles, and their variants that ignore NaNs."""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce._arrays.operand import Operand, as_operand
from gpureduce._device.devices import Device
from gpureduce._order.methods import (
    POSITIONS,
    Interpolation,
    between,
    interpolation,
    known_interpolation,
    middle,
)
from gpureduce._order.row_view import ALONE, BETWEEN, MIDDLE, RowView
from gpureduce._order.weighted import METHOD, take_weights, weighted_quantile
from gpureduce._reduce import floating
from gpureduce._reduce.fast_path import fast_path_named
from gpureduce._reduce.options import Options
from gpureduce._reduce.output import OutputSpec
from gpureduce._rules import arguments as rules
from gpureduce._rules.arguments import caller_stacklevel

if TYPE_CHECKING:
    from typing import SupportsIndex

    from gpureduce._reduce.types import AnyArray, Out, Stream


@fast_path_named(floating.ignore_nonfinite)
def median(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    out: Out | None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
    *,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Return the median, as `numpy.median`.

    Parameters
    ----------
    a : array_like or device array
        Input array of any real dtype that `sum` supports, and of any strides.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    out : numpy.ndarray or device array, optional
        Output array of the shape of the result; it is also returned. An array on a device must have the
        result's dtype and C order.
    overwrite_input : bool
        Accepted for compatibility with NumPy; `a` is never modified.
    keepdims : bool
        True keeps the reduced axes with length one, so that the result broadcasts against `a`.
    device : str or Device, optional
        Device that runs the call: ``"cuda"``, ``"cuda:1"`` or ``"sim"``. Default: the device of `a`, or for a
        host array the default device (see `set_default_device`): without a setting, the first CUDA device, or
        the simulator with a `SimulatorWarning` if there is none.
    stream : int or object, optional
        CUDA stream to work on: an integer handle, or an object that has one (``torch.cuda.Stream``,
        ``cupy.cuda.Stream``, anything with ``__cuda_stream__``). Default: the stream of the first argument on
        a device, which is its library's current stream, or the stream of a `DeviceArray`. The call is ordered
        after the work already queued on this stream and on the streams of the other arguments. The host
        synchronizes only when a result is returned to host memory. See docs/explanation/streams.md.
    as_device : bool, optional
        True returns the result on the device, as a `DeviceArray`; False returns it in host memory. Default:
        True if `a` is on a device and `axis` is given.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray
        float64 for integers and bool, otherwise the dtype of `a`. NaN if an element is NaN.

    Raises
    ------
    TypeError
        If the dtype is not supported, or complex.
    ValueError
        If `out` has the wrong shape or dtype.
    DeviceError
        If the device does not exist or fails.

    Notes
    -----
    The middle elements are found exactly, by radix selection: nothing is sorted, and `a` is read once for
    every eleven bits of an element. The host synchronizes only if the result is returned to host memory. See
    docs/explanation/order-statistics.md.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.median(np.array([[10, 7, 4], [3, 2, 1]]), device="sim")
    np.float64(3.5)
    >>> gpureduce.median(np.array([[10, 7, 4], [3, 2, 1]]), axis=1, device="sim")
    array([7., 2.])
    """
    return _median(a, axis, out, keepdims, Options(device=device, stream=stream, as_device=as_device), False)


@fast_path_named(floating.ignore_nonfinite)
def nanmedian(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    out: Out | None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
    *,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Return the median of the elements, ignoring NaNs, as `numpy.nanmedian`.

    Parameters
    ----------
    a, axis, out, overwrite_input, keepdims, device, stream, as_device
        As for `median`.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray
        As for `median`. NaN, with a RuntimeWarning, if all elements are NaN.

    Raises
    ------
    TypeError, ValueError, DeviceError
        As for `median`.

    Notes
    -----
    The host synchronizes only if the result is returned to host memory. A slice of NaNs alone has NaN as its
    result; a result that stays on the device comes without NumPy's RuntimeWarning.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.nanmedian(np.array([3.0, np.nan, 1.0, 2.0, 7.0]), device="sim")
    np.float64(2.5)
    """
    return _median(a, axis, out, keepdims, Options(device=device, stream=stream, as_device=as_device), True)


@fast_path_named(floating.ignore_nonfinite)
def quantile(
    a: AnyArray,
    q: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    out: Out | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: AnyArray | None = None,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Return quantiles, as `numpy.quantile`.

    Parameters
    ----------
    a : array_like or device array
        As for `median`.
    q : array_like of float
        Quantile or quantiles to compute, between 0 and 1, in host memory.
    axis, out, overwrite_input
        As for `median`.
    method : str
        Estimation method for a quantile that lies between two elements, as in NumPy: one of ``"linear"``,
        ``"lower"``, ``"higher"``, ``"midpoint"``, ``"nearest"``, ``"inverted_cdf"``,
        ``"averaged_inverted_cdf"``, ``"closest_observation"``, ``"interpolated_inverted_cdf"``, ``"hazen"``,
        ``"weibull"``, ``"median_unbiased"`` and ``"normal_unbiased"``.
    keepdims : bool
        True keeps the reduced axes with length one, so that the result broadcasts against `a`.
    weights : array_like or device array, optional
        Nonnegative weights of the elements, of the shape of `a` or of its reduced axes in the order of
        `axis`. Only for method ``"inverted_cdf"``.
    device, stream, as_device
        As for `median`.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray
        The axes of `q`, followed by the axes of `a` that are not reduced. The dtype is that of NumPy 2.4: for
        floats the dtype of `a`, unless `q` is an array of a wider float; float64 for integers. Methods that
        select an element keep its dtype, and only these accept bool. NaN if an element is NaN.

    Raises
    ------
    TypeError, ValueError, DeviceError
        As for `median`. ValueError also if `q` is outside 0 to 1, the method is unknown, or there are no
        elements along the axes.

    Notes
    -----
    Without weights, all quantiles are found together, up to 16 elements in each pass over `a`. With weights,
    the elements are sorted and the host sums the weights. The host synchronizes if the result is returned to
    host memory, or if a slice has more than eight quantiles. See docs/explanation/order-statistics.md.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.quantile(np.array([[10, 7, 4], [3, 2, 1]]), [0.25, 0.5], axis=1, device="sim")
    array([[5.5, 1.5],
           [7. , 2. ]])
    >>> gpureduce.quantile(np.arange(10), 0.33, method="lower", device="sim")
    np.int64(2)
    """
    options = Options(device=device, stream=stream, as_device=as_device)
    return _quantile(a, _quantiles(q, 1), type(q), axis, out, method, keepdims, weights, options)


@fast_path_named(floating.ignore_nonfinite)
def nanquantile(
    a: AnyArray,
    q: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    out: Out | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: AnyArray | None = None,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Return quantiles of the elements, ignoring NaNs, as `numpy.nanquantile`.

    Parameters
    ----------
    a, q, axis, out, overwrite_input, method, keepdims, weights, device, stream, as_device
        As for `quantile`.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray
        As for `quantile`. NaN, with a RuntimeWarning, if all elements are NaN.

    Raises
    ------
    TypeError, ValueError, DeviceError
        As for `quantile`.

    Notes
    -----
    The host does not synchronize if the elements are float32 or float64, the method is ``"linear"`` and the
    result stays on the device. A slice of NaNs then has no RuntimeWarning.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.nanquantile(np.array([[10.0, np.nan, 4], [3, 2, 1]]), 0.5, axis=0, device="sim")
    array([6.5, 2. , 2.5])
    """
    options = Options(device=device, stream=stream, as_device=as_device)
    return _quantile(
        a, _quantiles(q, 1), type(q), axis, out, method, keepdims, weights, options, leave_out=True
    )


@fast_path_named(floating.ignore_nonfinite)
def percentile(
    a: AnyArray,
    q: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    out: Out | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: AnyArray | None = None,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Return percentiles, as `numpy.percentile`.

    Parameters
    ----------
    a
        As for `median`.
    q : array_like of float
        Percentile or percentiles to compute, between 0 and 100, in host memory.
    axis, out, overwrite_input, method, keepdims, weights, device, stream, as_device
        As for `quantile`.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray
        As for `quantile`.

    Raises
    ------
    TypeError, ValueError, DeviceError
        As for `quantile`.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.percentile(np.arange(11.0), [5, 95], device="sim")
    array([0.5, 9.5])
    """
    options = Options(device=device, stream=stream, as_device=as_device)
    return _quantile(a, _quantiles(q, 100), type(q), axis, out, method, keepdims, weights, options)


@fast_path_named(floating.ignore_nonfinite)
def nanpercentile(
    a: AnyArray,
    q: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    out: Out | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: AnyArray | None = None,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Return percentiles of the elements, ignoring NaNs, as `numpy.nanpercentile`.

    Parameters
    ----------
    a, q, axis, out, overwrite_input, method, keepdims, weights, device, stream, as_device
        As for `percentile`.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray
        As for `nanquantile`.

    Raises
    ------
    TypeError, ValueError, DeviceError
        As for `quantile`.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.nanpercentile(np.array([0.0, np.nan, 10.0]), 25, device="sim")
    np.float64(2.5)
    """
    options = Options(device=device, stream=stream, as_device=as_device)
    return _quantile(
        a, _quantiles(q, 100), type(q), axis, out, method, keepdims, weights, options, leave_out=True
    )


def take(a: Any, device: Any) -> Operand:
    """Convert an array of ordered elements."""
    operand = as_operand(a, device)
    if operand.dtype.kind == "c":
        raise TypeError(f"a: expected real numbers, got {operand.dtype}")
    return operand


def _quantiles(values: Any, whole: int) -> np.ndarray:
    if type(values) is float and 0 <= values <= whole:
        return np.asarray(values / whole)
    q = values if isinstance(values, np.ndarray) else rules.as_array(values, "q")
    if q.dtype.kind not in "biuf":
        raise TypeError(f"q: expected real numbers, got {type(values).__name__} of dtype {q.dtype}")
    if whole != 1:
        q = np.asanyarray(np.true_divide(values, whole))
    if q.ndim > 2:
        raise ValueError("q: expected at most two dimensions")
    if not ((q >= 0) & (q <= 1)).all():
        raise ValueError(f"q: expected {'quantiles' if whole == 1 else 'percentiles'} between 0 and {whole}")
    return q


def _warn_of_nans() -> None:
    warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=caller_stacklevel())


def _counts(lines: RowView) -> np.ndarray:
    """Return how many elements of each line are no NaN; 1 of a line of NaNs, whose elements will do."""
    counts = lines.valid()
    if not counts.all():
        _warn_of_nans()
    return np.maximum(counts, 1)


def _median(a: Any, axis: Any, out: Any, keepdims: Any, options: Options, leave_out: bool) -> Any:
    operand = take(a, options.device)
    shape = operand.shape
    axis = tuple(axis) if isinstance(axis, list) else axis
    axes = rules.reduced_axes(axis, len(shape), scalar_axis=False)
    output = OutputSpec(out, options, operand, axis, shape, axes, keepdims)
    output.set_dtype(_middle_dtype(operand.dtype), "unsafe")
    output.as_array = not shape and rules.keeps_dims(keepdims)
    output.wait_for_inputs()
    if 0 in shape:
        as_mean = not leave_out or operand.dtype.kind in "biu"  # and not as `nanmean`
        return _of_none(output, not leave_out, as_mean and any(shape[axis] == 0 for axis in axes))
    lines = RowView(operand, axes, output)
    if leave_out and lines.has_nans:
        on_device = lines.middles_of_valid(output) if output.on_device else None
        if on_device is not None:
            return on_device
        counts = _counts(lines)
        lower, upper = lines.elements(np.stack([(counts - 1) // 2, counts // 2]), False)
        result = np.where(counts % 2 == 1, _alone(lower), middle(lower, upper))
        return output.store(result.astype(output.dtype, copy=False))
    ranks = np.array([(lines.length - 1) // 2, lines.length // 2])
    if output.on_device:
        return lines.results(Interpolation(ranks[:1], ranks[1:], None), MIDDLE, False, lines.has_nans, output)
    lower, upper = lines.elements(ranks, lines.has_nans)
    return output.store(_alone(lower) if lines.length % 2 == 1 else middle(lower, upper))


@functools.cache
def _middle_dtype(elements: np.dtype) -> np.dtype:
    return middle(*[np.empty(0, elements)] * 2).dtype


def _alone(elements: np.ndarray) -> np.ndarray:
    """Return the elements with -0.0 replaced by 0.0, as in NumPy's mean of one element."""
    elements = elements.astype(np.float64) if elements.dtype.kind in "biu" else elements
    return elements + elements.dtype.type(0)


def _of_none(output: OutputSpec, divides: bool = False, warns: bool = False) -> Any:
    """Return the results for an empty array; `warns` is for a warning even if there are no results."""
    if warns or 0 not in output.shape:
        warnings.warn("Mean of empty slice.", RuntimeWarning, stacklevel=caller_stacklevel())
        if divides and 0 not in output.shape and not output.on_device:
            floating.signal("divide", False, True, np.geterr())
    return output.store(np.full(output.shape, np.nan, output.dtype))


def _check_method(method: Any, weights: Any) -> None:
    """Raise TypeError or ValueError for what is no method, or none that takes weights."""
    if not isinstance(method, str):
        raise TypeError(f"method: expected str, got {type(method).__name__}")
    if method not in POSITIONS:
        raise ValueError(f"method: expected one of {', '.join(POSITIONS)}, got {method!r}")
    if weights is not None and method != METHOD:
        raise ValueError(f"weights: only supported by method {METHOD!r}, got {method!r}")


def _quantile(
    a: Any,
    q: np.ndarray,
    q_type: type,
    axis: Any,
    out: Any,
    method: str,
    keepdims: Any,
    weights: Any,
    options: Options,
    *,
    leave_out: bool = False,
) -> Any:
    """Return quantiles; `leave_out`: of the elements that are not NaN."""
    _check_method(method, weights)
    operand = take(a, options.device)
    axis = tuple(axis) if isinstance(axis, list) else axis
    axes = rules.reduced_axes(axis, len(operand.shape), scalar_axis=False)
    result_shape = rules.kept_shape(operand.shape, axes, rules.keeps_dims(keepdims))
    output = OutputSpec(out, options, operand, axis, q.shape + result_shape, (), False)
    weak, flat = q_type in (int, float), q.reshape(-1)
    count = rules.reduced_count(operand.shape, axes)
    all_alike = known_interpolation(method, max(count, 1), flat)
    weight = all_alike.weight
    dtype = operand.rule_dtype if weight is None else _dtype(operand.dtype, weight.dtype, weak)
    output.set_dtype(dtype)
    output.as_array = weights is not None or (not operand.shape and rules.keeps_dims(keepdims))
    output.wait_for_inputs()
    if count == 0 and not leave_out:
        raise ValueError(f"a: zero-size array of shape {operand.shape}, which has no quantiles")
    if 0 in operand.shape or not q.size:
        return _of_none(output)
    lines = RowView(operand, axes, output)
    if weights is not None:
        output.reject_capture("weights are summed on the host, and cannot be captured into a graph")
        own = take_weights(weights, operand, axis, axes)
        quantiles, empty = weighted_quantile(lines, operand, axes, own, flat, leave_out)
        if empty:
            _warn_of_nans()
        return output.store(quantiles)
    if leave_out and lines.has_nans:
        if output.on_device and method == "linear":
            on_device = lines.quantiles_of_valid(flat, weak, output)
            if on_device is not None:
                return on_device
        at = interpolation(method, _counts(lines), flat[:, None])
        return output.store(np.ascontiguousarray(_at(lines, at, weak, False)))
    if output.on_device:
        mean = ALONE if all_alike.weight is None else BETWEEN
        result = lines.results(all_alike, mean, weak, lines.has_nans, output)
        if result is not None:
            return result
    return output.store(np.ascontiguousarray(_at(lines, all_alike, weak, lines.has_nans)))


@functools.cache
def _dtype(elements: np.dtype, weight: np.dtype, weak: bool) -> np.dtype:
    """Return the dtype of interpolated elements."""
    if elements.kind == "b":
        raise TypeError("a: bool requires a method that selects an element, such as 'nearest'")
    none = np.empty((0, 1), elements)
    return between(none, none, np.empty((0, 1), weight), weak).dtype


def _at(lines: RowView, at: Interpolation, weak: bool, nans: bool) -> np.ndarray:
    """Return what is at places: a row for each quantile, a column for each line."""
    if at.weight is None:
        return lines.elements(at.lower, nans)
    neighbours = lines.elements(np.concatenate([at.lower, at.upper]), nans)
    lower, upper = neighbours[: len(at.lower)], neighbours[len(at.lower) :]
    weight = at.weight.reshape(len(at.lower), -1)
    return between(lower, upper, weight, weak)
