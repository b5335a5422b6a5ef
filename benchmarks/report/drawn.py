"""Tables of drawn matrix products and convolutions before and after changes of their kernels."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from benchmarks.harness import markdown
from benchmarks.suite.cliffs import BOUND, worst

MOST = 1.3  # of PyTorch's time
PRODUCTS = ("float32 ieee", "float32 tf32", "float16 ieee", "bfloat16 ieee", "float64 ieee")
CONVOLUTIONS = tuple(
    f"{layout}, {kind}"
    for kind in ("float32 ieee", "float32 tf32", "float16 ieee")
    for layout in ("NHWC", "NCHW")
)

Row = dict[str, Any]


def pairs(now: list[dict[str, Any]], before: list[dict[str, Any]]) -> list[tuple[int, Row, Row]]:
    """Return the seed and the rows of each case, now and before."""
    found = []
    for record, other in zip(now, before, strict=True):
        old = {row["case"]: row for row in other["rows"]}
        found += [(record["seed"], row, old[row["case"]]) for row in record["rows"]]
    return found


def products_table(now: list[dict[str, Any]], before: list[dict[str, Any]]) -> str:
    """Return the table of matrix products by dtype and precision."""
    kinds = {kind: f") {kind}" for kind in PRODUCTS}
    return _table(now, before, "dtype and precision", kinds)


def convolutions_table(now: list[dict[str, Any]], before: list[dict[str, Any]]) -> str:
    """Return the table of convolutions by layout, dtype and precision."""
    return _table(now, before, "layout, dtype and precision", {kind: f", {kind}" for kind in CONVOLUTIONS})


def _table(
    now: list[dict[str, Any]], before: list[dict[str, Any]], head: str, kinds: Mapping[str, str]
) -> str:
    """Return the ratios to PyTorch's time by kind, and the slowest twenty cases.

    A kind is the name of a line of the table, and what the texts of its cases contain.
    """
    all_pairs = pairs(now, before)
    lines = []
    for kind, text in kinds.items():
        of_kind = [pair for pair in all_pairs if text in pair[1]["case"]]
        ratios = [[old["of_torch"] for _, _, old in of_kind], [row["of_torch"] for _, row, _ in of_kind]]
        lines.append(
            [
                kind,
                str(len(ratios[0])),
                *(f"{statistics.geometric_mean(each):.2f}" for each in ratios),
                *(str(sum(ratio > bound for ratio in each)) for bound in (BOUND, MOST) for each in ratios),
            ]
        )
    seeds = ", ".join(str(record["seed"]) for record in now)
    heads = [head, "cases", "geometric mean before", "now"]
    heads += [text for bound in (BOUND, MOST) for text in (f"above {bound} before", "now")]
    parts = [f"Seeds {seeds}: {markdown.source(now[0], 'torch')}: {now[0]['method']}.", ""]
    parts += [*markdown.table(heads, "lr", lines), ""]
    place = {id(row): (seed, old) for seed, row, old in all_pairs}
    slowest = []
    for row in worst([row for _, row, _ in all_pairs]):
        seed, old = place[id(row)]
        times = [f"{each['us']['gpureduce']['median']:.1f}" for each in (old, row)]
        slowest.append([f"{row['of_torch']:.2f}", *times, row["case"], f"{seed}, {row['number']}"])
    heads = ["of PyTorch's time", "us before", "us now", "case", "seed and number"]
    return "\n".join(parts + markdown.table(heads, "rrrll", slowest))
