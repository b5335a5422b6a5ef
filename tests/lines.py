#!/usr/bin/env python3
"""Counts lines of code, without comments and blank lines: tests/lines.py [FOLDER...]."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUFFIXES = {".c", ".h", ".cu", ".cuh", ".def"}
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)


def code_lines(text: str) -> int:
    """Return how many lines of a C or CUDA source hold code."""

    def without_comment(token: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", token[0]) if token[0].startswith(("/*", "//")) else token[0]

    return sum(bool(line.strip()) for line in TOKEN.sub(without_comment, text).splitlines())


def main() -> None:
    total = 0
    for folder in sys.argv[1:] or ["csrc", "cuda_kernels"]:
        listed = subprocess.run(
            ["git", "-C", str(ROOT), "ls-files", "--", folder], capture_output=True, text=True, check=True
        )
        paths = [ROOT / name for name in listed.stdout.splitlines()]
        lines = sum(
            code_lines(path.read_text()) for path in paths if path.suffix in SUFFIXES and path.is_file()
        )
        total += lines
        print(f"{folder}: {lines} lines of code")
    print(f"all: {total}")


if __name__ == "__main__":
    main()
