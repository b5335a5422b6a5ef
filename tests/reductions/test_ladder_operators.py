"""Every variant, operator but sum, dtype and block size: the right value for every size of array."""

import itertools
import warnings

import numpy as np
import pytest

import gpureduce
from tests.support import operator_cases, reference
from tests.support.selection import block_sizes, few_block_sizes, runs_on, usual_block_sizes

VARIANTS = gpureduce.variants("reduction")
CELLS = [(variant, op, dtype) for variant in VARIANTS for op, dtype in variant.coverage if op != "sum"]
SIZES = [n for n in reference.SIZES if n <= 4097]
MIDDLE_SIZES = [n for n in reference.SIZES if 4097 < n < 2**17]
LARGE_SIZES = [n for n in reference.SIZES if n > 2**17]
ODD_BLOCK_SIZES = (1, 33, 513, 1000)  # array sizes for block sizes that are no power of two


def named(cells):
    return [pytest.param(*cell, id=f"{cell[0].name}-{'-'.join(cell[1:])}") for cell in cells]


def failures(variant, op, dtype, n, device, block, grid=None):
    """The sentences about every wrong result, so that one report names all that fail."""
    found = []
    if n == 0 and op in operator_cases.WITHOUT_IDENTITY:
        return found  # see test_no_elements
    for case in operator_cases.cases(op, dtype, n):
        result = getattr(gpureduce, op)(
            case.array, variant=variant.name, device=device, block_size=block, grid_size=grid
        )
        reason = operator_cases.mismatch(case, result)
        if reason:
            found.append(f"block size {block}: {reason}")
    return found


def sizes_for(block, on_gpu, thin):
    if block and block & (block - 1):
        return ODD_BLOCK_SIZES
    if thin:
        return 1, 65, 4097
    # The simulator needs seconds for the large ones, whose path test_ladder takes with sums.
    return [*SIZES, *MIDDLE_SIZES[-1:], *(MIDDLE_SIZES[:-1] + LARGE_SIZES if on_gpu else [])]


@pytest.mark.parametrize("variant, op, dtype", named(CELLS))
def test_every_size(variant, op, dtype, device, on_gpu, thin, exhaustive, some):
    wanted = few_block_sizes if thin else block_sizes if exhaustive else usual_block_sizes
    blocks = some(wanted(variant), 4)
    found = [
        reason
        for block in (sorted({variant.default_block_size, *blocks}) if variant.block_sizes else blocks)
        for n in sizes_for(block, on_gpu, thin)
        for reason in failures(variant, op, dtype, n, device, block)
    ]
    assert not found, f"{len(found)} are wrong:\n" + "\n".join(found)


@pytest.mark.core
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_quick(variant, device):
    """One pass, two passes and tails, for runs under a sanitizer."""
    cells = [(op, dtype) for op, dtype in variant.coverage if op != "sum"]
    found = [
        reason
        for op, dtype in cells
        for n in (1, 3, 65, 257)
        for reason in failures(variant, op, dtype, n, device, block_sizes(variant)[0])
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "variant", [variant for variant in VARIANTS if variant.fixed_grid], ids=lambda variant: variant.name
)
def test_explicit_grid(variant, device, exhaustive):
    """A grid larger than the work, and one that leaves a thread many elements, lose nothing."""
    cells = [(op, dtype) for op, dtype in variant.coverage if op != "sum" and dtype != "float64"]
    launches = list(itertools.product((1, 3, 100), (1, 255, 4097)))
    found = [
        reason
        for i, (op, dtype) in enumerate(cells)
        for grid, n in (launches if exhaustive else [*launches[i % 3 :: 3], (1, 4097)])
        for reason in failures(variant, op, dtype, n, device, 128, grid)
    ]
    assert not found, "\n".join(found)


@pytest.mark.core
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_no_elements(variant, device):
    """The identity and its dtype, or ValueError where there is none."""
    for op, dtype in variant.coverage:
        empty = np.empty((0, 3), dtype)
        reduce = getattr(gpureduce, op)
        if op in operator_cases.WITHOUT_IDENTITY:
            with pytest.raises(ValueError, match=op):
                reduce(empty, variant=variant.name, device=device)
            continue
        got = reduce(empty, variant=variant.name, device=device)
        wanted = operator_cases.numpy_result(op, empty.reshape(-1))
        assert type(got) is type(wanted) and got == wanted, (op, dtype)


@pytest.mark.parametrize("dtype", reference.FLOATS)
@pytest.mark.parametrize("op", ["min", "max", "prod"])
def test_special_values_anywhere(op, dtype, device):
    """NaN propagates from any position, as in NumPy; infinities, zeros and subnormal numbers are ordinary."""
    values = (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, np.finfo(dtype).smallest_subnormal)
    for n in (1, 2, 33, 300):
        usual = np.linspace(1, 2, n) * (-1 if op == "max" else 1)
        if op == "prod":  # so that each product is exact, in any order
            usual = np.where(usual < np.median(usual), -1, 1)
        for position in {0, n // 2, n - 1}:
            for value in values:
                array = usual.astype(dtype)
                array[position] = value
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    wanted = getattr(np, op)(array)
                for variant in VARIANTS:
                    if (op, dtype) not in variant.coverage or not runs_on(variant, device):
                        continue
                    block = block_sizes(variant)[0]
                    got = getattr(gpureduce, op)(array, variant=variant.name, device=device, block_size=block)
                    said = f"{variant.name}, {value} at {position} of {n}: {got!r}, NumPy {wanted!r}"
                    if np.isnan(wanted):
                        assert got.tobytes() == np.dtype(dtype).type(np.nan).tobytes(), said
                    else:
                        assert got == wanted and np.signbit(got) == np.signbit(wanted), said


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_same_bits_every_time(variant, device):
    for op, dtype in variant.coverage:
        if op == "sum" or (variant.float_atomics and op == "prod" and dtype in reference.FLOATS):
            continue  # block products are multiplied in the order in which blocks finish
        array = operator_cases.cases(op, dtype, 4097)[-1].array
        reduce = getattr(gpureduce, op)
        bits = {reduce(array, variant=variant.name, device=device).tobytes() for _ in range(5)}
        assert len(bits) == 1, (op, dtype)


@pytest.mark.parametrize("dtype", reference.FLOATS)
@pytest.mark.parametrize("op", ["argmin", "argmax"])
def test_places_of_special_values(op, dtype, device):
    """The first NaN, else the first winner; zeros of both signs are equal."""
    nan, inf = np.nan, np.inf
    for row in (
        [0.0, -0.0, 0.0],
        [-0.0, 0.0],
        [inf, inf, inf],
        [-inf, -inf],
        [inf, nan, -inf, nan],
        [nan, nan],
        [-nan, nan, 1],
        [1, -inf, -inf, inf, inf],
    ):
        for n in (len(row), 300, 5000):  # one block, its last warp, a second pass
            array = np.resize(np.array(row, dtype), n)
            array[: n - n % len(row) or None] = np.roll(array[: n - n % len(row) or None], 1)
            for variant in VARIANTS:
                if (op, dtype) in variant.coverage and runs_on(variant, device):
                    block = block_sizes(variant)[0]
                    got = getattr(gpureduce, op)(array, variant=variant.name, device=device, block_size=block)
                    assert got == getattr(np, op)(array), f"{variant.name}, {row}, n = {n}"


@pytest.mark.parametrize("op", ["argmin", "argmax"])
def test_places_are_counted_in_c_order(op, device):
    array = np.random.default_rng(3).permutation(35 * 41).reshape(35, 41).astype(np.int32)
    for view in (array, array.T, np.asfortranarray(array), array[::-1, ::2], array.astype(">i4")):
        wanted = getattr(np, op)(view)
        assert wanted != getattr(np, op)(view.T)
        for variant in VARIANTS:
            if op in variant.ops and runs_on(variant, device):
                assert getattr(gpureduce, op)(view, variant=variant.name, device=device) == wanted


def test_the_rungs_cover_the_operators_of_trees():
    """What `variants` says: all that a tree over plain numbers carries; the rung for study only sums."""
    ops = [op for op in operator_cases.OPS if not op.startswith("arg")]
    ints = ("int32", "int64")
    tree = {
        (op, dtype)
        for op in ("sum", *ops)
        for dtype in (ints if op.startswith("bitwise") else (*reference.FLOATS, *ints))
    }
    for variant in VARIANTS:
        assert len(set(variant.coverage)) == len(variant.coverage)
        if variant.role == "study":
            assert set(variant.coverage) == {cell for cell in tree if cell[0] == "sum"}
        elif variant.name.startswith("cub"):
            ops = ("sum", "min", "max", "argmin", "argmax")
            assert set(variant.coverage) == {(op, dtype) for op in ops for dtype in reference.RESULT_DTYPE}
        else:
            assert set(variant.coverage) == tree


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_uncovered_cells_are_refused(variant, device):
    """By an error that names what was wrong, never a missing kernel."""
    for op in ("sum", *operator_cases.OPS):
        for dtype in variant.dtypes:
            if (op, dtype) in variant.coverage:
                continue
            refusal = TypeError if op in variant.ops else ValueError
            with pytest.raises(refusal, match=dtype if op in variant.ops else op):
                getattr(gpureduce, op)(np.ones(5, dtype), variant=variant.name, device=device)
