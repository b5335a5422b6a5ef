import numpy as np

from gpureduce.course import Case, ideal_sectors

KERNEL = "warp_sums"
RUNG = "v7"


def cases(rng):
    for n in (32, 1, 33, 100, 1000):
        data = rng.integers(1, 100, n).astype(np.float32)
        warps = -(-n // 32)
        out = np.full(warps, np.nan, np.float32)
        expected = np.pad(data, (0, 32 * warps - n)).reshape(warps, 32).sum(axis=1)
        limits = {"shared_wavefronts": 0, "barriers": 0, "atomics": 0}
        limits["global_sectors"] = ideal_sectors(data, slack=1) + warps
        yield Case(f"{n} elements", -(-n // 128), 128, [data, out, n], {1: expected}, limits)
