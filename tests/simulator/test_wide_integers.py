"""Integers of 128 bits in kernels: products, quotients and remainders are those of Python's integers."""

import random

import numpy as np
import pytest

import gpureduce

pytest.importorskip("cuda.pathfinder")

SOURCE = """
typedef unsigned __int128 wide;
typedef unsigned long long word;

__device__ wide get(const word *at) { return (wide)at[1] << 64 | at[0]; }
__device__ void put(word *at, wide x) { at[0] = (word)x; at[1] = (word)(x >> 64); }

__global__ void calculate(const word *a, const word *b, word *out) {
    const int i = threadIdx.x;
    const wide x = get(a + 2 * i), y = get(b + 2 * i);
    put(out + 10 * i, x / y);
    put(out + 10 * i + 2, x % y);
    put(out + 10 * i + 4, (wide)((__int128)x / (__int128)y));
    put(out + 10 * i + 6, x * y);
    put(out + 10 * i + 8, x - y);
}
"""
MASK = (1 << 64) - 1


def words(numbers):
    return np.array([part for number in numbers for part in (number & MASK, number >> 64)], np.uint64)


def signed(number):
    return number - (number >> 127 << 128)


def truncated(x, y):
    return abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1)


def test_arithmetic_is_pythons():
    draw = random.Random(0)
    special = [1, 2, 3, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 2**64, 2**127, 2**128 - 1]
    for _ in range(8):
        a, b = (
            [
                draw.choice([draw.getrandbits(draw.randint(1, 128)) or 1, draw.choice(special)])
                for _ in range(32)
            ]
            for _ in range(2)
        )
        out = np.zeros(320, np.uint64)
        gpureduce.simulate(SOURCE, "calculate", 1, 32, [words(a), words(b), out], races=False)
        got = [int(low) | int(high) << 64 for low, high in out.reshape(-1, 2)]
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            expected = [x // y, x % y, truncated(signed(x), signed(y)), x * y, x - y]
            assert got[5 * i : 5 * i + 5] == [value % 2**128 for value in expected], (hex(x), hex(y))
