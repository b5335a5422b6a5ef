"""Tables of calls on shapes drawn at random, before and after the kernels for them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from benchmarks.harness import markdown
from benchmarks.report.drawn_reasons import reason_of, slower_reason_of
from benchmarks.suite.cliffs import BOUND, FAMILIES, worst

HIGH = 1.3  # of PyTorch's time
SLOWER = 1.02  # of the time before, and
SLOWER_US = 0.2  # microseconds longer
LISTED = 20  # cases that are slower than before
COMMIT = "84022851"  # of the state before

Row = dict[str, Any]
Parts = dict[str, Any]


class Kind(NamedTuple):
    """A line of the table of families.

    Attributes
    ----------
    name : str
        What the table says.
    family : str
        The family of its cases.
    target : float or None
        The geometric mean that is aimed at, of PyTorch's time.
    has : callable
        Whether a case is of this kind, given its parts.
    """

    name: str
    family: str
    target: float | None = None
    has: Callable[[Parts], bool] = lambda parts: True


def _of_kind(*kind: str) -> Callable[[Parts], bool]:
    return lambda parts: tuple(parts["kind"]) == kind


KINDS = (
    Kind("axes", "axes", 0.55),
    Kind("positions", "positions"),
    Kind("whole", "whole"),
    Kind("scans", "scans", 0.45),
    Kind("order", "order", 0.40),
    Kind("segments", "segments"),
    Kind("groups", "groups"),
    Kind("exact", "exact"),
    Kind("products, float32", "products", 0.95, _of_kind("float32", "ieee")),
    Kind("products, TF32", "products", 0.95, _of_kind("float32", "tf32")),
    Kind("products, float16", "products", 1.0, _of_kind("float16", "ieee")),
    Kind("products, bfloat16", "products", 1.0, _of_kind("bfloat16", "ieee")),
    Kind("products, float64", "products", 1.0, _of_kind("float64", "ieee")),
    Kind("convolutions, float32", "convolutions", 0.80, _of_kind("float32", "ieee")),
    Kind("convolutions, TF32", "convolutions", 0.80, _of_kind("float32", "tf32")),
    Kind("convolutions, float16", "convolutions", 0.80, _of_kind("float16", "ieee")),
)
ALL = "all"  # the last line


class Drawn(NamedTuple):
    """A case, with its rows before and now."""

    seed: int
    parts: Parts
    before: Row
    now: Row

    @property
    def us(self) -> float:
        """Microseconds now."""
        return float(self.now["us"]["gpureduce"]["median"])

    @property
    def us_before(self) -> float:
        """Microseconds before."""
        return float(self.before["us"]["gpureduce"]["median"])

    @property
    def ratio_before(self) -> float:
        """The time before, of PyTorch's time now."""
        return self.us_before / float(self.now["us"]["torch"]["median"])

    @property
    def is_slower(self) -> bool:
        """Whether the case takes longer than before."""
        return self.us > SLOWER * self.us_before and self.us > self.us_before + SLOWER_US


def cases(now: Iterable[dict[str, Any]], before: Iterable[dict[str, Any]]) -> list[Drawn]:
    """Return the cases of records of the same seeds."""
    found = []
    for record, other in zip(now, before, strict=True):
        old = {(row["family"], row["number"]): row for row in other["rows"]}
        for row in record["rows"]:
            parts = FAMILIES[row["family"]].case(record["seed"], row["number"]).parts
            found.append(Drawn(record["seed"], parts, old[row["family"], row["number"]], row))
    return found


def of_kind(kind: Kind, drawn: Iterable[Drawn]) -> list[Drawn]:
    """Return the cases of a line of the table of families."""
    return [each for each in drawn if each.now["family"] == kind.family and kind.has(each.parts)]


def families_table(now: list[dict[str, Any]], before: list[dict[str, Any]]) -> str:
    """Return the ratios to PyTorch's time by family, of products and convolutions by dtype as well."""
    drawn = cases(now, before)
    lines = []
    for kind in (*KINDS, Kind(ALL, ALL)):
        rows = drawn if kind.family == ALL else of_kind(kind, drawn)
        ratios = [[each.ratio_before for each in rows], [each.now["of_torch"] for each in rows]]
        counts = [sum(ratio > bound for ratio in each) for bound in (BOUND, HIGH) for each in ratios]
        lines.append(
            [
                kind.name,
                str(len(rows)),
                markdown.cell(kind.target, "{:.2f}"),
                *(f"{statistics.geometric_mean(each):.2f}" for each in ratios),
                *map(str, counts),
                f"{max(ratios[1]):.2f}",
            ]
        )
    heads = ["family", "cases", "target", "geometric mean before", "now"]
    heads += [text for bound in (BOUND, HIGH) for text in (f"above {bound} before", "now")]
    seeds = ", ".join(str(record["seed"]) for record in now)
    parts = [f"Seeds {seeds}: {markdown.source(now[0], 'torch')}: {now[0]['method']}.", ""]
    return "\n".join(parts + markdown.table([*heads, "largest now"], "lr", lines))


def _options(each: Drawn) -> str:
    return f"`--family {each.now['family']} --seed {each.seed} --only {each.now['number']}`"


def worst_table(now: dict[str, Any], before: dict[str, Any]) -> str:
    """Return the slowest twenty cases of a seed, each with its reason."""
    drawn = {(each.now["family"], each.now["number"]): each for each in cases([now], [before])}
    lines = []
    for row in worst(now["rows"]):
        each = drawn[row["family"], row["number"]]
        lines.append(
            [
                f"{row['of_torch']:.2f}",
                f"{each.us_before:.1f}",
                f"{each.us:.1f}",
                row["case"],
                reason_of(row["family"], each.parts, each.us),
                _options(each),
            ]
        )
    heads = ["of PyTorch's time", "us before", "us now", "case", "reason", "options of `cliffs`"]
    return "\n".join(markdown.table(heads, "rrrl", lines))


def slower_table(now: list[dict[str, Any]], before: list[dict[str, Any]]) -> str:
    """Return how many cases of each family take longer than before, and those that take longest by ratio."""
    slower = [each for each in cases(now, before) if each.is_slower]
    counts = ", ".join(
        f"{sum(each.now['family'] == family for each in slower)} of {family}"
        for family in FAMILIES
        if any(each.now["family"] == family for each in slower)
    )
    slower.sort(key=lambda each: each.us_before / each.us)
    lines = [
        [
            f"{each.us / each.us_before:.2f}",
            f"{each.us_before:.1f}",
            f"{each.us:.1f}",
            f"{each.now['of_torch']:.2f}",
            each.now["case"],
            slower_reason_of(each.now["family"], each.parts, each.us),
        ]
        for each in slower[:LISTED]
    ]
    heads = ["of the time before", "us before", "us now", "of PyTorch's time", "case", "reason"]
    head = f"{len(slower)} of {sum(len(record['rows']) for record in now)} cases: {counts}."
    return "\n".join([head, "", *markdown.table(heads, "rrrrl", lines)])
