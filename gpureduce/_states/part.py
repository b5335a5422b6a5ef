"""The state of elements that are in one array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce._arrays.operand import Operand, intake
from gpureduce._device.devices import text
from gpureduce._reduce import engine
from gpureduce._reduce import states as exact
from gpureduce._reduce.options import Options
from gpureduce._reduce.target import Target
from gpureduce._rules import arguments as rules
from gpureduce._rules import dtypes
from gpureduce._states import at_once, made
from gpureduce._states import call as calls
from gpureduce._states.call import Call, Where
from gpureduce._states.operators import INDEX, TRUTH, find
from gpureduce._states.state import State, nothing

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

_FLOAT64 = np.dtype(np.float64)
_PLACES = ("argmin", "argmax")


def state_of(
    a: Any,
    op: str,
    axis: Any = None,
    b: Any = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    offset: Any = 0,
    within: Any = None,
    device: Any = None,
    stream: Any = None,
    where: Any = True,
    as_device: bool = False,
) -> State:
    """Return the state of elements that are in one array; the arguments are those of `partial`."""
    find(op)
    options = Options(device=device, stream=stream, as_device=bool(as_device))
    if (b is not None) != (op == "dot"):
        raise TypeError("b: the other vector of a dot product" + (" is missing" if b is None else ""))
    if op == "dot":
        if where is not True:
            raise TypeError("where: is not for dot")
        state = _of_products(a, b, axis, dtype, options)
        return state._reshaped((1,)) if keepdims else state
    if dtype is not None and op not in ("sum", "mean", "var", "std", "prod"):
        raise TypeError(f"dtype: is not for {op}")
    operand = intake(a, device)
    ndim = len(operand.shape)
    axes = rules.single_axis(axis, ndim) if op in _PLACES else rules.reduced_axes(axis, ndim)
    target = Target(None, options, operand, axis, operand.shape, axes, False)
    mask = None if where is True else target.take_mask(where, operand)
    if mask is not None and op in ("var", "std") and operand.view is not None:
        raise TypeError(f"where: {op} of a device array takes none; var and moments do")
    target.follow_others()
    held, result, cast, way = _ways(op, operand, dtype)
    call = Call(op, way, operand.cast(cast), axes, target, mask, Where(offset, within))
    state = _made(call, nothing(op, held, result, call.shape))
    return state._reshaped(rules.kept_shape(operand.shape, axes, True)) if keepdims else state


def state_at_once(a: Any, op: str, b: Any) -> State | None:
    """Return the state of all elements of an array on a device, where the core makes it by itself."""
    shape = getattr(a, "shape", None)
    if isinstance(a, np.ndarray) or not isinstance(shape, tuple):
        return None
    return at_once.state_of((a,), op, None if b is None else (b,), tuple(shape))


def _of_products(a: Any, b: Any, axis: Any, dtype: Any, options: Options) -> State:
    if axis is not None or dtype is not None:
        raise TypeError("dot: takes two vectors, without axis= or dtype=")
    left, right, target = engine.vectors(a, b, None, options)
    held = target.dtype
    if held.kind in "biu":
        raise TypeError(f"dot: exact products are of floating-point and complex numbers, not of {held}")
    target.follow_others()
    call = Call("dot", calls.PRODUCTS, left, (0,), target, right, Where(0, None))
    return _made(call, nothing("dot", held, held, ()))


def _made(call: Call, state: State) -> State:
    """Return the state that a call makes, where the caller wants it; one of nothing is `state`."""
    on_device = call.target.on_device
    if call.elements == 0 or 0 in state.shape:
        return state.to_device(text(call.target.kind, call.target.index)) if on_device else state
    if on_device:
        return made.state_of(call, state)
    state._fields.update(calls.fields_of(call, state._held, state._kinds()))
    return state


def _ways(op: str, operand: Operand, dtype: DTypeLike | None) -> tuple[np.dtype, np.dtype, np.dtype, int]:
    """Return the dtypes of what is held, of results and of what elements are cast to; how fields are made."""
    if op in ("sum", "mean", "prod"):
        return _growing(op, operand, dtype)
    if op in ("var", "std"):
        held = _FLOAT64 if dtype is None and operand.dtype.kind in "biu" else operand.dtype
        held = held if dtype is None else dtypes.loop_dtype("sum", held, dtype, None)
        if held.kind in "biu":
            raise TypeError(f"dtype: {op} is a fraction, which {held} does not hold")
        return held, exact.real(held), held, calls.SPREAD
    if op.startswith("bitwise") and operand.dtype.kind not in "biu":
        raise TypeError(f"a: {op} takes bool and integers, not {operand.dtype}")
    if op in _PLACES:
        return operand.dtype, INDEX, operand.dtype, calls.PLACE
    held = {"any": TRUTH, "all": TRUTH, "count_nonzero": INDEX}.get(op, operand.dtype)
    return held, held, operand.dtype, calls.VALUE


def _growing(op: str, operand: Operand, dtype: DTypeLike | None) -> tuple[np.dtype, np.dtype, np.dtype, int]:
    """Return the same for operators whose results may be larger than the elements."""
    integers = operand.dtype.kind in "biu"
    if op == "mean" and dtype is None and integers:
        dtype = _FLOAT64
    loop = dtypes.native(
        dtypes.loop_dtype("prod" if op == "prod" else "sum", operand.rule_dtype, dtype, None), "dtype"
    )
    if op == "prod":
        # Integers multiply modulo 2^64, and then modulo the smaller power.
        whole = integers and loop.kind in "iu"
        return loop, loop, operand.dtype if whole else loop, calls.VALUE
    if op == "mean" and loop.kind in "biu":
        raise TypeError(f"dtype: mean is a fraction, which {loop} does not hold")
    if integers and (loop.kind in "iu" or (op == "mean" and loop == _FLOAT64)):
        return INDEX, loop, operand.dtype, calls.WHOLE
    if loop.kind in "biu":
        raise TypeError(f"dtype: there is no exact sum of {operand.dtype} in {loop}")
    return loop, loop, loop, calls.SUMS
