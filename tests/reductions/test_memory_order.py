"""Results along axes lie in memory as NumPy's do: in the order of the array's axes, but for positions."""

import itertools
import random

import numpy as np
import pytest

import gpureduce

pytestmark = pytest.mark.core

OPERATORS = ("sum", "prod", "min", "max", "mean", "any", "all", "argmin", "argmax", "count_nonzero")


def array_of(shape, order, dtype="float64"):
    """An array whose axes lie in memory in the given order, the first the slowest."""
    values = np.arange(1, np.prod(shape, dtype=int) + 1) * 7 % 11 - 4
    return values.astype(dtype).reshape([shape[axis] for axis in order]).transpose(np.argsort(order))


def steps(array):
    """The strides that matter."""
    return [stride for stride, length in zip(array.strides, array.shape, strict=True) if length > 1]


def check(op, array, device, **arguments):
    wanted = getattr(np, op)(array, **arguments)
    got = getattr(gpureduce, op)(array, device=device, **arguments)
    assert steps(got) == steps(wanted), (op, array.shape, array.strides, arguments)
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(got, wanted)
    assert got.flags.writeable


@pytest.mark.parametrize("op", OPERATORS)
def test_every_order_of_axes(op, device):
    for order in itertools.permutations(range(3)):
        array = array_of((2, 3, 4), order)
        for axis in range(3):
            check(op, array, device, axis=axis)
            check(op, array, device, axis=axis, keepdims=True)
        if op not in ("argmin", "argmax"):
            check(op, array, device, axis=())


@pytest.mark.parametrize("op", ["sum", "max", "argmax", "count_nonzero"])
def test_any_layout(op, device):
    """Steps, axes of one element, elements that are repeated: what says no order goes by C order."""
    draw = random.Random(op)
    for _ in range(150):
        ndim = draw.randrange(2, 6)
        shape = tuple(draw.choice((1, 2, 2, 3, 4)) for _ in range(ndim))
        array = array_of(shape, draw.sample(range(ndim), ndim), draw.choice(("float32", "int16")))
        array = array[tuple(slice(None, None, draw.choice((1, 1, 2, -1))) for _ in shape)]
        if draw.random() < 0.3:
            array = np.broadcast_to(array[..., :1], array.shape)
        axes = tuple(draw.sample(range(ndim), draw.randrange(1, ndim)))
        axis = axes[0] if op == "argmax" else axes
        check(op, array, device, axis=axis, keepdims=draw.random() < 0.3)


def test_masks_take_part(device):
    """Where array and mask are ordered differently, NumPy goes by C order."""
    for order, mask_order in itertools.product(itertools.permutations(range(3)), repeat=2):
        mask = array_of((2, 3, 4), mask_order) > 0
        check("sum", array_of((2, 3, 4), order), device, axis=1, where=mask)
    check("sum", array_of((2, 3, 4), (2, 1, 0)), device, axis=1, where=np.array([True, False, True, True]))


def test_other_ways_keep_the_order_too(device):
    """What is cast, swapped or copied before the kernel, starts elsewhere, or has too many separate axes."""
    array = array_of((2, 3, 4), (2, 1, 0))
    check("sum", array.astype("float32"), device, axis=0, dtype="float64")
    check("sum", array.byteswap().view(array.dtype.newbyteorder()), device, axis=0)
    check("sum", array, device, axis=0, initial=5)
    check("sum", array.astype("longlong"), device, axis=0)
    many = array_of((2, 3) * 5, (9, 3, 1, 5, 7, 0, 2, 4, 6, 8))
    check("sum", many, device, axis=(0, 2, 4, 6, 8))
    check("mean", many, device, axis=(1, 3, 4, 6, 8))


def test_an_array_that_is_given_keeps_its_own(device):
    array = array_of((2, 3, 4), (2, 1, 0))
    for order in ("C", "F"):
        out = np.empty((3, 4), order=order)
        strides = out.strides
        assert gpureduce.sum(array, axis=0, out=out, device=device) is out and out.strides == strides
        np.testing.assert_array_equal(out, array.sum(axis=0))


def test_device_arrays(device):
    """Those are in C order, as all of ours on a device; what is copied from there, too."""
    there = gpureduce.to_device(array_of((2, 3, 4), (2, 1, 0)), device)
    assert gpureduce.sum(there, axis=0).strides == (32, 8)
    assert gpureduce.sum(there, axis=0, as_device=False).strides == (32, 8)
    moved = gpureduce.sum(array_of((2, 3, 4), (2, 1, 0)), axis=0, as_device=True, device=device)
    assert moved.strides == (32, 8)
    np.testing.assert_array_equal(moved.numpy(), array_of((2, 3, 4), (2, 1, 0)).sum(axis=0))
