"""What a state is to be made of, once the arguments are taken, and what that is in memory of the host."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gpureduce import _core
from gpureduce._arrays.device_array import to_device
from gpureduce._arrays.operand import Operand, intake
from gpureduce._device.devices import text
from gpureduce._reduce import engine, floating
from gpureduce._reduce import exact as _exact
from gpureduce._reduce import states as exact
from gpureduce._reduce.target import FROM_HOST, Target
from gpureduce._rules import arguments as rules
from gpureduce._rules.arguments import integer
from gpureduce._states.operators import Fields

SUMS, PRODUCTS, SPREAD, WHOLE, PLACE, VALUE = range(6)  # how fields are made
# Of an array of the host that is added up, in bytes: as one of `exact=True`, and what a cache holds.
_PIECE_BYTES = {_core.CUDA: _exact.CHUNK_BYTES, _core.SIM: 1 << 23}


class Call(NamedTuple):
    """A reduction of elements, cast as they are to be; of a dot product `mask` is the other vector."""

    op: str
    way: int
    operand: Operand
    axes: tuple[int, ...]
    target: Target
    mask: Operand | None
    place: Where

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the results."""
        return rules.kept_shape(self.operand.shape, self.axes)

    @property
    def elements(self) -> int:
        """How many elements a result has, without a mask."""
        return rules.reduced_count(self.operand.shape, self.axes)

    def run(self, op: str, operand: Operand | None = None) -> np.ndarray:
        """Return results in memory of the host."""
        operand = self.operand if operand is None else operand
        result = engine.run(op, operand, self.axes, self.mask, stream=self.target.stream)
        assert result is not None
        return np.ascontiguousarray(result).reshape(self.shape)

    def counts(self) -> Any:
        """Return how many elements each result has."""
        if self.mask is None:
            return self.elements
        found: Any = engine.run("count_nonzero", self.mask, self.axes, stream=self.target.stream)
        return found.reshape(self.shape)

    def states(self, op: str, operand: Operand, second: Any, out: tuple | None = None) -> Any:
        """Return the states of exact sums; of those that go to a device, `out`."""
        place = (operand.kind, operand.index, self.target.stream)
        if out is not None:
            return _core.exact_states(operand.handle, op, self.axes, second, *place, out)
        words = _core.exact_states(operand.handle, op, self.axes, second, *place)
        return words.reshape(self.shape + words.shape[1:])

    def chosen(self) -> Call:
        """Return the same of elements on the device, which go there once, without a mask.

        Those that do not count are -0 there, which changes nothing, not even the sign of a zero.
        """
        operand = self.operand
        if self.mask is not None:
            nothing = np.zeros((), operand.dtype)
            operand = replace(operand, handle=np.where(self.mask.handle, operand.handle, -nothing))
        return self._replace(operand=operand, mask=None).there()

    def there(self) -> Call:
        """Return the same of elements on the device."""
        operand, target = self.operand, self.target
        if operand.view is not None:
            return self
        target.refuse_capture(FROM_HOST)
        operand = intake(to_device(operand.handle, text(operand.kind, operand.index)), None)
        target.reads.append(operand)  # its memory goes back after the work
        return self._replace(operand=operand)


def _integers(values: Any, name: str) -> tuple[int, ...]:
    try:
        return tuple(integer(value, name, "a tuple of integers") for value in values)
    except TypeError:
        raise TypeError(f"{name}: expected a tuple of integers, got {type(values).__name__}") from None


class Where:
    """Where in the whole a part is: ``offset=`` and ``within=`` of `partial`."""

    def __init__(self, offset: Any, within: Any) -> None:
        self.offset = _integers(offset, "offset") if isinstance(offset, tuple) else integer(offset, "offset")
        self.within = None if within is None else _integers(within, "within")

    def start(self) -> int:
        """Return the first position of a part of all elements."""
        return integer(self.offset, "offset", "an integer, as within is None")

    def starts(self, shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
        """Return an index for each axis of a part that lies within something."""
        starts = self.offset if isinstance(self.offset, tuple) else (self.offset,) * len(shape)
        if len(axes) != len(shape) or len(self.within or ()) != len(shape) or len(starts) != len(shape):
            raise ValueError("within: expected a length for each axis, all of which are reduced")
        return starts

    def move(self, index: np.ndarray, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
        """Make positions in a part those in the whole."""
        if self.within is None:
            index += self.start()
        else:
            starts = self.starts(shape, axes)
            at = np.unravel_index(int(index), shape)
            index[...] = np.ravel_multi_index(
                tuple(int(one) + start for one, start in zip(at, starts, strict=True)),
                self.within,
            )
        if (index < 0).any():
            raise ValueError("offset: positions count from 0")

    def steps(self, call: Call) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        """Return the same for a kernel: a start, lengths, and how far in the whole an index of each goes."""
        if self.within is None:
            start = self.start()
            if start < 0:
                raise ValueError("offset: positions count from 0")
            return start, (call.elements,), (1,)
        lengths, whole = call.operand.shape, self.within
        starts = self.starts(lengths, call.axes)
        for begin, length, most in zip(starts, lengths, whole, strict=True):
            if begin < 0 or begin + length > most:
                raise ValueError(f"within: the part, from {begin} to {begin + length}, is beyond {most}")
        strides = rules.c_strides(whole, 1)
        return sum(map(operator.mul, starts, strides)), lengths, strides


# In memory of the host


def _pieces(call: Call) -> Iterator[Call]:
    """Yield parts of a whole array of the host that is added up: the device need not have room for it."""
    operand, mask = call.operand, call.mask
    given = [each.handle for each in (operand, mask) if each is not None]
    most = _PIECE_BYTES[operand.kind]
    if (
        call.way not in (SUMS, PRODUCTS, SPREAD) or call.shape
        or math.prod(operand.shape) * operand.dtype.itemsize <= most
        or not all(isinstance(each, np.ndarray) and each.flags.c_contiguous for each in given)
    ):  # fmt: skip
        yield call
        return
    for piece, *others in _exact.pieces_of(given, most):
        other = None if mask is None else replace(mask, handle=others[0], shape=piece.shape)
        yield call._replace(operand=replace(operand, handle=piece, shape=piece.shape), mask=other, axes=(0,))


def fields_of(call: Call, held: np.dtype, names: Any) -> Fields:
    """Return the fields of these names, of elements held in a dtype."""
    first, *others = _pieces(call)
    found = _MADE[call.way](first, held)
    for piece in others:
        for name, field in _MADE[call.way](piece, held).items():
            exact.merge(found[name], field)
    if "count" in names:
        found["count"] = np.full(call.shape, call.counts(), np.uint64)
        # Nothing is left behind of what counts no elements: equal states are equal bytes.
        none = found["count"] == 0
        for name, field in found.items():
            if name != "count":
                field[none] = 0
    return found


def _sums(call: Call, held: np.dtype) -> Fields:
    return {"sum": call.states("sum", call.operand, None if call.mask is None else call.mask.handle)}


def _products(call: Call, held: np.dtype) -> Fields:
    assert call.mask is not None
    return {"sum": call.states("dot", call.operand, call.mask.handle)}


def _spread(call: Call, held: np.dtype) -> Fields:
    """Return sums, and those of squares."""
    kept = len(call.target.reads)
    each = call.chosen()
    first, *others = [each.states("dot", part, True) for part in floating.parts_of(each.operand)]
    for other in others:
        exact.merge(first, other)
    found = {**_sums(each, held), "squares": first}
    del call.target.reads[kept:]  # the states are here: a piece's memory goes back before the next is copied
    return found


def _whole(call: Call, held: np.dtype) -> Fields:
    """Return sums of integers, of 64 bits those of their halves, each in 64 bits."""
    if call.operand.dtype.itemsize < 8:
        return {"sum": exact.of_integers(call.run("sum"))}
    low, high = (call.run("sum", half) for half in _exact.halves(call.operand))
    total = exact.of_integers(low)
    exact.merge(total, exact.of_integers(high, 1))
    return {"sum": total}


def _place(call: Call, held: np.dtype) -> Fields:
    """Return positions, 0 where no element counts, and the elements there."""
    operand, axes = call.operand, call.axes
    index = call.run(call.op)
    index[index < 0] = 0
    if operand.view is not None:
        value = call.run("min" if call.op == "argmin" else "max")
    elif len(axes) == len(operand.shape):
        where = np.unravel_index(int(index), operand.shape)
        value = np.array(operand.handle[where], operand.dtype)
    else:
        taken = np.take_along_axis(operand.handle, np.expand_dims(index, axes[0]), axes[0])
        value = np.ascontiguousarray(taken.reshape(index.shape))
    call.place.move(index, operand.shape, axes)
    return {"value": value, "index": index}


def _value(call: Call, held: np.dtype) -> Fields:
    return {"value": call.run(call.op).astype(held, copy=False)}


_MADE = (_sums, _products, _spread, _whole, _place, _value)
