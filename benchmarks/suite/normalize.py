"""Times softmax, log_softmax, rms_norm and layer_norm of rows, compared with a copy, PyTorch and Triton.

Each figure is of a CUDA graph that rotates over inputs and results larger together than the L2 cache, in
microseconds per call, the median over replays. `compiled` is PyTorch's function by torch.compile. `program`
is a Triton kernel with one program per row, as batch-invariant operators usually have.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Benchmark, Call, Times, WrongResultError
from gpureduce import _functions as gpureduce
from gpureduce._bench import timing
from gpureduce._bench.stats import summarize_times

FUNCTIONS = ("softmax", "log_softmax", "rms_norm", "layer_norm")
DTYPES = ("float32", "bfloat16")
SHAPES = (
    *((64, 4096), (256, 4096), (4096, 4096), (32768, 4096), (65536, 128)),
    *((4096, 16384), (1, 131072), (64, 131072), (1024, 131072)),
)
EPS = 1e-5
MAX_LAUNCHES = 32


class Buffers:
    """Inputs and results of one case, and a weight."""

    def __init__(self, ins: list[Any], outs: list[Any], weight: Any) -> None:
        self.ins, self.outs, self.weight = ins, outs, weight

    def __len__(self) -> int:
        return len(self.ins)


class Normalize(Benchmark):
    """Functions that reduce rows and write a result for each element."""

    summary = "softmax, log_softmax, rms_norm and layer_norm, compared with PyTorch and Triton"
    method = "graphs over inputs and results larger than the L2 cache; microseconds per call"
    required = ("torch",)
    repeats = 5
    quick: ClassVar[Mapping[str, Any]] = {"repeats": 3, "dtypes": ["float32"], "functions": ["softmax"]}

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        parser.add_argument("--dtypes", nargs="+", choices=DTYPES, default=list(DTYPES))
        parser.add_argument("--functions", nargs="+", choices=FUNCTIONS, default=list(FUNCTIONS))

    def cases(self) -> Iterator[tuple[str, str, int, int]]:
        """Yield function, dtype, number of rows and length of a row."""
        for dtype in self.options.dtypes:
            for rows, length in SHAPES:
                yield from ((name, dtype, rows, length) for name in self.options.functions)

    def inputs(self, case: tuple[str, str, int, int]) -> Buffers:
        """Return inputs and outputs."""
        torch, (_, dtype, rows, length) = self.torch, case
        kind = getattr(torch, dtype)
        count = max(1, min(MAX_LAUNCHES, timing.ROTATION_BYTES // (2 * rows * length * kind.itemsize)))
        ins = [torch.randn(rows, length, device="cuda").to(kind) for _ in range(count)]
        return Buffers(ins, [torch.empty_like(a) for a in ins], torch.rand(length, device="cuda").to(kind))

    def _theirs(self, name: str, length: int, weight: Any) -> Callable[[Any], Any]:
        functional = self.torch.nn.functional
        return {
            "softmax": lambda a: functional.softmax(a, -1),
            "log_softmax": lambda a: functional.log_softmax(a, -1),
            "rms_norm": lambda a: functional.rms_norm(a, (length,), weight, EPS),
            "layer_norm": lambda a: functional.layer_norm(a, (length,), weight, weight, EPS),
        }[name]

    @staticmethod
    def _ours(name: str, weight: Any) -> Callable[[Any, Any], Any]:
        return {
            "softmax": lambda a, out: gpureduce.softmax(a, out=out),
            "log_softmax": lambda a, out: gpureduce.log_softmax(a, out=out),
            "rms_norm": lambda a, out: gpureduce.rms_norm(a, weight, EPS, out=out),
            "layer_norm": lambda a, out: gpureduce.layer_norm(a, weight, weight, EPS, out=out),
        }[name]

    def contenders(self, case: tuple[str, str, int, int], inputs: Buffers) -> dict[str, Call]:
        """Return the calls of all contenders."""
        from benchmarks.baselines import row_programs

        name, _, _, length = case
        ins, outs = inputs.ins, inputs.outs
        ours, theirs = self._ours(name, inputs.weight), self._theirs(name, length, inputs.weight)
        self.torch._dynamo.reset()  # it compiles a function for few shapes only
        compiled = self.torch.compile(theirs, dynamic=False)
        calls: dict[str, Call] = {
            "gpureduce": lambda i: ours(ins[i], outs[i]),
            "copy": lambda i: outs[i].copy_(ins[i]),
            "torch": lambda i: theirs(ins[i]),
            "compiled": lambda i: compiled(ins[i]),
        }
        program = row_programs.call(name, inputs.weight, EPS)
        if program is not None:
            calls["program"] = lambda i: program(ins[i], outs[i])
        return calls

    def check(self, case: Any, inputs: Buffers, contenders: Mapping[str, Callable[..., Any]]) -> None:
        """Raise WrongResultError unless results are near those of float64."""
        torch, (name, _, _, length) = self.torch, case
        a, out = inputs.ins[0][:64], inputs.outs[0]
        wanted = self._theirs(name, length, inputs.weight.double())(a.double())
        tolerance = 32 * torch.finfo(out.dtype).eps
        for contender in ("gpureduce", "program"):
            if contender not in contenders:
                continue
            out.zero_()
            contenders[contender](0)
            if not torch.allclose(
                out[:64].double(), wanted, rtol=tolerance, atol=tolerance * wanted.abs().max().item()
            ):
                raise WrongResultError(" ".join(map(str, (contender, *case))))

    def launches(self, case: Any, inputs: Buffers) -> int:
        """Return up to four rotations."""
        return max(len(inputs), min(MAX_LAUNCHES, 4 * len(inputs)))

    def rows(self, case: tuple[str, str, int, int], inputs: Buffers, times: Times) -> list[dict[str, Any]]:
        """Return a row."""
        name, dtype, rows, length = case
        us = {contender: summarize_times(taken, 3) for contender, taken in times.items()}
        self.torch.cuda.empty_cache()
        return [{"function": name, "dtype": dtype, "rows": rows, "length": length, "us": us}]

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        times = "  ".join(f"{name} {us['median']:.2f}" for name, us in row["us"].items())
        return f"{row['function']:12} {row['dtype']:8} {row['rows']:>6} x {row['length']:<7} {times}"

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return all rows."""
        names = ("gpureduce", "copy", "torch", "compiled", "program")
        rows = (
            [
                f"`{row['function']}`",
                row["dtype"],
                f"{row['rows']:,} x {row['length']:,}",
                *(markdown.median_us(row, name) for name in names),
            ]
            for row in record["rows"]
        )
        heads = ["function", "dtype", "rows", "gpureduce", "copy", "PyTorch", "compiled", "Triton"]
        lines = [f"{markdown.source(record, 'torch')}: {record['method']}.", ""]
        return "\n".join(lines + markdown.table(heads, "llrrrrrr", rows))


BENCHMARK = Normalize
