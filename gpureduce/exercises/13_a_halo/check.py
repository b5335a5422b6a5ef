import numpy as np

from gpureduce.course import Case

KERNEL = "smooth"
RUNG = "c3"


def cases(rng):
    for n in (512, 129, 128, 127, 1, 300):
        data = rng.integers(1, 100, n).astype(np.float32)
        out = np.full(n, np.nan, np.float32)
        around = np.pad(data, 1)
        blocks, warps = -(-n // 128), -(-n // 32)
        limits = {
            "global_load_requests": warps + 2 * blocks,
            "global_store_requests": warps,
            "bank_conflicts": 0,
        }
        expected = around[:-2] + data + around[2:]
        yield Case(f"{n} elements", blocks, 128, [data, out, n], {1: expected}, limits)
