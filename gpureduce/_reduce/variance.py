"""Variances and standard deviations: from the arguments of a call to its result."""

from __future__ import annotations

import struct
import warnings
from typing import Any, NamedTuple

import numpy as np

from gpureduce import _core
from gpureduce._arrays.operand import Operand, as_operand
from gpureduce._reduce import floating
from gpureduce._reduce.engine import run
from gpureduce._reduce.options import Options, reject_variant
from gpureduce._reduce.output import Casting, OutputSpec
from gpureduce._reduce.power_sums import moved, scaled_sums, sums_of
from gpureduce._rules import arguments as rules
from gpureduce._rules import dtypes
from gpureduce._rules.arguments import NO_VALUE, caller_stacklevel, require_inexact

_FLOAT64 = np.dtype(np.float64)
_NAN_FORMS = {"nanvar": "var", "nanstd": "std"}


class _Call(NamedTuple):
    """A variance, or its root, of elements that are already cast; `source`: as they are given."""

    op: str
    operand: Operand
    source: Operand
    axes: tuple[int, ...]
    mask: Operand | None
    ddof: Any
    skip: bool  # NaNs are left out
    output: OutputSpec

    def report_nonfinite(self, result: Any) -> None:
        """Report a result in host memory."""
        _report_nonfinite(result, self.source, self.axes, self.mask, self.ddof, self.skip)


def variance_reduction(
    op: str,
    a: Any,
    options: Options,
    axis: Any,
    dtype: Any,
    out: Any,
    ddof: Any,
    keepdims: Any,
    where: Any,
    mean: Any,
    correction: Any,
    exact: Any = False,
) -> Any:
    """Reduce by a variance or its root; takes the arguments of `var`."""
    exact = rules.flag(exact, "exact")
    if correction is not NO_VALUE:
        if rules.degrees(ddof) != 0:
            raise ValueError("correction: another name of ddof=; pass only one of them")
        ddof = correction
    ddof = rules.degrees(ddof)
    operand = as_operand(a, options.device)
    reject_variant(axis)
    axes = rules.reduced_axes(axis, len(operand.shape), scalar_axis=False)
    output = OutputSpec(out, options, operand, axis, operand.shape, axes, keepdims)
    if where is None:
        raise TypeError("where: expected bool or an array of bool, got None")
    mask = None
    if where is not True:
        mask = output.take_mask(where, operand)
    reject_named(op, options)
    skip = op.startswith("nan") and operand.dtype.kind not in "biu"
    if skip:
        require_inexact(dtype, output.out_dtype)
    call = _Call(op, _in_dtype(op, operand, dtype, output), operand, axes, mask, ddof, skip, output)
    output.wait_for_inputs()
    has_mean = not (mean is NO_VALUE or mean is None)
    if exact and has_mean:
        raise TypeError("mean: not supported with exact=True")
    if exact:
        return output.store(_exact(call))
    if has_mean:
        return output.store(_about(call, mean))
    return output.store(_by_kernel(call, options))


def _exact(call: _Call) -> Any:
    """Return correctly rounded variances."""
    from gpureduce._reduce.exact_squares import exact_variance  # few calls need fractions

    operand, output = call.operand, call.output
    operand = output.cast(operand, _FLOAT64) if operand.dtype.kind in "biu" else operand
    result = exact_variance(call.op, operand, call.axes, call.mask, call.ddof, output)
    if not output.on_device:
        call.report_nonfinite(result)
    return result


def _by_kernel(call: _Call, options: Options) -> Any:
    """Return the variances of the core; None if it writes them to the output."""
    op, operand, output = call.op, call.operand, call.output
    core_out = output.core_out(dtypes.core_dtype(op, operand.dtype))
    (bits,) = struct.unpack("Q", struct.pack("d", call.ddof))
    kernel = op if call.skip else _NAN_FORMS.get(op, op)
    result = run(kernel, operand, call.axes, call.mask, None, core_out, options.progress, output.stream, bits)
    if result is not None and not output.on_device:
        call.report_nonfinite(result)
        floating.check_cast(call.source, operand, result)
    return result


def reject_named(op: str, options: Options) -> None:
    """Raise ValueError for a named variant."""
    if options.variant is not None:
        raise ValueError(f"variant: {options.variant.name} does not cover {op}; 'auto' does")


def _in_dtype(op: str, operand: Operand, dtype: Any, output: OutputSpec) -> Operand:
    """Cast the elements to ``dtype=``, which becomes the dtype of the result."""
    casting: Casting = "same_kind" if op.endswith("std") else "unsafe"  # of NumPy's square root; of its sums
    if dtype is None:
        output.set_dtype(dtypes.core_dtype(op, operand.dtype), casting)
        return operand
    requested = dtypes.dtype_of(dtype)
    dtypes.require_supported(requested, "dtype")
    if requested.kind in "biu" or not requested.isnative:
        raise TypeError(f"dtype: expected floating or complex numbers in native byte order, got {requested}")
    output.set_dtype(requested, casting)
    elements = dtypes.variance_elements(operand.dtype, requested)
    if operand.dtype == elements or dtypes.core_dtype(op, operand.dtype) == requested:
        return operand
    return output.cast(operand, elements)


def _report_nonfinite(
    result: Any, operand: Operand, axes: tuple[int, ...], mask: Operand | None, ddof: Any, skip: bool
) -> None:
    """Warn about results with too few elements, and report other floating-point errors to NumPy.

    A finite result needs no report, unless it has too few elements.
    """
    doubtful, nan, infinite = not _core.all_finite(result), False, None
    counts: Any = rules.reduced_count(operand.shape, axes)
    if skip and doubtful:
        parts = [sums_of(part, axes, mask) for part in floating.parts_of(operand)]
        counts = np.minimum.reduce([np.abs(sums[..., 0]) for sums in parts])
        infinite = np.logical_or.reduce([~np.isfinite(sums[..., 2]) for sums in parts])
    elif mask is not None and doubtful:
        counts = run("count_nonzero", mask, axes)
    few = np.asarray(ddof >= counts)
    silent = skip and np.size(result) == 0  # as NumPy's forms that skip NaNs
    if few.any() and (doubtful or mask is None) and not silent:
        warn_of_few("." if skip else "")
    modes = np.geterr()
    if not doubtful or modes["over"] == modes["invalid"] == modes["divide"] == "ignore":
        return
    if infinite is None:
        ends = floating.extremes(operand, axes, mask)
        nan = np.logical_or.reduce([np.isnan(high) for high, _ in ends])
        infinite = np.logical_or.reduce([np.isposinf(high) | np.isneginf(low) for high, low in ends])
    if not skip and few.any():  # NumPy divides by 0
        nothing = few & np.isnan(result) & ~np.asarray(nan) & ~np.asarray(infinite)
        floating.signal("divide", False, bool(nothing.any()), modes, bool((few & np.isinf(result)).any()))
    over = np.isinf(result) & ~few
    floating.signal("subtract", False, bool((infinite & ~np.asarray(nan)).any()), modes)
    floating.signal("multiply", bool(over.any()), False, modes)


def report_variance_status(op: str, *call: Any) -> None:
    """Report the same for a result of the fast path."""
    result, operand, axes, mask = floating.reduced(op, *call)
    _report_nonfinite(
        result, operand, axes, mask, call[-1], op.startswith("nan") and operand.dtype.kind not in "biu"
    )


def warn_of_few(end: str = "") -> None:
    """Warn as NumPy does."""
    warnings.warn(f"Degrees of freedom <= 0 for slice{end}", RuntimeWarning, stacklevel=caller_stacklevel())


def _about(call: _Call, mean: Any) -> np.ndarray:
    """Return variances about a given mean."""
    output, ddof = call.output, call.ddof
    output.reject_capture("mean= needs the host, and cannot be captured into a graph")
    mean = rules.as_array(mean, "mean")
    if mean.dtype.kind not in "biufc":
        raise TypeError(f"mean: expected numbers, got dtype {mean.dtype}")
    parts = floating.parts_of(call.operand)
    if len(parts) < 2 and mean.dtype.kind == "c":
        raise TypeError("mean: is complex, but the elements are not")
    if len(parts) > 1 and call.skip:
        raise TypeError("mean: not supported for complex elements where NaNs are left out")
    shape = rules.kept_shape(call.operand.shape, call.axes, True)
    try:
        points = np.broadcast_to(mean, shape).reshape(rules.kept_shape(call.operand.shape, call.axes))
    except ValueError:
        raise ValueError(f"mean: shape {mean.shape} does not broadcast to {shape}") from None
    squares: Any = 0
    with np.errstate(all="ignore"):
        for part, point in zip(parts, (points.real, points.imag), strict=False):
            sums, exponents = scaled_sums(part, call.axes, call.mask, output.stream)
            scaled = np.ldexp(point.astype(np.float64), -exponents)
            second = moved(sums, sums[..., 1] - scaled)[..., 3]
            count, nan = np.abs(sums[..., 0]), np.signbit(sums[..., 0])
            squares = squares + np.ldexp(second / np.maximum(count - ddof, 0), 2 * exponents)
        few = ddof >= count
        result = np.asarray(squares)
        result[few if call.skip else nan] = np.nan
        if few.any() and not output.on_device:
            warn_of_few("." if call.skip else "")
        return np.sqrt(result) if call.op.endswith("std") else result
