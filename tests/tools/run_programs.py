"""Runs CUDA programs from folders on the simulator, and prints a table: ``run_programs.py FOLDER ...``.

The programs stay where they are; nothing is fetched or copied. A program is a file with ``main`` in a folder
with sources of CUDA, compiled together with the other sources of the folder if these have no other ``main``.
It runs in its folder, so that it finds its data. By ``--bar FILE.toml`` (tests/programs/bar.toml) a program
gets options and arguments.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpureduce.kernels import run_program

SECONDS = 600.0
STAND_INS = Path(__file__).parents[1] / "programs" / "stand_ins"
WAIVED = 2  # exit status of a program that finds that it cannot run here
MAIN = re.compile(r"^[^/\n]*\bint\s+main\s*\(", re.MULTILINE)
# Headers of what is not simulated, by its name in the table.
GRAPHICS = r"GL/|GLES|helper_gl\.h|freeglut|d3d\w*\.h|vulkan|EGL/|cudaEGL|X11/|FreeImage"
LIBRARIES = (
    r"cublas|cufft|curand|cusolver|cusparse|npp|nvrtc|nvjpeg|nvml|nvsci|cudla|nvJitLink|mpi\.h|nvvm|"
    r"cudaGL|cudaProfiler"
)
WRONG = r"\bFAILED\b|\bFAIL\b|[Mm]ismatch|Test failed|result = FAIL|do not match|nan\b"


@dataclass(frozen=True)
class Program:
    """A program: the file with ``main``, and the sources that are compiled with it."""

    main: Path
    sources: tuple[Path, ...]
    name: str

    def includes(self, headers: str) -> str | None:
        """Return the first header that its files include out of some, or None."""
        pattern = re.compile(rf'^\s*#\s*include\s*[<"]([^>"]*(?:{headers})[^>"]*)[>"]', re.MULTILINE)
        files = [*self.main.parent.glob("*.h"), *self.main.parent.glob("*.cuh"), self.main, *self.sources]
        found = (pattern.search(path.read_text("utf-8", errors="replace")) for path in files)
        return next((match[1] for match in found if match), None)


def _has_main(path: Path) -> bool:
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", path.read_text("utf-8", errors="replace"), flags=re.DOTALL)
    return MAIN.search(text) is not None


def _uses_runtime(path: Path) -> bool:
    return "<cuda_runtime" in path.read_text("utf-8", errors="replace")


def programs(root: Path) -> Iterator[Program]:
    """Yield the programs of a folder, or of one file."""
    files = [*root.rglob("*.cu"), *filter(_uses_runtime, root.rglob("*.cpp"))]
    folders = sorted({path.parent for path in files}) if root.is_dir() else [root.parent]
    for folder in folders:
        sources = sorted(path for path in folder.iterdir() if path.suffix in (".cu", ".cpp", ".c", ".cc"))
        mains = [path for path in sources if _has_main(path)]
        others = tuple(path for path in sources if path not in mains) if len(mains) == 1 else ()
        for main in mains:
            if root in (main, *main.parents):
                yield Program(main, others, str(main.relative_to(root if root.is_dir() else root.parent)))


def _settings(name: str, bar: dict[str, Any]) -> dict[str, Any]:
    """Return the entry of a program: its path, or the end of its path."""
    found = [key for key in bar if name == key or name.endswith(f"/{key}")]
    return bar[max(found, key=len)] if found else {}


def _reason(error: str) -> str:
    lines = error.splitlines()
    return next((line for line in lines if re.search(r"error|undefined reference", line)), lines[0])


def judged(program: Program, settings: dict[str, Any], seconds: float, races: bool | str) -> tuple[str, str]:
    """Run a program; return whether it is right, and what is wrong."""
    if program.includes(GRAPHICS):
        return "graphics", program.includes(GRAPHICS) or ""
    stand_in = settings.get("stand_in")
    if not stand_in and (needed := program.includes(LIBRARIES)):
        return "no", f"needs {needed}"
    folder = program.main.parent
    above = [
        parent / each for parent in folder.parents[:4] for each in ("Common", "include", "common", "inc")
    ]
    options = [f"-I{each}" for each in (folder, folder / "inc", folder / "include", *above) if each.is_dir()]
    options += ["-std=c++17", *settings.get("nvcc", []), *map(str, program.sources)]
    options += [str(folder / each) for each in settings.get("sources", [])]
    options += [str(STAND_INS / f"{stand_in}.cu")] if stand_in else []
    source: str | Path = program.main
    if changes := settings.get("replace", []):
        source = program.main.read_text("utf-8")
        for old, new in changes:
            if old not in source:
                return "no", f"the source has no {old!r}"
            source = source.replace(old, new)
    os.chdir(folder)
    try:
        result = run_program(source, settings.get("args", []), options=options, timeout=seconds, races=races)
    except (ValueError, TimeoutError, OSError) as error:
        return "no", _reason(str(error))
    if result.failures and not settings.get("fails"):
        return "no", result.failures[0].message.splitlines()[0]
    missing = re.search(r"gpureduce: .*not simulated.*", result.errors)
    if result.status and not settings.get("fails"):
        last = [*result.errors.splitlines(), *result.output.splitlines()]
        why = missing[0] if missing else next((line for line in reversed(last) if line.strip()), "")
        return "waived" if result.status == WAIVED else "no", f"exit status {result.status}: {why}"
    wanted = settings.get("right")
    if wanted and not re.search(wanted, result.output):
        return "no", f"the output does not match {wanted!r}"
    wrong = None if wanted else re.search(WRONG, result.output)
    if wrong:
        return "no", f"the output has {wrong[0]!r}"
    return "yes", "; ".join(str(finding) for finding in result.findings)


def _row(work: tuple[Program, dict[str, Any], float, bool | str]) -> tuple[str, str, str, float]:
    begin = time.monotonic()
    right, why = judged(*work)
    name = " ".join([work[0].name, *work[1].get("args", [])])
    return name, right, why, time.monotonic() - begin


def main() -> int:
    """Run the programs, print the table and its sums; return how many are not right."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--bar", type=Path, help="a TOML file with options and arguments by name")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of a program (default 600)")
    parser.add_argument("--only", default="", help="pattern of the names")
    parser.add_argument("--jobs", type=int, default=1, help="programs at once")
    parser.add_argument("--races", choices=("shared", "global"), help="look for races")
    arguments = parser.parse_args()
    bar: dict[str, Any] = {}
    if arguments.bar:
        import tomllib  # of Python 3.11

        bar = tomllib.loads(arguments.bar.read_text("utf-8"))
    races = "global" if arguments.races == "global" else arguments.races is not None
    found = [each for folder in arguments.folders for each in programs(folder.resolve())]
    work = []
    for each in found:
        settings = _settings(each.name, bar)
        if re.search(arguments.only, each.name):
            runs = [settings | {"args": args} for args in settings.get("runs", [settings.get("args", [])])]
            work += [(each, run, arguments.seconds, races) for run in runs]
    sums: dict[str, int] = {}
    print("| program | right | seconds | reason or findings |\n|---|---|--:|---|", flush=True)
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for name, right, why, seconds in pool.map(_row, work):
            sums[right] = sums.get(right, 0) + 1
            print(f"| {name} | {right} | {seconds:.1f} | {why[:200].replace('|', '/')} |", flush=True)
    print("\n" + ", ".join(f"{count} {right}" for right, count in sorted(sums.items())))
    return min(sums.get("no", 0), 100)


if __name__ == "__main__":
    sys.exit(main())
