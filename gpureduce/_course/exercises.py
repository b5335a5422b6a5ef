"""Exercises: files with gaps, and checks that grade the completed files."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce import _core
from gpureduce._course.rung import ladder
from gpureduce._custom.nvrtc import CompileError
from gpureduce._profiles.profile import Profile
from gpureduce._profiles.simulate import simulated
from gpureduce._profiles.user_kernel import WHOLE_BLOCKS
from gpureduce._rules.equality import WithArrays

if TYPE_CHECKING:
    import os

FOLDER = Path(__file__).parent.parent / "exercises"
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
}


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
    at_most : mapping of str to int
        Upper limits of counters, by their names in `Counts`.
    shared_bytes : int
        Bytes of dynamic shared memory per block.

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


@dataclass(frozen=True)
class Part:
    """One graded criterion, and whether the kernel meets it.

    Attributes
    ----------
    name : str
        ``"compiles"``, ``"right"``, ``"without races"`` or ``"counters"``.
    passed : bool
        Whether the criterion is met.
    message : str
        Description of the fault; empty if the criterion is met.

    Examples
    --------
    >>> from gpureduce.course import exercise
    >>> second = exercise(2)
    >>> print(second.check(second.start).parts[3].message)
    4096 elements: 8,192 sectors of global memory; 1,076 are enough
    """

    name: str
    passed: bool
    message: str = ""


@dataclass(frozen=True, repr=False)
class Grade:
    """Grade of an exercise.

    Attributes
    ----------
    exercise : str
        Name of the exercise.
    parts : tuple of Part
        Graded criteria, in order. If the source does not compile, there are no others.

    Examples
    --------
    >>> from gpureduce.course import exercise
    >>> exercise(1).check("__global__ void warp_sums(const float *in, float *out, int n) {}")
    01_sum_a_warp: not yet
      + compiles
      - right: 32 elements: element 0 of the result is nan, and should be 1852
      + without races
      - counters: checked once the result is correct
    """

    exercise: str
    parts: tuple[Part, ...]

    @property
    def passed(self) -> bool:
        """Whether all criteria are met."""
        return all(part.passed for part in self.parts)

    def as_dict(self) -> dict[str, Any]:
        """Return the grade as numbers, text, lists and dicts, for JSON."""
        parts = [vars(part) for part in self.parts]
        right = sum(part.passed for part in self.parts)
        return {"exercise": self.exercise, "passed": self.passed, "score": right / len(NAMES), "parts": parts}

    def __str__(self) -> str:
        lines = [f"{self.exercise}: {'done' if self.passed else 'not yet'}"]
        for part in self.parts:
            lines.append(f"  {'+' if part.passed else '-'} {part.name}{': ' if part.message else ''}")
            lines[-1] += part.message.replace("\n", "\n    ")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


NAMES = ("compiles", "right", "without races", "counters")


@dataclass(frozen=True)
class Exercise:
    """One exercise, stored in a folder.

    Attributes
    ----------
    name : str
        Name of the folder, which begins with the number of the exercise.
    folder : pathlib.Path
        The folder, with ``task.md``, ``hint.md``, ``start.cu`` (which has the gap), ``solution.cu`` and
        ``check.py``.

    Examples
    --------
    >>> from gpureduce.course import exercise
    >>> sixth = exercise("06")
    >>> sixth.title, sixth.number
    ('Argmax with ties', '06')
    """

    name: str
    folder: Path

    @property
    def number(self) -> str:
        """Number of the exercise, with which its name begins."""
        return self.name.partition("_")[0]

    @property
    def title(self) -> str:
        """Title: the first line of the task."""
        return self.task.splitlines()[0].lstrip("# ")

    @property
    def task(self) -> str:
        """Text of the task."""
        return (self.folder / "task.md").read_text("utf-8")

    @property
    def hint(self) -> str:
        """Text of the hint."""
        return (self.folder / "hint.md").read_text("utf-8")

    @property
    def start(self) -> str:
        """Source of the file with the gap."""
        return (self.folder / "start.cu").read_text("utf-8")

    def notebook(self) -> str:
        """Return a notebook with the task, and a cell that is graded when it runs."""
        cells = [
            _cell("task", self.task),
            _cell("load", "%load_ext gpureduce", code=True),
            _cell("answer", f"%%cuda --exercise {self.number}\n{self.start}", code=True),
            _cell("hint", f"<details><summary>A hint</summary>\n\n{self.hint}\n</details>"),
        ]
        kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
        whole = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
        return json.dumps(whole, indent=1) + "\n"

    def check(self, source: str | os.PathLike[str]) -> Grade:
        """Grade a learner's source.

        Parameters
        ----------
        source : str or path_like
            CUDA C++, or the path of a ``.cu`` file.

        Returns
        -------
        Grade

        Raises
        ------
        ImportError
            If NVRTC is not installed.
        OSError
            If the file cannot be read.
        """
        rules = runpy.run_path(str(self.folder / "check.py"))
        wrong: dict[str, str] = {}
        try:
            for name, message in _wrong(source, rules):
                wrong.setdefault(name, message)
        except CompileError as error:
            return Grade(self.name, (Part("compiles", False, str(error)),))
        if "right" in wrong:
            wrong["counters"] = "checked once the result is correct"
        return Grade(self.name, tuple(Part(name, name not in wrong, wrong.get(name, "")) for name in NAMES))


def _cell(name: str, text: str, code: bool = False) -> dict[str, Any]:
    """Return a cell of a notebook."""
    cell: dict[str, Any] = {"id": name, "metadata": {}, "source": text.strip()}
    if code:
        return {**cell, "cell_type": "code", "execution_count": None, "outputs": []}
    return {**cell, "cell_type": "markdown"}


def _wrong(source: Any, rules: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield faults: a name of NAMES, and a description."""
    kernel: str = rules["KERNEL"]
    try:
        if "LADDER" in rules:
            rung = ladder(source, kernel, name="yours", **rules["LADDER"])
            if not rung.takes_n:
                yield "right", f"the kernel {WHOLE_BLOCKS}"
                return
            report = rung.check(rules.get("SIZES"))
            for finding in report.findings:
                yield "without races" if finding.kind == "race" else "right", str(finding).partition(": ")[2]
        cases: Callable[[], Iterable[Case]] = rules["cases"]
        for case in cases():
            failures = list(_wrong_in(source, kernel, case))
            yield from failures
            if any(name == "right" for name, _ in failures):
                return  # other cases would fail likewise, perhaps after as many steps
    except CompileError:
        raise
    except (
        ValueError,
        TypeError,
        _core.SimulationError,
    ) as error:  # other parameters, or no kernel to simulate
        yield "right", str(error)


def _wrong_in(source: Any, kernel: str, case: Case) -> Iterator[tuple[str, str]]:
    try:
        profile = simulated(
            source, kernel, case.grid, case.block, case.args, case.shared_bytes, max_steps=_MOST_STEPS
        )
    except _core.SimulationError as error:
        yield "right", f"{case.name}: {error}"
        seen = getattr(error, "profile", None)
        if seen is not None:
            yield from _races(case, seen)
        return
    yield from _races(case, profile)
    for index, expected in case.expect.items():
        yield from _difference(case, index, expected)
    for name, most in case.at_most.items():
        had = getattr(profile.totals, name)
        if had > most:
            yield "counters", f"{case.name}: {had:,} {_CALLED.get(name, name)}; {most:,.0f} are enough"


def _races(case: Case, profile: Profile) -> Iterator[tuple[str, str]]:
    for finding in profile.findings:
        yield "without races", f"{case.name}: {finding}"


def _difference(case: Case, index: int, expected: np.ndarray) -> Iterator[tuple[str, str]]:
    got = case.args[index]
    same = (got == expected) | ((got != got) & (expected != expected))
    if not same.all():
        at = tuple(map(int, np.argwhere(~same)[0]))
        where = ", ".join(map(str, at))
        yield (
            "right",
            f"{case.name}: element {where} of the result is {got[at]:g}, and should be {expected[at]:g}",
        )


def ideal_sectors(*arrays: np.ndarray, slack: float = 1.05) -> int:
    """Return a limit for the 32-byte sectors needed to read or write arrays once.

    Parameters
    ----------
    *arrays : numpy.ndarray
        Arrays that are read or written once.
    slack : float
        Factor by which the limit exceeds the minimum.

    Returns
    -------
    int

    Examples
    --------
    >>> import numpy as np
    >>> from gpureduce.course import ideal_sectors
    >>> ideal_sectors(np.zeros(1000, np.float32), slack=1)
    125
    """
    return int(slack * sum(-(-array.nbytes // 32) for array in arrays))


def exercises(folder: str | os.PathLike[str] | None = None) -> tuple[Exercise, ...]:
    """Return the exercises, in order of their numbers.

    Parameters
    ----------
    folder : path_like, optional
        Folder that holds the exercises. Default: the exercises of the package.

    Returns
    -------
    tuple of Exercise

    Raises
    ------
    OSError
        If there is no such folder.

    Examples
    --------
    >>> from gpureduce.course import exercises
    >>> print(exercises()[0].title)
    Sum a warp
    """
    root = FOLDER if folder is None else Path(folder)
    folders = sorted(path.parent for path in root.iterdir() for path in path.glob("check.py"))
    return tuple(Exercise(path.name, path) for path in folders)


def exercise(name: str | int, folder: str | os.PathLike[str] | None = None) -> Exercise:
    """Return one exercise.

    Parameters
    ----------
    name : str or int
        Number or name of the exercise.
    folder : path_like, optional
        Folder that holds the exercises. Default: the exercises of the package.

    Returns
    -------
    Exercise

    Raises
    ------
    ValueError
        If there is no such exercise; the message lists the existing ones.

    Examples
    --------
    >>> from gpureduce.course import exercise
    >>> print(exercise(3).name)
    03_find_the_race
    """
    known = exercises(folder)
    for each in known:
        if str(name) in (each.name, each.number, each.number.lstrip("0")):
            return each
    raise ValueError(
        f"exercise: unknown exercise {name!r}; expected one of {', '.join(each.name for each in known)}"
    )
