"""Profiles as text: source with counters in its margin, totals, comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from gpureduce._profiles.counts import Counts, total
from gpureduce._profiles.records import KernelProfile, Line, Race


class Shown(Protocol):
    """What a profile has to show."""

    @property
    def title(self) -> str:
        """What ran."""

    @property
    def kernels(self) -> tuple[KernelProfile, ...]:
        """The launches in order."""

    @property
    def variant(self) -> str:
        """The variant; empty for a user's kernel."""

    @property
    def n(self) -> int:
        """Elements, or multiply-adds."""

    @property
    def counted(self) -> str:
        """What there are `n` of."""

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds that were asked for, or that ran."""

    @property
    def multiply_adds_an_instruction(self) -> float:
        """Those in a warp instruction, on average."""

    @property
    def bytes_a_flop(self) -> float:
        """Bytes of global sectors for each operation."""

    @property
    def totals(self) -> Counts:
        """The sum over all launches."""

    @property
    def races(self) -> tuple[Race, ...]:
        """The hazards of all launches."""

    def lines(self, file: str | None = None) -> tuple[Line, ...]:
        """Return the lines of a source file that have instructions."""

    def files(self) -> tuple[str, ...]:
        """Return the source files that instructions come from."""

    def source_lines(self, file: str) -> list[str]:
        """Return the lines of a source file; none where its text is not known."""


Column = tuple[str, Callable[[Counts], str]]


def _number(value: int) -> str:
    return f"{value:,}" if value else ""


def _against(actual: int, ideal: int) -> str:
    return f"{actual:,} / {ideal:,}" if actual else ""


COLUMNS: tuple[Column, ...] = (
    ("warp instr.", lambda c: _number(c.warp_instructions)),
    ("predicated", lambda c: _number(c.warp_instructions_predicated)),
    ("lanes", lambda c: f"{c.mean_lanes:.1f}" if c.warp_instructions else ""),
    ("divergent", lambda c: _number(c.divergent_branches)),
    ("shared / ideal", lambda c: _against(c.shared_wavefronts, c.shared_ideal)),
    ("conflicts", lambda c: _number(c.bank_conflicts)),
    ("sectors / ideal", lambda c: _against(c.global_sectors, c.global_ideal)),
    ("copied", lambda c: _number(c.copied_bytes)),
    ("barriers", lambda c: _number(c.barriers)),
    ("atomics", lambda c: _number(c.atomics)),
    ("FMA", lambda c: _number(c.multiply_adds)),
    ("tensor FMA", lambda c: _number(c.tensor_multiply_adds)),
)

LEGEND = (
    "warp instr.: PTX instructions issued, once a warp; predicated: if short branches become predicates; "
    "lanes: at work in one, mean; shared: passes through shared memory; sectors: of 32 bytes in global memory"
)
_FMA_LEGEND = "; FMA: fused multiply-adds, lane by lane"
_COPIED_LEGEND = "; copied: bytes that the copy engine brings or takes away"
_TENSOR_LEGEND = "; tensor FMA: multiply-adds by tensor cores"


def legend(used: list[str]) -> str:
    """Return what the columns mean, of those in use."""
    further = {"copied": _COPIED_LEGEND, "FMA": _FMA_LEGEND, "tensor FMA": _TENSOR_LEGEND}
    return LEGEND + "".join(text for name, text in further.items() if name in used)


def margin_rows(
    profile: Shown, file: str | None
) -> tuple[list[str], list[tuple[Counts | None, int, str, bool]]]:
    """Return the columns that have anything in them, and a row for each line of source.

    A row is its counts (None where there is no instruction), line number, text, and whether a race was found
    there. `file` None stands for the PTX.
    """
    rows = _ptx_rows(profile) if file is None else _cuda_rows(profile, file)
    whole = profile.totals
    used = [name for name, value in COLUMNS if value(whole)]
    return used, rows


def _cuda_rows(profile: Shown, file: str) -> list[tuple[Counts | None, int, str, bool]]:
    counted = {line.number: line for line in profile.lines(file)}
    racy = {
        side.line
        for race in profile.races
        for side in (race.first, race.second)
        if side and side.file == file
    }
    texts = dict(enumerate(profile.source_lines(file), 1))
    numbers = sorted({*texts, *counted})
    return [(counted[i].counts if i in counted else None, i, texts.get(i, ""), i in racy) for i in numbers]


def _ptx_rows(profile: Shown) -> list[tuple[Counts | None, int, str, bool]]:
    by_line: dict[int, tuple[str, list[Counts]]] = {}
    for kernel in profile.kernels:
        for instruction in kernel.instructions:
            entry = by_line.setdefault(instruction.ptx_line, (instruction.text, []))
            entry[1].append(instruction.counts)
    racy = {side.ptx_line for race in profile.races for side in (race.first, race.second) if side}
    return [
        (total(counts), number, text, number in racy) for number, (text, counts) in sorted(by_line.items())
    ]


def _annotated(profile: Shown, file: str | None) -> str:
    used, rows = margin_rows(profile, file)
    columns = [column for column in COLUMNS if column[0] in used]
    cells = [["" if counts is None else value(counts) for _, value in columns] for counts, *_ in rows]
    widths = [
        max(len(name), *(len(row[i]) for row in cells), 0) if cells else len(name)
        for i, (name, _) in enumerate(columns)
    ]
    heads = "  ".join(name.rjust(width) for (name, _), width in zip(columns, widths, strict=True))
    lines = [profile.title, *_launch_lines(profile), "", f"{heads}    {file or 'PTX'}"]
    for row, (_, number, text, racy) in zip(cells, rows, strict=True):
        margin = "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        lines.append(f"{margin} {'!' if racy else ' '}{number:4} | {text}".rstrip())
    lines += ["", legend(used), *_race_lines(profile)]
    return "\n".join(lines)


def annotate_cuda(profile: Shown, file: str) -> str:
    """Return a CUDA source file with the counters of its lines."""
    return _annotated(profile, file)


def annotate_ptx(profile: Shown) -> str:
    """Return the lines of PTX that have instructions, with their counters."""
    return _annotated(profile, None)


def _launch_lines(profile: Shown) -> list[str]:
    return [
        f"  {kernel.name}: grid {_extent(kernel.grid)}, block {_extent(kernel.block)}, "
        f"{kernel.shared_bytes:,} bytes of shared memory a block"
        for kernel in profile.kernels
    ]


def _extent(extent: tuple[int, int, int]) -> str:
    used = extent if extent[2] > 1 else extent[:2] if extent[1] > 1 else extent[:1]
    return " x ".join(f"{value:,}" for value in used)


def _race_lines(profile: Shown) -> list[str]:
    if not profile.races:
        return []
    return [f"! {len(profile.races)} hazards:", *(f"  {race}" for race in profile.races)]


def summary(profile: Shown) -> str:
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
    races = _race_lines(profile) or ["no hazards"]
    return "\n".join([*lines, "", *races])


def metrics(profile: Shown) -> list[tuple[str, float]]:
    """Return names and figures of the totals of a profile."""
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
            ("multiply-adds a PTX warp instruction", profile.multiply_adds_an_instruction),
            ("bytes of global sectors a FLOP", profile.bytes_a_flop),
        ]
    if profile.n:
        rows.append((f"PTX warp instructions {profile.counted}", totals.warp_instructions / profile.n))
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


def comparison_rows(left: Shown, right: Shown) -> list[tuple[str, float, float]]:
    """Return the totals of two profiles: name and both figures."""
    ours, theirs = metrics(left), dict(metrics(right))
    rows = [(name, value, theirs[name]) for name, value in ours if name in theirs]
    return [*rows, ("hazards", len(left.races), len(right.races))]


def ratio(left: float, right: float) -> str:
    """Return how many times as much the second figure is."""
    return f"{right / left:.3g}x" if left else ""


def comparison_table(left: Shown, right: Shown) -> str:
    """Return two profiles as a table."""
    head = ("", left.variant or "left", right.variant or "right", "")
    rows = [(name, _figure(a), _figure(b), ratio(a, b)) for name, a, b in comparison_rows(left, right)]
    return "\n".join([left.title, right.title, *_table([head, *rows])])
