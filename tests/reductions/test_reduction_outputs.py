"""Reductions that users write: several outputs, and accumulators of several values."""

import itertools
import math

import numpy as np
import pytest

import gpureduce
from gpureduce import ReductionKernel
from tests.support.custom_reductions import SHAPES, STRIDED, total, whole_numbers

pytestmark = pytest.mark.usefixtures("kept_kernels")

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
