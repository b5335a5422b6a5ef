"""All public reductions, and `reduce`, which finds one by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gpureduce._reduce.arithmetic import dot, fsum, max, mean, min, prod, sum
from gpureduce._reduce.bitwise import bitwise_and, bitwise_or, bitwise_xor
from gpureduce._reduce.composed import average, inner, logical_xor, ptp, trace, vecdot
from gpureduce._reduce.moments import moments, nanstd, nanvar, std, var
from gpureduce._reduce.multi_device import takes_multi_device
from gpureduce._reduce.nan import fmax, fmin, nanargmax, nanargmin, nanmax, nanmean, nanmin, nanprod, nansum
from gpureduce._reduce.norms import logsumexp, norm, softmax_denominator
from gpureduce._reduce.predicates import all, any, count_nonzero
from gpureduce._reduce.search import argmax, argmin

if TYPE_CHECKING:
    from typing import SupportsIndex

    from typing_extensions import Unpack

    from gpureduce._reduce.types import AnyArray, Arguments

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "average",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "count_nonzero",
    "dot",
    "fmax",
    "fmin",
    "fsum",
    "inner",
    "logical_xor",
    "logsumexp",
    "max",
    "mean",
    "min",
    "moments",
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "norm",
    "prod",
    "ptp",
    "reduce",
    "softmax_denominator",
    "std",
    "sum",
    "trace",
    "var",
    "vecdot",
]


_BY_NAME: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        sum, prod, min, max, mean, any, all, bitwise_and, bitwise_or, bitwise_xor,
        argmin, argmax, count_nonzero, var, std, nanvar, nanstd,
        nansum, nanprod, nanmean, nanmin, nanmax, nanargmin, nanargmax,
        fmin, fmax, ptp, logical_xor, logsumexp,
    )
}  # fmt: skip


@takes_multi_device
def reduce(
    a: AnyArray,
    op: str,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    **arguments: Unpack[Arguments],
) -> Any:
    """Reduce an array by an operator given by its name.

    Parameters
    ----------
    a : array_like or device array
        Input array.
    op : str
        ``"sum"``, ``"prod"``, ``"min"``, ``"max"``, ``"mean"``, ``"any"``, ``"all"``, ``"bitwise_and"``,
        ``"bitwise_or"``, ``"bitwise_xor"``, ``"argmin"``, ``"argmax"``, ``"count_nonzero"``, ``"var"``,
        ``"std"``, ``"nanvar"``, ``"nanstd"``, ``"nansum"``, ``"nanprod"``, ``"nanmean"``, ``"nanmin"``,
        ``"nanmax"``, ``"nanargmin"``, ``"nanargmax"``, ``"fmin"``, ``"fmax"``, ``"ptp"``, ``"logical_xor"``
        or ``"logsumexp"``.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    **arguments
        Keyword arguments of the function of that name.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.reduce([3, 1, 2], "argmax", device="sim")
    np.int64(0)
    """
    if not isinstance(op, str):
        raise TypeError(f"op: expected str, got {type(op).__name__}")
    if op not in _BY_NAME:
        raise ValueError(f"op: unknown operator {op!r}; expected one of {', '.join(_BY_NAME)}")
    return _BY_NAME[op](a, axis=axis, **arguments)
