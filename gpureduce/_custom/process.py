"""Reusable processes in which NVRTC compiles."""

from __future__ import annotations

import contextlib
import marshal
import os
import sys
import threading
import time
from typing import Any

_PROGRAM = os.path.join(os.path.dirname(__file__), "worker.py")
_MOST_SECONDS = 1800.0
_MOST_BYTES = 8 << 30  # of memory, in addition to the initial size of a process
_KEPT = 2  # idle processes; more exist while more threads compile


class CannotStart(Exception):
    """A process cannot be started."""


class Ended(Exception):
    """The process ended without an answer."""


class TookTooLong(Exception):
    """A compilation took longer than is allowed."""


class _Worker:
    """A process and its pipes. It exits when the request pipe is closed."""

    def __init__(self) -> None:
        import subprocess  # not at import, since most programs never compile

        self.requests, self.results, self.used = -1, -1, False
        command = [_interpreter(), "-I", "-S", _PROGRAM, str(_MOST_BYTES)]
        try:
            started = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C must reach this process only
            )
        except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as error:
            raise CannotStart(str(error)) from None
        with started:  # it exits at once: its child is the server
            assert started.stdin is not None and started.stdout is not None
            self.requests = os.dup(started.stdin.fileno())
            self.results = os.dup(started.stdout.fileno())
        if started.returncode:
            self.close()
            raise CannotStart(f"{command[0]} exited with {started.returncode}")

    def close(self) -> None:
        """End the process."""
        for file in (self.requests, self.results):
            if file >= 0:
                with contextlib.suppress(OSError):
                    os.close(file)
        self.requests = self.results = -1

    def __del__(self) -> None:
        self.close()

    def ask(self, request: bytes, until: float) -> Any:
        """Return the answer to a request."""
        self.used = True
        try:
            rest = memoryview(len(request).to_bytes(8, "little") + request)
            while rest:
                rest = rest[os.write(self.requests, rest) :]
            size = int.from_bytes(self._read(8, until), "little")
            return marshal.loads(self._read(size, until))
        except OSError as error:
            raise Ended(str(error)) from None

    def _read(self, count: int, until: float) -> bytes:
        import select

        parts = []
        ready = select.poll()
        ready.register(self.results, select.POLLIN)
        while count:
            if not ready.poll(max(0, until - time.monotonic()) * 1000):
                raise TookTooLong(f"{_MOST_SECONDS:g} s")
            part = os.read(self.results, min(count, 1 << 20))
            if not part:
                raise Ended
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


def _interpreter() -> str:
    """Return the Python executable, which is not sys.executable if an application embeds Python."""
    program = sys.executable or ""
    if getattr(sys, "frozen", False) or not os.path.basename(program).startswith(("python", "pypy")):
        raise CannotStart(f"{program!r} is no interpreter")
    if not os.path.isfile(_PROGRAM):
        raise CannotStart(f"there is no {_PROGRAM}")
    return program


_lock = threading.Lock()
_idle: list[_Worker] = []
_all: dict[int, _Worker] = {}  # those in use, too


def _forget() -> None:
    """Forget the processes of the parent, whose pipes a forked child has."""
    global _lock
    _lock = threading.Lock()
    for worker in _all.values():
        worker.close()
    _idle.clear()
    _all.clear()


os.register_at_fork(after_in_child=_forget)


def _take() -> _Worker:
    with _lock:
        if _idle:
            return _idle.pop()
    worker = _Worker()
    with _lock:
        _all[id(worker)] = worker
    return worker


def _end(worker: _Worker) -> None:
    worker.close()
    with _lock:
        _all.pop(id(worker), None)


def _keep(worker: _Worker) -> None:
    with _lock:
        if len(_idle) < _KEPT and worker.requests >= 0:
            _idle.append(worker)
            return
    _end(worker)


def ask(request: dict[str, Any]) -> Any:
    """Return a process's answer to a request. An interrupt of the wait ends the process."""
    message, until = marshal.dumps(request), time.monotonic() + _MOST_SECONDS
    while True:
        worker = _take()
        was_used = worker.used
        try:
            answer = worker.ask(message, until)
        except Ended:
            _end(worker)
            if not was_used:
                raise
            continue  # a kept process may have ended before; a new one shows whether that was the cause
        except BaseException:
            _end(worker)
            raise
        _keep(worker)
        return answer
