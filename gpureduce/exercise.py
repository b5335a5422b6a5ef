"""Exercises in CUDA, graded on the simulator: a file with a gap, and a check of what is made of it.

``gpureduce exercise list`` shows them, and docs/exercises.md how to add one. The check grades whether a
kernel is right where it may go wrong, without races, and as sparing as the exercise asks, by its counters.

>>> from gpureduce.exercise import exercise
>>> first = exercise(1)
>>> first.check(first.start).passed, first.check(first.folder / "solution.cu").passed
(False, True)
"""

from gpureduce._course.exercises import Case, Exercise, Grade, Part, exercise, exercises, ideal_sectors

__all__ = ["Case", "Exercise", "Grade", "Part", "exercise", "exercises", "ideal_sectors"]


def __dir__() -> list[str]:
    return sorted(__all__)
