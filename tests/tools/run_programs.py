"""Runs CUDA programs from folders on the simulator, and prints a table: ``run_programs.py FOLDER ...``.

The programs stay where they are; nothing is fetched or copied. A program is a ``.cu`` file with ``main``. By
``--sizes FILE.toml`` a program gets options of nvcc and arguments: ``["name.cu"]``, ``nvcc = ["-DN=1000"]``,
``args = ["4"]``, ``right = "PASSED"`` (a pattern that its output has to match).
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path
from typing import Any

from gpureduce.kernels import run_program

SECONDS = 600.0
MAIN = re.compile(r"\bmain\s*\(")


def programs(folders: list[Path]) -> list[Path]:
    """Return the sources with ``main`` in folders, or the files themselves."""
    files: list[Path] = []
    for folder in folders:
        files += [folder] if folder.is_file() else sorted(folder.rglob("*.cu"))
    return [path for path in files if MAIN.search(path.read_text("utf-8", errors="replace"))]


def judged(path: Path, settings: dict[str, Any], seconds: float, races: bool) -> tuple[str, str]:
    """Run a program; return whether it is right, and what is wrong."""
    options = [f"-I{path.parent}", *settings.get("nvcc", [])]
    try:
        result = run_program(path, settings.get("args", []), options=options, timeout=seconds, races=races)
    except (ValueError, TimeoutError) as error:
        lines = str(error).splitlines()
        return "no", next((line for line in lines if "error" in line), lines[0])
    if result.failures:
        return "no", result.failures[0].message.splitlines()[0]
    if result.status:
        return "no", f"exit status {result.status}"
    wanted = settings.get("right")
    if wanted and not re.search(wanted, result.output):
        return "no", f"the output does not match {wanted!r}"
    return "yes", "; ".join(str(finding) for finding in result.findings)


def main() -> int:
    """Run the programs; return how many are not right."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--sizes", type=Path, help="a TOML file with options and arguments by name")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of a program (default 600)")
    parser.add_argument("--races", action="store_true", help="look for races")
    arguments = parser.parse_args()
    sizes: dict[str, Any] = {}
    if arguments.sizes:
        import tomllib

        sizes = tomllib.loads(arguments.sizes.read_text("utf-8"))
    wrong = 0
    print("| program | right | seconds | reason or findings |\n|---|---|--:|---|", flush=True)
    for path in programs(arguments.folders):
        begin = time.monotonic()
        right, why = judged(path, sizes.get(path.name, {}), arguments.seconds, arguments.races)
        wrong += right != "yes"
        print(f"| {path.name} | {right} | {time.monotonic() - begin:.1f} | {why[:200]} |", flush=True)
    return min(wrong, 100)


if __name__ == "__main__":
    sys.exit(main())
