"""Methods of `DeviceArray` from higher layers: reductions, ``@``, its namespace and calls by NumPy."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import numpy as np

from gpureduce import _functions
from gpureduce._arrays.reductions import Reductions


def namespace(self: Any, *, api_version: str | None = None) -> ModuleType:
    """Return `gpureduce.numpy_like`, the implemented part of the array API standard.

    Parameters
    ----------
    api_version : str, optional
        Version of the standard, up to `gpureduce.numpy_like.__array_api_version__`.

    Returns
    -------
    module
    """
    from gpureduce import numpy_like

    known = ("2021.12", "2022.12", "2023.12", numpy_like.__array_api_version__)
    if api_version is not None and not (isinstance(api_version, str) and api_version in known):
        raise ValueError(f"api_version: expected one of {', '.join(known)}, got {api_version!r}")
    return numpy_like


def product(self: Any, other: Any) -> Any:
    """Return ``self @ other``."""
    return _functions.matmul(self, other)


def product_of(self: Any, other: Any) -> Any:
    """Return ``other @ self``."""
    return _functions.matmul(other, self)


# Functions of NumPy that catch the error of `DeviceArray.__array__` and return False.
_NO_ERROR = (np.array_equal, np.array_equiv)


def numpy_function(self: Any, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what a function of NumPy returns for device arrays: NumPy calls this method.

    A function that gpureduce has under the same name is gpureduce's. Others are NumPy's own, which use
    methods and attributes of the array, or raise TypeError if they need the elements in host memory.

    Parameters
    ----------
    func : callable
        NumPy's public function.
    types : collection of type
        Types of its array arguments that have this method.
    args, kwargs
        Arguments of the call.

    Returns
    -------
    object
        NotImplemented, for which NumPy raises TypeError, if the function would hide that error, or creates
        an array in host memory.
    """
    host = getattr(func, "_implementation", None)  # functions that take ``like=`` have none
    if host is None or func in _NO_ERROR:
        return NotImplemented
    own = vars(_functions).get(func.__name__) if func.__module__ == "numpy" else None
    return (own or host)(*args, **kwargs)


# Functions that are no methods: `ndarray.sort` sorts in place.
_NO_METHODS = ("sort",)


def methods() -> dict[str, Any]:
    """Return the public functions whose first argument is the array, by name."""
    return {
        name: function
        for name, function in vars(_functions).items()
        if name not in _NO_METHODS
        and inspect.isfunction(function)
        and inspect.unwrap(function).__code__.co_varnames[:1] == ("a",)
    }


for _name, _function in methods().items():
    setattr(Reductions, _name, _function)
for _name, _function in (
    ("__array_function__", numpy_function),
    ("__array_namespace__", namespace),
    ("__matmul__", product),
    ("__rmatmul__", product_of),
):
    _function.__name__ = _name
    setattr(Reductions, _name, _function)
