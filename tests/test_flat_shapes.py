"""The table from which `auto` chooses how to launch one result from contiguous elements."""

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce.bench import shapes

TABLE = _core.flat_shapes()
SMALL = 1 << 20  # bytes, above which the simulator takes too long


def test_the_table_is_in_order():
    limits = [row[0] for row in TABLE]
    assert limits == sorted(set(limits)) and limits[-1] == 2**64 - 1
    assert [row[1] for row in TABLE] == ["flat"] * (len(TABLE) - 1) + ["ring"]
    # One block in a thread's place for each slot; the ends of an array take up to 127 threads.
    assert all(128 <= threads <= 1024 and threads % 32 == 0 for _, _, threads, _, _ in TABLE)


@pytest.mark.parametrize("op", ["sum", "max", "argmax"])
@pytest.mark.parametrize("limit", [row[0] for row in TABLE if row[0] <= SMALL])
def test_both_sides_of_every_limit(limit, op, device):
    random = np.random.default_rng(limit)
    for nbytes in (limit - 4, limit, limit + 4):
        array = random.permutation(nbytes // 4).astype(np.int32) - 5
        assert gpureduce.reduce(array, op, device=device) == getattr(np, op)(array)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8"])
def test_as_many_threads_as_chunks(dtype, device):
    """Both sides of each number of elements at which a block has twice as many threads."""
    item = np.dtype(dtype).itemsize
    for chunks in (32, 64, 128):
        for n in (16 * chunks // item + more for more in (-1, 0, 1)):
            array = np.random.default_rng(n).permutation(n).astype(np.int8).astype(dtype)
            wanted = array.sum(dtype=np.int64 if dtype == "int8" else np.float64)
            found = gpureduce.sum(array, device=device)
            assert found == wanted.astype(found.dtype), n
            assert gpureduce.argmax(array, device=device) == array.argmax()


def test_the_benchmark_names_what_is_chosen():
    for i, row in enumerate(TABLE):
        assert shapes.chosen(row[0]) == i
        assert shapes.chosen(row[0] + 1) == i + 1 if i + 1 < len(TABLE) else True
    assert shapes.label((1, "flat", 1024, 132, True)) == "flat 1024 x 132 early"
    assert shapes.label((1, "ring", 256, 132, False)) == "ring 256 x 132"


@pytest.mark.parametrize("shape", [-2, len(TABLE)])
def test_no_such_shape(shape):
    view = (0x1000, (4,), (4,), "float32")
    out = (0x2000, (), (), "float32")
    with pytest.raises(ValueError, match="shape: expected 0 to"):
        _core.time_general((view,), "sum", (0,), (out,), _core.SIM, 0, 1, 1, None, shape)


@pytest.mark.gpu
def test_every_shape_is_timed_and_right(device):
    """What each shape leaves is the sum; a pair of vectors has no ring."""
    host = np.arange(100_003, dtype=np.float32)
    array = gpureduce.to_device(host, device)
    out = gpureduce.to_device(np.zeros((), np.float32), device)
    for shape in range(len(TABLE)):
        times = _core.time_general(
            (array.view_tuple(),), "sum", (0,), (out.view_tuple(),), _core.CUDA, 0, 1, 3, None, shape
        )
        assert len(times) == 3 and min(times) > 0
        assert out.numpy() == np.float32(host.sum(dtype=np.float64))
    with pytest.raises(ValueError, match="shape: not for"):
        _core.time_general(
            (array.view_tuple(),), "dot", (0,), (out.view_tuple(),), _core.CUDA, 0, 1, 3,
            (array.view_tuple(),), len(TABLE) - 1,
        )  # fmt: skip
