"""Weighted quantiles: NumPy's method ``"inverted_cdf"`` for elements sorted on the device.

The host sums the weights in NumPy's order, so that a quantile at the boundary of an element's weight selects
the same element as NumPy.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from gpureduce._arrays.copies import gathered
from gpureduce._arrays.operand import Operand, as_operand
from gpureduce._device.devices import LEGACY_STREAM, device_name
from gpureduce._order.row_view import RowView
from gpureduce._rules import arguments as rules

METHOD = "inverted_cdf"


def take_weights(source: Any, operand: Operand, axis: Any, axes: tuple[int, ...]) -> np.ndarray:
    """Return the weights of an operand's elements, broadcast to its shape."""
    own = as_operand(source, device_name(operand.kind, operand.index), "weights")
    weights = np.asarray(own.handle) if own.view is None else _brought(own)
    shape = operand.shape
    if weights.shape != shape:
        if axis is None:
            raise TypeError("weights: axis must be specified if the shapes of a and weights differ")
        order = [
            rules.reduced_axes(one, len(shape))[0] for one in (axis if isinstance(axis, tuple) else (axis,))
        ]
        if weights.shape != tuple([shape[one] for one in order]):
            raise ValueError("weights: expected the shape of a, or that of its reduced axes")
        weights = weights.transpose(np.argsort(order))
        weights = weights.reshape([length if i in axes else 1 for i, length in enumerate(shape)])
    if weights.dtype.kind == "c" or (weights < 0).any():
        raise ValueError("weights: expected nonnegative real numbers")
    return weights


def _brought(own: Operand) -> np.ndarray:
    """Return the elements of an operand of a device."""
    source = SimpleNamespace(
        shape=own.shape,
        strides=own.handle[2],
        dtype=own.dtype,
        _pointer=own.handle[0],
        size=math.prod(own.shape),
        _kind=own.kind,
        _index=own.index,
        stream=getattr(own.view, "stream", None) or LEGACY_STREAM,
    )
    return gathered(source, own.shape).numpy()


def weighted_quantile(
    lines: RowView,
    operand: Operand,
    axes: tuple[int, ...],
    weights: np.ndarray,
    q: np.ndarray,
    leave_out: bool,
) -> tuple[np.ndarray, bool]:
    """Return the elements at quantiles, a row for each, and whether a line has only NaNs.

    A line with a NaN returns NaN, unless NaNs are ignored.
    """
    order = [*(i for i in range(len(operand.shape)) if i not in axes), *axes]
    rows_shape = (lines.count, lines.length)
    of_lines = np.broadcast_to(weights, operand.shape).transpose(order).reshape(rows_shape)
    elements, places = lines.sorted()
    quantiles = np.empty((q.size, lines.count), elements.dtype)
    numbers = np.full(lines.count, lines.length)
    if lines.has_nans:
        numbers = (elements == elements).sum(axis=1)
    for i, (line, own, at, count) in enumerate(zip(elements, of_lines, places, numbers, strict=True)):
        if leave_out and count == 0:
            quantiles[:, i] = np.nan
            continue
        line = line[:count] if leave_out else line
        ranks = _ranks(own[at[: len(line)]], q)
        quantiles[:, i] = np.nan if count < len(line) else line[ranks]
    return quantiles, leave_out and not numbers.all()


def _ranks(weights: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return which of the elements that have these weights, in their order, quantiles are."""
    with np.errstate(all="ignore"):
        share = weights.cumsum(dtype=np.float64)
        share /= share[-1]
    if np.isnan(share[-1]):
        raise ValueError("weights: must be finite and must not sum to zero along the reduced axes")
    if q.dtype.kind == "f":
        share = share.astype(q.dtype)
    share[share == 0] = -1  # no quantile is an element without weight
    return np.minimum(np.searchsorted(share, q), len(share) - 1)
