"""Markdown tables of results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.harness.libraries import LABELS

_RULES = {"l": "---", "r": "--:"}


def table(heads: Sequence[str], align: str, rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table; `align` has "l" or "r" for each column, its last letter for all others."""
    letters = align + align[-1] * (len(heads) - len(align))
    lines = [_line(heads), f"|{'|'.join(_RULES[letter] for letter in letters)}|"]
    return lines + [_line(cells) for cells in rows]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def source(record: dict[str, Any], *libraries: str) -> str:
    """Return where, with what and when a record was measured; of the libraries those that were there."""
    cpu = [record["cpu"]] if "cpu" in record else []
    if "cores" in record:
        cpu = [f"{record['cpu']} with {record['cores']} cores"]
    versions = [f"{LABELS[name]} {record[name]}" for name in libraries if record.get(name)]
    cuda = [f"CUDA {record['toolkit']}", f"driver for CUDA {record['driver_cuda']}"]
    return ", ".join([record["device"], *cpu, *cuda, *versions, record["date"]])


def cell(value: Any, form: str = "{}") -> str:
    """Return a value as the text of a cell, which is empty for None."""
    return "" if value is None else form.format(value)


def format_us(us: float) -> str:
    """Return microseconds with four digits, or with all digits before the decimal point."""
    return f"{us:,.4g}" if us < 9999.5 else f"{us:,.0f}"


def median_us(row: dict[str, Any], name: str, form: str | None = None) -> str:
    """Return the median of a contender in a row as the text of a cell, which is empty if it was left out."""
    if name not in row["us"]:
        return ""
    median = row["us"][name]["median"]
    return format_us(median) if form is None else form.format(median)


def power(n: int) -> str:
    """Return a power of two as 2^k, and another number with all its digits."""
    return f"2^{n.bit_length() - 1}" if n & (n - 1) == 0 else f"{n:,}"
