"""The mutants of tests/mutation still fit the sources; tests/mutation/run.py shows which tests kill them."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "mutation"))
from every import MUTANTS  # noqa: E402


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.trap)
def test_a_mutant_changes_what_is_there(mutant):
    if not (ROOT / "csrc").exists():
        pytest.skip("no sources beside the tests")
    assert (ROOT / mutant.file).read_text().count(mutant.old) == mutant.times
    assert mutant.old != mutant.new
