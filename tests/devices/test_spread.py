"""Arrays on several devices, which on the simulator have memories of their own, give the bits of one."""

import re
import threading

import numpy as np
import pytest

import gpureduce
from gpureduce._states import sharded
from tests.support import exact_reference as reference
from tests.support.exact_reference import exact_sum, same

TWO, THREE = ["sim"] * 2, ["sim"] * 3
OPS = (
    "sum",
    "mean",
    "max",
    "argmin",
    "any",
    "prod",
    "bitwise_xor",
)  # each device loads its own
PLACES = ("argmin", "argmax")

pytestmark = pytest.mark.filterwarnings("ignore::gpureduce.SimulatorWarning")


@pytest.fixture(scope="module")
def array():
    rng = np.random.default_rng(6)
    return rng.integers(-3, 4, (7, 9, 4)) * 2.0 ** rng.integers(-30, 30, (7, 9, 4))


def alone(op, array, axis, keepdims=False):
    """What one device gives."""
    return gpureduce.partial(array, op, axis, keepdims=keepdims, device="sim").result()


@pytest.mark.parametrize("op", OPS)
def test_host_arrays_go_to_all(op, array):
    given = array.astype(np.int64) if op.startswith("bitwise") else np.sign(array) if op == "prod" else array
    turned, some = given.transpose(2, 0, 1), -1 if op in PLACES else (0, 2)
    cases = ((given, None, False), (turned, None, True), (turned, some, True), (given, 1, False))
    for view, axis, keepdims in cases:
        got = getattr(gpureduce, op)(view, axis=axis, keepdims=keepdims, device=TWO)
        want = alone(op, view, axis, keepdims)
        assert np.array_equal(got, want) and got.dtype == want.dtype and got.shape == want.shape


def test_all_devices_have_a_share(array, monkeypatch):
    """Pieces go to whichever device has time; here each waits for the others."""
    seen, meet, state_of = {}, threading.Barrier(3), sharded.build.build_state

    def watched(piece, *args, device, **options):
        seen[device] = piece.size
        meet.wait(60)
        return state_of(piece, *args, device=device, **options)

    monkeypatch.setattr(sharded.build, "build_state", watched)
    assert gpureduce.sum(array, device=("sim", "sim:1", "sim")) == exact_sum(array.reshape(-1))
    assert seen == {"sim": 84, "sim:1": 84, "sim:2": 84}


def test_more_pieces_than_devices(array, monkeypatch):
    monkeypatch.setattr(sharded, "_MAX_SHARD_BYTES", 100)
    for axis in (None, 0):
        for op in ("mean", "argmin"):
            got = getattr(gpureduce, op)(array, axis=axis, device=["sim", "sim"])
            assert np.array_equal(got, alone(op, array, axis))


def test_bits_do_not_depend_on_the_devices():
    a = reference.any_bits(np.random.default_rng(1), 500, np.dtype(np.float64))
    b = reference.plain(np.random.default_rng(2), 500, np.dtype(np.float64))
    for devices in (["sim"], TWO, THREE):
        assert same(gpureduce.sum(a, device=devices), exact_sum(a))
        assert same(gpureduce.fsum(a, device=devices), exact_sum(a))
        assert same(gpureduce.dot(a, b, device=devices), reference.exact_dot(a, b))
        assert gpureduce.partial(b, "std", device=devices).result() == alone("std", b, None)


def test_results(array):
    there = gpureduce.sum(array, axis=0, device=["sim:2", "sim"], as_device=True)
    assert there.device == "sim:2" and np.array_equal(there.numpy(), alone("sum", array, 0))
    assert gpureduce.sum(np.empty((0, 3)), axis=0, device=THREE).tolist() == [0, 0, 0]
    assert gpureduce.sum(5.0, device=THREE) == 5
    with pytest.raises(ValueError, match="no elements"):
        gpureduce.max(np.empty(0), device=THREE)
    assert gpureduce.sum(np.arange(5), dtype=np.float32, device=THREE).dtype == np.float32


def placed(array, axis, cuts=(2, 3)):
    parts = np.split(array, cuts, axis)
    return [gpureduce.to_device(part, f"sim:{i}" if i else "sim") for i, part in enumerate(parts)]


@pytest.mark.parametrize("op", ["sum", "argmax"])
def test_sharded(op, array):
    for along in (0, 1, -1):
        whole = gpureduce.Sharded(placed(array, along), along)
        assert whole.shape == array.shape and whole.dtype == array.dtype
        for axis in (None, 0, 2):
            got = getattr(gpureduce, op)(whole, axis=axis)
            assert np.array_equal(got, alone(op, array, axis)), (along, axis)


def by_threads(monkeypatch):
    """A list that grows with each state that is not made at once, and what makes it."""
    count, states = [], sharded.build.build_state
    monkeypatch.setattr(sharded.build, "build_state", lambda *a, **o: count.append(1) or states(*a, **o))
    return count, states


@pytest.mark.parametrize("name", [*reference.DTYPES, "complex64", "int32"])
def test_sums_of_tensors_at_once(name, monkeypatch):
    """One thread launches on all devices; what it does not take gives the same by several."""
    count, states = by_threads(monkeypatch)
    rng, floats = np.random.default_rng(3), name in reference.DTYPES
    for make in reference.KINDS if floats else reference.KINDS[:1]:
        if floats:
            a = make(rng, 600, reference.dtype_of(name))
        else:
            a = (rng.standard_normal(600) * 99).astype(name)
        whole = gpureduce.Sharded(placed(a.reshape(20, 30)[:, ::-1], 1, (7, 8)), 1)
        for op, options in (("sum", {}), ("fsum", {}), ("mean", {"exact": True}), ("mean", {})):
            if floats:
                got = getattr(gpureduce, op)(whole, **options)
                assert same(got, exact_sum(a, divisor=600 if op == "mean" else 1)), op
                assert got.dtype == a.dtype and not count
            else:
                states_of = states(a, "mean" if op == "mean" else "sum", device="sim")
                if op != "fsum":
                    assert getattr(gpureduce, op)(whole, **options) == states_of.result()
                    assert not count
    if floats:
        for others in (whole.parts[0].numpy(), gpureduce.to_device(a[:0].reshape(20, 0), "sim")):
            count.clear()
            mixed = gpureduce.Sharded([*whole.parts, others], 1)
            assert same(gpureduce.sum(mixed), gpureduce.partial(mixed, "sum").result()) and count
    assert gpureduce.sum(whole, axis=0).shape == (30,) and gpureduce.sum(whole, keepdims=True).shape == (1, 1)


WHOLE = ("bool", "int8", "int32", "int64", "uint8", "uint64")
OPERATORS = ("sum", "mean", "var", "std", "min", "max", "argmin", "argmax", "any", "all", "count_nonzero")
OPERATORS += ("prod", "bitwise_and", "bitwise_or", "bitwise_xor")


def hostile(rng, dtype, draw):
    """24 elements, of which many are alike."""
    if dtype.kind in "biu":
        small = (np.arange(24) % (2 if dtype.kind == "b" else 5)).astype(dtype)
        return rng.integers(0, 256, small.nbytes, np.uint8).view(dtype) if draw % 2 else small
    few = ((0.0, -0.0), (1.0, -1.0, 2.0), (1.0, np.nan, 3.0), (-np.inf, np.inf), (0.7, 1.3))[draw % 5]
    a = rng.choice(few, 24).astype(dtype)
    if dtype.kind == "c":
        a.imag = rng.choice(few, 24)
    return a


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("name", [*reference.DTYPES, *WHOLE, "complex64", "complex128"])
def test_states_at_once(name, monkeypatch):
    """Each operator: the bytes of the states that threads make, and their results."""
    dtype = reference.dtype_of(name) if name in reference.DTYPES else np.dtype(name)
    rng, at_once = np.random.default_rng(8), set()
    count, _ = by_threads(monkeypatch)
    for draw in range(10):
        along, cuts = draw % 2, ((2, 3), (1, 2))[draw % 2]
        a = hostile(rng, np.dtype("uint8") if name == "bool" else dtype, draw)
        rows = (a % 2).astype(bool) if name == "bool" else a
        rows = rows.reshape(6, 4)[:: 1 - 2 * (draw % 3 == 0)]
        whole = gpureduce.Sharded(placed(rows, along, cuts), along)
        for op in OPERATORS:
            for arrays in (whole, whole.parts[draw % 3]):
                try:
                    want = not_at_once(op, arrays)
                except TypeError as refused:
                    with pytest.raises(TypeError, match=re.escape(str(refused))):
                        gpureduce.partial(arrays, op)
                    continue
                count.clear()
                got = gpureduce.partial(arrays, op)
                assert got.to_bytes() == want.to_bytes(), (op, rows)
                if arrays is whole and (op != "sum" or dtype.itemsize < 8 or dtype.kind not in "iu"):
                    result = getattr(gpureduce, op)(whole)  # other sums may be refused
                    assert result.tobytes() == want.result().tobytes(), (op, rows)
                    assert result.dtype == want.dtype
                if not count:
                    at_once.add(op)
                    got += want  # what it holds can be written to
    left = {"var", "std"} if dtype.kind in "biuc" else set()
    left |= {"sum", "mean"} if dtype.kind in "iu" and dtype.itemsize == 8 else set()
    left |= set() if dtype.kind in "biu" else {op for op in OPERATORS if op.startswith("bitwise")}
    assert at_once == set(OPERATORS) - left


def not_at_once(op, arrays, b=None):
    """The state as threads make it."""
    several = isinstance(arrays, gpureduce.Sharded)
    given = (arrays, op, None, b, None, False, 0, None, None, None)
    return sharded.build_sharded_state(*given) if several else sharded.build.build_state(*given)


def test_products_at_once(array, monkeypatch):
    count, _ = by_threads(monkeypatch)
    flat = array.reshape(-1)
    for name in ("float32", "float64", "complex64", "complex128"):
        a, b = (flat[:120].astype(name), flat[120:240].astype(name) * 0.7)
        if name.startswith("complex"):
            a.imag, b.imag = b.real[::-1], a.real * 0.3
        parts = [gpureduce.Sharded(placed(each, 0)) for each in (a, b)]
        want = not_at_once("dot", *parts[:1], parts[1])
        count.clear()
        for options in ({}, {"exact": True}, {"exact": False}):
            assert gpureduce.dot(*parts, **options).tobytes() == want.result().tobytes()
        assert gpureduce.partial(parts[0], "dot", b=parts[1]).to_bytes() == want.to_bytes()
        one, other = (each.parts[2] for each in parts)
        got = gpureduce.partial(one, "dot", b=other)
        assert got.to_bytes() == not_at_once("dot", one, other).to_bytes()
        assert count == [1]
    for op, b in (("dot", None), ("sum", one)):
        with pytest.raises(TypeError, match=r"b: (only|missing) for dot"):
            gpureduce.partial(one, op, b=b)


def test_parts_that_are_left_to_threads(array, monkeypatch):
    """Of the host, empty, along axes, with options: the same results."""
    count, _ = by_threads(monkeypatch)
    whole = gpureduce.Sharded(placed(array, 0))
    for call in (
        lambda: gpureduce.max(whole, 0),
        lambda: gpureduce.max(whole, keepdims=True),
        lambda: gpureduce.max(gpureduce.Sharded([array[:2], *whole.parts[1:]])),
        lambda: gpureduce.max(gpureduce.Sharded([gpureduce.to_device(array[:0], "sim"), *whole.parts])),
        lambda: gpureduce.max(whole, as_device=True).numpy(),
    ):
        count.clear()
        assert np.max(call()) == array.max() and count
    wanted = gpureduce.partial(array, "var", device="sim").result(ddof=1)
    count.clear()
    assert gpureduce.max(whole) == array.max() and not count
    assert gpureduce.var(whole, ddof=1) == wanted and not count
    with pytest.raises(ValueError, match="initial: not supported with several devices"):
        gpureduce.max(whole, initial=3)
    with pytest.raises(TypeError):
        gpureduce.max()


def test_sharded_vectors(array):
    a, b = (array.reshape(-1)[i::2].copy() for i in range(2))
    parts = [gpureduce.Sharded(placed(each, 0)) for each in (a, b)]
    assert gpureduce.dot(*parts) == reference.exact_dot(a, b)
    with pytest.raises(ValueError, match="lengths of the parts"):
        gpureduce.dot(parts[0], gpureduce.Sharded(placed(b, 0, (5,))))
    mixed = gpureduce.Sharded([a[:9], gpureduce.to_device(a[9:], "sim:1")])  # of the host, too
    assert gpureduce.sum(mixed) == exact_sum(a)
    assert gpureduce.sum(gpureduce.Sharded([a[:9], a[9:]]), device=THREE) == exact_sum(a)


def test_sharded_refused(array):
    one = gpureduce.to_device(array, "sim")
    with pytest.raises(ValueError, match="one array or more"):
        gpureduce.Sharded([])
    with pytest.raises(TypeError, match="number 1 is of float32, the first of float64"):
        gpureduce.Sharded([one, array.astype(np.float32)])
    with pytest.raises(ValueError, match=r"number 1 has the shape \(7, 9\)"):
        gpureduce.Sharded([one, array[..., 0]])
    with pytest.raises(ValueError, match="only along axis 1 may they differ"):
        gpureduce.Sharded([one, array[1:]], 1)
    with pytest.raises(ValueError, match="out of bounds"):
        gpureduce.Sharded([one], 3)
    with pytest.raises(gpureduce.DeviceError, match="not in the list"):
        gpureduce.sum(gpureduce.Sharded([one]), device=["sim:1"])


class Shard:
    """One of an array of JAX's."""

    def __init__(self, data, index, replica_id=0):
        self.data, self.index, self.replica_id = data, index, replica_id


class Jax:
    """As an array of JAX whose blocks lie on three devices, each with a copy."""

    is_fully_addressable = True

    def __init__(self, array):
        self.shape, self.dtype = array.shape, array.dtype
        self.addressable_shards = []
        for i, rows in enumerate((slice(None, 4), slice(4, None))):
            for j, columns in enumerate((slice(0, 5, None), slice(5, 9, None))):
                index = (rows, columns, slice(None))
                data = gpureduce.to_device(array[index], f"sim:{i + j}" if i + j else "sim")
                self.addressable_shards.append(Shard(data, index))
                self.addressable_shards.append(Shard(data, index, 1))

    def __dlpack__(self, **options):
        raise BufferError("lies on several devices")

    def __dlpack_device__(self):
        raise BufferError("lies on several devices")


def test_arrays_of_jax(array):
    whole = Jax(array)
    for axis in (None, 0, 1, 2):
        for op in ("sum", "argmin"):
            assert np.array_equal(getattr(gpureduce, op)(whole, axis=axis), alone(op, array, axis)), (
                op,
                axis,
            )
    whole.is_fully_addressable = False
    with pytest.raises(ValueError, match="other processes"):
        gpureduce.sum(whole)


@pytest.mark.gpu
def test_an_array_of_jax_on_a_gpu(array):
    """As JAX itself divides it, over the devices that there are."""
    jax = pytest.importorskip("jax")
    devices = jax.devices("gpu")
    rows = jax.sharding.PartitionSpec("rows")
    place = jax.sharding.NamedSharding(jax.sharding.Mesh(np.array(devices), ("rows",)), rows)
    whole = array[: len(array) // len(devices) * len(devices)].astype(np.float32)
    theirs = jax.device_put(whole, place)
    for axis in (None, 0, 1):
        for op in ("sum", "argmin", "max"):
            assert np.array_equal(
                getattr(gpureduce, op)(
                    gpureduce.Sharded([s.data for s in theirs.addressable_shards]), axis=axis
                ),
                alone(op, whole, axis),
            )
    assert same(gpureduce.sum(theirs, exact=True), exact_sum(whole.reshape(-1)))


def test_a_device_that_fails(array, monkeypatch):
    """Its error is raised, and the others begin nothing more."""
    with pytest.raises(gpureduce.DeviceError, match="sim:8: no such device"):
        gpureduce.sum(np.ones(90), device=["sim"] * 9)
    began, state_of = [], sharded.build.build_state

    def failing(piece, *args, device, **options):
        began.append(device)
        if len(began) > 2:
            raise gpureduce.DeviceError(f"{device} fell off the bus")
        return state_of(piece, *args, device=device, **options)

    monkeypatch.setattr(sharded, "_MAX_SHARD_BYTES", 100)
    monkeypatch.setattr(sharded.build, "build_state", failing)
    with pytest.raises(gpureduce.DeviceError, match="fell off"):
        gpureduce.sum(array, device=["sim", "sim"])
    assert 3 <= len(began) <= 4
    monkeypatch.undo()
    assert gpureduce.sum(array, device=THREE) == exact_sum(array.reshape(-1))


@pytest.mark.parametrize(
    ("device", "error", "said"),
    [
        ([], ValueError, "the list is empty"),
        (["cuda:0", "cuda"], ValueError, "cuda:0 is listed twice"),
        (["sim:1", "sim:1"], ValueError, "sim:1 is listed twice"),
        (["sim", 3], TypeError, "expected str, Device or None, got int"),
        (["sim", "gpu"], ValueError, "unknown device 'gpu'"),
    ],
)
def test_refused_devices(device, error, said):
    with pytest.raises(error, match=said):
        gpureduce.sum([1.0], device=device)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"where": np.ones(2, bool)}, "where: not supported with several devices"),
        ({"initial": 1}, "initial: not supported"),
        ({"out": np.empty(())}, "out: not supported"),
        ({"variant": "v7"}, "variant: not supported"),
        ({"stream": 1}, "stream: not supported"),
    ],
)
def test_refused_options(options, said):
    with pytest.raises(ValueError, match=said):
        gpureduce.sum([1.0, 2.0], device=THREE, **options)


def test_refused_arrays(array):
    with pytest.raises(TypeError, match="for host arrays"):
        gpureduce.sum(gpureduce.to_device(array, "sim"), device=THREE)
    with pytest.raises(ValueError, match="one length"):
        gpureduce.dot([1.0], [1.0, 2.0], device=THREE)
    with pytest.raises(ValueError, match="offset: not supported"):
        gpureduce.partial(array, "argmax", offset=3, device=THREE)


def test_all_gpus_where_there_is_none(monkeypatch):
    monkeypatch.setattr(gpureduce._core, "cuda_problem", lambda: "no driver")
    with pytest.raises(gpureduce.DeviceError, match=r"'cuda:all' needs a CUDA device, .*no driver"):
        gpureduce.sum([1.0], device="cuda:all")


def test_simulators_of_their_own(array):
    there = gpureduce.to_device(array, "sim:3")
    assert there.device == "sim:3" and (gpureduce.to_device(there, "sim").numpy() == array).all()
    assert gpureduce.max(there, axis=0).device == "sim:3"
    with pytest.raises(gpureduce.DeviceError, match="is on sim:3"):
        gpureduce.sum(there, device="sim")
