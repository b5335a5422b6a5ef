"""The other libraries that benchmarks compare gpureduce with, as far as they are installed."""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

LABELS = {
    "torch": "PyTorch",
    "cupy": "CuPy",
    "jax": "JAX",
    "cub": "CUB",
    "numpy": "NumPy",
    "nccl": "NCCL",
    "torch_scatter": "torch_scatter",
}


class MissingLibraryError(RuntimeError):
    """A library that a benchmark cannot do without is not installed."""


class Libraries:
    """Imported libraries by name, and why the others lack. "cub" is the path of nvcc, which compiles it."""

    def __init__(self) -> None:
        self.modules: dict[str, Any] = {}
        self.missing: dict[str, str] = {}

    def get(self, name: str) -> Any:
        """Return a library; None if it lacks."""
        return self.modules.get(name)

    def versions(self) -> dict[str, str]:
        """Return the versions of the imported libraries."""
        named = {name: getattr(module, "__version__", None) for name, module in self.modules.items()}
        return {name: str(version) for name, version in named.items() if version is not None}


def find_nvcc(path: str | None) -> str | None:
    """Return the path of nvcc: `path` if it is passed, else nvcc in the PATH or in /usr/local/cuda."""
    return shutil.which(path or "nvcc") or (None if path else shutil.which("/usr/local/cuda/bin/nvcc"))


def _import(name: str, nvcc: str | None) -> Any:
    if name == "cub":
        if (found := find_nvcc(nvcc)) is None:
            raise ImportError(f"no nvcc at {nvcc}" if nvcc else "no nvcc in the PATH; --nvcc names one")
        return Path(found)
    if name == "jax":
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX would take most of the memory
    return importlib.import_module(name)


def load(
    required: Iterable[str], optional: Iterable[str], without: Iterable[str], nvcc: str | None
) -> Libraries:
    """Import libraries.

    Raises
    ------
    MissingLibraryError
        If one of the required ones is not installed.
    """
    libraries, excluded, needed = Libraries(), set(without), tuple(required)
    for name in (*needed, *optional):
        try:
            if name in excluded:
                raise ImportError("left out by --without")
            libraries.modules[name] = _import(name, nvcc)
        except Exception as error:  # a library that is installed may fail in its own way
            reason = "not installed" if isinstance(error, ModuleNotFoundError) else str(error)
            libraries.missing[name] = reason
            if name in needed:
                raise MissingLibraryError(f"it needs {LABELS.get(name, name)}: {reason}") from None
    return libraries
