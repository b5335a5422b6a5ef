"""The variants, their CUDA sources and their PTX."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, SupportsIndex, overload

from gpureduce import _core
from gpureduce._device import devices, libraries
from gpureduce._device.ptx import KERNEL_DIR, ptx_text
from gpureduce._rules.dtypes import DTYPE_TABLE, SUPPORTED, dtype_of

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

# The default, which is not a variant: one launch of a flat kernel for contiguous elements, the general
# kernels otherwise. The core does not have this name.
AUTO = "auto"


@dataclass(frozen=True)
class Variant:
    """A kernel that can be chosen by name: a rung of a ladder, or a kernel related to one.

    Attributes
    ----------
    name : str
        Name, as passed to ``variant=``.
    title, technique : str
        Its idea in a few words, and in one sentence.
    ladder : str
        Ladder that it belongs to: ``"reduction"``, ``"matmul"``, ``"conv"``, ``"exact"``,
        ``"groups"`` or ``"scan"``.
    role : str
        ``"rung"``, ``"side"`` (an alternative to a rung) or ``"study"`` (deliberately wrong, never used by
        default).
    coverage : tuple of (str, str)
        Pairs of an operator and an input dtype that it supports.
    backends : tuple of str
        Backends that run it: ``"cuda"``, ``"sim"``. The simulator also runs variants for compute capability
        9.0.
    block_sizes : tuple of int
        Supported numbers of threads per block; empty for a library, which chooses itself.
    default_block_size : int
        Default number of threads per block; 0 for a library.
    file : str
        Name of its CUDA source file; empty for a library.
    float_atomics : bool
        Whether floating-point results depend on the order in which blocks finish, and may differ from run to
        run.
    fixed_grid : bool
        Whether ``grid_size=`` sets the number of blocks.
    compute_capability : tuple of int
        Minimum compute capability, major and minor.
    after : str or None
        Name of the rung that it improves or is an alternative to, with which tables compare it; None for the
        first.
    precision : str or None
        Arithmetic of float32 matrix products and convolutions, as ``precision=`` of `matmul`; None for
        others.
    only_capability : bool
        Whether it runs on exactly `compute_capability`, and not on later ones.
    ops, dtypes : tuple of str
        Distinct operators and input dtypes in `coverage`.
    installed : bool
        Whether this installation has it: ``cub`` is an optional part of the build, ``cublas`` and ``cudnn``
        are found at run time.

    Examples
    --------
    >>> import gpureduce
    >>> variant = gpureduce.variants("reduction")[1]
    >>> variant.name, variant.title, variant.after
    ('v1', 'Interleaved addressing, strided index', 'v0')
    >>> variant.runs_on("sim"), variant.ops[:3]
    (True, ('sum', 'prod', 'min'))
    """

    name: str
    title: str
    technique: str
    ladder: str
    role: str
    coverage: tuple[tuple[str, str], ...]
    backends: tuple[str, ...]
    block_sizes: tuple[int, ...]
    default_block_size: int
    file: str
    float_atomics: bool
    fixed_grid: bool
    compute_capability: tuple[int, int]
    after: str | None = None
    precision: str | None = None
    only_capability: bool = False

    @property
    def ops(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(op for op, _ in self.coverage))

    @property
    def dtypes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(dtype for _, dtype in self.coverage))

    @property
    def installed(self) -> bool:
        if self.block_sizes:
            return True
        if libraries.is_vendor_library(self.name):
            return libraries.is_available(self.name)
        return (KERNEL_DIR / "libgpureduce_cub.so").exists()

    def runs_on(self, device: str | devices.Device | None = None) -> bool:
        """Return whether this installation can run it on a device.

        Parameters
        ----------
        device : str, Device or None
            Device, as for `reduce`.

        Returns
        -------
        bool

        Raises
        ------
        DeviceError
            If the device does not exist.
        """
        info = devices.device_info(device)
        has, needs = info.compute_capability, self.compute_capability
        able = info.kind == "sim" or (has == needs if self.only_capability else has >= needs)
        return info.kind in self.backends and able and self.installed


class Variants(tuple[Variant, ...]):
    """A tuple of variants that is displayed as a table, and can be indexed by name."""

    __slots__ = ()

    @overload
    def __getitem__(self, key: SupportsIndex | str) -> Variant: ...
    @overload
    def __getitem__(self, key: slice) -> Variants: ...
    def __getitem__(self, key: SupportsIndex | str | slice) -> Variant | Variants:
        if isinstance(key, slice):
            return Variants(super().__getitem__(key))
        if not isinstance(key, str):
            return super().__getitem__(key)
        for variant in self:
            if variant.name == key:
                return variant
        raise KeyError(
            f"unknown variant {key!r}; expected one of {', '.join(variant.name for variant in self)}"
        )

    def __contains__(self, key: object) -> bool:
        if isinstance(key, str):
            return any(variant.name == key for variant in self)
        return super().__contains__(key)

    def __repr__(self) -> str:
        rows = [("name", "title", "ladder", "role", "runs on"), *map(_row, self)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        names = ("name", "title", "technique", "ladder", "role", "runs on")
        rows = [f"<tr>{''.join(f'<th style=text-align:left>{name}</th>' for name in names)}</tr>"]
        for variant in self:
            name, title, *rest = _row(variant)
            cells = (f"<code>{name}</code>", escape(title), escape(variant.technique), *rest)
            rows.append(f"<tr>{''.join(f'<td style=text-align:left>{cell}</td>' for cell in cells)}</tr>")
        return f"<table>{''.join(rows)}</table>"


def _row(variant: Variant) -> tuple[str, ...]:
    major, minor = variant.compute_capability
    cuda = (
        f"cuda {major}.{minor}{'' if variant.only_capability else '+'}"
        if variant.compute_capability > _LEAST
        else "cuda"
    )
    places = [cuda if backend == "cuda" else backend for backend in variant.backends]
    return variant.name, variant.title, variant.ladder, variant.role, ", ".join(places)


# Built at import: without a GIL, threads would wait for each other in functools.cache, and a forked child
# could deadlock there.
_ALL = Variants(
    Variant(*row[:9], row[9] and row[9] + ".cu", *row[10:-3], row[-3] or None, row[-2] or None, row[-1])
    for row in _core.variants()
)
_BY_NAME = {variant.name: variant for variant in _ALL}
_LEAST = min(variant.compute_capability for variant in _ALL)
_LADDERS = {
    ladder: Variants(variant for variant in _ALL if variant.ladder == ladder)
    for ladder in dict.fromkeys(variant.ladder for variant in _ALL)
}
NAMES = tuple(_BY_NAME)
# The operators of each, by name.
COVERED = {variant.name: frozenset(variant.ops) for variant in _ALL}


def variants(ladder: str | None = None) -> Variants:
    """Return all variants, or those of one ladder.

    Parameters
    ----------
    ladder : str, optional
        Ladder, as in `Variant.ladder`. Default: all variants. Names are unique across ladders.

    Returns
    -------
    tuple of Variant
        Variants in ladder order, displayed as a table. It can be indexed by name: ``variants()["v7"]``,
        ``"v7" in variants()``.

    Raises
    ------
    ValueError
        If the ladder is unknown; the message lists the known ones.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.variants("reduction")[:2]
    name  title                                  ladder     role  runs on
    v0    Interleaved addressing, modulo test    reduction  rung  cuda, sim
    v1    Interleaved addressing, strided index  reduction  rung  cuda, sim
    >>> gpureduce.variants()["v7"].title
    'Warp shuffle'
    """
    if ladder is None:
        return _ALL
    if not isinstance(ladder, str):
        raise TypeError(f"ladder: expected str or None, got {type(ladder).__name__}")
    if ladder not in _LADDERS:
        raise ValueError(f"ladder: unknown ladder {ladder!r}; expected one of {', '.join(_LADDERS)}")
    return _LADDERS[ladder]


def find(variant: str, *also: str, ladder: str | None = None) -> Variant:
    """Return the record of a variant, of any ladder or of one.

    `also` is an additional name for the error message.
    """
    if not isinstance(variant, str):
        raise TypeError(f"variant: expected str, got {type(variant).__name__}")
    row = _BY_NAME.get(variant)
    if row is not None and ladder in (None, row.ladder):
        return row
    names = ", ".join([*also, *(entry.name for entry in variants(ladder))])
    what = (
        f"unknown variant {variant!r}" if row is None else f"{variant} belongs to the ladder {row.ladder!r}"
    )
    raise ValueError(f"variant: {what}; expected one of {names}")


def source(variant: str) -> str:
    """Return the CUDA C++ source of a variant.

    Parameters
    ----------
    variant : str
        Name of the variant, as in `variants`.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If the name is unknown, or names a library without public source (``cublas``, ``cudnn``).

    Examples
    --------
    >>> import gpureduce
    >>> print(gpureduce.source("v7").splitlines()[0])
    // v7: warp shuffle.
    """
    file = find(variant).file
    if not file:
        raise ValueError(f"variant: {variant} is a library, whose source is not public")
    return next((KERNEL_DIR / "src").rglob(file)).read_text(encoding="utf-8")


def ptx(variant: str, op: str | None = None, dtype: DTypeLike | None = None) -> str:
    """Return the PTX of a variant, which the simulator runs and GPU machine code is compiled from.

    Parameters
    ----------
    variant : str
        Name of the variant, as in `variants`.
    op : str, optional
        Operator whose kernels to return, with the declarations that they use. Default: all kernels.
    dtype : dtype_like, optional
        Dtype of elements whose kernels to return. Default: all kernels.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If the name is unknown, or names a library (``cub``, ``cublas``, ``cudnn``), or if the variant does
        not cover the operator or the dtype; the message lists valid values.

    Examples
    --------
    >>> import gpureduce
    >>> text = gpureduce.kernels.ptx("v7", op="sum", dtype="float32")
    >>> [line for line in text.splitlines() if ".entry" in line]
    ['.visible .entry v7_sum_f32(']
    >>> "shfl.sync.down" in text
    True
    """
    entry = find(variant)
    if not entry.block_sizes:
        raise ValueError(f"variant: {variant} has no PTX of its own; a library launches kernels for it")
    text = ptx_text(entry.file)
    if op is None and dtype is None:
        return text
    from gpureduce._device.extraction import extract_kernels  # not at import: its patterns take a millisecond

    return extract_kernels(text, _chosen(entry, op, dtype))


def _name(dtype: DTypeLike) -> str:
    try:
        return dtype if isinstance(dtype, str) and dtype in SUPPORTED else dtype_of(dtype).name
    except TypeError:
        return repr(dtype)


def _chosen(variant: Variant, op: str | None, dtype: DTypeLike | None) -> Callable[[str], bool]:
    """Return whether a kernel name of the variant is for an operator and a dtype."""
    if op is not None and not (isinstance(op, str) and op in variant.ops):
        raise ValueError(f"op: {variant.name} covers {', '.join(variant.ops)}, not {op!r}")
    taken = tuple(each for name, each in variant.coverage if op in (None, name))
    named = None if dtype is None else _name(dtype)
    if named is not None and named not in taken:
        what = variant.name if op is None else f"{variant.name} for {op}"
        raise ValueError(f"dtype: {what} covers {', '.join(dict.fromkeys(taken))}, not {named}")
    others = {row.name for row in DTYPE_TABLE if row.numpy_name != named}
    if variant.ladder != "reduction":  # a kernel that names no dtype is for all
        return lambda kernel: named is None or others.isdisjoint(kernel.split("_"))
    ops = variant.ops if op is None else (op,)
    kinds = [row.name for row in DTYPE_TABLE if named in (None, row.numpy_name)]
    pattern = re.compile(f"{variant.name}_({'|'.join(ops)})_({'|'.join(kinds)})(_places)?(_b[0-9]+)?")
    return lambda kernel: pattern.fullmatch(kernel) is not None
