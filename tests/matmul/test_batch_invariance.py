"""The bits of a row of a product do not depend on how many other rows there are, or where they are."""

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce._profiles.from_core import kernel_profiles, observe
from gpureduce._rules.dtypes import dtype_from_name

CASES = [
    *(("float32", precision) for precision in ("ieee", "tf32", "tf32x3", "f16x3")),
    *((dtype, "ieee") for dtype in ("float64", "complex64", "complex128", "float16", "bfloat16")),
]
# n and k: one part of k and several, whose lengths differ; a vector; edges of tiles.
SHAPES = ((200, 700), (64, 1300), (5, 600), (1, 5000), (33, 100))
ROWS = 140
FEWER = (1, 2, 8, 9, 33, 100)


def spread(shape, dtype, seed):
    """Numbers over many exponents, of both signs, so that another order of a sum has other bits."""
    rng = np.random.default_rng(seed)
    exponents = 3 if dtype == "float16" else 8

    def draw():
        return rng.standard_normal(shape) * 2.0 ** rng.integers(-exponents, exponents + 1, shape)

    complex_part = 1j * draw() if dtype.startswith("complex") else 0
    return (draw() + complex_part).astype(dtype_from_name(dtype))


def same_bits(x, y):
    return x.shape == y.shape and x.tobytes() == y.tobytes()


@pytest.fixture
def product(device):
    return lambda a, b, precision="ieee", **options: gpureduce.matmul(
        a, b, precision=precision, device=device, **options
    )


@pytest.fixture
def shapes(some):
    return some(SHAPES, 2)


@pytest.mark.parametrize(("dtype", "precision"), CASES)
def test_number_and_place_of_rows(dtype, precision, product, shapes, some):
    for n, k in shapes:
        a, b = spread((ROWS, k), dtype, n), spread((k, n), dtype, k)
        whole = product(a, b, precision)
        assert np.isfinite(np.abs(whole).max())
        for rows in some(FEWER, 2):
            first, last = product(a[:rows], b, precision), product(a[-rows:], b, precision)
            assert same_bits(first, whole[:rows]), (rows, n, k)
            assert same_bits(last, whole[-rows:]), (rows, n, k)


@pytest.mark.parametrize(("dtype", "precision"), CASES)
def test_stacks_alignment_and_layout(dtype, precision, product, shapes):
    """Rows that begin off 16 bytes; matrices stored by columns, except that of a matrix and a vector."""
    for n, k in shapes:
        a, b = spread((28, k), dtype, n), spread((k, n), dtype, k)
        whole = product(a, b, precision)
        room = np.zeros(a.size + 1, a.dtype)
        odd = room[1:].reshape(a.shape)
        odd[:] = a
        assert same_bits(product(odd, b, precision), whole), (n, k)
        assert same_bits(product(a.reshape(4, 7, k), b, precision).reshape(28, n), whole), (n, k)
        by_columns = a if n == 1 else np.asfortranarray(a)
        assert same_bits(product(by_columns, np.asfortranarray(b), precision), whole), (n, k)


@pytest.mark.parametrize("dtype", ["float32", "float16", "complex128"])
def test_a_matrix_stored_by_columns_times_a_vector(dtype, product):
    """Its order of k is another one than that of rows, but depends on k alone, too."""
    a, b = spread((70, 1100), dtype, 1), spread((1100,), dtype, 2)
    whole = product(np.asfortranarray(a), b)
    for rows in (2, 33):
        assert same_bits(product(np.asfortranarray(a[:rows]), b), whole[:rows])


def launched(a, b):
    """The product, and the names of the kernels that computed it on the simulator."""
    result, launches, problem = observe(
        lambda device: _core.matmul(a, b, None, None, True, (None, device, 0, 0)), False
    )
    assert problem is None
    return result, {kernel.name for kernel in kernel_profiles(launches, "", 0)}


@pytest.mark.many
@pytest.mark.parametrize(
    ("dtype", "shape", "stack", "rounds"),
    [
        ("float32", (33, 64, 600), 300, {"m10_f32_32x64_rounds"}),
        ("complex64", (33, 32, 300), 300, {"m10_c64_32x32_rounds"}),
        ("float64", (128, 64, 260), 130, {"matmul_direct_64x64_f64"}),
    ],
)
def test_parts_of_k_one_after_the_other(dtype, shape, stack, rounds, on_gpu):
    """Many tiles, whose blocks add their parts to C, and few, whose parts are shared by other means."""
    if on_gpu:
        pytest.skip("names of kernels are those of the simulator")
    m, n, k = shape
    a, b = spread((m, k), dtype, 3), spread((k, n), dtype, 4)
    few, first = launched(a[:9], b)
    many, names = launched(np.broadcast_to(a, (stack, m, k)), b)
    assert names == rounds
    assert not names & first
    for matrix in (0, 1, stack - 1):
        assert same_bits(many[matrix, :9], few)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_other_orders_are_allowed(dtype, product):
    """The default differs from the fastest order, or this module tests nothing."""
    a, b = spread((64, 3000), dtype, 5), spread((3000, 64), dtype, 6)
    whole = product(a, b, batch_invariant=False)
    rows = [product(a[:rows], b, batch_invariant=False) for rows in (1, 8, 40)]
    assert not all(same_bits(each, whole[: len(each)]) for each in rows)
    np.testing.assert_allclose(whole, product(a, b), rtol=1e-3, atol=1e-3 * np.abs(whole).max())


def test_the_argument_is_a_bool(product):
    with pytest.raises(TypeError, match="batch_invariant: expected a bool"):
        product(np.ones((2, 2)), np.ones((2, 2)), batch_invariant=np.ones(3))
