"""The public functions of tensors: searches, predicates and bitwise reductions."""

from __future__ import annotations

from gpureduce._torch import operators, torch
from gpureduce._torch.arguments import Axis, reduced
from gpureduce._torch.direct import shortcut
from gpureduce._torch.kernels import BY_NAME
from gpureduce._torch.masked import selecting


@shortcut("argmax", BY_NAME)
def argmax(
    a: torch.Tensor,
    axis: int | None = None,
    keepdims: bool = False,
    *,
    dim: int | None = None,
    keepdim: bool | None = None,
) -> torch.Tensor:
    """Return the index of the largest element.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int, optional
        Axis to search. Default: the whole tensor, in C order.
    keepdims : bool
        True keeps the reduced axes with length one.
    dim, keepdim
        PyTorch's names of `axis` and `keepdims`.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    Ties return the first index; if there are NaNs, the first NaN is returned.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.argmax(x, axis=1)
    tensor([0, 1])
    """
    if isinstance(axis, (tuple, list)) or isinstance(dim, (tuple, list)):
        raise TypeError("axis: argmax takes one integer or None, not several")
    return reduced(operators.argmax, a, axis, keepdims, dim, keepdim)


@shortcut("argmin", BY_NAME)
def argmin(
    a: torch.Tensor,
    axis: int | None = None,
    keepdims: bool = False,
    *,
    dim: int | None = None,
    keepdim: bool | None = None,
) -> torch.Tensor:
    """Return the index of the smallest element.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int, optional
        Axis to search. Default: the whole tensor, in C order.
    keepdims : bool
        True keeps the reduced axes with length one.
    dim, keepdim
        PyTorch's names of `axis` and `keepdims`.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    Ties return the first index; if there are NaNs, the first NaN is returned.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.argmin(x)
    tensor(1)
    """
    if isinstance(axis, (tuple, list)) or isinstance(dim, (tuple, list)):
        raise TypeError("axis: argmin takes one integer or None, not several")
    return reduced(operators.argmin, a, axis, keepdims, dim, keepdim)


@shortcut("all", BY_NAME)
def all(
    a: torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    dim: Axis = None,
    keepdim: bool | None = None,
    where: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return whether all elements are true.

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
    where : torch.Tensor, optional
        Boolean tensor of the elements to reduce, of a shape that broadcasts to the shape of `a`.

    Returns
    -------
    torch.Tensor

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.all(x > 1, axis=1)
    tensor([False,  True])
    """
    operator = operators.all if where is None else selecting("all", a, where)
    return reduced(operator, a, axis, keepdims, dim, keepdim)


@shortcut("any", BY_NAME)
def any(
    a: torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    dim: Axis = None,
    keepdim: bool | None = None,
    where: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return whether any element is true.

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
    where : torch.Tensor, optional
        Boolean tensor of the elements to reduce, of a shape that broadcasts to the shape of `a`.

    Returns
    -------
    torch.Tensor

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.any(x > 4)
    tensor(True)
    """
    operator = operators.any if where is None else selecting("any", a, where)
    return reduced(operator, a, axis, keepdims, dim, keepdim)


@shortcut("count_nonzero", BY_NAME)
def count_nonzero(
    a: torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    dim: Axis = None,
    keepdim: bool | None = None,
) -> torch.Tensor:
    """Return the number of nonzero elements.

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

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.count_nonzero(x > 1)
    tensor(3)
    """
    return reduced(operators.count_nonzero, a, axis, keepdims, dim, keepdim)


@shortcut("bitwise_and", BY_NAME)
def bitwise_and(
    a: torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    dim: Axis = None,
    keepdim: bool | None = None,
) -> torch.Tensor:
    """Return the bitwise AND of integers or bools.

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
    The result for an empty tensor has all bits set.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.bitwise_and(torch.tensor([7, 6]))
    tensor(6)
    """
    return reduced(operators.bitwise_and, a, axis, keepdims, dim, keepdim)


@shortcut("bitwise_or", BY_NAME)
def bitwise_or(
    a: torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    dim: Axis = None,
    keepdim: bool | None = None,
) -> torch.Tensor:
    """Return the bitwise OR of integers or bools.

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

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.bitwise_or(torch.tensor([1, 4]))
    tensor(5)
    """
    return reduced(operators.bitwise_or, a, axis, keepdims, dim, keepdim)


@shortcut("bitwise_xor", BY_NAME)
def bitwise_xor(
    a: torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    dim: Axis = None,
    keepdim: bool | None = None,
) -> torch.Tensor:
    """Return the bitwise XOR of integers or bools.

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

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.bitwise_xor(torch.tensor([7, 6]))
    tensor(1)
    """
    return reduced(operators.bitwise_xor, a, axis, keepdims, dim, keepdim)
