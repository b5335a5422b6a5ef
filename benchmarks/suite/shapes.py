"""Times each way to launch a flat reduction.

`variant="auto"` reduces contiguous elements to one result in a single launch, which it chooses by the bytes
of the input from the rows of csrc/reduce/flat/shapes.def. Here every row is timed at every size, in a graph
that rotates over inputs which are together larger than the L2 cache, as far as 256 inputs are. The figure is
the median over the replays, in microseconds per reduction.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Benchmark, Times
from gpureduce import _core
from gpureduce._arrays.device_array import empty, to_device
from gpureduce._bench.stats import summarize_times
from gpureduce._bench.timing import ROTATION_BYTES
from gpureduce._device.devices import resolve
from gpureduce._rules.dtypes import core_dtype

MAX_BUFFERS = 256
ALIGNMENT = 256  # bytes
CASES = (
    ("sum", "float32"),
    ("sum", "float64"),
    ("sum", "float16"),
    ("sum", "int8"),
    ("max", "float32"),
    ("max", "int8"),
    ("argmax", "float32"),
    ("argmax", "int8"),
)


def label(row: tuple) -> str:
    """Return a row of the table as text, such as ``flat 1024 x 132 early``."""
    _, kernel, threads, blocks, early = row
    return f"{kernel} {threads} x {blocks}{' early' if early else ''}"


def chosen(nbytes: int) -> int:
    """Return the row that is taken for an input of `nbytes` bytes."""
    return next(i for i, row in enumerate(_core.flat_shapes()) if nbytes <= row[0])


class Pool:
    """Memory of a device, cut into inputs of any dtype and size."""

    def __init__(self, max_bytes: int, device: str) -> None:
        self.kind, self.index = resolve(device)
        piece = np.random.default_rng(20261121).integers(0, 100, 1 << 24, np.int8)  # no NaN in any dtype
        self.bytes = max(ROTATION_BYTES, 2 * max_bytes)
        self.memory = to_device(np.resize(piece, self.bytes), device)
        self.outs = empty((MAX_BUFFERS,), np.dtype(np.int64), self.kind, self.index)

    def time(self, op: str, dtype: np.dtype, nbytes: int, shape: int, repeats: int) -> list[float]:
        """Return the microseconds of a reduction launched by row `shape` of the table, one per repeat."""
        stride = max(-(-nbytes // ALIGNMENT) * ALIGNMENT, ROTATION_BYTES // MAX_BUFFERS)
        count = min(MAX_BUFFERS, self.bytes // stride)
        rounds = max(1, min(256, (1 << 30) // nbytes) // count)
        form = ((nbytes // dtype.itemsize,), (dtype.itemsize,), dtype.name)
        out = core_dtype(op, dtype).name
        sources = tuple((self.memory._pointer + i * stride, *form) for i in range(count))
        outs = tuple((self.outs._pointer + 8 * i, (), (), out) for i in range(count))
        return _core.time_general(
            sources, op, (0,), outs, self.kind, self.index, rounds, repeats, None, shape
        )


class Shapes(Benchmark):
    """Every row of shapes.def at every size."""

    summary = "each way to launch a flat reduction, at every size"
    method = "graph replays over rotated inputs; microseconds per reduction, each way of launching it"
    repeats = 9
    quick: ClassVar[Mapping[str, Any]] = {"max_exponent": 24, "step": 4, "repeats": 3}

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        parser.add_argument("--max-exponent", type=int, default=32, help="of two, for bytes (default 32)")
        parser.add_argument("--step", type=int, default=1, help="between exponents (default 1)")

    def cases(self) -> Iterable[tuple[str, str, int]]:
        """Return operator, dtype and bytes."""
        self.pool = Pool(1 << self.options.max_exponent, str(self.where))
        exponents = range(10, self.options.max_exponent + 1, self.options.step)
        return [(*pair, 1 << exponent) for pair, exponent in itertools.product(CASES, exponents)]

    def inputs(self, case: tuple[str, str, int]) -> Pool:
        """Return the memory that all cases share."""
        return self.pool

    def contenders(self, case: tuple[str, str, int], inputs: Pool) -> dict[str, Callable[[int], Any]]:
        """Return the rows of the table by their text; some launch alike."""
        op, dtype, nbytes = case

        def way(shape: int) -> Callable[[int], Any]:
            return lambda repeats: inputs.time(op, np.dtype(dtype), nbytes, shape, repeats)

        return {label(row): way(i) for i, row in enumerate(_core.flat_shapes())}

    def measure(self, case: Any, inputs: Pool, contenders: Mapping[str, Callable[..., Any]]) -> Times:
        """Return microseconds by the graphs of the core."""
        return {name: call(self.options.repeats) for name, call in contenders.items()}

    def rows(self, case: tuple[str, str, int], inputs: Pool, times: Times) -> list[dict[str, Any]]:
        """Return a row: the median of every row of the table, and which one is chosen."""
        op, dtype, nbytes = case
        us = {name: summarize_times(taken, 3)["median"] for name, taken in times.items()}
        taken = label(_core.flat_shapes()[chosen(nbytes)])
        over_best = round(us[taken] / min(us.values()), 3)
        row = {"op": op, "dtype": dtype, "bytes": nbytes, "us": us, "chosen": taken}
        return [{**row, "over_best": over_best}]

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        exponent = row["bytes"].bit_length() - 1
        return f"{row['op']:6} {row['dtype']:8} 2^{exponent:<3} {row['us']} {row['over_best']}"

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return what is chosen, and its time over the best."""
        rows = (
            [
                f"{row['op']} {row['dtype']}",
                markdown.power(row["bytes"]),
                row["chosen"],
                f"{row['us'][row['chosen']]:.2f}",
                f"{row['over_best']:.3f}",
            ]
            for row in record["rows"]
        )
        heads = ["of", "bytes", "chosen", "us", "over the best"]
        head = f"{markdown.source(record)}: {record['method']}."
        return "\n".join([head, "", *markdown.table(heads, "lrlrr", rows)])


BENCHMARK = Shapes
