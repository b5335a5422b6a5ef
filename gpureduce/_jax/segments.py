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


def _from(labels: Any, first: int) -> Any:
    """Return labels counted from `first`; those before it become negative."""
    if first == 0:
        return labels
    return jnp.where(labels >= first, labels - jnp.asarray(first, labels.dtype), -1)


@functools.cache
def _line_sums(groups: int) -> Callable[[Any, Any], Any]:
    """Return the function of (lines, length, inner) and (length,) that adds up rows by label."""

    def sums_of_shard(elements: Any, labels: Any) -> Any:
        lines, _, inner = elements.shape

        def described(count: int) -> Any:
            return jax.ShapeDtypeStruct((lines, count, inner), elements.dtype)

        arrays, each = [elements, labels], groups
        while each > 1 and not targets.is_accepted("groups", arrays, [described(each)], op="sum"):
            each = -(-each // 2)
        parts = [
            targets.call(
                "groups", [elements, _from(labels, i)], [described(min(each, groups - i))], op="sum"
            )[0]
            for i in range(0, groups, each)
        ]
        return parts[0] if len(parts) == 1 else jnp.concatenate(parts, axis=1)

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
        own = labels + groups * jnp.arange(size, dtype=labels.dtype)[:, None]
        merged = jnp.moveaxis(elements, 1, 0).reshape(lines, size * length, inner)
        result = _line_sums(groups * size)(merged, jnp.where(inside, own, -1).reshape(-1))
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
            # Signed, of 32 bits or more: a label that does not fit becomes negative, and its row is ignored.
            itemsize = 8 if labels.dtype.itemsize == 8 or labels.dtype == jnp.uint32 else 4
            signed = jax.dtypes.canonicalize_dtype(f"i{itemsize}")
            return segment_sum(groups)(data, labels.astype(signed))
        return jax.ops.segment_sum(data, labels, groups)

    return sums
