"""Times each way to launch a flat reduction: ``python benchmarks/run.py shapes --out FILE``.

`variant="auto"` reduces contiguous elements to one result in a single launch, which it chooses by the bytes
of the input from the rows of csrc/reduce/flat/shapes.def. Here every row is timed at every size, in a graph
that goes round inputs which are together larger than the L2 cache, as far as 256 inputs are. The figure is
the median over the replays, in microseconds a reduction.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from gpureduce import _core
from gpureduce._arrays.device_array import DeviceArray, empty, to_device
from gpureduce._bench import environment, files
from gpureduce._bench.stats import summarize_times
from gpureduce._bench.timing import ROTATION_BYTES
from gpureduce._device.devices import resolve
from gpureduce._rules.dtypes import core_dtype

MOST_BUFFERS = 256
APART = 256  # bytes
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
    """Return the row that is taken for so many bytes."""
    return next(i for i, row in enumerate(_core.flat_shapes()) if nbytes <= row[0])


class Pool:
    """Memory of a device, cut into inputs of any dtype and size."""

    def __init__(self, most_bytes: int, device: str) -> None:
        self.kind, self.index = resolve(device)
        piece = np.random.default_rng(20261121).integers(0, 100, 1 << 24, np.int8)  # no NaN in any dtype
        self.bytes = max(ROTATION_BYTES, 2 * most_bytes)
        self.memory = to_device(np.resize(piece, self.bytes), device)
        self.outs: DeviceArray = empty((MOST_BUFFERS,), np.dtype(np.int64), self.kind, self.index)

    def time(self, op: str, dtype: np.dtype, nbytes: int, shape: int, repeats: int) -> list[float]:
        """Return the microseconds of a reduction launched in that way, a figure a repeat."""
        stride = max(-(-nbytes // APART) * APART, ROTATION_BYTES // MOST_BUFFERS)
        count = min(MOST_BUFFERS, self.bytes // stride)
        rounds = max(1, min(256, (1 << 30) // nbytes) // count)
        form = ((nbytes // dtype.itemsize,), (dtype.itemsize,), dtype.name)
        out = core_dtype(op, dtype).name
        sources = tuple((self.memory.pointer + i * stride, *form) for i in range(count))
        outs = tuple((self.outs.pointer + 8 * i, (), (), out) for i in range(count))
        return _core.time_general(
            sources, op, (0,), outs, self.kind, self.index, rounds, repeats, None, shape
        )


def measure(pool: Pool, op: str, dtype: str, exponents: range, repeats: int) -> Iterator[dict]:
    """Yield a row for each size: the time of every shape, and which one is chosen."""
    table = _core.flat_shapes()
    ways = {label(row): i for i, row in enumerate(table)}  # some rows launch alike
    for exponent in exponents:
        nbytes = 1 << exponent
        times = {
            name: round(summarize_times(pool.time(op, np.dtype(dtype), nbytes, i, repeats))["median"], 3)
            for name, i in ways.items()
        }
        yield {
            "op": op,
            "dtype": dtype,
            "bytes": nbytes,
            "us": times,
            "chosen": label(table[chosen(nbytes)]),
            "over_best": round(times[label(table[chosen(nbytes)])] / min(times.values()), 3),
        }


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/run.py shapes", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--most", type=int, default=32, help="exponent of two, for bytes (default 32)")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--out", type=files.writable_path, help="results file to write")
    options = parser.parse_args(argv)
    record = environment.header(environment.find_device(options.device))
    record["method"] = "graph replays over rotated inputs; microseconds a reduction, each way of launching it"
    record["rows"] = []
    pool = Pool(1 << options.most, options.device)
    for op, dtype in CASES:
        for row in measure(pool, op, dtype, range(10, options.most + 1), options.repeats):
            record["rows"].append(row)
            print(
                f"{op:6} {dtype:8} 2^{row['bytes'].bit_length() - 1:<3}",
                row["us"],
                row["over_best"],
                flush=True,
            )
    files.write_result(options.out, record)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
