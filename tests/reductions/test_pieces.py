"""Rows of floating-point numbers have the same bits alone and among any number of rows, at any address.

The numbers of rows are those at which csrc/reduce/general/pieces.c gives rows to strips, pieces and groups of
lanes. Elements are spread over exponents and nearly cancel.
"""

import numpy as np
import pytest

import gpureduce

SUMS = ("sum", "mean", "prod", "nansum", "nanmean")
EXPONENTIALS = ("logsumexp", "softmax_denominator")
REALS = (*SUMS, "nanprod", "var", "nanstd", "norm", "norm of order 3", "moments", *EXPONENTIALS)
# Bytes per row: of rows for tiles, of one piece, and of several pieces.
BYTES = (132, 256, 600, 2800, 4100, 16_384, 20_000, 40_000, 80_004, 300_004, 1_200_000)


def rows_of(rows, length, dtype, seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "c":
        part = np.dtype(dtype).type(0).real.dtype.name
        return (rows_of(rows, length, part, 1) + 1j * rows_of(rows, length, part, 2)).astype(dtype)
    if np.dtype(dtype).kind == "i":
        return rng.integers(-(2**61), 2**61, (rows, length), dtype)
    data = rng.standard_normal((rows, length)) * 2.0 ** rng.integers(-10, 4, (rows, length))
    half = length // 2
    data[:, half : 2 * half] = -data[:, :half] * (1 + 2.0**-9)
    return rng.permuted(data, axis=1).astype(dtype)


def prepared(name, data):
    if name.endswith("prod"):
        return (1 + data / 4096).astype(data.dtype)
    if name in EXPONENTIALS:
        rows = np.arange(len(data), dtype=np.float32)[:, None]
        return (data / 8 + rows / 64).astype(data.dtype)
    if name.startswith("nan"):
        data.reshape(-1)[::17] = np.nan
    return data


def results(name, array):
    if name.startswith("norm of order"):
        found = gpureduce.norm(array, int(name[-1]), axis=1)
    else:
        found = getattr(gpureduce, name)(array, axis=1)
    columns = found if isinstance(found, tuple) else (found,)
    host = [np.ascontiguousarray(column.numpy()) for column in columns]
    return np.stack([column.view(f"u{column.real.itemsize}").reshape(len(column), -1) for column in host], 1)


def batches(rows):
    return sorted({1, 2, 3, rows // 40 + 2, rows // 7 + 2, rows // 2 + 2, rows})


def check(name, dtype, bytes_per_row, elements, device):
    length = bytes_per_row // np.dtype(dtype).itemsize
    rows = max(4, min(5000, elements // length))
    data = prepared(name, rows_of(rows, length, dtype))
    among_all = results(name, gpureduce.to_device(data, device))
    assert len(np.unique(among_all)) > 1  # rows differ
    for batch in batches(rows):
        among_fewer = results(name, gpureduce.to_device(data[-batch:], device))
        assert (among_fewer == among_all[-batch:]).all(), (length, batch)
    for skipped in (1, 3):
        memory = np.concatenate([data.ravel()[:skipped], data[-3:].ravel()])
        moved = gpureduce.to_device(memory, device)[skipped:].reshape(3, length)
        assert (results(name, moved) == among_all[-3:]).all(), (length, skipped)


CASES = [
    *((name, dtype) for name in REALS for dtype in ("float32", "float64", "float16")),
    *((name, dtype) for name in SUMS for dtype in ("complex64", "complex128")),
    ("var", "complex64"),
    ("var", "int64"),
    ("std", "int64"),
    ("norm of order 1", "complex64"),
    ("norm of order 1", "complex128"),
    ("norm of order 3", "complex64"),
]


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda i: "-".join(CASES[i]))
def test_a_row_has_the_same_bits_among_fewer_rows_and_at_any_address(case, device, exhaustive):
    name, dtype = CASES[case]
    lengths = BYTES if exhaustive else [BYTES[(case + turn) % (len(BYTES) - 2)] for turn in (0, 4)]
    for bytes_per_row in lengths:
        check(name, dtype, bytes_per_row, 30_000_000 if exhaustive else 60_000, device)


@pytest.mark.parametrize("rows", [2, 700])
def test_pieces_of_long_rows_are_combined_by_a_tree(rows, device, exhaustive):
    """A strip, a piece, or nodes of two levels of the tree go to a block."""
    length = 1_200_000 if rows == 2 else 40_000
    if rows > 2 and not exhaustive:
        pytest.skip("takes 20 s on the simulator: --exhaustive")
    data = rows_of(rows, length, "float32")
    found = gpureduce.sum(gpureduce.to_device(data, device), axis=1).numpy()
    exact = gpureduce.sum(data, axis=1, exact=True)
    assert (
        np.abs(found - exact).max() <= np.abs(exact).max() * 2.0**-22 + np.abs(data).sum(1).max() * 2.0**-44
    )
