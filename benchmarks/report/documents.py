"""Writes measured tables into the README and docs/, and their charts, from the committed results.

``python benchmarks/docs_tables.py`` rewrites the text between the markers, and the charts; with ``--check``
it only compares, and exits with 1 when one is not current.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path
from typing import Any

from benchmarks.harness.command import find
from benchmarks.harness.results import load, load_matmul
from benchmarks.report import (
    columns_order,
    conv,
    coverage,
    drawn,
    ladder,
    matmul,
    readme_charts,
    row_order,
    segments,
)
from benchmarks.report.figures import draw_figures
from benchmarks.suite import exact_sums, multi_device
from gpureduce._profiles.palette import DARK, LIGHT

END = "<!-- end -->"
DRAWN = "docs/benchmarks/drawn-shapes.md"
SEEDS = (1, 2, 3)  # of drawn cases
PALETTES = {"light": LIGHT, "dark": DARK}
MATMUL, CONV = "docs/benchmarks/matmul.md", "docs/benchmarks/convolution.md"
CONV_LAYERS = ("conv_h200.json", "conv_tf32_h200.json", "conv_halves_h200.json")
# The tables that benchmarks make of their own results: marker and result file, by document and benchmark.
TABLES = {
    ("docs/benchmarks/accuracy.md", "accuracy"): "accuracy_h200.json",
    ("docs/benchmarks/copies.md", "arrays"): "arrays_h100.json",
    ("docs/benchmarks/axes.md", "axis"): "axis_h200.json",
    ("docs/benchmarks/layouts.md", "layouts"): "layouts_h200.json",
    ("docs/benchmarks/exact-sums.md", "exact_sums"): "exact_h200.json",
    ("docs/how-to/jax-in-jit.md", "jit"): "jit_h200.json",
    ("docs/benchmarks/host-arrays.md", "host"): "host_h200.json",
    ("docs/benchmarks/profiler.md", "instrument"): "instrument_xeon.json",
    ("docs/benchmarks/variance.md", "moments"): "moments_h100.json",
    ("docs/benchmarks/norms.md", "floats"): "floats_h100.json",
    ("docs/benchmarks/many-tensors.md", "multi_tensor"): "multi_tensor_h200.json",
    ("docs/benchmarks/softmax-and-norms.md", "normalize"): "normalize_h200.json",
    ("docs/benchmarks/order-statistics.md", "order"): "order_h200.json",
    ("docs/benchmarks/sums.md", "interleaved"): "interleaved_h200.json",
    ("docs/benchmarks/sums.md", "peers"): "peers_h200.json",
    ("docs/benchmarks/sums.md", "cccl"): "cccl_h200.json",
    ("docs/benchmarks/scans-and-segments.md", "scans"): "scans_h200.json",
    ("docs/benchmarks/scans-and-segments.md", "scan_rungs"): "scan_rungs_h200.json",
    ("docs/benchmarks/groups.md", "groups"): "groups_h200.json",
    ("docs/benchmarks/groups.md", "group_rungs"): "group_rungs_h100.json",
    ("docs/benchmarks/groups.md", "group_extremes"): "group_extremes_h200.json",
    ("docs/benchmarks/several-gpus.md", "multi_device"): "multi_device_h200.json",
    ("docs/benchmarks/calls.md", "calls"): "calls_h200.json",
    ("docs/benchmarks/calls.md", "host_calls"): "host_calls_h200.json",
    ("docs/benchmarks/pytorch.md", "operators"): "operators_h200.json",
    ("docs/how-to/what-pytorch-cannot-do.md", "torch_gaps"): "torch_gaps_h200.json",
    (MATMUL, "batch_invariance"): "batch_invariance_h100.json",
    ("docs/reference/promises.md", "conv_batch"): "conv_batch_h200.json",
    ("docs/how-to/is-my-model-deterministic.md", "invariance"): "invariance_h200.json",
}


def marker(name: str) -> str:
    """Return the comment before a table."""
    return f"<!-- {name.replace('_', '-')}-table -->"


def drawn_records() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the records of drawn cases, now and before, by seed."""
    now, before = ([load(f"cliffs_{when}seed{seed}_h200.json") for seed in SEEDS] for when in ("", "before_"))
    return now, before


def tables() -> dict[str, dict[str, str]]:
    """Return the tables of each document, each under the marker before it."""
    found: dict[str, dict[str, str]] = {}
    for (document, name), result in TABLES.items():
        found.setdefault(document, {})[marker(name)] = find(name).table(load(result))
    found["docs/benchmarks/groups.md"]["<!-- group-partitions -->"] = segments.partitions_table(
        load("group_partitions_h200.json")
    )
    now, before = drawn_records()
    found[DRAWN] = {
        "<!-- cliffs-families -->": drawn.families_table(now, before),
        "<!-- cliffs-slower -->": drawn.slower_table(now, before),
    }
    for record, old in zip(now, before, strict=True):
        found[DRAWN][f"<!-- cliffs-seed-{record['seed']} -->"] = drawn.worst_table(record, old)
    wide = exact_sums.wide_table(load("exact_wide_h200.json"))
    found["docs/benchmarks/exact-sums.md"]["<!-- exact-wide -->"] = wide
    exact = segments.exact_table(load("segments_h100.json"))
    found["docs/benchmarks/scans-and-segments.md"]["<!-- exact-segments -->"] = exact
    of_rows = row_order.table(load("row_order_h200.json"))
    found["docs/reference/promises.md"]["<!-- row-order -->"] = of_rows
    of_columns = columns_order.table(load("columns_order_h200.json"))
    found["docs/reference/promises.md"]["<!-- columns-order -->"] = of_columns
    rungs, published = ladder.result("ladder_h200.json"), load("published_a100.json")
    found["README.md"] = {"<!-- ladder-line -->": ladder.ladder_line(rungs)}
    found["docs/benchmarks/reduction-ladder.md"] = {
        marker("ladder"): ladder.ladder_table(rungs, published),
        marker("technique"): ladder.technique_table(ladder.result("techniques_h200.json")),
    }
    record = load_matmul()
    found[MATMUL] |= {
        "<!-- rung-counts -->": matmul.counts(load("matmul_counts.json")),
        marker("matmul"): matmul.ladder(record, load("published_matmul.json")),
        "<!-- matmul-sizes -->": matmul.shapes(record),
    }
    found[CONV] = {
        marker("conv"): conv.ladder(load("conv_published_h200.json"), load("published_conv.json")),
        "<!-- conv-layers -->": conv.layers([load(name) for name in CONV_LAYERS]),
    }
    return found


def charts() -> dict[str, str]:
    """Return the charts, by the path of the file."""
    rungs, published = ladder.result("ladder_h200.json"), load("published_a100.json")
    record, conv_record = load_matmul(), load("conv_published_h200.json")
    drawn: dict[str, str | None] = {}
    for (name, palette), phone in itertools.product(PALETTES.items(), (False, True)):
        form = "phone-" if phone else ""
        drawn[f"ladder-{form}{name}"] = ladder.ladder_chart(rungs, published, palette, phone)
        drawn[f"lanes-{form}{name}"] = readme_charts.lanes(palette, phone)
        drawn[f"peers-{form}{name}"] = readme_charts.peers_svg(load("peers_h200.json"), palette, phone=phone)
        drawn[f"matmul-{form}{name}"] = matmul.ladder_chart(
            record, load("published_matmul.json"), palette, phone
        )
        drawn[f"conv-{form}{name}"] = conv.ladder_chart(
            conv_record, load("published_conv.json"), palette, phone
        )
        drawn[f"several-{form}{name}"] = multi_device.svg(load("multi_device_h200.json"), palette, phone)
    return {f"docs/images/{name}.svg": text for name, text in drawn.items() if text is not None}


def documents(root: Path) -> dict[str, str]:
    """Return what the documents and charts should hold, by the name of the file."""
    found = {**charts(), "docs/reference/coverage.md": coverage.page()}
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
        for path in draw_figures(Path(options.root, "docs/images")):
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
