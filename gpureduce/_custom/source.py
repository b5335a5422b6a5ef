"""The CUDA C++ of a custom reduction: its parameters, and the functions that its expressions become."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from gpureduce._rules.dtypes import SUPPORTED

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


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
    """Read a list such as ``"T x, float32 w"``."""
    found = tuple(_parameter(part.split(), which) for part in text(declared, which).split(","))
    if len(found) > most:
        raise ValueError(f"{which}: {len(found)} parameters; at most {most} are supported")
    return found


@dataclass(frozen=True)
class Expressions:
    """What a user wrote."""

    map_expr: str
    reduce_expr: str
    post_map_expr: str
    identity: str
    reduce_type: str | None
    preamble: str


@dataclass(frozen=True)
class Types:
    """What one compilation is for: dtypes by name, and which inputs are scalars."""

    inputs: tuple[str, ...]
    scalars: tuple[bool, ...]
    out: str
    packed: bool  # whether there are kernels for elements that lie side by side

    @property
    def one_array(self) -> bool:
        """Whether an array is the only input."""
        return self.scalars == (False,)

    @property
    def by_position(self) -> bool:
        """Whether there are more arrays than the plan follows the strides of."""
        return self.scalars.count(False) > 2


def _element(dtype: str) -> str:
    return f"element_{dtype}"


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _lines(where: str, written: str) -> str:
    """Return text on lines of its own, which the compiler counts from 1 and calls `where`."""
    return f'\n#line 1 "{where}"\n{written}\n'


def _function(declaration: str, declared: str, where: str, expression: str) -> str:
    return (
        f"static __device__ __forceinline__ gr_value {declaration}({declared}) {{"
        f"return static_cast<gr_value>({_lines(where, expression)});}}\n"
    )


def _reads(types: Types) -> str:
    """Return an argument of gr_map for each input: how one element of it is read."""
    places = iter(["p.general.in + in", "p.general.second + second"])
    reads = []
    for number, (dtype, is_scalar) in enumerate(zip(types.inputs, types.scalars, strict=True)):
        if is_scalar:
            reads.append(f"read_scalar<{_element(dtype)}>(p.inputs[{number}])")
        elif types.by_position:
            reads.append(f"read_position<{_element(dtype)}, Even>(p.inputs[{number}], in)")
        else:
            reads.append(f"read_address<{_element(dtype)}>({next(places)})")
    return ", ".join(reads)


def source(
    name: str, inputs: tuple[Parameter, ...], out: Parameter, written: Expressions, types: Types
) -> str:
    """Return a program of the kernels <name>_axis, <name>_last and so on."""
    declared = [*zip(inputs, types.inputs, strict=True), (out, types.out)]
    letters = {parameter.type: dtype for parameter, dtype in declared if parameter.is_letter}
    reduce_type = written.reduce_type or types.out
    if reduce_type in SUPPORTED:
        reduce_type = f"{_element(reduce_type)}::Value"
    arguments = ", ".join(f"const {_element(dtype)}::Value {p.name}" for p, dtype in declared[:-1])
    result = f"{_element(types.out)}::Value &{out.name}"
    parts = [
        '#include "custom.cuh"\n',
        *(f"typedef {_element(dtype)}::Value {letter};\n" for letter, dtype in letters.items()),
        _lines("preamble", written.preamble),
        f"typedef {_lines('reduce_type', reduce_type)} gr_value;\n",
        _function("gr_map", arguments, "map_expr", written.map_expr),
        _function("gr_reduce", "gr_value a, gr_value b", "reduce_expr", written.reduce_expr),
        # Without an identity nobody calls it.
        _function("gr_identity", "", "identity", written.identity or "gr_value()"),
        f"static __device__ __forceinline__ void gr_post_map(gr_value a, {result}) {{",
        f"{_lines('post_map_expr', written.post_map_expr)};}}\n",
        f"""
#line 1 "{name}"
struct User {{
    using Value = gr_value;
    using First = {_element(types.inputs[0])};
    using Out = {_element(types.out)};
    static constexpr bool has_identity = {_truth(bool(written.identity))};
    static constexpr bool by_position = {_truth(types.by_position)};
    template <bool Even>
    static __device__ Value map_at(const gr_custom_params &p, int64_t in, int64_t second) {{
        return gr_map({_reads(types)});
    }}
    static __device__ Value map_one(First::Value x) {{
        return {"gr_map(x)" if types.one_array else "Value()"};
    }}
    static __device__ Value reduce(Value a, Value b) {{
        return gr_reduce(a, b);
    }}
    static __device__ Value identity() {{
        return gr_identity();
    }}
    static __device__ void post_map(Value a, Out::Value &y) {{
        gr_post_map(a, y);
    }}
}};
""",
    ]
    parts.append(f"GR_CUSTOM_ANY({name})\n")
    if types.one_array:
        parts.append(f"GR_CUSTOM_FLAT({name})\n")
    if types.packed:
        parts.append(f"GR_CUSTOM_PACKED({name})\n")
    return "".join(parts)
