"""Batching rules: what `torch.vmap` makes of the operators.

A function along axes is called once, with its axes moved behind the axis of the batch. Other functions are
called for each element of the batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpureduce._torch import torch

Rule = Callable[..., tuple[Any, Any]]


def element_by_element(operator: Callable) -> Rule:
    """Return the rule of an operator that is called for each element of the batch."""

    def rule(info: Any, in_dims: tuple, *args: Any) -> tuple[Any, Any]:
        dims = _dims(in_dims, args)

        def called(select: Callable) -> Any:
            return operator(
                *[
                    arg if dim is None else select(arg.movedim(dim, 0))
                    for arg, dim in zip(args, dims, strict=True)
                ]
            )

        if info.batch_size:
            results = [called(lambda arg, i=i: arg[i]) for i in range(info.batch_size)]
            join = torch.stack
        else:  # the shapes are those of any element
            results = [called(lambda arg: arg.new_ones(arg.shape[1:]))]
            join = _empty_batch
        if isinstance(results[0], tuple):
            joined = tuple([join(each) for each in zip(*results, strict=True)])
            return joined, (0,) * len(joined)
        return join(results), 0

    return rule


def _empty_batch(results: Any) -> torch.Tensor:
    return results[0].new_empty((0, *results[0].shape))


def _dims(in_dims: tuple, args: tuple) -> list[int | None]:
    """Return the axis of the batch for each argument; lists of numbers have none."""
    dims = [dim if isinstance(dim, int) else None for dim in in_dims]
    return dims + [None] * (len(args) - len(dims))


def _only_first(dims: list[int | None]) -> bool:
    return dims[0] is not None and all(dim is None for dim in dims[1:])


def along_axes(operator: Callable, at: int, default: Any, outer: int = 0) -> Rule:
    """Return the rule of an operator whose argument number `at` is one or several axes of the first one.

    `outer` is the number of axes before those of the first argument in a result.
    """
    others = element_by_element(operator)

    def rule(info: Any, in_dims: tuple, *args: Any) -> tuple[Any, Any]:
        dims = _dims(in_dims, args)
        if not _only_first(dims) or args[0].ndim == 1:
            return others(info, in_dims, *args)
        a = args[0].movedim(dims[0], 0)
        moved = _moved(args[at] if len(args) > at else default, a.ndim - 1)
        result = operator(a, *args[1:at], moved, *args[at + 1 :])
        return (result, (outer,) * len(result)) if isinstance(result, tuple) else (result, outer)

    return rule


def of_masked(operator: Callable) -> Rule:
    """Return the rule of an operator of a tensor, a mask of its shape, and axes."""

    def rule(info: Any, in_dims: tuple, *args: Any) -> tuple[Any, Any]:
        a, where = (
            each.expand(info.batch_size, *each.shape) if dim is None else each.movedim(dim, 0)
            for each, dim in zip(args, in_dims[:2], strict=False)
        )
        moved = _moved(args[2] if len(args) > 2 else None, a.ndim - 1)
        return operator(a, where, moved, *args[3:]), 0

    return rule


def of_flattened(operator: Callable) -> Rule:
    """Return the rule of a search along one axis, or in all elements, in C order."""
    along = along_axes(operator, 1, None)

    def rule(info: Any, in_dims: tuple, a: Any, axis: Any = None, keepdims: bool = False) -> tuple[Any, Any]:
        if axis is not None or a.ndim == 1:
            return along(info, in_dims, a, axis, keepdims)
        found = operator(a.movedim(in_dims[0], 0).flatten(1), 1, False)
        return (found.reshape(-1, *[1] * (a.ndim - 1)) if keepdims else found), 0

    return rule


def of_rows(operator: Callable) -> Rule:
    """Return the rule of an operator along the last axis, whose other arguments belong to all rows."""
    others = element_by_element(operator)

    def rule(info: Any, in_dims: tuple, a: Any, *args: Any) -> tuple[Any, Any]:
        if not _only_first(_dims(in_dims, (a, *args))) or a.ndim == 1:
            return others(info, in_dims, a, *args)
        return operator(a.movedim(in_dims[0], 0), *args), 0

    return rule


def of_matmul(operator: Callable) -> Rule:
    """Return the rule of a matrix product, which has stacks of matrices itself."""

    def rule(info: Any, in_dims: tuple, a: Any, b: Any, *args: Any) -> tuple[Any, Any]:
        factors = [
            each if dim is None else each.movedim(dim, 0) for each, dim in zip((a, b), in_dims, strict=False)
        ]
        axes = [each.ndim - (dim is not None) for each, dim in zip(factors, in_dims, strict=False)]
        for i, (each, dim) in enumerate(zip(factors, in_dims, strict=False)):
            if dim is not None:  # the axis of the batch comes before the stack of both
                factors[i] = each.reshape(each.shape[0], *[1] * (max(axes) - axes[i]), *each.shape[1:])
        return operator(*factors, *args), 0

    return rule


def _moved(axis: Any, ndim: int) -> Any:
    """Return axes of an element as axes of a batch, whose first axis is another one."""
    if axis is None:
        return list(range(1, ndim + 1))
    if isinstance(axis, int):
        return _one(axis, ndim)
    return [_one(each, ndim) for each in axis]


def _one(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis: {axis} is out of bounds for a tensor with {ndim} dimensions")
    return axis % ndim + 1
