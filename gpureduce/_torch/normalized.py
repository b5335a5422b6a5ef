"""The public functions softmax, log_softmax, rms_norm and layer_norm of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpureduce._rules import arguments as rules
from gpureduce._torch import operators, torch
from gpureduce._torch.arguments import one_of
from gpureduce._torch.direct import shortcut
from gpureduce._torch.kernels import BY_NAME
from gpureduce._torch.scatter import check_tensor


@shortcut("softmax", BY_NAME)
def softmax(a: torch.Tensor, axis: int = -1, *, dim: int | None = None) -> torch.Tensor:
    """Return the softmax along an axis.

    Parameters
    ----------
    a : torch.Tensor
        Tensor of float16, bfloat16, float32 or float64, on a GPU or the CPU.
    axis : int
        Axis along which the results add up to 1.
    dim
        PyTorch's name of `axis`.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    The bits of a row and of its gradient depend on that row alone, as for `gpureduce.softmax`.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.softmax(torch.tensor([1000.0, 1000.0]))
    tensor([0.5000, 0.5000])
    """
    return of_line(operators.softmax, a, _line(a, axis, dim))


@shortcut("log_softmax", BY_NAME)
def log_softmax(a: torch.Tensor, axis: int = -1, *, dim: int | None = None) -> torch.Tensor:
    """Return the logarithm of the softmax along an axis.

    Parameters
    ----------
    a, axis, dim
        As for `softmax`.

    Returns
    -------
    torch.Tensor

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.log_softmax(torch.tensor([1000.0, 0.0]))
    tensor([    0., -1000.])
    """
    return of_line(operators.log_softmax, a, _line(a, axis, dim))


@shortcut("rms_norm", BY_NAME)
def rms_norm(
    a: torch.Tensor,
    weight: torch.Tensor | None = None,
    eps: float = 1e-6,
    *,
    residual: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return rows, along the last axis, divided by the root mean square of their elements.

    Parameters
    ----------
    a : torch.Tensor
        As for `softmax`.
    weight : torch.Tensor, optional
        Vector of factors of the elements of a row, of the dtype and on the device of `a`.
    eps : float
        Number that is added to the mean square.
    residual : torch.Tensor, optional
        Contiguous tensor like `a`, which is added to `a`. The sums are normalized, and written to `residual`.
        That has no gradient: a call that needs one raises ValueError.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    The bits of a row and of its gradient depend on that row alone. The gradient of the weight is an exact sum
    over the rows, so that their order does not matter.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.rms_norm(torch.tensor([3.0, 4.0]), eps=0.0)
    tensor([0.8485, 1.1314])
    """
    _check(a, weight=weight, residual=residual)
    if residual is None:
        return operators.rms_norm(a, weight, eps)
    inputs = (a, residual) if weight is None else (a, residual, weight)
    if torch.is_grad_enabled() and any(each.requires_grad for each in inputs):
        raise ValueError(
            "residual: gets the sums in place, which has no gradient; add it before, or use torch.no_grad()"
        )
    return operators.add_rms_norm(a, residual, weight, eps)


@shortcut("layer_norm", BY_NAME)
def layer_norm(
    a: torch.Tensor, weight: torch.Tensor | None = None, bias: torch.Tensor | None = None, eps: float = 1e-5
) -> torch.Tensor:
    """Return rows, along the last axis, with mean 0 and variance 1.

    Parameters
    ----------
    a : torch.Tensor
        As for `softmax`.
    weight, bias : torch.Tensor, optional
        Vectors of factors of the elements of a row, and of numbers to add, of the dtype and on the device of
        `a`.
    eps : float
        Number that is added to the variance.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    The bits of rows and gradients depend on rows as for `rms_norm`.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.layer_norm(torch.tensor([1.0, 3.0]), eps=0.0)
    tensor([-1.,  1.])
    """
    _check(a, weight=weight, bias=bias)
    return operators.layer_norm(a, weight, bias, eps)


def of_line(function: Callable[..., Any], a: torch.Tensor, axis: int) -> torch.Tensor:
    """Return a function of the elements along an axis; a 0-d tensor has axes 0 and -1."""
    if a.ndim or axis not in (0, -1):
        return function(a, axis)
    return function(a.reshape(1), 0).reshape(())


def _line(a: Any, axis: Any, dim: Any) -> int:
    check_tensor(a, "a", sharded=True)
    if dim is not None:
        axis = one_of(None if type(axis) is int and axis == -1 else axis, dim, "dim", "axis")
    return rules.integer(axis, "axis")


def _check(a: Any, **parameters: Any) -> None:
    check_tensor(a, "a", sharded=True)
    for name, value in parameters.items():
        if value is not None:
            check_tensor(value, name, sharded=name != "residual")
