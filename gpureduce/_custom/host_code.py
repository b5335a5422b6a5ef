"""Removes host functions from a source written for nvcc, so that NVRTC can compile it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<raw>[^()\\\s]{0,16})\(.*?\)(?P=raw)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    r"|^[ \t]*#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
_DEVICE = re.compile(r"\b__(?:global|device|constant|shared|managed)__\b")
# Syntax that only host code has.
_HOST_TYPE = re.compile(
    r"\bstd\s*::\s*(?:\w*string\w*|\w*vector|list|deque|queue|stack|(?:unordered_)?(?:multi)?(?:map|set)|\w*mutex|"
    r"\w*thread|\w*future|function|\w*_ptr|\w*stream\w*|chrono|cout|cerr|clog|cin|endl|random_device|mt19937\w*|"
    r"\w*_distribution\w*|\w*_engine|regex|filesystem|exception|\w*_error|to_string|locale)\b"
)
_ATTRIBUTE = re.compile(
    r"\b__launch_bounds__\s*\([^()]*\)|\b__attribute__\s*\(\(.*?\)\)|\balignas\s*\([^()]*\)"
)
_FUNCTION = re.compile(r"([A-Za-z_]\w*|operator\s*\S+?|~[A-Za-z_]\w*)\s*\($")
_KEEPS = re.compile(
    r"^\s*(?:template\s*<.*>\s*)?(?:struct|class|union|enum|typedef|using|static_assert)\b", re.DOTALL
)


@dataclass(frozen=True)
class Blanked:
    """A source with host functions blanked line by line, and their names."""

    text: str
    functions: tuple[str, ...]


def _plain(text: str) -> str:
    """Return a text of the same length without comments, texts in quotes and directives."""

    def blank(match: re.Match[str]) -> str:
        whole = match[0]
        if whole.startswith(("'", '"', "R")):
            return whole[0] + "_" * (len(whole) - 2) + whole[-1] if "\n" not in whole else _spaces(whole)
        return _spaces(whole)

    return _TOKEN.sub(blank, text)


def _spaces(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _closing(plain: str, begin: int, pair: str) -> int:
    """Return the position after the bracket that closes the one at `begin`; -1 if there is none."""
    depth = 0
    for i in range(begin, len(plain)):
        depth += (plain[i] == pair[0]) - (plain[i] == pair[1])
        if depth == 0:
            return i + 1
    return -1


class _Declarations:
    """Walks the declarations of namespaces, and records the ranges of host functions."""

    def __init__(self, plain: str) -> None:
        self.plain = plain
        self.ranges: list[tuple[int, int]] = []
        self.names: list[str] = []
        self.classes: list[tuple[int, int, str]] = []

    def walk(self, begin: int, end: int) -> None:
        at = begin
        while at < end:
            stop = re.compile(r"[;{}]").search(self.plain, at, end)
            if stop is None:
                return
            head = self.plain[at : stop.start()]
            if stop[0] == "}":
                at = stop.end()
            elif stop[0] == ";":
                self._statement(at, stop.end(), head)
                at = stop.end()
            else:
                at = self._braces(at, stop.start(), head, end)

    def _statement(self, begin: int, end: int, head: str) -> None:
        """Blank the declaration of a host function or of a host-only variable."""
        name = self._function(head)
        function = name and "=" not in head
        if not _DEVICE.search(head) and (function or _HOST_TYPE.search(head)):
            self._blank(begin, end, "")

    def _braces(self, begin: int, brace: int, head: str, end: int) -> int:
        close = _closing(self.plain, brace, "{}")
        close = end if close < 0 else close
        if re.search(r'\bnamespace\b[\w\s:]*$|\bextern\s*"_*"\s*$', head):
            self.walk(brace + 1, close - 1)
            return close
        name = self._function(head)
        if name and not _KEEPS.match(head):
            if not _DEVICE.search(head) and not re.search(r"\bconstexpr\b|\bconsteval\b", head):
                self._blank(begin, close, name)
            return close
        stop = self.plain.find(";", close, end)  # of a class, or of a variable with an initializer
        if stop < 0 or self.plain[close:stop].strip(" \n\t\r*&,=()[]_" + _WORDS):
            return close
        kind = re.search(
            r"\b(?:struct|class|union)\s+(?:\w+\s+)*?([A-Za-z_]\w*)\s*(?:final\s*)?(?::[^:].*)?$", head
        )
        if kind:
            self.classes.append((begin, stop + 1, kind[1]))
        elif _HOST_TYPE.search(self.plain[begin:stop]) and not _DEVICE.search(self.plain[begin:stop]):
            self._blank(begin, stop + 1, "")
        return stop + 1

    def classes_of_the_host(self) -> None:
        """Blank classes that have only host functions and are not used by device code."""
        for begin, end, name in self.classes:
            body = self.plain[begin:end]
            rest = [(0, begin), (end, len(self.plain))]
            for host in sorted(self.ranges):
                rest = [part for one in rest for part in _without(one, host)]
            named = any(re.search(rf"\b{name}\b", self.plain[first:last]) for first, last in rest)
            if not named and "(" in body and not _DEVICE.search(body):
                self._blank(begin, end, name)

    def _function(self, head: str) -> str:
        """Return the name of the declared function; empty if it is not a function."""
        head = _ATTRIBUTE.sub(lambda match: " " * len(match[0]), head)
        if head.strip().startswith("template"):
            begin = head.find("<")
            close = _closing(head, begin, "<>") if begin >= 0 else -1
            head = head[close:] if close > 0 else head
        paren = head.find("(")
        declarator = _FUNCTION.search(head[: paren + 1]) if paren >= 0 else None
        if declarator is None or "=" in head[:paren]:
            return ""
        before = head[: declarator.start()].strip()
        return declarator[1] if before and not before.endswith(("return", ".", ",")) else ""

    def _blank(self, begin: int, end: int, name: str) -> None:
        self.ranges.append((begin, end))
        if name:
            self.names.append(name)


def _without(range_: tuple[int, int], taken: tuple[int, int]) -> list[tuple[int, int]]:
    """Return a range without another one."""
    begin, end = range_
    parts = [(begin, min(end, taken[0])), (max(begin, taken[1]), end)]
    return [part for part in parts if part[0] < part[1]]


_WORDS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def blanked(text: str) -> Blanked:
    r"""Return a source without its host functions: those without ``__device__`` or ``__global__``.

    >>> blanked("__global__ void k() {}\\nint main() {\\n    k<<<1, 1>>>();\\n}\\nint x;").text.split("\\n")
    ['__global__ void k() {}', '            ', '                  ', ' ', 'int x;']
    """
    plain = _plain(text)
    declarations = _Declarations(plain)
    declarations.walk(0, len(plain))
    declarations.classes_of_the_host()
    parts, at = [], 0
    for begin, end in sorted(declarations.ranges):
        lead = len(plain[begin:end]) - len(plain[begin:end].lstrip())  # comments before it, and directives
        parts += [text[at : begin + lead], _without_directives(text[begin + lead : end])]
        at = end
    return Blanked("".join([*parts, text[at:]]), tuple(declarations.names))


def _without_directives(text: str) -> str:
    """Blank a text except for directives, since each #if needs its #endif."""
    lines = []
    for line in text.split("\n"):
        lines.append(line if re.match(r"[ \t]*#", line) else _spaces(line))
    return "\n".join(lines)
