"""Rows of vecdot and of averages with weights have the same bits in every batch and at any two addresses.

The lengths are those at which csrc/reduce/general/pieces.c gives pairs of rows to lanes, strips, pieces and
blocks. Products are spread over exponents and nearly cancel.
"""

from fractions import Fraction

import numpy as np
import pytest

import gpureduce
from tests.support.invariance import placed
from tests.support.pairs import DTYPES, drawn

LENGTHS = (2, 3, 8, 9, 31, 64, 130, 256, 257, 2048, 2049, 5000, 20_000, 70_000)
CASES = [(name, dtype) for name in ("vecdot", "average", "average by a vector") for dtype in DTYPES]


def results(name, a, b, device, skipped=(0, 0)):
    first = placed(a, 1, skipped[0], device)
    second = placed(b[0] if name == "average by a vector" else b, 1, skipped[1], device)
    if name == "vecdot":
        return gpureduce.vecdot(first, second).numpy()
    return gpureduce.average(first, axis=1, weights=second).numpy()


def lengths_of(case, exhaustive):
    return LENGTHS if exhaustive else LENGTHS[case % 4 :: 4]


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda i: "-".join(CASES[i]))
def test_rows_keep_their_bits_in_every_batch_and_at_any_two_addresses(case, device, exhaustive):
    name, dtype = CASES[case]
    for length in lengths_of(case, exhaustive):
        rows = max(5, min(3000, (30_000_000 if exhaustive else 60_000) // length))
        a, b = drawn(rows, length, dtype, case)
        among_all = results(name, a, b, device)
        assert len(np.unique(among_all)) > 1
        for batch in sorted({1, 2, 3, rows // 40 + 2, rows // 2 + 2, rows}):
            few = results(name, a[:batch], b[:batch], device)
            assert few.tobytes() == among_all[:batch].tobytes(), (length, batch)
        for skipped in ((1, 0), (0, 3), (5, 2)):
            moved = results(name, a[:3], b[:3], device, skipped)
            assert moved.tobytes() == among_all[:3].tobytes(), (length, skipped)


# So many rows that a group of lanes takes all strips of a piece, a block several pieces, a thread whole rows.
MANY = [
    ("vecdot", "float32", 900, 1700),
    ("vecdot", "complex128", 500, 1700),
    ("average", "float64", 900, 1700),
    ("average by a vector", "float16", 2000, 1700),
    ("vecdot", "float64", 4200, 330),
    ("vecdot", "float32", 3, 140_000),
    ("vecdot", "complex128", 4, 140_000),
]


@pytest.mark.parametrize("name, dtype, length, rows", MANY)
def test_many_rows_have_the_bits_of_few(name, dtype, length, rows, device):
    a, b = drawn(rows, length, dtype, 9)
    among_all = results(name, a, b, device)
    for batch in (1, 40):
        few = results(name, a[:batch], b[:batch], device)
        assert few.tobytes() == among_all[:batch].tobytes(), batch


@pytest.mark.parametrize("name", ["vecdot", "average"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_a_broadcast_vector_and_permuted_rows_give_the_same_bits(name, dtype, device):
    for length in (7, 60, 700, 5000):
        a, b = drawn(12, length, dtype, 3)
        repeated = np.repeat(b[:1], 12, axis=0)
        want = results(name, a, repeated, device)
        first, vector = gpureduce.to_device(a, device), gpureduce.to_device(b[0], device)
        cube = first.reshape(3, 4, length).transpose(1, 0, 2)
        if name == "vecdot":
            found, swapped = gpureduce.vecdot(first, vector), gpureduce.vecdot(cube, vector)
        else:
            found = gpureduce.average(first, axis=1, weights=vector)
            swapped = gpureduce.average(cube, axis=2, weights=vector)
        assert found.numpy().tobytes() == want.tobytes(), length
        assert (swapped.numpy().T.ravel() == want).all(), length


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_average_of_a_vector_has_the_bits_of_a_row(dtype, device):
    for length in (3, 60, 700, 5000):
        a, b = drawn(4, length, dtype, 5)
        want = results("average", a, b, device)[0]
        vector = gpureduce.average(placed(a[0], 1, 1, device), weights=placed(b[0], 1, 0, device))
        assert np.asarray(vector).tobytes() == want.tobytes(), length


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_dot_products_and_averages_of_rows_are_near_the_exact_ones(dtype, device):
    # Products and sums of float16 are in float32, those of float32 are compensated; averages are in float64.
    sums, last, least = {
        "float16": (2.0**-20, 2.0**-11, 2.0**-25),
        "float32": (2.0**-44, 2.0**-24, 2.0**-150),
        "float64": (2.0**-48, 2.0**-53, 0.0),
    }[dtype]
    for length in (2, 9, 130, 257, 2049, 5000):
        a, b = drawn(3, length, dtype, 7)
        dots, means = (results(name, a, b, device) for name in ("vecdot", "average"))
        for x, y, dot, mean in zip(a.tolist(), b.tolist(), dots.tolist(), means.tolist(), strict=True):
            products = [Fraction(p) * Fraction(q) for p, q in zip(x, y, strict=True)]
            exact, size, weights = sum(products), sum(map(abs, products)), sum(map(Fraction, y))
            error = abs(Fraction(dot) - exact)
            assert error <= abs(exact) * Fraction(last) + size * Fraction(sums) + Fraction(least), length
            error = abs(Fraction(mean) - exact / weights)
            rounding = abs(exact / weights) * Fraction(last) + Fraction(least)
            assert error <= rounding + size / weights * Fraction(2.0**-48), length
