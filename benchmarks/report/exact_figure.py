"""Draws what exact sums cost, and what sums get wrong that are not."""

from __future__ import annotations

from typing import Any

from benchmarks.suite.exact_sums import DTYPES, KINDS, errors
from gpureduce._bench.plotting import label_ends, style

DRAWN = 1 << 12  # elements of the sums whose errors are drawn
LEAST = 1e-9  # what an error of 0 is drawn as


def plot_errors(ax: Any, *, dark: bool = False) -> None:
    """Draw the relative errors of the rungs over the condition number of the sum, on the simulator."""
    with style(dark) as palette:
        rows = list(errors(DRAWN, "sim", draws=3))
        names = [name for name in rows[0][1] if name != "e4"]
        ax.set(
            xscale="log", yscale="log", ylim=(LEAST, 1e14), xlabel="condition number", ylabel="relative error"
        )
        colours = dict(zip(names, palette.series, strict=False))
        for name, marker in zip(names, "osD^v", strict=True):
            values = [max(worst[name], LEAST) for _, worst in rows]
            label = "e2, e3, e4: no error" if name == "e2" else name
            if name != "e3":
                ax.plot([x for x, _ in rows], values, color=colours[name], marker=marker, label=label)
        ax.legend(fontsize="small")
        ax.grid(linewidth=0.6)


def plot_times(record: dict, ax: Any, *, dark: bool = False) -> None:
    """Draw how many times longer exact sums took than plain ones."""
    with style(dark) as palette:
        rows = [row for row in record["rows"] if row["op"] == "sum" and row["data"] == KINDS[0]]
        ax.set(xscale="log", yscale="log", xlabel="elements", ylabel="time of an exact sum / of a plain one")
        colours, ends = dict(zip(DTYPES, palette.series, strict=False)), {}
        for dtype, marker in zip(DTYPES, "osD^", strict=True):
            points = [(row["n"], row["ratio"]) for row in rows if row["dtype"] == dtype]
            if not points:
                continue
            ax.plot(*zip(*points, strict=True), color=colours[dtype], marker=marker)
            ends[dtype] = points[-1]
        ax.set_ylim(0.95, 6)
        ax.set_yticks([1, 1.25, 1.5, 2, 3, 4, 5], ["1", "1.25", "1.5", "2", "3", "4", "5"])
        ax.minorticks_off()
        ax.grid(linewidth=0.6)
        label_ends(ax, ends, colours)
