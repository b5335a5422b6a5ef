"""Times functions of gpureduce.jax inside `jax.jit`, compared with JAX's own, by the wall clock.

*host* is the time of a call, which enqueues the program; *call* is the time per call of a batch until its
last result is there, so that it is the time of the host or of the GPU, whichever is longer. The arrays are
rotated, and larger together than the L2 cache. *eager* is the function of gpureduce on the JAX array, outside
`jit`, whose result stays on the GPU.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Benchmark, Times, WrongResultError
from gpureduce import _core
from gpureduce import _functions as functions
from gpureduce._arrays.device_array import DeviceArray
from gpureduce._bench import timing
from gpureduce._bench.stats import summarize_times

BATCH, MAX_ARRAYS = 100, 32
GROUPS = 1000
CASES = (
    *(("sum", shape) for shape in ((1 << 20,), (4096, 1024), (1 << 26,))),
    *(("exact sum", shape) for shape in ((1 << 20,), (1 << 26,))),
    *(("var", shape) for shape in ((4096, 1024), (65536, 1024))),
    *(("logsumexp", shape) for shape in ((4096, 1024), (65536, 1024))),
    *(("cumsum", shape) for shape in ((1 << 20,), (1 << 26,))),
    *(("median", shape) for shape in ((1 << 20,), (1 << 24,), (4096, 256), (4096, 4096))),
    *(("topk", shape) for shape in ((1 << 20,), (4096, 4096))),
    *(("segment_sum", shape) for shape in ((1 << 20,), (10_000_000,), (156_250, 64))),
)
K = 10


class Arrays:
    """Arrays to rotate over, and labels."""

    def __init__(self, arrays: list[Any], labels: Any) -> None:
        self.arrays, self.labels = arrays, labels

    def __len__(self) -> int:
        return len(self.arrays)


class Jit(Benchmark):
    """Functions inside jit."""

    summary = "functions of gpureduce.jax inside jax.jit, compared with JAX's own"
    method = "batches of 100 calls of compiled functions by the wall clock; microseconds per call"
    required = ("jax",)
    repeats = 7
    quick: ClassVar[Mapping[str, Any]] = {"repeats": 2}

    def cases(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield functions and shapes."""
        yield from CASES[:: 4 if self.options.quick else 1]

    def inputs(self, case: tuple[str, tuple[int, ...]]) -> Arrays:
        """Return arrays."""
        jax, (_, shape) = self.libraries.get("jax"), case
        rng = np.random.default_rng(0)
        count = max(1, min(MAX_ARRAYS, timing.ROTATION_BYTES // (4 * int(np.prod(shape)))))
        first = jax.numpy.asarray(rng.standard_normal(shape, np.float32))
        arrays = [first + np.float32(i) for i in range(count)]
        return Arrays(arrays, jax.numpy.asarray(rng.integers(0, GROUPS, shape[0]), "int32"))

    def contenders(self, case: tuple[str, tuple[int, ...]], inputs: Arrays) -> dict[str, Callable[..., Any]]:
        """Return the functions of an array by contender: inside jit, but for eager."""
        import gpureduce.jax as ours

        jax, (name, shape) = self.libraries.get("jax"), case
        jnp, labels, axis = jax.numpy, inputs.labels, len(shape) - 1
        pairs: dict[str, tuple[Callable, Callable, Callable]] = {
            "exact sum": (
                lambda x: ours.sum(x, axis, exact=True),
                lambda x: jnp.sum(x, axis),
                lambda x: functions.sum(x, axis, exact=True, as_device=True),
            ),
            "topk": (
                lambda x: ours.topk(x, K)[0],
                lambda x: jax.lax.top_k(x, K)[0],
                lambda x: functions.topk(x, K, as_device=True).values,
            ),
            "segment_sum": (
                lambda x: ours.segment_sum(x, labels, GROUPS),
                lambda x: jax.ops.segment_sum(x, labels, GROUPS),
                lambda x: functions.group_reduce(x, labels, num_groups=GROUPS, as_device=True),
            ),
        }
        if name not in pairs:
            theirs = jax.nn.logsumexp if name == "logsumexp" else getattr(jnp, name)
            mine, eager = getattr(ours, name), getattr(functions, name)
            pairs[name] = (
                lambda x: mine(x, axis),
                lambda x: theirs(x, axis),
                lambda x: eager(x, axis=axis, as_device=True),
            )
        ours_of, theirs_of, eager_of = pairs[name]
        return {"gpureduce": jax.jit(ours_of), "jax": jax.jit(theirs_of), "eager": eager_of}

    def check(self, case: Any, inputs: Arrays, contenders: Mapping[str, Callable[..., Any]]) -> None:
        """Raise WrongResultError unless the results are near those of JAX."""
        first = inputs.arrays[0]
        wanted = np.asarray(contenders["jax"](first), np.float64)
        scale = max(1.0, float(np.abs(wanted).max()))
        for name, function in contenders.items():
            result = function(first)
            result = result.numpy() if name == "eager" else np.asarray(result)
            if not np.allclose(result, wanted, rtol=1e-3, atol=1e-3 * scale):
                raise WrongResultError(" ".join(map(str, (name, *case))))

    def measure(self, case: Any, inputs: Arrays, contenders: Mapping[str, Callable[..., Any]]) -> Times:
        """Return microseconds per call of batches, contenders taking turns; the first turn does not count."""
        taken: Times = {f"{name} {kind}": [] for name in contenders for kind in ("host", "call")}
        arrays = [inputs.arrays[i % len(inputs)] for i in range(BATCH)]
        for turn in range(self.options.repeats + 1):
            for name, function in contenders.items():
                self._wait(function(arrays[0]))
                began = time.perf_counter_ns()
                for array in arrays:
                    last = function(array)
                called = time.perf_counter_ns()
                self._wait(last)
                for kind, end in (("host", called), ("call", time.perf_counter_ns())):
                    if turn > 0:
                        taken[f"{name} {kind}"].append((end - began) / 1000 / BATCH)
        return taken

    @staticmethod
    def _wait(result: Any) -> None:
        """Wait for a result on the device."""
        if isinstance(result, DeviceArray):
            _core.stream_wait(result._kind, result._index, result.stream)
        else:
            result.block_until_ready()

    def rows(self, case: Any, inputs: Arrays, times: Times) -> list[dict[str, Any]]:
        """Return a row."""
        us = {name: summarize_times(each, 3) for name, each in times.items()}
        return [{"function": case[0], "dtype": "float32", "shape": list(case[1]), "us": us}]

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        times = "  ".join(f"{name} {us['median']:.1f}" for name, us in row["us"].items())
        return f"{row['function']:12} {'x'.join(map(str, row['shape'])):>12} {times}"

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return all rows."""
        names = [f"{who} {kind}" for who in ("gpureduce", "jax", "eager") for kind in ("call", "host")]
        rows = (
            [
                f"`{row['function']}`",
                " x ".join(f"{length:,}" for length in row["shape"]),
                *(markdown.median_us(row, name) for name in names),
            ]
            for row in record["rows"]
        )
        heads = ["function", "shape", "gpureduce", "its host", "JAX", "its host", "eager", "its host"]
        lines = [f"{markdown.source(record, 'jax')}: {record['method']}.", ""]
        return "\n".join(lines + markdown.table(heads, "llrrrrrr", rows))


BENCHMARK = Jit
