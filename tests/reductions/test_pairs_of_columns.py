"""Pairs of arrays that are not contiguous rows, and complex numbers in norms, have the order of lanes.

A result has the same bits as a column, in a part of a matrix, along a middle axis, and as a row with gaps in
one vector or in both: alone and among many. Products are spread over exponents and nearly cancel.
"""

from fractions import Fraction

import numpy as np
import pytest

import gpureduce
from tests.support.invariance import placed
from tests.support.lanes import in_lanes, part_of
from tests.support.pairs import DTYPES, drawn

NAMES = ("vecdot", "average", "average by a vector", "norm")
CASES = [(name, dtype) for name in NAMES for dtype in DTYPES if name != "norm" or "complex" in dtype]
# Elements of a column, and columns.
SHAPES = [(2, 30), (9, 400), (17, 40), (300, 24), (2500, 3), (9001, 7), (700, 129), (65, 1000)]


def results(name, a, b, axis):
    """Return the results along an axis of device arrays, or the norms of the first array."""
    if name == "vecdot":
        return gpureduce.vecdot(a, b, axis=axis).numpy()
    if name == "norm":
        return gpureduce.norm(a, axis=axis).numpy()
    return gpureduce.average(a, axis=axis, weights=b).numpy()


def factors(name, b):
    """Return the second array as rows: the same for all, if a vector weighs them."""
    return np.repeat(b[:1], len(b), axis=0) if name == "average by a vector" else b


def weights_of(name, b, along):
    """Return the second operand: an array, or its vector along an axis."""
    if name != "average by a vector":
        return b
    return b[(0,) * along + (slice(None),) + (0,) * (b.ndim - along - 1)]


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda i: "-".join(CASES[i]))
def test_a_result_has_the_same_bits_in_every_layout(case, device, exhaustive):
    name, dtype = CASES[case]
    for length, count in SHAPES if exhaustive else SHAPES[case % 2 :: 2]:
        a, b = drawn(count, length, dtype, case)
        b = factors(name, b)
        gaps = placed(a, 2, 0, device), weights_of(name, placed(b, 3, 0, device), 1)
        want = results(name, *gaps, 1)
        assert len(np.unique(want)) > 1
        columns = [np.ascontiguousarray(each.T) for each in (a, b)]
        for before, start in ((0, 0), (0, 1), (5, 3)):
            found = [part_of(each, before, 3, start, device) for each in columns]
            alone = [each[:, count // 2 : count // 2 + 1] for each in found]
            few = [each[:, :2] for each in found]
            for arrays, part in ((found, slice(None)), (few, slice(2)), (alone, [count // 2])):
                got = results(name, arrays[0], weights_of(name, arrays[1], 0), 0)
                assert got.tobytes() == want[part].tobytes(), (length, count, before, start, part)
        middle = [gpureduce.to_device(np.stack([each[::-1], each]), device) for each in columns]
        if name != "average by a vector":
            got = results(name, *middle, 1)
            assert got[1].tobytes() == want.tobytes(), (length, count)


@pytest.mark.parametrize("name, dtype", [case for case in CASES if case[0] != "norm"])
def test_one_vector_may_be_contiguous(name, dtype, device):
    for length, count in ((40, 500), (700, 9)):
        a, b = drawn(count, length, dtype, 2)
        b = factors(name, b)
        spread = placed(a, 2, 0, device), weights_of(name, placed(b, 2, 0, device), 1)
        dense = gpureduce.to_device(a, device), weights_of(name, gpureduce.to_device(b, device), 1)
        want = results(name, *spread, 1)
        for rows in (1, 3, count):
            second = [each if each.ndim == 1 else each[:rows] for each in (spread[1], dense[1])]
            found = results(name, dense[0][:rows], second[0], 1)
            assert found.tobytes() == want[:rows].tobytes(), (length, rows)
            found = results(name, spread[0][:rows], second[1], 1)
            assert found.tobytes() == want[:rows].tobytes(), (length, rows)


@pytest.mark.parametrize("name", ["vecdot", "average", "norm"])
def test_many_results_have_the_bits_of_few(name, device):
    dtype = "complex64" if name == "norm" else "float32"
    for length, count in ((3, 150_000), (40, 60_000), (600, 5_000)):
        a, b = drawn(20, length, dtype, 4)
        wide = [placed(np.tile(each, (count // 20, 1)), 2, 0, device) for each in (a, b)]
        found = results(name, *wide, 1).reshape(-1, 20)
        few = results(name, *(placed(each, 2, 0, device) for each in (a, b)), 1)
        assert (found == few).all(), length


@pytest.mark.parametrize("length", [2, 15, 16, 31, 100, 2047, 4096, 9001])
def test_dot_products_have_the_documented_order(length, device):
    a, b = drawn(5, length, "float64", 6)
    found = results("vecdot", *(placed(each, 3, 0, device) for each in (a, b)), 1)
    assert np.array_equal(found, [in_lanes(x * y) for x, y in zip(a, b, strict=True)])


@pytest.mark.parametrize("dtype, most", [("float32", 2.0**-40), ("float64", 2.0**-48)])
def test_no_pair_is_lost(dtype, most, device):
    for length in (2, 9, 130, 257, 2049):
        a, b = drawn(3, length, dtype, 8)
        columns = [gpureduce.to_device(np.ascontiguousarray(each.T), device) for each in (a, b)]
        dots, means = (results(name, *columns, 0) for name in ("vecdot", "average"))
        for x, y, dot, mean in zip(a.tolist(), b.tolist(), dots.tolist(), means.tolist(), strict=True):
            products = [Fraction(p) * Fraction(q) for p, q in zip(x, y, strict=True)]
            exact, size, weights = sum(products), sum(map(abs, products)), sum(map(Fraction, y))
            rounding = Fraction(float(np.finfo(dtype).eps)) / 2
            assert abs(Fraction(dot) - exact) <= abs(exact) * rounding + size * Fraction(most), length
            error = abs(Fraction(mean) - exact / weights)
            assert error <= abs(exact / weights) * rounding + size / weights * Fraction(2.0**-48), length
