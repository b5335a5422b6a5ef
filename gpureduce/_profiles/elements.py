"""What is reduced in a profile: an array that was given, or random elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpureduce._rules.arguments import host_array, refuse_beyond_memory, refuse_masked
from gpureduce._rules.dtypes import dtype_of, require_supported

_PIECE = 1 << 16  # so many are drawn at a time: wider ones of all would not stay in a cache


def elements_of(arr_or_n: Any, dtype: Any) -> np.ndarray:
    """Return the array to reduce; an integer n stands for n random elements."""
    if isinstance(arr_or_n, (int, np.integer)) and not isinstance(arr_or_n, bool):
        if arr_or_n < 0:
            raise ValueError(f"arr_or_n: a number of elements cannot be negative, got {arr_or_n}")
        chosen = dtype_of(np.float32 if dtype is None else dtype)
        require_supported(chosen, "dtype")
        rng = np.random.default_rng(0)
        refuse_beyond_memory(int(arr_or_n) * chosen.itemsize, "arr_or_n")
        made = np.empty(int(arr_or_n), chosen)
        for start in range(0, made.size, _PIECE):
            piece = made[start : start + _PIECE]
            piece[...] = rng.random(piece.size) if chosen.kind == "f" else rng.integers(0, 100, piece.size)
        return made
    if dtype is not None:
        raise TypeError("dtype: only for a number of elements; an array has its own")
    refuse_masked(arr_or_n, "arr_or_n")
    return host_array(arr_or_n, "arr_or_n")
