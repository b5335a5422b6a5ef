"""Kernels and gradients of reductions of groups and of segments along one axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._segments import segments
from gpureduce._torch import torch
from gpureduce._torch.kernels import (
    BY_NAME,
    NAMES,
    array_of,
    core_name,
    current_stream,
    is_whole,
    refused,
    results_of,
    tensor_of,
    view_of,
)

Gradients = tuple[torch.Tensor | None, ...]
OPS = ("sum", "prod", "mean", "max", "min", "any", "all", "count_nonzero")
_RESULTS = {op: results_of(op) for op in OPS}
_INTEGERS = frozenset(dtype for dtype in NAMES if is_whole(dtype) and dtype != torch.bool)


def axis_of_rows(a: torch.Tensor, axis: int) -> int:
    """Return an axis as a number from 0 on."""
    if not -a.ndim <= axis < a.ndim:
        raise ValueError(f"axis: {axis} is out of bounds for a tensor with {a.ndim} dimensions")
    return axis % a.ndim


def _result_like(op: str, a: torch.Tensor, axis: int, rows: Any) -> torch.Tensor:
    if op not in OPS:
        raise ValueError(f"op: expected one of {', '.join(OPS)}, got {op!r}")
    dtype = _RESULTS[op].get(a.dtype)
    if dtype is None:
        raise refused(op, a.dtype)
    return a.new_empty((*a.shape[:axis], rows, *a.shape[axis + 1 :]), dtype=dtype)


def _check_integers(indices: torch.Tensor, name: str, a: torch.Tensor) -> None:
    if indices.dtype not in _INTEGERS:
        raise TypeError(f"{name}: expected integers, got {indices.dtype}")
    if indices.ndim != 1:
        raise ValueError(f"{name}: expected one dimension, got shape {tuple(indices.shape)}")
    if indices.device != a.device:
        raise TypeError(f"{name}: must be in the same memory as a, on {a.device}, not on {indices.device}")


def _check(condition: Any, message: Callable[[], str]) -> None:
    """Check sizes, which are symbols in a graph with lengths left open."""
    if condition is not True:
        torch._check(condition, message)


def fake_groups(a: torch.Tensor, labels: torch.Tensor, op: str, num_groups: Any, axis: int = 0):
    """Return a tensor like the reductions of groups."""
    axis = axis_of_rows(a, axis)
    _check_integers(labels, "labels", a)
    count, rows = labels.shape[0], a.shape[axis]
    _check(count == rows, lambda: f"labels: expected {rows}, one for each row, got {count}")
    _check(num_groups >= 0, lambda: f"num_groups: expected 0 or more, got {num_groups}")
    return _result_like(op, a, axis, num_groups)


def fake_segments(a: torch.Tensor, offsets: torch.Tensor, op: str, axis: int = 0):
    """Return a tensor like the reductions of segments."""
    axis = axis_of_rows(a, axis)
    _check_integers(offsets, "offsets", a)
    some = offsets.shape[0] >= 1
    _check(some, lambda: "offsets: expected one more than the number of segments, got none")
    return _result_like(op, a, axis, offsets.shape[0] - 1)


def _in_place(a: torch.Tensor) -> torch.Tensor:
    """Return a tensor that can be read in place: the axes before and after any axis can be merged."""
    a = a.detach()
    return a if a.ndim <= 2 or a.is_contiguous() else a.contiguous()


def groups_on_cuda(a: torch.Tensor, labels: torch.Tensor, op: str, num_groups: int, axis: int = 0):
    """Enqueue reductions of groups on the current stream."""
    out = fake_groups(a, labels, op, num_groups, axis)
    if out.numel():
        axis = axis_of_rows(a, axis)
        a, index = _in_place(a), a.get_device()
        names = NAMES[a.dtype], NAMES[labels.dtype], core_name(op, a.dtype, out.dtype)
        views = [view_of(each, name) for each, name in zip((a, labels, out), names, strict=True)]
        try:
            done = _core.groups(
                a=views[0],
                op=op,
                axis=axis,
                labels=views[1],
                num_groups=num_groups,
                destination=(views[2], _core.CUDA, index, current_stream(index)),
            )
        except MemoryError:  # sorted rows have the same results, and need less memory
            done = NotImplemented
        if done is NotImplemented:  # there are no kernels for sums without an order of the rows
            segments.group_reduce(a, labels, op, num_groups, axis=axis, out=in_core_dtype(out, op, a))
    return out


def in_core_dtype(out: torch.Tensor, op: str, a: torch.Tensor) -> torch.Tensor:
    """Return a view of the result in the core's dtype: sums of unsigned integers are unsigned there."""
    return out.view(BY_NAME[core_name(op, a.dtype, out.dtype)])


def segments_on_cuda(a: torch.Tensor, offsets: torch.Tensor, op: str, axis: int = 0):
    """Enqueue reductions of segments on the current stream."""
    out = fake_segments(a, offsets, op, axis)
    if out.numel():
        offsets = offsets.to(torch.int64).contiguous()
        out_in_core = in_core_dtype(out, op, a)
        segments.segment_reduce(_in_place(a), offsets, op, axis=axis, out=out_in_core)
    return out


def groups_on_host(a: torch.Tensor, labels: torch.Tensor, op: str, num_groups: int, axis: int = 0):
    """Return reductions of groups by the package's function."""
    out = fake_groups(a, labels, op, num_groups, axis)
    if not out.numel():
        return out
    with np.errstate(all="ignore"):  # as PyTorch, which says nothing of overflows
        result = segments.group_reduce(array_of(a), array_of(labels), op, num_groups, axis=axis)
    return tensor_of(result, out.dtype)


def segments_on_host(a: torch.Tensor, offsets: torch.Tensor, op: str, axis: int = 0):
    """Return reductions of segments by the package's function."""
    out = fake_segments(a, offsets, op, axis)
    with np.errstate(all="ignore"):
        result = segments.segment_reduce(array_of(a), array_of(offsets), op, axis=axis)
    return tensor_of(result, out.dtype)


# Gradients: each row gathers what its group has


def keep_groups(ctx: Any, inputs: tuple, output: torch.Tensor) -> None:
    """Save what the gradients of groups need."""
    a, labels, ctx.op, ctx.groups, axis = inputs
    ctx.axis = axis_of_rows(a, axis)
    extreme, product = ctx.op in ("max", "min"), ctx.op == "prod"
    ctx.save_for_backward(labels, a if extreme or product else None, output if extreme else None)


def keep_segments(ctx: Any, inputs: tuple, output: torch.Tensor) -> None:
    """Save what the gradients of segments need: the number of its segment as the label of each row."""
    a, offsets, op, axis = inputs
    count = offsets.shape[0] - 1
    rows = torch.arange(a.shape[axis], device=a.device, dtype=offsets.dtype)
    labels = torch.searchsorted(offsets.contiguous(), rows, right=True) - 1
    labels = torch.where(labels < count, labels, -1)  # rows after the last segment
    keep_groups(ctx, (a, labels, op, count, axis), output)


def of_groups(ctx: Any, grad: torch.Tensor) -> Gradients:
    """Return the gradient of the elements."""
    return _of_elements(ctx, grad), None, None, None, None


def of_segments(ctx: Any, grad: torch.Tensor) -> Gradients:
    """Return the gradient of the elements."""
    return _of_elements(ctx, grad), None, None, None


def _of_elements(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
    labels, a, result = ctx.saved_tensors
    axis, groups = ctx.axis, ctx.groups
    reduce = torch.ops.gpureduce.group_reduce.default
    gather = torch.ops.gpureduce.gather_rows.default
    if ctx.op == "sum":
        return gather(grad, labels, axis)
    if ctx.op == "mean":
        ones = torch.ones(labels.shape, dtype=torch.bool, device=labels.device)
        members = reduce(ones, labels, "sum", groups, 0).view(_along(axis, grad.ndim))
        return gather(grad / members.clamp(min=1), labels, axis)
    if ctx.op == "prod":
        return gather(grad, labels, axis) * _others(a, labels, axis, groups).conj()
    chosen = a == gather(result, labels, axis)  # equal elements share the gradient, as in `torch.amax`
    count = reduce(chosen, labels, "sum", groups, axis).clamp(min=1)
    return gather(grad / count, labels, axis) * chosen


def _others(a: torch.Tensor, labels: torch.Tensor, axis: int, groups: Any) -> torch.Tensor:
    """Return the product of the other elements of its group for each element."""
    reduce = torch.ops.gpureduce.group_reduce.default
    gather = torch.ops.gpureduce.gather_rows.default
    zero = a == 0
    nonzero = torch.where(zero, 1, a)
    zeros = gather(reduce(zero, labels, "sum", groups, axis), labels, axis)
    product = gather(reduce(nonzero, labels, "prod", groups, axis), labels, axis)
    others = torch.where(zeros == 0, product / nonzero, 0)
    return torch.where((zeros == 1) & zero, product, others)


# Gathering rows, whose gradient is a sum of groups


def _along(axis: int, ndim: int) -> list[int]:
    """Return the shape of a view of a vector that is broadcast along all axes but one."""
    return [-1 if each == axis else 1 for each in range(ndim)]


def fake_gather(a: torch.Tensor, labels: torch.Tensor, axis: int = 0) -> torch.Tensor:
    """Return a tensor like the gathered rows."""
    axis = axis_of_rows(a, axis)
    _check_integers(labels, "labels", a)
    return a.new_empty((*a.shape[:axis], labels.shape[0], *a.shape[axis + 1 :]))


def gather_rows(a: torch.Tensor, labels: torch.Tensor, axis: int = 0) -> torch.Tensor:
    """Return the row of its group for each label; zeros for labels of no group."""
    out = fake_gather(a, labels, axis)
    axis = axis_of_rows(a, axis)
    if a.shape[axis] == 0:
        return out.zero_()
    if a.ndim == 1:  # -1 and the number of groups are both the place of a zero after the groups
        padded = torch.cat((a.detach(), a.new_zeros(1)))
        return padded[labels.to(torch.int64).clamp(-1, len(a))]
    safe = labels.clamp(0, a.shape[axis] - 1)
    rows = a.detach().index_select(axis, safe)
    return torch.where((labels == safe).view(_along(axis, a.ndim)), rows, 0)


def keep_gather(ctx: Any, inputs: tuple, output: torch.Tensor) -> None:
    """Save what the gradient of gathered rows needs."""
    a, labels, axis = inputs
    ctx.axis = axis_of_rows(a, axis)
    ctx.rows = a.shape[ctx.axis]
    ctx.save_for_backward(labels)


def of_gather(ctx: Any, grad: torch.Tensor) -> Gradients:
    """Return the gradient of the rows."""
    (labels,) = ctx.saved_tensors
    return torch.ops.gpureduce.group_reduce.default(grad, labels, "sum", ctx.rows, ctx.axis), None, None
