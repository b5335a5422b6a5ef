"""Plugin of pytest for suites that take longer than one loan of a GPU: `-p passed --passed=FILE`.

Tests named in FILE are left out, and those that pass or are skipped are added to it, each with its seconds.
Those that fail are written to FILE with the suffix .failed as they do: a run that is stopped has said which.
With GPUS=2, say, the processes of pytest-xdist take turns at two GPUs.
"""

import os
from pathlib import Path

# Before anything loads the driver, which reads the variable once.
if worker := os.environ.get("PYTEST_XDIST_WORKER"):
    os.environ["CUDA_VISIBLE_DEVICES"] = str(int(worker.removeprefix("gw")) % int(os.environ.get("GPUS", 1)))


def pytest_addoption(parser):
    parser.addoption("--passed", type=Path, help="file of the tests that passed")


def pytest_collection_modifyitems(config, items):
    file = config.getoption("passed")
    if not file or not file.exists():
        return
    passed = {line.split(maxsplit=1)[1] for line in file.read_text().splitlines()}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in passed])
    items[:] = [item for item in items if item.nodeid not in passed]


class Writer:
    def __init__(self, file):
        self.file = file

    def pytest_runtest_logreport(self, report):
        # A test that is skipped ends in its setup.
        if report.failed:
            with self.file.with_suffix(".failed").open("a") as out:
                out.write(f"{report.nodeid}\n{report.longreprtext}\n")
        elif report.when == "call" or report.skipped:
            with self.file.open("a") as out:
                out.write(f"{report.duration:.3f} {report.nodeid}\n")


def pytest_configure(config):
    if config.getoption("passed") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Writer(config.getoption("passed")))
