"""Matrix products in `gpureduce.bench`: times compared with PyTorch, or counts."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gpureduce._bench import matmul_timing
from gpureduce._bench.matmul_timing import Shape
from gpureduce._bench.progress_bar import ProgressBar
from gpureduce._bench.result import BenchResult
from gpureduce._bench.validation import dtype_name, positive, sequence
from gpureduce._device.devices import Device
from gpureduce._device.variants import AUTO, find, variants
from gpureduce._profiles.variant import profile
from gpureduce._rules.arguments import reject_beyond_memory

OP = LADDER = "matmul"
ON_SIMULATOR = (256, 256, 64)
SIM_METHOD = (
    "counts of PTX on the simulator; a model of what kernels do, not of time. Errors are those of the whole"
    " matrix, by its Frobenius norm"
)


def meant(ops: Any, names: Any) -> bool:
    """Return whether products are requested; ValueError if reductions are requested, too."""
    if ops is None:
        named = [] if names is None else sequence(names, "variants")
        rungs = [name for name in named if not (isinstance(name, str) and name == AUTO)]
        return any(find(name, AUTO).ladder == LADDER for name in rungs)
    asked = sequence(ops, "ops")
    if not all(isinstance(op, str) for op in asked):
        raise TypeError(f"ops: expected names of operators, got {ops!r}")
    if OP in asked and len(asked) > 1:
        raise ValueError(f"ops: {OP!r} cannot be combined with other operators, got {asked}")
    return OP in asked


def shapes(sizes: Any, default: Shape) -> list[Shape]:
    """Return the sizes m, n, k that ``n`` stands for."""
    if sizes is None:
        return [default]
    if isinstance(sizes, tuple) and len(sizes) == 3:
        return [_shape(sizes)]
    return [_shape(each) for each in sequence(sizes, "n")]


def _shape(sizes: Any) -> Shape:
    if not isinstance(sizes, Sequence):
        size = positive(sizes, "n")
        return size, size, size
    if len(sizes) != 3:
        raise ValueError(f"n: a matrix product has three sizes (m, n, k), got {sizes!r}")
    m, n, k = (positive(each, "n") for each in sizes)
    return m, n, k


def _chosen(names: Any, dtype: str, where: Device) -> list[str]:
    """Return the names to measure; by default, the rungs that can run."""
    runnable = [record for record in variants(LADDER) if dtype in record.dtypes and record.runs_on(where)]
    default = [AUTO] if where.kind == "cuda" else []
    able = [record.name for record in runnable] + default
    if names is None:
        return [record.name for record in runnable if record.role == "rung"] + default
    asked = sequence(names, "variants")
    if AUTO in asked and where.kind == "sim":
        raise ValueError("variants: 'auto' has no counts on the simulator; pass a CUDA device")
    for name in asked:
        if name != AUTO and not find(name, AUTO, ladder=LADDER).block_sizes:
            raise ValueError(f"variants: {name} is always measured, as the baseline; leave it out")
        if name not in able:
            raise ValueError(f"variants: {name} cannot run matrix products of {dtype} on {where.kind}")
    return asked


def draw(shape: Shape, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Return two matrices of random numbers."""
    m, n, k = shape
    reject_beyond_memory((m * k + k * n) * max(8, np.dtype(dtype).itemsize), "n")
    rng = np.random.default_rng(20261122)
    if np.dtype(dtype).kind != "f":
        return rng.integers(-100, 100, (m, k)).astype(dtype), rng.integers(-100, 100, (k, n)).astype(dtype)
    return rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)


def _counted(shape: Shape, dtype: str, names: list[str], begin: Callable) -> Iterator[dict]:
    a, b = draw(shape, dtype)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    for name in names:
        begin(name)
        profiled = profile((a, b), name, races=False)
        counts = profiled.totals
        yield {
            "variant": name,
            "launches": len(profiled.kernels),
            "warp_instructions": counts.warp_instructions,
            "multiply_adds_an_instruction": profiled.multiply_adds_an_instruction,
            "bytes_a_flop": profiled.bytes_a_flop,
            "shared_wavefronts": counts.shared_wavefronts,
            "bank_conflicts": counts.bank_conflicts,
            "global_requests": counts.global_requests,
            "global_sectors": counts.global_sectors,
            "barriers": counts.barriers,
            "error": float(np.linalg.norm(profiled.result - exact) / np.linalg.norm(exact)),
        }


def _timed(shape: Shape, dtype: str, names: list[str], begin: Callable, repeats: int) -> Iterator[dict]:
    try:
        import torch
    except ModuleNotFoundError as error:
        raise ImportError(
            "timing matrix products needs PyTorch, which is not installed; device='sim' counts what they do"
        ) from error
    sets = matmul_timing.MatmulInputs(torch, shape, dtype)
    for precision, group in _by_precision(names, matmul_timing.is_half(dtype)).items():
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        for name in group:
            begin(name)
        yield from matmul_timing.measure(sets, group, precision, repeats)


def _by_precision(names: list[str], half: bool) -> dict[str, list[str]]:
    """Group the names by precision; only products of one precision are compared."""
    groups: dict[str, list[str]] = {}
    for name in names:
        precision = None if half or name == AUTO else find(name).precision
        groups.setdefault(precision or "ieee", []).append(name)
    return groups


def _begin(bar: ProgressBar, done: Iterator[int], what: str, name: str) -> None:
    bar.step(next(done), f"{name}: {what}")


def _rows(cases: list[tuple[Shape, str, list[str]]], measure: Callable, bar: ProgressBar) -> Iterator[dict]:
    done = 0
    for (m, n, k), dtype, names in cases:
        begin = functools.partial(_begin, bar, itertools.count(done), f"{OP} of {m} x {n} x {k} {dtype}")
        for row in measure((m, n, k), dtype, names, begin):
            yield {"variant": row["variant"], "op": OP, "dtype": dtype, "m": m, "n": n, "k": k, **row}
        done += len(names)


def bench(
    n: Any, names: Any, dtypes: Any, where: Device, repeats: int, progress: bool, head: dict
) -> BenchResult:
    """Measure products, for `gpureduce.bench`."""
    simulated = where.kind == "sim"
    sizes = shapes(n, ON_SIMULATOR if simulated else matmul_timing.PUBLISHED)
    kinds = [dtype_name(each) for each in sequence(dtypes, "dtypes")]
    cases = [(size, dtype, _chosen(names, dtype, where)) for dtype in kinds for size in sizes]
    for _, dtype, chosen in cases:
        if not any(name != AUTO for name in chosen) and (simulated or names is None):
            raise ValueError(f"variants: none can run matrix products of {dtype} on {where.kind}")
    bar = ProgressBar(progress, sum(len(chosen) for *_, chosen in cases))
    try:
        if simulated:
            return BenchResult({**head, "method": SIM_METHOD}, tuple(_rows(cases, _counted, bar)))
        timed = functools.partial(_timed, repeats=repeats)
        return BenchResult({**head, "method": matmul_timing.METHOD}, tuple(_rows(cases, timed, bar)))
    finally:
        bar.close()
