"""Times reductions of many tensors at once, and clipping of gradients, compared with PyTorch's functions.

A figure of a contender is the time of a whole call with an idle GPU, the host's time included; `gpu` is that
of a CUDA graph of the call, `host` the time in which the call returns. `new list` is the host's time for a
list that the last calls did not have, `known list` for a `gpureduce.multi.ArrayList`. The large tensors, of
unequal lengths, are larger together than the L2 cache. `read` is a sum of all elements as one tensor.
"""

from __future__ import annotations

import argparse
import functools
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Benchmark, Times, WrongResultError
from gpureduce import _functions as gpureduce
from gpureduce import multi
from gpureduce._bench import timing
from gpureduce._bench.stats import summarize_times

FUNCTIONS = (
    *("total_norm", "norms", "sums", "max_abs", "all_finite", "fingerprint"),
    *("clip_grad_norm_", "clip_grad_norm_ below"),
)
DTYPES = ("float32", "bfloat16")
TENSORS = 2000
ELEMENTS = {"large": 10**9, "small": 2000 * 512}
HOST_CALLS = 15
INF = float("inf")

Case = tuple[str, str, str]
Call = Callable[[list[Any]], object]


def _call(call: Call, items: Any, _: int) -> object:
    return call(items)


class Tensors:
    """The tensors of one case: views of one tensor, whose memory is aligned to 512 bytes."""

    def __init__(self, torch: Any, dtype: str, elements: int) -> None:
        rng = np.random.default_rng(1)
        shares = rng.dirichlet(np.full(TENSORS, 2.0)) * elements
        cuts = np.floor(np.cumsum(shares)[:-1] / 256).astype(np.int64) * 256
        self.flat = torch.randn(elements, device="cuda", dtype=getattr(torch, dtype))
        self.views = [view for view in torch.tensor_split(self.flat, cuts.tolist()) if view.numel()]
        self.out = self.flat.new_empty(())
        self.parameters = [torch.nn.Parameter(view) for view in self.views]
        for parameter, view in zip(self.parameters, self.views, strict=True):
            parameter.grad = view

    def __len__(self) -> int:
        return 1


class MultiTensor(Benchmark):
    """Reductions of lists of tensors."""

    summary = "reductions of 2,000 tensors at once and clip_grad_norm_, compared with PyTorch"
    method = "whole calls with an idle GPU before, CUDA graphs, and the host alone; microseconds per call"
    required = ("torch",)
    repeats = 7
    quick: ClassVar[Mapping[str, Any]] = {"repeats": 3, "functions": ["total_norm"], "sizes": ["small"]}

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        parser.add_argument("--dtypes", nargs="+", choices=DTYPES, default=list(DTYPES))
        parser.add_argument("--functions", nargs="+", choices=FUNCTIONS, default=list(FUNCTIONS))
        parser.add_argument("--sizes", nargs="+", choices=tuple(ELEMENTS), default=list(ELEMENTS))

    def run(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of all cases; those of one dtype and size share their tensors."""
        for size in self.options.sizes:
            for dtype in self.options.dtypes:
                tensors = Tensors(self.torch, dtype, ELEMENTS[size])
                for function in self.options.functions:
                    case = (function, dtype, size)
                    contenders = self.contenders(case, tensors)
                    self.check(case, tensors, contenders)
                    yield from self.rows(case, tensors, self.measure(case, tensors, contenders))
                del tensors
                self.torch.cuda.empty_cache()

    def contenders(self, case: Case, inputs: Tensors) -> dict[str, Call]:
        """Return the calls of all contenders, which take a list of tensors or parameters."""
        import gpureduce.torch as operators

        nn, foreach_norm = self.torch.nn.utils, self.torch._foreach_norm
        largest = 1e30 if case[0].endswith("below") else 1.0
        ours: dict[str, Call] = {
            "total_norm": multi.total_norm,
            "norms": multi.norms,
            "sums": multi.sums,
            "max_abs": multi.max_abs,
            "all_finite": multi.all_finite,
            "fingerprint": multi.fingerprint,
            "clip_grad_norm_": lambda items: operators.clip_grad_norm_(items, largest),
        }
        theirs: dict[str, Call] = {
            "total_norm": lambda items: nn.get_total_norm(items, foreach=True),
            "norms": foreach_norm,
            "max_abs": lambda items: foreach_norm(items, INF),
            "clip_grad_norm_": lambda items: nn.clip_grad_norm_(items, largest, foreach=True),
        }
        name = case[0].split()[0]
        calls = {"gpureduce": ours[name], "torch": theirs.get(name)}
        if not name.startswith("clip"):
            calls["read"] = lambda _: gpureduce.sum(inputs.flat, out=inputs.out)
        return {contender: call for contender, call in calls.items() if call is not None}

    def check(self, case: Case, inputs: Tensors, contenders: Mapping[str, Callable[..., Any]]) -> None:
        """Raise WrongResultError unless the norm is near that of float64, in two orders of the list."""
        if case[0] != "total_norm":
            return
        square = sum(float(part.double().square().sum()) for part in inputs.flat.split(1 << 26))
        for items in (inputs.views, inputs.views[::-1]):
            norm = float(self.torch.from_dlpack(multi.total_norm(items, dtype="float64")))
            if abs(norm - square**0.5) > 1e-9 * norm:
                raise WrongResultError(" ".join(case))

    def measure(self, case: Case, inputs: Tensors, contenders: Mapping[str, Callable[..., Any]]) -> Times:
        """Return times of whole calls by contender, and of the host: "<contender> host", "... new list"."""
        items = inputs.parameters if case[0].startswith("clip") else inputs.views
        times: Times = {}
        for call in contenders.values():
            call(items)
        for _ in range(self.options.repeats):
            for name, call in contenders.items():
                if case[0].startswith("clip"):
                    inputs.flat.normal_()
                times.setdefault(name, []).append(self._call_us(call, items))
        for name, call in contenders.items():
            graph = timing.capture(self.torch, functools.partial(_call, call, items), 1, 1)
            times[f"{name} gpu"] = timing.replay_times(self.torch, graph, 1, self.options.repeats)
            if name == "read":
                continue
            times[f"{name} host"] = [self._host_us(call, items) for _ in range(HOST_CALLS)]
            other = [items[k:] + items[:k] for k in range(1, HOST_CALLS + 1)]
            times[f"{name} new list"] = [self._host_us(call, each) for each in other]
        if not case[0].startswith("clip"):
            known = multi.ArrayList(items)
            host = [self._host_us(contenders["gpureduce"], known) for _ in range(HOST_CALLS)]
            times["gpureduce known list"] = host
        return times

    def _call_us(self, call: Callable[..., Any], items: Any) -> float:
        """Return the time from an event before a call, with an idle GPU, to one behind its work."""
        start, stop = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.torch.cuda.synchronize()
        start.record()
        call(items)
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) * 1e3

    def _host_us(self, call: Callable[..., Any], items: Any) -> float:
        self.torch.cuda.synchronize()
        start = time.perf_counter()
        call(items)
        return (time.perf_counter() - start) * 1e6

    def rows(self, case: Case, inputs: Tensors, times: Times) -> list[dict[str, Any]]:
        """Return a row."""
        function, dtype, _ = case
        us = {contender: summarize_times(taken, 2) for contender, taken in times.items()}
        flat = inputs.flat
        sizes = {
            "tensors": len(inputs.views),
            "elements": flat.numel(),
            "bytes": flat.numel() * flat.itemsize,
        }
        return [{"function": function, "dtype": dtype, **sizes, "us": us}]

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        times = "  ".join(f"{name} {us['median']:.1f}" for name, us in row["us"].items())
        return f"{row['function']:22} {row['dtype']:8} {row['elements']:>13,} {times}"

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return all rows."""
        columns = {
            "gpureduce": "gpureduce",
            "PyTorch": "torch",
            "GPU: gpureduce": "gpureduce gpu",
            "GPU: PyTorch": "torch gpu",
            "GPU: one sum": "read gpu",
            "host: gpureduce": "gpureduce host",
            "host: gpureduce, new list": "gpureduce new list",
            "host: `ArrayList`": "gpureduce known list",
            "host: PyTorch": "torch host",
        }
        rows = (
            [
                f"`{row['function'].split()[0]}`" + ", unclipped" * row["function"].endswith("below"),
                row["dtype"],
                f"{row['elements']:,}",
                *(markdown.median_us(row, name) for name in columns.values()),
            ]
            for row in record["rows"]
        )
        heads = ["function", "dtype", "elements", *columns]
        lines = [f"{markdown.source(record, 'torch')}: {record['method']}.", ""]
        return "\n".join(lines + markdown.table(heads, "llr", rows))


BENCHMARK = MultiTensor
