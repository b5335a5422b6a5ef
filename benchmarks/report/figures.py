"""Draws the charts that need matplotlib: ``python benchmarks/docs_tables.py --figures``."""

from __future__ import annotations

from pathlib import Path

from benchmarks.harness.results import load, load_matmul
from benchmarks.report import exact_figure
from benchmarks.report.peers import best_bandwidth
from gpureduce._bench import matmul_plotting
from gpureduce._bench.plotting import save, style
from gpureduce._bench.roofline import roofline
from gpureduce._bench.tiles import tiles_of

TILED = ("m1", "m2", "m3", "m4", "m6", "m9")
BACKGROUNDS = (("light", False), ("dark", True))


def draw_tiles(path: Path, dark: bool) -> None:
    """Draw which thread computes and loads what, one panel per rung."""
    import matplotlib.pyplot as plt

    with style(dark) as palette:
        figure, axes = plt.subplots(2, 3, figsize=(12, 9), layout="constrained")
        for variant, ax in zip(TILED, axes.flat, strict=True):
            matmul_plotting.plot_tiles(tiles_of(variant), ax, dark=dark, legend=False)
        handles = matmul_plotting.tile_legend(palette)
        figure.legend(handles=handles, loc="outside lower center", ncols=4)
        save(axes[0, 0], path)
        plt.close(figure)


def draw_roofline(path: Path, dark: bool) -> None:
    """Draw the rungs of the matmul ladder below the roofs of an H200."""
    import matplotlib.pyplot as plt

    bandwidth = best_bandwidth(load("peers_h200.json"))
    ax = matmul_plotting.plot_roofline(roofline(load_matmul(), bandwidth), dark=dark)
    save(ax, path)
    plt.close(ax.figure)


def draw_exact(path: Path, dark: bool) -> None:
    """Draw errors and times of exact sums."""
    import matplotlib.pyplot as plt

    with style(dark):  # which a figure and its axes take when they are made
        figure, axes = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
        exact_figure.plot_errors(axes[0], dark=dark)
        exact_figure.plot_times(load("exact_h200.json"), axes[1], dark=dark)
        save(axes[0], path)
        plt.close(figure)


FIGURES = {"matmul-tiles": draw_tiles, "matmul-roofline": draw_roofline, "exact": draw_exact}


def draw_figures(folder: Path) -> list[Path]:
    """Draw all figures, for a light and a dark background; return the paths of the files."""
    paths = []
    for name, draw in FIGURES.items():
        for background, dark in BACKGROUNDS:
            paths.append(folder / f"{name}-{background}.svg")
            draw(paths[-1], dark)
    return paths
