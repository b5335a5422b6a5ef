"""Runs chosen rungs of the group sums, and `auto`, over a few sizes and labels, checking results.

Small on purpose: this is the program that tests/gpu/sanitize.py runs under compute-sanitizer.
"""

import argparse

import numpy as np

import gpureduce

# What `auto` takes besides the cases of all rungs: dtypes, columns, labels, groups and op for each kernel.
KERNELS = (
    ("float64", 1, "int64", 9, "mean"),  # windows of three words
    ("float16", 1, "int32", 1000, "sum"),
    ("int32", 1, "int64", 9, "mean"),
    ("float32", 1, "int32", 3999, "sum"),  # planes
    ("complex64", 1, "int64", 9, "mean"),
    ("int64", 1, "uint8", 9, "mean"),
    ("float32", 64, "int64", 5, "mean"),  # sorted rows
    ("float64", 3, "int32", 40, "sum"),
)
EXTREMES = (
    ("float32", 1, "int64", 9, "max"),  # keys in shared memory
    ("float32", 1, "int32", 3999, "min"),  # in device memory
    ("int64", 3, "int64", 9, "max"),
    ("float16", 1, "int64", 9, "argmax"),
    ("float32", 64, "int32", 5, "argmin"),
)
PARTITIONED = 2**18 + 5  # rows
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


def wrong_kernels(device: str, short: bool) -> list[str]:
    """Return what `auto` gets wrong of whole numbers, by each of its kernels, in device memory."""
    rng = np.random.default_rng(6)
    shapes = [(4000, *kernel) for kernel in KERNELS]
    if not short:
        shapes += [(PARTITIONED, name, 1, "int32", 70_000, "sum") for name in ("float32", "int32", "float64")]
    wrong = []
    for n, name, columns, label_name, groups, op in shapes:
        values = rng.integers(-99, 99, (n, columns)).astype(name)
        for labels in (rng.integers(0, groups, n), np.full(n, groups - 1)):
            sums = np.zeros((groups, columns), complex if name.startswith("c") else float)
            np.add.at(sums, labels, values)
            rows = np.bincount(labels, minlength=groups)[:, None]
            on = [gpureduce.to_device(each, device) for each in (values, labels.astype(label_name))]
            got = gpureduce.group_reduce(*on, op, groups).numpy()
            right = sums if op == "sum" else np.where(rows > 0, sums / np.maximum(rows, 1), np.nan)
            if not np.array_equal(got, right.astype(got.dtype), equal_nan=True):
                wrong.append(f"auto {op} {name} n {n} columns {columns} groups {groups} {label_name}")
    return wrong


def wrong_extremes(device: str) -> list[str]:
    """Return what `auto` gets wrong of extremes of distinct whole numbers, in device memory."""
    rng, wrong = np.random.default_rng(7), []
    for name, columns, label_name, groups, op in EXTREMES:
        values = np.stack([rng.permutation(2000) for _ in range(columns)], -1).astype(name)
        labels = np.concatenate([np.arange(groups), rng.integers(0, groups, 4000)])[:2000]
        on = [gpureduce.to_device(each, device) for each in (values, labels.astype(label_name))]
        got = gpureduce.group_reduce(*on, op, groups).numpy()
        for group in set(labels[:50].tolist()):
            rows = np.flatnonzero(labels == group)
            found = getattr(np, op)(values[rows], axis=0)
            right = rows[found] if op.startswith("arg") else found
            if not np.array_equal(got[group], right):
                wrong.append(f"auto {op} {name} columns {columns} groups {groups} {label_name}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("variants", nargs="+")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--short", action="store_true", help="one length")
    options = parser.parse_args()
    wrong = [line for name in options.variants for line in wrong_sums(name, options.device, options.short)]
    if "auto" in options.variants:
        wrong += wrong_kernels(options.device, options.short) + wrong_extremes(options.device)
    print(*wrong, f"wrong results: {len(wrong)}", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
