"""Columns, middle axes and rows with gaps have one order, which follows from the number of elements alone.

Results of few columns and of many, at any address, have the same bits, whichever kernel adds them up, and so
has the sum that is computed here in the documented order.
"""

import itertools

import numpy as np
import pytest

import gpureduce
from tests.support.invariance import OPERATORS, bits, numbers, placed, prepared
from tests.support.lanes import in_lanes, part_of

# Elements of a row, and rows of which a thread has as many lanes as it can have.
MANY = [(3, 150_000), (13, 150_000), (40, 110_000), (600, 5_000)]


@pytest.mark.parametrize("length, many", MANY)
@pytest.mark.parametrize(
    "name, dtype", [("sum", "float64"), ("norm", "float32"), ("nanmean", "float32"), ("var", "float32")]
)
def test_few_rows_have_the_bits_of_many(name, dtype, length, many, device):
    few = prepared(name, numbers((20, length), 1, dtype))
    wide = np.tile(few, (many // 20, 1))
    found = bits(OPERATORS[name][0](placed(wide, 2, 0, device), 1), 0).reshape(-1, 20)
    assert (found == found[0]).all()
    for count in (1, 3, 20):
        alone = bits(OPERATORS[name][0](placed(few[:count], 2, 0, device), 1), 0)
        assert (alone.ravel() == found[0, :count]).all(), count


@pytest.mark.parametrize("name", ["sum", "prod", "var", "nansum", "norm", "logsumexp"])
@pytest.mark.parametrize("length", [9, 33, 130, 700, 5000])
def test_a_row_has_the_same_bits_with_other_gaps(name, length, device, some):
    dtype = some(["float16", "float32", "float64"], 3)[0]
    few = prepared(name, numbers((4, length), 1, dtype))
    want = bits(OPERATORS[name][0](placed(few, 2, 0, device), 1), 0)
    for count, step, start in ((4, 5, 1), (1, 3, 0), (1, 8, 3), (2, 2, 2)):
        found = bits(OPERATORS[name][0](placed(few[:count], step, start, device), 1), 0)
        assert (found == want[:count]).all(), (count, step, start)


@pytest.mark.parametrize("length", [2, 7, 8, 15, 16, 31, 100, 2047, 2048, 4095, 4096, 9001])
def test_sums_have_the_documented_order(length, device):
    rows = numbers((5, length), 1, "float64")
    found = gpureduce.sum(placed(rows, 3, 1, device), axis=1).numpy()
    assert np.array_equal(found, [in_lanes(row) for row in rows])


# Elements of a column, and columns: few ones of a sequence, aligned vectors of columns, odd ones.
SHAPES = [(17, 40), (300, 24), (2500, 3), (9001, 7), (700, 129), (20_011, 2), (65, 1000), (1500, 640)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    "name", ["sum", "prod", "mean", "var", "nansum", "nanmean", "norm", "logsumexp", "moments"]
)
def test_columns_have_the_bits_of_rows_with_gaps(name, shape, device, some):
    fn = OPERATORS[name][0]
    length, count = shape
    for dtype in some(["float16", "float32", "float64"], 1):
        rows = prepared(name, numbers((count, length), 1, dtype))
        columns = np.ascontiguousarray(rows.T)
        few = min(count, 5)
        want = bits(fn(placed(rows, 2, 0, device), 1), 0)
        for before, behind, start in ((0, 0, 0), (0, 0, 1), (3, 2, 1), (8, 8, 0)):
            found = bits(fn(part_of(columns, before, behind, start, device), 0), 0)
            assert (found == want).all(), (dtype, before, behind, start)
        fewer = np.ascontiguousarray(columns[:, :few])
        assert (bits(fn(part_of(fewer, 0, 0, 0, device), 0), 0) == want[:few]).all(), dtype
        middle = gpureduce.to_device(np.stack([columns[::-1], columns, columns]), device)
        found = fn(middle, 1)
        for plane in (1, 2):
            of_plane = (
                tuple(each.numpy()[plane] for each in found)
                if isinstance(found, tuple)
                else found.numpy()[plane]
            )
            assert (bits(of_plane, 0) == want).all(), (dtype, plane)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "nansum", "nanmean"])
def test_masked_columns_do_not_depend_on_others(name, device, some):
    fn = getattr(gpureduce, name)
    for dtype, (length, count) in itertools.product(
        some(["float16", "float32", "float64"], 1), [(40, 300), (3000, 60)]
    ):
        columns = np.ascontiguousarray(prepared(name, numbers((count, length), 1, dtype)).T)
        mask = np.random.default_rng(3).random(columns.shape) < 0.7
        array, taken = gpureduce.to_device(columns, device), gpureduce.to_device(mask, device)
        want = bits(fn(array, axis=0, where=taken), 0)
        for few in (2, 7, 50):
            found = bits(fn(array[:, 3 : 3 + few], axis=0, where=taken[:, 3 : 3 + few]), 0)
            assert (found == want[3 : 3 + few]).all(), (dtype, few)
