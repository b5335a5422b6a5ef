"""Group sums of rows that are sorted by group have the bits of all other kernels: those of the exact sum."""

import math
import warnings
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce._profiles.from_core import kernel_profiles, observe
from tests.segments.test_group_sums import (
    COMPLEX,
    FLOATS,
    INTEGERS,
    KINDS,
    cast_labels,
    check,
    chosen,
    drawn_call,
    drawn_integers,
    drawn_labels,
    expected,
    parts_of,
    quietly,
    same,
    spread_out,
    wide,
    zeros,
)
from tests.support import exact_reference as reference

PLANES, SORTED, SHORT, LONG, SHARED, LISTS = range(1, 7)  # gr_groups_path


def by(path, a, labels, groups, op="sum", axis=0, out=None):
    """Return the result of two device arrays by some kernels, or NotImplemented."""
    destination = (out, a._kind, 0, 0)
    call = partial(_core.groups, a=a, op=op, axis=axis, labels=labels, num_groups=groups, path=path)
    return quietly(partial(call, destination=destination))


def both(a, labels, groups, device, note, ops=("sum", "mean"), want=None):
    """Check results by sorted rows, twice, as the workspace is used again: of two orders of the rows."""
    rng = np.random.default_rng(len(labels))
    order = rng.permutation(len(labels))
    there = [gpureduce.to_device(np.ascontiguousarray(each), device) for each in (a, a[order])]
    label_arrays = [gpureduce.to_device(each, device) for each in (labels, labels[order])]
    for op in ops:
        exact = expected(a, labels, groups, op, 0) if want is None else want
        for turn in (0, 1):
            check(by(SORTED, there[turn], label_arrays[turn], groups, op), exact, f"{note} {op} {turn}")


@pytest.mark.parametrize("path", [SORTED, SHORT, LONG, SHARED, LISTS])
def test_random_calls(path, device, pytestconfig, thin):
    """Any dtype, data, labels and layout gives the reference's bits."""
    for number in chosen(pytestconfig.getoption("group_cases") // 2, thin):
        rng, a, labels, label_name, groups, op, axis, _, want, note = drawn_call(number)
        if want.size == 0 or len(labels) == 0:
            continue
        place = partial(gpureduce.to_device, device=device)
        (base, index), (label_base, label_index) = (
            spread_out(rng, a, axis),
            spread_out(rng, cast_labels(rng, labels, label_name)),
        )
        there, label_array = place(base)[index], place(label_base)[label_index]
        got = by(path, there, label_array, groups, op, axis)
        lines, inner = (
            math.prod(a.shape[:axis]),
            math.prod(a.shape[a.ndim + axis + 1 if axis < 0 else axis + 1 :]),
        )
        is_column = a.dtype.kind != "c" and inner == 1 and (path == SHORT or lines == 1)
        if path in (SHORT, SHARED, LISTS) and (a.dtype.kind in "biu" or not (path == LISTS or is_column)):
            assert got is NotImplemented
        else:
            check(got, want, note)


def drawn(rng, labels, columns, dtype, kinds):
    """Return rows whose columns have data of several kinds."""
    with np.errstate(all="ignore"):
        if dtype.kind in "biu":
            return np.stack([drawn_integers(rng, labels, dtype) for _ in range(columns)], -1)
        parts = [kinds[i % len(kinds)](rng, labels, parts_of(dtype)) for i in range(columns)]
        if dtype.kind != "c":
            return np.stack(parts, -1)
        return np.stack([np.stack([each, each[::-1]], -1).view(dtype)[:, 0] for each in parts], -1)


# Columns, which a team of 1 to 32 threads takes, one or several per thread, in one slice or several.
WIDTHS = (1, 2, 3, 4, 7, 8, 12, 17, 31, 64, 65, 130, 132)


@pytest.mark.parametrize("name", [*FLOATS, *COMPLEX, *INTEGERS])
def test_any_number_of_columns(name, device, on_gpu):
    """Groups of one team and of several, of all kinds of data side by side."""
    dtype = reference.dtype_of(name)
    number = [*FLOATS, *COMPLEX, *INTEGERS].index(name)
    rng = np.random.default_rng(number)
    for columns in WIDTHS if on_gpu else WIDTHS[number % 2 :: 2 if dtype.kind == "f" else 5]:
        for groups in (3, 40):
            n = 300 if columns < 100 else 100
            labels = drawn_labels(rng, n, groups, True)
            a = drawn(rng, labels, columns, dtype, [KINDS[i] for i in rng.permutation(len(KINDS))])
            both(a, labels, groups, device, f"{name} {columns} columns {groups} groups")


def test_columns_that_are_apart(device):
    """Or are some of wider rows; of so many that a thread takes several where they are side by side."""
    rng = np.random.default_rng(9)
    labels = rng.integers(0, 7, 150)
    label_array = gpureduce.to_device(labels, device)
    for name in ("float32", "float64"):
        a = rng.standard_normal((150, 528)).astype(name)
        there = gpureduce.to_device(a, device)
        for part in (slice(None, None, 2), slice(None, None, 4), slice(0, 130)):
            got = by(SORTED, there[:, part], label_array, 7)
            check(got, expected(a[:, part], labels, 7, "sum", 0), f"{name} {part}")


def against_planes(a, labels, groups, device, note, ops=("sum", "mean")):
    """Compare sorted rows with planes: for more data than the reference has time for."""
    there, label_array = gpureduce.to_device(a, device), gpureduce.to_device(labels, device)
    for op in ops:
        want = by(PLANES, there, label_array, groups, op)
        assert want is not NotImplemented, note
        for _ in range(2):
            check(by(SORTED, there, label_array, groups, op), want, f"{note} {op}")


@pytest.mark.parametrize("name", ["float32", "float64", "float16", "int64"])
@pytest.mark.parametrize("kind", ["uniform", "equal", "zipf", "sorted", "hot"])
def test_tiles_partitions_and_parts(name, kind, device):
    """Several tiles of labels, and partitions of so many rows that blocks share them."""
    dtype = reference.dtype_of(name)
    rng = np.random.default_rng(len(kind))
    for n, columns, groups in ((40_000, 1, 5), (40_000, 2, 600), (5000, 4, 4999), (9000, 1, 20_000)):
        labels = {
            "uniform": lambda n, groups: rng.integers(-1, groups + 1, n),
            "equal": lambda n, groups: np.full(n, groups // 2),
            "zipf": lambda n, groups: np.minimum(rng.zipf(1.2, n) - 1, groups - 1),
            "sorted": lambda n, groups: np.sort(rng.integers(0, groups, n)),
            "hot": lambda n, groups: rng.integers(0, groups, n) * (rng.random(n) < 0.2),
        }[kind](n, groups)
        if name in ("float64", "float16") and groups > 5000:
            continue  # no planes of as many groups
        a = rng.standard_normal((n, columns)) * 2.0 ** rng.integers(-12, 3, (n, columns))
        a = (a * 2**57).astype(dtype) if dtype.kind == "i" else a.astype(dtype)
        against_planes(a, labels, groups, device, f"{name} {kind} {n} {columns} {groups}")


def test_chunks_that_one_team_takes_together(device):
    """Groups of more chunks than teams should meet in a slot: all rows, and rows up to a part of a chunk."""
    rng = np.random.default_rng(8)
    n = 2 * 4096 * 128 + 3000  # two chunks of 128 rows for each of 4096 teams
    a = rng.integers(-100, 100, (n, 1)).astype(np.float32)
    for others in (0, 77):
        labels = np.zeros(n, np.int64)
        labels[rng.integers(0, n, others)] = 1
        there, label_array = gpureduce.to_device(a, device), gpureduce.to_device(labels, device)
        want = [[a[labels == group].sum(dtype=np.float64)] for group in (0, 1)]
        check(by(SORTED, there, label_array, 2), np.array(want, np.float32), f"{others} others")


@pytest.mark.parametrize("name", FLOATS)
def test_every_exponent_around_the_range(name, device):
    """The sample has one exponent, so that the range is around it; other elements have all exponents."""
    dtype, rng = reference.dtype_of(name), np.random.default_rng(2)
    most = {"float32": 140, "float64": 160, "bfloat16": 120, "float16": 14}[name]
    for groups in (4, 600):
        exponents = np.tile(np.arange(-most, most + 1), 8 if groups == 4 else 3)
        n = len(exponents)
        a = np.full((n, 8), 1.5)
        labels = rng.integers(0, groups, n)
        a[:, 0] = rng.choice([-1, 1], n) * (2 - 2.0**-10) * 2.0 ** exponents.clip(-148, 126)
        # Elements that cancel, but for the least bits of what is left.
        a[:, 1] = np.where(np.arange(n) % 2, 1, -1) * 2.0 ** exponents.clip(-148, 126)
        with np.errstate(all="ignore"):
            both(a.astype(dtype), labels, groups, device, f"{name} {groups}")


def test_ranges_of_samples_that_mislead(device):
    """The sample is every so-manieth element: of zeros, of numbers far away, of infinities, of NaN."""
    rng = np.random.default_rng(3)
    n = 320
    for name in ("float32", "float64", "bfloat16"):
        if name not in FLOATS:
            continue
        dtype = reference.dtype_of(name)
        ends = np.finfo(np.float64 if name == "float64" else np.float32)
        for sample in (0.0, ends.smallest_subnormal, 1e-30, 1e38, float(ends.max) / 2, math.inf, math.nan):
            for others in (1.0, float(ends.max) / 512, float(ends.tiny)):
                a = rng.standard_normal((n, 8)) * others
                a[:, ::2] = sample
                labels = rng.integers(0, 9, n)
                labels[:100] = 3
                with np.errstate(all="ignore"):
                    both(a.astype(dtype), labels, 9, device, f"{name} {sample} {others}", ops=("sum",))


def test_sums_and_means_next_to_ties(device):
    """They are off by less than two doubles, or than the bits of a quotient, can tell; of both signs."""
    cases = [
        # A rounded sum is a tie, and its error is below it; one team adds the rows.
        ("bfloat16", [1.0] * 32 + [0.125, -(2.0**-49)], ("sum",)),
        ("float32", [1.0] * 32 + [2.0**-19, 2.0**-49], ("sum",)),
        # The mean is a tie.
        ("float32", [1, 1 + 2.0**-23], ("mean",)),
        # The sum has 108 bits, from which neither of two doubles may be missing.
        ("float64", [1, 2.0**-53, 2.0**-60 + 2.0**-107, -(2.0**-60)], ("sum",)),
        # The mean is more than a tie by a third of 2^-95.
        ("float64", [3, 3 * 2.0**-53 + 2.0**-95, 0], ("mean",)),
    ]
    for name, column, ops in cases:
        if name in FLOATS:
            a = np.array(column)[:, None] * np.array([1.0, -1] * 4)
            a = a.astype(reference.dtype_of(name))
            both(a, np.zeros(len(a), np.int64), 1, device, f"{name} {ops}", ops)


def test_many_elements_of_the_greatest_and_least_exponents(device):
    """As many rows as a thread adds up, of the numbers at the ends of the range, of one sign."""
    n = 3000
    labels = np.zeros(n, np.int64)
    for name in FLOATS:
        dtype = reference.dtype_of(name)
        precision, _ = reference.FORMATS[name]
        span = 14 if name == "float16" else 64
        for up in range(-span, span + 1, 3):
            a = np.ones((n, 8))
            a[1:, 1] = (2 - 2.0 ** (1 - precision)) * 2.0**up
            a[1:, 2] = -a[1:, 1]
            a[1:, 3] = 2.0**-up
            a = a.astype(dtype)
            want = [reference.rounded(_exact(a[:, i]), dtype) for i in (1, 2, 3)]
            there, label_array = gpureduce.to_device(a, device), gpureduce.to_device(labels, device)
            got = by(SORTED, there, label_array, 1)[0, 1:4]
            assert same(got, np.array(want, dtype)), (name, up, got, want)


def _exact(column):
    """Return the sum of a column whose elements are equal, but for the first."""
    return Fraction(float(column[0])) + (len(column) - 1) * Fraction(float(column[1]))


def test_zeros_and_specials_of_groups_of_several_teams(device):
    """The sign of a sum of zeros, infinities and NaN, where one team sees a part of the rows."""
    rng = np.random.default_rng(5)
    n = 900
    labels = np.sort(rng.integers(0, 4, n))
    for name in FLOATS:
        dtype = reference.dtype_of(name)
        a = np.full((n, 12), -0.0)
        a[n // 2, 1] = 0.0
        a[5, 2], a[6, 2] = 1, -1
        a[n - 1, 3], a[n - 2, 3] = math.inf, -math.inf
        a[n - 1, 4] = math.nan
        a[0, 5] = -math.inf
        a[:, 6] = zeros(rng, labels, dtype).astype(np.float64)
        a[3, 7] = 2.0**-20
        a[4, 8] = float(np.finfo(np.float64).tiny) if name == "float64" else 2.0**-120
        both(a.astype(dtype), labels, 4, device, name)


@pytest.mark.parametrize(
    ("name", "n", "columns", "groups", "label_name", "op", "last"),
    [
        ("float32", 3000, 64, 20, "int64", "sum", "group_rows_f32_2"),
        ("float32", 1000, 260, 20, "int64", "sum", "group_rows_f32_4"),
        ("float32", 9000, 9, 900, "int32", "mean", "group_rows_f32_1"),
        ("float64", 20_000, 34, 2, "int16", "sum", "group_rows_f64_2"),
        ("float16", 9000, 16, 3000, "uint8", "mean", "group_rows_f16_1"),
        ("complex64", 5000, 18, 40, "int64", "sum", "group_rows_f32_2"),
        ("int32", 9000, 8, 9, "int64", "mean", "group_rows_i32_1"),
    ],
)
def test_kernels_have_no_races(name, n, columns, groups, label_name, op, last):
    """A call has the kernels that it is meant to have, and none of them races."""
    rng = np.random.default_rng(n)
    a = rng.standard_normal((n, columns)) * 2.0 ** rng.integers(-12, 8, (n, columns))
    a = a.astype(name)
    if a.dtype.kind in "fc":
        a[::50, 0], a[5, 1] = math.nan, 1e38 if name == "float32" else 1
    labels = (rng.integers(0, groups, n) if n != 20_000 else np.arange(n) % 2).astype(label_name)

    def call(device):
        destination = (None, device, 0, 0)
        return _core.groups(
            a=a, op=op, axis=0, labels=labels, num_groups=groups, destination=destination, path=SORTED
        )

    got, launches, problem = observe(call, True)
    assert problem is None
    kernels = kernel_profiles(launches, "", 0)
    assert kernels[-1].name == last and all(kernel.races == () for kernel in kernels)
    if n != 20_000:
        check(got, expected(a, labels, groups, op, 0), last)


@pytest.mark.parametrize(
    ("n", "columns", "groups", "last"),
    [
        (20_000, 4, 1, "group_rows_f32_1"),  # additions to few addresses would wait for each other
        (2000, 64, 20, "group_lists_narrow"),  # few rows
        (5000, 64, 20, "group_signs_f32"),  # few elements
        (60_000, 1, 1, "group_signs_f32"),  # one column
    ],
)
def test_the_choice_of_kernels(n, columns, groups, last):
    """The planner takes what is expected to be the fastest."""
    a, labels = np.ones((n, columns), np.float32), np.arange(n) % groups

    def call(device):
        destination = (None, device, 0, 0)
        return _core.groups(a=a, op="sum", axis=0, labels=labels, num_groups=groups, destination=destination)

    got, launches, problem = observe(call, False)
    assert problem is None and got.sum() == n * columns
    assert kernel_profiles(launches, "", 0)[-1].name == last


def test_calls_leave_nothing_behind(device):
    """Repeated calls whose groups meet in slots, by sums, states and flags, agree."""
    rng = np.random.default_rng(5)
    calls = []
    for name, n, groups in (("float32", 900, 4), ("float64", 900, 4), ("float16", 700, 3), ("int64", 900, 4)):
        dtype, labels = np.dtype(name), rng.integers(0, groups, n)
        kinds = [wide, zeros, KINDS[2], KINDS[7]]
        a = drawn(rng, labels, 8, dtype, kinds)
        there = gpureduce.to_device(a, device), gpureduce.to_device(labels, device)
        for op in ("sum", "mean"):
            calls.append((*there, op, groups, expected(a, labels, groups, op, 0)))
    for _ in range(3):
        rng.shuffle(calls)
        for a, labels, op, groups, want in calls:
            check(by(SORTED, a, labels, groups, op), want, f"{a.dtype} {op}")


def test_elements_and_results_that_are_not_aligned(device):
    """A base address that is no multiple of what a thread loads and stores at once."""
    rng = np.random.default_rng(6)
    for name in ("float32", "float16", "float64", "int64"):
        dtype = np.dtype(name)
        labels = rng.integers(0, 5, 200)
        a = drawn(rng, labels, 8, dtype, [wide])
        base = gpureduce.to_device(np.concatenate([a[0, :1], a.ravel()]), device)
        want = expected(a, labels, 5, "sum", 0)
        out = gpureduce.to_device(np.zeros(want.size + 1, want.dtype), device)
        given = base[1:].reshape(200, 8), gpureduce.to_device(labels, device)
        by(SORTED, *given, 5, out=out[1:].reshape(5, 8))
        check(out.numpy()[1:].reshape(5, 8), want, name)


@pytest.mark.large
def test_more_tiles_than_a_block_has_prefix_sums_of(device):
    """Two rounds of a partition's tiles; groups of all sizes."""
    rng = np.random.default_rng(7)
    n = 4_300_000
    for kind in ("uniform", "equal", "zipf"):
        labels = {
            "uniform": lambda: rng.integers(0, 3000, n),
            "equal": lambda: np.full(n, 7),
            "zipf": lambda: np.minimum(rng.zipf(1.2, n) - 1, 2999),
        }[kind]()
        a = rng.standard_normal((n, 2)).astype(np.float32)
        against_planes(a, labels, 3000, device, kind, ops=("sum",))


def test_bad_paths(device):
    a, labels = np.ones((2, 2), np.float32), np.zeros(2, int)
    there, label_array = gpureduce.to_device(a, device), gpureduce.to_device(labels, device)
    for path in (-1, 7):
        with pytest.raises(ValueError, match="path: expected 0 to 6"):
            by(path, there, label_array, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert by(SORTED, there, label_array, 1).tolist() == [[2, 2]]
