"""Arrays of JAX on a CUDA device, which C asks for their memory, against the fake driver: without JAX.

JAX's memory may be reused as soon as its capsule is released, so the release waits for the work.
"""

import ctypes
import os

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from tests.support.fake_driver import INT32, driver_calls, run
from tests.support.producers import CPU, CUDA, Exporter

HOST = np.arange(1, 1001, dtype=np.int32) * 37 % 101 - 50


class ArrayImpl(Exporter):
    """JAX's type has this name, and a module of jaxlib."""


ArrayImpl.__module__ = "jaxlib._jax"


def jax_array(there, **fields):
    given = {"shape": there.shape, "strides": None, "data": there._pointer, **INT32, **fields}
    return ArrayImpl((CUDA, 0), **given)


def check_results_on_the_host():
    there = gpureduce.to_device(HOST, "cuda:0")
    for versioned in (False, True):
        array = jax_array(there, versioned=versioned)
        assert gpureduce.sum(array) == HOST.sum()
        assert array.asked == [{"stream": 1}]  # C has asked, and nobody again
        assert array.producer.deleted == 1  # the call has waited for its work


def check_results_on_the_device():
    there = gpureduce.to_device(HOST, "cuda:0")
    array = jax_array(there)
    result = gpureduce.sum(array, as_device=True)
    assert array.asked == [{"stream": 1}]
    assert array.producer.deleted == 0  # the kernel may be reading
    assert result.numpy() == HOST.sum()
    gpureduce.sum(jax_array(there), as_device=True)
    assert array.producer.deleted == 1
    gpureduce.free_memory()
    rows = jax_array(there, shape=(20, 50), strides=(50, 1))
    assert (gpureduce.sum(rows, axis=1).numpy() == HOST.reshape(20, 50).sum(1)).all()


def check_a_stream():
    """The call's stream waits for the default one, in which the array is complete, and that for it."""
    there = gpureduce.to_device(HOST, "cuda:0")
    array = jax_array(there)
    driver, stream = ctypes.CDLL(os.environ["GPUREDUCE_LIBCUDA"]), ctypes.c_void_p()
    assert _core.call_on(0, lambda: driver.cuStreamCreate(ctypes.byref(stream), 1)) == 0
    before = driver_calls("cuStreamWaitEvent")
    result = gpureduce.sum(array, as_device=True, stream=stream.value)
    assert driver_calls("cuStreamWaitEvent") - before >= 2
    assert result.numpy() == HOST.sum()


def check_orders_and_segments():
    """The driver lacks their kernels, by which time C has the memory; Python would ask for it otherwise."""
    there, labels = (gpureduce.to_device(each, "cuda:0") for each in (HOST, HOST % 3))
    for call in (
        lambda a: gpureduce.topk(a, 5, as_device=True),
        lambda a: gpureduce.segment_reduce(a, [0, 10, 1000], as_device=True),
        lambda a: gpureduce.group_reduce(a, jax_array(labels), num_groups=3, as_device=True),
        lambda a: gpureduce.group_reduce(a, jax_array(labels), "var", num_groups=3, as_device=True),
    ):
        array = jax_array(there)
        with pytest.raises(gpureduce.DeviceError, match="finding the kernel"):
            call(array)
        assert array.asked == [{"stream": 1}]
        assert array.producer.deleted == 1


def check_what_is_left_to_python():
    there = gpureduce.to_device(HOST, "cuda:0")
    other = jax_array(there, versioned=True, major=2)
    with pytest.raises(BufferError, match="of version 2"):
        gpureduce.sum(other)
    assert other.producer.deleted == 0
    elsewhere = jax_array(there)
    elsewhere.producer.tensor.device_id = 1
    with pytest.raises(BufferError, match="__dlpack_device__ says"):
        gpureduce.sum(elsewhere)
    refused = jax_array(there)
    ArrayImpl.__dlpack__ = lambda self, **options: 1 / 0
    try:
        with pytest.raises(ZeroDivisionError):
            gpureduce.sum(refused)
    finally:
        del ArrayImpl.__dlpack__
    with pytest.raises(gpureduce.DeviceError, match="the array is on cuda:0"):
        gpureduce.sum(jax_array(there), device="cuda:1")
    on_host = jax_array(there)
    on_host.device = (CPU, 0)
    with pytest.raises(TypeError):
        gpureduce.sum(on_host)


def test_arrays_of_jax(fake_libraries):
    run(
        fake_libraries,
        check_results_on_the_host,
        check_results_on_the_device,
        check_a_stream,
        check_orders_and_segments,
        check_what_is_left_to_python,
    )
