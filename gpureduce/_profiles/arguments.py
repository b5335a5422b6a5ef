"""Arguments of profiles and of user kernels, checked and converted to bytes."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpureduce._profiles.itanium_demangle import CType
from gpureduce._rules.arguments import host_array, reject_beyond_memory, reject_masked
from gpureduce._rules.dtypes import dtype_of, require_supported

_FLOATS = {2: "<e", 4: "<f", 8: "<d"}
_HALVES = ("float16", "bfloat16")

_DRAWN_AT_ONCE = 1 << 16  # random elements per call of the generator; wider arrays would not stay in a cache

Types = Sequence[CType | None]


def elements_of(a: Any, dtype: Any) -> np.ndarray:
    """Return the array to reduce; an integer n stands for n random elements."""
    if isinstance(a, (int, np.integer)) and not isinstance(a, bool):
        if a < 0:
            raise ValueError(f"a: a number of elements cannot be negative, got {a}")
        element_dtype = dtype_of(np.float32 if dtype is None else dtype)
        require_supported(element_dtype, "dtype")
        rng = np.random.default_rng(0)
        reject_beyond_memory(int(a) * element_dtype.itemsize, "a")
        elements = np.empty(int(a), element_dtype)
        for start in range(0, elements.size, _DRAWN_AT_ONCE):
            piece = elements[start : start + _DRAWN_AT_ONCE]
            piece[...] = (
                rng.random(piece.size) if element_dtype.kind == "f" else rng.integers(0, 100, piece.size)
            )
        return elements
    if dtype is not None:
        raise TypeError("dtype: only valid if a is a number of elements, not an array")
    reject_masked(a, "a")
    return host_array(a, "a")


def _text(ctype: CType | None, kind: str, size: int) -> str:
    return f"a .{kind}{8 * size} parameter" if ctype is None else f"'{ctype.text}'"


def _limits(ctype: CType | None, size: int) -> tuple[int, int]:
    """Return the smallest and largest integer of a parameter; for PTX, from its width."""
    if ctype is not None and ctype.limits is not None:
        return ctype.limits
    if ctype is not None and ctype.pointer:
        return 0, 2 ** (8 * size) - 1
    least = 0 if size > 8 else -(2 ** (8 * size - 1))
    return least, 2 ** (8 * size) - 1


def _integer_bytes(value: int, ctype: CType | None, kind: str, size: int, name: str) -> bytes:
    least, most = _limits(ctype, size)
    if not least <= value <= most:
        raise ValueError(
            f"{name}: {value} does not fit {_text(ctype, kind, size)}, which holds {least} to {most}"
        )
    return value.to_bytes(size, "little", signed=value < 0)


def _half_bytes(value: float, dtype: str) -> bytes:
    if dtype == "float16":
        return struct.pack("<e", value)
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    if value != value:
        return struct.pack("<H", 0x7FFF)
    rounded = bits + 0x7FFF + (bits >> 16 & 1)
    if abs(value) != float("inf") and rounded >> 16 & 0x7FFF == 0x7F80:
        raise OverflowError
    return struct.pack("<H", rounded >> 16)


def _float_bytes(value: float, ctype: CType | None, kind: str, size: int, name: str) -> bytes:
    try:
        if ctype is not None and ctype.dtype in _HALVES:
            return _half_bytes(value, ctype.dtype)
        return struct.pack(_FLOATS[size], value)
    except OverflowError:
        raise ValueError(f"{name}: {value} does not fit {_text(ctype, kind, size)}") from None


def _plain(value: Any) -> Any:
    """Return a number as a Python number; other values unchanged."""
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, np.generic) and value.dtype.kind in "iuf":
        return value.item() if value.dtype != np.dtype("longdouble") else float(value)
    if isinstance(value, np.generic) and value.dtype.name in _HALVES:
        return float(value)
    return value


def _scalar_bytes(value: Any, ctype: CType | None, kind: str, size: int, name: str) -> bytes:
    """Return the bytes of a number in a parameter of one word, or of 128 bits."""
    if ctype is None and kind == "b" and isinstance(value, np.generic) and value.dtype.itemsize == size:
        return value.tobytes()  # in PTX, integers and floats have the same type here
    number = _plain(value)
    dtype = "" if ctype is None else ctype.dtype
    floating = dtype.startswith(("float", "bfloat")) or (not dtype and kind == "f")
    if isinstance(number, int) and not floating and kind in "bus":
        return _integer_bytes(number, ctype, kind, size, name)
    bits = ctype is None and kind == "b"
    if isinstance(number, (int, float)) and (floating or bits) and size in _FLOATS:
        return _float_bytes(number, ctype, kind, size, name)
    text = _text(ctype, kind, size)
    raise TypeError(f"{name}: expected a value for {text}, got {type(value).__name__}")


def _structure_bytes(value: Any, ctype: CType | None, length: int, name: str) -> bytes:
    """Return the bytes of a struct parameter."""
    if isinstance(value, (np.generic, np.ndarray)) and not value.dtype.hasobject and not value.shape:
        return value.tobytes()
    text = "the parameter" if ctype is None else f"'{ctype.text}'"
    raise TypeError(
        f"{name}: {text} has {length} bytes; pass them as bytes, or as a NumPy scalar of a structured dtype "
        f"of that size, got {type(value).__name__}"
    )


def is_array(value: Any, param: tuple[str, int, int]) -> bool:
    """Return whether a value is an array to be copied to the device, not a structure passed by value."""
    if not isinstance(value, np.ndarray) or value.ndim + value.size == 0:
        return False
    type_name, _, length = param
    structure = 8 * length != int(type_name[1:])
    return value.ndim > 0 or value.dtype.names is None or not structure


def check_type(value: Any, ctype: CType, param: tuple[str, int, int], name: str) -> None:
    """Raise TypeError for an array of another dtype, or a non-array for a pointer."""
    if is_array(value, param):
        have = f"an array of {value.dtype}"
        fits = ctype.pointer and ctype.elements in ("", value.dtype.name)
    else:
        have = f"{value!r} ({type(value).__name__})"
        null = isinstance(value, (int, np.integer)) and value == 0
        fits = not ctype.pointer or isinstance(value, (bytes, bytearray)) or null
    if not fits:
        raise TypeError(f"{name}: the kernel takes '{ctype.text}' here, got {have}")


def value_bytes(value: Any, ctype: CType | None, param: tuple[str, int, int], name: str) -> bytes:
    """Return the bytes of a parameter passed by value.

    `param` has its type, offset and size from the PTX.
    """
    type_name, _, length = param
    kind, element = type_name[0], int(type_name[1:]) // 8
    number = ctype is not None and bool(ctype.dtype) and not ctype.pointer
    if isinstance(value, (bytes, bytearray)):
        packed = bytes(value)
    elif length == element or number:
        packed = _scalar_bytes(value, ctype, kind, length, name)
    else:
        packed = _structure_bytes(value, ctype, length, name)
    if len(packed) != length:
        text = "the parameter" if ctype is None else f"'{ctype.text}'"
        raise ValueError(f"{name}: {text} has {length} bytes, got {len(packed)}")
    return packed
