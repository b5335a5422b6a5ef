"""The source of a rung with its headers."""

from __future__ import annotations

import re

from gpureduce._device.ptx import KERNEL_DIR
from gpureduce._device.variants import source, variants

# Headers of the rungs of the reductions, without the operators and the instantiations.
_TAUGHT = re.compile(r'^#include "(reduce/ladder/(?!ops\.|instantiate\.|params\.)\w+\.cuh)"', re.MULTILINE)


def _included(text: str) -> list[str]:
    """Return the headers of the ladder that a source includes, dependencies first."""
    names = []
    for name in _TAUGHT.findall(text):
        names += [*_included(_header(name)), name]
    return list(dict.fromkeys(names))


def _header(name: str) -> str:
    return (KERNEL_DIR / "src" / "include" / name).read_text("utf-8")


def new_headers(variant: str) -> str:
    """Return the headers that a variant is the first rung to include, or an empty text."""
    own, earlier = source(variant), set[str]()
    for record in variants("reduction"):
        if record.name == variant:
            break
        if record.role == "rung":
            earlier.update(_included(source(record.name)))
    return "\n".join(_header(name) for name in _included(own) if name not in earlier)


def with_headers(variant: str) -> str:
    """Return the source of a variant, followed by the headers that it is the first rung to include."""
    return "\n".join(each for each in (source(variant), new_headers(variant)) if each)
