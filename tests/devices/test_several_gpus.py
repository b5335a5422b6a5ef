"""One, two, four and eight GPUs give the same bits: those there are, else simulators."""

import functools
import operator
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import gpureduce
from gpureduce._states import sharded
from gpureduce._states.operators import OPERATORS
from tests.support import exact_reference as reference
from tests.support.children import outputs
from tests.support.exact_reference import exact_sum, same

PLACES = ("argmin", "argmax")
NUMBERS = tuple(op for op in OPERATORS if op != "dot" and not op.startswith("bitwise"))
RANK = Path(__file__).parent / "state_of_gpu.py"

pytestmark = pytest.mark.filterwarnings("ignore::gpureduce.SimulatorWarning")


def pytest_generate_tests(metafunc):
    if "count" in metafunc.fixturenames:
        on_gpu = metafunc.config.getoption("device").startswith("cuda")
        metafunc.parametrize("count", [1, 2, 4, 8] if on_gpu else [1, 2, 4])


@pytest.fixture
def devices(count, on_gpu):
    """So many devices, or a skip that says how many GPUs there are."""
    if not on_gpu:
        return ["sim", *(f"sim:{i}" for i in range(1, count))]
    names = [str(each) for each in gpureduce.devices() if str(each).startswith("cuda")]
    if len(names) < count:
        pytest.skip(f"{count} GPUs: this machine has {len(names)}")
    return names[:count]


def numbers(shape, dtype=np.float32, seed=6):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) * 2.0 ** rng.integers(-30, 30, shape)).astype(dtype)


def parts_on(array, devices, axis=0):
    """The array in uneven parts, one a device."""
    length = array.shape[axis]
    cuts = [length * (2 * i + 1) // (2 * len(devices)) for i in range(1, len(devices))]
    split = np.split(array, cuts, axis)
    return [gpureduce.to_device(part, name) for part, name in zip(split, devices, strict=True)]


def wanted(op, array, axis=None):
    return gpureduce.partial(array, op, axis, device="sim").result()


@pytest.mark.parametrize("op", NUMBERS)
def test_every_operator(op, devices, monkeypatch):
    """Of the host in pieces, and in parts that lie there; whole and along axes."""
    monkeypatch.setattr(sharded, "_MAX_SHARD_BYTES", 4000)  # several pieces a device
    array = np.sign(numbers((16, 30, 9))) if op == "prod" else numbers((16, 30, 9))
    for axis in (None, 0, 2 if op in PLACES else (1, 2)):
        want = wanted(op, array, axis)
        partial = functools.partial(gpureduce.partial, op=op, axis=axis)
        for along in (0, 1):
            got = partial(gpureduce.Sharded(parts_on(array, devices, along), along)).result()
            assert np.asarray(got).tobytes() == np.asarray(want).tobytes(), (axis, along)
        got = getattr(gpureduce, op)(array, axis=axis, device=devices)
        assert np.asarray(got).tobytes() == np.asarray(want).tobytes(), axis


@pytest.mark.parametrize("name", reference.DTYPES)
def test_bits_of_exact_sums(name, devices):
    """Whatever the elements, NaNs and infinities among them."""
    rng = np.random.default_rng(5)
    for make in reference.KINDS:
        a, b = (make(rng, 700, reference.dtype_of(name)) for _ in range(2))
        with np.errstate(all="ignore"):
            assert same(gpureduce.sum(a, device=devices), exact_sum(a))
            sharded = [gpureduce.Sharded(parts_on(each, devices)) for each in (a, b)]
            assert same(gpureduce.sum(sharded[0]), exact_sum(a))
            assert same(gpureduce.dot(*sharded), reference.exact_dot(a, b))


def test_integers(devices):
    array = np.random.default_rng(2).integers(-(2**62), 2**62, 1000)
    array[500:] = -np.sort(array[:500])
    array[:500].sort()
    array[0] += 7
    assert abs(sum(array[500:].tolist())) > 2**63  # what does not fit on the way may fit at the end
    assert gpureduce.sum(gpureduce.Sharded(parts_on(array, devices))) == 7
    assert gpureduce.bitwise_xor(array, device=devices) == np.bitwise_xor.reduce(array)
    with pytest.raises(OverflowError):
        gpureduce.sum(np.full(9, 2**62), device=devices)


def test_results_stay_on_the_first(devices):
    array = numbers((8, 40))
    there = gpureduce.sum(gpureduce.Sharded(parts_on(array, devices)), axis=0, as_device=True)
    assert there.device == devices[0]
    assert there.numpy().tobytes() == wanted("sum", array, 0).tobytes()
    there = gpureduce.max(array, device=devices[::-1], as_device=True)
    assert there.device == devices[-1] and there.item() == array.max()


def test_more_than_its_share(devices, on_gpu):
    """Elements enough that all devices are at work at once."""
    size = (1 << 24 if on_gpu else 1 << 12) * len(devices)
    array = numbers(size) if not on_gpu else np.random.default_rng(1).standard_normal(size, np.float32)
    alone = gpureduce.sum(array, exact=True, device=devices[0])
    assert same(gpureduce.sum(array, device=devices), alone)
    assert same(gpureduce.sum(gpureduce.Sharded(parts_on(array, devices))), alone)
    assert gpureduce.argmax(gpureduce.Sharded(parts_on(array, devices))) == array.argmax()


def test_calls_of_threads(devices):
    """Several threads, each with all devices."""
    arrays = [numbers((6, 50), seed=i) for i in range(4)]
    sharded = [gpureduce.Sharded(parts_on(array, devices)) for array in arrays]
    found = [[] for _ in arrays]

    def work(i):
        for _ in range(3):
            found[i].append(gpureduce.sum(sharded[i]))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(arrays))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for array, each in zip(arrays, found, strict=True):
        assert len(each) == 3 and set(each) == {exact_sum(array.reshape(-1))}


def test_a_device_that_fails_in_the_middle(devices, monkeypatch):
    """Its error is raised; the devices work afterwards."""
    array, seen, state_of = numbers(5000), [], sharded.build.build_state

    def failing(piece, *args, device, **options):
        seen.append(device)
        if len(seen) == 3:
            raise gpureduce.DeviceError(f"{device} fell off the bus")
        return state_of(piece, *args, device=device, **options)

    monkeypatch.setattr(sharded, "_MAX_SHARD_BYTES", 1000)
    monkeypatch.setattr(sharded.build, "build_state", failing)
    with pytest.raises(gpureduce.DeviceError, match="fell off the bus"):
        gpureduce.sum(array, device=devices)
    assert len(seen) < 20
    monkeypatch.undo()
    assert same(gpureduce.sum(array, device=devices), exact_sum(array))


def test_refused(devices):
    parts = parts_on(numbers((8, 40)), devices)
    if devices[-1] != "sim":  # each of that name in a list is another one
        with pytest.raises(ValueError, match="listed twice"):
            gpureduce.sum(np.ones(9), device=[devices[-1], *devices])
    with pytest.raises(TypeError, match="is of float64, the first of float32"):
        gpureduce.Sharded([*parts, gpureduce.to_device(np.ones((2, 40)), devices[0])])
    with pytest.raises(ValueError, match="only along axis 0 may they differ"):
        gpureduce.Sharded([*parts, gpureduce.to_device(np.ones((2, 4), np.float32), devices[-1])])
    with pytest.raises(ValueError, match="stream"):
        gpureduce.sum(gpureduce.Sharded(parts), stream=1)


# Other libraries' arrays, on GPUs alone


@pytest.mark.gpu
def test_tensors(devices):
    """PyTorch's, each written in a stream of its own just before; and pinned memory."""
    torch = pytest.importorskip("torch")
    array = numbers((8, 9000))
    tensors = []
    for part, name in zip(parts_on(array, devices), devices, strict=True):
        stream = torch.cuda.Stream(name)
        with torch.cuda.device(name), torch.cuda.stream(stream):
            theirs = torch.from_dlpack(part)
            torch.cuda._sleep(20_000_000)
            tensors.append(theirs * 1)
    assert {str(tensor.device) for tensor in tensors} == set(devices)
    torch.cuda.synchronize()
    for op in ("sum", "argmin", "var"):
        assert gpureduce.partial(gpureduce.Sharded(tensors), op).result() == wanted(op, array)
    pinned = torch.from_numpy(array).pin_memory().numpy()
    assert same(gpureduce.sum(pinned, device=devices), exact_sum(array.reshape(-1)))


@pytest.mark.gpu
def test_arrays_of_cupy(devices):
    cupy = pytest.importorskip("cupy")
    array, arrays = numbers((9, 500)), []
    for part, name in zip(parts_on(array, devices, 1), devices, strict=True):
        with cupy.cuda.Device(int(name.partition(":")[2] or 0)):
            arrays.append(cupy.from_dlpack(part).copy())
    for axis in (None, 0, 1):
        got = gpureduce.sum(gpureduce.Sharded(arrays, 1), axis=axis)
        assert np.asarray(got).tobytes() == np.asarray(wanted("sum", array, axis)).tobytes()


# Several processes


def processes(backend, devices, folder):
    """What each process says that has one of the devices."""
    commands = [
        [sys.executable, str(RANK), backend, str(rank), str(len(devices)), name, str(folder / "meet")]
        for rank, name in enumerate(devices)
    ]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    lines = outputs(running)
    assert [process.returncode for process in running] == [0] * len(devices)
    return lines


@pytest.mark.gpu
def test_nccl(devices, tmp_path):
    """A process a GPU."""
    torch = pytest.importorskip("torch")
    if not torch.distributed.is_nccl_available():
        pytest.skip("this PyTorch has no NCCL")
    want = exact_sum(numbers(4000)).item().hex()
    assert processes("nccl", devices, tmp_path) == [want] * len(devices)


def test_four_processes_share_a_device(device, tmp_path):
    pytest.importorskip("torch")
    want = exact_sum(numbers(4000)).item().hex()
    assert processes("gloo", [device] * 4, tmp_path) == [want] * 4


def test_merges_of_devices_are_those_of_parts(devices):
    """The same states by hand."""
    array = numbers(3000)
    states = [gpureduce.partial(part, "sum") for part in parts_on(array, devices)]
    assert same(functools.reduce(operator.add, states).result(), exact_sum(array))
