"""Exercises: their texts, and what is nearly right is refused for its reason."""

import json
import re
import shutil
from pathlib import Path

import pytest

from gpureduce.__main__ import main
from gpureduce.course import Exercise, exercise, exercises

pytest.importorskip("cuda.pathfinder")
pytestmark = pytest.mark.usefixtures("kept_kernels")
ALL = exercises()


def failed(grade):
    """Return what is not so, and how, by name."""
    return {part.name: part.message for part in grade.parts if not part.passed}


@pytest.mark.parametrize("each", ALL, ids=lambda each: each.name)
def test_texts_have_a_title_a_hint_and_short_lines(each):
    assert each.task.startswith("# ") and len(each.hint) > 50
    for text in (each.task, each.hint, each.start):
        assert max(map(len, text.splitlines())) <= 120


# A solution with something changed; the part that fails, and what is said.
WRONG = [
    ("01", "distance /= 2", "distance /= 4", "right", "32 elements: element 0 of the result is"),
    ("01", "distance /= 2", "distance /= 1", "right", "32 elements: kernel warp_sums ran over its budget"),
    ("01", "0xffffffffu, x, distance", "0x0000ffffu, x, distance", "right", "shfl"),
    ("01", "n) {", "m) {", "compiles", 'identifier "n" is undefined'),
    ("01", "warp_sums", "warps", "compiles", "there is no kernel 'warp_sums' in the source; it has warps"),
    ("01", "float *in, float", "double *in, float", "right", "takes 'const double *' here, got an array of"),
    ("01", ", int n", "", "compiles", 'identifier "n" is undefined'),
    ("01", "for (", "__syncthreads();\n    for (", "counters", "4 barriers, counted per warp; 0 are enough"),
    ("02", "i < n", "i <= n", "right", "4096 elements: element 4096 of the result is"),
    ("02", "i = thread;", "i = threads - 1 - thread;", None, ""),  # neighbours all the same
    ("02", "i += threads", "i += threads / 2", "counters", "sectors of global memory; 1,076 are enough"),
    ("03", "0;\n    __syncthreads();", "0;", "without races", "__syncthreads is missing"),
    ("03", "        __syncthreads();\n    }", "    }\n    __syncthreads();", "without races", "is missing"),
    ("03", "stride];\n", "stride];\n        __syncthreads();\n", "counters", "barriers, counted per warp"),
    ("03", "i < n ? in[i] : 0", "in[i]", "right", "300 elements, 128 threads per block: kernel"),
    ("04", "[33]", "[34]", "counters", "bank conflicts; 0 are enough"),
    ("04", "    __syncthreads();\n", "", "without races", "__syncthreads is missing between"),
    ("04", "row + x < height", "true", "right", "are not allocated"),
    ("05", "    __syncthreads();\n", "", "without races", "sums"),
    ("05", "t < blockDim.x / 32 ? sums[t] : 0", "sums[t]", "without races", "uninitialised"),
    ("05", "blockDim.x / 32", "2", "right", "left out"),
    ("06", "j < i);\n}", "true);\n}", "right", "and should be"),
    ("06", "b_is_nan && (!a_is_nan || j < i)", "b_is_nan", "right", "two NaNs: element 0 of the result is"),
    ("07", "stride = blockDim.x / 2", "stride = blockDim.x / 4", "right", "element 0 of the result is"),
    ("07", "if (t < stride)\n            slots[t] += slots[t + stride];",
     "const int s = blockDim.x / 2 / stride;\n        if (t < stride)\n"
     "            slots[2 * s * t] += slots[2 * s * t + s];", "counters", "bank conflicts; 0 are enough"),
    ("08", "thread < n % 4", "false", "right", "1027 elements: element 1024 of the result is -1"),
    ("08", "n / 4; i += threads", "(n + 3) / 4; i += threads", "right", "1027 elements: element 1027 of the"),
    ("09", "if (lane >= distance)", "if (true)", "right", "32 elements: element 0 of the result is"),
    ("09", "distance < 32", "distance < 16", "right", "element 16 of the result is"),
    ("10", "i < n && in[i]", "in[i]", "right", "are not allocated"),
    ("10", "if (threadIdx.x == 0)", "if (threadIdx.x % 32 == 0)", "right", "element 0 of the result is"),
    ("10", "const int c", "if (i >= n)\n        return;\n    const int c", "right", "a divergent barrier"),
    ("11", "0;\n    __syncthreads();", "0;", "without races", "__syncthreads is missing"),
    ("11", "1);\n    __syncthreads();", "1);", "without races", "__syncthreads is missing"),
    ("11", "        own[bin] = 0;", "        own[bin & 127] = 0;", "without races", "was never written"),
    ("12", "sum += of_a[y][k] * of_b[k][x];\n        __syncthreads();", "sum += of_a[y][k] * of_b[k][x];",
     "without races", "__syncthreads is missing"),
    ("12", " && first + x < inner", "", "right", "20 rows, 33 columns, inner size 17"),
    ("12", "__syncthreads();\n    }", "}", "without races", "__syncthreads is missing"),
    ("13", "i > 0 ? in[i - 1] : 0", "0", "right", "512 elements: element 128 of the result is"),
    ("13", "t == 127", "t == 126", "right", "512 elements: element 127 of the result is"),
    ("14", "(i < n ? in[i] : 0) + ", "", "right", "left out"),
    ("14", "__syncwarp();\n            slots", "slots", "without races", "__syncwarp is missing"),
    ("14", "    if (t < 32) {", "    __syncthreads();\n    if (t < 32) {", "counters", "counted per warp"),
]  # fmt: skip


@pytest.mark.parametrize(("number", "old", "new", "part", "text"), WRONG)
def test_nearly_right_answers_are_refused_for_their_reason(number, old, new, part, text):
    chosen = exercise(number)
    solution = (chosen.folder / "solution.cu").read_text()
    assert old in solution, solution
    found = failed(chosen.check(solution.replace(old, new)))
    assert (part in found if part else not found) and text in found.get(part, ""), found


def test_a_kernel_without_n_solves_no_ladder():
    chosen = exercise("14")
    solution = (chosen.folder / "solution.cu").read_text().replace(", unsigned n)", ")")
    for guarded in ("in[i]", "in[i + blockDim.x]"):
        index = guarded[3:-1]
        assert f"({index} < n ? {guarded} : 0)" in solution
        solution = solution.replace(f"({index} < n ? {guarded} : 0)", guarded)
    assert (
        failed(chosen.check(solution))["right"]
        == "the kernel has no parameter n and supports whole blocks only"
    )


def test_a_report_for_programs_that_grade(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["exercise", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in listed] == [each.name for each in ALL] and len(ALL) == 14
    assert main(["exercise", "list"]) == 0 and "Find the race" in capsys.readouterr().out
    assert main(["exercise", "start", "3"]) == 0
    assert "exercise check 03" in capsys.readouterr().out
    path = tmp_path / "03_find_the_race.cu"
    assert path.read_text() == exercise(3).start
    path.write_text("mine")
    assert main(["exercise", "start", "3"]) == 2 and path.read_text() == "mine"
    assert main(["exercise", "check", "3", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["score"] == 0 and report["parts"][0]["name"] == "compiles" and not report["passed"]
    path.write_text(exercise(3).start)
    assert main(["exercise", "check", "3"]) == 1
    assert "- without races: 128 elements" in capsys.readouterr().out
    shutil.copy(exercise(3).folder / "solution.cu", path)
    assert main(["exercise", "check", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["score"] == 1
    assert main(["exercise", "hint", "3"]) == 0 and "__syncthreads()" in capsys.readouterr().out
    for words in (["check"], ["check", "77"], ["check", "1", "nowhere.cu"], ["list", "--folder", "nowhere"]):
        assert main(["exercise", *words]) == 2


def test_a_teacher_adds_one_by_a_folder(tmp_path):
    folder = tmp_path / "10_fill"
    folder.mkdir()
    (folder / "task.md").write_text("# Fill\n\nWrite the places.\n")
    (folder / "check.py").write_text(
        "import numpy as np\n"
        "from gpureduce.course import Case\n"
        "KERNEL = 'fill'\n"
        "def cases():\n"
        "    a = np.zeros(40, np.int32)\n"
        "    yield Case('40 places', 2, 32, [a, 40], {0: np.arange(40, dtype=np.int32)}, {'atomics': 0})\n"
    )
    (filled,) = exercises(tmp_path)
    assert (filled.name, filled.number, filled.title) == ("10_fill", "10", "Fill")
    source = (
        "__global__ void fill(int *a, int n) {\n    int i = blockIdx.x * 32 + threadIdx.x;\n    if (i < n)\n"
    )
    assert filled.check(source + "        a[i] = i;\n}\n").passed
    assert failed(filled.check(source + "        atomicAdd(a + i, i);\n}\n")) == {
        "counters": "40 places: 2 atomic instructions; 0 are enough"
    }


def guide(name):
    """Return the text of a page of docs/."""
    path = Path(__file__).resolve().parents[2] / "docs" / name
    if not path.exists():
        pytest.skip("no documents next to the tests")
    return path.read_text("utf-8")


def test_the_tutorial_lists_all_exercises_and_solves_one():
    text = guide("tutorials/exercises.md")
    assert [f"| {int(each.number)}, {each.title} |" in text for each in ALL] == [True] * len(ALL)
    third = exercise(3)
    solved = re.search(r"```cuda\n(.*?)```", text, re.DOTALL)[1]
    gap = solved.replace("        __syncthreads();\n", "")
    assert gap in third.start
    before, after = re.findall(r"```text\n(03.*?)```", text, re.DOTALL)
    assert str(third.check(third.start.replace(gap, solved))) == after.strip()
    found = str(third.check(third.start)).replace("kernel.cu", f"{third.name}.cu")
    assert before.split() == found.split()


def test_the_check_of_the_guide_for_teachers_runs(tmp_path):
    text = guide("how-to/teach-a-course.md")
    folder = tmp_path / "1_scale"
    folder.mkdir()
    (folder / "check.py").write_text(re.findall(r"```python\n(.*?)```", text, re.DOTALL)[-1])
    solved = exercise(2).folder / "solution.cu"
    assert Exercise("1_scale", folder).check(solved).passed
    assert set(failed(Exercise("1_scale", folder).check(exercise(2).start))) == {"counters"}


def test_a_notebook_grades_its_cell(tmp_path, capsys):
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    path = tmp_path / "sum.ipynb"
    assert main(["exercise", "start", "1", str(path)]) == 0 and "running its cell" in capsys.readouterr().out
    written = json.loads(path.read_text())
    pytest.importorskip("nbformat").validate(written)
    texts = {cell["id"]: cell["source"] for cell in written["cells"]}
    assert texts["task"] == exercise(1).task.strip() and exercise(1).hint.strip() in texts["hint"]
    shell = interactive.InteractiveShell()
    assert shell.run_cell(texts["load"]).success
    grade = shell.run_cell(texts["answer"]).result
    assert (
        set(failed(grade)) == {"right", "counters"} and "<pre>01_sum_a_warp: not yet" in grade._repr_html_()
    )
    head = texts["answer"].splitlines()[0]
    solution = (exercise(1).folder / "solution.cu").read_text()
    assert shell.run_cell(f"{head}\n{solution}").result.passed
    capsys.readouterr()


NOT_SIMULATED = {
    "recursion": "__device__ int f(int n) { return n < 2 ? n : f(n - 1); }\n%s { out[0] = f((int)n); }",
    "malloc": "%s { float *a = (float *)malloc(n); a[0] = in[0]; out[0] = a[0]; free(a); }",
    "shared": "%s { __shared__ float a[99999]; a[threadIdx.x] = in[0]; __syncthreads(); out[0] = a[n]; }",
}


@pytest.mark.parametrize("number", ["05", "14"])
@pytest.mark.parametrize("which", NOT_SIMULATED)
def test_kernels_that_are_not_simulated_are_graded(number, which, tmp_path, capsys):
    """In an exercise with a ladder, too, which is checked before any kernel runs."""
    head = re.search(r"__global__[^{]*\)", exercise(number).start)[0]
    path = tmp_path / "mine.cu"
    path.write_text(NOT_SIMULATED[which] % head)
    code = main(["exercise", "check", number, str(path), "--json"])
    printed = capsys.readouterr()
    report = json.loads(printed.out)
    assert (code, printed.err, report["passed"]) == (1, "", False)
    wrong = {part["name"]: part["message"] for part in report["parts"] if not part["passed"]}
    assert set(wrong) <= {"compiles", "right", "counters"} and any(wrong.values())
