"""Reductions of views of device memory: crops, steps, axes in another order, axes that repeat what is there.
All elements are integers, none of them zero, so that one lost, doubled or misplaced changes a result."""

import itertools

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce._device.devices import resolve

OPS = ("sum", "max", "argmax", "any")
EXACT = {"float32": np.float64, "float16": np.float64}


class Memory:
    """An array of the device and views of it, described as by NumPy."""

    def __init__(self, device, dtype, count):
        self.place = resolve(device)
        values = np.random.default_rng(count).integers(-3, 4, count)
        self.host = (values + (values >= 0)).astype(dtype)
        self.memory = gpureduce.to_device(self.host, device)

    def cut(self, cut):
        """Return a view of the elements on the host, and as the core takes it."""
        view = cut(self.host)
        offset = view.__array_interface__["data"][0] - self.host.__array_interface__["data"][0]
        return view, (self.memory._pointer + offset, view.shape, view.strides, view.dtype.name)

    def kernels(self, cut, op, axes):
        return " ".join(" ".join(launch[:2]).strip() for launch in _core.plan_general(cut[1], op, axes, None))

    def check(self, cut, op, axes):
        view, described = cut
        got = _core.general(described, op, axes, None, None, None, *self.place, None)
        exact = view.astype(EXACT.get(view.dtype.name, view.dtype))
        if op == "argmax":
            want = exact.argmax(axes[0] if len(axes) < view.ndim else None)
        else:
            want = getattr(np, op)(exact, axis=axes)
        assert np.array_equal(got, want), (op, view.shape, view.strides, axes)


def expand(view, shape):
    return np.broadcast_to(view, shape)


def five(a):
    return a[:57_024].reshape(6, 8, 9, 11, 12)


# What to cut from 60,000 elements, reduced axes, and the launches for float32.
CUTS = {
    "crop": (lambda a: a.reshape(240, 250)[2:-2, 2:-2], (0,), "axis"),
    "crop of vectors": (lambda a: a.reshape(240, 250)[:, :8], (0,), "axis"),
    "crop in words": (lambda a: a[:57_600].reshape(240, 240)[2:-2, 3:-2], (0,), "axis"),
    "crops in words": (lambda a: a.reshape(10, 25, 240)[:, 1:, 1:-6], (0, 1), "spread"),
    "odd pitch": (lambda a: a[:59_976].reshape(204, 294)[1:, 3:291], (1,), "pieces ragged"),
    "short runs": (lambda a: a.reshape(6000, 10)[:, 1:8], (1,), "axis"),
    "every second": (lambda a: a[::2], (0,), "axis last"),
    "every third column": (lambda a: a.reshape(200, 300)[:, ::3], (0,), "axis"),
    "every third row": (lambda a: a.reshape(200, 300)[::3], (0,), "axis"),
    "permuted": (lambda a: a[:57_600].reshape(80, 30, 24).transpose(2, 0, 1), (1,), "axis"),
    "permuted few": (lambda a: a[:57_600].reshape(40, 60, 24).transpose(2, 0, 1), (1,), "axis"),
    "permuted rows": (lambda a: a[:57_600].reshape(20, 30, 96).transpose(1, 0, 2), (2,), "tiles"),
    "permuted alone": (lambda a: a[:57_600].reshape(40, 1, 60, 24).transpose(3, 1, 0, 2), (1,), "map"),
    "cube of crops": (lambda a: a.reshape(30, 40, 50)[1:, 2:, 3:], (0, 1, 2), "rows last"),
    "five crops": (lambda a: five(a)[1:, 1:, 1:, 1:, 1:], (0, 1, 2, 3, 4), "axis last"),
    "three outside": (lambda a: five(a)[1:, 1:, 1:, 1:, 1:], (0, 1, 2), "axis"),
    "column repeated": (lambda a: expand(a[:3000:3, None], (1000, 7)), (1,), "axis"),
    "row repeated": (lambda a: expand(a[:3000], (17, 3000)), (0,), "axis"),
    "both repeated": (lambda a: expand(a[:900].reshape(30, 1, 30), (30, 11, 30)), (1, 2), "tiles last"),
    "results repeated": (lambda a: expand(a[:900].reshape(30, 1, 30), (30, 700, 30)), (2,), "pieces ragged"),
    "results shared": (lambda a: expand(a[:3000].reshape(30, 1, 100), (30, 2000, 100)), (2,), "tiles last"),
    "all repeated": (lambda a: expand(a[:30, None], (30, 140_000))[:, :, None], (0, 2), "tiles last"),
}  # fmt: skip


# The launches of operators whose order does not count, where these are others.
IN_ANY_ORDER = {
    "crop": "spread",
    "crop in words": "spread",
    "every third row": "columns",
    "permuted": "columns",
}


@pytest.mark.parametrize("name", CUTS)
def test_views(name, device):
    cut, axes, kernels = CUTS[name]
    for dtype in ("float32", "int8", "float64"):
        memory = Memory(device, dtype, 60_000)
        view = memory.cut(cut)
        if dtype == "float32":
            assert memory.kernels(view, "sum", axes) == kernels
            if name in IN_ANY_ORDER:
                assert memory.kernels(view, "max", axes) == IN_ANY_ORDER[name]
        for op in OPS:
            if op != "argmax" or len(axes) in (1, view[0].ndim):
                memory.check(view, op, axes)


def test_more_results_than_a_launch_hands_out_at_once(device):
    memory = Memory(device, "float64", 3 * 7)
    view = memory.cut(lambda a: expand(a.reshape(3, 1, 7), (3, 100_000, 7)))
    assert memory.kernels(view, "sum", (2,)) == "tiles last"
    memory.check(view, "sum", (2,))


def test_words_at_the_ends_of_memory(device):
    """Rows of bytes are loaded in words, but nothing before the first element nor behind the last one."""
    for dtype, skip in (("int8", 1), ("int8", 2), ("uint8", 3), ("int16", 1)):
        memory = Memory(device, dtype, 120 * 120 + skip)
        view = memory.cut(lambda a, skip=skip: a[skip:].reshape(120, 120)[:, 2:])
        assert memory.kernels(view, "sum", (0,)) == "spread"
        for op in OPS:
            memory.check(view, op, (0,))


def test_repeated_elements_count_as_often_as_they_are_there(device):
    memory = Memory(device, "int64", 5)
    for times in (*range(2, 18), 1023, 1024, 1 << 40):
        view, described = memory.cut(lambda a, times=times: expand(a[:, None], (5, times)))
        for op, want in [
            ("sum", view[:, 0] * times),
            ("prod", [np.multiply.reduce(np.full(times, x)) if times < 2000 else 0 for x in view[:, 0]]),
            ("bitwise_xor", view[:, 0] * (times % 2)),
            ("count_nonzero", [times] * 5),
            ("mean", view[:, 0]),
            ("min", view[:, 0]),
            ("argmin", [0] * 5),
        ]:
            if op == "prod" and times > 2000:
                continue
            got = _core.general(described, op, (1,), None, None, None, *memory.place, None)
            assert np.array_equal(got, want), (op, times)


def test_an_initial_value_is_not_repeated(device):
    memory = Memory(device, "int64", 5)
    _, described = memory.cut(lambda a: expand(a[:, None], (5, 100)))
    start = np.array(1000, np.int64)
    got = _core.general(described, "sum", (1,), None, start, None, *memory.place, None)
    assert np.array_equal(got, memory.host * 100 + 1000)


def test_nothing_repeated_is_nothing(device):
    memory = Memory(device, "int64", 5)
    _, described = memory.cut(lambda a: expand(a[:, None], (5, 0)))
    got = _core.general(described, "sum", (1,), None, None, None, *memory.place, None)
    assert np.array_equal(got, np.zeros(5))


def test_positions_count_what_is_repeated(device):
    """The first of the largest, as if each repetition were elements of its own."""
    memory = Memory(device, "int32", 12)
    for cut in (
        lambda a: expand(a.reshape(3, 1, 4), (3, 5, 4)),
        lambda a: expand(a.reshape(3, 4, 1), (3, 4, 6)),
        lambda a: expand(a.reshape(1, 12), (7, 12)),
    ):
        view = memory.cut(cut)
        memory.check(view, "argmax", tuple(range(view[0].ndim)))


def test_order_and_steps_of_every_axis(device):
    """Every permutation of four axes, some of them cropped, stepped over or repeated, over every axis."""
    for dtype in ("float32", "uint8"):
        memory = Memory(device, dtype, 4 * 6 * 5 * 24)
        for order in itertools.permutations(range(4)):
            for cut in (
                lambda a, order=order: a.reshape(4, 6, 5, 24).transpose(order),
                lambda a, order=order: a.reshape(4, 6, 5, 24)[:, 1:, :, 3:].transpose(order),
                lambda a, order=order: a.reshape(4, 6, 5, 24)[:, ::2, ::-1, :8].transpose(order),
                lambda a, order=order: expand(a.reshape(4, 6, 5, 24)[:, :, :1], (4, 6, 3, 24)).transpose(
                    order
                ),
            ):
                view = memory.cut(cut)
                for axes in [(0,), (2,), (1, 3), (0, 1, 2)]:
                    memory.check(view, "sum", axes)
                memory.check(view, "argmax", (1,))


def test_results_follow_in_c_order_on_the_device(device):
    """Whatever the order of the elements, as `out` says."""
    memory = Memory(device, "int32", 2400)
    for cut in (lambda a: a.reshape(6, 20, 20).transpose(2, 1, 0), lambda a: a.reshape(20, 6, 20).T):
        view, described = memory.cut(cut)
        want = view.sum(0)
        room = gpureduce.to_device(np.full(want.size + 1, -1, np.int64), device)
        out = (room._pointer, want.shape, want.strides, "int64")
        _core.general(described, "sum", (0,), None, None, out, *memory.place, None)
        assert np.array_equal(room.numpy(), [*want.ravel(), -1])


# Results in another order than the elements, so that a copy follows the launch: what to cut, reduced axes,
# and the launch for positions of float64. The copy transposes vectors or elements, or copies runs or single
# elements.
PLACED = {
    "alone": (lambda a: a[:1_052_000].reshape(2000, 1, 526).transpose(2, 1, 0), (1,), ""),
    "vectors": (lambda a: a[: 9 * 65_536].reshape(9, 256, 256).transpose(2, 0, 1), (1,), "columns"),
    "rows": (lambda a: a[: 9 * 66_000].reshape(220, 300, 9).transpose(1, 0, 2), (2,), "tiles"),
    "three axes": (lambda a: a[: 9 * 68_000].reshape(340, 9, 50, 4).transpose(2, 1, 3, 0), (1,), "columns"),
    "short axes": (lambda a: a[: 10 * 66_000].reshape(-1, 10, 2, 3).transpose(3, 0, 1, 2), (2,), "columns"),
    "runs": (lambda a: a[: 9 * 65_536].reshape(16, 9, 64, 64).transpose(2, 0, 1, 3), (2,), "columns"),
}  # fmt: skip


@pytest.fixture(scope="module")
def large_memories():
    return {}


@pytest.mark.parametrize("name", PLACED)
def test_many_results_in_another_order_than_the_elements(name, device, large_memories):
    """Results of 1, 2, 4, 8 and 16 bytes, which begin at any address; the memory around them is unchanged."""
    cut, axes, launch = PLACED[name]
    for dtype, op, skip in [
        ("int8", "any", 3), ("uint8", "max", 0), ("float16", "max", 0), ("float16", "max", 1),
        ("float32", "sum", 1), ("float64", "argmax", 1), ("complex128", "sum", 1),
    ]:  # fmt: skip
        if dtype not in large_memories:
            large_memories[dtype] = Memory(device, dtype, 1_056_000)
        memory = large_memories[dtype]
        view, described = memory.cut(cut)
        exact = view.astype(EXACT.get(dtype, dtype))
        want = exact.argmax(axes[0]) if op == "argmax" else getattr(np, op)(exact, axis=axes)
        want = np.ascontiguousarray(want.astype({"any": "bool", "argmax": "int64"}.get(op, dtype)))
        room = np.full(want.size + skip + 1, 1, want.dtype)
        results = gpureduce.to_device(room, device)
        out = (results._pointer + skip * want.itemsize, want.shape, want.strides, want.dtype.name)
        _core.general(described, op, axes, None, None, out, *memory.place, None)
        room[skip:-1] = want.ravel()
        assert np.array_equal(results.numpy(), room), (dtype, op, skip)
        if op == "argmax":
            assert memory.kernels((view, described), op, axes) == launch


@pytest.mark.parametrize("op", ["sum", "mean", "var", "logsumexp"])
def test_results_in_another_order_have_the_same_bits(op, device):
    """Of rows whose bits depend on the order of their elements."""
    values = np.random.default_rng(7).standard_normal((220, 300, 9)).astype(np.float32)
    values[..., 4:8] = -values[..., :4]
    rows = gpureduce.to_device(values, device)
    function = getattr(gpureduce, op)
    wanted = function(rows, axis=2, as_device=True).numpy()
    got = function(rows.transpose(1, 0, 2), axis=2, as_device=True).numpy()
    assert got.tobytes() == wanted.T.tobytes()
