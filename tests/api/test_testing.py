"""gpureduce.testing: bits that must be equal, and sums without a rounding error but the last."""

from fractions import Fraction

import numpy as np
import pytest

import gpureduce
from gpureduce.testing import assert_same_bits, exact_sum
from tests.support import exact_reference as reference


@pytest.mark.parametrize("name", reference.DTYPES)
@pytest.mark.parametrize(
    "draw", [reference.any_bits, reference.cancelling, reference.near_ties, reference.specials]
)
def test_exact_sum_agrees_with_the_reference(name, draw):
    dtype = reference.dtype_of(name)
    for seed in range(8):
        a = draw(np.random.default_rng([seed, 39]), 100, dtype)
        assert reference.same(exact_sum(a), reference.exact_sum(a)), (a, seed)


@pytest.mark.parametrize("axis", [0, -1, (0, 2), None, ()])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_exact_sum_along_axes_has_the_bits_of_exact_sums_of_the_device(dtype, axis):
    rng = np.random.default_rng(7)
    a = (rng.standard_normal((3, 4, 5)) * 2.0 ** rng.integers(-30, 30, (3, 4, 5))).astype(dtype)
    if dtype == "complex128":
        a = a - 1j * a[::-1]
    assert_same_bits(gpureduce.sum(a, axis=axis, exact=True, device="sim"), exact_sum(a, axis))


def test_exact_sum_of_integers_is_exact_modulo_2_64():
    a = np.array([2**63, 2**63, 5], np.uint64)
    assert_same_bits(exact_sum(a), np.uint64(5))
    assert_same_bits(exact_sum(np.int8([100, 100])), np.int64(200))


def test_exact_sum_takes_device_arrays():
    a = np.float64([1e100, 1, -1e100])
    assert_same_bits(exact_sum(gpureduce.to_device(a, "sim")), np.float64(1))
    assert exact_sum(a) == float(sum(map(Fraction, a)))


def test_exact_sum_refuses_what_is_no_number():
    with pytest.raises(TypeError, match="a: expected numbers or bools, got dtype <U1"):
        exact_sum(["x"])
    with pytest.raises(np.exceptions.AxisError):
        exact_sum([1.0], axis=1)
    for a in ([1.0], [1], [1j]):
        with pytest.raises(TypeError, match="axis"):
            exact_sum(a, axis=int)


def test_same_bits_are_accepted():
    for a in (
        np.float32([1, np.nan]),
        np.complex64([1 - 1j]),
        np.bool_([True]),
        np.zeros((0, 3)),
        np.int8(3),
    ):
        assert_same_bits(a, a.copy())
        assert_same_bits(gpureduce.to_device(a, "sim"), a)
    assert_same_bits(np.arange(6.0).reshape(2, 3).T, np.arange(6.0).reshape(2, 3).T.copy())
    assert_same_bits(np.array([1.0], ">f8"), [1.0])


@pytest.mark.parametrize(
    ("actual", "expected", "message"),
    [
        (np.float32(1), np.float64(1), "dtype float32, expected float64"),
        (np.ones(2), np.ones((2, 1)), r"shape \(2,\), expected \(2, 1\)"),
        (
            [0.0, 2.0],
            [-0.0, 2.0],
            r"1 of 2 elements differ; the first at \(0,\): 0.0 \(0x0{16}\), expected -0.0 \(0x80",
        ),
        (
            [[1, 2], [3, 4]],
            [[1, 2], [5, 5]],
            r"2 of 4 elements differ; the first at \(1, 0\): 3 \(0x0{15}3\), expected 5",
        ),
        (np.complex64(1 + 2j), np.complex64(1 + 3j), r"first at \(\): .*\(0x3f800000, 0x40000000\)"),
    ],
)
def test_other_bits_are_an_assertion_error_that_shows_them(actual, expected, message):
    with pytest.raises(AssertionError, match="^" + message if message[0] in "ds" else message):
        assert_same_bits(actual, expected)
    with pytest.raises(AssertionError, match=r"^of the mean\n"):
        assert_same_bits(actual, expected, "of the mean")


def test_a_nan_of_other_bits_differs():
    other = np.array([0x7FF8000000000001], np.uint64).view(np.float64)
    with pytest.raises(AssertionError, match="0x7ff8000000000001"):
        assert_same_bits(other, [np.nan])
