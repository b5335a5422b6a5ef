"""Calls a function when a program imports a module of PyTorch that takes long to import."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import abc, machinery
from types import ModuleType
from typing import Any


class _Loader(abc.Loader):
    """Loads a module by its own loader, and calls the finder's function."""

    def __init__(self, loader: abc.Loader, finder: _Finder) -> None:
        self.loader = loader
        self.finder = finder

    def create_module(self, spec: machinery.ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        if self.finder in sys.meta_path:
            sys.meta_path.remove(self.finder)
            self.finder.function()


class _Finder(abc.MetaPathFinder):
    """Finds one module, until a program has imported it."""

    def __init__(self, name: str, function: Callable[[], Any]) -> None:
        self.name = name
        self.function = function

    def find_spec(self, name: str, path: Any, target: Any = None) -> machinery.ModuleSpec | None:
        if name != self.name:
            return None
        spec = machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self)
        return spec


def when_imported(name: str, function: Callable[[], Any]) -> None:
    """Call a function now if a module is imported, else as soon as it is."""
    if name in sys.modules:
        function()
    else:
        sys.meta_path.insert(0, _Finder(name, function))
