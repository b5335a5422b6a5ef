"""Kernels whose blocks start in a hostile order, few or many of them resident: the same bits, and an end.

CUDA defines no order of blocks. On the simulator GPUREDUCE_SIM_BLOCK_ORDER permutes the order, and all
resident blocks run by turns; GPUREDUCE_SIM_RESIDENT_BLOCKS is the number of resident blocks.
"""

import numpy as np
import pytest

import gpureduce

FLOATS = np.random.default_rng(1).standard_normal(1 << 18).astype(np.float32)
DOUBLES = FLOATS.astype(np.float64)
INTEGERS = np.random.default_rng(2).integers(-9, 9, 1 << 18)
SQUARE, WIDE, TALL = FLOATS.reshape(512, 512), FLOATS.reshape(4, -1), FLOATS.reshape(-1, 4)
OFFSETS = np.array([0, *np.sort(np.random.default_rng(3).integers(0, 1 << 18, 200)), 1 << 18])
LABELS = np.random.default_rng(4).integers(0, 50, 1 << 16)
IMAGES, FILTERS = FLOATS[: 1 << 17].reshape(8, 32, 32, 16), FLOATS[:4608].reshape(32, 3, 3, 16)
CALLS = {
    "sum": lambda **d: gpureduce.sum(FLOATS, **d),
    "sum of integers": lambda **d: gpureduce.sum(INTEGERS, **d),
    "argmax": lambda **d: gpureduce.argmax(FLOATS, **d),
    "var": lambda **d: gpureduce.var(FLOATS, **d),
    "dot": lambda **d: gpureduce.dot(FLOATS, FLOATS, **d),
    "norm": lambda **d: gpureduce.norm(FLOATS, **d),
    "nansum": lambda **d: gpureduce.nansum(FLOATS, **d),
    "nanmean of rows": lambda **d: gpureduce.nanmean(SQUARE, axis=1, **d),
    "nanprod": lambda **d: gpureduce.nanprod(1 + FLOATS / 1e6, **d),
    "nanvar": lambda **d: gpureduce.nanvar(FLOATS, **d),
    "moments": lambda **d: gpureduce.moments(FLOATS, **d),
    "norm of order 1": lambda **d: gpureduce.norm(FLOATS, 1, **d),
    "norm of order 3": lambda **d: gpureduce.norm(FLOATS[: 1 << 16], 3, **d),
    "logsumexp": lambda **d: gpureduce.logsumexp(FLOATS, **d),
    "softmax_denominator": lambda **d: gpureduce.softmax_denominator(FLOATS[: 1 << 16], **d),
    "average": lambda **d: gpureduce.average(FLOATS, weights=np.abs(FLOATS), **d),
    "exact sum": lambda **d: gpureduce.sum(FLOATS, exact=True, **d),
    "exact sum of doubles": lambda **d: gpureduce.sum(DOUBLES, exact=True, **d),
    "rows": lambda **d: gpureduce.sum(SQUARE, axis=1, **d),
    "columns": lambda **d: gpureduce.sum(SQUARE, axis=0, **d),
    "long rows": lambda **d: gpureduce.var(WIDE, axis=1, **d),
    "long columns": lambda **d: gpureduce.argmax(TALL, axis=0, **d),
    "scan of columns": lambda **d: gpureduce.cumulative_sum(TALL, axis=0, **d),
    "median": lambda **d: gpureduce.median(FLOATS, **d),
    "topk": lambda **d: gpureduce.topk(FLOATS, 100, **d)[0],
    "quantiles": lambda **d: gpureduce.quantile(DOUBLES, [0.1, 0.9], **d),
    "matmul": lambda **d: gpureduce.matmul(SQUARE[:128], SQUARE[:, :128], **d),
    "matmul of long rows": lambda **d: gpureduce.matmul(FLOATS.reshape(8, -1), FLOATS.reshape(-1, 8), **d),
    "matrix and vector": lambda **d: gpureduce.matmul(SQUARE, FLOATS[:512], **d),
    "conv2d": lambda **d: gpureduce.conv2d(IMAGES, FILTERS, layout="NHWC", **d),
    "scan": lambda **d: gpureduce.cumulative_sum(FLOATS, **d),
    "scan of rows": lambda **d: gpureduce.cumulative_sum(WIDE, axis=1, **d),
    "long scan": lambda **d: gpureduce.cumulative_sum(DOUBLES.view(complex), **d),
    "scan of integers": lambda **d: gpureduce.cumulative_sum(INTEGERS, **d),
    "softmax": lambda **d: gpureduce.softmax(SQUARE, **d),
    "softmax of long rows": lambda **d: gpureduce.softmax(WIDE, **d),
    "products": lambda **d: gpureduce.cumulative_prod(1 + FLOATS / 1e6, **d),
    "segments": lambda **d: gpureduce.segment_reduce(FLOATS, OFFSETS, **d),
    "segments of rows": lambda **d: gpureduce.segment_reduce(WIDE, OFFSETS[OFFSETS <= 1 << 16], axis=1, **d),
    "variances of segments": lambda **d: gpureduce.segment_reduce(DOUBLES, OFFSETS, "var", **d),
    "products of long segments": lambda **d: gpureduce.segment_reduce(
        1 + DOUBLES / 1e6, OFFSETS[[0, 1, 50, 51, -1]], "nanprod", **d
    ),
    "groups": lambda **d: gpureduce.group_reduce(FLOATS[: 1 << 16], LABELS, **d),
}


def bits(call, device):
    return np.asarray(call(device=device)).tobytes()


@pytest.fixture(autouse=True)
def simulated(device):
    if device != "sim":
        pytest.skip("the order of blocks can be chosen on the simulator alone")


@pytest.mark.parametrize("name", CALLS)
def test_a_permuted_order(name, monkeypatch, some):
    wanted = bits(CALLS[name], "sim")
    for seed in some(["3", "123456789"], 2):
        monkeypatch.setenv("GPUREDUCE_SIM_BLOCK_ORDER", seed)
        assert bits(CALLS[name], "sim") == wanted, seed


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", CALLS)
def test_few_resident_blocks(name, monkeypatch, some):
    wanted = bits(CALLS[name], "sim")
    monkeypatch.setenv("GPUREDUCE_SIM_BLOCK_ORDER", "77")
    for resident in some(["2", "7"], 2):
        monkeypatch.setenv("GPUREDUCE_SIM_RESIDENT_BLOCKS", resident)
        assert bits(CALLS[name], "sim") == wanted, resident


IN_ORDER = """
__global__ void in_order(int *turns, int *order) {
    if (threadIdx.x == 0)
        order[atomicAdd(turns, 1)] = blockIdx.x;
}
"""


def test_the_order_is_permuted(monkeypatch):
    """A kernel that writes down in which order its blocks run."""
    pytest.importorskip("cuda.pathfinder")

    def order():
        turns, found = np.zeros(1, np.int32), np.zeros(50, np.int32)
        gpureduce.simulate(IN_ORDER, "in_order", grid=50, block=32, args=[turns, found])
        return found.tolist()

    assert order() == list(range(50))
    monkeypatch.setenv("GPUREDUCE_SIM_BLOCK_ORDER", "3")
    permuted = order()
    assert permuted != list(range(50)) and sorted(permuted) == list(range(50))
    monkeypatch.setenv("GPUREDUCE_SIM_BLOCK_ORDER", "4")
    assert order() not in (permuted, list(range(50)))


FLAGS = """
__global__ void flags(volatile int *flags, int *out) {
    if (threadIdx.x == 0)
        flags[blockIdx.x] = 1;
    int seen;
    do {
        seen = 0;
#pragma unroll UNROLL
        for (int i = 0; i < 12; ++i)
            seen += flags[i];
    } while (seen < 12);
    out[blockIdx.x] = seen;
}
"""


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unroll", ["1", "12"])
def test_a_wait_for_a_block_that_is_not_resident_is_a_deadlock(unroll, monkeypatch):
    """Each block polls a flag of every block: by one instruction in a loop, or by twelve."""
    pytest.importorskip("cuda.pathfinder")
    source = FLAGS.replace("UNROLL", unroll)

    def run():
        out = np.zeros(12, np.int32)
        gpureduce.simulate(source, "flags", grid=12, block=32, args=[np.zeros(12, np.int32), out])
        return out.tolist()

    assert run() == [12] * 12
    monkeypatch.setenv("GPUREDUCE_SIM_RESIDENT_BLOCKS", "2")
    with pytest.raises(gpureduce.DeviceError, match="deadlock: the warp polls memory"):
        run()
