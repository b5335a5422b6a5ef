"""Group sums of few rows, each of one launch: the bits are those of the exact sums.

A block has one group (``group_short``), some groups whose planes are in its shared memory
(``group_shared``), or some groups whose rows it lists (``group_lists``).
"""

import math

import numpy as np
import pytest

import gpureduce
from tests.segments.test_group_sums import KINDS, check, drawn_labels, expected, launched

SHORT, SHARED, LISTS = 3, 5, 6  # gr_groups_path


def of_kinds(rng, labels, columns, name):
    """Return rows whose columns have data of all kinds, one after the other."""
    with np.errstate(all="ignore"):
        parts = [KINDS[i % len(KINDS)](rng, labels, np.dtype(name)) for i in range(columns)]
        return np.stack(parts, -1) if columns > 1 else parts[0]


@pytest.mark.parametrize("threads_shift", range(5, 10))
@pytest.mark.parametrize("name", ["float32", "float64", "float16"])
def test_blocks_of_any_size(name, threads_shift):
    """All lanes and warps of a block take part in the sum of its group."""
    rng = np.random.default_rng(threads_shift)
    for n, groups in ((700, 3), (90, 2), (2500, 4)):
        labels = drawn_labels(rng, n, groups, True)
        for kind in rng.choice(KINDS, 4, False):
            with np.errstate(all="ignore"):
                a = kind(rng, labels, np.dtype(name))
            got, kernels = launched(a, labels, groups, path=SHORT, partition_shift=threads_shift)
            assert [kernel.name for kernel in kernels] == [f"group_short_{name[0]}{name[5:]}"]
            check(got, expected(a, labels, groups, "sum", 0), f"{name} {n} {kind.__name__}")


@pytest.mark.parametrize("groups_shift", [0, 1, 5, 7])
@pytest.mark.parametrize("name", ["float32", "float64", "float16"])
def test_planes_in_shared_memory(name, groups_shift):
    """Groups of a block do not mix, whatever the exponents of their elements."""
    rng = np.random.default_rng(groups_shift)
    for n, groups in ((300, 5), (4500, 130), (20, 200)):
        labels = drawn_labels(rng, n, groups, n != 20)
        for kind in rng.choice(KINDS, 5, False):
            with np.errstate(all="ignore"):
                a = kind(rng, labels, np.dtype(name))
            for op in ("sum", "mean"):
                got, kernels = launched(a, labels, groups, op, path=SHARED, partition_shift=groups_shift)
                assert [kernel.name for kernel in kernels] == [f"group_shared_{name[0]}{name[5:]}"]
                check(got, expected(a, labels, groups, op, 0), f"{name} {n} {op} {kind.__name__}")


@pytest.mark.parametrize("groups_shift", [0, 1, 6])
@pytest.mark.parametrize("name", ["float32", "float64", "float16", "complex64"])
def test_lists_of_rows(name, groups_shift):
    """Warps have columns of a group; a block has all rows of a large group."""
    rng = np.random.default_rng(groups_shift)
    real = "float32" if name == "complex64" else name
    for n, columns, groups in ((90, 3, 2), (300, 70, 4), (700, 2, 90), (40, 150, 20)):
        labels = drawn_labels(rng, n, groups, True)
        if name == "complex64":
            a = of_kinds(rng, labels, 2 * columns, real).view(name)
        else:
            a = of_kinds(rng, labels, columns, real)
        for op in ("sum", "mean"):
            got, kernels = launched(a, labels, groups, op, path=LISTS, partition_shift=groups_shift)
            suffix = "wide" if name == "float64" else "narrow"
            assert [kernel.name for kernel in kernels] == [f"group_lists_{suffix}"]
            check(got, expected(a, labels, groups, op, 0), f"{name} {n} {columns} {op}")


@pytest.mark.parametrize("name", ["float32", "float64", "float16", "bfloat16"])
def test_two_rows_are_added_once(name):
    """The sum of two elements is rounded once: ties, exponents far apart, infinities, NaN and -0."""
    kind = pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else name
    rng = np.random.default_rng(6)
    digits = {"float32": 23, "float64": 52, "float16": 10, "bfloat16": 7}[name]
    least = {"float32": -149, "float64": -1074, "float16": -24, "bfloat16": -133}[name]
    most = {"float32": 127, "float64": 1023, "float16": 15, "bfloat16": 127}[name]
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, 2.0**least, 2.0**most * (2 - 2.0**-digits)]
    ties = [
        1.0,
        1 + 2.0**-digits,
        2.0 ** -(digits + 1),
        2.0 ** -(digits + 1) * (1 + 2.0**-digits),
        2.0**least,
    ]
    values = np.array([*special, *ties, *(-x for x in ties)])
    pairs = np.stack(np.meshgrid(values, values), -1).reshape(-1, 2)
    scale = 2.0 ** rng.integers(0, 3, (len(pairs), 1))
    with np.errstate(all="ignore"):
        a = (pairs * scale).T.astype(kind)
    labels = np.array([1, 1])
    a = np.concatenate([a[:, :1].repeat(-len(pairs) % 32, 1), a], 1)
    got, kernels = launched(a, labels, 3, path=LISTS)
    assert kernels[0].name.startswith("group_lists")
    check(got, expected(a, labels, 3, "sum", 0), name)


@pytest.mark.parametrize(
    ("path", "name", "n", "columns", "groups"),
    [
        (SHORT, "float32", 3000, 1, 3),
        (SHORT, "bfloat16", 40, 1, 5),
        (SHARED, "float32", 3000, 1, 40),
        (SHARED, "float64", 700, 1, 3),
        (LISTS, "float64", 300, 5, 4),
        (LISTS, "float16", 900, 40, 2),
        (LISTS, "float64", 40, 70, 8),
    ],
)
def test_no_races(path, name, n, columns, groups):
    """Sums in registers, and lost ones in shared memory."""
    rng = np.random.default_rng(n)
    labels = rng.integers(0, groups, n)
    a = rng.standard_normal((n, columns)) * 2.0 ** rng.integers(-20, 15, (n, columns))
    if name == "float64":
        a *= 2.0 ** rng.integers(-400, 400, (n, columns))
    a[::7] = 0
    a = a.astype("float32" if name == "bfloat16" else name)
    a = a if columns > 1 else a[:, 0]
    if name == "bfloat16":
        a = pytest.importorskip("ml_dtypes").bfloat16(1) * a.astype("bfloat16")
    got, kernels = launched(a, labels, groups, races=True, path=path)
    assert len(kernels) == 1 and kernels[0].races == ()
    check(got, expected(a, labels, groups, "sum", 0), name)


def test_groups_without_rows(device):
    """Sums are 0, means NaN; labels outside count nowhere."""
    for shape in ((3,), (3, 2)):
        a, labels = np.ones(shape, np.float32), np.array([1, -1, 9])
        options = {"axis": 0, "num_groups": 3, "device": device}
        there, label_array = gpureduce.to_device(a, device), gpureduce.to_device(labels, device)
        sums = gpureduce.group_reduce(there, label_array, "sum", **options).numpy()
        assert sums.tolist() == np.stack([a[0] * 0, a[0], a[0] * 0]).tolist()
        assert not np.signbit(sums).any()
        means = gpureduce.group_reduce(there, label_array, "mean", **options).numpy()
        assert math.isnan(means.reshape(3, -1)[0, 0]) and means.reshape(3, -1)[1, 0] == 1
