import numpy as np

from gpureduce.course import Case, ideal_sectors

KERNEL = "add_one"
RUNG = "v8"


def cases(rng):
    for n in (4096, 1027, 130, 5, 3, 0):
        data = rng.integers(1, 100, n + 3).astype(np.float32)
        out = np.full(n + 3, -1, np.float32)
        expected = np.where(np.arange(n + 3) < n, data + 1, np.float32(-1))
        limits = {"global_requests": 2 * (-(-n // 128) + 1)}
        limits["global_sectors"] = ideal_sectors(data[:n], out[:n]) + 2
        yield Case(f"{n} elements", 2, 128, [data, out, n], {1: expected}, limits)
