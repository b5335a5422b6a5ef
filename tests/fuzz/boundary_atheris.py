"""The cases of tests/robustness/test_boundary.py, led by what they cover of the package's Python and C.

python boundary_atheris.py TEST FOLDER [options of libFuzzer]

TEST is the name of a test without "test_", FOLDER where inputs are kept; the Makefile next to this has the
environment. Hypothesis makes a case of what libFuzzer writes, and the test's own check judges it.
"""

import inspect
import random
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["gpureduce"]):
    import gpureduce  # noqa: F401

import hypothesis
import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))
from tests.robustness import test_boundary


def explore(cases, strategy, check):
    """Fuzz without end, instead of a number of cases."""
    test = hypothesis.settings(database=None, deadline=None)(hypothesis.given(strategy)(check))
    atheris.Setup(sys.argv, test.hypothesis.fuzz_one_input)
    atheris.Fuzz()


test_boundary.explore = explore
run = getattr(test_boundary, f"test_{sys.argv.pop(1)}")
folder = Path(sys.argv[1])
if not any(folder.iterdir()):  # libFuzzer would begin with inputs too short to be a case
    for seed in range(100):
        (folder / f"seed-{seed}").write_bytes(random.Random(seed).randbytes(1000))
needed = {"cases": 100, "monkeypatch": pytest.MonkeyPatch()}
run(**{name: needed[name] for name in inspect.signature(run).parameters})
