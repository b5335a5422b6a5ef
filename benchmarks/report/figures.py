"""Draws the charts that need matplotlib: ``python benchmarks/docs_tables.py --figures``."""

from __future__ import annotations

import itertools
import textwrap
from pathlib import Path

from benchmarks.harness.results import load, load_matmul
from benchmarks.report import exact_figure, matmul
from benchmarks.report.peers import best_bandwidth
from gpureduce._bench import matmul_plotting
from gpureduce._bench.plotting import save, style
from gpureduce._bench.roofline import roofline
from gpureduce._bench.tiles import tiles_of

TILED = ("m1", "m2", "m3", "m4", "m6", "m9")
BACKGROUNDS = (("light", False), ("dark", True))
PHONE = 4.6  # inches, the width of the form for narrow screens


def tiles_message() -> str:
    """Return how many elements of C a thread computes in the first rung and in the last."""
    made = [tiles_of(name).makes for name in (TILED[0], TILED[-1])]
    first, last = (int((each == each[0, 0]).sum()) for each in made)
    what = "element" if first == 1 else "elements"
    return f"A thread computes {first} {what} of C in {TILED[0]}, {last} in {TILED[-1]}"


def title_of(words: str, phone: bool) -> str:
    """Return a title, in lines that fit the width of a phone."""
    return "\n".join(textwrap.wrap(words, 50)) if phone else words


def draw_tiles(path: Path, dark: bool, phone: bool) -> None:
    """Draw which thread computes and loads what, one panel per rung."""
    import matplotlib.pyplot as plt

    with style(dark) as palette:
        shape, size = ((3, 2), (PHONE, 8.8)) if phone else ((2, 3), (9.6, 7.6))
        figure, axes = plt.subplots(*shape, figsize=size, layout="constrained")
        for variant, ax in zip(TILED, axes.flat, strict=True):
            matmul_plotting.plot_tiles(tiles_of(variant), ax, dark=dark, legend=False)
            if phone:
                ax.set_title(ax.get_title().replace(", ", ",\n"), fontsize="medium")
        handles = matmul_plotting.tile_legend(palette)
        figure.legend(handles=handles, loc="outside lower center", ncols=2 if phone else 4)
        figure.suptitle(title_of(tiles_message(), phone), x=0.01, ha="left", fontsize="large")
        save(axes[0, 0], path)
        plt.close(figure)


def draw_roofline(path: Path, dark: bool, phone: bool) -> None:
    """Draw the rungs of the matmul ladder below the roofs of an H200."""
    import matplotlib.pyplot as plt

    bandwidth = best_bandwidth(load("peers_h200.json"))
    record = load_matmul()
    found = roofline(record, bandwidth)
    ax = None
    if phone:
        with style(dark):
            ax = plt.subplots(figsize=(PHONE, 6.6), layout="constrained")[1]
    ax = matmul_plotting.plot_roofline(found, ax, dark=dark, narrow=phone)
    lines = matmul.roofline_message(record), found.title.replace("\n", ", ")
    ax.set_title("\n".join(title_of(line, phone) for line in lines), fontsize="medium", loc="left")
    if phone:
        ax.set_xlabel("FLOP per byte of global sectors (counted)")
    save(ax, path)
    plt.close(ax.figure)


def draw_exact(path: Path, dark: bool, phone: bool) -> None:
    """Draw errors and times of exact sums."""
    import matplotlib.pyplot as plt

    with style(dark):  # which a figure and its axes take when they are made
        shape, size = ((2, 1), (PHONE, 7.6)) if phone else ((1, 2), (9.6, 4))
        figure, axes = plt.subplots(*shape, figsize=size, layout="constrained")
        exact_figure.plot_errors(axes[0], dark=dark)
        exact_figure.plot_times(load("exact_h200.json"), axes[1], dark=dark)
        save(axes[0], path)
        plt.close(figure)


FIGURES = {"matmul-tiles": draw_tiles, "matmul-roofline": draw_roofline, "exact": draw_exact}


def draw_figures(folder: Path) -> list[Path]:
    """Draw all figures, for wide and narrow screens and both backgrounds; return the paths of the files."""
    paths = []
    for name, draw in FIGURES.items():
        for phone, (background, dark) in itertools.product((False, True), BACKGROUNDS):
            paths.append(folder / f"{name}-{'phone-' if phone else ''}{background}.svg")
            draw(paths[-1], dark, phone)
    return paths
