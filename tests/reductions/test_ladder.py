"""Every variant, dtype and block size sums every size of array right."""

import numpy as np
import pytest

import gpureduce
from tests.support import reference
from tests.support.selection import block_sizes, runs_on

VARIANTS = gpureduce.variants("reduction")
SMALL_SIZES = [n for n in reference.SIZES if n < 2**20]
THIN_SIZES = (0, 1, 33, 257, 1025, 4097)
LARGE_SIZES = [n for n in reference.SIZES if n >= 2**20]


def combinations():
    for variant in VARIANTS:
        for dtype in variant.dtypes:
            for block in block_sizes(variant):
                yield pytest.param(variant, dtype, block, id=f"{variant.name}-{dtype}-b{block}")


def failures(variant, cases, device, block, grid=None):
    """The sentences about every wrong sum, so that one report names all sizes that fail."""
    found = []
    for case in cases:
        result = gpureduce.sum(
            case.array, variant=variant.name, device=device, block_size=block, grid_size=grid
        )
        rounds = reference.depth(variant, case.array.size, block or variant.default_block_size, grid)
        reason = reference.mismatch(case, result, rounds)
        if reason:
            found.append(reason)
    return found


def draws_large(variant, block, exhaustive):
    """Whether rounded data of the two large sizes, which cost nearly all the time, is summed as well."""
    if exhaustive:
        return block is None or block & (block - 1) == 0
    return block in (None, variant.default_block_size)


@pytest.mark.parametrize("variant, dtype, block", list(combinations()))
def test_every_size(variant, dtype, block, device, study_may_fail, thin, exhaustive, some):
    study_may_fail(variant)
    usual = block in (None, variant.default_block_size)  # the others divide more sizes between them
    sizes = THIN_SIZES if thin else sorted({*THIN_SIZES, *some(SMALL_SIZES, 2 if usual else 4)})
    large = some(LARGE_SIZES, 2 if usual else 8)  # which is one, or none
    cases = [reference.case(name, dtype, n) for name in reference.datasets(dtype) for n in sizes]
    # The exact data shows every lost element.
    for name in reference.datasets(dtype) if not thin else ():
        must_equal = reference.case(name, dtype, 1).must_equal
        if must_equal or (draws_large(variant, block, exhaustive) and 0 in some(range(3), 3)):
            cases += [reference.case(name, dtype, n) for n in large]
    found = failures(variant, cases, device, block)
    assert not found, f"{len(found)} of {len(cases)} sums are wrong:\n" + "\n".join(found)


@pytest.mark.core
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_quick(variant, dtype, device, study_may_fail):
    """One pass, two passes and tails, for runs under a sanitizer."""
    study_may_fail(variant)
    found = []
    for block in (block_sizes(variant)[0], block_sizes(variant)[-1]):
        cases = [reference.case("positive", dtype, n) for n in (0, 1, 3, 33, 65, 4097)]
        found += failures(variant, cases, device, block)
    assert not found, "\n".join(found)


GRIDS = (1, 2, 3, 31, 64, 100)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize(
    "variant", [variant for variant in VARIANTS if variant.fixed_grid], ids=lambda variant: variant.name
)
def test_explicit_grid(variant, dtype, device, thin, exhaustive, some):
    """A grid larger than the work, and one that leaves a thread many elements, lose nothing."""
    sizes = (0, 1, 3, 4097) if thin else (0, 1, 3, 255, 1000, 4097, 65537)
    cases = [reference.case(name, dtype, n) for name in reference.datasets(dtype) for n in sizes]
    found = []
    for i, grid in enumerate(some(GRIDS, 2)):
        blocks = (256,) if thin else (64, 256, 1024) if exhaustive else (64, 256, 1024)[i % 3 :: 3]
        for block in blocks:
            found += failures(variant, cases, device, block, grid)
    assert not found, "\n".join(found)


@pytest.mark.core
def test_default_variant(device):
    """`variant="auto"` is some variant of the ladder and sums like it."""
    deepest = min(VARIANTS, key=lambda variant: variant.float_atomics)
    for dtype in deepest.dtypes:
        for n in (0, 1, 3, 257, 4097):
            case = reference.case("positive", dtype, n)
            assert reference.mismatch(case, gpureduce.sum(case.array, device=device), 0) is None


def deterministic(dtype, device):
    return [
        variant
        for variant in VARIANTS
        if runs_on(variant, device)
        and not (variant.float_atomics and dtype in reference.FLOATS)
        and variant.role != "study"
    ]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_same_bits_every_time(dtype, device):
    array = reference.case(reference.datasets(dtype)[-1], dtype, 65537).array
    for variant in deterministic(dtype, device):
        bits = {gpureduce.sum(array, variant=variant.name, device=device).tobytes() for _ in range(5)}
        assert len(bits) == 1, variant.name


LARGE = (2**25, 2**25 - 1)


@pytest.fixture(scope="module")
def large_case():
    """The last large case, kept for the variants that follow: exact sums of 2^25 elements take seconds."""
    kept = {}

    def get(dataset, dtype, n):
        key = (dataset, dtype, n)
        if key not in kept:
            kept.clear()
            kept[key] = reference.make_case(dataset, reference.generate(dataset, dtype, n))
        return kept[key]

    yield get
    kept.clear()


def large_combinations():
    for n in LARGE:
        for dtype in reference.RESULT_DTYPE:
            for dataset in ("signed", "uniform") if dtype in reference.FLOATS else ("extremes",):
                yield pytest.param(n, dtype, dataset, id=f"{n}-{dtype}-{dataset}")


@pytest.mark.large
@pytest.mark.parametrize("n, dtype, dataset", list(large_combinations()))
def test_large(n, dtype, dataset, device, large_case, study_may_fail):
    case = large_case(dataset, dtype, n)
    found = []
    for variant in VARIANTS:
        if dtype not in variant.dtypes or variant.role == "study" or not runs_on(variant, device):
            continue
        for block in (64, 256, 1024) if variant.block_sizes else (None,):
            found += [f"{variant.name}, {block}: {reason}"
                      for reason in failures(variant, [case], device, block)]  # fmt: skip
    assert not found, "\n".join(found)


def huge_signed(n):
    """Signed non-zero integers of at most 9 as float32, made a piece at a time, and their exact sum.

    Partial sums of 2^32 of them stay below forty standard deviations, 2^24: every sum is exact.
    """
    rng = np.random.default_rng(31)
    array, exact = np.empty(n, np.float32), 0
    for start in range(0, n, 2**26):
        piece = rng.integers(1, 9, size=min(2**26, n - start), dtype=np.int8, endpoint=True)
        piece *= rng.integers(0, 2, size=piece.size, dtype=np.int8) * 2 - 1
        array[start : start + piece.size] = piece
        exact += int(piece.sum(dtype=np.int64))
    return array, exact


@pytest.mark.gpu
@pytest.mark.huge
@pytest.mark.parametrize("n", [2**31 + 3, 2**32 + 5])
def test_huge(n, device):
    """More elements than a signed or an unsigned 32-bit index counts."""
    array, exact = huge_signed(n)
    case = reference.Case("signed", array, exact, 0.0)
    found = []
    for variant in VARIANTS:
        if "float32" in variant.dtypes and variant.role != "study" and runs_on(variant, device):
            found += [f"{variant.name}: {reason}" for reason in failures(variant, [case], device, None)]
    assert not found, "\n".join(found)
