"""The pictures of the README, as SVG text that is the same on every machine."""

from __future__ import annotations

import functools
import itertools
import math

from benchmarks.harness.libraries import LABELS
from benchmarks.harness.markdown import power
from benchmarks.report.svg import PHONE, rect, svg, text, titles, wrapped
from gpureduce._device.variants import find
from gpureduce._profiles.palette import Palette
from gpureduce._profiles.timeline import Timeline
from gpureduce._profiles.variant import profile

WIDTH = 880
SHOWN = ("v0", "v1", "v2", "v7")
THREADS = 256
PEERS = ("cub", "torch", "cupy")


def _runs(kinds: list[int]) -> list[tuple[int, int, int]]:
    """Return neighbours of one kind as (first, end, kind)."""
    starts = [i for i in range(len(kinds)) if i == 0 or kinds[i] != kinds[i - 1]]
    return [(start, end, kinds[start]) for start, end in zip(starts, [*starts[1:], len(kinds)], strict=True)]


def lanes_message(timelines: dict[str, Timeline]) -> str:
    """Return how many steps the last variant takes, and the others."""
    *others, last = ((name, timeline.states.shape[0]) for name, timeline in timelines.items())
    most = max(steps for _, steps in others)
    names = ", ".join(name for name, steps in others if steps == most)
    return f"{last[0]} takes {last[1]} steps between barriers, {names} take {most}"


def lanes_svg(timelines: dict[str, Timeline], palette: Palette, phone: bool = False) -> str:
    """Return panels, one per variant: threads from left to right, steps from top to bottom.

    Panels are side by side, or two in a row for narrow screens.
    """
    gap, row, whole = 24, 13, PHONE if phone else WIDTH
    columns = 2 if phone else len(timelines)
    width = (whole - gap * (columns - 1)) / columns
    title = lanes_message(timelines)
    below = f"{THREADS} threads of a block, left to right; a row is a step, from barrier to barrier"
    parts, head = titles(title, below, whole, palette)
    legend, top = _lanes_legend(timelines, palette, head + 12, whole)
    parts += legend
    high = 40 + row * max(timeline.states.shape[0] for timeline in timelines.values())
    for panel, (name, timeline) in enumerate(timelines.items()):
        left, step = panel % columns * (width + gap), width / timeline.states.shape[1]
        first = top + panel // columns * (high + 24)
        words = f"{name}: {find(name).title.lower()}"
        for line, said in enumerate(wrapped(words, width, 13) if phone else words.split(", ")):
            parts.append(text(left, first + 12 + 16 * line, said, palette.text))
        for number, kinds in enumerate(timeline.kinds.tolist()):
            for start, end, kind in _runs(kinds):
                at = left + start * step, first + 38 + row * number
                parts.append(rect(*at, (end - start) * step, row - 2, palette.lanes[kind]))
    rows = -(-len(timelines) // columns)
    return svg(title, whole, top + rows * high + (rows - 1) * 24, parts, palette.background)


def _lanes_legend(
    timelines: dict[str, Timeline], palette: Palette, y: float, width: float
) -> tuple[list[str], float]:
    """Return the names of the colours below `y`, and where they end."""
    shown = max(int(timeline.kinds.max()) for timeline in timelines.values()) + 1
    named = ("idle", "active", "bank conflicts: 2-way", "4-way", "8-way", "16-way", "32-way")
    parts, x = list[str](), 0.0
    for name, colour in zip(named[:shown], palette.lanes, strict=False):
        if x + 18 + 7 * len(name) > width:
            x, y = 0, y + 18
        parts += [rect(x, y, 12, 12, colour), text(x + 18, y + 10, name, palette.text)]
        x += 36 + 7 * len(name)
    return parts, y + 24


def lanes(palette: Palette, phone: bool = False) -> str:
    """Return the picture of the threads of one block, as the simulator saw them."""
    seen = {name: profile(4 * THREADS, name, block_size=THREADS).timeline() for name in SHOWN}
    return lanes_svg(seen, palette, phone)


def float32_sums(record: dict) -> list[dict]:
    """Return the rows of aligned float32 sums."""
    return [
        row for row in record["rows"] if (row["op"], row["dtype"], row["offset"]) == ("sum", "float32", 0)
    ]


def peers_message(record: dict, peers: tuple[str, ...] = PEERS) -> str:
    """Return where gpureduce leads the first of the peers by most, and whether it is ever slower."""
    peer = next(peer for peer in peers if any(peer in row["ratio"] for row in float32_sums(record)))
    rows = [row for row in float32_sums(record) if peer in row["ratio"]]
    best = min(rows, key=lambda row: row["ratio"][peer])
    lead, n = 1 / best["ratio"][peer], power(best["n"])
    said = f"gpureduce is {lead:.1f}x as fast as {LABELS[peer]} at {n} elements"
    slowest = round(max(row["ratio"][peer] for row in rows), 2)
    return said + (", and never slower" if slowest <= 1 else f", and at worst {slowest:.2f}x its time")


Line = list[tuple[float, float]]


def _between(line: Line) -> Line:
    """Return points along a line."""
    pairs = itertools.pairwise(line)
    return [(x + (u - x) * i / 8, y + (v - y) * i / 8) for (x, y), (u, v) in pairs for i in range(9)] or line


def _label_places(lines: dict[str, Line], top: float, bottom: float) -> dict[str, tuple[float, float]]:
    """Return for each line the middle of its label: near one of its points, far from the other lines."""
    taken = {name: _between(line) for name, line in lines.items()}
    places: dict[str, tuple[float, float]] = {}

    def distance(name: str, place: tuple[float, float]) -> float:
        others = [point for each, points in taken.items() if each != name for point in points]
        others += [(x, 2 * y - place[1]) for x, y in taken[name] if abs(x - place[0]) < 30 and y == place[1]]
        gaps = [max(abs(x - place[0]) / 2, abs(y - place[1])) for x, y in [*others, *places.values()]]
        own = min(max(abs(x - place[0]) / 2, abs(y - place[1])) for x, y in taken[name])
        return min([*gaps, 40.0]) + min(own, 12)

    for name, line in lines.items():
        options = [(x, y + up) for x, y in line for up in (-14, 14) if top < y + up < bottom - 6]
        places[name] = max(options or line, key=functools.partial(distance, name))
    return places


def peers_svg(
    record: dict, palette: Palette, peers: tuple[str, ...] = PEERS, phone: bool = False
) -> str | None:
    """Return the times of float32 sums by others over ours, by the number of elements.

    None where none of the peers has such times. `phone`: for narrow screens.
    """
    width = PHONE if phone else WIDTH
    rows = float32_sums(record)
    names = {peer: LABELS[peer] for peer in peers if any(peer in row["ratio"] for row in rows)}
    if not names:
        return None
    left, right = (36, 72) if phone else (52, 84)
    largest = max(math.log2(1 / row["ratio"][peer]) for row in rows for peer in names if peer in row["ratio"])
    largest = max(1, math.ceil(largest))
    last = max(1, max(row["n"] for row in rows).bit_length() - 1)
    title = peers_message(record, peers)
    shown = f"{record['date']}, CUDA {record['toolkit'].split()[0]}"
    versions = ", ".join(f"{name} {record[key]}" for key, name in names.items() if key in record)
    below = f"float32 sums, one after another, {record['device']}; {shown}{', ' * bool(versions)}{versions}"
    parts, top = titles(title, below, width, palette)
    top += 42
    bottom = top + 184
    across, up = (width - left - right) / last, (bottom - top) / largest
    parts.append(text(0, top - 16, "time / time of gpureduce", palette.faint, size=12))
    for tick in range(largest + 1):
        y = bottom - tick * up
        colour = palette.grid if tick else palette.text
        parts.append(f'<line x1="{left}" y1="{y:.1f}" x2="{width - right}" y2="{y:.1f}" stroke="{colour}"/>')
        parts.append(text(left - 8, y + 4, f"{2**tick}x", palette.faint, size=12, anchor="end"))
    for n in range(0, last + 1, 5):
        x = left + n * across
        parts.append(text(x, bottom + 18, f"2^{n}", palette.faint, size=12, anchor="middle"))
    middle = (left + width - right) / 2
    parts.append(text(middle, bottom + 36, "elements", palette.faint, size=12, anchor="middle"))
    parts.append(text(width - right + 8, bottom + 4, "gpureduce", palette.text))
    lines = {
        peer: [
            (left + (row["n"].bit_length() - 1) * across, bottom + math.log2(row["ratio"][peer]) * up)
            for row in rows
            if peer in row["ratio"]
        ]
        for peer in names
    }
    places = _label_places(lines, top, bottom)
    for peer, points in lines.items():
        colour = palette.libraries[peer]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        x, y = places[peer]
        x = max(x, left + 4 * len(names[peer]))
        parts.append(text(x, y + 4, names[peer], colour, anchor="middle"))
    return svg(title, width, bottom + 42, parts, palette.background)
