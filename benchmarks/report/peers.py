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
    heads = ["elements", "us", "GB/s", "of the best GB/s", *(_ratio(peer) for peer in peers)]
    return [f"### {op}, {dtype}", "", *markdown.table(heads, "lr", cells)]


def _ratio(peer: str) -> str:
    """Return the head of a column with the time of gpureduce as a share of a library's."""
    return f"time / {markdown.LABELS[peer]}'s"


def grid_table(record: dict[str, Any], op: str) -> list[str]:
    """Return the time of an operator as a share of CUB's: a line for each dtype, a column for each size."""
    rows = [row for row in record["rows"] if row["op"] == op and not row["offset"] and "cub" in row["ratio"]]
    sizes = sorted({row["n"] for row in rows if row["dtype"] != "float32" or op != "sum"})
    ratios = {(row["dtype"], row["n"]): row["ratio"]["cub"] for row in rows}
    cells = (
        [dtype, *(markdown.cell(ratios.get((dtype, n)), "{:.2f}") for n in sizes)]
        for dtype in dict.fromkeys(row["dtype"] for row in rows)
    )
    return [f"### {op}: time / CUB's", "", *markdown.table(["dtype", *map(power, sizes)], "lr", cells)]


def misaligned_line(record: dict[str, Any]) -> str:
    """Return how much longer reductions of arrays take that begin one element off a boundary."""
    times = {
        (row["op"], row["dtype"], row["n"], row["offset"]): row["us"]["gpureduce"]["median"]
        for row in record["rows"]
    }
    cases = [(time, times[op, dtype, n, 0]) for (op, dtype, n, offset), time in times.items() if offset]
    slower = max(100 * (time / aligned - 1) for time, aligned in cases)
    sizes = sorted({n for *_, n, offset in times if offset})
    return (
        f"An array that begins one element after a 16-byte boundary takes at most {slower:.0f} % longer than"
        f" an aligned one, in {len(cases)} cases of {power(sizes[0])} to {power(sizes[-1])} elements."
    )


def tables(record: dict[str, Any]) -> str:
    """Return everything: of float32 sums each size, of all operators the time as a share of CUB's.

    A record without misaligned rows is one of a few sizes, of which each operator and dtype has a table.
    """
    head = f"{markdown.source(record, *PEERS)}: {markdown.method(record)}."
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
            [misaligned_line(record)],
        ]
    else:
        parts = [sizes_table(record, op, dtype, (*PEERS, "numpy")) for op, dtype in pairs]
    return "\n\n".join("\n".join(part) for part in [[head], *parts])


def interleaved_tables(record: dict[str, Any]) -> str:
    """Return what reductions take between two kernels of another library."""
    rows = record["rows"]
    peers = [peer for peer in PEERS if peer in rows[0]["us"]]
    head = f"{markdown.source(record, *peers)}: {markdown.method(record)}."
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
    names = [markdown.LABELS[peer] for peer in peers]
    heads = ["elements", "us", "GB/s", *(f"{name}, us" for name in names), *map(_ratio, peers)]
    lines = [f"### {first[0]}, {first[1]}, between two kernels", "", *markdown.table(heads, "lr", cells)]
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
    grid = [
        "### Time / CUB's, between two kernels",
        "",
        *markdown.table(["", *map(power, sizes)], "lr", cells),
    ]
    return "\n\n".join([head, "\n".join(lines), "\n".join(grid)])
