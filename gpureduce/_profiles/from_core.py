"""Profiles from the records of the core: kernel profiles, races, accesses, timelines and traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._profiles.counts import COUNTER_FIELDS, from_row
from gpureduce._profiles.diagnostics import with_remedies
from gpureduce._profiles.profile import Profile
from gpureduce._profiles.records import Access, Instruction, KernelProfile, Race, Round
from gpureduce._profiles.timeline import Timeline
from gpureduce._profiles.trace import Trace

# The layout of an entry of csrc/ptxsim/instrumentation/access_log.h.
_VISIT = np.dtype(
    [
        ("memory", "u8"),
        ("offset", "u8"),
        ("instruction", "u4"),
        ("thread", "u4"),
        ("round", "u4"),
        ("bytes", "u2"),
        ("effect", "u2"),
    ]
)
_LOAD = 1

ACCESS = np.dtype(
    [
        ("memory", "u4"),
        ("offset", "u8"),
        ("bytes", "u2"),
        ("writes", "?"),
        ("thread", "u4"),
        ("round", "u4"),
        ("instruction", "u4"),
    ]
)


def _accesses(visits: bytes, lost: int) -> np.ndarray:
    """Return the accesses of a block to global memory; MemoryError if some were dropped."""
    if lost:
        raise MemoryError(f"{lost:,} more accesses of the block than can be kept; use a smaller problem")
    log = np.frombuffer(visits, dtype=_VISIT)
    accesses = np.empty(len(log), dtype=ACCESS)
    for name in ("offset", "bytes", "thread", "round", "instruction"):
        accesses[name] = log[name]
    accesses["memory"] = np.unique(log["memory"], return_inverse=True)[1].reshape(-1)
    accesses["writes"] = log["effect"] != _LOAD
    return accesses


def _race(fields: tuple, kernel: str, instructions: tuple[Instruction, ...], file: str) -> Race:
    kind, first, second, first_thread, second_thread, first_block, second_block, *where, is_global, _ = fields

    def side(index: int, thread: int, of: int) -> Access | None:
        if index < 0:
            return None
        at = instructions[index]
        line = at.line_in(file)
        name, number = (file, line) if line is not None else at.frames[0] if at.frames else ("", 0)
        return Access(name, number, at.ptx_line, at.text, thread, of)

    earlier, later = side(first, first_thread, first_block), side(second, second_thread, second_block)
    block, address, count = where
    space = "global" if is_global else "shared"
    return Race(kind, earlier, later, kernel, block, address, count, space=space)


def _kernel_profile(launch: tuple, file: str, block: int) -> KernelProfile:
    name, grid, shape, shared, static, counters, rounds, drawn, races, _dropped, visits, trace, text = launch
    rows = np.frombuffer(counters, dtype=np.uint64).reshape(-1, COUNTER_FIELDS)
    branches = {branch for *_, branch in static}
    instructions = tuple(
        Instruction(
            line,
            text,
            frames,
            effect,
            from_row(rows[i], text, effect, rows[branch] if branch >= 0 else None, i in branches),
        )
        for i, (line, text, effect, frames, branch) in enumerate(static)
    )
    race_records = with_remedies(
        tuple(_race(race, name, instructions, file) for race in races or ()),
        [race[-1] for race in races or ()],
    )
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
    seen = None if visits is None else _accesses(*visits)
    steps = None if trace is None else Trace.of_bytes(*trace)
    printed = text.decode(errors="replace")
    return KernelProfile(
        name, grid, shape, shared, instructions, stretches, race_records, timeline, seen, steps, printed
    )


def race_scope(races: Any) -> int:
    """Return the core's number for an argument `races`; an exception if it is wrong."""
    if isinstance(races, bool):
        return int(races)
    if isinstance(races, str) and races == "global":
        return 2
    if isinstance(races, str):
        raise ValueError(f"races: expected True, False or 'global', got {races!r}")
    raise TypeError(f"races: expected bool or 'global', got {type(races).__name__}")


def observe(
    run: Callable[[object], Any], races: int, block: int = 0, watched: int = 0
) -> tuple[Any, list[tuple], str | None]:
    """Call `run` with a simulator that records its launches as device.

    Return the result (None if the simulator stopped a kernel), the record of each launch, and the reason for
    a stop.
    """
    device, result, problem = _core.profile_device(races, block, watched), None, None
    try:
        result = run(device)
    except _core.SimulationError as error:
        problem = str(error)
    return result, _core.profile_launches(device), problem


def kernel_profiles(launches: list[tuple], file: str, block: int) -> tuple[KernelProfile, ...]:
    """Return the records of launches from the core."""
    return tuple(_kernel_profile(launch, file, block) for launch in launches)


def outer_file(launches: list[tuple]) -> str:
    """Return the source file of the first instruction that has one, the file of the kernel."""
    frames = (frames for launch in launches for _, _, _, frames, _ in launch[4] if frames)
    return next((chain[-1][0] for chain in frames), "")


def stopped(message: str, profile: Profile) -> _core.SimulationError:
    """Return the exception for a stopped kernel, with the profile until then."""
    error = _core.SimulationError(message)
    error.profile = profile
    return error
