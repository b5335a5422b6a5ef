"""What is reduced in a profile: an array that was given, or random elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpureduce._rules.arguments import host_array, refuse_beyond_memory, refuse_masked
from gpureduce._rules.dtypes import dtype_of, require_supported

_PIECE = 1 << 16  # so many are drawn at a time: wider ones of all would not stay in a cache


def elements_of(a: Any, dtype: Any) -> np.ndarray:
    """Return the array to reduce; an integer n stands for n random elements."""
    if isinstance(a, (int, np.integer)) and not isinstance(a, bool):
        if a < 0:
            raise ValueError(f"a: a number of elements cannot be negative, got {a}")
        chosen = dtype_of(np.float32 if dtype is None else dtype)
        require_supported(chosen, "dtype")
        rng = np.random.default_rng(0)
        refuse_beyond_memory(int(a) * chosen.itemsize, "a")
        made = np.empty(int(a), chosen)
        for start in range(0, made.size, _PIECE):
            piece = made[start : start + _PIECE]
            piece[...] = rng.random(piece.size) if chosen.kind == "f" else rng.integers(0, 100, piece.size)
        return made
    if dtype is not None:
        raise TypeError("dtype: only for a number of elements; an array has its own")
    refuse_masked(a, "a")
    return host_array(a, "a")
