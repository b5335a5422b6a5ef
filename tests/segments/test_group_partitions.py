"""Sums and means of many groups by partitions: the bits of the reference, as by windows and planes.

Partitions have few groups here, so that small arrays have several of them.
"""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from tests.segments.test_group_sums import (
    FLOATS,
    KINDS,
    check,
    drawn_integers,
    drawn_labels,
    expected,
    infinities,
    launched,
    quietly,
    wide,
    zeros,
)
from tests.support import exact_reference as reference

INTEGERS = ("int32", "uint32", "int64", "uint64")
# Rows, and the log2 of groups per partition. A tile has 4096 rows; a block takes up to 16,384.
SHAPES = [(4096, 1), (12_289, 2), (9001, 3), (4097, 2), (17_000, 1), (1, 1)]


def groups_of(shift, rng):
    """Return a number of groups that leaves the last partition full or not."""
    return int(rng.integers(1, 254 * 2**shift + 1)) if rng.random() < 0.7 else 254 << shift


def summed(a, labels, groups, op, shift, device):
    """Return the result by partitions."""
    kind = gpureduce.to_device(np.zeros(1), device)._kind
    call = partial(_core.groups, a=a, op=op, axis=0, labels=labels, num_groups=groups, partition_shift=shift)
    return quietly(partial(call, destination=(None, kind, 0, 0)))


def by_partitions(a, labels, groups, shift, device, note, ops=("sum", "mean")):
    """Check a sum and a mean; of 64-bit integers, a sum."""
    for op, label_name in zip(ops, ("int64", "int32"), strict=False):
        cast = labels.astype(label_name)
        cast[labels < 0] = np.iinfo(label_name).min if label_name == "int64" else -5
        if op == "sum" or a.dtype.kind not in "iu" or a.dtype.itemsize == 4:
            got = summed(a, cast, groups, op, shift, device)
            check(got, expected(a, labels, groups, op, 0), f"{note} {op}")


@pytest.mark.parametrize("name", FLOATS)
def test_partitions_of_any_data(name, device, on_gpu):
    """Data inside the windows, outside, and of all bit patterns; partitions of one block, and of several."""
    dtype = reference.dtype_of(name)
    for number, kind in enumerate(KINDS):
        turn = number + FLOATS.index(name)
        rng = np.random.default_rng([number, FLOATS.index(name)])
        for n, shift in SHAPES if on_gpu else [SHAPES[turn // 2 % len(SHAPES)]]:
            groups = groups_of(shift, rng)
            labels = drawn_labels(rng, n, min(groups, 900), True)
            with np.errstate(all="ignore"):
                a = kind(rng, labels, dtype)
            ops = ("sum", "mean") if on_gpu else [("sum", "mean")[turn % 2]]
            note = f"{name} {kind.__name__} {n} {groups} {shift}"
            by_partitions(a, labels, groups, shift, device, note, ops)


def test_partitions_of_two_windows(device):
    """Exponents over more than one window, in each group."""
    rng = np.random.default_rng(15)
    n, groups = 9001, 300
    labels = rng.integers(0, groups, n)
    for name in ("float32", "float64"):
        a = (rng.standard_normal(n) * 2.0 ** rng.integers(-14, 15, n)).astype(name)
        by_partitions(a, labels, groups, 3, device, name)


@pytest.mark.parametrize("name", INTEGERS)
def test_partitions_of_integers(name, device):
    rng = np.random.default_rng(INTEGERS.index(name))
    for n, shift in SHAPES[:4]:
        groups = groups_of(shift, rng)
        labels = drawn_labels(rng, n, min(groups, 900), True)
        a = drawn_integers(rng, labels, np.dtype(name))
        by_partitions(a, labels, groups, shift, device, f"{name} {n} {groups} {shift}")


@pytest.mark.parametrize("name", [*FLOATS, "int32", "int64"])
def test_blocks_that_share_a_partition(name, device):
    """Their sums meet in planes: of one window, of two, and outside; with flags, signs and row numbers."""
    rng = np.random.default_rng(12)
    n, dtype = 40_000, reference.dtype_of(name)
    groups = 1000 if name.startswith("int") else 40  # fewer groups of integers are partitions of their own
    labels = np.where(rng.random(n) < 0.9, rng.integers(8, 12, n), rng.integers(-1, groups + 1, n))
    kinds = [drawn_integers] if name.startswith("int") else [KINDS[0], wide, zeros, infinities, KINDS[2]]
    for kind in kinds:
        with np.errstate(all="ignore"):
            a = kind(rng, labels, dtype)
        by_partitions(a, labels, groups, 2, device, f"{name} {kind.__name__}")
        by_partitions(a, np.sort(labels), groups, 2, device, f"{name} {kind.__name__}, sorted")


@pytest.mark.parametrize("name", ["float32", "int32"])
def test_tiles_without_rows_of_a_partition(name, device):
    """Tiles of rows of one partition come after tiles of another one, in the middle of the rows of a warp."""
    rng = np.random.default_rng(13)
    for rows, tiles in ((2000, 3), (2011, 4), (4095, 5)):
        labels = rng.integers(4, 8, tiles * 4096)  # of the second partition
        for tile in {0, tiles - 1}:
            labels[tile * 4096 : tile * 4096 + rows] = rng.integers(0, 4, rows)
        a = rng.integers(-1000, 1000, len(labels)).astype(name)
        by_partitions(a, labels, 8, 2, device, f"{rows} {tiles}")


def test_sums_that_fill_the_highest_and_the_lowest_planes(device):
    """The largest numbers, whose sums overflow, and the smallest: windows at both ends of the exponents."""
    n = 20_000
    labels = np.arange(n) % 3
    for name in FLOATS:
        dtype = reference.dtype_of(name)
        digits, exponent_bits = reference.FORMATS[name][0], {"float16": 5, "float64": 11}.get(name, 8)
        most = np.array([((1 << exponent_bits) - 1 << digits - 1) - 1], f"u{dtype.itemsize}").view(dtype)[0]
        least = np.array([1], f"u{dtype.itemsize}").view(dtype)[0]
        for number in (most, -most, least, -least):
            a = np.full(n, number)
            a[:5] = dtype.type(0)
            by_partitions(a, labels, 3, 1, device, f"{name} {number}")


def test_every_exponent_next_to_windows_of_partitions(device):
    """The sample has one exponent, so that the windows are around it; other elements have all exponents."""
    rng = np.random.default_rng(8)
    n = 20 * 1024
    for groups, shift in ((40, 3), (300, 7)):  # few groups per partition, and more than a word has bits
        labels = rng.integers(0, groups, n)
        for name, most in (("float32", 60), ("float64", 120), ("float16", 12)):
            a = rng.choice([-1, 1], n) * 2.0 ** rng.integers(-most, most + 1, n)
            a[::20] = 1.5
            by_partitions(a.astype(name), labels, groups, shift, device, f"{name} {groups}")


def test_elements_outside_windows_of_few_groups(device):
    """One group in 64 has an element outside the windows, which no other one of its partition has."""
    rng = np.random.default_rng(14)
    n, groups = 9000, 256
    labels = rng.integers(0, groups, n)
    for name, large in (("float32", 2.0**60), ("float64", 2.0**120)):
        a = rng.standard_normal(n).astype(name)
        for group in range(37, groups, 64):
            a[np.flatnonzero(labels == group)[:2]] = [large, 1 - large]
        by_partitions(a, labels, groups, 7, device, name)


def far(rng, labels, dtype):
    """Return normal numbers, in two of three groups with numbers far above or below, half of which cancel.

    Some groups also have a NaN, an infinity or zeros of both signs.
    """
    numbers = rng.standard_normal(len(labels))
    for group in np.unique(labels[labels >= 0]):
        rows = rng.permutation(np.flatnonzero(labels == group))
        if group % 3 > 0 and len(rows) > 4:
            power = rng.choice([-1060, 1000]) if rng.random() < 0.2 else rng.integers(-1000, 1000)
            numbers[rows[:2]] = rng.choice([-1, 1]) * 2.0**power
            numbers[rows[0]] *= rng.choice([-1, 1, 1 + 2.0**-10])
            numbers[rows[2]] = rng.choice([1, 1, 1, math.nan, math.inf, 0, -0.0])
            numbers[rows[4:]] *= rng.choice([0, 1, 1])
    return numbers.astype(dtype)


def test_elements_far_from_the_windows(device):
    """Their groups are added up again, some at a time, in partitions of one block and of several."""
    rng = np.random.default_rng(16)
    for n, groups, shift in ((9000, 300, 5), (20_000, 40, 2), (40_000, 100, 6)):
        labels = rng.integers(0, groups, n)
        if n == 20_000:
            labels = np.where(rng.random(n) < 0.9, rng.integers(8, 12, n), labels)
        a = far(rng, labels, np.dtype("float64"))
        by_partitions(a, labels, groups, shift, device, f"{n} {groups}")


def test_carries_of_partitions(device):
    """Lowest words that overflow with every few additions, of both signs."""
    rng = np.random.default_rng(4)
    n = 20_000
    labels = rng.integers(0, 3, n)
    for dtype, most in ((np.float32, 2 - 2.0**-23), (np.float64, 2 - 2.0**-52)):
        for signs in ([1], [-1], [1, -1]):
            a = (rng.choice(signs, n) * most * 2.0 ** rng.integers(0, 28, n)).astype(dtype)
            by_partitions(a, labels, 5, 2, device, f"{dtype.__name__} {signs}")


def test_double_sums_of_many_bits(device):
    """Sums that one FMA rounds, and sums of too many bits for it."""
    rng, n = np.random.default_rng(17), 16_000  # that one block adds up
    for few in (0.3, *[0.01] * 8):
        a = np.where(rng.random(n) < few, 2.0**-19, 1) * (1 + rng.integers(0, 2**52, n) * 2.0**-52)
        by_partitions(a, np.zeros(n, int), 1, 2, device, f"{few}", ("sum",))


def test_double_sums_at_the_ends_of_the_exponents(device):
    """Normal elements in a window, whose sums are subnormal or overflow."""
    rng, n = np.random.default_rng(18), 3000
    labels = rng.integers(0, 40, n)
    a = 2.0 ** -rng.integers(0, 20, n).astype(float)
    for group in range(0, 40, 2):
        rows = np.flatnonzero(labels == group)
        a[rows] = np.resize([1, -1, 0, 0], len(rows)) * (2.0**-19 + rng.integers(1, 9, len(rows)) * 2.0**-71)
    for scale in (2.0**-998, 2.0**1022):
        by_partitions(a * scale, labels, 40, 3, device, f"{scale}", ("sum",))


@pytest.mark.parametrize(
    ("name", "label_name", "op", "first"),
    [
        ("float32", "int64", "sum", "group_partition_4_i64_8"),
        ("float16", "int32", "mean", "group_partition_2_i32_8"),
        ("float64", "int32", "mean", "group_partition_8_i32_8"),
        ("int64", "int64", "sum", "group_partition_8_i64_8"),
    ],
)
def test_kernels_of_partitions_have_no_races(name, label_name, op, first):
    """Neither with partitions of one block nor with one that several blocks share."""
    rng = np.random.default_rng(3)
    n, groups = 25_000, 100
    a = (rng.standard_normal(n) * 2.0 ** rng.integers(-14, 14, n)).astype(name)
    if name == "float64":
        a[::50] *= 2.0**600  # far from the windows
    labels = np.where(rng.random(n) < 0.8, 5, rng.integers(0, groups, n)).astype(label_name)
    for given in (labels, np.sort(labels)):
        got, kernels = launched(a, given, groups, op, races=True, partition_shift=3)
        check(got, expected(a, given, groups, op, 0), first)
        assert kernels[0].name == first and kernels[1].name.startswith("group_accumulate_")
        assert all(kernel.races == () for kernel in kernels)


def test_which_sums_go_by_partitions():
    """Those of 2^18 contiguous rows and more whose windows do not fit in shared memory."""
    n, groups = 1 << 18, 70_000
    a, labels = np.ones(n, np.float32), np.arange(n) * 7 % groups
    want = np.bincount(labels, minlength=groups).astype(np.float32)
    for rows, name in ((n, "group_partition_4_i64_8"), (n - 1, "group_planes_f32")):
        got, kernels = launched(a[:rows], labels[:rows], groups)
        assert kernels[0].name == name
        assert (got != want).sum() == n - rows


def test_doubles_go_by_partitions():
    """Planes of all digits of 300,000 groups would exceed the workspace that 2^18 elements allow."""
    n, groups = 1 << 18, 300_000
    a, labels = np.arange(n, dtype=np.float64), np.arange(n) * 7 % groups
    got, kernels = launched(a, labels, groups)
    assert kernels[0].name == "group_partition_8_i64_8"
    assert (got == np.bincount(labels, a, groups)).all()


def test_calls_by_partitions_leave_nothing_behind(device):
    """Repeated calls agree: partitions of one block and of several; planes, flags, counts and signs."""
    rng = np.random.default_rng(5)
    calls = []
    for name in ("float32", "float64", "int32"):
        for skewed in (False, True):
            labels = rng.integers(0, 60, 20_000)
            labels[: 18_000 * skewed] %= 3
            kinds = {"int32": [drawn_integers], "float64": [wide, zeros, infinities, far]}
            for kind in kinds.get(name, [wide, zeros, infinities]):
                a = kind(rng, labels, np.dtype(name))
                calls += [(a, labels, op, expected(a, labels, 60, op, 0)) for op in ("sum", "mean")]
    for _ in range(2):
        rng.shuffle(calls)
        for a, labels, op, want in calls:
            check(summed(a, labels, 60, op, 2, device), want, f"{a.dtype} {op}")


@pytest.mark.large
def test_more_rows_than_a_window_holds(device):
    """The largest addends of a window: the sample has an exponent that puts them at the window's end."""
    n = 2**22
    for labels in (np.zeros(n, int), np.arange(n) % 2):
        for end in (2**9, 2**10):  # the last exponent of the window, and one above it
            a = np.full(n, 2.0 - 2.0**-23, np.float32) * np.float32(end)
            a[:: n // 1024] = 1
            ones = np.bincount(labels[:: n // 1024], minlength=2)
            rows = np.bincount(labels, minlength=2) - ones
            want = [Fraction(float(a[1])) * int(r) + int(o) for r, o in zip(rows, ones, strict=True)]
            for sign in (1, -1):
                got = summed(sign * a, labels, 2, "sum", 1, device)
                expected_sums = [reference.rounded(sign * total, a.dtype) for total in want]
                check(got, np.array(expected_sums, a.dtype), f"{end} {sign}")


@pytest.mark.large
def test_large_sums_by_partitions(device):
    """More than 1024 tiles; one window per group; more groups than partitions have room for."""
    rng = np.random.default_rng(6)
    n = 10**7
    a = rng.integers(-1000, 1000, n)
    for groups in (10**6, 3 * 10**6, 5 * 10**6):
        for skewed in (False, True):
            labels = rng.integers(0, groups, n)
            labels[: n // 2 * skewed] %= 1000
            want = np.bincount(labels, a, groups)
            for dtype in (np.float32, np.int32):
                there, label_array = (gpureduce.to_device(x, device) for x in (a.astype(dtype), labels))
                got = gpureduce.group_reduce(there, label_array, "sum", groups).numpy()
                assert (got == want.astype(dtype)).all(), (groups, skewed, dtype)
