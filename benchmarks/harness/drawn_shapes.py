"""Layouts drawn at random: arrays and axes from one element to gigabytes, in any memory order.

The bytes of an array are drawn log-uniformly, so that each order of magnitude is as likely as any other.
Plans take a `view`, for which there is no memory; `placed` makes an array to reduce.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

MOST_BYTES = 1 << 33
ADDRESS = 1 << 40  # of arrays that are not there


class Drawn(NamedTuple):
    """A layout, for elements of any size: strides are in elements, from `origin` elements on."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    axes: tuple[int, ...]
    origin: int
    masked: bool

    def view(self, dtype: str, item_bytes: int) -> tuple:
        """Return what the core takes for an array on a device, at an address where there is nothing."""
        strides = tuple(stride * item_bytes for stride in self.strides)
        return (ADDRESS + self.origin * item_bytes, self.shape, strides, dtype)

    def placed(self, dtype: np.dtype) -> np.ndarray:
        """Return an array of these strides in memory of its own."""
        lowest = sum(min(0, (n - 1) * stride) for n, stride in zip(self.shape, self.strides, strict=True))
        highest = sum(max(0, (n - 1) * stride) for n, stride in zip(self.shape, self.strides, strict=True))
        memory = np.zeros(self.origin + highest - lowest + 1, dtype)
        strides = [stride * dtype.itemsize for stride in self.strides]
        return np.lib.stride_tricks.as_strided(memory[self.origin - lowest :], self.shape, strides)

    def mask(self) -> tuple | None:
        """Return the same for what `where` may be, in C order, or None."""
        strides = tuple(
            int(np.prod(self.shape[axis + 1 :], dtype=np.int64)) for axis in range(len(self.shape))
        )
        return (ADDRESS, self.shape, strides, "bool") if self.masked else None


def drawn_shapes(count: int, seed: int = 0, most_bytes: int = MOST_BYTES) -> Iterator[Drawn]:
    """Draw layouts: the same ones for the same seed."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield _draw(rng, most_bytes)


def _draw(rng: np.random.Generator, most_bytes: int) -> Drawn:
    ndim = int(rng.choice([1, 2, 3, 4, 5], p=[0.15, 0.35, 0.3, 0.15, 0.05]))
    # The bytes of the whole array are log-uniform, and so is the part of them that each dimension has.
    total = rng.uniform(0, np.log(most_bytes / 8))
    parts = rng.dirichlet(np.ones(ndim))
    shape = [max(1, round(float(np.exp(total * part)))) for part in parts]
    if rng.random() < 0.3:  # numbers that people choose
        shape = [1 << max(0, round(np.log2(n))) for n in shape]
    order = list(range(ndim))
    if rng.random() < 0.4:
        rng.shuffle(order)
    strides, step = [0] * ndim, 1
    gaps = rng.random() < 0.25
    for axis in order[::-1]:
        step *= int(rng.choice([1, 2, 3])) if gaps and rng.random() < 0.5 else 1
        strides[axis] = step
        step *= shape[axis]
        step += int(rng.integers(1, 17)) if gaps and rng.random() < 0.3 else 0
    for axis in range(ndim):
        kind = rng.random()
        if kind < 0.05:
            strides[axis] = 0
        elif kind < 0.1:
            strides[axis] = -strides[axis]
    axes = [axis for axis in range(ndim) if rng.random() < 0.5] or [int(rng.integers(ndim))]
    origin = int(rng.choice([0, 0, 0, 1, 2, 3, 8]))
    return Drawn(tuple(shape), tuple(strides), tuple(axes), origin, bool(rng.random() < 0.1))
