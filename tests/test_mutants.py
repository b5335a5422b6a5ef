"""The mutants of tests/mutation still fit the sources; tests/mutation/run.py shows which tests kill them."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "mutation"))
from axes import MUTANTS as AXES  # noqa: E402
from convolutions import MUTANTS as CONVOLUTIONS  # noqa: E402
from exact import MUTANTS as EXACT  # noqa: E402
from floats import MUTANTS as FLOATS  # noqa: E402
from groups import MUTANTS as GROUPS  # noqa: E402
from moments import MUTANTS as MOMENTS  # noqa: E402
from mutants import MUTANTS as REDUCTIONS  # noqa: E402
from products import MUTANTS as PRODUCTS  # noqa: E402
from scans import MUTANTS as SCANS  # noqa: E402

MUTANTS = (*REDUCTIONS, *AXES, *PRODUCTS, *CONVOLUTIONS, *EXACT, *FLOATS, *GROUPS, *MOMENTS, *SCANS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.trap)
def test_a_mutant_changes_what_is_there(mutant):
    if not (ROOT / "csrc").exists():
        pytest.skip("no sources beside the tests")
    assert (ROOT / mutant.file).read_text().count(mutant.old) == mutant.times
    assert mutant.old != mutant.new
