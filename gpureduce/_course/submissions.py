"""Grades many submissions of an exercise, each in a process of its own with limits of time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpureduce._course.exercises import Exercise, Grade, Part
from gpureduce._course.grading import NAMES

SECONDS = 60.0
MEBIBYTES = 2048
COLUMNS = ("file", "passed", "score", *NAMES, "message", "seconds")


@dataclass(frozen=True)
class Submission:
    """A graded submission.

    Attributes
    ----------
    file : str
        Path of the source.
    grade : Grade
        The grade. A submission that takes more time or memory than allowed does not compile, or is not right.
    seconds : float
        Time of the process that graded it.

    Examples
    --------
    >>> from gpureduce.course import exercise, grade
    >>> first = exercise(1)
    >>> [graded] = grade(first, [first.folder / "solution.cu"])
    >>> graded.grade.passed, graded.grade.score
    (True, 1.0)
    """

    file: str
    grade: Grade
    seconds: float

    def row(self) -> dict[str, Any]:
        """Return the columns of a grade book: the file, the grade, its parts and the first message.

        Returns
        -------
        dict
            Values by the name of the column.
        """
        parts: dict[str, Any] = dict.fromkeys(NAMES, False)
        parts |= {part.name: part.passed for part in self.grade.parts}
        first = next((part.message for part in self.grade.parts if not part.passed), "")
        head = {"file": self.file, "passed": self.grade.passed, "score": round(self.grade.score, 4)}
        return {**head, **parts, "message": first, "seconds": round(self.seconds, 3)}


def grade(
    chosen: Exercise,
    files: Iterable[str | os.PathLike[str]],
    *,
    seconds: float = SECONDS,
    mebibytes: int = MEBIBYTES,
    jobs: int | None = None,
) -> list[Submission]:
    """Grade submissions, each in a process of its own.

    Parameters
    ----------
    chosen : Exercise
        The exercise.
    files : iterable of path_like
        Paths of the sources.
    seconds : float
        Seconds that a submission may take: wall clock, and processor time of each of its processes.
    mebibytes : int
        Memory of each of its processes, in MiB.
    jobs : int, optional
        Submissions that are graded at once. Default: the number of processors.

    Returns
    -------
    list of Submission
        In the order of `files`.

    Raises
    ------
    ImportError
        If NVRTC is not installed.
    ExerciseError
        If the exercise is wrong.
    ValueError
        If a limit is not positive.

    Examples
    --------
    >>> from gpureduce.course import exercise, grade
    >>> second = exercise(2)
    >>> [graded] = grade(second, [second.folder / "start.cu"], jobs=1)
    >>> graded.row()["counters"]
    False
    """
    paths = [os.fspath(file) for file in files]
    limits = {
        "seconds": seconds,
        "mebibytes": mebibytes,
        "jobs": os.cpu_count() or 1 if jobs is None else jobs,
    }
    for name, value in limits.items():
        if value <= 0:
            raise ValueError(f"{name}: expected a positive number, got {value}")
    chosen.rules().cases(np.random.default_rng(0))  # raises errors of the teacher's program
    request = {"name": chosen.name, "folder": str(chosen.folder.resolve()), "files": paths, **limits}
    found = dict(_answers(request))
    return [found[place] for place in range(len(paths))]


def _answers(request: dict[str, Any]) -> Iterator[tuple[int, Submission]]:
    """Start the process that forks for each submission; yield what it prints, by place."""
    command = [sys.executable, "-m", "gpureduce._course.grader"]
    # One thread per process: as many processes as processors run.
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "GPUREDUCE_SIM_THREADS": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | threads
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps(request))
            process.stdin.close()
            for line in process.stdout:
                answer = json.loads(line)
                if "import_error" in answer:
                    raise ImportError(answer["import_error"])
                parts = tuple(Part(**part) for part in answer["parts"])
                graded = Grade(request["name"], parts, answer["score"])
                file = request["files"][answer["place"]]
                yield answer["place"], Submission(file, graded, answer["seconds"])
        finally:
            process.terminate()


def failures(graded: Iterable[Submission]) -> dict[str, int]:
    """Return how many submissions failed each part."""
    counted = Counter(part.name for each in graded for part in each.grade.parts if not part.passed)
    return {name: counted[name] for name in NAMES}
