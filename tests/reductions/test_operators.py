"""Every operator with every dtype: values, ties, NaN, nothing to reduce, and what is refused."""

import itertools
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest

import gpureduce
from tests.support import numpy_oracle as oracle
from tests.support.like_numpy import around_one, assert_like_numpy, numbers
from tests.support.selection import block_sizes

VARIANTS = [variant for variant in gpureduce.variants("reduction") if variant.role != "study"]
NUMBERS = tuple(dtype for dtype in oracle.DTYPES if dtype != "bool")
WITH_NAN = (*oracle.FLOATS, *oracle.COMPLEX)
# What has an order: minima in every dtype, the rest of them where NumPy has them too.
AXES = (None, 0, 1, -1, (0, 2), (), (2, 0, 1))


@pytest.fixture
def on(device):
    """Calls a function of the package, by its name, on the device of the run."""

    def call(op, *operands, **arguments):
        return getattr(gpureduce, op)(*operands, device=device, **arguments)

    return call


# Every operator with every dtype


@pytest.mark.core
@pytest.mark.parametrize("dtype", oracle.DTYPES)
@pytest.mark.parametrize("op", oracle.OPS)
def test_axes(op, dtype, on):
    make = around_one if op == "prod" else numbers
    array = make(dtype, (5, 33, 7))
    for axis in AXES:
        assert_like_numpy(on, op, array, axis=axis)
        assert_like_numpy(on, op, array, axis=axis, keepdims=True)


@pytest.mark.parametrize("dtype", oracle.DTYPES)
@pytest.mark.parametrize("op", oracle.OPS)
def test_lengths(op, dtype, on):
    make = around_one if op == "prod" else numbers
    for n in (1, 2, 31, 33, 255, 257, 1025, 4099):
        assert_like_numpy(on, op, make(dtype, n, seed=n))


@pytest.mark.parametrize("dtype", ["int16", "float32", "complex128", "bool"])
@pytest.mark.parametrize("op", oracle.OPS)
def test_long_and_short_axes(op, dtype, on):
    make = around_one if op == "prod" else numbers
    for shape in ((3, 5000), (5000, 3), (2, 2500, 2), (1, 4097), (4097, 1), (70000,)):
        array = make(dtype, shape, seed=shape[0])
        for axis in (None, *range(len(shape))):
            assert_like_numpy(on, op, array, axis=axis)


@pytest.mark.parametrize("dtype", oracle.DTYPES)
@pytest.mark.parametrize("op", oracle.OPS)
def test_nothing_to_reduce(op, dtype, on):
    """Identities, or ValueError; an empty result is no error."""
    for shape in ((0,), (0, 3), (3, 0), (0, 0), (2, 0, 3)):
        array = np.empty(shape, oracle.dtype_of(dtype))
        for axis in (None, *range(len(shape))):
            assert_like_numpy(on, op, array, axis=axis)


@pytest.mark.parametrize("dtype", oracle.DTYPES)
@pytest.mark.parametrize("op", [op for op in oracle.OPS if op not in (*oracle.ARG, "count_nonzero")])
def test_masks(op, dtype, on):
    make = around_one if op == "prod" else numbers
    array = make(dtype, (6, 40))
    rng = np.random.default_rng(3)
    masks = (rng.random((6, 40)) < 0.4, rng.random(40) < 0.4, np.arange(6)[:, None] > 2, False, [True] * 40)
    initial = {"initial": 3} if op in ("min", "max") else {}
    for mask, axis in itertools.product(masks, (None, 0, 1)):
        assert_like_numpy(on, op, array, where=mask, axis=axis, **initial)


@pytest.mark.parametrize("dtype", oracle.DTYPES)
@pytest.mark.parametrize("op", ["sum", "prod", "min", "max", *oracle.BITWISE])
def test_initial_takes_part_once(op, dtype, on):
    make = around_one if op == "prod" else numbers
    array = make(dtype, (3, 600))
    for initial, axis in itertools.product((0, 1, 2, 100), (None, 0, 1)):
        assert_like_numpy(on, op, array, initial=initial, axis=axis)
        assert_like_numpy(on, op, array[:0], initial=initial, axis=axis)


# NaN, infinities, zeros


@pytest.mark.parametrize("dtype", WITH_NAN)
@pytest.mark.parametrize(
    "op", ["min", "max", "argmin", "argmax", "sum", "prod", "any", "all", "count_nonzero"]
)
def test_nan_anywhere(op, dtype, on):
    values = around_one(dtype, 700)
    for position in (0, 1, 31, 32, 255, 256, 600, 699):
        array = values.copy()
        array[position] = np.nan
        assert_like_numpy(on, op, array)
        array[min(position + 100, 699)] = np.nan
        assert_like_numpy(on, op, array)
        assert_like_numpy(on, op, array.reshape(7, 100), axis=0)


@pytest.mark.parametrize("dtype", oracle.COMPLEX)
@pytest.mark.parametrize("op", ["min", "max", "argmin", "argmax"])
def test_complex_order(op, dtype, on):
    """By the real part, then the imaginary one; a NaN in either part is a NaN."""
    array = np.array([2 + 1j, 2 - 1j, 2 + 3j, 1 + 9j, 2 + 3j, 1 - 9j, 1 - 9j], dtype)
    assert_like_numpy(on, op, array)
    for part in (complex(np.nan, 0), complex(0, np.nan), complex(np.nan, np.nan)):
        assert_like_numpy(on, op, np.append(array, [dtype_type(dtype)(part), array[0]]))


def dtype_type(dtype):
    return oracle.dtype_of(dtype).type


@pytest.mark.parametrize("dtype", WITH_NAN)
def test_infinities_are_ordinary_to_orders(dtype, on):
    for fill in (np.inf, -np.inf):
        array = np.full(300, fill, oracle.dtype_of(dtype))
        for op in ("min", "max", "argmin", "argmax"):
            assert_like_numpy(on, op, array)
            assert_like_numpy(on, op, array[:1])
        array[200] = 0
        for op in ("min", "max", "argmin", "argmax"):
            assert_like_numpy(on, op, array)


@pytest.mark.parametrize("dtype", WITH_NAN)
@pytest.mark.parametrize("op", ["sum", "mean"])
def test_infinities_in_sums(op, dtype, on):
    for specials in ((np.inf,), (-np.inf,), (np.inf, -np.inf), (np.inf, np.inf), (np.inf, np.nan)):
        array = around_one(dtype, 700)
        for index, special in enumerate(specials):
            array[37 + 400 * index] = special
        if oracle.dtype_of(dtype).kind == "c":
            got, wanted = on(op, array), np.sum(array)
            assert np.isfinite(got.real) == np.isfinite(wanted.real), (specials, got, wanted)
            assert np.isnan(got.real) == np.isnan(wanted.real), (specials, got, wanted)
        else:
            assert_like_numpy(on, op, array)


@pytest.mark.parametrize("dtype", oracle.FLOATS)
def test_zeros_of_both_signs_are_equal_and_false(dtype, on):
    array = np.array([0.0, -0.0, 0.0, -0.0] * 100, oracle.dtype_of(dtype))
    for values in (array, array[1:]):
        for op in ("argmin", "argmax", "any", "all", "count_nonzero"):
            assert_like_numpy(on, op, values)


@pytest.mark.parametrize("dtype", oracle.FLOATS)
@pytest.mark.parametrize("n", [1, 2, 300])
def test_sign_of_a_zero_sum(n, dtype, on):
    array = np.full(n, -0.0, oracle.dtype_of(dtype))
    for axis in (None, 0):
        got, wanted = on("sum", array, axis=axis), np.sum(array, axis=axis)
        assert got == 0 and np.signbit(got) == np.signbit(wanted)


# Positions


@pytest.mark.parametrize("dtype", oracle.DTYPES)
@pytest.mark.parametrize("op", oracle.ARG)
def test_the_first_of_equals_wins(op, dtype, on):
    one, other = (1, 0) if op == "argmax" else (0, 1)
    for n, positions in (
        (700, (699,)),
        (700, (3, 4)),
        (700, (31, 32)),
        (5000, (255, 256, 4999)),
        (5000, (300, 4000)),
    ):
        array = np.full(n, other, oracle.dtype_of(dtype))
        array[list(positions)] = one
        assert on(op, array) == positions[0]
        assert on(op, array[::-1]) == n - 1 - positions[-1]
        assert on(op, np.full(n, one, array.dtype)) == 0
        assert_like_numpy(on, op, array.reshape(-1, 100), axis=0)
        assert_like_numpy(on, op, array.reshape(-1, 100), axis=1)
        assert_like_numpy(on, op, array.reshape(-1, 100).T)


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
@pytest.mark.parametrize("op", [*oracle.ARG, "min", "max"])
def test_integers_that_a_double_does_not_hold(op, dtype, on):
    array = np.full(500, 2**62, dtype)
    array[123] += 1
    array[321] -= 1
    assert_like_numpy(on, op, array)


def test_positions_are_numbered_in_c_order_whatever_the_strides(on):
    array = numbers("int32", (7, 9, 11))
    for order in itertools.permutations(range(3)):
        view = array.transpose(order)[:, ::-1]
        for axis in (None, 0, 1, 2):
            assert_like_numpy(on, "argmax", view, axis=axis)
            assert_like_numpy(on, "argmin", np.asfortranarray(view), axis=axis)


# Dtypes of results, and accumulators


@pytest.mark.parametrize("dtype", oracle.DTYPES)
@pytest.mark.parametrize("op", ["sum", "prod"])
def test_every_accumulator(op, dtype, on):
    array = numbers(dtype, (4, 50)) if op == "sum" else around_one(dtype, (4, 50))
    if oracle.dtype_of(dtype).kind in "fcV":
        array = array.real.round().astype(array.dtype)  # casts to integers lose nothing
        array = np.abs(array).astype(array.dtype)
    for accumulator in oracle.DTYPES:
        if op == "prod" and accumulator in oracle.FLOATS and oracle.dtype_of(dtype).kind in "iu":
            continue  # out of range
        for axis in (None, 0):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert_like_numpy(
                    on,
                    op,
                    array % 2 if op == "prod" and array.dtype.kind in "iu" else array,
                    dtype=oracle.dtype_of(accumulator),
                    axis=axis,
                )


@pytest.mark.parametrize("dtype", oracle.INTEGERS)
def test_integers_wrap(dtype, on):
    info = np.iinfo(dtype)
    for value in (info.min, info.max):
        array = np.full(1000, value, dtype)
        for op in ("sum", "prod"):
            assert_like_numpy(on, op, array)
            assert_like_numpy(on, op, array, dtype=dtype)
            assert_like_numpy(on, op, array, dtype="uint16")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_do_not_saturate(dtype, on):
    if dtype not in oracle.DTYPES:
        pytest.skip("no ml_dtypes")
    ones = np.ones(40000, oracle.dtype_of(dtype))
    for array, axis in ((ones, None), (ones.reshape(-1, 1), 0), (np.asfortranarray(ones.reshape(1, -1)), 1)):
        assert float(np.ravel(on("sum", array, axis=axis))[0]) == float(ones.dtype.type(40000))
        assert np.ravel(on("mean", array, axis=axis))[0] == 1
    large = np.full(1000, 60000, ones.dtype)
    assert float(on("mean", large)) == float(ones.dtype.type(60000))
    mask = np.arange(1000) % 3 > 0
    assert float(on("mean", large, where=mask)) == float(ones.dtype.type(60000))


@pytest.mark.parametrize("dtype", oracle.INTEGERS)
def test_means_of_large_integers(dtype, on):
    array = np.full(1000, np.iinfo(dtype).max, dtype)
    array[::2] -= 3
    assert_like_numpy(on, "mean", array)
    assert_like_numpy(on, "mean", array.reshape(10, 100), axis=0)


@pytest.mark.parametrize("data", ["uniform", "lognormal", "cancelling", "ones", "ascending", "descending"])
def test_float32_sums_are_no_worse_than_numpy(data, on):
    rng = np.random.default_rng(5)
    n = 2**16
    values = {
        "uniform": rng.random(n),
        "lognormal": rng.lognormal(0, 4, n),
        "cancelling": rng.lognormal(0, 4, n) * np.where(np.arange(n) % 2, -1, 1),
        "ones": np.ones(n),
        "ascending": np.sort(rng.random(n)),
        "descending": np.sort(rng.random(n))[::-1],
    }[data].astype(np.float32)
    exact = math.fsum(values.tolist())
    assert abs(float(on("sum", values)) - exact) <= abs(float(np.sum(values)) - exact)
    columns = np.ascontiguousarray(values.reshape(-1, 2))
    for got, column in zip(on("sum", columns, axis=0), columns.T, strict=True):
        exact = math.fsum(column.tolist())
        assert abs(float(got) - exact) <= np.spacing(np.float32(abs(exact)))


# Means


def test_mean_of_nothing_is_nan_and_warns_the_caller(on):
    for array, arguments in (
        (np.empty(0), {}),
        (np.empty((0, 3)), {"axis": 0}),
        (np.ones(3), {"where": False}),
    ):
        with pytest.warns(RuntimeWarning, match="empty") as caught:
            got = on("mean", array, **arguments)
        assert np.isnan(got).all()
        assert caught[0].filename == __file__


@pytest.mark.parametrize("dtype", ["int8", "int64", "bool", "float16", "float32", "complex64"])
@pytest.mark.parametrize("accumulator", [None, "int32", "bool", "float16", "float32", "float64", "complex64"])
def test_mean_in_another_dtype(accumulator, dtype, on):
    array = np.abs(numbers(dtype, (6, 10))).astype(dtype)
    for arguments in ({}, {"axis": 1}, {"axis": 0, "where": np.arange(6)[:, None] > 1}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = on("mean", array, dtype=accumulator, **arguments)
            wanted = np.mean(array, dtype=accumulator, **arguments)
        assert oracle.mismatch_of_form("mean", got, wanted) is None
        if wanted.dtype.kind in "biu":
            assert np.array_equal(got, wanted)
        else:
            assert np.allclose(got, wanted, rtol=2e-3)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float64"])
@pytest.mark.parametrize("target", ["int32", "float32", "float64", "complex64"])
def test_mean_into_another_dtype(target, dtype, on):
    array = numbers(dtype, (6, 10))
    outs = [np.zeros(10, target), np.zeros(10, target)]
    assert on("mean", array, axis=0, out=outs[0]) is outs[0]
    np.mean(array, axis=0, out=outs[1])
    assert np.allclose(*outs, rtol=1e-6)


# out=


@pytest.mark.parametrize("op", [op for op in oracle.OPS if op != "count_nonzero"])
def test_out_is_filled_and_returned(op, on):
    array = numbers("int16", (4, 30))
    for keepdims, axis in itertools.product((False, True), (None, 0, 1)):
        wanted = np.asarray(oracle.call_numpy(op, array, axis=axis, keepdims=keepdims))
        for layout in ("C", "F", "reversed", "swapped", "subclass"):
            out = np.zeros(wanted.shape, wanted.dtype, order="F" if layout == "F" else "C")
            if layout == "reversed":
                out = out[(..., *(slice(None, None, -1) for _ in out.shape))]
            elif layout == "swapped":
                out = out.astype(out.dtype.newbyteorder())
            elif layout == "subclass":
                out = out.view(type("Sub", (np.ndarray,), {}))
            assert on(op, array, axis=axis, keepdims=keepdims, out=out) is out
            assert np.array_equal(out, wanted), (keepdims, axis, layout)


def test_out_may_be_a_part_of_the_input(on):
    array = np.arange(12.0).reshape(3, 4)
    wanted = array.sum(axis=0)
    on("sum", array, axis=0, out=array[1])
    assert np.array_equal(array[1], wanted)


@pytest.mark.parametrize("op", ["sum", "min", "any", "bitwise_or", "argmax"])
def test_out_of_every_dtype(op, on):
    """NumPy casts results to `out` as unsafely as it takes; argmin and argmax do not."""
    array = numbers("int16", (4, 30))
    if op == "min":
        array = np.abs(array)  # NumPy casts partial results too, and compares again; we cast once
    for target in oracle.DTYPES:
        ours, theirs = np.zeros(30, oracle.dtype_of(target)), np.zeros(30, oracle.dtype_of(target))
        wanted = oracle.call_numpy(op, array, axis=0, out=theirs)
        got = oracle.attempt(on, op, array, axis=0, out=ours)
        assert isinstance(got, Exception) == isinstance(wanted, Exception), (target, got, wanted)
        if isinstance(got, Exception):
            assert oracle.public_type(got) is oracle.public_type(wanted), (target, got, wanted)
        else:
            assert oracle.mismatch_of_equal(ours, theirs) is None, target


def frozen(shape):
    array = np.zeros(shape, np.int64)
    array.setflags(write=False)
    return array


BAD_OUTS = [
    [0] * 30, (np.zeros(30),), np.zeros(31, int), np.zeros(29, int), np.zeros(1, int), np.zeros((1, 30), int),
    np.zeros((), int), np.float64(1), frozen(30), "out",
]  # fmt: skip


@pytest.mark.parametrize("op", ["sum", "max", "all", "mean", "argmin"])
def test_out_that_does_not_fit(op, on):
    array = numbers("int16", (4, 30))
    for out in BAD_OUTS:
        wanted = oracle.call_numpy(op, array, axis=0, out=out)
        got = oracle.attempt(on, op, array, axis=0, out=out)
        assert isinstance(got, Exception), out
        assert oracle.public_type(got) is oracle.public_type(wanted), (out, got, wanted)


# Refused


BAD_CALLS = [
    {"axis": 2}, {"axis": -3}, {"axis": (0, 2)}, {"axis": (0, 0)}, {"axis": (1, -1)}, {"axis": 1.0},
    {"axis": [0]}, {"axis": "0"}, {"axis": True}, {"axis": (True,)}, {"axis": 2**70}, {"axis": (None,)},
    {"keepdims": None}, {"keepdims": "x"}, {"keepdims": 1.5},
    {"where": np.ones((4, 30), int)}, {"where": np.ones(29, bool)}, {"where": np.ones((1, 4, 30), bool)},
    {"where": np.ones((4, 30), object)},
    {"dtype": "zork"}, {"dtype": ">f4"}, {"dtype": "M8[s]"}, {"dtype": "S3"},
    {"initial": [1, 2]}, {"initial": {}}, {"initial": ...}, {"initial": "x"}, {"initial": 2**70},
    {"initial": np.nan}, {"unknown": 1},
]  # fmt: skip


@pytest.mark.parametrize("op", ["sum", "prod", "bitwise_xor"])
@pytest.mark.parametrize("arguments", BAD_CALLS, ids=str)
def test_bad_arguments(arguments, op, on):
    assert_like_numpy(on, op, numbers("int16", (4, 30)), **arguments)


@pytest.mark.parametrize("op", oracle.OPS)
@pytest.mark.parametrize("axis", [2, -3, (0, 0), 1.0, [0], True, 2**70, "x"], ids=str)
def test_bad_axes(axis, op, on):
    assert_like_numpy(on, op, numbers("int16", (4, 30)), axis=axis)


@pytest.mark.parametrize("op", oracle.OPS)
def test_axes_of_a_scalar(op, on):
    for axis in (None, 0, -1, 1, -2, (), (0,)):
        if op in oracle.ARG and axis == -2:
            continue  # an AxisError of another dimension
        assert_like_numpy(on, op, np.array(3, np.int16), axis=axis)


@pytest.mark.parametrize("op", oracle.OPS)
def test_arguments_that_numpy_does_not_have(op, on):
    array = numbers("int16", 30)
    for argument in ({"dtype": "int64"}, {"initial": 1}, {"where": True}, {"out": np.zeros((), np.int64)}):
        assert_like_numpy(on, op, array, **argument)


@pytest.mark.parametrize("op", oracle.BITWISE)
@pytest.mark.parametrize("dtype", WITH_NAN)
def test_bits_of_floats(dtype, op, on):
    for shape in (0, 3):
        with pytest.raises(TypeError):
            on(op, np.ones(shape, oracle.dtype_of(dtype)))
    with pytest.raises(TypeError):
        on(op, np.ones(3, np.int8), dtype=oracle.dtype_of(dtype))


@pytest.mark.parametrize("op", ["min", "max"])
def test_a_mask_needs_an_initial_value(op, on):
    array = numbers("float32", 30)
    for where in (array > 0, [True] * 30, np.True_, False):
        with pytest.raises(ValueError, match="initial"):
            on(op, array, where=where)
    assert on(op, array, where=True) == getattr(np, op)(array)


UNSUPPORTED = ["longdouble", "clongdouble", "M8[s]", "m8[ns]", "S3", "U3", "V4", "O", [("x", "f4")]]


@pytest.mark.parametrize("dtype", UNSUPPORTED, ids=str)
@pytest.mark.parametrize("op", oracle.OPS)
def test_unsupported_dtypes(op, dtype, on):
    for n in (0, 3):
        with pytest.raises(TypeError) as raised:
            on(op, np.zeros(n, dtype))
        assert str(np.dtype(dtype)) in str(raised.value)
        assert "float16, bfloat16, float32" in str(raised.value)


@pytest.mark.parametrize("op", oracle.OPS)
def test_masked_arrays(op, on):
    with pytest.raises(TypeError, match="mask"):
        on(op, np.ma.masked_array([1, 2, 4], mask=[False, True, False]))


@pytest.mark.parametrize("op", oracle.OPS)
def test_a_matrix_is_read_as_an_array(op, on):
    array = numbers("int32", (3, 5))
    for axis in (None, 0, 1):
        got, wanted = on(op, array.view(np.matrix), axis=axis), oracle.call_numpy(op, array, axis=axis)
        assert type(got) is not np.matrix and np.array_equal(got, wanted) and got.shape == np.shape(wanted)


# dot


@pytest.mark.parametrize("dtype", oracle.DTYPES)
def test_dot(dtype, on):
    for n in (0, 1, 2, 33, 1000, 5000):
        a, b = numbers(dtype, n, seed=1), numbers(dtype, n, seed=2)
        got, wanted = on("dot", a, b), np.dot(a, b)
        assert type(got) is type(wanted) and got.dtype == a.dtype
        if a.dtype.kind in "biu":
            assert got == wanted
            continue
        wide = np.clongdouble if a.dtype.kind == "c" else np.longdouble
        half = a.dtype.name in ("float16", "bfloat16")
        products = [v.astype(np.float32 if half else v.dtype).astype(wide) for v in (a, b)]
        exact = (products[0] * products[1]).sum()
        carrier = {"c": f"float{a.dtype.itemsize * 4}"}.get(a.dtype.kind, "float32" if half else dtype)
        u = oracle.ROUNDOFF[carrier]
        # A product rounds too, and a complex one is a sum of two.
        allowed = oracle.gamma(n + 3, u) * np.abs(products[0] * products[1]).sum() * 2
        if half:
            allowed += oracle.ROUNDOFF[dtype] * abs(exact)
        apart = abs(wide(got.astype(np.float32) if half else got) - exact)
        assert apart <= allowed, (n, got, exact)


def test_dot_of_strided_vectors(on):
    a, b = np.arange(60)[::-2], np.arange(90).reshape(30, 3)[:, 1]
    assert on("dot", a, b) == np.dot(a, b)
    assert on("dot", a.astype(">f4"), np.broadcast_to(np.float32(2), 30)) == 2 * a.sum()


def test_dot_does_not_conjugate(on):
    assert on("dot", np.array([1j, 2]), np.array([1j, 1j])) == -1 + 2j


def test_dot_finds_the_common_dtype(on):
    for left, right in itertools.product([d for d in oracle.DTYPES if d != "bfloat16"], repeat=2):
        a, b = np.ones(3, left), np.ones(3, right)
        got, wanted = on("dot", a, b), np.dot(a, b)
        assert got.dtype == wanted.dtype and got == wanted


@pytest.mark.parametrize("dtype", oracle.INTEGERS)
def test_dot_of_integers_wraps_in_their_own_dtype(dtype, on):
    a = np.full(1000, np.iinfo(dtype).max, dtype)
    assert on("dot", a, a) == np.dot(a, a)


def test_dot_of_scalars(on):
    assert on("dot", 3, 4) == 12
    assert on("dot", np.array(3), np.float32(0.5)) == 1.5


def test_dot_refuses_other_shapes(on):
    vector, matrix = np.ones(3), np.ones((3, 3))
    for a, b in ((vector, np.ones(4)), (vector, np.ones(1)), (matrix, vector), (matrix, matrix), (vector, 2)):
        with pytest.raises(ValueError, match="shapes"):
            on("dot", a, b)


def test_dot_into_out(on):
    a = np.arange(5.0)
    out = np.zeros(())
    assert on("dot", a, a, out=out) is out and out == 30
    for bad in (np.zeros((), "f4"), np.zeros(1), np.zeros((), "i8")):
        with pytest.raises(ValueError):
            on("dot", a, a, out=bad)
    with pytest.raises(TypeError):
        on("dot", a, a, out=[0.0])


# reduce


@pytest.mark.parametrize("op", oracle.OPS)
def test_reduce_by_name(op, on):
    array = numbers("int32", (4, 30))
    assert np.array_equal(on("reduce", array, op), on(op, array))
    assert np.array_equal(on("reduce", array, op, axis=1, keepdims=True), on(op, array, 1, keepdims=True))


@pytest.mark.parametrize("op", ["", "add", "Sum", "dot", "reduce", "__class__"])
def test_reduce_by_an_unknown_name(op, on):
    with pytest.raises(ValueError) as raised:
        on("reduce", [1], op)
    for known in oracle.OPS:
        assert known in str(raised.value)


@pytest.mark.parametrize("op", [None, 1, b"sum", np.add, ["sum"]])
def test_reduce_by_no_name(op, on):
    with pytest.raises(TypeError, match="op"):
        on("reduce", [1], op)


# Variants


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_variants_reduce_whole_arrays_to_numpys_form(variant, on):
    def on_variant(*operands, **arguments):
        return on(*operands, variant=variant.name, **arguments)

    for op, dtype in variant.coverage:
        array = (around_one if op == "prod" else numbers)(dtype, (4, 300))
        wanted = oracle.call_numpy(op, array)
        for arguments in ({}, {"keepdims": True}, {"axis": (0, 1)}):
            assert_like_numpy(on_variant, op, array, **arguments)
        if op in ("sum", "prod"):
            assert_like_numpy(on_variant, op, array, dtype=wanted.dtype)
        out = np.zeros((), np.int64 if op.startswith("arg") else np.float64)
        assert on_variant(op, array, out=out) is out and np.isclose(out, wanted, rtol=1e-4)
        turned = array.T[::-1]
        got = on_variant(op, turned, block_size=block_sizes(variant)[0])
        assert np.isclose(got, oracle.call_numpy(op, turned), rtol=1e-4)
    if "argmin" in variant.ops:
        assert_like_numpy(on_variant, "argmin", array, out=np.zeros((), np.float64))


@pytest.mark.parametrize("op", ["prod", "min", "bitwise_xor", "all"])
def test_a_variant_of_one_backend_is_refused_on_the_other(op, on, device_record, monkeypatch):
    other = "sim" if device_record.kind == "cuda" else "cuda"
    record = replace(VARIANTS[0], backends=(other,))
    monkeypatch.setattr("gpureduce._reduce.options.find", lambda *names, **of: record)
    with pytest.raises(ValueError, match=f"{record.name} runs on {other}"):
        on(op, [1, 2], variant=record.name)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_calls_that_variants_do_not_cover_are_refused(variant, on):
    array = numbers("float32", (4, 30))
    for arguments in ({"axis": 0}, {"axis": ()}, {"where": array > 0}, {"initial": 0}, {"dtype": "float64"}):
        with pytest.raises(ValueError, match=variant.name):
            on("sum", array, variant=variant.name, **arguments)
    for op in oracle.OPS:
        if op not in variant.ops:
            with pytest.raises(ValueError, match=op):
                on(op, array if op not in oracle.BITWISE else array.astype(int), variant=variant.name)
    with pytest.raises(ValueError, match="dot"):
        on("dot", array[0], array[0], variant=variant.name)


def test_auto_chooses_its_own_sizes(on):
    for option in ("block_size", "grid_size"):
        with pytest.raises(ValueError, match=option):
            on("sum", [1.0], **{option: 256})


@pytest.mark.parametrize("op", [*oracle.OPS, "dot"])
def test_unknown_variants(op, on):
    operands = ([1], [2]) if op == "dot" else ([1],)
    with pytest.raises(ValueError, match="auto"):
        on(op, *operands, variant="v99")
    with pytest.raises(TypeError, match="variant"):
        on(op, *operands, variant=None)


# Device arrays


@pytest.fixture
def there(device):
    """Copies an array to the device of the run."""
    return lambda array: gpureduce.to_device(array, device=device)


@pytest.mark.parametrize("dtype", oracle.DTYPES)
@pytest.mark.parametrize("op", oracle.OPS)
def test_device_arrays(op, dtype, there):
    make = around_one if op == "prod" else numbers
    array = make(dtype, (3, 4, 50))
    if op in oracle.BITWISE and array.dtype.kind not in "biu":
        with pytest.raises(TypeError):
            getattr(gpureduce, op)(there(array))
        return

    def call(op, array, **arguments):
        got = getattr(gpureduce, op)(there(array), **arguments)
        assert isinstance(got, gpureduce.DeviceArray) == (arguments["axis"] is not None)
        # NumPy makes a scalar of what a device keeps as an array of no dimensions.
        return got if arguments["axis"] is None else got.numpy()[()]

    for axis in (None, 0, 1, 2, -1):
        for keepdims in (False, True):
            if axis is None and keepdims:
                continue
            assert_like_numpy(call, op, array, axis=axis, keepdims=keepdims)


def test_results_of_the_host_may_stay_on_the_device(device, there):
    array = numbers("int32", (4, 50))
    for a, options in ((array, {"device": device}), (there(array), {})):
        total = gpureduce.sum(a, as_device=True, **options)
        assert isinstance(total, gpureduce.DeviceArray) and total.shape == () and total.numpy() == array.sum()
        columns = gpureduce.max(a, axis=0, keepdims=True, as_device=True, **options)
        assert np.array_equal(columns.numpy(), array.max(axis=0, keepdims=True))
        columns = gpureduce.max(a, axis=0, as_device=False, **options)
        assert isinstance(columns, np.ndarray) and np.array_equal(columns, array.max(axis=0))
        means = gpureduce.mean(a, axis=0, where=array > 0, as_device=True, **options)
        assert np.allclose(means.numpy(), np.mean(array, axis=0, where=array > 0), equal_nan=True)


def test_out_on_the_device(device, there):
    array = numbers("int32", (4, 50))
    for a, options in ((array, {"device": device}), (there(array), {})):
        out = there(np.zeros(50, np.int64))
        assert gpureduce.sum(a, axis=0, out=out, **options) is out
        assert np.array_equal(out.numpy(), array.sum(axis=0))
        for wrong, error in ((np.zeros(50), TypeError), (np.zeros(49, int), ValueError)):
            with pytest.raises(error, match="out"):
                gpureduce.sum(a, axis=0, out=there(wrong), **options)
        host = np.zeros(50)
        assert gpureduce.sum(a, axis=0, out=host, **options) is host
        assert np.array_equal(host, array.sum(axis=0))
        with pytest.raises(ValueError, match="as_device"):
            gpureduce.sum(a, axis=0, out=host, as_device=True, **options)


def test_masks_of_device_arrays(device, there):
    array = numbers("float32", (4, 50))
    for mask in (array > 0, np.arange(50) % 3 == 0, np.arange(4)[:, None] > 1):
        for where in (mask, there(mask)):
            got = gpureduce.sum(there(array), axis=0, where=where).numpy()
            assert np.array_equal(got, array.sum(axis=0, where=mask, dtype=np.float64).astype(np.float32))
            got = gpureduce.mean(there(array), where=where)
            assert np.isclose(got, array.mean(where=mask), rtol=1e-6)
    with pytest.raises(TypeError, match="where"):
        gpureduce.sum(there(array), where=there(np.ones((4, 50), np.int8)))
    with pytest.raises(ValueError, match="where"):
        gpureduce.sum(there(array), where=there(np.ones(49, bool)))
    with pytest.raises(TypeError, match="where"):
        gpureduce.sum(array, where=there(array > 0), device=device)


def test_integers_of_device_arrays_wrap_in_the_dtype_asked_for(there):
    integers = there(numbers("int16", 50))
    assert gpureduce.sum(integers, dtype=np.uint8) == np.sum(numbers("int16", 50), dtype=np.uint8)


def test_dot_of_device_arrays(there):
    a, b = numbers("float64", 500, seed=1), numbers("float64", 500, seed=2)
    assert np.isclose(gpureduce.dot(there(a), there(b)), np.dot(a, b))
    assert gpureduce.dot(there(np.array(3)), there(np.array(4))) == 12
    total = gpureduce.dot(there(a), there(b), as_device=True)
    assert np.isclose(total.numpy(), np.dot(a, b))
    with pytest.raises(TypeError, match="b"):
        gpureduce.dot(there(a), b)
