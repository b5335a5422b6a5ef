"""Runs chosen rungs of the ladder of scans, and `auto`, over a few sizes, checking results.

Small on purpose: this is the program that tests/gpu/sanitize.py runs under compute-sanitizer.
"""

import argparse

import numpy as np

import gpureduce

SIZES = (0, 1, 257, 4097, 100_003, 1_100_000)
SHORT = (4097, 20_003)


def wrong_sums(name: str, device: str, short: bool) -> list[str]:
    """Return what a rung gets wrong of whole numbers, which all of them sum without a rounding."""
    rng = np.random.default_rng(5)
    wrong = []
    for n in SHORT if short else SIZES:
        a = rng.integers(-3, 4, n).astype(np.float32)
        got = gpureduce.cumulative_sum(a, variant=name, device=device)
        if not np.array_equal(got, np.cumsum(a, dtype=np.float64)):
            wrong.append(f"{name} n {n}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("variants", nargs="+")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--short", action="store_true", help="two lengths")
    options = parser.parse_args()
    wrong = [line for name in options.variants for line in wrong_sums(name, options.device, options.short)]
    print(*wrong, f"wrong results: {len(wrong)}", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
