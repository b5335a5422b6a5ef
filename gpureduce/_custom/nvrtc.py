"""Compiles CUDA C++ to PTX at run time with NVIDIA's NVRTC, with a cache.

NVRTC is optional. NVIDIA's cuda-pathfinder searches installed wheels, conda environments, and CUDA toolkits.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpureduce._custom import process, worker
from gpureduce._custom.disk_cache import digest, kept
from gpureduce._custom.includes import included
from gpureduce._custom.toolkit import header_folders, headers_version
from gpureduce._device.ptx import KERNEL_DIR
from gpureduce._rules.files import reject_exhausted

# As the shipped kernels are compiled (build_support/kernels.py), and functions need no __device__.
_FLAGS = ("-arch=compute_75", "-fmad=false", "-std=c++17", "-default-device")

# NVRTC has no standard headers; these declarations are what our headers need.
_INTEGERS = """
#pragma once
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef long long intptr_t;
typedef unsigned long long uintptr_t;
"""


class CompileError(ValueError):
    """NVRTC or nvcc rejected the source of a kernel; a subclass of ValueError.

    Attributes
    ----------
    log : str
        Output of the compiler. It names each expression by its parameter.
    source : str
        The complete source that was compiled.

    Examples
    --------
    >>> import gpureduce
    >>> wrong = gpureduce.ReductionKernel("T x", "T y", "x +", "a + b", "y = a", "0")
    >>> try:
    ...     wrong([1.0, 2.0], device="sim")
    ... except gpureduce.CompileError as error:
    ...     print(error.log.splitlines()[0])
    map_expr(2): error: expected an expression
    """

    def __init__(self, message: str, log: str = "", source: str = "") -> None:
        super().__init__(message)
        self.log = log
        self.source = source

    def __reduce__(self) -> tuple:
        return (CompileError, (*self.args, self.log, self.source), vars(self))


class Nvrtc:
    """The NVRTC library. It compiles in a separate process if one can be started."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._here = worker.Library(path)
        try:
            self.version = self._here.version()
        except worker.Failed as error:
            raise RuntimeError(str(error)) from None

    def _answer(self, request: dict[str, Any], name: str, source: str) -> tuple[bool, str, str]:
        """Return success, the PTX or the log, and the name of the kernel."""
        try:
            kind, *answer = process.ask(request)
        except process.CannotStart:
            try:
                kind, *answer = "done", *self._here.compile(request)
            except worker.Failed as error:
                kind, answer = "failed", [str(error)]
        except process.Ended:
            raise CompileError(
                f"{name}: the NVRTC process ended without a result, possibly for lack of memory", "", source
            ) from None
        except process.TookTooLong as error:
            raise CompileError(f"{name}: NVRTC takes longer than {error}", "", source) from None
        if kind == "failed":
            raise RuntimeError(answer[0])
        done, text, entry = answer
        return done, text.decode(errors="replace"), entry.decode()

    def _compile(
        self,
        name: str,
        source: str | bytes,
        options: tuple[str, ...],
        headers: dict[str, str],
        kernel: str = "",
        shown_name: str = "",
    ) -> tuple[str, str]:
        data = source if isinstance(source, bytes) else source.encode()
        request = {
            "library": self.path,
            "folder": working_folder(),
            "name": os.fsencode(name),
            "source": data,
            "options": [os.fsencode(option) for option in options],
            "headers": {os.fsencode(key): text.encode() for key, text in headers.items()},
            "kernel": kernel.encode(),
        }
        text = data.decode(errors="replace")
        done, result, entry = self._answer(request, shown_name or name, text)
        if done:
            return result, entry
        log = result.strip()
        if shown_name:
            log = re.sub(
                rf"^{re.escape(os.path.basename(name))}(?=\()", lambda _: shown_name, log, flags=re.MULTILINE
            )
            log = log.replace(f'"{name}"', f'"{shown_name}"')
        raise CompileError(f"{shown_name or name}: NVRTC rejected the kernel:\n{log}", log, text)

    def compile(self, name: str, source: str, options: tuple[str, ...], headers: dict[str, str]) -> str:
        """Return the PTX of a program, called `name` in messages."""
        return self._compile(name, source, options, headers)[0]

    def instantiate(
        self,
        name: str,
        source: str | bytes,
        kernel: str,
        options: tuple[str, ...],
        headers: dict[str, str],
        shown_name: str = "",
    ) -> tuple[str, str]:
        """Return the PTX of a program, and the PTX name of a kernel such as ``reduce<float, 256>``.

        `name` is the file name, next to which headers are searched; messages show `shown`.
        """
        return self._compile(name, source, options, headers, kernel, shown_name)


def working_folder() -> str:
    """Return the working folder, or the root if it was removed."""
    try:
        return os.getcwd()
    except (FileNotFoundError, PermissionError):
        return os.sep


@functools.cache
def library() -> Nvrtc:
    """Return NVRTC, or raise ImportError with installation instructions."""
    advice = "CUDA C++ is compiled by NVIDIA's NVRTC: pip install 'gpureduce[nvrtc]'"
    try:
        from cuda.pathfinder import DynamicLibNotFoundError, load_nvidia_dynamic_lib
    except ModuleNotFoundError as error:
        raise ImportError(f"{advice} (cuda-pathfinder, which finds it, is missing)") from error
    try:
        path = load_nvidia_dynamic_lib("nvrtc").abs_path
        return Nvrtc(path)
    except (DynamicLibNotFoundError, OSError) as error:
        reject_exhausted(error)
        raise ImportError(f"{advice} ({str(error).splitlines()[0]})") from error


@functools.cache
def headers() -> dict[str, str]:
    """Return the texts of the kernels' headers and of the standard headers that they need, by name."""
    folder = KERNEL_DIR / "src" / "include"
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    texts = {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in paths}
    return texts | {"cstdint": _INTEGERS, "stdint.h": _INTEGERS}


def compiled(name: str, source: str, options: tuple[str, ...] = ()) -> tuple[str, bool]:
    """Return the PTX of a program that may include the kernels' headers, and whether it was cached.

    The key is a digest of everything that the PTX depends on: NVRTC's version, the options, the headers, the
    source, and the files that it includes.
    """
    return prepared(name, source, options).compile()


@dataclass(frozen=True)
class Prepared:
    """A program to compile, and its cache key: None if not all inputs are known."""

    key: str | None
    compile: Callable[[], tuple[str, bool]]


def prepared(name: str, source: str, options: tuple[str, ...]) -> Prepared:
    """Return a program prepared for `compiled`."""
    nvrtc, options = library(), (*_FLAGS, *options)
    uses = _Uses(nvrtc, source.encode(), working_folder(), options, headers())
    key = uses.key(name, options, source)
    return Prepared(key, lambda: kept(key, lambda: nvrtc.compile(name, source, uses.options, uses.headers)))


class _Uses:
    """The files that a program includes, for compilation and for the cache key."""

    def __init__(
        self, nvrtc: Nvrtc, source: bytes, folder: str, options: tuple[str, ...], headers: dict[str, str]
    ) -> None:
        toolkit = header_folders(nvrtc.path, nvrtc.version)
        inclusions = included(source, folder, options, toolkit)
        self.files = inclusions
        self.headers = {key: text for key, text in headers.items() if key not in inclusions.names}
        self.options = (*options, *(f"-I{folder}" for folder in toolkit))
        self._toolkit = headers_version(toolkit) if inclusions.system - set(headers) else ""
        self._version = nvrtc.version

    def key(self, *also: object) -> str | None:
        """Return a digest of the files and of `more`; None if not all files are known."""
        if not self.files.certain:
            return None
        headers = {name: _kept_digest(text) for name, text in self.headers.items()}
        return digest(repr((self._version, headers, self._toolkit, self.files.digests(), also)))


_kept_digest = functools.cache(digest)  # of headers, which are the same in every program
