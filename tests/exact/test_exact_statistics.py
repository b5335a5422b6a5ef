"""Variances, norms, averages, moments with ``exact=True``: rounded once, for any order, layout and data."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import gpureduce
from gpureduce._reduce import exact, exact_states
from gpureduce._reduce.exact_squares import PowerSums, as_dtype, scaled_squares, variances
from tests.support import exact_reference as reference
from tests.support.exact_reference import DTYPES, dtype_of, rounded, same

KINDS = (reference.plain, reference.any_bits, reference.cancelling, reference.subnormal)


@pytest.fixture
def device(request):
    return request.config.getoption("device")


def fractions_of(array):
    return [Fraction(float(each)) for each in array.reshape(-1)]


def variance_of(array, ddof=0):
    """Return the exact variance of finite elements."""
    each, n = fractions_of(array), array.size
    return (sum(x * x for x in each) - sum(each) ** 2 / n) / (n - Fraction(ddof))


def is_rounded_root(root, square):
    """Return whether a float is the root of a fraction, rounded to nearest."""
    bits = np.asarray(root).view(f"u{np.asarray(root).dtype.itemsize}")
    near = (bits if root == 0 else bits - 1), bits + 1
    below, above = (Fraction(float(each.view(root.dtype))) for each in near)
    middle = Fraction(float(root))
    return (below + middle) ** 2 <= 4 * square <= (middle + above) ** 2


def check(array, got, variance=None, ddof=0):
    """Assert that a function's results are what the exact variance, its root and the norms round to."""
    square = variance_of(array, ddof)
    assert same(got["var"], rounded(square, array.dtype)), got["var"]
    for root, fraction in ((got["std"], square), (got["norm"], sum(x * x for x in fractions_of(array)))):
        if math.isinf(root) or root == 0:
            assert same(root, rounded(Fraction(math.isqrt(int(fraction))), array.dtype))
        else:
            assert is_rounded_root(root, fraction), (root, fraction)
    assert same(got["norm 1"], rounded(sum(map(abs, fractions_of(array))), array.dtype))


def results(array, ddof=0, **options):
    with np.errstate(all="ignore"):
        return {
            "var": gpureduce.var(array, ddof=ddof, exact=True, **options),
            "std": gpureduce.std(array, ddof=ddof, exact=True, **options),
            "norm": gpureduce.norm(array, exact=True, **options),
            "norm 1": gpureduce.norm(array, 1, exact=True, **options),
        }


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", DTYPES)
def test_any_floats_in_any_order(name, kind, device):
    dtype = dtype_of(name)
    rng = np.random.default_rng([DTYPES.index(name), KINDS.index(kind)])
    array = kind(rng, 70, dtype)
    got = results(array, 0.5, device=device)
    check(array, got, ddof=0.5)
    again = results(gpureduce.to_device(rng.permutation(array), device), 0.5)
    assert all(same(again[key], value) for key, value in got.items())


@pytest.mark.parametrize("axis", [0, 1, (0, 2)])
def test_axes_have_the_bits_of_each_row(axis, device):
    rng = np.random.default_rng(3)
    array = reference.cancelling(rng, 4 * 6 * 10, np.dtype(np.float32)).reshape(4, 6, 10)
    axes = axis if isinstance(axis, tuple) else (axis,)
    there = gpureduce.to_device(array, device)
    rows = np.moveaxis(array, axes, range(-len(axes), 0))
    rows = rows.reshape(*rows.shape[: 3 - len(axes)], -1)
    of_rows = [results(row, device=device) for row in rows.reshape(-1, rows.shape[-1])]
    for a in (array, there):
        got = results(a, axis=axis, device=None if a is there else device)
        for key, value in got.items():
            each = np.asarray(value if a is array else value.numpy()).reshape(-1)
            assert same(each, np.array([one[key] for one in of_rows])), key


@pytest.mark.parametrize("on_device", [False, True])
def test_masked_elements_do_not_count(on_device, device):
    rng = np.random.default_rng(4)
    array = rng.standard_normal((3, 50)).astype(np.float32)
    mask = rng.random(array.shape) < 0.5
    array[~mask] = np.nan
    a = gpureduce.to_device(array, device) if on_device else array
    options = {} if on_device else {"device": device}
    got = gpureduce.var(a, axis=1, where=mask, exact=True, **options)
    want = [rounded(variance_of(row[kept]), array.dtype) for row, kept in zip(array, mask, strict=True)]
    assert same(got.numpy() if on_device else got, np.array(want))


def test_chunks_of_a_host_array_and_devices_change_nothing(device, monkeypatch):
    array = reference.cancelling(np.random.default_rng(5), 4000, np.dtype(np.float64))
    whole = results(array, device=device)
    both = gpureduce.var(array, exact=True, device=["sim", "sim"])
    monkeypatch.setattr(exact, "CHUNK_BYTES", 1 << 12)
    assert all(same(each, whole[key]) for key, each in results(array, device=device).items())
    assert same(both, whole["var"])


def test_complex_numbers_and_integers(device):
    rng = np.random.default_rng(6)
    parts = reference.cancelling(rng, 60, np.dtype(np.float32)).reshape(2, -1)
    array = np.empty(30, np.complex64)
    array.real, array.imag = parts
    want = sum(variance_of(part) for part in parts)
    with np.errstate(over="ignore"):
        assert same(gpureduce.var(array, exact=True, device=device), rounded(want, parts.dtype))
    square = sum(x * x for x in fractions_of(parts))
    assert is_rounded_root(gpureduce.norm(array, exact=True, device=device), square)
    integers = rng.integers(-(2**31), 2**31, 50)
    for a in (integers, gpureduce.to_device(integers, device)):
        options = {"device": device} if a is integers else {}
        got = gpureduce.var(a, ddof=1, exact=True, **options)
        assert same(got, rounded(variance_of(integers, 1), np.dtype(np.float64)))


def test_infinities_nans_and_nothing(device):
    for bad, norm in ((np.inf, np.inf), (-np.inf, np.inf), (np.nan, np.nan)):
        got = results(np.array([1, bad, 2], np.float32), device=device)
        assert np.isnan(got["var"]) and np.isnan(got["std"])
        assert same(got["norm"], np.float32(norm)) and same(got["norm 1"], np.float32(norm))
    assert gpureduce.norm(np.zeros((0, 2)), axis=0, exact=True, device=device).tolist() == [0, 0]
    with pytest.warns(RuntimeWarning, match="Degrees of freedom"), np.errstate(all="ignore"):
        assert np.isnan(gpureduce.var(np.zeros(1), ddof=1, exact=True, device=device))
    assert gpureduce.norm([3, -4, 0], 0, exact=True, device=device) == 2
    assert gpureduce.norm([3, -4, 0], -np.inf, exact=True, device=device) == 0


def test_refused(device):
    with pytest.raises(ValueError, match="ord: exact=True supports 0, 1, 2, inf, -inf of float64, got 3"):
        gpureduce.norm([1.0], 3, exact=True, device=device)
    with pytest.raises(ValueError, match="ord: exact=True supports 0, 2 of complex128, got 1"):
        gpureduce.norm([1j], 1, exact=True, device=device)
    with pytest.raises(TypeError, match="mean: not supported with exact=True"):
        gpureduce.var([1.0], mean=1, exact=True, device=device)
    for function in (gpureduce.var, gpureduce.std, gpureduce.norm):
        with pytest.raises(TypeError, match="exact: expected a bool"):
            function([1.0], exact=np.zeros(2), device=device)


@pytest.mark.parametrize("name", [*DTYPES, "complex64", "complex128"])
def test_the_core_rounds_as_python_does(name):
    """Variances, roots and norms of states with digits anywhere, some of few elements or near a tie."""
    dtype, rng = dtype_of(name), np.random.default_rng(11)
    form = exact_states.real(dtype)
    sizes = (exact_states.size_of_sum(dtype), exact_states.size_of_products(dtype))
    n, parts = 150, exact_states.parts(dtype)
    counts = rng.integers(1, 2 ** rng.integers(1, 62, n), dtype=np.uint64)
    sums = np.zeros((n, parts, sizes[0].words), np.int64)
    squares = np.zeros((n, 1, sizes[1].words), np.int64)
    for i in range(n):
        count, unit = int(counts[i]), sizes[1].below - 2 * sizes[0].below
        values = [
            int(rng.integers(-(2**62), 2**62)) << int(rng.integers(0, sizes[0].below)) for _ in range(parts)
        ]
        square = -(-sum(value * value for value in values) << unit) // count
        square += (int(rng.integers(0, 2**62)) << int(rng.integers(0, sizes[1].below)) >> 60) * int(i % 5 > 0)
        for words, value in (*zip(sums[i], values, strict=True), (squares[i, 0], square + 1)):
            digits = value.to_bytes(4 * (len(words) - 2), "little", signed=True)
            words[:-2] = np.frombuffer(digits, "<u4")
            words[-3] = np.frombuffer(digits, "<i4")[-1]
    power = PowerSums(counts, sums, squares)
    overs = list(scaled_squares(power, counts.tolist(), dtype))
    below = -sizes[1].below
    for ddof in (0, 1, -3):
        rows = [(over, count * (count - ddof)) for over, count in zip(overs, counts.tolist(), strict=True)]
        for root, finish in ((False, exact_states.quotient), (True, exact_states.root)):
            want = [finish(*row, below, form) if row[1] > 0 else np.inf for row in rows]
            assert same(variances(power, dtype, form, ddof, root), as_dtype(want, form))
    want = [exact_states.root(square, 1, below, form) for square in exact_states.integers(squares)]
    assert same(exact_states.roots(squares, sizes[1], form), as_dtype(want, form))


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_near_ties_the_last_bit_decides(name):
    """A variance and a norm halfway between two numbers, and a bit above that: far behind them or not."""
    form = dtype_of(name)
    sizes = (exact_states.size_of_sum(form), exact_states.size_of_products(form))
    precision, middle = reference.FORMATS[name][0], sizes[1].below // 2 - 40
    tie, count = (1 << precision) + 1, 3
    for (near, far), more in itertools.product(((middle, 0), (63 - precision, middle)), (0, 1)):
        words = np.zeros((2, 1, sizes[1].words), np.int64)
        variance = (count * tie << 2 * near) + more << 2 * far
        square = (tie << near) ** 2 + more << 2 * (far - 63 * (far > 0))
        for row, value in zip(words[:, 0], (variance, square), strict=True):
            row[:-2] = np.frombuffer(value.to_bytes(4 * (len(row) - 2), "little"), "<u4")
        power = PowerSums(np.array([count], np.uint64), np.zeros((1, 1, sizes[0].words), np.int64), words[:1])
        want = exact_states.quotient(variance, count, -sizes[1].below, form)
        assert same(variances(power, form, form, 0, False), as_dtype([want], form))
        want = exact_states.root(square, 1, -sizes[1].below, form)
        assert 0 < want < math.inf and same(
            exact_states.roots(words[1:], sizes[1], form), as_dtype([want], form)
        )


def quotient_of(array, weights):
    """Return the exact weighted average."""
    products = [x * w for x, w in zip(fractions_of(array), fractions_of(weights), strict=True)]
    return sum(products) / sum(fractions_of(weights))


@pytest.mark.parametrize("name", DTYPES)
def test_averages(name, device):
    """Quotients of exact sums, for weights of all elements and of an axis, in any order."""
    dtype, rng = dtype_of(name), np.random.default_rng(7)
    for kind in KINDS:
        array, weights = (kind(rng, 40, dtype).reshape(2, -1) for _ in range(2))
        want = [rounded(quotient_of(*rows), dtype) for rows in zip(array, weights, strict=True)]
        with np.errstate(all="ignore"):
            got, total = gpureduce.average(array, 1, weights, True, exact=True, device=device)
        assert same(got, np.array(want)) and same(total, gpureduce.sum(weights, 1, exact=True, device=device))
        there, others = (gpureduce.to_device(each[:, ::-1], device) for each in (array, weights))
        assert same(gpureduce.average(there, 1, others, exact=True).numpy(), got)
        with np.errstate(all="ignore"):
            got = gpureduce.average(array, 1, weights[0], exact=True, device=device)
        assert same(got, np.array([rounded(quotient_of(row, weights[0]), dtype) for row in array]))


def test_averages_of_complex_numbers_and_specials(device):
    rng = np.random.default_rng(8)
    parts = [[Fraction(float(x)) for x in rng.standard_normal(9)] for _ in range(4)]
    a, b, c, d = (np.array(list(map(float, part))) for part in parts)
    got = gpureduce.average(a + 1j * b, weights=c + 1j * d, exact=True, device=device)
    real = sum(x * z - y * w for x, y, z, w in zip(*parts, strict=True))
    imag = sum(x * w + y * z for x, y, z, w in zip(*parts, strict=True))
    c, d = sum(parts[2]), sum(parts[3])
    want = [each / (c * c + d * d) for each in (real * c + imag * d, imag * c - real * d)]
    assert [got.real, got.imag] == list(map(float, want))
    average = lambda *args: gpureduce.average(*args[:1], weights=args[1], exact=True, device=device)  # noqa: E731
    assert average([np.inf, 1.0], [1.0, 1.0]) == np.inf and np.isnan(average([np.nan, 1.0], [1.0, 1.0]))
    with np.errstate(all="ignore"), pytest.raises(ZeroDivisionError, match="Weights sum to zero"):
        average([1.0, 2.0], [1.0, -1.0])
    assert gpureduce.average([1, 2, 4], exact=True, returned=True, device=device) == (7 / 3, 3)
    assert average([1, 2, 4], [3, 1, 0]) == 1.25


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_moments(name, bias, device):
    if name not in DTYPES:
        pytest.skip("this NumPy has no bfloat16")
    dtype, rng = dtype_of(name), np.random.default_rng(9)
    for kind in KINDS:
        array = kind(rng, 30, dtype)
        with np.errstate(all="ignore"):
            got = gpureduce.moments(array, bias=bias, exact=True, device=device)
            again = gpureduce.moments(gpureduce.to_device(array[::-1], device), bias=bias, exact=True)
        assert all(same(one, other) for one, other in zip(got, again, strict=True))
        each, n = fractions_of(array), 30
        mean = sum(each) / n
        second, third, fourth = (sum((x - mean) ** p for x in each) / n for p in (2, 3, 4))
        assert (
            got.count == n and same(got.mean, rounded(mean, dtype)) and same(got.var, rounded(second, dtype))
        )
        square, kurtosis = third**2 / second**3, fourth / second**2
        if not bias:
            square *= Fraction(n * (n - 1), (n - 2) ** 2)
            kurtosis = ((n * n - 1) * kurtosis - 3 * (n - 1) ** 2) / ((n - 2) * (n - 3)) + 3
        assert same(got.kurtosis, rounded(kurtosis - 3, dtype))
        assert is_rounded_root(abs(got.skewness), square) and (got.skewness < 0) == (third < 0)


def test_moments_of_axes_masks_and_chunks(device, monkeypatch):
    rng = np.random.default_rng(10)
    array = reference.cancelling(rng, 4000, np.dtype(np.float32)).reshape(4, -1)
    mask = rng.random(array.shape) < 0.5
    with np.errstate(all="ignore"):
        got = gpureduce.moments(array, 1, where=mask, exact=True, device=device)
        for i, (row, kept) in enumerate(zip(array, mask, strict=True)):
            one = gpureduce.moments(row[kept], exact=True, device=device)
            assert all(same(each[i], single) for each, single in zip(got, one, strict=True))
        whole = gpureduce.moments(array, exact=True, device=device)
        monkeypatch.setattr(exact, "CHUNK_BYTES", 1 << 12)
        again = gpureduce.moments(array, exact=True, device=device)
    assert all(same(one, other) for one, other in zip(whole, again, strict=True))
    integers = rng.integers(-(2**40), 2**40, 50)
    assert same(gpureduce.moments(integers, order=2, exact=True, device=device).var,
                rounded(variance_of(integers), np.dtype(np.float64)))  # fmt: skip
    equal = gpureduce.moments(np.ones(5, np.float32), exact=True, device=device)
    assert equal.var == 0 and np.isnan([equal.skewness, equal.kurtosis]).all()


def test_moments_refused(device):
    with pytest.raises(TypeError, match="order: exact=True supports 1 and 2 of float64, got 4"):
        gpureduce.moments([1.0], exact=True, device=device)
    with pytest.raises(ValueError, match="nan_policy: exact=True requires 'propagate', got 'omit'"):
        gpureduce.moments([1.0], 0, 2, nan_policy="omit", exact=True, device=device)
