"""Reductions that users write: values of every layout and dtype, inputs, `out=`, the example of the guide.

Most data are whole numbers whose sums a float holds exactly, in any order, so that results have to be equal.
"""

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest

import gpureduce
from gpureduce import ReductionKernel, _core
from tests.support import numpy_oracle as oracle
from tests.support.custom_reductions import SHAPES, STRIDED, largest, norm2, total, whole_numbers

pytestmark = pytest.mark.usefixtures("kept_kernels")

ROOT = Path(__file__).resolve().parents[2]
SIZES = (0, 1, 2, 3, 31, 32, 33, 255, 256, 257, 1000, 4097, 70001)


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
        planned |= {kernel for kernel, *_ in _core.plan_general(np.empty(shape, np.int32), "sum", axes, None)}
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
