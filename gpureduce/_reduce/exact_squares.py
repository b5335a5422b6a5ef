"""Variances and norms with ``exact=True``: exact sums and sums of squares, rounded once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from gpureduce import _core
from gpureduce._arrays.device_array import to_device
from gpureduce._arrays.operand import Operand, as_operand
from gpureduce._device.devices import device_name
from gpureduce._reduce import engine, exact, exact_states, floating
from gpureduce._reduce.output import OutputSpec
from gpureduce._rules import arguments as rules

_COUNT = np.dtype(np.uint64)


class PowerSums(NamedTuple):
    """Number of elements of each result, and the states of their sum and of their sum of squares."""

    counts: np.ndarray
    sums: np.ndarray
    squares: np.ndarray


def power_sums(
    op: str, operand: Operand, axes: tuple[int, ...], mask: Operand | None, output: OutputSpec
) -> PowerSums:
    """Return exact sums of floating-point elements; the call synchronizes."""
    prepare(op, output)
    kept = rules.kept_shape(operand.shape, axes)
    counts = counts_of(operand, axes, mask, output)
    total: list[np.ndarray] = []
    for piece, piece_axes in pieces_on_device(operand, axes, mask, output):
        states = [states_of("sum", piece, piece_axes, output), _squares(piece, piece_axes, output)]
        total = add_states(total, states)
    sums, squares = (each.reshape(kept + each.shape[-2:]) for each in total)
    return PowerSums(counts, sums, squares)


def prepare(op: str, output: OutputSpec) -> None:
    """Raise ValueError in a capture, and order the stream of the call after those of its arrays."""
    output.reject_capture(f"the host rounds the result of exact {op}, which cannot be captured into a graph")
    output.wait_for_inputs()


def add_states(total: list[np.ndarray], states: list[np.ndarray]) -> list[np.ndarray]:
    """Add states to those of earlier pieces, of which there may be none."""
    for mine, theirs in zip(total, states, strict=False):
        exact_states.merge(mine, theirs)
    return total or states


def counts_of(
    operand: Operand, axes: tuple[int, ...], mask: Operand | None, output: OutputSpec
) -> np.ndarray:
    """Return the number of elements of each result."""
    kept = rules.kept_shape(operand.shape, axes)
    if mask is None:
        return np.full(kept, rules.reduced_count(operand.shape, axes), _COUNT)
    counts = engine.run("count_nonzero", mask, axes, stream=output.stream)
    return np.asarray(counts, _COUNT).reshape(kept)


def states_of(
    op: str, operand: Operand, axes: tuple[int, ...], output: OutputSpec, second: Any = None
) -> np.ndarray:
    """Return the states of exact sums, or of products, of the shape (..., parts, words)."""
    kept = rules.kept_shape(operand.shape, axes)
    if 0 in operand.shape:
        size = exact_states.size_of_products if op == "dot" else exact_states.size_of_sum
        # The squares of both parts of a complex number are one sum.
        parts = 1 if second is True else exact_states.parts(operand.dtype)
        return np.zeros((*kept, parts, size(operand.dtype).words), np.int64)
    device = (operand.kind, operand.index, output.stream)
    words = _core.exact_states(operand.handle, op, axes, second, *device)
    return words.reshape(kept + words.shape[1:])


def _squares(operand: Operand, axes: tuple[int, ...], output: OutputSpec) -> np.ndarray:
    if 0 in operand.shape:
        return states_of("dot", operand, axes, output, True)
    first, *others = [states_of("dot", part, axes, output, True) for part in floating.parts_of(operand)]
    for other in others:
        exact_states.merge(first, other)
    return first


def pieces_on_device(
    operand: Operand, axes: tuple[int, ...], mask: Operand | None, output: OutputSpec
) -> Iterator[tuple[Operand, tuple[int, ...]]]:
    """Yield elements on the device, of which masked ones are 0; whole host arrays piece by piece."""
    array = operand.handle
    whole = len(axes) == len(operand.shape) and operand.view is None and array.flags.c_contiguous
    if not whole or mask is not None or array.nbytes <= exact.CHUNK_BYTES:
        yield on_device(operand, mask, output), axes
        return
    for (piece,) in exact.pieces_of([array], exact.CHUNK_BYTES):
        yield on_device(replace(operand, handle=piece, shape=piece.shape), None, output), (0,)


def on_device(operand: Operand, mask: Operand | None, output: OutputSpec) -> Operand:
    """Return elements in device memory, of which masked ones are 0."""
    if operand.view is None:
        array = (
            operand.handle if mask is None else np.where(mask.handle, operand.handle, operand.dtype.type(0))
        )
        return as_operand(to_device(array, device_name(operand.kind, operand.index)), None)
    return operand if mask is None else each_alone("sum", operand, output, mask)


def each_alone(op: str, operand: Operand, output: OutputSpec, second: Operand | None = None) -> Operand:
    """Return the result of a reduction of each element of a device array alone.

    `second` is a mask, or the second factors of products.
    """
    made = output.allocate_output(operand.shape, operand.dtype)
    rows, masks = (
        None
        if each is None
        else each.with_strides((*each.handle[1], 1), (*each.handle[2], each.dtype.itemsize))
        for each in (operand, second)
    )
    assert rows is not None
    engine.run(op, rows, (len(operand.shape),), masks, out=made._view_tuple(), stream=output.stream)
    return replace(operand, handle=made._view_tuple(), view=made)


# Variances


def exact_variance(
    op: str, operand: Operand, axes: tuple[int, ...], mask: Operand | None, ddof: float, output: OutputSpec
) -> np.ndarray:
    """Return variances or standard deviations, rounded once from the exact ones."""
    sums = power_sums(op, operand, axes, mask, output)
    return variances(sums, operand.dtype, exact_states.real(operand.dtype), ddof, op == "std")


def variances(
    power: PowerSums, element_dtype: np.dtype, dtype: np.dtype, ddof: float, root: bool
) -> np.ndarray:
    """Return n Q - S^2 over n (n - ddof), of the sums S and of squares Q, or its root, rounded once.

    Without degrees of freedom, the result is infinite, or NaN if all elements are equal.
    """
    less = rules.degrees(ddof)
    if abs(less) < 2**62 and less == int(less) and (power.counts < 2**62).all():
        return exact_states.variances(*power, element_dtype, int(less), root)
    finish = exact_states.root if root else exact_states.quotient
    counts = [int(count) for count in power.counts.flat]
    marks = (exact_states.flags(power.squares) & ~8).reshape(-1).tolist()
    bits = exact_states.size_of_products(element_dtype).below
    # By the number of elements: the number less ddof, as a quotient of integers.
    free = {n: (n - Fraction(less)).as_integer_ratio() for n in set(counts) if n > less > -math.inf}
    results = []
    for count, mark, over in zip(counts, marks, scaled_squares(power, counts, element_dtype), strict=True):
        if mark or count == 0 or over < 0:  # it is less than 0 only in bytes that were made up
            results.append(math.nan)
        elif count in free:
            top, bottom = free[count]
            results.append(finish(over * bottom, count * top, -bits, dtype))
        elif count > less:
            results.append(0.0)
        else:
            results.append(math.inf if over > 0 else math.nan)
    return as_dtype(results, dtype).reshape(power.counts.shape)


def as_dtype(values: list[float], dtype: np.dtype) -> np.ndarray:
    """Return numbers that are rounded to a dtype, unless they exceed it, as an array."""
    with np.errstate(over="ignore"):
        return np.array(values, np.float64).astype(dtype)


def scaled_squares(power: PowerSums, counts: list[int], element_dtype: np.dtype) -> Iterator[int]:
    """Yield n Q - S^2 of each result, in units of the last bit of Q."""
    bits = exact_states.size_of_products(element_dtype).below
    unit = exact_states.size_of_sum(element_dtype).below
    sums, squares = exact_states.integers(power.sums), exact_states.integers(power.squares)
    each = exact_states.parts(element_dtype)
    for i, count in enumerate(counts):
        square = sum(part * part for part in sums[i * each : (i + 1) * each])
        yield count * squares[i] - (square << (bits - 2 * unit))


# Norms


def exact_norm(order: float, operand: Operand, axes: tuple[int, ...], output: OutputSpec) -> np.ndarray:
    """Return norms of order 1 or 2, rounded once from the exact ones."""
    prepare("norm", output)
    kept, dtype = rules.kept_shape(operand.shape, axes), exact_states.real(operand.dtype)
    make: Callable[..., np.ndarray] = _magnitudes if order == 1 else _squares
    parts: list[np.ndarray] = []
    for piece, piece_axes in pieces_on_device(operand, axes, None, output):
        parts = add_states(parts, [make(piece, piece_axes, output)])
    total = parts[0].reshape(kept + parts[0].shape[-2:])
    if order == 1:
        return exact_states.rounded(total, exact_states.size_of_sum(dtype), dtype)
    return exact_states.roots(total, exact_states.size_of_products(dtype), dtype)


def _magnitudes(operand: Operand, axes: tuple[int, ...], output: OutputSpec) -> np.ndarray:
    """Return the states of sums of magnitudes of real numbers."""
    if 0 in operand.shape:
        return states_of("sum", operand, axes, output)
    return states_of("sum", each_alone("sumnorm", operand, output), axes, output)
