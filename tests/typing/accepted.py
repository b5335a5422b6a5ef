"""Calls that type checkers must take, and what they must know of the results; see check.py."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import gpureduce
import gpureduce.numpy_like as xp
from gpureduce.course import Case, exercise

a = np.ones((4, 4), np.float32)
n: NDArray[np.int64] = np.ones(16, np.int64)
z: NDArray[np.complex128] = np.ones(3, np.complex128)
d = gpureduce.to_device(a)
assert_type(d, gpureduce.DeviceArray)


class Elsewhere:
    """An array of another library."""

    def __dlpack__(self, *, stream: int | None = None) -> object:
        return stream

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


class Stream:
    """A stream of another library."""

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, 7)


# Numbers on the host.
assert_type(gpureduce.sum(a), np.float32)
assert_type(gpureduce.mean(z, variant="auto", device="sim"), np.complex128)
assert_type(gpureduce.sum(a, exact=True), np.float32)
assert_type(gpureduce.fsum(a), np.float32)
assert_type(gpureduce.max(n), np.int64)
assert_type(gpureduce.dot(a.ravel(), a.ravel()), np.float32)
assert_type(gpureduce.all(d), np.bool_)
assert_type(gpureduce.argmin([3, 1, 2]), np.int64)
assert_type(gpureduce.count_nonzero(Elsewhere()), np.int64)
assert_type(xp.min(a), np.float32)

# What has no type of its own is left to the reader.
assert_type(gpureduce.sum([1, 2, 3]), Any)
assert_type(gpureduce.sum(n), Any)
assert_type(gpureduce.sum(a, axis=0), Any)
assert_type(gpureduce.sum(a, keepdims=True), Any)
assert_type(gpureduce.reduce(a, "sum", axis=1, dtype=np.float64, device="sim"), Any)
assert_type(gpureduce.matmul(a, a), Any)
assert_type(xp.maximum.reduce(a, axis=None, keepdims=True, variant="auto"), Any)

# Arrays on a device.
assert_type(gpureduce.sum(d, axis=0), gpureduce.DeviceArray)
assert_type(gpureduce.argmax(d, 1, keepdims=True), gpureduce.DeviceArray)
assert_type(d.sum(axis=0), gpureduce.DeviceArray)
assert_type(d.argmax(), np.int64)
assert_type(d.max(), Any)
assert_type(d[1:, ::2].T.reshape(-1).astype("f8").copy(), gpureduce.DeviceArray)
assert_type(float(d[0, 0]) + int(d[0, 1]), float)
assert_type(list(d), list[gpureduce.DeviceArray])
assert_type(gpureduce.sum(a, as_device=True), gpureduce.DeviceArray)
assert_type(gpureduce.dot([1.0], [2.0], as_device=True), gpureduce.DeviceArray)
assert_type(gpureduce.matmul(d, d), gpureduce.DeviceArray)
assert_type(gpureduce.conv2d(d, d, padding="same", as_device=True), gpureduce.DeviceArray)
assert_type(gpureduce.conv2d(a, a, bias=a[0], stride=(1, 2), layout="NHWC"), NDArray[np.float32])
assert_type(gpureduce.segment_reduce(d, [0, 4], "max"), gpureduce.DeviceArray)
assert_type(gpureduce.reduceat(a, [0, 2], as_device=True), gpureduce.DeviceArray)
assert_type(gpureduce.group_reduce(a, [0, 1], "mean", 2, axis=1), Any)
assert_type(gpureduce.median(a), np.float32)
assert_type(gpureduce.quantile(d, [0.5], axis=0), gpureduce.DeviceArray)
assert_type(gpureduce.topk(a, 3, largest=False), gpureduce.TopK)
assert_type(d.nanmedian(axis=1), gpureduce.DeviceArray)
assert_type(gpureduce.percentile(d, [5, 95], axis=0, method="hazen"), gpureduce.DeviceArray)
assert_type(gpureduce.nanvar(a, ddof=1), np.float32)
assert_type(gpureduce.moments(a, axis=0, nan_policy="omit"), gpureduce.Moments)
assert_type(gpureduce.norm(a, 2, axis=1), Any)
assert_type(gpureduce.average(a, weights=a), Any)
assert_type(gpureduce.partial(a, "sum", where=a > 0), gpureduce.State)
assert_type(gpureduce.cumulative_sum(a, axis=0), NDArray[np.float32])
assert_type(gpureduce.cumulative_prod(d, include_initial=True), gpureduce.DeviceArray)
assert_type(gpureduce.cumulative_sum([1, 2], as_device=True), gpureduce.DeviceArray)
assert_type(gpureduce.cumsum(a, 1), NDArray[np.float32])
assert_type(gpureduce.nancumprod(d), gpureduce.DeviceArray)
assert_type(gpureduce.moments(a, 0, order=2), gpureduce.Moments)
assert_type(gpureduce.sum(d, 0, "float64"), gpureduce.DeviceArray)
assert_type(xp.linalg.vector_norm(a, axis=1, ord=1), Any)
assert_type(xp.add.accumulate(a), Any)
assert_type(gpureduce.sum(d, axis=0).numpy().ndim, int)

# All sorts of arguments.
gpureduce.sum(a, (0, 1), np.float64, np.empty(()), False, 1, a > 0)
gpureduce.sum(d, axis=np.intp(1), out=d, where=d, stream=Stream(), initial=np.float32(2))
gpureduce.max(Elsewhere(), axis=-1, out=Elsewhere(), stream=7)
gpureduce.sum(a, variant="v7", device=gpureduce.devices()[0], block_size=256, grid_size=None)
gpureduce.sum(a, progress=True)
gpureduce.sum(a, progress=lambda done, total: print(done / total))
kernel = gpureduce.ReductionKernel("T x", "T y", "x", "a + b", "y = a", None, reduce_type="float")
gpureduce.ReductionKernel("T x", "T y, T z", "{x}", "a", "y = a.s", None, reduce_type=[("s", "f4")])
kernel([1.0, 2.0], out=(None, np.empty(())), device="sim")
kernel(a, 2.5, out=np.empty(4, np.float32), axis=(0,), stream=Stream(), device="sim")
xp.add.reduce(a, 0, None, (np.empty(4, np.float32),))
xp.add.reduce(a, out=..., where=a > 0)

# What there is.
names = [variant.name for variant in gpureduce.variants("reduction") if variant.runs_on("sim")]
assert_type(names, list[str])
assert_type(gpureduce.variants()["v7"], gpureduce.Variant)
assert_type(gpureduce.variants()[-1], gpureduce.Variant)
assert_type(gpureduce.variants("conv")[2:]["c3"].compute_capability, tuple[int, int])
assert_type(gpureduce.source("v7"), str)
assert_type(gpureduce.kernels.ptx("v7", "sum", np.float32), str)
assert_type(gpureduce.kernels.ptx("v7", op="sum", dtype="float32"), str)
found = gpureduce.profile(1024, "v7", "max", races=False)
assert_type(found.totals.bank_conflicts, int)
assert_type(found.timeline().active.ndim, int)
assert_type(found.player().html, str)
assert_type(found.compare(found).sources().text(100), str)
assert_type([finding.missing for finding in found.findings], list[str])
assert_type(found.accesses(block=1).size, int)
assert_type([race.same_warp for race in found.races], list[bool])
assert_type(gpureduce.bench(n=[1024], variants="v7"), gpureduce.BenchResult)
assert_type(d.shape, tuple[int, ...])
assert_type(d.dtype.itemsize, int)
assert_type(d.device, str)
try:
    gpureduce.simulate("", "twice", grid=(1, 1), block=64, args=[a, 3])
except gpureduce.SimulationError as error:
    assert_type(error.profile, gpureduce.Profile)

# Kernels of one's own, and exercises.
found = gpureduce.simulate("k.cu", "k<float>", 1, (32, 1), [a, 1, 2.0], options=["-DN=1"])
assert_type(found, gpureduce.Profile)
own = gpureduce.course.ladder(Path("mine.cu"), block_size=(64, 128), grid=lambda n, block: n // block)
assert_type(own, gpureduce.course.OwnRung)
assert_type(own.check([1, 2]).passed, bool)
assert_type([finding.message for finding in own.check().findings], list[str])
assert_type(gpureduce.profile(100, Path("mine.cu")), gpureduce.Profile)
assert_type(own.bench(100, ["v0"], device="sim"), gpureduce.BenchResult)
assert_type(gpureduce.profile(100, own).compare(gpureduce.profile(100, "v0")).left, gpureduce.Profile)
assert_type(gpureduce.kernels.export("v7", dtype=np.float64), str)
assert_type(exercise(1).check("__global__ void k() {}").passed, bool)
assert_type(Case("one", 1, 32, [a], {0: a}, {"barriers": 0}).name, str)

# Several devices, and parts.
assert_type(gpureduce.sum(a, device=["sim", "sim"]), np.float32)
whole = gpureduce.Sharded([gpureduce.to_device(a, "sim"), a], axis=0)
assert_type(whole.shape, tuple[int, ...])
gpureduce.argmax(whole, axis=0)
state = gpureduce.partial(whole, "mean") + gpureduce.partial(a, "mean", device="cuda:all")
assert_type(state, gpureduce.State)
assert_type(gpureduce.State.from_bytes(state.to_bytes()).result(), Any)
assert_type(gpureduce.partial(a, "var", as_device=True).to_device("cuda:0").to_host(), gpureduce.State)
assert_type(state.device, str | None)
