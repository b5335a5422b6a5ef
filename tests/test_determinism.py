"""Default reductions give the same bits on every run, whatever else the device does meanwhile."""

import threading

import numpy as np
import pytest

import gpureduce

OPS = ("sum", "prod", "mean", "min", "max", "argmin", "argmax", "any", "all", "count_nonzero")
DTYPES = ("float16", "float32", "float64", "complex64", "int32", "int8")


class Load:
    """Threads that keep the device busy with reductions of other sizes until the end of the block."""

    def __init__(self, device, elements):
        self.arrays = [
            gpureduce.to_device(np.arange(n % 97, n % 97 + n, dtype=np.float32), device) for n in elements
        ]
        self.over = threading.Event()
        self.rounds = [0] * len(self.arrays)
        self.threads = [threading.Thread(target=self.run, args=(i,)) for i in range(len(self.arrays))]

    def run(self, i):
        while not self.over.is_set():
            gpureduce.sum(self.arrays[i])
            gpureduce.max(self.arrays[i], axis=0, keepdims=True)
            self.rounds[i] += 1

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()


def rough(dtype, shape):
    """Numbers whose sum depends on the order of the additions, where they are no integers."""
    random = np.random.default_rng(7)
    if np.dtype(dtype).kind in "iu":
        return random.integers(-100, 100, shape).astype(dtype)
    numbers = random.standard_normal(shape) * 10.0 ** random.integers(-3, 4, shape)
    if np.dtype(dtype).kind == "c":
        numbers = numbers + 1j * random.standard_normal(shape)
    return numbers.astype(dtype)


def different(reduce, repeats):
    """How many of the repeats differ from the first in their bytes."""
    first = reduce()
    return sum(reduce() != first for _ in range(repeats - 1))


@pytest.fixture(scope="module")
def load(device):
    elements = (1 << 26, 12_345, 1 << 20) if device != "sim" else (3_000, 777)
    with Load(device, elements) as running:
        yield running
    assert min(running.rounds) > 0


@pytest.mark.parametrize("op", OPS)
def test_same_bits_under_load(op, device, load):
    on_gpu = device != "sim"
    repeats = 1000 if on_gpu else 3
    sizes = (1000, 100_003, (1 << 20) + 5) if on_gpu else (20_003,)
    wrong = {}
    for dtype in DTYPES:
        for n in sizes:
            numbers = rough(dtype, n)
            if op == "prod":  # that does not leave the range
                numbers = np.exp(rough(dtype, n) / 1e4).astype(dtype)
            array = gpureduce.to_device(numbers, device)
            count = different(lambda array=array: gpureduce.reduce(array, op).tobytes(), repeats)
            if count:
                wrong[dtype, n] = count
    assert not wrong


@pytest.mark.parametrize("axis", [0, 1])
def test_same_bits_along_axes_under_load(axis, device, load):
    on_gpu = device != "sim"
    shapes = [(3, 200_001), (1003, 1009), (200_001, 3)] if on_gpu else [(3, 2001), (2001, 3)]
    for shape in shapes:
        array = gpureduce.to_device(rough("float32", shape), device)
        repeats = 1000 if on_gpu else 3
        assert different(lambda a=array: gpureduce.sum(a, axis=axis).numpy().tobytes(), repeats) == 0


def test_same_bits_of_arrays_of_the_host_under_load(device, load):
    on_gpu = device != "sim"
    array = rough("float32", (1 << 23) + 3 if on_gpu else 5_003)
    assert different(lambda: gpureduce.sum(array, device=device).tobytes(), 100 if on_gpu else 3) == 0
    assert different(lambda: gpureduce.dot(array, array, device=device).tobytes(), 100 if on_gpu else 3) == 0
