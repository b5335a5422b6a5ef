"""Forward-mode derivatives of the operators: the derivative of a result along tangents of the arguments.

Each function takes what the gradient's function has saved, that function, and a tangent for each argument;
None for an argument without one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from gpureduce._torch import normalize, torch

Tangent: TypeAlias = "torch.Tensor | None"


def _ones(ctx: Any) -> torch.Tensor:
    shape, like = ctx.results[0]
    return torch.ones(shape, **like)


def of_reduction(ctx: Any, gradient: Callable, a: torch.Tensor, *rest: Any) -> torch.Tensor:
    """Return the derivative of results each of which depends on elements of its own.

    The gradient of ones has the derivative of its result by each element.
    """
    product = a * gradient(ctx, _ones(ctx))[0].conj()
    return product.sum(ctx.axes, keepdim=ctx.kept) if ctx.axes else product


def of_groups(ctx: Any, gradient: Callable, a: torch.Tensor, *rest: Any) -> torch.Tensor:
    """Return the derivative of reductions of groups, or of segments: as for other reductions."""
    (labels, *_) = ctx.saved_tensors
    product = a * gradient(ctx, _ones(ctx))[0].conj()
    return torch.ops.gpureduce.group_reduce.default(product, labels, "sum", ctx.groups, ctx.axis)


def of_gather(ctx: Any, gradient: Callable, a: torch.Tensor, *rest: Any) -> torch.Tensor:
    """Return the gathered rows of the tangent."""
    (labels,) = ctx.saved_tensors
    return torch.ops.gpureduce.gather_rows.default(a, labels, ctx.axis)


def _sum_of(*terms: Tangent) -> torch.Tensor:
    present = [term for term in terms if term is not None]
    return sum(present[1:], start=present[0])


def of_dot(ctx: Any, gradient: Callable, a: Tangent, b: Tangent) -> torch.Tensor:
    """Return the derivative of a dot product."""
    left, right = ctx.saved_tensors
    product = torch.ops.gpureduce.dot.default
    return _sum_of(
        None if a is None else product(a, right.resolve_conj()),
        None if b is None else product(left.resolve_conj(), b),
    )


def of_matmul(ctx: Any, gradient: Callable, a: Tangent, b: Tangent, *rest: Any) -> torch.Tensor:
    """Return the derivative of a matrix product, by products in the same precision."""
    left, right = ctx.saved_tensors
    product = torch.ops.gpureduce.matmul.default
    return _sum_of(
        None if a is None else product(a, right, *ctx.rest),
        None if b is None else product(left, b, *ctx.rest),
    )


def of_conv2d(
    ctx: Any, gradient: Callable, x: Tangent, w: Tangent, bias: Tangent, *rest: Any
) -> torch.Tensor:
    """Return the derivative of a convolution."""
    image, filters = ctx.saved_tensors
    convolved = torch.ops.gpureduce.conv2d.default
    if bias is not None:
        bias = bias if ctx.asked.layout == "NHWC" else bias[:, None, None]
        bias = bias.expand(ctx.results[0][0])
    return _sum_of(
        None if x is None else convolved(x, filters, None, *ctx.rest),
        None if w is None else convolved(image, w, None, *ctx.rest),
        bias,
    )


def of_softmax(ctx: Any, gradient: Callable, a: torch.Tensor, *rest: Any) -> torch.Tensor:
    """Return the derivative of a softmax, whose Jacobian is symmetric."""
    return gradient(ctx, a)[0]


def of_log_softmax(ctx: Any, gradient: Callable, a: torch.Tensor, *rest: Any) -> torch.Tensor:
    """Return the derivative of a log_softmax."""
    (y,) = ctx.saved_tensors
    tangent = normalize.wide(a)
    mean = (torch.exp(normalize.wide(y)) * tangent).sum(ctx.axis, keepdim=True)
    return (tangent - mean).to(a.dtype)


def of_rms_norm(ctx: Any, gradient: Callable, a: Tangent, weight: Tangent, *rest: Any) -> torch.Tensor:
    """Return the derivative of rms_norm."""
    return _of_norm(ctx, a, weight, None, False)


def of_layer_norm(
    ctx: Any, gradient: Callable, a: Tangent, weight: Tangent, bias: Tangent, *rest: Any
) -> torch.Tensor:
    """Return the derivative of layer_norm."""
    return _of_norm(ctx, a, weight, bias, True)


def _of_norm(ctx: Any, a: Tangent, weight: Tangent, bias: Tangent, centered: bool) -> torch.Tensor:
    elements, factors = ctx.saved_tensors
    x, scale = normalize.normalized_rows(elements, ctx.eps, centered)
    rows = None
    if a is not None:  # the Jacobian of the normalized rows is symmetric
        rows = normalize.rows_gradient(normalize.wide(a), x, scale, centered)
        rows = rows if factors is None else rows * normalize.wide(factors)
    of_weight = None if weight is None else x * normalize.wide(weight)
    of_bias = None if bias is None else normalize.wide(bias).expand(x.shape)
    return _sum_of(rows, of_weight, of_bias).to(elements.dtype)
