"""Markdown tables of results."""

from __future__ import annotations


def format_us(us: float) -> str:
    """Return microseconds with four digits, or with all digits before the decimal point."""
    return f"{us:,.4g}" if us < 9999.5 else f"{us:,.0f}"
