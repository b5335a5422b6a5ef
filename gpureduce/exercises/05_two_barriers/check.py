import numpy as np

from gpureduce.course import Case

KERNEL = "block_sums"
LADDER = {"block_size": (96, 1024), "shared_bytes": 0}
SIZES = (0, 1, 33, 95, 96, 97, 1025, 9217)


def cases():
    for threads in (96, 256, 1024):
        data = np.random.default_rng(threads).integers(1, 100, 3 * threads).astype(np.float32)
        out = np.full(3, np.nan, np.float32)
        limits = {"barriers": 2 * 3 * threads // 32, "atomics": 0}
        expected = data.reshape(3, threads).sum(axis=1)
        yield Case(f"{threads} threads per block", 3, threads, [data, out, len(data)], {1: expected}, limits)
