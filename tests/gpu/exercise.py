"""Runs chosen variants once over all operators, dtypes and a few sizes on a CUDA device, checking results.

Small on purpose: this is the program that tests/gpu/sanitize.py runs under compute-sanitizer.
"""

import argparse

import numpy as np

import gpureduce

SIZES = (0, 1, 3, 63, 257, 1025, 4097, 100_003)
OTHER_SIZES = (1, 257, 4097)  # of operators other than sum


def numpy_result(op, values):
    """What NumPy makes of integers so small, or of signs, which no rounding touches."""
    function = getattr(np, op)
    return function.reduce(values) if op.startswith("bitwise") else function(values)


def launches(variant, op, short):
    """Return the block sizes and the lengths of arrays to run an operator with."""
    if short:
        return [variant.default_block_size], (4097,)
    if op != "sum":
        return [64, variant.default_block_size], OTHER_SIZES
    # The odd sizes of the shuffle rungs, without running all 31 of them under a slow tool.
    return [size for size in variant.block_sizes if size & (size - 1) == 0 or size in (96, 992)], SIZES


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("variants", nargs="+")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--short", action="store_true", help="one operator, dtype, block size, length")
    options = parser.parse_args()
    data = np.random.default_rng(5).integers(1, 50, max(SIZES))
    wrong = 0
    for variant in gpureduce.variants("reduction"):
        if variant.name not in options.variants:
            continue
        for op, dtype in variant.coverage[:1] if options.short else variant.coverage:
            values = (np.where(data % 2 == 0, 1, -1) if op == "prod" else data).astype(dtype)
            blocks, sizes = launches(variant, op, options.short)
            for block in blocks:
                for n in sizes:
                    got = getattr(gpureduce, op)(
                        values[:n], variant=variant.name, device=options.device, block_size=block
                    )
                    if got != numpy_result(op, values[:n]):
                        wrong += 1
                        print(f"{variant.name} {op} {dtype} block {block} n {n}: got {got}")
    print(f"wrong results: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
