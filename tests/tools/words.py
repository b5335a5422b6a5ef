#!/usr/bin/env python3
"""Counts idioms for which technical English has better words: tests/tools/words.py [--list] [FOLDER...].

PATTERNS has each idiom as a regular expression, and what to write instead. LIMITS has the folders that are
checked, with the number of idioms allowed per 1,000 words. --list shows each place.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUFFIXES = {".c", ".h", ".cu", ".cuh", ".def", ".py", ".pyi", ".md", ".sh"}
LIMITS = {"csrc": 0.15, "cuda_kernels": 0.15, "gpureduce": 0.3, "tests": 0.2}
UNITS = "call|thread|block|warp|row|launch|element|result|reduction|step|group|lane|multiprocessor|device|GPU"
PATTERNS = {
    r"\barrays? of the host\b|\bof the host\b": "host array, on the host",
    r"\bbeside\b": "next to, compared with, in addition to",
    r"\b(lies?|lying) (there|where|side by side|by rows|evenly|on (a|the) device)\b": "is stored, contiguous",
    r"\bin place of\b": "instead of",
    r"\bproducts? of matrices\b": "matrix multiplication",
    rf"\b(microseconds?|bytes?|threads?|blocks?|elements?|us) an? (?:{UNITS})\b": "per call, per thread",
    r"\btakes? (?:at most |only |about )?[01]\.\d+(?: to [01]\.\d+)? of\b": "2 % slower than",
    r"\b[Nn]obody\b|\bwho (?:warns|reads|waits|asks|comes|has|draws|is)\b": "name the actor",
    r"\bthe (?:memory|machine|card) gives\b": "the memory delivers",
    r"\b(?:of|to|for|by|in|than) (?:those|that) (?:that|which|of which|who)\b": "name the noun",
    r"\bthat of (?:the|a|an)\b": "name the noun",
    r"\bare there to be\b|\bis there, too\b|\bwhat there is\b": "say what exists",
    r"\bas (?:it|they) (?:lies?|stands?|comes?)\b": "unchanged, without copying",
    r"\b(?:NaN|lone call|order) wins\b": "NaN propagates, takes precedence",
    r"\bhas room\b|\bfinds? room\b|\broom for\b": "fits, capacity for",
    r"\bso many\b|\bas many as\b": "say the number, up to",
    r"\bon (?:its|their) way\b": "in flight, pending",
    r"\bgoes? (?:round|the way|by the)\b": "say what happens",
}


def sources(folder: str, suffixes: set[str]) -> list[tuple[str, str]]:
    """Return name and text of each tracked file in a folder that has one of the suffixes."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "--", folder], capture_output=True, text=True, check=True
    )
    paths = [ROOT / name for name in listed.stdout.splitlines()]
    return [
        (str(path.relative_to(ROOT)), path.read_text(errors="replace"))
        for path in paths
        if path.suffix in suffixes and path.is_file()
    ]


def found(folder: str) -> tuple[int, list[tuple[str, str, str]]]:
    """Return the number of words in a folder, and its idioms: file, words around it, what to write."""
    words, places = 0, []
    for name, source in sources(folder, SUFFIXES):
        text = re.sub(r"\s+[#*/]*\s*", " ", source)  # without the marks of comments
        words += len(text.split())
        for pattern, instead in PATTERNS.items():
            for match in re.finditer(pattern, text):
                places.append((name, text[max(match.start() - 30, 0) : match.end() + 30], instead))
    return words, places


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="show each place")
    parser.add_argument("folders", nargs="*", default=list(LIMITS))
    args = parser.parse_args()
    above = False
    for folder in args.folders:
        words, places = found(folder)
        rate = 1000 * len(places) / max(words, 1)
        limit = LIMITS.get(folder)
        above |= limit is not None and rate > limit
        print(
            f"{folder}: {len(places)} idioms in {words} words, {rate:.2f} per 1,000"
            + (f" (limit {limit})" if limit else "")
        )
        for name, around, instead in places if args.list else ():
            print(f"  {name}: ...{around}...  -> {instead}")
    return int(above)


if __name__ == "__main__":
    sys.exit(main())
