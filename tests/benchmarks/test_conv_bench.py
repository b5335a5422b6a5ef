"""What measures and draws convolutions, as far as that needs no GPU."""

import itertools
import math

import numpy as np
import pytest

from benchmarks.harness import command
from benchmarks.harness.results import load
from benchmarks.report import conv as conv_table
from benchmarks.report import documents
from benchmarks.report import svg as chart
from benchmarks.suite import conv
from gpureduce._bench import halo


def test_layers():
    """Forty, whose sizes fit, and among them the published one."""
    assert len(conv.LAYERS) == len({layer.name for layer in conv.LAYERS}) == 40
    for layer in conv.LAYERS:
        nhwc, nchw = (layer.result(layout) for layout in ("NHWC", "NCHW"))
        assert (nhwc[0], nhwc[3], *nhwc[1:3]) == nchw and min(nhwc) > 0
        assert sorted(layer.shapes("NHWC")[0]) == sorted(layer.shapes("NCHW")[0])
        assert layer.flop == 2 * math.prod(nhwc) * math.prod(layer.shapes("NHWC")[1][1:])
    assert conv.PUBLISHED.flop == 2 * 2 * 128 * 512 * 24 * 9 * 12


def test_rows_are_told():
    row = {"variant": "auto", "dtype": "float32", "layout": "NHWC", **conv.PUBLISHED._asdict()}
    row |= {"us": {"median": 27.1}, "tflop_per_s": 25.0, "error": 2e-7, "of_cudnn": 0.5}
    assert "2x130x514x12x24x3x3" in conv.Conv.line(row) and "0.500 of cuDNN's time" in conv.Conv.line(row)
    other = {**row, "of_cudnn": 2.0}
    assert conv.geometric_mean([row, other, {**row, "variant": "c0", "of_cudnn": 9.0}]) == pytest.approx(1)
    with pytest.raises(SystemExit):
        command.parse("conv", ["--layers", "none"])


@pytest.mark.usefixtures("full")
def test_what_a_block_sees():
    """By hand: c0's block has 256 results, c3's 8 x 64 pixels with a halo of one on each side."""
    naive, direct = halo.halo_of("c0"), halo.halo_of("c3")
    assert (naive.made, naive.seen) == (16, 3 * 18)  # filters by fours, pixels by eights
    assert int(naive.makes.sum()) == 256
    assert naive.comes.sum() == 256 * 9
    assert (direct.made, direct.seen, direct.times) == (8 * 64, 10 * 66, 1.0)
    seen, made = np.argwhere(direct.comes > 0), np.argwhere(direct.makes > 0)
    assert (seen.max(0) - seen.min(0) == made.max(0) - made.min(0) + 2).all()
    with pytest.raises(ValueError, match="hide which pixels a block of c1 reads"):
        halo.halo_of("c1")


def record(**of):
    row = {
        "layout": "NHWC",
        "precision": "ieee",
        "dtype": "float32",
        **conv.PUBLISHED._asdict(),
        "error": 1e-7,
    }
    rows = [
        {**row, "variant": name, "layout": layout, "us": {"median": us}, "of_cudnn": us / of["cudnn"], **more}
        for name, us in of.items()
        for layout in ("NHWC", "NCHW")
        for more in ({}, {"precision": "tf32", "us": {"median": us / 2}})[
            : 2 if name in ("c5", "cudnn") else 1
        ]
    ]
    rows = [row for row in rows if row["variant"] != "c5" or row["precision"] == "tf32"]
    head = {"device": "GPU", "toolkit": "13.0", "driver_cuda": "13.0", "date": "today", "method": "A method."}
    return {**head, "rows": rows}


def test_tables():
    """By hand: c2 is four times as fast as c0, and half as fast as the library."""
    published = {"device": "another", "rows": [{"variant": "c0", "ms": 1.2}, {"variant": "c2", "ms": 0.6}]}
    found = record(c0=400.0, c2=100.0, c5=20.0, c9=1.0, cudnn=50.0)
    lines = conv_table.ladder(found, published).split("\n")
    cells = {line.split(" | ")[0].strip("| `"): line.split(" | ") for line in lines if line.startswith("| ")}
    assert cells["c2"][2:] == ["100.0", "100.0", "50%", "50%", "4.00x", "4.00x", "0.6", "2.00x |"]
    assert cells["c5"][2] == "10.0" and "(tf32)" in cells["c5"][1] and "c9" not in cells
    drawn = conv_table.ladder_chart(found, published, chart.LIGHT)
    assert "40.00x" in drawn and "cuDNN (tf32)" in drawn
    layers = conv_table.layers([record(auto=40.0, cudnn=50.0), record(auto=60.0, cudnn=50.0)]).split("\n")
    assert layers[-2].endswith("| 60.0, **1.20** | 60.0, **1.20** |")
    found["rows"][3]["error"] = math.nan
    with pytest.raises(ValueError, match="its error is nan"):
        conv_table.ladder(found, published)


def test_means_in_the_table():
    """Of the committed results, which the table is made from."""
    last = conv_table.layers([load(name) for name in documents.CONV_LAYERS]).split("\n")[-1]
    means = [float(cell) for cell in last.strip("| ").split("|")[2:]]
    for mean, (name, layout) in zip(
        means, itertools.product(documents.CONV_LAYERS, ("NHWC", "NCHW")), strict=True
    ):
        rows = [row for row in load(name)["rows"] if row["layout"] == layout]
        assert mean == pytest.approx(conv.geometric_mean(rows), abs=0.006)
