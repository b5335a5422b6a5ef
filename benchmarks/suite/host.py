"""Times sums from Python: ``python benchmarks/run.py host --out FILE``.

Wall clock from the call to the Python float. Arrays of the host, pageable, are given to this package, to CuPy
(``float(cupy.asarray(a).sum())``), to PyTorch (``torch.from_numpy(a).cuda().sum().item()``), to NumPy and to
PyTorch's threads on the CPU, each in a loop of its own; arrays on the device likewise. The rate of one large
copy from pinned memory is measured in the same run: no array of the host can get to the device faster.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.device_array import empty, to_device
from gpureduce._bench import environment, files
from gpureduce._bench.stats import summarize_times
from gpureduce._reduce import functions

HOST = (10, 14, 16, 18, 20, 22, 24, 25, 26, 28)
DEVICE = (0, 10, 12, 16, 20)
PINNED_BYTES = 1 << 30
ARRAYS = 8  # small ones, taken in turn
SECONDS = 0.2  # for the loop of one call, unless few turns take longer
WARM_UP, MOST, FEWEST = 3, 2000, 7


def loops(calls: dict[str, Callable[[int], object]]) -> dict[str, list[float]]:
    """Return the microseconds of each call; each has a loop of its own, and gets the number of the turn."""
    times: dict[str, list[float]] = {}
    for name, call in calls.items():
        for i in range(WARM_UP):
            call(i)
        taken = times[name] = []
        began = time.perf_counter()
        for i in range(MOST):
            start = time.perf_counter_ns()
            call(i)
            taken.append((time.perf_counter_ns() - start) / 1000)
            if i + 1 >= FEWEST and time.perf_counter() - began > SECONDS:
                break
    return times


def row(where: str, n: int, times: dict[str, list[float]]) -> dict:
    """Return the row of a results file: spread of each call, and ours over each other's."""
    spreads = {name: summarize_times(values) for name, values in times.items()}
    ours = spreads["gpureduce"]["median"]
    return {
        "where": where,
        "dtype": "float32",
        "n": n,
        "us": spreads,
        "gb_per_s": 4 * n / ours / 1000,
        "ratio": {name: ours / spread["median"] for name, spread in spreads.items() if name != "gpureduce"},
    }


def check(calls: dict[str, Callable[[int], Any]], arrays: list[np.ndarray]) -> None:
    """Raise unless every call returns the sum of its array."""
    for name, call in calls.items():
        for i, array in enumerate(arrays):
            exact = float(array.sum(dtype=np.float64))
            if abs(float(call(i)) - exact) > 1e-4 * exact:
                raise SystemExit(f"{name} returned {call(i)}, not {exact}, for {array.size} elements")


def arrays_of(n: int) -> list[np.ndarray]:
    """Return arrays to take in turn, a single one where it is larger than any cache."""
    count = 1 if n >= 1 << 25 else ARRAYS
    rng = np.random.default_rng(n)
    return [rng.random(n, dtype=np.float32) for _ in range(count)]


def measure_host(n: int, torch, cupy) -> dict:
    """Time sums of pageable arrays of the host."""
    arrays = arrays_of(n)

    def at(i: int) -> np.ndarray:
        return arrays[i % len(arrays)]

    calls: dict[str, Callable[[int], object]] = {"gpureduce": lambda i: float(functions.sum(at(i)))}
    if cupy is not None:
        calls["cupy"] = lambda i: float(cupy.asarray(at(i)).sum())
    if torch is not None:
        calls["torch"] = lambda i: torch.from_numpy(at(i)).cuda().sum().item()
        calls["torch_cpu"] = lambda i: torch.from_numpy(at(i)).sum().item()
    calls["numpy"] = lambda i: float(at(i).sum())
    check(calls, arrays)
    return row("host", n, loops(calls))


def measure_device(n: int, torch, cupy, device: str) -> dict:
    """Time sums of arrays on the device."""
    arrays = arrays_of(n)
    ours = [to_device(array, device) for array in arrays]
    calls: dict[str, Callable[[int], object]] = {
        "gpureduce": lambda i: float(functions.sum(ours[i % len(ours)]))
    }
    if cupy is not None:
        theirs = [cupy.asarray(array) for array in arrays]
        calls["cupy"] = lambda i: float(theirs[i % len(theirs)].sum())
        calls["gpureduce_of_cupy"] = lambda i: float(functions.sum(theirs[i % len(theirs)]))
    if torch is not None:
        tensors = [torch.from_numpy(array).to(device) for array in arrays]
        calls["torch"] = lambda i: tensors[i % len(tensors)].sum().item()
        calls["gpureduce_of_torch"] = lambda i: float(functions.sum(tensors[i % len(tensors)]))
    check(calls, arrays)
    return row("device", n, loops(calls))


def pinned_array(nbytes: int, torch, cupy) -> np.ndarray | None:
    """Return an array in pinned memory, if a library is there that makes one."""
    if torch is not None:
        return torch.ones(nbytes // 4, dtype=torch.float32, pin_memory=True).numpy()
    if cupy is not None:
        memory = cupy.cuda.alloc_pinned_memory(nbytes)
        return np.frombuffer(memory, np.float32, nbytes // 4)
    return None


def measure_pinned(torch, cupy, device: str) -> list[dict]:
    """Time one large copy from pinned memory, and the sum of that array where it lies."""
    array = pinned_array(PINNED_BYTES, torch, cupy)
    if array is None:
        return []
    there = empty(array.shape, array.dtype, *_place(device))

    def copy(_: int) -> None:
        _core.device_write(there.kind, there.index, there.pointer, array)

    times = loops({"copy": copy, "gpureduce": lambda _: float(functions.sum(array))})
    rows = []
    for where, name in (("pinned copy", "copy"), ("pinned", "gpureduce")):
        spread = summarize_times(times[name])
        rate = array.nbytes / spread["median"] / 1000
        rows.append(
            {"where": where, "dtype": "float32", "n": array.size, "us": {name: spread}, "gb_per_s": rate}
        )
    return rows


def _place(device: str) -> tuple[int, int]:
    return (_core.CUDA, environment.find_device(device).index)


def optional(name: str):
    """Return a module, or None where it is not installed."""
    try:
        return __import__(name)
    except ImportError:
        return None


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python benchmarks/run.py host", description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda:0", help="the first CUDA device, on which others work, too")
    parser.add_argument("--powers", type=int, nargs="+", default=HOST, help="arrays of the host have 2^these")
    parser.add_argument("--out", type=files.writable_path, help="results file to write")
    options = parser.parse_args(argv)
    torch, cupy = optional("torch"), optional("cupy")
    record = {
        **environment.header(environment.find_device(options.device)),
        "cpu": environment.cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "numpy": np.__version__,
        "torch": getattr(torch, "__version__", None),
        "cupy": getattr(cupy, "__version__", None),
        "method": "wall clock from the call to a Python float, in loops; medians",
        "rows": [],
    }
    started = itertools.chain(
        measure_pinned(torch, cupy, options.device),
        (measure_device(1 << power, torch, cupy, options.device) for power in DEVICE),
        (measure_host(1 << power, torch, cupy) for power in options.powers),
    )
    for result in started:
        record["rows"].append(result)
        times = {name: round(spread["median"], 1) for name, spread in result["us"].items()}
        print(f"{result['where']:12} {result['n']:11,} {result['gb_per_s']:7.1f} GB/s {times} us", flush=True)
    files.write_result(options.out, record)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
