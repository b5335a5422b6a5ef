"""Times variances on a CUDA device: ``python benchmarks/run.py moments --out FILE``.

Ours beside our sum of the same elements, `torch.var` and `cupy.var`, in one run. Calls are captured into
graphs that go round inputs together larger than the L2 cache, as far as 256 inputs are; figures are medians
over the replays, in microseconds a reduction. Elements are normal ones about 100.
"""

from __future__ import annotations

import argparse
import importlib
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from gpureduce._bench import environment, files, timing
from gpureduce._bench.stats import summarize_times
from gpureduce._reduce import functions

DTYPES = ("float32", "float64", "float16", "int32")
EXPONENTS = range(10, 29, 2)
SHOWN = (1 << 10, 1 << 20, 1 << 26, 1 << 28)  # flat, in tables
SQUARES = (24, 26)  # of as many rows as columns
MOST_INPUTS = 256
LAUNCHED_BYTES = 4 << 30  # by a graph, whose own start must not count
CUPY_MOST = 1 << 20  # elements of a flat array: its variance of 2^28 takes 0.2 s
LIMITS = {"float32": 1e-6, "float64": 1e-14, "float16": 2e-3, "int32": 1e-14}  # of what comes out


class Case(NamedTuple):
    """What is reduced, and over which axis; None for all."""

    dtype: str
    shape: tuple[int, ...]
    axis: int | None


def cases(dtypes: tuple[str, ...], most: int) -> Iterator[Case]:
    """Yield flat arrays, then squares over both axes."""
    for dtype in dtypes:
        yield from (Case(dtype, (1 << exponent,), None) for exponent in EXPONENTS if exponent <= most)
        sides = [1 << exponent // 2 for exponent in SQUARES if exponent <= most]
        yield from (Case(dtype, (side, side), axis) for side in sides for axis in (0, 1))


class Inputs:
    """Tensors of one case that share memory with those of the others of their dtype."""

    def __init__(self, torch: Any, dtype: str, most: int) -> None:
        self.torch, self.item = torch, getattr(torch, dtype).itemsize
        elements = max(1 << most, timing.ROTATION_BYTES // self.item)
        torch.manual_seed(25)
        self.memory = torch.empty(elements, dtype=getattr(torch, dtype), device="cuda")
        for piece in self.memory.split(1 << 24):
            piece.copy_(torch.randn(piece.shape, device="cuda", dtype=torch.float64) * 8 + 100)

    def of(self, shape: tuple[int, ...]) -> list:
        """Return the inputs of a shape."""
        n = math.prod(shape)
        count = min(MOST_INPUTS, max(1, self.memory.numel() // n))
        return [self.memory[i * n : (i + 1) * n].view(shape) for i in range(count)]


def contenders(torch: Any, cupy: Any, case: Case, inputs: list) -> dict[str, Callable[[int], Any]]:
    """Return, by name, what enqueues the reduction of one input into PyTorch's current stream."""
    axis, count = case.axis, len(inputs)
    like = (functions.sum(inputs[0], axis, as_device=True), functions.var(inputs[0], axis, as_device=True))
    outs = [[torch.empty_like(torch.from_dlpack(one)) for _ in range(count)] for one in like]
    found: dict[str, Callable[[int], Any]] = {
        "sum": lambda i: functions.sum(inputs[i], axis, out=outs[0][i]),
        "var": lambda i: functions.var(inputs[i], axis, out=outs[1][i]),
        "std": lambda i: functions.std(inputs[i], axis, out=outs[1][i]),
        "nanvar": lambda i: functions.nanvar(inputs[i], axis, out=outs[1][i]),
    }
    if inputs[0].is_floating_point():
        found["torch.var"] = lambda i: torch.var(inputs[i], axis, correction=0)
    if cupy is not None and (len(case.shape) > 1 or inputs[0].numel() <= CUPY_MOST):
        arrays = [cupy.from_dlpack(tensor) for tensor in inputs]

        def variance(i: int) -> None:
            with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
                cupy.var(arrays[i], axis)

        found["cupy.var"] = variance
    return found


def time(torch: Any, call: Callable[[int], Any], inputs: list, repeats: int) -> dict:
    """Return the spread of the microseconds of one reduction."""
    launches = max(16, min(256, LAUNCHED_BYTES // inputs[0].nbytes))
    launches = math.ceil(launches / len(inputs)) * len(inputs)
    graph = timing.capture(torch, call, len(inputs), launches)
    spread = summarize_times(timing.replay_times(torch, graph, launches, repeats))
    return {key: round(value, 3) for key, value in spread.items()}


def check(torch: Any, case: Case, tensor: Any) -> None:
    """Stop if the answer is wrong."""
    axis = tuple(range(tensor.ndim)) if case.axis is None else case.axis
    wanted = torch.var(tensor.double(), axis, correction=0)
    got = torch.from_dlpack(functions.var(tensor, case.axis, as_device=True)).double()
    worst = float(((got - wanted).abs() / wanted).max())
    if not worst <= LIMITS[case.dtype]:
        raise SystemExit(f"{case}: {worst} off")


def measure(torch: Any, cupy: Any, case: Case, inputs: list, repeats: int) -> dict:
    """Return a row: figures of all contenders, and the time of ours over that of each."""
    us: dict[str, dict] = {}
    for name, call in contenders(torch, cupy, case, inputs).items():
        try:
            us[name] = time(torch, call, inputs, repeats)
        except Exception as error:
            if "." not in name:
                raise
            print(f"{name}: {case}: {error!r}", flush=True)
    ours = us["var"]["median"]
    others = {name: round(ours / spread["median"], 3) for name, spread in us.items() if name != "var"}
    gb_per_s = round(inputs[0].nbytes / ours / 1e3, 1)
    return {**case._asdict(), "us": us, "gb_per_s": gb_per_s, "ratio": others}


def table(record: dict) -> str:
    """Return a results file as Markdown: of flat arrays some sizes."""
    lines = [
        f"{record['device']}, CUDA {record['toolkit']}, PyTorch {record['torch']}, CuPy {record['cupy']},"
        f" {record['date']}: {record['method']}.",
        "",
        "| elements | axis | GB/s | `var` | `sum` | `torch.var` | `cupy.var` |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in record["rows"]:
        n = math.prod(row["shape"])
        if len(row["shape"]) == 1 and n not in SHOWN:
            continue
        shape = " x ".join(f"{length:,}" for length in row["shape"])
        axis = "" if row["axis"] is None else row["axis"]
        names = ("var", "sum", "torch.var", "cupy.var")
        cells = [f"{row['us'][name]['median']:,.2f}" if name in row["us"] else "" for name in names]
        lines.append(f"| {shape} {row['dtype']} | {axis} | {row['gb_per_s']:,.0f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/run.py moments", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--most", type=int, default=28, help="largest exponent of two (default 28)")
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--no-cupy", action="store_true")
    parser.add_argument("--out", type=files.writable_path, help="results file to write")
    options = parser.parse_args(argv)
    import torch

    cupy: Any = None if options.no_cupy else importlib.import_module("cupy")
    record = environment.header(environment.find_device("cuda:0"))
    record |= {"torch": torch.__version__, "cupy": getattr(cupy, "__version__", None)}
    record["method"] = "graph replays over rotated inputs; microseconds a reduction"
    record["rows"] = []
    memory: dict[str, Inputs] = {}
    for case in cases(tuple(options.dtypes.split(",")), options.most):
        if case.dtype not in memory:
            memory.clear()
            torch.cuda.empty_cache()
            memory[case.dtype] = Inputs(torch, case.dtype, options.most)
        inputs = memory[case.dtype].of(case.shape)
        check(torch, case, inputs[0])
        row = measure(torch, cupy, case, inputs, options.repeats)
        record["rows"].append(row)
        figures = "  ".join(f"{name} {us['median']:.2f}" for name, us in row["us"].items())
        shape = "x".join(map(str, case.shape))
        print(
            f"{case.dtype:8} {shape:>11} {case.axis!s:>4} {row['gb_per_s']:6.0f} GB/s  {figures}", flush=True
        )
        files.write_result(options.out, record)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
