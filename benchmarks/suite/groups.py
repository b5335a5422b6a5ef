"""Times sums of groups by label, compared with PyTorch, CuPy, torch_scatter and JAX.

Each figure is of a CUDA graph that rotates over inputs larger together than the L2 cache, in microseconds per
call, the median over replays. The results of PyTorch include the zeroed tensor that `index_add_` adds to.
*deterministic* is `index_add_` in PyTorch's deterministic mode, for uniform labels. It and *jax*, which is
`segment_sum` in `jax.jit` with int32 labels, run in no graph: their figures are of batches of calls by the
wall clock.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Benchmark, Call, Times, WrongResultError
from gpureduce import _functions as gpureduce
from gpureduce._bench import timing
from gpureduce._bench.stats import summarize_times

MAX_LAUNCHES = 12
BATCH = 20  # calls outside of graphs
OUTSIDE = ("deterministic", "jax")  # of graphs
HEADS = {
    "gpureduce": "`group_reduce`",
    "copy": "copy",
    "index_add": "`index_add_`",
    "scatter_reduce": "`scatter_reduce_`",
    "cupy": "CuPy",
    "deterministic": "deterministic `index_add_`",
    "torch_scatter": "torch_scatter",
    "jax": "JAX",
}
CHECKED = 40  # groups that are compared with math.fsum


class Case(NamedTuple):
    """Rows, columns, groups, the distribution of the labels, and of the values."""

    rows: int
    columns: int
    groups: int
    labels: str = "uniform"
    values: str = "normal"
    dtype: str = "float32"


CASES = (
    *(Case(10**7, 1, groups) for groups in (100, 1000, 10**4, 10**6)),
    Case(1 << 20, 1, 32768),
    Case(156250, 64, 1000),
    Case(10**6, 64, 10**5),
    Case(10**5, 768, 1000),
    *(
        Case(10**7, 1, groups, labels)
        for groups in (100, 10**4, 10**6)
        for labels in ("zipf", "equal", "sorted")
    ),
    *(Case(10**7, 1, groups, values="wide") for groups in (100, 10**4, 10**6)),
    *(Case(10**7, 1, 10**4, dtype=dtype) for dtype in ("float64", "float16", "bfloat16", "int32")),
    *(Case(10**7, 1, groups, dtype="float64") for groups in (10**5, 10**6, 4 * 10**6)),
    *(Case(10**7, 1, 10**6, labels, dtype="float64") for labels in ("zipf", "sorted")),
    Case(10**6, 64, 10**5, dtype="float64"),
)


class Inputs:
    """Values and labels."""

    def __init__(self, values: list[Any], labels: list[Any]) -> None:
        self.values, self.labels = values, labels

    def __len__(self) -> int:
        return len(self.values)


class Groups(Benchmark):
    """Sums of groups."""

    summary = "group_reduce, compared with PyTorch, CuPy, torch_scatter and JAX"
    method = "graphs over inputs larger than the L2 cache; int64 labels; microseconds per call"
    required = ("torch",)
    optional: ClassVar[tuple[str, ...]] = ("cupy", "torch_scatter", "jax")
    repeats = 7
    quick: ClassVar[Mapping[str, Any]] = {"repeats": 3, "cases": 8}
    listed: ClassVar[tuple[Any, ...]] = CASES

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        parser.add_argument("--cases", type=int, default=len(cls.listed), help="the first cases of the list")

    def cases(self) -> Iterator[Any]:
        """Yield the cases."""
        yield from self.listed[: self.options.cases]

    def _labels(self, case: Case) -> Any:
        torch = self.torch
        if case.labels == "equal":
            return torch.full((case.rows,), case.groups // 2, device="cuda")
        labels = torch.randint(case.groups, (case.rows,), device="cuda")
        if case.labels == "sorted":
            return labels.sort()[0]
        if case.labels == "zipf":  # the label k with a probability of about 1 / k
            uniform = torch.rand(case.rows, dtype=torch.float64, device="cuda")
            return (torch.exp(uniform * math.log(case.groups + 1)).long() - 1).clamp(0, case.groups - 1)
        return labels

    def _values(self, case: Case) -> Any:
        torch = self.torch
        shape = (case.rows, case.columns) if case.columns > 1 else (case.rows,)
        dtype = getattr(torch, case.dtype)
        if not dtype.is_floating_point:
            return torch.randint(-1000, 1000, shape, device="cuda", dtype=dtype)
        values = torch.randn(shape, device="cuda")
        if case.values == "wide":
            values *= torch.exp2(torch.randint(-12, 13, shape, device="cuda").float())
        return values.to(dtype)

    def inputs(self, case: Case) -> Inputs:
        """Return values and labels."""
        itemsize = getattr(self.torch, case.dtype).itemsize
        nbytes = case.rows * (case.columns * itemsize + 8)
        count = max(2, min(MAX_LAUNCHES, timing.ROTATION_BYTES // nbytes + 1))
        return Inputs([self._values(case) for _ in range(count)], [self._labels(case) for _ in range(count)])

    def contenders(self, case: Case, inputs: Inputs) -> dict[str, Call]:
        """Return the calls of all contenders."""
        torch, cupy = self.torch, self.libraries.get("cupy")
        values, labels = inputs.values, inputs.labels
        shape = (case.groups, *values[0].shape[1:])
        out = torch.empty(
            shape, dtype=torch.int64 if case.dtype == "int32" else values[0].dtype, device="cuda"
        )
        sink = torch.empty_like(values[0]), torch.empty_like(labels[0])

        def copy(i: int) -> None:
            sink[0].copy_(values[i])
            sink[1].copy_(labels[i])

        def index_add(i: int) -> Any:
            return torch.zeros(shape, dtype=values[i].dtype, device="cuda").index_add_(
                0, labels[i], values[i]
            )

        calls: dict[str, Call] = {
            "gpureduce": lambda i: gpureduce.group_reduce(values[i], labels[i], "sum", case.groups, out=out),
            "copy": copy,
            "index_add": index_add,
        }
        if case.columns == 1:
            calls["scatter_reduce"] = lambda i: torch.zeros(
                shape, dtype=values[i].dtype, device="cuda"
            ).scatter_reduce_(0, labels[i], values[i], "sum")
        if cupy is not None and case.columns == 1 and case.dtype == "float32":
            arrays = [cupy.from_dlpack(each) for each in values], [cupy.from_dlpack(each) for each in labels]

            def by_cupy(i: int) -> None:
                with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
                    cupy.add.at(cupy.zeros(shape, dtype=case.dtype), arrays[1][i], arrays[0][i])

            calls["cupy"] = by_cupy
        return {**calls, **self._others(case, inputs, index_add)}

    def _others(self, case: Case, inputs: Inputs, index_add: Call) -> dict[str, Call]:
        """Return the calls of torch_scatter, of JAX, and of PyTorch in its deterministic mode."""
        torch, scatter, jax = self.torch, self.libraries.get("torch_scatter"), self.libraries.get("jax")
        values, labels = inputs.values, inputs.labels

        def deterministic(i: int) -> Any:
            torch.use_deterministic_algorithms(True)
            try:
                return index_add(i)
            finally:
                torch.use_deterministic_algorithms(False)

        calls: dict[str, Call] = {}
        if case.labels == "uniform":  # with many equal labels a call takes up to a fifth of a second
            calls["deterministic"] = deterministic
        if scatter is not None:
            calls["torch_scatter"] = lambda i: scatter.scatter(
                values[i], labels[i], dim=0, dim_size=case.groups, reduce="sum"
            )
        if jax is not None and case.dtype == "float32":
            arrays = [jax.numpy.from_dlpack(each) for each in values]
            numbers = [jax.numpy.from_dlpack(each.int()) for each in labels]
            segment_sum = jax.jit(lambda x, label: jax.ops.segment_sum(x, label, case.groups))
            calls["jax"] = lambda i: segment_sum(arrays[i], numbers[i])
        return calls

    def measure(self, case: Case, inputs: Inputs, contenders: Mapping[str, Call]) -> Times:
        """Return microseconds per call: of graphs, and of batches of what runs in no graph."""
        in_graphs = {name: call for name, call in contenders.items() if name not in OUTSIDE}
        times = super().measure(case, inputs, in_graphs)
        for name in contenders.keys() & set(OUTSIDE):
            times[name] = [
                self._batch_time(contenders[name], len(inputs)) for _ in range(self.options.repeats + 1)
            ]
            del times[name][0]  # compiles
        return times

    def _batch_time(self, call: Call, count: int) -> float:
        """Return microseconds per call of a batch."""
        self.torch.cuda.synchronize()
        began = time.perf_counter_ns()
        for i in range(BATCH):
            result: Any = call(i % count)
        if hasattr(result, "block_until_ready"):
            result.block_until_ready()
        self.torch.cuda.synchronize()
        return (time.perf_counter_ns() - began) / 1000 / BATCH

    def check(self, case: Case, inputs: Inputs, contenders: Mapping[str, Callable[..., Any]]) -> None:
        """Raise WrongResultError unless sampled groups are correctly rounded, in any order of the rows."""
        torch, (values, labels) = self.torch, (inputs.values[0], inputs.labels[0])
        found = gpureduce.group_reduce(values, labels, "sum", case.groups)
        order = torch.randperm(case.rows, device="cuda")
        again = gpureduce.group_reduce(values[order], labels[order], "sum", case.groups)
        if not torch.equal(torch.from_dlpack(found), torch.from_dlpack(again)):
            raise WrongResultError(f"{case}: another order of the rows gives other bits")
        found = torch.from_dlpack(found).cpu()
        for group in torch.randint(case.groups, (CHECKED,)).tolist():
            rows = values[labels == group]
            column = rows[:, 0] if case.columns > 1 else rows
            expected = math.fsum(column.double().tolist())
            got = found[group, 0] if case.columns > 1 else found[group]
            if torch.tensor(expected, dtype=torch.float64).to(found.dtype) != got:
                raise WrongResultError(f"{case}: group {group} is {float(got)}, not {expected}")

    def launches(self, case: Case, inputs: Inputs) -> int:
        """Return the number of inputs."""
        return len(inputs)

    def rows(self, case: Case, inputs: Inputs, times: Times) -> list[dict[str, Any]]:
        """Return a row."""
        us = {contender: summarize_times(taken, 2) for contender, taken in times.items()}
        self.torch.cuda.empty_cache()
        return [{**case._asdict(), "us": us}]

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        times = "  ".join(f"{name} {us['median']:.1f}" for name, us in row["us"].items())
        what = (
            f"{row['rows']:>9} x {row['columns']:<3} {row['groups']:>8} {row['labels']:8} {row['values']:7}"
        )
        return f"{what} {row['dtype']:9} {times}"

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return all rows."""
        names = [name for name in HEADS if any(name in row["us"] for row in record["rows"])]
        rows = (
            [
                f"{row['rows']:,}" + (f" x {row['columns']}" if row["columns"] > 1 else ""),
                f"{row['groups']:,}",
                row["dtype"],
                row["labels"],
                row["values"],
                *(markdown.median_us(row, name) for name in names),
            ]
            for row in record["rows"]
        )
        heads = ["rows", "groups", "dtype", "labels", "values", *(HEADS[name] for name in names)]
        source = f"{markdown.source(record, 'torch', 'cupy', 'torch_scatter', 'jax')}: {record['method']}."
        return "\n".join([source, "", *markdown.table(heads, "rrlll" + "r" * len(names), rows)])


BENCHMARK = Groups
