"""Checks on what the bits of a function's results depend: `gpureduce.testing.check_invariance`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpureduce._arrays.device_array import DeviceArray, to_device
from gpureduce._rules import arguments as rules

PROMISES = ("repeat", "batch", "place", "order", "chunks", "device")
DATA = ("given", "cancelling", "wide", "ties", "special")

_REPEATS = 4
_OFFSETS = (1, 2, 3, 5, 7, 16, 31)  # elements by which the first one is moved in memory
_SHRINKS = 24


@dataclass(frozen=True)
class Difference:
    """A promise that a function does not keep.

    Attributes
    ----------
    promise : str
        ``"repeat"``, ``"batch"``, ``"place"``, ``"order"``, ``"chunks"`` or ``"device"``.
    data : str
        The kind of data: one of those of `check_invariance`.
    what : str
        Description of the two calls.
    different, total : int
        Number of results whose bits differ, and of all that were compared.
    index : tuple of int
        Index of the first such result.
    bits : tuple of int
        Bits of that result in either call.
    example : tuple of arrays
        Arguments, as short as the check could make them, with which the bits still differ.

    Examples
    --------
    >>> import numpy as np
    >>> from gpureduce.testing import check_invariance
    >>> report = check_invariance(lambda a: a[:, 0], np.float32([[1, 2]]), over=["order"], data=["given"])
    >>> report.differences[0].index, [hex(bits) for bits in report.differences[0].bits]
    ((0,), ['0x40000000', '0x3f800000'])
    """

    promise: str
    data: str
    what: str
    different: int
    total: int
    index: tuple[int, ...]
    bits: tuple[int, int]
    example: tuple[Any, ...]

    def __str__(self) -> str:
        shapes = ", ".join(str(tuple(each.shape)) for each in self.example)
        first, second = (f"0x{value:x}" for value in self.bits)
        return (
            f"{self.promise} ({self.data} data): {self.what}: {self.different} of {self.total} differ,"
            f" the first at {self.index}: {first} and {second}; smallest example: shapes {shapes}"
        )


@dataclass(frozen=True)
class InvarianceReport:
    """What `check_invariance` found.

    Attributes
    ----------
    differences : tuple of Difference
        One per promise and kind of data that fails.
    checked : tuple of str
        The promises that were checked.

    Examples
    --------
    >>> import numpy as np
    >>> from gpureduce.testing import check_invariance
    >>> print(check_invariance(lambda a: a.max(axis=1), np.float32([[1, 2], [4, 3]])))
    kept: repeat, batch, place, order
    """

    differences: tuple[Difference, ...]
    checked: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether all promises are kept."""
        return not self.differences

    def failed(self) -> set[str]:
        """Return the promises that are not kept.

        Returns
        -------
        set of str
        """
        return {each.promise for each in self.differences}

    def __str__(self) -> str:
        kept = [name for name in self.checked if name not in self.failed()]
        lines = [f"kept: {', '.join(kept) or 'none'}", *map(str, self.differences)]
        return "\n".join(lines)


def check_invariance(
    fn: Callable[..., Any],
    *arrays: Any,
    over: Sequence[str] | None = None,
    axis: int | None = 0,
    reduced: int = -1,
    out_axis: int = 0,
    data: Sequence[str] = DATA,
    merge: Callable[[list[Any]], Any] | None = None,
    devices: Sequence[str] = (),
    nan_bits: bool = False,
    seed: int = 0,
) -> InvarianceReport:
    """Check on what the bits of a function's results depend.

    Parameters
    ----------
    fn : callable
        Function of as many arrays as are passed. It returns an array or a tuple of arrays.
    *arrays : arrays of NumPy, PyTorch, CuPy or JAX, or DeviceArray
        Arguments; they set shapes and dtypes. Floating-point arrays are also filled with the kinds of `data`.
    over : sequence of str, optional
        Promises to check; default: all that the other arguments allow.

        - ``"repeat"``: the same call returns the same bits.
        - ``"batch"``: a row has the same bits alone, in a small batch and in the whole array.
        - ``"place"``: a row has the same bits at another index, and if the array begins at another address.
        - ``"order"``: permuted elements have the same bits.
        - ``"chunks"``: `merge` of the results of parts of the rows has the bits of the whole.
        - ``"device"``: each of `devices` returns the same bits.
    axis : int, optional
        Axis of the rows, in all arrays that have as many entries there as the first. None: there are none.
    reduced : int
        Axis along which ``"order"`` permutes, and ``"chunks"`` cuts, all arrays that have as many entries
        there as the first.
    out_axis : int
        Axis of the rows in results.
    data : sequence of str
        ``"given"``: the arrays as they are. ``"cancelling"``: numbers whose sum is small. ``"wide"``: numbers
        over many powers of two. ``"ties"``: few different numbers, and zeros of both signs. ``"special"``:
        infinities, NaN and subnormal numbers among others. Random numbers of one magnitude
        hide many differences.
    merge : callable, optional
        Function of a list of results of `fn`, one per part, for ``"chunks"``.
    devices : sequence of str
        Devices, such as ``("sim", "cuda")``, to which NumPy arrays are copied before the calls.
    nan_bits : bool
        Whether NaNs of different bits are different. IEEE 754 does not define which NaN an operation returns.
    seed : int
        Seed of data and permutations.

    Returns
    -------
    InvarianceReport

    Raises
    ------
    ValueError
        If a promise or a kind of data is unknown, or an argument that it needs is missing.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> from gpureduce.testing import check_invariance
    >>> a = np.random.default_rng(0).standard_normal((5, 300)).astype(np.float32)
    >>> check_invariance(lambda a: gpureduce.sum(a, axis=1, exact=True, device="sim"), a).passed
    True
    >>> report = check_invariance(lambda a: np.cumsum(a, axis=1)[:, -1], a)
    >>> report.failed()
    {'order'}
    """
    possible = {
        "batch": axis is not None,
        "chunks": merge is not None,
        "device": len(devices) > 1,
    }
    chosen = tuple(over) if over is not None else tuple(p for p in PROMISES if possible.get(p, True))
    for name in chosen:
        if name not in PROMISES:
            raise ValueError(f"over: unknown promise {name!r}; expected one of {', '.join(PROMISES)}")
        if not possible.get(name, True):
            needed = {"batch": "axis=", "chunks": "merge=", "device": "devices= with two devices"}[name]
            raise ValueError(f"over: {name!r} needs {needed}")
    for name in data:
        if name not in DATA:
            raise ValueError(f"data: unknown kind {name!r}; expected one of {', '.join(DATA)}")
    _check_arguments(fn, arrays, [axis, reduced if {"order", "chunks"} & set(chosen) else None])
    check = _Check(fn, axis, reduced, out_axis, merge, tuple(devices), nan_bits, np.random.default_rng(seed))
    found = []
    for kind in data:
        filled = tuple(_filled(each, kind, check.rng) for each in arrays)
        if kind != "given" and all(new is old for new, old in zip(filled, arrays, strict=True)):
            continue  # integers alone
        for promise in chosen:
            difference = check.difference(promise, kind, filled)
            if difference is not None:
                found.append(difference)
    return InvarianceReport(tuple(found), chosen)


def _check_arguments(fn: Any, arrays: tuple[Any, ...], axes: Sequence[int | None]) -> None:
    """Raise for what is no function, no array, or no axis of the first array; None is not checked."""
    if not callable(fn):
        raise TypeError(f"fn: expected a function, got {type(fn).__name__}")
    if not arrays:
        raise ValueError("arrays: expected at least one")
    for array in arrays:
        if not hasattr(array, "shape") or not hasattr(array, "dtype"):
            raise TypeError(f"arrays: expected arrays, got {type(array).__name__}")
    for axis in axes:
        if axis is not None:
            rules.one_axis(axis, len(arrays[0].shape))


@dataclass(frozen=True)
class _Check:
    fn: Callable[..., Any]
    axis: int | None
    reduced: int
    out_axis: int
    merge: Callable[[list[Any]], Any] | None
    devices: tuple[str, ...]
    nan_bits: bool
    rng: np.random.Generator

    def difference(self, promise: str, kind: str, arrays: tuple[Any, ...]) -> Difference | None:
        """Return the first difference between calls that should have the same bits, with a small example."""
        state = self.rng.bit_generator.state
        found = self._first(promise, arrays)
        if found is None:
            return None
        what, different, total, index, bits = found
        example = arrays
        for axis in (self.reduced, self.axis):
            for _ in range(_SHRINKS if axis is not None else 0):
                assert axis is not None
                shorter = self._halved(example, axis)
                self.rng.bit_generator.state = state
                if shorter is None or not self._fails(promise, shorter):
                    break
                example = shorter
        return Difference(promise, kind, what, different, total, index, bits, example)

    def _first(self, promise: str, arrays: tuple[Any, ...]) -> Any:
        calls: Callable[[tuple[Any, ...]], Iterator[tuple[str, Any, Any]]] = getattr(self, f"_{promise}")
        for what, one, two in calls(arrays):
            for left, right in zip(_parts(one), _parts(two), strict=True):
                a, b = _bits(left, self.nan_bits), _bits(right, self.nan_bits)
                if a.shape != b.shape:
                    raise ValueError(f"fn: {what}: results of shapes {a.shape} and {b.shape}")
                differs = a != b
                if differs.any():
                    index = tuple(map(int, np.argwhere(differs)[0]))
                    return what, int(differs.sum()), differs.size, index, (int(a[index]), int(b[index]))
        return None

    def _fails(self, promise: str, arrays: tuple[Any, ...]) -> bool:
        """Return whether the bits differ. A function may refuse shorter arguments, as a model does."""
        try:
            return self._first(promise, arrays) is not None
        except Exception:
            return False

    def _halved(self, arrays: tuple[Any, ...], axis: int) -> tuple[Any, ...] | None:
        length = arrays[0].shape[axis]
        if length < 2:
            return None
        return self._along(arrays, axis, np.arange(length - length // 2))

    def _along(self, arrays: tuple[Any, ...], axis: int, index: np.ndarray) -> tuple[Any, ...]:
        """Return entries along an axis of all arrays that have it."""
        length = arrays[0].shape[axis]
        ndim = len(arrays[0].shape)
        taken = []
        for each in arrays:
            own = axis if len(each.shape) == ndim else 0 if len(each.shape) == 1 else None
            fits = own is not None and each.shape[own] == length
            taken.append(_take(each, index, own) if fits and own is not None else each)
        return tuple(taken)

    def _rows(self, result: Any, index: np.ndarray) -> tuple[Any, ...]:
        return tuple(_take(each, index, self.out_axis) for each in _parts(result))

    def _repeat(self, arrays: tuple[Any, ...]) -> Iterator[tuple[str, Any, Any]]:
        first = self.fn(*arrays)
        for number in range(2, 2 + _REPEATS):
            yield f"calls 1 and {number}", first, self.fn(*arrays)

    def _batch(self, arrays: tuple[Any, ...]) -> Iterator[tuple[str, Any, Any]]:
        assert self.axis is not None
        whole, rows = self.fn(*arrays), arrays[0].shape[self.axis]
        sizes = sorted({size for size in (1, 2, 3, rows // 4, rows // 2, rows - 1) if 0 < size < rows})
        for size in sizes:
            for first in {0, rows - size, int(self.rng.integers(0, rows - size + 1))}:
                index = np.arange(first, first + size)
                part = self.fn(*self._along(arrays, self.axis, index))
                yield (
                    f"rows {first} to {first + size - 1} alone and among {rows}",
                    part,
                    self._rows(whole, index),
                )

    def _place(self, arrays: tuple[Any, ...]) -> Iterator[tuple[str, Any, Any]]:
        whole = self.fn(*arrays)
        for offset in _OFFSETS:
            moved = [_moved(each, offset) for each in arrays]
            if all(each is not None for each in moved):
                yield f"an array that begins {offset} elements later", self.fn(*moved), whole
        if self.axis is not None:
            rows = arrays[0].shape[self.axis]
            index = np.roll(np.arange(rows), 1 + int(self.rng.integers(0, max(rows - 1, 1))))
            other = self.fn(*self._along(arrays, self.axis, index))
            yield "rows at other indices", other, self._rows(whole, index)

    def _order(self, arrays: tuple[Any, ...]) -> Iterator[tuple[str, Any, Any]]:
        whole, length = self.fn(*arrays), arrays[0].shape[self.reduced]
        orders = [np.arange(length)[::-1].copy(), self.rng.permutation(length), self.rng.permutation(length)]
        for index, name in zip(orders, ("reversed", "permuted", "permuted again"), strict=True):
            yield f"elements {name}", self.fn(*self._along(arrays, self.reduced, index)), whole

    def _chunks(self, arrays: tuple[Any, ...]) -> Iterator[tuple[str, Any, Any]]:
        assert self.merge is not None
        length = arrays[0].shape[self.reduced]
        whole = self.merge([self.fn(*arrays)])
        for parts in sorted({min(count, length) for count in (2, 3, 7)} - {0, 1}):
            cuts = np.sort(self.rng.choice(np.arange(1, length), parts - 1, replace=False))
            pieces = np.split(np.arange(length), cuts)
            results = [self.fn(*self._along(arrays, self.reduced, piece)) for piece in pieces]
            yield f"{parts} chunks and one", self.merge(results), whole

    def _device(self, arrays: tuple[Any, ...]) -> Iterator[tuple[str, Any, Any]]:
        copies = [tuple(to_device(_on_host(each), where) for each in arrays) for where in self.devices]
        first = self.fn(*copies[0])
        for where, other in zip(self.devices[1:], copies[1:], strict=True):
            yield f"{self.devices[0]} and {where}", first, self.fn(*other)


def _parts(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def _library(array: Any) -> str:
    """Return the name of the library that an array belongs to."""
    if isinstance(array, DeviceArray):
        return "gpureduce"
    name = type(array).__module__.partition(".")[0]
    return {"jaxlib": "jax"}.get(name, name) if name in ("torch", "cupy", "jax", "jaxlib") else "numpy"


def _on_host(array: Any) -> np.ndarray:
    """Return a host array. bfloat16 tensors become their bits, as NumPy has no bfloat16."""
    kind = _library(array)
    if kind == "torch":
        torch = sys.modules["torch"]
        host = array.detach().cpu()
        return (host.view(torch.int16) if host.dtype == torch.bfloat16 else host).numpy()
    if kind in ("gpureduce", "cupy"):
        return array.numpy() if kind == "gpureduce" else array.get()
    return np.asarray(array)


def _bits(array: Any, nan_bits: bool) -> np.ndarray:
    """Return the bits of each number, of complex numbers two; all NaNs have the same, unless `nan_bits`."""
    host = np.ascontiguousarray(_on_host(array))
    if host.dtype.kind in "OUSTMm":
        raise TypeError(f"fn: expected numbers as results, got {type(array).__name__}")
    if host.dtype.kind == "c":
        host = host.view(host.real.dtype).reshape(*host.shape, 2)
    bits = host.view(f"u{host.dtype.itemsize}").reshape(host.shape)
    is_bfloat16 = str(getattr(array, "dtype", "")).endswith("bfloat16")
    if nan_bits or not (is_bfloat16 or host.dtype.kind == "f"):
        return bits
    nans = (bits & 0x7FFF) > 0x7F80 if is_bfloat16 else np.isnan(host)
    return np.where(nans, np.iinfo(bits.dtype).max, bits)


def _take(array: Any, index: np.ndarray, axis: int) -> Any:
    kind = _library(array)
    if kind == "torch":
        torch = sys.modules["torch"]
        return array.index_select(axis, torch.from_numpy(index).to(array.device))
    if kind == "gpureduce":
        return to_device(np.take(array.numpy(), index, axis), array.device)
    return sys.modules[kind].numpy.take(array, index, axis) if kind == "jax" else array.take(index, axis)


def _moved(array: Any, offset: int) -> Any:
    """Return a contiguous copy that begins behind the start of its memory; None where that is impossible."""
    kind, shape, size = _library(array), array.shape, int(np.prod(array.shape))
    if kind == "jax":
        return None
    if kind == "torch":
        copy = array.new_empty(size + offset)[offset:].view(shape)
        return copy.copy_(array)
    if kind == "gpureduce":
        padded = np.concatenate([np.zeros(offset, array.dtype), array.numpy().reshape(-1)])
        return to_device(padded, array.device)[offset:].reshape(shape)
    copy = sys.modules[kind].empty(size + offset, array.dtype)[offset:].reshape(shape)
    copy[...] = array
    return copy


def _is_float(array: Any) -> bool:
    if _library(array) == "torch":
        return bool(array.dtype.is_floating_point)
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"


def _filled(array: Any, kind: str, rng: np.random.Generator) -> Any:
    """Return an array of the same kind with other numbers; arrays of other dtypes than floats stay."""
    if kind == "given" or not _is_float(array):
        return array
    return _like(array, _numbers(kind, tuple(array.shape), _most_exponent(array), rng))


def _most_exponent(array: Any) -> int:
    """Return a power of two with which sums of many numbers do not overflow."""
    name = str(array.dtype).removeprefix("torch.")
    return 8 if name == "float16" else 60 if name in ("float32", "bfloat16") else 400


def _numbers(kind: str, shape: tuple[int, ...], most: int, rng: np.random.Generator) -> np.ndarray:
    values = rng.standard_normal(shape)
    if kind == "ties":
        return rng.choice([-1.0, -0.0, 0.0, 0.5, 1.0], shape)
    if kind == "wide":
        return values * 2.0 ** rng.integers(-most, most + 1, shape)
    if kind == "cancelling":
        # Large numbers and their negatives, in a random order, and small ones.
        flat = values.reshape(-1) * 2.0 ** rng.integers(-most // 2, most // 2 + 1, values.size)
        half = flat.size // 2
        flat[half : 2 * half] = -flat[:half] * (1 + rng.standard_normal(half) * 2.0**-20)
        return rng.permutation(flat).reshape(shape)
    special = rng.choice([np.inf, -np.inf, np.nan, 0.0, -0.0, 2.0**-149, 2.0**-1074], shape)
    return np.where(rng.random(shape) < 0.02, special, values)


def _like(array: Any, values: np.ndarray) -> Any:
    kind = _library(array)
    with np.errstate(over="ignore", under="ignore"):
        if kind == "torch":
            torch = sys.modules["torch"]
            return torch.from_numpy(values).to(array.dtype).to(array.device)
        if kind == "gpureduce":
            return to_device(values.astype(array.dtype), array.device)
        if kind == "numpy":
            return values.astype(array.dtype)
        numpy = sys.modules["jax"].numpy if kind == "jax" else sys.modules["cupy"]
        return numpy.asarray(values).astype(array.dtype)
