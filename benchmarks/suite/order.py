"""Times order statistics, compared with PyTorch and CuPy.

Each figure is in microseconds per call, the median over repeats: of whole arrays and of rows on the device,
with results that stay there. Calls of ours and PyTorch's are in a CUDA graph that rotates over inputs larger
together than the L2 cache; the results of topk are memory of the graph. Calls of CuPy run one after the other
between events.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Benchmark, WrongResultError
from gpureduce import _functions as gpureduce
from gpureduce._bench import timing
from gpureduce._bench.stats import summarize_times

EXPONENTS = (20, 22, 24, 26)
DTYPES = ("float32", "float64", "int32")
LENGTHS = (32, 128, 1024, 4096, 1 << 14, 1 << 17)  # of rows
ELEMENTS = 1 << 26  # of all rows
KS = (10, 1000, 100_000)
QUANTILES = (0.05, 0.25, 0.75, 0.95)
MAX_LAUNCHES = 8
SLOW = 10_000.0  # microseconds per call, of which two are enough

Call = Callable[[int], object]


def timed(torch: Any, call: Call, buffers: int, repeats: int, captured: bool) -> dict:
    """Return the figures of a call, which takes the number of an input."""
    launches = max(buffers, min(MAX_LAUNCHES, 4 * buffers))
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
    return summarize_times(times, 3)


def eager(torch: Any, call: Call, buffers: int) -> float:
    """Return microseconds per call, of one for each input."""
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for i in range(buffers):
        call(i)
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e3 / buffers


def draw(torch: Any, dtype: str, shape: tuple[int, ...], count: int) -> list:
    """Return random arrays."""
    kind = getattr(torch, dtype)
    if dtype == "int32":
        return [torch.randint(-(2**31), 2**31 - 1, shape, device="cuda", dtype=kind) for _ in range(count)]
    return [torch.randn(shape, device="cuda", dtype=kind) for _ in range(count)]


def calls_of(torch: Any, cupy: Any, ins: list, axis: int | None) -> dict[str, dict[str, Call]]:
    """Return what is compared, by what it works out and whose it is."""
    length = ins[0].shape[-1]
    arrays = [] if cupy is None else [cupy.from_dlpack(each) for each in ins]
    rank = (length - 1) // 2
    probabilities = torch.tensor(QUANTILES, dtype=torch.float64)
    lines = ins[0].shape[:-1]
    middle = torch.empty(lines, device="cuda", dtype=result_of(torch, ins[0].dtype))
    between = torch.empty((len(QUANTILES), *lines), device="cuda", dtype=torch.float64)

    def by_cupy(work: Callable[[Any], object]) -> Call:
        def call(i: int) -> None:
            with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
                work(arrays[i])

        return call

    medians: dict[str, Call] = {
        "gpureduce": lambda i: gpureduce.median(ins[i], axis=axis, out=middle),
        "kthvalue": lambda i: torch.kthvalue(ins[i], rank + 1, dim=-1),
        "torch": lambda i: torch.median(ins[i], dim=-1),
    }
    if axis is None:
        medians["torch_whole"] = lambda i: torch.median(ins[i])
    quantiles: dict[str, Call] = {
        "gpureduce": lambda i: gpureduce.quantile(ins[i], QUANTILES, axis=axis, out=between),
    }
    if cupy is not None:
        medians["cupy"] = by_cupy(lambda a: cupy.median(a, axis=axis))
        quantiles["cupy"] = by_cupy(lambda a: cupy.quantile(a, QUANTILES, axis=axis))
    if ins[0].dtype.is_floating_point and length <= 1 << 24:  # what PyTorch takes
        wanted = probabilities.to(ins[0].dtype).cuda()
        quantiles["torch"] = lambda i: torch.quantile(ins[i], wanted, dim=-1)
    found: dict[str, dict[str, Call]] = {"median": medians, "quantile": quantiles}
    for k in KS:
        if k <= length:
            found[f"topk {k}"] = topk_calls(torch, ins, k)
    return found


def topk_calls(torch: Any, ins: list, k: int) -> dict[str, Call]:
    """Return what is compared of the `k` largest elements."""
    return {
        "gpureduce": lambda i: gpureduce.topk(ins[i], k),
        "torch": lambda i: torch.topk(ins[i], k),
    }


def result_of(torch: Any, dtype: Any) -> Any:
    """Return the dtype of a median."""
    return dtype if dtype.is_floating_point else torch.float64


class Order(Benchmark):
    """Medians, quantiles and topk of whole arrays and of rows."""

    summary = "median, quantile and topk of arrays and rows, compared with PyTorch and CuPy"
    method = "inputs larger than the L2 cache; microseconds per call"
    required = ("torch",)
    optional = ("cupy",)
    repeats = 5
    quick: ClassVar[Mapping[str, Any]] = {
        "repeats": 2,
        "dtypes": ["float32"],
        "exponents": [20, 22],
        "lengths": [128, 4096],
        "elements": 1 << 22,
    }

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        parser.add_argument("--dtypes", nargs="+", choices=DTYPES, default=list(DTYPES))
        parser.add_argument("--exponents", type=int, nargs="+", default=list(EXPONENTS))
        parser.add_argument("--lengths", type=int, nargs="+", default=list(LENGTHS), help="of rows")
        parser.add_argument("--elements", type=int, default=ELEMENTS, help="of all rows (default 2^26)")

    def cases(self) -> Iterable[tuple[str, tuple[int, ...]]]:
        """Return dtypes and shapes; int32 has no rows."""
        options = self.options
        shapes: list[tuple[int, ...]] = [(1 << exponent,) for exponent in options.exponents]
        shapes += [(options.elements // length, length) for length in options.lengths]
        pairs = [(dtype, shape) for dtype in options.dtypes for shape in shapes]
        return [(dtype, shape) for dtype, shape in pairs if dtype != "int32" or len(shape) == 1]

    def run_case(self, case: tuple[str, tuple[int, ...]]) -> list[dict[str, Any]]:
        """Return a row for each statistic."""
        dtype, shape = case
        torch, repeats = self.torch, self.options.repeats
        n = shape[0] * shape[-1] if len(shape) > 1 else shape[0]
        item = getattr(torch, dtype).itemsize
        buffers = max(1, min(MAX_LAUNCHES, timing.ROTATION_BYTES // (n * item)))
        ins = draw(torch, dtype, shape, buffers)
        self._check(ins[0])
        axis = -1 if len(shape) > 1 else None
        rows = []
        for what, calls in calls_of(torch, self.libraries.get("cupy"), ins, axis).items():
            us = {}
            for name, call in calls.items():
                few = repeats if name == "gpureduce" else min(repeats, 3)
                us[name] = timed(torch, call, buffers, few, captured=name != "cupy")
            rows.append({"what": what, "dtype": dtype, "shape": list(shape), "us": us})
        del ins
        torch.cuda.empty_cache()
        return rows

    def _check(self, a: Any) -> None:
        """Raise WrongResultError where results differ from those of a sort."""
        torch, length = self.torch, a.shape[-1]
        ranked, order = torch.sort(a, dim=-1, stable=True)
        got = torch.from_dlpack(gpureduce.quantile(a, [0.3], axis=-1, method="lower", as_device=True))
        top = gpureduce.topk(a, min(10, length), largest=False)
        right = torch.equal(got[0], ranked[..., int((length - 1) * 0.3)])
        right = right and torch.equal(torch.from_dlpack(top.indices), order[..., : min(10, length)])
        if not right:
            raise WrongResultError(f"order statistics of {tuple(a.shape)} {a.dtype}")

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        shape = "x".join(str(length) for length in row["shape"])
        times = "  ".join(f"{name} {us['median']:.1f}" for name, us in row["us"].items())
        return f"{row['what']:12} {row['dtype']:8} {shape:>14}  {times}"

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return the times of float32."""
        names = ("gpureduce", "kthvalue", "torch_whole", "torch", "cupy")
        rows = (
            [
                f"`{row['what']}`",
                " x ".join(f"{length:,}" for length in row["shape"]),
                *(markdown.median_us(row, name) for name in names),
            ]
            for row in record["rows"]
            if row["dtype"] == "float32"
        )
        heads = ["function", "shape", "gpureduce", "`torch.kthvalue`", "`torch.median(a)`", "PyTorch", "CuPy"]
        head = f"{markdown.source(record, 'torch', 'cupy')}: float32, {record['method']}."
        return "\n".join([head, "", *markdown.table(heads, "lr", rows)])


BENCHMARK = Order
