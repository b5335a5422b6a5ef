"""``gpureduce demo``: an array summed with every variant, next to numpy.sum and the exact sum."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator

import numpy as np

from gpureduce import Device, Variant, variants
from gpureduce import sum as sum_on_device
from gpureduce._bench.exact_sum import CHUNK, float_sum
from gpureduce._device.devices import device_info
from gpureduce._rules.arguments import reject_beyond_memory

GPU_SIZE = 2**22 + 3
SIMULATOR_SIZE = 2**18 + 3
DTYPES = ("float32", "float64", "int32", "int64")


def demo_array(dtype: str, size: int) -> np.ndarray:
    """Return the array that the demo sums.

    Parameters
    ----------
    dtype : str
        One of the dtypes of `variants`.
    size : int
        The number of elements.

    Returns
    -------
    numpy.ndarray
        Random numbers from a fixed seed: floats are lognormal, and span several orders of magnitude; integers
        span the whole range of the dtype.
    """
    rng = np.random.default_rng(2026)
    reject_beyond_memory(size * np.dtype(dtype).itemsize, "size")
    array = np.empty(size, dtype)
    for part in _parts(array):
        if array.dtype.kind == "f":
            part[:] = rng.lognormal(0.0, 1.0, part.size)
        else:
            limits = np.iinfo(dtype)
            part[:] = rng.integers(limits.min, limits.max, size=part.size, dtype=dtype, endpoint=True)
    return array


def _parts(array: np.ndarray) -> Iterator[np.ndarray]:
    """Yield an array in parts, so that Ctrl-C takes effect between short NumPy calls."""
    return (array[i : i + CHUNK] for i in range(0, array.size, CHUNK))


def _relative_error(value: np.generic, exact: int | float) -> float:
    if value.item() == exact:  # Python compares without rounding one of the two
        return 0.0
    return abs(float(value) - float(exact)) / abs(float(exact)) if exact else math.inf


def _exact_sum(array: np.ndarray) -> int | float:
    if array.dtype.kind == "f":
        return float_sum(array)
    whole = sum(sum(part.tolist()) for part in _parts(array))
    return (whole + 2**63) % 2**64 - 2**63  # int64 wraps, in numpy.sum too


def _tolerance(array: np.ndarray, variant: Variant) -> float:
    """Return the relative error that a tree over positive numbers may have: its depth in roundings."""
    if array.dtype.kind != "f":
        return 0.0
    threads = 2**16  # the minimum number of threads that share the work
    depth = 2 * math.ceil(math.log2(array.size + 1)) + array.size / threads + 16
    if variant.float_atomics:
        depth += array.size / 64  # block sums added one after the other
    return depth * float(np.finfo(array.dtype).eps) / 2


def _timed_sum(array: np.ndarray, variant: Variant, device: Device) -> tuple[np.generic, float]:
    sum_on_device(array[:1], variant=variant.name, device=device)  # loads the kernels
    start = time.perf_counter()
    result = sum_on_device(array, variant=variant.name, device=device)
    return result, (time.perf_counter() - start) * 1e3


def run_demo(args: argparse.Namespace) -> int:
    """Sum an array with every variant; return 1 if a sum is wrong."""
    device = device_info(args.device)
    simulated = device.kind == "sim"
    size = args.size if args.size is not None else SIMULATOR_SIZE if simulated else GPU_SIZE
    array = demo_array(args.dtype, size)
    exact = _exact_sum(array)
    by_numpy = np.sum(array)

    print(f"{size:,} elements of {args.dtype} on {device} ({device.name})")
    print(
        f"exact sum {exact!r}; numpy.sum {by_numpy!s}, relative error {_relative_error(by_numpy, exact):.1e}"
    )
    if simulated:
        print("times: simulated on the CPU, not a GPU time; array in to scalar out")
    else:
        print("times: array in host memory to scalar in host memory, the copy included")
    records = [
        variant
        for variant in variants("reduction")
        if args.dtype in variant.dtypes and variant.runs_on(device)
    ]
    width = max(len(variant.title) for variant in records)
    print(f"\n{'variant':<13}{'':<{width}} {'result':>20} {'ms':>9}  {'error':>7}  agrees")
    wrong = []
    for variant in records:
        result, milliseconds = _timed_sum(array, variant, device)
        error = _relative_error(result, exact)
        agrees = error <= _tolerance(array, variant)
        # A rung that is wrong on purpose may be wrong on a GPU.
        if not agrees and variant.role != "study":
            wrong.append(variant.name)
        print(
            f"{variant.name:<13}{variant.title:<{width}} {result!s:>20} {milliseconds:>9.3f}  "
            f"{error:>7.1e}  {'yes' if agrees else 'NO'}",
            flush=True,
        )
    if wrong:
        print(f"gpureduce: wrong sums from {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0
