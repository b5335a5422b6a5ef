"""The base class of benchmarks of what calls cost the host."""

from __future__ import annotations

import argparse
import gc
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from benchmarks.harness.benchmark import Benchmark
from gpureduce._bench import environment


class CallBenchmark(Benchmark):
    """A benchmark whose cases are the texts of calls, timed without garbage collection.

    Attributes
    ----------
    calls : mapping
        What is known of each call, by its text.
    """

    calls: ClassVar[Mapping[str, Any]]

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the choice of calls."""
        parser.add_argument("--calls", nargs="+", default=list(cls.calls), choices=cls.calls, metavar="TEXT")

    def head(self) -> dict[str, Any]:
        """Return the CPU."""
        return {"cpu": environment.cpu_name()}

    def cases(self) -> Iterable[str]:
        """Return the texts of the calls."""
        return self.options.calls

    def run(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of all calls, without garbage collection."""
        gc.collect()
        gc.disable()
        try:
            yield from super().run()
        finally:
            gc.enable()
