"""Arrays for the operators other than sum, each with its exact result, that show a lost or doubled element.

* prod of integers: odd numbers but 1 and -1, modulo 2^64. Those are units there, so that leaving one out, or
  taking it twice, gives another product.
* prod of floats: numbers near 1, but no nearer than the rounding errors reach: n elements take n - 1
  multiplications of relative error u in any order, so that |computed - exact| <= gamma(n - 1) |exact| (see
  reference.py), and an element x shows when |x - 1| is larger. So many elements that this cannot be are
  negative powers of two: every product is exact, and a lost element turns its sign.
* min and max: a unique winner at each of some positions; all other elements lie between it and the identity.
* argmin and argmax: the same; then the winner's value again at some of the places behind it, or NaNs there
  and in its own. The runner-up never takes the place of a winner that is lost.
* any and all: one deciding element at each of those positions, and none.
* bitwise_or and bitwise_and: each of those positions has a bit of its own, which no other one sets or clears.
* bitwise_xor: random numbers, none of them 0.
"""

import math
import zlib
from dataclasses import dataclass
from functools import cache

import numpy as np

from tests.support import reference

OPS = ("prod", "min", "max", "argmin", "argmax", "any", "all", "bitwise_and", "bitwise_or", "bitwise_xor")
WITHOUT_IDENTITY = ("min", "max", "argmin", "argmax")
# First and last of warps, blocks and vectors.
EDGES = (0, 1, 3, 4, 31, 32, 63, 64, 127, 128, 255, 256, 511, 512, 1023, 1024, 2047, 2048, 4096)
ALL_EDGES = 4097


@dataclass(frozen=True)
class Case:
    """An array, the exact result, and the positions whose loss the result shows; None means all."""

    op: str
    array: np.ndarray
    exact: int | bool | float | np.longdouble
    shown: tuple[int, ...] | None

    def __str__(self):
        where = "" if self.shown is None else f", decided at {self.shown}"
        return f"{self.op} of {self.array.dtype.name}, n = {self.array.size}{where}"


def edges(n):
    """Positions in an array of n elements where a kernel may forget one."""
    tail = (n // 2, n // 32 * 32 - 1, n // 4 * 4 - 1, n - 4, n - 3, n - 2, n - 1)
    return sorted({position for position in (*EDGES, *tail) if 0 <= position < n})


def some_edges(n):
    """All positions for one n; to save time the first, the last and one more for the others."""
    places = edges(n)
    if n == ALL_EDGES or n == 0:
        return places
    return sorted({places[0], places[-1], places[zlib.crc32(str(n).encode()) % len(places)]})


def generator(*key):
    return np.random.default_rng(zlib.crc32("/".join(map(str, key)).encode()))


@cache
def cases(op, dtype, n):
    """All cases of n elements; the arrays are read-only, since all tests share them."""
    made = list(_MAKERS[op](op, np.dtype(dtype), n, generator(op, dtype, n)))
    for case in made:
        case.array.setflags(write=False)
    return made


def _products(op, dtype, n, rng):
    if dtype.kind == "i":
        limits = np.iinfo(dtype)
        values = rng.integers(limits.min, limits.max, n, dtype=dtype) | 1
        values[np.isin(values, (1, -1))] = 3
        exact = 1
        for value in values.tolist():
            exact = exact * value % 2**64
        yield Case(op, values, reference.wrap_int64(exact), None)
        return
    # The logarithm of a product of m of them walks about sqrt(m) steps away from 0, so that no partial
    # product of any order comes near the ends of the range: ten standard deviations are kept.
    step = min(0.5, 8 / np.sqrt(max(n, 1)))
    if step / 2 < 2 * n * reference.UNIT_ROUNDOFF[dtype.name]:
        exponents = rng.choice([-1, 0, 1], n, p=[80 / n, 1 - 160 / n, 80 / n])
        yield Case(op, -np.ldexp(dtype.type(1), exponents), math.ldexp((-1) ** n, int(exponents.sum())), None)
        return
    logarithms = rng.uniform(step / 2, step, n) * rng.choice([-1.0, 1.0], n)
    values = (np.exp(logarithms) * rng.choice([-1.0, 1.0], n)).astype(dtype)
    yield Case(op, values, _pairwise_product(values.astype(np.longdouble)), None)


def _pairwise_product(values):
    while values.size > 1:
        half = values.size // 2
        values = np.append(values[:half] * values[half : 2 * half], values[2 * half :])
    return values[0] if values.size else np.longdouble(1)


def _extremes(op, dtype, n, rng):
    sign = 1 if op == "min" else -1  # what is made here is for min
    for i, position in enumerate(some_edges(n)):
        if dtype.kind == "f" and i % 2:
            values = np.where(rng.random(n) < 0.5, np.inf, np.finfo(dtype).max).astype(dtype)
            winner = np.nextafter(np.finfo(dtype).max, dtype.type(0))
        elif dtype.kind == "f":
            values = rng.normal(0, 1000, n).astype(dtype)
            winner = np.nextafter(values.min(), dtype.type(-np.inf))
        else:
            limits = np.iinfo(dtype)
            low = limits.max - 1000 if i % 2 else limits.min + 2
            values = rng.integers(low, limits.max, n, dtype=dtype, endpoint=True)
            winner = dtype.type(low - 1)
        values[position] = winner
        # ~x turns the order of integers round, and nothing overflows.
        turned = values if sign == 1 else -values if dtype.kind == "f" else ~values
        yield Case(op, turned, turned[position].item(), (position,))


def _places(op, dtype, n, rng):
    sign = dtype.type(1 if op == "argmin" else -1)
    for i, case in enumerate(_extremes(op.removeprefix("arg"), dtype, n, rng)):
        (position,) = case.shown
        usual = case.array.copy()
        if n > 2:
            winner = usual[position]
            usual[(position + 2) % n] = winner  # from here on the runner-up
            usual[position] = np.nextafter(winner, -sign * np.inf) if dtype.kind == "f" else winner - sign
        yield Case(op, usual, position, (position,))
        again = usual.copy()
        again[position + 3 :][rng.random(max(n - position - 3, 0)) < 0.3] = usual[position]
        if dtype.kind == "f" and i % 2:
            again[again == usual[position]] = np.nan
        yield Case(op, again, position, (position,))


def _truths(op, dtype, n, rng):
    true = rng.integers(1, 100, n).astype(dtype) * rng.choice([-1, 1], n).astype(dtype)
    false = np.zeros(n, dtype)
    if dtype.kind == "f":
        true[rng.random(n) < 0.3] = np.nan
        true[rng.random(n) < 0.3] = np.finfo(dtype).smallest_subnormal
        false[rng.random(n) < 0.5] = -0.0
    usual, deciding = (false, true) if op == "any" else (true, false)
    yield Case(op, usual, op == "all", ())
    for position in some_edges(n):
        values = usual.copy()
        values[position] = deciding[position]
        yield Case(op, values, op == "any", (position,))


def _own_bits(op, dtype, n, rng):
    bits = 8 * dtype.itemsize
    shared = rng.integers(0, 2, n).astype(dtype) << (bits - 1)  # the sign: set in some, so in the result
    places = edges(n)
    for start in range(0, max(len(places), 1), bits - 1):
        chosen = places[start : start + bits - 1]
        values = shared.copy()
        for bit, position in enumerate(chosen):
            values[position] |= dtype.type(1) << bit
        exact = int(np.bitwise_or.reduce(values, initial=0))
        if op == "bitwise_and":
            values, exact = ~values, ~exact
        yield Case(op, values, exact, tuple(chosen))


def _random_bits(op, dtype, n, rng):
    limits = np.iinfo(dtype)
    values = rng.integers(limits.min, limits.max, n, dtype=dtype, endpoint=True)
    values[values == 0] = 1
    yield Case(op, values, int(np.bitwise_xor.reduce(values, initial=0)), None)


_MAKERS = {
    "prod": _products,
    "min": _extremes,
    "max": _extremes,
    "argmin": _places,
    "argmax": _places,
    "any": _truths,
    "all": _truths,
    "bitwise_and": _own_bits,
    "bitwise_or": _own_bits,
    "bitwise_xor": _random_bits,
}


def numpy_result(op, array):
    """What NumPy makes of the whole array."""
    function = getattr(np, op)
    return function.reduce(array) if op.startswith("bitwise") else function(array)


def mismatch(case, result):
    """None if `result` is right, else a sentence that says what is wrong with it."""
    wanted = numpy_result(case.op, case.array[:1] if case.array.size else np.ones(1, case.array.dtype)).dtype
    if type(result) is not wanted.type:
        return f"{case}: a {type(result).__name__} came back, not a numpy.{wanted.name}"
    if not isinstance(case.exact, np.longdouble):
        return None if result.item() == case.exact else f"{case}: {result!r}, exactly {case.exact!r}"
    rounds = max(case.array.size - 1, 0)
    u = reference.UNIT_ROUNDOFF[case.array.dtype.name]
    # The exact product was itself rounded once a level, in extended precision.
    allowed = rounds * u / (1 - rounds * u) + 2.0**-63 * reference.ceil_log2(case.array.size)
    error = abs(np.longdouble(result) / case.exact - 1)
    if not error <= allowed:  # written so that a NaN fails
        return f"{case}: {result!r} is off by {error:.3g} of {case.exact!r}, more than {allowed:.3g}"
    return None
