"""Alignment of the lines of two sources, and their differences."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import NamedTuple

from gpureduce._profiles.text import Row

_ALIKE = 0.5  # lines that share as much are one line that changed
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


class AlignedLine(NamedTuple):
    """A line of the left source and its counterpart in the right one; None if there is none."""

    left: Row | None
    right: Row | None

    @property
    def same(self) -> bool:
        """Whether both exist and are equal except for indentation."""
        left, right = self
        return left is not None and right is not None and left.text.strip() == right.text.strip()


def _likeness(left: Row, right: Row) -> float:
    ours, theirs = left.text.strip(), right.text.strip()
    return difflib.SequenceMatcher(None, ours, theirs, autojunk=False).ratio() if ours and theirs else 0.0


def _match(left: Sequence[Row], right: Sequence[Row]) -> list[AlignedLine]:
    """Pair different lines with their most similar counterparts, in order."""
    best = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    alike = [[_likeness(a, b) for b in right] for a in left]
    for i in range(len(left) - 1, -1, -1):
        for k in range(len(right) - 1, -1, -1):
            together = alike[i][k] + best[i + 1][k + 1] if alike[i][k] >= _ALIKE else 0.0
            best[i][k] = max(best[i + 1][k], best[i][k + 1], together)
    pairs: list[AlignedLine] = []
    i = k = 0
    while i < len(left) and k < len(right):
        if alike[i][k] >= _ALIKE and best[i][k] == alike[i][k] + best[i + 1][k + 1]:
            pairs.append(AlignedLine(left[i], right[k]))
            i, k = i + 1, k + 1
        elif best[i][k] == best[i + 1][k]:
            pairs.append(AlignedLine(left[i], None))
            i += 1
        else:
            pairs.append(AlignedLine(None, right[k]))
            k += 1
    return [
        *pairs,
        *(AlignedLine(row, None) for row in left[i:]),
        *(AlignedLine(None, row) for row in right[k:]),
    ]


def align(left: list[Row], right: list[Row]) -> list[AlignedLine]:
    """Align the lines of two sources."""
    ours, theirs = ([row.text.strip() for row in rows] for rows in (left, right))
    pairs = []
    for kind, i, j, k, m in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if kind == "equal":
            pairs += [AlignedLine(a, b) for a, b in zip(left[i:j], right[k:m], strict=True)]
        else:
            pairs += _match(left[i:j], right[k:m])
    return pairs


def changes(left: str, right: str) -> tuple[list[tuple[str, bool]], list[tuple[str, bool]]]:
    """Return the parts of two lines, and for each whether it is in one line only."""
    ours, theirs = _TOKEN.findall(left), _TOKEN.findall(right)
    parts: tuple[list, list] = ([], [])
    for kind, i, j, k, m in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        for side, tokens in zip(parts, (ours[i:j], theirs[k:m]), strict=True):
            if tokens:
                side.append(("".join(tokens), kind != "equal"))
    return parts
