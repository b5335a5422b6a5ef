"""Times reductions along axes on a CUDA device: ``python benchmarks/run.py axis --out FILE``.

Sums of arrays of one size in every shape, beside the sum of all their elements (the flat reduction) and,
where PyTorch is there, beside `torch.sum` over the same memory. Launches are replayed as a graph that rotates
over copies of the input, and over places for the results, together larger than the L2 cache. The figure is
the median over the replays, in microseconds a reduction with all its passes.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator

import numpy as np

from gpureduce import _core
from gpureduce._arrays.device_array import DeviceArray, empty, to_device
from gpureduce._bench import environment, files, timing
from gpureduce._bench.stats import summarize_times
from gpureduce._bench.timing import ROTATION_BYTES
from gpureduce._device.devices import resolve
from gpureduce._rules import arguments as rules
from gpureduce._rules.dtypes import core_dtype

LAUNCHES = 16  # a graph holds about as many reductions

Case = tuple[tuple[int, ...], tuple[int, ...]]  # shape and reduced axes


def powers(exponent: int, step: int = 1) -> Iterator[Case]:
    """Yield (2^i, 2^(exponent - i)), each reduced over the first and over the last axis."""
    for axis in (0, 1):
        for i in range(0, exponent + 1, step):
            yield (1 << i, 1 << (exponent - i)), (axis,)


def others() -> Iterator[Case]:
    """Yield shapes of about 2^24 elements: three dimensions, and lengths that fit no vector or tile."""
    cube = (256, 256, 256)
    yield from ((cube, axes) for axes in [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)])
    yield from (((1 << 16, 16, 16), (axis,)) for axis in (0, 1, 2))
    yield from (((32, 64, 8192), axes) for axes in [(0, 2), (1,)])
    yield ((1 << 12, 1000, 4), (1,))
    yield ((1 << 12, 1365, 3), (1,))
    for short in (3, 5, 7, 12, 17, 31, 33, 63, 100, 127, 129, 257, 1001, 10_007):
        yield ((1 << 24) // short, short), (1,)
        yield ((1 << 24) // short, short), (0,)
        yield (short, (1 << 24) // short), (0,)


class Buffers:
    """Copies of one array on a device, read in any shape."""

    def __init__(self, data: np.ndarray, device: str) -> None:
        self.kind, self.index = resolve(device)
        self.dtype = data.dtype
        count = max(2, math.ceil(ROTATION_BYTES / data.nbytes))
        self.arrays = [to_device(data, device) for _ in range(count)]
        self.rounds = max(1, LAUNCHES // count)

    def results(self, kept: tuple[int, ...], op: str) -> list[DeviceArray]:
        """Return a place for the results of a reduction of each copy."""
        dtype = core_dtype(op, self.dtype)
        return [empty(kept, dtype, self.kind, self.index) for _ in self.arrays]

    def sources(self, shape: tuple[int, ...]) -> tuple:
        """Return the copies as views for the core."""
        strides = rules.c_strides(shape, self.dtype.itemsize)
        return tuple((array.pointer, shape, strides, self.dtype.name) for array in self.arrays)

    def kernels(self, case: Case, op: str) -> list[str]:
        """Return the names of the kernels that reduce it, with their grids."""
        plan = _core.plan_general(self.sources(case[0])[0], op, case[1], None)
        return [f"{kernel}[{x}x{y}]" for kernel, _, x, y in plan]

    def time(self, case: Case, op: str, repeats: int) -> list[float]:
        """Return the microseconds of a reduction, a figure a repeat."""
        shape, axes = case
        sources = self.sources(shape)
        outs = self.results(rules.kept_shape(shape, axes), op)
        views = tuple(out.view_tuple() for out in outs)
        return _core.time_general(sources, op, axes, views, self.kind, self.index, self.rounds, repeats)


class TorchBuffers:
    """The same memory for PyTorch."""

    def __init__(self, buffers: Buffers) -> None:
        import torch

        self.torch = torch
        self.tensors = [torch.from_dlpack(array) for array in buffers.arrays]
        self.rounds = buffers.rounds

    def time(self, case: Case, repeats: int) -> list[float]:
        """Return the microseconds of `torch.sum`, a figure a repeat."""
        torch, (shape, axes) = self.torch, case
        views = [tensor[: math.prod(shape)].view(shape) for tensor in self.tensors]
        outs = [torch.sum(view, axes) for view in views]
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(self.rounds):
                for view, out in zip(views, outs, strict=True):
                    torch.sum(view, axes, out=out)
        return timing.replay_times(torch, graph, self.rounds * len(views), repeats)


def measure(
    buffers: Buffers, torch: TorchBuffers | None, cases: list[Case], repeats: int, op: str = "sum"
) -> Iterator[dict]:
    """Yield a row for each case; `ratio` is flat bandwidth over this one, of all bytes read and written."""
    item = buffers.dtype.itemsize
    out_item = core_dtype(op, buffers.dtype).itemsize
    flat: dict[int, float] = {}
    for shape, axes in cases:
        n = math.prod(shape)
        if n not in flat:
            flat[n] = summarize_times(buffers.time(((n,), (0,)), op, repeats))["median"]
        spread = summarize_times(buffers.time((shape, axes), op, repeats))
        results = math.prod(rules.kept_shape(shape, axes))
        moved = n * item + results * out_item
        row = {
            "op": op,
            "dtype": str(buffers.dtype),
            "shape": shape,
            "axes": axes,
            "us": {key: round(value, 3) for key, value in spread.items()},
            "gb_per_s": round(moved / spread["median"] / 1e3, 1),
            "flat_us": round(flat[n], 3),
            "ratio": round(spread["median"] / flat[n] * (n * item) / moved, 3),
            "kernels": " ".join(buffers.kernels((shape, axes), op)),
        }
        if torch is not None:
            row["torch_us"] = round(summarize_times(torch.time((shape, axes), repeats))["median"], 3)
        yield row


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python benchmarks/run.py axis", description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--exponent", type=int, default=24, help="of two, for the elements (default 24)")
    parser.add_argument("--large", type=int, default=26, help="the same for a second, coarser sweep")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--no-torch", action="store_true")
    parser.add_argument("--out", type=files.writable_path, help="results file to write")
    options = parser.parse_args(argv)

    record = environment.header(environment.find_device(options.device))
    record["method"] = "graph replays over rotated input copies; microseconds a reduction, all passes"
    record["rows"] = []
    main_cases = [*powers(options.exponent), *others()]
    sweeps = [
        ("float32", options.exponent, main_cases),
        ("float16", options.exponent, list(powers(options.exponent, 2))),
        ("int8", options.exponent, list(powers(options.exponent, 2))),
        ("float64", options.exponent, list(powers(options.exponent, 2))),
        ("float32", options.large, list(powers(options.large, 2))),
    ]
    random = np.random.default_rng(20261121)
    for dtype, exponent, cases in sweeps:
        data = random.integers(-100, 100, 1 << exponent).astype(dtype)
        buffers = Buffers(data, options.device)
        torch = None if options.no_torch else TorchBuffers(buffers)
        if torch is not None:
            record["torch"] = torch.torch.__version__
        for row in measure(buffers, torch, cases, options.repeats):
            record["rows"].append(row)
            print(
                f"{row['dtype']:8} {'x'.join(map(str, row['shape'])):>18} over {row['axes']!s:7}"
                f" {row['us']['median']:8.2f} us {row['gb_per_s']:7.0f} GB/s  ratio {row['ratio']:5.2f}"
                f"  torch {row.get('torch_us', math.nan):8.2f} us  {row['kernels']}",
                flush=True,
            )
    files.write_result(options.out, record)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
