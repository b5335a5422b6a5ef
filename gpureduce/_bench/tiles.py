"""The tiles of a block, a warp and a thread of a product, and the data flow between memories.

Both come from a launch on the simulator: `Profile.accesses` has the stores of C and the loads of A and B by
thread, the counters of a profile the bytes that each kind of instruction moved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from gpureduce._profiles.counts import SECTOR_BYTES
from gpureduce._profiles.profile import Profile
from gpureduce._profiles.variant import profile
from gpureduce._rules.equality import WithArrays

NOBODY = -1
WAVEFRONT_BYTES = 128
ITEM_BYTES = 4  # of float32
SHAPE = (256, 256, 32)  # several tiles of every rung


@dataclass(frozen=True, eq=False)
class Tiles(WithArrays):
    """The accesses of one block.

    Attributes
    ----------
    variant : str
        The rung.
    shape : tuple of int
        The sizes m, n, k of the product.
    block : int
        Linear number of the block.
    makes : numpy.ndarray of int
        In the shape of C: the thread that stores an element, -1 for other blocks.
    accesses : numpy.ndarray
        All loads and stores, as in `Profile.accesses`.
    """

    variant: str
    shape: tuple[int, int, int]
    block: int
    makes: np.ndarray = field(repr=False)
    accesses: np.ndarray = field(repr=False)

    def loads(self, matrix: int, first: bool = False, threads: range | None = None) -> np.ndarray:
        """Return the elements of A (0) or B (1) that the block loads.

        Parameters
        ----------
        matrix : int
            0 for A, 1 for B.
        first : bool
            Only loads of the first step along k: before the first barrier after a load.
        threads : range, optional
            Only loads of these threads.

        Returns
        -------
        numpy.ndarray of bool
            Array in the shape of A or B.
        """
        m, n, k = self.shape
        reads = self.accesses[~self.accesses["writes"]]
        if first:
            reads = reads[reads["round"] == reads["round"].min()]
        if threads is not None:
            reads = reads[(reads["thread"] >= threads.start) & (reads["thread"] < threads.stop)]
        mask = np.zeros((m, k) if matrix == 0 else (k, n), bool)
        for _, at in _elements(reads[reads["memory"] == matrix]):
            mask.reshape(-1)[at] = True
        return mask

    @property
    def rows(self) -> int:
        """Rows of the block's tile of C."""
        return int(np.ptp(np.nonzero(self.makes != NOBODY)[0])) + 1

    @property
    def columns(self) -> int:
        """Columns of the block's tile of C."""
        return int(np.ptp(np.nonzero(self.makes != NOBODY)[1])) + 1


def _elements(accesses: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield threads and the elements that they access; a vector as several elements."""
    for bytes_ in np.unique(accesses["bytes"]):
        of_size = accesses[accesses["bytes"] == bytes_]
        for part in range(0, int(bytes_), ITEM_BYTES):
            yield of_size["thread"], (of_size["offset"] + part) // ITEM_BYTES


def tiles_of(variant: str, block: int = 0, shape: tuple[int, int, int] = SHAPE) -> Tiles:
    """Return the accesses of one block of a float32 matrix product.

    Parameters
    ----------
    variant : str
        A rung of the ladder ``"matmul"``.
    block : int
        Linear number of the block.
    shape : tuple of int
        The sizes m, n, k.

    Returns
    -------
    Tiles

    Raises
    ------
    ValueError
        If the accesses do not show the loads or stores of the variant, such as bulk copies.
    """
    accesses = profile(shape, variant, races=False).accesses(block)
    stores = accesses[accesses["writes"]]
    if set(accesses["memory"][~accesses["writes"]]) != {0, 1} or set(stores["memory"]) != {2}:
        raise ValueError(f"variant: loads of {variant} by bulk copies are not recorded")
    makes = np.full(shape[:2], NOBODY, np.int64)
    for threads, at in _elements(stores):
        makes.reshape(-1)[at] = threads
    return Tiles(variant, shape, block, makes, accesses)


_ACCESS = re.compile(r"\b(ld|st|cp\.async)\.([\w.]+)")
_TYPE = re.compile(r"(?:v(\d)\.)?[bfsu](\d+)$")


@dataclass(frozen=True)
class Flow:
    """Bytes per multiply-add between memories.

    Attributes
    ----------
    global_to_registers, registers_to_global : float
        Bytes that lanes requested by loads and stores of global memory.
    shared_to_registers, registers_to_shared : float
        The same for shared memory.
    global_to_shared : float
        Bytes of asynchronous copies.
    global_sectors, shared_wavefronts : float
        Bytes that the memories transferred: sectors of 32 bytes, and wavefronts of 128 bytes.
    """

    global_to_registers: float
    registers_to_shared: float
    global_to_shared: float
    shared_to_registers: float
    registers_to_global: float
    global_sectors: float
    shared_wavefronts: float


def _kind(text: str, in_global: bool) -> tuple[str, int] | None:
    """Return the direction of an instruction and its bytes per lane; None if it moves none."""
    match = _ACCESS.search(text)
    if match is None:
        return None
    if match[1] == "cp.async":
        size = re.search(r",\s*(4|8|16)\s*[,;]", text)
        return ("global_to_shared", int(size[1])) if size else None
    parts = _TYPE.search(match[2])
    if parts is None:
        return None
    ways = {
        ("ld", True): "global_to_registers",
        ("ld", False): "shared_to_registers",
        ("st", True): "registers_to_global",
        ("st", False): "registers_to_shared",
    }
    return ways[match[1], in_global], int(parts[1] or 1) * int(parts[2]) // 8


def flow_of(profile: Profile) -> Flow:
    """Return the bytes between memories, from the profile of a product."""
    moved = dict.fromkeys(Flow.__dataclass_fields__, 0.0)
    for instruction in (each for kernel in profile.kernels for each in kernel.instructions):
        counts = instruction.counts
        if not counts.global_requests and not counts.shared_wavefronts:
            continue
        kind = _kind(instruction.text, counts.global_requests > 0)
        if kind is not None:
            moved[kind[0]] += counts.lane_instructions * kind[1]
    totals = profile.totals
    moved["global_sectors"] = float(SECTOR_BYTES * totals.global_sectors)
    moved["shared_wavefronts"] = float(WAVEFRONT_BYTES * totals.shared_wavefronts)
    return Flow(**{name: bytes_ / profile.multiply_adds for name, bytes_ in moved.items()})
