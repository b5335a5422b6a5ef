"""Outputs: a new result, a host array, or an array on a device."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from gpureduce import _core
from gpureduce._arrays.copies import converted, gathered
from gpureduce._arrays.device_array import DeviceArray
from gpureduce._arrays.operand import Operand, device_view, take_mask
from gpureduce._device.devices import LEGACY_STREAM, device_name
from gpureduce._reduce.options import Options
from gpureduce._rules import dtypes, tensors
from gpureduce._rules.arguments import c_strides, flag, host_out, keeps_dims, kept_shape, same_strides
from gpureduce._rules.dtypes import dtype_name, native

Casting = Literal["same_kind", "unsafe"]
FROM_HOST = "a host array cannot be captured into a graph; copy it to the device before"


class OutputSpec:
    """The output of one call, which reduces `axes` of the shape `reduced`.

    An invalid ``out=`` raises immediately.
    """

    def __init__(
        self,
        out: Any,
        options: Options,
        operand: Operand,
        axis: Any,
        reduced: tuple[int, ...],
        axes: tuple[int, ...],
        keepdims: Any,
    ) -> None:
        self.out = out
        self.kept = self.shape = kept_shape(reduced, axes)
        if keepdims is not False and keeps_dims(keepdims):
            self.shape = kept_shape(reduced, axes, True)
        self.kind, self.index = operand.kind, operand.index
        self.reads: list[Operand] = [operand]
        self.view: Any = None  # that of `out`, or of the result that is made
        self.made: DeviceArray | None = None
        self.as_array = False  # whether one result on the host is an array of no dimensions
        self.host_out: np.ndarray | None = None  # `out`, if it is a host array
        self.hint: np.dtype | None = None  # its dtype, where elements can be cast to what it suggests
        if out is None:
            default = operand.view is not None and axis is not None
            self.on_device = default if options.as_device is None else flag(options.as_device, "as_device")
        else:
            self._take_out(out, options.as_device)
        first = self.view if operand.view is None else operand.view
        own = None if first is None else first.stream
        self.caller_stream = options.handle
        self.stream = self.caller_stream or own or LEGACY_STREAM
        self.stream_owner = options.stream if self.caller_stream else self.stream

    def _take_out(self, out: Any, as_device: bool | None) -> None:
        if tensors.is_tensor(out):
            tensors.require_writable(out)
        self.view = device_view(out, device_name(self.kind, self.index), "out")
        self.on_device = self.view is not None
        if as_device is not None and flag(as_device, "as_device") != self.on_device:
            raise ValueError(f"as_device: {as_device} contradicts out=, which is elsewhere")
        if self.view is None:
            self.host_out = host_out(out, self.shape)
            self.hint = self.host_out.dtype if self.reads[0].view is None else None
        elif self.view.shape != self.shape:
            raise ValueError(f"out: expected shape {self.shape}, got {self.view.shape}")
        elif self.view._read_only:
            raise ValueError("out: the array is read-only")

    @property
    def out_dtype(self) -> np.dtype | None:
        """The dtype of a host array ``out=``."""
        return None if self.host_out is None else self.host_out.dtype

    @property
    def is_integral(self) -> bool:
        """Whether a host array ``out=`` has an integer or bool dtype."""
        return self.host_out is not None and self.host_out.dtype.kind in "biu"

    def loop_dtype(self, op: str, source: np.dtype, dtype: Any = None) -> np.dtype:
        """Return the dtype in which NumPy accumulates, which depends on a host array ``out=``, too.

        Elements on a device are not cast to that dtype, but the host array must still accept the result.
        """
        if self.host_out is None:
            return dtypes.loop_dtype(op, source, dtype, None)
        loop = dtypes.loop_dtype(op, source, dtype, self.host_out.dtype)
        return loop if self.hint is not None else dtypes.loop_dtype(op, source, dtype, None)

    def set_dtype(self, dtype: np.dtype, casting: Casting = "same_kind") -> None:
        """Set the dtype of the result.

        A host array ``out=`` must be one to which `dtype` can be cast by the rule `casting`: NumPy's
        reductions by a ufunc take "unsafe", other functions "same_kind". One on a device must be of `dtype`.
        """
        self.dtype = dtype
        if not self.on_device:
            if self.host_out is not None and not np.can_cast(dtype, self.host_out.dtype, casting):
                raise TypeError(
                    f"out: cannot cast from {dtype} to {self.host_out.dtype} according to the rule "
                    f"{casting!r}"
                )
            return
        self.dtype = dtype = native(dtype, "out")
        if self.out is None:
            self.out = self.view = self.made = self.allocate_output(self.shape, dtype)
            return
        if self.view.dtype != dtype:
            raise TypeError(f"out: an array on a device must have the result's dtype, {dtype}")
        packed = c_strides(self.shape, dtype.itemsize)
        if not same_strides(self.shape, self.view.strides, packed):
            raise ValueError("out: an array on a device must be C-contiguous")

    def core_out(self, dtype: np.dtype) -> tuple | None:
        """Return the array to which the core may write a result of `dtype`, if any."""
        if not self.on_device or dtype != self.dtype:
            return None
        return (self.view._pointer, self.kept, c_strides(self.kept, dtype.itemsize), dtype_name(dtype))

    def reject_capture(self, why: str) -> None:
        """Raise ValueError where the call is to be captured into a graph."""
        for stream in {view.stream for view in self._views()} | {self.stream, self.caller_stream}:
            if stream is not None and _core.stream_captured(self.kind, self.index, stream):
                raise ValueError(f"stream: {why}")

    def take_mask(self, where: Any, operand: Operand) -> Operand:
        """Convert ``where=``; a copy is not allowed during graph capture."""
        mask = take_mask(where, operand, lambda: self.reject_capture(FROM_HOST))
        self.reads.append(mask)
        return mask

    def work_in_default_stream(self) -> None:
        """Run a named variant on the default stream, after the inputs' streams."""
        if self.kind == _core.SIM or not (self.caller_stream or self._views()):
            return  # there are no streams, or no other than that
        self.reject_capture("a named variant cannot be captured into a graph; 'auto' can")
        self.stream = self.stream_owner = LEGACY_STREAM
        self.wait_for_inputs()

    def wait_for_inputs(self) -> None:
        """Order our stream after the other streams of the arrays; the host does not wait."""
        for view in self._views():
            self._order(view.stream, self.stream)
        self._order(self.caller_stream, self.stream)

    def _signal_consumers(self) -> None:
        """Order later work of other streams on the memory after our work.

        A result on the device is returned while kernels run: the caller may then change or free inputs, and
        read `out`. Inputs without a stream from their library are kept alive until the work is done,
        which suffices for immutable arrays (JAX); for such an `out` the call waits.
        """
        for view in self._views():
            stream = view._next_stream()
            if stream is not None:
                self._order(self.stream, stream)
            elif view is self.view:
                _core.stream_wait(self.kind, self.index, self.stream)
            else:
                self._order(self.stream, LEGACY_STREAM)
                _core.keep_alive_until_done(self.kind, self.index, self.stream, view)
        self._order(self.stream, self.caller_stream)

    def _order(self, before: int | None, after: int | None) -> None:
        if before is not None and after is not None and before != after:
            _core.stream_order(self.kind, self.index, before, after)

    def _views(self) -> list[Any]:
        views = [operand.view for operand in self.reads if operand.view is not None]
        return views if self.view is None else [self.view, *views]

    def allocate_output(self, shape: tuple[int, ...], dtype: np.dtype) -> DeviceArray:
        """Allocate an array on the stream of the call."""
        return _core.array_empty(shape, dtype_name(dtype), self.kind, self.index, self.stream_owner)

    def in_c_order(self, operand: Operand) -> Operand:
        """Return a copy of elements on a device in C order, made in the stream of the call."""
        view = self._in_stream(operand)
        copy = gathered(view, view.shape, True)
        return replace(operand, handle=copy._view_tuple(), view=copy)

    def cast(self, operand: Operand, dtype: np.dtype) -> Operand:
        """Return the operand in the dtype that the caller asked for.

        Elements on a device are converted there, in the stream of the call, by the rules of
        `DeviceArray.astype`. The copy is freed in the order of that stream.
        """
        if operand.view is None or operand.dtype == dtype:
            return operand.cast(dtype)
        self.reject_capture(
            "dtype= makes a temporary copy of elements on a device, which a graph would not keep; "
            "use astype before the capture"
        )
        self.wait_for_inputs()
        copy = converted(self._in_stream(operand), native(dtype, "dtype"), True)
        return replace(operand, handle=copy._view_tuple(), dtype=copy.dtype, view=copy, numpy_dtype=None)

    def _in_stream(self, operand: Operand) -> Any:
        """Return elements on a device as an array that belongs to the stream of the call."""
        pointer, shape, strides, _ = operand.handle
        view = SimpleNamespace(_pointer=pointer, shape=shape, strides=strides, dtype=operand.dtype)
        view.size, view._kind, view._index, view.stream = math.prod(shape), self.kind, self.index, self.stream
        return view

    def give(self, array: DeviceArray) -> DeviceArray:
        """Return an array that was written on the stream of the call, as the result."""
        self.out = self.view = self.made = array
        return self._finished()

    def _finished(self) -> Any:
        """Return the result on the device once the core has put all work into the stream."""
        self._signal_consumers()
        if self.made is not None:
            self.made._settle()
        else:
            tensors.mark_written(self.out)
        return self.out

    def take(self, result: np.generic) -> Any:
        """Return the result of a whole array, in its dtype."""
        if self.out is None and not self.shape and not self.on_device:
            return result
        self.set_dtype(result.dtype, "unsafe")
        return self.store(np.asarray(result))

    def store(self, result: Any) -> Any:
        """Return the result; None means that the core has written it already."""
        if result is not None:
            result = np.asarray(result).astype(self.dtype, copy=False).reshape(self.shape)
            if result.dtype.num != self.dtype.num:  # two names of one dtype, which are the same to a cast
                result = result.view(self.dtype)
        if self.on_device:
            if result is not None and result.size:
                packed = np.asarray(
                    result, order="C"
                )  # without reduced axes it has the order of the elements
                _core.device_write(self.kind, self.index, self.view._pointer, packed, self.stream)
            return self._finished()
        if self.host_out is None:
            return result if self.as_array else result[()]
        np.copyto(self.host_out, result, casting="unsafe")
        tensors.mark_written(self.out)
        return self.out
