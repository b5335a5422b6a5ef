"""The results of convolutions as Markdown, and as a chart."""

from __future__ import annotations

import statistics

from benchmarks.conv_layers import PUBLISHED, VENDOR
from benchmarks.report import svg as chart
from gpureduce._bench.labels import conv_labels
from gpureduce._conv.geometry import LAYOUTS
from gpureduce._device.variants import AUTO, variants

FIRST = "c0"
OTHER_CHANNELS = ("c8", "c9", "c5_few", "c7_few")  # for more of them, or fewer, than the published size has
WORST = 0.01  # a relative error that no precision has: the results were wrong


def refuse_wrong(record: dict) -> None:
    """Raise ValueError for a row whose results were wrong, so that its time counts for nothing."""
    for row in record["rows"]:
        if not row["error"] < WORST:
            what = f"{row['variant']} of {row['name']}, {row['dtype']} in {row['layout']}"
            raise ValueError(f"{what}: its error is {row['error']}; measure again, or take the row out")


def _where(record: dict) -> str:
    return (
        f"{record['device']}, CUDA {record['toolkit']}, driver for CUDA {record['driver_cuda']},"
        f" {record['date']}"
    )


def _kind(row: dict) -> tuple[str, str]:
    return row["dtype"], row["precision"]


def _kind_name(kind: tuple[str, str]) -> str:
    dtype, precision = kind
    return dtype if precision == "ieee" else precision


def _plain(row: dict) -> bool:
    return _kind(row) == ("float32", "ieee")


def ladder_rows(record: dict) -> list[dict[str, dict]]:
    """Return the rows at the published size, both layouts of each, by layout.

    All float32 rows, then the variants that only other kinds have, with the default and cuDNN. cuDNN has
    no counterpart of 3xTF32.
    """
    order = list(conv_labels())
    pairs: dict[tuple, dict[str, dict]] = {}
    for row in record["rows"]:
        without_counterpart = row["variant"] == VENDOR and row["precision"] == "tf32x3"
        if row["variant"] in order and row["variant"] not in OTHER_CHANNELS and not without_counterpart:
            pairs.setdefault((_kind(row), row["variant"]), {})[row["layout"]] = row
    shown = {name for kind, name in pairs if kind == ("float32", "ieee")} - {AUTO, VENDOR}
    kinds = list(dict.fromkeys(kind for kind, _ in pairs))
    kept = [key for key in pairs if key[0] == ("float32", "ieee") or key[1] not in shown]
    kept.sort(key=lambda key: (kinds.index(key[0]), order.index(key[1])))
    return [pairs[key] for key in kept if set(pairs[key]) == set(LAYOUTS)]


def _title(row: dict) -> str:
    return conv_labels()[row["variant"]] + ("" if _plain(row) else f" ({_kind_name(_kind(row))})")


def _cell(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)


def ladder(record: dict, published: dict) -> str:
    """Return the ladder at the published size, with the published figures."""
    refuse_wrong(record)
    theirs = {row["variant"]: row["ms"] for row in published["rows"]}
    rows = ladder_rows(record)
    first = next(row for row in rows if row["NHWC"]["variant"] == FIRST)
    p = PUBLISHED
    lines = [
        chart.picture("conv", message(record), phone=True),
        "",
        f"{_where(record)}: {p.n} images of {p.h} x {p.w} with {p.c} channels, {p.f} filters of"
        f" {p.kh} x {p.kw}, float32 unless stated otherwise. *published*: times published for"
        f" {published['device']}. *of cuDNN's speed*: cuDNN with the same dtype and layout in the same run,"
        " with TF32 for tf32, float32 for tf32x3.",
        "",
        "| variant | technique | NHWC (us) | NCHW (us) | of cuDNN's speed, NHWC | NCHW | over c0, NHWC | NCHW"
        " | published (ms) | published, over c0 |",
        "|---|---|" + "--:|" * 8,
    ]
    for pair in rows:
        row = pair["NHWC"]
        name, printed = row["variant"], theirs.get(row["variant"]) if _plain(row) else None
        us = {layout: pair[layout]["us"]["median"] for layout in LAYOUTS}
        cells = [
            f"`{name}`" if name != VENDOR else "cuDNN",
            _title(row),
            *(f"{us[layout]:,.1f}" for layout in LAYOUTS),
            *(f"{1 / pair[layout]['of_cudnn']:.0%}" for layout in LAYOUTS),
            *(f"{first[layout]['us']['median'] / us[layout]:.2f}x" for layout in LAYOUTS),
            _cell(printed, "{:.2g}"),
            _cell(theirs[FIRST] / printed if printed else None, "{:.2f}x"),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def message(record: dict) -> str:
    """Return how fast the fastest rung is, compared with cuDNN, in each precision that cuDNN has."""
    rungs = {variant.name for variant in variants("conv") if variant.role == "rung"}
    rows = [pair["NHWC"] for pair in ladder_rows(record)]
    us = {(_kind(row), row["variant"]): row["us"]["median"] for row in rows}
    leads = []
    for kind in (kind for kind, name in us if name == VENDOR):
        best = min(time for (each, name), time in us.items() if each == kind and name in rungs)
        leads.append(f"{us[kind, VENDOR] / best:.1f}x in {_kind_name(kind)}")
    return f"Speed of the fastest rung over cuDNN: {', '.join(leads)}"


def ladder_chart(record: dict, published: dict, palette: chart.Palette, phone: bool = False) -> str:
    """Return the speed-ups of the rungs over the naive one, in NHWC, as SVG."""
    theirs = {row["variant"]: row["ms"] for row in published["rows"]}
    rungs = {variant.name for variant in variants("conv") if variant.role == "rung"}
    rows = [pair["NHWC"] for pair in ladder_rows(record)]
    us = {(_kind(row), row["variant"]): row["us"]["median"] for row in rows}
    first = us[("float32", "ieee"), FIRST]
    shown = [
        (
            row["variant"] if row["variant"] in rungs else "",
            "cuDNN" + ("" if _plain(row) else f" ({_kind_name(_kind(row))})")
            if row["variant"] == VENDOR
            else _title(row),
            [
                first / row["us"]["median"],
                theirs[FIRST] / theirs[row["variant"]] if row["variant"] in theirs and _plain(row) else None,
            ],
        )
        for row in rows
        if row["variant"] in rungs or row["variant"] == VENDOR
    ]
    series = [f"{record['device']}, measured {record['date']}, NHWC", f"{published['device']}, as published"]
    p = PUBLISHED
    below = f"convolution of {p.n} x {p.h} x {p.w} x {p.c} elements by {p.f} filters of {p.kh} x {p.kw}"
    head = message(record)
    return chart.speedup_svg(head, shown, series, palette, FIRST, below=below, phone=phone)


def layers(records: list[dict]) -> str:
    """Return the default's time and its ratio to cuDNN's, layer by layer, and the geometric means."""
    shares: dict[tuple, dict[str, dict]] = {}
    for record in records:
        refuse_wrong(record)
        for row in record["rows"]:
            if row["variant"] == AUTO:
                shares.setdefault((_kind(row), row["layout"]), {})[row["name"]] = row
    columns = list(shares)
    names = list(dict.fromkeys(name for column in columns for name in shares[column]))
    lines = [
        f"{_where(records[0])}. {records[0]['method']} Each cell: microseconds of `auto`, and its time"
        " divided by cuDNN's, in bold if `auto` is slower.",
        "",
        "| layer | n x h x w x c, filters, filter size | "
        + " | ".join(f"{_kind_name(kind)}, {layout}" for kind, layout in columns)
        + " |",
        "|---|---|" + "--:|" * len(columns),
    ]
    for name in names:
        found = [shares[column].get(name) for column in columns]
        cells = [name, _sizes(next(row for row in found if row))]
        cells += [_share(row) for row in found]
        lines.append(f"| {' | '.join(cells)} |")
    means = [
        statistics.geometric_mean(row["of_cudnn"] for row in shares[column].values()) for column in columns
    ]
    lines.append(f"| geometric mean | | {' | '.join(f'{mean:.2f}' for mean in means)} |")
    return "\n".join(lines)


def _share(row: dict | None) -> str:
    if row is None:
        return ""
    share = f"{row['of_cudnn']:.2f}"
    return f"{row['us']['median']:,.1f}, " + (f"**{share}**" if row["of_cudnn"] > 1 else share)


def _sizes(row: dict) -> str:
    pair = row["stride"] if isinstance(row["stride"], list) else [row["stride"]]
    text = f"{row['n']} x {row['h']} x {row['w']} x {row['c']}, {row['f']}, {row['kh']} x {row['kw']}"
    if pair != [1]:
        text += f", stride {' x '.join(map(str, pair))}"
    for option in ("dilation", "groups"):
        if row[option] != 1:
            text += f", {option} {row[option]}"
    return text
