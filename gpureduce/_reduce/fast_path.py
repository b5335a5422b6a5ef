"""Decorators by which a public function calls the core directly; its Python code is the fallback."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

from gpureduce import _core
from gpureduce._reduce import floating
from gpureduce._reduce.multi_device import is_multi_device, multi_device

_F = TypeVar("_F", bound=Callable[..., Any])
# Called with a result on the host that is not finite: `floating.reduced` has its parameters.
Report = Callable[..., None]


def fast_path(function: _F, report: Report | None = None) -> _F:
    """Let a reduction call the core's operator of its name, on one device; also take several devices."""
    return fast_path_op(function.__name__, 0, report)(multi_device(function))


def fast_path_exact(op: str) -> Callable[[_F], _F]:
    """Let a reduction that is always exact call the core's exact operator; also take several devices."""
    report = partial(floating.report_fp_status, op)
    decorator = fast_path_with(
        lambda positional, others: _core.fast_path(op, positional, others, report, 0, True)
    )
    return lambda function: decorator(multi_device(function))


def fast_path_op(op: str, parameter: int = 0, report: Report | None = None) -> Callable[[_F], _F]:
    """Let a reduction on one device call an operator of the core."""
    reporter = report or partial(floating.report_fp_status, op)
    return fast_path_with(
        lambda positional, others: _core.fast_path(op, positional, others, reporter, parameter)
    )


def fast_path_named(report: Callable[..., Any], name: str | None = None) -> Callable[[_F], _F]:
    """Let a function that is not an operator's reduction call the core's callable, of its name by default.

    The core calls `report` with a nonfinite host result, or to build a result of two arrays.
    """

    def decorated(function: _F) -> _F:
        core = name or function.__name__
        return fast_path_with(lambda positional, others: _core.fast_path(core, positional, others, report))(
            function
        )

    return decorated


def core_callable(
    op: str, positional: str, others: str, report: Report, parameter: int = 0
) -> Callable[..., Any]:
    """Return the core's callable for an operator and parameter names, for functions with more parameters."""
    return _core.fast_path(op, tuple(positional.split()), tuple(others.split()), report, parameter)


def fast_path_with(
    make_core: Callable[[tuple[str, ...], tuple[str, ...]], Callable[..., Any]],
) -> Callable[[_F], _F]:
    """Let a function call the core's callable for its positional and its keyword-only parameters.

    The core returns NotImplemented, before any work, for arguments that it does not support, and where there
    is no memory for the workspace of group sums; then the Python function runs.
    """

    def decorated(function: _F) -> _F:
        code = inspect.unwrap(function).__code__
        count = code.co_argcount
        others = code.co_varnames[count : count + code.co_kwonlyargcount]
        core = make_core(code.co_varnames[:count], others)

        @functools.wraps(function)
        def core_or_python(*args: Any, **options: Any) -> Any:
            try:
                result = core(*args, **options)
            except (BufferError, TypeError, ValueError, RuntimeError):
                if not is_multi_device(args, options):  # JAX refuses DLPack of an array on several devices
                    raise
                result = NotImplemented
            return function(*args, **options) if result is NotImplemented else result

        return cast(_F, core_or_python)

    return decorated
