"""Rows with gaps between their elements have an order that follows from their length alone: a few of them,
each of whose lanes has a thread, have the bits of many, of which a thread has several lanes or all."""

import numpy as np
import pytest

import gpureduce
from tests.support.invariance import OPERATORS, bits, numbers, prepared

# Elements of a row, and rows of which a thread has as many lanes as it can have.
MANY = [(3, 150_000), (13, 150_000), (40, 110_000), (600, 5_000)]


def with_gaps(rows, step, start, device):
    """Return a device array of rows whose elements are `step` apart, behind `start` others."""
    memory = np.zeros(start + rows.size * step, rows.dtype)
    memory[start::step] = rows.ravel()
    shape = (*rows.shape, step)
    return gpureduce.to_device(memory, device)[start : start + rows.size * step].reshape(shape)[..., 0]


@pytest.mark.parametrize("length, many", MANY)
@pytest.mark.parametrize(
    "name, dtype", [("sum", "float64"), ("norm", "float32"), ("nanmean", "float32"), ("var", "float32")]
)
def test_few_rows_have_the_bits_of_many(name, dtype, length, many, device):
    few = prepared(name, numbers((20, length), 1, dtype))
    wide = np.tile(few, (many // 20, 1))
    found = bits(OPERATORS[name][0](with_gaps(wide, 2, 0, device), 1), 0).reshape(-1, 20)
    assert (found == found[0]).all()
    for count in (1, 3, 20):
        alone = bits(OPERATORS[name][0](with_gaps(few[:count], 2, 0, device), 1), 0)
        assert (alone.ravel() == found[0, :count]).all(), count


@pytest.mark.parametrize("name", ["sum", "prod", "var", "nansum", "norm", "logsumexp"])
@pytest.mark.parametrize("length", [9, 33, 130, 700, 5000])
def test_a_row_has_the_same_bits_with_other_gaps(name, length, device, some):
    dtype = some(["float16", "float32", "float64"], 3)[0]
    few = prepared(name, numbers((4, length), 1, dtype))
    want = bits(OPERATORS[name][0](with_gaps(few, 2, 0, device), 1), 0)
    for count, step, start in ((4, 5, 1), (1, 3, 0), (1, 8, 3), (2, 2, 2)):
        found = bits(OPERATORS[name][0](with_gaps(few[:count], step, start, device), 1), 0)
        assert (found == want[:count]).all(), (count, step, start)
