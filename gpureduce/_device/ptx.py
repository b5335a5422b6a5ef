"""The kernels of the package: their files, CUDA sources and PTX."""

from __future__ import annotations

from pathlib import Path

from gpureduce import _core

KERNEL_DIR = Path(__file__).parent.parent / "_ptx"


def source_lines(file: str) -> list[str]:
    """Return the lines of a kernel source of the package; none for other files."""
    if not file.startswith("cuda_kernels/"):
        return []
    try:
        return (KERNEL_DIR / "src" / file.removeprefix("cuda_kernels/")).read_text("utf-8").splitlines()
    except FileNotFoundError:
        return []


def ptx_text(file: str) -> str:
    """Return the PTX of a kernel source of the package."""
    return _core.read_image((KERNEL_DIR / file).with_suffix(".ptx.xz")).decode("utf-8")
