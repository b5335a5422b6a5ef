"""Reductions on several devices at once: the way to those above, who know how."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

_F = TypeVar("_F", bound=Callable[..., Any])


def _never(args: tuple[Any, ...], options: dict[str, Any]) -> bool:
    return False


def _nothing(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    raise NotImplementedError


# Set by gpureduce/_states/spread.py: whether arguments are for it, and what it makes of them.
wanted: Callable[[tuple[Any, ...], dict[str, Any]], bool] = _never
reduce: Callable[[str, tuple[Any, ...], dict[str, Any]], Any] = _nothing


names: list[str] = []  # of the public functions that take a list of devices


def takes_several(function: _F) -> _F:
    """Note that a public function takes what `several` lets a reduction take."""
    names.append(function.__name__)
    return function


def several(function: _F) -> _F:
    """Let a reduction take a list of devices, and arrays that lie on several."""
    takes_several(function)

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if wanted(args, options):
            return reduce(function.__name__, args, options)
        return function(*args, **options)

    return cast(_F, call)
