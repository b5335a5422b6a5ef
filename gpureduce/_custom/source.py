"""Generates the CUDA C++ of a custom reduction from its parameters and expressions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpureduce._rules.dtypes import SUPPORTED

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
NUMBER = "_J"  # the name of an element's index in map expressions, as in CuPy
_STRUCT = re.compile(r"\s*struct\s+([A-Za-z_][A-Za-z0-9_]*)[^;{]*\{")
_OWN_STRUCT = "_type_reduce"  # CuPy's name of the type


def text(value: Any, name: str) -> str:
    """Return a str, or raise TypeError."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected str, got {type(value).__name__}")
    return value


@dataclass(frozen=True)
class Parameter:
    """``"T x"``: the name of a parameter, and its dtype or a letter that stands for one."""

    name: str
    type: str

    @property
    def is_letter(self) -> bool:
        return len(self.type) == 1


def _parameter(words: list[str], which: str) -> Parameter:
    if len(words) < 2 or not IDENTIFIER.fullmatch(words[-1]):
        raise ValueError(f"{which}: expected a type and a name, got {' '.join(words)!r}")
    *keywords, kind, name = words
    if keywords:
        raise ValueError(
            f"{which}: {keywords[0]!r} in {' '.join(words)!r} is not supported; expressions see one element"
        )
    if kind not in SUPPORTED and not (len(kind) == 1 and IDENTIFIER.fullmatch(kind)):
        raise ValueError(
            f"{which}: unknown type {kind!r}; expected one of {', '.join(SUPPORTED)}, or one letter, which "
            "stands for any of them"
        )
    return Parameter(name, kind)


def parameters(declared: Any, which: str, most: int) -> tuple[Parameter, ...]:
    """Parse a list such as ``"T x, float32 w"``."""
    parsed = tuple(_parameter(part.split(), which) for part in text(declared, which).split(","))
    if len(parsed) > most:
        raise ValueError(f"{which}: {len(parsed)} parameters; at most {most} are supported")
    return parsed


def accumulator(declaration: Any) -> str | list[tuple] | None:
    """Parse a reduce_type: text unchanged, a dtype with fields as a list of fields, which repr shows."""
    if declaration is None:
        return None
    if isinstance(declaration, str):
        if not declaration.strip():
            raise ValueError("reduce_type: expected a type, got nothing")
        return declaration
    try:
        dtype = np.dtype(declaration)
    except TypeError:
        raise TypeError(
            f"reduce_type: expected str or a dtype with fields, got {type(declaration).__name__}"
        ) from None
    if dtype.names is None:
        return dtype.name
    return [_field(name, dtype[name]) for name in dtype.names]


def _field(name: str, dtype: np.dtype) -> tuple:
    base, shape = dtype.base, dtype.shape
    if not IDENTIFIER.fullmatch(name):
        raise ValueError(f"reduce_type: {name!r} is not a valid name of a C++ field")
    if base.name not in SUPPORTED:
        raise TypeError(
            f"reduce_type: field {name!r} has dtype {base}; expected one of {', '.join(SUPPORTED)}"
        )
    return (name, base.name, shape) if shape else (name, base.name)


@dataclass(frozen=True)
class Expressions:
    """The expressions of a user."""

    map_expr: str
    reduce_expr: str
    post_map_expr: str
    identity: str
    reduce_type: str | list[tuple] | None
    preamble: str

    @property
    def counts(self) -> bool:
        """Whether the map expression uses the index of an element."""
        return re.search(rf"\b{NUMBER}\b", self.map_expr) is not None

    def reduced(self, letters: dict[str, str], first_out: str) -> tuple[str, str]:
        """Return the name of the reduced type, or of a dtype, and C++ that defines it."""
        kind = self.reduce_type
        if kind is None:
            return first_out, ""
        if isinstance(kind, list):
            fields = [_declared(*field) for field in kind]
            return _OWN_STRUCT, f"struct {_OWN_STRUCT} {{ {' '.join(fields)} }};"
        match = _STRUCT.match(kind)
        return (match[1], f"{kind};") if match else (letters.get(kind, kind), "")


def _declared(name: str, dtype: str, shape: tuple[int, ...] = ()) -> str:
    return f"{_element(dtype)}::Value {name}{''.join(f'[{extent}]' for extent in shape)};"


@dataclass(frozen=True)
class Types:
    """Types of one compilation: dtypes by name, and which inputs are scalars."""

    inputs: tuple[str, ...]
    scalars: tuple[bool, ...]
    outs: tuple[str, ...]
    packed: bool  # whether there are kernels for elements that are contiguous
    large: bool = False  # whether States may have more than 32 bytes

    @property
    def one_array(self) -> bool:
        """Whether an array is the only input."""
        return self.scalars == (False,)

    @property
    def by_position(self) -> bool:
        """Whether there are more arrays than the plan has strides for."""
        return self.scalars.count(False) > 2


def _element(dtype: str) -> str:
    return f"gr::reduce::element_{dtype}"


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _lines(where: str, written: str) -> str:
    """Return text on separate lines, which the compiler numbers from 1 in a file `where`."""
    return f'\n#line 1 "{where}"\n{written}\n'


def _function(declaration: str, declared: str, where: str, expression: str) -> str:
    """Return a function of an expression, or of the members of a struct in braces."""
    written = _lines(where, expression)
    braced = expression.lstrip().startswith("{")
    value = f"gr_value{written}" if braced else f"static_cast<gr_value>({written})"
    return f"static __device__ __forceinline__ gr_value {declaration}({declared}) {{return {value};}}\n"


def _reads(types: Types) -> list[str]:
    """Return the expression that reads one element, for each input."""
    places = iter(["p.general.in + in", "p.general.second + second"])
    reads = []
    for number, (dtype, is_scalar) in enumerate(zip(types.inputs, types.scalars, strict=True)):
        if is_scalar:
            reads.append(f"gr::reduce::read_scalar<{_element(dtype)}>(p.inputs[{number}])")
        elif types.by_position:
            reads.append(f"gr::reduce::read_position<{_element(dtype)}, Even>(p.inputs[{number}], in)")
        else:
            reads.append(f"gr::reduce::read_address<{_element(dtype)}>({next(places)})")
    return reads


def _loads(types: Types, counts: bool) -> str:
    """Return the members of struct User that load and map elements; mapping is separate for indices."""
    reads = ", ".join(_reads(types))
    if not counts:
        loaded, load, mapped = "using Loaded = Value;", f"gr_map({reads})", "x"
    else:
        fields = [f"{_element(dtype)}::Value x{i};" for i, dtype in enumerate(types.inputs)]
        loaded, load = f"struct Loaded {{ {' '.join(fields)} }};", f"{{{reads}}}"
        mapped = f"gr_map({', '.join(f'x.x{i}' for i in range(len(fields)))}, number)"
    return f"""
    {loaded}
    template <bool Even>
    static __device__ Loaded load_at(const gr_custom_params &p, int64_t in, int64_t second) {{
        return {load};
    }}
    static __device__ Value map_loaded(const Loaded &x, int64_t number) {{
        return {mapped};
    }}"""


def _results(outs: tuple[str, ...]) -> str:
    """Return the members of struct User that compute results from a value, and store several."""
    elements = [_element(out) for out in outs]
    names = [f"y{i}" for i in range(len(outs))]
    values = "".join(
        f"{element}::Value {name} = {{}}; " for element, name in zip(elements, names, strict=True)
    )
    stored = [f"{element}::store({name})" for element, name in zip(elements, names, strict=True)]
    call = f"{values}gr_post_map(a, {', '.join(names)});"
    if len(outs) == 1:
        return f"""
    using Out = {elements[0]}::Stored;
    static __device__ Out result(Value a) {{
        {call}
        return {stored[0]};
    }}"""
    fields = [f"alignas(16) {e}::Stored {name};" for e, name in zip(elements, names, strict=True)]
    writes = [
        f"reinterpret_cast<{element}::Stored *>(p.general.out + p.outs[{i}])[index] = y.{name};"
        for i, (element, name) in enumerate(zip(elements, names, strict=True))
    ]
    return f"""
    struct Out {{ {" ".join(fields)} }};
    static __device__ Out result(Value a) {{
        {call}
        return {{{", ".join(stored)}}};
    }}
    static __device__ void spread(const gr_custom_params &p, uint64_t index, const Out &y) {{
        {" ".join(writes)}
    }}"""


def source(
    name: str,
    inputs: tuple[Parameter, ...],
    outs: tuple[Parameter, ...],
    written: Expressions,
    types: Types,
    kernels: Iterable[str],
) -> str:
    """Return a program of the kernels "axis", "last" and so on, called <name>_axis, <name>_last."""
    declared = [*zip(inputs, types.inputs, strict=True), *zip(outs, types.outs, strict=True)]
    letters = {parameter.type: dtype for parameter, dtype in declared if parameter.is_letter}
    reduced, struct = written.reduced(letters, types.outs[0])
    value = f"{_element(reduced)}::Value" if reduced in SUPPORTED else reduced
    number = f", const int64_t {NUMBER}" if written.counts else ""
    read, results = declared[: len(inputs)], declared[len(inputs) :]
    arguments = ", ".join(f"const {_element(dtype)}::Value {p.name}" for p, dtype in read) + number
    set_ = ", ".join(f"{_element(dtype)}::Value &{p.name}" for p, dtype in results)
    one = f"gr_map(x{', number' if number else ''})" if types.one_array else "Value()"
    parts = [
        '#include "grid/large_states.cuh"\n' if types.large else "",
        '#include "reduce/custom.cuh"\nusing gr::common::complex;\n',
        *(f"typedef {_element(dtype)}::Value {letter};\n" for letter, dtype in letters.items()),
        _lines("reduce_type", struct) if struct else "",
        _lines("preamble", written.preamble),
        f"typedef {_lines('reduce_type', value)} gr_value;\n",
        "" if value == _OWN_STRUCT else f"typedef gr_value {_OWN_STRUCT};\n",
        _function("gr_map", arguments, "map_expr", written.map_expr),
        _function("gr_reduce", "gr_value a, gr_value b", "reduce_expr", written.reduce_expr),
        # It is not called without an identity.
        _function("gr_identity", "", "identity", written.identity or "gr_value()"),
        f"static __device__ __forceinline__ void gr_post_map(gr_value a, {set_}) {{",
        f"{_lines('post_map_expr', written.post_map_expr)};}}\n",
        f"""
#line 1 "{name}"
struct User {{
    using Value = gr_value;
    using First = {_element(types.inputs[0])};
    static constexpr bool has_identity = {_truth(bool(written.identity))};
    static constexpr bool by_position = {_truth(types.by_position)};{_loads(types, written.counts)}
    static __device__ Value map_one(First::Value x, int64_t number) {{
        return {one};
    }}
    static __device__ Value reduce(Value a, Value b) {{
        return gr_reduce(a, b);
    }}
    static __device__ Value identity() {{
        return gr_identity();
    }}{_results(types.outs)}
}};
""",
    ]
    if len(types.outs) > 1:
        parts.append("GR_CUSTOM_OUTPUTS\n")
    parts += [f"GR_CUSTOM_{kernel.upper()}({name})\n" for kernel in kernels]
    return "".join(parts)
