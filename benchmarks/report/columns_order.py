"""The table of what the order of columns and of strided rows costs that follows from their length alone."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from benchmarks.harness import markdown

# What the rows of a result file call the kinds of layouts that were drawn, and what the table calls them.
KINDS = {
    "aligned": "columns, rows of whole vectors",
    "odd": "columns, other rows",
    "few": "2 to 24 columns",
    "crops": "columns of a part of an array",
    "middle": "middle axis",
    "narrow": "middle axis, 2 to 12 results in a row",
    "strided": "rows with gaps",
    "single": "one row with gaps",
}


def shares(record: Mapping[str, Any]) -> dict[str, list[tuple[float, float]]]:
    """Return, by kind, the shares of the time of the order by the number of results, and the us more."""
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    for row in record["rows"]:
        before, now = row["us"]["by_results"], row["us"]["by_length"]
        found[row["kind"]].append((now / before, now - before))
    return found


def table(record: dict[str, Any]) -> str:
    """Return the median and the largest share of each kind, and how many calls took 1.5 times as long."""
    found = shares(record)
    lines = [[name, *_cells(found[kind])] for kind, name in KINDS.items()]
    lines.append(["all", *_cells([each for pairs in found.values() for each in pairs])])
    heads = ["layout", "calls", "median", "largest", "1.5 and more"]
    drawn = f"{len(record['rows']):,} calls drawn at random. {markdown.source(record)}."
    return "\n".join([drawn, "", *markdown.table(heads, "lrrrr", lines)])


def _cells(pairs: list[tuple[float, float]]) -> list[str]:
    values = [share for share, _ in pairs]
    slow = sum(share >= 1.5 and more > 0.2 for share, more in pairs)
    return [str(len(values)), f"{statistics.median(values):.2f}", f"{max(values):.2f}", str(slow)]
