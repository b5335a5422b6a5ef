"""Corners in which NumPy has an answer of its own: odd bools, signs of zero, flags, names of one dtype."""

import itertools
import warnings

import numpy as np
import pytest

import gpureduce
import gpureduce.numpy_like as xp
from tests.support import numpy_oracle as oracle
from tests.support.selection import runs_on

FLOATING = ("float16", "float32", "float64", "complex64", "complex128")
ODD = b"\x02\x03\xff\x00\x01\x80"
BOOL_OPS = ("sum", "prod", "min", "max", "mean", "any", "all", *oracle.ARG, "count_nonzero", *oracle.BITWISE)


@pytest.fixture
def on(device):
    """Calls a function of the package, by its name, on the device of the run."""

    def call(op, *operands, **arguments):
        return getattr(gpureduce, op)(*operands, device=device, **arguments)

    return call


@pytest.fixture
def there(device):
    """Brings an array to the device of the run."""
    return lambda array: gpureduce.to_device(array, device)


def host(result):
    return result.numpy() if isinstance(result, gpureduce.DeviceArray) else np.asarray(result)


def assert_same_bits(got, wanted):
    """Equal values, of zeros also the sign; which NaN a result is, is left open."""
    got, wanted = host(got), np.asarray(wanted)
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    for part in ("real", "imag") if wanted.dtype.kind == "c" else ("real",):
        mine, theirs = getattr(got, part), getattr(wanted, part)
        assert np.array_equal(mine, theirs, equal_nan=True), (got, wanted)
        there = ~np.isnan(theirs)
        assert np.array_equal(np.signbit(mine)[there], np.signbit(theirs)[there]), (got, wanted)


# Means that stay on the device


@pytest.mark.parametrize("dtype", ["int8", "int64", "float16", "float32", "float64", "complex64"])
def test_mean_into_no_dimensions_on_the_device(dtype, on, there):
    array = np.arange(1, 8).astype(dtype)
    mask = array.real < 5
    wanted = np.mean(array, where=mask)
    for arguments in ({"axis": 0}, {"as_device": True}, {"axis": 0, "where": there(mask)}):
        got = on("mean", there(array), **{"where": mask, **arguments})
        assert isinstance(got, gpureduce.DeviceArray) and got.shape == ()
        assert_same_bits(got, wanted)
    out = there(np.zeros((), wanted.dtype))
    assert on("mean", there(array), where=mask, out=out) is out
    assert_same_bits(out, wanted)
    got = on("mean", array, where=mask, as_device=True)
    assert_same_bits(got, wanted)


@pytest.mark.parametrize("integer", ["int32", "uint8", "bool"])
def test_mean_in_integers_on_the_device(integer, on, there):
    array = np.arange(1, 8, dtype=np.int8)
    got = on("mean", array, dtype=integer, as_device=True)
    assert isinstance(got, gpureduce.DeviceArray)
    assert np.array_equal(got.numpy(), np.mean(array, dtype=integer))
    got = on("mean", there(array), dtype="int64", axis=0)
    assert got.shape == () and got.numpy() == 4


@pytest.mark.parametrize("out", ["float32", "float64", "int32", "complex64"])
@pytest.mark.parametrize("integer", ["int32", "uint8", "bool"])
def test_mean_in_integers_into_an_array(integer, out, on):
    array = np.array([[1, 2, 4], [0, 8, 9]], np.int16)
    for arguments in ({"axis": 0}, {"axis": 1}, {"axis": 0, "where": array != 1}):
        shape = (3,) if arguments["axis"] == 0 else (2,)
        wanted, got = np.zeros(shape, out), np.zeros(shape, out)
        np.mean(array, dtype=integer, out=wanted, **arguments)
        assert on("mean", array, dtype=integer, out=got, **arguments) is got
        assert np.array_equal(got, wanted)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "float64", "complex128"])
def test_masked_means(dtype, on, there):
    """Of every layout: whole results to a thread, shared ones, two launches."""
    rng = np.random.default_rng(7)
    for shape in ((3, 5), (70, 40), (4, 3000), (3000, 4), (2, 1200, 3)):
        array = rng.integers(0, 2 if dtype == "bool" else 50, shape).astype(dtype)
        mask = rng.random(shape) < 0.6
        mask[0] = True
        for axis in (None, 0, -1, tuple(range(len(shape) - 1))):
            bound = 1e-3 if dtype == "float16" else 1e-6
            for operand in (array, there(array)):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    wanted = np.mean(array, axis=axis, where=mask)
                    got = host(on("mean", operand, axis=axis, where=mask))
                assert got.dtype == wanted.dtype and got.shape == wanted.shape
                assert np.allclose(got, wanted, rtol=bound, equal_nan=True)


def test_a_masked_mean_stays_on_the_device(on, there, monkeypatch):
    """The result is made where it lies: nothing is written to it from the host."""
    array, mask = there(np.arange(12.0).reshape(3, 4)), there(np.arange(12).reshape(3, 4) % 2 == 0)
    monkeypatch.setattr(gpureduce._core, "device_write", None)
    monkeypatch.setattr(gpureduce._core, "device_read", None)
    got = on("mean", array, axis=1, where=mask)
    monkeypatch.undo()
    assert np.array_equal(got.numpy(), [1, 5, 9])


@pytest.mark.parametrize("n", [2, 33, 1000, 50000])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_mean_of_the_largest_floats_is_finite(dtype, n, on, there):
    value = 3e38 if dtype == "float32" else complex(3e38, -3e38)
    array = np.full((n, 2), value, dtype)
    wanted = array[0, 0]
    everywhere = np.ones((n, 2), bool)
    for operand, mask in itertools.product((array, there(array)), (True, everywhere)):
        assert on("mean", operand, where=mask) == wanted
        for axis in (0, 1):
            assert np.all(host(on("mean", operand, axis=axis, where=mask)) == wanted)
    assert np.all(on("mean", np.ascontiguousarray(array.T), axis=1) == wanted)
    with np.errstate(over="ignore"):
        assert not np.isfinite(on("sum", array))


# Bools whose bytes are neither 0 nor 1


@pytest.mark.parametrize("n", [1, 2, 3, 5, 40, 1000, 70000])
@pytest.mark.parametrize("op", BOOL_OPS)
def test_odd_bools(op, n, on, there):
    array = np.frombuffer((ODD * n)[:n], bool)
    without_false = np.frombuffer((ODD[:3] * n)[:n], bool)
    for values in (array, without_false):
        wanted = oracle.call_numpy(op, values)
        assert on(op, values) == wanted
        assert on(op, there(values)) == wanted
        assert on(op, values[::-1]) == oracle.call_numpy(op, values[::-1])


@pytest.mark.parametrize("op", BOOL_OPS)
def test_odd_bools_along_axes(op, on, there):
    for shape in ((6, 1), (2, 3), (40, 30), (30, 40), (7, 1, 900), (900, 7)):
        count = int(np.prod(shape))
        array = np.frombuffer((ODD[:3] * count)[: count // 2] + (ODD * count)[: count - count // 2], bool)
        array = array.reshape(shape)
        for axis, view in itertools.product((0, -1), (array, array[:, ::-1])):
            wanted = np.asarray(oracle.call_numpy(op, view, axis=axis)).astype("f8")
            assert np.array_equal(host(on(op, view, axis=axis)).astype("f8"), wanted)
            if view is array:
                assert np.array_equal(host(on(op, there(view), axis=axis)).astype("f8"), wanted)


def test_odd_bools_as_results_are_ones(on):
    array = np.frombuffer(ODD[:4], bool).reshape(4, 1)
    for op in ("min", "max", "bitwise_or"):
        assert on(op, array, axis=1).view(np.uint8).tolist() == [1, 1, 1, 0]


@pytest.mark.parametrize("op", ["sum", "prod", "mean", "min", "any", "count_nonzero"])
def test_odd_masks(op, on, there):
    mask = np.frombuffer(ODD * 20, bool).reshape(12, 10)
    array = np.arange(1, 121, dtype=np.int64).reshape(12, 10)
    arguments = {"initial": 1000} if op == "min" else {}
    if op == "count_nonzero":
        return_value = on(op, mask)
        assert return_value == np.count_nonzero(mask)
        return
    for axis in (None, 0, 1):
        wanted = getattr(np, op)(array, axis=axis, where=mask, **arguments)
        assert np.array_equal(on(op, array, axis=axis, where=mask, **arguments), wanted)
        got = on(op, there(array), axis=axis, where=there(mask), **arguments)
        assert np.array_equal(host(got), wanted)


def test_odd_bools_in_products_of_vectors(on):
    left, right = np.frombuffer(b"\x02\x00\x10", bool), np.frombuffer(b"\x00\x01\x10", bool)
    assert on("dot", left, right) == np.True_
    assert on("dot", left[:2], right[:2]) == np.False_
    long = np.frombuffer(b"\x10\x00" * 500, bool), np.frombuffer(b"\x00\x10" * 500, bool)
    assert on("dot", *long) == np.False_ and on("dot", long[0], long[0]) == np.True_


# Signs of zero


def zeros_of(dtype, shape):
    value = complex(-0.0, -0.0) if dtype.startswith("complex") else -0.0
    return np.full(shape, value, dtype)


SHAPES = ((), (0,), (1,), (3,), (5000,), (3, 4), (1, 4), (4, 1), (0, 3), (3, 0), (600, 5), (5, 600), (1, 900))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", FLOATING)
def test_signs_of_sums_of_zeros(dtype, shape, on, there):
    array = zeros_of(dtype, shape)
    start = zeros_of(dtype, ())[()]
    axes = (None, (), *range(len(shape)))
    masks = (True, False, np.arange(array.size).reshape(shape) % 2 == 0)
    for axis, mask, initial in itertools.product(axes, masks, ({}, {"initial": start}, {"initial": 0.0})):
        arguments = {"axis": axis, "where": mask, **initial}
        wanted = np.sum(array, **arguments)
        assert_same_bits(on("sum", array, **arguments), wanted)
        assert_same_bits(on("sum", there(array), **arguments), wanted)
    assert_same_bits(on("sum", array), np.sum(array))
    assert_same_bits(on("sum", np.asfortranarray(array)), np.sum(array))


@pytest.mark.parametrize("dtype", FLOATING)
def test_one_zero_without_a_sign_is_enough(dtype, on):
    for n, place in ((2, 0), (100, 99), (4000, 17)):
        array = zeros_of(dtype, n)
        array[place] = 0.0
        start = zeros_of(dtype, ())[()]
        assert_same_bits(on("sum", array, initial=start), np.sum(array, initial=start))


@pytest.mark.parametrize("dtype", FLOATING)
def test_signs_of_means_of_zeros(dtype, on, there):
    for shape in ((1,), (3, 4), (4, 1), (700, 2)):
        array = zeros_of(dtype, shape)
        for axis, mask in itertools.product((None, 0, ()), (True, np.ones(shape, bool))):
            wanted = np.mean(array, axis=axis, where=mask)
            assert_same_bits(on("mean", array, axis=axis, where=mask), wanted)
            assert_same_bits(on("mean", there(array), axis=axis, where=mask), wanted)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_signs_of_products_of_zeros(dtype, on):
    for n in (1, 2, 3, 1001):
        array = zeros_of(dtype, n)
        assert_same_bits(on("prod", array), np.prod(array))
        assert_same_bits(on("prod", array, initial=-1), np.prod(array, initial=-1))
        assert_same_bits(on("prod", array[:, None], axis=1), array)


@pytest.mark.parametrize("chunk", [1, 2])
def test_signs_of_zeros_that_travel_in_chunks(chunk, device, monkeypatch):
    monkeypatch.setenv("GPUREDUCE_CHUNK_BYTES", str(1024 * chunk))
    array = zeros_of("float32", 100000)
    assert_same_bits(gpureduce.sum(array, device=device), np.sum(array))
    got = gpureduce.sum(array, initial=-0.0, device=device)
    assert_same_bits(got, np.sum(array, initial=-0.0))


# NumPy's floating-point state

BIG = np.array([3e38, 3e38], np.float32)
INFINITIES = np.array([np.inf, -np.inf], np.float32)
INFINITE = np.array([np.inf, 1], np.float32)
NAN = np.array([np.nan, np.inf, -np.inf], np.float32)
FLAGGED = [
    ("sum", (BIG,), {}),
    ("sum", (np.full(5000, 1e308),), {}),
    ("sum", (np.full(300, 6e4, np.float16),), {}),
    ("sum", (BIG,), {"initial": 1}),
    ("sum", (np.stack([BIG, BIG * 0 + 1], 1),), {"axis": 0}),
    ("sum", (np.stack([BIG, INFINITIES], 1),), {"axis": 0}),
    ("sum", (np.stack([BIG, BIG]),), {"axis": 1, "where": [True, True], "keepdims": True}),
    ("sum", (BIG,), {"out": np.zeros((), np.float32)}),
    ("sum", (INFINITIES,), {}),
    ("sum", (INFINITE,), {"initial": -np.inf}),
    ("sum", (BIG.astype(np.complex64),), {}),
    ("sum", (BIG * np.complex64(1j),), {"dtype": np.complex64, "keepdims": True}),
    ("sum", (BIG,), {"dtype": np.complex64}),
    ("sum", (np.array([1e300, 1]),), {"dtype": np.float32}),
    ("prod", (BIG,), {}),
    ("prod", (np.array([np.inf, 0]),), {}),
    ("mean", (INFINITIES,), {}),
    ("mean", (np.full(4, 1.5e308),), {}),
    ("dot", (BIG, BIG), {}),
    ("dot", (INFINITIES, np.ones(2, np.float32)), {}),
    ("dot", (np.array([np.inf, 0]), np.array([0, 1.0])), {}),
]
QUIET = [
    ("sum", (INFINITE,), {}),
    ("sum", (NAN,), {}),
    ("sum", (np.ones(2),), {"initial": np.inf}),
    ("sum", (INFINITE,), {"initial": np.nan}),
    ("sum", (np.stack([NAN, NAN]),), {"axis": 1}),
    ("sum", (BIG,), {"where": [True, False]}),
    ("prod", (NAN,), {}),
    ("mean", (INFINITE,), {}),
    ("mean", (np.full(100, 6e4, np.float16),), {}),
    ("max", (NAN,), {}),
    ("argmin", (NAN,), {}),
    ("dot", (INFINITE, np.ones(2, np.float32)), {}),
    ("dot", (NAN, NAN), {}),
    ("prod", (np.full(4, 1e-300),), {}),
]


@pytest.mark.parametrize("dtype", [*FLOATING, "bfloat16", "int8", "bool"])
def test_the_core_tells_what_is_finite(dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    array = np.arange(-6, 18).astype(np.float32).reshape(2, 3, 4).astype(oracle.dtype_of(dtype))
    views = (
        array,
        array.T,
        array.transpose(1, 2, 0),
        array[:, ::2],
        array[:, ::-1],
        array[:0],
        array[0, 0, 0:1],
    )
    for view in (*views, array[1, 2, 3:].reshape(())):
        assert gpureduce._core.all_finite(view)
    if array.dtype.kind in "biu":
        return
    for bad in (np.inf, -np.inf, np.nan):
        for at in ((0, 0, 0), (1, 2, 3), (0, 2, 1)):
            worse = array.copy()
            worse[at] = bad
            assert not gpureduce._core.all_finite(worse)
            assert not gpureduce._core.all_finite(worse.transpose(2, 0, 1))
    with pytest.raises(TypeError):
        gpureduce._core.all_finite([1.0])


def told(function, *operands, **arguments):
    """The texts of warnings, and the exception under ``errstate(all="raise")``."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn", under="ignore"):
        warnings.simplefilter("always")
        function(*operands, **arguments)
    texts = [str(one.message) for one in caught if one.category is RuntimeWarning]
    with np.errstate(all="raise", under="ignore"):
        error = None
        try:
            function(*operands, **arguments)
        except FloatingPointError as raised:
            error = str(raised)
    return texts, error


@pytest.mark.parametrize("call", range(len(FLAGGED)))
def test_flags_are_numpys(call, on):
    op, operands, arguments = FLAGGED[call]
    wanted = told(getattr(np, op), *operands, **arguments)
    assert wanted[0] and wanted[1]
    assert told(lambda *args, **kwargs: on(op, *args, **kwargs), *operands, **arguments) == wanted


@pytest.mark.parametrize("call", range(len(QUIET)))
def test_what_elements_bring_along_is_no_error(call, on):
    op, operands, arguments = QUIET[call]
    assert told(lambda *args, **kwargs: on(op, *args, **kwargs), *operands, **arguments) == ([], None)


def test_results_of_arrays_on_the_device(on, there):
    """On their way to the host they are looked at, and otherwise no call does."""
    assert told(lambda: on("sum", there(BIG))) == told(np.sum, BIG)
    assert told(lambda: on("sum", there(BIG), axis=0, as_device=False)) == told(np.sum, BIG)
    complexes = there(np.array([3e38j, 3e38j], np.complex64))
    assert told(lambda: on("sum", complexes, keepdims=True, as_device=False)) == told(np.sum, BIG)
    assert told(lambda: on("sum", there(BIG), axis=0)) == ([], None)
    assert told(lambda: on("sum", BIG, as_device=True)) == ([], None)
    assert told(lambda: on("sum", there(NAN))) == ([], None)


@pytest.mark.parametrize("variant", [one for one in gpureduce.variants("reduction") if one.role != "study"])
def test_named_variants_tell_too(variant, device):
    if not runs_on(variant, device):
        pytest.skip("not on this device")
    with pytest.warns(RuntimeWarning, match="overflow encountered in reduce"):
        gpureduce.sum(BIG, variant=variant.name, device=device)


def test_each_of_numpys_modes(on, capfd):
    calls = []

    class Log:
        def write(self, text):
            calls.append(text)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with np.errstate(all="ignore"):
            on("sum", INFINITIES)
        with np.errstate(invalid="call", call=lambda kind, bits: calls.append((kind, bits))):
            on("sum", INFINITIES)
        with np.errstate(over="log", call=Log()):
            on("sum", BIG)
        with np.errstate(invalid="print"):
            on("sum", INFINITIES)
    assert calls == [("invalid value", 8), "Warning: overflow encountered in reduce\n"]
    assert "Warning: invalid value encountered in reduce" in capfd.readouterr().err


def test_warnings_name_the_caller(on):
    for array, axis in ((BIG, None), (BIG[None], 1)):
        with pytest.warns(RuntimeWarning, match="overflow") as caught:
            on("sum", array, axis=axis)
        assert caught[0].filename == __file__


def test_out_is_written_before_an_error(on):
    out = np.zeros((), np.float32)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        on("sum", BIG, out=out)
    assert np.isinf(out)


def test_the_mean_of_nothing_divides(on):
    mask = {"where": [True, True, False], "axis": 0}
    in_complex = {"where": np.ones((0, 3), bool), "axis": 0, "dtype": np.complex64}
    for array, arguments in (
        (np.empty(0), {}),
        (np.ones((2, 3)), mask),
        (np.ones((2, 3), np.int8), mask),
        (np.ones((0, 3), np.float16), in_complex),
    ):
        assert told(lambda: on("mean", array, **arguments))[0] == [  # noqa: B023
            "Mean of empty slice.",
            "invalid value encountered in divide",
        ]
        with np.errstate(invalid="raise"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(FloatingPointError, match="invalid value encountered in"):
                on("mean", array, **arguments)


# Ellipsis for `out`


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "logical_or", "bitwise_xor"])
def test_out_may_be_an_ellipsis(name, device, there):
    reducer, array = getattr(xp, name), np.arange(6).reshape(2, 3)
    for axis, keepdims in itertools.product((None, 0, (), (0, 1)), (False, True)):
        wanted = np.asarray(getattr(np, name).reduce(array, axis=axis, keepdims=keepdims))
        got = reducer.reduce(array, axis=axis, keepdims=keepdims, out=..., device=device)
        assert type(got) is np.ndarray and got.dtype == wanted.dtype
        assert np.array_equal(got, wanted) and got.shape == wanted.shape
    assert isinstance(reducer.reduce(there(array), axis=(0, 1), out=...), gpureduce.DeviceArray)
    assert type(reducer.reduce(there(array), axis=None, out=...)) is np.ndarray
    with pytest.raises(TypeError):
        reducer.reduce(array, out=(...,), device=device)


def test_functions_take_no_ellipsis(on):
    for op in ("sum", "min", "mean", "any", "argmax"):
        with pytest.raises(TypeError):
            on(op, np.ones(3), out=...)


# long long and its unsigned kin


def char_of(result):
    return np.asarray(result).dtype.char


@pytest.mark.parametrize("char", ["q", "Q", "l", "L"])
@pytest.mark.parametrize("op", [*oracle.OPS, "dot"])
def test_long_long_stays(op, char, on):
    array = np.arange(1, 7).astype(char).reshape(2, 3)
    if op == "dot":
        for other in "qQlLi":
            vectors = array[0], array[1].astype(other)
            assert char_of(on("dot", *vectors)) == char_of(np.dot(*vectors))
        return
    for axis in (None, 0):
        for view in (array, array.astype(array.dtype.newbyteorder()), array[:, ::-1]):
            wanted = oracle.call_numpy(op, view, axis=axis)
            got = on(op, view, axis=axis)
            assert char_of(got) == char_of(wanted) and np.array_equal(got, wanted)
    whole = on(op, array)
    assert char_of(whole) == char_of(oracle.call_numpy(op, array))


@pytest.mark.parametrize("char", ["q", "Q", "l", "L"])
def test_long_long_as_a_dtype(char, on, device):
    for source in "bilqQf":
        array = np.arange(1, 7).astype(source)
        assert char_of(on("sum", array, dtype=char)) == char_of(np.sum(array, dtype=char))
        assert char_of(on("mean", array, dtype=char)) == char_of(np.mean(array, dtype=char))
        out = np.zeros((), char)
        assert on("sum", array, out=out) is out and out == 21
    for variant in ("v0", "v7"):
        array = np.arange(1, 7).astype("q")
        assert char_of(gpureduce.sum(array, variant=variant, device=device)) == "q"
        assert char_of(gpureduce.any(array, variant=variant, device=device)) == "?"
