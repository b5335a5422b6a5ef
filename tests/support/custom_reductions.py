"""Reductions that users write, and whole numbers whose sums a float holds exactly, in any order."""

import numpy as np

from gpureduce import ReductionKernel
from tests.support import numpy_oracle as oracle

STRIDED = {
    "C": lambda a: a,
    "F": np.asfortranarray,
    "reversed": lambda a: a[::-1, :, ::-1].copy()[::-1, :, ::-1],
    "stepped": lambda a: np.repeat(np.repeat(a, 2, axis=0), 3, axis=2)[::2, :, ::3],
    "swapped": lambda a: a.astype(a.dtype.newbyteorder()),
    "unaligned": lambda a: np.frombuffer(b"-" + a.tobytes(), a.dtype, offset=1).reshape(a.shape),
}

SHAPES = (
    ((70001,), None), ((40, 3000), 1), ((3, 5000), 1), ((700, 64), 0), ((20_001, 3), 0), ((9001, 7), 1),
    ((33, 100, 65), 1), ((33, 100, 65), (0, 2)), ((3, 5, 2001), (0, 2)), ((65, 17, 9), 0), ((2, 70000), 0),
    ((64, 5, 7, 3), (0, 2)), ((3001, 1), 1), ((70, 2001), 0), ((2, 140_001), 0),
)  # fmt: skip


def norm2(**changes):
    arguments = {
        "in_params": "T x",
        "out_params": "T y",
        "map_expr": "x * x",
        "reduce_expr": "a + b",
        "post_map_expr": "y = sqrt(a)",
        "identity": "0",
        "name": "norm2",
    }
    return ReductionKernel(**(arguments | changes))


def total(in_params="T x", out_params="T y", map_expr="x", **changes):
    given = {"in_params": in_params, "out_params": out_params, "map_expr": map_expr}
    return norm2(**(given | {"post_map_expr": "y = a", "name": "total"} | changes))


def quick(**changes):
    """norm2 of two inputs, which has fewer kernels to compile."""
    return norm2(**({"in_params": "T x, T w", "map_expr": "x * w"} | changes))


def largest(identity=None):
    return norm2(map_expr="abs(x)", reduce_expr="max(a, b)", post_map_expr="y = a", identity=identity)


def whole_numbers(shape, dtype="float32", seed=0, most=9):
    dtype = oracle.dtype_of(dtype)
    rng = np.random.default_rng(seed)
    low = 0 if dtype.kind in "bu" else -most
    values = rng.integers(low, 2 if dtype.kind == "b" else most + 1, shape)
    if dtype.kind == "c":
        values = values + 1j * rng.integers(low, most + 1, shape)
    return values.astype(dtype)
