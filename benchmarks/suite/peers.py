"""Times reductions of arrays on the device beside CUB, PyTorch, CuPy and JAX, all in one run.

Each figure is the median over replays of one CUDA graph (JAX, NumPy and PyTorch on the CPU: the wall
clock), in microseconds a reduction; ours, like PyTorch's, is captured by ``torch.cuda.graph`` from calls of
the public functions with ``out=``. The graph goes round inputs that are together larger than the L2
cache, as far as 256 inputs are; so inputs of up to 64 KiB may be found in it, by every contender alike.
Reductions follow one another without a pause, as in a program that has the device busy: what a kernel can
do to overlap with the one before counts.

CUB sums integers in 64 bits and halves in float, as gpureduce and PyTorch do. `empty` is a kernel that does
nothing, `read` a ring of bulk copies that looks at no byte, `copy` one from device to device.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.baselines import libraries as contenders
from benchmarks.baselines import memory
from benchmarks.report import peers as table
from gpureduce._bench import environment, files
from gpureduce._bench.stats import summarize_times

DTYPES = ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64")
OPS = ("sum", "max", "argmax", "dot")
EXPONENTS = (0, 4, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
FEW = (10, 16, 20, 24, 28)  # for those that take long to set up
MOST_BYTES = 4 << 30
OFFSET_EXPONENTS = (20, 24, 28)
CHECKED = 1 << 22  # up to so many elements the answer is compared


def cases(ops: tuple[str, ...], dtypes: tuple[str, ...]) -> Iterator[tuple[str, str, int, int]]:
    """Yield operator, dtype, exponent and offset in elements; one dtype after the other."""
    for dtype in dtypes:
        for op in ops:
            every = op == "sum" and dtype == "float32"
            yield from ((op, dtype, exponent, 0) for exponent in (range(31) if every else EXPONENTS))
            yield from ((op, dtype, exponent, 1) for exponent in OFFSET_EXPONENTS)


def floors(cub: contenders.Cub, pool: memory.Pool, repeats: int) -> dict:
    """Return what the machine allows: the time of an empty kernel, bandwidths of reading and copying."""
    start = pool.memory.data_ptr()
    nothing = cub.replay("empty", "", 0, [[start]] * 3, 200, repeats)
    size = 1 << 32
    read = cub.replay("read", "", size, [[start]] * 3, 16, repeats)
    half = cub.replay("copy", "", size // 2, [[start], [start], [start + size // 2]], 16, repeats)
    median = {"empty": nothing, "read": read, "copy": half}
    median = {name: summarize_times(times)["median"] for name, times in median.items()}
    return {
        "empty_us": round(median["empty"], 3),
        "read_gb_per_s": round(size / median["read"] / 1e3, 1),
        "copy_gb_per_s": round(size / median["copy"] / 1e3, 1),
    }


def launches_of(nbytes: int) -> int:
    """Return how many reductions a graph holds: enough for its start not to count."""
    return max(16, min(256, (4 << 30) // max(nbytes, 1)))


def attempt(one, case: contenders.Case, repeats: int) -> list[float]:
    """Return the figures of a contender; none, and a line that says why, where another library refuses."""
    try:
        return one.time(case, repeats)
    except Exception as error:
        if one.name in ("gpureduce", "cub"):
            raise
        print(f"{one.name}: {case.op} of {case.n} {case.dtype}: {error!r}", flush=True)
        return []


def measure(case: contenders.Case, field: list, repeats: int) -> dict:
    """Return a row: figures of all contenders, bandwidth of gpureduce, its time over that of each other."""
    times = {one.name: attempt(one, case, repeats) for one in field}
    spreads = {name: summarize_times(values) for name, values in times.items() if values}
    ours = spreads["gpureduce"]["median"]
    nbytes = case.n * case.firsts[0].element_size() * (2 if case.op == "dot" else 1)
    return {
        "us": {name: {key: round(value, 3) for key, value in us.items()} for name, us in spreads.items()},
        "gb_per_s": round(nbytes / ours / 1e3, 1),
        "ratio": {name: round(ours / us["median"], 4) for name, us in spreads.items() if name != "gpureduce"},
    }


def check(case: contenders.Case, ours: contenders.Ours) -> None:
    """Stop if gpureduce's answer is wrong: elements are whole numbers, so all but halves are exact."""
    wanted = memory.exact(case.op, case.firsts[0], case.seconds[0] if case.seconds else None)
    got = ours.answer(case)
    if case.op == "dot" and "int" in case.dtype:
        values = 1 << 8 * case.firsts[0].element_size()  # it wraps
        low = 0 if case.dtype.startswith("uint") else -values // 2
        wanted = float((int(wanted) - low) % values + low)
    limit = {"float16": 2e-3, "bfloat16": 8e-3, "float32": 1e-6}.get(case.dtype, 0) * abs(wanted)
    if not abs(got - wanted) <= limit and not (case.dtype == "float16" and abs(wanted) > 65504):
        raise SystemExit(f"{case.op} of {case.n} {case.dtype}: {got}, expected {wanted}")


def show(row: dict) -> str:
    """Return a row as a line."""
    figures = "  ".join(f"{name} {us['median']:.2f}" for name, us in row["us"].items())
    ratio = row["ratio"].get("cub", float("nan"))
    shift = "+1" if row["offset"] else "  "
    head = f"{row['op']:6} {row['dtype']:8} {row['n']:>11}{shift} {row['gb_per_s']:7.0f} GB/s"
    return f"{head}  {ratio:.3f} of CUB  {figures}"


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/run.py peers", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--ops", default=",".join(OPS))
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--most", type=int, default=30, help="largest exponent of two (default 30)")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="beside CUB alone")
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    parser.add_argument("--out", type=files.writable_path, help="results file to write")
    parser.add_argument("--table", metavar="FILE", help="measure nothing; print a results file as Markdown")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    options = parse(argv)
    if options.table:
        print(table.tables(json.loads(Path(options.table).read_text(encoding="utf-8"))))
        return 0
    device = environment.find_device("cuda:0")
    torch = contenders.Torch()
    ours, cub = contenders.Ours(), contenders.Cub(options.nvcc)
    field = [ours, cub] if options.quick else [ours, cub, torch]
    rare: list[Any] = [] if options.quick else [contenders.Cupy(), contenders.Jax()]
    rare += [] if options.quick else [contenders.OnHost("numpy"), contenders.OnHost("torch_cpu")]
    record = environment.header(device)
    record |= {one.name: one.version for one in (torch, *rare) if hasattr(one, "version")}
    record["torch_cpu_threads"] = torch.torch.get_num_threads()
    record["method"] = "graph replays over rotated inputs; microseconds a reduction"
    record["rows"] = []
    pools: dict[str, tuple] = {}
    for op, dtype, exponent, offset in cases(tuple(options.ops.split(",")), tuple(options.dtypes.split(","))):
        item = getattr(torch.torch, dtype).itemsize
        if (item << exponent) > MOST_BYTES or exponent > options.most:
            continue
        if dtype not in pools:
            pools.clear()
            torch.torch.cuda.empty_cache()
            pools[dtype] = tuple(memory.Pool(torch.torch, dtype, 2 * MOST_BYTES, seed) for seed in (1, 2))
            if "floors" not in record:
                record["floors"] = floors(cub, pools[dtype][0], options.repeats)
                print(record["floors"], flush=True)
        first, second = (pool.inputs(1 << exponent, offset) for pool in pools[dtype])
        case = contenders.Case(op, dtype, first, second if op == "dot" else [], launches_of(item << exponent))
        others = rare if dtype == "float32" and op != "dot" and exponent in FEW and not offset else []
        row = {"op": op, "dtype": dtype, "n": 1 << exponent, "offset": offset}
        row |= measure(case, [*field, *others], options.repeats)
        if case.n <= CHECKED:
            ours.time(case, 1)
            check(case, ours)
        record["rows"].append(row)
        print(show(row), flush=True)
    files.write_result(options.out, record)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
