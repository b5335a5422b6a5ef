"""The sweep over layouts as Markdown, and which of its rows miss a bound."""

from __future__ import annotations

import math
import statistics

MOST_OF_TORCH = 1.05  # of PyTorch's time
LEAST_OF_READ = 0.75  # of the bandwidth at which 1 GiB is summed up, or as many bytes
LARGE = 16 << 20  # bytes touched from which on bandwidth is asked for


def slower(row: dict) -> bool:
    """Whether PyTorch is faster by more than is let pass."""
    return row["of_torch"] > MOST_OF_TORCH


def is_large(row: dict) -> bool:
    """Whether bandwidth is asked for."""
    return row["touched"] >= LARGE


def of_read(row: dict, results: dict) -> float:
    """Return the bandwidth over that at which 1 GiB is read."""
    return row["gb_per_s"] / results["read_gb_per_s"]


def of_flat(row: dict) -> float:
    """Return the bandwidth over that at which as many bytes are summed up, of a large row."""
    return row["flat_us"] / row["us"]["median"]


def misses(results: dict) -> list[dict]:
    """Return the rows that miss a bound."""
    return [
        row
        for row in results["rows"]
        if slower(row) or (is_large(row) and of_read(row, results) < LEAST_OF_READ)
    ]


def _numbers(values: list[int]) -> str:
    return ", ".join(f"{value:,}".replace(",", " ") for value in values)


def _line(row: dict, results: dict) -> str:
    cells = [
        f"{row['op']} of {row['dtype']}",
        _numbers(row["shape"]),
        _numbers(row["strides"]),
        _numbers(row["axes"]),
        f"{row['touched'] / 2**20:,.1f}",
        f"{row['us']['median']:.1f}",
        f"{row['torch_us']['median']:.1f}",
        f"{row['of_torch']:.2f}",
        f"{of_read(row, results):.0%}",
        f"{of_flat(row):.0%}" if "flat_us" in row else "",
        f"`{row['kernels']}`",
    ]
    return f"| {' | '.join(cells)} |"


def _summary(name: str, rows: list[dict], results: dict) -> str:
    large = [row for row in rows if is_large(row)]
    reached = sum(of_read(row, results) >= LEAST_OF_READ for row in large)
    middle = math.exp(statistics.fmean(math.log(row["of_torch"]) for row in rows))
    worst = max(row["of_torch"] for row in rows)
    timed = [row for row in large if "flat_us" in row]
    near = sum(of_flat(row) >= LEAST_OF_READ for row in timed)
    shares = f"{reached} of {len(large)} | " if large else " | "
    shares += f"{near} of {len(timed)}" if timed else ""
    return f"| {name} | {len(rows)} | {middle:.2f} | {worst:.2f} | {sum(map(slower, rows))} | {shares} |"


def table(results: dict) -> str:
    """Return a summary, the layouts with known cliffs, and all that miss a bound."""
    rows = results["rows"]
    head = "| | shape | strides | axes | MiB | us | PyTorch us | of PyTorch | of read | of flat | launches |"
    rule = "|---|---|---|---|--:|--:|--:|--:|--:|--:|---|"
    lines = [
        f"{results['device']}, CUDA {results['toolkit']}, driver for CUDA {results['driver_cuda']}, PyTorch"
        f" {results['torch']}, {results['date']}: {results['method']}. 1 GiB is read at"
        f" {results['read_gb_per_s']:,.0f} GB/s.",
        "",
        "| | layouts | of PyTorch, mean | worst | above 1.05 | 75 % of read, from 16 MiB | 75 % of flat |",
        "|---|--:|--:|--:|--:|--:|--:|",
        _summary("all", rows, results),
    ]
    for key in ("dtype", "op"):
        for name in dict.fromkeys(row[key] for row in rows):
            lines.append(_summary(name, [row for row in rows if row[key] == name], results))
    lines += ["", "The layouts whose cliffs were known:", "", head, rule]
    lines += [_line(row, results) for row in rows if row["known"]]
    lines += ["", "Those that miss a bound:", "", head, rule]
    lines += [_line(row, results) for row in misses(results)]
    return "\n".join(lines)
