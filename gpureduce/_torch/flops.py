"""Formulas of the floating-point operations of products, for `torch.utils.flop_counter.FlopCounterMode`.

They count what PyTorch's formulas of `mm` and `convolution` count: two operations for each multiplication and
addition. As there, reductions count nothing.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

from gpureduce._torch import torch
from gpureduce._torch.when_imported import when_imported

_MODULE = "torch.utils.flop_counter"
Shape = Sequence[int]


def _of_matmul(a: Shape, b: Shape, *rest: Any, out_shape: Shape, **others: Any) -> int:
    return 2 * math.prod(out_shape) * a[-1]


def _of_dot(a: Shape, b: Shape, *rest: Any, **others: Any) -> int:
    return 2 * a[0]


def _of_conv2d(x: Shape, w: Shape, *rest: Any, out_shape: Shape, **others: Any) -> int:
    return 2 * math.prod(out_shape) * math.prod(w[1:])


def _register() -> None:
    formula, operators = sys.modules[_MODULE].register_flop_formula, torch.ops.gpureduce
    formula([operators.dot, operators.exact_dot])(_of_dot)
    formula(operators.matmul)(_of_matmul)
    formula(operators.conv2d)(_of_conv2d)


def register() -> None:
    """Register the formulas when a program imports PyTorch's module, which imports Triton."""
    when_imported(_MODULE, _register)
