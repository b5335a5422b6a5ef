"""Times reductions between two kernels of another library: ``python benchmarks/run.py interleaved``.

In most programs a reduction follows a kernel that wrote its input, and goes before one that reads its result.
Here a CUDA graph holds many times: a kernel of PyTorch's that negates the input in place, the reduction, a
kernel of PyTorch's that reads the result. The figure is the time of that graph less the time of the same
graph without the reductions, in microseconds a reduction; it is taken in each round, in which all contenders
replay their graphs one after the other, and the median over the rounds counts.

The graph goes round inputs that are together larger than the L2 cache; but the kernel before leaves in it
what it wrote last, up to all of an input that fits, as it does in a program. All contenders meet the same.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator
from typing import Any

from benchmarks.baselines import libraries as contenders
from benchmarks.baselines import memory
from gpureduce._bench import environment, files, timing
from gpureduce._bench.stats import summarize_times

CASES = (
    ("sum", "float32"),
    ("sum", "float64"),
    ("sum", "float16"),
    ("sum", "int32"),
    ("max", "float32"),
)
EXPONENTS = (0, 4, 8, 10, 12, 13, 14, 16, 18, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30)
MOST_BYTES = 4 << 30
GRAPH_BYTES = 1 << 30  # of inputs that a graph goes through
CHECKED = 1 << 22  # up to so many elements the answer is compared


def cases(dtype: str) -> Iterator[tuple[str, int]]:
    """Yield operator and exponent of two of what is measured of a dtype."""
    for op, name in CASES:
        if name == dtype:
            yield from ((op, exponent) for exponent in EXPONENTS)


def launches_of(nbytes: int) -> int:
    """Return how many reductions a graph holds."""
    return max(4, min(96, GRAPH_BYTES // max(nbytes, 1)))


class Surroundings:
    """What stands around the reductions of a case: kernels that write their inputs and read their results."""

    def __init__(self, torch, case: contenders.Case) -> None:
        self.torch, self.case = torch, case
        self.outs = contenders.results(torch, case)
        self.read = self.torch.empty_like(self.outs[0])

    def graph(self, reduce=None):
        """Return a graph of producers and consumers, with a reduction between each pair if one is given."""

        def call(i: int) -> None:
            self.case.firsts[i].neg_()
            if reduce is not None:
                reduce(i)
            self.torch.neg(self.outs[i], out=self.read)

        return timing.capture(self.torch, call, len(self.case.firsts), self.case.launches)


def measure(torch, case: contenders.Case, field: list, repeats: int) -> dict:
    """Return a row: figures of all contenders, bandwidth of gpureduce, its time over that of each other."""
    around = Surroundings(torch, case)
    graphs = {"": around.graph()}
    graphs |= {one.name: around.graph(one.calls(case)) for one in field}
    times: dict[str, list[float]] = {name: [] for name in graphs}
    for _ in range(repeats):
        for name, graph in graphs.items():
            times[name] += timing.replay_times(torch, graph, case.launches, 1)
    alone = {
        name: summarize_times([full - less for full, less in zip(each, times[""], strict=True)])
        for name, each in times.items()
        if name
    }
    ours = alone["gpureduce"]["median"]
    nbytes = case.n * case.firsts[0].element_size()
    return {
        "around_us": round(summarize_times(times[""])["median"], 3),
        "us": {name: {key: round(value, 3) for key, value in us.items()} for name, us in alone.items()},
        "gb_per_s": round(nbytes / ours / 1e3, 1),
        "ratio": {name: round(ours / us["median"], 4) for name, us in alone.items() if name != "gpureduce"},
    }


def check(torch, case: contenders.Case, ours: contenders.Ours) -> None:
    """Stop if gpureduce's answer in such a graph is wrong: elements are whole numbers, most sums exact."""
    case.outs.zero_()
    Surroundings(torch, case).graph(ours.calls(case)).replay()
    wanted = memory.exact(case.op, case.firsts[0], None)
    got = float(contenders.results(torch, case)[0])
    limit = 2e-3 * abs(wanted) if case.dtype == "float16" else 1e-6 * abs(wanted)
    if not abs(got - wanted) <= limit and not (case.dtype == "float16" and abs(wanted) > 65504):
        raise SystemExit(f"{case.op} of {case.n} {case.dtype}: {got}, expected {wanted}")


def show(row: dict) -> str:
    """Return a row as a line."""
    figures = "  ".join(f"{name} {us['median']:.2f}" for name, us in row["us"].items())
    head = f"{row['op']:4} {row['dtype']:8} {row['n']:>11} {row['gb_per_s']:7.0f} GB/s"
    return f"{head}  {row['ratio']['cub']:.3f} of CUB  {figures}  around {row['around_us']:.2f}"


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/run.py interleaved", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--dtypes", default=",".join(dict.fromkeys(dtype for _, dtype in CASES)))
    parser.add_argument("--most", type=int, default=30, help="largest exponent of two (default 30)")
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--quick", action="store_true", help="beside CUB alone")
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    parser.add_argument("--out", type=files.writable_path, help="results file to write")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    options = parse(argv)
    device = environment.find_device("cuda:0")
    library = contenders.Torch()
    torch, ours = library.torch, contenders.Ours()
    field: list[Any] = [ours, contenders.Cub(options.nvcc)]
    field += [] if options.quick else [library, contenders.Cupy()]
    record = environment.header(device)
    record |= {one.name: one.version for one in field if hasattr(one, "version")}
    record["method"] = (
        "graphs of a kernel that writes the input, the reduction, and a kernel that reads the result, less"
        " the same without the reduction; microseconds a reduction"
    )
    record["rows"] = []
    for dtype in options.dtypes.split(","):
        torch.cuda.empty_cache()
        pool = memory.Pool(torch, dtype, 2 * MOST_BYTES, 1)
        for op, exponent in cases(dtype):
            nbytes = pool.item << exponent
            if nbytes > MOST_BYTES or exponent > options.most:
                continue
            launches = launches_of(nbytes)
            case = contenders.Case(op, dtype, pool.inputs(1 << exponent)[:launches], [], launches)
            row = {"op": op, "dtype": dtype, "n": case.n, **measure(torch, case, field, options.repeats)}
            if case.n <= CHECKED:
                check(torch, case, ours)
            record["rows"].append(row)
            print(show(row), flush=True)
        del pool
        files.write_result(options.out, record)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
