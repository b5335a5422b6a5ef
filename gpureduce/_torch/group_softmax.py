"""Softmax by group, composed of reductions of groups and gathered rows, which have gradients."""

from __future__ import annotations

from typing import Any, SupportsIndex

from gpureduce._rules import arguments as rules
from gpureduce._torch import operators, torch
from gpureduce._torch.groups import axis_of_rows
from gpureduce._torch.normalize import DTYPES
from gpureduce._torch.scatter import check_integers, check_tensor

_HALVES = (torch.float16, torch.bfloat16)


def _number_of_groups(labels: torch.Tensor, num_groups: Any) -> Any:
    if num_groups is None:
        return max(int(labels.max()) + 1, 0) if labels.numel() else 0
    if isinstance(num_groups, torch.SymInt):
        return num_groups
    groups = rules.integer(num_groups, "num_groups", "int or None")
    if groups < 0:
        raise ValueError(f"num_groups: expected 0 or more, got {groups}")
    return groups


def _exponentials(
    name: str, a: Any, labels: Any, num_groups: Any, axis: Any
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return which rows are in a group, elements less their maximum, exponentials of these, and their sums.

    All are broadcast along `axis` as the elements are. Rows that are in no group have the elements 0, and
    the sum 1.
    """
    check_tensor(a, "a")
    if a.dtype not in DTYPES:
        raise TypeError(f"a: {name} takes {', '.join(map(str, DTYPES))}, not {a.dtype}")
    check_integers(a, labels, "labels", "a")
    if a.ndim == 0:
        raise ValueError("a: expected at least one dimension, got a scalar")
    axis = axis_of_rows(a, rules.integer(axis, "axis"))
    if tuple(labels.shape) != (a.shape[axis],):
        raise ValueError(f"labels: expected shape ({a.shape[axis]},), got {tuple(labels.shape)}")
    groups = _number_of_groups(labels, num_groups)
    inside = ((labels >= 0) & (labels < groups)).view([-1 if i == axis else 1 for i in range(a.ndim)])
    wide = a.to(torch.float32) if a.dtype in _HALVES else a
    largest = operators.group_reduce(wide.detach(), labels, "max", groups, axis)
    less = torch.where(inside, wide, 0) - operators.gather_rows(largest, labels, axis)
    powers = torch.exp(less)
    sums = operators.group_reduce(powers, labels, "sum", groups, axis)
    return inside, less, powers, torch.where(inside, operators.gather_rows(sums, labels, axis), 1)


def group_softmax(
    a: torch.Tensor, labels: torch.Tensor, num_groups: SupportsIndex | None = None, *, axis: int = 0
) -> torch.Tensor:
    """Return the softmax of each group of rows: the rows that have the same label.

    Parameters
    ----------
    a : torch.Tensor
        Tensor of float16, bfloat16, float32 or float64, on a GPU or the CPU.
    labels : torch.Tensor
        Group of each row: int32 or int64, of one dimension. Rows with negative labels are in no group. Labels
        that are too large raise ValueError on the CPU; on a GPU their rows are in no group.
    num_groups : int, optional
        Number of groups. Default: ``labels.max() + 1``, which synchronizes on a GPU.
    axis : int
        Axis whose rows are labelled.

    Returns
    -------
    torch.Tensor
        Tensor like `a`, whose elements add up to 1 along `axis` in each group. Rows in no group are 0.

    Notes
    -----
    The sums of a group are exact and rounded once, so that the bits of a result and of its gradient do not
    depend on the order of the rows. float16 and bfloat16 are computed in float32.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> scores, targets = torch.tensor([1000.0, 1000.0, 3.0]), torch.tensor([0, 0, 1])
    >>> gpureduce.torch.group_softmax(scores, targets)
    tensor([0.5000, 0.5000, 1.0000])
    """
    inside, _, powers, sums = _exponentials("group_softmax", a, labels, num_groups, axis)
    return torch.where(inside, powers / sums, 0).to(a.dtype)


def group_log_softmax(
    a: torch.Tensor, labels: torch.Tensor, num_groups: SupportsIndex | None = None, *, axis: int = 0
) -> torch.Tensor:
    """Return the logarithm of the softmax of each group of rows.

    Parameters
    ----------
    a, labels, num_groups, axis
        As for `group_softmax`.

    Returns
    -------
    torch.Tensor
        Tensor like `a`. Rows in no group are -inf.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> scores, targets = torch.tensor([1000.0, 0.0, 3.0]), torch.tensor([0, 0, 1])
    >>> gpureduce.torch.group_log_softmax(scores, targets)
    tensor([    0., -1000.,     0.])
    """
    inside, less, _, sums = _exponentials("group_log_softmax", a, labels, num_groups, axis)
    return torch.where(inside, less - torch.log(sums), -torch.inf).to(a.dtype)
