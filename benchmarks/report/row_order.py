"""The table of what orders of addition that follow from the length of a row alone would cost."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from benchmarks.harness import markdown

# What was measured: the kernel that was built for it, or today's with another cut.
KERNELS = {
    "tiles": "short rows",
    "pieces": "longer rows",
    "rows": "longer rows, today's kernel",
}
FEW = 64
COLUMNS: dict[str, Callable[[int], bool]] = {
    "1 result": lambda rows: rows == 1,
    f"2 to {FEW}": lambda rows: 1 < rows <= FEW,
    "more": lambda rows: rows > FEW,
}


def table(record: dict[str, Any]) -> str:
    """Return the median and the largest share of today's time, by kernel, operator and dtype."""
    groups: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    for row in record["rows"]:
        us = row["us"]
        share = us["fixed_order"] / us["today"]
        groups.setdefault((row["kernel"], row["op"], row["dtype"]), []).append((row["rows"], share))
    names = {"rootnorm": "norm", "sumnorm": "norm(ord=1)"}
    lines = [
        [
            KERNELS[kernel],
            f"`{names.get(op, op)}`",
            dtype,
            *(
                _cell([share for rows, share in groups[kernel, op, dtype] if of(rows)])
                for of in COLUMNS.values()
            ),
        ]
        for kernel, op, dtype in sorted(groups, key=lambda each: list(KERNELS).index(each[0]))
    ]
    heads = ["order", "operator", "dtype", *COLUMNS]
    return "\n".join([f"{markdown.source(record)}.", "", *markdown.table(heads, "lllrrr", lines)])


def _cell(shares: list[float]) -> str:
    return f"{statistics.median(shares):.2f} ({max(shares):.2f})" if shares else ""
