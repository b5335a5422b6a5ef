"""Fields of states: computed in host memory, and in device memory."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.device_array import DeviceArray
from gpureduce._arrays.operand import Operand
from gpureduce._reduce import engine, exact_states, floating
from gpureduce._reduce import exact as exact_sums
from gpureduce._rules import dtypes
from gpureduce._states.call import StateCall
from gpureduce._states.device_state import WORD, DeviceState
from gpureduce._states.field_plan import INTEGER_SUMS, POSITIONS, PRODUCTS, SQUARES, SUMS
from gpureduce._states.operators import INDEX, TRUTH, Fields
from gpureduce._states.state import State, empty_state

# Bytes of a piece of a host array that is summed: on CUDA as with `exact=True`, on the simulator a cache.
_PIECE_BYTES = {_core.CUDA: exact_sums.CHUNK_BYTES, _core.SIM: 1 << 23}

# Fields in host memory


def _pieces(call: StateCall) -> Iterator[StateCall]:
    """Yield pieces of a host array that is summed as a whole, so that it need not fit into device memory."""
    operand, mask = call.operand, call.mask
    arrays = [each.handle for each in (operand, mask) if each is not None]
    max_bytes = _PIECE_BYTES[operand.kind]
    if (
        call.method not in (SUMS, PRODUCTS, SQUARES) or call.shape
        or math.prod(operand.shape) * operand.dtype.itemsize <= max_bytes
        or not all(isinstance(each, np.ndarray) and each.flags.c_contiguous for each in arrays)
    ):  # fmt: skip
        yield call
        return
    for piece, *others in exact_sums.pieces_of(arrays, max_bytes):
        other = None if mask is None else replace(mask, handle=others[0], shape=piece.shape)
        yield call._replace(operand=replace(operand, handle=piece, shape=piece.shape), mask=other, axes=(0,))


def fields_of(call: StateCall, element_dtype: np.dtype, names: Any) -> Fields:
    """Return the fields of a state in host memory; `names` are those that the state has."""
    first, *others = _pieces(call)
    fields = _ON_HOST[call.method](first, element_dtype)
    for piece in others:
        for name, field in _ON_HOST[call.method](piece, element_dtype).items():
            exact_states.merge(fields[name], field)
    if "count" in names:
        fields["count"] = np.full(call.shape, call.counts(), np.uint64)
        # Fields of no elements are zero, so that equal states have equal bytes.
        is_empty = fields["count"] == 0
        for name, field in fields.items():
            if name != "count":
                field[is_empty] = 0
    return fields


def _host_sums(call: StateCall, element_dtype: np.dtype) -> Fields:
    return {"sum": call.exact_states("sum", call.operand, None if call.mask is None else call.mask.handle)}


def _host_products(call: StateCall, element_dtype: np.dtype) -> Fields:
    assert call.mask is not None
    return {"sum": call.exact_states("dot", call.operand, call.mask.handle)}


def _host_squares(call: StateCall, element_dtype: np.dtype) -> Fields:
    """Return sums and sums of squares."""
    read_count = len(call.output.reads)
    each = call.masked_on_device()
    first, *others = [each.exact_states("dot", part, True) for part in floating.parts_of(each.operand)]
    for other in others:
        exact_states.merge(first, other)
    fields = {**_host_sums(each, element_dtype), "squares": first}
    # The states are in host memory: the memory of a piece is freed before the next piece is copied.
    del call.output.reads[read_count:]
    return fields


def _host_integer_sums(call: StateCall, element_dtype: np.dtype) -> Fields:
    """Return sums of integers; 64-bit integers are summed as two halves, each in 64 bits."""
    if call.operand.dtype.itemsize < 8:
        return {"sum": exact_states.of_integers(call.run("sum"))}
    low, high = (call.run("sum", half) for half in exact_sums.split_int64(call.operand))
    total = exact_states.of_integers(low)
    exact_states.merge(total, exact_states.of_integers(high, 1))
    return {"sum": total}


def _host_positions(call: StateCall, element_dtype: np.dtype) -> Fields:
    """Return positions, 0 where the mask has no element, and the elements at these positions."""
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
    call.location.move(index, operand.shape, axes)
    return {"value": value, "index": index}


def _host_values(call: StateCall, element_dtype: np.dtype) -> Fields:
    return {"value": call.run(call.op).astype(element_dtype, copy=False)}


_ON_HOST = (
    _host_sums,
    _host_products,
    _host_squares,
    _host_integer_sums,
    _host_positions,
    _host_values,
)


# Fields in device memory

_NO_INPUT: tuple[Any, Any] = (None, None)


def state_on_device(call: StateCall, like: State) -> State:
    """Return the state of a call on its device; all work is enqueued into the stream, nothing waits."""
    device_state = DeviceState(like.op, like._element_dtype, like.shape)
    device_state.memory = memory = call.output.allocate_output((device_state.words,), WORD)
    inputs = _ON_DEVICE[call.method](call, device_state)
    counted = "count" in device_state.kinds
    if counted and call.mask is not None and call.method != PRODUCTS:
        counts = device_state.view("count", INDEX)
        _reduce_into(call._replace(mask=None), "count_nonzero", counts, call.mask)
    steps = call.location.steps(call) if call.method == POSITIONS else (0, (), ())
    elements = call.elements if call.mask is None else -1
    if counted or "sum" in device_state.kinds:
        first, high = inputs
        start, extents, strides = steps
        input_fields = {
            "first": first,
            "high": high,
            "integer_sums": call.method == INTEGER_SUMS,
            "elements": elements,
            "start": start,
            "extents": extents,
            "strides": strides,
        }
        layout = device_state.layout._asdict()
        _core.state_begin(memory, layout, input_fields, memory._kind, memory._index, call.output.stream)
    device_state.record_stream(call.output.stream)
    call.output.give(memory)
    return like._on(device_state)


@functools.lru_cache(maxsize=256)
def _empty_states(op: str, elements: str, shape: tuple[int, ...]) -> tuple[State, DeviceState]:
    """Return a state without memory of elements of this dtype, whose results have the dtype of its fields."""
    dtype = {"any": TRUTH, "all": TRUTH, "count_nonzero": INDEX}.get(op, dtypes.dtype_from_name(elements))
    return empty_state(op, dtype, dtype, ())._like({}, shape), DeviceState(op, dtype, shape)


def state_of_memory(op: str, elements: str, shape: tuple[int, ...], memory: DeviceArray) -> State:
    """Return the state whose memory the core has written."""
    state, device_state = _empty_states(op, elements, shape)
    return state._on(device_state.with_memory(memory))


def _reduce_into(call: StateCall, op: str, out: tuple, operand: Operand | None = None) -> None:
    operand = call.operand if operand is None else operand
    engine.run(op, operand, call.axes, call.mask, None, out, stream=call.output.stream)


# Each writes fields in place and returns the additional inputs of the kernel behind `state_begin`.


def _device_sums(call: StateCall, device_state: DeviceState) -> tuple[Any, Any]:
    second = None if call.mask is None else call.mask.handle
    call.exact_states("sum", call.operand, second, device_state.view("sum"))
    return _NO_INPUT


def _device_products(call: StateCall, device_state: DeviceState) -> tuple[Any, Any]:
    assert call.mask is not None
    call.exact_states("dot", call.operand, call.mask.handle, device_state.view("sum"))
    return _NO_INPUT


def _device_squares(call: StateCall, device_state: DeviceState) -> tuple[Any, Any]:
    each = call.masked_on_device()
    first, *others = floating.parts_of(each.operand)
    each.exact_states("dot", first, True, device_state.view("squares"))
    _device_sums(each, device_state)
    for other in others:  # the imaginary part
        _, shape, _, _ = device_state.view("squares")
        more = call.output.allocate_output(shape, WORD)
        each.exact_states("dot", other, True, more._view_tuple())
        return more, None
    return _NO_INPUT


def _device_integer_sums(call: StateCall, device_state: DeviceState) -> tuple[Any, Any]:
    whole = [call.operand] if call.operand.dtype.itemsize < 8 else exact_sums.split_int64(call.operand)
    halves: list[Any] = []
    for operand in whole:
        sums = call.output.allocate_output(
            (device_state.layout.results,), dtypes.core_dtype("sum", operand.dtype)
        )
        _reduce_into(call, "sum", sums._view_tuple(), operand)
        halves.append(sums)
    return halves[0], halves[1] if len(halves) > 1 else None


def _device_positions(call: StateCall, device_state: DeviceState) -> tuple[Any, Any]:
    each = call.on_device()
    _reduce_into(each, call.op, device_state.view("index"))
    _reduce_into(each, "min" if call.op == "argmin" else "max", device_state.view("value"))
    return _NO_INPUT


def _device_values(call: StateCall, device_state: DeviceState) -> tuple[Any, Any]:
    dtype: np.dtype = device_state.kinds["value"]
    core_dtype = dtypes.core_dtype(call.op, call.operand.dtype)
    if core_dtype == dtype:
        _reduce_into(call, call.op, device_state.view("value"))
        return _NO_INPUT
    values, output = call.output.allocate_output((device_state.layout.results,), core_dtype), call.output
    _reduce_into(call, call.op, values._view_tuple())
    _core.convert(
        values._view_tuple(),
        dtypes.dtype_name(dtype),
        (device_state.view("value"), output.kind, output.index, output.stream),
    )
    return _NO_INPUT


_ON_DEVICE = (
    _device_sums,
    _device_products,
    _device_squares,
    _device_integer_sums,
    _device_positions,
    _device_values,
)
