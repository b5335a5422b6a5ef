"""Sums of powers, from which the host computes moments.

The sums of a result are (count, shift, sums of the first to the fourth power of element - shift), as the core
returns them for the operator "moments"; the count is negative if a NaN was ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from gpureduce._arrays.copies import to_host
from gpureduce._arrays.operand import Operand
from gpureduce._device.devices import LEGACY_STREAM
from gpureduce._reduce import floating
from gpureduce._reduce.engine import run
from gpureduce._reduce.fused_ops import view_of
from gpureduce._reduce.output import OutputSpec
from gpureduce._rules import dtypes

PIECE_BYTES = 256 << 20  # of a host array, that is copied and summed up at once
# Sums of squares between these have squares and fourth powers that neither over- nor underflow.
_SMALLEST, _LARGEST = 1e-140, 1e140
_FINE = 1e-120  # elements of this magnitude are equal if the squares of their differences underflow to 0


def moved(sums: np.ndarray, e: Any) -> np.ndarray:
    """Return the sums about a point `e` before theirs, as in cuda_kernels/include/reduce/ops/moments.cuh."""
    count, shift, first, second, third, fourth = np.moveaxis(sums, -1, 0)
    n = np.abs(count)
    return np.stack(
        [
            count,
            shift - e,
            first + n * e,
            second + e * (2 * first + n * e),
            third + e * (3 * second + e * (3 * first + n * e)),
            fourth + e * (4 * third + e * (6 * second + e * (4 * first + n * e))),
        ],
        axis=-1,
    )


def sums_of(
    operand: Operand, axes: tuple[int, ...], mask: Operand | None, stream: int = LEGACY_STREAM
) -> np.ndarray:
    """Return the sums of each result; a long host array goes to the device piece by piece."""
    whole = operand.handle
    long = operand.view is None and mask is None and whole.nbytes > PIECE_BYTES
    if not (long and len(axes) == whole.ndim and whole.flags.c_contiguous):
        sums: Any = run("moments", operand, axes, mask, stream=stream)
        return sums
    step = PIECE_BYTES // whole.itemsize
    flat, total = whole.reshape(-1), np.zeros(6)
    for start in range(0, flat.size, step):
        piece = flat[start : start + step]
        more: Any = run("moments", replace(operand, handle=piece, shape=piece.shape), (0,))
        shift = total[1] + abs(more[0]) / (abs(total[0]) + abs(more[0]) or 1) * (more[1] - total[1])
        total, more = moved(total, total[1] - shift), moved(more, more[1] - shift)
        count = np.copysign(abs(total[0]) + abs(more[0]), min(np.copysign(1, [total[0], more[0]])))
        total = np.array([count, shift, *(total[2:] + more[2:])])
    return total


def scaled_sums(
    operand: Operand, axes: tuple[int, ...], mask: Operand | None, stream: int = LEGACY_STREAM
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of elements that are scaled by powers of two, and the exponents of the inverses.

    Exponents are 0 unless powers of float64 over- or underflow. If some do, a second pass sums up all
    elements, which are scaled in host memory so that the largest magnitude of each result is about 1.
    """
    sums = sums_of(operand, axes, mask, stream)
    exponents = np.zeros(sums.shape[:-1], np.int64)
    if operand.dtype != np.float64:
        return sums, exponents
    with np.errstate(all="ignore"):
        second = moved(sums, -sums[..., 2] / np.abs(sums[..., 0]))[..., 3]
        doubtful = ~np.isfinite(sums).all(axis=-1) | (second > _LARGEST) | (second < _SMALLEST)
        doubtful &= (second != 0) | ~(np.abs(sums[..., 1]) >= _FINE)
    if not doubtful.any():
        return sums, exponents
    high, low = floating.extremes(operand, axes, mask)[0]
    doubtful &= ~(np.isinf(high) | np.isinf(low) | (high == low))
    if not doubtful.any():
        return sums, exponents
    elements = _host_elements(operand, stream)
    chosen: Any = True if mask is None else _host_elements(mask, stream)
    largest = np.fmax.reduce(np.abs(elements), axis=axes, where=chosen, initial=0, keepdims=True)
    each = np.where(doubtful.reshape(largest.shape), np.frexp(largest)[1], 0)
    # In two steps, as the power of two for subnormals exceeds a double.
    scaled = np.ldexp(np.ldexp(elements, -each // 2), -each - -each // 2)
    mask = mask if mask is None else replace(mask, handle=chosen, view=None)
    again = sums_of(replace(operand, handle=scaled, view=None), axes, mask)
    return again, each.reshape(exponents.shape)


def _host_elements(operand: Operand, stream: int) -> np.ndarray:
    """Return the elements in host memory."""
    if operand.view is None:
        handle: np.ndarray = operand.handle
        return handle
    pointer, shape, strides, _ = operand.handle
    view = view_of(operand.view, pointer, shape, strides, operand.dtype)
    view.stream = stream
    return to_host(view)


def ratios(
    sums: np.ndarray, exponents: np.ndarray, ddof: Any, bias: bool, fisher: bool
) -> Iterator[np.ndarray]:
    """Yield mean, variance, skewness and kurtosis of what `scaled_sums` returns, in float64."""
    n = np.abs(sums[..., 0])
    nan = np.where(np.signbit(sums[..., 0]), np.nan, 0.0)
    ahead = sums[..., 2] / n
    mean = sums[..., 1] + ahead
    yield np.ldexp(mean, exponents) + nan
    _, _, _, second, third, fourth = np.moveaxis(moved(sums, -ahead), -1, 0)
    second = np.where(second < 0, 0.0, second)
    yield np.ldexp(second / np.maximum(n - ddof, 0), 2 * exponents) + nan
    constant = np.where(second / n <= (1e-15 * mean) ** 2, np.nan, nan)
    skewness = third * np.sqrt(n) / (second * np.sqrt(second))
    if not bias:
        skewness = skewness * np.where(n > 2, np.sqrt(n * (n - 1)) / (n - 2), 1)
    yield skewness + constant
    kurtosis = n * fourth / second**2
    if not bias:
        better = ((n * n - 1) * kurtosis - 3 * (n - 1) ** 2) / ((n - 2) * (n - 3)) + 3
        kurtosis = np.where(n > 3, better, kurtosis)
    yield kurtosis - 3 * fisher + constant


def rounded_moments(
    operand: Operand,
    axes: tuple[int, ...],
    mask: Operand | None,
    order: int,
    ddof: float,
    bias: bool,
    fisher: bool,
    omits_nan: bool,
    output: OutputSpec,
) -> list[np.ndarray]:
    """Return counts and moments up to an order."""
    sums, exponents = scaled_sums(operand, axes, mask, output.stream)
    if omits_nan:
        sums[..., 0] = np.abs(sums[..., 0])
    dtype = dtypes.core_dtype("var", operand.dtype)
    with np.errstate(all="ignore"):
        parts = [np.abs(sums[..., 0]).astype(np.int64)]
        for part in islice(ratios(sums, exponents, ddof, bias, fisher), order):
            parts.append(np.empty_like(parts[0], dtype))  # in the memory order of the elements
            np.copyto(parts[-1], part, casting="unsafe")
    return parts
