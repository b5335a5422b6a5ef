"""Groups and segments of the elements that a mask chooses: ``where=``.

Each element gets the number of its result as a label, or -1. Where the mask has one value per row, rows get
labels; else single elements do, and are reduced as rows of one column.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.device_array import empty, to_device
from gpureduce._arrays.operand import Operand, as_operand
from gpureduce._device.devices import device_name
from gpureduce._reduce.output import FROM_HOST, OutputSpec
from gpureduce._rules.arguments import c_strides, same_strides
from gpureduce._segments.segment_plan import HostLabels, Labels, SegmentPlan

_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)


def split(shape: tuple[int, ...], axis: int) -> tuple[int, int, int]:
    """Return the numbers of lines, rows and columns."""
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


def _is_of_rows(shape: tuple[int, ...], strides: tuple[int, ...], axis: int) -> bool:
    """Return whether a mask has one value per row: it is broadcast along the other axes, or empty."""
    return 0 in shape or all(strides[i] == 0 or shape[i] == 1 for i in range(len(shape)) if i != axis)


def flatten(elements: Operand, core_out: Any, output: OutputSpec) -> tuple[Operand, Any]:
    """Return elements and the output as arrays of one dimension."""
    count = math.prod(elements.shape)
    if elements.view is None:
        flat = replace(elements, handle=elements.handle.reshape(-1), shape=(count,))
    else:
        item = elements.dtype.itemsize
        packed = c_strides(elements.shape, item)
        if not same_strides(elements.shape, elements.handle[2], packed):
            elements = output.in_c_order(elements)
        flat = elements.with_strides((count,), (item,))
    if core_out is not None:
        pointer, shape, strides, name = core_out
        core_out = (pointer, (math.prod(shape),), strides[-1:], name)
    return flat, core_out


def _rows_of(
    extents: tuple[int, int, int], reduced: Callable[[Any], Any], core_out: Any, output: OutputSpec
) -> Any:
    """Reduce to positions in flattened elements, and return the rows of these; -1 for no position."""
    lines, rows, columns = extents
    if core_out is None:
        positions = reduced(None)
        return np.where(positions < 0, -1, positions // columns % rows).reshape(output.kept)
    output.reject_capture("positions under a mask need a table from the host, and cannot be captured")
    # A row for each element, after -1 as many times as there are columns: the entry at position -1 is -1.
    device = device_name(output.kind, output.index)
    numbers = to_device(np.append(-1, np.tile(np.arange(rows), lines)), device)
    table = output.in_c_order(as_operand(numbers, None).with_strides((numbers.size, columns), (8, 0)))
    found = output.allocate_output(core_out[1], _INT64)
    reduced(found._view_tuple())
    entries = (table.handle[0] + 8 * columns, *found._view_tuple()[1:])
    destination = (core_out, output.kind, output.index, output.stream)
    return _core.gather_labels(entries, found._view_tuple(), destination)


class FlatLabels(HostLabels):
    """Labels of single elements in host memory, which are numbers of results."""

    flatten = staticmethod(flatten)

    def __init__(self, labels: np.ndarray, count: int, extents: tuple[int, int, int]) -> None:
        super().__init__(labels, count)
        self.find_rows = functools.partial(_rows_of, extents)


class MaskedLabels(Labels):
    """Labels that are written on the device of the elements, from labels or offsets, and a mask."""

    def __init__(
        self,
        cut: SegmentPlan | HostLabels | Labels,
        shape: tuple[int, int, int],
        device: str,
        repeats: int = 1,
    ) -> None:
        """Label elements of a shape (lines, rows, columns); rows alone if it has one line and one column."""
        array = cut.offsets if isinstance(cut, SegmentPlan) else cut.labels
        super().__init__(array if isinstance(array, Operand) else as_operand(array, device), cut.count)
        self.by_offsets, self.groups = isinstance(cut, SegmentPlan), cut.count
        self.extents, self.repeats = shape, repeats
        self.count = shape[0] * cut.count * shape[2]
        self.ordered = math.prod(shape) * repeats
        self.mask: Operand | None = None
        self.masked: Any = None

    def set_mask(self, mask: Operand, of_rows: bool) -> None:
        """Set the mask of the elements, one of rows in the shape of the plan."""
        self.mask = mask
        self.reads.append(mask)
        if not of_rows:
            self.flatten = flatten
            self.find_rows = functools.partial(_rows_of, self.extents)

    def _mask_handle(self, output: OutputSpec) -> Any:
        if self.mask is None:
            return None
        if self.flatten is None:
            return self.mask.handle
        if not same_strides(self.mask.shape, self.mask.handle[2], c_strides(self.mask.shape, 1)):
            self.mask = output.in_c_order(self.mask)
        return self.mask.with_strides(self.extents, c_strides(self.extents, 1)).handle

    def _make(self, output: OutputSpec) -> None:
        if self.masked is not None:
            return
        if self.labels.view is None:
            output.reject_capture(FROM_HOST)
            copy = to_device(self.labels.handle, device_name(output.kind, output.index))
            self.labels = as_operand(copy, None, "labels")
            output.reads.append(self.labels)
            output.wait_for_inputs()
        dtype = _INT32 if self.count <= np.iinfo(np.int32).max else _INT64
        self.masked = empty((self.ordered,), dtype, output.kind, output.index, output.stream_owner)
        if not self.ordered:
            return
        _core.masked_labels(
            labels=self.labels.handle,
            by_offsets=self.by_offsets,
            num_groups=self.groups,
            shape=self.extents,
            mask=self._mask_handle(output),
            repeats=self.repeats,
            destination=(self.masked._view_tuple(), output.kind, output.index, output.stream),
        )

    def labels_handle(self, output: OutputSpec) -> Any:
        """Return the labels as the core takes them."""
        self._make(output)
        return self.masked._view_tuple()

    def handle(self, output: OutputSpec) -> Any:
        """Return offsets and order in the form that the core takes, computed on the stream of the call."""
        self._make(output)
        return self.order_of(self.masked._view_tuple(), output)


def mask_plan(
    cut: SegmentPlan | HostLabels | Labels,
    operand: Operand,
    axis: int,
    op: str,
    output: OutputSpec,
    where: Any,
    repeats: int = 1,
    flat: bool = False,
) -> HostLabels | Labels:
    """Return a plan of the elements that ``where=`` chooses, with each row `repeats` times on a device.

    With `flat`, each element has a label even if the mask has one value per row.
    """
    mask = output.take_mask(where, operand)
    shape = operand.shape
    strides = mask.handle.strides if mask.view is None else mask.handle[2]
    of_rows = not flat and _is_of_rows(shape, strides, axis)
    if mask.view is None:
        return _on_host(cut, shape, axis, mask.handle, of_rows)
    extents = (1, shape[axis], 1) if of_rows else split(shape, axis)
    plan = MaskedLabels(cut, extents, device_name(mask.kind, mask.index), repeats)
    plan.set_mask(mask.with_strides(extents, (0, strides[axis], 0)) if of_rows else mask, of_rows)
    return plan


def _host_labels(cut: SegmentPlan | HostLabels | Labels, rows: int) -> np.ndarray:
    """Return the label of each row, -1 for rows of no group."""
    if isinstance(cut, HostLabels):
        return cut.labels
    if isinstance(cut, Labels):
        return cut.labels.handle
    assert isinstance(cut.offsets, np.ndarray)
    labels = np.full(rows, -1, _INT64)
    offsets = cut.offsets
    labels[offsets[0] : offsets[-1]] = np.repeat(np.arange(cut.count), np.diff(offsets))
    return labels


def _on_host(
    cut: SegmentPlan | HostLabels | Labels, shape: tuple[int, ...], axis: int, mask: np.ndarray, of_rows: bool
) -> HostLabels:
    if not of_rows:
        return label_elements(cut, shape, axis, mask)
    labels = _host_labels(cut, shape[axis])
    labels = np.maximum(labels, -1, dtype=_INT64, casting="unsafe")
    first = tuple(slice(None) if i == axis else 0 for i in range(len(shape)))
    chosen = mask[first] if mask.size else np.zeros(shape[axis], bool)
    return HostLabels(np.where(chosen, labels, -1), cut.count)


def label_elements(
    cut: SegmentPlan | HostLabels | Labels, shape: tuple[int, ...], axis: int, mask: np.ndarray
) -> HostLabels:
    """Return a plan in host memory of the elements that a mask chooses."""
    extents = lines, rows, columns = split(shape, axis)
    labels = _host_labels(cut, rows)
    labels = np.maximum(labels, -1, dtype=_INT64, casting="unsafe")
    line, column = np.arange(lines)[:, None, None], np.arange(columns)
    results = (line * cut.count + labels[:, None]) * columns + column
    chosen = mask.reshape(extents) & (labels >= 0)[:, None]
    return FlatLabels(np.where(chosen, results, -1).reshape(-1), lines * cut.count * columns, extents)
