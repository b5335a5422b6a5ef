"""Charts of matrix products: speed, roofline, tiles and data flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce._bench.groups import select, spread_labels
from gpureduce._bench.labels import matmul_labels
from gpureduce._bench.plotting import (
    MARKED,
    Measured,
    axes_of,
    blend,
    draw_bars,
    height_of_bars,
    rung_colours,
    style,
)
from gpureduce._bench.tiles import NOBODY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpureduce._bench.roofline import Point, Roofline
    from gpureduce._bench.tiles import Flow, Tiles
    from gpureduce._profiles.palette import Palette

LANES = 32
_CROWD = 0.5  # of the highest speed; above it, rungs are close together
WARP, LANE = 2, 13  # warp and lane of the figure
_THREAD_ON_BOTH = "#4a1486"  # the colour of a thread, on light and dark pages


def plot_result(
    result: Measured, kind: str | None, ax: Any, dark: bool | None, asked: str | Iterable[str] | None
) -> Any:
    """Draw a chart of products, as `BenchResult.plot`."""
    kinds = {"speed": _speed, "counts": _counts}
    if kind is None:
        kind = "counts" if result.simulated else "speed"
    if kind not in kinds:
        raise ValueError(f"kind: unknown kind {kind!r} of products; expected one of {', '.join(kinds)}")
    if result.simulated != (kind == "counts"):
        what = "counts of the simulator" if result.simulated else "times of a GPU"
        raise ValueError(f"kind: {kind!r} cannot be drawn of {what}")
    with style(dark) as palette:
        return kinds[kind](result, ax, palette, asked)


def _one_case(result: Measured, asked: str | Iterable[str] | None) -> dict[str, dict]:
    """Return the records of the first dtype, at the first size, by variant."""
    records = result.records()
    first = records[0]
    rows_by_name = {
        row["variant"]: row
        for row in records
        if (row["dtype"], row["size"]) == (first["dtype"], first["size"])
    }
    return {name: rows_by_name[name] for name in select(rows_by_name, asked)}


def _titles(records: dict[str, dict]) -> dict[str, str]:
    """Return the titles of variants, with the precision if it differs from the elements' dtype."""
    known = matmul_labels()
    others = {name: row.get("precision") for name, row in records.items()}
    return {
        name: known.get(name, "") + (f" ({other})" if other not in (None, "ieee") else "")
        for name, other in others.items()
    }


def _bars(ax: Any, records: dict[str, dict], key: str, palette: Palette) -> Any:
    ax = axes_of(ax, 9, height_of_bars(list(records), "matmul"))
    values = {name: row[key] for name, row in records.items()}
    draw_bars(ax, values, _titles(records), "matmul", "{:.1f}", palette)
    return ax


def _speed(result: Measured, ax: Any, palette: Palette, asked: str | Iterable[str] | None) -> Any:
    records = _one_case(result, asked)
    ax = _bars(ax, records, "tflop_per_s", palette)
    ax.set_xlabel(f"TFLOP/s\n{MARKED}")
    first = next(iter(records.values()))
    ax.set_title(
        f"product of {first['size']} {first['dtype']}\n{result.title()}", fontsize="medium", loc="left"
    )
    return ax


def _counts(result: Measured, ax: Any, palette: Palette, asked: str | Iterable[str] | None) -> Any:
    records = _one_case(result, asked)
    ax = _bars(ax, records, "multiply_adds_an_instruction", palette)
    ax.set_xlabel(
        "multiply-adds per PTX warp instruction, more than 32 only on tensor cores (counts, not times)\n"
        f"{MARKED}"
    )
    first = next(iter(records.values()))
    ax.set_title(f"product of {first['size']} {first['dtype']}, modelled", fontsize="medium", loc="left")
    return ax


# Where the limits are


def plot_roofline(
    roofline: Roofline, ax: Any = None, *, dark: bool | None = False, narrow: bool = False
) -> Any:
    """Draw the rungs below the roofs of memory and multiply-add units.

    `narrow`: for axes of 4 inches, in which the magnified points are below the names of the roofs.
    """
    with style(dark) as palette:
        ax = axes_of(ax, 9, 5.6)
        memory = roofline.bandwidths[0][1]
        least = min(point.flop_per_byte for point in roofline.points) / 2
        most = 16 * max(*(point.flop_per_byte for point in roofline.points), roofline.peak / memory)
        across = np.geomspace(least, most, 400)
        _draw_roofline(ax, roofline, across, palette)
        _name_roofs(ax, roofline, least, most, palette)
        inset = (0.3, 0.06, 0.68, 0.36) if narrow else (0.5, 0.09, 0.48, 0.42)
        _name_points(ax, roofline, across, palette, inset)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlim(least, most)
        slowest = min(point.tflop_per_s for point in roofline.points)
        ax.set_ylim(slowest / (16 if narrow else 2), 2 * roofline.peak)
        ax.set_xlabel(
            "FLOP per byte of the global sectors that the kernel requests (counted by the simulator)"
        )
        ax.set_ylabel("TFLOP/s (measured)")
        ax.grid(linewidth=0.6)
        ax.set_title(roofline.title, fontsize="medium", loc="left")
        return ax


def _name_roofs(ax: Any, roofline: Roofline, least: float, most: float, palette: Palette) -> None:
    small: dict[str, Any] = {"fontsize": "small", "color": palette.faint}
    ax.annotate(
        f"multiply-add units: {roofline.peak:.1f} TFLOP/s",
        (most, roofline.peak),
        (-4, 5),
        textcoords="offset points",
        ha="right",
        **small,
    )
    for i, (name, bandwidth) in enumerate(roofline.bandwidths):
        level = roofline.peak / (40, 30, 15)[i]  # next to its line
        ax.annotate(
            f"{name}: {bandwidth:.1f} TB/s",
            (level / bandwidth, level),
            (4, -4),
            textcoords="offset points",
            va="top",
            **small,
        )
    if roofline.vendor is not None:
        ax.axhline(roofline.vendor, color=palette.libraries["cublas"], linewidth=1, linestyle=":")
        ax.annotate(
            f"cuBLAS: {roofline.vendor:.1f} TFLOP/s",
            (least, roofline.vendor),
            (4, 3),
            textcoords="offset points",
            fontsize="small",
            color=palette.libraries["cublas"],
        )


def _draw_roofline(ax: Any, roofline: Roofline, across: np.ndarray, palette: Palette) -> None:
    """Draw roofs and points, without names."""
    for i, (_, bandwidth) in enumerate(roofline.bandwidths):
        line, width = ("-", 1.5) if i == 0 else ("--", 1.0)
        roof = np.minimum(across * bandwidth, roofline.peak)
        ax.plot(across, roof, line, color=palette.text, linewidth=width)
    colours = rung_colours(palette, "matmul")
    for point in roofline.points:
        colour = colours.get(point.variant, palette.faint)
        ax.plot(point.flop_per_byte, point.tflop_per_s, "o", color=colour, markersize=8)
    ax.set_xscale("log")
    ax.set_yscale("log")


def _name_points(
    ax: Any, roofline: Roofline, across: np.ndarray, palette: Palette, place: tuple[float, ...]
) -> None:
    """Write names above the points or, where points are close, in an inset that magnifies them."""
    known = matmul_labels()
    fastest = max(point.tflop_per_s for point in roofline.points)
    crowd = [point for point in roofline.points if point.tflop_per_s >= _CROWD * fastest]
    crowd = crowd if len(crowd) > 1 else []
    for point in roofline.points:
        if point not in crowd:
            at = point.flop_per_byte, point.tflop_per_s
            small: dict[str, Any] = {
                "textcoords": "offset points",
                "fontsize": "small",
                "color": palette.text,
            }
            if point.flop_per_byte < 1:
                ax.annotate(point.variant, at, (0, 9), ha="center", **small)
            else:
                name = f"{point.variant}  {known.get(point.variant, '')}"
                ax.annotate(name, at, (8, 0), ha="left", va="center", **small)
    if crowd:
        _draw_inset(ax.inset_axes(place), ax, roofline, crowd, across, palette)


def _draw_inset(
    inset: Any, ax: Any, roofline: Roofline, crowd: list[Point], across: np.ndarray, palette: Palette
) -> None:
    from matplotlib.ticker import NullFormatter, ScalarFormatter

    known = matmul_labels()
    _draw_roofline(inset, roofline, across, palette)
    slowest, furthest = (min(p.tflop_per_s for p in crowd), max(p.flop_per_byte for p in crowd))
    inset.set_xlim(min(p.flop_per_byte for p in crowd) / 1.15, 4.5 * furthest)
    inset.set_ylim(slowest / 1.15, 1.08 * roofline.peak)
    low, high = (float(np.log(limit)) for limit in inset.get_ylim())
    speeds = [float(np.log(point.tflop_per_s)) for point in crowd]
    places = spread_labels(speeds, 0.12 * (high - low), high - 0.12 * (high - low))
    line = {"arrowstyle": "-", "color": palette.faint, "linewidth": 0.6, "relpos": (0, 0.5)}
    small: dict[str, Any] = {"textcoords": "data", "va": "center", "fontsize": "small", "color": palette.text}
    for point, place in zip(crowd, places, strict=True):
        name = f"{point.variant}  {known.get(point.variant, '')}"
        at = point.flop_per_byte, point.tflop_per_s
        inset.annotate(name, at, (1.25 * furthest, np.exp(place)), arrowprops=line, **small)
    for axis, ticks in ((inset.xaxis, (20, 30)), (inset.yaxis, (30, 40, 50, 60))):
        axis.set_ticks(ticks)
        axis.set_major_formatter(ScalarFormatter())
        axis.set_minor_formatter(NullFormatter())
        axis.set_tick_params(labelsize="small")
    inset.grid(linewidth=0.4)
    ax.indicate_inset_zoom(inset, edgecolor=palette.faint)


# Who works on what

_OTHERS, _LATER, _BLOCK, _WARP, _THREAD = range(5)


def plot_tiles(tiles: Tiles, ax: Any = None, *, dark: bool | None = False, legend: bool = True) -> Any:
    """Draw A, B above C, and C: the elements that a block, one of its warps and one of its threads use."""
    with style(dark) as palette:
        from matplotlib.colors import ListedColormap

        ax = axes_of(ax, 5.2, 5.6)
        colours = _tile_colours(palette)
        panels = _panels(tiles)
        depth = tiles.shape[2]
        rows, columns = panels["C"].shape
        gap = 0.07 * columns
        places = {"A": (-gap - depth, 0), "B": (0, -gap - depth), "C": (0, 0)}
        for name, (left, top) in places.items():
            high, wide = panels[name].shape
            extent = (left, left + wide, top + high, top)
            cmap = ListedColormap(colours)
            ax.imshow(panels[name], cmap=cmap, vmin=-0.5, vmax=4.5, extent=extent, interpolation="nearest")
            ax.text(left + wide / 2, top - 0.01 * rows, name, ha="center", va="bottom", color=palette.text)
        for row in range(0, rows + 1, tiles.rows):
            ax.plot([0, columns], [row, row], color=palette.gap, linewidth=1.2)
        for column in range(0, columns + 1, tiles.columns):
            ax.plot([column, column], [0, rows], color=palette.gap, linewidth=1.2)
        ax.set_xlim(-gap - depth - 1, columns + 1)
        ax.set_ylim(rows + 1, -gap - depth - 0.09 * rows)
        ax.set_aspect("equal")
        ax.set_axis_off()
        if legend:
            several = any((panel == _LATER).any() for panel in panels.values())
            handles = tile_legend(palette)[0 if several else 1 :]
            ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=4, fontsize="small")
        per_thread = int((tiles.makes == _thread()).sum())
        what = f"block {tiles.rows} x {tiles.columns}, {per_thread} per thread"
        ax.set_title(f"{tiles.variant}: {what}", fontsize="medium")
        return ax


def tile_legend(palette: Palette) -> list[Any]:
    """Return the legend of `plot_tiles`; its first entry only if there are several steps."""
    from matplotlib.patches import Patch

    names = ("one block, later steps", "one block", f"warp {WARP} of it", f"thread {_thread()} of it")
    return [
        Patch(color=colour, label=name)
        for colour, name in zip(_tile_colours(palette)[1:], names, strict=True)
    ]


def _thread() -> int:
    return WARP * LANES + LANE


def _panels(tiles: Tiles) -> dict[str, np.ndarray]:
    """Return the parts of A, B and C to draw, at most two tiles of C in each direction."""
    warp, thread = range(WARP * LANES, (WARP + 1) * LANES), range(_thread(), _thread() + 1)
    panels = {}
    for name, matrix in (("A", 0), ("B", 1)):
        panel = np.where(tiles.loads(matrix), _LATER, _OTHERS)
        panel[tiles.loads(matrix, True)] = _BLOCK
        panel[tiles.loads(matrix, True, warp)] = _WARP
        panel[tiles.loads(matrix, True, thread)] = _THREAD
        panels[name] = panel
    makes = tiles.makes
    panels["C"] = np.where(makes == NOBODY, _OTHERS, np.where(makes // LANES == WARP, _WARP, _BLOCK))
    panels["C"][makes == _thread()] = _THREAD
    rows, columns = 2 * tiles.rows, 2 * tiles.columns
    return {
        "A": panels["A"][:rows],
        "B": panels["B"][:, :columns],
        "C": panels["C"][:rows, :columns],
    }


def _tile_colours(palette: Palette) -> list[str]:
    blue, orange = palette.series[0], palette.series[1]
    pale, medium = (blend(blue, palette.background, share) for share in (0.22, 0.5))
    return [palette.idle, pale, medium, orange, palette.text if palette.opaque else _THREAD_ON_BOTH]


def plot_flow(flow: Flow, ax: Any = None, *, dark: bool | None = False) -> Any:
    """Draw the bytes between memories per multiply-add."""
    with style(dark) as palette:
        from matplotlib.patches import FancyBboxPatch

        ax = axes_of(ax, 4.6, 5.2)
        boxes = {
            "global": (
                0,
                8,
                10,
                2,
                f"global memory and its caches\n{_bytes(flow.global_sectors)} in sectors",
            ),
            "shared": (4.9, 4, 5.1, 2, f"shared memory\n{_bytes(flow.shared_wavefronts)} in wavefronts"),
            "registers": (0, 0, 10, 2, "registers\n12 B to the multiply-add, 4 B back"),
        }
        for name, (x, y, wide, high, text) in boxes.items():
            used = name != "shared" or flow.shared_wavefronts > 0
            ax.add_patch(
                FancyBboxPatch(
                    (x, y),
                    wide,
                    high,
                    boxstyle="round,pad=0,rounding_size=0.25",
                    facecolor=palette.idle if used else palette.background,
                    edgecolor=palette.grid,
                )
            )
            colour = palette.text if used else palette.faint
            shown = text if used else "shared memory\nnot used"
            ax.text(
                x + wide / 2, y + high / 2, shown, ha="center", va="center", color=colour, fontsize="small"
            )
        _arrow(ax, 0.5, 2, 8, flow.registers_to_global, palette.series[2], palette)
        _arrow(ax, 2.7, 8, 2, flow.global_to_registers, palette.series[0], palette)
        _arrow(ax, 5.6, 8, 6, flow.global_to_shared, palette.series[0], palette)
        _arrow(ax, 5.6, 2, 4, flow.registers_to_shared, palette.series[3], palette)
        _arrow(ax, 8.2, 4, 2, flow.shared_to_registers, palette.series[1], palette)
        ax.set_xlim(-0.2, 10.2)
        ax.set_ylim(-0.2, 10.2)
        ax.set_axis_off()
        ax.set_title("bytes that threads request, per multiply-add", fontsize="medium")
        return ax


def _bytes(value: float) -> str:
    return f"{value:.2g} B" if value < 10 else f"{value:.0f} B"


def _arrow(ax: Any, x: float, start: float, stop: float, value: float, colour: str, palette: Palette) -> None:
    if value <= 0:
        return
    width = 1 + 2.2 * np.log2(1 + 16 * value)
    style = f"simple,head_width={0.5 + width / 14},head_length=0.5,tail_width={width / 28}"
    ax.annotate(
        "",
        (x, stop),
        (x, start),
        arrowprops={"arrowstyle": style, "color": colour, "mutation_scale": 14, "shrinkA": 1, "shrinkB": 1},
    )
    ax.text(
        x + 0.2 + width / 35,
        (start + stop) / 2,
        _bytes(value),
        color=palette.text,
        fontsize="small",
        va="center",
    )
