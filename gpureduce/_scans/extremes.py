"""The public functions: cumulative maxima and minima along an axis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.operand import as_operand
from gpureduce._device.devices import Device
from gpureduce._reduce import floating
from gpureduce._reduce.fast_path import fast_path_named
from gpureduce._reduce.options import Options
from gpureduce._reduce.output import OutputSpec
from gpureduce._scans.running import axis_of, flattened, with_axis

if TYPE_CHECKING:
    from typing import SupportsIndex

    from gpureduce._reduce.types import AnyArray, Out, Stream

_MAX, _MIN = 2, 3  # the core's numbers of the scans


@fast_path_named(floating.ignore_nonfinite)
def cummax(
    a: AnyArray,
    axis: SupportsIndex | None = None,
    out: Out | None = None,
    *,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Return the cumulative maximum along an axis, as `numpy.maximum.accumulate`.

    Parameters
    ----------
    a : array_like or device array
        Input array of any real dtype that `sum` supports. For an array on a device, the axes before `axis`,
        and the axes after it, must each be mergeable into one axis.
    axis : int, optional
        Axis along which to search. Default: the flattened array.
    out : numpy.ndarray or device array, optional
        Output array of the shape of the result; it is also returned. An array on a device must have the
        result's dtype and C order.
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

    Returns
    -------
    numpy.ndarray or DeviceArray
        Array in C order, of the shape and dtype of `a`, or one-dimensional if `axis` is None.

    Raises
    ------
    TypeError
        If the dtype is not supported, or complex.
    ValueError
        If `out` has the wrong shape.
    DeviceError
        If the device does not exist or fails.

    Notes
    -----
    NaN propagates: after the first NaN, all results are NaN. One pass over the elements.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.cummax(np.array([3, 1, 4, 1, 5]), device="sim")
    array([3, 3, 4, 4, 5])
    """
    return _extremes(_MAX, a, axis, out, Options(device=device, stream=stream, as_device=as_device))


@fast_path_named(floating.ignore_nonfinite)
def cummin(
    a: AnyArray,
    axis: SupportsIndex | None = None,
    out: Out | None = None,
    *,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Return the cumulative minimum along an axis, as `numpy.minimum.accumulate`.

    Parameters
    ----------
    a, axis, out, device, stream, as_device
        As for `cummax`.

    Returns
    -------
    numpy.ndarray or DeviceArray
        Array in C order, of the shape and dtype of `a`, or one-dimensional if `axis` is None.

    Raises
    ------
    TypeError, ValueError, DeviceError
        As for `cummax`.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.cummin([[3.0, 1.0], [2.0, 5.0]], axis=0, device="sim")
    array([[3., 1.],
           [2., 1.]])
    """
    return _extremes(_MIN, a, axis, out, Options(device=device, stream=stream, as_device=as_device))


def _extremes(op: int, a: Any, axis: Any, out: Any, options: Options) -> Any:
    operand = with_axis(as_operand(a, options.device))
    if operand.dtype.kind == "c":
        raise TypeError(f"a: expected real numbers, got {operand.dtype}")
    flatten = axis is None
    along = 0 if flatten else axis_of(axis, len(operand.shape))
    shape = (math.prod(operand.shape),) if flatten else operand.shape
    output = OutputSpec(out, options, operand, along, shape, (), False)
    if flatten:
        operand = flattened(operand, output)
    output.set_dtype(operand.dtype)
    output.wait_for_inputs()
    if 0 in operand.shape:
        return output.store(np.empty(shape, operand.dtype))
    core_out = output.core_out(operand.dtype)
    destination = (core_out, operand.kind, operand.index, output.stream)
    try:
        result = _core.scan(operand.handle, op, along, False, False, destination)
    except ValueError:
        if operand.view is None:
            raise
        copy = output.in_c_order(operand)
        result = _core.scan(copy.handle, op, along, False, False, destination)
    return output.store(None if core_out is not None else result)
