"""Objects like NumPy's ufuncs, as far as those reduce and accumulate, and the count of NumPy's own calls."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from gpureduce import _functions as functions
from gpureduce._arrays.device_array import DeviceArray
from gpureduce._core import fast_path
from gpureduce._core import runs as core_runs
from gpureduce._device.devices import Device
from gpureduce._reduce.engine import reduction
from gpureduce._reduce.options import Options
from gpureduce._rules.arguments import NO_VALUE, as_array
from gpureduce._rules.dtypes import dtype_of, require_supported

if TYPE_CHECKING:
    from types import EllipsisType
    from typing import SupportsIndex

    from numpy.typing import DTypeLike
    from typing_extensions import Unpack

    from gpureduce._reduce.types import AnyArray, CommonOptions, Out, Scalar, Stream

_F = TypeVar("_F", bound=Callable[..., Any])

PUBLIC_MODULE = "gpureduce.numpy_like"
_ARGUMENTS = ("a", "axis", "dtype", "out", "keepdims", "initial", "where")
_OPTIONS = ("variant", "device", "block_size", "grid_size", "stream", "as_device", "progress")

_lock = threading.Lock()
_fallbacks = 0


def fallback_count() -> int:
    """Return the number of counted calls that NumPy computed."""
    return _fallbacks


def counted(function: _F) -> _F:
    """Count the calls of a function that run no kernel."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        global _fallbacks
        before = core_runs()
        result = function(*args, **kwargs)
        if core_runs() == before:
            with _lock:
                _fallbacks += 1
        return result

    call.__module__ = PUBLIC_MODULE  # where pickle finds it
    return cast(_F, call)


def _only(out: Any) -> Any:
    """Return the array of an ``out=``, which may be a tuple of one."""
    if not isinstance(out, tuple):
        return out
    if len(out) != 1:
        raise ValueError(f"out: expected one array, got a tuple of {len(out)}")
    return out[0]


class Reducer:
    """A NumPy ufunc with its reductions."""

    def __init__(self, name: str, op: str, example: str) -> None:
        self.__name__ = name
        self.__module__ = PUBLIC_MODULE  # where pickle finds it
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
        if any(isinstance(each, DeviceArray) for each in (*args, *options.values())):
            raise TypeError(
                f"{self.__name__}: no elementwise arithmetic of device arrays; torch.from_dlpack "
                "and cupy.from_dlpack take them without a copy"
            )
        return getattr(np, self.__name__)(*args, **options)

    @counted
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

    @counted
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


class Accumulator(Reducer):
    """A NumPy ufunc that also accumulates."""

    @counted
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


class Extreme(Reducer):
    """A ufunc that chooses elements, and accumulates in their dtype."""

    @counted
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
