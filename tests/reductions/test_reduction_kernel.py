"""Reductions that users write: values, types, what is refused, and where compiled kernels are kept.

Most data are whole numbers whose sums a float holds exactly, in any order, so that results have to be equal.
"""

import copy
import itertools
import math
import os
import pickle
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import gpureduce
from gpureduce import ReductionKernel, _core
from gpureduce._custom import disk_cache, nvrtc
from gpureduce._custom import kernel as custom
from tests.support import numpy_oracle as oracle

pytestmark = pytest.mark.usefixtures("kept_kernels")

ROOT = Path(__file__).resolve().parents[2]
SIZES = (0, 1, 2, 3, 31, 32, 33, 255, 256, 257, 1000, 4097, 70001)


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """Nothing compiled yet; returns the folder for what will be."""
    monkeypatch.setenv("GPUREDUCE_CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setattr(custom, "_kernels", {})
    return tmp_path / "kernels"


def norm2(**changes):
    arguments = {
        "in_params": "T x",
        "out_params": "T y",
        "map_expr": "x * x",
        "reduce_expr": "a + b",
        "post_map_expr": "y = sqrt(a)",
        "identity": "0",
        "name": "norm2",
    }
    return ReductionKernel(**(arguments | changes))


def total(in_params="T x", out_params="T y", map_expr="x", **changes):
    given = {"in_params": in_params, "out_params": out_params, "map_expr": map_expr}
    return norm2(**(given | {"post_map_expr": "y = a", "name": "total"} | changes))


def quick(**changes):
    """norm2 of two inputs, which has fewer kernels to compile."""
    return norm2(**({"in_params": "T x, T w", "map_expr": "x * w"} | changes))


def largest(identity=None):
    return norm2(map_expr="abs(x)", reduce_expr="max(a, b)", post_map_expr="y = a", identity=identity)


def whole_numbers(shape, dtype="float32", seed=0, most=9):
    dtype = oracle.dtype_of(dtype)
    rng = np.random.default_rng(seed)
    low = 0 if dtype.kind in "bu" else -most
    values = rng.integers(low, 2 if dtype.kind == "b" else most + 1, shape)
    if dtype.kind == "c":
        values = values + 1j * rng.integers(low, most + 1, shape)
    return values.astype(dtype)


# Values


@pytest.mark.core
@pytest.mark.parametrize("dtype", oracle.FLOATS)
def test_norm2_of_any_length(device, dtype):
    kernel = norm2()
    for n in SIZES:
        x = whole_numbers(n, dtype, seed=n)
        exact = sum(int(v) ** 2 for v in x)
        wide = np.float64 if dtype == "float64" else np.float32  # halves are rounded from float, once
        wanted = np.sqrt(wide(exact)).astype(x.dtype)
        got = kernel(x, device=device)
        assert got.dtype == x.dtype
        assert got == wanted, n


@pytest.mark.parametrize("skew", range(8))
def test_elements_around_16_byte_boundaries(device, skew):
    x = whole_numbers(5003, "int16")[skew : 5003 - 3 * skew]
    assert total(out_params="int64 y")(x, device=device) == x.sum(dtype=np.int64)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rounding_stays_that_of_a_tree(device, dtype):
    x = np.random.default_rng(3).uniform(0.5, 1.5, 70001).astype(dtype)
    exact = math.sqrt(math.fsum(float(v) ** 2 for v in x))
    allowed = 64 * float(np.finfo(dtype).eps)  # far below the 1/70001 of a lost element
    assert abs(float(norm2()(x, device=device)) - exact) <= allowed * exact


def test_a_wide_reduce_type_rounds_once(device):
    rng = np.random.default_rng(4)
    x = np.exp(8 * rng.normal(size=30011)).astype(np.float32)
    got = total(reduce_type="float64")(x, device=device)
    assert got == np.float32(math.fsum(x.tolist()))


@pytest.mark.parametrize("dtype", oracle.HALVES)
def test_halves_add_up_in_float(device, dtype):
    if dtype not in oracle.FLOATS:
        pytest.skip("ml_dtypes is not installed")
    x = np.ones((3, 20000)).astype(oracle.dtype_of(dtype))
    x[:, ::2] = x[:, ::2] + x[:, ::2] / x.dtype.type(4)
    mean = total("T x, float32 n", map_expr="x / n")
    got = mean(x, 8, axis=1, device=device)
    assert got.dtype == x.dtype
    assert np.array_equal(got.astype(float), np.full(3, 22500 / 8).astype(x.dtype).astype(float))


@pytest.mark.parametrize("dtype", oracle.DTYPES)
def test_every_dtype_in_and_out(device, dtype):
    """Of two inputs, which have fewer kernels to compile; one alone is read by the same functions."""
    x = whole_numbers((3, 401), dtype, most=2 if dtype in oracle.HALVES else 9)
    got = total("T x, T w", map_expr="x * w")(x, np.ones(401, x.dtype), axis=1, device=device)
    if dtype == "bool":
        wanted = x.any(axis=1)  # a + b, made a bool again
    elif x.dtype.kind in "iu":
        wanted = x.sum(axis=1, dtype=x.dtype)  # wraps
    else:
        wanted = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64).sum(axis=1).astype(x.dtype)
    assert got.dtype == x.dtype
    assert np.array_equal(got.astype(complex), wanted.astype(complex))


@pytest.mark.parametrize("dtype", oracle.COMPLEX)
def test_complex_arithmetic(device, dtype):
    z, w = whole_numbers((2, 5, 300), dtype, seed=5)
    inner = total("T z, T w", map_expr="z * conj(w) - 2 * z + T(0, 1)")
    wanted = (z * w.conj() - 2 * z + 1j).sum(axis=1)
    assert np.array_equal(inner(z, w, axis=1, device=device), wanted)
    real = f"float{z.dtype.itemsize * 4}"
    energy = total("T z", f"{real} y", "norm(z) + real(z) - imag(z) + abs(z - z)")
    wanted = (z.real**2 + z.imag**2 + z.real - z.imag).sum(axis=1)
    assert np.array_equal(energy(z, axis=1, device=device), wanted)
    quotient = total("T z, T w", map_expr="z / w")
    assert quotient(z[0] * (3 - 4j), 3 - 4j, device=device) == z[0].sum()


def test_structs_and_a_preamble(device):
    log_sum_exp = ReductionKernel(
        "T x", "T y", "Scaled(x, 1)", "merge(a, b)", "y = a.top + log(a.sum)", "Scaled(-INFINITY, 0)",
        "log_sum_exp", reduce_type="Scaled",
        preamble="""
        struct Scaled {
            T top, sum;
            __device__ Scaled(T top = 0, T sum = 0) : top(top), sum(sum) {}
        };
        Scaled merge(Scaled a, Scaled b) {
            const T top = max(a.top, b.top);
            if (top == -INFINITY)
                return a;
            return Scaled(top, a.sum * exp(a.top - top) + b.sum * exp(b.top - top));
        }
        """,
    )  # fmt: skip
    for dtype, allowed in (("float32", 2e-6), ("float64", 4e-15)):
        x = (300 * np.random.default_rng(6).normal(size=(7, 999))).astype(dtype)
        top = x.max(axis=1).astype(np.float64)
        x[0] = np.linspace(100, 101, 999)  # where all elements count
        top[0] = 101
        wanted = [
            t + math.log(math.fsum(math.exp(float(v) - t) for v in row))
            for t, row in zip(top, x, strict=True)
        ]
        np.testing.assert_allclose(log_sum_exp(x, axis=1, device=device), wanted, rtol=allowed)
    assert log_sum_exp(np.empty(0), device=device) == -np.inf


FUNCTIONS = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sqrt": np.sqrt, "cbrt": np.cbrt, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "atanh": np.arctanh, "floor": np.floor, "ceil": np.ceil, "rint": np.rint, "trunc": np.trunc,
    "fabs": np.abs, "round": lambda x: np.trunc(x + 0.5), "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": np.vectorize(math.erf), "erfc": np.vectorize(math.erfc),
}  # fmt: skip
TWO = {
    "fmax": np.fmax, "fmin": np.fmin, "copysign": np.copysign, "fmod": np.fmod, "hypot": np.hypot,
    "atan2": np.arctan2, "fdim": lambda x, y: np.maximum(x - y, 0),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_mathematical_functions(device, dtype):
    x = np.linspace(1e-3, 0.999, 97).astype(dtype)
    y = np.roll(x, 11) - np.dtype(dtype).type(0.3)
    eps = float(np.finfo(dtype).eps)
    wide = x.astype(float), y.astype(float)
    wanted = {f"{name}(x)": function(wide[0]) for name, function in FUNCTIONS.items()}
    wanted |= {f"{name}(x, w)": function(*wide) for name, function in TWO.items()}
    calls = list(wanted)
    for first in range(0, len(calls), 6):  # all at once would need more registers than there are
        some = calls[first : first + 6]
        chosen = " : ".join(f"k == {number} ? {call}" for number, call in enumerate(some))
        function = total("T x, T w, int32 k", map_expr=f"{chosen} : 0")
        for number, call in enumerate(some):
            got = function(x[:, None], y[:, None], number, axis=1, device=device)
            np.testing.assert_allclose(got, wanted[call], rtol=8 * eps, atol=eps / 4, err_msg=call)


def test_powers_of_float(device):
    x = np.linspace(0.1, 3, 101, dtype=np.float32)
    power = total("T x, T w", map_expr="pow(x, w)")
    got = power(x[:, None], np.float32(2.5), axis=1, device=device)
    np.testing.assert_allclose(got, x.astype(float) ** 2.5, rtol=1e-6)


@pytest.mark.parametrize(
    ("dtype", "call", "wanted"),
    [
        (
            "float32",
            "sin(x)",
            np.sin,
        ),  # a large argument takes a table in constant and an array in local memory
        ("float64", "tan(x)", np.tan),
        ("float64", "pow(x, x)", lambda x: x**x),  # a function that is called
    ],
)
def test_functions_with_memory_of_their_own(device, dtype, call, wanted):
    x = np.array([2.0, 3.0, 0.5, 117.0, 1e5 if "x, x" not in call else 1.5], dtype)
    got = total(map_expr=call)(x[:, None], axis=1, device=device)
    np.testing.assert_allclose(got, wanted(x.astype(float)), rtol=4 * np.finfo(dtype).eps)


def test_what_the_simulator_cannot_run_it_names(on_gpu):
    doubled = 'int d; asm("vadd.s32.s32.s32 %0, %1, %1;" : "=r"(d) : "r"(v)); return d;'
    kernel = total(map_expr=f"[](int v) {{ {doubled} }}(x)")
    x = np.array([5, -3, 20], np.int32)
    if on_gpu:
        assert kernel(x, device="cuda") == 44
    with pytest.raises(gpureduce.SimulationError, match=r"not simulated yet \(video instructions"):
        kernel(x, device="sim")


# Inputs


STRIDED = {
    "C": lambda a: a,
    "F": np.asfortranarray,
    "reversed": lambda a: a[::-1, :, ::-1].copy()[::-1, :, ::-1],
    "stepped": lambda a: np.repeat(np.repeat(a, 2, axis=0), 3, axis=2)[::2, :, ::3],
    "swapped": lambda a: a.astype(a.dtype.newbyteorder()),
    "unaligned": lambda a: np.frombuffer(b"-" + a.tobytes(), a.dtype, offset=1).reshape(a.shape),
}


@pytest.mark.core
@pytest.mark.parametrize("layout", STRIDED)
@pytest.mark.parametrize("inputs", [1, 2, 3, 8])
def test_several_inputs_over_all_axes(device, layout, inputs):
    """One and two are followed by their strides, more by position."""
    shape, names = (5, 6, 7), "xwuvpqrs"[:inputs]
    dtypes = ["float32", "int16", "float64", "uint8", "int64", "bool", "float16", "complex64"][:inputs]
    shapes = [shape, (6, 1), (7,), (5, 1, 7), (), (1, 6, 7), (5, 6, 1), (5, 1, 1)][:inputs]
    arrays = [whole_numbers(s, d, seed=i) for i, (s, d) in enumerate(zip(shapes, dtypes, strict=True))]
    arrays[0] = STRIDED[layout](arrays[0])
    if inputs > 1:
        arrays[1] = arrays[1][::-1]
    terms = [f"{i + 1} * {'real(s)' if n == 's' else n}" for i, n in enumerate(names)]
    kernel = total(
        ", ".join(f"{d} {n}" for d, n in zip(dtypes, names, strict=True)), "float64 y", " + ".join(terms)
    )
    exact = sum((i + 1) * np.real(a).astype(np.float64) for i, a in enumerate(arrays))
    exact = np.broadcast_to(exact, shape)
    for size in range(4):
        for axis in itertools.combinations(range(3), size):
            got = kernel(*arrays, axis=axis, device=device)
            assert np.array_equal(got, exact.sum(axis=axis)), axis
    assert kernel(*arrays, device=device) == exact.sum()
    got = kernel(*arrays, axis=(-1, 0), keepdims=True, device=device)
    assert np.array_equal(got, exact.sum(axis=(-1, 0), keepdims=True))


SHAPES = (
    ((70001,), None), ((40, 3000), 1), ((3, 5000), 1), ((700, 64), 0), ((20_001, 3), 0), ((9001, 7), 1),
    ((33, 100, 65), 1), ((33, 100, 65), (0, 2)), ((3, 5, 2001), (0, 2)), ((65, 17, 9), 0), ((2, 70000), 0),
    ((64, 5, 7, 3), (0, 2)), ((3001, 1), 1), ((70, 2001), 0), ((2, 140_001), 0),
)  # fmt: skip


@pytest.mark.parametrize(
    ("dtype", "identity"),
    [("int8", "0"), ("float16", None), ("float32", "0"), ("float32", None), ("complex128", "0")],
)
def test_every_kernel_of_the_plan(device, dtype, identity):
    of_largest = dtype == "float32" and identity is None  # which has none, while sums have one
    plain = total(out_params="complex128 y" if dtype == "complex128" else "float64 y", identity=identity)
    kernel = largest() if of_largest else plain
    for shape, axis in SHAPES:
        x = whole_numbers(shape, dtype)
        wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
        want = abs(x).max(axis=axis) if of_largest else wide.sum(axis=axis)
        assert np.array_equal(kernel(x, axis=axis, device=device), want), (shape, axis)


def test_the_shapes_reach_every_kernel():
    planned = set()
    for shape, axis in SHAPES:
        axes = tuple(range(len(shape))) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        planned |= {
            kernel for kernel, *_ in _core.plan_general(np.empty(shape, np.float32), "sum", axes, None)
        }
    assert planned >= {"rows", "columns", "spread", "tiles", "map", "axis", "whole", "last"}


def test_elements_that_are_repeated(device):
    """The same results are made once, and handed out by a launch of their own; elements count each time."""
    x = np.broadcast_to(whole_numbers((30, 1, 30, 1), "float32"), (30, 700, 30, 7))
    for axis, identity in (((2,), "0"), ((2, 3), None), ((1, 3), "0"), ((0, 1), None)):
        want = x.astype(np.float64).sum(axis=axis)
        assert np.array_equal(total(identity=identity)(x, axis=axis, device=device), want), axis


@pytest.mark.parametrize(("dtype", "members"), [("int8", "s, q, n"), ("float64", "s, q, n, unused = 0")])
def test_structs_of_any_shape(device, dtype, members, some):
    """The mean and the variance at once, by values of 24 bytes and of 32."""
    moments = ReductionKernel(
        "T x", "float64 y", "Moments{double(x), double(x) * x, 1}",
        "Moments{a.s + b.s, a.q + b.q, a.n + b.n}", "y = a.q / a.n - (a.s / a.n) * (a.s / a.n)",
        "Moments{0, 0, 0}", "variance", reduce_type="Moments",
        preamble=f"struct Moments {{ double {members}; }};",
    )  # fmt: skip
    for shape, axis in some(SHAPES, 2):
        x = whole_numbers(shape, dtype)
        np.testing.assert_allclose(moments(x, axis=axis, device=device), x.var(axis=axis), rtol=1e-13)


def test_weighted_sum_of_many_elements(device):
    x, w = whole_numbers((2, 300, 701), "float32", seed=8)
    weighted = total("T x, T w", map_expr="x * w")
    assert weighted(x, w, device=device) == np.vdot(x.astype(float), w)
    assert weighted(x, w[0], device=device) == (x.astype(float) * w[0]).sum()
    assert np.array_equal(weighted(x.T, w.T, axis=0, device=device), (x.astype(float) * w).sum(axis=1))


def test_lists_and_scalars_are_inputs(device):
    scaled = total("T x, S alpha", "float64 y", "x * alpha")
    assert scaled([1.0, 2.0, 4.0], 3, device=device) == 21
    assert scaled(np.array([1, 2, 4], np.int8), 0.5, device=device) == 3.5
    assert scaled(np.array([1, 2, 4], np.int8), np.float32(0.5), device=device) == 3.5
    assert scaled(5, 2.5, device=device) == 12.5
    assert scaled(2.5, np.arange(4), device=device) == 15
    assert total("T x, T w", map_expr="x + w")(np.float64(1), np.ones(3, np.float32), device=device) == 6
    assert total("complex64 x, T w", "complex64 y", "x * w")(2j, np.ones(3, np.float32), device=device) == 6j
    assert total("bool x, int64 w", "int64 y", "x ? w : 0")(
        [True, False, True], -(2**40), device=device
    ) == -(2**41)


def test_scalars_that_do_not_fit_are_refused(device):
    x = np.arange(4, dtype=np.int8)
    add = total("T x, T w", map_expr="x + w")
    for value in (2.0, 1j, np.float32(1)):
        with pytest.raises(TypeError, match=r"w: cannot convert .* to int8"):
            add(x, value, device=device)
    for value in (128, -129, np.int64(1000)):
        with pytest.raises(OverflowError, match=f"w: .*{int(value)}.* does not fit int8"):
            add(x, value, device=device)
    with pytest.raises(OverflowError, match=r"w: .*-1 does not fit uint8"):
        add(x.astype(np.uint8), -1, device=device)
    with pytest.raises(TypeError, match=r"w: cannot convert .* to bool"):
        add(x > 1, 1, device=device)
    with pytest.raises(TypeError, match=r"w: dtype .* is not supported"):
        add(x, np.datetime64("2020"), device=device)


@pytest.mark.parametrize("inputs", [1, 3])
def test_axes_that_do_not_merge_are_packed(device, inputs):
    shape = (2, 3, 2, 2, 3, 2, 2, 2, 3, 2)
    x = whole_numbers(tuple(2 * n for n in shape), "int32")[tuple(slice(None, None, 2) for _ in shape)]
    others = [
        whole_numbers(shape, "int32", seed=i).transpose(*range(9, -1, -1)).copy().T for i in range(inputs - 1)
    ]
    names = "xwv"[:inputs]
    kernel = total(", ".join(f"T {n}" for n in names), "int64 y", " + ".join(names))
    exact = np.sum([x, *others], axis=0, dtype=np.int64)
    for axis in [(0, 2, 4, 6, 8), (1, 3, 5, 7, 9), None, 4]:
        assert np.array_equal(kernel(x, *others, axis=axis, device=device), exact.sum(axis=axis))


# Nothing to reduce


def test_no_elements_give_the_identity(device):
    for identity in ("-7.5", -7.5):
        top = total(reduce_expr="max(a, b)", identity=identity)
        assert top(np.empty((0, 3)), device=device) == -7.5
        assert np.array_equal(top(np.empty((3, 0)), axis=1, device=device), [-7.5] * 3)
    assert norm2(identity=True, reduce_expr="a * b")(np.empty(0), device=device) == 1
    got = norm2()(np.empty((0, 4), np.float32), axis=1, device=device)
    assert (got.shape, got.dtype) == ((0,), np.float32)
    assert total("T x, T w, T v", map_expr="x")(np.empty((2, 0)), 1.0, np.ones((1, 1)), device=device) == 0


@pytest.mark.parametrize("identity", [None, "", " "])
def test_without_an_identity(device, identity):
    kernel = largest(identity)
    for n in SIZES[1:]:
        x = -(whole_numbers(n, "int32", seed=n, most=10**6) ** 2) % 999983 - 10**6
        assert kernel(x, device=device) == abs(x).max()
    x = whole_numbers((5, 700, 3), "float32", most=10**6)
    for axis in (0, 1, (0, 2)):
        assert np.array_equal(kernel(x, axis=axis, device=device), abs(x).max(axis=axis))
    with pytest.raises(ValueError, match=r"norm2: zero-size array of shape \(3, 0\).* has no identity"):
        kernel(np.empty((3, 0)), axis=1, device=device)
    assert kernel(np.empty((0, 3)), axis=1, device=device).shape == (0,)
    # Nothing stands in for what is not there: not even a zero.
    smallest = norm2(map_expr="x", reduce_expr="min(a, b)", post_map_expr="y = a", identity=identity)
    assert smallest(np.full(70001, 5.0), device=device) == 5


# Output


def test_out(device):
    x = whole_numbers((4, 50), "float32")
    kernel = total()
    for out in (np.empty(4, np.float32), np.empty((4, 2), np.float32)[:, 1]):
        assert kernel(x, axis=1, out=out, device=device) is out
        assert np.array_equal(out, x.sum(axis=1))
    out = np.empty(4, np.float32)
    assert kernel(x, out, axis=1, device=device) is out
    whole = np.empty((1, 1), np.float32)
    assert kernel(x, out=whole, keepdims=True, device=device) == x.sum()


def test_out_decides_a_letter(device):
    x = whole_numbers((4, 5000), "float32", most=10**7)
    out = np.empty(4)
    total("T x", "S y", reduce_type="S")(x, axis=1, out=out, device=device)
    assert np.array_equal(out, x.sum(axis=1, dtype=np.float64))
    with pytest.raises(TypeError, match="total: no argument determines S"):
        total("T x", "S y")(x, device=device)


def test_an_out_that_does_not_fit_is_refused(device):
    x = whole_numbers((4, 5))
    kernel = total()
    with pytest.raises(TypeError, match="x has dtype float32, but T is float64"):
        kernel(x, axis=1, out=np.empty(4), device=device)
    with pytest.raises(TypeError, match="y has dtype float64; expected float32"):
        total(out_params="float32 y")(x, axis=1, out=np.empty(4), device=device)
    with pytest.raises(ValueError, match=r"out: expected shape .* got \(5,\)"):
        kernel(x, axis=1, out=np.empty(5, np.float32), device=device)
    read_only = np.empty(4, np.float32)
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="out: the array is read-only"):
        kernel(x, axis=1, out=read_only, device=device)
    with pytest.raises(TypeError, match="out: expected an array, got list"):
        kernel(x, axis=1, out=[0] * 4, device=device)
    with pytest.raises(ValueError, match="out: the output was already passed"):
        kernel(x, np.empty(4, np.float32), axis=1, out=np.empty(4, np.float32), device=device)


@pytest.mark.core
def test_device_arrays(device):
    host = whole_numbers((2, 60, 70), "float32")
    x, w = (gpureduce.to_device(a, device) for a in host)
    row = gpureduce.to_device(host[1, 0], device)
    weighted = total("T x, T w", map_expr="x * w")
    exact = host[0].astype(float) * host[1]
    got = weighted(x, w)
    assert isinstance(got, np.float32) and got == exact.sum()
    for axis in (0, 1):
        got = weighted(x, w, axis=axis)
        assert isinstance(got, gpureduce.DeviceArray)
        assert np.array_equal(got.numpy(), exact.sum(axis=axis))
    out = gpureduce.to_device(np.zeros(60, np.float32), device)
    assert weighted(x, row, axis=1, out=out) is out
    assert np.array_equal(out.numpy(), (host[0] * host[1, 0]).sum(axis=1))
    assert np.array_equal(weighted(x, 2, axis=0, as_device=False), 2 * host[0].sum(axis=0))
    assert weighted(*host, as_device=True, device=device).numpy() == exact.sum()
    fma = total("T x, T w, T v", map_expr="x * w + v")
    assert fma(x, w, row) == (exact + host[1, 0]).sum()
    with pytest.raises(TypeError, match="w: must be on the device of the other arrays, or in host memory"):
        weighted(x, host[1])
    with pytest.raises(TypeError, match="x has dtype float32, but T is float64"):
        weighted(x, w, out=gpureduce.to_device(np.zeros(()), device))
    with pytest.raises(ValueError, match=r"out: expected shape .* got \(60,\)"):
        weighted(x, w, axis=0, out=out)
    turned = gpureduce.to_device(host[0].reshape(4, 3, 5, 7, 10), device)
    assert (
        total()(turned, axis=(1, 3)).numpy().tolist()
        == host[0].reshape(4, 3, 5, 7, 10).sum(axis=(1, 3)).tolist()
    )


# Several outputs, and accumulators of several values


WELFORD = """
Welford merge(Welford a, Welford b) {
    const double n = a.n + b.n, apart = b.mean - a.mean, part = n > 0 ? b.n / n : 0;
    return {n, a.mean + apart * part, a.squares + b.squares + apart * apart * a.n * part};
}
"""


def welford(**changes):
    arguments = {
        "in_params": "T x",
        "out_params": "float64 mean, float64 variance",
        "map_expr": "{1, double(x), 0}",
        "reduce_expr": "merge(a, b)",
        "post_map_expr": "mean = a.mean; variance = a.squares / a.n",
        "identity": "{0, 0, 0}",
        "name": "welford",
        "reduce_type": "struct Welford { double n, mean, squares; }",
        "preamble": WELFORD,
    }
    return ReductionKernel(**(arguments | changes))


EXTREMES = """
template <class Both> Both better(Both a, Both b) {
    if (b.low < a.low || (b.low == a.low && b.first < a.first))
        a.low = b.low, a.first = b.first;
    if (b.high > a.high || (b.high == a.high && b.second < a.second))
        a.high = b.high, a.second = b.second;
    return a;
}
"""


def extremes(dtype, in_params="T x", map_expr="{x, x, _J, _J}", **changes):
    fields = [("low", dtype), ("high", dtype), ("first", "i8"), ("second", "i8")]
    return ReductionKernel(
        in_params, "T low, T high, int64 first, int64 second", map_expr, "better(a, b)",
        "low = a.low; high = a.high; first = a.first; second = a.second", None, "extremes",
        **({"reduce_type": fields, "preamble": EXTREMES} | changes),
    )  # fmt: skip


def along(x, axis):
    """The array with the axes that are reduced as one, the last."""
    axes = range(x.ndim) if axis is None else np.atleast_1d(axis) % x.ndim
    kept = [d for d in range(x.ndim) if d not in axes]
    return x.transpose(*kept, *axes).reshape(*[x.shape[d] for d in kept], -1)


def on_host(results):
    return [r.numpy() if isinstance(r, gpureduce.DeviceArray) else r for r in results]


@pytest.mark.core
def test_mean_and_variance_in_one_pass(device):
    for dtype, n in (("float64", 70001), ("float32", 4097), ("int16", 33), ("float16", 1000)):
        x = np.random.default_rng(n).normal(0, 2, n)
        x = (x + 1e8 if dtype == "float64" else 100 * x if dtype == "int16" else x).astype(dtype)
        mean, variance = welford()(x, device=device)
        exact = math.fsum(x.tolist()) / n
        wanted = math.fsum((float(v) - exact) ** 2 for v in x) / n
        assert isinstance(mean, np.float64) and isinstance(variance, np.float64)
        assert abs(mean - exact) <= 4e-16 * max(abs(x.astype(float)))
        assert abs(variance - wanted) <= 1e-8 * wanted if dtype == "float64" else 4e-15 * wanted


@pytest.mark.parametrize(("dtype", "where"), [("int8", "host"), ("float64", "device")])
def test_extremes_and_their_places_by_every_kernel(device, dtype, where):
    kernel = extremes(dtype)
    for shape, axis in SHAPES:
        x = whole_numbers(shape, dtype, seed=len(shape), most=50)
        flat = along(x, axis)
        given = x if where == "host" else gpureduce.to_device(x, device)
        results = kernel(given, axis=axis, device=device)
        assert isinstance(results, tuple) and [r.dtype.name for r in results] == [dtype] * 2 + ["int64"] * 2
        for got, want in zip(
            on_host(results), (flat.min(-1), flat.max(-1), flat.argmin(-1), flat.argmax(-1)), strict=True
        ):
            assert np.array_equal(got, want), (shape, axis)


@pytest.mark.parametrize("layout", STRIDED)
@pytest.mark.parametrize("inputs", [1, 2, 3])
def test_elements_are_numbered_in_c_order(device, layout, inputs):
    """However they lie, and by all three ways to get at them."""
    given = ("T x", "T x, int32 w", "T x, int32 w, int32 v")[inputs - 1]
    value = ("x", "x * w", "x * w + v")[inputs - 1]
    kernel = extremes("float64", given, f"{{{value}, {value}, _J, _J}}")
    x = STRIDED[layout](whole_numbers((5, 6, 7), "float64", seed=2, most=99))
    more = [whole_numbers((6, 7), "int32", seed=3), whole_numbers((5, 1, 7), "int32", seed=4)][: inputs - 1]
    values = x.astype("f8")
    for index, array in enumerate(more):
        values = values * array if index == 0 else values + array
    for size in range(4):
        for axis in itertools.permutations(range(3), size):
            flat = along(values, sorted(axis))
            got = kernel(x, *more, axis=axis, device=device)
            want = flat.min(-1), flat.max(-1), flat.argmin(-1), flat.argmax(-1)
            assert all(map(np.array_equal, got, want)), axis
    numbers = total(given, "float64 y", f"double(_J) * ({value})")
    weighted = (along(values, (0, 2)) * np.arange(35.0)).sum(-1)
    assert np.array_equal(numbers(x, *more, axis=(0, 2), device=device), weighted)


def test_repeated_elements_have_numbers_of_their_own(device):
    x = np.broadcast_to(whole_numbers((30, 1, 30, 1), "float32"), (30, 700, 30, 7))
    numbers = total("T x", "float64 y", "x * double(_J % 1000)")
    for axis in ((2,), (2, 3), (1, 3), (0, 1)):
        flat = along(x, axis)
        want = (flat * np.float64(np.arange(flat.shape[-1]) % 1000)).sum(-1)
        assert np.array_equal(numbers(x, axis=axis, device=device), want), axis


@pytest.mark.parametrize("identity", ["{0, 0}", None])
@pytest.mark.parametrize("where", ["host", "device"])
def test_outputs_of_many_dtypes(device, where, identity):
    """Eight of them, each with its own size, in an order that would show one that is written for another."""
    outs = "int8 p, complex128 q, bool r, float16 s, uint64 t, float32 u, complex64 v, int16 w"
    kernel = ReductionKernel(
        "int32 x", outs, "{x, x * x}", "{a.sum + b.sum, a.squares + b.squares}",
        "p = a.sum; q = complex<double>(a.sum, a.squares); r = a.sum > 0; s = a.sum / 8.0f; t = a.squares;"
        "u = -a.sum; v = complex<float>(-a.squares, a.sum); w = a.sum % 100",
        identity, "eight", reduce_type=np.dtype([("sum", "i8"), ("squares", "i8")]),
    )  # fmt: skip
    for shape, axis in ((((3, 700)), 1), ((90_000, 3), 0), ((700, 64), 0), ((999,), None), ((5000, 1), 1)):
        x = whole_numbers(shape, "int32", seed=shape[0])
        given = x if where == "host" else gpureduce.to_device(x, device)
        total_, squares = x.sum(axis, dtype="i8"), (x * x).sum(axis, dtype="i8")
        want = (
            total_.astype("i1"), total_ + 1j * squares, total_ > 0, (total_ / 8).astype("f2"),
            squares.astype("u8"), -total_.astype("f4"), (-squares + 1j * total_).astype("c8"),
            np.fmod(total_, 100).astype("i2"),
        )  # fmt: skip
        got = on_host(kernel(given, axis=axis, device=device))
        for one, (g, w) in enumerate(zip(got, want, strict=True)):
            assert g.dtype == w.dtype and np.array_equal(g, w), (shape, one)
    empty = kernel(np.empty((0, 4), np.int32), axis=1, device=device)
    assert [e.shape for e in empty] == [(0,)] * 8
    if identity is None:
        with pytest.raises(ValueError, match="eight: zero-size array"):
            kernel(np.empty((4, 0), np.int32), axis=1, device=device)
    else:
        assert [e.tolist() for e in kernel(np.empty((4, 0), np.int32), axis=1, device=device)][:3] == [
            [0] * 4, [0] * 4, [False] * 4,
        ]  # fmt: skip


def test_outs(device):
    x = whole_numbers((4, 50), "float32")
    kernel, shape = welford(), (4,)
    want = kernel(x, axis=1, device=device)
    assert not np.shares_memory(*want)
    outs = np.empty(shape), np.empty((4, 2))[:, 1]
    for call in (
        lambda: kernel(x, axis=1, out=outs, device=device),
        lambda: kernel(x, *outs, axis=1, device=device),
    ):
        got = call()
        assert all(g is o for g, o in zip(got, outs, strict=True))
        assert all(map(np.array_equal, outs, want))
        outs[0][:] = outs[1][:] = -1
    got = kernel(x, axis=1, out=(None, outs[1]), device=device)
    assert got[1] is outs[1] and all(map(np.array_equal, got, want))
    there = tuple(gpureduce.to_device(np.zeros(shape), device) for _ in range(2))
    for given in (x, gpureduce.to_device(x, device)):
        got = kernel(given, axis=1, out=there, device=device)
        assert got[0] is there[0] and all(map(np.array_equal, on_host(got), want))
    kept = kernel(x, axis=0, keepdims=True, as_device=True, device=device)
    assert all(isinstance(one, gpureduce.DeviceArray) and one.shape == (1, 50) for one in kept)
    whole = kernel(gpureduce.to_device(x, device), as_device=True)
    np.testing.assert_allclose(on_host(whole), kernel(x, device=device), rtol=1e-14)  # in another order


def test_outs_that_do_not_fit_are_refused(device):
    x, kernel = whole_numbers((4, 5)), welford()
    one = np.empty(4)
    with pytest.raises(TypeError, match=r"out: expected a tuple of 2 arrays, got ndarray"):
        kernel(x, axis=1, out=one, device=device)
    with pytest.raises(TypeError, match=r"out: expected a tuple of 2 arrays, got 3 in a tuple"):
        kernel(x, axis=1, out=(one,) * 3, device=device)
    with pytest.raises(TypeError, match=r"welford: expected 1 arguments \(x\), got 2"):
        kernel(x, one, axis=1, device=device)
    with pytest.raises(TypeError, match="variance has dtype float32; expected float64"):
        kernel(x, axis=1, out=(one, np.empty(4, np.float32)), device=device)
    with pytest.raises(ValueError, match=r"out: expected shape .* got \(5,\)"):
        kernel(x, axis=1, out=(one, np.empty(5)), device=device)
    there = gpureduce.to_device(one, device)
    with pytest.raises(ValueError, match="out: expected all outputs on the device, or none"):
        kernel(x, axis=1, out=(one, there), device=device)
    with pytest.raises(ValueError, match="out: two outputs share memory"):
        kernel(x, axis=1, out=(there, there), device=device)


def test_accumulators_of_a_dtype(device):
    """Fields of several elements, and halves, which are float."""
    fields = np.dtype([("count", "u4"), ("powers", "f8", (4,)), ("half", "f2")])
    powers = ReductionKernel(
        "T x", ", ".join(f"float64 p{i}" for i in range(4)) + ", float32 half", "start(x)", "add(a, b)",
        "p0 = a.powers[0]; p1 = a.powers[1]; p2 = a.powers[2]; p3 = a.powers[3]; half = a.half", "start(0)",
        "powers", fields, preamble="""
        _type_reduce start(double x) {
            return {1, {x, x * x, x * x * x, x * x * x * x}, float(x)};
        }
        _type_reduce add(_type_reduce a, _type_reduce b) {
            for (int i = 0; i < 4; ++i)
                a.powers[i] += b.powers[i];
            a.half += b.half;
            return a;
        }""",
    )  # fmt: skip
    x = whole_numbers((60, 70), "float32")
    for axis in (None, 0, 1):
        got = powers(x, axis=axis, device=device)
        for power in range(4):
            assert np.array_equal(got[power], (x.astype(float) ** (power + 1)).sum(axis=axis))
        assert np.array_equal(got[4], x.sum(axis=axis))  # of 2049 and more a half is even


# What is refused


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"in_params": "flaot32 x"},
            ValueError,
            "in_params: unknown type 'flaot32'; expected one of bool, int8",
        ),
        ({"in_params": "float x"}, ValueError, "in_params: unknown type 'float'"),
        ({"out_params": "TT y"}, ValueError, "out_params: unknown type 'TT'"),
        ({"in_params": "1 x"}, ValueError, "in_params: unknown type '1'"),
        ({"in_params": "raw T x"}, ValueError, "in_params: 'raw' in 'raw T x' is not supported"),
        ({"in_params": "x"}, ValueError, "in_params: expected a type and a name, got 'x'"),
        ({"in_params": ""}, ValueError, "in_params: expected a type and a name, got ''"),
        ({"in_params": "T x,"}, ValueError, "in_params: expected a type and a name, got ''"),
        ({"in_params": "T x+"}, ValueError, "in_params: expected a type and a name, got 'T x\\+'"),
        ({"in_params": "T x, T x"}, ValueError, "in_params: two parameters are called 'x'"),
        ({"in_params": "T y"}, ValueError, "in_params: two parameters are called 'y'"),
        (
            {"in_params": ", ".join(f"T x{i}" for i in range(9))},
            ValueError,
            "in_params: 9 parameters; at most 8",
        ),
        (
            {"out_params": ", ".join(f"T y{i}" for i in range(9))},
            ValueError,
            "out_params: 9 parameters; at most 8",
        ),
        ({"out_params": "T y, T y"}, ValueError, "out_params: two parameters are called 'y'"),
        ({"out_params": "T y, T a"}, ValueError, "out_params: 'a' is the reduced value"),
        ({"in_params": "T _J"}, ValueError, "in_params: '_J' is the number of an element"),
        ({"out_params": "T a"}, ValueError, "out_params: 'a' is the reduced value"),
        ({"in_params": 3}, TypeError, "in_params: expected str, got int"),
        ({"map_expr": None}, TypeError, "map_expr: expected str, got NoneType"),
        ({"reduce_expr": "  "}, ValueError, "reduce_expr: expected a C\\+\\+ expression"),
        ({"post_map_expr": ""}, ValueError, "post_map_expr: expected a C\\+\\+ expression"),
        ({"identity": float("inf")}, TypeError, "identity: expected str, got float"),
        ({"identity": [0]}, TypeError, "identity: expected str, got list"),
        ({"name": "two words"}, ValueError, "name: expected an identifier"),
        ({"name": "n" * 201}, ValueError, "name: expected an identifier of at most 200"),
        ({"name": None}, TypeError, "name: expected str"),
        ({"reduce_type": ""}, ValueError, "reduce_type: expected"),
        ({"reduce_type": 3}, TypeError, "reduce_type: expected str or a dtype with fields, got int"),
        ({"reduce_type": [("n", "U3")]}, TypeError, "reduce_type: field 'n' has dtype <U3; expected one of"),
        ({"reduce_type": [("n", [("m", "f8")])]}, TypeError, "reduce_type: field 'n' has dtype"),
        ({"reduce_type": [("two words", "f8")]}, ValueError, "reduce_type: 'two words' is not a valid name"),
        ({"preamble": None}, TypeError, "preamble: expected str"),
        ({"options": "-G"}, TypeError, "options: expected a tuple of str"),
        ({"options": (1,)}, TypeError, "options: expected str, got int"),
    ],
)
def test_definitions_that_make_no_sense(changes, error, message):
    with pytest.raises(error, match=message):
        norm2(**changes)


def test_calls_that_make_no_sense(device):
    x = whole_numbers((4, 5))
    kernel = total("T x, T w", map_expr="x * w")
    for arguments in ((), (x,), (x,) * 4):
        with pytest.raises(TypeError, match=rf"total: expected 2 arguments \(x, w\), got {len(arguments)}"):
            kernel(*arguments, device=device)
    with pytest.raises(TypeError, match="total: w has dtype float64, but T is float32"):
        kernel(x, x.astype(float), device=device)
    with pytest.raises(TypeError, match=r"total: x has dtype float32; expected int8"):
        total("int8 x")(x, device=device)
    with pytest.raises(TypeError, match=r"x: dtype .* is not supported"):
        kernel(x.astype(str), x, device=device)
    with pytest.raises(TypeError, match="w: masked arrays are not supported"):
        kernel(x, np.ma.masked_less(x, 0), device=device)
    with pytest.raises(ValueError, match=r"total: shapes \(4, 5\), \(4,\) do not broadcast"):
        kernel(x, x[:, 0], device=device)
    with pytest.raises(np.exceptions.AxisError):
        kernel(x, x, axis=2, device=device)
    with pytest.raises(ValueError, match="axis: duplicate"):
        kernel(x, x, axis=(0, -2), device=device)
    with pytest.raises(TypeError, match="unexpected keyword"):
        kernel(x, x, where=x > 0)
    with pytest.raises(ValueError, match="device: unknown device"):
        kernel(x, x, device="tpu")


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"map_expr": "x *\n undefined_thing"}, "map_expr(2)"),
        ({"reduce_expr": "a +"}, "reduce_expr(2)"),
        ({"post_map_expr": "z = a"}, "post_map_expr(1)"),
        ({"identity": "nothing"}, "identity(1)"),
        ({"reduce_type": "flaot"}, "reduce_type(1)"),
        ({"preamble": "\n\n#error wrong"}, "preamble(3)"),
        ({"map_expr": "pow(x, 2"}, "map_expr("),
    ],
)
def test_compile_errors_say_which_expression(device, changes, where):
    kernel = norm2(**changes)
    for _ in range(2):  # it is no cached success
        with pytest.raises(gpureduce.CompileError) as caught:
            kernel(whole_numbers(3), device=device)
    message = str(caught.value)
    assert message.startswith("norm2: ")
    assert where in message
    assert repr(next(iter(changes.values()))) in message  # what the user wrote
    assert caught.value.log in message and "error" in caught.value.log
    assert "gr_map" in caught.value.source
    assert isinstance(caught.value, ValueError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.log, again.source) == (message, caught.value.log, caught.value.source)
    assert kernel.cache_info() == (0, 0, 0)


def test_options_reach_the_compiler(device):
    x = whole_numbers(70, "float64")
    assert total(map_expr="x * FACTOR", options=["-DFACTOR=3"])(x, device=device) == 3 * x.sum()
    with pytest.raises(gpureduce.CompileError, match="--no-such-option"):
        total(options=("--no-such-option",))(x, device=device)


def test_values_that_are_too_large(device):
    def kernel(doubles, identity):
        return total(
            preamble=f"struct Wide {{ double x[{doubles}]; }};", reduce_type="Wide", map_expr="Wide{{x}}",
            reduce_expr="Wide{{a.x[0] + b.x[0]}}", post_map_expr="y = a.x[0]", identity=identity,
        )  # fmt: skip

    x = whole_numbers(1001, "float64")
    assert kernel(6, "Wide{{0}}")(x, device=device) == x.sum()
    assert kernel(5, None)(x, device=device) == x.sum()
    for doubles, identity in ((7, "Wide{{0}}"), (6, None)):
        with pytest.raises(gpureduce.CompileError, match="reduce_type: its values have at most 48 bytes"):
            kernel(doubles, identity)(x, device=device)


# Being an object


def test_repr_copy_and_pickle(device):
    x = whole_numbers(100)
    for kernel in (
        norm2(),
        norm2(identity=None, reduce_type="float64", preamble="// none", options=("-DX=1",)),
        norm2(
            reduce_type=np.dtype([("s", "f4")]),
            map_expr="{x * x}",
            reduce_expr="{a.s + b.s}",
            post_map_expr="y = sqrt(a.s)",
            identity="{0}",
        ),
    ):
        wanted = kernel(x, device=device)
        twins = (
            eval(repr(kernel)),
            copy.copy(kernel),
            copy.deepcopy(kernel),
            pickle.loads(pickle.dumps(kernel)),
        )
        for twin in twins:
            assert repr(twin) == repr(kernel)
            assert twin(x, device=device) == wanted
            assert twin.cache_info() == (0, 0, 1)
    assert repr(norm2()) == "ReductionKernel('T x', 'T y', 'x * x', 'a + b', 'y = sqrt(a)', '0', 'norm2')"
    assert norm2().name == norm2().__name__ == "norm2"


# Kept kernels


def test_where_kernels_are_found(device, fresh):
    x = whole_numbers(500)
    kernel = norm2()
    for calls in range(1, 4):
        kernel(x, device=device)
        assert kernel.cache_info() == (1, 0, calls - 1)
    kernel(x[:7], device=device)  # other lengths are no reason to compile
    assert kernel.cache_info().compiled == 1
    kernel(x.astype(float), device=device)  # other dtypes are
    for _ in range(2):
        kernel(x.reshape(10, 50), axis=0, device=device)  # and the first layout that takes another kernel
    assert kernel.cache_info() == (3, 0, 4)
    assert len(list(fresh.iterdir())) == 3
    twin = norm2()
    twin(x, device=device)
    assert twin.cache_info() == (0, 0, 1)
    custom._kernels.clear()
    twin = norm2()
    assert twin(x, device=device) == kernel(x, device=device)
    assert twin.cache_info() == (0, 1, 0)


def test_all_that_is_given_is_in_the_key(device, fresh):
    x = whole_numbers(50)
    for changes in (
        {}, {"map_expr": "x * w + 0"}, {"reduce_expr": "b + a"}, {"post_map_expr": "y = sqrt(a) + 0"},
        {"identity": "0.0f"}, {"identity": None}, {"name": "norm"}, {"reduce_type": "float64"},
        {"preamble": "// a"}, {"options": ("-DX",)},
    ):  # fmt: skip
        kernel = quick(**changes)
        kernel(x, x, device=device)
        assert kernel.cache_info() == (1, 0, 0), changes


def test_another_compiler_compiles_again(device, fresh, monkeypatch):
    x = whole_numbers(50)
    quick()(x, x, device=device)
    custom._kernels.clear()
    monkeypatch.setattr(nvrtc.library(), "version", (12, 99))
    kernel = quick()
    kernel(x, x, device=device)
    assert kernel.cache_info() == (1, 0, 0)


def test_a_damaged_file_is_compiled_again(device, fresh):
    x = whole_numbers(500)
    wanted = quick()(x, x, device=device)
    (file,) = fresh.iterdir()
    whole = file.read_text("utf-8")
    damaged = {
        "cut short": whole[: len(whole) // 2],
        "changed": whole.replace("ret;", "bra;", 1),
        "empty": "",
        "without digest": whole.split("\n", 1)[1],
        "no UTF-8": "\xff\xfe",
    }
    for damage, text in damaged.items():
        file.write_text(text, "latin-1")
        for found in ((1, 0, 0), (0, 1, 0)):
            custom._kernels.clear()
            kernel = quick()
            assert kernel(x, x, device=device) == wanted, damage
            assert kernel.cache_info() == found, damage
        assert [path.read_text("utf-8") for path in fresh.iterdir()] == [whole]


def test_without_a_folder_to_write_to(device, fresh):
    fresh.write_text("no folder")
    kernel = norm2()
    assert kernel(np.array([3.0, 4.0]), device=device) == 5
    assert kernel.cache_info() == (1, 0, 0)


def test_which_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("GPUREDUCE_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert disk_cache.cache_folder() == tmp_path / ".cache" / "gpureduce"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/to/nothing")
    assert disk_cache.cache_folder() == tmp_path / ".cache" / "gpureduce"
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/xdg")
    assert disk_cache.cache_folder() == Path("/var/xdg/gpureduce")
    monkeypatch.setenv("GPUREDUCE_CACHE_DIR", "mine")
    assert disk_cache.cache_folder() == Path("mine")


def test_the_oldest_kernels_are_unloaded(device, fresh, monkeypatch):
    monkeypatch.setattr(custom, "_KEPT", 2)
    x = whole_numbers(50, "float64")
    kernels = [total("T x, int32 w", map_expr=f"{i} * x") for i in range(4)]
    for _ in range(2):  # those in use go on working
        assert [kernel(x, 1, device=device) for kernel in kernels] == [i * x.sum() for i in range(4)]
    assert len(custom._kernels) == 2


def test_threads_compile_once(device, fresh):
    kernels = [quick() for _ in range(3)]
    x = whole_numbers((8, 3000))
    wanted = np.sqrt((x.astype(np.float64) ** 2).sum(axis=1)).astype(np.float32)
    results, start = {}, threading.Barrier(8)

    def work(number):
        start.wait()
        for turn in range(5):
            results[number, turn] = kernels[number % 3](x[number], x[number], device=device)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {key: value == wanted[key[0]] for key, value in results.items()} == dict.fromkeys(results, True)
    assert len(results) == 40
    assert sum(kernel.cache_info().compiled for kernel in kernels) == 1
    assert [path.suffix for path in fresh.iterdir()] == [".ptx"]


def run_python(code, **environment):
    """The standard output of a program that sees this very package."""
    path = str(Path(gpureduce.__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": path, **environment}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120, cwd="/"
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


DEFINITION = """
import gpureduce
norm2 = gpureduce.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm2")
"""


def test_a_program_may_end_with_kernels_loaded(device):
    code = f"{DEFINITION}\nprint(norm2([3.0, 4.0], device={device!r}), norm2.cache_info())"
    run_python(code)
    assert run_python(code) == "5.0 CacheInfo(compiled=0, disk=1, memory=0)\n"


def test_a_forked_child_can_compile():
    """Even if it was made while another thread was compiling."""
    code = f"""{DEFINITION}
import os
from gpureduce._custom import kernel
kernel._lock.acquire()
child = os.fork()
if child == 0:
    os._exit(0 if norm2([3.0, 4.0], device="sim") == 5 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run_python(code) == "0\n"


@pytest.mark.parametrize("missing", ["cuda.pathfinder", "library"])
def test_without_nvrtc(device, fresh, monkeypatch, missing):
    if missing == "library":
        from cuda import pathfinder

        def find(name):
            raise pathfinder.DynamicLibNotFoundError(f"no {name} here\nnor there")

        monkeypatch.setattr(pathfinder, "load_nvidia_dynamic_lib", find)
    else:
        monkeypatch.setitem(sys.modules, missing, None)
    nvrtc.library.cache_clear()
    kernel = norm2()
    with pytest.raises(ImportError, match=r"NVRTC: pip install 'gpureduce\[nvrtc\]'"):
        kernel([3.0, 4.0], device=device)
    monkeypatch.undo()
    assert kernel([3.0, 4.0], device=device) == 5  # installed meanwhile


# The core, called past the Python that prepares its arguments


def test_the_core_checks_what_it_is_handed():
    ptx, _ = nvrtc.compiled("total", program("tiles"), ())
    kernels = {"tiles": _core.custom_load("total", ptx, _core.SIM, 0)}
    x, out = np.arange(6, dtype=np.float32).reshape(2, 3), np.empty(2, np.float32)
    assert _core.custom_run(kernels, (x,), False, True, False, False, (1,), (out,)) == []
    assert out.tolist() == [3, 12]
    kinds = False, False
    for arguments, error in (
        ((object(), (x,), False, True, *kinds, (1,), (out,)), TypeError),
        ((kernels["tiles"], (x,), False, True, *kinds, (1,), (out,)), TypeError),
        (({"tiles": object()}, (x,), False, True, *kinds, (1,), (out,)), ValueError),
        ((kernels, [x], False, True, *kinds, (1,), (out,)), TypeError),
        ((kernels, (x,) * 9, True, False, *kinds, (1,), (out,)), TypeError),
        ((kernels, (), False, True, *kinds, (), (out,)), ValueError),
        ((kernels, (b"1234",), False, True, *kinds, (), (out,)), ValueError),
        ((kernels, (x, b"1" * 17), False, False, *kinds, (1,), (out,)), ValueError),
        ((kernels, (x, x, x), False, False, *kinds, (1,), (out,)), ValueError),
        ((kernels, (x, x[0]), False, False, *kinds, (1,), (out,)), ValueError),
        ((kernels, (x, "x"), False, False, *kinds, (1,), (out,)), TypeError),
        ((kernels, (x,), False, True, *kinds, [1], (out,)), TypeError),
        ((kernels, (x,), False, True, *kinds, (2,), (out,)), ValueError),
        ((kernels, (x,), False, True, *kinds, (1,), (out[:1],)), ValueError),
        ((kernels, (x,), False, True, *kinds, (1,), (None,)), TypeError),
        ((kernels, (x,), False, True, *kinds, (1,), (np.empty(4, np.float32)[::2],)), ValueError),
        ((kernels, (x,), False, True, *kinds, (1,), out), TypeError),
        ((kernels, (x,), False, True, *kinds, (1,), ()), TypeError),
        ((kernels, (x,), False, True, *kinds, (1,), (out,) * 9), TypeError),
        ((kernels, (x,), False, True, *kinds, (1,), (out, (0, (2,), (4,), "float32"))), ValueError),
        ((kernels, (x,), False, True, *kinds, (1,)), TypeError),
    ):
        with pytest.raises(error):
            _core.custom_run(*arguments)
    with pytest.raises(gpureduce.SimulationError):
        _core.custom_load("total", "no PTX", _core.SIM, 0)
    with pytest.raises(gpureduce.SimulationError, match="no kernel other_tiles"):
        other = _core.custom_load("other", ptx, _core.SIM, 0)
        _core.custom_run({"tiles": other}, (x,), False, True, *kinds, (1,), (out,))


def program(*kernels):
    kernel = total()
    types = custom.Types(("float32",), (False,), ("float32",), True)
    return custom.source("total", kernel._inputs, kernel._outs, kernel._expressions, types, kernels)


def test_the_core_says_which_kernels_are_missing():
    """Of a plan of two launches both, and what runs may be of several programs."""
    x, out = whole_numbers((3, 60_000)), np.full(3, 0.5, np.float32)
    call = (x,), False, True, False, False, (1,), (out,)
    names = _core.custom_run({}, *call)
    assert len(names) == 2 and names[1] == "last"
    kernels = {}
    for name in names:
        assert name in _core.custom_run(kernels, *call) and (out == 0.5).all()
        ptx, _ = nvrtc.compiled("total", program(name), ())
        assert len(re.findall(r"\.entry \w+", ptx)) == 1
        kernels[name] = _core.custom_load("total", ptx, _core.SIM, 0)
    assert _core.custom_run(kernels, *call) == []
    assert np.array_equal(out, x.sum(axis=1))
    kernels["last"] = _core.custom_load("total", ptx, _core.SIM, 1)
    with pytest.raises(ValueError, match="kernels of total lie on two devices"):
        _core.custom_run(kernels, *call)
    empty = np.zeros((0, 5), np.float32)
    assert _core.custom_run({}, (empty,), False, True, False, False, (1,), (out[:0],)) == []


# Beside CuPy, and in docs/


@pytest.mark.gpu
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2), (1, 2)])
def test_like_cupy(axis):
    cupy = pytest.importorskip("cupy")
    shape = (13, 170, 65)
    definitions = [
        (("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm2"), "d"),
        (("T x, float32 w", "float64 y", "x * w", "a + b", "y = a", "0", "weighted"), "df"),
        (("T x", "T y", "abs(x)", "max(a, b)", "y = a", "0", "max_abs"), "f"),
        (("T x, T u, int32 k", "int64 y", "x > u ? k : -k", "a + b", "y = a", "0", "votes"), "hhi"),
        (("T x", "int32 y", "x > 0", "a && b", "y = a", "1", "all_positive"), "i"),
    ]
    for arguments, chars in definitions:
        host = [whole_numbers(shape if i == 0 else shape[i:], c, seed=i) for i, c in enumerate(chars)]
        wanted = cupy.ReductionKernel(*arguments)(*map(cupy.asarray, host), axis=axis)
        mine = ReductionKernel(*arguments)
        got = mine(*map(cupy.asarray, host), axis=axis, as_device=True)
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
        assert np.array_equal(got.numpy(), wanted.get()), arguments
        assert np.array_equal(mine(*host, axis=axis, device="cuda"), wanted.get())


def test_the_example_of_the_guide(default_device):
    guide = ROOT / "docs/how-to/custom-reductions.md"
    if not guide.exists():
        pytest.skip("no docs next to the tests")
    examples = re.findall(r"```python\n(.*?)```", guide.read_text("utf-8"), re.DOTALL)
    a = np.array([[3, 4], [5, 12]], np.float32)
    names = {"np": np, "gpureduce": gpureduce, "a": a}
    for example in examples:
        exec(example, names)
    assert names["norms"].tolist() == [5, 13]
    assert names["mean"].tolist() == a.mean(axis=0).tolist()
    assert names["variance"].tolist() == a.var(axis=0).tolist()
    assert [int(names[name]) for name in ("low", "at_low", "high", "at_high")] == [3, 0, 12, 3]
