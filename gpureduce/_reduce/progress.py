"""What ``progress=`` means: a callback of the caller's, or a bar of tqdm's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

# Called with the bytes done and those in all; True is a bar of tqdm's.
Progress: TypeAlias = Callable[[int, int], object] | bool | None


@contextmanager
def reporter(progress: Any) -> Iterator[Callable[[int, int], object] | None]:
    """Give the callback that the core calls with the bytes done and those in all, or None."""
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
        try:
            from tqdm.auto import tqdm
        except ImportError:
            raise ImportError(
                "progress: True needs the package tqdm; install it or pass a callback"
            ) from None
        self._tqdm = tqdm
        self._bar: Any = None

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def update(self, done: int, total: int) -> None:
        """Show how far it is."""
        if self._bar is None:
            self._bar = self._tqdm(total=total, unit="B", unit_scale=True)
        self._bar.update(done - self._bar.n)
