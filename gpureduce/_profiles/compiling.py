"""Compiles CUDA C++ to PTX: by NVRTC if possible, else by nvcc, else without host code."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass

from gpureduce._custom import host_code, implicit, nvcc, nvrtc
from gpureduce._custom.disk_cache import digest, kept
from gpureduce._custom.includes import included, without_folders
from gpureduce._custom.toolkit import header_folders, headers_version
from gpureduce._profiles.itanium_demangle import find_entries

_NVCC = "by nvcc"  # cached instead of PTX if NVRTC cannot compile the source
_HOST = "considered a host function"
_NO_HEADER = re.compile(r"catastrophic error: (?:could not|cannot) open source file \"([^\"]+)\"")
# Messages for a source with host code that was not recognized.
_OF_HOST = re.compile(
    r'identifier "cuda[A-Z]\w*"|namespace "std" has no member|explicitly marked as a __host__'
)
# Messages that a header of libcu++ or of CUDA may fix, and for a source that defines a name of the prelude.
_LACKS_STD = 'namespace "std" has no member'
_LACKS = re.compile(rf'{_LACKS_STD}|open source file|identifier "(?:cu|CU)\w+" is undefined|"std::')
_TWICE = re.compile(r"redeclaration|redefin|ambiguous|already|more than one|incompatible with|overload")
_RUNTIME = ("cuda.h", "cuda_runtime.h", "cuda_runtime_api.h")


@dataclass(frozen=True)
class Compiled:
    """A compiled kernel: PTX, its name there, its source files, and the compiler.

    The PTX refers to files by number: 0 is the source, followed by `files`.
    """

    ptx: str
    entry: str
    files: dict[str, bytes]
    compiler: str


class _Job:
    """A source to compile: its file, and its name in messages."""

    def __init__(self, file: str, source: bytes, kernel: str, options: tuple[str, ...], shown: str) -> None:
        self.nvrtc = nvrtc.library()
        self.file, self.source, self.kernel, self.options, self.shown = file, source, kernel, options, shown
        self.name = os.path.basename(file)
        self.toolkit = header_folders(self.nvrtc.path, self.nvrtc.version)
        self.includes = included(source, os.path.dirname(file), options, self.toolkit)

    def key(self) -> str | None:
        """Return the cache key, which contains no absolute path."""
        if not self.includes.certain:
            return None
        texts = self.includes.texts.values()
        # Folders are in the key only if a source may contain its own path; the files in them are in the key
        # anyway.
        paths = any(b"__FILE__" in text or b"assert" in text for text in texts)
        options = self.options if paths else without_folders(self.options)
        known = (
            (self.nvrtc.version, headers_version(self.toolkit), nvcc.find() is not None),
            (implicit.PRELUDE, self._headers(True, False), self._headers(False, True)),
            (self.name, self.kernel, options, self.source, self.includes.digests()),
        )
        return digest(repr(known))

    def _headers(self, prelude: bool, libcuxx: bool) -> dict[str, str]:
        texts = implicit.headers(libcuxx) | nvrtc.headers()
        if prelude:
            texts |= {"cstdint": "", "stdint.h": ""}
        else:
            texts |= dict.fromkeys(("climits", "limits.h"), implicit.CONSTANTS)
        if libcuxx:
            texts = {name: text for name, text in texts.items() if name not in _RUNTIME}
        return {name: text for name, text in texts.items() if name not in self.includes.names}

    def by_nvrtc(
        self, source: bytes, *, prelude: bool = True, libcuxx: bool = False, device: bool = False
    ) -> str:
        """Return the compiler, the PTX name of the kernel, and the PTX, one line each.

        `prelude` adds nvcc's implicit declarations; `libcuxx` adds the headers of libcu++ instead of empty
        ones, which takes a second; `device` treats unannotated functions, such as generic lambdas, as device
        functions.
        """
        quoted = self.name.replace("\\", "\\\\").replace('"', '\\"')
        head = implicit.PRELUDE if prelude else ""
        if libcuxx:
            head += "#include <type_traits>\n#include <utility>\n"
        text = f'{head}#line 1 "{quoted}"\n'.encode(errors="surrogateescape") + source
        options = (*self.options, *(f"-I{folder}" for folder in self.toolkit))
        ptx, entry = self.nvrtc.instantiate(
            self.file,
            text,
            _expression(self.kernel),
            (*options, *({"-default-device"} - set(options))) if device else options,
            self._headers(prelude, libcuxx),
            self.shown,
        )
        return self._text("NVRTC {}.{}".format(*self.nvrtc.version), entry, ptx)

    def by_nvcc(self, path: str) -> str:
        """Return the same by nvcc."""
        try:
            ptx = nvcc.compile(path, self.file, self.source, _expression(self.kernel), self.options)
        except nvcc.Refused as error:
            log = re.sub(
                rf"^{re.escape(self.name)}(?=[(:])", lambda _: self.shown, str(error), flags=re.MULTILINE
            )
            raise nvrtc.CompileError(f"{self.shown}: nvcc rejected the kernel:\n{log}", log) from None
        return self._text(f"nvcc {nvcc.version(path)}", self._entry(ptx), ptx)

    def _entry(self, ptx: str) -> str:
        """Return the name of the kernel in PTX with all kernels of the source."""
        entries, names = find_entries(ptx, self.kernel)
        if len(entries) != 1:
            kernel_names = ", ".join(names.values()) or "none"
            log = f"kernel: there is no kernel {self.kernel!r} in the source; it has {kernel_names}"
            raise nvrtc.CompileError(f"{self.shown}: {log}", log)
        return entries[0]

    def _text(self, compiler: str, entry: str, ptx: str) -> str:
        return f"{compiler}\n{entry}\n{_numbered(ptx, self.name, list(self.includes.texts))}"


def _expression(kernel: str) -> str:
    """Return a kernel as a C++ expression; with parameters, one of several overloads."""
    overload = re.fullmatch(r"((?:[^()<]|<.*>)+?)\s*\((.*)\)", kernel)
    return f"static_cast<void (*)({overload[2]})>({overload[1]})" if overload else kernel


def _numbered(ptx: str, name: str, files: list[str]) -> str:
    """Return PTX that refers to the source and its included files by number."""
    folder = nvrtc.working_folder()
    numbers = {os.path.join(folder, name): 0}
    numbers |= {path: number for number, path in enumerate(files, 1)}
    numbers |= {os.path.realpath(path): number for number, path in enumerate(files, 1)}

    def replaced(line: re.Match[str]) -> str:
        path = os.path.normpath(os.path.join(folder, line[2]))
        number = numbers.get(path, numbers.get(os.path.realpath(path)))
        return line[0] if number is None else f"{line[1]}{number}{line[3]}"

    return re.sub(r'^(\s*\.file\s+\d+\s+")([^"]*)(")', replaced, ptx, flags=re.MULTILINE)


def _without_nvcc(job: _Job, host: host_code.Blanked, first: nvrtc.CompileError) -> str:
    """Return PTX by NVRTC of a source that it first rejected, or raise the most relevant error.

    Another attempt is made only if the messages of NVRTC suggest that it may succeed.
    """
    source = host.text.encode("utf-8", "surrogateescape")
    told = first

    def lacks() -> bool:
        names = job.toolkit and (b"using namespace std" in source or _LACKS.search(told.log))
        return bool(names) and told.log not in tried

    tried: set[str] = set()  # by libcu++
    ways: list[tuple[Callable[[], bool], dict[str, bool]]] = [
        (lambda: _LACKS_STD in told.log and lacks(), {"libcuxx": True}),
        (lambda: _HOST in told.log or source != job.source, {}),
        (lacks, {"libcuxx": True}),
        (lambda: _TWICE.search(told.log) is not None, {"prelude": False}),
    ]
    for may_help, options in ways:
        if not may_help():
            continue
        try:
            return job.by_nvrtc(source, device=True, **options)
        except nvrtc.CompileError as error:
            incomplete = _HOST in told.log or _NO_HEADER.search(told.log)
            if incomplete or len(error.log) < len(told.log):
                told = error
            if "libcuxx" in options:
                tried.add(told.log)
    if host.functions or _NO_HEADER.search(told.log) or _OF_HOST.search(told.log):
        advice = _advice(job, host, told.log)
        raise nvrtc.CompileError(f"{told}\n{advice}", told.log)
    raise told


def _advice(job: _Job, host: host_code.Blanked, log: str) -> str:
    called = [name for name in host.functions if f'identifier "{name}" is undefined' in log]
    if called:
        return f"{called[0]} is a host function (without __device__), which a kernel cannot call"
    missing = _NO_HEADER.search(log)
    if missing and not job.toolkit:
        return "the CUDA headers were not found: pip install 'gpureduce[nvrtc]', or install a CUDA toolkit"
    if missing:
        what = f"{missing[1]} is a header that NVRTC does not have"
    else:
        what = "The host code could not be separated from the kernels"
    return (
        f"{what}; nvcc compiles such files: pip install 'gpureduce[nvcc]' (and a C++ compiler), or put "
        "host code between #ifndef __CUDACC_RTC__ and #endif"
    )


def _make(job: _Job) -> str:
    try:
        return job.by_nvrtc(job.source)
    except nvrtc.CompileError as error:
        if not error.log:
            raise
        first = error
    text = job.source.decode("utf-8", "surrogateescape")
    host = host_code.blanked(text)
    missing = _NO_HEADER.search(first.log)
    if nvcc.find() and (host.functions or (missing and not job.toolkit)):
        return _NVCC
    try:
        return _without_nvcc(job, host, first)
    except nvrtc.CompileError as error:
        if nvcc.find() and _NO_HEADER.search(error.log):
            return _NVCC
        raise


def compiled(file: str, source: bytes, kernel: str, options: tuple[str, ...], shown_name: str) -> Compiled:
    """Compile a kernel of a source, which may include files next to `file`.

    Messages call the file `shown`. The result is cached on disk.
    """
    job = _Job(file, source, kernel, options, shown_name)
    key = job.key()
    text, _ = kept(key, lambda: _make(job))
    if text == _NVCC:
        path = nvcc.find()
        assert path is not None  # it is in the key
        other = key and digest(key, nvcc.version(path))
        text, _ = kept(other, lambda: job.by_nvcc(path))
    compiler, entry, ptx = text.split("\n", 2)
    return Compiled(ptx, entry, job.includes.texts, compiler)
