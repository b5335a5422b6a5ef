"""From elements, offsets and labels to a call of the core."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.device_array import empty, to_device
from gpureduce._arrays.operand import Operand, as_operand, as_operand_like
from gpureduce._device.devices import LEGACY_STREAM, device_name
from gpureduce._reduce import floating
from gpureduce._reduce.exact import split_int64
from gpureduce._reduce.options import Options
from gpureduce._reduce.output import FROM_HOST, OutputSpec
from gpureduce._rules import arguments as rules
from gpureduce._rules import dtypes

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

OPS = tuple(dict.fromkeys(op for op, _ in _core.segment_coverage()))
_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)
_FEW = 2**16 - 1  # labels, which NumPy sorts by counting


class SegmentPlan:
    """Maps rows of an axis to results.

    `offsets` has one entry more than there are results: result i has rows offsets[i] to offsets[i + 1] - 1.
    With an `order`, these are indices into it, whose entries are rows.
    """

    flatten: Callable[..., Any] | None = None
    find_rows: Callable[..., Any] | None = None

    def __init__(self, offsets: Operand | np.ndarray, count: int, order: np.ndarray | None = None) -> None:
        self.offsets = offsets
        self.count = count
        self.order = order
        self.reads = [offsets] if isinstance(offsets, Operand) else []
        self.ordered = 0 if order is None else len(order)

    def labels_handle(self, output: OutputSpec) -> Any:
        """Return the labels as the core takes them: there are none."""

    def handle(self, output: OutputSpec) -> Any:
        """Return the plan in the form that the core takes, for a call ordered after its inputs."""
        return self.offsets.handle if isinstance(self.offsets, Operand) else self.host_handle()

    def host_handle(self) -> np.ndarray:
        """Return offsets in host memory as the core takes them."""
        offsets = np.ascontiguousarray(self.offsets, _INT64)
        return offsets if self.order is None else np.concatenate([offsets, self.order])


class Batches:
    """Consecutive plans, whose orders together need not fit in memory."""

    def __init__(self, cuts: Callable[[], Iterable[SegmentPlan]], count: int) -> None:
        self.cuts = cuts
        self.count = count
        self.reads: list[Operand] = []


def ascend(labels: np.ndarray) -> bool:
    """Return whether no label is less than the one before it."""
    return not (labels[1:] < labels[:-1]).any()


def sorted_by_label(labels: np.ndarray, groups: int) -> SegmentPlan:
    """Return the segments of groups, whose rows keep their order; without an order if labels ascend."""
    bins = np.maximum(labels, -1, dtype=_INT64, casting="unsafe") + 1  # bin 0: rows of no group
    bins[bins > groups] = 0
    offsets = np.cumsum(np.bincount(bins, minlength=groups + 1))
    order = None
    if not ascend(bins):
        keys = bins.astype(np.uint16) if groups < _FEW else bins
        order = np.argsort(keys, kind="stable")
    return SegmentPlan(offsets, groups, order)


class HostLabels:
    """A cut by labels in host memory, which are sorted there if the reduction takes rows by group."""

    # Returns elements and output as arrays of one dimension; then an element's label is the number of its
    # result.
    flatten: Callable[..., Any] | None = None
    # Reduces such elements to positions, and returns the rows of these.
    find_rows: Callable[..., Any] | None = None

    def __init__(self, labels: np.ndarray, count: int) -> None:
        self.labels = labels if len(labels) else labels.astype(_INT64)
        self.count = count
        self.reads: list[Operand] = []

    @functools.cached_property
    def plan(self) -> SegmentPlan:
        """The rows by group."""
        return sorted_by_label(self.labels, self.count)

    @property
    def ordered(self) -> int:
        """The number of rows that are put in order."""
        return self.plan.ordered

    def labels_handle(self, output: OutputSpec) -> Any:
        """Return the labels as the core takes them."""
        return self.labels

    def handle(self, output: OutputSpec) -> Any:
        """Return offsets and the order as the core takes them."""
        return self.plan.handle(output)


class Labels:
    """A plan by labels that are sorted on the device."""

    flatten: Callable[..., Any] | None = None
    find_rows: Callable[..., Any] | None = None

    def __init__(self, labels: Operand, count: int) -> None:
        self.labels = labels
        self.count = count
        self.reads = [labels] if labels.view is not None else []
        self.ordered = labels.shape[0]

    def labels_handle(self, output: OutputSpec) -> Any:
        """Return the labels as the core takes them."""
        return self.labels.handle

    def handle(self, output: OutputSpec) -> Any:
        """Return offsets and order in the form that the core takes, computed on the stream of the call."""
        if self.labels.view is None:
            output.reject_capture(FROM_HOST)
            copy = to_device(self.labels.handle, device_name(output.kind, output.index))
            self.labels = as_operand(copy, None, "labels")
            output.reads.append(self.labels)
            output.wait_for_inputs()
        return self.order_of(self.labels.handle, output)

    def order_of(self, labels: Any, output: OutputSpec) -> Any:
        """Return offsets and order of labels on the device."""
        shape, kind, index = (self.count + 1 + self.ordered,), output.kind, output.index
        order = empty(shape, _INT64, kind, index, output.stream_owner)
        view = order._view_tuple()
        _core.label_order(labels, self.count, (view, kind, index, output.stream))
        self.made = order  # until the core has enqueued the kernels that read it
        return view


def take(a: Any, op: Any, axis: Any, options: Options, others: tuple[str, ...] = ()) -> tuple[Operand, int]:
    """Convert the elements and the axis; TypeError and ValueError name the argument.

    `others` are operators that the core's segments do not have.
    """
    if not isinstance(op, str):
        raise TypeError(f"op: expected str, got {type(op).__name__}")
    if op not in OPS and op not in others:
        raise ValueError(f"op: expected one of {', '.join(OPS + others)}, got {op!r}")
    operand = as_operand(a, options.device)
    if not operand.shape:
        raise ValueError("a: expected at least one dimension, got a scalar")
    if axis is None or isinstance(axis, tuple):
        raise TypeError("axis: expected an integer")
    return operand, rules.reduced_axes(axis, len(operand.shape))[0]


def index_operand(indices: Any, name: str, operand: Operand) -> Operand:
    """Convert one-dimensional integers on the device of the elements, or in host memory."""
    taken = as_operand_like(indices, operand, name)
    if taken.view is not None and operand.view is None:
        raise TypeError(f"{name}: on a device, but a is in host memory")
    if len(taken.shape) != 1:
        raise ValueError(f"{name}: expected a one-dimensional array, got shape {taken.shape}")
    if taken.dtype.kind not in "iu" and not (taken.view is None and taken.shape == (0,)):
        raise TypeError(f"{name}: expected integers, got {taken.dtype}")
    return taken


def check_labels(labels: np.ndarray, groups: int) -> None:
    """Raise ValueError for a label in host memory that is not of one of the groups."""
    largest = int(labels.max()) if len(labels) else -1
    if largest < groups or largest < 0:
        return
    if groups == 0:
        raise ValueError(f"labels: expected negative labels alone, as there are no groups, got {largest}")
    raise ValueError(f"labels: expected up to {groups - 1}, got {largest}")


def on_host(operand: Operand, name: str) -> np.ndarray:
    """Return one-dimensional integers as a host array."""
    view = operand.view
    if view is None:
        return operand.handle
    host = np.empty(operand.shape, operand.dtype)
    if host.size > 1 and view.strides != host.strides:
        raise ValueError(f"{name}: expected contiguous integers on a device")
    if host.size:
        stream = LEGACY_STREAM if view.stream is None else view.stream
        _core.device_read(operand.kind, operand.index, view._pointer, host, stream)
    return host


def ones_like(numbers: Operand) -> Operand:
    """Return an int32 of 1 for each integer, which is one number in memory."""
    one, shape = np.ones(1, _INT32), numbers.shape
    if numbers.view is None:
        return replace(numbers, handle=np.broadcast_to(one, shape), dtype=_INT32, numpy_dtype=None)
    view = to_device(one, device_name(numbers.kind, numbers.index))
    return as_operand(view, None).with_strides(shape, (0,))


def run(
    op: str,
    operand: Operand,
    axis: int,
    cut: SegmentPlan | HostLabels | Labels | Batches,
    out: Any,
    options: Options,
    dtype: DTypeLike | None = None,
    ddof: float = 0,
    exact: Any = False,
    result_of: str = "segment",
    masked: Callable[..., HostLabels | Labels] | None = None,
    check: Callable[[np.ndarray], None] | None = None,
) -> Any:
    """Reduce by a plan; the result has one row per segment, or what else errors call it.

    `masked` returns a plan of the elements that a mask chooses. `check` is called with a result that is in
    host memory, before it is stored.
    """
    if operand.dtype.kind in "biu":
        op = op.removeprefix("nan")
    ddof, exact = rules.degrees(ddof), rules.flag(exact, "exact")
    _check_operator(op, operand, ddof, exact)
    shape = list(operand.shape)
    shape[axis] = cut.count
    output = OutputSpec(out, options, operand, axis, tuple(shape), (), False)
    output.reads += cut.reads
    if masked is not None:
        cut = masked(cut, operand, axis, op, output)
        output.reads += cut.reads
    if op == "logsumexp" and operand.dtype.kind in "biu":
        operand = output.cast(operand, np.dtype(np.float64))
    source = operand
    op, operand, loop = _cast(op, operand, dtype, output)
    output.set_dtype(loop, "unsafe")
    output.wait_for_inputs()
    core_dtype = dtypes.core_dtype(op, operand.dtype)
    if 0 in shape:
        return output.store(np.empty(shape, core_dtype))
    core_out = output.core_out(core_dtype)
    if isinstance(cut, Batches):
        output.reject_capture("slices in batches need the host, and cannot be captured into a graph")
        core_out = None

    def reduced(op: str, elements: Operand, core_out: Any = None) -> Any:
        cuts = cut.cuts() if isinstance(cut, Batches) else [cut]
        parts = [reduce_by(op, elements, axis, each, output, core_out, ddof) for each in cuts]
        return np.concatenate(parts, axis=axis) if isinstance(cut, Batches) else parts[0]

    if exact and op == "sum" and operand.dtype.kind in "iu" and _may_overflow(operand, axis, loop):
        output.reject_capture("sums of integers with exact=True need the host, and cannot be captured")
        return output.store(_fitting_sums(operand, axis, loop, reduced, result_of))
    result = reduced(op, operand, core_out)
    if check is not None and not output.on_device:
        check(result)
    stored = output.store(None if core_out is not None else result)
    if core_out is None and op in ("sum", "prod") and not (output.on_device or _core.all_finite(result)):
        _check_fp_status(op, result, operand, axis, reduced)
        floating.check_cast(source, operand, result)
    return stored


def _check_operator(op: str, operand: Operand, ddof: float, exact: bool) -> None:
    """Raise TypeError for what an operator does not take."""
    plain = op.removeprefix("nan")
    if op.startswith("bitwise") and operand.dtype.kind not in "biu":
        raise TypeError(f"a: {op} takes bool and integers, not {operand.dtype}")
    if ddof and plain not in ("var", "std"):
        raise TypeError(f"ddof: only for var and std, not for {op}")
    if exact and plain in ("prod", "var", "std"):
        raise TypeError(f"exact: only for sum and mean, not for {op}")


def _cast(
    op: str, operand: Operand, dtype: DTypeLike | None, output: OutputSpec
) -> tuple[str, Operand, np.dtype]:
    """Return the operator, the elements as it takes them, and the dtype that NumPy reduces in."""
    if op not in dtypes.UFUNCS:
        return op, operand, dtypes.core_dtype(op, operand.dtype)
    loop = output.loop_dtype(op, operand.rule_dtype, dtype)
    if loop == dtypes.BOOL and op in ("sum", "prod"):  # as NumPy's
        return "any" if op == "sum" else "all", operand, loop
    if not (op in ("sum", "prod") and loop.kind in "iu" and operand.dtype.kind in "biu"):
        operand = output.cast(operand, loop)
    return op, operand, loop


def reduce_by(
    op: str,
    elements: Operand,
    axis: int,
    cut: SegmentPlan | HostLabels | Labels,
    output: OutputSpec,
    core_out: Any,
    ddof: float = 0,
) -> Any:
    """Reduce by the core; None if it writes to the output."""
    if cut.flatten is None:
        return _reduce_rows(op, elements, axis, cut, output, core_out, ddof)
    elements, core_out = cut.flatten(elements, core_out, output)
    if op in ("argmin", "argmax") and cut.find_rows is not None:
        return cut.find_rows(lambda out: _reduce_rows(op, elements, 0, cut, output, out), core_out, output)
    result = _reduce_rows(op, elements, 0, cut, output, core_out, ddof)
    return result.reshape(output.kept) if core_out is None else result


def _reduce_rows(
    op: str,
    elements: Operand,
    axis: int,
    cut: SegmentPlan | HostLabels | Labels,
    output: OutputSpec,
    core_out: Any,
    ddof: float = 0,
) -> Any:
    destination = (core_out, elements.kind, elements.index, output.stream)
    labels = cut.labels_handle(output)
    if labels is not None:
        try:
            result = _core.groups(
                a=elements.handle,
                op=op,
                axis=axis,
                labels=labels,
                num_groups=cut.count,
                destination=destination,
            )
        except MemoryError:  # sorted rows have the same results, and need less memory
            result = NotImplemented
        if result is not NotImplemented:
            return result
    return _core.segments(
        a=elements.handle,
        op=op,
        axis=axis,
        offsets=cut.handle(output),
        permuted_rows=cut.ordered,
        ddof=ddof,
        destination=destination,
    )


def _may_overflow(operand: Operand, axis: int, dtype: np.dtype) -> bool:
    """Return whether a sum of integers may not fit a dtype."""
    limits, elements = np.iinfo(dtype), np.iinfo(operand.dtype)
    rows = operand.shape[axis]
    return elements.max * rows > limits.max or elements.min * rows < limits.min


def _fitting_sums(
    operand: Operand, axis: int, dtype: np.dtype, reduced: Callable[..., np.ndarray], result_of: str
) -> np.ndarray:
    """Return sums of integers; OverflowError names the first that does not fit the dtype.

    64-bit integers are summed as two halves, whose sums have 64 bits of their own.
    """
    upper: np.ndarray
    lower: np.ndarray
    if operand.dtype.itemsize < 8:
        total = reduced("sum", operand)
        upper, lower = total >> 32, total & 0xFFFFFFFF
        outside = np.zeros(total.shape, bool)
    else:
        low, high = (reduced("sum", half) for half in split_int64(operand))
        upper, lower = high + (low >> np.uint64(32)).astype(high.dtype), low & np.uint64(0xFFFFFFFF)
        total = ((upper.astype(np.uint64) << np.uint64(32)) | lower).astype(high.dtype)
        whole = np.iinfo(high.dtype)
        outside = (upper < whole.min >> 32) | (upper > whole.max >> 32)
    limits, whole = np.iinfo(dtype), np.iinfo(total.dtype)
    outside |= (total < max(limits.min, whole.min)) | (total > min(limits.max, whole.max))
    if outside.any():
        place = tuple(np.argwhere(outside)[0].tolist())
        value = int(upper[place]) * 2**32 + int(lower[place])
        raise OverflowError(f"a: the sum {value} of {result_of} {place[axis]} does not fit {dtype}")
    return total


def report(
    result: Any, a: Any, op: str, axis: int, offsets: Any, permuted_rows: int, kind: int, index: int
) -> None:
    """Report a nonfinite host result of the fast path.

    With `permuted_rows` of -1, `offsets` are the labels of the rows.
    """
    device = device_name(kind, index)
    operand = as_operand(offsets, device, "offsets")
    if permuted_rows < 0:
        plan = sorted_by_label(on_host(operand, "labels"), result.shape[axis])
        handle = plan.host_handle()
        permuted_rows = plan.ordered
    else:
        handle = operand.handle

    def reduced(end: str, part: Operand) -> np.ndarray:
        destination = (None, part.kind, part.index, LEGACY_STREAM)
        return _core.segments(
            a=part.handle,
            op=end,
            axis=axis,
            offsets=handle,
            permuted_rows=permuted_rows,
            ddof=0,
            destination=destination,
        )

    _check_fp_status(op, result, as_operand(a, device), axis, reduced)


def _check_fp_status(
    op: str, result: Any, operand: Operand, axis: int, reduced: Callable[[str, Operand], np.ndarray]
) -> None:
    def ends_of(part: Operand) -> floating.Ends:
        if part.dtype.kind in "biu":
            return np.zeros(()), np.zeros(())
        high, low = (reduced(end, part).astype(np.float64) for end in ("max", "min"))
        return high, low

    floating.check_fp_status(op, result, operand, (axis,), where="reduceat", ends_of=ends_of)
