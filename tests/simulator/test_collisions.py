"""Advice of the race check where no barrier helps, and messages of faults that name what is really wrong."""

import numpy as np
import pytest

from gpureduce import SimulationError, simulate

pytest.importorskip("cuda.pathfinder")
pytestmark = pytest.mark.usefixtures("kept_kernels")

SUM, STORE = "an atomic operation or a reduction tree", "one thread that writes it, or a word for each thread"
KERNEL = """__global__ void k(const int *a, int n, int *out) {
    __shared__ int s, h[128];
    if (!threadIdx.x) s = 0;
    h[threadIdx.x] = h[threadIdx.x + 64] = a[threadIdx.x];
    __syncthreads();
    %s
    __syncthreads();
    out[0] = s + h[0];
}"""


def findings(body, values=None):
    a = np.arange(1, 65, dtype=np.int32) if values is None else values
    out = np.zeros(1, np.int32)
    return simulate(KERNEL % body, "k", 1, 64, [a, 64, out]).findings


@pytest.mark.parametrize(
    ("body", "advice"),
    [
        ("s += a[threadIdx.x];", {SUM}),
        ("int t = s;\n    s = t + a[threadIdx.x];", {SUM}),
        ("for (int i = threadIdx.x; i < n; i += 64) s += a[i];", {SUM}),
        ("for (int i = threadIdx.x; i < n; i += 64) {\n    int t = s;\n    s = t + a[i];\n    }", {SUM}),
        ("if (threadIdx.x % 32 == 0) s += a[threadIdx.x];", {SUM}),
        ("h[a[threadIdx.x] % 8] += 1;", {SUM}),
        ("s = a[threadIdx.x];", {STORE}),
        # Here a barrier is missing, in loops between a line and itself.
        ("for (int t = threadIdx.x, k = 32; k; k /= 2) if (t < k) h[t] += h[t + k];", {"__syncwarp"}),
        ("for (int k = 1; k < 64; k *= 2)\n    if (int i = 2 * k * threadIdx.x; i < 64) h[i] += h[i + k];",
         {"__syncwarp"}),
        ("h[threadIdx.x] = a[threadIdx.x];\n    s = h[threadIdx.x ^ 33];", {"__syncthreads", STORE}),
        ("h[threadIdx.x] += h[threadIdx.x ^ 33];", {"__syncthreads"}),
        ("atomicAdd(&s, a[threadIdx.x]);", set()),
    ],
)  # fmt: skip
def test_advice(body, advice):
    found = findings(body)
    assert {finding.missing for finding in found} == advice and len(found) == len(advice)
    for finding in found:
        barrier = finding.missing.startswith("__sync")
        assert ("no barrier helps: use" in str(finding)) == (not barrier)
        assert ("is missing between" in str(finding)) == barrier


def test_equal_values_are_a_lost_update_all_the_same():
    """Lanes of one store may write one value, but not where each has added to what it read."""
    ones = np.ones(64, np.int32)
    assert {finding.missing for finding in findings("s += a[threadIdx.x];", ones)} == {SUM}
    assert {finding.missing for finding in findings("s = 5;", ones)} == {STORE}


def test_a_shuffle_that_lanes_miss_is_at_no_barrier():
    source = """__global__ void k(int *a) {
    int v = a[threadIdx.x];
    if (threadIdx.x < 16)
        v += __shfl_down_sync(~0u, v, 8);
    else
        v += __shfl_up_sync(~0u, v, 4);
    a[threadIdx.x] = v;
}"""
    with pytest.raises(SimulationError, match="has lanes that do not execute") as caught:
        simulate(source, "k", 1, 32, [np.arange(32, dtype=np.int32)])
    (finding,) = caught.value.profile.findings
    assert finding.missing == "the lanes of its membermask"
    assert "executes shfl.sync.up.b32, which other lanes miss" in str(finding) and "waits" not in str(finding)


@pytest.mark.parametrize(
    ("index", "said"), [(0, "it is a null pointer"), (5, "20 bytes past a null pointer")]
)
def test_a_null_pointer_is_called_one(index, said):
    with pytest.raises(SimulationError, match=f"are not allocated: {said}"):
        simulate(f"__global__ void k(int *a) {{ a[{index}] = 1; }}", "k", 1, 1, [0])


def test_limits_of_blocks_and_grids_are_named():
    source = "__global__ void k() {}"
    with pytest.raises(ValueError, match="1 x 1 x 65 threads; at most 1024 x 1024 x 64, and 1024 in all"):
        simulate(source, "k", 1, (1, 1, 65))
    with pytest.raises(ValueError, match="1 x 65536 x 1 blocks; at most 2147483647 x 65535 x 65535"):
        simulate(source, "k", (1, 65536), 1)
