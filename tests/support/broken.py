"""The deliberately broken kernels of tests/broken_kernels, and what they are to be flagged for."""

import functools
import hashlib
import os
import re
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[1] / "broken_kernels"
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


@functools.cache
def ptx(name: str) -> str:
    """Compile one kernel with the rungs' options, by NVRTC, so that no CUDA toolkit is needed.

    Kept where `GPUREDUCE_TEST_KERNELS` says, since NVRTC is slow where a sanitizer keeps its memory.
    """
    from gpureduce._custom import nvrtc  # what measures these kernels on a GPU needs no package

    text, folder = source(name).read_text(), source(name).parent
    arch = "90a" if folder == HOPPER else "75"
    options = (f"-arch=compute_{arch}", "-lineinfo", "-fmad=false", "-std=c++17")
    files = [*folder.glob("*.cuh"), *FOLDER.glob("nvrtc/*.h")]
    headers = {"cstdint": "using uint32_t = unsigned; using uint64_t = unsigned long long;"}
    headers |= {path.name: path.read_text() for path in files}
    library = nvrtc.library()
    digest = hashlib.sha256(repr((library.version, text, options, sorted(headers.items()))).encode())
    kept = os.environ.get("GPUREDUCE_TEST_KERNELS")
    path = kept and Path(kept) / f"{name}-{digest.hexdigest()}.ptx"
    if path and path.exists():
        return path.read_text()
    made = library.compile(f"{name}.cu", text, options, headers)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(made)
        part.replace(path)  # at once, as other processes look for it
    return made
