"""The plan of a state's fields: their dtypes, and how they are computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpureduce._arrays.operand import Operand
from gpureduce._reduce import exact_states
from gpureduce._rules import dtypes
from gpureduce._states.operators import INDEX, POSITION_OPS, TRUTH

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

_FLOAT64 = np.dtype(np.float64)
# How the fields of a state are computed: an index of the functions of build.py.
SUMS, PRODUCTS, SQUARES, INTEGER_SUMS, POSITIONS, VALUES = range(6)


class FieldPlan(NamedTuple):
    """The dtypes of a state's elements, of its result and of the operand's cast; how fields are computed."""

    element_dtype: np.dtype
    result_dtype: np.dtype
    cast_dtype: np.dtype
    method: int


def plan_fields(op: str, operand: Operand, dtype: DTypeLike | None) -> FieldPlan:
    """Return the dtypes of a state, and how its fields are computed."""
    if op in ("sum", "mean", "prod"):
        return _plan_sums(op, operand, dtype)
    if op in ("var", "std"):
        element_dtype = _FLOAT64 if dtype is None and operand.dtype.kind in "biu" else operand.dtype
        if dtype is not None:
            requested = dtypes.loop_dtype("sum", element_dtype, dtype, None)
            element_dtype = dtypes.variance_elements(element_dtype, requested)
        if element_dtype.kind in "biu":
            raise TypeError(f"dtype: {op} needs a floating-point dtype, got {element_dtype}")
        return FieldPlan(element_dtype, exact_states.real(element_dtype), element_dtype, SQUARES)
    if op.startswith("bitwise") and operand.dtype.kind not in "biu":
        raise TypeError(f"a: {op} takes bool and integers, not {operand.dtype}")
    if op in POSITION_OPS:
        return FieldPlan(operand.dtype, INDEX, operand.dtype, POSITIONS)
    element_dtype = {"any": TRUTH, "all": TRUTH, "count_nonzero": INDEX}.get(op, operand.dtype)
    return FieldPlan(element_dtype, element_dtype, operand.dtype, VALUES)


def _plan_sums(op: str, operand: Operand, dtype: DTypeLike | None) -> FieldPlan:
    """Return the plan of sums, means and products, whose results may be larger than their elements."""
    integers = operand.dtype.kind in "biu"
    if op == "mean" and dtype is None and integers:
        dtype = _FLOAT64
    loop = dtypes.native(
        dtypes.loop_dtype("prod" if op == "prod" else "sum", operand.rule_dtype, dtype, None), "dtype"
    )
    if op == "prod":
        # Integers multiply modulo 2^64, and then modulo the smaller power.
        wraps = integers and loop.kind in "iu"
        return FieldPlan(loop, loop, operand.dtype if wraps else loop, VALUES)
    if op == "mean" and loop.kind in "biu":
        raise TypeError(f"dtype: mean needs a floating-point dtype, got {loop}")
    if integers and (loop.kind in "iu" or (op == "mean" and loop == _FLOAT64)):
        return FieldPlan(INDEX, loop, operand.dtype, INTEGER_SUMS)
    if loop.kind in "biu":
        raise TypeError(f"dtype: exact sums of {operand.dtype} cannot be returned as {loop}")
    return FieldPlan(loop, loop, loop, SUMS)
