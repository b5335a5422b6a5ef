"""Computes states: `partial`, the plan of a state's fields, and fields on the host and on a device."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpureduce import _core
from gpureduce._arrays.device_array import to_device
from gpureduce._arrays.operand import Operand, as_operand
from gpureduce._device.devices import device_name
from gpureduce._reduce import engine, exact_states, floating
from gpureduce._reduce import exact as exact_sums
from gpureduce._reduce.multi_device import multi_device
from gpureduce._reduce.options import Options
from gpureduce._reduce.output import FROM_HOST, OutputSpec
from gpureduce._rules import arguments as rules
from gpureduce._rules import dtypes
from gpureduce._rules.arguments import flag, integer
from gpureduce._states.device_state import WORD, DeviceState
from gpureduce._states.field_plan import (
    INTEGER_SUMS,
    POSITIONS,
    PRODUCTS,
    SQUARES,
    SUMS,
    plan_fields,
)
from gpureduce._states.operators import INDEX, POSITION_OPS, Fields, find
from gpureduce._states.single_launch import single_launch_state
from gpureduce._states.state import State, empty_state

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import DTypeLike

    from gpureduce._reduce.types import AnyArray, Devices, Stream

_CASTING = ("sum", "mean", "var", "std", "prod")  # operators that take dtype=
# Bytes of a piece of a host array that is summed: on CUDA as with `exact=True`, on the simulator a cache.
_PIECE_BYTES = {_core.CUDA: exact_sums.CHUNK_BYTES, _core.SIM: 1 << 23}


@multi_device
def partial(
    a: AnyArray,
    op: str,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    *,
    b: AnyArray | None = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    where: AnyArray | bool = True,
    offset: SupportsIndex | tuple[SupportsIndex, ...] = 0,
    within: tuple[SupportsIndex, ...] | None = None,
    labels: AnyArray | None = None,
    num_groups: SupportsIndex | None = None,
    device: Devices = None,
    stream: Stream | None = None,
    as_device: bool = False,
) -> State:
    """Reduce part of an array to a state, which merges with the states of the other parts.

    Parameters
    ----------
    a : array_like, device array or Sharded
        Part of the array, as for `sum`. It may be empty.
    op : str
        ``"sum"``, ``"mean"``, ``"dot"``, ``"var"``, ``"std"``, ``"min"``, ``"max"``, ``"argmin"``,
        ``"argmax"``, ``"any"``, ``"all"``, ``"count_nonzero"``, ``"prod"``, ``"bitwise_and"``,
        ``"bitwise_or"`` or ``"bitwise_xor"``.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce; the state then has one entry per result. Default: all axes.
    b : array_like, device array or Sharded, optional
        Same part of the second vector, for ``"dot"``.
    dtype : dtype_like, optional
        Data type to which elements are cast first, as for `sum`; for ``"sum"``, ``"mean"``, ``"var"``,
        ``"std"`` and ``"prod"``.
    keepdims : bool
        True keeps the reduced axes with length one.
    where : array_like or device array of bool
        Elements to include, as for `sum`. Not for ``"dot"``, and not with several devices.
    offset : int or tuple of int
        Position of the first element of the part in the whole array, for ``"argmin"`` and ``"argmax"``: an
        index, which is added to positions in the part, or with `within` one index for each axis.
    within : tuple of int, optional
        Shape of the whole array, if positions are indices into the flattened whole.
    labels : array_like or device array, optional
        Group of each row along `axis`, as for `group_reduce`: the state has one entry per group along it. For
        all operators but ``"dot"``, on one device. The call synchronizes; ``"var"`` and ``"std"`` copy `a` to
        the host. Positions of ``"argmin"`` and ``"argmax"`` are rows, counted from `offset`.
    num_groups : int, optional
        Number of groups, with `labels`.
    device : str, Device or list of them, optional
        As for `sum`. Several devices reduce pieces of the array, whose states are merged.
    stream : int or object, optional
        As for `sum`. The call synchronizes, unless ``as_device=True``.
    as_device : bool
        True leaves the state on the device (the first of several), where it can be merged. The call then does
        not synchronize with the host, and can be captured into a graph.

    Returns
    -------
    State

    Notes
    -----
    States of ``"sum"``, ``"mean"`` and ``"dot"`` are exact: their result is bitwise that of ``sum(...,
    exact=True)``, for any division into parts, any order and any devices. States of ``"var"`` and ``"std"``
    are exact, too: the result is rounded once, from the exact sum and sum of squares; integers are converted
    to float64 first, as in NumPy. Products of floats are rounded whenever states are merged, so that they
    depend on the parts.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> a = np.array([3.0, 9.0, 1.0, 9.0])
    >>> first = gpureduce.partial(a[:2], "argmax", device="sim")
    >>> second = gpureduce.partial(a[2:], "argmax", offset=2, device="sim")
    >>> (second + first).result()
    np.int64(1)
    >>> gpureduce.partial(a, "mean", where=a < 9, device="sim").result()
    np.float64(2.0)
    """
    if labels is not None or num_groups is not None:
        return _group_state(
            a,
            op,
            axis,
            dtype,
            labels,
            num_groups,
            device,
            stream,
            as_device,
            {
                "b": (b, None),
                "keepdims": (keepdims, False),
                "where": (where, True),
                "within": (within, None),
            },
            offset,
        )
    shape = getattr(a, "shape", None)
    if is_default_call(axis, dtype, keepdims, offset, within, None, stream, where, as_device) and isinstance(
        shape, tuple
    ):
        state = single_launch_state((a,), op, None if b is None else (b,), tuple(shape), 0, device)
        if state is not None:
            return state
    keepdims, as_device = flag(keepdims, "keepdims"), as_device is not None and flag(as_device, "as_device")
    return build_state(a, op, axis, b, dtype, keepdims, offset, within, device, stream, where, as_device)


def _group_state(
    a: Any,
    op: str,
    axis: Any,
    dtype: Any,
    labels: Any,
    num_groups: Any,
    device: Any,
    stream: Any,
    as_device: Any,
    others: dict[str, tuple[Any, Any]],
    offset: Any,
) -> State:
    """Return the state of groups; `others` are arguments that such states do not have, and their defaults."""
    from gpureduce._states import groups  # few states are of groups

    for name, given in (("labels", labels), ("num_groups", num_groups)):
        if given is None:
            raise TypeError(f"{name}: missing; states of groups need labels= and num_groups=")
    for name, (given, default) in others.items():
        if given is not default and not (isinstance(given, int) and given == default):
            raise TypeError(f"{name}: not supported with labels=")
    find(op)
    if dtype is not None and op not in _CASTING:
        raise TypeError(f"dtype: not supported for {op}")
    first = integer(offset, "offset", "an integer with labels=")
    if first < 0 or (first and op not in POSITION_OPS):
        raise ValueError(
            f"offset: expected 0{' or more' if op in POSITION_OPS else f' for {op}'}, got {first}"
        )
    as_device = as_device is not None and flag(as_device, "as_device")
    return groups.group_state(a, op, axis, labels, num_groups, dtype, device, stream, as_device, first)


def is_default_call(
    axis: Any,
    dtype: Any,
    keepdims: bool,
    offset: Any,
    within: Any,
    device: Any,
    stream: Any,
    where: Any,
    as_device: bool,
) -> bool:
    """Return whether all arguments of `partial` after `op` but `b` have their defaults."""
    stays = as_device is not False and as_device is not None
    if where is not True or keepdims is not False or stays or not (isinstance(offset, int) and offset == 0):
        return False
    return axis is None and dtype is None and within is None and device is None and stream is None


def build_state(
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
    """Return the state of the elements of one array; takes the arguments of `partial`."""
    find(op)
    options = Options(device=device, stream=stream, as_device=bool(as_device))
    if (b is not None) != (op == "dot"):
        raise TypeError("b: missing for dot" if b is None else f"b: only for dot, not for {op}")
    if op == "dot":
        if where is not True:
            raise TypeError("where: not supported for dot")
        state = _build_products(a, b, axis, dtype, options)
        return state._reshaped((1,)) if keepdims else state
    if dtype is not None and op not in _CASTING:
        raise TypeError(f"dtype: not supported for {op}")
    operand = as_operand(a, device)
    ndim = len(operand.shape)
    axes = rules.single_axis(axis, ndim) if op in POSITION_OPS else rules.reduced_axes(axis, ndim)
    output = OutputSpec(None, options, operand, axis, operand.shape, axes, False)
    mask = None if where is True else output.take_mask(where, operand)
    if mask is not None and op in ("var", "std") and operand.view is not None:
        raise TypeError(f"where: not supported for {op} of a device array; use var or moments")
    output.wait_for_inputs()
    plan = plan_fields(op, operand, dtype)
    cast_dtype = plan.cast_dtype
    cast = operand.cast(cast_dtype) if dtype is None else output.cast(operand, cast_dtype)
    call = StateCall(op, plan.method, cast, axes, output, mask, PartLocation(offset, within))
    state = _build(call, empty_state(op, plan.element_dtype, plan.result_dtype, call.shape))
    return state._reshaped(rules.kept_shape(operand.shape, axes, True)) if keepdims else state


def _build_products(a: Any, b: Any, axis: Any, dtype: Any, options: Options) -> State:
    if axis is not None or dtype is not None:
        raise TypeError("dot: axis= and dtype= are not supported")
    left, right, output = engine.vectors(a, b, None, options)
    element_dtype = output.dtype
    if element_dtype.kind in "biu":
        raise TypeError(f"dot: exact=True requires floating-point or complex numbers, got {element_dtype}")
    output.wait_for_inputs()
    call = StateCall("dot", PRODUCTS, left, (0,), output, right, PartLocation(0, None))
    return _build(call, empty_state("dot", element_dtype, element_dtype, ()))


def _build(call: StateCall, state: State) -> State:
    """Return the state of a call, on the host or on a device; `state` is the state of no elements."""
    on_device = call.output.on_device
    if call.elements == 0 or 0 in state.shape:
        return state.to_device(device_name(call.output.kind, call.output.index)) if on_device else state
    if on_device:
        return _build_on_device(call, state)
    state._fields.update(fields_of(call, state._element_dtype, state._kinds()))
    return state


# Arguments of a computation


class StateCall(NamedTuple):
    """A reduction of an operand that is already cast; of a dot product `mask` is the second vector."""

    op: str
    method: int
    operand: Operand
    axes: tuple[int, ...]
    output: OutputSpec
    mask: Operand | None
    location: PartLocation

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the results."""
        return rules.kept_shape(self.operand.shape, self.axes)

    @property
    def elements(self) -> int:
        """The number of elements per result, without a mask."""
        return rules.reduced_count(self.operand.shape, self.axes)

    def run(self, op: str, operand: Operand | None = None) -> np.ndarray:
        """Return the results in host memory."""
        operand = self.operand if operand is None else operand
        result = engine.run(op, operand, self.axes, self.mask, stream=self.output.stream)
        assert result is not None
        return np.ascontiguousarray(result).reshape(self.shape)

    def counts(self) -> Any:
        """Return the number of elements of each result."""
        if self.mask is None:
            return self.elements
        counts: Any = engine.run("count_nonzero", self.mask, self.axes, stream=self.output.stream)
        return counts.reshape(self.shape)

    def exact_states(self, op: str, operand: Operand, second: Any, out: tuple | None = None) -> Any:
        """Return the states of exact sums; with `out`, they are written to the device."""
        device = (operand.kind, operand.index, self.output.stream)
        if out is not None:
            return _core.exact_states(operand.handle, op, self.axes, second, *device, out)
        words = _core.exact_states(operand.handle, op, self.axes, second, *device)
        return words.reshape(self.shape + words.shape[1:])

    def masked_on_device(self) -> StateCall:
        """Return the same call of elements that are copied to the device once, without a mask.

        Masked elements become -0 on the device, which changes no sum, not even the sign of a zero.
        """
        operand = self.operand
        if self.mask is not None:
            zero = np.zeros((), operand.dtype)
            operand = replace(operand, handle=np.where(self.mask.handle, operand.handle, -zero))
        return self._replace(operand=operand, mask=None).on_device()

    def on_device(self) -> StateCall:
        """Return the same call of elements in device memory."""
        operand, output = self.operand, self.output
        if operand.view is not None:
            return self
        output.reject_capture(FROM_HOST)
        operand = as_operand(to_device(operand.handle, device_name(operand.kind, operand.index)), None)
        output.reads.append(operand)  # its memory is freed after the work
        return self._replace(operand=operand)


def _integers(values: Any, name: str) -> tuple[int, ...]:
    try:
        return tuple(integer(value, name, "a tuple of integers") for value in values)
    except TypeError:
        raise TypeError(f"{name}: expected a tuple of integers, got {type(values).__name__}") from None


class PartLocation:
    """The position of a part in the whole array: ``offset=`` and ``within=`` of `partial`."""

    def __init__(self, offset: Any, within: Any) -> None:
        self.offset = _integers(offset, "offset") if isinstance(offset, tuple) else integer(offset, "offset")
        self.within = None if within is None else _integers(within, "within")

    def start(self) -> int:
        """Return the first position of a part of all elements."""
        return integer(self.offset, "offset", "an integer, as within is None")

    def starts(self, shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
        """Return an index for each axis of a part that lies within something."""
        starts = self.offset if isinstance(self.offset, tuple) else (self.offset,) * len(shape)
        if len(axes) != len(shape) or len(self.within or ()) != len(shape) or len(starts) != len(shape):
            raise ValueError("within: expected one length per axis, with all axes reduced")
        return starts

    def move(self, index: np.ndarray, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
        """Convert positions in a part to positions in the whole."""
        if self.within is None:
            index += self.start()
        else:
            starts = self.starts(shape, axes)
            at = np.unravel_index(int(index), shape)
            index[...] = np.ravel_multi_index(
                tuple(int(one) + start for one, start in zip(at, starts, strict=True)),
                self.within,
            )
        if (index < 0).any():
            raise ValueError("offset: expected 0 or more")

    def steps(self, call: StateCall) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        """Return the location for a kernel: start, lengths of the part, and their strides in the whole."""
        if self.within is None:
            start = self.start()
            if start < 0:
                raise ValueError("offset: expected 0 or more")
            return start, (call.elements,), (1,)
        lengths, whole = call.operand.shape, self.within
        starts = self.starts(lengths, call.axes)
        for begin, length, most in zip(starts, lengths, whole, strict=True):
            if begin < 0 or begin + length > most:
                raise ValueError(f"within: the part, from {begin} to {begin + length}, is beyond {most}")
        strides = rules.c_strides(whole, 1)
        return sum(map(operator.mul, starts, strides)), lengths, strides


# Fields in host memory


def _pieces(call: StateCall) -> Iterator[StateCall]:
    """Yield pieces of a host array that is summed as a whole, so that it need not fit into device memory."""
    operand, mask = call.operand, call.mask
    arrays = [each.handle for each in (operand, mask) if each is not None]
    max_bytes = _PIECE_BYTES[operand.kind]
    if (
        call.method not in (SUMS, PRODUCTS, SQUARES) or call.shape
        or math.prod(operand.shape) * operand.dtype.itemsize <= max_bytes
        or not all(isinstance(each, np.ndarray) and each.flags.c_contiguous for each in arrays)
    ):  # fmt: skip
        yield call
        return
    for piece, *others in exact_sums.pieces_of(arrays, max_bytes):
        other = None if mask is None else replace(mask, handle=others[0], shape=piece.shape)
        yield call._replace(operand=replace(operand, handle=piece, shape=piece.shape), mask=other, axes=(0,))


def fields_of(call: StateCall, element_dtype: np.dtype, names: Any) -> Fields:
    """Return the fields of a state in host memory; `names` are those that the state has."""
    first, *others = _pieces(call)
    fields = _ON_HOST[call.method](first, element_dtype)
    for piece in others:
        for name, field in _ON_HOST[call.method](piece, element_dtype).items():
            exact_states.merge(fields[name], field)
    if "count" in names:
        fields["count"] = np.full(call.shape, call.counts(), np.uint64)
        # Fields of no elements are zero, so that equal states have equal bytes.
        is_empty = fields["count"] == 0
        for name, field in fields.items():
            if name != "count":
                field[is_empty] = 0
    return fields


def _host_sums(call: StateCall, element_dtype: np.dtype) -> Fields:
    return {"sum": call.exact_states("sum", call.operand, None if call.mask is None else call.mask.handle)}


def _host_products(call: StateCall, element_dtype: np.dtype) -> Fields:
    assert call.mask is not None
    return {"sum": call.exact_states("dot", call.operand, call.mask.handle)}


def _host_squares(call: StateCall, element_dtype: np.dtype) -> Fields:
    """Return sums and sums of squares."""
    read_count = len(call.output.reads)
    each = call.masked_on_device()
    first, *others = [each.exact_states("dot", part, True) for part in floating.parts_of(each.operand)]
    for other in others:
        exact_states.merge(first, other)
    fields = {**_host_sums(each, element_dtype), "squares": first}
    del call.output.reads[
        read_count:
    ]  # the states are here: a piece's memory goes back before the next is copied
    return fields


def _host_integer_sums(call: StateCall, element_dtype: np.dtype) -> Fields:
    """Return sums of integers; 64-bit integers are summed as two halves, each in 64 bits."""
    if call.operand.dtype.itemsize < 8:
        return {"sum": exact_states.of_integers(call.run("sum"))}
    low, high = (call.run("sum", half) for half in exact_sums.split_int64(call.operand))
    total = exact_states.of_integers(low)
    exact_states.merge(total, exact_states.of_integers(high, 1))
    return {"sum": total}


def _host_positions(call: StateCall, element_dtype: np.dtype) -> Fields:
    """Return positions, 0 where the mask has no element, and the elements at these positions."""
    operand, axes = call.operand, call.axes
    index = call.run(call.op)
    index[index < 0] = 0
    if operand.view is not None:
        value = call.run("min" if call.op == "argmin" else "max")
    elif len(axes) == len(operand.shape):
        where = np.unravel_index(int(index), operand.shape)
        value = np.array(operand.handle[where], operand.dtype)
    else:
        taken = np.take_along_axis(operand.handle, np.expand_dims(index, axes[0]), axes[0])
        value = np.ascontiguousarray(taken.reshape(index.shape))
    call.location.move(index, operand.shape, axes)
    return {"value": value, "index": index}


def _host_values(call: StateCall, element_dtype: np.dtype) -> Fields:
    return {"value": call.run(call.op).astype(element_dtype, copy=False)}


_ON_HOST = (
    _host_sums,
    _host_products,
    _host_squares,
    _host_integer_sums,
    _host_positions,
    _host_values,
)


# Fields in device memory

_NO_INPUT: tuple[Any, Any] = (None, None)


def _build_on_device(call: StateCall, like: State) -> State:
    """Return the state of a call on its device; all work is enqueued into the stream, nothing waits."""
    device_state = DeviceState(like.op, like._element_dtype, like.shape)
    device_state.memory = memory = call.output.allocate_output((device_state.words,), WORD)
    inputs = _ON_DEVICE[call.method](call, device_state)
    counted = "count" in device_state.kinds
    if counted and call.mask is not None and call.method != PRODUCTS:
        counts = device_state.view("count", INDEX)
        _reduce_into(call._replace(mask=None), "count_nonzero", counts, call.mask)
    steps = call.location.steps(call) if call.method == POSITIONS else (0, (), ())
    elements = call.elements if call.mask is None else -1
    if counted or "sum" in device_state.kinds:
        first, high = inputs
        start, extents, strides = steps
        input_fields = {
            "first": first,
            "high": high,
            "integer_sums": call.method == INTEGER_SUMS,
            "elements": elements,
            "start": start,
            "extents": extents,
            "strides": strides,
        }
        layout = device_state.layout._asdict()
        _core.state_begin(memory, layout, input_fields, memory._kind, memory._index, call.output.stream)
    device_state.record_stream(call.output.stream)
    call.output.give(memory)
    return like._on(device_state)


def _reduce_into(call: StateCall, op: str, out: tuple, operand: Operand | None = None) -> None:
    operand = call.operand if operand is None else operand
    engine.run(op, operand, call.axes, call.mask, None, out, stream=call.output.stream)


# Each writes fields in place and returns the additional inputs of the kernel behind `state_begin`.


def _device_sums(call: StateCall, device_state: DeviceState) -> tuple[Any, Any]:
    second = None if call.mask is None else call.mask.handle
    call.exact_states("sum", call.operand, second, device_state.view("sum"))
    return _NO_INPUT


def _device_products(call: StateCall, device_state: DeviceState) -> tuple[Any, Any]:
    assert call.mask is not None
    call.exact_states("dot", call.operand, call.mask.handle, device_state.view("sum"))
    return _NO_INPUT


def _device_squares(call: StateCall, device_state: DeviceState) -> tuple[Any, Any]:
    each = call.masked_on_device()
    first, *others = floating.parts_of(each.operand)
    each.exact_states("dot", first, True, device_state.view("squares"))
    _device_sums(each, device_state)
    for other in others:  # the imaginary part
        _, shape, _, _ = device_state.view("squares")
        more = call.output.allocate_output(shape, WORD)
        each.exact_states("dot", other, True, more._view_tuple())
        return more, None
    return _NO_INPUT


def _device_integer_sums(call: StateCall, device_state: DeviceState) -> tuple[Any, Any]:
    whole = [call.operand] if call.operand.dtype.itemsize < 8 else exact_sums.split_int64(call.operand)
    halves: list[Any] = []
    for operand in whole:
        sums = call.output.allocate_output(
            (device_state.layout.results,), dtypes.core_dtype("sum", operand.dtype)
        )
        _reduce_into(call, "sum", sums._view_tuple(), operand)
        halves.append(sums)
    return halves[0], halves[1] if len(halves) > 1 else None


def _device_positions(call: StateCall, device_state: DeviceState) -> tuple[Any, Any]:
    each = call.on_device()
    _reduce_into(each, call.op, device_state.view("index"))
    _reduce_into(each, "min" if call.op == "argmin" else "max", device_state.view("value"))
    return _NO_INPUT


def _device_values(call: StateCall, device_state: DeviceState) -> tuple[Any, Any]:
    dtype: np.dtype = device_state.kinds["value"]
    core_dtype = dtypes.core_dtype(call.op, call.operand.dtype)
    if core_dtype == dtype:
        _reduce_into(call, call.op, device_state.view("value"))
        return _NO_INPUT
    values, output = call.output.allocate_output((device_state.layout.results,), core_dtype), call.output
    _reduce_into(call, call.op, values._view_tuple())
    _core.convert(
        values._view_tuple(),
        dtypes.dtype_name(dtype),
        (device_state.view("value"), output.kind, output.index, output.stream),
    )
    return _NO_INPUT


_ON_DEVICE = (
    _device_sums,
    _device_products,
    _device_squares,
    _device_integer_sums,
    _device_positions,
    _device_values,
)
