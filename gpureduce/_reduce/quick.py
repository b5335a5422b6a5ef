"""The way of nearly all calls: straight to the core, which knows the arguments of the public functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

from gpureduce import _core
from gpureduce._reduce import floating, several

_F = TypeVar("_F", bound=Callable[..., Any])
# Called with a result on the host that is not finite: `floating.reduced` says what it gets.
Report = Callable[..., None]


def quick(function: _F, report: Report | None = None) -> _F:
    """Let a reduction go to the core at once."""
    return shared(function.__name__, 0, report)(several.several(function))


def exactly(op: str) -> Callable[[_F], _F]:
    """Let a reduction that is always exact go to that of the core at once."""
    report = partial(floating.look_at, op)
    way = through(lambda positional, others: _core.fast_path(op, positional, others, report, 0, True))
    return lambda function: way(several.several(function))


def shared(op: str, parameter: int = 0, report: Report | None = None) -> Callable[[_F], _F]:
    """Let a reduction on one device go to an operator of the core at once."""
    tell = report or partial(floating.look_at, op)
    return through(lambda positional, others: _core.fast_path(op, positional, others, tell, parameter))


def core_of(op: str, positional: str, others: str, report: Report, parameter: int = 0) -> Callable[..., Any]:
    """Return what the core has for an operator and names of parameters, for functions that have more."""
    return _core.fast_path(op, tuple(positional.split()), tuple(others.split()), report, parameter)


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
