"""The public functions of tensors that leave out NaNs."""

from __future__ import annotations

from gpureduce._torch import torch
from gpureduce._torch.arguments import Axis, reduced
from gpureduce._torch.catalogue import reductions
from gpureduce._torch.direct import shortcut
from gpureduce._torch.kernels import BY_NAME


@shortcut("nansum", BY_NAME)
def nansum(
    a: torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    dim: Axis = None,
    keepdim: bool | None = None,
) -> torch.Tensor:
    """Return the sum of the elements that are not NaN.

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
    Sums of float32 are accumulated in float64 and rounded once. Integers are summed as by `sum`.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, float("nan")]])
    >>> gpureduce.torch.nansum(x, 1)
    tensor([4., 2.])
    """
    return reduced(reductions["nansum"], a, axis, keepdims, dim, keepdim)


@shortcut("nanprod", BY_NAME)
def nanprod(
    a: torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    dim: Axis = None,
    keepdim: bool | None = None,
) -> torch.Tensor:
    """Return the product of the elements that are not NaN.

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
    >>> x = torch.tensor([[3.0, 1.0], [2.0, float("nan")]])
    >>> gpureduce.torch.nanprod(x, 1)
    tensor([3., 2.])
    """
    return reduced(reductions["nanprod"], a, axis, keepdims, dim, keepdim)


@shortcut("nanmean", BY_NAME)
def nanmean(
    a: torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    dim: Axis = None,
    keepdim: bool | None = None,
) -> torch.Tensor:
    """Return the mean of the elements that are not NaN.

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
    The mean of NaNs alone is NaN.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, float("nan")]])
    >>> gpureduce.torch.nanmean(x, 0)
    tensor([2.5000, 1.0000])
    """
    return reduced(reductions["nanmean"], a, axis, keepdims, dim, keepdim)


@shortcut("nanmax", BY_NAME)
def nanmax(
    a: torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    dim: Axis = None,
    keepdim: bool | None = None,
) -> torch.Tensor:
    """Return the largest element that is not NaN.

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
    NaN if all elements are NaN. Equal maxima share the gradient evenly.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, float("nan")]])
    >>> gpureduce.torch.nanmax(x, 0)
    tensor([3., 1.])
    """
    return reduced(reductions["nanmax"], a, axis, keepdims, dim, keepdim)


@shortcut("nanmin", BY_NAME)
def nanmin(
    a: torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    dim: Axis = None,
    keepdim: bool | None = None,
) -> torch.Tensor:
    """Return the smallest element that is not NaN.

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
    As for `nanmax`.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, float("nan")]])
    >>> gpureduce.torch.nanmin(x)
    tensor(1.)
    """
    return reduced(reductions["nanmin"], a, axis, keepdims, dim, keepdim)


@shortcut("nanmax", BY_NAME)
def fmax(
    a: torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    dim: Axis = None,
    keepdim: bool | None = None,
) -> torch.Tensor:
    """Return the largest element that is not NaN, as `numpy.fmax.reduce`.

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
    As for `nanmax`.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, float("nan")]])
    >>> gpureduce.torch.fmax(x)
    tensor(3.)
    """
    return reduced(reductions["fmax"], a, axis, keepdims, dim, keepdim)


@shortcut("nanmin", BY_NAME)
def fmin(
    a: torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    dim: Axis = None,
    keepdim: bool | None = None,
) -> torch.Tensor:
    """Return the smallest element that is not NaN, as `numpy.fmin.reduce`.

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
    As for `nanmax`.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, float("nan")]])
    >>> gpureduce.torch.fmin(x, 1)
    tensor([1., 2.])
    """
    return reduced(reductions["fmin"], a, axis, keepdims, dim, keepdim)


@shortcut("nanargmax", BY_NAME)
def nanargmax(
    a: torch.Tensor,
    axis: int | None = None,
    keepdims: bool = False,
    *,
    dim: int | None = None,
    keepdim: bool | None = None,
) -> torch.Tensor:
    """Return the index of the largest element that is not NaN.

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
    Ties return the first index. NaNs alone raise ValueError for a CPU tensor, and have the index -1 on a GPU.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, float("nan")]])
    >>> gpureduce.torch.nanargmax(x)
    tensor(0)
    """
    return reduced(reductions["nanargmax"], a, axis, keepdims, dim, keepdim)


@shortcut("nanargmin", BY_NAME)
def nanargmin(
    a: torch.Tensor,
    axis: int | None = None,
    keepdims: bool = False,
    *,
    dim: int | None = None,
    keepdim: bool | None = None,
) -> torch.Tensor:
    """Return the index of the smallest element that is not NaN.

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
    As for `nanargmax`.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, float("nan")]])
    >>> gpureduce.torch.nanargmin(x, 1)
    tensor([1, 0])
    """
    return reduced(reductions["nanargmin"], a, axis, keepdims, dim, keepdim)
