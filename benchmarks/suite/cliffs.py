"""Times calls on shapes drawn at random, compared with PyTorch, to find shapes that are slow.

Each case is drawn from the name of its family, the seed and its number, so that one case can be measured
alone. Extents are drawn log-uniformly: odd, prime, powers of two, next to one; arrays are dense, permuted,
cropped, with steps, and begin at any element. Values are compared with float64. The figure is the median over
replays of a CUDA graph that rotates over inputs, in microseconds per call; contenders take turns.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from benchmarks.cliffs import axes, ordered, products
from benchmarks.cliffs.family import Case, Family, Pool, Prepared
from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Benchmark, Times, WrongResultError
from gpureduce._bench.stats import summarize_times

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        axes.Axes(), axes.Positions(), axes.Whole(), ordered.Scans(), ordered.Order(), ordered.Segments(),
        ordered.Groups(), ordered.Exact(), products.Products(), products.Convolutions(),
    )
}  # fmt: skip
SEED = 46
WORST = 20
BOUND = 1.05  # of PyTorch's time
LAUNCHES = 8  # of a graph at the least, unless they take longer than MAX_GRAPH_MS
MAX_GRAPH_MS = 10
SLOW_MS = 10  # per call of any contender, from which there is one turn


def worst(rows: list[dict[str, Any]], count: int = WORST) -> list[dict[str, Any]]:
    """Return the rows of the largest ratios, the largest first."""
    return sorted(rows, key=lambda row: -row["of_torch"])[:count]


def significant(ratio: float) -> float:
    """Return a ratio with three digits, as small ones are no zeros."""
    return float(f"{ratio:.3g}")


class Cliffs(Benchmark):
    """Drawn cases of all families."""

    summary = "calls on shapes drawn at random, compared with PyTorch; the slowest by ratio"
    method = "graph replays that rotate over inputs; microseconds per call, contenders taking turns"
    required = ("torch",)
    repeats = 5
    quick: ClassVar[Mapping[str, Any]] = {"count": 4, "repeats": 3}

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        parser.add_argument("--seed", type=int, default=SEED, help="default: %(default)s")
        parser.add_argument("--count", type=int, default=40, help="cases of a family (default: %(default)s)")
        parser.add_argument("--family", nargs="+", choices=FAMILIES, default=list(FAMILIES))
        parser.add_argument("--only", type=int, nargs="+", metavar="NUMBER", help="these cases alone")
        parser.add_argument(
            "--most", type=int, default=1 << 26, help="elements of an array, about (default: 2^26)"
        )

    def head(self) -> dict[str, Any]:
        """Return what the cases are drawn from."""
        return {"seed": self.options.seed, "count": self.options.count}

    def cases(self) -> Iterator[Case]:
        """Yield the cases, family by family."""
        self.pool = Pool(self.torch)
        numbers = range(self.options.count) if self.options.only is None else self.options.only
        for name in self.options.family:
            for number in numbers:
                yield FAMILIES[name].case(self.options.seed, number, self.options.most)

    def inputs(self, case: Case) -> Prepared:
        """Return the case with its inputs."""
        return FAMILIES[case.family].prepare(self.pool, case.parts)

    def contenders(self, case: Case, inputs: Prepared) -> Mapping[str, Callable[..., Any]]:
        """Return the calls."""
        return inputs.calls

    def check(self, case: Case, inputs: Prepared, contenders: Mapping[str, Callable[..., Any]]) -> None:
        """Raise WrongResultError if the result of the first input is wrong."""
        if not (found := inputs.error()) <= 1:
            text = FAMILIES[case.family].text(case.parts)
            raise WrongResultError(f"{text}: {found:.3g} of the error allowed; {case.command()}")

    def launches(self, case: Case, inputs: Prepared) -> Mapping[str, int]:
        """Return a rotation over the inputs, or a few calls where there are few inputs or calls are slow."""
        most = max(len(inputs), LAUNCHES)
        return {
            name: max(1, min(most, int(MAX_GRAPH_MS / milliseconds)))
            for name, milliseconds in self.single_ms.items()
        }

    def turns(self) -> Sequence[int]:
        """Return the turns; one if a call is slow."""
        return [1] if max(self.single_ms.values()) > SLOW_MS else super().turns()

    def measure(self, case: Case, inputs: Prepared, contenders: Mapping[str, Callable[..., Any]]) -> Times:
        """Return times of graph replays; single calls are timed first, as some of PyTorch take 0.5 s."""
        self.single_ms = {name: self._single_ms(call) for name, call in contenders.items()}
        return super().measure(case, inputs, contenders)

    def _single_ms(self, call: Callable[[int], Any]) -> float:
        """Return the milliseconds of the second call."""
        call(0)
        start, stop = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call(0)
        stop.record()
        stop.synchronize()
        return float(start.elapsed_time(stop))

    def run_case(self, case: Case) -> list[dict[str, Any]]:
        """Return the row of a case; memory goes back before the next one."""
        rows = super().run_case(case)
        self.torch.cuda.empty_cache()
        return rows

    def rows(self, case: Case, inputs: Prepared, times: Any) -> Iterable[dict[str, Any]]:
        """Return a row: the case, its times, and the ratio."""
        us = {name: summarize_times(taken, 2) for name, taken in times.items()}
        medians = {name: statistics.median(taken) for name, taken in times.items()}
        row: dict[str, Any] = {
            "family": case.family,
            "number": case.number,
            "case": FAMILIES[case.family].text(case.parts),
            "us": us,
            "of_torch": significant(medians["gpureduce"] / medians["torch"]),
        }
        if "plain" in medians:
            row["of_plain"] = significant(medians["gpureduce"] / medians["plain"])
        return [row]

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        us = "  ".join(f"{name} {times['median']:.2f}" for name, times in row["us"].items())
        return f"{row['of_torch']:7.3f}  {row['family']} {row['number']}: {row['case']}  {us}"

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return the ratios of each family, and the slowest cases as commands."""
        by_family: dict[str, list[dict[str, Any]]] = {}
        for row in record["rows"]:
            by_family.setdefault(row["family"], []).append(row)
        lines = (
            [
                name,
                str(len(rows)),
                f"{statistics.geometric_mean(row['of_torch'] for row in rows):.2f}",
                str(sum(row["of_torch"] > BOUND for row in rows)),
                f"{max(row['of_torch'] for row in rows):.2f}",
            ]
            for name, rows in by_family.items()
        )
        heads = ["family", "cases", "geometric mean of PyTorch's time", f"above {BOUND}", "largest"]
        slowest = (
            [
                f"{row['of_torch']:.2f}",
                f"{row['us']['gpureduce']['median']:.1f}",
                row["case"],
                f"`--family {row['family']} --seed {record['seed']} --only {row['number']}`",
            ]
            for row in worst(record["rows"])
        )
        head = f"Seed {record['seed']}: {markdown.source(record, 'torch')}: {record['method']}."
        parts = [head, "", *markdown.table(heads, "lr", lines), ""]
        parts += markdown.table(["of PyTorch's time", "us", "case", "options of `cliffs`"], "rrll", slowest)
        return "\n".join(parts)


BENCHMARK = Cliffs
