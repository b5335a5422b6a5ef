"""Calls of the core on lists of arrays: host arrays, device arrays, and tensors of other libraries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np

from gpureduce import _core
from gpureduce._arrays.copies import gathered
from gpureduce._arrays.device_array import DeviceArray, to_device
from gpureduce._arrays.operand import device_view
from gpureduce._device.devices import LEGACY_STREAM, Device, device_name, resolve
from gpureduce._rules import tensors
from gpureduce._rules.arguments import (
    as_array,
    c_strides,
    host_array,
    reject_lazy,
    reject_masked,
    same_strides,
)
from gpureduce._rules.dtypes import dtype_name, dtype_of

STATE_WORDS = 144


class ArrayList(Sequence[Any]):
    """Arrays whose addresses are read once, for several calls of the functions of `gpureduce.multi`.

    Parameters
    ----------
    arrays : iterable of array_like or device arrays
        Arrays of any dtypes. A function accepts the same dtypes as in a plain list.

    Notes
    -----
    A call with an `ArrayList` takes the same time for any number of arrays on a device. The list keeps the
    arrays alive. Their elements may change, but not their memory: do not resize them, assign to `Tensor.data`
    or call `Tensor.set_`. Gradients have other memory after ``zero_grad(set_to_none=True)``.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> from gpureduce import multi
    >>> a = gpureduce.to_device(np.array([3.0, 4.0]), "sim")
    >>> arrays = multi.ArrayList([a])
    >>> float(multi.total_norm(arrays)), bool(multi.all_finite(arrays))
    (5.0, True)
    """

    __slots__ = ("_arrays", "_handle")

    def __init__(self, arrays: Iterable[Any]) -> None:
        self._arrays = tuple(as_list(arrays))
        self._handle = None
        for taken in (self._arrays, _detached(self._arrays)):
            handle = _core.multi_list(taken, True) if taken else NotImplemented
            if handle is not NotImplemented:
                self._handle, self._arrays = handle, taken
                break

    def __len__(self) -> int:
        return len(self._arrays)

    def __getitem__(self, index: Any) -> Any:
        return self._arrays[index]


def as_list(arrays: Iterable[Any]) -> Sequence[Any]:
    """Return the arrays of a list; TypeError for a single array, which is not one."""
    if isinstance(arrays, (ArrayList, list)):
        return arrays
    if hasattr(arrays, "shape") or isinstance(arrays, (str, bytes)) or not isinstance(arrays, Iterable):
        raise TypeError(f"arrays: expected a list of arrays, got {type(arrays).__name__}")
    return tuple(arrays)


def result_dtype_name(dtype: Any) -> str | None:
    """Return the core's name of ``dtype=``: a real floating-point dtype, or None."""
    if dtype is None:
        return None
    name = dtype_name(dtype_of(dtype))
    if name not in ("float16", "bfloat16", "float32", "float64"):
        raise TypeError(f"dtype: expected a real floating-point dtype, got {name}")
    return name


def _detached(arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Return the arrays, and tensors that may be parameters without their gradients."""
    return tuple(a.detach() if tensors.is_tensor(a) else a for a in arrays)


def _plain(arrays: Sequence[Any]) -> Sequence[Any]:
    return arrays if isinstance(arrays, (tuple, list)) else tuple(arrays)


def reduce_list(
    op: str, arrays: Sequence[Any], device: str | Device | None = None, stream: Any = None, **options: Any
) -> Any:
    """Reduce at least one array: a device array, or for host arrays a NumPy array or scalar."""
    handle = None if stream is None else _core.stream_handle(stream)
    if device is None:
        known = arrays._handle if isinstance(arrays, ArrayList) else None
        result = _core.multi(_plain(arrays) if known is None else known, op, stream=stream, **options)
        if result is NotImplemented and any(map(tensors.is_tensor, arrays)):
            result = _core.multi(_detached(arrays), op, stream=stream, **options)
        if result is not NotImplemented:
            return result
    views = _views(arrays, device)
    if views is not None:
        return _reduce_views(op, views, handle, options)
    on_device = tuple(_uploaded(a, i, device) for i, a in enumerate(arrays))
    result = _core.multi(on_device, op, **options)
    return None if result is None else result.numpy()[()]


def _uploaded(a: Any, i: int, device: str | Device | None) -> DeviceArray:
    name = f"arrays[{i}]"
    return to_device(host_array(as_array(a, name), name), device)


def _views(arrays: Sequence[Any], device: str | Device | None) -> list[Any] | None:
    """Return views of arrays on one device; None if all arrays are in host memory."""
    views = []
    for i, a in enumerate(arrays):
        name = f"arrays[{i}]"
        reject_masked(a, name)
        reject_lazy(a, name)
        a = a.detach() if tensors.is_tensor(a) else a
        views.append(None if isinstance(a, np.ndarray) else device_view(a, None, name))
        if (views[i] is None) != (views[0] is None):
            _reject_mixed(i, views)
        if views[i] is not None and _place(views[i]) != _place(views[0]):
            _reject_mixed(i, views)
    if views[0] is None:
        return None
    if device is not None and resolve(device) != _place(views[0]):
        raise ValueError(f"device: the arrays are on {_where(views[0])}, not on {str(device)!r}")
    return views


def _place(view: Any) -> tuple[int, int]:
    return view._kind, view._index


def _where(view: Any) -> str:
    return "the host" if view is None else device_name(*_place(view))


def _reject_mixed(i: int, views: list[Any]) -> NoReturn:
    raise ValueError(f"arrays[{i}]: is on {_where(views[i])}, but arrays[0] is on {_where(views[0])}")


def _reduce_views(op: str, views: list[Any], handle: int | None, options: dict[str, Any]) -> Any:
    """Reduce arrays that the core does not read itself, in the order of their streams."""
    kind, index = _place(views[0])
    stream = handle or views[0].stream or LEGACY_STREAM
    for view in views:
        if view.stream is not None and view.stream != stream:
            _core.stream_order(kind, index, view.stream, stream)
    options = options | {"stream": stream, "place": (kind, index)}
    result = _core.multi(tuple(view._view_tuple() for view in views), op, **options)
    if result is NotImplemented:
        if op == "scale":
            raise ValueError("arrays: an array with gaps between its elements is not scaled in place")
        copies = [_contiguous(view, stream) for view in views]
        result = _core.multi(tuple(copy._view_tuple() for copy in copies), op, **options)
    for view in views:
        following = view._next_stream()
        if following is None:
            _core.keep_alive_until_done(kind, index, stream, view)
        elif following != stream:
            _core.stream_order(kind, index, stream, following)
    return result


def _contiguous(view: Any, stream: Any) -> Any:
    """Return the view, or a copy in C order that is made on a stream."""
    if same_strides(view.shape, view.strides, c_strides(view.shape, view.dtype.itemsize)):
        return view
    source = SimpleNamespace(_pointer=view._pointer, shape=view.shape, strides=view.strides, dtype=view.dtype)
    source.size, source._kind, source._index, source.stream = 1, *_place(view), stream
    return gathered(source, view.shape, True)
