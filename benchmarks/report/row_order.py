"""The table of what the order of addition that follows from the length of a row alone costs."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.harness import markdown

FEW = 64
BYTES = {"float16": 2, "float32": 4, "float64": 8}
NAMES = {"rootnorm": "norm"}


def _begins_between_vectors(row: Mapping[str, Any]) -> bool:
    item = BYTES[row["dtype"]]
    return (row["start"] * item) % 16 > 0 or (row["length"] * item) % 16 > 0


COLUMNS: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "1 row": lambda row: row["rows"] == 1,
    f"2 to {FEW} rows": lambda row: 1 < row["rows"] <= FEW,
    "more rows, aligned": lambda row: row["rows"] > FEW and not _begins_between_vectors(row),
    "more rows, not aligned": lambda row: row["rows"] > FEW and _begins_between_vectors(row),
}


def shares(record: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, list[float]]]:
    """Return the shares of the time of the order by the number of rows, by operator and dtype, and column."""
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in record["rows"]:
        columns = found.setdefault((row["op"], row["dtype"]), {name: [] for name in COLUMNS})
        for name, of in COLUMNS.items():
            if of(row):
                columns[name].append(row["us"]["by_length"] / row["us"]["by_rows"])
    return found


def table(record: dict[str, Any]) -> str:
    """Return the median and the largest share, by operator and dtype."""
    lines = [
        [f"`{NAMES.get(op, op)}`", dtype, *(_cell(values) for values in columns.values())]
        for (op, dtype), columns in shares(record).items()
    ]
    heads = ["operator", "dtype", *COLUMNS]
    return "\n".join([f"{markdown.source(record)}.", "", *markdown.table(heads, "llrrrr", lines)])


def _cell(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({max(values):.2f})"
