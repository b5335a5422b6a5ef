import numpy as np

from gpureduce.course import Case, ideal_sectors

KERNEL = "product"
RUNG = "m2"


def cases(rng):
    for rows, columns, inner in ((32, 48, 64), (20, 33, 17), (1, 1, 1), (16, 16, 40)):
        a = rng.integers(-9, 9, (rows, inner)).astype(np.float32)
        b = rng.integers(-9, 9, (inner, columns)).astype(np.float32)
        c = np.full((rows, columns), np.nan, np.float32)
        grid = -(-columns // 16), -(-rows // 16)
        limits = {}
        if columns % 16 == rows % 16 == inner % 16 == 0:
            # Each column of blocks reads A, and each row of them B.
            limits["global_sectors"] = ideal_sectors(*[a] * grid[0], *[b] * grid[1], c)
        name = f"{rows} rows, {columns} columns, inner size {inner}"
        args = [a, b, c, rows, columns, inner]
        yield Case(name, grid, (16, 16), args, {2: (a @ b).astype(np.float32)}, limits)
