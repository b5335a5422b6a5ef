#!/usr/bin/env python3
"""Sums, means and variances of arrays that are cut at random over several devices, compared with fractions.

``python tests/gpu/cut_at_random.py [--device sim] [--cases N] [--out FILE]``. Sums and means must be the
exact values rounded once. Variances must have the same bits on any number of devices and lie within a few
roundings of the exact value. Parts may be empty. Exits with 1 at the first difference.
"""

import argparse
import json
import math
from fractions import Fraction

import numpy as np

import gpureduce

KINDS = ("normal", "wide", "cancelling")


def numbers(rng: np.random.Generator, kind: str, dtype: str) -> np.ndarray:
    """Return an array of 4 to 20,000 elements."""
    n = int(np.exp(rng.uniform(np.log(4), np.log(20_000))))
    a = rng.standard_normal(n)
    if kind != "normal":
        a *= 2.0 ** rng.integers(-40, 40, n)
    if kind == "cancelling":
        a[n // 2 : n // 2 * 2] = -a[: n // 2]
        rng.shuffle(a)
    return a.astype(dtype)


def rounded(value: Fraction, dtype: np.dtype) -> float:
    """Return a fraction rounded once to a dtype."""
    near = dtype.type(float(value))
    around = (np.nextafter(near, dtype.type(-np.inf)), near, np.nextafter(near, dtype.type(np.inf)))
    distances = [abs(Fraction(float(each)) - value) for each in around]
    nearest = [each for each, distance in zip(around, distances, strict=True) if distance == min(distances)]
    even = [each for each in nearest if int(each.view(f"u{dtype.itemsize}")) % 2 == 0]
    return float((even or nearest)[0])


def check(rng: np.random.Generator, names: list[str], kind: str, dtype: str) -> None:
    """Compare one array, cut over one device, over half of the devices and over all."""
    a = numbers(rng, kind, dtype)
    exact = sum(map(Fraction, a.tolist()))
    mean = exact / len(a)
    variance = sum((Fraction(x) - mean) ** 2 for x in a.tolist()) / len(a)
    variances = set()
    for count in sorted({1, max(1, len(names) // 2), len(names)}):
        cuts = np.sort(rng.integers(0, len(a) + 1, count - 1))
        parts = [
            gpureduce.to_device(part, name)
            for part, name in zip(np.split(a, cuts), names[:count], strict=True)
        ]
        whole = gpureduce.Sharded(parts)
        where = (kind, dtype, len(a), cuts.tolist())
        assert float(gpureduce.sum(whole)) == rounded(exact, a.dtype), ("sum", where)
        if dtype == "float64":
            assert float(gpureduce.sum(whole)) == math.fsum(a.tolist()), ("fsum", where)
        assert float(gpureduce.mean(whole)) == rounded(mean, a.dtype), ("mean", where)
        found = float(gpureduce.var(whole))
        variances.add(found)
        allowed = Fraction(float(np.spacing(a.dtype.type(float(variance))))) * 4
        assert abs(Fraction(found) - variance) <= allowed, ("var", where, found, float(variance))
    assert len(variances) == 1, ("bits of var", kind, dtype, len(a), variances)


def main() -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", help="cuda (default: all GPUs) or sim (four simulators)")
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", metavar="FILE")
    options = parser.parse_args()
    names = [str(each) for each in gpureduce.devices() if str(each).startswith("cuda")]
    if options.device == "sim":
        names = ["sim", "sim:1", "sim:2", "sim:3"]
    rng = np.random.default_rng(options.seed)
    for case in range(options.cases):
        check(rng, names, KINDS[case % 3], ("float32", "float64")[case // 3 % 2])
    told = {"devices": len(names), "cases": options.cases, "seed": options.seed, "differ": 0}
    print(told)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(told, file)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
