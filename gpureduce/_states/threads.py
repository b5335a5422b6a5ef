"""Work on several devices at once: a thread for each device but the first, whose thread is the caller's.

`threading.Thread.start` waits until the thread sets an Event: forever, where the thread has no memory for its
first frame, and a signal handler that raises meanwhile may leave the lock of the Event taken. Threads are
started below `threading` here. The caller and a thread share one lock, which the thread alone releases, so
that a signal handler may raise anywhere in the caller.
"""

from __future__ import annotations

import _thread
import os
import time
from collections.abc import Callable, Iterable

from gpureduce import _core

_FORK_SECONDS = 0.1  # between looks at whether the process is a fork's child, which has no threads
_STOP_SECONDS = 1.0  # for threads to end after the caller was interrupted

Work = Callable[["str | None"], None]


class _Worker:
    """A device, and the thread that works on it."""

    __slots__ = ("begun", "device", "done", "unclaimed")

    def __init__(self, device: str | None) -> None:
        self.device = device
        self.unclaimed = [True]  # popped by the thread, or by the caller where no thread has begun
        self.begun = False
        self.done = _thread.allocate_lock()
        self.done.acquire()  # until the thread ends

    def claim(self) -> bool:
        """Return whether the one who asks is the first."""
        try:
            return self.unclaimed.pop()
        except IndexError:
            return False

    def run(self, work: Work) -> None:
        """Work, in a thread. A thread without memory ends before it claims the device."""
        if self.claim():
            try:
                self.begun = True
                work(self.device)
            finally:
                self.done.release()


def on_all(devices: Iterable[str | None], work: Work, stop: Callable[[BaseException], None]) -> None:
    """Call `work` for each device, in several threads where they can be started, and wait for all.

    Parameters
    ----------
    devices : iterable of str or None
        One or more.
    work : callable
        It records its results and failures itself.
    stop : callable
        Called where the caller is interrupted, with the exception; `work` then returns soon.
    """
    process = os.getpid()
    first, *others = devices
    workers = [_Worker(device) for device in others]
    try:
        for worker in workers:
            try:
                _thread.start_new_thread(worker.run, (work,))
            except (RuntimeError, MemoryError):
                break
        work(first)
        for worker in [each for each in workers if not _is_done_here(each, work)]:
            while not worker.done.acquire(timeout=_FORK_SECONDS):
                _refuse_forked(process)
    except BaseException as error:
        stop(error)
        if os.getpid() == process:
            _wait_a_while([worker for worker in workers if not worker.claim() and worker.begun])
        raise


def _is_done_here(worker: _Worker, work: Work) -> bool:
    """Return whether no thread has begun with a device, and its work was done in this thread."""
    if not worker.claim():
        return False
    work(worker.device)
    return True


def _refuse_forked(process: int) -> None:
    if os.getpid() != process:
        raise _core.DeviceError(
            "the process was forked while several devices were at work; the child has no threads that could "
            "finish the call"
        )


def _wait_a_while(workers: list[_Worker]) -> None:
    until = time.monotonic() + _STOP_SECONDS
    for worker in workers:
        worker.done.acquire(timeout=max(0.0, until - time.monotonic()))
