"""The reductions under the names of NumPy and of the array API standard.

Code written as ``xp.sum(x, axis=0)`` or ``xp.maximum.reduce(x)`` runs on this package with ``import
gpureduce.numpy_like as xp``. The functions are those of `gpureduce`, with its additional keyword arguments;
their signatures include those of NumPy and of the standard.

It has the statistical and searching functions of the standard, vector and matrix products, four functions of
``linalg``, and functions that change the shape or dtype of host arrays and of a `DeviceArray`.
``__array_namespace_info__()`` lists devices and dtypes. The module itself can be pickled.

No reduction falls back to NumPy. Only `nonzero`, `searchsorted` and `where` are computed by NumPy, for host
arrays; arrays on a device raise TypeError. `fallbacks` counts their calls.

>>> import gpureduce.numpy_like as xp
>>> xp.maximum.reduce([[3, 1], [2, 5]], device="sim")
array([3, 5])
>>> xp.fallbacks()
0
"""

from __future__ import annotations

import builtins
import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gpureduce import _functions as functions
from gpureduce import _ufuncs
from gpureduce._arrays.operand import device_view
from gpureduce._inspection import Info
from gpureduce._shapes import (
    astype,
    expand_dims,
    matrix_transpose,
    permute_dims,
    reshape,
    squeeze,
)
from gpureduce._ufuncs import Accumulator, Extreme, Reducer, counted

__array_api_version__ = "2024.12"

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import DTypeLike

    from gpureduce._device.devices import Device
    from gpureduce._reduce.types import AnyArray, Out, Stream

__all__ = [
    "__array_namespace_info__",
    "add",
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "astype",
    "average",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "dot",
    "expand_dims",
    "fallbacks",
    "inner",
    "linalg",
    "logical_and",
    "logical_or",
    "matmul",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "median",
    "min",
    "minimum",
    "multiply",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "nonzero",
    "percentile",
    "permute_dims",
    "prod",
    "ptp",
    "quantile",
    "reshape",
    "searchsorted",
    "sort",
    "squeeze",
    "std",
    "sum",
    "trace",
    "unique_counts",
    "var",
    "vecdot",
    "where",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def fallbacks() -> int:
    """Return the number of calls of this module that NumPy computed instead of gpureduce's kernels.

    Returns
    -------
    int
        Calls of all threads since the module was imported.

    Examples
    --------
    >>> import gpureduce.numpy_like as xp
    >>> xp.sum([1, 2, 3], device="sim")
    np.int64(6)
    >>> xp.fallbacks()
    0
    """
    return _ufuncs.fallback_count()


sum = counted(functions.sum)
prod = counted(functions.prod)
min = amin = counted(functions.min)
max = amax = counted(functions.max)
mean = counted(functions.mean)
any = counted(functions.any)
all = counted(functions.all)
argmin = counted(functions.argmin)
argmax = counted(functions.argmax)
count_nonzero = counted(functions.count_nonzero)
cumulative_sum = counted(functions.cumulative_sum)
cumulative_prod = counted(functions.cumulative_prod)
cumsum = counted(functions.cumsum)
cumprod = counted(functions.cumprod)
nancumsum = counted(functions.nancumsum)
nancumprod = counted(functions.nancumprod)
dot = counted(functions.dot)
matmul = counted(functions.matmul)
inner = counted(functions.inner)
vecdot = counted(functions.vecdot)
trace = counted(functions.trace)
var = counted(functions.var)
std = counted(functions.std)
ptp = counted(functions.ptp)
average = counted(functions.average)
nansum = counted(functions.nansum)
nanprod = counted(functions.nanprod)
nanmin = counted(functions.nanmin)
nanmax = counted(functions.nanmax)
nanmean = counted(functions.nanmean)
nanvar = counted(functions.nanvar)
nanstd = counted(functions.nanstd)
nanargmin = counted(functions.nanargmin)
nanargmax = counted(functions.nanargmax)
median = counted(functions.median)
quantile = counted(functions.quantile)
percentile = counted(functions.percentile)
nanmedian = counted(functions.nanmedian)
nanquantile = counted(functions.nanquantile)
nanpercentile = counted(functions.nanpercentile)
sort = counted(functions.sort)
argsort = counted(functions.argsort)
unique_counts = counted(functions.unique_counts)


add = Accumulator("add", "sum", "np.int64(11)")
multiply = Accumulator("multiply", "prod", "np.int64(36)")
minimum = Extreme("minimum", "min", "np.int64(2)")
maximum = Extreme("maximum", "max", "np.int64(6)")
logical_and = Reducer("logical_and", "all", "np.True_")
logical_or = Reducer("logical_or", "any", "np.True_")
bitwise_and = Reducer("bitwise_and", "bitwise_and", "np.int64(2)")
bitwise_or = Reducer("bitwise_or", "bitwise_or", "np.int64(7)")
bitwise_xor = Reducer("bitwise_xor", "bitwise_xor", "np.int64(7)")


class _Linalg:
    """Functions of the array API standard's extension for linear algebra.

    Examples
    --------
    >>> import gpureduce.numpy_like as xp
    >>> xp.linalg.vector_norm([[3.0, 4.0], [6.0, 8.0]], axis=1, device="sim")
    array([ 5., 10.])
    """

    matmul = staticmethod(matmul)
    vecdot = staticmethod(vecdot)

    def __reduce__(self) -> str:
        return "linalg"

    def __dir__(self) -> list[str]:
        return ["matmul", "trace", "vecdot", "vector_norm"]

    @staticmethod
    @counted
    def vector_norm(
        x: AnyArray,
        /,
        *,
        axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        keepdims: bool = False,
        ord: float = 2,
        out: Out | None = None,
        device: str | Device | None = None,
        stream: Stream | None = None,
        as_device: bool | None = None,
    ) -> Any:
        """Return a vector norm, as `numpy.linalg.vector_norm`; see `gpureduce.norm`.

        Parameters
        ----------
        x : array_like or device array
            Input array.
        axis : int or tuple of int, optional
            Axis or axes that form a vector. Default: all axes.
        keepdims : bool
            True keeps the reduced axes with length one.
        ord : float
            Order of the norm.
        out, device, stream, as_device
            As for `gpureduce.norm`.

        Returns
        -------
        numpy scalar, numpy.ndarray or DeviceArray
        """
        return functions.norm(
            x, ord, axis, keepdims, out=out, device=device, stream=stream, as_device=as_device
        )

    @staticmethod
    @counted
    def trace(
        x: AnyArray,
        /,
        *,
        offset: int = 0,
        dtype: DTypeLike | None = None,
        out: Out | None = None,
        device: str | Device | None = None,
        stream: Stream | None = None,
        as_device: bool | None = None,
    ) -> Any:
        """Return the sums along diagonals of the last two axes, as `numpy.linalg.trace`.

        Parameters
        ----------
        x : array_like or device array
            Matrix, or stack of matrices.
        offset : int
            Offset from the main diagonal: positive above it, negative below it.
        dtype : dtype_like, optional
            Data type of the accumulator and of the result.
        out, device, stream, as_device
            As for `gpureduce.trace`.

        Returns
        -------
        numpy scalar, numpy.ndarray or DeviceArray
        """
        options = {"device": device, "stream": stream, "as_device": as_device}
        return functions.trace(x, offset, -2, -1, dtype, out, **cast(Any, options))


linalg = _Linalg()


# Functions of NumPy, for host arrays only


def _reject_devices(name: str, *arrays: Any) -> None:
    """Raise TypeError if an array is on a device."""
    if builtins.any(device_view(each, None) is not None for each in arrays):
        raise TypeError(
            f"{name}: arrays on a device are not supported; use PyTorch or CuPy, which do not copy: "
            f"torch.from_dlpack(a), cupy.from_dlpack(a); a.numpy() is a copy in host memory"
        )


@counted
def nonzero(x: AnyArray, /) -> tuple[np.ndarray[Any, Any], ...]:
    """Return the indices of the nonzero elements, computed by NumPy.

    Parameters
    ----------
    x : array_like
        Host array with at least one dimension.

    Returns
    -------
    tuple of numpy.ndarray
        Indices along each axis.

    Examples
    --------
    >>> import gpureduce.numpy_like as xp
    >>> xp.nonzero([3, 0, 2])
    (array([0, 2]),)
    """
    _reject_devices("nonzero", x)
    return np.nonzero(cast(Any, x))


@counted
def searchsorted(
    x1: AnyArray, x2: AnyArray, /, *, side: str = "left", sorter: AnyArray | None = None
) -> np.ndarray[Any, Any]:
    """Return the indices at which elements would keep a sorted array sorted, computed by NumPy.

    Parameters
    ----------
    x1 : array_like
        Sorted one-dimensional host array.
    x2 : array_like
        Elements to insert.
    side : str
        ``"left"`` or ``"right"`` of equal elements.
    sorter : array_like of int, optional
        Indices that sort `x1`, if it is not sorted.

    Returns
    -------
    numpy.ndarray

    Examples
    --------
    >>> import gpureduce.numpy_like as xp
    >>> xp.searchsorted([1, 3, 5], [3, 4])
    array([1, 2])
    """
    _reject_devices("searchsorted", x1, x2, sorter)
    positions: Any = np.searchsorted(cast(Any, x1), cast(Any, x2), cast(Any, side), cast(Any, sorter))
    return positions


@counted
def where(condition: AnyArray, x1: AnyArray, x2: AnyArray, /) -> np.ndarray[Any, Any]:
    """Return elements of `x1` where a condition is True and of `x2` elsewhere, computed by NumPy.

    Parameters
    ----------
    condition : array_like of bool
        Host array.
    x1, x2 : array_like
        Host arrays that broadcast with `condition`.

    Returns
    -------
    numpy.ndarray

    Examples
    --------
    >>> import gpureduce.numpy_like as xp
    >>> xp.where([True, False], [1, 2], [8, 9])
    array([1, 9])
    """
    _reject_devices("where", condition, x1, x2)
    return np.where(cast(Any, condition), cast(Any, x1), cast(Any, x2))


# The namespace


def __array_namespace_info__() -> Info:
    """Return the array API standard's inspection object: capabilities, devices and dtypes.

    Returns
    -------
    object

    Examples
    --------
    >>> import gpureduce.numpy_like as xp
    >>> sorted(xp.__array_namespace_info__().dtypes(kind="real floating"))
    ['float32', 'float64']
    """
    return Info()


class _Namespace(ModuleType):
    """A module that is pickled by name, so that objects that hold it as ``xp`` can be pickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (importlib.import_module, (self.__name__,))


sys.modules[__name__].__class__ = _Namespace
