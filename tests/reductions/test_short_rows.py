"""Short contiguous rows: their bits do not depend on other rows, nor on the address."""

import numpy as np
import pytest

import gpureduce

OPERATORS = {name: getattr(gpureduce, name) for name in ("var", "std", "nanvar", "nanstd")}
SUMS = {
    name: getattr(gpureduce, name)
    for name in ("nansum", "nanmean", "nanprod", "norm", "logsumexp", "softmax_denominator", "moments")
}
ANY_LENGTHS = {
    "float64": (2, 3, 5, 8, 16, 37, 64),
    "float32": (2, 3, 7, 15, 16, 33, 64, 100, 128),
    "float16": (2, 7, 15, 16, 33, 63, 128, 200, 256),
}
# Up to the longest rows that the kernel `tiles` takes; 1 to 8 threads share a row.
LENGTHS = {
    "float64": (5, 16, 37, 64),
    "float32": (7, 32, 33, 100, 128),
    "float16": (16, 63, 128),
    "int64": (3, 16, 37, 64),
    "int32": (33, 128),
    "int16": (40, 128),
    "int8": (40, 64),
}
BATCHES = (2, 3, 8, 41, 700)
ROWS = 2500


def cancelling(shape, dtype, seed=0):
    """Return numbers over many exponents which nearly cancel along the last axis, or any integers."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "i":
        return rng.integers(-100, 100, shape).astype(dtype) * np.dtype(dtype).type(
            {"int8": 1, "int16": 300}.get(dtype, 10_000_001)
        )
    data = rng.standard_normal(shape) * 2.0 ** rng.integers(-10, 8, shape)
    half = shape[-1] // 2
    data[..., half : 2 * half] = -data[..., :half] * (1 + 2.0**-12)
    data = rng.permuted(data, axis=-1)
    return data.astype(dtype)


def results(name, array, axis=1):
    found = (OPERATORS | SUMS)[name](array, axis=axis)
    lines = []
    for each in found if isinstance(found, tuple) else (found,):
        host = np.ascontiguousarray(each.numpy())
        lines.append(host.view(f"u{host.real.itemsize}").reshape(*host.shape, -1).astype("u8"))
    return np.concatenate(lines, axis=-1)


@pytest.mark.parametrize("dtype", LENGTHS)
@pytest.mark.parametrize("name", OPERATORS)
def test_a_row_has_the_same_bits_among_fewer_rows(name, dtype, device):
    for length in LENGTHS[dtype]:
        data = cancelling((ROWS, length), dtype)
        among_all = results(name, gpureduce.to_device(data, device))
        assert len(np.unique(among_all)) > 3  # rows differ
        for batch in BATCHES:
            among_fewer = results(name, gpureduce.to_device(data[-batch:], device))
            assert (among_fewer == among_all[-batch:]).all(), (length, batch)


@pytest.mark.parametrize("dtype", LENGTHS)
@pytest.mark.parametrize("name", OPERATORS)
def test_a_row_has_the_same_bits_at_any_address(name, dtype, device):
    for length in LENGTHS[dtype]:
        data = cancelling((50, length), dtype)
        first = results(name, gpureduce.to_device(data, device))
        for skipped in (1, 2, 3, 7):
            memory = np.concatenate([data.ravel()[:skipped], data.ravel()])
            moved = gpureduce.to_device(memory, device)[skipped:].reshape(data.shape)
            assert (results(name, moved) == first).all(), (length, skipped)


@pytest.mark.parametrize("dtype", ANY_LENGTHS)
@pytest.mark.parametrize("name", SUMS)
def test_neither_other_rows_nor_the_address_change_sums_of_a_row(name, dtype, device):
    for length in ANY_LENGTHS[dtype]:
        data = cancelling((ROWS, length), dtype)
        if name == "nanprod":
            data = (1 + data / 4096).astype(data.dtype)  # so that products are near 1
        elif name in ("logsumexp", "softmax_denominator"):
            data = (data / 64).astype(data.dtype)
        among_all = results(name, gpureduce.to_device(data, device))
        for batch in (1, *BATCHES):
            among_fewer = results(name, gpureduce.to_device(data[-batch:], device))
            assert (among_fewer == among_all[-batch:]).all(), (length, batch)
        for skipped in (1, 2, 3, 7):
            memory = np.concatenate([data.ravel()[:skipped], data.ravel()])
            moved = gpureduce.to_device(memory, device)[skipped:].reshape(data.shape)
            assert (results(name, moved) == among_all).all(), (length, skipped)


@pytest.mark.parametrize(("length", "width"), [(5, 3), (16, 2), (31, 4), (25, 5)])
@pytest.mark.parametrize("name", OPERATORS)
def test_columns_of_a_matrix_have_the_same_bits_among_fewer_matrices(name, length, width, device):
    data = cancelling((1500, width, length), "float32").swapaxes(1, 2).copy()
    among_all = results(name, gpureduce.to_device(data, device))
    for batch in (2, 3, 50):
        among_fewer = results(name, gpureduce.to_device(data[-batch:], device))
        assert (among_fewer == among_all[-batch:]).all(), batch
