"""The results beside the peers as Markdown."""

from __future__ import annotations

PEERS = ("cub", "torch", "cupy", "jax")


def power(n: int) -> str:
    """Return a power of two as 2^k."""
    return f"2^{n.bit_length() - 1}"


def best_bandwidth(record: dict) -> float:
    """Return the highest read bandwidth of the run, in GB/s: by reading alone, or by a reduction."""
    return max(record["floors"]["read_gb_per_s"], *(row["gb_per_s"] for row in record["rows"]))


def sizes_table(record: dict, op: str, dtype: str) -> list[str]:
    """Return one operator and dtype, a line for each size."""
    best = best_bandwidth(record)
    lines = [
        f"### {op}, {dtype}",
        "",
        "| n | us | GB/s | of the best | " + " | ".join(f"over {peer}" for peer in PEERS) + " |",
        "|---|--:|--:|--:|" + "--:|" * len(PEERS),
    ]
    for row in record["rows"]:
        if (row["op"], row["dtype"], row["offset"]) == (op, dtype, 0):
            ratios = " | ".join(f"{row['ratio'][peer]:.2f}" if peer in row["ratio"] else "" for peer in PEERS)
            lines.append(
                f"| {power(row['n'])} | {row['us']['gpureduce']['median']:.2f} | {row['gb_per_s']:,.0f}"
                f" | {row['gb_per_s'] / best:.1%} | {ratios} |"
            )
    return lines


def grid_table(record: dict, op: str) -> list[str]:
    """Return the time over CUB's of an operator: a line for each dtype, a column for each size."""
    rows = [row for row in record["rows"] if row["op"] == op and not row["offset"]]
    sizes = sorted({row["n"] for row in rows if row["dtype"] != "float32" or op != "sum"})
    ratios = {(row["dtype"], row["n"]): row["ratio"]["cub"] for row in rows}
    lines = [
        f"### {op}: time over CUB's",
        "",
        "| dtype | " + " | ".join(map(power, sizes)) + " |",
        "|---|" + "--:|" * len(sizes),
    ]
    for dtype in dict.fromkeys(row["dtype"] for row in rows):
        cells = (f"{ratios[dtype, n]:.2f}" if (dtype, n) in ratios else "" for n in sizes)
        lines.append(f"| {dtype} | " + " | ".join(cells) + " |")
    return lines


def misaligned_table(record: dict) -> list[str]:
    """Return the time one element off a boundary over the aligned one."""
    times = {
        (row["op"], row["dtype"], row["n"], row["offset"]): row["us"]["gpureduce"]["median"]
        for row in record["rows"]
    }
    sizes = sorted({n for *_, n, offset in times if offset})
    lines = [
        "### One element off a boundary: time over the aligned one",
        "",
        "| | " + " | ".join(map(power, sizes)) + " |",
        "|---|" + "--:|" * len(sizes),
    ]
    for op, dtype in dict.fromkeys((op, dtype) for op, dtype, _, offset in times if offset):
        cells = (
            f"{times[op, dtype, n, 1] / times[op, dtype, n, 0]:.2f}" if (op, dtype, n, 1) in times else ""
            for n in sizes
        )
        lines.append(f"| {op} {dtype} | " + " | ".join(cells) + " |")
    return lines


def tables(record: dict) -> str:
    """Return everything."""
    floors = record["floors"]
    versions = ", ".join(f"{name} {record[name]}" for name in PEERS if name in record)
    parts = [
        [
            f"{record['device']}, CUDA {record['toolkit']}, driver for CUDA {record['driver_cuda']},"
            f" {versions}, {record['date']}: {record['method']}. An empty kernel takes"
            f" {floors['empty_us']:.2f} us; one that only reads reaches {floors['read_gb_per_s']:,.0f} GB/s."
        ],
        sizes_table(record, "sum", "float32"),
        *(grid_table(record, op) for op in dict.fromkeys(row["op"] for row in record["rows"])),
        misaligned_table(record),
    ]
    return "\n\n".join("\n".join(part) for part in parts)


def lone_tables(record: dict) -> str:
    """Return what reductions take between two kernels of another library."""
    peers = [peer for peer in PEERS if peer in record["rows"][0]["us"]]
    versions = ", ".join(f"{name} {record[name]}" for name in peers if name in record)
    head = (
        f"{record['device']}, CUDA {record['toolkit']}, driver for CUDA {record['driver_cuda']}, {versions},"
        f" {record['date']}: {record['method']}."
    )
    first = record["rows"][0]["op"], record["rows"][0]["dtype"]
    columns = ["us", "GB/s", *(f"{peer}, us" for peer in peers), *(f"over {peer}" for peer in peers)]
    lines = [
        f"### {first[0]}, {first[1]}, alone",
        "",
        "| n | " + " | ".join(columns) + " |",
        "|---|" + "--:|" * len(columns),
    ]
    for row in record["rows"]:
        if (row["op"], row["dtype"]) == first:
            cells = [f"{row['us']['gpureduce']['median']:.2f}", f"{row['gb_per_s']:,.0f}"]
            cells += [f"{row['us'][peer]['median']:.2f}" for peer in peers]
            cells += [f"{row['ratio'][peer]:.2f}" for peer in peers]
            lines.append(f"| {power(row['n'])} | " + " | ".join(cells) + " |")
    ratios = {(row["op"], row["dtype"], row["n"]): row["ratio"]["cub"] for row in record["rows"]}
    sizes = sorted({n for *_, n in ratios})
    grid = [
        "### Alone: time over CUB's",
        "",
        "| | " + " | ".join(map(power, sizes)) + " |",
        "|---|" + "--:|" * len(sizes),
    ]
    for op, dtype in dict.fromkeys((op, dtype) for op, dtype, _ in ratios):
        cells = [f"{ratios[op, dtype, n]:.2f}" if (op, dtype, n) in ratios else "" for n in sizes]
        grid.append(f"| {op} {dtype} | " + " | ".join(cells) + " |")
    return "\n\n".join([head, "\n".join(lines), "\n".join(grid)])
