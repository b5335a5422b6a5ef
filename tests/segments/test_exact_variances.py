"""Variances of groups and segments with ``exact=True``: rounded once, in any order of the rows."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import gpureduce
from tests.support import exact_reference as reference
from tests.support.numpy_oracle import BFLOAT16

GROUPS = 6  # the last one has no rows
FLOATS = ("float32", "float64", "float16", *(["bfloat16"] if BFLOAT16 is not None else []))


def drawn(shape, name):
    """Numbers about a large mean, whose differences spread over exponents."""
    rng = np.random.default_rng(3)
    values = rng.standard_normal(shape) * 2.0 ** rng.integers(-8, 5, shape) + 1000
    return values.astype(reference.dtype_of(name))


def expected(a, labels, ddof):
    """Return the variances of one column, rounded once."""
    results = []
    for group in range(GROUPS):
        rows = [Fraction(float(x)) for x in a[labels == group]]
        mean = sum(rows) / max(len(rows), 1)
        squares = sum((x - mean) ** 2 for x in rows)
        free = len(rows) - ddof
        results.append(reference.rounded(squares / free, a.dtype) if free > 0 else a.dtype.type(np.nan))
    return np.array(results, a.dtype)


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("name", FLOATS)
def test_variances_are_rounded_once_in_any_order(name, on_device, device):
    a, rng = drawn((200, 2), name), np.random.default_rng(4)
    labels = rng.integers(-1, GROUPS - 1, 200)
    place = partial(gpureduce.to_device, device=device) if on_device else np.asarray
    order = rng.permutation(200)
    for ddof in (0, 1):
        want = np.stack([expected(column, labels, ddof) for column in a.T], -1).astype(np.float64)
        for rows in (slice(None), order):
            for axis, array in ((0, a[rows]), (1, np.ascontiguousarray(a[rows].T))):
                got = gpureduce.group_reduce(
                    place(array), place(labels[rows]), "var", GROUPS, axis=axis, ddof=ddof, exact=True,
                    device=device,
                )  # fmt: skip
                got = got.numpy() if on_device else got
                np.testing.assert_array_equal(got.astype(np.float64), (want if axis == 0 else want.T), name)
                assert got.dtype == a.dtype


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_masks_and_nans(name, on_device, device):
    """Of elements or of rows; NaNs that are skipped; labels out of range on a device."""
    a, rng = drawn((2, 60, 2), name), np.random.default_rng(5)
    holes = a.copy()
    holes[rng.random(a.shape) < 0.3] = np.nan
    labels = rng.integers(-1, GROUPS - 1, 60)
    place = partial(gpureduce.to_device, device=device) if on_device else np.asarray
    given = np.where(labels < 0, 99, labels) if on_device else labels
    for mask in (True, rng.random(a.shape) < 0.6, (rng.random(60) < 0.6)[:, None]):
        for op, values in (("var", a), ("nanvar", holes), ("nanvar", a)):
            if op == "var" and mask is True:
                continue
            chosen = np.broadcast_to(mask, a.shape) & ~np.isnan(values)
            columns = [
                expected(values[i, :, j], np.where(chosen[i, :, j], labels, -1), 1)
                for i in range(2)
                for j in range(2)
            ]
            want = np.array(columns).reshape(2, 2, GROUPS).swapaxes(1, 2)
            where = mask if mask is True else place(mask)
            got = gpureduce.group_reduce(
                place(values),
                place(given),
                op,
                GROUPS,
                axis=1,
                ddof=1,
                where=where,
                exact=True,
                device=device,
            )
            np.testing.assert_array_equal(got.numpy() if on_device else got, want)
    got = gpureduce.segment_reduce(place(holes), [0, 60], "nanstd", axis=1, exact=True, device=device)
    want = [
        gpureduce.std(x[~np.isnan(x)], exact=True, device=device)
        for x in np.moveaxis(holes, 1, 2).reshape(4, -1)
    ]
    np.testing.assert_array_equal((got.numpy() if on_device else got).reshape(-1), want)


def test_deviations_of_segments(device):
    a = drawn(100, "float64")
    offsets = np.array([0, 0, 30, 90])
    for place in (np.asarray, partial(gpureduce.to_device, device=device)):
        given = place(a), place(offsets)
        got = gpureduce.segment_reduce(*given, "std", exact=True, device=device)
        got = got if isinstance(got, np.ndarray) else got.numpy()
        ends = [
            gpureduce.std(a[first:last], exact=True, device=device) for first, last in ((0, 30), (30, 90))
        ]
        np.testing.assert_array_equal(got, [np.nan, *ends])
        out = place(np.zeros(3))
        assert gpureduce.segment_reduce(*given, "var", exact=True, out=out, device=device) is out


def test_integers_and_no_rows(device):
    numbers = np.array([2**53 + 1, 2**53 + 3, 5, 5])
    got = gpureduce.group_reduce(numbers, [0, 0, 1, 1], "var", 3, exact=True, device=device)
    np.testing.assert_array_equal(got, [4, 0, np.nan])  # converted to float64 first, as by NumPy
    assert (
        gpureduce.group_reduce(numbers, [0, 0, 1, 1], "var", 2, exact=True, device=device).dtype == np.float64
    )
    none = gpureduce.group_reduce(np.ones((0, 2)), [], "var", 2, exact=True, device=device)
    np.testing.assert_array_equal(none, np.full((2, 2), np.nan))
    assert gpureduce.group_reduce(np.ones((3, 2)), [-1] * 3, "std", 0, exact=True, device=device).shape == (
        0,
        2,
    )


def test_errors_name_the_argument(device):
    a = np.ones(3)
    with pytest.raises(TypeError, match=r"^where: "):
        gpureduce.group_reduce(a, [0, 1, 0], "var", where=a, exact=True, device=device)
    with pytest.raises(TypeError, match=r"^ddof"):
        gpureduce.group_reduce(a, [0, 1, 0], "var", ddof="1", exact=True, device=device)
    with pytest.raises(TypeError, match=r"^weights: "):
        gpureduce.group_reduce(a, [0, 1, 0], "var", weights=a, exact=True, device=device)
