"""Arrays of other libraries on devices, without copies: DLPack and `__cuda_array_interface__`."""

from __future__ import annotations

import math
import operator
from functools import partial
from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.device_array import (
    CPU,
    CUDA,
    DLPACK_VERSION,
    MAX_BYTES,
    DeviceArray,
    DeviceView,
    checked_dtype,
)
from gpureduce._core import DeviceError
from gpureduce._device.devices import LEGACY_STREAM, Device, device_name, resolve
from gpureduce._rules.arguments import c_strides
from gpureduce._rules.dtypes import dtype_from_name
from gpureduce._rules.tensors import is_tensor, resolved

_CUDA_HOST, _CUDA_MANAGED = 3, 13  # DLPack device types
_ADDRESSES = 2**64


def _check_device(kind: int, index: int, device: str | Device | None) -> None:
    """Raise DeviceError if an array is not on the device of the call."""
    if device is not None and resolve(device) != (kind, index):
        where = device_name(kind, index)
        raise DeviceError(
            f"device: the array is on {where}, not on {str(device)!r}; "
            f"pass device={where!r} or no device, or copy the array first"
        )


def as_view(obj: Any, device: str | Device | None = None, name: str = "a") -> DeviceArray | DeviceView | None:
    """Return the elements of a device array without copying them.

    The call does not synchronize: the elements are valid for work ordered after the view's stream.

    Parameters
    ----------
    obj : object
        Anything.
    device : str or Device, optional
        Device of the call. Default: the device of the array.
    name : str
        The argument that errors name.

    Returns
    -------
    DeviceArray, DeviceView or None
        None for a host array, or an object without either protocol.

    Raises
    ------
    DeviceError
        If the array is not on `device`.
    TypeError
        If the dtype is not supported.
    ValueError, BufferError
        If the producer describes an invalid array, or refuses the export.
    """
    if isinstance(obj, (np.ndarray, np.generic, list, tuple, int, float, complex)):
        return None
    if isinstance(obj, (DeviceArray, DeviceView)):
        _check_device(obj._kind, obj._index, device)
        return obj
    if is_tensor(obj):
        if obj.device.type == "cpu":
            return None
        obj = resolved(obj, name)
    # DLPack first: PyTorch's __cuda_array_interface__ has no stream, so the call could not wait for it.
    if hasattr(obj, "__dlpack__") and hasattr(obj, "__dlpack_device__"):
        return _from_dlpack(obj, device)
    interface = getattr(obj, "__cuda_array_interface__", None)
    if interface is None and hasattr(obj, "__dlpack__") and not any(hasattr(obj, name) for name in _ON_HOST):
        kind = type(obj).__name__
        raise TypeError(f"DLPack: an object of type {kind} has __dlpack__, but no __dlpack_device__")
    return None if interface is None else _from_interface(obj, interface, device)


_ON_HOST = ("__array__", "__array_interface__", "__array_struct__")


def _interface_with_stream(obj: Any, index: int) -> dict | None:
    """Return the CUDA array interface, if it has a stream and a NumPy dtype."""
    try:
        # CuPy returns a stream of the current device.
        interface = _core.call_on(index, partial(getattr, obj, "__cuda_array_interface__"))
        complete = interface["version"] == 3 and type(interface["stream"]) is int
        return interface if complete and interface["typestr"][1] in "biufc" else None
    except Exception:  # optional for a DLPack producer
        return None


def _dlpack_device(obj: Any) -> tuple[int, int]:
    """Return the kind and the number of the device that a DLPack producer names."""
    named = obj.__dlpack_device__()
    try:
        kind, number = map(int, named)
    except (TypeError, ValueError):
        raise TypeError(f"DLPack: __dlpack_device__ returned {named!r}, not two integers") from None
    return kind, number


def _from_dlpack(obj: Any, device: str | Device | None) -> DeviceView | None:
    parts, stream = _core.dlpack_exchange(obj) or (None, None)
    if parts is None:
        if _says(obj, "is_neg"):
            # PyTorch views such as `z.conj().imag`: __dlpack__ does not export the negative bit.
            raise BufferError(
                "DLPack: a tensor with the negative bit set is not supported; pass tensor.resolve_neg()"
            )
        if _says(obj, "requires_grad"):
            raise BufferError("DLPack: a tensor that requires grad is not supported; pass tensor.detach()")
        kind, number = _dlpack_device(obj)
        if kind in (CPU, _CUDA_HOST):
            return None
        if kind not in (CUDA, _CUDA_MANAGED):
            raise BufferError(f"DLPack: arrays on devices of DLPack's type {kind} are not supported")
        # Managed memory belongs to no device in particular.
        index = resolve(device)[1] if kind == _CUDA_MANAGED and device is not None else number
        _check_device(_core.CUDA, index, device)
        # Requesting a capsule enqueues work on the default stream, which a capture may forbid.
        interface = _interface_with_stream(obj, number) if kind == CUDA else None
        if interface is not None:
            return _from_interface(obj, interface, device)
        parts = _core.dlpack_import(_capsule_of(obj, number))
        if parts[4:6] != (kind, number):
            raise BufferError(f"DLPack: __dlpack_device__ says {(kind, number)}, the capsule {parts[4:6]}")
    else:
        index = number = parts[5]
        _check_device(_core.CUDA, index, device)
    pointer, shape, strides, name, _, _, read_only, owner = parts
    view = _view("DLPack", pointer, shape, strides, dtype_from_name(name), index, read_only, owner)
    view._producer, view._says_stream = obj, stream is not None
    view.stream = LEGACY_STREAM if stream in (None, 0) else stream  # capsules use the default stream
    if number != index:  # streams of two devices cannot be ordered from here
        _core.stream_wait(_core.CUDA, number, LEGACY_STREAM)
        view._producer = view.stream = None
    return view


def _says(obj: Any, name: str) -> bool:
    answer = getattr(obj, name, False)
    return bool(answer() if callable(answer) else answer)


def _capsule_of(obj: Any, index: int) -> object:
    # Producers expect a stream of the current device: CuPy orders its work there, and PyTorch refuses arrays
    # of another device.
    export = partial(_core.call_on, index)
    try:
        return export(partial(obj.__dlpack__, stream=LEGACY_STREAM, max_version=DLPACK_VERSION))
    except TypeError:  # a producer that predates versions
        return export(partial(obj.__dlpack__, stream=LEGACY_STREAM))


def _from_interface(obj: Any, interface: Any, device: str | Device | None) -> DeviceView:
    protocol = "__cuda_array_interface__"
    try:
        version, typestr = operator.index(interface["version"]), interface["typestr"]
        shape = tuple(operator.index(length) for length in interface["shape"])
        pointer, read_only = interface["data"]
        pointer = operator.index(pointer)
        strides = interface.get("strides")
        if strides is not None:
            strides = tuple(operator.index(stride) for stride in strides)
        stream = interface.get("stream")
        stream = stream if stream is None else operator.index(stream)
        if not isinstance(typestr, str):  # NumPy makes float64 of None
            raise TypeError(f"typestr is {typestr!r}")
        dtype = np.dtype(typestr)
    except (AttributeError, LookupError, SyntaxError, TypeError, ValueError) as error:  # NumPy parses typestr
        raise ValueError(f"{protocol}: entries are missing or malformed ({error!r})") from error
    if not 0 <= version <= 3:
        raise ValueError(f"{protocol}: version {version}; 0 to 3 are supported")
    if version < 3:  # it names no stream
        stream = None
    if interface.get("mask") is not None:
        raise TypeError(f"{protocol}: masked arrays are not supported")
    if not dtype.isnative:
        raise TypeError(f"{protocol}: byte order of {typestr!r} is not supported on a device")
    if stream is not None and stream <= 0:
        raise ValueError(f"{protocol}: stream {stream} is not valid; 1 is the legacy default stream")
    if not 0 <= pointer < _ADDRESSES:
        raise ValueError(f"{protocol}: {pointer} is not a valid address")
    # The interface does not have the device; an empty array need not have a valid address.
    index = _core.pointer_device(pointer) if pointer and 0 not in shape else resolve(device or "cuda")[1]
    _check_device(_core.CUDA, index, device)
    view = _view(
        protocol, pointer, shape, strides, checked_dtype(dtype, protocol), index, bool(read_only), obj
    )
    view._producer, view.stream, view._says_stream = obj, stream, stream is not None
    return view


def _view(protocol, pointer, shape, strides, dtype, index, read_only, owner) -> DeviceView:
    """Make a view; raise for a layout outside the address space."""
    item = dtype.itemsize
    packed = c_strides(shape, item)
    if strides is None:
        strides = packed
    if len(strides) != len(shape) or min(shape, default=0) < 0:
        raise ValueError(f"{protocol}: shape {shape} and strides {strides} are not those of an array")
    size = math.prod(shape)
    if (size or math.prod(length for length in shape if length)) * item > MAX_BYTES:
        raise ValueError(f"{protocol}: an array of shape {shape} is too large")
    if size == 0:
        pointer, strides = 0, packed
    else:
        first, last = pointer, pointer + size * item
        if strides != packed:
            # The stride of an axis of length 1 may have any value.
            strides = tuple(p if n == 1 else s for p, s, n in zip(packed, strides, shape, strict=True))
            reach = [(length - 1) * stride for length, stride in zip(shape, strides, strict=True)]
            first = pointer + sum(step for step in reach if step < 0)
            last = pointer + sum(step for step in reach if step > 0) + item
        if first <= 0 or last > _ADDRESSES:
            raise ValueError(
                f"{protocol}: shape {shape} and strides {strides} exceed the address space at {pointer:#x}"
            )
        if pointer % item or (strides != packed and any(stride % item for stride in strides)):
            raise ValueError(f"{protocol}: the elements are not aligned to their {item} bytes")
    view = DeviceView()
    view._pointer, view.shape, view.strides, view.dtype = pointer, shape, strides, dtype
    view._kind, view._index = _core.CUDA, index
    view._read_only, view._owner = read_only, owner
    return view
