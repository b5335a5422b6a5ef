"""The way of nearly all calls: straight to the core, which knows the arguments of the public functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

from gpureduce import _core
from gpureduce._reduce import several

_F = TypeVar("_F", bound=Callable[..., Any])


def quick(function: _F) -> _F:
    """Let a reduction go to the core at once."""
    return through(partial(_core.reducer, function.__name__))(several.several(function))


def quick_on_one_device(function: _F) -> _F:
    """Let a reduction that has no states of parts go to the core at once."""
    return through(partial(_core.reducer, function.__name__))(function)


def exactly(op: str) -> Callable[[_F], _F]:
    """Let a reduction that is always exact go to that of the core at once."""

    def decorated(function: _F) -> _F:
        way = through(lambda positional, others: _core.reducer(op, positional, others, 0, True))
        return way(several.several(function))

    return decorated


def shared(op: str, parameter: int = 0) -> Callable[[_F], _F]:
    """Let a reduction go at once to an operator that several public functions share."""
    return through(lambda positional, others: _core.reducer(op, positional, others, parameter))


def core_of(op: str, positional: str, others: str, parameter: int = 0) -> Callable[..., Any]:
    """Return what the core has for an operator and names of parameters, for functions that have more."""
    return _core.reducer(op, tuple(positional.split()), tuple(others.split()), parameter)


def through(core_of: Callable[[tuple[str, ...], tuple[str, ...]], Callable[..., Any]]) -> Callable[[_F], _F]:
    """Let a function go at once to what the core has for its parameters, the positional and the others.

    What the core does not take as it is comes back as NotImplemented, before anything was done, and then the
    function itself is called.
    """

    def decorated(function: _F) -> _F:
        named = inspect.Parameter.KEYWORD_ONLY
        parameters = inspect.signature(function).parameters.values()
        positional = tuple(each.name for each in parameters if each.kind is not named)
        others = tuple(each.name for each in parameters if each.kind is named)
        core = core_of(positional, others)

        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            try:
                result = core(*args, **options)
            except (BufferError, TypeError, ValueError, RuntimeError):
                if not several.wanted(args, options):  # as an array of JAX on several devices
                    raise
                result = NotImplemented
            return function(*args, **options) if result is NotImplemented else result

        return cast(_F, call)

    return decorated
