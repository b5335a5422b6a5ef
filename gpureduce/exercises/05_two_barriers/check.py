import numpy as np

from gpureduce.course import Case

KERNEL = "shuffle_sums"
RUNG = "v7"
LADDER = {"block_size": (96, 1024), "shared_bytes": 0}
SIZES = (0, 1, 33, 95, 96, 97, 1025, 9217)


def cases(rng):
    for threads in (96, 256, 1024):
        data = rng.integers(1, 100, 3 * threads).astype(np.float32)
        out = np.full(3, np.nan, np.float32)
        warps = 3 * threads // 32
        limits = {"barriers": 2 * warps, "atomics": 0, "warp_instructions": 120 * warps}
        expected = data.reshape(3, threads).sum(axis=1)
        name, args = f"{threads} threads per block", [data, out, len(data)]
        yield Case(name, 3, threads, args, {1: expected}, limits, at_least={"mean_lanes": 16})
