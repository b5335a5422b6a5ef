"""Arguments of the public functions of tensors; errors name the argument, unlike PyTorch's schema errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpureduce._rules import arguments as rules
from gpureduce._torch import torch
from gpureduce._torch.scatter import check_tensor

Axis = int | tuple[int, ...] | None


def reduced(
    operator: Callable[..., Any],
    a: Any,
    axis: Any,
    keepdims: Any,
    dim: Any = None,
    keepdim: Any = None,
    *others: Any,
) -> Any:
    """Call an operator that reduces axes; `others` are its arguments after keepdims."""
    check_tensor(a, "a", sharded=True)
    if dim is not None or keepdim is not None:
        axis, keepdims = (
            one_of(axis, dim, "dim", "axis"),
            one_of(keepdims or None, keepdim, "keepdim", "keepdims"),
        )
    if axis is not None and type(axis) is not int:
        axis = integers(axis, "axis")
    if type(keepdims) is not bool:
        keepdims = False if keepdims is None else rules.flag(keepdims, "keepdims")
    return operator(a, axis, keepdims, *others)


def one_of(value: Any, torchs: Any, name: str, other: str) -> Any:
    """Return an argument that has NumPy's name and PyTorch's; not both may be given."""
    if torchs is None:
        return value
    if value is not None:
        raise TypeError(f"{name}: PyTorch's name of {other}; pass only one of them")
    return torchs


def one_axis(a: Any, axis: Any, dim: Any = None, default: int | None = None) -> int:
    """Return the axis of a function along one axis."""
    check_tensor(a, "a", sharded=True)
    axis = one_of(axis, dim, "dim", "axis")
    axis = default if axis is None else axis
    if isinstance(axis, (tuple, list)):
        raise TypeError(f"axis: expected one integer, got {axis!r}")
    return rules.integer(axis, "axis")


def integers(value: Any, name: str) -> Any:
    """Return an int, or a tuple of them; NumPy integers are accepted."""
    if isinstance(value, (tuple, list)):
        return tuple([one if type(one) is int else rules.integer(one, name) for one in value])
    return rules.integer(value, name)


def number(value: Any, name: str) -> float:
    """Return a real number as a float."""
    if isinstance(value, (bool, str, torch.Tensor)):
        raise TypeError(f"{name}: expected a number, got {type(value).__name__}")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: expected a number, got {type(value).__name__}") from None


def check_text(value: Any, name: str, optional: bool = False) -> None:
    """Raise TypeError for what is no str."""
    if not (isinstance(value, str) or (optional and value is None)):
        raise TypeError(f"{name}: expected str{' or None' * optional}, got {type(value).__name__}")
