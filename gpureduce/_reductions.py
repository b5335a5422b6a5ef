"""The public reductions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gpureduce import _core
from gpureduce._devices import Device, resolve

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike


def _refuse_masked(a: object) -> None:
    # numpy.asarray drops the mask without a word, which would give a wrong sum.
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(a, masked.MaskedArray):
        raise TypeError("a: masked arrays are not supported; pass a.filled(0) or a.compressed()")


def sum(
    a: ArrayLike,
    *,
    variant: str = "auto",
    device: str | Device | None = None,
    block_size: int | None = None,
    grid_size: int | None = None,
) -> np.generic:
    """Return the sum of all elements of an array.

    Parameters
    ----------
    a : array_like
        Of dtype float32, float64, int32 or int64, any shape. Contiguous native arrays are read in place,
        read-only ones too; others are copied first.
    variant : str
        The kernel, one of `variants`; ``"auto"`` takes the fastest.
    device : str or Device, optional
        ``"cuda"``, ``"cuda:1"`` or ``"sim"``. None takes the first CUDA device or, when there is none,
        the simulator, with one `SimulatorWarning`.
    block_size : int, optional
        Threads a block; None takes the variant's default.
    grid_size : int, optional
        Blocks of the first pass, for variants whose ``fixed_grid`` is true. The default does not depend on
        the device, so that the same array gives the same bits everywhere.

    Returns
    -------
    numpy scalar
        float32 and float64 keep their dtype; int32 and int64 add up to int64, which wraps. The sum of no
        elements is 0, and one that is NaN is the quiet NaN.

    Raises
    ------
    TypeError
        For a dtype that is not supported or an argument of the wrong type.
    ValueError
        For an unknown variant or device, or a block or grid size the variant does not take.
    DeviceError
        When the device is not there or fails.
    MemoryError
        When host or device memory runs out.

    Notes
    -----
    The ladder follows M. Harris, "Optimizing Parallel Reduction in CUDA" (NVIDIA, 2007), with the races and
    lost tails of the printed kernels mended; `source` shows each rung.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.sum(np.array([1, 2, 3], dtype=np.int32), variant="v2", device="sim")
    np.int64(6)
    """
    _refuse_masked(a)
    return _core.reduce(a, "sum", variant, block_size, grid_size, *resolve(device))
