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
    shortened,
)

if TYPE_CHECKING:
    from gpureduce._profiles.side_by_side import SideBySide

_NUMBER = "color:#6b7280"
_CODE = "text-align:left;white-space:pre-wrap;font-family:monospace"
_WRAPPED = f"{_CODE};min-width:22em;vertical-align:top"
_SCROLLED = "overflow-x:auto"  # on a page that is too narrow
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


def _code(text: str) -> str:
    """Return a source line; it stays indented where styles are removed."""
    code = text.lstrip(" ")
    return "&nbsp;" * (len(text) - len(code)) + escape(code)


def _figure_html(column: Column, counts: Counts | None, most_of_all: int) -> str:
    """Return a cell of the margin, shaded by its share of the maximum."""
    shown = "" if counts is None else column.shown(counts)
    if counts is None or not shown:
        return "<td></td>"
    shade = _shade(column.heat(counts) / most_of_all) if most_of_all else ""
    brief = shortened(shown)
    exact = f' title="{shown}"' if brief != shown else ""
    return f'<td align="right"{_styled(shade)}{exact}>{brief.replace(" ", "&nbsp;")}</td>'


def _styled(style: str) -> str:
    return f' style="{style.lstrip(";")}"' if style else ""


def _heads(columns: list[Column]) -> str:
    return "".join(f'<th align="right">{escape(column.name)}</th>' for column in columns)


def _note(text: str) -> str:
    return f'<p style="font-size:80%;{_NUMBER}">{escape(text)}</p>'


def profile_html(profile: ProfileView) -> str:
    """Return the annotated source as a table, shaded by each counter's share of the column maximum.

    The source is on the left, so that a narrow page shows it, and counters to the right of it.
    """
    file = file_of(profile)
    columns, rows = margin_rows(profile, file)
    tops = column_maxima(columns, rows)
    body = []
    for row, heat in zip(rows, _heats(rows), strict=True):
        cells = "".join(
            _figure_html(column, row.counts, top) for column, top in zip(columns, tops, strict=True)
        )
        mark = '<b title="hazard" style="color:#dc2626">!</b>&nbsp;' if row.racy else ""
        body.append(
            f'<tr><td align="right" style="{_NUMBER}">{mark}{row.number}</td>'
            f'<td style="{_CODE};min-width:20em{_shade(heat)}">{_code(row.text)}</td>{cells}</tr>'
        )
    items = "".join(f"<li>{escape(str(finding))}</li>" for finding in profile.findings)
    return (
        f'<div style="{_SCROLLED}"><b>{escape(profile.title)}</b>{f", {escape(file)}" if file else ""}'
        f'<table cellpadding="4" style="border-collapse:collapse;font-size:85%"><thead><tr><th></th>'
        f'<th style="text-align:left">{"CUDA C++" if file else "PTX"}</th>{_heads(columns)}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>{_note(f'{legend(columns)}; {_SHADES}')}"
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
    code = _code(row.text)
    if not pair.same and pair.left and pair.right:
        mark = f'<span style="background:rgba({_SIDES[side]},.35)">'
        parts = changes(pair.left.text, pair.right.text)[side]
        code = "".join(f"{mark}{escape(text)}</span>" if alone else escape(text) for text, alone in parts)
    number = f'<td align="right" style="{_NUMBER}">{row.number}</td>'
    return f'{cells}{number}<td style="{_WRAPPED}{tint}">{code}</td>'


def beside_html(pair_view: SideBySide) -> str:
    """Return two sources side by side as a table, shaded by the maxima of both."""
    columns = pair_view.columns
    tops = column_maxima(columns, [row for pair in pair_view.pairs for row in pair])
    head = _heads(columns)
    heads = "".join(
        f'{head}<th></th><th style="text-align:left">{escape(name)}</th>' for name in pair_view.names
    )
    body = "".join(
        f"<tr>{''.join(_side_html(pair, side, columns, tops) for side in (0, 1))}</tr>"
        for pair in pair_view.pairs
    )
    ours, theirs = pair_view.names
    titles = "<br>".join(f"<b>{escape(side.title)}</b>" for side in pair_view.sides)
    return (
        f'<div style="{_SCROLLED}">{titles}'
        f'<table style="border-collapse:collapse;font-size:80%"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
        + _note(f"red: {ours} alone, green: {theirs} alone; the comments at the heads of both are left out")
        + "</div>"
    )


def comparison_html(left: ProfileView, right: ProfileView, names: tuple[str, str]) -> str:
    """Return two profiles as a table."""
    rows = "".join(
        f'<tr><td style="text-align:left">{escape(name)}</td><td align="right">{a:,.6g}</td>'
        f'<td align="right">{b:,.6g}</td><td align="right">{ratio(a, b)}</td></tr>'
        for name, a, b in comparison_rows(left, right)
    )
    heads = "".join(f'<th align="right">{escape(name)}</th>' for name in names)
    return (
        f'<div style="{_SCROLLED}"><table><thead><tr><th></th>{heads}<th></th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
