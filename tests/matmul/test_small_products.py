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
    (100, 5, 40), (64, 2, 1), (2, 70, 16), (37, 3, 1399), (3, 8, 600), (20, 2, 129), (70, 1, 50),
    (40, 20, 61), (530, 260, 3), (1100, 120, 7), (300, 450, 14),
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
    "shape", [(40, 20, 703), (9, 49, 5001), (50, 127, 135), (13, 64, 2051), (5, 100, 163)]
)
@pytest.mark.parametrize("b_by_columns", [False, True])
@pytest.mark.parametrize(("dtype", "precision"), [(np.float16, None), (np.float32, "tf32")])
def test_one_launch_without_races(shape, b_by_columns, dtype, precision):
    (kernel,) = launched(shape, dtype, b_by_columns, precision)
    assert kernel.name.startswith("matmul_direct_")
    assert kernel.name.endswith(precision or "f16")
    assert kernel.races == ()


@pytest.mark.parametrize(
    ("shape", "name"),
    [
        ((20, 17, 300), "matmul_direct_16x8_k_major_f64"),
        ((3, 70, 61), "matmul_direct_16x8_k_major_f64"),
        ((9, 20, 5001), "matmul_direct_16x8_k_major_f64"),
    ],
)
def test_doubles_have_one_launch_without_races(shape, name):
    (kernel,) = launched(shape, np.float64, True)
    assert kernel.name == name
    assert kernel.races == ()


@pytest.mark.parametrize(
    ("shape", "dtype", "name"),
    [
        ((5, 7, 3), np.float16, "matmul_short_1x1_f16"),
        ((530, 260, 3), np.float16, "matmul_short_rows4_f16"),
        ((1100, 120, 7), np.float64, "matmul_short_rows8_f64"),
        ((300, 450, 14), np.float32, "matmul_short_4x4_f32"),
        ((20, 300, 60), np.float32, "matmul_short_1x1_f32"),
        ((20, 30, 50), np.float16, "matmul_short_fragments_f16"),
        ((20, 2, 700), np.float16, "matmul_columns_2_f16"),
        ((20, 3, 700), np.float32, "matmul_columns_4_f32"),
        ((20, 7, 300), np.float64, "matmul_columns_8_f64"),
        ((20, 1, 50), np.float64, "matmul_columns_2_f64"),
    ],
)
def test_short_and_narrow_products_have_one_launch_without_races(shape, dtype, name):
    (kernel,) = launched(shape, dtype)
    assert kernel.name == name
    assert kernel.races == ()


@pytest.mark.parametrize(("dtype", "precision"), KINDS)
@pytest.mark.parametrize(
    ("n", "k"),
    [
        (3, 2),
        (70, 9),
        (200, 5),
        (260, 16),
        (40, 30),
        (7, 40),
        (30, 60),
        (2, 150),
        (5, 1500),
        (1, 40),
        (1, 12),
    ],
)
def test_the_bits_do_not_depend_on_the_number_of_rows(n, k, dtype, precision, device):
    """Rows of one, few and many rows: of short products other kernels compute them."""
    rng = np.random.default_rng(5)
    rows = 530 if n * k < 5000 else 140
    a, b = (rng.standard_normal(shape).astype(dtype_from_name(dtype)) for shape in ((rows, k), (k, n)))
    many = gpureduce.matmul(a, b, precision=precision, device=device)
    for first, count in ((0, 1), (3, 2), (rows - 21, 21)):
        few = gpureduce.matmul(a[first : first + count], b, precision=precision, device=device)
        assert few.tobytes() == many[first : first + count].tobytes(), (first, count)


@pytest.mark.parametrize(
    ("dtype", "precision", "n", "k", "rows"),
    [
        ("float16", "ieee", 49, 2051, 3000),
        ("float64", "ieee", 18, 5001, 1000),
        ("float32", "tf32", 30, 700, 900),
        ("bfloat16", "ieee", 64, 1096, 3000),
        ("bfloat16", "ieee", 2, 700, 8500),
        ("float32", "ieee", 5, 1100, 2200),
        ("float64", "ieee", 3, 1300, 4300),
    ],
)
def test_parts_of_k_of_many_rows_and_of_few(dtype, precision, n, k, rows, device):
    """Blocks take one part of k or several, or other kernels have the same parts."""
    rng = np.random.default_rng(8)
    exponents = 2.0 ** rng.integers(-3, 4, (rows, k))
    a = (rng.standard_normal((rows, k)) * exponents).astype(dtype_from_name(dtype))
    b = rng.standard_normal((k, n)).astype(a.dtype)
    many = gpureduce.matmul(a, b, precision=precision, device=device)
    for first, count in ((0, 1), (3, 9), (100, 70), (rows - 33, 33)):
        few = gpureduce.matmul(a[first : first + count], b, precision=precision, device=device)
        assert few.tobytes() == many[first : first + count].tobytes(), (first, count)


@pytest.mark.parametrize(("dtype", "precision"), KINDS)
@pytest.mark.parametrize("k", [4, 7, 8, 13, 16])
def test_negative_zeros_do_not_depend_on_the_number_of_rows(k, dtype, precision, device):
    """Products that underflow are -0; zeros beyond the end of k make a sum of them 0."""
    tiny = 1e-200 if dtype == "float64" else 1e-6 if dtype == "float16" else 1e-30
    a, b = (np.full(shape, tiny).astype(dtype_from_name(dtype)) for shape in ((530, k), (k, 260)))
    many = gpureduce.matmul(-a, b, precision=precision, device=device)
    few = gpureduce.matmul(-a[:2], b, precision=precision, device=device)
    assert few.tobytes() == many[:2].tobytes()


def test_rows_of_few_columns_are_copied_if_they_are_not_contiguous(device):
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((300, 400)), rng.standard_normal((400, 5))
    by_columns = gpureduce.matmul(np.asfortranarray(a), b, device=device)
    assert np.array_equal(by_columns, gpureduce.matmul(a, b, device=device))


def test_the_bits_of_doubles_are_those_of_the_ladder(device):
    """The rungs take many rows, in the same order of k."""
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal(shape) for shape in ((80, 614), (614, 68)))
    assert all(x.name.startswith("t5_") for x in launched((80, 68, 614), np.float64))
    (small,) = launched((7, 68, 614), np.float64, True)
    assert small.name.startswith("matmul_direct_")
    by_columns = gpureduce.matmul(a[:7], np.asfortranarray(b), device=device)
    assert np.array_equal(by_columns, gpureduce.matmul(a, b, device=device)[:7])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(20, 100, 331), (200, 1000, 35), (3, 1000, 35), (27, 67, 1023)])
def test_halves_have_the_bits_of_t3(dtype, shape, device):
    """Products of many columns: with many rows they are copied for the rung, with few rows they are not."""
    rng = np.random.default_rng(4)
    m, n, k = shape
    exponents = 2.0 ** rng.integers(-4, 5, (k, n))
    a = rng.standard_normal((m, k)).astype(dtype_from_name(dtype))
    b = (rng.standard_normal((k, n)) * exponents).astype(a.dtype)
    if device == "sim" and dtype == "float16":
        kernel = "short_fragments" if m == 3 else "small" if n == 1000 else "direct"
        assert launched(shape, np.float16)[0].name.startswith(f"matmul_{kernel}_")
    got = gpureduce.matmul(a, b, device=device)
    assert np.array_equal(
        got.view(np.uint16), gpureduce.matmul(a, b, variant="t3", device=device).view(np.uint16)
    )


@pytest.mark.parametrize("shape", [(20, 100, 331), (40, 70, 35), (3, 200, 129)])
def test_tf32_has_the_bits_of_t1(shape, device):
    """Numbers halfway between two TF32 are rounded as tensor maps round them."""
    rng = np.random.default_rng(7)
    m, n, k = shape
    a, b = rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)
    for x in (a, b):
        bits = x.view(np.uint32)
        bits[::2] = bits[::2] & np.uint32(0xFFFFE000) | np.uint32(0x1000)
    got = gpureduce.matmul(a, b, precision="tf32", device=device)
    assert np.array_equal(
        got.view(np.uint32),
        gpureduce.matmul(a, b, variant="t1", precision="tf32", device=device).view(np.uint32),
    )


def test_tf32_of_few_products_is_more_accurate(device):
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((100, 9)).astype(np.float32), rng.standard_normal((9, 30)).astype(np.float32)
    got = gpureduce.matmul(a, b, precision="tf32", device=device)
    assert np.array_equal(got, gpureduce.matmul(a, b, device=device))
