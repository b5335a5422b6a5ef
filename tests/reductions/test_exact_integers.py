"""Means of integers, and variances of up to 32 bits: exact sums, divided and rounded once, in any order."""

import math
from fractions import Fraction

import numpy as np
import pytest

import gpureduce

DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
KINDS = ("any", "largest", "smallest", "alternating", "small", "nearly equal")
# Shapes and axes that take each of the kernels: one result, short and long rows, columns, a middle axis, axes
# of length 1, and axes that are not neighbours.
SHAPES = (
    ((2,), None), ((1000,), None), ((20_011,), None), ((37, 5), 1), ((5, 37), 0), ((300, 700), 1),
    ((700, 64), 0), ((90, 33), 0), ((3, 90, 5), 1), ((40, 1), 1), ((2000, 3), 1), ((2000, 3), 0),
    ((2, 20_000), 1), ((3, 11, 7, 5), (0, 2)),
)  # fmt: skip


def elements(kind, dtype, shape, seed=0):
    """Return integers whose sums are small, or do not fit a double or 64 bits."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    if kind == "any":
        return rng.integers(least, most, shape, dtype, endpoint=True)
    if kind == "small":
        return rng.integers(max(least, -100), 100, shape).astype(dtype)
    data = np.full(shape, least if kind == "smallest" else most, dtype)
    if kind == "alternating":
        data.ravel()[::2] = least
    if kind == "nearly equal":
        data.ravel()[::3] -= 1
    return data


def fractions(data, axis, ddof):
    """Return pairs of the exact mean and variance of each result, in C order."""
    axes = range(data.ndim) if axis is None else np.atleast_1d(axis)
    last = np.moveaxis(data, tuple(axes), range(-len(axes), 0))
    pairs = []
    for row in last.reshape(-1, math.prod(data.shape[i] for i in axes)).tolist():
        total, squares, n = sum(map(int, row)), sum(int(x) ** 2 for x in row), len(row)
        pairs.append((Fraction(total, n), Fraction(n * squares - total**2, n * (n - ddof))))
    return pairs


def host(result):
    return np.asarray(result.numpy() if isinstance(result, gpureduce.DeviceArray) else result).ravel()


def check(data, array, axis, ddof=0, **words):
    """Compare with fractions that are rounded once; a standard deviation is the root of the variance."""
    means, variances = zip(*fractions(data, axis, ddof), strict=True)
    for exact in (False, True):
        results = host(gpureduce.mean(array, axis=axis, exact=exact, **words))
        assert (results == [float(x) for x in means]).all()
    if data.dtype.itemsize > 4:
        return
    expected = np.array([float(x) for x in variances])
    assert (host(gpureduce.var(array, axis=axis, ddof=ddof, **words)) == expected).all()
    assert (host(gpureduce.std(array, axis=axis, ddof=ddof, **words)) == np.sqrt(expected)).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_means_and_variances_are_rounded_once(dtype, kind, device):
    for seed, (shape, axis) in enumerate(SHAPES):
        data = elements(kind, dtype, shape, seed)
        ddof = 0 if shape == (40, 1) else seed % 2
        check(data, gpureduce.to_device(data, device), axis, ddof)


@pytest.mark.parametrize("dtype", DTYPES)
def test_strides_and_alignment_change_nothing(dtype, device):
    data = elements("any", dtype, (70, 90))
    wide = np.repeat(data, 2, axis=1)
    moved = np.concatenate([data[0, :1], data.ravel()])
    arrays = (
        gpureduce.to_device(wide, device)[:, ::2],
        gpureduce.to_device(moved, device)[1:].reshape(data.shape),
        gpureduce.to_device(data.T.copy(), device).T,
    )
    for axis in (None, 0, 1):
        for array in arrays:
            check(data, array, axis)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_order_of_the_elements_changes_nothing(dtype, device):
    data = elements("any", dtype, (9, 3000))
    mixed = np.random.default_rng(1).permuted(data, axis=1)
    functions = (gpureduce.mean, gpureduce.var, gpureduce.std)
    for function in functions if data.dtype.itemsize <= 4 else (gpureduce.mean,):
        for first, second in ((data, mixed), (data[:, :40], np.flip(data[:, :40], 1))):
            results = [function(gpureduce.to_device(x.copy(), device), axis=1) for x in (first, second)]
            assert (host(results[0]) == host(results[1])).all()
            assert function(first, device=device) == function(second, device=device)
            columns = [function(gpureduce.to_device(x.T.copy(), device), axis=0) for x in (first, second)]
            assert (host(columns[0]) == host(results[0])).all()
            assert (host(columns[1]) == host(results[0])).all()


@pytest.mark.parametrize("dtype", ("int8", "uint32", "int64"))
def test_of_the_elements_under_a_mask(dtype, device):
    data = elements("any", dtype, (50, 60))
    mask = np.random.default_rng(2).random(data.shape) < 0.4
    mask[:, 0] = mask[0] = True
    for axis in (0, 1):
        rows = zip(np.moveaxis(data, axis, 1), np.moveaxis(mask, axis, 1), strict=True)
        pairs = [fractions(row[taken], None, 0)[0] for row, taken in rows]
        words = {"axis": axis, "where": mask, "device": device}
        assert (host(gpureduce.mean(data, **words)) == [float(mean) for mean, _ in pairs]).all()
        if data.dtype.itemsize <= 4:
            assert (host(gpureduce.var(data, **words)) == [float(variance) for _, variance in pairs]).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_over_broadcast_axes_do_not_overflow(dtype, device):
    once = elements("largest", dtype, (3,))
    repeated = np.broadcast_to(once[:, None], (3, 1 << 55))
    expected = [float(x) for x in once.tolist()]
    assert (gpureduce.mean(repeated, axis=1, device=device) == expected).all()
    assert gpureduce.mean(repeated[0], device=device) == expected[0]


def test_host_arrays_in_chunks(device):
    for dtype in ("int64", "uint32"):
        data = elements("any", dtype, (1_500_000,))
        total, squares, n = sum(map(int, data.tolist())), sum(int(x) ** 2 for x in data.tolist()), len(data)
        assert gpureduce.mean(data, device=device) == float(Fraction(total, n))
        if dtype == "uint32":
            exact = float(Fraction(n * squares - total**2, n * n))
            assert abs(gpureduce.var(data, device=device) - exact) <= np.spacing(exact)


def test_means_near_halfway_between_two_doubles(device):
    for count in (3, 7, 48, 1001):
        for unit in (2, 4, 512, 1024):
            middle = (1 << 52) * unit + unit // 2  # halfway between two doubles
            data = np.full(count, middle, np.int64)
            for change in (0, 1, -1):
                changed = data.copy()
                changed[0] += change
                expected = float(Fraction(middle * count + change, count))
                assert gpureduce.mean(changed, device=device) == expected


def test_a_ddof_that_is_no_integer(device):
    data = elements("any", "int32", (1000,))
    exact = fractions(data, None, 0)[0][1]
    for ddof in (0.5, -0.25, 998.75):
        result = gpureduce.var(data, ddof=ddof, device=device)
        assert math.isclose(result, float(exact * 1000 / (1000 - Fraction(ddof))), rel_tol=2**-51)
    with pytest.warns(RuntimeWarning):
        assert math.isinf(gpureduce.var(data, ddof=1000, device=device))
