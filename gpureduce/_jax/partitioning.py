"""Partitioning of custom calls over devices: each device calls the target on its shard.

Without a rule, XLA gathers all shards on each device before a custom call. With one it does so for shards of
reduced axes alone, unless results of shards can be merged: then it gathers those.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from gpureduce._jax import jax

Factors = tuple[tuple[str, ...], ...]  # the name of each axis, by array


def _parse(side: str) -> Factors:
    return tuple(tuple(array.split()) for array in side.split(","))


def _axes(shapes: Any, operands: Factors) -> dict[str, Any]:
    """Return the axes of the mesh along which each factor of the first operand is sharded."""
    sharding = shapes[0].sharding
    spec = sharding.spec if isinstance(sharding, jax.sharding.NamedSharding) else ()
    return dict(zip(operands[0], spec, strict=False))


def _shardings(mesh: Any, arrays: Factors, axes: dict[str, Any]) -> tuple[Any, ...]:
    named, spec = jax.sharding.NamedSharding, jax.sharding.PartitionSpec
    return tuple(named(mesh, spec(*(axes.get(name) for name in names))) for names in arrays)


def _divides(mesh: Any, axes: Any, length: int) -> bool:
    """Return whether all shards have the same length, without elements that pad the last one."""
    names = axes if isinstance(axes, tuple) else (axes,)
    return length % math.prod(mesh.shape[name] for name in names) == 0


class Merging(NamedTuple):
    """How to reduce a sharded axis: results of each shard, and what makes them the result."""

    of_shard: Callable[..., tuple[Any, ...]]
    merge: Callable[..., Any]  # of the results of all shards, along the first axis, and the shard's length


def partitioned(
    function: Callable[..., Any], rule: str, whole: str, merging: Merging | None = None
) -> Callable[..., Any]:
    """Return a function whose calls are partitioned.

    `rule` names the axes of operands and results as an einsum does, "l n i -> l i"; `whole` is the axis that
    is reduced. Its shards are gathered if no merging is possible.
    """
    from jax.experimental.custom_partitioning import custom_partitioning  # no attribute of jax until then

    operands, results = (_parse(side) for side in rule.split("->"))
    call = custom_partitioning(lambda *arrays: function(*arrays))

    def of_results(mesh: Any, axes: dict[str, Any]) -> Any:
        kept = {name: axis for name, axis in axes.items() if name != whole}
        shardings = _shardings(mesh, results, kept)
        return shardings[0] if len(shardings) == 1 else shardings

    def infer(mesh: Any, shapes: Any, result: Any) -> Any:
        return of_results(mesh, _axes(shapes, operands))

    def partition(mesh: Any, shapes: Any, result: Any) -> tuple[Any, ...]:
        axes = _axes(shapes, operands)
        reduced = axes.pop(whole, None)
        length = shapes[0].shape[operands[0].index(whole)]
        if merging is None or reduced is None or not _divides(mesh, reduced, length):
            return mesh, function, of_results(mesh, axes), _shardings(mesh, operands, axes)

        def merged(*arrays: Any) -> Any:
            results = [jax.lax.all_gather(each, reduced) for each in merging.of_shard(*arrays)]
            return merging.merge(*results, arrays[0].shape[operands[0].index(whole)])

        return mesh, merged, of_results(mesh, axes), _shardings(mesh, operands, axes | {whole: reduced})

    options: dict[str, Any] = {"sharding_rule": rule}
    if merging is None and "need_replication_factors" in inspect.signature(call.def_partition).parameters:
        options["need_replication_factors"] = (whole,)
    call.def_partition(partition=partition, infer_sharding_from_operands=infer, **options)
    return call
