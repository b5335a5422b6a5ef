"""Device memory that runs out where PyTorch has a cache: it is released, and the error is PyTorch's, too."""

import contextlib
import pickle
import sys
import types

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce._device.low_memory import error_class, release_caches
from tests.support.fake_driver import driver_calls, run

MEMORY = 1 << 20  # of the fake device
LONG = (1 << 18) + 1000  # elements, which go through a ring of chunks
HOST = (np.arange(1, 20001, dtype=np.int32) * 37 % 101 - 50).reshape(40, 500)
LARGE = np.tile(HOST, (5, 1))  # beyond what kernels read in host memory


class TheirError(RuntimeError):
    """Stands for torch.OutOfMemoryError."""


class Cache:
    """A module like PyTorch, whose allocator keeps all the memory that is free."""

    def __init__(self, initialized=True, capturing=False, failure=None):
        self.kept, self.asked, self.failure = [], 0, failure
        self.module = types.ModuleType("torch")
        self.module.OutOfMemoryError = TheirError
        self.module.cuda = types.SimpleNamespace(
            is_initialized=lambda: initialized,
            is_current_stream_capturing=lambda: capturing,
            memory_reserved=lambda index: len(self.kept),
            empty_cache=self.empty,
        )

    def fill(self):
        _core.stream_wait(_core.CUDA, 0, 1)  # what was freed in its order is free now
        gpureduce.free_memory()
        piece = MEMORY
        while piece >= 16:
            try:
                self.kept.append(_core.device_alloc(_core.CUDA, 0, piece))
            except MemoryError:
                piece //= 2

    def empty(self):
        self.asked += 1
        if self.failure is not None:
            raise self.failure
        while self.kept:
            _core.device_free(_core.CUDA, 0, self.kept.pop())


@contextlib.contextmanager
def loaded(cache):
    sys.modules["torch"] = cache.module
    try:
        yield cache
    finally:
        del sys.modules["torch"]


def check_a_cache_is_released():
    there = gpureduce.to_device(HOST, "cuda")
    calls = (
        (lambda: gpureduce.to_device(HOST, "cuda").numpy(), HOST),
        (lambda: gpureduce.sum(LARGE, axis=0, device="cuda"), LARGE.sum(axis=0)),
        (lambda: gpureduce.sum(there, axis=1).numpy(), HOST.sum(axis=1)),
        (lambda: gpureduce.sum(there, axis=0).numpy(), HOST.sum(axis=0)),
    )
    for call, expected in calls:
        call()  # loads the kernels
        with loaded(Cache()) as cache:
            cache.fill()
            np.testing.assert_array_equal(call(), expected)
            assert (cache.asked, cache.kept) == (1, []), call
            np.testing.assert_array_equal(call(), expected)
            assert cache.asked == 1


def check_a_cache_is_released_for_a_ring():
    """The staging memory of long host arrays is an allocation of its own."""
    long = np.arange(LONG, dtype=np.int32) % 89 - 44
    placed = np.zeros(MEMORY // 16, np.int32)
    assert gpureduce.sum(long, device="cuda") == long.sum()  # loads the kernels
    with loaded(Cache()) as cache:
        cache.fill()  # after the ring that was kept is closed
        assert gpureduce.sum(long, device="cuda") == long.sum()
        assert (cache.asked, cache.kept) == (1, [])
        assert gpureduce.sum(long, device="cuda") == long.sum()
        assert cache.asked == 1
    for _ in range(20):  # nor is memory in the way that DLPack exported, and whose arrays are gone
        gpureduce.free_memory()
        array = gpureduce.to_device(placed, "cuda")
        capsule = array.__dlpack__()
        del capsule, array
        assert gpureduce.sum(long, device="cuda") == long.sum()


def check_the_error_is_of_both_classes():
    there = gpureduce.to_device(HOST, "cuda")
    gpureduce.sum(there, axis=1)
    full, text = Cache(), r"allocating \d+ bytes on cuda:0, which has \d+ of 1048576 bytes free"
    full.fill()
    with pytest.raises(MemoryError, match=text) as refused:
        gpureduce.sum(there, axis=1)
    assert type(refused.value) is MemoryError  # no PyTorch is loaded
    for cache in (Cache(), Cache(initialized=False), Cache(capturing=True), Cache(failure=TheirError("no"))):
        with loaded(cache):
            cache.kept = [] if cache.failure is None else [0]
            for kind in (MemoryError, TheirError):
                with pytest.raises(kind, match=text) as refused:
                    gpureduce.sum(there, axis=1)
                assert isinstance(refused.value, (MemoryError, TheirError))
                assert type(refused.value).__name__ == "OutOfMemoryError"
                again = pickle.loads(pickle.dumps(refused.value))
                assert type(again) is type(refused.value) and again.args == refused.value.args
            asks = cache.module.cuda.is_initialized() and not cache.module.cuda.is_current_stream_capturing()
            assert cache.asked == (2 if asks else 0)
    full.empty()
    np.testing.assert_array_equal(gpureduce.sum(there, axis=1).numpy(), HOST.sum(axis=1))


def check_memory_of_arrays_that_were_exported():
    """It is reused before a call fails, for results and for what a call works with."""
    big = np.zeros(MEMORY // 16, np.int32)
    gpureduce.sum(gpureduce.to_device(HOST, "cuda"), axis=1)
    for _ in range(20):
        array = gpureduce.to_device(big, "cuda")
        capsule = array.__dlpack__()
        del capsule, array
        np.testing.assert_array_equal(gpureduce.sum(HOST, axis=1, device="cuda"), HOST.sum(axis=1))
    assert driver_calls("cuMemFree_v2") > 0


@pytest.mark.parametrize(
    "check",
    [
        check_a_cache_is_released,
        check_a_cache_is_released_for_a_ring,
        check_the_error_is_of_both_classes,
        check_memory_of_arrays_that_were_exported,
    ],
)
def test_full_devices(fake_libraries, check):
    run(fake_libraries, check, FAKE_CUDA_MEMORY=str(MEMORY), GPUREDUCE_CHUNK_BYTES="1024")


def test_nothing_is_asked_without_pytorch(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert error_class() is MemoryError and release_caches(0) is False
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))  # one that is being imported
    assert error_class() is MemoryError and release_caches(0) is False


def test_the_error_of_the_simulator_is_pytorchs_too():
    torch = pytest.importorskip("torch")
    for kind in (MemoryError, torch.OutOfMemoryError):
        with pytest.raises(kind, match="asked for"):
            _core.device_alloc(_core.SIM, 0, 2**62)
