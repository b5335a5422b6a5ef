"""Operands: host and device arrays in the form that the core takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpureduce._arrays.device_array import DeviceArray, DeviceView, to_device
from gpureduce._arrays.foreign import as_view
from gpureduce._device.devices import Device, device_name, resolve
from gpureduce._rules.arguments import (
    as_array,
    broadcast_strides,
    host_array,
    host_mask,
    reject_lazy,
    reject_masked,
)
from gpureduce._rules.dtypes import BOOL, require_supported


@dataclass(slots=True)
class Operand:
    """An array in the form that the core takes, and its attributes; `view` keeps a device array alive.

    `numpy_dtype` is the dtype for NumPy's promotion rules, if it differs in name: `longlong`.
    """

    handle: Any  # a NumPy array, or for a device (pointer, shape, strides, dtype)
    shape: tuple[int, ...]
    dtype: np.dtype
    kind: int
    index: int
    view: DeviceArray | DeviceView | None = None
    numpy_dtype: np.dtype | None = None

    @property
    def rule_dtype(self) -> np.dtype:
        """Dtype that determines the dtype of the result."""
        return self.dtype if self.numpy_dtype is None else self.numpy_dtype

    def cast(self, dtype: np.dtype) -> Operand:
        """Return the operand in another dtype."""
        if self.dtype == dtype:
            return self
        if self.view is not None:
            raise TypeError(
                f"dtype: a device array is reduced in its own dtype, {self.dtype}, not in {dtype}; "
                "convert it before"
            )
        with np.errstate(over="ignore"):  # an overflow shows in the result
            return replace(self, handle=self.handle.astype(dtype), dtype=dtype, numpy_dtype=None)

    def with_strides(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> Operand:
        """Return an operand of the same device memory with another shape and strides."""
        return replace(self, handle=(self.handle[0], shape, strides, self.handle[3]), shape=shape)


def device_view(a: Any, device: str | Device | None, name: str = "a") -> DeviceArray | DeviceView | None:
    """Return a view of an array on a device; None for everything else."""
    if isinstance(a, (np.ndarray, np.generic)):
        return None
    if isinstance(a, DeviceView) or hasattr(a, "__dlpack__") or hasattr(a, "__cuda_array_interface__"):
        return as_view(a, device, name)
    return None


def _of_view(view: DeviceArray | DeviceView, name: str) -> Operand:
    require_supported(view.dtype, name)
    return Operand(view._view_tuple(), view.shape, view.dtype, view._kind, view._index, view)


def as_operand(a: Any, device: str | Device | None, name: str = "a") -> Operand:
    """Convert a host or device array to an operand."""
    if type(a) is DeviceArray and device is None:  # whose attributes are known
        return Operand(a._view_tuple(), a.shape, a.dtype, a._kind, a._index, a)
    view = None
    if type(a) is not np.ndarray:
        reject_masked(a, name)
        reject_lazy(a, name)
        view = device_view(a, device, name)
    if view is not None:
        return _of_view(view, name)
    source = as_array(a, name)
    array = host_array(source, name)
    operand = Operand(array, array.shape, array.dtype, *resolve(device))
    if source.dtype.char in "qQ":
        operand.numpy_dtype = np.dtype(source.dtype.char)
    return operand


def as_operand_like(a: Any, first: Operand, name: str) -> Operand:
    """Convert a host array, or an array on the device of another operand."""
    if type(a) is DeviceArray and a._kind == first.kind and a._index == first.index:
        return as_operand(a, None, name)
    return as_operand(a, device_name(first.kind, first.index), name)


def _repeated(mask: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    try:
        return np.broadcast_to(mask, shape)
    except ValueError:
        raise ValueError(f"where: shape {mask.shape} does not broadcast to {shape}") from None


def take_mask(where: Any, operand: Operand, before_copy: Callable[[], None] | None = None) -> Operand:
    """Convert ``where=``, broadcast to the shape of `operand`; `before_copy` is called before a copy."""
    device = device_name(operand.kind, operand.index)
    view = device_view(where, device, "where")
    if view is None:
        mask = host_mask(where)
        if operand.view is None:
            mask = _repeated(mask, operand.shape)
            return Operand(mask, mask.shape, mask.dtype, operand.kind, operand.index)
        if before_copy is not None:
            before_copy()
        view = to_device(mask, device)
    elif operand.view is None:
        raise TypeError("where: the mask is on a device, but the array is in host memory")
    if view.dtype != BOOL:
        raise TypeError(f"where: expected bool, got an array of {view.dtype}")
    strides = broadcast_strides(view.shape, view.strides, operand.shape)
    return _of_view(view, "where").with_strides(operand.shape, strides)
