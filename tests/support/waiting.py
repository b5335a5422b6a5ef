"""Waiting for what others do in their own time."""

import time


def soon(condition, seconds=5):
    """Whether something holds, perhaps after a moment."""
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.0001)
    return condition()
