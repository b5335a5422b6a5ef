"""CUB's functions: sources next to this file, which nvcc compiles for the GPU of the machine.

The headers of CUB are those of the CUDA Toolkit, or newer ones in a folder: the include folder of CCCL, which
the package ``nvidia-cuda-cccl`` has below ``nvidia/cu13/include/cccl``.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FLAGS = ("-O3", "-std=c++17", "-arch=native", "-shared", "-Xcompiler", "-fPIC", "-DNDEBUG")
REDUCTIONS = Path(__file__).with_name("cub_peer.cu")
SCANS = Path(__file__).with_name("cub_scans.cu")
LEVELS = Path(__file__).with_name("cub_levels.cu")


def build(nvcc: str | Path, source: Path, headers: str | Path | None = None) -> ctypes.CDLL:
    """Compile a source, with newer headers if they are passed, and load it.

    The library is deleted at once, and stays mapped.
    """
    include = () if headers is None else ("-I", str(headers))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, source.with_suffix(".so").name)
        subprocess.run([str(nvcc), *FLAGS, *include, "-o", str(path), str(source)], check=True)
        return ctypes.CDLL(str(path))


def installed_headers() -> Path | None:
    """Return the headers of the package ``nvidia-cuda-cccl``, if it is installed."""
    for folder in sys.path:
        for headers in Path(folder).glob("nvidia/cu*/include/cccl"):
            return headers
    return None


def version(headers: Path) -> str:
    """Return the version of CCCL of a folder of headers, such as "3.5.0"."""
    text = (headers / "cuda/std/__cccl/version.h").read_text(encoding="utf-8")
    found = re.search(r"^#define CCCL_VERSION (\d+)", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"no CCCL_VERSION in the headers of {headers}")
    number = int(found[1])
    return f"{number // 1_000_000}.{number // 1000 % 1000}.{number % 1000}"
