"""The fake CUDA driver of ``tests/fake_cuda``: its libraries, and checks that run against it in a child."""

import ctypes
import fcntl
import os
import subprocess
from pathlib import Path

from tests.support.children import python
from tests.support.producers import CUDA, Exchange

TESTS = Path(__file__).resolve().parents[1]
INT32 = {"code": 0, "bits": 32}


def build(folder):
    """Build the libraries, by one process at a time, and return the variables that name them."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        make = ["make", "-s", "-C", str(TESTS / "fake_cuda"), "library", f"BUILD={folder}"]
        subprocess.run(make, check=True, timeout=300)
    return {
        "GPUREDUCE_LIBCUDA": str(folder / "libcuda_fake.so"),
        "GPUREDUCE_LIBCUBLAS": str(folder / "libcublas_fake.so"),
        "GPUREDUCE_LIBCUDNN": str(folder / "libcudnn_fake.so"),
        "FAKE_CUDA_DEVICES": "2",
    }


def run(libraries, *checks, **environment):
    """Run checks in one child, one after the other; its standard error says which one fails."""
    code = f"import {checks[0].__module__} as checks\n" + "\n".join(f"checks.{c.__name__}()" for c in checks)
    done = python(code, "-W", "error", **{**libraries, **environment})
    assert done.returncode == 0, done.stderr


def tensor(array, exchange=None, **fields):
    """A tensor of another library in the memory of a DeviceArray."""
    index = int(array.device.removeprefix("cuda:"))
    given = {"shape": array.shape, "strides": None, "data": array._pointer, **INT32, **fields}
    return (exchange or Exchange()).exporter((CUDA, index), **given)


def driver_calls(symbol):
    """How often our code has called the driver's function."""
    driver = ctypes.CDLL(os.environ["GPUREDUCE_LIBCUDA"])
    driver.fake_cuda.restype = ctypes.POINTER(ctypes.c_void_p)
    count = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_char_p)(driver.fake_cuda()[3])
    return count(symbol.encode())
