"""PyTorch operators: reductions, matmul and conv2d with gradients, for use with `torch.compile`.

GPU tensors are read without a copy, on PyTorch's current stream; results are tensors on the same GPU, and
calls do not synchronize. CPU tensors are reduced on the default device, the first GPU or the simulator, with
the same bits, never by PyTorch's CPU kernels. In graphs and profiles the operators are named
``torch.ops.gpureduce.*``.

The arguments of reductions, `matmul` and `conv2d` are those of the functions of `gpureduce`, with NumPy's
names, or PyTorch's `dim` and `keepdim`; those of `index_add`, `scatter_add`, `scatter_reduce`,
`segment_reduce` and `bincount` are PyTorch's, and so is the `correction` of variances, which is 1.
Results have PyTorch's dtypes: sums of integers and bools are int64. Means and other statistics of integers,
which PyTorch does not support, are float64. Results are bitwise those of the functions of `gpureduce`.

>>> import torch, gpureduce.torch
>>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]], requires_grad=True)
>>> gpureduce.torch.max(x, axis=1).sum().backward()
>>> x.grad
tensor([[1., 0.],
        [0., 1.]])
"""

from __future__ import annotations

from gpureduce._torch import flops as _flops
from gpureduce._torch import sharding as _sharding
from gpureduce._torch import torch  # noqa: F401
from gpureduce._torch.clip import clip_grad_norm_
from gpureduce._torch.group_softmax import group_log_softmax, group_softmax
from gpureduce._torch.histogram_functions import Histogram, histogram
from gpureduce._torch.invariant import batch_invariant
from gpureduce._torch.line_functions import (
    Cumulative,
    Sorted,
    argsort,
    cummax,
    cummin,
    cumprod,
    cumsum,
    nancumprod,
    nancumsum,
    sort,
    topk,
    unique_counts,
)
from gpureduce._torch.nan_functions import (
    fmax,
    fmin,
    nanargmax,
    nanargmin,
    nanmax,
    nanmean,
    nanmin,
    nanprod,
    nansum,
)
from gpureduce._torch.normalized import layer_norm, log_softmax, rms_norm, softmax
from gpureduce._torch.product_functions import conv2d, dot, matmul
from gpureduce._torch.reduction_functions import max, mean, min, prod, sum
from gpureduce._torch.scatter import (
    bincount,
    deterministic,
    index_add,
    scatter_add,
    scatter_reduce,
    segment_reduce,
)
from gpureduce._torch.search_functions import (
    all,
    any,
    argmax,
    argmin,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    count_nonzero,
)
from gpureduce._torch.statistics_functions import (
    logsumexp,
    median,
    moments,
    nanmedian,
    nanquantile,
    nanstd,
    nanvar,
    norm,
    quantile,
    std,
    var,
)

__all__ = [
    "Cumulative",
    "Histogram",
    "Sorted",
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "batch_invariant",
    "bincount",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "clip_grad_norm_",
    "conv2d",
    "count_nonzero",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "deterministic",
    "dot",
    "fmax",
    "fmin",
    "group_log_softmax",
    "group_softmax",
    "histogram",
    "index_add",
    "layer_norm",
    "log_softmax",
    "logsumexp",
    "matmul",
    "max",
    "mean",
    "median",
    "min",
    "moments",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "norm",
    "prod",
    "quantile",
    "rms_norm",
    "scatter_add",
    "scatter_reduce",
    "segment_reduce",
    "softmax",
    "sort",
    "std",
    "sum",
    "topk",
    "unique_counts",
    "var",
]


_sharding.register()
_flops.register()


def __dir__() -> list[str]:
    return sorted(__all__)
