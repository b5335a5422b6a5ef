"""Reductions of arrays on several devices: `Sharded`, a state per shard, and the merge of the states."""

from __future__ import annotations

import inspect
import itertools
import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpureduce import _core
from gpureduce._arrays.device_array import to_device
from gpureduce._arrays.operand import as_operand
from gpureduce._device.devices import Device, device_name, resolve
from gpureduce._reduce import functions
from gpureduce._reduce.multi_device import MultiDeviceHandler, multi_device_names, register_multi_device
from gpureduce._rules import arguments as rules
from gpureduce._rules.dtypes import dtype_of
from gpureduce._states import build, threads
from gpureduce._states.call import PartLocation
from gpureduce._states.operators import POSITION_OPS, find
from gpureduce._states.single_launch import single_launch_state, single_launch_sum, single_launch_value
from gpureduce._states.state import State, empty_state

_ALL = "cuda:all"
_EXACT = ("sum", "fsum", "mean", "dot")
# The largest shard of a host array. Python takes 0.15 ms per shard; an H100 copies 256 MiB of pinned memory
# in 5 ms. `build` cuts shards into smaller pieces again, by a shorter loop.
_MAX_SHARD_BYTES = 1 << 30


class Sharded:
    """An array in consecutive parts along an axis, which may be on several devices.

    Reductions accept it like an array, and reduce each part on its own device.

    Parameters
    ----------
    parts : list of arrays
        Parts, as for `sum`, of the same dtype and of the same shape except along the axis.
    axis : int
        Axis along which the parts follow each other.

    Attributes
    ----------
    parts : tuple
        The parts.
    axis : int
        Axis of the parts, counted from 0.
    shape : tuple of int
        Shape of the whole array.
    dtype : dtype
        Data type, as the library of the first part has it.

    Examples
    --------
    >>> import gpureduce
    >>> first = gpureduce.to_device([[1.0, 2.0]], device="sim")
    >>> second = gpureduce.to_device([[3.0, 4.0], [5.0, 6.0]], device="sim:1")
    >>> whole = gpureduce.Sharded([first, second])
    >>> whole
    Sharded(2 parts, shape=(3, 2), dtype=float64, axis=0)
    >>> gpureduce.sum(whole), gpureduce.argmax(whole), gpureduce.mean(whole, axis=0)
    (np.float64(21.0), np.int64(5), array([3., 4.]))
    """

    __slots__ = ("axis", "dtype", "parts", "shape")

    axis: int
    dtype: Any
    parts: tuple[Any, ...]
    shape: tuple[int, ...]

    def __init__(self, parts: Sequence[Any], axis: int = 0) -> None:
        if not isinstance(parts, Iterable) or getattr(parts, "shape", None) == ():
            raise TypeError(f"parts: expected a sequence of arrays, got {type(parts).__name__}")
        self.parts = tuple(each if hasattr(each, "shape") else np.asarray(each) for each in parts)
        if not self.parts:
            raise ValueError("parts: expected one array or more")
        shapes = [tuple(each.shape) for each in self.parts]
        self.axis = rules.one_axis(axis, len(shapes[0]))
        self.dtype = self.parts[0].dtype
        for number, (each, shape) in enumerate(zip(self.parts, shapes, strict=True)):
            if each.dtype != self.dtype:
                raise TypeError(f"parts: number {number} is of {each.dtype}, the first of {self.dtype}")
            if len(shape) != len(shapes[0]) or rules.kept_shape(shape, (self.axis,)) != rules.kept_shape(
                shapes[0], (self.axis,)
            ):
                raise ValueError(
                    f"parts: number {number} has the shape {shape}, the first {shapes[0]}; only along axis "
                    f"{self.axis} may they differ"
                )
        length = sum(shape[self.axis] for shape in shapes)
        self.shape = (*shapes[0][: self.axis], length, *shapes[0][self.axis + 1 :])

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(
            "a Sharded is not converted to a NumPy array; it is accepted as the array of "
            f"{', '.join(self.takers())}"
        )

    @staticmethod
    def takers() -> list[str]:
        """Return the names of the functions that accept a `Sharded`.

        Returns
        -------
        list of str
        """
        return multi_device_names()

    def __repr__(self) -> str:
        return f"Sharded({len(self.parts)} parts, shape={self.shape}, dtype={self.dtype}, axis={self.axis})"


class Shard(NamedTuple):
    """Part of an array, the index of its first element along each axis, and the part of the second vector."""

    array: Any
    starts: tuple[int, ...]
    other: Any = None


def is_multi_device(a: Any, device: Any) -> bool:
    """Return whether `device` names several devices, or the parts of an array are on several."""
    if isinstance(device, (list, tuple)) or (isinstance(device, str) and device == _ALL):
        return True
    return isinstance(a, Sharded) or (not isinstance(a, np.ndarray) and len(_jax_shards(a)) > 1)


def build_sharded_state(
    a: Any,
    op: str,
    axis: Any,
    b: Any,
    dtype: Any,
    keepdims: bool,
    offset: Any,
    within: Any,
    device: Any,
    stream: Any,
) -> State:
    """Return the merged state of all shards; takes the arguments of `partial`."""
    find(op)
    if stream is not None:
        raise ValueError("stream: not supported with several devices")
    begin = PartLocation(offset, within)
    if begin.within is not None or begin.offset != 0:
        raise ValueError("offset: not supported with several devices")
    names = None if device is None else _devices(device)
    flat = axis is None and not keepdims
    shards, shape = _shards_of(a, b, flat, len(names) if names else 1)
    axes = rules.single_axis(axis, len(shape)) if op in POSITION_OPS else rules.reduced_axes(axis, len(shape))

    def reduce(shard: Shard, device: str | None) -> State:
        location: dict[str, Any] = {}
        if op in POSITION_OPS and axis is None:
            location = {"offset": shard.starts, "within": shape}
        elif op in POSITION_OPS:
            location = {"offset": shard.starts[axes[0]]}
        return build.build_state(shard.array, op, axis, shard.other, dtype, device=device, **location)

    states = _on_all(shards, names, reduce)
    whole = empty_state(op, states[0]._element_dtype, states[0].dtype, rules.kept_shape(shape, axes))
    for shard, state in zip(shards, states, strict=True):
        ends = zip(shard.starts, np.shape(shard.array), strict=True)
        slices = [slice(start, start + length) for start, length in ends]
        results = whole._at(tuple(slices[d] for d in range(len(shape)) if d not in axes))
        results += state
    return whole._reshaped(rules.kept_shape(shape, axes, True)) if keepdims else whole


# Devices


def _devices(device: Any) -> list[str]:
    """Return the names of devices; each "sim" of a list is a simulator of its own."""
    if isinstance(device, str) and device == _ALL:
        problem = _core.cuda_problem()
        if problem is not None:
            raise _core.DeviceError(f"device: {_ALL!r} needs a CUDA device, and there is none ({problem})")
        return [f"cuda:{row[1]}" for row in _core.devices() if row[0] == "cuda"]
    each = [device] if isinstance(device, (str, Device)) else list(device)
    if not each:
        raise ValueError("device: the list is empty")
    names = [device_name(*resolve(one)) if one != "sim" else "" for one in each]
    free = (name for i in range(len(names)) if (name := device_name(_core.SIM, i)) not in names)
    names = [name or next(free) for name in names]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"device: {name} is listed twice")
    return names


def _on_all(
    shards: list[Shard], names: list[str] | None, reduce: Callable[[Shard, str | None], State]
) -> list[State]:
    """Return the states of shards: a shard on a device is reduced on it, others on whichever device is free.

    Each device has a thread. The first is the caller, which also does the work of threads that cannot be
    started. When one fails, no other begins another shard, and the first failure is raised.
    """
    shard_devices = [_device_of(shard.array) for shard in shards]
    devices = dict.fromkeys(shard_device for shard_device in shard_devices if shard_device is not None)
    free_devices = names if names is not None else ([] if devices else [None])
    if names is not None and (
        outside := [shard_device for shard_device in devices if shard_device not in names]
    ):
        raise _core.DeviceError(f"device: a part is on {outside[0]}, which is not in the list")
    if not free_devices and None in shard_devices:
        free_devices = list(devices)
    states: list[Any] = [None] * len(shards)
    failures: dict[int, BaseException] = {}
    unassigned = deque(number for number, shard_device in enumerate(shard_devices) if shard_device is None)
    queues = {device: deque[int]() for device in [*devices, *free_devices]}  # per device
    for device in free_devices[: len(unassigned)]:  # each device gets one at first
        queues[device].append(unassigned.popleft())
    for number, shard_device in enumerate(shard_devices):
        if shard_device is not None:
            queues[shard_device].append(number)

    def take(device: str | None) -> int | None:
        for queue in (queues[device], unassigned):
            try:
                return None if failures else queue.popleft()
            except IndexError:
                pass
        return None

    def work(device: str | None) -> None:
        while (number := take(device)) is not None:
            try:
                states[number] = reduce(shards[number], device)
            except BaseException as error:
                failures[number] = error

    def stop(error: BaseException) -> None:
        failures[len(shards)] = error

    threads.on_all(queues, work, stop)
    if failures:
        raise failures[min(failures)]
    if any(state is None for state in states):
        raise MemoryError("a thread had no host memory to record its failure")
    return states


def _device_of(array: Any) -> str | None:
    """Return the device of an array, or None for a host array."""
    if isinstance(array, np.ndarray):
        return None
    operand = as_operand(array, None)
    return None if operand.view is None else device_name(operand.kind, operand.index)


# Shards


def _jax_shards(a: Any) -> list[Any]:
    """Return the shards of a JAX array without replicas; [] for any other array."""
    shards = getattr(a, "addressable_shards", None)
    return [] if shards is None else [shard for shard in shards if shard.replica_id == 0]


def _shards_of(a: Any, b: Any, flat: bool, devices: int) -> tuple[list[Shard], tuple[int, ...]]:
    """Return the shards of an array, and its shape."""
    if isinstance(a, Sharded):
        return _of_sharded(a, b), a.shape
    if b is not None and isinstance(b, Sharded):
        raise TypeError("b: is sharded, but a is not")
    if shards := _jax_shards(a):
        if b is not None:
            raise TypeError("dot: pass the shards as gpureduce.Sharded")
        if not a.is_fully_addressable:
            raise ValueError("a: other processes have shards of it; see gpureduce.allreduce")
        starts = [tuple(each.start or 0 for each in shard.index) for shard in shards]
        return [Shard(shard.data, at) for shard, at in zip(shards, starts, strict=True)], tuple(a.shape)
    operand = as_operand(a, "sim")  # any device: the array is only looked at
    if operand.view is not None:
        raise TypeError("device: a list is for host arrays; gpureduce.Sharded is for parts on devices")
    return _cut(operand.handle, b, flat, devices)


def _of_sharded(a: Sharded, b: Any) -> list[Shard]:
    """Return the shards of a Sharded, and of the second vector."""
    others: tuple[Any, ...] = (None,) * len(a.parts)
    if b is not None:
        if not (isinstance(b, Sharded) and [p.shape for p in b.parts] == [p.shape for p in a.parts]):
            raise ValueError("b: expected a Sharded whose parts have the lengths of the parts of a")
        others = b.parts
    shards, start = [], 0
    for array, other in zip(a.parts, others, strict=True):
        starts = tuple(start if d == a.axis else 0 for d in range(len(a.shape)))
        shards.append(Shard(array, starts, other))
        start += array.shape[a.axis]
    return shards


def _cut(array: np.ndarray, b: Any, flat: bool, devices: int) -> tuple[list[Shard], tuple[int, ...]]:
    """Cut a host array into shards, as a vector if `flat`: then its shape makes no difference."""
    if flat and array.flags.c_contiguous:
        array = array.reshape(-1)
    other = None if b is None else as_operand(b, "sim", "b").handle
    if other is not None and (array.ndim != 1 or other.shape != array.shape):
        raise ValueError("dot: expected two vectors of one length")
    shard_count = devices * max(
        1, -(-array.nbytes // (_MAX_SHARD_BYTES * devices))
    )  # the same number per device
    along = next((d for d, n in enumerate(array.shape) if n >= shard_count), None)
    if along is None:
        along = int(np.argmax(array.shape)) if array.ndim else 0
    if array.ndim == 0:
        return [Shard(array, ())], ()
    length = array.shape[along]
    count = min(shard_count, max(length, 1))
    edges = [length * i // count for i in range(count + 1)]
    shards = []
    for start, stop in itertools.pairwise(edges):
        index = tuple(slice(start, stop) if d == along else slice(None) for d in range(array.ndim))
        starts = tuple(start if d == along else 0 for d in range(array.ndim))
        shards.append(Shard(array[index], starts, None if other is None else other[start:stop]))
    return shards, array.shape


def first_device(a: Any, device: Any) -> str | None:
    """Return the first of several devices."""
    if device is not None:
        return _devices(device)[0]
    return next(filter(None, map(_device_of, getattr(a, "parts", ()))), None)


# The public reductions


def _accepts(args: tuple[Any, ...], options: dict[str, Any]) -> bool:
    return is_multi_device(args[0] if args else options.get("a"), options.get("device"))


def _parts(a: Any) -> tuple[Any, ...]:
    """Return the parts of an array on several devices; none of an array whose parts other processes have."""
    if isinstance(a, Sharded):
        return a.parts
    shards = _jax_shards(a) if getattr(a, "is_fully_addressable", False) else []
    return tuple([shard.data for shard in shards])


def _single_launch_result(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Return the result of whole arrays on devices, or NotImplemented if the core does not take the call."""
    extra = "ddof" if name in ("var", "std") else "exact" if name in _EXACT else None
    if len(args) != (2 if name == "dot" else 1) or not (options.keys() <= {extra}):
        return NotImplemented
    b = args[1] if name == "dot" else None
    if name in _EXACT:
        divisor = math.prod(args[0].shape) if name == "mean" else None
        result = single_launch_sum(_parts(args[0]), None if b is None else _parts(b), divisor)
    else:
        result = single_launch_value(_parts(args[0]), name)
    if result is not NotImplemented:
        return result
    state = _single_launch_state(args[0], "sum" if name == "fsum" else name, b)
    return NotImplemented if state is None else state.result(options.get("ddof", 0))


def _single_launch_state(a: Any, op: str, b: Any) -> State | None:
    """Return the state of all elements of arrays on devices, or None if the core does not take the call."""
    parts, others = _parts(a), None if b is None else _parts(b)
    is_sharded = isinstance(a, Sharded)
    if others is not None and len(others) != len(parts):
        return None
    if (
        op in POSITION_OPS and not is_sharded
    ):  # JAX shards are blocks, whose positions do not follow each other
        return None
    return single_launch_state(parts, op, others, tuple(a.shape), a.axis if is_sharded else 0)


# Of functions that were called: inspect.signature takes longer than cutting an array. No functools.cache:
# another thread might fork while its lock is held.
_SIGNATURES: dict[str, inspect.Signature] = {}


def _signature(name: str) -> inspect.Signature:
    signature = _SIGNATURES.get(name)
    if signature is None:
        signature = _SIGNATURES[name] = inspect.signature(getattr(functions, name))
    return signature


def _reduce(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Return the result of a public function, computed on all devices."""
    if name == "partial":
        return _partial(*args, **options)
    result = _single_launch_result(name, args, options)
    if result is not NotImplemented:
        return result
    signature = _signature(name)
    arguments = signature.bind(*args, **options).arguments
    known = ("a", "b", "axis", "dtype", "keepdims", "device", "as_device", "exact", "ddof")
    for key, value in arguments.items():
        automatic = key == "variant" and isinstance(value, str) and value == "auto"
        if key not in known and value is not signature.parameters[key].default and not automatic:
            raise ValueError(f"{key}: not supported with several devices")
    keepdims = rules.keeps_dims(arguments.get("keepdims", False))
    device, op = arguments.get("device"), "sum" if name == "fsum" else name
    axis, b, dtype = (arguments.get(key) for key in ("axis", "b", "dtype"))
    state = build_sharded_state(arguments["a"], op, axis, b, dtype, keepdims, 0, None, device, None)
    result = state.result(arguments["ddof"]) if "ddof" in arguments else state.result()
    if op in ("var", "std") and dtype is not None:  # a state's variance is real, also in a complex dtype
        result = result.astype(dtype_of(dtype).newbyteorder("="), copy=False)
    if not arguments.get("as_device"):
        return result
    return to_device(result, first_device(arguments["a"], device))


def _partial(
    a: Any,
    op: str,
    axis: Any = None,
    *,
    b: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    where: Any = True,
    offset: Any = 0,
    within: Any = None,
    labels: Any = None,
    num_groups: Any = None,
    device: Any = None,
    stream: Any = None,
    as_device: bool = False,
) -> State:
    """Return the result of `partial` on several devices."""
    if labels is not None or num_groups is not None:
        raise ValueError("labels: not supported with several devices")
    keepdims, as_device = (
        rules.flag(keepdims, "keepdims"),
        as_device is not None and rules.flag(as_device, "as_device"),
    )
    if build.is_default_call(axis, dtype, keepdims, offset, within, device, stream, where, as_device):
        state = _single_launch_state(a, op, b)
        if state is not None:
            return state
    if where is not True:
        raise ValueError("where: not supported with several devices")
    state = build_sharded_state(a, op, axis, b, dtype, keepdims, offset, within, device, stream)
    return state.to_device(first_device(a, device)) if as_device else state


register_multi_device(MultiDeviceHandler(_accepts, _reduce))
