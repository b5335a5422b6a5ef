"""Times reductions of layouts without tuning, compared with PyTorch.

The layouts are drawn with a fixed seed: 1 to 5 dimensions of any sizes, crops, every second or third element,
axes in any order, broadcast axes (stride 0), 8 dtypes, 5 operators, from a few hundred bytes to 256 MiB;
before them stand those for which a cliff was known. Both libraries reduce the same tensors. Each figure is
the median over replays of a CUDA graph of all launches, in microseconds per reduction; the graphs of both
take turns. A graph rotates over inputs that are together larger than the L2 cache, as far as 64 inputs are:
where they are not, both may find their elements in it. Results of both are compared. The bytes touched are
those of all 32-byte sectors with elements, each counted once, and of the results. Large layouts have the time
of the flat sum of float32 over as many bytes, too.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

from benchmarks.harness.benchmark import Benchmark, Times, WrongResultError
from benchmarks.report import layouts as report
from gpureduce import _core
from gpureduce._bench import timing
from gpureduce._bench.stats import summarize_times
from gpureduce._device.devices import resolve
from gpureduce._reduce import functions
from gpureduce._rules import arguments as rules
from gpureduce._rules.dtypes import core_dtype, dtype_from_name

SEED = 20261123
DRAWN = 320
MEMORY_BYTES = 512 << 20  # in which the inputs are placed
OUT_BYTES = 1 << 30  # of the outputs
MAX_INPUTS = 64
LAUNCHES = 16  # of a graph at the least
SECTOR = 32  # bytes
ITEM = {
    "float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "int8": 1, "int32": 4, "int64": 8, "bool": 1,
}  # fmt: skip
TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 1e-5}  # relative; the others are exact


class Layout(NamedTuple):
    """An array of which some axes are reduced; strides and offset count elements."""

    op: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    axes: tuple[int, ...]

    @property
    def kept(self) -> tuple[int, ...]:
        """The shape of the result."""
        return rules.kept_shape(self.shape, self.axes)

    @property
    def span(self) -> int:
        """Elements from the start of the memory to the last one that is read."""
        pairs = zip(self.shape, self.strides, strict=True)
        return self.offset + 1 + sum((n - 1) * stride for n, stride in pairs)

    @property
    def touched(self) -> int:
        """Bytes: whole sectors in which elements lie, and the results."""
        item = ITEM[self.dtype]
        dims = [(n, stride * item) for n, stride in zip(self.shape, self.strides, strict=True)]
        results = math.prod(self.kept) * core_dtype(self.op, dtype_from_name(self.dtype)).itemsize
        return sectors(dims, self.offset * item, item) * SECTOR + results


def sectors(dims: list[tuple[int, int]], offset: int, item: int) -> int:
    """Return in how many sectors lie elements of ``item`` bytes; `dims` are extents and strides in bytes.

    No two elements may overlap but where a stride is 0.
    """
    dims = sorted((stride, n) for n, stride in dims if n > 1 and stride > 0)
    length = item  # of a run: bytes from its first to its last, no gap of a whole sector between any two
    while dims and dims[0][0] - length < SECTOR:
        stride, n = dims.pop(0)
        length += (n - 1) * stride
    starts = [0] * SECTOR  # how many runs begin there in their sector
    starts[offset % SECTOR] = 1
    for stride, n in dims:
        turned = [0] * SECTOR
        for turn in range(min(n, SECTOR)):
            times = (n - 1 - turn) // SECTOR + 1
            for begin, runs in enumerate(starts):
                turned[(begin + turn * stride) % SECTOR] += runs * times
        starts = turned
    return sum(runs * ((begin + length - 1) // SECTOR + 1) for begin, runs in enumerate(starts))


KNOWN = (
    Layout("sum", "float32", (4096, 4096), (4100, 1), 2 * 4100 + 2, (0,)),
    Layout("sum", "float32", (1 << 24,), (2,), 0, (0,)),
    Layout("sum", "float32", (4096, 4096), (1, 0), 0, (1,)),
    Layout("sum", "float32", (256, 256, 512), (1, 512 * 256, 256), 0, (1,)),
    Layout("sum", "float32", (32, 1000), (1000, 1), 0, (1,)),
    Layout("sum", "int8", (8192, 8192), (8192, 1), 0, (0,)),
    Layout("sum", "float32", (256, 512, 256), (512 * 256, 256, 1), 0, (0,)),
    Layout("sum", "float32", (256, 512, 256), (512 * 256, 256, 1), 0, (1,)),
)


def extents(draw: random.Random, elements: float, count: int) -> list[int]:
    """Draw `count` sizes whose product is about `elements`; three in ten are powers of two."""
    shares = [draw.random() + 0.15 for _ in range(count)]
    found = []
    for share in shares:
        size = max(1, round(elements ** (share / sum(shares)) * draw.uniform(0.9, 1.1)))
        found.append(1 << round(math.log2(size)) if draw.random() < 0.3 else size)
    return found


def draw_layout(draw: random.Random) -> Layout:
    """Draw one; a few of them are too large."""
    op = draw.choice(("sum", "sum", "max", "argmax", "any", "mean"))
    dtypes = [name for name in ITEM if op != "mean" or "float" in name]  # PyTorch's mean takes no integers
    dtype = draw.choice([name for name in dtypes if op != "argmax" or name != "bool"])  # nor argmax bools
    ndim = draw.choice((1, 2, 2, 3, 3, 4, 5))
    low, high = draw.choice(((8, 20), (20, 24), (24, 28)))
    elements = 2 ** draw.uniform(low, high) / ITEM[dtype]
    shape = extents(draw, elements, ndim)
    order = list(range(ndim))
    if draw.random() < 0.35:
        draw.shuffle(order)
    strides, next_stride, offset = [0] * ndim, 1, 0
    for d in reversed(order):
        way = draw.random()
        if way < 0.08 and ndim > 1:
            continue  # the axis repeats what is there
        step = draw.choice((2, 3)) if way < 0.2 else 1
        room = shape[d] * step + (draw.randint(1, 9) if 0.2 < way < 0.4 else 0)
        strides[d] = next_stride * step
        offset += next_stride * draw.randint(0, room - shape[d] * step)
        next_stride *= room
    if draw.random() < 0.2:
        offset += draw.randint(1, 7)
    axes = sorted(draw.sample(range(ndim), draw.randint(1, ndim)))
    if op == "argmax" and len(axes) < ndim:
        axes = axes[:1]
    return Layout(op, dtype, tuple(shape), tuple(strides), offset, tuple(axes))


def layouts(count: int = DRAWN, seed: int = SEED) -> list[Layout]:
    """Return the known ones and those drawn, one dtype after the other."""
    draw, found = random.Random(seed), list(KNOWN)
    while len(found) < count + len(KNOWN):
        layout = draw_layout(draw)
        if layout.span * ITEM[layout.dtype] <= MEMORY_BYTES // 2 and math.prod(layout.shape) < 1 << 28:
            found.append(layout)
    known, drawn = found[: len(KNOWN)], found[len(KNOWN) :]
    return known + sorted(drawn, key=lambda layout: list(ITEM).index(layout.dtype))


class Memory:
    """Device memory: whole numbers of one dtype, in which layouts are placed, and memory for outputs."""

    def __init__(self, torch: Any) -> None:
        self.torch, self.dtype = torch, ""
        self.elements: Any = None
        self.bytes = torch.empty(OUT_BYTES, dtype=torch.uint8, device="cuda")
        self.stream = torch.cuda.Stream()

    def fill(self, dtype: str) -> None:
        """Make the elements ones of that dtype."""
        if dtype == self.dtype:
            return
        torch, self.elements = self.torch, None
        generator = torch.Generator(device="cuda").manual_seed(SEED)
        low, high = (0, 2) if dtype == "bool" else (-100, 100)
        options = {"device": "cuda", "generator": generator, "dtype": torch.int8}
        small = torch.randint(low, high, (MEMORY_BYTES // ITEM[dtype],), **options)
        self.elements, self.dtype = small.to(getattr(torch, dtype)), dtype

    def inputs(self, layout: Layout) -> list[Any]:
        """Return tensors of that layout, apart from each other and of the same alignment."""
        item = ITEM[layout.dtype]
        stride = math.ceil(layout.span * item / 256) * 256 // item
        count = min(MAX_INPUTS, max(1, self.elements.numel() // stride))
        stride = self.elements.numel() // count * item // 256 * 256 // item
        return [
            self.torch.as_strided(self.elements, layout.shape, layout.strides, i * stride + layout.offset)
            for i in range(count)
        ]

    def outs(self, shape: tuple[int, ...], dtype: Any, count: int) -> list[Any]:
        """Return `count` outputs; few large ones take turns."""
        size = math.prod(shape) * dtype.itemsize
        stride = math.ceil(size / 256) * 256
        many = max(1, min(count, OUT_BYTES // stride))
        self.bytes[: many * stride] = 0x5A
        pieces = [self.bytes[i * stride : i * stride + size] for i in range(many)]
        outs = [piece.view(dtype).reshape(shape) for piece in pieces]
        return [outs[i % many] for i in range(count)]


def axis_of(layout: Layout) -> Any:
    """Return the argument `axis` or `dim`."""
    if layout.op == "argmax":
        return layout.axes[0] if len(layout.axes) < len(layout.shape) or len(layout.shape) == 1 else None
    return layout.axes


def view_of(tensor: Any) -> tuple[int, tuple[int, ...], tuple[int, ...], str]:
    """Return a tensor as the core takes it."""
    strides = tuple(stride * tensor.element_size() for stride in tensor.stride())
    return tensor.data_ptr(), tuple(tensor.shape), strides, str(tensor.dtype).removeprefix("torch.")


class Placed:
    """The inputs and outputs of one layout."""

    def __init__(self, memory: Memory, layout: Layout) -> None:
        memory.fill(layout.dtype)
        self.tensors = memory.inputs(layout)
        self.rounds = math.ceil(LAUNCHES / len(self.tensors))
        dtype = getattr(memory.torch, str(core_dtype(layout.op, dtype_from_name(layout.dtype))))
        self.outs = memory.outs(layout.kept, dtype, len(self.tensors))

    def __len__(self) -> int:
        return len(self.tensors)


def read_bandwidth(torch: Any, repeats: int) -> float:
    """Return the GB/s at which the sum of 1 GiB float32 reads."""
    whole = torch.ones(1 << 28, device="cuda")
    out = torch.empty((), device="cuda")
    graph = timing.capture(torch, lambda _: functions.sum(whole, out=out), 1, 4)
    return (1 << 30) / statistics.median(timing.replay_times(torch, graph, 4, repeats)) / 1e3


class Layouts(Benchmark):
    """Both libraries over every layout."""

    summary = "reductions of 328 drawn layouts of any strides, compared with PyTorch"
    method = "graph replays that rotate over copies of the input; microseconds per reduction, all passes"
    required = ("torch",)
    repeats = 7
    quick: ClassVar[Mapping[str, Any]] = {"count": 24, "repeats": 3}

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        parser.add_argument("--count", type=int, default=DRAWN, help="layouts to draw (default %(default)s)")
        parser.add_argument("--seed", type=int, default=SEED)

    def head(self) -> dict[str, Any]:
        """Return the bandwidth of a large sum."""
        return {"read_gb_per_s": round(read_bandwidth(self.torch, self.options.repeats), 1)}

    def cases(self) -> Iterable[Layout]:
        """Return the layouts."""
        self.memory = Memory(self.torch)
        return layouts(self.options.count, self.options.seed)

    def inputs(self, case: Layout) -> Placed:
        """Return tensors of the layout."""
        return Placed(self.memory, case)

    def contenders(self, case: Layout, inputs: Placed) -> dict[str, Callable[[int], list[float]]]:
        """Return what times a number of replays: by the graphs of the core, and by one of PyTorch's."""
        torch, place = self.torch, resolve(str(self.where))
        sources, outs = (tuple(map(view_of, each)) for each in (inputs.tensors, inputs.outs))
        launches = len(inputs) * inputs.rounds
        graph = timing.capture(
            torch,
            lambda i: self._by_torch(case, inputs, i),
            len(inputs),
            launches,
            stream=self.memory.stream,
        )
        return {
            "ours": lambda replays: _core.time_general(
                sources, case.op, case.axes, outs, *place, inputs.rounds, replays
            ),
            "torch": lambda replays: timing.replay_times(torch, graph, launches, replays),
        }

    def _by_torch(self, case: Layout, inputs: Placed, i: int) -> Any:
        name = "amax" if case.op == "max" else case.op
        return getattr(self.torch, name)(inputs.tensors[i], axis_of(case))

    def check(self, case: Layout, inputs: Placed, contenders: Mapping[str, Callable[..., Any]]) -> None:
        """Raise WrongResultError unless our result of the last input is PyTorch's."""
        torch, got, x = self.torch, inputs.outs[-1], inputs.tensors[-1]
        axis = axis_of(case)
        getattr(functions, case.op)(x, axis, out=got)
        want = self._by_torch(case, inputs, len(inputs) - 1)
        if case.op == "argmax":  # of equals PyTorch may take any
            if axis is None:
                x, got, want, axis = x.reshape(-1), got.reshape(()), want.reshape(()), 0
            got, want = (torch.take_along_dim(x, at.unsqueeze(axis), axis) for at in (got, want))
        near = TOLERANCE.get(case.dtype, 1e-12)
        if not torch.allclose(got.double(), want.double(), rtol=near, atol=near, equal_nan=True):
            raise WrongResultError(f"{case}: not PyTorch's result")

    def measure(self, case: Layout, inputs: Placed, contenders: Mapping[str, Callable[..., Any]]) -> Times:
        """Return microseconds per reduction, in two turns."""
        times: Times = {name: [] for name in contenders}
        for replays in (2, max(1, self.options.repeats - 2)):
            for name, call in contenders.items():
                times[name] += call(replays)
        return times

    def rows(self, case: Layout, inputs: Placed, times: Times) -> list[dict[str, Any]]:
        """Return a row."""
        medians = {name: statistics.median(taken) for name, taken in times.items()}
        touched = case.touched
        row = {
            **case._asdict(),
            "known": case in KNOWN,
            "touched": touched,
            "us": summarize_times(times["ours"], 2),
            "torch_us": summarize_times(times["torch"], 2),
            "of_torch": round(medians["ours"] / medians["torch"], 3),
            "gb_per_s": round(touched / medians["ours"] / 1e3, 1),
            "kernels": self._plan(case, inputs),
        }
        return [row | ({"flat_us": round(self._flat_us(touched), 2)} if report.is_large(row) else {})]

    def _plan(self, case: Layout, inputs: Placed) -> str:
        """Return the launches of ours, each with its blocks."""
        plan = _core.plan_general(view_of(inputs.tensors[0]), case.op, case.axes, None)
        return (
            " ".join(f"{kernel}{'-'.join(['', *path.split()])}[{x}x{y}]" for kernel, path, x, y, _ in plan)
            or "flat"
        )

    def _flat_us(self, touched: int) -> float:
        """Return the time of the sum of as many bytes, read one after the other as float32."""
        stride = math.ceil(touched / 256) * 256
        count = min(MAX_INPUTS, MEMORY_BYTES // stride)
        start, shape = self.memory.elements.data_ptr(), (touched // 4,)
        sources = tuple((start + i * stride, shape, (4,), "float32") for i in range(count))
        outs = tuple(map(view_of, self.memory.outs((), self.torch.float32, count)))
        rounds, place = math.ceil(LAUNCHES / count), resolve(str(self.where))
        times = _core.time_general(sources, "sum", (0,), outs, *place, rounds, self.options.repeats)
        return statistics.median(times)

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        shape, strides, axes = (",".join(map(str, row[key])) for key in ("shape", "strides", "axes"))
        return (
            f"{row['op']:6} {row['dtype']:8} {shape} by {strides} from {row['offset']} over {axes}:"
            f" {row['us']['median']:.2f} us, {row['of_torch']:.2f} of PyTorch, {row['gb_per_s']:.0f} GB/s,"
            f" {row['touched']} bytes, {row['kernels']}"
        )

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return a summary, the layouts with known cliffs, and all that miss a bound."""
        return report.table(record)


BENCHMARK = Layouts
