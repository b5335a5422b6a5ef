"""The table of what the order of rows with gaps costs that follows from their length alone."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from benchmarks.harness import markdown


def shares(record: Mapping[str, Any]) -> dict[str, tuple[list[float], list[float]]]:
    """Return the shares of the time of the order by the number of rows, of one row and more, by dtype."""
    found: dict[str, tuple[list[float], list[float]]] = {}
    for row in record["rows"]:
        of_dtype = found.setdefault(row["dtype"], ([], []))
        of_dtype[row["rows"] > 1].append(row["us"]["by_length"] / row["us"]["by_rows"])
    return found


def table(record: dict[str, Any]) -> str:
    """Return the median and the largest share, by dtype."""
    lines = [
        [dtype, *(f"{statistics.median(each):.2f} ({max(each):.2f})" for each in pair)]
        for dtype, pair in sorted(shares(record).items())
    ]
    heads = ["dtype", "1 row", "more rows"]
    return "\n".join(
        [
            f"{len(record['rows'])} layouts drawn at random. {markdown.source(record)}.",
            "",
            *markdown.table(heads, "lrr", lines),
        ]
    )
