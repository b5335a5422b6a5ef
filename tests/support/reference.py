"""What the tests compare with: data sets, their exact sums, and the error that a tree of additions may make.

Two kinds of data are used, because no one kind can show both a lost element and a wrong rounding.

*Exact* data ("positive", "signed", and every integer data set) consists of non-zero integers so small
that every partial sum is representable, whatever the order of the additions. The result must then *equal*
the sum that Python computes with integers: tolerance 0, so that one lost or doubled element fails.
In "positive" all elements have one sign, so that no set of lost elements can hide by cancelling.

*Rounded* data ("uniform", "lognormal", "cancelling") is compared with `math.fsum` under a proven bound.
If every element takes part in at most d additions, each of them rounding once with relative error at most
u (2^-24 for float32, 2^-53 for float64), then

    |computed - exact| <= gamma(d) * sum |x_i|,      gamma(d) = d u / (1 - d u)

(each term of the computed sum is x_i times at most d factors 1 + delta with |delta| <= u; additions that
underflow are exact). `depth` counts d for a variant. There is no safety factor in the bound.
"""

import math
import zlib
from dataclasses import dataclass
from functools import cache

import numpy as np

FLOATS = ("float32", "float64")
UNIT_ROUNDOFF = {"float32": 2.0**-24, "float64": 2.0**-53}
EXACT_UNTIL = {"float32": 2**24, "float64": 2**53}  # integers up to here are representable
RESULT_DTYPE = {"float32": "float32", "float64": "float64", "int32": "int64", "int64": "int64"}

# Around every boundary of a warp, a block, a doubled block, and a second pass.
SIZES = (
    0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 767, 768, 769,
    1000, 1023, 1024, 1025, 4095, 4096, 4097, 65535, 65536, 65537, 2**20 - 1, 2**20 + 3,
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """An array with what is known of its sum; `exact` is an int for exact data, else a float."""

    dataset: str
    array: np.ndarray
    exact: int | float
    magnitude: float  # sum of |x_i|

    @property
    def dtype(self):
        return self.array.dtype.name

    @property
    def must_equal(self):
        return isinstance(self.exact, int)

    def __str__(self):
        return f"{self.dataset} {self.dtype}, n = {self.array.size}"


def datasets(dtype):
    """Names of the data sets of a dtype."""
    if dtype in FLOATS:
        return ("positive", "signed", "uniform", "lognormal", "cancelling")
    return ("positive", "extremes")


def generate(dataset, dtype, n):
    """The array of a data set; the same on every machine for one NumPy version."""
    rng = np.random.default_rng(zlib.crc32(f"{dataset}/{dtype}/{n}".encode()))
    return _GENERATORS[dataset](rng, np.dtype(dtype), n)


def _positive(rng, dtype, n):
    if dtype.kind == "f":
        largest = min((EXACT_UNTIL[dtype.name] - 1) // max(n, 1), 2**40)
    else:
        largest = np.iinfo(dtype).max
    return rng.integers(1, largest, size=n, endpoint=True).astype(dtype)


def _signed(rng, dtype, n):
    # Partial sums of m elements walk about sqrt(m) steps away from 0: forty standard deviations are kept.
    largest = int(min(EXACT_UNTIL[dtype.name] / (40 * math.sqrt(max(n, 1))), 2**30))
    values = rng.integers(1, largest, size=n, endpoint=True)
    return np.where(rng.integers(0, 2, size=n) == 1, values, -values).astype(dtype)


def _uniform(rng, dtype, n):
    # Not from 0, so that every element is large enough to be missed.
    return rng.uniform(0.5, 1.5, n).astype(dtype)


def _lognormal(rng, dtype, n):
    return rng.lognormal(0.0, 2.0, n).astype(dtype)


def _cancelling(rng, dtype, n):
    values = (rng.lognormal(0.0, 3.0, n) * 1000).astype(dtype)
    half = n // 2
    values[half : 2 * half] = -values[:half]
    values[::7] += dtype.type(0.125)
    return rng.permutation(values)


def _extremes(rng, dtype, n):
    info = np.iinfo(dtype)
    values = rng.integers(info.min, info.max, size=n, dtype=dtype, endpoint=True)
    pick = rng.integers(0, 4, size=n)
    values[pick == 0] = info.max
    values[pick == 1] = info.min
    values[values == 0] = 1
    return values


_GENERATORS = {
    "positive": _positive,
    "signed": _signed,
    "uniform": _uniform,
    "lognormal": _lognormal,
    "cancelling": _cancelling,
    "extremes": _extremes,
}


def wrap_int64(value):
    """A Python int modulo 2^64, as int64 holds it."""
    return (value + 2**63) % 2**64 - 2**63


def make_case(dataset, array):
    """The exact sum of an array of a data set."""
    values = array.tolist()
    if array.dtype.kind == "i":
        return Case(dataset, array, wrap_int64(sum(values)), 0.0)
    magnitude = math.fsum(map(abs, values))
    exact = math.fsum(values)
    if dataset in ("positive", "signed"):
        exact = int(exact)  # the doubles hold integers below 2^53: fsum made no error
    return Case(dataset, array, exact, magnitude)


@cache
def case(dataset, dtype, n):
    """The cached case of a data set; its array is read-only, since all tests share it."""
    array = generate(dataset, dtype, n)
    array.setflags(write=False)
    return make_case(dataset, array)


def ceil_div(a, b):
    return -(-a // b)


def ceil_log2(value):
    return max(value - 1, 0).bit_length()


def depth(variant, n, block, grid=None):
    """The largest number of roundings that an element of `n` meets up to the result.

    A pass costs what a thread adds up by itself and the tree over the threads of its block; the partial
    sums of the blocks are then the elements of the next pass. Adding to a zero, or a zero, does not round.
    """
    if not variant.block_sizes:
        return _library_depth(n)
    rounds = 0
    count = n
    first = True
    while count > 1:
        if not variant.fixed_grid:
            serial, blocks = 1, ceil_div(count, block)  # at most two elements per thread, one addition
        elif first:
            serial, blocks = _first_pass(count, block, grid)
            serial += PIECES if variant.name == "v12" else 0
        elif count <= LAST_PASS_SPAN * block:
            serial, blocks = ceil_div(count, block) + VECTOR, 1
        else:
            serial, blocks = 1 + VECTOR, ceil_div(count, block)
        rounds += serial + ceil_log2(block)
        if variant.float_atomics:
            return rounds + blocks  # the block sums are added one after the other
        count, first = blocks, False
    return rounds


# The launch plan, as far as the error depends on it.
VECTOR = 4  # elements that a thread takes at once, so that its share may be uneven by as many
PIECES = 4 * VECTOR  # more in v12: a piece of two vectors per thread, and as many behind the last whole piece
LAST_PASS_SPAN = 64  # one block does a later pass when its threads get no more elements than this
PLAN_THREADS = 2**16  # a grid that the plan chooses has as many threads, where there is work for them
PLAN_BLOCKS = 132 * 32  # and no more blocks


def _library_depth(n):
    """CUB: 256 threads per block, 16 elements per thread at a time, blocks to fill a GPU; then one block."""
    serial = ceil_div(n, PLAN_THREADS) + 16
    return (serial + 8) + (ceil_div(PLAN_BLOCKS, 256) + 16 + 8)


def _first_pass(n, block, grid):
    if grid:
        return ceil_div(n, grid * block) + VECTOR, grid
    return ceil_div(n, PLAN_THREADS) + VECTOR, min(ceil_div(n, block), PLAN_BLOCKS)


def bound(case, rounds):
    """How far a sum of `case` with `rounds` roundings on the longest path may be from the exact one."""
    if case.must_equal:
        return 0.0
    u = UNIT_ROUNDOFF[case.dtype]
    # fsum itself rounds once, to double.
    return rounds * u / (1 - rounds * u) * case.magnitude + 2.0**-53 * abs(case.exact)


def mismatch(case, result, rounds):
    """None if `result` is a right sum of `case`, else a sentence that says what is wrong with it."""
    wanted = np.dtype(RESULT_DTYPE[case.dtype])
    if type(result) is not wanted.type:
        return f"{case}: a {type(result).__name__} came back, not a numpy.{wanted.name}"
    if case.must_equal:
        if result.item() != case.exact:  # Python compares ints and floats exactly
            return f"{case}: {result!r} differs from the exact {case.exact}"
        return None
    error, allowed = abs(float(result) - case.exact), bound(case, rounds)
    if not error <= allowed:  # written so that a NaN fails
        numpy_error = abs(float(np.sum(case.array)) - case.exact)
        return (
            f"{case}: {result!r} is {error:.3g} away from {case.exact!r}; {rounds} roundings allow "
            f"{allowed:.3g}, numpy.sum is {numpy_error:.3g} away"
        )
    return None
