"""Pages for learners say what is so: figures are in the files that they name, steps can be followed."""

import importlib.util
import itertools
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import gpureduce
from gpureduce.__main__ import _parser
from tests.support import pages

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# NVRTC's own <cstdint> lacks these.
LIMITS = ("INT32_MAX=0x7fffffff", "INT64_MAX=0x7fffffffffffffff")
LIMITS += ("INT32_MIN=(-INT32_MAX-1)", "INT64_MIN=(-INT64_MAX-1)")

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="no docs next to the tests")


def page(name):
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def blocks(name, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", page(name), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "section", page("explanation/how-auto-chooses").split("\n## ") if DOCS.exists() else []
)
def test_figures_of_the_default_stand_in_the_files_that_are_named(section):
    """Each figure of a section is in a file that the section links to."""
    text = re.sub(r"^```.*?^```$", "", section, flags=re.MULTILINE | re.DOTALL)
    names = set(re.findall(r"\]\(([^)#]+)[^)]*\)", text))
    named = "\n".join((DOCS / "explanation" / name).read_text(encoding="utf-8") for name in names)
    text = re.sub(r"compute capability \d\.\d|section \d\.\d\.\d", "", text)
    figures = set(re.findall(r"\d[\d,]*\.\d+", text))
    assert len(figures) >= {"# How": 3, "A lau": 10}.get(section[:5], 0)
    assert not {each for each in figures if not re.search(rf"(?<![\d.]){re.escape(each)}(?!\d)", named)}


def test_the_kernel_that_is_followed_through_the_simulator(capsys):
    exec(blocks("explanation/how-the-simulator-works", "python")[0], {})
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    said = blocks("explanation/how-the-simulator-works", "text")[0].splitlines()
    assert [line for line in lines if line in said] == said


@pytest.mark.parametrize(
    "name",
    [
        "explanation/how-the-simulator-works",
        "explanation/how-auto-chooses",
        "tutorials/write-a-rung",
        "explanation/reduction-ladder",
    ],
)
def test_files_that_are_named_are_there(name):
    """Those with a folder stand there; a file without one is somewhere among the sources."""
    text = re.sub(r"^```.*?^```$", "", page(name), flags=re.MULTILINE | re.DOTALL)
    for path in re.findall(r"`((?:[\w]+/)+[\w*]*(?:\.\w+)?)`", text):
        folders = (ROOT, ROOT / "csrc/ptxsim", ROOT / "cuda_kernels")
        new = path.endswith("/butterfly.cu")
        assert new or any(list(folder.glob(path)) for folder in folders), path


def test_the_program_of_v0_is_what_export_writes():
    """But for what is left out, where dots stand."""
    (said,) = blocks("explanation/reduction-ladder", "cuda")
    written = [line.strip() for line in gpureduce.kernels.export("v0").splitlines()]
    at = 0
    for line in map(str.strip, said.splitlines()):
        if line and "..." not in line:
            at = written.index(line, at)


@pytest.fixture
def kernel_and_rung(tmp_path, monkeypatch):
    """The two files of the page that leads to a rung, where it says they are."""
    kernel, rung = blocks("tutorials/write-a-rung", "cuda")
    (tmp_path / "cuda_kernels/reduce").mkdir(parents=True)
    (tmp_path / "cuda_kernels/reduce/butterfly.cu").write_text(rung, encoding="utf-8")
    (tmp_path / "butterfly.cu").write_text(kernel, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_first_step_to_a_rung(kernel_and_rung, capsys):
    pytest.importorskip("cuda.pathfinder")
    exec(blocks("tutorials/write-a-rung", "python")[0], {})
    said = capsys.readouterr().out
    assert "correct, and without races" in said
    barriers = re.search(r"barriers +([\d,]+) +([\d,]+) +9x", said)
    passes = re.search(r"shared-memory wavefronts +([\d,]+) +([\d,]+) +2\.8", said)
    assert barriers and passes
    assert pages.is_same(blocks("tutorials/write-a-rung", "text")[0], said)


def test_the_findings_of_the_guide_to_kernels():
    """Long lines of findings are broken in the page, so that only their words can be compared."""
    pytest.importorskip("cuda.pathfinder")
    guides = ("profile-and-debug-a-kernel", "check-a-reduction-kernel")
    found = [block for guide in guides for block in pages.blocks(page(f"how-to/{guide}"))]
    names, compared = {}, 0
    for code, below in itertools.pairwise(found):
        if code.language == "python" and ("findings[0]" in code.code or "ladder(tree," in code.code):
            printed = pages.run(code, "page", names)
            if below.language == "text" and not below.is_output:
                assert below.code.split() == printed.split()
                compared += 1
    assert compared == 2


@pytest.mark.parametrize(("op", "dtype"), [("sum", np.float32), ("max", np.int64)])
def test_the_file_of_a_rung_is_one(kernel_and_rung, op, dtype):
    """Its kernels have the names of the package's, and reduce."""
    pytest.importorskip("cuda.pathfinder")
    a = np.random.default_rng(3).integers(-99, 99, 1000).astype(dtype)
    out = np.full(9, 77, dtype)
    short = {"float32": "f32", "int64": "i64"}[a.dtype.name]
    options = [f"-I{ROOT / folder}" for folder in ("cuda_kernels/include", "csrc")]
    options += [f"-D{limit}" for limit in LIMITS]
    file = kernel_and_rung / "cuda_kernels/reduce/butterfly.cu"
    found = gpureduce.simulate(
        file, f"butterfly_{op}_{short}", 8, 128, [a, out, np.uint64(a.size)], options=options
    )
    want = [getattr(a[i : i + 128], op)() for i in range(0, 1000, 128)]
    assert out.tolist() == [*want, 77] and not found.races


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler")
def test_the_row_of_a_rung_fits_the_table(tmp_path):
    """The C file that makes records of the table takes it, and no other word in its place."""
    (row,) = blocks("tutorials/write-a-rung", "c")
    table = (ROOT / "csrc/reduce/rungs.def").read_text(encoding="utf-8")
    (tmp_path / "reduce").mkdir()
    command = ["gcc", "-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{tmp_path}"]
    command += [f"-I{ROOT / 'csrc'}", str(ROOT / "csrc/reduce/ladder/rungs.c")]
    for text, fits in ((row, True), (row.replace("PER_BLOCK", "PER_WARP"), False)):
        (tmp_path / "reduce/rungs.def").write_text(f"{table}{text}", encoding="utf-8")
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert (done.returncode == 0) == fits, done.stderr
        assert fits or "PER_WARP" in done.stderr


def test_the_commands_to_a_rung_are_there():
    lines = "".join(blocks("tutorials/write-a-rung", "bash")).splitlines()
    commands = [shlex.split(line, comments=True) for line in lines]
    assert {command[0] for command in commands} == {"pip", "gpureduce", "python"}
    for command, *arguments in commands:
        if command == "gpureduce":
            _parser().parse_args(arguments)
        elif command == "python" and arguments[0] == "-m":
            assert importlib.util.find_spec(arguments[1]) is not None
        elif command == "python":
            assert (ROOT / arguments[0]).exists()
