"""Kernels cut out of a PTX module."""

from __future__ import annotations

import re
from collections.abc import Callable

_ENTRY = re.compile(r"(?:^\t// \.globl\t\w+\n)?^\.visible \.entry (\w+)\(.*?^}\n+", re.M | re.S)
_ANNOUNCED = re.compile(r"^\t// \.globl\t\w+\n|^// \w+ has been demoted\n", re.M)
_DECLARED = re.compile(r"^(?:\.extern )?\.(?:shared|global)\b[^;=]*?(\w+)(?:\[\d*\])?(?: = [^;]*)?;\n", re.M)
_NAMED = re.compile(r"^(\$L__info_string\d+):\n(?:\.b8 .*\n)+", re.M)
_FILE = re.compile(r"^\t\.file\t(\d+) .*\n", re.M)


def kernel_names(text: str) -> tuple[str, ...]:
    """Return the names of the kernels of a PTX module."""
    return tuple(match[1] for match in _ENTRY.finditer(text))


def extract_kernels(text: str, selected: Callable[[str], bool]) -> str:
    """Return a PTX module with the selected kernels and the declarations that they use."""
    entries = list(_ENTRY.finditer(text))
    selected_text = "".join(match[0] for match in entries if selected(match[1]))
    words = set(re.findall(r"[\w$]+", selected_text))
    files = set(re.findall(r"(?:\.loc\t|inlined_at )(\d+)", selected_text))
    head, tail = text[: entries[0].start()], text[entries[-1].end() :]
    head = _DECLARED.sub(lambda match: match[0] if match[1] in words else "", _ANNOUNCED.sub("", head))
    tail = _FILE.sub(lambda match: match[0] if match[1] in files else "", tail)
    return head + selected_text + _NAMED.sub(lambda match: match[0] if match[1] in words else "", tail)
