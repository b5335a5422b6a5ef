"""Every rung of the matrix products, and `auto`, multiplies matrices of every shape right."""

import itertools
import operator

import numpy as np
import pytest

import gpureduce
from tests.support import product_cases as cases

VARIANTS = [variant for variant in gpureduce.variants("matmul") if variant.role != "study"]
PRECISIONS = {"auto": "ieee", **{variant.name: variant.precision for variant in VARIANTS}}
IEEE = [variant for variant in VARIANTS if "float32" in variant.dtypes and variant.precision == "ieee"]


def real(variant):
    """The dtypes of a variant that `numbers` draws."""
    return [dtype for dtype in variant.dtypes if not dtype.startswith("complex")]


def combinations():
    for variant in VARIANTS:
        for dtype in real(variant):
            yield pytest.param(variant, dtype, id=f"{variant.name}-{dtype}")


def matrices(dtype, shape, kind):
    m, n, k = shape
    return cases.numbers(dtype, (m, k), k, kind, "a"), cases.numbers(dtype, (k, n), k, kind, "b")


def failures(variant, dtype, shapes, device):
    """The sentences about every wrong product, so that one report names all shapes that fail."""
    found = []
    for shape in shapes:
        for kind in cases.kinds(dtype):
            a, b = matrices(dtype, shape, kind)
            got = gpureduce.matmul(a, b, variant=variant, device=device)
            reason = cases.mismatch(a, b, got, kind, PRECISIONS[variant])
            found += [f"{kind} {shape}: {reason}"] if reason else []
    return found


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64", "float16", "float32", "float64"])
def test_the_exact_products_are_those_of_pythons_integers(dtype):
    is_float = dtype.startswith("float")
    a, b = matrices(dtype, (5, 7, 33), "exact" if is_float else "extremes")
    rows, columns = ([[int(value) for value in line] for line in side.tolist()] for side in (a, b.T))
    wanted = [[sum(map(operator.mul, row, column)) for column in columns] for row in rows]
    if not is_float:
        info = np.iinfo(dtype)
        wanted = [[(value - info.min) % 2**info.bits + info.min for value in row] for row in wanted]
    assert cases.exact(a, b).tolist() == np.array(wanted, dtype).tolist()


@pytest.fixture
def shapes(thin, some):
    """Those that a test multiplies: where time is short a sixth, every rung and dtype another one."""
    return cases.THIN_SHAPES if thin else some(cases.SHAPES, 6)


@pytest.mark.parametrize("variant, dtype", list(combinations()))
def test_every_shape(variant, dtype, device, shapes):
    found = failures(variant.name, dtype, shapes, device)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("variant, dtype", list(combinations()))
def test_whole_tiles(variant, dtype, device, thin, some):
    """Of which some kernels take all copies and loads at once; several, and several steps along k."""
    for k in (64,) if thin else some((64, 448), 2):
        a, b = matrices(dtype, (256, 256, k), "exact")
        wide = np.int64 if a.dtype.kind in "iu" else np.float64  # the sums have room in either
        wanted = np.matmul(a.astype(wide), b.astype(wide)).astype(a.dtype)
        got = gpureduce.matmul(a, b, variant=variant.name, device=device)
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("variant", ["t2", "t3", "t4", "t5"])
def test_more_tiles_than_multiprocessors(variant, device, full):
    """The blocks of these rungs stay, and make several tiles."""
    (dtype, *_) = next(each.dtypes for each in VARIANTS if each.name == variant)
    a, b = matrices(dtype, (2304, 2050, 8), "exact")
    wanted = np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(dtype)
    np.testing.assert_array_equal(gpureduce.matmul(a, b, variant=variant, device=device), wanted)


@pytest.mark.core
@pytest.mark.parametrize("variant, dtype", list(combinations()))
def test_quick(variant, dtype, device):
    found = failures(variant.name, dtype, [(3, 5, 7), (33, 65, 9), (129, 2, 33)], device)
    assert not found, "\n".join(found)


@pytest.mark.many
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int32", "int64", "uint32", "uint64", "complex64", "complex128"]
)
def test_every_shape_by_default(dtype, device, shapes):
    found = failures("auto", dtype, shapes, device)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize(
    "shape",
    [(300, 310, 40), (500, 450, 17), (1000, 900, 17), (1601, 1603, 17), (20, 24, 5000), (64, 65, 4099)],
)
def test_tiles_of_every_size(shape, dtype, device, thin):
    """Those that larger products are made of by default, at the edges and several a block; slices of k."""
    if thin and max(shape) > 500:
        pytest.skip("the kernels of smaller tiles are of the same source")
    a, b = matrices(dtype, shape, "exact")
    np.testing.assert_array_equal(gpureduce.matmul(a, b, device=device), np.matmul(a, b))


@pytest.mark.parametrize(
    ("dtype", "variant"),
    [("float16", "auto"), ("bfloat16", "auto"), ("float16", "t3"), ("bfloat16", "t3"), ("float32", "auto")],
)
@pytest.mark.parametrize(
    "shape", [(3, 70, 64), (130, 300, 136), (1, 257, 8), (200, 2, 72), (9, 132, 300), (31, 64, 20)]
)
def test_a_transposed_matrix(shape, dtype, variant, device):
    """It is not copied where its columns begin on boundaries of 16 bytes; one matrix and several."""
    a, b = matrices(dtype, shape, "exact")
    wanted = gpureduce.matmul(a, b, variant=variant, device=device)
    by_columns = np.ascontiguousarray(b.T).T
    got = gpureduce.matmul(a, by_columns, variant=variant, device=device)
    np.testing.assert_array_equal(got.astype(np.float32), wanted.astype(np.float32))
    stack = np.stack([b.T, -b.T]).swapaxes(-1, -2)
    for other, signs in ((stack, (1, -1)), (stack[:1], (1,))):
        products = gpureduce.matmul(np.stack([a] * len(other)), other, variant=variant, device=device)
        for product, sign in zip(products, signs, strict=True):
            np.testing.assert_array_equal(product.astype(np.float32), sign * wanted.astype(np.float32))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_stages_are_read_before_they_are_filled_again(dtype, device):
    """Seen where blocks that store to odd rows, element by element, delay their neighbours' loads."""
    if device != "cuda":
        pytest.skip("needs --device=cuda")
    a, b = matrices(dtype, (2048, 2049, 1024), "exact")
    wanted = np.matmul(a, b)
    for variant in ("auto", "t5"):
        for _ in range(5):
            np.testing.assert_array_equal(gpureduce.matmul(a, b, variant=variant, device=device), wanted)


@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (65, 63, 17), (3, 130, 33), (64, 64, 8), (2, 3, 0), (1, 2, 300)]
)
@pytest.mark.parametrize("dtype", cases.ALL_DTYPES)
def test_every_dtype(dtype, shape, device):
    """Whole numbers: small integers wrap as NumPy's, halves and complex numbers hold every sum."""
    m, n, k = shape
    rng = np.random.default_rng(m * 1000 + k)
    largest = 2 if np.dtype(dtype).kind in "fc" else 120
    a, b = (rng.integers(0, largest + 1, each) for each in ((m, k), (k, n)))
    if np.dtype(dtype).kind in "ifc":
        a = -a
    a, b = a.astype(dtype), b.astype(dtype)
    if np.dtype(dtype).kind == "c":
        a, b = a * (1 + 2j), b * (2 - 1j)
        a, b = a.astype(dtype), b.astype(dtype)
    got, wanted = gpureduce.matmul(a, b, device=device), np.matmul(a, b)
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_rounded_once(dtype, device):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    rng = np.random.default_rng(8)
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in ((66, 130), (130, 65)))
    got = gpureduce.matmul(a, b, device=device)
    wide, sizes = a.astype(np.float64) @ b.astype(np.float64), abs(a).astype(float) @ abs(b).astype(float)
    error, half = abs(got.astype(np.float64) - wide), cases.LAST[dtype.name]
    assert got.dtype == dtype
    assert (error <= half * abs(wide) + cases.allowed(a, b, "ieee") * sizes * (1 + half)).all()
    assert (error > 0).any()


def test_complex_products_round_little(device):
    rng = np.random.default_rng(9)
    a, b = (rng.standard_normal(s) + 1j * rng.standard_normal(s) for s in ((33, 70), (70, 65)))
    for dtype, unit in ((np.complex64, 2.0**-24), (np.complex128, 2.0**-53)):
        x, y = a.astype(dtype), b.astype(dtype)
        wide = x.astype(np.clongdouble) @ y.astype(np.clongdouble)
        sizes = (abs(x.real) + abs(x.imag)) @ (abs(y.real) + abs(y.imag))
        got = gpureduce.matmul(x, y, device=device)
        assert got.dtype == dtype
        assert (abs(got - wide) <= 2 * 140 * unit * sizes).all()


LAYOUTS = ("plain", "transposed", "backwards", "apart", "cropped", "record")


@pytest.mark.many
@pytest.mark.parametrize("of_b", LAYOUTS)
@pytest.mark.parametrize("of_a", LAYOUTS)
def test_strides(of_a, of_b, device, some):
    """Any strides, by a rung of each kind and by default; what lies between the elements is never used."""
    for dtype, kind in (("float32", "rounded"), ("int64", "extremes"), ("float64", "exact")):
        a, b = matrices(dtype, (67, 131, 33), kind)
        for variant in some(("auto", "m1", "m4", "m8"), 2):
            got = gpureduce.matmul(
                cases.strided(a, of_a), cases.strided(b, of_b), variant=variant, device=device
            )
            assert cases.mismatch(a, b, got, kind) is None, (variant, dtype)


STACKS = (
    ((3,), (3,)), ((3,), ()), ((), (3,)), ((2, 3), (2, 3)), ((2, 1), (1, 3)), ((1, 1), (2, 3)),
    ((2, 3), (3,)),
    ((0,), (0,)), ((0,), (1,)), ((2, 0), (1,)), ((4, 1, 2), (1, 3, 1)), ((2, 3, 2, 2), (2, 1, 2, 1)),
    ((2, 1, 2, 1, 2, 1), (1, 2, 1, 2, 1, 2)), ((70,), (1,)), ((1, 1, 1), (1,)),
)  # fmt: skip


@pytest.mark.parametrize("stacks", STACKS)
@pytest.mark.parametrize("variant", ["auto", "m0", "m3", "m7"])
def test_stacks_of_rungs(variant, stacks, device):
    a = cases.numbers("int64", (*stacks[0], 5, 7), 7, "extremes", "a")
    b = cases.numbers("int64", (*stacks[1], 7, 9), 7, "extremes", "b")
    got = gpureduce.matmul(a, b, variant=variant, device=device)
    assert got.flags.c_contiguous
    np.testing.assert_array_equal(got, np.matmul(a, b))


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_stacks(variant, device, thin, some):
    """Of every rung: matrices that are taken again, in every way, and those that lie apart."""
    for dtype in real(variant):
        for stacks in STACKS[4:5] if thin else some(STACKS[:6] + STACKS[10:12], 6):
            a = cases.numbers(dtype, (*stacks[0], 65, 33), 33, "exact", "a")
            b = cases.numbers(dtype, (*stacks[1], 33, 131), 33, "exact", "b")
            for left, right in ((a, b), (a[..., ::2, :], b[..., ::3])):
                got = gpureduce.matmul(left, right, variant=variant.name, device=device)
                wider = complex if np.dtype(left.dtype).kind == "c" else float
                wide = np.matmul(left.astype(wider), right.astype(wider))
                np.testing.assert_array_equal(got, wide.astype(got.dtype), err_msg=str(stacks))


def test_a_stack_of_more_matrices_than_blocks_along_y(device, thin):
    if thin:
        pytest.skip("the C code takes the same way for fewer")
    a = cases.numbers("int32", (65_537, 1, 2), 2, "extremes", "a")
    b = cases.numbers("int32", (65_537, 2, 1), 2, "extremes", "b")
    np.testing.assert_array_equal(gpureduce.matmul(a, b, variant="m0", device=device), np.matmul(a, b))


@pytest.mark.parametrize(
    "shapes", [((5,), (5,)), ((5,), (5, 3)), ((4, 5), (5,)), ((2, 4, 5), (5,)), ((5,), (2, 5, 3))]
)
def test_vectors(shapes, device):
    a, b = (
        cases.numbers("float64", shape, 5, "exact", place) for shape, place in zip(shapes, "ab", strict=True)
    )
    for variant in ("auto", "m0", "m5"):
        got, wanted = gpureduce.matmul(a, b, variant=variant, device=device), np.matmul(a, b)
        assert type(got) is type(wanted)
        np.testing.assert_array_equal(got, wanted)


LINES = (1, 2, 31, 257, 1000, 4099)


@pytest.mark.parametrize("of_matrix", ["plain", "transposed", "apart", "cropped"])
@pytest.mark.parametrize("side", ["row", "column"])
def test_a_matrix_and_a_vector(side, of_matrix, device, thin, some):
    """Whichever way the matrix lies, and in however many parts the products are added up."""
    for dtype, kind in (("float32", "rounded"), ("int64", "extremes"), ("float64", "exact")):
        for lines in LINES[:3] if thin else some(LINES, 2):
            for length in (0, 1, 3, 130, 513, 5001) if lines < 1000 else (0, 1, 70):
                matrix = cases.strided(cases.numbers(dtype, (lines, length), length, kind, "a"), of_matrix)
                vector = cases.strided(cases.numbers(dtype, (1, length), length, kind, "b"), of_matrix)
                a, b = (matrix, vector.T) if side == "column" else (vector, matrix.T)
                got = gpureduce.matmul(a, b, device=device)
                assert cases.mismatch(a, b, got, kind) is None, (dtype, lines, length)


@pytest.mark.parametrize("dtype", cases.ALL_DTYPES)
def test_a_vector_of_every_dtype(dtype, device):
    rng = np.random.default_rng(5)
    largest = 2 if np.dtype(dtype).kind in "fc" else 120
    for turned in (False, True):
        for rows, length in ((3, 2100), (300, 600), (40, 7)):
            a, b = (rng.integers(0, largest, each).astype(dtype) for each in ((rows, length), (length, 1)))
            a[:, ::2] *= np.dtype(dtype).type(0)  # so that halves hold every sum
            a, b = (b.T, a.T) if turned else (a, b)
            got, wanted = gpureduce.matmul(a, b, device=device), np.matmul(a, b)
            np.testing.assert_array_equal(got, wanted)
            a, b = np.asfortranarray(a), np.asfortranarray(b)
            np.testing.assert_array_equal(gpureduce.matmul(a, b, device=device), wanted)


def test_vectors_of_a_stack(device):
    a = cases.numbers("int32", (3, 1, 40, 600), 600, "extremes", "a")
    b = cases.numbers("int32", (2, 600, 1), 600, "extremes", "b")
    np.testing.assert_array_equal(gpureduce.matmul(a, b, device=device), np.matmul(a, b))
    a, b = a.swapaxes(-1, -2), b.swapaxes(-1, -2)
    np.testing.assert_array_equal(gpureduce.matmul(b, a, device=device), np.matmul(b, a))


@pytest.mark.parametrize("shape", [(35, 66, 17), (135, 140, 33)])
@pytest.mark.parametrize("variant", IEEE, ids=lambda variant: variant.name)
def test_what_is_not_finite_stays_where_it_is(variant, shape, device):
    """A NaN or an infinity reaches its row or column alone, whatever lies beyond the edges."""
    a, b = matrices("float32", shape, "rounded")
    a[-1, -1], b[0, -1], b[5, -2] = np.nan, np.inf, np.inf  # none meets a zero that fills a tile
    with np.errstate(all="ignore"):
        got, wanted = gpureduce.matmul(a, b, variant=variant.name, device=device), a @ b
    assert np.array_equal(np.isnan(got), np.isnan(wanted)) and np.array_equal(np.isinf(got), np.isinf(wanted))
    assert np.isnan(got[-1]).all() and np.isfinite(got[:-1, :-2]).all()


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_the_same_bits_every_time(variant, device):
    a, b = matrices(variant.dtypes[0], (70, 140, 50), "rounded")
    first = gpureduce.matmul(a, b, variant=variant.name, device=device)
    again = [gpureduce.matmul(a, b, variant=variant.name, device=device) for _ in range(3)]
    assert all(each.tobytes() == first.tobytes() for each in again)


SIDES = ("plain", "transposed", "backwards", "apart")


@pytest.mark.many
@pytest.mark.parametrize(
    ("name", "of_a", "of_b"),  # each rung has each side with two of the others, the two rungs all pairs
    [(("m9", "m10")[(i + j) % 2], SIDES[i], SIDES[j]) for i, j in itertools.product(range(4), repeat=2)],
)
def test_sides_are_taken_as_they_lie(name, of_a, of_b):
    a, b = matrices("float32", (133, 67, 35), "exact")
    found = gpureduce.profile((cases.strided(a, of_a), cases.strided(b, of_b)), name)
    assert [kernel.name.split("_")[0] for kernel in found.kernels] == [name]  # and no copy
    assert not found.races
    assert cases.mismatch(a, b, found.result, "exact") is None


@pytest.mark.parametrize("name", ["m9", "m10"])
def test_sides_that_serve_often_are_copied_to_rows(name):
    """Which start on boundaries of 16 bytes; a side of few uses, and one that lies so, is not."""
    a, b = matrices("float32", (5, 2049, 19), "exact")
    found = gpureduce.profile((np.asfortranarray(a), b), name)
    assert [kernel.name.split("_")[0] for kernel in found.kernels] == ["matmul", name]
    assert cases.mismatch(a, b, found.result, "exact") is None
    a, b = matrices("float32", (2050, 5, 19), "exact")
    for right, kernels in ((b, 2), (np.asfortranarray(b), 2), (b[:, :4].copy(), 1)):
        found = gpureduce.profile((a, right), name)
        assert len(found.kernels) == kernels
        assert cases.mismatch(a, right, found.result, "exact") is None
    b = cases.numbers("float32", (19, 131), 19, "exact", "b")  # aligned rows, whose ends the copy fills up
    found = gpureduce.profile((a, b), name)
    assert found.kernels[0].name.startswith("matmul_pack")
    assert not found.kernels[1].name.endswith("_any")
    assert cases.mismatch(a, b, found.result, "exact") is None


@pytest.mark.many
@pytest.mark.parametrize("k", [15, 16, 17, 31, 32, 49])
@pytest.mark.parametrize("name", ["m9", "m10"])
def test_tiles_at_the_edges(name, k, some):
    """Moved back over their neighbours where the matrix is larger than a tile; each stores its own part."""
    for m, n in some(((128, 128), (129, 132), (135, 260), (255, 129), (300, 131)), 4):
        a, b = matrices("float32", (m, n, k), "exact")
        found = gpureduce.profile((a, b), name)
        assert not found.races
        assert cases.mismatch(a, b, found.result, "exact") is None, (m, n)


@pytest.mark.many
@pytest.mark.parametrize("shape", [(7, 9, 3000), (40, 70, 4111), (64, 64, 8192)])
def test_k_in_slices(shape, thin):
    """Few results of many products: slices of k, each with a C of its own, and their sum."""
    for kind in ("exact",) if thin or max(shape) > 5000 else ("exact", "rounded"):
        a, b = matrices("float32", shape, kind)
        found = gpureduce.profile((a, b), "m10")
        assert len(found.kernels) == 2 and found.kernels[1].name == "m10_sum_f32"
        assert not found.races
        assert cases.mismatch(a, b, found.result, kind) is None
    for stacked in (np.stack([a, a[::-1]]), a[None]):
        got = gpureduce.matmul(stacked, b, variant="m10", device="sim")
        assert cases.mismatch(a, b, got[0], kind) is None
