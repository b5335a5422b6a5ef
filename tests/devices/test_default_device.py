"""The device of calls that name none: `set_default_device`, `with gpureduce.device(...)`, `GPUREDUCE_DEVICE`.

Simulators of several numbers stand for several devices.
"""

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import gpureduce
from gpureduce import _core

A = np.random.default_rng(39).standard_normal((3, 5))


@pytest.fixture(autouse=True)
def unset():
    """Leave the process without a default device."""
    gpureduce.set_default_device("sim")
    yield
    gpureduce.set_default_device(None)


def device_of_calls():
    """Return the device of calls without `device=`, by the fast path and by others, which have to agree."""
    found = {
        gpureduce.to_device(A).device,
        gpureduce.sum(A, axis=1, as_device=True).device,  # the fast path
        gpureduce.sum(A, axis=1, as_device=True, variant="auto", where=A > 0).device,
        gpureduce.matmul(A, A.T, as_device=True).device,
        gpureduce.cumulative_sum(A, axis=1, as_device=True).device,
        gpureduce.median(A, axis=1, as_device=True).device,
        gpureduce.partial(A, "sum", as_device=True).device,
    }
    assert len(found) == 1, found
    return found.pop()


def test_set_default_device():
    for name in ("sim:2", "sim"):
        gpureduce.set_default_device(name)
        assert device_of_calls() == name
    gpureduce.set_default_device(gpureduce.devices()[-1])
    assert device_of_calls() == "sim"


def test_a_context_comes_before_the_default_of_the_process():
    gpureduce.set_default_device("sim:1")
    with gpureduce.device("sim:2") as outer:
        assert isinstance(outer, gpureduce.Device) and str(outer) == "sim:2"
        assert device_of_calls() == "sim:2"
        with gpureduce.device(gpureduce.devices()[-1]):
            assert device_of_calls() == "sim"
            gpureduce.set_default_device("sim:3")
            assert device_of_calls() == "sim"
        assert device_of_calls() == "sim:2"
    assert device_of_calls() == "sim:3"


def test_an_argument_comes_before_a_context():
    with gpureduce.device("sim:2"):
        assert gpureduce.sum(A, axis=1, device="sim:1", as_device=True).device == "sim:1"
        assert gpureduce.to_device(A, "sim").device == "sim"


def test_arrays_keep_their_device():
    there = gpureduce.to_device(A, "sim:1")
    with gpureduce.device("sim:2"):
        assert there.sum(axis=1).device == gpureduce.sum(there, axis=0).device == "sim:1"
        assert gpureduce.to_device(there) is there
        assert gpureduce.cumulative_sum(there, axis=1).device == "sim:1"


def test_an_exception_ends_a_context():
    with pytest.raises(ZeroDivisionError), gpureduce.device("sim:2"):
        raise ZeroDivisionError
    assert device_of_calls() == "sim"


def test_a_context_is_of_its_thread():
    seen = []
    with gpureduce.device("sim:2"):
        thread = threading.Thread(target=lambda: seen.append(device_of_calls()))
        thread.start()
        thread.join()
        seen.append(device_of_calls())
    assert seen == ["sim", "sim:2"]


def test_threads_have_contexts_of_their_own_at_once():
    wrong = []

    def work(name):
        for _ in range(50):
            with gpureduce.device(name):
                found = gpureduce.sum(A, axis=0, as_device=True).device
            if found != name:
                wrong.append((name, found))

    threads = [threading.Thread(target=work, args=(f"sim:{i + 1}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and device_of_calls() == "sim"


def test_a_context_is_of_its_asyncio_task():
    async def work(name):
        with gpureduce.device(name):
            for _ in range(5):
                await asyncio.sleep(0)
                assert gpureduce.sum(A, axis=0, as_device=True).device == name
        return gpureduce.sum(A, axis=0, as_device=True).device

    async def main():
        return await asyncio.gather(*(work(f"sim:{i + 1}") for i in range(3)))

    assert asyncio.run(main()) == ["sim"] * 3


@pytest.mark.parametrize(
    ("device", "error", "message"),
    [
        ("gpu", ValueError, "device: unknown device 'gpu'; expected 'cuda'"),
        (3, TypeError, "device: expected str, Device or None, got int"),
        (["sim"], TypeError, "device: expected str, Device or None, got list"),
        ("cuda:63", gpureduce.DeviceError, "cuda:63: no such device; there are .*sim"),
    ],
)
def test_no_device_is_refused_at_once(device, error, message):
    with pytest.raises(error, match=message):
        gpureduce.set_default_device(device)
    with pytest.raises(error, match=message), gpureduce.device(device):
        pass
    assert device_of_calls() == "sim"


def test_a_context_of_none_is_refused():
    with pytest.raises(TypeError, match="device: expected str or Device, got None"), gpureduce.device(None):
        pass


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ("sim", TypeError),
        ((0,), TypeError),
        ((_core.CUDA, 64), ValueError),
        ((_core.SIM, -1), ValueError),
        ((7, 0), ValueError),
        ((_core.CUDA, 2**40), OverflowError),
    ],
)
@pytest.mark.parametrize("function", [_core.set_default_device, _core.push_device])
def test_the_core_refuses_what_is_no_device(function, wrong, error):
    with pytest.raises(error):
        function(wrong)
    assert _core.default_device() == (_core.SIM, 0)


def python(code, **environment):
    path = os.pathsep.join([str(Path(gpureduce.__file__).parents[1]), *sys.path])
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", f"import gpureduce\n{code}"],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_environment_names_the_default_device():
    code = """
print(gpureduce.sum([1.0, 2.0], axis=0, as_device=True).device, gpureduce.to_device([1]).device)
with gpureduce.device("sim:3"):
    print(gpureduce.to_device([1]).device)
gpureduce.set_default_device("sim:4")
print(gpureduce.to_device([1]).device)
gpureduce.set_default_device(None)
print(gpureduce.to_device([1]).device)
"""
    done = python(code, GPUREDUCE_DEVICE="sim:2")  # no SimulatorWarning either
    assert done.stdout.split() == ["sim:2", "sim:2", "sim:3", "sim:4", "sim:2"], done.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpu", "ValueError: GPUREDUCE_DEVICE: unknown device 'gpu'; expected"),
        ("cuda:63", "DeviceError: GPUREDUCE_DEVICE: cuda:63: no such device; there are "),
    ],
)
def test_an_environment_without_such_a_device_is_an_error_of_the_first_call(name, message):
    done = python("print('imported')\ngpureduce.sum([1.0])", GPUREDUCE_DEVICE=name)
    assert done.returncode == 1 and done.stdout == "imported\n" and message in done.stderr
    assert python("gpureduce.sum([1.0], device='sim')", GPUREDUCE_DEVICE=name).returncode == 0


def test_a_default_device_needs_no_warning(tmp_path):
    code = "gpureduce.set_default_device('sim')\nprint(gpureduce.sum([1.0, 2.0]))"
    assert python(code, GPUREDUCE_LIBCUDA=str(tmp_path / "none.so"), GPUREDUCE_DEVICE="").stdout == "3.0\n"
    code = "with gpureduce.device('sim'):\n    print(gpureduce.sum([1.0, 2.0]))\ngpureduce.sum([1.0])"
    done = python(code, GPUREDUCE_LIBCUDA=str(tmp_path / "none.so"), GPUREDUCE_DEVICE="")
    assert done.stdout == "3.0\n" and "SimulatorWarning: no CUDA device" in done.stderr
