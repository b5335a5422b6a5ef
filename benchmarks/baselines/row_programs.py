"""Softmax, log_softmax and rms_norm in Triton, one program per row, as batch-invariant operators usually are.

A program goes through its row in pieces. It reads the row once for each statistic, and once more for the
results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import triton
import triton.language as tl

PIECE = 4096  # elements


@triton.jit
def _softmax(to, a, n, LOG: tl.constexpr, PIECE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    at = tl.arange(0, PIECE)
    largest = tl.full([PIECE], float("-inf"), tl.float32)
    for first in range(0, n, PIECE):
        inside = first + at < n
        x = tl.load(a + row + first + at, mask=inside, other=float("-inf")).to(tl.float32)
        largest = tl.maximum(largest, x)
    peak = tl.max(largest, 0)
    sums = tl.zeros([PIECE], tl.float32)
    for first in range(0, n, PIECE):
        inside = first + at < n
        x = tl.load(a + row + first + at, mask=inside, other=float("-inf")).to(tl.float32)
        sums += tl.exp(x - peak)
    total = tl.sum(sums, 0)
    for first in range(0, n, PIECE):
        inside = first + at < n
        x = tl.load(a + row + first + at, mask=inside, other=0.0).to(tl.float32) - peak
        y = x - tl.log(total) if LOG else tl.exp(x) / total
        tl.store(to + row + first + at, y.to(to.dtype.element_ty), mask=inside)


@triton.jit
def _rms_norm(to, a, weight, n, eps, PIECE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    at = tl.arange(0, PIECE)
    sums = tl.zeros([PIECE], tl.float32)
    for first in range(0, n, PIECE):
        inside = first + at < n
        x = tl.load(a + row + first + at, mask=inside, other=0.0).to(tl.float32)
        sums += x * x
    scale = 1 / tl.sqrt(tl.sum(sums, 0) / n + eps)
    for first in range(0, n, PIECE):
        inside = first + at < n
        x = tl.load(a + row + first + at, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(weight + first + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(to + row + first + at, (x * scale * w).to(to.dtype.element_ty), mask=inside)


def call(name: str, weight: Any, eps: float) -> Callable[[Any, Any], None] | None:
    """Return what writes a function of the rows of a matrix to another matrix; None if there is no kernel."""
    if name == "rms_norm":
        return lambda a, out: _rms_norm[a.shape[:1]](out, a, weight, a.shape[1], eps, PIECE, num_warps=8)
    if name in ("softmax", "log_softmax"):
        log = name == "log_softmax"
        return lambda a, out: _softmax[a.shape[:1]](out, a, a.shape[1], log, PIECE, num_warps=8)
    return None
