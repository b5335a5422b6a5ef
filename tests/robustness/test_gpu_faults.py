"""GPUs that are full, broken by somebody's kernel, or not the one meant, and streams of other libraries."""

import contextlib
import gc
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import gpureduce
from gpureduce import DeviceError
from gpureduce._arrays.device_array import DeviceArray, to_device
from gpureduce._arrays.foreign import as_view
from tests.support.children import PACKAGE, child_environment
from tests.support.libraries import CuPy, Torch, numbers

pytestmark = pytest.mark.gpu

MIB = 1 << 20
SMALL = numbers((40, 25), "float32")
LARGE = numbers((1 << 12, 1 << 12), "int32")  # 64 MiB: the ring of chunks


@pytest.fixture(scope="module", autouse=True)
def kept_kernels(tmp_path_factory):
    """A folder of compiled kernels for this file and the programs that it starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUREDUCE_CACHE_DIR", str(tmp_path_factory.mktemp("kernels")))
        yield


@pytest.fixture(scope="module")
def index(device):
    """The number of the CUDA device of the run."""
    return int(device.partition(":")[2] or 0)


@pytest.fixture
def cupy(index):
    return CuPy(index).cupy


@pytest.fixture(params=[Torch, CuPy])
def peer(request, index):
    return request.param(index)


def squares():
    return gpureduce.ReductionKernel("T x", "T y", "x * x", "a + b", "y = a", "0", "squares")


# Memory


def free_bytes(cupy):
    return cupy.cuda.runtime.memGetInfo()[0]


@contextlib.contextmanager
def full(cupy, room):
    """All memory of the device but about `room` bytes is somebody else's."""
    runtime, taken = cupy.cuda.runtime, []
    cupy.get_default_memory_pool().free_all_blocks()
    try:
        reserve = runtime.malloc(room) if room else 0
        piece = free_bytes(cupy)
        while piece >= MIB:
            try:
                taken.append(runtime.malloc(piece))
            except runtime.CUDARuntimeError:
                piece //= 2
        if reserve:
            runtime.free(reserve)
        yield
    finally:
        for address in taken:
            runtime.free(address)


def everything(device, there):
    """Calls that take memory on a device, or need none, each with what NumPy says."""
    square = squares()
    wide = LARGE[:, ::2]
    return {
        "small": (lambda: gpureduce.sum(SMALL, device=device), SMALL.sum()),
        "ring": (lambda: gpureduce.sum(LARGE, device=device), LARGE.sum()),
        "strided": (lambda: gpureduce.sum(wide, device=device), wide.sum()),
        "ladder": (lambda: gpureduce.sum(LARGE, variant="v7", device=device), LARGE.sum()),
        "axis": (lambda: gpureduce.sum(LARGE, axis=0, device=device), LARGE.sum(axis=0)),
        "kept there": (
            lambda: gpureduce.max(LARGE, axis=1, as_device=True, device=device),
            LARGE.max(axis=1),
        ),
        "copy": (lambda: to_device(LARGE, device), LARGE),
        "there": (lambda: gpureduce.sum(there), LARGE.sum()),
        "there, axis": (lambda: gpureduce.sum(there, axis=1), LARGE.sum(axis=1)),
        "there, masked": (lambda: gpureduce.sum(there, where=LARGE > 0), LARGE[LARGE > 0].sum()),
        "kernel": (lambda: square(LARGE, device=device), (LARGE * LARGE).sum()),
        "kernel there": (lambda: square(there, axis=0), (LARGE * LARGE).sum(axis=0)),
    }


def check(got, expected):
    got = got.numpy() if isinstance(got, DeviceArray) else got
    np.testing.assert_array_equal(got, expected)


def test_larger_than_the_device(device, device_record):
    """Said before anything is copied: the host has no such memory either."""
    huge = np.broadcast_to(np.float32(1), (device_record.memory_bytes // 4 + 1,))
    with pytest.raises(
        MemoryError, match=r"allocating \d+ bytes on cuda:\d, which has \d+ of \d+ bytes free"
    ):
        to_device(huge, device)
    assert gpureduce.sum(SMALL, device=device) == SMALL.sum()
    check(to_device(SMALL, device), SMALL)


@pytest.mark.parametrize("room", [0, 4 * MIB, 48 * MIB, 160 * MIB])
@pytest.mark.parametrize("cached", [False, True])
def test_a_full_device(cupy, device, room, cached):
    """A call works or raises MemoryError, keeps no memory when it fails, and works when there is room."""
    there = to_device(LARGE, device)
    calls = everything(device, there)
    for call, expected in calls.values():  # also loads the kernels
        check(call(), expected)
    gc.collect()
    gpureduce.free_memory()
    before = free_bytes(cupy)
    if cached:  # what calls keep from one to the next is there
        gpureduce.sum(SMALL, device=device)
        gpureduce.sum(LARGE, device=device)
    outcomes = {}
    with full(cupy, room):
        for name, (call, expected) in calls.items():
            try:
                check(call(), expected)
                outcomes[name] = "works"
            except MemoryError as error:
                outcomes[name] = str(error)
    failed = {name: text for name, text in outcomes.items() if text != "works"}
    assert all("CUDA_ERROR_OUT_OF_MEMORY" in text for text in failed.values()), failed
    if room < LARGE.nbytes:
        assert {"copy", "axis", "kernel"} <= failed.keys()
    else:
        assert not failed
    for call, expected in calls.values():
        check(call(), expected)
    gc.collect()
    gpureduce.free_memory()
    assert free_bytes(cupy) >= before - 4 * MIB  # the driver's own, perhaps


def script(text, *arguments, seconds=60):
    """Run a program of its own, which must not crash or hang; return the lines that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text), *arguments],
        env=child_environment(),
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr[-3000:])
    return done.stdout.splitlines()


def test_a_device_that_was_full_before_the_first_call(device):
    """Kernels are loaded, and memory is pinned, where there is no room yet; later there is."""
    lines = script(
        """
        import sys
        from tests.robustness.test_gpu_faults import *
        device = sys.argv[1]
        cupy = CuPy(int(device.partition(":")[2] or 0)).cupy
        with full(cupy, 0):
            for call in (
                lambda: gpureduce.sum(SMALL, device=device),
                lambda: gpureduce.sum(LARGE, device=device),
                lambda: to_device(SMALL, device),
                lambda: squares()(SMALL, device=device),
            ):
                try:
                    call()
                    print("works")
                except MemoryError as error:
                    assert "CUDA_ERROR_OUT_OF_MEMORY" in str(error), error
                    print("MemoryError")
        for name, (call, expected) in everything(device, to_device(LARGE, device)).items():
            check(call(), expected)
        print("end")
        """,
        device,
    )
    assert lines[-1] == "end" and set(lines[:-1]) <= {"works", "MemoryError"}
    assert "MemoryError" in lines


# A context in an error state

# Each kernel, and the driver's name of what it does to the context.
BAD_KERNELS = {
    "address": ("*(volatile int *)16 = 1;", "CUDA_ERROR_ILLEGAL_ADDRESS"),
    "trap": ('asm volatile("trap;");', "CUDA_ERROR_LAUNCH_FAILED"),
    "assert": ("assert(clock64() == 0);", "CUDA_ERROR_ASSERT"),
}

BROKEN = """
    import sys
    from tests.robustness.test_gpu_faults import *

    device, statement, waited = sys.argv[1:]
    index = int(device.partition(":")[2] or 0)
    there, mine = to_device(LARGE, device), squares()
    out, left = to_device(np.zeros(LARGE.shape[0], np.int64), device), to_device(SMALL, device)
    gpureduce.sum(LARGE, device=device)
    mine(SMALL, device=device)
    {damage}
    calls = {{
        "small": lambda: gpureduce.sum(SMALL, device=device),
        "ring": lambda: gpureduce.sum(LARGE, device=device),
        "ladder": lambda: gpureduce.sum(SMALL, variant="v3", device=device),
        "axis": lambda: gpureduce.sum(LARGE, axis=0, device=device),
        "another operator": lambda: gpureduce.max(SMALL, device=device),
        "there": lambda: gpureduce.sum(there),
        "there, into": lambda: (gpureduce.sum(there, axis=1, out=out), out.numpy()),
        "back": there.numpy,
        "to_device": lambda: to_device(SMALL, device),
        "kernel": lambda: mine(SMALL, device=device),
        "new kernel": lambda: gpureduce.ReductionKernel("T x", "T y", "x+1", "a+b", "y=a", "0")(there),
        "DLPack": lambda: there.__dlpack__(stream=2),
        "stream": lambda: gpureduce.sum(SMALL, device=device, stream=1),
    }}
    for name, call in calls.items():
        try:
            call()
            print(name, "works", sep="|")
        except Exception as error:
            print(name, type(error).__name__, str(error).replace("\\n", " "), sep="|")
    assert gpureduce.sum(SMALL, device="sim") == SMALL.sum()
    with contextlib.suppress(gpureduce.DeviceError):
        gpureduce.devices()
    gpureduce.free_memory()
    del there, out  # and `left` goes with the interpreter
    gc.collect()
    print("end")
"""


def outcomes_of(damage, device, statement="", waited="waited"):
    lines = script(textwrap.dedent(BROKEN).format(damage=damage), device, statement, waited)
    assert lines[-1] == "end", lines
    return [line.split("|", 2) for line in lines if "|" in line]


CUPY_DAMAGE = """
cupy = CuPy(index).cupy
head = "#include <assert.h>\\n" if "assert" in statement else ""
code = head + 'extern "C" __global__ void bad() { ' + statement + ' }'
bad = cupy.RawKernel(code, "bad", backend="nvcc" if head else "nvrtc")
bad((1,), (1,), ())
if waited == "waited":
    try:
        cupy.cuda.runtime.deviceSynchronize()
        print("no error")
    except cupy.cuda.runtime.CUDARuntimeError:
        pass
"""


@pytest.mark.parametrize("waited", ["waited", "under way"])
@pytest.mark.parametrize("kind", BAD_KERNELS)
def test_after_somebodys_bad_kernel(kind, waited, device):
    """Whatever needs the device says what the driver says, the simulator goes on, and the program can end."""
    pytest.importorskip("cupy")
    statement, name = BAD_KERNELS[kind]
    outcomes = outcomes_of(CUPY_DAMAGE, device, statement, waited)
    assert len(outcomes) == 13
    for call, result, *text in outcomes:
        assert result == "DeviceError" and name in text[0], (call, result, text)


@pytest.mark.parametrize("kind", ["address", "trap"])
def test_after_a_bad_kernel_of_ones_own(kind, device):
    statement, name = BAD_KERNELS[kind]
    damage = (
        'bad = gpureduce.ReductionKernel("T x", "T y", "damage(x)", "a + b", "y = a", "0", "bad", '
        'preamble="T damage(T x) { " + statement + " return x; }")\n'
        "try:\n    bad(SMALL, device=device)\n    print('no error')\n"
        "except gpureduce.DeviceError as error:\n    print('bad', 'DeviceError', error, sep='|')\n"
    )
    outcomes = outcomes_of(damage, device, statement)
    assert len(outcomes) == 14
    for call, result, *text in outcomes:
        assert result == "DeviceError" and name in text[0], (call, result, text)


def test_threads_meet_a_bad_kernel(device):
    """All threads that work on the device are told, none waits for good."""
    pytest.importorskip("cupy")
    lines = script(
        """
        import sys, threading, time
        from tests.robustness.test_gpu_faults import *
        device = sys.argv[1]
        cupy = CuPy(int(device.partition(":")[2] or 0)).cupy
        bad = cupy.RawKernel('extern "C" __global__ void bad() { *(volatile int *)16 = 1; }', "bad")
        bad.compile()
        there, told = to_device(LARGE, device), []
        calls = (
            lambda: gpureduce.sum(SMALL, device=device),
            lambda: gpureduce.sum(LARGE, device=device),
            lambda: gpureduce.sum(there),
            lambda: gpureduce.sum(there, axis=0),
        )
        def work(call):
            try:
                while True:
                    call()
            except gpureduce.DeviceError as error:
                told.append("CUDA_ERROR_ILLEGAL_ADDRESS" in str(error))
        threads = [threading.Thread(target=work, args=(call,)) for call in 2 * calls]
        [thread.start() for thread in threads]
        time.sleep(0.5)
        bad((1,), (1,), ())
        [thread.join() for thread in threads]
        print(told)
        """,
        device,
    )
    assert lines[-1] == str([True] * 8)


# Two GPUs


@pytest.fixture
def other(index):
    """The number of another GPU, while the GPU of the run is the current one."""
    numbers = [found.index for found in gpureduce.devices() if found.kind == "cuda" and found.index != index]
    if not numbers:
        pytest.skip("needs two CUDA devices")
    return numbers[0]


def on_other(library, other, host):
    """An array of PyTorch or CuPy there, made from here."""
    if library == "torch":
        torch = pytest.importorskip("torch")
        return torch.from_numpy(host).to(f"cuda:{other}"), torch.cuda.current_device
    cupy = pytest.importorskip("cupy")
    with cupy.cuda.Device(other):
        return cupy.asarray(host), cupy.cuda.runtime.getDevice


@pytest.fixture(params=["torch", "cupy", "gpureduce"])
def arrays(request, index, other):
    """A matrix on the other GPU, and who tells which device is the current one."""
    if request.param == "gpureduce":
        return to_device(LARGE, f"cuda:{other}"), CuPy(index).cupy.cuda.runtime.getDevice
    (Torch if request.param == "torch" else CuPy)(index)
    return on_other(request.param, other, LARGE)


def test_arrays_are_reduced_where_they_lie(arrays, index, other):
    there, current = arrays
    place = f"cuda:{other}"
    assert as_view(there).device == place
    for where in (None, place):
        assert gpureduce.sum(there, device=where) == LARGE.sum()
        assert gpureduce.argmax(there, device=where) == LARGE.argmax()
        for result, expected in (
            (gpureduce.sum(there, axis=0, device=where), LARGE.sum(axis=0)),
            (gpureduce.sum(there, as_device=True, device=where), LARGE.sum()),
            (squares()(there, axis=1, device=where), (LARGE * LARGE).sum(axis=1)),
        ):
            assert isinstance(result, DeviceArray) and result.device == place
            check(result, expected)
        assert current() == index


def test_the_other_gpu_is_not_this_one(arrays, index, other):
    there, current = arrays
    here = to_device(LARGE, f"cuda:{index}")
    row = to_device(np.zeros(LARGE.shape[1], np.float32), f"cuda:{index}")
    mask = to_device(LARGE[0] > 0, f"cuda:{index}")
    lies = rf"is on cuda:({index}|{other}), not on 'cuda:({index}|{other})'"
    weighed = gpureduce.ReductionKernel("T x, T w", "T y", "x * w", "a + b", "y = a", "0", "weighed")
    for call in (
        lambda: gpureduce.sum(there, device=f"cuda:{index}"),
        lambda: gpureduce.sum(there, axis=0, out=row),
        lambda: gpureduce.sum(there, where=mask),
        lambda: gpureduce.dot(first_row(there), row),
        lambda: weighed(there, here),
    ):
        with pytest.raises(DeviceError, match=lies):
            call()
    assert not row.numpy().any()
    assert current() == index
    assert gpureduce.sum(there) == gpureduce.sum(here) == LARGE.sum()


def first_row(matrix):
    """Its first row, of any library; our own arrays have no views."""
    return to_device(LARGE[0], matrix.device) if isinstance(matrix, DeviceArray) else matrix[0]


def test_the_host_to_either_gpu(index, other):
    for number in (other, index, other):
        for call, expected in everything(f"cuda:{number}", to_device(LARGE, f"cuda:{number}")).values():
            check(call(), expected)
    moved = to_device(to_device(LARGE, f"cuda:{index}"), f"cuda:{other}")
    assert moved.device == f"cuda:{other}"
    check(moved, LARGE)


def test_a_busy_stream_of_the_other_gpu_is_waited_for(index, other):
    torch = Torch(index).torch
    tensor = torch.zeros(100_003, dtype=torch.int32, device=f"cuda:{other}")
    gpureduce.sum(tensor)
    side = torch.cuda.Stream(f"cuda:{other}")
    for value, named in ((3, False), (5, True)):
        with torch.cuda.stream(side):
            torch.cuda._sleep(100_000_000)
            tensor.fill_(value)
            with torch.cuda.device(index):  # the stream is current on its device, which is not
                if not named:
                    assert gpureduce.sum(tensor) == 100_003 * value
        if named:
            assert gpureduce.sum(tensor, stream=side.cuda_stream) == 100_003 * value
        assert torch.cuda.current_device() == index
    with pytest.raises(gpureduce.DeviceError, match=f"cuda:{index}"):  # it is none of its streams
        gpureduce.sum(SMALL, device=f"cuda:{index}", stream=side.cuda_stream)


# Streams of another library


def handle(stream):
    return stream.cuda_stream if hasattr(stream, "cuda_stream") else stream.ptr


def current_stream(peer):
    if isinstance(peer, Torch):
        return peer.torch.cuda.current_stream()
    return peer.cupy.cuda.get_current_stream()


@pytest.mark.parametrize("axis", [None, 0])
def test_work_in_their_stream_is_waited_for(peer, device, axis):
    ours = to_device(np.zeros((1000, 100), np.int32), device)
    theirs = peer.from_dlpack(ours)
    for value in (3, 5):
        with peer.busy_stream():
            theirs[:] = value
            got = gpureduce.sum(ours, axis=axis, stream=handle(current_stream(peer)))
        check(got, np.full((1000, 100), value).sum(axis=axis))


@pytest.mark.parametrize("stream", [0, 1, 2])
def test_default_streams(stream, device):
    assert gpureduce.sum(SMALL, device=device, stream=stream) == SMALL.sum()
    assert gpureduce.sum(to_device(SMALL, device), stream=stream) == SMALL.sum()


def test_streams_are_handles_or_objects(peer, device):
    with peer.busy_stream():
        assert gpureduce.sum(SMALL, device=device, stream=current_stream(peer)) == pytest.approx(
            SMALL.sum(), rel=1e-6
        )
        with pytest.raises(TypeError, match="integer"):
            gpureduce.sum(SMALL, device=device, stream=peer)


@pytest.mark.parametrize("call", ["there", "there, axis", "ring"])
def test_while_a_graph_is_captured(call, device):
    """A sum, which has to wait for its result, works or says that it cannot; it does not hang or crash."""
    pytest.importorskip("torch")
    lines = script(
        """
        import sys, warnings
        from tests.robustness.test_gpu_faults import *
        warnings.simplefilter("ignore")  # of an empty graph
        device, name = sys.argv[1:]
        torch = Torch(int(device.partition(":")[2] or 0)).torch
        tensor = torch.zeros(10, device=device)
        calls = everything(device, to_device(LARGE, device))
        call, expected = calls[name]
        check(call(), expected)
        try:
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                tensor += 1
                try:
                    check(call(), expected)
                    print("works")
                except gpureduce.DeviceError as error:
                    print("refused" if "CUDA_ERROR_STREAM_CAPTURE" in str(error) else error)
        except RuntimeError:
            pass  # PyTorch's, of a capture that has failed
        torch.cuda.synchronize()
        for call, expected in calls.values():
            check(call(), expected)
        print("end")
        """,
        device,
        call,
    )
    assert lines in (["works", "end"], ["refused", "end"])


@pytest.mark.gpu
def test_pytorch_keeps_the_device(device):
    """A call takes what PyTorch keeps unused; where all is in use the error is of both classes."""
    torch = pytest.importorskip("torch")
    index = int(device.partition(":")[2] or 0)
    host = np.arange(1 << 24, dtype=np.int32).reshape(1 << 12, 1 << 12)  # more than PyTorch leaves
    there = gpureduce.to_device(host, device)
    expected = gpureduce.sum(there, axis=1).numpy()
    gpureduce.free_memory()
    with torch.cuda.device(index):
        kept, piece = [], torch.cuda.mem_get_info()[0]
        while piece >= 1 << 21:
            try:
                kept.append(torch.empty(piece, dtype=torch.uint8, device="cuda"))
            except torch.OutOfMemoryError:
                piece //= 2
        for kind in (MemoryError, torch.OutOfMemoryError):
            with pytest.raises(kind, match=r"which has \d+ of \d+ bytes free"):
                gpureduce.to_device(host, device)
        kept.clear()
        assert torch.cuda.memory_reserved() > host.nbytes
        np.testing.assert_array_equal(gpureduce.to_device(host, device).numpy(), host)
        np.testing.assert_array_equal(gpureduce.sum(there, axis=1).numpy(), expected)
