"""Views and copies of a `DeviceArray`: indexing, shapes, dtypes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays import layout
from gpureduce._arrays.copies import converted, gathered, is_packed
from gpureduce._arrays.elements import Elements
from gpureduce._rules.arguments import flag
from gpureduce._rules.dtypes import dtype_name, dtype_of, native

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import DTypeLike
    from typing_extensions import Self


class Views(Elements):
    """Views and copies of an array on a device, under NumPy's names."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Self:
        return _core.array_view(self, *layout.indexed(self.shape, self.strides, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError(
            "a DeviceArray does not support item assignment; on a GPU, use torch.from_dlpack(a)[...] = value"
        )

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d array")
        return self.shape[0]

    def __iter__(self) -> Iterator[Self]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    @property
    def T(self) -> Self:
        """View with the axes in reverse order."""
        return self.transpose()

    @property
    def mT(self) -> Self:
        """View with the last two axes exchanged."""
        if len(self.shape) < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return self.swapaxes(-1, -2)

    def transpose(self, *axes: SupportsIndex | tuple[SupportsIndex, ...] | None) -> Self:
        """Return a view with the axes in another order.

        Parameters
        ----------
        *axes : int, or one tuple of int, optional
            Axis of the array for each axis of the view. Default: reverse the axes.

        Returns
        -------
        DeviceArray

        Examples
        --------
        >>> import numpy as np, gpureduce
        >>> gpureduce.to_device(np.ones((2, 3, 4)), device="sim").transpose(1, 2, 0).shape
        (3, 4, 2)
        """
        order: Any = axes
        if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
            order = axes[0]
        return self._permuted(layout.permutation(order if axes else None, len(self.shape)))

    def swapaxes(self, axis1: SupportsIndex, axis2: SupportsIndex) -> Self:
        """Return a view with two axes exchanged.

        Parameters
        ----------
        axis1, axis2 : int
            Axes to exchange.

        Returns
        -------
        DeviceArray
        """
        order = list(range(len(self.shape)))
        one, other = (layout.normal_axis(axis, len(order)) for axis in (axis1, axis2))
        order[one], order[other] = other, one
        return self._permuted(tuple(order))

    def squeeze(self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None) -> Self:
        """Return a view without axes of length one.

        Parameters
        ----------
        axis : int or tuple of int, optional
            Axis or axes of length one to remove. Default: all of them.

        Returns
        -------
        DeviceArray
        """
        return self._permuted(layout.squeezed(self.shape, axis))

    def _permuted(self, order: tuple[int, ...]) -> Self:
        shape, strides = self.shape, self.strides
        return _core.array_view(self, tuple([shape[d] for d in order]), tuple([strides[d] for d in order]), 0)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Self:
        """Return the array in another shape: a view if possible, else a copy on the device.

        Parameters
        ----------
        *shape : int, or one tuple of int
            New shape; one length may be -1, and is then inferred.
        order : str
            ``"C"`` reads and places the elements with the last axis changing fastest, ``"F"`` with the first.
        copy : bool, optional
            True always copies, False never. Default: copy only if needed.

        Returns
        -------
        DeviceArray

        Raises
        ------
        ValueError
            If the number of elements differs, or ``copy=False`` and a copy is needed.

        Examples
        --------
        >>> import numpy as np, gpureduce
        >>> a = gpureduce.to_device(np.arange(6), device="sim")
        >>> a.reshape(2, -1)
        DeviceArray([[0, 1, 2],
                     [3, 4, 5]], dtype=int64, device='sim')
        >>> a.reshape(2, -1).base is a, a.reshape(2, 3).T.reshape(6).base is None
        (True, True)
        """
        if isinstance(order, str) and order == "C" and copy is None:
            view = _core.array_reshaped(self, shape)
            if view is not NotImplemented:
                return view
        if not isinstance(order, str) or order not in ("C", "F"):
            raise ValueError(f"order: expected 'C' or 'F', got {order!r}")
        copy = None if copy is None else flag(copy, "copy")
        new_shape = layout.shape_of(shape, self.size)
        if order == "F":
            return self.T.reshape(new_shape[::-1], copy=copy).T
        item = self.dtype.itemsize
        strides = None if copy else layout.reshaped(self.shape, self.strides, new_shape, item)
        if strides is not None:
            return _core.array_view(self, new_shape, strides, 0)
        if copy is False:
            raise ValueError("copy: unable to avoid a copy while reshaping; pass copy=None")
        return gathered(self, new_shape)

    def ravel(self, order: str = "C") -> Self:
        """Return the flattened array: a view if the elements are contiguous, else a copy.

        Parameters
        ----------
        order : str
            As for `reshape`.

        Returns
        -------
        DeviceArray
        """
        if not isinstance(order, str) or order not in ("C", "F"):
            raise ValueError(f"order: expected 'C' or 'F', got {order!r}")
        array = self.T if order == "F" else self
        return array.reshape(-1, copy=None if is_packed(array) else True)

    def copy(self) -> Self:
        """Return a copy in C order on the device.

        Returns
        -------
        DeviceArray
        """
        result = _core.array_copied(self)
        return gathered(self) if result is NotImplemented else result

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Self:
        return gathered(self)

    def astype(self, dtype: DTypeLike, casting: Any = "unsafe", copy: bool = True) -> Self:
        """Return a copy in C order, cast to another dtype.

        The cast runs on the device and follows NumPy's rules, without warnings. Floats outside the range of
        an integer dtype saturate, as in CUDA's conversions; NaN becomes 0. A cast from complex to real
        discards the imaginary part.

        Parameters
        ----------
        dtype : dtype_like
            New dtype.
        casting : str
            Allowed casts, as for `numpy.can_cast`.
        copy : bool
            False returns the array itself if it already has the dtype.

        Returns
        -------
        DeviceArray

        Examples
        --------
        >>> import gpureduce
        >>> gpureduce.to_device([0.5, 1.5, 2.5], device="sim").astype("int8")
        DeviceArray([0, 1, 2], dtype=int8, device='sim')
        """
        if not isinstance(casting, str) or casting not in ("no", "equiv", "safe", "same_kind", "unsafe"):
            raise ValueError(
                f"casting: expected 'no', 'equiv', 'safe', 'same_kind' or 'unsafe', got {casting!r}"
            )
        copy = flag(copy, "copy")
        target = native(dtype_of(dtype), "dtype")
        rule: Any = casting
        if not np.can_cast(self.dtype, target, rule):
            raise TypeError(
                f"cannot cast array data from {self.dtype!r} to {target!r} according to the rule {casting!r}"
            )
        if target == self.dtype:
            return self.copy() if copy else self
        result = _core.array_copied(self, dtype_name(target))
        return converted(self, target) if result is NotImplemented else result
