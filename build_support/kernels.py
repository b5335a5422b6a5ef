"""Compile cuda_kernels/*/*.cu to the PTX and fatbin files that the package carries.

The fatbin is assembled from the very PTX that is shipped and simulated, so both backends run the same code.
It holds machine code for what architectures.py returns, and is left out where that is nothing: the driver
compiles the PTX. The PTX is shipped packed, a tenth as long; csrc/device/kernels.c reads both.
The library of cuda_kernels/reduce/cub is built only where GPUREDUCE_CUB asks for it: =1 for the architectures
of the kernels, or =90,100 and the like for those compute capabilities.
"""

import functools
import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from architectures import SWITCH, architectures, is_release
from find_nvcc import find_nvcc, nvcc_version
from packing import pack
from progress import side_by_side
from setuptools.errors import CompileError

# The rungs carry source lines; the many general kernels do not, they would be ten times as large.
LINES = ["-lineinfo"]
# -fmad=false keeps a * b + c two roundings, as the simulator computes it.
INCLUDE_FOLDERS = ["cuda_kernels/include", "csrc"]
PTX_FLAGS = [
    *("-ptx", "-fmad=false", "-O3", "-std=c++17"),
    *(f"-I{folder}" for folder in INCLUDE_FOLDERS),
]
# The header guard of the C++ library's special functions. cuda_runtime.h includes them, and no kernel calls
# them. They take a quarter of the compiler's time for an empty file. The PTX is the same, so that the digests
# of files do not depend on this option.
SKIPPED_HEADERS = ["-D_GLIBCXX_BITS_SPECFUN_H=1"]
FATBIN_FLAGS = ["-fatbin", "-fmad=false", "-Xfatbin", "-compress-all"]
# For releases, as it takes thirty times as long: two thirds of the bytes.
SMALLEST = ["--compress-mode=size"]
# String and character literals, and comments.
LITERAL_OR_COMMENT = re.compile(
    r""" ("(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])') | //[^\n]* | /\*.*?\*/ """, re.DOTALL | re.VERBOSE
)
# The general kernels are compiled once, for all devices, and have comments where devices of compute
# capability 9.0 and later have an instruction more: csrc/reduce/reduce.c counts on those.
LATER = 90
REMARK = re.compile(rb"^\s*// (griddepcontrol\.\w+;|cvt\.rn\.\w+\.f32 [^\n]+;)$", re.MULTILINE)
# Instructions that PTX has for a single compute capability.
EXACT = ("wgmma.", "setmaxnreg.")
# What kernels are built as, by folder: a suffix of the file name, and the PTX target. Those of exact sums, of
# sums of sorted rows and of lists of arrays are built twice, with and without the instructions of compute
# capability 9.0. Of the flat ones those that use these are in a file of their own. The kernels for long lines
# of scans need them.
TWICE = {"": 90, "_75": 75}
FOLDERS = {
    "reduce/flat": {"": 75, "_90": 90},
    "reduce/flat_hopper": {"_90": 90},
    "scan/lines": {"": 90},
    "normalize/lines": {"": 90},
    "matmul/small": {"": 90},
    "exact/auto": TWICE,
    "groups/rows": TWICE,
    "multi/auto": TWICE,
}
# A row of rungs.def as far as its capability: name, file, after, role, backends, capability.
ROW = re.compile(r"^GR_RUNG\(\w+, (\w+), \w*, \w+, \w+, (\d+),", re.MULTILINE)

CUB_SOURCE = Path("cuda_kernels/reduce/cub/cub_device_reduce.cu")
CUB_LIBRARY = "libgpureduce_cub.so"
CUB_FLAGS = [
    *("-shared", "-O3", "-std=c++17", "-cudart=static", "-DCCCL_DISABLE_NVTX", "-Xfatbin=-compress-all"),
    *("-Xcompiler=-fPIC,-fvisibility=hidden", "--threads=0"),
    *(f"-I{folder}" for folder in INCLUDE_FOLDERS),
]


class Kernel(NamedTuple):
    """A file to compile: what becomes of one source."""

    source: Path
    suffix: str
    target: int
    op: tuple[str, ...] = ("", "")  # of ops.def, if the source is compiled once per operator: see macros

    def __str__(self) -> str:
        return f"{self.stem}{self.suffix}"

    @property
    def stem(self) -> str:
        """The name of what is made of it, without its suffix: general_sum of general_op.cu."""
        return self.source.stem.removesuffix("op") + self.op[0] if self.op[0] else self.source.stem

    @property
    def macros(self) -> list[str]:
        """Macros that name the operator of the source."""
        name, *values = self.op
        names = ("FUNCTOR", "TAKES", "RESULT", "SHARES", "FLAT_DIFFERS")
        macros = [f"-DGR_{macro}={value}" for macro, value in zip(names, values, strict=True)] if name else []
        return [f"-DGR_OP={name}", *macros] if name else []

    @property
    def architecture(self) -> str:
        """Its target as nvcc has it: some instructions are for one compute capability alone."""
        return f"{self.target}a" if _is_exact(self.source) else str(self.target)


def build_kernels(destination: Path) -> None:
    """Fill the folder `destination`: <stem>.ptx.xz, <stem>.fatbin, and src/ for gpureduce.source().

    Runs in the root of the project. Compiled files are kept in build/kernels under a digest of all that they
    depend on, so a second build compiles nothing.
    """
    for function in (_is_exact, _with_includes, _included, _code):
        function.cache_clear()  # files may have changed since an earlier build of this process
    sources = sorted(path for path in Path("cuda_kernels").rglob("*.cu") if path != CUB_SOURCE)
    headers = sorted(Path("cuda_kernels/include").rglob("*.cuh"))
    nvcc = find_nvcc()
    asked_for = os.environ.get(SWITCH, "")
    numbers, dense = architectures(asked_for, nvcc), is_release(asked_for)
    version = nvcc_version(nvcc)
    built = {
        kernel: _targets(kernel, version, numbers, dense)
        for source in sources
        for kernel in kernels_of(source)
    }
    missing = [
        kernel for kernel, files in built.items() if not all(file.exists() for file in files[1:] if file)
    ]
    print(f"{len(built)} kernel files, {len(missing)} to compile with {nvcc}", flush=True)
    Path("build/kernels").mkdir(parents=True, exist_ok=True)
    side_by_side(lambda kernel: _compile(nvcc, kernel, numbers, dense, *built[kernel]), missing, _effort)

    wanted = {f"src/{path.relative_to('cuda_kernels')}": path for path in [*sources, CUB_SOURCE, *headers]}
    # What the headers include from elsewhere: some kernels are compiled at run time.
    shared = [
        Path("csrc/base/dtypes.def"),
        *Path("csrc").rglob("superaccumulator.h"),
        *Path("csrc").rglob("params.h"),
    ]
    wanted |= {f"src/include/{path.relative_to('csrc')}": path for path in shared}
    if (asked := os.environ.get("GPUREDUCE_CUB", "0")) not in ("", "0"):
        wanted[CUB_LIBRARY] = _build_cub(
            nvcc, numbers if asked == "1" else architectures(asked, nvcc, "GPUREDUCE_CUB")
        )
    for kernel, (_, packed, fatbin) in built.items():
        wanted |= {f"{kernel}.ptx.xz": packed} | ({f"{kernel}.fatbin": fatbin} if fatbin else {})
    for name, path in wanted.items():
        _copy(path, destination / name)
    for path in destination.rglob("*"):
        stale = str(path.relative_to(destination)) not in wanted
        if stale and path.suffix in (".ptx", ".gz", ".xz", ".fatbin", ".so", ".cu", ".cuh", ".def", ".h"):
            path.unlink()


def kernels_of(source: Path) -> list[Kernel]:
    """Return what becomes of a source: a file for each PTX target, and of <name>_op.cu for each operator."""
    ops = _operators(source) if source.stem.endswith("_op") else [("", "")]
    return [Kernel(source, *build, op) for op in ops for build in _builds(source).items()]


def _operators(source: Path) -> list[tuple[str, ...]]:
    """Return macros' values for the operators of ops.def without a file of their own; names come first."""
    text = Path("csrc/reduce/ops.def").read_text("utf-8").replace("\\\n", "")
    found = []
    for row in re.findall(r"\bROW\(([^()]*), __VA_ARGS__\)", text):
        name, functor, takes, result, *_, file, _, _, traits = re.split(r",\s+", row)
        own = source.with_name(source.name.replace("_op.", f"_{file}."))
        if name == file and takes in ("ALL", "BITS") and not own.exists():
            takes = "PAIR" if "GR_OF_PAIR" in traits else takes
            results = result if result in ("SUM", "MEAN", "B8", "I64") else "SAME"
            shares = [trait for trait in ("LONG", "SIGNS", "BYTES") if f"GR_SAME_{trait}" in traits]
            differs = int("GR_SELECTS" in traits or result == "INDEX")
            found.append((name, functor, f"GR_TAKES_{takes}", results, *(shares or ["NONE"]), str(differs)))
    return found


def _builds(source: Path) -> dict[str, int]:
    """Return what a file is built as: a suffix of its name for each PTX target."""
    folder = source.parent.relative_to("cuda_kernels").as_posix()
    if folder in FOLDERS:
        return FOLDERS[folder]
    ladder = folder.partition("/")[0]
    rungs = Path("csrc", ladder, "rungs.def")
    rows = dict(ROW.findall(rungs.read_text("utf-8"))) if rungs.exists() else {}
    return {"": int(rows.get(source.stem, "75"))}


def _effort(kernel: Kernel) -> float:
    """Return how many seconds the PTX of a file takes, roughly."""
    if "#include <cub/" in kernel.source.read_text("utf-8"):
        return 9
    known = {"general_var": 15, "general_nan": 13, "general_norms": 8, "flat_nan": 9, "convert": 1}
    known |= {
        "segment_extremes": 6,
        "c8_taps": 5,
        "stream_extremes": 4,
        "segment_sum": 2,
        "ordered": 4,
        "line_sum": 2,
        "line_prod": 2,
        "m10_split_k": 2,
        "order_select": 2,
        "order_sort": 2,
    }
    folders = {"general": 6, "flat": 3, "flat_hopper": 3}
    return known.get(kernel.stem, folders.get(kernel.source.parent.name, 1))


def _is_rung(source: Path) -> bool:
    """Return whether a file stands in the folder of its ladder itself."""
    return len(source.relative_to("cuda_kernels").parts) == 2


def _ptx_flags(kernel: Kernel) -> list[str]:
    lines = LINES if _is_rung(kernel.source) else []
    return [*PTX_FLAGS, f"-arch=compute_{kernel.architecture}", *lines, *kernel.macros]


def _codes(kernel: Kernel, numbers: list[int]) -> list[str]:
    """Return the machine code, of these compute capabilities, that is made of a file."""
    target, arch = kernel.target, kernel.architecture
    if arch != str(target):
        return [f"sm_{arch}"] * (target in numbers)
    builds = _builds(kernel.source)
    above = max(builds.values()) if builds is TWICE and target < max(builds.values()) else 1000
    return [f"sm_{number}" for number in numbers if target <= number < above]


def _fatbin_flags(kernel: Kernel, numbers: list[int], dense: bool) -> list[str]:
    """Return how a fatbin is made for these compute capabilities."""
    lines = LINES if _is_rung(kernel.source) else []
    mode = SMALLEST if dense else []
    code = ",".join(_codes(kernel, numbers))
    return [*FATBIN_FLAGS, *mode, "-gencode", f"arch=compute_{kernel.architecture},code=[{code}]", *lines]


def _targets(kernel: Kernel, version: str, numbers: list[int], dense: bool) -> tuple[Path, Path, Path | None]:
    """Return the paths of the PTX, of it packed, and of the fatbin if there is one.

    The paths have digests of all inputs of the files.
    """
    ptx = _base(kernel.source, [version, *_ptx_flags(kernel)], str(kernel), _is_rung(kernel.source))
    digest = hashlib.sha256("\0".join(_fatbin_flags(kernel, numbers, dense)).encode()).hexdigest()[:8]
    packed = f"{ptx}{'.differences' if dense else ''}.ptx.xz"
    fatbin = Path(f"{ptx}-{digest}.fatbin") if _codes(kernel, numbers) else None
    return Path(f"{ptx}.ptx"), Path(packed), fatbin


def _compile(
    nvcc: str,
    kernel: Kernel,
    numbers: list[int],
    dense: bool,
    ptx: Path,
    packed: Path,
    fatbin: Path | None,
) -> None:
    """Compile one file, of which parts may be there already."""
    part = ptx.with_name(f"{ptx.stem}.{os.getpid()}")
    if not ptx.exists():
        text = Path(f"{part}.ptx")
        _run([nvcc, *_ptx_flags(kernel), *SKIPPED_HEADERS, str(kernel.source), "-o", str(text)])
        text.write_bytes(_without_machine_paths(text.read_bytes()))
        os.replace(text, ptx)
    if not packed.exists():
        Path(f"{part}.xz").write_bytes(pack(ptx.read_bytes(), dense))
        os.replace(f"{part}.xz", packed)
    if fatbin is not None and not fatbin.exists():
        parts = [(ptx, kernel, numbers)]
        later = Path(f"{part}_{LATER}.ptx")
        if REMARK.search(ptx.read_bytes()):
            later.write_bytes(with_instructions(ptx.read_bytes()))
            above = [number for number in numbers if number >= LATER]
            below = [number for number in numbers if number < LATER]
            parts = [(later, kernel._replace(target=LATER), above), (ptx, kernel, below)]
        images = []
        for text, of, codes in parts:
            if _codes(of, codes):
                _run([nvcc, *_fatbin_flags(of, codes, dense), str(text), "-o", f"{part}.fatbin"])
                images.append(Path(f"{part}.fatbin").read_bytes())
        Path(f"{part}.fatbin").write_bytes(joined(images))
        later.unlink(missing_ok=True)
        os.replace(f"{part}.fatbin", fatbin)


def with_instructions(text: bytes) -> bytes:
    """Return the PTX of general kernels for compute capability 9.0 and later."""
    return REMARK.sub(rb"\t\1", text.replace(b".target sm_75\n", b".target sm_%d\n" % LATER))


def joined(fatbins: list[bytes]) -> bytes:
    """Return one fatbin with the images of all: behind 16 bytes, of which eight are the images' length."""
    if len(fatbins) == 1:
        return fatbins[0]
    images = b"".join(fatbin[16:] for fatbin in fatbins)
    return fatbins[0][:8] + len(images).to_bytes(8, "little") + images


def _build_cub(nvcc: str, numbers: list[int]) -> Path:
    """Compile CUB's host and device code for these compute capabilities, and PTX for later devices."""
    latest = max(numbers, default=75)
    flags = [flag for number in numbers for flag in ("-gencode", f"arch=compute_{number},code=sm_{number}")]
    flags += ["-gencode", f"arch=compute_{latest},code=compute_{latest}"]
    library = Path(_base(CUB_SOURCE, [nvcc_version(nvcc), *CUB_FLAGS, *flags], CUB_SOURCE.stem) + ".so")
    if not library.exists():
        print(f"compiling {CUB_LIBRARY} for {numbers or 'any GPU'}", flush=True)
        library.parent.mkdir(parents=True, exist_ok=True)
        # NVIDIA's wheels keep libraries where nvcc does not look for them.
        folder = Path(nvcc).resolve().parent.parent / "lib"
        part = library.with_suffix(f".{os.getpid()}.so")
        _run([nvcc, *CUB_FLAGS, *flags, f"-L{folder}", str(CUB_SOURCE), "-o", str(part)])
        os.replace(part, library)
    return library


def _base(source: Path, common: list[str], name: str, lines: bool = True) -> str:
    """Return the path of what is compiled from a file, less its suffix, with a digest of all inputs.

    Inputs are the file and its headers without comments, if `lines` with all lines at their places.
    """
    texts = [_code(path, lines) for path in _with_includes(source)]
    digest = hashlib.sha256("\0".join([*common, *texts]).encode()).hexdigest()[:16]
    return f"build/kernels/{name}-{digest}"


@functools.cache
def _code(path: Path, lines: bool) -> str:
    """Return a source text without comments, and without empty lines unless `lines` keep their numbers."""

    def kept(match: re.Match[str]) -> str:
        return match[1] or "\n" * match[0].count("\n") or " "

    code = LITERAL_OR_COMMENT.sub(kept, path.read_text("utf-8"))
    found = [line.strip() for line in code.splitlines()]
    return "\n".join(found if lines else filter(None, found))


@functools.cache
def _with_includes(source: Path) -> list[Path]:
    """Return the file and all of ours that it includes, in the order of their first mention."""
    found = [source]
    for path in found:  # grows as it goes
        for places in _included(path):
            found += [place for place in places if place not in found][:1]
    return found


@functools.cache
def _included(path: Path) -> list[list[Path]]:
    """Return the files of ours that each include of a file may name."""
    names = re.findall(r'^#include "([^"]+)"', path.read_text("utf-8"), re.MULTILINE)
    folders = [path.parent, *INCLUDE_FOLDERS]
    return [[place for folder in folders if (place := Path(folder, name)).is_file()] for name in names]


@functools.cache
def _is_exact(source: Path) -> bool:
    """Return whether a file has instructions for a single compute capability."""
    texts = (path.read_text("utf-8") for path in _with_includes(source))
    return any(part in text for text in texts for part in EXACT)


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
