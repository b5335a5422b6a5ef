"""Reductions and scans along axes as JAX functions, with batching rules and derivatives.

An array is reshaped to (lines, length, inner), of which the middle axis is reduced; other orders of axes are
transposed first. A batch makes more lines, so that `vmap` is one call.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from gpureduce._jax import jax, targets
from gpureduce._jax.partitioning import Merging, partitioned
from gpureduce._rules import arguments as rules

jnp = jax.numpy
# Operators whose results are 64-bit integers: of all elements, or of integers.
_POSITIONS = ("argmax", "argmin")
_WIDE = ("sum", "prod")
# Operators whose results of shards of equal length are merged. Variances are not: the means of the shards,
# rounded to their dtype, would lose a variance that is small compared with the mean.
_MERGED = ("sum", "mean", "max", "min", "logsumexp", *_POSITIONS)


def _result(op: str, dtype: np.dtype, shape: tuple[int, ...]) -> Any:
    """Describe the result of the kernels."""
    if op in _POSITIONS:
        return targets.integers(shape, np.dtype(np.int64))
    if op in _WIDE and dtype.kind in "biu":
        return targets.integers(shape, np.dtype(np.uint64 if dtype.kind == "u" else np.int64))
    if op in ("var", "std") and dtype.kind == "c":
        return jax.ShapeDtypeStruct(shape, f"f{dtype.itemsize // 2}")
    return jax.ShapeDtypeStruct(shape, dtype)


def _of_lines(op: str, elements: Any, parameter: int = 0, exact: bool = False, whole: bool = False) -> Any:
    """Reduce the middle axis of (lines, length, inner) by the kernels. `whole`: it is the only axis."""
    lines, _, inner = elements.shape
    described = _result(op, np.dtype(elements.dtype), (lines, inner))
    attributes: dict[str, targets.Attribute] = {
        "op": op,
        "exact": int(exact),
        "parameter": parameter,
        "whole": int(whole),
    }
    (result,) = targets.call("reduce", [elements], [described], **attributes)
    return targets.low_words(result, (lines, inner))


def _merging(op: str, reduce_shard: Callable[[Any], Any]) -> Merging:
    """Return how results of shards, of shape (shards, lines, inner), are merged."""

    def of_results(results: Any, length: int) -> Any:
        return reduce_shard(results.reshape(1, results.shape[0], -1)).reshape(results.shape[1:])

    def of_positions(extremes: Any, positions: Any, length: int) -> Any:
        shard = jnp.argmax(extremes, 0) if op == "argmax" else jnp.argmin(extremes, 0)
        chosen = jnp.take_along_axis(positions, shard[None], 0)[0]
        return chosen + shard.astype(chosen.dtype) * length

    if op in _POSITIONS:
        return Merging(lambda x: (_of_lines(op[3:], x), reduce_shard(x)), of_positions)
    return Merging(lambda x: (reduce_shard(x),), of_results)


@functools.cache
def _lines_reducer(op: str, exact: bool, parameter: int, whole: bool) -> Callable[[Any], Any]:
    """Return the function of (lines, length, inner) that reduces the middle axis. `whole`: the only one."""

    def reduce_shard(elements: Any) -> Any:
        return _of_lines(op, elements, parameter, exact, whole)

    merging = _merging(op, reduce_shard) if op in _MERGED and not exact else None
    reduce_lines = jax.custom_batching.custom_vmap(partitioned(reduce_shard, "l n i -> l i", "n", merging))

    @reduce_lines.def_vmap
    def batched(size: int, _: Any, elements: Any) -> tuple[Any, bool]:
        reduce_batch = _lines_reducer(op, exact, parameter, False)
        result = reduce_batch(elements.reshape(-1, *elements.shape[2:]))
        return result.reshape(size, -1, elements.shape[3]), True

    return reduce_lines


@functools.cache
def _lines_scanner(op: str) -> Callable[[Any], Any]:
    """Return the function of (lines, length, inner) that scans the middle axis."""

    def scan_shard(elements: Any) -> Any:
        described = _result(op, np.dtype(elements.dtype), (elements.size,))
        (result,) = targets.call("scan", [elements], [described], op=op)
        return targets.low_words(result, (elements.size,)).reshape(elements.shape)

    scan_lines = jax.custom_batching.custom_vmap(partitioned(scan_shard, "l n i -> l n i", "n"))

    @scan_lines.def_vmap
    def batched(size: int, _: Any, elements: Any) -> tuple[Any, bool]:
        return scan_lines(elements.reshape(-1, *elements.shape[2:])).reshape(elements.shape), True

    return scan_lines


def lines_of(x: Any, axes: tuple[int, ...]) -> Any:
    """Reshape an array to (lines, length, inner): `axes` become the middle axis."""
    if axes and axes != tuple(range(axes[0], axes[0] + len(axes))):
        kept = [axis for axis in range(x.ndim) if axis not in axes]
        x, axes = x.transpose(*kept, *axes), tuple(range(len(kept), x.ndim))
    first, last = (axes[0], axes[-1] + 1) if axes else (x.ndim, x.ndim)
    shape = [math.prod(part) for part in (x.shape[:first], x.shape[first:last], x.shape[last:])]
    return x.reshape(shape)


def double_bits(value: float) -> int:
    """Return the bits of a double as a signed integer."""
    return struct.unpack("q", struct.pack("d", value))[0]


def reduce(
    op: str, x: Any, axes: tuple[int, ...], keepdims: bool, exact: bool = False, parameter: int = 0
) -> Any:
    """Reduce axes by the kernels of an operator; there is at least one element per result."""
    shape = rules.kept_shape(x.shape, axes, keepdims)
    if 0 in shape:
        described = _result(op, np.dtype(x.dtype), shape)
        return jnp.zeros(shape, described.dtype)
    whole = len(axes) == x.ndim
    return _lines_reducer(op, exact, parameter, whole)(lines_of(x, axes)).reshape(shape)


def scan(op: str, x: Any, axis: int) -> Any:
    """Scan an axis by the kernels; there is at least one element."""
    return _lines_scanner(op)(lines_of(x, (axis,))).reshape(x.shape)


# ---- derivatives: JAX computes the tangents, so that they can be transposed and differentiated again ----


def _expand(result: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    return result if keepdims else jnp.expand_dims(result, axes)


def _sum_tangent(x: Any, result: Any, t: Any, axes: tuple[int, ...], keepdims: bool, ddof: float) -> Any:
    return jnp.sum(t, axes, keepdims=keepdims)


def _mean_tangent(x: Any, result: Any, t: Any, axes: tuple[int, ...], keepdims: bool, ddof: float) -> Any:
    return jnp.mean(t, axes, keepdims=keepdims)


def _var_tangent(x: Any, result: Any, t: Any, axes: tuple[int, ...], keepdims: bool, ddof: float) -> Any:
    apart = x - jnp.mean(x, axes, keepdims=True)
    divisor = rules.reduced_count(x.shape, axes) - ddof
    return 2 * jnp.sum((jnp.conj(apart) * t).real, axes, keepdims=keepdims) / divisor


def _std_tangent(x: Any, result: Any, t: Any, axes: tuple[int, ...], keepdims: bool, ddof: float) -> Any:
    return _var_tangent(x, result, t, axes, keepdims, ddof) / (2 * result)


def _logsumexp_tangent(
    x: Any, result: Any, t: Any, axes: tuple[int, ...], keepdims: bool, ddof: float
) -> Any:
    largest = jnp.where(jnp.isfinite(result), result, 0)
    return jnp.sum(jnp.exp(x - _expand(largest, axes, keepdims)) * t, axes, keepdims=keepdims)


def _extreme_tangent(x: Any, result: Any, t: Any, axes: tuple[int, ...], keepdims: bool, ddof: float) -> Any:
    """Return the mean of the tangents of the elements that are the extreme, as JAX does."""
    chosen = (x == _expand(result, axes, keepdims)).astype(t.dtype)
    total = jnp.sum(chosen * t, axes, keepdims=keepdims)
    return total / jnp.sum(chosen, axes, keepdims=keepdims)


TANGENTS: dict[str, Callable] = {
    "sum": _sum_tangent,
    "mean": _mean_tangent,
    "var": _var_tangent,
    "std": _std_tangent,
    "logsumexp": _logsumexp_tangent,
    "max": _extreme_tangent,
    "min": _extreme_tangent,
}


@functools.cache
def differentiable(
    op: str, axes: tuple[int, ...], keepdims: bool, exact: bool, ddof: float
) -> Callable[[Any], Any]:
    """Return the function of an array that reduces axes, with its derivative."""
    parameter = double_bits(ddof) if op in ("var", "std") else 0

    @jax.custom_jvp
    def reduction(x: Any) -> Any:
        return reduce(op, x, axes, keepdims, exact, parameter)

    @reduction.defjvp
    def tangent(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
        (x,), (t,) = primals, tangents
        result = reduction(x)
        return result, TANGENTS[op](x, result, t, axes, keepdims, ddof).astype(result.dtype)

    return reduction


@functools.cache
def differentiable_scan(axis: int) -> Callable[[Any], Any]:
    """Return the function of an array that adds up an axis, with its derivative."""

    @jax.custom_jvp
    def cumulative(x: Any) -> Any:
        return scan("sum", x, axis)

    @cumulative.defjvp
    def tangent(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
        return cumulative(*primals), jnp.cumsum(*tangents, axis=axis)

    return cumulative


# ---- compiled functions: outside `jit` a custom call would be compiled anew at every call ----


@functools.cache
def compiled(
    op: str, axes: tuple[int, ...], keepdims: bool, exact: bool, ddof: float
) -> Callable[[Any], Any]:
    """Return the compiled function of an array that reduces axes, with JAX's dtypes."""

    @jax.jit
    def reduction(x: Any) -> Any:
        if op in _POSITIONS:
            targets.require_elements(op, x, axes)
            # Integers have no tangents.
            result = reduce(op, jax.lax.stop_gradient(x), axes, keepdims)
            return result.astype(np.int64 if targets.has_64_bits() else np.int32)
        if op == "sum":
            dtype = jax.eval_shape(jnp.sum, x).dtype
            if 0 in x.shape:
                return jnp.sum(x, axes, keepdims=keepdims)
            rounds = exact and jnp.issubdtype(x.dtype, np.inexact)
            return differentiable(op, axes, keepdims, rounds, 0)(x).astype(dtype)
        targets.require_elements(op, x, axes)
        if op in ("max", "min"):
            return differentiable(op, axes, keepdims, exact, ddof)(x)
        result = differentiable(op, axes, keepdims, exact, ddof)(targets.as_float(x))
        return result if jnp.issubdtype(x.dtype, np.inexact) else result.astype(targets.float_dtype(x))

    return reduction


@functools.cache
def compiled_scan(axis: int | None) -> Callable[[Any], Any]:
    """Return the compiled function of an array that adds up an axis; None: the elements in C order."""

    @jax.jit
    def cumulative(x: Any) -> Any:
        dtype = jax.eval_shape(lambda x: jnp.cumsum(x, axis), x).dtype
        x, along = (x.reshape(-1), 0) if axis is None else (x, axis)
        return jnp.zeros(x.shape, dtype) if 0 in x.shape else differentiable_scan(along)(x).astype(dtype)

    return cumulative
