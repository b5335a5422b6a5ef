"""Test helpers: comparison of bits, correctly rounded sums, and what the bits of a function depend on.

>>> import numpy as np, gpureduce
>>> from gpureduce.testing import assert_same_bits, exact_sum
>>> a = np.array([1e100, 1.0, -1e100])
>>> assert_same_bits(gpureduce.fsum(a, device="sim"), exact_sum(a))
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from gpureduce._arrays.device_array import DeviceArray
from gpureduce._invariance import Difference, InvarianceReport, check_invariance
from gpureduce._rules.arguments import as_array, reduced_axes
from gpureduce._rules.dtypes import is_supported

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["Difference", "InvarianceReport", "assert_same_bits", "check_invariance", "exact_sum"]

# Bits of the significand, and the exponent of the last bit of subnormal numbers.
_FORMATS = {"float16": (11, -24), "bfloat16": (8, -133), "float32": (24, -149), "float64": (53, -1074)}


def __dir__() -> list[str]:
    return sorted(__all__)


def assert_same_bits(
    actual: ArrayLike | DeviceArray, expected: ArrayLike | DeviceArray, err_msg: str = ""
) -> None:
    """Raise an AssertionError unless two arrays have the same shape, dtype and bits.

    Parameters
    ----------
    actual, expected : array_like or DeviceArray
        Computed and expected arrays. Device arrays are copied to the host. Unlike with ``==``, 0.0 differs
        from -0.0, and a NaN is equal to a NaN of the same bits.
    err_msg : str
        Line to print before the message.

    Raises
    ------
    AssertionError
        If the arrays differ. The message has the number of different elements, and the first one with its
        index and its bits.
    TypeError
        If an array holds objects, text or dates.

    Examples
    --------
    >>> import numpy as np
    >>> from gpureduce.testing import assert_same_bits
    >>> assert_same_bits(np.float32([1, 2]), np.float32([1, 2]))
    >>> assert_same_bits([0.0, 1.0], [-0.0, 1.0])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    AssertionError: 1 of 2 elements differ; the first at (0,): 0.0 (0x00...
    """
    left, right = _on_host(actual, "actual"), _on_host(expected, "expected")
    prefix = f"{err_msg}\n" if err_msg else ""
    if left.dtype != right.dtype:
        raise AssertionError(f"{prefix}dtype {left.dtype}, expected {right.dtype}")
    if left.shape != right.shape:
        raise AssertionError(f"{prefix}shape {left.shape}, expected {right.shape}")
    differs = (_bytes(left) != _bytes(right)).any(axis=-1)
    if differs.any():
        index = tuple(int(each) for each in np.argwhere(differs)[0])
        raise AssertionError(
            f"{prefix}{np.count_nonzero(differs)} of {left.size} elements differ; the first at {index}: "
            f"{_with_bits(left[index])}, expected {_with_bits(right[index])}"
        )


def exact_sum(
    a: ArrayLike | DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None
) -> Any:
    """Return the correctly rounded sum, the expected result of `fsum` and ``sum(exact=True)``.

    The sum is computed on the host with Python integers, and takes about a microsecond per element.

    Parameters
    ----------
    a : array_like or DeviceArray
        Input array.
    axis : int or tuple of int, optional
        Axis or axes along which to sum. Default: all axes.

    Returns
    -------
    numpy scalar or numpy.ndarray
        For floats and complex numbers, the sum in the same dtype, rounded to nearest, ties to even.
        Infinities and NaNs follow IEEE 754 addition; a sum of zero is 0.0, never -0.0. Sums of integers and
        bools are computed by NumPy, exactly modulo 2**64.

    Raises
    ------
    TypeError
        If an array holds objects, text or dates.
    numpy.exceptions.AxisError
        If an axis is out of bounds.

    Examples
    --------
    >>> import numpy as np
    >>> from gpureduce.testing import exact_sum
    >>> exact_sum([1e100, 1.0, -1e100])
    np.float64(1.0)
    >>> exact_sum(np.float32([[1, 2**-30], [3, 4]]), axis=1)
    array([1., 7.], dtype=float32)
    """
    array = _on_host(a, "a")
    reduced = reduced_axes(axis, array.ndim)
    if array.dtype.kind in "biu":
        return np.sum(array, axis=reduced)
    if array.dtype.kind == "c":
        real, imag = exact_sum(array.real, axis), exact_sum(array.imag, axis)
        result = np.empty(np.shape(real), array.dtype)
        result.real, result.imag = real, imag
        return result[()]
    kept_axes = [each for each in range(array.ndim) if each not in reduced]
    rows = array.transpose([*kept_axes, *reduced]).reshape(
        math.prod(array.shape[each] for each in kept_axes), -1
    )
    sums = np.array([_sum_of_row(row) for row in rows], array.dtype)
    return sums.reshape([array.shape[each] for each in kept_axes])[()]


def _on_host(a: Any, name: str) -> np.ndarray[Any, Any]:
    array = a.numpy() if isinstance(a, DeviceArray) else as_array(a, name)
    if not is_supported(array.dtype):
        raise TypeError(f"{name}: expected numbers or bools, got dtype {array.dtype}")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _bytes(array: np.ndarray) -> np.ndarray:
    """Return the bytes of each element along a further axis."""
    flat = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
    return flat.reshape(*array.shape, array.dtype.itemsize)


def _with_bits(value: np.generic) -> str:
    order = -1 if np.little_endian else 1
    parts = [value.real, value.imag] if value.dtype.kind == "c" else [value]
    return f"{value!s} ({', '.join(f'0x{part.tobytes()[::order].hex()}' for part in parts)})"


def _sum_of_row(row: np.ndarray) -> np.generic:
    doubles = row.astype(np.float64)
    finite = np.isfinite(doubles)
    if not finite.all():
        with np.errstate(invalid="ignore"):
            return row.dtype.type(doubles[~finite].sum())
    return _rounded(_total(doubles.tolist()), row.dtype)


def _total(values: Iterable[float]) -> Fraction:
    """Return a sum of floats, in units of the last bit of the smallest float64 meanwhile."""
    units = 0
    for value in values:
        numerator, denominator = value.as_integer_ratio()
        units += numerator * ((1 << 1074) // denominator)
    return Fraction(units, 1 << 1074)


def _rounded(value: Fraction, dtype: np.dtype) -> np.generic:
    """Return a fraction rounded to nearest, ties to even, in a dtype of floats."""
    precision, least = _FORMATS[dtype.name]
    size = abs(value)
    if not size:
        return dtype.type(0)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = max(exponent - precision + 1, least)
    steps = round(size / Fraction(2) ** unit)  # Fraction rounds ties to even
    try:
        result = math.ldexp(steps, unit)
    except OverflowError:
        result = math.inf
    with np.errstate(over="ignore"):
        return dtype.type(-result if value < 0 else result)
