"""Who called this package."""

from __future__ import annotations

import sys


def outside_level() -> int:
    """Return the `stacklevel` with which a warning names the first caller outside this package."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("gpureduce."):
        frame = frame.f_back
        level += 1
    return level
