"""States that stay on a device: what they are in its memory, and what merges them there."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gpureduce import _core
from gpureduce._arrays.device_array import DeviceArray, empty, to_device
from gpureduce._reduce import states as exact
from gpureduce._rules.arguments import c_strides
from gpureduce._rules.dtypes import name_of
from gpureduce._states.operators import OPERATORS, Fields

WORD = np.dtype(np.int64)
_ALIGNED = 16  # bytes, where a field begins
_FIELDS = {  # with their bits, in the order of their memory
    "value": _core.STATE_HAS_VALUE,
    "count": _core.STATE_HAS_COUNT,
    "index": _core.STATE_HAS_INDEX,
    "sum": _core.STATE_HAS_SUM,
    "squares": _core.STATE_HAS_SQUARES,
}
_MERGES = {
    "min": _core.STATE_MIN,
    "max": _core.STATE_MAX,
    "argmin": _core.STATE_ARGMIN,
    "argmax": _core.STATE_ARGMAX,
    "count_nonzero": _core.STATE_ADD,
    "prod": _core.STATE_PROD,
    "all": _core.STATE_AND,
    "bitwise_and": _core.STATE_AND,
    "any": _core.STATE_OR,
    "bitwise_or": _core.STATE_OR,
    "bitwise_xor": _core.STATE_XOR,
}


class Layout(NamedTuple):
    """Where the fields of states are, in bytes from the start of their memory; a dict for the core."""

    results: int
    merge_op: int
    dtype: str
    has: int
    value_at: int
    count_at: int
    index_at: int
    sum_at: int
    squares_at: int
    sum_result_words: int
    sum_words: int
    square_words: int


class Placed:
    """The states of an operator in memory of a device, one for each result, field by field."""

    __slots__ = ("capture", "kinds", "layout", "memory")

    kinds: dict[str, Any]  # what each field holds
    layout: Layout
    memory: DeviceArray
    capture: int | None  # the stream in which they were made, if it was being captured into a graph

    def __init__(self, op: str, held: np.dtype, shape: tuple[int, ...]) -> None:
        """Say what there is to be; its memory is the caller's to give."""
        self.kinds = OPERATORS[op].fields(held)
        self.layout = _layout(op, self.kinds, math.prod(shape))
        self.capture = None

    def made_in(self, stream: int) -> None:
        """Remember the stream where only a graph will do the work: memory there has no stream of its own."""
        captured = _core.stream_captured(self.memory.kind, self.memory.index, stream)
        self.capture = stream if captured else None

    @property
    def stream(self) -> int:
        """The stream in which they are there."""
        if self.capture is not None:
            self.made_in(self.capture)
        return self.memory.stream if self.capture is None else self.capture

    def copied(self) -> Placed:
        """Return a copy, made in their stream."""
        memory, stream = self.memory, self.stream
        other = object.__new__(Placed)
        other.kinds, other.layout, other.capture = self.kinds, self.layout, self.capture
        other.memory = made = empty(memory.shape, WORD, memory.kind, memory.index, stream)
        if memory.size:
            destination = (made.view_tuple(), memory.kind, memory.index, stream)
            _core.convert(memory.view_tuple(), WORD.name, destination)
        other.made_in(stream)
        made._settle()
        return other

    @property
    def words(self) -> int:
        """How many of 64 bits the memory has."""
        ends = (self.offset(name) + self._bytes(name) for name in self.kinds)
        return max(map(_rounded, ends)) // WORD.itemsize

    def offset(self, name: str) -> int:
        """Return where a field begins, in bytes."""
        return getattr(self.layout, f"{name}_at")

    def _bytes(self, name: str) -> int:
        return self.layout.results * _row_bytes(self.kinds[name])

    def view(self, name: str, dtype: np.dtype | None = None) -> tuple:
        """Return what the core may write a field into; `dtype` is another name for its own."""
        kind, n = self.kinds[name], self.layout.results
        shape = (n, kind[0], kind[1].words) if isinstance(kind, tuple) else (n,)
        dtype = dtype or (WORD if isinstance(kind, tuple) else kind)
        at = self.memory.pointer + self.offset(name)
        return (at, shape, c_strides(shape, dtype.itemsize), name_of(dtype))

    def merge(self, other: Placed, stream: int) -> None:
        """Merge others of this device into these, in a stream; the host does not wait."""
        mine = self.memory
        if self.layout.results:
            layout = self.layout._asdict()
            _core.state_merge(mine, other.memory, layout, mine.kind, mine.index, stream)

    def fields(self, shape: tuple[int, ...]) -> Fields:
        """Return what they hold, in memory of the host; OverflowError where no state holds it."""
        there, found = self.memory.numpy().view(np.uint8), {}
        for name, kind in self.kinds.items():
            at = self.offset(name)
            row = there[at : at + self._bytes(name)]
            if isinstance(kind, tuple):
                number, size = kind
                words = row.view(WORD).reshape(-1, size.words)
                if (exact.flags(words) & exact.OVERFLOW).any() or not _core.exact_carry(words):
                    raise OverflowError("the sum is beyond what a state holds")
                found[name] = words.reshape(*shape, number, size.words)
            else:
                found[name] = row.view(kind).reshape(shape)
        counts = found.get("value" if self.layout.merge_op == _core.STATE_ADD else "count")
        if counts is not None and (counts.view(WORD) < 0).any():
            raise OverflowError("more elements than a state counts")
        return found


def of_fields(op: str, held: np.dtype, shape: tuple[int, ...], fields: Fields, device: Any) -> Placed:
    """Return states of the host on a device."""
    placed = Placed(op, held, shape)
    there = np.zeros(placed.words * WORD.itemsize, np.uint8)
    for name, field in fields.items():
        bytes_of = np.ascontiguousarray(field).reshape(-1).view(np.uint8)
        at = placed.offset(name)
        there[at : at + bytes_of.size] = bytes_of
    placed.memory = to_device(there.view(WORD), device)
    return placed


def _layout(op: str, kinds: dict[str, Any], results: int) -> Layout:
    at, has, offsets = 0, 0, dict.fromkeys(_FIELDS, 0)
    for name, bit in _FIELDS.items():
        if name in kinds:
            offsets[name], has = at, has | bit
            at = _rounded(at + results * _row_bytes(kinds[name]))
    number, size = kinds.get("sum", (0, exact.Size(0, 0)))
    squares = kinds["squares"][1].words if "squares" in kinds else 0
    return Layout(
        results=results,
        merge_op=_MERGES.get(op, _core.STATE_NO_VALUE),
        dtype=name_of(kinds["value"]) if "value" in kinds else "int64",
        has=has,
        **{f"{name}_at": offset for name, offset in offsets.items()},
        sum_result_words=number * size.words,
        sum_words=size.words,
        square_words=squares,
    )


def _row_bytes(kind: Any) -> int:
    return kind[0] * kind[1].words * WORD.itemsize if isinstance(kind, tuple) else kind.itemsize


def _rounded(nbytes: int) -> int:
    return -(-nbytes // _ALIGNED) * _ALIGNED
