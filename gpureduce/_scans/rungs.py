"""Cumulative sums by a rung of their ladder."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.operand import Operand
from gpureduce._device.variants import Variant
from gpureduce._reduce.options import Options
from gpureduce._reduce.output import OutputSpec

_FLOAT32 = np.dtype(np.float32)


def run(variant: Variant, operand: Operand, dtype: Any, out: Any, options: Options) -> Any:
    """Scan a vector. Raise TypeError or ValueError for what only the default variant takes."""
    if len(operand.shape) != 1:
        raise ValueError(
            f"a: {variant.name} takes one dimension, not {len(operand.shape)}; 'auto' takes more"
        )
    if dtype is not None and np.dtype(dtype) != _FLOAT32:
        raise TypeError(
            f"dtype: {variant.name} returns float32, not {np.dtype(dtype)}; 'auto' returns others"
        )
    output = OutputSpec(out, options, operand, 0, operand.shape, (), False)
    output.set_dtype(_FLOAT32, "unsafe")
    output.wait_for_inputs()
    core_out = output.core_out(_FLOAT32)
    destination = (core_out, operand.kind, operand.index, output.stream)
    result = _core.scan_rung(operand.handle, variant.name, destination)
    return output.store(None if core_out is not None else result)
