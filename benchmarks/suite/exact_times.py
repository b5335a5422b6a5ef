"""Times exact sums beside plain ones and CUB on a GPU, by graphs of PyTorch that rotate over their inputs.

Exact sums and plain ones take turns, and the figure is the median over the replays, in microseconds a sum.
Data are repeated every `PERIOD` elements, so that large arrays need no large copy.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.baselines import libraries as contenders
from benchmarks.baselines import memory
from benchmarks.suite.peers import launches_of
from gpureduce._bench import timing
from gpureduce._reduce import functions

PERIOD = 1 << 22
EXPONENTS = (0, 4, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
DTYPES = ("float32", "float64", "float16", "bfloat16")
KINDS = ("normal", "lognormal", "any", "cancelling", "largest", "constant")
OF_KINDS = (24, 28)  # of the kinds behind the first
DOTS = (10, 16, 20, 24, 26, 28)


class Exact(contenders.Ours):
    """gpureduce, with ``exact=True``."""

    name = "exact"

    def calls(self, case: contenders.Case) -> Callable[[int], object]:
        """Return what enqueues the exact reduction of one input into PyTorch's current stream."""
        reduce, outs = getattr(functions, case.op), contenders.results(self.torch, case)
        seconds = [case.seconds] if case.op == "dot" else []
        pairs = list(zip(case.firsts, *seconds, strict=True))
        return lambda i: reduce(*pairs[i], out=outs[i], exact=True)


class Numbers(memory.Pool):
    """Device memory full of one kind of numbers, cut into inputs."""

    def __init__(self, torch: Any, numbers: np.ndarray, dtype: str, nbytes: int) -> None:
        self.torch, self.dtype, self.item = torch, getattr(torch, dtype), numbers.itemsize
        length = max(2 * nbytes, timing.ROTATION_BYTES) // self.item + memory.APART
        base = torch.from_numpy(numbers.view(f"i{self.item}")).cuda()
        repeated = torch.empty(-(-length // PERIOD), PERIOD, dtype=base.dtype, device="cuda")
        self.memory = repeated.copy_(base.expand_as(repeated)).view(-1).view(self.dtype)


def numbers_of(kind: str, dtype: str, make: Callable[..., np.ndarray], seed: int) -> np.ndarray:
    """Return a period of numbers; those of bfloat16 as 16-bit patterns."""
    rng = np.random.default_rng(seed)
    if dtype != "bfloat16":
        return make(kind, PERIOD, np.dtype(dtype), rng)
    bits = make(kind, PERIOD, np.dtype("float32"), rng).view("u4")
    return (bits >> 16).astype("u2")


def timed(field: list, case: contenders.Case, repeats: int) -> dict[str, float]:
    """Return the medians of all contenders, which take turns."""
    times: dict[str, list[float]] = {one.name: [] for one in field}
    for _ in range(3):
        for one in field:
            times[one.name] += one.time(case, -(-repeats // 3))
    return {name: round(float(np.median(found)), 3) for name, found in times.items()}


def rows(make: Callable[..., np.ndarray], most: int, repeats: int, nvcc: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each operator, dtype, kind of data and size up to 2^most."""
    import torch

    ours, exact, cub = contenders.Ours(), Exact(), contenders.Cub(nvcc)

    def row(op: str, dtype: str, kind: str, exponent: int, firsts: list, seconds: list) -> dict[str, Any]:
        pairs = list(zip(firsts, seconds or firsts, strict=False))
        firsts, seconds = [a for a, _ in pairs], [b for _, b in pairs] if seconds else []
        launches = launches_of(firsts[0].element_size() << exponent)
        beside = [cub] if kind == KINDS[0] and op == "sum" else []
        us = timed([ours, exact, *beside], contenders.Case(op, dtype, firsts, seconds, launches), repeats)
        ratio = round(us["exact"] / us["gpureduce"], 3)
        return {"op": op, "dtype": dtype, "data": kind, "n": 1 << exponent, "us": us, "ratio": ratio}

    def upto(exponents: tuple[int, ...]) -> list[int]:
        return [k for k in exponents if k <= most]

    for dtype, kind in itertools.product(DTYPES, KINDS):
        item = getattr(torch, dtype).itemsize
        sizes = upto(EXPONENTS if kind == KINDS[0] else OF_KINDS)
        dots = upto(DOTS) if kind == KINDS[0] and item >= 4 else []
        kept = [
            Numbers(torch, numbers_of(kind, dtype, make, seed), dtype, item << max(numbers))
            for seed, numbers in enumerate((sizes, dots))
            if numbers
        ]
        for k in sizes:
            yield row("sum", dtype, kind, k, kept[0].inputs(1 << k), [])
        for k in dots:
            yield row("dot", dtype, kind, k, *(each.inputs(1 << k) for each in kept))
        del kept
        torch.cuda.empty_cache()


# The tables of docs/exact.md


def _row(record: dict, op: str, dtype: str, kind: str, n: int) -> dict | None:
    rows = (
        row
        for row in record["rows"]
        if (row["op"], row["dtype"], row["data"], row["n"]) == (op, dtype, kind, n)
    )
    return next(rows, None)


def spread_of_kinds(record: dict, dtype: str, n: int) -> float:
    """Return how many times longer the slowest kind of data took than the fastest."""
    rows = [row for kind in KINDS if (row := _row(record, "sum", dtype, kind, n))]
    times = [row["us"]["exact"] for row in rows]
    return max(times) / min(times)


def table(record: dict) -> str:
    """Return times of plain and exact sums and of CUB's, and of dot products, as Markdown."""
    lines = [
        f"{record['device']}, CUDA {record['toolkit']}, {record['date']}: {record['method']}."
        " Normal data: plain / exact, and in brackets CUB's.",
        "",
    ]
    shown = [dtype for dtype in DTYPES if _row(record, "sum", dtype, KINDS[0], 1 << EXPONENTS[-1])]
    lines += ["| elements | " + " | ".join(shown) + " | dot float32 | dot float64 |"]
    lines += ["|--:|" + "--:|" * (len(shown) + 2)]
    for exponent in EXPONENTS:
        cells = []
        for op, dtype in (*(("sum", dtype) for dtype in shown), ("dot", "float32"), ("dot", "float64")):
            row = _row(record, op, dtype, KINDS[0], 1 << exponent)
            if row is None:
                cells.append("")
                continue
            us = row["us"]
            beside = f" ({us['cub']:.4g})" if "cub" in us else ""
            cells.append(f"{us['gpureduce']:.4g} / {us['exact']:.4g}{beside}")
        lines.append(f"| 2^{exponent} | " + " | ".join(cells) + " |")
    kinds = ", ".join(f"{dtype} {spread_of_kinds(record, dtype, 1 << OF_KINDS[-1]):.2f}" for dtype in shown)
    lines += [
        "",
        f"The slowest of six kinds of data over the fastest, of 2^{OF_KINDS[-1]} elements: {kinds}.",
    ]
    return "\n".join(lines)
