"""Medians, quantiles and the first elements against NumPy, by value, dtype, shape and error."""

import itertools
import math
import random
import warnings

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce._order import row_view as order_lines
from gpureduce._order.methods import POSITIONS
from gpureduce._profiles.from_core import kernel_profiles, observe
from tests.support.ordered_values import DTYPES, values

HELD = 31744  # bytes of a line that a block holds
PART = 4096
SORTED = 4096
FLOATS = DTYPES[-3:]
SIZES = [
    1,
    2,
    3,
    31,
    32,
    33,
    64,
    100,
    128,
    129,
    257,
    1000,
    8191,
    HELD // 4 + 1,
    2 * PART,
    4 * PART + 1,
    9 * PART + 77,
]
METHODS = tuple(POSITIONS)
ELEMENTS = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")
# As NumPy 2.4 takes the dtype of q, and that of its results.
new_numpy = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="dtypes of quantiles are those of NumPy 2.4"
)


def exactly(got, wanted):
    got = got.numpy() if isinstance(got, gpureduce.DeviceArray) else got
    assert (np.shape(got), got.dtype) == (np.shape(wanted), wanted.dtype)
    np.testing.assert_array_equal(got, wanted)


def alike(got, wanted):
    """As `exactly`, except that what is nothing but NaN may have the dtype that others have."""
    got = got.numpy() if isinstance(got, gpureduce.DeviceArray) else got
    if np.size(wanted) and np.isnan(wanted).all():
        assert np.shape(got) == np.shape(wanted) and np.isnan(got).all()
    else:
        exactly(got, wanted)


def ranks_of(n):
    return sorted({0, n // 3, (n - 1) // 2, n // 2, n - 1})


def select(a, ranks, device, nans=False):
    there = gpureduce.to_device(a, device)
    place = (None, there._kind, there._index, there.stream)
    return _core.order_select(there._view_tuple(), np.asarray(ranks, np.int64), nans, None, place)


@pytest.mark.core
@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_of_ranks(dtype, device, some):
    """Of lines of all lengths: one or few, alone and with many, whose bins are smaller."""
    for n in some(SIZES, 2):
        for lines in (1, 3):
            a = values((lines, n), dtype, n)
            wanted = np.sort(a, axis=1)
            for ranks in ([n // 3], ranks_of(n), ranks_of(n) * 1 + [n - 1] * 20):
                exactly(select(a, ranks, device), wanted[:, ranks])


@pytest.mark.parametrize(("dtype", "count"), [("int8", 1), ("float64", 1), ("float64", 20)])
def test_many_long_lines(dtype, count, device):
    """So many that a block takes each, which it does not hold; of one rank, and of twenty."""
    n = HELD // np.dtype(dtype).itemsize + 5
    a = values((264, n), dtype, 1)
    ranks = [n // 2] if count == 1 else list(range(0, n, n // count))
    exactly(select(a, ranks, device), np.sort(a, axis=1)[:, ranks])


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
def test_ranks_of_each_line(dtype, device):
    for lines, n in ((5, 300), (3, 3 * PART * 4), (70, 9)):
        a = values((lines, n), dtype, lines)
        ranks = np.sort(np.random.default_rng(n).integers(0, n, (lines, 3)), axis=1)
        exactly(select(a, ranks, device), np.take_along_axis(np.sort(a, axis=1), ranks, axis=1))


@pytest.mark.core
def test_elements_that_are_alike(device):
    """Those that differ in their last bit, and those that are all the same."""
    for dtype, ones in (("float32", np.uint32), ("float64", np.uint64), ("int64", np.uint64)):
        base = np.array([1.5], dtype).view(ones)
        for n in (500, 5 * PART + 3):
            line = (base + np.random.default_rng(n).integers(0, 3, n).astype(ones)).view(dtype)
            for a in (line, np.full(n, -7, dtype)):
                exactly(gpureduce.quantile(a, [0.1, 0.5, 0.99], method="lower", device=device),
                        np.quantile(a, [0.1, 0.5, 0.99], method="lower"))  # fmt: skip


def test_signs_of_zero(device):
    """The least of zeros is the negative one, as every element is one of the array."""
    a = np.array([0.0, -0.0, 0.0, -0.0, -0.0], np.float32)
    got = select(a.reshape(1, 5), range(5), device)
    assert np.signbit(got[0]).tolist() == [True, True, True, False, False]
    got = gpureduce.topk(a, 3, largest=False, device=device)
    assert got.indices.tolist() == [0, 1, 2] and np.signbit(got.values).tolist() == [False, True, False]


@pytest.mark.core
@pytest.mark.parametrize("dtype", DTYPES)
def test_medians(dtype, device):
    for shape in ((1,), (2,), (300,), (301,), (5, 4, 7), (3, 900), (2, 9000)):
        a = values(shape, dtype, 3)
        for axis in (None, -1, tuple(range(len(shape)))) + ((0,) if shape[-1] < 9000 else ()):
            for keepdims in (False, True):
                with np.errstate(over="ignore"):
                    wanted = np.median(a, axis=axis, keepdims=keepdims)
                    got = gpureduce.median(a, axis=axis, keepdims=keepdims, device=device)
                exactly(got, wanted)


@new_numpy
@pytest.mark.parametrize("method", METHODS)
def test_methods(method, device):
    """Of lengths at which positions are whole numbers, lie between, and beyond the ends."""
    for n in (1, 2, 3, 5, 9, 10, 40, 101):
        for dtype in ("float32", "float64", "int32", "uint8"):
            a = values(n, dtype, n) if dtype != "int32" else values(n, "int16", n).astype("int32")
            for q in (0.5, 0, 1.0, np.linspace(0, 1, 21), np.float32(0.3), [[0.2, 0.7], [0.9, 0.05]]):
                with np.errstate(over="ignore"):
                    wanted = np.quantile(a, q, method=method)
                    exactly(gpureduce.quantile(a, q, method=method, device=device), wanted)


def weighted(a, weights, q=0.5, **options):
    return gpureduce.quantile(a, q, weights=weights, method="inverted_cdf", **options)


def drawn(draw, dtype, device):
    """Return an array of any layout, on the host or the device, and its elements."""
    shape = tuple(draw.choice((1, 2, 3, 5, 17, 40)) for _ in range(draw.choice((1, 1, 1, 2, 2))))
    if draw.random() < 0.1:
        shape = draw.choice(((9000,), (2, 9000), (2, 5, 3, 2)))
    a = values(shape, dtype, draw.randrange(2**32))
    mask = np.random.default_rng(draw.randrange(2**32)).random(shape)
    if a.dtype.kind == "f" and draw.random() < 0.5:
        a[mask < draw.choice((0.01, 0.2, 1.0))] = np.nan
    if a.dtype.kind == "f" and draw.random() < 0.2:
        a[mask > 0.9] = draw.choice((np.inf, -np.inf))
    views = (lambda b: b, lambda b: b.T, lambda b: b[::-1], lambda b: b[..., ::2], lambda b: b[None])
    view = draw.choice(views)
    if draw.random() < 0.4:
        return view(gpureduce.to_device(a, device)), view(a)
    return draw.choice((np.asarray, np.asfortranarray))(view(a)), view(a)


@new_numpy
@pytest.mark.filterwarnings("ignore")  # NumPy's, of NaNs and infinities
def test_random_quantiles_are_numpys(device, pytestconfig, thin):
    draw = random.Random(25)
    names = ("median", "nanmedian", "quantile", "nanquantile", "percentile", "nanpercentile")
    for _ in range(60 if thin else pytestconfig.getoption("property_cases") // 10):
        name, dtype = draw.choice(names), draw.choice(DTYPES)
        given, a = drawn(draw, dtype, device)
        some = tuple(draw.sample(range(a.ndim), draw.randint(1, a.ndim)))
        options = {
            "axis": draw.choice((None, *range(-a.ndim, a.ndim), some)), "keepdims": draw.random() < 0.3,
        }  # fmt: skip
        q = draw.choice((0.5, 0, 1, 0.3, draw.random(), [0.1, 0.9], [0.25, 0.5, 0.75, 0.5], [0.5]))
        arguments = () if name.endswith("median") else (np.multiply(q, 100) if "perc" in name else q,)
        if arguments:
            options["method"] = draw.choice(METHODS)
        here = {} if isinstance(given, gpureduce.DeviceArray) else {"device": device}
        # NumPy's differences of signed integers wrap; those of doubles are ours, exactly up to 4 bytes.
        wraps = a.dtype.kind == "i" and bool(arguments) and options["method"] not in ELEMENTS
        try:
            wanted = getattr(np, name)(a.astype(np.float64) if wraps else a, *arguments, **options)
        except TypeError as error:
            assert dtype == "bool", error
            with pytest.raises(TypeError, match="bool requires a method"):
                getattr(gpureduce, name)(given, *arguments, **options, **here)
            continue
        got = getattr(gpureduce, name)(given, *arguments, **options, **here)
        if wraps and a.itemsize == 8:
            got = got.numpy() if isinstance(got, gpureduce.DeviceArray) else got
            np.testing.assert_allclose(got, wanted, rtol=0, atol=2.0**13)
        else:
            if wraps:  # the dtype for q of integers is an integer's
                wanted = wanted.astype(getattr(np, name)(a, *arguments, **options).dtype)
            alike(got, wanted)


@new_numpy
@pytest.mark.filterwarnings("ignore")  # NumPy's, of NaNs
def test_weights(device, pytestconfig, thin):
    """Of all elements or along the axes, some of them 0, on the host and the device."""
    draw = random.Random(26)
    for _ in range(40 if thin else pytestconfig.getoption("property_cases") // 40):
        given, a = drawn(draw, draw.choice(DTYPES), device)
        some = tuple(draw.sample(range(a.ndim), draw.randint(1, a.ndim)))
        axis = draw.choice((None, *range(-a.ndim, a.ndim), some))
        along = tuple(a.shape[one] for one in (axis if isinstance(axis, tuple) else (axis or 0,)))
        shape = a.shape if axis is None or draw.random() < 0.5 else along
        weights = np.random.default_rng(draw.randrange(2**32)).integers(0, 4, shape)
        weights = weights.astype(draw.choice(("int32", "float32", "float64")))
        q = draw.choice((0.5, 0, 1, 0.3, [0.0, 0.25, 1], [[0.1, 0.9], [0.5, 0.5]], np.float32(0.3)))
        name = draw.choice(("quantile", "nanquantile", "percentile", "nanpercentile"))
        options = {"axis": axis, "keepdims": draw.random() < 0.3, "method": "inverted_cdf"}
        if "perc" in name:
            q = np.multiply(q, 100)
        # NumPy's nan forms take no weights along axes of several lines.
        all_of_them = weights
        if shape != a.shape and "nan" in name:
            axes = axis if isinstance(axis, tuple) else (axis,)
            order = [one % a.ndim for one in axes]
            lengths = [n if i in order else 1 for i, n in enumerate(a.shape)]
            turned = weights.transpose(np.argsort(order)).reshape(lengths)
            all_of_them = np.broadcast_to(turned, a.shape)
        call = getattr(gpureduce, name)
        there = gpureduce.to_device(weights, device) if draw.random() < 0.3 else weights
        here = {} if isinstance(given, gpureduce.DeviceArray) else {"device": device}
        try:
            wanted = getattr(np, name)(a, q, weights=all_of_them, **options)
        except ValueError:
            with pytest.raises(ValueError, match="weights: must be finite"):
                call(given, q, weights=there, **options, **here)
            continue
        alike(call(given, q, weights=there, **options, **here), wanted)


def test_weights_of_a_long_line(device):
    a = values(20000, "float32", 17)
    weights = np.random.default_rng(17).integers(0, 9, a.size)
    for q in (0.1, 0.77):
        exactly(weighted(a, weights, q, device=device),
                np.quantile(a, q, weights=weights, method="inverted_cdf"))  # fmt: skip
    got = weighted(gpureduce.to_device(a, device), gpureduce.to_device(weights, device), as_device=True)
    assert isinstance(got, gpureduce.DeviceArray)
    exactly(got, np.quantile(a, 0.5, weights=weights, method="inverted_cdf"))


@new_numpy
@pytest.mark.filterwarnings("ignore")  # NumPy's, of infinities
@pytest.mark.parametrize("dtype", DTYPES)
def test_results_that_stay_on_the_device(dtype, device, some):
    """What is made of two elements there is what NumPy makes of them, to the bit; of many quantiles, too."""
    draw = random.Random(dtype)
    for shape in ((1,), (2,), (9,), (6, 51), (3, 9001)):
        a = values(shape, dtype, 12)
        if a.dtype.kind == "f":
            a[..., -1] = draw.choice((np.inf, -0.0, np.nan))
        there = gpureduce.to_device(a, device)
        options = {"axis": -1, "keepdims": draw.random() < 0.5}
        exactly(there.median(**options), np.median(a, **options))
        for method in some(METHODS, 3) if dtype != "bool" else ("nearest", "lower"):
            for q in (
                0.5,
                draw.random(),
                np.float32(0.3),
                [draw.random(), 0, 1],
                np.linspace(0, 1, 12),
                [0, 1],
            ):
                got = there.quantile(q, method=method, as_device=True, **options)
                assert isinstance(got, gpureduce.DeviceArray)
                alike(got, np.quantile(a, q, method=method, **options))
    a = values(300, dtype, 13)
    exactly(gpureduce.median(a, device=device, as_device=True), np.median(a))


def test_bfloat16(device):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = values((7, 300), "float32", 4).astype(ml_dtypes.bfloat16)
    wanted = np.sort(a.astype("f4"), axis=1)
    for q in (0.0, 0.31, 1.0):
        got = gpureduce.quantile(a, q, axis=1, method="lower", device=device)
        assert got.dtype == a.dtype and (got.astype("f4") == wanted[:, int(299 * q)]).all()
    got = gpureduce.median(a[:, 1:], axis=1, device=device)
    odd = np.sort(a[:, 1:].astype("f4"), axis=1)[:, 149]
    assert got.dtype == a.dtype and (got.astype("f4") == odd).all()
    values_, indices = gpureduce.topk(a, 5, device=device)
    assert values_.dtype == a.dtype and (values_.astype("f4") == wanted[:, :-6:-1]).all()
    assert (np.take_along_axis(a, indices, 1) == values_).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_nans(dtype, device, some):
    """NaNs of either sign are last, whatever their other bits are; and those of one line stay there."""
    a = values((4, 10000), dtype, 5)
    a[0, 5], a[2, 9999] = np.nan, -np.nan
    a[2, :40] = np.array([-np.inf, np.inf, np.nan, -np.nan], dtype).repeat(10)
    for rows in (a, a[:, :50], *some([np.tile(a, (70, 1))], 2)):
        exactly(gpureduce.median(rows, axis=1, device=device), np.median(rows, axis=1))
        exactly(gpureduce.nanmedian(rows, axis=1, device=device), np.nanmedian(rows, axis=1))
    sorted_ = np.sort(a, axis=1)
    exactly(select(a, ranks_of(10000), device), sorted_[:, ranks_of(10000)])
    place = (None, *((there := gpureduce.to_device(a, device))._kind, there._index, 1))
    exactly(_core.order_count_valid(there._view_tuple(), place), (~np.isnan(a)).sum(axis=1))


def test_nothing_is_left_for_the_next_call(device):
    """What counts elements is kept between calls, and empty; a NaN is forgotten."""
    a = values(9 * PART, "float32", 18)
    wanted = np.median(a), np.quantile(a, [0.1, 0.9])
    b = a.copy()
    b[77] = np.nan
    for _ in range(3):
        assert np.isnan(gpureduce.median(b, device=device))
        assert gpureduce.median(a, device=device) == wanted[0]
        exactly(gpureduce.quantile(a, [0.1, 0.9], device=device), wanted[1])


def test_lines_of_nans(device):
    a = np.array([[1.0, np.nan, 3.0, 8.0], [np.nan] * 4])
    for name, q in (("nanmedian", ()), ("nanquantile", (0.5,)), ("nanpercentile", ([50, 50],))):
        with pytest.warns(RuntimeWarning, match="All-NaN slice") as seen:
            got = getattr(gpureduce, name)(a, *q, axis=1, device=device)
        assert len(seen) == 1 and seen[0].filename == __file__
        assert (got[..., 0] == 3).all() and np.isnan(got[..., 1]).all()


@pytest.mark.filterwarnings("ignore")  # NumPy's, of no elements
@pytest.mark.parametrize("there", [False, True])
def test_no_elements(there, device):
    for shape, axis in (((0,), None), ((3, 0), 1), ((0, 3), 1), ((3, 0), 0), ((0, 3), None)):
        a = np.zeros(shape, np.float32)
        given = gpureduce.to_device(a, device) if there else a
        here = {} if there else {"device": device}
        for name in ("median", "nanmedian"):
            exactly(getattr(gpureduce, name)(given, axis=axis, **here), getattr(np, name)(a, axis=axis))
        try:
            wanted = np.quantile(a, [0.2, 0.3], axis=axis)
        except IndexError:
            with pytest.raises(ValueError, match="a: zero-size"):
                gpureduce.quantile(given, [0.2, 0.3], axis=axis, **here)
        else:
            exactly(gpureduce.quantile(given, [0.2, 0.3], axis=axis, **here), wanted)
    assert np.isnan(gpureduce.nanquantile(np.ones((2, 0)), 0.5, axis=1, device=device)).tolist() == [1, 1]
    assert gpureduce.median(np.ones((2, 0, 3)), axis=(0, 2), device=device).shape == (0,)
    assert gpureduce.quantile(np.ones((3, 2)), [], axis=0, device=device).shape == (0, 2)
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        assert gpureduce.median(np.ones(0, int), device=device).dtype == np.float64
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):  # as NumPy, without a result, too
        assert gpureduce.median(np.ones((0, 0)), axis=0, device=device).shape == (0,)


def test_many_quantiles(device, monkeypatch):
    """More than there are bins for are found by several calls."""
    monkeypatch.setattr(order_lines, "MOST_RANKS", 20)
    a = values((2, 9000), "float64", 15)
    a[1, 77] = np.nan
    q = np.linspace(0, 1, 45)
    exactly(gpureduce.quantile(a, q, axis=1, device=device), np.quantile(a, q, axis=1))
    exactly(gpureduce.nanquantile(a, q, axis=1, device=device), np.nanquantile(a, q, axis=1))


def test_where_results_go(device):
    a = values((6, 50), "float32", 6)
    there = gpureduce.to_device(a, device)
    got = gpureduce.median(there, axis=1)
    assert isinstance(got, gpureduce.DeviceArray)
    exactly(got, np.median(a, axis=1))
    assert isinstance(gpureduce.median(there), np.float32) and there.median() == np.median(a)
    exactly(there.quantile([0.5, 0.9], axis=0), np.quantile(a, [0.5, 0.9], axis=0).astype("f8"))
    out = gpureduce.to_device(np.zeros(6, np.float32), device)
    assert gpureduce.quantile(there, 0.5, axis=1, out=out) is out
    exactly(out, np.quantile(a, 0.5, axis=1))
    host = np.zeros((6, 1))
    assert gpureduce.median(a, axis=1, keepdims=True, out=host, device=device) is host
    exactly(host, np.median(a, axis=1, keepdims=True).astype(np.float64))
    assert isinstance(gpureduce.percentile(a, 3, device=device, as_device=True), gpureduce.DeviceArray)
    assert isinstance(gpureduce.nanmedian(there, axis=0, as_device=False), np.ndarray)
    assert there.numpy().tobytes() == a.tobytes()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda a, **d: gpureduce.median(a * 1j, **d), TypeError, "a: expected real numbers"),
        (lambda a, **d: gpureduce.quantile(a, 1.5, **d), ValueError, "q: expected quantiles between 0 and 1"),
        (lambda a, **d: gpureduce.quantile(a, np.nan, **d), ValueError, "q: expected quantiles"),
        (lambda a, **d: gpureduce.percentile(a, [101], **d), ValueError, "q: expected percentiles"),
        (
            lambda a, **d: gpureduce.quantile(a, [[[0.5]]], **d),
            ValueError,
            "q: expected at most two dimensions",
        ),
        (lambda a, **d: gpureduce.quantile(a, 0.5, method="x", **d), ValueError, "method: expected one of"),
        (
            lambda a, **d: gpureduce.quantile(a, 0.5, weights=a, **d),
            ValueError,
            "weights: only supported by method",
        ),
        (lambda a, **d: weighted(a, [1, 2, 3], **d), TypeError, "weights: axis must be specified"),
        (lambda a, **d: weighted(a, [1, 2], axis=1, **d), ValueError, "weights: expected the shape"),
        (lambda a, **d: weighted(a, a - 1, **d), ValueError, "weights: expected nonnegative"),
        (lambda a, **d: weighted(a, a * 1j, **d), ValueError, "weights: expected nonnegative"),
        (lambda a, **d: weighted(a, a, **d), ValueError, "weights: must be finite"),
        (lambda a, **d: weighted(a, a + np.inf, **d), ValueError, "weights: must be finite"),
        (lambda a, **d: gpureduce.quantile(a, 0.5, out=np.zeros((), int), **d), TypeError, "out: cannot"),
        (lambda a, **d: gpureduce.median(a, out=np.zeros(3), **d), ValueError, "out: expected shape"),
        (lambda a, **d: gpureduce.median(a, axis=2, **d), np.exceptions.AxisError, "out of bounds"),
        (lambda a, **d: gpureduce.median(a[0, 0], axis=0, **d), np.exceptions.AxisError, "out of bounds"),
        (lambda a, **d: gpureduce.quantile(a[0, 0], 0, axis=-1, **d), np.exceptions.AxisError, "out of"),
        (lambda a, **d: gpureduce.median(a, axis=(0, 0), **d), ValueError, "duplicate"),
        (lambda a, **d: gpureduce.topk(a, 4, **d), ValueError, "k: expected 0 to 3"),
        (lambda a, **d: gpureduce.topk(a, -1, **d), ValueError, "k: expected 0 to 3"),
        (lambda a, **d: gpureduce.topk(a, 1.0, **d), TypeError, "integer"),
        (lambda a, **d: gpureduce.topk(a, 1, axis=None, **d), TypeError, "axis: expected one integer"),
        (lambda a, **d: gpureduce.topk(a, 1, axis=(), **d), TypeError, "axis: expected one integer"),
        (lambda a, **d: gpureduce.topk(a * 1j, 1, **d), TypeError, "a: expected real numbers"),
    ],
)
def test_order_statistics_refuse_bad_arguments(call, error, text, device):
    with pytest.raises(error, match=text):
        call(np.zeros((2, 3)), device=device)


@pytest.mark.gpu
def test_graphs(device):
    """Captured calls do when the graph runs what they would do by themselves, on what is there then."""
    torch = pytest.importorskip("torch")
    a = values((3, 50000), "float32", 14)
    there = torch.from_numpy(a).to(device)
    out = torch.empty((2, 3), device=device)
    middle, odd, turned = torch.empty((3, 3), device=device)
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()

    def call():
        gpureduce.quantile(there, np.float32([0.2, 0.9]), axis=1, out=out)
        gpureduce.median(there, axis=1, out=middle)
        gpureduce.median(there[:, ::2], axis=1, out=odd)
        gpureduce.median(there.T, axis=0, out=turned)
        return gpureduce.topk(there[:, :9000], 2, 0), gpureduce.topk(there, 5000)

    with torch.cuda.stream(stream):
        call()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        down, along = call()
        for weighted_or_many in ({"q": 0.5, "weights": a, "method": "inverted_cdf"}, {"q": [0.5] * 9}):
            with pytest.raises(ValueError, match="stream: "):
                gpureduce.quantile(there, axis=1, as_device=True, **weighted_or_many)
    for factor in (1, -3):
        there.copy_(torch.from_numpy(a * np.float32(factor)))
        graph.replay()
        torch.cuda.synchronize()
        exactly(out.cpu().numpy(), np.quantile(there.cpu().numpy(), np.float32([0.2, 0.9]), axis=1))
        now = there.cpu().numpy()
        exactly(middle.cpu().numpy(), np.median(now, axis=1))
        exactly(odd.cpu().numpy(), np.median(now[:, ::2], axis=1))
        exactly(turned.cpu().numpy(), np.median(now, axis=1))
        exactly(down.indices, first_of(now[:, :9000].T, 2, True, True).T)
        exactly(along.indices, first_of(now, 5000, True, True))
        exactly(along.values, np.take_along_axis(now, along.indices.numpy(), 1))


def test_order_select_refuses_bad_ranks_and_lines():
    """Ranks that do not ascend or lie outside, and elements that are no lines: memory would be missed."""
    a = values((2, 30), "float32", 7)
    place = (None, _core.SIM, 0, 1)
    for ranks in ([30], [-1], [5, 4], [], [[1], [2], [3]], np.array([1], np.int32)):
        ranks = ranks if isinstance(ranks, np.ndarray) else np.array(ranks, np.int64)
        with pytest.raises(ValueError, match="ranks: expected"):
            _core.order_select(a, ranks, False, None, place)
    for wrong in (a[0], a[None], a[:0]):
        with pytest.raises(ValueError, match="a: expected lines"):
            _core.order_select(wrong, np.array([1]), False, None, place)
    with pytest.raises(TypeError, match="has no order"):
        _core.order_select(a + 1j, np.array([1]), False, None, place)
    two = np.zeros(2).tobytes()
    for ends in ((0, "float64", b"\0\0", b"\0\0", two, two), (3, "float32", b"\0\0", b"\0\0", two, two),
                 (0, "float32", b"\0\1", b"\0\0", two, two), (0, "float32", b"\0", b"\0\0", two, two),
                 (0, "float32", b"\0" * 9, b"\0" * 9, bytes(72), bytes(72)), (1, "x", b"\0", b"\0", two, two),
                 (0, "float32", b"", b"", b"", b"")):  # fmt: skip
        ends = dict(zip(("mean", "dtype", "lower", "upper", "weight", "rest"), ends, strict=True))
        with pytest.raises(ValueError, match="quantiles: expected"):
            _core.order_select(a, np.array([1]), False, ends, place)
        with pytest.raises(TypeError, match="quantiles: expected a dict"):
            _core.order_select(a, np.array([1]), False, tuple(ends.values()), place)
    there = gpureduce.to_device(a, "sim")
    view = there._view_tuple()
    with pytest.raises(ValueError, match="out: overlaps"):
        _core.order_select(
            view, np.array([1]), False, None, ((view[0], (2, 1), (4, 4), "float32"), *place[1:])
        )
    with pytest.raises(ValueError, match="side by side"):
        turned = (view[0], (30, 2), (4, 120), "float32")
        _core.order_select(turned, np.array([1]), False, None, place)
    with pytest.raises(ValueError, match="indices: expected room"):
        _core.order_topk(view, 2, True, True, view, place)
    for k in (0, 31):
        with pytest.raises(ValueError, match="k: expected"):
            _core.order_topk(view, k, True, True, view, place)


def first_of(a, k, largest, sort):
    """The indices of the first elements along the last axis: of equal ones the lowest."""
    order = np.argsort(a, axis=-1, kind="stable")
    if largest:
        turned = np.argsort(a[..., ::-1], axis=-1, kind="stable")[..., ::-1]
        order = a.shape[-1] - 1 - turned
    found = order[..., :k]
    return found if sort else np.sort(found, axis=-1)


@pytest.mark.core
@pytest.mark.parametrize("dtype", DTYPES)
def test_first_elements(dtype, device):
    """In lines that a block holds and in those of many; of few and of several tiles that are sorted."""
    draw = random.Random(dtype)
    for lines, n in ((1, 1), (4, 7), (3, 300), (1, 1500), (2, 20000), (270, 40), (1, 9 * PART + 3)):
        a = values((lines, n), dtype, n)
        for k in {1, min(n, 5), min(n, 1000), min(n, SORTED), min(n, 2 * SORTED + 77), min(n, 20000)}:
            largest, sort = draw.random() < 0.5, draw.random() < 0.7
            found = gpureduce.topk(a, k, largest=largest, sorted=sort, device=device)
            wanted = first_of(a, k, largest, sort)
            exactly(found.indices, wanted)
            exactly(found.values, np.take_along_axis(a, wanted, -1))


def test_first_elements_of_many_long_lines(device):
    a = values((264, HELD // 4 + 3), "int32", 8)
    found = gpureduce.topk(a, 3, device=device)
    exactly(found.indices, first_of(a, 3, True, True))


def test_all_elements_of_many_tiles(device):
    """More than a warp adds up at once, and more than it loads."""
    a = values((1, 130 * SORTED + 5), "int8", 16)
    found = gpureduce.topk(a, a.size, device=device)
    exactly(found.indices, first_of(a, a.size, True, True))


@pytest.mark.parametrize("dtype", FLOATS)
def test_first_elements_with_nans(dtype, device):
    """NaN is larger than all numbers, as in PyTorch; and of NaNs the first comes first."""
    for n in (60, 5 * PART):
        a = values((2, n), dtype, n)
        a[1, [3, n // 2, n - 1]] = np.array([-np.nan, np.nan, np.nan], dtype)
        a[1, 7] = np.inf
        found = gpureduce.topk(a, 5, device=device)
        assert found.indices[1, :4].tolist() == [3, n // 2, n - 1, 7]
        assert np.isnan(found.values[1, :3]).all() and found.values[1, 3] == np.inf
        exactly(found.indices[0], first_of(a[0], 5, True, True))
        found = gpureduce.topk(a, n, largest=False, device=device)
        assert found.indices[1, -3:].tolist() == [3, n // 2, n - 1]


def test_first_elements_that_are_equal(device):
    for n in (900, 6 * PART + 1):
        a = np.random.default_rng(n).integers(0, 3, n).astype(np.int32)
        for k in (n // 2, n):
            for largest in (True, False):
                found = gpureduce.topk(a, k, largest=largest, device=device)
                exactly(found.indices, first_of(a, k, largest, True))


def test_first_elements_along_axes(device):
    a = values((5, 40, 3), "float32", 9)
    there = gpureduce.to_device(a, device)
    for axis in (0, 1, 2, -1, -2):
        wanted = np.moveaxis(first_of(np.moveaxis(a, axis, -1), 3, True, True), -1, axis)
        for found in (gpureduce.topk(a, 3, axis, device=device), gpureduce.topk(there, 3, axis),
                      there.topk(3, axis=axis, as_device=True)):  # fmt: skip
            exactly(found.indices, wanted)
            exactly(found.values, np.take_along_axis(a, wanted, axis))
    kept = gpureduce.topk(there[:, ::-1, ::2], 2, 1)
    assert isinstance(kept, gpureduce.TopK) and isinstance(kept.values, gpureduce.DeviceArray)
    wanted = np.moveaxis(first_of(np.moveaxis(a[:, ::-1, ::2], 1, -1), 2, True, True), -1, 1)
    exactly(kept.indices, wanted)
    assert gpureduce.topk(there, 0, 1).indices.shape == (5, 0, 3)
    assert gpureduce.topk(np.zeros((0, 4)), 2, device=device).values.shape == (0, 2)
    exactly(gpureduce.topk(np.float64(3.5), 1, device=device).values, np.array(3.5))
    exactly(gpureduce.topk(np.float64(3.5), 1, device=device).indices, np.array(0))


def test_results_are_the_same_on_every_run_and_backend(device):
    a = np.random.default_rng(10).integers(0, 50, 7 * PART).astype(np.float32)
    first = gpureduce.topk(a, 3000, device=device)
    for where in (device, device, "sim"):
        again = gpureduce.topk(a, 3000, device=where)
        assert (again.indices == first.indices).all() and (again.values == first.values).all()


@pytest.mark.large
def test_long_lines(on_gpu, device):
    n = 2**28 + 77 if on_gpu else 2**22 + 77
    a = (np.arange(n, dtype=np.int64) * 2654435761 >> 5).astype(np.int32)
    ranks = [5, n // 2, n - 9]
    exactly(select(a.reshape(1, n), ranks, device)[0], np.partition(a, ranks)[ranks])


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        *itertools.product(["uint8", "int16", "float32", "float64"], [(1, 900), (9, 20), (3, 100)]),
        *itertools.product(["uint8", "float64"], [(2, 9 * PART)]),
    ],
    ids=str,
)
def test_kernels_have_no_races(dtype, shape):
    a = values(shape, dtype, 11)
    for ranks in ([shape[1] // 2], list(range(0, shape[1], shape[1] // 20))):
        given = a, np.array(ranks), dtype == "float64", None
        result, launches, problem = observe(
            lambda device, given=given: _core.order_select(*given, (None, device, 0, 0)), True
        )
        assert problem is None
        np.testing.assert_array_equal(result, np.sort(a, axis=1)[:, ranks])
        assert {kernel.races for kernel in kernel_profiles(launches, "", 0)} == {()}


@pytest.mark.parametrize("length", [3968, 3969, 11_900, 13_000])
def test_few_long_lines_of_doubles_have_one_block_each(length):
    """Up to 96 KiB, in shared memory; the digits of longer ones take a launch each."""
    a = values((2, length), "float64", 5)
    a[1] = np.round(a[1], 1)  # many elements that are alike
    ranks = np.array([5, length // 2])  # far apart, so that no window has both
    result, launches, problem = observe(
        lambda device: _core.order_select(a, ranks, True, None, (None, device, 0, 0)), True
    )
    assert problem is None
    np.testing.assert_array_equal(result, np.sort(a, axis=1)[:, ranks])
    names = {kernel.name for kernel in kernel_profiles(launches, "", 0)}
    assert names == {"order_rows_b64" if length < 12_000 else "order_digit_b64"}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(9, 20), (5, 100), (4, 300), (2, 3900), (2, 17000)], ids=str)
def test_kernels_count_the_valid_elements_of_short_lines_as_they_select(dtype, shape):
    """One launch selects and one takes the mean, or one does both; longer lines are counted by one before."""
    rng = np.random.default_rng(shape[1])
    a = rng.standard_normal(shape).astype(dtype)
    a[rng.random(shape) < 0.3] = np.nan
    a[0] = np.nan
    result, launched, problem = observe(
        lambda device: _core.order_valid(a, None, True, (None, device, 0, 0)), True
    )
    assert problem is None
    np.testing.assert_array_equal(result[1:], np.nanmedian(a[1:], axis=1))
    assert np.isnan(result[0])
    kernels = kernel_profiles(launched, "", 0)
    assert {kernel.races for kernel in kernels} == {()}
    if 128 < shape[1] < 4000 and a.itemsize > 2:
        assert [kernel.name[: len("order_block")] for kernel in kernels] == ["order_block"]
    else:
        assert (len(kernels) == 2) == (shape[1] < 4000)


@pytest.mark.parametrize(
    ("dtype", "shape_and_k"),
    [
        *itertools.product(
            ["uint8", "int16", "float32", "float64"], [((9, 20), 4), ((2, 1000), 990), ((3, 1000), 5)]
        ),
        *itertools.product(["uint8", "float64"], [((2, 9 * PART), 500), ((1, 9 * PART), 5000)]),
    ],
    ids=str,
)
def test_kernels_of_first_elements_have_no_races(dtype, shape_and_k):
    shape, k = shape_and_k
    a = values(shape, dtype, 12)

    def firsts(device):
        indices = (_core.device_alloc(device, 0, 8 * shape[0] * k), (shape[0], k), (8 * k, 8), "int64")
        return _core.order_topk(a, k, True, True, indices, (None, device, 0, 0))

    result, launches, problem = observe(firsts, True)
    assert problem is None
    np.testing.assert_array_equal(result, np.sort(a, axis=1)[:, : -k - 1 : -1])
    profiles = kernel_profiles(launches, "", 0)
    assert {kernel.races for kernel in profiles} == {()}
    moves = sum(kernel.name.startswith("order_move") for kernel in profiles)
    assert moves == (a.dtype.itemsize if k > SORTED else 0)


def test_nothing_is_warned_of_on_the_way(device):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert math.isnan(gpureduce.median([1.0, math.nan], device=device))
        assert math.isnan(gpureduce.quantile([1.0, math.nan], 0.3, device=device))
        assert gpureduce.quantile([math.inf, 1.0], 0.0, method="lower", device=device) == 1


@pytest.mark.core
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("lines", "length"), [(1, 1), (4, 5), (7, 31), (3, 100), (5, 300), (2, 9000), (1, 40_000)]
)
def test_quantiles_without_nans_stay_on_the_device(dtype, lines, length, device):
    """The device computes ranks from the numbers of elements that are not NaN, with the bits of the host."""
    rng = np.random.default_rng([lines, length])
    array = (rng.standard_normal((lines, length)) * 10.0 ** rng.integers(-9, 10, (lines, length))).astype(
        dtype
    )
    array[rng.random(array.shape) < 0.3] = np.nan
    if lines > 2:
        array[0] = np.nan
        array[1] = np.where(np.isnan(array[1]), np.inf, array[1])
    there = gpureduce.to_device(array, device)
    few = length > 1000
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        for q in (
            (0.25,)
            if few
            else (0.0, 0.25, 0.5, 0.7, 1.0, np.float64(0.3), [0.9, 0.1, 0.5], np.linspace(0, 1, 9))
        ):
            for axis in (1,) if few else (1, 0, None):
                want = gpureduce.nanquantile(array, q, axis=axis, device=device)
                got = gpureduce.nanquantile(there, q, axis=axis, as_device=True)
                assert got.dtype == want.dtype
                np.testing.assert_array_equal(got.numpy(), want)
    core = _core.fast_path("nanpercentile", ("a", "q", "axis"), (), None)
    assert core(there, 25.0, 1) is not NotImplemented
    assert core(there, [25.0, 50.0], 1) is core(there, 101.0, 1) is NotImplemented


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("lines", "length"), [(1, 1), (7, 4), (5, 33), (9, 100), (6, 129), (3, 9000), (1, 40000)]
)
def test_medians_without_nans_stay_on_the_device(dtype, lines, length, device):
    """Their ranks are computed there: bits as on the host, and NaN for lines of NaNs alone."""
    rng = np.random.default_rng(lines)
    spread = 2.0 ** rng.integers(-30, 30, (lines, length))
    array = (rng.standard_normal((lines, length)) * spread).astype(dtype)
    array[rng.random((lines, length)) < 0.3] = np.nan
    if lines > 2:
        array[0], array[1], array[2, 1:] = np.nan, np.finfo(dtype).max, np.nan
    there = gpureduce.to_device(array, device)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        want = gpureduce.nanmedian(array, axis=1, device=device)
        got = gpureduce.nanmedian(there, axis=1)
        assert isinstance(got, gpureduce.DeviceArray)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got.numpy(), want)
        columns = gpureduce.to_device(array.T.copy(), device)
        np.testing.assert_array_equal(gpureduce.nanmedian(columns, axis=0).numpy(), want)
        kept = gpureduce.nanmedian(there, axis=(0, 1), keepdims=True)
        np.testing.assert_array_equal(kept.numpy(), np.nanmedian(array, keepdims=True))
        if lines > 2:
            np.testing.assert_array_equal(got.numpy()[2:], np.nanmedian(array, axis=1)[2:])
