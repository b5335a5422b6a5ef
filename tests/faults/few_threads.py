"""Sums with the threads that could be started, also none: run by test_faults.py, with how many that are."""

import ctypes
import os
import sys

import numpy as np

import gpureduce

preloaded = ctypes.CDLL(None)


def refused(function):
    """What the call gives, after which some thread was refused."""
    gpureduce.free_memory()
    preloaded.threads_allow(int(sys.argv[1]))
    result = function()
    assert preloaded.threads_refused() > 0
    return result


steps = []


def progress(done, total):
    steps.append((done, total))


large = np.arange((5 << 20) // 4, dtype=np.int32) % 1001  # more than a chunk
assert refused(lambda: gpureduce.sum(large, device="sim")) == large.sum()

os.environ["GPUREDUCE_CHUNK_BYTES"] = "4096"
few, many = large[:2000], large[:100_000]
for array in (few, many, few):
    assert refused(lambda array=array: gpureduce.sum(array, device="sim")) == array.sum()
    assert gpureduce.sum(array, device="sim") == array.sum()  # the threads of the last call go on
assert refused(lambda: gpureduce.dot(many, many[::-1], device="sim")) == np.dot(many, many[::-1])
assert refused(lambda: gpureduce.max(many, device="sim", progress=progress)) == 1000
assert steps[-1] == (many.nbytes, many.nbytes)

# Launches of the simulator, the last with as many threads as the environment says.
assert refused(lambda: gpureduce.sum(many, variant="v2", device="sim")) == many.sum()
preloaded.threads_allow(1000)
some = many[: 200 * 256]  # 200 blocks, then one
assert gpureduce.sum(some, variant="v2", device="sim") == some.sum()
found, wanted = preloaded.threads_started() + 1, int(os.environ["GPUREDUCE_SIM_THREADS"])
assert found == wanted, (found, wanted)
