"""The public reductions that answer a question: whether, where, how many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpureduce._device.devices import Device
from gpureduce._reduce.engine import reduction
from gpureduce._reduce.options import Options
from gpureduce._reduce.parameters import documented
from gpureduce._reduce.progress import Progress
from gpureduce._reduce.quick import quick

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@quick
@documented
def any(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
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
    """Return whether any element is true; NaN counts as true.

    Parameters
    ----------
    {a}
    {axis}
    {out}
    {keepdims}
    {where}
    {tail}

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return reduction("any", a, options, axis=axis, out=out, keepdims=keepdims, where=where)


@quick
@documented
def all(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
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
    """Return whether all elements are true; NaN counts as true.

    Parameters
    ----------
    {a}
    {axis}
    {out}
    {keepdims}
    {where}
    {tail}

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return reduction("all", a, options, axis=axis, out=out, keepdims=keepdims, where=where)


@quick
@documented
def argmin(
    a: ArrayLike,
    axis: int | None = None,
    out: Any = None,
    *,
    keepdims: bool = False,
    variant: str = "auto",
    device: str | Device | None = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Any = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the position of the smallest element.

    Parameters
    ----------
    {a}
    {one_axis}
    {out}
    {keepdims}
    {tail}

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    The first of equals wins, and the first NaN before everything. No elements raise ValueError.
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return reduction("argmin", a, options, axis=axis, out=out, keepdims=keepdims)


@quick
@documented
def argmax(
    a: ArrayLike,
    axis: int | None = None,
    out: Any = None,
    *,
    keepdims: bool = False,
    variant: str = "auto",
    device: str | Device | None = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Any = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return the position of the largest element.

    Parameters
    ----------
    {a}
    {one_axis}
    {out}
    {keepdims}
    {tail}

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Notes
    -----
    The first of equals wins, and the first NaN before everything. No elements raise ValueError.
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return reduction("argmax", a, options, axis=axis, out=out, keepdims=keepdims)


@quick
@documented
def count_nonzero(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    *,
    keepdims: bool = False,
    variant: str = "auto",
    device: str | Device | None = None,
    block_size: int | None = None,
    grid_size: int | None = None,
    stream: Any = None,
    as_device: bool | None = None,
    progress: Progress = None,
) -> Any:
    """Return how many elements are not zero; NaN counts.

    Parameters
    ----------
    {a}
    {axis}
    {keepdims}
    {tail}

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray
    """
    options = Options(variant, device, block_size, grid_size, stream, as_device, progress)
    return reduction("count_nonzero", a, options, axis=axis, keepdims=keepdims)
