"""Copies to a device: of host arrays, and of other libraries' device arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from gpureduce import _core
from gpureduce._arrays import device_array
from gpureduce._arrays.copies import gathered, to_host
from gpureduce._arrays.device_array import DeviceArray, DeviceView
from gpureduce._arrays.operand import device_view
from gpureduce._device.devices import LEGACY_STREAM, Device, resolve
from gpureduce._rules.dtypes import require_supported

if TYPE_CHECKING:
    from gpureduce._reduce.types import AnyArray


def to_device(a: AnyArray, device: str | Device | None = None) -> DeviceArray:
    """Copy an array to a device.

    Parameters
    ----------
    a : array_like or device array
        Array of a supported dtype, of any shape and strides. A `DeviceArray` that is on the device already is
        returned unchanged; another library's array on a device is copied.
    device : str or Device, optional
        Destination: ``"cuda"``, ``"cuda:1"`` or ``"sim"``. Default: the device of `a`, or for a host array
        the default device (see `set_default_device`).

    Returns
    -------
    DeviceArray

    Raises
    ------
    TypeError
        If the dtype is not supported, or `a` is a masked array.
    DeviceError
        If the device does not exist or fails.
    MemoryError
        If the device runs out of memory.

    Examples
    --------
    >>> import gpureduce
    >>> a = gpureduce.to_device([[1.0, 2.0], [3.0, 4.0]], device="sim")
    >>> a
    DeviceArray([[1., 2.],
                 [3., 4.]], dtype=float64, device='sim')
    >>> a.numpy().sum()
    np.float64(10.0)
    """
    view = device_view(a, None, "a")
    if view is None or isinstance(view, DeviceArray):
        return device_array.to_device(cast(Any, a), device)
    require_supported(view.dtype, "a")
    view.stream = LEGACY_STREAM if view.stream is None else view.stream
    if device is not None and resolve(device) != (view._kind, view._index):
        return device_array.to_device(to_host(view), device)
    return _copied(view)


def _copied(view: DeviceView) -> DeviceArray:
    """Return a copy on the device of another library's array, made in that library's stream."""
    copy: DeviceArray = gathered(view)
    following = view._next_stream()
    if following is None:  # the library may change or free the elements after the call
        _core.keep_alive_until_done(view._kind, view._index, copy.stream, view)
        following = LEGACY_STREAM
    if following != copy.stream:
        _core.stream_order(view._kind, view._index, copy.stream, following)
    return copy
