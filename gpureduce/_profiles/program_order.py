"""Program order of the two accesses of a race, from the control flow of the PTX."""

from __future__ import annotations

import re
from dataclasses import replace

from gpureduce._profiles.records import KernelProfile, Race

_LABEL = re.compile(r"^\s*([\w$%]+):")
_BRANCH = re.compile(r"^\s*(@!?[\w%$]+\s+)?bra(?:\.uni)?\s+([\w$%]+)\s*;")
_END = re.compile(r"^\s*(?:ret|exit|trap)\b")


class _Flow:
    """The control flow between the lines of one kernel; a table of branches (``brx``) is not followed."""

    def __init__(self, ptx: str, entry: str) -> None:
        lines = ptx.split("\n")
        head = re.compile(rf"\.entry\s+{re.escape(entry)}(?![\w$])")
        self.begin = next((i for i, line in enumerate(lines) if head.search(line)), len(lines))
        bodies = (i for i in range(self.begin + 1, len(lines)) if re.search(r"\.(entry|func)\b", lines[i]))
        self.end = next(bodies, len(lines))
        self.lines = lines
        body = range(self.begin, self.end)
        self.known = not any(re.search(r"\bbrx\b", lines[i]) for i in body)
        self.labels = {label[1]: i for i in body if (label := _LABEL.match(lines[i]))}

    def _next(self, at: int) -> list[int]:
        line = _LABEL.sub("", self.lines[at], count=1)
        if _END.match(line):
            return []
        branch = _BRANCH.match(line)
        if branch is None:
            return [at + 1]
        return [at + 1, self.labels[branch[2]]] if branch[1] else [self.labels[branch[2]]]

    def reaches(self, one: int, other: int) -> bool:
        """Return whether a thread that has executed one line can reach the other; lines count from 1."""
        seen: set[int] = set()
        left = self._next(one - 1)
        while left:
            at = left.pop()
            if at == other - 1:
                return True
            if at not in seen and at < self.end:
                seen.add(at)
                left += self._next(at)
        return False


def with_program_order(kernel: KernelProfile, ptx: str, entry: str) -> KernelProfile:
    """Return the record of a launch, with the program order of its races."""
    if not any(race.kind in ("write-read", "read-write") for race in kernel.races):
        return kernel
    flow = _Flow(ptx, entry)
    return replace(kernel, races=tuple(_ordered(race, flow) for race in kernel.races))


def _ordered(race: Race, flow: _Flow) -> Race:
    first, second = race.first, race.second
    if (
        race.space == "global"
        or not flow.known
        or race.kind not in ("write-read", "read-write")
        or first is None
        or second is None
    ):
        return race
    if not all(flow.begin < side.ptx_line <= flow.end for side in (first, second)):
        return race
    try:
        forward = flow.reaches(first.ptx_line, second.ptx_line)
        back = flow.reaches(second.ptx_line, first.ptx_line)
    except KeyError:  # a label of another form
        return race
    if forward == back:  # both in a loop
        return race
    return replace(race, program_order=race.kind if forward else "-".join(reversed(race.kind.split("-"))))
