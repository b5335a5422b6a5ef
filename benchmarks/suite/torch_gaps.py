"""Times what PyTorch has no function for, refuses, or does not repeat, and the functions of gpureduce.torch.

A row has one call of ours and the call that a user of PyTorch would write; where that raises, the first line
of its error stands in place of a time. For calls whose bits may differ from run to run, `results` is the
number of different results in 20 runs. Microseconds per call between events, the median over repeats.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Benchmark, WrongResultError
from benchmarks.suite.order import eager
from gpureduce._bench.stats import summarize_times

RUNS = 20
CALLS = 10  # between two events
ROWS, LABELS, WIDTH = 1 << 20, 1000, 64


def refused(error: Exception) -> str:
    """Return the first line of an error, up to its first full stop."""
    return str(error).strip().split("\n")[0].split(". ")[0][:120]


def distinct(torch: Any, call: Callable[[], Any]) -> int:
    """Return the number of different results in some runs."""
    first = call().clone()
    found: list[Any] = []
    for _ in range(RUNS - 1):
        result = call()
        if not torch.equal(result, first) and not any(torch.equal(result, each) for each in found):
            found.append(result.clone())
    return 1 + len(found)


class TorchGaps(Benchmark):
    """Calls that PyTorch lacks, refuses, or does not repeat."""

    summary = "what PyTorch lacks, refuses, or does not repeat, compared with gpureduce.torch"
    method = "inputs on the GPU; microseconds per call"
    required = ("torch",)
    repeats = 5
    quick: ClassVar[Mapping[str, Any]] = {"repeats": 2, "exponent": 20}

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        parser.add_argument("--exponent", type=int, default=26, help="of the number of elements")

    def cases(self) -> Iterable[str]:
        """Return the names of the comparisons."""
        return list(self._pairs())

    def _pairs(self) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
        """Return ours, and what a user of PyTorch writes, by name."""
        from gpureduce import torch as ours

        torch, n = self.torch, 1 << self.options.exponent
        generator = torch.Generator("cuda").manual_seed(1)
        flat = torch.randn(n, device="cuda", generator=generator)
        rows = flat.view(-1, 1024)
        half, missing = flat.half(), torch.where(rows > 2, float("nan"), rows)
        labels = torch.randint(0, LABELS, (ROWS,), device="cuda", generator=generator)
        source = torch.randn(ROWS, WIDTH, device="cuda", generator=generator)
        zeros = torch.zeros(LABELS, WIDTH, device="cuda")
        infinity = float("inf")
        return {
            "quantile of all elements": (lambda: ours.quantile(flat, 0.9), lambda: torch.quantile(flat, 0.9)),
            "quantile of float16": (lambda: ours.quantile(half, 0.9), lambda: torch.quantile(half, 0.9)),
            "quantile of rows": (lambda: ours.quantile(rows, 0.9, 1), lambda: torch.quantile(rows, 0.9, 1)),
            "nanmax of rows": (
                lambda: ours.nanmax(missing, 1),
                lambda: torch.where(missing.isnan(), -infinity, missing).amax(1),
            ),
            "nanstd of rows": (lambda: ours.nanstd(missing, 1), lambda: self._nanstd(missing)),
            "cumsum of all elements": (lambda: ours.cumsum(flat, 0), lambda: torch.cumsum(flat, 0)),
            "index_add": (
                lambda: ours.index_add(zeros, 0, labels, source),
                lambda: torch.index_add(zeros, 0, labels, source),
            ),
            "index_add, deterministic": (
                lambda: ours.index_add(zeros, 0, labels, source),
                lambda: self._deterministic(lambda: torch.index_add(zeros, 0, labels, source)),
            ),
            "sort of rows": (
                lambda: ours.sort(rows, 1).values,
                lambda: torch.sort(rows, dim=1, stable=True).values,
            ),
            "sort of all elements": (
                lambda: ours.sort(flat).values,
                lambda: torch.sort(flat, stable=True).values,
            ),
            "cummax of rows": (lambda: ours.cummax(rows, 1).values, lambda: torch.cummax(rows, 1).values),
            "cummax of all elements": (
                lambda: ours.cummax(flat, 0).values,
                lambda: torch.cummax(flat, 0).values,
            ),
        }

    def _nanstd(self, a: Any) -> Any:
        """Return standard deviations without NaNs by PyTorch's functions."""
        torch = self.torch
        present = ~a.isnan()
        deviations = torch.where(present, a - torch.nanmean(a, 1, True), 0)
        return torch.sqrt((deviations**2).sum(1) / (present.sum(1) - 1))

    def _deterministic(self, call: Callable[[], Any]) -> Any:
        torch = self.torch
        torch.use_deterministic_algorithms(True)
        try:
            return call()
        finally:
            torch.use_deterministic_algorithms(False)

    def _eager(self, call: Callable[[], Any]) -> float:
        """Return microseconds per call."""
        return eager(self.torch, lambda _: call(), CALLS)

    def run_case(self, case: str) -> list[dict[str, Any]]:
        """Return the row of a comparison."""
        torch = self.torch
        row: dict[str, Any] = {"what": case, "us": {}, "results": {}, "error": {}}
        values = {}
        for name, call in zip(("gpureduce", "torch"), self._pairs()[case], strict=True):
            try:
                values[name] = call()
                times = [self._eager(call) for _ in range(self.options.repeats)]
                row["us"][name] = summarize_times(times, 3)
                row["results"][name] = distinct(torch, call)
            except RuntimeError as error:
                row["error"][name] = refused(error)
        if len(values) == 2 and not torch.allclose(
            values["gpureduce"].float(), values["torch"].float(), rtol=1e-2, atol=1e-1, equal_nan=True
        ):
            raise WrongResultError(case)
        del values
        torch.cuda.empty_cache()
        return [row]

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        cells = [f"{name} {us['median']:.1f} us" for name, us in row["us"].items()]
        cells += [f"{name}: {error}" for name, error in row["error"].items()]
        return f"{row['what']:26} {'  '.join(cells)}  results {row['results']}"

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return all rows."""

        def cell(row: dict[str, Any], name: str) -> str:
            return row["error"].get(name) or markdown.median_us(row, name)

        rows = [
            [
                row["what"],
                cell(row, "gpureduce"),
                cell(row, "torch"),
                str(row["results"].get("gpureduce", "")),
                str(row["results"].get("torch", "")),
            ]
            for row in record["rows"]
        ]
        heads = ["function", "gpureduce", "PyTorch", "results of gpureduce", "results of PyTorch"]
        head = f"{markdown.source(record, 'torch')}: {record['method']}."
        return "\n".join([head, "", *markdown.table(heads, "lrrrr", rows)])


BENCHMARK = TorchGaps
