"""Calls in a program on a GPU: they are enqueued in its streams, wait for nothing, and go into its graphs."""

import gc
import itertools
import threading

import numpy as np
import pytest

import gpureduce
from tests.support.children import python
from tests.support.stream_cases import CALLS, LIBRARIES, SHAPE, Call, CuPy, Ours, Torch, contents, mask
from tests.support.threads import can_compile, together

pytestmark = pytest.mark.gpu

SLEEP = 150_000_000  # cycles: some 80 ms, in which a call has to be back


@pytest.fixture(scope="session")
def index(device):
    return int(device.partition(":")[2] or 0)


@pytest.fixture(params=LIBRARIES)
def library(request, index):
    return request.param(index)


@pytest.fixture(params=[Torch, CuPy])
def another(request, index):
    return request.param(index)


@pytest.fixture
def torch(index):
    return Torch(index).torch


def finish(index):
    pytest.importorskip("torch").cuda.synchronize(index)


class Busy:
    """A stream that has long work; `over` says whether it is done."""

    def __init__(self, torch, library, stream):
        handle = getattr(stream, "cuda_stream", None) if isinstance(library, Torch) else stream.ptr
        self.stream = torch.cuda.ExternalStream(handle) if handle else torch.cuda.default_stream()
        self.event = torch.cuda.Event()
        with torch.cuda.stream(self.stream):
            torch.cuda._sleep(SLEEP)
            self.event.record()

    def over(self):
        return self.event.query()


def squares():
    return gpureduce.ReductionKernel("T x", "int64 y", "(long long)x * x", "a + b", "y = a", "0", "squares")


class Squares(Call):
    """A kernel of the user's own."""

    def expected(self, array, chosen):
        return (array.astype(np.int64) ** 2).sum(axis=self.axis)

    def __call__(self, array, chosen, out, **options):
        options["out" if self.out else "as_device"] = out if self.out else True
        return self.kernel(array, axis=self.axis, **options)

    kernel = property(lambda self: KERNELS.setdefault("squares", squares()))


KERNELS = {}
OWN = tuple(Squares("squares", axis, out=out) for axis in (None, 0, 1) for out in (False, True))
compiler = pytest.mark.skipif(not can_compile(), reason="nothing compiles kernels here")
EVERY = (*CALLS, *(pytest.param(call, marks=compiler, id=str(call)) for call in OWN))
SOME = (
    *(call for call in CALLS if call.op in ("sum", "mean", "max")),
    *(Call("argmax", axis, out=out) for axis in (None, 1) for out in (False, True)),
    *EVERY[len(CALLS) :],
)


# Nothing waits


@pytest.mark.parametrize("where", ["default", "another"])
@pytest.mark.parametrize("call", SOME, ids=str)
def test_calls_return_while_their_stream_is_busy(torch, library, call, where, index):
    host, chosen = contents(3, call.op), mask(3)
    array, there = library.array(host), library.array(chosen)
    out = library.empty(call.expected(host, chosen))
    stream = library.default() if where == "default" else library.stream()
    with library.inside(stream):
        call(array, there, out, **library.options(stream))  # what is loaded once is loaded now
        finish(index)
        busy = Busy(torch, library, stream)
        got = call(array, there, out, **library.options(stream))
        call(array, there, out, **library.options(stream))  # of which no caller keeps the result
        assert not busy.over()
        finish(index)
        np.testing.assert_array_equal(library.host(got), call.expected(host, chosen))


def test_dot_returns_while_its_stream_is_busy(torch, library, index):
    host = contents(4)[0]
    array, stream = library.array(host), library.stream()
    out = library.empty(np.dot(host, host))
    with library.inside(stream):
        for options in ({"out": out}, {"as_device": True}):
            gpureduce.dot(array, array, **options, **library.options(stream))
            finish(index)
            busy = Busy(torch, library, stream)
            got = gpureduce.dot(array, array, **options, **library.options(stream))
            assert not busy.over()
            finish(index)
            assert library.host(got) == np.dot(host, host)


def test_other_streams_do_not_wait(torch, another, index):
    """Neither the host nor the GPU: a result is there while another stream is still busy."""
    host = contents(5)
    array, stream, free = another.array(host), another.stream(), another.stream()
    with another.inside(free):
        another.host(gpureduce.sum(array, axis=1))  # what is taken once is taken now, theirs too
        gpureduce.sum(array)
    finish(index)
    busy = Busy(torch, another, stream)
    with another.inside(free):
        got = another.host(gpureduce.sum(array, axis=1))
        flat = gpureduce.sum(array)
        assert not busy.over()
    np.testing.assert_array_equal(got, host.sum(axis=1))
    assert flat == host.sum()


def test_results_are_used_at_once(torch, another, index):
    """In the stream of the call and in another, which waits for it on the device."""
    host = contents(6)
    stream, next_one = another.stream(), another.stream()
    for again in (False, True):  # the first time their memory comes from the driver, which waits
        with another.inside(stream):
            array = another.array(host)
            finish(index)
            busy = Busy(torch, another, stream)
            array *= -1
            result = gpureduce.sum(array, axis=0)
            here = another.taken(result) + 1
        with another.inside(next_one):
            there = another.taken(result) + 2
            assert not (again and busy.over())
        del result, array
        gc.collect()
        finish(index)
        np.testing.assert_array_equal(another.host(here), 1 - host.sum(axis=0))
        np.testing.assert_array_equal(another.host(there), 2 - host.sum(axis=0))


def test_results_used_in_further_streams(torch, another, index):
    """PyTorch's record_stream knows only memory of PyTorch's own; ours is not reused before it is read."""
    host = contents(8)
    stream, reader = another.stream(), another.stream()
    with another.inside(stream):
        array, double = another.array(host), another.array(2 * host)
        finish(index)
    for again in range(4):  # the first time memory comes from the driver, which waits
        with another.inside(stream):
            taken = another.taken(gpureduce.sum(array, axis=0))
            finish(index)
        with another.inside(reader):
            busy = Busy(torch, another, reader)
            if isinstance(another, Torch):
                taken.record_stream(reader)
            copied = taken + 1
        del taken
        with another.inside(stream):
            overwriting = [gpureduce.sum(double, axis=0) for _ in range(4)]
        assert not (again and busy.over())
        finish(index)
        np.testing.assert_array_equal(another.host(copied), host.sum(axis=0) + 1)
        np.testing.assert_array_equal(overwriting[-1].numpy(), 2 * host.sum(axis=0))


def test_results_for_those_who_work_elsewhere(torch, another, index):
    """The other array's stream is ordered with the call's, both ways, and no thread waits on the host."""
    host = contents(7)
    theirs = CuPy(index) if isinstance(another, Torch) else Torch(index)
    out = theirs.empty(host.sum(axis=1))
    array, stream, their_stream = another.array(host), another.stream(), theirs.stream()
    with another.inside(stream), theirs.inside(their_stream):
        gpureduce.sum(array, axis=1, out=out)
        seen = out + 1
        finish(index)
        busy = Busy(torch, another, stream)
        gpureduce.sum(array, axis=1, out=out)
        seen = out + 1
        assert not busy.over()
        finish(index)
    np.testing.assert_array_equal(theirs.host(seen), host.sum(axis=1) + 1)


def test_jax(index, device):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    try:
        place = jax.devices("gpu")[index]
    except RuntimeError as error:
        pytest.skip(f"JAX has no GPU: {error}")
    host = contents(8)
    twice = jax.jit(lambda x: x * 2)
    for axis in (None, 0, 1):
        array = twice(jax.device_put(host, place))
        got = gpureduce.sum(array, axis=axis, as_device=True)
        theirs = twice(jax.dlpack.from_dlpack(got))
        np.testing.assert_array_equal(np.asarray(theirs), 4 * host.sum(axis=axis))


def test_stream_objects(torch, another, index):
    """`stream=` takes what the libraries have for a stream, and keeps it while the result lives."""
    host = contents(9)
    ours = gpureduce.to_device(host, f"cuda:{index}")
    finish(index)
    for make in (another.stream, another.default):
        stream = make()
        results = [gpureduce.sum(ours, axis=0, stream=stream) for _ in range(3)]
        del stream
        gc.collect()
        for result in results:
            np.testing.assert_array_equal(result.numpy(), host.sum(axis=0))
    handle = CuPy(index).stream()
    np.testing.assert_array_equal(gpureduce.sum(ours, axis=0, stream=handle.ptr).numpy(), host.sum(axis=0))


# Graphs


@pytest.mark.parametrize("call", EVERY, ids=str)
def test_calls_are_captured_and_replayed(library, call, index):
    array, there = library.array(contents(0, call.op)), library.array(mask(0))
    out = library.empty(call.expected(contents(0, call.op), mask(0)))
    stream = library.stream()
    finish(index)
    with library.capture(stream) as replay:
        got = call(array, there, out, **library.options(stream))
        again = call(array, there, out, **library.options(stream))
    for seed in (1, 2):
        library.write(array, contents(seed, call.op))
        library.write(there, mask(seed))
        finish(index)
        replay[0]()
        finish(index)
        expected = call.expected(contents(seed, call.op), mask(seed))
        for result in (got, again):
            np.testing.assert_array_equal(library.host(result), expected)


@pytest.mark.parametrize("out", [False, True])
def test_dot_is_captured_and_replayed(library, out, index):
    first, second, stream = library.array(contents(0)[0]), library.array(contents(1)[1]), library.stream()
    place = library.empty(np.int32(0))
    finish(index)
    with library.capture(stream) as replay:
        options = {"out": place} if out else {"as_device": True}
        got = gpureduce.dot(first, second, **options, **library.options(stream))
    for seed in (1, 2):
        library.write(first, contents(seed)[3])
        library.write(second, contents(seed)[5])
        finish(index)
        replay[0]()
        finish(index)
        assert library.host(got) == np.dot(contents(seed)[3], contents(seed)[5])


def test_results_for_the_host_leave_the_capture_intact(library, index):
    array, stream = library.array(contents(0)), library.stream()
    place = np.zeros(SHAPE[1], np.int64)
    options = library.options(stream)
    finish(index)
    with library.capture(stream) as replay:
        for given in ({}, {"axis": 0, "as_device": False}, {"axis": 0, "out": place}):
            with pytest.raises(ValueError, match="stream: a result for the host cannot be captured"):
                gpureduce.sum(array, **given, **options)
        got = gpureduce.sum(array, as_device=True, **options)
    library.write(array, contents(1))
    finish(index)
    replay[0]()
    finish(index)
    assert library.host(got) == contents(1).sum() and not place.any()


def test_arrays_of_the_host_leave_the_capture_intact(index):
    library = Ours(index)
    array, stream = library.array(contents(0)), library.stream()
    finish(index)
    with library.capture(stream) as replay:
        with pytest.raises(ValueError, match="captured"):
            gpureduce.sum(contents(0), axis=0, as_device=True, device=f"cuda:{index}", stream=stream)
        got = gpureduce.sum(array, as_device=True, stream=stream)
    library.write(array, contents(1))
    finish(index)
    replay[0]()
    finish(index)
    assert library.host(got) == contents(1).sum()


def test_a_graph_keeps_what_it_writes_to(another, index):
    """Results without another owner are there for the graph, and those of a graph that is gone for us."""
    array, stream = another.array(contents(0)), another.stream()
    with another.inside(stream):
        another.array(contents(0).sum(axis=0)) + 1  # their pool has such memory for this stream now
    finish(index)
    with another.capture(stream) as replay:
        kept = gpureduce.sum(array, axis=1)
        dropped = gpureduce.sum(array, axis=0)
        copy = another.taken(dropped) + 1
        del dropped
    gc.collect()
    gpureduce.free_memory()
    fillers = [another.array(np.full(SHAPE[1], 99, np.int64)) for _ in range(50)]
    others = [gpureduce.max(array, axis=axis) for axis in (0, 1) * 50]
    finish(index)
    replay[0]()
    finish(index)
    np.testing.assert_array_equal(another.host(copy), contents(0).sum(axis=0) + 1)
    for filler, result in zip(fillers, others, strict=False):
        assert (another.host(filler) == 99).all()
        assert result.numpy()[0] == contents(0).max(axis=0 if result.size == SHAPE[1] else 1)[0]
    replay.clear()
    gc.collect()
    np.testing.assert_array_equal(another.host(kept), contents(0).sum(axis=1))


def test_graphs_and_calls_beside_them(another, index):
    """A graph is replayed in one stream while calls like those in it are made in another."""
    array, ours = another.array(contents(0)), another.array(contents(1))
    stream, aside = another.stream(), another.stream()
    finish(index)
    with another.capture(stream) as replay:
        captured = [gpureduce.sum(array, axis=axis, as_device=True) for axis in (None, 0, 1)]
    for _ in range(200):
        replay[0]()
        with another.inside(aside):
            called = [gpureduce.sum(ours, axis=axis, as_device=True) for axis in (None, 0, 1)]
    finish(index)
    for axis, one, other in zip((None, 0, 1), captured, called, strict=True):
        np.testing.assert_array_equal(another.host(one), contents(0).sum(axis=axis))
        np.testing.assert_array_equal(another.host(other), contents(1).sum(axis=axis))


def test_first_use_in_a_capture():
    """Whatever a call loads or allocates when it is the first one, it does not break the capture."""
    done = python(
        """
        import torch, gpureduce
        x = torch.arange(4096.0, device="cuda").reshape(64, 64)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            flat = gpureduce.max(x, as_device=True)
            place = gpureduce.argmin(x, axis=0)
            total = gpureduce.sum(x, axis=1)
        x.neg_()
        graph.replay()
        torch.cuda.synchronize()
        assert float(torch.from_dlpack(flat)) == 0.0
        assert (torch.from_dlpack(place) == 63).all()
        assert torch.equal(torch.from_dlpack(total), x.sum(1))
        """
    )
    assert done.returncode == 0, done.stderr


# Many at once


def test_many_threads_and_streams(library, index, thin):
    """8 threads, each with a stream of its own, 10^4 calls in all, memory that is reused: all are right."""
    threads, calls = 8, 200 if thin else 1250
    shared = library.array(contents(0))
    expected = contents(0)
    finish(index)
    lock = threading.Lock()

    def work(number):
        stream, wrong, pending = library.stream(), [], []
        options = library.options(stream)
        kinds = itertools.cycle(
            (
                (Call("sum", 1), expected.sum(axis=1)),
                (Call("max", 0), expected.max(axis=0)),
                (Call("sum", None), expected.sum()),
                (Call("argmax", 1), expected.argmax(axis=1)),
                (Call("sum", 0, out=True), expected.sum(axis=0)),
                (Call("mean", None, where=True), expected.mean(where=mask(0))),
            )
        )
        with lock:
            there = library.array(mask(0))
        with library.inside(stream):
            for made in range(calls):
                call, right = next(kinds)
                out = library.empty(right) if call.out else None
                pending.append((call(shared, there, out, **options), right))
                if made % 3 == 0:
                    pending.pop(0)  # freed while its copy may be pending
                if len(pending) > 40:
                    got, right = pending.pop(len(pending) // 2)
                    if not np.array_equal(library.host(got), right):
                        wrong.append(made)
            wrong += [right for got, right in pending if not np.array_equal(library.host(got), right)]
        assert not wrong

    together(work, threads)


def test_threads_that_capture(another, index):
    """Captures of several threads at once, which keep to themselves, next to threads that only call."""
    array = another.array(contents(0))
    finish(index)
    guard = threading.Lock()

    def work(number):
        stream = another.stream()
        for _ in range(20):
            if number % 2:
                with another.inside(stream):
                    got = gpureduce.sum(array, axis=1)
            elif isinstance(another, CuPy):
                with stream:
                    stream.begin_capture(another.cupy.cuda.runtime.streamCaptureModeThreadLocal)
                    got = gpureduce.sum(array, axis=1)
                    graph = stream.end_capture()
                    graph.launch(stream)
            else:
                torch, graph = another.torch, another.torch.cuda.CUDAGraph()
                with guard, torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
                    got = gpureduce.sum(array, axis=1)
                with torch.cuda.stream(stream):
                    graph.replay()
            stream.synchronize()
            assert np.array_equal(another.host(got), contents(0).sum(axis=1))

    together(work, 6)
