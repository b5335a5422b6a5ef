"""Forks, new processes, ways out of the interpreter, and Ctrl-C; on the simulator.

test_api.py and test_host_stream.py have the plain cases: a child of a process without threads, Ctrl-C in a
simulation and in a stream, a daemon thread at the end.
"""

import multiprocessing
import textwrap

import numpy as np
import pytest

import gpureduce
from tests.support.children import child_environment, interrupted, python
from tests.support.interpreter import HAS_GIL
from tests.support.sanitized import forks_beside_threads, leaves_a_call_unfinished


def total(array):
    """What a process of its own is asked for."""
    found = gpureduce.sum(array, device="sim")
    return found, gpureduce.sum(array, device="sim", variant="v5")


# Forks


@pytest.mark.skipif(
    not HAS_GIL, reason="CPython 3.13t may leave the lock of a dict, of sys.modules say, taken"
)
@forks_beside_threads
def test_forks_beside_threads_that_work():
    """No child finds a lock in the hands of a thread that it does not have."""
    done = python(
        """
        import os, signal, threading, time
        import gpureduce, numpy as np
        large, small = np.arange(1.0, 20001.0, dtype=np.float32), np.arange(1.0, 1001.0)
        right = gpureduce.sum(large, variant="v3", device="sim")
        def work():
            while True:
                gpureduce.sum(large, variant="v3", device="sim")
                gpureduce.sum(small, device="sim")
                gpureduce.to_device(small, "sim")
        for _ in range(4):
            threading.Thread(target=work, daemon=True).start()
        codes = []
        for _ in range(60):
            time.sleep(0.002)
            child = os.fork()
            if child == 0:
                signal.alarm(10)
                good = gpureduce.sum(large, variant="v3", device="sim") == right
                os._exit(0 if good and gpureduce.sum(small, device="sim") == 500500 else 1)
            codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        print(sorted(set(codes)), flush=True)
        os._exit(0)
        """,
        "-W",
        "ignore",  # Python warns of forks next to threads
    )
    assert done.stdout.split() == ["[0]"], (done.stdout, done.stderr)


@pytest.mark.skipif(not HAS_GIL, reason="as above")
@forks_beside_threads
def test_forks_beside_threads_that_look_for_a_driver():
    """A child does so itself, and finds what its parent found: there is none."""
    done = python(
        """
        import os, signal, threading
        from gpureduce import _core
        def work():
            while True:
                _core.cuda_problem()
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        codes = []
        for _ in range(100):
            child = os.fork()
            if child == 0:
                signal.alarm(10)
                problem = _core.cuda_problem()
                os._exit(0 if problem.startswith("no CUDA driver: /no/such") else 1)
            codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        print(sorted(set(codes)), flush=True)
        os._exit(0)
        """,
        "-W",
        "ignore",
        GPUREDUCE_LIBCUDA="/no/such/library.so",
    )
    assert done.stdout.split() == ["[0]"], (done.stdout, done.stderr)


def test_a_forked_child_reads_its_arrays():
    """Arrays on the simulator are copied with the process: the child changes its own alone."""
    done = python(
        """
        import os
        import gpureduce, numpy as np
        array = gpureduce.to_device(np.arange(12.0).reshape(3, 4), "sim")
        out = gpureduce.to_device(np.zeros(4), "sim")
        child = os.fork()
        if child == 0:
            gpureduce.sum(array, axis=0, out=out)
            good = out.numpy().tolist() == [12.0, 15.0, 18.0, 21.0]
            del array
            os._exit(0 if good else 1)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(code, gpureduce.sum(array), out.numpy().sum())
        """
    )
    assert done.stdout.split() == ["0", "66.0", "0.0"], done.stderr


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_new_processes(method, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", child_environment()["PYTHONPATH"])
    arrays = [np.arange(n, dtype=np.float64) for n in (7, 1000, 4097)]
    gpureduce.sum(arrays[0], device="sim")
    with multiprocessing.get_context(method).Pool(2) as pool:
        found = pool.map_async(total, arrays).get(timeout=100)
    assert found == [(array.sum(), array.sum()) for array in arrays]


# Ways out

WORK = """
    import atexit, os, sys, threading, time, weakref
    import gpureduce, numpy as np
    array = np.ones(2**18, np.float32)
    def many():
        while True:
            gpureduce.sum(array, device="sim")
"""
WAYS_OUT = {
    # The progress callback runs in the middle of a stream.
    "os._exit in a stream": ("gpureduce.sum(array, device='sim', progress=lambda *_: os._exit(7))", 7),
    "sys.exit in a stream": ("gpureduce.sum(array, device='sim', progress=lambda *_: sys.exit(8))", 8),
    "sys.exit with a daemon": ("threading.Thread(target=many, daemon=True).start(); sys.exit(9)", 9),
    "sys.exit with threads that end": (
        "[threading.Thread(target=lambda: [gpureduce.sum(array, device='sim') for _ in range(5)]).start()"
        " for _ in range(4)]; sys.exit(10)",
        10,
    ),
    "os._exit with a daemon": (
        "threading.Thread(target=many, daemon=True).start(); time.sleep(0.05); os._exit(11)",
        11,
    ),
    "live arrays": ("a = gpureduce.to_device(array, 'sim'); b = [a]; b.append(b); gpureduce.kept = b", 0),
    "a live array among the builtins": (
        "import builtins; builtins.kept = gpureduce.to_device(array, 'sim')",
        0,
    ),
    "a live capsule": (
        "a = gpureduce.to_device(array, 'sim'); c = a.__dlpack__(dl_device=(1, 0)); gpureduce.kept = c",
        0,
    ),
    "a live consumer": (
        "a = gpureduce.to_device(array, 'sim'); gpureduce.kept = np.from_dlpack(a, device='cpu')",
        0,
    ),
    "a live import": (
        "gpureduce.kept = gpureduce._core.dlpack_import(array.__dlpack__())",
        0,
    ),
    "calls at exit": (
        "atexit.register(lambda: print(gpureduce.sum(array, device='sim')))",
        0,
    ),
    "calls in a finalizer": (
        "class Last:\n    def __del__(self): gpureduce.sum(array, device='sim')\nkept = Last()",
        0,
    ),
    "an exception in a stream": ("gpureduce.sum(array, device='sim', progress=lambda *_: 1 / 0)", 1),
}


@pytest.mark.parametrize(
    "way",
    [
        pytest.param(way, marks=leaves_a_call_unfinished if way == "sys.exit with a daemon" else ())
        for way in WAYS_OUT
    ],
)
def test_ways_out(way):
    code, wanted = WAYS_OUT[way]
    done = python(textwrap.dedent(WORK) + code, "-X", "faulthandler", GPUREDUCE_CHUNK_BYTES="4096")
    assert done.returncode == wanted, (done.returncode, done.stdout, done.stderr)
    assert "Fatal" not in done.stderr


def test_a_capsule_releases_its_owner_while_python_ends():
    done = python(
        """
        import gpureduce
        owner = open(1, "w")  # flushes when it is released
        owner.write("released")
        kept = gpureduce._core.dlpack_export(owner, 4096, (1,), "float32", 1, 0, False, False)
        del owner
        """
    )
    assert done.stdout == "released", done.stderr


# Ctrl-C, where the others do not send it

LONG = """
    import signal, sys, time
    signal.signal(signal.SIGINT, signal.default_int_handler)
    import gpureduce, numpy as np
    ptx = '''
        .version 7.0
        .target sm_75
        .address_size 64
        .visible .entry forever() {
            .reg .b32 %r;
            mov.u32 %r, 0;
        again:
            add.u32 %r, %r, 1;
            bra again;
        }
    '''
    array = np.ones(2**22, np.float32)
    rows = array.reshape(2**11, -1)
    twice = np.ones(2**20, np.float32)
    calls = {
        "simulate": lambda: gpureduce.simulate(ptx, "forever", 1, 32, races=False),
        "profile": lambda: [gpureduce.profile(array, "v0") for _ in range(100)],
        "axis": lambda: [gpureduce.sum(rows, axis=1, device="sim") for _ in range(1000)],
        "dot": lambda: [gpureduce.dot(twice, twice, device="sim") for _ in range(1000)],
    }
    print("ready", flush=True)
    try:
        calls[sys.argv[1]]()
        print("finished")
    except KeyboardInterrupt:
        print("interrupted", time.time(), gpureduce.sum(array[:100], device="sim"))
"""


@pytest.mark.parametrize("call", ["simulate", "profile", "axis", "dot"])
def test_ctrl_c(call):
    assert interrupted(LONG, call, after=0.3, within=2.0, GPUREDUCE_CHUNK_BYTES="4096") == "100.0"
