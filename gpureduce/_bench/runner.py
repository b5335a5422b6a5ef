"""Measures variants: times on a CUDA device, counters on the simulator."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.device_array import empty, to_device
from gpureduce._bench import environment, products
from gpureduce._bench.exact_sum import CHUNK, float_sum
from gpureduce._bench.progress_bar import ProgressBar
from gpureduce._bench.result import BenchResult
from gpureduce._bench.stats import summarize_times
from gpureduce._bench.timing import ROTATION_BYTES
from gpureduce._bench.validation import dtype_name, positive, sequence
from gpureduce._device.devices import Device, resolve
from gpureduce._device.variants import AUTO, find, variants
from gpureduce._profiles.profile import Profile
from gpureduce._profiles.variant import profile
from gpureduce._reduce import functions
from gpureduce._rules.arguments import reject_beyond_memory
from gpureduce._rules.dtypes import core_dtype

MOST_BUFFERS = 1024
LAUNCHES = 8  # a graph holds at least as many reductions
READ_BYTES = 1 << 30  # of the array whose sum measures the read bandwidth

CUDA_METHOD = (
    "first and all passes: graph replays over alternating copies of the input (512 MiB, at most 1024), "
    "microseconds per reduction; end to end: array in host memory to scalar in host memory, wall clock"
)
SIM_METHOD = "counts of PTX on the simulator, over all passes; a model of what kernels do, not of time"

Case = tuple[str, str, str, int]  # variant, operator, dtype, elements


def draw(op: str, dtype: str, n: int) -> np.ndarray:
    """Return the input: random numbers, close to 1 for products of floats."""
    reject_beyond_memory(n * max(8, np.dtype(dtype).itemsize), "n")
    rng = np.random.default_rng(20261121)
    if np.dtype(dtype).kind != "f":
        return rng.integers(1, 1 << 20, n).astype(dtype)
    if op == "prod":
        return rng.uniform(1 - 1e-4, 1 + 1e-4, n).astype(dtype)
    return rng.random(n).astype(dtype)


def exact_result(op: str, data: np.ndarray) -> Any:
    """Return the reduction without rounding errors (for a product of floats, in long double)."""
    if data.dtype.kind == "f" and op == "sum":
        return float_sum(data)
    if data.dtype.kind == "f" and op == "prod":
        return float(np.prod(data, dtype=np.longdouble))
    functions = {"bitwise_and": np.bitwise_and.reduce, "bitwise_or": np.bitwise_or.reduce}
    functions["bitwise_xor"] = np.bitwise_xor.reduce
    return (functions.get(op) or getattr(np, op))(data).item()


def relative_error(value: Any, exact: Any) -> float:
    """Return the relative error, or the absolute error if the exact result is 0."""
    return abs(float(value) - float(exact)) / (abs(float(exact)) or 1.0)


def rotation(data: np.ndarray) -> tuple[int, int]:
    """Return the number of copies to rotate over, and of rotations."""
    buffers = min(max(2, math.ceil(ROTATION_BYTES / data.nbytes)), MOST_BUFFERS)
    return buffers, max(1, LAUNCHES // buffers)


def device_times(data: np.ndarray, op: str, variant: str, block_size: int | None, device: str, repeats: int):
    """Return the microseconds of the first pass and of all passes, per repeat."""
    where = resolve(device)
    if variant != AUTO:
        return _core.time(data, op, variant, block_size, None, *where, (*rotation(data), repeats))
    buffers, rounds = rotation(data)
    sources = [to_device(data, device) for _ in range(buffers)]
    outs = [empty((), core_dtype(op, data.dtype), *where) for _ in sources]
    views, places = (tuple(array._view_tuple() for array in arrays) for arrays in (sources, outs))
    whole = _core.time_general(views, op, (0,), places, *where, rounds, repeats)
    return whole, whole  # it has one pass


def end_to_end_times(data: np.ndarray, op: str, options: dict, repeats: int) -> list[float]:
    """Return the microseconds from an array in host memory to a scalar in host memory."""
    return wall_times(lambda: functions.reduce(data, op, **options), repeats)


def wall_times(call: Callable[[], Any], repeats: int) -> list[float]:
    """Return the microseconds of each call."""
    times = []
    for _ in range(min(repeats, 5) + 1):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e6)
    return times[1:]  # the first loads kernels


def read_bandwidth(device: Device, repeats: int) -> float:
    """Return the GB/s at which the default kernel reads a large array."""
    elements = min(READ_BYTES, device.memory_bytes // 8) // 4
    source = to_device(np.resize(draw("sum", "float32", CHUNK), elements), device)
    kind, index = resolve(device)
    out = empty((), np.float32, kind, index)
    times = _core.time_general(
        (source._view_tuple(),), "sum", (0,), (out._view_tuple(),), kind, index, 4, repeats
    )
    return source.nbytes / summarize_times(times)["median"] / 1e3


def _can_run(variant: str, op: str, dtype: str, where: Device) -> bool:
    """Whether it can be measured on a device; the default, if a variant supports the operator and dtype."""
    if variant == AUTO:
        return where.kind == "cuda" and any(
            (op, dtype) in record.coverage for record in variants("reduction")
        )
    record = find(variant)
    return (op, dtype) in record.coverage and record.runs_on(where)


def _reduction(name: str) -> str:
    ladder = find(name, AUTO).ladder
    if ladder == "conv":
        raise ValueError(f"variants: {name} is a convolution; use benchmarks/run.py conv")
    if ladder == "exact":
        raise ValueError(f"variants: {name} is an exact sum; use benchmarks/run.py exact_sums")
    if ladder == "groups":
        raise ValueError(f"variants: {name} is a group sum; use benchmarks/run.py group_rungs")
    if ladder == "scan":
        raise ValueError(f"variants: {name} is a scan; use benchmarks/run.py scan_rungs")
    if ladder != "reduction":
        raise ValueError(f"variants: {name} is a matrix product; pass ops='matmul' alone")
    return name


def cases(names: Any, ops: Any, dtypes: Any, sizes: Any, where: Device) -> list[Case]:
    """Return the cases to measure; variants that are not named may lack operators and dtypes."""
    chosen = [record.name for record in variants("reduction")] + [AUTO]
    if names is not None:
        chosen = [
            AUTO if isinstance(name, str) and name == AUTO else _reduction(name)
            for name in sequence(names, "variants")
        ]
        if AUTO in chosen and where.kind == "sim":
            raise ValueError("variants: 'auto' has no counts on the simulator; pass a CUDA device")
    lengths = [positive(n, "n") for n in sequence(sizes, "n")]
    result: list[Case] = []
    for op in sequence(ops, "ops"):
        for dtype in (dtype_name(each) for each in sequence(dtypes, "dtypes")):
            fitting = [name for name in chosen if _can_run(name, op, dtype, where)]
            missing = [name for name in chosen if name not in fitting]
            if not fitting or (names is not None and missing):
                what = f"{op} of {dtype} on {where.kind}"
                if missing == [AUTO]:
                    raise ValueError(f"variants: 'auto' is compared with variants, and none supports {what}")
                who = f"{', '.join(missing)} cannot run" if names is not None else "none can run"
                raise ValueError(f"variants: {who} {what}, as installed here")
            result += [(name, op, dtype, n) for n in lengths for name in fitting]
    return result


def _time_case(data: np.ndarray, case: Case, block_size: int | None, device: str, repeats: int) -> dict:
    name, op = case[:2]
    record = find(name) if name != AUTO else None
    block_size = block_size if record and record.block_sizes else None
    first, whole = device_times(data, op, name, block_size, device, repeats)
    options: dict[str, Any] = {"variant": name, "device": device, "block_size": block_size}
    result = functions.reduce(data, op, **options)
    return {
        "block_size": block_size or (record and record.default_block_size) or None,
        "first_pass_us": summarize_times(first),
        "all_passes_us": summarize_times(whole),
        "end_to_end_us": summarize_times(end_to_end_times(data, op, options, repeats)),
        "result": result.item(),
    }


def _count_case(data: np.ndarray, case: Case, block_size: int | None) -> dict:
    name, op = case[:2]
    return counts_of(profile(data, name, op, block_size=block_size, races=False))


def counts_of(profile: Profile) -> dict[str, Any]:
    """Return the counters of a profile for a row."""
    counts = profile.totals
    return {
        "block_size": profile.kernels[0].block[0],
        "launches": len(profile.kernels),
        "warp_instructions": counts.warp_instructions,
        "lanes": round(counts.mean_lanes, 2),
        "shared_wavefronts": counts.shared_wavefronts,
        "bank_conflicts": counts.bank_conflicts,
        "global_requests": counts.global_requests,
        "global_sectors": counts.global_sectors,
        "global_bytes": counts.global_bytes,
        "barriers": counts.barriers,
        "atomics": counts.atomics,
        "result": profile.result.item(),
    }


def _measured(cases: list[Case], measure: Any, progress: ProgressBar) -> Iterator[dict]:
    """Yield a row for each case; variants with the same input share it."""
    drawn: tuple[str, str, int] | None = None
    data, exact = np.empty(0), 0
    for done, case in enumerate(cases):
        name, op, dtype, n = case
        progress.step(done, f"{name}: {op} of {n:,} {dtype}")
        if (op, dtype, n) != drawn:
            data, drawn = draw(op, dtype, n), (op, dtype, n)
            exact = exact_result(op, data)
        row = {"variant": name, "op": op, "dtype": dtype, "n": n, **measure(data, case)}
        yield {**row, "exact": exact, "relative_error": relative_error(row["result"], exact)}


def bench(
    n: int | Sequence[int] | Sequence[tuple[int, int, int]] | None = None,
    variants: str | Sequence[str] | None = None,
    ops: str | Sequence[str] | None = None,
    dtypes: Any = "float32",
    device: str | Device | None = None,
    repeats: int = 20,
    progress: bool = True,
    *,
    block_size: int | None = None,
) -> BenchResult:
    """Measure variants: times on a CUDA device, counters on the simulator.

    Parameters
    ----------
    n : int or sequence of int, optional
        Number of random elements. Default: 2**25. For matrix products the sizes ``(m, n, k)``, one size for
        all three, or a list of these. Default: (2048, 2048, 1024), on the simulator (256, 256, 64).
    variants : str or sequence of str, optional
        Names, as in `gpureduce.variants`, or ``"auto"``, the default kernel, which has no counts on the
        simulator. Default: all variants that can run the operator and dtype on the device.
    ops : str or sequence of str, optional
        Operators, or only ``"matmul"`` for matrix products. Default: ``"matmul"`` for variants of its ladder,
        otherwise ``"sum"``.
    dtypes : dtype_like or sequence of dtype_like
        Data types of the elements.
    device : str or Device, optional
        Device to measure on. Default: the first GPU, else the simulator.
    repeats : int
        Number of timed repetitions; the median is reported. The simulator counts once.
    progress : bool
        Whether to show a progress bar, in a notebook or on a terminal.
    block_size : int, optional
        Threads per block. Default: chosen by each variant.

    Returns
    -------
    BenchResult

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid; the message names the argument.
    DeviceError
        If the device does not exist or fails.
    ImportError
        If matrix products are to be timed and PyTorch is not installed.

    Notes
    -----
    On a CUDA device, events time replays of a CUDA graph, which rotates over copies of the input that
    together exceed the L2 cache, so that no launch finds its input in the cache. Matrix products are compared
    with PyTorch, which must be installed. On the simulator the columns are counts, and say nothing about
    time.

    Examples
    --------
    >>> import gpureduce
    >>> result = gpureduce.bench(n=4096, variants=["v0", "v7"], device="sim", progress=False)
    >>> [(row["variant"], row["barriers"]) for row in result.rows]
    [('v0', 1224), ('v7', 144)]
    """
    kind, index = resolve(device)
    backend = "sim" if kind == _core.SIM else "cuda"
    where = environment.find_device("sim" if backend == "sim" else f"cuda:{index}")
    repeats = positive(repeats, "repeats")
    head = {**environment.header(where), "kind": backend}
    if products.meant(ops, variants):
        if block_size is not None:
            raise ValueError("block_size: matrix products choose their own; leave it None")
        return products.bench(n, variants, dtypes, where, repeats, progress, head)
    to_measure = cases(variants, "sum" if ops is None else ops, dtypes, 2**25 if n is None else n, where)
    shown = ProgressBar(progress, len(to_measure))
    if backend == "sim":
        head["method"] = SIM_METHOD

        def measure(data: np.ndarray, case: Case) -> dict:
            return _count_case(data, case, block_size)
    else:
        head["method"] = CUDA_METHOD
        head["peak_gb_per_s"] = where.memory_bytes_per_second / 1e9
        head["read_gb_per_s"] = read_bandwidth(where, repeats)

        def measure(data: np.ndarray, case: Case) -> dict:
            return _time_case(data, case, block_size, str(where), repeats)

    try:
        return BenchResult(head, tuple(_measured(to_measure, measure, shown)))
    finally:
        shown.close()
