"""Public reductions composed of others: differences, pairs of arrays, views."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.device_array import DeviceArray, empty, to_device
from gpureduce._arrays.operand import Operand, as_operand, as_operand_like
from gpureduce._device.devices import device_name
from gpureduce._reduce import exact as _exact
from gpureduce._reduce import floating
from gpureduce._reduce.arithmetic import mean
from gpureduce._reduce.engine import mean as _mean
from gpureduce._reduce.engine import reduction, run
from gpureduce._reduce.fast_path import core_callable, fast_path_named, fast_path_op
from gpureduce._reduce.fused_ops import ReductionCall, is_complex, real_dtype, restrided, strides_of, view_of
from gpureduce._reduce.multi_device import takes_multi_device
from gpureduce._reduce.options import Options
from gpureduce._reduce.output import OutputSpec
from gpureduce._reduce.progress import Progress
from gpureduce._rules import arguments as rules
from gpureduce._rules import dtypes
from gpureduce._rules.arguments import NO_VALUE

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import DTypeLike

    from gpureduce._device.devices import Device
    from gpureduce._reduce.types import AnyArray, Devices, Out, Scalar, Stream

_INT64 = np.dtype(np.int64)
_DOTS, _BROADCAST_DOTS = (
    core_callable(op, "a b out", "axis device stream as_device", partial(floating.report_fp_status, "vecdot"))
    for op in ("dot", "vecdot")
)


def _report_average(result: Any, a: Any, axis: Any, weights: Any, kind: int, index: int, ddof: float) -> None:
    """Raise ZeroDivisionError, or report a nonfinite result of the fast path."""
    call = floating.reduced("average", result, a, axis, weights, kind, index, ddof)
    assert call.second is not None
    along = _weights_along(call.second, call.operand.shape, axis)
    if 0 in np.asarray(run("sum", along, call.axes)):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    floating.check_fp_status("average", *call._replace(second=along))


_AVERAGES = core_callable("average", "a axis b", "keepdims device stream as_device", _report_average)


# ---- differences and parities ----


@fast_path_op("extremes", _core.DIFFERENCE, partial(floating.report_fp_status, "ptp"))
def ptp(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    out: Out | None = None,
    keepdims: bool = False,
    *,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the range of the elements: the maximum minus the minimum ("peak to peak").

    Parameters
    ----------
    a, axis, out, keepdims, device, stream, as_device, progress
        As for `max`.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    As `numpy.ptp`: one pass over floating-point numbers, two passes over others. Differences of integers wrap
    around.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.ptp([[4.0, 9.0], [2.0, 10.0]], axis=1, device="sim")
    array([5., 8.])
    """
    options = Options(device=device, stream=stream, as_device=as_device, progress=progress)
    operand = as_operand(a, options.device)
    if operand.dtype == dtypes.BOOL:
        raise TypeError("a: ptp does not support bool")
    call = ReductionCall(operand, options, axis, out, keepdims)
    rules.require_elements("ptp", call.count, operand.shape)
    dtype = call.output.loop_dtype("max", operand.rule_dtype)
    call.operand = operand.cast(dtype)
    if dtype.kind not in "iuc":
        return call.finished("ptp", call.run("extremes", dtype, _core.DIFFERENCE))
    call.output.set_dtype(dtype)
    call.output.wait_for_inputs()
    if not call.output.on_device:
        most: Any = call.again("max")
        with np.errstate(all="ignore"):
            return call.output.store(np.asarray(most - call.again("min")))
    _difference_on_device(call, dtype)
    return call.output.store(None)


def _difference_on_device(call: ReductionCall, dtype: np.dtype) -> None:
    """Write maximum minus minimum: the dot product with (1, -1) of each part."""
    output = call.output
    output.reject_capture("ptp of this dtype needs temporary memory, and cannot be captured into a graph")
    part = real_dtype(dtype)
    results = rules.reduced_count(output.kept, tuple(range(len(output.kept))))
    both = empty((2, results), dtype, output.kind, output.index, output.stream_owner)
    for row, op in enumerate(("max", "min")):
        at = (both._pointer + row * results * dtype.itemsize, output.kept, dtypes.dtype_name(dtype))
        out = (at[0], at[1], rules.c_strides(output.kept, dtype.itemsize), at[2])
        run(op, call.operand, call.axes, None, None, out, None, output.stream)
    count = results * (dtype.itemsize // part.itemsize)
    name, packed = dtypes.dtype_name(part), rules.c_strides((2, count), part.itemsize)
    signs = to_device(np.array([1, -1]).astype(part), device_name(output.kind, output.index))
    first = Operand(
        (both._pointer, (2, count), packed, name), (2, count), part, output.kind, output.index, both
    )
    second = replace(first, handle=(signs._pointer, (2, count), (part.itemsize, 0), name), view=signs)
    output.reads.append(second)  # its memory goes back after the work
    out = (output.view._pointer, (count,), (part.itemsize,), name)
    run("dot", first, (0,), second, None, out, None, output.stream)


def _is_odd(counts: Any) -> Any:
    return (counts & 1).astype(bool)


@fast_path_named(_is_odd)
def logical_xor(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    out: Out | None = None,
    keepdims: bool = False,
    initial: Scalar | None = NO_VALUE,
    where: AnyArray = True,
    *,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the logical XOR of the elements: whether an odd number of them is nonzero.

    Parameters
    ----------
    a, axis, out, keepdims, initial, where, device, stream, as_device, progress
        As for `any` and `sum`.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    The result is that of ``numpy.logical_xor.reduce``, except that all axes are reduced by default.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.logical_xor([[3, 0], [5, 7]], axis=1, device="sim")
    array([ True, False])
    """
    options = Options(device=device, stream=stream, as_device=as_device, progress=progress)
    call = ReductionCall(as_operand(a, options.device), options, axis, out, keepdims, where)
    output = call.output
    start = None
    if initial is None:
        rules.require_elements("logical_xor", call.count, call.operand.shape)
    elif initial is not NO_VALUE:
        start = np.asarray(rules.flag(initial, "initial"), _INT64)
    output.set_dtype(dtypes.BOOL, "unsafe")
    output.wait_for_inputs()
    if not output.on_device:
        counts: Any = run("count_nonzero", call.operand, call.axes, call.mask, start, None, call.progress,
                          output.stream)  # fmt: skip
        return output.store(_is_odd(counts))
    odd = empty(output.kept, _INT64, output.kind, output.index, output.stream_owner)
    run("count_nonzero", call.operand, call.axes, call.mask, start, odd._view_tuple(), None, output.stream)
    each = Operand(odd._view_tuple(), odd.shape, _INT64, output.kind, output.index, odd)
    each = each.with_strides((*odd.shape, 1), (*odd.strides, _INT64.itemsize))
    axes, one = (len(odd.shape),), np.asarray(1, _INT64)
    run("bitwise_and", each, axes, None, one, odd._view_tuple(), None, output.stream)
    run("any", each, axes, None, None, output.core_out(dtypes.BOOL), None, output.stream)
    return output.store(None)


# ---- pairs ----


@takes_multi_device
def average(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    weights: AnyArray | None = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
    device: Devices = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    exact: bool = False,
) -> Any:
    """Return the weighted average.

    Parameters
    ----------
    a : array_like or device array
        Input array, as for `mean`.
    axis, keepdims, device, stream, as_device
        As for `mean`.
    weights : array_like or device array, optional
        Weights, of the shape of `a` or of its reduced axes in the order of `axis`: in host memory if `a` is,
        else on the device of `a`. Default: equal weights.
    returned : bool
        True also returns the sum of the weights.
    exact : bool
        True returns the correctly rounded result (to nearest, ties to even), which depends neither on the
        order of the elements nor on the device. See docs/explanation/exact-sums.md.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray, or two of them

    Raises
    ------
    ZeroDivisionError
        If weights sum to zero and the result is in host memory. A result on a device is NaN or infinite
        instead.

    Notes
    -----
    As `numpy.average`, in one pass: weighted elements and weights are summed in float64, and divided there.
    Arrays on a device are not cast: `a` and `weights` must have the same floating-point or complex dtype.

    With ``exact=True``, the quotient of the exact sums is rounded once, by the host: with `weights`, the call
    synchronizes, and cannot be captured into a graph. Integers are converted to float64 first.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.average([1.0, 2.0, 4.0], weights=[3, 1, 0], device="sim")
    np.float64(1.25)
    >>> gpureduce.average([[1.0, 2.0], [3.0, 5.0]], axis=1, weights=[1.0, 3.0], returned=True, device="sim")
    (array([1.75, 4.5 ]), array([4., 4.]))
    """
    returned, exact = rules.flag(returned, "returned"), rules.flag(exact, "exact")
    if weights is None and not returned:
        return mean(
            a, axis, keepdims=keepdims, device=device, stream=stream, as_device=as_device, exact=exact
        )
    if weights is not None and not returned and not exact:
        known = _AVERAGES(
            a, axis, weights, keepdims=keepdims, device=device, stream=stream, as_device=as_device
        )
        if known is not NotImplemented:
            return known
    options = Options(device=device, stream=stream, as_device=as_device)
    operand = as_operand(a, options.device)
    if weights is None:
        average = (_exact.mean if exact else _mean)(a, options, axis, None, None, keepdims, True)
        return average, _counts(average, operand, axis)
    other = _in_memory_of(operand, weights, "weights")
    if axis is None and operand.shape != other.shape:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    call = ReductionCall(operand, options, axis, keepdims=keepdims)
    other = _weights_along(other, operand.shape, axis)
    whole = operand.dtype.kind in "biu"
    operand_dtypes = (operand.rule_dtype, other.rule_dtype)
    dtype = dtypes.canonical_dtype(np.result_type(*operand_dtypes, *(["f8"] if whole else [])), "a")
    call.operand, call.mask = operand.cast(dtype), other.cast(dtype)
    call.output.reads.append(call.mask)
    if dtype.kind in "biu":
        raise TypeError(
            f"weights: {dtype} arrays on a device are not supported; convert both to floating point first"
        )
    if exact:
        return _exact_average(call, axis, keepdims, dtype, returned)
    result = call.run("average", dtype)
    total = None
    doubtful = result is not None and not call.output.on_device and not _core.all_finite(result)
    if doubtful or returned:
        sums = OutputSpec(None, options, call.mask, axis, operand.shape, call.axes, keepdims)
        sums.set_dtype(dtype)
        sums.wait_for_inputs()
        total = run("sum", call.mask, call.axes, None, None, sums.core_out(dtype), None, sums.stream)
        if doubtful and 0 in np.asarray(total):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        total = sums.store(total)
    stored = call.finished("average", result)
    return (stored, total) if returned else stored


def _exact_average(call: ReductionCall, axis: Any, keepdims: Any, dtype: np.dtype, returned: bool) -> Any:
    """Return averages that are rounded once."""
    from gpureduce._reduce.exact_moments import exact_average  # few calls need fractions

    assert call.mask is not None
    call.output.set_dtype(dtype)
    result, total = exact_average(call.operand, call.mask, call.axes, call.output)
    if not call.output.on_device and (total == 0).any():
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    stored = call.finished("average", result)
    if not returned:
        return stored
    sums = OutputSpec(None, Options(), call.mask, axis, call.operand.shape, call.axes, keepdims)
    sums.on_device = call.output.on_device
    sums.set_dtype(dtype)
    return stored, sums.store(total)


def _counts(average: Any, operand: Operand, axis: Any) -> Any:
    """Return the number of elements of each mean, in the shape of the means."""
    count = rules.reduced_count(operand.shape, rules.reduced_axes(axis, len(operand.shape)))
    if isinstance(average, DeviceArray):
        return to_device(np.full(average.shape, count, average.dtype), average.device)
    return np.full_like(average, count)[()]


def _weights_along(weights: Operand, shape: tuple[int, ...], axis: Any) -> Operand:
    """Broadcast weights of some axes to all elements."""
    if weights.shape == shape:
        return weights
    order = [rules.reduced_axes(one, len(shape))[0] for one in (axis if isinstance(axis, tuple) else (axis,))]
    if weights.shape != tuple(shape[one] for one in order):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    along = dict(zip(order, strides_of(weights), strict=True))
    return restrided(weights, shape, tuple(along.get(one, 0) for one in range(len(shape))))


def _in_memory_of(first: Operand, other: Any, name: str) -> Operand:
    """Convert an array in the same memory space as the first one."""
    second = as_operand_like(other, first, name)
    location = (first.view is None, first.kind, first.index)
    if (second.view is None, second.kind, second.index) != location:
        owner = "x1" if name == "x2" else "a"
        raise TypeError(f"{name}: must be on the device of {owner}, or in host memory if {owner} is")
    return second


def _products(
    op: str, first: Operand, second: Operand, axis: int, options: Options, out: Out | None, name: str
) -> Any:
    """Sum the products along the last axis of two operands of the same shape."""
    dtype = dtypes.canonical_dtype(np.promote_types(first.rule_dtype, second.rule_dtype), name)
    whole = None if len(first.shape) == 1 else axis
    call = ReductionCall(first.cast(dtype), options, whole, out)
    call.mask = second.cast(dtype)
    call.output.reads.append(call.mask)
    result = call.run(op if is_complex(call.operand) else "dot", dtype)
    return call.finished(op, result)


def vecdot(
    x1: AnyArray,
    x2: AnyArray,
    out: Out | None = None,
    *,
    axis: SupportsIndex = -1,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Return the dot products of vectors along an axis.

    Parameters
    ----------
    x1, x2 : array_like or device array
        Input arrays, as for `sum`: both in host memory, or both on one device. All axes other than `axis` are
        broadcast. The complex conjugate of `x1` is used.
    out, device, stream, as_device
        As for `sum`.
    axis : int
        Axis of the vectors in both arrays.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    As `numpy.vecdot` and ``vecdot`` of the array API standard. Accumulates as `dot` does.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.vecdot([[1.0, 2.0], [3.0, 4.0]], [1.0, -1.0], device="sim")
    array([-1., -1.])
    >>> gpureduce.vecdot([1j], [1j], device="sim")
    np.complex128(1+0j)
    """
    core_options = {"axis": axis, "device": device, "stream": stream, "as_device": as_device}
    for core in (_DOTS, _BROADCAST_DOTS):
        result = core(x1, x2, out, **core_options)
        if result is not NotImplemented:
            return result
    options = Options(device=device, stream=stream, as_device=as_device)
    first = as_operand(x1, options.device, "x1")
    second = _in_memory_of(first, x2, "x2")
    operands = [_axis_last(each, axis) for each in (first, second)]
    if operands[0].shape[-1] != operands[1].shape[-1]:
        raise ValueError(
            f"x2: expected vectors of length {operands[0].shape[-1]}, got {operands[1].shape[-1]}"
        )
    shape = np.broadcast_shapes(*(each.shape for each in operands))
    first, second = (_repeated(each, shape) for each in operands)
    return _products("vecdot", first, second, -1, options, out, "x2")


def _axis_last(operand: Operand, axis: Any) -> Operand:
    """Return the operand with an axis moved to the end."""
    at = rules.one_axis(axis, len(operand.shape))
    order = [*(one for one in range(len(operand.shape)) if one != at), at]
    strides = strides_of(operand)
    return restrided(
        operand, tuple(operand.shape[one] for one in order), tuple(strides[one] for one in order)
    )


def _repeated(operand: Operand, shape: tuple[int, ...]) -> Operand:
    """Return the operand broadcast to a shape."""
    return restrided(operand, shape, rules.broadcast_strides(operand.shape, strides_of(operand), shape))


@fast_path_named(floating.ignore_nonfinite)
def inner(
    a: AnyArray,
    b: AnyArray,
    out: Out | None = None,
    *,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Return the dot products of all pairs of vectors along the last axes of two arrays.

    Parameters
    ----------
    a, b : array_like or device array
        Input arrays, as for `dot`, with at least one dimension.
    out, device, stream, as_device
        As for `sum`.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    As `numpy.inner`: complex numbers are not conjugated. For many vectors, `matmul` with the transpose of `b`
    computes the same products faster.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.inner([[1, 2], [3, 4]], [10, 1], device="sim")
    array([12, 34])
    """
    options = Options(device=device, stream=stream, as_device=as_device)
    first = as_operand(a, options.device)
    second = _in_memory_of(first, b, "b")
    if not first.shape or not second.shape:  # a scalar operand: vectors of one element
        first, second = (
            restrided(each, (*each.shape, 1), (*strides_of(each), 0)) for each in (first, second)
        )
    if first.shape[-1] != second.shape[-1]:
        raise ValueError(f"b: expected vectors of length {first.shape[-1]}, got {second.shape[-1]}")
    ours, theirs = strides_of(first), strides_of(second)
    shape = (*first.shape[:-1], *second.shape)
    first = restrided(first, shape, (*ours[:-1], *(0 for _ in second.shape[:-1]), ours[-1]))
    second = restrided(second, shape, (*(0 for _ in ours[:-1]), *theirs))
    return _products("dot", first, second, -1, options, out, "b")


# ---- views ----


@fast_path_named(floating.ignore_nonfinite)
def trace(
    a: AnyArray,
    offset: int = 0,
    axis1: SupportsIndex = 0,
    axis2: SupportsIndex = 1,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    *,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Return the sums along diagonals.

    Parameters
    ----------
    a : array_like or device array
        Input array, as for `sum`, with at least two dimensions.
    offset : int
        Offset from the main diagonal: positive above it, negative below it.
    axis1, axis2 : int
        Axes of the matrices whose diagonals are summed.
    dtype, out, device, stream, as_device
        As for `sum`.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    As `numpy.trace`: the `sum` of a view of the diagonals.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.trace([[1, 2], [3, 4]], device="sim")
    np.int64(5)
    """
    options = Options(device=device, stream=stream, as_device=as_device)
    operand = as_operand(a, options.device)
    if len(operand.shape) < 2:
        raise ValueError("a: trace requires an array of at least two dimensions")
    offset = rules.integer(offset, "offset")
    (first,) = rules.reduced_axes(rules.integer(axis1, "axis1"), len(operand.shape))
    (second,) = rules.reduced_axes(rules.integer(axis2, "axis2"), len(operand.shape))
    if first == second:
        raise ValueError("axis1 and axis2 cannot be the same")
    most = max(operand.shape)
    offset = min(max(offset, -most), most)  # there are no elements beyond
    axis = None if len(operand.shape) == 2 else -1
    if operand.view is None:
        elements = operand.handle if operand.numpy_dtype is None else operand.handle.view(operand.numpy_dtype)
        return reduction("sum", np.diagonal(elements, offset, first, second), options, axis, dtype, out)
    strides = operand.handle[2]
    kept_axes = [one for one in range(len(operand.shape)) if one not in (first, second)]
    down, right = max(-offset, 0), max(offset, 0)
    length = max(min(operand.shape[first] - down, operand.shape[second] - right), 0)
    pointer = operand.handle[0] + (down * strides[first] + right * strides[second] if length else 0)
    view = view_of(
        operand.view,
        pointer,
        (*(operand.shape[one] for one in kept_axes), length),
        (*(strides[one] for one in kept_axes), strides[first] + strides[second]),
        operand.dtype,
    )
    return reduction("sum", view, options, axis, dtype, out)
