"""Independent work side by side, the longest first, with a line for each piece that is done."""

import os
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def side_by_side(
    work: Callable[[Piece], Result], pieces: Iterable[Piece], effort: Callable[[Piece], float]
) -> dict[Piece, Result]:
    """Return work(piece) for each piece, on as many threads as this process has processors.

    Those of the largest `effort` are begun first, or one of them would end long after the others. After an
    error nothing more is begun.
    """
    longest_first = sorted(pieces, key=effort, reverse=True)
    width = len(str(len(longest_first)))
    begun = time.monotonic()
    done = 0
    lock = threading.Lock()

    def run(piece: Piece) -> Result:
        nonlocal done
        result = work(piece)
        with lock:
            done += 1
            place = f"[{done:{width}}/{len(longest_first)}]"
            print(f"{place} {piece} ({time.monotonic() - begun:.0f} s)", flush=True)
        return result

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        futures = {pool.submit(run, piece): piece for piece in longest_first}
        try:
            return {futures[future]: future.result() for future in as_completed(futures)}
        except BaseException:
            for future in futures:
                future.cancel()
            raise
