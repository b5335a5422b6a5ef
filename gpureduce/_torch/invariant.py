"""Routes PyTorch's own operators to those of the package for the extent of a with statement.

The bits of a row then do not depend on the other rows of its batch. The routes are kernels of the namespace
`aten` for CUDA and CPU tensors, below autograd, so gradients are PyTorch's formulas of routed operators.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from gpureduce._rules import arguments as rules
from gpureduce._torch import normalize, operators, torch
from gpureduce._torch.kernels import axes_of
from gpureduce._torch.normalized import of_line

_FLOATS = normalize.DTYPES


def _axes(a: torch.Tensor, dim: Any) -> tuple[int, ...]:
    """Return reduced axes; no axis means all, as in PyTorch."""
    return axes_of(None if not isinstance(dim, int) and not dim else dim, a.ndim)


def _sum(a: torch.Tensor, dim: Any, keepdim: bool = False, *, dtype: torch.dtype | None = None):
    result = dtype or (a.dtype if a.is_floating_point() or a.is_complex() else torch.int64)
    a, axes = a.to(result), list(_axes(a, dim))
    if result not in _FLOATS:
        return operators.sum(a, axes, keepdim).to(result) if axes else a.clone()
    return operators.exact_sum(normalize.wide(a), axes, keepdim).to(result)


def _mean(a: torch.Tensor, dim: Any, keepdim: bool = False, *, dtype: torch.dtype | None = None):
    result = dtype or a.dtype
    if not (result.is_floating_point or result.is_complex):
        raise RuntimeError(f"mean: expected a floating-point or complex dtype, got {result}")
    a, axes = a.to(result), _axes(a, dim)
    if result not in _FLOATS:
        return operators.mean(a, list(axes), keepdim)
    count = math.prod(a.shape[axis] for axis in axes)
    return (operators.exact_sum(normalize.wide(a), list(axes), keepdim) / count).to(result)


def _moments(a: torch.Tensor, dim: Any, correction: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return mean and variance with the reduced axes of length one, in the dtype of statistics."""
    if a.is_complex():
        (real, of_real), (imag, of_imag) = (_moments(part, dim, correction) for part in (a.real, a.imag))
        return torch.complex(real, imag), of_real + of_imag
    if not a.is_floating_point():
        raise RuntimeError(f"var: expected a floating-point or complex dtype, got {a.dtype}")
    axes = list(_axes(a, dim))
    count = math.prod(a.shape[axis] for axis in axes)
    x = normalize.wide(a)
    mean = operators.exact_sum(x, axes, True) / count
    squares = operators.exact_sum((x - mean) * (x - mean), axes, True)
    return mean, squares / max(count - (1 if correction is None else correction), 0)


def _kept(result: torch.Tensor, a: torch.Tensor, dim: Any, keepdim: bool) -> torch.Tensor:
    dtype = a.dtype if result.is_complex() == a.is_complex() else a.real.dtype
    return result.to(dtype).reshape(rules.kept_shape(a.shape, _axes(a, dim), keepdim))


def _var(a: torch.Tensor, dim: Any = None, *, correction: Any = None, keepdim: bool = False):
    return _kept(_moments(a, dim, correction)[1], a, dim, keepdim)


def _std(a: torch.Tensor, dim: Any = None, *, correction: Any = None, keepdim: bool = False):
    return _kept(torch.sqrt(_moments(a, dim, correction)[1]), a, dim, keepdim)


def _var_mean(a: torch.Tensor, dim: Any = None, *, correction: Any = None, keepdim: bool = False):
    mean, variance = _moments(a, dim, correction)
    return _kept(variance, a, dim, keepdim), _kept(mean, a, dim, keepdim)


def _mm(a: torch.Tensor, b: torch.Tensor):
    return operators.matmul(a, b).to(a.dtype)


def _addmm(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: Any = 1, alpha: Any = 1):
    product = _mm(a, b)
    product = product if alpha == 1 else product * alpha
    if beta == 0:  # infinities and NaNs of c do not count
        return product
    return product + (c if beta == 1 else c * beta)


def _line(function: Callable, a: torch.Tensor, dim: int, half_to_float: bool) -> torch.Tensor:
    a = a.float() if half_to_float else a
    if a.dtype in _FLOATS or a.numel():
        return of_line(function, a, dim)
    axes_of(dim, a.ndim)
    return torch.empty_like(a)  # as PyTorch, of any dtype


def _softmax(a: torch.Tensor, dim: int, half_to_float: bool):
    return _line(operators.softmax, a, dim, half_to_float)


def _log_softmax(a: torch.Tensor, dim: int, half_to_float: bool):
    return _line(operators.log_softmax, a, dim, half_to_float)


def _softmax_backward(grad: torch.Tensor, y: torch.Tensor, dim: int, dtype: torch.dtype):
    return _of_lines(normalize.softmax_gradient, grad, y, dim).to(dtype)


def _log_softmax_backward(grad: torch.Tensor, y: torch.Tensor, dim: int, dtype: torch.dtype):
    return _of_lines(normalize.log_softmax_gradient, grad, y, dim).to(dtype)


def _of_lines(gradient: Callable, grad: torch.Tensor, y: torch.Tensor, dim: int) -> torch.Tensor:
    """Return the gradient along an axis, of a 0-d tensor, too."""
    if y.ndim:
        return gradient(grad, y, dim % y.ndim)
    return gradient(grad.reshape(1), y.reshape(1), 0).reshape(())


def _flat(a: torch.Tensor, shape: Any) -> torch.Tensor:
    """Return rows of the normalized axes."""
    rows = math.prod(a.shape[: a.ndim - len(shape)])
    return a.reshape(rows, math.prod(shape))


def _vector(value: torch.Tensor | None, dtype: torch.dtype) -> torch.Tensor | None:
    return None if value is None else value.reshape(-1).to(dtype)


def _statistics(a: torch.Tensor, like: torch.Tensor, shape: Any) -> torch.Tensor:
    """Return one number for each row in the shape that autograd saves."""
    return a.reshape(*like.shape[: like.ndim - len(shape)], *(1,) * len(shape))


def _layer_norm(a: torch.Tensor, shape: Any, weight: Any, bias: Any, eps: float):
    x = _flat(a, shape)
    mixed = any(value is not None and value.dtype != a.dtype for value in (weight, bias))
    rows = normalize.wide(x) if mixed else x
    out = operators.layer_norm(rows, _vector(weight, rows.dtype), _vector(bias, rows.dtype), eps)
    mean, variance = _moments(x, [-1], 0)
    saved = (_statistics(each, a, shape) for each in (mean, 1 / torch.sqrt(variance + eps)))
    return out.to(a.dtype).reshape(a.shape), *saved


def _layer_norm_backward(grad, a, shape, mean, scale, weight, bias, mask):
    x = (normalize.wide(_flat(a, shape)) - mean.reshape(-1, 1)) * scale.reshape(-1, 1)
    return _norm_backward(grad, a, shape, x, scale, (weight, bias), mask, True)


def _norm_backward(grad, a, shape, x, scale, parameters, mask, centered):
    """Return the gradients of the rows and of the parameters that the mask names."""
    wide = normalize.wide(_flat(grad, shape))
    weight = _vector(parameters[0], wide.dtype)
    rows = normalize.rows_gradient(
        wide if weight is None else wide * weight, x, scale.reshape(-1, 1), centered
    )
    found = [rows.to(a.dtype).reshape(a.shape) if mask[0] else None]
    for value, wanted, products in zip(parameters, mask[1:], (wide * x, wide), strict=False):
        if wanted and value is not None:
            found.append(normalize.over_rows(products, value.dtype).reshape(value.shape))
        else:
            found.append(None)
    return tuple(found)


def _rms_norm(a: torch.Tensor, shape: Any, weight: Any, eps: float | None):
    x, eps = _flat(a, shape), torch.finfo(a.dtype).eps if eps is None else eps
    rows = normalize.wide(x) if weight is not None and weight.dtype != a.dtype else x
    out = operators.rms_norm(rows, _vector(weight, rows.dtype), eps)
    wide = normalize.wide(x)
    scale = 1 / torch.sqrt(normalize.row_mean(wide * wide) + eps)
    return out.to(a.dtype).reshape(a.shape), _statistics(scale, a, shape)


def _rms_norm_backward(grad, a, shape, scale, weight, mask):
    x = normalize.wide(_flat(a, shape)) * scale.reshape(-1, 1)
    return _norm_backward(grad, a, shape, x, scale, (weight,), mask, False)


_ROUTES: dict[str, Callable] = {
    "sum.dim_IntList": _sum,
    "mean.dim": _mean,
    "var.correction": _var,
    "std.correction": _std,
    "var_mean.correction": _var_mean,
    "mm": _mm,
    "bmm": _mm,
    "addmm": _addmm,
    "baddbmm": _addmm,
    "_softmax": _softmax,
    "_log_softmax": _log_softmax,
    "_softmax_backward_data": _softmax_backward,
    "_log_softmax_backward_data": _log_softmax_backward,
    "native_layer_norm": _layer_norm,
    "native_layer_norm_backward": _layer_norm_backward,
}
# PyTorch computes them on the CPU by other operators, of which the routed ones are above.
_CUDA_ROUTES: dict[str, Callable] = {
    "_fused_rms_norm": _rms_norm,
    "_fused_rms_norm_backward": _rms_norm_backward,
}

_lock = threading.Lock()
_users = 0
_routed = contextlib.ExitStack()


def _register(library: torch.library.Library) -> None:
    more = {"allow_override": True} if "allow_override" in inspect.signature(library.impl).parameters else {}
    for key in ("CUDA", "CPU"):
        routes = _ROUTES | (_CUDA_ROUTES if key == "CUDA" else {})
        for name, function in routes.items():
            if hasattr(torch.ops.aten, name.partition(".")[0]):
                library.impl(name, function, key, **more)


@contextlib.contextmanager
def batch_invariant() -> Iterator[None]:
    """Route PyTorch's own operators to gpureduce, so that bits of a row do not depend on its batch.

    In the with statement, PyTorch's sums, means, variances, softmax, log_softmax, layer_norm, rms_norm and
    matrix products (`mm`, `addmm`, `bmm`, `baddbmm`, and so `linear` and `matmul`), and their gradients, are
    computed by gpureduce. It applies to all threads of the process.

    Notes
    -----
    Sums and means are exact sums rounded once. Calls with ``out=`` are not routed, nor are the fused kernels
    of `torch.nn.functional.scaled_dot_product_attention`: choose
    ``torch.nn.attention.SDPBackend.MATH``. Functions of `torch.compile` run uncompiled in the with statement,
    which may not be entered in a compiled function. PyTorch 2.6 or later is needed for that; earlier versions
    run compiled code as it is.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[1.0, 1.0], [0.0, 1.0]])
    >>> with gpureduce.torch.batch_invariant():
    ...     print(torch.softmax(x, -1)[0])
    tensor([0.5000, 0.5000])
    """
    global _users
    if torch.compiler.is_compiling():
        raise RuntimeError(
            "batch_invariant: cannot be entered in a compiled function; enter it around the call"
        )
    with _lock:
        _users += 1
        if _users == 1:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "(?s).*[Oo]verriding a previously registered kernel")
                _register(_routed.enter_context(torch.library._scoped_library("aten", "IMPL")))
    stance = getattr(torch.compiler, "set_stance", None)
    try:
        with stance("force_eager") if stance is not None else contextlib.nullcontext():
            yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _routed.close()
