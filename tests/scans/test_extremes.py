"""cummax and cummin against NumPy's accumulate, by value, dtype, shape and error."""

import numpy as np
import pytest

import gpureduce
import gpureduce.numpy_like as xp
from tests.support.ordered_values import DTYPES, values

TILE = 4096
SIZES = [1, 2, 31, 100, 257, TILE, TILE + 1, 3 * TILE + 5, 40 * TILE + 17]
OPS = {"cummax": np.maximum, "cummin": np.minimum}


def on_host(array):
    return array.numpy() if isinstance(array, gpureduce.DeviceArray) else array


def rising(shape, dtype, seed):
    """Elements of which each tile has some that are beyond those before, in both directions."""
    a = values(shape, dtype, seed)
    if a.dtype.kind == "f":
        with np.errstate(over="ignore"):
            a = (a.astype(np.float64) * np.sqrt(np.arange(1, shape[-1] + 1))).astype(dtype)
    return a


@pytest.mark.core
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPS)
def test_values_are_numpys(name, dtype, device, some):
    for n in some(SIZES, 3):
        a = rising((3, n), dtype, n)
        wanted = OPS[name].accumulate(a, -1)
        on_device = gpureduce.to_device(a, device)
        for array in (a, on_device):
            got = on_host(getattr(gpureduce, name)(array, -1, device=None if array is on_device else device))
            assert (got.dtype, got.shape) == (a.dtype, a.shape)
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", OPS)
def test_nans_propagate(name, dtype, device):
    for n in (50, 2 * TILE + 3):
        for first in (0, n // 3, n - 1):
            a = rising((2, n), dtype, first)
            a[1, first] = np.nan
            got = getattr(gpureduce, name)(a, 1, device=device)
            np.testing.assert_array_equal(got, OPS[name].accumulate(a, 1))


def test_bfloat16(device):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = rising((3, 500), "float32", 1).astype(ml_dtypes.bfloat16)
    got = gpureduce.cummax(a, 1, device=device)
    assert got.dtype == a.dtype
    np.testing.assert_array_equal(got.astype("f4"), np.maximum.accumulate(a.astype("f4"), 1))


@pytest.mark.parametrize("axis", [0, 1, 2, -2, None])
@pytest.mark.parametrize("layout", [lambda a: a, lambda a: a[:, ::-1, ::2], lambda a: a.transpose(2, 0, 1)])
@pytest.mark.parametrize("name", OPS)
def test_axes_and_layouts(name, layout, axis, device):
    for shape in ((5, 7, 6), (2, 300, 40), (300, 2, 3)):
        a = layout(values(shape, "int32", 1))
        wanted = OPS[name].accumulate(a.reshape(-1) if axis is None else a, 0 if axis is None else axis)
        view = layout(gpureduce.to_device(values(shape, "int32", 1), device))
        for array in (a, view):
            got = on_host(getattr(gpureduce, name)(array, axis, device=None if array is view else device))
            np.testing.assert_array_equal(got, wanted)


def test_out(device):
    a = values((40, 30), "float32", 2)
    wanted = np.maximum.accumulate(a, 0)
    out = np.empty((40, 30))
    assert gpureduce.cummax(a, 0, out=out, device=device) is out
    np.testing.assert_array_equal(out, wanted)
    on_device = gpureduce.to_device(a, device)
    assert gpureduce.cummax(on_device, 0, out=on_device) is on_device  # in place
    np.testing.assert_array_equal(on_device.numpy(), wanted)


def test_empty_arrays_and_numbers(device):
    assert gpureduce.cummax(np.empty((0, 3), np.int8), 0, device=device).shape == (0, 3)
    assert gpureduce.cummin(np.empty((2, 0)), 1, device=device).dtype == np.float64
    assert gpureduce.cummin(5.0, device=device).tolist() == [5.0]


def test_accumulate_of_ufuncs(device):
    a = values((6, 5), "int16", 3)
    np.testing.assert_array_equal(xp.maximum.accumulate(a, device=device), np.maximum.accumulate(a))
    np.testing.assert_array_equal(xp.minimum.accumulate(a, 1, device=device), np.minimum.accumulate(a, 1))
    for array in (a, gpureduce.to_device(a, device)):
        got = on_host(
            xp.maximum.accumulate(array, dtype=np.float32, device=None if array is not a else device)
        )
        np.testing.assert_array_equal(got, np.maximum.accumulate(a, dtype=np.float32), strict=True)


def test_errors_name_the_argument(device):
    a = np.arange(6.0).reshape(2, 3)
    for error, name, options in (
        (ValueError, "out", {"out": np.empty((3, 2))}),
        (TypeError, "out", {"out": np.empty((2, 3), np.int32)}),
        (TypeError, "axis", {"axis": (0, 1)}),
    ):
        with pytest.raises(error, match=name):
            gpureduce.cummax(a, **{"axis": 0, **options}, device=device)
    with pytest.raises(np.exceptions.AxisError):
        gpureduce.cummax(a, 2, device=device)
    with pytest.raises(TypeError, match=r"real|order"):
        gpureduce.cummin(a * 1j, 0, device=device)
