"""Default calls give the same bits on a GPU of compute capability 9.0 and on the simulator.

Norms of other orders than 1 and 2, and logsumexp, are not among them: a GPU and the simulator approximate
powers and exponentials.
"""

import ml_dtypes
import numpy as np
import pytest

import gpureduce
from tests.reductions import test_block_order as block_order

FLOATS, WIDE, SQUARE, LABELS = (getattr(block_order, name) for name in ("FLOATS", "WIDE", "SQUARE", "LABELS"))
LONG = np.random.default_rng(5).standard_normal((1 << 21) + 3).astype(np.float32)  # two chunks
WITH_NANS = np.where(FLOATS > 2, np.float32(np.nan), FLOATS)
WEIGHTS = np.abs(FLOATS)
PRODUCTS = 1 + FLOATS / np.float32(1e3)
DTYPES = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
APPROXIMATE = {"norm of order 3", "logsumexp", "softmax_denominator"}
ALONG = {"of all elements": {}, "of rows": {"axis": 1}, "of columns": {"axis": 0}}
MASK = np.random.default_rng(6).random((512, 512)) < 0.6


def to_dtype(a, dtype):
    return a.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def along_axes():
    """Yield a call for each operator, dtype and axis."""
    for op in ("sum", "mean", "prod", "var", "std", "norm"):
        elements = (PRODUCTS if op == "prod" else FLOATS).reshape(512, 512)
        for dtype in DTYPES:
            for where, axis in ALONG.items():
                function, array = getattr(gpureduce, op), to_dtype(elements, dtype)
                yield f"{op} {where}, {dtype}", lambda f=function, a=array, k=axis, **d: f(a, **k, **d)
            if op != "norm":
                yield (
                    f"{op} of masked rows, {dtype}",
                    lambda f=function, a=array, **d: f(a, axis=1, where=MASK, **d),
                )


def products():
    """Yield a call of matmul and of conv2d for each dtype."""
    for dtype in DTYPES:
        a, images, filters = (
            to_dtype(each, dtype) for each in (SQUARE, block_order.IMAGES[:2], block_order.FILTERS)
        )
        yield f"matmul, {dtype}", lambda a=a, **d: gpureduce.matmul(a[:200], a[:, :130], **d)
        if np.dtype(a.dtype).kind != "c":
            yield (
                f"conv2d, {dtype}",
                lambda x=images, w=filters, **d: gpureduce.conv2d(x, w, layout="NHWC", **d),
            )


def custom(**d):
    pytest.importorskip("cuda.pathfinder")
    kernel = gpureduce.ReductionKernel("float32 x", "float32 y", "x * x", "a + b", "y = sqrt(a)", "0")
    return kernel(FLOATS, **d)


CALLS = {
    **{name: call for name, call in block_order.CALLS.items() if name not in APPROXIMATE},
    **dict(along_axes()),
    **dict(products()),
    "sum of two chunks": lambda **d: gpureduce.sum(LONG, **d),
    "variance of two chunks": lambda **d: gpureduce.var(LONG, **d),
    "dot of chunks": lambda **d: gpureduce.dot(LONG, LONG, **d),
    "dot of doubles": lambda **d: gpureduce.dot(block_order.DOUBLES, block_order.DOUBLES, **d),
    "vecdot": lambda **d: gpureduce.vecdot(WIDE, WIDE, **d),
    "average of rows": lambda **d: gpureduce.average(WIDE, axis=1, weights=WEIGHTS.reshape(4, -1), **d),
    "a ReductionKernel": custom,
    "variances of groups": lambda **d: gpureduce.group_reduce(FLOATS[: 1 << 16], LABELS, op="var", **d),
    **{
        op: lambda op=op, **d: getattr(gpureduce, op)(WITH_NANS, **d)
        for op in ("nansum", "nanmean", "nanprod", "nanmin", "nanargmax", "nanvar", "nanstd", "nanmedian")
    },
}


@pytest.fixture(autouse=True)
def hopper(device, device_record):
    if device == "sim":
        pytest.skip("compares a GPU with the simulator")
    if device_record.compute_capability != (9, 0):
        pytest.skip("the simulator has the kernels of compute capability 9.0")


@pytest.mark.parametrize("name", CALLS)
def test_same_bits(name, device):
    on_gpu, simulated = (np.asarray(CALLS[name](device=each)) for each in (device, "sim"))
    assert on_gpu.dtype == simulated.dtype
    assert on_gpu.tobytes() == simulated.tobytes()
