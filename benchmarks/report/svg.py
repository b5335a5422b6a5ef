"""The charts of the ladders: speed-up over the first rung, as SVG text that is the same on every machine."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from gpureduce._bench.plotting import blend
from gpureduce._profiles.palette import DARK, LIGHT, Palette

__all__ = ["DARK", "LIGHT", "Palette", "blend", "picture", "rect", "speedup_svg", "text"]


WIDTH, LEFT, RIGHT, TOP, ROW, BAR = 880, 300, 70, 100, 40, 15


def text(x: float, y: float, words: str, fill: str, *, size: int = 13, anchor: str = "start") -> str:
    """Return words, which begin, end or have their middle at a place."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}" font-size="{size}" text-anchor="{anchor}">'
        f"{escape(words)}</text>"
    )


def rect(x: float, y: float, width: float, height: float, fill: str) -> str:
    """Return a filled rectangle."""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"/>'


def picture(name: str, message: str) -> str:
    """Return what shows a chart in a page of docs/benchmarks/, for a light and a dark background."""
    return f"""<picture>
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
) -> str:
    """Return horizontal bars: a row is its name, its title, and a speed-up (or None) for each series.

    A row without a name is NVIDIA's library. The first series was measured, the second published by others.
    `after` says which row one comes after: what it has of that one's first speed-up is drawn pale, so that
    what it adds stands out. `below` is a line below the title.
    """
    colours = (palette.libraries["gpureduce"], palette.faint)
    before = {name: values[0] for name, _, values in rows}
    largest = max(value for _, _, values in rows for value in values if value is not None)
    step = 2 if largest > 6 else 1
    ticks = list(range(0, int(largest) + step, step))
    scale = (WIDTH - LEFT - RIGHT) / max(largest, ticks[-1])
    bottom = TOP + ROW * len(rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{bottom + 44}" '
        f'viewBox="0 0 {WIDTH} {bottom + 44}" role="img" '
        'font-family="-apple-system, Segoe UI, Helvetica, Arial, sans-serif">',
        f"<title>{escape(title)}</title>",
        text(0, 20, title, palette.text, size=16),
        text(0, 40, below, palette.faint, size=12),
    ]
    for i, (name, colour) in enumerate(zip(series, colours, strict=False)):
        parts += [rect(0, 54 + 18 * i, 12, 12, colour), text(18, 64 + 18 * i, name, palette.text)]
    for tick in ticks:
        x = LEFT + tick * scale
        parts.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}" stroke="{palette.grid}"/>')
        parts.append(text(x, bottom + 18, f"{tick}x", palette.faint, size=12, anchor="middle"))
    middle = (LEFT + WIDTH - RIGHT) / 2
    axis = f"speed-up over {first}" + ("; pale: speed-up of the rung before" if after else "")
    parts.append(text(middle, bottom + 38, axis, palette.faint, size=12, anchor="middle"))
    for i, (name, what, values) in enumerate(rows):
        own = colours if name else (palette.libraries["cublas"],)
        bars = [(value, colour) for value, colour in zip(values, own, strict=False) if value]
        top = TOP + ROW * i + (ROW - BAR * len(bars)) / 2
        parts.append(text(0, TOP + ROW * i + ROW / 2 + 5, name, palette.text))
        parts.append(text(36, TOP + ROW * i + ROW / 2 + 5, what, palette.text))
        for j, (value, colour) in enumerate(bars):
            y = top + BAR * j
            earlier = (after or {}).get(name) if j == 0 else None
            had = min(value, before.get(earlier) or 0) if earlier else 0
            if had:
                parts.append(rect(LEFT, y, had * scale, BAR - 1, blend(colour, palette.background)))
            if value > had:
                parts.append(rect(LEFT + had * scale, y, (value - had) * scale, BAR - 1, colour))
            label = f"{value:.2f}x"
            parts.append(text(LEFT + value * scale + 5, y + BAR - 3, label, palette.text, size=12))
    return "\n".join([*parts, "</svg>", ""])
