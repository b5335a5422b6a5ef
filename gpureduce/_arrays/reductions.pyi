"""Made by tests/make_stub.py."""

# fmt: off
from types import ModuleType
from typing import Any, Literal, SupportsIndex, overload

import numpy as np
from numpy.typing import DTypeLike

from gpureduce._arrays.device_array import DeviceArray
from gpureduce._device.devices import Device
from gpureduce._reduce.progress import Progress
from gpureduce._reduce.types import AnyArray, Devices, Out, Scalar, Stream

class Reductions:
    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType: ...
    def __matmul__(self, other: AnyArray) -> Any: ...
    def __rmatmul__(self, other: AnyArray) -> Any: ...

    @overload
    def matmul(
        self, b: DeviceArray, out: None = None, *, dtype: DTypeLike | None = None, variant: str = "auto",
        precision: str | None = None, device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True] | None = None,
    ) -> DeviceArray: ...

    @overload
    def matmul(
        self, b: AnyArray, out: None = None, *, dtype: DTypeLike | None = None, variant: str = "auto",
        precision: str | None = None, device: str | Device | None = None, stream: Stream | None = None,
        as_device: Literal[True],
    ) -> DeviceArray: ...

    @overload
    def matmul(
        self, b: AnyArray, out: Out | None = None, *, dtype: DTypeLike | None = None, variant: str = "auto",
        precision: str | None = None, device: str | Device | None = None, stream: Stream | None = None,
        as_device: bool | None = None,
    ) -> Any: ...

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
