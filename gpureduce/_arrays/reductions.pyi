"""Made by tests/tools/make_stub.py."""

# fmt: off
from types import ModuleType
from typing import Any, Literal, SupportsIndex, overload

import numpy as np
from numpy.typing import DTypeLike
from typing_extensions import Unpack

from gpureduce._arrays.device_array import DeviceArray
from gpureduce._device.devices import Device
from gpureduce._order.topk import TopK
from gpureduce._order.unique import UniqueCounts
from gpureduce._reduce.moments import Moments
from gpureduce._reduce.progress import Progress
from gpureduce._reduce.types import AnyArray, Arguments, Devices, Out, Scalar, Stream

class Reductions:
    def __array_function__(
        self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any: ...
    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType: ...
    def __matmul__(self, other: AnyArray) -> Any: ...
    def __rmatmul__(self, other: AnyArray) -> Any: ...

    @overload
    def matmul(
        self, b: DeviceArray, out: None = None, *, dtype: DTypeLike | None = None, variant: str = "auto",
        precision: str | None = None, batch_invariant: bool = True, device: str | Device | None = None,
        stream: Stream | None = None, as_device: Literal[True] | None = None,
    ) -> DeviceArray: ...

    @overload
    def matmul(
        self, b: AnyArray, out: None = None, *, dtype: DTypeLike | None = None, variant: str = "auto",
        precision: str | None = None, batch_invariant: bool = True, device: str | Device | None = None,
        stream: Stream | None = None, as_device: Literal[True],
    ) -> DeviceArray: ...

    @overload
    def matmul(
        self, b: AnyArray, out: Out | None = None, *, dtype: DTypeLike | None = None, variant: str = "auto",
        precision: str | None = None, batch_invariant: bool = True, device: str | Device | None = None,
        stream: Stream | None = None, as_device: bool | None = None,
    ) -> Any: ...

    @overload
    def layer_norm(
        self, weight: AnyArray | None = None, bias: AnyArray | None = None, eps: float = 1e-05, *,
        out: None = None, device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True] | None = None,
    ) -> DeviceArray: ...

    @overload
    def layer_norm(
        self, weight: AnyArray | None = None, bias: AnyArray | None = None, eps: float = 1e-05, *,
        out: Out | None = None, device: str | Device | None = None, stream: Stream | None = None,
        as_device: bool | None = None,
    ) -> Any: ...

    @overload
    def log_softmax(
        self, axis: SupportsIndex = -1, *, out: None = None, device: str | Device | None = None,
        stream: Stream | None = None, as_device: Literal[True] | None = None,
    ) -> DeviceArray: ...

    @overload
    def log_softmax(
        self, axis: SupportsIndex = -1, *, out: Out | None = None, device: str | Device | None = None,
        stream: Stream | None = None, as_device: bool | None = None,
    ) -> Any: ...

    @overload
    def rms_norm(
        self, weight: AnyArray | None = None, eps: float = 1e-06, *, residual: Any = None, out: None = None,
        device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True] | None = None,
    ) -> DeviceArray: ...

    @overload
    def rms_norm(
        self, weight: AnyArray | None = None, eps: float = 1e-06, *, residual: Any = None,
        out: Out | None = None, device: str | Device | None = None, stream: Stream | None = None,
        as_device: bool | None = None,
    ) -> Any: ...

    @overload
    def softmax(
        self, axis: SupportsIndex = -1, *, out: None = None, device: str | Device | None = None,
        stream: Stream | None = None, as_device: Literal[True] | None = None,
    ) -> DeviceArray: ...

    @overload
    def softmax(
        self, axis: SupportsIndex = -1, *, out: Out | None = None, device: str | Device | None = None,
        stream: Stream | None = None, as_device: bool | None = None,
    ) -> Any: ...

    @overload
    def median(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None,
        overwrite_input: bool = False, keepdims: bool = False, *, device: str | Device | None = None,
        stream: Stream | None = None, as_device: Literal[True] | None = None,
    ) -> DeviceArray: ...

    @overload
    def median(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
        overwrite_input: bool = False, keepdims: bool = False, *, device: str | Device | None = None,
        stream: Stream | None = None, as_device: Literal[True],
    ) -> DeviceArray: ...

    @overload
    def median(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: Out | None = None,
        overwrite_input: bool = False, keepdims: bool = False, *, device: str | Device | None = None,
        stream: Stream | None = None, as_device: bool | None = None,
    ) -> Any: ...

    @overload
    def nanmedian(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None,
        overwrite_input: bool = False, keepdims: bool = False, *, device: str | Device | None = None,
        stream: Stream | None = None, as_device: Literal[True] | None = None,
    ) -> DeviceArray: ...

    @overload
    def nanmedian(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
        overwrite_input: bool = False, keepdims: bool = False, *, device: str | Device | None = None,
        stream: Stream | None = None, as_device: Literal[True],
    ) -> DeviceArray: ...

    @overload
    def nanmedian(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: Out | None = None,
        overwrite_input: bool = False, keepdims: bool = False, *, device: str | Device | None = None,
        stream: Stream | None = None, as_device: bool | None = None,
    ) -> Any: ...

    @overload
    def nanpercentile(
        self, q: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None,
        overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
        weights: AnyArray | None = None, device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True] | None = None,
    ) -> DeviceArray: ...

    @overload
    def nanpercentile(
        self, q: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
        overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
        weights: AnyArray | None = None, device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True],
    ) -> DeviceArray: ...

    @overload
    def nanpercentile(
        self, q: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        out: Out | None = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False,
        *, weights: AnyArray | None = None, device: str | Device | None = None, stream: Stream | None = None,
        as_device: bool | None = None,
    ) -> Any: ...

    @overload
    def nanquantile(
        self, q: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None,
        overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
        weights: AnyArray | None = None, device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True] | None = None,
    ) -> DeviceArray: ...

    @overload
    def nanquantile(
        self, q: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
        overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
        weights: AnyArray | None = None, device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True],
    ) -> DeviceArray: ...

    @overload
    def nanquantile(
        self, q: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        out: Out | None = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False,
        *, weights: AnyArray | None = None, device: str | Device | None = None, stream: Stream | None = None,
        as_device: bool | None = None,
    ) -> Any: ...

    @overload
    def percentile(
        self, q: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None,
        overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
        weights: AnyArray | None = None, device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True] | None = None,
    ) -> DeviceArray: ...

    @overload
    def percentile(
        self, q: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
        overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
        weights: AnyArray | None = None, device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True],
    ) -> DeviceArray: ...

    @overload
    def percentile(
        self, q: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        out: Out | None = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False,
        *, weights: AnyArray | None = None, device: str | Device | None = None, stream: Stream | None = None,
        as_device: bool | None = None,
    ) -> Any: ...

    @overload
    def quantile(
        self, q: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None,
        overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
        weights: AnyArray | None = None, device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True] | None = None,
    ) -> DeviceArray: ...

    @overload
    def quantile(
        self, q: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
        overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
        weights: AnyArray | None = None, device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True],
    ) -> DeviceArray: ...

    @overload
    def quantile(
        self, q: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        out: Out | None = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False,
        *, weights: AnyArray | None = None, device: str | Device | None = None, stream: Stream | None = None,
        as_device: bool | None = None,
    ) -> Any: ...

    @overload
    def argsort(
        self, axis: SupportsIndex | None = -1, kind: str | None = None, order: None = None, *,
        stable: bool | None = True, descending: bool = False, out: None = None,
        device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True] | None = None,
    ) -> DeviceArray: ...

    @overload
    def argsort(
        self, axis: SupportsIndex | None = -1, kind: str | None = None, order: None = None, *,
        stable: bool | None = True, descending: bool = False, out: Out | None = None,
        device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
    ) -> Any: ...

    def topk(
        self, k: SupportsIndex, axis: SupportsIndex = -1, largest: bool = True, sorted: bool = True, *,
        device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
    ) -> TopK: ...

    def unique_counts(
        self, *, size: SupportsIndex | None = None, device: str | Device | None = None,
        stream: Stream | None = None, as_device: bool | None = None,
    ) -> UniqueCounts: ...

    @overload
    def dot(
        self, b: AnyArray, out: None = None, *, variant: str = "auto", device: Devices = None,
        block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
        as_device: Literal[True], progress: Progress = None, exact: bool = False,
    ) -> DeviceArray: ...

    @overload
    def dot(
        self, b: AnyArray, out: Out | None = None, *, variant: str = "auto", device: Devices = None,
        block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
        as_device: bool | None = None, progress: Progress = None, exact: bool = False,
    ) -> Any: ...

    @overload
    def fsum(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
        out: None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        device: Devices = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
    ) -> DeviceArray: ...

    @overload
    def fsum(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        device: Devices = None, stream: Stream | None = None, as_device: Literal[True],
    ) -> DeviceArray: ...

    @overload
    def fsum(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: Out | None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True,
        *, device: Devices = None, stream: Stream | None = None, as_device: bool | None = None,
    ) -> Any: ...

    @overload
    def max(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None, keepdims: bool = False,
        initial: Scalar | None = ..., where: AnyArray = True, *, variant: str = "auto",
        device: Devices = None, block_size: int | None = None, grid_size: int | None = None,
        stream: Stream | None = None, as_device: Literal[True] | None = None, progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def max(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
        keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True],
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def max(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: Out | None = None,
        keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: bool | None = None,
        progress: Progress = None,
    ) -> Any: ...

    @overload
    def mean(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
        out: None = None, keepdims: bool = False, *, where: AnyArray = True, variant: str = "auto",
        device: Devices = None, block_size: int | None = None, grid_size: int | None = None,
        stream: Stream | None = None, as_device: Literal[True] | None = None, progress: Progress = None,
        exact: bool = False,
    ) -> DeviceArray: ...

    @overload
    def mean(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: None = None, keepdims: bool = False, *, where: AnyArray = True, variant: str = "auto",
        device: Devices = None, block_size: int | None = None, grid_size: int | None = None,
        stream: Stream | None = None, as_device: Literal[True], progress: Progress = None,
        exact: bool = False,
    ) -> DeviceArray: ...

    @overload
    def mean(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: Out | None = None, keepdims: bool = False, *, where: AnyArray = True, variant: str = "auto",
        device: Devices = None, block_size: int | None = None, grid_size: int | None = None,
        stream: Stream | None = None, as_device: bool | None = None, progress: Progress = None,
        exact: bool = False,
    ) -> Any: ...

    @overload
    def min(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None, keepdims: bool = False,
        initial: Scalar | None = ..., where: AnyArray = True, *, variant: str = "auto",
        device: Devices = None, block_size: int | None = None, grid_size: int | None = None,
        stream: Stream | None = None, as_device: Literal[True] | None = None, progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def min(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
        keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True],
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def min(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: Out | None = None,
        keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: bool | None = None,
        progress: Progress = None,
    ) -> Any: ...

    @overload
    def prod(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
        out: None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def prod(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True],
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def prod(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: Out | None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True,
        *, variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: bool | None = None,
        progress: Progress = None,
    ) -> Any: ...

    @overload
    def sum(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
        out: None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
        progress: Progress = None, exact: bool = False,
    ) -> DeviceArray: ...

    @overload
    def sum(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True],
        progress: Progress = None, exact: bool = False,
    ) -> DeviceArray: ...

    @overload
    def sum(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: Out | None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True,
        *, variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: bool | None = None,
        progress: Progress = None, exact: bool = False,
    ) -> Any: ...

    @overload
    def bitwise_and(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
        out: None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def bitwise_and(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True],
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def bitwise_and(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: Out | None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True,
        *, variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: bool | None = None,
        progress: Progress = None,
    ) -> Any: ...

    @overload
    def bitwise_or(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
        out: None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def bitwise_or(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True],
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def bitwise_or(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: Out | None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True,
        *, variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: bool | None = None,
        progress: Progress = None,
    ) -> Any: ...

    @overload
    def bitwise_xor(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
        out: None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def bitwise_xor(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True],
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def bitwise_xor(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: Out | None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True,
        *, variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: bool | None = None,
        progress: Progress = None,
    ) -> Any: ...

    def average(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, weights: AnyArray | None = None,
        returned: bool = False, *, keepdims: bool = False, device: Devices = None,
        stream: Stream | None = None, as_device: bool | None = None, exact: bool = False,
    ) -> Any: ...

    @overload
    def inner(
        self, b: AnyArray, out: None = None, *, device: str | Device | None = None,
        stream: Stream | None = None, as_device: Literal[True],
    ) -> DeviceArray: ...

    @overload
    def inner(
        self, b: AnyArray, out: Out | None = None, *, device: str | Device | None = None,
        stream: Stream | None = None, as_device: bool | None = None,
    ) -> Any: ...

    @overload
    def logical_xor(
        self, axis: None = None, out: None = None, keepdims: Literal[False] = False,
        initial: Scalar | None = ..., where: AnyArray = True, *, device: str | Device | None = None,
        stream: Stream | None = None, as_device: Literal[False] | None = None, progress: Progress = None,
    ) -> np.bool_: ...

    @overload
    def logical_xor(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None, keepdims: bool = False,
        initial: Scalar | None = ..., where: AnyArray = True, *, device: str | Device | None = None,
        stream: Stream | None = None, as_device: Literal[True] | None = None, progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def logical_xor(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
        keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def logical_xor(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: Out | None = None,
        keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
        progress: Progress = None,
    ) -> Any: ...

    @overload
    def ptp(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None, keepdims: bool = False, *,
        device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True] | None = None, progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def ptp(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
        keepdims: bool = False, *, device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True], progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def ptp(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: Out | None = None,
        keepdims: bool = False, *, device: str | Device | None = None, stream: Stream | None = None,
        as_device: bool | None = None, progress: Progress = None,
    ) -> Any: ...

    @overload
    def trace(
        self, offset: int = 0, axis1: SupportsIndex = 0, axis2: SupportsIndex = 1,
        dtype: DTypeLike | None = None, out: None = None, *, device: str | Device | None = None,
        stream: Stream | None = None, as_device: Literal[True],
    ) -> DeviceArray: ...

    @overload
    def trace(
        self, offset: int = 0, axis1: SupportsIndex = 0, axis2: SupportsIndex = 1,
        dtype: DTypeLike | None = None, out: Out | None = None, *, device: str | Device | None = None,
        stream: Stream | None = None, as_device: bool | None = None,
    ) -> Any: ...

    def reduce(
        self, op: str, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        **arguments: Unpack[Arguments],
    ) -> Any: ...

    def moments(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, order: int = 4, ddof: float = 0,
        keepdims: bool = False, *, where: AnyArray = True, bias: bool = True, fisher: bool = True,
        nan_policy: str = "propagate", variant: str = "auto", device: str | Device | None = None,
        block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
        as_device: bool | None = None, progress: Progress = None, exact: bool = False,
    ) -> Moments: ...

    @overload
    def nanstd(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
        out: None = None, ddof: float = 0, keepdims: bool = False, *, where: AnyArray = True,
        mean: AnyArray = ..., correction: float = ..., variant: str = "auto",
        device: str | Device | None = None, block_size: int | None = None, grid_size: int | None = None,
        stream: Stream | None = None, as_device: Literal[True] | None = None, progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def nanstd(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: None = None, ddof: float = 0, keepdims: bool = False, *, where: AnyArray = True,
        mean: AnyArray = ..., correction: float = ..., variant: str = "auto",
        device: str | Device | None = None, block_size: int | None = None, grid_size: int | None = None,
        stream: Stream | None = None, as_device: Literal[True], progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def nanstd(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: Out | None = None, ddof: float = 0, keepdims: bool = False, *, where: AnyArray = True,
        mean: AnyArray = ..., correction: float = ..., variant: str = "auto",
        device: str | Device | None = None, block_size: int | None = None, grid_size: int | None = None,
        stream: Stream | None = None, as_device: bool | None = None, progress: Progress = None,
    ) -> Any: ...

    @overload
    def nanvar(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
        out: None = None, ddof: float = 0, keepdims: bool = False, *, where: AnyArray = True,
        mean: AnyArray = ..., correction: float = ..., variant: str = "auto",
        device: str | Device | None = None, block_size: int | None = None, grid_size: int | None = None,
        stream: Stream | None = None, as_device: Literal[True] | None = None, progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def nanvar(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: None = None, ddof: float = 0, keepdims: bool = False, *, where: AnyArray = True,
        mean: AnyArray = ..., correction: float = ..., variant: str = "auto",
        device: str | Device | None = None, block_size: int | None = None, grid_size: int | None = None,
        stream: Stream | None = None, as_device: Literal[True], progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def nanvar(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: Out | None = None, ddof: float = 0, keepdims: bool = False, *, where: AnyArray = True,
        mean: AnyArray = ..., correction: float = ..., variant: str = "auto",
        device: str | Device | None = None, block_size: int | None = None, grid_size: int | None = None,
        stream: Stream | None = None, as_device: bool | None = None, progress: Progress = None,
    ) -> Any: ...

    @overload
    def std(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
        out: None = None, ddof: float = 0, keepdims: bool = False, *, where: AnyArray = True,
        mean: AnyArray = ..., correction: float = ..., variant: str = "auto", device: Devices = None,
        block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
        as_device: Literal[True] | None = None, progress: Progress = None, exact: bool = False,
    ) -> DeviceArray: ...

    @overload
    def std(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: None = None, ddof: float = 0, keepdims: bool = False, *, where: AnyArray = True,
        mean: AnyArray = ..., correction: float = ..., variant: str = "auto", device: Devices = None,
        block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
        as_device: Literal[True], progress: Progress = None, exact: bool = False,
    ) -> DeviceArray: ...

    @overload
    def std(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: Out | None = None, ddof: float = 0, keepdims: bool = False, *, where: AnyArray = True,
        mean: AnyArray = ..., correction: float = ..., variant: str = "auto", device: Devices = None,
        block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
        as_device: bool | None = None, progress: Progress = None, exact: bool = False,
    ) -> Any: ...

    @overload
    def var(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
        out: None = None, ddof: float = 0, keepdims: bool = False, *, where: AnyArray = True,
        mean: AnyArray = ..., correction: float = ..., variant: str = "auto", device: Devices = None,
        block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
        as_device: Literal[True] | None = None, progress: Progress = None, exact: bool = False,
    ) -> DeviceArray: ...

    @overload
    def var(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: None = None, ddof: float = 0, keepdims: bool = False, *, where: AnyArray = True,
        mean: AnyArray = ..., correction: float = ..., variant: str = "auto", device: Devices = None,
        block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
        as_device: Literal[True], progress: Progress = None, exact: bool = False,
    ) -> DeviceArray: ...

    @overload
    def var(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: Out | None = None, ddof: float = 0, keepdims: bool = False, *, where: AnyArray = True,
        mean: AnyArray = ..., correction: float = ..., variant: str = "auto", device: Devices = None,
        block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
        as_device: bool | None = None, progress: Progress = None, exact: bool = False,
    ) -> Any: ...

    @overload
    def fmax(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None, keepdims: bool = False,
        initial: Scalar | None = ..., where: AnyArray = True, *, device: str | Device | None = None,
        stream: Stream | None = None, as_device: Literal[True] | None = None, progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def fmax(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
        keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def fmax(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: Out | None = None,
        keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
        progress: Progress = None,
    ) -> Any: ...

    @overload
    def fmin(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None, keepdims: bool = False,
        initial: Scalar | None = ..., where: AnyArray = True, *, device: str | Device | None = None,
        stream: Stream | None = None, as_device: Literal[True] | None = None, progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def fmin(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
        keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def fmin(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: Out | None = None,
        keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
        progress: Progress = None,
    ) -> Any: ...

    @overload
    def nanargmax(
        self, axis: None = None, out: None = None, *, keepdims: Literal[False] = False,
        device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[False] | None = None, progress: Progress = None,
    ) -> np.int64: ...

    @overload
    def nanargmax(
        self, axis: SupportsIndex, out: None = None, *, keepdims: bool = False,
        device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True] | None = None, progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def nanargmax(
        self, axis: SupportsIndex | None = None, out: None = None, *, keepdims: bool = False,
        device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def nanargmax(
        self, axis: SupportsIndex | None = None, out: Out | None = None, *, keepdims: bool = False,
        device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
        progress: Progress = None,
    ) -> Any: ...

    @overload
    def nanargmin(
        self, axis: None = None, out: None = None, *, keepdims: Literal[False] = False,
        device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[False] | None = None, progress: Progress = None,
    ) -> np.int64: ...

    @overload
    def nanargmin(
        self, axis: SupportsIndex, out: None = None, *, keepdims: bool = False,
        device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True] | None = None, progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def nanargmin(
        self, axis: SupportsIndex | None = None, out: None = None, *, keepdims: bool = False,
        device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def nanargmin(
        self, axis: SupportsIndex | None = None, out: Out | None = None, *, keepdims: bool = False,
        device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
        progress: Progress = None,
    ) -> Any: ...

    @overload
    def nanmax(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None, keepdims: bool = False,
        initial: Scalar | None = ..., where: AnyArray = True, *, device: str | Device | None = None,
        stream: Stream | None = None, as_device: Literal[True] | None = None, progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def nanmax(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
        keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def nanmax(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: Out | None = None,
        keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
        progress: Progress = None,
    ) -> Any: ...

    @overload
    def nanmean(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
        out: None = None, keepdims: bool = False, *, where: AnyArray = True,
        device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True] | None = None, progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def nanmean(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: None = None, keepdims: bool = False, *, where: AnyArray = True,
        device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def nanmean(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: Out | None = None, keepdims: bool = False, *, where: AnyArray = True,
        device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
        progress: Progress = None,
    ) -> Any: ...

    @overload
    def nanmin(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None, keepdims: bool = False,
        initial: Scalar | None = ..., where: AnyArray = True, *, device: str | Device | None = None,
        stream: Stream | None = None, as_device: Literal[True] | None = None, progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def nanmin(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
        keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def nanmin(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: Out | None = None,
        keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
        progress: Progress = None,
    ) -> Any: ...

    @overload
    def nanprod(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
        out: None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True] | None = None, progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def nanprod(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def nanprod(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: Out | None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True,
        *, device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
        progress: Progress = None,
    ) -> Any: ...

    @overload
    def nansum(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
        out: None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True] | None = None, progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def nansum(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
        device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def nansum(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, dtype: DTypeLike | None = None,
        out: Out | None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True,
        *, device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
        progress: Progress = None,
    ) -> Any: ...

    @overload
    def logsumexp(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], *, out: None = None, keepdims: bool = False,
        device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True] | None = None, progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def logsumexp(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, *, out: None = None,
        keepdims: bool = False, device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True], progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def logsumexp(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, *, out: Out | None = None,
        keepdims: bool = False, device: str | Device | None = None, stream: Stream | None = None,
        as_device: bool | None = None, progress: Progress = None,
    ) -> Any: ...

    @overload
    def norm(
        self, ord: float | None = None, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        keepdims: bool = False, *, out: None = None, device: str | Device | None = None,
        stream: Stream | None = None, as_device: Literal[True], progress: Progress = None,
        exact: bool = False,
    ) -> DeviceArray: ...

    @overload
    def norm(
        self, ord: float | None = None, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        keepdims: bool = False, *, out: Out | None = None, device: str | Device | None = None,
        stream: Stream | None = None, as_device: bool | None = None, progress: Progress = None,
        exact: bool = False,
    ) -> Any: ...

    def softmax_denominator(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, *, keepdims: bool = False,
        device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
    ) -> tuple[Any, Any]: ...

    @overload
    def all(
        self, axis: None = None, out: None = None, keepdims: Literal[False] = False, *,
        where: AnyArray = True, variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
        progress: Progress = None,
    ) -> np.bool_: ...

    @overload
    def all(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None, keepdims: bool = False, *,
        where: AnyArray = True, variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def all(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
        keepdims: bool = False, *, where: AnyArray = True, variant: str = "auto", device: Devices = None,
        block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
        as_device: Literal[True], progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def all(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: Out | None = None,
        keepdims: bool = False, *, where: AnyArray = True, variant: str = "auto", device: Devices = None,
        block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
        as_device: bool | None = None, progress: Progress = None,
    ) -> Any: ...

    @overload
    def any(
        self, axis: None = None, out: None = None, keepdims: Literal[False] = False, *,
        where: AnyArray = True, variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
        progress: Progress = None,
    ) -> np.bool_: ...

    @overload
    def any(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None, keepdims: bool = False, *,
        where: AnyArray = True, variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def any(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
        keepdims: bool = False, *, where: AnyArray = True, variant: str = "auto", device: Devices = None,
        block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
        as_device: Literal[True], progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def any(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: Out | None = None,
        keepdims: bool = False, *, where: AnyArray = True, variant: str = "auto", device: Devices = None,
        block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
        as_device: bool | None = None, progress: Progress = None,
    ) -> Any: ...

    @overload
    def count_nonzero(
        self, axis: None = None, *, keepdims: Literal[False] = False, variant: str = "auto",
        device: Devices = None, block_size: int | None = None, grid_size: int | None = None,
        stream: Stream | None = None, as_device: Literal[False] | None = None, progress: Progress = None,
    ) -> np.int64: ...

    @overload
    def count_nonzero(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...], *, keepdims: bool = False,
        variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def count_nonzero(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, *, keepdims: bool = False,
        variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True],
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def count_nonzero(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, *, keepdims: bool = False,
        variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: bool | None = None,
        progress: Progress = None,
    ) -> Any: ...

    @overload
    def argmax(
        self, axis: None = None, out: None = None, *, keepdims: Literal[False] = False, variant: str = "auto",
        device: Devices = None, block_size: int | None = None, grid_size: int | None = None,
        stream: Stream | None = None, as_device: Literal[False] | None = None, progress: Progress = None,
    ) -> np.int64: ...

    @overload
    def argmax(
        self, axis: SupportsIndex, out: None = None, *, keepdims: bool = False, variant: str = "auto",
        device: Devices = None, block_size: int | None = None, grid_size: int | None = None,
        stream: Stream | None = None, as_device: Literal[True] | None = None, progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def argmax(
        self, axis: SupportsIndex | None = None, out: None = None, *, keepdims: bool = False,
        variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True],
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def argmax(
        self, axis: SupportsIndex | None = None, out: Out | None = None, *, keepdims: bool = False,
        variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: bool | None = None,
        progress: Progress = None,
    ) -> Any: ...

    @overload
    def argmin(
        self, axis: None = None, out: None = None, *, keepdims: Literal[False] = False, variant: str = "auto",
        device: Devices = None, block_size: int | None = None, grid_size: int | None = None,
        stream: Stream | None = None, as_device: Literal[False] | None = None, progress: Progress = None,
    ) -> np.int64: ...

    @overload
    def argmin(
        self, axis: SupportsIndex, out: None = None, *, keepdims: bool = False, variant: str = "auto",
        device: Devices = None, block_size: int | None = None, grid_size: int | None = None,
        stream: Stream | None = None, as_device: Literal[True] | None = None, progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def argmin(
        self, axis: SupportsIndex | None = None, out: None = None, *, keepdims: bool = False,
        variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True],
        progress: Progress = None,
    ) -> DeviceArray: ...

    @overload
    def argmin(
        self, axis: SupportsIndex | None = None, out: Out | None = None, *, keepdims: bool = False,
        variant: str = "auto", device: Devices = None, block_size: int | None = None,
        grid_size: int | None = None, stream: Stream | None = None, as_device: bool | None = None,
        progress: Progress = None,
    ) -> Any: ...

    @overload
    def cummax(
        self, axis: SupportsIndex | None = None, out: None = None, *, device: str | Device | None = None,
        stream: Stream | None = None, as_device: Literal[True] | None = None,
    ) -> DeviceArray: ...

    @overload
    def cummax(
        self, axis: SupportsIndex | None = None, out: Out | None = None, *,
        device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
    ) -> Any: ...

    @overload
    def cummin(
        self, axis: SupportsIndex | None = None, out: None = None, *, device: str | Device | None = None,
        stream: Stream | None = None, as_device: Literal[True] | None = None,
    ) -> DeviceArray: ...

    @overload
    def cummin(
        self, axis: SupportsIndex | None = None, out: Out | None = None, *,
        device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
    ) -> Any: ...

    @overload
    def cumprod(
        self, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: None = None, *,
        device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True] | None = None,
    ) -> DeviceArray: ...

    @overload
    def cumprod(
        self, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Out | None = None, *,
        device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
    ) -> Any: ...

    @overload
    def cumsum(
        self, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: None = None, *,
        device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True] | None = None,
    ) -> DeviceArray: ...

    @overload
    def cumsum(
        self, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Out | None = None, *,
        device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
    ) -> Any: ...

    @overload
    def cumulative_prod(
        self, *, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: None = None,
        include_initial: bool = False, device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True] | None = None,
    ) -> DeviceArray: ...

    @overload
    def cumulative_prod(
        self, *, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Out | None = None,
        include_initial: bool = False, device: str | Device | None = None, stream: Stream | None = None,
        as_device: bool | None = None,
    ) -> Any: ...

    @overload
    def cumulative_sum(
        self, *, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: None = None,
        include_initial: bool = False, variant: str = "auto", device: str | Device | None = None,
        stream: Stream | None = None, as_device: Literal[True] | None = None, exact: bool = False,
    ) -> DeviceArray: ...

    @overload
    def cumulative_sum(
        self, *, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Out | None = None,
        include_initial: bool = False, variant: str = "auto", device: str | Device | None = None,
        stream: Stream | None = None, as_device: bool | None = None, exact: bool = False,
    ) -> Any: ...

    @overload
    def nancumprod(
        self, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: None = None, *,
        device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True] | None = None,
    ) -> DeviceArray: ...

    @overload
    def nancumprod(
        self, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Out | None = None, *,
        device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
    ) -> Any: ...

    @overload
    def nancumsum(
        self, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: None = None, *,
        device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True] | None = None,
    ) -> DeviceArray: ...

    @overload
    def nancumsum(
        self, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Out | None = None, *,
        device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
    ) -> Any: ...

    @overload
    def group_reduce(
        self, labels: AnyArray, op: str = "sum", num_groups: SupportsIndex | None = None, *,
        axis: SupportsIndex = 0, out: None = None, ddof: float = 0, where: AnyArray | bool = True,
        weights: AnyArray | None = None, q: float | None = None, variant: str = "auto",
        device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True] | None = None, exact: bool = False,
    ) -> DeviceArray: ...

    @overload
    def group_reduce(
        self, labels: AnyArray, op: str = "sum", num_groups: SupportsIndex | None = None, *,
        axis: SupportsIndex = 0, out: Out | None = None, ddof: float = 0, where: AnyArray | bool = True,
        weights: AnyArray | None = None, q: float | None = None, variant: str = "auto",
        device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
        exact: bool = False,
    ) -> Any: ...

    @overload
    def reduceat(
        self, indices: AnyArray, op: str = "sum", *, axis: SupportsIndex = 0, dtype: DTypeLike | None = None,
        out: None = None, device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True] | None = None, exact: bool = False,
    ) -> DeviceArray: ...

    @overload
    def reduceat(
        self, indices: AnyArray, op: str = "sum", *, axis: SupportsIndex = 0, dtype: DTypeLike | None = None,
        out: Out | None = None, device: str | Device | None = None, stream: Stream | None = None,
        as_device: bool | None = None, exact: bool = False,
    ) -> Any: ...

    @overload
    def segment_reduce(
        self, offsets: AnyArray, op: str = "sum", *, axis: SupportsIndex = 0, out: None = None,
        ddof: float = 0, where: AnyArray | bool = True, weights: AnyArray | None = None,
        q: float | None = None, device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True] | None = None, exact: bool = False,
    ) -> DeviceArray: ...

    @overload
    def segment_reduce(
        self, offsets: AnyArray, op: str = "sum", *, axis: SupportsIndex = 0, out: Out | None = None,
        ddof: float = 0, where: AnyArray | bool = True, weights: AnyArray | None = None,
        q: float | None = None, device: str | Device | None = None, stream: Stream | None = None,
        as_device: bool | None = None, exact: bool = False,
    ) -> Any: ...
