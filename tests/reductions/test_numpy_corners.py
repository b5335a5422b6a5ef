"""Corners of NumPy's functions: value, type, dtype, shape and warnings, expression by expression.

docs/reference/differences-from-numpy.md lists what differs on purpose; DIFFERENT below tests that page.
"""

import warnings

import numpy as np
import pytest

import gpureduce

NAMES = {
    "np": np,
    "inf": np.inf,
    "nan": np.nan,
    "x": np.arange(12.0).reshape(3, 4),
    "longs": np.arange(4, dtype="q"),
    "ulongs": np.arange(4, dtype="Q"),
}

ALIKE = """
# lists of axes
median(x, axis=[0, 1])
quantile(x, 0.5, axis=[0, 1])
nanmedian(x, axis=[0])
percentile(x, 50, axis=[1])
nanquantile(x, 0.3, axis=[1, 0], keepdims=True)
sum(x, axis=[0, 1])
# numbers and vectors
inner(np.arange(3.0), 2)
inner(2, np.arange(3.0))
inner(2, 3)
inner(x, 2.0)
inner(2j, x)
# long long
ptp(longs)
ptp(ulongs)
quantile(longs, 0.5, method='nearest')
percentile(ulongs, 50, method='lower')
nanquantile(longs, 0.5, method='higher')
max(longs)
sum(longs)
median(longs)
cumulative_sum(longs)
# nothing
var([])
var(np.zeros((0, 3)), axis=1)
var(np.zeros((0, 3)), axis=0)
nanvar([])
nanstd(np.zeros((0, 3)), axis=0)
median([])
median(np.zeros((0, 3)), axis=1)
median(np.zeros((0, 3)), axis=0)
nanmedian([])
nanmedian(np.zeros((0, 3)), axis=0)
nanquantile(np.zeros((0, 3)), 0.5, axis=0)
percentile([1.0], [])
quantile(np.zeros((0, 3)), 0.5, axis=1)
mean(np.zeros((0, 3)), axis=0)
# no dimensions
median(3.0, keepdims=True)
nanmedian(3.0, keepdims=True)
sum(3.0, keepdims=True)
mean(3.0, keepdims=True)
var(3.0, keepdims=True)
std(3.0, keepdims=True)
ptp(3.0, keepdims=True)
max(3.0, keepdims=True)
argmax(3.0, keepdims=True)
nansum(3.0, keepdims=True)
nanvar(3.0, keepdims=True)
any(3.0, keepdims=True)
nanargmax(3.0, keepdims=True)
average(3.0, keepdims=True)
nanmean(3.0, keepdims=True)
count_nonzero(3.0, keepdims=True)
prod(3.0, keepdims=True)
nanmax(3.0, keepdims=True)
quantile(3.0, 0.5, keepdims=True)
percentile(3.0, [50], keepdims=True)
nanpercentile(3.0, 50, keepdims=True)
# weights give arrays
quantile([1.0, 2, 3], 0.5, weights=[1, 1, 1], method='inverted_cdf')
percentile([1.0, 2, 3], 50, weights=[1, 1, 1], method='inverted_cdf')
quantile([1.0, 2, 3], [0.5], weights=[1, 1, 1], method='inverted_cdf')
nanquantile([1.0, nan, 3], 0.5, weights=[1, 1, 1], method='inverted_cdf')
# degrees of freedom
var([1.0, 2, 4], ddof=nan)
var(x, axis=1, ddof=nan)
nanvar([1.0, 2], ddof=nan)
std([1.0, 2], ddof=inf)
var([1.0, 2], ddof=-inf)
var([1.0, 2], mean=None)
var([1.0, 2], ddof=np.float32(0.5))
var([1.0, 2], ddof=2)
var([1.0, 2], ddof=3)
var([3.0], ddof=1)
std(x, axis=0, ddof=3)
nanvar([1.0, nan], ddof=1)
var([0.0, 1, 2, 3, 4], ddof=np.nextafter(5, 0))
nanstd([0.0, nan, 1, 2, 4], ddof=np.nextafter(4, 0))
var(np.arange(5, dtype=np.int8), ddof=np.nextafter(5, 0))
var([1j, 2, 3], ddof=np.nextafter(3, 0))
# the sign of a median that is 0
median([-0.0])
median([-0.0, -0.0])
nanmedian([-0.0])
nanmedian([-0.0, -0.0, nan])
median(-0.0)
median([[-0.0], [-0.0]], axis=1)
median(np.array([-0.0], np.float16))
median([-0.0, 0.0, -0.0])
nanmedian([[-0.0, nan], [1, 2]], axis=1)
quantile([-0.0], 0.5)
quantile([-0.0, -0.0], 0.5)
median([-5e-324, 0.0])
# where=
sum([1.0, 2], where=None)
any([1.0, 2], where=None)
nansum([1.0, 2], where=None)
max([1.0], where=None, initial=0)
"""


def outcome(expression, functions):
    with warnings.catch_warnings(record=True) as seen, np.errstate(all="warn"):
        warnings.simplefilter("always")
        result = eval(expression, {**NAMES, **functions})
    # Some versions of NumPy end a sentence, and have a word more for scalars.
    texts = {str(each.message).rstrip(".").replace("scalar ", "") for each in seen}
    return result, texts


def on(device):
    def function(name):
        return lambda *args, **kwargs: getattr(gpureduce, name)(*args, device=device, **kwargs)

    return {name: function(name) for name in gpureduce.__all__ if callable(getattr(gpureduce, name))}


@pytest.mark.parametrize("expression", [line for line in ALIKE.splitlines() if line and line[0] != "#"])
def test_like_numpy(expression, device):
    if not hasattr(np, expression.split("(")[0]):
        pytest.skip("not in this version of NumPy")
    try:
        expected, wanted = outcome(expression, vars(np))
    except TypeError:
        pytest.skip("an argument that this version of NumPy lacks")
    found, told = outcome(expression, on(device))
    assert type(found) is type(expected)
    expected, found = np.asarray(expected), np.asarray(found)
    assert (found.dtype.char, found.shape) == (expected.dtype.char, expected.shape)
    np.testing.assert_allclose(found, expected, rtol=4e-16)
    if not np.isnan(expected.real).any():
        np.testing.assert_array_equal(np.signbit(found.real), np.signbit(expected.real))
    assert told == wanted


@pytest.mark.parametrize("place", ["host", "device"])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint64"])
def test_quantiles_between_integers_that_lie_far_apart(dtype, place, device):
    """NumPy subtracts in the dtype of the elements, which wraps: numpy#30376."""
    limits = np.iinfo(dtype)
    a = np.array([limits.min, limits.max, limits.min], dtype)
    given = gpureduce.to_device(a, device) if place == "device" else a
    options = {} if place == "device" else {"device": device}
    low, high = int(limits.min), int(limits.max)
    for q in (0.5, 0.6, 0.75, 0.9):
        expected = low + (high - low) * (2 * q - 1)
        for name, level in (("quantile", q), ("percentile", 100 * q), ("nanquantile", q)):
            result = getattr(gpureduce, name)(given, level, axis=0, **options)
            found = float(result.numpy() if place == "device" else result)
            assert abs(found - expected) <= 4e-16 * (high - low), (name, q)


DIFFERENT = [
    ("var([1.0, 2], ddof=None)", TypeError, "ddof: expected a real number"),
    ("var([1.0, 2], ddof='1')", TypeError, "ddof: expected a real number"),
    ("var([1.0, 2], ddof=1j)", TypeError, "ddof: expected a real number"),
    ("var([1.0, 2], ddof=[0])", TypeError, "ddof: expected a real number"),
    ("var([1.0, 2], ddof=10**400)", ValueError, "ddof: "),
    ("mean([1.0, 2], where=None)", TypeError, "where: expected bool"),
    ("var([1.0, 2], where=None)", TypeError, "where: expected bool"),
    ("percentile([], [])", ValueError, "a: zero-size"),
    ("quantile(np.zeros((0, 3)), 0.5, axis=0)", ValueError, "a: zero-size"),
    ("quantile(x, 0.5, method=['linear'])", TypeError, "method: expected str"),
    ("vecdot(x, x, out=np.zeros((2, 3)))", ValueError, "out: expected shape"),
    ("percentile(x[0], 50, out=np.empty(1))", ValueError, "out: expected shape"),
]


@pytest.mark.parametrize(("expression", "error", "message"), DIFFERENT)
def test_calls_that_numpy_refuses_are_refused(expression, error, message, device):
    with pytest.raises(error, match=message):
        outcome(expression, on(device))


def test_variances_of_no_elements(device):
    assert np.isnan(gpureduce.var(np.zeros((0, 2)), axis=0, ddof=-1, device=device)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gpureduce.nanvar(np.zeros((0, 0)), axis=0, device=device).shape == (0,)


def test_extremes_are_cast_after_they_are_found(device):
    """NumPy casts the elements first."""
    assert not gpureduce.max([-1, 0], out=np.zeros((), bool), device=device)
    assert gpureduce.fmax([256, 1], out=np.zeros((), np.int8), device=device) == 0


def test_one_warning_of_slices_of_nans(device):
    for name, args in (("nanmedian", ()), ("nanquantile", (0.5,))):
        with pytest.warns(RuntimeWarning, match="All-NaN slice encountered") as seen:
            getattr(gpureduce, name)(np.full((3, 2), np.nan), *args, axis=1, device=device)
        assert len(seen) == 1


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("elements", [np.complex64, np.complex128])
def test_complex_variances_in_a_real_dtype_keep_the_imaginary_parts(elements, dtype, device):
    a = np.array([1 + 1j, 2, 4 - 3j, 0.25j], elements)
    expected = np.var(a)
    bound = 3 * max(float(np.finfo(dtype).eps), float(np.finfo(elements).eps))
    for given in (a, gpureduce.to_device(a, device)):
        for got in (
            gpureduce.var(given, dtype=dtype, device=device),
            gpureduce.nanvar(given, dtype=dtype, device=device),
            gpureduce.var(given, dtype=dtype, exact=True, device=device),
            gpureduce.std(given, dtype=dtype, device=device) ** 2,
        ):
            assert got.dtype == dtype
            assert float(got) == pytest.approx(expected, rel=bound)
    state = gpureduce.partial(a, "var", dtype=dtype, device=device)
    assert float(state.result()) == pytest.approx(expected, rel=2e-7)


def test_states_take_fractions_of_a_degree(device):
    a = [1.0, 2.5, 4.0, 9.0]
    state = gpureduce.partial(a, "var", device=device)
    for ddof in (0.5, np.nextafter(4, 0), -2, np.float32(1.25)):
        np.testing.assert_allclose(state.result(ddof=ddof), np.var(a, ddof=ddof), rtol=4e-16)
    assert state.result(ddof=-np.inf) == 0
    with pytest.raises(TypeError, match="ddof: expected a real number"):
        state.result(ddof="1")


def test_ufuncs_are_callable(device):
    import gpureduce.numpy_like as xp

    assert xp.add(2, 3) == 5
    np.testing.assert_array_equal(xp.maximum(np.arange(4), [3, 0, 0, 5]), [3, 1, 2, 5])
    with pytest.raises(TypeError, match=r"add: .*torch\.from_dlpack"):
        xp.add(gpureduce.to_device(np.arange(3.0), device), 1)
    for a in (np.ones((2, 3)), gpureduce.to_device(np.ones((2, 3)), device)):
        assert xp.expand_dims(a, 1).shape == xp.expand_dims(a, axis=1).shape == (2, 1, 3)


def test_values_that_differ_from_numpy(device):
    """As docs/reference/differences-from-numpy.md lists them."""
    a = np.ones(1000)
    a[0], a[500:] = 0, 1e200  # the product of a block's elements overflows, and infinity times 0 is NaN
    with np.errstate(all="ignore"):
        products = gpureduce.cumulative_prod(a, device=device)
    assert np.cumprod(a)[-1] == 0 and np.isnan(products[-1])

    zeros = np.array([-0.0, 1.0, np.nan])
    on_device = gpureduce.nancumsum(gpureduce.to_device(zeros, device)).numpy()
    assert np.signbit(np.nancumsum(zeros)[0]) and not np.signbit(on_device[0])
    assert np.signbit(gpureduce.nancumsum(zeros, device=device)[0])

    tiny = np.array([5e-324, 1.5e-323])
    with np.errstate(under="raise"):
        assert gpureduce.quantile(tiny, 0.3, device=device) == 1e-323
        with pytest.raises(FloatingPointError):
            np.quantile(tiny, 0.3)
