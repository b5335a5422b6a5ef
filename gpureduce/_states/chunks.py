"""Reductions of Dask arrays: a state of each chunk, made by the workers, and merged in a tree."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterator, Mapping
from typing import Any

import dask.array as da
import numpy as np

from gpureduce._rules import arguments as rules
from gpureduce._states.partial import partial
from gpureduce._states.state import State

_PLACES = ("argmin", "argmax")


def reduce(
    op: str,
    a: Any,
    axis: Any,
    keepdims: bool,
    split_every: Any,
    b: Any = None,
    dtype: Any = None,
    ddof: int = 0,
    device: Any = None,
) -> Any:
    """Have each chunk become a state, and states be merged in a tree."""
    keepdims, split_every = rules.flag(keepdims, "keepdims"), _split(split_every)
    options = {"dtype": dtype, "device": None if device is None else str(device)}
    given = {"ddof": ddof} if op in ("var", "std") else {}
    if not (isinstance(a, da.Array) or isinstance(b, da.Array)):
        return partial(a, op, axis, b=b, keepdims=keepdims, **options).result(**given)
    for each, name in ((a, "a"), (b, "b")):
        rules.refuse_parts(each, name)
    a = da.asanyarray(a)
    axes = rules.single_axis(axis, a.ndim) if op in _PLACES else rules.reduced_axes(axis, a.ndim)
    arrays = [a]
    if b is not None:
        b = da.asanyarray(b)
        if a.ndim != 1 or a.shape != b.shape:
            raise ValueError(f"dot: expected two vectors of one length, got shapes {a.shape} and {b.shape}")
        arrays = [a, b.rechunk(a.chunks)]
    if op in _PLACES and _is_unknown(a, axes):
        raise ValueError(f"{op}: positions need the lengths of chunks; call compute_chunk_sizes() before")
    # A part of no elements: what the core would do with those of the chunks, without a device.
    first, *others = [np.empty((0,) * each.ndim, each.dtype) for each in arrays]
    whole = partial(first, op, axis, b=others[0] if others else None, dtype=dtype, device="sim")
    parts = da.map_blocks(
        _part_with_place if op in _PLACES else _part,
        *arrays,
        op=op,
        axis=axis if axis is None else axes,
        options=options,
        dtype=object,
        meta=np.empty((0,) * a.ndim, object),
        token=f"gpureduce-{op}-part",  # as what progress bars and dashboards show them
    )
    return da.reduction(
        parts,
        _same,
        functools.partial(_finish, given=given),
        axis=axes,
        keepdims=keepdims,
        dtype=whole.dtype,
        split_every=_within(split_every, parts.npartitions),
        combine=_merge,
        name=f"gpureduce-{op}",
        concatenate=False,
        meta=np.empty((0,) * (a.ndim if keepdims else a.ndim - len(axes)), whole.dtype),
    )


def _split(given: Any) -> Any:
    """Return ``split_every=`` as an int, a dict of them or None; TypeError and ValueError name it."""
    if given is None or isinstance(given, Mapping):
        return (
            None
            if given is None
            else {rules.integer(key, "split_every"): _split(given[key]) for key in given}
        )
    number = rules.integer(given, "split_every", "an integer, a mapping of axes to integers or None")
    if number < 2:
        raise ValueError(f"split_every: expected 2 or more, got {number}")
    return number


def _within(split_every: Any, parts: int) -> Any:
    """Return ``split_every=`` no larger than the parts are many: Dask makes lists of that length."""
    if isinstance(split_every, dict):
        return {axis: _within(number, parts) for axis, number in split_every.items()}
    return split_every if split_every is None else min(split_every, max(parts, 2))


def _is_unknown(a: Any, axes: tuple[int, ...]) -> bool:
    """Return whether the length of a chunk along an axis is not known."""
    return any(math.isnan(length) for axis in axes for length in a.chunks[axis])


# In the workers


def _part(
    block: Any, other: Any = None, *, op: str, axis: Any, options: dict[str, Any], **more: Any
) -> State:
    """Return the state of a chunk; one of no elements needs no device."""
    if block.size == 0:
        options = {**options, "device": "sim"}
        block = np.empty(block.shape, block.dtype)
        other = None if other is None else np.empty(other.shape, other.dtype)
    return partial(block, op, axis, b=other, keepdims=True, **options, **more)


def _part_with_place(block: Any, *, block_info: Any, op: str, axis: Any, options: dict[str, Any]) -> State:
    """Return the state of a chunk that knows where in the whole it is."""
    place = block_info[0]
    starts = tuple(start for start, _ in place["array-location"])
    if axis is None:
        return _part(block, op=op, axis=None, options=options, offset=starts, within=place["shape"])
    return _part(block, op=op, axis=axis[0], options=options, offset=starts[axis[0]])


def _same(parts: Any, axis: Any = None, keepdims: Any = None) -> Any:
    return parts


def _flat(parts: Any) -> Iterator[State]:
    if isinstance(parts, list):
        for part in parts:
            yield from _flat(part)
    else:
        yield parts


def _merge(parts: Any, axis: Any = None, keepdims: Any = None, computing_meta: bool = False) -> Any:
    """Merge states, which come in nested lists; they stay as they are, as Dask may use them again."""
    if computing_meta or isinstance(parts, np.ndarray):
        return parts
    first, *others = _flat(parts)
    return functools.reduce(operator.iadd, others[1:], first + others[0]) if others else first


def _finish(
    parts: Any, axis: Any = None, keepdims: bool = False, given: Any = None, computing_meta: bool = False
) -> Any:
    """Return the result of all states."""
    if computing_meta or isinstance(parts, np.ndarray):
        return parts
    result = np.asarray(_merge(parts).result(**given))
    return (result if keepdims else np.squeeze(result, axis))[()]
