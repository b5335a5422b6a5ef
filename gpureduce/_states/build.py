"""Computes states: `partial`, and the state of one array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpureduce._arrays.operand import as_operand
from gpureduce._device.devices import device_name
from gpureduce._reduce import engine
from gpureduce._reduce.fast_path import fast_path_named
from gpureduce._reduce.multi_device import multi_device
from gpureduce._reduce.options import Options
from gpureduce._reduce.output import OutputSpec
from gpureduce._rules import arguments as rules
from gpureduce._rules.arguments import flag, integer
from gpureduce._states.call import PartLocation, StateCall
from gpureduce._states.field_plan import PRODUCTS, plan_fields
from gpureduce._states.fields import fields_of, state_of_memory, state_on_device
from gpureduce._states.operators import POSITION_OPS, find
from gpureduce._states.single_launch import single_launch_state
from gpureduce._states.state import State, empty_state

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import DTypeLike

    from gpureduce._reduce.types import AnyArray, Devices, Stream

_CASTING = ("sum", "mean", "var", "std", "prod")  # operators that take dtype=


@fast_path_named(state_of_memory)
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
        raise TypeError(f"dot: states require floating-point or complex numbers, got {element_dtype}")
    output.wait_for_inputs()
    call = StateCall("dot", PRODUCTS, left, (0,), output, right, PartLocation(0, None))
    return _build(call, empty_state("dot", element_dtype, element_dtype, ()))


def _build(call: StateCall, state: State) -> State:
    """Return the state of a call, on the host or on a device; `state` is the state of no elements."""
    on_device = call.output.on_device
    if call.elements == 0 or 0 in state.shape:
        return state.to_device(device_name(call.output.kind, call.output.index)) if on_device else state
    if on_device:
        return state_on_device(call, state)
    state._fields.update(fields_of(call, state._element_dtype, state._kinds()))
    return state
