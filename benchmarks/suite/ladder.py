"""Times every variant, for the committed results. What is timed, and how, `gpureduce.bench` says."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from benchmarks.harness.benchmark import Benchmark
from gpureduce._bench.result import BenchResult
from gpureduce._bench.runner import bench


class Ladder(Benchmark):
    """The rungs of the ladder of reductions and the default, by `gpureduce.bench`."""

    summary = "every variant of the ladder of reductions, as gpureduce.bench times it"
    method = ""  # gpureduce.bench says it
    device = "cuda"
    repeats = 30
    quick: ClassVar[Mapping[str, Any]] = {"n": [1 << 20], "repeats": 5}

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        parser.add_argument("--n", type=int, nargs="+", default=[1 << 25], help="elements (default 2^25)")
        parser.add_argument("--dtypes", nargs="+", default=["float32"])
        parser.add_argument("--block-size", type=int, default=256)

    def run(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of `gpureduce.bench`."""
        options = self.options
        self.result = bench(
            options.n,
            dtypes=options.dtypes,
            device=str(self.where),
            repeats=options.repeats,
            block_size=options.block_size,
        )
        yield from self.result.rows

    def finish(self, record: dict[str, Any]) -> None:
        """Take the head from `gpureduce.bench`."""
        rows = record.pop("rows")
        record.clear()
        record |= {**self.result.head, "rows": rows}

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        us = row.get("all_passes_us")
        time = f"{us['median']:10.2f} us" if us else f"{row['warp_instructions']:>12,} instructions"
        return f"{row['variant']:13} {row['op']} of {row['n']:,} {row['dtype']} {time}"

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return the table of `BenchResult`."""
        head = {key: value for key, value in record.items() if key != "rows"}
        return str(BenchResult(head, tuple(record["rows"])))


BENCHMARK = Ladder
