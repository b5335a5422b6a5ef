"""The pictures of the README, as SVG text that is the same on every machine."""

from __future__ import annotations

import math
from html import escape

from benchmarks.harness.libraries import LABELS
from benchmarks.report.svg import rect, text
from gpureduce._device.variants import find
from gpureduce._profiles.palette import Palette
from gpureduce._profiles.timeline import Timeline
from gpureduce._profiles.variant import profile

WIDTH = 880
SHOWN = ("v0", "v1", "v2", "v7")
THREADS = 64
PEERS = ("cub", "torch", "cupy")


def _svg(title: str, height: float, parts: list[str], palette: Palette) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" role="img" '
            'font-family="-apple-system, Segoe UI, Helvetica, Arial, sans-serif">',
            f"<title>{escape(title)}</title>",
            rect(0, 0, WIDTH, height, palette.background),
            *parts,
            "</svg>",
            "",
        ]
    )


def _runs(kinds: list[int]) -> list[tuple[int, int, int]]:
    """Return neighbours of one kind as (first, end, kind)."""
    starts = [i for i in range(len(kinds)) if i == 0 or kinds[i] != kinds[i - 1]]
    return [(start, end, kinds[start]) for start, end in zip(starts, [*starts[1:], len(kinds)], strict=True)]


def lanes_svg(timelines: dict[str, Timeline], palette: Palette) -> str:
    """Return panels side by side, one a variant: threads from left to right, rounds from top to bottom."""
    gap, row, top = 24, 13, 70
    width = (WIDTH - gap * (len(timelines) - 1)) / len(timelines)
    title = f"{THREADS} threads, from barrier to barrier (downwards)"
    parts = [text(0, 18, title, palette.text, size=16)]
    x = 440.0
    named = ("idle", "at work", "bank conflicts, 2-way", "4", "8", "16", "32")
    shown = max(int(timeline.kinds.max()) for timeline in timelines.values()) + 1
    for name, colour in zip(named[:shown], palette.lanes, strict=False):
        parts += [rect(x, 8, 12, 12, colour), text(x + 18, 18, name, palette.text)]
        x += 32 + 7 * len(name)
    for panel, (name, timeline) in enumerate(timelines.items()):
        left, step = panel * (width + gap), width / timeline.states.shape[1]
        for line, words in enumerate(f"{name}: {find(name).title.lower()}".split(", ")):
            parts.append(text(left, 42 + 16 * line, words, palette.text))
        for number, kinds in enumerate(timeline.kinds.tolist()):
            for start, end, kind in _runs(kinds):
                at = left + start * step, top + row * number
                parts.append(rect(*at, (end - start) * step, row - 2, palette.lanes[kind]))
    rounds = max(timeline.states.shape[0] for timeline in timelines.values())
    return _svg(title, top + row * rounds, parts, palette)


def lanes(palette: Palette) -> str:
    """Return the picture of the threads of one block, as the simulator saw them."""
    seen = {name: profile(4 * THREADS, name, block_size=THREADS).timeline() for name in SHOWN}
    return lanes_svg(seen, palette)


def peers_svg(record: dict, palette: Palette, peers: tuple[str, ...] = PEERS) -> str | None:
    """Return the times of float32 sums by others over ours, by the number of elements.

    None where none of the peers has such times.
    """
    rows = [
        row for row in record["rows"] if (row["op"], row["dtype"], row["offset"]) == ("sum", "float32", 0)
    ]
    names = {peer: LABELS[peer] for peer in peers if any(peer in row["ratio"] for row in rows)}
    if not names:
        return None
    left, right, top, bottom = 52, 84, 66, 250
    largest = max(math.log2(1 / row["ratio"][peer]) for row in rows for peer in names if peer in row["ratio"])
    largest = max(1, math.ceil(largest))
    last = max(1, max(row["n"] for row in rows).bit_length() - 1)
    across, up = (WIDTH - left - right) / last, (bottom - top) / largest
    title = f"Sum of n float32 on an {record['device']}: time of others over ours"
    shown = f"{record['date']}, CUDA {record['toolkit'].split()[0]}"
    versions = ", ".join(f"{name} {record[key]}" for key, name in names.items() if key in record)
    below = f"one reduction after another, on the device, in one run; {shown}, {versions}"
    parts = [text(0, 20, title, palette.text, size=16), text(0, 40, below, palette.faint, size=12)]
    for tick in range(largest + 1):
        y = bottom - tick * up
        colour = palette.grid if tick else palette.text
        parts.append(f'<line x1="{left}" y1="{y:.1f}" x2="{WIDTH - right}" y2="{y:.1f}" stroke="{colour}"/>')
        parts.append(text(left - 8, y + 4, f"{2**tick}x", palette.faint, size=12, anchor="end"))
    for power in range(0, last + 1, 5):
        parts.append(
            text(left + power * across, bottom + 18, f"2^{power}", palette.faint, size=12, anchor="middle")
        )
    parts.append(text(0, bottom + 18, "n =", palette.faint, size=12))
    parts.append(text(WIDTH - right + 8, bottom + 4, "gpureduce", palette.text))
    for (peer, name), colour in zip(names.items(), palette.series, strict=False):
        points = [
            (left + (row["n"].bit_length() - 1) * across, bottom + math.log2(row["ratio"][peer]) * up)
            for row in rows
            if peer in row["ratio"]
        ]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        at = 560 + 100 * list(names).index(peer)
        parts += [rect(at, top + 20, 12, 12, colour), text(at + 18, top + 30, name, palette.text)]
    return _svg(title, bottom + 28, parts, palette)
