"""Independent thread scheduling: lanes of a warp that wait for each other, and lanes that have returned.

The kernels are those of tests/gpu/thread_scheduling.cu, which a GPU runs, too.
"""

import re
from pathlib import Path

import numpy as np
import pytest

import gpureduce

SOURCE = (Path(__file__).parents[1] / "gpu" / "thread_scheduling.cu").read_text("utf-8")
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
    # A lock that no lane releases.
    assert "deadlock" in failure("while (atomicCAS((int *)o, 0, 1) != 0) ; o[1] = t;")


def test_barriers_need_all_threads_still():
    assert "divergent barrier" in failure("if (t < 16) __syncthreads(); o[t] = 1;")


def test_collectives_of_lanes_that_take_another_branch_are_refused_still():
    text = failure(
        "if (t < 16) o[t] = __ballot_sync(~0u, 1); else o[t] = 2 * __ballot_sync(~0u, t > 3); o[0] = 5;"
    )
    assert "membermask" in text


def absent(body, threads):
    source = f"__global__ void k(int *o) {{ const int t = threadIdx.x; {body} }}"
    result = gpureduce.simulate(source, "k", 1, threads, [np.zeros(96, np.int32)])
    assert all(race.kind == "absent-lane" for race in result.races)
    return [(race.count, race.second.lane, race.address) for race in result.races], result.findings


def test_shuffles_from_lanes_that_are_absent_are_findings():
    tree = "int v = 1; for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d); o[t] = v;"
    found, findings = absent(tree, 20)  # lanes 20 to 31 are beyond the block
    assert found and sum(count for count, *_ in found) == 12 + 8 + 4 + 2 + 1
    assert "absent-lane" in str(findings[0]) and "does not execute the shuffle" in str(findings[0])
    found, _ = absent("if (t < 4) o[t] = __shfl_sync(0xf, t, 5);", 32)  # inactive
    assert found == [(4, 0, 5)]
    found, _ = absent("if (t > 2) return; o[t] = __shfl_xor_sync(~0u, t, 1);", 32)  # lane 3 has returned
    assert found == [(1, 2, 3)]


def test_shuffles_out_of_range_are_no_findings():
    assert (
        absent("int v = t; for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d); o[t] = v;", 32)[0]
        == []
    )
    assert absent("if (t < 8) o[t] = __shfl_down_sync(0xff, t, 4, 8);", 32)[0] == []
    assert absent("o[t] = __shfl_up_sync(~0u, t, 3);", 64)[0] == []


def test_static_shared_memory_is_48_kib_at_most():
    source = """__global__ void k(float *a) {{
        __shared__ float s[{}];
        s[threadIdx.x] = a[0];
        __syncthreads();
        a[threadIdx.x] = s[threadIdx.x ^ 1];
    }}"""
    a = np.full(32, 3, np.float32)
    gpureduce.simulate(source.format(12288), "k", 1, 32, [a])
    for floats in (12289, 20000):
        with pytest.raises(
            gpureduce.SimulationError, match=f"static shared memory: {4 * floats} bytes, 49152"
        ):
            gpureduce.simulate(source.format(floats), "k", 1, 32, [a])
    dynamic = source.replace("__shared__ float s[{}]", "extern __shared__ float s[]").format()
    gpureduce.simulate(dynamic, "k", 1, 32, [a], shared_bytes=100_000)
