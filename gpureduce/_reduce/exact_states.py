"""States of exact sums, as in csrc/exact/: arrays, bytes and Python integers."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gpureduce import _core

_DIGIT = 2**32 - 1


class Size(NamedTuple):
    """Number of 64-bit words of a state, as in csrc/exact/params.h, and of bits below the binary point."""

    words: int
    below: int

    @property
    def digits(self) -> int:
        """Number of 32-bit digits; a count and flags follow them."""
        return self.words - 2

    @property
    def nbytes(self) -> int:
        """Bytes of one state: its flags and its digits."""
        return 1 + 4 * self.digits


NARROW, WIDE, WIDEST = Size(16, 160), Size(72, 1088), Size(144, 2176)
WHOLE = Size(6, 0)  # integers: 128 bits

NAN, INFINITY, MINUS_INFINITY, OVERFLOW = 1, 2, 4, 16  # flags, as csrc/exact/params.h has them

# Bits of a significand and of an exponent.
_FORMATS = {"float16": (11, 5), "bfloat16": (8, 8), "float32": (24, 8), "float64": (53, 11)}
_formats_found: dict[np.dtype, tuple[int, int]] = {}  # NumPy makes the name of a dtype anew each time


def real(dtype: np.dtype) -> np.dtype:
    """Return the dtype of the parts of a number."""
    return np.dtype(f"float{dtype.itemsize * 4}") if dtype.kind == "c" else dtype


def parts(dtype: np.dtype) -> int:
    """Return how many sums an element takes part in."""
    return 2 if dtype.kind == "c" else 1


def size_of_sum(dtype: np.dtype) -> Size:
    """Return the size for sums of elements of a dtype."""
    if dtype.kind in "biu":
        return WHOLE
    return WIDE if real(dtype).itemsize == 8 else NARROW


def size_of_products(dtype: np.dtype) -> Size:
    """Return the size for sums of products."""
    return WIDEST if real(dtype).itemsize == 8 else WIDE


def merge(mine: np.ndarray, theirs: np.ndarray) -> None:
    """Add states to others, in place.

    Raises OverflowError, without a change, if a sum exceeds the range of a state.
    """
    words = mine.shape[-1]
    contiguous = mine if mine.flags.c_contiguous else mine.copy()
    _core.exact_merge(contiguous.reshape(-1, words), np.ascontiguousarray(theirs).reshape(-1, words))
    if contiguous is not mine:
        mine[...] = contiguous


def of_integers(values: np.ndarray, digit: int = 0) -> np.ndarray:
    """Return states of 64-bit integers, shifted by a number of digits."""
    words = np.zeros((*values.shape, 1, WHOLE.words), np.int64)
    sign = (values < 0).astype(np.int64)
    for position in range(digit, WHOLE.digits):
        shift = 32 * (position - digit)
        piece = (values >> np.asarray(shift, values.dtype)).astype(np.int64) if shift < 64 else -sign
        words[..., 0, position] = piece & _DIGIT
    words[..., 0, WHOLE.digits - 1] = -sign
    return words


def rounded(words: np.ndarray, size: Size, dtype: np.dtype, divisors: np.ndarray | None = None) -> np.ndarray:
    """Return states of the shape (..., parts, words), each divided and then rounded once to a dtype."""
    shape, form = words.shape[:-2], real(dtype)
    count = words.size // size.words
    by = np.ones(shape, np.uint64) if divisors is None else divisors
    by = np.repeat(by.reshape(-1), words.shape[-2])
    assert len(by) == count
    flat = np.ascontiguousarray(words).reshape(-1, size.words)
    bits = _core.exact_round(flat, by, size.below, *_FORMATS[form.name])
    values = bits.astype(f"u{form.itemsize}").view(form)
    return values.view(dtype).reshape(shape)


def integers(words: np.ndarray) -> list[int]:
    """Return the values of states as integers, in units of their last bit."""
    return [int.from_bytes(row[1:].tobytes(), "little", signed=True) for row in packed(words)]


def flags(words: np.ndarray) -> np.ndarray:
    """Return the flags of states."""
    return words[..., -1]


def variances(
    counts: np.ndarray, sums: np.ndarray, squares: np.ndarray, element_dtype: np.dtype, ddof: int, root: bool
) -> np.ndarray:
    """Return n Q - S^2 over n (n - ddof), of the sums S and of squares Q, or its root, rounded once."""
    below = size_of_sum(element_dtype).below, size_of_products(element_dtype).below
    each, others = (np.ascontiguousarray(words).reshape(-1, words.shape[-1]) for words in (sums, squares))
    numbers = np.ascontiguousarray(counts, np.uint64).reshape(-1)
    form = real(element_dtype)
    bits = _core.exact_variances(
        numbers, each, others, parts(element_dtype), *below, *_format_of(form), ddof, root
    )
    return bits.astype(f"u{form.itemsize}").view(form).reshape(counts.shape)


def roots(squares: np.ndarray, size: Size, dtype: np.dtype) -> np.ndarray:
    """Return the square roots of states of the shape (..., 1, words), rounded once."""
    words = np.ascontiguousarray(squares).reshape(-1, size.words)
    bits = _core.exact_variances(None, None, words, 1, 0, size.below, *_format_of(dtype), 0, True)
    return bits.astype(f"u{dtype.itemsize}").view(dtype).reshape(squares.shape[:-2])


# As bytes


def packed(words: np.ndarray) -> np.ndarray:
    """Return a row of bytes for each state: its flags, and its digits as one signed number."""
    flat = words.reshape(-1, words.shape[-1])
    rows = np.empty((len(flat), 1 + 4 * (flat.shape[1] - 2)), np.uint8)
    rows[:, 0] = flat[:, -1]
    rows[:, 1:] = (flat[:, :-2] & _DIGIT).astype("<u4").view(np.uint8).reshape(rows[:, 1:].shape)
    return rows


def unpacked(rows: np.ndarray) -> np.ndarray:
    """Return the states of such rows; ValueError for unknown flags."""
    digits = np.ascontiguousarray(rows[:, 1:]).view("<u4").astype(np.int64)
    if (rows[:, 0] > 15).any():
        raise ValueError("a sum has unknown flags")
    words = np.zeros((len(rows), digits.shape[1] + 2), np.int64)
    words[:, :-2] = digits
    words[:, -3] -= (digits[:, -1] >> 31) << 32  # the last digit has the sign
    words[:, -1] = rows[:, 0]
    return words


# Quotients that the core does not round


def _format_of(dtype: np.dtype) -> tuple[int, int]:
    found = _formats_found.get(dtype)
    if found is None:
        found = _formats_found[dtype] = _FORMATS[dtype.name]
    return found


def quotient(numerator: int, denominator: int, exponent: int, dtype: np.dtype) -> float:
    """Return numerator / denominator * 2^exponent, neither less than 0, rounded once to a dtype."""
    if numerator == 0:
        return 0.0
    steps = _format_of(dtype)[0] + 2 - numerator.bit_length() + denominator.bit_length()
    bits, rest = divmod(numerator << max(steps, 0), denominator << max(-steps, 0))
    return _nearest(bits, exponent - steps, rest != 0, dtype)


def root(numerator: int, denominator: int, exponent: int, dtype: np.dtype) -> float:
    """Return the square root of that, rounded once."""
    if numerator == 0:
        return 0.0
    steps = 2 * (_format_of(dtype)[0] + 2) - numerator.bit_length() + denominator.bit_length()
    steps += (exponent - steps) % 2
    square, rest = divmod(numerator << max(steps, 0), denominator << max(-steps, 0))
    bits = math.isqrt(square)
    return _nearest(bits, (exponent - steps) // 2, rest != 0 or bits * bits != square, dtype)


def _nearest(bits: int, exponent: int, rest: bool, dtype: np.dtype) -> float:
    """Return bits * 2^exponent rounded to nearest, ties to even; `rest` means nonzero lower bits."""
    precision, exponent_bits = _format_of(dtype)
    least = 3 - (1 << (exponent_bits - 1)) - precision
    unit = max(exponent + bits.bit_length() - precision, least)
    cut = unit - exponent
    significand, below = bits >> cut, bits & ((1 << cut) - 1)
    half = 1 << (cut - 1)
    if below > half or (below == half and (rest or significand & 1)):
        significand += 1
    try:
        return math.ldexp(significand, unit)
    except OverflowError:
        return math.inf
