"""Kernels of functions along one axis: scans, sorts and topk; and of moments, which have several results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpureduce import _core, _functions
from gpureduce._rules import arguments as rules
from gpureduce._torch import torch
from gpureduce._torch.groups import in_core_dtype
from gpureduce._torch.kernels import (
    NAMES,
    array_of,
    axes_of,
    current_stream,
    is_whole,
    results_of,
    tensor_of,
    view_of,
)

Tensors = tuple[torch.Tensor, ...]
_SCANS = {
    "cumsum": (_functions.cumsum, "sum"),
    "cumprod": (_functions.cumprod, "prod"),
    "nancumsum": (_functions.nancumsum, "sum"),
    "nancumprod": (_functions.nancumprod, "prod"),
}


def _axis(a: torch.Tensor, axis: int) -> int:
    """Return an axis from 0 on; a 0-d tensor has axes 0 and -1."""
    ndim = max(a.ndim, 1)
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis: {axis} is out of bounds for a tensor with {a.ndim} dimensions")
    return axis % ndim


# Scans


def fake_scan(name: str) -> Callable:
    """Return the fake kernel of a scan."""
    results = results_of(_SCANS[name][1])

    def fake(a, axis):
        _axis(a, axis)
        if a.dtype not in results:
            raise TypeError(f"a: {name} takes {', '.join(map(str, results))}, not {a.dtype}")
        return a.new_empty(a.shape, dtype=results[a.dtype])

    return fake


def scan_on_cuda(name: str) -> Callable:
    """Return the kernel that enqueues a scan on the current stream."""
    (function, op), fake = _SCANS[name], fake_scan(name)

    def scan(a, axis):
        out = fake(a, axis)
        if out.numel():
            elements = a.detach()
            if a.ndim > 2 and not a.is_contiguous():
                elements = elements.contiguous()
            result = in_core_dtype(out, op, a)
            function(
                elements.reshape(1) if a.ndim == 0 else elements, axis, out=result.reshape(result.shape or 1)
            )
        return out

    return scan


def scan_on_host(name: str) -> Callable:
    """Return the kernel that calls the package's function for host memory."""
    function, fake = _SCANS[name][0], fake_scan(name)

    def scan(a, axis):
        out = fake(a, axis)
        with np.errstate(all="ignore"):
            return tensor_of(function(array_of(a), axis), out.dtype).reshape(a.shape)

    return scan


# Cumulative extremes


def fake_extreme(a: torch.Tensor, axis: int) -> Tensors:
    """Return tensors like the cumulative extremes and their indices."""
    _check_ordered("cummax and cummin", a)
    _axis(a, axis)
    return a.new_empty(a.shape), a.new_empty(a.shape, dtype=torch.int64)


def _last_places(a: torch.Tensor, values: torch.Tensor, axis: int) -> torch.Tensor:
    """Return each element's index where it is the extreme so far, else 0."""
    axis = _axis(a, axis)
    places = torch.arange(a.shape[axis] if a.ndim else 1, device=a.device)
    places = places.view([-1 if each == axis else 1 for each in range(a.ndim)]) if a.ndim else places[0]
    return torch.where((a == values) | (a != a), places, 0)


def extreme_on_cuda(name: str) -> Callable:
    """Return the kernel that enqueues a cumulative extreme on the current stream."""
    function = getattr(_functions, name)

    def extreme(a, axis):
        values, indices = fake_extreme(a, axis)
        if values.numel():
            shape, elements = a.shape or (1,), a.detach()
            if a.ndim > 2 and not a.is_contiguous():
                elements = elements.contiguous()
            function(elements.view(shape), axis, out=values.view(shape))
            places = _last_places(elements, values, axis)
            _functions.cummax(places.view(shape), axis, out=indices.view(shape))
        return values, indices

    return extreme


def extreme_on_host(name: str) -> Callable:
    """Return the kernel that calls the package's function for host memory."""
    function = getattr(_functions, name)

    def extreme(a, axis):
        values, indices = fake_extreme(a, axis)
        if values.numel():
            values = tensor_of(function(array_of(a), axis), a.dtype).view(a.shape)
            places = _last_places(a.detach(), values, axis)
            indices = tensor_of(_functions.cummax(array_of(places), axis), torch.int64).view(a.shape)
        return values, indices

    return extreme


# Sorts


def _check_ordered(name: str, a: torch.Tensor) -> None:
    if a.dtype not in NAMES or a.dtype.is_complex:
        taken = ", ".join(str(dtype) for dtype in NAMES if not dtype.is_complex)
        raise TypeError(f"a: {name} takes {taken}, not {a.dtype}")


def fake_sort(a: torch.Tensor, axis: int = -1, descending: bool = False) -> Tensors:
    """Return tensors like the sorted elements and their indices."""
    _check_ordered("sort", a)
    _axis(a, axis)
    return a.new_empty(a.shape), a.new_empty(a.shape, dtype=torch.int64)


def fake_argsort(a: torch.Tensor, axis: int = -1, descending: bool = False) -> torch.Tensor:
    """Return a tensor like the indices of the sorted elements."""
    return fake_sort(a, axis, descending)[1]


def fake_topk(a: torch.Tensor, k: Any, axis: int = -1, largest: bool = True, sorted: bool = True) -> Tensors:
    """Return tensors like the first elements and their indices."""
    _check_ordered("topk", a)
    along = _axis(a, axis)
    length = a.shape[along] if a.ndim else 1
    for holds in (k >= 0, k <= length):  # of symbols, in a graph with lengths left open
        torch._check_value(holds, lambda: f"k: expected 0 to {length}, the length of the axis, got {k}")
    shape = (*a.shape[:along], k, *a.shape[along + 1 :]) if a.ndim else ()
    return a.new_empty(shape), a.new_empty(shape, dtype=torch.int64)


def topk_on_cuda(
    a: torch.Tensor, k: int, axis: int = -1, largest: bool = True, sorted: bool = True
) -> Tensors:
    """Enqueue a topk on the current stream; results are in PyTorch's memory."""
    outputs = fake_topk(a, k, axis, largest, sorted)
    if not outputs[0].numel():
        return outputs
    along, last = _axis(a, axis), max(a.ndim, 1) - 1
    lines = a.detach()
    if along != last:  # the core needs elements of a line side by side
        lines = lines.movedim(along, last)
        outputs = fake_topk(lines, k, last, largest, sorted)
    lines = lines.contiguous().view(-1, a.shape[along] if a.ndim else 1)
    values, indices = (each.view(-1, k) for each in outputs)
    name, index = NAMES[a.dtype], a.get_device()
    destination = view_of(values, name), _core.CUDA, index, current_stream(index)
    _core.order_topk(view_of(lines, name), k, largest, sorted, view_of(indices, "int64"), destination)
    if along != last:
        outputs = tuple([each.movedim(last, along).contiguous() for each in outputs])
    return outputs


def topk_on_host(
    a: torch.Tensor, k: int, axis: int = -1, largest: bool = True, sorted: bool = True
) -> Tensors:
    """Return a topk by the package's function."""
    outputs = fake_topk(a, k, axis, largest, sorted)
    results = _functions.topk(array_of(a), k, axis, largest, sorted)
    return tuple([tensor_of(each, out.dtype) for each, out in zip(results, outputs, strict=True)])


def sort_on_cuda(a: torch.Tensor, axis: int = -1, descending: bool = False) -> Tensors:
    """Enqueue a sort on the current stream."""
    fake_sort(a, axis, descending)
    return topk_on_cuda(a, a.shape[axis] if a.ndim else 1, axis, descending)


def sort_on_host(a: torch.Tensor, axis: int = -1, descending: bool = False) -> Tensors:
    """Return a sort by the package's function."""
    fake_sort(a, axis, descending)
    return topk_on_host(a, a.shape[axis] if a.ndim else 1, axis, descending)


def argsort_on_cuda(a: torch.Tensor, axis: int = -1, descending: bool = False) -> torch.Tensor:
    """Enqueue an argsort on the current stream."""
    return sort_on_cuda(a, axis, descending)[1]


def argsort_on_host(a: torch.Tensor, axis: int = -1, descending: bool = False) -> torch.Tensor:
    """Return an argsort by the package's function."""
    return sort_on_host(a, axis, descending)[1]


# Moments


def fake_moments(
    a: torch.Tensor, axis: list[int] | None = None, keepdims: bool = False, correction: float = 0
) -> Tensors:
    """Return tensors like mean, variance, skewness and kurtosis."""
    if a.dtype not in NAMES or a.dtype.is_complex:
        _check_ordered("moments", a)
    shape = rules.kept_shape(a.shape, axes_of(axis, a.ndim), keepdims)
    dtype = torch.float64 if is_whole(a.dtype) else a.dtype
    return tuple([a.new_empty(shape, dtype=dtype) for _ in range(4)])


def moments_on_cuda(
    a: torch.Tensor, axis: list[int] | None = None, keepdims: bool = False, correction: float = 0
) -> Tensors:
    """Enqueue moments on the current stream."""
    outputs = fake_moments(a, axis, keepdims, correction)
    axes = axes_of(axis, a.ndim)
    results = _functions.moments(a.detach(), axes, 4, correction, keepdims, as_device=True)[1:]
    return tuple([torch.from_dlpack(each).to(out.dtype) for each, out in zip(results, outputs, strict=True)])


def moments_on_host(
    a: torch.Tensor, axis: list[int] | None = None, keepdims: bool = False, correction: float = 0
) -> Tensors:
    """Return moments by the package's function."""
    outputs = fake_moments(a, axis, keepdims, correction)
    with np.errstate(all="ignore"):
        results = _functions.moments(array_of(a), axes_of(axis, a.ndim), 4, correction, keepdims)[1:]
    tensors = [torch.from_numpy(np.asarray(each, dtype=np.float64)) for each in results]
    return tuple([each.to(out.dtype).reshape(out.shape) for each, out in zip(tensors, outputs, strict=True)])
