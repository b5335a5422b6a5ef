"""Pages of the reference list what the sources have: nothing is missing, and nothing more."""

import importlib.util
import re
from pathlib import Path

import pytest

import gpureduce
from tests.tools import make_cli

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"

pytestmark = pytest.mark.skipif(not REFERENCE.exists(), reason="no docs next to the tests")


def test_the_page_of_the_command_line_is_current():
    assert make_cli.PAGE.read_text("utf-8") == make_cli.page(), "run python -m tests.tools.make_cli"
    assert "%(" not in make_cli.page(), "argparse alone expands %(default)s: write the value"


def test_environment_variables():
    """The page has a row for each variable that a source names, and no other."""
    folders = ("gpureduce", "csrc", "cuda_kernels", "build_support", "benchmarks", "tests")
    files = [
        path
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".c", ".h", ".sh")
    ]
    named = re.compile(r"\bGPUREDUCE_[A-Z][A-Z_]*[A-Z]\b")
    sources = {
        name for path in [*files, ROOT / "setup.py"] for name in named.findall(path.read_text("utf-8"))
    }
    page = (REFERENCE / "environment-variables.md").read_text("utf-8")
    rows = re.findall(r"^\| `(GPUREDUCE_\w+)` \|", page, re.MULTILINE)
    assert len(rows) == len(set(rows)) and set(rows) == sources


def test_each_public_name_has_one_subject():
    path = ROOT / "docs" / "site" / "reference.py"
    spec = importlib.util.spec_from_file_location("site_reference", path)
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    names = [name for subject in reference.SUBJECTS.values() for name in subject]
    assert len(names) == len(set(names))
    modules = {module.removeprefix("gpureduce.") for module in reference.MODULES[1:]}
    assert set(names) == {name for name in gpureduce.__all__ if not name.startswith("__")} | modules
