"""Parameter types of a kernel from its source, if its PTX name does not encode them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpureduce._profiles.itanium_demangle import BUILTIN, CType, pointer_to

_SCALAR_WORDS = {"signed", "unsigned", "short", "long", "int", "char", "float", "double", "bool", "void"}
_IGNORED = {
    "const", "volatile", "__restrict__", "__restrict", "restrict", "register", "struct", "union", "class",
    "enum", "__grid_constant__", "typename",
}  # fmt: skip
_ALIASES = {
    "int8_t": "signed char", "int16_t": "short", "int32_t": "int", "int64_t": "long",
    "uint8_t": "unsigned char", "uint16_t": "unsigned short", "uint32_t": "unsigned",
    "uint64_t": "unsigned long", "size_t": "unsigned long", "ssize_t": "long", "ptrdiff_t": "long",
    "intptr_t": "long", "uintptr_t": "unsigned long", "uint": "unsigned", "ushort": "unsigned short",
    "ulong": "unsigned long", "uchar": "unsigned char", "half": "__half", "nv_bfloat16": "__nv_bfloat16",
    "__int128_t": "__int128", "__uint128_t": "unsigned __int128", "unsigned int": "unsigned",
}  # fmt: skip
_WORD = re.compile(r"[A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)*")
_TYPEDEF = r"\btypedef\s+([^;{{}}]+?[\s*]){name}\s*;|\busing\s+{name}\s*=\s*([^;]+);"
_ENUM = r"\benum\b(?:\s+(?:class|struct)\b)?\s+{name}\b\s*(?::\s*([\w:\s]+?))?\s*[{{;]"
_DEEPEST = 8  # aliases of aliases


def _split(text: str) -> list[str]:
    """Split a list of parameters at its commas."""
    parts, depth, begin = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "<([{") - (letter in ">)]}")
        if letter == "," and depth == 0:
            parts.append(text[begin:i])
            begin = i + 1
    last = text[begin:]
    return [*parts, last] if parts or last.strip() not in ("", "void") else []


def _list_of(plain: str, kernel: str) -> str | None:
    """Return the parameter list of the only kernel of a name."""
    matches = list(re.finditer(rf"\b__global__\b[^;{{}}]*?\b{re.escape(kernel)}\s*\(", plain))
    if not matches:
        return None
    depth, begin = 1, matches[-1].end()
    for i in range(begin, len(plain)):
        depth += (plain[i] == "(") - (plain[i] == ")")
        if depth == 0:
            return plain[begin:i]
    return None


def _fundamental(words: list[str]) -> str:
    """Return the canonical name of a type such as ``long unsigned int``; empty for others."""
    kinds = [word for word in words if word not in ("signed", "unsigned", "int")]
    sign = "unsigned" if "unsigned" in words else ""
    if kinds in ([], ["short"], ["long"], ["long", "long"], ["char"], ["__int128"]):
        if kinds == ["char"] and "signed" in words:
            return "signed char"
        return " ".join([*([sign] if sign else []), *(kinds or ([] if sign else ["int"]))])
    return " ".join(kinds)


def _type_of(text: str, plain: Iterable[str], deep: int = 0) -> CType | None:
    """Return a type as written, without the name of the parameter."""
    base, *stars = re.split(r"(\*)", text)
    words = [word for word in _WORD.findall(base) if word.split("::")[-1] not in _IGNORED]
    if not words or "<" in text or "(" in text or "&" in text or deep > _DEEPEST:
        return None
    if words[0] in _SCALAR_WORDS or words[-1] == "__int128":
        name = _fundamental(words)
        if name not in BUILTIN:
            return None
        ctype = CType(name, BUILTIN[name])
    else:
        known = _type_by_name(words[-1].replace(" ", ""), plain, deep)
        if known is None:
            return None
        ctype = known
    if stars and re.search(r"\bconst\b", base):
        ctype = CType(f"const {ctype.text}", ctype.dtype, ctype.pointer, ctype.constant)
    for star in stars:
        if star == "*":
            ctype = pointer_to(ctype)
    return ctype


def _type_by_name(name: str, plain: Iterable[str], deep: int) -> CType | None:
    """Return the type of a name: an alias, an enumeration, or a class."""
    last = name.split("::")[-1]
    for text in plain:
        if alias := re.search(_TYPEDEF.format(name=re.escape(last)), text):
            return _type_of(alias[1] or alias[2], plain, deep + 1)
        if limits := enumeration(name, plain):
            return limits
    if last in _ALIASES:
        last = _ALIASES[last]
    return CType(last if last in BUILTIN else name, BUILTIN.get(last, ""))


def enumeration(name: str, plain: Iterable[str]) -> CType | None:
    """Return an enumeration with a declared type; None for another name."""
    last = name.split("::")[-1]
    for text in plain:
        if match := re.search(_ENUM.format(name=re.escape(last)), text):
            scoped = re.search(rf"\benum\s+(?:class|struct)\s+{re.escape(last)}\b", text)
            below = match[1] or ("int" if scoped else "")
            of = _type_of(below, plain, 1) if below else None
            return CType(name, of.dtype if of else "")
    return None


def declared(kernel: str, plain: Iterable[str]) -> tuple[CType | None, ...] | None:
    """Return the declared types of a kernel's parameters, from sources without comments.

    A type is None if unknown; the result is None if there is no such kernel.

    >>> found = declared("k", ["typedef long my; __global__ void k(const float *a, my n, Some s) {}"])
    >>> [each.text for each in found]
    ['const float *', 'long', 'Some']
    """
    plain = list(plain)
    listed = next((each for text in plain if (each := _list_of(text, kernel)) is not None), None)
    if listed is None:
        return None
    types = []
    for part in _split(listed):
        bare = re.sub(r"=.*", "", part, flags=re.DOTALL)
        array = re.search(r"\[[^]]*\]\s*$", bare)
        bare = bare[: array.start()] if array else bare
        named = re.sub(r"(?<!::)\b[A-Za-z_]\w*\s*$", "", bare)
        words = [word for word in _WORD.findall(named) if word not in _IGNORED]
        ctype = _type_of(named if words else bare, plain)  # a parameter may have no name
        if named and bare[len(named) :].strip() in _SCALAR_WORDS:
            ctype = _type_of(bare, plain)
        types.append(pointer_to(ctype) if array and ctype else ctype)
    return tuple(types)
