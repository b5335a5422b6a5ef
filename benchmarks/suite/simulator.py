"""How fast the simulator runs the rungs and the default, by wall-clock time on the CPU.

It says nothing about the speed of a GPU.
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
from gpureduce._bench.stats import summarize_times
from gpureduce._device.variants import AUTO, variants
from gpureduce._reduce import functions


class Simulator(Benchmark):
    """Elements per second of sums on the simulator."""

    summary = "elements per second of the simulator, rung by rung (no GPU)"
    method = "wall clock of whole calls on the simulator"
    device = "sim"
    repeats = 3
    quick: ClassVar[Mapping[str, Any]] = {"n": 1 << 16, "repeats": 1}

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        parser.add_argument("--n", type=int, default=1 << 22, help="elements (default 2^22)")
        parser.add_argument("--dtype", default="float32")
        parser.add_argument("--threads", type=int, default=1, help="CPU threads of the simulator (default 1)")

    def cases(self) -> Iterable[str]:
        """Return the variants."""
        os.environ["GPUREDUCE_SIM_THREADS"] = str(self.options.threads)
        return [*(each.name for each in variants("reduction") if "sim" in each.backends), AUTO]

    def inputs(self, case: str) -> np.ndarray:
        """Return one array."""
        return (np.random.default_rng(1).random(self.options.n) * 1000).astype(self.options.dtype)

    def contenders(self, case: str, inputs: np.ndarray) -> dict[str, Callable[[], Any]]:
        """Return the sum by a variant."""
        return {case: lambda: functions.sum(inputs, variant=case, device=self.options.device)}

    def measure(self, case: str, inputs: Any, contenders: Mapping[str, Callable[..., Any]]) -> Times:
        """Return microseconds of whole calls."""
        times = []
        for _ in range(self.options.repeats):
            start = time.perf_counter()
            contenders[case]()
            times.append((time.perf_counter() - start) * 1e6)
        return {case: times}

    def rows(self, case: str, inputs: np.ndarray, times: Times) -> list[dict[str, Any]]:
        """Return a row."""
        us = summarize_times(times[case], 1)
        rate = round(inputs.size / us["median"], 3)
        row = {"variant": case, "dtype": self.options.dtype, "n": inputs.size, "us": us}
        return [{**row, "million_elements_per_s": rate}]

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        return f"{row['variant']:13} {row['million_elements_per_s']:9.1f} million elements/s"

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return the rates of all variants."""
        rows = ([f"`{row['variant']}`", f"{row['million_elements_per_s']:.1f}"] for row in record["rows"])
        return "\n".join(markdown.table(["variant", "million elements per second"], "lr", rows))


BENCHMARK = Simulator
