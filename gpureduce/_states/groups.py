"""States of groups: `partial` with ``labels=``, of one state per group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce._arrays.operand import as_operand
from gpureduce._device.devices import device_name
from gpureduce._reduce.options import Options
from gpureduce._rules import arguments as rules
from gpureduce._segments.exact_groups import GroupSums
from gpureduce._segments.segment_plan import index_operand
from gpureduce._segments.segments import check_groups
from gpureduce._states.field_plan import INTEGER_SUMS, POSITIONS, SQUARES, SUMS, VALUES, plan_fields
from gpureduce._states.operators import Fields
from gpureduce._states.state import State, empty_state

if TYPE_CHECKING:
    from gpureduce._reduce.types import Stream


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
    call = GroupSums(
        operand.cast(plan.cast_dtype), along[0], index_operand(labels, "labels", operand), groups, options
    )
    shape = list(operand.shape)
    shape[call.axis] = groups
    state = empty_state(op, plan.element_dtype, plan.result_dtype, tuple(shape))
    if 0 not in operand.shape and groups:
        state._fields.update(_fields(call, op, plan.method, state, offset))
    return state.to_device(device_name(operand.kind, operand.index)) if as_device else state


def _fields(call: GroupSums, op: str, method: int, state: State, offset: int) -> Fields:
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
