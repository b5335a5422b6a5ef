"""Times sums, top-k and sums of equal segments, compared with the CUB of the newest CCCL.

CUB's sums have three levels of determinism since CCCL 3.1: not guaranteed (atomic additions), the same bits
from run to run, and the same bits from GPU to GPU (bins of exponents, for float32 and float64). The last one
is compared with exact sums. CUB's functions use memory that was allocated before: the time has no
allocations. The figure is the median over replays of a CUDA graph that rotates over inputs, in microseconds
per call; contenders take turns.
"""

from __future__ import annotations

import argparse
import ctypes
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from benchmarks.baselines import cub
from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Benchmark, Call, Times, WrongResultError
from benchmarks.harness.inputs import InputPool
from benchmarks.harness.libraries import MissingLibraryError
from benchmarks.suite.peers import launches_of
from gpureduce import _functions as gpureduce
from gpureduce._bench.stats import summarize_times

LEVELS = ("not_guaranteed", "run_to_run", "gpu_to_gpu")
DTYPES = ("float32", "float64")
EXPONENTS = (8, 12, 16, 18, 20, 22, 24, 26, 28)
SEGMENT_ELEMENTS = 1 << 26
SEGMENT_EXPONENTS = (2, 5, 8, 11, 14, 17)  # of their lengths
TOP_EXPONENTS = (12, 16, 20, 24, 26)
TOP_K = (16, 1024)
TEMPORARY_BYTES = 1 << 29
TOLERANCE = {"float32": 1e-5, "float64": 1e-13}  # of sums of numbers of one sign
LARGEST_CHECKED = 1 << 22  # elements of a sum whose errors are measured


class Case(NamedTuple):
    """What is measured, "sum", "segments" or "top": a dtype, the exponent of the elements, a length or k."""

    what: str
    dtype: str
    exponent: int
    size: int = 0


class NewestCub:
    """CUB's functions of newer headers; calls go into PyTorch's current stream."""

    def __init__(self, torch: Any, nvcc: Any, headers: Path) -> None:
        self.torch, self.library = torch, cub.build(nvcc, cub.LEVELS, headers)
        for name in ("peer_sum", "peer_equal_segments", "peer_top"):
            getattr(self.library, name).restype = ctypes.c_char_p
        self.temporary = torch.empty(TEMPORARY_BYTES, dtype=torch.uint8, device="cuda")

    def enqueue(self, function: str, options: tuple[Any, ...], *addresses: int) -> None:
        """Enqueue a function, given the arguments before its addresses."""
        stream = self.torch.cuda.current_stream().cuda_stream
        pointers = [ctypes.c_void_p(address) for address in (*addresses, self.temporary.data_ptr())]
        error = getattr(self.library, function)(
            *options, *pointers, ctypes.c_size_t(TEMPORARY_BYTES), ctypes.c_void_p(stream)
        )
        if error is not None:
            raise RuntimeError(f"{function}: {error.decode()}")


class Buffers:
    """Inputs of one case, and memory for the results of each."""

    def __init__(self, ins: list[Any], outs: list[Any], positions: list[Any]) -> None:
        self.ins, self.outs, self.positions = ins, outs, positions

    def __len__(self) -> int:
        return len(self.ins)


class Cccl(Benchmark):
    """Functions of the newest CUB."""

    summary = "sums at CUB's three levels of determinism, top-k and equal segments, of the newest CCCL"
    method = "graph replays over rotated inputs; microseconds per call, contenders taking turns"
    required = ("torch", "cub")
    repeats = 7
    quick: ClassVar[Mapping[str, Any]] = {"repeats": 3, "max_exponent": 20}

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        parser.add_argument(
            "--headers", type=Path, help="include folder of CCCL (default: that of nvidia-cuda-cccl)"
        )
        parser.add_argument("--max-exponent", type=int, default=28, help="of two, for elements (default: 28)")

    def head(self) -> dict[str, Any]:
        """Return the version of CCCL."""
        headers = self.options.headers or cub.installed_headers()
        if headers is None:
            raise MissingLibraryError("it needs headers of CCCL: pip install nvidia-cuda-cccl, or --headers")
        self.cub = NewestCub(self.torch, self.libraries.get("cub"), headers)
        return {"cccl": cub.version(headers)}

    def cases(self) -> Iterator[Case]:
        """Yield the cases, dtype by dtype."""
        most = self.options.max_exponent
        for dtype in DTYPES:
            self.pool = InputPool.normal(self.torch, dtype, 1 << most)
            yield from (Case("sum", dtype, exponent) for exponent in EXPONENTS if exponent <= most)
            if dtype == "float32":
                yield from (Case("top", dtype, e, k) for e in TOP_EXPONENTS if e <= most for k in TOP_K)
                exponent = min(most, SEGMENT_ELEMENTS.bit_length() - 1)
                yield from (Case("segments", dtype, exponent, 1 << e) for e in SEGMENT_EXPONENTS)
            del self.pool
            self.torch.cuda.empty_cache()

    def inputs(self, case: Case) -> Buffers:
        """Return inputs and memory for results."""
        ins = self.pool.inputs(1 << case.exponent)
        count = {"sum": 1, "segments": (1 << case.exponent) // max(case.size, 1), "top": case.size}[case.what]
        if case.what == "segments":
            ins = [each.view(count, case.size) for each in ins]
        outs = [ins[0].new_empty(count) for _ in ins]
        positions = [outs[0].new_empty(count, dtype=self.torch.int64) for _ in ins if case.what == "top"]
        return Buffers(ins, outs, positions)

    def contenders(self, case: Case, inputs: Buffers) -> dict[str, Call]:
        """Return the calls of all contenders."""
        return {"sum": self._sums, "segments": self._segments, "top": self._top}[case.what](case, inputs)

    def _sums(self, case: Case, inputs: Buffers) -> dict[str, Call]:
        ins, results = inputs.ins, [out[0] for out in inputs.outs]
        n = ctypes.c_int64(1 << case.exponent)

        def at(level: str) -> Call:
            options = (level.encode(), case.dtype.encode(), n)
            return lambda i: self.cub.enqueue("peer_sum", options, ins[i].data_ptr(), results[i].data_ptr())

        return {
            "gpureduce": lambda i: gpureduce.sum(ins[i], out=results[i]),
            "exact": lambda i: gpureduce.sum(ins[i], exact=True, out=results[i]),
            **{level: at(level) for level in LEVELS},
        }

    def _segments(self, case: Case, inputs: Buffers) -> dict[str, Call]:
        ins, outs = inputs.ins, inputs.outs
        options = (ctypes.c_int64(len(outs[0])), ctypes.c_int(case.size))
        return {
            "gpureduce": lambda i: gpureduce.sum(ins[i], axis=1, out=outs[i]),
            "cub": lambda i: self.cub.enqueue(
                "peer_equal_segments", options, ins[i].data_ptr(), outs[i].data_ptr()
            ),
        }

    def _top(self, case: Case, inputs: Buffers) -> dict[str, Call]:
        ins, outs, positions = inputs.ins, inputs.outs, inputs.positions
        options = (ctypes.c_int64(1 << case.exponent), ctypes.c_int64(case.size))
        self.found: dict[int, Any] = {}

        def ours(i: int) -> None:
            self.found[i] = gpureduce.topk(ins[i], case.size, sorted=False)

        return {
            "gpureduce": ours,
            "cub": lambda i: self.cub.enqueue(
                "peer_top", options, ins[i].data_ptr(), outs[i].data_ptr(), positions[i].data_ptr()
            ),
            "torch": lambda i: self.torch.topk(ins[i], case.size, sorted=False),
        }

    def check(self, case: Case, inputs: Buffers, contenders: Mapping[str, Callable[..., Any]]) -> None:
        """Raise WrongResultError unless the results are right."""
        first, out = inputs.ins[0], inputs.outs[0]
        want = first.double().sum(-1).reshape(-1) if case.what != "top" else None
        for name, call in contenders.items():
            if name == "torch":
                continue
            out.fill_(math.nan)
            call(0)
            if want is None:
                found = self.torch.as_tensor(self.found[0].values if name == "gpureduce" else out)
                right = self.torch.equal(found.sort().values, first.topk(case.size).values.sort().values)
            else:
                right = bool(((out.double() - want).abs() <= TOLERANCE[case.dtype] * want.abs()).all())
            if not right:
                raise WrongResultError(f"{name}: {case}")

    def launches(self, case: Case, inputs: Buffers) -> int:
        """Return a few rotations for small inputs."""
        return max(len(inputs), launches_of(inputs.ins[0].element_size() << case.exponent))

    def errors(self, case: Case) -> dict[str, float]:
        """Return errors of sums of numbers that cancel, as parts of the exact sum."""
        half = self.pool.inputs(1 << case.exponent - 1)[0]
        powers = self.torch.arange(len(half), device="cuda") % 41 - 20
        data = self.torch.cat([half, -half * (1 + 2.0**-12)]) * self.torch.exp2(powers.repeat(2)).to(
            half.dtype
        )
        data = data[self.torch.randperm(len(data), device="cuda")]
        want = math.fsum(data.tolist())
        inputs = Buffers([data], [data.new_empty(1)], [])
        found = {}
        for name, call in self._sums(case, inputs).items():
            call(0)
            found[name] = float(f"{abs(inputs.outs[0].item() - want) / abs(want):.3g}")
        return found

    def rows(self, case: Case, inputs: Buffers, times: Times) -> list[dict[str, Any]]:
        """Return a row."""
        us = {name: summarize_times(taken, 3) for name, taken in times.items()}
        row: dict[str, Any] = {"what": case.what, "dtype": case.dtype, "n": 1 << case.exponent}
        row |= {"size": case.size, "us": us}
        if case.what == "sum" and row["n"] <= LARGEST_CHECKED:
            row["error"] = self.errors(case)
        return [row]

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        times = "  ".join(f"{name} {us['median']:.2f}" for name, us in row["us"].items())
        head = f"{row['what']:9} {row['dtype']:8} {row['n']:>10} {row['size']:>7}"
        return f"{head}  {times} {row.get('error', '')}"

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return the sums with their errors, top-k, and the segments."""
        chosen = {
            what: [row for row in record["rows"] if row["what"] == what]
            for what in ("sum", "segments", "top")
        }
        names, compared = ("gpureduce", "exact", *LEVELS), ("gpureduce", "gpu_to_gpu")
        sums = (
            [
                markdown.power(row["n"]),
                row["dtype"],
                *(markdown.median_us(row, name) for name in names),
                *(f"{row['error'][name]:.0e}" if "error" in row else "" for name in compared),
            ]
            for row in chosen["sum"]
        )
        segments = (
            [f"{row['size']:,}", *(markdown.median_us(row, name) for name in ("gpureduce", "cub"))]
            for row in chosen["segments"]
        )
        top = (
            [
                markdown.power(row["n"]),
                f"{row['size']:,}",
                *(markdown.median_us(row, name) for name in ("gpureduce", "cub", "torch")),
            ]
            for row in chosen["top"]
        )
        heads = [
            "elements",
            "dtype",
            "gpureduce",
            "exact",
            *(f"CUB, {level.replace('_', ' ')}" for level in LEVELS),
        ]
        errors = ["error of gpureduce", "error of CUB, gpu to gpu"]
        return "\n".join(
            [
                f"{markdown.source(record)}, CCCL {record['cccl']}: {record['method']}.",
                "",
                *markdown.table([*heads, *errors], "r", sums),
                "",
                *markdown.table(["elements", "k", "gpureduce", "CUB", "PyTorch"], "r", top),
                "",
                *markdown.table(["elements of a segment", "gpureduce", "CUB"], "r", segments),
            ]
        )


BENCHMARK = Cccl
