"""Times calls whose result stays on the device, from Python to enqueued.

What a call costs the host, compared with PyTorch's and CuPy's own calls for the same: each contender makes a
few hundred calls, the device finishes them, and the next one has its turn; a figure is the median over many
turns. Then, with a tenth of a second of work queued in the stream, how long a call blocks the host; and
whether it can be captured into a graph, and replayed with other contents.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from benchmarks.harness import markdown
from benchmarks.harness.benchmark import WrongResultError
from benchmarks.harness.calls import CallBenchmark
from benchmarks.harness.wall_clock import batch_times
from gpureduce._arrays.device_array import DeviceArray, to_device
from gpureduce._bench.stats import summarize_times
from gpureduce._reduce import functions

MATRIX, FEW = (4096, 1024), (1 << 10,)
BATCH, TURNS, WARM_UP, WAITS = 200, 40, 20, 5
SLEEP = 200_000_000  # cycles of the device: 0.1 s of an H200
LABELS = {
    "torch": "PyTorch",
    "cupy": "CuPy",
    "gpureduce_of_tensor": "gpureduce, PyTorch tensor",
    "gpureduce_of_cupy": "gpureduce, CuPy array",
    "gpureduce_of_ours": "gpureduce, `DeviceArray`",
}
OURS = tuple(name for name in LABELS if name.startswith("gpureduce"))
# By the text in the table: operator, shape, axis, and whether an output is passed.
CALLS = {
    "sum(X, axis=1)": ("sum", MATRIX, 1, False),
    "sum(X, axis=1, out=o)": ("sum", MATRIX, 1, True),
    "argmax(X, axis=1)": ("argmax", MATRIX, 1, False),
    "sum(x, out=o)": ("sum", FEW, None, True),
    "sum(x, as_device=True)": ("sum", FEW, None, False),
}
Call = Callable[[], object]


class CallContenders:
    """One reduction by all contenders, each with arrays of its own, in one stream of CuPy and PyTorch."""

    def __init__(self, torch, cupy, stream, text: str) -> None:
        self.torch, self.cupy, self.stream = torch, cupy, stream
        self.op, self.shape, self.axis, self.has_out = CALLS[text]
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
        if self.has_out:
            zeros = np.zeros(tuple(n for i, n in enumerate(self.shape) if i != axis and axis is not None))
            zeros = zeros.astype(np.float32)
            torch_out, cupy_out = self.torch.from_numpy(zeros).cuda(), self.cupy.asarray(zeros)
            own_out = to_device(zeros, "cuda:0")
            return {
                "torch": lambda: theirs(tensor, axis or 0, out=torch_out),
                "cupy": lambda: cupys(axis=axis, out=cupy_out),
                "gpureduce_of_tensor": lambda: reduce(tensor, axis=axis, out=torch_out),
                "gpureduce_of_cupy": lambda: reduce(array, axis=axis, out=cupy_out),
                "gpureduce_of_ours": lambda: reduce(ours, axis=axis, out=own_out, **mine),
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


def waits(stage: CallContenders, calls: dict[str, Call]) -> dict[str, list[float]]:
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


def captured(stage: CallContenders, call: Call) -> bool:
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


class Calls(CallBenchmark):
    """Calls of reductions whose results stay on the device."""

    summary = "host time of calls whose result stays on the device, compared with PyTorch and CuPy"
    method = (
        f"host time from the call to its return, median of {TURNS - 1} turns of {BATCH} calls;"
        " X is 4096 x 1024 float32, x has 2^10 elements; blocking times with 0.1 s of work queued before the"
        " call, the longer one of the default stream and another"
    )
    required = ("torch", "cupy")
    calls = CALLS
    repeats = TURNS - 1
    quick: ClassVar[Mapping[str, Any]] = {"repeats": 5, "calls": list(CALLS)[:2]}

    def run_case(self, text: str) -> list[dict[str, Any]]:
        """Return the row of a call."""
        torch, cupy = self.torch, self.libraries.get("cupy")
        default, side = cupy.cuda.Stream.null, cupy.cuda.Stream(non_blocking=True)
        row: dict[str, Any] = {"call": text, "shape": list(CALLS[text][1]), "dtype": "float32", "us": {}}
        row["wait_ms"] = {}
        for where, stream in (("default", default), ("another", side)):
            stage = CallContenders(torch, cupy, stream, text)
            with stage.inside():
                self._check(stage)
                calls = stage.calls()
                if where == "default":
                    taken = batch_times(
                        calls, torch.cuda.synchronize, BATCH, self.options.repeats + 1, WARM_UP
                    )
                    row["us"] = {name: summarize_times(values, 3) for name, values in taken.items()}
                blocked = waits(stage, calls)
                row["wait_ms"][where] = {name: summarize_times(values, 3) for name, values in blocked.items()}
                if where == "another":
                    row["captured"] = {name: captured(stage, call) for name, call in calls.items()}
        torch_us = row["us"]["torch"]["median"]
        row["ratio"] = {name: round(row["us"][name]["median"] / torch_us, 3) for name in OURS}
        return [row]

    def _check(self, stage: CallContenders) -> None:
        values = numbers(stage.shape, 1)
        stage.write(values)
        for name, call in stage.calls().items():
            if not np.array_equal(stage.read(call()), stage.expected(values)):
                raise WrongResultError(f"{name} in {stage.op} over axis {stage.axis}")

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        us = {name: summary["median"] for name, summary in row["us"].items()}
        return f"{row['call']} {us} {row['captured']}"

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return times, waits, and what was captured."""
        rows, names = record["rows"], list(LABELS)

        def worst(row: dict[str, Any], name: str) -> str:
            return f"{max(where[name]['median'] for where in row['wait_ms'].values()):.2f}"

        tables: dict[str, Callable[[dict[str, Any], str], str]] = {
            "host time per call, us": lambda row, name: markdown.median_us(row, name, "{:.2f}"),
            "time the call blocks the host, ms": worst,
            "can be captured into a CUDA graph": lambda row, name: "yes" if row["captured"][name] else "no",
        }
        lines = [f"{markdown.source(record, 'torch', 'cupy')}: {markdown.method(record)}."]
        for title, cell in tables.items():
            cells = ([f"`{row['call']}`", *(cell(row, name) for name in names)] for row in rows)
            lines += ["", *markdown.table([title, *LABELS.values()], "lr", cells)]
        return "\n".join(lines)


BENCHMARK = Calls
