"""Calls of operators on plain GPU tensors without PyTorch's dispatcher, which costs more than the rest.

The core parses the arguments, launches the kernels on PyTorch's current stream and returns a new tensor. It
does so only if nothing would see the operator: no mode, transform, tracer, profiler or autocast is active,
and no argument is of a subclass of `torch.Tensor` except parameters. Otherwise the operator is called.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar, cast

from gpureduce import _core
from gpureduce._torch import torch

Function = Callable[..., torch.Tensor]
# Keyword-only parameters of public functions that the core takes.
_REDUCING = ("exact", "correction", "residual", "where", "dim", "keepdim")
_CONVOLVING = ("bias", "stride", "padding", "dilation", "groups", "layout", "precision")
_KNOWN = frozenset(_REDUCING + _CONVOLVING)
_PYTORCHS = (("dim", "axis"), ("keepdim", "keepdims"))  # PyTorch's names of parameters

_Guards = tuple[tuple[Any, str | None, Any], ...]
_Keys = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def _find_guards() -> tuple[_Guards, _Keys] | None:
    """Return what the core compares before a call: an object, its attribute or None to call it, the value.

    And dispatch keys: those that the thread's state must not include, those that it must exclude, and those
    that it does not exclude where autograd records. None: this PyTorch lacks something, or its tensors have
    no C functions for DLPack.
    """
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        return None
    _, has_keys = _core.torch_shim()
    keys: _Keys = (), (), ()
    try:
        guards: _Guards = (
            (torch._C._len_torch_function_stack, None, 0),
            (torch._C._autograd._profiler_enabled, None, False),
            (torch._C._get_tracing_state, None, None),
            (torch.autograd.forward_ad, "_current_level", -1),
        )
        if has_keys:
            names = torch._C.DispatchKey
            keys = (
                (int(names.Python), int(names.FuncTorchDynamicLayerFrontMode)),
                (int(names.AutocastCUDA),),
                (int(names.AutogradCUDA),),
            )
        else:
            guards += (
                (torch._C._len_torch_dispatch_stack, None, 0),
                (torch._C._functorch.peek_interpreter_stack, None, None),
                (torch.is_autocast_enabled, None, False),
            )
    except AttributeError:
        return None
    return guards, keys


_guards = _find_guards()


_is_excluded = torch._C._dispatch_tls_is_dispatch_key_excluded
_AUTOGRAD = torch._C.DispatchKey.AutogradCUDA


def _records() -> bool:
    """Return whether autograd records operators, for a shim that has no dispatch keys."""
    return torch.is_grad_enabled() and not _is_excluded(_AUTOGRAD)


class Recording(NamedTuple):
    """How autograd records an operator with a known result: by a function of the inputs and the result.

    The result is an item of a list, as a tensor would be one of the node's inputs.
    """

    parameters: tuple[str, ...]
    apply: Callable[..., Any]
    defaults: tuple


recordings: dict[str, Recording | None] = {}  # by the operator's name; None: results have no gradient
Record = tuple[Callable[..., Any], tuple, int, Callable[..., Any]]


def core_call(
    op: str,
    parameters: tuple[str, ...],
    dtypes: Mapping[str, torch.dtype],
    record: Record | bool | None = None,
    exact: bool = False,
    named: tuple[str, ...] = (),
    report: Callable[..., Any] | None = None,
) -> Function | None:
    """Return the core's function of tensors for these parameters; None if it cannot be used.

    `dtypes` maps dtypes of the core's results to those of tensors. `record` is what `recorder` returns, for
    calls that autograd has to record; True: the result has no gradient. The function returns NotImplemented,
    before any work, for calls that need the operator. `report` makes the result of values and indices.
    """
    if _guards is None or not torch.cuda.is_available():
        return None
    rules = (
        (torch.Tensor, torch.nn.Parameter),
        *_guards,
        torch.is_grad_enabled if _guards[1][2] else _records,
        record,
        dict(dtypes),
    )
    return _core.fast_path(op, parameters, named, report, 0, exact, rules)


def direct(operator: Function, core: Function | None) -> Function:
    """Return a function that calls the core, or the operator where the core does not take the call."""
    if core is None:
        return operator

    def call(*inputs):
        if not torch.compiler.is_compiling():
            result = core(*inputs)
            if result is not NotImplemented:
                return result
        return operator(*inputs)

    return call


def recorder(recording: Recording, parameters: tuple[str, ...]) -> Record:
    """Return what records a result of the core as the operator's.

    It is the function of the node, the defaults of its arguments, how many positional arguments of the public
    function are its first ones, and a function for other calls of the result and their arguments.
    `parameters` are those of the public function, by position; the operator's are among them or options.
    """
    names, apply, defaults = recording
    shared = min(len(parameters), len(names))
    while parameters[:shared] != names[:shared]:
        shared -= 1

    def record(result: Any, *args: Any, **options: Any) -> Any:
        given = dict(zip(parameters, args, strict=False)) | options
        for torchs, name in _PYTORCHS:
            if given.get(torchs) is not None:
                given[name] = given[torchs]
        inputs = [given.get(name, value) for name, value in zip(names, defaults, strict=True)]
        outputs = apply(*inputs, [result])
        return type(result)(*outputs) if isinstance(outputs, tuple) else outputs

    return apply, defaults, shared, record


_F = TypeVar("_F", bound=Callable[..., Any])


def shortcut(
    op: str, dtypes: Mapping[str, torch.dtype], report: Callable[..., Any] | None = None
) -> Callable[[_F], _F]:
    """Let the core take calls of a public function; in Python it checks arguments and calls its operator.

    The operator has the name of the function. Parameters that the core does not take are keyword-only, and
    leave the call to Python if they are given. A call that autograd records gets the function of the operator
    as its node.
    """

    def decorated(function: _F) -> _F:
        code = function.__code__
        count, names = code.co_argcount, code.co_varnames
        positional, named = names[:count], names[count : count + code.co_kwonlyargcount]
        known = tuple([name for name in named if name in _KNOWN])
        record: Record | bool | None = None
        if function.__name__ in recordings:
            recording = recordings[function.__name__]
            record = True if recording is None else recorder(recording, positional)
        core = core_call(op, positional, dtypes, record, named=known, report=report)
        if core is None:
            return function

        @functools.wraps(function)
        def core_or_python(*args: Any, **options: Any) -> Any:
            if not torch.compiler.is_compiling():
                result = core(*args, **options)
                if result is not NotImplemented:
                    return result
            return function(*args, **options)

        return cast(_F, core_or_python)

    return decorated
