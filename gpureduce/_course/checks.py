"""Compares a reduction kernel with numpy.sum at critical sizes, and diagnoses failures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import islice
from typing import Any, Protocol

import numpy as np

from gpureduce import _core
from gpureduce._profiles.profile import Profile
from gpureduce._profiles.records import Race
from gpureduce._profiles.user_kernel import WHOLE_BLOCKS

Run = tuple[int, int, float]  # begin, end and weight of a range of elements

_MOST_RUNS = 3  # ranges of elements with a wrong weight, per message
_RACES_UP_TO = 5000  # elements; more blocks do the same


class Launched(Protocol):
    """One launch that `OwnRung.passes` yields."""

    given: np.ndarray
    left: np.ndarray
    profile: Profile
    writes_input: bool


class Checked(Protocol):
    """Interface of the kernel to check: an `OwnRung`."""

    @property
    def name(self) -> str:
        """Name of the kernel."""

    @property
    def dtype(self) -> np.dtype:
        """Dtype of elements and results."""

    @property
    def block_sizes(self) -> tuple[int, ...]:
        """Numbers of threads per block to check."""

    @property
    def elements(self) -> int:
        """Elements per thread."""

    @property
    def takes_n(self) -> bool:
        """Whether the kernel has a parameter n."""

    def fits(self, n: int, block_size: int) -> bool:
        """Return whether the kernel supports `n` elements."""

    def passes(
        self, data: np.ndarray, block_size: int, *, races: int = 0, filled: int = 0xFF
    ) -> Iterator[Any]:
        """Yield the launches that reduce an array."""


@dataclass(frozen=True)
class Finding:
    """A fault of a kernel.

    Attributes
    ----------
    kind : str
        ``"wrong"`` (the result differs from numpy.sum), ``"race"``, ``"stopped"`` (by the simulator: an
        access out of bounds, a deadlock), ``"nan"`` (a NaN among the elements is lost), ``"input"`` (the
        kernel writes to its input) or ``"grid"`` (a pass has no blocks, or passes never end).
    n, block_size : int
        Number of elements and threads per block at which it was found first.
    message : str
        Description of the fault and, if known, of its cause.
    others : tuple of int
        Other numbers of elements with the same fault.
    race : Race or None
        The race; if one barrier would fix several races, the first of them.
    """

    kind: str
    n: int
    block_size: int
    message: str
    others: tuple[int, ...] = ()
    race: Race | None = None

    def __str__(self) -> str:
        elements = "1 element" if self.n == 1 else f"{self.n:,} elements"
        text = f"{self.kind}: {elements}, {self.block_size} threads per block: {self.message}"
        if self.others:
            lengths = ", ".join(f"{n:,}" for n in self.others[:6])
            text += f"\n  also at {lengths}{' and more' if len(self.others) > 6 else ''} elements"
        return text


@dataclass(frozen=True, repr=False)
class Report:
    """Result of `OwnRung.check`.

    Attributes
    ----------
    name : str
        Name of the rung.
    sizes : tuple of int
        Numbers of elements that were tried.
    block_sizes : tuple of int
        Numbers of threads per block that were tried.
    findings : tuple of Finding
        Faults that were found.
    note : str
        Limitation of the kernel (it takes no n, and supports whole blocks only), or an empty string.

    Examples
    --------
    >>> import gpureduce
    >>> first_element = "__global__ void mine(const float *in, float *out, unsigned n) { *out = *in; }"
    >>> report = gpureduce.course.ladder(first_element, block_size=32).check([1, 33])
    >>> report.passed, report.sizes
    (False, (1, 33))
    """

    name: str
    sizes: tuple[int, ...]
    block_sizes: tuple[int, ...]
    findings: tuple[Finding, ...]
    note: str = ""

    @property
    def passed(self) -> bool:
        """Whether no fault was found."""
        return not self.findings

    def as_dict(self) -> dict[str, Any]:
        """Return the report as numbers, text, lists and dicts, for JSON.

        Returns
        -------
        dict
            With the keys ``name``, ``passed``, ``sizes``, ``block_sizes``, ``note`` and ``findings``.
        """
        return {
            "name": self.name,
            "passed": self.passed,
            "sizes": list(self.sizes),
            "block_sizes": list(self.block_sizes),
            "note": self.note,
            "findings": [
                {
                    "kind": each.kind,
                    "n": each.n,
                    "block_size": each.block_size,
                    "message": each.message,
                    "others": list(each.others),
                }
                for each in self.findings
            ],
        }

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def __str__(self) -> str:
        blocks = ", ".join(map(str, self.block_sizes))
        least, most = min(self.sizes, default=0), max(self.sizes, default=0)
        lengths = f"{len(self.sizes)} lengths from {least:,} to {most:,}" if most > least else f"{most:,}"
        where = f"{lengths} elements, in blocks of {blocks} threads"
        if self.note:
            where += f"; it {self.note}"
        if self.passed:
            return f"{self.name}: correct, and without races, at {where}"
        count = f"{len(self.findings)} finding{'s' if len(self.findings) > 1 else ''}"
        return "\n".join([f"{self.name}: {count} at {where}", *map(str, self.findings)])


def hostile_sizes(block_size: int, elements: int) -> list[int]:
    """Return critical numbers of elements: multiples of the block size, their neighbours, and others.

    With one element per thread, 256 blocks of 256 threads leave one block for the second pass; one element
    more leaves two.
    """
    block, span = block_size, block_size * elements
    sizes = {0, 1, 2, 3, 31, 32, 33, 1000, 4099}
    sizes |= {block - 1, block, block + 1, 2 * block - 1, 2 * block, 2 * block + 1, 3 * block}
    sizes |= {span - 1, span, span + 1, 3 * span, span * block, span * block + 1, 2**18 + 4099}
    return sorted(size for size in sizes if size <= 2**19)


def _tries(rung: Checked, block_size: int) -> list[int]:
    """Return the default sizes to check, rounded up to whole blocks for a kernel without n."""
    sizes, span = hostile_sizes(block_size, rung.elements), block_size * rung.elements
    return sizes if rung.takes_n else sorted({max(1, -(-n // span)) * span for n in sizes})


def draw(n: int, dtype: np.dtype) -> np.ndarray:
    """Return nonzero integers whose sum is exact."""
    return np.random.default_rng(n).integers(1, 16, n).astype(dtype)


def check(rung: Checked, sizes: Sequence[int] | None) -> Report:
    """Return the faults of a rung."""
    diagnostics: dict[tuple, Finding] = {}
    tried: set[int] = set()
    for block_size in rung.block_sizes:
        tries = _tries(rung, block_size) if sizes is None else sizes
        tries = [n for n in tries if rung.fits(n, block_size)]
        tried.update(tries)
        for n in sorted(tries, key=lambda n: n == 0):  # a failure with some elements is more informative
            for key, finding in _at(rung, n, block_size, diagnostics):
                first = diagnostics.setdefault(key, finding)
                if first is not finding and n not in (first.n, *first.others):
                    diagnostics[key] = Finding(**{**vars(first), "others": (*first.others, n)})
        if lost := _of_nan(rung, block_size, tries, diagnostics):
            diagnostics.setdefault(("nan",), lost)
    if sizes and not tried:
        raise ValueError(f"sizes: the kernel {WHOLE_BLOCKS}, and none of these is; got {list(sizes)}")
    note = "" if rung.takes_n else WHOLE_BLOCKS
    return Report(rung.name, tuple(sorted(tried)), rung.block_sizes, tuple(diagnostics.values()), note)


def _of_nan(rung: Checked, block_size: int, tried: Iterable[int], diagnostics: dict) -> Finding | None:
    """Return a fault of a sum whose last element is NaN, unless other faults are known."""
    n = max((n for n in tried if n <= _RACES_UP_TO), default=0)
    if diagnostics or rung.dtype.kind != "f" or n == 0:
        return None
    data = draw(n, rung.dtype)
    data[-1] = np.nan
    *_, last = rung.passes(data, block_size)
    if np.isnan(last.left[0]):
        return None
    return Finding(
        "nan", n, block_size, f"with NaN as the last element, the result is {_number(last.left[0])}"
    )


def _at(rung: Checked, n: int, block_size: int, known: dict) -> Iterator[tuple[tuple, Finding]]:
    """Yield the faults at one size, each with a key that identifies its kind."""
    data = draw(n, rung.dtype)
    passes: list[Launched] = []
    try:
        for each in rung.passes(data, block_size, races=n <= _RACES_UP_TO):
            passes.append(each)
            for together in each.profile.findings:
                race = together.races[0]
                places = tuple(side and side.place for side in (race.first, race.second))
                finding = Finding("race", n, block_size, str(together), race=race)
                yield ("race", together.missing, places), finding
            if each.writes_input:
                yield ("input",), Finding("input", n, block_size, "the kernel writes to its input")
    except _core.SimulationError as error:
        yield ("stopped", _sort(str(error))), Finding("stopped", n, block_size, str(error))
        return
    except ValueError as error:
        yield ("grid",), Finding("grid", n, block_size, str(error))
        return
    result, right = passes[-1].left[0], data.sum(dtype=np.float64 if data.dtype.kind == "f" else None)
    if result != right:
        key = ("wrong", block_size)
        why = "" if key in known else _why(rung, data, block_size, passes)
        if any(each.profile.races for each in passes):
            why = why.partition(":")[0] + ", possibly because of its races"
        came = f"the result is {_number(result)}, numpy.sum returns {_number(right)}"
        yield key, Finding("wrong", n, block_size, came + why)


def _number(value: Any) -> str:
    return f"{value:,.9g}" if isinstance(value, np.floating) else f"{value:,}"


def _sort(message: str) -> str:
    """Return the part of a message that is the same for different sizes: the source line."""
    return message.rsplit("\n", 1)[-1]


# Why a result is wrong


def _why(rung: Checked, data: np.ndarray, block_size: int, passes: Sequence[Launched]) -> str:
    first = passes[0].left
    whole = data.sum(dtype=np.float64)
    if passes[-1].left.tobytes() == b"\xff" * passes[-1].left.nbytes:
        return "; nothing was written to out"
    if not len(data):
        return "; the sum of no elements is 0"
    if first.sum(dtype=np.float64) == whole and len(passes) > 1:
        for number, each in enumerate(passes[1:], 2):
            if each.left.sum(dtype=np.float64) != whole:
                return (
                    f"; the results of the first pass are correct, and pass {number} loses some of these"
                    f" {len(each.given)} results"
                )
    zeroed = next(iter(rung.passes(data, block_size, filled=0))).left
    if zeroed.sum(dtype=np.float64) == whole:
        return "; it adds to out, which is not initialized to 0"
    if not _adds(rung, len(data), block_size):
        return "; it is not additive: the result for a + b is not the result for a plus the result for b"
    runs = list(islice(_runs(rung, len(data), block_size), _MOST_RUNS + 1))
    if not runs:
        return ""
    said = ", ".join(_said(*run) for run in runs[:_MOST_RUNS])
    more = " and more" if len(runs) > _MOST_RUNS else ""
    return f"; {said}{more}{_reason(rung, runs, len(data), block_size)}"


def _adds(rung: Checked, n: int, block_size: int) -> bool:
    """Return whether the first pass is additive, so that its elements have weights; True if unknown."""
    if rung.dtype.itemsize < 4:  # such results may wrap
        return True
    one, other = draw(n, rung.dtype), draw(n + 1, rung.dtype)[:n]
    results = [
        float(next(iter(rung.passes(data, block_size))).left.sum(dtype=np.float64))
        for data in (one, other, one + other)
    ]
    return not np.isfinite(results).all() or results[0] + results[1] == results[2]


def _said(begin: int, end: int, times: float) -> str:
    alone = end - begin == 1
    elements = f"element {begin:,}" if alone else f"elements {begin:,} to {end - 1:,}"
    if times == 0:
        return f"{elements} {'is' if alone else 'are'} left out"
    return f"{elements} {'counts' if alone else 'count'} {times:g} times"


def _runs(rung: Checked, n: int, block_size: int) -> Iterator[Run]:
    """Yield begin, end and weight of ranges of elements that do not count exactly once in the first pass.

    An additive kernel is linear: for ones in [a, b) and zeros elsewhere it returns the weight of [a, b).
    Bisection finds the first element with a wrong weight, and the end of its range.
    """

    def weight(begin: int, end: int) -> float:
        ones = np.zeros(n, rung.dtype)
        ones[begin:end] = 1
        return float(next(iter(rung.passes(ones, block_size))).left.sum(dtype=np.float64))

    def last(begin: int, each: float) -> int:
        """Return the end of the range of elements with this weight."""
        low, high = begin, n
        if weight(begin, n) == each * (n - begin):
            return n
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if weight(begin, middle) == each * (middle - begin) else (low, middle)
        return low

    at = 0
    while at < n:
        at = last(at, 1)
        if at == n:
            return
        each = weight(at, at + 1)
        if each != each:
            return
        end = last(at, each)
        yield at, end, each
        at = end


def _reason(rung: Checked, runs: Sequence[Run], n: int, block_size: int) -> str:
    """Return the cause of such ranges, if known; a guess must also hold at other lengths."""
    begin, end, times = runs[0]
    span, thread = block_size * rung.elements, begin % block_size
    if times != 0:
        return ""

    def drops_tail(of: int) -> bool:
        lengths = (n, n + of, 3 * of - 1, 2 * of + 1)
        return all(list(islice(_runs(rung, m, block_size), 2)) == [(m // of * of, m, 0)] for m in lengths)

    if n % span and drops_tail(span):
        return ": all elements after the last whole block"
    for length in (2, 4, 8):
        if rung.takes_n and n % length and drops_tail(length):
            return f": the last n % {length}, which do not fill a vector"
    if block_size & (block_size - 1) and next(_runs(rung, span, block_size), None):
        return f": a tree that halves {block_size} threads, not a power of two, loses some"
    if thread > 0 and end - begin <= block_size:
        said = f": threads {thread} to {(end - 1) % block_size} of block {begin // span}"
        half = thread >= 32 and thread & (thread - 1) == 0 and (end % block_size == 0 or end == n)
        return f"{said}, so that the tree begins below {block_size} threads" if half else said
    return ": the end of the array" if end == n and len(runs) == 1 and begin > 0 else ""
