"""Exact sums of floats, fast and interruptible."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

CHUNK = 1 << 20  # elements; Ctrl-C waits for at most one part


def float_sum(array: np.ndarray) -> float:
    """Return the exact sum of finite float32 or float64 numbers, rounded once.

    Parameters
    ----------
    array : numpy.ndarray
        One-dimensional array.

    Returns
    -------
    float
        The result of ``math.fsum(array.tolist())``, without a Python float for each number.
    """
    chunks = (array[i : i + CHUNK] for i in range(0, array.size, CHUNK))
    return math.fsum(part for chunk in chunks for part in _parts(chunk.astype(np.float64)))


def _parts(values: np.ndarray) -> Iterator[float]:
    """Yield a few numbers with the same sum.

    Numbers of one exponent are multiples of one unit, so that a float holds the sum of many of their halves
    of 53 bits.
    """
    fractions, exponents = np.frexp(values)
    lowest = exponents.min()
    high = np.trunc(fractions * 2.0**26) / 2.0**26
    for half in (high, fractions - high):
        sums = np.bincount(exponents - lowest, weights=half)
        yield from np.ldexp(sums, np.arange(sums.size) + lowest).tolist()
