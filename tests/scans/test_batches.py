"""Running sums and products of a row or a column have the same bits alone and among others."""

import numpy as np
import pytest

import gpureduce
from tests.support.invariance import placed

pytestmark = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="NumPy has no cumulative_sum"
)

DTYPES = ("float16", "float32", "float64", "complex64", "complex128")
# Lengths around what a lane, a warp and a block hold, a run, a band and a section of rows; and numbers of
# rows with which they have each kernel.
ROWS = [
    (1, 40), (3, 40), (16, 40), (33, 40), (100, 40), (129, 40), (400, 40), (1537, 20), (6144, 5), (6145, 140),
    (13_000, 135), (70_000, 30), (200_000, 10),
]  # fmt: skip
COLUMNS = [
    (2, 70),
    (16, 70),
    (17, 70),
    (60, 70),
    (90, 70),
    (128, 70),
    (129, 40),
    (300, 40),
    (700, 40),
    (4200, 33),
]
FUNCTIONS = ("cumulative_sum", "cumulative_prod")


def spread_numbers(shape, dtype, name):
    """Numbers over many powers of two, half of them nearly opposites of others; products stay near 1."""
    draw = np.random.default_rng(shape)
    a = draw.standard_normal(shape) * 2.0 ** draw.integers(-10, 6, shape)
    half = shape[1] // 2
    a[:, half : 2 * half] = -a[:, :half] * (1 + 2.0**-9)
    a = draw.permuted(a, axis=1)
    if name == "cumulative_prod":
        a = 1 + a / 4096
    if np.dtype(dtype).kind == "c":
        a = a + 1j * a[::-1] / 256
    return a.astype(dtype)


@pytest.mark.parametrize(("length", "rows"), ROWS, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows(name, length, rows, device, some):
    function = getattr(gpureduce, name)
    for dtype in some(DTYPES, 5 if length * rows < 30_000 else 1):
        a = spread_numbers((rows, length), dtype, name)
        all_rows = function(gpureduce.to_device(a, device), axis=1).numpy()
        for count, skipped in ((1, 0), (2, 1), (3, 3), (rows // 2, 0), (rows - 1, 1)):
            got = function(placed(a[-count:], 1, skipped, device), axis=1).numpy()
            assert got.tobytes() == all_rows[-count:].tobytes(), (dtype, count, skipped)
        first = function(placed(a[:2], 1, 0, device), axis=1, include_initial=True).numpy()
        assert first[:, 1:].tobytes() == all_rows[:2].tobytes(), dtype


@pytest.mark.parametrize(("length", "columns"), COLUMNS, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_columns_and_strided_rows(name, length, columns, device, some):
    function = getattr(gpureduce, name)
    for dtype in some(DTYPES, 5 if length * columns < 10_000 else 2):
        a = spread_numbers((columns, length), dtype, name).T.copy()
        all_columns = function(gpureduce.to_device(a, device), axis=0).numpy()
        for count in (2, 3, 5, 8, 15, 16, 17, 31, 33, columns - 1):
            wanted = all_columns[:, -count:].tobytes()
            got = function(placed(a[:, -count:], 1, count % 3, device), axis=0).numpy()
            assert got.tobytes() == wanted, (dtype, count)
            lines = np.broadcast_to(a[:, -count:], (3, length, count))
            got = function(gpureduce.to_device(lines.copy(), device), axis=1).numpy()
            assert got[2].tobytes() == wanted, (dtype, count, "lines")
        with_gaps = gpureduce.to_device(np.repeat(a.T, 2, axis=1), device)[:, ::2]
        for count in (1, 4, columns):
            got = function(with_gaps[-count:], axis=1).numpy().T
            assert got.tobytes() == all_columns[:, -count:].tobytes(), (dtype, count, "gaps")
