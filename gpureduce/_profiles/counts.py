"""Counters of an instruction, a line or a kernel, which can be added."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass, field, fields

import numpy as np

from gpureduce._rules.equality import WithArrays

# How csrc/ptxsim/instrumentation/counters.h lays out a counter: issues by active lanes (0 to 32), then these.
_LANES = 33
_DIVERGENT, _WAVEFRONTS, _IDEAL, _REQUESTS, _SECTORS, _SECTORS_IDEAL, _COPIED = range(_LANES, _LANES + 7)
COUNTER_FIELDS = _LANES + 7
SECTOR_BYTES = 32

_MULTIPLY_ADD = re.compile(r"\bfma\.\w+(?:\.\w+)*?\.(?:bf16|f16|f32|f64)(x2)?\b")
_PRODUCT = re.compile(r"\b(?:mma\.sync|wgmma\.mma_async)\S*\.m(\d+)n(\d+)k(\d+)\.")
_ROWS_OF_A_WARP = 16  # at most: wgmma counts four warps


@dataclass(eq=False)
class Counts(WithArrays):
    """Counters of an instruction, a source line, a kernel or a whole reduction, summed over all warps.

    They count PTX, not machine code. Shared-memory wavefronts, global requests and sectors, and barriers
    agree with hardware counters; ``warp_instructions`` does not, because ptxas translates PTX to other
    instructions.

    Attributes
    ----------
    warp_instructions : int
        PTX instructions issued, once per warp, with the branches of the PTX.
    warp_instructions_predicated : int
        The same if ptxas turns each short forward branch into a predicate: there is no branch, and the
        instructions that it would skip are issued to every warp.
    lane_instructions, lane_instructions_predicated : int
        PTX instructions times the lanes that executed them, with the branches of the PTX, and with predicates
        instead of short branches.
    histogram : numpy.ndarray
        33 counts: how often an instruction was issued with 0, 1, ... 32 active lanes.
    branches, divergent_branches : int
        Branches issued, and those that only some lanes took.
    shared_load_wavefronts, shared_store_wavefronts : int
        Wavefronts of shared memory: passes, each of which serves one 4-byte word from each of the 32 banks.
    shared_load_ideal, shared_store_ideal : int
        Wavefronts needed without bank conflicts. Atomics count as stores.
    global_load_requests, global_store_requests : int
        Warp instructions that accessed global memory. Atomics count as stores.
    global_load_sectors, global_store_sectors : int
        32-byte sectors that these instructions accessed.
    global_load_ideal, global_store_ideal : int
        Minimum number of sectors for as many bytes.
    barriers : int
        Barriers of the block, once per warp.
    atomics : int
        Atomic warp instructions.
    multiply_adds : int
        Floating-point fused multiply-adds of all lanes, each two FLOP.
    copied_bytes : int
        Bytes that bulk copies and tensor-map copies transfer to or from shared memory; a multicast to several
        blocks of a cluster counts once.
    copied_global_bytes : int
        Bytes of these copies that are read from or written to global memory.
    tensor_multiply_adds : int
        Multiply-adds of tensor cores (``mma`` and ``wgmma``).
    """

    warp_instructions: int = 0
    warp_instructions_predicated: int = 0
    lane_instructions: int = 0
    lane_instructions_predicated: int = 0
    histogram: np.ndarray = field(default_factory=lambda: np.zeros(_LANES, dtype=np.uint64), repr=False)
    branches: int = 0
    divergent_branches: int = 0
    shared_load_wavefronts: int = 0
    shared_load_ideal: int = 0
    shared_store_wavefronts: int = 0
    shared_store_ideal: int = 0
    global_load_requests: int = 0
    global_load_sectors: int = 0
    global_load_ideal: int = 0
    global_store_requests: int = 0
    global_store_sectors: int = 0
    global_store_ideal: int = 0
    barriers: int = 0
    atomics: int = 0
    multiply_adds: int = 0
    copied_bytes: int = 0
    copied_global_bytes: int = 0
    tensor_multiply_adds: int = 0

    @property
    def mean_lanes(self) -> float:
        """Mean number of active lanes per warp instruction; NaN without instructions."""
        return self.lane_instructions / self.warp_instructions if self.warp_instructions else float("nan")

    @property
    def mean_lanes_predicated(self) -> float:
        """The same for `warp_instructions_predicated`."""
        issued = self.warp_instructions_predicated
        return self.lane_instructions_predicated / issued if issued else float("nan")

    @property
    def shared_wavefronts(self) -> int:
        """Shared-memory wavefronts of loads and stores."""
        return self.shared_load_wavefronts + self.shared_store_wavefronts

    @property
    def shared_ideal(self) -> int:
        """Shared-memory wavefronts needed without bank conflicts."""
        return self.shared_load_ideal + self.shared_store_ideal

    @property
    def bank_conflicts(self) -> int:
        """Shared-memory wavefronts beyond the ideal number."""
        return self.shared_wavefronts - self.shared_ideal

    @property
    def global_requests(self) -> int:
        """Warp instructions that accessed global memory."""
        return self.global_load_requests + self.global_store_requests

    @property
    def global_sectors(self) -> int:
        """Global-memory sectors of loads and stores."""
        return self.global_load_sectors + self.global_store_sectors

    @property
    def global_ideal(self) -> int:
        """Minimum number of sectors for as many bytes."""
        return self.global_load_ideal + self.global_store_ideal

    @property
    def global_bytes(self) -> int:
        """Bytes of global memory transferred: whole sectors, and bulk copies."""
        return SECTOR_BYTES * self.global_sectors + self.copied_global_bytes

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            **{item.name: getattr(self, item.name) + getattr(other, item.name) for item in fields(self)}
        )


_NUMBERS = [item.name for item in fields(Counts) if item.name != "histogram"]
_numbers_of = operator.attrgetter(*_NUMBERS)


def total(counts: list[Counts]) -> Counts:
    """Return the sum."""
    if not counts:
        return Counts()
    histograms = np.array([each.histogram for each in counts])
    numbers = zip(*map(_numbers_of, counts), strict=True)
    return Counts(**dict(zip(_NUMBERS, map(sum, numbers), strict=True)), histogram=histograms.sum(axis=0))


def _multiply_adds(text: str) -> int:
    """Return the number of floating-point multiply-adds per lane of an instruction."""
    match = _MULTIPLY_ADD.search(text)
    return 0 if match is None else 2 if match[1] else 1


def _tensor_multiply_adds(text: str) -> int:
    """Return the number of tensor-core multiply-adds per warp of an instruction."""
    match = _PRODUCT.search(text)
    if match is None:
        return 0
    return min(int(match[1]), _ROWS_OF_A_WARP) * int(match[2]) * int(match[3])


def from_row(
    row: np.ndarray, text: str, effect: str, branch_row: np.ndarray | None, becomes_predicate: bool
) -> Counts:
    """Return the counts of one instruction from its row of numbers and its text.

    `branch_row` belongs to the branch that becomes its predicate, if any; `becomes_predicate` marks such a
    branch.
    """
    histogram = row[:_LANES].copy()
    row = row.tolist()
    issued = sum(row[:_LANES])
    lanes = sum(map(operator.mul, row, range(_LANES)))
    predicated = 0 if becomes_predicate else issued if branch_row is None else int(branch_row[:_LANES].sum())
    copied = int(row[_COPIED]) if "cp.async.bulk." in text else 0
    kind = "load" if effect == "load" or "ldmatrix." in text else "store"
    shared = {f"shared_{kind}_wavefronts": int(row[_WAVEFRONTS]), f"shared_{kind}_ideal": int(row[_IDEAL])}
    kind = "store" if effect in ("store", "atomic") else "load"  # cp.async has no effect of its own: it loads
    in_global = {
        f"global_{kind}_requests": int(row[_REQUESTS]),
        f"global_{kind}_sectors": int(row[_SECTORS]),
        f"global_{kind}_ideal": int(row[_SECTORS_IDEAL]),
    }
    return Counts(
        warp_instructions=issued,
        warp_instructions_predicated=predicated,
        lane_instructions=lanes,
        lane_instructions_predicated=0 if becomes_predicate else lanes,
        histogram=histogram,
        branches=issued if effect == "branch" else 0,
        divergent_branches=int(row[_DIVERGENT]),
        barriers=issued if effect == "barrier" else 0,
        atomics=issued if effect == "atomic" else 0,
        multiply_adds=lanes and lanes * _multiply_adds(text),
        copied_bytes=copied,
        copied_global_bytes=copied if ".global" in text else 0,
        tensor_multiply_adds=lanes and (issued - row[0]) * _tensor_multiply_adds(text),
        **shared,
        **in_global,
    )
