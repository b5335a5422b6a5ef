"""What the name of a kernel tells of its parameters, as the Itanium C++ ABI writes it."""

from __future__ import annotations

from dataclasses import dataclass

_NUMBERS = {
    "b": ("bool", "bool"), "c": ("char", "int8"), "a": ("signed char", "int8"),
    "h": ("unsigned char", "uint8"), "s": ("short", "int16"), "t": ("unsigned short", "uint16"),
    "i": ("int", "int32"), "j": ("unsigned", "uint32"), "l": ("long", "int64"),
    "m": ("unsigned long", "uint64"), "x": ("long long", "int64"), "y": ("unsigned long long", "uint64"),
    "f": ("float", "float32"), "d": ("double", "float64"), "v": ("void", ""),
}  # fmt: skip
_CLASSES = {"__half": "float16", "__nv_bfloat16": "bfloat16"}


@dataclass(frozen=True)
class CType:
    """A type of C++: as one writes it, and the name of the dtype of what it is, or what it points to.

    `dtype` is empty where it has none, as a structure.
    """

    text: str
    dtype: str = ""
    pointer: bool = False
    constant: bool = False  # what it points to


class _NotRead(Exception):
    """The name has something in it that is not read here."""


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.seen: list[CType] = []  # what S_, S0_ and so on stand for
        self.given: list[CType | None] = []  # arguments of the template; None for values

    def take(self, what: str) -> bool:
        found = self.text.startswith(what, self.at)
        self.at += len(what) if found else 0
        return found

    def name(self) -> str:
        begin = self.at
        while self.text[self.at : self.at + 1].isdigit():
            self.at += 1
        if begin == self.at:
            raise _NotRead
        length = int(self.text[begin : self.at])
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

    def type(self) -> CType:
        """Read a type; those that are not numbers can be meant again by S_ and its like."""
        if self.take("S"):
            return self.of(self.seen, self.number() + 1)
        if self.take("P"):
            to = self.type()
            found = CType(f"{to.text} *".replace("* *", "**"), to.dtype, True, to.text.startswith("const "))
            found = CType(found.text, "" if to.pointer else found.dtype, True, found.constant)
        elif self.take("K"):
            of = self.type()
            found = CType(f"{of.text}const" if of.pointer else f"const {of.text}", of.dtype, of.pointer)
        elif self.take("T"):
            found = self.of(self.given, self.number() + 1)
        elif self.text[self.at : self.at + 1].isdigit():
            name = self.name()
            found = CType(name, _CLASSES.get(name, ""))
        else:
            if self.text[self.at : self.at + 1] not in _NUMBERS:
                raise _NotRead
            self.at += 1
            return CType(*_NUMBERS[self.text[self.at - 1]])
        self.seen.append(found)
        return found

    def arguments(self) -> None:
        while not self.take("E"):
            if self.take("L"):
                self.type()
                self.at = self.text.index("E", self.at) + 1
                self.given.append(None)
            else:
                self.given.append(self.type())


def parameters(entry: str) -> tuple[CType, ...] | None:
    """Return the types of a kernel's parameters; None of a name that does not tell them.

    That is so of ``extern "C"`` kernels, of those in namespaces, and of types that are seldom met.

    >>> [each.text for each in parameters("_Z5scalePKfPfj")]
    ['const float *', 'float *', 'unsigned']
    >>> [each.dtype for each in parameters("_Z6reduceIflLj256EEvPKT_PT0_y")]
    ['float32', 'int64', 'uint64']
    """
    reader = _Reader(entry)
    try:
        if not reader.take("_Z"):
            return None
        name = reader.name()
        if reader.take("I"):
            reader.seen.append(CType(name))
            reader.arguments()
            reader.type()  # of the result, void
        found = []
        while reader.at < len(entry):
            found.append(reader.type())
    except (_NotRead, ValueError):
        return None
    return () if [each.text for each in found] == ["void"] else tuple(found)
