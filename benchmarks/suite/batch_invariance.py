"""Times matrix products whose rows have the same bits in every batch, those of any order, and PyTorch's."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Benchmark, Call, Times, WrongResultError
from gpureduce._bench import timing
from gpureduce._bench.matmul_timing import MatmulInputs
from gpureduce._bench.stats import summarize_times
from gpureduce._matmul.product import matmul

# m, n, k: squares, and fewer and fewer rows; many rows and few columns; projections of a language model.
SHAPES = (
    (4096, 4096, 4096), (1024, 4096, 4096), (64, 4096, 4096), (16, 4096, 4096), (1, 4096, 4096),
    (16, 14336, 4096), (16, 4096, 14336), (4096, 128, 4096), (32768, 128, 4096), (1, 128, 65536),
    (2048, 2048, 1024), (1024, 1024, 1024), (256, 256, 256), (4096, 1, 4096),
)  # fmt: skip
NAMES = ("batch_invariant", "any_order", "torch")
FEW_ROWS = 64  # up to which a transposed b is a case, too: a linear layer
LARGEST = 1 << 35  # products of all dtypes but those of 4 bytes and fewer


class Case(NamedTuple):
    """A product of one shape."""

    dtype: str
    precision: str
    m: int
    n: int
    k: int
    transposed: bool


class BatchInvariance(Benchmark):
    """Products with and without `batch_invariant`."""

    summary = "matmul with and without batch_invariant, compared with PyTorch"
    method = (
        "graphs over inputs larger than the L2 cache, contenders in turn, us per product; before, half of the"
        " rows, the last row and the first row were multiplied alone and their bits compared"
    )
    required = ("torch",)
    repeats = 5
    quick: ClassVar[Mapping[str, Any]] = {"repeats": 3, "dtypes": ["float32"], "largest": 1 << 24}

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        parser.add_argument("--dtypes", nargs="+", default=["float32", "float64", "bfloat16"])
        parser.add_argument("--precisions", nargs="+", default=["ieee"], help="of float32")
        parser.add_argument("--largest", type=int, default=1 << 40, help="most multiply-adds of a product")

    def cases(self) -> Iterator[Case]:
        """Yield the cases."""
        for dtype in self.options.dtypes:
            largest = LARGEST if dtype in ("float64", "complex64", "complex128") else 1 << 40
            for precision in self.options.precisions if dtype == "float32" else ("ieee",):
                for m, n, k in SHAPES:
                    if m * n * k > min(largest, self.options.largest):
                        continue
                    yield Case(dtype, precision, m, n, k, False)
                    if m <= FEW_ROWS and n > 1:
                        yield Case(dtype, precision, m, n, k, True)

    def inputs(self, case: Case) -> MatmulInputs:
        """Return sets of matrices."""
        sets = MatmulInputs(self.torch, case[2:5], case.dtype)
        if case.transposed:
            sets.b = [b.t().contiguous().t() for b in sets.b]
        return sets

    def contenders(self, case: Case, inputs: MatmulInputs) -> dict[str, Call]:
        """Return the calls of all contenders."""
        torch, a, b, c = self.torch, inputs.a, inputs.b, inputs.c
        precision = case.precision if case.dtype == "float32" else None

        def by(batch_invariant: bool) -> Call:
            return lambda i: matmul(a[i], b[i], c[i], precision=precision, batch_invariant=batch_invariant)

        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        calls = {"batch_invariant": by(True), "any_order": by(False)}
        calls["torch"] = lambda i: torch.mm(a[i], b[i], out=c[i])
        return calls

    def check(self, case: Case, inputs: MatmulInputs, contenders: Mapping[str, Callable[..., Any]]) -> None:
        """Raise WrongResultError if a product is wrong, or if rows have other bits in a smaller batch."""
        torch, a, b = self.torch, inputs.a[0], inputs.b[0]
        limit = 1e-2 if inputs.dtype.itemsize == 2 else 1e-3 if case.precision == "tf32" else 1e-5
        for name in NAMES[:2]:
            if not inputs.error(contenders[name]) <= limit:
                raise WrongResultError(f"{case}: {name} is wrong")
        precision = case.precision if case.dtype == "float32" else None
        contenders["batch_invariant"](0)
        whole, m = inputs.c[0].clone(), case.m
        for first, end in {(0, (m + 1) // 2), (m - 1, m), (0, 1)}:
            part = torch.from_dlpack(matmul(a[first:end], b, precision=precision))
            rows = whole[first:end].contiguous()
            if not torch.equal(part.view(torch.uint8), rows.view(torch.uint8)):
                raise WrongResultError(f"{case}: rows {first} to {end} have other bits on their own")

    def launches(self, case: Case, inputs: MatmulInputs) -> int:
        """Return the number of products in a graph."""
        return inputs.count if case.m * case.n * case.k > 1 << 34 else max(inputs.count, 8)

    def measure(
        self, case: Case, inputs: MatmulInputs, contenders: Mapping[str, Callable[..., Any]]
    ) -> Times:
        """Return microseconds per product."""
        return timing.graph_times(
            self.torch, contenders, inputs.count, self.launches(case, inputs), self.turns()
        )

    def rows(self, case: Case, inputs: MatmulInputs, times: Times) -> Iterator[dict[str, Any]]:
        """Yield the row of a case."""
        us = {
            name: {key: round(value, 2) for key, value in summarize_times(times[name]).items()}
            for name in NAMES
        }
        yield {**case._asdict(), "us": us}

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line of the terminal."""
        figures = ", ".join(f"{name} {row['us'][name]['median']} us" for name in NAMES)
        layout = " transposed" if row["transposed"] else ""
        return f"{row['dtype']} {row['precision']} {row['m']} x {row['n']} x {row['k']}{layout}: {figures}"

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return all rows."""
        rows = (
            [
                row["dtype"] if row["precision"] == "ieee" else f"{row['dtype']}, {row['precision']}",
                f"{row['m']:,} x {row['n']:,} x {row['k']:,}",
                "transposed" if row["transposed"] else "",
                *(markdown.median_us(row, name) for name in NAMES),
            ]
            for row in record["rows"]
        )
        heads = ["dtype", "M x N x K", "b", "default", "`batch_invariant=False`", "PyTorch"]
        has_versions = "toolkit" in record
        where = markdown.source(record, "torch") if has_versions else f"{record['device']}, {record['date']}"
        source = f"{where}: {record['method']}."
        return "\n".join([source, "", *markdown.table(heads, "lllrrr", rows)])


BENCHMARK = BatchInvariance
