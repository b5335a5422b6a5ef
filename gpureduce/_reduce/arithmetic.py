"""The public reductions that combine elements, with NumPy's arguments and a few of our own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpureduce._device.devices import Device
from gpureduce._reduce.engine import dot as _dot
from gpureduce._reduce.engine import mean as _mean
from gpureduce._reduce.engine import reduction
from gpureduce._reduce.options import Options
from gpureduce._reduce.parameters import documented
from gpureduce._reduce.progress import Progress
from gpureduce._reduce.quick import quick
from gpureduce._rules.arguments import NO_VALUE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike


@quick
@documented
def sum(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    dtype: DTypeLike = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NO_VALUE,
    where: ArrayLike = True,
    *,
    variant: str = "auto",
    device: str | Device | None = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Any = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the sum of array elements.

    Parameters
    ----------
    {a}
    {axis}
    {dtype}
    {out}
    {keepdims}
    {initial}
    {where}
    {tail}

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    Result dtypes are those of `numpy.sum`: integers smaller than 64 bits and bool add up in 64 bits, and wrap
    there. float16 and bfloat16 are added in float32 and rounded once; float32 and complex64 sums are
    compensated. No elements give 0.

    The ladder of named variants follows M. Harris, "Optimizing Parallel Reduction in CUDA" (NVIDIA, 2007),
    with the races and lost tails of the printed kernels mended; `source` shows each rung.

    Errors are those of `numpy.sum` for the same call, and `DeviceError` when the device is not there
    or fails.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.sum(np.array([1, 2, 3], dtype=np.int32), variant="v2", device="sim")
    np.int64(6)
    >>> gpureduce.sum([[1.0, 2.0], [3.0, 4.0]], axis=0, device="sim")
    array([4., 6.])
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return reduction(
        "sum", a, options, axis=axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where
    )


@quick
@documented
def prod(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    dtype: DTypeLike = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NO_VALUE,
    where: ArrayLike = True,
    *,
    variant: str = "auto",
    device: str | Device | None = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Any = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the product of array elements.

    Parameters
    ----------
    {a}
    {axis}
    {dtype}
    {out}
    {keepdims}
    {initial}
    {where}
    {tail}

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    No elements give 1. Result dtypes are those of `numpy.prod`.
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return reduction(
        "prod", a, options, axis=axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where
    )


@quick
@documented
def min(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NO_VALUE,
    where: ArrayLike = True,
    *,
    variant: str = "auto",
    device: str | Device | None = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Any = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the smallest element.

    Parameters
    ----------
    {a}
    {axis}
    {out}
    {keepdims}
    {initial}
    {where}
    {tail}

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    NaN wins. No elements, or a mask, without `initial` raise ValueError.
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return reduction("min", a, options, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)


@quick
@documented
def max(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NO_VALUE,
    where: ArrayLike = True,
    *,
    variant: str = "auto",
    device: str | Device | None = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Any = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the largest element.

    Parameters
    ----------
    {a}
    {axis}
    {out}
    {keepdims}
    {initial}
    {where}
    {tail}

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    NaN wins. No elements, or a mask, without `initial` raise ValueError.
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return reduction("max", a, options, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)


@quick
@documented
def mean(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    dtype: DTypeLike = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: ArrayLike = True,
    variant: str = "auto",
    device: str | Device | None = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Any = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the arithmetic mean.

    Parameters
    ----------
    {a}
    {axis}
    {dtype}
    {out}
    {keepdims}
    {where}
    {tail}

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    Integers and bool give float64. float16 and bfloat16 are averaged in float32 and rounded once. The mean of
    float32 or complex64 elements is finite also where their sum is beyond the dtype. The mean of no elements
    is NaN, with a RuntimeWarning; of a mask that leaves some without any, it comes with results on the host.
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return _mean(a, options, axis=axis, dtype=dtype, out=out, keepdims=keepdims, where=where)


@quick
@documented
def bitwise_and(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    dtype: DTypeLike = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NO_VALUE,
    where: ArrayLike = True,
    *,
    variant: str = "auto",
    device: str | Device | None = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Any = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the bitwise and of integers or bools.

    Parameters
    ----------
    {a}
    {axis}
    {dtype}
    {out}
    {keepdims}
    {initial}
    {where}
    {tail}

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    The axis defaults to None, all axes, unlike that of NumPy's ``ufunc.reduce``.
    No elements give all bits set.
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


@quick
@documented
def bitwise_or(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    dtype: DTypeLike = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NO_VALUE,
    where: ArrayLike = True,
    *,
    variant: str = "auto",
    device: str | Device | None = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Any = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the bitwise or of integers or bools.

    Parameters
    ----------
    {a}
    {axis}
    {dtype}
    {out}
    {keepdims}
    {initial}
    {where}
    {tail}

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    The axis defaults to None, all axes, unlike that of NumPy's ``ufunc.reduce``.
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


@quick
@documented
def bitwise_xor(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    dtype: DTypeLike = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NO_VALUE,
    where: ArrayLike = True,
    *,
    variant: str = "auto",
    device: str | Device | None = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Any = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the bitwise exclusive or of integers or bools.

    Parameters
    ----------
    {a}
    {axis}
    {dtype}
    {out}
    {keepdims}
    {initial}
    {where}
    {tail}

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    The axis defaults to None, all axes, unlike that of NumPy's ``ufunc.reduce``.
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


@quick
@documented
def dot(
    a: ArrayLike,
    b: ArrayLike,
    out: Any = None,
    *,
    variant: str = "auto",
    device: str | Device | None = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Any = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the dot product of two vectors of one length.

    Parameters
    ----------
    {a}
    b : array_like or device array
        As long as `a`, and lying where `a` lies.
    {out}
    {tail}

    Returns
    -------
    numpy scalar, or `out`

    Raises
    ------
    ValueError
        Unless both have one dimension and one length, or none.

    Notes
    -----
    Accumulates as `sum` does, but integers wrap in the result's own dtype, as in NumPy. Complex numbers are
    not conjugated. An `out` must have exactly the result's dtype.
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return _dot(a, b, out, options)
