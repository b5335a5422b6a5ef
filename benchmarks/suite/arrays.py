"""Times copies of arrays on a device, beside PyTorch and CuPy: ``python benchmarks/run.py arrays``.

Contiguous arrays, crops, every second row or column and axes in another order are copied into C order, in
their dtype and in others: `copy` and `astype` of a `DeviceArray`, ``out.copy_(view)`` of PyTorch and
``cupy.copyto(out, view)``, all into memory that is there. A figure is the median over replays of a CUDA graph
of all launches, in microseconds a copy; a graph goes round places in memory that are together larger than the
L2 cache, and the contenders take turns. Every copy is compared with PyTorch's.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from benchmarks.harness import markdown
from gpureduce import _core
from gpureduce._bench import environment, files, timing
from gpureduce._bench.stats import summarize_times
from gpureduce._device.devices import resolve

PLACES_BYTES = 192 << 20  # of what is read and of what is written, each: three times the L2 of an H200
LAUNCHES = 6  # of a graph at the least
DEVICE = "cuda:0"
SQUARE, BOX = (4096, 4096), (256, 512, 256)
PLAIN = slice(None)


class Case(NamedTuple):
    """A view of an array, and the dtype of its copy."""

    layout: str
    shape: tuple[int, ...]
    part: tuple[slice, ...]
    axes: tuple[int, ...]
    dtype: str
    to: str


# By the name in the table: the array, what is taken of it, and in which order of axes.
LAYOUTS: dict[str, tuple[tuple[int, ...], tuple[slice, ...], tuple[int, ...]]] = {
    "contiguous": (SQUARE, (), (0, 1)),
    "cropped": ((4100, 4104), (slice(1, 4097), slice(3, 4099)), (0, 1)),
    "every second row": ((8192, 4096), (slice(None, None, 2),), (0, 1)),
    "every second column": ((4096, 8192), (PLAIN, slice(None, None, 2)), (0, 1)),
    "transposed": (SQUARE, (), (1, 0)),
    "transposed, odd": ((4095, 4097), (), (1, 0)),
    "transposed crop": ((4100, 4104), (slice(1, 4097), slice(3, 4099)), (1, 0)),
    "transposed, every second column": ((4096, 8192), (PLAIN, slice(None, None, 2)), (1, 0)),
    "axes 2, 1, 0": (BOX, (), (2, 1, 0)),
    "axes 1, 2, 0": (BOX, (), (1, 2, 0)),
    "axes 2, 0, 1": (BOX, (), (2, 0, 1)),
    "axes 0, 2, 1": (BOX, (), (0, 2, 1)),
    "axes 1, 0, 2": (BOX, (), (1, 0, 2)),
    "transposed, 3 columns": ((1 << 22, 3), (), (1, 0)),
    "transposed, 3 rows": ((3, 1 << 22), (), (1, 0)),
}
COPIES = ("float32", "float16", "int8", "float64")
CONVERSIONS = (
    ("float32", "float16"),
    ("float32", "float64"),
    ("float64", "float32"),
    ("int8", "float32"),
    ("int64", "float32"),
    ("float32", "int32"),
)
CONVERTED = ("contiguous", "cropped", "every second column", "transposed")


def cases() -> list[Case]:
    """Return what is copied: all layouts in their dtypes, and some of them in others."""
    same = [Case(name, *LAYOUTS[name], dtype, dtype) for dtype in COPIES for name in LAYOUTS]
    return same + [Case(name, *LAYOUTS[name], *pair) for pair in CONVERSIONS for name in CONVERTED]


def view_of(tensor: Any) -> tuple[int, tuple[int, ...], tuple[int, ...], str]:
    """Return a tensor as the core takes it."""
    strides = tuple(stride * tensor.element_size() for stride in tensor.stride())
    return (tensor.data_ptr(), tuple(tensor.shape), strides, str(tensor.dtype).removeprefix("torch."))


class Contest:
    """One copy by all contenders, of tensors in several places."""

    def __init__(self, torch: Any, cupy: Any, stream: Any, case: Case) -> None:
        self.torch, self.cupy, self.stream = torch, cupy, stream
        source, to = getattr(torch, case.dtype), getattr(torch, case.to)
        size = math.prod(case.shape)
        count = max(2, math.ceil(PLACES_BYTES / (size * source.itemsize)))
        drawn = torch.randint(-99, 100, (size,), device="cuda", dtype=torch.int8)
        whole = [drawn.roll(17 * i).to(source).reshape(case.shape) for i in range(count)]
        self.tensors = [each[case.part].permute(case.axes) for each in whole]
        self.outs = [torch.empty(self.tensors[0].shape, dtype=to, device="cuda") for _ in whole]
        self.arrays = [cupy.asarray(each) for each in self.tensors]
        self.rooms = [cupy.asarray(each) for each in self.outs]
        self.to = case.to

    def ours(self, i: int) -> None:
        """Copy by the kernels that `DeviceArray.copy` and `astype` launch."""
        view, out = view_of(self.tensors[i]), view_of(self.outs[i])
        stream = self.torch.cuda.current_stream().cuda_stream
        _core.convert(view, self.to, (out, *resolve(DEVICE), stream))

    def theirs(self, i: int) -> None:
        """Copy by PyTorch."""
        self.outs[i].copy_(self.tensors[i])

    def cupys(self, i: int) -> None:
        """Copy by CuPy."""
        with self.cupy.cuda.Stream.from_external(self.torch.cuda.current_stream()):
            self.cupy.copyto(self.rooms[i], self.arrays[i], casting="unsafe")

    def right(self) -> bool:
        """Whether our copies are PyTorch's."""
        for i, tensor in enumerate(self.tensors):
            self.outs[i].fill_(77)
            self.ours(i)
            if not self.torch.equal(self.outs[i], tensor.to(self.outs[i].dtype)):
                return False
        return True

    def measure(self, repeats: int) -> dict[str, dict]:
        """Return the microseconds of a copy by each contender."""
        count = len(self.tensors)
        launches = math.ceil(LAUNCHES / count) * count
        calls = {"ours": self.ours, "torch": self.theirs, "cupy": self.cupys}
        graphs = {name: self._captured(call, launches) for name, call in calls.items()}
        times: dict[str, list[float]] = {name: [] for name in calls}
        for turn in (2, repeats - 2):
            for name, graph in graphs.items():
                times[name] += timing.replay_times(self.torch, graph, launches, turn)
        return {name: summarize_times(figures) for name, figures in times.items()}

    def _captured(self, call: Any, launches: int) -> Any:
        torch = self.torch
        with torch.cuda.stream(self.stream):
            call(0)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            graph.capture_begin()
            for launch in range(launches):
                call(launch % len(self.tensors))
            graph.capture_end()
        return graph


def rows(found: list[Case], repeats: int) -> Iterator[dict]:
    """Yield a row for each case."""
    import cupy
    import torch

    stream = torch.cuda.Stream()
    for case in found:
        contest = Contest(torch, cupy, stream, case)
        if not contest.right():
            raise SystemExit(f"{case}: not PyTorch's copy")
        us = contest.measure(repeats)
        median = {name: figures["median"] for name, figures in us.items()}
        out = contest.outs[0]
        moved = out.numel() * (out.element_size() + contest.tensors[0].element_size())
        yield {
            "layout": case.layout,
            "dtype": case.dtype,
            "to": case.to,
            "us": {key: round(value, 2) for key, value in us["ours"].items()},
            "torch_us": round(median["torch"], 2),
            "cupy_us": round(median["cupy"], 2),
            "of_torch": round(median["ours"] / median["torch"], 3),
            "gb_per_s": round(moved / median["ours"] / 1e3, 1),
        }
        del contest, out


def show(row: dict) -> str:
    """Return a row as a line."""
    return (
        f"{row['layout']}, {row['dtype']} to {row['to']}: {row['us']['median']:.2f} us, PyTorch"
        f" {row['torch_us']:.2f}, CuPy {row['cupy_us']:.2f}, {row['of_torch']:.2f} of PyTorch,"
        f" {row['gb_per_s']:.0f} GB/s"
    )


def table(results: dict) -> str:
    """Return a results file as Markdown: a line a layout, the microseconds of all contenders over dtypes."""
    found: dict[str, dict[tuple[str, str], dict]] = {}
    for row in results["rows"]:
        found.setdefault(row["layout"], {})[row["dtype"], row["to"]] = row
    columns = list(dict.fromkeys((row["dtype"], row["to"]) for row in results["rows"]))
    lines = [
        f"{results['device']}, CUDA {results['toolkit']}, driver for CUDA {results['driver_cuda']}, PyTorch"
        f" {results['torch']}, CuPy {results['cupy']}, {results['date']}: {results['method']}.",
    ]
    for title, kind in (("`copy()`", True), ("`astype`", False)):
        shown = [pair for pair in columns if (pair[0] == pair[1]) == kind]
        names = [pair[0] if kind else f"{pair[0]} to {pair[1]}" for pair in shown]
        lines += ["", f"| {title}, us: ours / PyTorch / CuPy | {' | '.join(names)} |"]
        lines.append("|---|" + "--:|" * len(shown))
        for layout, of in found.items():
            if any(pair in of for pair in shown):
                lines.append(f"| {layout} | {' | '.join(_cell(of.get(pair)) for pair in shown)} |")
    return "\n".join(lines)


def _cell(row: dict | None) -> str:
    if row is None:
        return ""
    return " / ".join(markdown.format_us(us) for us in (row["us"]["median"], row["torch_us"], row["cupy_us"]))


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/run.py arrays", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--out", type=files.writable_path, help="results file to write")
    options = parser.parse_args(argv)
    import cupy
    import torch

    record = environment.header(environment.find_device(DEVICE))
    record |= {"torch": torch.__version__, "cupy": cupy.__version__}
    record["method"] = "graph replays over rotated places; microseconds a copy of 2^24 elements or so"
    record["rows"] = []
    for row in rows(cases(), options.repeats):
        record["rows"].append(row)
        print(show(row), flush=True)
        files.write_result(options.out, record)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
