"""The public functions of arrays.

What type checkers and editors know of their results stands in `_functions.pyi`, made of the signatures in the
source by `tests/make_stub.py`.
"""

from gpureduce._conv.convolution import conv2d
from gpureduce._matmul.product import matmul
from gpureduce._reduce.arithmetic import dot, fsum, max, mean, min, prod, sum
from gpureduce._reduce.bits import bitwise_and, bitwise_or, bitwise_xor
from gpureduce._reduce.functions import reduce
from gpureduce._reduce.moments import moments, nanstd, nanvar, std, var
from gpureduce._reduce.questions import all, any, argmax, argmin, count_nonzero

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "conv2d",
    "count_nonzero",
    "dot",
    "fsum",
    "matmul",
    "max",
    "mean",
    "min",
    "moments",
    "nanstd",
    "nanvar",
    "prod",
    "reduce",
    "std",
    "sum",
    "var",
]
