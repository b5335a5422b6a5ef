"""Times calls whose result stays on the device, from Python to enqueued: ``python benchmarks/run.py calls``.

What a call costs the host, beside PyTorch's and CuPy's own calls for the same: each contender makes a few
hundred calls, the device finishes them, and the next one has its turn; a figure is the median over many
turns. Then, with a tenth of a second of work queued in the stream, how long a call keeps the host; and
whether it can be captured into a graph, and replayed with other contents.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from gpureduce._arrays.device_array import DeviceArray, to_device
from gpureduce._bench import environment, files
from gpureduce._bench.stats import summarize_times
from gpureduce._reduce import functions

MATRIX, FEW = (4096, 1024), (1 << 10,)
BATCH, TURNS, WARM_UP, WAITS = 200, 40, 20, 5
SLEEP = 200_000_000  # cycles of the device: 0.1 s of an H200
TITLES = {
    "torch": "PyTorch",
    "cupy": "CuPy",
    "gpureduce_of_tensor": "gpureduce, of a tensor",
    "gpureduce_of_cupy": "of a CuPy array",
    "gpureduce_of_ours": "of a `DeviceArray`",
}
OURS = tuple(name for name in TITLES if name.startswith("gpureduce"))
# By the text in the table: operator, shape, axis, and whether the result has a place already.
CALLS = {
    "sum(X, axis=1)": ("sum", MATRIX, 1, False),
    "sum(X, axis=1, out=o)": ("sum", MATRIX, 1, True),
    "argmax(X, axis=1)": ("argmax", MATRIX, 1, False),
    "sum(x, out=o)": ("sum", FEW, None, True),
    "sum(x, as_device=True)": ("sum", FEW, None, False),
}
Call = Callable[[], object]


class Stage:
    """One reduction by all contenders, each with arrays of its own, in one stream of CuPy and PyTorch."""

    def __init__(self, torch, cupy, stream, text: str) -> None:
        self.torch, self.cupy, self.stream = torch, cupy, stream
        self.op, self.shape, self.axis, self.placed = CALLS[text]
        zeros = np.zeros(self.shape, np.float32)
        self.tensor = torch.from_numpy(zeros).cuda()
        self.array = cupy.asarray(zeros)
        self.ours = to_device(zeros, "cuda:0")

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """Make the stream the current one of both libraries."""
        torch, handle = self.torch, self.stream.ptr
        theirs = torch.cuda.ExternalStream(handle) if handle else torch.cuda.default_stream()
        with self.stream, torch.cuda.stream(theirs):
            yield

    def write(self, values: np.ndarray) -> None:
        """Give all inputs other contents."""
        self.torch.cuda.synchronize()
        self.tensor.copy_(self.torch.from_numpy(values))
        self.array.set(values)
        self.cupy.asarray(self.ours).set(values)
        self.torch.cuda.synchronize()

    def expected(self, values: np.ndarray) -> np.ndarray:
        """Return the result, by NumPy."""
        return getattr(np, self.op)(values.astype(np.float64), axis=self.axis)

    def calls(self) -> dict[str, Call]:
        """Return a call of each contender."""
        theirs, reduce = getattr(self.torch, self.op), getattr(functions, self.op)
        cupys = getattr(self.array, self.op)
        mine: dict = {"stream": self.stream} if self.stream.ptr else {}  # a DeviceArray is in the default one
        tensor, array, ours, axis = self.tensor, self.array, self.ours, self.axis
        if self.placed:
            zeros = np.zeros(tuple(n for i, n in enumerate(self.shape) if i != axis and axis is not None))
            zeros = zeros.astype(np.float32)
            place, room = self.torch.from_numpy(zeros).cuda(), self.cupy.asarray(zeros)
            own = to_device(zeros, "cuda:0")
            return {
                "torch": lambda: theirs(tensor, axis or 0, out=place),
                "cupy": lambda: cupys(axis=axis, out=room),
                "gpureduce_of_tensor": lambda: reduce(tensor, axis=axis, out=place),
                "gpureduce_of_cupy": lambda: reduce(array, axis=axis, out=room),
                "gpureduce_of_ours": lambda: reduce(ours, axis=axis, out=own, **mine),
            }
        if axis is None:
            return {
                "torch": lambda: theirs(tensor),
                "cupy": lambda: cupys(),
                "gpureduce_of_tensor": lambda: reduce(tensor, as_device=True),
                "gpureduce_of_cupy": lambda: reduce(array, as_device=True),
                "gpureduce_of_ours": lambda: reduce(ours, as_device=True, **mine),
            }
        return {
            "torch": lambda: theirs(tensor, axis),
            "cupy": lambda: cupys(axis=axis),
            "gpureduce_of_tensor": lambda: reduce(tensor, axis=axis),
            "gpureduce_of_cupy": lambda: reduce(array, axis=axis),
            "gpureduce_of_ours": lambda: reduce(ours, axis=axis, **mine),
        }

    def read(self, result) -> np.ndarray:
        """Return a result in host memory."""
        self.torch.cuda.synchronize()
        if isinstance(result, DeviceArray):
            return result.numpy()
        return result.get() if isinstance(result, self.cupy.ndarray) else result.cpu().numpy()


def numbers(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Return whole numbers, whose sums are exact, with one largest in each row."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-99, 100, shape).astype(np.float32)
    np.put_along_axis(values, rng.integers(0, shape[-1], (*shape[:-1], 1)), 200, -1)
    return values


def check(stage: Stage) -> None:
    """Raise unless every call gives NumPy's result."""
    values = numbers(stage.shape, 1)
    stage.write(values)
    for name, call in stage.calls().items():
        if not np.array_equal(stage.read(call()), stage.expected(values)):
            raise SystemExit(f"{name} is wrong in {stage.op} over axis {stage.axis}")


def times(
    calls: dict[str, Call], finish: Call, batch: int = BATCH, turns: int = TURNS, warm_up: int = WARM_UP
) -> dict[str, list[float]]:
    """Return the microseconds of a call, a figure for each turn but the first."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(turns):
        for name, call in calls.items():
            for _ in range(warm_up):
                call()
            finish()
            start = time.perf_counter_ns()
            for _ in range(batch):
                call()
            stop = time.perf_counter_ns()
            finish()
            if turn > 0:
                taken[name].append((stop - start) / 1000 / batch)
    return taken


def waits(stage: Stage, calls: dict[str, Call]) -> dict[str, list[float]]:
    """Return for how many milliseconds each call keeps the host while the stream is busy."""
    torch = stage.torch
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for name, call in calls.items():
        for _ in range(WAITS):
            call()
            torch.cuda.synchronize()
            torch.cuda._sleep(SLEEP)
            start = time.perf_counter_ns()
            call()
            taken[name].append((time.perf_counter_ns() - start) / 1e6)
            torch.cuda.synchronize()
    return taken


def captured(stage: Stage, call: Call) -> bool:
    """Whether a graph of the call, replayed with other contents, gives their result."""
    stage.write(numbers(stage.shape, 2))
    graph = None
    stage.stream.begin_capture(stage.cupy.cuda.runtime.streamCaptureModeThreadLocal)
    try:
        result = call()
    except Exception as error:
        print(f"not captured: {error!r}", flush=True)
    finally:
        with contextlib.suppress(Exception):  # the capture that the call has broken
            graph = stage.stream.end_capture()
    if graph is None:
        return False
    values = numbers(stage.shape, 3)
    stage.write(values)
    graph.launch(stage.stream)
    return np.array_equal(stage.read(result), stage.expected(values))


def measure(torch, cupy, text: str) -> dict:
    """Return the row of one call: microseconds, waits in milliseconds in two streams, captures."""
    default, side = cupy.cuda.Stream.null, cupy.cuda.Stream(non_blocking=True)
    row: dict = {"call": text, "shape": list(CALLS[text][1]), "dtype": "float32", "us": {}, "wait_ms": {}}
    for where, stream in (("default", default), ("another", side)):
        stage = Stage(torch, cupy, stream, text)
        with stage.inside():
            check(stage)
            calls = stage.calls()
            if where == "default":
                found = times(calls, torch.cuda.synchronize)
                row["us"] = {name: rounded(values) for name, values in found.items()}
            kept = waits(stage, calls)
            row["wait_ms"][where] = {name: rounded(values) for name, values in kept.items()}
            if where == "another":
                row["captured"] = {name: captured(stage, call) for name, call in calls.items()}
    theirs = row["us"]["torch"]["median"]
    row["ratio"] = {name: round(row["us"][name]["median"] / theirs, 3) for name in OURS}
    return row


def rounded(values: list[float]) -> dict:
    """Return median and range, in digits that mean something."""
    return {key: round(value, 3) for key, value in summarize_times(values).items()}


def table(record: dict) -> str:
    """Return a results file as Markdown."""
    head = " | ".join(TITLES.values())
    lines = [
        f"{record['device']}, {record['cpu']}, CUDA {record['toolkit']}, driver for CUDA"
        f" {record['driver_cuda']}, PyTorch {record['torch']}, CuPy {record['cupy']}, {record['date']}:"
        f" {record['method']}.",
        "",
        f"| a call, in us | {head} |",
        "|---|" + "--:|" * len(TITLES),
    ]
    for row in record["rows"]:
        cells = " | ".join(f"{row['us'][name]['median']:.2f}" for name in TITLES)
        lines.append(f"| `{row['call']}` | {cells} |")
    lines += ["", f"| how long the host waits, in ms | {head} |", "|---|" + "--:|" * len(TITLES)]
    for row in record["rows"]:
        worst = {name: max(where[name]["median"] for where in row["wait_ms"].values()) for name in TITLES}
        lines.append(f"| `{row['call']}` | " + " | ".join(f"{worst[name]:.2f}" for name in TITLES) + " |")
    lines += ["", f"| captured into a graph | {head} |", "|---|" + "--:|" * len(TITLES)]
    for row in record["rows"]:
        cells = " | ".join("yes" if row["captured"][name] else "no" for name in TITLES)
        lines.append(f"| `{row['call']}` | {cells} |")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/run.py calls", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--out", type=files.writable_path, help="results file to write")
    parser.add_argument("--table", metavar="FILE", help="measure nothing; print a results file as Markdown")
    options = parser.parse_args(argv)
    if options.table:
        print(table(json.loads(Path(options.table).read_text(encoding="utf-8"))))
        return 0
    import cupy
    import torch

    record = environment.header(environment.find_device("cuda:0"))
    record |= {"cpu": environment.cpu_name(), "torch": torch.__version__, "cupy": cupy.__version__}
    record["method"] = (
        f"from the call to its return, medians of {TURNS - 1} turns of {BATCH} calls;"
        " X is 4096 x 1024 float32, x 2^10; waits with 0.1 s of work queued before the call,"
        " in the default stream or another, the longer one"
    )
    record["rows"] = []
    gc.collect()
    gc.disable()
    for text in CALLS:
        record["rows"].append(measure(torch, cupy, text))
        row = record["rows"][-1]
        print(text, {name: us["median"] for name, us in row["us"].items()}, row["captured"], flush=True)
    gc.enable()
    files.write_result(options.out, record)
    print(table(record))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
