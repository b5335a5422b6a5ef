"""Times matrix multiplications on the device, compared with PyTorch's, which are cuBLAS's, all in one run.

How they are timed `gpureduce._bench.matmul_timing` says.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.harness.benchmark import Benchmark
from benchmarks.report import matmul as report
from gpureduce._bench.matmul_timing import METHOD, PUBLISHED, MatmulInputs, Shape, is_half, measure
from gpureduce._device.variants import AUTO, variants
from gpureduce._matmul.product import PRECISIONS, matmul

# m, n, k: squares, long and thin, no multiples of anything.
SHAPES = (
    PUBLISHED, *((n, n, n) for n in (256, 512, 1024, 2048, 4096, 8192)), (8192, 128, 1024), (128, 8192, 1024),
    (4096, 4096, 64), (65536, 64, 64), (64, 64, 65536), (1, 8192, 8192), (8192, 1, 8192), (1000, 1001, 1002),
    (2047, 2049, 1023), (4095, 4095, 4095),
)  # fmt: skip


def call_times(torch: Any) -> dict[str, float]:
    """Return what a small call costs the host, in microseconds: ours and PyTorch's in turn, medians."""
    a, b, c = (torch.randn(64, 64, device="cuda") for _ in range(3))
    calls = {
        "torch": lambda: torch.mm(a, b),
        "gpureduce": lambda: matmul(a, b),
        "torch_out": lambda: torch.mm(a, b, out=c),
        "gpureduce_out": lambda: matmul(a, b, c),
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(30):
        for name, call in calls.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(200):
                call()
            times[name].append((time.perf_counter() - start) / 200 * 1e6)
    return {name: round(statistics.median(figures), 2) for name, figures in times.items()}


def roofs(path: str | None) -> dict[str, float]:
    """Return what a file says of the rates of multiply-adds and of L1: tests/gpu/roofs.cu prints it."""
    if path is None:
        return {}
    told = json.loads(Path(path).read_text(encoding="utf-8"))
    return {key: told[key] for key in ("ffma_tflop_per_s", "l1_gb_per_s")}


def parse_shape(text: str) -> Shape:
    """Return the sizes in ``MxNxK``, or ``N`` for all three."""
    sizes = [int(part) for part in text.split("x")]
    m, n, k = sizes if len(sizes) == 3 else sizes * 3
    return m, n, k


class Matmul(Benchmark):
    """Every rung of a precision at the published size, the default at all."""

    summary = "matrix multiplications, rung by rung and by default, compared with cuBLAS"
    method = METHOD
    required = ("torch",)
    device = "cuda"
    repeats = 15
    quick: ClassVar[Mapping[str, Any]] = {
        "shapes": [PUBLISHED, (512, 512, 512), (4096, 4096, 4096)],
        "repeats": 3,
    }

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        parser.add_argument("--shapes", type=parse_shape, nargs="+", default=list(SHAPES), metavar="MxNxK")
        parser.add_argument("--dtypes", nargs="+", default=["float32"])
        parser.add_argument("--precision", default="ieee", choices=PRECISIONS)
        parser.add_argument("--roofs", metavar="FILE", help="JSON that tests/gpu/roofs.cu prints")

    def cases(self) -> Iterable[tuple[str, Shape]]:
        """Return dtypes and sizes. cuBLAS multiplies in TF32 next to the rungs that do, else in float32."""
        self.torch.backends.cuda.matmul.allow_tf32 = self.options.precision == "tf32"
        return [(dtype, shape) for dtype in self.options.dtypes for shape in self.options.shapes]

    def run_case(self, case: tuple[str, Shape]) -> list[dict[str, Any]]:
        """Return a row for each contender, as `gpureduce.bench` measures it."""
        dtype, shape = case
        precision = self.options.precision
        rungs = [
            variant.name
            for variant in variants("matmul")
            if variant.role == "rung"
            and dtype in variant.dtypes
            and (variant.precision == precision or is_half(dtype))
        ]
        inputs = MatmulInputs(self.torch, shape, dtype)
        names = [*(rungs if shape == PUBLISHED else []), AUTO]
        rows = list(measure(inputs, names, precision, self.options.repeats))
        del inputs
        self.torch.cuda.empty_cache()
        return rows

    def finish(self, record: dict[str, Any]) -> None:
        """Add what a small call costs, and the roofs."""
        rows = record.pop("rows")
        record |= {"call_us": call_times(self.torch), **self._roofs(), "rows": rows}
        print(record["call_us"])

    def _roofs(self) -> Mapping[str, float]:
        """Return the rates of multiply-adds and of L1, from the file of --roofs."""
        if self.options.roofs is None:
            return {}
        told = json.loads(Path(self.options.roofs).read_text(encoding="utf-8"))
        return {key: told[key] for key in ("ffma_tflop_per_s", "l1_gb_per_s")}

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        ratio = "" if row["of_cublas"] is None else f"{row['of_cublas']:.3f} of cuBLAS's time"
        shape = f"{row['m']} x {row['n']} x {row['k']}"
        return (
            f"{row['variant']:7} {row['dtype']:8} {shape:20} {row['us']['median']:10.2f} us "
            f"{row['tflop_per_s']:8.2f} TFLOP/s  error {row['error']:.1e}  {ratio}"
        )

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return the default at all sizes, compared with cuBLAS."""
        return report.shapes(record)


BENCHMARK = Matmul
