"""The public functions of tensors: sums, products, means and extremes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from numpy.typing import DTypeLike

from gpureduce._rules import arguments as rules
from gpureduce._rules import dtypes
from gpureduce._torch import operators, torch
from gpureduce._torch.arguments import Axis, reduced
from gpureduce._torch.catalogue import reductions
from gpureduce._torch.direct import shortcut
from gpureduce._torch.kernels import BY_NAME, NAMES, is_whole
from gpureduce._torch.masked import selecting
from gpureduce._torch.operators import SUMS
from gpureduce._torch.scatter import check_tensor

Dtype: TypeAlias = "torch.dtype | DTypeLike"


def _as_dtype(dtype: Any) -> torch.dtype:
    """Return a PyTorch dtype, given as such, by name, or as a NumPy dtype."""
    torch_dtype = dtype
    if not isinstance(dtype, torch.dtype):
        torch_dtype = BY_NAME.get(dtypes.dtype_name(dtypes.dtype_of(dtype)))
    if torch_dtype not in NAMES:
        raise TypeError(f"dtype: expected one of {', '.join(map(str, NAMES))}, got {dtype!r}")
    return torch_dtype


def _in_dtype(
    operator: Callable[..., torch.Tensor],
    a: torch.Tensor,
    axis: Axis,
    dtype: torch.dtype,
    keepdims: bool,
    dim: Axis,
    keepdim: bool | None,
) -> torch.Tensor:
    """Reduce elements after a cast."""
    check_tensor(a, "a", sharded=True)
    # Integers need no cast: a 64-bit result is correct modulo every smaller power of two.
    if not (is_whole(a.dtype) and is_whole(dtype) and dtype != torch.bool):
        a = a.to(dtype)
    return reduced(operator, a, axis, keepdims, dim, keepdim).to(dtype)


def _chosen(name: str, a: Any, exact: Any, where: Any) -> Callable[..., torch.Tensor]:
    """Return the operator of sums or means; results of integers are exact anyway."""
    check_tensor(a, "a", sharded=True)
    if where is not None:
        rounds_once = rules.flag(exact, "exact") and not is_whole(a.dtype)
        if rounds_once and name == "mean":
            raise TypeError("exact: a mean of selected elements is not exact; divide sum(where=, exact=True)")
        return selecting("exact_sum" if rounds_once else name, a, where)
    if not rules.flag(exact, "exact") or is_whole(a.dtype):
        return operators.sum if name == "sum" else operators.mean
    return operators.exact_sum if name == "sum" else reductions["exact_mean"]


@shortcut("sum", SUMS)
def sum(
    a: torch.Tensor,
    axis: Axis = None,
    dtype: Dtype | None = None,
    keepdims: bool = False,
    *,
    exact: bool = False,
    dim: Axis = None,
    keepdim: bool | None = None,
    where: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the sum of tensor elements.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    dtype : torch.dtype or dtype_like, optional
        Data type of the result. Elements are cast to it before they are reduced.
    keepdims : bool
        True keeps the reduced axes with length one.
    exact : bool
        True returns the correctly rounded result, whatever the order of the elements is. See
        docs/explanation/exact-sums.md.
    dim, keepdim
        PyTorch's names of `axis` and `keepdims`.
    where : torch.Tensor, optional
        Boolean tensor of the elements to reduce, of a shape that broadcasts to the shape of `a`.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    float16 and bfloat16 are accumulated in float32 and rounded once; float32 and complex64 sums are
    compensated.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.sum(x, axis=0)
    tensor([5., 6.])
    """
    if dtype is not None:
        return _in_dtype(_chosen("sum", a, exact, where), a, axis, _as_dtype(dtype), keepdims, dim, keepdim)
    return reduced(_chosen("sum", a, exact, where), a, axis, keepdims, dim, keepdim)


@shortcut("prod", SUMS)
def prod(
    a: torch.Tensor,
    axis: Axis = None,
    dtype: Dtype | None = None,
    keepdims: bool = False,
    *,
    dim: Axis = None,
    keepdim: bool | None = None,
    where: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the product of elements.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    dtype : torch.dtype or dtype_like, optional
        Data type of the result. Elements are cast to it before they are reduced.
    keepdims : bool
        True keeps the reduced axes with length one.
    dim, keepdim
        PyTorch's names of `axis` and `keepdims`.
    where : torch.Tensor, optional
        Boolean tensor of the elements to reduce, of a shape that broadcasts to the shape of `a`.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    The gradient is correct even if elements are zero.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.prod(x, axis=1)
    tensor([ 3., 10.])
    """
    operator = operators.prod if where is None else selecting("prod", a, where)
    if dtype is not None:
        return _in_dtype(operator, a, axis, _as_dtype(dtype), keepdims, dim, keepdim)
    return reduced(operator, a, axis, keepdims, dim, keepdim)


@shortcut("mean", BY_NAME)
def mean(
    a: torch.Tensor,
    axis: Axis = None,
    dtype: Dtype | None = None,
    keepdims: bool = False,
    *,
    exact: bool = False,
    dim: Axis = None,
    keepdim: bool | None = None,
    where: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the arithmetic mean.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    dtype : torch.dtype or dtype_like, optional
        Data type of the result. Elements are cast to it before they are reduced.
    keepdims : bool
        True keeps the reduced axes with length one.
    exact : bool
        True returns the correctly rounded result, whatever the order of the elements is. See
        docs/explanation/exact-sums.md.
    dim, keepdim
        PyTorch's names of `axis` and `keepdims`.
    where : torch.Tensor, optional
        Boolean tensor of the elements to reduce, of a shape that broadcasts to the shape of `a`.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    The mean of integers or bool is float64.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.mean(x)
    tensor(2.7500)
    """
    if dtype is not None:
        dtype = _as_dtype(dtype)
        if is_whole(dtype):
            raise TypeError(f"dtype: a mean needs a floating-point or complex dtype, got {dtype}")
        return _in_dtype(_chosen("mean", a, exact, where), a, axis, dtype, keepdims, dim, keepdim)
    return reduced(_chosen("mean", a, exact, where), a, axis, keepdims, dim, keepdim)


@shortcut("max", BY_NAME)
def max(
    a: torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    dim: Axis = None,
    keepdim: bool | None = None,
) -> torch.Tensor:
    """Return the largest element.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    keepdims : bool
        True keeps the reduced axes with length one.
    dim, keepdim
        PyTorch's names of `axis` and `keepdims`.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    NaNs propagate. An empty tensor raises ValueError. Equal maxima share the gradient evenly, as in
    `torch.amax`.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.max(x, axis=1)
    tensor([3., 5.])
    """
    return reduced(operators.max, a, axis, keepdims, dim, keepdim)


@shortcut("min", BY_NAME)
def min(
    a: torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    dim: Axis = None,
    keepdim: bool | None = None,
) -> torch.Tensor:
    """Return the smallest element.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    keepdims : bool
        True keeps the reduced axes with length one.
    dim, keepdim
        PyTorch's names of `axis` and `keepdims`.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    NaNs propagate. An empty tensor raises ValueError. Equal minima share the gradient evenly, as in
    `torch.amin`.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.min(x)
    tensor(1.)
    """
    return reduced(operators.min, a, axis, keepdims, dim, keepdim)
