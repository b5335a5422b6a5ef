"""Extremes, positions, counts and bitwise operators of groups: any order of the rows gives the same bits."""

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce._profiles.from_core import kernel_profiles, observe
from tests.support import exact_reference as reference

VALUES = ("min", "max", "nanmin", "nanmax", "any", "all", "count_nonzero")
BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor")
POSITIONS = ("argmin", "argmax")
FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def drawn(rng, dtype, n):
    """Return elements of all exponents with infinities, zeros of both signs, and few NaNs."""
    if dtype.kind in "biu":
        low, high = (0, 2) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        a = rng.integers(low, high, n, dtype if dtype.kind != "b" else np.int8, endpoint=dtype.kind != "b")
        a[rng.random(n) < 0.3] = 0
        return a.astype(dtype)
    with np.errstate(all="ignore"):
        a = (rng.standard_normal(n) * 2.0 ** rng.integers(-24, 16, n)).astype(dtype)
    kinds = rng.random(n)
    for i, special in enumerate((0.0, -0.0, np.inf, -np.inf)):
        a[(kinds > 0.05 * i) & (kinds < 0.05 * i + 0.04)] = special
    a[kinds > 0.99] = np.nan
    return a


def empty_result(op, dtype):
    """Return the result of an empty group."""
    if op in ("any", "all"):
        return op == "all"
    if op in ("count_nonzero", *BITWISE[1:]):
        return 0
    if op == "bitwise_and":
        return True if dtype.kind == "b" else np.invert(dtype.type(0))
    least = op.endswith("min")
    if dtype.kind not in "biu":
        return np.inf if least else -np.inf
    if dtype.kind == "b":
        return least
    return np.iinfo(dtype).max if least else np.iinfo(dtype).min


def expected_value(op, rows):
    """Return the result of a group; of equal zeros the least is -0, and the largest 0."""
    if op in ("any", "all"):
        return getattr(np, op)(rows.astype(bool))
    if op == "count_nonzero":
        return np.count_nonzero(rows)
    if op in BITWISE:
        return getattr(np, op).reduce(rows)
    if rows.dtype.kind in "biu":
        return (np.min if op.endswith("min") else np.max)(rows)
    rows = rows.astype(np.float64)
    missing = np.isnan(rows)
    if missing.all() or (missing.any() and not op.startswith("nan")):
        return np.nan
    rows, least = rows[~missing], op.endswith("min")
    result = rows.min() if least else rows.max()
    if result == 0:
        signs = np.signbit(rows[rows == 0])
        result = -0.0 if (signs.any() if least else signs.all()) else 0.0
    return result


def expected(op, a, labels, groups):
    """Return results by group."""
    inside = np.flatnonzero((labels >= 0) & (labels < groups))
    order = inside[np.argsort(labels[inside], kind="stable")]
    places = np.split(order, np.searchsorted(labels[order], np.arange(1, groups)))
    if op in POSITIONS:
        values = a.astype(np.float64) if a.dtype.kind not in "biu" else a
        return np.array([p[getattr(np, op)(values[p])] if len(p) else -1 for p in places])
    dtype = {"any": bool, "all": bool, "count_nonzero": np.int64}.get(op, a.dtype)
    result = np.array([empty_result(op, a.dtype)] * groups).astype(dtype)
    for g, rows in enumerate(places):
        if len(rows):
            result[g] = expected_value(op, a[rows])
    return result


def same_bits(got, want, note):
    """Compare bits: a NaN is NumPy's."""
    got = np.asarray(got)
    assert got.dtype == want.dtype and got.shape == want.shape, note
    np.testing.assert_array_equal(got.view(np.uint8), want.view(np.uint8), note)


# Rows and groups: keys in shared memory for one block and several, the last row short; keys in device memory.
SHAPES = ((4 * 13, 13), (9001, 700), (20_002, 40), (3000, 1500))


@pytest.mark.parametrize("name", FLOATS + INTEGERS)
def test_extremes(name, device):
    """Each operator, with labels of 32 and 64 bits, sorted, equal, and out of range."""
    dtype = reference.dtype_of(name) if name in FLOATS else np.dtype(name)
    ops = [op for op in VALUES if dtype.kind not in "biu" or not op.startswith("nan")]
    ops += POSITIONS if dtype.kind not in "biu" else POSITIONS + BITWISE
    for turn, (n, groups) in enumerate(SHAPES):
        rng = np.random.default_rng([turn, n])
        a = drawn(rng, dtype, n)
        labels = rng.integers(-1, groups + 1, n)
        if turn == 1:
            labels.sort()
        elif turn == 2:
            labels[: n // 2] = 7
        if dtype.kind not in "biu":
            a[labels == 3] = np.nan
        there = gpureduce.to_device(a, device)
        for k, op in enumerate(ops):
            wide = (turn + k) % 2 == 1  # labels out of range have the lower halves of others
            given = np.where(labels == groups, rng.integers(0, groups, n) + 2**32, labels) if wide else labels
            label_array = gpureduce.to_device(given.astype("int64" if wide else "int32"), device)
            got = gpureduce.group_reduce(there, label_array, op, groups).numpy()
            same_bits(got, expected(op, a, labels, groups), f"{name} {op} {n} {groups}")


@pytest.mark.parametrize("name", ["float32", "int64"])
def test_blocks_of_whole_batches(name, device):
    """A block takes 4096 rows at once, then the rest; with 5000 groups it has 5000 rows."""
    rng = np.random.default_rng(8)
    a, labels = drawn(rng, np.dtype(name), 20_000), rng.integers(0, 5000, 20_000)
    for op in ("max", "argmin") if name == "float32" else ("min",):
        got = gpureduce.group_reduce(a, labels, op, 5000, device=device)
        same_bits(got, expected(op, a, labels, 5000), op)


@pytest.mark.parametrize("op", ["max", "nanmin", "argmin", "any", "count_nonzero"])
def test_rows_and_strides(op, device):
    """Any axis, columns, strides, and labels of 8 bits."""
    rng = np.random.default_rng(5)
    for name in ("float32", "int64") if op in ("max", "any") else ("float32",):
        a = drawn(rng, np.dtype(name), 3 * 70 * 10).reshape(3, 70, 10)
        labels = rng.integers(-1, 5, 70).astype(np.int8)
        columns = np.asfortranarray(a[0])
        for axis, source in ((1, a), (0, a.transpose(1, 0, 2).copy()), (1, a[:, :, ::2]), (0, columns)):
            moved = np.moveaxis(source, axis, 0)
            want = np.stack(
                [expected(op, column, labels, 5) for column in moved.reshape(70, -1).T], axis=1
            ).reshape(5, *moved.shape[1:])
            got = gpureduce.group_reduce(source, labels, op, 5, axis=axis, device=device)
            same_bits(got, np.ascontiguousarray(np.moveaxis(want, 0, axis)), f"{op} {name} {axis}")


@pytest.mark.parametrize("name", ["float32", "float64", "int32", "uint8"])
def test_permuted_rows_and_repeated_calls(name, device):
    """The keys are zero after a call, and no order of the rows changes a bit."""
    rng = np.random.default_rng(11)
    a, labels = drawn(rng, np.dtype(name), 12_000), rng.integers(0, 300, 12_000)
    for op in ("min", "max"):
        want = expected(op, a, labels, 300)
        for order in (slice(None), rng.permutation(12_000), np.argsort(labels), np.argsort(-labels)):
            got = gpureduce.group_reduce(a[order], labels[order], op, 300, device=device)
            same_bits(got, want, f"{name} {op}")
    few = gpureduce.group_reduce(a[:2], labels[:2], "max", 300, device=device)
    same_bits(few, expected("max", a[:2], labels[:2], 300), "keys that an earlier call left")


def by_partitions(op, a, labels, groups, shift, device):
    """Return the result of partitions of few groups."""
    options = {"partition_shift": shift, "destination": (None, device, 0, 0)}
    return _core.groups(a=a, op=op, axis=0, labels=labels, num_groups=groups, **options)


@pytest.mark.parametrize("name", ["float16", "float64", "int32"])
def test_extremes_by_partitions(name, device):
    """Partitions of one block and of several, and groups without rows."""
    rng, dtype = np.random.default_rng(21), np.dtype(name)
    kind = gpureduce.to_device(np.zeros(1), device)._kind
    ops = ("nanmin", "max", "any") if dtype.kind == "f" else ("min", "all", "bitwise_xor", "bitwise_and")
    for n, groups, shift in ((9001, 900, 3), (20_000, 1000, 2)):
        a = drawn(rng, dtype, n)
        labels = rng.integers(-1, groups + 1, n)
        if groups == 1000:
            labels = np.where(rng.random(n) < 0.9, rng.integers(8, 12, n), labels)
        for turn, op in enumerate(("count_nonzero", *ops)):
            given = labels.astype("int32" if turn % 2 == 0 else "int64")
            for _ in range(2):  # the keys are zero after a call
                got = by_partitions(op, a, given, groups, shift, kind)
            same_bits(got, expected(op, a, labels, groups), f"{name} {op} {n}")


@pytest.mark.parametrize(("name", "last"), [("float32", "4"), ("float64", "8")])
def test_partitions_have_no_races(name, last):
    """Neither those of one block nor those of several."""
    rng = np.random.default_rng(3)
    n, groups = 25_000, 100
    a = drawn(rng, np.dtype(name), n)
    labels = np.where(rng.random(n) < 0.8, 5, rng.integers(0, groups, n))
    got, launches, problem = observe(lambda device: by_partitions("max", a, labels, groups, 3, device), True)
    kernels = kernel_profiles(launches, "", 0)
    assert problem is None
    assert kernels[1].name == f"group_extremes_partition_{last}"
    assert all(kernel.races == () for kernel in kernels)
    same_bits(got, expected("max", a, labels, groups), name)


def test_float64_positions_take_rows_in_order(device):
    """They have no key of 64 bits with a row: stable sort."""
    rng = np.random.default_rng(2)
    a, labels = rng.integers(0, 4, 5000).astype(np.float64), rng.integers(0, 9, 5000)
    got = gpureduce.group_reduce(a, labels, "argmax", 9, device=device)
    np.testing.assert_array_equal(got, expected("argmax", a, labels, 9))


@pytest.mark.large
def test_which_extremes_go_by_partitions():
    """Those of 2^22 contiguous rows and more whose keys do not fit in shared memory."""
    n, groups = 1 << 22, 100_000
    a, labels = np.arange(n, dtype=np.float32), np.arange(n) * 7 % groups
    want = np.zeros(groups, np.float32)
    np.maximum.at(want, labels, a)

    def call(device):
        return _core.groups(
            a=a, op="max", axis=0, labels=labels, num_groups=groups, destination=(None, device, 0, 0)
        )

    got, launches, problem = observe(call, False)
    assert problem is None
    assert [kernel.name for kernel in kernel_profiles(launches, "", 0)] == [
        "group_partition_4_i64_16",
        "group_extremes_partition_4",
    ]
    assert (got == want).all()
