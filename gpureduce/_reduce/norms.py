"""The public reductions to norms and to sums of exponentials."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.device_array import DeviceArray
from gpureduce._arrays.operand import Operand
from gpureduce._reduce import floating
from gpureduce._reduce.engine import run
from gpureduce._reduce.fast_path import core_callable, fast_path_named, fast_path_op
from gpureduce._reduce.fused_ops import (
    ReductionCall,
    floats_of,
    is_complex,
    real_dtype,
    restrided,
    strides_of,
)
from gpureduce._reduce.options import Options
from gpureduce._reduce.progress import Progress
from gpureduce._rules import arguments as rules
from gpureduce._rules.dtypes import dtype_name

if TYPE_CHECKING:
    from typing import SupportsIndex

    from gpureduce._device.devices import Device
    from gpureduce._reduce.types import AnyArray, Out, Stream

_MAX_ORDER = 1e300  # of integers that are converted to a float without an error, and of finite floats
_NAMES = (
    "a axis keepdims",
    "out device stream as_device progress",
    partial(floating.report_fp_status, "norm"),
)
_TWO = core_callable("rootnorm", *_NAMES)
# By order; the core returns NotImplemented for arguments that it does not support.
_QUICK = {
    None: _TWO,
    2: _TWO,
    1: core_callable("sumnorm", *_NAMES),
    np.inf: core_callable("extremes", *_NAMES, _core.MAGNITUDE),
}


@functools.lru_cache(maxsize=16)
def _core_of_order(order: float) -> Callable[..., Any]:
    """Return the core's callable for a finite order that has no operator of its own."""
    return core_callable("anynorm", *_NAMES, _bits_of(order))


def _bits_of(order: float) -> int:
    return int(struct.unpack("Q", struct.pack("d", order))[0])


def _core_of(ord: Any) -> Callable[..., Any] | None:
    """Return the core's callable for an order that has no operator of its own, if there is one."""
    plain = type(ord) in (int, float) and ord != 0 and abs(ord) < _MAX_ORDER
    return _core_of_order(float(ord)) if plain else None


def _parts_side_by_side(operand: Operand) -> Operand:
    """Return complex numbers as real ones, with an axis more, of their parts."""
    real = floating.parts_of(operand)[0]
    return restrided(real, (*operand.shape, 2), (*strides_of(operand), real.dtype.itemsize))


def _operator(order: float, call: ReductionCall) -> tuple[str, int]:
    """Return the core's operator for a norm, and what it is told."""
    if is_complex(call.operand) and order == 2:
        call.axes = (*call.axes, len(call.operand.shape))
        call.operand = _parts_side_by_side(call.operand)
    if not is_complex(call.operand):
        if order == np.inf and call.count > 0:
            return "extremes", _core.MAGNITUDE
        if order in (1, 2):
            return ("sumnorm" if order == 1 else "rootnorm"), 0
    return "anynorm", _bits_of(order)


def norm(
    a: AnyArray,
    ord: float | None = None,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    keepdims: bool = False,
    *,
    out: Out | None = None,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
    exact: bool = False,
) -> Any:
    """Return a vector norm of the elements along axes.

    Parameters
    ----------
    a : array_like or device array
        Input array, as for `sum`. Integers in host memory are cast to float64; integers on a device raise
        TypeError.
    ord : float, optional
        Order of the norm. Default: 2, the root of the sum of squares. 1 is the sum of magnitudes, ``inf`` and
        ``-inf`` are the largest and the smallest magnitude, 0 is the number of nonzero elements. Any other
        number p is the p-th root of the sum of p-th powers of the magnitudes.
    axis, keepdims, out, device, stream, as_device, progress
        As for `sum`.
    exact : bool
        True returns the correctly rounded result (to nearest, ties to even), which depends neither on the
        order of the elements nor on the device. See docs/explanation/exact-sums.md.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    As `numpy.linalg.vector_norm`, and as ``linalg.vector_norm`` of the array API standard: several axes form
    one vector, not a matrix. No intermediate result overflows or underflows, for any order: a result is
    infinite only if the norm itself exceeds the range of the dtype. Sums are accumulated in float64.
    With ``exact=True``, the order is 0, 1, 2, ``inf`` or ``-inf``, of complex numbers 0 or 2. The host rounds
    the exact sum, or its root: the call synchronizes, and cannot be captured into a graph.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.norm([3e-200, 4e-200], device="sim")
    np.float64(5e-200)
    >>> gpureduce.norm(np.float32([[3, -4], [6, 8]]), 1, axis=1, device="sim")
    array([ 7., 14.], dtype=float32)
    """
    exact = rules.flag(exact, "exact")
    known = _QUICK.get(ord) if ord is None or isinstance(ord, (int, float)) else None
    known = _core_of(ord) if known is None else known
    if known is not None and not exact:
        core_options = {
            "out": out,
            "device": device,
            "stream": stream,
            "as_device": as_device,
            "progress": progress,
        }
        result = known(a, axis, keepdims, **core_options)
        if result is not NotImplemented:
            return result
    options = Options(device=device, stream=stream, as_device=as_device, progress=progress)
    if ord is not None and not isinstance(ord, (int, float, np.number)):
        raise ValueError(f"ord: expected a number, got {ord!r}")
    order = 2.0 if ord is None else float(ord)
    if np.isnan(order):
        raise ValueError("ord: expected a number, got nan")
    call = ReductionCall(floats_of(a, options), options, axis, out, keepdims)
    dtype = real_dtype(call.operand.dtype)
    if exact:
        _require_exact_order(order, call.operand)
    if order == -np.inf:
        rules.require_elements("norm", call.count, call.operand.shape)
    if order == 0 and not call.output.on_device:
        call.output.set_dtype(dtype)
        call.output.wait_for_inputs()
        return call.output.store(call.again("count_nonzero"))
    if exact and order not in (0, np.inf, -np.inf):
        return _exact_norm(order, call, dtype)
    op, parameter = _operator(order, call)
    return call.finished("norm", call.run(op, dtype, parameter))


def _require_exact_order(order: float, operand: Operand) -> None:
    orders = (0, 2) if is_complex(operand) else (0, 1, 2, np.inf, -np.inf)
    if order not in orders:
        known = ", ".join(f"{each:g}" for each in orders)
        raise ValueError(f"ord: exact=True supports {known} of {operand.dtype}, got {order:g}")


def _exact_norm(order: float, call: ReductionCall, dtype: np.dtype) -> Any:
    """Return norms of order 1 or 2 that are rounded once."""
    from gpureduce._reduce.exact_squares import exact_norm  # few calls need fractions

    call.output.set_dtype(dtype)
    return call.finished("norm", exact_norm(order, call.operand, call.axes, call.output))


@fast_path_op("logsumexp", report=floating.ignore_nonfinite)
def logsumexp(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    *,
    out: Out | None = None,
    keepdims: bool = False,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the logarithm of the sum of the exponentials of the elements.

    Parameters
    ----------
    a : array_like or device array
        Input array of real numbers, as for `sum`. Integers in host memory are cast to float64; integers on a
        device raise TypeError.
    axis, out, keepdims, device, stream, as_device, progress
        As for `sum`.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    As `scipy.special.logsumexp`, in one pass: each partial result holds its largest element m, and the sum of
    ``exp(x - m)``. The result for an empty array is -inf.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.logsumexp([1000.0, 1000.0], device="sim")
    np.float64(1000.6931471805599)
    >>> gpureduce.logsumexp([[0.0, -50.0]], axis=1, device="sim")
    array([1.92874985e-22])
    """
    options = Options(device=device, stream=stream, as_device=as_device, progress=progress)
    call = _of_exponentials("logsumexp", a, options, axis, out, keepdims)
    return call.output.store(call.run("logsumexp", call.operand.dtype))


def _of_exponentials(
    name: str, a: Any, options: Options, axis: Any, out: Any, keepdims: Any
) -> ReductionCall:
    operand = floats_of(a, options)
    if is_complex(operand):
        raise TypeError(f"a: {name} takes real numbers, not {operand.dtype}")
    return ReductionCall(operand, options, axis, out, keepdims)


@fast_path_named(floating.ignore_nonfinite)
def softmax_denominator(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    *,
    keepdims: bool = False,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> tuple[Any, Any]:
    """Return the maximum and the sum of ``exp(a - maximum)``, the denominator of the softmax.

    Parameters
    ----------
    a : array_like or device array
        Input array, as for `logsumexp`.
    axis, keepdims, device, stream, as_device
        As for `sum`.

    Returns
    -------
    largest, total : numpy scalar, numpy.ndarray or DeviceArray
        The softmax is ``exp(a - largest) / total``. For float16 and bfloat16 both are float32. On a device
        both are views of one array, in which their elements alternate.

    Notes
    -----
    Both results take one pass over the elements. The total is NaN if the maximum is infinite or NaN.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> a = np.array([[1000.0, 1000.0], [0.0, 3.0]])
    >>> largest, total = gpureduce.softmax_denominator(a, axis=1, keepdims=True, device="sim")
    >>> np.round(np.exp(a - largest) / total, 3)
    array([[0.5  , 0.5  ],
           [0.047, 0.953]])
    """
    options = Options(device=device, stream=stream, as_device=as_device)
    call = _of_exponentials("softmax_denominator", a, options, axis, None, keepdims)
    rules.require_elements("softmax_denominator", call.count, call.operand.shape)
    dtype = np.dtype(np.float64 if call.operand.dtype == np.float64 else np.float32)
    pair = np.dtype(f"c{2 * dtype.itemsize}")
    if call.output.on_device:
        return _both_on_device(call, dtype, pair)
    both = call.output.store(call.run("softmax", pair))
    return both.real.copy(), both.imag.copy()


def _both_on_device(call: ReductionCall, dtype: np.dtype, pair: np.dtype) -> tuple[DeviceArray, DeviceArray]:
    """Return both results as views of one array."""
    output = call.output
    both = output.allocate_output((*output.shape, 2), dtype)
    core_out = (both._pointer, output.kept, rules.c_strides(output.kept, pair.itemsize), dtype_name(pair))
    output.wait_for_inputs()
    run("softmax", call.operand, call.axes, None, None, core_out, None, output.stream)
    both = output.give(both)
    return both[..., 0], both[..., 1]
