"""Where IEEE 754 and overflow leave a choice, every variant chooses as numpy.sum does."""

import numpy as np
import pytest

import gpureduce
from tests.support.selection import block_sizes, runs_on

VARIANTS = [variant for variant in gpureduce.variants("reduction") if variant.role != "study"]
FLOATS = (np.float32, np.float64)
SIZES = (1, 2, 33, 300)  # one thread, one warp, more than a block

pytestmark = [
    pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning"),
]


def assert_like_numpy(array, device, variants=VARIANTS):
    wanted = np.sum(array)
    for variant in variants:
        if not runs_on(variant, device):
            continue
        block = block_sizes(variant)[0]
        got = gpureduce.sum(array, variant=variant.name, device=device, block_size=block)
        same = np.array_equal(got, wanted, equal_nan=array.dtype.kind == "f")
        assert same and type(got) is type(wanted), f"{variant.name}: {got!r}, numpy.sum {wanted!r}"
        if not np.isnan(wanted):
            assert np.signbit(got) == np.signbit(wanted), f"{variant.name}: {got!r}, numpy.sum {wanted!r}"


@pytest.mark.parametrize("dtype", [*FLOATS, np.int32, np.int64])
def test_empty(dtype, device):
    assert_like_numpy(np.empty(0, dtype), device)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_negative_zeros(dtype, n, device):
    assert_like_numpy(np.full(n, -0.0, dtype), device)


@pytest.mark.parametrize("dtype", FLOATS)
def test_cancelling_to_zero(dtype, device):
    assert_like_numpy(np.array([1.5, -1.5], dtype), device)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", FLOATS)
def test_one_special_value_anywhere(dtype, special, n, device):
    for position in {0, n // 2, n - 1}:
        array = np.arange(1, n + 1).astype(dtype)
        array[position] = special
        assert_like_numpy(array, device)


@pytest.mark.parametrize("dtype", FLOATS)
def test_infinities_of_both_signs(dtype, device):
    array = np.arange(1, 301).astype(dtype)
    array[7], array[290] = np.inf, -np.inf
    assert_like_numpy(array, device)


@pytest.mark.parametrize("n", [2, 300])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("dtype", FLOATS)
def test_overflow_to_infinity(dtype, sign, n, device):
    array = np.full(n, sign * np.finfo(dtype).max, dtype)
    assert np.isinf(np.sum(array))
    assert_like_numpy(array, device)


@pytest.mark.parametrize("dtype", FLOATS)
def test_subnormals_are_not_flushed(dtype, device):
    array = np.arange(1, 301).astype(dtype) * np.finfo(dtype).smallest_subnormal
    assert 0 < np.sum(array) < np.finfo(dtype).tiny
    # The atomic float addition of the hardware flushes them; there is none for double that does.
    flushing = [variant for variant in VARIANTS if variant.float_atomics and dtype is np.float32]
    assert_like_numpy(array, device, [variant for variant in VARIANTS if variant not in flushing])
    for variant in flushing:
        assert gpureduce.sum(array, variant=variant.name, device=device) == 0


@pytest.mark.parametrize("n", [2, 3, 300])
def test_int64_wraps(n, device):
    for value in (np.iinfo(np.int64).max, np.iinfo(np.int64).min):
        assert_like_numpy(np.full(n, value), device)


def test_int32_does_not_wrap(device):
    array = np.full(300, np.iinfo(np.int32).max, np.int32)
    assert int(np.sum(array)) == 300 * (2**31 - 1)
    assert_like_numpy(array, device)
