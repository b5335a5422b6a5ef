"""The exact sum of floats by Python's integers, rounded once; and floats that are hard to sum."""

import math
from fractions import Fraction

import numpy as np

from tests.support.numpy_oracle import BFLOAT16

# Bits of a significand, and the exponent of the last bit of the smallest numbers.
FORMATS = {"float16": (11, -24), "bfloat16": (8, -133), "float32": (24, -149), "float64": (53, -1074)}
DTYPES = [name for name in FORMATS if name != "bfloat16" or BFLOAT16 is not None]
SCALE = 2200  # a product of two of the smallest numbers is whole in units of 2^-2200


def dtype_of(name):
    return BFLOAT16 if name == "bfloat16" else np.dtype(name)


def whole(value):
    """Return a float in units of 2^-SCALE."""
    numerator, denominator = float(value).as_integer_ratio()
    return numerator << SCALE + 1 - denominator.bit_length()  # the denominator is a power of two


def rounded(value, dtype):
    """Return a fraction rounded to nearest, ties to even, in a dtype: as Fraction's round has them."""
    precision, least = FORMATS[dtype.name]
    numerator, denominator = abs(value.numerator), value.denominator
    if numerator == 0:
        return dtype.type(0)
    # The exponent of the first bit, or one more.
    exponent = numerator.bit_length() - denominator.bit_length()
    unit = max(exponent - precision, least)
    numerator, denominator = numerator << max(-unit, 0), denominator << max(unit, 0)
    if numerator >> precision >= denominator:  # more steps than a significand has
        unit, denominator = unit + 1, denominator << 1
    steps, rest = divmod(numerator, denominator)
    steps += 2 * rest + (steps & 1) > denominator
    try:
        result = math.ldexp(steps, unit)
    except OverflowError:
        result = math.inf
    with np.errstate(over="ignore"):
        return dtype.type(-result if value < 0 else result)


def finished(total, specials, dtype, divisor=1):
    """Return a sum in those units, or what infinities and NaNs make of it."""
    if divisor == 0 or any(map(math.isnan, specials)) or {math.inf, -math.inf} <= set(specials):
        return dtype.type(math.nan)
    if specials:
        return dtype.type(specials[0])
    return rounded(Fraction(total, divisor << SCALE), dtype)


def exact_sum(values, dtype=None, divisor=1):
    """Return the sum of an array of floats, which starts at 0."""
    dtype = values.dtype if dtype is None else dtype
    doubles = values.astype(np.float64)
    finite = np.isfinite(doubles)
    total = sum(map(whole, doubles[finite].tolist()))
    return finished(total, doubles[~finite].tolist(), dtype, divisor)


def exact_dot(a, b):
    """Return the sum of products."""
    total, specials = 0, []
    for x, y in zip(a.astype(np.float64).tolist(), b.astype(np.float64).tolist(), strict=True):
        if math.isfinite(x) and math.isfinite(y):
            total += whole(x) * whole(y)
        else:
            specials.append(x * y)
    return finished(total, specials, a.dtype, 1 << SCALE)


def same(got, want):
    """Return whether two numbers are the same to the bit, any NaN being as good as another."""
    got, want = np.asarray(got), np.asarray(want)
    nan = np.isnan(want.astype(np.float64))
    bits = f"u{want.dtype.itemsize}"
    return (
        got.dtype == want.dtype
        and got.shape == want.shape
        and bool(((got.view(bits) == want.view(bits)) | nan).all())
        and bool((np.isnan(got.astype(np.float64)) == nan).all())
    )


# Data


def any_bits(rng, n, dtype):
    """Return finite numbers of any exponent."""
    bits = rng.integers(0, 1 << 8 * dtype.itemsize, n, dtype=f"u{dtype.itemsize}")
    return _finite(bits.view(dtype), dtype.type(0))


def _finite(numbers, others):
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(numbers.astype(np.float64)), numbers, others)


def cancelling(rng, n, dtype):
    """Return numbers that cancel but for the last bit of a few."""
    half = any_bits(rng, n // 2, dtype)
    bits = half.view(f"u{dtype.itemsize}").copy()
    bits[rng.random(len(bits)) < 0.05] ^= 1
    return np.concatenate([half, -_finite(bits.view(dtype), half)])


def near_ties(rng, n, dtype):
    """Return numbers whose sum lies halfway between two others, or next to it: the sticky bit decides."""
    precision, least = FORMATS[dtype.name]
    room = 6 if dtype.name == "float16" else 90
    top = int(rng.integers(-2, 6 if dtype.name == "float16" else 20))
    parts = [2.0**top * (1 + int(rng.integers(0, 8)) * 2.0 ** (1 - precision)), 2.0 ** (top - precision)]
    if rng.random() < 0.6:
        below = max(top - precision - int(rng.integers(1, room)), least)
        parts.append(float(rng.choice([-1, 1])) * 2.0**below)
    if rng.random() < 0.5:
        parts = [-part for part in parts]
    spread = np.zeros(max(n, 3))
    spread[rng.choice(len(spread), len(parts), replace=False)] = parts
    return spread.astype(dtype)


def specials(rng, n, dtype):
    """Return numbers with a few infinities or NaNs among them, or neither."""
    numbers = any_bits(rng, n, dtype)
    kinds = rng.choice([math.inf, -math.inf, math.nan], 2)
    for kind in kinds[: int(rng.integers(0, 3))]:
        numbers[rng.integers(0, max(n, 1), 1 if n else 0)] = kind
    return numbers


def overflowing(rng, n, dtype):
    """Return numbers whose partial sums overflow, and whose sum need not."""
    most = float(np.finfo(dtype).max) if dtype.name != "bfloat16" else 3.3895313892515355e38
    signs = rng.choice([-1.0, 1.0], n)
    return (signs * most).astype(dtype)


def subnormal(rng, n, dtype):
    """Return numbers around the smallest normal ones."""
    precision, _ = FORMATS[dtype.name]
    bits = rng.integers(0, 1 << precision, n, dtype=f"u{dtype.itemsize}")
    return np.where(rng.random(n) < 0.5, bits.view(dtype), -bits.view(dtype)).astype(dtype)


def plain(rng, n, dtype):
    return rng.standard_normal(n).astype(dtype)


def sparse(rng, n, dtype):
    return np.where(rng.random(n) < 0.05, any_bits(rng, n, dtype), dtype.type(-0.0)).astype(dtype)


KINDS = (plain, any_bits, cancelling, near_ties, specials, overflowing, subnormal, sparse)
