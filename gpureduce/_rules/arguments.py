"""NumPy's rules for the arguments of a reduction, and their errors."""

from __future__ import annotations

import math
import operator
import os
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.exceptions import AxisError

from gpureduce._rules import tensors
from gpureduce._rules.dtypes import BOOL, dtype_of, native, require_supported

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

NO_VALUE: Any = vars(np)["_NoValue"]  # which the stubs of NumPy 2.2 lack

_LARGEST_AXIS = 2**31 - 1  # maximum of a C int


def reject_masked(a: object, name: str = "a") -> None:
    """Raise TypeError for a masked array, whose mask numpy.asarray would silently drop."""
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(a, masked.MaskedArray):
        raise TypeError(
            f"{name}: masked arrays are not supported; pass {name}.data with where=~{name}.mask, "
            f"or {name}.compressed()"
        )


def reject_lazy(a: object, name: str = "a") -> None:
    """Raise TypeError for a Dask array, which numpy.asarray would silently compute as a whole."""
    graph = getattr(type(a), "__dask_graph__", None)
    if graph is not None and graph(a) is not None:
        raise TypeError(
            f"{name}: a Dask array; gpureduce.dask has functions that reduce its chunks where they are, and "
            f"{name}.compute() brings all of them here"
        )


def reject_parts(a: object, name: str) -> None:
    """Raise TypeError for a `gpureduce.Sharded`, for which numpy.asarray makes an object array."""
    takers = getattr(type(a), "takers", None)
    if callable(takers):
        raise TypeError(
            f"{name}: a Sharded is not supported here; it is accepted as the array of {', '.join(takers())}"
        )


def host_array(a: ArrayLike, name: str = "a") -> np.ndarray:
    """Return an array the kernels can read: supported dtype, native byte order, aligned, any strides.

    The array itself (or a view) if it is suitable; subclasses become plain arrays.
    """
    array = as_array(a, name)
    dtype = native(array.dtype, name)
    if not (array.dtype.isnative and array.flags.aligned):
        return array.astype(dtype)
    return array if array.dtype.num == dtype.num else array.view(dtype)


# Numbers and flags


def integer(value: Any, name: str, expected: str = "an integer") -> int:
    """Return an argument as an int; otherwise raise TypeError with its name."""
    if not hasattr(value, "__index__") or isinstance(value, type):
        raise TypeError(f"{name}: expected {expected}, got {type(value).__name__}")
    try:
        return operator.index(value)
    except TypeError as error:  # as for an array of several integers
        raise TypeError(f"{name}: expected {expected}: {error}") from None


def reject_beyond_memory(size: int, name: str) -> None:
    """Raise MemoryError with the argument's name if its arrays need more bytes than the machine has.

    The system would overcommit, and kill the process while the memory is filled.
    """
    if "SC_PHYS_PAGES" not in os.sysconf_names:
        return
    most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if 0 < most < size:
        have, needed = (f"{number / 2**30:,.1f} GiB" for number in (most, size))
        raise MemoryError(f"{name}: {needed} needed for the elements; the machine has {have} of memory")


def flag(value: Any, name: str) -> bool:
    """Return an argument as a bool; otherwise raise TypeError with its name."""
    try:
        return bool(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: expected a bool, got {type(value).__name__}") from None


def as_array(a: Any, name: str, dtype: Any = None) -> np.ndarray:
    """Return an argument as a NumPy array; errors have its name."""
    if not isinstance(a, np.ndarray):
        reject_parts(a, name)
        if tensors.is_tensor(a):
            a = tensors.host_array(a, name)
    try:
        return np.asarray(a, dtype)
    except ValueError as error:
        if not isinstance(a, (list, tuple)):  # its own error
            raise
        raise ValueError(f"{name}: {error}") from None


# Shapes


def _axis_index(axis: Any) -> int:
    if isinstance(axis, bool):
        raise TypeError("axis: an integer is required, not a bool")
    index = integer(axis, "axis")
    if not -_LARGEST_AXIS <= index <= _LARGEST_AXIS:
        raise OverflowError(f"axis: {index} is too large")
    return index


def _normal_axis(axis: Any, ndim: int) -> int:
    index = _axis_index(axis)
    if not -ndim <= index < ndim:
        raise AxisError(index, ndim)
    return index % ndim


def reduced_axes(axis: Any, ndim: int, scalar_axis: bool = True) -> tuple[int, ...]:
    """Return the axes of ``axis=`` in ascending order.

    With `scalar_axis`, a 0-d array has axes 0 and -1, as in most of NumPy's reductions.
    """
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, tuple):
        axes = [_normal_axis(one, ndim) for one in axis]
        if len(set(axes)) != len(axes):
            raise ValueError("axis: duplicate value")
        return tuple(sorted(axes))
    if scalar_axis and ndim == 0 and _axis_index(axis) in (0, -1):
        return ()
    return (_normal_axis(axis, ndim),)


def one_axis(axis: Any, ndim: int) -> int:
    """Return the nonnegative axis of a function that needs exactly one."""
    axes = reduced_axes(axis, ndim, scalar_axis=False)
    if len(axes) != 1:
        raise TypeError(f"axis: expected one integer, got {axis!r}")
    return axes[0]


def single_axis(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes of argmin and argmax, which take one axis or None, but no tuple."""
    if isinstance(axis, tuple):
        raise TypeError("axis: argmin and argmax take one integer or None, not a tuple")
    return reduced_axes(axis, ndim)


def keeps_dims(keepdims: Any) -> bool:
    """Return ``keepdims=`` as a bool."""
    if keepdims is NO_VALUE:
        return False
    if isinstance(keepdims, np.bool_):
        return bool(keepdims)
    return integer(keepdims, "keepdims", "a bool") != 0


def kept_shape(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool = False) -> tuple[int, ...]:
    """Return the shape of the result."""
    if keepdims:
        return tuple([1 if axis in axes else length for axis, length in enumerate(shape)])
    if len(axes) == len(shape):
        return ()
    return tuple([length for axis, length in enumerate(shape) if axis not in axes])


def reduced_count(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    """Return the number of elements per result."""
    return math.prod([shape[axis] for axis in axes])


def c_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Return the strides, in bytes, of an array in C order."""
    strides = []
    for length in reversed(shape):
        strides.append(itemsize)
        itemsize *= max(length, 1)
    return tuple(reversed(strides))


def same_strides(shape: tuple[int, ...], have: tuple[int, ...], expected: tuple[int, ...]) -> bool:
    """Return whether strides are equal along all axes with more than one element."""
    if have == expected:
        return True
    axes = zip(shape, have, expected, strict=True)
    return 0 in shape or all(length <= 1 or one == other for length, one, other in axes)


def degrees(ddof: Any) -> float:
    """Return ``ddof=`` as a float; TypeError if it is not a number, ValueError if it is too large."""
    if isinstance(ddof, (int, float, np.bool_, np.integer, np.floating)):
        try:
            return float(ddof)
        except OverflowError:
            raise ValueError("ddof: too large for a float") from None
    raise TypeError(f"ddof: expected a real number, got {type(ddof).__name__}")


# Elements that take part


def require_elements(op: str, count: int, shape: tuple[int, ...]) -> None:
    """Raise ValueError if an operator without identity has no elements."""
    if count == 0:
        raise ValueError(f"{op}: zero-size array of shape {shape}, and the reduction has no identity")


def host_mask(where: Any) -> np.ndarray:
    """Return ``where=`` as a bool array, not broadcast yet."""
    reject_masked(where, "where")
    mask = as_array(where, "where", None if hasattr(where, "__array__") else bool)
    # As in NumPy, a bare number is a truth value, but an array of numbers is not.
    if mask.dtype != BOOL and isinstance(where, np.generic):
        mask = mask.astype(bool)
    if mask.dtype != BOOL:
        raise TypeError(f"where: expected bool, got an array of {mask.dtype}")
    return mask


def broadcast_strides(
    shape: tuple[int, ...], strides: tuple[int, ...], new_shape: tuple[int, ...]
) -> tuple[int, ...]:
    """Return the strides that repeat an array of `shape` over the shape `wanted`, else raise ValueError."""
    added = len(new_shape) - len(shape)
    fits = added >= 0 and all(have in (1, want) for have, want in zip(shape, new_shape[added:], strict=False))
    if not fits:
        raise ValueError(f"where: shape {shape} does not broadcast to {new_shape}")
    repeated = (0 if have == 1 else stride for have, stride in zip(shape, strides, strict=True))
    return (0,) * added + tuple(repeated)


def initial_value(initial: Any, dtype: np.dtype) -> np.ndarray:
    """Return ``initial=`` as an array of no dimensions."""
    holder = np.empty(1, dtype)
    try:
        holder[0] = initial  # NumPy's own conversion
    except (TypeError, ValueError, OverflowError) as error:
        kinds = [kind for kind in (TypeError, OverflowError) if isinstance(error, kind)]
        raised = (*kinds, ValueError)[0]
        raise raised(f"initial: expected a number of dtype {dtype}, got {initial!r}") from None
    return holder.reshape(())


# Results


def host_out(out: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return a host ``out=`` as an array; raise as NumPy does for another shape."""
    if tensors.is_tensor(out):
        out = tensors.host_array(out, "out")
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out: expected an array, got {type(out).__name__}")
    reject_masked(out, "out")
    require_supported(out.dtype, "out")
    if out.shape != shape:
        raise ValueError(f"out: expected shape {shape}, got {out.shape}")
    if not out.flags.writeable:
        raise ValueError("out: the array is read-only")
    return out


def require_index_out(out: np.dtype) -> None:
    """Raise TypeError if NumPy's argmin and argmax do not accept the dtype of ``out=``."""
    if not np.can_cast(out, np.intp, casting="safe"):
        raise TypeError(f"out: cannot cast from {out} to {np.dtype(np.intp)} according to the rule 'safe'")


def require_inexact(dtype: Any, out: np.dtype | None) -> None:
    """Raise TypeError for integer dtypes, as NumPy's nanmean, nanvar and nanstd of floats do."""
    for name, checked in (("dtype", None if dtype is None else dtype_of(dtype)), ("out", out)):
        if checked is not None and checked.kind in "biu":
            raise TypeError(f"{name}: must be inexact, as the elements are; got {checked}")


def require_dot_out(out: np.ndarray, dtype: np.dtype) -> None:
    """Raise ValueError for an ``out=`` that NumPy's dot does not accept."""
    if out.dtype != dtype or not out.flags.c_contiguous:
        raise ValueError(f"out: dot needs a C-contiguous array of {dtype}, got one of {out.dtype}")


def caller_stacklevel() -> int:
    """Return the `stacklevel` with which a warning names the first caller outside this package."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("gpureduce."):
        frame = frame.f_back
        level += 1
    return level
