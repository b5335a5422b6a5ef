"""Has every allocation of the C core fail in turn, while each entry point is called.

Run by test_faults.py with the library made of failing_alloc.c in LD_PRELOAD; prints what it found as JSON.
"""

import ctypes
import json
import os
import sys
from pathlib import Path

import numpy as np

os.environ["GPUREDUCE_CHUNK_BYTES"] = "1024"
sys.path.append(str(Path(__file__).resolve().parents[2]))
import gpureduce
from tests.support import every_call

# Exceptions that say what happened. CompileError and the like come of the calls themselves.
CLEAN = (MemoryError, gpureduce.DeviceError)
# So many allocations fail in turn, then ever fewer: of those that load a kernel file at first a half
# more each time, of those of a call a quarter.
EACH = 10**9 if "all" in sys.argv[1:] else 6
ASSURED = 3  # in a row without a failure, after which there is no further allocation to fail

allocator = ctypes.CDLL(None)
allocator.faults_arm.argtypes = (ctypes.c_long,)
for count in (allocator.faults_hits, allocator.faults_calls, allocator.faults_live):
    count.restype = ctypes.c_long


def value_of(result):
    """A result as something that can be compared: numbers by their bytes, the rest by its type."""
    if isinstance(result, gpureduce.DeviceArray):
        result = result.numpy()
    if isinstance(result, (np.generic, np.ndarray)):
        return (str(result.dtype), result.tobytes())
    return result if isinstance(result, type) else type(result)


def call(name, fail=0):
    """The outcome of a call in which the allocation of that number fails, and whether there was one."""
    gpureduce.free_memory()
    allocator.faults_arm(fail)
    outcome = every_call.outcome(name)
    failed = allocator.faults_hits() > 0
    allocator.faults_arm(0)
    outcome = value_of(outcome)
    gpureduce.free_memory()
    return outcome, failed


def is_clean(outcome, wanted):
    return outcome == wanted or (isinstance(outcome, type) and issubclass(outcome, CLEAN))


def load(name):
    """The first calls of all, which read and parse kernel files; return faults, and outcomes but errors.

    The simulator does without a thread that it cannot start, so that a call may be right all the same.
    """
    n, faults, results = 1, 0, []
    failed = True
    while failed:
        outcome, failed = call(name, n)
        faults += failed
        if failed and isinstance(outcome, type) and not issubclass(outcome, (*CLEAN, *every_call.ERRORS)):
            results.append((n, outcome))
        n += n // 2 if n > EACH else 1
    return faults, results


def sweep(name):
    """Calls after that: a clean error or the right result, nothing left behind, and the next call right."""
    wanted, _ = call(name)
    n, faults, bad, missed = 1, 0, [], 0
    while missed < ASSURED:
        before = allocator.faults_live()
        outcome, failed = call(name, n)
        left = allocator.faults_live() - before
        after, _ = call(name)
        missed = 0 if failed else missed + 1
        faults += failed
        if not is_clean(outcome, wanted):
            bad.append(f"{name}: allocation {n}: {outcome}, not {wanted}")
        if left != 0:
            bad.append(f"{name}: allocation {n}: {left} blocks left behind")
        if after != wanted:
            bad.append(f"{name}: after allocation {n} failed: {after}, not {wanted}")
        n += 1 + (n // 4 if n > EACH and not missed else 0)
    return faults, bad


def main():
    assert allocator.faults_watch(b"gpureduce/_core"), "the extension is not loaded"
    names, faulty = list(every_call.CALLS), "clean" not in sys.argv[1:]
    faults, bad = 0, []
    for name in names:
        found, results = load(name) if faulty else (0, [])
        faults += found
        wanted, _ = call(name)
        wrong = [(n, outcome) for n, outcome in results if outcome != wanted]
        bad += [f"{name}: loading, allocation {n}: {outcome}, not {wanted}" for n, outcome in wrong]
    loaded = allocator.faults_live()
    if faulty:
        for name in names:
            found = sweep(name)
            faults, bad = faults + found[0], [*bad, *found[1]]
    print(json.dumps({"faults": faults, "bad": bad, "loaded": loaded}))


if __name__ == "__main__":
    main()
