"""The public bitwise reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpureduce._reduce.engine import reduction
from gpureduce._reduce.fast_path import fast_path
from gpureduce._reduce.options import Options
from gpureduce._reduce.progress import Progress
from gpureduce._rules.arguments import NO_VALUE

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import DTypeLike

    from gpureduce._reduce.types import AnyArray, Devices, Out, Scalar, Stream


@fast_path
def bitwise_and(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    keepdims: bool = False,
    initial: Scalar | None = NO_VALUE,
    where: AnyArray = True,
    *,
    variant: str = "auto",
    device: Devices = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the bitwise AND of integers or bools.

    Parameters
    ----------
    a : array_like or device array
        Input array of any shape, strides, byte order and alignment: a NumPy array, or anything that
        `numpy.asarray` accepts, or an array on a device, which is read there without a copy (a `DeviceArray`,
        or another library's array that supports DLPack or ``__cuda_array_interface__``). Subclasses such as
        ``numpy.matrix`` are treated as plain arrays; masked arrays raise TypeError.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    dtype : dtype_like, optional
        Data type of the accumulator and of the result. Default: as in NumPy. For an array on a device, the
        cast makes a temporary copy there.
    out : numpy.ndarray or device array, optional
        Output array of the shape of the result; it is also returned. A host array may have any dtype to which
        NumPy would cast the result; an array on a device must have the result's dtype and C order.
    keepdims : bool
        True keeps the reduced axes with length one, so that the result broadcasts against `a`.
    initial : scalar, optional
        Starting value of the reduction, which counts as one more element.
    where : array_like of bool
        Elements to include, broadcast to the shape of `a`. For an array on a device, the mask may be on that
        device or in host memory; for a host array, in host memory only.
    variant : str
        Kernel to run: ``"auto"``, or the name of one of `variants`, which reduces whole arrays only, with the
        operators and dtypes in its ``coverage``.
    device : str, Device or list of them, optional
        Device that runs the call: ``"cuda"``, ``"cuda:1"`` or ``"sim"``. Default: the device of `a`, or for a
        host array the default device (see `set_default_device`): without a setting, the first CUDA device, or
        the simulator with a `SimulatorWarning` if there is none. A list, or ``"cuda:all"``, splits a host
        array across several devices: see docs/how-to/several-gpus.md.
    block_size, grid_size : int, optional
        Threads per block, and blocks of the first launch. Only for a named variant. Default: chosen by the
        variant.
    stream : int or object, optional
        CUDA stream to work on: an integer handle, or an object that has one (``torch.cuda.Stream``,
        ``cupy.cuda.Stream``, anything with ``__cuda_stream__``). Default: the stream of the first argument on
        a device, which is its library's current stream, or the stream of a `DeviceArray`. The call is ordered
        after the work already queued on this stream and on the streams of the other arguments. The host
        synchronizes only when a result is returned to host memory. See docs/explanation/streams.md.
    as_device : bool, optional
        True leaves the result on the device, as a `DeviceArray`; False copies it to host memory. Default:
        True if `a` is on a device and `axis` is given.
    progress : callable or bool, optional
        Called as ``progress(done, total)``, in bytes, about every 50 ms while a large host array is copied to
        the device, and at the end. An exception that it raises stops the call. True shows a progress bar
        (tqdm's, if installed). Only a contiguous host array that is reduced as a whole is copied in chunks:
        other calls report nothing, and a named variant raises ValueError.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    By default all axes are reduced, whereas ``numpy.ufunc.reduce`` reduces axis 0. The result for an empty
    array has all bits set.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.bitwise_and([0b111, 0b110], device="sim")
    np.int64(6)
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return reduction(
        "bitwise_and",
        a,
        options,
        axis=axis,
        dtype=dtype,
        out=out,
        keepdims=keepdims,
        initial=initial,
        where=where,
    )


@fast_path
def bitwise_or(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    keepdims: bool = False,
    initial: Scalar | None = NO_VALUE,
    where: AnyArray = True,
    *,
    variant: str = "auto",
    device: Devices = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the bitwise OR of integers or bools.

    Parameters
    ----------
    a : array_like or device array
        Input array of any shape, strides, byte order and alignment: a NumPy array, or anything that
        `numpy.asarray` accepts, or an array on a device, which is read there without a copy (a `DeviceArray`,
        or another library's array that supports DLPack or ``__cuda_array_interface__``). Subclasses such as
        ``numpy.matrix`` are treated as plain arrays; masked arrays raise TypeError.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    dtype : dtype_like, optional
        Data type of the accumulator and of the result. Default: as in NumPy. For an array on a device, the
        cast makes a temporary copy there.
    out : numpy.ndarray or device array, optional
        Output array of the shape of the result; it is also returned. A host array may have any dtype to which
        NumPy would cast the result; an array on a device must have the result's dtype and C order.
    keepdims : bool
        True keeps the reduced axes with length one, so that the result broadcasts against `a`.
    initial : scalar, optional
        Starting value of the reduction, which counts as one more element.
    where : array_like of bool
        Elements to include, broadcast to the shape of `a`. For an array on a device, the mask may be on that
        device or in host memory; for a host array, in host memory only.
    variant : str
        Kernel to run: ``"auto"``, or the name of one of `variants`, which reduces whole arrays only, with the
        operators and dtypes in its ``coverage``.
    device : str, Device or list of them, optional
        Device that runs the call: ``"cuda"``, ``"cuda:1"`` or ``"sim"``. Default: the device of `a`, or for a
        host array the default device (see `set_default_device`): without a setting, the first CUDA device, or
        the simulator with a `SimulatorWarning` if there is none. A list, or ``"cuda:all"``, splits a host
        array across several devices: see docs/how-to/several-gpus.md.
    block_size, grid_size : int, optional
        Threads per block, and blocks of the first launch. Only for a named variant. Default: chosen by the
        variant.
    stream : int or object, optional
        CUDA stream to work on: an integer handle, or an object that has one (``torch.cuda.Stream``,
        ``cupy.cuda.Stream``, anything with ``__cuda_stream__``). Default: the stream of the first argument on
        a device, which is its library's current stream, or the stream of a `DeviceArray`. The call is ordered
        after the work already queued on this stream and on the streams of the other arguments. The host
        synchronizes only when a result is returned to host memory. See docs/explanation/streams.md.
    as_device : bool, optional
        True leaves the result on the device, as a `DeviceArray`; False copies it to host memory. Default:
        True if `a` is on a device and `axis` is given.
    progress : callable or bool, optional
        Called as ``progress(done, total)``, in bytes, about every 50 ms while a large host array is copied to
        the device, and at the end. An exception that it raises stops the call. True shows a progress bar
        (tqdm's, if installed). Only a contiguous host array that is reduced as a whole is copied in chunks:
        other calls report nothing, and a named variant raises ValueError.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    By default all axes are reduced, whereas ``numpy.ufunc.reduce`` reduces axis 0.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.bitwise_or([[1, 2], [4, 8]], axis=0, device="sim")
    array([ 5, 10])
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return reduction(
        "bitwise_or",
        a,
        options,
        axis=axis,
        dtype=dtype,
        out=out,
        keepdims=keepdims,
        initial=initial,
        where=where,
    )


@fast_path
def bitwise_xor(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    keepdims: bool = False,
    initial: Scalar | None = NO_VALUE,
    where: AnyArray = True,
    *,
    variant: str = "auto",
    device: Devices = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the bitwise XOR of integers or bools.

    Parameters
    ----------
    a : array_like or device array
        Input array of any shape, strides, byte order and alignment: a NumPy array, or anything that
        `numpy.asarray` accepts, or an array on a device, which is read there without a copy (a `DeviceArray`,
        or another library's array that supports DLPack or ``__cuda_array_interface__``). Subclasses such as
        ``numpy.matrix`` are treated as plain arrays; masked arrays raise TypeError.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    dtype : dtype_like, optional
        Data type of the accumulator and of the result. Default: as in NumPy. For an array on a device, the
        cast makes a temporary copy there.
    out : numpy.ndarray or device array, optional
        Output array of the shape of the result; it is also returned. A host array may have any dtype to which
        NumPy would cast the result; an array on a device must have the result's dtype and C order.
    keepdims : bool
        True keeps the reduced axes with length one, so that the result broadcasts against `a`.
    initial : scalar, optional
        Starting value of the reduction, which counts as one more element.
    where : array_like of bool
        Elements to include, broadcast to the shape of `a`. For an array on a device, the mask may be on that
        device or in host memory; for a host array, in host memory only.
    variant : str
        Kernel to run: ``"auto"``, or the name of one of `variants`, which reduces whole arrays only, with the
        operators and dtypes in its ``coverage``.
    device : str, Device or list of them, optional
        Device that runs the call: ``"cuda"``, ``"cuda:1"`` or ``"sim"``. Default: the device of `a`, or for a
        host array the default device (see `set_default_device`): without a setting, the first CUDA device, or
        the simulator with a `SimulatorWarning` if there is none. A list, or ``"cuda:all"``, splits a host
        array across several devices: see docs/how-to/several-gpus.md.
    block_size, grid_size : int, optional
        Threads per block, and blocks of the first launch. Only for a named variant. Default: chosen by the
        variant.
    stream : int or object, optional
        CUDA stream to work on: an integer handle, or an object that has one (``torch.cuda.Stream``,
        ``cupy.cuda.Stream``, anything with ``__cuda_stream__``). Default: the stream of the first argument on
        a device, which is its library's current stream, or the stream of a `DeviceArray`. The call is ordered
        after the work already queued on this stream and on the streams of the other arguments. The host
        synchronizes only when a result is returned to host memory. See docs/explanation/streams.md.
    as_device : bool, optional
        True leaves the result on the device, as a `DeviceArray`; False copies it to host memory. Default:
        True if `a` is on a device and `axis` is given.
    progress : callable or bool, optional
        Called as ``progress(done, total)``, in bytes, about every 50 ms while a large host array is copied to
        the device, and at the end. An exception that it raises stops the call. True shows a progress bar
        (tqdm's, if installed). Only a contiguous host array that is reduced as a whole is copied in chunks:
        other calls report nothing, and a named variant raises ValueError.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    By default all axes are reduced, whereas ``numpy.ufunc.reduce`` reduces axis 0.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.bitwise_xor([0b111, 0b110], device="sim")
    np.int64(1)
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return reduction(
        "bitwise_xor",
        a,
        options,
        axis=axis,
        dtype=dtype,
        out=out,
        keepdims=keepdims,
        initial=initial,
        where=where,
    )
