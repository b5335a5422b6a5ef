"""Versions, devices, libraries, paths and environment variables, for bug reports."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from dataclasses import asdict
from typing import Any, Literal, overload

from gpureduce import _core
from gpureduce._custom.disk_cache import cache_folder
from gpureduce._custom.nvrtc import library
from gpureduce._device import libraries
from gpureduce._device.devices import Device, automatic_default, device_name, devices
from gpureduce._device.ptx import KERNEL_DIR
from gpureduce._device.variants import variants
from gpureduce._version import __version__

# Packages whose versions are listed, if installed.
_PACKAGES = (
    *("numpy", "torch", "cupy", "jax", "dask", "flox", "ml_dtypes", "scipy", "cuda-pathfinder"),
    *("nvidia-cuda-nvrtc", "nvidia-cublas", "nvidia-cudnn-cu13"),
)


@overload
def show_config(mode: Literal["stdout"] = "stdout") -> None: ...


@overload
def show_config(mode: Literal["dicts"]) -> dict[str, Any]: ...


def show_config(mode: str = "stdout") -> dict[str, Any] | None:
    """Show versions, devices, the driver, libraries, paths and settings, for a bug report.

    Parameters
    ----------
    mode : str
        ``"stdout"`` prints the configuration, ``"dicts"`` returns it, as for `numpy.show_config`.

    Returns
    -------
    dict or None
        For ``"dicts"``, a dict with the keys ``gpureduce``, ``python`` and ``platform`` (text), ``packages``
        (versions of installed packages), ``devices`` (the fields of each `Device`), ``cuda_problem`` (why
        there is no CUDA device, or None), ``default_device``, ``libraries`` (where NVIDIA's libraries were
        found, or why not), ``variants`` (their number), ``paths``, and ``environment`` (environment variables
        of gpureduce that are set).

    Raises
    ------
    ValueError
        If `mode` is neither.

    Examples
    --------
    >>> import gpureduce
    >>> config = gpureduce.show_config("dicts")
    >>> config["gpureduce"] == gpureduce.__version__, config["devices"][-1]["name"]
    (True, 'PTX simulator')
    """
    if not isinstance(mode, str) or mode not in ("stdout", "dicts"):
        raise ValueError(f"mode: expected 'stdout' or 'dicts', got {mode!r}")
    config = _collect()
    if mode == "dicts":
        return config
    print("\n".join(config_lines(config)))
    return None


def config_lines(config: dict[str, Any]) -> list[str]:
    """Return the lines that show a configuration."""
    lines = [
        f"gpureduce {config['gpureduce']}, Python {config['python']}, {config['variants']} variants",
        f"platform: {config['platform']}",
        f"packages: {', '.join(' '.join(pair) for pair in config['packages'].items())}",
    ]
    lines += [_device_line(each) for each in config["devices"]]
    if config["cuda_problem"] is not None:
        lines.append(f"no CUDA device: {config['cuda_problem']}")
    lines.append(f"default device: {config['default_device']}")
    for part in ("libraries", "paths", "environment"):
        lines += [f"{name}: {value}" for name, value in config[part].items()]
    return lines


def _device_line(device: dict[str, Any]) -> str:
    """Return the description of a device."""
    memory = f"{device['multiprocessors']} multiprocessors, {device['memory_bytes'] / 2**30:.1f} GiB"
    name = f"{device['device']:<8} {device['name']}"
    if device["kind"] == "sim":
        return f"{name}, launch plans as for {memory}"
    major, minor = device["compute_capability"]
    driver = device["driver_version"]
    return (
        f"{name}, compute capability {major}.{minor}, {memory} at "
        f"{device['memory_bytes_per_second'] / 1e9:,.0f} GB/s, "
        f"driver for CUDA {driver // 1000}.{driver % 1000 // 10}"
    )


def device_fields(device: Device) -> dict[str, Any]:
    """Return the fields of a device, and its name as ``device=`` takes it."""
    return {"device": str(device), **asdict(device)}


def _collect() -> dict[str, Any]:
    cache = cache_folder()
    return {
        "gpureduce": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: version for name in _PACKAGES if (version := _version(name)) is not None},
        "devices": [device_fields(device) for device in devices()],
        "cuda_problem": _core.cuda_problem(),
        "default_device": device_name(*(_core.default_device() or automatic_default())),
        "libraries": {"cublas": _vendor("cublas"), "cudnn": _vendor("cudnn"), "nvrtc": _nvrtc()},
        "variants": len(variants()),
        "paths": {
            "python": sys.executable,
            "package": str(KERNEL_DIR.parent),
            "kernel cache": "none" if cache is None else str(cache),
        },
        "environment": {
            name: os.environ[name] for name in sorted(os.environ) if name.startswith("GPUREDUCE_")
        },
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _vendor(name: str) -> str:
    problem = libraries.load(name)
    return "found" if problem is None else problem


def _nvrtc() -> str:
    try:
        nvrtc = library()
    except (ImportError, OSError) as error:
        return str(error)
    return f"{'.'.join(map(str, nvrtc.version))} in {nvrtc.path}"
