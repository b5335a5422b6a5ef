"""The kernels that the package carries: compiled, and as sources."""

from __future__ import annotations

from pathlib import Path

from gpureduce import _core

KERNELS = Path(__file__).parent.parent / "kernels"


def source_lines(file: str) -> list[str]:
    """Return the lines of a kernel source that the package carries; none of any other file."""
    if not file.startswith("cuda_kernels/"):
        return []
    try:
        return (KERNELS / "src" / file.removeprefix("cuda_kernels/")).read_text("utf-8").splitlines()
    except FileNotFoundError:
        return []


def ptx_text(file: str) -> str:
    """Return the PTX of a kernel source that the package carries."""
    return _core.read_image((KERNELS / file).with_suffix(".ptx.gz")).decode("utf-8")
