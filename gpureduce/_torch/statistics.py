"""Kernels of reductions by the package's functions: statistics, norms, order statistics, and NaN-aware ones.

One table, `ROWS`, has the function and the dtype of the result for each operator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gpureduce import _functions
from gpureduce._order.methods import ELEMENT_METHODS
from gpureduce._rules import arguments as rules
from gpureduce._torch import torch
from gpureduce._torch.kernels import NAMES, Axes, array_of, axes_of, is_whole, tensor_of

_REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}


class Row(NamedTuple):
    """An operator that reduces axes of its first argument."""

    function: Callable
    real: bool = False  # the result of complex elements is real
    takes_complex: bool = True
    parameters: tuple[tuple[str, Any], ...] = ()  # after keepdims, with their defaults
    whole: str | None = None  # the operator for integers; None: their result is float64
    one_axis: bool = False  # one axis or all of them; the result is an index
    quantiles: bool = False  # q comes before the axis, and the result has an axis for it
    as_floats: bool = False  # integers on a device are converted before
    options: tuple[tuple[str, Any], ...] = ()  # other arguments of the function


_CORRECTION = (("correction", 1.0),)
ROWS = {
    "nansum": Row(_functions.nansum, whole="sum"),
    "nanprod": Row(_functions.nanprod, whole="prod"),
    "nanmean": Row(_functions.nanmean, whole="mean"),
    "nanmax": Row(_functions.nanmax, whole="max"),
    "nanmin": Row(_functions.nanmin, whole="min"),
    "fmax": Row(_functions.fmax, whole="max"),
    "fmin": Row(_functions.fmin, whole="min"),
    "nanargmax": Row(_functions.nanargmax, whole="argmax", one_axis=True),
    "nanargmin": Row(_functions.nanargmin, whole="argmin", one_axis=True),
    "var": Row(_functions.var, real=True, parameters=_CORRECTION),
    "std": Row(_functions.std, real=True, parameters=_CORRECTION),
    "nanvar": Row(_functions.nanvar, real=True, parameters=_CORRECTION),
    "nanstd": Row(_functions.nanstd, real=True, parameters=_CORRECTION),
    "norm": Row(_functions.norm, real=True, as_floats=True, parameters=(("ord", 2.0),)),
    "logsumexp": Row(_functions.logsumexp, takes_complex=False, as_floats=True),
    "median": Row(_functions.median, takes_complex=False),
    "nanmedian": Row(_functions.nanmedian, takes_complex=False),
    "quantile": Row(
        _functions.quantile,
        takes_complex=False,
        quantiles=True,
    ),
    "nanquantile": Row(
        _functions.nanquantile,
        takes_complex=False,
        quantiles=True,
    ),
    "exact_mean": Row(_functions.mean, takes_complex=False, options=(("exact", True),)),
}


def result_dtype(name: str, dtype: torch.dtype) -> torch.dtype:
    """Return the dtype of an operator's result."""
    row = ROWS[name]
    if dtype not in NAMES or (dtype.is_complex and not row.takes_complex):
        taken = ", ".join(str(each) for each in NAMES if row.takes_complex or not each.is_complex)
        raise TypeError(f"a: {name} takes {taken}, not {dtype}")
    if row.one_axis:
        return torch.int64
    if is_whole(dtype):
        return torch.float64
    return _REAL.get(dtype, dtype) if row.real else dtype


def _bound(row: Row, args: tuple) -> tuple[Any, bool, dict[str, Any]]:
    """Return axis, keepdims and the function's other arguments of a call."""
    if row.quantiles:
        filled: tuple[Any, ...] = (None, None, False, "linear")
        q, axis, keepdims, method = args + filled[len(args) :]
        return axis, keepdims, {"q": q, "method": method}
    missing: tuple[Any, ...] = (None, False)
    axis, keepdims, *others = args + missing[len(args) :]
    names = [name for name, _ in row.parameters]
    return axis, keepdims, dict(row.parameters) | dict(zip(names, others, strict=False))


def _for_quantiles(a: torch.Tensor) -> torch.Tensor:
    """Return elements in a dtype between which the core interpolates on the device."""
    return a.float() if a.dtype == torch.bfloat16 else a


def _dtype_of_quantiles(a: torch.Tensor, method: str) -> torch.dtype:
    """Return the dtype that NumPy's quantiles have for several q: float64, or the dtype of the elements."""
    return a.dtype if method in ELEMENT_METHODS else torch.float64


def _of_floats(row: Row, kernel: Callable) -> Callable:
    """Return a kernel that leaves integers and bools to the operator `row.whole`, if there is one."""
    if row.whole is None:
        return kernel

    def of_all(a, *args):
        if is_whole(a.dtype):
            return getattr(torch.ops.gpureduce, row.whole).default(a, *args)
        return kernel(a, *args)

    return of_all


def fake_of(name: str) -> Callable:
    """Return the fake kernel of an operator."""
    row = ROWS[name]

    def fake(a, *args):
        axis, keepdims, named = _bound(row, args)
        dtype = result_dtype(name, a.dtype)
        shape = rules.kept_shape(a.shape, axes_of(axis, a.ndim), keepdims)
        return a.new_empty((len(named["q"]), *shape) if row.quantiles else shape, dtype=dtype)

    return _of_floats(row, fake)


def _call(
    row: Row, a: Any, axes: Axes, axis: Any, keepdims: bool, named: dict[str, Any], **options: Any
) -> Any:
    along = axis if row.one_axis and (axis is None or isinstance(axis, int)) else axes
    return row.function(a, axis=along, keepdims=keepdims, **named, **dict(row.options), **options)


def on_cuda(name: str) -> Callable:
    """Return the kernel that enqueues an operator on the current stream."""
    row, fake = ROWS[name], fake_of(name)

    def reduce(a, *args):
        out = fake(a, *args)
        axis, keepdims, named = _bound(row, args)
        if not out.numel():
            return out
        elements, result = a.detach(), out
        if row.quantiles:
            elements = _for_quantiles(elements)
            result = out.to(_dtype_of_quantiles(elements, named["method"]))
        elif row.as_floats and is_whole(a.dtype):
            elements = elements.double()
        _call(row, elements, axes_of(axis, a.ndim), axis, keepdims, named, out=result)
        return out if result is out else out.copy_(result)

    return _of_floats(row, reduce)


def on_host(name: str) -> Callable:
    """Return the kernel that calls the package's function for host memory."""
    row, fake = ROWS[name], fake_of(name)

    def reduce(a, *args):
        out = fake(a, *args)
        axis, keepdims, named = _bound(row, args)
        if not out.numel():
            return out
        elements = _for_quantiles(a) if row.quantiles else a
        with np.errstate(all="ignore"):  # as PyTorch, which says nothing of overflows
            result = _call(row, array_of(elements), axes_of(axis, a.ndim), axis, keepdims, named)
        dtype = _dtype_of_quantiles(elements, named["method"]) if row.quantiles else out.dtype
        return tensor_of(result, dtype).to(out.dtype)

    return _of_floats(row, reduce)
