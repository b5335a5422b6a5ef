"""How many threads this process has."""

import time
from pathlib import Path


def thread_count():
    return len(list(Path("/proc/self/task").iterdir()))


def has_at_most(threads, seconds=5):
    """Whether it soon has: Linux lists a thread for a moment after it was joined."""
    until = time.monotonic() + seconds
    while thread_count() > threads and time.monotonic() < until:
        time.sleep(0.01)
    return thread_count() <= threads
