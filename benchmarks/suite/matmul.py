"""Times products of matrices on the device beside PyTorch's, which are cuBLAS's, all in one run.

Each figure is the median over replays of a CUDA graph captured from calls of the public functions with
``out=``, in microseconds a product; the graphs of all contenders take turns. A graph goes round sets of
matrices that are together larger than the L2 cache, as far as 64 sets are. Results are poisoned with NaN
first and compared with float64, or complex128: the error is that of the whole matrix, by its Frobenius norm.

    python benchmarks/run.py matmul --out FILE
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpureduce._bench import environment, files
from gpureduce._bench.matmul_timing import METHOD, PUBLISHED, MatmulInputs, Shape, is_half, measure
from gpureduce._device.variants import AUTO, variants
from gpureduce._matmul.product import PRECISIONS, matmul

# m, n, k: squares, long and thin, no multiples of anything.
SHAPES = (
    PUBLISHED, *((n, n, n) for n in (256, 512, 1024, 2048, 4096, 8192)), (8192, 128, 1024), (128, 8192, 1024),
    (4096, 4096, 64), (65536, 64, 64), (64, 64, 65536), (1, 8192, 8192), (8192, 1, 8192), (1000, 1001, 1002),
    (2047, 2049, 1023), (4095, 4095, 4095),
)  # fmt: skip


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
            sets = MatmulInputs(torch, shape, dtype)
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


def show(row: dict) -> str:
    """Return a row as a line."""
    ratio = "" if row["of_cublas"] is None else f"{row['of_cublas']:.3f} of cuBLAS's time"
    shape = f"{row['m']} x {row['n']} x {row['k']}"
    return (
        f"{row['variant']:7} {row['dtype']:8} {shape:20} {row['us']['median']:10.2f} us "
        f"{row['tflop_per_s']:8.2f} TFLOP/s  error {row['error']:.1e}  {ratio}"
    )


def parse_shape(text: str) -> Shape:
    """Return the sizes in ``MxNxK``, or ``N`` for all three."""
    sizes = [int(part) for part in text.split("x")]
    m, n, k = sizes if len(sizes) == 3 else sizes * 3
    return m, n, k


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/run.py matmul", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--shapes", type=parse_shape, nargs="+", default=list(SHAPES), help="MxNxK")
    parser.add_argument("--dtypes", nargs="+", default=["float32"])
    parser.add_argument("--precision", default="ieee", choices=PRECISIONS)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--roofs", help="JSON of what the device's units do at most, for the file's head")
    parser.add_argument("--out", type=files.writable_path, help="results file to write")
    options = parser.parse_args(argv)
    head = environment.header(environment.find_device("cuda"))
    found = list(rows(options.shapes, options.dtypes, options.precision, options.repeats))
    import torch

    head |= {"method": METHOD, "call_us": call_times(torch), **roofs(options.roofs)}
    print(head["call_us"])
    files.write_result(options.out, {**head, "rows": found})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
