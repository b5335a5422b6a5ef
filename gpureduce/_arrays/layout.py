"""Shapes, strides and offsets of views, by NumPy's rules; strides are in bytes."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.exceptions import AxisError

from gpureduce._rules.arguments import c_strides, integer

Axes = tuple[int, ...]


def indexed(shape: Axes, strides: Axes, key: Any) -> tuple[Axes, Axes, int]:
    """Return shape, strides and offset of a view by basic indexing."""
    key = key if isinstance(key, tuple) else (key,)
    taken = sum(part is not None and part is not Ellipsis for part in key)
    dots = sum(part is Ellipsis for part in key)
    if dots > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    parts = [_part(part) for part in key]
    if taken > len(shape):
        raise IndexError(
            f"too many indices for array: array is {len(shape)}-dimensional, but {taken} were indexed"
        )
    at = parts.index(Ellipsis) if dots else len(parts)
    parts[at : at + dots] = [slice(None)] * (len(shape) - taken)
    axes: list[tuple[int, int]] = []
    offset = axis = 0
    for part in parts:
        if part is None:
            axes.append((1, 0))
            continue
        length, stride = shape[axis], strides[axis]
        if isinstance(part, slice):
            start, stop, step = part.indices(length)
            count = len(range(start, stop, step))
            offset += start * stride if count else 0
            axes.append((count, stride * step if count > 1 else stride))
        else:
            if not -length <= part < length:
                raise IndexError(f"index {part} is out of bounds for axis {axis} with size {length}")
            offset += part % length * stride
        axis += 1
    return tuple([length for length, _ in axes]), tuple([stride for _, stride in axes]), offset


def _part(part: Any) -> Any:
    """Return one part of an index; integers as int."""
    if part is None or part is Ellipsis or isinstance(part, slice):
        return part
    try:
        if not isinstance(part, (bool, np.bool_)):
            return operator.index(part)
    except TypeError:
        pass
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`) and numpy.newaxis (`None`) are valid "
        f"indices of a DeviceArray, got {type(part).__name__}; for others, use torch.from_dlpack(a)"
    )


def shape_of(lengths: tuple[Any, ...], size: int) -> Axes:
    """Return the shape given by the arguments of ``reshape``, with -1 inferred."""
    if len(lengths) == 1 and isinstance(lengths[0], Iterable) and not hasattr(lengths[0], "__index__"):
        lengths = tuple(lengths[0])
    shape = tuple([integer(length, "shape") for length in lengths])
    known = math.prod(length for length in shape if length != -1)
    if shape.count(-1) > 1:
        raise ValueError("can only specify one unknown dimension")
    if min(shape, default=0) < -1:
        raise ValueError(f"negative dimensions are not allowed: shape {shape}")
    if -1 in shape:
        if known == 0 or size % known:
            raise ValueError(f"cannot reshape array of size {size} into shape {shape}")
        return tuple([size // known if length == -1 else length for length in shape])
    if known != size:
        raise ValueError(f"cannot reshape array of size {size} into shape {shape}")
    return shape


def reshaped(shape: Axes, strides: Axes, new_shape: Axes, item: int) -> Axes | None:
    """Return the strides of a view in the shape `wanted`, of as many elements; None: there is none."""
    if 0 in new_shape:
        return c_strides(new_shape, item)
    # Mergeable neighbouring axes as one axis: its stride and length, the last axis first.
    merged: list[list[int]] = []
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if merged and stride == merged[-1][0] * merged[-1][1]:
            merged[-1][1] *= length
        elif length != 1:
            merged.append([stride, length])
    result = []
    stride, left = item, 1
    runs = iter(merged)
    for length in reversed(new_shape):
        if left == 1 and length != 1:
            stride, left = next(runs)
        if left % length:
            return None
        result.append(stride)
        stride, left = stride * length, left // length
    return tuple(reversed(result))


def normal_axis(axis: Any, ndim: int) -> int:
    """Return an axis counted from the first."""
    index = integer(axis, "axis")
    if not -ndim <= index < ndim:
        raise AxisError(index, ndim)
    return index % ndim


def permutation(axes: Any, ndim: int) -> Axes:
    """Return the order of axes given by the arguments of ``transpose``."""
    if axes is None:
        return tuple(reversed(range(ndim)))
    order = tuple(axes)
    if len(order) != ndim:
        raise ValueError("axes don't match array")
    order = tuple([normal_axis(axis, ndim) for axis in order])
    if len(set(order)) != ndim:
        raise ValueError("repeated axis in transpose")
    return order


def squeezed(shape: Axes, axis: Any) -> Axes:
    """Return the axes that are kept."""
    if axis is None:
        return tuple([d for d, length in enumerate(shape) if length != 1])
    if not shape and not isinstance(axis, tuple) and operator.index(axis) in (0, -1):
        return ()  # as NumPy
    axes = axis if isinstance(axis, tuple) else (axis,)
    gone = [normal_axis(each, len(shape)) for each in axes]
    if len(set(gone)) != len(gone):
        raise ValueError("repeated axis")
    if any(shape[d] != 1 for d in gone):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return tuple([d for d in range(len(shape)) if d not in gone])


def merged(shape: Axes, strides: Axes) -> list[tuple[int, int]]:
    """Return lengths and strides after merging mergeable neighbouring axes."""
    axes: list[tuple[int, int]] = []
    for length, stride in zip(shape, strides, strict=True):
        if axes and axes[-1][1] == length * stride:
            axes[-1] = (axes[-1][0] * length, stride)
        elif length != 1:
            axes.append((length, stride))
    return axes


def span(shape: Axes, strides: Axes, item: int) -> tuple[int, int]:
    """Return the byte offsets of the lowest element and of the end of the highest, from the first element."""
    reach = [(length - 1) * stride for length, stride in zip(shape, strides, strict=True)]
    return sum(step for step in reach if step < 0), sum(step for step in reach if step > 0) + item
