"""Exact sums, means and dot products: right to the last bit, whatever the order, the grid and the data."""

import json
import struct
from fractions import Fraction

import numpy as np
import pytest

import gpureduce
from benchmarks.harness import command
from benchmarks.suite import exact_sums
from gpureduce import _core
from gpureduce._device.devices import resolve
from gpureduce._device.ptx import ptx_text
from gpureduce._profiles.from_core import kernel_profiles
from gpureduce._reduce import exact
from gpureduce._reduce.exact_states import NARROW, WIDE
from tests.support import exact_reference as reference
from tests.support.exact_reference import DTYPES, dtype_of, exact_dot, exact_sum, same


@pytest.fixture(scope="module")
def place(request):
    """The device, as the core names it."""
    name = request.config.getoption("device")
    return resolve(name)


def core(array, place, op="sum", second=None, initial=None, fold=0, blocks=0):
    """Sum a whole array with that many additions between folds, by that many blocks."""
    axes = tuple(range(array.ndim))
    return _core.exact(array, op, axes, second, initial, None, *place, 0, fold, blocks)[()]


@pytest.mark.many
@pytest.mark.parametrize("kind", reference.KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", DTYPES)
def test_any_floats(name, kind, place):
    """Any data, size, order, number of blocks and additions between folds."""
    dtype = dtype_of(name)
    rng = np.random.default_rng([DTYPES.index(name), reference.KINDS.index(kind)])
    for n in (0, 1, 2, 3, 31, 65, 257, 9001, *rng.integers(1, 3000, 4)):
        array = kind(rng, int(n), dtype)
        want = exact_sum(array)
        for fold, blocks, step in ((0, 0, 1), (1, 1, 1), (5, 1, -1), (2, 3, 1)):
            got = core(array[::step], place, fold=fold, blocks=blocks)
            assert same(got, want), (n, fold, blocks, step, got, want)
            array = rng.permutation(array)


@pytest.mark.many
@pytest.mark.parametrize("name", DTYPES)
def test_any_products(name, place):
    """Dot products of the same data, of products that a float64 does not hold, and under cancellation."""
    dtype = dtype_of(name)
    rng = np.random.default_rng(DTYPES.index(name))
    for kind in reference.KINDS:
        for n, fold, blocks in ((3, 0, 0), (70, 1, 2), (700, 0, 3)):
            a, b = kind(rng, n, dtype), reference.any_bits(rng, n, dtype)
            a = a[: len(b)] if len(a) > len(b) else np.resize(a, n)
            half = n // 2
            a[half : 2 * half], b[half : 2 * half] = b[:half].copy(), -a[:half]
            with np.errstate(all="ignore"):
                want = exact_dot(a, b)
            got = core(a, place, "dot", b, None, fold, blocks)
            assert same(got, want), (kind, n, got, want)
    a, b = (reference.plain(rng, 500, dtype) for _ in range(2))
    a, b = np.concatenate([a, -(a * b)]), np.concatenate([b, np.ones(500, dtype)])
    assert same(core(a, place, "dot", b), exact_dot(a, b))  # what the products' roundings leave out


def cancelled(array, total, unit):
    """Return an array, whose sum is a number of units, with more behind it that make it 0."""
    more = []
    while total != 0:
        more.append(reference.rounded(-total * unit, array.dtype))
        total += int(reference.Fraction(float(more[-1])) / unit)
    return np.append(array, np.array(more, array.dtype))


def test_a_bin_is_folded_before_it_overflows(place):
    """The largest values of a bin, and at the end its unit: more additions a thread than a bin holds."""
    array = np.full(256 * 2**15 + 64, np.float32(2) - np.float32(2.0**-23))
    array[-64:] = np.float32(2.0**-15) + np.float32(2.0**-38)  # its 16 exponents are 2^-15 to 2^0
    total = (len(array) - 64) * (2**24 - 1) * 2**15 + 64 * (2**23 + 1)
    assert core(cancelled(array, total, reference.Fraction(1, 2**38)), place, blocks=1) == 0


def test_a_pair_is_folded_before_it_overflows(place):
    """Its low part has the errors of the high one, which are all of one sign here, and then a unit."""
    threads, each = 224, 2**14 - 2**10
    # Of a sum of 2^13 and more the last bit is 2^-39 or 2^-38, of which a value has nearly a half below it.
    array = np.full(threads * each, 2.0 - 2.0**-39 * (1 + 2.0**-6))
    value = int(array[0] * 2**83)
    array[-4 * threads :] = 2.0**-31 + 2.0**-83  # its 32 exponents are 2^-31 to 2^0
    total = (len(array) - 4 * threads) * value + 4 * threads * (2**52 + 1)
    assert core(cancelled(array, total, reference.Fraction(1, 2**83)), place, blocks=1) == 0


@pytest.mark.parametrize("name", DTYPES)
def test_a_window_holds_what_a_thread_has(name, place):
    """As many of the largest as go to a register, and others farther and farther from them.

    The first that a block has are smaller, so that what it takes for the largest is as far below as may be.
    """
    dtype, rng = dtype_of(name), np.random.default_rng(3)
    least = -10 if name == "float16" else -60
    worst = 2 - 2.0 ** (1 - reference.FORMATS[name][0])
    first = (2 if name == "bfloat16" else 4) * 128 * 16 // dtype.itemsize  # of a turn
    for blocks in (1, 2):
        for far in (False, True):
            array = np.full((blocks, 128 * 128), worst, dtype)
            array[:, :first] = worst / 16
            array = array.reshape(-1)
            if far:
                places = rng.permutation(array.size)[: 8 * -least]
                array[places] = np.ldexp(worst, -(np.arange(places.size) % -least))
            assert same(core(array, place, blocks=blocks), exact_sum(array)), (blocks, far)


@pytest.mark.parametrize("name", DTYPES)
def test_a_window_keeps_small_numbers(name, place):
    """Ever smaller ones among larger ones that a thread adds with them, and that cancel in the end."""
    dtype, rng = dtype_of(name), np.random.default_rng(6)
    precision = reference.FORMATS[name][0]
    for distance in range(precision - 5, 10 if name == "float16" else 60):
        large = (1 + np.floor(rng.random(2000) * 2 ** (precision - 1)) / 2 ** (precision - 1)).astype(dtype)
        array = np.concatenate([large, -large])
        small = np.ldexp(2 - 2.0 ** (1 - precision), -distance)
        for at in rng.permutation(2000)[:3]:
            array[[at, at + 2000]] = small, 0
        for blocks in (0, 1, 3):
            assert same(core(array, place, blocks=blocks), exact_sum(array)), (distance, blocks)


@pytest.mark.parametrize("name", DTYPES)
def test_windows_that_lie_far_apart(name, place):
    """Blocks whose sums are in units so different that no integer holds all of them."""
    dtype, rng = dtype_of(name), np.random.default_rng(8)
    widest = 8 if name == "float16" else 900 if name == "float64" else 110
    for exponents in ((0, -widest), (-widest, 0), (widest, 5, -widest, 0), (0, 6, -6, 14, -12)):
        parts = [np.ldexp(rng.standard_normal(2048), exponent).astype(dtype) for exponent in exponents]
        array = np.concatenate(parts)
        array[1] = -array[1:].astype(np.float64).max()
        assert same(core(array, place, blocks=len(exponents)), exact_sum(array)), exponents


@pytest.mark.parametrize("name", ["float32", "float64", "bfloat16"])
def test_outliers_of_a_window_over_all_exponents(name, place):
    """Digits of 16 bits in shared memory hold them; large ones cancel."""
    if name not in DTYPES:
        pytest.skip("needs ml_dtypes")
    dtype, rng = dtype_of(name), np.random.default_rng(12)
    lowest, highest = (-1070, 1020) if name == "float64" else (-120, 120)
    for reach, blocks, count in ((40, 0, 1500), (120, 0, 1500), (highest, 0, 1500), (highest, 3, 1500),
                                 (120, 0, 20), (highest, 0, 20)):  # fmt: skip
        exponents = rng.integers(max(lowest, -reach), reach, count)
        numbers = np.ldexp(rng.standard_normal(count), exponents).astype(dtype)
        small = np.ldexp(rng.standard_normal(count // 37), lowest).astype(dtype)
        array = rng.permutation(np.concatenate([numbers, small, -numbers]))
        for op, divisor in (("sum", 1), ("mean", array.size)):
            assert same(core(array, place, op, blocks=blocks), exact_sum(array, None, divisor)), (reach, op)
        for special in (np.inf, -np.inf, np.nan):
            array[count // 2] = special
            got = core(array, place, blocks=blocks)
            assert np.isnan(got) if special != special else got == dtype.type(special)


@pytest.mark.parametrize("name", ["float32", "float64", "float16"])
def test_outliers_are_rounded_once(name, place):
    """Ties but for a bit far below, which is an outlier as the numbers around the tie are."""
    dtype = dtype_of(name)
    precision = reference.FORMATS[name][0]
    half, lowest = 2.0**-precision, {"float32": 2.0**-149, "float64": 2.0**-160, "float16": 2.0**-24}[name]
    large = 1.0 if name == "float16" else 2.0**20
    for first in (1.0, 1 + 2 * half):
        for least in (0, lowest, -lowest, 2.0**-60 if name != "float16" else lowest):
            for sign in (1, -1):
                array = sign * np.array([large, first, half, least, -large], np.float64).astype(dtype)
                assert same(core(array, place), exact_sum(array)), (first, least, sign)


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("count", [5, 700, 5000])
def test_carries_of_outliers_over_all_digits(name, count, place):
    """Of a large number minus a small one all digits between are ones; powers of two have runs of both."""
    dtype, rng = dtype_of(name), np.random.default_rng(13)
    lowest, highest = (-1074, 1000) if name == "float64" else (-149, 120)
    for sign in (1, -1):
        for low in (lowest, lowest + 31, lowest + 32, lowest + 100, 0):
            array = np.zeros(count, dtype)
            array[:2] = np.ldexp(1.0, highest), -np.ldexp(1.0, low)
            array = rng.permutation(sign * array)
            for blocks in (0, 2):
                assert same(core(array, place, blocks=blocks), exact_sum(array)), (sign, low, blocks)
        powers = sign * np.ldexp(rng.choice([-1.0, 1.0], count), rng.integers(lowest, highest, count))
        array = np.concatenate([powers, -powers[:-1]]).astype(dtype)
        assert same(core(array, place), exact_sum(array))


@pytest.mark.parametrize("name", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("count", [20, 700, 9000])
def test_outliers_of_a_range_of_exponents(name, count, place):
    """Digits of the outliers' range alone are added up; all but small elements cancel."""
    if name not in DTYPES:
        pytest.skip("needs ml_dtypes")
    dtype, rng = dtype_of(name), np.random.default_rng(15)
    lowest = -1022 if name == "float64" else -126
    for exponents in (16, 33, 60, 120, 222):
        for least in (lowest, -100):
            significands = (1 + rng.random(count)).astype(dtype) * rng.choice([-1, 1], count).astype(dtype)
            large = np.ldexp(significands, least + np.arange(count) % exponents).astype(dtype)
            small = np.ldexp(significands[:7], least + np.arange(7)).astype(dtype)
            array = rng.permutation(np.concatenate([large, small, -large[3:]]))
            for blocks in (0, 1, 3):
                assert same(core(array, place, blocks=blocks), exact_sum(array)), (exponents, least, blocks)
            assert same(core(array, place, "mean"), exact_sum(array, None, array.size)), (exponents, least)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_blocks_with_and_without_outliers(name, place):
    """In any order, and of other exponents."""
    dtype, rng = dtype_of(name), np.random.default_rng(16)
    size = 8192 // dtype.itemsize  # of a block that loads all at once
    for above in (0, 3, 9, 40):
        for wide in ((0,), (3,), (0, 1, 2), (1, 2, 3), (0, 1, 2, 3)):
            parts = [rng.standard_normal(size) for _ in range(4)]
            for i in wide:
                parts[i] *= 2.0 ** rng.integers(-90, above + 1, size)
            array = np.concatenate(parts).astype(dtype)
            array[-1] = -array[:-1].astype(np.float64).sum()
            assert same(core(array, place, blocks=4), exact_sum(array)), (above, wide)


@pytest.mark.parametrize("name", ["float32", "float64", "bfloat16"])
def test_bits_far_below_those_that_cancel(name, place):
    """At any distance: in the window, in the bits below that a block publishes, and in none of these."""
    if name not in DTYPES:
        pytest.skip("needs ml_dtypes")
    dtype = dtype_of(name)
    worst = 2 - 2.0 ** (1 - reference.FORMATS[name][0])
    for distance in range(20, 220):
        array = np.zeros(900, dtype)
        array[[3, 700]] = np.ldexp(1.0, 100), -np.ldexp(1.0, 100)
        array[[5, 600, 800]] = np.ldexp([worst, -1.5, worst], 100 - distance)
        for sign, blocks in ((1, 0), (-1, 0), (1, 2), (-1, 3)):
            assert same(core(sign * array, place, blocks=blocks), exact_sum(sign * array)), (distance, blocks)


@pytest.mark.parametrize("name", ["float32", "float64", "bfloat16"])
def test_elements_far_above_the_first_ones(name, place):
    """A block loads them after those that its window is around, and they cancel but for a few."""
    if name not in DTYPES:
        pytest.skip("needs ml_dtypes")
    dtype, rng = dtype_of(name), np.random.default_rng(18)
    for distance in range(4, 170, 6):
        array = np.ldexp(rng.standard_normal(20_000), -distance // 2 - 10).astype(dtype)
        large = np.ldexp(rng.standard_normal(20), distance - distance // 2 - 10).astype(dtype)
        array[-40:] = np.concatenate([large, -large[:17], large[:3]])
        for blocks in (1, 3):
            assert same(core(array, place, blocks=blocks), exact_sum(array)), (distance, blocks)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_wide_blocks_that_lie_far_apart(name, place):
    """Their sums and what these have below their units; all but a few elements cancel."""
    dtype, rng = dtype_of(name), np.random.default_rng(19)
    for scales in ((0, -40, 30, 0), (-30, 0, -60, 9), (0, 20, -7, -7)):
        parts = [np.ldexp(rng.standard_normal(1024), scale - rng.integers(0, 50, 1024)) for scale in scales]
        array = np.concatenate([*parts, *(-rng.permutation(part) for part in parts)]).astype(dtype)
        array[rng.permutation(array.size)[:9]] = 0
        assert same(core(array, place, blocks=8), exact_sum(array)), scales


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_results_whose_blocks_share_their_wide_sums(name, device):
    """Each of a few results has several blocks and slots of its own."""
    dtype, rng = dtype_of(name), np.random.default_rng(17)
    array = rng.standard_normal((3, 20_000)) * 2.0 ** rng.integers(-60, 20, (3, 20_000))
    array[1] = rng.standard_normal(20_000)
    array = array.astype(dtype)
    for _ in range(2):
        got = gpureduce.sum(array, axis=1, exact=True, device=device)
        assert same(got, np.array([exact_sum(row) for row in array]))
        array = array[[1, 2, 0], ::-1].copy()


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_ties_but_for_an_element_far_below(name, place):
    """Alone and among zeros, at several distances."""
    dtype = dtype_of(name)
    half = 2.0 ** -reference.FORMATS[name][0]
    for distance in (-40, -60, -100, -117):
        for first in (1.0, 1 + 2 * half):
            for least in (2.0**distance, -(2.0**distance)):
                for sign in (1, -1):
                    array = sign * np.array([first, half, least, 1.5 * least], dtype)
                    for count in (4, 3000):
                        array = np.resize(np.concatenate([array, np.zeros(count - 4, dtype)]), count)
                        assert same(core(array, place), exact_sum(array)), (distance, first, least, sign)


@pytest.mark.parametrize("name", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("count", [70, 3000, 20_000])
def test_two_large_numbers_cancel(name, count, place):
    """All others are outliers, and what a thread loads at once is added to the digits as one number."""
    if name not in DTYPES:
        pytest.skip("needs ml_dtypes")
    dtype, rng = dtype_of(name), np.random.default_rng(14)
    array = rng.standard_normal(count).astype(dtype)
    array[[1, count // 2]] = dtype.type(2.0**100), dtype.type(-(2.0**100))
    for blocks in (0, 3):
        assert same(core(array, place, blocks=blocks), exact_sum(array)), blocks


@pytest.mark.parametrize("sign", [1, -1])
def test_a_window_rounds_by_its_last_bit(sign, place):
    """A tie but for a bit that lies more than 64 below the first."""
    array = sign * np.array([1.0, 2.0**-27 + 2.0**-53 + 2.0**-79])
    assert core(array, place) == sign * (1 + 2.0**-27 + 2.0**-52) and same(
        core(array, place), exact_sum(array)
    )


@pytest.mark.parametrize("name", [*DTYPES, "complex64", "complex128"])
def test_arrays_of_the_host_go_in_pieces(name, device, monkeypatch):
    """Their states are merged, so that the bits are those of the whole. These here are few for the core."""
    by_python = {op: getattr(gpureduce, op).__wrapped__ for op in ("sum", "mean", "dot")}
    dtype, rng = dtype_of(name), np.random.default_rng(11)
    numbers = [
        (rng.standard_normal((40, 25)) * 2.0 ** rng.integers(-9, 9, (40, 25))).astype(dtype) for _ in range(2)
    ]
    zeros = np.full(1000, -0.0, dtype)

    def results():
        given = {"exact": True, "device": device}
        yield by_python["sum"](numbers[0], **given)
        yield by_python["sum"](numbers[0], initial=numbers[1][0, 0], keepdims=True, **given)
        yield by_python["mean"](numbers[0], **given)
        yield by_python["dot"](*(each.reshape(-1) for each in numbers), **given)
        yield by_python["sum"](zeros, **given)
        yield by_python["sum"](zeros, initial=-0.0, **given)
        yield by_python["sum"](np.append(zeros, np.inf).astype(dtype), **given)

    whole = list(results())
    pieces = []
    merge = exact.exact_states.merge
    monkeypatch.setattr(exact, "CHUNK_BYTES", 300 * dtype.itemsize)
    monkeypatch.setattr(exact.exact_states, "merge", lambda *states: pieces.append(merge(*states)))
    for want, got in zip(whole, results(), strict=True):
        assert np.asarray(got).dtype == dtype and np.asarray(got).tobytes() == np.asarray(want).tobytes()
        assert len(pieces) == 4  # and the first, of nothing or of `initial`
        pieces.clear()


def test_fsum_and_exact_are_one(place, device):
    array = np.array([1e100, 1.0, -1e100, 2.0**-60])
    assert gpureduce.fsum(array, device=device) == gpureduce.sum(array, exact=True, device=device) == 1.0
    assert gpureduce.sum(array, exact=False, device=device) == gpureduce.sum(array, device=device)


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("name", [*DTYPES, "complex64", "complex128"])
def test_axes_and_layouts(name, device):
    """Every way in which elements may lie, a mask, an initial value: as whole sums of each result's own."""
    rng = np.random.default_rng(7)
    dtype = np.dtype(name) if name.startswith("complex") else dtype_of(name)
    real = dtype if dtype.kind != "c" else np.dtype(f"float{dtype.itemsize * 4}")
    parts = [reference.cancelling(rng, 3 * 4 * 5 * 6, real).reshape(3, 4, 5, 6) for _ in range(2)]
    array = parts[0] if dtype.kind != "c" else (parts[0] + 1j * parts[1].astype(real)).astype(dtype)
    if dtype.kind == "c":
        array.real, array.imag = parts
    mask = rng.random((4, 5, 1)) < 0.7
    views = (array, array[::-1, ::2], array.transpose(2, 0, 3, 1), array[..., 1:])
    for view in views:
        for axis in (None, 0, 1, -1, (0, 2), (1, 2, 3)):
            got = gpureduce.sum(view, axis=axis, keepdims=True, exact=True, device=device)
            assert alike(got, by_hand(view, axis, None, real), real), (view.strides, axis)
    got = gpureduce.sum(array, axis=(1, 3), where=mask, initial=2, exact=True, device=device)
    assert alike(got, by_hand(array, (1, 3), mask, real, 2)[:, 0, :, 0], real)
    there = gpureduce.to_device(array, device)
    got = gpureduce.sum(there, axis=1, exact=True, device=device)
    assert alike(got.numpy(), by_hand(array, 1, None, real)[:, 0], real)


def by_hand(array, axis, mask, real, initial=0):
    """Sums with dimensions kept, each of its own elements."""
    axes = tuple(range(array.ndim)) if axis is None else np.atleast_1d(axis) % array.ndim
    kept = [1 if d in axes else length for d, length in enumerate(array.shape)]
    mask = np.broadcast_to(True if mask is None else mask, array.shape)
    results = np.empty(kept, array.dtype)
    for at in np.ndindex(*kept):
        where = tuple(slice(None) if d in axes else i for d, i in enumerate(at))
        taken = array[where][mask[where]]
        if array.dtype.kind == "c":
            results[at] = complex(exact_sum(np.append(taken.real, real.type(initial))), exact_sum(taken.imag))
        else:
            results[at] = exact_sum(np.append(taken, real.type(initial)))
    return results


def alike(got, want, real):
    return got.shape == want.shape and same(got.copy().view(real), want.copy().view(real))


@pytest.mark.parametrize("name", DTYPES)
def test_quotients(name):
    """Of states by anything that they may be divided by, powers of 2 and what has more than 32 bits, too."""
    dtype, rng = dtype_of(name), np.random.default_rng(21)
    divisors = [1, 2, 3, 10, 2**20, 2**24 - 1, 2**32 - 1, 2**32, 2**32 + 1, 2**40, 2**62 + 3, 2**63 - 1]
    divisors += [int(rng.integers(1, 2 ** int(bits))) for bits in rng.integers(2, 63, 30)]
    for kind in (reference.any_bits, reference.subnormal, reference.cancelling, reference.plain):
        array = kind(rng, 90, dtype)
        array[~np.isfinite(array)] = 1
        states = gpureduce.partial(array, "sum", device="sim")._fields["sum"]
        for divisor in divisors:
            got = exact.exact_states.rounded(
                states, exact.exact_states.size_of_sum(dtype), dtype, np.array(divisor, np.uint64)
            )
            assert same(got[()], exact_sum(array, divisor=divisor)), (kind, divisor)


@pytest.mark.parametrize("name", DTYPES)
def test_means(name, device):
    dtype = dtype_of(name)
    rng = np.random.default_rng(5)
    for n in (1, 3, 7, 100, 641):
        for kind in (reference.any_bits, reference.subnormal, reference.cancelling, reference.plain):
            array = kind(rng, 2 * n, dtype)
            want = exact_sum(array, divisor=len(array))
            assert same(gpureduce.mean(array, exact=True, device=device), want), (n, kind)
            mask = rng.random(2 * n) < 0.5
            mask[0] = True
            want = exact_sum(array[mask], divisor=int(mask.sum()))
            assert same(gpureduce.mean(array, where=mask, exact=True, device=device), want)


def test_signs_of_zero(device):
    """As NumPy has them: a sum starts at 0, unless it is told to start at -0."""
    for name in ("float16", "float32", "float64"):
        zeros = np.full(300, -0.0, name)
        for array, initial in (
            (zeros, 0.0),
            (zeros, -0.0),
            (zeros[:0], -0.0),
            (zeros[:0], 0.0),
            (-zeros, -0.0),
        ):
            got = gpureduce.sum(array, initial=initial, exact=True, device=device)
            assert np.signbit(got) == np.signbit(np.sum(array, initial=initial)), (name, array[:1], initial)
        assert not np.signbit(gpureduce.fsum(zeros, device=device))
        small = np.array([-np.finfo(name).smallest_subnormal] * 3 + [np.finfo(name).smallest_subnormal] * 2)
        mean = gpureduce.mean(small.astype(name), exact=True, device=device)
        assert mean == 0 and np.signbit(mean)


def test_integers_do_not_wrap(device):
    array = np.array([2**62, 2**62, -(2**62), -(2**62), 5, 2**62] * 3 + [-(2**61)] * 5)
    total = sum(array.tolist())
    assert total < 2**63
    assert gpureduce.sum(array, exact=True, device=device) == total
    assert gpureduce.mean(array, exact=True, device=device) == total / len(array)
    there = gpureduce.to_device(array, device)
    assert gpureduce.sum(there, exact=True, device=device) == total
    unsigned = np.array([2**63, 2**63 - 1], np.uint64)
    assert gpureduce.sum(unsigned, exact=True, device=device) == 2**64 - 1
    for wrong, options in ((np.array([2**62] * 2), {}), (np.array([2**63] * 2, np.uint64), {}),
                           (np.array([100, 100], np.int8), {"dtype": np.int8}),
                           (np.array([-(2**63)]), {"initial": -1})):  # fmt: skip
        with pytest.raises(OverflowError, match=r"sum: -?[0-9]+ does not fit u?int"):
            gpureduce.sum(wrong, exact=True, device=device, **options)
    small = np.array([[100, 100], [-3, 1]], np.int8)
    assert gpureduce.sum(small, axis=1, exact=True, device=device).tolist() == [200, -2]
    assert gpureduce.mean(small, exact=True, device=device) == 49.5


@pytest.mark.parametrize("name", ["int32", "uint32", "int16", "bool"])
def test_few_integers_need_no_second_sum(name, place, device):
    """The core adds them up by itself, without a rounding, whatever they are."""
    rng = np.random.default_rng(12)
    array = rng.integers(0, 256, 4 * 2999, np.uint8)
    array = (array % 2).astype(bool) if name == "bool" else array.view(name)
    array = array[: len(array) // 7 * 7].reshape(-1, 7)
    most = np.full((500, 7), 1 if name == "bool" else np.iinfo(name).max, name)
    for each in (array, most, -most if name != "bool" else ~most, array[::-2, 1:]):
        there = gpureduce.to_device(each, device)
        for axis in (None, 0, 1):
            total = np.sum(each, axis, object)
            count = each.size if axis is None else each.shape[axis]
            for where, numbers in (("host", each), ("device", there)):
                got = gpureduce.sum(numbers, axis, exact=True, as_device=False, device=device)
                assert (got == total).all() and got.dtype == np.sum(each, axis).dtype, (where, axis)
                got = gpureduce.mean(numbers, axis, exact=True, as_device=False, device=device)
                want = np.array([int(one) / count for one in np.ravel(total)]).reshape(np.shape(total))
                assert (got == want).all() and got.dtype == np.float64, (where, axis)


def test_means_of_integers_are_rounded_once(device):
    """Also where a float64 does not hold the sum, though 64 bits do."""
    total = 950269941708940613
    for name in ("int64", "uint64"):
        array = np.array([total - 3 * 2**58, *[2**58] * 3, 0, 0, 0]).astype(name)
        assert gpureduce.mean(array, exact=True, device=device) == total / 7 != float(total) / 7


def test_where_results_go(device):
    array = np.arange(12, dtype=np.float32).reshape(3, 4) * np.float32(1e20)
    out = np.zeros(3, np.float64)
    assert gpureduce.sum(array, axis=1, out=out, exact=True, device=device) is out
    assert same(out, np.array([exact_sum(row.astype(np.float64)) for row in array]))
    there = gpureduce.to_device(np.zeros(4, np.float32), device)
    assert gpureduce.sum(array, axis=0, out=there, exact=True, device=device) is there
    assert same(there.numpy(), np.array([exact_sum(column) for column in array.T]))
    stays = gpureduce.fsum(array, as_device=True, device=device)
    assert isinstance(stays, gpureduce.DeviceArray) and stays.numpy() == exact_sum(array.ravel())
    complex_dot = gpureduce.dot(
        np.array([1e200 + 1j, 3]), np.array([1 - 1e-200j, 1j]), exact=True, device=device
    )
    assert complex_dot == 1e200 + 3j


def test_exact_sums_refuse_bad_arguments(device):
    floats = np.ones(4)
    for wrong, call in (
        (ValueError, lambda: gpureduce.sum(floats, variant="v7", exact=True, device=device)),
        (
            ValueError,
            lambda: gpureduce.sum(floats, where=[True] * 4, initial=None, exact=True, device=device),
        ),
        (TypeError, lambda: gpureduce.dot([1, 2], [3, 4], exact=True, device=device)),
        (TypeError, lambda: gpureduce.mean([1, 2], dtype=int, exact=True, device=device)),
    ):
        with pytest.raises(wrong):
            call()
    with np.errstate(invalid="ignore"), pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        assert np.isnan(gpureduce.mean(floats[:0], exact=True, device=device))
    with pytest.warns(RuntimeWarning, match="overflow encountered"):
        assert gpureduce.sum(floats * 1.7e308, exact=True, device=device) == np.inf


PACKED, MASKED, STATES = 1, 2, 8
OTHER = 8  # the flag of sums that are not of -0 alone


def parameters(array, flags, fold, share):
    """A gr_exact_params of a whole array, without addresses: those of inputs, results, states come first."""
    second = array.itemsize if flags & PACKED else 1
    dims = [*(array.size, 1, 1, 1, 1), *(array.itemsize, 0, 0, 0, 0), *(second, 0, 0, 0, 0), *[0] * 10]
    one = [*[1] * 5, *[0] * 20]
    return struct.pack("<4Q2Q25Q25Q4I16x", *[0] * 4, 1, array.size, *one, *dims, flags, fold, 1, share)


@pytest.mark.parametrize("kernel, threads, bytes_each", [
    ("sum_f32", 256, 128), ("sum_f16", 256, 128), ("sum_bf16", 512, 192), ("sum_f64", 64, 1024),
    ("dot_f32", 64, 1024), ("dot_f64", 64, 1024), ("window_f32", 64, 128), ("window_f16", 64, 128),
    ("window_bf16", 32, 128), ("window_f64", 64, 0), ("window_dot_f32", 64, 0),
])  # fmt: skip
def test_no_races(kernel, threads, bytes_each):
    """Three blocks that fold often and join; by vectors and, of sums, one by one under a mask."""
    op, short = kernel.replace("window_dot", "window").split("_")
    dtype = dtype_of({"f32": "float32", "f16": "float16", "bf16": "bfloat16", "f64": "float64"}[short])
    rng = np.random.default_rng(1)
    array = reference.any_bits(rng, 7000, dtype)
    ptx = ptx_text(f"exact_{op}.cu")
    share = -(-array.nbytes // (16 * 3 * 4 * threads)) * 4 * threads  # vectors of a block, in whole turns
    for flags in (PACKED, MASKED) if op == "sum" else (PACKED,):
        other = rng.random(array.size) < 0.5 if flags == MASKED else reference.any_bits(rng, 7000, dtype)
        out, states = np.zeros(1, dtype), np.zeros(144, np.int64)
        places = ((array, 0), (other, 8), (out, 16), (states, 24))
        size = ((1, 3, 1), (threads, 1, 1), (1, 1, 1), parameters(array, flags, 16, share), places)
        (launch,), problem = _core.simulate(
            _core.parse_ptx(ptx), f"exact_{kernel}", *size, 144 * 8 + threads * bytes_each, (True, 0, 0)
        )
        assert problem is None and not states.any()
        found = kernel_profiles([launch], "exact", 0)[0]
        assert found.races == ()
        want = (
            exact_dot(array, other)
            if "dot" in kernel
            else exact_sum(array[other] if flags == MASKED else array)
        )
        assert same(out[0], want)


@pytest.mark.parametrize("kernel, size", [
    ("sum_f32", NARROW), ("sum_f64", WIDE), ("dot_f32", WIDE), ("window_f32", NARROW), ("window_f16", NARROW),
    ("window_f64", WIDE), ("window_dot_f32", WIDE),
])  # fmt: skip
@pytest.mark.parametrize("blocks", [1, 3])
def test_states_are_handed_over_without_races(kernel, size, blocks):
    short = kernel.rpartition("_")[2]
    dtype = dtype_of({"f32": "float32", "f16": "float16", "f64": "float64"}[short])
    array = reference.plain(np.random.default_rng(3), 3000, dtype)
    out, states = np.full(size.words, 7, np.int64), np.zeros(144, np.int64)
    places = ((array, 0), (array, 8), (out, 16), (states, 24))
    given = parameters(array, PACKED | STATES, 64, -(-array.nbytes // 16 // blocks))
    ptx, grid = ptx_text(f"exact_{kernel.partition('_')[0]}.cu"), ((1, blocks, 1), (64, 1, 1), (1, 1, 1))
    (launch,), problem = _core.simulate(
        _core.parse_ptx(ptx), f"exact_{kernel}", *grid, given, places, 144 * 8 + 64 * 1024, (True, 0, 0)
    )
    assert problem is None and not states.any()
    assert kernel_profiles([launch], "exact", 0)[0].races == ()
    found = sum(int(word) << 32 * place for place, word in enumerate(out[: size.digits]))
    numbers = [Fraction(float(x)) for x in array]
    want = sum(x * x for x in numbers) if "dot" in kernel else sum(numbers)
    assert Fraction(found, 1 << size.below) == want and out[-2:].tolist() == [0, OTHER]


@pytest.mark.parametrize("kernel", ["window_f32", "window_f16", "window_f64", "window_dot_f32"])
def test_a_block_alone_has_no_races(kernel):
    """What is far from the window goes to the state; a warp takes flags from it before it adds the rest."""
    short = kernel.rpartition("_")[2]
    dtype = dtype_of({"f32": "float32", "f16": "float16", "f64": "float64"}[short])
    array = reference.any_bits(np.random.default_rng(2), 1000, dtype)
    for threads in (32, 224):
        out, share = np.zeros(1, dtype), 4 * threads * -(-array.nbytes // (64 * threads))
        places = ((array, 0), (array, 8), (out, 16))
        size = ((1, 1, 1), (threads, 1, 1), (1, 1, 1), parameters(array, PACKED, 8192, share), places)
        (launch,), problem = _core.simulate(
            _core.parse_ptx(ptx_text("exact_window.cu")),
            f"exact_{kernel}",
            *size,
            144 * 8 + threads * 128,
            (True, 0, 0),
        )
        assert problem is None and kernel_profiles([launch], "exact", 0)[0].races == ()
        assert same(out[0], exact_dot(array, array) if "dot" in kernel else exact_sum(array))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [2**31 + 3, 2**33])
def test_more_elements_than_a_bin_counts(dtype, count, on_gpu):
    """The worst numbers, all of whose bits are one, so that each addition carries; and two small ones."""
    if not on_gpu:
        pytest.skip("takes the memory and the time of a GPU")
    torch = pytest.importorskip("torch")
    kind = getattr(torch, dtype)
    if torch.cuda.mem_get_info()[0] < 1.1 * count * kind.itemsize:
        pytest.skip("more than the device's memory")
    worst, small = 2.0 - torch.finfo(kind).eps, 2.0**-14
    elements = torch.full((count,), worst, dtype=kind, device="cuda")
    elements[count // 3] = elements[-1] = small
    total = (count - 2) * Fraction(worst) + 2 * Fraction(small)
    with np.errstate(over="ignore"):
        results = gpureduce.sum(elements, exact=True), gpureduce.mean(elements, exact=True)
        state = gpureduce.partial(elements, "sum").result()
    del elements
    torch.cuda.empty_cache()
    want = [reference.rounded(value, dtype_of(dtype)) for value in (total, total / count)]
    assert [float(each) for each in results] == [float(each) for each in want]
    assert float(state) == float(want[0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_mean_of_more_elements_than_a_digit_counts(dtype, on_gpu):
    """The same row again and again, so that the mean is a row's."""
    if not on_gpu:
        pytest.skip("takes the time of a GPU")
    torch = pytest.importorskip("torch")
    rows, length = 2**12 + 1, 2**20 - 2
    row = torch.randn(length, device="cuda", dtype=getattr(torch, dtype))
    numbers = row.double().cpu().numpy()
    want = reference.rounded(sum(map(Fraction, numbers.tolist())) / length, dtype_of(dtype))
    assert rows * length > 2**32
    assert float(gpureduce.mean(row.expand(rows, length), exact=True)) == float(want)


def test_the_benchmark(tmp_path, on_gpu):
    """It compares as this does, by a reference of its own, and times whole calls where there is no clock."""
    if on_gpu:
        pytest.skip("for devices without a clock; others are timed by it")
    out = tmp_path / "exact.json"
    options = ["--device", "sim", "--check", "60", "--max-exponent", "8", "--repeats", "1"]
    with np.errstate(all="ignore"):
        assert command.run("exact_sums", [*options, "--out", str(out)]) == 0
    record = json.loads(out.read_text())
    assert record["compared"] == 60 and record["different"] == 0
    assert {row["dtype"] for row in record["rows"]} == {"float16", "float32", "float64"}
    one = np.float32(1)
    assert exact_sums.rounded(exact_sums.whole(np.array([one, 2.0**-24, 2.0**-149], "f4")), one.dtype) > 1


# ---- the ladder ----

RUNGS = gpureduce.variants("exact")
EXACT_RUNGS = [rung.name for rung in RUNGS[2:]]


def by(rung, array, device):
    return gpureduce.sum(array, exact=True, variant=rung, device=device)


@pytest.mark.parametrize("kind", reference.KINDS, ids=lambda kind: kind.__name__)
def test_rungs_that_are_exact(kind, device):
    rng = np.random.default_rng(reference.KINDS.index(kind))
    for n in (0, 1, 31, 5000, 20001):
        array = kind(rng, n, np.dtype(np.float32))
        want = exact_sum(array)
        with np.errstate(all="ignore"):
            for rung in EXACT_RUNGS:
                assert same(by(rung, array, device), want), (rung, n)


def test_each_rung_mends_what_the_one_before_loses(device):
    """The plain sum of a thread, small elements behind large ones, and cancellation beyond two floats."""
    n = 256 * 64
    ones = np.full(n, np.float32(0.1))
    plain = np.float32(0)
    for x in ones[:64]:
        plain += x
    assert by("e0", ones, device) == exact_sum(ones) != plain * 256
    large = np.zeros(256 * 3, np.float32)
    large[0], large[256], large[512] = 1, 2.0**40, -(2.0**40)  # of one thread
    assert by("e0", large, device) == 0 and by("e1", large, device) == 1
    wide = np.zeros(256 * 4, np.float32)
    wide[:4] = 2.0**100, 2.0**50, -(2.0**100), 1
    wide[4] = -(2.0**50)
    assert by("e1", wide, device) != 1 and all(by(rung, wide, device) == 1 for rung in EXACT_RUNGS)
    with np.errstate(all="ignore"):
        assert by("e1", np.array([1, np.inf], np.float32), device) == np.inf


@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)
def test_profiles_of_rungs(rung):
    array = reference.plain(np.random.default_rng(2), 20000, np.dtype(np.float32))
    found = gpureduce.profile(array, rung.name)
    assert found.races == () and found.result == by(rung.name, array, "sim")
    assert found.annotate() and gpureduce.source(rung.name).startswith(f"// {rung.name}: ")
    assert f".entry {rung.name}_sum_f32" in gpureduce.kernels.ptx(rung.name)


def test_exact_rungs_refuse_bad_arguments(device):
    array = np.ones((4, 4), np.float32)
    there = gpureduce.to_device(array, device)
    assert by("e4", there, device) == by("e4", array.T, device) == 16
    for wrong, call in (
        (ValueError, lambda: gpureduce.sum(array, axis=0, exact=True, variant="e4", device=device)),
        (ValueError, lambda: gpureduce.sum(array, exact=True, variant="e4", block_size=64, device=device)),
        (ValueError, lambda: gpureduce.sum(array, variant="e4", device=device)),
        (ValueError, lambda: gpureduce.mean(array, exact=True, variant="e4", device=device)),
        (ValueError, lambda: gpureduce.bench(variants="e4", device=device)),
        (TypeError, lambda: by("e4", array.astype(np.float64), device)),
    ):
        with pytest.raises(wrong, match="e4"):
            call()


def test_errors_of_the_rungs(device):
    """More is lost under more cancellation, up to the exact rungs: docs/explanation/exact-sums.md."""
    rows = dict(exact_sums.errors(1 << 12, device, draws=2))
    assert rows[1e8]["v8"] > 1e-3 and rows[1e8]["e0"] > 1e-3 > rows[1e8]["e1"]
    assert rows[1e16]["e1"] > 1e-3
    assert all(row[rung] == 0 for row in rows.values() for rung in EXACT_RUNGS)
    assert exact_sums.errors_table(64, device).count("\n") == 1 + len(rows)


@pytest.mark.many
@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_many_results(name, place):
    """Blocks that make several results, and threads that make several: each begins anew, and folds."""
    dtype = np.dtype(name)
    rng = np.random.default_rng(4)
    rows = reference.any_bits(rng, 2100 * 65, dtype).reshape(2100, 65)
    rows[5::7, 3] = np.nan
    rows[6::7, :] = -0.0
    columns = np.ascontiguousarray(rows.T[:, np.arange(8200) % 2100])
    want = np.array([exact_sum(row) for row in rows])
    for array, axis, right in ((rows, 1, want), (columns, 0, want[np.arange(8200) % 2100])):
        got = _core.exact(array, "sum", (axis,), None, None, None, *place, 0, 9, 0)
        assert same(got, right)
    start = np.array(-0.0, dtype)
    got = _core.exact(rows[:, :9], "sum", (1,), None, start, None, *place, 0, 0, 0)
    assert np.signbit(got[6::7]).all() and (got[6::7] == 0).all()
    assert same(got[:5], np.array([exact_sum(row[:9]) for row in rows[:5]]))
