"""Runs chosen rungs of the exact sums, and `auto`, over dtypes, layouts and a few sizes, checking results.

Small on purpose: this is the program that tests/gpu/sanitize.py runs under compute-sanitizer.
"""

import argparse
import math

import numpy as np

import gpureduce
from gpureduce import _core
from gpureduce._device.devices import resolve

SIZES = (0, 1, 3, 63, 257, 4097, 100_003)
SHORT = (4097,)


def rungs(names: list[str], device: str, short: bool) -> list[str]:
    """Return what the rungs get wrong of whole numbers, which all of them sum without a rounding."""
    data = np.random.default_rng(5).integers(-99, 99, max(SIZES)).astype(np.float32)
    return [
        f"{name} n {n}"
        for name in names
        for n in (SHORT if short else SIZES)
        if gpureduce.sum(data[:n], variant=name, exact=True, device=device) != data[:n].sum()
    ]


def default(device: str, short: bool) -> list[str]:
    """Return what the default gets wrong."""
    rng = np.random.default_rng(6)
    wrong = []
    for n in SHORT if short else SIZES:
        data = rng.standard_normal(n) * 2.0 ** rng.integers(-10, 10, n)
        for dtype in (np.float16, np.float32, np.float64):
            array = data.astype(dtype)
            right = {"sum": dtype(math.fsum(array.tolist()))}
            if dtype is not np.float64:  # of which a float64 holds the products
                right["dot"] = dtype(math.fsum((array.astype(np.float64) ** 2).tolist()))
            for op, want in right.items():
                arrays = [array] * (2 if op == "dot" else 1)
                got = getattr(gpureduce, op)(*arrays, exact=True, device=device)
                if got != want:
                    wrong.append(f"auto {op} {dtype.__name__} n {n}: {got}, not {want}")
            last = gpureduce.cumulative_sum(array, exact=True, device=device)[-1:]
            if (last != right["sum"]).any():
                wrong.append(f"cumulative_sum {dtype.__name__} n {n}: {last}, not {right['sum']}")
            # By bins, which are folded often, of blocks that join.
            got = _core.exact(array, "sum", (0,), None, None, None, *resolve(device), 0, 33, 3)[()]
            if got != right["sum"]:
                wrong.append(f"bins {dtype.__name__} n {n}: {got}, not {right['sum']}")
    square = rng.standard_normal((65, 130))
    mask = square > 0
    for axis in (0, 1):
        got = gpureduce.sum(square, axis=axis, where=mask, exact=True, device=device)
        want = [math.fsum(row) for row in np.moveaxis(np.where(mask, square, 0), axis, -1).tolist()]
        if got.tolist() != want:
            wrong.append(f"auto axis {axis}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("variants", nargs="+")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--short", action="store_true", help="one length")
    options = parser.parse_args()
    names = [variant.name for variant in gpureduce.variants("exact") if variant.name in options.variants]
    with np.errstate(all="ignore"):
        wrong = rungs(names, options.device, options.short)
        if "auto" in options.variants:
            wrong += default(options.device, options.short)
    print(*wrong, f"wrong results: {len(wrong)}", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
