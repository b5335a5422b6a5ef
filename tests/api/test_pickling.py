"""Results, profiles and exceptions are pickled and copied, so that process pools hand them over."""

import concurrent.futures
import copy
import importlib
import multiprocessing
import pickle
import pkgutil

import numpy as np
import pytest

import gpureduce
from gpureduce.course import exercise

STEP = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry step(.param .u64 a, .param .u64 n)
{
    .reg .b64 %d<4>;
    .reg .b32 %r<2>;
    .reg .f32 %f<2>;
    mov.u32 %r0, %tid.x;
    ld.param.u64 %d0, [a];
    mul.wide.u32 %d1, %r0, 4;
    add.u64 %d2, %d0, %d1;
    ld.global.f32 %f0, [%d2];
    add.f32 %f1, %f0, %f0;
    st.global.f32 [%d2], %f1;
    ret;
}
"""
MINE = """
__global__ void mine(const float *in, float *out, unsigned n) {
    float x = 0;
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
        x += in[i];
    out[blockIdx.x] = x;
}
"""


def exceptions():
    """Return every exception class of the package, of modules that load here."""
    found = set()
    for module in pkgutil.walk_packages(gpureduce.__path__, "gpureduce."):
        if module.name.split(".")[1] in (
            "_torch",
            "torch",
            "_jax",
            "jax",
            "dask",
            "flox",
            "_bench",
            "__main__",
        ):
            continue
        if module.name.endswith("worker"):
            continue
        try:
            contents = vars(importlib.import_module(module.name))
        except ModuleNotFoundError as error:  # of a package that is not installed, as Dask
            assert not error.name.startswith("gpureduce"), error
            continue
        for each in contents.values():
            if isinstance(each, type) and issubclass(each, BaseException) and "gpureduce" in each.__module__:
                found.add(each)
    return sorted(found, key=lambda each: each.__name__)


@pytest.mark.parametrize("kind", exceptions(), ids=lambda kind: kind.__name__)
def test_every_exception(kind):
    error = kind("a message")
    error.profile = gpureduce.profile(64, "v1")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is kind and again.args == error.args and str(again) == str(error)
        assert str(again.profile) == str(error.profile)


def stopped(n):
    """Run a kernel that goes out of bounds, in whatever process this is."""
    return gpureduce.simulate(STEP, "step", 1, 64, [np.ones(n, np.float32), 0])


def test_a_profile_is_still_run_again():
    for kept in (
        gpureduce.profile(1000, "v1"),
        gpureduce.simulate(STEP, "step", 3, 32, [np.ones(32, "f4"), 0]),
    ):
        again = pickle.loads(pickle.dumps(kept))
        assert repr(again) == repr(kept) and str(again) == str(kept)
        assert (again.accesses(2) == kept.accesses(2)).all() and len(again.accesses(2))
        assert str(again.timeline(1)) == str(kept.timeline(1))


def test_a_stopped_kernel_crosses_a_process_pool():
    context = multiprocessing.get_context("forkserver")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        with pytest.raises(gpureduce.SimulationError, match="not allocated") as caught:
            pool.submit(stopped, 7).result(60)
        assert pool.submit(stopped, 64).result(60).totals.global_requests == 4
    assert caught.value.profile.totals.global_load_requests == 1


def results():
    """Yield the results of all functions that return something else than numbers and arrays."""
    a = np.arange(10.0) - 4
    found = gpureduce.profile(256, "v1")
    yield from (found, found.races, found.findings, found.lines(), found.totals, found.kernels[0].rounds)
    yield from (found.timeline(), found.player(), found.compare(found), found.compare(found).sources())
    yield from (gpureduce.profile((8, 8, 8), "m0"), gpureduce.profile(((1, 1, 4, 4), (1, 1, 3, 3)), "c0"))
    yield from (gpureduce.bench(100, "v0", device="sim", repeats=1, progress=False), gpureduce.variants())
    yield from (
        gpureduce.devices(),
        gpureduce.topk(a, 3, device="sim"),
        gpureduce.unique_counts(a, device="sim"),
        gpureduce.moments(a, device="sim"),
    )
    yield from (exercise(1), exercise(1).check("garbage that no compiler takes;"))


def test_every_result():
    pytest.importorskip("cuda.pathfinder")
    for each in results():
        for again in (pickle.loads(pickle.dumps(each)), copy.copy(each), copy.deepcopy(each)):
            assert type(again) is type(each) and repr(again) == repr(each)


def test_a_rung_and_its_reports():
    pytest.importorskip("cuda.pathfinder")
    rung = pickle.loads(pickle.dumps(gpureduce.course.ladder(MINE, block_size=32, grid=1)))
    report = rung.check([1, 40])
    for each in (report, rung.profile(40), rung):
        assert repr(pickle.loads(pickle.dumps(each))) == repr(copy.deepcopy(each)) == repr(each)
