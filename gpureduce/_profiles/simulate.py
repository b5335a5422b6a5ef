"""Running PTX of one's own on the simulator."""

from __future__ import annotations

import operator
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._profiles.observed import kernel_profiles, outer_file, stopped
from gpureduce._profiles.profile import Profile

_LARGEST = 2**31 - 1


def _extent(value: Any, name: str) -> tuple[int, int, int]:
    """Return a grid or block as three numbers."""
    given = (value,) if isinstance(value, (int, np.integer)) else value
    if isinstance(value, bool) or not isinstance(given, Sequence) or not 1 <= len(given) <= 3:
        raise TypeError(f"{name}: expected an int or up to three of them, got {value!r}")
    try:
        numbers = [operator.index(each) for each in given]
    except TypeError:
        raise TypeError(f"{name}: expected an int or up to three of them, got {value!r}") from None
    if any(not 1 <= number <= _LARGEST for number in numbers):
        raise ValueError(f"{name}: expected 1 to {_LARGEST}, got {value!r}")
    x, y, z = [*numbers, 1, 1][:3]
    return x, y, z


def _integer_bytes(value: int, kind: str, size: int, name: str) -> bytes:
    signed = kind == "s" or (kind == "b" and value < 0)
    try:
        return int(value).to_bytes(size, "little", signed=signed)
    except OverflowError:
        raise ValueError(f"{name}: {value} does not fit a .{kind}{8 * size} parameter") from None


def _scalar_bytes(value: Any, kind: str, size: int, name: str) -> bytes:
    """Return one scalar argument as the parameter holds it."""
    if isinstance(value, (bool, np.bool_)):
        value = int(value)
    if isinstance(value, np.generic) and value.dtype.kind in "iuf":
        if kind == "b" and value.dtype.itemsize == size:
            return value.tobytes()
        value = value.item()
    if isinstance(value, int) and kind in "bus":
        return _integer_bytes(value, kind, size, name)
    if isinstance(value, (int, float)) and kind in "bf" and size in (2, 4, 8):
        try:
            return struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], value)
        except OverflowError:
            raise ValueError(f"{name}: {value} does not fit a .{kind}{8 * size} parameter") from None
    raise TypeError(f"{name}: expected a value for a .{kind}{8 * size} parameter, got {type(value).__name__}")


def _check_array(array: np.ndarray, name: str) -> None:
    if array.dtype.hasobject:
        raise TypeError(f"{name}: an array of Python objects cannot be on a device")
    if not array.dtype.isnative:
        raise ValueError(f"{name}: the array is not in native byte order")


class _Arrays:
    """The array arguments: copied where they are not contiguous, and back when the kernel is done."""

    def __init__(self) -> None:
        self.originals: list[np.ndarray] = []
        self.plain: list[np.ndarray] = []
        self.places: list[tuple[np.ndarray, int]] = []

    def add(self, array: np.ndarray, offset: int, name: str) -> None:
        _check_array(array, name)
        for original, plain in zip(self.originals, self.plain, strict=True):
            if original is array:
                self.places.append((plain, offset))
                return
            if np.may_share_memory(original, array):
                raise ValueError(f"{name}: the array shares memory with another argument; pass copies")
        plain = array
        if not (array.flags.c_contiguous and array.flags.aligned) or type(array) is not np.ndarray:
            plain = np.array(array, order="C", subok=False)
        self.originals.append(array)
        self.plain.append(plain)
        self.places.append((plain, offset))

    def copy_back(self) -> None:
        for original, plain in zip(self.originals, self.plain, strict=True):
            if original is not plain and original.flags.writeable:
                original[...] = plain


def _pack(args: Sequence[Any], params: list[tuple[str, int, int]], size: int) -> tuple[bytes, _Arrays]:
    if len(args) != len(params):
        raise ValueError(f"args: the kernel takes {len(params)} arguments, got {len(args)}")
    buffer, arrays = bytearray(size), _Arrays()
    for i, (value, (type_name, offset, length)) in enumerate(zip(args, params, strict=True)):
        name, kind, element = f"args[{i}]", type_name[0], int(type_name[1:]) // 8
        if isinstance(value, np.ndarray) and value.ndim + value.size > 0:
            if kind == "f" or element != 8 or length != 8:
                raise TypeError(f"{name}: the kernel takes a .{type_name} here, not the address of an array")
            arrays.add(value, offset, name)
            continue
        if isinstance(value, (bytes, bytearray)):
            packed = bytes(value)
        elif length == element:
            packed = _scalar_bytes(value, kind, element, name)
        else:
            raise TypeError(f"{name}: the parameter has {length} bytes; pass them as bytes")
        if len(packed) != length:
            raise ValueError(f"{name}: the parameter has {length} bytes, got {len(packed)}")
        buffer[offset : offset + length] = packed
    return bytes(buffer), arrays


def simulate(
    ptx: str,
    kernel: str,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[Any] = (),
    shared_bytes: int = 0,
    *,
    cluster: int | Sequence[int] = 1,
    races: bool = True,
) -> Profile:
    """Run a kernel of your own, given as PTX, on the simulator, with the counters and checks of `profile`.

    ``nvcc -ptx -lineinfo -arch=compute_75 file.cu`` makes such PTX; ``-lineinfo`` is what ties counters and
    races to lines of CUDA.

    Parameters
    ----------
    ptx : str
        The text. An instruction outside the simulator's subset is refused by name and line.
    kernel : str
        The name of the ``.entry``; of a kernel that is not ``extern "C"`` the mangled one.
    grid, block : int or sequence of up to three int
        Blocks, and threads a block.
    args : sequence
        One for each parameter of the kernel: a NumPy array for a pointer, copied to the simulated device and,
        if it is writeable, back; a number for a scalar; bytes for a structure.
    shared_bytes : int
        Bytes of dynamic shared memory a block.
    cluster : int or sequence of up to three int
        Blocks of a cluster; 1 leaves it to the kernel (``__cluster_dims__``).
    races : bool
        Whether to look for races.

    Returns
    -------
    Profile

    Raises
    ------
    TypeError, ValueError
        For arguments that do not fit; the message names the argument.
    SimulationError
        For PTX that the simulator does not know, naming the instruction and its line, and for a kernel that
        it stops: an access out of bounds, a deadlock, a barrier that some lanes miss. Of the latter the
        exception's ``profile`` holds what was seen until then. No array is changed.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> ptx = '''
    ... .version 7.0
    ... .target sm_75
    ... .address_size 64
    ... .visible .entry twice(.param .u64 a)
    ... {
    ...     .reg .b32 %r<1>;
    ...     .reg .b64 %d<3>;
    ...     .reg .f32 %f<2>;
    ...     ld.param.u64 %d0, [a];
    ...     mov.u32 %r0, %tid.x;
    ...     mul.wide.u32 %d1, %r0, 4;
    ...     add.u64 %d2, %d0, %d1;
    ...     ld.global.f32 %f0, [%d2];
    ...     add.f32 %f1, %f0, %f0;
    ...     st.global.f32 [%d2], %f1;
    ...     ret;
    ... }
    ... '''
    >>> a = np.arange(4, dtype=np.float32)
    >>> found = gpureduce.simulate(ptx, "twice", grid=1, block=4, args=[a])
    >>> a
    array([0., 2., 4., 6.], dtype=float32)
    >>> found.totals.global_requests, found.races
    (2, ())
    """
    for name, value in (("ptx", ptx), ("kernel", kernel)):
        if not isinstance(value, str):
            raise TypeError(f"{name}: expected str, got {type(value).__name__}")
    if "\0" in kernel:
        raise ValueError("kernel: a name has no NUL character")
    if not isinstance(races, bool):
        raise TypeError(f"races: expected bool, got {type(races).__name__}")
    if isinstance(args, (str, bytes, np.ndarray)) or not isinstance(args, Sequence):
        raise TypeError(f"args: expected a list or tuple of arguments, got {type(args).__name__}")
    extents = _extent(grid, "grid"), _extent(block, "block"), _extent(cluster, "cluster")
    shared = operator.index(shared_bytes)
    if not 0 <= shared <= _LARGEST:
        raise ValueError(f"shared_bytes: expected 0 or more, got {shared_bytes}")
    packed, arrays = _pack(args, *_core.kernel_params(ptx, kernel))

    def run(drawn: int, given: tuple) -> tuple[Profile, str | None]:
        _, launches, problem = _core.simulate(ptx, kernel, *extents, packed, given, shared, races, drawn)
        title = f"{kernel}: {' x '.join(map(str, extents[0]))} blocks of {' x '.join(map(str, extents[1]))}"
        file = outer_file(launches)
        return Profile(title, kernel_profiles(launches, file, drawn), file), problem

    profile, problem = run(0, tuple(arrays.places))
    if problem is not None:
        raise stopped(problem, profile)
    arrays.copy_back()
    return profile
