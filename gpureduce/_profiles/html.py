"""Profiles as HTML, for notebooks."""

from __future__ import annotations

from html import escape

from gpureduce._profiles.counts import Counts
from gpureduce._profiles.text import Row, Shown, comparison_rows, legend, margin_rows, ratio

_CELL = "padding:0 .6em;text-align:right;white-space:nowrap"
_CODE = "padding:0 .6em;text-align:left;white-space:pre;font-family:monospace"
_HOT = (251, 146, 60)  # behind the line with the most of a column
_SHADES = (
    "a figure is shaded by its share of the most of its column, a line by bank conflicts and by sectors "
    "beyond the ideal, where there are any, else by instructions"
)


def _shade(share: float) -> str:
    if share <= 0:
        return ""
    return f";background:rgba({_HOT[0]},{_HOT[1]},{_HOT[2]},{0.1 + 0.6 * share:.2f})"


def _excess(counts: Counts) -> tuple[int, int]:
    """Return what is there in vain: passes of bank conflicts, sectors beyond the ideal."""
    return counts.bank_conflicts, counts.global_sectors - counts.global_ideal


def _heats(rows: list[Row]) -> list[float]:
    """Return how hot each line is as a whole: its share of what is there in vain, or else of instructions."""
    counted = [row.counts or Counts() for row in rows]
    wasted = [_excess(counts) for counts in counted]
    most = [max((each[i] for each in wasted), default=0) for i in (0, 1)]
    if any(most):
        return [max(each[i] / most[i] for i in (0, 1) if most[i]) for each in wasted]
    issued = [counts.warp_instructions for counts in counted]
    return [each / max(*issued, 1) for each in issued]


def profile_html(profile: Shown) -> str:
    """Return the annotated source as a table: each figure shaded by its share of the most of its column."""
    file = next((name for name in profile.files()[:1] if profile.source_lines(name)), None)
    columns, rows = margin_rows(profile, file)
    most = [max((column.heat(row.counts) for row in rows if row.counts), default=0) for column in columns]
    head = "".join(f'<th style="{_CELL}">{escape(column.name)}</th>' for column in columns)
    body = []
    for row, heat in zip(rows, _heats(rows), strict=True):
        cells = "".join(
            f'<td style="{_CELL}{_shade(column.heat(row.counts) / top) if top else ""}">'
            f"{column.shown(row.counts)}</td>"
            if row.counts
            else f'<td style="{_CELL}"></td>'
            for column, top in zip(columns, most, strict=True)
        )
        mark = '<span title="hazard" style="color:#dc2626">&#9679;</span>' if row.racy else ""
        body.append(
            f'<tr>{cells}<td>{mark}</td><td style="{_CELL};color:#6b7280">{row.number}</td>'
            f'<td style="{_CODE}{_shade(heat)}">{escape(row.text)}</td></tr>'
        )
    found = "".join(f"<li>{escape(str(finding))}</li>" for finding in profile.findings)
    return (
        f"<div><b>{escape(profile.title)}</b>"
        f'<table style="border-collapse:collapse;font-size:85%"><thead><tr>{head}<th></th><th></th>'
        f'<th style="text-align:left">{escape(file or "PTX")}</th></tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>"
        f'<p style="font-size:80%;color:#6b7280">{escape(legend(columns))}; {_SHADES}</p>'
        + (f"<ul>{found}</ul>" if found else "")
        + "</div>"
    )


def comparison_html(left: Shown, right: Shown) -> str:
    """Return two profiles as a table."""
    rows = "".join(
        f'<tr><td style="text-align:left">{escape(name)}</td><td style="{_CELL}">{a:,.6g}</td>'
        f'<td style="{_CELL}">{b:,.6g}</td><td style="{_CELL}">{ratio(a, b)}</td></tr>'
        for name, a, b in comparison_rows(left, right)
    )
    return (
        f'<table><thead><tr><th></th><th style="{_CELL}">{escape(left.variant or "left")}</th>'
        f'<th style="{_CELL}">{escape(right.variant or "right")}</th><th></th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )
