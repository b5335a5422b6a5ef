"""Supported dtypes, and dtypes of results.

Both follow from the core's `dtypes.def`. Loop dtypes come from the installed NumPy
(`numpy.ufunc.resolve_dtypes`).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpureduce import _core

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


def dtype_of(dtype: DTypeLike | None, name: str = "dtype") -> np.dtype:
    """Return the NumPy dtype for ``dtype=``, which may be a PyTorch dtype."""
    try:
        return np.dtype(dtype)
    except UnicodeError:  # text with lone surrogates
        raise TypeError(f"{name}: data type {dtype!r} not understood") from None
    except (TypeError, ValueError) as error:
        kind = getattr(sys.modules.get("torch"), "dtype", None)
        if kind is None or not isinstance(dtype, kind):
            raise TypeError(f"{name}: {error}") from None
    dtype_text = str(dtype).removeprefix("torch.")
    if dtype_text not in SUPPORTED:
        raise TypeError(f"{name}: dtype {dtype} is not supported; supported are {', '.join(SUPPORTED)}")
    return dtype_from_name(dtype_text)


class DtypeRow(NamedTuple):
    """A row of `dtypes.def`; `code` and `bits` are DLPack's."""

    name: str
    numpy_name: str
    item_bytes: int
    kind: str
    sum: str
    mean: str
    scope: str
    code: int
    bits: int


_INT, _UINT, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6  # DLPack's codes
_ORDER = {_BOOL: 0, _INT: 1, _UINT: 2, _FLOAT: 3, _BFLOAT: 3, _COMPLEX: 4}
# As messages list them: by kind, then by size.
DTYPE_TABLE = tuple(
    sorted((DtypeRow(*row) for row in _core.dtypes()), key=lambda row: (_ORDER[row.code], row.bits))
)
SUPPORTED = tuple(row.numpy_name for row in DTYPE_TABLE)

UFUNCS = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}

# Operators that have no result for no elements.
WITHOUT_IDENTITY = ("min", "max", "argmin", "argmax")

BOOL = np.dtype(bool)

# NumPy builds a dtype's name at each access, in 1.5 us. bfloat16 exists once ml_dtypes is imported; its sums
# and means have its own dtype. No functools.cache: another thread might fork while its lock is held.
_OWN = [row for row in DTYPE_TABLE if row.code != _BFLOAT]
_NAMES = {np.dtype(row.numpy_name): row.numpy_name for row in _OWN}
_NATIVE = {dtype: dtype for dtype in _NAMES}
# Per operator: result dtypes that differ from the dtype of the elements, by name.
_RESULTS = {
    op: {given: np.dtype(result) for given, result in results if given != result}
    for op, _, results in _core.operators()
}
# The dtypes of operators with their own kernel files, and of reductions of two operands.
COVERAGE = {
    op: tuple(given for given, _ in results)
    for op, traits, results in _core.operators()
    if not traits & _core.SHARES_FILE
}
PAIRS = tuple(op for op, traits, _ in _core.operators() if traits & _core.OF_PAIR)


def dtype_name(dtype: np.dtype) -> str:
    """Return NumPy's name of a dtype."""
    return _NAMES.get(dtype) or dtype.name


def dtype_from_name(name: str) -> np.dtype:
    """Return the dtype of a name in `SUPPORTED`."""
    if name != "bfloat16":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ModuleNotFoundError:
        raise TypeError("bfloat16 arrays need the package ml_dtypes") from None
    return np.dtype(ml_dtypes.bfloat16)


def is_supported(dtype: np.dtype) -> bool:
    """Return whether kernels support the dtype in native byte order."""
    return dtype in _NATIVE or dtype.name in SUPPORTED


def require_supported(dtype: np.dtype, name: str) -> None:
    """Raise TypeError, with the supported dtypes, unless kernels support the dtype."""
    if dtype in _NATIVE:
        return
    if not is_supported(dtype) or (dtype.name == "bfloat16" and not dtype.isnative):
        raise TypeError(f"{name}: dtype {dtype} is not supported; supported are {', '.join(SUPPORTED)}")


def native(dtype: np.dtype, name: str) -> np.dtype:
    """Return the dtype in native byte order, and int64 for `long` and `long long`; TypeError for others."""
    known = _NATIVE.get(dtype)
    if known is not None:
        return known
    require_supported(dtype, name)
    return dtype if dtype.name == "bfloat16" else np.dtype(dtype.name)


def core_dtype(op: str, dtype: np.dtype) -> np.dtype:
    """Return the dtype of the core's result of `op` for elements of `dtype`."""
    return _RESULTS.get(op, {}).get(dtype_name(dtype), dtype)


def variance_elements(elements: np.dtype, requested: np.dtype) -> np.dtype:
    """Return the dtype of elements whose variance has a requested dtype.

    Complex elements stay complex for a real dtype, as their variance is real.
    """
    if elements.kind != "c" or requested.kind == "c":
        return requested
    return np.dtype(np.complex64 if requested.itemsize <= 4 else np.complex128)


def loop_dtype(op: str, source: np.dtype, dtype: DTypeLike | None, out: np.dtype | None) -> np.dtype:
    """Return the dtype in which NumPy accumulates, which is also the dtype of the result.

    As in NumPy, ``out=`` influences the choice if ``dtype=`` is not given.
    """
    first, second = out, source
    if dtype is not None:
        first = second = dtype_of(dtype)
        if not first.isnative:
            raise TypeError(f"dtype: {first} selects a byte order; only native byte order is supported")
        require_supported(first, "dtype")
    try:
        resolved = UFUNCS[op].resolve_dtypes((first, second, None), reduction=True, casting="unsafe")[0]
    except TypeError:
        raise TypeError(f"{'a' if dtype is None else 'dtype'}: {op} takes no {second}") from None
    return canonical_dtype(resolved, "out")


def canonical_dtype(dtype: np.dtype, name: str) -> np.dtype:
    """Return the dtype in native byte order; `long long` stays distinct from int64, as in NumPy."""
    return dtype if dtype in _NATIVE else native(dtype, name)  # both names are found there
