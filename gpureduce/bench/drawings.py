"""Draws the pictures of docs/matmul.md and docs/exact.md: ``python -m gpureduce.bench.drawings``."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpureduce.bench import exact_pictures, matmul_pictures, peers_table, tables
from gpureduce.bench.pictures import save, style
from gpureduce.bench.roofline import roofline
from gpureduce.bench.tiles import tiles_of

SHOWN = ("m1", "m2", "m3", "m4", "m6", "m9")


def draw_documents(folder: Path) -> list[Path]:
    """Draw tiles and, where there are results, the roofline into files; return their names."""
    import matplotlib.pyplot as plt

    written = []
    results = tables.products()
    bandwidth = peers_table.best_bandwidth(tables.load("peers_h200.json"))
    for name, dark in (("light", False), ("dark", True)):
        with style(dark) as palette:
            figure, places = plt.subplots(2, 3, figsize=(12, 9), layout="constrained")
            for variant, ax in zip(SHOWN, places.flat, strict=True):
                matmul_pictures.plot_tiles(tiles_of(variant), ax, dark=dark, legend=False)
            handles = matmul_pictures.tile_legend(palette)
            figure.legend(handles=handles, loc="outside lower center", ncols=4)
            written.append(folder / f"matmul-tiles-{name}.svg")
            save(places[0, 0], written[-1])
            plt.close(figure)
        if results is not None:
            ax = matmul_pictures.plot_roofline(roofline(results, bandwidth), dark=dark)
            written.append(folder / f"matmul-roofline-{name}.svg")
            save(ax, written[-1])
            plt.close(ax.figure)
            with style(dark):  # which a figure and its axes take when they are made
                figure, places = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
                exact_pictures.plot_errors(places[0], dark=dark)
                exact_pictures.plot_times(tables.load("exact_h200.json"), places[1], dark=dark)
                written.append(folder / f"exact-{name}.svg")
                save(places[0], written[-1])
                plt.close(figure)
    return written


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m gpureduce.bench.drawings", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs"), help="folder (default docs)")
    for path in draw_documents(parser.parse_args(argv).out):
        print(path)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
