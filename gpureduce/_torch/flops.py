"""Formulas of the floating-point operations of products, for `torch.utils.flop_counter.FlopCounterMode`.

They count what PyTorch's formulas of `mm` and `convolution` count: two operations for each multiplication and
addition. As there, reductions count nothing.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from importlib import abc, machinery
from types import ModuleType
from typing import Any

from gpureduce._torch import torch

_MODULE = "torch.utils.flop_counter"
Shape = Sequence[int]


def _of_matmul(a: Shape, b: Shape, *rest: Any, out_shape: Shape, **others: Any) -> int:
    return 2 * math.prod(out_shape) * a[-1]


def _of_dot(a: Shape, b: Shape, *rest: Any, **others: Any) -> int:
    return 2 * a[0]


def _of_conv2d(x: Shape, w: Shape, *rest: Any, out_shape: Shape, **others: Any) -> int:
    return 2 * math.prod(out_shape) * math.prod(w[1:])


def _register(module: Any) -> None:
    """Register the formulas in PyTorch's module."""
    operators, register = torch.ops.gpureduce, module.register_flop_formula
    register([operators.dot, operators.exact_dot])(_of_dot)
    register(operators.matmul)(_of_matmul)
    register(operators.conv2d)(_of_conv2d)


class _Loader(abc.Loader):
    """Loads PyTorch's module by its own loader, and registers the formulas."""

    def __init__(self, loader: abc.Loader) -> None:
        self.loader = loader

    def create_module(self, spec: machinery.ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        _register(module)


class _Finder(abc.MetaPathFinder):
    """Finds PyTorch's module when a program imports it."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> machinery.ModuleSpec | None:
        if name != _MODULE:
            return None
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        spec = machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def register() -> None:
    """Register the formulas, or have them registered when a program imports PyTorch's module.

    The module imports Triton, which takes longer than all of gpureduce.torch.
    """
    if _MODULE in sys.modules:
        _register(sys.modules[_MODULE])
    else:
        sys.meta_path.insert(0, _Finder())
