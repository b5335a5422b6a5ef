"""Conversions of one-element arrays to Python numbers, and errors for arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce._arrays.elements import Elements
from gpureduce._rules.arguments import integer

if TYPE_CHECKING:
    from typing import NoReturn, SupportsIndex

# Operators that a DeviceArray does not support, and their symbols.
_ARITHMETIC = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "divmod": "divmod",
    "pow": "**", "lshift": "<<", "rshift": ">>", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
_COMPARED = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_UNARY = {"neg": "-", "pos": "+", "abs": "abs", "invert": "~"}


class Numbers(Elements):
    """Conversions to Python numbers."""

    __slots__ = ()

    __array_priority__ = 1000.0  # so that NumPy's operators call ours

    if TYPE_CHECKING:

        def numpy(self) -> np.ndarray[Any, Any]: ...
        def __getitem__(self, key: Any) -> Numbers: ...

    def item(self, *index: SupportsIndex) -> Any:
        """Return an element as a Python scalar; the call synchronizes with the device.

        Parameters
        ----------
        *index : int
            Nothing for an array of one element, an index into the flattened array, or one index per axis.

        Returns
        -------
        bool, int, float or complex

        Examples
        --------
        >>> import gpureduce
        >>> a = gpureduce.to_device([[1, 2], [3, 4]], device="sim")
        >>> a.item(2), a.item(0, 1), a.max(axis=0)[0].item()
        (3, 2, 3)
        """
        if len(index) == 1 and isinstance(index[0], tuple):
            index = index[0]
        ndim, size = len(self.shape), self.size
        if not index:
            if size != 1:
                raise ValueError("can only convert an array of size 1 to a Python scalar")
            return self.numpy().item()
        if len(index) == 1 and ndim != 1:
            number = integer(index[0], "index")
            if not -size <= number < size:
                raise IndexError(f"index {number} is out of bounds for size {size}")
            index = tuple(map(int, np.unravel_index(number % size, self.shape)))
        if len(index) != ndim:
            raise ValueError("incorrect number of indices for array")
        return self[index].numpy().item()

    def tolist(self) -> Any:
        """Return the elements as Python scalars, in nested lists, one level per dimension.

        Returns
        -------
        list, or a number
        """
        return self.numpy().tolist()

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                f"the truth value of an array of {self.size} elements is ambiguous; use gpureduce.any(a) or "
                "gpureduce.all(a)"
            )
        return bool(self.item())

    def __int__(self) -> int:
        return int(self._only("int"))

    def __float__(self) -> float:
        return float(self._only("float"))

    def __complex__(self) -> complex:
        return complex(self._only("complex"))

    def __index__(self) -> int:
        if self.shape or self.dtype.kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return self.item()

    def _only(self, what: str) -> Any:
        if self.size != 1:
            raise TypeError(
                f"only an array of one element can be converted to {what}, got shape {self.shape}"
            )
        return self.item()

    def __format__(self, spec: str) -> str:
        return format(str(self) if self.shape else self.item(), spec)

    def _refuse(self, symbol: str) -> NoReturn:
        raise TypeError(
            f"{symbol}: a DeviceArray does not support arithmetic or comparisons; use PyTorch or "
            "CuPy by torch.from_dlpack(a) or cupy.from_dlpack(a), without a copy, or NumPy by a.numpy()"
        )

    __hash__ = object.__hash__


def _refusal(symbol: str) -> Callable[..., NoReturn]:
    def refused(self: Numbers, *others: object) -> NoReturn:
        self._refuse(symbol)

    return refused


for _name, _symbol in {**_ARITHMETIC, **_COMPARED, **_UNARY}.items():
    setattr(Numbers, f"__{_name}__", _refusal(_symbol))
for _name, _symbol in _ARITHMETIC.items():
    setattr(Numbers, f"__r{_name}__", _refusal(_symbol))
