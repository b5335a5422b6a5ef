import numpy as np

from gpureduce.course import Case, ideal_sectors

KERNEL = "count_above"
RUNG = "atomic"


def cases(rng):
    for n in (1000, 256, 257, 33, 1):
        data = rng.normal(size=n).astype(np.float32)
        data[:: 7 if n > 1 else 2] = 0.25  # the limit itself
        data[n // 2] = np.nan if n > 1 else 3
        blocks = -(-n // 128)
        limits = {"atomics": blocks, "shared_wavefronts": 0}
        limits["global_sectors"] = ideal_sectors(data) + 2 * blocks
        expected = np.array([(data > 0.25).sum()], np.int32)
        name = f"{n} elements"
        yield Case(name, blocks, 128, [data, np.zeros(1, np.int32), 0.25, n], {1: expected}, limits)
