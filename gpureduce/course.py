"""The course: exercises in CUDA, and reduction kernels of your own next to the rungs of the ladder.

An exercise is a file with a gap, and a check of what is made of it. ``gpureduce exercise list`` shows them,
and docs/tutorials/exercises.md how to add one. The check grades whether a kernel is right where it may go wrong,
without races, and as sparing as the exercise asks, by its counters. `ladder` checks, profiles and times a
reduction kernel of your own; ``%load_ext gpureduce`` does so in a notebook.

>>> from gpureduce.course import exercise
>>> first = exercise(1)
>>> first.check(first.start).passed, first.check(first.folder / "solution.cu").passed
(False, True)
"""

from gpureduce._course.checks import Report
from gpureduce._course.exercises import Case, Exercise, Grade, Part, exercise, exercises, ideal_sectors
from gpureduce._course.rung import OwnRung, ladder

__all__ = [
    "Case",
    "Exercise",
    "Grade",
    "OwnRung",
    "Part",
    "Report",
    "exercise",
    "exercises",
    "ideal_sectors",
    "ladder",
]


def __dir__() -> list[str]:
    return sorted(__all__)
