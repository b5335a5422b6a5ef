"""The pages of the reference: one for each public name, of its docstring."""

from __future__ import annotations

import importlib.util
import inspect
import pkgutil
import sys
from types import ModuleType
from unittest.mock import MagicMock

MODULES = ("gpureduce", "gpureduce.numpy_like", "gpureduce.torch")
BENCH = "gpureduce.bench"


def stand_in_for_torch() -> None:
    """Let gpureduce.torch be imported without PyTorch, of which it then needs names only."""
    if importlib.util.find_spec("torch") is None:
        sys.modules["torch"] = MagicMock(name="torch")
        sys.modules["torch"].autograd.Function = object


def public(module: ModuleType) -> list[str]:
    """Return the public names of a module that are to be documented on pages of their own."""
    modules = {name for name in module.__all__ if inspect.ismodule(getattr(module, name))}
    return [name for name in module.__all__ if name not in modules and not name.startswith("__")]


def _directive(value: object) -> str:
    if inspect.isclass(value):
        return "autoclass"
    return "autofunction" if inspect.isroutine(value) else "autodata"


def _options(value: object) -> list[str]:
    if inspect.isclass(value):
        return ["   :members:"]
    return [] if inspect.isroutine(value) else ["   :no-value:"]


def _titled(title: str, lines: list[str]) -> str:
    return "\n".join([title, "=" * len(title), "", *lines, ""])


def _module_page(name: str, names: list[str]) -> str:
    head = [f".. automodule:: {name}", "", f".. currentmodule:: {name}", "", ".. autosummary::", ""]
    return _titled(name, [*head, *(f"   {each}" for each in names)])


def reference_pages() -> dict[str, str]:
    """Return the pages by the name of the file."""
    stand_in_for_torch()
    pages = {}
    for name in MODULES:
        module = importlib.import_module(name)
        names = public(module)
        pages[f"reference/{name}.rst"] = _module_page(name, names)
        for each in names:
            value = getattr(module, each)
            directive = f".. {_directive(value)}:: {name}.{each}"
            body = _titled(f"{name}.{each}", [directive, *_options(value)])
            pages[f"reference/{name}.{each}.rst"] = f":orphan:\n\n{body}"  # the module's page leads to it
    parts = importlib.import_module(BENCH)
    names = [each.name for each in pkgutil.iter_modules(parts.__path__)]
    lines = [f".. automodule:: {BENCH}", ""]
    for each in names:
        lines += [f"{BENCH}.{each}", "-" * len(f"{BENCH}.{each}"), "", f".. automodule:: {BENCH}.{each}"]
        lines += ["   :members:", ""]
    pages[f"reference/{BENCH}.rst"] = _titled(BENCH, lines)
    return pages
