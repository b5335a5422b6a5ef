"""The public functions of tensors: variances, norms, logsumexp, medians, quantiles and moments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gpureduce._order.methods import POSITIONS
from gpureduce._reduce.moments import Moments
from gpureduce._torch import torch
from gpureduce._torch.arguments import Axis, number, one_of, reduced
from gpureduce._torch.catalogue import moments as moments_operator
from gpureduce._torch.catalogue import reductions
from gpureduce._torch.direct import shortcut
from gpureduce._torch.kernels import BY_NAME, axes_of
from gpureduce._torch.masked import selecting


@shortcut("var", BY_NAME)
def var(
    a: torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    correction: float = 1,
    dim: Axis = None,
    keepdim: bool | None = None,
    where: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the variance.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    keepdims : bool
        True keeps the reduced axes with length one.
    correction : float
        The variance of N elements divides by ``N - correction``: 1, as in PyTorch, gives the sample variance,
        0 the population variance.
    dim, keepdim
        PyTorch's names of `axis` and `keepdims`.
    where : torch.Tensor, optional
        Boolean tensor of the elements to reduce, of a shape that broadcasts to the shape of `a`.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    One pass, accurate for a large mean: see docs/explanation/variance.md. The
    variance of integers is float64.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.var(x, 1)
    tensor([2.0000, 4.5000])
    """
    operator = reductions["var"] if where is None else selecting("var", a, where)
    return reduced(operator, a, axis, keepdims, dim, keepdim, number(correction, "correction"))


@shortcut("std", BY_NAME)
def std(
    a: torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    correction: float = 1,
    dim: Axis = None,
    keepdim: bool | None = None,
    where: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the standard deviation.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    keepdims : bool
        True keeps the reduced axes with length one.
    correction : float
        The variance of N elements divides by ``N - correction``: 1, as in PyTorch, gives the sample variance,
        0 the population variance.
    dim, keepdim
        PyTorch's names of `axis` and `keepdims`.
    where : torch.Tensor, optional
        Boolean tensor of the elements to reduce, of a shape that broadcasts to the shape of `a`.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    As for `var`.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.std(x, 0)
    tensor([0.7071, 2.8284])
    """
    operator = reductions["std"] if where is None else selecting("std", a, where)
    return reduced(operator, a, axis, keepdims, dim, keepdim, number(correction, "correction"))


@shortcut("nanvar", BY_NAME)
def nanvar(
    a: torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    correction: float = 1,
    dim: Axis = None,
    keepdim: bool | None = None,
) -> torch.Tensor:
    """Return the variance of the elements that are not NaN.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    keepdims : bool
        True keeps the reduced axes with length one.
    correction : float
        The variance of N elements divides by ``N - correction``: 1, as in PyTorch, gives the sample variance,
        0 the population variance.
    dim, keepdim
        PyTorch's names of `axis` and `keepdims`.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    As for `var`.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, float("nan")]])
    >>> gpureduce.torch.nanvar(x, 0)
    tensor([0.5000,    nan])
    """
    return reduced(reductions["nanvar"], a, axis, keepdims, dim, keepdim, number(correction, "correction"))


@shortcut("nanstd", BY_NAME)
def nanstd(
    a: torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    correction: float = 1,
    dim: Axis = None,
    keepdim: bool | None = None,
) -> torch.Tensor:
    """Return the standard deviation of the elements that are not NaN.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    keepdims : bool
        True keeps the reduced axes with length one.
    correction : float
        The variance of N elements divides by ``N - correction``: 1, as in PyTorch, gives the sample variance,
        0 the population variance.
    dim, keepdim
        PyTorch's names of `axis` and `keepdims`.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    As for `var`.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, float("nan")]])
    >>> gpureduce.torch.nanstd(x, 0)
    tensor([0.7071,    nan])
    """
    return reduced(reductions["nanstd"], a, axis, keepdims, dim, keepdim, number(correction, "correction"))


@shortcut("rootnorm", BY_NAME)
def norm(
    a: torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    ord: float = 2,
    dim: Axis = None,
    keepdim: bool | None = None,
) -> torch.Tensor:
    """Return the vector norm, as `torch.linalg.vector_norm`.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    keepdims : bool
        True keeps the reduced axes with length one.
    ord : float
        Order of the norm, also 0, infinity and -infinity.
    dim, keepdim
        PyTorch's names of `axis` and `keepdims`.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    No intermediate result overflows or underflows. The norm of integers is float64.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.norm(x, 1)
    tensor([3.1623, 5.3852])
    """
    return reduced(reductions["norm"], a, axis, keepdims, dim, keepdim, number(ord, "ord"))


@shortcut("logsumexp", BY_NAME)
def logsumexp(
    a: torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    dim: Axis = None,
    keepdim: bool | None = None,
) -> torch.Tensor:
    """Return the logarithm of the sum of the exponentials.

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
    One pass, without overflow. The result for integers is float64.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.logsumexp(x, 1)
    tensor([3.1269, 5.0486])
    """
    return reduced(reductions["logsumexp"], a, axis, keepdims, dim, keepdim)


@shortcut("median", BY_NAME)
def median(
    a: torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    dim: Axis = None,
    keepdim: bool | None = None,
) -> torch.Tensor:
    """Return the median: of an even number of elements, the mean of the two in the middle.

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
    NaN if an element is NaN. `torch.median` returns the lower of the two. The median of integers is float64.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.median(x)
    tensor(2.5000)
    """
    return reduced(reductions["median"], a, axis, keepdims, dim, keepdim)


@shortcut("nanmedian", BY_NAME)
def nanmedian(
    a: torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    dim: Axis = None,
    keepdim: bool | None = None,
) -> torch.Tensor:
    """Return the median of the elements that are not NaN.

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
    As for `median`. The call waits for the GPU.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, float("nan")]])
    >>> gpureduce.torch.nanmedian(x)
    tensor(2.)
    """
    return reduced(reductions["nanmedian"], a, axis, keepdims, dim, keepdim)


def quantile(
    a: torch.Tensor,
    q: float | Sequence[float] | torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    method: str = "linear",
    dim: Axis = None,
    keepdim: bool | None = None,
    interpolation: str | None = None,
) -> torch.Tensor:
    """Return quantiles, of any number of elements.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    q : float, sequence of float or torch.Tensor
        Quantiles between 0 and 1. The values of a tensor are copied to the host.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    keepdims : bool
        True keeps the reduced axes with length one.
    method : str
        NumPy's name of the estimate, such as ``"linear"`` or ``"nearest"``.
    dim, keepdim, interpolation
        PyTorch's names of `axis`, `keepdims` and `method`.

    Returns
    -------
    torch.Tensor
        With several quantiles, the first axis has one index for each. The dtype is that of `a`, and float64
        for integers.

    Notes
    -----
    NaN if an element is NaN. float16 and bfloat16 are interpolated in a wider dtype and rounded once. More
    than eight quantiles per call wait for the GPU.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.quantile(x, [0.25, 0.5])
    tensor([1.7500, 2.5000])
    """
    return _quantiles("quantile", a, q, axis, keepdims, method, dim, keepdim, interpolation)


def nanquantile(
    a: torch.Tensor,
    q: float | Sequence[float] | torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    method: str = "linear",
    dim: Axis = None,
    keepdim: bool | None = None,
    interpolation: str | None = None,
) -> torch.Tensor:
    """Return quantiles of the elements that are not NaN.

    Parameters
    ----------
    a, q, axis, keepdims, method, dim, keepdim, interpolation
        As for `quantile`.

    Returns
    -------
    torch.Tensor
        As for `quantile`.

    Notes
    -----
    The call waits for the GPU. The gradient is implemented for ``method="linear"``.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, float("nan")]])
    >>> gpureduce.torch.nanquantile(x, 0.25)
    tensor(1.5000)
    """
    return _quantiles("nanquantile", a, q, axis, keepdims, method, dim, keepdim, interpolation)


def _quantiles(
    name: str,
    a: Any,
    q: Any,
    axis: Any,
    keepdims: Any,
    method: Any,
    dim: Any,
    keepdim: Any,
    interpolation: Any,
) -> torch.Tensor:
    """Call an operator of quantiles, of one or several."""
    method = one_of(None if method == "linear" else method, interpolation, "interpolation", "method")
    method = "linear" if method is None else method
    if not isinstance(method, str) or method not in POSITIONS:
        raise ValueError(f"method: expected one of {', '.join(POSITIONS)}, got {method!r}")
    if isinstance(q, torch.Tensor):
        q = q.tolist()
    several = isinstance(q, (list, tuple))
    quantiles = [number(each, "q") for each in (q if several else [q])]
    if not all(0 <= each <= 1 for each in quantiles):
        raise ValueError(f"q: expected quantiles between 0 and 1, got {q}")
    result = reduced(
        lambda a, axis, keepdims: reductions[name](a, quantiles, axis, keepdims, method),
        a,
        axis,
        keepdims,
        dim,
        keepdim,
    )
    return result if several else result[0]


def moments(
    a: torch.Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    correction: float = 0,
    dim: Axis = None,
    keepdim: bool | None = None,
) -> Moments:
    """Return count, mean, variance, skewness and kurtosis, computed in one pass.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    keepdims : bool
        True keeps the reduced axes with length one.
    correction : float
        The variance of N elements divides by ``N - correction``.
    dim, keepdim
        PyTorch's names of `axis` and `keepdims`.

    Returns
    -------
    Moments
        ``count`` is an int; ``mean``, ``var``, ``skewness`` and ``kurtosis`` are tensors. The kurtosis of a
        normal distribution is 0.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.moments(torch.tensor([1.0, 2.0, 3.0, 10.0])).skewness
    tensor(1.0182)
    """
    results = reduced(moments_operator, a, axis, keepdims, dim, keepdim, number(correction, "correction"))
    given = axis if dim is None else dim
    axes = axes_of(list(given) if isinstance(given, tuple) else given, a.ndim)
    return Moments(math.prod([a.shape[each] for each in axes]), *results)
