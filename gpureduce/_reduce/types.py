"""Types of arguments, for type checkers; not imported at run time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, SupportsIndex, TypeAlias, TypedDict

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gpureduce._device.devices import Device
from gpureduce._reduce.progress import Progress


class _SupportsDLPack(Protocol):
    def __dlpack__(self, *, stream: Any = ...) -> Any: ...
    def __dlpack_device__(self) -> tuple[Any, Any]: ...


class _SupportsCudaArrayInterface(Protocol):
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


class _InParts(Protocol):
    """Stands for `gpureduce.Sharded`, which is in a higher layer."""

    @property
    def parts(self) -> tuple[Any, ...]: ...
    @property
    def axis(self) -> int: ...


class _CudaStream(Protocol):
    @property
    def __cuda_stream__(self) -> Any: ...


class _TorchStream(Protocol):
    @property
    def cuda_stream(self) -> int: ...


class _CupyStream(Protocol):
    @property
    def ptr(self) -> int: ...


_OnDevice: TypeAlias = _SupportsDLPack | _SupportsCudaArrayInterface
AnyArray: TypeAlias = ArrayLike | _OnDevice | _InParts
Out: TypeAlias = np.ndarray[Any, Any] | _OnDevice
Scalar: TypeAlias = complex | np.generic
Devices: TypeAlias = str | Device | Sequence[str | Device] | None
Stream: TypeAlias = SupportsIndex | _CudaStream | _TorchStream | _CupyStream


class CommonOptions(TypedDict, total=False):
    """The keyword arguments that NumPy does not have."""

    variant: str
    device: Devices
    block_size: int | None
    grid_size: int | None
    stream: Stream | None
    as_device: bool | None
    progress: Progress


class Arguments(CommonOptions, total=False):
    """Arguments of all reductions of one array, except the axis."""

    dtype: DTypeLike | None
    out: Out | None
    keepdims: bool
    initial: Scalar | None
    where: AnyArray
    exact: bool
