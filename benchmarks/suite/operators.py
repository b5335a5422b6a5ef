"""Times PyTorch's operators of this package, compared with PyTorch's own.

What a call costs the host, from Python to enqueued, as `benchmarks.suite.calls` measures it: eagerly,
compiled by `torch.compile`, and compiled into a CUDA graph (``mode="reduce-overhead"``).
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, NamedTuple

from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Benchmark, WrongResultError
from benchmarks.harness.wall_clock import batch_times
from benchmarks.suite import calls
from gpureduce._bench import environment
from gpureduce._bench.stats import summarize_times
from gpureduce._reduce import functions

LABELS = {
    "eager": "eager",
    "compiled": "compiled",
    "graph": "compiled to a CUDA graph",
}
MODES = {"compiled": "default", "graph": "reduce-overhead"}
NAMESPACES = ("torch", "gpureduce.torch")


class Case(NamedTuple):
    """What is called: with operators (max, sum, mean) and a tensor."""

    shape: tuple[int, ...]
    function: Callable[[Any, Any], Any]


def _model(ops: Any, x: Any) -> Any:
    return ops.mean((x - ops.max(x, 1)) * ops.sum(x, 1))


CASES = {
    "sum(x)": Case(calls.FEW, lambda ops, x: ops.sum(x, None)),
    "sum(X, axis=1)": Case(calls.MATRIX, lambda ops, x: ops.sum(x, 1)),
    "mean((X - max(X, axis=1)) * sum(X, axis=1))": Case(calls.MATRIX, _model),
}


def namespaces(torch: Any, ours: Any) -> dict[str, Any]:
    """Return the operators of both, called alike: of a matrix reduced axes stay."""

    class OfTorch:
        sum = staticmethod(lambda x, axis: torch.sum(x) if axis is None else torch.sum(x, axis, keepdim=True))
        max = staticmethod(lambda x, axis: torch.amax(x, axis, keepdim=True))
        mean = staticmethod(torch.mean)

    class OfGpureduce:
        sum = staticmethod(lambda x, axis: ours.sum(x, axis, keepdims=axis is not None))
        max = staticmethod(lambda x, axis: ours.max(x, axis, keepdims=True))
        mean = staticmethod(ours.mean)

    return {"torch": OfTorch, "gpureduce.torch": OfGpureduce}


def contenders(torch: Any, ours: Any, case: Case) -> dict[str, Callable[[], Any]]:
    """Return the calls by their names in a row."""
    x = torch.randn(case.shape, device="cuda")
    found: dict[str, Callable[[], Any]] = {}
    for name, ops in namespaces(torch, ours).items():

        def step(x: Any, ops: Any = ops) -> Any:
            return case.function(ops, x)

        for mode in LABELS:
            run = torch.compile(step, fullgraph=True, mode=MODES[mode]) if mode in MODES else step
            found[f"{name} {mode}"] = partial(run, x)
    if case.function is CASES["sum(x)"].function:
        found["gpureduce eager"] = lambda: functions.sum(x, as_device=True)
    if case.function is CASES["sum(X, axis=1)"].function:
        found["gpureduce eager"] = lambda: functions.sum(x, 1, keepdims=True)
    return found


class Operators(Benchmark):
    """Operators called, compiled, and compiled into a graph."""

    summary = "host time of gpureduce.torch's operators, called and compiled, compared with PyTorch"
    method = (
        f"host time from the call to its return, median of {calls.TURNS - 1} turns of {calls.BATCH} calls;"
        " X is 4096 x 1024 float32, x has 2^10 elements"
    )
    required = ("torch",)
    repeats = calls.TURNS - 1
    quick: ClassVar[Mapping[str, Any]] = {"repeats": 5}

    def head(self) -> dict[str, Any]:
        """Return the CPU."""
        return {"cpu": environment.cpu_name()}

    def run(self) -> Iterator[dict[str, Any]]:
        """Yield the row of each call, without garbage collection."""
        for text in CASES:
            gc.collect()
            gc.disable()
            try:
                row = self._row(text)
            finally:
                gc.enable()
            yield row

    def _row(self, text: str) -> dict[str, Any]:
        import gpureduce.torch as ours

        torch = self.torch
        torch._dynamo.reset()
        found = contenders(torch, ours, CASES[text])
        self._check(found, text)
        taken = batch_times(
            found, torch.cuda.synchronize, calls.BATCH, self.options.repeats + 1, calls.WARM_UP
        )
        return {"call": text, "us": {name: summarize_times(values, 3) for name, values in taken.items()}}

    def _check(self, found: dict[str, Callable[[], Any]], text: str) -> None:
        wanted = found["torch eager"]()
        for name, call in found.items():
            for _ in range(4):  # by when a graph has been captured
                got = call()
            if name == "gpureduce eager":
                continue
            try:
                self.torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-3)
            except AssertionError as error:
                raise WrongResultError(f"{name} in {text}: {error}") from None

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        return f"{row['call']} { {name: us['median'] for name, us in row['us'].items()} }"

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return the times of all modes."""
        heads = [f"{label}, {name}" for label in LABELS.values() for name in ("PyTorch", "`gpureduce.torch`")]
        names = [f"{name} {mode}" for mode in LABELS for name in NAMESPACES] + ["gpureduce eager"]
        rows = (
            [f"`{row['call']}`", *(markdown.median_us(row, name, "{:.1f}") for name in names)]
            for row in record["rows"]
        )
        head = f"{markdown.source(record, 'torch')}: {markdown.method(record)}."
        heads = ["host time per call, us", *heads, "eager, `gpureduce`"]
        return "\n".join([head, "", *markdown.table(heads, "lr", rows)])


BENCHMARK = Operators
