"""Times scans and reductions of segments, compared with CUB, PyTorch and CuPy.

Each figure is of a CUDA graph that rotates over inputs and results larger together than the L2 cache, in
microseconds per call, the median over replays: of running sums compared with a copy of the elements, CUB,
PyTorch and CuPy; of sums of segments compared with CUB, PyTorch, and the sum of all elements.
"""

from __future__ import annotations

import argparse
import ctypes
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from benchmarks.baselines import cub
from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Benchmark, Call, Times, WrongResultError
from gpureduce import _functions as gpureduce
from gpureduce._bench import timing
from gpureduce._bench.stats import summarize_times

EXPONENTS = (16, 18, 20, 22, 24, 26, 27, 28)
DTYPES = ("float32", "float64", "int32")
ELEMENTS = 1 << 26  # that are cut into segments
SEGMENTS = tuple(10**exponent for exponent in range(8))
SHAPES = ("uniform", "skewed")  # skewed: one segment has half of the elements
MIN_FOR_TORCH = 10**4  # segments: it takes each by a single thread
MAX_LAUNCHES = 32


class CubScans:
    """CUB's scans and segmented sums; calls go into PyTorch's current stream."""

    def __init__(self, torch: Any, nvcc: Any) -> None:
        self.torch, self.library = torch, cub.build(nvcc, cub.SCANS)
        self.library.peer_scan.restype = self.library.peer_segments.restype = ctypes.c_char_p

    def call(self, function: str, *arguments: Any) -> Callable[..., None]:
        """Return what enqueues a function, given the addresses that come behind its other arguments."""
        nbytes = ctypes.c_size_t(0)

        def enqueue(temp: int, *addresses: int) -> None:
            stream = self.torch.cuda.current_stream().cuda_stream
            pointers = [ctypes.c_void_p(address) for address in (*addresses, temp)]
            error = getattr(self.library, function)(
                *arguments, *pointers, ctypes.byref(nbytes), ctypes.c_void_p(stream)
            )
            if error is not None:
                raise RuntimeError(f"{function}: {error.decode()}")

        def allocating(*addresses: int) -> None:
            if not nbytes.value:
                enqueue(0, *addresses)
                self.temp = self.torch.empty(max(nbytes.value, 1), dtype=self.torch.uint8, device="cuda")
            enqueue(self.temp.data_ptr(), *addresses)

        return allocating


def offsets_of(torch: Any, shape: str, segments: int) -> Any:
    """Return offsets on the device."""
    rest = ELEMENTS if shape == "uniform" or segments == 1 else ELEMENTS // 2
    first = [] if rest == ELEMENTS else [0]
    count = segments - len(first)
    ends = torch.arange(count + 1, dtype=torch.int64, device="cuda") * rest // count + (ELEMENTS - rest)
    return torch.cat([torch.zeros(len(first), dtype=torch.int64, device="cuda"), ends])


class Buffers:
    """Inputs and outputs of one case."""

    def __init__(self, ins: list[Any], outs: list[Any]) -> None:
        self.ins, self.outs = ins, outs

    def __len__(self) -> int:
        return len(self.ins)


class Scans(Benchmark):
    """Running sums, and sums of segments of 2^26 elements."""

    summary = "cumulative_sum and segment_reduce, compared with CUB, PyTorch and CuPy"
    method = "graphs over inputs and results larger than the L2 cache; microseconds per call"
    required = ("torch",)
    optional = ("cub", "cupy")
    repeats = 5
    quick: ClassVar[Mapping[str, Any]] = {
        "repeats": 3,
        "dtypes": ["float32"],
        "exponents": [16, 20, 24],
        "segments": [10**2, 10**4, 10**6],
    }

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        parser.add_argument("--dtypes", nargs="+", choices=DTYPES, default=list(DTYPES))
        parser.add_argument("--exponents", type=int, nargs="+", default=list(EXPONENTS))
        parser.add_argument("--segments", type=int, nargs="+", default=list(SEGMENTS))

    def cases(self) -> Iterator[tuple[str, str, int]]:
        """Yield kind, lengths of segments or dtype, and the number of segments or the exponent of two."""
        torch, nvcc = self.torch, self.libraries.get("cub")
        self.cub = None if nvcc is None else CubScans(torch, nvcc)
        self.shared = [torch.randint(-9, 9, (ELEMENTS,), device="cuda").float() for _ in range(2)]
        for shape in SHAPES:
            yield from (("segments", shape, segments) for segments in self.options.segments)
        self.shared = []
        torch.cuda.empty_cache()
        for dtype in self.options.dtypes:
            yield from (("scan", dtype, exponent) for exponent in self.options.exponents)

    def inputs(self, case: tuple[str, str, int]) -> Buffers:
        """Return inputs and outputs."""
        torch, (what, dtype, size) = self.torch, case
        if what == "segments":
            return Buffers(self.shared, [torch.empty(size, device="cuda") for _ in self.shared])
        n, kind = 1 << size, getattr(torch, dtype)
        result = torch.int64 if dtype == "int32" else kind
        pair = n * (kind.itemsize + result.itemsize)
        buffers = max(1, min(MAX_LAUNCHES, timing.ROTATION_BYTES // pair))
        ins = [torch.randint(-9, 9, (n,), device="cuda").to(kind) for _ in range(buffers)]
        return Buffers(ins, [torch.empty(n, dtype=result, device="cuda") for _ in range(buffers)])

    def contenders(self, case: tuple[str, str, int], inputs: Buffers) -> dict[str, Call]:
        """Return the calls of all contenders."""
        what, name, size = case
        return self._segments(name, size, inputs) if what == "segments" else self._scan(name, inputs)

    def _scan(self, dtype: str, inputs: Buffers) -> dict[str, Call]:
        torch, cupy, ins, outs = self.torch, self.libraries.get("cupy"), inputs.ins, inputs.outs
        n = ins[0].numel()
        calls: dict[str, Call] = {
            "gpureduce": lambda i: gpureduce.cumulative_sum(ins[i], axis=0, out=outs[i]),
            "copy": lambda i: outs[i].copy_(ins[i]),
        }
        if self.cub is not None:
            same = outs if outs[0].dtype == ins[0].dtype else [out.view(ins[0].dtype)[:n] for out in outs]
            scan = self.cub.call("peer_scan", dtype.encode(), ctypes.c_int64(n))
            calls["cub"] = lambda i: scan(ins[i].data_ptr(), same[i].data_ptr())
        calls["torch"] = lambda i: torch.cumsum(ins[i], 0, out=outs[i])
        if cupy is not None:
            arrays = [cupy.from_dlpack(each) for each in ins], [cupy.from_dlpack(each) for each in outs]

            def by_cupy(i: int) -> None:
                with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
                    cupy.cumsum(arrays[0][i], out=arrays[1][i])

            calls["cupy"] = by_cupy
        return calls

    def _segments(self, shape: str, segments: int, inputs: Buffers) -> dict[str, Call]:
        torch, ins, outs = self.torch, inputs.ins, inputs.outs
        offsets = self.offsets = offsets_of(torch, shape, segments)
        whole = torch.empty((), device="cuda")
        calls: dict[str, Call] = {
            "gpureduce": lambda i: gpureduce.segment_reduce(ins[i], offsets, out=outs[i]),
            "flat": lambda i: gpureduce.sum(ins[i], out=whole),
        }
        if self.cub is not None:
            reduce = self.cub.call("peer_segments", ctypes.c_int64(segments))
            calls["cub"] = lambda i: reduce(ins[i].data_ptr(), outs[i].data_ptr(), offsets.data_ptr())
        if segments >= MIN_FOR_TORCH and shape == "uniform":
            calls["torch"] = lambda i: torch.segment_reduce(ins[i], "sum", offsets=offsets, unsafe=True)
        return calls

    def check(self, case: Any, inputs: Buffers, contenders: Mapping[str, Callable[..., Any]]) -> None:
        """Raise WrongResultError unless results are those of sums of float64."""
        torch, (ins, out) = self.torch, (inputs.ins[0], inputs.outs[0])
        contenders["gpureduce"](0)
        sums = torch.cumsum(ins.double(), 0)
        if case[0] == "segments":
            sums = torch.cat([torch.zeros(1, dtype=torch.float64, device="cuda"), sums])
            sums = sums[self.offsets[1:]] - sums[self.offsets[:-1]]
        if not torch.equal(out, sums.to(out.dtype)):
            raise WrongResultError(" ".join(map(str, case)))

    def launches(self, case: Any, inputs: Buffers) -> int:
        """Return up to four rotations."""
        return max(len(inputs), min(MAX_LAUNCHES, 4 * len(inputs)))

    def rows(self, case: tuple[str, str, int], inputs: Buffers, times: Times) -> list[dict[str, Any]]:
        """Return a row."""
        what, name, size = case
        us = {contender: summarize_times(taken, 3) for contender, taken in times.items()}
        if what == "scan":
            self.torch.cuda.empty_cache()
            return [{"what": what, "dtype": name, "n": 1 << size, "us": us}]
        return [{"what": what, "shape": name, "segments": size, "n": ELEMENTS, "us": us}]

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        scan = row["what"] == "scan"
        what = f"{row['dtype']:8} {row['n']:>10}" if scan else f"{row['shape']:8} {row['segments']:>10}"
        times = "  ".join(f"{name} {us['median']:.1f}" for name, us in row["us"].items())
        return f"{row['what']:9} {what}  {times}"

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return scans of float32, and segments of all lengths."""
        names = ("gpureduce", "copy", "cub", "torch", "cupy")
        scans = (
            [f"{row['n']:,}", *(markdown.median_us(row, name) for name in names)]
            for row in record["rows"]
            if row["what"] == "scan" and row["dtype"] == "float32"
        )
        segments = (
            [
                f"{row['segments']:,}",
                row["shape"],
                *(markdown.median_us(row, name) for name in ("gpureduce", "flat", "cub")),
            ]
            for row in record["rows"]
            if row["what"] == "segments"
        )
        heads = ["float32", "`cumulative_sum`", "copy", "CUB", "PyTorch", "CuPy"]
        lines = [f"{markdown.source(record, 'torch', 'cupy')}: {record['method']}.", ""]
        lines += [*markdown.table(heads, "r", scans), ""]
        heads = ["segments of 2^26", "lengths", "`segment_reduce`", "full `sum`", "CUB"]
        return "\n".join(lines + markdown.table(heads, "rlr", segments))


BENCHMARK = Scans
