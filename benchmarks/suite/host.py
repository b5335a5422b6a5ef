"""Times sums from Python by the wall clock, from the call to the Python float.

Host arrays, pageable, are passed to this package, to CuPy (``float(cupy.asarray(a).sum())``), to PyTorch
(``torch.from_numpy(a).cuda().sum().item()``), to NumPy and to PyTorch's threads on the CPU, each in a loop of
its own; arrays on the device likewise. The rate of one large copy from pinned memory is measured in the same
run: no host array can get to the device faster.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Benchmark, Times, WrongResultError
from benchmarks.harness.wall_clock import loop_times
from gpureduce import _core
from gpureduce._arrays.device_array import empty, to_device
from gpureduce._bench import environment
from gpureduce._bench.stats import ratios, summarize_times
from gpureduce._device.devices import resolve
from gpureduce._reduce import functions

HOST_POWERS = (10, 14, 16, 18, 20, 22, 24, 25, 26, 28)
DEVICE_POWERS = (0, 10, 12, 16, 20)
PINNED_BYTES = 1 << 30
ARRAYS = 8  # small ones, taken in turn

Case = tuple[str, int]  # where the elements are, and their number
Calls = dict[str, Callable[[int], Any]]


def arrays_of(n: int) -> list[np.ndarray]:
    """Return arrays to take in turn, a single one where it is larger than any cache."""
    count = 1 if n >= 1 << 25 else ARRAYS
    rng = np.random.default_rng(n)
    return [rng.random(n, dtype=np.float32) for _ in range(count)]


def pinned_array(nbytes: int, torch: Any, cupy: Any) -> np.ndarray | None:
    """Return an array in pinned memory, if PyTorch or CuPy is installed, which can allocate it."""
    if torch is not None:
        return torch.ones(nbytes // 4, dtype=torch.float32, pin_memory=True).numpy()
    if cupy is not None:
        memory = cupy.cuda.alloc_pinned_memory(nbytes)
        return np.frombuffer(memory, np.float32, nbytes // 4)
    return None


class Host(Benchmark):
    """Sums of host arrays and of arrays on the device, as Python floats."""

    summary = "sums from Python to a float, of host and device arrays, compared with CuPy, PyTorch and NumPy"
    method = "median wall-clock time from the call to the Python float, each contender in a loop of its own"
    optional = ("torch", "cupy")
    quick: ClassVar[Mapping[str, Any]] = {"powers": [10, 20, 24], "pinned_bytes": 1 << 26}

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        parser.add_argument("--powers", type=int, nargs="+", default=HOST_POWERS, help="exponents of two")
        parser.add_argument("--pinned-bytes", type=int, default=PINNED_BYTES)

    def head(self) -> dict[str, Any]:
        """Return the CPU, the cores that the process may use, and the version of NumPy."""
        cores = len(os.sched_getaffinity(0))
        return {"cpu": environment.cpu_name(), "cores": cores, "numpy": np.__version__}

    def cases(self) -> Iterable[Case]:
        """Return what is timed."""
        large = self.options.pinned_bytes // 4
        pinned = [("pinned copy", large), ("pinned", large)]
        if self.torch is None and self.libraries.get("cupy") is None:
            pinned = []
        device = [("device", 1 << power) for power in DEVICE_POWERS]
        return [*pinned, *device, *(("host", 1 << power) for power in self.options.powers)]

    def inputs(self, case: Case) -> list[np.ndarray]:
        """Return arrays in host memory."""
        where, n = case
        if where.startswith("pinned"):
            array = pinned_array(4 * n, self.torch, self.libraries.get("cupy"))
            assert array is not None
            return [array]
        return arrays_of(n)

    def contenders(self, case: Case, inputs: list[np.ndarray]) -> Calls:
        """Return what sums an array into a Python float, or copies it."""
        where, _ = case
        if where == "pinned copy":
            target = empty(inputs[0].shape, inputs[0].dtype, *resolve(str(self.where)))

            def copy(_: int) -> None:
                _core.device_write(target._kind, target._index, target._pointer, inputs[0])

            return {"copy": copy}
        if where == "pinned":
            return {"gpureduce": lambda _: float(functions.sum(inputs[0]))}
        return self._on_device(inputs) if where == "device" else self._on_host(inputs)

    def _on_host(self, arrays: list[np.ndarray]) -> Calls:
        torch, cupy = self.torch, self.libraries.get("cupy")

        def at(i: int) -> np.ndarray:
            return arrays[i % len(arrays)]

        calls: Calls = {"gpureduce": lambda i: float(functions.sum(at(i)))}
        if cupy is not None:
            calls["cupy"] = lambda i: float(cupy.asarray(at(i)).sum())
        if torch is not None:
            calls["torch"] = lambda i: torch.from_numpy(at(i)).cuda().sum().item()
            calls["torch_cpu"] = lambda i: torch.from_numpy(at(i)).sum().item()
        calls["numpy"] = lambda i: float(at(i).sum())
        return calls

    def _on_device(self, arrays: list[np.ndarray]) -> Calls:
        torch, cupy, device = self.torch, self.libraries.get("cupy"), str(self.where)
        own = [to_device(array, device) for array in arrays]
        count = len(own)
        calls: Calls = {"gpureduce": lambda i: float(functions.sum(own[i % count]))}
        if cupy is not None:
            cupy_arrays = [cupy.asarray(array) for array in arrays]
            calls["cupy"] = lambda i: float(cupy_arrays[i % count].sum())
            calls["gpureduce_of_cupy"] = lambda i: float(functions.sum(cupy_arrays[i % count]))
        if torch is not None:
            tensors = [torch.from_numpy(array).to(device) for array in arrays]
            calls["torch"] = lambda i: tensors[i % count].sum().item()
            calls["gpureduce_of_torch"] = lambda i: float(functions.sum(tensors[i % count]))
        return calls

    def check(
        self, case: Case, inputs: list[np.ndarray], contenders: Mapping[str, Callable[..., Any]]
    ) -> None:
        """Raise WrongResultError unless every call returns the sum of its array."""
        if case[0].startswith("pinned"):
            return
        for name, call in contenders.items():
            for i, array in enumerate(inputs):
                exact = float(array.sum(dtype=np.float64))
                if abs(float(call(i)) - exact) > 1e-4 * exact:
                    raise WrongResultError(f"{name}: {call(i)}, not {exact}, for {array.size} elements")

    def measure(self, case: Case, inputs: Any, contenders: Mapping[str, Callable[..., Any]]) -> Times:
        """Return microseconds of calls, each contender in a loop of its own."""
        return loop_times(contenders)

    def rows(self, case: Case, inputs: list[np.ndarray], times: Times) -> list[dict[str, Any]]:
        """Return a row: times of all calls, and ours over each other's."""
        where, n = case
        us = {name: summarize_times(taken) for name, taken in times.items()}
        ours = us["copy" if where == "pinned copy" else "gpureduce"]["median"]
        row = {"where": where, "dtype": "float32", "n": n, "us": us, "gb_per_s": 4 * n / ours / 1000}
        return [row if where.startswith("pinned") else {**row, "ratio": ratios(us, "gpureduce")}]

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        times = {name: round(us["median"], 1) for name, us in row["us"].items()}
        return f"{row['where']:12} {row['n']:11,} {row['gb_per_s']:7.1f} GB/s {times} us"

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return the times of sums of host arrays, and of floats from device arrays."""
        groups: dict[str, list[dict[str, Any]]] = {}
        for row in record["rows"]:
            groups.setdefault(row["where"], []).append(_with_cpu(row))
        head = f"{markdown.source(record, 'torch', 'cupy', 'numpy')}: {markdown.method(record)}."
        if "pinned" in groups:
            copy, pinned = groups["pinned copy"][0], groups["pinned"][0]
            head += (
                f" One copy of {markdown.power(copy['n'])} float32 from pinned memory: {copy['gb_per_s']:.1f}"
                f" GB/s; their sum from pinned memory: {pinned['gb_per_s']:.1f} GB/s;"
            )
        last = groups["host"][-1]
        head += (
            f" the sum of {markdown.power(last['n'])} from pageable memory: {last['gb_per_s']:.1f} GB/s."
            " *ratio* is the time of gpureduce divided by the time to the left of it."
        )
        of_host = ["`cupy.asarray(a).sum()`", "`torch.from_numpy(a).cuda().sum()`", "`numpy.sum(a)`", "CPU"]
        of_device = ["CuPy `.sum()`", "PyTorch `.sum().item()`"]
        return "\n".join(
            [
                head,
                "",
                *_table("`gpureduce.sum(a)`", of_host, groups["host"], ("cupy", "torch", "numpy", "cpu")),
                "",
                "Sums of GPU arrays, each library with its own array, from the call to the Python float:",
                "",
                *_table("`gpureduce.sum(d)`", of_device, groups["device"], ("cupy", "torch")),
            ]
        )


def _with_cpu(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of host arrays with "cpu", the faster one of NumPy and PyTorch's threads."""
    names = [name for name in ("numpy", "torch_cpu") if name in row["us"]]
    if row["where"] != "host":
        return row
    cpu = min(names, key=lambda name: row["us"][name]["median"])
    ratio = {**row["ratio"], "cpu": row["ratio"][cpu]}
    return {**row, "us": {**row["us"], "cpu": row["us"][cpu]}, "ratio": ratio}


def _table(ours: str, titles: list[str], rows: list[dict[str, Any]], others: tuple[str, ...]) -> list[str]:
    cells = []
    for row in rows:
        line = [markdown.power(row["n"]), _time(row["us"]["gpureduce"]["median"])]
        for name in others:
            us = row["us"].get(name)
            line += [_time(us["median"]), f"{row['ratio'][name]:.2f}"] if us else ["", ""]
        cells.append(line)
    heads = ["n", ours, *(head for title in titles for head in (title, "ratio"))]
    return markdown.table(heads, "r", cells)


def _time(us: float) -> str:
    """Return microseconds with three digits, and from 10,000 on as milliseconds."""
    return f"{us / 1000:,.1f} ms" if us >= 10000 else f"{us:.3g} us" if us < 1000 else f"{us:,.0f} us"


BENCHMARK = Host
