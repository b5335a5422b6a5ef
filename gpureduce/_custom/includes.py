"""The files that a source includes, which cached kernels depend on; NVRTC does not report them.

All files that might be included are found, whatever the conditions around an ``#include`` are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from gpureduce._custom.disk_cache import digest

_INCLUDE = re.compile(
    rb"^[ \t]*#[ \t]*(?:include|include_next|import|embed)[ \t]*"
    rb'(?:"(?P<quoted>[^"\n]+)"|<(?P<angled>[^>\n]+)>|(?P<macro>[A-Za-z_]\w*))'
    rb'|\b__has_include[ \t]*\([ \t]*["<](?P<asked>[^">\n]+)[">]',
    re.MULTILINE,
)
_FOLDERS = ("-I", "--include-path", "-isystem", "--system-include")
_BEFORE = ("-include", "--pre-include", "-pre-include")
# Options that read files which this module cannot determine.
_UNKNOWN = (
    "-optf", "--options-file", "-pch", "--pch", "--use-pch", "-use-pch", "--create-pch", "-create-pch",
    "-Xcompiler", "--compiler-options", "-iquote", "-idirafter",
)  # fmt: skip


def _values(options: Iterable[str], names: tuple[str, ...]) -> list[str]:
    """Return the values of options, written as ``-Ia``, ``-I=a``, ``-I a``, or ``-I``, ``a``."""
    values, pending = [], False
    for option in options:
        if pending:
            values.append(option)
            pending = False
            continue
        name = next((name for name in sorted(names, key=len, reverse=True) if option.startswith(name)), None)
        if name is None:
            continue
        rest = option[len(name) :]
        if not rest.strip():
            pending = True
        elif name == "-I" or rest[0] in "= ":
            values += [part for part in rest.lstrip("= ").split(",") if part]
    return values


@dataclass
class Included:
    """The files that a source may include.

    `texts` has their texts by path, in the order of inclusion; `names` has their names as written in the
    sources. `certain` is False if a file cannot be determined: a macro or a compiler option names it.
    `system` has the names of headers that are in no folder of the user.
    """

    texts: dict[str, bytes] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    system: set[str] = field(default_factory=set)
    certain: bool = True

    def digests(self) -> list[str]:
        """Return a digest of each file, in order."""
        return [digest(text) for text in self.texts.values()]


class _Scan:
    def __init__(self, folder: str, folders: list[str], foreign: tuple[str, ...]) -> None:
        self.folder, self.folders, self.foreign = folder, folders, foreign
        self.found = Included()

    def source(self, text: bytes, folder: str) -> None:
        for match in _INCLUDE.finditer(text):
            if match["macro"]:
                self.found.certain = False
                continue
            name = os.fsdecode(match["quoted"] or match["angled"] or match["asked"])
            self.name(name, folder)

    def name(self, name: str, folder: str) -> None:
        """Add all files of a name, from any searched folder."""
        known = False
        for directory in dict.fromkeys((folder, self.folder, *self.folders)):
            path = os.path.normpath(os.path.join(directory, name))
            if path in self.found.texts:
                known = True
            elif not _within(path, self.foreign) and os.path.isfile(path):
                known = True
                try:
                    with open(path, "rb") as file:
                        text = file.read()
                except OSError:
                    self.found.certain = False
                    continue
                self.found.texts[path] = text
                self.source(text, os.path.dirname(path))
        (self.found.names if known else self.found.system).add(name)


def _within(path: str, folders: tuple[str, ...]) -> bool:
    real = os.path.realpath(path)
    return any(real.startswith(os.path.join(os.path.realpath(folder), "")) for folder in folders)


def without_folders(options: Iterable[str]) -> tuple[str, ...]:
    """Return options without those for header folders."""
    others, pending = [], False
    for option in options:
        if pending or option.startswith(_FOLDERS):
            pending = not pending and option.strip() in _FOLDERS
        else:
            others.append(option)
    return tuple(others)


def included(text: bytes, folder: str, options: Iterable[str], foreign: Iterable[str] = ()) -> Included:
    """Return the files that a source in a folder may include.

    Files in the folders `foreign`, of the CUDA toolkit, are not the user's.
    """
    options = list(options)
    folders = [os.path.abspath(each) for each in _values(options, _FOLDERS)]
    scan = _Scan(folder, folders, tuple(foreign))
    if any(option.startswith(_UNKNOWN) for option in options):
        scan.found.certain = False
    for name in _values(options, _BEFORE):
        scan.name(name, folder)
    scan.source(text, folder)
    return scan.found
