"""Common attributes of arrays on devices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gpureduce._device.devices import device_name
from gpureduce._rules.dtypes import dtype_name

if TYPE_CHECKING:
    import numpy as np


class Elements:
    """Base of `DeviceArray` and `DeviceView`: shape, size, device."""

    __slots__ = ()

    if TYPE_CHECKING:  # defined by each class

        @property
        def _pointer(self) -> int: ...
        @property
        def shape(self) -> tuple[int, ...]: ...
        @property
        def strides(self) -> tuple[int, ...]: ...
        @property
        def dtype(self) -> np.dtype[Any]: ...
        @property
        def _kind(self) -> int: ...
        @property
        def _index(self) -> int: ...
        @property
        def stream(self) -> int | None: ...

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Size of one element in bytes."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Size of all elements in bytes."""
        return self.size * self.dtype.itemsize

    @property
    def device(self) -> str:
        """The device as text: ``"cuda:0"``, ``"sim"``."""
        return device_name(self._kind, self._index)

    def _view_tuple(self) -> tuple[int, tuple[int, ...], tuple[int, ...], str]:
        """Return pointer, shape, strides in bytes and dtype name, which the core takes for an array."""
        return (self._pointer, self.shape, self.strides, dtype_name(self.dtype))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape}, dtype={self.dtype}, device={self.device!r})"
