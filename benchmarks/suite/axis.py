"""Times reductions along axes.

Sums of arrays of one size in every shape, compared with the sum of all their elements (the flat reduction)
and, where PyTorch is installed, with `torch.sum` of the same memory. Launches are replayed as a graph that
rotates over copies of the input, and over outputs, together larger than the L2 cache. The figure is the
median over the replays, in microseconds per reduction with all its passes.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Benchmark, Times
from gpureduce import _core
from gpureduce._arrays.device_array import DeviceArray, empty, to_device
from gpureduce._bench import timing
from gpureduce._bench.stats import summarize_times
from gpureduce._bench.timing import ROTATION_BYTES
from gpureduce._device.devices import resolve
from gpureduce._rules import arguments as rules
from gpureduce._rules.dtypes import core_dtype

LAUNCHES = 16  # a graph holds about as many reductions
OP = "sum"
Layout = tuple[tuple[int, ...], tuple[int, ...]]  # shape and reduced axes


class Case(NamedTuple):
    """A shape of 2^exponent elements or so of a dtype, and the axes that are reduced."""

    dtype: str
    exponent: int
    shape: tuple[int, ...]
    axes: tuple[int, ...]


def powers(exponent: int, step: int = 1) -> Iterator[Layout]:
    """Yield (2^i, 2^(exponent - i)), each reduced over the first and over the last axis."""
    for axis in (0, 1):
        for i in range(0, exponent + 1, step):
            yield (1 << i, 1 << (exponent - i)), (axis,)


def others() -> Iterator[Layout]:
    """Yield shapes of about 2^24 elements: three dimensions, and lengths that fit no vector or tile."""
    cube = (256, 256, 256)
    yield from ((cube, axes) for axes in [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)])
    yield from (((1 << 16, 16, 16), (axis,)) for axis in (0, 1, 2))
    yield from (((32, 64, 8192), axes) for axes in [(0, 2), (1,)])
    yield ((1 << 12, 1000, 4), (1,))
    yield ((1 << 12, 1365, 3), (1,))
    for short in (3, 5, 7, 12, 17, 31, 33, 63, 100, 127, 129, 257, 1001, 10_007):
        yield ((1 << 24) // short, short), (1,)
        yield ((1 << 24) // short, short), (0,)
        yield (short, (1 << 24) // short), (0,)


class Buffers:
    """Copies of one array on a device, read in any shape."""

    def __init__(self, data: np.ndarray, device: str) -> None:
        self.kind, self.index = resolve(device)
        self.dtype = data.dtype
        count = max(2, math.ceil(ROTATION_BYTES / data.nbytes))
        self.arrays = [to_device(data, device) for _ in range(count)]
        self.rounds = max(1, LAUNCHES // count)
        self.flat_us: dict[int, float] = {}  # by the number of elements

    def __len__(self) -> int:
        return len(self.arrays)

    def results(self, kept: tuple[int, ...], op: str) -> list[DeviceArray]:
        """Return an output for the reduction of each copy."""
        dtype = core_dtype(op, self.dtype)
        return [empty(kept, dtype, self.kind, self.index) for _ in self.arrays]

    def sources(self, shape: tuple[int, ...]) -> tuple:
        """Return the copies as views for the core."""
        strides = rules.c_strides(shape, self.dtype.itemsize)
        return tuple((array._pointer, shape, strides, self.dtype.name) for array in self.arrays)

    def kernels(self, shape: tuple[int, ...], axes: tuple[int, ...]) -> list[str]:
        """Return the names of the kernels of a sum, with their grids."""
        plan = _core.plan_general(self.sources(shape)[0], OP, axes, None)
        return [f"{kernel}[{x}x{y}]" for kernel, _, x, y, _ in plan]

    def time(self, shape: tuple[int, ...], axes: tuple[int, ...], repeats: int) -> list[float]:
        """Return the microseconds of a sum, one per repeat."""
        outs = self.results(rules.kept_shape(shape, axes), OP)
        views = tuple(out._view_tuple() for out in outs)
        sources = self.sources(shape)
        return _core.time_general(sources, OP, axes, views, self.kind, self.index, self.rounds, repeats)


class Axis(Benchmark):
    """Sums over the axes of arrays of 2^24 and 2^26 elements."""

    summary = "sums over axes in every shape, compared with the flat sum and torch.sum"
    method = "graph replays that rotate over copies of the input; microseconds per reduction, all passes"
    optional = ("torch",)
    device = "cuda"
    repeats = 20
    quick: ClassVar[Mapping[str, Any]] = {"exponent": 22, "large": 22, "step": 6, "repeats": 3}

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        parser.add_argument("--exponent", type=int, default=24, help="of two, for the elements (default 24)")
        parser.add_argument("--large", type=int, default=26, help="the same for a second, coarser sweep")
        parser.add_argument("--step", type=int, default=1, help="between exponents of shapes (default 1)")

    def cases(self) -> Iterable[Case]:
        """Return the sweeps, one dtype and size after the other."""
        options = self.options
        coarse = max(2, options.step)
        first = list(powers(options.exponent, options.step))
        sweeps = [
            ("float32", options.exponent, first + (list(others()) if options.exponent == 24 else [])),
            *((dtype, options.exponent, list(powers(options.exponent, coarse))) for dtype in ("float16",)),
            *((dtype, options.exponent, list(powers(options.exponent, coarse))) for dtype in ("int8",)),
            *((dtype, options.exponent, list(powers(options.exponent, coarse))) for dtype in ("float64",)),
        ]
        if options.large != options.exponent:
            sweeps.append(("float32", options.large, list(powers(options.large, coarse))))
        self.random = np.random.default_rng(20261121)
        self.buffers: dict[tuple[str, int], Buffers] = {}
        return [Case(dtype, exponent, *layout) for dtype, exponent, layouts in sweeps for layout in layouts]

    def inputs(self, case: Case) -> Buffers:
        """Return the copies of one array, which the cases of a sweep share."""
        key = case.dtype, case.exponent
        if key not in self.buffers:
            self.buffers.clear()
            data = self.random.integers(-100, 100, 1 << case.exponent).astype(case.dtype)
            self.buffers[key] = Buffers(data, str(self.where))
        return self.buffers[key]

    def contenders(self, case: Case, inputs: Buffers) -> dict[str, Callable[[int], list[float]]]:
        """Return what times a sum, given the number of repeats."""
        found: dict[str, Callable[[int], list[float]]] = {
            "gpureduce": lambda repeats: inputs.time(case.shape, case.axes, repeats)
        }
        if self.torch is not None:
            found["torch"] = lambda repeats: self._time_torch(case, inputs, repeats)
        return found

    def _time_torch(self, case: Case, inputs: Buffers, repeats: int) -> list[float]:
        torch = self.torch
        tensors = [torch.from_dlpack(array) for array in inputs.arrays]
        views = [tensor[: math.prod(case.shape)].view(case.shape) for tensor in tensors]
        outs = [torch.sum(view, case.axes) for view in views]
        torch.cuda.synchronize()

        def call(i: int) -> None:
            torch.sum(views[i], case.axes, out=outs[i])

        launches = inputs.rounds * len(views)
        return timing.graph_times(torch, {"": call}, len(views), launches, [repeats])[""]

    def measure(self, case: Case, inputs: Buffers, contenders: Mapping[str, Callable[..., Any]]) -> Times:
        """Return microseconds; those of the flat sum of as many elements are taken once."""
        n, repeats = math.prod(case.shape), self.options.repeats
        if n not in inputs.flat_us:
            inputs.flat_us[n] = summarize_times(inputs.time((n,), (0,), repeats))["median"]
        return {name: call(repeats) for name, call in contenders.items()}

    def rows(self, case: Case, inputs: Buffers, times: Times) -> list[dict[str, Any]]:
        """Return a row; `ratio` is flat bandwidth over this one, of all bytes read and written."""
        n = math.prod(case.shape)
        read = n * inputs.dtype.itemsize
        results = math.prod(rules.kept_shape(case.shape, case.axes))
        moved = read + results * core_dtype(OP, inputs.dtype).itemsize
        median, flat = summarize_times(times["gpureduce"])["median"], inputs.flat_us[n]
        row = {
            "op": OP,
            "dtype": case.dtype,
            "shape": case.shape,
            "axes": case.axes,
            "us": summarize_times(times["gpureduce"], 3),
            "gb_per_s": round(moved / median / 1e3, 1),
            "flat_us": round(flat, 3),
            "ratio": round(median / flat * read / moved, 3),
            "kernels": " ".join(inputs.kernels(case.shape, case.axes)),
        }
        if "torch" in times:
            row["torch_us"] = summarize_times(times["torch"], 3)["median"]
        return [row]

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        return (
            f"{row['dtype']:8} {'x'.join(map(str, row['shape'])):>18} over {row['axes']!s:7}"
            f" {row['us']['median']:8.2f} us {row['gb_per_s']:7.0f} GB/s  ratio {row['ratio']:5.2f}"
            f"  torch {row.get('torch_us', math.nan):8.2f} us  {row['kernels']}"
        )

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return matrices of powers of two by dtype and size, then all other shapes."""
        sweeps: dict[tuple[str, int], dict] = {}
        rest = []
        for row in record["rows"]:
            n = math.prod(row["shape"])
            if n & (n - 1) == 0 and len(row["shape"]) == 2:
                sweep = sweeps.setdefault((row["dtype"], n), {})
                sweep.setdefault(tuple(row["shape"]), {})[row["axes"][0]] = row
            else:
                rest.append(row)
        columns = ("us", "GB/s", "ratio", "torch us")
        lines = [f"{markdown.source(record, 'torch')}: {record['method']}."]
        for (dtype, n), shapes in sweeps.items():
            flat = next(iter(next(iter(shapes.values())).values()))["flat_us"]
            heads = ["shape"]
            for axis in (0, 1):
                heads += [f"axis {axis}: {columns[0]}", *columns[1:]]
            rows = (
                [_name(shape), *_cells(axes.get(0)), *_cells(axes.get(1))] for shape, axes in shapes.items()
            )
            title = f"### {dtype}, {markdown.power(n)} elements (full sum: {flat:.1f} us)"
            lines += ["", title, "", *markdown.table(heads, "lr", rows)]
        if rest:
            rows = (
                [row["dtype"], _name(row["shape"]), ", ".join(map(str, row["axes"])), *_cells(row)]
                for row in rest
            )
            heads = ["dtype", "shape", "axes", *columns]
            lines += ["", "### Other shapes", "", *markdown.table(heads, "lllr", rows)]
        return "\n".join(lines)


def _name(shape: Iterable[int]) -> str:
    return " x ".join(map(markdown.power, shape))


def _cells(row: dict[str, Any] | None) -> list[str]:
    if row is None:
        return [""] * 4
    torch = markdown.cell(row.get("torch_us"), "{:.1f}")
    return [f"{row['us']['median']:.1f}", f"{row['gb_per_s']:,.0f}", f"{row['ratio']:.2f}", torch]


BENCHMARK = Axis
