"""Reductions of groups and segments that skip NaNs by a mask: positions, medians and quantiles."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from gpureduce._arrays.operand import Operand, as_operand
from gpureduce._reduce import engine
from gpureduce._reduce.fused_ops import strides_of
from gpureduce._reduce.options import Options
from gpureduce._reduce.output import OutputSpec
from gpureduce._rules import arguments as rules
from gpureduce._segments.masked import mask_plan
from gpureduce._segments.segment_plan import HostLabels, Labels, SegmentPlan, run

_BOOL, _INT64 = np.dtype(bool), np.dtype(np.int64)


def mask_of_numbers(operand: Operand, where: Any, options: Options) -> Any:
    """Return the mask of the elements that are no NaNs and that ``where=`` chooses.

    The result is `where` itself if there are no NaNs in host memory, or none of the dtype.
    """
    if operand.dtype.kind in "biu" or 0 in operand.shape:
        return where
    output = OutputSpec(None, options, operand, 0, operand.shape, (), False)
    chosen = None if where is True else output.take_mask(where, operand)
    if operand.view is None:
        numbers = operand.handle == operand.handle
        if numbers.all():
            return where
        return numbers if chosen is None else numbers & chosen.handle
    output.wait_for_inputs()
    return _on_device(operand, chosen, output)


def _on_device(operand: Operand, chosen: Operand | None, output: OutputSpec) -> Any:
    """Return the mask of elements on a device, by reductions along an axis of length 1.

    The position of the number along that axis is 0, or -1 for a NaN. It is increased by 1, and converted to
    bool where the elements are chosen.
    """
    shape = operand.shape

    def extended(array: Operand) -> Operand:
        return array.with_strides((*shape, 1), (*strides_of(array), 0))

    def reduced(op: str, source: Operand, dtype: np.dtype, mask: Any = None, initial: Any = None) -> Any:
        made = output.allocate_output(shape, dtype)
        masked = None if mask is None else extended(mask)
        view, stream = made._view_tuple(), output.stream
        engine.run(op, extended(source), (len(shape),), masked, initial, view, stream=stream)
        return made

    positions = reduced("nanargmin", operand, _INT64)
    ones = reduced("sum", as_operand(positions, None), _INT64, initial=np.ones((), _INT64))
    return reduced("any", as_operand(ones, None), _BOOL, chosen)


def reduce_positions(
    op: str,
    operand: Operand,
    axis: int,
    cut: SegmentPlan | HostLabels | Labels,
    out: Any,
    options: Options,
    ddof: float,
    exact: Any,
    where: Any,
    result_of: str,
) -> Any:
    """Return the rows of the least or greatest numbers by a plan.

    A host result raises ValueError for a group of NaNs alone.
    """
    if rules.degrees(ddof):
        raise TypeError(f"ddof: only for var and std, not for {op}")
    plain = op.removeprefix("nan")
    mask = mask_of_numbers(operand, where, options)

    def check(rows: np.ndarray) -> None:
        if mask is where or (rows >= 0).all():
            return
        quiet = Options(device=options.device, stream=options.stream, as_device=False)
        first = run(plain, operand, axis, cut, None, quiet, result_of=result_of, masked=masked_by(where))
        of_nans = (rows < 0) & (first >= 0)
        if of_nans.any():
            place = np.argwhere(of_nans)[0][axis]
            raise ValueError(f"a: {op} of {result_of} {place}, which has no elements but NaNs")

    masked = masked_by(mask)
    return run(
        plain, operand, axis, cut, out, options, exact=exact, result_of=result_of, masked=masked, check=check
    )


def masked_by(where: Any) -> Any:
    """Return the function that applies a mask to a plan, if any."""
    return None if where is True else functools.partial(mask_plan, where=where)
