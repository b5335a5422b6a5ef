"""Finds where a mutant changes a source: a pattern of tokens in a function, a struct or a macro.

White space is ignored. So a mutant stays valid when a file is formatted or changed elsewhere.
"""

import functools
import re
from typing import NamedTuple

TOKEN = re.compile(r"\w+|[^\w\s]")
NOT_NAMES = re.compile(
    r"__launch_bounds__\s*\([^)]*\)|__attribute__\s*\(\(.*?\)\)|template\s*<[^{;]*?>\s*(?=\w+\s)", re.DOTALL
)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
PYTHON = re.compile(r"(?:class|def) (\w+)")
MACRO = re.compile(r"#\s*define\s+(\w+)")
RECORD = re.compile(r"(?:typedef\s+)?(?:struct|union|enum|class)\s+(\w+)[^(]*\{", re.DOTALL)
FUNCTION = re.compile(r"(\w+)\s*\(")


class Definition(NamedTuple):
    """What a file defines at its top level: a name, and where its text begins and ends."""

    name: str
    start: int
    end: int


def _name(head: str) -> str:
    """Return what is defined by the text before a body."""
    head = NOT_NAMES.sub("", re.sub(r"//.*|/\*.*?\*/", "", head)).strip()
    found = RECORD.match(head) or FUNCTION.search(head)
    if found and found[1].isupper():  # a macro that defines a kernel, as GR_ENTRY(name)
        found = re.search(r"\(\s*(\w+)", head)
    return found[1] if found else ""


@functools.cache
def definitions(text: str) -> list[Definition]:
    """Return the functions, classes, structs and macros of a source in C, CUDA C++ or Python."""
    found: list[Definition] = []
    text = COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), text)
    start, at, kind = 0, 0, ""
    for line in text.splitlines(keepends=True):
        end = at + len(line)
        if kind == "macro":
            if not line.rstrip().endswith("\\"):
                found[-1] = found[-1]._replace(end=end)
                kind = ""
        elif kind == "python" and line[:1] in " \t\n)]}":
            found[-1] = found[-1]._replace(end=end)
        elif kind == "body":
            if line.startswith("}"):
                found.append(Definition(_name(text[start:end]), start, end))
                kind = ""
        elif macro := MACRO.match(line):
            found.append(Definition(macro[1], at, end))
            kind = "macro" if line.rstrip().endswith("\\") else ""
        elif python := PYTHON.match(line):
            found.append(Definition(python[1], at, end))
            kind = "python"
        elif line[0] in "#/}\n@" or not line.strip() or line.startswith("namespace "):
            kind = ""
        else:
            start = start if kind == "head" else at
            last = re.sub(r"//.*", "", line).rstrip()[-1:]
            kind = {"{": "body", ";": "", ")": "" if line[0].isupper() else "head"}.get(last, "head")
        at = end
    return found


def spans(text: str, function: str, pattern: str) -> list[tuple[int, int]]:
    """Return where a pattern stands in a function of this name; in the whole file if the name is empty."""
    wanted = re.compile(r"\s*".join(map(re.escape, TOKEN.findall(pattern))))
    places = (
        [(d.start, d.end) for d in definitions(text) if d.name == function] if function else [(0, len(text))]
    )
    return [found.span() for start, end in places for found in wanted.finditer(text, start, end)]


def changed(text: str, function: str, pattern: str, new: str) -> str:
    """Return a source with each occurrence of a pattern in a function replaced."""
    for start, end in reversed(spans(text, function, pattern)):
        text = text[:start] + new.strip() + text[end:]
    return text
