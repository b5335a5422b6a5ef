"""Threads of calls over several devices: none starts, memory is short, signal handlers raise or fork."""

import _thread

import numpy as np
import pytest

import gpureduce
from gpureduce._states import sharded
from tests.support.children import python
from tests.support.exact_reference import exact_sum
from tests.support.sanitized import forks_beside_threads, not_under_asan

RNG = np.random.default_rng(4)
HOST = RNG.standard_normal(3000) * 2.0 ** RNG.integers(-40, 40, 3000)

# What the children below have: calls over several devices and their right results, of NumPy and of math.fsum.
CALLS = """
import math, os, random, signal, sys, threading, time
import numpy as np
import gpureduce
from gpureduce._states import sharded, threads

sharded._MAX_SHARD_BYTES = 2000  # several pieces a device
host = np.random.default_rng(4).standard_normal(3000)
first, *others = np.split(host, 3)
placed = [gpureduce.to_device(each, name) for each, name in zip(others, ("sim:1", "sim:2"))]
whole = gpureduce.Sharded([first, *placed])
calls = (
    lambda: gpureduce.sum(host, exact=True, device=["sim"] * 3) == math.fsum(host),
    lambda: gpureduce.max(host, device=["sim"] * 2) == host.max(),
    lambda: gpureduce.partial(whole, "argmin").result() == host.argmin(),
)

class Interrupted(Exception):
    pass
"""


def calls(devices):
    first, *others = np.split(HOST, 3)
    placed = [gpureduce.to_device(*each) for each in zip(others, devices[1:], strict=True)]
    return (
        (lambda: gpureduce.sum(HOST, exact=True, device=devices), exact_sum(HOST)),
        (lambda: gpureduce.argmax(HOST, device=devices[:2]), HOST.argmax()),
        (lambda: gpureduce.partial(gpureduce.Sharded([first, *placed]), "min").result(), HOST.min()),
    )


def refuse(*_):
    raise RuntimeError("can't start new thread")


def refuse_for_memory(*_):
    raise MemoryError


def end_at_once(*_):
    """Stand for a thread that has no memory for its first frame."""
    return 1


@pytest.mark.parametrize("start", [refuse, refuse_for_memory, end_at_once])
@pytest.mark.parametrize("started", [0, 1])
def test_calls_do_without_threads(start, started, monkeypatch):
    real, count = _thread.start_new_thread, []
    monkeypatch.setattr(sharded, "_MAX_SHARD_BYTES", 1000)
    all_calls = calls(["sim", "sim:1", "sim:2"])

    def some(*args):
        count.append(1)
        return real(*args) if len(count) <= started else start(*args)

    monkeypatch.setattr(_thread, "start_new_thread", some)
    for call, expected in all_calls:
        count.clear()
        assert call() == expected
        assert count


def test_a_failure_that_cannot_be_recorded(monkeypatch):
    """A thread that has no memory to record a failure leaves no result, and the caller says so."""
    monkeypatch.setattr(sharded.build, "build_state", lambda *_, **options: None)
    with pytest.raises(MemoryError, match="no host memory"):
        gpureduce.sum(HOST, device=["sim", "sim:1"])


@not_under_asan("its shadow memory is beyond any limit")
def test_short_of_memory():
    """Whatever is left for threads and their calls: a right result or a MemoryError."""
    done = python(
        CALLS
        + """
import resource
assert all(call() for call in calls)
ends = {True: 0, False: 0}
def used():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
for step in range(40):
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used() + step * (3 << 17), before[1]))
    try:
        right = calls[step % 3]()
        assert right
    except MemoryError:
        right = False
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    ends[right] += 1
assert all(call() for call in calls)
assert ends[True] > 10, ends
print("done")
"""
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@pytest.mark.parametrize("number", [0, 2])
def test_an_exception_at_any_instruction(number):
    """A signal handler may raise after any instruction of the caller; the next call is right."""
    done = python(
        CALLS
        + f"""
call = calls[{number}]
call()
threads._STOP_SECONDS = 0.01
seen = raise_at = 0
def trace(frame, event, _):
    global seen
    name = frame.f_globals.get("__name__")
    ours = ("gpureduce._states.threads", "threading")
    if name not in ours and frame.f_code.co_name not in ("take", "work"):
        return None
    frame.f_trace_opcodes = True
    if event == "opcode":
        seen += 1
        if seen == raise_at:
            raise Interrupted
    return trace
sys.settrace(trace)  # Python 3.12 reports no opcodes of a frame's first run
call()
sys.settrace(None)
raised = 0
while True:
    seen, raise_at = 0, raise_at + 1
    try:
        sys.settrace(trace)
        right = call()
        sys.settrace(None)
        assert right
        if seen < raise_at:
            break
    except Interrupted:
        raised += 1
    if raise_at % 20 == 0:
        assert call()
assert raised > 100, raised
print("done")
"""
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert "lock" not in done.stderr, done.stderr


ALARMS = """
armed, children, codes, me, seconds = False, [], set(), os.getpid(), []
for call in calls:
    assert call()  # kernels are loaded now
    begun = time.perf_counter()
    assert call()
    seconds.append(time.perf_counter() - begun)

def handler(*_):
    global armed
    if armed:
        armed = False
        act()
signal.signal(signal.SIGALRM, handler)

def rounds(count):
    global armed
    rng, hits = random.Random(7), 0
    for number in (rng.randrange(len(calls)) for _ in range(count)):
        try:
            armed = True
            signal.setitimer(signal.ITIMER_REAL, max(1e-6, rng.uniform(0, seconds[number])))
            right = calls[number]()
            armed = False
            assert right
        except Interrupted:
            hits += 1
        except gpureduce.DeviceError as error:
            if os.getpid() == me or "fork" not in str(error):
                raise
        signal.setitimer(signal.ITIMER_REAL, 0)
        if os.getpid() != me:
            signal.alarm(30)
            os._exit(0 if all(call() for call in calls) else 1)
        while children:
            codes.add(os.waitstatus_to_exitcode(os.waitpid(children.pop(), 0)[1]))
            hits += 1
    assert all(call() for call in calls)
    return hits
"""


def test_handlers_that_raise_at_any_time():
    done = python(
        CALLS
        + ALARMS
        + """
def act():
    raise Interrupted
assert rounds(120) > 25
print(threading.active_count())
"""
    )
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
    assert "lock" not in done.stderr, done.stderr


FORKS = """
def act():
    child = os.fork()
    if child:
        children.append(child)
    else:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(30)
"""


@forks_beside_threads
def test_forks_in_the_middle():
    """A child goes on, or is told that it has no threads to go on with; later calls of it are right."""
    done = python(CALLS + ALARMS + FORKS + "assert rounds(25) > 5\nprint(codes)", "-W", "ignore")
    assert (done.returncode, done.stdout) == (0, "{0}\n"), done.stderr


@forks_beside_threads
@pytest.mark.parametrize("chunk_bytes", ["1024", ""])
def test_forks_in_the_middle_of_a_long_kernel(chunk_bytes):
    """Those of one device, whose host threads the child does not have, either."""
    done = python(
        CALLS
        + """
long = np.random.default_rng(3).integers(-9, 9, 100_000)
calls = [lambda: gpureduce.sum(long, device="sim") == long.sum(),
         lambda: gpureduce.sum(long, device=["sim"] * 2) == long.sum()]
"""
        + ALARMS
        + FORKS
        + "assert rounds(6) > 1 or rounds(20) > 1\nprint(codes)",
        "-W",
        "ignore",
        GPUREDUCE_CHUNK_BYTES=chunk_bytes,
    )
    assert (done.returncode, done.stdout) == (0, "{0}\n"), done.stderr


def test_an_interpreter_ends_after_an_interrupted_call():
    """A thread that is still at work does not keep it from ending."""
    done = python(
        CALLS
        + """
state_of = sharded.build.build_state
def slow(piece, *args, device, **options):
    if device == "sim":
        raise KeyboardInterrupt
    time.sleep(60)
sharded.build.build_state = slow
begun = time.monotonic()
try:
    gpureduce.sum(host, device=["sim"] * 2)
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - begun < 30)
"""
    )
    assert (done.returncode, done.stdout) == (0, "interrupted True\n"), done.stderr
