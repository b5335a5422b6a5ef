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


WATCHING = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 n)
{
.reg .b32 %r<8>; .reg .f32 %f<4>; .reg .b64 %rd<4>; .reg .pred %p<4>;
ld.param.u64 %rd1, [data];
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
mul.lo.u32 %r3, %r1, 37; and.b32 %r3, %r3, 255; add.u32 %r3, %r3, 1;
work: sub.u32 %r3, %r3, 1; setp.ne.u32 %p1, %r3, 0; @%p1 bra work;
cvt.rn.f32.u32 %f1, %r1; rcp.rn.f32 %f1, %f1;
setp.ne.u32 %p2, %r2, 0; @%p2 exit;
setp.eq.u32 %p3, %r1, 0; @!%p3 atom.global.add.f32 %f2, [%rd1], %f1;
atom.global.add.u32 %r4, [%rd1+4], 1;
WRONG
wait: ld.volatile.global.u32 %r4, [%rd1+4]; setp.lt.u32 %p1, %r4, 50; @%p1 bra wait;
atom.global.add.f32 %f2, [%rd1+8], %f1;
ret;
}
"""


@pytest.mark.core
def test_same_results_with_any_number_of_threads(monkeypatch):
    """Of blocks that watch each other, too: the default's meet in slots, those of some rungs by atomics."""
    seen = set()
    array = rough("float32", 300_007)
    variants = [v.name for v in gpureduce.variants("reduction") if v.role != "study" and "sim" in v.backends]
    for threads in (1, 2, 4, 8):
        monkeypatch.setenv("GPUREDUCE_SIM_THREADS", str(threads))
        results = [gpureduce.sum(array, device="sim"), gpureduce.argmax(array, device="sim")]
        results += [gpureduce.sum(array, variant=name, device="sim") for name in variants]
        data = np.zeros(4, np.uint32)
        profile = gpureduce.simulate(WATCHING.replace("WRONG", ""), "k", 50, 64, [data, 0])
        with pytest.raises(gpureduce.SimulationError) as wrong:
            broken = WATCHING.replace("WRONG", "setp.gt.u32 %p1, %r1, 30; @%p1 trap;")
            gpureduce.simulate(broken, "k", 50, 64, [np.zeros(4, np.uint32), 0])
        seen.add((b"".join(r.tobytes() for r in results), data.tobytes(), str(profile), str(wrong.value)))
    assert len(seen) == 1
