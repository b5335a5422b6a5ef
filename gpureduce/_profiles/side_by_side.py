"""Two annotated sources side by side, with changes marked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from gpureduce._profiles.counts import Counts
from gpureduce._profiles.diff import AlignedLine, align
from gpureduce._profiles.text import Column, ProfileView, Row, file_of, margin_rows, truncate_lines

# Columns with numbers only, which fit next to another margin.
_FIGURES: tuple[tuple[str, Callable[[Counts], int]], ...] = (
    ("warp instr.", lambda c: c.warp_instructions),
    ("shared", lambda c: c.shared_wavefronts),
    ("conflicts", lambda c: c.bank_conflicts),
    ("sectors", lambda c: c.global_sectors),
    ("copied", lambda c: c.copied_bytes),
    ("barriers", lambda c: c.barriers),
    ("atomics", lambda c: c.atomics),
    ("FMA", lambda c: c.multiply_adds),
    ("tensor FMA", lambda c: c.tensor_multiply_adds),
)


def _column(name: str, figure: Callable[[Counts], int]) -> Column:
    return Column(name, lambda counts: f"{figure(counts):,}" if figure(counts) else "", figure)


COLUMNS = tuple(_column(*each) for each in _FIGURES)


def _body(rows: list[Row]) -> list[Row]:
    """Return the lines after the head comment."""
    first = next((i for i, row in enumerate(rows) if row.text and not row.text.startswith("//")), 0)
    return rows[first:]


@dataclass(frozen=True)
class SideBySide:
    """Aligned sources of two profiles, with the counters of both; see `Comparison.sources`.

    ``print`` shows one listing, with ``-`` before lines of the left source only and ``+`` before lines of the
    right source only. Jupyter displays both sources side by side.
    """

    left: ProfileView
    right: ProfileView
    names: tuple[str, str]

    @cached_property
    def pairs(self) -> list[AlignedLine]:
        """Aligned lines of both sources."""
        return align(*(_body(margin_rows(profile, file_of(profile))[1]) for profile in self.sides))

    @property
    def sides(self) -> tuple[ProfileView, ProfileView]:
        """The two profiles."""
        return self.left, self.right

    @property
    def columns(self) -> list[Column]:
        """Counters to show: instructions, and all in which the two differ."""
        left, right = (side.totals for side in self.sides)
        return [
            column for i, column in enumerate(COLUMNS) if i == 0 or column.heat(left) != column.heat(right)
        ]

    def text(self, width: int | None = None) -> str:
        """Return both sources as one listing, for a terminal.

        Parameters
        ----------
        width : int, optional
            Width of the terminal in columns; longer lines are truncated. Default: unlimited.

        Returns
        -------
        str
        """
        columns = self.columns
        widths = [
            max(len(column.name), *(len(column.shown(side.totals)) for side in self.sides))
            for column in columns
        ]

        def margin(row: Row | None) -> str:
            cells = [column.shown(row.counts) if row and row.counts else "" for column in columns]
            return "  ".join(cell.rjust(each) for cell, each in zip(cells, widths, strict=True))

        heads = "  ".join(column.name.rjust(each) for column, each in zip(columns, widths, strict=True))
        lines = [*(side.title for side in self.sides), ""]
        lines.append(" | ".join(name.center(len(heads)) for name in self.names))
        lines.append(f"{heads} | {heads}")
        ours, theirs = self.names
        for left, right in self._lines():
            row = left or right
            assert row is not None
            mark = " " if left and right else "-" if left else "+"
            lines.append(f"{margin(left)} | {margin(right)}  {mark} {row.text}".rstrip())
        lines += ["", f"- only {ours}, + only {theirs}; the head comments of both are omitted"]
        return "\n".join(truncate_lines(lines, width))

    def _lines(self) -> list[AlignedLine]:
        """Return the lines of one listing; in a block of changes, the left lines come first."""
        lines: list[AlignedLine] = []
        waiting: list[AlignedLine] = []
        for pair in [*self.pairs, None]:
            if pair is None or pair.same:
                lines += [AlignedLine(each.left, None) for each in waiting if each.left]
                lines += [AlignedLine(None, each.right) for each in waiting if each.right]
                waiting = []
            if pair is not None:
                (lines if pair.same else waiting).append(pair)
        return lines

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from gpureduce._profiles.html import beside_html

        return beside_html(self)
