"""PTX modules as text, and parts of them."""

from __future__ import annotations

import re
from collections.abc import Callable

_ENTRY = re.compile(r"(?:^\t// \.globl\t\w+\n)?^\.visible \.entry (\w+)\(.*?^}\n+", re.M | re.S)
_ANNOUNCED = re.compile(r"^\t// \.globl\t\w+\n|^// \w+ has been demoted\n", re.M)
_DECLARED = re.compile(r"^(?:\.extern )?\.(?:shared|global)\b[^;=]*?(\w+)(?:\[\d*\])?(?: = [^;]*)?;\n", re.M)
_NAMED = re.compile(r"^(\$L__info_string\d+):\n(?:\.b8 .*\n)+", re.M)
_FILE = re.compile(r"^\t\.file\t(\d+) .*\n", re.M)


def kernels(text: str) -> tuple[str, ...]:
    """Return the names of the kernels of a module."""
    return tuple(match[1] for match in _ENTRY.finditer(text))


def only(text: str, wanted: Callable[[str], bool]) -> str:
    """Return a module with some of its kernels, by name, and with what these use of the rest."""
    found = list(_ENTRY.finditer(text))
    kept = "".join(match[0] for match in found if wanted(match[1]))
    words = set(re.findall(r"[\w$]+", kept))
    files = set(re.findall(r"(?:\.loc\t|inlined_at )(\d+)", kept))
    head, tail = text[: found[0].start()], text[found[-1].end() :]
    head = _DECLARED.sub(lambda match: match[0] if match[1] in words else "", _ANNOUNCED.sub("", head))
    tail = _FILE.sub(lambda match: match[0] if match[1] in files else "", tail)
    return head + kept + _NAMED.sub(lambda match: match[0] if match[1] in words else "", tail)
