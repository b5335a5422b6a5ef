import numpy as np

from gpureduce.course import Case

KERNEL = "pair_sums"
RUNG = "v4"
LADDER = {"block_size": (64, 256), "elements": 2}
SIZES = (0, 1, 65, 127, 128, 129, 1000, 9217)


def cases(rng):
    for threads in (64, 256):
        data = rng.integers(1, 100, 5 * threads).astype(np.float32)
        out = np.full(3, np.nan, np.float32)
        expected = np.pad(data, (0, threads)).reshape(3, 2 * threads).sum(axis=1)
        rounds = int(np.log2(threads // 32))  # behind which one warp is left
        warps = 3 * threads // 32
        limits = {"barriers": warps * rounds, "atomics": 0, "warp_instructions": 150 * warps}
        name, args = f"{threads} threads per block", [data, out, len(data)]
        yield Case(name, 3, threads, args, {1: expected}, limits, 4 * threads, {"mean_lanes": 16})
