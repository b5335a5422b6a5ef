"""The table from which `auto` chooses how to launch one result from contiguous elements."""

import numpy as np
import pytest

import gpureduce
from benchmarks.suite import shapes
from gpureduce import _core

TABLE = _core.flat_shapes()
SMALL = 1 << 20  # bytes, above which the simulator takes too long


def test_the_table_is_in_order():
    limits = [row[0] for row in TABLE]
    assert limits == sorted(set(limits)) and limits[-1] == 2**64 - 1
    assert [row[1] for row in TABLE] == ["flat"] * (len(TABLE) - 1) + ["ring"]
    # The ends of an array take up to 127 threads; those of a tile are a power of two.
    assert all(threads in (128, 256, 512, 1024) for _, _, threads, _, _ in TABLE)
    assert all(blocks <= 256 for _, _, _, blocks, _ in TABLE)


@pytest.mark.parametrize("op", ["sum", "max", "argmax"])
@pytest.mark.parametrize("limit", [row[0] for row in TABLE if row[0] <= SMALL])
def test_both_sides_of_every_limit(limit, op, device):
    random = np.random.default_rng(limit)
    for nbytes in (limit - 4, limit, limit + 4):
        array = random.permutation(nbytes // 4).astype(np.int32) - 5
        assert gpureduce.reduce(array, op, device=device) == getattr(np, op)(array)


@pytest.mark.parametrize("dtype", ["complex128", "float64", "float32", "float16", "int8"])
def test_few_elements(dtype, device):
    """Both sides of each number of elements at which a block has twice as many threads, wherever they lie."""
    for threads in (1, 32, 64, 1024):
        for n in (threads - 1, threads, threads + 1, 2 * threads - 1):
            array = np.random.default_rng(n).permutation(n + 1).astype(np.int8).astype(dtype)[1:]
            wanted = array.sum(dtype={"int8": np.int64, "complex128": np.complex128}.get(dtype, np.float64))
            found = gpureduce.sum(array, device=device)
            assert found == wanted.astype(found.dtype), n
            assert gpureduce.sum(array, device=device, initial=3) == (wanted + 3).astype(found.dtype), n
            if n > 0:
                assert gpureduce.argmax(array, device=device) == array.argmax()
            if dtype != "complex128":
                small = np.remainder(array, 3).astype(dtype)  # float16 rounds beyond 2048
                limit = 8 if dtype == "float16" else 0
                assert abs(gpureduce.dot(small, small, device=device) - np.dot(small, small)) <= limit, n


@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize("dtype", ["float64", "int16"])
def test_tiles_from_the_end(dtype, offset, device):
    """Of as many tiles as blocks, one more, and a few chunks and elements less and more than that."""
    item = np.dtype(dtype).itemsize
    tile = TABLE[3][2] * 4 * 16 // item
    assert TABLE[2][0] < 5 * tile * item < TABLE[3][0]
    for n in (5 * tile - 1, 5 * tile, 5 * tile + 1, 6 * tile - 16 // item):
        array = np.random.default_rng(n).integers(-100, 101, n + offset).astype(dtype)[offset:]
        assert gpureduce.sum(array, device=device) == array.sum()
        array[n // 3], array[n // 2] = 200, 200
        assert gpureduce.argmax(array, device=device) == n // 3


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
            (array._view_tuple(),), "sum", (0,), (out._view_tuple(),), _core.CUDA, 0, 1, 3, None, shape
        )
        assert len(times) == 3 and min(times) > 0
        assert out.numpy() == np.float32(host.sum(dtype=np.float64))
    with pytest.raises(ValueError, match="shape: not for"):
        _core.time_general(
            (array._view_tuple(),), "dot", (0,), (out._view_tuple(),), _core.CUDA, 0, 1, 3,
            (array._view_tuple(),), len(TABLE) - 1,
        )  # fmt: skip
