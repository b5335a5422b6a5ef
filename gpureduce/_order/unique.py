"""The public function: the distinct elements of an array, and how often each occurs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpureduce._arrays.device_array import to_device
from gpureduce._device.devices import Device, device_name
from gpureduce._order.quantiles import take
from gpureduce._order.sort import sort
from gpureduce._reduce.options import Options
from gpureduce._reduce.output import OutputSpec
from gpureduce._rules import arguments as rules

if TYPE_CHECKING:
    from typing import SupportsIndex

    from gpureduce._reduce.types import AnyArray, Stream


class UniqueCounts(NamedTuple):
    """Named tuple that `unique_counts` returns.

    Attributes
    ----------
    values : numpy.ndarray or DeviceArray
        The distinct elements, in ascending order.
    counts : numpy.ndarray or DeviceArray
        How often each occurs, as int64.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.unique_counts([3, 1, 3], device="sim").counts
    array([1, 2])
    """

    values: Any
    counts: Any


def unique_counts(
    a: AnyArray,
    *,
    size: SupportsIndex | None = None,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> UniqueCounts:
    """Return the distinct elements of an array and how often each occurs, as `numpy.unique_counts`.

    Parameters
    ----------
    a : array_like or device array
        Input array of any real dtype that `sum` supports, and of any shape and strides.
    size : int, optional
        Number of results. Of more distinct elements, the first ones are returned; of fewer, the results are
        filled with the smallest element and with counts of 0, as in JAX. Default: the number of
        distinct elements.
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
        True leaves the results on the device, as two `DeviceArray`; False copies them to host memory.
        Default: True if `a` is on a device.

    Returns
    -------
    UniqueCounts
        ``values`` in ascending order, and ``counts``.

    Raises
    ------
    TypeError
        If the dtype is not supported, or complex.
    ValueError
        If `size` is negative, or not 0 for an empty array.
    DeviceError
        If the device does not exist or fails.

    Notes
    -----
    Each NaN is a value of its own, as the array API standard has it. Zeros of either sign are one value. The
    device sorts the elements, and the host finds the distinct ones among them, so that the call always
    synchronizes, and cannot be captured into a graph.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.unique_counts(np.array([2.0, 1.0, 2.0, 2.0]), device="sim")
    UniqueCounts(values=array([1., 2.]), counts=array([1, 3]))
    """
    operand = take(a, device)
    stays = operand.view is not None if as_device is None else rules.flag(as_device, "as_device")
    if operand.view is not None:
        options = Options(stream=stream, as_device=True)
        output = OutputSpec(None, options, operand, None, (), (), False)
        output.reject_capture("unique_counts finishes on the host, and cannot be captured into a graph")
    values = np.asarray(sort(a, None, device=device, stream=stream, as_device=False))
    values, counts = _distinct(values, None if size is None else rules.integer(size, "size"))
    if not stays:
        return UniqueCounts(values, counts)
    where = device_name(operand.kind, operand.index)
    return UniqueCounts(to_device(values, where), to_device(counts, where))


def _distinct(values: np.ndarray, size: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct elements of a sorted vector, and their counts."""
    first = np.ones(values.shape, bool)
    first[1:] = values[1:] != values[:-1]
    starts = np.flatnonzero(first)
    counts = np.diff(starts, append=values.size).astype(np.int64)
    values = values[starts]
    if size is None:
        return values, counts
    if size < 0 or (size > 0 and values.size == 0):
        expected = "0 or more" if values.size else "0 for an array without elements"
        raise ValueError(f"size: expected {expected}, got {size}")
    filled = np.full(size, values[0] if values.size else 0, values.dtype)
    filled[: values.size] = values[:size]
    padded = np.zeros(size, np.int64)
    padded[: counts.size] = counts[:size]
    return filled, padded
