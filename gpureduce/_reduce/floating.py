"""NumPy's floating-point errors for results on the host, according to `numpy.errstate`.

Kernels set no flags. If a sum, product, mean or dot product is infinite or NaN, the elements are scanned
again: if no element is infinite or NaN, the result overflowed or an operation was invalid.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gpureduce import _core
from gpureduce._arrays.operand import Operand, as_operand, take_mask
from gpureduce._device.devices import device_name
from gpureduce._rules import arguments as rules
from gpureduce._rules.arguments import caller_stacklevel
from gpureduce._rules.dtypes import PAIRS, dtype_name

# Operators that may return infinity or NaN for finite elements, and the function that NumPy names in the
# warning.
_ROUNDED = {
    "sum": "reduce",
    "prod": "reduce",
    "mean": "reduce",
    "nansum": "reduce",
    "nanprod": "reduce",
    "nanmean": "reduce",
    "dot": "dot",
    "vecdot": "vecdot",
    "average": "reduce",
    "ptp": "subtract",
    "norm": "dot",
}
Ends = tuple[Any, Any]  # the largest and the smallest elements of each result
_BITS = {"divide": 1, "over": 2, "invalid": 8}  # as a function given to numpy.seterrcall gets them
_TEXTS = {"divide": "divide by zero", "over": "overflow", "invalid": "invalid value"}
_PARTS = {"complex64": "float32", "complex128": "float64"}


def check_fp_status(
    op: str,
    result: Any,
    operand: Operand,
    axes: tuple[int, ...],
    second: Operand | None = None,
    initial: np.ndarray | None = None,
    where: str | None = None,
    ends_of: Callable[[Operand], Ends] | None = None,
) -> None:
    """Raise or warn as NumPy would for a nonfinite host result of the core.

    Parameters
    ----------
    op : str
        The operator.
    result : numpy.ndarray or numpy scalar
        Its result.
    operand, axes, second, initial
        Operands and axes of the call; `second` is the other operand of a dot product or an average, else a
        mask.
    where : str, optional
        Name of the function in NumPy's message.
    ends_of : callable, optional
        Returns the largest and the smallest real elements of each result. Default: reduce along `axes`.
    """
    if op not in _ROUNDED:
        return
    modes = np.geterr()
    if modes["over"] == modes["invalid"] == "ignore":
        return
    over = invalid = ignore_nonfinite = False
    integers = operand.dtype.kind in "biu"
    if ends_of is None:
        mask = None if op in PAIRS else second
        ends_of = partial(_extremes, axes=axes, mask=mask, skip_nan=op.startswith("nan"))
    for value, nan, infinite, empty in _causes(op, np.asarray(result), operand, second, initial, ends_of):
        wrong = ~np.isfinite(value) & ~nan
        if integers and op == "mean":  # no NaN was among them
            empty = np.isnan(value)
        ignore_nonfinite |= bool((wrong & empty).any())
        over |= bool((wrong & ~empty & ~infinite).any())
        invalid |= bool((wrong & ~empty & np.isnan(value)).any())
    signal(where or _ROUNDED[op], over, invalid, modes)
    if ignore_nonfinite and op == "mean":  # of nothing: 0 / 0
        _signal("invalid", "divide", modes["invalid"], _BITS["invalid"])


def check_cast(before: Operand, after: Operand, result: Any) -> None:
    """Report elements in host memory that a cast made infinite, if a result on the host is not finite."""
    modes = np.geterr()
    if before.dtype == after.dtype or before.view is not None or modes["over"] == "ignore":
        return
    if not _core.all_finite(result):
        over = bool((np.isfinite(before.handle) & ~np.isfinite(after.handle)).any())
        signal("cast", over, False, modes)


class Reduced(NamedTuple):
    """A call of the fast path: its result, without kept axes of length 1, and its inputs."""

    result: np.ndarray
    operand: Operand
    axes: tuple[int, ...]
    second: Operand | None


def reduced(
    op: str, result: Any, a: Any, axis: Any, second: Any, kind: int, index: int, _ddof: float
) -> Reduced:
    """Convert the arguments that the core passes for a nonfinite result."""
    device = device_name(kind, index)
    operand, other = as_operand(a, device), None
    if second is not None:
        other = as_operand(second, device) if op in PAIRS else take_mask(second, operand)
    axes = rules.reduced_axes(axis, len(operand.shape))
    return Reduced(np.asarray(result).reshape(rules.kept_shape(operand.shape, axes)), operand, axes, other)


def report_fp_status(op: str, *call: Any) -> None:
    """Check the result of a call of the fast path."""
    check_fp_status(op, *reduced(op, *call))


def ignore_nonfinite(*_call: Any) -> None:
    """Accept any result."""


def _causes(
    op: str,
    result: np.ndarray,
    operand: Operand,
    second: Operand | None,
    initial: np.ndarray | None,
    ends_of: Callable[[Operand], Ends],
) -> Iterator[tuple[np.ndarray, Any, Any, Any]]:
    """Yield results, and for each whether NaNs, infinities or missing elements caused it.

    Real and imaginary parts are separate sums, but one product.
    """
    values = real_parts(result)
    operands = [operand, second] if op in PAIRS and second else [operand]
    ends = [ends_of(part) for one in operands for part in parts_of(one)[: len(values)]]
    if len(ends) < len(values):  # real elements in a complex dtype
        ends *= 2
    if initial is not None:
        pairs = zip(ends, real_parts(initial), strict=True)
        ends = [(np.maximum(high, start), np.minimum(low, start)) for (high, low), start in pairs]
    nonfinite_sources = [
        (np.isnan(high), np.isposinf(high) | np.isneginf(low), low > high) for high, low in ends
    ]
    if op in ("prod", "nanprod", "norm", *PAIRS):
        together = zip(*nonfinite_sources, strict=True)
        merged = tuple(np.logical_or.reduce(np.broadcast_arrays(*source)) for source in together)
        nonfinite_sources = [merged for _ in values]
    for value, source in zip(values, nonfinite_sources, strict=True):
        yield (value, *source)


def extremes(operand: Operand, axes: tuple[int, ...], mask: Operand | None = None) -> list[tuple[Any, Any]]:
    """Return the largest and the smallest elements of the real, and the imaginary, parts."""
    return [_extremes(part, axes, mask) for part in parts_of(operand)]


def _extremes(operand: Operand, axes: tuple[int, ...], mask: Operand | None, skip_nan: bool = False) -> Ends:
    """Return the largest and the smallest elements; both NaN if one is; swapped if there are none.

    With `skip_nan`, NaN only if all elements are. For integers both are 0.
    """
    if operand.dtype.kind in "biu":
        return np.zeros(()), np.zeros(())
    second = None if mask is None else mask.handle
    device = (operand.kind, operand.index)
    high, low = (
        _core.general(operand.handle, op, axes, second, None, None, *device, None)
        for op in (("nanmax", "nanmin") if skip_nan else ("max", "min"))
    )
    assert high is not None and low is not None
    return high.astype(np.float64), low.astype(np.float64)


def real_parts(array: np.ndarray) -> list[np.ndarray]:
    """Return the real and the imaginary part, or the array itself, in float64."""
    parts = [array.real, array.imag] if array.dtype.kind == "c" else [array]
    return [part.astype(np.float64) for part in parts]


def parts_of(operand: Operand) -> list[Operand]:
    """Return the real and the imaginary part of a complex operand, or the operand itself."""
    if operand.dtype.kind != "c":
        return [operand]
    handle, name = operand.handle, _PARTS[dtype_name(operand.dtype)]
    dtype = np.dtype(name)
    if isinstance(handle, tuple):
        pointer, shape, strides, _ = handle
        handles: list[Any] = [(pointer + at, shape, strides, name) for at in (0, dtype.itemsize)]
    else:
        handles = [handle.real, handle.imag]
    return [replace(operand, handle=part, dtype=dtype) for part in handles]


def signal(where: str, over: bool, invalid: bool, modes: Mapping[str, Any], divide: bool = False) -> None:
    """Report floating-point errors in the function that NumPy calls `where`."""
    status = over * _BITS["over"] | invalid * _BITS["invalid"] | divide * _BITS["divide"]
    if divide:
        _signal("divide", where, modes["divide"], status)
    if over:
        _signal("over", where, modes["over"], status)
    if invalid:
        _signal("invalid", where, modes["invalid"], status)


def _signal(kind: str, where: str, mode: str, status: int) -> None:
    """Handle one kind of floating-point error according to `numpy.errstate`."""
    message = f"{_TEXTS[kind]} encountered in {where}"
    if mode == "warn":
        warnings.warn(message, RuntimeWarning, stacklevel=caller_stacklevel())
    elif mode == "raise":
        raise FloatingPointError(message)
    elif mode == "print":
        sys.stderr.write(f"Warning: {message}\n")
    elif mode in ("call", "log"):
        handler: Any = np.geterrcall()
        if mode == "call":
            handler(_TEXTS[kind], status)
        else:
            handler.write(f"Warning: {message}\n")
