"""Each kernel for reductions along axes, at the limits where the plan turns from one to the next; the
elements are integers of which none is zero, so that one lost or doubled changes a result. See
csrc/reduce/general/axis.c."""

import itertools

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce._device.devices import resolve


class Reductions:
    """Reduces views of device memory that may begin between the 16-byte boundaries."""

    def __init__(self, device):
        self.device = device
        self.kind, self.index = resolve(device)
        self.plans = set()

    def __call__(self, op, array, axes, skip=0, initial=None):
        """Compare with NumPy's; `skip` elements come before those of the array."""
        flat = np.concatenate([np.full(skip, 7, array.dtype), array.ravel(order="K")])
        memory = gpureduce.to_device(flat, self.device)
        view = (memory._pointer + skip * array.itemsize, array.shape, array.strides, array.dtype.name)
        start = None if initial is None else np.array(initial, self.result_dtype(op, array))
        got = _core.general(view, op, axes, None, start, None, self.kind, self.index, None)
        self.plans.add(
            " ".join(" ".join(launch[:2]).strip() for launch in _core.plan_general(view, op, axes, None))
        )
        if op.startswith("arg"):
            want = getattr(np, op)(array, axis=axes[0])
        else:
            exact = array.astype(np.float64) if array.dtype.kind == "f" else array
            extra = {} if initial is None else {"initial": initial}
            want = getattr(np, op)(exact, axis=axes, **extra)
        assert np.array_equal(got, want), (op, array.dtype, array.shape, array.strides, axes, skip)

    @staticmethod
    def result_dtype(op, array):
        return np.int64 if op == "sum" and array.dtype.kind == "i" else array.dtype


@pytest.fixture
def reductions(device):
    return Reductions(device)


def data(shape, dtype, low=-60):
    """Integers from `low` to 60, none of them zero, and more than one largest in most rows."""
    values = np.random.default_rng(sum(shape)).integers(low, 60, shape)
    return (values + (values >= 0)).astype(dtype)


FEW_AXES = [
    (70_001, 2, 2), (7, 40, 8), (7, 40, 9), (40, 3, 130), (5, 129, 66), (2, 3, 4, 5), (9, 5, 33, 4),
]  # fmt: skip

DTYPES = ["int8", "float32", "float64", "complex128"]

# Shape, reduced axes, elements skipped, dtype: and the launches that shall reduce it, of sums first if these
# are others; after a semicolon those of positions, if they are others.
WAYS = [
    ((4, 1000), (1,), 0, "float32", "pieces, rows"),
    ((3, 400_003), (1,), 0, "float32", "pieces ragged last, rows last"),
    ((300, 7, 300), (0, 2), 0, "float32", "rows last"),
    ((300, 40), (1,), 0, "float32", "tiles"),
    ((300, 5, 3), (1,), 0, "float32", "tiles"),
    ((9, 1), (1,), 0, "float32", "map"),
    ((90, 1024), (0,), 0, "float32", "axis, columns"),
    ((30, 1024), (0,), 0, "float32", "axis"),
    ((4, 1024), (0,), 0, "float32", "axis, columns"),
    ((9000, 16), (0,), 0, "float32", "axis last, columns last"),
    ((3000, 16), (0,), 1, "float32", "axis, columns fold last; axis last"),
    ((300, 9), (0,), 0, "float32", "axis"),
    ((300, 1023), (0,), 0, "float32", "axis, columns ragged last; axis"),
    ((70, 1023), (0,), 0, "float32", "axis, spread; axis"),
    ((10, 1023), (0,), 0, "float32", "axis"),
    ((3000, 1023), (0,), 0, "float32", "axis, columns ragged last; axis last"),
    ((4200, 1023), (0,), 0, "float32", "axis last, columns ragged last"),
    ((4200, 1000), (0,), 0, "float32", "lanes last, columns last"),
    ((3, 140_001), (0,), 0, "float32", "whole"),
    ((3, 4, 2, 5, 3), (0, 2, 4), 0, "float32", "axis"),
]  # fmt: skip


@pytest.mark.parametrize("shape, axes, skip, dtype, way", WAYS, ids=str)
def test_each_way_is_taken(shape, axes, skip, dtype, way, reductions):
    for op in ("sum", "max"):
        reductions(op, data(shape, dtype), axes, skip)
    others, _, position = way.partition("; ")
    ways = set(others.split(", "))
    assert reductions.plans == ways
    reductions.plans.clear()
    if len(axes) == 1:
        reductions("argmin", data(shape, dtype), axes, skip)
    one_element = all(shape[axis] == 1 for axis in axes)  # whose position is 0: written without a kernel
    positions = {position} if position else {""} if one_element else {others.split(", ")[-1]}
    assert reductions.plans == (positions if len(axes) == 1 else set())


def test_an_initial_value_takes_part_once(reductions):
    for shape, axes, skip, dtype, _ in WAYS:
        reductions("sum", data(shape, dtype), axes, skip, initial=1000)
        reductions("max", data(shape, dtype), axes, skip, initial=50)
    assert reductions.plans == {each for *_, way in WAYS for each in way.partition("; ")[0].split(", ")}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("skip", [0, 1])
def test_every_small_number_of_rows_and_columns(dtype, skip, reductions):
    lengths = [*range(1, 41), 63, 64, 65, 127, 128, 129]
    for rows, columns in itertools.product(lengths, [1, 2, 3, 4, 8, 9, 31, 40, 129]):
        array = data((rows, columns), dtype)
        reductions("sum", array, (0,), skip)
        reductions("sum", array, (1,), skip)
    ragged = (
        dtype == "int8"
    )  # the order of floating-point numbers counts, so that these have `lanes` and `axis`
    assert reductions.plans >= {"map", "tiles"} | ({"columns fold"} if ragged else set())
    first = "rows" if dtype == "int8" else "pieces"
    assert any(plan.startswith(first) for plan in reductions.plans)
    assert ("columns" in reductions.plans) == (ragged and skip == 0)


def test_many_ragged_rows_of_large_elements(reductions):
    reductions("sum", data((70_000, 31), "float64"), (0,))
    reductions("sum", data((60_000, 31), "float64"), (0,))
    assert reductions.plans == {"lanes last", "axis last"}
    reductions.plans.clear()
    reductions("max", data((70_000, 31), "float64"), (0,))
    reductions("max", data((60_000, 31), "float64"), (0,))
    assert reductions.plans == {"columns fold last", "axis last"}


@pytest.mark.parametrize(
    "shape", [(257, 1001), (1001, 257), (513, 33), (511, 100), (2100, 12), (66_000, 3), (3, 66_000)], ids=str
)
@pytest.mark.parametrize("skip", [0, 1, 3])
def test_longer_rows_and_columns(shape, skip, reductions):
    for dtype, op in [("int8", "sum"), ("int16", "argmax"), ("float32", "sum")]:
        for axis in (0, 1):
            reductions(op, data(shape, dtype), (axis,), skip)


@pytest.mark.parametrize("skip", [0, 1])
@pytest.mark.parametrize("shape", FEW_AXES, ids=str)
def test_every_choice_of_axes(shape, skip, reductions):
    for count in range(1, len(shape)):
        for axes in itertools.combinations(range(len(shape)), count):
            for dtype in ("int8", "float32"):
                reductions("sum", data(shape, dtype), axes, skip)
            if count == 1:
                reductions("argmin", data(shape, "int32"), axes, skip)


def test_axes_in_any_order_and_direction(device):
    base = data((12, 10, 9, 24), "float32")
    for order in itertools.permutations(range(4)):
        view = base.transpose(order)
        for array in (view, view[::-1, :, ::-2], view[:, 1:, :, 1:]):
            for axes in [(0,), (1,), (3,), (0, 2), (1, 3), (0, 1, 3)]:
                got = gpureduce.sum(array, axis=axes, device=device)
                assert np.array_equal(got, array.sum(axis=axes)), (array.shape, array.strides, axes)
            assert np.array_equal(gpureduce.argmax(array, 2, device=device), array.argmax(2))


def test_results_at_an_address_of_their_own(device):
    """Vectors of results are stored one by one where `out` does not begin on a boundary."""
    kind, index = resolve(device)
    for shape, axes in [((1, 999), (0,)), ((5, 1024), (0,)), ((900, 6), (1,))]:
        array = data(shape, "float32")
        want = array.sum(axis=axes)
        room = gpureduce.to_device(np.full(want.size + 2, -1, np.float32), device)
        out = (room._pointer + 4, want.shape, (4,), "float32")
        _core.general(array, "sum", axes, None, None, out, kind, index, None)
        assert np.array_equal(room.numpy(), [-1, *want, -1])


def test_few_elements_each_of_permuted_arrays_have_one_launch(reductions):
    """Their results are written where they belong at once, however many; sums of floats keep their order."""
    for shape, order in (
        ((2, 8, 5000, 2), (2, 1, 0, 3)),
        ((6000, 2, 13), (2, 1, 0)),
        ((3, 9000, 3), (2, 1, 0)),
    ):
        array = data(shape, "float32").transpose(order).copy().transpose(np.argsort(order))
        for op in ("argmax", "argmin", "max", "any"):
            reductions.plans.clear()
            reductions(op, array, (1,) if shape[0] != 3 else (2,))
            assert not any("last" in plan for plan in reductions.plans), (op, shape, reductions.plans)
