"""The public functions of arrays.

`_functions.pyi` has their result types for type checkers and editors; tests/tools/make_stub.py generates it.
"""

from gpureduce._conv.convolution import conv2d
from gpureduce._matmul.product import matmul
from gpureduce._normalize.functions import layer_norm, log_softmax, rms_norm, softmax
from gpureduce._order.quantiles import median, nanmedian, nanpercentile, nanquantile, percentile, quantile
from gpureduce._order.sort import argsort, sort
from gpureduce._order.topk import topk
from gpureduce._order.unique import unique_counts
from gpureduce._reduce.arithmetic import dot, fsum, max, mean, min, prod, sum
from gpureduce._reduce.bitwise import bitwise_and, bitwise_or, bitwise_xor
from gpureduce._reduce.composed import average, inner, logical_xor, ptp, trace, vecdot
from gpureduce._reduce.functions import reduce
from gpureduce._reduce.moments import moments, nanstd, nanvar, std, var
from gpureduce._reduce.nan import fmax, fmin, nanargmax, nanargmin, nanmax, nanmean, nanmin, nanprod, nansum
from gpureduce._reduce.norms import logsumexp, norm, softmax_denominator
from gpureduce._reduce.predicates import all, any, count_nonzero
from gpureduce._reduce.search import argmax, argmin
from gpureduce._scans.extremes import cummax, cummin
from gpureduce._scans.running import cumprod, cumsum, cumulative_prod, cumulative_sum, nancumprod, nancumsum
from gpureduce._segments.bins import bincount
from gpureduce._segments.segments import group_reduce, reduceat, segment_reduce

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "average",
    "bincount",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "conv2d",
    "count_nonzero",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "dot",
    "fmax",
    "fmin",
    "fsum",
    "group_reduce",
    "inner",
    "layer_norm",
    "log_softmax",
    "logical_xor",
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
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "norm",
    "percentile",
    "prod",
    "ptp",
    "quantile",
    "reduce",
    "reduceat",
    "rms_norm",
    "segment_reduce",
    "softmax",
    "softmax_denominator",
    "sort",
    "std",
    "sum",
    "topk",
    "trace",
    "unique_counts",
    "var",
    "vecdot",
]
