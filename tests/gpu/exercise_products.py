"""Multiplies by chosen variants, or `auto`, in all their dtypes and a few shapes, checking results.

Small on purpose: this is the program that ``tests/gpu/sanitize.py --ladder matmul`` runs.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

import gpureduce

sys.path.append(str(Path(__file__).resolve().parents[2]))
from tests.support import product_cases as cases

# Inside a tile, off in each direction, a tail along k, whole tiles, a row, a column, nothing to add.
SHAPES = ((3, 5, 7), (130, 137, 33), (65, 63, 100), (256, 128, 64), (1, 257, 65), (257, 1, 65), (5, 3, 0))
FEW_SHAPES = ((130, 137, 33), (128, 128, 64), (1, 257, 65), (257, 1, 65))
LAYOUTS = (("plain", "plain"), ("transposed", "cropped"), ("cropped", "transposed"))


def operands(dtype, shape):
    """Matrices whose product rounds nowhere."""
    m, n, k = shape
    if dtype == "bool":
        return tuple(np.random.default_rng(k).integers(0, 2, each) == 1 for each in ((m, k), (k, n)))
    if np.dtype(cases.named(dtype)).kind == "c":
        real, imaginary = (operands("float32", shape) for _ in range(2))
        return tuple((x + 1j * y).astype(dtype) for x, y in zip(real, imaginary, strict=True))
    return cases.numbers(dtype, (m, k), k, "exact", "a"), cases.numbers(dtype, (k, n), k, "exact", "b")


def is_right(variant, dtype, shape, layouts, device):
    """Whether a product is what NumPy makes of it in numbers that have room for it."""
    a, b = operands(dtype, shape)
    left, right = (cases.strided(each, how) for each, how in zip((a, b), layouts, strict=True))
    got = gpureduce.matmul(left, right, variant=variant, device=device)
    wide = {"b": bool, "c": complex, "i": np.int64, "u": np.uint64}.get(a.dtype.kind, float)
    return np.array_equal(got, np.matmul(a.astype(wide), b.astype(wide)).astype(a.dtype))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("variants", nargs="+")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--by-threads", action="store_true", help="only what no copy engine stores")
    parser.add_argument("--short", action="store_true", help="few shapes only, without copies")
    options = parser.parse_args()
    dtypes = {variant.name: variant.dtypes for variant in gpureduce.variants("matmul")}
    dtypes["auto"] = (*cases.ALL_DTYPES, "bfloat16")
    shapes = FEW_SHAPES if options.short else SHAPES
    if options.by_threads:  # rows of C of which some begin off 16 bytes
        shapes = [shape for shape in shapes if shape[1] % 8 != 0]
    wrong = 0
    for variant in options.variants:
        for dtype in dtypes[variant]:
            for shape in shapes:
                for layouts in LAYOUTS[:1] if options.short else LAYOUTS:
                    if not is_right(variant, dtype, shape, layouts, options.device):
                        wrong += 1
                        print(f"{variant} {dtype} {shape} {layouts}")
    print(f"wrong results: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
