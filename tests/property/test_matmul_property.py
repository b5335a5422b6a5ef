"""Random products against `numpy.matmul`: shapes, stacks, strides, dtypes, `out=`, where they lie."""

import numpy as np
import pytest

import gpureduce
from tests.support.selection import runs_on

DTYPES = (
    "bool",
    "int8",
    "uint16",
    "int32",
    "int64",
    "uint64",
    "float32",
    "float64",
    "complex64",
    "complex128",
)


def draw_array(rng, shape, dtype):
    """An array of small whole numbers with strides of some kind."""
    order = rng.permutation(len(shape))
    step = rng.integers(1, 3, len(shape))
    sign = rng.choice([1, 1, -1], len(shape))
    room = [shape[axis] * step[axis] for axis in order]
    base = rng.integers(-3, 4, room)
    if np.dtype(dtype).kind == "c":
        base = base + 1j * rng.integers(-3, 4, room)
    base = base.astype(dtype) if np.dtype(dtype).kind != "u" else abs(base).astype(dtype)
    view = base.transpose(np.argsort(order))
    view = view[tuple(slice(None, None, int(step[axis] * sign[axis])) for axis in range(len(shape)))]
    return view[tuple(slice(0, length) for length in shape)]


def draw_shapes(rng):
    m, n, k = (int(rng.choice([0, 1, 2, 3, 5, 8, 17, 33])) for _ in range(3))
    stack = tuple(int(each) for each in rng.integers(1, 4, rng.integers(0, 4)))
    thinned = [tuple(1 if rng.random() < 0.3 else length for length in stack) for _ in range(2)]
    cut = [side[rng.integers(0, len(side) + 1) :] for side in thinned]
    left = (k,) if not cut[0] and rng.random() < 0.15 else (*cut[0], m, k)
    right = (k,) if not cut[1] and rng.random() < 0.15 else (*cut[1], k, n)
    return left, right


def agree(got, wanted):
    return type(got) is type(wanted) and got.dtype == wanted.dtype and got.shape == wanted.shape


@pytest.mark.core
def test_random_products(device, thin):
    rng = np.random.default_rng(20261122)
    able = [each for each in gpureduce.variants("matmul") if runs_on(each, device) and each.role != "study"]
    names = ["auto", *(each.name for each in able)]
    for _ in range(300 if thin else 1500):
        shapes, dtype = draw_shapes(rng), rng.choice(DTYPES)
        a, b = (draw_array(rng, shape, dtype) for shape in shapes)
        variant = str(rng.choice(names))
        if variant != "auto" and dtype not in {v.name: v.dtypes for v in gpureduce.variants()}[variant]:
            variant = "auto"
        wanted = np.matmul(a, b)
        what = (shapes, dtype, variant, a.strides, b.strides)
        got = gpureduce.matmul(a, b, variant=variant, device=device)
        assert agree(got, wanted), what
        np.testing.assert_array_equal(got, wanted, err_msg=str(what))
        if rng.random() < 0.3:
            out = np.zeros(wanted.shape, wanted.dtype)
            assert gpureduce.matmul(a, b, out, variant=variant, device=device) is out
            np.testing.assert_array_equal(out, wanted, err_msg=str(what))
        if rng.random() < 0.3:
            there = [gpureduce.to_device(each, device) for each in (a, b)]
            found = gpureduce.matmul(*there, variant=variant)
            np.testing.assert_array_equal(found.numpy(), wanted, err_msg=str(what))
