"""Times of calls by the wall clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

SECONDS = 0.2  # for the loop of one contender, unless its fewest calls take longer
WARM_UP, MAX_CALLS, MIN_CALLS = 3, 2000, 7


def loop_times(calls: Mapping[str, Callable[[int], object]]) -> dict[str, list[float]]:
    """Return microseconds of each call; each contender has its own loop, and gets the number of a call."""
    times: dict[str, list[float]] = {}
    for name, call in calls.items():
        for i in range(WARM_UP):
            call(i)
        taken = times[name] = []
        began = time.perf_counter()
        for i in range(MAX_CALLS):
            start = time.perf_counter_ns()
            call(i)
            taken.append((time.perf_counter_ns() - start) / 1000)
            if i + 1 >= MIN_CALLS and time.perf_counter() - began > SECONDS:
                break
    return times


def batch_times(
    calls: Mapping[str, Callable[[], object]],
    finish: Callable[[], Any],
    batch: int,
    turns: int,
    warm_up: int,
) -> dict[str, list[float]]:
    """Return microseconds per call of batches that contenders make in turns; `finish` waits for the device.

    The first turn does not count.
    """
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(turns):
        for name, call in calls.items():
            for _ in range(warm_up):
                call()
            finish()
            start = time.perf_counter_ns()
            for _ in range(batch):
                call()
            stop = time.perf_counter_ns()
            finish()
            if turn > 0:
                taken[name].append((stop - start) / 1000 / batch)
    return taken
