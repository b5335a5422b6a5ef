"""What the name of a kernel tells of its parameters, as the Itanium C++ ABI writes it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBERS = {
    "b": ("bool", "bool"), "c": ("char", "int8"), "a": ("signed char", "int8"),
    "h": ("unsigned char", "uint8"), "s": ("short", "int16"), "t": ("unsigned short", "uint16"),
    "i": ("int", "int32"), "j": ("unsigned", "uint32"), "l": ("long", "int64"),
    "m": ("unsigned long", "uint64"), "x": ("long long", "int64"), "y": ("unsigned long long", "uint64"),
    "n": ("__int128", "int128"), "o": ("unsigned __int128", "uint128"), "w": ("wchar_t", "int32"),
    "Ds": ("char16_t", "uint16"), "Di": ("char32_t", "uint32"), "Du": ("char8_t", "uint8"),
    "f": ("float", "float32"), "d": ("double", "float64"), "e": ("long double", "float64"), "v": ("void", ""),
}  # fmt: skip
_CLASSES = {"__half": "float16", "__nv_bfloat16": "bfloat16"}
_STD = {"a": "allocator", "b": "basic_string", "s": "string", "i": "istream", "o": "ostream", "d": "iostream"}
_QUALIFIERS = {"V": "volatile", "K": "const", "r": "__restrict__"}
_NOT_NUMPY = ("int128", "uint128")

BUILTIN = dict(_NUMBERS.values()) | _CLASSES  # dtypes by the name of the type in C++


@dataclass(frozen=True)
class CType:
    """A type of C++: as one writes it, and the name of the dtype of what it is, or what it points to.

    `dtype` is empty where it has none, as a structure. ``"int128"`` and ``"uint128"`` are no dtypes of NumPy.
    """

    text: str
    dtype: str = ""
    pointer: bool = False
    constant: bool = False  # what it points to

    @property
    def limits(self) -> tuple[int, int] | None:
        """The least and the largest value of an integer type; None of another type."""
        if self.pointer:
            return None
        if self.dtype == "bool":
            return 0, 1
        read = re.fullmatch(r"(u?)int(\d+)", self.dtype)
        if read is None:
            return None
        bits = int(read[2])
        return (0, 2**bits - 1) if read[1] else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)

    @property
    def elements(self) -> str:
        """The dtype of the arrays that a pointer of this type takes; empty where any is taken."""
        return "" if self.dtype in _NOT_NUMPY else self.dtype


def pointer_to(to: CType) -> CType:
    """Return the type of a pointer."""
    text = f"{to.text} *".replace("* *", "**")
    return CType(text, "" if to.pointer else to.dtype, True, to.text.startswith("const "))


def _qualified(of: CType, qualifier: str) -> CType:
    if of.pointer:
        return CType(f"{of.text}{qualifier}", of.dtype, True, of.constant)
    return CType(f"{qualifier} {of.text}", of.dtype)


class _NotRead(Exception):
    """The name has something in it that is not read here."""


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.seen: list[CType] = []  # what S_, S0_ and so on stand for
        self.given: list[CType | None] = []  # arguments of the kernel's template; None for values

    def take(self, what: str) -> bool:
        found = self.text.startswith(what, self.at)
        self.at += len(what) if found else 0
        return found

    def next(self) -> str:
        return self.text[self.at : self.at + 1]

    def name(self) -> str:
        begin = self.at
        while self.next().isdigit():
            self.at += 1
        length = int(self.text[begin : self.at] or "0")
        if not 0 < length <= len(self.text) - self.at:
            raise _NotRead
        self.at += length
        return self.text[self.at - length : self.at]

    def number(self) -> int:
        """Read what comes before the _ of T_, T0_, S_ and S1A_: -1, 0 and so on, in the base of each."""
        end = self.text.index("_", self.at)
        digits, self.at = self.text[self.at : end], end + 1
        return int(digits, 36) if digits else -1

    def of(self, list_: list, index: int) -> CType:
        if not 0 <= index < len(list_) or list_[index] is None:
            raise _NotRead
        return list_[index]

    def substitution(self) -> CType:
        """Read what follows an S: a type or name that was met before, or one of std."""
        if self.take("t"):
            return CType(f"std::{self.name()}")
        if self.next() in _STD:
            self.at += 1
            return CType(f"std::{_STD[self.text[self.at - 1]]}")
        return self.of(self.seen, self.number() + 1)

    def nested(self) -> tuple[CType, list[CType | None] | None]:
        """Read a name in namespaces or classes, as far as its E, and the arguments at its end."""
        found, arguments = CType(""), None
        while self.next() in _QUALIFIERS:  # of a member function
            self.at += 1
        while not self.take("E"):
            if self.take("I"):
                text, arguments = self.arguments()
                found = CType(found.text + text)
            elif self.take("S"):
                found, arguments = self.substitution(), None
                if self.text[self.at - 1] == "_":
                    continue  # it is in the list already
            else:
                found = CType(f"{found.text}::{self.name()}".removeprefix("::"))
                arguments = None
            self.seen.append(found)
        del self.seen[-1:]  # the whole is in the list as a type, and not as the name of a function
        return found, arguments

    def class_type(self) -> CType:
        """Read the name of a class or an enumeration."""
        if self.take("N"):
            found, _ = self.nested()
        else:
            name = self.name()
            found = CType(name, _CLASSES.get(name, ""))
            if self.take("I"):
                self.seen.append(found)
                found = CType(name + self.arguments()[0])
        return found

    def type(self) -> CType:
        """Read a type; those that are not numbers can be meant again by S_ and its like."""
        for code in (self.text[self.at : self.at + 2], self.next()):
            if code in _NUMBERS:
                self.at += len(code)
                return CType(*_NUMBERS[code])
        if self.text.startswith(("St", "Sa", "Ss", "Sb", "Si", "So", "Sd"), self.at):
            self.at += 1
            found = self.substitution()
            if self.take("I"):
                self.seen.append(found)
                found = CType(found.text + self.arguments()[0])
        elif self.take("S"):
            found = self.substitution()
            if not self.take("I"):
                return found
            found = CType(found.text + self.arguments()[0])
        elif self.take("P"):
            found = pointer_to(self.type())
        elif self.next() in _QUALIFIERS:
            codes = []
            while self.next() in _QUALIFIERS:
                codes.append(self.next())
                self.at += 1
            found = self.type()
            for code in reversed(codes):
                found = _qualified(found, _QUALIFIERS[code])
        elif self.take("A"):
            extent = self.number_until("_")
            of = self.type()
            found = CType(f"{of.text}[{extent}]", of.dtype)
        elif self.take("F"):
            parts = []
            while not self.take("E"):
                parts.append(self.type())
            found = CType(f"{parts[0].text}({', '.join(each.text for each in parts[1:])})")
        elif self.take("T"):
            found = self.of(self.given, self.number() + 1)
        else:
            found = self.class_type()
        self.seen.append(found)
        return found

    def number_until(self, end: str) -> str:
        stop = self.text.index(end, self.at)
        digits, self.at = self.text[self.at : stop], stop + 1
        return digits

    def arguments(self) -> tuple[str, list[CType | None]]:
        """Read the arguments of a template as far as their E: as one writes them, and the types."""
        texts: list[str] = []
        found: list[CType | None] = []
        while not self.take("E"):
            if self.take("L"):
                self.type()
                texts.append(self.number_until("E").replace("n", "-"))
                found.append(None)
            elif self.take("J"):
                text, _ = self.arguments()
                texts += [text[1:-1]] if text != "<>" else []
                found.append(None)  # of a pack nothing is read by T_
            else:
                one = self.type()
                found.append(one)
                texts.append(one.text)
        return f"<{', '.join(texts)}>", found


def kernel_name(entry: str) -> str:
    """Return the name of a kernel as one writes it, with the arguments of a template; as it is if not read.

    >>> kernel_name("_Z6reduceIfLj256EEvPKT_PT0_y"), kernel_name("_ZN2ns3addEPf"), kernel_name("plain")
    ('reduce<float, 256>', 'ns::add', 'plain')
    """
    reader = _Reader(entry)
    try:
        if not reader.take("_Z"):
            return entry
        if reader.take("N"):
            return reader.nested()[0].text
        reader.take("L")  # static
        name = CType(reader.name())
        if not reader.take("I"):
            return name.text
        reader.seen.append(name)
        return name.text + reader.arguments()[0]
    except (_NotRead, ValueError, IndexError):
        return entry


def parameters(entry: str) -> tuple[CType, ...] | None:
    """Return the types of a kernel's parameters; None of a name that does not tell them.

    That is so of ``extern "C"`` kernels, and of types that are seldom met.

    >>> [each.text for each in parameters("_Z5scalePKfPfj")]
    ['const float *', 'float *', 'unsigned']
    >>> [each.dtype for each in parameters("_Z6reduceIflLj256EEvPKT_PT0_y")]
    ['float32', 'int64', 'uint64']
    >>> [each.text for each in parameters("_ZN2ns3addEPVfNS_5ColorEn")]
    ['volatile float *', 'ns::Color', '__int128']
    """
    reader = _Reader(entry)
    try:
        if not reader.take("_Z"):
            return None
        if reader.take("N"):
            name, arguments = reader.nested()
        else:
            reader.take("L")  # static
            name, arguments = CType(reader.name()), None
            if reader.take("I"):
                reader.seen.append(name)
                arguments = reader.arguments()[1]
        if arguments is not None:
            reader.given = arguments
            reader.type()  # of the result, void
        found = []
        while reader.at < len(entry):
            found.append(reader.type())
    except (_NotRead, ValueError, IndexError):
        return None
    return () if [each.text for each in found] == ["void"] else tuple(found)
