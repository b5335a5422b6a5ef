"""The build backend: setuptools in turn, plus NVIDIA's compiler wheels on a machine that has no nvcc."""

import contextlib
import fcntl
import functools
import os

from find_nvcc import WHEELS, NvccError, find_nvcc
from setuptools import build_meta
from setuptools.build_meta import get_requires_for_build_sdist

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def _in_turn(hook):
    """Let one build at a time work in this tree: setuptools' folders are the same for all."""

    @functools.wraps(hook)
    def run(*args, **options):
        os.makedirs("build", exist_ok=True)
        with open("build/lock", "w") as lock:  # held until it is closed, however the build ends
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(lock, fcntl.LOCK_EX)
            return hook(*args, **options)

    return run


build_editable = _in_turn(build_meta.build_editable)
build_sdist = _in_turn(build_meta.build_sdist)
build_wheel = _in_turn(build_meta.build_wheel)
prepare_metadata_for_build_editable = _in_turn(build_meta.prepare_metadata_for_build_editable)
prepare_metadata_for_build_wheel = _in_turn(build_meta.prepare_metadata_for_build_wheel)


def get_requires_for_build_wheel(config_settings=None):
    """Return what building a wheel needs beyond pyproject.toml."""
    return build_meta.get_requires_for_build_wheel(config_settings) + _compiler()


def get_requires_for_build_editable(config_settings=None):
    """Return what an editable install needs beyond pyproject.toml."""
    return build_meta.get_requires_for_build_editable(config_settings) + _compiler()


def _compiler() -> list[str]:
    if os.environ.get("NVCC"):
        return []  # the build itself says what is wrong with it
    try:
        find_nvcc()
    except NvccError as error:
        print(f"{error}\nAsking pip for {WHEELS}")
        return [WHEELS]
    return []
