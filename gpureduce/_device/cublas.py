"""NVIDIA's cuBLAS, behind the variant ``cublas``: the core loads it by its name, nothing is linked to it.

Where the dynamic linker does not find it, NVIDIA's cuda-pathfinder does, if it is installed: among wheels, in
conda environments, then in a CUDA toolkit.
"""

from __future__ import annotations

import contextlib

from gpureduce import _core


def is_there() -> bool:
    """Return whether the library is loaded, or can be."""
    return load() is None


def load() -> str | None:
    """Have the library loaded; return why that failed, or None."""
    problem = _core.cublas_problem()
    if problem is None:
        return None
    with contextlib.suppress(ImportError):
        from cuda.pathfinder import DynamicLibNotFoundError, load_nvidia_dynamic_lib

        with contextlib.suppress(DynamicLibNotFoundError, OSError):
            load_nvidia_dynamic_lib("cublas")
            return _core.cublas_problem()
    return problem
