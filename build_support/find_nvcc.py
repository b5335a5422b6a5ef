"""Where the CUDA compiler is, and what to ask pip for when there is none."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

from setuptools.errors import PlatformError

OLDEST = (13, 0)
NEEDED = f"{OLDEST[0]}.{OLDEST[1]} or later"
WHEELS = "cuda-toolkit[nvcc,crt,nvvm,cudart,cccl]==13.0.*"


class NvccError(PlatformError):
    """No usable nvcc. setuptools shows errors of this kind without a traceback."""


def nvcc_version(nvcc: str) -> str:
    """Return what ``nvcc --version`` prints; raise NvccError unless it is new enough."""
    try:
        text = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise NvccError(f"{nvcc} does not run: {error}") from error
    release = re.search(r"release (\d+)\.(\d+)", text)
    if not release:
        raise NvccError(f"{nvcc} --version names no release; is it nvcc?")
    if (int(release[1]), int(release[2])) < OLDEST:
        raise NvccError(f"{nvcc} is release {release[1]}.{release[2]}; {NEEDED} is needed")
    return text


def find_nvcc() -> str:
    """Return the path of the first usable nvcc.

    ``$NVCC`` is an order: if it is unusable, that is an error. The other places are only looked into, so that
    an old toolkit from the distribution does not get in the way of NVIDIA's wheels.
    """
    if named := os.environ.get("NVCC"):
        path = shutil.which(named)
        if path is None:
            raise NvccError(f"$NVCC is {named!r}, which is no program")
        nvcc_version(path)
        return path
    found = []
    for path in _candidates():
        if os.access(path, os.X_OK):
            try:
                nvcc_version(path)
                return path
            except NvccError as error:
                found.append(str(error))
    raise NvccError(
        "no usable nvcc in $NVCC, $CUDA_HOME/bin, PATH, /usr/local/cuda/bin or the installed wheels"
        + "".join(f"; {text}" for text in found)
        + f". Install the CUDA toolkit {NEEDED}, or: pip install '{WHEELS}'"
    )


def _candidates() -> Iterator[str]:
    """Yield the places to look into, best first. GPUREDUCE_NO_SYSTEM_NVCC=1 leaves only the wheels."""
    if os.environ.get("GPUREDUCE_NO_SYSTEM_NVCC", "0") in ("", "0"):
        if home := os.environ.get("CUDA_HOME"):
            yield os.path.join(home, "bin", "nvcc")
        for folder in os.get_exec_path():
            yield os.path.join(folder, "nvcc")
        yield "/usr/local/cuda/bin/nvcc"
    for folder in sys.path:
        yield os.path.join(folder, "nvidia", "cu13", "bin", "nvcc")
