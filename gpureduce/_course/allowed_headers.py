"""Headers that the source of an exercise may include.

A grader compiles the sources of strangers, and an ``#include`` reads any file of the grader's account: a
solution next to the submission, or a password file whose lines end up in the messages of the compiler. So
sources of exercises include headers of CUDA only.
"""

from __future__ import annotations

import re

ALLOWED = (
    "cooperative_groups.h", "cuda_bf16.h", "cuda_fp16.h", "cuda_fp8.h", "cuda_pipeline.h", "math_constants.h",
    "mma.h", "stdint.h", "cstdint",
)  # fmt: skip
# Headers of cooperative groups and libcu++. A name has no dot except in its suffix.
_FOLDERS = re.compile(r"(?:cooperative_groups|cuda|cuda/std)/(?:[a-z0-9_]+/)*[a-z0-9_]+(?:\.h)?")

# The preprocessor replaces trigraphs, joins lines, and replaces comments before it looks for directives.
_SPLICE = re.compile(r"(?:\\|\?\?/)[ \t]*\r?\n")
_GAP = r"(?:[ \t]|/\*(?:[^*]|\*(?!/))*\*/)*"
_DIRECTIVE = re.compile(
    rf"(?:#|%:|\?\?=){_GAP}(?P<word>include|include_next|import|embed)\b{_GAP}(?P<operand>[^\n]*)"
)
_ANGLED = re.compile(r"<([^>\n]+)>")
_QUESTION = re.compile(r"\b__has_(?:include|include_next|embed)\b|\b__has_\w*##|##\s*(?:_?include|_?embed)\b")


def refused_inclusion(source: str) -> str | None:
    """Return what is wrong with the inclusions of a source; None if all headers are allowed.

    Comments and strings count as code: a source that mentions ``#include "other.h"`` in a comment is refused,
    too.

    >>> refused_inclusion("#include <cuda_fp16.h>") is None
    True
    >>> print(refused_inclusion('#include "solution.cu"')[:53])
    line 1: #include "solution.cu": an exercise includes
    """
    joined = _SPLICE.sub("", source)
    for match in _DIRECTIVE.finditer(joined):
        header = _ANGLED.match(match["operand"])
        if match["word"] == "include" and header and _allowed(header[1]):
            continue
        return _message(source, f"#{match['word']} {match['operand'].strip()}", match["word"])
    asked = _QUESTION.search(joined)
    return _message(source, asked[0], asked[0].strip("#")) if asked else None


def _allowed(name: str) -> bool:
    return name in ALLOWED or _FOLDERS.fullmatch(name) is not None


def _message(source: str, what: str, word: str) -> str:
    """Return a message with the first line that has a word."""
    lines = source.splitlines()
    number = next((number for number, line in enumerate(lines, 1) if word in line), 1)
    known = ", ".join(f"<{name}>" for name in ALLOWED)
    return (
        f"line {number}: {what[:80]}: an exercise includes only headers of CUDA in angle brackets ({known},"
        " <cooperative_groups/...>, <cuda/...>); printf and the functions of math.h need none"
    )
