"""Calls from threads with stacks of 64 KiB, and from a main thread with 96 KiB: enough for NumPy."""

import subprocess
import sys
from pathlib import Path

from tests.support.children import PACKAGE, child_environment
from tests.support.sanitized import not_under_asan

CALLS = """
import sys, threading, warnings
warnings.simplefilter("ignore")
import numpy as np
from tests.support import every_call
import gpureduce

one = np.arange(64 * 64).reshape(64, 64).astype(np.float32) % 7 - 3

def call(step):
    for variant in gpureduce.variants("matmul"):  # among them the deepest calls: products on tensor cores
        if variant.role == "rung" and one.dtype.name in dict(variant.coverage).values():
            options = {} if variant.precision == "ieee" else {"precision": variant.precision}
            made = gpureduce.matmul(one, one, variant=variant.name, device="sim", **options)
            assert np.array_equal(made, one @ one), variant.name
    for name in list(every_call.CALLS)[::step]:
        every_call.outcome(name)
    print("done")
"""


def run(code, shell=""):
    """Run code in a child, whose kernels have not been loaded, so that they are parsed on its small stack."""
    return subprocess.run(
        ["sh", "-c", f'{shell} exec "$@"', "sh", sys.executable, "-c", CALLS + code],
        env=child_environment(PYTHONPATH=":".join([str(PACKAGE.parent), str(Path(__file__).parents[2])])),
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


larger_frames = not_under_asan("it makes frames larger")


@larger_frames
def test_calls_on_a_thread_of_64_kib():
    done = run(
        """
threading.stack_size(1 << 16)
thread = threading.Thread(target=call, args=(2,))
thread.start()
thread.join()
"""
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@larger_frames
def test_a_main_thread_of_96_kib():
    """The threads that copy and simulate have as much there."""
    done = run("call(8)", "ulimit -s 96;")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
