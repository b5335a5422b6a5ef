"""The public function that counts integers, or adds up weights by them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce._arrays.operand import Operand, as_operand, as_operand_like
from gpureduce._device.devices import Device
from gpureduce._reduce import engine
from gpureduce._reduce.fast_path import core_callable, fast_path_named
from gpureduce._reduce.options import Options
from gpureduce._reduce.output import OutputSpec
from gpureduce._rules import arguments as rules
from gpureduce._segments.segment_plan import Labels, ones_like
from gpureduce._segments.segments import check_groups, cut_by_host, reduce_groups

if TYPE_CHECKING:
    from typing import SupportsIndex

    from gpureduce._reduce.types import AnyArray, Stream

_count = core_callable("bincount", "x weights", "size device stream as_device", lambda *_: None)
_FLOAT64 = np.dtype(np.float64)


@fast_path_named(lambda *_: None)
def bincount(
    x: AnyArray,
    weights: AnyArray | None = None,
    minlength: SupportsIndex = 0,
    *,
    size: SupportsIndex | None = None,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Count how often each nonnegative integer occurs, or add up the weights of its occurrences.

    Parameters
    ----------
    x : array_like or device array
        Nonnegative integers, of one dimension.
    weights : array_like or device array, optional
        Real weight of each integer: in host memory if `x` is, else on the device of `x`.
    minlength : int
        Smallest number of bins.
    size : int, optional
        Number of bins, at least `minlength`. Integers that are negative, or have no bin, are not counted.
        Default: one more than the largest integer.
    device, stream, as_device
        As for `segment_reduce`; the default is the device of `x`.

    Returns
    -------
    numpy.ndarray or DeviceArray
        One entry for each integer from 0 to the largest one in `x`, or more by `minlength`. Counts are int64.
        Sums of weights are float64; of weights on a device in another floating-point dtype they have that
        dtype, of integers int64 or uint64.

    Raises
    ------
    TypeError
        If `x` has no integers, or `weights` are complex.
    ValueError
        If `x` has more dimensions than one, or without `size` negative integers, or `weights` has another
        shape, or `size` is less than `minlength`.
    DeviceError
        If the device does not exist or fails.

    Notes
    -----
    As `numpy.bincount`, but sums of weights are exact and rounded once, in any order of the rows. The number
    of bins depends on the integers: for those on a device the call synchronizes, and cannot be captured.
    With `size` it does not wait, and can be.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.bincount([0, 1, 1, 3], device="sim")
    array([1, 2, 0, 1])
    >>> gpureduce.bincount([0, 1, 1], weights=[0.5, 1e16, -1e16], device="sim")
    array([0.5, 0. ])
    """
    options = Options(device=device, stream=stream, as_device=as_device)
    numbers = as_operand(x, device, "x")
    if len(numbers.shape) != 1:
        raise ValueError(f"x: expected one dimension, got shape {numbers.shape}")
    if numbers.shape == (0,) and numbers.view is None:
        numbers = replace(numbers, handle=np.zeros(0, np.int64), dtype=np.dtype(np.int64), numpy_dtype=None)
    if numbers.dtype.kind not in "iu":
        raise TypeError(f"x: expected integers, got {numbers.dtype}")
    bins = rules.integer(minlength, "minlength")
    if bins < 0:
        raise ValueError(f"minlength: expected 0 or more, got {bins}")
    bins, most = _bins(numbers, check_groups("minlength", bins), size)
    if size is not None and numbers.view is None:
        counted = (numbers.handle >= 0) & (numbers.handle < bins)
        labels = np.where(counted, numbers.handle, 0).astype(np.int64)
        numbers = replace(numbers, handle=np.where(counted, labels, -1), dtype=labels.dtype, numpy_dtype=None)
    if numbers.view is not None:
        result = _count(x, weights, size=bins, device=device, stream=stream, as_device=as_device)
        if result is not NotImplemented:
            return result
    elements = ones_like(numbers) if weights is None else _weights(weights, numbers)
    name = "size" if size is not None else "x" if bins == most + 1 else "minlength"
    cut = Labels(numbers, bins) if numbers.view is not None else cut_by_host(numbers, bins, elements)
    return reduce_groups("sum", elements, 0, cut, None, options, name=name)


def _bins(numbers: Operand, minlength: int, size: Any) -> tuple[int, int]:
    """Return the number of bins, and the greatest integer: -1 if it does not matter."""
    if size is not None:
        bins = rules.integer(size, "size")
        if bins < minlength:
            raise ValueError(f"size: expected {minlength} or more, got {bins}")
        return check_groups("size", bins), -1
    least, most = _ends(numbers)
    if least < 0:
        raise ValueError(f"x: expected nonnegative integers, got {least}")
    return max(minlength, check_groups("x", most + 1)), most


def _ends(numbers: Operand) -> tuple[int, int]:
    """Return the least and the greatest integer; 0 and -1 if there are none."""
    if not numbers.shape[0]:
        return 0, -1
    if numbers.view is None:
        return int(numbers.handle.min()), int(numbers.handle.max())
    output = OutputSpec(None, Options(as_device=False), numbers, None, numbers.shape, (0,), False)
    output.wait_for_inputs()
    least, most = (engine.run(op, numbers, (0,), stream=output.stream) for op in ("min", "max"))
    assert least is not None and most is not None
    return int(least), int(most)


def _weights(weights: Any, numbers: Operand) -> Operand:
    """Convert weights."""
    operand = as_operand_like(weights, numbers, "weights")
    if operand.dtype.kind == "c":
        raise TypeError(f"weights: expected real numbers, got {operand.dtype}")
    if operand.shape != numbers.shape:
        raise ValueError(f"weights: expected shape {numbers.shape}, as x, got {operand.shape}")
    if (operand.view is None) != (numbers.view is None):
        raise TypeError("weights: expected an array where x is, got one on a device and one in host memory")
    return operand.cast(_FLOAT64) if operand.view is None else operand
