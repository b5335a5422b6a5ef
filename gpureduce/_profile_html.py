"""Profiles as HTML, for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from gpureduce._profile_text import COLUMNS, LEGEND, margin_rows, ratio

if TYPE_CHECKING:
    from gpureduce._profile import Comparison, Profile
    from gpureduce._timeline import Timeline

_CELL = "padding:0 .6em;text-align:right;white-space:nowrap"
_CODE = "padding:0 .6em;text-align:left;white-space:pre;font-family:monospace"
_HOT = (251, 146, 60)  # behind the line with the most of a column


def _shade(share: float) -> str:
    if share <= 0:
        return ""
    return f";background:rgba({_HOT[0]},{_HOT[1]},{_HOT[2]},{0.1 + 0.6 * share:.2f})"


def profile_html(profile: Profile) -> str:
    """Return the annotated source as a table, each line shaded by its share of the instructions."""
    from gpureduce._profile import source_lines

    file = next((name for name in profile.files()[:1] if source_lines(name)), None)
    used, rows = margin_rows(profile, file)
    columns = [column for column in COLUMNS if column[0] in used]
    most = max((counts.warp_instructions for counts, *_ in rows if counts), default=0)
    head = "".join(f'<th style="{_CELL}">{escape(name)}</th>' for name, _ in columns)
    body = []
    for counts, number, text, racy in rows:
        shade = _shade(counts.warp_instructions / most) if counts and most else ""
        cells = "".join(f'<td style="{_CELL}">{value(counts) if counts else ""}</td>' for _, value in columns)
        mark = '<span title="hazard" style="color:#dc2626">&#9679;</span>' if racy else ""
        body.append(
            f'<tr>{cells}<td>{mark}</td><td style="{_CELL};color:#6b7280">{number}</td>'
            f'<td style="{_CODE}{shade}">{escape(text)}</td></tr>'
        )
    races = "".join(f"<li>{escape(str(race))}</li>" for race in profile.races)
    return (
        f"<div><b>{escape(profile.title)}</b>"
        f'<table style="border-collapse:collapse;font-size:85%"><thead><tr>{head}<th></th><th></th>'
        f'<th style="text-align:left">{escape(file or "PTX")}</th></tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>"
        f'<p style="font-size:80%;color:#6b7280">{escape(LEGEND)}</p>'
        + (f"<ul>{races}</ul>" if races else "")
        + "</div>"
    )


def comparison_html(comparison: Comparison) -> str:
    """Return a comparison as a table."""
    left, right = comparison.left, comparison.right
    rows = "".join(
        f'<tr><td style="text-align:left">{escape(name)}</td><td style="{_CELL}">{a:,.6g}</td>'
        f'<td style="{_CELL}">{b:,.6g}</td><td style="{_CELL}">{ratio(a, b)}</td></tr>'
        for name, a, b in comparison.rows()
    )
    return (
        f'<table><thead><tr><th></th><th style="{_CELL}">{escape(left.variant or "left")}</th>'
        f'<th style="{_CELL}">{escape(right.variant or "right")}</th><th></th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def timeline_html(timeline: Timeline) -> str:
    """Return a timeline as SVG: threads from left to right, rounds from top to bottom."""
    rounds, threads = timeline.states.shape
    width, height = 900, 14
    step = width / threads
    marks = []
    for number in range(rounds):
        conflict, active = timeline.conflict[number], timeline.active[number]
        colours = ["#dc2626" if c else "#2563eb" if a else "" for c, a in zip(conflict, active, strict=True)]
        start = 0
        for thread in range(1, threads + 1):  # one rectangle for neighbours of one colour
            if thread < threads and colours[thread] == colours[start]:
                continue
            if colours[start]:
                marks.append(
                    f'<rect x="{start * step:.2f}" y="{number * height}" height="{height - 2}" '
                    f'width="{(thread - start) * step:.2f}" fill="{colours[start]}"/>'
                )
            start = thread
    return (
        f"<div>{escape(timeline.kernel)}, block {timeline.block}: {threads} threads from left to right, "
        f"{rounds} rounds between barriers downwards; blue works, red has bank conflicts"
        f'<br><svg width="{width}" height="{rounds * height}" style="background:#f3f4f6">'
        f"{''.join(marks)}</svg></div>"
    )
