"""The progress bar of `gpureduce.bench`: in a notebook, or on standard error if that is a terminal."""

from __future__ import annotations

import shutil
import sys

from gpureduce._rules.arguments import flag


def _in_notebook() -> bool:
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return getattr(shell, "kernel", None) is not None


class ProgressBar:
    """A bar of a known number of steps, which is shown only in a notebook or on a terminal."""

    def __init__(self, enabled: bool, steps: int) -> None:
        enabled = flag(enabled, "progress")
        self.steps = steps
        self.output = None
        self.shown = enabled and sys.stderr.isatty()
        if enabled and _in_notebook():
            from IPython.display import display

            self.output = display({"text/plain": ""}, raw=True, display_id=True)

    def _show(self, text: str) -> None:
        if self.output is not None:
            self.output.update({"text/plain": text}, raw=True)
        elif self.shown:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{text[:width]:<{width}}\r", end="", file=sys.stderr, flush=True)

    def step(self, done: int, name: str) -> None:
        """Show that `done` steps are finished, and the name of the next one."""
        full = 30 * done // self.steps
        self._show(f"[{'#' * full}{'.' * (30 - full)}] {done}/{self.steps} {name}")

    def close(self) -> None:
        """Remove the bar."""
        self._show("")
