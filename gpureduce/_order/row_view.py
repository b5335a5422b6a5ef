"""Arrays as lines along the reduced axes, and order statistics of the lines."""

from __future__ import annotations

import functools
import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.copies import gathered
from gpureduce._arrays.device_array import empty
from gpureduce._arrays.layout import Axes, reshaped
from gpureduce._arrays.operand import Operand
from gpureduce._order.methods import Interpolation
from gpureduce._reduce.output import OutputSpec
from gpureduce._rules.arguments import c_strides, same_strides
from gpureduce._rules.dtypes import dtype_name

ALONE, MIDDLE, BETWEEN = range(3)  # what the core makes of two elements
MOST_RANKS = 512  # of a call, as there are bins for each
RESULTS = 8  # that it makes of a line
FLOATS = ("float16", "bfloat16", "float32", "float64")  # which may be NaN


def copied(
    pointer: int,
    shape: Axes,
    strides: Axes,
    new_shape: Axes,
    dtype: np.dtype,
    output: OutputSpec,
    passing: bool,
) -> Any:
    """Return a copy in C order, made on the stream of the output, which may be captured.

    No view of the array is exported, since that detaches the array from its stream.
    """
    source = SimpleNamespace(
        _pointer=pointer,
        shape=shape,
        strides=strides,
        dtype=dtype,
        size=math.prod(shape),
        _kind=output.kind,
        _index=output.index,
        stream=output.stream,
    )
    return gathered(source, new_shape, passing)


@functools.lru_cache(maxsize=256)
def interpolation_fields(
    mean: int, to: np.dtype, weak: bool, lower: bytes, upper: bytes, weights: bytes | None, kind: Any
) -> tuple[np.ndarray, dict[str, Any]]:
    """Return ranks, and the interpolation for the core, from a cache."""
    at = [np.frombuffer(each, np.int64) for each in (lower, upper)]
    ranks, numbers = np.unique(np.concatenate(at), return_inverse=True)
    weight = np.zeros(len(at[0])) if weights is None else np.frombuffer(weights, kind)
    rest = 1 - weight
    if weak:
        weight, rest = weight.astype(to), rest.astype(to)
    first, second = numbers.reshape(2, -1).astype(np.uint8)
    array_bytes = (
        each.tobytes() for each in (first, second, weight.astype(np.float64), rest.astype(np.float64))
    )
    ranks.flags.writeable = False
    arrays = dict(zip(("lower", "upper", "weight", "rest"), array_bytes, strict=True))
    return ranks, {"mean": mean, "dtype": dtype_name(to), **arrays}


class RowView:
    """The elements of an operand on the stream of an output, with `axes` merged into one, the last one."""

    def __init__(self, operand: Operand, axes: tuple[int, ...], output: OutputSpec) -> None:
        kept = [axis for axis in range(len(operand.shape)) if axis not in axes]
        order = (*kept, *axes)
        shape = [operand.shape[axis] for axis in order]
        self.kept = tuple(shape[: len(kept)])
        self.count, self.length = math.prod(self.kept), math.prod(shape[len(kept) :])
        self.dtype = operand.dtype
        self.has_nans = dtype_name(operand.dtype) in FLOATS
        self._place = (None, output.kind, output.index, output.stream)
        self._keeps: Any = None  # the memory
        rows_shape = (self.count, self.length)
        if operand.view is None:
            lines = np.ascontiguousarray(operand.handle.transpose(order).reshape(rows_shape))
            self.handle: Any = lines
            return
        strides = tuple([operand.handle[2][axis] for axis in order])
        item = operand.dtype.itemsize
        new_strides = reshaped(tuple(shape), strides, rows_shape, item)
        if new_strides is None or not same_strides(rows_shape, new_strides, c_strides(rows_shape, item)):
            self._keeps = copied(
                operand.handle[0], tuple(shape), strides, rows_shape, operand.dtype, output, True
            )
            self.handle = self._keeps._view_tuple()
        else:
            self.handle = (operand.handle[0], rows_shape, c_strides(rows_shape, item), operand.handle[3])

    def elements(self, ranks: np.ndarray, nans: bool) -> np.ndarray:
        """Return the elements of ranks: a column for each line, of ranks of its own if there are columns.

        Ranks may be in any order. With `nans`, a line with a NaN returns NaN.
        """
        if ranks.ndim == 1:
            distinct, inverse = np.unique(ranks, return_inverse=True)
            return self._select(distinct, nans).T[inverse.reshape(-1)]
        order = np.argsort(ranks, axis=0, kind="stable")
        selected = self._select(np.take_along_axis(ranks, order, axis=0).T, nans).T
        result = np.empty_like(selected)
        np.put_along_axis(result, order, selected, axis=0)
        return result

    def _select(self, ranks: np.ndarray, nans: bool) -> np.ndarray:
        ranks = np.asarray(ranks, np.int64)
        pieces = [ranks[..., i : i + MOST_RANKS] for i in range(0, ranks.shape[-1], MOST_RANKS)]
        batches = [
            _core.order_select(self.handle, np.ascontiguousarray(piece), nans, None, self._place)
            for piece in pieces
        ]
        return batches[0] if len(batches) == 1 else np.concatenate(batches, axis=1)

    def results(self, at: Interpolation, mean: int, weak: bool, nans: bool, output: OutputSpec) -> Any:
        """Write the results into the output on the device, and return its array.

        None where kernels do not make it: of many results, or in a dtype that they do not have.
        """
        to, count = output.dtype, len(at.lower)
        floats = (self.dtype, np.float64) if self.dtype.kind == "f" else (np.float64,)
        known = mean != BETWEEN or (dtype_name(self.dtype) != "bfloat16" and to in floats)
        if not known or count > RESULTS or output.view is None:
            return None
        weight = None if at.weight is None else at.weight.tobytes()
        kind = None if at.weight is None else at.weight.dtype
        ranks, ends = interpolation_fields(
            mean, to, weak, at.lower.tobytes(), at.upper.tobytes(), weight, kind
        )
        out_shape = (count, self.count)
        out = (output.view._pointer, out_shape, c_strides(out_shape, to.itemsize), dtype_name(to))
        _core.order_select(self.handle, ranks, nans, ends, (out, *self._place[1:]))
        return output.store(None)

    def middles_of_valid(self, output: OutputSpec) -> Any:
        """Write the median of each line's elements that are not NaN into the output on the device."""
        if output.view is None or output.dtype != self.dtype:
            return None
        strides = (self.dtype.itemsize,)
        out = (output.view._pointer, (self.count,), strides, dtype_name(self.dtype))
        _core.order_valid(self.handle, None, False, (out, *self._place[1:]))
        return output.store(None)

    def quantiles_of_valid(self, q: np.ndarray, weak: bool, output: OutputSpec) -> Any:
        """Write quantiles of each line's elements that are not NaN into the output on the device.

        They are interpolated linearly. None where kernels do not make them.
        """
        to, name = output.dtype, dtype_name(self.dtype)
        if output.view is None or name not in ("float32", "float64") or q.dtype != np.float64:
            return None
        if to != (self.dtype if weak else np.float64):
            return None
        row = self.count * to.itemsize
        for i, each in enumerate(q.tolist()):
            out = (output.view._pointer + i * row, (self.count,), (to.itemsize,), dtype_name(to))
            _core.order_valid(self.handle, each, weak, (out, *self._place[1:]))
        return output.store(None)

    def sorted(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the sorted elements of each line, and their indices."""
        rows_shape = (self.count, self.length)
        _, kind, index, stream = self._place
        outputs = [
            empty(rows_shape, dtype, kind, index, stream) for dtype in (self.dtype, np.dtype(np.int64))
        ]
        out, places = (
            (each._pointer, rows_shape, c_strides(rows_shape, each.dtype.itemsize), dtype_name(each.dtype))
            for each in outputs
        )
        _core.order_topk(self.handle, self.length, False, True, places, (out, kind, index, stream))
        return outputs[0].numpy(), outputs[1].numpy()

    def valid(self) -> np.ndarray:
        """Return the number of elements of each line that are not NaN."""
        return _core.order_count_valid(self.handle, self._place)
