"""The tables of what the order of columns and of strided rows costs that follows from their length alone."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
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
PAIRS = ("vecdot", "average")  # operators of two arrays, which have a table with norms of complex numbers


def shares(rows: Iterable[Mapping[str, Any]]) -> list[tuple[float, float]]:
    """Return the shares of the time of the order by the number of results, and the us more."""
    times = [(row["us"]["by_results"], row["us"]["by_length"]) for row in rows]
    return [(now / before, now - before) for before, now in times]


def table(record: dict[str, Any]) -> str:
    """Return the median and the largest share, and how many calls took 1.5 times as long.

    The first table has a line for each kind of layout, the second one for the operators of pairs and of
    complex numbers.
    """
    rows = record["rows"]
    of_one = [row for row in rows if not _is_in_second(row)]
    lines = [[name, *_cells(row for row in of_one if row["kind"] == kind)] for kind, name in KINDS.items()]
    lines.append(["all", *_cells(of_one)])
    of_pairs: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        if _is_in_second(row):
            numbers = "complex" if _is_complex(row) else "floats"
            of_pairs.setdefault((row["op"], numbers), []).append(row)
    others = [[f"`{name}`", numbers, *_cells(found)] for (name, numbers), found in sorted(of_pairs.items())]
    heads = ["calls", "median", "nine of ten up to", "largest", "1.5 and more"]
    drawn = f"{len(rows):,} calls drawn at random. {markdown.source(record)}."
    return "\n".join(
        [
            drawn,
            "",
            *markdown.table(["layout", *heads], "lrrrrr", lines),
            "",
            *markdown.table(["operator", "of", *heads], "llrrrrr", others),
        ]
    )


def _is_complex(row: Mapping[str, Any]) -> bool:
    return row["dtype"].startswith("complex")


def _is_in_second(row: Mapping[str, Any]) -> bool:
    return row["op"] in PAIRS or _is_complex(row)


def _cells(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    found = sorted(shares(rows))
    values = [share for share, _ in found]
    slow = sum(share >= 1.5 and more > 0.2 for share, more in found)
    most = values[len(values) * 9 // 10]
    return [str(len(values)), *(f"{x:.2f}" for x in (statistics.median(values), most, values[-1])), str(slow)]
