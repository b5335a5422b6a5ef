"""Sums and means of groups: exact and rounded once, whatever the data, the labels, the layout and the order.

The reference adds significands as Python's integers, and rounds a fraction once.
"""

import math
import warnings
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce._profiles.from_core import kernel_profiles, observe
from tests.support import exact_reference as reference
from tests.support.children import python
from tests.support.numpy_oracle import BFLOAT16
from tests.support.sanitized import not_under_asan

SEED = 42
FLOATS = ("float32", "float64", "float16", *(["bfloat16"] if BFLOAT16 is not None else []))
COMPLEX = ("complex64", "complex128")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")
LABELS = ("int64", "int32", "uint64", "uint32", "int16", "uint16", "int8", "uint8")


def parts_of(dtype):
    """Return the dtype of a component."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


# ---- the reference ----


def significands(values):
    """Return floats as integers in units of 2^-1127; 0 for those that are not finite."""
    doubles = values.astype(np.float64)
    fractions, exponents = np.frexp(np.where(np.isfinite(doubles), doubles, 0))
    whole = (fractions * 2.0**53).astype(np.int64).astype(object)
    shifts = exponents.astype(np.int64) - 53 + 1127  # the smallest float64 has 53 bits in frexp's form
    return whole << np.maximum(shifts, 0).astype(object)


def expected_floats(values, labels, groups, mean):
    """Return the sums or means of groups of one column of floats."""
    dtype, doubles = values.dtype, values.astype(np.float64)
    taken = np.flatnonzero((labels >= 0) & (labels < groups))
    labels, values, doubles = labels[taken].astype(np.int64), values[taken], doubles[taken]
    totals = np.zeros(groups, object)
    np.add.at(totals, labels, significands(values))
    rows = np.bincount(labels, minlength=groups)
    result = np.zeros(groups, dtype)
    for group in np.flatnonzero(rows):
        divisor = int(rows[group]) if mean else 1
        result[group] = reference.rounded(Fraction(totals[group], divisor << 1127), dtype)
    minus = np.bincount(labels[np.signbit(doubles) & (doubles == 0)], minlength=groups)
    result[(minus == rows) & (rows > 0)] = dtype.type(-0.0)
    infinite = [np.bincount(labels[doubles == end], minlength=groups) > 0 for end in (math.inf, -math.inf)]
    result[infinite[0]], result[infinite[1]] = dtype.type(math.inf), dtype.type(-math.inf)
    nan = np.bincount(labels[np.isnan(doubles)], minlength=groups) > 0
    result[nan | (infinite[0] & infinite[1]) | ((rows == 0) & mean)] = dtype.type(math.nan)
    return result


def expected_integers(values, labels, groups, mean):
    """Return the sums, which wrap, or the means of groups of one column of integers."""
    totals, rows = [0] * groups, [0] * groups
    for label, value in zip(labels.tolist(), values.tolist(), strict=True):
        if 0 <= label < groups:
            totals[label] += int(value)
            rows[label] += 1
    if mean:
        dtype = np.dtype("float64")
        means = [
            reference.rounded(Fraction(total, count), dtype) if count else math.nan
            for total, count in zip(totals, rows, strict=True)
        ]
        return np.array(means, dtype)
    wrapped = np.array([total % 2**64 for total in totals], np.uint64)
    return wrapped if values.dtype.kind == "u" else wrapped.view(np.int64)


def expected(a, labels, groups, op, axis):
    """Return the sums or means of groups along an axis."""
    columns = np.moveaxis(a, axis, 0)
    shape, mean = columns.shape[1:], op == "mean"
    columns = columns.reshape(len(labels), math.prod(shape))
    of = expected_integers if a.dtype.kind in "biu" else expected_floats
    results = []
    for column in columns.T:
        if a.dtype.kind == "c":
            pair = [of(part, labels, groups, mean) for part in (column.real, column.imag)]
            results.append(np.stack(pair, -1).view(a.dtype)[:, 0])
        else:
            results.append(of(column, labels, groups, mean))
    if not results:
        results_dtype = of(np.zeros(0, a.dtype), np.zeros(0, int), 1, mean).dtype
        return np.moveaxis(np.zeros((groups, *shape), results_dtype), 0, axis)
    return np.moveaxis(np.stack(results, -1).reshape(groups, *shape), 0, axis)


def same(got, want):
    """Return whether two arrays have the same bits, but for those of NaN."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if got.dtype.kind in "iu":
        return np.array_equal(got, want)
    part = parts_of(got.dtype)
    got, want = np.ascontiguousarray(got), np.ascontiguousarray(want)
    return reference.same(got.reshape(-1).view(part), want.reshape(-1).view(part))


def check(got, want, note):
    got = got.numpy() if isinstance(got, gpureduce.DeviceArray) else got
    if not same(got, want):
        assert (got.dtype, got.shape) == (want.dtype, want.shape), note
        far = np.argwhere((got != want) | (np.signbit(got.real) != np.signbit(want.real)))[:5]
        pairs = [(tuple(at), got[tuple(at)], want[tuple(at)]) for at in far.tolist()]
        raise AssertionError(f"{note}: {pairs}")


# ---- data: one column, with its labels ----


def constant(rng, labels, dtype):
    """Return one number in all rows: long carries, and means that are the number itself."""
    return np.resize(reference.any_bits(rng, 1, dtype), len(labels))


def opposite(rng, labels, dtype):
    """Return numbers that cancel within their groups, but for the last bit of a few."""
    order = np.argsort(labels, kind="stable")
    numbers = reference.any_bits(rng, len(labels), dtype)
    pair = np.flatnonzero(labels[order][1::2] == labels[order][: len(labels) // 2 * 2 : 2])
    first, second = order[2 * pair], order[2 * pair + 1]
    numbers[second] = -numbers[first]
    bits = numbers.view(f"u{dtype.itemsize}")
    bits[second[rng.random(len(second)) < 0.03]] ^= 1
    return np.where(np.isfinite(numbers.astype(np.float64)), numbers, dtype.type(1)).astype(dtype)


def halfway(rng, labels, dtype):
    """Return numbers whose sums lie halfway between two others, or next to it: the sticky bit decides."""
    numbers = np.zeros(len(labels), dtype)
    for group in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == group))
        parts = reference.near_ties(rng, 0, dtype)
        parts = parts if len(parts) <= len(rows) else parts[: len(rows)]
        numbers[rows[: len(parts)]] = parts
    return numbers


def neighbours(rng, labels, dtype):
    """Return one number, the next one and a few of their halves: means on ties and next to them."""
    first = np.abs(reference.any_bits(rng, 1, dtype))[0]
    bits = np.full(len(labels), first).view(f"u{dtype.itemsize}").copy()
    bits += (rng.random(len(labels)) < 0.5).astype(bits.dtype)
    numbers = bits.view(dtype)
    numbers = np.where(np.isfinite(numbers.astype(np.float64)), numbers, dtype.type(1)).astype(dtype)
    return numbers if rng.random() < 0.5 else -numbers


def wide(rng, labels, dtype):
    """Return normal numbers, of exponents over a random range."""
    most = {"float16": 10, "bfloat16": 100, "float32": 100}.get(dtype.name, 900)
    range_of = int(rng.integers(0, most))
    return (
        rng.standard_normal(len(labels)) * 2.0 ** rng.integers(-range_of, range_of + 1, len(labels))
    ).astype(dtype)


def zeros(rng, labels, dtype):
    """Return zeros of both signs, of one sign in most groups, and a few numbers that cancel."""
    sign = rng.random(int(labels.max(initial=0)) + 2)[np.maximum(labels, -1).astype(np.int64)] < 0.6
    numbers = np.where(sign ^ (rng.random(len(labels)) < 0.02), dtype.type(-0.0), dtype.type(0)).astype(dtype)
    return numbers


def infinities(rng, labels, dtype):
    """Return normal numbers, with a few infinities and NaNs among them."""
    numbers = rng.standard_normal(len(labels)).astype(dtype)
    some = rng.random(len(labels)) < min(1.0, 4 / max(len(labels), 1))
    numbers[some] = rng.choice(np.array([math.inf, -math.inf, math.nan]), int(some.sum())).astype(dtype)
    return numbers


def flat(kind):
    def numbers(rng, labels, dtype):
        return np.resize(kind(rng, len(labels), dtype), len(labels)).astype(dtype)

    numbers.__name__ = kind.__name__
    return numbers


KINDS = (
    flat(reference.plain), wide, flat(reference.any_bits), opposite, halfway, neighbours, zeros, infinities,
    constant, flat(reference.overflowing), flat(reference.subnormal), flat(reference.sparse),
)  # fmt: skip


def drawn_integers(rng, labels, dtype):
    if dtype.kind == "b":
        return rng.random(len(labels)) < 0.5
    info = np.iinfo(dtype)
    if rng.random() < 0.3:
        return np.full(len(labels), info.min if rng.random() < 0.5 else info.max, dtype)
    return rng.integers(info.min, info.max, len(labels), dtype, endpoint=True)


def drawn_labels(rng, n, groups, on_device):
    """Return labels as int64, of one of several distributions."""
    most = max(groups, 1)
    labels = {
        "uniform": lambda: rng.integers(0, most, n),
        "zipf": lambda: np.minimum(rng.zipf(1.3, n) - 1, most - 1),
        "sorted": lambda: np.sort(rng.integers(0, most, n)),
        "equal": lambda: np.full(n, rng.integers(0, most)),
        "runs": lambda: np.repeat(rng.integers(0, most, n // 3 + 1), 3)[:n],
        "two": lambda: rng.choice([0, most - 1], n),
    }[str(rng.choice(["uniform", "uniform", "zipf", "sorted", "equal", "runs", "two"]))]()
    if groups == 0:
        labels = np.full(n, -1)
    if rng.random() < 0.3:
        labels[rng.random(n) < rng.choice([0.1, 0.9])] = -1
    if on_device and rng.random() < 0.3:
        labels[rng.random(n) < 0.2] = groups + rng.integers(0, 5)
    return labels


def cast_labels(rng, labels, name):
    """Return labels in a dtype that holds them; -1 becomes another number of no group."""
    info = np.iinfo(name)
    cast = labels.astype(name)
    if info.min == 0:
        cast[labels < 0] = info.max
    elif rng.random() < 0.5:
        cast[labels < 0] = info.min
    return cast


def quietly(call):
    """Return the result of a call, without the warnings of sums that are not finite."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return call()


def spread_out(rng, array, axis=0):
    """Return a base and the index that makes the array of it: contiguous, every other one, or backwards."""
    index = [slice(None)] * array.ndim
    if (layout := int(rng.integers(0, 4))) == 1:
        array = np.repeat(array, 2, axis)
        index[axis] = slice(None, None, 2)
    elif layout == 2:
        array = np.flip(array, axis).copy()
        index[axis] = slice(None, None, -1)
    elif layout == 3 and array.ndim == 1:
        array = np.concatenate([array[:1], array]) if array.size else array
        index[axis] = slice(1 if array.size else None, None)
    return array, tuple(index)


def drawn_call(number):
    """Return the arguments and the result of a random call."""
    rng = np.random.default_rng([SEED, number])
    name = str(rng.choice([*FLOATS, *FLOATS, *FLOATS, *COMPLEX, *INTEGERS]))
    dtype = reference.dtype_of(name)
    n = int(rng.choice([0, 1, 2, 7, 33, *rng.integers(1, 400, 3), *rng.integers(300, 2500, 2)]))
    on_device = bool(rng.random() < 0.6)
    label_name = str(rng.choice(LABELS, p=[0.3, 0.3, *[0.4 / 6] * 6]))
    few = rng.random() < 0.5
    groups = int(rng.integers(1, 30) if few else rng.integers(0, max(2, min(n + n // 2, 1500))))
    labels = drawn_labels(rng, n, min(groups, np.iinfo(label_name).max - 8), on_device)
    if np.iinfo(label_name).min == 0 and np.iinfo(label_name).max < groups:
        labels = np.maximum(labels, 0)  # every label of the dtype is a group
    before, after = [], []
    if rng.random() < 0.4:
        before = rng.integers(1, 4, int(rng.integers(0, 3))).tolist()
        after = rng.integers(0 if rng.random() < 0.05 else 1, 5, int(rng.integers(0, 3))).tolist()
        if rng.random() < 0.1 and n < 400:
            after = [int(rng.integers(30, 70))]
    columns = math.prod([*before, *after])
    if dtype.kind in "biu":
        parts = [drawn_integers(rng, labels, dtype) for _ in range(columns)]
        kind = "integers"
    else:
        kinds = [KINDS[int(rng.integers(len(KINDS)))] for _ in range(columns * (1 + (dtype.kind == "c")))]
        with np.errstate(all="ignore"):
            parts = [each(rng, labels, parts_of(dtype)) for each in kinds]
        kind = kinds[0].__name__ if kinds else ""
        if dtype.kind == "c":
            parts = [
                np.stack(pair, -1).view(dtype)[:, 0] for pair in zip(parts[::2], parts[1::2], strict=True)
            ]
    a = np.stack(parts, 0) if parts else np.zeros((0, n), dtype)
    a = np.moveaxis(a.reshape(*before, *after, n), -1, len(before)).copy()
    op = "mean" if rng.random() < 0.4 else "sum"
    note = f"call {number}: {op} {name} {kind} {a.shape} axis {len(before)} groups {groups} {label_name}"
    want = expected(a, labels, groups, op, len(before))
    return rng, a, labels, label_name, groups, op, len(before), on_device, want, note


def chosen(calls, thin):
    return range(0, calls, 10) if thin else range(calls)


def check_call(number, device):
    """Check a random call, and one with the rows in another order; return the number of their results."""
    rng, a, labels, label_name, groups, op, axis, on_device, want, note = drawn_call(number)
    for _ in range(2):
        given = cast_labels(rng, labels, label_name)
        if not on_device and given.dtype.kind == "u":
            given = labels.astype("int64")  # a host label is below the number of groups
        place = partial(gpureduce.to_device, device=device) if on_device else np.asarray
        (base, index), (label_base, label_index) = spread_out(rng, a, axis), spread_out(rng, given)
        there, label_array = place(base)[index], place(label_base)[label_index]
        options = {"device": device}
        if rng.random() < 0.3:
            options["out"] = place(np.ones(want.shape, want.dtype))
        got = quietly(partial(gpureduce.group_reduce, there, label_array, op, groups, axis=axis, **options))
        check(got, want, note)
        order = rng.permutation(len(labels))
        a, labels = np.take(a, order, axis), labels[order]
    return 2 * want.size


def test_random_calls(device, pytestconfig, thin):
    """Any dtype, data, labels, layout and place gives the reference's bits; so does any order of the rows."""
    for number in chosen(pytestconfig.getoption("group_cases"), thin):
        check_call(number, device)


# ---- kernels ----

LONG = 4  # gr_groups_path


def launched(a, labels, groups, op="sum", races=False, **options):
    """Return the result on the simulator, and its kernels: those of many rows, unless `path` is given."""
    options.setdefault("path", LONG)

    def call(device):
        options["destination"] = (None, device, 0, 0)
        return _core.groups(a=a, op=op, axis=0, labels=labels, num_groups=groups, **options)

    result, launches, problem = observe(call, races)
    assert problem is None
    return result, kernel_profiles(launches, "", 0)


@pytest.mark.parametrize(
    ("name", "n", "groups", "label_name", "op", "first"),
    [
        ("float32", 4000, 9, "int64", "sum", "group_window_f32_i64"),
        ("float16", 4000, 1000, "int32", "mean", "group_window_f16_i32"),
        ("float32", 16_400, 4100, "int64", "mean", "group_window_f32_i64"),  # batches
        ("float32", 3999, 1000, "int32", "sum", "group_planes_f32"),  # few rows per group
        ("float32", 4000, 9, "int16", "sum", "group_planes_f32"),
        ("float64", 4000, 9, "int64", "mean", "group_window_f64_i64"),
        ("float64", 4000, 9, "uint8", "mean", "group_planes_f64"),
        ("complex64", 4000, 9, "int64", "sum", "group_planes_f32"),
        ("int32", 4000, 9, "int64", "mean", "group_window_i32_i64"),
        ("int64", 4000, 9, "int64", "mean", "group_planes_integers"),
    ],
)
def test_kernels_have_no_races(name, n, groups, label_name, op, first):
    """A call has the kernels that the tests of this file mean it to have, and none of them races."""
    rng = np.random.default_rng(n)
    a = (rng.standard_normal(n) * 2.0 ** rng.integers(-14, 14, n)).astype(name)
    labels = rng.integers(0, groups, n).astype(label_name)
    for given in (labels, np.sort(labels % 40)):
        got, kernels = launched(a, given, groups, op, races=True)
        check(got, expected(a, given, groups, op, 0), first)
        assert kernels[0].name == first and all(kernel.races == () for kernel in kernels)


@pytest.mark.parametrize(("groups", "label_name"), [(100, "int64"), (3000, "int64"), (9000, "int16")])
def test_sums_take_at_most_three_times_the_instructions_of_a_stable_sort(groups, label_name):
    """The time on the simulator is nearly in proportion."""
    rng, n = np.random.default_rng(groups), 20_000
    a, labels = rng.standard_normal(n).astype(np.float32), rng.integers(0, groups, n).astype(label_name)
    got, kernels = launched(a, labels, groups)

    def by_sorting(device):
        order = _core.label_order(labels, groups, (None, device, 0, 0))
        more = {"permuted_rows": n, "ddof": 0, "destination": (None, device, 0, 0)}
        return _core.segments(a=a, op="sum", axis=0, offsets=order, **more)

    sorted_sums, launches, problem = observe(by_sorting, False)
    assert problem is None and same(got, sorted_sums)
    of_groups, of_sort = (
        sum(kernel.totals.warp_instructions for kernel in each)
        for each in (kernels, kernel_profiles(launches, "", 0))
    )
    assert of_groups <= 3 * of_sort


# ---- many rows ----


@pytest.mark.large
@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16"])
def test_planes_spill_before_they_overflow(name, device):
    """The largest numbers of a plane, more of them than it holds; by other kernels, other windows."""
    if name not in FLOATS:
        pytest.skip("needs ml_dtypes")
    dtype, n = reference.dtype_of(name), 2**24 + 2**21 + 5
    precision, _ = reference.FORMATS[name]
    most = dtype.type((2 - 2.0 ** (1 - precision)) * 2.0**6)  # the greatest exponent of its plane
    a = gpureduce.to_device(np.full(n, most), device)
    for sign in (1, -1):
        if sign < 0:
            a = gpureduce.to_device(np.full(n, -most), device)
        for label_name in ("int16", "int32"):
            labels = gpureduce.to_device(np.zeros(n, label_name), device)
            got = gpureduce.group_reduce(a, labels, num_groups=2).numpy()
            want = reference.rounded(sign * n * Fraction(float(most)), dtype)
            assert same(got, np.array([want, 0], dtype)), (name, label_name, sign, got, want)
            mean = gpureduce.group_reduce(a, labels, "mean", num_groups=1).numpy()
            assert mean[0] == sign * most


@pytest.mark.huge
@pytest.mark.parametrize("op", ["sum", "mean", "max"])
def test_the_most_groups(op, device):
    """2^31 - 1 of them, of few rows: the results alone need 8 GB."""
    groups, rng = 2**31 - 1, np.random.default_rng(3)
    labels = np.concatenate([[0, groups - 1, groups - 1, -1, groups], rng.integers(0, groups, 1000)])
    a = (rng.standard_normal(len(labels)) * 2.0 ** rng.integers(-60, 60, len(labels))).astype(np.float32)
    there = gpureduce.to_device(a, device), gpureduce.to_device(labels, device)
    got = gpureduce.group_reduce(*there, op, groups)
    assert got.shape == (groups,)
    for label in {*labels[:3].tolist(), *labels[5:40].tolist()}:
        rows = a[labels == label]
        want = rows.max() if op == "max" else expected(rows, np.zeros(len(rows), int), 1, op, 0)[0]
        assert got[label : label + 1].numpy()[0] == want, label
    empty = next(i for i in range(groups // 2, groups) if i not in set(labels.tolist()))
    assert str(got[empty : empty + 1].numpy()[0]) == {"sum": "0.0", "mean": "nan", "max": "-inf"}[op]


# ---- calls ----


def test_calls_leave_nothing_behind(device):
    """Repeated calls of both kinds of kernels, which use planes, flags, counts and signs, agree."""
    rng = np.random.default_rng(5)
    calls = []
    for name, n, groups, label_name in (
        ("float32", 3000, 20, "int64"),
        ("float32", 3000, 20, "int16"),
        ("float64", 3000, 20, "int64"),
        ("float16", 3000, 2000, "int32"),
        ("int64", 3000, 20, "int64"),
    ):
        labels = np.sort(rng.integers(0, groups, n))
        dtype = np.dtype(name)
        kinds = [drawn_integers] if name == "int64" else [wide, zeros, infinities, KINDS[2]]
        for kind in kinds:
            with np.errstate(all="ignore"):
                a = kind(rng, labels, dtype)
            there = gpureduce.to_device(a, device), gpureduce.to_device(labels.astype(label_name), device)
            for op in ("sum", "mean"):
                calls.append((*there, op, groups, expected(a, labels, groups, op, 0)))
    for _ in range(3):
        rng.shuffle(calls)
        for a, labels, op, groups, want in calls:
            check(gpureduce.group_reduce(a, labels, op, groups), want, f"{a.dtype} {labels.dtype} {op}")


def test_empty_groups_and_no_rows(device):
    """Sums of nothing are 0, means of nothing NaN, without a warning on a device."""
    for name in (*FLOATS, *COMPLEX, *INTEGERS):
        a = np.ones(0, reference.dtype_of(name))
        for op in ("sum", "mean"):
            for place in (np.asarray, partial(gpureduce.to_device, device=device)):
                labels = place(np.zeros(0, np.int64))
                got = quietly(partial(gpureduce.group_reduce, place(a), labels, op, 3, device=device))
                check(got, expected(a, np.zeros(0, np.int64), 3, op, 0), f"{name} {op}")
                assert gpureduce.group_reduce(place(a), labels, op, 0, device=device).shape == (0,)
            for call in (gpureduce.group_reduce, gpureduce.group_reduce.__wrapped__):
                got = quietly(partial(call, a, [], op, 2, device=device))
                check(got, expected(a, np.zeros(0, np.int64), 2, op, 0), f"{name} {op}")


def test_results_that_need_more_workspace_are_sorted(device):
    """Sums of float64 and complex128 in many more groups than rows: no addition rounds."""
    rng = np.random.default_rng(9)
    for name, n, groups in (("float64", 17_000, 70_000), ("complex128", 17_000, 30_000)):
        a, labels = rng.integers(-99, 99, n).astype(name), rng.integers(0, groups, n)
        for place in (np.asarray, partial(gpureduce.to_device, device=device)):
            for op in ("sum", "mean"):
                call = partial(gpureduce.group_reduce, place(a), place(labels), op, groups, device=device)
                check(quietly(call), expected(a, labels, groups, op, 0), f"{name} {op}")
    destination = (None, *(gpureduce.to_device(a, "sim")._kind, 0, 0))
    more = {"a": a, "op": "sum", "axis": 0, "labels": labels, "destination": destination}
    assert _core.groups(num_groups=groups, **more) is NotImplemented
    assert _core.groups(num_groups=groups // 3 * 2, **more) is NotImplemented
    assert _core.groups(num_groups=18_000, **more).shape == (18_000,)


def test_rows_are_sorted_where_there_is_no_memory_for_planes(device, monkeypatch):
    def without_memory(**options):
        raise MemoryError("no memory for planes")

    monkeypatch.setattr(_core, "groups", without_memory)
    rng = np.random.default_rng(11)
    labels = rng.integers(-1, 50, 700)
    a = wide(rng, labels, np.dtype("float32"))
    for place in (np.asarray, partial(gpureduce.to_device, device=device)):
        for op in ("sum", "mean"):
            got = gpureduce.group_reduce.__wrapped__(place(a), place(labels), op, 50, device=device)
            check(got, expected(a, labels, 50, op, 0), op)


@not_under_asan("its shadow memory is beyond any limit")
def test_calls_of_the_core_fall_back_where_there_is_no_memory_for_planes():
    """A process that may allocate 32 MiB more adds up 300,000 groups, whose planes take 42 MB."""
    done = python(
        """
        import resource
        import numpy as np
        import gpureduce
        from gpureduce import _core

        groups = 300_000
        rng = np.random.default_rng(12)
        a, labels = rng.integers(-99, 99, 17_000).astype(np.float32), rng.integers(0, groups, 17_000)
        there = [gpureduce.to_device(each, "sim") for each in (a, labels)]
        calls = (
            lambda: gpureduce.group_reduce(a, labels, "sum", groups, device="sim"),
            lambda: gpureduce.group_reduce(*there, "sum", groups).numpy(),
            lambda: gpureduce.bincount(there[1], there[0], size=groups).numpy(),
        )

        def by_planes(**options):
            refused.append(options["num_groups"])
            raise MemoryError

        refused, _core.groups = [], by_planes
        want = gpureduce.group_reduce.__wrapped__(a, labels, "sum", groups, device="sim")
        assert np.array_equal(want, np.bincount(labels, a, groups))
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (32 << 20), resource.RLIM_INFINITY))
        for call in calls:
            assert np.array_equal(call(), want)
        assert refused == [groups] * 4  # each call tries again in Python
        print("done")
        """,
        GPUREDUCE_SIM_THREADS="1",
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_warnings_are_numpys(device):
    """Of results in host memory: a sum that overflows, infinities of both signs, but no partial sum."""
    most, labels = np.finfo(np.float32).max, np.array([1, 0, 1])
    for call in (gpureduce.group_reduce, gpureduce.group_reduce.__wrapped__):
        with pytest.warns(RuntimeWarning, match="overflow encountered in reduceat"):
            got = call(np.array([most, 1, most], np.float32), labels, device=device)
        assert got.tolist() == [1, math.inf]
        with pytest.warns(RuntimeWarning, match="invalid value encountered in reduceat"):
            call(np.array([math.inf, 1, -math.inf], np.float32), labels, device=device)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            got = call(np.array([most, most, -most], np.float32), np.zeros(3, int), device=device)
            assert got.tolist() == [most]
            assert call(np.array([math.inf, 1, 1], np.float32), labels, device=device)[1] == math.inf
            assert math.isnan(call(np.array([math.nan, 1, 1]), labels, device=device)[1])


def test_labels_and_elements_in_other_places(device):
    """Host labels with elements on a device; labels in another byte order, and as a list."""
    a, labels = np.array([1e30, 1, -1e30, 2], np.float32), np.array([0, 0, 0, 1])
    there = gpureduce.to_device(a, device)
    assert gpureduce.group_reduce(there, labels).numpy().tolist() == [1, 2]
    for given in (labels.tolist(), labels.astype(">i4"), labels.astype(">u8"), np.repeat(labels, 2)[::2]):
        assert gpureduce.group_reduce(a, given, device=device).tolist() == [1, 2]
        out = np.zeros(2, np.float32)
        assert gpureduce.group_reduce(a.astype(">f4"), given, out=out, device=device) is out
        assert out.tolist() == [1, 2]
    for bad in ([0, 0, 0, 3], [0, 0, 0, 2**62]):
        with pytest.raises(ValueError, match="labels: expected up to 2, got"):
            gpureduce.group_reduce(a, bad, num_groups=3, device=device)


def test_an_output_that_overlaps_the_elements(device):
    a = gpureduce.to_device(np.arange(6.0), device)
    labels = gpureduce.to_device(np.array([0, 1, 0, 1, 0, 1]), device)
    with pytest.raises(ValueError, match="out"):
        gpureduce.group_reduce(a, labels, num_groups=2, out=a[1:3])
