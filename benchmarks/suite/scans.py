"""Times scans and reductions of segments beside others': ``python benchmarks/run.py scans``.

Each figure is of a CUDA graph that goes round inputs and results larger together than the L2 cache, in
microseconds a call, the median over replays: of running sums beside a copy of the elements, CUB's, PyTorch's
and CuPy's; of sums of segments beside CUB's, PyTorch's, and the sum of all elements.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.harness import markdown
from gpureduce import _functions as gpureduce
from gpureduce._bench import environment, files, timing
from gpureduce._bench.stats import summarize_times

SOURCE = Path(__file__).parents[1] / "baselines" / "cub_scans.cu"
EXPONENTS = (16, 18, 20, 22, 24, 26, 27, 28)
DTYPES = ("float32", "float64", "int32")
ELEMENTS = 1 << 26  # that are cut into segments
SEGMENTS = tuple(10**exponent for exponent in range(8))
SHAPES = ("uniform", "skewed")  # skewed: one segment has half of the elements
LEAST_FOR_TORCH = 10**4  # segments: it takes each by a single thread
MOST_LAUNCHES = 32


class Cub:
    """CUB's functions, compiled for this GPU; calls go into PyTorch's current stream."""

    def __init__(self, torch: Any, nvcc: str, library: str | None) -> None:
        self.torch = torch
        self.folder = tempfile.TemporaryDirectory()
        if library is None:
            library = str(Path(self.folder.name) / "cub_scans.so")
            flags = ["-O3", "-std=c++17", "-arch=native", "-shared", "-Xcompiler", "-fPIC", "-DNDEBUG"]
            subprocess.run([nvcc, *flags, "-o", library, str(SOURCE)], check=True)
        self.library = ctypes.CDLL(library)
        self.library.peer_scan.restype = self.library.peer_segments.restype = ctypes.c_char_p

    def call(self, function: str, *arguments: Any) -> Callable[..., None]:
        """Return what enqueues a function; its arguments are all but the addresses of some."""
        room = ctypes.c_size_t(0)

        def enqueue(temp: int, *addresses: int) -> None:
            stream = self.torch.cuda.current_stream().cuda_stream
            places = [ctypes.c_void_p(address) for address in (*addresses, temp)]
            enqueued = getattr(self.library, function)(
                *arguments, *places, ctypes.byref(room), ctypes.c_void_p(stream)
            )
            if enqueued is not None:
                raise RuntimeError(f"{function}: {enqueued.decode()}")

        def first(*addresses: int) -> None:
            if not room.value:
                enqueue(0, *addresses)
                self.temp = self.torch.empty(max(room.value, 1), dtype=self.torch.uint8, device="cuda")
            enqueue(self.temp.data_ptr(), *addresses)

        return first


def timed(torch: Any, calls: dict[str, Callable[[int], object]], buffers: int, repeats: int) -> dict:
    """Return the figures of each call, which takes the number of an input; of all of them by turns."""
    launches = max(buffers, min(MOST_LAUNCHES, 4 * buffers))
    graphs = {}
    for name, call in calls.items():
        graphs[name] = timing.capture(torch, call, buffers, launches)
    times: dict[str, list[float]] = {name: [] for name in graphs}
    for _ in range(repeats):
        for name, graph in graphs.items():
            times[name] += timing.replay_times(torch, graph, launches, 1)
    return {
        name: {key: round(value, 3) for key, value in summarize_times(each).items()}
        for name, each in times.items()
    }


def scan_row(torch: Any, cupy: Any, cub: Cub, dtype: str, exponent: int, repeats: int) -> dict:
    """Return the figures of running sums of 2**exponent elements."""
    n = 1 << exponent
    kind = getattr(torch, dtype)
    result = torch.int64 if dtype == "int32" else kind
    pair = n * (kind.itemsize + result.itemsize)
    buffers = max(1, min(MOST_LAUNCHES, timing.ROTATION_BYTES // pair))
    ins = [torch.randint(-9, 9, (n,), device="cuda").to(kind) for _ in range(buffers)]
    outs = [torch.empty(n, dtype=result, device="cuda") for _ in range(buffers)]
    same = outs if result == kind else [out.view(kind)[:n] for out in outs]
    theirs = [cupy.from_dlpack(each) for each in ins], [cupy.from_dlpack(each) for each in outs]
    of_cub = cub.call("peer_scan", dtype.encode(), ctypes.c_int64(n))

    def by_cupy(i: int) -> None:
        with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            cupy.cumsum(theirs[0][i], out=theirs[1][i])

    calls: dict[str, Callable[[int], object]] = {
        "gpureduce": lambda i: gpureduce.cumulative_sum(ins[i], axis=0, out=outs[i]),
        "copy": lambda i: outs[i].copy_(ins[i]),
        "cub": lambda i: of_cub(ins[i].data_ptr(), same[i].data_ptr()),
        "torch": lambda i: torch.cumsum(ins[i], 0, out=outs[i]),
        "cupy": by_cupy,
    }
    row = {"what": "scan", "dtype": dtype, "n": n, "us": timed(torch, calls, buffers, repeats)}
    gpureduce.cumulative_sum(ins[0], axis=0, out=outs[0])
    wanted = torch.cumsum(ins[0].double(), 0).to(result)
    if not torch.equal(outs[0], wanted):
        raise SystemExit(f"cumulative_sum of {n} {dtype} is wrong")
    return row


def offsets_of(torch: Any, shape: str, segments: int) -> Any:
    """Return offsets on the device."""
    rest = ELEMENTS if shape == "uniform" or segments == 1 else ELEMENTS // 2
    first = [] if rest == ELEMENTS else [0]
    count = segments - len(first)
    ends = torch.arange(count + 1, dtype=torch.int64, device="cuda") * rest // count + (ELEMENTS - rest)
    return torch.cat([torch.zeros(len(first), dtype=torch.int64, device="cuda"), ends])


def segment_row(torch: Any, cub: Cub, ins: list, shape: str, segments: int, repeats: int) -> dict:
    """Return the figures of sums of segments."""
    offsets = offsets_of(torch, shape, segments)
    outs = [torch.empty(segments, device="cuda") for _ in ins]
    whole = torch.empty((), device="cuda")
    of_cub = cub.call("peer_segments", ctypes.c_int64(segments))
    calls: dict[str, Callable[[int], object]] = {
        "gpureduce": lambda i: gpureduce.segment_reduce(ins[i], offsets, out=outs[i]),
        "flat": lambda i: gpureduce.sum(ins[i], out=whole),
        "cub": lambda i: of_cub(ins[i].data_ptr(), outs[i].data_ptr(), offsets.data_ptr()),
    }
    if segments >= LEAST_FOR_TORCH and shape == "uniform":
        calls["torch"] = lambda i: torch.segment_reduce(ins[i], "sum", offsets=offsets, unsafe=True)
    row = {"what": "segments", "shape": shape, "segments": segments, "n": ELEMENTS, "us": None}
    row["us"] = timed(torch, calls, len(ins), repeats)
    gpureduce.segment_reduce(ins[0], offsets, out=outs[0])
    sums = torch.cat([torch.zeros(1, dtype=torch.float64, device="cuda"), torch.cumsum(ins[0].double(), 0)])
    if not torch.equal(outs[0], (sums[offsets[1:]] - sums[offsets[:-1]]).float()):
        raise SystemExit(f"segment_reduce of {segments} {shape} segments is wrong")
    return row


def show(row: dict) -> str:
    """Return a row as a line."""
    what = (
        f"{row['dtype']:8} {row['n']:>10}"
        if row["what"] == "scan"
        else f"{row['shape']:8} {row['segments']:>10}"
    )
    return f"{row['what']:9} {what}  " + "  ".join(
        f"{name} {us['median']:.1f}" for name, us in row["us"].items()
    )


def table(record: dict) -> str:
    """Return a results file as Markdown: scans of float32, and segments of all lengths."""
    us = [
        {**row, **{name: markdown.format_us(spread["median"]) for name, spread in row["us"].items()}}
        for row in record["rows"]
    ]
    scans = [row for row in us if row["what"] == "scan" and row["dtype"] == "float32"]
    pieces = [row for row in us if row["what"] == "segments"]
    lines = [
        f"{record['device']}, CUDA {record['toolkit']}, PyTorch {record['torch']}, CuPy {record['cupy']},"
        f" {record['date']}: {record['method']}.",
        "",
        "| float32 | `cumulative_sum` | a copy | CUB | PyTorch | CuPy |",
        "|--:|--:|--:|--:|--:|--:|",
    ]
    names = ("gpureduce", "copy", "cub", "torch", "cupy")
    lines += [f"| {row['n']:,} | " + " | ".join(row.get(name, "") for name in names) + " |" for row in scans]
    lines += [
        "",
        "| segments of 2^26 | lengths | `segment_reduce` | flat `sum` | CUB |",
        "|--:|---|--:|--:|--:|",
    ]
    lines += [
        f"| {row['segments']:,} | {row['shape']} | {row['gpureduce']} | {row['flat']} | {row['cub']} |"
        for row in pieces
    ]
    return "\n".join(lines)


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/run.py scans", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    parser.add_argument("--cub", help=f"{SOURCE.name} as a shared library; without it, it is compiled")
    parser.add_argument("--out", type=files.writable_path, help="results file to write")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    options = parse(argv)
    import cupy
    import torch

    record: dict[str, Any] = environment.header(environment.find_device("cuda:0"))
    record |= {"torch": torch.__version__, "cupy": cupy.__version__}
    record["method"] = "graphs over inputs and results larger than the L2 cache; microseconds a call"
    record["rows"] = []
    cub = Cub(torch, options.nvcc, options.cub)

    def add(row: dict) -> None:
        record["rows"].append(row)
        print(show(row), flush=True)
        files.write_result(options.out, record)

    ins = [torch.randint(-9, 9, (ELEMENTS,), device="cuda").float() for _ in range(2)]
    for shape in SHAPES:
        for segments in SEGMENTS:
            add(segment_row(torch, cub, ins, shape, segments, options.repeats))
    del ins
    torch.cuda.empty_cache()
    for dtype in DTYPES:
        for exponent in EXPONENTS:
            add(scan_row(torch, cupy, cub, dtype, exponent, options.repeats))
            torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
