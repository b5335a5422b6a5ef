"""The course: CUDA exercises, and your own reduction kernels compared with the ladder.

An exercise is a CUDA file with a gap, and a check that grades the completed file. ``gpureduce exercise
list`` lists the exercises, and docs/how-to/teach-a-course.md describes how to add one. A kernel passes if
its results are correct in edge cases, it has no data races, and its counters stay within the limits of the
exercise. `ladder` checks, profiles and times your own reduction kernel; ``%load_ext gpureduce`` does so in a
notebook.

>>> from gpureduce.course import exercise
>>> first = exercise(1)
>>> first.check(first.start).passed, first.check(first.folder / "solution.cu").passed
(False, True)
"""

from gpureduce._course.checks import Report
from gpureduce._course.exercises import Exercise, Grade, Part, exercise, exercises, ideal_sectors
from gpureduce._course.grading import Case, ExerciseError
from gpureduce._course.rung import OwnRung, ladder
from gpureduce._course.selftest import selftest
from gpureduce._course.submissions import Submission, grade

__all__ = [
    "Case",
    "Exercise",
    "ExerciseError",
    "Grade",
    "OwnRung",
    "Part",
    "Report",
    "Submission",
    "exercise",
    "exercises",
    "grade",
    "ideal_sectors",
    "ladder",
    "selftest",
]


def __dir__() -> list[str]:
    return sorted(__all__)
