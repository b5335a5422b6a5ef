"""The public functions: cumulative sums and products along an axis."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpureduce import _core
from gpureduce._arrays.operand import Operand, as_operand
from gpureduce._device.devices import Device
from gpureduce._reduce import engine, floating
from gpureduce._reduce.fast_path import fast_path_named
from gpureduce._reduce.options import Options
from gpureduce._reduce.output import OutputSpec
from gpureduce._rules import arguments as rules
from gpureduce._rules import dtypes

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import DTypeLike

    from gpureduce._reduce.types import AnyArray, Out, Stream

_NOTHING = {"sum": 0, "prod": 1}
_INT64 = np.dtype(np.int64)


def _report(op: str, result: Any, a: Any, axis: int, initial: bool) -> None:
    """Report a nonfinite result of the core."""
    _check_fp_status(_Scan(op, axis, initial), result, as_operand(a, "sim"))


@fast_path_named(partial(_report, "sum"))
def cumulative_sum(
    a: AnyArray,
    *,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    include_initial: bool = False,
    variant: str = "auto",
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    exact: bool = False,
) -> Any:
    """Return the cumulative sum along an axis, as `numpy.cumulative_sum`.

    Parameters
    ----------
    a : array_like or device array
        Input array of any dtype that `sum` supports. For an array on a device, the axes before `axis`, and
        the axes after it, must each be mergeable into one axis. A scalar is an array of one element.
    axis : int, optional
        Axis along which to sum. Required if `a` has several axes.
    dtype : dtype_like, optional
        Data type of the result, to which elements are cast first. Default: as for `sum`, so that integers of
        fewer than 64 bits are summed in 64 bits.
    out : numpy.ndarray or device array, optional
        Output array of the shape of the result; it is also returned. An array on a device must have the
        result's dtype and C order.
    include_initial : bool
        True starts the result with 0, so that it has one element more than `a` along `axis`.
    variant : str
        Kernel to run: ``"auto"``, or the name of one of ``variants("scan")``, which sum one-dimensional
        float32.
    device : str or Device, optional
        Device that runs the call: ``"cuda"``, ``"cuda:1"`` or ``"sim"``. Default: the device of `a`, or for a
        host array the default device (see `set_default_device`): without a setting, the first CUDA device, or
        the simulator with a `SimulatorWarning` if there is none.
    stream : int or object, optional
        CUDA stream to work on: an integer handle, or an object that has one (``torch.cuda.Stream``,
        ``cupy.cuda.Stream``, anything with ``__cuda_stream__``). Default: the stream of the first argument on
        a device, which is its library's current stream, or the stream of a `DeviceArray`. The call is ordered
        after the work already queued on this stream and on the streams of the other arguments. The host
        synchronizes only when a result is returned to host memory. See docs/explanation/streams.md.
    as_device : bool, optional
        True leaves the result on the device, as a `DeviceArray`; False copies it to host memory. Default:
        True if `a` is on a device.
    exact : bool
        True returns the correctly rounded result (to nearest, ties to even), which depends neither on the
        order of the elements nor on the device. See docs/explanation/exact-sums.md.

    Returns
    -------
    numpy.ndarray or DeviceArray
        Array in C order, of the shape of `a`.

    Raises
    ------
    TypeError
        If the dtype is not supported.
    ValueError
        If `a` has several axes and `axis` is None, or if `out` has the wrong shape or dtype.
    DeviceError
        If the device does not exist or fails.

    Notes
    -----
    One pass over the elements. Results are bitwise identical in every run, on a GPU and on the simulator.
    float32 and complex64 are accumulated in float64, float16 and bfloat16 in float32, and each sum is rounded
    once. A sum that overflows the dtype and then returns to its range is therefore finite again.

    With ``exact=True``, each sum of floating-point or complex numbers is exact before its rounding. Its
    kernels need about as much temporary memory as `a` takes, twice as much for 16-bit elements.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.cumulative_sum(np.array([1, 2, 3, 4], np.int32), include_initial=True, device="sim")
    array([ 0,  1,  3,  6, 10])
    >>> gpureduce.cumulative_sum(np.arange(6.0).reshape(2, 3), axis=0, device="sim")
    array([[0., 1., 2.],
           [3., 5., 7.]])
    """
    exact = rules.flag(exact, "exact")
    options = Options(variant, device=device, stream=stream, as_device=as_device, ladder="scan")
    if options.variant is not None:
        from gpureduce._scans import rungs  # few calls name a rung

        operand = with_axis(as_operand(a, device))
        axis_of(axis, len(operand.shape))
        for name, given in (("exact", exact), ("include_initial", _flag(include_initial))):
            if given:
                raise ValueError(f"{name}: only with variant='auto'")
        return rungs.run(options.variant, operand, dtype, out, options)
    return _running("sum", a, axis, dtype, out, options, include_initial=include_initial, exact=exact)


@fast_path_named(partial(_report, "prod"))
def cumulative_prod(
    a: AnyArray,
    *,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    include_initial: bool = False,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Return the cumulative product along an axis, as `numpy.cumulative_prod`.

    Parameters
    ----------
    a, axis, dtype, out
        As for `cumulative_sum`.
    include_initial : bool
        True starts the result with 1, so that it has one element more than `a` along `axis`.
    device, stream, as_device
        As for `cumulative_sum`.

    Returns
    -------
    numpy.ndarray or DeviceArray
        Array in C order, of the shape of `a`.

    Raises
    ------
    TypeError, ValueError, DeviceError
        As for `cumulative_sum`.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.cumulative_prod(np.array([1.0, 2.0, 3.0, 4.0]), device="sim")
    array([ 1.,  2.,  6., 24.])
    """
    options = Options(device=device, stream=stream, as_device=as_device)
    return _running("prod", a, axis, dtype, out, options, include_initial=include_initial)


@fast_path_named(partial(_report, "sum"), "cumulative_sum")
def cumsum(
    a: AnyArray,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    *,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Return the cumulative sum along an axis, or of the flattened array, as `numpy.cumsum`.

    Parameters
    ----------
    a
        As for `cumulative_sum`.
    axis : int, optional
        Axis along which to sum. Default: the flattened array.
    dtype, out
        As for `cumulative_sum`.
    device, stream, as_device
        As for `cumulative_sum`.

    Returns
    -------
    numpy.ndarray or DeviceArray
        Array in C order, of the shape of `a`, or one-dimensional if `axis` is None.

    Raises
    ------
    TypeError, ValueError, DeviceError
        As for `cumulative_sum`.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.cumsum([[1, 2], [3, 4]], device="sim")
    array([ 1,  3,  6, 10])
    """
    if axis is not None or getattr(a, "ndim", None) == 1:
        return cumulative_sum(
            a, axis=axis, dtype=dtype, out=out, device=device, stream=stream, as_device=as_device
        )
    options = Options(device=device, stream=stream, as_device=as_device)
    return _flat("sum", a, axis, dtype, out, options)


@fast_path_named(partial(_report, "prod"), "cumulative_prod")
def cumprod(
    a: AnyArray,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    *,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Return the cumulative product along an axis, or of the flattened array, as `numpy.cumprod`.

    Parameters
    ----------
    a
        As for `cumulative_sum`.
    axis : int, optional
        Axis along which to multiply. Default: the flattened array.
    dtype, out
        As for `cumulative_sum`.
    device, stream, as_device
        As for `cumulative_sum`.

    Returns
    -------
    numpy.ndarray or DeviceArray
        Array in C order, of the shape of `a`, or one-dimensional if `axis` is None.

    Raises
    ------
    TypeError, ValueError, DeviceError
        As for `cumulative_sum`.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.cumprod([[1, 2], [3, 4]], 1, device="sim")
    array([[ 1,  2],
           [ 3, 12]])
    """
    if axis is not None or getattr(a, "ndim", None) == 1:
        return cumulative_prod(
            a, axis=axis, dtype=dtype, out=out, device=device, stream=stream, as_device=as_device
        )
    options = Options(device=device, stream=stream, as_device=as_device)
    return _flat("prod", a, axis, dtype, out, options)


@fast_path_named(partial(_report, "sum"))
def nancumsum(
    a: AnyArray,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    *,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Return the cumulative sum with NaN counted as 0, as `numpy.nancumsum`.

    Parameters
    ----------
    a
        As for `cumulative_sum`.
    axis : int, optional
        Axis along which to sum. Default: the flattened array.
    dtype, out
        As for `cumulative_sum`.
    device, stream, as_device
        As for `cumulative_sum`.

    Returns
    -------
    numpy.ndarray or DeviceArray
        Array in C order, of the shape of `a`, or one-dimensional if `axis` is None.

    Raises
    ------
    TypeError, ValueError, DeviceError
        As for `cumulative_sum`.

    Notes
    -----
    A complex number is NaN if either part is. Elements on a device are written to the result without NaN, and
    scanned in place. With `dtype=`, or `out` that overlaps with `a`, the call needs temporary memory, and
    cannot be captured into a graph.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.nancumsum([1.0, float("nan"), 2.0], device="sim")
    array([1., 1., 3.])
    """
    options = Options(device=device, stream=stream, as_device=as_device)
    return _flat("sum", a, axis, dtype, out, options, skip_nan=True)


@fast_path_named(partial(_report, "prod"))
def nancumprod(
    a: AnyArray,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    *,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Return the cumulative product with NaN counted as 1, as `numpy.nancumprod`.

    Parameters
    ----------
    a
        As for `cumulative_sum`.
    axis : int, optional
        Axis along which to multiply. Default: the flattened array.
    dtype, out
        As for `cumulative_sum`.
    device, stream, as_device
        As for `cumulative_sum`.

    Returns
    -------
    numpy.ndarray or DeviceArray
        Array in C order, of the shape of `a`, or one-dimensional if `axis` is None.

    Raises
    ------
    TypeError, ValueError, DeviceError
        As for `cumulative_sum`.

    Notes
    -----
    A complex number is NaN if either part is. Elements on a device are written to the result without NaN, and
    scanned in place. With `dtype=`, or `out` that overlaps with `a`, the call needs temporary memory, and
    cannot be captured into a graph.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.nancumprod([2.0, float("nan"), 3.0], device="sim")
    array([2., 2., 6.])
    """
    options = Options(device=device, stream=stream, as_device=as_device)
    return _flat("prod", a, axis, dtype, out, options, skip_nan=True)


class _Scan(NamedTuple):
    """A scan: ``"sum"`` or ``"prod"``, its axis, and whether the result of no elements comes first."""

    op: str
    axis: int
    initial: bool
    exact: bool = False

    def run(self, operand: Operand, core_out: Any, output: OutputSpec) -> Any:
        """Scan by the core; None if it writes to `core_out`."""
        to = (core_out, operand.kind, operand.index, output.stream)
        return _core.scan(operand.handle, int(self.op == "prod"), self.axis, self.initial, self.exact, to)


def _flat(
    op: str, a: Any, axis: Any, dtype: DTypeLike | None, out: Any, options: Options, *, skip_nan: bool = False
) -> Any:
    """Scan with NumPy's older signature: without `axis`, the flattened array."""
    return _running(op, a, axis, dtype, out, options, flatten=axis is None, skip_nan=skip_nan)


def _running(
    op: str,
    a: Any,
    axis: Any,
    dtype: DTypeLike | None,
    out: Any,
    options: Options,
    *,
    include_initial: Any = False,
    flatten: bool = False,
    skip_nan: bool = False,
    exact: bool = False,
) -> Any:
    operand = with_axis(as_operand(a, options.device))
    along = 0 if flatten else axis_of(axis, len(operand.shape))
    scan = _Scan(op, along, _flag(include_initial), exact)
    shape = [math.prod(operand.shape)] if flatten else list(operand.shape)
    shape[along] += scan.initial
    output = OutputSpec(out, options, operand, along, tuple(shape), (), False)
    if skip_nan and operand.dtype.kind not in "biu":
        operand = _without_nan(op, operand, output)
    if flatten:
        operand = flattened(operand, output)
    loop = output.loop_dtype(op, operand.rule_dtype, dtype)
    if exact and loop.kind in "biu":
        raise TypeError(f"dtype: exact=True requires floating-point or complex numbers, got {loop}")
    logical = loop == dtypes.BOOL
    source = operand
    if not (loop.kind in "iu" and operand.dtype.kind in "biu"):  # else modulo 2^64, then a smaller power
        operand = output.cast(operand, loop)
    output.set_dtype(loop, "unsafe")
    output.wait_for_inputs()
    if 0 in operand.shape:
        return output.store(np.full(shape, _NOTHING[op], loop))
    counts = None
    if logical and output.on_device:  # sums and products of bools: nonzero where NumPy has True
        output.reject_capture(
            "a cumulative sum in bool needs temporary memory, and cannot be captured into a graph"
        )
        counts = output.allocate_output(tuple(shape), _INT64)
    core_out = (
        output.core_out(dtypes.core_dtype(op, operand.dtype)) if counts is None else counts._view_tuple()
    )
    try:
        result = scan.run(operand, core_out, output)
    except ValueError:
        if operand.view is None:
            raise
        result = scan.run(output.in_c_order(operand), core_out, output)
    if counts is not None:
        view = output.view._view_tuple()
        _core.convert(counts._view_tuple(), "bool", (view, operand.kind, operand.index, output.stream))
    stored = output.store(None if core_out is not None else result)
    if loop.kind in "fc" and isinstance(stored, np.ndarray):
        _check_fp_status(scan, stored, operand)
        floating.check_cast(source, operand, stored)
    return stored


def _without_nan(op: str, operand: Operand, output: OutputSpec) -> Operand:
    """Replace NaNs by 0, or by 1 for products.

    On a device, this is a nansum, or nanprod, along an axis of length one.
    """
    if operand.view is None:
        neutral = operand.dtype.type(_NOTHING[op])
        return replace(operand, handle=np.where(np.isnan(operand.handle), neutral, operand.handle))
    output.reject_capture(f"nancum{op} needs temporary memory, and cannot be captured into a graph")
    output.wait_for_inputs()
    made = output.allocate_output(operand.shape, operand.dtype)
    shape, strides = operand.handle[1:3]
    rows = operand.with_strides((*shape, 1), (*strides, operand.dtype.itemsize))
    engine.run(f"nan{op}", rows, (len(shape),), out=made._view_tuple(), stream=output.stream)
    return replace(operand, handle=made._view_tuple(), view=made)


def flattened(operand: Operand, output: OutputSpec) -> Operand:
    """Return the elements in C order as a vector."""
    if len(operand.shape) == 1:
        return operand
    if operand.view is None:
        array = operand.handle.reshape(-1)
        return replace(operand, handle=array, shape=array.shape)
    size, itemsize = math.prod(operand.shape), operand.dtype.itemsize
    if not rules.same_strides(operand.shape, operand.handle[2], rules.c_strides(operand.shape, itemsize)):
        output.wait_for_inputs()
        operand = output.in_c_order(operand)
    return operand.with_strides((size,), (itemsize,))


def _check_fp_status(scan: _Scan, result: np.ndarray, operand: Operand) -> None:
    """Report overflows and invalid operations as NumPy does, for results and elements on the host."""
    modes = np.geterr()
    if modes["over"] == modes["invalid"] == "ignore" or not isinstance(operand.handle, np.ndarray):
        return
    rows = np.moveaxis(result, scan.axis, 0)
    # Infinity in float64 stays infinity, or becomes NaN, until the end, unless sums are exact.
    is_double = result.dtype.itemsize >= (16 if result.dtype.kind == "c" else 8)
    some = rows[-1:] if is_double and not scan.exact else rows
    with np.errstate(all="ignore"):
        if np.isfinite(np.add.reduce(some, axis=None)):
            return
        elements = np.moveaxis(operand.handle, scan.axis, 0)[0 if scan.initial else 1 :].astype(
            result.dtype, copy=False
        )
    parts: list[tuple[np.ndarray, ...]] = [(rows[1:], rows[:-1], elements)]
    if result.dtype.kind == "c" and scan.op == "sum":
        parts = [tuple(each.real for each in parts[0]), tuple(each.imag for each in parts[0])]
    over = invalid = False
    for now, before, element in parts:
        finite = np.isfinite(before) & np.isfinite(element)
        over |= bool((finite & ~np.isfinite(now)).any())
        invalid |= bool((np.isnan(now) & ~np.isnan(before) & ~np.isnan(element)).any())
    floating.signal("accumulate", over, invalid, modes)


def with_axis(operand: Operand) -> Operand:
    """Return a number as an array of one element."""
    if operand.shape:
        return operand
    if operand.view is not None:
        return operand.with_strides((1,), (operand.dtype.itemsize,))
    operand.handle, operand.shape = operand.handle.reshape(1), (1,)
    return operand


def axis_of(axis: Any, ndim: int) -> int:
    if axis is None and ndim > 1:
        raise ValueError(f"axis: required for an array of {ndim} dimensions")
    if isinstance(axis, tuple):
        raise TypeError("axis: expected an integer, not a tuple")
    return 0 if axis is None else rules.reduced_axes(axis, ndim)[0]


def _flag(value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"include_initial: expected bool, got {type(value).__name__}")
    return bool(value)
