"""States in device memory: their layout, and their merge on the device."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gpureduce import _core
from gpureduce._arrays.device_array import DeviceArray, empty, to_device
from gpureduce._reduce import exact_states
from gpureduce._rules.arguments import c_strides
from gpureduce._rules.dtypes import dtype_name
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
    """Offsets of the fields of states, in bytes from the start of memory; a dict for the core."""

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


class DeviceState:
    """The states of an operator in device memory, one per result, field by field."""

    __slots__ = ("capture", "kinds", "layout", "memory")

    kinds: dict[str, Any]  # the dtype of each field, or the number and size of its exact sums
    layout: Layout
    memory: DeviceArray
    capture: int | None  # the stream that writes them, if it is being captured into a graph

    def __init__(self, op: str, element_dtype: np.dtype, shape: tuple[int, ...]) -> None:
        """Lay out states without memory; the caller allocates it."""
        self.kinds = OPERATORS[op].fields(element_dtype)
        self.layout = _layout(op, self.kinds, math.prod(shape))
        self.capture = None

    @classmethod
    def from_fields(
        cls, op: str, element_dtype: np.dtype, shape: tuple[int, ...], fields: Fields, device: Any
    ) -> DeviceState:
        """Return states on a device with the fields of states on the host."""
        state = cls(op, element_dtype, shape)
        image = np.zeros(state.words * WORD.itemsize, np.uint8)
        for name, field in fields.items():
            field_bytes = np.ascontiguousarray(field).reshape(-1).view(np.uint8)
            at = state.offset(name)
            image[at : at + field_bytes.size] = field_bytes
        state.memory = to_device(image.view(WORD), device)
        return state

    def with_memory(self, memory: DeviceArray) -> DeviceState:
        """Return states of this layout in memory whose stream is not captured."""
        other = object.__new__(DeviceState)
        other.kinds, other.layout, other.memory, other.capture = self.kinds, self.layout, memory, None
        return other

    def record_stream(self, stream: int) -> None:
        """Record the stream that writes the states if it is captured: memory has no stream then."""
        captured = _core.stream_captured(self.memory._kind, self.memory._index, stream)
        self.capture = stream if captured else None

    @property
    def stream(self) -> int:
        """The stream whose work writes the states."""
        if self.capture is not None:
            self.record_stream(self.capture)
        return self.memory.stream if self.capture is None else self.capture

    def copied(self) -> DeviceState:
        """Return a copy, enqueued in their stream."""
        memory, stream = self.memory, self.stream
        other = object.__new__(DeviceState)
        other.kinds, other.layout, other.capture = self.kinds, self.layout, self.capture
        other.memory = copy = empty(memory.shape, WORD, memory._kind, memory._index, stream)
        if memory.size:
            destination = (copy._view_tuple(), memory._kind, memory._index, stream)
            _core.convert(memory._view_tuple(), WORD.name, destination)
        other.record_stream(stream)
        copy._settle()
        return other

    @property
    def words(self) -> int:
        """The number of 64-bit words of the memory."""
        ends = (self.offset(name) + self._bytes(name) for name in self.kinds)
        return max(map(_rounded, ends)) // WORD.itemsize

    def offset(self, name: str) -> int:
        """Return the offset of a field, in bytes."""
        return getattr(self.layout, f"{name}_at")

    def _bytes(self, name: str) -> int:
        return self.layout.results * _row_bytes(self.kinds[name])

    def view(self, name: str, dtype: np.dtype | None = None) -> tuple:
        """Return a field as an output of the core: address, shape, strides, dtype, which `dtype` replaces."""
        kind, n = self.kinds[name], self.layout.results
        shape = (n, kind[0], kind[1].words) if isinstance(kind, tuple) else (n,)
        dtype = dtype or (WORD if isinstance(kind, tuple) else kind)
        at = self.memory._pointer + self.offset(name)
        return (at, shape, c_strides(shape, dtype.itemsize), dtype_name(dtype))

    def merge(self, other: DeviceState, stream: int) -> None:
        """Merge states on the same device into these, in a stream; the host does not wait."""
        mine = self.memory
        if self.layout.results:
            layout = self.layout._asdict()
            _core.state_merge(mine, other.memory, layout, mine._kind, mine._index, stream)

    def fields(self, shape: tuple[int, ...]) -> Fields:
        """Return the fields, copied to host memory; OverflowError if a sum or a count overflowed."""
        image, fields = self.memory.numpy().view(np.uint8), {}
        for name, kind in self.kinds.items():
            at = self.offset(name)
            row = image[at : at + self._bytes(name)]
            if isinstance(kind, tuple):
                number, size = kind
                words = row.view(WORD).reshape(-1, size.words)
                if (exact_states.flags(words) & exact_states.OVERFLOW).any() or not _core.exact_carry(words):
                    raise OverflowError("the sum exceeds the range of a state")
                fields[name] = words.reshape(*shape, number, size.words)
            else:
                fields[name] = row.view(kind).reshape(shape)
        counts = fields.get("value" if self.layout.merge_op == _core.STATE_ADD else "count")
        if counts is not None and (counts.view(WORD) < 0).any():
            raise OverflowError("more elements than a state counts")
        return fields


def _layout(op: str, kinds: dict[str, Any], results: int) -> Layout:
    at, has, offsets = 0, 0, dict.fromkeys(_FIELDS, 0)
    for name, bit in _FIELDS.items():
        if name in kinds:
            offsets[name], has = at, has | bit
            at = _rounded(at + results * _row_bytes(kinds[name]))
    number, size = kinds.get("sum", (0, exact_states.Size(0, 0)))
    squares = kinds["squares"][1].words if "squares" in kinds else 0
    return Layout(
        results=results,
        merge_op=_MERGES.get(op, _core.STATE_NO_VALUE),
        dtype=dtype_name(kinds["value"]) if "value" in kinds else "int64",
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
