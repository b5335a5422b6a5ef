"""The state of elements that are in one array."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.device_array import to_device
from gpureduce._arrays.operand import Operand, intake
from gpureduce._device.devices import text
from gpureduce._reduce import engine, floating
from gpureduce._reduce import exact as _exact
from gpureduce._reduce import states as exact
from gpureduce._reduce.options import Options
from gpureduce._reduce.target import Target
from gpureduce._rules import arguments as rules
from gpureduce._rules import dtypes
from gpureduce._states.operators import INDEX, TRUTH, find
from gpureduce._states.state import State, nothing

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

_FLOAT64 = np.dtype(np.float64)
_PLACES = ("argmin", "argmax")


def state_of(
    a: Any,
    op: str,
    axis: Any = None,
    b: Any = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    offset: Any = 0,
    within: Any = None,
    device: Any = None,
    stream: Any = None,
    where: Any = True,
) -> State:
    """Return the state of elements that are in one array; the arguments are those of `partial`."""
    find(op)
    options = Options(device=device, stream=stream, as_device=False)
    if (b is not None) != (op == "dot"):
        raise TypeError("b: the other vector of a dot product" + (" is missing" if b is None else ""))
    if op == "dot":
        if where is not True:
            raise TypeError("where: is not for dot")
        state = _of_products(a, b, axis, dtype, options)
        return state._reshaped((1,)) if keepdims else state
    if dtype is not None and op not in ("sum", "mean", "var", "std", "prod"):
        raise TypeError(f"dtype: is not for {op}")
    operand = intake(a, device)
    ndim = len(operand.shape)
    axes = rules.single_axis(axis, ndim) if op in _PLACES else rules.reduced_axes(axis, ndim)
    target = Target(None, options, operand, axis, operand.shape, axes, False)
    mask = None if where is True else target.take_mask(where, operand)
    if mask is not None and op in ("var", "std") and operand.view is not None:
        raise TypeError(f"where: {op} of a device array takes none; var and moments do")
    target.follow_others()
    held, result, take = _ways(op, operand, dtype)
    state = nothing(op, held, result, rules.kept_shape(operand.shape, axes))
    count = rules.reduced_count(operand.shape, axes)
    if count > 0 and 0 not in state.shape:
        state._fields.update(take(operand, axes, target, mask))
        if op in _PLACES:
            _move(state._fields["index"], operand.shape, axes, offset, within)
        if "count" in state._fields:
            state._fields["count"][...] = (
                count if mask is None else _run("count_nonzero", mask, axes, target, None)
            )
            _clear(state)
    return state._reshaped(rules.kept_shape(operand.shape, axes, True)) if keepdims else state


Taken = dict[str, np.ndarray]
Take = Callable[[Operand, tuple[int, ...], Target, Operand | None], Taken]


def _clear(state: State) -> None:
    """Leave nothing behind of what counts no elements: equal states are equal bytes."""
    none = state._fields["count"] == 0
    for name, field in state._fields.items():
        if name != "count":
            field[none] = 0


def _ways(op: str, operand: Operand, dtype: DTypeLike | None) -> tuple[np.dtype, np.dtype, Take]:
    """Return in which dtypes elements and results are held, and how the fields are made."""
    if op in ("sum", "mean", "prod"):
        return _growing(op, operand, dtype)
    if op in ("var", "std"):
        held = _FLOAT64 if dtype is None and operand.dtype.kind in "biu" else operand.dtype
        held = held if dtype is None else dtypes.loop_dtype("sum", held, dtype, None)
        if held.kind in "biu":
            raise TypeError(f"dtype: {op} is a fraction, which {held} does not hold")
        return held, exact.real(held), _casting(held, _spread)
    if op.startswith("bitwise") and operand.dtype.kind not in "biu":
        raise TypeError(f"a: {op} takes bool and integers, not {operand.dtype}")
    if op in _PLACES:
        return operand.dtype, INDEX, _casting(operand.dtype, lambda *given: _place(op, *given))
    held = {"any": TRUTH, "all": TRUTH, "count_nonzero": INDEX}.get(op, operand.dtype)
    return held, held, _casting(operand.dtype, lambda *given: {"value": _run(op, *given)})


def _growing(op: str, operand: Operand, dtype: DTypeLike | None) -> tuple[np.dtype, np.dtype, Take]:
    """Return the same for operators whose results may be larger than the elements."""
    integers = operand.dtype.kind in "biu"
    if op == "mean" and dtype is None and integers:
        dtype = _FLOAT64
    loop = dtypes.native(
        dtypes.loop_dtype("prod" if op == "prod" else "sum", operand.rule_dtype, dtype, None), "dtype"
    )
    if op == "prod":
        # Integers multiply modulo 2^64, and then modulo the smaller power.
        whole = integers and loop.kind in "iu"
        cast = operand.dtype if whole else loop
        return loop, loop, _casting(cast, lambda *given: {"value": _run(op, *given).astype(loop)})
    if op == "mean" and loop.kind in "biu":
        raise TypeError(f"dtype: mean is a fraction, which {loop} does not hold")
    if integers and (loop.kind in "iu" or (op == "mean" and loop == _FLOAT64)):
        return INDEX, loop, _casting(operand.dtype, _whole)
    if loop.kind in "biu":
        raise TypeError(f"dtype: there is no exact sum of {operand.dtype} in {loop}")
    return loop, loop, _casting(loop, _sums)


def _casting(dtype: np.dtype, take: Take) -> Take:
    return lambda operand, axes, target, mask: take(operand.cast(dtype), axes, target, mask)


def _run(
    op: str, operand: Operand, axes: tuple[int, ...], target: Target, mask: Operand | None
) -> np.ndarray:
    result = engine.run(op, operand, axes, mask, stream=target.stream)
    assert result is not None
    return np.ascontiguousarray(result).reshape(rules.kept_shape(operand.shape, axes))


# Exact sums


def _states(op: str, operand: Operand, axes: tuple[int, ...], second: Any, target: Target) -> np.ndarray:
    words = _core.exact_states(operand.handle, op, axes, second, operand.kind, operand.index, target.stream)
    return words.reshape(rules.kept_shape(operand.shape, axes) + words.shape[1:])


def _sums(operand: Operand, axes: tuple[int, ...], target: Target, mask: Operand | None) -> Taken:
    return {"sum": _states("sum", operand, axes, None if mask is None else mask.handle, target)}


def _spread(operand: Operand, axes: tuple[int, ...], target: Target, mask: Operand | None) -> Taken:
    """Return sums, and those of squares, of elements that go to the device once.

    Those that do not count are -0 there, which changes nothing, not even the sign of a zero.
    """
    if mask is not None:
        nothing = np.zeros((), operand.dtype)
        chosen = np.where(mask.handle, operand.handle, -nothing)
        operand = replace(operand, handle=chosen)
    if operand.view is None:
        view = to_device(operand.handle, text(operand.kind, operand.index))
        operand = intake(view, None)
    first, *others = [_states("dot", part, axes, True, target) for part in floating.parts_of(operand)]
    for other in others:
        exact.merge(first, other)
    return {**_sums(operand, axes, target, None), "squares": first}


def _whole(operand: Operand, axes: tuple[int, ...], target: Target, mask: Operand | None) -> Taken:
    """Return sums of integers, of 64 bits those of their halves, each in 64 bits."""
    if operand.dtype.itemsize < 8:
        return {"sum": exact.of_integers(_run("sum", operand, axes, target, mask))}
    low, high = (_run("sum", half, axes, target, mask) for half in _exact.halves(operand))
    total = exact.of_integers(low)
    exact.merge(total, exact.of_integers(high, 1))
    return {"sum": total}


def _of_products(a: Any, b: Any, axis: Any, dtype: Any, options: Options) -> State:
    if axis is not None or dtype is not None:
        raise TypeError("dot: takes two vectors, without axis= or dtype=")
    left, right, target = engine.vectors(a, b, None, options)
    held = target.dtype
    if held.kind in "biu":
        raise TypeError(f"dot: exact products are of floating-point and complex numbers, not of {held}")
    state = nothing("dot", held, held, ())
    target.follow_others()
    if left.shape[0] > 0:
        state._fields["sum"] = _states("dot", left, (0,), right.handle, target)
    return state


# Positions


def _place(op: str, operand: Operand, axes: tuple[int, ...], target: Target, mask: Operand | None) -> Taken:
    """Return positions, 0 where no element counts, and the elements there."""
    index = _run(op, operand, axes, target, mask)
    index[index < 0] = 0
    if operand.view is not None:
        value = _run("min" if op == "argmin" else "max", operand, axes, target, mask)
        return {"index": index, "value": value}
    if len(axes) == len(operand.shape):
        where = np.unravel_index(int(index), operand.shape)
        return {"index": index, "value": np.array(operand.handle[where], operand.dtype)}
    taken = np.take_along_axis(operand.handle, np.expand_dims(index, axes[0]), axes[0])
    return {"index": index, "value": np.ascontiguousarray(taken.reshape(index.shape))}


def _move(index: np.ndarray, shape: tuple[int, ...], axes: tuple[int, ...], offset: Any, within: Any) -> None:
    """Make positions in a part those in the whole."""
    if within is None:
        index += operator.index(offset)
    else:
        starts = offset if isinstance(offset, tuple) else (offset,) * len(shape)
        if len(axes) != len(shape) or len(within) != len(shape) or len(starts) != len(shape):
            raise ValueError("within: expected a length for each axis, all of which are reduced")
        at = np.unravel_index(int(index), shape)
        index[...] = np.ravel_multi_index(
            tuple(int(one) + operator.index(start) for one, start in zip(at, starts, strict=True)),
            tuple(operator.index(length) for length in within),
        )
    if (index < 0).any():
        raise ValueError("offset: positions count from 0")
