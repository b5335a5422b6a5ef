"""Calls of every entry point, successful and failing, keep no memory, no object and no reference.

pytest tests/robustness/test_leaks.py --leak-calls=100000 --timeout=0      (under an hour)
"""

import ctypes
import gc
import sys
import time
from pathlib import Path

import pytest

import gpureduce
from tests.support import every_call
from tests.support.interpreter import FREE_THREADED
from tests.support.sanitized import UNDER_ASAN
from tests.support.thread_count import has_at_most, thread_count

pytestmark = [
    pytest.mark.core,
    pytest.mark.filterwarnings("ignore::gpureduce.SimulatorWarning"),
    pytest.mark.filterwarnings("ignore:Mean of empty slice"),
]

SLOW = (  # a third of the calls
    "custom anew", "custom does not compile", "firsts on a profile", "label_order on a profile",
    "order on a profile", "player", "profile", "profile as text", "profile of an exact rung", "profile_scan",
    "profile_segments", "scan on a profile", "segments on a profile", "timeline", "topk of many",
)  # fmt: skip
PAGE = 4096


class Mallinfo2(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )


def heap_bytes():
    """Bytes that malloc has given out; 0 where the C library does not say."""
    mallinfo2 = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo2 is None:
        return 0
    mallinfo2.restype = Mallinfo2
    info = mallinfo2()
    return info.uordblks + info.hblkhd


def heaps():
    """How many heaps malloc has made: glibc adds one where more threads than ever run at once."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "malloc_info"):
        return 1
    text, size = ctypes.c_char_p(), ctypes.c_size_t()
    libc.open_memstream.restype = ctypes.c_void_p
    stream = ctypes.c_void_p(libc.open_memstream(ctypes.byref(text), ctypes.byref(size)))
    libc.malloc_info(0, stream)
    libc.fclose(stream)
    count = text.value.count(b"<heap ")
    libc.free(text)
    return count


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def state():
    """What has to stay flat: Python's blocks, objects and references, the heap, the simulator's memory."""
    gc.collect()
    # CPython remembers where attributes were found, by the address of their name: up to 4096 strings.
    getattr(sys, "_clear_type_cache", lambda: None)()
    references = getattr(sys, "gettotalrefcount", lambda: 0)()
    return {
        "blocks": sys.getallocatedblocks(),
        "objects": len(gc.get_objects()),
        "references": references,
        "heap bytes": 0 if UNDER_ASAN else heap_bytes(),  # it keeps freed memory on purpose
        "device bytes": -every_call.simulated_bytes_left(),
    }


# What a round of calls may leave behind whatever their number: caches that fill, arenas, a thread's tcache.
ROOM = {"blocks": 20, "objects": 10, "references": 20, "heap bytes": 2048, "device bytes": 0}
A_HEAP = 3072  # bytes that a new heap takes for itself and the first thread in it (2,256 + 656 in glibc 2.36)


def reference_counts():
    return [sys.getrefcount(thing) for thing in every_call.watched]


def growth(call, times):
    """What `times` calls left behind, beyond what any number of them may."""
    first, before, heaps_before = state(), state(), heaps()
    for _ in range(times):
        call()
    after, new_heaps = state(), heaps() - heaps_before
    # Looking leaves something, too: in a free-threaded Python, after threads that ended, more than ROOM.
    grown = {key: after[key] - before[key] - max(before[key] - first[key], 0) for key in before}
    grown["heap bytes"] -= A_HEAP * new_heaps
    return {key: more for key, more in grown.items() if more > ROOM[key]}


@pytest.fixture(scope="module", autouse=True)
def kept_kernels(tmp_path_factory):
    """A folder of compiled kernels for this file alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUREDUCE_CACHE_DIR", str(tmp_path_factory.mktemp("kernels")))
        yield


@pytest.fixture(scope="module", autouse=True)
def only_new_objects():
    """Collections and counts pass over what there was before, in a long run most of a million objects."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setenv("GPUREDUCE_CHUNK_BYTES", "1024")
    yield
    gpureduce.free_memory()


def calls_of(pytestconfig, name):
    calls = pytestconfig.getoption("leak_calls") // (3 if UNDER_ASAN else 1)
    # More calls than ROOM has blocks; unless they are slow, 32 bytes of each, malloc's least, exceed it, too.
    return calls // 3 if name in SLOW else calls


@pytest.mark.parametrize("name", every_call.CALLS)
def test_a_call_keeps_nothing(name, small_chunks, pytestconfig):
    times = calls_of(pytestconfig, name)

    def call():
        every_call.outcome(name)

    for _ in range(5):
        call()
    left = references = counts = None
    for _ in range(5):  # what leaks leaks each time
        gc.collect()  # garbage of other tests holds dtypes, too
        references = reference_counts()
        left = growth(call, times)
        if FREE_THREADED and name.startswith("dlpack"):
            left.pop("blocks", None)  # ctypes of 3.13t, which makes the tensors, keeps one with each
        counts = reference_counts()
        if not left and counts == references:
            break
    assert not left, f"{times} calls"
    assert counts == references


def test_the_process_stays_as_large_as_it_was(small_chunks, pytestconfig):
    """All calls in turn, for what counts of one call would not show: fragments, threads, mappings."""

    def all_calls(rounds):
        for _ in range(rounds):
            for name in every_call.CALLS:
                if name not in SLOW:
                    every_call.outcome(name)
        gc.collect()

    rounds = max(pytestconfig.getoption("leak_calls") // 20, 3)
    all_calls(rounds)
    threads, began = thread_count(), time.monotonic()
    # A leak grows with each round. Fragments that other tests left in the heap do not, and a GPU's driver has
    # all it needs after some 40 rounds. AddressSanitizer delays each free, so its process grows anyway.
    for _ in range(1 if UNDER_ASAN else 8):
        before = resident_bytes()
        all_calls(rounds)
        grown = resident_bytes() - before
        if grown < 2**20:
            break
    assert has_at_most(threads)
    assert UNDER_ASAN or grown < 2**20, f"{grown} bytes in {time.monotonic() - began:.0f} s"


def test_a_leak_would_be_seen():
    """Of one object, of sixteen bytes of the heap and of a byte on the device, with each call."""
    kept, malloc, addresses = [], ctypes.CDLL(None).malloc, []
    malloc.restype, malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
    assert "blocks" in growth(lambda: kept.append(object()), 100) or not sys.getallocatedblocks()
    assert "objects" in growth(lambda: kept.append([]), 100)
    assert "device bytes" in growth(
        lambda: addresses.append(gpureduce._core.device_alloc(gpureduce._core.SIM, 0, 1)), 100
    )
    if heap_bytes() and not UNDER_ASAN:
        assert "heap bytes" in growth(lambda: addresses.append(-malloc(24)), 300)
    for address in addresses:
        if address > 0:
            gpureduce._core.device_free(gpureduce._core.SIM, 0, address)
        else:
            ctypes.CDLL(None).free(ctypes.c_void_p(-address))
