"""NumPy's thirteen quantile methods: the two elements of a line to interpolate, and the weight.

Positions are indices into the sorted line. Continuous methods use a fractional position between two elements;
the others select an element. They are those of R. J. Hyndman and Y. Fan, "Sample quantiles in statistical
packages" (1996), and NumPy's four of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Interpolation(NamedTuple):
    """The elements before and after a position, and the weight of the second; None if there is only one."""

    lower: np.ndarray
    upper: np.ndarray
    weight: np.ndarray | None


def _times(count: Any, q: np.ndarray) -> np.ndarray:
    """Return count * q in the dtype of q, unless the count is a Python number."""
    if isinstance(count, np.ndarray) and q.dtype.kind == "f":
        count = count.astype(q.dtype)
    return count * q


def _along(alpha: float, beta: float) -> Callable[[Any, np.ndarray], np.ndarray]:
    return lambda n, q: _times(n, q) + (alpha + q * (1 - alpha - beta)) - 1


def _below(position: np.ndarray, is_at: np.ndarray) -> np.ndarray:
    """Return the element at or before a position if `is_at`, else the next one."""
    floor = np.floor(position)
    return np.maximum(np.where(is_at, floor, floor + 1).astype(np.intp), 0)


def _inverted_cdf(n: Any, q: np.ndarray) -> np.ndarray:
    position = _times(n, q) - 1
    return _below(position, position == np.floor(position))


def _closest_observation(n: Any, q: np.ndarray) -> np.ndarray:
    position = _times(n, q) - 1 - 0.5
    floor = np.floor(position)
    return _below(position, (position == floor) & (floor % 2 == 1))


def _midpoint(n: Any, q: np.ndarray) -> np.ndarray:
    position = _times(n - 1, q)
    return 0.5 * (np.floor(position) + np.ceil(position))


POSITIONS: dict[str, Callable[[Any, np.ndarray], np.ndarray]] = {
    "inverted_cdf": _inverted_cdf,
    "averaged_inverted_cdf": lambda n, q: _times(n, q) - 1,
    "closest_observation": _closest_observation,
    "interpolated_inverted_cdf": _along(0, 1),
    "hazen": _along(0.5, 0.5),
    "weibull": _along(0, 0),
    "linear": lambda n, q: _times(n - 1, q),
    "median_unbiased": _along(1 / 3.0, 1 / 3.0),
    "normal_unbiased": _along(3 / 8.0, 3 / 8.0),
    "lower": lambda n, q: np.floor(_times(n - 1, q)).astype(np.intp),
    "higher": lambda n, q: np.ceil(_times(n - 1, q)).astype(np.intp),
    "midpoint": _midpoint,
    "nearest": lambda n, q: np.around(_times(n - 1, q)).astype(np.intp),
}
_PLACES = 256  # that are kept
# Methods whose results are elements.
ELEMENT_METHODS = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")


def interpolation(method: str, n: Any, q: np.ndarray) -> Interpolation:
    """Return the interpolation of the quantiles `q` of lines of `n` elements (a number or an array)."""
    position = np.asanyarray(POSITIONS[method](n, q))
    if method in ELEMENT_METHODS or (method == "linear" and position.dtype.kind in "iu"):
        lower = position.astype(np.int64)
        return Interpolation(lower, lower, None)
    floor = np.floor(position)
    last = np.broadcast_to(np.asarray(n - 1), position.shape)
    above, below = position >= last, position < 0
    # NumPy counts the last element as the one before the first, which its weight then follows.
    counted = np.where(below, 0, np.where(above, -1, floor))
    lower = np.where(below, 0, np.where(above, last, floor)).astype(np.int64)
    upper = np.where(below, 0, np.where(above, last, floor + 1)).astype(np.int64)
    weight = position - counted
    if method == "averaged_inverted_cdf":
        weight = np.where(weight == 0, 0.5, 1.0)
    elif method == "midpoint":
        weight = np.where(position % 1 == 0, 0.0, 0.5)
    return Interpolation(lower, upper, np.asanyarray(weight, dtype=position.dtype))


def known_interpolation(method: str, n: int, q: np.ndarray) -> Interpolation:
    """Return the read-only interpolation for lines of one length, from a cache."""
    if q.dtype.kind not in "biuf":
        return interpolation(method, n, q)
    return _cached_interpolation(method, n, q.dtype, q.tobytes())


@functools.lru_cache(maxsize=_PLACES)
def _cached_interpolation(method: str, n: int, dtype: np.dtype, q: bytes) -> Interpolation:
    position = interpolation(method, n, np.frombuffer(q, dtype))
    for each in position:
        if each is not None:
            each.flags.writeable = False
    return position


def between(lower: np.ndarray, upper: np.ndarray, weight: np.ndarray, weak: bool) -> np.ndarray:
    """Interpolate between elements, from the nearer one, so that the ends are exact.

    A `weak` weight is a Python number, which does not affect the dtype.
    """
    step: np.ndarray = upper - lower
    if step.dtype.kind in "iu":  # the difference of two integers need not fit their dtype
        wide = upper.astype(np.uint64) - lower.astype(np.uint64)
        step = wide.astype(np.float64 if weak else np.result_type(step, weight))
    rest, nearer = 1 - weight, weight >= 0.5
    if weak:
        to = (step[:0] * 0.5).dtype
        weight, rest = weight.astype(to), rest.astype(to)
    result = np.asarray(lower + step * weight)
    np.subtract(upper, step * rest, out=result, where=nearer, casting="unsafe", dtype=result.dtype)
    return result


def middle(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the means of pairs of elements, as `numpy.mean`."""
    dtype = lower.dtype
    work = {"b": np.float64, "i": np.float64, "u": np.float64}.get(dtype.kind, dtype)
    wide = np.dtype(np.float32 if dtype == np.float16 else work)
    total = (lower.astype(wide) + wide.type(0)) + upper.astype(wide)  # a sum from 0, so that -0.0 becomes 0.0
    return (total / wide.type(2)).astype(work)
