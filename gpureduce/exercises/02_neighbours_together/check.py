import numpy as np

from gpureduce.course import Case, ideal_sectors

KERNEL = "scale"
RUNG = "grid_stride"


def cases(rng):
    for n in (4096, 5000, 127, 1, 0):
        data = rng.integers(1, 100, n + 1).astype(np.float32)
        out = np.full(n + 1, -1, np.float32)
        expected = np.where(np.arange(n + 1) < n, 3 * data, np.float32(-1))
        limits = {"global_sectors": ideal_sectors(data[:n], out[:n]) + 1}
        yield Case(f"{n} elements", 2, 64, [data, out, 3.0, n], {1: expected}, limits)
