"""Copies of views on devices against NumPy's, bit by bit: layouts of all kinds, odd sizes, every dtype."""

import itertools
import warnings

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce._arrays.device_array import empty
from tests.support.producers import DTYPES

# Of one, two and more tiles along each side, with and without rows of whole vectors.
SHAPES = [
    (64, 64),
    (65, 63),
    (130, 70),
    (16, 272),
    (272, 16),
    (7, 100),
    (100, 8),
    (33, 1, 40),
    (9, 16, 128),
    (16, 17, 33),
    (3, 4, 5, 32),
    (2, 9, 2, 9, 8),
    (2, 3, 2, 8, 3, 8),
]
WINDOWS = {
    "whole": lambda a: a,
    "cropped": lambda a: a[1:, ..., :-1],
    "cropped by vectors": lambda a: a[..., a.shape[-1] % 8 :],
    "every third": lambda a: a[..., ::3],
    "every second, from the first axis on": lambda a: a[1::2],
    "backwards": lambda a: a[::-1, ..., ::-1],
}


def numbered(shape, dtype, rng):
    """Elements whose bytes differ, so that one that is lost or in another's place shows."""
    size = int(np.prod(shape))
    if dtype.kind == "b":
        return rng.integers(0, 2, size).astype(bool).reshape(shape)
    if dtype.itemsize <= 2:
        return rng.integers(0, 256, (size, dtype.itemsize), np.uint8).view(dtype).reshape(shape)
    if dtype.kind == "c":
        return (rng.permutation(size) - size / 2 + 1j * rng.permutation(size)).astype(dtype).reshape(shape)
    return (rng.permutation(size) - (0 if dtype.kind == "u" else size // 2)).astype(dtype).reshape(shape)


def orders(ndim):
    """All orders of axes, of many axes a few."""
    every = list(itertools.permutations(range(ndim)))
    return every[:: max(1, len(every) // 12)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("window", WINDOWS)
def test_copies_are_the_elements_in_c_order(dtype, window, device, thin):
    rng = np.random.default_rng(17)
    for shape in SHAPES[:: 3 if thin else 1]:
        host = numbered(shape, np.dtype(dtype), rng)
        there = gpureduce.to_device(host, device=device)
        for axes in orders(host.ndim):
            theirs = WINDOWS[window](host).transpose(axes)
            copied = WINDOWS[window](there).transpose(axes).copy()
            assert copied.strides == theirs.copy("C").strides, (shape, axes)
            assert copied.numpy().tobytes() == theirs.tobytes(), (shape, axes)


@pytest.mark.parametrize("item", [1, 2, 4, 8, 16])
def test_tiles_at_every_edge(item, device):
    """Of matrices with one element more or less than a tile, turned over; nothing is written around them."""
    dtype = {1: "int8", 2: "int16", 4: "float32", 8: "float64", 16: "complex128"}[item]
    rng = np.random.default_rng(item)
    edges = (8, 16, 63, 64, 65, 127, 129, 256 // item * 2)
    for rows, columns in itertools.product(edges, edges):
        host = numbered((rows, columns), np.dtype(dtype), rng)
        there = gpureduce.to_device(host, device=device)
        room = empty((columns + 2, rows), np.dtype(dtype), there._kind, there._index)
        before = numbered(room.shape, room.dtype, rng)
        _core.device_write(room._kind, room._index, room._pointer, before, room.stream)
        view, place = there.T._view_tuple(), room[1:-1]._view_tuple()
        _core.convert(view, dtype, (place, there._kind, there._index, there.stream))
        want = before.copy()
        want[1:-1] = host.T
        assert room.numpy().tobytes() == want.tobytes(), (rows, columns)


def test_what_does_not_begin_at_a_vector(device):
    """Views from any element on, as of a tensor of another library's, copied to any place."""
    rng = np.random.default_rng(3)
    host = numbered((40, 96), np.dtype("int16"), rng)
    there = gpureduce.to_device(host, device=device)
    for first in range(9):
        view = there[:, first : first + 64].T
        assert view.copy().numpy().tobytes() == host[:, first : first + 64].T.tobytes()
        room = empty((64 * 40 + 16,), np.dtype("int16"), there._kind, there._index)
        place = (room._pointer + 2 * first, (64, 40), (80, 2), "int16")
        _core.convert(view._view_tuple(), "int16", (place, there._kind, there._index, there.stream))
        made = room[first : first + 64 * 40].numpy()
        assert made.tobytes() == host[:, first : first + 64].T.tobytes()


@pytest.mark.parametrize("to", ["float32", "int8", "complex128", "bool", "float16"])
def test_conversions_of_views_turned_over(to, device):
    rng = np.random.default_rng(5)
    host = rng.integers(-100, 100, (65, 3, 47)).astype(np.float32)
    there = gpureduce.to_device(host, device=device)
    for axes in orders(3):
        want = host.transpose(axes).astype(to)
        assert there.transpose(axes).astype(to).numpy().tobytes() == want.tobytes(), axes


@pytest.mark.parametrize("count", [4096, 4095, 3])
def test_conversions_of_all_pairs(count, device):
    """Of elements side by side, by vectors and one by one, as NumPy makes them."""
    rng = np.random.default_rng(count)
    whole = rng.integers(0, 100, count)
    for first, second in itertools.product(DTYPES, DTYPES):
        signed = np.dtype(first).kind not in "bu" and np.dtype(second).kind != "u"
        host = (whole * (rng.integers(0, 2, count) * 2 - 1) if signed else whole).astype(first)
        if np.dtype(first).kind == "c":
            host += 1j * whole.astype(host.real.dtype)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = host.astype(second)
        there = gpureduce.to_device(host, device=device)
        assert there.astype(second).numpy().tobytes() == want.tobytes(), (first, second)
        want, got = want[::-2], there[::-2].astype(second)
        assert got.numpy().tobytes() == want.tobytes(), (first, second)


@pytest.mark.parametrize("window", WINDOWS)
def test_conversions_of_all_layouts(window, device):
    rng = np.random.default_rng(11)
    for shape in SHAPES:
        host = numbered(shape, np.dtype(np.int32), rng)
        there = gpureduce.to_device(host, device=device)
        for axes in orders(host.ndim):
            want = WINDOWS[window](host).transpose(axes).astype(np.float64)
            got = WINDOWS[window](there).transpose(axes).astype(np.float64)
            assert got.numpy().tobytes() == want.tobytes(), (shape, axes)
