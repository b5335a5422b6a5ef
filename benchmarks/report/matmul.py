"""The results of matrix multiplications as Markdown, and as a chart."""

from __future__ import annotations

from benchmarks.report import svg as chart
from gpureduce._bench.groups import before
from gpureduce._bench.labels import matmul_labels
from gpureduce._bench.matmul_timing import PUBLISHED, VENDOR
from gpureduce._device.variants import AUTO, variants

FIRST = "m1"  # the first rung that was published
VENDORS = (None, "ieee", "tf32")  # the precisions in which cuBLAS is timed


def _where(record: dict) -> str:
    return (
        f"{record['device']}, CUDA {record['toolkit']}, driver for CUDA {record['driver_cuda']},"
        f" {record['date']}"
    )


def _size(row: dict) -> tuple[int, int, int]:
    return row["m"], row["n"], row["k"]


def _what(row: dict) -> tuple[str, str | None]:
    return row["dtype"], row.get("precision")


def _is_plain(row: dict) -> bool:
    return row["dtype"] == "float32" and row.get("precision") in (None, "ieee")


def refuse_wrong(record: dict) -> None:
    """Raise ValueError for a row whose results were wrong, so that its time counts for nothing."""
    for row in record["rows"]:
        if not row["error"] < 0.01:
            size = " x ".join(map(str, _size(row)))
            what = f"{row['variant']} of {size} {row['dtype']}"
            raise ValueError(f"{what}: its error is {row['error']}; measure again, or take the row out")


def ladder_rows(record: dict) -> list[dict]:
    """Return the rows at the published size: all float32 rows, then the variants that only other kinds have.

    The default and cuBLAS follow new rungs.
    """
    order = list(matmul_labels())
    rows = [row for row in record["rows"] if _size(row) == PUBLISHED and row["variant"] in order]
    shown = {row["variant"] for row in rows if _is_plain(row)} - {AUTO, VENDOR}
    new = {_what(row) for row in rows if row["variant"] not in shown | {AUTO, VENDOR}}
    rows = [
        row
        for row in rows
        if _is_plain(row)
        or (
            _what(row) in new
            and row["variant"] not in shown
            and (row["variant"] != VENDOR or row.get("precision") in VENDORS)
        )
    ]
    kinds = list(dict.fromkeys(_what(row) for row in sorted(rows, key=lambda row: not _is_plain(row))))
    return sorted(rows, key=lambda row: (kinds.index(_what(row)), order.index(row["variant"])))


def _cell(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)


def _title(row: dict) -> str:
    dtype, precision = _what(row)
    others = [precision] if precision not in (None, "ieee") else []
    others = [dtype, *others] if dtype != "float32" else others
    return matmul_labels()[row["variant"]] + (f" ({', '.join(others)})" if others else "")


def ladder(record: dict, published: dict) -> str:
    """Return the ladder at the published size, with the published figures."""
    m, n, k = PUBLISHED
    refuse_wrong(record)
    theirs = {row["variant"]: row["ms"] for row in published["rows"]}
    rows = ladder_rows(record)
    ours = {row["variant"]: row["us"]["median"] for row in rows if _is_plain(row)}
    lines = [
        chart.picture("matmul", message(record), phone=True),
        "",
        f"{_where(record)}: {m} x {k} times {k} x {n}, float32 unless stated otherwise. *published*: times"
        f" published for {published['device']}. *of cuBLAS's speed*: cuBLAS with the same dtype in the same"
        " run, with TF32 for tf32.",
        "",
        "| variant | technique | time (us) | TFLOP/s | of cuBLAS's speed | over m1 | published (ms)"
        " | published, over m1 |",
        "|---|---|" + "--:|" * 6,
    ]
    for row in rows:
        name, us, plain = row["variant"], row["us"]["median"], _is_plain(row)
        printed = theirs.get(name) if plain else None
        cells = [
            f"`{name}`" if name != VENDOR else "cuBLAS",
            _title(row),
            f"{us:,.1f}",
            f"{row['tflop_per_s']:.2f}",
            _cell(1 / row["of_cublas"] if row["of_cublas"] else None, "{:.0%}"),
            _cell(ours[FIRST] / us if plain and FIRST in ours else None, "{:.2f}x"),
            _cell(printed, "{:.2g}"),
            _cell(theirs[FIRST] / printed if printed else None, "{:.2f}x"),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _best(record: dict) -> tuple[str, dict[str, float]]:
    """Return the fastest rung without tensor cores at the published size, and the times of all variants."""
    us = {row["variant"]: row["us"]["median"] for row in ladder_rows(record) if _is_plain(row)}
    rungs = [variant.name for variant in variants("matmul") if variant.role == "rung" and variant.name in us]
    return min(rungs, key=us.__getitem__), us


def message(record: dict) -> str:
    """Return how fast the fastest rung is, compared with the first one and with cuBLAS."""
    best, us = _best(record)
    said = f"{best} is {us[FIRST] / us[best]:.1f}x as fast as the naive {FIRST}"
    return said + (f", and {us[VENDOR] / us[best]:.2f}x as fast as cuBLAS" if VENDOR in us else "")


def roofline_message(record: dict) -> str:
    """Return what share of the peak the fastest rung reaches."""
    best, us = _best(record)
    m, n, k = PUBLISHED
    share = 2 * m * n * k / us[best] / 1e6 / record["ffma_tflop_per_s"]
    return f"{best} reaches {share:.0%} of the peak of the multiply-add units"


def ladder_chart(record: dict, published: dict, palette: chart.Palette, phone: bool = False) -> str:
    """Return the speed-ups of the rungs over the first that was published, as SVG."""
    theirs = {row["variant"]: row["ms"] for row in published["rows"]}
    rows = ladder_rows(record)
    ours = {row["variant"]: row["us"]["median"] for row in rows if _is_plain(row)}
    rungs = [variant.name for variant in variants("matmul") if variant.role == "rung"]
    shown = [
        (
            name if name != VENDOR else "",
            "cuBLAS" if name == VENDOR else matmul_labels()[name],
            [ours[FIRST] / ours[name], theirs[FIRST] / theirs[name] if name in theirs else None],
        )
        for name in [*rungs, AUTO, VENDOR]
        if name in ours
    ]
    m, n, k = PUBLISHED
    series = [f"{record['device']}, measured {record['date']}", f"{published['device']}, as published"]
    below = f"multiplication of {m} x {k} by {k} x {n} float32 elements, without tensor cores"
    after = {name: before(name, "matmul", ours) for name, *_ in shown if name in rungs}
    head = message(record)
    return chart.speedup_svg(head, shown, series, palette, FIRST, after, below=below, phone=phone)


def counts(record: dict) -> str:
    """Return the simulator's counts for the rungs."""
    techniques = {variant.name: variant.technique for variant in variants("matmul")}
    rows = [row for row in record["rows"] if row["variant"] in techniques]
    m, n, k = _size(rows[0])
    lines = [
        f"Counted on the simulator, for a product of {m} x {n} x {k} float32 by the PTX that nvcc"
        f" {record['toolkit']} made: multiply-adds per warp instruction (at most 32 without tensor cores);"
        " bytes of global memory per FLOP; shared-memory wavefronts, and bank conflicts among them, per 32"
        " multiply-adds; barriers in total.",
        "",
        "| rung | what it does | multiply-adds per instruction | bytes per FLOP | shared wavefronts"
        " | bank conflicts | barriers |",
        "|---|---|" + "--:|" * 5,
    ]
    each = m * n * k / 32
    for row in rows:
        cells = [
            f"`{row['variant']}`",
            techniques[row["variant"]],
            f"{row['multiply_adds_an_instruction']:.1f}",
            f"{row['bytes_a_flop']:.3g}",
            f"{row['shared_wavefronts'] / each:.2f}",
            f"{row['bank_conflicts'] / each:.3f}",
            f"{row['barriers']:,}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def shapes(record: dict) -> str:
    """Return the default at all sizes, compared with cuBLAS."""
    refuse_wrong(record)
    lines = [f"{_where(record)}. {record['method']}"]
    if "ffma_tflop_per_s" in record:
        lines = [chart.picture("matmul-roofline", roofline_message(record), phone=True), "", *lines]
    for dtype, precision in dict.fromkeys(_what(row) for row in record["rows"]):
        mine = [row for row in record["rows"] if _what(row) == (dtype, precision)]
        vendor = {_size(row): row for row in mine if row["variant"] == VENDOR}
        lines += [
            "",
            f"### {dtype}" + (f", {precision}" if precision not in (None, "ieee") else ""),
            "",
            "| M x N x K | `auto` (us) | TFLOP/s | cuBLAS (us) | of cuBLAS's time | error | cuBLAS's error |",
            "|---|" + "--:|" * 6,
        ]
        for row in mine:
            if row["variant"] != AUTO:
                continue
            other = vendor.get(_size(row))
            cells = [
                " x ".join(f"{size:,}" for size in _size(row)),
                f"{row['us']['median']:,.2f}",
                f"{row['tflop_per_s']:.2f}",
                _cell(other and other["us"]["median"], "{:,.2f}"),
                _cell(row["of_cublas"], "{:.3f}"),
                f"{row['error']:.1e}",
                _cell(other and other["error"], "{:.1e}"),
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
