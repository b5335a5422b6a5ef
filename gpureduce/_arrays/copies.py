"""Copies of arrays on devices and of their views: on the device, and in host memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.layout import Axes, merged, span
from gpureduce._rules.arguments import c_strides, same_strides
from gpureduce._rules.dtypes import dtype_name

if TYPE_CHECKING:
    from gpureduce._arrays.elements import Elements

_MOST_AXES = 5  # supported by a kernel
_GAPS = 2  # a view that spans at most this multiple of its elements is copied as one range


def is_packed(array: Elements) -> bool:
    """Return whether the elements are contiguous in C order."""
    return same_strides(array.shape, array.strides, c_strides(array.shape, array.dtype.itemsize))


def to_host(array: Any) -> np.ndarray[Any, Any]:
    """Return a copy in host memory; a dense array with permuted axes keeps their order."""
    shape, strides, dtype = array.shape, array.strides, array.dtype
    size = array.nbytes
    if size == 0 or is_packed(array):
        out = np.empty(shape, dtype)
        if size:
            _core.device_read(array._kind, array._index, array._pointer, out, array.stream)
        return out
    low, high = span(shape, strides, dtype.itemsize)
    if high - low > _GAPS * size:
        return to_host(gathered(array))
    memory = np.empty(high - low, np.uint8)
    _core.device_read(array._kind, array._index, array._pointer + low, memory, array.stream)
    host: np.ndarray[Any, Any] = np.ndarray(shape, dtype, memory, -low, strides)
    return host if low == 0 and high == size else host.copy()


def gathered(array: Any, shape: Axes | None = None, passing: bool = False) -> Any:
    """Return a copy in C order on the device, optionally in another shape, made on the array's stream.

    A `passing` copy is used by the next work on that stream only, and its memory is freed in stream order.
    """
    shape = array.shape if shape is None else shape
    copy = _core.array_empty(shape, dtype_name(array.dtype), array._kind, array._index, array.stream)
    if array.size:
        _gather(array, array._pointer, copy._pointer, merged(array.shape, array.strides))
    if not passing:
        copy._settle()
    return copy


def scattered(pointer: int, shape: Axes, strides: Axes, output: Any) -> None:
    """Copy elements with the lengths and strides given into the view of an output, which is in C order."""
    source = SimpleNamespace(dtype=output.dtype, _kind=output.kind, _index=output.index, stream=output.stream)
    _gather(source, pointer, output.view._pointer, merged(shape, strides))


def converted(array: Any, dtype: np.dtype[Any], passing: bool = False) -> Any:
    """Return a copy in C order on the device, cast to another dtype, made on the array's stream.

    `passing` is as for `gathered`.
    """
    if len(merged(array.shape, array.strides)) > _MOST_AXES:
        array = gathered(array, passing=passing)
    name, kind, index, stream = dtype_name(dtype), array._kind, array._index, array.stream
    copy = _core.array_empty(array.shape, name, kind, index, stream)
    view = array._pointer, array.shape, array.strides, dtype_name(array.dtype)
    _core.convert(view, name, (copy._view_tuple(), kind, index, stream))
    if not passing:
        copy._settle()
    return copy


def _gather(array: Any, source: int, to: int, axes: list[tuple[int, int]]) -> None:
    """Copy elements with the lengths and strides `axes` to contiguous memory."""
    lengths: Axes = tuple([length for length, _ in axes])
    name = dtype_name(array.dtype)
    packed = c_strides(lengths, array.dtype.itemsize)
    if len(axes) > _MOST_AXES:
        for i in range(lengths[0]):
            _gather(array, source + i * axes[0][1], to + i * packed[0], axes[1:])
        return
    view = (source, lengths, tuple([stride for _, stride in axes]), name)
    out = (to, lengths, packed, name)
    _core.convert(view, name, (out, array._kind, array._index, array.stream))
