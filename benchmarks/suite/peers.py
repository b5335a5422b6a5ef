"""Times reductions of arrays on the device, compared with CUB, PyTorch, CuPy and JAX, all in one run.

Each figure is the median over replays of one CUDA graph (JAX, NumPy and PyTorch on the CPU: the wall clock),
in microseconds per reduction; ours, like PyTorch's, is captured by ``torch.cuda.graph`` from calls of the
public functions with ``out=``. The graph rotates over inputs that are together larger than the L2 cache, as
far as 256 inputs are; so inputs of up to 64 KiB may be found in it, by every contender alike. Reductions
follow one another without a pause, as in a program that keeps the device busy: what a kernel can do to
overlap with the one before counts.

CUB sums integers in 64 bits and halves in float, as gpureduce and PyTorch do. The floors are a kernel that
does nothing ("empty"), bulk copies into shared memory that nothing reads ("read"), and a copy from device to
device ("copy").

Libraries that are not installed are left out. Without PyTorch the core of gpureduce replays its own graphs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from benchmarks.baselines import runners
from benchmarks.baselines.runners import ReductionCase
from benchmarks.harness.benchmark import Benchmark, Times, WrongResultError
from benchmarks.harness.inputs import InputPool
from benchmarks.report import peers as report
from benchmarks.report import readme_charts
from gpureduce._arrays.device_array import to_device
from gpureduce._bench.stats import ratios, summarize_times
from gpureduce._bench.timing import ROTATION_BYTES
from gpureduce._profiles.palette import DARK, LIGHT

DTYPES = ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64")
OPS = ("sum", "max", "argmax", "dot")
EXPONENTS = (0, 4, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
FEW = (10, 16, 20, 24, 28)  # for contenders that take long to set up
MAX_BYTES = 4 << 30
OFFSET_EXPONENTS = (20, 24, 28)
CHECKED = 1 << 22  # up to this number of elements the result is compared

Case = tuple[str, str, int, int]  # operator, dtype, exponent, offset in elements


def cases(ops: tuple[str, ...], dtypes: tuple[str, ...]) -> Iterator[Case]:
    """Yield operator, dtype, exponent and offset in elements; one dtype after the other."""
    for dtype in dtypes:
        for op in ops:
            every = op == "sum" and dtype == "float32"
            yield from ((op, dtype, exponent, 0) for exponent in (range(31) if every else EXPONENTS))
            yield from ((op, dtype, exponent, 1) for exponent in OFFSET_EXPONENTS)


def launches_of(nbytes: int) -> int:
    """Return the number of reductions in a graph: enough for its start not to count."""
    return max(16, min(256, (4 << 30) // max(nbytes, 1)))


class HostDrawnPool:
    """Inputs without PyTorch: instances of DeviceArray, which other libraries take by DLPack."""

    def __init__(self, dtype: str, nbytes: int, seed: int, device: str) -> None:
        kind = np.dtype(dtype)
        low = 0 if kind.kind == "u" else -100
        piece = np.random.default_rng(seed).integers(low, 100, 1 << 22).astype(kind)
        self.nbytes = max(2 * nbytes, ROTATION_BYTES)
        self.memory = to_device(np.resize(piece, self.nbytes // kind.itemsize + 256), device)

    def inputs(self, n: int, offset: int = 0) -> list[Any]:
        """Return inputs of n elements, together larger than the L2 cache where they can be."""
        item = self.memory.dtype.itemsize
        stride = max(-(-(n + offset) * item // 256) * 256, ROTATION_BYTES // 256) // item
        count = max(1, min(256, (self.memory.size - 256) // stride))
        return [self.memory[i * stride + offset : i * stride + offset + n] for i in range(count)]


class Peers(Benchmark):
    """sum, max, argmax and dot of arrays of 1 to 2^30 elements."""

    summary = "sum, max, argmax and dot, compared with CUB, PyTorch, CuPy, JAX and NumPy (those installed)"
    method = "graph replays over rotated inputs; microseconds per reduction"
    optional = ("cub", "torch", "cupy", "jax")
    repeats = 15
    quick: ClassVar[Mapping[str, Any]] = {
        "ops": ["sum", "max"],
        "dtypes": ["float32"],
        "exponents": [10, 16, 20, 24, 26],
        "repeats": 5,
    }

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        parser.add_argument("--ops", nargs="+", default=list(OPS), choices=OPS)
        parser.add_argument("--dtypes", nargs="+", default=list(DTYPES), choices=DTYPES)
        parser.add_argument("--exponents", nargs="+", type=int, help="of two, instead of the whole plan")

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.pools: dict[str, list[Any]] = {}
        self.floors: dict[str, float] | None = None
        found, torch = self.libraries, self.torch
        self.ours = runners.GpureduceRunner(torch)
        self.cub = None if found.get("cub") is None else runners.CubRunner(found.get("cub"))
        self.common = [self.ours, *([] if self.cub is None else [self.cub])]
        self.common += [] if torch is None else [runners.TorchRunner(torch)]
        self.rare: list[Any] = []
        if found.get("cupy") is not None:
            self.rare.append(runners.CupyRunner(found.get("cupy")))
        if found.get("jax") is not None:
            self.rare.append(runners.JaxRunner(found.get("jax")))
        self.rare.append(runners.HostRunner("numpy"))
        if torch is not None:
            self.rare.append(runners.HostRunner("torch_cpu"))

    def head(self) -> dict[str, Any]:
        """Return the threads of PyTorch on the CPU."""
        return {} if self.torch is None else {"torch_cpu_threads": self.torch.get_num_threads()}

    def cases(self) -> Iterator[Case]:
        """Yield what is measured: the whole plan, or all operators and dtypes at some sizes."""
        options = self.options
        plan = cases(tuple(options.ops), tuple(options.dtypes))
        if options.exponents is not None:
            plan = iter(
                [
                    (op, dtype, k, 0)
                    for dtype in options.dtypes
                    for op in options.ops
                    for k in options.exponents
                ]
            )
        for op, dtype, exponent, offset in plan:
            if self.torch is None and dtype == "bfloat16":
                continue  # NumPy has none to draw
            if self._itemsize(dtype) << exponent <= MAX_BYTES:
                yield op, dtype, exponent, offset

    def _itemsize(self, dtype: str) -> int:
        return 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize

    def _pools(self, dtype: str) -> list[Any]:
        """Return two pools of a dtype, the second for dot products; those of the dtype before are freed."""
        if dtype not in self.pools:
            self.pools.clear()
            count = 2 if "dot" in self.options.ops else 1
            largest = max(self.options.exponents or [30])
            if self.torch is None:
                nbytes = min(MAX_BYTES, self._itemsize(dtype) << largest)
                device = str(self.where)
                self.pools[dtype] = [HostDrawnPool(dtype, nbytes, seed + 1, device) for seed in range(count)]
            else:
                self.torch.cuda.empty_cache()
                nbytes = min(2 * MAX_BYTES, 32 << largest)
                self.pools[dtype] = [
                    InputPool.integers(self.torch, dtype, nbytes, seed + 1) for seed in range(count)
                ]
            if self.floors is None and self.cub is not None:
                self.floors = self._measure_floors(self.pools[dtype][0])
                print(self.floors, flush=True)
        return self.pools[dtype]

    def _measure_floors(self, pool: Any) -> dict[str, float]:
        """Return the time of an empty kernel, and the bandwidths of reading and copying."""
        cub, repeats = self.cub, self.options.repeats
        assert cub is not None
        start, size = runners.address(pool.memory), pool.nbytes // 2 // (1 << 20) * (1 << 20)
        nothing = cub.replay("empty", "", 0, [[start]] * 3, 200, repeats)
        read = cub.replay("read", "", size, [[start]] * 3, 16, repeats)
        half = cub.replay("copy", "", size // 2, [[start], [start], [start + size // 2]], 16, repeats)
        empty, read_us, copy_us = (summarize_times(times)["median"] for times in (nothing, read, half))
        return {
            "empty_us": round(empty, 3),
            "read_gb_per_s": round(size / read_us / 1e3, 1),
            "copy_gb_per_s": round(size / copy_us / 1e3, 1),
        }

    def inputs(self, case: Case) -> ReductionCase:
        """Return inputs and outputs."""
        op, dtype, exponent, offset = case
        firsts, *seconds = (pool.inputs(1 << exponent, offset) for pool in self._pools(dtype))
        launches = launches_of(self._itemsize(dtype) << exponent)
        return ReductionCase(op, dtype, firsts, seconds[0] if op == "dot" else [], launches)

    def contenders(self, case: Case, inputs: ReductionCase) -> dict[str, Callable[[int], list[float]]]:
        """Return what times each library, given the number of repeats."""
        op, dtype, exponent, offset = case
        all_of_them = dtype == "float32" and op != "dot" and exponent in FEW and not offset
        found = [*self.common, *(self.rare if all_of_them or self.options.exponents else [])]

        def timed(runner: Any) -> Callable[[int], list[float]]:
            return lambda repeats: runner.time(inputs, repeats)

        return {runner.name: timed(runner) for runner in found}

    def check(self, case: Case, inputs: ReductionCase, contenders: Mapping[str, Callable[..., Any]]) -> None:
        """Raise WrongResultError if ours is wrong: elements are whole numbers, all but halves exact."""
        if inputs.n > CHECKED:
            return
        op, dtype = inputs.op, inputs.dtype
        wanted = runners.exact(op, inputs.firsts[0], inputs.seconds[0] if inputs.seconds else None)
        got = self.ours.answer(inputs)
        if op == "dot" and "int" in dtype:
            values = 1 << 8 * inputs.itemsize  # it wraps
            low = 0 if dtype.startswith("uint") else -values // 2
            wanted = float((int(wanted) - low) % values + low)
        limit = {"float16": 2e-3, "bfloat16": 8e-3, "float32": 1e-6}.get(dtype, 0) * abs(wanted)
        if not abs(got - wanted) <= limit and not (dtype == "float16" and abs(wanted) > 65504):
            raise WrongResultError(f"{op} of {inputs.n} {dtype}: {got}, expected {wanted}")

    def measure(
        self, case: Case, inputs: ReductionCase, contenders: Mapping[str, Callable[..., Any]]
    ) -> Times:
        """Return microseconds per reduction; a library that refuses a case is named, and has no times."""
        times: Times = {}
        for name, time in contenders.items():
            try:
                taken = time(self.options.repeats)
            except Exception as error:
                if name in ("gpureduce", "cub"):
                    raise
                print(f"{name}: {inputs.op} of {inputs.n} {inputs.dtype}: {error!r}", flush=True)
                continue
            if taken:
                times[name] = taken
        return times

    def rows(self, case: Case, inputs: ReductionCase, times: Times) -> list[dict[str, Any]]:
        """Return a row: figures of all contenders, our bandwidth, and our time over each other's."""
        op, dtype, exponent, offset = case
        us = {name: summarize_times(taken) for name, taken in times.items()}
        nbytes = inputs.n * inputs.itemsize * (2 if op == "dot" else 1)
        return [
            {
                "op": op,
                "dtype": dtype,
                "n": 1 << exponent,
                "offset": offset,
                "us": {name: summarize_times(taken, 3) for name, taken in times.items()},
                "gb_per_s": round(nbytes / us["gpureduce"]["median"] / 1e3, 1),
                "ratio": ratios(us, "gpureduce", 4),
            }
        ]

    def finish(self, record: dict[str, Any]) -> None:
        """Add the floors."""
        if self.floors is not None:
            rows = record.pop("rows")
            record |= {"floors": self.floors, "rows": rows}

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        figures = "  ".join(f"{name} {us['median']:.2f}" for name, us in row["us"].items())
        shift = "+1" if row["offset"] else "  "
        head = f"{row['op']:6} {row['dtype']:8} {row['n']:>11}{shift} {row['gb_per_s']:7.0f} GB/s"
        of_cub = f"  {row['ratio']['cub']:.3f} of CUB" if "cub" in row["ratio"] else ""
        return f"{head}{of_cub}  {figures}"

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return the tables of docs/benchmarks/sums.md, or those of a few sizes."""
        return report.tables(record)

    @staticmethod
    def chart(record: dict[str, Any], dark: bool = False) -> str | None:
        """Return the times of float32 sums by others over ours; NumPy's if no other library has any."""
        palette = DARK if dark else LIGHT
        drawn = readme_charts.peers_svg(record, palette, report.PEERS)
        return drawn or readme_charts.peers_svg(record, palette, ("numpy",))


BENCHMARK = Peers
