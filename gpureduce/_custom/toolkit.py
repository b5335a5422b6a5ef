"""Finds the CUDA headers and compiler of a toolkit or of NVIDIA's wheels."""

from __future__ import annotations

import functools
import os
import re
import shutil
import sys
from collections.abc import Iterator

from gpureduce._rules.files import reject_exhausted

_ALL = ("cuda_fp16.h", "crt/mma.h")
_LIBCUXX = ("cccl", "")  # folder of libcu++ in the headers, since CUDA 13 and before
_VERSIONS = (
    ("cuda_runtime_api.h", rb"#define\s+CUDART_VERSION\s+(\d+)"),
    ("cuda/std/__cccl/version.h", rb"#define\s+CCCL_VERSION\s+(\d+)"),
)


def _candidates(library: str) -> Iterator[str]:
    """Yield header folders: next to NVRTC, of installed wheels, of toolkits."""
    near_nvrtc = os.path.dirname(os.path.dirname(os.path.realpath(library)))
    for root in (near_nvrtc, sys.prefix):
        yield os.path.join(root, "include")
        yield os.path.join(root, "targets", f"{os.uname().machine}-linux", "include")
    for folder in sys.path:
        yield os.path.join(folder, "nvidia", "cu13", "include")
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if home := os.environ.get(variable):
            yield os.path.join(home, "include")
    if nvcc := shutil.which("nvcc"):
        yield os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(nvcc))), "include")
    yield "/usr/local/cuda/include"


def _found(folder: str, pattern: bytes) -> bytes:
    try:
        with open(folder, "rb") as file:
            match = re.search(pattern, file.read(1 << 18))
    except OSError as error:
        reject_exhausted(error)
        return b""
    return match[1] if match else b""


@functools.cache
def header_folders(library: str, version: tuple[int, int]) -> tuple[str, ...]:
    """Return the folders of the CUDA headers and of libcu++, preferably of NVRTC's version."""

    def rank(folder: str) -> tuple[int, bool]:
        of = _found(os.path.join(folder, _VERSIONS[0][0]), _VERSIONS[0][1])
        has = sum(os.path.isfile(os.path.join(folder, name)) for name in _ALL) + bool(_libcuxx(folder))
        return has, of == str(1000 * version[0] + 10 * version[1]).encode()

    folders = [folder for folder in dict.fromkeys(_candidates(library)) if os.path.isdir(folder)]
    ranks = {folder: rank(folder) for folder in folders}
    best = max(folders, key=lambda folder: ranks[folder], default=None)  # the first of those alike
    if best is None or not ranks[best][0]:
        return ()
    return tuple(dict.fromkeys((best, *_libcuxx(best))))


def _libcuxx(folder: str) -> tuple[str, ...]:
    folders = (os.path.join(folder, inner).rstrip(os.sep) for inner in _LIBCUXX)
    return next(((each,) for each in folders if os.path.isfile(os.path.join(each, "cuda/std/limits"))), ())


@functools.cache
def headers_version(folders: tuple[str, ...]) -> str:
    """Return the versions of the headers in these folders."""
    versions = [_found(os.path.join(folder, name), text) for folder in folders for name, text in _VERSIONS]
    return b" ".join(versions).decode()
