"""Independent thread scheduling: lanes of a warp that wait for each other, and lanes that have returned.

The kernels are those of tests/gpu/thread_scheduling.cu, which a GPU runs, too.
"""

import re
from pathlib import Path

import numpy as np
import pytest

import gpureduce

SOURCE = (Path(__file__).parent / "gpu" / "thread_scheduling.cu").read_text("utf-8")
DEVICE_PART = SOURCE[: SOURCE.index("// The host's part")]
KERNELS = dict(re.findall(r"// expect (\w+): (.*)\n", DEVICE_PART))


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("threads", [20, 32, 96])
def test_kernels_that_a_gpu_runs(name, threads):
    out = np.zeros(128, np.int32)
    expected = [eval(KERNELS[name], {"t": t, "n": threads}) for t in range(threads)]
    gpureduce.simulate(DEVICE_PART, name, 1, threads, [out, threads])
    np.testing.assert_array_equal(out[:threads], expected)


def failure(body, threads=32):
    source = f"__global__ void k(volatile int *o) {{ const int t = threadIdx.x; {body} }}"
    with pytest.raises(gpureduce.SimulationError) as info:
        gpureduce.simulate(source, "k", 1, threads, [np.zeros(64, np.int32)])
    return str(info.value)


def test_a_deadlock_is_one_still():
    assert "deadlock" in failure("while (o[0] == 0) ; o[1] = 1;")
    # Each half waits for what the other would write later.
    assert "deadlock" in failure(
        "if (t < 16) { while (o[0] == 0) ; o[1] = 1; } else { while (o[1] == 0) ; o[0] = 1; }"
    )
    # A lock that nobody gives back.
    assert "deadlock" in failure("while (atomicCAS((int *)o, 0, 1) != 0) ; o[1] = t;")


def test_barriers_need_all_threads_still():
    assert "divergent barrier" in failure("if (t < 16) __syncthreads(); o[t] = 1;")


def test_collectives_of_lanes_that_take_another_branch_are_refused_still():
    text = failure(
        "if (t < 16) o[t] = __ballot_sync(~0u, 1); else o[t] = 2 * __ballot_sync(~0u, t > 3); o[0] = 5;"
    )
    assert "membermask" in text
