"""Sums and means of segments: exact and rounded once, on every path, so that the paths agree to the last bit.

The reference is that of groups: significands as Python's integers, and a fraction that is rounded once.
"""

import itertools
import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import gpureduce
from gpureduce._profiles.from_core import kernel_profiles, observe
from tests.segments.test_group_sums import (
    COMPLEX,
    FLOATS,
    INTEGERS,
    KINDS,
    check,
    drawn_integers,
    expected,
    parts_of,
    quietly,
)
from tests.support import exact_reference as reference

SEED = 43
CALLS = 80


def drawn_offsets(rng, rows, segments, whole):
    """Return offsets of segments of random lengths, some of them empty, and the labels of all rows."""
    offsets = np.sort(rng.integers(0, rows + 1, segments + 1))
    if whole:
        offsets[0], offsets[-1] = 0, rows
    labels = np.full(rows, -1)
    labels[offsets[0] : offsets[-1]] = np.repeat(np.arange(segments), np.diff(offsets))
    return offsets, labels


def drawn_columns(rng, labels, dtype, columns):
    """Return rows of columns, of one kind of data, and its name."""
    if dtype.kind in "biu":
        parts = [drawn_integers(rng, labels, dtype) for _ in range(columns)]
        return np.stack(parts, -1), "integers"
    kind = KINDS[int(rng.integers(len(KINDS)))]
    with np.errstate(all="ignore"):
        parts = [kind(rng, labels, parts_of(dtype)) for _ in range(columns * (1 + (dtype.kind == "c")))]
    return np.ascontiguousarray(np.stack(parts, -1)).view(dtype), kind.__name__


def shuffled_rows(rng, offsets, rows):
    """Return an order of rows that keeps them in their segments."""
    order = np.arange(rows)
    for begin, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        order[begin:end] = rng.permutation(order[begin:end])
    return order


def test_random_calls(device):
    """Any dtype, data, lengths and number of columns gives the reference's bits, in any order of the rows."""
    for number in range(CALLS):
        rng = np.random.default_rng([SEED, number])
        dtype = reference.dtype_of(str(rng.choice([*FLOATS, *FLOATS, *COMPLEX, *INTEGERS])))
        rows = int(rng.choice([1, 5, 40, 300, 1500, 6000]))
        segments = int(rng.choice([1, 2, 7, rows // 3 + 1, rows]))
        columns = int(rng.choice([1, 1, 1, 2, 3, 33])) if rows < 1000 else int(rng.choice([1, 1, 2]))
        offsets, labels = drawn_offsets(rng, rows, segments, rng.random() < 0.7)
        a, kind = drawn_columns(rng, labels, dtype, columns)
        op = str(rng.choice(["sum", "mean"]))
        want = expected(a, labels, segments, op, 0)
        if columns == 1 and rng.random() < 0.7:  # contiguous elements, which are streamed
            a, want = a[:, 0], want[:, 0]
        note = f"call {number}: {op} {dtype} {kind} {a.shape} segments {segments}"
        for _ in range(2):
            there, bounds = a, offsets
            if rng.random() < 0.5:
                there, bounds = gpureduce.to_device(a, device), gpureduce.to_device(offsets, device)
            call = partial(gpureduce.segment_reduce, there, bounds, op, device=device)
            if rng.random() < 0.5:
                call = partial(by_streams, a, offsets, op, device)
            check(quietly(call), want, note)
            a = a[shuffled_rows(rng, offsets, rows)]


def by_streams(a, offsets, op, device):
    """Return sums of segments along the first axis without the kernel of few rows."""
    kind = gpureduce._core.SIM if device == "sim" else gpureduce._core.CUDA
    more = {"permuted_rows": 0, "ddof": 0, "destination": (None, kind, 0, 0), "path": 1}
    return gpureduce._core.segments(a=a, op=op, axis=0, offsets=np.asarray(offsets), **more)


def both(a, offsets, op="sum", device=None):
    """Return sums of segments, once the stream has given the same bits as the kernel of few rows."""
    got = gpureduce.segment_reduce(a, offsets, op, device=device)
    check(by_streams(a, offsets, op, device), got, "stream_sum")
    return got


def by_each_path(a, offsets, labels, op, device):
    """Return calls that sum up the same segments, by the kernel that does."""
    segments = len(offsets) - 1
    two, backwards = np.stack([a, a], -1), np.arange(len(a))[::-1]
    more = {"op": op, "device": device}
    return {
        "segment_short": lambda: gpureduce.segment_reduce(a, offsets, **more),
        "stream_sum": lambda: by_streams(a, offsets, op, device),
        "segment_sum": lambda: gpureduce.segment_reduce(two, offsets, **more)[:, 1],
        "group_window": lambda: gpureduce.group_reduce(a, labels, num_groups=segments, **more),
        "group_planes": lambda: gpureduce.group_reduce(
            a[backwards], labels[backwards].astype(np.int16), num_groups=segments, **more
        ),
    }


@pytest.mark.parametrize("name", FLOATS)
def test_every_path_gives_the_same_bits(name, device):
    dtype = reference.dtype_of(name)
    rng = np.random.default_rng(3)
    offsets, labels = drawn_offsets(rng, 3000, 40, True)
    for kind in KINDS:
        with np.errstate(all="ignore"):
            a = kind(rng, labels, dtype)
        for op in ("sum", "mean"):
            want = expected(a, labels, 40, op, 0)
            for path, call in by_each_path(a, offsets, labels, op, device).items():
                check(quietly(call), want, f"{path} {op} {kind.__name__}")


def test_groups_beyond_the_workspace_are_exact(device):
    """They are sorted; then the kernels of segments read rows by a permutation, and round once."""
    rng = np.random.default_rng(9)
    for name, groups in (("float64", 70_000), ("complex128", 30_000)):
        dtype = np.dtype(name)
        labels = rng.choice(rng.integers(0, groups, 40), 600)
        for kind in KINDS:
            with np.errstate(all="ignore"):
                parts = [kind(rng, labels, parts_of(dtype)) for _ in range(dtype.itemsize // 8)]
            a = np.ascontiguousarray(np.stack(parts, -1)).view(dtype)[:, 0]
            for op in ("sum", "mean"):
                got = quietly(partial(gpureduce.group_reduce, a, labels, op, groups, device=device))
                some = np.unique(labels)
                want = expected(a, np.searchsorted(some, labels), len(some), op, 0)
                check(got[some], want, f"{name} {op} {kind.__name__}")


# ---- sums that registers do not hold ----


@pytest.mark.parametrize("more", [0, 3300])
def test_far_exponents_in_segments_of_all_lengths(more, device):
    """A block or a warp adds up its segment again; the next call has nothing left of that."""
    rng = np.random.default_rng(11)
    lengths = np.array([1, 2, 31, 33, 0, 2047, 2048, 2049, 5000, 3] + more * [1])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    labels = np.repeat(np.arange(len(lengths)), lengths)
    for name in ("float32", "float64"):
        dtype = np.dtype(name)
        most = 126 if name == "float32" else 1000
        far = (rng.standard_normal(len(labels)) * 2.0 ** rng.integers(-most, most, len(labels))).astype(dtype)
        near = rng.standard_normal(len(labels)).astype(dtype)
        for op in ("sum", "mean") if more == 0 else ("sum",):
            for a in (far, near, far):
                got = both(a, offsets, op, device=device)
                want = expected(a, labels, len(lengths), op, 0)
                check(quietly(lambda got=got: got), want, f"{name} {op}")


@pytest.mark.parametrize("name", ["float32", "float64", "complex128"])
def test_far_exponents_in_few_long_segments(name, device):
    """Several blocks share a segment; the block that comes last rounds the sum of their states."""
    rng = np.random.default_rng(12)
    dtype = np.dtype(name)
    n, most = 40_000, 120 if name == "float32" else 1000
    far = (rng.standard_normal((n, 2)) * 2.0 ** rng.integers(-most, most, (n, 2))).astype(parts_of(dtype))
    a = far.view(dtype)[:, 0] if name == "complex128" else far[:, 0]
    for offsets in ([0, n], [0, 7000, n]):
        labels = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        for op in ("sum", "mean"):
            want = expected(a, labels, len(offsets) - 1, op, 0)
            for _ in range(2):
                got = both(a, offsets, op, device=device)
                check(got, want, f"{name} {op} {offsets}")


def test_cancellation_over_all_exponents(device):
    """What is left of numbers of every exponent and their opposites is the last bit of the least one."""
    powers = 2.0 ** np.arange(-1000, 1000, 7)
    a = np.concatenate([powers, [2.0**-1074], -powers])
    for shift in (0, 1, 31):
        got = both(np.roll(a, shift), [0, len(a)], device=device)
        assert got.tolist() == [2.0**-1074]
        mean = both(np.roll(a, shift) * 4, [0, len(a)], "mean", device=device)
        assert mean.tolist() == [float(Fraction(4, len(a)) * Fraction(2.0**-1074))]


def test_sums_that_overflow_on_the_way(device):
    """A partial sum beyond the greatest float64 leaves no infinity; one that is the sum does."""
    most = np.finfo(np.float64).max
    a = np.array([most, most, -most, most, most, math.inf, -most, math.inf, -math.inf, 1, math.nan])
    offsets = [0, 3, 5, 7, 9, 11]
    want = [most, math.inf, math.inf, math.nan, math.nan]
    got = quietly(lambda: both(a, offsets, device=device))
    np.testing.assert_array_equal(got, want)


def test_batches_of_a_lane(device):
    """Elements of a lane are added in a double as long as their exponents are within 25 of each other."""
    for apart in range(20, 34):
        a = np.ones(4096, np.float32)
        a[2048:] = -1  # what is left are the small elements of the first half
        a[1:2048:16] = np.float32(2.0**-apart * (1 + 2.0**-23))
        a[2049::16] = 0
        got = both(a, [0, 4096], device=device)
        assert got[0] == np.float32(math.fsum(a.astype(float))), apart


@pytest.mark.parametrize("name", ["float32", "float64", "bfloat16"])
def test_exponents_of_a_batch(name, device):
    """Where segments end, sums of a batch are exact in one double, or two, up to some distance of exponents.

    The great elements of a segment cancel, and the last bits of the small ones remain.
    """
    if name not in FLOATS:
        pytest.skip("needs ml_dtypes")
    rng = np.random.default_rng(14)
    dtype = reference.dtype_of(name)
    precision, _ = reference.FORMATS[name]
    offsets = np.concatenate([[0], np.sort(rng.choice(np.arange(1, 4000), 30, False)), [4096]])
    labels = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    for apart in (*range(8, 48), *range(52, 72), 90):
        a = np.full(4096, 2 - 2.0 ** (1 - precision))
        for begin, end in itertools.pairwise(offsets.tolist()):
            half = (end - begin) // 3
            a[begin + half : begin + 2 * half] *= -1
            a[begin + 2 * half : end] = 2.0**-apart * (1 + 2.0 ** (1 - precision) * rng.integers(0, 2))
        a = a[shuffled_rows(rng, offsets, 4096)].astype(dtype)
        want = expected(a, labels, len(offsets) - 1, "sum", 0)
        check(both(a, offsets, device=device), want, f"{name} {apart}")


def test_subnormal_numbers_are_far_from_others(device):
    """Their upper words are 0, as those of zeros are."""
    a, part = np.zeros(4096), 2.0**-30 * (1 + 2.0**-52)
    for place, x in enumerate((1, -1, 2.0**-1074, 0, part, -part)):
        a[place::64] = x
    offsets = np.arange(0, 4097, 64)
    got = both(a, offsets, device=device)
    assert got.tolist() == [2.0**-1074] * 64


# ---- integers ----


def test_means_of_integers_are_exact(device):
    """Sums that exceed 64 bits, and integers that float64 does not have."""
    for name in ("int64", "uint64"):
        info = np.iinfo(name)
        a = np.array([info.max, info.max, info.max - 1, info.min, info.min, 2**53 + 1, 2**53 + 3], name)
        got = both(a, [0, 3, 5, 6, 7], "mean", device=device)
        sums = [3 * info.max - 1, 2 * info.min, 2**53 + 1, 2**53 + 3]
        want = [float(Fraction(x, n)) for x, n in zip(sums, (3, 2, 1, 1), strict=True)]
        assert got.tolist() == want


@pytest.mark.parametrize(
    ("columns", "path", "names"),
    [
        (1, 0, ["segment_short_f32"]),
        (1, 1, ["stream_sum_real", "segment_lost_f32"]),
        (2, 0, ["segment_sum_real", "segment_lost_f32"]),
    ],
)
def test_kernels_of_the_paths(columns, path, names):
    """Few rows take one launch; others are streams or tiles, then lost sums. No kernel has a race."""
    a, offsets = np.ones((9000, columns), np.float32), np.arange(4) * 3000
    a[::3000], a[3001] = 2.0**120, 2.0**-120
    a = a[:, 0] if columns == 1 else a

    def call(device):
        destination = (None, device, 0, 0)
        more = {"permuted_rows": 0, "ddof": 0, "destination": destination, "path": path}
        return gpureduce._core.segments(a=a, op="sum", axis=0, offsets=offsets, **more)

    _, launches, problem = observe(call, True)
    kernels = kernel_profiles(launches, "", 0)
    assert problem is None and all(each.races == () for each in kernels)
    assert [each.name for each in kernels][-len(names) :] == names


@pytest.mark.parametrize("segments", [40, 400])
def test_long_segments_among_short_ones(segments, device):
    """Blocks share long segments, or leave them to the kernel of lost sums."""
    rng = np.random.default_rng(15)
    rows = 140_000
    cuts = np.sort(rng.choice(2000, segments - 2, False))
    offsets = np.concatenate([[0], cuts, [2000 + 40_000, rows]])
    a = rng.standard_normal(rows).astype(np.float32)
    a[5000] = 2.0**100
    got = both(a, offsets, "sum", device)
    want = [math.fsum(a[i:j].astype(float)) for i, j in itertools.pairwise(offsets.tolist())]
    assert np.array_equal(got, np.float32(want))


def test_sums_of_integers_that_do_not_fit(device):
    """With exact=True, the first one is named; without, sums wrap."""
    rng = np.random.default_rng(5)
    labels = np.repeat(np.arange(3), 4)
    calls = {
        "segment": lambda a, **more: gpureduce.segment_reduce(a, [0, 4, 8, 12], device=device, **more),
        "slice": lambda a, **more: gpureduce.reduceat(a, [0, 4, 8], device=device, **more),
        "group": lambda a, **more: gpureduce.group_reduce(a, labels, device=device, **more),
    }
    for name in ("int64", "uint64"):
        info = np.iinfo(name)
        for ends in ([info.max, 0], [info.max, 1], [info.min, 0], [info.min, -1 % 2**64], [info.min, -1]):
            if not all(info.min <= end <= info.max for end in ends):
                continue
            a = rng.integers(-(2**40) if info.min else 0, 2**40, 12).astype(name)
            a[4:8] = [ends[0], 0, 0, ends[1]]
            sums = [sum(a[at : at + 4].tolist()) for at in (0, 4, 8)]
            fits = info.min <= sums[1] <= info.max
            for noun, call in calls.items():
                for place in (np.asarray, partial(gpureduce.to_device, device=device)):
                    assert np.array_equal(to_host(call(place(a))), np.add.reduceat(a, [0, 4, 8]))
                    if fits:
                        assert to_host(call(place(a), exact=True)).tolist() == sums
                        continue
                    text = f"a: the sum {sums[1]} of {noun} 1 does not fit {name}"
                    with pytest.raises(OverflowError, match=f"^{text}$"):
                        call(place(a), exact=True)


def to_host(result):
    return result.numpy() if isinstance(result, gpureduce.DeviceArray) else result


def test_exact_is_for_sums_and_means(device):
    """It is ignored where results are exact anyway, and refused where they are rounded more than once."""
    a = np.array([0.5, 2.0**60, -(2.0**60)])
    for op, want in (("sum", [0.5]), ("mean", [0.5 / 3]), ("max", [2.0**60])):
        for exact in (True, False, 1, None):
            assert gpureduce.segment_reduce(a, [0, 3], op, exact=exact, device=device).tolist() == want
    for op in ("prod", "nanprod"):
        with pytest.raises(TypeError, match=f"exact: only for sum and mean, not for {op}"):
            gpureduce.group_reduce(a, [0, 0, 0], op, exact=True, device=device)
    with pytest.raises(TypeError, match="exact: expected a bool, got ndarray"):
        gpureduce.segment_reduce(a, [0, 3], exact=np.ones(2), device=device)
    with pytest.raises(OverflowError, match="a: the sum 300 of slice 1 does not fit int8"):
        gpureduce.reduceat(np.array([1, 100, 200], "i2"), [0, 1], dtype="i1", exact=True, device=device)
    with pytest.raises(ValueError, match="exact: only with variant='auto'"):
        gpureduce.group_reduce(np.ones(3, "f4"), [0, 1, 0], variant="g3", exact=True, device=device)
    many = np.full((2, 6), 2**62)
    with pytest.raises(OverflowError, match=f"a: the sum {2**63} of group 1 does not fit int64"):
        gpureduce.group_reduce(many, [0, 1, 1, 2, 2, 2], axis=1, exact=True, device=device)
