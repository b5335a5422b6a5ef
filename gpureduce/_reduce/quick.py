"""The short way for whole arrays without options, which leaves everything else to the engine."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from gpureduce import _core
from gpureduce._arrays.device_array import DeviceArray, DeviceView
from gpureduce._arrays.foreign import as_view
from gpureduce._device import devices
from gpureduce._device.devices import resolve
from gpureduce._rules.arguments import c_strides

_F = TypeVar("_F", bound=Callable[..., Any])


def quick(function: _F) -> _F:
    """Let a reduction of ``a`` alone, or with ``device=``, go to the core at once.

    What the core does not take as it is comes back as NotImplemented, and then, as with any other argument,
    the function itself is called.
    """
    op = function.__name__
    core, ndarray = _core.quick, np.ndarray

    @functools.wraps(function)
    def call(a: Any, *args: Any, **options: Any) -> Any:
        if not args and (not options or (len(options) == 1 and "device" in options)):
            if type(a) is ndarray:
                kind, index = resolve(options["device"]) if options else devices.default or resolve(None)
                result = core(a, op, kind, index)
            elif type(a) is DeviceArray and not options:
                result = core(a.flat_view, op, a.kind, a.index)
            elif isinstance(a, tuple):  # which the core would take for a view of device memory
                result = NotImplemented
            else:
                device = options.get("device")
                result = core(a, op) if device is None else core(a, op, *resolve(device))
                if result is NotImplemented:
                    view = as_view(a, device)
                    if view is not None:  # another library's array, which is not asked for it again
                        a, result = view, _of_view(op, view)
            if result is not NotImplemented:
                return result
        return function(a, *args, **options)

    return call


def _of_view(op: str, view: DeviceView) -> Any:
    """Reduce elements on a device that lie side by side."""
    if view.strides != c_strides(view.shape, view.dtype.itemsize):
        return NotImplemented
    return _core.quick(view.view_tuple(), op, view.kind, view.index)
