"""Users' programs: CUDA C++, which is compiled to PTX, or PTX."""

from __future__ import annotations

import codecs
import functools
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from gpureduce import _core
from gpureduce._custom import nvrtc
from gpureduce._profiles.compiling import compiled
from gpureduce._profiles.declared import declared, enumeration
from gpureduce._profiles.itanium_demangle import CType, demangled, find_entries, parameters
from gpureduce._rules.files import open_file

# File name of source text.
UNNAMED = "kernel.cu"
# Default options, which the user may override. With -fmad=false, a * b + c has two roundings, as in the
# shipped kernels.
_DEFAULTS = {
    "-arch": "-arch=compute_90", "-fmad": "-fmad=false", "-std": "-std=c++17",
    "-device-int128": "-device-int128",
}  # fmt: skip
_SPELLED = {
    "--gpu-architecture": "-arch",
    "--fmad": "-fmad",
    "--std": "-std",
    "--device-int128": "-device-int128",
}

_parsed = functools.lru_cache(maxsize=8)(_core.parse_ptx)

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
SUFFIXES = (".cu", ".cuh", ".ptx", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".txt")
_KERNEL = re.compile(
    r"(?P<template>\btemplate\s*<[^;{}()]*>\s*)?"
    r'(?:\bextern\s*"C"\s*)?(?:\b(?:static|inline)\s+)*\b__global__\b'
    r"(?:[^;{}()]*?\b__\w+__\s*\([^)]*\))*[^;{}()]*?\b(?!__\w+__\s*\()(?P<name>[A-Za-z_]\w*)\s*\("
)


@dataclass(frozen=True)
class Program:
    """A kernel of a user, as PTX.

    `sources` are the source texts by their names in the PTX; empty for PTX. `types` are the kernel's
    parameter types, None if unknown. `compiler` is the compiler of the PTX.
    """

    ptx: str
    entry: str
    kernel: str
    sources: dict[str, str] = field(default_factory=dict)
    types: tuple[CType | None, ...] | None = None
    compiler: str = ""

    @property
    def module(self) -> object:
        """Return the parsed PTX, shared by calls with the same text."""
        return _parsed(self.ptx)

    def location(self, number: int) -> tuple[str, int] | None:
        """Return file and source line of a PTX line, if known."""
        files = dict(re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', self.ptx, re.MULTILINE))
        for line in reversed(self.ptx.split("\n")[:number]):
            if (match := re.match(r"\s*\.loc\s+(\d+)\s+(\d+)", line)) and files.get(match[1]) in self.sources:
                return files[match[1]], int(match[2])
            if ".entry" in line:
                break
        return None

    def line(self, file: str, number: int) -> str:
        """Return a line of a source."""
        return [*self.sources[file].splitlines(), *[""] * number][number - 1]


def _plain(text: str) -> str:
    """Return a text without its comments."""
    return _COMMENT.sub(lambda match: " " * len(match[0]), text)


def kernel_names(text: str) -> dict[str, bool]:
    """Return the names of the ``__global__`` functions in CUDA C++, and whether each is a template."""
    plain = _plain(text)
    return {match["name"]: match["template"] is not None for match in _KERNEL.finditer(plain)}


def is_ptx(text: str) -> bool:
    """Return whether a text is PTX, which begins with a directive, unlike CUDA C++."""
    return _COMMENT.sub("", text).strip()[:1] in (".", "")


@dataclass(frozen=True)
class Source:
    """A source text, as bytes too, and its file, if any."""

    text: str
    data: bytes
    path: str | None = None

    @property
    def name(self) -> str:
        """Name of the source in listings."""
        return UNNAMED if self.path is None else self.path


def _decoded(data: bytes) -> str:
    """Return the text of a file: UTF-8, with other bytes replaced, as in comments."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def is_path(source: object) -> bool:
    """Return whether an argument is a path, not source text (several lines, brackets or semicolons)."""
    if isinstance(source, os.PathLike):
        return True
    if not isinstance(source, str) or "\n" in source or "\0" in source or not source.strip():
        return False
    if source.lower().endswith(SUFFIXES):
        return True
    return not re.search(r"[{(;]", source) and (os.sep in source or os.path.exists(source))


def read(source: object) -> Source:
    """Return the source given as text or as a path."""
    if is_path(source):
        path = os.fspath(source)  # type: ignore[call-overload]
        path = os.fsdecode(path)
        if "\0" in path:
            raise ValueError("source: a path cannot have a NUL character")
        with open_file(path) as file:
            data = file.read()
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in data:
            raise ValueError(
                f"source: {path} is not UTF-8 text: it has NUL bytes, like UTF-16; save it as UTF-8"
            )
        data = data.removeprefix(codecs.BOM_UTF8)
        return Source(_decoded(data), data, path)
    if not isinstance(source, str):
        raise TypeError(f"source: expected str or a path, got {type(source).__name__}")
    text = source.removeprefix("\ufeff")
    try:
        return Source(text, text.encode())
    except UnicodeEncodeError:
        raise ValueError("source: the text cannot have lone surrogates") from None


def _options(options: Iterable[str]) -> tuple[str, ...]:
    if isinstance(options, str):
        raise TypeError("options: expected a tuple of str, got str")
    if not isinstance(options, Iterable) or getattr(options, "shape", None) == ():
        raise TypeError(f"options: expected a tuple of str, got {type(options).__name__}")
    options = tuple(options)
    if not all(isinstance(option, str) for option in options):
        raise TypeError("options: expected a tuple of str")
    names = {option.partition("=")[0] for option in options}
    names = {_SPELLED.get(name, name) for name in names}
    return ("-lineinfo", *(flag for name, flag in _DEFAULTS.items() if name not in names), *options)


def with_sync(old: str) -> str:
    """Return the replacement of a removed warp function of CUDA."""
    return (
        f"{old} was removed from CUDA: use {old}_sync, whose first argument is the mask of the lanes that "
        "take part, such as 0xffffffff"
    )


def _hint(text: str, kernel: str, log: str) -> str:
    """Return a hint in addition to the compiler's messages."""
    names = kernel_names(text)
    if names and re.split("[<(]", kernel)[0].strip() not in names and "::" not in kernel:
        return f"\nkernel: there is no kernel {kernel!r} in the source; it has {', '.join(names)}"
    if names.get(kernel):
        return f"\nkernel: {kernel} is a template; pass its arguments, as in {kernel + '<float>'!r}"
    if "overloaded function" in log and "(" not in kernel:
        return f"\nkernel: {kernel!r} is overloaded; pass its parameters, as in {kernel + '(float *, int)'!r}"
    if old := re.search(r'"(__(?:shfl(?:_up|_down|_xor)?|ballot|any|all))" is undefined', log):
        return f"\n{with_sync(old[1])}"
    return ""


def _types(entry: str, kernel: str, sources: dict[str, str]) -> tuple[CType | None, ...] | None:
    """Return the types of a kernel's parameters, from its PTX name or from the sources."""
    plain = [_plain(text) for text in sources.values()]
    types = parameters(entry)
    if types is None:
        return None if "<" in kernel else declared(kernel.rpartition("::")[2].strip(), plain)
    return tuple(
        each if each.dtype or each.pointer else enumeration(each.text, plain) or each for each in types
    )


def _of_ptx(ptx: str, kernel: str | None) -> Program:
    """Return a kernel of PTX, by its mangled or demangled name."""
    entries, names = find_entries(_COMMENT.sub("", ptx), kernel or "")
    if kernel is None:
        if len(names) != 1:
            choices = f"there are {', '.join(names.values())}" if names else "there is no .entry"
            raise ValueError(f"kernel: expected a name; in the PTX {choices}")
        entries = list(names)
    if len(entries) == 1:
        return Program(ptx, entries[0], names[entries[0]])
    try:
        _core.kernel_params(_parsed(ptx), kernel or "")  # parse errors are raised first
    except ValueError as error:
        raise ValueError(demangled(str(error))) from None
    except _core.SimulationError:
        pass
    return Program(ptx, kernel or "", kernel or "")


def program(source_or_path: object, kernel: str | None, options: Iterable[str] = ()) -> Program:
    """Compile a kernel of CUDA C++, or take PTX.

    `kernel` None means the only kernel in the source.
    """
    source = read(source_or_path)
    text = source.text
    if kernel is not None and not isinstance(kernel, str):
        raise TypeError(f"kernel: expected str, got {type(kernel).__name__}")
    if kernel is not None and re.search("[\0\ud800-\udfff]", kernel):
        raise ValueError(f"kernel: a name cannot have a NUL character or a lone surrogate, got {kernel!r}")
    options = _options(options)
    if is_ptx(text):
        return _of_ptx(text, kernel)
    if "\0" in text:
        raise ValueError("source: the text cannot have a NUL character")
    if kernel is None:
        names = kernel_names(text)
        if len(names) != 1:
            choices = f"there are {', '.join(names)}" if names else "there is no __global__ function"
            raise ValueError(f"kernel: expected a name; in the source {choices}")
        (kernel,) = names
    file = os.path.abspath(source.path or os.path.join(nvrtc.working_folder(), UNNAMED))
    try:
        built = compiled(file, source.data, kernel, options, source.name)
    except nvrtc.CompileError as error:
        raise nvrtc.CompileError(f"{error}{_hint(text, kernel, error.log)}", error.log, text) from None
    folder = os.path.join(os.path.dirname(file), "")
    called = {"0": source.name}
    sources = {source.name: text}
    for number, (path, data) in enumerate(built.files.items(), 1):
        called[str(number)] = name = path.removeprefix(folder)
        sources[name] = _decoded(data)
    ptx = re.sub(
        r'^(\s*\.file\s+\d+\s+")(\d+)(?=")',
        lambda line: line[1] + called[line[2]],
        built.ptx,
        flags=re.MULTILINE,
    )
    return Program(ptx, built.entry, kernel, sources, _types(built.entry, kernel, sources), built.compiler)
