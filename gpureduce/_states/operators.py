"""Fields, merge and result of the states of each operator."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gpureduce._reduce import exact_states
from gpureduce._reduce.exact_squares import PowerSums, variances
from gpureduce._rules import arguments as rules
from gpureduce._rules.arguments import caller_stacklevel

Fields = dict[str, np.ndarray]

POSITION_OPS = ("argmin", "argmax")
IDENTITIES = {"all": 1, "prod": 1, "bitwise_and": -1}  # of the others 0, or none
COUNT, INDEX, TRUTH = np.dtype(np.uint64), np.dtype(np.int64), np.dtype(bool)
MAX_ELEMENTS = 2**63 - 1  # elements


class Operator(NamedTuple):
    """One operator.

    `fields` returns the fields of a state for a dtype of elements, by name: a dtype, or the number and size
    of exact sums. `merge` updates the fields of one state by those of another. `result` returns results in a
    dtype.
    """

    fields: Callable[[np.dtype], dict[str, np.dtype | tuple[int, exact_states.Size]]]
    merge: Callable[[Fields, Fields], None]
    result: Callable[[Fields, np.dtype, np.dtype, float], np.ndarray]


# Sums


def _sum_fields(element_dtype: np.dtype) -> dict:
    return {"sum": (exact_states.parts(element_dtype), exact_states.size_of_sum(element_dtype))}


def _dot_fields(element_dtype: np.dtype) -> dict:
    return {"sum": (exact_states.parts(element_dtype), exact_states.size_of_products(element_dtype))}


def _mean_fields(element_dtype: np.dtype) -> dict:
    return {"count": COUNT, **_sum_fields(element_dtype)}


def _variance_fields(element_dtype: np.dtype) -> dict:
    return {**_mean_fields(element_dtype), "squares": (1, exact_states.size_of_products(element_dtype))}


def _add(mine: Fields, theirs: Fields) -> None:
    for name, field in mine.items():
        if name != "count":
            exact_states.merge(field, theirs[name])
    if "count" in mine:  # after what may fail
        mine["count"] += theirs["count"]


def _sum(fields: Fields, element_dtype: np.dtype, dtype: np.dtype, ddof: float) -> np.ndarray:
    total = fields["sum"]
    if element_dtype.kind != "i":
        return exact_states.rounded(total, _sum_fields(element_dtype)["sum"][1], dtype)
    limits, values = np.iinfo(dtype), exact_states.integers(total)
    for value in values:
        if not limits.min <= value <= limits.max:
            raise OverflowError(f"sum: {value} does not fit {dtype}")
    return np.array(values, dtype).reshape(total.shape[:-2])


def _dot(fields: Fields, element_dtype: np.dtype, dtype: np.dtype, ddof: float) -> np.ndarray:
    return exact_states.rounded(fields["sum"], exact_states.size_of_products(element_dtype), dtype)


def _mean(fields: Fields, element_dtype: np.dtype, dtype: np.dtype, ddof: float) -> np.ndarray:
    count = fields["count"]
    if not count.all():
        warnings.warn("Mean of empty slice.", RuntimeWarning, stacklevel=caller_stacklevel())
    return exact_states.rounded(fields["sum"], exact_states.size_of_sum(element_dtype), dtype, count)


def _variance(root: bool) -> Callable[[Fields, np.dtype, np.dtype, float], np.ndarray]:
    def result(fields: Fields, element_dtype: np.dtype, dtype: np.dtype, ddof: float) -> np.ndarray:
        power = PowerSums(fields["count"], fields["sum"], fields["squares"])
        if (power.counts <= rules.degrees(ddof)).any():
            warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=caller_stacklevel())
        return variances(power, element_dtype, dtype, ddof, root)

    return result


# The extreme


def _extreme_fields(element_dtype: np.dtype) -> dict:
    return {"count": COUNT, "value": element_dtype}


def _position_fields(element_dtype: np.dtype) -> dict:
    return {"count": COUNT, "value": element_dtype, "index": INDEX}


def _merge_extreme(ufunc: np.ufunc) -> Callable[[Fields, Fields], None]:
    def merge(mine: Fields, theirs: Fields) -> None:
        value, other = mine["value"], theirs["value"]
        with np.errstate(invalid="ignore"):
            both = ufunc(value, other)
        both = np.where(mine["count"] == 0, other, np.where(theirs["count"] == 0, value, both))
        value[...] = both
        mine["count"] += theirs["count"]

    return merge


def _merge_position(less: np.ufunc) -> Callable[[Fields, Fields], None]:
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


def _of_nonempty(name: str, field: str) -> Callable[[Fields, np.dtype, np.dtype, float], np.ndarray]:
    def result(fields: Fields, element_dtype: np.dtype, dtype: np.dtype, ddof: float) -> np.ndarray:
        if not fields["count"].all():
            raise ValueError(f"{name}: no elements, and the reduction has no identity")
        return fields[field].astype(dtype)

    return result


# Values that have an identity


def _value_fields(element_dtype: np.dtype) -> dict:
    return {"value": element_dtype}


def _merge_values(ufunc: np.ufunc) -> Callable[[Fields, Fields], None]:
    def merge(mine: Fields, theirs: Fields) -> None:
        with np.errstate(all="ignore"):
            mine["value"][...] = ufunc(mine["value"], theirs["value"])

    return merge


def _merge_counts(mine: Fields, theirs: Fields) -> None:
    if (theirs["value"] > MAX_ELEMENTS - mine["value"]).any():
        raise OverflowError(f"count_nonzero: more than {MAX_ELEMENTS} elements")
    mine["value"] += theirs["value"]


def _value(fields: Fields, element_dtype: np.dtype, dtype: np.dtype, ddof: float) -> np.ndarray:
    return fields["value"].astype(dtype)


# In the order of their numbers in bytes, which never change.
OPERATORS = {
    "sum": Operator(_sum_fields, _add, _sum),
    "mean": Operator(_mean_fields, _add, _mean),
    "dot": Operator(_dot_fields, _add, _dot),
    "var": Operator(_variance_fields, _add, _variance(False)),
    "std": Operator(_variance_fields, _add, _variance(True)),
    "min": Operator(_extreme_fields, _merge_extreme(np.minimum), _of_nonempty("min", "value")),
    "max": Operator(_extreme_fields, _merge_extreme(np.maximum), _of_nonempty("max", "value")),
    "argmin": Operator(_position_fields, _merge_position(np.less), _of_nonempty("argmin", "index")),
    "argmax": Operator(_position_fields, _merge_position(np.greater), _of_nonempty("argmax", "index")),
    "any": Operator(_value_fields, _merge_values(np.logical_or), _value),
    "all": Operator(_value_fields, _merge_values(np.logical_and), _value),
    "count_nonzero": Operator(_value_fields, _merge_counts, _value),
    "prod": Operator(_value_fields, _merge_values(np.multiply), _value),
    "bitwise_and": Operator(_value_fields, _merge_values(np.bitwise_and), _value),
    "bitwise_or": Operator(_value_fields, _merge_values(np.bitwise_or), _value),
    "bitwise_xor": Operator(_value_fields, _merge_values(np.bitwise_xor), _value),
}


def find(op: object) -> Operator:
    """Return the operator of a name; TypeError and ValueError list the operators."""
    if not isinstance(op, str):
        raise TypeError(f"op: expected str, got {type(op).__name__}")
    if op not in OPERATORS:
        raise ValueError(f"op: unknown operator {op!r}; expected one of {', '.join(OPERATORS)}")
    return OPERATORS[op]
