"""Times reductions of layouts that nobody tuned for, beside PyTorch: ``python benchmarks/run.py layouts``.

The layouts are drawn with a fixed seed: 1 to 5 dimensions of any sizes, crops, every second or third element,
axes in any order, axes that repeat what is there (stride 0), 8 dtypes, 5 operators, from a few hundred bytes
to 256 MiB; before them stand those for which a cliff was known. Both libraries reduce the same tensors. Each
figure is the median over replays of a CUDA graph of all launches, in microseconds a reduction; the graphs of
both take turns. A graph goes round places in memory that are together larger than the L2 cache, as far as 64
places are: where they are not, both may find their elements in it. Results of both are compared. The bytes
touched are those of all 32-byte sectors in which elements lie, each counted once, and of the results. Beside
large layouts stands the time of the flat sum of float32 over as many bytes.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from benchmarks.report.layouts import is_large
from gpureduce import _core
from gpureduce._bench import environment, files, timing
from gpureduce._bench.stats import summarize_times
from gpureduce._device.devices import resolve
from gpureduce._reduce import functions
from gpureduce._rules import arguments as rules
from gpureduce._rules.dtypes import core_dtype, dtype_from_name

SEED = 20261123
DRAWN = 320
ROOM_BYTES = 512 << 20  # in which the places lie
OUT_BYTES = 1 << 30  # of the places of results
MOST_PLACES = 64
LAUNCHES = 16  # of a graph at the least
SECTOR = 32  # bytes
DEVICE = "cuda:0"
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
        """Elements from the room's beginning to behind the last one that is read."""
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
    length = item  # of a run: bytes from its first to its last, with no room for a sector between any two
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
    """Draw so many sizes whose product is about `elements`; three in ten are powers of two."""
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
        if layout.span * ITEM[layout.dtype] <= ROOM_BYTES // 2 and math.prod(layout.shape) < 1 << 28:
            found.append(layout)
    known, drawn = found[: len(KNOWN)], found[len(KNOWN) :]
    return known + sorted(drawn, key=lambda layout: list(ITEM).index(layout.dtype))


class Room:
    """Memory of the device: whole numbers of one dtype, in which layouts are placed, and room for results."""

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
        small = torch.randint(low, high, (ROOM_BYTES // ITEM[dtype],), **options)
        self.elements, self.dtype = small.to(getattr(torch, dtype)), dtype

    def places(self, layout: Layout) -> list[Any]:
        """Return tensors of that layout, apart from each other and of the same alignment."""
        item = ITEM[layout.dtype]
        apart = math.ceil(layout.span * item / 256) * 256 // item
        count = min(MOST_PLACES, max(1, self.elements.numel() // apart))
        apart = self.elements.numel() // count * item // 256 * 256 // item
        return [
            self.torch.as_strided(self.elements, layout.shape, layout.strides, i * apart + layout.offset)
            for i in range(count)
        ]

    def outs(self, shape: tuple[int, ...], dtype: Any, count: int) -> list[Any]:
        """Return so many places for results; few large ones take turns."""
        size = math.prod(shape) * dtype.itemsize
        apart = math.ceil(size / 256) * 256
        many = max(1, min(count, OUT_BYTES // apart))
        self.bytes[: many * apart] = 0x5A
        pieces = [self.bytes[i * apart : i * apart + size] for i in range(many)]
        outs = [piece.view(dtype).reshape(shape) for piece in pieces]
        return [outs[i % many] for i in range(count)]

    def capture(self, call: Callable[[int], object], inputs: int, launches: int) -> Any:
        """Return a graph of PyTorch of so many calls; unlike its own context, this frees no kept memory."""
        torch = self.torch
        with torch.cuda.stream(self.stream):
            call(0)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            graph.capture_begin()
            for launch in range(launches):
                call(launch % inputs)
            graph.capture_end()
        return graph


def axis_of(layout: Layout) -> Any:
    """Return the argument `axis` or `dim`."""
    if layout.op == "argmax":
        return layout.axes[0] if len(layout.axes) < len(layout.shape) or len(layout.shape) == 1 else None
    return layout.axes


class Contest:
    """Both libraries over one layout."""

    def __init__(self, room: Room, layout: Layout) -> None:
        room.fill(layout.dtype)
        self.room, self.layout, self.torch = room, layout, room.torch
        self.tensors = room.places(layout)
        self.rounds = math.ceil(LAUNCHES / len(self.tensors))
        dtype = getattr(self.torch, str(core_dtype(layout.op, dtype_from_name(layout.dtype))))
        self.outs = room.outs(layout.kept, dtype, len(self.tensors))

    def theirs(self, i: int) -> Any:
        """Reduce one by PyTorch."""
        name = "amax" if self.layout.op == "max" else self.layout.op
        return getattr(self.torch, name)(self.tensors[i], axis_of(self.layout))

    def differ(self) -> bool:
        """Whether our result of the last place is not PyTorch's."""
        layout, got, x = self.layout, self.outs[-1], self.tensors[-1]
        axis = axis_of(layout)
        getattr(functions, layout.op)(x, axis, out=got)
        want = self.theirs(len(self.tensors) - 1)
        if layout.op == "argmax":  # of equals PyTorch may take any
            if axis is None:
                x, got, want, axis = x.reshape(-1), got.reshape(()), want.reshape(()), 0
            got, want = (self.torch.take_along_dim(x, at.unsqueeze(axis), axis) for at in (got, want))
        near = TOLERANCE.get(layout.dtype, 1e-12)
        return not self.torch.allclose(got.double(), want.double(), rtol=near, atol=near, equal_nan=True)

    def views(self, tensors: list[Any]) -> tuple:
        """Return tensors as the core takes them."""
        return tuple(
            (
                tensor.data_ptr(),
                tuple(tensor.shape),
                tuple(stride * tensor.element_size() for stride in tensor.stride()),
                str(tensor.dtype).removeprefix("torch."),
            )
            for tensor in tensors
        )

    def plan(self) -> str:
        """Return the launches of ours, each with its blocks."""
        view, layout = self.views(self.tensors[:1])[0], self.layout
        plan = _core.plan_general(view, layout.op, layout.axes, None)
        return (
            " ".join(f"{kernel}{'-'.join(['', *way.split()])}[{x}x{y}]" for kernel, way, x, y in plan)
            or "flat"
        )

    def flat_us(self, repeats: int) -> float:
        """Return the time of the sum of as many bytes as are touched, read one after the other as float32."""
        apart = math.ceil(self.layout.touched / 256) * 256
        places = min(MOST_PLACES, ROOM_BYTES // apart)
        start, shape = self.room.elements.data_ptr(), (self.layout.touched // 4,)
        sources = tuple((start + i * apart, shape, (4,), "float32") for i in range(places))
        outs = self.views(self.room.outs((), self.torch.float32, places))
        rounds = math.ceil(LAUNCHES / places)
        times = _core.time_general(sources, "sum", (0,), outs, *resolve(DEVICE), rounds, repeats)
        return statistics.median(times)

    def measure(self, repeats: int) -> dict:
        """Return a row."""
        layout, places = self.layout, len(self.tensors)
        if self.differ():
            raise SystemExit(f"{layout}: not PyTorch's result")
        graph = self.room.capture(self.theirs, places, places * self.rounds)
        sources, outs = self.views(self.tensors), self.views(self.outs)
        times: dict[str, list[float]] = {"ours": [], "torch": []}
        for turn in (2, repeats - 2):
            times["ours"] += _core.time_general(
                sources, layout.op, layout.axes, outs, *resolve(DEVICE), self.rounds, turn
            )
            times["torch"] += timing.replay_times(self.torch, graph, places * self.rounds, turn)
        us = {name: summarize_times(figures) for name, figures in times.items()}
        ours, touched = us["ours"]["median"], layout.touched
        row = {
            **layout._asdict(),
            "known": layout in KNOWN,
            "touched": touched,
            "us": {key: round(value, 2) for key, value in us["ours"].items()},
            "torch_us": {key: round(value, 2) for key, value in us["torch"].items()},
            "of_torch": round(ours / us["torch"]["median"], 3),
            "gb_per_s": round(touched / ours / 1e3, 1),
            "kernels": self.plan(),
        }
        return row | ({"flat_us": round(self.flat_us(repeats), 2)} if is_large(row) else {})


def read_bandwidth(torch: Any, repeats: int) -> float:
    """Return the GB/s at which the sum of 1 GiB float32 reads."""
    whole = torch.ones(1 << 28, device="cuda")
    out = torch.empty((), device="cuda")
    graph = timing.capture(torch, lambda _: functions.sum(whole, out=out), 1, 4)
    return (1 << 30) / statistics.median(timing.replay_times(torch, graph, 4, repeats)) / 1e3


def show(row: dict) -> str:
    """Return a row as a line."""
    shape, strides, axes = (",".join(map(str, row[key])) for key in ("shape", "strides", "axes"))
    return (
        f"{row['op']:6} {row['dtype']:8} {shape} by {strides} from {row['offset']} over {axes}:"
        f" {row['us']['median']:.2f} us, {row['of_torch']:.2f} of PyTorch, {row['gb_per_s']:.0f} GB/s,"
        f" {row['touched']} bytes, {row['kernels']}"
    )


def rows(found: list[Layout], repeats: int) -> Iterator[dict]:
    """Yield a row for each layout."""
    import torch

    room = Room(torch)
    for layout in found:
        yield Contest(room, layout).measure(repeats)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/run.py layouts", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--count", type=int, default=DRAWN, help=f"layouts to draw (default {DRAWN})")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--out", type=files.writable_path, help="results file to write")
    options = parser.parse_args(argv)
    import torch

    record = environment.header(environment.find_device(DEVICE))
    record["torch"] = torch.__version__
    record["method"] = "graph replays over rotated places; microseconds a reduction, all passes"
    record["read_gb_per_s"] = round(read_bandwidth(torch, options.repeats), 1)
    record["rows"] = []
    for row in rows(layouts(options.count, options.seed), options.repeats):
        record["rows"].append(row)
        print(show(row), flush=True)
    files.write_result(options.out, record)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
