"""gpureduce.multi: values against exact ones, order and division of lists, devices, layouts, errors."""

import itertools
import math
import operator
from fractions import Fraction

import numpy as np
import pytest

import gpureduce
from gpureduce import _core, multi
from gpureduce.testing import assert_same_bits
from tests.support.exact_reference import (
    DTYPES,
    KINDS,
    SCALE,
    any_bits,
    dtype_of,
    exact_sum,
    finished,
    overflowing,
    plain,
    rounded,
    subnormal,
)
from tests.support.exact_reference import whole as units

LENGTHS = (1, 0, 7, 300, 5000, 33)
INF, NAN = float("inf"), float("nan")

every_dtype = pytest.mark.parametrize("dtype", DTYPES)
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def root(square):
    """Return a fraction that rounds as the root of a fraction in any dtype: 300 bits, the last one sticky."""
    if square == 0:
        return Fraction(0)
    up = 2 * max(300 - (square.numerator.bit_length() - square.denominator.bit_length()) // 2, 0)
    scaled, rest = divmod(square.numerator << up, square.denominator)
    found = math.isqrt(scaled)
    inexact = rest != 0 or found * found != scaled
    return Fraction(2 * found + inexact, 2 << up // 2)


def exact_norm(arrays, ord, dtype):
    """Return the norm of all elements, by Python's integers."""
    values = np.concatenate([array.ravel().astype(np.float64) for array in arrays])
    magnitudes, counts = np.unique(np.abs(values), return_counts=True)
    finite = np.isfinite(magnitudes)
    special = magnitudes[~finite].tolist()
    if ord == INF:
        largest = NAN if np.isnan(special).any() else max(magnitudes.tolist(), default=0.0)
        with np.errstate(over="ignore"):
            return dtype.type(largest)
    if special:
        return finished(0, special, dtype)
    numbers = [units(value) for value in magnitudes.tolist()]
    if ord == 1:
        return finished(sum(map(operator.mul, numbers, counts.tolist())), [], dtype)
    square = sum(number * number * count for number, count in zip(numbers, counts.tolist(), strict=True))
    return rounded(root(Fraction(square, 1 << 2 * SCALE)), dtype)


def arrays_of(kind, dtype, seed=0, lengths=LENGTHS):
    rng = np.random.default_rng([seed, *kind.__name__.encode()])
    return [kind(rng, n, dtype_of(dtype)) for n in lengths]


def host(result):
    return result.numpy() if isinstance(result, gpureduce.DeviceArray) else result


@every_dtype
@every_kind
def test_results_are_exact_and_rounded_once(dtype, kind, device):
    arrays = arrays_of(kind, dtype)
    for result in (dtype, "float32", "float64"):
        out = dtype_of(result)
        options = {"device": device, "dtype": result}
        assert_same_bits(multi.sums(arrays, **options), np.array([exact_sum(a, out) for a in arrays], out))
        for ord in (1, 2, INF):
            each = np.array([exact_norm([a], ord, out) for a in arrays], out)
            assert_same_bits(multi.norms(arrays, ord, **options), each)
            assert_same_bits(multi.total_norm(arrays, ord, **options), exact_norm(arrays, ord, out))
    assert_same_bits(multi.max_abs(arrays, device=device), multi.norms(arrays, INF, device=device))
    finite = all(np.isfinite(a.astype(np.float64)).all() for a in arrays)
    assert bool(multi.all_finite(arrays, device=device)) is finite


def exact_state(arrays):
    """Return the sum of squares of finite elements in units of 2^-2176."""
    values, counts = np.unique(
        np.concatenate([a.ravel().astype(np.float64) for a in arrays]), return_counts=True
    )
    squares = (
        units(value) ** 2 * count for value, count in zip(values.tolist(), counts.tolist(), strict=True)
    )
    return sum(squares) >> 2 * SCALE - 2176


def digits_of(state):
    return sum(digit << 32 * i for i, digit in enumerate(host(state)[:142].tolist()))


def graded(rng, n, dtype):
    """Return numbers with all bits of a significand, of exponents that a window of float32 just takes."""
    most = 10 if dtype.name == "float16" else 34
    return (rng.standard_normal(n) * 2.0 ** -rng.integers(0, most, n)).astype(dtype)


@every_dtype
@pytest.mark.parametrize("kind", [plain, any_bits, subnormal, overflowing, graded], ids=lambda k: k.__name__)
def test_state_is_the_exact_sum_of_squares(dtype, kind, device):
    arrays = arrays_of(kind, dtype)
    assert digits_of(multi.partial_total_norm(arrays, device=device)) == exact_state(arrays)
    on_device = tuple(gpureduce.to_device(a, device) for a in arrays_of(kind, dtype, 1, (20_000,)))
    state = _core.multi(on_device, "squares", blocks=1)
    assert digits_of(state) == exact_state([a.numpy() for a in on_device])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("binades", [11, 12, 13, 14, 16, 17, 18])
def test_few_small_elements_among_large_ones_lose_no_bit(dtype, binades, device):
    """Elements, and squares, whose exponents are near are added to each other before they meet the window."""
    rng = np.random.default_rng(binades)
    least, bits = {"float16": (2.0**-14, 11), "bfloat16": (2.0**-40, 8)}[dtype]
    small = rng.integers(0, 32, 20_000) == 0
    odd = rng.integers(2 ** (bits - 2), 2 ** (bits - 1), small.size) * 2 + 1
    significands = np.where(small, odd, 2**bits - 1) / 2 ** (bits - 1)
    a = (significands * np.where(small, least, least * 2.0**binades)).astype(dtype_of(dtype))
    on_device = (gpureduce.to_device(a, device),)
    assert digits_of(_core.multi(on_device, "squares", blocks=1)) == exact_state([a])
    assert_same_bits(multi.sums(on_device, dtype="float64"), np.array([exact_sum(a, np.dtype("f8"))]))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize(
    "binades", [16, 18, 20, 25, 26, 27, 32, 34, 37, 40, 42, 53, 55, 56, 61, 63, 73, 75, 90]
)
def test_elements_of_so_many_binades_lose_no_bit(dtype, binades, device):
    """Batches, the doubles of a window, and the window itself hold this many, each."""
    rng = np.random.default_rng(binades)
    bits = {"float16": 11, "bfloat16": 8, "float32": 24}[dtype]
    binades, largest = (min(binades, 29), 15) if dtype == "float16" else (binades, 40)
    shape = (40, 500)
    significands = rng.integers(2 ** (bits - 2), 2 ** (bits - 1), shape) * 2 + 1.0
    # Few exponents between the largest and the least one, and zeros in some rows.
    exponents = rng.choice([0, 0, 1, binades // 2, binades], shape) + rng.integers(0, 3, (40, 1))
    a = significands * 2.0 ** (largest - bits - exponents) * rng.choice([-1, 1], shape)
    a[::3] *= rng.integers(0, 2, a[::3].shape)
    a = a.astype(dtype_of(dtype))
    on_device = (gpureduce.to_device(a, device),)
    assert digits_of(_core.multi(on_device, "squares", blocks=1)) == exact_state([a])
    double = np.dtype("f8")
    for op, wanted in (("sum", exact_sum(a, double)), ("norm1", exact_norm([a], 1, double))):
        assert_same_bits(_core.multi(on_device, op, dtype="float64", blocks=1), wanted)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("special", [INF, NAN])
def test_one_special_element_among_others(dtype, special, device):
    """Its batch has a window already."""
    a = np.random.default_rng(0).standard_normal(30_000).astype(dtype_of(dtype))
    a[20_011] = -special
    on_device = (gpureduce.to_device(a, device),)
    for op, wanted in (("sum", -special), ("norm1", special), ("norm2", special), ("max", special)):
        got = float(_core.multi(on_device, op, dtype="float64", blocks=1).numpy())
        assert got == wanted or (math.isnan(got) and math.isnan(wanted))


@every_dtype
def test_full_windows_and_bins_are_emptied_in_time(dtype, device):
    """One block takes all elements: each thread more than a window, and than a bin, has capacity for."""
    of = dtype_of(dtype)
    n = 700_000 if dtype in ("float32", "bfloat16") else 150_000
    # Every group of elements misses the window, and squares are the largest of a bin.
    outliers = np.where(np.arange(n) % 2 == 0, 1.2, 2.0**-14 if dtype == "float16" else 2.0**-60).astype(of)
    equal = np.full(n // 2, 60000.0 if dtype == "float16" else 2.0**100).astype(of)
    for a in (outliers, equal):
        on_device = (gpureduce.to_device(a, device),)
        assert digits_of(_core.multi(on_device, "squares", blocks=1)) == exact_state([a])
        sums = _core.multi(on_device, "norm1", dtype="float64", blocks=1)
        assert_same_bits(sums, exact_norm([a], 1, np.dtype("f8")))


def test_a_window_of_sums_is_emptied_before_its_bits_run_out(device):
    """The least elements of a window, and the largest ones; one block takes them all."""
    a = np.ones(3_000_000, np.float32)
    a[4096::2], a[4097::2] = 255 / 32, 2.0**-31 * 255 / 128
    a = a.astype(dtype_of("bfloat16"))
    on_device = (gpureduce.to_device(a, device),)
    found = _core.multi(on_device, "norm1", dtype="float64", blocks=1)
    assert_same_bits(found, exact_norm([a], 1, np.dtype("f8")))


@every_dtype
def test_bits_depend_neither_on_order_nor_on_division(dtype, device):
    rng = np.random.default_rng(1)
    whole = any_bits(rng, 30_000, dtype_of(dtype))
    want = multi.total_norm([whole], device=device, dtype="float64")
    for _ in range(3):
        cuts = np.sort(rng.integers(0, whole.size, 9))
        parts = list(np.split(whole, cuts))
        rng.shuffle(parts)
        assert_same_bits(multi.total_norm(parts, device=device, dtype="float64"), want)
        shards = [multi.partial_total_norm(parts[i::3], device=device) for i in range(3)]
        assert_same_bits(multi.total_norm_of(shards[0] + shards[1] + shards[2], device=device), want)
        assert_same_bits(multi.total_norm_of(np.stack(shards[::-1]), device=device), want)


def test_states_of_infinities_and_nans_merge(device):
    states = {x: multi.partial_total_norm([np.array([x])], device=device) for x in (1.0, INF, -INF, NAN)}
    pairs = [(1.0, INF, INF), (INF, INF, INF), (-INF, INF, INF), (INF, NAN, NAN), (NAN, NAN, NAN)]
    for one, other, want in pairs:
        assert_same_bits(multi.total_norm_of(states[one] + states[other], device=device), np.float64(want))


# Roots of which the last bit of 25 or 54 is 1, as sums of squares: ties, to be rounded down and up.
TIES = [
    ("float32", [2.0**24, 2.0**12, 2.0**12, 1.0], 2**24 + 1),
    ("float32", [2.0**24, 2.0**13, 2.0**12, 2.0**12, 3.0], 2**24 + 3),
    ("float64", [2.0**53, 2.0**27, 1.0], 2**53 + 1),
    ("float64", [2.0**53, 2.0**27, 2.0**27, 2.0**27, 3.0], 2**53 + 3),
]


@pytest.mark.parametrize(("dtype", "parts", "number"), TIES)
@pytest.mark.parametrize("below", [0.0, 2.0**-300])
@pytest.mark.parametrize("scale", [1.0, 2.0**-40])
def test_root_is_rounded_at_ties_and_above_them(dtype, parts, number, below, scale, device):
    assert sum(int(part) ** 2 for part in parts) == number**2
    a = np.array([*parts, below]) * scale
    want = rounded((Fraction(number) + (below > 0) * Fraction(1, 2**600)) * Fraction(scale), dtype_of(dtype))
    assert_same_bits(multi.total_norm([a], device=device, dtype=dtype), want)


def python_fingerprint(words, offset=0):
    """Return the fingerprint by the formula of the docstring."""
    modulus, total = 1 << 64, 0
    for i, bits in enumerate(words):
        x = (bits + (offset + i + 1) * 0x9E3779B97F4A7C15) % modulus
        for _ in range(2):
            x = (x ^ x >> 32) * 0xD6E8FEB86659FD93 % modulus
        total += x ^ x >> 32
    return total % modulus


def words_of(a):
    """Return the bytes of an array in words of eight, the last one filled up with zeros."""
    return np.frombuffer(a.tobytes() + bytes(-a.nbytes % 8), "<u8").tolist()


def every_width():
    rng = np.random.default_rng(5)
    names = ["bool", "u1", "i2", "f2", "i4", "f4", "i8", "f8", "c8", "c16"]
    arrays = [
        rng.integers(0, 2 if name == "bool" else 100, (3, n)).astype(name) for n, name in enumerate(names)
    ]
    return [*arrays, rng.standard_normal((70, 90)), rng.integers(0, 255, 40_001).astype("u1")]


def test_fingerprint_is_that_of_its_formula(device):
    arrays = every_width()
    words = [word for a in arrays for word in words_of(a)]
    for offset in (0, 12_345, 2**64 - 5):
        assert int(multi.fingerprint(arrays, offset=offset, device=device)) == python_fingerprint(
            words, offset
        )
    each = multi.fingerprints(arrays, device=device)
    assert each.tolist() == [python_fingerprint(words_of(a)) for a in arrays]


def test_fingerprints_of_parts_add_up(device):
    arrays = every_width()
    position, total = 0, 0
    for a in arrays:
        total += int(multi.fingerprint([a], offset=position, device=device))
        position += (a.nbytes + 7) // 8
    assert total % 2**64 == int(multi.fingerprint(arrays, device=device))


@pytest.mark.parametrize("start", range(17))
def test_fingerprint_of_bytes_at_any_address(start, device):
    """Vectors of 16 bytes at any address, several for each thread, and the bytes behind them."""
    a = np.random.default_rng(start).integers(0, 256, 17 + 40_000, "u1")
    on_device = gpureduce.to_device(a, device)
    for size in (0, 1, 15, 16, 17, 40, 16_384 + start, 40_000):
        view = on_device[start : start + size]
        wanted = python_fingerprint(words_of(a[start : start + size]))
        assert int(multi.fingerprint([view]).numpy()) == wanted
        assert int(_core.multi((view,), "fingerprint", blocks=1).numpy()) == wanted


def test_fingerprints_of_pieces_of_whole_words_add_up(device):
    a = np.random.default_rng(3).standard_normal(5001).astype(np.float16)
    cuts = [0, 4, 400, 4000, a.size]
    total = sum(
        int(multi.fingerprint([a[start:end]], offset=start * a.itemsize // 8, device=device))
        for start, end in itertools.pairwise(cuts)
    )
    assert total % 2**64 == int(multi.fingerprint([a], device=device))


@pytest.mark.parametrize("change", ["swap", "sign", "payload", "bit", "order"])
def test_fingerprint_finds_a_change(change, device):
    a = np.arange(1000, dtype=np.float32)
    a[500] = np.nan
    b = a.copy()
    if change == "swap":
        b[[3, 4]] = b[[4, 3]]
    elif change == "sign":
        b[0] = -0.0
    elif change == "order":
        b = b[::-1].copy()
    else:
        b.view("u4")[500 if change == "payload" else 7] ^= 1
    assert multi.fingerprint([a], device=device) != multi.fingerprint([b], device=device)
    assert multi.fingerprint([a], device=device) == multi.fingerprint([a.copy()], device=device)


def test_mixed_dtypes_share_one_result(device):
    rng = np.random.default_rng(2)
    arrays = [plain(rng, 200, dtype_of(name)) for name in (*DTYPES, *reversed(DTYPES))]
    assert_same_bits(multi.total_norm(arrays, device=device), exact_norm(arrays, 2, np.dtype("f8")))
    narrow = [a for a in arrays if a.dtype != np.float64]
    assert multi.sums(narrow, device=device).dtype == np.float32
    assert_same_bits(
        multi.sums(arrays, device=device), np.array([exact_sum(a, np.dtype("f8")) for a in arrays])
    )


def test_device_arrays_give_device_results_of_the_same_bits(device):
    arrays = arrays_of(plain, "float32")
    on_device = [gpureduce.to_device(a, device) for a in arrays]
    for call in (multi.sums, multi.norms, multi.max_abs, multi.total_norm, multi.partial_total_norm):
        result = call(on_device)
        assert isinstance(result, gpureduce.DeviceArray)
        assert_same_bits(result, call(arrays, device=device))
    for call in (multi.all_finite, multi.fingerprint, multi.fingerprints):
        assert_same_bits(call(on_device), np.asarray(call(arrays, device=device)))


def test_views_count_their_own_elements_alone(device):
    a = np.random.default_rng(4).standard_normal((30, 50))
    on_device = gpureduce.to_device(a, device)
    cuts = [(slice(None, None, 2), slice(3, None)), (slice(None), 7), (slice(0, 1), slice(None, None, -1))]
    for key in cuts:
        views, copies = [on_device[key], on_device.T], [a[key].copy(), a.T.copy()]
        assert_same_bits(multi.total_norm(views), np.asarray(multi.total_norm(copies, device=device)))
        assert_same_bits(multi.fingerprint(views), np.asarray(multi.fingerprint(copies, device=device)))
        assert_same_bits(
            multi.total_norm([a[key], a.T], device=device), multi.total_norm(copies, device=device)
        )


@pytest.mark.parametrize("start", range(1, 9))
def test_arrays_at_any_address(start, device):
    a = np.arange(1, 60, dtype=np.float16)
    on_device = gpureduce.to_device(a, device)
    views = [on_device[start:], on_device[:start], on_device[start : start + 1]]
    copies = [a[start:], a[:start], a[start : start + 1]]
    assert_same_bits(multi.norms(views, 1), multi.norms(copies, 1, device=device))
    assert_same_bits(multi.max_abs(views), np.array([c.max() for c in copies]))
    assert_same_bits(multi.fingerprints(views), multi.fingerprints(copies, device=device))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("max_norm", [0.5, 1e9])
def test_scaling_in_place(dtype, max_norm, device):
    of = dtype_of(dtype)
    arrays = [plain(np.random.default_rng(n), n, of) for n in (5, 9000, 17)]
    on_device = tuple(gpureduce.to_device(a, device) for a in arrays)
    norm = multi.total_norm(on_device, dtype="float64" if dtype == "float64" else "float32")
    _core.multi(on_device, "scale", norm=norm, max_norm=max_norm, eps=1e-6)
    factor = min(max_norm / (float(norm.numpy()) + 1e-6), 1.0)
    wide = np.float64 if dtype == "float64" else np.float32
    for before, after in zip(arrays, on_device, strict=True):
        assert_same_bits(after, (before.astype(wide) * wide(factor)).astype(of))


def test_the_same_list_again_copies_no_table(device):
    arrays = tuple(gpureduce.to_device(np.ones(100), device) for _ in range(20))
    one = multi.total_norm(arrays)
    for k in range(40):  # more lists than tables are kept
        assert float(multi.total_norm(arrays[: 1 + k % 19]).numpy()) == math.sqrt(100 * (1 + k % 19))
    assert_same_bits(multi.total_norm(list(arrays)), one)


def test_an_array_list_gives_the_results_of_the_list(device):
    arrays = [*arrays_of(plain, "float32"), *arrays_of(plain, "float64")]
    mixed = [gpureduce.to_device(a, device) for a in arrays]
    known = multi.ArrayList(iter(mixed))
    assert len(known) == len(mixed) and list(known) == mixed and known[1] is mixed[1]
    calls = (multi.sums, multi.norms, multi.max_abs, multi.total_norm, multi.all_finite, multi.fingerprint)
    for call in (*calls, multi.fingerprints, multi.partial_total_norm):
        assert_same_bits(call(known), call(mixed))
    norm = multi.total_norm(mixed[3:4])
    _core.multi((mixed[3],), "scale", norm=norm, max_norm=0.5, eps=0.0)
    assert not np.array_equal(mixed[3].numpy(), arrays[3])
    assert_same_bits(multi.total_norm(known), multi.total_norm(mixed))
    with pytest.raises(TypeError, match=r"arrays\[1\]: expected real floating-point"):
        multi.sums(multi.ArrayList([mixed[0], gpureduce.to_device(np.arange(3), device)]))


def test_dtype_of_a_list(device):
    """float64 decides, also among others; else several dtypes have results of float32."""
    for names, wanted in (
        (("float64",), "float64"),
        (("float16", "float16"), "float16"),
        (("float16", "float32"), "float32"),
        (("float32", "float64", "float16"), "float64"),
        (("int8", "float64"), "float64"),
    ):
        arrays = tuple(gpureduce.to_device(np.ones(2, name), device) for name in names)
        assert _core.multi_dtype(_core.multi_list(arrays, False)) == wanted
    with pytest.raises(ValueError):
        _core.multi_dtype(object())


def test_an_array_list_keeps_its_arrays(device):
    known = multi.ArrayList([gpureduce.to_device(np.full(1000, 2.0), device) for _ in range(3)])
    others = [gpureduce.to_device(np.full(1000, 5.0), device) for _ in range(3)]
    assert multi.sums(known).numpy().tolist() == [2000] * 3 and others


def test_array_lists_of_other_arrays(device):
    a = np.arange(12.0).reshape(3, 4)
    on_device = gpureduce.to_device(a, device)
    assert multi.total_norm(multi.ArrayList([])) == 0
    for known in (multi.ArrayList([a]), multi.ArrayList([on_device[:, ::2]]), multi.ArrayList([on_device.T])):
        options = {"device": device} if known[0] is a else {}
        assert_same_bits(multi.total_norm(known, **options), multi.total_norm(list(known), **options))
        assert_same_bits(multi.fingerprint(known, **options), multi.fingerprint(list(known), **options))


def test_empty_lists_and_arrays(device):
    assert multi.total_norm([]) == 0 and multi.sums([]).shape == (0,) and multi.fingerprints([]).size == 0
    assert multi.all_finite([]) and multi.fingerprint([]) == 0 and not multi.partial_total_norm([]).any()
    empty = [np.empty(0, np.float32), np.empty((3, 0), np.float32)]
    assert multi.sums(empty, device=device).tolist() == [0, 0]
    assert multi.max_abs(empty, device=device).tolist() == [0, 0]
    assert multi.total_norm(empty, device=device) == 0
    assert multi.all_finite(empty, device=device)


def test_an_iterator_is_a_list(device):
    assert multi.total_norm((np.array([x]) for x in (3.0, 4.0)), device=device) == 5


def test_errors_name_the_element(device):
    a = np.ones(3)
    on_device = gpureduce.to_device(a, device)
    for arrays, message in (
        ([a, on_device], r"arrays\[1\]: is on .*, but arrays\[0\] is on the host"),
        ([on_device, on_device, a], r"arrays\[2\]: is on the host, but arrays\[0\] is on"),
    ):
        with pytest.raises(ValueError, match=message):
            multi.total_norm(arrays)
    for arrays in ([a, np.arange(3)], [on_device, gpureduce.to_device(np.arange(3), device)]):
        with pytest.raises(TypeError, match=r"arrays\[1\]: expected real floating-point"):
            multi.sums(arrays, device=device)
    with pytest.raises(TypeError, match="arrays: expected a list of arrays, got ndarray"):
        multi.sums(a)
    with pytest.raises(TypeError, match="arrays: expected a list of arrays, got int"):
        multi.sums(3)


def test_errors_of_other_arguments(device):
    for ord in (3, 0, "fro", None):
        with pytest.raises(ValueError, match="ord: expected 1, 2 or inf"):
            multi.total_norm([np.ones(2)], ord, device=device)
    with pytest.raises(TypeError, match="dtype: expected a real floating-point dtype"):
        multi.sums([np.ones(2)], dtype=np.int32, device=device)
    for offset in (-1, 2**64):
        with pytest.raises(ValueError, match="offset: expected 0 to"):
            multi.fingerprint([np.ones(2)], offset=offset, device=device)
    with pytest.raises(ValueError, match="states: expected 144 int64"):
        multi.total_norm_of(np.zeros(100, np.int64), device=device)


def test_arrays_on_two_devices_are_refused():
    one, other = gpureduce.to_device(np.ones(2), "sim"), gpureduce.to_device(np.ones(2), "sim:1")
    with pytest.raises(ValueError, match=r"arrays\[1\]: is not on the device of arrays\[0\]"):
        multi.total_norm([one, other])
