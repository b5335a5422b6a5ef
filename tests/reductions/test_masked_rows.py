"""Rows under a mask have the same bits in every batch and at any addresses of elements and mask.

The lengths are those at which csrc/reduce/general/pieces.c gives rows under a mask to lanes, strips, pieces
and blocks. Elements are spread over exponents and nearly cancel. Those that the mask leaves out are NaN,
infinite or very large.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

import gpureduce
from tests.support.invariance import bits, numbers, placed, prepared

pytestmark = pytest.mark.filterwarnings("ignore:invalid value", "ignore:overflow", "ignore:divide by zero")
LENGTHS = (2, 3, 16, 17, 60, 130, 513, 1500, 4097, 9000, 40_000)
FLOATS, COMPLEX = ("float16", "float32", "float64"), ("complex64", "complex128")
OPERATORS = {
    **dict.fromkeys(("sum", "mean", "prod", "var", "std"), FLOATS + COMPLEX),
    **dict.fromkeys(("nansum", "nanmean", "nanprod", "nanvar", "nanstd", "moments"), FLOATS),
}
CASES = [(name, dtype) for name, dtypes in OPERATORS.items() for dtype in dtypes] + [("var", "int64")]


def drawn(name, rows, length, dtype):
    """Return elements and a mask, of which rows drop the first, the last, all and no elements."""
    data = prepared(name, numbers((rows, length), 1, dtype))
    mask = np.random.default_rng(length).random(data.shape) < 0.7
    mask[0, 0], mask[1, -1], mask[2], mask[3] = False, False, False, True
    if data.dtype.kind in "fc":
        data[~mask] = np.resize([np.nan, np.inf, np.finfo(dtype).max], np.count_nonzero(~mask))
    return data, mask


def results(name, data, mask, device, skipped=(0, 0)):
    x, where = placed(data, 1, skipped[0], device), placed(mask, 1, skipped[1], device)
    return bits(getattr(gpureduce, name)(x, axis=1, where=where), 0)


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda i: "-".join(CASES[i]))
def test_masked_rows_keep_their_bits_in_every_batch_and_at_any_addresses(case, device, exhaustive):
    name, dtype = CASES[case]
    for length in LENGTHS if exhaustive else LENGTHS[case % 4 :: 4]:
        rows = max(5, min(4096, (30_000_000 if exhaustive else 40_000) // length))
        data, mask = drawn(name, rows, length, dtype)
        among_all = results(name, data, mask, device)
        assert len(np.unique(among_all[:, 0])) > 2
        for batch in sorted({1, 2, 3, rows // 40 + 2, rows // 2 + 2, rows - 1}):
            few = results(name, data[-batch:], mask[-batch:], device)
            assert (few == among_all[-batch:]).all(), (length, batch)
        for skipped in ((1, 0), (0, 3), (5, 2)):
            moved = results(name, data[:4], mask[:4], device, skipped)
            assert (moved == among_all[:4]).all(), (length, skipped)


# So many rows that a group of lanes takes all strips of a piece, and a block several pieces; and so long rows
# that pass 2 combines their pieces.
MANY = [
    ("sum", "float32", 700, 1700),
    ("mean", "complex128", 300, 1700),
    ("var", "float64", 520, 1700),
    ("nansum", "float16", 1500, 1700),
    ("prod", "float64", 8, 9000),
    ("moments", "float32", 5, 9000),
    ("nanmean", "float32", 140_000, 5),
    ("std", "complex64", 70_000, 5),
]


@pytest.mark.parametrize("name, dtype, length, rows", MANY)
def test_many_masked_rows_have_the_bits_of_few(name, dtype, length, rows, device):
    data, mask = drawn(name, rows, length, dtype)
    among_all = results(name, data, mask, device)
    for batch in (1, 4, 40):
        few = results(name, data[:batch], mask[:batch], device)
        assert (few == among_all[:batch]).all(), batch


@pytest.mark.parametrize("name", ["sum", "nanprod", "var"])
def test_the_bits_do_not_depend_on_the_strides_of_the_mask(name, device):
    for length in (7, 60, 700, 5000):
        data = gpureduce.to_device(prepared(name, numbers((12, length), 1, "float32")), device)
        fn = getattr(gpureduce, name)
        flags = np.random.default_rng(length).random(length) < 0.6
        full = gpureduce.to_device(np.repeat(flags[None], 12, axis=0), device)
        want = bits(fn(data, axis=1, where=full), 0)
        wide = gpureduce.to_device(np.repeat(flags, 3), device)
        backwards = gpureduce.to_device(flags[::-1].copy(), device)
        columns = gpureduce.to_device(np.repeat(flags[:, None], 12, axis=1), device).transpose(1, 0)
        for where in (gpureduce.to_device(flags, device), wide[::3], backwards[::-1], columns):
            assert (bits(fn(data, axis=1, where=where), 0) == want).all(), length
        taken = np.arange(12)[:, None] % 3 > 0
        of_rows = gpureduce.to_device(taken, device)
        each = gpureduce.to_device(np.repeat(taken, length, axis=1), device)
        want = bits(fn(data, axis=1, where=each), 0)
        assert (bits(fn(data, axis=1, where=of_rows), 0) == want).all(), length


@pytest.mark.parametrize("name", ["mean", "std"])
def test_permuted_masked_rows_have_the_same_bits(name, device):
    fn = getattr(gpureduce, name)
    for length in (7, 60, 700, 5000):
        data, mask = drawn(name, 12, length, "float32")
        x, where = gpureduce.to_device(data, device), gpureduce.to_device(mask, device)
        want = bits(fn(x, axis=1, where=where), 0)
        x, where = (each.reshape(3, 4, length).transpose(1, 0, 2) for each in (x, where))
        swapped = bits(fn(x, axis=2, where=where), 1).reshape(3, 4)
        assert (swapped.ravel() == want[:, 0]).all(), length


@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_and_variances_of_masked_rows_are_near_the_exact_ones(dtype, device):
    last, least, sums, squares = {
        "float16": (2.0**-11, 2.0**-25, 2.0**-20, 2.0**-17),
        "float32": (2.0**-24, 2.0**-150, 2.0**-48, 2.0**-20),
        "float64": (2.0**-53, 0.0, 2.0**-48, 2.0**-46),
    }[dtype]
    for length in (2, 9, 130, 600, 5000):
        data, mask = drawn("sum", 6, length, dtype)
        x, where = gpureduce.to_device(data, device), gpureduce.to_device(mask, device)
        found = [getattr(gpureduce, name)(x, axis=1, where=where).numpy() for name in ("sum", "mean", "var")]
        for row, flags, total, mean, var in zip(data, mask, *(each.tolist() for each in found), strict=True):
            elements = [Fraction(each) for each in row[flags].tolist()]
            exact, size, count = sum(elements), sum(map(abs, elements)), len(elements)
            near = abs(exact) * Fraction(last) + size * Fraction(sums) + Fraction(least)
            assert abs(Fraction(total) - exact) <= near, length
            if count == 0:
                assert math.isnan(mean) and math.isnan(var)
                continue
            assert abs(Fraction(mean) - exact / count) <= near / count + Fraction(least), length
            exact = sum((each - exact / count) ** 2 for each in elements) / count
            assert abs(Fraction(var) - exact) <= exact * Fraction(last + squares) + Fraction(least), length


def test_sums_and_products_of_no_elements_have_the_values_of_numpy(device):
    data, nothing = np.full((3, 90), np.nan, np.float32), np.zeros((3, 90), bool)
    x, where = gpureduce.to_device(data, device), gpureduce.to_device(nothing, device)
    for name in ("sum", "nansum", "prod", "nanprod"):
        fn = getattr(gpureduce, name)
        assert (fn(x, axis=1, where=where).numpy() == getattr(np, name)(data, axis=1, where=nothing)).all()
        assert (fn(x, axis=1, where=where, initial=3).numpy() == 3).all()
