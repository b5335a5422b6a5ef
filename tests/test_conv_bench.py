"""What measures and draws convolutions, as far as that needs no GPU."""

import math

import numpy as np
import pytest

from gpureduce.bench import conv, halo


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
    assert "2x130x514x12x24x3x3" in conv.show(row) and "0.500 of cuDNN's time" in conv.show(row)
    other = {**row, "of_cudnn": 2.0}
    assert conv.geometric_mean([row, other, {**row, "variant": "c0", "of_cudnn": 9.0}]) == pytest.approx(1)
    with pytest.raises(SystemExit):
        conv.main(["--layers", "none"])


@pytest.mark.usefixtures("full")
def test_what_a_block_sees():
    """By hand: c0's block has 256 results, c3's 8 x 64 pixels with a halo of one on each side."""
    naive, direct = halo.halo_of("c0"), halo.halo_of("c3")
    assert (naive.made, naive.seen) == (11, 3 * 13)
    assert int(naive.makes.sum()) == 256
    assert naive.comes.sum() == 256 * 9
    assert (direct.made, direct.seen, direct.times) == (8 * 64, 10 * 66, 1.0)
    seen, made = np.argwhere(direct.comes > 0), np.argwhere(direct.makes > 0)
    assert (seen.max(0) - seen.min(0) == made.max(0) - made.min(0) + 2).all()
    with pytest.raises(ValueError, match="c1 sees and makes is not in its accesses"):
        halo.halo_of("c1")
