"""The public reductions to variances and higher moments."""

from __future__ import annotations

import struct
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.operand import Operand, intake
from gpureduce._reduce.engine import run
from gpureduce._reduce.options import Options, refuse_variant
from gpureduce._reduce.progress import Progress
from gpureduce._reduce.several import several
from gpureduce._reduce.target import Target
from gpureduce._rules import arguments as rules
from gpureduce._rules import dtypes
from gpureduce._rules.arguments import NO_VALUE
from gpureduce._rules.callers import outside_level

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import DTypeLike

    from gpureduce._reduce.types import AnyArray, Devices, Out, Stream

_ROOT, _SKIP = 1, 2  # as in cuda_kernels/include/variance.cuh


def spread(
    op: str,
    a: Any,
    options: Options,
    axis: Any,
    dtype: Any,
    out: Any,
    ddof: Any,
    keepdims: Any,
    where: Any,
    correction: Any,
) -> Any:
    """Reduce by a variance or its root."""
    if correction is not NO_VALUE:
        if ddof != 0:
            raise ValueError("correction: is another name of ddof=; give one of them")
        ddof = correction
    operand = intake(a, options.device)
    refuse_variant(axis)
    axes = rules.reduced_axes(axis, len(operand.shape), scalar_axis=False)
    target = Target(out, options, operand, axis, operand.shape, axes, keepdims)
    mask = None
    if where is not True:
        mask = target.take_mask(where, operand)
    if options.record is not None:
        raise ValueError(f"variant: {options.record.name} does not cover {op}; 'auto' does")
    operand = _in_dtype(op, operand, dtype, target)
    target.follow_others()
    place = target.core_out(dtypes.core_dtype(op, operand.dtype))
    parameter = _parameter(ddof, root=op.endswith("std"), skip=op.startswith("nan"))
    result = run(op, operand, axes, mask, None, place, options.progress, target.stream, parameter)
    if not target.on_device:
        _warn_of_few(result, operand, axes, mask, ddof)
    return target.store(result)


def _in_dtype(op: str, operand: Operand, dtype: Any, target: Target) -> Operand:
    """Return the elements in the dtype that is asked for, which becomes that of the result."""
    if dtype is None:
        target.set_dtype(dtypes.core_dtype(op, operand.dtype))
        return operand
    wanted = np.dtype(dtype)
    dtypes.require_supported(wanted, "dtype")
    if wanted.kind in "biu" or not wanted.isnative:
        raise TypeError(f"dtype: expected floating or complex numbers in native byte order, got {wanted}")
    target.set_dtype(wanted)
    return operand if dtypes.core_dtype(op, operand.dtype) == wanted else operand.cast(wanted)


def _parameter(ddof: Any, root: bool, skip: bool) -> int:
    """Return what the kernels get: the bits of ddof, the last two of which are switches."""
    (bits,) = struct.unpack("Q", struct.pack("d", ddof))
    return bits & ~3 | root * _ROOT | skip * _SKIP


def _warn_of_few(
    result: Any, operand: Operand, axes: tuple[int, ...], mask: Operand | None, ddof: Any
) -> None:
    """Warn where results are of too few elements: they are not finite then."""
    if mask is None:
        few = ddof >= rules.reduced_count(operand.shape, axes)
    else:
        doubtful = not _core.all_finite(result)
        counts: Any = run("count_nonzero", mask, axes) if doubtful else np.inf
        few = bool((ddof >= counts).any()) if doubtful else False
    if few:
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=outside_level())


@several
def var(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: AnyArray = True,
    correction: float = NO_VALUE,
    variant: str = "auto",
    device: Devices = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the variance.

    Parameters
    ----------
    a : array_like or device array
        A NumPy array of any shape, strides, byte order and alignment, whatever `numpy.asarray` takes, or an
        array on a device: a `DeviceArray`, or one that speaks DLPack or ``__cuda_array_interface__``, which
        is read where it lies. Subclasses such as ``numpy.matrix`` are read as plain arrays; masked arrays are
        refused.
    axis : int or tuple of int, optional
        The axes to reduce; None reduces all.
    dtype : dtype_like, optional
        Elements are cast to it, added up in it, and it is the result's. None takes NumPy's choice. A device
        array is not cast.
    out : numpy.ndarray or device array, optional
        Where the result goes; it is returned. An array of the host is cast to, as NumPy does; one on a device
        must have the result's dtype and C order.
    ddof : float
        What is taken off the number of elements before it divides: 0 of all there are, 1 of a sample.
    keepdims : bool
        Whether reduced axes stay, with length one.
    where : array_like of bool
        Which elements take part; broadcast to the shape of `a`.
    correction : float, optional
        The array API's name of `ddof`.
    variant : str
        The kernel: ``"auto"``, or one of `variants` where its record covers the operator, for a whole array.
    device : str, Device or list of them, optional
        ``"cuda"``, ``"cuda:1"`` or ``"sim"``. None takes the device on which `a` lies; for `a` of the host
        the first CUDA device or, when there is none, the simulator, with one `SimulatorWarning`. A list, or
        ``"cuda:all"``, spreads an array of the host over several: see docs/states.md.
    block_size, grid_size : int, optional
        Threads a block, and blocks of the first pass; with a named variant only.
    stream : int or object, optional
        The CUDA stream to work in: a handle, or an object that has one (``torch.cuda.Stream``,
        ``cupy.cuda.Stream``, anything with ``__cuda_stream__``). None takes the current one of the library of
        the first array on a device, or that of a `DeviceArray`. The call comes after what is in it and in the
        streams of the arrays; the host waits only for results that it gets. See docs/streams.md.
    as_device : bool, optional
        Whether the result stays on the device, as a `DeviceArray`. None leaves it there when `a` lies there
        and `axis` is given.
    progress : callable or bool, optional
        Called as ``progress(done, total)``, in bytes, every 50 ms or so while a long array of the host is on
        its way to the device, and at its end; an exception that it raises stops the call. True shows a bar,
        tqdm's where that is installed. Only whole contiguous arrays go in steps: other calls do not report,
        and a named variant, which takes the array in one piece, refuses it.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    The elements are read once: threads keep sums about points of their own, merged as by T. F. Chan, G. H.
    Golub and R. J. LeVeque, "Algorithms for computing the sample variance" (1983), so that a large mean costs
    no digits: see docs/moments.md. Result dtypes are those of `numpy.var`; halves are computed in float32,
    float32 in float32 and float64, and everything else in float64. Of complex numbers it is the mean of
    squared distances, and real.

    Where `ddof` is not less than the number of elements NumPy's RuntimeWarning comes, and NaN or infinity;
    without the warning where the result stays on the device.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.var(np.array([1.0, 2.0, 4.0]) + 1e8, ddof=1, device="sim")
    np.float64(2.3333333333333335)
    >>> gpureduce.var([[1.0, 2.0], [3.0, 6.0]], axis=0, device="sim")
    array([1., 4.])
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return spread("var", a, options, axis, dtype, out, ddof, keepdims, where, correction)


@several
def std(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: AnyArray = True,
    correction: float = NO_VALUE,
    variant: str = "auto",
    device: Devices = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the standard deviation.

    Parameters
    ----------
    a : array_like or device array
        A NumPy array of any shape, strides, byte order and alignment, whatever `numpy.asarray` takes, or an
        array on a device: a `DeviceArray`, or one that speaks DLPack or ``__cuda_array_interface__``, which
        is read where it lies. Subclasses such as ``numpy.matrix`` are read as plain arrays; masked arrays are
        refused.
    axis : int or tuple of int, optional
        The axes to reduce; None reduces all.
    dtype : dtype_like, optional
        Elements are cast to it, added up in it, and it is the result's. None takes NumPy's choice. A device
        array is not cast.
    out : numpy.ndarray or device array, optional
        Where the result goes; it is returned. An array of the host is cast to, as NumPy does; one on a device
        must have the result's dtype and C order.
    ddof : float
        What is taken off the number of elements before it divides: 0 of all there are, 1 of a sample.
    keepdims : bool
        Whether reduced axes stay, with length one.
    where : array_like of bool
        Which elements take part; broadcast to the shape of `a`.
    correction : float, optional
        The array API's name of `ddof`.
    variant : str
        The kernel: ``"auto"``, or one of `variants` where its record covers the operator, for a whole array.
    device : str, Device or list of them, optional
        ``"cuda"``, ``"cuda:1"`` or ``"sim"``. None takes the device on which `a` lies; for `a` of the host
        the first CUDA device or, when there is none, the simulator, with one `SimulatorWarning`. A list, or
        ``"cuda:all"``, spreads an array of the host over several: see docs/states.md.
    block_size, grid_size : int, optional
        Threads a block, and blocks of the first pass; with a named variant only.
    stream : int or object, optional
        The CUDA stream to work in: a handle, or an object that has one (``torch.cuda.Stream``,
        ``cupy.cuda.Stream``, anything with ``__cuda_stream__``). None takes the current one of the library of
        the first array on a device, or that of a `DeviceArray`. The call comes after what is in it and in the
        streams of the arrays; the host waits only for results that it gets. See docs/streams.md.
    as_device : bool, optional
        Whether the result stays on the device, as a `DeviceArray`. None leaves it there when `a` lies there
        and `axis` is given.
    progress : callable or bool, optional
        Called as ``progress(done, total)``, in bytes, every 50 ms or so while a long array of the host is on
        its way to the device, and at its end; an exception that it raises stops the call. True shows a bar,
        tqdm's where that is installed. Only whole contiguous arrays go in steps: other calls do not report,
        and a named variant, which takes the array in one piece, refuses it.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    The root of `var`, which says more.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.std([[1.0, 2.0], [3.0, 6.0]], axis=0, device="sim")
    array([1., 2.])
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return spread("std", a, options, axis, dtype, out, ddof, keepdims, where, correction)


@several
def nanvar(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: AnyArray = True,
    correction: float = NO_VALUE,
    variant: str = "auto",
    device: Devices = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the variance of the elements that are not NaN.

    Parameters
    ----------
    a : array_like or device array
        A NumPy array of any shape, strides, byte order and alignment, whatever `numpy.asarray` takes, or an
        array on a device: a `DeviceArray`, or one that speaks DLPack or ``__cuda_array_interface__``, which
        is read where it lies. Subclasses such as ``numpy.matrix`` are read as plain arrays; masked arrays are
        refused.
    axis : int or tuple of int, optional
        The axes to reduce; None reduces all.
    dtype : dtype_like, optional
        Elements are cast to it, added up in it, and it is the result's. None takes NumPy's choice. A device
        array is not cast.
    out : numpy.ndarray or device array, optional
        Where the result goes; it is returned. An array of the host is cast to, as NumPy does; one on a device
        must have the result's dtype and C order.
    ddof : float
        What is taken off the number of elements before it divides: 0 of all there are, 1 of a sample.
    keepdims : bool
        Whether reduced axes stay, with length one.
    where : array_like of bool
        Which elements take part; broadcast to the shape of `a`.
    correction : float, optional
        The array API's name of `ddof`.
    variant : str
        The kernel: ``"auto"``, or one of `variants` where its record covers the operator, for a whole array.
    device : str, Device or list of them, optional
        ``"cuda"``, ``"cuda:1"`` or ``"sim"``. None takes the device on which `a` lies; for `a` of the host
        the first CUDA device or, when there is none, the simulator, with one `SimulatorWarning`. A list, or
        ``"cuda:all"``, spreads an array of the host over several: see docs/states.md.
    block_size, grid_size : int, optional
        Threads a block, and blocks of the first pass; with a named variant only.
    stream : int or object, optional
        The CUDA stream to work in: a handle, or an object that has one (``torch.cuda.Stream``,
        ``cupy.cuda.Stream``, anything with ``__cuda_stream__``). None takes the current one of the library of
        the first array on a device, or that of a `DeviceArray`. The call comes after what is in it and in the
        streams of the arrays; the host waits only for results that it gets. See docs/streams.md.
    as_device : bool, optional
        Whether the result stays on the device, as a `DeviceArray`. None leaves it there when `a` lies there
        and `axis` is given.
    progress : callable or bool, optional
        Called as ``progress(done, total)``, in bytes, every 50 ms or so while a long array of the host is on
        its way to the device, and at its end; an exception that it raises stops the call. True shows a bar,
        tqdm's where that is installed. Only whole contiguous arrays go in steps: other calls do not report,
        and a named variant, which takes the array in one piece, refuses it.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    As `var`, with whose kernels NaNs are left out on the way. Where `ddof` is not less than the number of
    elements that are left, the result is NaN.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.nanvar([1.0, 3.0, float("nan")], device="sim")
    np.float64(1.0)
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return spread("nanvar", a, options, axis, dtype, out, ddof, keepdims, where, correction)


@several
def nanstd(
    a: AnyArray,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: AnyArray = True,
    correction: float = NO_VALUE,
    variant: str = "auto",
    device: Devices = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the standard deviation of the elements that are not NaN.

    Parameters
    ----------
    a : array_like or device array
        A NumPy array of any shape, strides, byte order and alignment, whatever `numpy.asarray` takes, or an
        array on a device: a `DeviceArray`, or one that speaks DLPack or ``__cuda_array_interface__``, which
        is read where it lies. Subclasses such as ``numpy.matrix`` are read as plain arrays; masked arrays are
        refused.
    axis : int or tuple of int, optional
        The axes to reduce; None reduces all.
    dtype : dtype_like, optional
        Elements are cast to it, added up in it, and it is the result's. None takes NumPy's choice. A device
        array is not cast.
    out : numpy.ndarray or device array, optional
        Where the result goes; it is returned. An array of the host is cast to, as NumPy does; one on a device
        must have the result's dtype and C order.
    ddof : float
        What is taken off the number of elements before it divides: 0 of all there are, 1 of a sample.
    keepdims : bool
        Whether reduced axes stay, with length one.
    where : array_like of bool
        Which elements take part; broadcast to the shape of `a`.
    correction : float, optional
        The array API's name of `ddof`.
    variant : str
        The kernel: ``"auto"``, or one of `variants` where its record covers the operator, for a whole array.
    device : str, Device or list of them, optional
        ``"cuda"``, ``"cuda:1"`` or ``"sim"``. None takes the device on which `a` lies; for `a` of the host
        the first CUDA device or, when there is none, the simulator, with one `SimulatorWarning`. A list, or
        ``"cuda:all"``, spreads an array of the host over several: see docs/states.md.
    block_size, grid_size : int, optional
        Threads a block, and blocks of the first pass; with a named variant only.
    stream : int or object, optional
        The CUDA stream to work in: a handle, or an object that has one (``torch.cuda.Stream``,
        ``cupy.cuda.Stream``, anything with ``__cuda_stream__``). None takes the current one of the library of
        the first array on a device, or that of a `DeviceArray`. The call comes after what is in it and in the
        streams of the arrays; the host waits only for results that it gets. See docs/streams.md.
    as_device : bool, optional
        Whether the result stays on the device, as a `DeviceArray`. None leaves it there when `a` lies there
        and `axis` is given.
    progress : callable or bool, optional
        Called as ``progress(done, total)``, in bytes, every 50 ms or so while a long array of the host is on
        its way to the device, and at its end; an exception that it raises stops the call. True shows a bar,
        tqdm's where that is installed. Only whole contiguous arrays go in steps: other calls do not report,
        and a named variant, which takes the array in one piece, refuses it.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    The root of `nanvar`.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.nanstd([1.0, 5.0, float("nan")], device="sim")
    np.float64(2.0)
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return spread("nanstd", a, options, axis, dtype, out, ddof, keepdims, where, correction)
