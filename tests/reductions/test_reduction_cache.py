"""Reductions that users write: where compiled kernels are kept, and what the core checks."""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce._custom import disk_cache, nvrtc
from gpureduce._custom import kernel as custom
from tests.support.custom_reductions import norm2, quick, total, whole_numbers

pytestmark = pytest.mark.usefixtures("kept_kernels")


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """Nothing compiled yet; returns the folder for what will be."""
    monkeypatch.setenv("GPUREDUCE_CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setattr(custom, "_kernels", {})
    return tmp_path / "kernels"


# Kept kernels


def test_where_kernels_are_found(device, fresh):
    x = whole_numbers(500)
    kernel = norm2()
    for calls in range(1, 4):
        kernel(x, device=device)
        assert kernel.cache_info() == (1, 0, calls - 1)
    kernel(x[:7], device=device)  # other lengths are no reason to compile
    assert kernel.cache_info().compiled == 1
    kernel(x.astype(float), device=device)  # other dtypes are
    for _ in range(2):
        kernel(x.reshape(10, 50), axis=0, device=device)  # and the first layout that takes another kernel
    assert kernel.cache_info() == (3, 0, 4)
    assert len(list(fresh.iterdir())) == 3
    twin = norm2()
    twin(x, device=device)
    assert twin.cache_info() == (0, 0, 1)
    custom._kernels.clear()
    twin = norm2()
    assert twin(x, device=device) == kernel(x, device=device)
    assert twin.cache_info() == (0, 1, 0)


def test_all_that_is_given_is_in_the_key(device, fresh):
    x = whole_numbers(50)
    for changes in (
        {}, {"map_expr": "x * w + 0"}, {"reduce_expr": "b + a"}, {"post_map_expr": "y = sqrt(a) + 0"},
        {"identity": "0.0f"}, {"identity": None}, {"name": "norm"}, {"reduce_type": "float64"},
        {"preamble": "// a"}, {"options": ("-DX",)},
    ):  # fmt: skip
        kernel = quick(**changes)
        kernel(x, x, device=device)
        assert kernel.cache_info() == (1, 0, 0), changes


def test_another_compiler_compiles_again(device, fresh, monkeypatch):
    x = whole_numbers(50)
    quick()(x, x, device=device)
    custom._kernels.clear()
    monkeypatch.setattr(nvrtc.library(), "version", (12, 99))
    kernel = quick()
    kernel(x, x, device=device)
    assert kernel.cache_info() == (1, 0, 0)


def test_a_damaged_file_is_compiled_again(device, fresh):
    x = whole_numbers(500)
    wanted = quick()(x, x, device=device)
    (file,) = fresh.iterdir()
    whole = file.read_text("utf-8")
    damaged = {
        "cut short": whole[: len(whole) // 2],
        "changed": whole.replace("ret;", "bra;", 1),
        "empty": "",
        "without digest": whole.split("\n", 1)[1],
        "no UTF-8": "\xff\xfe",
    }
    for damage, text in damaged.items():
        file.write_text(text, "latin-1")
        for found in ((1, 0, 0), (0, 1, 0)):
            custom._kernels.clear()
            kernel = quick()
            assert kernel(x, x, device=device) == wanted, damage
            assert kernel.cache_info() == found, damage
        assert [path.read_text("utf-8") for path in fresh.iterdir()] == [whole]


def test_without_a_folder_to_write_to(device, fresh):
    fresh.write_text("no folder")
    kernel = norm2()
    assert kernel(np.array([3.0, 4.0]), device=device) == 5
    assert kernel.cache_info() == (1, 0, 0)


def test_which_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("GPUREDUCE_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert disk_cache.cache_folder() == tmp_path / ".cache" / "gpureduce"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/to/nothing")
    assert disk_cache.cache_folder() == tmp_path / ".cache" / "gpureduce"
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/xdg")
    assert disk_cache.cache_folder() == Path("/var/xdg/gpureduce")
    monkeypatch.setenv("GPUREDUCE_CACHE_DIR", "mine")
    assert disk_cache.cache_folder() == Path("mine")


def test_the_oldest_kernels_are_unloaded(device, fresh, monkeypatch):
    monkeypatch.setattr(custom, "_KEPT", 2)
    x = whole_numbers(50, "float64")
    kernels = [total("T x, int32 w", map_expr=f"{i} * x") for i in range(4)]
    for _ in range(2):  # those in use go on working
        assert [kernel(x, 1, device=device) for kernel in kernels] == [i * x.sum() for i in range(4)]
    assert len(custom._kernels) == 2


def test_threads_compile_once(device, fresh):
    kernels = [quick() for _ in range(3)]
    x = whole_numbers((8, 3000))
    wanted = np.sqrt((x.astype(np.float64) ** 2).sum(axis=1)).astype(np.float32)
    results, start = {}, threading.Barrier(8)

    def work(number):
        start.wait()
        for turn in range(5):
            results[number, turn] = kernels[number % 3](x[number], x[number], device=device)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {key: value == wanted[key[0]] for key, value in results.items()} == dict.fromkeys(results, True)
    assert len(results) == 40
    assert sum(kernel.cache_info().compiled for kernel in kernels) == 1
    assert [path.suffix for path in fresh.iterdir()] == [".ptx"]


def run_python(code, **environment):
    """The standard output of a program that sees this very package."""
    path = str(Path(gpureduce.__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": path, **environment}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120, cwd="/"
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


DEFINITION = """
import gpureduce
norm2 = gpureduce.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm2")
"""


def test_a_program_may_end_with_kernels_loaded(device):
    code = f"{DEFINITION}\nprint(norm2([3.0, 4.0], device={device!r}), norm2.cache_info())"
    run_python(code)
    assert run_python(code) == "5.0 CacheInfo(compiled=0, disk=1, memory=0)\n"


def test_a_forked_child_can_compile():
    """Even if it was made while another thread was compiling."""
    code = f"""{DEFINITION}
import os
from gpureduce._custom import kernel
kernel._lock.acquire()
child = os.fork()
if child == 0:
    os._exit(0 if norm2([3.0, 4.0], device="sim") == 5 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run_python(code) == "0\n"


@pytest.mark.parametrize("missing", ["cuda.pathfinder", "library"])
def test_without_nvrtc(device, fresh, monkeypatch, missing):
    if missing == "library":
        from cuda import pathfinder

        def find(name):
            raise pathfinder.DynamicLibNotFoundError(f"no {name} here\nnor there")

        monkeypatch.setattr(pathfinder, "load_nvidia_dynamic_lib", find)
    else:
        monkeypatch.setitem(sys.modules, missing, None)
    nvrtc.library.cache_clear()
    kernel = norm2()
    with pytest.raises(ImportError, match=r"NVRTC: pip install 'gpureduce\[nvrtc\]'"):
        kernel([3.0, 4.0], device=device)
    monkeypatch.undo()
    assert kernel([3.0, 4.0], device=device) == 5  # installed meanwhile


# The core, called past the Python that prepares its arguments


def test_the_core_checks_what_it_is_handed():
    ptx, _ = nvrtc.compiled("total", program("tiles"), ())
    kernels = {"tiles": _core.custom_load("total", ptx, _core.SIM, 0)}
    x, out = np.arange(6, dtype=np.float32).reshape(2, 3), np.empty(2, np.float32)
    assert _core.custom_run(kernels, (x,), False, True, False, False, (1,), (out,)) == []
    assert out.tolist() == [3, 12]
    kinds = False, False
    for arguments, error in (
        ((object(), (x,), False, True, *kinds, (1,), (out,)), TypeError),
        ((kernels["tiles"], (x,), False, True, *kinds, (1,), (out,)), TypeError),
        (({"tiles": object()}, (x,), False, True, *kinds, (1,), (out,)), ValueError),
        ((kernels, [x], False, True, *kinds, (1,), (out,)), TypeError),
        ((kernels, (x,) * 9, True, False, *kinds, (1,), (out,)), TypeError),
        ((kernels, (), False, True, *kinds, (), (out,)), ValueError),
        ((kernels, (b"1234",), False, True, *kinds, (), (out,)), ValueError),
        ((kernels, (x, b"1" * 17), False, False, *kinds, (1,), (out,)), ValueError),
        ((kernels, (x, x, x), False, False, *kinds, (1,), (out,)), ValueError),
        ((kernels, (x, x[0]), False, False, *kinds, (1,), (out,)), ValueError),
        ((kernels, (x, "x"), False, False, *kinds, (1,), (out,)), TypeError),
        ((kernels, (x,), False, True, *kinds, [1], (out,)), TypeError),
        ((kernels, (x,), False, True, *kinds, (2,), (out,)), ValueError),
        ((kernels, (x,), False, True, *kinds, (1,), (out[:1],)), ValueError),
        ((kernels, (x,), False, True, *kinds, (1,), (None,)), TypeError),
        ((kernels, (x,), False, True, *kinds, (1,), (np.empty(4, np.float32)[::2],)), ValueError),
        ((kernels, (x,), False, True, *kinds, (1,), out), TypeError),
        ((kernels, (x,), False, True, *kinds, (1,), ()), TypeError),
        ((kernels, (x,), False, True, *kinds, (1,), (out,) * 9), TypeError),
        ((kernels, (x,), False, True, *kinds, (1,), (out, (0, (2,), (4,), "float32"))), ValueError),
        ((kernels, (x,), False, True, *kinds, (1,)), TypeError),
    ):
        with pytest.raises(error):
            _core.custom_run(*arguments)
    with pytest.raises(gpureduce.SimulationError):
        _core.custom_load("total", "no PTX", _core.SIM, 0)
    with pytest.raises(gpureduce.SimulationError, match="no kernel other_tiles"):
        other = _core.custom_load("other", ptx, _core.SIM, 0)
        _core.custom_run({"tiles": other}, (x,), False, True, *kinds, (1,), (out,))


def program(*kernels):
    kernel = total()
    types = custom.Types(("float32",), (False,), ("float32",), True)
    return custom.source("total", kernel._inputs, kernel._outs, kernel._expressions, types, kernels)


def test_the_core_says_which_kernels_are_missing():
    """Of a plan of two launches both, and what runs may be of several programs."""
    x, out = whole_numbers((3, 60_000)), np.full(3, 0.5, np.float32)
    call = (x,), False, True, False, False, (1,), (out,)
    names = _core.custom_run({}, *call)
    assert len(names) == 2 and names[1] == "last"
    kernels = {}
    for name in names:
        assert name in _core.custom_run(kernels, *call) and (out == 0.5).all()
        ptx, _ = nvrtc.compiled("total", program(name), ())
        assert len(re.findall(r"\.entry \w+", ptx)) == 1
        kernels[name] = _core.custom_load("total", ptx, _core.SIM, 0)
    assert _core.custom_run(kernels, *call) == []
    assert np.array_equal(out, x.sum(axis=1))
    kernels["last"] = _core.custom_load("total", ptx, _core.SIM, 1)
    with pytest.raises(ValueError, match="kernels of total lie on two devices"):
        _core.custom_run(kernels, *call)
    empty = np.zeros((0, 5), np.float32)
    assert _core.custom_run({}, (empty,), False, True, False, False, (1,), (out[:0],)) == []
