"""Calls NVRTC by ctypes; run as a program, it is the process that compiles.

NVRTC sets signal handlers that end the process, and a source may need any amount of time and memory. So NVRTC
runs in a separate process: `process.py` starts this file as a program. It imports little, and nothing from
the package, to start fast.
"""

from __future__ import annotations

import ctypes
import glob
import marshal
import os
import sys
from typing import Any

COMPILATION = 6  # NVRTC_ERROR_COMPILATION
INVALID_OPTION = 5  # NVRTC_ERROR_INVALID_OPTION
NAME_EXPRESSION = 10  # NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID

_IDLE_SECONDS = 60


class Failed(Exception):
    """A function of NVRTC failed, for a reason other than the source."""


class Library:
    """The functions of the shared library at a path."""

    def __init__(self, path: str) -> None:
        # NVRTC opens its built-in functions by a bare file name. The dynamic linker finds a library that is
        # loaded already, but does not look in the folder of NVRTC's wheel.
        for builtins in glob.glob(os.path.join(glob.escape(os.path.dirname(path)), "libnvrtc-builtins.so.*")):
            ctypes.CDLL(builtins)
        self._library = ctypes.CDLL(path)
        self._library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def _check(self, result: int, doing: str) -> None:
        if result:
            raise Failed(f"NVRTC: {doing}: {self._library.nvrtcGetErrorString(result).decode()}")

    def version(self) -> tuple[int, int]:
        """Return major and minor number."""
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._check(self._library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)), "nvrtcVersion")
        return major.value, minor.value

    def _text(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        self._check(getattr(self._library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)), what)
        text = ctypes.create_string_buffer(size.value)
        self._check(getattr(self._library, f"nvrtcGet{what}")(program, text), what)
        return text.value

    def compile(self, request: dict[str, Any]) -> tuple[bool, bytes, bytes]:
        """Compile a program; return success, the PTX or the log, and the kernel's PTX name.

        `request` has, as bytes, the `name` of the program, its `source`, its `options`, the texts of
        `headers` by name, and the `kernel` (empty for none).
        """
        program = ctypes.c_void_p()
        headers, options = request["headers"], request["options"]
        texts = (ctypes.c_char_p * len(headers))(*headers.values())
        names = (ctypes.c_char_p * len(headers))(*headers)
        created = self._library.nvrtcCreateProgram(
            ctypes.byref(program), request["source"], request["name"], len(headers), texts, names
        )
        self._check(created, "nvrtcCreateProgram")
        try:
            kernel = request["kernel"]
            if kernel:
                self._check(self._library.nvrtcAddNameExpression(program, kernel), "naming the kernel")
            option_array = (ctypes.c_char_p * len(options))(*options)
            result = self._library.nvrtcCompileProgram(program, len(options), option_array)
            if result in (COMPILATION, INVALID_OPTION, NAME_EXPRESSION):
                return False, self._text(program, "ProgramLog"), b""
            self._check(result, "compiling")
            entry = ctypes.c_char_p()
            if kernel:
                status = self._library.nvrtcGetLoweredName(program, kernel, ctypes.byref(entry))
                self._check(status, "finding the kernel")
            return True, self._text(program, "PTX"), entry.value or b""
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))


# As a program


def _read(file: int, count: int) -> bytes | None:
    """Return `count` bytes; None at the end of the file."""
    parts = []
    while count:
        part = os.read(file, min(count, 1 << 20))
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _message(file: int) -> bytes | None:
    """Return a message, which follows its length; None at the end of the file."""
    head = _read(file, 8)
    return None if head is None else _read(file, int.from_bytes(head, "little"))


def _bound_memory(most: int) -> None:
    """Limit the process to `size` additional bytes, if the system supports it."""
    try:
        import resource
    except ImportError:
        return
    if not os.path.exists("/proc/self/statm"):
        return
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most += used
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def _answer(libraries: dict[str, Library], request: dict[str, Any]) -> tuple:
    try:
        os.chdir(request["folder"])
        path = request["library"]
        if path not in libraries:
            libraries[path] = Library(path)
        return ("done", *libraries[path].compile(request))
    except (Failed, OSError, AttributeError) as error:
        return ("failed", str(error))


def _serve(requests: int, results: int) -> None:
    """Answer requests until the pipe closes; the process then exits immediately."""
    import _thread

    waiting: list[bytes] = []
    ready = _thread.allocate_lock()
    ready.acquire()

    def listen() -> None:
        while (message := _message(requests)) is not None:
            waiting.append(message)
            ready.release()
        os._exit(0)

    _thread.start_new_thread(listen, ())
    libraries: dict[str, Library] = {}
    while ready.acquire(True, _IDLE_SECONDS):
        answer = marshal.dumps(_answer(libraries, marshal.loads(waiting.pop())))
        rest = memoryview(len(answer).to_bytes(8, "little") + answer)
        while rest:
            rest = rest[os.write(results, rest) :]


def main() -> None:
    """Serve in a grandchild of the process that started this one, so that no process has to wait for it."""
    if os.fork():
        os._exit(0)
    requests, results = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):  # NVRTC may print to standard output
        os.dup2(nowhere, standard)
    _bound_memory(int(sys.argv[1]))
    try:
        _serve(requests, results)
    finally:
        os._exit(0)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
