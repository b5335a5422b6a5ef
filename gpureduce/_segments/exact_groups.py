"""Exact sums and sums of squares of groups, as states; variances of groups that are rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.operand import Operand, as_operand
from gpureduce._device.devices import device_name
from gpureduce._reduce import exact as exact_sums
from gpureduce._reduce import exact_states
from gpureduce._reduce.exact_squares import PowerSums, variances
from gpureduce._reduce.options import Options
from gpureduce._reduce.output import OutputSpec
from gpureduce._rules import arguments as rules
from gpureduce._segments.group_squares import square_states
from gpureduce._segments.masked import label_elements
from gpureduce._segments.segment_plan import (
    HostLabels,
    Labels,
    SegmentPlan,
    check_labels,
    on_host,
    ones_like,
    run,
)
from gpureduce._segments.skip_nan import mask_of_numbers

_NOT_MINUS_ZERO = 8  # a flag of a state, as csrc/exact/superaccumulator.h has it


def _on_host(operand: Operand, options: Options) -> np.ndarray:
    """Return a copy of a device array in host memory."""
    output = OutputSpec(None, options, operand, None, operand.shape, (), False)
    output.wait_for_inputs()
    array = np.empty(operand.shape, operand.dtype)
    packed = output.in_c_order(operand)
    _core.device_read(operand.kind, operand.index, packed.handle[0], array, output.stream)
    return array


class GroupSums:
    """Sums of the groups of one call."""

    def __init__(self, operand: Operand, axis: int, labels: Operand, groups: int, options: Options) -> None:
        self.operand, self.axis, self.groups, self.options = operand, axis, groups, options
        self.labels, rows = labels, operand.shape[axis]
        if labels.shape[0] != rows:
            raise ValueError(f"labels: expected {rows}, one for each row, got {labels.shape[0]}")
        if labels.view is None:
            check_labels(labels.handle, groups)

    def reduced(self, op: str, operand: Operand | None = None, axis: int | None = None) -> np.ndarray:
        """Return the results of groups in host memory."""
        operand, axis = operand or self.operand, self.axis if axis is None else axis
        labels, groups = self.labels, self.groups
        cut = HostLabels(labels.handle, groups) if labels.view is None else Labels(labels, groups)
        with np.errstate(all="ignore"):  # an overflow shows in the results
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


def _labels_of(cut: Any, rows: int, device: str) -> Operand:
    """Return the labels of rows, which of segments are the numbers of these."""
    if not isinstance(cut, SegmentPlan):
        return cut.labels if isinstance(cut.labels, Operand) else as_operand(cut.labels, device)
    offsets = on_host(cut.offsets, "offsets") if isinstance(cut.offsets, Operand) else cut.offsets
    labels = np.full(rows, -1)
    labels[offsets[0] : offsets[-1]] = np.repeat(np.arange(cut.count), np.diff(offsets))
    return as_operand(labels, device)


def exact_variances(
    op: str,
    operand: Operand,
    axis: int,
    cut: SegmentPlan | Labels | HostLabels,
    where: Any,
    out: Any,
    options: Options,
    ddof: float,
) -> Any:
    """Return variances or standard deviations of groups or segments, rounded once."""
    shape = list(operand.shape)
    shape[axis] = cut.count
    output = OutputSpec(out, options, operand, axis, tuple(shape), (), False)
    output.reject_capture(f"the host rounds the result of exact {op}, which cannot be captured into a graph")
    output.reads += cut.reads
    integers = operand.dtype.kind in "biu"
    if integers:
        operand = output.cast(operand, np.dtype(np.float64))
    dtype = exact_states.real(operand.dtype)
    output.set_dtype(dtype, "unsafe")
    output.wait_for_inputs()
    if 0 in shape:
        return output.store(np.empty(shape))
    labels = _labels_of(cut, operand.shape[axis], device_name(operand.kind, operand.index))
    if not labels.shape[0]:
        return output.store(np.full(shape, np.nan))
    quiet = Options(device=options.device, stream=options.stream, as_device=False)
    mask = mask_of_numbers(operand, where, quiet) if op.startswith("nan") else where
    if mask is True:
        sums, counted = GroupSums(operand, axis, labels, cut.count, quiet), shape
    else:
        sums = _sums_under_mask(operand, axis, labels, cut.count, mask, quiet)
        counted = [sums.groups]
    counts = np.ascontiguousarray(np.broadcast_to(sums.counts(), counted))
    power = PowerSums(counts, sums.sums(), sums.squares())
    found = variances(power, operand.dtype, dtype, ddof, op.endswith("std"))
    if op.startswith("nan") and not integers:
        found[counts <= rules.degrees(ddof)] = np.nan
    return output.store(found)


def _sums_under_mask(
    operand: Operand, axis: int, labels: Operand, groups: int, mask: Any, options: Options
) -> GroupSums:
    """Return the sums of elements that a mask chooses: each is a row, whose group is its result."""
    output = OutputSpec(None, options, operand, axis, operand.shape, (), False)
    chosen = output.take_mask(mask, operand)
    elements, bools = (
        each.handle if each.view is None else _on_host(each, options) for each in (operand, chosen)
    )
    numbers = on_host(labels, "labels")
    inside = (numbers >= 0) & (numbers < groups)
    rows = HostLabels(np.where(inside, numbers.astype(np.int64), -1), groups)
    plan = label_elements(rows, operand.shape, axis, bools)
    device = device_name(operand.kind, operand.index)
    flat, results = (as_operand(each.reshape(-1), device) for each in (elements, plan.labels))
    return GroupSums(flat, 0, results, plan.count, options)
