"""Registers statistics, order statistics, scans and sorts as `torch.ops.gpureduce`."""

from __future__ import annotations

from collections.abc import Callable

from gpureduce._torch import (
    batching,
    derivatives,
    gradients,
    kernels,
    lines,
    normalize,
    statistics,
    tangents,
)
from gpureduce._torch.operators import REDUCTION, SUMS, Core, Gradient, along, define

_AXIS = (None, None, False)
_CORRECTED = (*_AXIS, 1.0)
_QUANTILES = (None, None, None, False, "linear")
_GRADIENTS = {
    "nansum": Gradient(derivatives.keep_elements, derivatives.of_nansum),
    "nanmean": Gradient(derivatives.keep_elements, derivatives.of_nanmean),
    "nanprod": Gradient(derivatives.keep_elements, derivatives.of_nanprod),
    **{
        name: Gradient(derivatives.keep_elements_and_result, derivatives.of_nanmax)
        for name in ("nanmax", "nanmin", "fmax", "fmin")
    },
    **{
        f"{nan}var": Gradient(
            derivatives.keep_elements, derivatives.of_variance(bool(nan)), defaults=_CORRECTED
        )
        for nan in ("", "nan")
    },
    **{
        f"{nan}std": Gradient(
            derivatives.keep_elements_and_result, derivatives.of_deviation(bool(nan)), defaults=_CORRECTED
        )
        for nan in ("", "nan")
    },
    "norm": Gradient(derivatives.keep_elements_and_result, derivatives.of_norm, defaults=(*_AXIS, 2.0)),
    "logsumexp": Gradient(derivatives.keep_elements_and_result, derivatives.of_logsumexp),
    "exact_mean": Gradient(gradients.keep_shape, gradients.of_mean),
    **{
        f"{nan}median": Gradient(derivatives.keep_median, derivatives.of_quantile(f"{nan}median"))
        for nan in ("", "nan")
    },
    **{
        f"{nan}quantile": Gradient(
            derivatives.keep_quantile, derivatives.of_quantile(f"{nan}quantile"), None, defaults=_QUANTILES
        )
        for nan in ("", "nan")
    },
}


def _without_order(a, axis=None, keepdims=False, ord=2.0):
    """Return the arguments of the norm of order 2 without its order; None for other orders."""
    return (a, axis, keepdims) if ord == 2 else None


_CORES = {
    **{
        name: Core(op, REDUCTION, kernels.BY_NAME)
        for name, op in {
            "fmax": "nanmax",
            "fmin": "nanmin",
            "logsumexp": "logsumexp",
            "median": "median",
            "nanargmax": "nanargmax",
            "nanargmin": "nanargmin",
            "nanmax": "nanmax",
            "nanmean": "nanmean",
            "nanmedian": "nanmedian",
            "nanmin": "nanmin",
            "nanprod": "nanprod",
            "nansum": "nansum",
        }.items()
    },
    **{
        name: Core(name, (*REDUCTION, "correction"), kernels.BY_NAME)
        for name in ("var", "std", "nanvar", "nanstd")
    },
    "norm": Core("rootnorm", REDUCTION, kernels.BY_NAME, adapt=_without_order),
    "exact_mean": Core("mean", REDUCTION, kernels.BY_NAME, exact=True),
}


def _reduction(name: str) -> Callable:
    """Define an operator of the table of statistics."""
    row = statistics.ROWS[name]
    axis = "int? axis" if row.one_axis else "int[1]? axis"
    parameters = f"Tensor a, {axis}=None, bool keepdims=False"
    for parameter, default in row.parameters:
        parameters += f", float {parameter}={default}"
    if row.quantiles:
        parameters = "Tensor a, float[] q, int[1]? axis=None, bool keepdims=False, str method='linear'"
    return define(
        name,
        parameters,
        statistics.on_cuda(name),
        statistics.on_host(name),
        statistics.fake_of(name),
        _CORES.get(name),
        batched=batching.of_flattened if row.one_axis else along(2, None, 1) if row.quantiles else along(1),
        gradient=_GRADIENTS.get(name),
    )


reductions = {name: _reduction(name) for name in statistics.ROWS}


_SCANS = {
    "cumsum": Core("cumulative_sum", ("a", "axis"), SUMS),
    "cumprod": Core("cumulative_prod", ("a", "axis"), SUMS),
}


def _scan(name: str, gradient: Gradient) -> Callable:
    """Define a scan along one axis."""
    return define(
        name,
        "Tensor a, int axis",
        lines.scan_on_cuda(name),
        lines.scan_on_host(name),
        lines.fake_scan(name),
        _SCANS.get(name),
        batched=along(1),
        gradient=gradient,
    )


_LINE = (None, None)
scans = {
    "cumsum": _scan(
        "cumsum",
        Gradient(derivatives.keep_scan, derivatives.of_cumsum(False), derivatives.along_cumsum, _LINE),
    ),
    "cumprod": _scan(
        "cumprod", Gradient(derivatives.keep_scan, derivatives.of_cumprod(False), None, defaults=_LINE)
    ),
    "nancumsum": _scan(
        "nancumsum",
        Gradient(derivatives.keep_scan, derivatives.of_cumsum(True), derivatives.along_nancumsum, _LINE),
    ),
    "nancumprod": _scan(
        "nancumprod", Gradient(derivatives.keep_scan, derivatives.of_cumprod(True), None, defaults=_LINE)
    ),
}
extremes = {
    name: define(
        name,
        "Tensor a, int axis",
        lines.extreme_on_cuda(name),
        lines.extreme_on_host(name),
        lines.fake_extreme,
        batched=along(1),
        gradient=Gradient(
            derivatives.keep_extreme, derivatives.of_extreme, derivatives.along_sort, defaults=_LINE
        ),
        results="(Tensor values, Tensor indices)",
    )
    for name in ("cummax", "cummin")
}
sort = define(
    "sort",
    "Tensor a, int axis=-1, bool descending=False",
    lines.sort_on_cuda,
    lines.sort_on_host,
    lines.fake_sort,
    batched=along(1, -1),
    gradient=Gradient(
        derivatives.keep_sort, derivatives.of_sort, derivatives.along_sort, defaults=(None, -1, False)
    ),
    results="(Tensor values, Tensor indices)",
)
argsort = define(
    "argsort",
    "Tensor a, int axis=-1, bool descending=False",
    lines.argsort_on_cuda,
    lines.argsort_on_host,
    lines.fake_argsort,
    batched=along(1, -1),
)
topk = define(
    "topk",
    "Tensor a, SymInt k, int axis=-1, bool largest=True, bool sorted=True",
    lines.topk_on_cuda,
    lines.topk_on_host,
    lines.fake_topk,
    batched=along(2, -1),
    gradient=Gradient(
        derivatives.keep_sort,
        derivatives.of_sort,
        derivatives.along_sort,
        defaults=(None, None, -1, True, True),
    ),
    results="(Tensor values, Tensor indices)",
)
moments = define(
    "moments",
    "Tensor a, int[1]? axis=None, bool keepdims=False, float correction=0",
    lines.moments_on_cuda,
    lines.moments_on_host,
    lines.fake_moments,
    batched=along(1),
    gradient=Gradient(derivatives.keep_elements, derivatives.of_moments, None, defaults=(*_AXIS, 0.0)),
    results="(Tensor mean, Tensor var, Tensor skewness, Tensor kurtosis)",
)
exact_dot = define(
    "exact_dot",
    "Tensor a, Tensor b",
    normalize.exact_dot_on_cuda,
    normalize.exact_dot_on_host,
    normalize.fake_exact_dot,
    gradient=Gradient(gradients.keep_pair, gradients.of_dot, tangents.of_dot, (None, None), 2),
)
