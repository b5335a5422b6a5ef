"""Variances, moments and norms over the whole range of exponents, in adversarial orders.

The bounds are those of docs/explanation/variance.md.
"""

import math
from fractions import Fraction
from math import isqrt

import numpy as np
import pytest

import gpureduce
from tests.support import numpy_oracle as oracle

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

DTYPES = ("float64", "float32", "float16", "bfloat16", "complex128", "complex64")
# Of the part of a dtype: its roundoff, the exponents of its largest and smallest magnitudes, and the bound of
# a variance in roundoffs.
LIMITS = {
    "float64": (2.0**-53, 1023, -1074, 24),
    "float32": (2.0**-24, 127, -149, 10),
    "float16": (2.0**-11, 15, -24, 2),
    "bfloat16": (2.0**-8, 50, -50, 2),  # whose squares are added up in float32
}
PARTS = {"complex128": "float64", "complex64": "float32"}
ORDERS = ("spread", "near", "first", "middle", "last", "alternating", "two", "halves")


def draw(rng, n, dtype, order):
    """Real numbers of one order of magnitude, or of all of them, with far ones in some order."""
    _, high, low, _ = LIMITS[dtype]
    base = int(rng.integers(low, high + 1))
    signs = rng.choice([-1.0, 1.0], n)
    if order == "spread":
        exponents = (
            rng.integers(low, high + 1, n) if rng.random() < 0.3 else rng.integers(base - 8, base + 1, n)
        )
        values = [math.ldexp(x, int(e)) for x, e in zip(signs * rng.uniform(1, 2, n), exponents, strict=True)]
    else:
        values = 1 + rng.uniform(-1, 1, n) * 2.0 ** -int(rng.integers(0, 20))
        far = 2.0 ** int(rng.integers(-30, 31)) * rng.choice([-1, 1])
        where = {
            "near": slice(0), "first": slice(1), "middle": slice(n // 2, n // 2 + 1), "last": slice(n - 1, n),
            "alternating": slice(0, None, 2), "two": slice(2), "halves": slice(n // 2),
        }[order]  # fmt: skip
        values[where] += far
        values = [math.ldexp(x, base) if base + 31 < 1024 else math.ldexp(x, base - 31) for x in values]
    limit = (2 - 2 * LIMITS[dtype][0]) * 2.0**high
    return np.clip(values, -limit, limit).astype(oracle.dtype_of(dtype))


def elements_of(rng, n, dtype, order):
    """Elements of a dtype."""
    if dtype not in PARTS:
        return draw(rng, n, dtype, order)
    real, imag = (draw(rng, n, PARTS[dtype], order) for _ in range(2))
    return (real + 1j * imag).astype(dtype)


def parts(elements):
    """Real and imaginary parts as lists of fractions."""
    if elements.dtype.kind == "c":
        return [parts(elements.real)[0], parts(elements.imag)[0]]
    return [[Fraction(float(x)) for x in elements]]


def whole(fractions):
    """The same as integers, and their unit."""
    unit = max(x.denominator for x in fractions)
    return [x.numerator * (unit // x.denominator) for x in fractions], unit


def variance(elements, ddof=0):
    """The variance as a Fraction."""
    total = Fraction(0)
    for part in parts(elements):
        values, unit = whole(part)
        n, first = len(values), sum(values)
        total += Fraction(n * sum(x * x for x in values) - first * first, n * (n - ddof) * unit * unit)
    return total


def root(value):
    """The square root of a Fraction, 2^-100 off at the most, relatively."""
    shift = max(0, 220 - value.numerator.bit_length() - value.denominator.bit_length()) // 2 + 1300
    return Fraction(isqrt((value.numerator << 2 * shift) // value.denominator), 1 << shift)


def is_right(op, got, exact, dtype):
    """Whether a variance or a standard deviation is within the bound."""
    unit, high, low, bound = LIMITS[PARTS.get(dtype, dtype)]
    largest = Fraction(2 - unit) * Fraction(2) ** high
    slack = Fraction(bound * unit)
    # Squares are multiples of the smallest number of their dtype, as in NumPy.
    smallest = 4 * Fraction(2) ** (-1074 if PARTS.get(dtype, dtype) == "float64" else -149)
    lower, upper = max(exact * (1 - slack) - smallest, 0), exact * (1 + slack) + smallest
    if op.endswith("std") and PARTS.get(dtype, dtype) == "float64" and upper > largest:
        return float(got) == math.inf or lower <= largest  # as NumPy, which takes the root of infinity
    if op.endswith("std"):
        lower, upper = root(lower), root(upper)
    step = Fraction(2) ** low
    lower, upper = lower * (1 - Fraction(unit)) - step, upper * (1 + Fraction(unit)) + step
    if not np.isfinite(float(got)):
        return float(got) == math.inf and upper > largest
    return lower <= Fraction(float(got)) <= upper


def with_nans(rng, elements):
    """The same with NaNs, and what is left without them: two at least."""
    is_nan = rng.random(len(elements)) < 0.3
    is_nan[:2] = rng.permutation([True, False])
    is_nan[-2:] = False
    elements = elements.copy()
    elements[is_nan] = np.nan
    return elements, elements[~is_nan]


@pytest.fixture
def cases(exhaustive):
    return 40 if exhaustive else 2


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_variances_of_all_exponents(dtype, order, device, cases):
    if oracle.dtype_of(dtype) is None:
        pytest.skip("ml_dtypes is not installed")
    rng = np.random.default_rng([DTYPES.index(dtype), ORDERS.index(order)])
    for case in range(cases):
        n = int(rng.choice([2, 3, 9, 40, 333]))
        lines = [elements_of(rng, n, dtype, order) for _ in range(3)]
        for op in ("var", "std") if case % 2 else ("nanvar", "nanstd"):
            given, left = lines, lines
            if op.startswith("nan"):
                given, left = zip(*[with_nans(rng, line) for line in lines], strict=True)
            exact = [variance(line) for line in left]
            rows, reduce = np.stack(given), getattr(gpureduce, op)
            columns = np.ascontiguousarray(rows.T)
            results = {
                "whole": [reduce(line, device=device) for line in given],
                "rows": reduce(rows, axis=1, device=device),
                "columns": reduce(columns, axis=0, device=device),
                "strided": reduce(np.repeat(rows, 2, axis=1)[:, ::2], axis=1, device=device),
            }
            if op in ("var", "std") and dtype not in PARTS:
                flat, starts = np.concatenate(given), np.arange(4) * n
                results["segments"] = gpureduce.segment_reduce(flat, starts, op, device=device)
                labels = np.repeat(np.arange(3), n)
                results["groups"] = gpureduce.group_reduce(flat, labels, op, 3, device=device)
            for layout, got in results.items():
                for one, wanted, line in zip(got, exact, given, strict=True):
                    assert is_right(op, one, wanted, dtype), (op, layout, line, one, float_of(wanted))


def float_of(value):
    try:
        return float(value)
    except OverflowError:
        return math.inf


@pytest.mark.parametrize("order", ORDERS)
def test_moments_of_all_exponents(order, device, cases):
    rng = np.random.default_rng(ORDERS.index(order))
    for _ in range(cases):
        n = int(rng.choice([3, 9, 40, 333]))
        lines = [draw(rng, n, "float64", order) for _ in range(3)]
        given, left = zip(*[with_nans(rng, line) for line in lines], strict=True)
        rows = np.stack(given)
        for there in (False, True):
            array = gpureduce.to_device(rows, device) if there else rows
            options = {} if there else {"device": device}
            found = gpureduce.moments(array, axis=1, nan_policy="omit", **options)
            along = gpureduce.moments(array.T, axis=0, nan_policy="omit", **options)
            for i, line in enumerate(left):
                for result in (found, along):
                    check_moments([(part.numpy() if there else part)[i] for part in result], line)
        check_moments(gpureduce.moments(left[0], device=device), left[0])


def check_moments(found, line):
    """Compare moments with exact ones."""
    count, mean, var, skewness, kurtosis = found
    values, unit = whole(parts(line)[0])
    n, total = len(values), sum(values)
    apart = [n * x - total for x in values]  # n times, exactly
    second, third, fourth = (sum(x**k for x in apart) for k in (2, 3, 4))
    assert count == n
    largest = max(abs(x) for x in values)
    assert abs(Fraction(float(mean)) - Fraction(total, n * unit)) <= (
        Fraction(4 * n + 8) * Fraction(largest, unit) * Fraction(2.0**-53) / 8 + Fraction(2) ** -1074
    )
    assert is_right("var", var, Fraction(second, n**3 * unit * unit), "float64"), (line, var)
    if second == 0:
        return
    # Cubes and fourth powers are off by a few roundoffs of the sums of magnitudes.
    scale = root(Fraction(second) ** 3)
    wanted = Fraction(third) * root(Fraction(n)) / scale
    assert float(skewness) == pytest.approx(float(wanted), rel=1e-13, abs=1e-13 * n), line
    wanted = Fraction(n * fourth, second**2) - 3
    assert float(kurtosis) == pytest.approx(float(wanted), rel=1e-13, abs=1e-13 * n), line


def test_variances_near_the_largest_double(device):
    a = np.array([7e153, -7e153, 0, 0])
    for op, ddof, wanted in (
        ("var", 0, 2.45e307),
        ("nanvar", 1, 9.8e307 / 3),
        ("std", 0, math.sqrt(2.45e307)),
    ):
        assert getattr(gpureduce, op)(a, ddof=ddof, device=device) == pytest.approx(wanted, rel=1e-15)
    b = np.zeros((1024, 4))
    b[0] = 6e153
    exact = float(variance(b[:, 0]))
    assert exact == pytest.approx(3.5e304, rel=0.01)
    for got in (
        gpureduce.var(b, axis=0, device=device),
        gpureduce.var(b.T, axis=1, device=device),
        gpureduce.var(b + 1j * b, axis=0, device=device) / 2,
        gpureduce.var(b, axis=0, mean=b.mean(0, keepdims=True), device=device),
    ):
        np.testing.assert_allclose(got, exact, rtol=1e-14)
    got = gpureduce.segment_reduce(b[:, 0], [0, 1024], "var", device=device)
    assert got[0] == pytest.approx(exact, rel=1e-14)
    for op in ("var", "nanvar", "std", "nanstd"):
        assert getattr(gpureduce, op)(np.array([1e308, -1e308]), device=device) == math.inf
    assert gpureduce.segment_reduce([1e308, -1e308], [0, 2], "var", device=device)[0] == math.inf
    equal = np.full(3000, 1.7e308)
    assert gpureduce.var(equal, device=device) == 0
    assert np.isnan(gpureduce.var(np.append(a, np.inf), device=device))


def test_moments_at_both_ends(device):
    found = gpureduce.moments(np.array([1.2e308, -0.7e308]), device=device)
    assert found.mean == pytest.approx(0.25e308, rel=1e-15) and found.var == math.inf
    for scale in (1e102, 1e300, 1e-80, 1e-160, 1e-300):
        a = np.array([1.0, 2.0, 6.0, 9.0, 1.5]) * scale
        found, plain = (gpureduce.moments(each, device=device) for each in (a, a / scale))
        assert found.skewness == pytest.approx(plain.skewness, rel=1e-13)
        assert found.kurtosis == pytest.approx(plain.kurtosis, rel=1e-13)
        assert found.mean == pytest.approx(3.9 * scale, rel=1e-15)
    zeros = gpureduce.moments(np.zeros((4, 3)), axis=0, device=device)
    assert (zeros.var == 0).all() and np.isnan(zeros.skewness).all()
    mask = np.array([True, True, False])
    masked = gpureduce.moments(np.array([[1e200, 3e200, 7.0]] * 2), axis=1, where=mask, device=device)
    np.testing.assert_allclose(masked.mean, 2e200, rtol=1e-15)
    np.testing.assert_allclose(masked.kurtosis, -2, rtol=1e-13)


@pytest.mark.parametrize("axis", [0, 1])
def test_far_rows_among_many_are_within_the_bound(axis, device):
    """Far elements come first, last, in the middle, by turns, and in the first rows together."""
    rng, n = np.random.default_rng(7), 4096
    places = (slice(1), slice(n - 1, n), slice(n // 2, n // 2 + 1), slice(0, None, 2), slice(8), slice(64))
    columns = np.stack([rng.normal(0, 1, n) + 100 for _ in places], axis=1)
    for column, where in zip(columns.T, places, strict=True):
        column[where] += 1e8
    got = gpureduce.var(columns if axis == 0 else np.ascontiguousarray(columns.T), axis, device=device)
    for one, column in zip(got, columns.T, strict=True):
        exact = variance(column)
        assert abs(Fraction(float(one)) - exact) <= 24 * exact * Fraction(2.0**-53)


def test_columns_of_one_thread_are_within_the_bound(device):
    """So wide that a thread reduces whole columns, whose first rows are far from the mean."""
    rows = np.random.default_rng(7).normal(0, 1, (256, 49152)) + 100
    rows[:8] += 1e8
    got = gpureduce.var(rows, 0, device=device)
    for j in range(0, rows.shape[1], 2048):
        exact = variance(rows[:, j])
        assert abs(Fraction(float(got[j])) - exact) <= 24 * exact * Fraction(2.0**-53)


def test_norms_at_the_limits_of_orders(device):
    """Empty vectors, orders about 0, and orders of which powers have no bits left for fractions."""
    for order, elements, wanted in (
        (-1, [], np.inf), (-0.5, [], np.inf), (0.5, [], 0), (1e-310, [3, 4], np.inf),
        (5e-324, [3, 4], np.inf),
        (-1e-310, [3, 4], 0), (-5e-324, [0.5, 0.25], 0), (1e-310, [0.0, 0.0], 0),
    ):  # fmt: skip
        assert gpureduce.norm(np.array(elements, float), order, device=device) == wanted, (order, elements)
    for order in (1e12, 1e13, 1e15, 1e16, 1e17, 1e19, 1e300, 1.7e308):
        for elements in ([1e308, 1e308], [3.0, 4.0], [4.0, 4 - 2**-50, 1.0], [5e-324, 1e-320], [7.0] * 1000):
            for sign, ends in ((1, max), (-1, min)):
                got = gpureduce.norm(np.array(elements), sign * order, device=device)
                top = ends(elements)
                powers = [math.exp(sign * order * math.log1p((x - top) / top)) for x in elements]
                assert got == pytest.approx(top * math.fsum(powers) ** (sign / order), rel=4e-15, abs=0)
        assert gpureduce.norm([1.0, np.inf, np.inf], order, device=device) == np.inf
        assert gpureduce.norm([1.0, np.inf, 2.0], -order, device=device) == pytest.approx(1, rel=1e-15)
        assert gpureduce.norm([0.0, np.inf, 0.0], -order, device=device) == 0
        assert np.isnan(gpureduce.norm([1.0, np.nan], order, device=device))


def test_complex_products_of_infinities_are_not_finite(device):
    for a in ([complex(-3, np.inf)], [1 + 1j, complex(np.nan, 1)], [complex(np.inf, 0), 2j, 1]):
        assert not np.isfinite(gpureduce.prod(np.array(a), device=device))
