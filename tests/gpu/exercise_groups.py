"""Runs chosen rungs of the group sums, and `auto`, over a few sizes and labels, checking results.

Small on purpose: this is the program that tests/gpu/sanitize.py runs under compute-sanitizer.
"""

import argparse

import numpy as np

import gpureduce

CASES = ((0, 3), (1, 1), (257, 255), (4097, 256), (100_003, 1000), (100_003, 3))
SHORT = ((4097, 256),)


def wrong_sums(name: str, device: str, short: bool) -> list[str]:
    """Return what a rung gets wrong of whole numbers, which all of them sum without a rounding."""
    rng = np.random.default_rng(5)
    wrong = []
    for n, groups in SHORT if short else CASES:
        values = rng.integers(-99, 99, n).astype(np.float32)
        for kind in ("uniform", "equal", "sorted"):
            labels = rng.integers(-1, groups, n, np.int32) if kind != "equal" else np.full(n, groups - 1)
            labels = np.sort(labels) if kind == "sorted" else labels
            inside = labels >= 0
            right = np.bincount(labels[inside], values[inside], groups)
            got = gpureduce.group_reduce(values, labels, num_groups=groups, variant=name, device=device)
            if not np.array_equal(got, right):
                wrong.append(f"{name} n {n} groups {groups} {kind}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("variants", nargs="+")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--short", action="store_true", help="one length")
    options = parser.parse_args()
    wrong = [line for name in options.variants for line in wrong_sums(name, options.device, options.short)]
    print(*wrong, f"wrong results: {len(wrong)}", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
