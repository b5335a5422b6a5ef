"""No file descriptor is left: calls name that, and work when there are some again."""

import errno
import os

import pytest

from gpureduce import _core
from gpureduce._custom import includes, nvcc, toolkit
from gpureduce._rules.files import reject_exhausted
from tests.support.children import python

CHILD = """
import errno, os, resource, warnings
import numpy as np
import gpureduce
from gpureduce import _core
from gpureduce._custom import nvrtc

warnings.simplefilter("ignore")
limits = resource.getrlimit(resource.RLIMIT_NOFILE)
numbers = np.arange(5.0)

def without(call):
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, limits[1]))
    try:
        return call()
    except Exception as error:
        return error
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)

def check(call, text, expected):
    error = without(call)
    assert type(error) is OSError and error.errno == errno.EMFILE, repr(error)
    assert text in str(error) and "reinstall" not in str(error), error
    assert call() == expected

def nvrtc_is_found():
    try:
        return bool(nvrtc.library())
    except ImportError as error:
        return str(error)
"""


def test_kernels_and_the_driver():
    """The simulator is not taken for the default device because the driver could not be looked for."""
    done = python(
        CHILD
        + """
check(lambda: gpureduce.sum(numbers, device="sim"), "cannot read the compiled kernels in", 10)
check(lambda: len(_core.read_image(gpureduce._device.ptx.KERNEL_DIR / "flat_sum.ptx.xz")) > 1000,
      "cannot read the compiled kernels in", True)
check(lambda: str(gpureduce.devices()[-1]), "cannot look for the CUDA driver", "sim")
check(lambda: gpureduce.sum(numbers), "cannot look for the CUDA driver", 10)
assert _core.default_device() == (_core.SIM, 0)
print("done")
""",
        GPUREDUCE_LIBCUDA="libcuda-that-is-not-there.so",
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_the_compiler():
    done = python(
        CHILD
        + """
error = without(nvrtc_is_found)
found = nvrtc_is_found()
assert isinstance(error, OSError) and error.errno == errno.EMFILE or error == found != True, repr(error)
print("done")
"""
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_files_that_are_missing_or_unreadable(tmp_path):
    """A missing file is one of the installation; one that may not be read is the system's refusal."""
    with pytest.raises(_core.DeviceError, match="No such file or directory; reinstall gpureduce"):
        _core.read_image(tmp_path / "missing.ptx.xz")
    with pytest.raises(_core.DeviceError, match="Not a directory; reinstall gpureduce"):
        (tmp_path / "file").write_text("")
        _core.read_image(tmp_path / "file" / "sum.ptx.xz")
    loop = tmp_path / "loop.ptx.xz"
    loop.symlink_to(loop)
    with pytest.raises(OSError, match="cannot read the compiled kernels in") as refused:
        _core.read_image(loop)
    assert refused.value.errno == errno.ELOOP and "reinstall" not in str(refused.value)


def failing(number):
    def fail(*_, **__):
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_what_is_looked_for(number, monkeypatch, tmp_path):
    """Versions of the compiler and of headers are not unknown for good, because nothing could be opened."""
    monkeypatch.setattr("subprocess.Popen", failing(number))
    nvcc.version.cache_clear()
    with pytest.raises(OSError) as refused:
        nvcc.version("/nowhere/nvcc")
    assert refused.value.errno == number
    monkeypatch.setattr("subprocess.Popen", failing(errno.ENOENT))
    assert nvcc.version("/nowhere/nvcc") == ""
    monkeypatch.setattr("builtins.open", failing(number))
    with pytest.raises(OSError):
        toolkit._found(str(tmp_path), rb"(\d)")
    monkeypatch.setattr("builtins.open", failing(errno.ENOENT))
    assert toolkit._found(str(tmp_path), rb"(\d)") == b""
    with pytest.raises(OSError) as refused:  # of dlopen, which has no number
        reject_exhausted(RuntimeError(f"libx.so: cannot open shared object file: {os.strerror(number)}"))
    assert refused.value.errno == number
    reject_exhausted(RuntimeError("libx.so: cannot open shared object file: No such file or directory"))


def test_a_header_that_cannot_be_read_is_in_no_key(monkeypatch, tmp_path):
    (tmp_path / "mine.h").write_text("#define ONE 1\n")
    source = b'#include "mine.h"\n'
    find, given = includes.included, (source, str(tmp_path), ())
    assert find(*given).certain
    monkeypatch.setattr("builtins.open", failing(errno.EMFILE))
    assert not find(*given).certain
