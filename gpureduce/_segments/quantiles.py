"""Medians and quantiles of groups and segments.

All elements are sorted together. Then the positions of the sorted elements are put in the order of their
labels, which keeps those of a group in ascending order, and the elements at the quantiles are picked.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.device_array import empty, to_device
from gpureduce._arrays.operand import Operand, as_operand
from gpureduce._device.devices import device_name
from gpureduce._reduce.options import Options
from gpureduce._reduce.output import FROM_HOST, OutputSpec
from gpureduce._rules.dtypes import core_dtype
from gpureduce._segments.masked import MaskedLabels, flatten, mask_plan, split
from gpureduce._segments.segment_plan import HostLabels, Labels, SegmentPlan
from gpureduce._segments.skip_nan import mask_of_numbers

_FLOAT64, _INT64 = np.dtype(np.float64), np.dtype(np.int64)


def quantile_of(op: str, q: Any) -> float:
    """Return ``q=`` of an operator."""
    if op in ("median", "nanmedian"):
        if q is not None:
            raise TypeError(f"q: only for quantile, not for {op}")
        return 0.5
    if q is None:
        raise TypeError(f"q: missing for {op}")
    if isinstance(q, (bool, str)) or not hasattr(q, "__float__"):
        raise TypeError(f"q: expected a number from 0 to 1, got {type(q).__name__}")
    value = float(q)
    if not 0 <= value <= 1:
        raise ValueError(f"q: expected 0 to 1, got {value}")
    return value


def reduce_quantile(
    op: str,
    operand: Operand,
    axis: int,
    cut: SegmentPlan | HostLabels | Labels,
    q: Any,
    where: Any,
    out: Any,
    options: Options,
) -> Any:
    """Return quantiles of the elements of groups by a plan."""
    place = quantile_of(op, q)
    if operand.dtype.kind == "c":
        raise TypeError(f"a: {op} takes real numbers, not {operand.dtype}")
    if op.startswith("nan"):
        where = mask_of_numbers(operand, where, options)
    shape = list(operand.shape)
    shape[axis] = cut.count
    output = OutputSpec(out, options, operand, axis, tuple(shape), (), False)
    output.reads += cut.reads
    elements = output.cast(operand, _FLOAT64) if operand.dtype.kind in "biu" else operand
    dtype = core_dtype("mean", elements.dtype)
    output.set_dtype(dtype, "unsafe")
    if 0 in shape or 0 in operand.shape:
        output.wait_for_inputs()
        return output.store(np.full(shape, np.nan, dtype))
    if elements.view is None:
        copy = to_device(np.ascontiguousarray(elements.handle), device_name(output.kind, output.index))
        elements = as_operand(copy, None)
        output.reads.append(elements)
    elif operand.view is not None and not isinstance(cut, Labels) and not cut.reads:
        output.reject_capture(FROM_HOST)
    plan = _plan(cut, elements, axis, where, output)
    output.reads += plan.reads
    output.wait_for_inputs()
    core_out = output.core_out(dtype)
    flat, flat_out = flatten(elements, core_out, output)
    result = _picked(flat, plan, place, flat_out, output)
    return output.store(None if core_out is not None else result)


def _plan(
    cut: SegmentPlan | HostLabels | Labels, elements: Operand, axis: int, where: Any, output: OutputSpec
) -> MaskedLabels:
    """Return a plan with a label for each element."""
    if where is not True:
        masked = mask_plan(cut, elements, axis, "quantile", output, where, flat=True)
        assert isinstance(masked, MaskedLabels)
        return masked
    return MaskedLabels(cut, split(elements.shape, axis), device_name(output.kind, output.index))


def _picked(elements: Operand, plan: MaskedLabels, q: float, core_out: Any, output: OutputSpec) -> Any:
    """Return the quantile of each label."""
    kind, index, stream = output.kind, output.index, output.stream
    count = math.prod(elements.shape)
    labels = plan.labels_handle(output)

    def made(dtype: Any) -> Any:
        return empty((count,), dtype, kind, index, output.stream_owner)

    ordered, indices, sorted_labels = made(elements.dtype), made(_INT64), made(labels[3])
    line, values, places = (
        (handle[0], (1, count), (count * item, item), handle[3])
        for handle, item in (
            (elements.handle, elements.dtype.itemsize),
            (ordered._view_tuple(), elements.dtype.itemsize),
            (indices._view_tuple(), _INT64.itemsize),
        )
    )
    _core.order_topk(line, count, False, True, places, (values, kind, index, stream))
    _core.gather_labels(labels, indices._view_tuple(), (sorted_labels._view_tuple(), kind, index, stream))
    segments = empty((plan.count + 1 + count,), _INT64, kind, index, output.stream_owner)
    _core.label_order(sorted_labels._view_tuple(), plan.count, (segments._view_tuple(), kind, index, stream))
    return _core.group_quantile(
        ordered._view_tuple(), segments._view_tuple(), plan.count, q, (core_out, kind, index, stream)
    )
