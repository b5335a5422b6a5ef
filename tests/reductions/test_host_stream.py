"""Whole host arrays that go to the device chunk by chunk, and the short way for small ones."""

import math
import re
import sys
import threading
import types

import numpy as np
import pytest

import gpureduce
from tests.support import numpy_oracle as oracle
from tests.support.children import interrupted, python
from tests.support.like_numpy import around_one, assert_like_numpy, numbers
from tests.support.sanitized import forks_beside_threads, leaves_a_call_unfinished
from tests.support.thread_count import has_at_most, settled_thread_count, thread_count

PLACES = 8  # of the ring


@pytest.fixture
def chunk(monkeypatch, on_gpu):
    """Bytes of a chunk, so few that small arrays have many."""
    size = 65536 if on_gpu else 1024
    monkeypatch.setenv("GPUREDUCE_CHUNK_BYTES", str(size))
    yield size
    gpureduce.free_memory()


@pytest.fixture
def least(chunk, on_gpu):
    """Chunks from which on arrays go in steps: smaller ones are read by the kernel where they are."""
    return 5 if on_gpu else 2


def lengths(chunk, itemsize, least):
    """Numbers of elements around whole numbers of chunks, and around the ends of the ring."""
    whole = chunk // itemsize
    counts = (least, PLACES, PLACES + 1, 2 * PLACES + 1)
    return [count * whole + more for count in counts for more in (-1, 0, 1)]


def whole_numbers(n, dtype):
    """Both signs, no zeros; their sums are exact, and a lost or doubled chunk shows."""
    values = np.arange(n) * 7919 % 23 - 11
    return np.where(values == 0, 12, values).astype(dtype)


class Steps:
    """A progress callback that remembers."""

    def __init__(self):
        self.calls = []

    def __call__(self, done, total):
        self.calls.append((done, total))


def streamed(function, *operands, **arguments):
    """The result of a call that has to go in steps."""
    steps = Steps()
    result = function(*operands, progress=steps, **arguments)
    total = sum(operand.nbytes for operand in operands)
    assert steps.calls and steps.calls[-1] == (total, total)
    done = [done for done, _ in steps.calls]
    assert (
        done == sorted(done)
        and done.count(total) == 1
        and all(all_bytes == total for _, all_bytes in steps.calls)
    )
    return result


@pytest.mark.core
@pytest.mark.parametrize("dtype", ["int8", "int32", "float32", "float64", "complex128"])
def test_sizes_around_chunks(dtype, chunk, least, device):
    for n in lengths(chunk, np.dtype(dtype).itemsize, least):
        array = whole_numbers(n, dtype)
        exact = int(whole_numbers(n, "int64").sum())
        if n * array.itemsize <= (least - 1) * chunk:
            assert gpureduce.sum(array, device=device) == exact, n
        else:
            assert streamed(gpureduce.sum, array, device=device) == exact, n
            assert gpureduce.sum(array, device=device) == exact, n


@pytest.mark.parametrize("dtype", oracle.DTYPES)
@pytest.mark.parametrize("op", oracle.OPS)
def test_every_operator(op, dtype, chunk, least, device):
    n = (2 * PLACES + 1) * chunk // oracle.dtype_of(dtype).itemsize + 3
    if op in oracle.BITWISE and np.dtype(oracle.dtype_of(dtype)).kind not in "biu":
        pytest.skip("bitwise operators take integers")
    array = (around_one if op == "prod" else numbers)(dtype, n, seed=3)
    if dtype == "float16":
        array /= np.float16(256)  # exact, and sums of that many stay in its range

    def on(name, operand, **arguments):
        return streamed(getattr(gpureduce, name), operand, device=device, **arguments)

    assert_like_numpy(on, op, array)


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex64"])
def test_dot(dtype, chunk, least, device):
    for n in lengths(chunk, 2 * np.dtype(dtype).itemsize, least + 1):
        a, b = whole_numbers(n, dtype), whole_numbers(n + 5, dtype)[5:]
        exact = int((whole_numbers(n, "int64") * whole_numbers(n + 5, "int64")[5:]).sum())
        assert streamed(gpureduce.dot, a, b, device=device) == exact


@pytest.mark.parametrize("op", ["argmin", "argmax"])
def test_positions_are_those_of_the_whole_array(op, chunk, device):
    each = chunk // 4
    for first in range(0, 10 * each, each):
        for place in (first, first + each - 1):
            array = whole_numbers(10 * each + 1, "float32")
            array[place:] = np.where(np.arange(place, array.size) % 3 == 0, 0, array[place:])
            array[place] = array[-1] = 99 if op == "argmax" else -99  # the first of equals wins
            assert gpureduce.reduce(array, op, device=device) == place
            array[place] = np.nan
            assert gpureduce.reduce(array, op, device=device) == place


def test_initial_out_and_mean(chunk, device):
    n = 11 * chunk // 4 + 7
    array = whole_numbers(n, "float32")
    exact = int(whole_numbers(n, "int64").sum())
    assert streamed(gpureduce.sum, array, device=device, initial=1000) == exact + 1000
    assert streamed(gpureduce.max, array, device=device, initial=77) == 77
    assert streamed(gpureduce.mean, array, device=device) == np.float32(exact / n)
    place = gpureduce.to_device(np.zeros((), np.float32), device=device)
    assert streamed(gpureduce.sum, array, device=device, out=place) is place
    assert place.numpy() == exact
    held = np.zeros((1,), np.int64)
    gpureduce.sum(array, device=device, out=held, keepdims=True)  # adds up in float64, so casts before
    assert held[0] == exact
    assert streamed(gpureduce.sum, array.astype(np.int16), device=device) == exact


def test_layouts(chunk, tmp_path, device):
    n = 12 * chunk // 4
    values = whole_numbers(n, "float32")
    exact = int(whole_numbers(n, "int64").sum())
    square = values.reshape(12, -1)
    assert streamed(gpureduce.sum, square, device=device) == exact
    assert streamed(gpureduce.sum, np.asfortranarray(square), device=device) == exact
    frozen = values.copy()
    frozen.setflags(write=False)
    assert streamed(gpureduce.sum, frozen, device=device) == exact
    path = tmp_path / "values"
    values.tofile(path)
    mapped = np.memmap(path, np.float32, "r")
    assert streamed(gpureduce.sum, mapped, device=device) == exact
    assert gpureduce.argmax(np.asfortranarray(square), device=device) == square.argmax()
    # What the kernels cannot read in place is copied first.
    unaligned = np.frombuffer(b"x" + values.tobytes(), np.uint8)[1:].view(np.float32)
    for other in (unaligned, values.astype(">f4")):
        assert gpureduce.sum(other, device=device) == exact
    assert gpureduce.sum(np.repeat(values, 2)[::2], device=device) == exact
    assert gpureduce.sum(values[::-1], device=device) == exact
    # An address that is aligned to elements only: the result is that of any other.
    shifted = np.concatenate([values[:1], values])[1:]
    assert gpureduce.mean(shifted, device=device) == gpureduce.mean(values, device=device)


def test_the_result_depends_on_the_elements_only(chunk, device):
    """Rounding follows the order of the elements, not the state of the ring or the address."""
    array = np.random.default_rng(5).normal(size=21 * chunk // 8 + 5)
    results = set()
    for shift in range(3):
        moved = np.concatenate([np.zeros(shift), array])[shift:]
        results.add(gpureduce.sum(moved, device=device).tobytes())
        gpureduce.sum(array[: array.size - 3 * chunk // 8 * (shift + 1)], device=device)
        gpureduce.free_memory()
    assert len(results) == 1


@pytest.mark.core
def test_many_threads(chunk, device):
    arrays = [whole_numbers(9 * chunk // 4 + 100 * i, "float32") for i in range(6)]
    wrong = []

    def work(i):
        for array in arrays[i:] + arrays[:i]:
            result = gpureduce.sum(array, device=device)
            if result != array.astype(np.int64).sum():
                wrong.append((i, array.size, result))
            if i == 0:
                gpureduce.free_memory()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(arrays))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_free_memory(chunk, device):
    array = whole_numbers(9 * chunk // 4, "float32")
    gpureduce.free_memory()
    before = settled_thread_count()
    for _ in range(3):
        assert gpureduce.sum(array, device=device) == array.astype(np.int64).sum()
    assert thread_count() > before  # the copy threads wait for the next call
    assert gpureduce.free_memory() is None
    assert has_at_most(before)
    gpureduce.free_memory()
    assert gpureduce.sum(array, device=device) == array.astype(np.int64).sum()


# Progress


def test_a_callback_may_stop_the_call(chunk, device):
    array = whole_numbers(9 * chunk // 4, "float32")

    class Enough(Exception):
        pass

    def stop(done, total):
        raise Enough(done)

    with pytest.raises(Enough):
        gpureduce.sum(array, progress=stop, device=device)
    assert streamed(gpureduce.sum, array, device=device) == array.astype(np.int64).sum()


def test_a_callback_may_reduce(chunk, device):
    array = whole_numbers(9 * chunk // 4, "float32")
    inner = []
    gpureduce.sum(array, progress=lambda *_: inner.append(gpureduce.max(array, device=device)), device=device)
    assert inner == [12]


def test_calls_that_go_at_once_do_not_report(chunk, device):
    array = whole_numbers(30 * chunk // 4, "float32").reshape(30, -1)

    def never(done, total):
        raise AssertionError

    assert gpureduce.sum(array[:1, :9], progress=never, device=device) == array[0, :9].sum()
    assert gpureduce.sum(array, axis=0, progress=never, device=device).shape == array.shape[1:]
    with pytest.raises(ValueError, match="progress: v7 copies the array in one piece"):
        gpureduce.sum(array, variant="v7", progress=never, device=device)
    assert gpureduce.sum(array, variant="v7", progress=False, device=device) == array.sum()
    there = gpureduce.to_device(array, device=device)
    assert gpureduce.sum(there, progress=never) == array.sum()


def test_progress_bar(chunk, device, monkeypatch):
    bars = []

    class Bar:
        def __init__(self, total, **_):
            self.total, self.n, self.closed = total, 0, False
            bars.append(self)

        def update(self, more):
            self.n += more

        def close(self):
            self.closed = True

    module = types.ModuleType("tqdm.auto")
    module.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    array = whole_numbers(9 * chunk // 4, "float32")
    gpureduce.sum(array, progress=True, device=device)
    assert [(bar.n, bar.total, bar.closed) for bar in bars] == [(array.nbytes, array.nbytes, True)]
    gpureduce.sum(array[:5], progress=True, device=device)
    assert len(bars) == 1
    for wrong in (3, "bar"):
        with pytest.raises(TypeError, match="progress"):
            gpureduce.sum(array, progress=wrong, device=device)
    assert gpureduce.sum(array, progress=False, device=device) == array.astype(np.int64).sum()


def test_progress_without_tqdm(chunk, device, monkeypatch, capsys):
    """A line of our own: it grows, ends full, and is left at the end."""
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    array = whole_numbers(9 * chunk // 4, "float32")
    assert gpureduce.sum(array[:5], progress=True, device=device) == array[:5].sum()
    assert capsys.readouterr() == ("", "")
    assert gpureduce.sum(array, progress=True, device=device) == array.astype(np.int64).sum()
    out, text = capsys.readouterr()
    start, *shown = text.removesuffix("\n").split("\r")
    assert out == start == "" and text.endswith("\n")
    assert all(re.fullmatch(r"\[#*\.*\] +\d+% of [\d,]+\.\d MB", line) for line in shown)
    parts = [int(re.search(r"(\d+)%", line)[1]) for line in shown]
    assert parts == sorted(parts) and parts[-1] == 100 and shown[-1].count("#") == 30


# Interruption, processes

INTERRUPTED = """
    import signal, sys, time
    import numpy as np, gpureduce
    signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored
    device, n = sys.argv[1], int(sys.argv[2])
    array, small = np.ones(n, np.float32), np.arange(10000.0)
    assert gpureduce.sum(small, device=device) == 49995000
    print("ready", flush=True)
    try:
        gpureduce.sum(array, device=device)
        print("finished")
    except KeyboardInterrupt:
        print("interrupted", time.time(), gpureduce.sum(array[: n // 64], device=device) == n // 64)
"""


def test_ctrl_c(chunk, device, on_gpu):
    """A stream of tiny chunks, which takes some seconds, ends soon after Ctrl-C; the next one is right."""
    n = 2**30 if on_gpu else 2**24
    bytes_each = "4096" if on_gpu else "256"
    options = {"after": 0.3, "within": 2.0, "GPUREDUCE_CHUNK_BYTES": bytes_each}
    assert interrupted(INTERRUPTED, device, str(n), **options) == "True"


@forks_beside_threads
def test_a_forked_child_streams_on_the_simulator():
    done = python(
        """
        import os
        import gpureduce, numpy as np
        array = np.arange(20000) % 7 + 1
        def right():
            return gpureduce.sum(array, device="sim") == array.sum()
        assert right()
        child = os.fork()
        if child == 0:
            ok = right() and right()
            gpureduce.free_memory()
            os._exit(0 if ok and right() else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), right())
        """,
        GPUREDUCE_CHUNK_BYTES="4096",
    )
    assert done.stdout.split() == ["0", "True"], done.stderr


@forks_beside_threads
@leaves_a_call_unfinished
def test_exit_frees_everything(device):
    """At the end of the interpreter, with another call still running and a forked child that ends."""
    done = python(
        f"""
        import os, sys, threading, time
        import gpureduce, numpy as np
        array = np.ones(2**20, np.float32)
        assert gpureduce.sum(array[:5000], device={device!r}) == 5000
        if os.fork() == 0:
            sys.exit(0)
        os.wait()
        threading.Thread(
            target=lambda: [gpureduce.sum(array, device={device!r}) for _ in range(1000)], daemon=True
        ).start()
        time.sleep(0.1)
        print("leaving", flush=True)
        """,
        GPUREDUCE_CHUNK_BYTES="4096",
    )
    assert done.returncode == 0 and done.stdout.split() == ["leaving"], (done.returncode, done.stderr)


# The short way


@pytest.mark.core
@pytest.mark.parametrize("dtype", oracle.DTYPES)
def test_the_short_way_gives_what_the_long_way_gives(dtype, device):
    for n in (1, 2, 33, 1000, 4099):
        array = (around_one if n < 100 else numbers)(dtype, n, seed=n)
        there = gpureduce.to_device(array, device=device)
        for op in oracle.OPS:
            if op in oracle.BITWISE and array.dtype.kind not in "biu":
                continue
            function = getattr(gpureduce, op)
            wanted = function(array, axis=None, device=device)
            for got in (function(array, device=device), function(there), function(there, axis=None)):
                assert type(got) is type(wanted), op
                assert got.dtype == wanted.dtype and got.tobytes() == wanted.tobytes(), op


def test_the_short_way_leaves_the_rest_to_the_long_one(device):
    matrix = numbers("int32", (7, 9))
    assert gpureduce.sum(matrix[:, ::2], device=device) == matrix[:, ::2].sum()
    assert gpureduce.argmax(np.asfortranarray(matrix), device=device) == matrix.argmax()
    assert gpureduce.sum(np.asmatrix(matrix), device=device) == matrix.sum()
    assert gpureduce.sum([1, 2], device=device) == 3 and gpureduce.sum(2.5, device=device) == 2.5
    assert gpureduce.sum(np.float32(3), device=device) == 3
    assert gpureduce.sum(np.array(4.0), device=device) == 4
    assert gpureduce.sum(a=matrix, device=device) == matrix.sum()
    with pytest.raises(ValueError, match="identity"):
        gpureduce.max(np.empty(0), device=device)
    with pytest.raises(TypeError, match="not supported"):
        gpureduce.sum(np.array(["a"]), device=device)
    with pytest.raises(TypeError, match="bitwise_or"):
        gpureduce.bitwise_or(np.ones(3), device=device)
    with pytest.raises(TypeError, match="masked"):
        gpureduce.sum(np.ma.masked_array([1, 2], [True, False]), device=device)
    with pytest.raises(ValueError, match="device"):
        gpureduce.sum(matrix, device="nowhere")
    with pytest.raises(TypeError, match=r"sum\(\)"):
        gpureduce.sum()
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        assert math.isnan(gpureduce.mean(np.empty(0), device=device))


def test_small_calls_from_many_threads(device):
    arrays = [whole_numbers(50 + 11 * i, "int16") for i in range(8)]
    wrong = []

    def work(array):
        exact = array.astype(np.int64).sum()
        wrong.extend(n for n in range(50) if gpureduce.sum(array, device=device) != exact)

    threads = [threading.Thread(target=work, args=(array,)) for array in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.gpu
def test_results_that_look_unwritten(device):
    """A result may be what the memory for it holds before it is there."""
    for dtype in ("int8", "uint16", "int32", "uint64"):
        item = np.dtype(dtype).itemsize
        pattern = np.frombuffer(b"\xa5" * item, dtype)
        for _ in range(3):
            assert gpureduce.max(pattern, device=device) == pattern[0]
    twin = np.frombuffer(b"\xa5" * 4 + b"\0" * 4, np.complex64)
    assert gpureduce.sum(twin, device=device) == twin[0]


# Pinned memory, on a GPU


@pytest.fixture
def pinned(on_gpu):
    """Makes a NumPy array in pinned memory."""
    if not on_gpu:
        pytest.skip("needs --device=cuda")
    torch = pytest.importorskip("torch")

    def make(host):
        memory = torch.empty(host.nbytes, dtype=torch.uint8, pin_memory=True).numpy().view(host.dtype)
        memory[:] = host
        return memory

    return make


@pytest.mark.gpu
@pytest.mark.parametrize("n", [1, 1000, 65536, 65537, 10**6, 5 * 2**20 + 3])
def test_pinned_arrays(n, pinned, device):
    for dtype in ("float32", "int16"):
        host = numbers(dtype, n + 3, seed=n)
        array = pinned(host)
        for begin in range(3):  # of any alignment, with the bits of pageable memory
            for op in ("sum", "argmax", "mean"):
                function = getattr(gpureduce, op)
                got, wanted = (function(x[begin : begin + n], device=device) for x in (array, host))
                assert got.tobytes() == wanted.tobytes(), (op, begin)
        for left, right in ((array, array), (array, host), (host, array)):
            assert gpureduce.dot(left, right, device=device) == gpureduce.dot(host, host, device=device)


@pytest.mark.gpu
def test_pinned_memory_is_read_after_work_in_the_default_stream(pinned, device):
    """As any copy would: the array is what an earlier copy into it leaves there."""
    torch = pytest.importorskip("torch")
    for n in (1000, 2**22):
        target = torch.zeros(n, pin_memory=True)
        source = torch.ones(n, device=device)
        for _ in range(3):
            target.zero_()
            torch.cuda._sleep(20_000_000)
            target.copy_(source, non_blocking=True)
            assert gpureduce.sum(target.numpy(), device=device) == n
