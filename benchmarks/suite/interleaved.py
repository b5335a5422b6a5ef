"""Times reductions between two kernels of another library.

In most programs a reduction follows a kernel that wrote its input, and precedes one that reads its result.
Here a CUDA graph holds many times: a kernel of PyTorch that negates the input in place, the reduction, a
kernel of PyTorch that reads the result. The figure is the time of that graph less the time of the same graph
without the reductions, in microseconds per reduction; it is taken in each round, in which all contenders
replay their graphs one after the other, and the median over the rounds counts.

The graph rotates over inputs that are together larger than the L2 cache; but the kernel before leaves in it
what it wrote last, up to a whole input that fits, as it does in a program. That is so for all contenders.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from benchmarks.baselines import runners
from benchmarks.baselines.runners import ReductionCase
from benchmarks.harness.benchmark import Benchmark, Call, Times, WrongResultError
from benchmarks.harness.inputs import InputPool
from benchmarks.report import peers as report
from gpureduce._bench import timing
from gpureduce._bench.stats import ratios, summarize_times

CASES = (
    ("sum", "float32"),
    ("sum", "float64"),
    ("sum", "float16"),
    ("sum", "int32"),
    ("max", "float32"),
)
EXPONENTS = (0, 4, 8, 10, 12, 13, 14, 16, 18, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30)
MAX_BYTES = 4 << 30
GRAPH_BYTES = 1 << 30  # of the inputs of a graph
CHECKED = 1 << 22  # up to this number of elements the result is compared
NEIGHBOURS = ""  # the name of the graph without a reduction


def cases(dtype: str) -> Iterator[tuple[str, int]]:
    """Yield operator and exponent of two of what is measured of a dtype."""
    for op, name in CASES:
        if name == dtype:
            yield from ((op, exponent) for exponent in EXPONENTS)


def launches_of(nbytes: int) -> int:
    """Return the number of reductions in a graph."""
    return max(4, min(96, GRAPH_BYTES // max(nbytes, 1)))


class Neighbours:
    """The kernels around the reductions of a case, which write their inputs and read their results."""

    def __init__(self, torch: Any, case: ReductionCase) -> None:
        self.torch, self.case = torch, case
        self.outs = runners.results(torch, case)
        self.read = torch.empty_like(self.outs[0])

    def around(self, reduce: Call | None = None) -> Call:
        """Return a call of both, with a reduction between them if one is passed."""

        def call(i: int) -> None:
            self.case.firsts[i].neg_()
            if reduce is not None:
                reduce(i)
            self.torch.neg(self.outs[i], out=self.read)

        return call


class Interleaved(Benchmark):
    """sum and max between two kernels of PyTorch."""

    summary = "reductions between two kernels of PyTorch, compared with CUB, PyTorch and CuPy"
    method = (
        "graphs of a kernel that writes the input, the reduction, and a kernel that reads the result, less"
        " the same without the reduction; microseconds per reduction"
    )
    required = ("torch",)
    optional = ("cub", "cupy")
    quick: ClassVar[Mapping[str, Any]] = {
        "dtypes": ["float32"],
        "exponents": [10, 16, 20, 24, 26],
        "repeats": 5,
    }

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        dtypes = list(dict.fromkeys(dtype for _, dtype in CASES))
        parser.add_argument("--dtypes", nargs="+", default=dtypes, choices=dtypes)
        parser.add_argument("--exponents", nargs="+", type=int, default=list(EXPONENTS), help="of two")

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        torch, found = self.torch, self.libraries
        self.ours = runners.GpureduceRunner(torch)
        self.runners: list[Any] = [self.ours]
        self.runners += [] if found.get("cub") is None else [runners.CubRunner(found.get("cub"))]
        self.runners.append(runners.TorchRunner(torch))
        self.runners += [] if found.get("cupy") is None else [runners.CupyRunner(found.get("cupy"), torch)]

    def cases(self) -> Iterator[tuple[str, str, int]]:
        """Yield operator, dtype and exponent, one dtype after the other."""
        largest = max(self.options.exponents)
        for dtype in self.options.dtypes:
            self.pool = None
            self.torch.cuda.empty_cache()
            self.pool = InputPool.integers(self.torch, dtype, min(2 * MAX_BYTES, 32 << largest), 1)
            for op, exponent in cases(dtype):
                if exponent in self.options.exponents and self.pool.item << exponent <= MAX_BYTES:
                    yield op, dtype, exponent

    def inputs(self, case: tuple[str, str, int]) -> ReductionCase:
        """Return inputs and outputs."""
        op, dtype, exponent = case
        assert self.pool is not None
        launches = launches_of(self.pool.item << exponent)
        return ReductionCase(op, dtype, self.pool.inputs(1 << exponent)[:launches], [], launches)

    def contenders(self, case: Any, inputs: ReductionCase) -> dict[str, Call]:
        """Return the neighbours alone, and around the reduction of each library."""
        neighbours = Neighbours(self.torch, inputs)
        calls = {runner.name: neighbours.around(runner.calls(inputs)) for runner in self.runners}
        return {NEIGHBOURS: neighbours.around(), **calls}

    def launches(self, case: Any, inputs: ReductionCase) -> int:
        """Return whole rotations."""
        return inputs.launches

    def check(self, case: Any, inputs: ReductionCase, contenders: Mapping[str, Callable[..., Any]]) -> None:
        """Raise WrongResultError if ours in such a graph is wrong: elements are whole numbers."""
        if inputs.n > CHECKED:
            return
        inputs.outs.zero_()
        timing.capture(self.torch, contenders["gpureduce"], len(inputs), inputs.launches).replay()
        wanted = runners.exact(inputs.op, inputs.firsts[0], None)
        got = float(runners.results(self.torch, inputs)[0])
        limit = 2e-3 * abs(wanted) if inputs.dtype == "float16" else 1e-6 * abs(wanted)
        if not abs(got - wanted) <= limit and not (inputs.dtype == "float16" and abs(wanted) > 65504):
            raise WrongResultError(f"{inputs.op} of {inputs.n} {inputs.dtype}: {got}, expected {wanted}")

    def rows(self, case: tuple[str, str, int], inputs: ReductionCase, times: Times) -> list[dict[str, Any]]:
        """Return a row: what each reduction adds, round by round, to the time of its neighbours."""
        op, dtype, _ = case
        alone = times[NEIGHBOURS]
        us = {
            name: summarize_times([full - less for full, less in zip(taken, alone, strict=True)])
            for name, taken in times.items()
            if name != NEIGHBOURS
        }
        nbytes = inputs.n * inputs.itemsize
        return [
            {
                "op": op,
                "dtype": dtype,
                "n": inputs.n,
                "around_us": summarize_times(alone, 3)["median"],
                "us": {
                    name: {key: round(value, 3) for key, value in each.items()} for name, each in us.items()
                },
                "gb_per_s": round(nbytes / us["gpureduce"]["median"] / 1e3, 1),
                "ratio": ratios(us, "gpureduce", 4),
            }
        ]

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        figures = "  ".join(f"{name} {us['median']:.2f}" for name, us in row["us"].items())
        head = f"{row['op']:4} {row['dtype']:8} {row['n']:>11} {row['gb_per_s']:7.0f} GB/s"
        return f"{head}  {figures}  neighbours {row['around_us']:.2f}"

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return what reductions take between two kernels of another library."""
        return report.interleaved_tables(record)


def _rounded(us: dict[str, float]) -> dict[str, float]:
    return {key: round(value, 3) for key, value in us.items()}


BENCHMARK = Interleaved
