"""c8 and c9: each way of dividing a convolution among blocks, and of bringing pixels that lie as NCHW."""

import numpy as np
import pytest

import gpureduce
from tests.support import conv_cases as cases
from tests.support.conv_cases import Case

RUNGS = {"float16": "c9", "float32": "c8"}


def wrong(x, w, dtype, layout, kind, device, **options):
    """What is wrong with a convolution, or None."""
    options = {**options, "layout": layout}
    got = gpureduce.conv2d(x, w, **options, variant=RUNGS[dtype], device=device)
    return cases.mismatch(x, w, got, kind, "tf32" if dtype == "float32" else "ieee", **options)


def check(case, dtype, layout, device, kinds=("exact", "rounded")):
    for kind in kinds:
        x, w = cases.arrays(dtype, case, layout, kind)
        assert wrong(x, w, dtype, layout, kind, device, **case.options) is None, (kind, layout)


BOXES = {
    "pictures of one tile": Case(3, 7, 7, 64, 70, 3, 3, 1, 1),
    "rows one behind the other": Case(2, 14, 14, 32, 40, 3, 3, 1, 1),
    "tiles of 8 by 8": Case(1, 17, 18, 8, 24, 3, 3),
    "wide pictures": Case(1, 3, 150, 16, 16, 3, 3, 1, 1),
    "a box for each remainder": Case(1, 9, 11, 72, 72, 3, 3, 2, 1),
    "a box for taps of one remainder": Case(1, 40, 34, 8, 8, 4, 4, 2, 1),
    "remainders that no tap has": Case(1, 11, 13, 8, 8, 2, 2, 3, 1, 2),
    "strides of two kinds": Case(1, 17, 19, 40, 8, 5, 3, (2, 3), (2, 1), (1, 2)),
    "taps that lie apart": Case(1, 40, 41, 8, 8, 2, 3, 1, 0, 19),
    "one tap with a stride": Case(2, 9, 9, 40, 64, 1, 1, 2),
    "pixels of all pictures in a row": Case(3, 8, 9, 128, 64, 1, 1),
    "blocks that share the channels": Case(1, 5, 6, 264, 24, 3, 3, 1, 1),
    "groups": Case(2, 8, 8, 48, 80, 3, 3, 1, 1, 1, 2),
    "padding alone": Case(1, 2, 2, 16, 8, 3, 3, 1, 3),
}


@pytest.mark.many
@pytest.mark.parametrize("layout", cases.LAYOUTS)
@pytest.mark.parametrize("dtype", RUNGS)
@pytest.mark.parametrize("case", BOXES.values(), ids=BOXES)
def test_boxes(case, dtype, layout, device):
    check(case, dtype, layout, device, ["rounded" if layout == "NHWC" else "exact"])


@pytest.mark.many
@pytest.mark.parametrize("dtype", RUNGS)
@pytest.mark.parametrize(
    "case",
    [Case(2, 4, 6, 24, 5, 1, 1), Case(1, 12, 12, 72, 130, 1, 1), Case(2, 8, 8, 128, 72, 1, 1, 1, 0, 1, 2)],
)
def test_planes(case, dtype, device):
    """Of 1 x 1 nothing is turned where the engine can bring pixels channel by channel."""
    check(case, dtype, "NCHW", device)
    if device.startswith("cuda"):
        return
    x, w = cases.arrays(dtype, case, "NCHW", "exact")
    options = {**case.options, "layout": "NCHW"}
    found = gpureduce.profile((x, w, options), RUNGS[dtype])
    assert [kernel.name.rpartition("_")[2] for kernel in found.kernels] == ["planes"]
    assert not found.races


@pytest.mark.many
@pytest.mark.parametrize("dtype", RUNGS)
@pytest.mark.parametrize("pixels", [(4, 8), (2, 6), (2, 9), (3, 3), (5, 17), (33, 33)])
@pytest.mark.parametrize("how", ["dense", "apart", "askew"])
@pytest.mark.parametrize("channels", [24, 21])
def test_turned(pixels, dtype, how, channels, device):
    """Rows that begin on boundaries of every kind, runs of few pixels, and channels that are padded."""
    case = Case(2, *pixels, channels, 8, 3, 3, 1, 1)
    x, w = cases.arrays(dtype, case, "NCHW", "exact")
    if how == "apart":
        room = np.full((2, channels + 3, *pixels), 77, dtype)
        room[:, 1 : channels + 1] = x
        x = room[:, 1 : channels + 1]
    elif how == "askew":
        room = np.full(x.size + 1, 77, dtype)
        room[1:] = x.ravel()
        x = room[1:].reshape(x.shape)
    assert wrong(x, w, dtype, "NCHW", "exact", device, **case.options) is None


@pytest.mark.parametrize("dtype", RUNGS)
@pytest.mark.parametrize("how", ["askew", "part of more channels", "rows apart"])
def test_pixels_of_nhwc_are_padded(dtype, how, device):
    """Copies of pixels that begin at any element, whose channels or rows have others between them."""
    case = Case(2, 5, 7, 21, 8, 3, 3, 1, 1)
    x, w = cases.arrays(dtype, case, "NHWC", "exact")
    if how == "askew":
        room = np.full(x.size + 1, 77, dtype)
        room[1:] = x.ravel()
        x = room[1:].reshape(x.shape)
    elif how == "rows apart":
        room = np.full((2, 9, 7, 21), 77, dtype)
        room[:, 2:7] = x
        x = room[:, 2:7]
    else:
        room = np.full((2, 5, 7, 24), 77, dtype)
        room[..., 2:23] = x
        x = room[..., 2:23]
    assert wrong(x, w, dtype, "NHWC", "exact", device, **case.options) is None


@pytest.mark.usefixtures("full")
def test_what_is_read_ahead_is_no_race(device):
    """A block's results overwrite its rings, and blocks of a cluster read one another's."""
    if device.startswith("cuda"):
        pytest.skip("the simulator looks for races")
    for name, layout in (("pictures of one tile", "NCHW"), ("blocks that share the channels", "NHWC")):
        case = BOXES[name]
        x, w = cases.arrays("float16", case, layout, "exact")
        found = gpureduce.profile((x, w, {**case.options, "layout": layout}), "c9")
        assert not found.races


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize(("dtype", "layout"), [("float16", "NHWC"), ("float32", "NCHW")])
def test_blocks_that_make_box_after_box(dtype, layout, device):
    """More boxes than fit at once: what is still in the rings is the next box's."""
    case = Case(1, 100, 180, 8, 200, 1, 1)
    check(case, dtype, layout, device, ["exact"])
    if device.startswith("cuda") or (dtype, layout) != ("float16", "NHWC"):
        return
    x, w = cases.arrays(dtype, case, layout, "exact")
    (kernel,) = gpureduce.profile((x, w, {**case.options, "layout": layout}), "c9", races=False).kernels
    boxes = -(-100 * 180 // 128) * 2
    assert kernel.grid[0] < boxes
