"""Profiles as text: source with counters in its margin, totals, comparisons."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from gpureduce._profiles.counts import Counts, total
from gpureduce._profiles.diagnostics import Finding
from gpureduce._profiles.records import KernelProfile, Line, Race


class ProfileView(Protocol):
    """Interface of a profile that can be shown."""

    @property
    def title(self) -> str:
        """Title: what ran."""

    @property
    def kernels(self) -> tuple[KernelProfile, ...]:
        """The launches in order."""

    @property
    def variant(self) -> str:
        """Name of the variant; empty for a user's kernel."""

    @property
    def n(self) -> int:
        """Number of elements, or of multiply-adds."""

    @property
    def counted(self) -> str:
        """Unit of `n`."""

    @property
    def multiply_adds(self) -> int:
        """Required multiply-adds, or those that ran."""

    @property
    def multiply_adds_an_instruction(self) -> float:
        """Mean multiply-adds per warp instruction."""

    @property
    def bytes_a_flop(self) -> float:
        """Bytes of global memory per FLOP."""

    @property
    def totals(self) -> Counts:
        """The sum over all launches."""

    @property
    def races(self) -> tuple[Race, ...]:
        """Races of all launches."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Races grouped by cause."""

    def lines(self, file: str | None = None) -> tuple[Line, ...]:
        """Return the lines of a source file that have instructions."""

    def files(self) -> tuple[str, ...]:
        """Return the source files that instructions come from."""

    def source_lines(self, file: str) -> list[str]:
        """Return the lines of a source file; none if its text is unknown."""


class Column(NamedTuple):
    """A column of the margin: its name, its text for a line, and its heat for a line."""

    name: str
    shown: Callable[[Counts], str]
    heat: Callable[[Counts], int]


def _number(value: int) -> str:
    return f"{value:,}" if value else ""


def _against(actual: int, ideal: int) -> str:
    return f"{actual:,} / {ideal:,}" if actual else ""


COLUMNS = (
    Column("warp instr.", lambda c: _number(c.warp_instructions), lambda c: c.warp_instructions),
    Column(
        "predicated",
        lambda c: _number(c.warp_instructions_predicated),
        lambda c: c.warp_instructions_predicated,
    ),
    Column(
        "lanes",
        lambda c: f"{c.mean_lanes:.1f}" if c.warp_instructions else "",
        lambda c: 32 * c.warp_instructions - c.lane_instructions,
    ),
    Column("divergent", lambda c: _number(c.divergent_branches), lambda c: c.divergent_branches),
    Column(
        "shared / ideal",
        lambda c: _against(c.shared_wavefronts, c.shared_ideal),
        lambda c: c.shared_wavefronts,
    ),
    Column("conflicts", lambda c: _number(c.bank_conflicts), lambda c: c.bank_conflicts),
    Column(
        "sectors / ideal", lambda c: _against(c.global_sectors, c.global_ideal), lambda c: c.global_sectors
    ),
    Column("copied", lambda c: _number(c.copied_bytes), lambda c: c.copied_bytes),
    Column("barriers", lambda c: _number(c.barriers), lambda c: c.barriers),
    Column("atomics", lambda c: _number(c.atomics), lambda c: c.atomics),
    Column("FMA", lambda c: _number(c.multiply_adds), lambda c: c.multiply_adds),
    Column("tensor FMA", lambda c: _number(c.tensor_multiply_adds), lambda c: c.tensor_multiply_adds),
)

LEGEND = (
    "warp instr.: PTX instructions issued, per warp; lanes: active lanes, on average; "
    "shared: shared-memory wavefronts; sectors: of 32 bytes of global memory"
)
_FURTHER = {
    "predicated": (
        "\npredicated: warp instr. if short forward branches become predicates, as in ptxas: there is no "
        "branch,\nand the instructions that it skips are issued to every warp, with the lanes that skip them "
        "disabled"
    ),
    "copied": "; copied: bytes of bulk copies",
    "FMA": "; FMA: fused multiply-adds of all lanes",
    "tensor FMA": "; tensor FMA: multiply-adds by tensor cores",
}


def legend(used: list[Column]) -> str:
    """Return the legend of the columns in use."""
    further = [_FURTHER[column.name] for column in used if column.name in _FURTHER]
    return LEGEND + "".join(sorted(further, key=lambda text: text.startswith("\n")))


class Row(NamedTuple):
    """A source line: its counts (None without instructions), and whether it has a race."""

    counts: Counts | None
    number: int
    text: str
    racy: bool


def margin_rows(
    profile: ProfileView, file: str | None, predicated: bool = False
) -> tuple[list[Column], list[Row]]:
    """Return the nonempty columns, and a row for each source line.

    `file` None means the PTX. Predicated instructions have a column only on request.
    """
    rows = _ptx_rows(profile) if file is None else _cuda_rows(profile, file)
    whole = profile.totals
    visible = [column for column in COLUMNS if predicated or column.name != "predicated"]
    return [column for column in visible if column.shown(whole)], rows


def file_of(profile: ProfileView) -> str | None:
    """Return the source file of a profile's kernel; None to show the PTX."""
    return next((name for name in profile.files()[:1] if profile.source_lines(name)), None)


def column_maxima(columns: list[Column], rows: Iterable[Row | None]) -> list[int]:
    """Return the maximum of each column."""
    counted = [row.counts for row in rows if row and row.counts]
    return [max((column.heat(counts) for counts in counted), default=0) for column in columns]


def _cuda_rows(profile: ProfileView, file: str) -> list[Row]:
    counted = {line.number: line for line in profile.lines(file)}
    racy = {
        side.line
        for race in profile.races
        for side in (race.first, race.second)
        if side and side.file == file
    }
    texts = dict(enumerate(profile.source_lines(file), 1))
    numbers = sorted({*texts, *counted})
    return [Row(counted[i].counts if i in counted else None, i, texts.get(i, ""), i in racy) for i in numbers]


def _ptx_rows(profile: ProfileView) -> list[Row]:
    by_line: dict[int, tuple[str, list[Counts]]] = {}
    for kernel in profile.kernels:
        for instruction in kernel.instructions:
            entry = by_line.setdefault(instruction.ptx_line, (instruction.text, []))
            entry[1].append(instruction.counts)
    racy = {side.ptx_line for race in profile.races for side in (race.first, race.second) if side}
    return [
        Row(total(counts), number, text, number in racy) for number, (text, counts) in sorted(by_line.items())
    ]


_HEADS = {name: ("", name) for name in ("lanes", "copied", "FMA")} | {
    "divergent": ("diver-", "gent"),
    "conflicts": ("con-", "flicts"),
    "barriers": ("bar-", "riers"),
    "atomics": ("ato-", "mics"),
    "predicated": ("predi-", "cated"),
}
_LARGE = re.compile(r"\d+(?:,\d{3})+")
_CODE = 60  # minimum width of source lines; otherwise counters are shortened


def _short(large: re.Match[str]) -> str:
    """Return a number with three digits and a unit: 132k, 1.05M."""
    groups = large[0].split(",")
    digits = f"{groups[0]}.{groups[1]}"[:4].rstrip(".")
    return f"{digits}{'kMGTPE'[len(groups) - 2]}"


def shortened(cell: str) -> str:
    """Return a cell of the margin with its large numbers shortened."""
    return _LARGE.sub(_short, cell)


def _margins(columns: list[Column], cells: list[list[str]], brief: bool) -> tuple[list[str], list[str]]:
    """Return the heading, of one or two lines, and the margin of each source line."""
    apart = "  "
    heads = [[column.name for column in columns]]
    if brief:
        apart = " "
        parts = [_HEADS.get(column.name) or column.name.split(" ", 1) for column in columns]
        heads = [[part[i] for part in parts] for i in range(2)]
        cells = [[shortened(cell).replace(" / ", "/") for cell in row] for row in cells]
    widths = [max(map(len, column)) for column in zip(*heads, *cells, strict=True)]
    lines = [
        apart.join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in (*heads, *cells)
    ]
    return lines[: len(heads)], lines[len(heads) :]


def truncate_lines(lines: list[str], width: int | None) -> list[str]:
    """Return lines for a terminal of `width` columns."""
    return [line if width is None or len(line) <= width else f"{line[: width - 1]}…" for line in lines]


def annotated(
    profile: ProfileView, file: str | None, predicated: bool = False, width: int | None = None
) -> str:
    """Return a CUDA source file, or the PTX if `file` is None, with the counters of its lines."""
    columns, rows = margin_rows(profile, file, predicated)
    cells = [["" if row.counts is None else column.shown(row.counts) for column in columns] for row in rows]
    heads, margins = _margins(columns, cells, brief=False)
    if width is not None and len(heads[0]) + _CODE > width:
        heads, margins = _margins(columns, cells, brief=True)
    heads[-1] += f"    {file or 'PTX'}"
    listing = [
        f"{margin} {'!' if row.racy else ' '}{row.number:4} | {row.text}".rstrip()
        for margin, row in zip(margins, rows, strict=True)
    ]
    lines = [profile.title, *_launch_lines(profile), "", *truncate_lines([*heads, *listing], width)]
    return "\n".join([*lines, "", legend(columns), *_finding_lines(profile)])


def _launch_lines(profile: ProfileView) -> list[str]:
    return [
        f"  {kernel.name}: grid {_extent(kernel.grid)}, block {_extent(kernel.block)}, "
        f"{kernel.shared_bytes:,} bytes of shared memory per block"
        for kernel in profile.kernels
    ]


def _extent(extent: tuple[int, int, int]) -> str:
    used = extent if extent[2] > 1 else extent[:2] if extent[1] > 1 else extent[:1]
    return " x ".join(f"{value:,}" for value in used)


def _finding_lines(profile: ProfileView) -> list[str]:
    diagnostics = profile.findings
    if not diagnostics:
        return []
    what = "1 hazard" if len(diagnostics) == 1 else f"{len(diagnostics)} hazards"
    return [f"! {what}:", *(f"  {finding}" for finding in diagnostics)]


def summary(profile: ProfileView) -> str:
    """Return totals, rounds and races of a profile."""
    lines = [profile.title, *_launch_lines(profile), ""]
    lines += _table([(name, _figure(value)) for name, value in metrics(profile)])
    for kernel in profile.kernels[:1]:
        rounds = [("round", "idle warps", "idle threads", "shared / ideal")]
        rounds += [
            (
                str(each.number),
                f"{each.idle_warps:,} of {each.warps:,}",
                f"{each.idle_threads:,} of {each.threads:,}",
                _against(each.shared_wavefronts, each.shared_ideal),
            )
            for each in kernel.rounds
        ]
        lines += ["", f"between the barriers of {kernel.name}:", *_table(rounds)]
    hazards = _finding_lines(profile) or ["no hazards"]
    return "\n".join([*lines, "", *hazards])


def metrics(profile: ProfileView) -> list[tuple[str, float]]:
    """Return names and values of the totals of a profile."""
    totals = profile.totals
    rows: list[tuple[str, float]] = [
        ("PTX warp instructions, as branched", totals.warp_instructions),
        ("PTX warp instructions, as predicated", totals.warp_instructions_predicated),
        ("active lanes, as branched", totals.mean_lanes),
        ("active lanes, as predicated", totals.mean_lanes_predicated),
        ("divergent branches", totals.divergent_branches),
        ("shared-memory wavefronts", totals.shared_wavefronts),
        ("ideal shared-memory wavefronts", totals.shared_ideal),
        ("bank conflicts", totals.bank_conflicts),
        ("global requests", totals.global_requests),
        ("global sectors", totals.global_sectors),
        ("ideal global sectors", totals.global_ideal),
        ("bytes of global memory", totals.global_bytes),
        ("barriers", totals.barriers),
        ("atomics", totals.atomics),
    ]
    if totals.copied_bytes:
        rows.append(("bytes of bulk copies", totals.copied_bytes))
    if totals.multiply_adds:
        rows.append(("fused multiply-adds", totals.multiply_adds))
    if totals.tensor_multiply_adds:
        rows.append(("multiply-adds by tensor cores", totals.tensor_multiply_adds))
    if profile.multiply_adds:
        rows += [
            ("multiply-adds per PTX warp instruction", profile.multiply_adds_an_instruction),
            ("bytes of global memory per FLOP", profile.bytes_a_flop),
        ]
    if profile.n:
        rows.append((f"PTX warp instructions per {profile.counted}", totals.warp_instructions / profile.n))
    return rows


def _figure(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _table(rows: Iterable[tuple[str, ...]]) -> list[str]:
    rows = list(rows)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def comparison_rows(left: ProfileView, right: ProfileView) -> list[tuple[str, float, float]]:
    """Return the totals of two profiles: name and both values."""
    ours, theirs = metrics(left), dict(metrics(right))
    rows = [(name, value, theirs[name]) for name, value in ours if name in theirs]
    return [*rows, ("hazards", len(left.findings), len(right.findings))]


def ratio(left: float, right: float) -> str:
    """Return the ratio of the second value to the first."""
    return f"{right / left:.3g}x" if left else ""


def side_names(left: ProfileView, right: ProfileView) -> tuple[str, str]:
    """Return names of two profiles: variants or kernels, with the side if they are equal."""
    sides = ("left", "right")
    names = [
        side.variant or (side.kernels[0].name.partition("(")[0] if side.kernels else "")
        for side in (left, right)
    ]
    if names[0] != names[1]:
        return names[0] or sides[0], names[1] or sides[1]
    return sides if not names[0] else (f"{names[0]}, left", f"{names[1]}, right")


def comparison_table(left: ProfileView, right: ProfileView, names: tuple[str, str]) -> str:
    """Return two profiles as a table."""
    head = ("", *names, "")
    rows = [(name, _figure(a), _figure(b), ratio(a, b)) for name, a, b in comparison_rows(left, right)]
    return "\n".join([left.title, right.title, *_table([head, *rows])])
