"""Users' reduction kernels, launched pass by pass on the simulator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._device.variants import NAMES
from gpureduce._profiles.arguments import elements_of
from gpureduce._profiles.from_core import race_scope
from gpureduce._profiles.profile import Profile
from gpureduce._profiles.program import Program, program
from gpureduce._profiles.records import KernelProfile
from gpureduce._profiles.simulate import run
from gpureduce._rules.arguments import host_array, reject_beyond_memory
from gpureduce._rules.dtypes import dtype_of
from gpureduce._rules.equality import WithArrays

_LAST_PASS_SPAN = 64  # elements per thread in the last pass of a fixed grid, as for our rungs
_LARGEST_BLOCK = 1024
_MOST_BLOCKS = 2**31 - 1  # of a grid
_MOST_SHARED = 227 << 10  # bytes per block
_STEPS, _STEPS_OF_ONE = 1 << 26, 64  # warp instructions per pass and per element, more than any rung needs
_NEVER_SET = 0xFF  # value of each byte of `out`: NaN for floats
_SIGNATURE = "(const float *in, float *out, uint64_t n)"
WHOLE_BLOCKS = "has no parameter n and supports whole blocks only"

Grid = int | Callable[[int, int], int] | None


@dataclass(frozen=True, eq=False)
class Pass(WithArrays):
    """One launch of a reduction kernel: its input, its results, and its record."""

    given: np.ndarray[Any, Any]
    left: np.ndarray[Any, Any]
    profile: Profile
    writes_input: bool


@dataclass(frozen=True)
class UserKernel:
    """A reduction kernel and its launch parameters. See `OwnRung`."""

    name: str
    kernel: str
    dtype: np.dtype
    block_sizes: tuple[int, ...]
    elements: int
    takes_n: bool
    _program: Program = field(repr=False)
    _grid: Grid = field(repr=False, default=None)
    _shared: int | None = field(repr=False, default=None)

    def blocks(self, n: int, block_size: int, first: bool = True) -> int:
        """Return the number of blocks of a pass over `n` elements."""
        whole = max(1, -(-n // self._span(block_size)))
        if callable(self._grid):
            blocks = _block_count(self._grid(n, block_size))
            if blocks < 1:
                raise ValueError(f"grid: {blocks} blocks for {n:,} elements; expected at least one")
            return blocks
        if self._grid is None:
            return whole
        if not first and n <= _LAST_PASS_SPAN * block_size:
            return 1
        return min(self._grid, whole)

    def _span(self, block_size: int) -> int:
        """Return the number of elements per block."""
        return block_size * self.elements

    def fits(self, n: int, block_size: int) -> bool:
        """Return whether the kernel supports `n` elements; without a parameter n, only whole blocks."""
        return self.takes_n or (n > 0 and n % self._span(block_size) == 0)

    def check_size(self, n: int, block_size: int, name: str) -> None:
        """Raise ValueError with the name of the argument if `fits` is false."""
        if not self.fits(n, block_size):
            raise ValueError(
                f"{name}: {self.kernel} {WHOLE_BLOCKS}, of {self._span(block_size):,} elements each; "
                f"got {n:,} elements"
            )

    def padded(self, count: int, block_size: int) -> int:
        """Return the number of elements of a pass over `count` results; without n, whole blocks."""
        span = self._span(block_size)
        return count if self.takes_n else -(-count // span) * span

    def passes(
        self, data: np.ndarray, block_size: int, *, races: int = 0, filled: int = _NEVER_SET
    ) -> Iterator[Pass]:
        """Yield the launches that reduce an array, each when it is complete."""
        self.check_size(len(data), block_size, "a")
        source, first = data, True
        while True:
            blocks = self.blocks(len(source), block_size, first)
            if not first and blocks >= len(source):
                raise ValueError(
                    f"grid: {blocks} blocks for {len(source):,} elements; the passes would never end"
                )
            reject_beyond_memory(blocks * self.dtype.itemsize, "grid")
            source_array = (
                source.copy()
                if source.size
                else np.full(1, _NEVER_SET, np.uint8).repeat(self.dtype.itemsize).view(self.dtype)
            )  # a valid address, without elements
            left = np.full(blocks * self.dtype.itemsize, filled, np.uint8).view(self.dtype)
            before = source_array.tobytes()
            extents = ((blocks, 1, 1), (block_size, 1, 1), (1, 1, 1))
            shared = self._shared_bytes(block_size)
            steps = max(_STEPS, _STEPS_OF_ONE * len(source))
            args = [source_array, left, len(source)] if self.takes_n else [source_array, left]
            seen = run(self._program, extents, args, shared, races, steps)
            yield Pass(source, left, seen, source_array.tobytes() != before)
            if blocks == 1:
                return
            source, first = np.zeros(self.padded(blocks, block_size), self.dtype), False
            source[:blocks] = left

    def _shared_bytes(self, block_size: int) -> int:
        return block_size * self.dtype.itemsize if self._shared is None else self._shared

    def _size(self, block_size: int | None) -> int:
        return self.block_sizes[0] if block_size is None else _block(block_size)

    def _data(self, a: Any) -> np.ndarray:
        data = np.ascontiguousarray(host_array(a, "a")).reshape(-1)
        if data.dtype != self.dtype:
            raise TypeError(f"a: {self.kernel} takes elements of {self.dtype}, got {data.dtype}")
        return data

    def profile(self, a: Any, *, block_size: int | None = None, races: bool | str = True) -> Profile:
        """Run the kernel on the simulator, with counters for each source line.

        Parameters
        ----------
        a : array_like or int
            Array to reduce; an integer n stands for n random elements.
        block_size : int, optional
            Threads per block. Default: the first of `block_sizes`.
        races : bool or "global"
            Whether to look for races in shared memory; ``"global"`` also looks for races between blocks in
            global memory.

        Returns
        -------
        Profile
            Profile of all passes, with the result; ``profile(...).compare(gpureduce.profile(n, "v2"))``
            compares it with a rung of the package.
        """
        own = self.dtype if isinstance(a, (int, np.integer)) else None
        data, threads = self._data(elements_of(a, own)), self._size(block_size)
        self.check_size(data.size, threads, "a")
        seen = list(self.passes(data, threads, races=race_scope(races)))
        title = f"{self.name}: sum of {data.size:,} {data.dtype.name}, {threads} threads per block"
        kernels = tuple(each.profile.kernels[0] for each in seen)
        return replace(
            seen[0].profile, title=title, kernels=kernels, variant=self.name, n=data.size,
            result=seen[-1].left[0], _rerun=partial(_again, tuple(each.profile for each in seen)),
        )  # fmt: skip


def _again(profiles: tuple[Profile, ...], block: int, watched: int) -> Profile:
    """Run all passes again and record a block."""
    kernels: list[KernelProfile] = []
    for each in profiles:
        assert each._rerun is not None
        blocks = each.kernels[0].grid[0]
        kernels += each._rerun(min(block, blocks - 1), watched).kernels
    return replace(profiles[0], kernels=tuple(kernels))


def _block(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"block_size: expected int, got {type(value).__name__}")
    if not 1 <= value <= _LARGEST_BLOCK:
        raise ValueError(f"block_size: expected 1 to {_LARGEST_BLOCK} threads, got {value}")
    return int(value)


def _block_count(value: Any) -> int:
    """Return what a function given as ``grid=`` returns."""
    if not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"grid: expected a function that returns a number, not {type(value).__name__}")
    if not -_MOST_BLOCKS <= value <= _MOST_BLOCKS:
        raise ValueError(f"grid: expected a function that returns up to {_MOST_BLOCKS:,} blocks")
    return int(value)


def _positive(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name}: expected int, got {type(value).__name__}")
    if value < 1:
        raise ValueError(f"{name}: expected 1 or more, got {value}")
    return int(value)


def _parameters(of: Program, dtype: Any) -> tuple[np.dtype, bool]:
    """Return the dtype of a kernel's elements, and whether it takes n; raise for other kernels."""
    types = None if of.types is None else [each for each in of.types if each is not None]
    if of.types is None or types is None or len(types) < len(of.types):
        sizes = [length for _, _, length in _core.kernel_params(of.module, of.entry)[0]]
        if sizes not in ([8, 8], [8, 8, 4], [8, 8, 8]):
            raise ValueError(f"kernel: expected a kernel such as {of.kernel}{_SIGNATURE}")
        return dtype_of("float32" if dtype is None else dtype), len(sizes) == 3
    pointers = [each.pointer for each in types] in ([True, True], [True, True, False])
    if not pointers or not types[0].elements or (len(types) == 3 and types[2].limits is None):
        takes = ", ".join(each.text for each in types)
        raise ValueError(
            f"kernel: expected a kernel such as {of.kernel}{_SIGNATURE}; this one takes ({takes})"
        )
    one, other = types[:2]
    if one.dtype != other.dtype:
        raise ValueError(
            f"kernel: in and out must have the same type, because the kernel also reduces the results of its "
            f"blocks; got '{one.text}' and '{other.text}'"
        )
    return np.dtype(one.dtype), len(types) == 3


def user_kernel(
    source: object,
    kernel: str | None = None,
    *,
    name: str = "mine",
    block_size: int | Sequence[int] = 256,
    elements: int = 1,
    grid: Grid = None,
    shared_bytes: int | None = None,
    dtype: Any = None,
    options: Iterable[str] = (),
) -> UserKernel:
    """Return a kernel from the arguments of `ladder`."""
    if not isinstance(name, str):
        raise TypeError(f"name: expected str, got {type(name).__name__}")
    if name in NAMES or not name.isidentifier():
        raise ValueError(f"name: {name!r} is not an identifier, or is the name of a variant")
    block_sizes = block_size if isinstance(block_size, Sequence) else (block_size,)
    if not block_sizes:
        raise ValueError("block_size: expected one or more")
    sizes, elements = tuple(_block(each) for each in block_sizes), _positive(elements, "elements")
    if grid is not None and not callable(grid):
        grid = _positive(grid, "grid")
    if shared_bytes is not None and not (isinstance(shared_bytes, int) and shared_bytes == 0):
        shared_bytes = _positive(shared_bytes, "shared_bytes")
        if shared_bytes > _MOST_SHARED:
            raise ValueError(f"shared_bytes: expected up to {_MOST_SHARED:,}, which a block has")
    parsed = program(source, kernel, options)
    element, takes_n = _parameters(parsed, dtype)
    if grid is not None and not takes_n:
        raise ValueError(
            f"grid: {parsed.kernel} has no parameter n, a block reduces block_size * elements elements"
        )
    return UserKernel(
        name,
        parsed.kernel,
        element,
        sizes,
        elements,
        takes_n,
        parsed,
        grid,
        shared_bytes,
    )
