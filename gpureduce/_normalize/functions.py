"""The public functions: softmax, log_softmax, rms_norm and layer_norm."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.device_array import to_device
from gpureduce._arrays.operand import Operand, as_operand_like
from gpureduce._device.devices import Device, device_name
from gpureduce._reduce import floating
from gpureduce._reduce.fast_path import fast_path_named
from gpureduce._reduce.fused_ops import floats_of, is_complex
from gpureduce._reduce.options import Options
from gpureduce._reduce.output import OutputSpec
from gpureduce._rules import arguments as rules
from gpureduce._rules import tensors

if TYPE_CHECKING:
    from typing import SupportsIndex

    from gpureduce._reduce.types import AnyArray, Out, Stream


@fast_path_named(floating.ignore_nonfinite)
def softmax(
    a: AnyArray,
    axis: SupportsIndex = -1,
    *,
    out: Out | None = None,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Return the softmax along an axis: exponentials divided by their sum.

    Parameters
    ----------
    a : array_like or device array
        Input array of float16, bfloat16, float32 or float64. Integers in host memory are cast to float64;
        integers on a device raise TypeError. For an array on a device, the axes before `axis`, and the axes
        after it, must each be mergeable into one axis.
    axis : int
        Axis along which the results add up to 1.
    out : numpy.ndarray or device array, optional
        Output array of the shape of the result; it is also returned. An array on a device must have the
        result's dtype and C order.
    device, stream, as_device
        As for `cumulative_sum`.

    Returns
    -------
    numpy.ndarray or DeviceArray
        Array of the shape and the dtype of `a`.

    Notes
    -----
    `out` may be `a`. float16 and bfloat16 are computed in float32 and rounded once. A row with a NaN, with
    positive infinity, or without any number above negative infinity has NaNs as results. One kernel reads
    each element once, unless rows have more than 524,288 bytes. The bits of a row depend on its own elements
    alone: not on other rows, on its place in memory, on the device, or on the strides.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.softmax([[1000.0, 1000.0], [0.0, -1000.0]], device="sim")
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    return _normalized("softmax", a, axis, out=out, device=device, stream=stream, as_device=as_device)


@fast_path_named(floating.ignore_nonfinite)
def log_softmax(
    a: AnyArray,
    axis: SupportsIndex = -1,
    *,
    out: Out | None = None,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Return the logarithm of the softmax along an axis.

    Parameters
    ----------
    a, axis, out, device, stream, as_device
        As for `softmax`.

    Returns
    -------
    numpy.ndarray or DeviceArray
        Array of the shape and the dtype of `a`.

    Notes
    -----
    An element x becomes ``x - m - log(s)``, where m is the largest element of its row, and s the sum of
    ``exp(x - m)``. Otherwise as for `softmax`.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.log_softmax([1000.0, 0.0], device="sim")
    array([    0., -1000.])
    """
    return _normalized("log_softmax", a, axis, out=out, device=device, stream=stream, as_device=as_device)


@fast_path_named(floating.ignore_nonfinite)
def rms_norm(
    a: AnyArray,
    weight: AnyArray | None = None,
    eps: float = 1e-6,
    *,
    residual: Any = None,
    out: Out | None = None,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Return rows divided by the root mean square of their elements.

    Parameters
    ----------
    a : array_like or device array
        Input array, as for `softmax`. A row lies along the last axis.
    weight : array_like or device array, optional
        Factors of the elements of a row, of the dtype of `a`. In host memory if `a` is, else on its device.
    eps : float
        Number that is added to the mean square.
    residual : numpy.ndarray or device array, optional
        Array of the shape and the dtype of `a`, in C order, which is added to `a`. The sums are normalized,
        and written to `residual`.
    out, device, stream, as_device
        As for `softmax`.

    Returns
    -------
    numpy.ndarray or DeviceArray
        Array of the shape and the dtype of `a`: ``x / sqrt(mean(x * x) + eps) * weight``.

    Notes
    -----
    float16, bfloat16 and float32 are computed in float32; float16 and bfloat16 are rounded once. Squares of
    float32 elements overflow from about 1.8e19 on. With a residual, the sums that are normalized are the
    rounded ones that `residual` gets. The bits of a row depend on its own elements alone, as for `softmax`.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> a, residual = np.array([[1.0, 2.0]]), np.array([[2.0, 2.0]])
    >>> gpureduce.rms_norm(a, [1.0, 10.0], eps=0.0, residual=residual, device="sim")
    array([[ 0.84852814, 11.3137085 ]])
    >>> residual
    array([[3., 4.]])
    """
    return _normalized(
        "rms_norm",
        a,
        -1,
        weight=weight,
        residual=residual,
        eps=eps,
        out=out,
        device=device,
        stream=stream,
        as_device=as_device,
    )


@fast_path_named(floating.ignore_nonfinite)
def layer_norm(
    a: AnyArray,
    weight: AnyArray | None = None,
    bias: AnyArray | None = None,
    eps: float = 1e-5,
    *,
    out: Out | None = None,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Return rows with mean 0 and variance 1.

    Parameters
    ----------
    a : array_like or device array
        Input array, as for `softmax`. A row lies along the last axis.
    weight, bias : array_like or device array, optional
        Factors of the elements of a row, and numbers to add to the products, of the dtype of `a`. In host
        memory if `a` is, else on its device.
    eps : float
        Number that is added to the variance.
    out, device, stream, as_device
        As for `softmax`.

    Returns
    -------
    numpy.ndarray or DeviceArray
        Array of the shape and the dtype of `a`: ``(x - mean(x)) / sqrt(var(x) + eps) * weight + bias``.

    Notes
    -----
    float16, bfloat16 and float32 are computed in float32; float16 and bfloat16 are rounded once. The variance
    is that of differences from the mean, so that a large mean does not cancel. The bits of a row depend on
    its own elements alone, as for `softmax`.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.layer_norm([[1.0, 2.0, 3.0, 6.0]], eps=0.0, device="sim").round(3)
    array([[-1.069, -0.535,  0.   ,  1.604]])
    """
    return _normalized(
        "layer_norm",
        a,
        -1,
        weight=weight,
        bias=bias,
        eps=eps,
        out=out,
        device=device,
        stream=stream,
        as_device=as_device,
    )


def _normalized(
    name: str,
    a: Any,
    axis: SupportsIndex,
    *,
    weight: Any = None,
    bias: Any = None,
    residual: Any = None,
    eps: float = 0.0,
    out: Any,
    device: str | Device | None,
    stream: Any,
    as_device: bool | None,
) -> Any:
    options = Options(device=device, stream=stream, as_device=as_device)
    operand = floats_of(a, options)
    if is_complex(operand) or operand.dtype.kind in "biu":
        raise TypeError(f"a: {name} takes real floating-point numbers, not {operand.dtype}")
    along = rules.one_axis(axis, len(operand.shape))
    output = OutputSpec(out, options, operand, 0, operand.shape, (), False)
    output.as_array = True
    row = operand.shape[along : along + 1]
    added = {
        "weight": _parameter(weight, "weight", operand, row),
        "bias": _parameter(bias, "bias", operand, row),
    }
    sums = _residual(residual, operand, output)
    added["residual"] = sums
    output.reads += [each for each in added.values() if each is not None]
    output.set_dtype(operand.dtype)
    if not math.prod(operand.shape):
        return output.store(np.empty(operand.shape, operand.dtype))
    core_out = output.core_out(operand.dtype)
    output.wait_for_inputs()
    result = _core.normalize(
        a=operand.handle,
        op=name,
        axis=along,
        eps=_eps(eps),
        destination=(core_out, operand.kind, operand.index, output.stream),
        **{key: None if each is None else each.handle for key, each in added.items()},
    )
    if residual is not None:
        _give_sums(residual, sums)
    return output.store(None if core_out is not None else result)


def _eps(eps: Any) -> float:
    try:
        value = float(eps)
    except (TypeError, ValueError):
        raise TypeError(f"eps: expected a number, got {type(eps).__name__}") from None
    if not value >= 0:
        raise ValueError(f"eps: expected a number of at least 0, got {eps}")
    return value


def _parameter(value: Any, name: str, a: Operand, shape: tuple[int, ...]) -> Operand | None:
    """Convert a weight or a bias to contiguous elements."""
    if value is None:
        return None
    operand = as_operand_like(value, a, name)
    if (operand.view is None) != (a.view is None):
        raise TypeError(f"{name}: must be on the device of a, or in host memory if a is")
    if operand.shape != shape:
        raise ValueError(
            f"{name}: expected shape {shape}, one element for each of a row, got {operand.shape}"
        )
    if operand.dtype != a.dtype:
        if operand.view is not None or not np.can_cast(operand.dtype, a.dtype, "same_kind"):
            raise TypeError(f"{name}: expected the dtype of a, {a.dtype}, got {operand.dtype}")
        operand = operand.cast(a.dtype)
    if operand.view is None:
        operand.handle = np.ascontiguousarray(operand.handle)
    elif not rules.same_strides(shape, operand.handle[2], (a.dtype.itemsize,)):
        raise ValueError(f"{name}: an array on a device must be contiguous")
    return operand


def _residual(value: Any, a: Operand, output: OutputSpec) -> Operand | None:
    """Convert a residual to device memory that the kernel reads and writes."""
    if value is None:
        return None
    operand = as_operand_like(value, a, "residual")
    if (operand.view is None) != (a.view is None):
        raise TypeError("residual: must be on the device of a, or in host memory if a is")
    if operand.shape != a.shape:
        raise ValueError(f"residual: expected the shape of a, {a.shape}, got {operand.shape}")
    if operand.dtype != a.dtype:
        raise TypeError(f"residual: expected the dtype of a, {a.dtype}, got {operand.dtype}")
    if operand.view is None:
        if not isinstance(value, np.ndarray) or not value.flags.writeable:
            raise TypeError("residual: expected an array, to which the sums are written")
        if np.may_share_memory(value, a.handle):
            raise ValueError("residual: overlaps with a")
        copy = to_device(np.ascontiguousarray(operand.handle), device_name(a.kind, a.index))
        return Operand(copy._view_tuple(), copy.shape, copy.dtype, a.kind, a.index, copy)
    if tensors.is_tensor(value):
        tensors.require_writable(value)
    if operand.view._read_only:
        raise ValueError("residual: the array is read-only, but the sums are written to it")
    if not rules.same_strides(a.shape, operand.handle[2], rules.c_strides(a.shape, a.dtype.itemsize)):
        raise ValueError("residual: an array on a device must be C-contiguous")
    return operand


def _give_sums(residual: Any, sums: Any) -> None:
    """Copy the sums to an array in host memory; those on a device are in place."""
    if isinstance(residual, np.ndarray):
        residual[...] = sums.view.numpy()
    else:
        tensors.mark_written(residual)
