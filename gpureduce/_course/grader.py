"""The program that grades submissions: it forks a process with limits for each.

Standard input has a request in JSON: `name`, `folder`, `files`, `seconds`, `mebibytes`, `jobs`. The program
prints a line of JSON per submission as soon as the submission is graded. The package is imported once. Each
submission then takes the time of a fork, a compilation and a few runs.
"""

from __future__ import annotations

import json
import os
import resource
import selectors
import signal
import sys
import time
from pathlib import Path
from typing import Any

from gpureduce._course.exercises import Exercise
from gpureduce._custom import nvrtc

_MOST_MESSAGE = 2000  # characters of a message
_MOST_ANSWER = 1 << 16  # bytes that a process may answer
_MOST_FILE = 256 << 20  # bytes of a file that a process writes: compiled kernels in the cache


class _Child:
    """A process that grades one submission."""

    def __init__(self, place: int, chosen: Exercise, file: str, request: dict[str, Any]) -> None:
        self.place, self.began, self.answer = place, time.monotonic(), b""
        self.until = self.began + request["seconds"]
        self.pipe, end = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                os.close(self.pipe)
                _grade(chosen, file, request, end)
                status = 0
            finally:
                os._exit(status)
        os.close(end)

    def finish(self, stopped: bool, seconds: float) -> dict[str, Any]:
        """End the process, and return its answer; without an answer, return the reason."""
        if stopped:
            os.kill(self.pid, signal.SIGKILL)
        os.close(self.pipe)
        _, status = os.waitpid(self.pid, 0)
        took = {"place": self.place, "seconds": time.monotonic() - self.began}
        try:
            return json.loads(self.answer) | took
        except ValueError:
            late = stopped or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU)
            why = f"took longer than {seconds:g} s" if late else f"ended its process (status {status})"
            return _refused(f"the submission {why}") | took


def _refused(message: str) -> dict[str, Any]:
    return {"score": 0.0, "parts": [{"name": "compiles", "passed": False, "message": message}]}


def _limit(seconds: float, mebibytes: int) -> None:
    """Limit this process, and those that it starts."""
    for kind, most in (
        (resource.RLIMIT_CPU, int(seconds) + 1),
        (resource.RLIMIT_DATA, mebibytes << 20),
        (resource.RLIMIT_FSIZE, _MOST_FILE),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))


def _grade(chosen: Exercise, file: str, request: dict[str, Any], end: int) -> None:
    """Grade a submission in this process; write the answer to a pipe."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    _limit(request["seconds"], request["mebibytes"])
    try:
        grade = chosen.check(Path(file))
        parts = [vars(part) | {"message": part.message[:_MOST_MESSAGE]} for part in grade.parts]
        answer = {"score": grade.score, "parts": parts}
    except OSError as error:
        answer = _refused(f"the file cannot be read: {error}")
    except MemoryError:
        answer = _refused(f"the submission needs more than {request['mebibytes']} MiB")
    data = json.dumps(answer).encode()
    while data:
        data = data[os.write(end, data) :]


def main() -> None:
    """Grade what standard input asks for."""
    request = json.load(sys.stdin)
    try:
        nvrtc.library()  # loaded once, for all processes
    except ImportError as error:
        print(json.dumps({"import_error": str(error)}))
        return
    chosen = Exercise(request["name"], Path(request["folder"]))
    waiting = list(enumerate(request["files"]))[::-1]
    running = selectors.DefaultSelector()
    while waiting or running.get_map():
        while waiting and len(running.get_map()) < request["jobs"]:
            child = _Child(*_first(waiting, chosen), request)
            running.register(child.pipe, selectors.EVENT_READ, child)
        now = time.monotonic()
        children: list[_Child] = [key.data for key in running.get_map().values()]
        ready = {key.data for key, _ in running.select(max(0, min(each.until for each in children) - now))}
        for child in children:
            part = os.read(child.pipe, _MOST_ANSWER) if child in ready else b""
            child.answer += part
            late = time.monotonic() >= child.until or len(child.answer) > _MOST_ANSWER
            if late or (child in ready and not part):
                running.unregister(child.pipe)
                print(json.dumps(child.finish(late, request["seconds"])), flush=True)


def _first(waiting: list[tuple[int, str]], chosen: Exercise) -> tuple[int, Exercise, str]:
    place, file = waiting.pop()
    return place, chosen, file


if __name__ == "__main__":
    main()
