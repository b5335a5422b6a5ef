"""Inspection of `gpureduce.numpy_like` by the array API standard."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpureduce._device.devices import Device, device_name, devices, resolve

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_TOGETHER = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating", "complex floating"),
}
_DEFAULTS = {
    "real floating": "float64",
    "complex floating": "complex128",
    "integral": "int64",
    "indexing": "int64",
}
_MOST_DIMENSIONS = 64


def _check(device: str | Device | None) -> None:
    if device is not None:
        resolve(device)


class Info:
    """The object that ``__array_namespace_info__()`` returns, the same for all devices."""

    def capabilities(self) -> dict[str, Any]:
        """Return optional capabilities of the standard: no boolean indexing, no data-dependent shapes.

        Returns
        -------
        dict
        """
        return {
            "boolean indexing": False,
            "data-dependent shapes": False,
            "max dimensions": _MOST_DIMENSIONS,
        }

    def default_device(self) -> str:
        """Return the device that reduces host arrays: the first GPU, or the simulator.

        Returns
        -------
        str
        """
        return device_name(*resolve(None))

    def devices(self) -> list[str]:
        """Return all devices.

        Returns
        -------
        list of str
        """
        return [str(device) for device in devices()]

    def default_dtypes(self, *, device: str | Device | None = None) -> dict[str, np.dtype[Any]]:
        """Return the default dtypes.

        Parameters
        ----------
        device : str or Device, optional
            One of `devices`; without effect.

        Returns
        -------
        dict
        """
        _check(device)
        return {kind: np.dtype(name) for kind, name in _DEFAULTS.items()}

    def dtypes(
        self, *, device: str | Device | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, np.dtype[Any]]:
        """Return the standard's dtypes by name. Other supported dtypes, such as float16, are not listed.

        Parameters
        ----------
        device : str or Device, optional
            One of `devices`; without effect.
        kind : str or tuple of str, optional
            Kinds to return, by the names of the standard. Default: all.

        Returns
        -------
        dict
        """
        _check(device)
        kinds = tuple(_KINDS) if kind is None else kind if isinstance(kind, tuple) else (kind,)
        for each in kinds:
            if each not in _KINDS and each not in _TOGETHER:
                raise ValueError(f"kind: expected one of {', '.join((*_KINDS, *_TOGETHER))}, got {each!r}")
        single = [one for each in kinds for one in _TOGETHER.get(each, (each,))]
        return {name: np.dtype(name) for one, names in _KINDS.items() if one in single for name in names}
