"""The public reductions that ignore NaNs."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.operand import Operand, as_operand
from gpureduce._reduce import floating
from gpureduce._reduce.engine import mean as _mean
from gpureduce._reduce.engine import reduction, run
from gpureduce._reduce.fast_path import fast_path_op
from gpureduce._reduce.fused_ops import ReductionCall
from gpureduce._reduce.options import Options
from gpureduce._reduce.progress import Progress
from gpureduce._rules import arguments as rules
from gpureduce._rules.arguments import NO_VALUE, caller_stacklevel, require_inexact

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import DTypeLike

    from gpureduce._device.devices import Device
    from gpureduce._reduce.types import AnyArray, Out, Scalar, Stream

_ALL_NAN = "All-NaN slice encountered"


def _warn_of_all_nan(result: Any, *_call: Any) -> None:
    if np.isnan(result).any():
        warnings.warn(_ALL_NAN, RuntimeWarning, stacklevel=caller_stacklevel())


def _reject_all_nan(result: Any, *_call: Any) -> None:
    if (result < 0).any():
        raise ValueError(_ALL_NAN)


def _warn_of_empty_mean(result: Any, operand: Operand, axes: tuple[int, ...], mask: Operand | None) -> None:
    """Warn about slices without numbers, and report other floating-point errors to NumPy."""
    least: Any = run("nanmin", operand, axes, mask) if np.isnan(result).any() else ()
    if np.isnan(least).any():
        warnings.warn("Mean of empty slice", RuntimeWarning, stacklevel=caller_stacklevel())
    floating.check_fp_status("nanmean", result, operand, axes, mask)


def _accumulated(plain, a, options, axis, dtype, out, keepdims, initial, where) -> Any:
    """Reduce by a sum or product that ignores NaNs; integers by the plain one."""
    operand = as_operand(a, options.device)
    if operand.dtype.kind in "biu":
        return reduction(plain, a, options, axis, dtype, out, keepdims, initial, where)
    call = ReductionCall(operand, options, axis, out, keepdims, where)
    loop = call.output.loop_dtype(plain, operand.rule_dtype, dtype)
    narrows = loop.kind in "biu" or (operand.dtype.kind == "c" and loop.kind != "c")
    if narrows and operand.view is None:  # dtypes without NaN, or with a NaN in one part only
        neutral = operand.dtype.type(plain == "prod")
        without = np.where(np.isnan(operand.handle), neutral, operand.handle)
        return reduction(plain, without, options, axis, dtype, out, keepdims, initial, where)
    if narrows and operand.dtype != loop:
        raise TypeError(
            f"dtype: a cast from {operand.dtype} to {loop} would lose NaNs before nan{plain} sees them; an "
            "array on a device is reduced in a floating dtype"
        )
    call.operand = call.output.cast(operand, loop)
    start = None
    if initial is None:
        rules.require_elements(plain, call.count, operand.shape)
    elif initial is not NO_VALUE:
        start = rules.initial_value(initial, loop)
    result = call.run(f"nan{plain}", loop, start=start, casting="unsafe")
    stored = call.output.store(result)
    if result is not None and not (call.output.on_device or _core.all_finite(result)):
        floating.check_fp_status(f"nan{plain}", result, operand, call.axes, call.mask, start)
    return stored


def _extreme(name, plain, report, a, options, axis, out, keepdims, initial, where) -> Any:
    """Reduce by the smallest or largest number; `report` is called for slices without numbers."""
    operand = as_operand(a, options.device)
    if operand.dtype.kind in "biu":
        return reduction(plain, a, options, axis, None, out, keepdims, initial, where)
    call = ReductionCall(operand, options, axis, out, keepdims, where)
    loop = call.output.loop_dtype(plain, operand.rule_dtype)
    call.operand = operand.cast(loop)
    start = None
    if initial is None or initial is NO_VALUE:
        rules.require_elements(name, call.count, operand.shape)
        if call.mask is not None:
            raise ValueError(f"{name}: the reduction has no identity, so where= needs initial=")
    else:
        start = rules.initial_value(initial, loop)
    result = call.run(f"nan{plain}", loop, start=start, casting="unsafe")
    if result is not None and not call.output.on_device:
        report(result)
    return call.output.store(result)


def _argextreme(plain, a, options, axis, out, keepdims) -> Any:
    """Reduce to the index of the smallest or largest number."""
    operand = as_operand(a, options.device)
    if operand.dtype.kind in "biu":
        return reduction(plain, a, options, axis, None, out, keepdims)
    call = ReductionCall(operand, options, axis, out, keepdims, single=True)
    if call.output.host_out is not None:
        rules.require_index_out(call.output.host_out.dtype)
    rules.require_elements(f"nan{plain}", call.count, operand.shape)
    try:
        result = call.run(f"nan{plain}", np.dtype(np.int64), casting="unsafe")
    except ValueError:
        if call.operand.view is None:
            raise
        call.operand = call.output.in_c_order(call.operand)  # elements are numbered there
        result = call.run(f"nan{plain}", np.dtype(np.int64), casting="unsafe")
    if result is not None:
        _reject_all_nan(result)
    return call.output.store(result)


@fast_path_op("nansum")
def nansum(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    keepdims: bool = False,
    initial: Scalar | None = NO_VALUE,
    where: AnyArray = True,
    *,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the sum of the elements, ignoring NaNs.

    Parameters
    ----------
    a, axis, dtype, out, keepdims, initial, where, device, stream, as_device, progress
        As for `sum`.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    As `numpy.nansum`: NaNs count as 0. A complex number is NaN if either part is. Integers are passed to
    `sum`. float32 and complex64 are accumulated in float64, float16 and bfloat16 in float32; the result is
    rounded once.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.nansum([1.0, np.nan, 3.0], device="sim")
    np.float64(4.0)
    """
    options = Options(device=device, stream=stream, as_device=as_device, progress=progress)
    return _accumulated("sum", a, options, axis, dtype, out, keepdims, initial, where)


@fast_path_op("nanprod")
def nanprod(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    keepdims: bool = False,
    initial: Scalar | None = NO_VALUE,
    where: AnyArray = True,
    *,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the product of the elements, ignoring NaNs.

    Parameters
    ----------
    a, axis, dtype, out, keepdims, initial, where, device, stream, as_device, progress
        As for `prod`.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    As `numpy.nanprod`: NaNs count as 1. Integers are passed to `prod`.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.nanprod([[2.0, np.nan], [3.0, 4.0]], axis=0, device="sim")
    array([6., 4.])
    """
    options = Options(device=device, stream=stream, as_device=as_device, progress=progress)
    return _accumulated("prod", a, options, axis, dtype, out, keepdims, initial, where)


@fast_path_op("nanmean", report=lambda *call: _warn_of_empty_mean(*floating.reduced("nanmean", *call)))
def nanmean(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    keepdims: bool = False,
    *,
    where: AnyArray = True,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the mean of the elements, ignoring NaNs.

    Parameters
    ----------
    a, axis, dtype, out, keepdims, where, device, stream, as_device, progress
        As for `mean`.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    As `numpy.nanmean`, but rounded once: sums are accumulated as in `nansum`, so that they may exceed the
    range of the dtype. The mean of a slice without numbers is NaN, with a RuntimeWarning if the result is in
    host memory.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.nanmean([[1.0, np.nan], [3.0, 4.0]], axis=1, device="sim")
    array([1. , 3.5])
    """
    options = Options(device=device, stream=stream, as_device=as_device, progress=progress)
    operand = as_operand(a, options.device)
    if operand.dtype.kind in "biu":
        return _mean(a, options, axis, dtype, out, keepdims, where)
    call = ReductionCall(operand, options, axis, out, keepdims, where)
    require_inexact(dtype, call.output.out_dtype)
    loop = call.output.loop_dtype("sum", operand.rule_dtype, dtype)
    call.operand = call.output.cast(operand, loop)
    result = call.run("nanmean", loop, casting="unsafe")
    stored = call.output.store(result)
    if result is not None and not (call.output.on_device or _core.all_finite(result)):
        _warn_of_empty_mean(result, call.operand, call.axes, call.mask)
    return stored


@fast_path_op("nanmin", report=_warn_of_all_nan)
def nanmin(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    out: Out | None = None,
    keepdims: bool = False,
    initial: Scalar | None = NO_VALUE,
    where: AnyArray = True,
    *,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the smallest element, ignoring NaNs.

    Parameters
    ----------
    a, axis, out, keepdims, initial, where, device, stream, as_device, progress
        As for `min`.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    As `numpy.nanmin`: if all elements of a slice are NaN, the result is NaN, with a RuntimeWarning if the
    result is in host memory. Integers are passed to `min`.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.nanmin([3.0, np.nan, 1.0], device="sim")
    np.float64(1.0)
    """
    options = Options(device=device, stream=stream, as_device=as_device, progress=progress)
    return _extreme("nanmin", "min", _warn_of_all_nan, a, options, axis, out, keepdims, initial, where)


@fast_path_op("nanmax", report=_warn_of_all_nan)
def nanmax(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    out: Out | None = None,
    keepdims: bool = False,
    initial: Scalar | None = NO_VALUE,
    where: AnyArray = True,
    *,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the largest element, ignoring NaNs.

    Parameters
    ----------
    a, axis, out, keepdims, initial, where, device, stream, as_device, progress
        As for `max`.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    As `numpy.nanmax`: if all elements of a slice are NaN, the result is NaN, with a RuntimeWarning if the
    result is in host memory. Integers are passed to `max`.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.nanmax([3.0, np.nan, 1.0], device="sim")
    np.float64(3.0)
    """
    options = Options(device=device, stream=stream, as_device=as_device, progress=progress)
    return _extreme("nanmax", "max", _warn_of_all_nan, a, options, axis, out, keepdims, initial, where)


@fast_path_op("nanmin", report=floating.ignore_nonfinite)
def fmin(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    out: Out | None = None,
    keepdims: bool = False,
    initial: Scalar | None = NO_VALUE,
    where: AnyArray = True,
    *,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the smallest element, ignoring NaNs; NaN if all elements are NaN.

    Parameters
    ----------
    a, axis, out, keepdims, initial, where, device, stream, as_device, progress
        As for `min`.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    As ``numpy.fmin.reduce``, and as `nanmin` without the warning.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.fmin([[3.0, np.nan], [1.0, np.nan]], axis=0, device="sim")
    array([ 1., nan])
    """
    options = Options(device=device, stream=stream, as_device=as_device, progress=progress)
    return _extreme("fmin", "min", floating.ignore_nonfinite, a, options, axis, out, keepdims, initial, where)


@fast_path_op("nanmax", report=floating.ignore_nonfinite)
def fmax(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    out: Out | None = None,
    keepdims: bool = False,
    initial: Scalar | None = NO_VALUE,
    where: AnyArray = True,
    *,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the largest element, ignoring NaNs; NaN if all elements are NaN.

    Parameters
    ----------
    a, axis, out, keepdims, initial, where, device, stream, as_device, progress
        As for `max`.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    As ``numpy.fmax.reduce``, and as `nanmax` without the warning.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.fmax([[3.0, np.nan], [1.0, np.nan]], axis=0, device="sim")
    array([ 3., nan])
    """
    options = Options(device=device, stream=stream, as_device=as_device, progress=progress)
    return _extreme("fmax", "max", floating.ignore_nonfinite, a, options, axis, out, keepdims, initial, where)


@fast_path_op("nanargmin", report=_reject_all_nan)
def nanargmin(
    a: AnyArray,
    axis: SupportsIndex | None = None,
    out: Out | None = None,
    *,
    keepdims: bool = False,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the index of the smallest element, ignoring NaNs.

    Parameters
    ----------
    a, axis, out, keepdims, device, stream, as_device, progress
        As for `argmin`.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    If all elements of a slice are NaN, ValueError is raised, as by `numpy.nanargmin`; in a result on a device
    the position is -1 instead. NaNs are ignored even if all other elements are infinite, where NumPy may
    return the position of a NaN. Integers are passed to `argmin`.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.nanargmin([np.nan, 3.0, 1.0], device="sim")
    np.int64(2)
    """
    options = Options(device=device, stream=stream, as_device=as_device, progress=progress)
    return _argextreme("argmin", a, options, axis, out, keepdims)


@fast_path_op("nanargmax", report=_reject_all_nan)
def nanargmax(
    a: AnyArray,
    axis: SupportsIndex | None = None,
    out: Out | None = None,
    *,
    keepdims: bool = False,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the index of the largest element, ignoring NaNs.

    Parameters
    ----------
    a, axis, out, keepdims, device, stream, as_device, progress
        As for `argmax`.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    If all elements of a slice are NaN, ValueError is raised, as by `numpy.nanargmax`; in a result on a device
    the position is -1 instead. NaNs are ignored even if all other elements are infinite, where NumPy may
    return the position of a NaN. Integers are passed to `argmax`.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.nanargmax([np.nan, 3.0, 1.0], device="sim")
    np.int64(1)
    """
    options = Options(device=device, stream=stream, as_device=as_device, progress=progress)
    return _argextreme("argmax", a, options, axis, out, keepdims)
