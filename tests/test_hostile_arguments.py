"""Every argument of every public function, with hostile values: documented exceptions, texts of ours.

pytest tests/test_hostile_arguments.py --hostile-seconds=3600 --timeout=0     an hour of pairs of values

The functions are the package's public names, their arguments those of `inspect.signature`.
"""

import inspect
import random
import re
import time
import warnings

import numpy as np
import pytest
from hostile_values import HOSTILE
from sanitized import UNDER_ASAN

import gpureduce
from gpureduce import numpy_like

# AddressSanitizer ends a process that asks for as much memory as 2**45 elements take.
VALUES = [value for name, value in HOSTILE.items() if not (UNDER_ASAN and name == "2**45")]
# docs/errors.md lists these.
DOCUMENTED = (
    TypeError,
    ValueError,  # CompileError and numpy.exceptions.AxisError are of this class
    MemoryError,
    OverflowError,
    NotImplementedError,
    BufferError,
    gpureduce.DeviceError,
    gpureduce.SimulationError,
)
# Texts of C, of Python and of the standard library, which do not tell a caller which argument is wrong.
FOREIGN = re.compile(
    r"C (long|int|ssize_t|unsigned)|ssize_t|unhashable|struct\.|required argument is not|"
    r"argument for .* format|NoneType' object|object has no attribute|not subscriptable|not iterable|"
    r"unsupported operand|bad operand|object is not callable|has no len\(\)|not supported between|"
    r"cannot unpack|not enough values to unpack|too many values to unpack|index out of range|"
    r"cannot convert float|object cannot be interpreted as an integer|reinstall|"
    r"ufunc '|must be real number|could not convert string|invalid literal|The truth value of|"
    r"bad argument type for built-in|surrogates not allowed|codec can't|embedded null|got an unexpected"
)
LEFT_OUT = {
    "bench": ("n", "repeats"),  # it would measure 2^31 elements
    "free_memory": (),
    "devices": (),
}
PTX = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry nothing(.param .u64 data)
{
    ret;
}
"""
RUNG = PTX.replace("nothing(.param .u64 data)", "rung(.param .u64 in, .param .u64 out, .param .u32 n)")
ROWS = (np.arange(12.0) * 7 % 5 - 2).reshape(3, 4)
PICTURES, FILTERS = np.resize(ROWS, (1, 3, 3, 2)).astype("f4"), np.resize(ROWS, (1, 2, 2, 2)).astype("f4")
# What an argument without a default takes in calls of other arguments.
REQUIRED = {
    "a": ROWS,
    "arr": ROWS,
    "x": ROWS,
    "b": ROWS.T,
    "x1": ROWS,
    "x2": ROWS,
    "q": 0.5,
    "k": 2,
    "op": "sum",
    "labels": [0, 1, 0],
    "offsets": [0, 2, 3],
    "indices": [0, 2],
    "variant": "v3",
    "arr_or_n": 100,
    "source": PTX,
    "kernel": "nothing",
    "grid": 1,
    "block": 32,
    "args": [np.zeros(4, "f4")],
    "shape": (4, 3),
    "axes": (1, 0),
    "dtype": "float32",
    "axis1": 0,
    "axis2": 1,
    "condition": ROWS > 0,
    "array": ROWS,
}
# Of functions whose arguments of the same names are others.
OWN = {
    "bitwise_xor": {"a": ROWS > 0},
    "bitwise_or": {"a": ROWS > 0},
    "bitwise_and": {"a": ROWS > 0},
    "dot": {"a": ROWS[0], "b": ROWS[1]},
    "numpy_like.dot": {"a": ROWS[0], "b": ROWS[1]},
    "numpy_like.inner": {"b": ROWS},
    "cumulative_sum": {"axis": 1},
    "cumulative_prod": {"axis": 1},
    "numpy_like.cumulative_sum": {"axis": 1},
    "numpy_like.cumulative_prod": {"axis": 1},
    "array.cumulative_sum": {"axis": 1},
    "array.cumulative_prod": {"axis": 1},
    "array.reshape": {"shape": (4, 3)},
    "array.item": {"index": 3},
    "array.__dlpack__": {"dl_device": (1, 0)},
    "conv2d": {"x": PICTURES, "w": FILTERS},
    "inner": {"b": ROWS},
    "source": {"variant": "v3"},
    "numpy_like.squeeze": {"x": ROWS[None], "axis": 0},
    "numpy_like.searchsorted": {"x1": np.arange(4.0)},
    "State.from_bytes": {"data": b""},
    "Sharded": {"parts": [ROWS, ROWS]},
    "bench": {"n": 1000, "repeats": 1, "progress": False, "variants": "v3"},
    "ladder": {"source": RUNG, "kernel": "rung", "dtype": "float32"},
    "simulate": {"max_steps": 1000, "args": [np.zeros(4, "f4")]},
    "allreduce": {"state": gpureduce.partial(ROWS, "sum", device="sim"), "comm": None},
    "array.__setitem__": {"key": 0, "value": 1},
    "array.__getitem__": {"key": 0},
}
SUBJECTS = {f"array.bitwise_{op}": "bits" for op in ("and", "or", "xor")} | {"array.dot": "row"}
METHODS = ("__getitem__", "__array__", "__dlpack__", "__matmul__", "__array_namespace__")


def functions():
    """Return the callables and their parameters by name."""
    found = {}
    for name in gpureduce.__all__:
        each = getattr(gpureduce, name)
        if name == "Sharded" or inspect.isfunction(each) or name == "bench":
            found[name] = each
    for name in dir(numpy_like):
        each = getattr(numpy_like, name)
        if getattr(gpureduce, name, None) is not each and inspect.isfunction(each):
            found[f"numpy_like.{name}"] = each
        for method in ("reduce", "accumulate", "reduceat"):
            if inspect.ismethod(getattr(each, method, None)):
                found[f"numpy_like.{name}.{method}"] = getattr(each, method)
    found["State.from_bytes"] = gpureduce.State.from_bytes
    for title, kind in (("array", gpureduce.DeviceArray), ("State", gpureduce.State)):
        for name in dir(kind):
            if inspect.isfunction(inspect.getattr_static(kind, name)) and (
                not name.startswith("_") or (title == "array" and name in METHODS)
            ):
                found[f"{title}.{name}"] = getattr(kind, name)
    return {name: (each, parameters_of(name, each)) for name, each in found.items()}


def parameters_of(name, function):
    """Return the parameters by name; the first of a method is "self", also where it is a function's `a`."""
    parameters = list(inspect.signature(function).parameters.values())
    if name.startswith(("array.", "State.")) and name != "State.from_bytes":
        parameters[0] = parameters[0].replace(name="self")
    return {parameter.name: parameter for parameter in parameters}


FUNCTIONS = functions()
ARGUMENTS = [
    (name, argument)
    for name, (_, parameters) in FUNCTIONS.items()
    for argument, parameter in parameters.items()
    if argument != "self"
    and argument not in LEFT_OUT.get(name, ())
    and parameter.kind != parameter.VAR_KEYWORD
]


@pytest.fixture
def every(pytestconfig):
    """Every so-manieth value is taken: every one in the long form."""
    return 1 if pytestconfig.getoption("hostile_seconds") > 60 else 3


@pytest.fixture(scope="module")
def subjects(device):
    """What methods are called of."""
    return {
        "array": gpureduce.to_device(ROWS, device),
        "row": gpureduce.to_device(ROWS[0], device),
        "bits": gpureduce.to_device(ROWS > 0, device),
        "State": gpureduce.partial(ROWS, "var", device=device),
    }


def call(name, changed, device, subjects):
    """Call a function with arguments that are right, but for those that are changed."""
    function, parameters = FUNCTIONS[name]
    own = OWN.get(name, {})
    places, options = [], {}
    for argument, parameter in parameters.items():
        if argument == "self":
            value = subjects[SUBJECTS.get(name, name.split(".")[0])]
        elif argument in changed:
            value = changed[argument]
        elif argument in own:
            value = own[argument]
        elif name.startswith("array.") and argument in ("b", "other"):
            value = subjects[SUBJECTS.get(name, "array")]
            value = value.T if "matmul" in name else value
        elif "bitwise" in name and argument == "array":
            value = ROWS > 0
        elif argument == "device" and not name.startswith(("array", "State", "numpy_like.as")):
            value = device
        elif (
            parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            or parameter.default is not parameter.empty
        ):
            continue
        else:
            value = REQUIRED[argument]
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL) or argument == "self":
            places.append(value)
        else:
            options[argument] = value
    if options.get("device", 0) is None:
        options["device"] = device  # None is any device
    return function(*places, **options)


# NumPy's own functions, of arrays of the host: the texts are NumPy's.
NUMPYS = {
    f"numpy_like.{name}"
    for name in ("astype", "nonzero", "permute_dims", "reshape", "searchsorted", "squeeze", "where")
}
# As in Python: of an index that is none, or beyond; of a file that is not there.
MORE = {
    "array.__getitem__": IndexError,
    "array.item": IndexError,
    "simulate": OSError,
    "ladder": OSError,
}


def is_handle(changed, device):
    """Return whether a number is given for a stream of CUDA: a handle is an address, which CUDA reads."""
    return device != "sim" and type(changed.get("stream")) is int and changed["stream"] > 2


def complaint(name, changed, device, subjects):
    """Return what is wrong with the exception of a call, if anything."""
    if is_handle(changed, device):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call(name, changed, device, subjects)
    except Exception as error:
        text = str(error)
        documented = isinstance(error, (*DOCUMENTED, MORE.get(name, TypeError)))
        if documented and (text == "on purpose" or name in NUMPYS or not FOREIGN.search(text)):
            return None
        return f"{type(error).__name__}: {text}"
    return None


def shown(name, changed):
    return f"{name}({', '.join(f'{argument}={value!r:.60}' for argument, value in changed.items())})"


def test_one_hostile_argument(device, subjects, every):
    """Of the values each argument takes some, and the next argument others; all with the option."""
    found = []
    values = VALUES
    for i, (name, argument) in enumerate(ARGUMENTS):
        for value in values[i % every :: every]:
            what = complaint(name, {argument: value}, device, subjects)
            if what is not None:
                found.append(f"{shown(name, {argument: value})}: {what}")
    assert not found, "\n".join(found)


# It shows that nothing but the hostile argument can be wrong.
REFUSED = {
    "allreduce": "comm: expected",
    "State.from_bytes": "these bytes are no state",
    "array.__array__": "does not become a NumPy array",
}


def test_arguments_that_are_not_hostile_are_right(device, subjects):
    for name in FUNCTIONS:
        try:
            call(name, {}, device, subjects)
        except Exception as error:
            assert name in REFUSED and REFUSED[name] in str(error), (name, error)


def test_hostile_arguments_in_pairs(pytestconfig, device, subjects):
    """Until the time is over; the first pairs are the same in every run."""
    end = time.monotonic() + pytestconfig.getoption("hostile_seconds")
    draw = random.Random(0)
    values = VALUES
    by_name = {}
    for name, argument in ARGUMENTS:
        by_name.setdefault(name, []).append(argument)
    names = list(by_name)
    while time.monotonic() < end:
        name = draw.choice(names)
        some = draw.sample(by_name[name], min(len(by_name[name]), draw.choice((1, 2, 2, 3))))
        changed = {argument: draw.choice(values) for argument in some}
        what = complaint(name, changed, device, subjects)
        assert what is None, f"{shown(name, changed)}: {what}"
