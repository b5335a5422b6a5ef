"""Writes the measured tables of the README from the committed results.

``python -m gpureduce.bench.tables`` rewrites what stands between the markers; with ``--check`` it only
compares, and exits with 1 when the README is not current.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import gpureduce
from gpureduce.bench.environment import RESULTS

END = "<!-- end -->"


def load(name: str) -> dict:
    """Return a committed results file."""
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def ladder_table(results: dict, dtype: str = "float32") -> str:
    """Return the ladder as a Markdown table: time, bandwidth and speed-up of each rung."""
    rows = {row["variant"]: row for row in results["rows"] if row["dtype"] == dtype}
    first = next(iter(rows.values()))
    lines = [
        f"{results['device']}, CUDA {results['toolkit']}, driver for CUDA {results['driver_cuda']},"
        f" {results['date']}: sum of {first['n']:,} {dtype} on the device,"
        f" {first['block_size']} threads a block, all passes.",
        "",
        "| variant | technique | time (us) | GB/s | over v0 | over the rung before |",
        "|---|---|--:|--:|--:|--:|",
    ]
    before = None
    for variant in gpureduce.variants():
        row = rows[variant.name]
        time = row["all_passes_us"]["median"]
        on_ladder = variant.role == "rung"
        step = f"{before / time:.2f}x" if on_ladder and before else ""
        lines.append(
            f"| `{variant.name}` | {variant.title} | {time:.1f} | {row['all_passes_gb_per_s']:,.0f}"
            f" | {first['all_passes_us']['median'] / time:.2f}x | {step} |"
        )
        before = time if on_ladder else before
    return "\n".join(lines)


def accuracy_table(results: dict) -> str:
    """Return the errors of float32 sums as a Markdown table, numpy.sum beside the default and two rungs."""
    columns = ("numpy", "auto", "v0", "v8")
    lines = [
        f"{results['device']}, {results['date']}: {results['method']}.",
        "",
        "| data | n | " + " | ".join(f"`{name}`" for name in columns) + " |",
        "|---|--:|" + "--:|" * len(columns),
    ]
    for row in results["rows"]:
        errors = " | ".join(f"{row['relative_error'][name]:.1e}" for name in columns)
        lines.append(f"| {row['case']} | {row['n']:,} | {errors} |")
    return "\n".join(lines)


def tables() -> dict[str, str]:
    """Return each table under the marker that it stands behind in the README."""
    return {
        "<!-- ladder-table -->": ladder_table(load("ladder_h200.json")),
        "<!-- accuracy-table -->": accuracy_table(load("accuracy_h200.json")),
    }


def replace_between(text: str, begin: str, end: str, middle: str) -> str:
    """Return the text with `middle` between the two markers."""
    head, found, rest = text.partition(begin)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"README has no {begin} ... {end}")
    return f"{head}{begin}\n{middle}\n{end}{tail}"


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m gpureduce.bench.tables", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--readme", default="README.md")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(argv)
    path = Path(options.readme)
    old = path.read_text(encoding="utf-8")
    new = old
    for begin, table in tables().items():
        new = replace_between(new, begin, END, table)
    if options.check:
        if new != old:
            print(f"{path} is not current; run python -m gpureduce.bench.tables")
        return int(new != old)
    path.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
