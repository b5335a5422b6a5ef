"""Times of matrix multiplications on a CUDA device, compared with PyTorch, which calls cuBLAS."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator
from typing import Any

from gpureduce._bench import timing
from gpureduce._bench.stats import summarize_times
from gpureduce._device.variants import AUTO
from gpureduce._matmul.product import matmul

SET_BYTES = 128 << 20  # of the sets that a graph rotates over: twice the 60 MB L2 cache of an H200
MAX_SETS = 64
PUBLISHED = (2048, 2048, 1024)
VENDOR = "cublas"
METHOD = (
    "Each figure is the median over replays of a CUDA graph captured from calls of the public functions with"
    " ``out=``, in microseconds per product; the graphs of all contenders take turns. A graph rotates over up"
    " to 64 sets of matrices, which together are larger than the L2 cache. Results are poisoned with NaN"
    " first and compared with float64, or complex128: the error is the relative error of the whole matrix in"
    " the Frobenius norm."
)
Shape = tuple[int, int, int]


def is_half(dtype: str) -> bool:
    """Return whether rungs of any precision multiply the dtype exactly."""
    return dtype in ("float16", "bfloat16")


class MatmulInputs:
    """Matrices of one shape and dtype, several of each."""

    def __init__(self, torch: Any, shape: Shape, dtype: str) -> None:
        m, n, k = shape
        self.torch, self.shape, self.dtype = torch, shape, getattr(torch, dtype)
        each = (m * k + k * n + m * n) * self.dtype.itemsize
        self.count = min(MAX_SETS, max(2, math.ceil(SET_BYTES / each)))
        generator = torch.Generator(device="cuda").manual_seed(20261122)
        self.a = [self._draw(generator, m, k) for _ in range(self.count)]
        self.b = [self._draw(generator, k, n) for _ in range(self.count)]
        self.c = [torch.empty(m, n, dtype=self.dtype, device="cuda") for _ in range(self.count)]
        self.wide = torch.complex128 if self.dtype.is_complex else torch.float64
        self.wanted = self.a[0].to(self.wide) @ self.b[0].to(self.wide)

    @property
    def is_inexact(self) -> bool:
        """Whether cuBLAS supports the dtype, and it has NaN."""
        return self.dtype.is_floating_point or self.dtype.is_complex

    def _draw(self, generator: Any, rows: int, columns: int) -> Any:
        wide = self.is_inexact and self.dtype.itemsize > self.torch.float32.itemsize
        dtype = self.dtype if wide else self.torch.float32
        drawn = self.torch.randn(rows, columns, device="cuda", generator=generator, dtype=dtype)
        return (drawn * (1 if self.is_inexact else 100)).to(self.dtype)

    def error(self, call: Callable[[int], object]) -> float:
        """Return the relative error of a product; NaN if an element was not written."""
        self.c[0].fill_(math.nan if self.is_inexact else -1)
        call(0)
        self.torch.cuda.synchronize()
        return ((self.c[0].to(self.wide) - self.wanted).norm() / self.wanted.norm()).item()


def contenders(sets: MatmulInputs, names: list[str], precision: str) -> dict[str, Callable[[int], object]]:
    """Return functions that multiply one set, by name."""

    def ours(name: str) -> Callable[[int], object]:
        own_precision = precision if name == AUTO else None
        return lambda i: matmul(sets.a[i], sets.b[i], sets.c[i], variant=name, precision=own_precision)

    field = {name: ours(name) for name in names}
    if sets.is_inexact:
        field[VENDOR] = lambda i: sets.torch.mm(sets.a[i], sets.b[i], out=sets.c[i])
    return field


def measure(sets: MatmulInputs, names: list[str], precision: str, repeats: int) -> Iterator[dict]:
    """Yield a row for each contender: its time, its error, and its time over that of cuBLAS."""
    torch, (m, n, k) = sets.torch, sets.shape
    field = contenders(sets, names, precision)
    errors = {name: sets.error(call) for name, call in field.items()}
    slow = m * n * k > 1 << 36
    launches = sets.count if slow else max(sets.count, 8)
    few = {name: 2 if name == "m0" else launches for name in field}
    times = timing.graph_times(torch, field, sets.count, few, [1] * repeats)
    vendor = statistics.median(times[VENDOR]) if VENDOR in times else None
    flop = (8 if sets.dtype.is_complex else 2) * m * n * k
    for name, figures in times.items():
        us = summarize_times(figures)
        yield {
            "variant": name,
            "dtype": str(sets.dtype).removeprefix("torch."),
            "precision": precision,
            "m": m,
            "n": n,
            "k": k,
            "us": {key: round(value, 2) for key, value in us.items()},
            "tflop_per_s": round(flop / us["median"] / 1e6, 3),
            "of_cublas": round(us["median"] / vendor, 4) if vendor else None,
            "error": float(f"{errors[name]:.3e}"),
        }
