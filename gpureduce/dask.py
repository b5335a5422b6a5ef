"""Reductions of Dask arrays, chunk by chunk on the devices of the workers.

``pip install 'gpureduce[dask]'``. Chunks may be NumPy or CuPy arrays, or any other arrays that
`gpureduce.sum` accepts. Sums, means, variances and dot products are correctly rounded, so that they are
bitwise identical for any chunks and any number of workers. Arguments that are not Dask arrays are reduced
immediately. See docs/how-to/dask.md.

>>> import dask.array as da, gpureduce.dask as gd
>>> x = da.arange(10.0, chunks=4)
>>> gd.sum(x, device="sim")
dask.array<gpureduce-sum-aggregate, shape=(), dtype=float64, chunksize=(), chunktype=numpy.ndarray>
>>> gd.sum(x, device="sim").compute()
np.float64(45.0)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

try:
    import dask.array  # noqa: F401
except ModuleNotFoundError as error:
    raise ImportError("gpureduce.dask needs Dask: pip install 'gpureduce[dask]'") from error

from gpureduce._states.distributed import reduce_dask as _reduce

if TYPE_CHECKING:
    from typing import SupportsIndex, TypeAlias

    from numpy.typing import DTypeLike

    from gpureduce._device.devices import Device

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


def sum(
    a: Any,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    split_every: Split = None,
    *,
    device: str | Device | None = None,
) -> Any:
    """Return the correctly rounded sum of the elements.

    Parameters
    ----------
    a : dask.array.Array
        Input array of any shape and chunks.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    dtype : dtype_like, optional
        Data type to which elements are cast before they are reduced.
    keepdims : bool
        True keeps the reduced axes with length one.
    split_every : int or dict, optional
        Number of states to merge at a time, or a dict with one number for each axis. Default: Dask's setting.
    device : str or Device, optional
        Device on which the workers reduce their chunks, as for `gpureduce.sum`.

    Returns
    -------
    dask.array.Array

    Notes
    -----
    An integer sum that overflows raises OverflowError.

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
    """Return the correctly rounded mean of the elements.

    Parameters
    ----------
    a : dask.array.Array
        Input array of any shape and chunks.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    dtype : dtype_like, optional
        Data type to which elements are cast before they are reduced.
    keepdims : bool
        True keeps the reduced axes with length one.
    split_every : int or dict, optional
        Number of states to merge at a time, or a dict with one number for each axis. Default: Dask's setting.
    device : str or Device, optional
        Device on which the workers reduce their chunks, as for `gpureduce.sum`.

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
    """Return the correctly rounded variance of the elements.

    Parameters
    ----------
    a : dask.array.Array
        Input array of any shape and chunks.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    dtype : dtype_like, optional
        Data type to which elements are cast before they are reduced.
    ddof : int
        Delta degrees of freedom: the variance of N elements divides by ``N - ddof``.
    keepdims : bool
        True keeps the reduced axes with length one.
    split_every : int or dict, optional
        Number of states to merge at a time, or a dict with one number for each axis. Default: Dask's setting.
    device : str or Device, optional
        Device on which the workers reduce their chunks, as for `gpureduce.sum`.

    Returns
    -------
    dask.array.Array

    Notes
    -----
    Integers are converted to float64 first.

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
    """Return the correctly rounded standard deviation of the elements.

    Parameters
    ----------
    a : dask.array.Array
        Input array of any shape and chunks.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    dtype : dtype_like, optional
        Data type to which elements are cast before they are reduced.
    ddof : int
        Delta degrees of freedom: the variance of N elements divides by ``N - ddof``.
    keepdims : bool
        True keeps the reduced axes with length one.
    split_every : int or dict, optional
        Number of states to merge at a time, or a dict with one number for each axis. Default: Dask's setting.
    device : str or Device, optional
        Device on which the workers reduce their chunks, as for `gpureduce.sum`.

    Returns
    -------
    dask.array.Array

    Notes
    -----
    Integers are converted to float64 first.

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
        Input array of any shape and chunks.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    dtype : dtype_like, optional
        Data type to which elements are cast before they are reduced.
    keepdims : bool
        True keeps the reduced axes with length one.
    split_every : int or dict, optional
        Number of states to merge at a time, or a dict with one number for each axis. Default: Dask's setting.
    device : str or Device, optional
        Device on which the workers reduce their chunks, as for `gpureduce.sum`.

    Returns
    -------
    dask.array.Array

    Notes
    -----
    Products of floats are rounded whenever results of chunks are multiplied, so that they depend on the
    chunks.

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
    """Return the smallest element; NaNs propagate.

    Parameters
    ----------
    a : dask.array.Array
        Input array of any shape and chunks.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    keepdims : bool
        True keeps the reduced axes with length one.
    split_every : int or dict, optional
        Number of states to merge at a time, or a dict with one number for each axis. Default: Dask's setting.
    device : str or Device, optional
        Device on which the workers reduce their chunks, as for `gpureduce.sum`.

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
    """Return the largest element; NaNs propagate.

    Parameters
    ----------
    a : dask.array.Array
        Input array of any shape and chunks.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    keepdims : bool
        True keeps the reduced axes with length one.
    split_every : int or dict, optional
        Number of states to merge at a time, or a dict with one number for each axis. Default: Dask's setting.
    device : str or Device, optional
        Device on which the workers reduce their chunks, as for `gpureduce.sum`.

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
    """Return the index of the smallest element; NaN takes precedence.

    Parameters
    ----------
    a : dask.array.Array
        Input array of any shape and chunks.
    axis : int, optional
        Axis to search. Default: the whole array, in C order.
    keepdims : bool
        True keeps the reduced axes with length one.
    split_every : int or dict, optional
        Number of states to merge at a time, or a dict with one number for each axis. Default: Dask's setting.
    device : str or Device, optional
        Device on which the workers reduce their chunks, as for `gpureduce.sum`.

    Returns
    -------
    dask.array.Array

    Notes
    -----
    Ties return the first index. Without `axis`, the index is that into the flattened array, as in NumPy.

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
    """Return the index of the largest element; NaN takes precedence.

    Parameters
    ----------
    a : dask.array.Array
        Input array of any shape and chunks.
    axis : int, optional
        Axis to search. Default: the whole array, in C order.
    keepdims : bool
        True keeps the reduced axes with length one.
    split_every : int or dict, optional
        Number of states to merge at a time, or a dict with one number for each axis. Default: Dask's setting.
    device : str or Device, optional
        Device on which the workers reduce their chunks, as for `gpureduce.sum`.

    Returns
    -------
    dask.array.Array

    Notes
    -----
    Ties return the first index. Without `axis`, the index is that into the flattened array, as in NumPy.

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
        Input array of any shape and chunks.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    keepdims : bool
        True keeps the reduced axes with length one.
    split_every : int or dict, optional
        Number of states to merge at a time, or a dict with one number for each axis. Default: Dask's setting.
    device : str or Device, optional
        Device on which the workers reduce their chunks, as for `gpureduce.sum`.

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
        Input array of any shape and chunks.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    keepdims : bool
        True keeps the reduced axes with length one.
    split_every : int or dict, optional
        Number of states to merge at a time, or a dict with one number for each axis. Default: Dask's setting.
    device : str or Device, optional
        Device on which the workers reduce their chunks, as for `gpureduce.sum`.

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
    """Return the number of nonzero elements; NaN counts as nonzero.

    Parameters
    ----------
    a : dask.array.Array
        Input array of any shape and chunks.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    keepdims : bool
        True keeps the reduced axes with length one.
    split_every : int or dict, optional
        Number of states to merge at a time, or a dict with one number for each axis. Default: Dask's setting.
    device : str or Device, optional
        Device on which the workers reduce their chunks, as for `gpureduce.sum`.

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
    """Return the correctly rounded dot product of two vectors.

    Parameters
    ----------
    a : dask.array.Array
        Input array of any shape and chunks.
    b : dask.array.Array
        Second vector, of the length of `a`; it is rechunked to the chunks of `a` if necessary.
    split_every : int or dict, optional
        Number of states to merge at a time, or a dict with one number for each axis. Default: Dask's setting.
    device : str or Device, optional
        Device on which the workers reduce their chunks, as for `gpureduce.sum`.

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
