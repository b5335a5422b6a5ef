#!/usr/bin/env python3
"""Counts idioms for which technical English has better words: tests/tools/words.py [--list] [KIND...].

idioms.toml has each idiom as a regular expression, and what to write instead. KINDS has the texts that are
checked, with the number of idioms allowed per 1,000 words. In documents, no line of 40 characters or more may
stand twice in a page, outside tables and code. Lines of prose have at most 120 characters, outside code and
what is generated. --list shows each place. The rules are in docs/contributing/style.md.
"""

import argparse
import ast
import collections
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import tomllib

ROOT = Path(__file__).resolve().parents[2]
IDIOMS = Path(__file__).with_name("idioms.toml")
SUFFIXES = {".c", ".h", ".cu", ".cuh", ".def", ".py", ".pyi", ".md", ".sh"}
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs", "notebooks", "examples")
LONG = 40
WIDTH = 120
CODE = re.compile(r"^( *)(```|~~~).*?^\1\2", re.MULTILINE | re.DOTALL)
# What a program writes into a page: it begins with a comment of one word, and ends with another.
GENERATED = re.compile(r"^<!-- (?!output|end)[\w-]+ -->\n(?!```).*?^<!-- end -->", re.MULTILINE | re.DOTALL)
# Examples of what not to write, in the style guide.
EXAMPLES = re.compile(r"<!-- examples -->.*?<!-- end -->", re.DOTALL)


class Kind(NamedTuple):
    """Texts with one limit: where they are, idioms per 1,000 words, and how a file's text is read."""

    places: tuple[str, ...]
    limit: float
    read: str = "source"


KINDS = {
    "csrc": Kind(("csrc",), 0.1),
    "cuda_kernels": Kind(("cuda_kernels",), 0.1),
    "gpureduce": Kind(("gpureduce",), 0.15),
    "messages": Kind(("gpureduce",), 0.15, "strings"),
    "tests": Kind(("tests",), 0.15),
    "docs": Kind(DOCUMENTS, 0.15, "document"),
}


def idioms() -> dict[re.Pattern[str], str]:
    """Return each idiom, and what to write instead."""
    listed = tomllib.loads(IDIOMS.read_text(encoding="utf-8"))["idiom"]
    return {re.compile(each["pattern"]): each["instead"] for each in listed}


def files(*places: str) -> Iterator[Path]:
    """Give each tracked file of some folders."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "--", *places], capture_output=True, text=True, check=True
    )
    yield from (path for name in listed.stdout.splitlines() if (path := ROOT / name).is_file())


def sources(folder: str, suffixes: set[str]) -> list[tuple[str, str]]:
    """Return name and text of each tracked file in a folder that has one of the suffixes."""
    paths = [path for path in files(folder) if path.suffix in suffixes]
    return [(str(path.relative_to(ROOT)), path.read_text(errors="replace")) for path in paths]


def strings(source: str) -> str:
    """Return what Python code says to its users: docstrings, messages and help, which have spaces."""
    values = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    return "\n".join(value for value in values if isinstance(value, str) and " " in value)


def document(path: Path) -> str | None:
    """Return the text of a page: of a notebook its cells, without outputs."""
    if path.suffix == ".ipynb":
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        return "\n\n".join("".join(cell["source"]) for cell in cells)
    if path.suffix not in {".md", ".py", ".cu"}:
        return None
    return EXAMPLES.sub("", path.read_text(encoding="utf-8"))


def text_of(path: Path, read: str) -> str | None:
    """Return the text of a file that is checked, or None if there is none."""
    if read == "document":
        return document(path)
    if read == "strings":
        return strings(path.read_text(encoding="utf-8")) if path.suffix == ".py" else None
    return path.read_text(errors="replace") if path.suffix in SUFFIXES else None


def found(text: str, patterns: dict[re.Pattern[str], str]) -> tuple[int, list[tuple[str, str]]]:
    """Return the number of words in a text, and its idioms: the words around, and what to write."""
    text = re.sub(r"\s+[#*/]*\s*", " ", text)  # without the marks of comments
    places = [
        (text[max(match.start() - 30, 0) : match.end() + 30], instead)
        for pattern, instead in patterns.items()
        for match in pattern.finditer(text)
    ]
    return len(text.split()), places


def repeated(text: str) -> list[str]:
    """Return the long lines that stand twice in a page, outside tables and code."""
    text = CODE.sub("", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)  # links count by their text
    lines = [line.strip() for line in text.splitlines() if not line.startswith(("    ", "\t"))]
    counts = collections.Counter(line for line in lines if len(line) >= LONG and line[0] not in "|<")
    return [line for line, count in counts.items() if count > 1]


def wide(text: str) -> list[str]:
    """Return the lines of prose that are too long. A line that is mostly code, or one address, is none."""
    lines = GENERATED.sub("", CODE.sub("", text)).splitlines()
    long = [line for line in lines if len(line) > WIDTH and line.lstrip()[0] not in "|<"]
    prose = [re.sub(r"`[^`]*`,? ?|\]\([^)]*\)", "", line) for line in long]
    return [line for line, words in zip(long, prose, strict=True) if len(words) > WIDTH // 2]


def check(name: str, show: bool) -> bool:
    """Print what a kind of text has; return whether that is within its limit."""
    kind, patterns = KINDS[name], idioms()
    words, places, lines = 0, [], []
    for path in files(*kind.places):
        text = text_of(path, kind.read)
        if text is None:
            continue
        more, around = found(text, patterns)
        words += more
        places += [(path.relative_to(ROOT), *each) for each in around]
        if kind.read == "document" and path.suffix != ".py":
            lines += [(path.relative_to(ROOT), "stands twice", line) for line in repeated(text)]
        if kind.read == "document" and path.suffix == ".md":
            lines += [(path.relative_to(ROOT), f"over {WIDTH} characters", line) for line in wide(text)]
    rate = 1000 * len(places) / max(words, 1)
    print(f"{name}: {len(places)} idioms in {words} words, {rate:.2f} per 1,000 (limit {kind.limit})")
    for place, around, instead in places if show else ():
        print(f"  {place}: ...{around}...  -> {instead}")
    for place, what, line in lines:
        print(f"  {place}: {what}: {line}")
    return rate <= kind.limit and not lines


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="show each place")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    args = parser.parse_args(argv)
    if unknown := set(args.kinds) - set(KINDS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; expected {', '.join(KINDS)}")
    good = [check(name, args.list) for name in args.kinds or KINDS]
    return int(not all(good))


if __name__ == "__main__":
    sys.exit(main())
