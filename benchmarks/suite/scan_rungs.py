"""Times the rungs of the ladder of scans, compared with the default, a copy and PyTorch's `cumsum`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Benchmark, Call, Times, WrongResultError
from benchmarks.suite.scans import MAX_LAUNCHES, Buffers
from gpureduce import _functions as gpureduce
from gpureduce._bench import timing
from gpureduce._bench.stats import summarize_times
from gpureduce._device.variants import variants

RUNGS = tuple(variant.name for variant in variants("scan"))
NAMES = (*RUNGS, "auto", "copy", "torch")
EXPONENTS = (10, 16, 20, 24, 26, 28)


class ScanRungs(Benchmark):
    """Cumulative sums of float32 by each rung."""

    summary = "the rungs s0 to s4 of cumulative sums, compared with auto, a copy and PyTorch"
    method = "graphs over inputs and results larger than the L2 cache; microseconds per call"
    required = ("torch",)
    repeats = 5
    quick: ClassVar[Mapping[str, Any]] = {"repeats": 3}

    def cases(self) -> Iterator[int]:
        """Yield the numbers of elements."""
        yield from (1 << exponent for exponent in EXPONENTS)

    def inputs(self, case: int) -> Buffers:
        """Return whole numbers that cancel, and arrays for their sums."""
        torch = self.torch
        buffers = max(1, min(MAX_LAUNCHES, timing.ROTATION_BYTES // (8 * case)))
        ins = [torch.randint(-9, 10, (case,), device="cuda").float() for _ in range(buffers)]
        return Buffers(ins, [torch.empty(case, device="cuda") for _ in ins])

    def contenders(self, case: int, inputs: Buffers) -> dict[str, Call]:
        """Return the calls of all contenders."""
        torch, ins, outs = self.torch, inputs.ins, inputs.outs

        def by(variant: str) -> Call:
            return lambda i: gpureduce.cumulative_sum(ins[i], variant=variant, out=outs[i])

        calls = {variant: by(variant) for variant in (*RUNGS, "auto")}
        calls["copy"] = lambda i: outs[i].copy_(ins[i])
        calls["torch"] = lambda i: torch.cumsum(ins[i], 0, out=outs[i])
        return calls

    def check(self, case: int, inputs: Buffers, contenders: Mapping[str, Callable[..., Any]]) -> None:
        """Raise WrongResultError unless sums are exact: they are whole numbers below 2^24."""
        sums = inputs.ins[0].double().cumsum(0)
        for name, call in contenders.items():
            inputs.outs[0].fill_(0.5)
            call(0)
            if name != "copy" and not self.torch.equal(inputs.outs[0].double(), sums):
                raise WrongResultError(f"{case} elements: {name} is wrong")

    def launches(self, case: int, inputs: Buffers) -> int:
        """Return up to four rotations."""
        return max(len(inputs), min(MAX_LAUNCHES, 4 * len(inputs)))

    def rows(self, case: int, inputs: Buffers, times: Times) -> list[dict[str, Any]]:
        """Return a row."""
        return [{"n": case, "us": {name: summarize_times(taken, 3) for name, taken in times.items()}}]

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        return f"{row['n']:>10}  " + "  ".join(f"{name} {us['median']:.1f}" for name, us in row["us"].items())

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return all rows."""
        rows = (
            [f"{row['n']:,}", *(markdown.median_us(row, name) for name in NAMES)] for row in record["rows"]
        )
        heads = ["float32", *(f"`{name}`" for name in (*RUNGS, "auto")), "copy", "PyTorch"]
        source = f"{markdown.source(record, 'torch')}: {record['method']}."
        return "\n".join([source, "", *markdown.table(heads, "r", rows)])


BENCHMARK = ScanRungs
