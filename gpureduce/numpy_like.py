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
import functools
import importlib
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from gpureduce import _functions as functions
from gpureduce._arrays.device_array import DeviceArray
from gpureduce._arrays.operand import device_view
from gpureduce._core import fast_path
from gpureduce._core import runs as core_runs
from gpureduce._device.devices import Device
from gpureduce._inspection import Info
from gpureduce._reduce.engine import reduction
from gpureduce._reduce.options import Options
from gpureduce._rules.arguments import NO_VALUE, as_array
from gpureduce._rules.dtypes import dtype_of, require_supported
from gpureduce._shapes import (
    astype,
    expand_dims,
    matrix_transpose,
    permute_dims,
    reshape,
    squeeze,
)

__array_api_version__ = "2024.12"

if TYPE_CHECKING:
    from types import EllipsisType
    from typing import SupportsIndex

    from numpy.typing import DTypeLike
    from typing_extensions import Unpack

    from gpureduce._reduce.types import AnyArray, CommonOptions, Devices, Out, Scalar, Stream

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


_F = TypeVar("_F", bound=Callable[..., Any])

_ARGUMENTS = ("a", "axis", "dtype", "out", "keepdims", "initial", "where")
_OPTIONS = ("variant", "device", "block_size", "grid_size", "stream", "as_device", "progress")

_lock = threading.Lock()
_fallbacks = 0


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
    return _fallbacks


def _counted(function: _F) -> _F:
    @functools.wraps(function)
    def counted(*args: Any, **kwargs: Any) -> Any:
        global _fallbacks
        before = core_runs()
        result = function(*args, **kwargs)
        if core_runs() == before:
            with _lock:
                _fallbacks += 1
        return result

    counted.__module__ = __name__  # where pickle finds it
    return cast(_F, counted)


sum = _counted(functions.sum)
prod = _counted(functions.prod)
min = amin = _counted(functions.min)
max = amax = _counted(functions.max)
mean = _counted(functions.mean)
any = _counted(functions.any)
all = _counted(functions.all)
argmin = _counted(functions.argmin)
argmax = _counted(functions.argmax)
count_nonzero = _counted(functions.count_nonzero)
cumulative_sum = _counted(functions.cumulative_sum)
cumulative_prod = _counted(functions.cumulative_prod)
cumsum = _counted(functions.cumsum)
cumprod = _counted(functions.cumprod)
nancumsum = _counted(functions.nancumsum)
nancumprod = _counted(functions.nancumprod)
dot = _counted(functions.dot)
matmul = _counted(functions.matmul)
inner = _counted(functions.inner)
vecdot = _counted(functions.vecdot)
trace = _counted(functions.trace)
var = _counted(functions.var)
std = _counted(functions.std)
ptp = _counted(functions.ptp)
average = _counted(functions.average)
nansum = _counted(functions.nansum)
nanprod = _counted(functions.nanprod)
nanmin = _counted(functions.nanmin)
nanmax = _counted(functions.nanmax)
nanmean = _counted(functions.nanmean)
nanvar = _counted(functions.nanvar)
nanstd = _counted(functions.nanstd)
nanargmin = _counted(functions.nanargmin)
nanargmax = _counted(functions.nanargmax)
median = _counted(functions.median)
quantile = _counted(functions.quantile)
percentile = _counted(functions.percentile)
nanmedian = _counted(functions.nanmedian)
nanquantile = _counted(functions.nanquantile)
nanpercentile = _counted(functions.nanpercentile)
sort = _counted(functions.sort)
argsort = _counted(functions.argsort)
unique_counts = _counted(functions.unique_counts)


def _only(out: Any) -> Any:
    """Return the array of an ``out=``, which may be a tuple of one."""
    if not isinstance(out, tuple):
        return out
    if len(out) != 1:
        raise ValueError(f"out: expected one array, got a tuple of {len(out)}")
    return out[0]


class _Reducer:
    """A NumPy ufunc with its reductions."""

    def __init__(self, name: str, op: str, example: str) -> None:
        self.__name__ = name
        self.__doc__ = (
            f"`numpy.{name}` as far as it reduces: ``{name}.reduce(array, axis=0)``.\n\n"
            "Examples\n--------\n>>> import gpureduce.numpy_like as xp\n"
            f'>>> xp.{name}.reduce([3, 6, 2], device="sim")\n{example}\n'
        )
        self._op = op
        self._core = fast_path(op, (), (*_ARGUMENTS, *_OPTIONS))

    def __reduce__(self) -> str:
        return self.__name__  # as NumPy's ufuncs: a copy is the thing itself

    def __repr__(self) -> str:
        return f"<gpureduce.numpy_like.{self.__name__}>"

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Return NumPy's elementwise result for host arrays; device arrays raise TypeError."""
        if builtins.any(isinstance(each, DeviceArray) for each in (*args, *options.values())):
            raise TypeError(
                f"{self.__name__}: no elementwise arithmetic of device arrays; torch.from_dlpack "
                "and cupy.from_dlpack take them without a copy"
            )
        return getattr(np, self.__name__)(*args, **options)

    @_counted
    def reduce(
        self,
        array: AnyArray,
        axis: SupportsIndex | tuple[SupportsIndex, ...] | None = 0,
        dtype: DTypeLike | None = None,
        out: Out | tuple[Out] | EllipsisType | None = None,
        keepdims: bool = False,
        initial: Scalar | None = NO_VALUE,
        where: AnyArray = True,
        **options: Unpack[CommonOptions],
    ) -> Any:
        """Reduce an array, as `numpy.ufunc.reduce`; by default along axis 0.

        Parameters
        ----------
        array : array_like or device array
            Input array.
        axis : int or tuple of int, optional
            Axis or axes along which to reduce. None reduces all axes.
        dtype : dtype_like, optional
            Data type of the accumulator and of the result.
        out : numpy.ndarray or device array, tuple of one, or Ellipsis, optional
            Output array. ``...`` returns an array instead of a scalar, as from NumPy 2.3 on.
        keepdims : bool
            True keeps the reduced axes with length one.
        initial : scalar, optional
            Starting value of the reduction.
        where : array_like of bool
            Elements to include.
        **options
            ``variant``, ``device``, ``block_size``, ``grid_size``, ``stream`` and ``as_device``, as for
            `gpureduce.sum`.

        Returns
        -------
        numpy scalar, numpy.ndarray or DeviceArray
        """
        arguments = (array, axis, dtype, out, keepdims, initial, where)
        done = self._core(**dict(zip(_ARGUMENTS, arguments, strict=True)), **options)
        if done is not NotImplemented:
            return done
        if self._op in ("any", "all") and dtype is not None and dtype_of(dtype) != np.dtype(bool):
            raise TypeError(f"dtype: {self.__name__} reduces in bool only, not in {dtype_of(dtype)}")
        as_array = out is ...
        out = _only(out)
        chosen = Options(**options)
        result = reduction(
            self._op,
            array,
            chosen,
            axis=axis,
            dtype=dtype,
            out=None if as_array else out,
            keepdims=keepdims,
            initial=initial,
            where=where,
        )
        return np.asarray(result) if as_array and isinstance(result, np.generic) else result

    @_counted
    def reduceat(
        self,
        array: AnyArray,
        indices: AnyArray,
        axis: SupportsIndex = 0,
        dtype: DTypeLike | None = None,
        out: Out | tuple[Out] | None = None,
        *,
        device: str | Device | None = None,
        stream: Stream | None = None,
        as_device: bool | None = None,
    ) -> Any:
        """Reduce slices along an axis, as `numpy.ufunc.reduceat`.

        Parameters
        ----------
        array : array_like or device array
            Input array.
        indices : array_like of int
            First row of each slice. If the next index is not greater, the slice is that row alone.
        axis : int
            Axis along which slices are reduced.
        dtype : dtype_like, optional
            Data type of the accumulator and of the result.
        out : numpy.ndarray or device array, or tuple of one, optional
            Output array.
        device, stream, as_device
            As for `gpureduce.reduceat`.

        Returns
        -------
        numpy.ndarray or DeviceArray
        """
        target: Any = _only(out)
        if self._op in ("any", "all") and dtype is not None and dtype_of(dtype) != np.dtype(bool):
            raise TypeError(f"dtype: {self.__name__} reduces in bool only, not in {dtype_of(dtype)}")
        options = {"device": device, "stream": stream, "as_device": as_device}
        return functions.reduceat(
            array, indices, self._op, axis=axis, dtype=dtype, out=target, **cast(Any, options)
        )


class _Accumulator(_Reducer):
    """A NumPy ufunc that also accumulates."""

    @_counted
    def accumulate(
        self,
        array: AnyArray,
        axis: SupportsIndex = 0,
        dtype: DTypeLike | None = None,
        out: Out | tuple[Out] | None = None,
        *,
        device: str | Device | None = None,
        stream: Stream | None = None,
        as_device: bool | None = None,
    ) -> Any:
        """Accumulate along an axis, as `numpy.ufunc.accumulate`.

        Parameters
        ----------
        array : array_like or device array
            Input array.
        axis : int
            Axis along which to accumulate.
        dtype : dtype_like, optional
            Data type of the accumulator and of the result.
        out : numpy.ndarray or device array, or tuple of one, optional
            Output array.
        device, stream, as_device
            As for `gpureduce.cumulative_sum`.

        Returns
        -------
        numpy.ndarray or DeviceArray
        """
        scan = functions.cumulative_sum if self._op == "sum" else functions.cumulative_prod
        options = {"device": device, "stream": stream, "as_device": as_device}
        return scan(array, axis=axis, dtype=dtype, out=_only(out), **cast(Any, options))


class _Extreme(_Reducer):
    """A ufunc that chooses elements, and accumulates in their dtype."""

    @_counted
    def accumulate(
        self,
        array: AnyArray,
        axis: SupportsIndex = 0,
        dtype: DTypeLike | None = None,
        out: Out | tuple[Out] | None = None,
        *,
        device: str | Device | None = None,
        stream: Stream | None = None,
        as_device: bool | None = None,
    ) -> Any:
        """Accumulate along an axis, as `numpy.ufunc.accumulate`.

        Parameters
        ----------
        array : array_like or device array
            Input array.
        axis : int
            Axis along which to accumulate.
        dtype : dtype_like, optional
            Data type of the result, to which elements are cast first. Default: the dtype of the elements.
        out : numpy.ndarray or device array, or tuple of one, optional
            Output array.
        device, stream, as_device
            As for `gpureduce.cummax`.

        Returns
        -------
        numpy.ndarray or DeviceArray
        """
        if dtype is not None:
            wanted = dtype_of(dtype)
            require_supported(wanted, "dtype")
            given: Any = array if hasattr(array, "astype") else as_array(array, "array")
            if isinstance(given.dtype, np.dtype):
                require_supported(given.dtype, "array")
            array = given.astype(wanted)
        scan = functions.cummax if self._op == "max" else functions.cummin
        options = {"device": device, "stream": stream, "as_device": as_device}
        return scan(array, axis, out=_only(out), **cast(Any, options))


add = _Accumulator("add", "sum", "np.int64(11)")
multiply = _Accumulator("multiply", "prod", "np.int64(36)")
minimum = _Extreme("minimum", "min", "np.int64(2)")
maximum = _Extreme("maximum", "max", "np.int64(6)")
logical_and = _Reducer("logical_and", "all", "np.True_")
logical_or = _Reducer("logical_or", "any", "np.True_")
bitwise_and = _Reducer("bitwise_and", "bitwise_and", "np.int64(2)")
bitwise_or = _Reducer("bitwise_or", "bitwise_or", "np.int64(7)")
bitwise_xor = _Reducer("bitwise_xor", "bitwise_xor", "np.int64(7)")


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
    @_counted
    def vector_norm(
        x: AnyArray,
        /,
        *,
        axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        keepdims: bool = False,
        ord: float = 2,
        out: Out | None = None,
        device: Devices = None,
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
    @_counted
    def trace(
        x: AnyArray,
        /,
        *,
        offset: int = 0,
        dtype: DTypeLike | None = None,
        out: Out | None = None,
        device: Devices = None,
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


@_counted
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


@_counted
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


@_counted
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
