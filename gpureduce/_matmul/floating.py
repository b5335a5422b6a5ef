"""Floating-point errors of nonfinite host products."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpureduce._arrays.operand import Operand, as_operand
from gpureduce._device.devices import device_name
from gpureduce._reduce.floating import extremes, real_parts, signal


def check_fp_status(result: np.ndarray, a: Operand, b: Operand) -> None:
    """Raise or warn as NumPy would for infinities and NaNs that do not come from the elements."""
    modes = np.geterr()
    if modes["over"] == modes["invalid"] == "ignore":
        return
    nan_a, infinite_a = _blame(a, -1)
    nan_b, infinite_b = _blame(b, -1 if len(b.shape) == 1 else -2)
    if len(a.shape) > 1 and len(b.shape) > 1:
        nan_a, infinite_a = nan_a[..., :, None], infinite_a[..., :, None]
        nan_b, infinite_b = nan_b[..., None, :], infinite_b[..., None, :]
    elif len(b.shape) > 1:
        nan_a, infinite_a = nan_a[..., None], infinite_a[..., None]
    values = np.stack(real_parts(np.asarray(result)))
    wrong = ~np.isfinite(values) & ~(nan_a | nan_b)
    over = bool((wrong & ~(infinite_a | infinite_b)).any())
    invalid = bool((wrong & np.isnan(values)).any())
    signal("matmul", over, invalid, modes)


def report_fp_status(result: Any, a: Any, b: Any, kind: int, index: int) -> None:
    """Report the same for a result of the fast path."""
    device = device_name(kind, index)
    check_fp_status(np.asarray(result), as_operand(a, device), as_operand(b, device, "b"))


def _blame(operand: Operand, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Return whether each row or column has a NaN, and an infinity."""
    axes = (len(operand.shape) + axis,)
    nan = infinite = np.zeros(())
    if 0 in operand.shape:  # the results are zeros, or there are none
        shape = tuple(length for d, length in enumerate(operand.shape) if d not in axes)
        return np.zeros(shape, bool), np.zeros(shape, bool)
    for high, low in extremes(operand, axes):
        nan = nan + np.isnan(high)
        infinite = infinite + np.isposinf(high) + np.isneginf(low)
    return nan > 0, infinite > 0
