"""States made on a device, where they stay: reductions leave their results in the states' memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.operand import Operand
from gpureduce._reduce import engine, floating
from gpureduce._reduce import exact as _exact
from gpureduce._rules import dtypes
from gpureduce._states import call as calls
from gpureduce._states.call import Call
from gpureduce._states.operators import INDEX
from gpureduce._states.placed import WORD, Placed
from gpureduce._states.state import State

_NOTHING: tuple[Any, Any] = (None, None)


def state_of(call: Call, like: State) -> State:
    """Return the state that a call makes on its device, where it puts all work into the stream."""
    placed = Placed(like.op, like._held, like.shape)
    placed.memory = memory = call.target.room((placed.words,), WORD)
    left = _MADE[call.way](call, placed)
    counted = "count" in placed.kinds
    if counted and call.mask is not None and call.way != calls.PRODUCTS:
        _reduce(call._replace(mask=None), "count_nonzero", placed.view("count", INDEX), call.mask)
    steps = call.place.steps(call) if call.way == calls.PLACE else (0, (), ())
    elements = call.elements if call.mask is None else -1
    if counted or "sum" in placed.kinds:
        first, high = left
        start, extents, strides = steps
        given = {
            "first": first,
            "high": high,
            "integer_sums": call.way == calls.WHOLE,
            "elements": elements,
            "start": start,
            "extents": extents,
            "strides": strides,
        }
        layout = placed.layout._asdict()
        _core.state_begin(memory, layout, given, memory.kind, memory.index, call.target.stream)
    placed.made_in(call.target.stream)
    call.target.give(memory)
    return like._on(placed)


def _reduce(call: Call, op: str, out: tuple, operand: Operand | None = None) -> None:
    operand = call.operand if operand is None else operand
    engine.run(op, operand, call.axes, call.mask, None, out, stream=call.target.stream)


# What fields begin with, in place; and what the kernel that makes states of it gets beside.


def _sums(call: Call, placed: Placed) -> tuple[Any, Any]:
    second = None if call.mask is None else call.mask.handle
    call.states("sum", call.operand, second, placed.view("sum"))
    return _NOTHING


def _products(call: Call, placed: Placed) -> tuple[Any, Any]:
    assert call.mask is not None
    call.states("dot", call.operand, call.mask.handle, placed.view("sum"))
    return _NOTHING


def _spread(call: Call, placed: Placed) -> tuple[Any, Any]:
    each = call.chosen()
    first, *others = floating.parts_of(each.operand)
    each.states("dot", first, True, placed.view("squares"))
    _sums(each, placed)
    for other in others:  # the imaginary part
        _, shape, _, _ = placed.view("squares")
        more = call.target.room(shape, WORD)
        each.states("dot", other, True, more.view_tuple())
        return more, None
    return _NOTHING


def _whole(call: Call, placed: Placed) -> tuple[Any, Any]:
    whole = [call.operand] if call.operand.dtype.itemsize < 8 else _exact.halves(call.operand)
    made: list[Any] = []
    for operand in whole:
        room = call.target.room((placed.layout.results,), dtypes.core_dtype("sum", operand.dtype))
        _reduce(call, "sum", room.view_tuple(), operand)
        made.append(room)
    return made[0], made[1] if len(made) > 1 else None


def _place(call: Call, placed: Placed) -> tuple[Any, Any]:
    each = call.there()
    _reduce(each, call.op, placed.view("index"))
    _reduce(each, "min" if call.op == "argmin" else "max", placed.view("value"))
    return _NOTHING


def _value(call: Call, placed: Placed) -> tuple[Any, Any]:
    dtype: np.dtype = placed.kinds["value"]
    made = dtypes.core_dtype(call.op, call.operand.dtype)
    if made == dtype:
        _reduce(call, call.op, placed.view("value"))
        return _NOTHING
    room, target = call.target.room((placed.layout.results,), made), call.target
    _reduce(call, call.op, room.view_tuple())
    _core.convert(
        room.view_tuple(),
        dtypes.name_of(dtype),
        (placed.view("value"), target.kind, target.index, target.stream),
    )
    return _NOTHING


_MADE = (_sums, _products, _spread, _whole, _place, _value)
