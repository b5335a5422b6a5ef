"""sort and argsort against NumPy's stable sort, by value, dtype, shape and error."""

import numpy as np
import pytest

import gpureduce
from tests.support.ordered_values import DTYPES, values

SORTED = 4096  # elements that a block sorts
SIZES = [1, 2, 31, 100, 129, 257, SORTED, SORTED + 1, 3 * SORTED + 5]


def on_host(array):
    return array.numpy() if isinstance(array, gpureduce.DeviceArray) else array


def with_ties(shape, dtype, seed):
    """Elements of which many are equal, and floats with NaNs and zeros of either sign."""
    a = values(shape, dtype, seed)
    if a.dtype.kind == "f":
        draw = np.random.default_rng(seed)
        a[draw.random(shape) < 0.1] = np.nan
        a[draw.random(shape) < 0.1] = -0.0
        a[draw.random(shape) < 0.1] = 0.0
    return a


def descending_order(a, axis):
    """Return the stable descending order: the ascending one of the reversed line, read from its end."""
    order = np.flip(np.argsort(np.flip(a, axis), axis, kind="stable"), axis)
    return a.shape[axis] - 1 - order


@pytest.mark.core
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_and_indices_are_those_of_numpys_stable_sort(dtype, device, some):
    for n in some(SIZES, 3):
        a = with_ties((3, n), dtype, n)
        on_device = gpureduce.to_device(a, device)
        for array in (a, on_device):
            order = np.argsort(a, -1, kind="stable")
            got = on_host(gpureduce.argsort(array, device=None if array is on_device else device))
            assert got.dtype == np.int64
            np.testing.assert_array_equal(got, order)
            got = on_host(gpureduce.sort(array, device=None if array is on_device else device))
            assert got.dtype == a.dtype
            elements = np.take_along_axis(a, order, -1)
            np.testing.assert_array_equal(got, elements)
            if a.dtype.kind == "f":  # NaNs aside, the elements are those of the array, zeros with their signs
                number = ~np.isnan(elements)
                np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(elements[number]))


@pytest.mark.parametrize("dtype", ["bool", "int64", "float16", "float32"])
def test_descending_order_is_stable(dtype, device, some):
    for n in some(SIZES, 3):
        a = with_ties((2, n), dtype, n)
        order = descending_order(a, -1)
        np.testing.assert_array_equal(gpureduce.argsort(a, descending=True, device=device), order)
        np.testing.assert_array_equal(
            gpureduce.sort(a, descending=True, device=device), np.take_along_axis(a, order, -1)
        )


@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("layout", [lambda a: a, lambda a: a[:, ::-1, ::2], lambda a: a.transpose(2, 0, 1)])
def test_axes_and_layouts(axis, layout, device):
    a = layout(with_ties((5, 7, 6), "float64", 1))
    view = layout(gpureduce.to_device(with_ties((5, 7, 6), "float64", 1), device))
    for name in ("sort", "argsort"):
        wanted = getattr(np, name)(a, axis, kind="stable")
        for array in (a, view):
            got = on_host(getattr(gpureduce, name)(array, axis, device=None if array is view else device))
            np.testing.assert_array_equal(got, wanted)
            assert got.flags.c_contiguous


@pytest.mark.parametrize("axis", [0, 1])
def test_out_on_the_host_and_on_the_device(axis, device):
    a = with_ties((40, 30), "float32", 2)
    wanted, order = np.sort(a, axis, kind="stable"), np.argsort(a, axis, kind="stable")
    out, indices = np.empty((40, 30)), np.empty((40, 30), np.int64)
    assert gpureduce.sort(a, axis, out=out, device=device) is out
    assert gpureduce.argsort(a, axis, out=indices, device=device) is indices
    np.testing.assert_array_equal(out, wanted)
    np.testing.assert_array_equal(indices, order)
    on_device, ranks = gpureduce.to_device(a, device), gpureduce.to_device(indices * 0, device)
    assert gpureduce.argsort(on_device, axis, out=ranks) is ranks
    assert gpureduce.sort(on_device, axis, out=on_device) is on_device  # in place
    np.testing.assert_array_equal(ranks.numpy(), order)
    np.testing.assert_array_equal(on_device.numpy(), wanted)


@pytest.mark.parametrize("n", [100, 2000, 3 * SORTED])
def test_in_place_along_the_last_axis(n, device):
    a = with_ties((2, n), "float32", n)
    on_device = gpureduce.to_device(a, device)
    assert gpureduce.sort(on_device, out=on_device[:, :]) is not None
    np.testing.assert_array_equal(on_device.numpy(), np.sort(a, kind="stable"))


def test_empty_arrays_and_numbers(device):
    for shape in ((0,), (3, 0), (0, 4)):
        got = gpureduce.sort(np.empty(shape, np.float32), device=device)
        assert (got.shape, got.dtype) == (shape, np.float32)
        assert gpureduce.argsort(np.empty(shape), device=device).shape == shape
    assert gpureduce.sort(5.0, None, device=device).tolist() == [5.0]
    assert gpureduce.argsort(5.0, device=device).tolist() == [0]
    with pytest.raises(np.exceptions.AxisError):
        gpureduce.sort(5.0, device=device)


def test_results_stay_on_the_device(device):
    a = gpureduce.to_device(np.arange(6.0)[::-1].copy(), device)
    assert isinstance(gpureduce.sort(a), gpureduce.DeviceArray)
    assert isinstance(a.argsort(), gpureduce.DeviceArray)
    assert isinstance(gpureduce.sort(a, as_device=False), np.ndarray)
    assert isinstance(gpureduce.sort([2, 1], as_device=True, device=device), gpureduce.DeviceArray)
    assert not hasattr(a, "sort")


def test_errors_name_the_argument(device):
    a = np.arange(6.0).reshape(2, 3)
    for error, name, options in (
        (ValueError, "order", {"order": "x"}),
        (ValueError, "kind", {"kind": "bubble"}),
        (ValueError, "out", {"out": np.empty((3, 2))}),
        (TypeError, "out", {"out": np.empty((2, 3), np.int32)}),
        (TypeError, "axis", {"axis": (0, 1)}),
        (TypeError, "axis", {"axis": 0.5}),
    ):
        with pytest.raises(error, match=name):
            gpureduce.sort(a, device=device, **options)
    with pytest.raises(np.exceptions.AxisError):
        gpureduce.argsort(a, 2, device=device)
    with pytest.raises(TypeError, match="complex"):
        gpureduce.sort(a * 1j, device=device)


# unique_counts


@pytest.mark.parametrize("dtype", DTYPES)
def test_distinct_elements_are_numpys(dtype, device, some):
    for n in some(SIZES, 3):
        a = (
            with_ties((2, n), dtype, n).round(1)
            if np.dtype(dtype).kind == "f"
            else with_ties((2, n), dtype, n)
        )
        wanted = np.unique_counts(a)
        on_device = gpureduce.to_device(a, device)
        for array in (a, on_device):
            got = gpureduce.unique_counts(array, device=None if array is on_device else device)
            values, counts = on_host(got.values), on_host(got.counts)
            assert (values.dtype, counts.dtype) == (a.dtype, np.int64)
            np.testing.assert_array_equal(values, wanted.values)
            np.testing.assert_array_equal(counts, wanted.counts)


def test_distinct_elements_of_a_size(device):
    a = np.array([[5, 2, 5], [9, 2, 2]])
    for size, distinct, counts in (
        (2, [2, 5], [3, 2]), (3, [2, 5, 9], [3, 2, 1]), (5, [2, 5, 9, 2, 2], [3, 2, 1, 0, 0]), (0, [], []),
    ):  # fmt: skip
        got = gpureduce.unique_counts(a, size=size, device=device)
        assert (got.values.tolist(), got.counts.tolist()) == (distinct, counts)
    empty = gpureduce.unique_counts(np.empty(0, np.int8), device=device)
    assert empty.values.dtype == np.int8 and empty.counts.shape == (0,)
    for size, error in ((-1, ValueError), (1.5, TypeError)):
        with pytest.raises(error, match="size"):
            gpureduce.unique_counts(a, size=size, device=device)
    with pytest.raises(ValueError, match="size"):
        gpureduce.unique_counts(np.empty(0), size=2, device=device)
    assert isinstance(gpureduce.to_device(a, device).unique_counts().values, gpureduce.DeviceArray)
