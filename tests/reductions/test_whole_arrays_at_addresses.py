"""The bits of a reduction of a whole array do not depend on the address at which the array begins."""

import numpy as np
import pytest

import gpureduce
from tests.support.invariance import NEED_LENGTH, OPERATORS, bits, numbers, prepared

pytestmark = pytest.mark.filterwarnings("ignore:invalid value", "ignore:overflow", "ignore:divide by zero")
WHOLE = [name for name in OPERATORS if name not in NEED_LENGTH and name != "vecdot"]
LINE = 128  # bytes
# Numbers of 16-byte vectors: less than one element per thread, about one tile, several blocks, several tiles.
VECTORS = (5, 100, 511, 513, 2048, 4100)


def starts(item: int) -> list[int]:
    """Return the elements in front of an array: all within two vectors, and some of a line."""
    some = {LINE // item, LINE // item - 1, 48 // item, LINE // item + 1}
    return sorted({*range(max(32 // item, 2)), *some})


def at(memory: np.ndarray, start: int, device: str) -> gpureduce.DeviceArray:
    """Return an array on a device that begins behind as many elements, which are NaN or 1."""
    filler = np.nan if memory.dtype.kind in "fc" else 1
    return gpureduce.to_device(np.concatenate([np.full(start, filler, memory.dtype), memory]), device)[start:]


@pytest.mark.parametrize("name", WHOLE)
def test_the_bits_do_not_depend_on_the_address(name, device):
    function, dtypes = OPERATORS[name]
    for dtype in dtypes:
        item = np.dtype(dtype).itemsize
        for vectors in VECTORS:
            for count in {vectors * 16 // item, vectors * 16 // item + max(16 // item - 1, 1)}:
                data = prepared(name, numbers((1, count), 1, dtype))[0]
                wanted = bits(function(at(data, 0, device), None), 0)
                for start in starts(item)[1:]:
                    found = bits(function(at(data, start, device), None), 0)
                    assert (found == wanted).all(), (dtype, count, start)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_large_arrays(dtype, device):
    """Those that the copy engine loads. Periodic data are the same from every multiple of the period on."""
    item, period, periods = np.dtype(dtype).itemsize, (1 << 20) + 1, (0, 1, 2, 3, 8, 9, 15)
    block = prepared("prod", numbers((1, period), 1, dtype))[0]
    counts = ((512 << 20) // item, (512 << 20) // item + 40_001)
    memory = gpureduce.to_device(np.resize(block, max(counts) + max(periods) * period), device)
    for name in ("sum", "mean", "prod", "var", "nansum", *(["norm"] if dtype != "complex64" else [])):
        for count in counts:
            found = [bits(OPERATORS[name][0](memory[i * period :][:count], None), 0) for i in periods]
            assert all((each == found[0]).all() for each in found), (name, count)
