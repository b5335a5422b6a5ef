"""States that stay on the device equal the host's, byte for byte, however they are made and merged."""

import functools
import itertools
import operator
import pickle

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce._reduce import exact_states as exact
from gpureduce._states.operators import OPERATORS
from tests.support import exact_reference as reference
from tests.support.exact_reference import exact_sum, same

PLACES = ("argmin", "argmax")
FLOATS = (*reference.DTYPES, "complex64", "complex128")
INTEGERS = ("bool", "int8", "uint16", "int32", "uint32", "int64", "uint64")

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def takes(op, name):
    """Whether there is a state of it, of an array on a device."""
    if op.startswith("bitwise"):
        return name in INTEGERS
    return op not in ("var", "std", "dot") or name in FLOATS


PAIRS = [(op, name) for op in OPERATORS if op != "dot" for name in (*FLOATS, *INTEGERS) if takes(op, name)]


def elements(shape, name, seed=0):
    """Numbers of both signs with NaNs, infinities and equal ones among them; integers over all their bits."""
    rng, size = np.random.default_rng(seed), int(np.prod(shape))
    if name in reference.DTYPES:
        kind = reference.KINDS[seed % len(reference.KINDS)]
        return kind(rng, size, reference.dtype_of(name)).reshape(shape)
    if name.startswith("complex"):
        parts = [elements(size, f"float{int(name[7:]) // 2}", seed + i) for i in range(2)]
        return np.array(parts).T.copy().view(name).reshape(shape)
    if name == "bool":
        return rng.random(shape) < 0.5
    return rng.integers(0, 256, size * np.dtype(name).itemsize, np.uint8).view(name).reshape(shape)


def alike(mine, theirs):
    """Whether two states are the same bytes; of min and max a NaN is as good as another, and a zero."""
    if mine.to_bytes() == theirs.to_bytes():
        return True
    if mine.op not in ("min", "max", *PLACES, "prod"):
        return False
    one, other = mine.to_host()._fields, theirs.to_host()._fields
    return all(np.array_equal(one[name], other[name], equal_nan=name == "value") for name in one)


@pytest.mark.many
@pytest.mark.parametrize(("op", "name"), PAIRS)
def test_made_and_merged_as_on_the_host(op, name, device):
    """Whole and along axes, of device and host arrays, in both ways of merging."""
    shape, some = (6, 7, 5), 1 if op in PLACES else (0, 2)
    for seed, (axis, options) in enumerate(((None, {}), (some, {}), (-1, {"keepdims": True}))):
        first, second = elements(shape, name, seed), elements(shape, name, seed + 3)
        if op == "prod" and name in FLOATS:
            first, second = (np.sign(each.real).astype(each.dtype) for each in (first, second))
        wanted = [gpureduce.partial(each, op, axis, device="sim", **options) for each in (first, second)]
        placed = [gpureduce.to_device(first, device), second]
        mine = [
            gpureduce.partial(each, op, axis, device=device, as_device=True, **options) for each in placed
        ]
        for got, want in zip(mine, wanted, strict=True):
            assert got.device == gpureduce.to_device(0.0, device).device and want.device is None
            assert (got.shape, got.dtype, got.op) == (want.shape, want.dtype, want.op)
            assert alike(got, want), (axis, options)
        both = wanted[0] + wanted[1]
        assert alike(mine[0] + mine[1], both) and alike(mine[1] + mine[0], wanted[1] + wanted[0])
        assert alike(mine[0], wanted[0]) and alike(mine[1], wanted[1])  # they stay as they are
        mine[0] += mine[1]
        assert alike(mine[0], both)


@pytest.mark.parametrize("name", FLOATS)
def test_dot(name, device):
    a, b = (elements(300, name, seed) for seed in (0, 8))
    parts = [
        gpureduce.partial(a[i::3], "dot", b=b[i::3], device=device, as_device=True, keepdims=True)
        for i in range(3)
    ]
    wanted = [gpureduce.partial(a[i::3], "dot", b=b[i::3], device="sim", keepdims=True) for i in range(3)]
    assert (
        functools.reduce(operator.add, parts).to_bytes() == functools.reduce(operator.add, wanted).to_bytes()
    )


@pytest.mark.parametrize("op", [op for op in OPERATORS if op not in ("dot", "var", "std")])
def test_masks(op, device):
    """Some of them choose no element of a result."""
    array = elements((4, 9), "int32" if op.startswith("bitwise") else "float32", 6)
    mask = np.random.default_rng(1).random((4, 9)) < 0.4
    mask[2] = False
    for axis in (None, 1, 0):
        want = gpureduce.partial(array, op, axis, where=mask, device="sim")
        there, chosen = gpureduce.to_device(array, device), gpureduce.to_device(mask, device)
        for given, where in ((array, mask), (there, chosen)):
            got = gpureduce.partial(given, op, axis, where=where, device=device, as_device=True)
            assert alike(got, want), axis
        nothing = gpureduce.partial(array, op, axis, where=mask & False, device=device, as_device=True)
        assert alike(nothing + got, want) and alike(got + nothing, want)


@pytest.mark.parametrize("name", ["float32", "complex64"])
def test_masked_spread(name, device):
    array, mask = elements((4, 9), name, 7), np.random.default_rng(1).random((4, 9)) < 0.4
    for op in ("var", "std"):
        want = gpureduce.partial(array, op, 1, where=mask, device="sim")
        assert alike(gpureduce.partial(array, op, 1, where=mask, device=device, as_device=True), want)
    with pytest.raises(TypeError, match="of a device array; use var or moments"):
        there = gpureduce.to_device(array, device)
        gpureduce.partial(there, "var", 1, where=mask, device=device, as_device=True)


@pytest.mark.parametrize("op", PLACES)
def test_positions_in_the_whole(op, device):
    array = elements((9, 8, 7), "int8", 2)
    blocks = itertools.product((0, 4), (0, 5), (0, 3))
    parts, rows = [], []
    for starts in blocks:
        ends = [(4, 5, 3)[d] if start == 0 else array.shape[d] for d, start in enumerate(starts)]
        block = array[tuple(slice(s, e) for s, e in zip(starts, ends, strict=True))]
        there = gpureduce.to_device(block, device)
        parts.append(gpureduce.partial(there, op, offset=starts, within=array.shape, as_device=True))
    whole = gpureduce.partial(array, op, device="sim")
    assert functools.reduce(operator.iadd, parts).to_bytes() == whole.to_bytes()
    for start in (0, 6):
        part = gpureduce.to_device(array[start : start + 6], device)
        rows.append(gpureduce.partial(part, op, 0, offset=start, as_device=True))
    assert (rows[1] + rows[0]).to_bytes() == gpureduce.partial(array, op, 0, device="sim").to_bytes()
    for given in ({"offset": -1}, {"offset": 3, "within": (9, 8, 7)}, {"offset": 0, "within": (9, 8)}):
        with pytest.raises(ValueError, match=r"within|offset"):
            gpureduce.partial(gpureduce.to_device(array, device), op, as_device=True, **given)


def test_dtypes_of_results(device):
    """What is held in another dtype than the kernels make."""
    array = np.array([3, -5, 7, 100], np.int8)
    for op, dtype in itertools.product(("prod", "sum", "mean"), (np.int16, np.uint8, np.float64)):
        if (op == "mean") != (dtype is np.float64) or (op, dtype) == ("sum", np.float64):
            continue
        want = gpureduce.partial(array, op, dtype=dtype, device="sim")
        there = gpureduce.to_device(array, device)
        assert gpureduce.partial(there, op, dtype=dtype, as_device=True).to_bytes() == want.to_bytes()


def test_no_elements(device):
    for op in ("sum", "max", "argmin", "prod", "var"):
        for shape, axis in (((0,), None), ((0, 3), 0), ((3, 0, 2), 1), ((0, 3), 1)):
            want = gpureduce.partial(np.empty(shape), op, axis, device="sim")
            got = gpureduce.partial(np.empty(shape), op, axis, device=device, as_device=True)
            assert got.to_bytes() == want.to_bytes() == (got + got).to_bytes()
            assert got.device is not None


def test_places(device):
    """Left decides where the merged state is; bytes and pickles equal the host's."""
    a = elements(100, "float64", 2)
    here, there = (
        gpureduce.partial(a, "sum", device=device, as_device=as_device) for as_device in (False, True)
    )
    other = there.to_device("sim:3")
    assert (here.device, other.device) == (None, "sim:3") and there.to_device(device) is there
    assert there.to_host().device is None and here.to_host() is here
    twice = (here + here).to_bytes()
    for left, right in itertools.product((here, there, other), repeat=2):
        both = left + right
        assert both.device == left.device and both.to_bytes() == twice
        both += right.to_device("sim")
        assert both.device == left.device and both.to_bytes() == (here + here + here).to_bytes()
    again = pickle.loads(pickle.dumps(there))
    assert again.device is None and again.to_bytes() == here.to_bytes()
    assert gpureduce.State.from_bytes(there.to_bytes()).to_device(device).to_bytes() == here.to_bytes()
    assert repr(there) == f"State('sum', dtype=float64, shape=(), device={there.device!r})"
    assert there.nbytes == 72 * 8
    there += there
    assert there.to_bytes() == twice


def test_a_list_of_devices_leaves_it_on_the_first():
    a = elements(100, "float64", 2)
    state = gpureduce.partial(a, "sum", device=["sim:2", "sim:1"], as_device=True)
    assert state.device == "sim:2" and same(state.result(), exact_sum(a))
    parts = gpureduce.Sharded([gpureduce.to_device(a[:9], "sim:4"), gpureduce.to_device(a[9:], "sim")])
    state = gpureduce.partial(parts, "mean", as_device=True)
    assert state.device == "sim:4" and same(state.result(), exact_sum(a, divisor=100))


def test_merges_do_not_visit_the_host(device, monkeypatch, waits):
    """Nothing is read, and no call waits, until there is a result."""
    array = gpureduce.to_device(elements((8, 9), "float32", 0), device)
    monkeypatch.setattr(_core, "device_read", None)
    monkeypatch.setattr(_core, "exact_merge", None)
    found = {}
    for op, axis in itertools.product(("sum", "mean", "var", "max", "argmax", "any", "prod"), (None, 0)):
        state = gpureduce.partial(array, op, axis, as_device=True)
        state += state + state
        found[op, axis] = state
    assert not waits
    monkeypatch.undo()
    for (op, axis), state in found.items():
        once = gpureduce.partial(array, op, axis)
        assert alike(state, once + once + once)


@pytest.mark.parametrize("size", [exact.NARROW, exact.WIDE, exact.WIDEST, exact.WHOLE])
def test_carries(size, device):
    """Digits that are full, of either sign, merged hundreds of times."""
    op, dtype = {
        exact.NARROW: ("sum", np.float32), exact.WIDE: ("sum", np.float64),
        exact.WIDEST: ("dot", np.float64), exact.WHOLE: ("sum", np.int64),
    }[size]  # fmt: skip
    ones = np.ones((2, 3), dtype)
    given = {"axis": 0} if op == "sum" else {"b": ones[0]}
    like = gpureduce.partial(ones if op == "sum" else ones[0], op, device="sim", **given)
    head = like.to_bytes()[: 12 + 8 * len(like.shape)]
    rng, n = np.random.default_rng(4), 3 if like.shape else 1
    wanted, got = None, None
    for turn in range(300):
        numbers = rng.integers(0, 256, (n, size.nbytes - 1), np.uint8)
        numbers[:, -2:] = rng.choice([0, 255], (n, 1))  # far from what a state holds
        if turn % 3 == 0:
            numbers[:, :-2] = rng.choice([0, 255], (n, 1))
        rows = np.concatenate([np.full((n, 1), turn % 16, np.uint8), numbers], 1)
        state = gpureduce.State.from_bytes(head + rows.tobytes())
        wanted = state if wanted is None else wanted + state
        got = state.to_device(device) if got is None else got
        if turn:
            got += state.to_device(device)
    assert got.to_bytes() == wanted.to_bytes()


def test_overflow_of_a_device_state_shows_in_its_result(device):
    """On the device the state is not refused, but its result."""
    full = gpureduce.partial([1.0], "mean", device="sim").to_bytes()
    full = gpureduce.State.from_bytes(full[:12] + b"\xff" * 7 + b"\x7f" + full[20:])
    total = full.to_device(device)
    with pytest.raises(OverflowError, match="more than"):
        full + full
    total += full
    for call in (total.result, total.to_bytes, total.to_host):
        with pytest.raises(OverflowError, match="more elements"):
            call()
    most = gpureduce.partial([1], "sum", device="sim").to_bytes()
    most = gpureduce.State.from_bytes(most[:13] + b"\xff" * 15 + b"\x7f")
    with pytest.raises(OverflowError, match="exceeds the range of a state"):
        (most.to_device(device) + most).result()


def test_refused(device):
    there = gpureduce.partial([1.0, 2.0], "sum", device=device, as_device=True)
    for other in (
        gpureduce.partial([1.0], "mean", device=device, as_device=True),
        gpureduce.partial(np.ones(2, np.float32), "sum", device=device),
        gpureduce.partial([[1.0]], "sum", 0, device=device, as_device=True),
    ):
        with pytest.raises(ValueError, match="different reductions"):
            there + other
        with pytest.raises(ValueError, match="different reductions"):
            there += other
    with pytest.raises(TypeError, match="unsupported operand"):
        there + 1
    assert there.result() == 3


# In programs on a GPU


@pytest.mark.gpu
@pytest.mark.parametrize("op", ["sum", "mean", "var", "max", "argmax", "prod", "count_nonzero"])
def test_graphs(op):
    """A replay adds what is in its array then."""
    torch = pytest.importorskip("torch")
    x = torch.zeros((64, 50), device="cuda")
    arrays = [np.sign(elements((64, 50), "float32", 7)) for _ in range(4)]
    arrays += [elements((64, 50), "float32", 7) * seed for seed in range(1, 4)] if op != "prod" else []
    for axis in (None, 0):
        x.copy_(torch.from_numpy(arrays[0]))
        total = gpureduce.partial(x, op, axis, as_device=True)
        twice = gpureduce.partial(x, op, axis, as_device=True)
        twice = twice + gpureduce.partial(x, op, axis, as_device=True)
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            part = gpureduce.partial(x, op, axis, as_device=True)
            total += part
            both = twice + part
            both += part
        for array in arrays[1:]:
            x.copy_(torch.from_numpy(array))
            graph.replay()
        torch.cuda.synchronize()
        parts = [gpureduce.partial(array, op, axis, device="sim") for array in arrays]
        wanted = functools.reduce(operator.add, parts)
        assert alike(total, wanted), axis
        assert alike(both, parts[0] + parts[0] + parts[-1] + parts[-1]), axis
        total += both  # not captured: its stream is no more than that of its memory
        assert alike(total, wanted + both.to_host()), axis


@pytest.mark.gpu
def test_graphs_of_cupy():
    cupy = pytest.importorskip("cupy")
    arrays = [elements(5000, "float64", seed) for seed in (7, 0, 6)]
    x, stream = cupy.asarray(arrays[0]), cupy.cuda.Stream(non_blocking=True)
    with stream:
        total = gpureduce.partial(x, "sum", as_device=True)
        total = total + total.to_device("cuda:0")
        stream.begin_capture()
        total += gpureduce.partial(x, "sum", as_device=True, stream=stream)
        graph = stream.end_capture()
        for array in arrays[1:]:
            x.set(array)
            graph.launch(stream)
    stream.synchronize()
    assert same(total.result(), exact_sum(np.concatenate([arrays[0], *arrays])))


@pytest.mark.gpu
def test_the_host_does_not_wait():
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(elements(1 << 20, "float32", 7)).cuda()
    once = gpureduce.partial(x, "var", as_device=True)
    state = once + once
    state += once
    stream, other = torch.cuda.Stream(), torch.cuda.Stream()
    torch.cuda.synchronize()
    slept = torch.cuda.Event()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(400_000_000)
        slept.record(stream)
        state += gpureduce.partial(x, "var", as_device=True)
    with torch.cuda.stream(other):
        state += gpureduce.partial(x, "var", as_device=True) + once
    assert not slept.query()
    assert state.to_bytes() == functools.reduce(operator.add, [once.to_host()] * 6).to_bytes()
