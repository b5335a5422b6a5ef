"""The deliberately broken kernels of tests/broken_kernels, and what they are to be flagged for."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "broken_kernels"
HOPPER = FOLDER / "hopper"  # with clusters and bulk copies; the clusters are of all BLOCKS
BLOCKS, THREADS, N = 3, 128, 300  # the last block has a tail


def names(folder: Path = FOLDER) -> list[str]:
    """The kernels, one file each."""
    return sorted(path.stem for path in folder.glob("*.cu"))


def source(name: str) -> Path:
    """The file of a kernel."""
    path = FOLDER / f"{name}.cu"
    return path if path.exists() else HOPPER / f"{name}.cu"


def expected(name: str) -> set[str]:
    """What the first line of the file announces: race, uninitialised, unfenced, barrier, or nothing."""
    first = source(name).read_text().splitlines()[0]
    kinds = re.fullmatch(r"// expect: (.+)", first)[1]
    return set() if kinds == "nothing" else set(kinds.split(", "))


def flagged(races) -> set[str]:
    """The same classes of what was found. Which of two accesses comes first is up to the schedule."""
    alone = ("uninitialised", "unfenced", "barrier")
    return {race.kind if race.kind in alone else "race" for race in races}


def arguments() -> list:
    """Input, room for any of the outputs, and the number of elements."""
    values = np.random.default_rng(7).random(N, dtype=np.float32)
    return [values, np.zeros(BLOCKS * THREADS, dtype=np.float32), N]


def compile_ptx(nvcc: str, name: str, folder: Path) -> str:
    """Compile one kernel as the rungs are compiled; return its PTX."""
    target = folder / f"{name}.ptx"
    arch = "90a" if source(name).parent == HOPPER else "75"
    flags = ["-ptx", f"-arch=compute_{arch}", "-lineinfo", "-fmad=false", "-std=c++17"]
    # The compiler does not run under a sanitizer that is there for the extension.
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    command = [nvcc, *flags, str(source(name)), "-o", str(target)]
    subprocess.run(command, check=True, timeout=120, env=environment)
    return target.read_text()
