"""Cases of the benchmark ``cliffs``, drawn anew each day: values with tensors of PyTorch are right.

The seed is the date, so that a failure names a case that anybody can draw again.
"""

import datetime

import pytest

from benchmarks.cliffs.family import MAX_OFFSET, Pool
from benchmarks.suite.cliffs import FAMILIES

torch = pytest.importorskip("torch")
SEED = int(datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%d"))
MOST = 1 << 13  # elements
COUNT = 16


@pytest.fixture(scope="module")
def pool(on_gpu):
    return Pool(torch, "cuda" if on_gpu else "cpu", 1 << 19)


@pytest.mark.parametrize("index", range(COUNT))
@pytest.mark.parametrize("family", FAMILIES)
def test_values_of_a_torch_case(family, index, pool, monkeypatch):
    monkeypatch.setenv("GPUREDUCE_DEVICE", "cuda" if pool.device == "cuda" else "sim")
    case = FAMILIES[family].case(SEED, index, MOST)
    error = FAMILIES[family].prepare(pool, case.parts).error()
    assert error <= 1, (FAMILIES[family].text(case.parts), case)


def test_the_largest_input_with_an_offset_lies_in_the_pool():
    small = Pool(torch, "cpu", 4096)
    (tensor,) = small.cut("float64", (8, 32, 2), (64, 2, 1), MAX_OFFSET)
    assert tensor.storage_offset() == MAX_OFFSET
    assert tensor[7, 31, 1] != 0
