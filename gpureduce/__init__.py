"""Reductions of NumPy arrays on a GPU, rung by rung.

The same compiled kernels run on an NVIDIA GPU and, where there is none, on a simulator of their PTX.

>>> import numpy as np, gpureduce
>>> gpureduce.sum(np.arange(1000.0), variant="v7", device="sim")
np.float64(499500.0)
"""

from gpureduce._core import DeviceError, SimulationError
from gpureduce._devices import Device, SimulatorWarning, devices
from gpureduce._reductions import sum
from gpureduce._variants import Variant, ptx, source, variants
from gpureduce._version import __version__

__all__ = [
    "Device",
    "DeviceError",
    "SimulationError",
    "SimulatorWarning",
    "Variant",
    "__version__",
    "devices",
    "ptx",
    "source",
    "sum",
    "variants",
]
