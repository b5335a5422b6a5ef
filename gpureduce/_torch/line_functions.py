"""The public functions of tensors along one axis: cumulative sums and products, sorts and topk."""

from __future__ import annotations

from typing import NamedTuple

from gpureduce._order.topk import TopK
from gpureduce._order.unique import UniqueCounts
from gpureduce._rules import arguments as rules
from gpureduce._torch import catalogue, operators, torch
from gpureduce._torch.arguments import one_axis
from gpureduce._torch.direct import shortcut
from gpureduce._torch.kernels import BY_NAME
from gpureduce._torch.operators import SUMS
from gpureduce._torch.scatter import check_tensor


class Sorted(NamedTuple):
    """Named tuple that `gpureduce.torch.sort` returns.

    Attributes
    ----------
    values : torch.Tensor
        The sorted elements.
    indices : torch.Tensor
        Their indices along the axis, as int64.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.sort(torch.tensor([2, 1])).indices
    tensor([1, 0])
    """

    values: torch.Tensor
    indices: torch.Tensor


class Cumulative(NamedTuple):
    """Named tuple that `gpureduce.torch.cummax` and `cummin` return.

    Attributes
    ----------
    values : torch.Tensor
        The cumulative extremes.
    indices : torch.Tensor
        Their indices along the axis, as int64.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.cummax(torch.tensor([2, 1])).values
    tensor([2, 2])
    """

    values: torch.Tensor
    indices: torch.Tensor


def _scan(name: str, a: torch.Tensor, axis: int | None, dim: int | None) -> torch.Tensor:
    """Call a scan; without an axis, of the flattened tensor."""
    check_tensor(a, "a", sharded=True)
    if axis is None and dim is None:
        a, axis = a.reshape(-1), 0
    return catalogue.scans[name](a, one_axis(a, axis, dim))


@shortcut("cumulative_sum", SUMS)
def cumsum(a: torch.Tensor, axis: int | None = None, *, dim: int | None = None) -> torch.Tensor:
    """Return the cumulative sum along an axis.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int, optional
        Axis along which to sum. Default: the flattened tensor.
    dim
        PyTorch's name of `axis`.

    Returns
    -------
    torch.Tensor
        That of integers and bools is int64.

    Notes
    -----
    Bitwise the same on every run. float32 is accumulated in float64, float16 and bfloat16 in float32, and
    each sum is rounded once.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.cumsum(torch.tensor([[1, 2], [3, 4]]), 0)
    tensor([[1, 2],
            [4, 6]])
    """
    return _scan("cumsum", a, axis, dim)


@shortcut("cumulative_prod", SUMS)
def cumprod(a: torch.Tensor, axis: int | None = None, *, dim: int | None = None) -> torch.Tensor:
    """Return the cumulative product along an axis.

    Parameters
    ----------
    a, axis, dim
        As for `cumsum`.

    Returns
    -------
    torch.Tensor
        That of integers and bools is int64.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.cumprod(torch.tensor([2.0, 3.0, 4.0]))
    tensor([ 2.,  6., 24.])
    """
    return _scan("cumprod", a, axis, dim)


@shortcut("nancumsum", SUMS)
def nancumsum(a: torch.Tensor, axis: int | None = None, *, dim: int | None = None) -> torch.Tensor:
    """Return the cumulative sum with NaN counted as 0.

    Parameters
    ----------
    a, axis, dim
        As for `cumsum`.

    Returns
    -------
    torch.Tensor
        That of integers and bools is int64.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.nancumsum(torch.tensor([1.0, float("nan"), 2.0]))
    tensor([1., 1., 3.])
    """
    return _scan("nancumsum", a, axis, dim)


@shortcut("nancumprod", SUMS)
def nancumprod(a: torch.Tensor, axis: int | None = None, *, dim: int | None = None) -> torch.Tensor:
    """Return the cumulative product with NaN counted as 1.

    Parameters
    ----------
    a, axis, dim
        As for `cumsum`.

    Returns
    -------
    torch.Tensor
        That of integers and bools is int64.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.nancumprod(torch.tensor([2.0, float("nan"), 3.0]))
    tensor([2., 2., 6.])
    """
    return _scan("nancumprod", a, axis, dim)


def _extreme(name: str, a: torch.Tensor, axis: int | None, dim: int | None) -> Cumulative:
    """Call a cumulative extreme; without an axis, of the flattened tensor."""
    check_tensor(a, "a", sharded=True)
    if axis is None and dim is None:
        a, axis = a.reshape(-1), 0
    return Cumulative(*catalogue.extremes[name](a, one_axis(a, axis, dim)))


def cummax(a: torch.Tensor, axis: int | None = None, *, dim: int | None = None) -> Cumulative:
    """Return the cumulative maximum along an axis and its indices, as `torch.cummax`.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int, optional
        Axis along which to search. Default: the flattened tensor.
    dim
        PyTorch's name of `axis`.

    Returns
    -------
    Cumulative
        ``values`` and ``indices``. Of equal elements, the last one has the index, as in PyTorch.

    Notes
    -----
    NaN propagates. The gradient is an exact sum over the results that are an element.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.cummax(torch.tensor([3, 1, 4, 1, 5])).values
    tensor([3, 3, 4, 4, 5])
    """
    return _extreme("cummax", a, axis, dim)


def cummin(a: torch.Tensor, axis: int | None = None, *, dim: int | None = None) -> Cumulative:
    """Return the cumulative minimum along an axis and its indices, as `torch.cummin`.

    Parameters
    ----------
    a, axis, dim
        As for `cummax`.

    Returns
    -------
    Cumulative
        As for `cummax`.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.cummin(torch.tensor([3, 1, 4, 1, 5])).indices
    tensor([0, 1, 1, 3, 3])
    """
    return _extreme("cummin", a, axis, dim)


@shortcut("sort", BY_NAME, Sorted)
def sort(
    a: torch.Tensor, axis: int | None = None, descending: bool = False, *, dim: int | None = None
) -> Sorted:
    """Return the sorted elements along an axis and their indices, as `torch.sort` with ``stable=True``.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int, optional
        Axis along which to sort. Default: the last one.
    descending : bool
        True sorts from the largest to the smallest element. Equal elements keep their order all the same.
    dim
        PyTorch's name of `axis`.

    Returns
    -------
    Sorted
        ``values`` and ``indices``. NaN is larger than all numbers.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> values, indices = gpureduce.torch.sort(torch.tensor([3.0, 1.0, 2.0]))
    >>> values, indices
    (tensor([1., 2., 3.]), tensor([1, 2, 0]))
    """
    axis = one_axis(a, axis, dim, -1)
    return Sorted(*catalogue.sort(a, axis, rules.flag(descending, "descending")))


@shortcut("argsort", BY_NAME)
def argsort(
    a: torch.Tensor, axis: int | None = None, descending: bool = False, *, dim: int | None = None
) -> torch.Tensor:
    """Return the indices that sort a tensor along an axis.

    Parameters
    ----------
    a, axis, descending, dim
        As for `sort`.

    Returns
    -------
    torch.Tensor
        int64 tensor of the shape of `a`.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.argsort(torch.tensor([3.0, 1.0, 2.0]), descending=True)
    tensor([0, 2, 1])
    """
    axis = one_axis(a, axis, dim, -1)
    return catalogue.argsort(a, axis, rules.flag(descending, "descending"))


@shortcut("topk", BY_NAME, TopK)
def topk(
    a: torch.Tensor,
    k: int,
    axis: int | None = None,
    largest: bool = True,
    sorted: bool = True,
    *,
    dim: int | None = None,
) -> TopK:
    """Return the `k` largest or smallest elements along an axis and their indices.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    k : int
        Number of elements, from 0 to the length of the axis.
    axis : int, optional
        Axis to search. Default: the last one.
    largest : bool
        True returns the largest elements, False the smallest.
    sorted : bool
        True sorts the result, equal elements by index. False keeps the order of the elements in `a`.
    dim
        PyTorch's name of `axis`.

    Returns
    -------
    TopK
        ``values`` and ``indices``. Of equal elements, those with the lowest indices are returned.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.topk(torch.tensor([3.0, 9.0, -1.0, 9.0]), 2).indices
    tensor([1, 3])
    """
    axis = one_axis(a, axis, dim, -1)
    k = k if isinstance(k, torch.SymInt) else rules.integer(k, "k")
    return TopK(*catalogue.topk(a, k, axis, rules.flag(largest, "largest"), rules.flag(sorted, "sorted")))


def unique_counts(a: torch.Tensor, *, size: int | None = None) -> UniqueCounts:
    """Return the distinct elements of a tensor and how often each occurs.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any real dtype, shape and strides, on a GPU or the CPU.
    size : int, optional
        Number of results. Of more distinct elements, the first ones are returned; of fewer, the results are
        filled with the smallest element and with counts of 0. Default: the number of distinct elements, for
        which the call waits for the GPU.

    Returns
    -------
    UniqueCounts
        ``values`` in ascending order, and ``counts``, without gradients. Each NaN is a value of its own.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.unique_counts(torch.tensor([2.0, 1.0, 2.0])).counts
    tensor([1, 2])
    """
    check_tensor(a, "a")
    values = catalogue.sort(a.detach().reshape(-1), 0)[0]
    count = None if size is None else rules.integer(size, "size")
    if count is not None and (count < 0 or (count > 0 and values.shape[0] == 0)):
        raise ValueError(f"size: expected 0 or more, and 0 for a tensor without elements, got {count}")
    if values.shape[0] == 0:
        return UniqueCounts(values, values.new_empty(0, dtype=torch.int64))
    first = torch.cat([values.new_ones(1, dtype=torch.bool), values[1:] != values[:-1]])
    labels = catalogue.scans["cumsum"](first, 0) - 1
    count = int(labels[-1]) + 1 if count is None else count
    ones = torch.ones(labels.shape, dtype=torch.bool, device=labels.device)
    labels = labels.clamp(max=count)  # the group after the last one is for all others
    counts = operators.group_reduce(ones, labels, "sum", count + 1, 0)
    places = torch.where(first, labels, count)
    distinct = values[:1].expand(count + 1).clone().scatter(0, places, values)
    return UniqueCounts(distinct[:count], counts[:count])
