"""Parts of a profile: instructions, lines, rounds, accesses, races, launches."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpureduce._profiles.counts import Counts, total
from gpureduce._profiles.timeline import Timeline
from gpureduce._profiles.trace import Trace

# Records of one block, on demand: csrc/program/profile.h.
VISITS, STEPS = 1, 2

_HAZARDS = {
    "write-read": "reads what another thread has written",
    "read-write": "overwrites what another thread has read",
    "write-write": "overwrites what another thread has written",
    "uninitialised": "reads shared memory that was never written",
    "unfenced": "copies shared memory that a thread has written by ordinary stores",
    "absent-lane": "shuffles a value from a lane that does not execute the shuffle, which is undefined",
    "barrier": "is not at the barrier at which other threads of the block wait",
}
_BETWEEN_BLOCKS = {
    "write-read": "reads what another block has written",
    "read-write": "overwrites what another block has read",
    "write-write": "overwrites what another block has written",
}
# Hazards that were simulated in the opposite of the program order.
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
        Line number in the PTX, from 1.
    text : str
        Text of this line.
    frames : tuple of (str, int)
        Files and lines in the CUDA source, from the innermost inlined function outwards; empty if the PTX was
        compiled without ``-lineinfo``.
    effect : str
        ``"load"``, ``"store"``, ``"atomic"``, ``"branch"``, ``"barrier"``, ``"warp_sync"`` or ``""``.
    counts : Counts
        Counters of the instruction.
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
    """A source line with the summed counters of its instructions."""

    file: str
    number: int
    text: str
    counts: Counts = field(repr=False)


@dataclass(frozen=True)
class Round:
    """Interval between two barriers of the block, over all blocks.

    Attributes
    ----------
    number : int
        Index of the interval; 0 is before the first barrier.
    blocks : int
        Number of blocks that ran it.
    warps, idle_warps : int
        Number of warps in these blocks, and of idle ones, which neither accessed memory nor exchanged data
        between lanes.
    threads, idle_threads : int
        The same for threads.
    shared_wavefronts, shared_ideal : int
        Shared-memory wavefronts, and the number needed without bank conflicts.
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
    """One side of a race. An asynchronous copy counts as an access of the thread that started it."""

    file: str
    line: int
    ptx_line: int
    ptx: str
    thread: int
    block: int

    @property
    def warp(self) -> int:
        """Index of the warp in its block."""
        return self.thread // 32

    @property
    def lane(self) -> int:
        """Lane of the thread in its warp."""
        return self.thread % 32

    @property
    def place(self) -> str:
        """File and line, or the PTX line if no source line is known."""
        return f"{self.file.rsplit('/', 1)[-1]}:{self.line}" if self.file else f"PTX line {self.ptx_line}"

    def __str__(self) -> str:
        return f"thread {self.thread} (warp {self.warp}, lane {self.lane}) at {self.place}"


@dataclass(frozen=True)
class Race:
    """A data race, or another hazard, between two instructions.

    Attributes
    ----------
    kind : str
        ``"write-read"``, ``"read-write"`` or ``"write-write"`` (accesses in this order, without
        synchronization between the threads), ``"uninitialised"`` (a read before any write), ``"unfenced"`` (a
        bulk copy that reads shared memory written by threads, without ``fence.proxy.async``),
        ``"absent-lane"`` (a shuffle from a lane that does not execute it: exited, inactive, or beyond the
        block) or ``"barrier"`` (threads do not reach a barrier at which others wait, or lanes do not execute
        an instruction that needs the whole warp).
    first, second : Access or None
        The two accesses, in the order of the simulation; an uninitialised read and a shuffle have only the
        second.
    kernel : str
        The kernel.
    block : int
        Linear index of the block whose shared memory is accessed: the lowest one with this race. In a
        cluster, the threads may belong to other blocks: see `Access.block`. In global memory, the second
        block.
    address : int
        Address in shared memory, in bytes; 0 for a barrier; for a shuffle, the lane that it reads from. In
        global memory, the offset in the allocation.
    count : int
        Number of occurrences, counted per lane.
    remedy : str
        Remedy for threads that write one word by the same store, which no barrier can order; otherwise
        ``""``.
    program_order : str
        For a read and a write, ``"write-read"`` or ``"read-write"`` if every path through the kernel has them
        in this order; ``""`` if both orders occur, as in a loop, or if the order is unknown.
    space : str
        ``"shared"``, or ``"global"`` for a race between blocks in global memory.
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
    space: str = "shared"

    @property
    def too_early(self) -> bool:
        """Whether a read and a write were simulated in the opposite of the program order."""
        return self.program_order not in ("", self.kind) and not self.remedy

    @property
    def same_warp(self) -> bool:
        """Whether both threads belong to one warp, so that ``__syncwarp`` would order them."""
        sides = self._in_one_block
        return sides is not None and sides[0].warp == sides[1].warp

    @property
    def same_block(self) -> bool:
        """Whether both threads belong to one block."""
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
        """Synchronization that would order the two accesses."""
        if self.remedy:
            return self.remedy
        if self.space == "global":
            return "an order between the blocks"
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

    def _between_blocks(self) -> str:
        second, first = (
            f"thread {side.thread} of block {side.block} at {side.place}" if side else ""
            for side in (self.second, self.first)
        )
        return (
            f"{self.kind} ({self.kernel}, global memory, byte {self.address} of the allocation): {second} "
            f"{_BETWEEN_BLOCKS[self.kind]}, {first}; nothing orders the blocks of a launch: use two "
            f"launches, grid.sync(), or an atomic operation after __threadfence() (met {self.count:,} times)"
        )

    def __str__(self) -> str:
        if self.space == "global":
            return self._between_blocks()
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
    """Counters, races and output of one launch.

    Attributes
    ----------
    name : str
        The kernel.
    grid, block : tuple of int
        Blocks, and threads per block, along x, y and z.
    shared_bytes : int
        Static and dynamic shared memory per block, in bytes.
    instructions : tuple of Instruction
        Instructions in the order of the PTX.
    rounds : tuple of Round
        Intervals between barriers of the block, up to 1024; the last one includes all later ones.
    races : tuple of Race
        Races in shared memory, faults at barriers and shuffles, and on demand races in global memory.
    printed : str
        Text that it printed by ``printf``, in the order of the blocks.
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
