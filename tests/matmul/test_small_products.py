"""Products with few columns, few rows or a short k: any strides, parts of k, and no copies."""

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce._profiles.from_core import kernel_profiles, observe
from gpureduce._rules.dtypes import dtype_from_name
from tests.support import product_cases as cases

KINDS = [
    ("float16", "ieee"),
    ("bfloat16", "ieee"),
    ("float32", "tf32"),
    ("float32", "ieee"),
    ("float64", "ieee"),
]
SHAPES = [
    (33, 7, 5), (1, 32, 700), (70, 33, 129), (5, 64, 1300), (40, 130, 2), (31, 13, 61), (9, 49, 2000),
    (100, 5, 40), (64, 2, 1), (2, 70, 16),
]  # fmt: skip


def operand(dtype, shape, k, kind, name, layout):
    """Return a matrix by rows, by columns, off a boundary, backwards, or with gaps between its elements."""
    matrix = cases.numbers(dtype, shape, k, kind, name)
    if layout == "columns":
        return np.asfortranarray(matrix)
    if layout == "off":
        room = np.zeros(matrix.size + 1, matrix.dtype)[1:].reshape(shape)
        room[:] = matrix
        return room
    if layout == "backwards":
        return matrix[::-1].copy()[::-1]
    if layout == "gaps":
        room = np.zeros((shape[0], 2 * shape[1] + 3), matrix.dtype)[:, 1::2][:, : shape[1]]
        room[:] = matrix
        return room
    return matrix


@pytest.mark.parametrize(("dtype", "precision"), KINDS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_layouts(shape, dtype, precision, device, some):
    m, n, k = shape
    names = ("rows", "columns", "gaps", "off", "backwards")
    layouts = [(x, y) for x in names for y in names]
    for kind in cases.kinds(dtype):
        for of_a, of_b in some(layouts, 2):
            a = operand(dtype, (m, k), k, kind, "a", of_a)
            b = operand(dtype, (k, n), k, kind, "b", of_b)
            got = gpureduce.matmul(a, b, precision=precision, device=device)
            assert not (reason := cases.mismatch(a, b, got, kind, precision)), (kind, of_a, of_b, reason)


@pytest.mark.parametrize(("dtype", "precision"), KINDS)
def test_stacks(dtype, precision, device):
    """Pairs of a stack share neither sums nor tickets."""
    rng = np.random.default_rng(1)
    a = rng.integers(-3, 4, (3, 2, 35, 1100)).astype(dtype_from_name(dtype))
    b = rng.integers(-3, 4, (2, 1100, 40)).astype(a.dtype)
    for _ in range(2):
        got = gpureduce.matmul(a, b, precision=precision, device=device)
        want = (a.astype(np.float64) @ b.astype(np.float64)).astype(a.dtype)
        assert np.array_equal(got, want)


def launched(shape, dtype, b_by_columns=False, precision=None):
    """Return the launches of a product on the simulator, which looks for races."""
    m, n, k = shape
    a, b = np.ones((m, k), dtype), np.ones((k, n), dtype, order="F" if b_by_columns else "C")
    _, launches, problem = observe(
        lambda device: _core.matmul(a, b, None, precision, True, (None, device, 0, 0)), True
    )
    assert problem is None
    return kernel_profiles(launches, "", 0)


@pytest.mark.parametrize(
    "shape", [(40, 20, 702), (9, 49, 5001), (50, 127, 135), (3, 64, 2050), (5, 100, 163)]
)
@pytest.mark.parametrize("b_by_columns", [False, True])
@pytest.mark.parametrize(("dtype", "precision"), [(np.float16, None), (np.float32, "tf32")])
def test_one_launch_without_races(shape, b_by_columns, dtype, precision):
    (kernel,) = launched(shape, dtype, b_by_columns, precision)
    assert kernel.name == f"matmul_small_{32 if shape[1] <= 32 else 64}_{precision or 'f16'}"
    assert kernel.races == ()


@pytest.mark.parametrize("shape", [(9, 2, 1), (20, 7, 300), (3, 70, 60)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_plain_products_have_one_launch_without_races(shape, dtype):
    (kernel,) = launched(shape, dtype, True)
    assert kernel.name.startswith("matmul_small_")
    assert kernel.races == ()


@pytest.mark.parametrize(("dtype", "n", "ladder"), [(np.float64, 68, "t5_"), (np.float32, 28, "m10_")])
def test_the_bits_are_those_of_the_ladder(dtype, n, ladder, device):
    """The rungs take many rows, in the same order of k."""
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in ((80, 614), (614, n)))
    assert all(x.name.startswith(ladder) for x in launched((80, n, 614), dtype))
    (small,) = launched((7, n, 614), dtype, True)
    assert small.name.startswith("matmul_small_")
    by_columns = gpureduce.matmul(a[:7], np.asfortranarray(b), device=device)
    assert np.array_equal(by_columns, gpureduce.matmul(a, b, device=device)[:7])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(20, 100, 331), (3, 1000, 35)])
def test_halves_have_the_bits_of_t3(dtype, shape, device):
    """Products of many columns: with many rows they are copied for the rung, with few rows they are not."""
    rng = np.random.default_rng(4)
    m, n, k = shape
    exponents = 2.0 ** rng.integers(-4, 5, (k, n))
    a = rng.standard_normal((m, k)).astype(dtype_from_name(dtype))
    b = (rng.standard_normal((k, n)) * exponents).astype(a.dtype)
    if device == "sim" and dtype == "float16":
        assert launched(shape, np.float16)[0].name == "matmul_small_64_ordered_f16"
    got = gpureduce.matmul(a, b, device=device)
    assert np.array_equal(
        got.view(np.uint16), gpureduce.matmul(a, b, variant="t3", device=device).view(np.uint16)
    )


def test_tf32_of_few_products_is_more_accurate(device):
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((100, 9)).astype(np.float32), rng.standard_normal((9, 30)).astype(np.float32)
    got = gpureduce.matmul(a, b, precision="tf32", device=device)
    assert np.array_equal(got, gpureduce.matmul(a, b, device=device))
