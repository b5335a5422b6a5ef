"""Profiles as HTML, for notebooks."""

from __future__ import annotations

from html import escape

from gpureduce._profiles.text import COLUMNS, Shown, comparison_rows, legend, margin_rows, ratio

_CELL = "padding:0 .6em;text-align:right;white-space:nowrap"
_CODE = "padding:0 .6em;text-align:left;white-space:pre;font-family:monospace"
_HOT = (251, 146, 60)  # behind the line with the most of a column


def _shade(share: float) -> str:
    if share <= 0:
        return ""
    return f";background:rgba({_HOT[0]},{_HOT[1]},{_HOT[2]},{0.1 + 0.6 * share:.2f})"


def profile_html(profile: Shown) -> str:
    """Return the annotated source as a table, each line shaded by its share of the instructions."""
    file = next((name for name in profile.files()[:1] if profile.source_lines(name)), None)
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
        f'<p style="font-size:80%;color:#6b7280">{escape(legend(used))}</p>'
        + (f"<ul>{races}</ul>" if races else "")
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
