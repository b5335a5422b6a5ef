"""Which threads this process still has: Linux lists one for a moment after it was joined."""

import time
from pathlib import Path


def thread_count():
    return len(list(Path("/proc/self/task").iterdir()))


def has_at_most(threads, seconds=5):
    """Whether it soon has."""
    until = time.monotonic() + seconds
    while thread_count() > threads and time.monotonic() < until:
        time.sleep(0.01)
    return thread_count() <= threads


def join_to_its_end(thread, seconds=5):
    """Until its memory is free, too: a thread begun before that gets an arena of malloc's of its own."""
    thread.join()
    task, until = Path(f"/proc/self/task/{thread.native_id}"), time.monotonic() + seconds
    while task.exists() and time.monotonic() < until:
        time.sleep(0)
