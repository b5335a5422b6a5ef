"""The public function: the largest or smallest elements, and their indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpureduce import _core
from gpureduce._arrays.device_array import to_device
from gpureduce._device.devices import Device, device_name
from gpureduce._order.quantiles import take
from gpureduce._order.row_view import RowView, copied
from gpureduce._reduce.fast_path import fast_path_named
from gpureduce._reduce.options import Options
from gpureduce._reduce.output import OutputSpec
from gpureduce._rules import arguments as rules
from gpureduce._rules.arguments import c_strides
from gpureduce._rules.dtypes import dtype_name

if TYPE_CHECKING:
    from typing import SupportsIndex

    from gpureduce._reduce.types import AnyArray, Stream

_INT64 = np.dtype(np.int64)


class TopK(NamedTuple):
    """Named tuple that `topk` returns.

    Attributes
    ----------
    values : numpy.ndarray or DeviceArray
        The elements.
    indices : numpy.ndarray or DeviceArray
        Their indices along the axis, as int64.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.topk([1.0, 5.0, 2.0], 2, device="sim").indices
    array([1, 2])
    """

    values: Any
    indices: Any


@fast_path_named(TopK)
def topk(
    a: AnyArray,
    k: SupportsIndex,
    axis: SupportsIndex = -1,
    largest: bool = True,
    sorted: bool = True,
    *,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> TopK:
    """Return the `k` largest or smallest elements along an axis and their indices, as `torch.topk`.

    Parameters
    ----------
    a : array_like or device array
        As for `median`.
    k : int
        Number of elements, from 0 to the length of the axis.
    axis : int
        Axis to search.
    largest : bool
        True returns the largest elements, False the smallest.
    sorted : bool
        True sorts the result, equal elements by index. False keeps the order of the elements in `a`, which is
        faster for a large `k`.
    device : str or Device, optional
        As for `median`.
    stream : int or object, optional
        As for `median`.
    as_device : bool, optional
        True leaves the results on the device, as two `DeviceArray`; False copies them to host memory.
        Default: True if `a` is on a device.

    Returns
    -------
    TopK
        ``values`` and ``indices``, of the shape of `a` with `k` instead of the length of `axis`.

    Raises
    ------
    TypeError
        If the dtype is not supported, or complex.
    ValueError
        If `k` is negative or larger than the length of the axis.
    DeviceError
        If the device does not exist or fails.

    Notes
    -----
    NaN is larger than all numbers, and zeros of either sign are equal. Of equal elements, those with the
    lowest indices are returned, so that results are the same in every run. The host synchronizes only if the
    result is returned to host memory. See docs/explanation/order-statistics.md.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> values, indices = gpureduce.topk(np.array([3.0, 9.0, -1.0, 9.0]), 3, device="sim")
    >>> values, indices
    (array([9., 9., 3.]), array([1, 3, 0]))
    """
    operand = take(a, device)
    stays = operand.view is not None if as_device is None else rules.flag(as_device, "as_device")
    if operand.view is None:
        copy = to_device(operand.handle, device_name(operand.kind, operand.index))
        operand = take(copy, None)
    options = Options(stream=stream, as_device=True)
    axes = rules.reduced_axes(axis, len(operand.shape))
    if axis is None or len(axes) > 1 or (operand.shape and not axes):
        raise TypeError("axis: expected one integer")
    length = operand.shape[axes[0]] if axes else 1
    count = rules.integer(k, "k")
    largest, sorted = rules.flag(largest, "largest"), rules.flag(sorted, "sorted")
    if not axes and count != 1:
        raise ValueError(f"k: expected 1, since a has no axis, got {count}")
    if not 0 <= count <= length:
        raise ValueError(f"k: expected 0 to {length}, the length of the axis, got {count}")
    result_shape = rules.kept_shape(operand.shape, axes)
    shape = (*result_shape, count) if axes else ()
    values, indices = (OutputSpec(None, options, operand, axes, shape, (), False) for _ in range(2))
    for output, dtype in ((values, operand.dtype), (indices, _INT64)):
        output.set_dtype(dtype)
        output.wait_for_inputs()
    if 0 not in (*operand.shape, count):
        lines = RowView(operand, axes, values)
        out_shape = (lines.count, count)
        ends = [
            (output.view._pointer, out_shape, c_strides(out_shape, dtype.itemsize), dtype_name(dtype))
            for output, dtype in ((values, operand.dtype), (indices, _INT64))
        ]
        destination = (ends[0], values.kind, values.index, values.stream)
        _core.order_topk(lines.handle, count, largest, sorted, ends[1], destination)
    return TopK(*(_result(output, axes, len(result_shape), stays) for output in (values, indices)))


def _result(output: OutputSpec, axes: tuple[int, ...], last: int, stays: bool) -> Any:
    """Return a result with its last axis moved back."""
    array = output.store(None)
    order = list(range(last))
    if axes and axes[0] != last:
        order.insert(axes[0], last)
        shape, strides = (tuple([each[i] for i in order]) for each in (array.shape, array.strides))
        array = copied(array._pointer, shape, strides, shape, array.dtype, output, False)
    return array if stays else array.numpy()
