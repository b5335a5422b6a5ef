"""Calls in streams, from Python to the driver, against the fake one, which runs work as late as CUDA allows,
or when a seed says so: nothing waits on the host, streams keep their order and no other, graphs are right.

Each check runs in a process of its own, as those of test_fake_driver.py do. The fake knows sums of int32.
"""

import ctypes
import gc
import os
import threading

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from tests.support.fake_driver import driver_calls, run, tensor
from tests.support.producers import CUDA, Exchange, Exporter, Interface
from tests.support.threads import together

SHAPE = (20, 50)
LEGACY = 1
ORDERS = range(6)  # 0: as late as can be; others are seeds
WAITS = (
    *("cuStreamSynchronize", "cuEventSynchronize", "cuMemcpyDtoHAsync_v2", "cuMemAlloc_v2"),
    *("cuMemFree_v2", "cuMemHostAlloc", "cuMemFreeHost", "cuModuleLoadDataEx"),
)


def contents(seed):
    return (np.arange(1, 1001, dtype=np.int32) * (37 + seed) % 101 - 50).reshape(SHAPE)


def chosen(seed):
    return contents(seed + 3) % 3 == 0


class Driver:
    """The fake driver's functions, called as another library calls them."""

    def __init__(self):
        self.library = ctypes.CDLL(os.environ["GPUREDUCE_LIBCUDA"])
        self.library.fake_cuda.restype = ctypes.POINTER(ctypes.c_void_p)
        self.set_order = ctypes.CFUNCTYPE(None, ctypes.c_uint)(self.library.fake_cuda()[6])

    def call(self, name, *arguments):
        result = _core.call_on(0, lambda: getattr(self.library, name)(*arguments))
        assert result == 0, (name, result)

    def made(self, name, *arguments):
        handle = ctypes.c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle.value

    def stream(self, blocking=False):
        return self.made("cuStreamCreate", 0 if blocking else 1)

    def write(self, array, host, stream):
        """Enqueue new contents."""
        host = np.ascontiguousarray(host)
        place = ctypes.c_uint64(array._pointer)
        self.call(
            "cuMemcpyHtoDAsync_v2",
            place,
            ctypes.c_void_p(host.ctypes.data),
            ctypes.c_size_t(host.nbytes),
            ctypes.c_void_p(stream),
        )

    def capture(self, stream, mode, body):
        """Return the function that replays what the body captures, and the one that lets it go."""
        graph, handle = ctypes.c_void_p(), ctypes.c_void_p(stream)
        self.call("cuStreamBeginCapture_v2", handle, mode)
        try:
            body()
        finally:
            self.call("cuStreamEndCapture", handle, ctypes.byref(graph))
        program = ctypes.c_void_p(self.made("cuGraphInstantiateWithFlags", graph, ctypes.c_ulonglong(0)))
        self.call("cuGraphDestroy", graph)
        return (
            lambda: self.call("cuGraphLaunch", program, handle),
            lambda: self.call("cuGraphExecDestroy", program),
        )

    def wait(self, stream):
        self.call("cuStreamSynchronize", ctypes.c_void_p(stream))

    def live_allocations(self):
        class Live(ctypes.Structure):
            _fields_ = (
                ("contexts", ctypes.c_long),
                ("allocations", ctypes.c_long),
                ("more", ctypes.c_long * 8),
            )

        return ctypes.CFUNCTYPE(Live)(self.library.fake_cuda()[4])().allocations


class Place:
    """An array, a mask and places for results in memory of ours, used in one stream."""

    def __init__(self, driver, stream):
        self.driver, self.stream = driver, stream
        self.array = gpureduce.to_device(contents(0), "cuda")
        self.mask = gpureduce.to_device(chosen(0), "cuda")
        self.outs = {
            axis: gpureduce.to_device(contents(0).sum(axis=axis) * 0 + 77, "cuda") for axis in (None, 0, 1)
        }
        self.exchange = Exchange(stream)
        driver.wait(LEGACY)  # what is there is there for all streams now

    def write(self, seed):
        self.driver.write(self.array, contents(seed), self.stream)
        self.driver.write(self.mask, chosen(seed), self.stream)

    def theirs(self, ours, dtype="int32"):
        """A tensor of another library, which works in the stream."""
        code, bits = {"int32": (0, 32), "int64": (0, 64), "bool": (6, 8)}[dtype]
        return tensor(ours, self.exchange, code=code, bits=bits)

    def by_interface(self, ours, dtype="int32"):
        """An array of another library, which works in the stream, too."""
        typestr = {"int32": "<i4", "int64": "<i8", "bool": "|b1"}[dtype]
        entries = {"shape": ours.shape, "typestr": typestr, "data": (ours._pointer, False)}
        return Interface(strides=None, stream=self.stream, **entries)

    def calls(self):
        """Calls whose inputs and results are on the device: (what is right for a seed, the call)."""
        ours, mask, stream = self.array, self.mask, self.stream
        kinds = (
            (self.theirs, {}),
            (self.by_interface, {}),
            (lambda array, dtype="int32": array, {"stream": stream}),
        )
        for take, options in kinds:
            array, selection = take(ours), take(mask, "bool")
            for axis in (None, 0, 1):
                stays = {"as_device": True, "axis": axis, **options}

                def right(seed, axis=axis):
                    return contents(seed).sum(axis=axis)

                def right_where(seed, axis=axis):
                    return contents(seed).sum(axis=axis, where=chosen(seed), initial=5)

                yield right, lambda array=array, stays=stays: gpureduce.sum(array, **stays)
                yield (
                    right_where,
                    lambda array=array, stays=stays, selection=selection: gpureduce.sum(
                        array, where=selection, initial=5, **stays
                    ),
                )
                out = self.outs[axis]
                given = take(out, "int64")

                def into(array=array, given=given, out=out, axis=axis, options=options):
                    gpureduce.sum(array, axis=axis, out=given, **options)
                    return out

                yield right, into


def host(driver, result, stream):
    """The contents of a result after what is in the stream."""
    found = np.empty(result.shape, result.dtype)
    driver.call(
        "cuMemcpyDtoHAsync_v2",
        ctypes.c_void_p(found.ctypes.data),
        ctypes.c_uint64(result._pointer),
        ctypes.c_size_t(found.nbytes),
        ctypes.c_void_p(stream),
    )
    return found


def waits():
    return {symbol: driver_calls(symbol) for symbol in WAITS}


def places(driver):
    return [Place(driver, stream) for stream in (LEGACY, driver.stream(), driver.stream(blocking=True))]


def settle(driver, everywhere):
    for place in everywhere:
        driver.wait(place.stream)


def check_nothing_waits():
    driver = Driver()
    everywhere = places(driver)
    for place in everywhere:
        for _, call in place.calls():
            call()  # what is loaded once is loaded now
    for order in ORDERS:
        settle(driver, everywhere)
        driver.set_order(order)
        for place in everywhere:
            for seed, (right, call) in enumerate(place.calls(), start=order):
                before = waits()
                place.write(seed)
                result = call()
                call()  # whose result has no owner
                assert waits() == before, right
                np.testing.assert_array_equal(host(driver, result, place.stream), right(seed))


def check_streams_go_apart():
    """Calls of several streams by turns; only at the end it is looked at what they did."""
    driver = Driver()
    everywhere = [Place(driver, driver.stream()) for _ in range(3)]
    for order in ORDERS:
        driver.set_order(order)
        results = [[] for _ in everywhere]
        for seed in range(4):
            for place, found in zip(everywhere, results, strict=True):
                place.write(seed + order)
                for axis in (None, 0, 1):
                    kept = gpureduce.sum(place.theirs(place.array), axis=axis, as_device=True)
                    found.append((kept, contents(seed + order).sum(axis=axis)))
                    gpureduce.sum(place.theirs(place.array), axis=axis, as_device=True)
        for place, found in zip(everywhere[::-1], results[::-1], strict=True):
            for result, right in found:
                np.testing.assert_array_equal(host(driver, result, place.stream), right)


def check_results_follow_their_stream():
    """Those who take a result through DLPack or the interface see it in their stream, and no call waits."""
    driver = Driver()
    place, reader = Place(driver, driver.stream()), driver.stream()
    gpureduce.sum(place.theirs(place.array), axis=0)
    for order in ORDERS:
        driver.set_order(order)
        place.write(order)
        before = waits()
        result = gpureduce.sum(place.theirs(place.array), axis=0)
        assert result.stream == place.stream
        capsule = result.__dlpack__(stream=reader)
        assert waits() == before
        np.testing.assert_array_equal(host(driver, result, reader), contents(order).sum(axis=0))
        assert result.__cuda_array_interface__["stream"] == place.stream
        np.testing.assert_array_equal(result.numpy(), contents(order).sum(axis=0))
        del capsule, result
        # It was in others' hands, so its memory is not given out again while they may use it.
        again = gpureduce.sum(place.theirs(place.array), axis=0)
        np.testing.assert_array_equal(again.numpy(), contents(order).sum(axis=0))


def check_results_used_in_further_streams():
    """A consumer may use a result in streams that DLPack does not name; its memory is not reused before."""
    driver = Driver()
    reader = driver.stream()
    for place in (Place(driver, driver.stream()), Place(driver, LEGACY)):
        for axis in (None, 0):
            gpureduce.sum(place.theirs(place.array), axis=axis, as_device=True)
        for order in ORDERS:
            driver.wait(reader)
            driver.wait(place.stream)
            driver.set_order(order)
            place.write(order)
            before = waits()
            result = gpureduce.sum(place.theirs(place.array), axis=0)
            capsule = result.__dlpack__(stream=place.stream)
            _core.stream_order(_core.CUDA, 0, place.stream, reader)
            words = {"shape": (2 * SHAPE[1],), "typestr": "<i4", "data": (result._pointer, False)}
            total = gpureduce.sum(Interface(strides=None, stream=reader, **words), as_device=True)
            del result, capsule  # the consumer drops it: the reader's work is still to come
            place.write(order + 1)
            overwriting = [gpureduce.sum(place.theirs(place.array), axis=0) for _ in range(3)]
            assert waits() == before
            np.testing.assert_array_equal(
                host(driver, overwriting[-1], place.stream), contents(order + 1).sum(axis=0)
            )
            expected = contents(order).sum(axis=0).view(np.int32).sum()
            np.testing.assert_array_equal(host(driver, total, reader), expected)


def check_arrays_of_several_streams():
    """What is used elsewhere is waited for on the device, both ways."""
    driver = Driver()
    first, second = Place(driver, driver.stream()), Place(driver, driver.stream())
    out, mask = first.outs[1], second.mask

    def call():
        return gpureduce.sum(
            first.theirs(first.array),
            axis=1,
            where=second.theirs(mask, "bool"),
            out=second.theirs(out, "int64"),
        )

    call()
    for order in ORDERS:
        settle(driver, (first, second))
        driver.set_order(order)
        driver.write(first.array, contents(order), first.stream)
        driver.write(mask, chosen(order), second.stream)
        driver.write(out, np.full(SHAPE[0], 55), second.stream)
        before = waits()
        call()
        assert waits() == before
        driver.write(mask, ~chosen(order), second.stream)  # comes after the call has read it
        expected = contents(order).sum(axis=1, where=chosen(order))
        np.testing.assert_array_equal(host(driver, out, second.stream), expected)


def check_arrays_whose_next_stream_nobody_knows():
    """JAX's, say, which cannot change: they live until the work that reads them is done."""
    driver = Driver()
    place = Place(driver, driver.stream())

    def exporter():
        fields = {"shape": SHAPE, "strides": None, "data": place.array._pointer, "code": 0, "bits": 32}
        return Exporter((CUDA, 0), versioned=True, **fields)

    gpureduce.sum(exporter(), axis=0)
    for order in ORDERS:
        driver.set_order(order)
        for stream in (LEGACY, place.stream):
            driver.write(place.array, contents(order), LEGACY)
            array = exporter()
            producer, before = array.producer, waits()
            result = gpureduce.sum(array, axis=0, stream=stream)
            assert waits() == before
            del array
            gc.collect()
            assert producer.deleted == 0 or order
            np.testing.assert_array_equal(result.numpy(), contents(order).sum(axis=0))
            driver.wait(LEGACY)
            gpureduce.sum(exporter(), axis=0).numpy()
            assert producer.deleted == 1


def captured(driver, place, mode):
    """All calls of a place as a graph: what replays it, what lets it go, and the results."""
    made = []
    return *driver.capture(place.stream, mode, lambda: made.extend(call() for _, call in place.calls())), made


def check_captures():
    driver = Driver()
    count = len(list(Place(driver, driver.stream()).calls()))
    for mode in (0, 1, 2):
        for blocking in (False, True):
            place = Place(driver, driver.stream(blocking))
            driver.set_order(0)
            driver.wait(LEGACY)
            driver.wait(place.stream)
            made = []
            replay, forget = driver.capture(
                place.stream,
                mode,
                lambda place=place, made=made: made.extend(call() for _, call in place.calls()),
            )
            assert len(made) == count
            for order in (0, 1, 2):
                driver.set_order(order)
                place.write(order + 10)
                for _, call in place.calls():
                    call()  # outside the graph, in its stream
                place.write(order)
                replay()
                for result, (right, _) in zip(made, place.calls(), strict=True):
                    np.testing.assert_array_equal(host(driver, result, place.stream), right(order))
            forget()
            for result, (right, _) in zip(made, place.calls(), strict=True):
                np.testing.assert_array_equal(host(driver, result, place.stream), right(order))


def check_the_host_in_a_capture():
    """What the host is to have cannot be captured; that is said, and the capture goes on."""
    driver = Driver()
    place, out, made = Place(driver, driver.stream()), np.zeros(SHAPE[0], np.int64), []

    def body():
        array, options = place.theirs(place.array), {"stream": place.stream}
        for call in (
            lambda: gpureduce.sum(array),
            lambda: gpureduce.sum(place.array, **options),
            lambda: gpureduce.sum(array, axis=1, as_device=False),
            lambda: gpureduce.sum(array, axis=1, out=out),
        ):
            with pytest.raises(ValueError, match="a result for the host cannot be captured into a graph"):
                call()
        for call in (
            lambda: gpureduce.sum(contents(1), axis=0, as_device=True, device="cuda", **options),
            lambda: gpureduce.sum(array, axis=1, where=chosen(1)),
            lambda: gpureduce.sum(place.array, axis=1, where=np.False_, **options),
        ):
            with pytest.raises(ValueError, match="a host array cannot be captured into a graph"):
                call()
        for given in (array, place.array):
            with pytest.raises(ValueError, match="a named variant cannot be captured into a graph"):
                gpureduce.sum(given, variant="v7", as_device=True, **options)
        with pytest.raises(ValueError, match="dtype= makes a temporary copy"):
            gpureduce.sum(array, axis=1, dtype="float32")
        made.append(gpureduce.sum(array, axis=1))
        with pytest.raises(ValueError, match="stream: a result that is captured into a graph cannot be read"):
            made[0].numpy()

    replay, _ = driver.capture(place.stream, 0, body)
    place.write(4)
    replay()
    np.testing.assert_array_equal(host(driver, made[0], place.stream), contents(4).sum(axis=1))
    assert not out.any()


def check_memory_of_graphs():
    """A graph keeps what it works with; arrays that come and go meanwhile have memory of their own."""
    driver = Driver()
    place = Place(driver, driver.stream())
    driver.wait(LEGACY)
    gpureduce.free_memory()
    before = driver.live_allocations()
    early = [gpureduce.sum(place.theirs(place.array), axis=0) for _ in range(3)]
    addresses, others = [], []

    def body():
        early.clear()  # made in this stream, before
        for axis in (0, 1):
            result = gpureduce.sum(place.theirs(place.array), axis=axis)
            addresses.append((result._pointer, result.shape, result.dtype, axis))

    replay, forget = driver.capture(place.stream, 0, body)
    gc.collect()
    gpureduce.free_memory()
    others = [gpureduce.to_device(np.full(SHAPE[1], 99), "cuda") for _ in range(20)]
    others += [gpureduce.sum(place.theirs(place.array), axis=0) for _ in range(20)]
    right = [other.numpy() for other in others]
    place.write(2)
    replay()
    for pointer, shape, dtype, axis in addresses:
        result = type("Result", (), {"_pointer": pointer, "shape": shape, "dtype": dtype})
        np.testing.assert_array_equal(host(driver, result, place.stream), contents(2).sum(axis=axis))
    for other, value in zip(others, right, strict=True):
        np.testing.assert_array_equal(other.numpy(), value)
    forget()
    del others, other
    gc.collect()
    driver.wait(place.stream)
    gpureduce.free_memory()
    assert driver.live_allocations() == before


def check_stream_objects():
    driver = Driver()
    handle = driver.stream()
    there = gpureduce.to_device(contents(0), "cuda")
    gpureduce.sum(there, axis=0)
    driver.wait(LEGACY)

    class Torchs:
        cuda_stream = handle

    class CuPys:
        ptr = handle

    class Protocols:
        def __cuda_stream__(self):
            return (0, handle)

    for stream in (handle, Torchs(), CuPys(), Protocols()):
        for seed in (1, 2):
            driver.write(there, contents(seed), handle)
            before = waits()
            result = gpureduce.sum(there, axis=0, stream=stream)
            assert waits() == before
            np.testing.assert_array_equal(result.numpy(), contents(seed).sum(axis=0))
    for wrong in ("0", 1.5, object(), -3):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            gpureduce.sum(there, axis=0, stream=wrong)
    # Of DLPack, which hands views with negative strides out as copies.
    array = gpureduce.to_device(contents(0), "cuda")
    with pytest.raises(BufferError, match="negative stride"):
        array[::-1].__dlpack__(copy=False)
    array[:1][::-1].__dlpack__(copy=False)  # one row has no direction
    with pytest.raises(TypeError, match="stream: expected an integer"):
        array.__dlpack__(stream="1")


def check_threads():
    """8 threads with a stream each, in a wild order, some of which capture."""
    driver = Driver()
    driver.set_order(5)
    lock = threading.Lock()

    def work(number):
        with lock:
            place = Place(driver, driver.stream())
        for turn in range(15):
            seed = number * 20 + turn
            place.write(seed)
            for right, call in place.calls():
                result = call()
                np.testing.assert_array_equal(host(driver, result, place.stream), right(seed))
            if number % 2 and turn % 5 == 0:
                replay, forget, made = captured(driver, place, 1)
                place.write(seed + 1)
                replay()
                for result, (right, _) in zip(made, place.calls(), strict=True):
                    np.testing.assert_array_equal(host(driver, result, place.stream), right(seed + 1))
                forget()

    together(work, 8)


def test_streams(fake_libraries):
    run(
        fake_libraries,
        check_nothing_waits,
        check_streams_go_apart,
        check_results_follow_their_stream,
        check_arrays_of_several_streams,
        check_arrays_whose_next_stream_nobody_knows,
        check_captures,
        check_results_used_in_further_streams,
        check_the_host_in_a_capture,
        check_memory_of_graphs,
        check_stream_objects,
        check_threads,
    )
