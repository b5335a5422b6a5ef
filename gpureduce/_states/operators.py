"""What a state of each operator holds, how two are merged, and what comes of one."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from gpureduce._reduce import states as exact
from gpureduce._rules import arguments as rules
from gpureduce._rules.callers import outside_level

Fields = dict[str, np.ndarray]

IDENTITIES = {"all": 1, "prod": 1, "bitwise_and": -1}  # of the others 0, or none
COUNT, INDEX, TRUTH = np.dtype(np.uint64), np.dtype(np.int64), np.dtype(bool)
MOST = 2**63 - 1  # elements


class Operator(NamedTuple):
    """One operator.

    `fields` says what a state of elements of a dtype holds, by name: a dtype, or for exact sums how many
    there are and their size. `merge` changes the fields of one by those of another. `result` gives results in
    a dtype.
    """

    fields: Callable[[np.dtype], dict[str, np.dtype | tuple[int, exact.Size]]]
    merge: Callable[[Fields, Fields], None]
    result: Callable[[Fields, np.dtype, np.dtype, float], np.ndarray]


# Sums


def _sum_fields(held: np.dtype) -> dict:
    return {"sum": (exact.parts(held), exact.size_of_sum(held))}


def _dot_fields(held: np.dtype) -> dict:
    return {"sum": (exact.parts(held), exact.size_of_products(held))}


def _mean_fields(held: np.dtype) -> dict:
    return {"count": COUNT, **_sum_fields(held)}


def _spread_fields(held: np.dtype) -> dict:
    return {**_mean_fields(held), "squares": (1, exact.size_of_products(held))}


def _add(mine: Fields, theirs: Fields) -> None:
    for name, field in mine.items():
        if name != "count":
            exact.merge(field, theirs[name])
    if "count" in mine:  # after what may fail
        mine["count"] += theirs["count"]


def _sum(fields: Fields, held: np.dtype, dtype: np.dtype, ddof: float) -> np.ndarray:
    total = fields["sum"]
    if held.kind != "i":
        return exact.rounded(total, _sum_fields(held)["sum"][1], dtype)
    limits, found = np.iinfo(dtype), exact.integers(total)
    for value in found:
        if not limits.min <= value <= limits.max:
            raise OverflowError(f"sum: {value} does not fit {dtype}")
    return np.array(found, dtype).reshape(total.shape[:-2])


def _dot(fields: Fields, held: np.dtype, dtype: np.dtype, ddof: float) -> np.ndarray:
    return exact.rounded(fields["sum"], exact.size_of_products(held), dtype)


def _mean(fields: Fields, held: np.dtype, dtype: np.dtype, ddof: float) -> np.ndarray:
    count = fields["count"]
    if not count.all():
        warnings.warn("Mean of empty slice.", RuntimeWarning, stacklevel=outside_level())
    return exact.rounded(fields["sum"], exact.size_of_sum(held), dtype, count)


def _var(fields: Fields, held: np.dtype, dtype: np.dtype, ddof: float) -> np.ndarray:
    return _spread(fields, held, dtype, ddof, exact.quotient)


def _std(fields: Fields, held: np.dtype, dtype: np.dtype, ddof: float) -> np.ndarray:
    return _spread(fields, held, dtype, ddof, exact.root)


def _spread(fields: Fields, held: np.dtype, dtype: np.dtype, ddof: float, finish: Callable) -> np.ndarray:
    """Return n Q - S^2 over n (n - ddof), of the sums S and, of squares, Q, or its root, rounded once."""
    counts = [int(count) for count in fields["count"].flat]
    bits, unit = exact.size_of_products(held).below, exact.size_of_sum(held).below
    sums, squares = exact.integers(fields["sum"]), exact.integers(fields["squares"])
    each = exact.parts(held)
    marks = exact.flags(fields["squares"]) & ~8
    results = np.full(len(counts), np.nan, dtype)
    less = rules.degrees(ddof)
    if any(count <= less for count in counts):
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=outside_level())
    for i, (count, mark) in enumerate(zip(counts, marks.flat, strict=True)):
        square = sum(part * part for part in sums[i * each : (i + 1) * each])
        over = count * squares[i] - (square << (bits - 2 * unit))
        if mark or count == 0 or over < 0:  # it is less than 0 only in bytes that were made up
            continue
        if count > less and less == -math.inf:
            results[i] = 0
        elif count > less:
            top, bottom = (count - Fraction(less)).as_integer_ratio()
            with np.errstate(over="ignore"):
                results[i] = finish(over * bottom, count * top, -bits, dtype)
        elif over > 0:
            results[i] = np.inf
    return results.reshape(fields["count"].shape)


# The extreme


def _extreme_fields(held: np.dtype) -> dict:
    return {"count": COUNT, "value": held}


def _place_fields(held: np.dtype) -> dict:
    return {"count": COUNT, "value": held, "index": INDEX}


def _merge_extreme(ufunc: np.ufunc) -> Callable[[Fields, Fields], None]:
    def merge(mine: Fields, theirs: Fields) -> None:
        value, other = mine["value"], theirs["value"]
        with np.errstate(invalid="ignore"):
            both = ufunc(value, other)
        both = np.where(mine["count"] == 0, other, np.where(theirs["count"] == 0, value, both))
        value[...] = both
        mine["count"] += theirs["count"]

    return merge


def _merge_place(less: np.ufunc) -> Callable[[Fields, Fields], None]:
    def merge(mine: Fields, theirs: Fields) -> None:
        value, other = mine["value"], theirs["value"]
        nan, other_nan = value != value, other != other
        earlier = theirs["index"] < mine["index"]
        with np.errstate(invalid="ignore"):
            better = less(other, value) | ((other == value) & earlier)
        better = np.where(nan | other_nan, other_nan & (~nan | earlier), better)
        takes = (theirs["count"] > 0) & ((mine["count"] == 0) | better)
        np.copyto(value, other, where=takes)
        np.copyto(mine["index"], theirs["index"], where=takes)
        mine["count"] += theirs["count"]

    return merge


def _of_some(name: str, field: str) -> Callable[[Fields, np.dtype, np.dtype, float], np.ndarray]:
    def result(fields: Fields, held: np.dtype, dtype: np.dtype, ddof: float) -> np.ndarray:
        if not fields["count"].all():
            raise ValueError(f"{name}: no elements, and the reduction has no identity")
        return fields[field].astype(dtype)

    return result


# Values that have an identity


def _value_fields(held: np.dtype) -> dict:
    return {"value": held}


def _merge_values(ufunc: np.ufunc) -> Callable[[Fields, Fields], None]:
    def merge(mine: Fields, theirs: Fields) -> None:
        with np.errstate(all="ignore"):
            mine["value"][...] = ufunc(mine["value"], theirs["value"])

    return merge


def _merge_counts(mine: Fields, theirs: Fields) -> None:
    if (theirs["value"] > MOST - mine["value"]).any():
        raise OverflowError(f"count_nonzero: more than {MOST} elements")
    mine["value"] += theirs["value"]


def _value(fields: Fields, held: np.dtype, dtype: np.dtype, ddof: float) -> np.ndarray:
    return fields["value"].astype(dtype)


# In the order of their numbers in bytes, which never change.
OPERATORS = {
    "sum": Operator(_sum_fields, _add, _sum),
    "mean": Operator(_mean_fields, _add, _mean),
    "dot": Operator(_dot_fields, _add, _dot),
    "var": Operator(_spread_fields, _add, _var),
    "std": Operator(_spread_fields, _add, _std),
    "min": Operator(_extreme_fields, _merge_extreme(np.minimum), _of_some("min", "value")),
    "max": Operator(_extreme_fields, _merge_extreme(np.maximum), _of_some("max", "value")),
    "argmin": Operator(_place_fields, _merge_place(np.less), _of_some("argmin", "index")),
    "argmax": Operator(_place_fields, _merge_place(np.greater), _of_some("argmax", "index")),
    "any": Operator(_value_fields, _merge_values(np.logical_or), _value),
    "all": Operator(_value_fields, _merge_values(np.logical_and), _value),
    "count_nonzero": Operator(_value_fields, _merge_counts, _value),
    "prod": Operator(_value_fields, _merge_values(np.multiply), _value),
    "bitwise_and": Operator(_value_fields, _merge_values(np.bitwise_and), _value),
    "bitwise_or": Operator(_value_fields, _merge_values(np.bitwise_or), _value),
    "bitwise_xor": Operator(_value_fields, _merge_values(np.bitwise_xor), _value),
}


def find(op: object) -> Operator:
    """Return the operator of a name; TypeError and ValueError say what there is."""
    if not isinstance(op, str):
        raise TypeError(f"op: expected str, got {type(op).__name__}")
    if op not in OPERATORS:
        raise ValueError(f"op: unknown operator {op!r}; expected one of {', '.join(OPERATORS)}")
    return OPERATORS[op]
