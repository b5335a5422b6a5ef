"""The comparisons that the other tests trust reject a result with one element lost, doubled or swapped."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.support import operator_cases, reference

pytestmark = pytest.mark.usefixtures("full")

# The roundings that a variant is allowed on the simulator and on GPUs, with room to spare.
ROUNDS = 100
EXACT = [(name, dtype) for dtype in reference.RESULT_DTYPE for name in reference.datasets(dtype)
         if reference.case(name, dtype, 1).must_equal]  # fmt: skip


def rounded_sum(array, dtype):
    """A sum in the dtype of the result, as a right kernel would make it (pairwise)."""
    return np.sum(array, dtype=reference.RESULT_DTYPE[dtype])


@pytest.mark.parametrize("dataset, dtype", EXACT)
def test_exact_data_shows_every_element(dataset, dtype):
    for n in reference.SIZES[1:]:
        case = reference.case(dataset, dtype, n)
        whole = rounded_sum(case.array, dtype)
        assert reference.mismatch(case, whole, ROUNDS) is None
        assert np.all(case.array != 0)
        for position in {0, n // 2, n - 1, *np.random.default_rng(n).integers(0, n, 20).tolist()}:
            element = whole.dtype.type(case.array[position])
            with np.errstate(over="ignore"):
                lost, doubled = whole - element, whole + element
            assert reference.mismatch(case, lost, ROUNDS), f"element {position} of {n} may be lost"
            assert reference.mismatch(case, doubled, ROUNDS), f"element {position} of {n} may be added twice"


@pytest.mark.parametrize("dtype", reference.FLOATS)
@pytest.mark.parametrize("n", [n for n in reference.SIZES if n > 33])
def test_exact_data_shows_lost_blocks(dtype, n):
    """Elements of one sign: no set of lost elements can cancel."""
    case = reference.case("positive", dtype, n)
    for start, stop in [(n // 2, n), ((n - 1) // 32 * 32, n), (0, 32), (n // 4, n // 4 + 1)]:
        kept = np.delete(case.array, slice(start, stop))
        assert reference.mismatch(case, rounded_sum(kept, dtype), ROUNDS)


@pytest.mark.parametrize("dtype, n", [(dtype, n) for dtype in reference.FLOATS for n in reference.SIZES
                                      if 0 < n < (2**17 if dtype == "float32" else 2**21)])  # fmt: skip
def test_rounded_data_shows_an_element(dtype, n):
    """The error bound is tight enough for one element of n, in float32 up to about 10^5 of them.

    Beyond that no bound on float32 can be: an element weighs less than the roundings of the sum.
    """
    rounds = 4 * reference.ceil_log2(n) + 8
    case = reference.case("uniform", dtype, n)
    whole = rounded_sum(case.array, dtype)
    assert reference.mismatch(case, whole, rounds) is None
    for position in (0, n // 2, n - 1):
        assert reference.mismatch(case, whole - case.array[position], rounds)
        assert reference.mismatch(case, whole + case.array[position], rounds)


@pytest.mark.parametrize("dtype", reference.FLOATS)
@pytest.mark.parametrize("dataset", ["positive", "signed"])
def test_exact_data_is_exact_in_any_order(dataset, dtype):
    """In the order given, reversed, shuffled, pairwise: no partial sum is rounded."""
    case = reference.case(dataset, dtype, 2**20 + 3)
    orders = [case.array, case.array[::-1], np.random.default_rng(0).permutation(case.array)]
    for array in orders:
        running = np.cumsum(array.astype(np.int64))
        assert np.abs(running).max() < reference.EXACT_UNTIL[dtype]
        assert int(np.cumsum(array)[-1]) == int(np.sum(array)) == case.exact


@pytest.mark.parametrize("dtype", reference.FLOATS)
@pytest.mark.parametrize("n", [0, 1, 33])
def test_exact_data_shows_a_fraction(dtype, n):
    """Next to nothing too much, as from uninitialised memory, is not rounded away by the comparison."""
    case = reference.case("signed", dtype, n)
    whole = rounded_sum(case.array, dtype)
    for wrong in (
        np.nextafter(whole, whole.dtype.type(np.inf)),
        np.nextafter(whole, whole.dtype.type(-np.inf)),
    ):
        assert reference.mismatch(case, wrong, ROUNDS)


@pytest.mark.parametrize("dtype", reference.FLOATS)
def test_not_a_number_and_infinity_are_rejected(dtype):
    kind = np.dtype(dtype).type
    for dataset in reference.datasets(dtype):
        case = reference.case(dataset, dtype, 33)
        for wrong in (kind(np.nan), kind(np.inf), -kind(np.inf), kind(0)):
            assert reference.mismatch(case, wrong, ROUNDS)


@pytest.mark.parametrize("dtype", reference.RESULT_DTYPE)
def test_wrong_type_is_rejected(dtype):
    case = reference.case("positive", dtype, 3)
    right = rounded_sum(case.array, dtype)
    for wrong in (right.item(), np.asarray(right), np.longdouble(right), np.int32(right % 1000)):
        assert "came back" in reference.mismatch(case, wrong, ROUNDS)


def test_depth_counts_the_additions():
    tree = SimpleNamespace(name="", fixed_grid=False, float_atomics=False, block_sizes=(256,))
    grid = SimpleNamespace(name="", fixed_grid=True, float_atomics=False, block_sizes=(256,))
    atomic = SimpleNamespace(name="", fixed_grid=True, float_atomics=True, block_sizes=(256,))
    assert reference.depth(tree, 1, 256) == 0
    assert reference.depth(tree, 256, 256) == 9  # one addition on loading, eight levels
    assert reference.depth(tree, 257, 256) == 18
    assert reference.depth(grid, 2**20, 256, grid=16) == (256 + 4 + 8) + (1 + 4 + 8)
    assert reference.depth(grid, 2**20, 256) == (16 + 4 + 8) + (16 + 4 + 8)
    assert reference.depth(atomic, 2**20, 256, grid=16) == (256 + 4 + 8) + 16


# Operators other than sum


def right_result(op, array):
    """What a right kernel gives, whatever its order."""
    with np.errstate(over="ignore", under="ignore"):
        return operator_cases.numpy_result(op, array)


OTHER_CELLS = [
    (op, dtype)
    for op in operator_cases.OPS
    for dtype in reference.RESULT_DTYPE
    if not (op.startswith("bitwise") and dtype in reference.FLOATS)
]


@pytest.mark.parametrize("op, dtype", OTHER_CELLS)
def test_operators_show_every_deciding_element(op, dtype):
    """One that is left out, and, where the operator is not idempotent, one that is taken twice."""
    for n in (1, 2, 3, 33, 257, 4097, 65537, 2**17 + 3):
        for case in operator_cases.cases(op, dtype, n):
            shows_deciding_elements(op, case, n)


def shows_deciding_elements(op, case, n):
    assert operator_cases.mismatch(case, right_result(op, case.array)) is None
    positions = case.shown
    if positions is None:
        positions = {0, n // 2, n - 1, *np.random.default_rng(n).integers(0, n, 5).tolist()}
    for position in positions:
        rest = np.delete(case.array, position)
        twice = np.append(case.array, case.array[position])
        if op.startswith("arg") and rest.size == 1:
            continue  # the place of the only one is 0, whichever it is
        if rest.size or op not in operator_cases.WITHOUT_IDENTITY:
            assert operator_cases.mismatch(case, right_result(op, rest)), f"{position} of {n} may be lost"
        if case.shown is None and n < 2**17:
            assert operator_cases.mismatch(case, right_result(op, twice)), f"{position} of {n} may be doubled"


@pytest.mark.parametrize("op, dtype", OTHER_CELLS)
def test_operators_decide_at_the_edges(op, dtype):
    """At first and last of every array, and in one of them at every edge of warps, blocks and vectors."""
    for n in (n for n in reference.SIZES if n):
        cases = operator_cases.cases(op, dtype, n)
        shown = {position for case in cases for position in case.shown or ()}
        wanted = operator_cases.edges(n) if n == operator_cases.ALL_EDGES else {0, n - 1}
        assert any(case.shown is None for case in cases) or shown >= set(wanted)
    assert set(operator_cases.EDGES) <= set(operator_cases.edges(operator_cases.ALL_EDGES))


@pytest.mark.parametrize("op, dtype", OTHER_CELLS)
def test_operators_reject_other_types_and_not_a_number(op, dtype):
    for case in operator_cases.cases(op, dtype, 33):
        right = right_result(op, case.array)
        for wrong in (right.item(), np.asarray(right), np.int16(1)):
            assert "came back" in operator_cases.mismatch(case, wrong)
        if dtype in reference.FLOATS and op in ("prod", "min", "max"):
            assert operator_cases.mismatch(case, right.dtype.type(np.nan))
