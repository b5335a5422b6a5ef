"""Cumulative sums with ``exact=True``: each one rounded once, for any data, lengths, axes and layouts."""

import itertools
import math

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce._profiles.from_core import kernel_profiles, observe, race_scope
from tests.support import exact_reference as reference
from tests.support.exact_reference import DTYPES, dtype_of, finished, same, whole


@pytest.fixture
def device(request):
    return request.config.getoption("device")


def sums_of(array):
    """Return the exact sums of a vector, rounded; sums of -0 alone are -0, as in NumPy."""
    total, specials, zeros, found = 0, [], True, []
    for x in array.astype(np.float64).tolist():
        zeros = zeros and x == 0 and math.copysign(1, x) < 0
        if math.isfinite(x):
            total += whole(x)
        else:
            specials.append(x)
        found.append(array.dtype.type(-0.0) if zeros else finished(total, specials, array.dtype))
    return np.array(found, array.dtype)


def along(array, axis):
    """Return the same along an axis."""
    rows = np.moveaxis(array, axis, -1)
    found = np.empty(rows.shape, array.dtype)
    for index in itertools.product(*map(range, rows.shape[:-1])):
        found[index] = sums_of(rows[index])
    return np.moveaxis(found, -1, axis)


def exact(a, **options):
    with np.errstate(all="ignore"):
        result = gpureduce.cumulative_sum(a, exact=True, **options)
    return result if isinstance(result, np.ndarray) else result.numpy()


@pytest.mark.parametrize("kind", reference.KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", DTYPES)
def test_any_floats(name, kind, device):
    dtype = dtype_of(name)
    rng = np.random.default_rng([DTYPES.index(name), reference.KINDS.index(kind)])
    for n in (2, 33, 200):
        array = kind(rng, n, dtype)
        assert same(exact(array, device=device), sums_of(array)), n


@pytest.mark.parametrize(("name", "n"), [("float32", 17_000), ("float64", 9_000)])
def test_many_pieces(name, n, device):
    """Several pieces for each thread that adds the sums before them, and a last one that is shorter."""
    array = reference.cancelling(np.random.default_rng(1), n, np.dtype(name))
    assert same(exact(array, device=device), sums_of(array))
    array[[1, 100, 300]] = -np.inf  # in three pieces
    assert same(exact(array[:500], device=device), sums_of(array[:500]))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_axes_and_strides(axis, dtype, device):
    rng = np.random.default_rng(2)
    parts = reference.cancelling(rng, 2 * 5 * 70 * 4, np.dtype(np.float32)).reshape(5, 70, 4, 2)
    parts = np.moveaxis(parts, 1, axis)
    array = parts.copy().view(np.complex64)[..., 0] if dtype == np.complex64 else parts[..., 0].copy()
    want = along(parts, axis)
    want = want.copy().view(np.complex64)[..., 0] if dtype == np.complex64 else want[..., 0]
    there = gpureduce.to_device(array, device)
    bits = np.uint32
    for got in (exact(array, axis=axis, device=device), exact(there, axis=axis)):
        assert got.dtype == dtype and np.array_equal(np.ascontiguousarray(got).view(bits),
                                                     np.ascontiguousarray(want).view(bits))  # fmt: skip
    initial = exact(there, axis=axis, include_initial=True)
    assert not np.take(initial, 0, axis).any()
    rest = np.ascontiguousarray(np.delete(initial, 0, axis))
    assert np.array_equal(rest.view(bits), np.ascontiguousarray(want).view(bits))
    strided = exact(there[:, ::-2, 1:], axis=axis)
    assert same(strided.real, np.ascontiguousarray(along(parts[:, ::-2, 1:, 0], axis)))


def test_in_place_and_into_other_dtypes(device):
    array = reference.cancelling(np.random.default_rng(3), 300, np.dtype(np.float32))
    want = sums_of(array)
    there = gpureduce.to_device(array, device)
    assert gpureduce.cumulative_sum(there, out=there, exact=True) is there
    assert same(there.numpy(), want)
    doubles = exact(array, dtype=np.float64, device=device)
    assert same(doubles, sums_of(array.astype(np.float64)))
    assert exact(np.zeros((0, 3)), axis=0, include_initial=True, device=device).tolist() == [[0, 0, 0]]


def test_a_sum_that_overflows_on_the_way_is_reported(device):
    most = np.finfo(np.float64).max
    array = np.array([most, most, -most])
    with pytest.warns(RuntimeWarning, match="overflow encountered in accumulate"):
        got = gpureduce.cumulative_sum(array, exact=True, device=device)
    assert got.tolist() == [most, math.inf, most]


def test_refused(device):
    with pytest.raises(
        TypeError, match="dtype: exact=True requires floating-point or complex numbers, got int64"
    ):
        gpureduce.cumulative_sum([1, 2], exact=True, device=device)
    with pytest.raises(TypeError, match="exact: expected a bool"):
        gpureduce.cumulative_sum([1.0], exact=np.zeros(2), device=device)
    with pytest.raises(TypeError, match="a: exact cumulative sums are of floating-point numbers"):
        _core.scan(np.ones(3), 1, 0, False, True, (None, _core.SIM, 0, 0))


def test_kernels_have_no_races():
    a = np.random.default_rng(4).standard_normal(700)
    _, launches, problem = observe(
        lambda device: _core.scan(a, 0, 0, True, True, (None, device, 0, 0)), race_scope(True)
    )
    assert problem is None
    assert [kernel.races for kernel in kernel_profiles(launches, "", 0)] == [(), (), ()]
