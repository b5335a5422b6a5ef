"""Parallel work on several devices: a thread for each device except the first, which the caller serves.

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
_START_SECONDS = 0.1  # for threads that have nothing left to do; one without memory never says that it ends

Work = Callable[["str | None"], None]


class _Worker:
    """A device and its thread."""

    __slots__ = ("begun", "device", "done", "unclaimed", "work")

    def __init__(self, device: str | None, work: Work) -> None:
        self.device = device
        self.work: Work | None = work
        self.unclaimed = [True]  # popped by the thread, or by the caller where no thread has begun
        self.begun = False
        self.done = _thread.allocate_lock()
        self.done.acquire()  # until the thread ends

    def claim(self) -> bool:
        """Return whether the calling thread is the first that claims the device."""
        try:
            return self.unclaimed.pop()
        except IndexError:
            return False

    def run(self) -> None:
        """Work, in a thread. A thread without memory exits before it claims the device."""
        try:
            if self.claim():
                self.begun = True
                assert self.work is not None
                self.work(self.device)
        finally:
            self.work = None  # the thread ends a little later than the call, and keeps no array until then
            self.done.release()


def on_all(devices: Iterable[str | None], work: Work, stop: Callable[[BaseException], None]) -> None:
    """Call `work` for each device, in several threads if they can be started, and wait for all.

    Parameters
    ----------
    devices : iterable of str or None
        One or more.
    work : callable
        Function that records its results and failures itself.
    stop : callable
        Called with the exception if the caller is interrupted; `work` then returns soon.
    """
    process = os.getpid()
    first, *others = devices
    workers = [_Worker(device, work) for device in others]
    started = []
    try:
        for worker in workers:
            try:
                _thread.start_new_thread(worker.run, ())
            except (RuntimeError, MemoryError):
                break
            started.append(worker)
        work(first)
        late = []
        for worker in workers:
            if worker.claim():  # its thread has not begun
                work(worker.device)
                late.append(worker)
        for worker in workers:
            while worker not in late and not worker.done.acquire(timeout=_FORK_SECONDS):
                _reject_forked(process)
        if os.getpid() == process:
            _wait([worker for worker in late if worker in started], _START_SECONDS)
    except BaseException as error:
        stop(error)
        if os.getpid() == process:
            _wait([worker for worker in workers if not worker.claim() and worker.begun], _STOP_SECONDS)
        raise


def _wait(workers: list[_Worker], seconds: float) -> None:
    """Wait for threads to end, with a timeout."""
    until = time.monotonic() + seconds
    for worker in workers:
        worker.done.acquire(timeout=max(0.0, until - time.monotonic()))


def _reject_forked(process: int) -> None:
    if os.getpid() != process:
        raise _core.DeviceError(
            "the process was forked while several devices were at work; the child has no threads that could "
            "finish the call"
        )
