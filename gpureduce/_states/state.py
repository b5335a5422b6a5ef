"""`State`: a partial reduction, which merges with others, and its bytes."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce._device.devices import resolve
from gpureduce._reduce import exact_states
from gpureduce._rules import dtypes
from gpureduce._rules.arguments import degrees
from gpureduce._states.device_state import DeviceState
from gpureduce._states.operators import IDENTITIES, MAX_ELEMENTS, OPERATORS, TRUTH, Fields

if TYPE_CHECKING:
    from gpureduce._device.devices import Device

_MAGIC, _VERSION = b"gred", 1
_HEAD = struct.Struct("<4sHBBBBH")  # magic, version, operator, both dtypes, dimensions, nothing
_OPS = tuple(OPERATORS)
# In the order of their numbers in bytes, which never change.
_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)


class State:
    """Partial result of a reduction, as returned by `partial`.

    States of the same operator, dtype and shape are merged by ``+`` and ``+=``, in any order and any
    grouping. `result` returns the reduction of all their elements. States can be pickled, and converted to
    bytes of a fixed layout: see docs/reference/state-format.md. A state on a device is merged there,
    into the left operand, without synchronizing with the host; `result`, `to_bytes` and pickling copy it to
    host memory.

    Attributes
    ----------
    op : str
        Name of the operator.
    dtype : numpy.dtype
        Data type of the result.
    shape : tuple of int
        Shape of the result: ``()`` unless `partial` was given an axis.
    nbytes : int
        Size of the state in bytes.
    device : str or None
        Device of the state, such as ``"cuda:0"``; None for host memory.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> a = np.array([1e100, 1.0, -1e100, 2.0])
    >>> halves = [gpureduce.partial(part, "sum", device="sim") for part in (a[:2], a[2:])]
    >>> (halves[0] + halves[1]).result()
    np.float64(3.0)
    """

    __slots__ = ("__weakref__", "_device_state", "_element_dtype", "_fields", "dtype", "op", "shape")

    op: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    _element_dtype: np.dtype[Any]  # of the elements
    _fields: Fields  # in host memory
    _device_state: DeviceState | None  # or on a device

    def __init__(self) -> None:
        raise TypeError("a State cannot be created directly; use gpureduce.partial or State.from_bytes")

    @property
    def nbytes(self) -> int:
        """Size of the state in bytes."""
        if self._device_state is not None:
            return self._device_state.memory.nbytes
        return sum(field.nbytes for field in self._fields.values())

    @property
    def device(self) -> str | None:
        """Device of the state, such as ``"cuda:0"``; None for host memory."""
        return None if self._device_state is None else self._device_state.memory.device

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + (self.nbytes if self._device_state is None else 0)

    def __repr__(self) -> str:
        device = "" if self._device_state is None else f", device={self.device!r}"
        return f"State({self.op!r}, dtype={self.dtype}, shape={self.shape}{device})"

    def __add__(self, other: State) -> State:
        if not isinstance(other, State):
            return NotImplemented
        self._require_like(other)
        if self._device_state is None:
            merged = self._like({name: field.copy() for name, field in self._fields.items()}, self.shape)
            merged += other
            return merged
        # A copy of the other, made in its stream, where the work is done: that may be one that is captured.
        theirs = other.to_device(self.device)._device_state
        assert theirs is not None
        both = theirs.copied() if other._device_state is theirs else theirs
        both.merge(self._device_state, theirs.stream)
        return self._on(both)

    def __iadd__(self, other: State) -> State:
        if not isinstance(other, State):
            return NotImplemented
        self._require_like(other)
        if self._device_state is not None:
            theirs = other.to_device(self.device)._device_state
            assert theirs is not None
            self._device_state.merge(theirs, theirs.stream)
            return self
        other = other.to_host()
        if "count" in self._fields:
            room = np.uint64(MAX_ELEMENTS) - self._fields["count"]
            if (other._fields["count"] > room).any():
                raise OverflowError(f"{self.op}: more than {MAX_ELEMENTS} elements")
        OPERATORS[self.op].merge(self._fields, other._fields)
        return self

    def _require_like(self, other: State) -> None:
        mine = (self.op, self._element_dtype, self.dtype, self.shape)
        theirs = (other.op, other._element_dtype, other.dtype, other.shape)
        if mine != theirs:
            raise ValueError(f"{self!r} and {other!r} cannot be merged: they are of different reductions")

    def to_device(self, device: str | Device | None = None) -> State:
        """Copy the state to a device, where it merges without synchronizing with the host.

        Parameters
        ----------
        device : str or Device, optional
            Device, as for `gpureduce.to_device`.

        Returns
        -------
        State
            The state itself if it is on that device already.

        Examples
        --------
        >>> import gpureduce
        >>> total = gpureduce.partial([1.0, 2.0], "sum", device="sim").to_device("sim")
        >>> total += gpureduce.partial([3.0], "sum", device="sim", as_device=True)
        >>> total, total.result()
        (State('sum', dtype=float64, shape=(), device='sim'), np.float64(6.0))
        """
        if self._device_state is not None:
            memory = self._device_state.memory
            if device is None or resolve(device) == (memory._kind, memory._index):
                return self
            return self.to_host().to_device(device)
        return self._on(
            DeviceState.from_fields(self.op, self._element_dtype, self.shape, self._fields, device)
        )

    def to_host(self) -> State:
        """Copy the state to host memory, after waiting for it.

        Returns
        -------
        State
            The state itself if it is in host memory already.

        Raises
        ------
        OverflowError
            If the state has more elements than it can count. A merge on a device does not check this.

        Examples
        --------
        >>> import gpureduce
        >>> state = gpureduce.partial([3, 1, 2], "argmax", device="sim", as_device=True)
        >>> state.device, state.to_host().device
        ('sim', None)
        """
        return (
            self
            if self._device_state is None
            else self._like(self._device_state.fields(self.shape), self.shape)
        )

    def result(self, ddof: float = 0) -> Any:
        """Return the result of the reduction of all elements.

        Parameters
        ----------
        ddof : float
            Delta degrees of freedom for ``"var"`` and ``"std"``: the variance of N elements divides by ``N -
            ddof``.

        Returns
        -------
        numpy scalar or numpy.ndarray

        Raises
        ------
        ValueError
            If there are no elements, for ``"min"``, ``"max"``, ``"argmin"`` and ``"argmax"``.
        OverflowError
            If a sum of integers exceeds the range of the dtype.

        Examples
        --------
        >>> import gpureduce
        >>> gpureduce.partial([1.0, 2.0, 6.0], "var", device="sim").result(ddof=1)
        np.float64(7.0)
        """
        ddof = degrees(ddof)
        if ddof and self.op not in ("var", "std"):
            raise TypeError(f"ddof: only for var and std, not for {self.op}")
        return OPERATORS[self.op].result(self.to_host()._fields, self._element_dtype, self.dtype, ddof)[()]

    def to_bytes(self) -> bytes:
        """Convert the state to bytes; docs/reference/state-format.md describes their layout.

        Returns
        -------
        bytes

        Examples
        --------
        >>> import gpureduce
        >>> state = gpureduce.partial([1, 2, 3], "sum", device="sim")
        >>> len(state.to_bytes()), gpureduce.State.from_bytes(state.to_bytes()).result()
        (29, np.int64(6))
        """
        codes = (_OPS.index(self.op), _DTYPES.index(self._element_dtype.name), _DTYPES.index(self.dtype.name))
        parts = [
            _HEAD.pack(_MAGIC, _VERSION, *codes, len(self.shape), 0),
            np.array(self.shape, "<u8").tobytes(),
        ]
        for field, kind in zip(self.to_host()._fields.values(), self._kinds().values(), strict=True):
            rows = exact_states.packed(field) if isinstance(kind, tuple) else np.ascontiguousarray(field)
            parts.append(rows.tobytes())
        return b"".join(parts)

    @staticmethod
    def from_bytes(data: bytes) -> State:
        """Return the state from the bytes that `to_bytes` returned.

        Parameters
        ----------
        data : bytes
            Bytes of a state.

        Returns
        -------
        State

        Raises
        ------
        ValueError
            If `data` is not a state, or a state of another format version.

        Examples
        --------
        >>> import gpureduce
        >>> gpureduce.State.from_bytes(gpureduce.partial([3, 7, 5], "max", device="sim").to_bytes())
        State('max', dtype=int64, shape=())
        """
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"data: expected bytes, got {type(data).__name__}")
        data = bytes(data)
        op, element_dtype, dtype, shape = _read_head(data)
        state = empty_state(op, element_dtype, dtype, (0,))
        state.shape, at = shape, _HEAD.size + 8 * len(shape)
        count = math.prod(shape)
        sizes = {name: _row_bytes(kind) for name, kind in state._kinds().items()}
        if len(data) - at != count * sum(sizes.values()) or max(shape, default=0) > MAX_ELEMENTS:
            raise ValueError(f"data: wrong number of bytes for a state of {op} of shape {shape}")
        for name, kind in state._kinds().items():
            rows = np.frombuffer(data, np.uint8, count * sizes[name], at)
            state._fields[name] = _field("count" if op == "count_nonzero" else name, kind, rows, shape)
            at += rows.size
        return state

    def __reduce__(self) -> tuple:
        return (State.from_bytes, (self.to_bytes(),))

    def _kinds(self) -> dict[str, Any]:
        return OPERATORS[self.op].fields(self._element_dtype)

    def _like(self, fields: Fields, shape: tuple[int, ...]) -> State:
        state = object.__new__(State)
        state.op, state._element_dtype, state.dtype = self.op, self._element_dtype, self.dtype
        state._fields, state._device_state, state.shape = fields, None, shape
        return state

    def _on(self, device_state: DeviceState, shape: tuple[int, ...] | None = None) -> State:
        """Return states of the same reductions on a device."""
        state = self._like({}, self.shape if shape is None else shape)
        state._device_state = device_state
        return state

    def _reshaped(self, shape: tuple[int, ...]) -> State:
        if self._device_state is not None:
            return self._on(self._device_state, shape)
        fields = {
            name: field.reshape(shape + field.shape[len(self.shape) :])
            for name, field in self._fields.items()
        }
        return self._like(fields, shape)

    def _at(self, index: tuple[slice, ...]) -> State:
        """Return the states of some results, whose fields are views."""
        whole: Any = (*index, ...)
        fields = {name: field[whole] for name, field in self._fields.items()}
        return self._like(fields, next(iter(fields.values())).shape[: len(self.shape)])


def empty_state(op: str, element_dtype: np.dtype, dtype: np.dtype, shape: tuple[int, ...]) -> State:
    """Return empty states for a dtype of elements and a dtype of results."""
    state = object.__new__(State)
    state.op, state._element_dtype, state.dtype, state.shape = op, element_dtype, dtype, shape
    state._fields, state._device_state = {}, None
    for name, kind in state._kinds().items():
        if isinstance(kind, tuple):
            number, size = kind
            state._fields[name] = np.zeros((*shape, number, size.words), np.int64)
        else:
            start = np.array(IDENTITIES.get(op, 0) if name == "value" else 0).astype(kind)
            state._fields[name] = np.full(shape, start)
    return state


# Bytes


def _read_head(data: bytes) -> tuple[str, np.dtype, np.dtype, tuple[int, ...]]:
    if len(data) < _HEAD.size or data[:4] != _MAGIC:
        raise ValueError("data: not the bytes of a state")
    _, version, *codes, ndim, rest = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise ValueError(f"data: a state of version {version}; this gpureduce reads version {_VERSION}")
    if codes[0] >= len(_OPS) or max(codes[1:]) >= len(_DTYPES) or ndim > 64 or rest:
        raise ValueError("data: a state of an unknown operator, dtype or shape")
    op, element_dtype, dtype = _OPS[codes[0]], *(dtypes.dtype_from_name(_DTYPES[code]) for code in codes[1:])
    if dtype not in result_dtypes(op, element_dtype) or len(data) < _HEAD.size + 8 * ndim:
        raise ValueError(f"data: {op} of {element_dtype} cannot have dtype {dtype}")
    return op, element_dtype, dtype, tuple(np.frombuffer(data, "<u8", ndim, _HEAD.size).tolist())


def result_dtypes(op: str, element_dtype: np.dtype) -> tuple[np.dtype, ...]:
    """Return the possible result dtypes for a dtype of elements."""
    floats, integers = element_dtype.kind not in "biu", element_dtype == dtypes.dtype_from_name("int64")
    if op in ("any", "all"):
        return (element_dtype,) if element_dtype == TRUTH else ()
    if op == "count_nonzero":
        return (element_dtype,) if integers else ()
    if op in ("argmin", "argmax"):
        return (dtypes.dtype_from_name("int64"),)
    if op == "sum" and integers:
        return tuple(
            dtypes.dtype_from_name(name) for name in _DTYPES if dtypes.dtype_from_name(name).kind in "iu"
        )
    if op == "mean" and integers:
        return (dtypes.dtype_from_name("float64"),)
    if op in ("var", "std"):
        return (exact_states.real(element_dtype),) if floats else ()
    if op.startswith("bitwise"):
        return () if floats else (element_dtype,)
    return (element_dtype,) if floats or op in ("min", "max", "prod") else ()


def _row_bytes(kind: Any) -> int:
    """Return the bytes of a field for one result."""
    return kind[0] * kind[1].nbytes if isinstance(kind, tuple) else kind.itemsize


def _field(name: str, kind: Any, rows: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if isinstance(kind, tuple):
        number, size = kind
        return exact_states.unpacked(rows.reshape(-1, size.nbytes)).reshape(*shape, number, size.words)
    if kind == TRUTH and (rows > 1).any():
        raise ValueError("a bool is 0 or 1")
    field = rows.view(kind).reshape(shape).copy()
    if name in ("count", "index") and (field.view(np.int64) < 0).any():
        raise ValueError(f"{name} is below 0")
    return field
