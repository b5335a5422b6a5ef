"""Every allocation of the C core fails once, in every entry point: a clean exception, and nothing else.

pytest tests/robustness/test_faults.py --every-fault --timeout=0  (with kernel files, too; 15 minutes)

The driver's calls fail in tests/fake_cuda; here it is malloc and its kin, the start of a thread and the
opening of a file, on the simulator. Where no thread can be started at all, calls do without.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.sanitized import not_under_asan

FOLDER = Path(__file__).resolve().parents[1] / "faults"


def preloaded(tmp_path_factory, name):
    """A library to put in front of the C library."""
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs a C compiler and glibc")
    library = tmp_path_factory.mktemp("faults") / f"{name}.so"
    flags = [
        "-std=c11",
        "-D_GNU_SOURCE",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fPIC",
        "-shared",
        "-pthread",
    ]
    subprocess.run([compiler, *flags, FOLDER / f"{name}.c", "-o", library, "-ldl"], check=True)
    return library


@pytest.fixture(scope="module")
def failing_alloc(tmp_path_factory):
    return preloaded(tmp_path_factory, "failing_alloc")


@pytest.fixture(scope="module")
def few_threads(tmp_path_factory):
    return preloaded(tmp_path_factory, "few_threads")


def run(library, *arguments):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", FOLDER / "sweep.py", *arguments],
        env={
            **os.environ,
            "LD_PRELOAD": str(library),
            "GPUREDUCE_CACHE_DIR": str(library.with_name("kernels")),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@not_under_asan("it does not let another library stand in for malloc")
def test_each_allocation_fails_once(failing_alloc, pytestconfig):
    found = run(failing_alloc, *(["all"] if pytestconfig.getoption("every_fault") else []))
    assert found["bad"] == []
    assert found["faults"] > 3000
    # Loads that failed left nothing behind either: in the end as much is loaded as without faults.
    assert found["loaded"] == run(failing_alloc, "clean")["loaded"]


@not_under_asan("it has to be the first library, and starts threads by itself")
@pytest.mark.parametrize("threads", [0, 1, 2])
def test_without_the_threads_that_were_wanted(few_threads, threads):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", FOLDER / "few_threads.py", str(threads)],
        env={**os.environ, "LD_PRELOAD": str(few_threads), "GPUREDUCE_SIM_THREADS": "100"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
