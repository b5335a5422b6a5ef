"""Calls whose arrays and results are on a device, and the libraries in whose streams they are made."""

import contextlib
import gc
from dataclasses import dataclass

import numpy as np
import pytest

import gpureduce

SHAPE = (48, 1031)
OPS = (
    *("sum", "prod", "min", "max", "mean", "any", "all", "argmin", "argmax", "count_nonzero"),
    *("bitwise_and", "bitwise_or", "bitwise_xor"),
)
WITH_WHERE = tuple(op for op in OPS if not op.startswith("arg") and op != "count_nonzero")
WITH_OUT = tuple(op for op in OPS if op != "count_nonzero")


def contents(seed, op="sum"):
    """Numbers such that the operator has another result for the next seed."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-(2**20), 2**20, SHAPE).astype(np.int32)
    if op == "prod":
        return values | 1  # units modulo a power of two
    if op in ("any", "all"):
        values[:] = op == "all"
        values[rng.random(SHAPE) < 0.02 * (seed % 2)] = op == "any"
    if op == "count_nonzero":
        values[rng.random(SHAPE) < 0.4] = 0
    if op in ("bitwise_and", "bitwise_or"):
        values = values | (4 << seed) if op == "bitwise_and" else values & ~(4 << seed)
    return values


def mask(seed):
    return np.random.default_rng(1000 + seed).random(SHAPE) < 0.4


def numpys(op, array, **options):
    """NumPy's result."""
    if op.startswith("bitwise"):
        return getattr(np, op).reduce(array, **{"axis": None, **options})
    return getattr(np, op)(array, **options)


@dataclass(frozen=True)
class Call:
    """An operator, over which axis, with a mask or not, into an array that is there or a new one."""

    op: str
    axis: int | None = None
    where: bool = False
    out: bool = False

    def __str__(self):
        parts = [self.op, "flat" if self.axis is None else f"axis{self.axis}"]
        return "-".join(parts + ["where"] * self.where + ["out"] * self.out)

    def expected(self, array, chosen):
        options = {"where": chosen} if self.where else {}
        if self.where and self.op in ("min", "max"):
            options["initial"] = 5
        return numpys(self.op, array, axis=self.axis, **options)

    def __call__(self, array, chosen, out, **options):
        """Enqueue it; `chosen` is the mask, `out` an array like the result, each for calls that want it."""
        if self.where:
            options["where"] = chosen
            if self.op in ("min", "max"):
                options["initial"] = 5
        if self.out:
            options["out"] = out
        else:
            options["as_device"] = True
        return getattr(gpureduce, self.op)(array, axis=self.axis, **options)


CALLS = (
    *(Call(op, axis) for op in OPS for axis in (None, 0, 1)),
    *(Call(op, axis, where=True) for op in WITH_WHERE for axis in (None, 0, 1)),
    *(Call(op, axis, out=True) for op in WITH_OUT for axis in (None, 0, 1)),
    *(Call(op, 1, where=True, out=True) for op in WITH_WHERE),
)


@contextlib.contextmanager
def without_garbage():
    """Let no graph of an earlier test be destroyed: that makes a capture fail (H200, driver 580)."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Torch:
    """PyTorch: tensors, streams, graphs."""

    def __init__(self, index):
        self.torch = pytest.importorskip("torch")
        self.device = f"cuda:{index}"
        self.torch.cuda.set_device(index)

    def array(self, host):
        return self.torch.from_numpy(np.array(host)).to(self.device)

    def empty(self, like):
        """An array of its own for a result like this one."""
        return self.array(np.full_like(like, 77))

    def write(self, array, host):
        array.copy_(self.torch.from_numpy(np.array(host)))

    def host(self, array):
        return self.taken(array).cpu().numpy()

    def taken(self, array):
        return self.torch.from_dlpack(array) if isinstance(array, gpureduce.DeviceArray) else array

    def options(self, stream):
        return {}

    def stream(self):
        return self.torch.cuda.Stream(self.device)

    def default(self):
        return self.torch.cuda.default_stream()

    def inside(self, stream):
        return self.torch.cuda.stream(stream)

    @contextlib.contextmanager
    def capture(self, stream):
        """A capture into a graph; gives a list that has the function that replays it, in the end."""
        graph, replay = self.torch.cuda.CUDAGraph(), []
        with without_garbage(), self.torch.cuda.graph(graph, stream=stream):
            yield replay
        replay.append(graph.replay)


class CuPy:
    """CuPy, likewise."""

    def __init__(self, index):
        self.cupy = pytest.importorskip("cupy")
        self.cupy.cuda.Device(index).use()
        self.mode = self.cupy.cuda.runtime.streamCaptureModeGlobal

    def array(self, host):
        return self.cupy.asarray(np.array(host, order="C"))

    def empty(self, like):
        return self.array(np.full_like(like, 77))

    def write(self, array, host):
        array.set(np.array(host, order="C"))

    def host(self, array):
        return self.taken(array).get()

    def taken(self, array):  # for asarray() CuPy waits on the host
        return self.cupy.from_dlpack(array) if isinstance(array, gpureduce.DeviceArray) else array

    def options(self, stream):
        return {}

    def stream(self):
        return self.cupy.cuda.Stream(non_blocking=True)

    def default(self):
        return self.cupy.cuda.Stream.null

    def inside(self, stream):
        return stream

    @contextlib.contextmanager
    def capture(self, stream):
        replay = []
        with without_garbage(), stream:
            stream.begin_capture(self.mode)
            try:
                yield replay
            finally:
                graph = stream.end_capture()
        replay.append(lambda: graph.launch(stream))


class Ours(CuPy):
    """Our own arrays, in streams of CuPy that each call is told."""

    def __init__(self, index):
        super().__init__(index)
        self.device = f"cuda:{index}"

    def array(self, host):
        return gpureduce.to_device(np.array(host, order="C"), self.device)

    def write(self, array, host):
        self.cupy.asarray(array).set(np.array(host, order="C"))

    def host(self, array):
        return array.numpy()

    def options(self, stream):
        return {"stream": stream}


LIBRARIES = (Torch, CuPy, Ours)
