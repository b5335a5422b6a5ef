"""Charts with matplotlib, for a light background, a dark one, or both."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from gpureduce._bench.groups import GROUPS, before, group_by_role, representative, select, spread_labels
from gpureduce._bench.labels import variant_labels
from gpureduce._device.variants import AUTO, variants
from gpureduce._profiles.palette import LIGHT, Palette, palette_of
from gpureduce._rules.files import create_file

if TYPE_CHECKING:
    from gpureduce._bench.tree import Addition
    from gpureduce._profiles.timeline import Timeline

FORMATS = (".svg", ".png", ".pdf")
MARKED = "solid: gain over the rung that it comes after, dotted: loss"
_MARKERS = "osD^v<>ph*XP"


def blend(colour: str, background: str, share: float = 0.4) -> str:
    """Return a colour with opacity `share` over a background; a transparent background shows through."""
    if len(background) > len("#rrggbb"):
        return f"{colour}{round(255 * share):02x}"
    parts = zip(*(bytes.fromhex(each[1:]) for each in (colour, background)), strict=True)
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in parts)


@contextmanager
def style(dark: bool | None = False) -> Iterator[Palette]:
    """Set matplotlib's colours for a background; text in SVG remains text."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError as error:
        raise ImportError("charts need matplotlib: pip install 'gpureduce[plot]'") from error
    palette = palette_of(dark)
    colours = dict.fromkeys(["text.color", "axes.labelcolor", "xtick.color", "ytick.color"], palette.text)
    backgrounds = dict.fromkeys(
        ["figure.facecolor", "axes.facecolor", "savefig.facecolor"], palette.background
    )
    if not palette.opaque:
        # Only saved figures are transparent: Jupyter puts a white box behind a transparent figure.
        backgrounds["figure.facecolor"] = "#ffffff"
    lines = dict.fromkeys(["axes.edgecolor", "grid.color", "legend.edgecolor"], palette.grid)
    settings = {
        **colours,
        **backgrounds,
        **lines,
        "legend.facecolor": palette.background,
        "legend.frameon": palette.opaque,
        "axes.prop_cycle": mpl.cycler(color=palette.series),
        "axes.spines.top": False,
        "axes.spines.right": False,
        "svg.fonttype": "none",
        "svg.hashsalt": "gpureduce",
    }
    with mpl.rc_context(settings):
        yield palette


def axes_of(ax: Any, width: float, height: float) -> Any:
    """Return the axes, or the axes of a new figure."""
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    return ax


def check_name(path: str | os.PathLike) -> None:
    """Raise ValueError unless the file name has an image format."""
    if not os.fspath(path).endswith(FORMATS):
        raise ValueError(f"{path}: expected a name that ends in {', '.join(FORMATS)}")


def save(ax: Any, path: str | os.PathLike) -> None:
    """Write the figure of an axes to a file; its name ends in .svg, .png or .pdf."""
    check_name(path)
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}  # the same file for the same data
    suffix = os.path.splitext(path)[1]
    with create_file(path) as file:
        ax.figure.savefig(
            file,
            format=suffix[1:],
            dpi=150,
            metadata=undated.get(suffix),
            facecolor=ax.figure.get_facecolor(),
        )


def draw_bars(
    ax: Any, values: dict[str, float], titles_of: dict[str, str], ladder: str, form: str, palette: Palette
) -> None:
    """Draw horizontal bars of variants in groups, the ladder on top, each with its value.

    The gain over the variant that it comes after is drawn solid, a loss as an outline.
    """
    groups = group_by_role(values, ladder)
    colours = dict(zip(GROUPS, _group_colours(palette), strict=True))
    rows: list[tuple[str, str | None]] = []  # the heading of a group, or one of its variants
    for role, members in groups.items():
        rows += [(role, None)] if len(groups) > 1 else []
        rows += [(role, name) for name in members]
    bars = [(place, name, colours[role]) for place, (role, name) in enumerate(rows) if name is not None]
    earlier = {name: before(name, ladder, values) for name in values}
    pale = [blend(colour, palette.background) if earlier[name] else colour for _, name, colour in bars]
    ax.barh([place for place, *_ in bars], [values[name] for _, name, _ in bars], color=pale, height=0.7)
    for place, name, colour in bars:
        value, than = values[name], earlier[name]
        label, end = form.format(value), value
        if than is not None:
            low, end = sorted((values[than], value))
            outline = {"fill": False, "edgecolor": colour, "linestyle": ":"}
            look = {"color": colour} if value > values[than] else outline
            ax.barh(place, end - low, left=low, height=0.7, **look)
            label += f"   {value / values[than]:.2f} x {than}"
        position = {"textcoords": "offset points", "va": "center", "fontsize": "small"}
        ax.annotate(label, (end, place), (4, 0), color=palette.text, **position)
    ax.set_yticks(range(len(rows)), [_tick(role, name, titles_of) for role, name in rows])
    for tick, (_, each) in zip(ax.yaxis.get_major_ticks(), rows, strict=True):
        tick.tick1line.set_visible(each is not None)
        if each is None:
            tick.label1.set(color=palette.faint, style="italic")
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.margins(x=0.26)
    ax.grid(axis="x", linewidth=0.6)
    ax.set_axisbelow(True)


def _group_colours(palette: Palette) -> tuple[str, str, str, str]:
    return palette.series[0], palette.series[2], palette.faint, palette.series[1]


def _tick(role: str, name: str | None, titles_of: dict[str, str]) -> str:
    return GROUPS[role] if name is None else f"{titles_of.get(name, '')}  {name}"


def height_of_bars(names: list[str], ladder: str) -> float:
    """Return the height in inches of a chart with bars of these variants."""
    groups = group_by_role(names, ladder)
    return 1.5 + 0.3 * (len(names) + (len(groups) if len(groups) > 1 else 0))


def label_ends(
    ax: Any, ends: dict[str, tuple[float, float]], colours: dict[str, Any], gap: float = 1.35
) -> None:
    """Write names at the ends of lines, apart from one another; both axes are logarithmic.

    The names begin at `gap` times the largest x.
    """
    low, high = (math.log(limit) for limit in ax.get_ylim())
    inches = ax.get_position().height * ax.figure.get_size_inches()[1]
    least = (high - low) * 0.17 / inches
    places = spread_labels([math.log(y) for _, y in ends.values()], least, high)
    furthest = max(x for x, _ in ends.values())
    small = {"textcoords": "data", "va": "center", "fontsize": "small", "annotation_clip": False}
    for (name, end), place in zip(ends.items(), places, strict=True):
        line = {"arrowstyle": "-", "color": colours[name], "linewidth": 0.6, "relpos": (0, 0.5)}
        at = furthest * gap, math.exp(place)
        ax.annotate(name, end, at, color=colours[name], arrowprops=line, **small)


# Results of gpureduce.bench


class Measured(Protocol):
    """Interface of a result that can be drawn."""

    head: dict[str, Any]
    rows: tuple[dict[str, Any], ...]

    @property
    def simulated(self) -> bool:
        """Whether the rows hold counts of the simulator."""

    def records(self) -> list[dict[str, Any]]:
        """Return the rows with derived values."""

    def title(self) -> str:
        """Return device and date."""


def plot_result(
    result: Measured, kind: str | None, ax: Any, dark: bool | None, asked: str | Iterable[str] | None
) -> Any:
    """Draw a chart, as `BenchResult.plot`."""
    kinds = {"speedup": _speedup, "bandwidth": _bandwidth, "counts": _counts}
    if kind is None:
        several = len({row["n"] for row in result.rows}) > 1
        kind = "counts" if result.simulated else "bandwidth" if several else "speedup"
    if kind not in kinds:
        raise ValueError(f"kind: unknown kind {kind!r}; expected one of {', '.join(kinds)}")
    if result.simulated != (kind == "counts"):
        what = "counts of the simulator" if result.simulated else "times of a GPU"
        raise ValueError(f"kind: {kind!r} cannot be drawn of {what}")
    if not result.rows:
        raise ValueError("the result has no rows to draw")
    with style(dark) as palette:
        return kinds[kind](result, ax, palette, asked)


def _one_case(result: Measured, asked: str | Iterable[str] | None) -> dict[str, dict]:
    """Return the records of the first operator and dtype, at its largest n, by variant."""
    records = result.records()
    first = records[0]
    same = [row for row in records if (row["op"], row["dtype"]) == (first["op"], first["dtype"])]
    largest = max(row["n"] for row in same)
    rows_by_name = {row["variant"]: row for row in same if row["n"] == largest}
    return {name: rows_by_name[name] for name in select(rows_by_name, asked)}


def _case(row: dict) -> str:
    return f"{row['op']} of {row['n']:,} {row['dtype']}"


def _speedup(result: Measured, ax: Any, palette: Palette, asked: str | Iterable[str] | None) -> Any:
    records = {name: row for name, row in _one_case(result, asked).items() if row["over_first"] is not None}
    if not records:
        raise ValueError("kind: 'speedup' needs the first rung among the results")
    ax = axes_of(ax, 9, height_of_bars(list(records), "reduction"))
    speeds = {name: row["over_first"] for name, row in records.items()}
    draw_bars(ax, speeds, variant_labels(), "reduction", "{:.2f}x", palette)
    ax.set_xlabel(f"speed-up over v0 (times of all passes)\n{MARKED}")
    ax.set_title(f"{_case(next(iter(records.values())))}\n{result.title()}", fontsize="medium", loc="left")
    return ax


def _counts(result: Measured, ax: Any, palette: Palette, asked: str | Iterable[str] | None) -> Any:
    records = _one_case(result, asked)
    ax = axes_of(ax, 9, height_of_bars(list(records), "reduction"))
    each = {name: row["warp_instructions"] / row["n"] for name, row in records.items()}
    draw_bars(ax, each, variant_labels(), "reduction", "{:.3f}", palette)
    ax.set_xlabel(f"PTX warp instructions per element (counted by the simulator; not a time)\n{MARKED}")
    ax.set_title(f"{_case(next(iter(records.values())))}, modelled", fontsize="medium", loc="left")
    return ax


def rung_colours(palette: Palette, ladder: str = "reduction") -> dict[str, Any]:
    """Return colours for the rungs that show their order, also for colour-blind readers."""
    from matplotlib import colormaps

    rungs = [record.name for record in variants(ladder) if record.role == "rung"]
    low, high = (0.0, 0.85) if palette is LIGHT else (0.3, 1.0) if palette.opaque else (0.2, 0.85)
    at = [low + (high - low) * i / max(1, len(rungs) - 1) for i in range(len(rungs))]
    return {name: colormaps["viridis"](place) for name, place in zip(rungs, at, strict=True)}


def _bandwidth(result: Measured, ax: Any, palette: Palette, asked: str | Iterable[str] | None) -> Any:
    ax = axes_of(ax, 9, 5.5)
    lines: dict[str, list[tuple[int, float]]] = {}
    first = result.rows[0]
    for row in result.records():
        if (row["op"], row["dtype"]) == (first["op"], first["dtype"]):
            lines.setdefault(row["variant"], []).append((row["n"], row["gb_per_s"]))
    speeds = {name: max(points)[1] for name, points in lines.items()}
    names = representative(speeds, "reduction") if asked is None else select(lines, asked)
    rungs = rung_colours(palette)
    colours = {name: palette.series[1] if name == AUTO else rungs.get(name, palette.faint) for name in names}
    for i, name in enumerate(names):
        ax.plot(
            *zip(*sorted(lines[name]), strict=True),
            marker=_MARKERS[i % len(_MARKERS)],
            markersize=4,
            color=colours[name],
            linestyle="-" if name in rungs or name == AUTO else "--",
            label=name,
        )
    limits = [("peak_gb_per_s", "peak of the memory", 4), ("read_gb_per_s", "`auto` reads 1 GiB at", -12)]
    for key, name, offset in limits:
        value = result.head.get(key)
        if value:
            ax.axhline(value, color=palette.faint, linewidth=1, linestyle=":")
            ax.annotate(
                f"{name} {value:,.0f} GB/s",
                (0.01, value),
                (0, offset),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                color=palette.faint,
                fontsize="small",
            )
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xlabel("elements")
    ax.set_ylabel("effective bandwidth (GB/s)")
    what = f"{first['op']} of n {first['dtype']}"
    if len(names) < len(lines):
        what += f": {len(names)} of {len(lines)} variants"
    ax.set_title(f"{what}\n{result.title()}", fontsize="medium", loc="left")
    ax.grid(linewidth=0.6)
    label_ends(ax, {name: max(lines[name]) for name in names}, colours)
    return ax


# What a variant does


def plot_timeline(timeline: Timeline, ax: Any = None, *, dark: bool | None = False) -> Any:
    """Draw `Timeline.plot` with the colours of the other charts around it."""
    with style(dark):
        return timeline.plot(axes_of(ax, 9, 1.2 + 0.25 * len(timeline.states)), dark=dark)


def plot_tree(tree: Addition, ax: Any = None, *, dark: bool | None = False) -> Any:
    """Draw a tree of additions: elements at the bottom, each sum above its first element."""
    with style(dark) as palette:
        ax = axes_of(ax, 9, 3.2)
        lines, dots = [], []
        for addition in tree.additions():
            for side in (addition.left, addition.right):
                x, y = (side, 0) if isinstance(side, int) else (side.first, side.height)
                lines += [(x, y), (addition.first, addition.height), (math.nan, math.nan)]
            dots.append((addition.first, addition.height))
        ax.plot(*zip(*lines, strict=True), color=palette.series[0], linewidth=0.8)
        ax.scatter(range(tree.leaves), [0] * tree.leaves, s=5, color=palette.faint)
        ax.scatter(*zip(*dots, strict=True), s=9, color=palette.series[1], zorder=3)
        ax.set_xlabel("element")
        ax.set_ylabel("additions on\nthe longest path")
        ax.yaxis.get_major_locator().set_params(integer=True)
        ax.set_title(f"{tree.leaves - 1} additions, {tree.height} deep", fontsize="medium", loc="left")
        return ax


# What the hardware counted

PIPES = {
    "dram__throughput": "DRAM",
    "gpu__compute_memory_throughput": "busiest memory unit",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared": "shared-memory pipe",
}


def plot_pipes(
    rows: list[dict], published: dict[str, float], ax: Any = None, *, dark: bool | None = False
) -> Any:
    """Draw the utilization of memory units by rung, in percent of their peaks.

    `rows` are those of results/pipes_h200.json, `published` percentages by rung.
    """
    with style(dark) as palette:
        ax = axes_of(ax, 9, 4.5)
        names = [row["variant"] for row in rows]
        for (metric, name), colour, marker in zip(PIPES.items(), palette.series, "osD", strict=False):
            values = [row["percent"].get(metric) for row in rows]
            ax.plot(names, values, color=colour, marker=marker, label=f"{name} ({metric})")
        theirs = [(name, published[name]) for name in names if name in published]
        label = "published for an A100 as bandwidth"
        ax.plot(*zip(*theirs, strict=True), color=palette.text, linestyle="--", marker="x", label=label)
        ax.set_ylim(0, 100)
        ax.set_xlabel("rung")
        ax.set_ylabel("% of the unit's peak")
        ax.grid(axis="y", linewidth=0.6)
        ax.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2)
        return ax
