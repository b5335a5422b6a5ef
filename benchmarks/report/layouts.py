"""The sweep over layouts as Markdown, and the rows that miss a bound."""

from __future__ import annotations

import math
import statistics

MAX_OF_TORCH = 1.05  # of PyTorch's time
MIN_OF_READ = 0.75  # of the bandwidth of a sum of 1 GiB, or of a sum of the same number of bytes
LARGE = 16 << 20  # bytes read from which on the bandwidth has a bound


def slower(row: dict) -> bool:
    """Whether PyTorch is faster by more than the bound allows."""
    return row["of_torch"] > MAX_OF_TORCH


def is_large(row: dict) -> bool:
    """Whether the bandwidth has a bound."""
    return row["touched"] >= LARGE


def of_read(row: dict, results: dict) -> float:
    """Return the bandwidth divided by the bandwidth of a sum of 1 GiB."""
    return row["gb_per_s"] / results["read_gb_per_s"]


def of_flat(row: dict) -> float:
    """Return the bandwidth of a large row divided by the bandwidth of a full sum of the same size."""
    return row["flat_us"] / row["us"]["median"]


def misses(results: dict) -> list[dict]:
    """Return the rows that miss a bound."""
    return [
        row
        for row in results["rows"]
        if slower(row) or (is_large(row) and of_read(row, results) < MIN_OF_READ)
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
    reached = sum(of_read(row, results) >= MIN_OF_READ for row in large)
    middle = math.exp(statistics.fmean(math.log(row["of_torch"]) for row in rows))
    worst = max(row["of_torch"] for row in rows)
    timed = [row for row in large if "flat_us" in row]
    near = sum(of_flat(row) >= MIN_OF_READ for row in timed)
    shares = f"{reached} of {len(large)} | " if large else " | "
    shares += f"{near} of {len(timed)}" if timed else ""
    return f"| {name} | {len(rows)} | {middle:.2f} | {worst:.2f} | {sum(map(slower, rows))} | {shares} |"


def table(results: dict) -> str:
    """Return a summary, the layouts with known cliffs, and all that miss a bound."""
    rows = results["rows"]
    head = (
        "| | shape | strides | axes | MiB | us | PyTorch us | of PyTorch's time | of read | of full sum"
        " | launches |"
    )
    rule = "|---|---|---|---|--:|--:|--:|--:|--:|--:|---|"
    lines = [
        f"{results['device']}, CUDA {results['toolkit']}, driver for CUDA {results['driver_cuda']}, PyTorch"
        f" {results['torch']}, {results['date']}: {results['method']}. A sum of 1 GiB reads"
        f" {results['read_gb_per_s']:,.0f} GB/s.",
        "",
        "| | layouts | of PyTorch's time, geometric mean | worst | above 1.05 | at 75 % of read, from 16 MiB"
        " | at 75 % of full sum |",
        "|---|--:|--:|--:|--:|--:|--:|",
        _summary("all", rows, results),
    ]
    for key in ("dtype", "op"):
        for name in dict.fromkeys(row[key] for row in rows):
            lines.append(_summary(name, [row for row in rows if row[key] == name], results))
    lines += ["", "Layouts that were known to be slow:", "", head, rule]
    lines += [_line(row, results) for row in rows if row["known"]]
    lines += ["", "Layouts above 1.05 of PyTorch's time, or below 75 % of read:", "", head, rule]
    lines += [_line(row, results) for row in misses(results)]
    return "\n".join(lines)
