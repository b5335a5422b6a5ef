"""Tables of group sums before and after changes of their kernels, and of exact sums of segments."""

from __future__ import annotations

from typing import Any

from benchmarks.harness import markdown


def _head(record: dict[str, Any]) -> list[str]:
    return [f"{markdown.source(record, 'torch')}: {record['method']}.", ""]


def partitions_table(record: dict[str, Any]) -> str:
    """Return the times of groups before more of them were put in order of ranges of labels, and after."""
    rows = (
        [
            f"`{row['op']}`",
            f"{row['rows']:,}" + (f" x {row['columns']}" if row["columns"] > 1 else ""),
            f"{row['groups']:,}",
            row["dtype"],
            row["labels"],
            row["values"],
            *(markdown.median_us(row, name) for name in ("before", "gpureduce", "torch")),
        ]
        for row in record["rows"]
    )
    heads = ["operator", "rows", "groups", "dtype", "labels", "values", "before", "after", "PyTorch"]
    return "\n".join(_head(record) + markdown.table(heads, "lrrlllrrr", rows))


def exact_table(record: dict[str, Any]) -> str:
    """Return the times of sums and means of segments, which are exact, and of products, which are not."""
    rows = (
        [
            row["dtype"],
            f"2^{row['elements'].bit_length() - 1}",
            row["lengths"],
            f"{row['segments']:,}",
            *(markdown.median_us(row, name) for name in ("sum", "mean", "prod")),
        ]
        for row in record["rows"]
    )
    heads = ["dtype", "elements", "lengths", "segments", "sum", "mean", "product"]
    return "\n".join(_head(record) + markdown.table(heads, "lrlr", rows))
