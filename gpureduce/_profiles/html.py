"""Profiles as HTML, for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from gpureduce._profiles.counts import Counts
from gpureduce._profiles.diff import AlignedLine, changes
from gpureduce._profiles.text import (
    Column,
    ProfileView,
    Row,
    column_maxima,
    comparison_rows,
    file_of,
    legend,
    margin_rows,
    ratio,
)

if TYPE_CHECKING:
    from gpureduce._profiles.side_by_side import SideBySide

_CELL = "padding:0 .6em;text-align:right;white-space:nowrap"
_CODE = "padding:0 .6em;text-align:left;white-space:pre;font-family:monospace"
_WRAPPED = _CODE.replace("white-space:pre", "white-space:pre-wrap") + ";min-width:22em;vertical-align:top"
_HOT = (251, 146, 60)  # background of the line with the maximum of a column
_SHADES = (
    "counters are shaded by their share of the maximum of the column, lines by bank conflicts and excess "
    "sectors, or by instructions if there are none"
)


def _shade(share: float) -> str:
    if share <= 0:
        return ""
    return f";background:rgba({_HOT[0]},{_HOT[1]},{_HOT[2]},{0.1 + 0.6 * share:.2f})"


def _excess(counts: Counts) -> tuple[int, int]:
    """Return the excess: bank conflicts, and sectors beyond the ideal."""
    return counts.bank_conflicts, counts.global_sectors - counts.global_ideal


def _heats(rows: list[Row]) -> list[float]:
    """Return the heat of each line: its share of the excess, or of instructions."""
    counted = [row.counts or Counts() for row in rows]
    wasted = [_excess(counts) for counts in counted]
    most = [max((each[i] for each in wasted), default=0) for i in (0, 1)]
    if any(most):
        return [max(each[i] / most[i] for i in (0, 1) if most[i]) for each in wasted]
    issued = [counts.warp_instructions for counts in counted]
    return [each / max(*issued, 1) for each in issued]


def _figure_html(column: Column, counts: Counts | None, most_of_all: int) -> str:
    """Return a cell of the margin, shaded by its share of the maximum."""
    if counts is None:
        return f'<td style="{_CELL}"></td>'
    shade = _shade(column.heat(counts) / most_of_all) if most_of_all else ""
    return f'<td style="{_CELL}{shade}">{column.shown(counts)}</td>'


def profile_html(profile: ProfileView) -> str:
    """Return the annotated source as a table, shaded by each counter's share of the column maximum."""
    file = file_of(profile)
    columns, rows = margin_rows(profile, file)
    tops = column_maxima(columns, rows)
    head = "".join(f'<th style="{_CELL}">{escape(column.name)}</th>' for column in columns)
    body = []
    for row, heat in zip(rows, _heats(rows), strict=True):
        cells = "".join(
            _figure_html(column, row.counts, top) for column, top in zip(columns, tops, strict=True)
        )
        mark = '<span title="hazard" style="color:#dc2626">&#9679;</span>' if row.racy else ""
        body.append(
            f'<tr>{cells}<td>{mark}</td><td style="{_CELL};color:#6b7280">{row.number}</td>'
            f'<td style="{_CODE}{_shade(heat)}">{escape(row.text)}</td></tr>'
        )
    items = "".join(f"<li>{escape(str(finding))}</li>" for finding in profile.findings)
    return (
        f"<div><b>{escape(profile.title)}</b>"
        f'<table style="border-collapse:collapse;font-size:85%"><thead><tr>{head}<th></th><th></th>'
        f'<th style="text-align:left">{escape(file or "PTX")}</th></tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>"
        f'<p style="font-size:80%;color:#6b7280">{escape(legend(columns))}; {_SHADES}</p>'
        + (f"<ul>{items}</ul>" if items else "")
        + "</div>"
    )


_SIDES = ("239,68,68", "34,197,94")  # background of text only on the left, and only on the right


def _side_html(pair: AlignedLine, side: int, columns: list[Column], tops: list[int]) -> str:
    row = pair[side]
    if row is None:
        return f'<td colspan="{len(columns) + 2}"></td>'
    cells = "".join(_figure_html(column, row.counts, top) for column, top in zip(columns, tops, strict=True))
    tint = "" if pair.same else f";background:rgba({_SIDES[side]},.12)"
    code = escape(row.text)
    if not pair.same and pair.left and pair.right:
        mark = f'<span style="background:rgba({_SIDES[side]},.35)">'
        parts = changes(pair.left.text, pair.right.text)[side]
        code = "".join(f"{mark}{escape(text)}</span>" if alone else escape(text) for text, alone in parts)
    return (
        f'{cells}<td style="{_CELL};color:#6b7280">{row.number}</td><td style="{_WRAPPED}{tint}">{code}</td>'
    )


def beside_html(pair_view: SideBySide) -> str:
    """Return two sources side by side as a table, shaded by the maxima of both."""
    columns = pair_view.columns
    tops = column_maxima(columns, [row for pair in pair_view.pairs for row in pair])
    head = "".join(f'<th style="{_CELL}">{escape(column.name)}</th>' for column in columns)
    heads = "".join(
        f'{head}<th></th><th style="text-align:left">{escape(name)}</th>' for name in pair_view.names
    )
    body = "".join(
        f"<tr>{''.join(_side_html(pair, side, columns, tops) for side in (0, 1))}</tr>"
        for pair in pair_view.pairs
    )
    titles = "<br>".join(f"<b>{escape(side.title)}</b>" for side in pair_view.sides)
    return (
        f'<div style="overflow-x:auto">{titles}'
        f'<table style="border-collapse:collapse;font-size:80%"><thead><tr>{heads}</tr></thead>'
        f'<tbody>{body}</tbody></table><p style="font-size:80%;color:#6b7280">red: on the left alone, '
        "green: on the right alone; the comments at the heads of both are left out</p></div>"
    )


def comparison_html(left: ProfileView, right: ProfileView) -> str:
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
