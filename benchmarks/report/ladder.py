"""The results of the ladder of reductions as Markdown, and as a chart."""

from __future__ import annotations

from benchmarks.harness import markdown
from benchmarks.harness.results import path_of
from benchmarks.report.svg import speedup_svg
from gpureduce._bench.groups import before
from gpureduce._bench.labels import AUTO_TECHNIQUE, variant_labels
from gpureduce._bench.result import BenchResult
from gpureduce._device.variants import AUTO, variants
from gpureduce._profiles.palette import Palette


def result(name: str) -> BenchResult:
    """Return a committed results file of `gpureduce.bench`."""
    return BenchResult.from_json(path_of(name))


def ladder_records(found: BenchResult, dtype: str = "float32") -> list[dict]:
    """Return the sums of one dtype in the order of `gpureduce.variants`, the default last."""
    records = {row["variant"]: row for row in found.records() if row["dtype"] == dtype and row["op"] == "sum"}
    return [records[name] for name in variant_labels() if name in records]


def ladder_table(found: BenchResult, published: dict) -> str:
    """Return the ladder as a Markdown table, with the figures published for another GPU."""
    theirs = {row["variant"]: row["first_pass_us"] for row in published["rows"]}
    records = ladder_records(found)
    names = variant_labels()
    first = records[0]
    gpu = published["device"].removeprefix("NVIDIA ").split("-")[0]
    lines = [
        f"{found.title()}: sum of {first['n']:,} float32, {first['block_size']} threads per block if the"
        f" variant takes a block size, all passes. *{gpu}*: first pass, as published for"
        f" {published['device']} ([source]({published['source'].split()[-1]})).",
        "",
        "| variant | technique | time (us) | GB/s | % of peak | over v0 | after | over that"
        f" | {gpu} (us) | {gpu}, over v0 |",
        "|---|---|" + "--:|" * 4 + "---|" + "--:|" * 3,
    ]
    for row in records:
        name = row["variant"]
        cells = [
            f"`{name}`",
            names[name],
            f"{row['all_passes_us']:.1f}",
            f"{row['gb_per_s']:,.0f}",
            markdown.cell(row["percent_of_peak"], "{:.1f}"),
            markdown.cell(row["over_first"], "{:.2f}x"),
            markdown.cell(row["after"], "`{}`"),
            markdown.cell(row["over_previous"], "{:.2f}x"),
            markdown.cell(theirs.get(name), "{:.1f}"),
            markdown.cell(theirs[first["variant"]] / theirs[name] if name in theirs else None, "{:.2f}x"),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def ladder_line(found: BenchResult) -> str:
    """Return the line of the README: the first rung, the last published one, the default."""
    records = {row["variant"]: row for row in ladder_records(found)}
    first = next(iter(records.values()))
    times = ", ".join(
        f"`{name}` {records[name]['all_passes_us']:.1f} us" for name in ("v0", "v4", "v8", AUTO)
    )
    return f"Sums of {first['n']:,} float32 on an {found.head['device']}, {found.head['date']}: {times}."


def technique_table(found: BenchResult) -> str:
    """Return times and bandwidth by technique as a Markdown table, fastest last."""
    records = ladder_records(found)
    read = found.head["read_gb_per_s"]
    lines = [
        f"{found.title()}: sum of {records[0]['n']:,} float32, all passes. *% of read*: of {read:,.0f} GB/s,"
        " the bandwidth of `auto` for 1 GiB.",
        "",
        "| technique | variant | time (us) | GB/s | % of read |",
        "|---|---|--:|--:|--:|",
    ]
    techniques = {variant.name: variant.technique for variant in variants("reduction")}
    techniques[AUTO] = AUTO_TECHNIQUE
    for row in sorted(records, key=lambda row: -row["all_passes_us"]):
        lines.append(
            f"| {techniques[row['variant']]} | `{row['variant']}` | {row['all_passes_us']:.1f}"
            f" | {row['gb_per_s']:,.0f} | {row['percent_of_read']:.1f} |"
        )
    return "\n".join(lines)


def ladder_chart(found: BenchResult, published: dict, palette: Palette, phone: bool = False) -> str:
    """Return the speed-ups of the rungs as SVG, with those published for another GPU."""
    theirs = {row["variant"]: row["first_pass_us"] for row in published["rows"]}
    ours = {row["variant"]: row["over_first"] for row in ladder_records(found)}
    names = variant_labels()
    rungs = [variant.name for variant in variants("reduction") if variant.role == "rung"]
    shown = [name for name in [*rungs, AUTO] if name in ours]
    base = theirs[shown[0]]
    rows = [
        (name, names[name], [ours[name], base / theirs[name] if name in theirs else None]) for name in shown
    ]
    series = [
        f"{found.head['device']}, measured {found.head['date']}, all passes",
        f"{published['device']}, as published, first pass",
    ]
    best = max(shown, key=ours.__getitem__)
    what, n = "The default kernel" if best == AUTO else best, markdown.power(found.rows[0]["n"])
    title = f"{what} sums {n} float32 elements {ours[best]:.1f}x as fast as {shown[0]}"
    after = {name: before(name, "reduction", shown) for name in shown}
    below = "the kernels of the ladder in order, one change per kernel"
    return speedup_svg(title, rows, series, palette, shown[0], after, below=below, phone=phone)
