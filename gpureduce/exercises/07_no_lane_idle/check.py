import numpy as np

from gpureduce.course import Case

KERNEL = "tree_sums"
RUNG = "v2"


def cases(rng):
    for n, threads in ((512, 256), (1000, 128), (1, 64)):
        data = rng.integers(1, 100, n).astype(np.float32)
        blocks = -(-n // threads)
        out = np.full(blocks, np.nan, np.float32)
        expected = np.pad(data, (0, blocks * threads - n)).reshape(blocks, threads).sum(axis=1)
        parting = 6 * blocks + (n % threads > 0)  # and where the array ends
        limits = {"divergent_branches": parting, "bank_conflicts": 0, "atomics": 0}
        limits["warp_instructions"] = blocks * threads // 32 * (20 + 25 * int(np.log2(threads)))
        args = [data, out, n]
        yield Case(f"{n} elements", blocks, threads, args, {1: expected}, limits, at_least={"mean_lanes": 16})
