"""Which of PyTorch's operators keep the bits of a row: on every run, in every batch, and at every address.

Each operator takes rows of numbers that cancel or spread over exponents; `check_invariance` compares the bits
of the results. The same is done within `gpureduce.torch.batch_invariant()`. Nothing is timed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from typing import Any, ClassVar, NamedTuple

from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Benchmark
from gpureduce.testing import check_invariance

PROMISES = ("repeat", "batch", "place")
DATA = ("cancelling", "wide")
MODES = ("torch", "batch_invariant")
ROWS, WIDTH = 256, 2048
LONG_ROWS, LONG_WIDTH = 32, 1 << 16
LONG = ("sum", "mean", "var", "linalg.vector_norm", "softmax", "cumsum")  # also of long rows
LABELS = 8
# PyTorch's attention kernels end in a CUDA error ("misaligned address") if their inputs are not aligned, and
# the process cannot use its GPU any more.
ALIGNED = ("scaled_dot_product_attention",)


class Case(NamedTuple):
    """An operator, a dtype, and whether it runs within batch_invariant()."""

    operator: str
    dtype: str
    mode: str


def operators(torch: Any, dtype: Any, width: int, device: str) -> dict[str, Callable[[Any], Any]]:
    """Return functions of rows, by name; the others of their arguments are the same in every call."""
    functional = torch.nn.functional
    generator = torch.Generator(device).manual_seed(1)

    def random(*shape: int) -> Any:
        return torch.randn(shape, device=device, generator=generator).to(dtype) / 16

    weight, ones, bias = random(width, 512), random(width), random(512)
    filters = random(32, 16, 3, 3)
    side = int((width // 16) ** 0.5)
    many = random(32, width, 64)
    found = {
        "sum": lambda a: a.sum(1),
        "mean": lambda a: a.mean(1),
        "var": lambda a: a.var(1),
        "linalg.vector_norm": lambda a: torch.linalg.vector_norm(a, dim=1),
        "amax": lambda a: a.amax(1),
        "logsumexp": lambda a: a.logsumexp(1),
        "softmax": lambda a: a.softmax(1),
        "log_softmax": lambda a: a.log_softmax(1),
        "cumsum": lambda a: a.cumsum(1),
        "layer_norm": lambda a: functional.layer_norm(a, (width,), ones, ones),
        "rms_norm": lambda a: functional.rms_norm(a, (width,), ones),
        "mm": lambda a: a @ weight,
        "addmm": lambda a: torch.addmm(bias, a, weight),
        "bmm, 32 batches": lambda a: torch.bmm(a.expand(32, *a.shape), many).movedim(1, 0),
        "scaled_dot_product_attention": lambda a: functional.scaled_dot_product_attention(
            *(a.reshape(len(a), 4, -1, 64),) * 3
        ),
        "conv2d": lambda a: functional.conv2d(
            a[:, : 16 * side * side].reshape(-1, 16, side, side), filters, padding=1
        ),
        "sort": lambda a: a.sort(1).values,
    }
    return found


class Invariance(Benchmark):
    """PyTorch's operators and three promises."""

    summary = "which of PyTorch's operators keep the bits of a row, with and without batch_invariant()"
    method = (
        f"check_invariance, {ROWS} rows of {WIDTH:,} elements, {LONG_ROWS} of {LONG_WIDTH:,};"
        " cancelling and wide data"
    )
    required = ("torch",)
    repeats = 1
    quick: ClassVar[Mapping[str, Any]] = {"dtypes": ["float32"], "rows": 16, "width": 1024}

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        parser.add_argument("--dtypes", nargs="+", default=["float32", "bfloat16"])
        parser.add_argument("--rows", type=int, default=ROWS)
        parser.add_argument("--width", type=int, default=WIDTH)

    def run(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each operator, dtype and mode."""
        from gpureduce.torch import batch_invariant

        self.torch.backends.cuda.matmul.allow_tf32 = False
        for dtype in self.options.dtypes:
            for name, fn, given, promises in self._calls(dtype):
                for mode in MODES:
                    with batch_invariant() if mode == "batch_invariant" else nullcontext():
                        report = check_invariance(
                            fn, given, axis=0 if "batch" in promises else None, over=promises, data=DATA
                        )
                    yield {
                        **Case(name, dtype, mode)._asdict(),
                        "failed": sorted(report.failed()),
                        "found": [str(each) for each in report.differences[:2]],
                    }

    def _calls(self, dtype: str) -> Iterator[tuple[str, Callable[[Any], Any], Any, tuple[str, ...]]]:
        """Yield functions with their names, inputs and the promises that are checked."""
        torch, device, kind = self.torch, str(self.where), getattr(self.torch, dtype)
        generator = torch.Generator(device).manual_seed(0)

        def rows(*shape: int) -> Any:
            return torch.randn(shape, device=device, generator=generator).to(kind)

        short, few_long = rows(self.options.rows, self.options.width), rows(LONG_ROWS, LONG_WIDTH)
        found = operators(torch, kind, self.options.width, device)
        for name, fn in found.items():
            yield name, fn, short, PROMISES[:2] if name in ALIGNED else PROMISES
        for name in LONG:
            yield f"{name}, long rows", found[name], few_long, PROMISES
        labels = torch.arange(len(short), device=device) % LABELS
        zeros = torch.zeros((LABELS, self.options.width), device=device, dtype=kind)
        yield "index_add", lambda a: zeros.index_add(0, labels[: len(a)], a), short, ("repeat",)

    def finish(self, record: dict[str, Any]) -> None:
        """Name the promises that were checked."""
        record["checked"] = list(PROMISES)

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line of the terminal."""
        failed = ", ".join(row["failed"]) or "none"
        return f"{row['operator']} {row['dtype']} {row['mode']}: broken promises: {failed}"

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return a line for each operator, a column for each dtype and mode."""
        cells = {
            (row["operator"], row["dtype"], row["mode"]): ", ".join(row["failed"]) or "none"
            for row in record["rows"]
        }
        names = list(dict.fromkeys(row["operator"] for row in record["rows"]))
        columns = list(dict.fromkeys((row["dtype"], row["mode"]) for row in record["rows"]))
        modes = {"torch": "", "batch_invariant": ", `batch_invariant()`"}
        heads = ["operator", *(f"{dtype}{modes[mode]}" for dtype, mode in columns)]
        rows: Iterable[list[str]] = (
            [f"`{name}`", *(cells.get((name, *column), "") for column in columns)] for name in names
        )
        source = f"{markdown.source(record, 'torch')}: {record['method']}."
        return "\n".join([source, "", *markdown.table(heads, "l" * len(heads), rows)])


BENCHMARK = Invariance
