"""Tests exercises themselves: what has to pass passes, and what must not pass is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gpureduce._course.exercises import Exercise, exercises
from gpureduce._course.grading import Case, Rules

_EMPTY = "// an empty file\n"


def selftest(chosen: Exercise) -> list[str]:
    """Return what is wrong with an exercise; an empty list if it is sound.

    The solution has to pass with score 1. The file with the gap has to fail with score 0. An empty file, the
    solutions of the other exercises in the folder, and each file ``wrong_*.cu`` have to fail. Results have to
    depend on the data, so that they cannot be written into a submission.

    Parameters
    ----------
    chosen : Exercise
        The exercise.

    Returns
    -------
    list of str

    Raises
    ------
    ExerciseError
        If ``check.py`` fails; the message has its line.
    ImportError
        If NVRTC is not installed.

    Examples
    --------
    >>> from gpureduce.course import exercise, selftest
    >>> selftest(exercise(1))
    []
    """
    rules = chosen.rules()
    return [f"{chosen.name}: {fault}" for fault in (*_graded(chosen, rules), *_constant(rules))]


def _graded(chosen: Exercise, rules: Rules) -> Iterator[str]:
    grade = chosen.check(chosen.folder / "solution.cu")
    if not grade.passed or grade.score != 1:
        yield f"solution.cu does not pass: {grade}"
    grade = chosen.check(chosen.start)
    if grade.passed or grade.score != 0:
        yield f"start.cu: expected a failure with score 0, got passed={grade.passed}, score={grade.score:g}"
    others = [path / "solution.cu" for path in _neighbours(chosen)]
    for path in (*sorted(chosen.folder.glob("wrong_*.cu")), *others):
        if path.exists() and rules.kernel in path.read_text("utf-8") and chosen.check(path).passed:
            yield f"{path.parent.name}/{path.name} passes"
    if chosen.check(_EMPTY).passed:
        yield "an empty file passes"


def _neighbours(chosen: Exercise) -> list[Path]:
    return [each.folder for each in exercises(chosen.folder.parent) if each.name != chosen.name]


def _constant(rules: Rules) -> Iterator[str]:
    """Yield runs whose results are the same for other data: a submission could contain the results."""
    one, two = (rules.cases(np.random.default_rng(seed)) for seed in (1, 2))
    if not one:
        yield "check.py: cases() yields no run"
        return
    if all(_same(*pair) for pair in zip(one, two, strict=True)):
        yield "check.py: the expected results do not depend on the generator that cases(rng) is given"


def _same(one: Case, two: Case) -> bool:
    return all(np.array_equal(one.expect[key], two.expect[key], equal_nan=True) for key in one.expect)
