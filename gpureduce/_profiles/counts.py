"""What an instruction, a line or a kernel did: counters that can be added up."""

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
_ROWS_OF_A_WARP = 16  # at most: wgmma names those of four warps


@dataclass(eq=False)
class Counts(WithArrays):
    """Counters of an instruction, a source line, a kernel or a whole reduction. All are sums over all warps.

    They count PTX, not machine code. Shared-memory wavefronts, global requests and sectors, and barriers are
    the hardware's; ``warp_instructions`` is not, since ptxas translates PTX to other instructions.

    Attributes
    ----------
    warp_instructions : int
        PTX instructions issued, once for each warp, as the PTX branches.
    warp_instructions_predicated : int
        The same if ptxas turns each short forward branch into a predicate: the branch is gone, and what it
        skips is issued to every warp that comes by.
    lane_instructions, lane_instructions_predicated : int
        PTX instructions times the lanes that executed them, as the PTX branches, and without those branches
        that become predicates.
    histogram : numpy.ndarray
        33 numbers: how often an instruction was issued with 0, 1, ... 32 lanes at work.
    branches, divergent_branches : int
        Branches issued, and those that some lanes took and others did not.
    shared_load_wavefronts, shared_store_wavefronts : int
        Passes through shared memory. A pass serves one 4-byte word from each of the 32 banks.
    shared_load_ideal, shared_store_ideal : int
        Passes without bank conflicts. Atomics count as stores.
    global_load_requests, global_store_requests : int
        Warp instructions that accessed global memory. Atomics count as stores.
    global_load_sectors, global_store_sectors : int
        Sectors of 32 bytes that these touched.
    global_load_ideal, global_store_ideal : int
        The fewest sectors that hold as many bytes.
    barriers : int
        Barriers of the block, once for each warp.
    atomics : int
        Atomic warp instructions.
    multiply_adds : int
        Fused multiply-adds of floats, lane by lane: two floating-point operations each.
    copied_bytes : int
        Bytes that bulk copies, and copies by tensor maps, bring to shared memory or take away from it; what
        goes to several blocks of a cluster counts once.
    copied_global_bytes : int
        Those of them that come from global memory or go there.
    tensor_multiply_adds : int
        Multiply-adds that tensor cores did, each a product in a step of ``mma`` or ``wgmma``.
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
        """Lanes at work in a warp instruction, on average, as branched; NaN without instructions."""
        return self.lane_instructions / self.warp_instructions if self.warp_instructions else float("nan")

    @property
    def mean_lanes_predicated(self) -> float:
        """The same for `warp_instructions_predicated`."""
        issued = self.warp_instructions_predicated
        return self.lane_instructions_predicated / issued if issued else float("nan")

    @property
    def shared_wavefronts(self) -> int:
        """Passes through shared memory, loads and stores."""
        return self.shared_load_wavefronts + self.shared_store_wavefronts

    @property
    def shared_ideal(self) -> int:
        """Passes through shared memory if no access had a bank conflict."""
        return self.shared_load_ideal + self.shared_store_ideal

    @property
    def bank_conflicts(self) -> int:
        """Passes through shared memory beyond the ideal number."""
        return self.shared_wavefronts - self.shared_ideal

    @property
    def global_requests(self) -> int:
        """Warp instructions that accessed global memory."""
        return self.global_load_requests + self.global_store_requests

    @property
    def global_sectors(self) -> int:
        """Sectors of global memory, loads and stores."""
        return self.global_load_sectors + self.global_store_sectors

    @property
    def global_ideal(self) -> int:
        """The fewest sectors that hold as many bytes."""
        return self.global_load_ideal + self.global_store_ideal

    @property
    def global_bytes(self) -> int:
        """Bytes of global memory that came or went: whole sectors, and what bulk copies brought or took."""
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
    """Return how many fused multiply-adds of floats a lane does in an instruction."""
    match = _MULTIPLY_ADD.search(text)
    return 0 if match is None else 2 if match[1] else 1


def _tensor_multiply_adds(text: str) -> int:
    """Return how many products a warp has its tensor core add up in an instruction."""
    match = _PRODUCT.search(text)
    if match is None:
        return 0
    return min(int(match[1]), _ROWS_OF_A_WARP) * int(match[2]) * int(match[3])


def from_row(
    row: np.ndarray, text: str, effect: str, branch_row: np.ndarray | None, becomes_predicate: bool
) -> Counts:
    """Return the counts of one instruction from its row of numbers and its text.

    `branch_row` belongs to the branch that becomes its predicate, if one does; `becomes_predicate` says that
    the instruction is such a branch.
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
