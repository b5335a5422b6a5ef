"""Weighted averages and moments with ``exact=True``: quotients and roots of exact sums, rounded once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from gpureduce._arrays.operand import Operand
from gpureduce._reduce import exact_states
from gpureduce._reduce.exact_squares import (
    PowerSums,
    add_states,
    counts_of,
    each_alone,
    pieces_on_device,
    power_sums,
    prepare,
    states_of,
    variances,
)
from gpureduce._reduce.output import OutputSpec
from gpureduce._rules import arguments as rules

_FLOAT64 = np.dtype(np.float64)


# Averages


def exact_average(
    operand: Operand, weights: Operand, axes: tuple[int, ...], output: OutputSpec
) -> tuple[np.ndarray, np.ndarray]:
    """Return weighted averages and the sums of the weights, each rounded once."""
    prepare("average", output)
    products = states_of("dot", operand, axes, output, weights.handle)
    totals = states_of("sum", weights, axes, output)
    dtype = operand.dtype
    numerators, divisors = exact_states.size_of_products(dtype), exact_states.size_of_sum(dtype)
    total = exact_states.rounded(totals, divisors, dtype)
    with np.errstate(all="ignore"):  # of infinities, NaNs, and weights that sum to zero
        result = np.asarray(exact_states.rounded(products, numerators, dtype) / total)
    parts, exponent = exact_states.parts(dtype), divisors.below - numerators.below
    rows = zip(_rows(products, parts), _rows(totals, parts), _specials(products, totals), strict=True)
    flat = result.reshape(-1).view(exact_states.real(dtype)).reshape(-1, parts)
    for i, (top, bottom, special) in enumerate(rows):
        if not special and any(bottom):
            flat[i] = [_signed(*each, exponent, flat.dtype) for each in _quotients(top, bottom)]
    return result, total


def _rows(states: np.ndarray, parts: int) -> Iterator[list[int]]:
    values = exact_states.integers(states)
    return (values[i : i + parts] for i in range(0, len(values), parts))


def _specials(*states: np.ndarray) -> np.ndarray:
    """Return whether infinities or NaNs are among the elements of each result."""
    marks = [(exact_states.flags(each) & ~8).any(axis=-1).reshape(-1) for each in states]
    return np.logical_or.reduce(marks)


def _quotients(top: list[int], bottom: list[int]) -> list[tuple[int, int]]:
    """Return numerator and denominator of a quotient, or of the parts of a complex one."""
    if len(top) == 1:
        return [(top[0], bottom[0])]
    (a, b), (c, d) = top, bottom
    return [(a * c + b * d, c * c + d * d), (b * c - a * d, c * c + d * d)]


def _signed(
    numerator: int,
    denominator: int,
    exponent: int,
    dtype: np.dtype,
    finish: Callable[..., float] = exact_states.quotient,
) -> np.generic:
    """Return a quotient, or the root of its magnitude with its sign, rounded once."""
    sign = -1 if (numerator < 0) != (denominator < 0) else 1
    with np.errstate(over="ignore"):
        return dtype.type(sign * finish(abs(numerator), abs(denominator), exponent, dtype))


# Moments

# Moments of higher order are for elements whose squares a float64 holds.
_HIGHER = ("float16", "bfloat16", "float32")


def exact_moments(
    operand: Operand,
    axes: tuple[int, ...],
    mask: Operand | None,
    order: int,
    ddof: float,
    bias: bool,
    fisher: bool,
    output: OutputSpec,
) -> list[np.ndarray]:
    """Return counts and moments, each rounded once."""
    if order > 2 and operand.dtype.name not in _HIGHER:
        raise TypeError(f"order: exact=True supports 1 and 2 of {operand.dtype}, got {order}")
    prepare("moments", output)
    operand = output.cast(operand, _FLOAT64) if operand.dtype.kind in "biu" else operand
    dtype = operand.dtype
    if order > 2:
        power, higher = _higher_sums(operand, axes, mask, output)
    else:
        power, higher = power_sums("moments", operand, axes, mask, output), []
    with np.errstate(all="ignore"):
        mean = exact_states.rounded(power.sums, exact_states.size_of_sum(dtype), dtype, power.counts)
    found = [power.counts.astype(np.int64), mean]
    if order > 1:
        found.append(variances(power, dtype, dtype, ddof, False))
    if order > 2:
        found += _ratios(power, higher, dtype, bias, fisher)[: order - 2]
    return found


def _higher_sums(
    operand: Operand, axes: tuple[int, ...], mask: Operand | None, output: OutputSpec
) -> tuple[PowerSums, list[np.ndarray]]:
    """Return the states of the first four powers, from squares that are copied to the device as float64."""
    kept = rules.kept_shape(operand.shape, axes)
    total: list[np.ndarray] = []
    for piece, piece_axes in pieces_on_device(operand, axes, mask, output):
        states = [
            states_of("sum", piece, piece_axes, output),
            states_of("dot", piece, piece_axes, output, True),
        ]
        doubles = output.cast(piece, _FLOAT64)
        squares = each_alone("dot", doubles, output, doubles) if 0 not in piece.shape else doubles
        for second in (doubles.handle, True):
            states.append(states_of("dot", squares, piece_axes, output, second))
        total = add_states(total, states)
    sums, squares_of, *higher = (each.reshape(kept + each.shape[-2:]) for each in total)
    return PowerSums(counts_of(operand, axes, mask, output), sums, squares_of), higher


def _ratios(
    power: PowerSums, higher: list[np.ndarray], dtype: np.dtype, bias: bool, fisher: bool
) -> list[np.ndarray]:
    """Return skewness and kurtosis; those of equal elements are NaN."""
    unit = exact_states.size_of_sum(dtype).below
    sizes = [exact_states.size_of_products(dtype), *[exact_states.size_of_products(_FLOAT64)] * 2]
    # The sum of p-th powers, in units of the p-th power of the unit of the sum.
    sums = [exact_states.integers(power.sums)]
    for p, (states, size) in enumerate(zip((power.squares, *higher), sizes, strict=True), 2):
        sums.append([value >> size.below - p * unit for value in exact_states.integers(states)])
    special = _specials(power.sums)
    found = [np.full(len(special), np.nan, dtype) for _ in range(2)]
    for i, n in enumerate(int(count) for count in power.counts.flat):
        s1, s2, s3, s4 = (each[i] for each in sums)
        second = n * s2 - s1**2  # n^p times the central moments
        if special[i] or second <= 0:
            continue
        third = n * n * s3 - 3 * n * s1 * s2 + 2 * s1**3
        fourth = n**3 * s4 - 4 * n * n * s1 * s3 + 6 * n * s1**2 * s2 - 3 * s1**4
        found[0][i] = _skewness(n, second, third, dtype, bias)
        found[1][i] = _kurtosis(n, Fraction(fourth, second**2), dtype, bias, fisher)
    return [each.reshape(power.counts.shape) for each in found]


def _skewness(n: int, second: int, third: int, dtype: np.dtype, bias: bool) -> np.generic:
    top, bottom = third * third, second**3
    if not bias and n > 2:
        top, bottom = top * n * (n - 1), bottom * (n - 2) ** 2
    return _signed(top if third >= 0 else -top, bottom, 0, dtype, exact_states.root)


def _kurtosis(n: int, kurtosis: Fraction, dtype: np.dtype, bias: bool, fisher: bool) -> np.generic:
    if not bias and n > 3:
        kurtosis = ((n * n - 1) * kurtosis - 3 * (n - 1) ** 2) / ((n - 2) * (n - 3)) + 3
    return _signed(*(kurtosis - 3 * fisher).as_integer_ratio(), 0, dtype)
