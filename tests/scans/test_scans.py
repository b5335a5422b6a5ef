"""Running sums and products against NumPy's, by value, dtype, shape and error."""

import math
import random
import warnings

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce._profiles.from_core import kernel_profiles, observe, race_scope

pytestmark = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="NumPy has no cumulative_sum"
)

MANY = 133  # lines, more than blocks that scan lines at once
TILE = 4096  # elements, of one line
BAND = 8  # runs of rows
GLOBAL = race_scope("global")
LINE_TILE = 20480  # bytes, of a long line of elements side by side
CHUNK = 128  # such tiles, whose sums one warp scans
DTYPES = (
    "float32", "float64", "int32", "int64", "bool", "int8", "int16", "uint8", "uint16", "uint32", "uint64",
    "float16", "complex64", "complex128",
)  # fmt: skip
SIZES = [1, 2, 15, 16, 17, 31, 33, 255, 257, TILE - 1, TILE, TILE + 1, 2 * TILE, 7 * TILE + 3]
# One line, few and many; few columns and many; more than one tile of each.
SHAPES = [
    (5,), (300,), (9000,), (7, 3), (700, 2), (2, 700), (3, 5000), (40, 33), (300, 70), (2, 150, 40),
    (3, 2100, 3), (60, 17, 2), (4, 9, 300),
]  # fmt: skip


def integers(shape, dtype, seed):
    """Small numbers, whose running sums every dtype holds exactly."""
    draw = np.random.default_rng(seed)
    if dtype == "bool":
        return draw.integers(0, 2, shape).astype(bool)
    low = 0 if dtype.startswith("u") else -3
    values = draw.integers(low, 4, shape).astype(dtype)
    return values + 1j * draw.integers(-3, 4, shape).astype(dtype) if dtype[0] == "c" else values


def exactly(got, wanted):
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(got, wanted)


def along_rows(a, initial):
    """Sums of float16 are rounded once each, as ours."""
    dtype = np.float32 if a.dtype == np.float16 else None
    wanted = np.cumulative_sum(a, axis=1, dtype=dtype, include_initial=initial)
    return wanted.astype(np.float16) if dtype else wanted


@pytest.mark.core
@pytest.mark.parametrize("dtype", DTYPES)
def test_lengths(dtype, device):
    for n in SIZES:
        a = integers(n, dtype, n)
        exactly(gpureduce.cumulative_sum(a, device=device), np.cumulative_sum(a))


@pytest.mark.core
@pytest.mark.parametrize("dtype", ["float32", "int64", "int32", "bool", "float16", "complex128"])
def test_lines_of_one_block(dtype):
    """Lines of one vector to all vectors of a block, whole and not, and as many as blocks and lanes have."""
    vector = 16 // np.cumsum(np.zeros(1, dtype)).itemsize
    for vectors in (1, 2, 3, 5, 16, 31, 32, 33, 95, 97, 193, 289, 767, 768, 1535, 1536):
        for lines, more, skip in ((1, 0, 0), (7, -1, 1), (400 // vectors + 2, 0, 3)):
            n = max(1, vectors * vector + more)
            a = integers((lines, n + skip), dtype, n)
            there = gpureduce.to_device(a, "sim")[:, skip:]
            for initial in (False, True):
                got = gpureduce.cumulative_sum(there, axis=1, include_initial=initial).numpy()
                exactly(got, along_rows(a[:, skip:], initial))


@pytest.mark.core
@pytest.mark.parametrize("dtype", ["float32", "int64", "int32", "bool", "float16", "complex128"])
def test_blocks_that_scan_a_line_at_once(dtype):
    """Some blocks, and the most that there may be, of few threads and of all; full pieces and others."""
    vector = 16 // np.cumsum(np.zeros(1, dtype)).itemsize
    most = 64 if dtype == "complex128" else 96
    for lines, pieces, threads, more, skip in (
        (1, 6, 64, 0, 0),
        (3, 20, 64, 1, 1),
        (5, 10, 128, -1, 2),
        (1, most, 64, 0, 1),
        (1, most, 64, 1, 0),
        (2, 65, 256, 7, 0),
        (1, 64, 512, -5, 3),
    ):
        n = pieces * threads * 5 * vector + more
        a = integers((lines, n + skip), dtype, n)
        there = gpureduce.to_device(a, "sim")[:, skip:]
        for initial in (False, True):
            got = gpureduce.cumulative_sum(there, axis=1, include_initial=initial).numpy()
            exactly(got, along_rows(a[:, skip:], initial))


@pytest.mark.core
@pytest.mark.parametrize("dtype", ["float32", "int64", "int32", "bool", "float16", "complex128"])
def test_long_lines_begin_and_end_anywhere(dtype):
    """Tiles that are full or not, and begin at a multiple of 16 bytes or not, here and there."""
    tile = LINE_TILE // np.cumsum(np.zeros(1, dtype)).itemsize
    for lines, n, skip in (
        (MANY, 2 * tile, 0),
        (MANY, 2 * tile + 1, 1),
        (MANY + 1, 2 * tile - 1, 2),
        (1, 125 * tile, 3),
        (2, 61 * tile + 5, 0),
    ):
        a = integers((lines, n + skip), dtype, n)
        there = gpureduce.to_device(a, "sim")[:, skip:]
        for initial in (False, True):
            got = gpureduce.cumulative_sum(there, axis=1, include_initial=initial).numpy()
            exactly(got, along_rows(a[:, skip:], initial))


@pytest.mark.core
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_axes_and_strides(shape, device, some):
    draw = random.Random(str(shape))
    for axis in range(len(shape)):
        for dtype in some(DTYPES, 5):
            a = integers(shape, dtype, 1)
            every_other = np.repeat(a, 2, axis)[(slice(None),) * axis + (slice(None, None, 2),)]
            a = draw.choice((a, a[..., ::-1], np.asfortranarray(a), every_other))
            initial = draw.random() < 0.5
            wanted = np.cumulative_sum(a, axis=axis, include_initial=initial)
            exactly(gpureduce.cumulative_sum(a, axis=axis, include_initial=initial, device=device), wanted)


def cancelling(shape, dtype, seed):
    """Numbers over many powers of two, whose running sums have other bits in any other order."""
    draw = np.random.default_rng(seed)
    most = 6 if dtype == "float16" else 30
    exponents = draw.integers(-most, most, shape)
    a = np.ldexp(draw.standard_normal(shape), exponents) if dtype[0] in "fc" else exponents
    a = a + 1j * a[::-1] if dtype[0] == "c" else a
    return a.astype(dtype)


def sums_of_runs(a):
    """Running sums along axis 0, of up to 128 elements, by runs and bands of runs as in scan.cuh."""
    most = 8 if a.itemsize == 16 else 16
    runs = 1
    while runs * most < len(a) and runs < 128:
        runs *= 2
    run = most if runs > BAND else -(-len(a) // runs)
    results, below, before = [], None, None  # what bands, and what runs of the band, have
    for i, start in enumerate(range(0, len(a), run)):
        if i > 0 and i % BAND == 0:
            below, before = before if below is None else below + before, None
        first = before if below is None else below if before is None else below + before
        own = a[start : start + run]
        running = own if first is None else np.concatenate([first[None], own])
        results.append(np.cumsum(running, axis=0)[-len(own) :])
        total = np.cumsum(own, axis=0)[-1]
        before = total if before is None else before + total
    return np.concatenate(results)


@pytest.mark.core
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int16", "float16"])
def test_columns_of_a_short_axis(dtype, device, some):
    """A column's sums are those of its runs of rows in their order, whatever other columns there are."""
    for length in some((1, 2, 8, 9, 16, 17, 31, 65, 128), 4):
        shape = (length, 2**17 // length + 5)
        a = cancelling(shape, dtype, length)
        with np.errstate(over="ignore", invalid="ignore"):
            wide = a.astype({"float32": "f8", "float16": "f4", "int16": "i8"}.get(dtype, dtype))
            wanted = sums_of_runs(wide).astype(np.cumulative_sum(a[:, :1], axis=0).dtype)
            all_columns = gpureduce.cumulative_sum(a, axis=0, device=device)
            np.testing.assert_array_equal(all_columns, wanted)
            there = gpureduce.to_device(a, device)
            for some_columns in (slice(1, None), slice(3, 36), slice(0, 900, 2), slice(0, 4096)):
                got = gpureduce.cumulative_sum(there[:, some_columns], axis=0).numpy()
                np.testing.assert_array_equal(
                    got.view(np.uint8), wanted[:, some_columns].copy().view(np.uint8)
                )
            of_lines = np.stack([a, a[::-1]])
            first = gpureduce.cumulative_sum(of_lines, axis=1, include_initial=True, device=device)
            assert not first[:, 0].any()
            np.testing.assert_array_equal(first[0, 1:], wanted)
            np.testing.assert_array_equal(
                first[1, 1:], gpureduce.cumulative_sum(a[::-1], axis=0, device=device)
            )


@pytest.mark.core
@pytest.mark.parametrize("length", [3, 9])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "float16"])
def test_vectors_of_a_short_axis(dtype, length, device):
    """A thread has several columns of many: a vector, if they begin at a multiple of 16 bytes, or others."""
    each = 16 // np.cumulative_sum(np.zeros(1, dtype)).itemsize
    columns = 2**16 * each // 2
    a = cancelling((2, length, columns + each), dtype, each)
    there = gpureduce.to_device(a, device)
    for skip, more in ((0, 0), (1, 0), (each, 0), (0, 1))[: 4 if length == 3 else 2]:
        some_columns = slice(skip, skip + columns + more)
        got = gpureduce.cumulative_sum(there[:, :, some_columns], axis=1).numpy()
        wide = {"float32": "f8", "float16": "f4"}.get(dtype)
        wanted = np.cumsum(a[:, :, some_columns], axis=1, dtype=wide).astype(got.dtype)
        np.testing.assert_array_equal(got, wanted, f"{more} more from column {skip}")


@pytest.mark.filterwarnings("ignore:overflow")  # of float16
@pytest.mark.parametrize("dtype", DTYPES)
def test_products(dtype, device):
    for shape, axis in (((3 * TILE,), 0), ((50, 6), 1), ((400, 3), 0)):
        a = integers(shape, dtype, 2)
        a[a == 0] = 1
        if a.dtype.kind in "fc":
            a = np.where(np.arange(a.size).reshape(shape) % 2, a, 1 / a).astype(dtype)
            wanted = np.cumulative_prod(a, axis=axis, dtype="c16" if a.dtype.kind == "c" else "f8")
            with np.errstate(over="ignore"):
                wanted = wanted.astype(dtype)
            got = gpureduce.cumulative_prod(a, axis=axis, device=device)
            assert got.dtype == wanted.dtype
            np.testing.assert_allclose(
                got,
                wanted,
                rtol={"float16": 3e-3, "float32": 2e-7, "complex64": 4e-7}.get(dtype, 1e-12),
                atol=1e-7 if dtype == "float16" else 0,
            )
        else:
            exactly(gpureduce.cumulative_prod(a, axis=axis, device=device), np.cumulative_prod(a, axis=axis))
            first = gpureduce.cumulative_prod(a, axis=axis, include_initial=True, device=device)
            exactly(first, np.cumulative_prod(a, axis=axis, include_initial=True))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_each_sum_is_within_a_rounding(dtype, device):
    """Of 1 + 2^-20 and the like: an element that is lost or taken twice is seen at once."""
    n = 3 * TILE + 77
    a = (1 + np.random.default_rng(3).random(n)).astype(dtype)
    got = gpureduce.cumulative_sum(a, device=device)
    for i in [*range(40), *range(TILE - 3, TILE + 3), *range(n - 40, n)]:
        exact = math.fsum(a[: i + 1].tolist())
        assert (
            abs(float(got[i]) - exact)
            <= 0.5000001 * np.spacing(dtype_of(dtype)(exact)) + 30 * exact * 2.0**-53
        )


def dtype_of(name):
    return np.dtype(name).type


@pytest.mark.parametrize("n", [9 * TILE + 5, 130 * LINE_TILE // 8 + 3, 1400 * LINE_TILE // 8], ids=str)
def test_bits_are_the_same_on_every_run_and_backend(n, device):
    """What a run leaves in memory that the next one takes for zero would show, too."""
    a = np.random.default_rng(4).standard_normal(n)
    first = gpureduce.cumulative_sum(a, device=device)
    assert all((gpureduce.cumulative_sum(a, device=device) == first).all() for _ in range(5))
    assert (gpureduce.cumulative_sum(a, device="sim") == first).all()


def test_long_lines(on_gpu, device):
    """Many tiles behind one another, so that nodes of several levels are read, and several chunks."""
    n = 2**27 + 77 if on_gpu else 1100 * TILE + 9
    a = (np.arange(n, dtype=np.int64) * 2654435761 >> 7 & 15).astype(np.int32)
    for each in (a, a.astype(np.int16)):
        exactly(gpureduce.cumulative_sum(each, device=device), np.cumsum(each))
    n = n if on_gpu else (3 * CHUNK + 5) * LINE_TILE // 8 + 3
    a = a[:n] - np.int64(7)
    exactly(gpureduce.cumulative_sum(a, device=device), np.cumsum(a))


def test_no_elements(device):
    for shape, axis in (((0,), 0), ((3, 0), 1), ((0, 3), 1), ((3, 0), 0)):
        for initial in (False, True):
            a = np.zeros(shape, np.float32)
            for name in ("cumulative_sum", "cumulative_prod"):
                wanted = getattr(np, name)(a, axis=axis, include_initial=initial)
                exactly(
                    getattr(gpureduce, name)(a, axis=axis, include_initial=initial, device=device), wanted
                )


def test_numbers_and_signs_of_zero(device):
    exactly(gpureduce.cumulative_sum(3.5, device=device), np.array([3.5]))
    got = gpureduce.cumulative_sum(np.array([-0.0, -0.0, 1.0]), device=device)
    assert np.signbit(got).tolist() == [True, True, False]


@pytest.mark.parametrize(
    "values",
    [
        [3e38, 3e38], [np.inf, -np.inf, 1], [np.inf, 1], [np.nan, 1], [1e30, 1e30], [0, np.inf, 2], [1, 2],
        [complex(np.inf, 0), 2], [complex(3e38, 1), complex(3e38, np.inf)],
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_warnings_are_those_of_numpy(name, values, device):
    for initial in (False, True):
        a = np.array([values, values[::-1]], np.complex64 if isinstance(values[0], complex) else np.float32)
        told = []
        for function, arguments in ((getattr(np, name), {}), (getattr(gpureduce, name), {"device": device})):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                function(a, axis=1, include_initial=initial, **arguments)
            told.append(sorted(str(warning.message) for warning in caught))
        assert told[0] == told[1]
    with np.errstate(all="ignore"), warnings.catch_warnings(record=True) as caught:
        getattr(gpureduce, name)(a, axis=1, device=device)
    assert not caught


@pytest.mark.filterwarnings("ignore:invalid value", "ignore:overflow")  # NumPy's own, and ours
def test_infinities_and_nan(device):
    a = np.ones(2 * TILE)
    a[100], a[TILE + 50], a[TILE + 60] = np.inf, -np.inf, 1
    np.testing.assert_array_equal(gpureduce.cumulative_sum(a, device=device), np.cumsum(a))
    z = np.array([1, complex(np.inf, 0), 2])
    np.testing.assert_array_equal(gpureduce.cumulative_prod(z, device=device), np.cumprod(z))


@pytest.mark.filterwarnings("ignore:overflow")
def test_beyond_the_range_and_back(device):
    got = gpureduce.cumulative_sum(np.array([3e38, 3e38, -3e38], np.float32), device=device)
    exactly(got, np.array([3e38, np.inf, 3e38], np.float32))


def test_dtype_and_out(device):
    a = integers((6, 50), "int32", 5)
    for dtype in ("int16", "int32", "uint8", "float32", "float64", "complex128"):
        wanted = np.cumulative_sum(a, axis=1, dtype=dtype)
        exactly(gpureduce.cumulative_sum(a, axis=1, dtype=dtype, device=device), wanted)
    out = np.empty((6, 50), np.float64)
    assert gpureduce.cumulative_sum(a, axis=0, out=out, device=device) is out
    exactly(out, np.cumsum(a, axis=0, out=np.empty((6, 50))))


def test_arrays_on_the_device(device):
    a = integers((6, 5000), "float32", 6)
    there = gpureduce.to_device(a, device)
    got = gpureduce.cumulative_sum(there, axis=1)
    assert isinstance(got, gpureduce.DeviceArray)
    exactly(got.numpy(), np.cumsum(a, axis=1))
    out = gpureduce.to_device(np.zeros_like(a), device)
    assert gpureduce.cumulative_sum(there, axis=0, out=out) is out
    exactly(out.numpy(), np.cumsum(a, axis=0))
    assert gpureduce.cumulative_sum(there, axis=0, out=there) is there
    exactly(there.numpy(), np.cumsum(a, axis=0))
    long = integers((2, 3 * LINE_TILE // 4), "float32", 8)
    there = gpureduce.to_device(long, device)
    assert gpureduce.cumulative_sum(there, axis=1, out=there) is there
    exactly(there.numpy(), np.cumsum(long, axis=1))
    host = gpureduce.cumulative_sum(there, axis=0, as_device=False)
    assert isinstance(host, np.ndarray)


def test_views_of_a_device():
    """As the core takes them: any strides that merge, and no room that spoils what is read."""
    a = integers((6, 40, 5), "float64", 8)
    there = gpureduce.to_device(a, "sim")
    end = there._pointer + a.nbytes - 8

    def scan(pointer, shape, strides, axis, out=None):
        view = (pointer, shape, strides, "float64")
        return _core.scan(view, False, axis, False, False, (out, _core.SIM, 0, 0))

    reversed_strides = tuple(-step for step in a.strides)
    for axis in range(3):
        turned = np.cumsum(a[::-1, ::-1, ::-1], axis=axis)
        exactly(scan(end, a.shape, reversed_strides, axis), turned)
    exactly(scan(there._pointer, (6, 5), (1600, 8), 0), np.cumsum(a[:, 0], axis=0))
    with pytest.raises(ValueError, match="copy it to C order"):
        scan(there._pointer, (40, 6, 5), (40, 1600, 8), 2)
    room = (there._pointer + 8, (200,), (8,), "float64")
    with pytest.raises(ValueError, match="out: overlaps"):
        scan(there._pointer, (200,), (8,), 0, room)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({}, ValueError, "axis: required for an array of 2"),
        ({"axis": 2}, np.exceptions.AxisError, "out of bounds"),
        ({"axis": (0,)}, TypeError, "axis: "),
        ({"axis": 0.5}, TypeError, "integer"),
        ({"axis": 0, "include_initial": 1}, TypeError, "include_initial: "),
        ({"axis": 0, "dtype": "S3"}, TypeError, "dtype: "),
        ({"axis": 0, "out": np.empty(3)}, ValueError, "out: "),
    ],
)
def test_scans_refuse_bad_arguments(arguments, error, text, device):
    with pytest.raises(error, match=text):
        gpureduce.cumulative_sum(np.zeros((2, 3)), device=device, **arguments)
    with pytest.raises(TypeError, match="a: "):
        gpureduce.cumulative_sum(np.array(["x"]), device=device)


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((2 * TILE + 9,), "float32"),
        ((98_400,), "complex128"),
        ((1300, 7), "float32"),
        ((9, 5), "float32"),
        ((9, 40), "float64"),
        ((300, 40), "float32"),
    ],
    ids=str,
)
def test_kernels_have_no_races(shape, dtype):
    a = integers(shape, dtype, 7)
    for product in (False, True):
        result, launches, problem = observe(
            lambda device, product=product: _core.scan(a, product, 0, True, False, (None, device, 0, 0)),
            GLOBAL,
        )
        assert problem is None and result.shape[0] == shape[0] + 1
        assert [kernel.races for kernel in kernel_profiles(launches, "", 0)] == [()]


@pytest.mark.parametrize("include_initial", [False, True])
@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_running_sums_in_bool_are_whether_any_and_whether_all(name, include_initial, device):
    if not hasattr(np, name):
        pytest.skip("NumPy 2.0 and before have no running sums by this name")
    a = np.random.default_rng(37).random((3, 70)) < 0.5
    a[1, 40:] = False
    function = getattr(gpureduce, name)
    for axis in (0, 1):
        options = {"axis": axis, "dtype": bool, "include_initial": include_initial}
        expected = getattr(np, name)(a, **options)
        out = np.zeros_like(expected)
        assert function(a, **options, device=device, out=out) is out
        np.testing.assert_array_equal(out, expected)
        out = gpureduce.to_device(np.zeros_like(expected), device)
        assert function(gpureduce.to_device(a, device), **options, out=out) is out
        np.testing.assert_array_equal(out.numpy(), expected)
        made = function(gpureduce.to_device(a, device), **options)
        assert made.dtype == bool
        np.testing.assert_array_equal(made.numpy(), expected)
    # Host integers are cast to bool before: -3 + 3 is True.
    signed = np.array([3, -3, 0, 2])
    np.testing.assert_array_equal(
        function(signed, dtype=bool, device=device), getattr(np, name)(signed, dtype=bool)
    )
