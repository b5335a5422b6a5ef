"""What only a CUDA device does, from Python to the launch, against the fake driver: tensors, measurements.

Each check runs in a process of its own, whose driver is tests/fake_cuda: it has real memory, two devices, and
adds up int32.
"""

import contextlib
import ctypes
import math
import os
import random
import sys
import weakref

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce._arrays import device_array
from gpureduce._bench import runner
from tests.support.children import python
from tests.support.fake_driver import INT32, driver_calls, run, tensor
from tests.support.producers import CUDA, CUDA_HOST, Exchange, Exporter
from tests.support.sanitized import forks_beside_threads

HOST = np.arange(1, 1001, dtype=np.int32) * 37 % 101 - 50


def new_stream(index=0):
    driver, stream = ctypes.CDLL(os.environ["GPUREDUCE_LIBCUDA"]), ctypes.c_void_p()
    assert _core.call_on(index, lambda: driver.cuStreamCreate(ctypes.byref(stream), 1)) == 0
    return stream.value


def check_sums():
    for index in (0, 1):
        there = gpureduce.to_device(HOST, f"cuda:{index}")
        for options in ({}, {"device": f"cuda:{index}"}):
            for shape, strides in (((1000,), None), ((20, 50), (50, 1)), ((20, 1, 50), (50, 7, 1))):
                exporter = tensor(there, shape=shape, strides=strides)
                assert gpureduce.sum(exporter, **options) == HOST.sum()
                assert (exporter.asked, exporter.producer.deleted) == ([], 1)
        offset = tensor(there, shape=(990,), byte_offset=40)
        assert gpureduce.sum(offset) == HOST[10:].sum()
        scalar = tensor(there, shape=())
        assert gpureduce.sum(scalar) == HOST[0]
        strided = tensor(there, shape=(20, 25), strides=(50, 2))
        assert gpureduce.sum(strided) == HOST[::2].sum()
        assert strided.producer.deleted == 1


def check_a_callback_that_uses_another_device():
    """Its device is not current for the work that goes on after it, and none is left current."""
    long, calls = np.tile(HOST, 400), []
    there = gpureduce.to_device(HOST, "cuda:1")

    def report(done, total):
        calls.append(gpureduce.sum(there, as_device=True).device)

    assert gpureduce.sum(long, device="cuda:0", progress=report) == 400 * HOST.sum()
    assert set(calls) == {"cuda:1"}
    driver, current = ctypes.CDLL(os.environ["GPUREDUCE_LIBCUDA"]), ctypes.c_int()
    assert driver.cuCtxGetDevice(ctypes.byref(current)) == 201  # there is no current context
    assert gpureduce.sum(long, device="cuda:0") == 400 * HOST.sum()


def check_streams():
    there = gpureduce.to_device(HOST, "cuda")
    gpureduce.sum(there)
    stream = new_stream()
    for handle in (None, 1, stream):
        exporter = tensor(there, Exchange(handle))
        before = driver_calls("cuStreamSynchronize")
        assert gpureduce.sum(exporter) == HOST.sum()
        assert driver_calls("cuStreamSynchronize") - before == 1  # for the result alone


def check_a_wait_that_fails():
    there = gpureduce.to_device(HOST, "cuda")
    exporter = tensor(there, Exchange(new_stream()))
    with pytest.raises(gpureduce.DeviceError, match="CUDA error 701"):
        gpureduce.sum(exporter)
    assert exporter.producer.deleted == 1
    assert gpureduce.sum(exporter) == HOST.sum()


def check_results_that_stay():
    """Others' streams are ordered by events, before and after our work, and no thread waits on the host."""
    there = gpureduce.to_device(HOST, "cuda")
    gpureduce.sum(there, as_device=True)  # what is kept for later calls is there
    stream = new_stream()

    def summed(*args, **options):
        """How often a stream was told to wait for another one; and the result."""
        counted = "cuStreamWaitEvent", "cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize"
        before = [driver_calls(symbol) for symbol in counted]
        result = gpureduce.sum(*args, **options)
        orders, *waits = (driver_calls(symbol) - count for symbol, count in zip(counted, before, strict=True))
        assert waits == [0, 0, 0]
        return orders, result

    place = gpureduce.to_device(np.zeros((), np.int64), "cuda")
    for long_way in ({}, {"dtype": np.int64}):
        for theirs in (None, stream):
            exporter = tensor(there, Exchange(theirs))
            orders, result = summed(exporter, as_device=True, **long_way)
            if theirs and long_way:  # which knows the stream by its number alone, and that it may end
                assert orders == 1 and result.stream not in (1, theirs)
            else:
                assert (orders, result.stream) == (0, theirs or 1)
            assert result.numpy() == HOST.sum() and exporter.producer.deleted == 1
        out = tensor(place, Exchange(stream), shape=(), bits=64)
        _core.device_write(_core.CUDA, 0, place._pointer, np.zeros((), np.int64))
        assert summed(there, out=out, **long_way) == (2, out)
        seen = np.zeros((), np.int64)  # by work in that stream
        _core.device_read(_core.CUDA, 0, place._pointer, seen, stream)
        assert seen == HOST.sum()
        assert summed(tensor(there, Exchange(stream)), out=out, **long_way) == (0, out)
        orders, result = summed(there, as_device=True, stream=stream, **long_way)
        assert orders == 3 and result.stream not in (1, stream) and result.numpy() == HOST.sum()
        orders, result = summed(there, as_device=True, stream=Named(ptr=stream), **long_way)
        assert (orders, result.stream) == (2, stream) and result.numpy() == HOST.sum()


def check_who_does_not_say_his_stream():
    """JAX's arrays do not change, but are gone when we let them go: they are held until the work is done."""
    there = gpureduce.to_device(HOST, "cuda")
    gpureduce.sum(there, as_device=True)
    waits = driver_calls("cuStreamSynchronize")
    fields = {"shape": there.shape, "strides": None, "data": there._pointer, **INT32}
    exporters = [Exporter((CUDA, 0), **fields) for _ in range(5)]
    results = [gpureduce.sum(exporter, as_device=True) for exporter in exporters]
    assert driver_calls("cuStreamSynchronize") == waits
    assert [result.stream for result in results] == [1] * 5
    assert exporters[-1].producer.deleted == 0  # which the kernel has not read yet
    assert [int(result.numpy()) for result in results] == [HOST.sum()] * 5
    gpureduce.sum(Exporter((CUDA, 0), **fields), as_device=True)
    assert [exporter.producer.deleted for exporter in exporters] == [1] * 5
    last = Exporter((CUDA, 0), **fields)
    gpureduce.sum(last, as_device=True)
    gpureduce.free_memory()
    assert last.producer.deleted == 1
    place = gpureduce.to_device(np.zeros((), np.int64), "cuda")
    out = Exporter((CUDA, 0), **{**fields, "shape": (), "data": place._pointer, "bits": 64})
    waits = driver_calls("cuStreamSynchronize")
    assert gpureduce.sum(there, out=out) is out
    assert driver_calls("cuStreamSynchronize") == waits + 1
    assert place.numpy() == HOST.sum()


class Named:
    """A stream of another library, which knows its handle by one of its attributes."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class Protocol:
    def __init__(self, handle):
        self.handle = handle

    def __cuda_stream__(self):
        return (0, self.handle)


def check_streams_by_their_objects():
    there = gpureduce.to_device(HOST, "cuda")
    handle = new_stream()
    kinds = (lambda h: Named(cuda_stream=h)), (lambda h: Named(ptr=h)), Protocol, np.uint64
    for kind in kinds:
        stream = kind(handle)
        for long_way in ({}, {"dtype": np.int64}):
            result = gpureduce.sum(there, as_device=True, stream=stream, **long_way)
            assert result.stream == handle and result.numpy() == HOST.sum()
        held = weakref.ref(stream) if isinstance(stream, (Named, Protocol)) else None
        del stream
        assert held is None or held() is not None  # as long as the array, which is freed in that stream
        del result
        assert held is None or held() is None
    for nonsense, error in (("x", TypeError), (-1, ValueError), (2**64, ValueError), (1.5, TypeError)):
        for stream in (nonsense, Named(ptr=nonsense), Protocol(nonsense)):
            for long_way in ({}, {"dtype": np.int64}):
                with pytest.raises(error):
                    gpureduce.sum(there, stream=stream, **long_way)
    with pytest.raises(ZeroDivisionError):
        gpureduce.sum(there, stream=type("Raises", (), {"ptr": property(lambda self: 1 / 0)})())


def cupy_array(array, stream, **entries):
    """An array that speaks the interface alone, in the memory of a DeviceArray."""
    interface = {
        "shape": array.shape,
        "typestr": array.dtype.str,
        "data": (array._pointer, False),
        "strides": None,
        "version": 3,
        "stream": stream,
        "descr": [("", array.dtype.str)],
    }
    return Named(__cuda_array_interface__={**interface, **entries})


def check_interfaces_on_two_devices():
    """Their stream is one of the current device; without one, nothing is known of it."""
    core = _core.fast_path("sum", ("a",), ())
    for index in (0, 1):
        there = gpureduce.to_device(HOST, f"cuda:{index}")
        given = cupy_array(there, 1)
        assert core(given) is NotImplemented and gpureduce.sum(given) == HOST.sum()
        assert _core.call_on(index, lambda given=given: core(given)) == HOST.sum()
        assert _core.call_on(1 - index, lambda given=given: core(given)) is NotImplemented


def check_interfaces():
    core = _core.fast_path("sum", ("a", "axis"), ("out", "as_device"))
    there = gpureduce.to_device(HOST, "cuda")
    stream = new_stream()
    given = cupy_array(there, stream)
    result = core(given, as_device=True)
    assert core(given) == result.numpy() == HOST.sum()
    assert result.stream not in (1, stream)  # which may end before it
    place = gpureduce.to_device(np.zeros((), np.int64), "cuda")
    out = cupy_array(place, stream)
    assert core(given, out=out) is out
    _core.stream_order(_core.CUDA, 0, stream, place.stream)
    assert place.numpy() == HOST.sum()
    rows = cupy_array(there, 1, shape=(20, 25), strides=(200, 8))
    assert core(rows) == HOST[::2].sum()
    backwards = cupy_array(there, 1, shape=(3,), strides=(-8,), data=(there._pointer + 40, False))
    assert core(backwards) == HOST[[10, 8, 6]].sum()
    left = (
        *({"version": 2}, {"version": 4}, {"version": True}, {"stream": None}, {"stream": 0}, {"stream": -1}),
        *({"shape": [1000]}, {"shape": (1000.0,)}, {"shape": (-1,)}, {"shape": (0,)}, {"shape": (2**62, 8)}),
        *({"strides": (4, 4)}, {"strides": (6,)}, {"strides": (2**62,)}, {"strides": "x"}),
        *({"strides": (-(2**50),)}, {"strides": (2**54,)}),
        *(
            {"typestr": text}
            for text in ("", "<i", ">i4", "|i4", "<i3", "<V4", "<f16", "<i44", "<i4x", b"<i4")
        ),
        *(
            {"data": data}
            for data in (there._pointer, (0, False), (there._pointer, 0), (there._pointer + 1, False))
        ),
        *({"mask": rows}, {"typestr": None}, {"data": (2**64, False)}, {"data": (-8, False)}),
    )
    for entries in left:
        assert core(cupy_array(there, **{"stream": 1, **entries})) is NotImplemented, entries
    assert core(given, out=cupy_array(place, 1, data=(place._pointer, True))) is NotImplemented
    for interface in (None, {}, [], 7):
        assert core(Named(__cuda_array_interface__=interface)) is NotImplemented


def check_bad_streams():
    there = gpureduce.to_device(HOST, "cuda")
    exporter = tensor(there, Exchange(stream=12345))
    with pytest.raises(gpureduce.DeviceError, match="CUDA_ERROR_INVALID_HANDLE"):
        gpureduce.sum(exporter)
    assert exporter.producer.deleted == 1
    assert gpureduce.sum(tensor(there)) == HOST.sum()
    gpureduce.to_device(HOST, "cuda:1")
    stream = new_stream(1)
    text = f"stream: stream {stream:#x} belongs to cuda:1, but the call works on cuda:0"
    for given in (stream, Named(ptr=stream)):
        for array, options in (
            (there, {}),
            (there, {"initial": 0, "as_device": True}),
            (HOST, {"device": "cuda:0"}),
        ):
            with pytest.raises(gpureduce.DeviceError, match=text):
                gpureduce.sum(array, stream=given, **options)
    with pytest.raises(gpureduce.DeviceError, match=text):
        gpureduce.sum(tensor(there, Exchange(stream)))


def check_elsewhere():
    exporter = tensor(gpureduce.to_device(HOST, "cuda:1"))
    for device in ("cuda:0", "cuda:7", "sim"):
        with pytest.raises(gpureduce.DeviceError, match=f"is on cuda:1, not on '{device}'"):
            gpureduce.sum(exporter, device=device)
    assert exporter.producer.deleted == 6  # the short way, then the long one, each time
    absent = Exchange().exporter((CUDA, 7), **INT32)
    with pytest.raises(gpureduce.DeviceError, match="cuda:7"):
        gpureduce.sum(absent)
    assert absent.producer.deleted == 1


def check_what_the_short_way_leaves():
    there = gpureduce.to_device(HOST, "cuda")
    core = _core.fast_path("sum", ("a",), ())
    fields = (
        {"shape": (10, 0), "strides": (1, 1)},
        {"shape": (2**62, 8), "strides": None},
        {"shape": (2**61,), "strides": (1,)},
        {"shape": (10, -1)},
        {"shape": (2,) * 64, "ndim": 65},
        {"ndim": -1},
        {"shape": None, "ndim": 1},
        {"data": there._pointer + 2},
        {"data": None},
        {"data": 2**64 - 4, "shape": (4,)},
        {"byte_offset": 2**64 - 4},
        {"bits": 24},
        {"lanes": 2},
        {"major": 2},
    )
    pinned = Exchange().exporter((CUDA_HOST, 0), data=there._pointer, **INT32)
    assert core(pinned) is NotImplemented and pinned.producer.deleted == 1
    for given in fields:
        exporter = tensor(there, **given)
        assert core(exporter) is NotImplemented, given
        assert exporter.producer.deleted == 1, given
    bitwise = tensor(there, code=2)
    assert (
        _core.fast_path("bitwise_or", ("a",), ())(bitwise) is NotImplemented and bitwise.producer.deleted == 1
    )
    before_ml_dtypes = tensor(there, code=4, bits=16)
    assert core(before_ml_dtypes) is NotImplemented and "ml_dtypes" not in sys.modules
    for name in ("is_neg", "is_conj", "requires_grad"):
        exporter = tensor(there)
        setattr(exporter, name, lambda: True)
        assert core(exporter) is NotImplemented and exporter.producer.deleted == 0
    for nothing in (None, 3.5, [1], "text", object(), Exchange(refuses="take").exporter()):
        assert core(nothing) is NotImplemented


def check_layouts():
    """The core takes elements that lie anyhow by itself, if there are any."""
    there = gpureduce.to_device(HOST, "cuda")
    core = _core.fast_path("sum", ("a",), ())
    draw = random.Random(7)
    taken = 0
    for _ in range(3000):
        shape = tuple(draw.choice((0, 1, 1, 2, 3, 5)) for _ in range(draw.randrange(5)))
        packed = np.cumprod((1, *(max(n, 1) for n in shape[:0:-1])))[::-1].tolist() if shape else []
        strides = draw.choice((None, packed, packed[::-1], [draw.choice((0, 1, 2, step)) for step in packed]))
        offset = draw.randrange(20)
        view = np.lib.stride_tricks.as_strided(
            HOST[offset:], shape, [4 * step for step in (packed if strides is None else strides)]
        )
        exporter = tensor(there, shape=shape, strides=strides, byte_offset=4 * offset)
        got = core(exporter)
        assert (got is not NotImplemented) == (view.size > 0), (shape, strides)
        assert got is NotImplemented or got == view.sum(), (shape, strides)
        taken += got is not NotImplemented
    assert 500 < taken < 2500


def check_errors_of_theirs():
    class Raises:
        def __bool__(self):
            raise ZeroDivisionError("theirs")

    class Meta(type):
        def __getattr__(cls, name):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gpureduce.sum(Meta("Type", (), {})())

    def interrupt(self):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gpureduce.sum(type("Type", (), {"__cuda_array_interface__": property(interrupt)})())

    exporter = tensor(gpureduce.to_device(HOST, "cuda"))
    exporter.requires_grad = Raises()
    with pytest.raises(ZeroDivisionError, match="theirs"):
        gpureduce.sum(exporter)
    assert exporter.producer.deleted == 0


def check_nothing_is_kept():
    there = gpureduce.to_device(HOST, "cuda")
    taken, left = tensor(there), tensor(there, bits=24)
    refused = tensor(there, Exchange(stream=12345))
    core = _core.fast_path("sum", ("a",), ())
    held = [sys.getrefcount(exporter) for exporter in (taken, left, refused)]
    for _ in range(200):
        gpureduce.sum(taken)
        core(left)
        with contextlib.suppress(gpureduce.DeviceError):
            gpureduce.sum(refused)
    assert [sys.getrefcount(exporter) for exporter in (taken, left, refused)] == held
    assert [exporter.producer.deleted for exporter in (taken, left, refused)] == [200] * 3


def check_a_launch_that_fails():
    there = gpureduce.to_device(HOST, "cuda")
    exporter = tensor(there)
    with pytest.raises(gpureduce.DeviceError, match="CUDA error 701"):
        gpureduce.sum(exporter)
    assert exporter.producer.deleted == 1
    assert gpureduce.sum(tensor(there)) == HOST.sum()


def check_the_default_is_measured():
    runner.read_bandwidth = lambda device, repeats: 1000.0  # sums float32, which the fake does not
    found = gpureduce.bench(1001, ["v2", "auto"], dtypes="int32", device="cuda", repeats=3, progress=False)
    rung, default = found.rows
    assert (default["variant"], default["block_size"], rung["block_size"]) == ("auto", None, 256)
    assert default["first_pass_us"] == default["all_passes_us"] != rung["first_pass_us"]
    assert default["result"] == rung["result"] == default["exact"]


def check_exact_sums():
    """As plain ones: one launch, which leaves the result where the host looks for it, and may read there."""
    array = np.ldexp(HOST.astype(np.float32), np.arange(HOST.size) % 40 - 20)
    wanted = np.float32(math.fsum(array.astype(float)))
    there = gpureduce.to_device(array, "cuda")
    out = gpureduce.to_device(np.zeros((), np.float32), "cuda")
    symbols = ("cuLaunchKernelEx", "cuMemcpyDtoHAsync_v2", "cuMemcpyHtoDAsync_v2", "cuMemHostAlloc")
    calls = (
        lambda: gpureduce.sum(there, exact=True),
        lambda: gpureduce.fsum(there),
        lambda: gpureduce.fsum(tensor(there, code=2)),
        lambda: gpureduce.sum.__wrapped__(there, exact=True),
        lambda: gpureduce.sum(array, exact=True, device="cuda"),
    )
    for call in calls:
        assert call() == wanted != 0
        before = [driver_calls(each) for each in symbols]
        assert call() == wanted
        assert [driver_calls(each) for each in symbols] == [before[0] + 1, *before[1:]]
    waits = driver_calls("cuStreamSynchronize")
    made = gpureduce.sum(there, exact=True, as_device=True)
    assert gpureduce.fsum(there, out=out) is out and driver_calls("cuStreamSynchronize") == waits
    assert made.numpy() == out.numpy() == wanted


def check_results_along_axes():
    """The host looks for them, too, as long as they are few."""
    symbols = ("cuLaunchKernelEx", "cuMemcpyDtoHAsync_v2", "cuMemHostAlloc")
    there = gpureduce.to_device(np.arange(40000, dtype=np.int32).reshape(20, 2000), "cuda")
    few, many = np.arange(40000).reshape(20, 2000).sum(1), np.arange(40000).reshape(20, 2000).sum(0)
    turned = gpureduce.to_device(np.arange(40000, dtype=np.int32).reshape(20000, 2), "cuda")
    for copies, array, axis, wanted in (
        (0, there, 1, few),
        (0, there, 0, many),
        (1, turned, 1, np.arange(40000).reshape(20000, 2).sum(1)),  # 160 kB
    ):
        for _ in range(2):
            before = [driver_calls(each) for each in symbols]
            assert gpureduce.sum(array, axis, as_device=False).tolist() == wanted.tolist()
        assert [driver_calls(each) for each in symbols] == [before[0] + 1, before[1] + copies, before[2]]


def check_arrays_that_threads_bring():
    """Large ones in memory that is not pinned go through the ring, whatever is made of them."""
    symbol, chunk = "cuMemcpyHtoDAsync_v2", int(os.environ["GPUREDUCE_CHUNK_BYTES"])
    whole = np.arange(80000, dtype=np.int32).reshape(20, 4000) * 37 % 1009
    floats = np.ldexp(np.tile(whole.astype(np.float32), 3), np.arange(12000) % 40 - 20)
    out = gpureduce.to_device(np.zeros(4000, np.int64), "cuda")
    other, stream = gpureduce.to_device(np.zeros(20, np.int64), "cuda"), new_stream()

    def placed():
        gpureduce.sum(whole, 0, device="cuda", out=out)
        gpureduce.sum(whole, 1, device="cuda", out=other, stream=stream)
        return [*out.numpy(), *other.numpy()]

    def copies(*arrays):
        return sum(-(-nbytes // chunk) for nbytes in arrays)

    gaps = whole[1:, 700::-3]
    for call, wanted, count in (
        (lambda: gpureduce.sum(whole, 1, device="cuda"), whole.sum(1), copies(whole.nbytes)),
        (lambda: gpureduce.sum(whole, 0, device="cuda"), whole.sum(0), copies(whole.nbytes)),
        (lambda: gpureduce.sum(gaps, 0, device="cuda"), gaps.sum(0), 0),  # reads a short copy there
        (lambda: [gpureduce.fsum(floats, device="cuda")], [math.fsum(floats.flat)], copies(floats.nbytes)),
        (placed, [*whole.sum(0), *whole.sum(1)], 2 * copies(whole.nbytes)),
    ):
        before = driver_calls(symbol)
        got = call()
        assert (
            np.array_equal(got, np.asarray(wanted, got[0].dtype)) and driver_calls(symbol) == before + count
        )
    before = driver_calls(symbol), driver_calls("cuStreamWaitEvent")
    there = gpureduce.to_device(whole, "cuda")
    # No stream waits for anything but the stream of the copies, for which no call would wait afterwards.
    after = driver_calls(symbol), driver_calls("cuStreamWaitEvent")
    assert after == (before[0] + copies(whole.nbytes), before[1] + 1) and (there.numpy() == whole).all()
    few = whole[:, :2].copy()  # the kernel reads it in host memory, if its order ascends
    for array, axis, count in ((few, 0, 0), (few.T, 0, 0), (few, 1, 0), (few[::2], 0, 0), (few[::-1], 0, 1)):
        before = driver_calls(symbol)
        assert gpureduce.sum(array, axis, device="cuda").tolist() == array.sum(axis).tolist()
        assert driver_calls(symbol) == before + count


def check_a_chunk_that_fails():
    """What was brought goes back, and the next call is as ever."""
    whole = np.arange(80000, dtype=np.int32).reshape(20, 4000)
    memory = "cuMemAllocFromPoolAsync", "cuMemFreeAsync"
    with pytest.raises(gpureduce.DeviceError, match="CUDA error 701"):
        gpureduce.sum(whole, 1, device="cuda")
    assert gpureduce.sum(whole, 1, device="cuda").tolist() == whole.sum(1).tolist()
    assert driver_calls(memory[0]) == driver_calls(memory[1])


def sharded():
    """Numbers on two devices, two parts on each, and their exact sum."""
    whole = np.ldexp(HOST.astype(np.float32), np.arange(HOST.size) % 90 - 45)
    there = [
        gpureduce.to_device(part, f"cuda:{i % 2}") for i, part in enumerate(np.split(whole, (100, 101, 500)))
    ]
    return gpureduce.Sharded(there), np.float32(math.fsum(whole.astype(float)))


def check_parts_of_two_devices():
    """One launch each, and nothing is copied: the host reads what the kernels leave."""
    whole, wanted = sharded()
    assert gpureduce.sum(whole) == wanted != 0
    symbols = ("cuLaunchKernelEx", "cuMemcpyDtoHAsync_v2", "cuMemHostAlloc")
    before = [driver_calls(each) for each in symbols]
    for _ in range(100):
        assert gpureduce.sum(whole) == wanted
    assert gpureduce.mean(whole, exact=True) == pytest.approx(wanted / 1000, rel=1e-6)
    assert [driver_calls(each) for each in symbols] == [before[0] + 404, *before[1:]]
    numbers = gpureduce.Sharded([gpureduce.to_device(HOST[i::3], f"cuda:{i % 2}") for i in range(3)])
    assert gpureduce.sum(numbers) == HOST.sum()  # of integers, by the kernels of plain sums
    before = [driver_calls(each) for each in symbols]
    assert gpureduce.sum(numbers) == gpureduce.partial(numbers, "sum").result() == HOST.sum()
    assert [driver_calls(each) for each in symbols] == [before[0] + 6, *before[1:]]


def check_a_part_that_fails():
    """The others' results are waited for, and their memory goes back."""
    whole, wanted = sharded()
    with pytest.raises(gpureduce.DeviceError, match="CUDA error 701"):
        gpureduce.sum(whole)
    for _ in range(100):
        assert gpureduce.sum(whole) == wanted
    assert driver_calls("cuMemHostAlloc") <= 2 * 4


def check_own_rungs():
    """A user's kernel, of which the fake knows that it sums float32, is launched as v0, and timed like it."""
    source = 'extern "C" __global__ void mine_sum_f32(const float *in, float *out, unsigned long long n) {}\n'
    rung = gpureduce.course.ladder(source, block_size=64)
    data = HOST.astype(np.float32)
    assert rung.sum(data, device="cuda") == data.sum()
    assert rung.sum(data[:0], device="cuda") == 0 and rung.sum(data[:1], device="cuda:1") == data[0]
    runner.read_bandwidth = lambda device, repeats: 1000.0  # by a kernel that the fake does not know
    runner.ROTATION_BYTES = 1 << 20  # the fake has no L2 cache, and copies take long under AddressSanitizer
    found = rung.bench([1000, 5000], "v0", device="cuda", repeats=3, block_size=64)
    for ours, theirs in zip(found.rows[1::2], found.rows[::2], strict=True):
        assert (ours["variant"], theirs["variant"]) == ("mine", "v0") and ours.keys() == theirs.keys()
        assert ours["first_pass_us"] == theirs["first_pass_us"] != ours["all_passes_us"]
        assert all(ours[key] == theirs[key] for key in ("n", "all_passes_us", "result", "block_size"))
    assert [record["over_first"] for record in found.records()] == [1, 1, 1, 1]
    assert "| mine " in found.table()
    with pytest.raises(ValueError, match="grid: 37 launches; a program has at most 36"):
        gpureduce.course.ladder(source, grid=lambda n, block: n - 1 or 1).sum(data[:38], device="cuda")
    # The device takes no PTX for 9.0.
    assert ".target sm_80" in rung._for_capability((8, 0)).ptx and ".target sm_90" in rung._program.ptx
    chosen = gpureduce.course.ladder(source, options=["-arch=compute_75"])
    assert chosen._for_capability((8, 0)) is chosen._program and ".target sm_75" in chosen._program.ptx


def check_less_shared_memory():
    """Compute capability 12.0 runs kernels for 9.0, but six pieces do not fit in a block of 32 KiB."""
    count = 1 << 28
    there = device_array.empty((count,), np.int32, _core.CUDA, 0)
    some = gpureduce.to_device(HOST, "cuda")
    assert gpureduce.sum(there) == count * int(np.array(0xA5A5A5A5, np.uint32).view(np.int32))
    assert gpureduce.sum(HOST, variant="v12", block_size=512, device="cuda") == HOST.sum()
    refused = "544 threads of v12 take 104448 bytes of shared memory; a block of Fake GPU 0 may have 101376"
    for array in (HOST, some):
        with pytest.raises(ValueError, match=f"{refused}, enough for 512 threads"):
            gpureduce.sum(array, variant="v12", block_size=544, device="cuda")
    assert gpureduce.sum(some, variant="v11") == HOST.sum()
    own = [variant for variant in gpureduce.variants("reduction") if variant.name != "cub"]
    assert all(variant.runs_on("cuda") for variant in own)


def check_outs_that_are_written():
    """What is registered is called once for each call that has written a tensor of another library."""
    told = []
    _core.on_written(told.append)
    there, place = gpureduce.to_device(HOST, "cuda"), gpureduce.to_device(np.zeros((), np.int64), "cuda")
    out = tensor(place, shape=(), bits=64)
    for _ in range(2):
        assert gpureduce.sum(there, out=out) is out and place.item() == HOST.sum()
    assert len(told) == 2 and told[0] is told[1] is out
    gpureduce.sum(there, out=place)
    gpureduce.sum(tensor(there), as_device=True)
    with pytest.raises(ValueError, match="out: expected shape"):
        gpureduce.sum(there, out=tensor(place, shape=(1,), bits=64))
    assert len(told) == 2

    def fails(out):
        raise RuntimeError("on purpose")

    _core.on_written(fails)
    with pytest.raises(RuntimeError, match="on purpose"):
        gpureduce.sum(there, out=out)


def check_copies_of_others():
    """`to_device` copies another library's array to another device. The fake has no kernels that copy."""
    there = gpureduce.to_device(HOST, "cuda:1")
    for exchange in (Exchange(), Exchange(new_stream(1))):
        for device in ("cuda:0", "sim"):
            exporter = tensor(there, exchange, shape=(20, 25), strides=(50, 2))
            copy = gpureduce.to_device(exporter, device)
            assert copy.device.removesuffix(":0") == device.removesuffix(":0")
            assert exporter.producer.deleted == 1
            np.testing.assert_array_equal(copy.numpy(), HOST.reshape(20, 50)[:, ::2])


def check_no_clusters():
    there = gpureduce.to_device(HOST, "cuda")
    for array in (HOST, there):
        with pytest.raises(ValueError, match="variant: v11 needs clusters of blocks; Fake GPU 0 has none"):
            gpureduce.sum(array, variant="v11", device="cuda")
    assert gpureduce.sum(there, variant="v12") == gpureduce.sum(there) == HOST.sum()


def test_tensors(fake_libraries):
    run(
        fake_libraries,
        check_sums,
        check_a_callback_that_uses_another_device,
        check_streams,
        check_bad_streams,
        check_results_that_stay,
        check_streams_by_their_objects,
        check_who_does_not_say_his_stream,
        check_interfaces_on_two_devices,
        check_elsewhere,
        check_what_the_short_way_leaves,
        check_layouts,
        check_errors_of_theirs,
        check_nothing_is_kept,
        check_the_default_is_measured,
        check_exact_sums,
        check_outs_that_are_written,
        check_copies_of_others,
        check_results_along_axes,
        check_parts_of_two_devices,
    )


def test_arrays_that_speak_the_interface(fake_libraries):
    run(fake_libraries, check_interfaces, FAKE_CUDA_DEVICES="1")


def test_calls_of_the_driver_that_fail(fake_libraries):
    run(fake_libraries, check_a_launch_that_fails, FAKE_CUDA_FAIL="cuLaunchKernelEx:1:701")
    run(fake_libraries, check_a_part_that_fails, FAKE_CUDA_FAIL="cuLaunchKernelEx:3:701")
    run(fake_libraries, check_a_wait_that_fails, FAKE_CUDA_FAIL="cuStreamSynchronize:2:701")


def test_large_arrays_of_the_host(fake_libraries):
    run(fake_libraries, check_arrays_that_threads_bring, GPUREDUCE_CHUNK_BYTES="1024")
    run(
        fake_libraries,
        check_a_chunk_that_fails,
        GPUREDUCE_CHUNK_BYTES="1024",
        FAKE_CUDA_FAIL="cuMemcpyHtoDAsync_v2:3:701",
    )


def test_own_rungs(fake_libraries, tmp_path):
    pytest.importorskip("cuda.pathfinder")
    kept = os.environ.get("GPUREDUCE_TEST_KERNELS") or str(tmp_path)
    run(fake_libraries, check_own_rungs, GPUREDUCE_CACHE_DIR=kept, FAKE_CUDA_CAPABILITY="8.0")


def test_devices_are_asked_what_they_can(fake_libraries):
    capability = {"FAKE_CUDA_CAPABILITY": "12.0", "FAKE_CUDA_MEMORY": str(2 << 30)}
    run(fake_libraries, check_less_shared_memory, FAKE_CUDA_SHARED="101376", **capability)
    run(fake_libraries, check_no_clusters, FAKE_CUDA_CLUSTERS="0", **capability)


@pytest.mark.parametrize("failure", [None, "cuInit:1:999"])
@forks_beside_threads
def test_a_fork_while_the_driver_initialises(fake_libraries, failure):
    """The child learns how that went: what the driver initialised in its parent it cannot use."""
    done = python(
        """
        import ctypes, os, signal, threading, time
        from gpureduce import _core
        driver = ctypes.CDLL(os.environ["GPUREDUCE_LIBCUDA"])
        driver.fake_cuda.restype = ctypes.POINTER(ctypes.c_void_p)
        calls = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_char_p)(driver.fake_cuda()[3])
        found = []
        opener = threading.Thread(target=lambda: found.append(_core.cuda_problem()))
        opener.start()
        while calls(b"cuInit") == 0:
            time.sleep(0.001)
        assert not found
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            print(_core.cuda_problem(), flush=True)
            os._exit(0)
        opener.join()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        print(found[0])
        """,
        "-W",
        "ignore",
        GPUREDUCE_LIBCUDA=fake_libraries["GPUREDUCE_LIBCUDA"],
        FAKE_CUDA_INIT_MILLISECONDS="500",
        **({"FAKE_CUDA_FAIL": failure} if failure else {}),
    )
    assert done.returncode == 0, done.stderr
    child, parent = done.stdout.splitlines()
    if failure:
        assert child == "None" and "CUDA_ERROR_UNKNOWN" in parent
    else:
        assert "CUDA was initialised in the parent process" in child and parent == "None"
