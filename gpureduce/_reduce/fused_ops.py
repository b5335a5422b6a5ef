"""Calls of operators that share kernel files: GR_SHARES_FILE in csrc/reduce/ops.def."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.device_array import DeviceArray, DeviceView
from gpureduce._arrays.operand import Operand, as_operand
from gpureduce._reduce import floating
from gpureduce._reduce.engine import run
from gpureduce._reduce.options import Options, reject_variant
from gpureduce._reduce.output import Casting, OutputSpec
from gpureduce._rules import arguments as rules


class ReductionCall:
    """Operand, axes and output of a call."""

    __slots__ = ("axes", "mask", "operand", "output", "progress")

    def __init__(
        self,
        operand: Operand,
        options: Options,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        where: Any = True,
        single: bool = False,
    ) -> None:
        reject_variant(axis)
        ndim = len(operand.shape)
        self.axes = rules.single_axis(axis, ndim) if single else rules.reduced_axes(axis, ndim)
        self.operand = operand
        self.progress = options.progress
        self.output = OutputSpec(out, options, operand, axis, operand.shape, self.axes, keepdims)
        self.mask = None if where is True else self.output.take_mask(where, operand)

    @property
    def count(self) -> int:
        """Number of elements per result."""
        return rules.reduced_count(self.operand.shape, self.axes)

    def run(
        self,
        op: str,
        dtype: np.dtype,
        parameter: int = 0,
        start: np.ndarray | None = None,
        casting: Casting = "same_kind",
    ) -> np.ndarray | None:
        """Return the result of the core in `dtype`; None if it is on the device already."""
        self.output.set_dtype(dtype, casting)
        core_out = self.output.core_out(dtype)
        self.output.wait_for_inputs()
        stream = self.output.stream
        return run(op, self.operand, self.axes, self.mask, start, core_out, self.progress, stream, parameter)

    def finished(self, op: str, result: np.ndarray | None, where: str | None = None) -> Any:
        """Store a result, and report floating-point errors of a host result to NumPy."""
        stored = self.output.store(result)
        if result is not None and not (self.output.on_device or _core.all_finite(result)):
            floating.check_fp_status(op, result, self.operand, self.axes, self.mask, where=where)
        return stored

    def again(self, op: str, parameter: int = 0) -> Any:
        """Return another result of the same elements, on the host."""
        stream = self.output.stream
        return run(op, self.operand, self.axes, self.mask, stream=stream, parameter=parameter)


def floats_of(a: Any, options: Options, name: str = "a") -> Operand:
    """Convert an array to a floating-point or complex operand; integers in host memory become float64."""
    operand = as_operand(a, options.device, name)
    return operand.cast(np.dtype(np.float64)) if operand.dtype.kind in "biu" else operand


def is_complex(operand: Operand) -> bool:
    """Return whether a dtype is complex."""
    return operand.dtype.kind == "c"


def real_dtype(dtype: np.dtype) -> np.dtype:
    """Return the dtype of the parts of complex numbers; others keep theirs."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def restrided(operand: Operand, shape: tuple[int, ...], strides: tuple[int, ...]) -> Operand:
    """Return an operand of the same memory with another shape and strides, on the host too."""
    if operand.view is not None:
        return operand.with_strides(shape, strides)
    handle = np.lib.stride_tricks.as_strided(operand.handle, shape, strides, writeable=False)
    return replace(operand, handle=handle, shape=shape)


def strides_of(operand: Operand) -> tuple[int, ...]:
    """Return the strides of an operand, in bytes."""
    return operand.handle.strides if operand.view is None else operand.handle[2]


def view_of(array: Any, pointer: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any) -> Any:
    """Return a view of memory that an array on a device holds."""
    view = DeviceView()
    view._pointer, view.shape, view.strides, view.dtype = pointer, shape, strides, np.dtype(dtype)
    view._kind, view._index, view.stream = array._kind, array._index, array.stream
    view._read_only, view._owner, view._producer = True, array, array._producer
    view._says_stream = isinstance(array, DeviceArray) or array._says_stream
    return view
