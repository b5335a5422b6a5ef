"""Draws what exact sums cost, and what sums get wrong that are not."""

from __future__ import annotations

from typing import Any

from benchmarks.harness.markdown import power
from benchmarks.suite.exact_sums import DTYPES, KINDS, errors
from gpureduce._bench.plotting import label_ends, style

DRAWN = 1 << 12  # elements of the sums whose errors are drawn
EXACT = ("e2", "e3", "e4")  # rungs
LEAST = 1e-9  # what an error of 0 is drawn as


def plot_errors(ax: Any, *, dark: bool = False) -> None:
    """Draw the relative errors of the rungs over the condition number of the sum, on the simulator."""
    with style(dark) as palette:
        rows = list(errors(DRAWN, "sim", draws=3))
        names = [name for name in rows[0][1] if name not in EXACT[1:]]
        ax.set(
            xscale="log",
            yscale="log",
            ylim=(LEAST, 1e14),
            xlabel="condition number of the sum",
            ylabel="relative error of the result",
        )
        colours, ends = {}, {}
        for name, marker, colour in zip(names, "osD^", palette.series, strict=True):
            values = [max(worst[name], LEAST) for _, worst in rows]
            label = f"{EXACT[0]} to {EXACT[-1]}" if name == EXACT[0] else name
            ax.plot([x for x, _ in rows], values, color=colour, marker=marker)
            colours[label], ends[label] = colour, (rows[-1][0], values[-1])
        ax.grid(linewidth=0.6)
        label_ends(ax, ends, colours, gap=8.0)
        if not any(worst[name] for _, worst in rows for name in EXACT):
            ax.set_title(f"{EXACT[0]} to {EXACT[-1]} have no error", fontsize="medium", loc="left")


def plot_times(record: dict, ax: Any, *, dark: bool = False) -> None:
    """Draw how many times longer exact sums took than plain ones."""
    with style(dark) as palette:
        rows = [row for row in record["rows"] if row["op"] == "sum" and row["data"] == KINDS[0]]
        label = "time of an exact sum / time of a rounded sum"
        ax.set(xscale="log", yscale="log", xlabel=f"elements ({record['device']})", ylabel=label)
        colours, ends = dict(zip(DTYPES, palette.series, strict=False)), {}
        for dtype, marker in zip(DTYPES, "osD^", strict=True):
            points = [(row["n"], row["ratio"]) for row in rows if row["dtype"] == dtype]
            if not points:
                continue
            ax.plot(*zip(*points, strict=True), color=colours[dtype], marker=marker)
            ends[dtype] = points[-1]
        ax.set_ylim(0.95, 3.2)
        ax.set_yticks([1, 1.25, 1.5, 2, 3], ["1", "1.25", "1.5", "2", "3"])
        ax.minorticks_off()
        ax.grid(linewidth=0.6)
        label_ends(ax, ends, colours)
        ax.set_title(times_message(record), fontsize="medium", loc="left")


def times_message(record: dict) -> str:
    """Return by how much the largest exact sum of float32 is slower than a rounded one."""
    rows = [row for row in record["rows"] if row["op"] == "sum" and row["data"] == KINDS[0]]
    row = max((row for row in rows if row["dtype"] == "float32"), key=lambda row: row["n"])
    slower = 100 * (row["ratio"] - 1)
    return f"Exact float32 sum of {power(row['n'])} elements: {slower:.0f} % slower"
