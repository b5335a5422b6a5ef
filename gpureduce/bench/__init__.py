"""Measurements. The package itself can be called: it is `gpureduce.bench.runner.bench`."""

import inspect
import sys
from types import ModuleType
from typing import Any

from gpureduce.bench.result import BenchResult
from gpureduce.bench.runner import bench

__all__ = ["BenchResult", "bench"]


def __dir__() -> list[str]:
    return sorted(__all__)


class _CallableModule(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> BenchResult:
        return bench(*arguments, **options)


# `gpureduce.bench(...)` measures, and `gpureduce.bench.ladder` and its like remain modules in here.
sys.modules[__name__].__class__ = _CallableModule
__doc__ = bench.__doc__ or ""
__signature__ = inspect.signature(bench)
