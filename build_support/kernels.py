"""Compile cuda_kernels/*/*.cu to the PTX and fatbin files that the package carries.

The fatbin is assembled from the very PTX that is shipped and simulated, so both backends run the same code.
The library of cuda_kernels/reduce/cub is built only where GPUREDUCE_CUB asks for it: =1 for the architectures
of the kernels, or =90,100 and the like for those compute capabilities.
"""

import hashlib
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

from find_nvcc import find_nvcc, nvcc_version
from setuptools.errors import CompileError

# The rungs carry source lines; the many general kernels do not, they would be ten times as large.
LINES = ["-lineinfo"]
# -fmad=false keeps a * b + c two roundings, as the simulator computes it.
INCLUDE_FOLDERS = ["cuda_kernels/include", "csrc"]
PTX_FLAGS = [
    *("-ptx", "-fmad=false", "-O3", "-std=c++17"),
    *(f"-I{folder}" for folder in INCLUDE_FOLDERS),
]
FATBIN_FLAGS = ["-fatbin", "-fmad=false", "-Xfatbin", "-compress-all"]
# Code for one architecture of each generation; later ones compile the PTX when it is loaded.
ARCHITECTURES = [
    int(name) for name in (os.environ.get("GPUREDUCE_CUDA_ARCHITECTURES") or "75,80,90,100,120").split(",")
]
# What the flat kernels are built as: a suffix of the file name, and the PTX target. They are there twice,
# with and without the instructions of compute capability 9.0.
FLAT = {"": 90, "_75": 75}
# The ladders: a folder each, whose own files are rungs, and their tables.
LADDERS = {"reduce": Path("csrc/reduce/rungs.def")}
# A row of rungs.def as far as its capability: name, file, after, role, backends, capability.
ROW = re.compile(r"^GR_RUNG\(\w+, (\w+), \w*, \w+, \w+, (\d+),", re.MULTILINE)

CUB_SOURCE = Path("cuda_kernels/reduce/cub/cub_device_reduce.cu")
CUB_LIBRARY = "libgpureduce_cub.so"
CUB_FLAGS = [
    *("-shared", "-O3", "-std=c++17", "-cudart=static", "-DCCCL_DISABLE_NVTX", "-Xfatbin=-compress-all"),
    *("-Xcompiler=-fPIC,-fvisibility=hidden", "--threads=0"),
    *(f"-I{folder}" for folder in INCLUDE_FOLDERS),
]


def build_kernels(destination: Path) -> None:
    """Fill the folder `destination`: <stem>.ptx, <stem>.fatbin and src/, the sources for gpureduce.source().

    Runs in the root of the project. Compiled files are kept in build/kernels under a digest of all that they
    depend on, so a second build compiles nothing.
    """
    sources = sorted(path for path in Path("cuda_kernels").rglob("*.cu") if path != CUB_SOURCE)
    headers = sorted(Path("cuda_kernels/include").glob("*.cuh"))
    nvcc = find_nvcc()
    print(f"compiling {len(sources)} kernel files with {nvcc}", flush=True)
    common = [nvcc_version(nvcc)]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [(path, *job) for path in sources for job in _builds(path).items()]
        built = list(pool.map(lambda job: _compile(nvcc, *job, common), jobs))

    wanted = {f"src/{path.relative_to('cuda_kernels')}": path for path in [*sources, CUB_SOURCE, *headers]}
    # What the headers include from elsewhere: some kernels are compiled at run time.
    shared = [Path("csrc/base/dtypes.def"), *Path("csrc").rglob("params.h")]
    wanted |= {f"src/include/{path.relative_to('csrc')}": path for path in shared}
    if (asked := os.environ.get("GPUREDUCE_CUB", "0")) not in ("", "0"):
        wanted[CUB_LIBRARY] = _build_cub(nvcc, ",".join(map(str, ARCHITECTURES)) if asked == "1" else asked)
    for (source, name, _), base in zip(jobs, built, strict=True):
        wanted |= {f"{source.stem}{name}{suffix}": Path(f"{base}{suffix}") for suffix in (".ptx", ".fatbin")}
    for name, path in wanted.items():
        _copy(path, destination / name)
    for path in destination.rglob("*"):
        stale = str(path.relative_to(destination)) not in wanted
        if stale and path.suffix in (".ptx", ".fatbin", ".so", ".cu", ".cuh", ".def", ".h"):
            path.unlink()


def _builds(source: Path) -> dict[str, int]:
    """Return what a file is built as: a suffix of its name for each PTX target."""
    if source.parent.name == "flat":
        return FLAT
    table = LADDERS[source.relative_to("cuda_kernels").parts[0]]
    return {"": int(dict(ROW.findall(table.read_text("utf-8"))).get(source.stem, "75"))}


def _compile(nvcc: str, source: Path, name: str, target: int, common: list[str]) -> str:
    """Compile one file unless that is done already; return the path of the results less their suffix."""
    above = min([other for other in _builds(source).values() if other > target], default=1000)
    codes = [f"sm_{number}" for number in ARCHITECTURES if target <= number < above] + [f"compute_{target}"]
    ptx_flags = [*PTX_FLAGS, f"-arch=compute_{target}"]
    fatbin_flags = [*FATBIN_FLAGS, "-gencode", f"arch=compute_{target},code=[{','.join(codes)}]"]
    base = _base(source, [*common, *ptx_flags, *fatbin_flags], name)
    if not os.path.exists(f"{base}.fatbin"):
        os.makedirs("build/kernels", exist_ok=True)
        part = f"{base}.{os.getpid()}"
        lines = LINES if source.parent.name in LADDERS else []
        _run([nvcc, *ptx_flags, *lines, str(source), "-o", f"{part}.ptx"])
        ptx = Path(f"{part}.ptx")
        ptx.write_bytes(_without_machine_paths(ptx.read_bytes()))
        _run([nvcc, *fatbin_flags, *lines, str(ptx), "-o", f"{part}.fatbin"])
        for suffix in (".ptx", ".fatbin"):
            os.replace(f"{part}{suffix}", f"{base}{suffix}")
    return base


def _build_cub(nvcc: str, architectures: str) -> Path:
    """Compile CUB's host and device code for these compute capabilities, and PTX for later devices."""
    names = [name.strip() for name in architectures.split(",")]
    flags = [flag for name in names for flag in ("-gencode", f"arch=compute_{name},code=sm_{name}")]
    flags += ["-gencode", f"arch=compute_{names[-1]},code=compute_{names[-1]}"]
    library = Path(_base(CUB_SOURCE, [nvcc_version(nvcc), *CUB_FLAGS, *flags]) + ".so")
    if not library.exists():
        print(f"compiling {CUB_LIBRARY} for {architectures}", flush=True)
        library.parent.mkdir(parents=True, exist_ok=True)
        # NVIDIA's wheels keep libraries where nvcc does not look for them.
        folder = Path(nvcc).resolve().parent.parent / "lib"
        part = library.with_suffix(f".{os.getpid()}.so")
        _run([nvcc, *CUB_FLAGS, *flags, f"-L{folder}", str(CUB_SOURCE), "-o", str(part)])
        os.replace(part, library)
    return library


def _base(source: Path, common: list[str], name: str = "") -> str:
    """Return the path of what is compiled from a file, less its suffix: it tells all that goes into it."""
    texts = [path.read_text("utf-8") for path in _with_includes(source)]
    digest = hashlib.sha256("\0".join([*common, *texts]).encode()).hexdigest()[:16]
    return f"build/kernels/{source.stem}{name}-{digest}"


def _with_includes(source: Path) -> list[Path]:
    """Return the file and all of ours that it includes, in the order of their first mention."""
    found = [source]
    for path in found:  # grows as it goes
        for name in re.findall(r'^#include "([^"]+)"', path.read_text("utf-8"), re.MULTILINE):
            places = [Path(folder, name) for folder in [path.parent, *INCLUDE_FOLDERS]]
            found += [place for place in places if place.is_file() and place not in found][:1]
    return found


def _without_machine_paths(ptx: bytes) -> bytes:
    """Shorten the paths in .file to cuda_kernels/..., csrc/..., or the bare name of a toolkit header."""

    def shorten(match: re.Match[bytes]) -> bytes:
        parts = PurePosixPath(os.fsdecode(match[2])).parts
        start = max((i for i, part in enumerate(parts) if part in ("cuda_kernels", "csrc")), default=-1)
        return match[1] + b'"' + os.fsencode("/".join(parts[start:])) + b'"'

    return re.sub(rb'^(\s*\.file\s+\d+\s+)"([^"]*)".*$', shorten, ptx, flags=re.MULTILINE)


def _copy(source: Path, target: Path) -> None:
    """Copy by way of a temporary name: a running program may have the old file open."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.copyfile(source, part)
    os.replace(part, target)


def _run(command: list[str]) -> None:
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.stdout:
        print(result.stdout, flush=True)
    if result.returncode != 0:
        raise CompileError(f"nvcc failed:\n{' '.join(command)}\n{result.stdout}")
