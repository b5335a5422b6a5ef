"""Shapes that reach every way in which the general kernels share out work; see csrc/reduce/general/plan.c."""

import numpy as np
import pytest

import gpureduce

# Rows and columns, each with: a few elements per result and results enough to fill a device (one thread takes
# whole results), one warp, one block and several blocks per result, and odd lengths between.
SHAPES = [
    (300_000, 1), (300_000, 2), (280_001, 5), (271_000, 16), (270_400, 17), (40_001, 8), (9_001, 65),
    (2_000, 513), (37, 30_011), (3, 400_003), (1, 500_001),
]  # fmt: skip


def data(shape):
    return np.random.default_rng(sum(shape)).integers(-100, 100, shape).astype(np.int8)


@pytest.mark.many
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_share_of_the_work(shape, axis, order, device, some):
    a = np.asarray(data(shape), order=order)
    f = a.astype(np.float32)  # integers: every order of additions is exact
    calls = (
        (gpureduce.sum, a, {}, a.sum(axis=axis)),
        (gpureduce.argmax, a, {}, a.argmax(axis=axis)),
        (gpureduce.sum, f, {}, f.sum(axis=axis, dtype=np.float64)),
        (gpureduce.sum, a, {"where": a > 0, "initial": 5}, a.sum(axis=axis, where=a > 0, initial=5)),
    )
    for function, array, options, wanted in some(calls, 2):
        np.testing.assert_array_equal(function(array, axis=axis, device=device, **options), wanted)


@pytest.mark.parametrize("op", [gpureduce.argmin, gpureduce.argmax])
def test_positions_along_an_axis_of_length_one(op, device):
    """Each position is 0, of a NaN as well; a memset writes them."""
    a = np.full((3, 1, 50), np.nan, np.float32)
    for view in (a, a[:, :, ::2], a[::-1].transpose(2, 1, 0)):
        got = op(view, axis=1, device=device)
        assert got.dtype == np.int64 and got.shape == (view.shape[0], view.shape[2]) and not got.any()
    out = np.full((3, 1, 50), 7)
    assert op(a, axis=1, keepdims=True, out=out, device=device) is out and not out.any()
    there = gpureduce.to_device(a, device)
    assert not op(there, axis=1).numpy().any()


@pytest.mark.parametrize("axes", [(0, 2), (1, 3), (0, 1, 3), (2,), (3, 0)])
def test_axes_that_do_not_merge(axes, device):
    a = data((60, 5, 70, 6)).astype(np.int64)
    for view in (a, a[::-1, :, ::2], a.transpose(2, 0, 3, 1)):
        assert np.array_equal(gpureduce.sum(view, axis=axes, device=device), view.sum(axis=axes))


def test_more_dimensions_than_the_kernels_take(device):
    a = np.arange(2**12).reshape((2,) * 12)
    for axes in ((0, 2, 4, 6, 8, 10), (1, 3, 5, 7, 9, 11), (0, 3, 6, 9)):
        assert np.array_equal(gpureduce.sum(a, axis=axes, device=device), a.sum(axis=axes))
        view = a[:, ::-1].swapaxes(0, 5)
        assert np.array_equal(gpureduce.max(view, axis=axes, device=device), view.max(axis=axes))
