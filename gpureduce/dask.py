"""Reductions of Dask arrays, chunk by chunk and on the devices of the workers, merged as states.

``pip install 'gpureduce[dask]'``. Chunks may be arrays of NumPy, CuPy or whatever else `gpureduce.sum` takes.
Sums, means, variances and dot products are exact: their bits depend neither on the chunks nor on the workers.
What is no Dask array is reduced at once. See docs/dask.md.

>>> import dask.array as da, gpureduce.dask as gd
>>> x = da.arange(10.0, chunks=4)
>>> gd.sum(x, device="sim")
dask.array<gpureduce-sum-aggregate, shape=(), dtype=float64, chunksize=(), chunktype=numpy.ndarray>
>>> gd.sum(x, device="sim").compute()
np.float64(45.0)
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

try:
    import dask.array as da
except ImportError as error:
    raise ImportError("gpureduce.dask needs Dask: pip install 'gpureduce[dask]'") from error

from gpureduce._device.devices import Device
from gpureduce._rules import arguments as rules
from gpureduce._states.partial import partial
from gpureduce._states.state import State

if TYPE_CHECKING:
    from typing import SupportsIndex, TypeAlias

    from numpy.typing import DTypeLike

    Axis: TypeAlias = SupportsIndex | tuple[SupportsIndex, ...] | None
    Split: TypeAlias = int | Mapping[int, int] | None

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "dot",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]

_PLACES = ("argmin", "argmax")


def sum(
    a: Any,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    split_every: Split = None,
    *,
    device: str | Device | None = None,
) -> Any:
    """Return the sum of the elements, rounded once.

    Parameters
    ----------
    a : dask.array.Array
        Of any chunks.
    axis : int or tuple of int, optional
        The axes to reduce; None reduces all.
    dtype : dtype_like, optional
        What elements are cast to before.
    keepdims : bool
        Whether reduced axes stay, with length one.
    split_every : int or dict, optional
        How many states are merged at a time, or how many along each axis; None takes Dask's.
    device : str or Device, optional
        Where the workers reduce their chunks, as `gpureduce.sum` takes it.

    Returns
    -------
    dask.array.Array

    Notes
    -----
    Sums of integers that do not fit raise OverflowError.

    Examples
    --------
    >>> import dask.array as da, gpureduce.dask as gd
    >>> gd.sum(da.ones((4, 6), chunks=3), axis=0, device="sim").compute()
    array([4., 4., 4., 4., 4., 4.])
    """
    return _reduce("sum", a, axis, keepdims, split_every, dtype=dtype, device=device)


def mean(
    a: Any,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    split_every: Split = None,
    *,
    device: str | Device | None = None,
) -> Any:
    """Return the mean of the elements, rounded once.

    Parameters
    ----------
    a : dask.array.Array
        Of any chunks.
    axis : int or tuple of int, optional
        The axes to reduce; None reduces all.
    dtype : dtype_like, optional
        What elements are cast to before.
    keepdims : bool
        Whether reduced axes stay, with length one.
    split_every : int or dict, optional
        How many states are merged at a time, or how many along each axis; None takes Dask's.
    device : str or Device, optional
        Where the workers reduce their chunks, as `gpureduce.sum` takes it.

    Returns
    -------
    dask.array.Array

    Examples
    --------
    >>> import dask.array as da, gpureduce.dask as gd
    >>> gd.mean(da.arange(4, chunks=3), device="sim").compute()
    np.float64(1.5)
    """
    return _reduce("mean", a, axis, keepdims, split_every, dtype=dtype, device=device)


def var(
    a: Any,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    ddof: int = 0,
    keepdims: bool = False,
    split_every: Split = None,
    *,
    device: str | Device | None = None,
) -> Any:
    """Return the variance of the elements, rounded once.

    Parameters
    ----------
    a : dask.array.Array
        Of any chunks.
    axis : int or tuple of int, optional
        The axes to reduce; None reduces all.
    dtype : dtype_like, optional
        What elements are cast to before.
    ddof : int
        What is taken off the number of elements before it divides.
    keepdims : bool
        Whether reduced axes stay, with length one.
    split_every : int or dict, optional
        How many states are merged at a time, or how many along each axis; None takes Dask's.
    device : str or Device, optional
        Where the workers reduce their chunks, as `gpureduce.sum` takes it.

    Returns
    -------
    dask.array.Array

    Notes
    -----
    Integers are converted to float64 before.

    Examples
    --------
    >>> import dask.array as da, gpureduce.dask as gd
    >>> gd.var(da.arange(4, chunks=3), device="sim").compute()
    np.float64(1.25)
    """
    return _reduce("var", a, axis, keepdims, split_every, dtype=dtype, ddof=ddof, device=device)


def std(
    a: Any,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    ddof: int = 0,
    keepdims: bool = False,
    split_every: Split = None,
    *,
    device: str | Device | None = None,
) -> Any:
    """Return the standard deviation of the elements, rounded once.

    Parameters
    ----------
    a : dask.array.Array
        Of any chunks.
    axis : int or tuple of int, optional
        The axes to reduce; None reduces all.
    dtype : dtype_like, optional
        What elements are cast to before.
    ddof : int
        What is taken off the number of elements before it divides.
    keepdims : bool
        Whether reduced axes stay, with length one.
    split_every : int or dict, optional
        How many states are merged at a time, or how many along each axis; None takes Dask's.
    device : str or Device, optional
        Where the workers reduce their chunks, as `gpureduce.sum` takes it.

    Returns
    -------
    dask.array.Array

    Notes
    -----
    Integers are converted to float64 before.

    Examples
    --------
    >>> import dask.array as da, gpureduce.dask as gd
    >>> gd.std(da.arange(3, chunks=2), ddof=1, device="sim").compute()
    np.float64(1.0)
    """
    return _reduce("std", a, axis, keepdims, split_every, dtype=dtype, ddof=ddof, device=device)


def prod(
    a: Any,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    split_every: Split = None,
    *,
    device: str | Device | None = None,
) -> Any:
    """Return the product of the elements.

    Parameters
    ----------
    a : dask.array.Array
        Of any chunks.
    axis : int or tuple of int, optional
        The axes to reduce; None reduces all.
    dtype : dtype_like, optional
        What elements are cast to before.
    keepdims : bool
        Whether reduced axes stay, with length one.
    split_every : int or dict, optional
        How many states are merged at a time, or how many along each axis; None takes Dask's.
    device : str or Device, optional
        Where the workers reduce their chunks, as `gpureduce.sum` takes it.

    Returns
    -------
    dask.array.Array

    Notes
    -----
    Products of floats are rounded where those of chunks meet, so that they depend on the chunks.

    Examples
    --------
    >>> import dask.array as da, gpureduce.dask as gd
    >>> gd.prod(da.arange(1, 5, chunks=3), device="sim").compute()
    np.int64(24)
    """
    return _reduce("prod", a, axis, keepdims, split_every, dtype=dtype, device=device)


def min(
    a: Any,
    axis: Axis = None,
    keepdims: bool = False,
    split_every: Split = None,
    *,
    device: str | Device | None = None,
) -> Any:
    """Return the smallest element; NaN wins.

    Parameters
    ----------
    a : dask.array.Array
        Of any chunks.
    axis : int or tuple of int, optional
        The axes to reduce; None reduces all.
    keepdims : bool
        Whether reduced axes stay, with length one.
    split_every : int or dict, optional
        How many states are merged at a time, or how many along each axis; None takes Dask's.
    device : str or Device, optional
        Where the workers reduce their chunks, as `gpureduce.sum` takes it.

    Returns
    -------
    dask.array.Array

    Examples
    --------
    >>> import dask.array as da, gpureduce.dask as gd
    >>> gd.min(da.arange(4, chunks=3), device="sim").compute()
    np.int64(0)
    """
    return _reduce("min", a, axis, keepdims, split_every, device=device)


def max(
    a: Any,
    axis: Axis = None,
    keepdims: bool = False,
    split_every: Split = None,
    *,
    device: str | Device | None = None,
) -> Any:
    """Return the largest element; NaN wins.

    Parameters
    ----------
    a : dask.array.Array
        Of any chunks.
    axis : int or tuple of int, optional
        The axes to reduce; None reduces all.
    keepdims : bool
        Whether reduced axes stay, with length one.
    split_every : int or dict, optional
        How many states are merged at a time, or how many along each axis; None takes Dask's.
    device : str or Device, optional
        Where the workers reduce their chunks, as `gpureduce.sum` takes it.

    Returns
    -------
    dask.array.Array

    Examples
    --------
    >>> import dask.array as da, gpureduce.dask as gd
    >>> gd.max(da.arange(4, chunks=3), device="sim").compute()
    np.int64(3)
    """
    return _reduce("max", a, axis, keepdims, split_every, device=device)


def argmin(
    a: Any,
    axis: SupportsIndex | None = None,
    keepdims: bool = False,
    split_every: Split = None,
    *,
    device: str | Device | None = None,
) -> Any:
    """Return where the smallest element is first found; NaN is before all.

    Parameters
    ----------
    a : dask.array.Array
        Of any chunks.
    axis : int, optional
        The axis to search; None searches all elements.
    keepdims : bool
        Whether reduced axes stay, with length one.
    split_every : int or dict, optional
        How many states are merged at a time, or how many along each axis; None takes Dask's.
    device : str or Device, optional
        Where the workers reduce their chunks, as `gpureduce.sum` takes it.

    Returns
    -------
    dask.array.Array

    Notes
    -----
    Of several axes the position is that in C order, as in NumPy.

    Examples
    --------
    >>> import dask.array as da, gpureduce.dask as gd
    >>> gd.argmin(da.arange(4, chunks=3), device="sim").compute()
    np.int64(0)
    """
    return _reduce("argmin", a, axis, keepdims, split_every, device=device)


def argmax(
    a: Any,
    axis: SupportsIndex | None = None,
    keepdims: bool = False,
    split_every: Split = None,
    *,
    device: str | Device | None = None,
) -> Any:
    """Return where the largest element is first found; NaN is before all.

    Parameters
    ----------
    a : dask.array.Array
        Of any chunks.
    axis : int, optional
        The axis to search; None searches all elements.
    keepdims : bool
        Whether reduced axes stay, with length one.
    split_every : int or dict, optional
        How many states are merged at a time, or how many along each axis; None takes Dask's.
    device : str or Device, optional
        Where the workers reduce their chunks, as `gpureduce.sum` takes it.

    Returns
    -------
    dask.array.Array

    Notes
    -----
    Of several axes the position is that in C order, as in NumPy.

    Examples
    --------
    >>> import dask.array as da, gpureduce.dask as gd
    >>> gd.argmax(da.arange(4, chunks=3), device="sim").compute()
    np.int64(3)
    """
    return _reduce("argmax", a, axis, keepdims, split_every, device=device)


def any(
    a: Any,
    axis: Axis = None,
    keepdims: bool = False,
    split_every: Split = None,
    *,
    device: str | Device | None = None,
) -> Any:
    """Return whether any element is true; NaN counts as true.

    Parameters
    ----------
    a : dask.array.Array
        Of any chunks.
    axis : int or tuple of int, optional
        The axes to reduce; None reduces all.
    keepdims : bool
        Whether reduced axes stay, with length one.
    split_every : int or dict, optional
        How many states are merged at a time, or how many along each axis; None takes Dask's.
    device : str or Device, optional
        Where the workers reduce their chunks, as `gpureduce.sum` takes it.

    Returns
    -------
    dask.array.Array

    Examples
    --------
    >>> import dask.array as da, gpureduce.dask as gd
    >>> gd.any(da.arange(4, chunks=3), device="sim").compute()
    np.True_
    """
    return _reduce("any", a, axis, keepdims, split_every, device=device)


def all(
    a: Any,
    axis: Axis = None,
    keepdims: bool = False,
    split_every: Split = None,
    *,
    device: str | Device | None = None,
) -> Any:
    """Return whether all elements are true; NaN counts as true.

    Parameters
    ----------
    a : dask.array.Array
        Of any chunks.
    axis : int or tuple of int, optional
        The axes to reduce; None reduces all.
    keepdims : bool
        Whether reduced axes stay, with length one.
    split_every : int or dict, optional
        How many states are merged at a time, or how many along each axis; None takes Dask's.
    device : str or Device, optional
        Where the workers reduce their chunks, as `gpureduce.sum` takes it.

    Returns
    -------
    dask.array.Array

    Examples
    --------
    >>> import dask.array as da, gpureduce.dask as gd
    >>> gd.all(da.arange(4, chunks=3), device="sim").compute()
    np.False_
    """
    return _reduce("all", a, axis, keepdims, split_every, device=device)


def count_nonzero(
    a: Any,
    axis: Axis = None,
    keepdims: bool = False,
    split_every: Split = None,
    *,
    device: str | Device | None = None,
) -> Any:
    """Return how many elements are true; NaN counts as true.

    Parameters
    ----------
    a : dask.array.Array
        Of any chunks.
    axis : int or tuple of int, optional
        The axes to reduce; None reduces all.
    keepdims : bool
        Whether reduced axes stay, with length one.
    split_every : int or dict, optional
        How many states are merged at a time, or how many along each axis; None takes Dask's.
    device : str or Device, optional
        Where the workers reduce their chunks, as `gpureduce.sum` takes it.

    Returns
    -------
    dask.array.Array

    Examples
    --------
    >>> import dask.array as da, gpureduce.dask as gd
    >>> gd.count_nonzero(da.arange(4, chunks=3), device="sim").compute()
    np.int64(3)
    """
    return _reduce("count_nonzero", a, axis, keepdims, split_every, device=device)


def dot(a: Any, b: Any, *, split_every: Split = None, device: str | Device | None = None) -> Any:
    """Return the dot product of two vectors, rounded once.

    Parameters
    ----------
    a : dask.array.Array
        Of any chunks.
    b : dask.array.Array
        As long as `a`, whose chunks it gets where it has others.
    split_every : int or dict, optional
        How many states are merged at a time, or how many along each axis; None takes Dask's.
    device : str or Device, optional
        Where the workers reduce their chunks, as `gpureduce.sum` takes it.

    Returns
    -------
    dask.array.Array

    Examples
    --------
    >>> import dask.array as da, gpureduce.dask as gd
    >>> x = da.arange(4.0, chunks=3)
    >>> gd.dot(x, x, device="sim").compute()
    np.float64(14.0)
    """
    return _reduce("dot", a, None, False, split_every, b=b, device=device)


def _reduce(
    op: str,
    a: Any,
    axis: Any,
    keepdims: bool,
    split_every: Split,
    b: Any = None,
    dtype: Any = None,
    ddof: int = 0,
    device: Any = None,
) -> Any:
    """Have each chunk become a state, and states be merged in a tree."""
    options = {"dtype": dtype, "device": None if device is None else str(device)}
    given = {"ddof": ddof} if op in ("var", "std") else {}
    if not (isinstance(a, da.Array) or isinstance(b, da.Array)):
        return partial(a, op, axis, b=b, keepdims=keepdims, **options).result(**given)
    a = da.asanyarray(a)
    axes = rules.single_axis(axis, a.ndim) if op in _PLACES else rules.reduced_axes(axis, a.ndim)
    arrays = [a]
    if b is not None:
        b = da.asanyarray(b)
        if a.ndim != 1 or a.shape != b.shape:
            raise ValueError(f"dot: expected two vectors of one length, got shapes {a.shape} and {b.shape}")
        arrays = [a, b.rechunk(a.chunks)]
    if op in _PLACES and _is_unknown(a, axes):
        raise ValueError(f"{op}: positions need the lengths of chunks; call compute_chunk_sizes() before")
    # A part of no elements: what the core would do with those of the chunks, without a device.
    first, *others = [np.empty((0,) * each.ndim, each.dtype) for each in arrays]
    whole = partial(first, op, axis, b=others[0] if others else None, dtype=dtype, device="sim")
    parts = da.map_blocks(
        _part_with_place if op in _PLACES else _part,
        *arrays,
        op=op,
        axis=axis if axis is None else axes,
        options=options,
        dtype=object,
        meta=np.empty((0,) * a.ndim, object),
    )
    return da.reduction(
        parts,
        _same,
        functools.partial(_finish, given=given),
        axis=axes,
        keepdims=keepdims,
        dtype=whole.dtype,
        split_every=split_every,
        combine=_merge,
        name=f"gpureduce-{op}",
        concatenate=False,
        meta=np.empty((0,) * (a.ndim if keepdims else a.ndim - len(axes)), whole.dtype),
    )


def _is_unknown(a: Any, axes: tuple[int, ...]) -> bool:
    """Return whether the length of a chunk along an axis is not known."""
    return builtins.any(math.isnan(length) for axis in axes for length in a.chunks[axis])


# In the workers


def _part(
    block: Any, other: Any = None, *, op: str, axis: Any, options: dict[str, Any], **more: Any
) -> State:
    """Return the state of a chunk; one of no elements needs no device."""
    if block.size == 0:
        options = {**options, "device": "sim"}
        block = np.empty(block.shape, block.dtype)
        other = None if other is None else np.empty(other.shape, other.dtype)
    return partial(block, op, axis, b=other, keepdims=True, **options, **more)


def _part_with_place(block: Any, *, block_info: Any, op: str, axis: Any, options: dict[str, Any]) -> State:
    """Return the state of a chunk that knows where in the whole it is."""
    place = block_info[0]
    starts = tuple(start for start, _ in place["array-location"])
    if axis is None:
        return _part(block, op=op, axis=None, options=options, offset=starts, within=place["shape"])
    return _part(block, op=op, axis=axis[0], options=options, offset=starts[axis[0]])


def _same(parts: Any, axis: Any = None, keepdims: Any = None) -> Any:
    return parts


def _flat(parts: Any) -> Iterator[State]:
    if isinstance(parts, list):
        for part in parts:
            yield from _flat(part)
    else:
        yield parts


def _merge(parts: Any, axis: Any = None, keepdims: Any = None, computing_meta: bool = False) -> Any:
    """Merge states, which come in nested lists; they stay as they are, as Dask may use them again."""
    if computing_meta or isinstance(parts, np.ndarray):
        return parts
    first, *others = _flat(parts)
    return functools.reduce(operator.iadd, others[1:], first + others[0]) if others else first


def _finish(
    parts: Any, axis: Any = None, keepdims: bool = False, given: Any = None, computing_meta: bool = False
) -> Any:
    """Return the result of all states."""
    if computing_meta or isinstance(parts, np.ndarray):
        return parts
    result = np.asarray(_merge(parts).result(**given))
    return (result if keepdims else np.squeeze(result, axis))[()]
