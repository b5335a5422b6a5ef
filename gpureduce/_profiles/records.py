"""What a profile is made of: instructions, lines, rounds, accesses, races, launches."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpureduce._profiles.counts import Counts, total
from gpureduce._profiles.timeline import Timeline
from gpureduce._profiles.trace import Trace

# What the core writes down of one block on demand: csrc/program/profile.h.
VISITS, STEPS = 1, 2

_HAZARDS = {
    "write-read": "reads what another thread has written",
    "read-write": "overwrites what another thread has read",
    "write-write": "overwrites what another thread has written",
    "uninitialised": "reads shared memory that nobody has written",
    "unfenced": "copies what a thread has written by ordinary stores",
    "absent-lane": "shuffles a value from a lane that does not execute the shuffle, which is undefined",
    "barrier": "is not at the barrier at which other threads of the block wait",
}
# Of what the simulator met in the opposite of the program's order, by what it met.
_TOO_EARLY = {
    "read-write": "reads too early, before another thread writes",
    "write-read": "overwrites too early what another thread has yet to read",
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
        orders), ``"uninitialised"`` (read before anybody wrote), ``"unfenced"`` (a bulk copy out of shared
        memory of what was written before, without ``fence.proxy.async``), ``"absent-lane"`` (a shuffle from
        a lane that does not execute it: returned, inactive, or beyond the block) or ``"barrier"`` (threads
        that are not at the barrier where others wait, or lanes that miss an instruction of their warp).
    first, second : Access or None
        The two sides in the order in which the simulator met them; of an uninitialised read and of a shuffle
        only the second.
    kernel : str
        The kernel.
    block : int
        Linear number of the block whose shared memory it is, in this example, the lowest in which it was met.
        In a cluster the threads may be of other blocks: `Access.block`.
    address : int
        The byte of shared memory; 0 for a barrier; of a shuffle, the lane that it reads from.
    count : int
        How often it was met, lane by lane.
    remedy : str
        What threads need that write one word by the same store, where no barrier helps; elsewhere ``""``.
    program_order : str
        Of a read and a write, ``"write-read"`` or ``"read-write"`` where every path through the kernel has
        them in this order; ``""`` where it has both, as in a loop, or where that is not known.
    """

    kind: str
    first: Access | None
    second: Access | None
    kernel: str
    block: int
    address: int
    count: int
    remedy: str = ""
    program_order: str = ""

    @property
    def too_early(self) -> bool:
        """Whether the simulator met a read and a write in the opposite of the program's order."""
        return self.program_order not in ("", self.kind) and not self.remedy

    @property
    def same_warp(self) -> bool:
        """Whether both threads are of one warp, where ``__syncwarp`` would order them."""
        sides = self._in_one_block
        return sides is not None and sides[0].warp == sides[1].warp

    @property
    def same_block(self) -> bool:
        """Whether both threads are of one block."""
        return self._in_one_block is not None

    @property
    def _in_one_block(self) -> tuple[Access, Access] | None:
        """Both sides, if their threads are of one block."""
        first, second = self.first, self.second
        return (first, second) if first and second and first.block == second.block else None

    @property
    def by_copy(self) -> bool:
        """Whether the first side is a copy by the hardware, such as a bulk copy."""
        return self.first is not None and re.search(r"\b(cp|st)\.async\b", self.first.ptx) is not None

    @property
    def _opcode(self) -> str:
        """The opcode of the first side, without a guard."""
        return re.sub(r"^@!?\S+\s+", "", self.first.ptx).split(None, 1)[0].rstrip(";") if self.first else ""

    @property
    def _at_barrier(self) -> bool:
        """Whether the first side is at a barrier of the block or the cluster."""
        return re.match(r"bar(rier)?\.(?!warp)", self._opcode) is not None

    @property
    def missing(self) -> str:
        """What would order the two sides."""
        if self.remedy:
            return self.remedy
        if self.kind == "uninitialised":
            return "a write"
        if self.kind == "barrier":
            return "one barrier for all" if self._at_barrier else "the lanes of its membermask"
        if self.kind == "absent-lane":
            return "the lane in the shuffle"
        if self.kind == "unfenced":
            return "fence.proxy.async"
        if self.first is not None and self.by_copy and self.kind != "read-write":
            if re.search(r"\bcp\.async\.c[ag]\b", self.first.ptx):
                sides = self._in_one_block
                alone = sides is not None and sides[0].thread == sides[1].thread
                return "a wait for the copy's group" + ("" if alone else ", or __syncthreads behind it,")
            return "a wait at the mbarrier of the copy, or a barrier before it"
        if not self.same_block:
            return "a barrier of the cluster"
        return "__syncwarp" if self.same_warp else "__syncthreads"

    def _side(self, side: Access | None) -> str:
        if side is None:
            return ""
        return f"{side} of block {side.block}" if side.block != self.block else str(side)

    def __str__(self) -> str:
        where = f"{self.kernel}, block {self.block}"
        if self.kind == "barrier":
            if self._at_barrier:
                others = self.second or "another lane of the warp"
                return f"barrier ({where}): {self.first} waits; {others} {_HAZARDS['barrier']}"
            others = f": {self.second}, for one" if self.second else ""
            return f"barrier ({where}): {self.first} executes {self._opcode}, which other lanes miss{others}"
        if self.kind == "absent-lane":
            return (
                f"{self.kind} ({where}, lane {self.address}): {self._side(self.second)} "
                f"{_HAZARDS[self.kind]} (met {self.count:,} times)"
            )
        second, first, hazard = self._side(self.second), self._side(self.first), _HAZARDS[self.kind]
        if self.too_early:  # the first side is the one to be told
            second, first, hazard = first, second, _TOO_EARLY[self.kind]
        elif self.program_order == "read-write" and not self.remedy:
            hazard = "overwrites what another thread may still have to read"
        text = f"{self.kind} ({where}, shared byte {self.address}): {second} {hazard}"
        if first:
            text += f", {first}; "
            text += (
                f"no barrier helps: use {self.remedy}"
                if self.remedy
                else f"{self.missing} is missing between"
            )
        return f"{text} (met {self.count:,} times)"


@dataclass(frozen=True)
class KernelProfile:
    """What one launch did.

    Attributes
    ----------
    name : str
        The kernel.
    grid, block : tuple of int
        Blocks, and threads per block, along x, y and z.
    shared_bytes : int
        Shared memory of a block, static and dynamic.
    instructions : tuple of Instruction
        In the order of the PTX.
    rounds : tuple of Round
        The stretches between barriers of the block, up to 1024; the last takes what comes later.
    races : tuple of Race
        Hazards in shared memory and at barriers.
    printed : str
        The text that its ``printf`` wrote, in the order of the blocks.
    """

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    instructions: tuple[Instruction, ...] = field(repr=False)
    rounds: tuple[Round, ...] = field(repr=False)
    races: tuple[Race, ...] = field(repr=False)
    timeline: Timeline | None = field(repr=False, default=None)
    accesses: np.ndarray[Any, Any] | None = field(repr=False, compare=False, default=None)
    trace: Trace | None = field(repr=False, compare=False, default=None)
    printed: str = field(repr=False, default="")

    @property
    def totals(self) -> Counts:
        """The sum over all instructions."""
        return total([each.counts for each in self.instructions])
