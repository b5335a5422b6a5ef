"""The build backend: setuptools, plus NVIDIA's compiler wheels on a machine that has no nvcc."""

import os

from find_nvcc import WHEELS, NvccError, find_nvcc
from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

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
