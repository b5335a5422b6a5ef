"""States of the sums of squares of groups.

The square of a float64 is the sum of two float64, its rounded product and the error of that, as long as both
are in range. So elements are scaled by powers of two that depend on their exponents. The state of each scale
is shifted by whole digits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpureduce._reduce import exact_states

_SPLIT = 2.0**27 + 1  # a product with it halves a significand
# Exponents of a scale: the least, as of numpy.frexp, the one after the last, and log2 of the factor.
_SCALES = ((-1100, -480, 592), (-480, 500, 0), (500, 1100, -528))
_DIGIT_BITS = 32


def squares(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rounded squares of float64, and their errors; nothing may overflow or underflow."""
    with np.errstate(all="ignore"):
        product, much = values * values, values * _SPLIT
        high = much - (much - values)
        low = values - high
        error = ((high * high - product) + 2 * high * low) + low * low
    return product, np.where(np.isfinite(product), error, 0)


def square_states(
    parts: list[np.ndarray],
    narrow: bool,
    axis: int,
    sums_of: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return the states of sums of squares of all parts of the elements, which are float64.

    `sums_of` returns the states of the sums of groups, of an array of two rows for each element.
    `narrow` elements are float32 or less, whose squares float64 can represent.
    """
    total: np.ndarray | None = None
    for part in parts:
        exponents = np.where(np.isfinite(part), np.frexp(part)[1], 0)
        for first, last, shift in _SCALES:
            inside = (exponents >= first) & (exponents < last)
            if shift and (narrow or not inside.any()):
                continue
            scaled = part if narrow else np.ldexp(np.where(inside, part, 0), shift)
            product, error = squares(scaled)
            words = sums_of(product if narrow else np.concatenate([product, error], axis))
            if not narrow:
                words = _widest(words, -2 * shift // _DIGIT_BITS)
            if total is None:
                total = words
            else:
                exact_states.merge(total, words)
    assert total is not None
    return total


def _widest(words: np.ndarray, digits: int) -> np.ndarray:
    """Return states of sums as states of products, times a power of 2^32."""
    wide, widest = exact_states.WIDE, exact_states.WIDEST
    result = np.zeros((*words.shape[:-1], widest.words), np.int64)
    at = (widest.below - wide.below) // _DIGIT_BITS + digits
    skipped = max(-at, 0)  # digits that are 0
    result[..., at + skipped : at + wide.digits] = words[..., skipped : wide.digits]
    result[..., -2:] = words[..., -2:]
    return result
