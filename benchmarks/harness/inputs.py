"""Device memory that is cut into inputs over which calls rotate."""

from __future__ import annotations

import math
from typing import Any

from gpureduce._bench.timing import ROTATION_BYTES

MAX_INPUTS = 256
ALIGNMENT = 256  # bytes: inputs begin at multiples of it, as allocations of every allocator do


class InputPool:
    """Numbers of one dtype in one tensor of PyTorch, cut into inputs."""

    def __init__(self, torch: Any, memory: Any) -> None:
        self.torch, self.memory, self.item = torch, memory, memory.element_size()

    @property
    def nbytes(self) -> int:
        """The bytes of all inputs together."""
        return self.memory.numel() * self.item

    @classmethod
    def integers(cls, torch: Any, dtype: str, nbytes: int, seed: int) -> InputPool:
        """Return a pool of whole numbers from -100 to 99, or from 0 where the dtype is unsigned."""
        kind = getattr(torch, dtype)
        generator = torch.Generator(device="cuda").manual_seed(seed)
        length = max(nbytes, ROTATION_BYTES) // kind.itemsize + ALIGNMENT
        memory = torch.empty(length, dtype=kind, device="cuda")
        low = 0 if dtype.startswith("uint") else -100
        for piece in memory.split(1 << 28):
            drawn = torch.randint(low, 100, piece.shape, device="cuda", generator=generator, dtype=torch.int8)
            piece.copy_(drawn)
        torch.cuda.synchronize()
        return cls(torch, memory)

    @classmethod
    def normal(cls, torch: Any, dtype: str, elements: int) -> InputPool:
        """Return a pool of normal numbers about 100, of as many elements at least."""
        kind = getattr(torch, dtype)
        torch.manual_seed(25)
        length = max(elements, ROTATION_BYTES // kind.itemsize)
        memory = torch.empty(length, dtype=kind, device="cuda")
        for piece in memory.split(1 << 24):
            piece.copy_(torch.randn(piece.shape, device="cuda", dtype=torch.float64) * 8 + 100)
        return cls(torch, memory)

    def packed(self, shape: tuple[int, ...]) -> list[Any]:
        """Return inputs of a shape, one behind the other."""
        n = math.prod(shape)
        count = min(MAX_INPUTS, max(1, self.memory.numel() // n))
        return [self.memory[i * n : (i + 1) * n].view(shape) for i in range(count)]

    def inputs(self, n: int, offset: int = 0) -> list[Any]:
        """Return aligned inputs of n elements, together larger than the L2 cache where they can be.

        `offset` moves each by a number of elements off its alignment.
        """
        capacity = (self.memory.numel() - ALIGNMENT) * self.item
        stride = max(-(-(n + offset) * self.item // ALIGNMENT) * ALIGNMENT, ROTATION_BYTES // MAX_INPUTS)
        count = max(1, min(MAX_INPUTS, capacity // stride, max(2, -(-ROTATION_BYTES // stride))))
        starts = [i * stride // self.item + offset for i in range(count)]
        return [self.memory[start : start + n] for start in starts]
