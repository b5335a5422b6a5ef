"""Reductions of many arrays at once: gradients and weights of a model, or the arrays of a checkpoint.

A call reads all arrays in one launch, and one more for each further dtype. Results do not depend on the
order of the list, on how arrays are divided, or on the device: sums and norms are exact and rounded once.
Arrays on a device are read without copies, on the stream of the first one, and results stay on the device.
The call does not synchronize, and can be captured into a CUDA graph. Tensors may require gradients; results
do not.

>>> import numpy as np
>>> from gpureduce import multi
>>> gradients = [np.array([3.0, 0.0], np.float32), np.array([[4.0]], np.float32)]
>>> multi.total_norm(gradients, device="sim")
np.float32(5.0)
>>> multi.norms(gradients, device="sim")
array([3., 4.], dtype=float32)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce._multi.lists import STATE_WORDS, ArrayList, as_list, reduce_list, result_dtype_name
from gpureduce._rules import arguments as rules

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from gpureduce._device.devices import Device
    from gpureduce._reduce.types import Stream

__all__ = [
    "ArrayList",
    "all_finite",
    "fingerprint",
    "fingerprints",
    "max_abs",
    "norms",
    "partial_total_norm",
    "sums",
    "total_norm",
    "total_norm_of",
]


def __dir__() -> list[str]:
    return sorted(__all__)


_NORMS = {1.0: "norm1", 2.0: "norm2", float("inf"): "max"}


def _norm(ord: float) -> str:
    try:
        return _NORMS[float(ord)]
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"ord: expected 1, 2 or inf, got {ord!r}") from None


def _one_each(op: str, arrays: Iterable[Any], dtype: Any, device: Any, stream: Any) -> Any:
    items, name = as_list(arrays), result_dtype_name(dtype)
    if not items:
        return np.empty(0, name or np.float32)
    return reduce_list(op, items, device, stream, each=True, dtype=name)


def sums(
    arrays: Iterable[Any],
    *,
    dtype: DTypeLike | None = None,
    device: str | Device | None = None,
    stream: Stream | None = None,
) -> Any:
    """Return the exact sum of each array, rounded once.

    Parameters
    ----------
    arrays : iterable of array_like or device arrays
        Arrays of float16, bfloat16, float32 or float64, of any shapes: all in host memory, or all on one
        device. Tensors may require gradients.
    dtype : dtype_like, optional
        Data type of the results, a real floating-point dtype. Default: the dtype of the arrays; for several
        dtypes float64 if it is one of them, else float32.
    device : str or Device, optional
        Device for host arrays, as for `gpureduce.sum`.
    stream : int or stream object, optional
        CUDA stream, as for `gpureduce.sum`. Default: the stream of the first array.

    Returns
    -------
    numpy.ndarray or DeviceArray
        One result per array, on the device if the arrays are.

    Raises
    ------
    TypeError
        If `arrays` is a single array, or an array has another dtype.
    ValueError
        If the arrays are not all in host memory or on one device. The message names the first that is not.

    Notes
    -----
    The sum of no elements is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from gpureduce import multi
    >>> multi.sums([np.array([1e30, 1.0, -1e30]), np.array([2.0])], device="sim")
    array([1., 2.])
    """
    return _one_each("sum", arrays, dtype, device, stream)


def norms(
    arrays: Iterable[Any],
    ord: float = 2,
    *,
    dtype: DTypeLike | None = None,
    device: str | Device | None = None,
    stream: Stream | None = None,
) -> Any:
    """Return the norm of each array.

    Parameters
    ----------
    arrays : iterable of array_like or device arrays
        Input arrays, as for `sums`.
    ord : {1, 2, inf}
        Order of the norm. 1: sums of magnitudes; 2: roots of sums of squares; inf: largest magnitudes.
    dtype, device, stream
        As for `sums`.

    Returns
    -------
    numpy.ndarray or DeviceArray
        One result per array, on the device if the arrays are.

    Notes
    -----
    Norms are exact and rounded once: no square overflows or is lost. NaNs propagate. The norm of no elements
    is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from gpureduce import multi
    >>> multi.norms([np.array([3e200, -4e200]), np.array([1.0])], device="sim")
    array([5.e+200, 1.e+000])
    """
    return _one_each(_norm(ord), arrays, dtype, device, stream)


def max_abs(
    arrays: Iterable[Any],
    *,
    dtype: DTypeLike | None = None,
    device: str | Device | None = None,
    stream: Stream | None = None,
) -> Any:
    """Return the largest magnitude of each array.

    Parameters
    ----------
    arrays : iterable of array_like or device arrays
        Input arrays, as for `sums`.
    dtype, device, stream
        As for `sums`.

    Returns
    -------
    numpy.ndarray or DeviceArray
        One result per array, on the device if the arrays are. NaNs propagate. An array of no elements has 0.

    Examples
    --------
    >>> import numpy as np
    >>> from gpureduce import multi
    >>> multi.max_abs([np.array([1.0, -3.0]), np.array([2.0])], device="sim")
    array([3., 2.])
    """
    return _one_each("max", arrays, dtype, device, stream)


def total_norm(
    arrays: Iterable[Any],
    ord: float = 2,
    *,
    dtype: DTypeLike | None = None,
    device: str | Device | None = None,
    stream: Stream | None = None,
) -> Any:
    """Return the norm of the elements of all arrays.

    Parameters
    ----------
    arrays : iterable of array_like or device arrays
        Input arrays, as for `sums`.
    ord : {1, 2, inf}
        Order of the norm, as for `norms`.
    dtype, device, stream
        As for `sums`.

    Returns
    -------
    scalar or DeviceArray
        A NumPy scalar, or a device array of no dimensions if the arrays are on a device. Of no arrays: 0.

    Notes
    -----
    The sum of squares is exact and its root is rounded once, so the bits depend neither on the order of the
    arrays nor on how they are divided. For arrays on several devices see `partial_total_norm`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpureduce import multi
    >>> multi.total_norm([np.array([3.0]), np.array([[0.0, 4.0]])], device="sim")
    np.float64(5.0)
    """
    items, name, op = as_list(arrays), result_dtype_name(dtype), _norm(ord)
    if not items:
        return np.zeros((), name or np.float32)[()]
    return reduce_list(op, items, device, stream, dtype=name)


def partial_total_norm(
    arrays: Iterable[Any], *, device: str | Device | None = None, stream: Stream | None = None
) -> Any:
    """Return the exact sum of squares of all elements, to be added to those of other arrays.

    Parameters
    ----------
    arrays : iterable of array_like or device arrays
        Input arrays, as for `sums`.
    device, stream
        As for `sums`.

    Returns
    -------
    numpy.ndarray or DeviceArray
        144 integers of 64 bits. Sums of such arrays, element by element, are sums of squares of all their
        elements; up to 2^30 of them may be added. `total_norm_of` returns the norm.

    Notes
    -----
    Element i of the first 142 counts 2^(32 i - 2176). Element 142 is not zero if an element was infinite,
    element 143 if one was NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from gpureduce import multi
    >>> shards = [[np.array([3.0])], [np.array([0.0, 4.0])]]
    >>> states = [multi.partial_total_norm(shard, device="sim") for shard in shards]
    >>> multi.total_norm_of(states[0] + states[1], device="sim")
    np.float64(5.0)
    """
    items = as_list(arrays)
    return reduce_list("squares", items, device, stream) if items else np.zeros(STATE_WORDS, np.int64)


def total_norm_of(
    states: Any,
    *,
    dtype: DTypeLike = "float64",
    device: str | Device | None = None,
    stream: Stream | None = None,
) -> Any:
    """Return the norm of the elements whose sums of squares were added.

    Parameters
    ----------
    states : array_like or device array
        A result of `partial_total_norm`, a sum of such results, or several of them along the first axis,
        which are added.
    dtype : dtype_like
        Data type of the result, a real floating-point dtype.
    device, stream
        As for `sums`.

    Returns
    -------
    scalar or DeviceArray
        The bits are those of `total_norm` of all arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from gpureduce import multi
    >>> state = multi.partial_total_norm([np.array([3.0, 4.0])], device="sim")
    >>> multi.total_norm_of(np.stack([state, state]), dtype="float32", device="sim")
    np.float32(7.071068)
    """
    return reduce_list("norm2_state", (states,), device, stream, dtype=result_dtype_name(dtype))


def all_finite(
    arrays: Iterable[Any], *, device: str | Device | None = None, stream: Stream | None = None
) -> Any:
    """Return whether no element of any array is infinite or NaN.

    Parameters
    ----------
    arrays : iterable of array_like or device arrays
        Input arrays, as for `sums`.
    device, stream
        As for `sums`.

    Returns
    -------
    scalar or DeviceArray
        A NumPy bool, or a device array of no dimensions if the arrays are on a device. Of no arrays: True.

    Examples
    --------
    >>> import numpy as np
    >>> from gpureduce import multi
    >>> multi.all_finite([np.array([1.0]), np.array([2.0, np.nan])], device="sim")
    np.False_
    """
    items = as_list(arrays)
    return reduce_list("all_finite", items, device, stream) if items else np.True_


def fingerprint(
    arrays: Iterable[Any],
    *,
    offset: int = 0,
    device: str | Device | None = None,
    stream: Stream | None = None,
) -> Any:
    """Return a fingerprint of the bits of all elements and their positions.

    Parameters
    ----------
    arrays : iterable of array_like or device arrays
        Arrays of any dtype, all in host memory or all on one device.
    offset : int
        Position of the first word, not negative.
    device, stream
        As for `sums`.

    Returns
    -------
    scalar or DeviceArray
        A uint64, or a device array of no dimensions if the arrays are on a device. Of no arrays: 0.

    Notes
    -----
    The bytes of each array, in C order, are cut into words of eight, little-endian integers; zeros follow the
    last byte of an array in its last word. Words are numbered from `offset` on, across all arrays. A word w
    at position i adds mix(w + (i + 1) * 0x9e3779b97f4a7c15), all modulo 2^64. The function mix sets x to
    x ^ (x >> 32), multiplies it by 0xd6e8feb86659fd93, does both again, and returns x ^ (x >> 32).

    The fingerprint of a list is the sum of the fingerprints of its parts, modulo 2^64, if `offset` is the
    number of words before a part: an array of n bytes has (n + 7) // 8. Pieces of one array add up in the
    same way if each but the last has a multiple of eight bytes.

    A change of one element always changes the fingerprint, as mix is a bijection. Other changes go unnoticed
    with a probability of about 2^-64. The exception is zeros at the end of an array, which have no effect if
    they are part of its last word. A fingerprint is not a cryptographic hash: lists with the same fingerprint
    can be constructed. Shapes and dtypes have no effect.

    Examples
    --------
    >>> import numpy as np
    >>> from gpureduce import multi
    >>> before = multi.fingerprint([np.array([0.0, 1.0])], device="sim")
    >>> bool(before == multi.fingerprint([np.array([-0.0, 1.0])], device="sim"))
    False
    """
    items, offset = as_list(arrays), rules.integer(offset, "offset")
    if not 0 <= offset < 2**64:
        raise ValueError(f"offset: expected 0 to 2**64 - 1, got {offset}")
    return reduce_list("fingerprint", items, device, stream, offset=offset) if items else np.uint64(0)


def fingerprints(
    arrays: Iterable[Any], *, device: str | Device | None = None, stream: Stream | None = None
) -> Any:
    """Return the fingerprint of each array.

    Parameters
    ----------
    arrays : iterable of array_like or device arrays
        Arrays of any dtype, all in host memory or all on one device.
    device, stream
        As for `sums`.

    Returns
    -------
    numpy.ndarray or DeviceArray
        The `fingerprint` of each array alone, as uint64.

    Examples
    --------
    >>> import numpy as np
    >>> from gpureduce import multi
    >>> a = np.arange(3.0)
    >>> one, other, same = multi.fingerprints([a, a[::-1], a.copy()], device="sim")
    >>> bool(one == same), bool(one == other)
    (True, False)
    """
    items = as_list(arrays)
    if not items:
        return np.empty(0, np.uint64)
    return reduce_list("fingerprint", items, device, stream, each=True)
