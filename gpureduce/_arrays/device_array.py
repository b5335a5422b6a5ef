"""Arrays on a device: our own, and views of other libraries' arrays."""

from __future__ import annotations

import math
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays import array_repr
from gpureduce._arrays.copies import is_packed, to_host
from gpureduce._arrays.elements import Elements
from gpureduce._arrays.numbers import Numbers
from gpureduce._arrays.reductions import Reductions
from gpureduce._arrays.views import Views
from gpureduce._device.devices import LEGACY_STREAM, Device, resolve
from gpureduce._rules.arguments import as_array, flag, integer
from gpureduce._rules.dtypes import dtype_name, dtype_of, is_supported

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

# DLPack's device types.
CPU, CUDA, EXTENSION = 1, 2, 12
DLPACK_VERSION = (1, 0)
MAX_BYTES = 2**63 - 1


def stream_of(array: object, index: int) -> object:
    """Return the stream on which another library uses its array, if known."""
    # CuPy returns a stream of the current device. The kernel is already queued, so an exception is ignored.
    try:
        interface = _core.call_on(index, partial(getattr, array, "__cuda_array_interface__", None))
    except Exception:
        return None
    return interface.get("stream") if type(interface) is dict else None


class DeviceView(Elements):
    """View of another library's array on a device, and the object that keeps its memory alive.

    Attributes
    ----------
    _pointer : int
        The address of the first element; 0 when there is none.
    shape, strides : tuple of int
        As in NumPy; strides are in bytes, and meaningless for axes of length 0 or 1.
    dtype : numpy.dtype
        Of the elements.
    _kind, _index : int
        Device, in the numbering of the core.
    _read_only : bool
        Whether the producer forbids writing.
    _owner : object
        Object that keeps the memory alive.
    _producer : object
        The other library's array.
    stream : int or None
        CUDA stream on which the elements are valid; None if no ordering is needed.
    _says_stream : bool
        Whether the library keeps using that stream; otherwise it must be asked.
    """

    __slots__ = (
        *("__weakref__", "_index", "_kind", "_owner", "_pointer", "_producer", "_read_only", "_says_stream"),
        *("dtype", "shape", "stream", "strides"),
    )

    _pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    _kind: int
    _index: int
    stream: int | None
    _read_only: bool
    _owner: object
    _producer: object
    _says_stream: bool

    def _next_stream(self) -> int | None:
        """Return the stream that its library uses next, if known."""
        known = self._says_stream or self._producer is None
        stream = self.stream if known else stream_of(self._producer, self._index)
        return stream if type(stream) is int and stream >= 0 else None


class DeviceArray(_core.Array, Views, Numbers, Reductions):
    """An array in device memory, or a view of one.

    `to_device` creates one, and reductions along an axis of device arrays return one. Other libraries use it
    without a copy through DLPack or ``__cuda_array_interface__`` (``torch.from_dlpack(a)``,
    ``cupy.asarray(a)``, ``jax.dlpack.from_dlpack(a)``); ``numpy()`` copies it to host memory. The memory is
    freed with the last array or view of it.

    Basic indexing (integers, slices, ``...`` and None), ``reshape``, ``T``, ``transpose``, ``swapaxes`` and
    ``squeeze`` return views. All reductions are also methods, and read views without a copy. There are no
    arithmetic operators; use CuPy or PyTorch for these.

    An array belongs to a CUDA stream: the stream of the call that created it, or the legacy default stream
    for `to_device`; a view belongs to the stream of its array. Its elements are valid for work queued on that
    stream later, and reductions of it run on that stream unless ``stream=`` is given. DLPack and
    ``__cuda_array_interface__`` pass the stream to other libraries. Printing an array, and any copy to host
    memory, synchronizes.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> a = gpureduce.to_device(np.arange(6.0).reshape(2, 3), device="sim")
    >>> a.shape, a.dtype, a.nbytes, a.device
    ((2, 3), dtype('float64'), 48, 'sim')
    >>> a.sum(axis=0)
    DeviceArray([3., 5., 7.], dtype=float64, device='sim')
    >>> a[:, ::2].T
    DeviceArray([[0., 3.],
                 [2., 5.]], dtype=float64, device='sim')
    >>> a[1].max(), a[1, 2].item()
    (np.float64(5.0), 5.0)
    >>> gpureduce.sum(a, axis=0).numpy()
    array([3., 5., 7.])
    """

    __slots__ = ()

    _read_only = False
    _producer = None

    @property
    def _owner(self) -> DeviceArray:
        """The array that owns the memory: this one."""
        return self

    def _next_stream(self) -> int:
        """Return the stream to which the array belongs."""
        return self.stream

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return a copy in host memory.

        Returns
        -------
        numpy.ndarray
        """
        return to_host(self)

    def to_device(self, device: str | Device, /, *, stream: Any = None) -> DeviceArray:
        """Return the array on a device: the array itself, or a copy if it is elsewhere.

        Parameters
        ----------
        device : str or Device
            ``"cuda"``, ``"cuda:<number>"`` or ``"sim"``.
        stream : int or stream object, optional
            CUDA stream of that device to which a copy belongs, as for `sum`. Default: the legacy default
            stream.

        Returns
        -------
        DeviceArray

        Raises
        ------
        TypeError, ValueError
            If `device` is not a device, or its name is unknown.
        DeviceError
            If the device does not exist.

        Examples
        --------
        >>> import gpureduce
        >>> a = gpureduce.to_device([1.0, 2.0], device="sim")
        >>> a.to_device("sim") is a
        True
        """
        if device is None:
            raise TypeError("device: expected str or Device, got None")
        return to_device(self, device, LEGACY_STREAM if stream is None else stream)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        raise TypeError(
            "a DeviceArray is not converted to a NumPy array implicitly; call .numpy() to copy it"
        )

    def __repr__(self) -> str:
        return array_repr.as_repr(self)

    def __str__(self) -> str:
        return array_repr.as_text(self)

    def _repr_html_(self) -> str:
        return array_repr.as_html(self)

    def __reduce__(self) -> tuple:
        # An unpickled array has its own memory; a view is copied without the rest of its array.
        return (to_device, (self.numpy(), self.device))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3 of the CUDA Array Interface."""
        if self._kind != _core.CUDA:
            raise AttributeError(
                "__cuda_array_interface__: the array is on the simulator, not on a CUDA device"
            )
        if self.dtype.kind not in "biufc":
            raise AttributeError(f"__cuda_array_interface__: {self.dtype} is not supported; use DLPack")
        self._share()
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._pointer, False),
            "strides": None if is_packed(self) else self.strides,
            "version": 3,
            "stream": self.stream,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's device type and number; the simulator has the type for extensions.

        Returns
        -------
        tuple of int
        """
        return (CUDA if self._kind == _core.CUDA else EXTENSION, self._index)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Export the array as a DLPack capsule, for ``from_dlpack`` of another library.

        Parameters
        ----------
        stream : int, optional
            CUDA stream that the consumer will use: 1 or None for the legacy default stream, 2 for the
            per-thread default stream, -1 for no synchronization, otherwise a handle.
        max_version : tuple of int, optional
            Latest DLPack version that the consumer supports; from (1, 0) on, the capsule is versioned.
        dl_device : tuple of int, optional
            Device on which the consumer wants the elements: the array's device, or the CPU, ``(1, 0)``.
        copy : bool, optional
            True always copies, False never. Default: copy only if needed, for a view with a negative stride.

        Returns
        -------
        capsule

        Raises
        ------
        BufferError
            If `dl_device` is neither, if ``copy=False`` but a copy is needed (for the CPU, or a negative
            stride), or if the array is on the simulator, whose addresses other libraries cannot use, and
            `dl_device` is not the CPU.
        ValueError
            If `stream` is 0, which is ambiguous, or less than -1.
        """
        for name, pair in (("max_version", max_version), ("dl_device", dl_device)):
            if pair is not None and not (isinstance(pair, (tuple, list)) and len(pair) == 2):
                raise TypeError(f"{name}: expected a tuple of two integers, got {pair!r}")
        copy = None if copy is None else flag(copy, "copy")
        versioned = max_version is not None and integer(max_version[0], "max_version") >= DLPACK_VERSION[0]
        if dl_device is not None and tuple(dl_device) == (CPU, 0):
            if copy is False:
                raise BufferError("copy: an array on a device can be exported to the CPU only as a copy")
            host = self.numpy()
            return _export(host, host.ctypes.data if host.size else 0, (CPU, 0), versioned, True)
        if self._kind != _core.CUDA:
            raise BufferError(
                "DLPack: the array is on the simulator, whose addresses other libraries cannot use; "
                "call .numpy(), or pass dl_device=(1, 0) for a copy on the CPU"
            )
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"dl_device: the array is on {self.device}, not on DLPack device {dl_device}")
        if any(stride < 0 and length > 1 for stride, length in zip(self.strides, self.shape, strict=True)):
            # DLPack allows them, but PyTorch aborts the process:
            # https://github.com/pytorch/pytorch/issues/188023
            if copy is False:
                raise BufferError("copy: a view with a negative stride can be exported only as a copy")
            copy = True
        array = self.copy() if copy else self
        array._finish_for(stream)
        return _export(array, array._pointer, array.__dlpack_device__(), versioned, bool(copy))

    def _finish_for(self, stream: int | None) -> None:
        """Order work of a consumer on `stream` after the writes to the array."""
        stream = None if stream is None else integer(stream, "stream")
        if stream is not None and (stream == 0 or stream < -1):
            raise ValueError(f"DLPack: stream {stream} is not valid; 1 is the legacy default stream")
        consumer = LEGACY_STREAM if stream is None else stream
        self._share()  # the consumer may use it in streams that DLPack does not name
        if consumer not in (-1, self.stream):
            _core.stream_order(self._kind, self._index, self.stream, consumer)


def _export(array, pointer: int, device: tuple[int, int], versioned: bool, copied: bool) -> Any:
    shape, name = array.shape, array.dtype.name
    return _core.dlpack_export(array, pointer, shape, name, *device, versioned, copied, array.strides)


def checked_dtype(dtype: np.dtype, name: str = "dtype") -> np.dtype:
    """Return the dtype if devices support it, else raise TypeError."""
    if not is_supported(dtype):
        raise TypeError(f"{name}: dtype {dtype} is not supported on a device")
    return dtype


def to_device(
    a: ArrayLike, device: str | Device | None = None, stream: object = LEGACY_STREAM
) -> DeviceArray:
    """Copy a host array or a `DeviceArray` to a device, where it belongs to a stream."""
    if isinstance(a, DeviceArray):
        if device is None or resolve(device) == (a._kind, a._index):
            return a
        a = a.numpy()
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(a, masked.MaskedArray):
        raise TypeError("a: masked arrays are not supported; pass a.filled(0) or a.compressed()")
    host = as_array(a, "a")
    dtype = checked_dtype(host.dtype, "a").newbyteorder("=")
    out = empty(host.shape, dtype, *resolve(device), stream)
    if out.size:
        elements = np.asarray(host, dtype, order="C")
        _core.device_write(out._kind, out._index, out._pointer, elements, out.stream)
    return out


_core.array_class(DeviceArray)


def empty(
    shape: tuple[int, ...], dtype: DTypeLike, kind: int, index: int, stream: object = LEGACY_STREAM
) -> DeviceArray:
    """Return an uninitialized array on a device.

    Parameters
    ----------
    shape : tuple of int
        Of the array.
    dtype : dtype_like
        Of its elements.
    kind, index : int
        Device, in the numbering of the core.
    stream : int or object
        The stream that it belongs to, as ``stream=`` takes it.

    Returns
    -------
    DeviceArray
    """
    dtype = checked_dtype(dtype_of(dtype))
    shape = tuple(integer(length, "shape") for length in shape)
    if any(length < 0 for length in shape):
        raise ValueError(f"negative lengths are not allowed: shape {shape}")
    if math.prod(shape) * dtype.itemsize > MAX_BYTES:
        raise ValueError(f"an array of shape {shape} and dtype {dtype} is too large")
    return _core.array_empty(shape, dtype_name(dtype), kind, index, stream)
