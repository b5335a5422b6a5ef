"""Runs chosen variants once over every dtype, block size and a few sizes on a CUDA device, checking each sum.

Small on purpose: this is the program that tests/gpu/sanitize.py runs under compute-sanitizer.
"""

import argparse

import numpy as np

import gpureduce

SIZES = (0, 1, 3, 63, 257, 1025, 4097, 100_003)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("variants", nargs="+")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--short", action="store_true", help="one dtype, block size and length only")
    options = parser.parse_args()
    data = np.random.default_rng(5).integers(1, 50, max(SIZES))
    wrong = 0
    for variant in gpureduce.variants():
        if variant.name not in options.variants:
            continue
        # The odd sizes of the shuffle rungs, without running all 31 of them under a slow tool.
        blocks = [size for size in variant.block_sizes if size & (size - 1) == 0 or size in (96, 992)]
        dtypes, sizes = variant.dtypes, SIZES
        if options.short:
            dtypes, blocks, sizes = dtypes[:1], [variant.default_block_size], (4097,)
        for dtype in dtypes:
            values = data.astype(dtype)
            for block in blocks:
                for n in sizes:
                    got = gpureduce.sum(
                        values[:n], variant=variant.name, device=options.device, block_size=block
                    )
                    if int(got) != int(data[:n].sum()):
                        wrong += 1
                        print(f"{variant.name} {dtype} block {block} n {n}: got {got}")
    print(f"wrong sums: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
