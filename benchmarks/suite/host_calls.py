"""Times what calls cost the host, of all operators, compared with PyTorch.

The arrays are small, and their results stay on the device, so that the time is that from Python to the
launches of kernels. Each contender makes some calls, the device finishes them, and the next one has its turn.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from benchmarks.harness import markdown
from benchmarks.harness.calls import CallBenchmark
from benchmarks.harness.wall_clock import batch_times
from gpureduce import _functions
from gpureduce._arrays.device_array import to_device
from gpureduce._states.build import partial

SHAPE = (64, 256)
BATCH, TURNS, WARM_UP = 40, 8, 5
# A call, and what PyTorch has for it: of x and y, matrices of float32; v, a row of x; m, a mask; o, offsets
# of three segments; g, eight labels; s, where slices begin, in host memory.
CALLS = {
    "sum(x, axis=1)": "torch.sum(x, 1)",
    "sum(x, axis=1, where=m)": "",
    "argmax(x, axis=1)": "torch.argmax(x, 1)",
    "mean(x, axis=1)": "torch.mean(x, 1)",
    "count_nonzero(x, axis=1)": "torch.count_nonzero(x, 1)",
    "logical_xor(x, axis=1)": "",
    "fsum(x, axis=1)": "",
    "dot(v, v, as_device=True)": "torch.dot(v, v)",
    "vecdot(x, y)": "torch.linalg.vecdot(x, y)",
    "vecdot(x, v)": "torch.linalg.vecdot(x, v)",
    "inner(x, v)": "torch.inner(x, v)",
    "matmul(x, x.T)": "torch.matmul(x, x.T)",
    "trace(x, as_device=True)": "torch.trace(x)",
    "var(x, axis=1)": "torch.var(x, 1, correction=0)",
    "std(x, axis=1)": "torch.std(x, 1, correction=0)",
    "moments(x, axis=1)": "",
    "average(x, axis=1)": "torch.mean(x, 1)",
    "average(x, axis=1, weights=v)": "(x * v).sum(1) / v.sum()",
    "ptp(x, axis=1)": "torch.amax(x, 1) - torch.amin(x, 1)",
    "nansum(x, axis=1)": "torch.nansum(x, 1)",
    "nanmean(x, axis=1)": "torch.nanmean(x, 1)",
    "nanstd(x, axis=1)": "",
    "nanargmax(x, axis=1)": "",
    "norm(x, axis=1)": "torch.linalg.vector_norm(x, dim=1)",
    "norm(x, 3, axis=1)": "torch.linalg.vector_norm(x, 3, dim=1)",
    "logsumexp(x, axis=1)": "torch.logsumexp(x, 1)",
    "softmax_denominator(x, axis=1)": "",
    "median(x, axis=1)": "torch.median(x, 1)",
    "nanmedian(x, axis=1)": "torch.nanmedian(x, 1)",
    "quantile(x, 0.25, axis=1)": "torch.quantile(x, 0.25, 1)",
    "topk(x, 8)": "torch.topk(x, 8)",
    "cumulative_sum(x, axis=1)": "torch.cumsum(x, 1)",
    "cumulative_prod(x, axis=1)": "torch.cumprod(x, 1)",
    "segment_reduce(x, o)": "torch.segment_reduce(x, 'sum', offsets=o, axis=0)",
    "group_reduce(x, g, num_groups=8)": "torch.zeros(8, 256, device='cuda').index_add_(0, g, x)",
    "reduceat(x, s, axis=1)": "",
    "partial(x, 'sum', as_device=True)": "",
    "x.copy()": "x.clone()",
    "x.T.copy()": "x.T.contiguous()",
    "x.astype('float16')": "x.to(torch.float16)",
    "x[1:, ::2]": "x[1:, ::2]",
    "x.reshape(-1)": "x.reshape(-1)",
}
LABELS = {"torch": "PyTorch", "tensor": "gpureduce, PyTorch tensor", "ours": "gpureduce, `DeviceArray`"}


def inputs() -> dict[str, np.ndarray]:
    """Return what the calls are of, in host memory."""
    x = np.random.default_rng(20261124).standard_normal(SHAPE).astype(np.float32)
    found = {"x": x, "y": x[::-1].copy(), "v": x[0].copy(), "m": x > 0, "o": np.array([0, 10, 30, 64])}
    return found | {"g": np.arange(SHAPE[0]) % 8, "s": np.array([0, 3, 100])}


def calls(
    torch: Any, text: str, arrays: dict[str, np.ndarray], device: str = "cuda:0"
) -> dict[str, Callable[[], Any]]:
    """Return the call of each contender that has it."""
    host = {"s": arrays["s"], "torch": torch}
    there = {name: torch.from_numpy(array).cuda() for name, array in arrays.items()} | host
    found = {"torch": of_text(CALLS[text], there)} if CALLS[text] else {}
    if not text.startswith("x"):  # a method of our own
        found["tensor"] = of_text(text, there)
    own = {name: to_device(array, device) for name, array in arrays.items()} | host
    return found | {"ours": of_text(text, own)}


def of_text(text: str, given: dict[str, Any]) -> Callable[[], Any]:
    """Return a call of what its text says, by the names of arguments and of public functions."""
    return eval(f"lambda: {text}", vars(_functions) | {"partial": partial} | given)


class HostCalls(CallBenchmark):
    """One call of each operator."""

    summary = "host time of one call of every operator, compared with PyTorch"
    method = (
        f"host time from the call to its return, median of {TURNS} turns of {BATCH} calls; x is"
        f" {SHAPE[0]} x {SHAPE[1]} float32, results stay on the device"
    )
    required = ("torch",)
    calls = CALLS
    repeats = TURNS
    quick: ClassVar[Mapping[str, Any]] = {"repeats": 2}

    def run_case(self, text: str) -> list[dict[str, Any]]:
        """Return the row of a call."""
        contenders = calls(self.torch, text, inputs(), str(self.where))
        turns = self.options.repeats + 1
        taken = batch_times(contenders, self.torch.cuda.synchronize, BATCH, turns, WARM_UP)
        us = {name: round(statistics.median(values), 2) for name, values in taken.items()}
        return [{"call": text, "theirs": CALLS[text], "us": us}]

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        return f"{row['call']} {row['us']}"

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return the time of each call, and what PyTorch has for it."""
        rows = (
            [
                f"`{row['call']}`",
                *(markdown.cell(row["us"].get(name), "{:.1f}") for name in LABELS),
                f"`{row['theirs']}`" if row["theirs"] else "",
            ]
            for row in record["rows"]
        )
        heads = ["host time per call, us", *LABELS.values(), "PyTorch's call"]
        head = f"{markdown.source(record, 'torch')}: {markdown.method(record)}."
        return "\n".join([head, "", *markdown.table(heads, f"l{'r' * len(LABELS)}l", rows)])


BENCHMARK = HostCalls
