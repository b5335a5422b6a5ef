"""The grader of exercises: many submissions, those of strangers, and exercises that are wrong themselves."""

import csv
import json
import os
import shutil

import pytest

import gpureduce
from gpureduce.__main__ import main
from gpureduce._course.allowed_headers import refused_inclusion
from gpureduce._course.grading import generator_for
from gpureduce.course import Exercise, ExerciseError, exercise, exercises, grade, selftest

pytest.importorskip("cuda.pathfinder")
pytestmark = pytest.mark.usefixtures("kept_kernels")
ALL = exercises()


@pytest.fixture
def course(tmp_path):
    """Return a folder of exercises with a copy of one, which a test damages."""
    folder = tmp_path / "course" / ALL[1].name
    shutil.copytree(ALL[1].folder, folder)
    return folder


@pytest.mark.parametrize("each", ALL, ids=lambda each: each.name)
def test_exercises_are_sound(each):
    """The solution passes; the gap, an empty file, other solutions and serial kernels do not."""
    assert selftest(each) == []
    assert (each.folder / "wrong_serial.cu").exists()


@pytest.mark.parametrize("number", ["01", "03", "05", "06", "07", "14"])
def test_a_kernel_in_which_every_thread_does_everything_is_refused(number):
    chosen = exercise(number)
    failed = [
        part.name for part in chosen.check(chosen.folder / "wrong_redundant.cu").parts if not part.passed
    ]
    assert failed == ["counters"]


INCLUSIONS = [
    ('#include "solution.cu"', 1),
    ("\n#include </etc/passwd>", 2),
    ("#include <cuda/../../../etc/passwd>", 1),
    ("#include <cuda/x.y>", 1),
    ("#define FILE </etc/passwd>\n#include FILE", 2),
    ("#/* a * comment **/ include <other.h>", 1),
    ("# \\\n include <other.h>", 2),
    ("#inc\\\nlude <other.h>", 1),
    ("%:include <other.h>", 1),
    ("??=include <other.h>", 1),
    ("#inc??/\nlude <other.h>", 1),
    ("#include_next <cuda_fp16.h>", 1),
    ("#import <cuda_fp16.h>", 1),
    ("int a[] = {\n#embed </etc/passwd>\n};", 2),
    ('#if __has_include("solution.cu")\n#endif', 1),
    ('#if __has_embed("solution.cu")\n#endif', 1),
    ("#define P(a, b) a##b\n#if P(__has_, include)(<other.h>)\n#endif", 0),
    ("#define P(a) __has_##a\n", 1),
]


@pytest.mark.parametrize(("source", "line"), INCLUSIONS)
def test_files_of_the_grader_are_not_included(source, line):
    message = refused_inclusion(source)
    if line:
        assert message.startswith(f"line {line}: ")
    else:  # it could ask whether a file exists, and nothing else
        assert message is None


@pytest.mark.parametrize(
    "name", ["cuda_fp16.h", "cooperative_groups.h", "cooperative_groups/reduce.h", "cuda/std/limits"]
)
def test_headers_of_cuda_are_included(name):
    assert refused_inclusion(f"  #  include <{name}> // for halves\n#define include 1\n#include_ 3") is None
    chosen = exercise(2)
    if name != "cuda/std/limits":  # in the wheel of another extra
        assert "cuda_fp16" not in name or chosen.check(f"#include <{name}>\n{chosen.solution}").passed


def test_submissions_are_graded_in_processes_with_limits(tmp_path):
    third = exercise(3)
    bomb = "\n".join(f"#define A{i}(x) A{i + 1}(x) A{i + 1}(x) A{i + 1}(x) A{i + 1}(x)" for i in range(16))
    files = {
        "solved": third.solution,
        "untouched": third.start,
        "empty": "",
        "other": exercise(2).solution,
        "reader": '#include "/etc/passwd"\n' + third.solution,
        "bomb": f"{bomb}\n#define A16(x) x\n__global__ void block_sums(float *a) {{ A0(a[0] += 1;) }}",
        "endless": third.solution.replace("stride /= 2", "stride *= 1"),
    }
    for name, text in files.items():
        (tmp_path / f"{name}.cu").write_text(text)
    paths = [*(tmp_path / f"{name}.cu" for name in files), tmp_path / "missing.cu"]
    graded = grade(third, paths, seconds=10, mebibytes=300, jobs=2)
    assert [each.file for each in graded] == list(map(str, paths))
    rows = {os.path.basename(each.file)[:-3]: each.row() for each in graded}
    assert {name for name, row in rows.items() if row["passed"]} == {"solved"}
    assert [row["score"] for row in rows.values()] == [1] + [0] * 7
    for name, part, text in [
        ("untouched", "right", "element 0 of the result is"),
        ("empty", "right", "no kernel"),
        ("other", "compiles", "there is no kernel 'block_sums' in the source; it has scale"),
        ("reader", "compiles", "line 1: #include"),
        ("bomb", "compiles", "memory"),
        ("endless", "right", "ran over its budget"),
        ("missing", "compiles", "the file cannot be read"),
    ]:
        row = rows[name]
        assert text in row["message"] and not row[part], (name, row)
        assert all(row[each] for each in ("compiles",) if part == "right")
    assert all(row["seconds"] < 15 for row in rows.values())


def test_a_submission_that_takes_too_long_is_stopped(tmp_path):
    slow = tmp_path / "slow.cu"
    slow.write_text(exercise(1).solution + "// other\n")
    [graded] = grade(exercise(1), [slow], seconds=0.001)
    assert not graded.grade.passed and graded.grade.score == 0
    assert graded.row()["message"] == "the submission took longer than 0.001 s"
    for limit in ("seconds", "mebibytes", "jobs"):
        with pytest.raises(ValueError, match=f"{limit}: expected a positive number, got 0"):
            grade(exercise(1), [slow], **{limit: 0})


def test_the_command_writes_a_grade_book(tmp_path, capsys):
    third = exercise(3)
    for name, text in (("ada", third.solution), ("bob", third.start)):
        (tmp_path / f"{name}.cu").write_text(text)
    paths = [str(tmp_path / f"{name}.cu") for name in ("ada", "bob")]
    book = tmp_path / "book.csv"
    assert main(["exercise", "grade", "3", *paths, "-o", str(book)]) == 0
    assert (
        "1 of 2 passed; failed: compiles 0, right 1, without races 1, counters 1" in capsys.readouterr().err
    )
    rows = list(csv.DictReader(book.open()))
    assert [(row["file"], row["passed"], row["score"]) for row in rows] == [
        (paths[0], "True", "1.0"), (paths[1], "False", "0.0"),
    ]  # fmt: skip
    assert main(["exercise", "grade", "3", *paths, "--json"]) == 0
    assert [each["passed"] for each in json.loads(capsys.readouterr().out)] == [True, False]
    for words in (
        ["grade", "3"],
        ["grade"],
        ["check", "3", *paths],
        ["grade", "3", *paths, "--seconds", "-1"],
    ):
        assert main(["exercise", *words]) == 2


WRONG_CHECKS = [
    ("KERNEL = ", "KERNEL = = ", "check.py, line 5: SyntaxError"),
    ("data = rng", "data = nothing", "check.py, line 11: NameError"),
    ("KERNEL", "NAME", "check.py: expected KERNEL, which is not defined"),
    ('"global_sectors"', '"sectors"', "4096 elements: unknown counter 'sectors'"),
    (
        "RUNG =",
        "WEIGHTS = {'luck': 1}\nRUNG =",
        "check.py: WEIGHTS: expected positive numbers by right, without",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), WRONG_CHECKS)
def test_an_exercise_that_is_wrong_itself_is_not_a_failed_student(course, capsys, old, new, message):
    text = (course / "check.py").read_text()
    assert old in text
    (course / "check.py").write_text(text.replace(old, new, 1))
    with pytest.raises(ExerciseError, match=r"check\.py") as caught:
        Exercise(course.name, course).check(ALL[1].solution)
    assert message in str(caught.value)
    for words in (
        ["selftest"],
        ["check", "2", str(course / "start.cu")],
        ["grade", "2", str(course / "start.cu")],
    ):
        assert main(["exercise", *words, "--folder", str(course.parent)]) == 2
        assert message in capsys.readouterr().err


def test_faults_of_an_exercise_are_listed(course, capsys):
    text = (course / "check.py").read_text()
    (course / "check.py").write_text(text.replace("rng.integers(1, 100, n + 1)", "np.arange(n + 1)"))
    shutil.copy(course / "start.cu", course / "solution.cu")
    shutil.copy(ALL[1].folder / "solution.cu", course / "start.cu")
    shutil.copy(ALL[1].folder / "solution.cu", course / "wrong_one.cu")
    assert main(["exercise", "selftest", "--folder", str(course.parent), "--json"]) == 1
    [(name, faults)] = json.loads(capsys.readouterr().out).items()
    assert name == course.name and len(faults) == 4
    for fault, words in zip(
        faults, ("solution.cu does not", "start.cu: expected", "wrong_one.cu passes", "depend"), strict=True
    ):
        assert words in fault


def test_parts_have_weights(course):
    """A part counts if the file with the gap fails it, or the submission does."""
    second = Exercise(course.name, course)
    tight = '{"global_sectors": 0}'
    text = (course / "check.py").read_text()
    assert second.check(second.solution).score == 1
    (course / "check.py").write_text(
        "WEIGHTS = {'right': 3, 'counters': 1}\n"
        + text.replace('{"global_sectors": ideal_sectors(data[:n], out[:n]) + 1}', tight)
    )
    (course / "start.cu").write_text(second.start.replace("factor *", "2 *"))
    changed = Exercise(course.name, course.resolve())
    assert changed.check(changed.solution).score == 0.75
    assert changed.check(changed.start).score == 0


def test_results_may_have_a_tolerance(course):
    text = (course / "check.py").read_text()
    near = ALL[1].solution.replace("factor * in[i]", "factor * in[i] * 1.00001f")
    (course / "check.py").write_text(
        text.replace("{1: expected}, limits)", "{1: expected}, limits, rtol=1e-4)")
    )
    assert Exercise(course.name, course).check(near).passed and not ALL[1].check(near).passed
    (course / "check.py").write_text(
        text.replace("{1: expected}, limits)", "{1: expected}, limits, rtol=1e-6)")
    )
    assert not Exercise(course.name, course).check(near).passed


def test_a_notebook_of_an_own_exercise_is_graded_by_it(course):
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    spaced = course.parent.parent / "my course"
    course.parent.rename(spaced)
    own = Exercise(course.name, spaced / course.name)
    cells = {cell["id"]: cell["source"] for cell in json.loads(own.notebook())["cells"]}
    head = cells["answer"].splitlines()[0]
    assert f"--folder '{spaced}'" in head and "--folder" not in ALL[1].notebook()
    (own.folder / "check.py").write_text(
        (own.folder / "check.py").read_text().replace("3 * data", "4 * data").replace("3.0", "4.0")
    )
    shell = interactive.InteractiveShell()
    shell.run_cell("%load_ext gpureduce")
    assert shell.run_cell(f"{head}\n{own.solution}").result.passed
    assert own.next() is None and ALL[0].next() == ALL[1]


def store_results(n, values):
    """Return a statement that stores results of one length by block."""
    numbers = ", ".join(f"{float(value)!r}f" for value in values)
    return f"    if (n == {n}) {{ const float r[] = {{{numbers}}}; out[blockIdx.x] = r[blockIdx.x]; }}\n"


def test_constants_for_the_visible_sizes_are_refused():
    """The data depend on the source: results that were seen once are wrong in the file that holds them."""
    third = exercise(3)
    source = third.solution
    for _ in range(2):  # the second time with the results of the file itself before it was changed
        cases = list(third.rules().cases(generator_for(source)))
        body = "".join(store_results(case.args[2], case.expect[1]) for case in cases)
        source = f"__global__ void block_sums(const float *in, float *out, int n) {{\n{body}}}\n"
        graded = third.check(source)
        assert not graded.passed and graded.score == 0
        assert "element 0 of the result is" in graded.parts[1].message


def test_counters_have_lower_limits(course):
    """As many lanes as there have to be: a kernel that one lane of a warp executes has too few."""
    second = Exercise(course.name, course)
    text = (course / "check.py").read_text()
    for least, passed in ((20, True), (33, False)):
        (course / "check.py").write_text(
            text.replace(
                "{1: expected}, limits)", f"{{1: expected}}, limits, at_least={{'mean_lanes': {least}}})"
            )
        )
        graded = Exercise(course.name, course).check(second.solution)
        assert graded.passed == passed
    assert "lanes" in graded.parts[3].message and "expected at least 33" in graded.parts[3].message


def test_kernels_may_print(tmp_path, capsys):
    path = tmp_path / "mine.cu"
    path.write_text(
        exercise(1).solution.replace(
            "{", '{\n    if (threadIdx.x == 3) printf("lane %d\\n", threadIdx.x);', 1
        )
    )
    assert main(["exercise", "check", "1", str(path)]) == 0
    assert "lane 3\n" in capsys.readouterr().out


@pytest.mark.parametrize("each", ALL, ids=lambda each: each.name)
def test_each_exercise_names_its_rung_and_the_next_one(each, capsys, tmp_path):
    ladders = ("reduction", "matmul", "conv", "groups")
    assert each.rung in {record.name for ladder in ladders for record in gpureduce.variants(ladder)}
    assert each.next() == (ALL[ALL.index(each) + 1] if each != ALL[-1] else None)
    if each.number == "03":
        path = tmp_path / "solved.cu"
        path.write_text(each.solution)
        assert main(["exercise", "check", "3", str(path)]) == 0
        said = capsys.readouterr().out
        assert "The rung that does this: v2" in said and "Next: gpureduce exercise start 04" in said
