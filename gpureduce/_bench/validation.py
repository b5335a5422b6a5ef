"""Checks of the arguments of `gpureduce.bench`."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np


def sequence(value: Any, name: str) -> list:
    """Return one value, or several, as a list that is not empty."""
    values = [value] if isinstance(value, str) or not isinstance(value, Sequence) else list(value)
    if not values:
        raise ValueError(f"{name}: nothing to measure")
    return values


def positive(value: Any, name: str) -> int:
    """Return a number of things as int; an error names the argument."""
    if isinstance(value, bool):
        raise TypeError(f"{name}: expected int, got bool")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: expected int, got {type(value).__name__}") from None
    if number < 1:
        raise ValueError(f"{name}: expected 1 or more, got {number}")
    return number


def dtype_name(dtype: Any) -> str:
    """Return the name of a dtype."""
    try:
        return np.dtype(dtype).name
    except (TypeError, ValueError):
        raise TypeError(f"dtypes: {dtype!r} is not a dtype") from None
