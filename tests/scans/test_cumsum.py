"""Running sums and products with NumPy's older signature, which flattens, and those that leave out NaN."""

import numpy as np
import pytest

import gpureduce

RNG = np.random.default_rng(3)
NAMES = ("cumsum", "cumprod", "nancumsum", "nancumprod")


def elements(dtype):
    a = RNG.integers(-3, 4, (4, 5, 6)).astype(dtype)
    if a.dtype.kind in "fc":
        a = a * a.dtype.type(0.5)
        a[0, 1, 2:4] = a[2, 0] = np.nan
    if a.dtype.kind == "c":
        a[1, 1, 1], a[1, 1, 2] = complex(1, np.nan), complex(np.nan, 2)
    return a


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("name", NAMES)
def test_values_dtypes_and_shapes_are_numpys(name, dtype, device):
    ours, theirs = getattr(gpureduce, name), getattr(np, name)
    whole = elements(dtype)
    if dtype.startswith("complex") and name == "cumprod":
        whole = np.nan_to_num(whole)  # which parts of products with NaN are NaN, C leaves open
    for a in (whole, whole.T, whole[::2, :, ::-1], whole[0, 1], whole[:0], whole[1, 2, 3]):
        for axis in (None, 0, -1)[: 3 if a.ndim else 1]:
            wanted = theirs(a, axis)
            there = ours(gpureduce.to_device(a, device), axis)
            assert type(there) is gpureduce.DeviceArray
            for got in (ours(a, axis, device=device), there.numpy()):
                assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
                np.testing.assert_allclose(got, wanted, rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_views_on_a_device_flatten_in_c_order(name, device):
    there = gpureduce.to_device(elements("float64"), device)
    for view in (there, there.T, there[:, ::-2], there[1:, 2]):
        got = getattr(gpureduce, name)(view)
        np.testing.assert_array_equal(got.numpy(), getattr(gpureduce, name)(view.numpy(), device=device))


def test_an_axis_gives_the_bits_of_the_array_apis_names(device):
    a = RNG.standard_normal((7, 3000)).astype(np.float32)
    for name, other in (("cumsum", gpureduce.cumulative_sum), ("cumprod", gpureduce.cumulative_prod)):
        got = getattr(gpureduce, name)(a, 1, device=device)
        np.testing.assert_array_equal(got, other(a, axis=1, device=device))
        np.testing.assert_array_equal(
            getattr(gpureduce, name)(a, device=device), other(a.ravel(), device=device)
        )


def test_nan_is_left_out_before_a_cast(device):
    a = np.array([1.5, np.nan, 2.5, np.nan])
    for given in (a, gpureduce.to_device(a, device)):
        options = {} if isinstance(given, gpureduce.DeviceArray) else {"device": device}
        for name, wanted in (("nancumsum", [1, 1, 3, 3]), ("nancumprod", [1, 1, 2, 2])):
            got = getattr(gpureduce, name)(given, dtype="int64", **options)
            assert np.asarray(got.tolist()).tolist() == wanted and got.dtype == np.int64
    out = gpureduce.to_device(np.zeros(4), device)
    assert gpureduce.nancumsum(gpureduce.to_device(a, device), out=out) is out
    assert out.tolist() == [1.5, 1.5, 4, 4]
    assert np.isnan(a[1])  # nothing is written into the elements


def test_arguments_that_do_not_fit_are_named(device):
    a = np.ones((2, 3))
    with pytest.raises(ValueError, match="out: expected shape"):
        gpureduce.cumsum(a, out=np.zeros((2, 3)), device=device)
    with pytest.raises(TypeError, match="axis"):
        gpureduce.cumsum(a, (0, 1), device=device)
    with pytest.raises(ValueError, match="axis"):
        gpureduce.nancumsum(a, 2, device=device)
    with pytest.raises(TypeError, match="positional"):
        gpureduce.cumsum(a, 0, None, None, device)
