"""What measurements are asked for: arguments, and the bar that shows how far they are."""

from __future__ import annotations

import operator
import shutil
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpureduce._rules.arguments import flag


def sequence(value: Any, name: str) -> list:
    """Return one value, or several, as a list that is not empty."""
    values = [value] if isinstance(value, str) or not isinstance(value, Sequence) else list(value)
    if not values:
        raise ValueError(f"{name}: nothing to measure")
    return values


def positive(value: Any, name: str) -> int:
    """Return a number of things as int; an error names the argument."""
    if isinstance(value, bool):
        raise TypeError(f"{name}: expected int, got bool")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: expected int, got {type(value).__name__}") from None
    if number < 1:
        raise ValueError(f"{name}: expected 1 or more, got {number}")
    return number


def dtype_name(dtype: Any) -> str:
    """Return the name of a dtype."""
    try:
        return np.dtype(dtype).name
    except (TypeError, ValueError):
        raise TypeError(f"dtypes: {dtype!r} is no dtype") from None


def _in_notebook() -> bool:
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return getattr(shell, "kernel", None) is not None


class Progress:
    """A bar for those who look on: in a notebook, or on standard error if that is a terminal."""

    def __init__(self, wanted: bool, steps: int) -> None:
        wanted = flag(wanted, "progress")
        self.steps = steps
        self.output = None
        self.shown = wanted and sys.stderr.isatty()
        if wanted and _in_notebook():
            from IPython.display import display

            self.output = display({"text/plain": ""}, raw=True, display_id=True)

    def _show(self, text: str) -> None:
        if self.output is not None:
            self.output.update({"text/plain": text}, raw=True)
        elif self.shown:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{text[:width]:<{width}}\r", end="", file=sys.stderr, flush=True)

    def step(self, done: int, name: str) -> None:
        """Say what comes now, after so many steps."""
        full = 30 * done // self.steps
        self._show(f"[{'#' * full}{'.' * (30 - full)}] {done}/{self.steps} {name}")

    def close(self) -> None:
        """Take the bar away."""
        self._show("")
