"""Reductions of arrays that lie on several devices, or go to several: a state of each piece, merged."""

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
from gpureduce._arrays.operand import intake
from gpureduce._device.devices import Device, resolve, text
from gpureduce._reduce import functions, several
from gpureduce._rules import arguments as rules
from gpureduce._states import at_once, part, threads
from gpureduce._states.call import Where
from gpureduce._states.operators import find
from gpureduce._states.state import State, nothing

_ALL = "cuda:all"
_PLACES = ("argmin", "argmax")
_EXACT = ("sum", "fsum", "mean", "dot")
# Of a piece of an array of the host. Python takes 0.15 ms for each, of an H100's 5 for a copy of 256 MiB in
# pinned memory; states of a whole array come in smaller ones again, by a shorter loop.
_MOST_BYTES = 1 << 30


class Sharded:
    """An array in parts, which follow each other along an axis and may lie on several devices.

    Reductions take it as they take an array: each part is reduced where it lies.

    Parameters
    ----------
    parts : list of arrays
        Each as `sum` takes it, all of one dtype and, but for the axis, of one shape.
    axis : int
        Along which they follow each other.

    Attributes
    ----------
    parts : tuple
        As they were given.
    axis : int
        Not less than 0.
    shape : tuple of int
        Of the whole.
    dtype : dtype
        As the first part names it.

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
            "a Sharded does not become a NumPy array; it is taken only as the array of "
            f"{', '.join(self.takers())}"
        )

    @staticmethod
    def takers() -> list[str]:
        """Return the names of the functions that take arrays in parts.

        Returns
        -------
        list of str
        """
        return sorted(several.names)

    def __repr__(self) -> str:
        return f"Sharded({len(self.parts)} parts, shape={self.shape}, dtype={self.dtype}, axis={self.axis})"


class Piece(NamedTuple):
    """Part of an array, where it begins along each axis, and the other vector's part."""

    array: Any
    starts: tuple[int, ...]
    other: Any = None


def is_spread(a: Any, device: Any) -> bool:
    """Return whether several devices are asked for, or an array lies on several."""
    if isinstance(device, (list, tuple)) or (isinstance(device, str) and device == _ALL):
        return True
    return isinstance(a, Sharded) or (not isinstance(a, np.ndarray) and len(_shards(a)) > 1)


def state_of(
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
    """Return the state of all pieces; the arguments are those of `partial`."""
    find(op)
    if stream is not None:
        raise ValueError("stream: several devices have no stream in common")
    begin = Where(offset, within)
    if begin.within is not None or begin.offset != 0:
        raise ValueError("offset: several devices make states of whole arrays")
    names = None if device is None else _devices(device)
    flat = axis is None and not keepdims
    pieces, shape = _pieces(a, b, flat, len(names) if names else 1)
    axes = rules.single_axis(axis, len(shape)) if op in _PLACES else rules.reduced_axes(axis, len(shape))

    def reduce(piece: Piece, place: str | None) -> State:
        given: dict[str, Any] = {}
        if op in _PLACES and axis is None:
            given = {"offset": piece.starts, "within": shape}
        elif op in _PLACES:
            given = {"offset": piece.starts[axes[0]]}
        return part.state_of(piece.array, op, axis, piece.other, dtype, device=place, **given)

    states = _on_all(pieces, names, reduce)
    whole = nothing(op, states[0]._held, states[0].dtype, rules.kept_shape(shape, axes))
    for piece, state in zip(pieces, states, strict=True):
        ends = zip(piece.starts, np.shape(piece.array), strict=True)
        kept = [slice(start, start + length) for start, length in ends]
        where = whole._at(tuple(kept[d] for d in range(len(shape)) if d not in axes))
        where += state
    return whole._reshaped(rules.kept_shape(shape, axes, True)) if keepdims else whole


# Devices


def _devices(given: Any) -> list[str]:
    """Return the names of devices; each "sim" of a list is a simulator of its own."""
    if isinstance(given, str) and given == _ALL:
        problem = _core.cuda_problem()
        if problem is not None:
            raise _core.DeviceError(f"device: {_ALL!r} means none, as there is no CUDA device ({problem})")
        return [f"cuda:{row[1]}" for row in _core.devices() if row[0] == "cuda"]
    each = [given] if isinstance(given, (str, Device)) else list(given)
    if not each:
        raise ValueError("device: the list is empty")
    names = [text(*resolve(one)) if one != "sim" else "" for one in each]
    free = (name for i in range(len(names)) if (name := text(_core.SIM, i)) not in names)
    names = [name or next(free) for name in names]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"device: {name} is listed twice")
    return names


def _on_all(
    pieces: list[Piece], names: list[str] | None, reduce: Callable[[Piece, str | None], State]
) -> list[State]:
    """Return the states of pieces: those on devices are made there, the others go where there is time.

    Each device has a thread, one of them the caller's, which does the work of threads that cannot be started.
    When one fails, no other begins another piece, and the first failure is raised.
    """
    homes = [_home(piece.array) for piece in pieces]
    places = dict.fromkeys(home for home in homes if home is not None)
    loose = names if names is not None else ([] if places else [None])
    if names is not None and (outside := [home for home in places if home not in names]):
        raise _core.DeviceError(f"device: a part lies on {outside[0]}, which is not in the list")
    if not loose and None in homes:
        loose = list(places)
    states: list[Any] = [None] * len(pieces)
    failures: dict[int, BaseException] = {}
    unplaced = deque(number for number, home in enumerate(homes) if home is None)
    queues = {place: deque[int]() for place in [*places, *loose]}  # each device's, and what any device takes
    for place in loose[: len(unplaced)]:  # each has a share
        queues[place].append(unplaced.popleft())
    for number, home in enumerate(homes):
        if home is not None:
            queues[home].append(number)

    def take(place: str | None) -> int | None:
        for queue in (queues[place], unplaced):
            try:
                return None if failures else queue.popleft()
            except IndexError:
                pass
        return None

    def work(place: str | None) -> None:
        while (number := take(place)) is not None:
            try:
                states[number] = reduce(pieces[number], place)
            except BaseException as error:
                failures[number] = error

    def stop(error: BaseException) -> None:
        failures[len(pieces)] = error

    threads.on_all(queues, work, stop)
    if failures:
        raise failures[min(failures)]
    if any(state is None for state in states):
        raise MemoryError("a thread had no host memory to record its failure")
    return states


def _home(array: Any) -> str | None:
    """Return the device on which an array lies; None for one of the host."""
    if isinstance(array, np.ndarray):
        return None
    operand = intake(array, None)
    return None if operand.view is None else text(operand.kind, operand.index)


# Pieces


def _shards(a: Any) -> list[Any]:
    """Return the shards of an array of JAX, of which each element is in one; [] of any other array."""
    shards = getattr(a, "addressable_shards", None)
    return [] if shards is None else [shard for shard in shards if shard.replica_id == 0]


def _pieces(a: Any, b: Any, flat: bool, devices: int) -> tuple[list[Piece], tuple[int, ...]]:
    """Return pieces and the shape of the whole."""
    if isinstance(a, Sharded):
        return _of_sharded(a, b), a.shape
    if b is not None and isinstance(b, Sharded):
        raise TypeError("b: is sharded, but a is not")
    if shards := _shards(a):
        if b is not None:
            raise TypeError("dot: pass the shards as gpureduce.Sharded")
        if not a.is_fully_addressable:
            raise ValueError("a: other processes have shards of it; see gpureduce.allreduce")
        starts = [tuple(each.start or 0 for each in shard.index) for shard in shards]
        return [Piece(shard.data, at) for shard, at in zip(shards, starts, strict=True)], tuple(a.shape)
    operand = intake(a, "sim")  # which device does not matter yet
    if operand.view is not None:
        raise TypeError("device: a list is for arrays of the host; gpureduce.Sharded is for parts on devices")
    return _cut(operand.handle, b, flat, devices)


def _of_sharded(a: Sharded, b: Any) -> list[Piece]:
    """Return the parts and where they begin."""
    others: tuple[Any, ...] = (None,) * len(a.parts)
    if b is not None:
        same = isinstance(b, Sharded) and [p.shape for p in b.parts] == [p.shape for p in a.parts]
        if not same:
            raise ValueError("b: expected Sharded of as many parts with the lengths of those of a")
        others = b.parts
    pieces, start = [], 0
    for array, other in zip(a.parts, others, strict=True):
        starts = tuple(start if d == a.axis else 0 for d in range(len(a.shape)))
        pieces.append(Piece(array, starts, other))
        start += array.shape[a.axis]
    return pieces


def _cut(array: np.ndarray, b: Any, flat: bool, devices: int) -> tuple[list[Piece], tuple[int, ...]]:
    """Cut an array of the host, `flat` where only the order of its elements counts."""
    if flat and array.flags.c_contiguous:
        array = array.reshape(-1)
    other = None if b is None else intake(b, "sim", "b").handle
    if other is not None and (array.ndim != 1 or other.shape != array.shape):
        raise ValueError("dot: expected two vectors of one length")
    wanted = devices * max(1, -(-array.nbytes // (_MOST_BYTES * devices)))  # as many for each
    along = next((d for d, n in enumerate(array.shape) if n >= wanted), None)
    if along is None:
        along = int(np.argmax(array.shape)) if array.ndim else 0
    if array.ndim == 0:
        return [Piece(array, ())], ()
    length = array.shape[along]
    count = min(wanted, max(length, 1))
    edges = [length * i // count for i in range(count + 1)]
    pieces = []
    for start, stop in itertools.pairwise(edges):
        where = tuple(slice(start, stop) if d == along else slice(None) for d in range(array.ndim))
        starts = tuple(start if d == along else 0 for d in range(array.ndim))
        pieces.append(Piece(array[where], starts, None if other is None else other[start:stop]))
    return pieces, array.shape


def first_of(a: Any, device: Any) -> str | None:
    """Return the first of several devices."""
    if device is not None:
        return _devices(device)[0]
    return next(filter(None, map(_home, getattr(a, "parts", ()))), None)


# The public reductions


def _wanted(args: tuple[Any, ...], options: dict[str, Any]) -> bool:
    return is_spread(args[0] if args else options.get("a"), options.get("device"))


def _parts(a: Any) -> tuple[Any, ...]:
    """Return the arrays that one on several devices is made of; none where others have to see to it."""
    if isinstance(a, Sharded):
        return a.parts
    shards = _shards(a) if getattr(a, "is_fully_addressable", False) else []
    return tuple([shard.data for shard in shards])


def _at_once(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Return the result of whole arrays on devices; NotImplemented where others have to see to it."""
    extra = "ddof" if name in ("var", "std") else "exact" if name in _EXACT else None
    if len(args) != (2 if name == "dot" else 1) or not (options.keys() <= {extra}):
        return NotImplemented
    b = args[1] if name == "dot" else None
    if name in _EXACT:
        divisor = math.prod(args[0].shape) if name == "mean" else None
        found = at_once.sum_of(_parts(args[0]), None if b is None else _parts(b), divisor)
    else:
        found = at_once.value_of(_parts(args[0]), name)
    if found is not NotImplemented:
        return found
    state = state_at_once(args[0], "sum" if name == "fsum" else name, b)
    return NotImplemented if state is None else state.result(options.get("ddof", 0))


def state_at_once(a: Any, op: str, b: Any) -> State | None:
    """Return the state of all elements of arrays on devices, where the core makes it by itself."""
    parts, others = _parts(a), None if b is None else _parts(b)
    is_sharded = isinstance(a, Sharded)
    if others is not None and len(others) != len(parts):
        return None
    if op in _PLACES and not is_sharded:  # blocks, which have positions of their own
        return None
    return at_once.state_of(parts, op, others, tuple(a.shape), a.axis if is_sharded else 0)


# Of functions that were called: to make one takes longer than to cut an array into pieces. No
# functools.cache: another thread might fork while its lock is held.
_SIGNATURES: dict[str, inspect.Signature] = {}


def _signature(name: str) -> inspect.Signature:
    found = _SIGNATURES.get(name)
    if found is None:
        found = _SIGNATURES[name] = inspect.signature(getattr(functions, name))
    return found


def _reduce(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Do what a public reduction is asked to, on all devices."""
    found = _at_once(name, args, options)
    if found is not NotImplemented:
        return found
    signature = _signature(name)
    given = signature.bind(*args, **options).arguments
    known = ("a", "b", "axis", "dtype", "keepdims", "device", "as_device", "exact", "ddof")
    for key, value in given.items():
        automatic = key == "variant" and isinstance(value, str) and value == "auto"
        if key not in known and value is not signature.parameters[key].default and not automatic:
            raise ValueError(f"{key}: is not for several devices")
    keepdims = rules.keeps_dims(given.get("keepdims", False))
    device, op = given.get("device"), "sum" if name == "fsum" else name
    axis, b, dtype = (given.get(key) for key in ("axis", "b", "dtype"))
    state = state_of(given["a"], op, axis, b, dtype, keepdims, 0, None, device, None)
    result = state.result(given["ddof"]) if "ddof" in given else state.result()
    if not given.get("as_device"):
        return result
    return to_device(result, first_of(given["a"], device))


several.wanted, several.reduce = _wanted, _reduce
