"""Rungs as self-contained files, for nvcc."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

from gpureduce import _core
from gpureduce._course.host import Launch, host_part
from gpureduce._device.ptx import KERNEL_DIR
from gpureduce._device.variants import Variant, find, source, variants
from gpureduce._rules.dtypes import DTYPE_TABLE, dtype_of
from gpureduce._version import __version__

# One type for elements and results: a later pass runs the kernel of the first.
_TYPES = {"float32": "float", "float64": "double", "int64": "int64_t"}
_INCLUDE = re.compile(r'^#\s*include "([^"]+)"', re.MULTILINE)
_RULE = "// " + "-" * 20


def _launches() -> dict[str, Launch]:
    return {row[0]: Launch(*row[1:]) for row in _core.ladder_launches()}


def exported() -> list[str]:
    """Return the names of the variants that can be exported."""
    return [variant.name for variant in variants("reduction") if _fits(variant)]


def _fits(variant: Variant) -> bool:
    return variant.role == "rung" or variant.name == "grid_stride"


def _structs_named(text: str, *names: str) -> str:
    """Return the class templates of these names in a header, with the comments above them."""
    blocks = re.split(r"\n\n(?=\S)", text)
    chosen = [block for block in blocks if any(re.search(rf"\bstruct {name}\b", block) for name in names)]
    return "\n\n".join(chosen)


def _own_lines(text: str) -> str:
    """Return a source without includes, our namespaces, and the instantiations of the kernels."""
    left_out = re.compile(
        r"#\s*(include\b|pragma once|define GR_\w+( \w+)?$)|using namespace gr::|(} // )?namespace gr::"
        r"|using namespace \w+;$"
    )
    return "\n".join(line for line in text.splitlines() if not left_out.match(line)).strip()


def _headers(text: str, headers: dict[str, str]) -> dict[str, str]:
    """Return our headers that a source includes, dependencies first."""
    for name in _INCLUDE.findall(text):
        if name in headers or name == "reduce/ladder/instantiate.cuh":
            continue
        header = (KERNEL_DIR / "src" / "include" / name).read_text("utf-8")
        if name.endswith(".h"):  # shared with C; kernels need the constants
            headers[name] = "\n".join(re.findall(r"^enum \{.*?^\};", header, re.MULTILINE | re.DOTALL))
        else:
            _headers(header, headers)
            headers[name] = _own_lines(header)
    return headers


def _kernel(variant: Variant, launch: Launch, type_: str, entry: str) -> str:
    """Return the one kernel of the file."""
    more = ", block_sums, ticket" if launch.output == "last" else ""
    declared = f", {type_} *block_sums, unsigned *ticket" if more else ""
    template = variant.name in _templates()
    arguments = f"Sum<{type_}>, {type_}, {type_}" + (", BLOCK" if template else "")
    bound = "BLOCK" if template else "1024"
    return (
        f'extern "C" __global__ void __launch_bounds__({bound})\n'
        f"    {entry}(const {type_} *in, {type_} *out, uint64_t n{declared}) {{\n"
        f"    reduce<{arguments}>(in, out, n{more});\n}}"
    )


def _templates() -> set[str]:
    """Return the rungs whose block size is an argument of a template."""
    return {name for name in exported() if "#define GR_TEMPLATE_BLOCK" in source(name)}


def entry_of(variant: str, dtype: str) -> str:
    """Return the name of the kernel in an exported file."""
    short = next(row.name for row in DTYPE_TABLE if row.numpy_name == dtype)
    return f"{variant}_sum_{short}"


def export(variant: str, *, dtype: Any = "float32", block_size: int | None = None) -> str:
    """Return a rung as one self-contained CUDA C++ file.

    The file has the kernel of the rung, with its headers inlined, and a ``main`` that fills an array, reduces
    it, compares the sum with a host sum (for lengths that are multiples of the block size, and for others),
    and times the kernel. nvcc compiles it without other files. `simulate` accepts the same file, and ignores
    the host code.

    Parameters
    ----------
    variant : str
        Name of a rung of the reduction ladder, as in `variants`.
    dtype : dtype_like
        Dtype of the elements: float32, float64 or int64.
    block_size : int, optional
        Threads per block. Default: chosen by the rung.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If the variant or the dtype cannot be exported, or the rung does not support the block size.

    Examples
    --------
    >>> import gpureduce
    >>> text = gpureduce.kernels.export("v7")
    >>> print(text.splitlines()[0])
    // v7: warp shuffle.
    >>> "int main(" in text and '#include "' not in text
    True
    """
    exported_variant = find(variant, ladder="reduction")
    if not _fits(exported_variant):
        raise ValueError(f"variant: {variant} cannot be exported; expected one of {', '.join(exported())}")
    name = dtype_of(dtype).name
    if name not in _TYPES:
        raise ValueError(f"dtype: expected one of {', '.join(_TYPES)}, got {name}")
    block = exported_variant.default_block_size if block_size is None else block_size
    if not isinstance(block, int) or block not in exported_variant.block_sizes:
        raise ValueError(
            f"block_size: {block!r} is not one of the block sizes of {variant}: "
            f"{', '.join(map(str, exported_variant.block_sizes))}"
        )
    launch, type_, entry = _launches()[variant], _TYPES[name], entry_of(variant, name)
    head, body = re.match(r"((?://[^\n]*\n)*)(.*)", source(variant), re.DOTALL).groups()  # type: ignore[union-attr]
    major, minor = exported_variant.compute_capability
    operators = KERNEL_DIR / "src" / "include" / "reduce" / "ladder" / "ops.cuh"
    operator = _structs_named(operators.read_text("utf-8"), "Wrapping", "Sum")
    parts = [
        head.rstrip(),
        "//",
        f"// The rung by itself, of gpureduce {__version__} (gpureduce export {variant}):",
        f"//   nvcc -O3 -std=c++17 -fmad=false -arch=sm_{major}{minor} {variant}.cu -o {variant}"
        f"   # or a later architecture",
        f"//   ./{variant} 33554432",
        "#include <cstdint>",
        "",
        f"constexpr unsigned BLOCK = {block}; // threads per block",
        "",
        f"{_RULE} the operator, of ops.cuh",
        operator,
        *(
            line
            for name, header in _headers(body, {}).items()
            for line in ("", f"{_RULE} {PurePosixPath(name).name}", header)
        ),
        "",
        f"{_RULE} the rung",
        _own_lines(body),
        "",
        _kernel(exported_variant, launch, type_, entry),
        "",
        host_part(exported_variant, launch, type_, entry),
    ]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts))
