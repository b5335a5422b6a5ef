"""Exercises: files with gaps, and checks that grade the completed files."""

from __future__ import annotations

import functools
import json
import shlex
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpureduce._course.grading import NAMES, Rules, faults, read_rules
from gpureduce._custom.nvrtc import CompileError

if TYPE_CHECKING:
    import os

    import numpy as np

FOLDER = Path(__file__).parent.parent / "exercises"
_MOST_PRINTED = 2000  # characters


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
    score : float
        Share of the work that is done, from 0 (the file with the gap, or a wrong result) to 1 (`passed`). A
        criterion counts, with its weight in ``check.py``, if the file with the gap fails it or this source
        does.
    printed : str
        What the kernel printed by ``printf``, at most 2,000 characters.

    Examples
    --------
    >>> from gpureduce.course import exercise
    >>> exercise(1).check("__global__ void warp_sums(const float *in, float *out, int n) {}")
    01_sum_a_warp: not yet
      + compiles
      - right: 32 elements: element 0 of the result is nan, and should be 1496
      + without races
      - counters: checked once the result is correct
    """

    exercise: str
    parts: tuple[Part, ...]
    score: float = 0.0
    printed: str = ""

    @property
    def passed(self) -> bool:
        """Whether all criteria are met."""
        return all(part.passed for part in self.parts)

    def as_dict(self) -> dict[str, Any]:
        """Return the grade as numbers, text, lists and dicts, for JSON.

        Returns
        -------
        dict
            With the keys ``exercise``, ``passed``, ``score`` and ``parts``.
        """
        parts = [vars(part) for part in self.parts]
        return {"exercise": self.exercise, "passed": self.passed, "score": self.score, "parts": parts}

    def __str__(self) -> str:
        lines = [f"{self.exercise}: {'done' if self.passed else 'not yet'}"]
        for part in self.parts:
            lines.append(f"  {'+' if part.passed else '-'} {part.name}{': ' if part.message else ''}")
            lines[-1] += part.message.replace("\n", "\n    ")
        return "\n".join([*lines, *(["  printed:", self.printed.rstrip("\n")] if self.printed else [])])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


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

    @property
    def solution(self) -> str:
        """Source of a solution."""
        return (self.folder / "solution.cu").read_text("utf-8")

    @property
    def rung(self) -> str | None:
        """Name of the rung that does what the exercise teaches; None if no rung does."""
        return self.rules().rung

    def rules(self) -> Rules:
        """Return what ``check.py`` defines.

        Returns
        -------
        Rules

        Raises
        ------
        ExerciseError
            If the program fails, or lacks something; the message has its line.
        """
        return read_rules(self.folder)

    def next(self) -> Exercise | None:
        """Return the exercise that follows; None after the last.

        Returns
        -------
        Exercise or None
        """
        known = exercises(self.folder.parent)
        place = [each.name for each in known].index(self.name) + 1
        return known[place] if place < len(known) else None

    def notebook(self) -> str:
        """Return a notebook with the task, and a cell that is graded when it runs.

        Returns
        -------
        str
            Text of an ipynb file.
        """
        own = self.folder.parent.resolve() != FOLDER
        where = f" --folder {shlex.quote(str(self.folder.parent.resolve()))}" if own else ""
        cells = [
            _cell("task", self.task),
            _cell("load", "%load_ext gpureduce", code=True),
            _cell("answer", f"%%cuda --exercise {self.number}{where}\n{self.start}", code=True),
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
        ExerciseError
            If ``check.py`` is wrong; the message has its line.
        """
        rules = self.rules()
        printed: list[str] = []
        try:
            wrong = faults(source, rules, printed)
        except CompileError as error:
            return Grade(self.name, (Part("compiles", False, str(error)),))
        parts = tuple(Part(name, name not in wrong, wrong.get(name, "")) for name in NAMES)
        return Grade(self.name, parts, _score(self, set(wrong), rules), "".join(printed)[:_MOST_PRINTED])


def _score(chosen: Exercise, wrong: set[str], rules: Rules) -> float:
    """Return the weight of the parts that pass, divided by the weight of the parts that count."""
    if not wrong:
        return 1.0
    if "right" in wrong:
        return 0.0
    counted = [name for name in rules.weights if name in wrong | _failed_by_start(chosen)]
    whole = sum(rules.weights[name] for name in counted)
    return sum(rules.weights[name] for name in counted if name not in wrong) / whole if whole else 0.0


@functools.lru_cache(maxsize=64)
def _failed_by_start(chosen: Exercise) -> frozenset[str]:
    try:
        return frozenset(faults(chosen.start, chosen.rules()))
    except (CompileError, FileNotFoundError):
        return frozenset(NAMES)


def _cell(name: str, text: str, code: bool = False) -> dict[str, Any]:
    """Return a cell of a notebook."""
    cell: dict[str, Any] = {"id": name, "metadata": {}, "source": text.strip()}
    if code:
        return {**cell, "cell_type": "code", "execution_count": None, "outputs": []}
    return {**cell, "cell_type": "markdown"}


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
