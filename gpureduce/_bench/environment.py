"""The header of a results file: device, versions, date."""

from __future__ import annotations

import datetime
import platform
import re
from pathlib import Path

from gpureduce._device.devices import Device, device_info
from gpureduce._device.variants import ptx, variants
from gpureduce._version import __version__


def toolkit_version() -> str:
    """Return the CUDA toolkit that compiled the kernels, as their PTX states it."""
    match = re.search(r"release ([0-9.]+), (V[0-9.]+)", ptx(variants()[0].name))
    return f"{match[1]} ({match[2]})" if match else "unknown"


def cpu_name() -> str:
    """Return the CPU name of Linux, with family and model, since virtual machines hide the product."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or "unknown"
    matches = [re.search(rf"^{key}\s*: (.+)$", text, re.M) for key in ("model name", "cpu family", "model")]
    name, family, model = (match[1] if match else "unknown" for match in matches)
    return f"{name} (family {family}, model {model})"


def header(device: Device) -> dict:
    """Return device, versions and date, for the head of a results file."""
    return {
        "device": device.name,
        "driver_cuda": f"{device.driver_version // 1000}.{device.driver_version % 1000 // 10}",
        "toolkit": toolkit_version(),
        "gpureduce": __version__,
        "python": platform.python_version(),
        "date": datetime.date.today().isoformat(),
    }


def find_device(name: str) -> Device:
    """Return the device called `name`, e.g. ``cuda:0``."""
    return device_info(name)
