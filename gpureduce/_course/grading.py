"""Grades the source of an exercise: compiles it, runs it on the simulator, compares results and counters."""

from __future__ import annotations

import hashlib
import os
import re
import runpy
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._course.allowed_headers import refused_inclusion
from gpureduce._course.rung import ladder
from gpureduce._custom.nvrtc import CompileError
from gpureduce._profiles.counts import Counts
from gpureduce._profiles.profile import Profile
from gpureduce._profiles.program import SUFFIXES
from gpureduce._profiles.simulate import simulated
from gpureduce._profiles.user_kernel import WHOLE_BLOCKS
from gpureduce._rules.equality import WithArrays
from gpureduce._rules.files import open_file

NAMES = ("compiles", "right", "without races", "counters")
_DEFAULT_WEIGHTS = {"right": 2.0, "without races": 1.0, "counters": 1.0}
_MOST_STEPS = 1 << 24  # warp instructions per run, about a second: an endless loop is stopped
_CALLED = {
    "bank_conflicts": "bank conflicts",
    "barriers": "barriers, counted per warp",
    "shared_wavefronts": "shared-memory wavefronts",
    "global_requests": "requests to global memory",
    "global_load_requests": "requests to load from global memory",
    "global_store_requests": "requests to store to global memory",
    "global_sectors": "sectors of global memory",
    "atomics": "atomic instructions",
    "divergent_branches": "divergent branches",
    "warp_instructions": "PTX warp instructions",
    "mean_lanes": "active lanes per warp instruction",
}


class ExerciseError(ValueError):
    """The files of an exercise are wrong, not a submission.

    Examples
    --------
    >>> from gpureduce.course import ExerciseError
    >>> issubclass(ExerciseError, ValueError)
    True
    """


@dataclass(frozen=True, eq=False)
class Case(WithArrays):
    """One run of a learner's kernel, with its expected results and limits.

    Attributes
    ----------
    name : str
        Description for messages: ``"33 elements"``.
    grid, block : int or tuple of int
        Blocks, and threads per block.
    args : sequence
        Arguments of the kernel, as for `gpureduce.simulate`.
    expect : mapping of int to numpy.ndarray
        Expected values of arguments after the run, by their index in `args`.
    at_most : mapping of str to float
        Upper limits of counters, by their names in `Counts`.
    shared_bytes : int
        Bytes of dynamic shared memory per block.
    at_least : mapping of str to float
        Lower limits of counters: ``{"mean_lanes": 16}`` refuses kernels in which one thread does the work.
    rtol : float
        Relative tolerance of the comparison with `expect`. Default: 0, results have to be equal.

    Examples
    --------
    >>> import numpy as np
    >>> from gpureduce.course import Case
    >>> out = np.zeros(1, np.float32)
    >>> case = Case("one", 1, 32, [np.ones(32, np.float32), out], {1: np.float32([32])}, {"barriers": 0})
    >>> case.at_most
    {'barriers': 0}
    """

    name: str
    grid: int | tuple[int, ...]
    block: int | tuple[int, ...]
    args: Sequence[Any]
    expect: Mapping[int, np.ndarray]
    at_most: Mapping[str, float] = field(default_factory=dict)
    shared_bytes: int = 0
    at_least: Mapping[str, float] = field(default_factory=dict)
    rtol: float = 0.0


@dataclass(frozen=True)
class Rules:
    """What ``check.py`` of an exercise defines.

    `ladder` has the arguments of `gpureduce.course.ladder`, or is None; `weights` has the weight of each part
    but ``"compiles"``; `rung` is the rung that the exercise teaches, or None.
    """

    file: str
    kernel: str
    make_cases: Any
    ladder: Mapping[str, Any] | None
    sizes: Sequence[int] | None
    weights: Mapping[str, float]
    rung: str | None

    def cases(self, rng: np.random.Generator) -> list[Case]:
        """Return the runs, with data drawn from `rng`."""
        try:
            takes_rng = self.make_cases.__code__.co_argcount > 0
            made = list(self.make_cases(rng) if takes_rng else self.make_cases())
        except Exception as error:  # of a program that a teacher wrote
            raise _broken(self.file, error) from error
        for case in made:
            unknown = {*case.at_most, *case.at_least} - _counters()
            if unknown:
                raise ExerciseError(f"{self.file}: {case.name}: unknown counter {sorted(unknown)[0]!r}")
        return made


def read_rules(folder: Path) -> Rules:
    """Run ``check.py`` in a folder; raise ExerciseError if it fails, or lacks something."""
    file = str(folder / "check.py")
    try:
        found = runpy.run_path(file)
    except OSError:
        raise
    except Exception as error:  # of a program that a teacher wrote
        raise _broken(file, error) from error
    for name in ("KERNEL", "cases"):
        if name not in found:
            raise ExerciseError(f"{file}: expected {name}, which is not defined")
    weights = found.get("WEIGHTS", _DEFAULT_WEIGHTS)
    if not weights or set(weights) - set(NAMES[1:]) or min(weights.values()) < 0 or not sum(weights.values()):
        raise ExerciseError(f"{file}: WEIGHTS: expected positive numbers by {', '.join(NAMES[1:])}")
    return Rules(
        file,
        found["KERNEL"],
        found["cases"],
        found.get("LADDER"),
        found.get("SIZES"),
        weights,
        found.get("RUNG"),
    )


def _broken(file: str, error: Exception) -> ExerciseError:
    """Return the error for a program that failed, with the last of its lines."""
    if isinstance(error, SyntaxError):
        line = error.lineno
    else:
        lines = [
            frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file
        ]
        line = lines[-1] if lines else None
    where = f"{file}, line {line}" if line else file
    return ExerciseError(f"{where}: {type(error).__name__}: {error}")


def _counters() -> set[str]:
    properties = {name for name, value in vars(Counts).items() if isinstance(value, property)}
    return {item.name for item in fields(Counts)} | properties


def text_of(source: str | os.PathLike[str]) -> str:
    """Return the text of a source: CUDA C++, or the path of a file."""
    if isinstance(source, str) and ("\n" in source or not source.endswith(SUFFIXES)):
        return source
    with open_file(source) as file:
        return file.read().decode("utf-8", errors="replace")


def generator_for(text: str) -> np.random.Generator:
    """Return a generator of data for a source.

    The same source gets the same data each time it is graded. Another source gets other data, so that results
    cannot be written into it.
    """
    return np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "little"))


def faults(source: str | os.PathLike[str], rules: Rules, printed: list[str] | None = None) -> dict[str, str]:
    """Return the parts that a source fails, each with a description.

    What its kernel prints in each run is appended to `printed`.

    Raises
    ------
    CompileError
        If the source does not compile.
    """
    text = text_of(source)
    refused = refused_inclusion(text)
    if refused:
        raise CompileError(refused, refused, text)
    found: dict[str, str] = {}
    try:
        said = [] if printed is None else printed
        for name, message in _each_fault(source, rules, generator_for(text), said):
            found.setdefault(name, message)
    except CompileError as error:
        missing = re.search(r"there is no kernel .*", str(error))
        raise CompileError(missing[0], error.log, error.source) if missing else error from None
    if "right" in found:
        found["counters"] = "checked once the result is correct"
    return found


def _each_fault(
    source: Any, rules: Rules, rng: np.random.Generator, printed: list[str]
) -> Iterator[tuple[str, str]]:
    """Yield faults: a name of NAMES, and a description."""
    cases = rules.cases(rng)
    try:
        if rules.ladder is not None:
            rung = ladder(source, rules.kernel, name="yours", **rules.ladder)
            if not rung.takes_n:
                yield "right", f"the kernel {WHOLE_BLOCKS}"
                return
            report = rung.check(rules.sizes)
            for finding in report.findings:
                yield "without races" if finding.kind == "race" else "right", str(finding).partition(": ")[2]
        for case in cases:
            failures = list(_faults_in(source, rules.kernel, case, printed))
            yield from failures
            if any(name == "right" for name, _ in failures):
                return  # other cases would fail, too, perhaps after the same number of steps
    except CompileError:
        raise
    except (
        ValueError,
        TypeError,
        _core.SimulationError,
    ) as error:  # other parameters, or no kernel to simulate
        yield "right", str(error)


def _faults_in(source: Any, kernel: str, case: Case, printed: list[str]) -> Iterator[tuple[str, str]]:
    try:
        profile = simulated(
            source, kernel, case.grid, case.block, case.args, case.shared_bytes, max_steps=_MOST_STEPS
        )
    except _core.SimulationError as error:
        yield "right", f"{case.name}: {error}"
        seen = getattr(error, "profile", None)
        if seen is not None:
            printed.append(seen.printed)
            yield from _races(case, seen)
        return
    printed.append(profile.printed)
    yield from _races(case, profile)
    for index, expected in case.expect.items():
        yield from _difference(case, index, expected)
    for name, most in case.at_most.items():
        had = getattr(profile.totals, name)
        if had > most:
            yield "counters", f"{case.name}: {had:,} {_CALLED.get(name, name)}; {most:,.0f} are enough"
    for name, least in case.at_least.items():
        had = getattr(profile.totals, name)
        if not had >= least:
            yield (
                "counters",
                f"{case.name}: {had:,.4g} {_CALLED.get(name, name)}; expected at least {least:,.4g}",
            )


def _races(case: Case, profile: Profile) -> Iterator[tuple[str, str]]:
    for finding in profile.findings:
        yield "without races", f"{case.name}: {finding}"


def _difference(case: Case, index: int, expected: np.ndarray) -> Iterator[tuple[str, str]]:
    got = case.args[index]
    same = (got == expected) | ((got != got) & (expected != expected))
    if case.rtol:
        same |= np.isclose(got, expected, rtol=case.rtol, atol=0)
    if not same.all():
        at = tuple(map(int, np.argwhere(~same)[0]))
        where = ", ".join(map(str, at))
        yield (
            "right",
            f"{case.name}: element {where} of the result is {got[at]:g}, and should be {expected[at]:g}",
        )
