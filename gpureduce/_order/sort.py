"""The public functions: sorted elements along an axis, and the indices that sort it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.copies import scattered
from gpureduce._arrays.device_array import to_device
from gpureduce._arrays.layout import span
from gpureduce._arrays.operand import Operand
from gpureduce._device.devices import Device, device_name
from gpureduce._order.quantiles import take
from gpureduce._order.row_view import RowView
from gpureduce._reduce.options import Options
from gpureduce._reduce.output import OutputSpec
from gpureduce._rules import arguments as rules
from gpureduce._rules.arguments import c_strides
from gpureduce._rules.dtypes import dtype_name

if TYPE_CHECKING:
    from typing import SupportsIndex

    from gpureduce._reduce.types import AnyArray, Out, Stream

_INT64 = np.dtype(np.int64)
_KINDS = ("quicksort", "mergesort", "heapsort", "stable")


def sort(
    a: AnyArray,
    axis: SupportsIndex | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = True,
    descending: bool = False,
    out: Out | None = None,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Return a sorted copy of an array, as `numpy.sort`.

    Parameters
    ----------
    a : array_like or device array
        Input array of any real dtype that `sum` supports, and of any strides.
    axis : int or None
        Axis along which to sort. None sorts the flattened array.
    kind : str, optional
        Accepted for compatibility with NumPy; every sort is stable.
    order : None
        Accepted for compatibility with NumPy; there are no arrays with fields.
    stable : bool, optional
        Accepted for compatibility with NumPy; every sort is stable.
    descending : bool
        True sorts from the largest to the smallest element. Equal elements keep their order all the same.
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
        Array in C order, of the shape of `a`, or one-dimensional if `axis` is None.

    Raises
    ------
    TypeError
        If the dtype is not supported, or complex.
    ValueError
        If `out` has the wrong shape, or `kind` is none of NumPy's.
    DeviceError
        If the device does not exist or fails.

    Notes
    -----
    NaN is larger than all numbers: it is last, or first with ``descending=True``. Zeros of either sign are
    equal. A radix sort of each line; see docs/explanation/order-statistics.md.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.sort(np.array([[3, 1, 2], [4, 9, 0]]), device="sim")
    array([[1, 2, 3],
           [0, 4, 9]])
    >>> gpureduce.sort(np.array([2.0, np.nan, 5.0]), descending=True, device="sim")
    array([nan,  5.,  2.])
    """
    _check_kind(kind, order, stable)
    options = Options(device=device, stream=stream, as_device=as_device)
    return _ordered(a, axis, descending, out, options, False)


def argsort(
    a: AnyArray,
    axis: SupportsIndex | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = True,
    descending: bool = False,
    out: Out | None = None,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Return the indices that sort an array along an axis, as `numpy.argsort`.

    Parameters
    ----------
    a, axis, kind, order, stable, descending
        As for `sort`.
    out : numpy.ndarray or device array, optional
        Output array of the shape of the result; it is also returned. An array on a device must have the
        result's dtype and C order.
    device, stream, as_device
        As for `sort`.

    Returns
    -------
    numpy.ndarray or DeviceArray
        int64 array in C order, of the shape of `a`, or one-dimensional if `axis` is None. Of equal elements,
        the one with the lowest index is first, also with ``descending=True``.

    Raises
    ------
    TypeError, ValueError, DeviceError
        As for `sort`.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.argsort([3.0, 1.0, 3.0, 2.0], device="sim")
    array([1, 3, 0, 2])
    >>> gpureduce.argsort([3.0, 1.0, 3.0, 2.0], descending=True, device="sim")
    array([0, 2, 3, 1])
    """
    _check_kind(kind, order, stable)
    options = Options(device=device, stream=stream, as_device=as_device)
    return _ordered(a, axis, descending, out, options, True)


def _check_kind(kind: Any, order: Any, stable: Any) -> None:
    """Check arguments that have no effect, as NumPy does."""
    if order is not None:
        raise ValueError("order: the array has no fields")
    if kind is not None and not (isinstance(kind, str) and kind in _KINDS):
        raise ValueError(f"kind: expected one of {', '.join(_KINDS)}, got {kind!r}")
    if stable is not None:
        rules.flag(stable, "stable")


def _ordered(a: Any, axis: Any, descending: Any, out: Any, options: Options, indices: bool) -> Any:
    """Sort along an axis; return the elements, or their indices."""
    operand = take(a, options.device)
    as_device = options.as_device
    if out is None and as_device is None:
        as_device = operand.view is not None
    if operand.view is None:
        copy = to_device(operand.handle, device_name(operand.kind, operand.index))
        operand = take(copy, None)
    descending = rules.flag(descending, "descending")
    if not operand.shape and (axis is None or indices):  # as NumPy's argsort of a number
        axis = None
        operand = operand.with_strides((1,), (operand.dtype.itemsize,))
    along = None if axis is None else rules.one_axis(axis, len(operand.shape))
    axes = tuple(range(len(operand.shape))) if along is None else (along,)
    shape = (rules.reduced_count(operand.shape, axes),) if along is None else operand.shape
    dtype = _INT64 if indices else operand.dtype
    output = OutputSpec(
        out, Options(stream=options.stream, as_device=as_device), operand, axes, shape, (), False
    )
    output.set_dtype(dtype)
    on_device = output
    if not output.on_device:
        on_device = OutputSpec(
            None, Options(stream=options.stream, as_device=True), operand, axes, shape, (), False
        )
        on_device.set_dtype(dtype)
    on_device.wait_for_inputs()
    if 0 not in shape:
        _sort_lines(operand, axes, descending, on_device, indices)
    array = on_device.store(None)
    return array if output is on_device else output.store(array.numpy())


def _sort_lines(
    operand: Operand, axes: tuple[int, ...], descending: bool, output: OutputSpec, indices: bool
) -> None:
    """Write the sorted elements of the lines, or their indices, to the output."""
    lines = RowView(operand, axes, output)
    rows_shape = (lines.count, lines.length)
    written_there = (axes[-1] == len(operand.shape) - 1) and not _overlap(operand, output.view)
    pair = [
        output.view
        if wanted and written_there
        else output.allocate_output(rows_shape, _INT64 if of_indices else operand.dtype)
        for of_indices, wanted in ((False, not indices), (True, indices))
    ]
    views = [
        (each._pointer, rows_shape, c_strides(rows_shape, each.dtype.itemsize), dtype_name(each.dtype))
        for each in pair
    ]
    destination = (views[0], output.kind, output.index, output.stream)
    _core.order_topk(lines.handle, lines.length, descending, True, views[1], destination)
    if not written_there:
        lengths = (*lines.kept, lines.length)
        strides = c_strides(lengths, output.dtype.itemsize)
        if len(axes) == 1:  # the line's axis goes back from the end
            lengths, strides = (
                (*each[: axes[0]], each[-1], *each[axes[0] : -1]) for each in (lengths, strides)
            )
        scattered(pair[indices]._pointer, lengths, strides, output)


def _overlap(operand: Operand, view: Any) -> bool:
    """Return whether an array on the device shares memory with the operand."""
    low, high = span(operand.shape, operand.handle[2], operand.dtype.itemsize)
    begin = view._pointer
    end = begin + view.dtype.itemsize * max(1, int(np.prod(view.shape)))
    return operand.handle[0] + low < end and begin < operand.handle[0] + high
