"""Which threads this process still has: Linux lists one for a moment after it was joined."""

import os
import time

from tests.support.waiting import soon

TASKS = "/proc/self/task"


def thread_count():
    return len(os.listdir(TASKS))


def settled_thread_count():
    """Return the least count of some moments, in which threads that were joined leave the list."""
    counts = [thread_count()]
    for _ in range(10):
        time.sleep(0.005)
        counts.append(thread_count())
    return min(counts)


def has_at_most(threads):
    """Whether it soon has."""
    return soon(lambda: thread_count() <= threads)


def join_to_its_end(thread):
    """Until its memory is free, too: a thread begun before that gets an arena of malloc's of its own."""
    thread.join()
    # No Path: pathlib of Python 3.12 keeps each part for good.
    soon(lambda: not os.path.exists(f"{TASKS}/{thread.native_id}"))
