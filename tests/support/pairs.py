"""Pairs of rows whose products are spread over exponents and nearly cancel."""

import numpy as np

DTYPES = ("float16", "float32", "float64", "complex64", "complex128")


def drawn(rows, length, dtype, seed):
    """Return rows of numbers that nearly cancel, and factors near 1."""
    if dtype.startswith("complex"):
        part = {"complex64": "float32", "complex128": "float64"}[dtype]
        (a, b), (c, d) = drawn(rows, length, part, seed), drawn(rows, length, part, seed + 1)
        return (a + 1j * c).astype(dtype), (b + 1j * (d - 1)).astype(dtype)
    rng = np.random.default_rng((seed, length))
    data = rng.standard_normal((rows, length)) * 2.0 ** rng.integers(-8, 3, (rows, length))
    half = length // 2
    data[:, half : 2 * half] = -data[:, :half] * (1 + 2.0**-9)
    return rng.permuted(data, axis=1).astype(dtype), (1 + rng.random((rows, length)) / 64).astype(dtype)
