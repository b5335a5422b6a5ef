"""Reductions of segments and groups that skip NaNs, against NumPy's of each by itself, and exact sums."""

import itertools
import math
import warnings

import numpy as np
import pytest

import gpureduce
from tests.segments.test_group_sums import FLOATS, KINDS, check, expected, parts_of
from tests.support import exact_reference as reference

OPS = ("nansum", "nanmean", "nanprod", "nanmin", "nanmax", "nanvar", "nanstd")
SUMS = ("nansum", "nanmean")
LENGTHS = (3, 0, 1, 40, 2, 700, 5, 0, 2100, 9)
OFFSETS = np.cumsum((0, *LENGTHS))
LABELS = np.repeat(np.arange(len(LENGTHS)), LENGTHS)


def with_nans(rng, a, labels):
    """Put NaNs at some places, and in all rows of some segments."""
    a[rng.random(len(a)) < 0.2] = math.nan
    a[np.isin(labels, rng.choice(len(LENGTHS), 3))] = math.nan
    if a.dtype.kind == "c":  # in one part alone
        a.real[rng.random(len(a)) < 0.1] = math.nan
    return a


def by_numpy(op, rows, ddof=0):
    if not len(rows):
        return gpureduce.segment_reduce(rows, [0, 0], op.removeprefix("nan"), device="sim")[0]
    more = {"ddof": ddof} if ddof else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return getattr(np, op)(rows.astype(np.float64), **more)


@pytest.mark.parametrize(("op", "name"), list(itertools.product(OPS, FLOATS)))
def test_nans_do_not_count(op, name, device):
    """In one column and in several, in segments and groups, on the host and on the device."""
    rng = np.random.default_rng(7)
    dtype = reference.dtype_of(name)
    numbers = 1 + rng.random(OFFSETS[-1]) / 256 if op == "nanprod" else rng.standard_normal(OFFSETS[-1])
    a = with_nans(rng, numbers.astype(dtype), LABELS)
    order = rng.permutation(len(a))
    two, column = np.stack([a[::-1], a], -1), (slice(None), 1)
    there, labels = gpureduce.to_device(a, device), gpureduce.to_device(LABELS, device)
    for ddof in (0, 1) if op in ("nanvar", "nanstd") else (0,):
        more = {"ddof": ddof, "device": device}
        results = [
            gpureduce.segment_reduce(a, OFFSETS, op, **more),
            gpureduce.segment_reduce(two, OFFSETS, op, **more)[column],
            gpureduce.group_reduce(there, labels, op, len(LENGTHS), **more).numpy(),
            gpureduce.group_reduce(a[order], LABELS[order], op, len(LENGTHS), **more),
        ]
        want = np.array([by_numpy(op, a[i:j], ddof) for i, j in itertools.pairwise(OFFSETS)])
        for result in results:
            assert result.dtype == dtype
            tolerance = max(2.0 ** (1 - reference.FORMATS[dtype.name][0]), 2.0**-44)
            np.testing.assert_allclose(result.astype(np.float64), want, rtol=tolerance, atol=2.0**-50)
            if op in SUMS:
                check(result, results[0], f"{op} {name}")


@pytest.mark.parametrize("name", [*FLOATS, "complex64", "complex128"])
@pytest.mark.parametrize("op", SUMS)
def test_sums_are_exact(op, name, device):
    """The exact sum of the numbers, with 0 instead of a NaN, by their number: rounded once, in any order."""
    rng = np.random.default_rng(8)
    dtype = reference.dtype_of(name)
    for kind in KINDS:
        with np.errstate(all="ignore"):
            parts = [kind(rng, LABELS, parts_of(dtype)) for _ in range(1 + (dtype.kind == "c"))]
        a = with_nans(rng, np.ascontiguousarray(np.stack(parts, -1)).view(dtype)[:, 0], LABELS)
        numbers = ~np.isnan(a)
        want = expected(a, np.where(numbers, LABELS, -1), len(LENGTHS), op.removeprefix("nan"), 0)
        replaced = np.isin(np.arange(len(LENGTHS)), LABELS[~numbers])
        want = np.where(replaced, want + dtype.type(0), want)  # no sum with a 0 is -0
        got = gpureduce.segment_reduce(a, OFFSETS, op, device=device)
        check(got, want.astype(dtype), f"{op} {name} {kind.__name__}")


@pytest.mark.parametrize("op", OPS)
def test_integers_have_no_nans(op, device):
    """A zero is a number, too."""
    cuts = {gpureduce.segment_reduce: [0, 2, 6], gpureduce.group_reduce: [1, 0, 1, 1, 0, 1]}
    for dtype in (np.int32, np.uint64, np.bool_):
        a = np.array([0, 5, 0, 7, 1, 2]).astype(dtype)
        for function, cut in cuts.items():
            for call in (function, function.__wrapped__):
                want = call(a, cut, op.removeprefix("nan"), device=device)
                got = call(a, cut, op, device=device)
                assert got.dtype == want.dtype and np.array_equal(got, want)


@pytest.mark.parametrize("op", ["var", "std", "nanvar", "nanstd"])
def test_variances_without_degrees_of_freedom(op, device):
    """They are infinite or NaN, and of the NaN-aware forms of floats always NaN, as in NumPy."""
    sizes, number = (4, 2, 1, 3), getattr(np, op)
    for dtype in (np.float32, np.float16, np.int32):
        a = np.arange(1, 11).astype(dtype) ** 2
        if a.dtype.kind == "f":
            a[[1, 4, 8]] = np.nan
        parts = np.split(a, np.cumsum(sizes)[:-1])
        labels, offsets = np.repeat(np.arange(4), sizes), np.concatenate([[0], np.cumsum(sizes)])
        for exact, ddof in itertools.product((False, True), (1, 2, 3.5)):
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                want = np.array([number(part, ddof=ddof) for part in parts], np.float64)
                for call, cut in ((gpureduce.segment_reduce, offsets), (gpureduce.group_reduce, labels)):
                    got = call(a, cut, op, ddof=ddof, exact=exact, device=device)
                    np.testing.assert_allclose(got, want, 2e-3, err_msg=f"{a.dtype} {exact} {ddof}")


def test_extremes_of_infinities(device):
    """An infinity is a number: it stays where all others are NaN."""
    a = np.array([math.inf, math.nan, -math.inf, math.nan, math.nan, math.nan])
    for op, want in (
        ("nanmin", [math.inf, -math.inf, math.nan]),
        ("nanmax", [math.inf, -math.inf, math.nan]),
    ):
        got = gpureduce.segment_reduce(a, [0, 2, 4, 6], op, device=device)
        np.testing.assert_array_equal(got, want)


def test_arguments(device):
    a = np.array([1.0, math.nan, 4.0])
    assert gpureduce.segment_reduce(a, [0, 3], "nanvar", ddof=1, device=device)[0] == 4.5
    assert math.isnan(gpureduce.segment_reduce(a, [0, 2], "nanstd", ddof=1, device=device)[0])
    with pytest.raises(TypeError, match="ddof: only for var and std, not for nansum"):
        gpureduce.segment_reduce(a, [0, 3], "nansum", ddof=1, device=device)
    with pytest.raises(TypeError, match="exact: only for sum and mean, not for nanprod"):
        gpureduce.segment_reduce(a, [0, 3], "nanprod", exact=True, device=device)
    assert gpureduce.segment_reduce(a, [0, 3], "nanmean", exact=True, device=device)[0] == 2.5
