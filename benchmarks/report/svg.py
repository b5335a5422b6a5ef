"""The charts of the ladders: speed-up over the first rung, as SVG text that is the same on every machine."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from html import escape

from gpureduce._bench.plotting import blend
from gpureduce._profiles.palette import DARK, LIGHT, Palette

__all__ = [
    "DARK", "LIGHT", "PHONE", "Palette", "blend", "picture", "rect", "speedup_svg", "svg", "text", "titles",
    "wrapped",
]  # fmt: skip


WIDTH, LEFT, RIGHT, ROW, BAR = 880, 300, 70, 40, 15
PHONE = 440  # the width of the form of a chart for narrow screens
_TITLE, _LINE = 16, 20  # size of a title and distance of its lines


def text(x: float, y: float, words: str, fill: str, *, size: int = 13, anchor: str = "start") -> str:
    """Return words, which begin, end or have their middle at a place."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}" font-size="{size}" text-anchor="{anchor}">'
        f"{escape(words)}</text>"
    )


def rect(x: float, y: float, width: float, height: float, fill: str) -> str:
    """Return a filled rectangle."""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"/>'


def wrapped(words: str, width: float, size: int) -> list[str]:
    """Return lines that fit a width, by the mean width of a letter."""
    return textwrap.wrap(words, int(width / (0.53 * size)))


def titles(title: str, below: str, width: int, palette: Palette) -> tuple[list[str], int]:
    """Return a title and the text below it, and where that ends."""
    parts, y = [], 0
    for line in wrapped(title, width, _TITLE):
        y += _LINE
        parts.append(text(0, y, line, palette.text, size=_TITLE))
    for line in wrapped(below, width, 12):
        y += _LINE
        parts.append(text(0, y, line, palette.faint, size=12))
    return parts, y


def svg(title: str, width: float, height: float, parts: list[str], background: str | None = None) -> str:
    """Return the picture with these parts."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" '
        'font-family="-apple-system, Segoe UI, Helvetica, Arial, sans-serif">'
    )
    area = [rect(0, 0, width, height, background)] if background else []
    return "\n".join([head, f"<title>{escape(title)}</title>", *area, *parts, "</svg>", ""])


def picture(name: str, message: str, phone: bool = False) -> str:
    """Return what shows a chart in a page of docs/benchmarks/, for a light and a dark background.

    `phone`: the chart has a form for narrow screens, too.
    """
    source = '\n  <source media="{media}" srcset="../images/{name}-phone-{kind}.svg">'
    dark, light = "(max-width: 600px) and (prefers-color-scheme: dark)", "(max-width: 600px)"
    narrow = source.format(media=dark, name=name, kind="dark") + source.format(
        media=light, name=name, kind="light"
    )
    return f"""<picture>{narrow if phone else ""}
  <source media="(prefers-color-scheme: dark)" srcset="../images/{name}-dark.svg">
  <img alt="{escape(message)}" src="../images/{name}-light.svg">
</picture>"""


def speedup_svg(
    title: str,
    rows: list[tuple[str, str, list[float | None]]],
    series: list[str],
    palette: Palette,
    first: str = "v0",
    after: Mapping[str, str | None] | None = None,
    *,
    below: str = "",
    phone: bool = False,
) -> str:
    """Return horizontal bars: a row is its name, its title, and a speed-up (or None) for each series.

    A row without a name is NVIDIA's library. The first series was measured, the second published by others.
    `after` says which row one comes after: what it has of that one's first speed-up is drawn pale, so that
    what it adds stands out. `below` is a line below the title. `phone`: for narrow screens, with the names
    above the bars.
    """
    width, left, row = (PHONE, 0, ROW + 20) if phone else (WIDTH, LEFT, ROW)
    head, top_of_rows = titles(title, below, width, palette)
    top_of_rows += 14
    colours = (palette.libraries["gpureduce"], palette.faint)
    before = {name: values[0] for name, _, values in rows}
    largest = max(value for _, _, values in rows for value in values if value is not None)
    step = 2 if largest > 6 else 1
    ticks = list(range(0, int(largest) + step, step))
    scale = (width - left - RIGHT) / max(largest, ticks[-1])
    parts = list(head)
    for i, (name, colour) in enumerate(zip(series, colours, strict=False)):
        key = top_of_rows + 18 * i
        parts += [rect(0, key, 12, 12, colour), text(18, key + 10, name, palette.text)]
    top_of_rows += 18 * max(2, len(series)) + 10
    bottom = top_of_rows + row * len(rows)
    for tick in ticks:
        x = left + tick * scale
        parts.append(
            f'<line x1="{x:.1f}" y1="{top_of_rows}" x2="{x:.1f}" y2="{bottom}" stroke="{palette.grid}"/>'
        )
        anchor = "start" if phone and not tick else "middle"
        parts.append(text(x, bottom + 18, f"{tick}x", palette.faint, size=12, anchor=anchor))
    middle = (left + width - RIGHT) / 2
    axis = f"speed-up over {first}" + ("; pale: speed-up of the rung before" if after else "")
    parts.append(text(middle, bottom + 38, axis, palette.faint, size=12, anchor="middle"))
    for i, (name, what, values) in enumerate(rows):
        own = colours if name else (palette.libraries["cublas"],)
        bars = [(value, colour) for value, colour in zip(values, own, strict=False) if value]
        begin = top_of_rows + row * i
        top: float = begin + 22 if phone else begin + (row - BAR * len(bars)) / 2
        named: float = begin + (16 if phone else row / 2 + 5)
        parts += [text(0, named, name, palette.text), text(36, named, what, palette.text)]
        for j, (value, colour) in enumerate(bars):
            y = top + BAR * j
            earlier = (after or {}).get(name) if j == 0 else None
            had = min(value, before.get(earlier) or 0) if earlier else 0
            if had:
                parts.append(rect(left, y, had * scale, BAR - 1, blend(colour, palette.background)))
            if value > had:
                parts.append(rect(left + had * scale, y, (value - had) * scale, BAR - 1, colour))
            label = f"{value:.2f}x"
            parts.append(text(left + value * scale + 5, y + BAR - 3, label, palette.text, size=12))
    return svg(title, width, bottom + 44, parts)
