"""Times what calls cost the host, of all operators, compared with PyTorch.

The arrays are small, and their results stay on the device, so that the time is that from Python to the
launches of kernels. Each contender makes some calls, the device finishes them, and the next one has its turn.
"""

from __future__ import annotations

import statistics
import time
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
SLEEP = 20_000_000  # cycles of the device: about 10 ms
WAITED_MS = 3  # a call that takes longer while the stream is busy has waited for the device
# A call, and PyTorch's call for the same. x and y are matrices of float32, v is a row of x, w a column, m a
# bool mask, b a bool matrix, i a matrix of int32, o the offsets of three segments, g eight labels, s starts
# of slices in host memory, z eight rows, c images and f filters of a convolution, and r is x as a tensor that
# requires a gradient. `ops` is gpureduce.torch.
CALLS = {
    "sum(x, axis=1)": "torch.sum(x, 1)",
    "sum(x, as_device=True)": "torch.sum(x)",
    "sum(x, axis=1, where=m)": "torch.where(m, x, 0).sum(1)",
    "max(x, axis=1, where=m, initial=0)": "torch.where(m, x, 0).amax(1)",
    "mean(x, axis=1, where=m)": "",
    "var(x, axis=1, where=m)": "",
    "prod(x, axis=1)": "torch.prod(x, 1)",
    "min(x, axis=1)": "torch.amin(x, 1)",
    "max(x, axis=1)": "torch.amax(x, 1)",
    "argmin(x, axis=1)": "torch.argmin(x, 1)",
    "argmax(x, axis=1)": "torch.argmax(x, 1)",
    "mean(x, axis=1)": "torch.mean(x, 1)",
    "all(b, axis=1)": "torch.all(b, 1)",
    "any(b, axis=1)": "torch.any(b, 1)",
    "count_nonzero(x, axis=1)": "torch.count_nonzero(x, 1)",
    "bitwise_and(i, axis=1)": "",
    "bitwise_or(i, axis=1)": "",
    "bitwise_xor(i, axis=1)": "",
    "logical_xor(x, axis=1)": "",
    "reduce(x, 'sum', axis=1)": "torch.sum(x, 1)",
    "fsum(x, axis=1)": "",
    "dot(v, v, as_device=True)": "torch.dot(v, v)",
    "vecdot(x, y)": "torch.linalg.vecdot(x, y)",
    "vecdot(x, v)": "torch.linalg.vecdot(x, v)",
    "inner(x, v)": "torch.inner(x, v)",
    "matmul(x, x.T)": "torch.matmul(x, x.T)",
    "conv2d(c, f, padding=1)": "torch.conv2d(c, f, padding=1)",
    "trace(x, as_device=True)": "torch.trace(x)",
    "var(x, axis=1)": "torch.var(x, 1, correction=0)",
    "std(x, axis=1)": "torch.std(x, 1, correction=0)",
    "moments(x, axis=1)": "torch.var_mean(x, 1)",
    "average(x, axis=1)": "torch.mean(x, 1)",
    "average(x, axis=1, weights=v)": "(x * v).sum(1) / v.sum()",
    "ptp(x, axis=1)": "torch.amax(x, 1) - torch.amin(x, 1)",
    "fmin(x, axis=1)": "",
    "fmax(x, axis=1)": "",
    "nansum(x, axis=1)": "torch.nansum(x, 1)",
    "nanprod(x, axis=1)": "",
    "nanmean(x, axis=1)": "torch.nanmean(x, 1)",
    "nanmin(x, axis=1)": "",
    "nanmax(x, axis=1)": "",
    "nanvar(x, axis=1)": "",
    "nanstd(x, axis=1)": "",
    "nanargmin(x, axis=1)": "",
    "nanargmax(x, axis=1)": "",
    "norm(x, axis=1)": "torch.linalg.vector_norm(x, dim=1)",
    "norm(x, 3, axis=1)": "torch.linalg.vector_norm(x, 3, dim=1)",
    "logsumexp(x, axis=1)": "torch.logsumexp(x, 1)",
    "softmax_denominator(x, axis=1)": "",
    "softmax(x)": "torch.softmax(x, 1)",
    "log_softmax(x)": "torch.log_softmax(x, 1)",
    "rms_norm(x, v)": "torch.nn.functional.rms_norm(x, (256,), v)",
    "layer_norm(x, v, v)": "torch.nn.functional.layer_norm(x, (256,), v, v)",
    "median(x, axis=1)": "torch.median(x, 1)",
    "nanmedian(x, axis=1)": "torch.nanmedian(x, 1)",
    "quantile(x, 0.25, axis=1)": "torch.quantile(x, 0.25, 1)",
    "percentile(x, 25, axis=1)": "torch.quantile(x, 0.25, 1)",
    "nanquantile(x, 0.25, axis=1)": "torch.nanquantile(x, 0.25, 1)",
    "nanpercentile(x, 25, axis=1)": "torch.nanquantile(x, 0.25, 1)",
    "topk(x, 8)": "torch.topk(x, 8)",
    "cumulative_sum(x, axis=1)": "torch.cumsum(x, 1)",
    "cumulative_prod(x, axis=1)": "torch.cumprod(x, 1)",
    "cumsum(x, axis=1)": "torch.cumsum(x, 1)",
    "cumprod(x, axis=1)": "torch.cumprod(x, 1)",
    "nancumsum(x, axis=1)": "",
    "nancumprod(x, axis=1)": "",
    "segment_reduce(x, o)": "torch.segment_reduce(x, 'sum', offsets=o, axis=0)",
    "group_reduce(x, g, num_groups=8)": "torch.zeros(8, 256, device='cuda').index_add_(0, g, x)",
    "reduceat(x, s, axis=1)": "",
    "bincount(g, minlength=8)": "torch.bincount(g, minlength=8)",
    "bincount(g, size=8)": "torch.bincount(g, minlength=8)",
    "partial(x, 'sum', as_device=True)": "",
    "x.copy()": "x.clone()",
    "x.T.copy()": "x.T.contiguous()",
    "x.astype('float16')": "x.to(torch.float16)",
    "x[1:, ::2]": "x[1:, ::2]",
    "x.reshape(-1)": "x.reshape(-1)",
    "ops.sum(x, 1)": "torch.sum(x, 1)",
    "ops.sum(x)": "torch.sum(x)",
    "ops.sum(x, dim=1, keepdim=True)": "torch.sum(x, dim=1, keepdim=True)",
    "ops.sum(x, 1, where=m)": "torch.where(m, x, 0).sum(1)",
    "ops.mean(x, dim=1)": "torch.mean(x, dim=1)",
    "ops.var(x, dim=1, correction=0)": "torch.var(x, dim=1, correction=0)",
    "ops.prod(x, 1)": "torch.prod(x, 1)",
    "ops.mean(x, 1)": "torch.mean(x, 1)",
    "ops.min(x, 1)": "torch.amin(x, 1)",
    "ops.max(x, 1)": "torch.amax(x, 1)",
    "ops.argmax(x, 1)": "torch.argmax(x, 1)",
    "ops.any(b, 1)": "torch.any(b, 1)",
    "ops.count_nonzero(x, 1)": "torch.count_nonzero(x, 1)",
    "ops.bitwise_or(i, 1)": "",
    "ops.dot(v, v)": "torch.dot(v, v)",
    "ops.matmul(x, x.T)": "torch.matmul(x, x.T)",
    "ops.conv2d(c, f, padding=1)": "torch.conv2d(c, f, padding=1)",
    "ops.softmax(x, 1)": "torch.softmax(x, 1)",
    "ops.rms_norm(x, v)": "torch.nn.functional.rms_norm(x, (256,), v)",
    "ops.layer_norm(x, v, v)": "torch.nn.functional.layer_norm(x, (256,), v, v)",
    "ops.nansum(x, 1)": "torch.nansum(x, 1)",
    "ops.logsumexp(x, 1)": "torch.logsumexp(x, 1)",
    "ops.norm(x, 1)": "torch.linalg.vector_norm(x, dim=1)",
    "ops.var(x, 1)": "torch.var(x, 1)",
    "ops.median(x, 1)": "torch.median(x, 1)",
    "ops.cumsum(x, 1)": "torch.cumsum(x, 1)",
    "ops.topk(x, 8)": "torch.topk(x, 8)",
    "ops.sort(x)": "torch.sort(x)",
    "ops.segment_reduce(x, 'sum', offsets=o, unsafe=True)": (
        "torch.segment_reduce(x, 'sum', offsets=o, axis=0, unsafe=True)"
    ),
    "ops.index_add(z, 0, g, x)": "torch.index_add(z, 0, g, x)",
    "ops.sum(r, 1)": "torch.sum(r, 1)",
    "ops.mean(r, 1)": "torch.mean(r, 1)",
    "ops.max(r, 1)": "torch.amax(r, 1)",
    "ops.matmul(r, x.T)": "torch.matmul(r, x.T)",
    "ops.softmax(r, 1)": "torch.softmax(r, 1)",
    "ops.sum(r, 1).backward(w)": "torch.sum(r, 1).backward(w)",
}
LABELS = {"torch": "PyTorch", "tensor": "gpureduce, PyTorch tensor", "ours": "gpureduce, `DeviceArray`"}


def inputs() -> dict[str, np.ndarray]:
    """Return what the calls are of, in host memory."""
    rng = np.random.default_rng(20261124)
    x = rng.standard_normal(SHAPE).astype(np.float32)
    found = {"x": x, "y": x[::-1].copy(), "v": x[0].copy(), "m": x > 0, "b": x > 0, "w": x[:, 0].copy()}
    found |= {"i": (x * 1000).astype(np.int32), "o": np.array([0, 10, 30, 64]), "g": np.arange(SHAPE[0]) % 8}
    found |= {"c": x.reshape(4, 16, 16, 16), "f": x.reshape(-1)[: 8 * 16 * 9].reshape(8, 16, 3, 3).copy()}
    return found | {"z": x[:8].copy(), "s": np.array([0, 3, 100])}


def tensors(torch: Any, arrays: dict[str, np.ndarray], device: str) -> dict[str, Any]:
    """Return the arguments of calls on tensors."""
    from gpureduce import torch as ops  # registers operators, which needs PyTorch

    there = {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}
    return there | {
        "r": there["x"].clone().requires_grad_(),
        "s": arrays["s"],
        "torch": torch,
        "ops": ops,
    }


def calls(
    torch: Any, text: str, arrays: dict[str, np.ndarray], device: str = "cuda:0"
) -> dict[str, Callable[[], Any]]:
    """Return the call of each contender that has it."""
    there = tensors(torch, arrays, "cuda")
    found = {"torch": of_text(CALLS[text], there)} if CALLS[text] else {}
    if not text.startswith("x"):  # a method of our own
        found["tensor"] = of_text(text, there)
    if text.startswith("ops."):  # an operator of tensors
        return found
    own = {name: to_device(array, device) for name, array in arrays.items()}
    return found | {"ours": of_text(text, own | {"s": arrays["s"], "torch": torch})}


def of_text(text: str, given: dict[str, Any]) -> Callable[[], Any]:
    """Return a call of what its text says, by the names of arguments and of public functions."""
    return eval(f"lambda: {text}", vars(_functions) | {"partial": partial} | given)


def waits(torch: Any, call: Callable[[], Any]) -> bool:
    """Return whether a call keeps the host until the work queued before it is done."""
    taken = []
    for _ in range(3):
        torch.cuda.synchronize()
        torch.cuda._sleep(SLEEP)
        start = time.perf_counter_ns()
        call()
        taken.append((time.perf_counter_ns() - start) / 1e6)
    torch.cuda.synchronize()
    return min(taken) > WAITED_MS


def captured(torch: Any, call: Callable[[], Any]) -> bool:
    """Return whether a call can be captured into a CUDA graph and replayed."""
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            result = call()
        graph.replay()
        torch.cuda.synchronize()
        del result
    except Exception as error:
        print(f"not captured: {error!r}"[:300], flush=True)
        return False
    return True


class HostCalls(CallBenchmark):
    """One call of each operator."""

    summary = "host time of one call of every operator, compared with PyTorch"
    method = (
        f"host time from the call to its return, median of {TURNS} turns of {BATCH} calls; x is"
        f" {SHAPE[0]} x {SHAPE[1]} float32, results stay on the device; a call waits if it takes more than"
        f" {WAITED_MS} ms while the stream is busy"
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
        row: dict[str, Any] = {"call": text, "theirs": CALLS[text], "us": us}
        row["waits"] = {name: waits(self.torch, call) for name, call in contenders.items()}
        if "tensor" in contenders:  # in the stream of the capture, as another library's array is
            row["captured"] = captured(self.torch, contenders["tensor"])
        return [row]

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        return f"{row['call']} {row['us']} waits {row['waits']} captured {row.get('captured')}"

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
