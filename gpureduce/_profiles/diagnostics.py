"""Races grouped by cause: one missing barrier, or one store by several threads, shows as many races."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gpureduce._profiles.records import Access, Race

# Remedies of a store by which several threads write one word.
_SUM = "an atomic operation or a reduction tree"
_STORE = "one thread that writes it, or a word for each thread"

_BARRIERS = ("__syncwarp", "__syncthreads", "a barrier of the cluster")


@dataclass(frozen=True)
class Finding:
    """Races with one cause: a missing barrier, wait or fence, or colliding stores.

    Attributes
    ----------
    missing : str
        What is missing, such as ``"__syncthreads"``.
    races : tuple of Race
        Races between pairs of instructions; `str` shows the first one as an example.
    """

    missing: str
    races: tuple[Race, ...]

    @property
    def count(self) -> int:
        """Number of occurrences, counted per lane."""
        return sum(race.count for race in self.races)

    def __str__(self) -> str:
        further = len(self.races) - 1
        if not further:
            return str(self.races[0])
        pairs = "one more pair" if further == 1 else f"{further} more pairs"
        return f"{self.races[0]}, and {pairs} of instructions with the same cause"


def _lines(race: Race) -> tuple[int, int] | None:
    """Return the two source lines of a race in order; PTX lines if there is no source."""
    first, second = race.first, race.second
    if first is None or second is None:
        return None
    of_source = bool(first.file) and first.file == second.file
    lines = [side.line if of_source else side.ptx_line for side in (first, second)]
    return min(lines), max(lines)


def _example(races: list[Race], missing: str) -> list[Race]:
    """Return the races with the best example first: one with a remedy, preferably a read of written data."""

    def order(race: Race) -> tuple[bool, bool]:
        return race.missing != missing, not (race.too_early or race.kind == "write-read")

    return sorted(races, key=order)


def _between_lines(races: list[Race]) -> list[list[Race]]:
    """Group races by a minimal set of barriers that would order them.

    A barrier between two lines orders accesses before it and after it. A race within one line, such as a loop
    statement with itself, joins other races of that line.
    """
    groups: list[tuple[int, list[Race]]] = []  # with the line that its barrier would stand before
    placed = {id(race): _lines(race) or (0, 0) for race in races}
    apart = [race for race in races if placed[id(race)][0] < placed[id(race)][1]]
    for race in sorted(apart, key=lambda race: placed[id(race)][1]):
        if not groups or placed[id(race)][0] >= groups[-1][0]:
            groups.append((placed[id(race)][1], []))
        groups[-1][1].append(race)
    by_barrier = [group for _, group in groups]
    for race in (race for race in races if placed[id(race)][0] == placed[id(race)][1]):
        line = placed[id(race)][0]
        touching = (
            group for group in reversed(by_barrier) if any(line in placed[id(each)] for each in group)
        )
        group = next(touching, None)
        if group is None:
            by_barrier.append(group := [])
            group.append(race)
        else:
            group.append(race)
    return by_barrier


def _take_early_reads(groups_of_races: list[list[Race]], races: list[Race]) -> list[Race]:
    """Add reads of unwritten words to the missing barriers of their lines; return the other races."""
    left: list[Race] = []
    for race in races:
        line = race.second and (race.second.line or race.second.ptx_line)
        early = race.kind == "uninitialised"
        groups = (group for group in groups_of_races if any(line in (_lines(each) or ()) for each in group))
        group = next(groups, None) if early else None
        (left if group is None else group).append(race)
    return left


def _write_first(races: list[Race]) -> tuple[Race, ...]:
    """Return the races, a store that collides with itself first."""
    return tuple(sorted(races, key=lambda race: bool(race.remedy) and race.kind != "write-write"))


def _source_line(side: Access | None) -> tuple[str, int]:
    return (side.file, side.line or side.ptx_line) if side else ("", 0)


def findings(races: Iterable[Race]) -> tuple[Finding, ...]:
    """Group races by cause."""
    results = []
    by_kernel: dict[str, list[Race]] = {}
    for race in races:
        by_kernel.setdefault(race.kernel, []).append(race)
    for members in by_kernel.values():
        ordered = [race for race in members if race.missing in _BARRIERS and _lines(race)]
        groups = [
            group
            for same_block in (True, False)
            for group in _between_lines([race for race in ordered if race.same_block == same_block])
        ]
        left = _take_early_reads(groups, [race for race in members if race not in ordered])
        for group in groups:
            missing = max((race.missing for race in group if race.missing in _BARRIERS), key=_BARRIERS.index)
            results.append(Finding(missing, tuple(_example(group, missing))))
        others: dict[tuple, list[Race]] = {}
        for race in left:
            # Keys: the reader of an unwritten word; the thread that did not wait for a copy; a store that
            # collides with itself.
            stored = bool(race.remedy) and race.kind != "write-read"
            side = race.second if race.first is None or stored else race.first
            others.setdefault((race.missing, *_source_line(side)), []).append(race)
        results += [Finding(group[0].missing, _write_first(group)) for group in others.values()]
    return tuple(results)


def _reads_before(race: Race, store: Access) -> bool:
    """Whether one side is the store and the other one a load before it, or in its line."""
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
    """Return the races of one kernel, with remedies for colliding stores.

    A store collides if several lanes write one word in one execution, or if several threads execute it and it
    writes one word in the whole block. With a load of that word before it, it is an accumulation.
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
