"""On what the bits of reductions along an axis depend: operators, layouts, data, and a check of each case."""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import gpureduce

FLOATS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("int8", "int32", "int64")


def weighted(a: Any, axis: int) -> Any:
    """Return averages with weights that differ from element to element."""
    return gpureduce.average(a, axis=axis, weights=a)


def pairs(a: Any, axis: int) -> Any:
    """Return products of each row with itself."""
    return gpureduce.vecdot(a, a, axis=axis)


def of(name: str, *args: Any, **words: Any) -> Callable[..., Any]:
    """Return a function of gpureduce with more arguments."""
    fn = getattr(gpureduce, name)
    return lambda a, axis: fn(a, *args, axis=axis, **words)


# By name: the function of an array and an axis, and the dtypes that it is checked with.
OPERATORS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    **{
        name: (of(name), FLOATS + COMPLEX + INTEGERS)
        for name in (
            "sum", "mean", "prod", "min", "max", "argmin", "argmax", "any", "all", "count_nonzero",
            "logical_xor", "var", "std",
        )
    },
    "ptp": (of("ptp"), FLOATS + INTEGERS),
    **{name: (of(name), INTEGERS) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    **{
        name: (of(name), FLOATS)
        for name in (
            "nansum", "nanmean", "nanprod", "nanmin", "nanmax", "nanargmin", "nanargmax", "nanvar", "nanstd",
            "fmin", "fmax", "median", "logsumexp", "softmax_denominator", "moments", "cummax",
            "softmax", "log_softmax",
        )
    },
    **{name: (of(name), FLOATS + COMPLEX) for name in ("cumulative_sum", "cumulative_prod")},
    "sum(exact=True)": (of("sum", exact=True), FLOATS + COMPLEX),
    "mean(exact=True)": (of("mean", exact=True), FLOATS + COMPLEX),
    "norm(exact=True)": (of("norm", exact=True), FLOATS + COMPLEX),
    "var(exact=True)": (of("var", exact=True), FLOATS),
    "std(exact=True)": (of("std", exact=True), FLOATS),
    "norm(ord=1)": (of("norm", 1), FLOATS + COMPLEX),
    "norm": (of("norm"), FLOATS + COMPLEX),
    "norm(ord=3)": (of("norm", 3), FLOATS + COMPLEX),
    "norm(ord=inf)": (of("norm", np.inf), FLOATS + COMPLEX),
    "quantile": (of("quantile", 0.3), FLOATS),
    "average": (weighted, FLOATS + COMPLEX),
    "vecdot": (pairs, FLOATS + COMPLEX),
}  # fmt: skip
NEED_LENGTH = {
    "softmax",
    "log_softmax",
    "cumulative_sum",
    "cumulative_prod",
    "cummax",
}  # as many results as elements


class Layout(NamedTuple):
    """Where the elements of a row are."""

    length: int
    shape: Callable[[int, int], tuple[int, ...]]  # of as many rows of that length
    axis: int  # that is reduced
    rows: int  # axis along which results are counted
    step: int = 1  # from element to element along the last axis


# The lengths of rows are those of one step, of several steps and of several blocks of today's kernels.
LAYOUTS = {
    "short rows": Layout(60, lambda rows, n: (rows, n), 1, 0),
    "rows": Layout(700, lambda rows, n: (rows, n), 1, 0),
    "long rows": Layout(20_000, lambda rows, n: (rows, n), 1, 0),
    "columns": Layout(700, lambda rows, n: (n, rows), 0, 1),
    "middle axis": Layout(90, lambda rows, n: (rows, n, 5), 1, 0),
    "strided rows": Layout(300, lambda rows, n: (rows, n), 1, 0, step=2),
}
PROMISES = ("batch", "start")
STARTS = (1, 2, 3, 5)


# Operators that select, of which results that are zeros have one sign; `min` and others may return any zero.
WITH_ZEROS = {"ptp", "cummax", "median", "norm(ord=inf)", "argmin", "argmax", "any"}


class Size(NamedTuple):
    """How many rows are in the largest batch, and in the smaller ones that are compared with it."""

    all: int
    batches: tuple[int, ...]

    def of(self, layout: Layout) -> Size:
        """Return a size with fewer long rows."""
        most = max(8, min(self.all, 10_000_000 // layout.length))
        return Size(most, tuple(batch for batch in self.batches if batch < most))


QUICK = Size(300, (1, 3, 16))
LONG = Size(4096, (1, 2, 3, 7, 16, 64, 500, 1000, 4095))


@functools.lru_cache(maxsize=4)
def numbers(shape: tuple[int, ...], axis: int, dtype: str, seed: int = 0) -> np.ndarray:
    """Return numbers over many exponents which nearly cancel along an axis; integers of all sizes."""
    rng = np.random.default_rng((seed, zlib.crc32(dtype.encode())))
    if np.dtype(dtype).kind == "i":
        most = np.iinfo(dtype).max
        return rng.integers(-most // 3, most // 3, shape).astype(dtype)
    if np.dtype(dtype).kind == "c":
        part = np.dtype(dtype).type(0).real.dtype.name
        real, imaginary = (numbers(shape, axis, part, seed + i) for i in (1, 2))
        return (real + 1j * imaginary).astype(dtype)
    data = rng.standard_normal(shape) * 2.0 ** rng.integers(-10, 6, shape)
    data = np.moveaxis(data, axis, -1)
    half = data.shape[-1] // 2
    data[..., half : 2 * half] = -data[..., :half] * (1 + 2.0**-9)
    data = rng.permuted(data, axis=-1)
    return np.ascontiguousarray(np.moveaxis(data, -1, axis)).astype(dtype)


def prepared(name: str, data: np.ndarray) -> np.ndarray:
    """Return data of which an operator makes results that differ.

    These are products near 1, exponents near 0, some NaN, and zeros of both signs for operators that select.
    """
    if name in WITH_ZEROS and data.dtype.kind == "f":
        data = data.copy()
        data[..., : data.shape[-1] // 2] *= 0  # of rows, and of columns
    if name.startswith(("prod", "nanprod", "cumulative_prod")) and data.dtype.kind in "fc":
        data = (1 + data / 4096).astype(data.dtype)
    if name in ("logsumexp", "softmax_denominator", "softmax", "log_softmax"):
        data = (data / 64).astype(data.dtype)
    if name == "average" and data.dtype.kind == "f":
        data = abs(data)
    if name.startswith("nan"):
        data = data.copy()
        data.reshape(-1)[::17] = np.nan
    return data


def placed(data: np.ndarray, step: int, skipped: int, device: str) -> Any:
    """Return a device array of those elements, `step` apart along the last axis, behind `skipped` others.

    All other elements are 1.
    """
    wide = np.ones((*data.shape[:-1], data.shape[-1] * step), data.dtype)
    wide[..., ::step] = data
    memory = np.concatenate([np.ones(skipped, data.dtype), wide.ravel()])
    array = gpureduce.to_device(memory, device)[skipped:].reshape(wide.shape)
    return array[..., ::step] if step > 1 else array


def bits(result: Any, rows: int) -> np.ndarray:
    """Return the bits of results, one line for each row; all NaNs have the same bits."""
    if isinstance(result, tuple):
        return np.concatenate([bits(each, rows) for each in result], axis=1)
    host = result.numpy() if isinstance(result, gpureduce.DeviceArray) else np.asarray(result)
    host = np.moveaxis(host, rows if host.ndim > rows else 0, 0) if host.ndim else host.reshape(1)
    host = np.ascontiguousarray(host).reshape(len(host), -1)
    if host.dtype.kind in "fc":
        host = host.view(host.real.dtype)
        host = np.where(np.isnan(host), host.dtype.type(np.nan), host)
    return host.view(f"u{host.dtype.itemsize}").astype(np.uint64)


class Cell(NamedTuple):
    """One question: whether an operator's bits of a dtype and layout depend on the batch or on the start."""

    operator: str
    dtype: str
    layout: str
    promise: str


def promised(page: str) -> dict[tuple[str, str, str], str]:
    """Return what a page says of each operator, dtype and layout: "yes" where it promises both.

    The page has a table with columns of operators, dtypes and a column for each of LAYOUTS.
    """
    sets = {"floats": FLOATS, "complex": COMPLEX, "integers": INTEGERS}
    table = re.search(r"^\| Operators \| Of \|(.*)\n\|[-|]+\n((?:\|.*\n)+)", page, re.M)
    assert table is not None
    columns = [each.strip() for each in table[1].strip().strip("|").split("|")]
    assert columns == list(LAYOUTS)
    found = {}
    for line in table[2].splitlines():
        names, dtypes, *words = (each.strip() for each in line.strip("|").split("|"))
        wanted = [dtype for each in dtypes.split(", ") for dtype in sets.get(each, (each,))]
        for name in re.findall(r"`([^`]+)`", names):
            for dtype in OPERATORS[name][1]:
                if dtype in wanted:
                    for layout, word in zip(columns, words, strict=True):
                        found[name, dtype, layout] = re.sub(r" \[\d+\]", "", word)
    return found


def cells() -> Iterator[Cell]:
    """Yield all of them."""
    for operator, (_, dtypes) in OPERATORS.items():
        for dtype in dtypes:
            for layout in LAYOUTS:
                for promise in PROMISES:
                    yield Cell(operator, dtype, layout, promise)


def differences(cell: Cell, size: Size, device: str) -> list[str]:
    """Return a line for each call whose bits differ from those of the same rows in the largest batch."""
    layout = LAYOUTS[cell.layout]
    size = size.of(layout)
    fn = OPERATORS[cell.operator][0]
    shape = layout.shape(size.all, layout.length)
    data = prepared(cell.operator, numbers(shape, layout.axis, cell.dtype))

    def result(rows: np.ndarray, skipped: int = 0) -> np.ndarray:
        # A column without others would be contiguous.
        step = 2 if layout.axis == 0 and rows.shape[1] == 1 else layout.step
        return bits(fn(placed(rows, step, skipped, device), layout.axis), _axis_of_rows(cell, layout))

    found = []
    if cell.promise == "start":
        few = np.take(data, np.arange(min(16, size.all)), layout.rows)
        first = result(few)
        for skipped in STARTS:
            count = int((result(few, skipped) != first).any(axis=1).sum())
            if count:
                found.append(f"{skipped} elements later: {count} of {len(first)}")
        return found
    among_all = result(data)
    for batch in size.batches:
        index = np.arange(size.all - batch, size.all)
        few = result(np.ascontiguousarray(np.take(data, index, layout.rows)))
        count = int((few != among_all[index]).any(axis=1).sum())
        if count:
            found.append(f"{batch} of {size.all} rows: {count} of {batch}")
    return found


def _axis_of_rows(cell: Cell, layout: Layout) -> int:
    """Return the axis of the rows in a result."""
    keeps = cell.operator in NEED_LENGTH
    return layout.rows if keeps else layout.rows - (layout.axis < layout.rows)
