"""Profiles: what the kernels of a reduction do, by instruction and by line, and their races."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce import _numpy_rules as rules
from gpureduce._counts import COUNTER_FIELDS, Counts, from_row, total
from gpureduce._timeline import Timeline
from gpureduce._variants import KERNELS, Variant, find

_NO_BLOCK = 2**64 - 1
_HAZARDS = {
    "write-read": "reads what another thread has written",
    "read-write": "overwrites what another thread may still have to read",
    "write-write": "overwrites what another thread has written",
    "uninitialised": "reads shared memory that nobody has written",
    "barrier": "is not at the barrier at which other threads of the block wait",
}


@dataclass(frozen=True)
class Instruction:
    """One PTX instruction of a kernel.

    Attributes
    ----------
    ptx_line : int
        Its line in the PTX text, from 1.
    text : str
        That line.
    frames : tuple of (str, int)
        File and line in the CUDA source, from the innermost inlined function outwards; empty without
        ``-lineinfo``.
    effect : str
        ``"load"``, ``"store"``, ``"atomic"``, ``"branch"``, ``"barrier"``, ``"warp_sync"`` or ``""``.
    counts : Counts
        What it did.
    """

    ptx_line: int
    text: str
    frames: tuple[tuple[str, int], ...]
    effect: str
    counts: Counts = field(repr=False)

    def line_in(self, file: str) -> int | None:
        """Return the line of `file` that the instruction belongs to: the innermost of its frames there."""
        return next((line for name, line in self.frames if name == file), None)


@dataclass(frozen=True)
class Line:
    """One line of source with the sum of its instructions' counters."""

    file: str
    number: int
    text: str
    counts: Counts = field(repr=False)


@dataclass(frozen=True)
class Round:
    """One stretch between two barriers of the block, over all blocks.

    Attributes
    ----------
    number : int
        0 is the stretch before the first barrier.
    blocks : int
        Blocks that ran it.
    warps, idle_warps : int
        Warps in those blocks, and those of them that neither accessed memory nor exchanged data with other
        lanes.
    threads, idle_threads : int
        The same for threads.
    shared_wavefronts, shared_ideal : int
        Passes through shared memory, and without bank conflicts.
    """

    number: int
    blocks: int
    warps: int
    idle_warps: int
    threads: int
    idle_threads: int
    shared_wavefronts: int
    shared_ideal: int


@dataclass(frozen=True)
class Access:
    """One side of a race: which thread of which block did it where. A copy counts as done by who began it."""

    file: str
    line: int
    ptx_line: int
    ptx: str
    thread: int
    block: int

    @property
    def warp(self) -> int:
        """The warp of the thread, in its block."""
        return self.thread // 32

    @property
    def lane(self) -> int:
        """The lane of the thread, in its warp."""
        return self.thread % 32

    @property
    def place(self) -> str:
        """File and line, or the line of PTX where no source line is known."""
        return f"{self.file.rsplit('/', 1)[-1]}:{self.line}" if self.file else f"PTX line {self.ptx_line}"

    def __str__(self) -> str:
        return f"thread {self.thread} (warp {self.warp}, lane {self.lane}) at {self.place}"


@dataclass(frozen=True)
class Race:
    """A hazard between two instructions.

    Attributes
    ----------
    kind : str
        ``"write-read"``, ``"read-write"`` or ``"write-write"`` (in this order, by threads that nothing
        orders), ``"uninitialised"`` (read before anybody wrote) or ``"barrier"`` (threads that are not at the
        barrier where others wait).
    first, second : Access or None
        The two sides in the order in which the simulator met them; of an uninitialised read only the second.
    kernel : str
        The kernel.
    block : int
        Linear number of the block whose shared memory it is, in this example, the lowest in which it was met.
        In a cluster the threads may be of other blocks: `Access.block`.
    address : int
        The byte of shared memory; 0 for a barrier.
    count : int
        How often it was met, lane by lane.
    """

    kind: str
    first: Access | None
    second: Access | None
    kernel: str
    block: int
    address: int
    count: int

    @property
    def same_warp(self) -> bool:
        """Whether both threads are of one warp, where ``__syncwarp`` would order them."""
        return self.same_block and self.first.warp == self.second.warp

    @property
    def same_block(self) -> bool:
        """Whether both threads are of one block."""
        return self.first is not None and self.second is not None and self.first.block == self.second.block

    @property
    def by_copy(self) -> bool:
        """Whether the first side is a copy by the hardware, such as a bulk copy."""
        return self.first is not None and re.search(r"\b(cp|st)\.async\b", self.first.ptx) is not None

    @property
    def missing(self) -> str:
        """What would order the two sides."""
        if self.kind in ("uninitialised", "barrier"):
            return "a write" if self.kind == "uninitialised" else "one barrier for all"
        if self.by_copy and self.kind != "read-write":
            return "a wait at the mbarrier of the copy, or a barrier before it"
        if not self.same_block:
            return "a barrier of the cluster"
        return "__syncwarp" if self.same_warp else "__syncthreads"

    def _side(self, side: Access | None) -> str:
        elsewhere = side is not None and side.block != self.block
        return f"{side} of block {side.block}" if elsewhere else str(side or "")

    def __str__(self) -> str:
        where = f"{self.kernel}, block {self.block}"
        if self.kind == "barrier":
            others = f"; {self.second}" if self.second else ""
            return f"barrier ({where}): {self.first} waits{others} {_HAZARDS['barrier']}"
        second, first = self._side(self.second), self._side(self.first)
        text = f"{self.kind} ({where}, shared byte {self.address}): {second} {_HAZARDS[self.kind]}"
        if first:
            text += f", {first}; {self.missing} is missing between"
        return f"{text} (met {self.count:,} times)"


@dataclass(frozen=True)
class KernelProfile:
    """What one launch did.

    Attributes
    ----------
    name : str
        The kernel.
    grid, block : tuple of int
        Blocks, and threads a block, along x, y and z.
    shared_bytes : int
        Shared memory of a block, static and dynamic.
    instructions : tuple of Instruction
        In the order of the PTX.
    rounds : tuple of Round
        The stretches between barriers of the block, up to 1024; the last takes what comes later.
    races : tuple of Race
        Hazards in shared memory and at barriers.
    """

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    instructions: tuple[Instruction, ...] = field(repr=False)
    rounds: tuple[Round, ...] = field(repr=False)
    races: tuple[Race, ...] = field(repr=False)
    timeline: Timeline | None = field(repr=False, default=None)

    @property
    def totals(self) -> Counts:
        """The sum over all instructions."""
        return total([each.counts for each in self.instructions])


@dataclass(frozen=True)
class Profile:
    """What the kernels of one call did on the simulator. See `profile` and `simulate`.

    Attributes
    ----------
    title : str
        What ran.
    kernels : tuple of KernelProfile
        The launches in order.
    file : str
        The CUDA source file of the variant, as ``Instruction.frames`` names it; empty for a user's PTX.
    variant : str
        The variant; empty for a user's PTX.
    n : int
        Elements reduced; 0 for a user's PTX.
    result : numpy.generic or None
        What the reduction gave.
    """

    title: str
    kernels: tuple[KernelProfile, ...]
    file: str = ""
    variant: str = ""
    n: int = 0
    result: Any = None
    _rerun: Callable[[int], Profile] | None = field(repr=False, compare=False, default=None)

    @property
    def totals(self) -> Counts:
        """The sum over all launches."""
        return total([kernel.totals for kernel in self.kernels])

    @property
    def races(self) -> tuple[Race, ...]:
        """The hazards of all launches; one that several launches of a kernel have is there once."""
        found: dict[tuple, Race] = {}
        for race in (race for kernel in self.kernels for race in kernel.races):
            sides = [side and side.ptx_line for side in (race.first, race.second)]
            key = (race.kernel, race.kind, race.same_warp, *sides)
            count = found[key].count if key in found else 0
            found[key] = replace(found.get(key, race), count=count + race.count)
        return tuple(found.values())

    def lines(self, file: str | None = None) -> tuple[Line, ...]:
        """Return the lines of a source file that have instructions, with their counters.

        What was inlined counts for the line of `file` that called it; so the sums over two files are not to
        be added up.

        Parameters
        ----------
        file : str, optional
            As ``Instruction.frames`` names it; None takes the variant's own, or of a user's PTX the file of
            the first instruction that has one.

        Returns
        -------
        tuple of Line
            By line number, over all launches.

        Raises
        ------
        ValueError
            When no instruction comes from `file`; the message lists the files there are.
        """
        file = self._known_file(file)
        by_line: dict[int, list[Counts]] = {}
        for kernel in self.kernels:
            for instruction in kernel.instructions:
                number = instruction.line_in(file)
                if number is not None:
                    by_line.setdefault(number, []).append(instruction.counts)
        texts = dict(enumerate(source_lines(file), 1))
        return tuple(
            Line(file, number, texts.get(number, ""), total(by_line[number])) for number in sorted(by_line)
        )

    def files(self) -> tuple[str, ...]:
        """Return the source files that instructions come from, the variant's own first."""
        seen = {self.file: None} if self.file else {}
        for kernel in self.kernels:
            for instruction in kernel.instructions:
                seen.update(dict.fromkeys(name for name, _ in instruction.frames))
        return tuple(seen)

    def _known_file(self, file: str | None) -> str:
        files = self.files()
        if file is None:
            if not files:
                raise ValueError("file: the PTX has no source lines; compile it with nvcc -lineinfo")
            return files[0]
        matches = [name for name in files if name == file or name.endswith(f"/{file}")]
        if not matches:
            raise ValueError(
                f"file: no instruction comes from {file!r}; there are {', '.join(files) or 'none'}"
            )
        return matches[0]

    def annotate(self, file: str | None = None, *, ptx: bool = False) -> str:
        """Return the source with its counters in the margin.

        Parameters
        ----------
        file : str, optional
            Which source file, of `files`; None takes the variant's own.
        ptx : bool
            Whether to show the lines of PTX that ran instead of the CUDA source. A user's PTX without source
            lines is always shown so.

        Returns
        -------
        str
        """
        from gpureduce._profile_text import annotate_cuda, annotate_ptx

        if ptx or (file is None and not any(source_lines(name) for name in self.files())):
            return annotate_ptx(self)
        return annotate_cuda(self, self._known_file(file))

    def compare(self, other: Profile) -> Comparison:
        """Return the totals of two profiles side by side.

        Parameters
        ----------
        other : Profile
            The one to compare with.

        Returns
        -------
        Comparison
            `str` of it is a table; Jupyter shows it as one.
        """
        if not isinstance(other, Profile):
            raise TypeError(f"other: expected Profile, got {type(other).__name__}")
        return Comparison(self, other)

    def timeline(self, block: int = 0, kernel: int = 0) -> Timeline:
        """Return what each thread of one block did between barriers.

        Parameters
        ----------
        block : int
            Linear number of the block. Another than block 0 is simulated once more.
        kernel : int
            Which launch, of `kernels`.

        Returns
        -------
        Timeline
            `str` of it is a drawing; ``plot()`` draws it with matplotlib.

        Raises
        ------
        ValueError
            For a block or launch that there is not.
        """
        if not 0 <= kernel < len(self.kernels):
            raise ValueError(f"kernel: expected 0 to {len(self.kernels) - 1}, got {kernel}")
        launched = self.kernels[kernel]
        blocks = launched.grid[0] * launched.grid[1] * launched.grid[2]
        if not 0 <= block < blocks:
            raise ValueError(f"block: expected 0 to {blocks - 1}, got {block}")
        found = launched.timeline
        if found is None or found.block != block:
            if self._rerun is None:
                raise ValueError(f"block: only the timeline of block {found.block if found else 0} was kept")
            found = self._rerun(block).kernels[kernel].timeline
        return found

    def __str__(self) -> str:
        from gpureduce._profile_text import summary

        return summary(self)

    def _repr_html_(self) -> str:
        from gpureduce._profile_html import profile_html

        return profile_html(self)


@dataclass(frozen=True)
class Comparison:
    """Two profiles side by side."""

    left: Profile
    right: Profile

    def rows(self) -> list[tuple[str, float, float]]:
        """Return what is compared: a name and the two figures."""
        from gpureduce._profile_text import comparison_rows

        return comparison_rows(self.left, self.right)

    def __str__(self) -> str:
        from gpureduce._profile_text import comparison_table

        return comparison_table(self)

    def _repr_html_(self) -> str:
        from gpureduce._profile_html import comparison_html

        return comparison_html(self)


def source_lines(file: str) -> list[str]:
    """Return the lines of a kernel source that the package carries; none of any other file."""
    if not file.startswith("cuda_kernels/"):
        return []
    try:
        return (KERNELS / "src" / file.removeprefix("cuda_kernels/")).read_text("utf-8").splitlines()
    except FileNotFoundError:
        return []


# From what the core returns


def _race(fields: tuple, kernel: str, instructions: tuple[Instruction, ...], file: str) -> Race:
    kind, first, second, first_thread, second_thread, first_block, second_block, *rest = fields

    def side(index: int, thread: int, of: int) -> Access | None:
        if index < 0:
            return None
        at = instructions[index]
        line = at.line_in(file)
        name, number = (file, line) if line is not None else at.frames[0] if at.frames else ("", 0)
        return Access(name, number, at.ptx_line, at.text, thread, of)

    sides = side(first, first_thread, first_block), side(second, second_thread, second_block)
    return Race(kind, *sides, kernel, *rest)


def _kernel_profile(record: tuple, file: str, block: int) -> KernelProfile:
    name, grid, shape, shared, static, counters, rounds, drawn, races, _dropped = record
    rows = np.frombuffer(counters, dtype=np.uint64).reshape(-1, COUNTER_FIELDS)
    branches = {branch for *_, branch in static}
    instructions = tuple(
        Instruction(
            line,
            text,
            frames,
            effect,
            from_row(rows[i], effect, rows[branch] if branch >= 0 else None, i in branches),
        )
        for i, (line, text, effect, frames, branch) in enumerate(static)
    )
    found = tuple(_race(race, name, instructions, file) for race in races or ())
    stretches = tuple(
        Round(i, blocks, warps, warps - working, threads, threads - busy, wavefronts, ideal)
        for i, (blocks, warps, working, threads, busy, wavefronts, ideal) in enumerate(
            np.frombuffer(rounds, dtype=np.uint64).reshape(-1, 7).tolist()
        )
    )
    timeline = None
    if drawn is not None:
        states = np.frombuffer(drawn[2], dtype=np.uint8).reshape(drawn[0], drawn[1])
        timeline = Timeline(name, block, states)
    return KernelProfile(name, grid, shape, shared, instructions, stretches, found, timeline)


def kernel_profiles(launches: list[tuple], file: str, block: int) -> tuple[KernelProfile, ...]:
    """Return the records of launches as the core tells them."""
    return tuple(_kernel_profile(record, file, block) for record in launches)


def outer_file(launches: list[tuple]) -> str:
    """Return the source file of the first instruction that has one, that of the kernel itself."""
    frames = (frames for record in launches for _, _, _, frames, _ in record[4] if frames)
    return next((chain[-1][0] for chain in frames), "")


def stopped(message: str, profile: Profile) -> _core.SimulationError:
    """Return the exception for a kernel that the simulator stopped, with the profile until then."""
    error = _core.SimulationError(message)
    error.profile = profile
    return error


# The public function


def _data(arr_or_n: Any, dtype: Any) -> np.ndarray:
    """Return the array to reduce; an integer n stands for n random elements."""
    if isinstance(arr_or_n, (int, np.integer)) and not isinstance(arr_or_n, bool):
        if arr_or_n < 0:
            raise ValueError(f"arr_or_n: a number of elements cannot be negative, got {arr_or_n}")
        chosen = np.dtype(np.float32 if dtype is None else dtype)
        rng = np.random.default_rng(0)
        if chosen.kind == "f":
            return rng.random(int(arr_or_n)).astype(chosen)
        return rng.integers(0, 100, int(arr_or_n)).astype(chosen)
    if dtype is not None:
        raise TypeError("dtype: only for a number of elements; an array has its own")
    rules.refuse_masked(arr_or_n, "arr_or_n")
    return rules.host_array(arr_or_n, "arr_or_n")


def _run(
    data: np.ndarray, record: Variant, op: str, block_size: Any, grid_size: Any, races: bool, drawn: int
) -> Profile:
    result, launches, problem = _core.profile(
        data, op, record.name, block_size, grid_size, _core.SIM, 0, int(races), drawn
    )
    file = f"cuda_kernels/reduce/{record.file}"
    kernels = kernel_profiles(launches, file, drawn)
    threads = kernels[0].block[0] if kernels else 0
    title = f"{record.name}: {op} of {data.size:,} {data.dtype.name}, {threads} threads a block"

    def rerun(block: int) -> Profile:
        return _run(data, record, op, block_size, grid_size, False, block)

    profile = Profile(title, kernels, file, record.name, data.size, result, rerun)
    if problem is not None:
        raise stopped(problem, profile)
    return profile


def profile(
    arr_or_n: Any,
    variant: str,
    op: str = "sum",
    *,
    block_size: int | None = None,
    grid_size: int | None = None,
    dtype: Any = None,
    races: bool = True,
) -> Profile:
    """Run a variant on the simulator and count what each line of its source does.

    No GPU is needed or used. Races in shared memory are looked for at the same time.

    Parameters
    ----------
    arr_or_n : array_like or int
        What to reduce, as for `reduce`; an integer n stands for n random elements.
    variant : str
        The name of a variant, as in `variants`.
    op : str
        The operator.
    block_size, grid_size : int, optional
        Threads a block, and blocks of the first pass.
    dtype : dtype_like, optional
        Of the random elements; float32 if None. Only with an integer.
    races : bool
        Whether to look for races.

    Returns
    -------
    Profile

    Raises
    ------
    TypeError, ValueError
        For arguments that the variant does not take; the message names the argument.
    SimulationError
        When the simulator stops a kernel; the exception's ``profile`` holds what was seen until then.

    Notes
    -----
    Counters are those of the PTX. The rules of shared memory and of sectors are those of NVIDIA GPUs since
    Volta; docs/instrument.md has them beside the hardware's own counters.

    Examples
    --------
    >>> found = gpureduce.profile(4096, "v1")
    >>> found.totals.bank_conflicts
    1680
    >>> [race.kind for race in found.races]
    []
    """
    record = find(variant)
    if not isinstance(races, bool):
        raise TypeError(f"races: expected bool, got {type(races).__name__}")
    return _run(_data(arr_or_n, dtype), record, op, block_size, grid_size, races, 0)
