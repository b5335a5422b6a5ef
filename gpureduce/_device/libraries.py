"""NVIDIA's libraries behind the variants ``cublas`` and ``cudnn``: loaded by the core, by name, never linked.

If the dynamic linker does not find one, NVIDIA's cuda-pathfinder searches wheels, conda environments and CUDA
toolkits, if it is installed.
"""

from __future__ import annotations

import contextlib

from gpureduce import _core

_VARIANTS = ("cublas", "cudnn")


def is_vendor_library(variant: str) -> bool:
    """Return whether a variant calls such a library."""
    return variant in _VARIANTS


def is_available(variant: str) -> bool:
    """Return whether the library is loaded, or can be."""
    return load(variant) is None


def load(variant: str) -> str | None:
    """Load the library; return the reason for a failure, or None."""
    problem = _core.library_problem(variant)
    if problem is None:
        return None
    with contextlib.suppress(ImportError):
        from cuda.pathfinder import DynamicLibNotFoundError, load_nvidia_dynamic_lib

        # An older version raises ValueError for an unknown library.
        with contextlib.suppress(DynamicLibNotFoundError, OSError, ValueError):
            load_nvidia_dynamic_lib(variant)
            return _core.library_problem(variant)
    return problem
