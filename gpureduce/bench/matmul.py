"""Times products of matrices on the device beside PyTorch's, which are cuBLAS's, all in one run.

Each figure is the median over replays of a CUDA graph captured from calls of the public functions with
``out=``, in microseconds a product; the graphs of all contenders take turns. A graph goes round sets of
matrices that are together larger than the L2 cache, as far as 64 sets are. Results are poisoned with NaN
first and compared with float64, or complex128: the error is that of the whole matrix, by its Frobenius norm.

    python -m gpureduce.bench.matmul --out FILE
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from gpureduce._device.variants import AUTO, variants
from gpureduce._matmul.product import PRECISIONS, matmul
from gpureduce.bench import environment

SET_BYTES = 128 << 20  # of the sets that take turns: twice the 60 MB L2 of an H200
MOST_SETS = 64
PUBLISHED = (2048, 2048, 1024)
# m, n, k: squares, long and thin, no multiples of anything.
SHAPES = (
    PUBLISHED, *((n, n, n) for n in (256, 512, 1024, 2048, 4096, 8192)), (8192, 128, 1024), (128, 8192, 1024),
    (4096, 4096, 64), (65536, 64, 64), (64, 64, 65536), (1, 8192, 8192), (8192, 1, 8192), (1000, 1001, 1002),
    (2047, 2049, 1023), (4095, 4095, 4095),
)  # fmt: skip
VENDOR = "cublas"
Shape = tuple[int, int, int]


class Sets:
    """Matrices of one shape and dtype, several of each."""

    def __init__(self, torch: Any, shape: Shape, dtype: str) -> None:
        m, n, k = shape
        self.torch, self.shape, self.dtype = torch, shape, getattr(torch, dtype)
        each = (m * k + k * n + m * n) * self.dtype.itemsize
        self.count = min(MOST_SETS, max(2, math.ceil(SET_BYTES / each)))
        generator = torch.Generator(device="cuda").manual_seed(20261122)
        self.a = [self._draw(generator, m, k) for _ in range(self.count)]
        self.b = [self._draw(generator, k, n) for _ in range(self.count)]
        self.c = [torch.empty(m, n, dtype=self.dtype, device="cuda") for _ in range(self.count)]
        self.wide = torch.complex128 if self.dtype.is_complex else torch.float64
        self.wanted = self.a[0].to(self.wide) @ self.b[0].to(self.wide)

    @property
    def is_inexact(self) -> bool:
        """Whether cuBLAS multiplies them, and they can be NaN."""
        return self.dtype.is_floating_point or self.dtype.is_complex

    def _draw(self, generator: Any, rows: int, columns: int) -> Any:
        wide = self.is_inexact and self.dtype.itemsize > self.torch.float32.itemsize
        dtype = self.dtype if wide else self.torch.float32
        drawn = self.torch.randn(rows, columns, device="cuda", generator=generator, dtype=dtype)
        return (drawn * (1 if self.is_inexact else 100)).to(self.dtype)

    def error(self, call: Callable[[int], object]) -> float:
        """Return the relative error of a product; NaN where an element was not written."""
        self.c[0].fill_(math.nan if self.is_inexact else -1)
        call(0)
        self.torch.cuda.synchronize()
        return ((self.c[0].to(self.wide) - self.wanted).norm() / self.wanted.norm()).item()


def contenders(sets: Sets, names: list[str], precision: str) -> dict[str, Callable[[int], object]]:
    """Return what multiplies one set, by name."""

    def ours(name: str) -> Callable[[int], object]:
        given = precision if name == AUTO else None
        return lambda i: matmul(sets.a[i], sets.b[i], sets.c[i], variant=name, precision=given)

    field = {name: ours(name) for name in names}
    if sets.is_inexact:
        field[VENDOR] = lambda i: sets.torch.mm(sets.a[i], sets.b[i], out=sets.c[i])
    return field


def measure(sets: Sets, names: list[str], precision: str, repeats: int) -> Iterator[dict]:
    """Yield a row for each contender: its time, its error, and its time over that of cuBLAS."""
    torch, (m, n, k) = sets.torch, sets.shape
    field = contenders(sets, names, precision)
    errors = {name: sets.error(call) for name, call in field.items()}
    slow = m * n * k > 1 << 36
    launches = sets.count if slow else max(sets.count, 8)
    few = {name: 2 if name == "m0" else launches for name in field}
    graphs = {name: environment.capture(torch, call, sets.count, few[name]) for name, call in field.items()}
    times: dict[str, list[float]] = {name: [] for name in field}
    for _ in range(repeats):
        for name, graph in graphs.items():
            times[name] += environment.replay_times(torch, graph, few[name], 1)
    vendor = statistics.median(times[VENDOR]) if VENDOR in times else None
    flop = (8 if sets.dtype.is_complex else 2) * m * n * k
    for name, figures in times.items():
        us = environment.spread(figures)
        yield {
            "variant": name,
            "dtype": str(sets.dtype).removeprefix("torch."),
            "precision": precision,
            "m": m,
            "n": n,
            "k": k,
            "us": {key: round(value, 2) for key, value in us.items()},
            "tflop_per_s": round(flop / us["median"] / 1e6, 3),
            "of_cublas": round(us["median"] / vendor, 4) if vendor else None,
            "error": float(f"{errors[name]:.3e}"),
        }


def rows(shapes: list[Shape], dtypes: list[str], precision: str, repeats: int) -> Iterator[dict]:
    """Yield all rows: every rung of a precision at the published size, the default at all.

    cuBLAS multiplies in TF32 beside the rungs that do, else in float32.
    """
    import torch

    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    able = [record for record in variants("matmul") if record.role == "rung"]
    for dtype in dtypes:
        named = [v.name for v in able if dtype in v.dtypes and (v.precision == precision or is_half(dtype))]
        for shape in shapes:
            names = [*(named if shape == PUBLISHED else []), AUTO]
            sets = Sets(torch, shape, dtype)
            for row in measure(sets, names, precision, repeats):
                print(show(row), flush=True)
                yield row
            del sets
            torch.cuda.empty_cache()


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


def is_half(dtype: str) -> bool:
    """Return whether rungs of any precision multiply it exactly."""
    return dtype in ("float16", "bfloat16")


def show(row: dict) -> str:
    """Return a row as a line."""
    ratio = "" if row["of_cublas"] is None else f"{row['of_cublas']:.3f} of cuBLAS's time"
    shape = f"{row['m']} x {row['n']} x {row['k']}"
    return (
        f"{row['variant']:7} {row['dtype']:8} {shape:20} {row['us']['median']:10.2f} us "
        f"{row['tflop_per_s']:8.2f} TFLOP/s  error {row['error']:.1e}  {ratio}"
    )


def method() -> str:
    """Return how it is measured, as the head of a results file says it."""
    return " ".join((__doc__ or "\n\n").split("\n\n")[1].split())


def parse_shape(text: str) -> Shape:
    """Return the sizes in ``MxNxK``, or ``N`` for all three."""
    sizes = [int(part) for part in text.split("x")]
    m, n, k = sizes if len(sizes) == 3 else sizes * 3
    return m, n, k


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m gpureduce.bench.matmul", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--shapes", type=parse_shape, nargs="+", default=list(SHAPES), help="MxNxK")
    parser.add_argument("--dtypes", nargs="+", default=["float32"])
    parser.add_argument("--precision", default="ieee", choices=PRECISIONS)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--roofs", help="JSON of what the device's units do at most, for the file's head")
    parser.add_argument("--out", type=environment.place, help="results file to write")
    options = parser.parse_args(argv)
    head = environment.header(environment.find_device("cuda"))
    found = list(rows(options.shapes, options.dtypes, options.precision, options.repeats))
    import torch

    head |= {"method": method(), "call_us": call_times(torch), **roofs(options.roofs)}
    print(head["call_us"])
    environment.write(options.out, {**head, "rows": found})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
