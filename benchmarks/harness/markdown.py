"""Markdown tables of results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.harness.libraries import LABELS

_RULES = {"l": "---", "r": "--:"}
# Words of methods in committed records, and how benchmarks write them now.
_REWORDED = (
    ("over rotated places", "over rotated inputs"),
    ("microseconds a copy of 2^24 elements or so", "microseconds per copy of about 2^24 elements"),
    (
        "wall clock from the call to a Python float, in loops; medians",
        "median wall-clock time from the call to the Python float, each contender in a loop of its own",
    ),
    ("from the call to its return, medians of", "host time from the call to its return, median of"),
    ("x 2^10", "x has 2^10 elements"),
    (
        "waits with 0.1 s of work queued before the call, in the default stream or another, the longer one",
        "blocking times with 0.1 s of work queued before the call, the longer one of the default stream and"
        " another",
    ),
)


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


def method(record: dict[str, Any]) -> str:
    """Return how a record was measured, in today's words."""
    text = record["method"]
    for old, new in _REWORDED:
        text = text.replace(old, new)
    return text


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
