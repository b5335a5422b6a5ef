#!/usr/bin/env python3
"""Runs notebooks and writes them with their outputs: tests/tools/make_notebooks.py [NAME.ipynb ...].

On a machine without a GPU, so that times are those of the committed results. What a run may give in other
words on another machine is taken out; tests/docs/test_notebooks.py holds the rest against a run of its own.
"""

import argparse
import base64
import io
import math
import queue
import re
import time
from pathlib import Path
from typing import Any

import matplotlib
import nbclient
import nbformat

from gpureduce._bench import environment

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
SVG, PNG = "image/svg+xml", "image/png"
BOTH = '["svg", "png"]'  # as the notebooks say it
COLOURS = 64  # of a chart; a third of the bytes
# Kept: what a viewer shows best, what the others can, and text for a search.
KINDS = (SVG, PNG, "text/html", "text/markdown", "text/plain")
# Of an SVG, what is invisible: when it was made, third and later fonts, turns by nothing, digits of places.
UNSEEN = re.compile(
    r"<metadata>.*?</metadata>|(?<='DejaVu Sans'), [^;\"]*(?=, sans-serif)| transform=\"rotate\(-0 [^\"]*\"",
    re.DOTALL,
)
PLACES = re.compile(r' (?:d|x|y)="[^"]*"')
FRACTION = re.compile(r"\d+\.\d+")


def main() -> None:
    """Write the notebooks that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=sorted(path.name for path in FOLDER.glob("*.ipynb")))
    for name in parser.parse_args().names:
        notebook = run(name)
        for output in outputs(notebook):
            if PNG in output.get("data", {}):
                output["data"][PNG] = smaller(output["data"][PNG])
        notebook.metadata["gpureduce"] = versions()
        nbformat.write(notebook, FOLDER / name)
        print(f"{name}: {(FOLDER / name).stat().st_size:,} bytes")


def versions() -> dict[str, str]:
    """Return what figures depend on: the compiler that made the kernels, and what draws."""
    return {"toolkit": environment.toolkit_version(), "matplotlib": matplotlib.__version__}


def run(name: str, png: bool = True) -> nbformat.NotebookNode:
    """Return a notebook with the outputs of a run; raise for a cell that does.

    Without PNG a run takes less time, as each figure is drawn once.
    """
    notebook = nbformat.read(FOLDER / name, as_version=4)
    if not png:
        for cell in notebook.cells:
            cell.source = cell.source.replace(BOTH, '["svg"]')
    client = nbclient.NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        coalesce_streams=True,  # how many messages a text comes in depends on the load
        resources={"metadata": {"path": str(FOLDER)}},
    )
    # What it says of this machine and this moment is not for others.
    client.record_timing = False

    def started(**_: Any) -> None:
        look_often(client.kc.shell_channel)
        look_often(client.kc.iopub_channel)

    client.on_notebook_start = started
    client.execute()
    notebook.metadata.language_info = {"name": "python"}
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if tidy(output)]
    return notebook


def look_often(channel: Any) -> None:
    """Have a channel look every second whether a message is there.

    On busy machines it was seen to be told of none: a run then stood still until its timeout, and went on.
    """
    get_msg = channel.get_msg

    async def often(timeout: float | None = None) -> dict:
        end = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            try:
                return await get_msg(timeout=max(0, min(1, end - time.monotonic())))
            except queue.Empty:
                if time.monotonic() >= end:
                    raise

    channel.get_msg = often


def tidy(output: nbformat.NotebookNode) -> bool:
    """Take out what differs from run to run, and widgets, which need a kernel; return whether any is left."""
    data = output.get("data")
    if data is None:
        return True
    if "application/vnd.jupyter.widget-view+json" in data:
        return False
    output["data"] = {kind: data[kind] for kind in KINDS if kind in data}
    if SVG in data:
        output.data[SVG] = PLACES.sub(rounded, " ".join(UNSEEN.sub("", data[SVG]).split()))
    return bool(output.data)


def rounded(places: re.Match) -> str:
    """Return places in a picture, in points, to three digits or a tenth."""

    def few(match: re.Match) -> str:
        value = float(match[0])
        return f"{value:.1f}" if value >= 10 else f"{value:.2f}"

    return FRACTION.sub(few, places[0])


def outputs(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Return the outputs of all cells."""
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def smaller(png: str) -> str:
    """Return a picture, in base64, of fewer colours."""
    from PIL import Image

    written = io.BytesIO()
    picture = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGBA")
    method = Image.Quantize.FASTOCTREE  # the one that keeps a transparent background
    picture.quantize(COLOURS, method, dither=Image.Dither.NONE).save(written, "PNG", optimize=True)
    return base64.b64encode(written.getvalue()).decode()


if __name__ == "__main__":
    main()
