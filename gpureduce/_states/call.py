"""Calls that compute states: an operand that is cast, its mask, its output, and the location of a part."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gpureduce import _core
from gpureduce._arrays.device_array import to_device
from gpureduce._arrays.operand import Operand, as_operand
from gpureduce._device.devices import device_name
from gpureduce._reduce import engine
from gpureduce._reduce.output import FROM_HOST, OutputSpec
from gpureduce._rules import arguments as rules
from gpureduce._rules.arguments import integer


class StateCall(NamedTuple):
    """A reduction of an operand that is already cast; of a dot product `mask` is the second vector."""

    op: str
    method: int
    operand: Operand
    axes: tuple[int, ...]
    output: OutputSpec
    mask: Operand | None
    location: PartLocation

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the results."""
        return rules.kept_shape(self.operand.shape, self.axes)

    @property
    def elements(self) -> int:
        """The number of elements per result, without a mask."""
        return rules.reduced_count(self.operand.shape, self.axes)

    def run(self, op: str, operand: Operand | None = None) -> np.ndarray:
        """Return the results in host memory."""
        operand = self.operand if operand is None else operand
        result = engine.run(op, operand, self.axes, self.mask, stream=self.output.stream)
        assert result is not None
        return np.ascontiguousarray(result).reshape(self.shape)

    def counts(self) -> Any:
        """Return the number of elements of each result."""
        if self.mask is None:
            return self.elements
        counts: Any = engine.run("count_nonzero", self.mask, self.axes, stream=self.output.stream)
        return counts.reshape(self.shape)

    def exact_states(self, op: str, operand: Operand, second: Any, out: tuple | None = None) -> Any:
        """Return the states of exact sums; with `out`, they are written to the device."""
        device = (operand.kind, operand.index, self.output.stream)
        if out is not None:
            return _core.exact_states(operand.handle, op, self.axes, second, *device, out)
        words = _core.exact_states(operand.handle, op, self.axes, second, *device)
        return words.reshape(self.shape + words.shape[1:])

    def masked_on_device(self) -> StateCall:
        """Return the same call of elements that are copied to the device once, without a mask.

        Masked elements become -0 on the device, which changes no sum, not even the sign of a zero.
        """
        operand = self.operand
        if self.mask is not None:
            zero = np.zeros((), operand.dtype)
            operand = replace(operand, handle=np.where(self.mask.handle, operand.handle, -zero))
        return self._replace(operand=operand, mask=None).on_device()

    def on_device(self) -> StateCall:
        """Return the same call of elements in device memory."""
        operand, output = self.operand, self.output
        if operand.view is not None:
            return self
        output.reject_capture(FROM_HOST)
        operand = as_operand(to_device(operand.handle, device_name(operand.kind, operand.index)), None)
        output.reads.append(operand)  # its memory is freed after the work
        return self._replace(operand=operand)


def _integers(values: Any, name: str) -> tuple[int, ...]:
    try:
        return tuple(integer(value, name, "a tuple of integers") for value in values)
    except TypeError:
        raise TypeError(f"{name}: expected a tuple of integers, got {type(values).__name__}") from None


class PartLocation:
    """The position of a part in the whole array: ``offset=`` and ``within=`` of `partial`."""

    def __init__(self, offset: Any, within: Any) -> None:
        self.offset = _integers(offset, "offset") if isinstance(offset, tuple) else integer(offset, "offset")
        self.within = None if within is None else _integers(within, "within")

    def start(self) -> int:
        """Return the first position of a part of all elements."""
        return integer(self.offset, "offset", "an integer, as within is None")

    def starts(self, shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
        """Return an index for each axis of a part that lies within something."""
        starts = self.offset if isinstance(self.offset, tuple) else (self.offset,) * len(shape)
        if len(axes) != len(shape) or len(self.within or ()) != len(shape) or len(starts) != len(shape):
            raise ValueError("within: expected one length per axis, with all axes reduced")
        return starts

    def move(self, index: np.ndarray, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
        """Convert positions in a part to positions in the whole."""
        if self.within is None:
            index += self.start()
        else:
            starts = self.starts(shape, axes)
            at = np.unravel_index(int(index), shape)
            index[...] = np.ravel_multi_index(
                tuple(int(one) + start for one, start in zip(at, starts, strict=True)),
                self.within,
            )
        if (index < 0).any():
            raise ValueError("offset: expected 0 or more")

    def steps(self, call: StateCall) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        """Return the location for a kernel: start, lengths of the part, and their strides in the whole."""
        if self.within is None:
            start = self.start()
            if start < 0:
                raise ValueError("offset: expected 0 or more")
            return start, (call.elements,), (1,)
        lengths, whole = call.operand.shape, self.within
        starts = self.starts(lengths, call.axes)
        for begin, length, most in zip(starts, lengths, whole, strict=True):
            if begin < 0 or begin + length > most:
                raise ValueError(f"within: the part, from {begin} to {begin + length}, is beyond {most}")
        strides = rules.c_strides(whole, 1)
        return sum(map(operator.mul, starts, strides)), lengths, strides
