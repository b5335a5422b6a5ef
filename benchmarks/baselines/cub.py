"""CUB's functions: sources next to this file, which nvcc compiles for the GPU of the machine."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from pathlib import Path

FLAGS = ("-O3", "-std=c++17", "-arch=native", "-shared", "-Xcompiler", "-fPIC", "-DNDEBUG")
REDUCTIONS = Path(__file__).with_name("cub_peer.cu")
SCANS = Path(__file__).with_name("cub_scans.cu")


def build(nvcc: str | Path, source: Path) -> ctypes.CDLL:
    """Compile a source and load it. The library is deleted at once, and stays mapped."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, source.with_suffix(".so").name)
        subprocess.run([str(nvcc), *FLAGS, "-o", str(path), str(source)], check=True)
        return ctypes.CDLL(str(path))
