"""Group sums by a rung of their ladder."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.operand import Operand
from gpureduce._device.variants import Variant
from gpureduce._reduce.options import Options
from gpureduce._reduce.output import OutputSpec

_FLOAT32 = np.dtype(np.float32)


def check(variant: Variant, operand: Operand, op: str, ddof: float) -> None:
    """Raise ValueError, naming the argument, for what only the default variant takes."""
    if op not in variant.ops:
        raise ValueError(f"op: {variant.name} takes {', '.join(variant.ops)}, not {op}; 'auto' takes others")
    if ddof:
        raise TypeError(f"ddof: only for var and std, not for {op}")
    if len(operand.shape) != 1:
        dims = len(operand.shape)
        raise ValueError(f"a: {variant.name} takes one dimension, not {dims}; 'auto' takes more")


def host_labels(labels: np.ndarray) -> np.ndarray:
    """Return labels, of which none is above those of int32, as int32; those that are no group's are -1."""
    return np.maximum(labels, -1, dtype=np.int64, casting="unsafe").astype(np.int32)


def run(
    variant: Variant,
    operand: Operand,
    labels: Operand | np.ndarray,
    groups: int,
    out: Any,
    options: Options,
) -> Any:
    """Sum the groups of a vector."""
    if groups > np.iinfo(np.int32).max:
        raise ValueError(f"num_groups: {variant.name} takes up to {np.iinfo(np.int32).max}, not {groups}")
    output = OutputSpec(out, options, operand, 0, (groups,), (), False)
    if isinstance(labels, Operand):
        output.reads.append(labels)
    output.set_dtype(_FLOAT32, "unsafe")
    output.wait_for_inputs()
    if not groups:
        return output.store(np.empty(0, _FLOAT32))
    core_out = output.core_out(_FLOAT32)
    handle = labels.handle if isinstance(labels, Operand) else host_labels(labels)
    destination = (core_out, operand.kind, operand.index, output.stream)
    result = _core.group_rung(operand.handle, handle, groups, variant.name, destination)
    return output.store(None if core_out is not None else result)
