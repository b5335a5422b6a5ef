"""Trace of the warps of one block, instruction by instruction."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpureduce._rules.equality import WithArrays

# How csrc/ptxsim/instrumentation/trace.h lays them out.
STEP = np.dtype([("pc", "u4"), ("warp", "u4"), ("active", "u4"), ("executed", "u4"), ("round", "u4")])
TOUCH = np.dtype(
    [
        ("memory", "u8"),
        ("offset", "u8", 32),
        ("step", "u4"),
        ("mask", "u4"),
        ("bytes", "u4"),
        ("space", "u1"),
        ("effect", "u1"),
        ("wavefronts", "u1"),
        ("ideal", "u1"),
    ]
)
WRITTEN = np.dtype(
    [("lanes", "u8", 32), ("step", "u4"), ("operand", "u4"), ("bytes", "u4"), ("unused", "u4")]
)

_REGISTER = re.compile(r"%[\w$.]+|\b_\b")
_PREDICATE = re.compile(r"%p\d*")


@dataclass(frozen=True, eq=False)
class Trace(WithArrays):
    """The steps of one block: instructions of its warps in the order of the simulation.

    Attributes
    ----------
    steps, touches, written : numpy.ndarray
        Instructions; their accesses; their register writes.
    lost : int
        Number of steps that were dropped.
    statements : tuple of str
        Text of each instruction of the kernel.
    """

    steps: np.ndarray[Any, Any] = field(repr=False)
    touches: np.ndarray[Any, Any] = field(repr=False)
    written: np.ndarray[Any, Any] = field(repr=False)
    lost: int
    statements: tuple[str, ...] = field(repr=False)

    @classmethod
    def of_bytes(
        cls, steps: bytes, touches: bytes, written: bytes, lost: int, statements: list[str]
    ) -> Trace:
        """Return a trace from the bytes of the core."""
        return cls(
            np.frombuffer(steps, STEP),
            np.frombuffer(touches, TOUCH),
            np.frombuffer(written, WRITTEN),
            lost,
            tuple(" ".join(each.split()) for each in statements),
        )

    def registers(self, pc: int) -> list[str]:
        """Return the names of registers that an instruction may write: first operands, no predicates."""
        operands = self.statements[pc].partition(" ")[2]
        names = _REGISTER.findall(operands)
        return [name for name in names if not _PREDICATE.fullmatch(name)]
