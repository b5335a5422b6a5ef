"""where= of group_reduce and segment_reduce: results, exactness, layouts, devices, errors."""

import itertools
import math

import numpy as np
import pytest

import gpureduce
from tests.segments.test_group_sums import expected_floats

OPS = (
    "sum", "mean", "prod", "min", "max", "any", "all", "count_nonzero", "var", "std", "logsumexp", "nansum",
    "nanmean", "nanmax", "nanvar",
)  # fmt: skip
PLACES = ("argmin", "argmax")
GROUPS = 5
SHAPES = (((200,), 0), ((60, 4), 0), ((4, 60), 1), ((3, 40, 2), 1))
EMPTY = {"min": math.inf, "max": -math.inf, "nanmax": -math.inf, "logsumexp": -math.inf, "argmin": -1,
         "argmax": -1}  # fmt: skip


def drawn(shape, seed=1):
    """Numbers of few bits, so that NumPy's results hardly depend on the order."""
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(np.float32) / 4


def masks_of(shape, axis, seed=2):
    """Masks with a value per element, per row, per index of the last axis, and for all elements."""
    rng = np.random.default_rng(seed)
    rows = [-1 if i == axis else 1 for i in range(len(shape))]
    return {
        "elements": rng.random(shape) < 0.6,
        "rows": (rng.random(shape[axis]) < 0.6).reshape(rows),
        "columns": rng.random(shape[-1]) < 0.6,
        "none": np.zeros((), bool),
        "all": np.ones(1, bool),
    }


def of_column(op, values, rows):
    """Return NumPy's reduction of some elements of a column, or the result of no elements."""
    if op in PLACES:
        return rows[getattr(np, op)(values)] if len(rows) else -1
    if len(rows) == 0 and op in EMPTY:
        return EMPTY[op]
    if len(rows) == 0 and op in ("mean", "var", "std", "nanmean", "nanvar"):
        return math.nan
    if op == "logsumexp":
        return np.log(np.exp(values.astype(np.float64)).sum())
    return getattr(np, op)(values.astype(np.float64))


def expected(a, labels, groups, op, axis, mask):
    """Return the reductions of groups of the elements that a mask chooses, column by column."""
    chosen = np.moveaxis(np.broadcast_to(mask, a.shape), axis, 0)
    moved = np.moveaxis(a, axis, 0)
    result = np.empty((groups, *moved.shape[1:]))
    for column in np.ndindex(moved.shape[1:]):
        at = (slice(None), *column)
        for group in range(groups):
            rows = np.flatnonzero((labels == group) & chosen[at])
            result[(group, *column)] = of_column(op, moved[at][rows], rows)
    return np.moveaxis(result, 0, axis)


def put(array, device, on_device):
    return gpureduce.to_device(np.ascontiguousarray(array), device) if on_device else array


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("op", OPS + PLACES)
def test_groups_and_segments(op, on_device, device):
    for shape, axis in SHAPES:
        a, length = drawn(shape), shape[axis]
        labels = np.random.default_rng(3).integers(-1, GROUPS - 1, length)
        offsets = np.array([2, 9, 9, length - 7, length - 3])
        segments = np.searchsorted(offsets, np.arange(length), "right") - 1
        segments[segments == len(offsets) - 1] = -1
        for name, mask in masks_of(shape, axis).items():
            options = {"axis": axis, "where": put(mask, device, on_device and mask.ndim > 0)}
            options |= {"device": device, "as_device": False}
            there = put(a, device, on_device)
            calls = (
                (gpureduce.group_reduce, (put(labels, device, on_device), op, GROUPS), labels, GROUPS),
                (gpureduce.segment_reduce, (put(offsets, device, on_device), op), segments, 4),
            )
            for function, arguments, of_rows, count in calls:
                got = function(there, *arguments, **options)
                want = expected(a, of_rows, count, op, axis, mask)
                assert got.shape == want.shape
                np.testing.assert_allclose(got, want, 1e-6, 1e-6, err_msg=f"{shape} {axis} {name}")
                if op in PLACES:
                    other = function(there, *arguments, **options | {"as_device": True})
                    np.testing.assert_array_equal(other.numpy(), got)


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("name", ["float32", "float64", "float16"])
def test_sums_are_exact_in_any_order(name, on_device, device):
    """Of data that cancel and spread over exponents, whose masked elements are infinite or NaN."""
    rng = np.random.default_rng(4)
    n = 30_000 if on_device else 9_000
    spread = 6 if name == "float16" else 40
    a = (rng.standard_normal(n) * 2.0 ** rng.integers(-spread, spread // 2, n)).astype(name)
    labels, mask = rng.integers(-1, 40, n), rng.random(n) < 0.7
    a[~mask] = np.resize([np.inf, np.nan, 1, -np.inf], (~mask).sum())
    for op in ("sum", "mean"):
        want = expected_floats(a, np.where(mask, labels, -1), 40, op == "mean")
        for order in (np.arange(n), rng.permutation(n)):
            given = [put(each[order], device, on_device) for each in (a, labels, mask)]
            got = gpureduce.group_reduce(
                given[0], given[1], op, 40, where=given[2], device=device, as_device=False
            )
            assert got.tobytes() == want.tobytes()
            rows = np.stack([a[order], a[order][::-1]], 1)
            chosen = np.stack([mask[order], mask[order]], 1)
            chosen[:, 1] = False
            given = [put(each, device, on_device) for each in (rows, labels[order], chosen)]
            got = gpureduce.group_reduce(
                given[0], given[1], op, 40, where=given[2], device=device, as_device=False
            )
            assert got[:, 0].tobytes() == want.tobytes()
            assert not got[:, 1].any() if op == "sum" else np.isnan(got[:, 1]).all()


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_labels_of_every_dtype(name, device):
    """On the device; those out of range, too, and strides. A negative int8 is below 300 as an uint8."""
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 12, 500).astype(name)
    if name.startswith("i"):
        labels[::7] = -3
    labels[::11] = 100
    a, mask = rng.integers(-9, 9, (500, 3)), rng.random((500, 3)) < 0.5
    want = expected(a, labels.astype(np.int64), 300, "sum", 0, mask)
    there, chosen = (gpureduce.to_device(each, device) for each in (a, mask))
    every_other = gpureduce.to_device(np.repeat(labels, 2), device)[::2]
    for given in (gpureduce.to_device(labels, device), every_other):
        got = gpureduce.group_reduce(there, given, "sum", 300, where=chosen)
        np.testing.assert_array_equal(got.numpy(), want)


def test_layouts_on_a_device(device):
    """Transposed and reversed elements and masks, and a result in `out`."""
    rng = np.random.default_rng(6)
    a, mask = rng.integers(-9, 9, (6, 50, 4)), rng.random((6, 50, 4)) < 0.5
    labels = rng.integers(-1, 7, 50)
    there, chosen, at = (gpureduce.to_device(each, device) for each in (a, mask, labels))
    for axes, step in itertools.product([(0, 1, 2), (2, 1, 0), (1, 2, 0)], [1, -1]):
        axis = axes.index(1)
        part = (slice(None, None, step),) * 3
        x, m = a.transpose(axes)[part], mask.transpose(axes)[part]
        along = labels[::step]
        want = expected(x, along, 7, "sum", axis, m)
        out = gpureduce.to_device(np.empty(want.shape, np.int64), device)
        got = gpureduce.group_reduce(
            there.transpose(axes)[part], at[::step], "sum", 7, axis=axis, out=out,
            where=chosen.transpose(axes)[part],
        )  # fmt: skip
        assert got is out
        np.testing.assert_array_equal(out.numpy(), want)


def test_sums_of_integers(device):
    """They wrap, or exact=True tells which group does not fit; elements that are left out do not count."""
    a = np.full((5, 2), np.iinfo(np.int64).max)
    mask = np.array([[True, True], [False, True], [False, False], [False, False], [True, False]])
    labels = [0, 0, 0, 0, 1]
    for there, chosen in ((a, mask), [gpureduce.to_device(each, device) for each in (a, mask)]):
        options = {"where": chosen, "device": device, "as_device": False}
        got = gpureduce.group_reduce(there, labels, num_groups=2, **options)
        assert got.tolist() == [[a[0, 0], -2], [a[0, 0], 0]]
        with pytest.raises(OverflowError, match=r"of group 0 does not fit int64"):
            gpureduce.group_reduce(there, labels, num_groups=2, exact=True, **options)
    few = gpureduce.group_reduce(a[:, 0], labels, where=mask[:, 0], exact=True, device=device)
    assert few.tolist() == [a[0, 0]] * 2


def test_no_elements(device):
    a, mask = np.zeros((0, 3), np.float32), np.zeros((0, 3), bool)
    for there, chosen in ((a, mask), [gpureduce.to_device(each, device) for each in (a, mask)]):
        options = {"where": chosen, "device": device, "as_device": False}
        assert gpureduce.group_reduce(there, [], "max", 2, **options).tolist() == [[-math.inf] * 3] * 2
        assert gpureduce.group_reduce(there, [], "sum", 0, **options).shape == (0, 3)
        assert gpureduce.segment_reduce(there, [0, 0], "sum", **options).tolist() == [[0] * 3]
        for op in ("sum", "argmin", "mean"):
            wide = gpureduce.group_reduce(there, [0, 1, 0], op, 2, axis=1, **options)
            assert wide.shape == (0, 2)


def test_errors_name_the_argument(device):
    a, labels = np.ones((4, 3)), [0, 1, 0, 1]
    there = gpureduce.to_device(a, device)
    on_device = gpureduce.to_device(np.ones((4, 3), bool), device)
    for error, message, given, where in (
        (ValueError, r"where: shape \(2,\) does not broadcast to \(4, 3\)", a, np.ones(2, bool)),
        (ValueError, r"where: shape \(2,\) does not broadcast", there, on_device[0, :2]),
        (TypeError, "where: ", a, np.ones((4, 3))),
        (TypeError, "where: expected bool, got an array of float64", there, there),
        (TypeError, "where: the mask is on a device, but the array is in host memory", a, on_device),
    ):
        for call in (
            lambda: gpureduce.group_reduce(given, labels, "sum", 2, where=where, device=device),  # noqa: B023
            lambda: gpureduce.segment_reduce(given, [0, 4], "sum", where=where, device=device),  # noqa: B023
        ):
            with pytest.raises(error, match=f"^{message}"):
                call()
    flat, mask = np.ones(4, np.float32), np.ones(4, bool)
    with pytest.raises(ValueError, match=r"^where: only with variant='auto'"):
        gpureduce.group_reduce(flat, labels, num_groups=2, where=mask, variant="g3", device=device)


def test_a_warning_tells_of_elements_that_the_mask_chooses(device):
    """Not of the infinities that it leaves out."""
    a, labels = np.array([np.inf, -np.inf, 1.0, 2.0]), [0, 0, 0, 1]
    got = gpureduce.group_reduce(a, labels, where=[False, False, True, True], device=device)
    assert got.tolist() == [1, 2]
    with pytest.warns(RuntimeWarning, match="invalid value encountered"):
        got = gpureduce.group_reduce(a, labels, where=[True, True, True, True], device=device)
    assert np.isnan(got[0]) and got[1] == 2


@pytest.mark.gpu
@pytest.mark.parametrize("flat", [False, True], ids=["rows", "elements"])
@pytest.mark.parametrize("op", ["sum", "max"])
def test_a_captured_call(op, flat, device):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(8)
    a = torch.from_numpy(rng.standard_normal((5000, 3)).astype(np.float32)).cuda()
    labels = torch.from_numpy(rng.integers(0, 9, 5000)).cuda()
    offsets = torch.from_numpy(np.array([0, 100, 5000])).cuda()
    mask = torch.from_numpy(rng.random((5000, 3 if flat else 1)) < 0.5).cuda()
    outs = torch.empty((9, 3), device="cuda"), torch.empty((2, 3), device="cuda")

    def calls():
        gpureduce.group_reduce(a, labels, op, 9, where=mask, out=outs[0])
        gpureduce.segment_reduce(a, offsets, op, where=mask, out=outs[1])

    calls()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        calls()
    for seed in (1, 2):
        a.copy_(torch.from_numpy(np.random.default_rng(seed).standard_normal((5000, 3)).astype(np.float32)))
        mask.logical_not_()
        graph.replay()
        found = [each.clone() for each in outs]
        calls()
        for one, other in zip(found, outs, strict=True):
            assert torch.equal(one, other) and one.abs().sum() > 0
