"""Calls that have no ladder, over dtypes, layouts and a few sizes, checking results.

Small on purpose: this is the program that ``tests/gpu/sanitize.py --ladder calls`` runs.
"""

import argparse
from collections.abc import Iterator

import numpy as np

import gpureduce

SIZES = (1, 33, 257, 4099, 100_003)
SHORT = (33, 4099)
DTYPES = (np.int8, np.float16, np.int32, np.float32, np.float64)
Found = Iterator[tuple[str, object, object]]  # what was called, its result, and the right one


def numbers(n: int, dtype: type) -> np.ndarray:
    """Return whole numbers, of which all dtypes hold the sums of some."""
    return np.random.default_rng(n).integers(-9, 10, n).astype(dtype)


def order(sizes: tuple[int, ...], device: str) -> Found:
    for n in sizes:
        for dtype in DTYPES:
            a = numbers(n, dtype)
            yield f"median {n} {dtype.__name__}", gpureduce.median(a, device=device), np.median(a)
            q = [0.1, 0.5, 0.93]
            yield (
                "quantile",
                gpureduce.quantile(a, q, method="lower", device=device),
                np.quantile(a, q, method="lower"),
            )
            k = min(n, 40)
            values, indices = gpureduce.topk(a, k, device=device)
            yield f"topk {n}", values, np.sort(a)[::-1][:k]
            yield "its indices", indices, np.argsort(-a.astype(np.float64), kind="stable")[:k]
    rows = numbers(6000, np.float32).reshape(20, 300)
    for axis in (0, 1):
        yield f"median {axis}", gpureduce.median(rows, axis=axis, device=device), np.median(rows, axis=axis)


def scans(sizes: tuple[int, ...], device: str, by_threads: bool = False) -> Found:
    """With by_threads, results begin behind that of no elements, and so off 16 bytes."""
    for n in sizes:
        for dtype in (np.int32, np.float32, np.float64):
            a = numbers(n, dtype)
            got = gpureduce.cumulative_sum(a, include_initial=by_threads, device=device)
            want = np.cumsum(a)
            yield f"cumulative_sum {n} {dtype.__name__}", got, np.append(0, want) if by_threads else want
    for dtype in (np.int32, np.float64):  # more lines than are scanned at once
        rows = numbers(133 * 2601, dtype).reshape(133, -1)
        got = gpureduce.cumulative_sum(rows, axis=1, include_initial=by_threads, device=device)
        yield "cumulative_sum of lines", got, np.cumulative_sum(rows, axis=1, include_initial=by_threads)
    rows = numbers(6000, np.int64).reshape(20, 300)
    for axis in (0, 1):
        got = gpureduce.cumulative_sum(rows, axis=axis, device=device)
        yield f"cumulative_sum {axis}", got, np.cumsum(rows, axis)


def segments(sizes: tuple[int, ...], device: str) -> Found:
    for n in sizes:
        rng = np.random.default_rng(n)
        starts = np.unique(rng.integers(0, n, max(1, n // 30)))
        labels = rng.integers(0, 50, n)
        for dtype in (np.int32, np.float32, np.float64):
            a = numbers(n, dtype)
            for op, ufunc in (("sum", np.add), ("max", np.maximum)):
                got = gpureduce.reduceat(a, starts, op, device=device)
                yield f"reduceat {op} {n}", got, ufunc.reduceat(a, starts)
            got = gpureduce.group_reduce(a, labels, "sum", 50, device=device)
            yield f"group_reduce {n}", got, np.bincount(labels, a, 50)
            on = (gpureduce.to_device(array, device) for array in (a, labels))
            got = gpureduce.group_reduce(*on, "sum", 50).numpy()
            yield f"group_reduce on the device {n}", got, np.bincount(labels, a, 50)


def moments(sizes: tuple[int, ...], device: str) -> Found:
    for n in sizes:
        for dtype in (np.float32, np.float64):
            a = numbers(n, dtype)
            yield f"var {n}", np.round(gpureduce.var(a, device=device), 3), np.round(np.var(a), 3)
            yield f"nansum {n}", gpureduce.nansum(a, device=device), np.sum(a)
            yield f"norm {n}", gpureduce.norm(a, np.inf, device=device), np.abs(a).max()


def axes(sizes: tuple[int, ...], device: str) -> Found:
    for shape in ((7, 33, 5), (300, 41), (3, 5000), (5000, 3)):
        for dtype in DTYPES:
            a = numbers(int(np.prod(shape)), dtype).reshape(shape)
            for view in (a, a.T, a[:, ::2]):
                for axis in (0, -1):
                    for op in ("sum", "max", "argmin"):
                        got = getattr(gpureduce, op)(view, axis=axis, device=device)
                        yield f"{op} {shape} {axis}", got, getattr(np, op)(view, axis=axis)


def copies(sizes: tuple[int, ...], device: str) -> Found:
    """Of runs, tiles and single elements, and in other dtypes."""
    for shape in ((7, 33, 5), (300, 41), (3, 5000), (128, 256)):
        for dtype in (np.int8, np.float16, np.float32, np.float64):
            a = numbers(int(np.prod(shape)), dtype).reshape(shape)
            there = gpureduce.to_device(a, device)
            for what in (lambda a: a, lambda a: a.T, lambda a: a[1:, 1:], lambda a: a[:, ::2].T):
                yield f"copy {shape} {dtype}", what(there).copy().numpy(), what(a)
                got = what(there).astype(np.float32).numpy()
                yield f"astype {shape} {dtype}", got, what(a)


GROUPS = {work.__name__: work for work in (order, scans, segments, moments, axes, copies)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("variants", nargs="+", choices=GROUPS)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--short", action="store_true", help="few sizes only")
    parser.add_argument("--by-threads", action="store_true", help="only what no copy engine stores")
    options = parser.parse_args()
    wrong = 0
    for name in options.variants:
        more = {"by_threads": True} if options.by_threads and name == "scans" else {}
        for what, got, want in GROUPS[name](SHORT if options.short else SIZES, options.device, **more):
            if not np.array_equal(np.asarray(got, np.float64), np.asarray(want, np.float64)):
                print(f"{what}: {got}, not {want}")
                wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
