"""Equality of dataclasses that hold arrays, for which ``==`` returns an array."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np


def _comparable(value: Any) -> Any:
    """Return what ``==`` compares to a bool: dtype, shape and bytes of arrays, so that NaN equals NaN."""
    if isinstance(value, (np.ndarray, np.generic)):
        plain = np.asarray(value)
        return plain.dtype, plain.shape, plain.tolist() if plain.dtype.hasobject else plain.tobytes()
    if isinstance(value, (tuple, list)):
        return type(value), [_comparable(each) for each in value]
    if isinstance(value, Mapping):
        return {key: _comparable(each) for key, each in value.items()}
    return value


class WithArrays:
    """Base of dataclasses with ``eq=False`` that hold arrays: equal where these are, bit for bit."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(
            _comparable(getattr(self, each.name)) == _comparable(getattr(other, each.name))
            for each in fields(self)  # type: ignore[arg-type]
            if each.compare
        )
