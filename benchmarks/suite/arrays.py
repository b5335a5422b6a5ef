"""Times copies of arrays on a device, compared with PyTorch and CuPy.

Contiguous arrays, crops, every second row or column and axes in another order are copied into C order, in
their dtype and in others: `copy` and `astype` of a `DeviceArray`, ``out.copy_(view)`` of PyTorch and
``cupy.copyto(out, view)``, all into memory that is already allocated. A figure is the median over replays of
a CUDA graph of all launches, in microseconds per copy; a graph rotates over inputs that are together larger
than the L2 cache, and the contenders take turns. Every copy is compared with PyTorch's.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Benchmark, Times, WrongResultError
from gpureduce import _core
from gpureduce._bench import timing
from gpureduce._bench.stats import summarize_times
from gpureduce._device.devices import resolve

INPUT_BYTES = 192 << 20  # of what is read and of what is written, each: three times the L2 of an H200
LAUNCHES = 6  # of a graph at the least
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


class Copies:
    """The inputs and outputs of one case, several of each."""

    def __init__(self, torch: Any, cupy: Any, case: Case) -> None:
        source, to = getattr(torch, case.dtype), getattr(torch, case.to)
        size = math.prod(case.shape)
        count = max(2, math.ceil(INPUT_BYTES / (size * source.itemsize)))
        drawn = torch.randint(-99, 100, (size,), device="cuda", dtype=torch.int8)
        whole = [drawn.roll(17 * i).to(source).reshape(case.shape) for i in range(count)]
        self.tensors = [each[case.part].permute(case.axes) for each in whole]
        self.outs = [torch.empty(self.tensors[0].shape, dtype=to, device="cuda") for _ in whole]
        if cupy is not None:
            self.cupy_arrays = [cupy.asarray(each) for each in self.tensors]
            self.cupy_outs = [cupy.asarray(each) for each in self.outs]

    def __len__(self) -> int:
        return len(self.tensors)


class Arrays(Benchmark):
    """Copies and conversions of arrays of 2^24 elements or so."""

    summary = "copy() and astype() of arrays in all layouts, compared with PyTorch and CuPy"
    method = "graph replays over rotated inputs; microseconds per copy of about 2^24 elements"
    required = ("torch",)
    optional = ("cupy",)
    repeats = 7
    quick: ClassVar[Mapping[str, Any]] = {"repeats": 3, "layouts": ["contiguous", "cropped", "transposed"]}

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        parser.add_argument("--layouts", nargs="+", default=list(LAYOUTS), choices=LAYOUTS, metavar="NAME")

    def cases(self) -> Iterable[Case]:
        """Return the layouts and dtypes."""
        self.stream = self.torch.cuda.Stream()
        return [case for case in cases() if case.layout in self.options.layouts]

    def inputs(self, case: Case) -> Copies:
        """Return tensors and outputs."""
        return Copies(self.torch, self.libraries.get("cupy"), case)

    def contenders(self, case: Case, inputs: Copies) -> dict[str, Callable[[int], object]]:
        """Return the copies: by the kernels that `DeviceArray.copy` and `astype` launch, PyTorch and CuPy."""
        torch, cupy, place = self.torch, self.libraries.get("cupy"), resolve(str(self.where))

        def ours(i: int) -> None:
            view, out = view_of(inputs.tensors[i]), view_of(inputs.outs[i])
            _core.convert(view, case.to, (out, *place, torch.cuda.current_stream().cuda_stream))

        def by_cupy(i: int) -> None:
            with cupy.cuda.Stream.from_external(torch.cuda.current_stream()):
                cupy.copyto(inputs.cupy_outs[i], inputs.cupy_arrays[i], casting="unsafe")

        found: dict[str, Callable[[int], object]] = {
            "ours": ours,
            "torch": lambda i: inputs.outs[i].copy_(inputs.tensors[i]),
        }
        return found if cupy is None else {**found, "cupy": by_cupy}

    def check(self, case: Case, inputs: Copies, contenders: Mapping[str, Callable[..., Any]]) -> None:
        """Raise WrongResultError unless our copies are PyTorch's."""
        for i, tensor in enumerate(inputs.tensors):
            inputs.outs[i].fill_(77)
            contenders["ours"](i)
            if not self.torch.equal(inputs.outs[i], tensor.to(inputs.outs[i].dtype)):
                raise WrongResultError(f"{case}: not PyTorch's copy")

    def launches(self, case: Case, inputs: Copies) -> int:
        """Return whole rotations."""
        return math.ceil(LAUNCHES / len(inputs)) * len(inputs)

    def turns(self) -> Sequence[int]:
        """Return two turns."""
        return [2, max(1, self.options.repeats - 2)]

    def measure(self, case: Case, inputs: Copies, contenders: Mapping[str, Callable[..., Any]]) -> Times:
        """Return microseconds per copy."""
        launches = self.launches(case, inputs)
        return timing.graph_times(
            self.torch, contenders, len(inputs), launches, self.turns(), stream=self.stream
        )

    def rows(self, case: Case, inputs: Copies, times: Times) -> list[dict[str, Any]]:
        """Return a row."""
        us = {name: summarize_times(taken) for name, taken in times.items()}
        median = {name: summary["median"] for name, summary in us.items()}
        out = inputs.outs[0]
        moved = out.numel() * (out.element_size() + inputs.tensors[0].element_size())
        others = {f"{name}_us": round(value, 2) for name, value in median.items() if name != "ours"}
        return [
            {
                "layout": case.layout,
                "dtype": case.dtype,
                "to": case.to,
                "us": summarize_times(times["ours"], 2),
                **others,
                "of_torch": round(median["ours"] / median["torch"], 3),
                "gb_per_s": round(moved / median["ours"] / 1e3, 1),
            }
        ]

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        cupy = f", CuPy {row['cupy_us']:.2f}" if "cupy_us" in row else ""
        return (
            f"{row['layout']}, {row['dtype']} to {row['to']}: {row['us']['median']:.2f} us, PyTorch"
            f" {row['torch_us']:.2f}{cupy}, {row['of_torch']:.2f} of PyTorch, {row['gb_per_s']:.0f} GB/s"
        )

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return a line per layout: the microseconds of all contenders over dtypes."""
        layouts: dict[str, dict[tuple[str, str], dict]] = {}
        for row in record["rows"]:
            layouts.setdefault(row["layout"], {})[row["dtype"], row["to"]] = row
        columns = list(dict.fromkeys((row["dtype"], row["to"]) for row in record["rows"]))
        lines = [f"{markdown.source(record, 'torch', 'cupy')}: {markdown.method(record)}."]
        for title, copies in (("`copy()`", True), ("`astype`", False)):
            pairs = [pair for pair in columns if (pair[0] == pair[1]) == copies]
            names = [pair[0] if copies else f"{pair[0]} to {pair[1]}" for pair in pairs]
            rows = (
                [layout, *(_cell(of.get(pair)) for pair in pairs)]
                for layout, of in layouts.items()
                if any(pair in of for pair in pairs)
            )
            heads = [f"{title}, us: gpureduce / PyTorch / CuPy", *names]
            lines += ["", *markdown.table(heads, "lr", rows)]
        return "\n".join(lines)


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    times = [row["us"]["median"], row["torch_us"], *([row["cupy_us"]] if "cupy_us" in row else [])]
    return " / ".join(map(markdown.format_us, times))


BENCHMARK = Arrays
