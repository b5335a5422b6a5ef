"""Who accessed which bytes of global memory, of one block."""

from __future__ import annotations

import numpy as np

# How csrc/ptxsim/instrumentation/access_log.h lays out one.
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


def of_bytes(visits: bytes, lost: int) -> np.ndarray:
    """Return accesses as the core tells them; MemoryError where it could not keep all."""
    if lost:
        raise MemoryError(f"{lost:,} accesses of the block were too many to keep; take a smaller problem")
    given = np.frombuffer(visits, dtype=_VISIT)
    found = np.empty(len(given), dtype=ACCESS)
    for name in ("offset", "bytes", "thread", "round", "instruction"):
        found[name] = given[name]
    found["memory"] = np.unique(given["memory"], return_inverse=True)[1].reshape(-1)
    found["writes"] = given["effect"] != _LOAD
    return found
