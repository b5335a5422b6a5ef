"""`dtype=` casts elements on a device before they are reduced, as it does on the host."""

import numpy as np
import pytest

import gpureduce

RNG = np.random.default_rng(7)
CASTS = [
    ("float32", "float64"), ("float64", "float32"), ("float16", "float32"), ("int32", "float64"),
    ("float32", "complex64"), ("float64", "int64"),
]  # fmt: skip
# Reductions that take `dtype`, with the arguments of a call of a matrix.
CALLS = {
    "sum": {"axis": 1}, "prod": {"axis": 0}, "mean": {"axis": 1}, "fsum": {"axis": 0}, "nansum": {"axis": 1},
    "nanprod": {"axis": 1}, "nanmean": {}, "cumulative_sum": {"axis": 1}, "cumulative_prod": {"axis": 0},
    "trace": {}, "reduceat": {"indices": [0, 2, 1]},
}  # fmt: skip
WHOLE = ("fsum", "nansum", "nanprod", "nanmean")  # have no integers to work in, or no NaN in them


class Foreign:
    """Another library's array, which is read by DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def matrix(dtype):
    values = RNG.standard_normal((6, 500)) * 3
    return values.astype(dtype)


def bits(result):
    host = np.asarray(result.numpy() if isinstance(result, gpureduce.DeviceArray) else result)
    return host.dtype, host.shape, host.tobytes()


@pytest.mark.parametrize("source, dtype", CASTS)
@pytest.mark.parametrize("name", CALLS)
def test_dtype_of_a_device_array_has_the_bits_of_a_cast_before(name, source, dtype, device):
    if name in WHOLE and dtype == "int64":
        pytest.skip("the dtype is for floats")
    if (source, name) in (("int32", "nanprod"), ("int32", "nansum"), ("int32", "nanmean")):
        pytest.skip("integers have no NaN, and take the plain kernel")
    if (name, dtype) == ("mean", "int64"):
        pytest.skip("the quotient is truncated in the dtype that is asked for, as NumPy does")
    function, whole = getattr(gpureduce, name), gpureduce.to_device(matrix(source), device)
    for array in (whole, whole.T, whole[::2, ::-3]):
        wanted = function(array.astype(dtype), **CALLS[name])
        got = function(array, dtype=dtype, **CALLS[name])
        assert type(got) is type(wanted) and bits(got) == bits(wanted)
        if device != "sim":  # of which other libraries know nothing
            assert bits(function(Foreign(array), dtype=dtype, **CALLS[name])) == bits(wanted)


@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
def test_variances_in_a_dtype(name, device):
    a = gpureduce.to_device(matrix("float32"), device)
    wanted = getattr(gpureduce, name)(a.astype("float64"), axis=1)
    assert bits(getattr(gpureduce, name)(a, axis=1, dtype="float64")) == bits(wanted)
    assert bits(getattr(gpureduce, name)(a, axis=1)) != bits(wanted)


def test_exact_sums_and_states_in_a_dtype(device):
    a = gpureduce.to_device(matrix("float64"), device)
    narrow = a.astype("float32")
    assert bits(gpureduce.sum(a, dtype="float32", exact=True)) == bits(gpureduce.sum(narrow, exact=True))
    assert bits(gpureduce.mean(a, 1, "float32", exact=True)) == bits(gpureduce.mean(narrow, 1, exact=True))
    for op in ("sum", "mean", "var"):
        state = gpureduce.partial(a, op, 1, dtype="float32")
        assert bits(state.result()) == bits(gpureduce.partial(narrow, op, 1).result())


def test_masks_initial_values_and_out(device):
    host = matrix("float32")
    mask = host > 0
    a, chosen = gpureduce.to_device(host, device), gpureduce.to_device(mask, device)
    options = {"axis": 1, "initial": 0.1, "keepdims": True}
    wanted = gpureduce.sum(a.astype("float64"), where=chosen, **options)
    assert bits(gpureduce.sum(a, dtype="float64", where=chosen, **options)) == bits(wanted)
    out = gpureduce.to_device(np.zeros((6, 1)), device)
    assert gpureduce.sum(a, dtype="float64", where=mask, out=out, **options) is out
    assert bits(out) == bits(wanted)
    from gpureduce import numpy_like

    assert bits(numpy_like.add.reduce(a, 1, "float64")) == bits(gpureduce.sum(a, 1, "float64"))
    assert bits(gpureduce.bitwise_or(a.astype("int64"), 1, dtype="int8")) == bits(
        gpureduce.bitwise_or(a.astype("int64").astype("int8"), 1)
    )


def test_the_cast_is_of_the_elements(device):
    """Not of the result: 2049 has no float16, and sums of float16 are rounded to it."""
    a = gpureduce.to_device(np.array([2048, 1, 1, 1], np.float16), device)
    assert gpureduce.sum(a) == 2052 and gpureduce.sum(a, dtype="float32") == 2051
    empty = gpureduce.to_device(np.zeros((0, 3), np.float32), device)
    assert bits(gpureduce.sum(empty, 0, dtype="float64")) == bits(np.zeros(3))
    number = gpureduce.to_device(np.float32(2.5), device)
    assert gpureduce.prod(number, dtype="int32") == 2


def test_casts_that_lose_nans_are_refused(device):
    a = gpureduce.to_device(np.array([1.0, np.nan, 3.0]), device)
    for function in (gpureduce.nansum, gpureduce.nanprod):
        with pytest.raises(TypeError, match="dtype: a cast from float64 to int64 would lose NaNs"):
            function(a, dtype="int64")
        with pytest.raises(TypeError, match="dtype: a cast from complex128 to float64 would lose NaNs"):
            function(a.astype("complex128"), dtype="float64")
    with pytest.raises(TypeError, match="dtype: "):
        gpureduce.sum(a, dtype="U3")
    for given in (a, a.numpy()):
        with pytest.raises(TypeError, match="dtype: exact sums of float64 cannot be returned as int64"):
            gpureduce.fsum(given, dtype="int64")


def test_means_of_transposed_arrays_in_integers(device):
    """The host divides sums that have the order of the elements; the result is in C order."""
    host = np.arange(-2, 4).reshape(2, 3).T / 2
    there = gpureduce.to_device(np.ascontiguousarray(host.T), device).T
    for axis in ((), 0, 1):
        for dtype in (np.bool_, np.int16):
            want, got = (gpureduce.mean(a, axis=axis, dtype=dtype) for a in (host, there))
            assert bits(got) == bits(np.ascontiguousarray(want))
