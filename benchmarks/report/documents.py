"""Writes the measured tables of docs/, and the charts of the README and of docs/, from the committed results.

``python benchmarks/docs_tables.py`` rewrites what stands between the markers, and the charts; with
``--check`` it only compares, and exits with 1 when one is not current.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from benchmarks.harness.results import load, load_matmul, path_of
from benchmarks.report import conv as conv_table
from benchmarks.report import coverage, peers
from benchmarks.report import layouts as layouts_table
from benchmarks.report import matmul as matmul_table
from benchmarks.report import readme_charts as front
from benchmarks.report import svg as chart
from benchmarks.report.figures import draw_figures
from benchmarks.suite import arrays, calls, exact_times, host_calls, moments, operators, order, scans
from benchmarks.suite import multi_device as several
from gpureduce._bench.groups import before
from gpureduce._bench.labels import AUTO_TECHNIQUE, titles
from gpureduce._bench.result import BenchResult
from gpureduce._device.variants import AUTO, variants

END = "<!-- end -->"
LONE = "interleaved_h200.json"
CONVOLUTIONS = "conv_published_h200.json"
LAYERS = ("conv_h200.json", "conv_tf32_h200.json", "conv_halves_h200.json")
ORDER = "order_h200.json"
SEVERAL = "multi_device_h100.json"
LAYOUTS = "layouts_h200.json"
ARRAYS = "arrays_h100.json"
HOST_CALLS = "host_calls_h100.json"
MOMENTS = "moments_h100.json"
SCANS = "scans_h100.json"
FLOATS = "floats_h100.json"


def result(name: str) -> BenchResult:
    """Return a committed results file of `gpureduce.bench`."""
    return BenchResult.from_json(path_of(name))


def ladder_records(found: BenchResult, dtype: str = "float32") -> list[dict]:
    """Return the sums of one dtype in the order of `gpureduce.variants`, the default last."""
    records = {row["variant"]: row for row in found.records() if row["dtype"] == dtype and row["op"] == "sum"}
    return [records[name] for name in titles() if name in records]


def _cell(value: float | str | None, form: str) -> str:
    return "" if value is None else form.format(value)


def ladder_table(found: BenchResult, published: dict) -> str:
    """Return the ladder as a Markdown table, the figures published for another GPU beside it."""
    theirs = {row["variant"]: row["first_pass_us"] for row in published["rows"]}
    records = ladder_records(found)
    names = titles()
    first = records[0]
    gpu = published["device"].removeprefix("NVIDIA ").split("-")[0]
    lines = [
        f"{found.title()}: sum of {first['n']:,} float32 on the device, {first['block_size']} threads per"
        f" block where they can be chosen, all passes. {gpu}: first pass, as published for"
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
            _cell(row["percent_of_peak"], "{:.1f}"),
            _cell(row["over_first"], "{:.2f}x"),
            _cell(row["after"], "`{}`"),
            _cell(row["over_previous"], "{:.2f}x"),
            _cell(theirs.get(name), "{:.1f}"),
            _cell(theirs[first["variant"]] / theirs[name] if name in theirs else None, "{:.2f}x"),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def ladder_line(found: BenchResult) -> str:
    """Return what the README says of the ladder: the first rung, the last that is published, the default."""
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
        f"{found.title()}: sum of {records[0]['n']:,} float32, all passes; % of the {read:,.0f} GB/s at which"
        " `auto` reads 1 GiB.",
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


def ladder_chart(found: BenchResult, published: dict, palette: chart.Palette) -> str:
    """Return the speed-ups of the rungs as SVG, those published for another GPU beside them."""
    theirs = {row["variant"]: row["first_pass_us"] for row in published["rows"]}
    ours = {row["variant"]: row["over_first"] for row in ladder_records(found)}
    names = titles()
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
    n = found.rows[0]["n"]
    after = {name: before(name, "reduction", shown) for name in shown}
    return chart.speedup_svg(f"Sum of {n:,} float32, rung by rung", rows, series, palette, after=after)


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


def _power(n: int) -> str:
    """Return a power of two as 2^k, and another number as it is."""
    return f"2^{n.bit_length() - 1}" if n & (n - 1) == 0 else f"{n:,}"


def _axis_cells(row: dict) -> str:
    torch = f"{row['torch_us']:.1f}" if "torch_us" in row else ""
    return f"{row['us']['median']:.1f} | {row['gb_per_s']:,.0f} | {row['ratio']:.2f} | {torch}"


def axis_table(results: dict) -> str:
    """Return the sweep over axes as Markdown: matrices of powers of two by dtype and size, then the rest."""
    sweeps: dict[tuple[str, int], dict] = {}
    others = []
    for row in results["rows"]:
        n = math.prod(row["shape"])
        if n & (n - 1) == 0 and len(row["shape"]) == 2:
            sweep = sweeps.setdefault((row["dtype"], n), {})
            sweep.setdefault(tuple(row["shape"]), {})[row["axes"][0]] = row
        else:
            others.append(row)
    columns = "us | GB/s | ratio | torch us"
    lines = [
        f"{results['device']}, CUDA {results['toolkit']}, driver for CUDA {results['driver_cuda']}, PyTorch"
        f" {results['torch']}, {results['date']}: {results['method']}.",
    ]
    for (dtype, n), shapes in sweeps.items():
        flat = next(iter(next(iter(shapes.values())).values()))["flat_us"]
        lines += [
            "",
            f"### {dtype}, {_power(n)} elements; all of them into one sum: {flat:.1f} us",
            "",
            f"| shape | axis 0: {columns} | axis 1: {columns} |",
            "|---|" + "--:|" * 8,
        ]
        for shape, axes in shapes.items():
            name = " x ".join(map(_power, shape))
            lines.append(f"| {name} | {_axis_cells(axes[0])} | {_axis_cells(axes[1])} |")
    lines += [
        "",
        "### Other shapes",
        "",
        f"| dtype | shape | axes | {columns} |",
        "|---|---|---|" + "--:|" * 4,
    ]
    for row in others:
        name = " x ".join(map(_power, row["shape"]))
        axes = ", ".join(map(str, row["axes"]))
        lines.append(f"| {row['dtype']} | {name} | {axes} | {_axis_cells(row)} |")
    return "\n".join(lines)


def _time(us: float) -> str:
    """Return microseconds with three digits, as milliseconds where they are many."""
    return f"{us / 1000:,.1f} ms" if us >= 10000 else f"{us:.3g} us" if us < 1000 else f"{us:,.0f} us"


def _host_lines(rows: list[dict], others: tuple[str, ...]) -> list[str]:
    lines = []
    for row in rows:
        cells = [_time(row["us"]["gpureduce"]["median"])]
        for name in others:
            spread = row["us"].get(name)
            cells.append(f"{_time(spread['median'])} | {row['ratio'][name]:.2f}" if spread else " | ")
        lines.append(f"| {_power(row['n'])} | " + " | ".join(cells) + " |")
    return lines


def host_table(results: dict) -> str:
    """Return the times of sums of arrays of the host, and of scalars from device arrays, as Markdown."""
    by_place: dict[str, list[dict]] = {}
    for row in results["rows"]:
        by_place.setdefault(row["where"], []).append(row)
    copy, pinned = by_place["pinned copy"][0], by_place["pinned"][0]
    for row in by_place["host"]:
        _, cpu = min((row["us"][name]["median"], name) for name in ("numpy", "torch_cpu"))
        row["us"]["cpu"], row["ratio"]["cpu"] = row["us"][cpu], row["ratio"][cpu]
    last = by_place["host"][-1]
    return "\n".join(
        [
            f"{results['device']}, {results['cpu']} with {results['cores']} cores, CUDA {results['toolkit']},"
            f" PyTorch {results['torch']}, CuPy {results['cupy']}, NumPy {results['numpy']},"
            f" {results['date']}: {results['method']}. One copy of {_power(copy['n'])} float32 from pinned"
            f" memory: {copy['gb_per_s']:.1f} GB/s; their sum from pinned memory: {pinned['gb_per_s']:.1f}"
            f" GB/s; that of {_power(last['n'])} from pageable memory: {last['gb_per_s']:.1f} GB/s. *ratio*"
            " is our time over the other's.",
            "",
            "| n | `gpureduce.sum(a)` | `cupy.asarray(a).sum()` | ratio | `torch.from_numpy(a).cuda().sum()`"
            " | ratio | `numpy.sum(a)` | ratio | CPU | ratio |",
            "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
            *_host_lines(by_place["host"], ("cupy", "torch", "numpy", "cpu")),
            "",
            "From an array on the device to a Python float, each library's own array:",
            "",
            "| n | `gpureduce.sum(d)` | CuPy `.sum()` | ratio | PyTorch `.sum().item()` | ratio |",
            "|--:|--:|--:|--:|--:|--:|",
            *_host_lines(by_place["device"], ("cupy", "torch")),
        ]
    )


def instrument_table(results: dict) -> str:
    """Return what observers cost the simulator as a Markdown table."""
    lines = [
        f"{results['cpu']}, {results['date']}: sum of {results['rows'][0]['n']:,} float32 on the simulator;"
        f" {results['method']}.",
        "",
        "| variant | plain (ms) | with counters | with counters and race check |",
        "|---|--:|--:|--:|",
    ]
    for row in results["rows"]:
        ratio = row["ratio"]
        lines.append(
            f"| `{row['variant']}` | {row['ms']['plain']:.1f} | {ratio['counters']:.2f}x"
            f" | {ratio['counters and races']:.2f}x |"
        )
    return "\n".join(lines)


def tables() -> dict[str, dict[str, str]]:
    """Return the tables of each document, each under the marker that it stands behind."""
    found = {
        "README.md": {"<!-- ladder-line -->": ladder_line(result("ladder_h200.json"))},
        "docs/ladder.md": {
            "<!-- ladder-table -->": ladder_table(result("ladder_h200.json"), load("published_a100.json")),
            "<!-- technique-table -->": technique_table(result("techniques_h200.json")),
        },
        "docs/accuracy.md": {"<!-- accuracy-table -->": accuracy_table(load("accuracy_h200.json"))},
        "docs/axis.md": {"<!-- axis-table -->": axis_table(load("axis_h200.json"))},
        "docs/peers.md": {"<!-- peers-table -->": peers.tables(load("peers_h200.json"))},
        "docs/streams.md": {"<!-- calls-table -->": calls.table(load("calls_h200.json"))},
        "docs/torch.md": {"<!-- operators-table -->": operators.table(load("operators_h200.json"))},
        "docs/exact.md": {"<!-- exact-table -->": exact_times.table(load("exact_h200.json"))},
        "docs/moments.md": {"<!-- moments-table -->": moments.table(load(MOMENTS))},
        "docs/segments_and_scans.md": {"<!-- scans-table -->": scans.table(load(SCANS))},
        "docs/host_arrays.md": {"<!-- host-table -->": host_table(load("host_h200.json"))},
        "docs/instrument.md": {
            "<!-- instrument-table -->": instrument_table(load("instrument_xeon.json")),
        },
    }
    found["docs/peers.md"]["<!-- lone-table -->"] = peers.lone_tables(load(LONE))
    found["docs/matmul.md"] = {"<!-- rung-counts -->": matmul_table.counts(load("matmul_counts.json"))}
    found["docs/order.md"] = {"<!-- order-table -->": order.table(load(ORDER))}
    found["docs/axis.md"]["<!-- layouts-table -->"] = layouts_table.table(load(LAYOUTS))
    found["docs/arrays.md"] = {"<!-- arrays-table -->": arrays.table(load(ARRAYS))}
    found["docs/streams.md"]["<!-- host-calls-table -->"] = host_calls.table(load(HOST_CALLS))
    found["docs/several_gpus.md"] = {"<!-- several-table -->": several.table(load(SEVERAL))}
    record = load_matmul()
    found["docs/matmul.md"]["<!-- matmul-table -->"] = matmul_table.ladder(
        record, load("published_matmul.json")
    )
    found["docs/matmul.md"]["<!-- matmul-sizes -->"] = matmul_table.shapes(record)
    found["docs/conv.md"] = {
        "<!-- conv-table -->": conv_table.ladder(load(CONVOLUTIONS), load("published_conv.json")),
        "<!-- conv-layers -->": conv_table.layers([load(name) for name in LAYERS]),
    }
    return found


def charts() -> dict[str, str]:
    """Return the charts, by the name of the file."""
    found, published = result("ladder_h200.json"), load("published_a100.json")
    palettes = (("light", chart.LIGHT), ("dark", chart.DARK))
    drawn = {}
    contest = load("peers_h200.json")
    for name, palette in palettes:
        drawn[f"docs/ladder-{name}.svg"] = ladder_chart(found, published, palette)
        drawn[f"docs/lanes-{name}.svg"] = front.lanes(palette)
        drawn[f"docs/peers-{name}.svg"] = front.peers_svg(contest, palette)
        drawn[f"docs/several-{name}.svg"] = several.svg(load(SEVERAL), palette)
    record, published = load_matmul(), load("published_matmul.json")
    for name, palette in palettes:
        drawn[f"docs/matmul-{name}.svg"] = matmul_table.ladder_chart(record, published, palette)
    record, published = load(CONVOLUTIONS), load("published_conv.json")
    for name, palette in palettes:
        drawn[f"docs/conv-{name}.svg"] = conv_table.ladder_chart(record, published, palette)
    return drawn


def documents(root: Path) -> dict[str, str]:
    """Return what the documents and charts should hold, by the name of the file."""
    found = {**charts(), "docs/coverage.md": coverage.page()}
    for document, parts in tables().items():
        text = (root / document).read_text(encoding="utf-8")
        for begin, table in parts.items():
            text = replace_between(text, begin, END, table)
        found[document] = text
    return found


def replace_between(text: str, begin: str, end: str, middle: str) -> str:
    """Return the text with `middle` between the two markers."""
    head, found, rest = text.partition(begin)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"a document has no {begin} ... {end}")
    return f"{head}{begin}\n{middle}\n{end}{tail}"


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/docs_tables.py", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--root", default=".", help="folder of the README (default: this one)")
    parser.add_argument("--check", action="store_true", help="compare only; 1 if one is not current")
    parser.add_argument("--figures", action="store_true", help="draw the figures that need matplotlib, too")
    options = parser.parse_args(argv)
    if options.figures:
        for path in draw_figures(Path(options.root, "docs")):
            print(path)
    stale = 0
    for document, text in documents(Path(options.root)).items():
        path = Path(options.root, document)
        if not options.check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"{path} is not current; run python benchmarks/docs_tables.py")
            stale = 1
    return stale


if __name__ == "__main__":
    raise SystemExit(main())
