"""Compiling CUDA C++ to PTX while the program runs, with NVIDIA's NVRTC, and keeping what was compiled.

NVRTC is optional, and looked for by NVIDIA's cuda-pathfinder: among installed wheels, in conda environments,
then in a CUDA toolkit.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from gpureduce._device.kernels import KERNELS

# As the shipped kernels are compiled (build_support/kernels.py), and functions need no __device__.
_FLAGS = ("-arch=compute_75", "-fmad=false", "-std=c++17", "-default-device")
_COMPILATION = 6  # NVRTC_ERROR_COMPILATION
_INVALID_OPTION = 5  # NVRTC_ERROR_INVALID_OPTION
_NAME_EXPRESSION = 10  # NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID

# NVRTC has no standard headers; this is what ours need of them.
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
    """NVRTC refuses the source of a kernel; a kind of ValueError, since a part of it was an argument.

    Attributes
    ----------
    log : str
        What NVRTC says. It calls each expression by the name of its parameter.
    source : str
        All that was compiled.

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
        return (CompileError, (*self.args, self.log, self.source))


class Nvrtc:
    """The library, of which only one is ever loaded."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        self._library.nvrtcGetErrorString.restype = ctypes.c_char_p
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._check(self._library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)), "nvrtcVersion")
        self.version = (major.value, minor.value)

    def _check(self, result: int, doing: str) -> None:
        if result:
            text = self._library.nvrtcGetErrorString(result).decode()
            raise RuntimeError(f"NVRTC: {doing}: {text}")

    @contextlib.contextmanager
    def _program(self, name: str, source: str, headers: dict[str, str]) -> Iterator[ctypes.c_void_p]:
        program = ctypes.c_void_p()
        texts = (ctypes.c_char_p * len(headers))(*(text.encode() for text in headers.values()))
        names = (ctypes.c_char_p * len(headers))(*(name.encode() for name in headers))
        created = self._library.nvrtcCreateProgram(
            ctypes.byref(program), source.encode(), name.encode(), len(headers), texts, names
        )
        self._check(created, "nvrtcCreateProgram")
        try:
            yield program
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))

    def _text(self, program: ctypes.c_void_p, what: str) -> str:
        size = ctypes.c_size_t()
        self._check(getattr(self._library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)), what)
        text = ctypes.create_string_buffer(size.value)
        self._check(getattr(self._library, f"nvrtcGet{what}")(program, text), what)
        return text.value.decode(errors="replace")

    def compile(self, name: str, source: str, options: tuple[str, ...], headers: dict[str, str]) -> str:
        """Return the PTX of a program; `name` stands for it in messages."""
        with self._program(name, source, headers) as program:
            return self._compile(program, name, source, options)

    def instantiate(
        self, name: str, source: str, kernel: str, options: tuple[str, ...], headers: dict[str, str]
    ) -> tuple[str, str]:
        """Return the PTX of a program, and the name in it of a kernel, as ``reduce<float, 256>``."""
        with self._program(name, source, headers) as program:
            expression = kernel.encode()
            self._check(self._library.nvrtcAddNameExpression(program, expression), f"naming {kernel}")
            ptx = self._compile(program, name, source, options)
            entry = ctypes.c_char_p()
            found = self._library.nvrtcGetLoweredName(program, expression, ctypes.byref(entry))
            self._check(found, f"finding {kernel}")
            return ptx, (entry.value or b"").decode()  # before the program goes, to which it belongs

    def _compile(self, program: ctypes.c_void_p, name: str, source: str, options: tuple[str, ...]) -> str:
        given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        result = self._library.nvrtcCompileProgram(program, len(options), given)
        if result in (_COMPILATION, _INVALID_OPTION, _NAME_EXPRESSION):
            log = self._text(program, "ProgramLog").strip()
            raise CompileError(f"{name}: NVRTC refuses the kernel:\n{log}", log, source)
        self._check(result, f"compiling {name}")
        return self._text(program, "PTX")


@functools.cache
def library() -> Nvrtc:
    """Return NVRTC, or raise ImportError that says how to install it."""
    advice = "CUDA C++ is compiled by NVIDIA's NVRTC: pip install 'gpureduce[nvrtc]'"
    try:
        from cuda.pathfinder import DynamicLibNotFoundError, load_nvidia_dynamic_lib
    except ImportError as error:
        raise ImportError(f"{advice} (cuda-pathfinder, which finds it, is missing)") from error
    try:
        path = load_nvidia_dynamic_lib("nvrtc").abs_path
        return Nvrtc(path)
    except (DynamicLibNotFoundError, OSError) as error:
        raise ImportError(f"{advice} ({str(error).splitlines()[0]})") from error


@functools.cache
def headers() -> dict[str, str]:
    """Return the texts of the kernels' headers, and of the standard ones that they need, by name."""
    folder = KERNELS / "src" / "include"
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    texts = {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in found}
    return texts | {"cstdint": _INTEGERS, "stdint.h": _INTEGERS}


def cache_folder() -> Path | None:
    """Return where compiled kernels are kept between runs; None when there is no such place."""
    if named := os.environ.get("GPUREDUCE_CACHE_DIR"):
        return Path(named)
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if base.is_absolute():  # the specification has others ignored
        return base / "gpureduce"
    try:
        return Path.home() / ".cache" / "gpureduce"
    except RuntimeError:
        return None


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _read(path: Path) -> str | None:
    """Return what `_write` wrote, None when it is not there or not whole."""
    try:
        digest, _, ptx = path.read_text("utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return ptx if digest == f"// {_digest(ptx)}" else None


def _write(path: Path, ptx: str) -> None:
    """Replace the file at once; what cannot be kept is compiled again next time."""
    part = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
            part = file.name
            file.write(f"// {_digest(ptx)}\n{ptx}")
        os.replace(part, path)
    except OSError:
        if part is not None:
            with contextlib.suppress(OSError):
                os.unlink(part)


def compiled(name: str, source: str, options: tuple[str, ...] = ()) -> tuple[str, bool]:
    """Return the PTX of a program that may include the kernels' headers, and whether it was kept on disk.

    The file's name is a digest of all that the PTX depends on: NVRTC's version, the options, the headers and
    the source. (Not of files that `options` give access to.)
    """
    nvrtc, options = library(), (*_FLAGS, *options)
    return _kept(
        (nvrtc.version, name, options, headers()),
        source,
        lambda: nvrtc.compile(name, source, options, headers()),
    )


def instantiated(
    name: str, source: str, kernel: str, options: tuple[str, ...], beside: dict[str, str]
) -> tuple[str, str]:
    """Return the PTX of a program and the name in it of a kernel; `beside` has the headers it may include.

    It is kept on disk as by `compiled`.
    """
    nvrtc = library()

    def both() -> str:
        ptx, entry = nvrtc.instantiate(name, source, kernel, options, beside)
        return f"{entry}\n{_without_folder(ptx)}"

    text, _ = _kept((nvrtc.version, name, kernel, options, beside), source, both)
    entry, _, ptx = text.partition("\n")
    return ptx, entry


def _without_folder(ptx: str) -> str:
    """Return PTX whose files are called as they were given: NVRTC puts the working folder in front."""
    folder = os.path.join(os.getcwd(), "")
    return re.sub(rf'^(\s*\.file\s+\d+\s+"){re.escape(folder)}', r"\1", ptx, flags=re.MULTILINE)


def _kept(depends_on: tuple, source: str, make: Callable[[], str]) -> tuple[str, bool]:
    """Return what is kept on disk of a source and of what else it depends on, made where it is not there.

    And whether it was there.
    """
    folder = cache_folder()
    if folder is None:
        return make(), False
    path = folder / f"{_digest(repr(depends_on), source)}.ptx"
    text = _read(path)
    if text is not None:
        return text, True
    text = make()
    _write(path, text)
    return text, False
