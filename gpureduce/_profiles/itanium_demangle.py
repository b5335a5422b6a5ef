"""Demangles kernel names of the Itanium C++ ABI, and extracts parameter types."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
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
    """A C++ type: its spelling, and the dtype name of it or of its pointee.

    `dtype` is empty if there is none, as for a struct. ``"int128"`` and ``"uint128"`` are not NumPy dtypes.
    """

    text: str
    dtype: str = ""
    pointer: bool = False
    constant: bool = False  # what it points to

    @property
    def limits(self) -> tuple[int, int] | None:
        """Smallest and largest value of an integer type; None for other types."""
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
        """Dtype of arrays for a pointer of this type; empty if any is accepted."""
        return "" if self.dtype in _NOT_NUMPY else self.dtype


def pointer_to(to: CType) -> CType:
    """Return the type of a pointer."""
    array_or_function = None if to.pointer else re.fullmatch(r"([^(]*?)((?:\[\w*\])+|\(.*\))", to.text)
    text = f"{to.text} *".replace("* *", "**")
    if array_or_function is not None:
        text = "{} (*){}".format(*array_or_function.groups())
    return CType(text, "" if to.pointer else to.dtype, True, to.text.startswith("const "))


def _qualified(of: CType, qualifier: str) -> CType:
    if of.pointer:
        return CType(f"{of.text}{qualifier}", of.dtype, True, of.constant)
    return CType(f"{qualifier} {of.text}", of.dtype)


class _NotRead(Exception):
    """The name contains a construct that is not supported."""


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.seen: list[CType] = []  # substitutions: S_, S0_ and so on
        self.template_arguments: list[
            CType | None
        ] = []  # arguments of the kernel's template; None for values

    def take(self, what: str) -> bool:
        is_next = self.text.startswith(what, self.at)
        self.at += len(what) if is_next else 0
        return is_next

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
        name, arguments = CType(""), None
        while self.next() in _QUALIFIERS:  # of a member function
            self.at += 1
        while not self.take("E"):
            if self.take("I"):
                text, arguments = self.arguments()
                name = CType(name.text + text)
            elif self.take("S"):
                name, arguments = self.substitution(), None
                if self.text[self.at - 1] == "_":
                    continue  # it is in the list already
            else:
                name = CType(f"{name.text}::{self.scope_name()}".removeprefix("::"))
                arguments = None
            self.seen.append(name)
        del self.seen[-1:]  # the whole is in the list as a type, and not as the name of a function
        return name, arguments

    def scope_name(self) -> str:
        """Read a name. The compiler mangles a namespace without a name as ``_GLOBAL__N_`` and more."""
        name = self.name()
        return "(anonymous namespace)" if name.startswith("_GLOBAL__N_") else name

    def function(self) -> tuple[str, list[CType | None] | None]:
        """Read the name of a function or variable, and the arguments of a template; None of no template."""
        if self.take("N"):
            qualified, arguments = self.nested()
            return qualified.text, arguments
        if self.take("Z"):
            return self.local(), None
        self.take("L")  # static
        name = CType(self.name())
        if not self.take("I"):
            return name.text, None
        self.seen.append(name)
        text, arguments = self.arguments()
        return name.text + text, arguments

    def parameters(self, arguments: list[CType | None] | None) -> list[CType]:
        """Read the types of a function's parameters, as far as an E or the end."""
        if arguments is not None:
            self.template_arguments = arguments
            self.type()  # of the result
        types = []
        while self.next() not in ("", "E"):
            types.append(self.type())
        return [] if [each.text for each in types] == ["void"] else types

    def local(self) -> str:
        """Read what is declared inside a function: a variable, a class, or the class of a lambda."""
        outer_arguments = self.template_arguments
        function, arguments = self.function()
        scope = f"{function}({', '.join(each.text for each in self.parameters(arguments))})"
        self.template_arguments = outer_arguments
        if not self.take("E"):
            raise _NotRead
        if not self.take("Ul"):
            name = self.name()
            if self.take("_"):
                self.at += 1  # which of several of this name
            return f"{scope}::{name}"
        of = ", ".join(each.text for each in self.parameters(None))
        self.take("E")
        count = self.number_until("_")
        return f"{scope}::{{lambda({of})#{int(count) + 2 if count else 1}}}"

    def class_type(self) -> CType:
        """Read the name of a class or an enumeration."""
        if self.take("N"):
            ctype, _ = self.nested()
        elif self.take("Z"):
            ctype = CType(self.local())
        else:
            name = self.name()
            ctype = CType(name, _CLASSES.get(name, ""))
            if self.take("I"):
                self.seen.append(ctype)
                ctype = CType(name + self.arguments()[0])
        return ctype

    def type(self) -> CType:
        """Read a type; those that are not numbers can be meant again by S_ and its like."""
        for code in (self.text[self.at : self.at + 2], self.next()):
            if code in _NUMBERS:
                self.at += len(code)
                return CType(*_NUMBERS[code])
        if self.text.startswith(("St", "Sa", "Ss", "Sb", "Si", "So", "Sd"), self.at):
            self.at += 1
            ctype = self.substitution()
            if self.take("I"):
                self.seen.append(ctype)
                ctype = CType(ctype.text + self.arguments()[0])
        elif self.take("S"):
            ctype = self.substitution()
            if not self.take("I"):
                return ctype
            ctype = CType(ctype.text + self.arguments()[0])
        elif self.take("P"):
            ctype = pointer_to(self.type())
        elif self.next() in _QUALIFIERS:
            codes = []
            while self.next() in _QUALIFIERS:
                codes.append(self.next())
                self.at += 1
            ctype = self.type()
            for code in reversed(codes):
                ctype = _qualified(ctype, _QUALIFIERS[code])
        elif self.take("A"):
            extent = self.number_until("_")
            of = self.type()
            ctype = CType(f"{of.text}[{extent}]", of.dtype)
        elif self.take("F"):
            parts = []
            while not self.take("E"):
                parts.append(self.type())
            ctype = CType(f"{parts[0].text}({', '.join(each.text for each in parts[1:])})")
        elif self.take("T"):
            ctype = self.of(self.template_arguments, self.number() + 1)
        else:
            ctype = self.class_type()
        self.seen.append(ctype)
        return ctype

    def number_until(self, end: str) -> str:
        stop = self.text.index(end, self.at)
        digits, self.at = self.text[self.at : stop], stop + 1
        return digits

    def arguments(self) -> tuple[str, list[CType | None]]:
        """Read the arguments of a template as far as their E: as one writes them, and the types."""
        texts: list[str] = []
        types: list[CType | None] = []
        while not self.take("E"):
            if self.take("XadL_Z"):  # an address
                function, of_template = self.function()
                self.parameters(of_template)
                if not self.take("EE"):
                    raise _NotRead
                texts.append(f"&{function}")
                types.append(None)
            elif self.take("L"):
                of = self.type()
                value = self.number_until("E").replace("n", "-")
                texts.append({"0": "false", "1": "true"}[value] if of.dtype == "bool" else value)
                types.append(None)
            elif self.take("J"):
                text, _ = self.arguments()
                texts += [text[1:-1]] if text != "<>" else []
                types.append(None)  # of a pack nothing is read by T_
            else:
                one = self.type()
                types.append(one)
                texts.append(one.text)
        return f"<{', '.join(texts)}>", types


def kernel_name(entry: str) -> str:
    """Return the demangled name of a kernel, with template arguments; unchanged if not supported.

    >>> kernel_name("_Z6reduceIfLj256EEvPKT_PT0_y"), kernel_name("_ZN2ns3addEPf"), kernel_name("plain")
    ('reduce<float, 256>', 'ns::add', 'plain')
    """
    reader = _Reader(entry)
    try:
        return reader.function()[0] if reader.take("_Z") else entry
    except (_NotRead, ValueError, IndexError, KeyError, RecursionError):
        return entry


def parameters(entry: str) -> tuple[CType, ...] | None:
    """Return the types of a kernel's parameters; None if the name does not encode them.

    This is so for ``extern "C"`` kernels, and for rare types.

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
        types = reader.parameters(reader.function()[1])
        return tuple(types) if reader.at == len(entry) else None
    except (_NotRead, ValueError, IndexError, KeyError, RecursionError):
        return None


def demangled_names(entries: Iterable[str]) -> dict[str, str]:
    """Return demangled kernel names; overloads include their parameters.

    >>> list(demangled_names(["_Z3sumPf", "_Z3sumPd", "_Z3maxPf"]).values())
    ['sum(float *)', 'sum(double *)', 'max']
    """
    names = {entry: kernel_name(entry) for entry in entries}
    counts = Counter(names.values())
    for entry, name in names.items():
        if counts[name] > 1:
            names[entry] = _signature(entry)
    return names


def demangled(text: str) -> str:
    """Return a text with demangled names of kernels and of their parameters.

    >>> demangled("kernel _Z3sumPfi: ld.param.u64 %rd1, [_Z3sumPfi_param_0];")
    'kernel sum: ld.param.u64 %rd1, [sum_param_0];'
    """
    mangled = re.compile(r"\b_Z\w+?(?=_param_\d+\b|\b)")
    names = demangled_names(set(mangled.findall(text)))
    return mangled.sub(lambda match: names[match[0]], text)


def spelled(kernel: str) -> str:
    """Return a canonical form of a kernel name."""
    kernel = re.sub(r"\s+", " ", kernel).strip().removeprefix("::")
    kernel = kernel.replace("unsigned int", "unsigned").replace("true", "1").replace("false", "0")
    return re.sub(r"\s*([<>(),*&])\s*", r"\1", re.sub(r"(?<=\d)[uUlL]+\b", "", kernel))


def _signature(entry: str) -> str:
    types = parameters(entry)
    return entry if types is None else f"{kernel_name(entry)}({', '.join(each.text for each in types)})"


def _without_namespace(name: str) -> str:
    scope = re.match(r"(?:\(anonymous namespace\)|[^<(])*::", name)
    return name[scope.end() :] if scope else name


def find_entries(ptx: str, kernel: str) -> tuple[list[str], dict[str, str]]:
    """Return the PTX entries that match a name, mangled or not, and the demangled names of all.

    Namespaces and parameters may be omitted.
    """
    names = demangled_names(re.findall(r"\.entry\s+([\w$]+)", ptx))
    if kernel in names:
        return [kernel], names
    expected = spelled(kernel)
    for form in (kernel_name, _signature):
        for shortened in (str, _without_namespace):
            entries = [entry for entry in names if shortened(spelled(form(entry))) == expected]
            if entries:
                return entries, names
    return [], names
