"""Times variances, compared with sums of the same elements, `torch.var` and `cupy.var`, in one run.

Calls are captured into graphs that rotate over inputs together larger than the L2 cache, as far as 256 inputs
are; figures are medians over the replays, in microseconds per reduction. Elements are normal ones about 100.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Benchmark, Times, WrongResultError
from benchmarks.harness.inputs import InputPool
from gpureduce._bench import timing
from gpureduce._bench.stats import ratios, summarize_times
from gpureduce._reduce import functions

DTYPES = ("float32", "float64", "float16", "int32")
EXPONENTS = range(10, 29, 2)
SHOWN = (1 << 10, 1 << 20, 1 << 26, 1 << 28)  # flat, in tables
SQUARES = (24, 26)  # of as many rows as columns
LAUNCHED_BYTES = 4 << 30  # by a graph, whose own start must not count
MAX_CUPY = 1 << 20  # elements of a flat array: its variance of 2^28 takes 0.2 s
LIMITS = {"float32": 1e-6, "float64": 1e-14, "float16": 2e-3, "int32": 1e-14}  # of what comes out


class Case(NamedTuple):
    """What is reduced, and over which axis; None for all."""

    dtype: str
    shape: tuple[int, ...]
    axis: int | None


def cases(dtypes: tuple[str, ...], largest: int) -> Iterator[Case]:
    """Yield flat arrays, then squares over both axes."""
    for dtype in dtypes:
        yield from (Case(dtype, (1 << exponent,), None) for exponent in EXPONENTS if exponent <= largest)
        sides = [1 << exponent // 2 for exponent in SQUARES if exponent <= largest]
        yield from (Case(dtype, (side, side), axis) for side in sides for axis in (0, 1))


class GraphedCases(Benchmark):
    """What this benchmark and that of NaN forms and norms share: pools of inputs, and graphs one by one."""

    method = "graph replays over rotated inputs; microseconds per reduction"
    required = ("torch",)
    optional = ("cupy",)
    dtypes: ClassVar[tuple[str, ...]]

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        parser.add_argument("--dtypes", nargs="+", default=list(cls.dtypes), choices=cls.dtypes)
        parser.add_argument("--max-exponent", type=int, default=28, help="of two, for elements (default 28)")

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.pools: dict[str, InputPool] = {}

    def inputs(self, case: Case) -> list[Any]:
        """Return tensors that share memory with those of all cases of their dtype."""
        if case.dtype not in self.pools:
            self.pools.clear()
            self.torch.cuda.empty_cache()
            self.pools[case.dtype] = InputPool.normal(self.torch, case.dtype, 1 << self.options.max_exponent)
        return self.pools[case.dtype].packed(case.shape)

    def launches(self, case: Case, inputs: list[Any]) -> int:
        """Return whole rotations, enough for the start of the graph not to count."""
        launches = max(16, min(256, LAUNCHED_BYTES // inputs[0].nbytes))
        return math.ceil(launches / len(inputs)) * len(inputs)

    def measure(self, case: Case, inputs: list[Any], contenders: Mapping[str, Callable[..., Any]]) -> Times:
        """Return microseconds per reduction, one contender after the other; others may refuse a case."""
        times: Times = {}
        for name, call in contenders.items():
            try:
                times |= timing.graph_times(
                    self.torch,
                    {name: call},
                    len(inputs),
                    self.launches(case, inputs),
                    [self.options.repeats],
                )
            except Exception as error:
                if "." not in name:
                    raise
                print(f"{name}: {case}: {error!r}", flush=True)
        return times

    def in_cupy(self, work: Callable[[int], object]) -> Callable[[int], None]:
        """Return a call of CuPy's in the current stream of PyTorch."""
        torch, cupy = self.torch, self.libraries.get("cupy")

        def call(i: int) -> None:
            with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
                work(i)

        return call

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        figures = "  ".join(f"{name} {us['median']:.2f}" for name, us in row["us"].items())
        shape = "x".join(map(str, row["shape"]))
        speed = f" {row['gb_per_s']:6.0f} GB/s" if "gb_per_s" in row else ""
        return f"{row['dtype']:8} {shape:>11} {row['axis']!s:>4}{speed}  {figures}"


class Moments(GraphedCases):
    """Variances of flat arrays and of squares."""

    summary = "var, std and nanvar, compared with sum, torch.var and cupy.var"
    dtypes = DTYPES
    quick: ClassVar[Mapping[str, Any]] = {"dtypes": ["float32"], "max_exponent": 24, "repeats": 3}

    def cases(self) -> Iterable[Case]:
        """Return the cases."""
        return cases(tuple(self.options.dtypes), self.options.max_exponent)

    def contenders(self, case: Case, inputs: list[Any]) -> dict[str, Callable[[int], Any]]:
        """Return, by name, what enqueues the reduction of one input into PyTorch's current stream."""
        torch, cupy, axis, count = self.torch, self.libraries.get("cupy"), case.axis, len(inputs)
        like = (
            functions.sum(inputs[0], axis, as_device=True),
            functions.var(inputs[0], axis, as_device=True),
        )
        outs = [[torch.empty_like(torch.from_dlpack(one)) for _ in range(count)] for one in like]
        found: dict[str, Callable[[int], Any]] = {
            "sum": lambda i: functions.sum(inputs[i], axis, out=outs[0][i]),
            "var": lambda i: functions.var(inputs[i], axis, out=outs[1][i]),
            "std": lambda i: functions.std(inputs[i], axis, out=outs[1][i]),
            "nanvar": lambda i: functions.nanvar(inputs[i], axis, out=outs[1][i]),
        }
        if inputs[0].is_floating_point():
            found["torch.var"] = lambda i: torch.var(inputs[i], axis, correction=0)
        if cupy is not None and (len(case.shape) > 1 or inputs[0].numel() <= MAX_CUPY):
            arrays = [cupy.from_dlpack(tensor) for tensor in inputs]
            found["cupy.var"] = self.in_cupy(lambda i: cupy.var(arrays[i], axis))
        return found

    def check(self, case: Case, inputs: list[Any], contenders: Mapping[str, Callable[..., Any]]) -> None:
        """Raise WrongResultError if a variance is wrong."""
        torch, tensor = self.torch, inputs[0]
        axis = tuple(range(tensor.ndim)) if case.axis is None else case.axis
        wanted = torch.var(tensor.double(), axis, correction=0)
        got = torch.from_dlpack(functions.var(tensor, case.axis, as_device=True)).double()
        worst = float(((got - wanted).abs() / wanted).max())
        if not worst <= LIMITS[case.dtype]:
            raise WrongResultError(f"{case}: {worst} off")

    def rows(self, case: Case, inputs: list[Any], times: Times) -> list[dict[str, Any]]:
        """Return a row: figures of all contenders, and the time of `var` over that of each."""
        us = {name: summarize_times(taken, 3) for name, taken in times.items()}
        gb_per_s = round(inputs[0].nbytes / us["var"]["median"] / 1e3, 1)
        return [{**case._asdict(), "us": us, "gb_per_s": gb_per_s, "ratio": ratios(us, "var", 3)}]

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return figures, of flat arrays some sizes."""
        names = ("var", "sum", "torch.var", "cupy.var")
        rows = []
        for row in record["rows"]:
            n = math.prod(row["shape"])
            if len(row["shape"]) == 1 and n not in SHOWN:
                continue
            shape = " x ".join(f"{length:,}" for length in row["shape"])
            times = [markdown.median_us(row, name, "{:,.2f}") for name in names]
            what = [f"{shape} {row['dtype']}", markdown.cell(row["axis"]), f"{row['gb_per_s']:,.0f}"]
            rows.append([*what, *times])
        heads = ["elements", "axis", "GB/s", *(f"`{name}`" for name in names)]
        head = f"{markdown.source(record, 'torch', 'cupy')}: {record['method']}."
        return "\n".join([head, "", *markdown.table(heads, "lr", rows)])


BENCHMARK = Moments
