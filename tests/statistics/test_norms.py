"""Norms and sums of exponentials, against exact arithmetic and SciPy; and the reductions made of others."""

import math
from fractions import Fraction

import numpy as np
import pytest

import gpureduce
from tests.support import float_cases
from tests.support import numpy_oracle as oracle
from tests.support.float_cases import plain

ORDERS = [None, 0, 1, 2, np.inf, -np.inf, 3, 0.5, -1, 2.5, 40]
REALS = oracle.FLOATS


def exact_root(squares):
    """The root of a Fraction, to 60 bits."""
    if squares == 0:
        return Fraction(0)
    shift = 240 + 2 * max(0, squares.denominator.bit_length() - squares.numerator.bit_length())
    return Fraction(math.isqrt((squares.numerator << shift) // squares.denominator), 1 << shift // 2)


def parts(array):
    """The real numbers of which the elements consist."""
    flat = np.ravel(array)
    flat = np.concatenate([flat.real, flat.imag]) if flat.dtype.kind == "c" else flat
    return [Fraction(float(x)) for x in flat]


@pytest.mark.parametrize("name", float_cases.FLOATS)
@pytest.mark.parametrize("n", [1, 2, 100, 5000])
@pytest.mark.parametrize("size", [1.0, 1e-300, 1e300, "mixed"])
def test_a_euclidean_norm_is_near_the_exact_one(name, n, size, device):
    """Rounded once, of a sum in double, whatever the exponents; complex ones of twice as many numbers."""
    dtype = oracle.dtype_of(name)
    real = np.zeros(1, dtype).real.dtype
    limits = np.finfo(np.float32) if real == oracle.BFLOAT16 else np.finfo(real)
    low, high = math.log2(float(limits.tiny)), math.log2(float(limits.max)) - 0.5 * math.log2(2 * n) - 1
    rng = np.random.default_rng(n)
    exponents = rng.uniform(low, high, n) if size == "mixed" else np.clip(math.log2(size), low, high)
    array = (rng.uniform(1, 1.99, n) * rng.choice([-1, 1], n) * np.exp2(np.floor(exponents))).astype(dtype)
    if dtype.kind == "c":
        array = array + 1j * array[::-1]
    got = float(gpureduce.norm(array.astype(dtype), device=device))
    wanted = exact_root(sum(x * x for x in parts(array)))
    u = oracle.ROUNDOFF[real.name]
    bound = u * (1 + 2.0**-20) if u > 2**-53 else (n / 2 + 6) * 2.0**-53
    assert abs(Fraction(got) - wanted) <= Fraction(bound) * wanted
    if n == 5000:
        long = np.sqrt((np.abs(array.astype(np.clongdouble)) ** 2).sum())
        assert abs(np.longdouble(got) - long) <= 8 * u * long  # far below the bound


@pytest.mark.parametrize("exponent", [483, 484, 485, 486, -449, -450, -451, -452, -512, -540, -1074])
def test_euclidean_norms_where_squares_begin_to_be_scaled(exponent, device):
    """Large and small numbers next to medium ones of much the same size."""
    array = np.ldexp([0.5, 0.75, 1, 1.25, 1.5, 3], exponent)
    wanted = exact_root(sum(x * x for x in parts(array)))
    got = Fraction(float(gpureduce.norm(array, device=device)))
    assert abs(got - wanted) <= 4 * Fraction(2) ** -53 * wanted


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize(
    "low, high", [(-1060, -470), (-470, -455), (-455, -440), (440, 483), (480, 487), (-600, 600)]
)
@pytest.mark.parametrize("few", [0, 1, 40])
def test_euclidean_norms_of_two_sizes(low, high, few, axis, device):
    """Both count where there are many small ones to each large one, in whatever threads they are."""
    rng = np.random.default_rng(few)
    array = np.ldexp(rng.uniform(-2, 2, (80, 90)), low)
    places = rng.permutation(array.size)[: few * 80]
    array.flat[places] = np.ldexp(rng.uniform(-2, 2, len(places)), high)
    array[rng.random(array.shape) < 0.2] = 0
    got = gpureduce.norm(array, axis=axis, device=device)
    lines = (
        [array] if axis is None else [array[i] if axis else array[:, i] for i in range(array.shape[1 - axis])]
    )
    for one, line in zip(np.ravel(got), lines, strict=True):
        wanted = exact_root(sum(Fraction(x) ** 2 for x in line.ravel()[line.ravel() != 0]))
        assert abs(Fraction(float(one)) - wanted) <= 8 * Fraction(2) ** -53 * wanted + Fraction(2) ** -1074


@pytest.mark.parametrize("n", [1, 9, 5000])
def test_norms_of_nans_and_infinities_among_all_sizes(n, device):
    """Zeros alone are 0; a NaN makes NaN, and an infinity without one infinity."""
    sizes = np.ldexp(np.resize([1.0, -1.5, 0.0], n), np.resize([-1050, -460, 0, 300, 490, 1000], n))
    for zeros in (np.zeros(n), -np.zeros(n)):
        assert gpureduce.norm(zeros, device=device) == 0
    for place in {0, n // 2, n - 1}:
        array = sizes.copy()
        array[place] = -np.inf
        assert gpureduce.norm(array, device=device) == np.inf
        array[-1 - place] = np.nan
        assert np.isnan(gpureduce.norm(array, device=device))


@pytest.mark.parametrize("order", ORDERS)
def test_norms_of_any_layout(order, device, exhaustive):
    for seed in range(500 if exhaustive else 24):
        rng = np.random.default_rng(seed)
        array, axis = float_cases.case(rng, nans=0.0, specials=False)
        keepdims = bool(rng.random() < 0.3)
        if order is not None and order < 0:
            array = np.where(array == 0, array.dtype.type(1), array)
        there = rng.random() < 0.4
        given = gpureduce.to_device(array, device) if there else array
        got = plain(gpureduce.norm(given, order, axis, keepdims, device=None if there else device))
        sizes = np.abs(array.astype(np.clongdouble)).astype(np.longdouble)
        real = array.real.dtype
        u = oracle.ROUNDOFF[real.name]
        with np.errstate(all="ignore"):
            if order in (np.inf, -np.inf):
                wanted = (np.max if order > 0 else np.min)(sizes, axis, keepdims=keepdims)
            elif order == 0:
                wanted = (sizes != 0).sum(axis, keepdims=keepdims)
            else:
                p = np.longdouble(2 if order is None else order)
                wanted = (sizes**p).sum(axis, keepdims=keepdims) ** (1 / p)
            wanted = np.asarray(wanted, np.longdouble)
            if real != oracle.BFLOAT16:
                wanted = np.where(wanted > np.finfo(real).max, np.inf, wanted)
        allowed = u * 1.01 + (array.size + 10) * 2.0**-53 * max(1, 1 / abs(order or 2))
        assert got.dtype == real and got.shape == wanted.shape
        wide = np.asarray(got).astype(np.longdouble)
        tiny = 2.0**-24 if real == np.float16 else 0
        near = (wide == wanted) | (np.abs(wide - wanted) <= allowed * wanted + tiny)
        assert near.all(), (array, axis, got, wanted)
        if (
            np.isfinite(wanted).all()
            and array.dtype.kind != "V"
            and not isinstance(axis, tuple)
            and not there
        ):
            with np.errstate(all="ignore"):
                numpys = np.linalg.norm(
                    array.ravel() if axis is None else array, order, 0 if axis is None else axis
                )
            assert got.dtype == numpys.dtype


@pytest.mark.parametrize("order", [1, 2, np.inf, 3, 20, -3])
@pytest.mark.parametrize("exponent", [-1030, -700, -1, 700, 1018])
def test_no_order_over_or_underflows(order, exponent, device):
    for dtype in (np.float64, np.complex128):
        array = np.array([3, 5, 1, 2], dtype)  # whose powers have exponents that no order divides
        scaled = np.ldexp(array.real, exponent).astype(dtype)
        got = np.ldexp(gpureduce.norm(scaled, order, device=device), -exponent)
        wanted = np.linalg.norm(array, order)
        assert abs(got - wanted) <= (2**-43 if exponent < -1000 else 2**-50) * wanted


@pytest.mark.parametrize("order", ORDERS)
def test_special_elements_of_norms(order, device):
    for array in ([np.nan, 1.0], [np.inf, 1.0], [-np.inf, 0.0], [0.0, 0.0], [-0.0], [5e-324, 0.0]):
        with np.errstate(all="ignore"):
            wanted = np.linalg.norm(array, order)
        got = gpureduce.norm(np.array(array), order, device=device)
        assert got == wanted or (np.isnan(got) and np.isnan(wanted)) or array[0] == 5e-324, (
            array,
            got,
            wanted,
        )
        if array[0] == 5e-324 and (order is None or order > 0):
            assert got == 5e-324
    if order == -np.inf:
        with pytest.raises(ValueError, match="zero-size"):
            gpureduce.norm(np.zeros(0), order, device=device)
    elif order is None or order >= 0:
        assert gpureduce.norm(np.zeros((0, 2)), order, 0, device=device).tolist() == [0, 0]


def test_norms_refuse_bad_arguments(device):
    for order in ("fro", np.nan):
        with pytest.raises(ValueError, match="ord"):
            gpureduce.norm([1.0], order, device=device)
    assert gpureduce.norm([3, 4], device=device) == 5  # host integers
    with pytest.raises(TypeError, match="convert it before"):
        gpureduce.norm(gpureduce.to_device(np.array([3, 4]), device))


# ---- sums of exponentials ----


def test_logarithms_of_sums_are_scipys(device, exhaustive):
    special = pytest.importorskip("scipy.special")
    for seed in range(3000 if exhaustive else 150):
        rng = np.random.default_rng(seed)
        array, axis = float_cases.case(rng, REALS, nans=rng.choice([0, 0, 0.1]))
        array = (array * array.dtype.type(rng.choice([1, 1, 30]))).astype(array.dtype)
        keepdims = bool(rng.random() < 0.3)
        there = rng.random() < 0.4
        given = gpureduce.to_device(array, device) if there else array
        got = plain(gpureduce.logsumexp(given, axis, keepdims=keepdims, device=None if there else device))
        wide = array.astype(np.float64)
        with np.errstate(all="ignore"):
            wanted = np.asarray(special.logsumexp(wide, axis=axis, keepdims=keepdims))
        wanted = wanted if array.ndim else wanted.reshape(())  # SciPy makes one dimension of none
        assert got.dtype == array.dtype and got.shape == wanted.shape
        u = oracle.ROUNDOFF[array.dtype.name]
        here = np.asarray(got).astype(np.float64)
        # The sum has a relative error of a few units, which is an absolute one of its logarithm.
        allowed = 2 * u * np.abs(wanted) + (2.0**-22 if u > 2.0**-53 else 2.0**-51 * (8 + array.size**0.5))
        with np.errstate(invalid="ignore"):
            same = (here == wanted) | (np.isnan(here) & np.isnan(wanted)) | (np.abs(here - wanted) <= allowed)
        assert same.all(), (array, axis, got, wanted)


@pytest.mark.parametrize(
    "array, wanted",
    [
        ([], -np.inf), ([-np.inf] * 3, -np.inf), ([np.inf, 1], np.inf), ([np.inf, -np.inf], np.inf),
        ([np.inf] * 2, np.inf), ([np.nan, 1], np.nan), ([np.nan, np.inf], np.nan), ([0, -50], math.exp(-50)),
        ([0, -600], math.exp(-600)), ([1e308] * 2, 1e308), ([-1000], -1000),
        ([-1000] * 2, -1000 + math.log(2)), ([-np.inf, -np.inf, 0], 0), ([-800, 0], 0),
    ],
)  # fmt: skip
def test_corners_of_logarithms_of_sums(array, wanted, device):
    got = gpureduce.logsumexp(np.array(array, float), device=device)
    assert got == pytest.approx(wanted, rel=1e-15, abs=0, nan_ok=True)
    rows = np.zeros((len(array), 3)) + np.array(array, float)[:, None]
    assert list(gpureduce.logsumexp(rows, 0, device=device)) == pytest.approx(
        [wanted] * 3, rel=1e-15, nan_ok=True
    )


@pytest.mark.parametrize("name", REALS)
def test_infinitely_small_ones_add_nothing(name, device):
    """To one whose logarithm of a sum is 0, where the smallest number would be seen."""
    for n in (2, 3, 2000):
        array = np.full(n, -np.inf)
        array[n // 2] = -0.0
        for each in (array, np.stack([array, array])):
            given = each.astype(oracle.dtype_of(name))
            found = np.asarray(gpureduce.logsumexp(given, axis=-1, device=device))
            assert (found == 0).all(), (n, found)


@pytest.mark.parametrize("name", REALS)
def test_denominators_of_softmax(name, device):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        array, axis = float_cases.case(rng, [name], nans=0.0, specials=False)
        keepdims = bool(rng.random() < 0.5)
        there = rng.random() < 0.5
        given = gpureduce.to_device(array, device) if there else array
        both = gpureduce.softmax_denominator(given, axis, keepdims=keepdims, device=None if there else device)
        most, total = map(plain, both)
        wide = array.astype(np.float64)
        kept = wide.max(axis, keepdims=True)
        wanted = np.exp(wide - kept).sum(axis, keepdims=keepdims)
        assert most.dtype == total.dtype == (np.float64 if name == "float64" else np.float32)
        assert most.shape == total.shape == wanted.shape
        assert np.array_equal(most, wide.max(axis, keepdims=keepdims))
        assert np.allclose(total, wanted, rtol=1e-6 if name != "float64" else 1e-14, atol=0)
    infinite = gpureduce.softmax_denominator(np.array([[-np.inf, -np.inf], [np.inf, 1]]), 1, device=device)
    assert infinite[0].tolist() == [-np.inf, np.inf] and np.isnan(infinite[1]).all()


def test_what_sums_of_exponentials_refuse(device):
    for function in (gpureduce.logsumexp, gpureduce.softmax_denominator):
        with pytest.raises(TypeError, match="real numbers"):
            function([1j], device=device)
    with pytest.raises(ValueError, match="zero-size"):
        gpureduce.softmax_denominator([], device=device)


# ---- made of others ----


@pytest.mark.parametrize("name", oracle.DTYPES)
def test_peak_to_peak(name, device):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        array, axis = float_cases.case(
            rng, [name] if name in float_cases.FLOATS else ["float32"], nans=rng.choice([0, 0.1])
        )
        if name not in float_cases.FLOATS:
            array = rng.integers(-128, 127, array.shape).astype(name)
        if name == "bool":
            with pytest.raises(TypeError, match="does not support bool"):
                gpureduce.ptp(array, axis, device=device)
            continue
        keepdims, there = bool(rng.random() < 0.3), rng.random() < 0.5
        given = gpureduce.to_device(array, device) if there else array
        got = plain(gpureduce.ptp(given, axis, keepdims=keepdims, device=None if there else device))
        with np.errstate(all="ignore"):
            wanted = np.ptp(array, axis, keepdims=keepdims)
        assert got.shape == np.shape(wanted) and got.dtype == array.dtype
        assert there or oracle.mismatch_of_form("ptp", got, wanted) is None
        if not (array.dtype.kind == "c" and not np.isfinite(array).all()):
            assert oracle.mismatch_of_equal(got, wanted) is None, (array, axis)
    with pytest.raises(ValueError if name != "bool" else TypeError):
        gpureduce.ptp(np.zeros(0, name), device=device)


@pytest.mark.parametrize("name", ["bool", "int32", "uint8", "float16", "float64", "complex64"])
def test_parity(name, device):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        shape = float_cases.SHAPES[rng.integers(len(float_cases.SHAPES))]
        array = rng.integers(0, 2, shape).astype(name)
        chosen = {"axis": float_cases.axes_of(rng, array.ndim), "keepdims": bool(rng.random() < 0.3)}
        if rng.random() < 0.4:
            chosen |= {"where": rng.random(shape) < 0.5, "initial": bool(rng.random() < 0.5)}
        there = rng.random() < 0.5
        given = gpureduce.to_device(array, device) if there else array
        got = plain(gpureduce.logical_xor(given, **chosen, device=None if there else device))
        # NumPy takes only one axis: the operator is not known to it as commutative.
        odd = (
            np.count_nonzero(array * chosen.get("where", True), chosen["axis"], keepdims=chosen["keepdims"])
            % 2
            == 1
        )
        assert got.dtype == bool and np.array_equal(got, odd ^ chosen.get("initial", False))
    assert gpureduce.logical_xor(np.zeros(0), device=device) == np.logical_xor.reduce(np.zeros(0))


@pytest.mark.parametrize("name", [*oracle.FLOATS, *oracle.COMPLEX, "int32", "bool"])
def test_means_with_weights(name, device):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        array, axis = float_cases.case(
            rng, [name] if name in float_cases.FLOATS else ["float64"], nans=0.0, specials=False
        )
        array = array.astype(oracle.dtype_of(name))
        there = name in float_cases.FLOATS and rng.random() < 0.5
        axes = np.arange(array.ndim) if axis is None else np.atleast_1d(axis) % max(array.ndim, 1)
        whole = axis is None or rng.random() < 0.5
        shape = array.shape if whole else tuple(array.shape[one] for one in axes)
        weights = rng.uniform(0.5, 2, shape).astype(
            array.real.dtype if name in float_cases.FLOATS else np.float64
        )
        keepdims = bool(rng.random() < 0.3)
        if there:
            weights = weights.astype(array.dtype)
            given, beside = gpureduce.to_device(array, device), gpureduce.to_device(weights, device)
        else:
            given, beside = array, weights
        chosen = {"returned": True, "keepdims": keepdims, "device": None if there else device}
        got, total = map(plain, gpureduce.average(given, axis, beside, **chosen))
        double = np.complex128 if array.dtype.kind == "c" else np.float64
        wanted = np.average(
            array.astype(double), axis, weights.astype(double), returned=True, keepdims=keepdims
        )
        u = oracle.ROUNDOFF[np.asarray(got).real.dtype.name]
        size = np.average(np.abs(array.astype(double)), axis, weights.astype(double), keepdims=keepdims)
        assert got.shape == np.shape(wanted[0]) and total.shape == np.shape(wanted[1])
        assert (
            np.abs(got.astype(double) - wanted[0]) <= (4 * u + array.size * 2.0**-53) * np.abs(size)
        ).all()
        assert np.allclose(total.astype(double), wanted[1], rtol=4 * u)


def test_means_without_weights_and_what_is_refused(device):
    array = np.array([[1.0, 2, 4], [3, 5, 7]])
    mean, count = gpureduce.average(array, 1, returned=True, device=device)
    assert mean.tolist() == [7 / 3, 5] and count.tolist() == [3, 3]
    for weights in ([0.0, 0, 0], [1.0, -1, 0]):
        with pytest.raises(ZeroDivisionError, match="sum to zero"):
            gpureduce.average(array, 1, weights, device=device)
    with pytest.raises(TypeError, match="Axis must be specified"):
        gpureduce.average(array, weights=[1, 2, 3], device=device)
    with pytest.raises(ValueError, match="consistent"):
        gpureduce.average(array, 0, [1, 2, 3], device=device)
    there = gpureduce.to_device(array.astype(int), device)
    with pytest.raises(TypeError):
        gpureduce.average(there, 0, gpureduce.to_device(np.array([1, 2]), device))


@pytest.mark.parametrize(
    "name", ["float32", "float64", "float16", "int16", "bool", "complex64", "complex128"]
)
def test_products_along_an_axis(name, device):
    shapes = [
        ((7,), (7,), -1),
        ((5, 300), (300,), -1),
        ((4, 1, 6), (5, 6), -1),
        ((9, 3), (9, 3), 0),
        ((2, 8, 3), (1, 8, 3), 1),
    ]
    for seed, (first, second, axis) in enumerate(shapes):
        rng = np.random.default_rng(seed)
        a, b = (rng.integers(-4, 5, shape).astype(name) for shape in (first, second))
        if name.startswith("complex"):
            a, b = a + 1j * a[::-1], b * (2 - 1j)
        there = bool(seed % 2)
        x, y = (gpureduce.to_device(each, device) for each in (a, b)) if there else (a, b)
        place = None if there else device
        got, wanted = plain(gpureduce.vecdot(x, y, axis=axis, device=place)), np.vecdot(a, b, axis=axis)
        assert oracle.mismatch_of_form("vecdot", got, wanted) is None
        assert oracle.mismatch_of_equal(got, wanted) is None
        if axis == -1:
            got, wanted = plain(gpureduce.inner(x, y, device=place)), np.inner(a, b)
            assert oracle.mismatch_of_equal(got, wanted) is None and got.shape == np.shape(wanted)
    with pytest.raises(ValueError):
        gpureduce.vecdot(np.ones(3), np.ones(4), device=device)
    with pytest.raises(ValueError):
        gpureduce.inner(np.ones((2, 3)), np.ones((3, 2)), device=device)
    with pytest.raises(TypeError, match="must be on the device of"):
        gpureduce.vecdot(gpureduce.to_device(np.ones(3), device), np.ones(3))


@pytest.mark.parametrize("shape", [(3, 3), (4, 7), (7, 4), (2, 3, 4), (3, 0), (5, 2, 3, 4)])
def test_traces(shape, device):
    array = np.arange(math.prod(shape), dtype=np.float32).reshape(shape) + 1
    for offset in (0, 1, -1, 3, -9):
        for axes in {(0, 1), (1, 0), (-1, 0), (1, len(shape) - 1)} - {(1, 1)}:
            wanted = np.trace(array, offset, *axes)
            got = gpureduce.trace(array, offset, *axes, device=device)
            assert oracle.mismatch_of_form("trace", got, wanted) is None
            assert oracle.mismatch_of_equal(got, wanted) is None
            got = plain(gpureduce.trace(gpureduce.to_device(array, device), offset, *axes))
            assert oracle.mismatch_of_equal(got, wanted) is None
    with pytest.raises(ValueError):
        gpureduce.trace(array, 0, 1, 1, device=device)
    with pytest.raises(ValueError):
        gpureduce.trace(np.ones(3), device=device)
