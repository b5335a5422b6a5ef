"""Variances and higher moments: against NumPy, exact arithmetic, and on odd elements and arguments."""

import warnings
from fractions import Fraction
from math import isqrt

import numpy as np
import pytest

import gpureduce
from gpureduce._reduce import power_sums
from tests.support import numpy_oracle as oracle

WITHOUT_BFLOAT16 = [name for name in oracle.DTYPES if name != "bfloat16"]
SPREADS = ("var", "std", "nanvar", "nanstd")
# Of test_orders_and_conventions, by scipy.stats 1.17: skew and kurtosis, also with bias=False.
SKEW, KURTOSIS = 0.6470967603802538, -1.25049069403075
SKEW_OF_SAMPLE, KURTOSIS_OF_SAMPLE = 0.9646348961534268, -1.0019627761229999
UNIT = {"float16": 2.0**-11, "float32": 2.0**-24, "float64": 2.0**-53}
# Lengths about the edges of a chunk, a turn of a block, several blocks.
LENGTHS = (1, 2, 7, 33, 129, 4097, 20_011)


def exactly(elements, ddof=0):
    """The variance of real elements as a Fraction."""
    # Scaled to integers, which are faster than fractions.
    scaled = [Fraction(float(x)) for x in elements]
    unit = max(x.denominator for x in scaled)
    whole = [int(x * unit) for x in scaled]
    n, total = len(whole), sum(whole)
    return Fraction(n * sum(x * x for x in whole) - total * total, n * (n - ddof) * unit * unit)


def root(value):
    """The square root of a Fraction, 2^-80 off at the most, relatively."""
    scale = 1 << 200
    return Fraction(isqrt(value.numerator * value.denominator * scale * scale), value.denominator * scale)


def error(got, exact, dtype):
    """How far off a result is, in units of its dtype's roundoff."""
    return float(abs(Fraction(float(got)) - exact) / exact / Fraction(UNIT[dtype]))


def mean_is_large(dtype, n, seed=0):
    """Elements of which NumPy's one-pass formula would leave nothing: 1e8 +- 1, in float32 1e4 +- 1."""
    centre = {"float16": 64, "float32": 1e4, "float64": 1e8}[dtype]
    return (centre + np.random.default_rng(seed).uniform(-1, 1, n)).astype(dtype)


# The error, against exact arithmetic


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_a_large_mean_costs_no_digits(dtype, device):
    for n in LENGTHS:
        elements = mean_is_large(dtype, n, n)
        exact = exactly(elements)
        got = gpureduce.var(elements, device=device)
        if exact == 0:
            assert got == 0
            continue
        assert error(got, exact, dtype) <= (3 if dtype == "float64" else 2), n
        assert error(gpureduce.std(elements, device=device), root(exact), dtype) <= 2, n


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("axis", [0, 1])
def test_along_an_axis_it_is_no_worse_than_two_passes(dtype, axis, device):
    matrix = mean_is_large(dtype, 400 * 36).reshape((400, 36) if axis == 0 else (36, 400))
    ours, theirs = gpureduce.var(matrix, axis, device=device), np.var(matrix, axis)
    worst = [0.0, 0.0]
    for i, line in enumerate(np.moveaxis(matrix, axis, 1)):
        exact = exactly(line)
        for which, results in enumerate((ours, theirs)):
            worst[which] = max(worst[which], error(results[i], exact, dtype))
    assert worst[0] <= min(worst[1], 8)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_of_many_draws_it_is_better_than_two_passes(dtype, device):
    ours, theirs = [], []
    for seed in range(30):
        elements = mean_is_large(dtype, (200, 1000, 1500)[seed % 3], seed)
        exact = exactly(elements)
        ours.append(error(gpureduce.var(elements, device=device), exact, dtype))
        theirs.append(error(np.var(elements), exact, dtype))
    assert np.mean(ours) < 0.8 * np.mean(theirs) and max(ours) <= 4


@pytest.mark.filterwarnings("ignore:Degrees of freedom")
@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("there", [False, True])
def test_integers_have_no_nans_to_leave_out(there, device):
    """So that of too few of them NumPy's nan forms say infinity, as the others."""
    a = np.array([[1, 2, 5], [3, 4, 5]])
    given, here = (gpureduce.to_device(a, device), {}) if there else (a, {"device": device})
    for op in ("nanvar", "nanstd", "var", "std"):
        for ddof in (1, 2, 3):
            got = getattr(gpureduce, op)(given, axis=0, ddof=ddof, **here)
            got = got.numpy() if there else got
            np.testing.assert_allclose(got, getattr(np, op)(a, axis=0, ddof=ddof), rtol=1e-15)


def test_one_far_element_among_many_does_no_harm(device):
    """It is the first one, about which a thread that takes columns adds."""
    elements = 1e8 + np.random.default_rng(3).uniform(-1, 1, 5000)
    for far in (0.0, 1e12):
        elements[0] = far
        assert error(gpureduce.var(elements, device=device), exactly(elements), "float64") <= 8
        columns = np.stack([elements, elements[::-1]], 1)
        for got in gpureduce.var(columns, axis=0, device=device):
            assert error(got, exactly(elements), "float64") <= 100


def test_a_few_far_elements_of_some_lanes_do_no_harm(device):
    """Lanes of a warp that have nothing else, and about whose points the others would be added up."""
    elements = 1e8 + np.random.default_rng(4).uniform(-1, 1, (1 << 14, 2))
    elements[::8] = np.nan
    elements[:256:8] = 0
    elements = elements.reshape(-1)
    exact = exactly(elements[~np.isnan(elements)])
    assert error(gpureduce.nanvar(elements, device=device), exact, "float64") <= 8
    for got in gpureduce.nanvar(np.stack([elements] * 3), axis=1, device=device):
        assert error(got, exact, "float64") <= 8


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16"])
def test_of_small_integers_the_sums_are_exact(dtype, device):
    limits = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    elements = np.random.default_rng(4).choice(limits, 20_011).astype(dtype)
    exact = exactly(elements.astype(np.int64))
    assert error(gpureduce.var(elements, device=device), exact, "float64") <= 2
    assert error(gpureduce.var(elements[::-1], device=device), exact, "float64") <= 2


def test_sums_of_small_integers_have_more_than_64_bits(device):
    """n Q lies above 2^66 and S^2 below, so that their difference borrows."""
    n, high = 265_248, 132_624
    elements = np.full(n, 32000, np.int16)
    elements[:high] = 32767
    exact = Fraction(767 * 767 * high * (n - high), n * n)
    assert error(gpureduce.var(elements, device=device), exact, "float64") <= 3


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_one_lost_element_shows(axis, device):
    """All elements but one are equal, so that the result is 0 without it."""
    shape = (1 << 12,) if axis is None else (65, 63)
    n = shape[axis or 0]
    for at in (0, 1, n // 2, n - 1):
        elements = np.full(shape, 7.0)
        where = at if axis is None else (at, slice(None)) if axis == 0 else (slice(None), at)
        elements[where] = 8.0
        if axis == 1:
            elements, n = elements, shape[1]
            if at >= n:
                continue
        wanted = Fraction(n - 1, n * n)
        for got in np.atleast_1d(gpureduce.var(elements, axis, device=device)):
            assert error(got, wanted, "float64") <= 16, at


# Against NumPy: every dtype, axis and layout


def layouts(rng, dtype):
    """Arrays of a dtype in some layout, each with axes to reduce."""
    real = rng.normal(3, 20, (12, 9, 22))
    cube = (real + 1j * rng.normal(3, 20, real.shape) if dtype.startswith("complex") else real).astype(dtype)
    for array in (cube, cube[::-1, :, ::2], cube.T, cube[:, 3, 5], cube[..., 1:]):
        for axis in (None, *range(array.ndim), *([(0, 2), (0, 1)] if array.ndim > 2 else [])):
            yield array, axis


def close(got, wanted, dtype):
    """Whether results agree, but for roundings; those of NumPy's halves are as bad as they are."""
    limit = {"float16": 2e-3, "float32": 2e-6, "complex64": 2e-6}.get(dtype, 1e-12)
    return oracle.mismatch_of_form("var", got, wanted) is None and np.allclose(
        got, wanted, rtol=limit, atol=0, equal_nan=True
    )


@pytest.mark.parametrize("dtype", WITHOUT_BFLOAT16)
@pytest.mark.parametrize("op", SPREADS)
def test_as_numpy(op, dtype, device, some):
    rng = np.random.default_rng(5)
    for array, axis in some(list(layouts(rng, dtype)), 4):
        if op.startswith("nan") and array.dtype.kind in "fc":
            array = np.where(rng.random(array.shape) < 0.2, np.nan, array).astype(dtype)
        keepdims = bool(rng.random() < 0.5)
        ddof = rng.choice([0, 1, 0.5])
        where = rng.random(array.shape) < 0.9 if rng.random() < 0.3 else True
        options = {"axis": axis, "ddof": ddof, "keepdims": keepdims, "where": where}
        wide = array.astype(np.float32) if dtype == "float16" else array
        wanted = np.asarray(getattr(np, op)(wide, **options))
        wanted = wanted.astype(dtype)[()] if dtype == "float16" else wanted[()]
        got = getattr(gpureduce, op)(array, device=device, **options)
        assert close(got, wanted, dtype), (array.shape, array.strides, options, got, wanted)


def test_bfloat16(device):
    bfloat16 = oracle.dtype_of("bfloat16")
    if bfloat16 is None:
        pytest.skip("ml_dtypes is not installed")
    array = np.random.default_rng(6).normal(3, 2, (40, 50)).astype(bfloat16)
    for axis in (None, 0, 1):
        got = gpureduce.var(array, axis, device=device)
        assert got.dtype == bfloat16
        np.testing.assert_allclose(
            np.asarray(got, np.float64), np.var(array.astype(np.float64), axis), rtol=2**-8
        )


@pytest.mark.parametrize("op", SPREADS)
@pytest.mark.parametrize("elements", [
    [], [2.0], [np.nan], [np.nan, 1.0], [np.nan, 1.0, 3.0], [np.inf, 1.0], [np.inf], [-np.inf, np.inf, 2.0],
    [np.nan, np.inf, 1.0, 2.0], [1e200, -1e200, 1e200], [5.0] * 1000, [*range(2000), np.nan],
])  # fmt: skip
@pytest.mark.parametrize("ddof", [0, 1, 2])
def test_odd_elements(op, elements, ddof, device):
    """The same NaNs and infinities, and the same warnings, except a division's of 0 by 0."""
    for dtype in ("float64", "float32"):
        with np.errstate(over="ignore"):
            array = np.array(elements, dtype)
        results, said = [], []
        for library, options in ((np, {}), (gpureduce, {"device": device})):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                results.append(getattr(library, op)(array, ddof=ddof, **options))
            texts = [str(each.message) for each in caught if issubclass(each.category, RuntimeWarning)]
            told = [text for text in texts if "divide" not in text]
            said.append({text.split(" encountered")[0].rstrip(".") for text in told})
        np.testing.assert_allclose(results[1], results[0], rtol=1e-6)
        assert type(results[1]) is type(results[0]) is np.dtype(dtype).type
        assert said[1] == said[0], array


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_nans_among_many_elements(dtype, device):
    """Neither counted, nor a point to add up about, wherever they are: of a turn, a thread, a column."""
    matrix = mean_is_large(dtype, 3001 * 8).reshape(3001, 8)
    for column, nans in enumerate(
        (slice(40), slice(0, None, 3), slice(1, 2998), 1500, slice(7, None, 16), 0)
    ):
        matrix[nans, column] = np.nan
    exact = [exactly(column[~np.isnan(column)]) for column in matrix.T]
    lines = np.ascontiguousarray(matrix.T)
    results = [
        gpureduce.nanvar(matrix, axis=0, device=device),
        gpureduce.nanvar(lines, axis=1, device=device),
    ]
    results.append([gpureduce.nanvar(line, device=device) for line in lines])
    results.append([*exact[:1], *gpureduce.nanvar(matrix[:, 1:7], axis=0, device=device), *exact[7:]])
    for got in results:
        worst = max(error(one, wanted, dtype) for one, wanted in zip(got, exact, strict=True))
        assert worst <= (8 if dtype == "float64" else 2)
    np.testing.assert_array_equal(
        np.isnan(gpureduce.var(matrix, axis=0, device=device)), [True] * 6 + [False] * 2
    )
    matrix[2000, 6] = np.inf
    with np.errstate(invalid="ignore"):
        assert np.isnan(gpureduce.nanvar(matrix, axis=0, device=device)).tolist() == [False] * 6 + [
            True,
            False,
        ]
        assert np.isnan(gpureduce.nanvar(matrix[:, 6], device=device))


def test_axes_of_no_elements_and_too_few_under_a_mask(device):
    with pytest.warns(RuntimeWarning, match="Degrees of freedom <= 0"):
        assert np.isnan(gpureduce.var(np.empty((3, 0)), axis=1, device=device)).all()
    assert gpureduce.var(np.empty((0, 3)), axis=1, device=device).shape == (0,)
    mask = np.array([[True, True, True], [True, False, False]])
    with pytest.warns(RuntimeWarning, match="Degrees of freedom <= 0"):
        got = gpureduce.var(np.arange(6.0).reshape(2, 3), axis=1, ddof=1, where=mask, device=device)
    np.testing.assert_array_equal(got, [1.0, np.nan])
    assert gpureduce.var(np.float32(3), device=device) == 0
    with pytest.raises(np.exceptions.AxisError):
        gpureduce.var(np.float32(3), axis=0, device=device)


def test_arguments(device):
    array = np.arange(12.0).reshape(3, 4) ** 2
    out = np.empty(4, np.float32)
    assert gpureduce.var(array, 0, out=out, device=device) is out
    np.testing.assert_allclose(out, np.var(array, 0), rtol=1e-6)
    assert gpureduce.var(array, correction=1, device=device) == gpureduce.var(array, ddof=1, device=device)
    assert gpureduce.var(array, dtype=np.float32, device=device).dtype == np.float32
    assert gpureduce.var(array, dtype=np.complex64, device=device) == np.complex64(np.var(array))
    assert gpureduce.var(array, 0, np.float64, None, 1, True, device=device).shape == (1, 4)
    got = gpureduce.std(array, axis=0, as_device=True, device=device)
    assert isinstance(got, gpureduce.DeviceArray)
    np.testing.assert_allclose(got.numpy(), np.std(array, 0), rtol=1e-15)
    there = gpureduce.to_device(array.astype(np.float32), device)
    place = gpureduce.to_device(np.zeros(3, np.float32), device)
    assert gpureduce.var(there, 1, out=place) is place
    np.testing.assert_allclose(place.numpy(), np.var(array, 1), rtol=1e-6)
    for wrong in ({"correction": 1, "ddof": 2}, {"variant": "v7"}):
        with pytest.raises(ValueError):
            gpureduce.var(array, device=device, **wrong)
    for wrong in ({"dtype": np.int64}, {"dtype": ">f8"}, {"ddof": "1"}):
        with pytest.raises((TypeError, Exception)):
            gpureduce.var(array, device=device, **wrong)


def test_several_devices_have_exact_states(device):
    array = mean_is_large("float64", 500).reshape(20, 25)
    got = gpureduce.std(array, axis=1, ddof=1, keepdims=True, device=[device])
    np.testing.assert_allclose(got, np.std(array, axis=1, ddof=1, keepdims=True), rtol=1e-14)
    with pytest.raises(TypeError, match="device: expected str"):
        gpureduce.nanvar(array, device=[device])


@pytest.mark.parametrize("op", SPREADS)
def test_a_number_on_a_device_about_a_mean_that_is_given(op, device):
    a = np.array([1.0, 2.0, 6.0])
    result = getattr(gpureduce, op)(a, mean=2.0, as_device=True, device=device)
    assert result.shape == () and result.item() == pytest.approx(
        (17 / 3) ** (0.5 if "std" in op else 1), rel=1e-15
    )


@pytest.mark.parametrize("op", SPREADS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "complex128"])
def test_a_mean_that_is_given(op, dtype, device):
    if op.startswith("nan") and dtype == "complex128":
        with pytest.raises(TypeError, match="not supported for complex elements"):
            gpureduce.nanvar(np.ones(3, dtype), mean=0.0, device=device)
        return
    rng = np.random.default_rng(8)
    real = rng.normal(100, 3, (30, 40))
    array = (real + 1j * rng.normal(0, 2, real.shape) if dtype == "complex128" else real).astype(dtype)
    for axis in (None, 0, 1):
        for point in (array.mean(axis, keepdims=True), 90.0):
            options = {
                "axis": axis,
                "ddof": 1,
                "mean": np.asarray(point, array.dtype) if dtype != "int16" else point,
            }
            wanted = getattr(np, op)(array, **options)
            got = getattr(gpureduce, op)(array, device=device, **options)
            np.testing.assert_allclose(got, wanted, rtol=1e-12 if dtype != "float32" else 1e-5)
    with pytest.raises(ValueError, match="broadcast"):
        getattr(gpureduce, op)(array, axis=0, mean=np.zeros(3), device=device)


def test_an_array_of_the_host_travels_in_chunks(device):
    """Each launch begins with the State of those before it."""
    elements = mean_is_large("float32", 3 << 20)
    assert gpureduce.var(elements, device=device) == pytest.approx(
        np.var(elements.astype(np.float64)), rel=1e-7
    )


# Moments


def moments_of(elements):
    """Mean, variance, skewness and kurtosis of elements along the first axis, in extended precision."""
    wide = elements.astype(np.longdouble)
    apart = wide - wide[0]  # or the mean of large elements would lack digits
    ahead = apart.mean(0)
    second, third, fourth = (((apart - ahead) ** k).mean(0) for k in (2, 3, 4))
    return wide[0] + ahead, second, third / second**1.5, fourth / second**2 - 3


@pytest.mark.parametrize(
    "dtype", [name for name in oracle.DTYPES if "complex" not in name and name != "bfloat16"]
)
def test_moments(dtype, device):
    rng = np.random.default_rng(9)
    array = (rng.gamma(2, 4, (501, 17)) + 20).astype(dtype)
    array.reshape(-1)[0] = 0  # bools differ, too
    limit = {"float16": 4e-3, "float32": 2e-6}.get(dtype, 1e-11)
    flat = gpureduce.moments(array, device=device)
    along = gpureduce.moments(array, axis=0, device=device)
    across = gpureduce.moments(array.T, axis=1, keepdims=True, device=device)
    assert flat.count == array.size and (along.count == 501).all() and across.var.shape == (17, 1)
    with np.errstate(all="ignore"):
        wanted = moments_of(array)
        whole = moments_of(array.reshape(-1))
    for name, columns, every in zip(("mean", "var", "skewness", "kurtosis"), wanted, whole, strict=True):
        found = getattr(along, name)
        assert found.dtype == gpureduce.var(array, device=device).dtype
        np.testing.assert_allclose(found, columns.astype(float), rtol=limit, atol=limit)
        np.testing.assert_allclose(getattr(across, name)[:, 0], columns.astype(float), rtol=limit, atol=limit)
        np.testing.assert_allclose(getattr(flat, name), float(every), rtol=limit, atol=limit)


def test_moments_about_a_large_mean(device):
    elements = 1e8 + np.random.default_rng(10).gamma(2, 1, 30_000)
    wide = elements.astype(np.longdouble)
    found = gpureduce.moments(elements, device=device)
    assert error(found.var, exactly(elements), "float64") <= 3
    for got, wanted in zip(found[1:], moments_of(wide), strict=True):
        assert got == pytest.approx(float(wanted), rel=1e-13)


def test_orders_and_conventions(device):
    elements = [1.0, 2.0, 6.0, 9.0, 1.5]
    found = gpureduce.moments(elements, order=2, ddof=1, device=device)
    assert found[:3] == (5, pytest.approx(3.9), pytest.approx(np.var(elements, ddof=1)))
    assert found[3:] == (None, None)
    assert gpureduce.moments(elements, order=1, device=device)[1:] == (pytest.approx(3.9), None, None, None)
    plain = gpureduce.moments(elements, device=device)
    assert plain[3:] == (pytest.approx(SKEW), pytest.approx(KURTOSIS))
    better = gpureduce.moments(elements, bias=False, device=device)
    assert better[3:] == (pytest.approx(SKEW_OF_SAMPLE), pytest.approx(KURTOSIS_OF_SAMPLE))
    pearson = gpureduce.moments(elements, fisher=False, device=device).kurtosis
    assert pearson == pytest.approx(plain.kurtosis + 3)
    for wrong in ({"order": 5}, {"order": 0}, {"nan_policy": "raise"}, {"variant": "v7"}):
        with pytest.raises(ValueError):
            gpureduce.moments(elements, device=device, **wrong)
    with pytest.raises(TypeError, match="complex128"):
        gpureduce.moments([1j], device=device)


def test_moments_of_odd_elements(device):
    elements = [1.0, np.nan, 4.0, 2.0]
    assert np.isnan(gpureduce.moments(elements, device=device)[1:]).all()
    left = gpureduce.moments(elements, nan_policy="omit", device=device)
    assert left.count == 3 and left.mean == pytest.approx(7 / 3)
    equal = gpureduce.moments(np.full(1000, 3.7), device=device)
    assert equal[:3] == (1000, 3.7, 0) and np.isnan(equal[3:]).all()
    with pytest.warns(RuntimeWarning, match="Degrees of freedom"):
        assert np.isnan(gpureduce.moments([], device=device)[1:]).all()
    on_device = gpureduce.moments(np.ones((3, 4)), axis=0, as_device=True, device=device)
    assert all(isinstance(each, gpureduce.DeviceArray) and each.shape == (4,) for each in on_device)


def test_moments_of_pieces(device, monkeypatch):
    elements = np.random.default_rng(11).gamma(2, 1, 5000)
    elements[17] = np.nan
    wanted = gpureduce.moments(elements, nan_policy="omit", device=device)
    monkeypatch.setattr(power_sums, "PIECE_BYTES", 8 * 999)
    got = gpureduce.moments(elements, nan_policy="omit", device=device)
    assert got.count == wanted.count == 4999
    np.testing.assert_allclose(got, wanted, rtol=1e-13)
    assert np.isnan(gpureduce.moments(elements, device=device).var)
