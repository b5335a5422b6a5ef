"""Sums and means of groups in windows in shared memory: contiguous rows of one column."""

import math

import numpy as np
import pytest

import gpureduce
from tests.segments.test_group_sums import (
    FLOATS,
    KINDS,
    check,
    drawn_integers,
    drawn_labels,
    expected,
)
from tests.support import exact_reference as reference

TWO_WINDOWS, ONE_WINDOW = 12_000, 15_000  # groups of float32: 28,896 windows fit in a block's 227 KB


def in_windows(a, labels, groups, device, note):
    """Check a sum and a mean whose rows are contiguous and of one column."""
    there = gpureduce.to_device(a, device)
    for op, label_name in (("sum", "int64"), ("mean", "int32")):
        label_array = gpureduce.to_device(labels.astype(label_name), device)
        got = gpureduce.group_reduce(there, label_array, op, groups)
        check(got, expected(a, labels, groups, op, 0), f"{note} {op}")


# Rows and groups. A block takes up to 4096 rows, or one per group: batches of 4096 rows, then the rest.
SHAPES = [(4 * 13, 13), (1025, 3), (8192, 1), (9001, 2000), (20_000, 5000), (36_000, 9000)]


@pytest.mark.parametrize("name", FLOATS)
def test_windows_of_any_data(name, device, on_gpu):
    """Blocks with several rows per thread, of data inside the windows, outside, and of all bit patterns."""
    dtype = reference.dtype_of(name)
    for number, kind in enumerate(KINDS):
        rng = np.random.default_rng([number, FLOATS.index(name)])
        turn = number + FLOATS.index(name)
        for n, groups in SHAPES if on_gpu else [SHAPES[turn % len(SHAPES)]]:
            labels = drawn_labels(rng, n, min(groups, 900), True)
            with np.errstate(all="ignore"):
                a = kind(rng, labels, dtype)
            in_windows(a, labels, groups, device, f"{name} {kind.__name__} {n} {groups}")


@pytest.mark.parametrize("name", ["int32", "uint32", "int64", "uint64"])
def test_windows_of_integers(name, device):
    """Sums that wrap, and means; of 64 bits the means are of planes."""
    rng = np.random.default_rng(6)
    for n, groups in ((9001, 40), (8192, 2), (20_000, 5000), (1025, 1)):
        labels = drawn_labels(rng, n, groups, True)
        in_windows(
            drawn_integers(rng, labels, np.dtype(name)), labels, groups, device, f"{name} {n} {groups}"
        )


@pytest.mark.parametrize(
    ("name", "n", "groups"),
    [
        ("float32", 140_000, 5),
        ("float32", 50_000, TWO_WINDOWS),
        ("float32", 62_000, ONE_WINDOW),
        ("float64", 40_000, 5),
        ("float64", 50_000, ONE_WINDOW - 3000),
        ("int32", 40_000, 9),
    ],
)
def test_windows_of_many_blocks(name, n, groups, device):
    """More blocks than threads that share the slabs of a result; two windows, and room for one only."""
    rng = np.random.default_rng(groups)
    labels = rng.integers(-1, groups, n)
    a = rng.standard_normal(n) * 2.0 ** rng.integers(-24, 25, n)
    in_windows(a.astype(name), labels, groups, device, f"{name} {groups} groups")


def test_a_warp_whose_rows_have_one_group(device):
    """Their sums are added up first: in one window, in two, and of elements in none."""
    rng = np.random.default_rng(7)
    n, groups = 20_000, 5000
    labels = np.repeat(rng.integers(-1, 4, n // 32), 32)
    labels[: n // 4] = 3  # a whole block
    for name in ("float32", "float64", "float16", "int32", "int64"):
        for most in (1, 30, 60):
            a = rng.standard_normal(n) * 2.0 ** rng.integers(-most, most + 1, n)
            with np.errstate(all="ignore"):
                a = (a.clip(-60000, 60000) if name == "float16" else a).astype(name)
            in_windows(a, labels, groups, device, f"{name} {most}")


@pytest.mark.parametrize("name", [*FLOATS, "int32", "int64"])
def test_runs_of_one_group(name, device):
    """Lanes whose rows have one group, in some warps or most, at any address; one window, two, and none."""
    rng = np.random.default_rng(13)
    dtype = reference.dtype_of(name)
    n, groups = 20_003, 5000  # blocks of a batch of 4096 rows, and more
    # The labels, the rows of a run, the runs whose rows have other labels, and the range of the exponents.
    for some, rows, mixed, most in (
        (40, 4, 0.1, 1),
        (40, 64, 0.3, 12),
        (3000, 4, 0.4, 14),
        (9, 500, 0.02, 60),
    ):
        runs = rng.integers(-1, some, n // rows + 1)
        if rng.random() < 0.5:
            runs.sort()
        labels = np.repeat(runs, rows)[:n]
        others = np.repeat(rng.random(n // rows + 1) < mixed, rows)[:n] & (rng.random(n) < 0.5)
        labels[others] = rng.integers(-1, some, int(others.sum()))
        most = min(most, 14) if name == "float16" else most
        a = rng.standard_normal(n) * 2.0 ** rng.integers(-most, most + 1, n)
        a = (rng.integers(-(2**31), 2**31, n) if name.startswith("int") else a).astype(dtype)
        in_windows(a, labels, groups, device, f"{name} {some} {rows}")
        for op, label_name, skip in (("sum", "int32", 1), ("mean", "int64", 3)):
            there = gpureduce.to_device(a, device)[skip:]
            label_array = gpureduce.to_device(labels.astype(label_name), device)[skip:]
            got = gpureduce.group_reduce(there, label_array, op, groups)
            check(got, expected(a[skip:], labels[skip:], groups, op, 0), f"{name} {op}, from row {skip} on")


def test_contiguous_rows_of_several_columns_and_lines(device):
    """Rows that lie as those of windows do, but for the columns or lines that they also have."""
    rng = np.random.default_rng(10)
    a, labels = rng.standard_normal((3, 500)).astype(np.float32), rng.integers(0, 5, 500)
    there, label_array = gpureduce.to_device(a, device), gpureduce.to_device(labels, device)
    for op in ("sum", "mean"):
        want = expected(a, labels, 5, op, 1)
        check(gpureduce.group_reduce(there, label_array, op, 5, axis=1), want, f"lines {op}")
        check(gpureduce.group_reduce(there.T, label_array, op, 5), want.T, f"columns {op}")


def test_repeated_rows_of_floats(device):
    """One number in memory for all rows: as many, by planes."""
    labels = np.arange(20_000) % 30
    for name in ("float32", "float64", "complex64"):
        a = np.broadcast_to(np.array([0.1], name), 20_000)
        for op in ("sum", "mean"):
            want = expected(a, labels, 30, op, 0)
            check(gpureduce.group_reduce(a, labels, op, 30, device=device), want, f"{name} {op}")


def test_windows_that_the_sample_does_not_tell(device):
    """The sample is every so-manieth element: of zeros, of numbers far away, of infinities."""
    n = 5 * 1024
    rng = np.random.default_rng(3)
    for dtype in (np.float32, np.float64):
        a, labels = rng.standard_normal(n).astype(dtype), rng.integers(0, 7, n)
        most, least = np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal
        for sample in (0.0, least, most, 1e38, 1e-30, math.inf):
            a[::5] = dtype(sample) * rng.choice([-1, 1], n // 5)
            if sample == math.inf:
                a[1::5] = most * rng.choice([-1, 1], n // 5) / dtype(2)
            in_windows(a, labels, 8, device, f"{dtype.__name__}, sample of {sample}")
            labels[::5] = 7


def test_every_exponent_next_to_windows(device):
    """The sample has one exponent, so that the windows are around it; other elements have all exponents."""
    rng = np.random.default_rng(8)
    n = 20 * 1024
    labels = rng.integers(0, 7, n)
    for name, most in (("float32", 60), ("float64", 120), ("bfloat16", 60), ("float16", 12)):
        if name in FLOATS:
            a = rng.choice([-1, 1], n) * 2.0 ** rng.integers(-most, most + 1, n)
            a[::20] = 1.5
            for groups in (7, 5000):
                in_windows(a.astype(reference.dtype_of(name)), labels, groups, device, f"{name} {groups}")


def test_a_plane_decides_a_tie_of_windows(device):
    """Halfway between two numbers in the windows, but for an element far below them."""
    labels = np.arange(400) % 40
    a = np.ones(400, np.float32)
    a[40:80] = 2.0**-24
    a[80:] = 0
    a[80:120] = [sign * 2.0**-down for down in range(55, 75) for sign in (1, -1)]
    in_windows(a, labels, 40, device, "ties")


def test_the_rest_of_a_division_decides_a_tie(device):
    """The mean is halfway between two numbers, but for a sum of 2^-112, of which a quotient has no bit."""
    n, rows = 2048, 1900
    labels = np.zeros(n, np.int64)
    labels[rows:] = 1
    a = np.full(n, 0.5, np.float32)
    a[: rows // 2] += np.float32(2.0**-24)  # half of them are the next number
    a[rows - 4 : rows] = 0.75  # for the two elements that are tiny
    a[rows:] = 2.0**-20  # 0.5 has the last exponent of the window
    for sign in (1, -1):
        tiny = np.array([(2**23 + 1) * 2.0**-112, -(2.0**-89)], np.float32) * np.float32(sign)
        a[[1001, 1003]] = tiny  # the sample is of even rows
        for values in (a, -a):
            in_windows(values, labels, 2, device, f"sign {sign}")


def test_carries_of_windows(device):
    """Lower words that overflow with every few additions, of both signs, into upper words of both signs."""
    rng = np.random.default_rng(4)
    n = 20_000
    labels = rng.integers(0, 3, n)
    for dtype, most in ((np.float32, 2 - 2.0**-23), (np.float64, 2 - 2.0**-52)):
        for signs in ([1], [-1], [1, -1]):
            a = (rng.choice(signs, n) * most * 2.0 ** rng.integers(0, 20, n)).astype(dtype)
            in_windows(a, labels, 5000, device, f"{dtype.__name__} {signs}")
