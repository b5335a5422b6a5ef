"""Checks exact sums and times them beside plain ones: ``python benchmarks/run.py exact_sums --out FILE``.

Sums, and as many means, are checked against sums of Python integers: random arrays of many kinds, in several
orders, grids, and numbers of additions between folds; ``--jobs`` processes make the references. Timed by
benchmarks.suite.exact_times; without a clock, on the simulator, the seconds of whole calls stand for that.
With ``--errors`` it prints what the rungs get wrong of sums under cancellation, and does nothing else.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import math
import multiprocessing
import shutil
import time
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.suite import exact_times
from gpureduce import _core
from gpureduce._bench import environment, files
from gpureduce._bench.exact_sum import float_sum
from gpureduce._device.devices import resolve
from gpureduce._device.variants import variants
from gpureduce._reduce import arithmetic

# Bits of a significand, and the exponent of the last bit of the smallest numbers.
FORMATS = {"float32": (24, -149), "float64": (53, -1074), "float16": (11, -24)}
KINDS = ("normal", "lognormal", "any", "cancelling", "largest", "subnormal", "constant")
BATCH = 1000  # sums that a process prepares at a time
DEEPEST = 1127  # every float64 is whole in units of 2^-1127


def data(kind: str, n: int, dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    """Return finite numbers of a kind."""
    if kind == "normal":
        return rng.standard_normal(n).astype(dtype)
    if kind == "lognormal":
        return np.minimum(np.exp(rng.normal(0, 2, n)), np.finfo(dtype).max).astype(dtype)
    if kind == "largest":
        return (rng.choice([-1.0, 1.0], n) * np.finfo(dtype).max).astype(dtype)
    if kind == "constant":
        return np.full(n, 1.1, dtype)
    bits = rng.integers(0, 1 << 8 * dtype.itemsize, n, dtype=f"u{dtype.itemsize}")
    if kind == "subnormal":
        bits &= np.array((1 << FORMATS[dtype.name][0]) - 1, bits.dtype)
    numbers = bits.view(dtype)
    numbers = np.where(np.isfinite(numbers), numbers, dtype.type(0))
    if kind == "cancelling":
        half = numbers[: n // 2]
        numbers = np.concatenate([half, -half, half[: n % 2] * dtype.type(0.5)])
        numbers[: n // 50] = 0
        rng.shuffle(numbers)
    return numbers


def whole(array: np.ndarray) -> int:
    """Return the sum of finite numbers in units of 2^-DEEPEST."""
    fractions, exponents = np.frexp(array.astype(np.float64))
    integers = (fractions * 2.0**53).astype(np.int64)
    low, high = integers & 0x3FFFFFF, integers >> 26
    places, index = np.unique(exponents, return_inverse=True)
    total = 0
    for parts, shift in ((low, 0), (high, 26)):
        sums = np.zeros(len(places), np.int64)
        np.add.at(sums, index.ravel(), parts)
        for place, partial in zip(places.tolist(), sums.tolist(), strict=True):
            total += partial << (place - 53 + shift + DEEPEST)
    return total


def rounded(total: int, dtype: np.dtype, divisor: int = 1) -> np.generic:
    """Return such a sum, or the mean of so many, rounded once."""
    if total == 0:
        return dtype.type(0)
    precision, least = FORMATS[dtype.name]
    size = Fraction(abs(total), divisor << DEEPEST)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()  # of its first bit, or one more
    exponent -= size < Fraction(2) ** exponent
    unit = max(exponent + 1 - precision, least)
    steps = round(size / Fraction(2) ** unit)
    try:
        result = math.ldexp(steps, unit)
    except OverflowError:
        result = math.inf
    with np.errstate(over="ignore"):
        return dtype.type(-result if total < 0 else result)


def cases(count: int, seed: int) -> list[tuple]:
    """Return random arrays in several orders, and the sum or mean of each; with how it is to be made."""
    rng = np.random.default_rng(seed)
    found: list[tuple] = []
    while len(found) < count:
        dtype = np.dtype(rng.choice(list(FORMATS)))
        name = str(rng.choice(KINDS))
        n = int(2.0 ** rng.uniform(0, 12 if rng.random() < 0.95 else 18))
        array = data(name, n, dtype, rng)
        op = str(rng.choice(["sum", "mean"])) if len(array) else "sum"
        want = rounded(whole(array), dtype, len(array) if op == "mean" else 1)
        for _ in range(5):
            fold, blocks, step = (
                int(rng.choice([0, 0, 1, 33])),
                int(rng.choice([0, 0, 1, 7])),
                rng.choice([-1, 1]),
            )
            found.append((name, array, op, want, fold, blocks, int(step)))
            array = rng.permutation(array)
    return found


def check(count: int, device: str, seed: int, jobs: int = 1) -> tuple[int, list[str]]:
    """Compare so many random sums and means; return how many, and those that differ.

    `jobs` processes prepare them.
    """
    kind, index = resolve(device)
    wrong, done = [], 0
    with contextlib.ExitStack() as stack:
        batches: Iterator[list[tuple]] = map(_batch, _seeds(count, seed))
        if jobs > 1:
            pool = stack.enter_context(multiprocessing.get_context("spawn").Pool(jobs))
            batches = pool.imap_unordered(_batch, _seeds(count, seed))
        for name, array, op, want, fold, blocks, step in itertools.chain.from_iterable(batches):
            got = _core.exact(array[::step], op, (0,), None, None, None, kind, index, 0, fold, blocks)[()]
            if got.tobytes() != want.tobytes():
                what = f"{op} of {array.dtype} {name} n={len(array)} fold={fold} blocks={blocks}"
                wrong.append(f"{what}: {got!r}, not {want!r}")
            done += 1
    return done, wrong


def _seeds(count: int, seed: int) -> Iterator[tuple[int, int]]:
    """Yield how many sums a batch has, and its seed."""
    for first in range(0, count, BATCH):
        yield min(BATCH, count - first), 10**6 * seed + first


def _batch(asked: tuple[int, int]) -> list[tuple]:
    with np.errstate(all="ignore"):
        return cases(*asked)


def cancelling(n: int, condition: float, rng: np.random.Generator) -> np.ndarray:
    """Return float32 numbers whose magnitudes sum to so many times their sum."""
    half = rng.lognormal(0, 3, n // 2 - 1).astype(np.float32)
    rest = np.full(2, half.sum(dtype=np.float64) / condition, np.float32)
    numbers = np.concatenate([half, -half, rest])
    rng.shuffle(numbers)
    return numbers


def errors(n: int, device: str, draws: int = 5) -> Iterator[tuple[float, dict[str, float]]]:
    """Yield condition numbers, and the largest relative error of a plain sum and of each rung."""
    for exponent in range(0, 21, 4):
        rng = np.random.default_rng(exponent)
        worst: dict[str, float] = {}
        for _ in range(draws):
            array = cancelling(n, 10.0**exponent, rng)
            right = float_sum(array)
            sums = {"v8": arithmetic.sum(array, variant="v8", device=device)}
            for rung in variants("exact"):
                sums[rung.name] = arithmetic.sum(array, variant=rung.name, exact=True, device=device)
            for name, value in sums.items():
                worst[name] = max(worst.get(name, 0.0), abs(float(value) - right) / right)
        yield 10.0**exponent, worst


def errors_table(n: int, device: str) -> str:
    """Return these errors as a Markdown table."""
    rows = list(errors(n, device))
    names = list(rows[0][1])
    lines = ["| condition | " + " | ".join(f"`{name}`" for name in names) + " |"]
    lines.append("|--:|" + "--:|" * len(names))
    for condition, worst in rows:
        cells = " | ".join(f"{worst[name]:.0e}" for name in names)
        lines.append(f"| {condition:.0e} | {cells} |".replace("0e+00", "0"))
    return "\n".join(lines)


def seconds(array: np.ndarray, device: str, repeats: int) -> dict[str, float]:
    """Return the fastest of whole calls of both, in microseconds, taking turns."""
    best = {"plain": math.inf, "exact": math.inf}
    for _ in range(repeats):
        for name in best:
            start = time.perf_counter()
            arithmetic.sum(array, device=device, exact=name == "exact")
            best[name] = min(best[name], time.perf_counter() - start)
    return {name: 1e6 * value for name, value in best.items()}


def measure(exponents: range, device: str, repeats: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each dtype, kind of data and size, where there is no clock."""
    rng = np.random.default_rng(1)
    for dtype in map(np.dtype, FORMATS):
        for kind in ("normal", "any"):
            for exponent in exponents:
                array = np.resize(data(kind, 1 << min(exponent, 24), dtype, rng), 1 << exponent)
                us = {name: round(value, 3) for name, value in seconds(array, device, repeats).items()}
                ratio = round(us["exact"] / us["plain"], 3)
                yield {"dtype": dtype.name, "data": kind, "n": 1 << exponent, "us": us, "ratio": ratio}


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/run.py exact_sums", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--check", type=int, default=100_000, help="sums to compare (default 100000)")
    parser.add_argument("--jobs", type=int, default=1, help="processes that make references (default 1)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=28, help="exponent of two, for elements (default 28)")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    parser.add_argument("--errors", action="store_true", help="print those of the rungs alone")
    parser.add_argument("--out", type=files.writable_path, help="results file to write")
    options = parser.parse_args(argv)
    if options.errors:
        print(errors_table(1 << 16, options.device))
        return 0
    record = environment.header(environment.find_device(options.device))
    done, wrong = check(options.check, options.device, options.seed, options.jobs)
    print(f"{done} sums compared, {len(wrong)} differ", *wrong[:20], sep="\n", flush=True)
    record["compared"], record["different"] = done, len(wrong)
    record["rows"] = []
    if resolve(options.device)[0] == _core.CUDA:
        record["method"] = (
            "graph replays over rotated inputs; microseconds a reduction, exact and plain in turns"
        )
        found = exact_times.rows(data, options.most, options.repeats, options.nvcc)
    else:
        found = measure(range(8, options.most + 1, 4), options.device, options.repeats)
    for row in found:
        record["rows"].append(row)
        head = f"{row.get('op', 'sum'):3} {row['dtype']:8} {row['data']:10} n={row['n']:<10}"
        print(head, row["us"], row["ratio"], flush=True)
    files.write_result(options.out, record)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
