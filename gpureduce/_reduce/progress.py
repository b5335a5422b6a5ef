"""The argument ``progress=``: a callback, or a progress bar."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

# Called with the bytes done and those in all; True is a bar.
Progress: TypeAlias = Callable[[int, int], object] | bool | None


@contextmanager
def reporter(progress: Any) -> Iterator[Callable[[int, int], object] | None]:
    """Return the callback that the core calls with the bytes done and in total, or None."""
    if progress is None or progress is False:
        yield None
    elif progress is True:
        with _Bar() as bar:
            yield bar.update
    elif callable(progress):
        yield progress
    else:
        raise TypeError(f"progress: expected a callable, a bool or None, got {type(progress).__name__}")


class _Bar:
    """A bar that appears with the first report, so that short calls show none."""

    def __init__(self) -> None:
        self._bar: Any = None

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def update(self, done: int, total: int) -> None:
        """Show how far it is."""
        if self._bar is None:
            self._bar = _make_bar(total)
        self._bar.update(done - self._bar.n)


def _make_bar(total: int) -> Any:
    """Return a tqdm bar, or a plain one if tqdm is not installed."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Plain(total)
    return tqdm(total=total, unit="B", unit_scale=True)


class _Plain:
    """A progress line on standard error, with the part of tqdm's interface used here."""

    def __init__(self, total: int) -> None:
        self.n = 0
        self._total = total

    def update(self, more: int) -> None:
        """Count, and show the line anew."""
        self.n += more
        part = self.n / self._total
        full = int(30 * part)
        text = f"[{'#' * full}{'.' * (30 - full)}] {part:4.0%} of {self._total / 1e6:,.1f} MB"
        print(f"\r{text}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the line."""
        print(file=sys.stderr)
