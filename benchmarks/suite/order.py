"""Times order statistics beside others': ``python benchmarks/run.py order``.

Each figure is in microseconds a call, the median over repeats: of whole arrays and of rows on the device,
with results that stay there. Calls of ours and PyTorch's are in a CUDA graph that goes round inputs larger
together than the L2 cache; those of topk, whose results are new arrays, and CuPy's run one after the other
between events.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from benchmarks.harness import markdown
from gpureduce import _functions as gpureduce
from gpureduce._bench import environment, files, timing
from gpureduce._bench.stats import summarize_times

EXPONENTS = (20, 22, 24, 26)
DTYPES = ("float32", "float64", "int32")
LENGTHS = (32, 128, 1024, 4096, 1 << 14, 1 << 17)  # of rows
ELEMENTS = 1 << 26  # of all rows
KS = (10, 1000, 100_000)
QUANTILES = (0.05, 0.25, 0.75, 0.95)
MOST_LAUNCHES = 8
SLOW = 10_000.0  # microseconds a call, of which two are enough

Call = Callable[[int], object]


def timed(torch: Any, call: Call, buffers: int, repeats: int, captured: bool) -> dict:
    """Return the figures of a call, which takes the number of an input."""
    launches = max(buffers, min(MOST_LAUNCHES, 4 * buffers))
    times = None
    call(0)
    once = eager(torch, call, 1)
    if once > SLOW:
        times = [once, eager(torch, call, 1)]
    elif captured:
        try:
            graph = timing.capture(torch, call, buffers, launches)
            times = timing.replay_times(torch, graph, launches, repeats)
        except Exception:  # each library has its own
            torch.cuda.synchronize()
    if times is None:
        times = [eager(torch, call, buffers) for _ in range(repeats)]
    return {key: round(value, 3) for key, value in summarize_times(times).items()}


def eager(torch: Any, call: Call, buffers: int) -> float:
    """Return microseconds a call, of one for each input."""
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for i in range(buffers):
        call(i)
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e3 / buffers


def inputs(torch: Any, dtype: str, shape: tuple[int, ...], count: int) -> list:
    """Return arrays that are drawn."""
    kind = getattr(torch, dtype)
    if dtype == "int32":
        return [torch.randint(-(2**31), 2**31 - 1, shape, device="cuda", dtype=kind) for _ in range(count)]
    return [torch.randn(shape, device="cuda", dtype=kind) for _ in range(count)]


def calls_of(torch: Any, cupy: Any, ins: list, axis: int | None) -> dict[str, dict[str, Call]]:
    """Return what is compared, by what it works out and whose it is."""
    length = ins[0].shape[-1]
    theirs = [cupy.from_dlpack(each) for each in ins]
    rank = (length - 1) // 2
    probabilities = torch.tensor(QUANTILES, dtype=torch.float64)
    lines = ins[0].shape[:-1]
    middle = torch.empty(lines, device="cuda", dtype=result_of(torch, ins[0].dtype))
    between = torch.empty((len(QUANTILES), *lines), device="cuda", dtype=torch.float64)

    def by_cupy(work: Callable[[Any], object]) -> Call:
        def call(i: int) -> None:
            with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
                work(theirs[i])

        return call

    medians: dict[str, Call] = {
        "gpureduce": lambda i: gpureduce.median(ins[i], axis=axis, out=middle),
        "kthvalue": lambda i: torch.kthvalue(ins[i], rank + 1, dim=-1),
        "torch": lambda i: torch.median(ins[i], dim=-1),
        "cupy": by_cupy(lambda a: cupy.median(a, axis=axis)),
    }
    if axis is None:
        medians["torch_whole"] = lambda i: torch.median(ins[i])
    quantiles: dict[str, Call] = {
        "gpureduce": lambda i: gpureduce.quantile(ins[i], QUANTILES, axis=axis, out=between),
        "cupy": by_cupy(lambda a: cupy.quantile(a, QUANTILES, axis=axis)),
    }
    if ins[0].dtype.is_floating_point and length <= 1 << 24:  # what PyTorch takes
        wanted = probabilities.to(ins[0].dtype).cuda()
        quantiles["torch"] = lambda i: torch.quantile(ins[i], wanted, dim=-1)
    found: dict[str, dict[str, Call]] = {"median": medians, "quantile": quantiles}
    for k in KS:
        if k <= length:
            found[f"topk {k}"] = firsts(torch, ins, k)
    return found


def firsts(torch: Any, ins: list, k: int) -> dict[str, Call]:
    """Return what is compared of the `k` largest elements."""
    return {
        "gpureduce": lambda i: gpureduce.topk(ins[i], k),
        "torch": lambda i: torch.topk(ins[i], k),
    }


def result_of(torch: Any, dtype: Any) -> Any:
    """Return the dtype of a median."""
    return dtype if dtype.is_floating_point else torch.float64


def check(torch: Any, a: Any) -> None:
    """Raise SystemExit where results differ from those of a sort."""
    ranked, order = torch.sort(a, dim=-1, stable=True)
    length = a.shape[-1]
    got = torch.from_dlpack(gpureduce.quantile(a, [0.3], axis=-1, method="lower", as_device=True))
    found = gpureduce.topk(a, min(10, length), largest=False)
    right = torch.equal(got[0], ranked[..., int((length - 1) * 0.3)])
    right = right and torch.equal(torch.from_dlpack(found.indices), order[..., : min(10, length)])
    if not right:
        raise SystemExit(f"order statistics of {tuple(a.shape)} {a.dtype} are wrong")


def rows_of(torch: Any, cupy: Any, dtype: str, shape: tuple[int, ...], repeats: int) -> list[dict]:
    """Return the figures of all that is compared of arrays of a shape."""
    item = getattr(torch, dtype).itemsize
    n = shape[0] * shape[-1] if len(shape) > 1 else shape[0]
    buffers = max(1, min(MOST_LAUNCHES, timing.ROTATION_BYTES // (n * item)))
    ins = inputs(torch, dtype, shape, buffers)
    check(torch, ins[0])
    found = []
    for what, calls in calls_of(torch, cupy, ins, -1 if len(shape) > 1 else None).items():
        us = {}
        for name, call in calls.items():
            few = repeats if name == "gpureduce" else min(repeats, 3)
            us[name] = timed(torch, call, buffers, few, captured=name != "cupy" and "topk" not in what)
        found.append({"what": what, "dtype": dtype, "shape": list(shape), "us": us})
    return found


def show(row: dict) -> str:
    """Return a row as a line."""
    shape = "x".join(str(length) for length in row["shape"])
    times = "  ".join(f"{name} {us['median']:.1f}" for name, us in row["us"].items())
    return f"{row['what']:12} {row['dtype']:8} {shape:>14}  {times}"


def table(record: dict) -> str:
    """Return a results file as Markdown: what there is of float32."""
    names = ("gpureduce", "kthvalue", "torch_whole", "torch", "cupy")
    lines = [
        f"{record['device']}, CUDA {record['toolkit']}, PyTorch {record['torch']}, CuPy {record['cupy']},"
        f" {record['date']}: {record['method']}.",
        "",
        "| float32 | shape | gpureduce | `torch.kthvalue` | `torch.median(a)` | PyTorch | CuPy |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in (row for row in record["rows"] if row["dtype"] == "float32"):
        times = [markdown.format_us(row["us"][name]["median"]) if name in row["us"] else "" for name in names]
        shape = " x ".join(f"{length:,}" for length in row["shape"])
        lines.append(f"| `{row['what']}` | {shape} | " + " | ".join(times) + " |")
    return "\n".join(lines)


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/run.py order", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--dtypes", nargs="*", choices=DTYPES, default=DTYPES)
    parser.add_argument("--out", type=files.writable_path, help="results file to write")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    options = parse(argv)
    import cupy
    import torch

    record: dict[str, Any] = environment.header(environment.find_device("cuda:0"))
    record |= {"torch": torch.__version__, "cupy": cupy.__version__}
    record["method"] = "inputs larger than the L2 cache; microseconds a call"
    record["rows"] = []
    shapes: list[tuple[int, ...]] = [(1 << exponent,) for exponent in EXPONENTS]
    shapes += [(ELEMENTS // length, length) for length in LENGTHS]
    for dtype in options.dtypes:
        for shape in shapes:
            if dtype == "int32" and len(shape) > 1:
                continue
            for row in rows_of(torch, cupy, dtype, shape, options.repeats):
                record["rows"].append(row)
                print(show(row), flush=True)
            files.write_result(options.out, record)
            torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
