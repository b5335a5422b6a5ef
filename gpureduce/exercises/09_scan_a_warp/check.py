import numpy as np

from gpureduce.course import Case, ideal_sectors

KERNEL = "scan"
RUNG = "v7"


def cases(rng):
    for n in (32, 1, 31, 100, 500):
        data = rng.integers(-100, 100, n).astype(np.int32)
        warps = -(-n // 32)
        expected = np.pad(data, (0, 32 * warps - n)).reshape(warps, 32).cumsum(axis=1).reshape(-1)[:n]
        out = np.full(n, 10**9, np.int32)
        limits = {"shared_wavefronts": 0, "barriers": 0, "global_sectors": ideal_sectors(data, out) + 2}
        limits["warp_instructions"] = 100 * 4 * -(-n // 128)
        name = f"{n} elements"
        yield Case(name, -(-n // 128), 128, [data, out, n], {1: expected.astype(np.int32)}, limits)
