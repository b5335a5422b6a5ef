"""What counters and the race check cost the simulator.

Plain runs and profiles take turns on one CPU thread, and the fastest of each counts. CPU time of the process
is measured, so that other work on the machine disturbs little.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Benchmark, Times
from gpureduce._bench import environment
from gpureduce._profiles.variant import profile
from gpureduce._reduce import functions


class Instrument(Benchmark):
    """Plain sums, sums with counters, and sums with counters and the race check."""

    summary = "what counters and the race check cost the simulator (no GPU)"
    method = "CPU time of the process, one thread, fastest of all repeats, runs taking turns"
    device = "sim"
    repeats = 5
    quick: ClassVar[Mapping[str, Any]] = {"n": 1 << 14, "repeats": 2, "variants": ["v0", "v8"]}

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        parser.add_argument("--n", type=int, default=1 << 20, help="elements (default 2^20)")
        parser.add_argument("--variants", nargs="+", default=["v0", "v2", "v7", "v8"])

    def head(self) -> dict[str, Any]:
        """Return the CPU."""
        return {"cpu": environment.cpu_name()}

    def cases(self) -> Iterable[str]:
        """Return the variants."""
        os.environ["GPUREDUCE_SIM_THREADS"] = "1"
        return self.options.variants

    def inputs(self, case: str) -> np.ndarray:
        """Return one array."""
        return np.random.default_rng(1).random(self.options.n).astype(np.float32)

    def contenders(self, case: str, inputs: np.ndarray) -> dict[str, Callable[[], Any]]:
        """Return a plain sum and two profiles."""
        return {
            "plain": lambda: functions.sum(inputs, variant=case, device="sim"),
            "counters": lambda: profile(inputs, case, races=False),
            "counters and races": lambda: profile(inputs, case),
        }

    def measure(self, case: str, inputs: Any, contenders: Mapping[str, Callable[..., Any]]) -> Times:
        """Return seconds of the CPU."""
        times: Times = {name: [] for name in contenders}
        for _ in range(self.options.repeats):
            for name, call in contenders.items():
                start = time.process_time()
                call()
                times[name].append(time.process_time() - start)
        return times

    def rows(self, case: str, inputs: np.ndarray, times: Times) -> list[dict[str, Any]]:
        """Return a row with the fastest of each."""
        best = {name: min(taken) for name, taken in times.items()}
        ratio = {name: round(seconds / best["plain"], 2) for name, seconds in best.items()}
        ms = {name: round(1e3 * seconds, 2) for name, seconds in best.items()}
        return [{"variant": case, "dtype": "float32", "n": inputs.size, "ms": ms, "ratio": ratio}]

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        ms, ratio = row["ms"], row["ratio"]
        return (
            f"{row['variant']:13} plain {ms['plain']:8.1f} ms; counters {ratio['counters']:.2f}x; "
            f"with race check {ratio['counters and races']:.2f}x"
        )

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return the time of a profile relative to a plain run."""
        head = (
            f"{record['cpu']}, {record['date']}: sum of {record['rows'][0]['n']:,} float32 on the simulator;"
            f" {record['method']}."
        )
        rows = (
            [
                f"`{row['variant']}`",
                f"{row['ms']['plain']:.1f}",
                *(f"{row['ratio'][name]:.2f}x" for name in ("counters", "counters and races")),
            ]
            for row in record["rows"]
        )
        heads = ["variant", "plain (ms)", "with counters", "with counters and race detector"]
        return "\n".join([head, "", *markdown.table(heads, "lr", rows)])


BENCHMARK = Instrument
