"""Kernels and gradients of softmax, log_softmax, rms_norm and layer_norm, and of exact sums.

Gradients keep the promise of the functions: the gradient of a row depends on the row alone, as its sums are
exact.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._normalize import functions as normalized
from gpureduce._reduce import functions
from gpureduce._rules import arguments as rules
from gpureduce._torch import torch
from gpureduce._torch.kernels import (
    NAMES,
    array_of,
    axes_of,
    current_stream,
    fake_dot,
    tensor_of,
    view_of,
)

Gradients = tuple[torch.Tensor | None, ...]
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def _check(name: str, a: torch.Tensor) -> None:
    if a.dtype not in DTYPES:
        raise TypeError(f"a: {name} takes {', '.join(map(str, DTYPES))}, not {a.dtype}")


def _check_parameter(a: torch.Tensor, value: torch.Tensor | None, name: str) -> None:
    if value is None:
        return
    if value.dtype != a.dtype:
        raise TypeError(f"{name}: expected the dtype of a, {a.dtype}, got {value.dtype}")
    if value.device != a.device:
        raise TypeError(f"{name}: must be in the same memory as a, on {a.device}, not on {value.device}")
    torch._check(
        value.ndim == 1 and value.shape[0] == a.shape[-1],
        lambda: f"{name}: expected shape ({a.shape[-1]},), got {tuple(value.shape)}",
    )


def _fake_rows(name: str, a: torch.Tensor, *parameters: torch.Tensor | None) -> torch.Tensor:
    _check(name, a)
    rules.one_axis(-1, a.ndim)
    for value, parameter in zip(parameters, ("weight", "bias"), strict=False):
        _check_parameter(a, value, parameter)
    return a.new_empty(a.shape)


def _fake_axis(name: str, a: torch.Tensor, axis: int) -> torch.Tensor:
    _check(name, a)
    rules.one_axis(axis, a.ndim)
    return a.new_empty(a.shape)


def fake_softmax(a: torch.Tensor, axis: int = -1) -> torch.Tensor:
    """Return a tensor like the softmax."""
    return _fake_axis("softmax", a, axis)


def fake_log_softmax(a: torch.Tensor, axis: int = -1) -> torch.Tensor:
    """Return a tensor like the logarithm of the softmax."""
    return _fake_axis("log_softmax", a, axis)


def fake_rms_norm(a: torch.Tensor, weight: torch.Tensor | None = None, eps: float = 1e-6) -> torch.Tensor:
    """Return a tensor like the normalized rows."""
    return _fake_rows("rms_norm", a, weight)


def fake_layer_norm(
    a: torch.Tensor, weight: torch.Tensor | None = None, bias: torch.Tensor | None = None, eps: float = 1e-5
) -> torch.Tensor:
    """Return a tensor like the normalized rows."""
    return _fake_rows("layer_norm", a, weight, bias)


def _on_cuda(
    name: str, out: torch.Tensor, a: torch.Tensor, axis: int, eps: float = 0.0, **parameters: Any
) -> None:
    """Enqueue a function on the current stream."""
    if not out.numel():
        return
    a, index, dtype = a.detach(), a.get_device(), NAMES[a.dtype]
    if a.ndim > 2 and not a.is_contiguous():
        a = a.contiguous()
    views = {
        key: None if value is None else view_of(value.detach().contiguous(), dtype)
        for key, value in ({"weight": None, "bias": None, "residual": None} | parameters).items()
    }
    _core.normalize(
        a=view_of(a, dtype),
        op=name,
        axis=axis % a.ndim,
        eps=eps,
        destination=(view_of(out, dtype), _core.CUDA, index, current_stream(index)),
        **views,
    )


def softmax_on_cuda(a: torch.Tensor, axis: int = -1) -> torch.Tensor:
    """Enqueue a softmax on the current stream."""
    out = fake_softmax(a, axis)
    _on_cuda("softmax", out, a, axis)
    return out


def log_softmax_on_cuda(a: torch.Tensor, axis: int = -1) -> torch.Tensor:
    """Enqueue a log_softmax on the current stream."""
    out = fake_log_softmax(a, axis)
    _on_cuda("log_softmax", out, a, axis)
    return out


def rms_norm_on_cuda(a: torch.Tensor, weight: torch.Tensor | None = None, eps: float = 1e-6) -> torch.Tensor:
    """Enqueue an rms_norm on the current stream."""
    out = fake_rms_norm(a, weight)
    _on_cuda("rms_norm", out, a, -1, eps, weight=weight)
    return out


def fake_add_rms_norm(
    a: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor | None = None, eps: float = 1e-6
) -> torch.Tensor:
    """Return a tensor like the normalized sums."""
    if residual.dtype != a.dtype or residual.device != a.device:
        raise TypeError(
            f"residual: expected {a.dtype} on {a.device}, as a, got {residual.dtype} on {residual.device}"
        )
    torch._check(
        residual.shape == a.shape,
        lambda: f"residual: expected the shape of a, {tuple(a.shape)}, got {tuple(residual.shape)}",
    )
    torch._check(residual.is_contiguous(), lambda: "residual: expected a contiguous tensor")
    return fake_rms_norm(a, weight)


def add_rms_norm_on_cuda(
    a: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor | None = None, eps: float = 1e-6
) -> torch.Tensor:
    """Enqueue an rms_norm of sums, which the residual gets, on the current stream."""
    out = fake_add_rms_norm(a, residual, weight)
    _on_cuda("rms_norm", out, a, -1, eps, weight=weight, residual=residual)
    torch.autograd.graph.increment_version(residual)
    return out


def add_rms_norm_on_host(
    a: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor | None = None, eps: float = 1e-6
) -> torch.Tensor:
    """Return an rms_norm of sums, which the residual gets, by the package's function."""
    fake_add_rms_norm(a, residual, weight)
    result = normalized.rms_norm(array_of(a), _array(weight), eps, residual=array_of(residual))
    torch.autograd.graph.increment_version(residual)
    return tensor_of(result, a.dtype)


def layer_norm_on_cuda(
    a: torch.Tensor, weight: torch.Tensor | None = None, bias: torch.Tensor | None = None, eps: float = 1e-5
) -> torch.Tensor:
    """Enqueue a layer_norm on the current stream."""
    out = fake_layer_norm(a, weight, bias)
    _on_cuda("layer_norm", out, a, -1, eps, weight=weight, bias=bias)
    return out


def _array(a: torch.Tensor | None) -> np.ndarray | None:
    return None if a is None else array_of(a)


def softmax_on_host(a: torch.Tensor, axis: int = -1) -> torch.Tensor:
    """Return a softmax by the package's function."""
    fake_softmax(a, axis)
    return tensor_of(normalized.softmax(array_of(a), axis), a.dtype)


def log_softmax_on_host(a: torch.Tensor, axis: int = -1) -> torch.Tensor:
    """Return a log_softmax by the package's function."""
    fake_log_softmax(a, axis)
    return tensor_of(normalized.log_softmax(array_of(a), axis), a.dtype)


def rms_norm_on_host(a: torch.Tensor, weight: torch.Tensor | None = None, eps: float = 1e-6) -> torch.Tensor:
    """Return an rms_norm by the package's function."""
    fake_rms_norm(a, weight)
    return tensor_of(normalized.rms_norm(array_of(a), _array(weight), eps), a.dtype)


def layer_norm_on_host(
    a: torch.Tensor, weight: torch.Tensor | None = None, bias: torch.Tensor | None = None, eps: float = 1e-5
) -> torch.Tensor:
    """Return a layer_norm by the package's function."""
    fake_layer_norm(a, weight, bias)
    return tensor_of(normalized.layer_norm(array_of(a), _array(weight), _array(bias), eps), a.dtype)


# Exact sums


def fake_exact_sum(a: torch.Tensor, axis: list[int] | None = None, keepdims: bool = False) -> torch.Tensor:
    """Return a tensor like the sums."""
    _check("exact_sum", a)
    return a.new_empty(rules.kept_shape(a.shape, axes_of(axis, a.ndim), keepdims))


def exact_sum_on_cuda(a: torch.Tensor, axis: list[int] | None = None, keepdims: bool = False) -> torch.Tensor:
    """Enqueue exact sums on the current stream."""
    out = fake_exact_sum(a, axis, keepdims)
    axes = axes_of(axis, a.ndim)
    if not a.numel() or not axes:
        return out.copy_(a.detach()) if a.numel() else out.zero_()
    functions.sum(a.detach(), axes, exact=True, keepdims=keepdims, out=out)
    return out


def exact_sum_on_host(a: torch.Tensor, axis: list[int] | None = None, keepdims: bool = False) -> torch.Tensor:
    """Return exact sums by the package's function."""
    fake_exact_sum(a, axis, keepdims)
    with np.errstate(all="ignore"):
        sums = functions.sum(array_of(a), axes_of(axis, a.ndim), exact=True, keepdims=keepdims)
        return tensor_of(sums, a.dtype)


def fake_exact_dot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return a tensor like the dot product."""
    _check("exact_dot", a)
    return fake_dot(a, b)


def exact_dot_on_cuda(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Enqueue an exact dot product on the current stream."""
    out = fake_exact_dot(a, b)
    functions.dot(a.detach(), b.detach(), exact=True, out=out)
    return out


def exact_dot_on_host(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return an exact dot product by the package's function."""
    fake_exact_dot(a, b)
    with np.errstate(all="ignore"):
        return tensor_of(functions.dot(array_of(a), array_of(b), exact=True), a.dtype)


# Gradients


def _exact_sum(a: torch.Tensor, axis: Any, keepdims: bool = False) -> torch.Tensor:
    return torch.ops.gpureduce.exact_sum.default(a, axis, keepdims)


def wide(a: torch.Tensor) -> torch.Tensor:
    """Return elements in the dtype that statistics have."""
    return a if a.dtype == torch.float64 else a.float()


def keep_softmax(ctx: Any, inputs: tuple, output: torch.Tensor) -> None:
    """Save what the gradients of softmax and log_softmax need."""
    ctx.axis = inputs[1] % output.ndim
    ctx.save_for_backward(output)


def note_softmax(ctx: Any, a: torch.Tensor, axis: int, result: list[torch.Tensor]) -> torch.Tensor:
    """Save what `keep_softmax` saves, of a result that is known; return it."""
    output = result[0]
    ctx.axis = axis % output.ndim
    ctx.save_for_backward(output)
    return output


def softmax_gradient(grad: torch.Tensor, y: torch.Tensor, axis: int) -> torch.Tensor:
    """Return the gradient of the input of a softmax whose results are y."""
    above, y = wide(grad), wide(y)
    return ((above - _exact_sum(above * y, [axis], True)) * y).to(grad.dtype)


def log_softmax_gradient(grad: torch.Tensor, y: torch.Tensor, axis: int) -> torch.Tensor:
    """Return the gradient of the input of a log_softmax whose results are y."""
    above = wide(grad)
    probabilities = torch.ops.gpureduce.softmax.default(wide(y), axis)
    return (above - probabilities * _exact_sum(above, [axis], True)).to(grad.dtype)


def of_softmax(ctx: Any, grad: torch.Tensor) -> Gradients:
    """Return the gradient of a softmax."""
    (y,) = ctx.saved_tensors
    return softmax_gradient(grad, y, ctx.axis), None


def of_log_softmax(ctx: Any, grad: torch.Tensor) -> Gradients:
    """Return the gradient of a log_softmax."""
    (y,) = ctx.saved_tensors
    return log_softmax_gradient(grad, y, ctx.axis), None


def keep_rms_norm(ctx: Any, inputs: tuple, output: torch.Tensor) -> None:
    """Save what the gradients of rms_norm need."""
    a, weight, ctx.eps = inputs
    ctx.save_for_backward(a, weight)


def keep_layer_norm(ctx: Any, inputs: tuple, output: torch.Tensor) -> None:
    """Save what the gradients of layer_norm need."""
    a, weight, bias, ctx.eps = inputs
    ctx.has_bias = bias is not None
    ctx.save_for_backward(a, weight)


def row_mean(a: torch.Tensor) -> torch.Tensor:
    """Return the means of rows, with an axis of length one."""
    return _exact_sum(a, [-1], True) / a.shape[-1]


def over_rows(a: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return sums over all rows."""
    rows = math.prod(a.shape[:-1])
    return _exact_sum(a.reshape(rows, a.shape[-1]), [0]).to(dtype)


def rows_gradient(grad: torch.Tensor, x: torch.Tensor, scale: torch.Tensor, centered: bool) -> torch.Tensor:
    """Return the gradient of rows, given that of the normalized rows x and the factor that made them."""
    rest = grad - x * row_mean(grad * x)
    if centered:
        rest = rest - row_mean(grad)
    return rest * scale


def normalized_rows(a: torch.Tensor, eps: float, centered: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the normalized rows in the wide dtype, and the factors that made them."""
    x = wide(a)
    if centered:
        x = x - row_mean(x)
    scale = 1 / torch.sqrt(row_mean(x * x) + eps)
    return x * scale, scale


def _of_norm(
    grad: torch.Tensor, a: torch.Tensor, weight: torch.Tensor | None, eps: float, centered: bool
) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor]:
    """Return the gradients of the rows and of the weight, and that of the results in the wide dtype."""
    above = wide(grad)
    x, scale = normalized_rows(a, eps, centered)
    rows = rows_gradient(above if weight is None else above * wide(weight), x, scale, centered)
    of_weight = None if weight is None else over_rows(above * x, weight.dtype)
    return rows.to(a.dtype), of_weight, above


def of_rms_norm(ctx: Any, grad: torch.Tensor) -> Gradients:
    """Return the gradients of rms_norm."""
    a, weight = ctx.saved_tensors
    rows, of_weight, _ = _of_norm(grad, a, weight, ctx.eps, False)
    return rows, of_weight, None


def of_layer_norm(ctx: Any, grad: torch.Tensor) -> Gradients:
    """Return the gradients of layer_norm."""
    a, weight = ctx.saved_tensors
    rows, of_weight, above = _of_norm(grad, a, weight, ctx.eps, True)
    return rows, of_weight, over_rows(above, grad.dtype) if ctx.has_bias else None, None
