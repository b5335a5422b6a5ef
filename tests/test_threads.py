"""Many threads over shared inputs, and interpreters beside the main one."""

import random
import sys
import textwrap
import threading

import numpy as np
from test_api import python

import gpureduce

THREADS = 16
OPERATORS = ("sum", "prod", "min", "max", "mean", "any", "all", "argmin", "argmax", "count_nonzero")
DTYPES = ("bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64", "complex64")


def shared(dtype):
    return (np.arange(1, 1901) * 7919 % 23 - 11).reshape(38, 50).astype(dtype)


def jobs(device):
    """Operators, dtypes and ways through the core over a few arrays that all threads share."""
    made = []
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


def run(job):
    function, array, options = job
    result = np.asarray(function(array, **options))
    return (result.dtype.str, result.shape, result.tobytes())


def test_sixteen_threads_get_the_results_of_one(device, monkeypatch):
    monkeypatch.setenv("GPUREDUCE_CHUNK_BYTES", "1024")  # streams and their rings, too
    work = jobs(device)
    serial = [run(job) for job in work]
    start, wrong = threading.Barrier(THREADS), []

    def in_some_order(seed):
        order = list(range(len(work)))
        random.Random(seed).shuffle(order)
        start.wait()
        for i in order[: len(order) // 2]:
            try:
                if run(work[i]) != serial[i]:
                    wrong.append((seed, work[i]))
            except Exception as error:
                wrong.append((seed, work[i], error))
            if i % 50 == 0:
                gpureduce.free_memory()  # beside calls that use it

    threads = [threading.Thread(target=in_some_order, args=(seed,)) for seed in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gpureduce.free_memory()
    assert not wrong, wrong[:3]


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
