"""Statistics of repeated measurements."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence


def summarize_times(times: Sequence[float], digits: int | None = None) -> dict[str, float]:
    """Return median, minimum and maximum of repeated measurements, rounded where `digits` is given."""
    summary = {"median": statistics.median(times), "min": min(times), "max": max(times)}
    return summary if digits is None else {key: round(value, digits) for key, value in summary.items()}


def ratios(us: Mapping[str, Mapping[str, float]], of: str, digits: int | None = None) -> dict[str, float]:
    """Return the median of `of` over the median of each other contender."""
    median = us[of]["median"]
    slowdowns = {name: median / summary["median"] for name, summary in us.items() if name != of}
    return slowdowns if digits is None else {name: round(value, digits) for name, value in slowdowns.items()}
