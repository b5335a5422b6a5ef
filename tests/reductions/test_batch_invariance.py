"""The bits of a result along contiguous rows do not depend on the other rows, or on where the array begins."""

import numpy as np
import pytest

import gpureduce

pytestmark = pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")

OPERATORS = {
    "sum": gpureduce.sum,
    "mean": gpureduce.mean,
    "prod": lambda a, axis: gpureduce.prod(a, axis=axis),
    "var": gpureduce.var,
    "nansum": gpureduce.nansum,
    "nanmean": gpureduce.nanmean,
    "norm 1": lambda a, axis: gpureduce.norm(a, 1, axis=axis),
    "norm 2": lambda a, axis: gpureduce.norm(a, axis=axis),
    "logsumexp": gpureduce.logsumexp,
    "moments": lambda a, axis: gpureduce.moments(a, axis=axis),
    "argmax": gpureduce.argmax,
    "min": gpureduce.min,
}
# Rows of tiles, of one unit, of several steps, and of several parts, with and without a rest.
LENGTHS = {
    "float64": (37, 64, 200, 1000, 4099),
    "float32": (128, 257, 1001, 9000),
    "float16": (100, 1000, 8191),
}
BATCHES = (2, 3, 8, 41)
ROWS = 150


def cancelling(rows, length, dtype, seed=0):
    """Return rows whose elements spread over many exponents and nearly cancel."""
    rng = np.random.default_rng(seed)
    half = rng.standard_normal((rows, length)) * 2.0 ** rng.integers(-10, 8, (rows, length))
    half[:, length // 2 : length // 2 * 2] = -half[:, : length // 2] * (1 + 2.0**-12)
    return rng.permuted(half, axis=1).astype(dtype)


def prepared(name, data):
    """Return data whose result is neither 0 nor infinite."""
    return 1 + data / 8192 if name == "prod" else data


def bits(result):
    host = np.stack([each.numpy() for each in result], -1) if isinstance(result, tuple) else result.numpy()
    return np.ascontiguousarray(host).view(f"u{host.itemsize}").reshape(host.shape)


def results(name, data, device):
    return bits(OPERATORS[name](gpureduce.to_device(data, device), axis=1))


@pytest.mark.parametrize("dtype", LENGTHS)
@pytest.mark.parametrize("name", OPERATORS)
def test_a_row_has_the_same_bits_among_fewer_rows(name, dtype, device):
    for length in LENGTHS[dtype]:
        data = prepared(name, cancelling(ROWS, length, dtype)).astype(dtype)
        among_all = results(name, data, device)
        for batch in BATCHES:
            assert (results(name, data[-batch:], device) == among_all[-batch:]).all(), (length, batch)


@pytest.mark.parametrize(
    ("name", "dtype", "length", "rows"),
    [
        ("sum", "float64", 40_000, 100),
        ("sum", "float32", 131_072, 60),
        ("var", "float32", 70_001, 130),
        ("norm 2", "float64", 33_000, 120),
    ],
)
def test_a_long_row_has_the_same_bits_if_more_blocks_share_it(name, dtype, length, rows, device):
    data = cancelling(rows, length, dtype)
    among_all = results(name, data, device)
    for batch in (2, 7):
        assert (results(name, data[:batch], device) == among_all[:batch]).all()


@pytest.mark.parametrize("dtype", LENGTHS)
@pytest.mark.parametrize("name", ["sum", "prod", "var", "norm 2", "logsumexp", "argmax"])
def test_a_row_has_the_same_bits_at_any_address(name, dtype, device):
    for length in LENGTHS[dtype]:
        data = prepared(name, cancelling(5, length, dtype)).astype(dtype)
        first = results(name, data, device)
        for skipped in (1, 2, 3, 7):
            memory = np.concatenate([data.ravel()[:skipped], data.ravel()])
            moved = gpureduce.to_device(memory, device)[skipped:].reshape(data.shape)
            assert (bits(OPERATORS[name](moved, axis=1)) == first).all(), (length, skipped)


@pytest.mark.parametrize("name", ["sum", "var", "norm 2"])
@pytest.mark.parametrize(("runs", "run"), [(2, 700), (5, 64), (40, 33), (9, 5000)])
def test_rows_of_several_runs_have_the_same_bits_among_fewer_rows(name, runs, run, device):
    """The reduced axes are the first and the last."""
    data = cancelling(runs * 60, run, "float32").reshape(runs, 60, run)
    reduce = lambda a: bits(OPERATORS[name](gpureduce.to_device(a, device), axis=(0, 2)))  # noqa: E731
    among_all = reduce(data)
    for batch in (2, 9):
        assert (reduce(np.ascontiguousarray(data[:, :batch])) == among_all[:batch]).all(), batch


@pytest.mark.parametrize("length", [37, 300, 9000])
def test_a_norm_does_not_depend_on_the_size_of_its_neighbours(length, device):
    data = cancelling(6, length, "float64")
    alone = results("norm 2", data, device)
    data[1::2] *= 1e200
    assert (results("norm 2", data, device)[::2] == alone[::2]).all()
