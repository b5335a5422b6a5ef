"""A row keeps its bits in every batch and at every address where promises.md says so.

By default each promised cell is checked with one dtype, which changes from cell to cell, and without long
rows. On a GPU and with --exhaustive all of them are checked, in batches of up to 4,096 rows.
"""

import zlib

import numpy as np
import pytest

import gpureduce
from tests.support.invariance import (
    LAYOUTS,
    LONG,
    OPERATORS,
    PROMISES,
    QUICK,
    Cell,
    Size,
    bits,
    differences,
    numbers,
    placed,
    prepared,
    promised,
)
from tests.support.pages import ROOT

pytestmark = pytest.mark.filterwarnings("ignore:invalid value", "ignore:overflow", "ignore:divide by zero")
PAGE = (ROOT / "docs/reference/promises.md").read_text()
PROMISED = promised(PAGE)


def test_the_page_has_every_operator_and_dtype():
    assert PROMISED.keys() == {
        (name, dtype, layout)
        for name, (_, dtypes) in OPERATORS.items()
        for dtype in dtypes
        for layout in LAYOUTS
    }
    assert set(PROMISED.values()) == {"yes"}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("operator", OPERATORS)
def test_a_row_keeps_its_bits_where_the_page_says_so(operator, layout, device, exhaustive):
    dtypes = OPERATORS[operator][1]
    if not exhaustive:
        turn = zlib.crc32(f"{operator} {layout}".encode())
        dtypes = () if layout == "long rows" else dtypes[turn % len(dtypes) :][:1]
    for dtype in dtypes:
        for promise in PROMISES:
            size = LONG if exhaustive else Size(64, (1, 3))
            cell = Cell(operator, dtype, layout, promise)
            assert differences(cell, size, device) == [], cell


def depending(a, axis):
    """Return sums to which the number of results and the address of the array are added."""
    sums = gpureduce.sum(a, axis=axis)
    return (sums if isinstance(sums, np.ndarray) else sums.numpy()) + np.float32(a.size + a._pointer % 128)


@pytest.mark.parametrize("promise", PROMISES)
def test_the_check_finds_calls_that_depend_on_the_batch_and_on_the_start(promise, device, monkeypatch):
    monkeypatch.setitem(OPERATORS, "prod", (depending, ("float32",)))
    assert differences(Cell("prod", "float32", "columns", promise), QUICK, device)


def test_arrays_are_placed_as_the_check_says(device):
    array = placed(np.ones((3, 4), np.float32), 2, 3, device)
    assert array.shape == (3, 4) and array.strides == (32, 8) and (array.numpy() == 1).all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    "name", ["sum", "prod", "mean", "var", "nansum", "nanmean", "norm", "logsumexp", "norm(ord=3)"]
)
def test_rows_keep_their_bits_if_results_are_in_another_order(name, dtype, device):
    function = OPERATORS[name][0]
    for n in (3, 8, 17, 40, 300, 1000, 5000):
        array = prepared(name, numbers((12, 5, n), 2, dtype))
        want = bits(function(gpureduce.to_device(array, device), 2), 0)
        for count in (1, 2, 7, 12):
            swapped = gpureduce.to_device(array[:count], device).transpose(1, 0, 2)
            assert (bits(function(swapped, 2), 1) == want[:count]).all(), (n, count)
