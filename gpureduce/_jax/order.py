"""Quantiles and top-k along the last axis as JAX functions, with batching rules and derivatives."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpureduce._jax import jax, targets
from gpureduce._jax.partitioning import partitioned
from gpureduce._order.methods import Interpolation, known_interpolation
from gpureduce._order.row_view import ALONE, BETWEEN, MIDDLE, RESULTS, interpolation_fields
from gpureduce._rules import arguments as rules

jnp = jax.numpy
Quantiles = tuple[tuple[float, ...], str]  # quantiles and the method; no quantiles: the median


def _position(quantiles: Quantiles, length: int) -> tuple[Interpolation, int]:
    """Return the elements to interpolate in lines of a length, and how."""
    q, method = quantiles
    if not q:
        ranks = np.array([(length - 1) // 2, length // 2])
        return Interpolation(ranks[:1], ranks[1:], None), MIDDLE
    at = known_interpolation(method, length, np.array(q))
    return at, ALONE if at.weight is None else BETWEEN


def _select(elements: Any, at: Interpolation, mean: int) -> Any:
    """Return quantiles of (lines, length), a row for each; there are at most RESULTS."""
    weight = None if at.weight is None else at.weight.tobytes()
    kind = None if at.weight is None else at.weight.dtype
    dtype = np.dtype(elements.dtype)
    ranks, fields = interpolation_fields(
        mean, dtype, True, at.lower.tobytes(), at.upper.tobytes(), weight, kind
    )
    attributes: dict[str, targets.Attribute] = {
        "ranks": np.array(ranks, np.int64),
        "mean": mean,
        **{name: np.frombuffer(fields[name], np.uint8) for name in ("lower", "upper")},
        **{name: np.frombuffer(fields[name], np.float64) for name in ("weight", "rest")},
    }
    described = jax.ShapeDtypeStruct((len(at.lower), elements.shape[0]), dtype)
    (result,) = targets.call("quantiles", [elements], [described], **attributes)
    return result


@functools.lru_cache(maxsize=256)
def _line_quantiles(quantiles: Quantiles) -> Callable[[Any], Any]:
    """Return the function of (lines, length) that returns quantiles, a row for each."""

    def of_shard(elements: Any) -> Any:
        at, mean = _position(quantiles, elements.shape[1])
        parts = [slice(i, i + RESULTS) for i in range(0, len(at.lower), RESULTS)]
        weights = [None if at.weight is None else at.weight[part] for part in parts]
        each = [
            _select(elements, Interpolation(at.lower[part], at.upper[part], weight), mean)
            for part, weight in zip(parts, weights, strict=True)
        ]
        return each[0] if len(each) == 1 else jnp.concatenate(each)

    of_lines = jax.custom_batching.custom_vmap(partitioned(of_shard, "l n -> q l", "n"))

    @of_lines.def_vmap
    def batched(size: int, _: Any, elements: Any) -> tuple[Any, bool]:
        result = of_lines(elements.reshape(-1, elements.shape[2]))
        return jnp.moveaxis(result.reshape(-1, size, elements.shape[1]), 1, 0), True

    return of_lines


def _lines(x: Any, axes: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
    """Return (lines, length) with `axes` merged into the last axis, and the shape of the kept axes."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    shape = tuple(x.shape[axis] for axis in kept)
    length = math.prod(x.shape[axis] for axis in axes)
    return x.transpose(*kept, *axes).reshape(math.prod(shape), length), shape


@functools.lru_cache(maxsize=256)
def quantiles(of: Quantiles, axes: tuple[int, ...]) -> Callable[[Any], Any]:
    """Return the function of an array that returns quantiles along axes, a row for each."""
    wide = BETWEEN in [_position(of, length)[1] for length in (2, 3)]

    @jax.custom_jvp
    def select(x: Any) -> Any:
        lines, shape = _lines(x, axes)
        if lines.shape[0] == 0:
            return jnp.zeros((max(len(of[0]), 1), *shape), x.dtype)
        # The kernels do not interpolate between elements of bfloat16.
        narrow = wide and x.dtype == jnp.bfloat16
        result = _line_quantiles(of)(lines.astype(jnp.float32) if narrow else lines)
        return result.reshape(-1, *shape).astype(x.dtype)

    @select.defjvp
    def tangent(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
        lines, shape = _lines(*primals, axes)
        steps, _ = _lines(*tangents, axes)
        at, mean = _position(of, lines.shape[1])
        weight = 0.5 * (at.lower != at.upper) if at.weight is None else at.weight
        weight = jnp.asarray(weight, steps.dtype)[:, None]
        order = jnp.argsort(lines, axis=1)
        lower, upper = (
            jnp.take_along_axis(steps, order[:, ranks], axis=1).T for ranks in (at.lower, at.upper)
        )
        result = lower if mean == ALONE else lower * (1 - weight) + upper * weight
        return select(*primals), result.reshape(-1, *shape)

    return select


@functools.cache
def _line_topk(k: int, largest: bool) -> Callable[[Any], Any]:
    """Return the function of (lines, length) that returns the first k elements and their indices."""

    def of_shard(elements: Any) -> Any:
        shape = (elements.shape[0], k)
        described = [
            jax.ShapeDtypeStruct(shape, elements.dtype),
            targets.integers(shape, np.dtype(np.int64)),
        ]
        values, indices = targets.call("topk", [elements], described, k=k, largest=int(largest))
        return values, targets.low_words(indices, shape)

    of_lines = jax.custom_batching.custom_vmap(partitioned(of_shard, "l n -> l k, l k", "n"))

    @of_lines.def_vmap
    def batched(size: int, _: Any, elements: Any) -> tuple[Any, Any]:
        values, indices = of_lines(elements.reshape(-1, elements.shape[2]))
        return (values.reshape(size, -1, k), indices.reshape(size, -1, k)), (True, True)

    return of_lines


@functools.cache
def topk(k: int, largest: bool) -> Callable[[Any], Any]:
    """Return the function of an array that returns the first k elements of its lines, and their indices."""

    @jax.custom_jvp
    def first(x: Any) -> Any:
        shape = (*x.shape[:-1], k)
        if 0 in shape:
            return jnp.zeros(shape, x.dtype), jnp.zeros(shape, int)
        values, indices = _line_topk(k, largest)(x.reshape(-1, x.shape[-1]))
        return values.reshape(shape), indices.reshape(shape)

    @first.defjvp
    def tangent(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
        values, indices = first(*primals)
        steps = jnp.take_along_axis(*tangents, indices, axis=-1)
        return (values, indices), (steps, np.zeros(indices.shape, jax.dtypes.float0))

    return first


@functools.lru_cache(maxsize=256)
def compiled_quantiles(
    of: Quantiles, axes: tuple[int, ...], keepdims: bool, scalar: bool
) -> Callable[[Any], Any]:
    """Return the compiled function of an array that returns quantiles along axes; `scalar`, the only one."""

    @jax.jit
    def select(x: Any) -> Any:
        targets.require_elements("quantile" if of[0] else "median", x, axes)
        dtype, x = targets.float_dtype(x), targets.as_float(x)
        shape = rules.kept_shape(x.shape, axes, keepdims)
        if 0 in shape or (not of[0] and not scalar):
            return jnp.zeros(shape if scalar else (len(of[0]), *shape), dtype)
        result = quantiles(of, axes)(x).astype(dtype)
        if keepdims:
            result = jnp.expand_dims(result, tuple(axis + 1 for axis in axes))
        return result[0] if scalar else result

    return select


@functools.cache
def compiled_topk(k: int, axis: int, largest: bool) -> Callable[[Any], Any]:
    """Return the compiled function of an array that returns its first k elements, and their indices."""

    @jax.jit
    def first(x: Any) -> Any:
        values, indices = topk(k, largest)(jnp.moveaxis(x, axis, -1))
        return jnp.moveaxis(values, -1, axis), jnp.moveaxis(indices, -1, axis)

    return first
