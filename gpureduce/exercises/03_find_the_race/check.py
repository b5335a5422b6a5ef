import numpy as np

from gpureduce.course import Case

KERNEL = "block_sums"
RUNG = "v2"


def cases(rng):
    for n, threads in ((128, 128), (300, 128), (1000, 64), (1, 128)):
        data = rng.integers(1, 100, n).astype(np.float32)
        blocks = -(-n // threads)
        out = np.full(blocks, np.nan, np.float32)
        expected = np.pad(data, (0, blocks * threads - n)).reshape(blocks, threads).sum(axis=1)
        rounds = int(np.log2(threads))
        warps = blocks * threads // 32
        limits = {
            "barriers": warps * (1 + rounds),
            "atomics": 0,
            "warp_instructions": warps * (20 + 25 * rounds),
        }
        name = f"{n} elements, {threads} threads per block"
        yield Case(name, blocks, threads, [data, out, n], {1: expected}, limits, at_least={"mean_lanes": 16})
