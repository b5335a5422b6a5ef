"""`out=` of every function that has one, against NumPy: which dtypes are taken, and what is written.

Elements on the host and on a device have the same rule. NumPy alone takes arrays of objects, of text and of
dates; every such `out=` is a TypeError here.
"""

import warnings

import numpy as np
import pytest

import gpureduce

# By NumPy's rule "unsafe": whatever the ufunc's reduction gives is written.
REDUCED = [
    "sum", "prod", "min", "max", "mean", "var", "nansum", "nanprod", "nanmin", "nanmax", "nanmean", "nanvar",
    "median", "any", "all",
]  # fmt: skip
# By the rule "same_kind".
CAST = ["std", "nanstd", "ptp", "argmin", "argmax", "quantile", "percentile"]
LOGICAL = ["fmin", "fmax", "bitwise_and", "logical_xor"]  # reductions of ufuncs
RUNNING = ["cumulative_sum", "cumulative_prod", "cumsum", "cumprod", "nancumsum", "nancumprod"]
SORTED = ["sort", "argsort"]
OURS = ["norm", "logsumexp", "inner", *SORTED]  # whose results NumPy has no function for that takes `out=`
FUNCTIONS = [*REDUCED, *CAST, *LOGICAL, *RUNNING, "vecdot", *OURS]

FLOATS = np.array([[1.5, 2.25, -3], [4, 5, 7]])
ELEMENTS = {
    "float64": FLOATS,
    "float32": FLOATS.astype(np.float32),
    "int32": FLOATS.astype(np.int32),
    "bool": FLOATS > 2,
    "complex128": FLOATS + 1j * FLOATS[::-1],
}
TAKEN = ["float64", "float32", "float16", "int64", "int32", "uint8", "bool", "complex128", "complex64"]
REFUSED = ["M8[s]", "m8[s]", "U5", "S5", "O", "V8"]


def arguments(name, a):
    if name in ("quantile", "percentile"):
        return (a, 0.3), {"axis": 1}
    if name == "vecdot":
        return (a, a), {}
    if name == "inner":
        return (a, a[0]), {}
    return (a,), {"axis": 1}


def outcome(function, args, kwargs, out):
    """What is in `out` afterwards, or TypeError."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            assert function(*args, **kwargs, out=out) is out
    except TypeError:
        return TypeError
    return out


def of_numpy(name, a, dtype, shape):
    if name in OURS:
        if name in SORTED:
            result = np.dtype(np.int64) if name == "argsort" else a.dtype
            return None if np.can_cast(result, dtype, "same_kind") else TypeError
        # Of real numbers, and of integers in double.
        result = np.dtype(np.complex128 if a.dtype.kind == "c" and name == "inner" else np.float64)
        result = np.result_type(a.dtype, a.dtype) if name == "inner" else result
        return None if np.can_cast(result, dtype, "same_kind") else TypeError
    function = getattr(np, name).reduce if name in LOGICAL else getattr(np, name, None)
    if function is None:
        pytest.skip(f"NumPy {np.__version__} has no {name}")
    args, kwargs = arguments(name, a)
    return outcome(function, args, kwargs, np.full(shape, 9).astype(dtype))


def compare(name, elements, dtype, where, device):
    a = ELEMENTS[elements]
    shape = a.shape if name in [*RUNNING, *SORTED] else a.shape[:1]
    expected = of_numpy(name, a, dtype, shape)
    given = gpureduce.to_device(a, device) if where == "device" else a
    args, kwargs = arguments(name, given)
    if where == "host":
        kwargs["device"] = device
    found = outcome(getattr(gpureduce, name), args, kwargs, np.full(shape, 9).astype(dtype))
    if expected is TypeError or found is TypeError:
        assert found is expected, f"out= of {dtype}: {found}"
    elif expected is not None:
        tolerance = 2e-3 if dtype == "float16" else 2e-6
        np.testing.assert_allclose(found, expected, rtol=tolerance, err_msg=f"out= of {dtype}")


def differs(name, elements, dtype, where):
    """What is ours alone; see docs/reference/arrays-and-dtypes.md."""
    if elements == "complex128":
        # Neither has an order here, and NumPy's median of complex numbers is by their real parts.
        return name in ("median", "quantile", "percentile", "logsumexp", *SORTED)
    if name == "ptp" and elements == "bool":
        return True  # NumPy subtracts bools once `out=` is of another dtype
    # NumPy's accumulator is `out` itself, in which bits are lost.
    if name == "bitwise_and" and dtype == "bool":
        return True
    if name in RUNNING and dtype == "bool":
        return False
    # Integers on a device are not made floats for these.
    return where == "device" and name in ("norm", "logsumexp") and elements in ("int32", "bool")


@pytest.mark.parametrize("where", ["host", "device"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_dtypes_of_out(name, where, device):
    for elements in ELEMENTS:
        for dtype in TAKEN:
            if not differs(name, elements, dtype, where):
                compare(name, elements, dtype, where, device)


@pytest.mark.parametrize("where", ["host", "device"])
@pytest.mark.parametrize("name", [*FUNCTIONS, "reduceat", "segment_reduce", "matmul", "conv2d", "dot"])
def test_out_of_a_dtype_without_kernels(name, where, device):
    a = ELEMENTS["float64"]
    a = gpureduce.to_device(a, device) if where == "device" else a
    kwargs = {} if where == "device" else {"device": device}
    shape = (2, 3) if name in [*RUNNING, *SORTED] else (2,)
    args, more = arguments(name, a)
    if name in ("reduceat", "segment_reduce"):
        index = np.array([0, 1] if name == "reduceat" else [0, 1, 3])
        args, more = (a, index, "sum"), {"axis": 1}
        shape = (2, 2)
    elif name == "dot":
        args, more, shape = (a[0], a[0]), {}, ()
    elif name == "matmul":
        args, more = (a, a[0]), {}
    elif name == "conv2d":
        pictures = a[None, :, :, None]
        args, more, shape = (pictures, a[None, :1, :1, None]), {"layout": "NHWC"}, (1, 2, 3, 1)
    for dtype in REFUSED:
        out = np.zeros(shape).astype(dtype)
        before = out.copy()
        with pytest.raises((TypeError, ValueError) if name == "dot" else TypeError, match="out"):
            getattr(gpureduce, name)(*args, **more, out=out, **kwargs)
        assert out.tobytes() == before.tobytes()


def test_every_function_with_out_is_held_to_it():
    import inspect

    with_out = set()
    for name in gpureduce.__all__:
        function = getattr(gpureduce, name)
        if inspect.isfunction(function) and "out" in inspect.signature(function).parameters:
            with_out.add(name)
    same_way = {
        "bitwise_or", "bitwise_xor", "nanargmin", "nanargmax", "nanmedian", "nanquantile", "nanpercentile",
        "cumulative_sum", "cumulative_prod", "cummax", "cummin", "trace", "reduceat",
        "segment_reduce", "group_reduce",
        "matmul", "conv2d", "dot", "convert", "fsum", "softmax", "log_softmax", "rms_norm", "layer_norm",
    }  # fmt: skip
    assert with_out - set(FUNCTIONS) <= same_way, sorted(with_out - set(FUNCTIONS) - same_way)
