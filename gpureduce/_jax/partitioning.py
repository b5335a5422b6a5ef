"""Partitioning of custom calls over devices: each device calls the target on its shard of the kept axes.

Without a rule, XLA gathers all shards on each device before a custom call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from gpureduce._jax import jax

Factors = tuple[tuple[str, ...], ...]  # the name of each axis, by array


def _parse(side: str) -> Factors:
    return tuple(tuple(array.split()) for array in side.split(","))


def _axes(shapes: Any, operands: Factors, whole: str) -> dict[str, Any]:
    """Return the axes of the mesh along which each factor of the first operand is sharded."""
    sharding = shapes[0].sharding
    spec = sharding.spec if isinstance(sharding, jax.sharding.NamedSharding) else ()
    return {name: axis for name, axis in zip(operands[0], spec, strict=False) if name not in whole.split()}


def _shardings(mesh: Any, arrays: Factors, axes: dict[str, Any]) -> tuple[Any, ...]:
    named, spec = jax.sharding.NamedSharding, jax.sharding.PartitionSpec
    return tuple(named(mesh, spec(*(axes.get(name) for name in names))) for names in arrays)


def partitioned(function: Callable[..., Any], rule: str, whole: str) -> Callable[..., Any]:
    """Return a function whose calls are partitioned.

    `rule` names the axes of operands and results as an einsum does, "l n i -> l i"; those in `whole` are not
    sharded.
    """
    from jax.experimental.custom_partitioning import custom_partitioning  # no attribute of jax until then

    operands, results = (_parse(side) for side in rule.split("->"))
    call = custom_partitioning(lambda *arrays: function(*arrays))

    def of_results(mesh: Any, axes: dict[str, Any]) -> Any:
        shardings = _shardings(mesh, results, axes)
        return shardings[0] if len(shardings) == 1 else shardings

    def infer(mesh: Any, shapes: Any, result: Any) -> Any:
        return of_results(mesh, _axes(shapes, operands, whole))

    def partition(mesh: Any, shapes: Any, result: Any) -> tuple[Any, ...]:
        axes = _axes(shapes, operands, whole)
        return mesh, function, of_results(mesh, axes), _shardings(mesh, operands, axes)

    options: dict[str, Any] = {"sharding_rule": rule}
    if "need_replication_factors" in inspect.signature(call.def_partition).parameters:
        options["need_replication_factors"] = tuple(whole.split())
    call.def_partition(partition=partition, infer_sharding_from_operands=infer, **options)
    return call
