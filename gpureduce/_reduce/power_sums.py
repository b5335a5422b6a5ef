"""Sums of powers, from which moments are made on the host.

Those of a result are (count, shift, sums of the first to the fourth power of elements less shift), as the
core gives them for the operator "moments"; the count is negative where a NaN was left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from gpureduce._arrays.operand import Operand
from gpureduce._device.devices import LEGACY_STREAM
from gpureduce._reduce.engine import run

PIECE_BYTES = 256 << 20  # of an array of the host, that is copied and summed up at once


def moved(sums: np.ndarray, e: Any) -> np.ndarray:
    """Return the sums about a point `e` before theirs, as cuda_kernels/include/moments.cuh has it."""
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
    """Return the sums of each result; a long array of the host goes to the device piece by piece."""
    whole = operand.handle
    long = operand.view is None and mask is None and whole.nbytes > PIECE_BYTES
    if not (long and len(axes) == whole.ndim and whole.flags.c_contiguous):
        found: Any = run("moments", operand, axes, mask, stream=stream)
        return found
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


def ratios(sums: np.ndarray, ddof: Any, bias: bool, fisher: bool) -> Iterator[np.ndarray]:
    """Yield mean, variance, skewness and kurtosis, in float64."""
    n = np.abs(sums[..., 0])
    nan = np.where(np.signbit(sums[..., 0]), np.nan, 0.0)
    ahead = sums[..., 2] / n
    mean = sums[..., 1] + ahead
    yield mean + nan
    _, _, _, second, third, fourth = np.moveaxis(moved(sums, -ahead), -1, 0)
    second = np.where(second < 0, 0.0, second)
    yield second / np.maximum(n - ddof, 0) + nan
    constant = np.where(second / n <= (1e-15 * mean) ** 2, np.nan, nan)
    skewness = third * np.sqrt(n) / second**1.5
    if not bias:
        skewness = skewness * np.where(n > 2, np.sqrt(n * (n - 1)) / (n - 2), 1)
    yield skewness + constant
    kurtosis = n * fourth / second**2
    if not bias:
        better = ((n * n - 1) * kurtosis - 3 * (n - 1) ** 2) / ((n - 2) * (n - 3)) + 3
        kurtosis = np.where(n > 3, better, kurtosis)
    yield kurtosis - 3 * fisher + constant
