"""Reductions of the elements that a boolean tensor selects, as PyTorch operators: `where=`.

The operators are `torch.ops.gpureduce.masked_sum` and so on. The kernels read the mask, so that no tensor of
selected elements is made.

| operator | gradient, of the selected elements; others have 0 |
|---|---|
| sum, mean | g, g / n |
| prod | g times the product of the other selected elements |
| var, std | as without a mask, of n selected elements |
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from gpureduce import _functions
from gpureduce._torch import batching, derivatives, gradients, operators, torch
from gpureduce._torch.groups import in_core_dtype
from gpureduce._torch.kernels import BY_NAME, array_of, axes_of, fake_reduction, tensor_of
from gpureduce._torch.operators import SUMS, Core, Gradient, define
from gpureduce._torch.scatter import check_tensor
from gpureduce._torch.statistics import fake_of

_VARIANCES = ("var", "std")


def _fake(name: str) -> Callable:
    """Return the fake kernel: results are those of the reduction without a mask."""
    unmasked = fake_of(name) if name in _VARIANCES else fake_reduction(name)

    def fake(a, where, *args):
        if where.dtype != torch.bool:
            raise TypeError(f"where: expected torch.bool, got {where.dtype}")
        if where.device != a.device:
            raise TypeError(f"where: must be in the same memory as a, on {a.device}, not on {where.device}")
        torch._check(
            where.shape == a.shape,
            lambda: f"where: expected the shape of a, {tuple(a.shape)}, got {tuple(where.shape)}",
        )
        return unmasked(a, *args)

    return fake


def _options(name: str, a: torch.Tensor, args: tuple) -> dict[str, Any]:
    """Return the arguments of the package's function."""
    filled: tuple[Any, ...] = (None, False, 1.0)
    axis, keepdims, correction = args + filled[len(args) :]
    named = {"correction": correction} if name in _VARIANCES else {}
    return {"axis": axes_of(axis, a.ndim), "keepdims": keepdims, **named}


def _on_cuda(name: str) -> Callable:
    """Return the kernel that enqueues a reduction on the current stream."""
    function, fake = getattr(_functions, name), _fake(name)

    def reduce(a, where, *args):
        out = fake(a, where, *args)
        if out.numel():
            function(a.detach(), where=where, out=in_core_dtype(out, name, a), **_options(name, a, args))
        return out

    return reduce


def _on_host(name: str) -> Callable:
    """Return the kernel that calls the package's function for host memory."""
    function, fake = getattr(_functions, name), _fake(name)

    def reduce(a, where, *args):
        out = fake(a, where, *args)
        if not out.numel():
            return out
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of results without elements
            result = function(array_of(a), where=array_of(where), **_options(name, a, args))
        return tensor_of(result, out.dtype)

    return reduce


def _keep(ctx: Any, inputs: tuple, output: torch.Tensor) -> None:
    """Save the elements, the mask and the result."""
    a, where, axis, keepdims, *ctx.parameters = inputs
    ctx.shape, ctx.axes, ctx.kept = a.shape, axes_of(axis, a.ndim), keepdims
    ctx.save_for_backward(a, where, output)


def _of(name: str) -> Callable:
    """Return the gradient of a reduction."""

    def of(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        a, where, result = ctx.saved_tensors
        share = gradients.broadcast(ctx, grad)
        if name == "mean":
            share = share / derivatives.add_up(where, ctx.axes)
        elif name == "prod":
            share = share * gradients.product_of_others(ctx, torch.where(where, a, 1)).conj()
        elif name in _VARIANCES:
            deviations, divisor = derivatives.deviations(ctx, a, where)
            share = share * deviations / divisor
            if name == "var":
                share = 2 * share
            else:
                scale = gradients.broadcast(ctx, result)
                share = torch.where(scale == 0, 0, share / torch.where(scale == 0, 1, scale))
        return torch.where(where, share, 0).to(a.dtype), *(None,) * (3 + len(ctx.parameters))

    return of


def _masked(name: str) -> Callable:
    """Define an operator."""
    parameters = "Tensor a, Tensor where, int[1]? axis=None, bool keepdims=False"
    names: tuple[str, ...] = ("a", "where", "axis", "keepdims")
    defaults: tuple[Any, ...] = (None, None, None, False)
    if name in _VARIANCES:
        parameters, names, defaults = (
            parameters + ", float correction=1.0",
            (*names, "correction"),
            (*defaults, 1.0),
        )
    return define(
        f"masked_{name}",
        parameters,
        _on_cuda(name),
        _on_host(name),
        _fake(name),
        Core(name, names, SUMS if name in ("sum", "prod") else BY_NAME),
        batched=batching.of_masked,
        gradient=None if name in ("all", "any") else Gradient(_keep, _of(name), defaults=defaults),
    )


OPERATORS = {name: _masked(name) for name in ("sum", "prod", "mean", "all", "any", *_VARIANCES)}


def selecting(name: str, a: Any, where: Any) -> Callable[..., torch.Tensor]:
    """Return the function of `a`, axis and keepdims that reduces selected elements.

    The mask is repeated to the shape of `a`.
    """
    check_tensor(a, "a", sharded=True)
    check_tensor(where, "where", sharded=True)
    if where.shape != a.shape:
        try:
            where = where.expand(a.shape)
        except RuntimeError:
            raise ValueError(
                f"where: expected a shape that broadcasts to the shape of a, {tuple(a.shape)}, "
                f"got {tuple(where.shape)}"
            ) from None

    def selected(a: torch.Tensor, *args: Any) -> torch.Tensor:
        return OPERATORS[name](a, where, *args)

    def exact_sum(a: torch.Tensor, *args: Any) -> torch.Tensor:
        return operators.exact_sum(torch.where(where, a, 0), *args)

    return exact_sum if name == "exact_sum" else selected
