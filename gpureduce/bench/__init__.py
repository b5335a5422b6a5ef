"""Measurements. The package itself can be called: it is `gpureduce.bench.runner.bench`."""

import inspect
import sys
from types import ModuleType

from gpureduce.bench.runner import bench


class _CallableModule(ModuleType):
    def __call__(self, *arguments, **options):
        return bench(*arguments, **options)


# `gpureduce.bench(...)` measures, and `gpureduce.bench.ladder` and its like remain modules in here.
sys.modules[__name__].__class__ = _CallableModule
__doc__ = bench.__doc__ or ""
__signature__ = inspect.signature(bench)
