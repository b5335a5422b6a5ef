"""The check of layers sees what goes up or round."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools import layers

pytestmark = pytest.mark.usefixtures("full")

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(not ROOT.joinpath("csrc").is_dir(), reason="no sources next to the tests")


@pytest.fixture
def tree(tmp_path):
    """A copy of what the check reads."""
    for folder in ("csrc", "cuda_kernels", "gpureduce"):
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("_ptx", "__pycache__", "*.so")
        )
    return tmp_path


# What is written to the end of a file, and what is said of it; of a file at most once in a round.
PLANTED = [
    ("csrc/base/status.h", '#include "device/device.h"', "base -> device in csrc, goes up"),
    ("csrc/base/status.c", '#include "ptxsim/ptxsim.h"', "base -> ptxsim in csrc, goes up"),
    ("csrc/ptxsim/parser/cfg.c", '#include "base/status.h"', "ptxsim -> base in csrc, goes up"),
    (
        "csrc/ptxsim/parser/lexer.h",
        '#include "interpreter/memory.h"',
        "parser -> interpreter in csrc/ptxsim, goes up",
    ),
    ("csrc/python/errors.c", '#include "ptxsim/ir.h"', "ptxsim/ir.h is not for other rooms"),
    ("csrc/python/errors.c", '#include "interpreter/hooks.h"', "interpreter/hooks.h is no file of csrc/"),
    ("csrc/base/dtypes.def", '#include "base/status.h"', "circle of dtypes.* status.*"),
    ("gpureduce/_version.py", "import gpureduce", "circle of .*_version"),
    (
        "gpureduce/_version.py",
        "def later():\n    from gpureduce._bench import result",
        "_version -> _bench in gpureduce, is part of the circle",
    ),
    (
        "gpureduce/_version.py",
        "def later():\n    from . import _bench",
        "_version -> _bench in gpureduce, is part of the circle",
    ),
    ("cuda_kernels/include/reduce/ladder/ops.cuh", '#include "base/status.h"', "is not for kernels"),
    ("cuda_kernels/elsewhere/v0.cu", "", "is not in the folder of a ladder"),
    (
        "cuda_kernels/include/grid/publish.cuh",
        '#include "ops/functors.cuh"',
        "grid -> ops in cuda_kernels/include, goes up",
    ),
    (
        "cuda_kernels/include/matmul/block.cuh",
        '#include "conv/conv.cuh"',
        "matmul -> conv in cuda_kernels/include, goes up",
    ),
    (
        "cuda_kernels/matmul/m2_shared_tiles.cu",
        '#include "conv/conv.cuh"',
        "matmul -> conv in cuda_kernels/include, goes up",
    ),
    (
        "cuda_kernels/include/scan/scan.cuh",
        '#include "exact/block.cuh"',
        "scan -> exact in cuda_kernels/include, goes up",
    ),
    ("cuda_kernels/include/attic/a.cuh", "", "include/attic:1: is not in the order"),
    (
        "gpureduce/_states/sharded.py",
        "from gpureduce._reduce import multi_device as below\nbelow._handler = None",
        "assignment to below._handler writes a global of another module",
    ),
    (
        "gpureduce/_states/sharded.py",
        "import gpureduce._reduce.options\nsetattr(gpureduce._reduce.options, 'AUTO', None)",
        "setattr of gpureduce._reduce.options writes a global of another module",
    ),
    ("csrc/attic/a.h", "", "attic:1: is not in the order"),
    ("gpureduce/attic/__init__.py", "", "attic:1: is not in the order"),
]
ROUNDS = 1 + max(
    sum(later[0] == file for later in PLANTED[i + 1 :]) for i, (file, _, _) in enumerate(PLANTED)
)


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_planted(tree, turn):
    """Each is found next to the others of its round, at its line."""
    planted = []
    for i, (file, text, said) in enumerate(PLANTED):
        if sum(earlier[0] == file for earlier in PLANTED[:i]) != turn:
            continue
        path = tree / file
        path.parent.mkdir(exist_ok=True)
        old = path.read_text() if path.exists() else ""
        if file == "csrc/base/dtypes.def":  # the other half of the circle
            tree.joinpath("csrc/base/status.h").open("a").write('#include "base/dtypes.h"\n')
        path.write_text(f"{old}{text}\n")
        planted.append((file, text and old.count("\n") + text.count("\n") + 1, said))
    lines = list(layers.violations(tree))
    for file, number, said in planted:
        found = [line for line in lines if re.search(said, line)]
        assert found, said
        if number:
            assert any(line.startswith(f"{file}:{number}: ") for line in found), said


@pytest.mark.parametrize("folder", layers.SHARED_HEADERS)
def test_a_shared_header_serves_two_families(tree, folder):
    """Through another shared header, too, but not through a header of another family."""

    def include(file, header):
        path = tree / "cuda_kernels" / file
        path.write_text(f'#include "{header}"\n{path.read_text()}')

    new = f"{folder}/new.cuh"
    place = f"cuda_kernels/include/{new}:1: is in a shared folder, but"
    tree.joinpath("cuda_kernels", "include", new).write_text("#pragma once\n")
    assert list(layers.violations(tree)) == [f"{place} nothing uses it"]

    include("include/matmul/matmul.cuh", new)  # which convolutions include
    assert list(layers.violations(tree)) == [f"{place} only matmul uses it"]
    include("matmul/m2_shared_tiles.cu", new)
    assert list(layers.violations(tree)) == [f"{place} only matmul uses it"]

    include("conv/c0_naive.cu", new)
    assert list(layers.violations(tree)) == []

    other = f"{folder}/other.cuh"
    tree.joinpath("cuda_kernels", "include", other).write_text("#pragma once\n")
    include(f"include/{new}", other)
    assert list(layers.violations(tree)) == []


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("scan/scan.cuh", "namespace gr::scan {", "namespace gr::segments {"),
        ("reduce/ladder/block_reduce.cuh", "namespace gr::reduce::ladder {", "namespace gr::reduce {"),
        ("common/vec.cuh", "} // namespace gr::common", "} // namespace gr::common\nstruct Vec2;"),
        ("matmul/instantiate.cuh", "using namespace gr::matmul;", ""),
    ],
)
def test_a_header_is_in_the_namespace_of_its_folder(tree, file, old, new):
    path = tree / "cuda_kernels" / "include" / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    namespace = re.search(r"gr::[\w:]+", old)[0]
    said = f"cuda_kernels/include/{file}:1: is not in namespace {namespace}"
    assert said in list(layers.violations(tree))


def test_what_type_checkers_alone_import_is_free(tree):
    path = tree / "gpureduce" / "_version.py"
    path.write_text(f"{path.read_text()}\nif TYPE_CHECKING:\n    from gpureduce._bench import result\n")
    assert list(layers.violations(tree)) == []


def test_functions_may_set_what_they_are_called_for(tree):
    """An import of the package runs no function's body, and a class attribute is no global of a module."""
    path = tree / "gpureduce" / "_states" / "sharded.py"
    path.write_text(
        f"{path.read_text()}\n\ndef later():\n    build.partial = {{}}\n\n\nSharded.first = None\n"
        "from gpureduce._states.state import State\nState.first = None\n"
    )
    assert list(layers.violations(tree)) == []


def test_one_launch(tree):
    """It is made in csrc/program/; the devices may make theirs, and comments none."""
    for path in tree.joinpath("csrc").rglob("*.[ch]"):
        path.write_text(layers.LAUNCH.sub("{", path.read_text()))
    program = tree / "csrc" / "program"
    program.mkdir(exist_ok=True)
    found = [line for line in layers.violations(tree) if "gr_launch" in line]
    assert found == ["csrc/program:1: 0 places make a gr_launch; it should be one, in csrc/program/"]

    (program / "run_it.c").write_text("/* gr_launch launch = {0}; */\nconst gr_launch launch = {\n    0};\n")
    assert not [line for line in layers.violations(tree) if "gr_launch" in line]

    (tree / "csrc" / "device" / "other.c").write_text("gr_launch launch = {0};\n")
    assert not [line for line in layers.violations(tree) if "gr_launch" in line]

    (tree / "csrc" / "base" / "other.c").write_text("\nlaunch(&(gr_launch){0});\n")
    found = [line for line in layers.violations(tree) if "gr_launch" in line]
    assert [line.split(": ")[0] for line in found] == ["csrc/base/other.c:2", "csrc/program/run_it.c:2"]


def test_symbols(tmp_path):
    """A function that another file declares than the one that has it; objects of files that are gone."""
    if not shutil.which("gcc") or not shutil.which("nm"):
        pytest.skip("no compiler")
    sources = {
        "a.h": "int of_b(void);\nint of_a(void);\n",
        "a.c": '#include "base/a.h"\nint of_a(void) { return 1; }\n',
        "b.c": '#include "base/a.h"\nint of_b(void) { return of_a(); }\n',
        "gone.c": "int of_b(void);\nint of_gone(void) { return of_b(); }\nint of_c(void) { return 0; }",
    }
    folder = tmp_path / "csrc" / "base"
    objects = tmp_path / "build" / "csrc" / "base"
    folder.mkdir(parents=True)
    objects.mkdir(parents=True)

    def compile_all():
        for name, text in sources.items():
            (folder / name).write_text(text)
            if name.endswith(".c"):
                target = (objects / name).with_suffix(".o")
                command = ["gcc", f"-I{tmp_path}/csrc", "-c", str(folder / name), "-o", str(target)]
                subprocess.run(command, check=True)
        (folder / "gone.c").unlink()
        edges = layers.symbols(tmp_path, tmp_path / "build") + layers.includes(tmp_path)[0]
        return sorted(layers.ordered("csrc", edges, layers.ROOMS))

    assert compile_all() == []
    sources["a.c"] = '#include "base/a.h"\nint of_a(void)\n{ return of_b() + of_c(); }\n'
    sources["a.h"] += "int of_c(void);\n"
    assert compile_all() == [
        "csrc/base/a.c:3: use of of_b, a.* -> b.* in csrc/base, is part of the circle of a.* b.*",
        "csrc/base/b.c:1: include of base/a.h, b.* -> a.* in csrc/base, is part of the circle of a.* b.*",
        "csrc/base/b.c:2: use of of_a, b.* -> a.* in csrc/base, is part of the circle of a.* b.*",
    ]
    with pytest.raises(SystemExit, match="no compiled files"):
        layers.symbols(tmp_path, folder)


def test_nothing_here_goes_up_or_round():
    assert list(layers.violations(ROOT)) == []


def test_an_import_of_another_folder_of_tests_is_refused(tree):
    folder = tree / "tests" / "scans"
    folder.mkdir(parents=True)
    (folder / "test_one.py").write_text(
        "from tests.support import oracle\nfrom tests.order import test_two\n"
    )
    said = "tests/scans/test_one.py:2: import of tests/order, not of tests/support"
    assert list(layers.violations(tree)) == [said]


def test_the_program_fails_on_what_it_finds(tree):
    """One line where one include goes up; without most of the package, which takes longest to read."""
    for path in tree.joinpath("gpureduce").rglob("*.py"):
        path.write_text("")
    command = [sys.executable, str(ROOT / "tests" / "tools" / "layers.py"), "--root", str(tree)]
    tree.joinpath("csrc/base/status.h").open("a").write('#include "python/errors.h"\n')
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    said = r"csrc/base/status.h:\d+: include of python/errors.h, base -> python in csrc, goes up\n"
    assert re.fullmatch(said, done.stdout)
