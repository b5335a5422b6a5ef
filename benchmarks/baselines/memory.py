"""Device memory that all contenders reduce."""

from __future__ import annotations

import numpy as np

from gpureduce._bench.timing import ROTATION_BYTES

MOST_BUFFERS = 256
APART = 256  # bytes: buffers begin at multiples of it, as the pieces of every allocator do


class Pool:
    """Random numbers of one dtype, cut into inputs that lie apart from one another."""

    def __init__(self, torch, dtype: str, nbytes: int, seed: int) -> None:
        self.torch, self.dtype = torch, getattr(torch, dtype)
        self.item = self.dtype.itemsize
        generator = torch.Generator(device="cuda").manual_seed(seed)
        length = max(nbytes, ROTATION_BYTES) // self.item + APART
        self.memory = torch.empty(length, dtype=self.dtype, device="cuda")
        low = 0 if dtype.startswith("uint") else -100
        for piece in self.memory.split(1 << 28):
            piece.copy_(
                torch.randint(low, 100, piece.shape, device="cuda", generator=generator, dtype=torch.int8)
            )
        torch.cuda.synchronize()

    def inputs(self, n: int, offset: int = 0) -> list:
        """Return tensors of n elements, together larger than the L2 where they can be."""
        room = (self.memory.numel() - APART) * self.item
        stride = max(-(-(n + offset) * self.item // APART) * APART, ROTATION_BYTES // MOST_BUFFERS)
        count = max(1, min(MOST_BUFFERS, room // stride, max(2, -(-ROTATION_BYTES // stride))))
        starts = [i * stride // self.item + offset for i in range(count)]
        return [self.memory[start : start + n] for start in starts]


def exact(op: str, first, second) -> float:
    """Return the answer for integer-valued tensors, by NumPy in exact arithmetic."""
    x = first.cpu().double().numpy()
    if op == "sum":
        return float(x.sum())
    if op == "dot":
        return float(np.dot(x, second.cpu().double().numpy()))
    return float(x.max() if op == "max" else x.argmax())
