"""Kernels and gradients of reductions of groups and of segments along one axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpureduce._segments import segments
from gpureduce._torch import torch
from gpureduce._torch.kernels import array_of, is_whole, refused, results_of, tensor_of

Gradients = tuple[torch.Tensor | None, ...]
OPS = ("sum", "prod", "mean", "max", "min", "any", "all", "count_nonzero")


def axis_of_rows(a: torch.Tensor, axis: int) -> int:
    if not -a.ndim <= axis < a.ndim:
        raise ValueError(f"axis: {axis} is out of bounds for a tensor with {a.ndim} dimensions")
    return axis % a.ndim


def _result_like(op: str, a: torch.Tensor, axis: int, rows: Any) -> torch.Tensor:
    if op not in OPS:
        raise ValueError(f"op: expected one of {', '.join(OPS)}, got {op!r}")
    results = results_of(op)
    if a.dtype not in results:
        raise refused(op, a.dtype)
    return a.new_empty((*a.shape[:axis], rows, *a.shape[axis + 1 :]), dtype=results[a.dtype])


def _check_integers(indices: torch.Tensor, name: str, a: torch.Tensor) -> None:
    if not is_whole(indices.dtype) or indices.dtype == torch.bool:
        raise TypeError(f"{name}: expected integers, got {indices.dtype}")
    if indices.ndim != 1:
        raise ValueError(f"{name}: expected one dimension, got shape {tuple(indices.shape)}")
    if indices.device != a.device:
        raise TypeError(f"{name}: must be in the same memory as a, on {a.device}, not on {indices.device}")


def fake_groups(a: torch.Tensor, labels: torch.Tensor, op: str, num_groups: Any, axis: int = 0):
    """Return a tensor like the reductions of groups."""
    axis = axis_of_rows(a, axis)
    _check_integers(labels, "labels", a)
    torch._check(
        labels.shape[0] == a.shape[axis],
        lambda: f"labels: expected {a.shape[axis]}, one for each row, got {labels.shape[0]}",
    )
    torch._check(num_groups >= 0, lambda: f"num_groups: expected 0 or more, got {num_groups}")
    return _result_like(op, a, axis, num_groups)


def fake_segments(a: torch.Tensor, offsets: torch.Tensor, op: str, axis: int = 0):
    """Return a tensor like the reductions of segments."""
    axis = axis_of_rows(a, axis)
    _check_integers(offsets, "offsets", a)
    torch._check(
        offsets.shape[0] >= 1, lambda: "offsets: expected one more than the number of segments, got none"
    )
    return _result_like(op, a, axis, offsets.shape[0] - 1)


def _in_place(a: torch.Tensor) -> torch.Tensor:
    """Return a tensor that can be read in place: the axes before and after any axis can be merged."""
    a = a.detach()
    return a if a.ndim <= 2 or a.is_contiguous() else a.contiguous()


def groups_on_cuda(a: torch.Tensor, labels: torch.Tensor, op: str, num_groups: int, axis: int = 0):
    """Enqueue reductions of groups on the current stream."""
    out = fake_groups(a, labels, op, num_groups, axis)
    if out.numel():
        segments.group_reduce(_in_place(a), labels, op, num_groups, axis=axis, out=out)
    return out


def segments_on_cuda(a: torch.Tensor, offsets: torch.Tensor, op: str, axis: int = 0):
    """Enqueue reductions of segments on the current stream."""
    out = fake_segments(a, offsets, op, axis)
    if out.numel():
        offsets = offsets.to(torch.int64).contiguous()
        segments.segment_reduce(_in_place(a), offsets, op, axis=axis, out=out)
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
    if groups == 0:
        shape = (*grad.shape[:axis], labels.shape[0], *grad.shape[axis + 1 :])
        return grad.new_zeros(shape)
    reduce = torch.ops.gpureduce.group_reduce.default
    safe = labels.clamp(0, groups - 1)
    rows = [1] * grad.ndim
    rows[axis] = -1
    inside = (labels == safe).view(rows)

    def gather(of_groups: torch.Tensor) -> torch.Tensor:
        return of_groups.index_select(axis, safe)

    if ctx.op == "sum":
        return torch.where(inside, gather(grad), 0)
    if ctx.op == "mean":
        members = reduce(labels == safe, labels, "sum", groups, 0).view(rows).clamp(min=1)
        return torch.where(inside, gather(grad / members), 0)
    if ctx.op == "prod":
        return torch.where(inside, _of_prod(a, labels, axis, groups, gather, gather(grad)), 0)
    chosen = (a == gather(result)) & inside  # equal elements share the gradient, as in `torch.amax`
    count = reduce(chosen, labels, "sum", groups, axis).clamp(min=1)
    return gather(grad / count) * chosen


def _of_prod(
    a: torch.Tensor, labels: torch.Tensor, axis: int, groups: Any, gather: Any, grad: torch.Tensor
) -> torch.Tensor:
    """Return the product of the other elements of its group, times the gradient, for each element."""
    reduce = torch.ops.gpureduce.group_reduce.default
    zero = a == 0
    nonzero = torch.where(zero, 1, a)
    zeros = gather(reduce(zero, labels, "sum", groups, axis))
    product = gather(reduce(nonzero, labels, "prod", groups, axis))
    others = torch.where(zeros == 0, product / nonzero, 0)
    others = torch.where((zeros == 1) & zero, product, others)
    return grad * others.conj()
