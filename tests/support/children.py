"""Child processes: Python code in a fresh interpreter that imports the package under test."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import gpureduce
from tests.support.sanitized import UNDER_ASAN

PACKAGE = Path(gpureduce.__file__).parent


def python(code, *options, **environment):
    """Runs code in a fresh interpreter that sees the package under test; returns the finished process.

    Its working folder, which -c puts first, holds that package, not a checkout that was not built in place.
    """
    return subprocess.run(
        [sys.executable, *options, "-c", textwrap.dedent(code)],
        env=child_environment(**environment),
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def child_environment(**more):
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), *sys.path]), **more}


def outputs(running, timeout=240):
    """Return what processes print; end all of them if one takes too long."""
    try:
        return [process.communicate(timeout=timeout)[0].strip() for process in running]
    finally:
        for process in running:
            process.kill()


def interrupted(code, *arguments, after, within, **environment):
    """Send Ctrl-C to a child some seconds after it is ready; it has to stop in time. Return its last word."""
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        env=child_environment(**environment),
        cwd=PACKAGE.parent,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout.readline().strip() == "ready"
        time.sleep(after)
        sent = time.time()
        child.send_signal(signal.SIGINT)
        rest, _ = child.communicate(timeout=60)
    finally:
        child.kill()
    word, moment, last = rest.split()
    assert word == "interrupted", rest
    assert float(moment) - sent < within * (5 if UNDER_ASAN else 1)  # chunks take that much longer
    return last


def package_without(folder, unwanted):
    """The package as links, less the kernels of one kind, so that nothing can be taken from them."""
    original = Path(gpureduce.__file__).parent
    kernels = folder / "gpureduce" / "_ptx"
    kernels.mkdir(parents=True)
    for source in original.iterdir():
        if source.name != "_ptx":
            (folder / "gpureduce" / source.name).symlink_to(source)
    for source in (original / "_ptx").iterdir():
        if not unwanted(source.name):
            (kernels / source.name).symlink_to(source)
