"""States of whole arrays on devices, made by one thread: the core launches all reductions, then waits.

A short host array can be the only part.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._states.operators import COUNT, IDENTITIES, INDEX, Fields
from gpureduce._states.state import State

_FLOAT64 = np.dtype(np.float64)
_DIGIT = (1 << 32) - 1
_SUM_OPS = {"sum": ("sum",), "mean": ("sum",), "dot": ("dot",), "var": ("sum", "dot"), "std": ("sum", "dot")}
_POSITIONS = {"argmin": (np.less, ("argmin", "min")), "argmax": (np.greater, ("argmax", "max"))}
_UFUNCS = {
    "min": np.minimum,
    "max": np.maximum,
    "any": np.logical_or,
    "all": np.logical_and,
    "count_nonzero": np.add,
    "prod": np.multiply,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}


def single_launch_state(
    parts: tuple[Any, ...],
    op: str,
    others: tuple[Any, ...] | None,
    shape: tuple[int, ...],
    along: int = 0,
    device: Any = None,
) -> State | None:
    """Return the state of the elements of parts, which follow each other along an axis of the shape `shape`.

    None if the core does not take the parts; nothing was launched then.
    """
    if not isinstance(op, str) or (others is not None) != (op == "dot"):
        return None
    if op in _UFUNCS:
        return _single_launch_values(parts, op, shape, device)
    if op in _POSITIONS:
        return _single_launch_positions(parts, op, shape, along, device)
    return _single_launch_sums(parts, op, others, shape, device) if op in _SUM_OPS else None


def _single_launch_sums(
    parts: tuple[Any, ...], op: str, others: tuple[Any, ...] | None, shape: tuple[int, ...], device: Any
) -> State | None:
    launched = _core.sharded(parts, others, _SUM_OPS[op], True, device)
    if launched is not NotImplemented:
        element_dtype, fields = launched
        sums = dict(zip(("sum", "squares"), fields, strict=False))
        return _whole_state(op, element_dtype, element_dtype, shape, sums)
    integer_total = _integer_total(parts, device) if op in ("sum", "mean") else None
    if integer_total is None:
        return None
    dtype, total = integer_total
    words = [*(total >> shift & _DIGIT for shift in (0, 32, 64)), total >> 96, 0, 0]
    return _whole_state(op, INDEX, dtype if op == "sum" else _FLOAT64, shape, {"sum": np.array([words])})


def _integer_total(parts: tuple[Any, ...], device: Any = None) -> tuple[np.dtype, int] | None:
    """Return the dtype of a sum of integers, and the sum."""
    launched = _core.sharded(parts, None, ("sum",), False, device)
    if launched is NotImplemented:
        return None
    _, (values,) = launched
    return values.dtype, sum(values.tolist())


def single_launch_sum(parts: tuple[Any, ...], others: tuple[Any, ...] | None, divisor: int | None) -> Any:
    """Return the exact sum of all elements, of products, or a mean; NotImplemented as below."""
    if others is not None and len(others) != len(parts):
        return NotImplemented
    total = _core.exact_sharded(parts, others, divisor is not None)
    if total is not NotImplemented or others is not None:
        return total
    integer_total = _integer_total(parts)
    if integer_total is None:
        return NotImplemented
    dtype, whole = integer_total
    if divisor is not None:
        return np.float64(whole / divisor)
    limits = np.iinfo(dtype)
    return dtype.type(whole) if limits.min <= whole <= limits.max else NotImplemented


def single_launch_value(parts: tuple[Any, ...], op: str, device: Any = None) -> Any:
    """Return the result of an operator whose state is its result.

    NotImplemented if the core does not take the parts; nothing was launched then.
    """
    launched = _core.sharded(parts, None, (op,), False, device) if op in _UFUNCS else NotImplemented
    if launched is NotImplemented:
        return launched
    _, (values,) = launched
    value = values[0]
    if len(parts) > 1:
        ufunc, identity = _UFUNCS[op], IDENTITIES.get(op)
        start = () if identity is None else (np.array(identity).astype(values.dtype)[()],)
        with np.errstate(all="ignore"):
            value = functools.reduce(ufunc, (*start, *values))
    return value


def _single_launch_values(
    parts: tuple[Any, ...], op: str, shape: tuple[int, ...], device: Any
) -> State | None:
    value = single_launch_value(parts, op, device)
    if value is NotImplemented:
        return None
    return _whole_state(op, value.dtype, value.dtype, shape, {"value": np.array(value, value.dtype)})


def _single_launch_positions(
    parts: tuple[Any, ...], op: str, shape: tuple[int, ...], along: int, device: Any
) -> State | None:
    less, ops = _POSITIONS[op]
    launched = _core.sharded(parts, None, ops, False, device)
    if launched is NotImplemented:
        return None
    element_dtype, (indices, values) = launched
    inner = math.prod(shape[along + 1 :])
    start, best_position, best = 0, -1, None
    for part, index, value in zip(parts, indices.tolist(), values, strict=True):
        length = part.shape[along] if shape else 1
        before, within = divmod(index, length * inner)
        position = (before * shape[along] + start) * inner + within if shape else 0
        start += length
        if best_position < 0 or _precedes(less, position, value, best_position, best):
            best_position, best = position, value
    return _whole_state(
        op,
        element_dtype,
        INDEX,
        shape,
        {"value": np.array(best, element_dtype), "index": np.array(best_position, np.int64)},
    )


def _precedes(less: np.ufunc, position: int, value: Any, best_position: int, best: Any) -> bool:
    """Return whether an element replaces the best one so far: NaN does, and of equal elements the first."""
    if value != value or best != best:
        return bool(value != value) and (bool(best == best) or position < best_position)
    return bool(less(value, best)) or (bool(value == best) and position < best_position)


def _whole_state(
    op: str, element_dtype: np.dtype, dtype: np.dtype, shape: tuple[int, ...], fields: Fields
) -> State:
    state = object.__new__(State)
    state.op, state._element_dtype, state.dtype, state.shape = op, element_dtype, dtype, ()
    state._device_state = None
    if op in ("mean", "var", "std", "min", "max", *_POSITIONS):
        fields = {"count": np.array(math.prod(shape), COUNT), **fields}
    state._fields = fields
    return state
