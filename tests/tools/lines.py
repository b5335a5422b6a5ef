#!/usr/bin/env python3
"""Counts lines of code, without comments and blank lines: tests/tools/lines.py [FOLDER...]."""

import re
import sys

from words import sources

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
        lines = sum(code_lines(text) for _, text in sources(folder, SUFFIXES))
        total += lines
        print(f"{folder}: {lines} lines of code")
    print(f"all: {total}")


if __name__ == "__main__":
    main()
