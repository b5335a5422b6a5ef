"""An engine for flox, by which xarray's groupby reduces groups on a GPU: pip install 'gpureduce[flox]'.

Importing this module adds the engine ``"gpureduce"`` to flox, and with a device ``"gpureduce:sim"`` or
``"gpureduce:cuda:1"``. flox has no registry of engines, so the module replaces the function of flox that
calls engines by one that also calls this engine; other engines work as before. See docs/how-to/xarray.md.

>>> import numpy as np, flox, gpureduce.flox
>>> a, labels = np.array([1.0, 2.0, 4.0, 8.0]), np.array(["x", "y", "x", "y"])
>>> flox.groupby_reduce(a, labels, func="sum", engine="gpureduce:sim")
(array([ 5., 10.]), array(['x', 'y'], dtype='<U1'))
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

try:
    _aggregations = importlib.import_module("flox.aggregations")
    importlib.import_module("flox.core")
except ModuleNotFoundError as error:
    raise ImportError("gpureduce.flox needs flox: pip install 'gpureduce[flox]'") from error

from gpureduce._device.devices import Device, device_name, resolve
from gpureduce._rules.dtypes import dtype_of, is_supported
from gpureduce._segments.segments import group_reduce

__all__ = ["Engine"]

_NAME = "gpureduce"
_FALLBACK = "numpy"  # the engine of flox that has all reductions


class Engine(str):
    """The name of the engine, which also works in other processes.

    When a Dask worker in another process unpickles it, `gpureduce.flox` is imported there. The plain str
    ``"gpureduce"`` is unknown to flox in that process.

    Parameters
    ----------
    device : str or Device, optional
        Device that reduces the groups, as for `gpureduce.group_reduce`.

    Examples
    --------
    >>> import numpy as np, xarray, gpureduce.flox
    >>> data = xarray.DataArray(np.arange(6.0), dims="t", coords={"day": ("t", [0, 0, 1, 1, 1, 2])})
    >>> data.groupby("day").mean(engine=gpureduce.flox.Engine("sim")).values
    array([0.5, 3. , 5. ])
    """

    __slots__ = ()

    def __new__(cls, device: str | Device | None = None) -> Engine:  # noqa: D102
        return super().__new__(cls, _NAME if device is None else f"{_NAME}:{device_name(*resolve(device))}")

    def __reduce__(self) -> tuple:
        return (Engine, (_device_of(self),))


def _device_of(engine: str) -> str | None:
    return engine[len(_NAME) + 1 :] or None


def _is_ours(engine: Any) -> bool:
    return isinstance(engine, str) and (engine == _NAME or engine.startswith(f"{_NAME}:"))


class _Call:
    """The groups of one call: labels of the elements along the last axis."""

    def __init__(self, labels: Any, size: Any, device: str | None) -> None:
        self.labels = np.asarray(labels)
        self.size = int(self.labels.max(initial=-1)) + 1 if size is None else int(size)
        self.device = device

    @functools.cached_property
    def members(self) -> np.ndarray:
        """Number of elements of each group."""
        return np.bincount(self.labels[self.labels >= 0], minlength=self.size)

    def reduce(self, array: np.ndarray, op: str) -> np.ndarray:
        return group_reduce(array, self.labels, op, self.size, axis=-1, device=self.device, as_device=False)


_Way = Callable[[_Call, np.ndarray, Any], np.ndarray]


def _nans(array: np.ndarray) -> np.ndarray | None:
    """Return the mask of NaN elements; None if there are none."""
    if array.dtype.kind not in "fcV":
        return None
    is_nan = array != array
    return is_nan if is_nan.any() else None


def _in_wider(array: np.ndarray, dtype: Any) -> np.ndarray:
    """Cast elements to the dtype of the result if it is a wider one of the same kind."""
    if dtype is None or array.dtype.kind in "biu":
        return array
    requested = dtype_of(dtype)
    return array.astype(np.result_type(array, requested), copy=False) if requested.kind in "fc" else array


def _growing(op: str, instead: int | None = None) -> _Way:
    """Return the function for sums or products; `instead` replaces NaN."""

    def reduction(call: _Call, array: np.ndarray, dtype: Any) -> np.ndarray:
        nans = None if instead is None else _nans(array)
        values = array if nans is None else np.where(nans, array.dtype.type(instead), array)
        return call.reduce(_in_wider(values, dtype), op)

    return reduction


def _plain(op: str) -> _Way:
    return lambda call, array, dtype: call.reduce(array, op)


def _extreme(op: str) -> _Way:
    """Return the function for the smallest or largest element, ignoring NaNs; NaN for only NaNs."""

    def reduction(call: _Call, array: np.ndarray, dtype: Any) -> np.ndarray:
        nans = _nans(array)
        if nans is None:
            return call.reduce(array, op)
        furthest = np.array(np.inf if op == "min" else -np.inf).astype(array.dtype)
        result = call.reduce(np.where(nans, furthest, array), op)
        none = (call.reduce(~nans, "any") == 0) & (call.members > 0)
        return np.where(none, np.array(np.nan).astype(array.dtype), result)

    return reduction


def _length(skips: bool) -> _Way:
    def reduction(call: _Call, array: np.ndarray, dtype: Any) -> np.ndarray:
        nans = _nans(array) if skips else None
        if nans is None:
            return np.broadcast_to(call.members, (*array.shape[:-1], call.size)).copy()
        return call.reduce(~nans, "sum")

    return reduction


def _mean_of_some(call: _Call, array: np.ndarray, dtype: Any) -> np.ndarray:
    nans = _nans(array)
    if nans is None:
        return call.reduce(_in_wider(array, dtype), "mean")
    total, count = _growing("sum", 0)(call, array, np.float64), call.reduce(~nans, "sum")
    with np.errstate(invalid="ignore", divide="ignore"):
        return (total / count).astype(array.dtype if dtype is None else dtype)


def _mean(call: _Call, array: np.ndarray, dtype: Any) -> np.ndarray:
    return call.reduce(_in_wider(array, dtype), "mean")


# By flox's names, which has counts as lengths.
_WAYS: dict[str, _Way] = {
    "sum": _growing("sum"),
    "nansum": _growing("sum", 0),
    "prod": _growing("prod"),
    "nanprod": _growing("prod", 1),
    "mean": _mean,
    "nanmean": _mean_of_some,
    "min": _plain("min"),
    "max": _plain("max"),
    "nanmin": _extreme("min"),
    "nanmax": _extreme("max"),
    "argmin": _plain("argmin"),
    "argmax": _plain("argmax"),
    "any": _plain("any"),
    "all": _plain("all"),
    "len": _length(False),
    "nanlen": _length(True),
}


def _filled(result: np.ndarray, empty: np.ndarray, fill_value: Any) -> np.ndarray:
    """Fill groups without elements with a value."""
    if fill_value is None or not empty.any():
        return result
    if not np.can_cast(np.min_scalar_type(fill_value), result.dtype, "same_kind"):
        result = result.astype(np.result_type(result, np.asarray(fill_value)))
    return np.where(empty, np.asarray(fill_value).astype(result.dtype), result)


def _aggregated(
    theirs: Callable[..., Any],
    group_idx: Any,
    array: Any,
    *,
    engine: str,
    func: str,
    axis: int = -1,
    size: int | None = None,
    fill_value: Any = None,
    dtype: Any = None,
    **options: Any,
) -> Any:
    """Reduce groups, as flox's function with these arguments; other engines are passed on to flox."""
    reduction = _WAYS.get(func)
    known = isinstance(array, np.ndarray) and is_supported(array.dtype) and axis in (-1, array.ndim - 1)
    if reduction is None or options or not known:
        passed = {"axis": axis, "size": size, "fill_value": fill_value, "dtype": dtype, **options}
        return theirs(group_idx, array, engine=_FALLBACK, func=func, **passed)
    call = _Call(group_idx, size, _device_of(engine))
    result = reduction(call, array, dtype)
    if dtype is not None:
        result = result.astype(dtype, copy=False)
    empty = result == 0 if "len" in func else call.members == 0
    return _filled(result, empty, fill_value)


def _register() -> None:
    """Register the engine in flox."""
    theirs = getattr(_aggregations, "generic_aggregate", None)
    if theirs is None:
        raise ImportError("gpureduce.flox does not know this version of flox; from 0.10.7 on is known")
    if hasattr(theirs, "_gpureduce"):
        return

    @functools.wraps(theirs)
    def generic_aggregate(group_idx: Any, array: Any, *, engine: str, **options: Any) -> Any:
        if _is_ours(engine):
            return _aggregated(theirs, group_idx, array, engine=engine, **options)
        return theirs(group_idx, array, engine=engine, **options)

    generic_aggregate._gpureduce = True  # type: ignore[attr-defined]
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "flox" and getattr(module, "generic_aggregate", None) is theirs:
            module.generic_aggregate = generic_aggregate  # type: ignore[attr-defined]


_register()
