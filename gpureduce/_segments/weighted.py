"""Weighted sums and means of groups and segments: exact sums of products.

A product of float32 or float64 is the sum of two numbers, the rounded product and its error, which are two
rows with the same label. A mean divides exact sums, rounded to float64.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.device_array import to_device
from gpureduce._arrays.operand import Operand, as_operand, as_operand_like
from gpureduce._device.devices import device_name
from gpureduce._reduce.options import Options
from gpureduce._reduce.output import FROM_HOST, OutputSpec
from gpureduce._rules import arguments as rules
from gpureduce._rules.arguments import c_strides
from gpureduce._rules.dtypes import dtype_name
from gpureduce._segments.masked import MaskedLabels, mask_plan, split
from gpureduce._segments.segment_plan import HostLabels, Labels, SegmentPlan, reduce_by

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_NARROW = ("float16", "bfloat16", "float32")  # float64 holds their products exactly
_SMALL = ("bool", "int8", "int16", "uint8", "uint16")  # do not widen float32


def _common(a: np.dtype, weights: np.dtype) -> np.dtype:
    """Return the dtype of the products: that of NumPy's rules, but at least float32."""
    names = dtype_name(a), dtype_name(weights)
    for name, argument in zip(names, ("a", "weights"), strict=True):
        if name.startswith("complex"):
            raise TypeError(f"{argument}: expected real numbers with weights=, got {name}")
    floats = any(name in _NARROW for name in names)
    return _FLOAT32 if floats and all(name in _NARROW + _SMALL for name in names) else _FLOAT64


def _check_weights(weights: Operand, operand: Operand, axis: int) -> None:
    rows = operand.shape[axis]
    if weights.shape not in (operand.shape, (rows,)):
        raise ValueError(f"weights: expected shape {operand.shape} or ({rows},), got {weights.shape}")
    if weights.view is not None and operand.view is None:
        raise TypeError("weights: on a device, but a is in host memory")


def _on_device(operand: Operand, name: str, output: OutputSpec, captured: bool) -> Operand:
    """Return a copy on the device of an array in host memory."""
    if operand.view is not None:
        return operand
    if captured:
        output.reject_capture(FROM_HOST)
    copy = to_device(np.ascontiguousarray(operand.handle), device_name(output.kind, output.index))
    taken = as_operand(copy, None, name)
    output.reads.append(taken)
    return taken


def _strided(weights: Operand, operand: Operand, axis: int) -> Operand:
    """Return weights as an operand of the shape of the elements."""
    if weights.shape == operand.shape:
        return weights
    strides = tuple(weights.handle[2][0] if i == axis else 0 for i in range(len(operand.shape)))
    return weights.with_strides(operand.shape, strides)


def _in_three_axes(operand: Operand, axis: int, output: OutputSpec) -> Operand:
    """Return an operand as lines of rows of columns; a copy if the axes cannot be merged."""
    shape, strides = operand.shape, operand.handle[2]
    before = _merged(shape[:axis], strides[:axis])
    after = _merged(shape[axis + 1 :], strides[axis + 1 :])
    if before is None or after is None:
        operand = output.in_c_order(operand)
        packed = c_strides(split(shape, axis), operand.dtype.itemsize)
        return operand.with_strides(split(shape, axis), packed)
    return operand.with_strides(split(shape, axis), (before, strides[axis], after))


def _merged(shape: tuple[int, ...], strides: tuple[int, ...]) -> int | None:
    """Return the stride of axes as one axis, None if they are none."""
    step, count = 0, 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent == 1:
            continue
        if count == 1:
            step = stride
        elif stride != step * count:
            return None
        count *= extent
    return step


class _Sums:
    """The sums of one call."""

    def __init__(self, axis: int, cut: Any, output: OutputSpec, wide: bool) -> None:
        self.axis, self.output, self.wide = axis, output, wide
        self.cut, self.parts = cut, 1 if wide else 2

    def of(self, weights: Operand, elements: Operand | None, core_out: Any) -> Any:
        """Return the sums of products with weights, or of weights, which are in `core_out` if it is given."""
        output = self.output
        lines, rows, columns = weights.shape
        dtype = _FLOAT64 if self.wide else weights.dtype
        made = output.allocate_output((lines, rows * self.parts, columns), dtype)
        view = made._view_tuple()
        if made.size:
            _core.group_products(
                weights=weights.handle,
                a=None if elements is None else elements.handle,
                wide=self.wide,
                destination=(view, output.kind, output.index, output.stream),
            )
        products = replace(weights, handle=view, shape=made.shape, dtype=dtype, view=made, numpy_dtype=None)
        return reduce_by("sum", products, 1, self.cut, output, core_out)


def weighted(
    op: str,
    operand: Operand,
    axis: int,
    cut: SegmentPlan | HostLabels | Labels,
    weights: Any,
    where: Any,
    out: Any,
    options: Options,
) -> Any:
    """Return weighted sums or means by a plan."""
    if op not in ("sum", "mean"):
        raise TypeError(f"weights: only for sum and mean, not for {op}")
    given = as_operand_like(weights, operand, "weights")
    _check_weights(given, operand, axis)
    dtype = _common(operand.dtype, given.dtype)
    shape = list(operand.shape)
    shape[axis] = cut.count
    output = OutputSpec(out, options, operand, axis, tuple(shape), (), False)
    output.reads += [given, *cut.reads]
    elements, given = output.cast(operand, dtype), output.cast(given, dtype)
    output.set_dtype(dtype, "unsafe")
    if 0 in shape:
        output.wait_for_inputs()
        return output.store(np.empty(shape, dtype))
    captured = operand.view is not None
    elements = _on_device(elements, "a", output, captured)
    given = _strided(_on_device(given, "weights", output, captured), elements, axis)
    wide = dtype == _FLOAT32 and op == "mean"
    repeats = 1 if wide else 2
    plan: Any
    if where is True:
        device = device_name(output.kind, output.index)
        plan = MaskedLabels(cut, (1, operand.shape[axis], 1), device, repeats)
    else:
        plan = mask_plan(cut, elements, axis, op, output, where, repeats)
    output.reads += plan.reads
    output.wait_for_inputs()
    sums = _Sums(axis, plan, output, wide)
    three = [_in_three_axes(each, axis, output) for each in (given, elements)]
    core_out = output.core_out(dtype)
    if op == "sum":
        result = sums.of(three[0], three[1], core_out)
        return output.store(None if core_out is not None else result)
    totals = []
    for each in (three[1], None):
        total = output.allocate_output(output.kept, _FLOAT64)
        view = total._view_tuple()
        sums.of(three[0], each, view)
        totals.append((total, view))
    result = _core.group_quotients(
        dividends=totals[0][1],
        divisors=totals[1][1],
        narrow=dtype == _FLOAT32,
        destination=(core_out, output.kind, output.index, output.stream),
    )
    return output.store(None if core_out is not None else result)


def check_options(exact: Any, ddof: Any) -> None:
    """Raise for options that weighted reductions do not have."""
    rules.flag(exact, "exact")
    if rules.degrees(ddof):
        raise TypeError("ddof: only for var and std, not with weights=")
