"""Reductions with ``exact=True``: correctly rounded results."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.operand import Operand, as_operand
from gpureduce._reduce import engine, exact_states, floating
from gpureduce._reduce.options import Options
from gpureduce._reduce.output import OutputSpec
from gpureduce._rules import arguments as rules
from gpureduce._rules.arguments import caller_stacklevel

# Host arrays are copied to the device in pieces of this many bytes, whose states are merged: the whole need
# not fit, and the launch and the state of a piece take negligible time compared with its copy.
CHUNK_BYTES = 1 << 28


def run(
    op: str,
    operand: Operand,
    axes: tuple[int, ...],
    second: Operand | None,
    initial: np.ndarray | None,
    output: OutputSpec,
    fold: int = 0,
    blocks: int = 0,
) -> np.ndarray | None:
    """Call the core; None if the result is on the device already.

    `fold` and `blocks` change the computation, but not the result: see csrc/exact/exact.h.
    """
    core_out = output.core_out(output.dtype)
    output.wait_for_inputs()
    if core_out is None and not fold and not blocks and _takes_chunks(op, operand, axes, second):
        return _by_chunks(op, operand, second, initial, output)
    other = None if second is None else second.handle
    result = _core.exact(
        operand.handle,
        op,
        axes,
        other,
        initial,
        core_out,
        operand.kind,
        operand.index,
        output.stream,
        fold,
        blocks,
    )
    return result if core_out is None else None


def sum(
    a: Any, options: Options, axis: Any, dtype: Any, out: Any, keepdims: Any, initial: Any, where: Any
) -> Any:
    """Reduce by the exact sum."""
    operand = as_operand(a, options.device)
    axes = rules.reduced_axes(axis, len(operand.shape))
    output = OutputSpec(out, options, operand, axis, operand.shape, axes, keepdims)
    if options.variant is not None:
        whole = len(axes) == len(operand.shape) and where is True and initial is rules.NO_VALUE
        return _by_rung(operand, whole and dtype is None, output, options)
    mask = output.take_mask(where, operand) if where is not True else None
    loop = output.loop_dtype("sum", operand.rule_dtype, dtype)
    if initial is None:
        rules.require_elements("sum", rules.reduced_count(operand.shape, axes), operand.shape)
        if mask is not None:
            raise ValueError("sum: the reduction has no identity, so where= needs initial=")
    has_initial = initial is not None and initial is not rules.NO_VALUE
    start = rules.initial_value(initial, loop) if has_initial else None
    source = operand
    output.set_dtype(loop, "unsafe")
    if loop.kind in "iu" and operand.dtype.kind in "biu":
        output.wait_for_inputs()
        total = _whole_sums(operand, axes, mask, output.stream)
        return output.store(_fitting(total if start is None else total + int(start), loop))
    if loop.kind in "biu":
        raise TypeError(f"dtype: exact sums of {operand.dtype} cannot be returned as {loop}")
    result = run("sum", output.cast(operand, loop), axes, mask, start, output)
    return _stored(output, "sum", result, source, axes, mask, start)


def mean(a: Any, options: Options, axis: Any, dtype: Any, out: Any, keepdims: Any, where: Any) -> Any:
    """Reduce by the exact sum divided by the number of elements."""
    _reject_rung("mean", options)
    operand = as_operand(a, options.device)
    axes = rules.reduced_axes(axis, len(operand.shape), scalar_axis=False)
    output = OutputSpec(out, options, operand, axis, operand.shape, axes, keepdims)
    mask = output.take_mask(where, operand) if where is not True else None
    if dtype is None and operand.dtype.kind in "biu":
        dtype = np.dtype(np.float64)
    loop = output.loop_dtype("sum", operand.rule_dtype, dtype)
    if loop.kind in "biu" or output.is_integral:
        raise TypeError(f"dtype: an exact mean needs a floating-point dtype, got {loop}")
    output.set_dtype(loop, "unsafe")
    if operand.dtype.kind in "biu" and loop == np.float64:
        return output.store(_quotients(operand, axes, mask, output))
    source = operand
    result = run("mean", output.cast(operand, loop), axes, mask, None, output)
    if result is not None and np.isnan(result).any() and 0 in _counts(source, axes, mask, output.stream):
        _warn_of_empty_slices()
    return _stored(output, "mean", result, source, axes, mask)


def dot(a: Any, b: Any, out: Any, options: Options) -> Any:
    """Reduce by the exact dot product of two vectors."""
    _reject_rung("dot", options)
    left, right, output = engine.vectors(a, b, out, options)
    if output.dtype.kind in "biu":
        raise TypeError(f"dot: exact=True requires floating-point or complex numbers, got {output.dtype}")
    result = run("dot", left, (0,), right, None, output)
    return _stored(output, "dot", result, left, (0,), right)


# Pieces


def _takes_chunks(op: str, operand: Operand, axes: tuple[int, ...], second: Operand | None) -> bool:
    vectors = [operand] if second is None else [operand, second]
    whole = len(axes) == len(operand.shape) and (second is None or op == "dot")
    on_host = all(each.view is None and each.handle.flags.c_contiguous for each in vectors)
    return whole and on_host and operand.handle.nbytes > CHUNK_BYTES


def pieces_of(arrays: list[np.ndarray], most_bytes: int) -> Iterator[list[np.ndarray]]:
    """Yield parts of contiguous arrays of one shape, of up to `most` bytes of the first."""
    vectors = [each.reshape(-1) for each in arrays]
    step = max(1, most_bytes // vectors[0].itemsize)
    for start in range(0, vectors[0].size, step):
        yield [each[start : start + step] for each in vectors]


def _by_chunks(
    op: str, operand: Operand, second: Operand | None, initial: np.ndarray | None, output: OutputSpec
) -> np.ndarray:
    """Merge the states of pieces of a whole host array."""
    dtype, where = operand.dtype, (operand.kind, operand.index, output.stream)
    vectors = [each.handle for each in (operand, second) if each is not None]
    first = np.zeros(1, dtype) if initial is None else np.reshape(initial, 1)
    pieces = [[first] * len(vectors)]
    pieces += pieces_of(vectors, CHUNK_BYTES)
    kernel = "dot" if op == "dot" else "sum"
    total: Any = None
    for piece, *others in pieces:
        words = _core.exact_states(piece, kernel, (0,), others[0] if others else None, *where)
        if total is None:
            total = words
        else:
            exact_states.merge(total, words)
    size = exact_states.size_of_products(dtype) if op == "dot" else exact_states.size_of_sum(dtype)
    divisors = np.array([vectors[0].size], np.uint64) if op == "mean" else None
    result = exact_states.rounded(total, size, dtype, divisors)
    # States begin at 0, but `initial` and all elements may have been -0.
    result.view(exact_states.real(dtype))[exact_states.flags(total)[0] == 0] = -0.0
    return result.reshape(())


# The ladder


def _by_rung(operand: Operand, whole: bool, output: OutputSpec, options: Options) -> Any:
    """Sum a whole array by a named variant."""
    assert options.variant is not None
    name = options.variant.name
    for option, size in (("block_size", options.block_size), ("grid_size", options.grid_size)):
        if size is not None:
            raise ValueError(f"{option}: {name} chooses its own; leave it None")
    if not whole:
        raise ValueError(
            f"variant: {name} sums whole arrays, without axis=, where=, initial= or dtype=; 'auto' takes them"
        )
    output.work_in_default_stream()
    return output.take(_core.exact_rung(operand.handle, name, operand.kind, operand.index))


# Integers


def _whole_sums(operand: Operand, axes: tuple[int, ...], mask: Operand | None, stream: int) -> np.ndarray:
    """Return sums of integers as Python integers; 64-bit integers are summed as two halves."""
    if operand.dtype.itemsize < 8:
        return _on_host("sum", operand, axes, mask, stream).astype(object)
    low, high = (_on_host("sum", half, axes, mask, stream).astype(object) for half in split_int64(operand))
    return low + high * 2**32


def _on_host(
    op: str, operand: Operand, axes: tuple[int, ...], mask: Operand | None, stream: int
) -> np.ndarray:
    result = engine.run(op, operand, axes, mask, stream=stream)
    assert result is not None
    return result


def split_int64(operand: Operand) -> list[Operand]:
    """Return views of the lower and upper 32 bits of 64-bit integers."""
    names = ("uint32", "int32" if operand.dtype.kind == "i" else "uint32")
    if operand.view is not None:
        pointer, shape, strides, _ = operand.handle
        handles: list[Any] = [(pointer + 4 * i, shape, strides, name) for i, name in enumerate(names)]
    else:
        pair = np.dtype([("low", names[0]), ("high", names[1])])
        view = operand.handle.view(pair)
        handles = [view["low"], view["high"]]
    return [
        replace(operand, handle=handle, dtype=np.dtype(name), numpy_dtype=None)
        for handle, name in zip(handles, names, strict=True)
    ]


def _fitting(total: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Cast integers to a dtype; OverflowError if one does not fit."""
    limits = np.iinfo(dtype)
    for value in np.ravel(total):
        if not limits.min <= value <= limits.max:
            raise OverflowError(f"sum: {value} does not fit {dtype}")
    return np.asarray(total).astype(dtype)


def _quotients(
    operand: Operand, axes: tuple[int, ...], mask: Operand | None, output: OutputSpec
) -> np.ndarray:
    """Return means of integers, whose quotients Python rounds once."""
    output.wait_for_inputs()
    total = _whole_sums(operand, axes, mask, output.stream)
    counts = np.broadcast_to(_counts(operand, axes, mask, output.stream), np.shape(total))
    if 0 in counts:
        _warn_of_empty_slices()
    pairs = zip(np.ravel(total), np.ravel(counts), strict=True)
    # As Python integers, whose quotient is rounded once: NumPy would round the sum first.
    means = [int(value) / int(count) if count else np.nan for value, count in pairs]
    return np.array(means, np.float64).reshape(np.shape(total))


def _counts(operand: Operand, axes: tuple[int, ...], mask: Operand | None, stream: int) -> np.ndarray:
    """Return the number of elements of each result."""
    if mask is None:
        return np.asarray(rules.reduced_count(operand.shape, axes))
    return _on_host("count_nonzero", mask, axes, None, stream)


def _warn_of_empty_slices() -> None:
    warnings.warn("Mean of empty slice.", RuntimeWarning, stacklevel=caller_stacklevel())


# All of them


def _reject_rung(op: str, options: Options) -> None:
    if options.variant is not None:
        raise ValueError(f"variant: {options.variant.name} does not cover {op}; 'auto' does")


def _stored(output, op, result, operand, axes, second, start=None) -> Any:
    """Store a result, and report floating-point errors of a host result to NumPy."""
    stored = output.store(result)
    if result is not None and not (output.on_device or _core.all_finite(result)):
        floating.check_fp_status(op, result, operand, axes, second, start)
    return stored
