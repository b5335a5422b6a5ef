"""The public functions: reductions of consecutive segments, and of groups by labels."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.operand import Operand
from gpureduce._device.devices import Device
from gpureduce._reduce import engine
from gpureduce._reduce.fast_path import fast_path_named
from gpureduce._reduce.options import Options
from gpureduce._reduce.output import OutputSpec
from gpureduce._rules import arguments as rules
from gpureduce._segments.segment_plan import (
    Batches,
    HostLabels,
    Labels,
    SegmentPlan,
    ascend,
    check_labels,
    index_operand,
    on_host,
    report,
    run,
    take,
)

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import DTypeLike

    from gpureduce._reduce.types import AnyArray, Out, Stream

_INT64 = np.dtype(np.int64)
_MANY = 2**15  # labels on the host that a GPU sorts faster than NumPy, copies included
_LEAST_BATCH = 2**16  # rows of slices that are ordered in one batch
_MOST_GROUPS = 2**48
_QUANTILES = ("median", "quantile", "nanmedian", "nanquantile")
_POSITIONS = ("nanargmin", "nanargmax")
_MOST_THERE = 2**32 - 1  # labels, and groups, that are counted on a device


@fast_path_named(report)
def segment_reduce(
    a: AnyArray,
    offsets: AnyArray,
    op: str = "sum",
    *,
    axis: SupportsIndex = 0,
    out: Out | None = None,
    ddof: float = 0,
    where: AnyArray | bool = True,
    weights: AnyArray | None = None,
    q: float | None = None,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    exact: bool = False,
) -> Any:
    """Reduce each segment along an axis: segment i has the rows ``offsets[i]`` to ``offsets[i + 1] - 1``.

    Parameters
    ----------
    a : array_like or device array
        Input array. For an array on a device, the axes before `axis`, and the axes after it, must each be
        mergeable into one axis.
    offsets : array_like or device array
        Ascending integers from 0 to the length of the axis, one more than the number of segments; equal
        neighbours make an empty segment. Rows before the first and after the last offset are ignored. Offsets
        on the device of `a` must be contiguous int64; they are not validated, and descending ones give
        undefined results.
    op : str
        ``"sum"``, ``"prod"``, ``"mean"``, ``"min"``, ``"max"``, ``"argmin"``, ``"argmax"``, ``"any"``,
        ``"all"``, ``"count_nonzero"``, ``"bitwise_and"``, ``"bitwise_or"``, ``"bitwise_xor"``, ``"var"``,
        ``"std"``, ``"logsumexp"``, ``"median"``, ``"quantile"``; or a form that skips NaNs: ``"nansum"``,
        ``"nanprod"``, ``"nanmean"``, ``"nanmin"``, ``"nanmax"``, ``"nanargmin"``, ``"nanargmax"``,
        ``"nanvar"``, ``"nanstd"``, ``"nanmedian"``, ``"nanquantile"``.
    axis : int
        Axis that is divided into segments.
    out : numpy.ndarray or device array, optional
        Output array of the shape of the result; it is also returned. An array on a device must have the
        result's dtype and C order.
    ddof : float
        Delta degrees of freedom: variances and standard deviations of N elements divide by ``N - ddof``.
    where : array_like or device array of bool
        Elements to include, broadcast to the shape of `a`.
    weights : array_like or device array, optional
        Real weights of ``"sum"`` and ``"mean"``, where `a` is: one per element, or one per row.
    q : float, optional
        Quantile of ``"quantile"`` and ``"nanquantile"``, from 0 to 1.
    device : str or Device, optional
        Device that runs the call: ``"cuda"``, ``"cuda:1"`` or ``"sim"``. Default: the device of `a`, or for a
        host array the default device (see `set_default_device`): without a setting, the first CUDA device, or
        the simulator with a `SimulatorWarning` if there is none.
    stream : int or object, optional
        CUDA stream to work on: an integer handle, or an object that has one (``torch.cuda.Stream``,
        ``cupy.cuda.Stream``, anything with ``__cuda_stream__``). Default: the stream of the first argument on
        a device, which is its library's current stream, or the stream of a `DeviceArray`. The call is ordered
        after the work already queued on this stream and on the streams of the other arguments. The host
        synchronizes only when a result is returned to host memory. See docs/explanation/streams.md.
    as_device : bool, optional
        True leaves the result on the device, as a `DeviceArray`; False copies it to host memory. Default:
        True if `a` is on a device.
    exact : bool
        True raises OverflowError if a ``"sum"`` of integers does not fit the dtype of the result; without it,
        such a sum wraps, as in NumPy. All other sums and means are exact in any case. Results of ``"var"``
        and ``"std"``, also of those that skip NaNs, are then exact and rounded once, in any order of the
        rows; the call copies `a` to the host.

    Returns
    -------
    numpy.ndarray or DeviceArray
        Array in C order, with one row for each segment along `axis`, and the dtype of the reduction. An empty
        segment gives 0, for ``"prod"`` 1, for ``"all"`` True, for ``"min"`` the largest and for ``"max"`` the
        smallest value of the dtype (inf and -inf for floats), for ``"mean"``, ``"var"`` and ``"std"`` NaN,
        for ``"argmin"`` and ``"argmax"``, which return indices along `axis`, -1, for ``"logsumexp"`` -inf. A
        form that skips NaNs gives the same, and NaN for a segment of NaNs alone, but for ``"nansum"`` and
        ``"nanprod"``: 0 and 1. ``"nanargmin"`` and ``"nanargmax"`` of it raise ValueError in host memory, and
        give -1 on a device.

    Raises
    ------
    TypeError
        If the reduction does not support the dtype, or if offsets are not integers.
    ValueError
        If `op` is unknown, offsets descend or are out of bounds, or `out` has the wrong shape or dtype; in
        host memory, if ``"nanargmin"`` or ``"nanargmax"`` finds NaNs alone.
    OverflowError
        With ``exact=True``, if a sum of integers does not fit. The error names the segment.
    DeviceError
        If the device does not exist or fails.

    Notes
    -----
    One pass over the elements, for any segment lengths. Sums and means are correctly rounded: the exact sum
    of a segment is rounded once, so that the bits do not depend on the order of its rows. Other results are
    bitwise identical in every run, on a GPU and on the simulator. ``"prod"``, ``"var"`` and ``"std"`` of
    float16, bfloat16, float32 and complex64 are accumulated in float64, and each result is rounded once.
    Products with `weights` are not rounded before they are added, unless their rounding errors underflow.
    Their dtype is that of NumPy's rules, but at least float32. A weighted mean is the quotient of two exact
    sums, which are rounded to float64.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> a = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    >>> gpureduce.segment_reduce(a, [0, 2, 2, 5], device="sim")
    array([ 3.,  0., 12.])
    >>> gpureduce.segment_reduce(a, [0, 2, 5], "argmax", device="sim")
    array([1, 4])
    """
    options = Options(device=device, stream=stream, as_device=as_device)
    operand, along = take(a, op, axis, options, _QUANTILES + _POSITIONS)
    bounds = index_operand(offsets, "offsets", operand)
    if bounds.shape[0] < 1:
        raise ValueError("offsets: expected one more than the number of segments, got none")
    if bounds.view is not None:
        if bounds.dtype != _INT64 or (bounds.shape[0] > 1 and bounds.view.strides != (8,)):
            raise TypeError("offsets: expected contiguous int64 on a device")
        plan = SegmentPlan(bounds, bounds.shape[0] - 1)
        return _reduce(op, operand, along, plan, out, options, ddof, exact, where, weights, q)
    ends, length = bounds.handle, operand.shape[along]
    if ends.dtype == np.uint64 and (ends > length).any():
        raise ValueError(f"offsets: expected 0 to {length}, got {ends.max()}")
    ends = ends.astype(_INT64)
    if ends[0] < 0 or ends[-1] > length:
        raise ValueError(f"offsets: expected 0 to {length}, got {ends[0]} to {ends[-1]}")
    if (ends[1:] < ends[:-1]).any():
        raise ValueError("offsets: expected integers in ascending order")
    plan = SegmentPlan(ends, len(ends) - 1)
    return _reduce(op, operand, along, plan, out, options, ddof, exact, where, weights, q)


@fast_path_named(report)
def reduceat(
    a: AnyArray,
    indices: AnyArray,
    op: str = "sum",
    *,
    axis: SupportsIndex = 0,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    exact: bool = False,
) -> Any:
    """Reduce slices along an axis, as ``numpy.add.reduceat``.

    Parameters
    ----------
    a
        As for `segment_reduce`.
    indices : array_like or device array
        Row indices along `axis`. Result i reduces the rows ``indices[i]`` to ``indices[i + 1] - 1``; the last
        result reduces the rows from the last index to the end. If ``indices[i + 1]`` is not greater than
        ``indices[i]``, result i is row ``indices[i]`` itself. Indices on a device are copied to the host.
    op
        As for `segment_reduce`, but no median or quantile, and neither ``"nanargmin"`` nor ``"nanargmax"``.
    axis : int
        Axis along which slices are reduced.
    dtype : dtype_like, optional
        Data type of accumulators and results for ``"sum"``, ``"prod"``, ``"min"``, ``"max"`` and bitwise
        operators, as for `sum`.
    out, device, stream, as_device, exact
        As for `segment_reduce`.

    Returns
    -------
    numpy.ndarray or DeviceArray
        Array in C order, with one row for each index along `axis`.

    Raises
    ------
    TypeError, ValueError, OverflowError, DeviceError
        As for `segment_reduce`.
    IndexError
        If an index is out of bounds.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.reduceat(np.arange(8), [0, 4, 1, 5, 2, 6, 3, 7], device="sim")[::2]
    array([ 6, 10, 14, 18])
    """
    options = Options(device=device, stream=stream, as_device=as_device)
    operand, along = take(a, op, axis, options)
    rows, length = on_host(index_operand(indices, "indices", operand), "indices"), operand.shape[along]
    outside = (rows < 0) | (rows >= length)
    if outside.any():
        raise IndexError(f"indices: {rows[outside][0]} is out of bounds for an axis of length {length}")
    cut = _slices(rows.astype(_INT64), length)
    return run(op, operand, along, cut, out, options, dtype, exact=exact, result_of="slice")


def _slices(begin: np.ndarray, length: int) -> SegmentPlan | Batches:
    """Return the plan of slices: offsets if they ascend, else with an order of all rows of all slices.

    Overlapping slices may have many more rows than the array: their orders are computed in batches of at most
    the number of rows plus slices.
    """
    if not len(begin):
        return SegmentPlan(np.zeros(1, _INT64), 0)
    end = np.append(begin[1:], length)
    if (begin < end).all():
        return SegmentPlan(np.append(begin, length), len(begin))
    counts = np.where(begin < end, end - begin, 1)
    most = max(length + len(begin), _LEAST_BATCH)
    if counts.sum() <= most:
        return _ordered(begin, counts)
    ends = np.cumsum(counts)
    edges = [0]
    while edges[-1] < len(begin):
        done = ends[edges[-1] - 1] if edges[-1] else 0
        edges.append(max(int(np.searchsorted(ends, done + most, "right")), edges[-1] + 1))
    pairs = list(itertools.pairwise(edges))
    return Batches(lambda: (_ordered(begin[i:j], counts[i:j]) for i, j in pairs), len(begin))


def _ordered(begin: np.ndarray, counts: np.ndarray) -> SegmentPlan:
    """Return the plan of slices of `counts` rows, with an order of the rows."""
    offsets = np.append(0, np.cumsum(counts))
    order = np.arange(offsets[-1]) + np.repeat(begin - offsets[:-1], counts)
    return SegmentPlan(offsets, len(begin), order)


@fast_path_named(report)
def group_reduce(
    a: AnyArray,
    labels: AnyArray,
    op: str = "sum",
    num_groups: SupportsIndex | None = None,
    *,
    axis: SupportsIndex = 0,
    out: Out | None = None,
    ddof: float = 0,
    where: AnyArray | bool = True,
    weights: AnyArray | None = None,
    q: float | None = None,
    variant: str = "auto",
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    exact: bool = False,
) -> Any:
    """Reduce each group of rows along an axis: the rows that have the same label.

    Parameters
    ----------
    a
        As for `segment_reduce`.
    labels : array_like or device array
        Integer label of each row: the index of its group. Rows with negative labels are ignored. Labels on
        the device of `a` are not validated; rows with out-of-range labels are ignored.
    op
        As for `segment_reduce`; ``"argmin"`` and ``"argmax"`` return the first of equal elements.
    num_groups : int, optional
        Number of groups, which is the length of the result along `axis`. Default: ``labels.max() + 1`` (0
        without labels), as in `numpy.bincount`. For labels on a device, the maximum is computed there, and
        the call synchronizes; pass `num_groups` to avoid that, and in graph capture.
    axis : int
        Axis whose rows are labelled.
    out, ddof, where, weights, q
        As for `segment_reduce`.
    variant : str
        Kernel to run: ``"auto"``, or the name of one of ``variants("groups")``, which sums one-dimensional
        float32 by labels that are int32 if on a device.
    device, stream, as_device, exact
        As for `segment_reduce`.

    Returns
    -------
    numpy.ndarray or DeviceArray
        Array in C order, with one row for each group along `axis`. Empty groups give what empty segments give
        in `segment_reduce`.

    Raises
    ------
    TypeError, ValueError, OverflowError, DeviceError
        As for `segment_reduce`. ValueError also if a label in host memory is out of range.

    Notes
    -----
    Sums and means are correctly rounded: the exact sum of a group is rounded once, so that the bits do not
    depend on the order of the rows, the device or the grid. Integer sums wrap, as NumPy's do, unless `exact`
    is True. Least and largest elements do not depend on the order of the rows either: -0 counts as less than
    0, and a NaN is a quiet one. Other reductions take the rows of a group in their order, so that results are
    bitwise identical in every run. See docs/how-to/group-and-scatter.md.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.group_reduce(np.array([1.0, 2.0, 3.0, 4.0]), [1, 0, 1, -1], num_groups=3, device="sim")
    array([2., 4., 0.])
    """
    options = Options(variant, device=device, stream=stream, as_device=as_device, ladder="groups")
    operand, along = take(a, op, axis, options, _QUANTILES + _POSITIONS)
    rung = options.variant
    if rung is not None:
        from gpureduce._segments import group_rungs  # few calls name a rung

        group_rungs.check(rung, operand, op, ddof)
        if rules.flag(exact, "exact"):
            raise ValueError("exact: only with variant='auto'")
        if where is not True:
            raise ValueError("where: only with variant='auto'")
        if weights is not None:
            raise ValueError("weights: only with variant='auto'")
    label_operand, length = index_operand(labels, "labels", operand), operand.shape[along]
    if label_operand.shape[0] != length:
        raise ValueError(f"labels: expected {length}, one for each row, got {label_operand.shape[0]}")
    if label_operand.view is not None:
        groups = _groups(num_groups, label_operand)
        if rung is not None:
            return group_rungs.run(rung, operand, label_operand, groups, out, options)
        if max(groups, length) < _MOST_THERE:
            plan = Labels(label_operand, groups)
            return reduce_groups(op, operand, along, plan, out, options, ddof, exact, where, weights, q)
    numbers = on_host(label_operand, "labels")
    groups = _groups(num_groups, numbers)
    check_labels(numbers, groups)
    if rung is not None:
        return group_rungs.run(rung, operand, numbers, groups, out, options)
    plain = where is True and weights is None
    cut = cut_by_host(label_operand, groups, operand) if plain else HostLabels(numbers, groups)
    return reduce_groups(op, operand, along, cut, out, options, ddof, exact, where, weights, q)


def cut_by_host(labels: Operand, groups: int, operand: Operand) -> Labels | HostLabels:
    """Return the plan of labels in host memory: a GPU sorts many of them."""
    length = labels.shape[0]
    many = operand.kind == _core.CUDA and length >= _MANY and max(groups, length) < _MOST_THERE
    return Labels(labels, groups) if many and not ascend(labels.handle) else HostLabels(labels.handle, groups)


def reduce_groups(
    op: str,
    operand: Operand,
    axis: int,
    cut: Labels | HostLabels,
    out: Out | None,
    options: Options,
    ddof: float = 0,
    exact: bool = False,
    where: Any = True,
    weights: Any = None,
    q: Any = None,
    name: str = "num_groups",
) -> Any:
    """Reduce groups; a MemoryError names the argument that sets their number."""
    try:
        return _reduce(op, operand, axis, cut, out, options, ddof, exact, where, weights, q, "group")
    except MemoryError as error:
        raise MemoryError(f"{name}: no memory for the results of {cut.count} groups: {error}") from None


def _reduce(
    op: str,
    operand: Operand,
    axis: int,
    cut: SegmentPlan | Labels | HostLabels,
    out: Out | None,
    options: Options,
    ddof: float,
    exact: bool,
    where: Any,
    weights: Any,
    q: Any,
    result_of: str = "segment",
) -> Any:
    """Reduce by a plan, the elements that a mask chooses, with weights."""
    if q is not None and op not in ("quantile", "nanquantile"):
        raise TypeError(f"q: only for quantile, not for {op}")
    if op in _QUANTILES:
        from gpureduce._segments import quantiles  # few calls sort

        if weights is not None:
            raise TypeError(f"weights: only for sum and mean, not for {op}")
        if rules.degrees(ddof):
            raise TypeError(f"ddof: only for var and std, not for {op}")
        if rules.flag(exact, "exact"):
            raise TypeError(f"exact: only for sum and mean, not for {op}")
        return quantiles.reduce_quantile(op, operand, axis, cut, q, where, out, options)
    if weights is not None:
        from gpureduce._segments import weighted  # few calls have weights

        weighted.check_options(exact, ddof)
        return weighted.weighted(op, operand, axis, cut, weights, where, out, options)
    if op in _POSITIONS:
        from gpureduce._segments import skip_nan  # few calls skip NaNs

        return skip_nan.reduce_positions(op, operand, axis, cut, out, options, ddof, exact, where, result_of)
    if op.removeprefix("nan") in ("var", "std") and rules.flag(exact, "exact"):
        from gpureduce._segments import exact_groups  # few calls are exact

        return exact_groups.exact_variances(op, operand, axis, cut, where, out, options, ddof)
    masked = _masked(where)
    return run(
        op, operand, axis, cut, out, options, ddof=ddof, exact=exact, result_of=result_of, masked=masked
    )


def _masked(where: Any) -> Callable[..., Any] | None:
    """Return the function that applies ``where=`` to a plan, if any."""
    if where is True:
        return None
    from gpureduce._segments import masked  # few calls have a mask

    return functools.partial(masked.mask_plan, where=where)


def _groups(num_groups: Any, labels: np.ndarray | Operand) -> int:
    if num_groups is None:
        if not labels.shape[0]:
            return 0
        if isinstance(labels, np.ndarray):
            return check_groups("labels", max(int(labels.max()) + 1, 0))
        options = Options(device=None, stream=None, as_device=False)
        output = OutputSpec(None, options, labels, None, labels.shape, (0,), False)
        output.wait_for_inputs()
        largest = engine.run("max", labels, (0,), stream=output.stream)
        assert largest is not None
        return check_groups("labels", max(int(largest) + 1, 0))
    if isinstance(num_groups, (bool, np.bool_)):
        raise TypeError("num_groups: expected int or None, got bool")
    groups = rules.integer(num_groups, "num_groups", "int or None")
    if groups < 0:
        raise ValueError(f"num_groups: expected 0 or more, got {groups}")
    return check_groups("num_groups", groups)


def check_groups(name: str, groups: int) -> int:
    """Return a number of groups that is small enough for an array of results."""
    if groups > _MOST_GROUPS:
        raise ValueError(f"{name}: expected up to {_MOST_GROUPS} groups, got {groups}")
    return groups
