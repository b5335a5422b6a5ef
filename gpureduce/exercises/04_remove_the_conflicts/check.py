import numpy as np

from gpureduce.course import Case, ideal_sectors

KERNEL = "transpose"
RUNG = "v2"


def cases(rng):
    for height, width in ((32, 32), (96, 64), (40, 70), (1, 33)):
        data = rng.integers(1, 1000, (height, width)).astype(np.float32)
        out = np.full((width, height), np.nan, np.float32)
        limits = {"bank_conflicts": 0}
        if height % 32 == width % 32 == 0:
            limits["global_sectors"] = ideal_sectors(data, out)
        grid = -(-width // 32), -(-height // 32)
        name = f"{height} rows, {width} columns"
        yield Case(
            name, grid, (32, 32), [data, out, width, height], {1: np.ascontiguousarray(data.T)}, limits
        )
