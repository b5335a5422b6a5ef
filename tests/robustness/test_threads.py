"""Many threads over shared inputs, with and without a GIL, and interpreters next to the main one."""

import ctypes
import random
import sys
import textwrap

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from tests.support.children import python
from tests.support.interpreter import FREE_THREADED
from tests.support.sanitized import forks_beside_threads
from tests.support.threads import THREADS, can_compile, together

OPERATORS = ("sum", "prod", "min", "max", "mean", "any", "all", "argmin", "argmax", "count_nonzero")
DTYPES = ("bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64", "complex64")


def shared(dtype):
    return (np.arange(1, 1901) * 7919 % 23 - 11).reshape(38, 50).astype(dtype)


def into_an_array_of_its_own(array, **options):
    out = np.full(array.shape[1], 77, array.dtype)
    assert gpureduce.max(array, axis=0, out=out, **options) is out
    return out


def there_and_back(array, **options):
    """Arrays on the device come and go, those of results, too."""
    return gpureduce.sum(gpureduce.to_device(array, **options), axis=0).numpy()


def exchanged(placed):
    """Export a copy by DLPack, import it, and read it while the capsule is gone."""
    pointer, shape, *_, owner = _core.dlpack_import(placed.__dlpack__(dl_device=(1, 0)))
    found = np.frombuffer(ctypes.string_at(pointer, placed.nbytes), placed.dtype).reshape(shape)
    del owner
    return found


def weighted():
    return gpureduce.ReductionKernel("T x, T w", "T y", "x * w", "a + b", "y = a", "0", "weighted")


def more_jobs(device):
    """Results that stay with their thread, and objects that all threads share."""
    made = []
    for dtype in ("int32", "float32", "float64"):
        array = shared(dtype)
        placed = gpureduce.to_device(array, device)
        made += [
            (into_an_array_of_its_own, array, {"device": device}),
            (there_and_back, array, {"device": device}),
            (exchanged, placed, {}),
        ]
        if can_compile():
            kernel = weighted()
            made += [
                (lambda a, kernel=kernel: kernel(a, 3, device=device), array, {}),
                (lambda a, kernel=kernel: kernel(a, a, axis=1).numpy(), placed, {}),
            ]
    return made


def jobs(device):
    """Operators, dtypes and ways through the core over a few arrays that all threads share."""
    made = more_jobs(device) * 3
    for dtype in DTYPES:
        array = shared(dtype)
        whole, mask = array.reshape(-1), array > 0
        placed = gpureduce.to_device(array, device)
        for name in OPERATORS:
            if dtype == "complex64" and name in ("min", "max", "argmin", "argmax"):
                continue
            function = getattr(gpureduce, name)
            made += [
                (function, whole, {"device": device}),
                (function, array, {"device": device, "axis": 0}),
                (function, array.T, {"device": device, "axis": (1,) if not name.startswith("arg") else 1}),
                (function, placed, {}),
                (function, placed, {"axis": 1, "as_device": False}),
            ]
        made.append((gpureduce.sum, array, {"device": device, "axis": 1, "where": mask}))
        made.append((gpureduce.max, placed, {"initial": 3, "axis": 1, "as_device": False}))
    for variant in ("v0", "v4", "v9", "v11"):
        made.append((gpureduce.sum, shared("float32").reshape(-1), {"device": device, "variant": variant}))
    return made


@pytest.mark.skipif(not FREE_THREADED, reason="a Python with a GIL")
def test_a_free_threaded_python_stays_free():
    code = "import sys, gpureduce, gpureduce.numpy_like; print(sys._is_gil_enabled())"
    done = python(code, "-W", "error", PYTHON_GIL="")  # which would keep it off in any case
    assert (done.stdout, done.stderr) == ("False\n", "")


def run(job):
    function, array, options = job
    result = np.asarray(function(array, **options))
    return (result.dtype.str, result.shape, result.tobytes())


def test_sixteen_threads_get_the_results_of_one(device, monkeypatch):
    monkeypatch.setenv("GPUREDUCE_CHUNK_BYTES", "1024")  # streams and their rings, too
    work = jobs(device)
    serial = [run(job) for job in work]
    wrong = []

    def in_some_order(seed):
        order = list(range(len(work)))
        random.Random(seed).shuffle(order)
        for i in order[: len(order) // 2]:
            try:
                if run(work[i]) != serial[i]:
                    wrong.append((seed, work[i]))
            except Exception as error:
                wrong.append((seed, work[i], error))
            if i % 50 == 0:
                gpureduce.free_memory()  # during calls that use it

    together(in_some_order)
    gpureduce.free_memory()
    assert not wrong, wrong[:3]


def test_one_of_many_threads_gets_what_a_capsule_holds(device):
    array = gpureduce.to_device(np.arange(5.0), device)
    capsules = [array.__dlpack__(dl_device=(1, 0)) for _ in range(1000)]
    taken = []

    def take(_):
        for capsule in capsules:
            try:
                taken.append(_core.dlpack_import(capsule))
            except BufferError as error:
                assert "consumed" in str(error)

    together(take)
    assert len(taken) == len(capsules) == len({pointer for pointer, *_ in taken})


@pytest.mark.skipif(not can_compile(), reason="needs NVRTC")
def test_no_call_of_a_kernel_goes_uncounted(device, monkeypatch, tmp_path):
    monkeypatch.setenv("GPUREDUCE_CACHE_DIR", str(tmp_path))
    kernel, array, calls = weighted(), np.arange(7.0), 40
    results = []
    together(lambda _: results.extend(kernel(array, 2.0, device=device) for _ in range(calls)))
    counts = kernel.cache_info()
    assert results == [42.0] * (THREADS * calls)
    assert sum(counts) == len(results)


FIRST_CALLS = """
    import threading
    import numpy as np
    import gpureduce

    array = np.arange(3000).reshape(60, 50)
    calls = [
        lambda: gpureduce.sum(array) == 4498500,
        lambda: gpureduce.sum(array, axis=0).tolist() == array.sum(axis=0).tolist(),
        lambda: gpureduce.sum(array.reshape(-1), variant="v7") == 4498500,
        lambda: gpureduce.to_device(array).numpy().tolist() == array.tolist(),
        lambda: gpureduce.argmax(array) == 2999,
        lambda: str(gpureduce.devices()[-1]) == "sim" and gpureduce.variants("reduction")[0].name == "v0",
        lambda: gpureduce.dot(array[0], array[1]) == np.dot(array[0], array[1]),
        lambda: gpureduce.profile(array.astype(np.float32), "v3").result == 4498500,
    ]
    start, right = threading.Barrier(16), []
    def call(number):
        start.wait()
        right.append(all(calls[(number + i) % len(calls)]() for i in range(len(calls))))
    threads = [threading.Thread(target=call, args=(number,), daemon=True) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(right == [True] * 16)
"""


def test_first_calls_of_many_threads():
    """The default device, the devices and their kernels are found once, with a single warning."""
    done = python(FIRST_CALLS, "-W", "always", GPUREDUCE_LIBCUDA="/nowhere/libcuda.so")
    assert done.stdout == "True\n", done.stderr
    assert done.stderr.count("SimulatorWarning: ") == 1, done.stderr


@forks_beside_threads
def test_many_threads_fork():
    """None waits for a lock of the core and keeps the others from going on meanwhile."""
    done = python(
        """
        import os, signal, threading, time
        import gpureduce
        signal.alarm(60)
        codes, over = [], threading.Event()
        def fork():
            for _ in range(8):
                child = os.fork()
                if child == 0:
                    signal.alarm(10)
                    os._exit(0 if gpureduce.sum([1.0, 2.0], device="sim") == 3 else 1)
                codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        def look():
            while not over.is_set():
                gpureduce.devices()
                gpureduce._core.cuda_problem()
                time.sleep(0.001)
        others = [threading.Thread(target=look) for _ in range(3)]
        forks = [threading.Thread(target=fork) for _ in range(4)]
        for thread in others + forks:
            thread.start()
        for thread in forks:
            thread.join()
        over.set()
        for thread in others:
            thread.join()
        print(len(codes), set(codes))
        """,
        "-W",
        "ignore",  # Python warns of forks next to threads
    )
    assert done.stdout == "32 {0}\n", (done.returncode, done.stdout, done.stderr)


# Sub-interpreters: refused, with a reason, both those that share the GIL and those with one of their own.

RUN_IN_ANOTHER = """
    import sys, textwrap
    code = '''
    import sys
    sys.path[:] = {path!r}
    try:
        import gpureduce
        print("imported")
    except ImportError as error:
        print("refused:", error)
    '''.format(path=sys.path)
    code = textwrap.dedent(code)
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    for config in {configs}:
        other = interpreters.create(*config)
        interpreters.run_string(other, code)
        interpreters.destroy(other)
    import gpureduce
    print(gpureduce.sum([1.5, 2.0], device="sim"))
"""


def test_sub_interpreters_are_refused():
    configs = "[('legacy',), ('isolated',)]" if sys.version_info >= (3, 13) else "[(), ()]"
    done = python(textwrap.dedent(RUN_IN_ANOTHER).replace("{configs}", configs))
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert len(lines) == 3 and lines[2] == "3.5", (lines, done.stderr)
    assert all(line.startswith("refused:") and "interpreter" in line for line in lines[:2]), lines
