"""Made by tests/tools/make_stub.py."""

# fmt: off
from typing import Any, Literal, SupportsIndex, TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray
from typing_extensions import Unpack

from gpureduce._arrays.device_array import DeviceArray
from gpureduce._device.devices import Device
from gpureduce._order.topk import TopK
from gpureduce._order.unique import UniqueCounts
from gpureduce._reduce.moments import Moments
from gpureduce._reduce.progress import Progress
from gpureduce._reduce.types import AnyArray, Arguments, Devices, Out, Scalar, Stream

_AnyT = TypeVar("_AnyT", bound=np.generic)
_InexactT = TypeVar("_InexactT", bound=np.inexact[Any])
_FloatT = TypeVar("_FloatT", bound=np.floating[Any])

@overload
def conv2d(
    x: NDArray[_InexactT], w: NDArray[_InexactT], *, bias: AnyArray | None = None,
    stride: int | tuple[int, int] = 1, padding: int | tuple[int, int] | str = 0,
    dilation: int | tuple[int, int] = 1, groups: int = 1, layout: str = "NCHW", dtype: None = None,
    out: None = None, variant: str = "auto", precision: str | None = None, batch_invariant: bool = True,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
) -> NDArray[_InexactT]: ...

@overload
def conv2d(
    x: DeviceArray, w: DeviceArray, *, bias: AnyArray | None = None, stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] | str = 0, dilation: int | tuple[int, int] = 1, groups: int = 1,
    layout: str = "NCHW", dtype: DTypeLike | None = None, out: None = None, variant: str = "auto",
    precision: str | None = None, batch_invariant: bool = True, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True] | None = None,
) -> DeviceArray: ...

@overload
def conv2d(
    x: AnyArray, w: AnyArray, *, bias: AnyArray | None = None, stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] | str = 0, dilation: int | tuple[int, int] = 1, groups: int = 1,
    layout: str = "NCHW", dtype: DTypeLike | None = None, out: None = None, variant: str = "auto",
    precision: str | None = None, batch_invariant: bool = True, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True],
) -> DeviceArray: ...

@overload
def conv2d(
    x: AnyArray, w: AnyArray, *, bias: AnyArray | None = None, stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] | str = 0, dilation: int | tuple[int, int] = 1, groups: int = 1,
    layout: str = "NCHW", dtype: DTypeLike | None = None, out: Out | None = None, variant: str = "auto",
    precision: str | None = None, batch_invariant: bool = True, device: str | Device | None = None,
    stream: Stream | None = None, as_device: bool | None = None,
) -> Any: ...

@overload
def matmul(
    a: DeviceArray, b: DeviceArray, out: None = None, *, dtype: DTypeLike | None = None,
    variant: str = "auto", precision: str | None = None, batch_invariant: bool = True,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
) -> DeviceArray: ...

@overload
def matmul(
    a: AnyArray, b: AnyArray, out: None = None, *, dtype: DTypeLike | None = None, variant: str = "auto",
    precision: str | None = None, batch_invariant: bool = True, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True],
) -> DeviceArray: ...

@overload
def matmul(
    a: AnyArray, b: AnyArray, out: Out | None = None, *, dtype: DTypeLike | None = None,
    variant: str = "auto", precision: str | None = None, batch_invariant: bool = True,
    device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
) -> Any: ...

@overload
def layer_norm(
    a: DeviceArray, weight: AnyArray | None = None, bias: AnyArray | None = None, eps: float = 1e-05, *,
    out: None = None, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[True] | None = None,
) -> DeviceArray: ...

@overload
def layer_norm(
    a: AnyArray, weight: AnyArray | None = None, bias: AnyArray | None = None, eps: float = 1e-05, *,
    out: None = None, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[True],
) -> DeviceArray: ...

@overload
def layer_norm(
    a: AnyArray, weight: AnyArray | None = None, bias: AnyArray | None = None, eps: float = 1e-05, *,
    out: Out | None = None, device: str | Device | None = None, stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any: ...

@overload
def log_softmax(
    a: DeviceArray, axis: SupportsIndex = -1, *, out: None = None, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True] | None = None,
) -> DeviceArray: ...

@overload
def log_softmax(
    a: AnyArray, axis: SupportsIndex = -1, *, out: None = None, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True],
) -> DeviceArray: ...

@overload
def log_softmax(
    a: AnyArray, axis: SupportsIndex = -1, *, out: Out | None = None, device: str | Device | None = None,
    stream: Stream | None = None, as_device: bool | None = None,
) -> Any: ...

@overload
def rms_norm(
    a: DeviceArray, weight: AnyArray | None = None, eps: float = 1e-06, *, residual: Any = None,
    out: None = None, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[True] | None = None,
) -> DeviceArray: ...

@overload
def rms_norm(
    a: AnyArray, weight: AnyArray | None = None, eps: float = 1e-06, *, residual: Any = None,
    out: None = None, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[True],
) -> DeviceArray: ...

@overload
def rms_norm(
    a: AnyArray, weight: AnyArray | None = None, eps: float = 1e-06, *, residual: Any = None,
    out: Out | None = None, device: str | Device | None = None, stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any: ...

@overload
def softmax(
    a: DeviceArray, axis: SupportsIndex = -1, *, out: None = None, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True] | None = None,
) -> DeviceArray: ...

@overload
def softmax(
    a: AnyArray, axis: SupportsIndex = -1, *, out: None = None, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True],
) -> DeviceArray: ...

@overload
def softmax(
    a: AnyArray, axis: SupportsIndex = -1, *, out: Out | None = None, device: str | Device | None = None,
    stream: Stream | None = None, as_device: bool | None = None,
) -> Any: ...

@overload
def median(
    a: NDArray[np.integer[Any] | np.bool_], axis: None = None, out: None = None,
    overwrite_input: bool = False, keepdims: Literal[False] = False, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[False] | None = None,
) -> np.float64: ...

@overload
def median(
    a: NDArray[_FloatT], axis: None = None, out: None = None, overwrite_input: bool = False,
    keepdims: Literal[False] = False, *, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[False] | None = None,
) -> _FloatT: ...

@overload
def median(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None,
    overwrite_input: bool = False, keepdims: bool = False, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True] | None = None,
) -> DeviceArray: ...

@overload
def median(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
    overwrite_input: bool = False, keepdims: bool = False, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True],
) -> DeviceArray: ...

@overload
def median(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: Out | None = None,
    overwrite_input: bool = False, keepdims: bool = False, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: bool | None = None,
) -> Any: ...

@overload
def nanmedian(
    a: NDArray[np.integer[Any] | np.bool_], axis: None = None, out: None = None,
    overwrite_input: bool = False, keepdims: Literal[False] = False, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[False] | None = None,
) -> np.float64: ...

@overload
def nanmedian(
    a: NDArray[_FloatT], axis: None = None, out: None = None, overwrite_input: bool = False,
    keepdims: Literal[False] = False, *, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[False] | None = None,
) -> _FloatT: ...

@overload
def nanmedian(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None,
    overwrite_input: bool = False, keepdims: bool = False, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True] | None = None,
) -> DeviceArray: ...

@overload
def nanmedian(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
    overwrite_input: bool = False, keepdims: bool = False, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True],
) -> DeviceArray: ...

@overload
def nanmedian(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: Out | None = None,
    overwrite_input: bool = False, keepdims: bool = False, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: bool | None = None,
) -> Any: ...

@overload
def nanpercentile(
    a: DeviceArray, q: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None,
    overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
    weights: AnyArray | None = None, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[True] | None = None,
) -> DeviceArray: ...

@overload
def nanpercentile(
    a: AnyArray, q: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
    overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
    weights: AnyArray | None = None, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[True],
) -> DeviceArray: ...

@overload
def nanpercentile(
    a: AnyArray, q: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    out: Out | None = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
    weights: AnyArray | None = None, device: str | Device | None = None, stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any: ...

@overload
def nanquantile(
    a: DeviceArray, q: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None,
    overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
    weights: AnyArray | None = None, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[True] | None = None,
) -> DeviceArray: ...

@overload
def nanquantile(
    a: AnyArray, q: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
    overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
    weights: AnyArray | None = None, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[True],
) -> DeviceArray: ...

@overload
def nanquantile(
    a: AnyArray, q: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    out: Out | None = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
    weights: AnyArray | None = None, device: str | Device | None = None, stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any: ...

@overload
def percentile(
    a: DeviceArray, q: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None,
    overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
    weights: AnyArray | None = None, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[True] | None = None,
) -> DeviceArray: ...

@overload
def percentile(
    a: AnyArray, q: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
    overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
    weights: AnyArray | None = None, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[True],
) -> DeviceArray: ...

@overload
def percentile(
    a: AnyArray, q: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    out: Out | None = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
    weights: AnyArray | None = None, device: str | Device | None = None, stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any: ...

@overload
def quantile(
    a: DeviceArray, q: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None,
    overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
    weights: AnyArray | None = None, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[True] | None = None,
) -> DeviceArray: ...

@overload
def quantile(
    a: AnyArray, q: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
    overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
    weights: AnyArray | None = None, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[True],
) -> DeviceArray: ...

@overload
def quantile(
    a: AnyArray, q: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    out: Out | None = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
    weights: AnyArray | None = None, device: str | Device | None = None, stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any: ...

@overload
def argsort(
    a: NDArray[Any], axis: SupportsIndex | None = -1, kind: str | None = None, order: None = None, *,
    stable: bool | None = True, descending: bool = False, out: None = None,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
) -> NDArray[np.int64]: ...

@overload
def argsort(
    a: DeviceArray, axis: SupportsIndex | None = -1, kind: str | None = None, order: None = None, *,
    stable: bool | None = True, descending: bool = False, out: None = None,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
) -> DeviceArray: ...

@overload
def argsort(
    a: AnyArray, axis: SupportsIndex | None = -1, kind: str | None = None, order: None = None, *,
    stable: bool | None = True, descending: bool = False, out: None = None,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
) -> DeviceArray: ...

@overload
def argsort(
    a: AnyArray, axis: SupportsIndex | None = -1, kind: str | None = None, order: None = None, *,
    stable: bool | None = True, descending: bool = False, out: Out | None = None,
    device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
) -> Any: ...

@overload
def sort(
    a: NDArray[_AnyT], axis: SupportsIndex | None = -1, kind: str | None = None, order: None = None, *,
    stable: bool | None = True, descending: bool = False, out: None = None,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
) -> NDArray[_AnyT]: ...

@overload
def sort(
    a: DeviceArray, axis: SupportsIndex | None = -1, kind: str | None = None, order: None = None, *,
    stable: bool | None = True, descending: bool = False, out: None = None,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
) -> DeviceArray: ...

@overload
def sort(
    a: AnyArray, axis: SupportsIndex | None = -1, kind: str | None = None, order: None = None, *,
    stable: bool | None = True, descending: bool = False, out: None = None,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
) -> DeviceArray: ...

@overload
def sort(
    a: AnyArray, axis: SupportsIndex | None = -1, kind: str | None = None, order: None = None, *,
    stable: bool | None = True, descending: bool = False, out: Out | None = None,
    device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
) -> Any: ...

def topk(
    a: AnyArray, k: SupportsIndex, axis: SupportsIndex = -1, largest: bool = True, sorted: bool = True, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
) -> TopK: ...

def unique_counts(
    a: AnyArray, *, size: SupportsIndex | None = None, device: str | Device | None = None,
    stream: Stream | None = None, as_device: bool | None = None,
) -> UniqueCounts: ...

@overload
def dot(
    a: NDArray[_InexactT], b: NDArray[_InexactT], out: None = None, *, variant: str = "auto",
    device: Devices = None, block_size: int | None = None, grid_size: int | None = None,
    stream: Stream | None = None, as_device: Literal[False] | None = None, progress: Progress = None,
    exact: bool = False,
) -> _InexactT: ...

@overload
def dot(
    a: AnyArray, b: AnyArray, out: None = None, *, variant: str = "auto", device: Devices = None,
    block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
    as_device: Literal[True], progress: Progress = None, exact: bool = False,
) -> DeviceArray: ...

@overload
def dot(
    a: AnyArray, b: AnyArray, out: Out | None = None, *, variant: str = "auto", device: Devices = None,
    block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
    as_device: bool | None = None, progress: Progress = None, exact: bool = False,
) -> Any: ...

@overload
def fsum(
    a: NDArray[_InexactT], axis: None = None, dtype: None = None, out: None = None,
    keepdims: Literal[False] = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    device: Devices = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
) -> _InexactT: ...

@overload
def fsum(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
    out: None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    device: Devices = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
) -> DeviceArray: ...

@overload
def fsum(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: None = None, keepdims: bool = False, initial: Scalar | None = ...,
    where: AnyArray = True, *, device: Devices = None, stream: Stream | None = None, as_device: Literal[True],
) -> DeviceArray: ...

@overload
def fsum(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: Out | None = None, keepdims: bool = False,
    initial: Scalar | None = ..., where: AnyArray = True, *, device: Devices = None,
    stream: Stream | None = None, as_device: bool | None = None,
) -> Any: ...

@overload
def max(
    a: NDArray[_AnyT], axis: None = None, out: None = None, keepdims: Literal[False] = False,
    initial: Scalar | None = ..., where: AnyArray = True, *, variant: str = "auto", device: Devices = None,
    block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
    as_device: Literal[False] | None = None, progress: Progress = None,
) -> _AnyT: ...

@overload
def max(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None, keepdims: bool = False,
    initial: Scalar | None = ..., where: AnyArray = True, *, variant: str = "auto", device: Devices = None,
    block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
    as_device: Literal[True] | None = None, progress: Progress = None,
) -> DeviceArray: ...

@overload
def max(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
    keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *, variant: str = "auto",
    device: Devices = None, block_size: int | None = None, grid_size: int | None = None,
    stream: Stream | None = None, as_device: Literal[True], progress: Progress = None,
) -> DeviceArray: ...

@overload
def max(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: Out | None = None,
    keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *, variant: str = "auto",
    device: Devices = None, block_size: int | None = None, grid_size: int | None = None,
    stream: Stream | None = None, as_device: bool | None = None, progress: Progress = None,
) -> Any: ...

@overload
def mean(
    a: NDArray[_InexactT], axis: None = None, dtype: None = None, out: None = None,
    keepdims: Literal[False] = False, *, where: AnyArray = True, variant: str = "auto",
    device: Devices = None, block_size: int | None = None, grid_size: int | None = None,
    stream: Stream | None = None, as_device: Literal[False] | None = None, progress: Progress = None,
    exact: bool = False,
) -> _InexactT: ...

@overload
def mean(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
    out: None = None, keepdims: bool = False, *, where: AnyArray = True, variant: str = "auto",
    device: Devices = None, block_size: int | None = None, grid_size: int | None = None,
    stream: Stream | None = None, as_device: Literal[True] | None = None, progress: Progress = None,
    exact: bool = False,
) -> DeviceArray: ...

@overload
def mean(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: None = None, keepdims: bool = False, *, where: AnyArray = True,
    variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True],
    progress: Progress = None, exact: bool = False,
) -> DeviceArray: ...

@overload
def mean(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: Out | None = None, keepdims: bool = False, *, where: AnyArray = True,
    variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: bool | None = None,
    progress: Progress = None, exact: bool = False,
) -> Any: ...

@overload
def min(
    a: NDArray[_AnyT], axis: None = None, out: None = None, keepdims: Literal[False] = False,
    initial: Scalar | None = ..., where: AnyArray = True, *, variant: str = "auto", device: Devices = None,
    block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
    as_device: Literal[False] | None = None, progress: Progress = None,
) -> _AnyT: ...

@overload
def min(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None, keepdims: bool = False,
    initial: Scalar | None = ..., where: AnyArray = True, *, variant: str = "auto", device: Devices = None,
    block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
    as_device: Literal[True] | None = None, progress: Progress = None,
) -> DeviceArray: ...

@overload
def min(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
    keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *, variant: str = "auto",
    device: Devices = None, block_size: int | None = None, grid_size: int | None = None,
    stream: Stream | None = None, as_device: Literal[True], progress: Progress = None,
) -> DeviceArray: ...

@overload
def min(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: Out | None = None,
    keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *, variant: str = "auto",
    device: Devices = None, block_size: int | None = None, grid_size: int | None = None,
    stream: Stream | None = None, as_device: bool | None = None, progress: Progress = None,
) -> Any: ...

@overload
def prod(
    a: NDArray[_InexactT], axis: None = None, dtype: None = None, out: None = None,
    keepdims: Literal[False] = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
    progress: Progress = None,
) -> _InexactT: ...

@overload
def prod(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
    out: None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def prod(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: None = None, keepdims: bool = False, initial: Scalar | None = ...,
    where: AnyArray = True, *, variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True],
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def prod(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: Out | None = None, keepdims: bool = False,
    initial: Scalar | None = ..., where: AnyArray = True, *, variant: str = "auto", device: Devices = None,
    block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
    as_device: bool | None = None, progress: Progress = None,
) -> Any: ...

@overload
def sum(
    a: NDArray[_InexactT], axis: None = None, dtype: None = None, out: None = None,
    keepdims: Literal[False] = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
    progress: Progress = None, exact: bool = False,
) -> _InexactT: ...

@overload
def sum(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
    out: None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
    progress: Progress = None, exact: bool = False,
) -> DeviceArray: ...

@overload
def sum(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: None = None, keepdims: bool = False, initial: Scalar | None = ...,
    where: AnyArray = True, *, variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True],
    progress: Progress = None, exact: bool = False,
) -> DeviceArray: ...

@overload
def sum(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: Out | None = None, keepdims: bool = False,
    initial: Scalar | None = ..., where: AnyArray = True, *, variant: str = "auto", device: Devices = None,
    block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
    as_device: bool | None = None, progress: Progress = None, exact: bool = False,
) -> Any: ...

@overload
def bitwise_and(
    a: NDArray[_AnyT], axis: None = None, dtype: None = None, out: None = None,
    keepdims: Literal[False] = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
    progress: Progress = None,
) -> _AnyT: ...

@overload
def bitwise_and(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
    out: None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def bitwise_and(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: None = None, keepdims: bool = False, initial: Scalar | None = ...,
    where: AnyArray = True, *, variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True],
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def bitwise_and(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: Out | None = None, keepdims: bool = False,
    initial: Scalar | None = ..., where: AnyArray = True, *, variant: str = "auto", device: Devices = None,
    block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
    as_device: bool | None = None, progress: Progress = None,
) -> Any: ...

@overload
def bitwise_or(
    a: NDArray[_AnyT], axis: None = None, dtype: None = None, out: None = None,
    keepdims: Literal[False] = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
    progress: Progress = None,
) -> _AnyT: ...

@overload
def bitwise_or(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
    out: None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def bitwise_or(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: None = None, keepdims: bool = False, initial: Scalar | None = ...,
    where: AnyArray = True, *, variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True],
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def bitwise_or(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: Out | None = None, keepdims: bool = False,
    initial: Scalar | None = ..., where: AnyArray = True, *, variant: str = "auto", device: Devices = None,
    block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
    as_device: bool | None = None, progress: Progress = None,
) -> Any: ...

@overload
def bitwise_xor(
    a: NDArray[_AnyT], axis: None = None, dtype: None = None, out: None = None,
    keepdims: Literal[False] = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
    progress: Progress = None,
) -> _AnyT: ...

@overload
def bitwise_xor(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
    out: None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def bitwise_xor(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: None = None, keepdims: bool = False, initial: Scalar | None = ...,
    where: AnyArray = True, *, variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True],
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def bitwise_xor(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: Out | None = None, keepdims: bool = False,
    initial: Scalar | None = ..., where: AnyArray = True, *, variant: str = "auto", device: Devices = None,
    block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
    as_device: bool | None = None, progress: Progress = None,
) -> Any: ...

def average(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    weights: AnyArray | None = None, returned: bool = False, *, keepdims: bool = False,
    device: Devices = None, stream: Stream | None = None, as_device: bool | None = None, exact: bool = False,
) -> Any: ...

@overload
def inner(
    a: AnyArray, b: AnyArray, out: None = None, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True],
) -> DeviceArray: ...

@overload
def inner(
    a: AnyArray, b: AnyArray, out: Out | None = None, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: bool | None = None,
) -> Any: ...

@overload
def logical_xor(
    a: AnyArray, axis: None = None, out: None = None, keepdims: Literal[False] = False,
    initial: Scalar | None = ..., where: AnyArray = True, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[False] | None = None, progress: Progress = None,
) -> np.bool_: ...

@overload
def logical_xor(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None, keepdims: bool = False,
    initial: Scalar | None = ..., where: AnyArray = True, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True] | None = None, progress: Progress = None,
) -> DeviceArray: ...

@overload
def logical_xor(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
    keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def logical_xor(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: Out | None = None,
    keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
    progress: Progress = None,
) -> Any: ...

@overload
def ptp(
    a: NDArray[_AnyT], axis: None = None, out: None = None, keepdims: Literal[False] = False, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
    progress: Progress = None,
) -> _AnyT: ...

@overload
def ptp(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None, keepdims: bool = False,
    *, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[True] | None = None, progress: Progress = None,
) -> DeviceArray: ...

@overload
def ptp(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
    keepdims: bool = False, *, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[True], progress: Progress = None,
) -> DeviceArray: ...

@overload
def ptp(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: Out | None = None,
    keepdims: bool = False, *, device: str | Device | None = None, stream: Stream | None = None,
    as_device: bool | None = None, progress: Progress = None,
) -> Any: ...

@overload
def trace(
    a: AnyArray, offset: int = 0, axis1: SupportsIndex = 0, axis2: SupportsIndex = 1,
    dtype: DTypeLike | None = None, out: None = None, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True],
) -> DeviceArray: ...

@overload
def trace(
    a: AnyArray, offset: int = 0, axis1: SupportsIndex = 0, axis2: SupportsIndex = 1,
    dtype: DTypeLike | None = None, out: Out | None = None, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: bool | None = None,
) -> Any: ...

@overload
def vecdot(
    x1: AnyArray, x2: AnyArray, out: None = None, *, axis: SupportsIndex = -1,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
) -> DeviceArray: ...

@overload
def vecdot(
    x1: AnyArray, x2: AnyArray, out: Out | None = None, *, axis: SupportsIndex = -1,
    device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
) -> Any: ...

def reduce(
    a: AnyArray, op: str, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    **arguments: Unpack[Arguments],
) -> Any: ...

def moments(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, order: int = 4,
    ddof: float = 0, keepdims: bool = False, *, where: AnyArray = True, bias: bool = True,
    fisher: bool = True, nan_policy: str = "propagate", variant: str = "auto",
    device: str | Device | None = None, block_size: int | None = None, grid_size: int | None = None,
    stream: Stream | None = None, as_device: bool | None = None, progress: Progress = None,
    exact: bool = False,
) -> Moments: ...

@overload
def nanstd(
    a: NDArray[np.integer[Any] | np.bool_], axis: None = None, dtype: None = None, out: None = None,
    ddof: float = 0, keepdims: Literal[False] = False, *, where: AnyArray = True, mean: AnyArray = ...,
    correction: float = ..., variant: str = "auto", device: str | Device | None = None,
    block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
    as_device: Literal[False] | None = None, progress: Progress = None,
) -> np.float64: ...

@overload
def nanstd(
    a: NDArray[_FloatT], axis: None = None, dtype: None = None, out: None = None, ddof: float = 0,
    keepdims: Literal[False] = False, *, where: AnyArray = True, mean: AnyArray = ...,
    correction: float = ..., variant: str = "auto", device: str | Device | None = None,
    block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
    as_device: Literal[False] | None = None, progress: Progress = None,
) -> _FloatT: ...

@overload
def nanstd(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
    out: None = None, ddof: float = 0, keepdims: bool = False, *, where: AnyArray = True,
    mean: AnyArray = ..., correction: float = ..., variant: str = "auto", device: str | Device | None = None,
    block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
    as_device: Literal[True] | None = None, progress: Progress = None,
) -> DeviceArray: ...

@overload
def nanstd(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: None = None, ddof: float = 0, keepdims: bool = False, *,
    where: AnyArray = True, mean: AnyArray = ..., correction: float = ..., variant: str = "auto",
    device: str | Device | None = None, block_size: int | None = None, grid_size: int | None = None,
    stream: Stream | None = None, as_device: Literal[True], progress: Progress = None,
) -> DeviceArray: ...

@overload
def nanstd(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: Out | None = None, ddof: float = 0, keepdims: bool = False, *,
    where: AnyArray = True, mean: AnyArray = ..., correction: float = ..., variant: str = "auto",
    device: str | Device | None = None, block_size: int | None = None, grid_size: int | None = None,
    stream: Stream | None = None, as_device: bool | None = None, progress: Progress = None,
) -> Any: ...

@overload
def nanvar(
    a: NDArray[np.integer[Any] | np.bool_], axis: None = None, dtype: None = None, out: None = None,
    ddof: float = 0, keepdims: Literal[False] = False, *, where: AnyArray = True, mean: AnyArray = ...,
    correction: float = ..., variant: str = "auto", device: str | Device | None = None,
    block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
    as_device: Literal[False] | None = None, progress: Progress = None,
) -> np.float64: ...

@overload
def nanvar(
    a: NDArray[_FloatT], axis: None = None, dtype: None = None, out: None = None, ddof: float = 0,
    keepdims: Literal[False] = False, *, where: AnyArray = True, mean: AnyArray = ...,
    correction: float = ..., variant: str = "auto", device: str | Device | None = None,
    block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
    as_device: Literal[False] | None = None, progress: Progress = None,
) -> _FloatT: ...

@overload
def nanvar(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
    out: None = None, ddof: float = 0, keepdims: bool = False, *, where: AnyArray = True,
    mean: AnyArray = ..., correction: float = ..., variant: str = "auto", device: str | Device | None = None,
    block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
    as_device: Literal[True] | None = None, progress: Progress = None,
) -> DeviceArray: ...

@overload
def nanvar(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: None = None, ddof: float = 0, keepdims: bool = False, *,
    where: AnyArray = True, mean: AnyArray = ..., correction: float = ..., variant: str = "auto",
    device: str | Device | None = None, block_size: int | None = None, grid_size: int | None = None,
    stream: Stream | None = None, as_device: Literal[True], progress: Progress = None,
) -> DeviceArray: ...

@overload
def nanvar(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: Out | None = None, ddof: float = 0, keepdims: bool = False, *,
    where: AnyArray = True, mean: AnyArray = ..., correction: float = ..., variant: str = "auto",
    device: str | Device | None = None, block_size: int | None = None, grid_size: int | None = None,
    stream: Stream | None = None, as_device: bool | None = None, progress: Progress = None,
) -> Any: ...

@overload
def std(
    a: NDArray[np.integer[Any] | np.bool_], axis: None = None, dtype: None = None, out: None = None,
    ddof: float = 0, keepdims: Literal[False] = False, *, where: AnyArray = True, mean: AnyArray = ...,
    correction: float = ..., variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
    progress: Progress = None, exact: bool = False,
) -> np.float64: ...

@overload
def std(
    a: NDArray[_FloatT], axis: None = None, dtype: None = None, out: None = None, ddof: float = 0,
    keepdims: Literal[False] = False, *, where: AnyArray = True, mean: AnyArray = ...,
    correction: float = ..., variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
    progress: Progress = None, exact: bool = False,
) -> _FloatT: ...

@overload
def std(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
    out: None = None, ddof: float = 0, keepdims: bool = False, *, where: AnyArray = True,
    mean: AnyArray = ..., correction: float = ..., variant: str = "auto", device: Devices = None,
    block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
    as_device: Literal[True] | None = None, progress: Progress = None, exact: bool = False,
) -> DeviceArray: ...

@overload
def std(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: None = None, ddof: float = 0, keepdims: bool = False, *,
    where: AnyArray = True, mean: AnyArray = ..., correction: float = ..., variant: str = "auto",
    device: Devices = None, block_size: int | None = None, grid_size: int | None = None,
    stream: Stream | None = None, as_device: Literal[True], progress: Progress = None, exact: bool = False,
) -> DeviceArray: ...

@overload
def std(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: Out | None = None, ddof: float = 0, keepdims: bool = False, *,
    where: AnyArray = True, mean: AnyArray = ..., correction: float = ..., variant: str = "auto",
    device: Devices = None, block_size: int | None = None, grid_size: int | None = None,
    stream: Stream | None = None, as_device: bool | None = None, progress: Progress = None,
    exact: bool = False,
) -> Any: ...

@overload
def var(
    a: NDArray[np.integer[Any] | np.bool_], axis: None = None, dtype: None = None, out: None = None,
    ddof: float = 0, keepdims: Literal[False] = False, *, where: AnyArray = True, mean: AnyArray = ...,
    correction: float = ..., variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
    progress: Progress = None, exact: bool = False,
) -> np.float64: ...

@overload
def var(
    a: NDArray[_FloatT], axis: None = None, dtype: None = None, out: None = None, ddof: float = 0,
    keepdims: Literal[False] = False, *, where: AnyArray = True, mean: AnyArray = ...,
    correction: float = ..., variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
    progress: Progress = None, exact: bool = False,
) -> _FloatT: ...

@overload
def var(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
    out: None = None, ddof: float = 0, keepdims: bool = False, *, where: AnyArray = True,
    mean: AnyArray = ..., correction: float = ..., variant: str = "auto", device: Devices = None,
    block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
    as_device: Literal[True] | None = None, progress: Progress = None, exact: bool = False,
) -> DeviceArray: ...

@overload
def var(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: None = None, ddof: float = 0, keepdims: bool = False, *,
    where: AnyArray = True, mean: AnyArray = ..., correction: float = ..., variant: str = "auto",
    device: Devices = None, block_size: int | None = None, grid_size: int | None = None,
    stream: Stream | None = None, as_device: Literal[True], progress: Progress = None, exact: bool = False,
) -> DeviceArray: ...

@overload
def var(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: Out | None = None, ddof: float = 0, keepdims: bool = False, *,
    where: AnyArray = True, mean: AnyArray = ..., correction: float = ..., variant: str = "auto",
    device: Devices = None, block_size: int | None = None, grid_size: int | None = None,
    stream: Stream | None = None, as_device: bool | None = None, progress: Progress = None,
    exact: bool = False,
) -> Any: ...

@overload
def fmax(
    a: NDArray[_AnyT], axis: None = None, out: None = None, keepdims: Literal[False] = False,
    initial: Scalar | None = ..., where: AnyArray = True, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[False] | None = None, progress: Progress = None,
) -> _AnyT: ...

@overload
def fmax(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None, keepdims: bool = False,
    initial: Scalar | None = ..., where: AnyArray = True, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True] | None = None, progress: Progress = None,
) -> DeviceArray: ...

@overload
def fmax(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
    keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def fmax(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: Out | None = None,
    keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
    progress: Progress = None,
) -> Any: ...

@overload
def fmin(
    a: NDArray[_AnyT], axis: None = None, out: None = None, keepdims: Literal[False] = False,
    initial: Scalar | None = ..., where: AnyArray = True, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[False] | None = None, progress: Progress = None,
) -> _AnyT: ...

@overload
def fmin(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None, keepdims: bool = False,
    initial: Scalar | None = ..., where: AnyArray = True, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True] | None = None, progress: Progress = None,
) -> DeviceArray: ...

@overload
def fmin(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
    keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def fmin(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: Out | None = None,
    keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
    progress: Progress = None,
) -> Any: ...

@overload
def nanargmax(
    a: AnyArray, axis: None = None, out: None = None, *, keepdims: Literal[False] = False,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
    progress: Progress = None,
) -> np.int64: ...

@overload
def nanargmax(
    a: DeviceArray, axis: SupportsIndex, out: None = None, *, keepdims: bool = False,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def nanargmax(
    a: AnyArray, axis: SupportsIndex | None = None, out: None = None, *, keepdims: bool = False,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def nanargmax(
    a: AnyArray, axis: SupportsIndex | None = None, out: Out | None = None, *, keepdims: bool = False,
    device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
    progress: Progress = None,
) -> Any: ...

@overload
def nanargmin(
    a: AnyArray, axis: None = None, out: None = None, *, keepdims: Literal[False] = False,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
    progress: Progress = None,
) -> np.int64: ...

@overload
def nanargmin(
    a: DeviceArray, axis: SupportsIndex, out: None = None, *, keepdims: bool = False,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def nanargmin(
    a: AnyArray, axis: SupportsIndex | None = None, out: None = None, *, keepdims: bool = False,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def nanargmin(
    a: AnyArray, axis: SupportsIndex | None = None, out: Out | None = None, *, keepdims: bool = False,
    device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
    progress: Progress = None,
) -> Any: ...

@overload
def nanmax(
    a: NDArray[_AnyT], axis: None = None, out: None = None, keepdims: Literal[False] = False,
    initial: Scalar | None = ..., where: AnyArray = True, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[False] | None = None, progress: Progress = None,
) -> _AnyT: ...

@overload
def nanmax(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None, keepdims: bool = False,
    initial: Scalar | None = ..., where: AnyArray = True, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True] | None = None, progress: Progress = None,
) -> DeviceArray: ...

@overload
def nanmax(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
    keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def nanmax(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: Out | None = None,
    keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
    progress: Progress = None,
) -> Any: ...

@overload
def nanmean(
    a: NDArray[_InexactT], axis: None = None, dtype: None = None, out: None = None,
    keepdims: Literal[False] = False, *, where: AnyArray = True, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[False] | None = None, progress: Progress = None,
) -> _InexactT: ...

@overload
def nanmean(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
    out: None = None, keepdims: bool = False, *, where: AnyArray = True, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True] | None = None, progress: Progress = None,
) -> DeviceArray: ...

@overload
def nanmean(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: None = None, keepdims: bool = False, *, where: AnyArray = True,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def nanmean(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: Out | None = None, keepdims: bool = False, *, where: AnyArray = True,
    device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
    progress: Progress = None,
) -> Any: ...

@overload
def nanmin(
    a: NDArray[_AnyT], axis: None = None, out: None = None, keepdims: Literal[False] = False,
    initial: Scalar | None = ..., where: AnyArray = True, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[False] | None = None, progress: Progress = None,
) -> _AnyT: ...

@overload
def nanmin(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None, keepdims: bool = False,
    initial: Scalar | None = ..., where: AnyArray = True, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True] | None = None, progress: Progress = None,
) -> DeviceArray: ...

@overload
def nanmin(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
    keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def nanmin(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: Out | None = None,
    keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
    progress: Progress = None,
) -> Any: ...

@overload
def nanprod(
    a: NDArray[_InexactT], axis: None = None, dtype: None = None, out: None = None,
    keepdims: Literal[False] = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
    progress: Progress = None,
) -> _InexactT: ...

@overload
def nanprod(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
    out: None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def nanprod(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: None = None, keepdims: bool = False, initial: Scalar | None = ...,
    where: AnyArray = True, *, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[True], progress: Progress = None,
) -> DeviceArray: ...

@overload
def nanprod(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: Out | None = None, keepdims: bool = False,
    initial: Scalar | None = ..., where: AnyArray = True, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: bool | None = None, progress: Progress = None,
) -> Any: ...

@overload
def nansum(
    a: NDArray[_InexactT], axis: None = None, dtype: None = None, out: None = None,
    keepdims: Literal[False] = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
    progress: Progress = None,
) -> _InexactT: ...

@overload
def nansum(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike | None = None,
    out: None = None, keepdims: bool = False, initial: Scalar | None = ..., where: AnyArray = True, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def nansum(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: None = None, keepdims: bool = False, initial: Scalar | None = ...,
    where: AnyArray = True, *, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[True], progress: Progress = None,
) -> DeviceArray: ...

@overload
def nansum(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None, out: Out | None = None, keepdims: bool = False,
    initial: Scalar | None = ..., where: AnyArray = True, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: bool | None = None, progress: Progress = None,
) -> Any: ...

@overload
def logsumexp(
    a: NDArray[_InexactT], axis: None = None, *, out: None = None, keepdims: Literal[False] = False,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
    progress: Progress = None,
) -> _InexactT: ...

@overload
def logsumexp(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], *, out: None = None,
    keepdims: bool = False, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[True] | None = None, progress: Progress = None,
) -> DeviceArray: ...

@overload
def logsumexp(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, *, out: None = None,
    keepdims: bool = False, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[True], progress: Progress = None,
) -> DeviceArray: ...

@overload
def logsumexp(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, *, out: Out | None = None,
    keepdims: bool = False, device: str | Device | None = None, stream: Stream | None = None,
    as_device: bool | None = None, progress: Progress = None,
) -> Any: ...

@overload
def norm(
    a: NDArray[np.integer[Any] | np.bool_], ord: float | None = None, axis: None = None,
    keepdims: Literal[False] = False, *, out: None = None, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[False] | None = None, progress: Progress = None,
    exact: bool = False,
) -> np.float64: ...

@overload
def norm(
    a: NDArray[_FloatT], ord: float | None = None, axis: None = None, keepdims: Literal[False] = False, *,
    out: None = None, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[False] | None = None, progress: Progress = None, exact: bool = False,
) -> _FloatT: ...

@overload
def norm(
    a: AnyArray, ord: float | None = None, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    keepdims: bool = False, *, out: None = None, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True], progress: Progress = None, exact: bool = False,
) -> DeviceArray: ...

@overload
def norm(
    a: AnyArray, ord: float | None = None, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    keepdims: bool = False, *, out: Out | None = None, device: str | Device | None = None,
    stream: Stream | None = None, as_device: bool | None = None, progress: Progress = None,
    exact: bool = False,
) -> Any: ...

def softmax_denominator(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, *, keepdims: bool = False,
    device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
) -> tuple[Any, Any]: ...

@overload
def all(
    a: AnyArray, axis: None = None, out: None = None, keepdims: Literal[False] = False, *,
    where: AnyArray = True, variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
    progress: Progress = None,
) -> np.bool_: ...

@overload
def all(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None, keepdims: bool = False,
    *, where: AnyArray = True, variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def all(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
    keepdims: bool = False, *, where: AnyArray = True, variant: str = "auto", device: Devices = None,
    block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
    as_device: Literal[True], progress: Progress = None,
) -> DeviceArray: ...

@overload
def all(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: Out | None = None,
    keepdims: bool = False, *, where: AnyArray = True, variant: str = "auto", device: Devices = None,
    block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
    as_device: bool | None = None, progress: Progress = None,
) -> Any: ...

@overload
def any(
    a: AnyArray, axis: None = None, out: None = None, keepdims: Literal[False] = False, *,
    where: AnyArray = True, variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
    progress: Progress = None,
) -> np.bool_: ...

@overload
def any(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], out: None = None, keepdims: bool = False,
    *, where: AnyArray = True, variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def any(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: None = None,
    keepdims: bool = False, *, where: AnyArray = True, variant: str = "auto", device: Devices = None,
    block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
    as_device: Literal[True], progress: Progress = None,
) -> DeviceArray: ...

@overload
def any(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, out: Out | None = None,
    keepdims: bool = False, *, where: AnyArray = True, variant: str = "auto", device: Devices = None,
    block_size: int | None = None, grid_size: int | None = None, stream: Stream | None = None,
    as_device: bool | None = None, progress: Progress = None,
) -> Any: ...

@overload
def count_nonzero(
    a: AnyArray, axis: None = None, *, keepdims: Literal[False] = False, variant: str = "auto",
    device: Devices = None, block_size: int | None = None, grid_size: int | None = None,
    stream: Stream | None = None, as_device: Literal[False] | None = None, progress: Progress = None,
) -> np.int64: ...

@overload
def count_nonzero(
    a: DeviceArray, axis: SupportsIndex | tuple[SupportsIndex, ...], *, keepdims: bool = False,
    variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def count_nonzero(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, *, keepdims: bool = False,
    variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True],
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def count_nonzero(
    a: AnyArray, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, *, keepdims: bool = False,
    variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: bool | None = None,
    progress: Progress = None,
) -> Any: ...

@overload
def argmax(
    a: AnyArray, axis: None = None, out: None = None, *, keepdims: Literal[False] = False,
    variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
    progress: Progress = None,
) -> np.int64: ...

@overload
def argmax(
    a: DeviceArray, axis: SupportsIndex, out: None = None, *, keepdims: bool = False, variant: str = "auto",
    device: Devices = None, block_size: int | None = None, grid_size: int | None = None,
    stream: Stream | None = None, as_device: Literal[True] | None = None, progress: Progress = None,
) -> DeviceArray: ...

@overload
def argmax(
    a: AnyArray, axis: SupportsIndex | None = None, out: None = None, *, keepdims: bool = False,
    variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True],
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def argmax(
    a: AnyArray, axis: SupportsIndex | None = None, out: Out | None = None, *, keepdims: bool = False,
    variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: bool | None = None,
    progress: Progress = None,
) -> Any: ...

@overload
def argmin(
    a: AnyArray, axis: None = None, out: None = None, *, keepdims: Literal[False] = False,
    variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
    progress: Progress = None,
) -> np.int64: ...

@overload
def argmin(
    a: DeviceArray, axis: SupportsIndex, out: None = None, *, keepdims: bool = False, variant: str = "auto",
    device: Devices = None, block_size: int | None = None, grid_size: int | None = None,
    stream: Stream | None = None, as_device: Literal[True] | None = None, progress: Progress = None,
) -> DeviceArray: ...

@overload
def argmin(
    a: AnyArray, axis: SupportsIndex | None = None, out: None = None, *, keepdims: bool = False,
    variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: Literal[True],
    progress: Progress = None,
) -> DeviceArray: ...

@overload
def argmin(
    a: AnyArray, axis: SupportsIndex | None = None, out: Out | None = None, *, keepdims: bool = False,
    variant: str = "auto", device: Devices = None, block_size: int | None = None,
    grid_size: int | None = None, stream: Stream | None = None, as_device: bool | None = None,
    progress: Progress = None,
) -> Any: ...

@overload
def cummax(
    a: NDArray[_AnyT], axis: SupportsIndex | None = None, out: None = None, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
) -> NDArray[_AnyT]: ...

@overload
def cummax(
    a: DeviceArray, axis: SupportsIndex | None = None, out: None = None, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
) -> DeviceArray: ...

@overload
def cummax(
    a: AnyArray, axis: SupportsIndex | None = None, out: None = None, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True],
) -> DeviceArray: ...

@overload
def cummax(
    a: AnyArray, axis: SupportsIndex | None = None, out: Out | None = None, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
) -> Any: ...

@overload
def cummin(
    a: NDArray[_AnyT], axis: SupportsIndex | None = None, out: None = None, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
) -> NDArray[_AnyT]: ...

@overload
def cummin(
    a: DeviceArray, axis: SupportsIndex | None = None, out: None = None, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
) -> DeviceArray: ...

@overload
def cummin(
    a: AnyArray, axis: SupportsIndex | None = None, out: None = None, *, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True],
) -> DeviceArray: ...

@overload
def cummin(
    a: AnyArray, axis: SupportsIndex | None = None, out: Out | None = None, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
) -> Any: ...

@overload
def cumprod(
    a: NDArray[_InexactT], axis: SupportsIndex | None = None, dtype: None = None, out: None = None, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
) -> NDArray[_InexactT]: ...

@overload
def cumprod(
    a: DeviceArray, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: None = None, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
) -> DeviceArray: ...

@overload
def cumprod(
    a: AnyArray, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: None = None, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
) -> DeviceArray: ...

@overload
def cumprod(
    a: AnyArray, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Out | None = None, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
) -> Any: ...

@overload
def cumsum(
    a: NDArray[_InexactT], axis: SupportsIndex | None = None, dtype: None = None, out: None = None, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
) -> NDArray[_InexactT]: ...

@overload
def cumsum(
    a: DeviceArray, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: None = None, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
) -> DeviceArray: ...

@overload
def cumsum(
    a: AnyArray, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: None = None, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
) -> DeviceArray: ...

@overload
def cumsum(
    a: AnyArray, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Out | None = None, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
) -> Any: ...

@overload
def cumulative_prod(
    a: NDArray[_InexactT], *, axis: SupportsIndex | None = None, dtype: None = None, out: None = None,
    include_initial: bool = False, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[False] | None = None,
) -> NDArray[_InexactT]: ...

@overload
def cumulative_prod(
    a: DeviceArray, *, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: None = None,
    include_initial: bool = False, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[True] | None = None,
) -> DeviceArray: ...

@overload
def cumulative_prod(
    a: AnyArray, *, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: None = None,
    include_initial: bool = False, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[True],
) -> DeviceArray: ...

@overload
def cumulative_prod(
    a: AnyArray, *, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Out | None = None,
    include_initial: bool = False, device: str | Device | None = None, stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any: ...

@overload
def cumulative_sum(
    a: NDArray[_InexactT], *, axis: SupportsIndex | None = None, dtype: None = None, out: None = None,
    include_initial: bool = False, variant: str = "auto", device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[False] | None = None, exact: bool = False,
) -> NDArray[_InexactT]: ...

@overload
def cumulative_sum(
    a: DeviceArray, *, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: None = None,
    include_initial: bool = False, variant: str = "auto", device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True] | None = None, exact: bool = False,
) -> DeviceArray: ...

@overload
def cumulative_sum(
    a: AnyArray, *, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: None = None,
    include_initial: bool = False, variant: str = "auto", device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True], exact: bool = False,
) -> DeviceArray: ...

@overload
def cumulative_sum(
    a: AnyArray, *, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Out | None = None,
    include_initial: bool = False, variant: str = "auto", device: str | Device | None = None,
    stream: Stream | None = None, as_device: bool | None = None, exact: bool = False,
) -> Any: ...

@overload
def nancumprod(
    a: NDArray[_InexactT], axis: SupportsIndex | None = None, dtype: None = None, out: None = None, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
) -> NDArray[_InexactT]: ...

@overload
def nancumprod(
    a: DeviceArray, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: None = None, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
) -> DeviceArray: ...

@overload
def nancumprod(
    a: AnyArray, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: None = None, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
) -> DeviceArray: ...

@overload
def nancumprod(
    a: AnyArray, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Out | None = None, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
) -> Any: ...

@overload
def nancumsum(
    a: NDArray[_InexactT], axis: SupportsIndex | None = None, dtype: None = None, out: None = None, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[False] | None = None,
) -> NDArray[_InexactT]: ...

@overload
def nancumsum(
    a: DeviceArray, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: None = None, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
) -> DeviceArray: ...

@overload
def nancumsum(
    a: AnyArray, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: None = None, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
) -> DeviceArray: ...

@overload
def nancumsum(
    a: AnyArray, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Out | None = None, *,
    device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
) -> Any: ...

@overload
def bincount(
    x: DeviceArray, weights: AnyArray | None = None, minlength: SupportsIndex = 0, *,
    size: SupportsIndex | None = None, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[True] | None = None,
) -> DeviceArray: ...

@overload
def bincount(
    x: AnyArray, weights: AnyArray | None = None, minlength: SupportsIndex = 0, *,
    size: SupportsIndex | None = None, device: str | Device | None = None, stream: Stream | None = None,
    as_device: Literal[True],
) -> DeviceArray: ...

@overload
def bincount(
    x: AnyArray, weights: AnyArray | None = None, minlength: SupportsIndex = 0, *,
    size: SupportsIndex | None = None, device: str | Device | None = None, stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any: ...

@overload
def group_reduce(
    a: DeviceArray, labels: AnyArray, op: str = "sum", num_groups: SupportsIndex | None = None, *,
    axis: SupportsIndex = 0, out: None = None, ddof: float = 0, where: AnyArray | bool = True,
    weights: AnyArray | None = None, q: float | None = None, variant: str = "auto",
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
    exact: bool = False,
) -> DeviceArray: ...

@overload
def group_reduce(
    a: AnyArray, labels: AnyArray, op: str = "sum", num_groups: SupportsIndex | None = None, *,
    axis: SupportsIndex = 0, out: None = None, ddof: float = 0, where: AnyArray | bool = True,
    weights: AnyArray | None = None, q: float | None = None, variant: str = "auto",
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
    exact: bool = False,
) -> DeviceArray: ...

@overload
def group_reduce(
    a: AnyArray, labels: AnyArray, op: str = "sum", num_groups: SupportsIndex | None = None, *,
    axis: SupportsIndex = 0, out: Out | None = None, ddof: float = 0, where: AnyArray | bool = True,
    weights: AnyArray | None = None, q: float | None = None, variant: str = "auto",
    device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
    exact: bool = False,
) -> Any: ...

@overload
def reduceat(
    a: DeviceArray, indices: AnyArray, op: str = "sum", *, axis: SupportsIndex = 0,
    dtype: DTypeLike | None = None, out: None = None, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True] | None = None, exact: bool = False,
) -> DeviceArray: ...

@overload
def reduceat(
    a: AnyArray, indices: AnyArray, op: str = "sum", *, axis: SupportsIndex = 0,
    dtype: DTypeLike | None = None, out: None = None, device: str | Device | None = None,
    stream: Stream | None = None, as_device: Literal[True], exact: bool = False,
) -> DeviceArray: ...

@overload
def reduceat(
    a: AnyArray, indices: AnyArray, op: str = "sum", *, axis: SupportsIndex = 0,
    dtype: DTypeLike | None = None, out: Out | None = None, device: str | Device | None = None,
    stream: Stream | None = None, as_device: bool | None = None, exact: bool = False,
) -> Any: ...

@overload
def segment_reduce(
    a: DeviceArray, offsets: AnyArray, op: str = "sum", *, axis: SupportsIndex = 0, out: None = None,
    ddof: float = 0, where: AnyArray | bool = True, weights: AnyArray | None = None, q: float | None = None,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True] | None = None,
    exact: bool = False,
) -> DeviceArray: ...

@overload
def segment_reduce(
    a: AnyArray, offsets: AnyArray, op: str = "sum", *, axis: SupportsIndex = 0, out: None = None,
    ddof: float = 0, where: AnyArray | bool = True, weights: AnyArray | None = None, q: float | None = None,
    device: str | Device | None = None, stream: Stream | None = None, as_device: Literal[True],
    exact: bool = False,
) -> DeviceArray: ...

@overload
def segment_reduce(
    a: AnyArray, offsets: AnyArray, op: str = "sum", *, axis: SupportsIndex = 0, out: Out | None = None,
    ddof: float = 0, where: AnyArray | bool = True, weights: AnyArray | None = None, q: float | None = None,
    device: str | Device | None = None, stream: Stream | None = None, as_device: bool | None = None,
    exact: bool = False,
) -> Any: ...
