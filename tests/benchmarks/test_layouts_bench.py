"""The sweep over layouts: its layouts, the bytes that it says they touch, and the smaller ones reduced."""

import itertools
import math
import random

import numpy as np
import pytest

import gpureduce
from benchmarks.suite import layouts
from gpureduce import _core
from gpureduce._device.devices import resolve

FOUND = layouts.layouts()
SMALL = [layout for layout in FOUND if math.prod(layout.shape) <= 12_000 and layout.dtype != "bfloat16"]


def test_sectors_are_those_of_all_elements():
    draw = random.Random(1)
    for _ in range(400):
        item = draw.choice([1, 2, 4, 8])
        dims, apart = [], item
        for _ in range(draw.randint(1, 4)):
            n, step = draw.randint(1, 9), draw.choice([1, 1, 2, 3, 0])
            dims.append((n, apart * step))
            apart *= n * max(step, 1)
            apart += item * draw.choice([0, 0, 1, 3, 40])
        draw.shuffle(dims)
        offset = item * draw.randint(0, 40)
        starts = [
            offset + sum(i * stride for i, (_, stride) in zip(at, dims, strict=True))
            for at in itertools.product(*(range(n) for n, _ in dims))
        ]
        touched = {start // layouts.SECTOR for start in starts}  # no element crosses a boundary
        assert layouts.sectors(dims, offset, item) == len(touched), (dims, offset, item)


def test_layouts_are_of_every_kind():
    assert len(FOUND) >= 300 + len(layouts.KNOWN) and len(set(FOUND)) == len(FOUND)
    assert {layout.dtype for layout in FOUND} == set(layouts.ITEM)
    assert {layout.op for layout in FOUND} == {"sum", "max", "argmax", "any", "mean"}
    assert {len(layout.shape) for layout in FOUND} == {1, 2, 3, 4, 5}
    assert sum(layout.touched >= 16 << 20 for layout in FOUND) >= 60
    assert sum(0 in layout.strides for layout in FOUND) >= 30
    for layout in FOUND:
        item = layouts.ITEM[layout.dtype]
        strides = tuple(stride * item for stride in layout.strides)
        view = (1 << 20, layout.shape, strides, layout.dtype)
        _core.plan_general(view, layout.op, layout.axes, None)  # none is refused


@pytest.mark.parametrize("dtype", [name for name in layouts.ITEM if name != "bfloat16"])
def test_small_layouts_are_reduced(dtype, device):
    few = [layout for layout in SMALL if layout.dtype == dtype]
    assert len(few) >= 3
    count = max(layout.span for layout in few)
    values = np.random.default_rng(count).integers(0, 2, count) * 2 - 1
    host = (values > 0 if dtype == "bool" else values).astype(dtype)
    memory, place = gpureduce.to_device(host, device), resolve(device)
    for layout in few:
        strides = tuple(stride * host.itemsize for stride in layout.strides)
        view = np.lib.stride_tricks.as_strided(host[layout.offset :], layout.shape, strides)
        described = (memory._pointer + layout.offset * host.itemsize, layout.shape, strides, dtype)
        got = _core.general(described, layout.op, layout.axes, None, None, None, *place, None)
        exact = view.astype(np.float64) if "float" in dtype else view
        want = getattr(np, layout.op)(exact, axis=layouts.axis_of(layout))
        near = {"float16": 1e-3, "float32": 1e-6}.get(dtype, 1e-15)
        assert np.allclose(got, want, rtol=near, atol=0), layout
