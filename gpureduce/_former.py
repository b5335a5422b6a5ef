"""Where pickles look for what has moved since they were made."""

from __future__ import annotations

import sys
from types import ModuleType

from gpureduce._arrays import device_array, transfer
from gpureduce._custom import kernel, nvrtc
from gpureduce._device import devices, variants
from gpureduce._profiles import counts, profile, records, simulate, timeline, variant
from gpureduce._reduce import bits, functions

_MOVED = {
    "_counts": [counts],
    "_device_array": [device_array, transfer],
    "_devices": [devices],
    "_general": [functions],
    "_nvrtc": [nvrtc],
    "_profile": [records, profile, variant],
    "_reduce.arithmetic": [bits],
    "_reduction_kernel": [kernel],
    "_simulate": [simulate],
    "_timeline": [timeline],
    "_variants": [variants],
}

for _name, _modules in _MOVED.items():
    _name = f"gpureduce.{_name}"
    _module = sys.modules.setdefault(_name, ModuleType(_name, "Names of old, for pickles."))
    for _each in _modules:
        vars(_module).update({key: value for key, value in vars(_each).items() if not key.startswith("_")})
