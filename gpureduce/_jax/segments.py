"""Sums of rows by label as a JAX function, with a batching rule and a derivative.

The sums are exact and rounded once, so that their bits do not depend on the order of the rows.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from gpureduce._jax import jax, targets
from gpureduce._jax.partitioning import partitioned

jnp = jax.numpy


@functools.cache
def _line_sums(groups: int) -> Callable[[Any, Any], Any]:
    """Return the function of (lines, length, inner) and (length,) that adds up rows by label."""

    def sums_of_shard(elements: Any, labels: Any) -> Any:
        lines, _, inner = elements.shape
        described = jax.ShapeDtypeStruct((lines, groups, inner), elements.dtype)
        (result,) = targets.call("groups", [elements, labels], [described], op="sum")
        return result

    sums = jax.custom_batching.custom_vmap(partitioned(sums_of_shard, "l n i, n -> l g i", "n"))

    @sums.def_vmap
    def batched(size: int, in_batched: Any, elements: Any, labels: Any) -> tuple[Any, bool]:
        if not in_batched[0]:
            elements = jnp.broadcast_to(elements, (size, *elements.shape))
        _, lines, length, inner = elements.shape
        if not in_batched[1]:
            result = sums(elements.reshape(size * lines, length, inner), labels)
            return result.reshape(size, lines, groups, inner), True
        # Each batch has groups of its own: its rows are labelled from size * groups on.
        inside = (labels >= 0) & (labels < groups)
        wide = labels.astype(jnp.result_type(labels.dtype, jnp.int32))
        wide = jnp.where(inside, wide + groups * jnp.arange(size, dtype=wide.dtype)[:, None], -1)
        merged = jnp.moveaxis(elements, 1, 0).reshape(lines, size * length, inner)
        result = _line_sums(groups * size)(merged, wide.reshape(-1))
        return jnp.moveaxis(result.reshape(lines, size, groups, inner), 0, 1), True

    return sums


@functools.cache
def segment_sum(groups: int) -> Callable[[Any, Any], Any]:
    """Return the function of data and labels that adds up rows along the first axis, with its derivative."""

    @jax.custom_jvp
    def sums(data: Any, labels: Any) -> Any:
        shape = (groups, *data.shape[1:])
        if 0 in data.shape or groups == 0:
            return jnp.zeros(shape, data.dtype)
        rows = data.reshape(1, data.shape[0], math.prod(data.shape[1:]))
        return _line_sums(groups)(rows, labels).reshape(shape)

    @sums.defjvp
    def tangent(primals: tuple[Any, Any], tangents: tuple[Any, Any]) -> tuple[Any, Any]:
        (data, labels), (steps, _) = primals, tangents
        return sums(data, labels), jax.ops.segment_sum(steps, labels, groups)

    return sums


@functools.cache
def compiled(groups: int) -> Callable[[Any, Any], Any]:
    """Return the compiled function of data and labels; sums of integers are those of JAX."""

    @jax.jit
    def sums(data: Any, labels: Any) -> Any:
        if jnp.issubdtype(data.dtype, jnp.inexact):
            return segment_sum(groups)(data, labels)
        return jax.ops.segment_sum(data, labels, groups)

    return sums
