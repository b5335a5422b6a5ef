"""Reductions on several devices: the registry of their handler, and the decorator that dispatches to it.

`gpureduce._states.sharded`, which stands above this package, registers its handler when it is imported. The
first call that may be for several devices imports it: `gpureduce/__init__.py` has registered its name.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

_F = TypeVar("_F", bound=Callable[..., Any])


class MultiDeviceHandler(NamedTuple):
    """Handler of calls on several devices: `accepts` gets the arguments of a call, `reduce` its name, too."""

    accepts: Callable[[tuple[Any, ...], dict[str, Any]], bool]
    reduce: Callable[[str, tuple[Any, ...], dict[str, Any]], Any]


_handler: MultiDeviceHandler | None = None
_handler_module = ""
# Arrays of these packages are on one device, except for `Sharded`, whose module has registered a handler.
_SINGLE = ("builtins", "numpy", "gpureduce")
_names: list[str] = []


def register_multi_device(handler: MultiDeviceHandler) -> None:
    """Register a handler for the calls that it accepts, of all functions under `multi_device`."""
    global _handler
    _handler = handler


def register_multi_device_module(name: str) -> None:
    """Name the module that registers a handler when it is imported."""
    global _handler_module
    _handler_module = name


def _find_handler(args: tuple[Any, ...], options: dict[str, Any]) -> MultiDeviceHandler | None:
    """Return the handler if it accepts a call."""
    if _handler is None:
        device = options.get("device")
        array = args[0] if args else options.get("a")
        package = type(array).__module__.partition(".")[0]
        is_list = isinstance(device, (list, tuple)) or (isinstance(device, str) and device == "cuda:all")
        if not is_list and package in _SINGLE:
            return None
        importlib.import_module(_handler_module)
    return _handler if _handler is not None and _handler.accepts(args, options) else None


def is_multi_device(args: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """Return whether a call is for several devices: by a list of devices, or by its array."""
    return _find_handler(args, options) is not None


def multi_device_names() -> list[str]:
    """Return the names of the public functions that take several devices."""
    return sorted(_names)


def takes_multi_device(function: _F) -> _F:
    """Record that a public function takes several devices, by calls of functions under `multi_device`."""
    _names.append(function.__name__)
    return function


def multi_device(function: _F) -> _F:
    """Let a function take a list of devices, and arrays whose parts are on several."""
    takes_multi_device(function)

    @functools.wraps(function)
    def dispatch(*args: Any, **options: Any) -> Any:
        handler = _find_handler(args, options)
        if handler is not None:
            return handler.reduce(function.__name__, args, options)
        return function(*args, **options)

    return cast(_F, dispatch)
