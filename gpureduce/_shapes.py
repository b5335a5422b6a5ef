"""The array API standard's functions for shapes and dtypes, for host and device arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce._arrays.device_array import DeviceArray
from gpureduce._arrays.layout import normal_axis
from gpureduce._arrays.operand import device_view
from gpureduce._rules.arguments import as_array
from gpureduce._rules.dtypes import dtype_of

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import DTypeLike

    from gpureduce._reduce.types import AnyArray


def _array(name: str, x: Any) -> Any:
    """Return a `DeviceArray` unchanged, and a host array as a NumPy array."""
    if isinstance(x, DeviceArray):
        return x
    if device_view(x, None) is not None:
        raise TypeError(f"{name}: {type(x).__name__} has its own; this one takes host arrays and DeviceArray")
    return as_array(x, "x")


def astype(x: AnyArray, dtype: DTypeLike, /, *, copy: bool = True, device: Any = None) -> Any:
    """Cast an array to another dtype, in its own memory space.

    Parameters
    ----------
    x : array_like or DeviceArray
        Input array.
    dtype : dtype_like
        New dtype.
    copy : bool
        False returns `x` itself if it already has the dtype.
    device : str or Device, optional
        Device of `x`; no other is supported.

    Returns
    -------
    numpy.ndarray or DeviceArray

    Examples
    --------
    >>> import gpureduce.numpy_like as xp
    >>> xp.astype([1, 2], "float32")
    array([1., 2.], dtype=float32)
    """
    array = _array("astype", x)
    if isinstance(array, DeviceArray):
        device_view(array, device)
    return array.astype(dtype_of(dtype), copy=copy)


def expand_dims(x: AnyArray, /, axis: SupportsIndex = 0) -> Any:
    """Return a view with a new axis of length one.

    Parameters
    ----------
    x : array_like or DeviceArray
        Input array.
    axis : int
        Position of the new axis in the result.

    Returns
    -------
    numpy.ndarray or DeviceArray

    Examples
    --------
    >>> import gpureduce.numpy_like as xp
    >>> xp.expand_dims([1, 2], axis=1).shape
    (2, 1)
    """
    array = _array("expand_dims", x)
    at = normal_axis(axis, array.ndim + 1)
    return array[(slice(None),) * at + (None, ...)]


def matrix_transpose(x: AnyArray, /) -> Any:
    """Return a view with the last two axes exchanged.

    Parameters
    ----------
    x : array_like or DeviceArray
        Matrix, or stack of matrices.

    Returns
    -------
    numpy.ndarray or DeviceArray

    Examples
    --------
    >>> import gpureduce.numpy_like as xp
    >>> xp.matrix_transpose([[1, 2], [3, 4]])
    array([[1, 3],
           [2, 4]])
    """
    array = _array("matrix_transpose", x)
    if array.ndim < 2:
        raise ValueError(f"matrix_transpose: expected at least 2 dimensions, got {array.ndim}")
    return array.swapaxes(-1, -2)


def permute_dims(x: AnyArray, /, axes: tuple[SupportsIndex, ...]) -> Any:
    """Return a view with the axes in another order.

    Parameters
    ----------
    x : array_like or DeviceArray
        Input array.
    axes : tuple of int
        Axis of `x` for each axis of the result.

    Returns
    -------
    numpy.ndarray or DeviceArray

    Examples
    --------
    >>> import gpureduce.numpy_like as xp
    >>> xp.permute_dims([[1, 2, 3]], (1, 0)).shape
    (3, 1)
    """
    return _array("permute_dims", x).transpose(axes)


def reshape(
    x: AnyArray, /, shape: SupportsIndex | tuple[SupportsIndex, ...], *, copy: bool | None = None
) -> Any:
    """Return an array in another shape: a view if possible, else a copy.

    Parameters
    ----------
    x : array_like or DeviceArray
        Input array.
    shape : int or tuple of int
        New shape; one length may be -1, and is then inferred.
    copy : bool, optional
        True always copies, False never. Default: copy only if needed.

    Returns
    -------
    numpy.ndarray or DeviceArray

    Examples
    --------
    >>> import gpureduce
    >>> import gpureduce.numpy_like as xp
    >>> xp.reshape(gpureduce.to_device([1, 2, 3, 4], device="sim"), (2, -1))
    DeviceArray([[1, 2],
                 [3, 4]], dtype=int64, device='sim')
    """
    array = _array("reshape", x)
    if isinstance(array, DeviceArray):
        return array.reshape(shape, copy=copy)
    reshaped = (array.copy() if copy else array).reshape(shape)
    if copy is False and not np.may_share_memory(reshaped, array):
        raise ValueError("copy: unable to avoid a copy while reshaping; pass copy=None")
    return reshaped


def squeeze(x: AnyArray, /, axis: SupportsIndex | tuple[SupportsIndex, ...]) -> Any:
    """Return a view without axes of length one.

    Parameters
    ----------
    x : array_like or DeviceArray
        Input array.
    axis : int or tuple of int
        Axis or axes of length one to remove.

    Returns
    -------
    numpy.ndarray or DeviceArray

    Examples
    --------
    >>> import gpureduce.numpy_like as xp
    >>> xp.squeeze([[1, 2]], axis=0)
    array([1, 2])
    """
    return _array("squeeze", x).squeeze(axis)
