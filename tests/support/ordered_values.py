"""Numbers to order: of either sign, some of them equal, few near one another."""

import numpy as np

DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
    "float64",
)  # fmt: skip


def values(shape, dtype, seed):
    """Numbers of either sign, some of them equal, few near one another."""
    draw = np.random.default_rng(seed)
    numbers = draw.standard_normal(shape) * 10.0 ** draw.integers(-3, 5, shape)
    if dtype == "bool":
        return numbers > 0
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        drawn = draw.integers(limits.min, limits.max, shape, dtype, endpoint=True)
        return np.where(draw.random(shape) < 0.3, draw.integers(0, 5, shape).astype(dtype), drawn)
    with np.errstate(over="ignore"):
        return np.where(draw.random(shape) < 0.3, np.round(numbers), numbers).astype(dtype)
