"""Reductions on several devices: a registry of who does them, and the decorator that dispatches to it.

`gpureduce._states.sharded`, which stands above this package, registers itself when it is imported.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

_F = TypeVar("_F", bound=Callable[..., Any])


class MultiDeviceHandler(NamedTuple):
    """What reduces on several devices: `accepts` gets the arguments of a call, `reduce` its name as well."""

    accepts: Callable[[tuple[Any, ...], dict[str, Any]], bool]
    reduce: Callable[[str, tuple[Any, ...], dict[str, Any]], Any]


_handler: MultiDeviceHandler | None = None
_names: list[str] = []


def register_multi_device(handler: MultiDeviceHandler) -> None:
    """Let a handler do the calls that it accepts, of all functions under `multi_device`."""
    global _handler
    _handler = handler


def is_multi_device(args: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """Return whether a call is for several devices: by a list of devices, or by its array."""
    return _handler is not None and _handler.accepts(args, options)


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
        if _handler is not None and _handler.accepts(args, options):
            return _handler.reduce(function.__name__, args, options)
        return function(*args, **options)

    return cast(_F, dispatch)
