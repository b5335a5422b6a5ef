"""Races of threads that write one word by the same store: what they need in place of a barrier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpureduce._profiles.records import Access, Race

_SUM = "an atomic operation or a reduction tree"
_STORE = "one thread that writes it, or a word for each thread"


def _reads_before(race: Race, store: Access) -> bool:
    """Whether one side is the store and the other one a load that stands before it, or in its line."""
    first, second = race.first, race.second
    if first is None or second is None or race.kind not in ("write-read", "read-write"):
        return False
    writer, reader = (first, second) if race.kind == "write-read" else (second, first)
    if writer.ptx_line != store.ptx_line:
        return False
    if reader.file and reader.file == writer.file:
        return reader.line <= writer.line
    return reader.ptx_line < writer.ptx_line


def with_remedies(races: Sequence[Race], collisions: Sequence[int]) -> tuple[Race, ...]:
    """Return the races of one kernel; those of colliding stores say what helps.

    A store collides where lanes write one word in one execution of it, or where several threads execute it
    and it writes one word in the whole block. A load of that word before it makes it a sum, say.
    """
    stores = {
        race.second.ptx_line: race.second
        for race, collision in zip(races, collisions, strict=True)
        if collision and race.second is not None
    }
    remedies: dict[int, str] = {}  # by the position of the race
    for line, store in stores.items():
        reads = [i for i, race in enumerate(races) if _reads_before(race, store)]
        writes = [
            i for i, race in enumerate(races)
            if collisions[i] and race.second is not None and race.second.ptx_line == line
        ]  # fmt: skip
        remedies |= dict.fromkeys(reads + writes, _SUM if reads else _STORE)
    return tuple(replace(race, remedy=remedies.get(i, "")) for i, race in enumerate(races))
