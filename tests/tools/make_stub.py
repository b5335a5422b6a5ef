"""Writes gpureduce/_functions.pyi: the public functions as type checkers and editors see them.

And gpureduce/_arrays/reductions.pyi: those whose first parameter is `a`, as methods of a DeviceArray.

Their parameters are those in the source, where each function has one signature. What the result is for which
arguments is said here, as overloads; the last one is the signature itself, with Any.
"""

import ast
import textwrap
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "gpureduce"
FUNCTIONS, STUB = PACKAGE / "_functions.py", PACKAGE / "_functions.pyi"
METHODS = PACKAGE / "_arrays" / "reductions.pyi"

HEAD = '''\
"""Made by tests/tools/make_stub.py."""

# fmt: off
from typing import Any, Literal, SupportsIndex, TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray
from typing_extensions import Unpack

from gpureduce._arrays.device_array import DeviceArray
from gpureduce._device.devices import Device
from gpureduce._order.topk import TopK
from gpureduce._order.unique import UniqueCounts
from gpureduce._reduce.moments import Moments
from gpureduce._reduce.progress import Progress
from gpureduce._reduce.types import AnyArray, Arguments, Devices, Out, Scalar, Stream

_AnyT = TypeVar("_AnyT", bound=np.generic)
_InexactT = TypeVar("_InexactT", bound=np.inexact[Any])
_FloatT = TypeVar("_FloatT", bound=np.floating[Any])
'''
METHODS_HEAD = '''\
"""Made by tests/tools/make_stub.py."""

# fmt: off
from types import ModuleType
from typing import Any, Literal, SupportsIndex, overload

import numpy as np
from numpy.typing import DTypeLike
from typing_extensions import Unpack

from gpureduce._arrays.device_array import DeviceArray
from gpureduce._device.devices import Device
from gpureduce._order.topk import TopK
from gpureduce._order.unique import UniqueCounts
from gpureduce._reduce.moments import Moments
from gpureduce._reduce.progress import Progress
from gpureduce._reduce.types import AnyArray, Arguments, Devices, Out, Scalar, Stream

class Reductions:
    def __array_function__(
        self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any: ...
    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType: ...
    def __matmul__(self, other: AnyArray) -> Any: ...
    def __rmatmul__(self, other: AnyArray) -> Any: ...
'''
AXES = "SupportsIndex | tuple[SupportsIndex, ...]"
# Parameters as they are when a host number is returned, and an array on a device.
NUMBER = {
    "axis": "None = None", "dtype": "None = None", "out": "None = None", "keepdims": "Literal[False] = False",
    "as_device": "Literal[False] | None = None",
}  # fmt: skip
KEPT = {"out": "None = None", "as_device": "Literal[True] | None = None"}
ON_DEVICE = {"out": "None = None", "as_device": "Literal[True]"}
# Whose result has the dtype of the elements: any, or one of floats.
SAME = (
    "min", "max", "bitwise_and", "bitwise_or", "bitwise_xor", "fmin", "fmax", "nanmin", "nanmax", "ptp",
)  # fmt: skip
SAME_FLOATS = ("sum", "fsum", "prod", "mean", "dot", "nansum", "nanprod", "nanmean", "logsumexp")
# Whose result has the dtype of real floats, and is a float64 of integers.
REAL = ("var", "std", "nanvar", "nanstd", "norm", "median", "nanmedian")
REALS = {"np.integer[Any] | np.bool_": "np.float64", "_FloatT": "_FloatT"}
# Of a type of its own, whatever the arguments.
NO_METHODS = ("sort",)  # as in gpureduce/_methods.py
OWN = {"moments": "Moments", "topk": "TopK", "unique_counts": "UniqueCounts"}
FIXED = {
    "any": "np.bool_", "all": "np.bool_",
    "argmin": "np.int64", "argmax": "np.int64", "count_nonzero": "np.int64",
    "nanargmin": "np.int64", "nanargmax": "np.int64", "logical_xor": "np.bool_",
}  # fmt: skip
# Of which only the device says what the result is, and of which arguments alone say nothing.
BY_DEVICE = ("inner", "norm", "trace", "vecdot")
OPEN = {"average": "Any", "softmax_denominator": "tuple[Any, Any]"}


def rules(name, parameters):
    """Yield what parameters are, and the result."""
    if name in OPEN:
        yield {}, OPEN[name]
        return
    arrays = [each for each in ("a", "b", "x", "w") if each in parameters]
    if name in FIXED:
        yield NUMBER, FIXED[name]
    elif name in REAL:
        for element, result in REALS.items():
            yield NUMBER | {"a": f"NDArray[{element}]"}, result
    elif name in SAME + SAME_FLOATS:
        kind = "_AnyT" if name in SAME else "_InexactT"
        yield NUMBER | dict.fromkeys(arrays, f"NDArray[{kind}]"), kind
    elif name == "conv2d":
        floats = {"out": "None = None", "dtype": "None = None", "as_device": NUMBER["as_device"]}
        yield floats | dict.fromkeys(arrays, "NDArray[_InexactT]"), "NDArray[_InexactT]"
    if name in BY_DEVICE:
        pass
    elif name == "bincount":
        yield KEPT | {"x": "DeviceArray"}, "DeviceArray"
    elif name in ("segment_reduce", "reduceat", "group_reduce"):
        yield KEPT | {"a": "DeviceArray"}, "DeviceArray"
    elif name in ("sort", "argsort"):
        element, result = ("_AnyT", "NDArray[_AnyT]") if name == "sort" else ("Any", "NDArray[np.int64]")
        yield {"a": f"NDArray[{element}]", "out": "None = None", "as_device": NUMBER["as_device"]}, result
        yield KEPT | {"a": "DeviceArray"}, "DeviceArray"
    elif name in ("cummax", "cummin"):
        kept = {"out": "None = None", "as_device": NUMBER["as_device"]}
        yield kept | {"a": "NDArray[_AnyT]"}, "NDArray[_AnyT]"
        yield KEPT | {"a": "DeviceArray"}, "DeviceArray"
    elif "cum" in name:
        kept = {"dtype": "None = None", "out": "None = None", "as_device": NUMBER["as_device"]}
        yield kept | {"a": "NDArray[_InexactT]"}, "NDArray[_InexactT]"
        yield KEPT | {"a": "DeviceArray"}, "DeviceArray"
    elif "axis" in parameters:
        axis = parameters["axis"].split(" | None")[0]
        yield KEPT | {"a": "DeviceArray", "axis": axis}, "DeviceArray"
    elif name != "dot":
        yield KEPT | dict.fromkeys(arrays, "DeviceArray"), "DeviceArray"
    yield ON_DEVICE, "DeviceArray"
    yield {}, "Any"


def parameters_of(function):
    """Return the parameters of a function in the source, with annotations and defaults; "*" between."""
    given = function.args
    positional = given.args
    defaults = [None] * (len(positional) - len(given.defaults)) + given.defaults
    found = dict(map(_parameter, positional, defaults))
    if given.kwonlyargs:
        found["*"] = ""
        found |= dict(map(_parameter, given.kwonlyargs, given.kw_defaults))
    if given.kwarg:
        found[f"**{given.kwarg.arg}"] = ast.unparse(given.kwarg.annotation)
    return found


def _parameter(argument, default):
    text = ast.unparse(argument.annotation)
    if default is not None:
        value = ast.unparse(default)
        text += f" = {'...' if value == 'NO_VALUE' else value}"
    return argument.arg, text.replace("'", '"')


def definition(name, parameters, result, width=106):
    """Return a function of the stub, in lines that break after a parameter only."""
    words = [f"{each}: {text}" if text else each for each, text in parameters.items()]
    unbroken = ", ".join(word.replace(" ", "~") for word in words) + ","
    body = textwrap.fill(unbroken, width, break_long_words=False, break_on_hyphens=False).replace("~", " ")
    return f"def {name}(\n{textwrap.indent(body, '    ')}\n) -> {result}: ...\n"


def functions_by_module():
    """Return the names of the public functions by the path of their module."""
    return {
        PACKAGE.parent.joinpath(*imported.module.split(".")).with_suffix(".py"): [
            alias.name for alias in imported.names
        ]
        for imported in ast.parse(FUNCTIONS.read_text()).body
        if isinstance(imported, ast.ImportFrom)
    }


def functions():
    """Yield the public functions, by name, as they are in the source."""
    for path, names in functions_by_module().items():
        nodes = ast.parse(path.read_text()).body
        there = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}
        for name in names:
            yield name, there[name]


def stub():
    """Return the text of the stub of the functions."""
    parts = [HEAD]
    for name, function in functions():
        parameters = parameters_of(function)
        if function.args.kwarg or name in OWN:
            parts.append(definition(name, parameters, OWN.get(name, "Any")))
            continue
        for changed, result in rules(name, parameters):
            known = {each: changed.get(each, text) for each, text in parameters.items()}
            parts.append(("" if name in OPEN else "@overload\n") + definition(name, known, result))
    return "\n".join(parts)


def methods():
    """Return the text of the stub of the methods."""
    parts = [METHODS_HEAD]
    for name, function in functions():
        parameters = parameters_of(function)
        if next(iter(parameters)) != "a" or name in NO_METHODS:
            continue
        if function.args.kwarg or name in OWN:
            given = {"self": ""} | {each: text for each, text in parameters.items() if each != "a"}
            parts.append(textwrap.indent(definition(name, given, OWN.get(name, "Any"), 102), "    "))
            continue
        kept = False
        for changed, result in rules(name, parameters):
            if "NDArray" in changed.get("a", "") and name not in FIXED:
                continue  # which an array on a device is not
            if kept and changed == ON_DEVICE:
                continue  # as the one before
            differs = {each: text for each, text in changed.items() if parameters.get(each) != text}
            kept = differs == KEPT | {"a": "DeviceArray"}
            known = {each: changed.get(each, text) for each, text in parameters.items() if each != "a"}
            overload = "" if name in OPEN else "@overload\n"
            text = overload + definition(name, {"self": ""} | known, result, 102)
            parts.append(textwrap.indent(text, "    "))
    return "\n".join(parts)


if __name__ == "__main__":
    STUB.write_text(stub())
    METHODS.write_text(methods())
