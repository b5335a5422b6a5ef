"""Gradients of the operators, composed of PyTorch operators, so that they are differentiable."""

from __future__ import annotations

import functools
import math
from typing import Any

from gpureduce._torch import torch
from gpureduce._torch.kernels import axes_of, convolution

Gradients = tuple[torch.Tensor | None, ...]


_axes_of = functools.lru_cache(axes_of)


def _keep(ctx: Any, inputs: tuple) -> torch.Tensor:
    """Save what every gradient of a reduction needs; return the input."""
    a, axis, ctx.kept = inputs
    ctx.shape = shape = a.shape
    ctx.axes = axes_of(axis, len(shape)) if type(axis) is list else _axes_of(axis, len(shape))
    return a


def note_shape(ctx: Any, a: torch.Tensor, axis: Any, kept: bool, result: list[torch.Tensor]) -> torch.Tensor:
    """Save what `keep_shape` saves, of a result that is known; return it. The node finds the axes."""
    ctx.shape, ctx.axis, ctx.kept = a.shape, axis, kept
    return result[0]


def note_both(ctx: Any, a: torch.Tensor, axis: Any, kept: bool, result: list[torch.Tensor]) -> torch.Tensor:
    """Save what `keep_both` saves, of a result that is known; return it. The node finds the axes."""
    ctx.shape, ctx.axis, ctx.kept = a.shape, axis, kept
    ctx.save_for_backward(a, result[0])
    return result[0]


def noted_axes(ctx: Any) -> tuple[int, ...]:
    """Return the axes of a noted reduction, ascending."""
    return axes_of(ctx.axis, len(ctx.shape))


def broadcast(ctx: Any, result: torch.Tensor) -> torch.Tensor:
    """Restore the reduced axes, with length one, in a tensor of the result's shape."""
    if not ctx.kept:
        for axis in ctx.axes:
            result = result.unsqueeze(axis)
    return result


def keep_shape(ctx: Any, inputs: tuple, output: torch.Tensor) -> None:
    """Save what the gradients of sums and means need."""
    _keep(ctx, inputs)


def keep_input(ctx: Any, inputs: tuple, output: torch.Tensor) -> None:
    """Save what the gradient of a product needs."""
    ctx.save_for_backward(_keep(ctx, inputs))


def keep_both(ctx: Any, inputs: tuple, output: torch.Tensor) -> None:
    """Save what the gradients of extremes need."""
    ctx.save_for_backward(_keep(ctx, inputs), output)


# Functions of one call for known results, and the attributes that their nodes compute.
NOTES = {keep_shape: (note_shape, {"axes": noted_axes}), keep_both: (note_both, {"axes": noted_axes})}


def of_sum(ctx: Any, grad: torch.Tensor) -> Gradients:
    """Return the gradient of a sum: every element gets the gradient of the result."""
    return broadcast(ctx, grad).expand(ctx.shape), None, None


def of_mean(ctx: Any, grad: torch.Tensor) -> Gradients:
    """Return the gradient of a mean: an equal share for every element."""
    count = math.prod([ctx.shape[axis] for axis in ctx.axes])
    return (broadcast(ctx, grad) / count).expand(ctx.shape), None, None


def of_extreme(ctx: Any, grad: torch.Tensor) -> Gradients:
    """Divide the gradient among the elements that are the extreme, as `torch.amax` does."""
    a, result = ctx.saved_tensors
    chosen = a == broadcast(ctx, result)
    count = chosen.sum(ctx.axes, keepdim=True) if ctx.axes else 1  # () means all axes in PyTorch
    return broadcast(ctx, grad) * chosen / count, None, None


def of_prod(ctx: Any, grad: torch.Tensor) -> Gradients:
    """Return the gradient of a product: the product of the other elements."""
    (a,) = ctx.saved_tensors
    return broadcast(ctx, grad) * product_of_others(ctx, a).conj(), None, None


def product_of_others(ctx: Any, a: torch.Tensor) -> torch.Tensor:
    """Return, for each element, the product of the elements before and after it that are reduced with it.

    There is no division, so that zeros are handled correctly.
    """
    others = [axis for axis in range(a.ndim) if axis not in ctx.axes]
    order = (*others, *ctx.axes)
    moved = a.permute(order)
    rows = moved.reshape(*(a.shape[axis] for axis in others), math.prod(a.shape[axis] for axis in ctx.axes))
    ones = rows.new_ones((*rows.shape[:-1], 1))
    before = torch.cat([ones, rows], -1).cumprod(-1)[..., :-1]
    after = torch.cat([ones, rows.flip(-1)], -1).cumprod(-1)[..., :-1].flip(-1)
    return (before * after).reshape(moved.shape).permute([order.index(axis) for axis in range(a.ndim)])


def keep_pair(ctx: Any, inputs: tuple, output: torch.Tensor) -> None:
    """Save what the gradients of products of two tensors need."""
    ctx.save_for_backward(*inputs[:2])
    ctx.rest = inputs[2:]


def of_dot(ctx: Any, grad: torch.Tensor) -> Gradients:
    """Return the gradients of a dot product: the other vector."""
    a, b = ctx.saved_tensors
    left = grad * b.conj() if ctx.needs_input_grad[0] else None
    right = grad * a.conj() if ctx.needs_input_grad[1] else None
    return left, right


def of_matmul(ctx: Any, grad: torch.Tensor) -> Gradients:
    """Multiply the gradient with the other matrix, by the same operator in the same precision."""
    a, b = ctx.saved_tensors
    product = torch.ops.gpureduce.matmul.default
    left = right = None
    if ctx.needs_input_grad[0]:
        left = product(grad, b.mH, *ctx.rest).sum_to_size(a.shape)
    if ctx.needs_input_grad[1]:
        right = product(a.mH, grad, *ctx.rest).sum_to_size(b.shape)
    return left, right, None


def keep_conv2d(ctx: Any, inputs: tuple, output: torch.Tensor) -> None:
    """Save what the gradients of a convolution need."""
    ctx.save_for_backward(*inputs[:2])
    ctx.asked, _ = convolution(*inputs)
    ctx.rest = inputs[3:]


def of_conv2d(ctx: Any, grad: torch.Tensor) -> Gradients:
    """Convolve with the gradient as PyTorch does, in NCHW; add it up for the bias."""
    asked = ctx.asked
    x, w = ctx.saved_tensors
    if asked.layout == "NHWC":
        x, w, grad = x.movedim(-1, -3), w.movedim(-1, 1), grad.movedim(-1, -3)
    one = x.ndim == 3
    if one:
        x, grad = x.unsqueeze(0), grad.unsqueeze(0)
    above, below, before, behind = asked.padding
    height, width = x.shape[-2:]
    if (above, before) != (below, behind):  # PyTorch pads both sides equally
        x = torch.nn.functional.pad(x, (0, behind - before, 0, below - above))
    rest = w.shape[:1], asked.stride, (above, before), asked.dilation, False, (0, 0), asked.groups
    of_x, of_w, of_bias = torch.ops.aten.convolution_backward(grad, x, w, *rest, ctx.needs_input_grad[:3])
    if of_x is not None:
        of_x = of_x[..., :height, :width]
        of_x = of_x[0] if one else of_x
    if asked.layout == "NHWC":
        of_x, of_w = (
            None if of_x is None else of_x.movedim(-3, -1),
            None if of_w is None else of_w.movedim(1, -1),
        )
    return of_x, of_w, of_bias, *(None,) * 7
