"""The comparison with other libraries as Markdown."""

from __future__ import annotations

from typing import Any

from benchmarks.harness import markdown
from benchmarks.harness.markdown import power

PEERS = ("cub", "torch", "cupy", "jax")


def best_bandwidth(record: dict[str, Any]) -> float:
    """Return the highest read bandwidth of the run, in GB/s: by reading alone, or by a reduction."""
    floors = [record["floors"]["read_gb_per_s"]] if "floors" in record else []
    return max([*floors, *(row["gb_per_s"] for row in record["rows"])])


def sizes_table(
    record: dict[str, Any], op: str, dtype: str, candidates: tuple[str, ...] = PEERS
) -> list[str]:
    """Return one operator and dtype, a line for each size, and a column for each library that has times."""
    best = best_bandwidth(record)
    rows = [row for row in record["rows"] if (row["op"], row["dtype"], row["offset"]) == (op, dtype, 0)]
    peers = [peer for peer in candidates if any(peer in row["us"] for row in rows)]
    cells = (
        [
            power(row["n"]),
            markdown.median_us(row, "gpureduce", "{:.2f}"),
            f"{row['gb_per_s']:,.0f}",
            f"{row['gb_per_s'] / best:.1%}",
            *(markdown.cell(row["ratio"].get(peer), "{:.2f}") for peer in peers),
        ]
        for row in rows
    )
    heads = ["n", "us", "GB/s", "of the best", *(f"over {peer}" for peer in peers)]
    return [f"### {op}, {dtype}", "", *markdown.table(heads, "lr", cells)]


def grid_table(record: dict[str, Any], op: str) -> list[str]:
    """Return the time over CUB's of an operator: a line for each dtype, a column for each size."""
    rows = [row for row in record["rows"] if row["op"] == op and not row["offset"] and "cub" in row["ratio"]]
    sizes = sorted({row["n"] for row in rows if row["dtype"] != "float32" or op != "sum"})
    ratios = {(row["dtype"], row["n"]): row["ratio"]["cub"] for row in rows}
    cells = (
        [dtype, *(markdown.cell(ratios.get((dtype, n)), "{:.2f}") for n in sizes)]
        for dtype in dict.fromkeys(row["dtype"] for row in rows)
    )
    return [f"### {op}: time over CUB's", "", *markdown.table(["dtype", *map(power, sizes)], "lr", cells)]


def misaligned_table(record: dict[str, Any]) -> list[str]:
    """Return the time one element off a boundary over the aligned one."""
    times = {
        (row["op"], row["dtype"], row["n"], row["offset"]): row["us"]["gpureduce"]["median"]
        for row in record["rows"]
    }
    sizes = sorted({n for *_, n, offset in times if offset})
    rows = []
    for op, dtype in dict.fromkeys((op, dtype) for op, dtype, _, offset in times if offset):
        over = [
            times[op, dtype, n, 1] / times[op, dtype, n, 0] if (op, dtype, n, 1) in times else None
            for n in sizes
        ]
        rows.append([f"{op} {dtype}", *(markdown.cell(ratio, "{:.2f}") for ratio in over)])
    title = "### One element off a boundary: time over the aligned one"
    return [title, "", *markdown.table(["", *map(power, sizes)], "lr", rows)]


def tables(record: dict[str, Any]) -> str:
    """Return everything: of float32 sums each size, of all operators the time over CUB's.

    A record without misaligned rows is one of a few sizes, of which each operator and dtype has a table.
    """
    head = f"{markdown.source(record, *PEERS)}: {record['method']}."
    if "floors" in record:
        floors = record["floors"]
        head += (
            f" An empty kernel takes {floors['empty_us']:.2f} us; one that only reads reaches"
            f" {floors['read_gb_per_s']:,.0f} GB/s."
        )
    pairs = dict.fromkeys((row["op"], row["dtype"]) for row in record["rows"])
    if any(row["offset"] for row in record["rows"]):
        parts = [
            sizes_table(record, "sum", "float32"),
            *(grid_table(record, op) for op in dict.fromkeys(op for op, _ in pairs)),
            misaligned_table(record),
        ]
    else:
        parts = [sizes_table(record, op, dtype, (*PEERS, "numpy")) for op, dtype in pairs]
    return "\n\n".join("\n".join(part) for part in [[head], *parts])


def interleaved_tables(record: dict[str, Any]) -> str:
    """Return what reductions take between two kernels of another library."""
    rows = record["rows"]
    peers = [peer for peer in PEERS if peer in rows[0]["us"]]
    head = f"{markdown.source(record, *peers)}: {record['method']}."
    first = rows[0]["op"], rows[0]["dtype"]
    cells = (
        [
            power(row["n"]),
            markdown.median_us(row, "gpureduce", "{:.2f}"),
            f"{row['gb_per_s']:,.0f}",
            *(markdown.median_us(row, peer, "{:.2f}") for peer in peers),
            *(markdown.cell(row["ratio"].get(peer), "{:.2f}") for peer in peers),
        ]
        for row in rows
        if (row["op"], row["dtype"]) == first
    )
    heads = ["n", "us", "GB/s", *(f"{peer}, us" for peer in peers), *(f"over {peer}" for peer in peers)]
    lines = [f"### {first[0]}, {first[1]}, interleaved", "", *markdown.table(heads, "lr", cells)]
    ratios = {
        (row["op"], row["dtype"], row["n"]): row["ratio"]["cub"] for row in rows if "cub" in row["ratio"]
    }
    if not ratios:
        return "\n\n".join([head, "\n".join(lines)])
    sizes = sorted({n for *_, n in ratios})
    cells = (
        [f"{op} {dtype}", *(markdown.cell(ratios.get((op, dtype, n)), "{:.2f}") for n in sizes)]
        for op, dtype in dict.fromkeys((op, dtype) for op, dtype, _ in ratios)
    )
    grid = ["### Interleaved: time over CUB's", "", *markdown.table(["", *map(power, sizes)], "lr", cells)]
    return "\n\n".join([head, "\n".join(lines), "\n".join(grid)])
