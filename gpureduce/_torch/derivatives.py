"""Gradients of statistics, norms, quantiles, scans and sorts.

`keep_*` saves what a gradient needs, `of_*` returns the gradients, and `along_*` derivatives in forward mode.
The formulas, x an element, n the number of elements, g the gradient of the result:

| operator | gradient of x | source |
|---|---|---|
| nansum, nanmean, nanprod | that of sum, mean and prod without NaNs, and 0 for NaNs | by definition |
| nanmax, nanmin, fmax, fmin | g / k for each of k elements that are the result | `torch.amax` |
| var | g 2 (x - mean) / (n - correction) | PyTorch, derivatives.yaml: var |
| std | g (x - mean) / (std (n - correction)), 0 where std = 0 | PyTorch, derivatives.yaml: std |
| logsumexp | g exp(x - result) | PyTorch, derivatives.yaml: logsumexp |
| norm of order p | g sgn(x) (abs(x) / norm)^(p - 1), 0 where x = 0 | PyTorch, linalg_vector_norm_backward |
| norm of order inf, -inf | g sgn(x) / k for each of k elements of that magnitude | PyTorch, the same |
| median, quantile | g (1 - w) for the element of the lower rank, g w for the upper one | `torch.quantile` |
| moments | of a central moment of order k: g k ((x - mean)^(k-1) - m_(k-1)) / n | calculus |
| cumsum | the cumulative sum of g from the end | PyTorch, derivatives.yaml: cumsum |
| cumprod | PyTorch's own formula | PyTorch, cumprod_backward |
| cummax, cummin | the sum of g over the results that are x | PyTorch, cummaxmin_backward |
| sort, topk | g of the place to which x goes | PyTorch, value_selecting_reduction_backward |
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpureduce._order.methods import interpolation
from gpureduce._torch import gradients, torch
from gpureduce._torch.kernels import axes_of
from gpureduce._torch.normalize import wide
from gpureduce._torch.scatter import scatter_add

Gradients = tuple[torch.Tensor | None, ...]
keep_shape, keep_input, keep_both = gradients.keep_shape, gradients.keep_input, gradients.keep_both


def _keep(ctx: Any, inputs: tuple) -> torch.Tensor:
    """Save axes and shape of a reduction with parameters; return its first argument."""
    a, axis, keepdims, *ctx.parameters = inputs
    ctx.shape, ctx.axes, ctx.kept = a.shape, axes_of(axis, a.ndim), keepdims
    return a


def keep_elements(ctx: Any, inputs: tuple, output: Any) -> None:
    """Save the elements."""
    ctx.save_for_backward(_keep(ctx, inputs))


def keep_elements_and_result(ctx: Any, inputs: tuple, output: Any) -> None:
    """Save the elements and the result."""
    ctx.save_for_backward(_keep(ctx, inputs), output)


def _spread(ctx: Any, result: torch.Tensor) -> torch.Tensor:
    """Restore the reduced axes, with length one."""
    return gradients.broadcast(ctx, result)


def add_up(a: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    """Return sums along axes, which stay with length one."""
    return a.sum(axes, keepdim=True) if axes else a


def _and_none(gradient: torch.Tensor, ctx: Any) -> Gradients:
    return gradient, *(None,) * (2 + len(getattr(ctx, "parameters", ())))


# NaN-aware reductions


def of_nansum(ctx: Any, grad: torch.Tensor) -> Gradients:
    """Return the gradient of a sum without NaNs."""
    (a,) = ctx.saved_tensors
    return _and_none(torch.where(a.isnan(), 0, _spread(ctx, grad)), ctx)


def of_nanmean(ctx: Any, grad: torch.Tensor) -> Gradients:
    """Return the gradient of a mean without NaNs."""
    (a,) = ctx.saved_tensors
    missing = a.isnan()
    count = add_up(missing.logical_not(), ctx.axes)
    return _and_none(torch.where(missing, 0, _spread(ctx, grad) / count), ctx)


def of_nanprod(ctx: Any, grad: torch.Tensor) -> Gradients:
    """Return the gradient of a product without NaNs."""
    (a,) = ctx.saved_tensors
    missing = a.isnan()
    others = gradients.product_of_others(ctx, torch.where(missing, 1, a))
    return _and_none(torch.where(missing, 0, _spread(ctx, grad) * others.conj()), ctx)


def of_nanmax(ctx: Any, grad: torch.Tensor) -> Gradients:
    """Divide the gradient among the elements that are the extreme; none is if all are NaN."""
    a, result = ctx.saved_tensors
    chosen = a == _spread(ctx, result)
    return _and_none(_spread(ctx, grad) * chosen / add_up(chosen, ctx.axes).clamp(min=1), ctx)


# Variances, norms and logsumexp


def _deviations(ctx: Any, a: torch.Tensor, skips_nan: bool) -> tuple[torch.Tensor, Any]:
    """Return the deviations from the mean, in the wide dtype, and the divisor of the variance."""
    x = a if a.is_complex() else wide(a)
    (correction,) = ctx.parameters
    if not skips_nan:
        count = math.prod(ctx.shape[axis] for axis in ctx.axes)
        return x - add_up(x, ctx.axes) / max(count, 1), max(count - correction, 0)
    return deviations(ctx, a, x.isnan().logical_not())


def deviations(ctx: Any, a: torch.Tensor, present: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the deviations from the mean of the elements that are present, and the divisor."""
    x = a if a.is_complex() else wide(a)
    (correction,) = ctx.parameters
    count = add_up(present, ctx.axes)
    mean = add_up(torch.where(present, x, 0), ctx.axes) / count
    return torch.where(present, x - mean, 0), (count - correction).clamp(min=0)


def of_variance(skips_nan: bool) -> Callable:
    """Return the gradient of a variance."""

    def of(ctx: Any, grad: torch.Tensor) -> Gradients:
        (a,) = ctx.saved_tensors
        deviations, divisor = _deviations(ctx, a, skips_nan)
        return _and_none((_spread(ctx, grad) * 2 / divisor * deviations).to(a.dtype), ctx)

    return of


def of_deviation(skips_nan: bool) -> Callable:
    """Return the gradient of a standard deviation, which is 0 where the deviation is 0."""

    def of(ctx: Any, grad: torch.Tensor) -> Gradients:
        a, result = ctx.saved_tensors
        deviations, divisor = _deviations(ctx, a, skips_nan)
        result = _spread(ctx, result)
        scaled = torch.where(result == 0, 0, _spread(ctx, grad) / torch.where(result == 0, 1, result))
        return _and_none((scaled / divisor * deviations).to(a.dtype), ctx)

    return of


def of_logsumexp(ctx: Any, grad: torch.Tensor) -> Gradients:
    """Return the gradient of a logsumexp: the softmax."""
    a, result = ctx.saved_tensors
    result = _spread(ctx, result)
    result = torch.where(result.isinf(), 0, result)
    return _and_none(_spread(ctx, grad) * torch.exp(a - result), ctx)


def of_norm(ctx: Any, grad: torch.Tensor) -> Gradients:
    """Return the gradient of a norm, which is 0 for elements that are 0."""
    a, result = ctx.saved_tensors
    (order,) = ctx.parameters
    grad, result, size = _spread(ctx, grad), _spread(ctx, result), a.abs()
    if order == 0:
        return _and_none(torch.zeros_like(a), ctx)
    if math.isinf(order):
        chosen = size == result
        return _and_none(grad * a.sgn() * chosen / add_up(chosen, ctx.axes), ctx)
    nonzero = (size != 0) & (result != 0)
    ratio = torch.where(nonzero, size / torch.where(result == 0, 1, result), 1)
    return _and_none(torch.where(nonzero, grad * a.sgn() * ratio ** (order - 1), 0), ctx)


# Quantiles


def keep_quantile(ctx: Any, inputs: tuple, output: Any) -> None:
    """Save what the gradient of quantiles needs."""
    a, ctx.q, axis, ctx.kept, ctx.method = inputs
    ctx.shape, ctx.axes = a.shape, axes_of(axis, a.ndim)
    ctx.save_for_backward(a)


def keep_median(ctx: Any, inputs: tuple, output: Any) -> None:
    """Save what the gradient of a median needs: the quantile 0.5."""
    a, axis, keepdims = inputs
    keep_quantile(ctx, (a, None, axis, keepdims, "linear"), output)


def of_quantile(name: str) -> Callable:
    """Return the gradient of quantiles: each goes to the elements between which the quantile lies."""

    def of(ctx: Any, grad: torch.Tensor) -> Gradients:
        (a,) = ctx.saved_tensors
        order = _lines_order(ctx)
        rows = a.permute(order).reshape(-1, math.prod(a.shape[axis] for axis in ctx.axes))
        sorted_at = torch.ops.gpureduce.argsort.default(rows.detach(), -1, False)
        above = grad.reshape(len(ctx.q or [0.5]), -1, 1)
        result = torch.zeros_like(rows)
        for i, q in enumerate(ctx.q or [0.5]):
            lower, upper, weight = _ranks(rows, q, ctx.method, name.startswith("nan"))
            for rank, share in ((lower, 1 - weight), (upper, weight)):
                at = sorted_at.gather(-1, rank)
                result = result.scatter_add(-1, at, (above[i] * share).to(rows.dtype))
        moved = result.reshape([ctx.shape[axis] for axis in order])
        gradient = moved.permute([order.index(axis) for axis in range(a.ndim)])
        return gradient, *(None,) * (2 if ctx.q is None else 4)

    return of


def _lines_order(ctx: Any) -> list[int]:
    """Return the axes with the reduced ones last."""
    return [*(axis for axis in range(len(ctx.shape)) if axis not in ctx.axes), *ctx.axes]


def _ranks(
    rows: torch.Tensor, q: float, method: str, skips_nan: bool
) -> tuple[torch.Tensor, torch.Tensor, Any]:
    """Return the ranks between which the quantiles of lines are, and the weights of the upper ones."""
    if skips_nan:
        if method != "linear":
            raise NotImplementedError(f"method: a nanquantile by {method!r} has no gradient")
        last = rows.isnan().logical_not().sum(-1, keepdim=True).clamp(min=1) - 1
        position = last * q
        lower = position.floor().long()
        return lower, torch.minimum(lower + 1, last), position - lower
    found = interpolation(method, rows.shape[-1], np.asarray(q))
    at = [
        torch.full((rows.shape[0], 1), int(rank), device=rows.device) for rank in (found.lower, found.upper)
    ]
    return at[0], at[1], 0.0 if found.weight is None else float(found.weight)


# Moments


def of_moments(ctx: Any, *grads: Any) -> Gradients:
    """Return the gradient of mean, variance, skewness and kurtosis."""
    (a,) = ctx.saved_tensors
    x, n = wide(a), max(math.prod(ctx.shape[axis] for axis in ctx.axes), 1)
    of_mean, of_var, of_skewness, of_kurtosis = (
        0.0 if grad is None else _spread(ctx, grad).to(x.dtype) for grad in grads
    )
    (correction,) = ctx.parameters
    d = x - add_up(x, ctx.axes) / n
    m2, m3, m4 = (add_up(d**power, ctx.axes) / n for power in (2, 3, 4))
    d2, d3, d4 = 2 * d / n, 3 * (d**2 - m2) / n, 4 * (d**3 - m3) / n
    gradient = of_mean / n + of_var * d2 * n / max(n - correction, 0)
    gradient = gradient + of_skewness * (d3 / m2**1.5 - 1.5 * m3 / m2**2.5 * d2)
    gradient = gradient + of_kurtosis * (d4 / m2**2 - 2 * m4 / m2**3 * d2)
    return _and_none(gradient.to(a.dtype), ctx)


# Scans along one axis


def keep_scan(ctx: Any, inputs: tuple, output: Any) -> None:
    """Save what the gradients of scans need."""
    a, axis = inputs
    ctx.axis = 0 if axis is None else axis % max(a.ndim, 1)  # None: of a vector
    ctx.save_for_backward(a, output)


def of_cumsum(skips_nan: bool) -> Callable:
    """Return the gradient of a cumulative sum: the cumulative sum of gradients, from the end."""

    def of(ctx: Any, grad: torch.Tensor) -> Gradients:
        a, _ = ctx.saved_tensors
        found = torch.ops.gpureduce.cumsum.default(grad.flip(ctx.axis), ctx.axis).flip(ctx.axis)
        return (torch.where(a.isnan(), 0, found) if skips_nan else found), None

    return of


def along_cumsum(ctx: Any, gradient: Callable, a: torch.Tensor, *rest: Any) -> torch.Tensor:
    """Return the cumulative sum of the tangent, whose elements at NaNs do not count."""
    return torch.ops.gpureduce.cumsum.default(a, ctx.axis)


def along_nancumsum(ctx: Any, gradient: Callable, a: torch.Tensor, *rest: Any) -> torch.Tensor:
    """Return the cumulative sum of the tangent without the elements at NaNs."""
    elements, _ = ctx.saved_tensors
    return torch.ops.gpureduce.cumsum.default(torch.where(elements.isnan(), 0, a), ctx.axis)


def of_cumprod(skips_nan: bool) -> Callable:
    """Return the gradient of a cumulative product by PyTorch's formula."""

    def of(ctx: Any, grad: torch.Tensor) -> Gradients:
        a, result = ctx.saved_tensors
        missing = a.isnan()
        elements = torch.where(missing, 1, a) if skips_nan else a
        found = torch.ops.aten.cumprod_backward(grad, elements, ctx.axis, result)
        return (torch.where(missing, 0, found) if skips_nan else found), None

    return of


# Sorts


def keep_sort(ctx: Any, inputs: tuple, output: Any) -> None:
    """Save the indices of the sorted elements."""
    a, *ctx.parameters = inputs
    ctx.shape, ctx.axis = a.shape, _axis_of(inputs) % max(a.ndim, 1)
    ctx.save_for_backward(output[1])
    ctx.mark_non_differentiable(output[1])


def _axis_of(inputs: tuple) -> int:
    axis = inputs[1] if len(inputs) == 3 else inputs[2]  # topk has the number of elements before
    return -1 if axis is None else axis


def of_sort(ctx: Any, grad: torch.Tensor, _: Any = None) -> Gradients:
    """Return the gradient of sorted elements, each of which goes to one place."""
    (indices,) = ctx.saved_tensors
    zeros = torch.zeros(ctx.shape, dtype=grad.dtype, device=grad.device)
    return zeros.scatter(ctx.axis, indices, grad), *(None,) * len(ctx.parameters)


def along_sort(ctx: Any, gradient: Callable, a: torch.Tensor, *rest: Any) -> tuple[torch.Tensor, None]:
    """Return the sorted elements' tangents."""
    (indices,) = ctx.saved_tensors
    return a.gather(ctx.axis, indices), None


def keep_extreme(ctx: Any, inputs: tuple, output: Any) -> None:
    """Save the indices of cumulative extremes."""
    a, axis = inputs
    ctx.shape, ctx.axis = a.shape, axis % max(a.ndim, 1)
    ctx.save_for_backward(output[1])
    ctx.mark_non_differentiable(output[1])


def of_extreme(ctx: Any, grad: torch.Tensor, _: Any = None) -> Gradients:
    """Return the gradient of cumulative extremes: exact sums, as an element may be several results."""
    (indices,) = ctx.saved_tensors
    if not ctx.shape:
        return grad, None
    zeros = torch.zeros(ctx.shape, dtype=grad.dtype, device=grad.device)
    return scatter_add(zeros, ctx.axis, indices, grad), None
