"""The public functions and methods by name, with arguments that are right: for tests of all of them."""

import inspect
import warnings

import numpy as np

import gpureduce
from gpureduce import course, kernels, numpy_like, testing

try:
    import dask.array

    import gpureduce.dask
except ImportError:
    dask = None
try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NumPy 2.5 about flox; some tests run with -W error
        import gpureduce.flox as flox
except ImportError:
    flox = None

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
    "bincount": {"x": [0, 2, 0]},
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
    "array.to_device": {"device": "sim"},
    "array.__dlpack__": {"dl_device": (1, 0)},
    "conv2d": {"x": PICTURES, "w": FILTERS, "layout": "NHWC"},
    "inner": {"b": ROWS},
    "source": {"variant": "v3"},
    "profile": {"a": 100},
    "numpy_like.squeeze": {"x": ROWS[None], "axis": 0},
    "numpy_like.searchsorted": {"x1": np.arange(4.0)},
    "State.from_bytes": {"data": b""},
    "Sharded": {"parts": [ROWS, ROWS]},
    "bench": {"n": 1000, "repeats": 1, "progress": False, "variants": "v3"},
    "ladder": {"source": RUNG, "kernel": "rung", "dtype": "float32"},
    "exact_sum": {"a": ROWS},
    "simulate": {"max_steps": 1000, "args": [np.zeros(4, "f4")]},
    "allreduce": {"state": gpureduce.partial(ROWS, "sum", device="sim"), "comm": None},
    "array.__setitem__": {"key": 0, "value": 1},
    "array.__getitem__": {"key": 0},
}
KERNEL = gpureduce.ReductionKernel("T x", "T y", "x * x", "a + b", "y = a", "0", "squares")
OWN["ReductionKernel"] = {
    "in_params": "T x", "out_params": "T y", "map_expr": "x * x", "reduce_expr": "a + b",
    "post_map_expr": "y = a", "identity": "0",
}  # fmt: skip
OWN["kernel.__call__"] = {"args": ROWS}
SUBJECTS = {f"array.bitwise_{op}": "bits" for op in ("and", "or", "xor")} | {"array.dot": "row"}
# They have no array, and change what other calls do: tests/devices/test_default_device.py.
OF_DEFAULT_DEVICE = ("device", "set_default_device")
METHODS = ("__getitem__", "__array__", "__dlpack__", "__matmul__", "__array_namespace__")


def functions():
    """Return the callables and their parameters by name."""
    found = {}
    for name in gpureduce.__all__:
        each = getattr(gpureduce, name)
        if name == "Sharded" or (inspect.isfunction(each) and name not in OF_DEFAULT_DEVICE):
            found[name] = each
    for module, names in ((kernels, ("export", "ptx")), (course, ["ladder"]), (testing, ["exact_sum"])):
        found |= {name: getattr(module, name) for name in names}
    for name in dir(numpy_like):
        each = getattr(numpy_like, name)
        if getattr(gpureduce, name, None) is not each and inspect.isfunction(each):
            found[f"numpy_like.{name}"] = each
        for method in ("reduce", "accumulate", "reduceat"):
            if inspect.ismethod(getattr(each, method, None)):
                found[f"numpy_like.{name}.{method}"] = getattr(each, method)
    for name in ("vector_norm", "trace"):
        found[f"numpy_like.linalg.{name}"] = getattr(numpy_like.linalg, name)
    found["ReductionKernel"], found["kernel.__call__"] = gpureduce.ReductionKernel, KERNEL.__call__
    for name in () if dask is None else gpureduce.dask.__all__:
        found[f"dask.{name}"] = getattr(gpureduce.dask, name)
        elements = (ROWS[0], ROWS[1]) if name == "dot" else (ROWS,)
        OWN[f"dask.{name}"] = {
            key: dask.array.from_array(each) for key, each in zip("ab", elements, strict=False)
        }
    if flox is not None:
        found["flox.Engine"] = gpureduce.flox.Engine
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


def subjects_on(device):
    """What methods are called of."""
    return {
        "array": gpureduce.to_device(ROWS, device),
        "row": gpureduce.to_device(ROWS[0], device),
        "bits": gpureduce.to_device(ROWS > 0, device),
        "State": gpureduce.partial(ROWS, "var", device=device),
    }


def arguments(name, changed, device, subjects):
    """Return positional and named arguments: valid values, with the given arguments replaced."""
    _, parameters = FUNCTIONS[name]
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
    return places, options


def call(name, changed, device, subjects):
    """Call a function with valid arguments, of which the given ones are replaced."""
    places, options = arguments(name, changed, device, subjects)
    return FUNCTIONS[name][0](*places, **options)
