"""Group sums of few rows: one launch, in which a block has a group; the bits are those of the exact sums."""

import math

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce._profiles.from_core import kernel_profiles, observe
from tests.segments.test_group_sums import KINDS, check, drawn_labels, expected, launched

SHORT = 3  # gr_groups_path
MAX_ROWS = 4096  # of short sums


def of_kinds(rng, labels, columns, name):
    """Return rows whose columns have data of all kinds, one after the other."""
    with np.errstate(all="ignore"):
        parts = [KINDS[i % len(KINDS)](rng, labels, np.dtype(name)) for i in range(columns)]
        return np.stack(parts, -1) if columns > 1 else parts[0]


@pytest.mark.parametrize("threads_shift", range(5, 9))
@pytest.mark.parametrize("name", ["float32", "float64", "float16", "complex64"])
def test_blocks_of_any_size(name, threads_shift):
    """All lanes and warps of a block take part: rows of one column and of several, in lists."""
    rng = np.random.default_rng(threads_shift)
    real = "float32" if name == "complex64" else name
    for n, columns, groups in ((700, 1, 3), (90, 3, 2), (130, 70, 4)):
        labels = drawn_labels(rng, n, groups, True)
        if name == "complex64":
            a = of_kinds(rng, labels, 2 * columns, real).view(name)
            a = a[:, 0] if columns == 1 else a
        else:
            a = of_kinds(rng, labels, columns, real)
        for op in ("sum", "mean"):
            got, kernels = launched(a, labels, groups, op, path=SHORT, partition_shift=threads_shift)
            assert [kernel.name for kernel in kernels] == [f"group_short_{real[0]}{real[5:]}"]
            check(got, expected(a, labels, groups, op, 0), f"{name} {n} {columns} {op}")


@pytest.mark.parametrize(
    ("name", "n", "columns", "groups"),
    [
        ("float32", 3000, 1, 3),
        ("float64", 300, 5, 4),
        ("float16", 900, 40, 2),
        ("bfloat16", 40, 1, 5),
        ("float64", 40, 70, 8),
    ],
)
def test_no_races(name, n, columns, groups):
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
    got, kernels = launched(a, labels, groups, races=True, path=SHORT)
    assert len(kernels) == 1 and kernels[0].races == ()
    check(got, expected(a, labels, groups, "sum", 0), name)


@pytest.mark.parametrize(
    ("n", "columns", "groups", "name", "is_short"),
    [
        (MAX_ROWS, 1, 64, "float32", True),
        (MAX_ROWS, 1, 65, "float32", False),  # blocks would read too many labels
        (MAX_ROWS + 1, 1, 2, "float32", False),
        (100, 600, 3, "float64", True),
        (100, 1, 3, "int32", False),
    ],
)
def test_which_sums_have_one_launch(n, columns, groups, name, is_short):
    a, labels = np.ones((n, columns), name), np.arange(n) % groups

    def call(device):
        destination = (None, device, 0, 0)
        return _core.groups(a=a, op="sum", axis=0, labels=labels, num_groups=groups, destination=destination)

    got, launches, problem = observe(call, False)
    names = [kernel.name for kernel in kernel_profiles(launches, "", 0)]
    assert problem is None and got.sum() == n * columns
    assert (len(names) == 1 and names[0].startswith("group_short")) == is_short


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
