"""For which GPUs machine code is made: present ones, none, all, or named ones."""

import ctypes
import os
import re
import subprocess

from setuptools.errors import PlatformError

SWITCH = "GPUREDUCE_CUDA_ARCHITECTURES"
# One of each generation; machine code runs on later GPUs of the same generation.
ALL = [75, 80, 90, 100, 120]
# What releases are built with: no machine code, or that of ALL.
RELEASES = ("ptx", "all")

# Of cuda.h.
MAJOR, MINOR = 75, 76


class ArchitectureError(PlatformError):
    """No list of architectures. setuptools shows errors of this kind without a traceback."""


class NoDeviceError(Exception):
    """There is no GPU to ask, for the reason given."""


def architectures(text: str, nvcc: str, switch: str = SWITCH) -> list[int]:
    """Return the compute capabilities that a switch asks for: native (or ""), ptx, all, or some, as 90,100.

    An empty list stands for PTX alone, which a GPU compiles when it first loads a kernel.
    """
    text = text.strip().lower()
    known = _known(nvcc)
    if text in ("", "native"):
        return _native(known)
    if text in RELEASES:
        return [] if text == "ptx" else ALL
    names = [name.strip() for name in text.split(",")]
    numbers = sorted({int(name) for name in names if re.fullmatch("[0-9]{2,3}", name)} & known)
    if len(numbers) != len(set(names)):
        raise ArchitectureError(
            f"{switch} is {text!r}: say native, ptx, all, or compute capabilities with commas between, such "
            f"as 90,100; this nvcc knows {', '.join(map(str, sorted(known)))}"
        )
    return numbers


def is_release(text: str) -> bool:
    """Return whether a switch asks for what is released, which is packed as densely as possible."""
    return text.strip().lower() in RELEASES


def _native(known: set[int]) -> list[int]:
    """Return the compute capabilities of this machine's GPUs, and say what they are."""
    try:
        there = device_capabilities()
    except NoDeviceError as reason:
        print(
            f"no GPU here ({reason}): PTX alone, which a GPU compiles when it first loads a kernel",
            flush=True,
        )
        return []
    numbers = sorted(there & known)
    print(
        f"machine code for the GPUs here: {', '.join(f'sm_{number}' for number in numbers) or 'none'}",
        flush=True,
    )
    for number in sorted(there - known):
        print(f"this nvcc makes none for sm_{number}", flush=True)
    return numbers


def device_capabilities() -> set[int]:
    """Return the compute capability of each GPU, 90 for 9.0, by the CUDA driver.

    The library is the one that the package opens later: ``$GPUREDUCE_LIBCUDA``, or libcuda.so.1.
    """
    try:
        driver = ctypes.CDLL(os.environ.get("GPUREDUCE_LIBCUDA") or "libcuda.so.1")
    except OSError as error:
        raise NoDeviceError(f"no CUDA driver: {error}") from error

    def call(function: str, *arguments) -> None:
        try:
            status = getattr(driver, function)(*arguments)
        except AttributeError as error:
            raise NoDeviceError(str(error)) from error
        if status != 0:
            raise NoDeviceError(f"{function} returns {status}")

    def ask(function: str, *arguments: int) -> int:
        value = ctypes.c_int()
        call(function, ctypes.byref(value), *arguments)
        return value.value

    call("cuInit", 0)
    count = ask("cuDeviceGetCount")
    if count == 0:
        raise NoDeviceError("the CUDA driver has no devices")
    devices = [ask("cuDeviceGet", index) for index in range(count)]
    return {
        10 * ask("cuDeviceGetAttribute", MAJOR, device) + ask("cuDeviceGetAttribute", MINOR, device)
        for device in devices
    }


def _known(nvcc: str) -> set[int]:
    """Return the compute capabilities that nvcc makes machine code for."""
    done = subprocess.run([nvcc, "--list-gpu-code"], capture_output=True, text=True, check=True)
    return {int(number) for number in re.findall(r"\bsm_(\d+)\b", done.stdout)}
