"""Runs users' kernels on the simulator."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce import _core
from gpureduce._profiles.arguments import Types, check_type, is_array, value_bytes
from gpureduce._profiles.from_core import kernel_profiles, outer_file, race_scope, stopped
from gpureduce._profiles.itanium_demangle import demangled
from gpureduce._profiles.profile import Profile
from gpureduce._profiles.program import Program, program, with_sync
from gpureduce._profiles.program_order import with_program_order
from gpureduce._rules.arguments import integer

if TYPE_CHECKING:
    import os

_LARGEST = 2**31 - 1
_MOST_WORK = 100_000  # candidates for a shared element: about 1 ms
_KEPT_BYTES = 1 << 26  # of arrays, to run again for another block


Extent = tuple[int, int, int]
Extents = tuple[Extent, Extent, Extent]  # of the grid, a block, a cluster
_Placed = tuple[tuple[np.ndarray, int], ...]  # arrays, and the offsets of their parameters


def _extent(value: Any, name: str) -> Extent:
    """Return a grid or block as three numbers."""
    extents = (value,) if isinstance(value, (int, np.integer)) else value
    if isinstance(value, bool) or not isinstance(extents, Sequence) or not 1 <= len(extents) <= 3:
        raise TypeError(f"{name}: expected an int or up to three of them, got {value!r}")
    try:
        numbers = [operator.index(each) for each in extents]
    except TypeError:
        raise TypeError(f"{name}: expected an int or up to three of them, got {value!r}") from None
    if any(not 1 <= number <= _LARGEST for number in numbers):
        raise ValueError(f"{name}: expected 1 to {_LARGEST}, got {value!r}")
    x, y, z = [*numbers, 1, 1][:3]
    return x, y, z


def _check_array(array: np.ndarray, name: str) -> None:
    if array.dtype.hasobject:
        raise TypeError(f"{name}: an array of Python objects cannot be copied to a device")
    if not array.dtype.isnative:
        raise ValueError(f"{name}: the array is not in native byte order")


def _overlap(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two arrays share an element; True if that takes too long to determine."""
    try:
        most: Any = _MOST_WORK  # NumPy's stubs have only two values
        return np.shares_memory(one, other, max_work=most)
    except (RuntimeError, ValueError):  # numpy.exceptions.TooHardError is a RuntimeError
        return True


class _Arrays:
    """The array arguments: noncontiguous ones are copied, and copied back after the kernel."""

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
            if _overlap(original, array):
                raise ValueError(f"{name}: the array shares memory with another argument; pass copies")
        plain = array
        if not (array.flags.c_contiguous and array.flags.aligned) or type(array) is not np.ndarray:
            plain = np.array(array, order="C", subok=False)
        self.originals.append(array)
        self.plain.append(plain)
        self.places.append((plain, offset))

    def as_they_are(self) -> tuple[tuple[np.ndarray, int], ...]:
        """Return the arguments with copies of the arrays."""
        copies = {id(plain): plain.copy() for plain in self.plain}
        return tuple((copies[id(plain)], offset) for plain, offset in self.places)

    def copy_back(self) -> None:
        for original, plain in zip(self.originals, self.plain, strict=True):
            if original is not plain and original.flags.writeable:
                original[...] = plain


def _pack(
    args: Sequence[Any], params: list[tuple[str, int, int]], size: int, types: Types | None = None
) -> tuple[bytes, _Arrays]:
    if len(args) != len(params):
        known = types is not None and all(types)
        takes = f": {', '.join(each.text for each in types if each)}" if types and known else ""
        raise ValueError(f"args: the kernel takes {len(params)} arguments{takes}, got {len(args)}")
    if types is None or len(types) != len(params):
        types = [None] * len(params)
    buffer, arrays = bytearray(size), _Arrays()
    for i, (value, ctype, param) in enumerate(zip(args, types, params, strict=True)):
        name, (type_name, offset, length) = f"args[{i}]", param
        if not isinstance(value, (np.ndarray, np.generic)) and hasattr(value, "__dlpack__"):
            kind = type(value).__name__
            raise TypeError(
                f"{name}: expected a NumPy array or a number, got {kind}; numpy.asarray copies one"
            )
        if ctype is not None:
            check_type(value, ctype, param, name)
        if is_array(value, param):
            if type_name not in ("u64", "b64", "s64") or length != 8:
                raise TypeError(f"{name}: the kernel takes a .{type_name} here, not the address of an array")
            arrays.add(value, offset, name)
        else:
            buffer[offset : offset + length] = value_bytes(value, ctype, param, name)
    return bytes(buffer), arrays


def _launches_named(launches: list[tuple], kernel: str) -> list[tuple]:
    """Return the records of launches with the user's kernel name."""
    return [(kernel, *launch[1:]) for launch in launches]


def _demangled(problem: str, of: Program) -> str:
    """Return a message with demangled kernel names; PTX above a caret is unchanged."""
    lines = problem.split("\n")
    above_caret = [line.strip() == "^" for line in [*lines[1:], ""]]
    return "\n".join(
        line if verbatim else demangled(line.replace(of.entry, of.kernel))
        for line, verbatim in zip(lines, above_caret, strict=True)
    )


def _with_line(problem: str, of: Program, profile: Profile | None = None) -> str:
    """Return a message of the simulator with the user's source line, if it has only PTX.

    A kernel that exceeded its step limit has no single line: the most frequent one shows where it loops.
    """
    problem = _demangled(problem, of)
    match = re.search(r"\bline (\d+)\b", problem)
    number = int(match[1]) if match else 0
    if profile is not None and profile.kernels and not match:
        instructions = profile.kernels[0].instructions
        number = max(instructions, key=lambda each: each.counts.warp_instructions).ptx_line
    location = of.location(number)
    if location is None:
        return problem
    file, line = location
    text = of.line(file, line).strip()
    return f"{problem}\n{file}:{line}: {text}{_old_vote(problem, text)}"


def _old_vote(problem: str, text: str) -> str:
    """Return the replacement of a function whose instruction was removed from devices."""
    old = re.search(r"\b__(?:shfl(?:_up|_down|_xor)?|ballot|any|all)(?=\s*\()", text)
    return f"\n{with_sync(old[0])}" if old and "without .sync" in problem else ""


def simulate(
    source: str | os.PathLike[str],
    kernel: str,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[Any] = (),
    shared_bytes: int = 0,
    *,
    cluster: int | Sequence[int] = 1,
    races: bool | str = True,
    options: Iterable[str] = (),
    max_steps: int | None = None,
) -> Profile:
    """Run your own kernel on the simulator, with the counters and checks of `profile`.

    Parameters
    ----------
    source : str or path_like
        CUDA C++, which NVIDIA's NVRTC compiles (``pip install 'gpureduce[nvrtc]'``; no GPU is needed), or
        PTX, or the path of a file with either. A source with host code is compiled by ``nvcc`` if it is
        installed; otherwise the host code is ignored. Unsupported instructions raise an error with name and
        line.
    kernel : str
        Name of the kernel; for a template with its arguments, such as ``"reduce<float, 256>"``; for an
        overloaded kernel with its parameters, such as ``"sum(float *, int)"``. For PTX, the name of the
        ``.entry``, mangled or demangled.
    grid, block : int or sequence of up to three int
        Blocks, and threads per block.
    args : sequence
        One argument per parameter of the kernel: a NumPy array for a pointer, which is copied to the
        simulated device and, if writeable, back; a number for a scalar; bytes, or a NumPy scalar of a
        structured dtype, for a struct. Dtypes and values are checked against the types in the source: a
        number that does not fit an ``int`` raises ValueError. PTX only has the size of a parameter, so that
        an integer may be signed or unsigned.
    shared_bytes : int
        Bytes of dynamic shared memory per block.
    cluster : int or sequence of up to three int
        Blocks per cluster; 1 uses the setting of the kernel (``__cluster_dims__``).
    races : bool or "global"
        Whether to look for races in shared memory; ``"global"`` also looks for races between blocks in global
        memory.
    options : iterable of str
        Additional compiler options, such as ``("-DN=4", "-Iheaders")``. The defaults are
        ``-arch=compute_90``, ``-std=c++17`` and ``-fmad=false``; the last one makes results bitwise equal to
        those of a GPU.
    max_steps : int, optional
        Maximum number of PTX instructions, of all warps together, after which the kernel is stopped. Default:
        practically unlimited (hours); Ctrl-C stops it.

    Returns
    -------
    Profile
        Counters, races and errors refer to source lines; for PTX, if it was compiled with ``nvcc -lineinfo``.
        The output of ``printf`` is written to ``sys.stdout`` when the kernel ends or is stopped, in the order
        of the blocks, and is also in `Profile.printed`.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid; the message names the argument.
    CompileError
        If the compiler rejects the source; a subclass of ValueError, with the output of the compiler.
    ImportError
        If the source is CUDA C++ and NVRTC is not installed.
    OSError
        If the file cannot be read.
    SimulationError
        If the simulator does not support an instruction (the message has the instruction and its line), or
        stops the kernel: an access out of bounds, a deadlock, a barrier that some lanes do not reach, a
        failed ``assert``. The ``profile`` of the exception has the counters until then. Arrays are not
        changed.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> cuda = '''
    ... __global__ void twice(float *a) {
    ...     a[threadIdx.x] += a[threadIdx.x];
    ... }
    ... '''
    >>> a = np.arange(4, dtype=np.float32)
    >>> found = gpureduce.simulate(cuda, "twice", grid=1, block=4, args=[a])
    >>> a
    array([0., 2., 4., 6.], dtype=float32)
    >>> found.totals.global_requests, found.races
    (2, ())
    >>> [(line.number, line.text.strip()) for line in found.lines() if line.counts.global_requests]
    [(3, 'a[threadIdx.x] += a[threadIdx.x];')]

    PTX needs no compiler:

    >>> ptx = '''
    ... .version 7.0
    ... .target sm_75
    ... .address_size 64
    ... .visible .entry one(.param .u64 a)
    ... {
    ...     .reg .b64 %d0;
    ...     ld.param.u64 %d0, [a];
    ...     st.global.f32 [%d0], 0f3F800000;
    ...     ret;
    ... }
    ... '''
    >>> found = gpureduce.simulate(ptx, "one", grid=1, block=1, args=[a])
    >>> a
    array([1., 2., 4., 6.], dtype=float32)
    """
    try:
        profile = simulated(
            source, kernel, grid, block, args, shared_bytes,
            cluster=cluster, races=races, options=options, max_steps=max_steps,
        )  # fmt: skip
    except _core.SimulationError as error:
        _print(getattr(error, "profile", None))
        raise
    _print(profile)
    return profile


def _print(profile: Profile | None) -> None:
    if profile is not None and profile.printed:
        print(profile.printed, end="")


def simulated(
    source: str | os.PathLike[str],
    kernel: str,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[Any] = (),
    shared_bytes: int = 0,
    *,
    cluster: int | Sequence[int] = 1,
    races: bool | str = True,
    options: Iterable[str] = (),
    max_steps: int | None = None,
) -> Profile:
    """Run `simulate` without printing."""
    if not isinstance(kernel, str):
        raise TypeError(f"kernel: expected str, got {type(kernel).__name__}")
    scope = race_scope(races)
    if isinstance(args, (str, bytes, np.ndarray)) or not isinstance(args, Sequence):
        raise TypeError(f"args: expected a list or tuple of arguments, got {type(args).__name__}")
    extents = _extent(grid, "grid"), _extent(block, "block"), _extent(cluster, "cluster")
    shared = integer(shared_bytes, "shared_bytes")
    if not 0 <= shared <= _LARGEST:
        raise ValueError(f"shared_bytes: expected 0 or more, got {shared_bytes}")
    steps = None if max_steps is None else integer(max_steps, "max_steps")
    if steps is not None and steps < 1:
        raise ValueError(f"max_steps: expected 1 or more, got {max_steps}")
    return run(program(source, kernel, options), extents, args, shared, scope, steps)


def run(
    of: Program,
    extents: Extents,
    args: Sequence[Any],
    shared: int,
    races: int,
    steps: int | None = None,
) -> Profile:
    """Run a kernel with a grid, blocks and clusters of these extents."""
    try:
        params = _core.kernel_params(of.module, of.entry)
    except _core.SimulationError as error:
        raise _core.SimulationError(_with_line(str(error), of)) from None
    packed, arrays = _pack(args, *params, of.types)
    before = arrays.as_they_are() if sum(each.nbytes for each in arrays.plain) <= _KEPT_BYTES else None
    once = partial(_once, of, extents, packed, shared, steps)
    profile, problem = once(tuple(arrays.places), races, 0, 0)
    if before is not None:
        profile = replace(profile, _rerun=partial(_again, once, before))
    if problem is not None:
        raise stopped(_with_line(problem, of, profile), profile)
    arrays.copy_back()
    return profile


def _once(
    of: Program,
    extents: Extents,
    packed: bytes,
    shared: int,
    steps: int | None,
    arrays: _Placed,
    races: int,
    drawn: int,
    watched: int,
) -> tuple[Profile, str | None]:
    """Run a kernel, and return its profile and why it was stopped, if so."""
    grid, block, cluster = extents
    limit = {} if steps is None else {"steps": steps}
    launches, problem = _core.simulate(
        module=of.module,
        kernel=of.entry,
        grid=grid,
        block=block,
        cluster=cluster,
        params=packed,
        arrays=arrays,
        shared_bytes=shared,
        instruments=(races, drawn, watched),
        **limit,
    )
    file = next(iter(of.sources), "") or outer_file(launches)
    kernels = tuple(
        with_program_order(each, of.ptx, of.entry)
        for each in kernel_profiles(_launches_named(launches, of.kernel), file, drawn)
    )
    title = f"{of.kernel}: {' x '.join(map(str, grid))} blocks of {' x '.join(map(str, block))}"
    return Profile(title, kernels, file, sources=of.sources, compiler=of.compiler), problem


def _again(once: partial, before: _Placed, block: int, watched: int) -> Profile:
    """Run a kernel again with its original arrays, and record a block."""
    copies = {id(array): array.copy() for array, _ in before}
    arrays = tuple((copies[id(array)], offset) for array, offset in before)
    profile: Profile = once(arrays, False, block, watched)[0]
    return profile
