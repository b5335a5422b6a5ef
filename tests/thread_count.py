"""Which threads this process still has: Linux lists one for a moment after it was joined."""

from pathlib import Path

from waiting import soon

TASKS = Path("/proc/self/task")


def thread_count():
    return len(list(TASKS.iterdir()))


def has_at_most(threads):
    """Whether it soon has."""
    return soon(lambda: thread_count() <= threads)


def join_to_its_end(thread):
    """Until its memory is free, too: a thread begun before that gets an arena of malloc's of its own."""
    thread.join()
    soon(lambda: not (TASKS / str(thread.native_id)).exists())
