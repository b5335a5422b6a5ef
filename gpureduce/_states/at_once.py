"""States of whole arrays on devices by one thread: the core launches all there is before it waits for any."""

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
_SUMS = {"sum": ("sum",), "mean": ("sum",), "dot": ("dot",), "var": ("sum", "dot"), "std": ("sum", "dot")}
_PLACES = {"argmin": (np.less, ("argmin", "min")), "argmax": (np.greater, ("argmax", "max"))}
_VALUES = {
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


def state_of(
    parts: tuple[Any, ...], op: str, others: tuple[Any, ...] | None, shape: tuple[int, ...], along: int = 0
) -> State | None:
    """Return the state of the elements of parts, which follow each other along an axis of the shape `shape`.

    None where others have to see to it, before anything was done.
    """
    if not isinstance(op, str) or (others is not None) != (op == "dot"):
        return None
    if op in _VALUES:
        return _of_values(parts, op, shape)
    if op in _PLACES:
        return _of_places(parts, op, shape, along)
    return _of_sums(parts, op, others, shape) if op in _SUMS else None


def _of_sums(
    parts: tuple[Any, ...], op: str, others: tuple[Any, ...] | None, shape: tuple[int, ...]
) -> State | None:
    made = _core.sharded(parts, others, _SUMS[op], True)
    if made is not NotImplemented:
        held, fields = made
        return _state(op, held, held, shape, dict(zip(("sum", "squares"), fields, strict=False)))
    found = _total_of(parts) if op in ("sum", "mean") else None
    if found is None:
        return None
    dtype, total = found
    words = [*(total >> shift & _DIGIT for shift in (0, 32, 64)), total >> 96, 0, 0]
    return _state(op, INDEX, dtype if op == "sum" else _FLOAT64, shape, {"sum": np.array([words])})


def _total_of(parts: tuple[Any, ...]) -> tuple[np.dtype, int] | None:
    """Return the dtype of a sum of integers, and the sum."""
    made = _core.sharded(parts, None, ("sum",), False)
    if made is NotImplemented:
        return None
    _, (values,) = made
    return values.dtype, sum(values.tolist())


def sum_of(parts: tuple[Any, ...], others: tuple[Any, ...] | None, divisor: int | None) -> Any:
    """Return the exact sum of all elements, or of products, or a mean; NotImplemented as above."""
    if others is not None and len(others) != len(parts):
        return NotImplemented
    total = _core.exact_sharded(parts, others, divisor is not None)
    if total is not NotImplemented or others is not None:
        return total
    found = _total_of(parts)
    if found is None:
        return NotImplemented
    dtype, whole = found
    if divisor is not None:
        return np.float64(whole / divisor)
    limits = np.iinfo(dtype)
    return dtype.type(whole) if limits.min <= whole <= limits.max else NotImplemented


def value_of(parts: tuple[Any, ...], op: str) -> Any:
    """Return the result of all elements, of operators whose states are no more; NotImplemented as above."""
    made = _core.sharded(parts, None, (op,), False) if op in _VALUES else NotImplemented
    if made is NotImplemented:
        return made
    _, (values,) = made
    value = values[0]
    if len(parts) > 1:
        ufunc, identity = _VALUES[op], IDENTITIES.get(op)
        start = () if identity is None else (np.array(identity).astype(values.dtype)[()],)
        with np.errstate(all="ignore"):
            value = functools.reduce(ufunc, (*start, *values))
    return value


def _of_values(parts: tuple[Any, ...], op: str, shape: tuple[int, ...]) -> State | None:
    value = value_of(parts, op)
    if value is NotImplemented:
        return None
    return _state(op, value.dtype, value.dtype, shape, {"value": np.array(value, value.dtype)})


def _of_places(parts: tuple[Any, ...], op: str, shape: tuple[int, ...], along: int) -> State | None:
    less, ops = _PLACES[op]
    made = _core.sharded(parts, None, ops, False)
    if made is NotImplemented:
        return None
    held, (indices, values) = made
    inner = math.prod(shape[along + 1 :])
    start, found, best = 0, -1, None
    for part, index, value in zip(parts, indices.tolist(), values, strict=True):
        length = part.shape[along] if shape else 1
        before, within = divmod(index, length * inner)
        place = (before * shape[along] + start) * inner + within if shape else 0
        start += length
        if found < 0 or _goes_before(less, place, value, found, best):
            found, best = place, value
    return _state(op, held, INDEX, shape, {"value": np.array(best, held), "index": np.array(found, np.int64)})


def _goes_before(less: np.ufunc, place: int, value: Any, found: int, best: Any) -> bool:
    """Return whether an element wins over the one found before; a NaN does, and of equals the first."""
    if value != value or best != best:
        return bool(value != value) and (bool(best == best) or place < found)
    return bool(less(value, best)) or (bool(value == best) and place < found)


def _state(op: str, held: np.dtype, dtype: np.dtype, shape: tuple[int, ...], fields: Fields) -> State:
    state = object.__new__(State)
    state.op, state._held, state.dtype, state.shape, state._placed = op, held, dtype, (), None
    if op in ("mean", "var", "std", "min", "max", *_PLACES):
        fields = {"count": np.array(math.prod(shape), COUNT), **fields}
    state._fields = fields
    return state
