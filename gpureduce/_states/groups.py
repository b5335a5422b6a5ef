"""States of groups: `partial` with ``labels=``, of one state per group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.operand import Operand, as_operand
from gpureduce._device.devices import device_name
from gpureduce._reduce import exact as exact_sums
from gpureduce._reduce import exact_states
from gpureduce._reduce.options import Options
from gpureduce._reduce.output import OutputSpec
from gpureduce._rules import arguments as rules
from gpureduce._segments.bins import ones_like
from gpureduce._segments.segment_plan import HostLabels, Labels, index_operand, on_host, run
from gpureduce._segments.segments import check_groups
from gpureduce._states.field_plan import INTEGER_SUMS, POSITIONS, SQUARES, SUMS, VALUES, plan_fields
from gpureduce._states.group_squares import square_states
from gpureduce._states.operators import Fields
from gpureduce._states.state import State, empty_state

if TYPE_CHECKING:
    from gpureduce._reduce.types import Stream

_NOT_MINUS_ZERO = 8  # a flag of a state, as csrc/exact/superaccumulator.h has it


def group_state(
    a: Any,
    op: str,
    axis: Any,
    labels: Any,
    num_groups: Any,
    dtype: Any,
    device: Any,
    stream: Stream | None,
    as_device: bool,
    offset: int = 0,
) -> State:
    """Return the states of groups of rows; positions begin at an offset."""
    options = Options(device=device, stream=stream, as_device=False)
    operand = as_operand(a, device)
    if op == "dot":
        raise TypeError("op: dot has no states of groups")
    if not operand.shape:
        raise ValueError("a: expected at least one dimension, got a scalar")
    if axis is None and len(operand.shape) > 1:
        raise TypeError("axis: expected an integer with labels=, the axis of the rows")
    along = rules.reduced_axes(0 if axis is None else axis, len(operand.shape))
    if len(along) != 1:
        raise TypeError("axis: expected an integer with labels=, the axis of the rows")
    plan = plan_fields(op, operand, dtype)
    if plan.method not in (SUMS, SQUARES, INTEGER_SUMS, POSITIONS, VALUES):
        raise TypeError(f"op: {op} has no states of groups")
    groups = rules.integer(num_groups, "num_groups")
    if groups < 0:
        raise ValueError(f"num_groups: expected 0 or more, got {groups}")
    check_groups("num_groups", groups)
    call = _Call(
        operand.cast(plan.cast_dtype), along[0], index_operand(labels, "labels", operand), groups, options
    )
    shape = list(operand.shape)
    shape[call.axis] = groups
    state = empty_state(op, plan.element_dtype, plan.result_dtype, tuple(shape))
    if 0 not in operand.shape and groups:
        state._fields.update(_fields(call, op, plan.method, state, offset))
    return state.to_device(device_name(operand.kind, operand.index)) if as_device else state


def _fields(call: _Call, op: str, method: int, state: State, offset: int) -> Fields:
    kinds = state._kinds()
    if method == VALUES:
        fields = {"value": call.reduced(op).astype(kinds["value"], copy=False)}
    elif method == POSITIONS:
        index = call.reduced(op).astype(kinds["index"])
        fields = {"value": call.elements_at(op, index).astype(kinds["value"], copy=False), "index": index}
        index += offset
    elif method == SQUARES:
        fields = {"sum": call.sums(), "squares": call.squares()}
    elif method == SUMS:
        fields = {"sum": call.sums()}
    else:
        fields = {"sum": call.integer_sums()}
    if "count" in kinds:
        fields["count"] = np.ascontiguousarray(np.broadcast_to(call.counts(), state.shape))
        if method in (POSITIONS, VALUES):  # so that equal states have equal bytes
            for name in fields.keys() - {"count"}:
                fields[name][fields["count"] == 0] = 0
    return fields


def _on_host(operand: Operand, options: Options) -> np.ndarray:
    """Return a copy of a device array in host memory."""
    output = OutputSpec(None, options, operand, None, operand.shape, (), False)
    output.wait_for_inputs()
    array = np.empty(operand.shape, operand.dtype)
    packed = output.in_c_order(operand)
    _core.device_read(operand.kind, operand.index, packed.handle[0], array, output.stream)
    return array


class _Call:
    """The groups of one call."""

    def __init__(self, operand: Operand, axis: int, labels: Operand, groups: int, options: Options) -> None:
        self.operand, self.axis, self.groups, self.options = operand, axis, groups, options
        self.labels, rows = labels, operand.shape[axis]
        if labels.shape[0] != rows:
            raise ValueError(f"labels: expected {rows}, one for each row, got {labels.shape[0]}")
        if labels.view is None and rows and int(labels.handle.max()) >= groups:
            raise ValueError(f"labels: expected up to {groups - 1}, got {int(labels.handle.max())}")

    def reduced(self, op: str, operand: Operand | None = None, axis: int | None = None) -> np.ndarray:
        """Return the results of groups in host memory."""
        operand, axis = operand or self.operand, self.axis if axis is None else axis
        labels, groups = self.labels, self.groups
        cut = HostLabels(labels.handle, groups) if labels.view is None else Labels(labels, groups)
        with np.errstate(all="ignore"):  # results tell of it
            return np.asarray(run(op, operand, axis, cut, None, self.options, result_of="group"))

    def sums(self) -> np.ndarray:
        """Return the states of exact sums of floats."""
        words = self._sums_of(self.operand, self.labels)
        zeros = (words[..., -1] == _NOT_MINUS_ZERO) & ~words[..., :-1].any(-1)
        if zeros.any():  # a sum of -0 alone is the state of no elements, as those of `partial` without labels
            rounded = self.reduced("sum")
            parts = [rounded.real, rounded.imag] if rounded.dtype.kind == "c" else [rounded]
            signs = np.stack([np.signbit(part.astype(np.float64)) for part in parts], -1)
            words[..., -1][zeros & signs.reshape(zeros.shape)] = 0
        return words

    def _sums_of(self, operand: Operand, labels: Operand) -> np.ndarray:
        output = OutputSpec(None, self.options, operand, self.axis, operand.shape, (), False)
        output.reads.append(labels)
        output.wait_for_inputs()
        words = _core.groups(
            a=operand.handle,
            op="mean",
            axis=self.axis,
            labels=labels.handle,
            num_groups=self.groups,
            destination=(None, operand.kind, operand.index, output.stream),
            states=True,
        )
        words = np.ascontiguousarray(words)
        if not _core.exact_carry(words.reshape(-1, words.shape[-1])):
            raise OverflowError("a: the sum of a group exceeds the range of a state")
        return words

    def squares(self) -> np.ndarray:
        """Return the states of exact sums of squares; elements on a device are copied to the host."""
        operand = self.operand
        values = operand.handle if operand.view is None else _on_host(operand, self.options)
        parts = [values.real, values.imag] if values.dtype.kind == "c" else [values]
        labels = on_host(self.labels, "labels")

        def sums_of(rows: np.ndarray) -> np.ndarray:
            device = device_name(operand.kind, operand.index)
            repeated = np.tile(labels, rows.shape[self.axis] // len(labels))
            return self._sums_of(as_operand(rows, device), as_operand(repeated, device))

        narrow = exact_states.real(values.dtype).itemsize < 8
        return square_states([part.astype(np.float64) for part in parts], narrow, self.axis, sums_of)

    def elements_at(self, op: str, index: np.ndarray) -> np.ndarray:
        """Return the elements that `argmin` or `argmax` found; those of empty groups are of any value."""
        operand = self.operand
        if operand.view is not None:
            return self.reduced("min" if op == "argmin" else "max")
        return np.take_along_axis(operand.handle, np.maximum(index, 0), self.axis)

    def integer_sums(self) -> np.ndarray:
        """Return the states of sums of integers; 64-bit integers are added as two halves."""
        if self.operand.dtype.itemsize < 8:
            return exact_states.of_integers(self.reduced("sum"))
        low, high = (self.reduced("sum", half) for half in exact_sums.split_int64(self.operand))
        total = exact_states.of_integers(low)
        exact_states.merge(total, exact_states.of_integers(high, 1))
        return total

    def counts(self) -> np.ndarray:
        """Return the number of rows of each group, in the dimensions of the state."""
        counts = self.reduced("sum", ones_like(self.labels), 0)
        shape = [1] * len(self.operand.shape)
        shape[self.axis] = self.groups
        return counts.astype(np.uint64).reshape(shape)
