#!/usr/bin/env python3
"""Compares the results and the times of two built trees on a GPU: tests/gpu/compare_builds.py OLD NEW.

Both trees hold compiled kernels. The results of the operators in several dtypes and layouts are compared bit
by bit. Benchmarks in their quick form run in the two trees in turn, each several times. A row is slow if it
is slower than in OLD by 2 % and by 0.2 us in every repeat. Prints the results that differ and slow rows, and
exits with 1 if there are any.
"""

import argparse
import hashlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BENCHMARKS = ("peers", "interleaved", "axis")
OTHER_LIBRARIES = ("cub", "cupy", "jax", "numpy")
MAX_RATIO, MAX_MICROSECONDS = 1.02, 0.2
OPERATORS = (
    *("sum", "prod", "min", "max", "mean", "any", "all", "count_nonzero", "argmin", "argmax"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "var", "std", "moments", "norm", "logsumexp", "ptp"),
    *("nansum", "nanprod", "nanmin", "nanmax", "nanmean", "nanvar", "nanargmin", "nanargmax", "fmin", "fmax"),
)
ROWS, COLUMNS = 515, 301


def layouts(values):
    """Return arrays with the axis of each to reduce: flat, rows, columns, unaligned, with gaps, reversed."""
    matrix = values[: ROWS * COLUMNS].reshape(ROWS, COLUMNS)
    return {
        "flat": (values, None),
        "few": (values[:77], None),
        "unaligned": (values[1:], None),
        "rows": (matrix, 1),
        "columns": (matrix, 0),
        "gaps": (matrix[:, ::3], None),
        "gaps, columns": (matrix[::2, ::3], 0),
        "reversed": (matrix[::-1, ::-1], 1),
        "middle": (values[: 5 * 43 * 721].reshape(5, 43, 721), 1),
    }


def digests(device: str) -> dict[str, str]:
    """Return a digest of each result of the package in the current folder, or the exception's name."""
    sys.path.insert(0, os.getcwd())
    import numpy as np

    import gpureduce
    from gpureduce._rules.dtypes import DTYPE_TABLE, dtype_from_name

    rng = np.random.default_rng(41)
    values = rng.standard_normal(ROWS * COLUMNS) * np.exp2(rng.integers(-12, 6, ROWS * COLUMNS))
    values[1::2] = -values[:-1:2]  # they cancel
    rng.shuffle(values)
    found = {}
    np.seterr(all="ignore")
    for row in DTYPE_TABLE:
        for layout, (array, axis) in layouts(values.astype(dtype_from_name(row.numpy_name))).items():
            for op in OPERATORS:
                try:
                    result = getattr(gpureduce, op)(array, axis=axis, device=device)
                    arrays = result if isinstance(result, tuple) else [result]  # moments
                    of_results = hashlib.sha256(b"".join(np.asarray(array).tobytes() for array in arrays))
                    digest = of_results.hexdigest()[:16]
                except Exception as error:
                    digest = type(error).__name__
                found[f"{op} of {row.numpy_name}, {layout}"] = digest
    return found


def digests_of(tree: Path, device: str) -> dict[str, str]:
    """Return the digests of a tree."""
    command = [sys.executable, str(Path(__file__).resolve()), "--digests", "--device", device]
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, cwd=tree, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def times_of(tree: Path, benchmark: str, device: str) -> dict[str, float]:
    """Return the median of each row of a benchmark in a tree, in microseconds."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        command = [sys.executable, "benchmarks/run.py", benchmark, "--quick", "--device", device]
        command += ["--out", str(out), "--without", *OTHER_LIBRARIES]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(tree), os.environ.get("PYTHONPATH", "")]),
        }
        subprocess.run(command, cwd=tree, env=environment, stdout=subprocess.DEVNULL, check=True)
        rows = json.loads(out.read_text())["rows"]
    times = {}
    for row in rows:
        us = row["us"].get("gpureduce", row["us"])
        what = [row[key] for key in ("op", "dtype", "n", "shape", "axes", "offset") if key in row]
        times[" ".join(map(str, [benchmark, *what]))] = us["median"]
    return times


def is_slow(old: float, new: float) -> bool:
    return new > MAX_RATIO * old and new > old + MAX_MICROSECONDS


def compared(pairs: dict[str, list[tuple[float, float]]]) -> list[dict]:
    """Return a row for each case: times of both trees, and whether it is slow in every repeat."""
    return [
        {
            "case": case,
            "old_us": [old for old, _ in times],
            "new_us": [new for _, new in times],
            "ratio": round(statistics.median(new / old for old, new in times), 4),
            "slow": all(is_slow(old, new) for old, new in times),
        }
        for case, times in sorted(pairs.items())
    ]


def compare_results(old: Path, new: Path, device: str) -> list[str]:
    """Print and return what differs."""
    before, after = digests_of(old, device), digests_of(new, device)
    different = [
        f"{case}: {before.get(case)}, now {after.get(case)}"
        for case in sorted(before.keys() | after.keys())
        if before.get(case) != after.get(case)
    ]
    refused = sum(not re.fullmatch("[0-9a-f]{16}", digest) for digest in after.values())
    print(f"{len(after)} results, {refused} of them exceptions, {len(different)} differ", flush=True)
    print("".join(f"  {line}\n" for line in different), end="", flush=True)
    return different


def compare_times(old: Path, new: Path, benchmark: str, args: argparse.Namespace) -> list[dict]:
    """Run a benchmark in both trees; print and return the rows."""
    pairs: dict[str, list[tuple[float, float]]] = {}
    for _ in range(args.repeats):
        before, after = (times_of(tree, benchmark, args.device) for tree in (old, new))
        for case in before.keys() & after.keys():
            pairs.setdefault(case, []).append((before[case], after[case]))
    rows = compared(pairs)
    ratios = [row["ratio"] for row in rows]
    middle, largest = statistics.median(ratios), max(ratios)
    slow = [row for row in rows if row["slow"]]
    print(f"{benchmark}: {len(rows)} rows, new/old median {middle:.4f}, max {largest:.4f}, {len(slow)} slow")
    for row in slow:
        print(f"  {row['case']}: {row['old_us']} us, now {row['new_us']} us")
    sys.stdout.flush()
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path, nargs="?", metavar="OLD")
    parser.add_argument("new", type=Path, nargs="?", metavar="NEW")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--benchmarks", nargs="*", default=list(BENCHMARKS))
    parser.add_argument("--out", type=Path, help="write all rows as JSON, after each benchmark")
    parser.add_argument("--digests", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.digests:
        print(json.dumps(digests(args.device)))
        return 0
    if args.new is None:
        parser.error("OLD and NEW are folders of built trees")
    old, new = args.old.resolve(), args.new.resolve()
    different, rows = compare_results(old, new, args.device), []
    for benchmark in args.benchmarks:
        rows += compare_times(old, new, benchmark, args)
        if args.out:
            args.out.write_text(json.dumps({"different": different, "rows": rows}, indent=1))
    return bool(different or any(row["slow"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
