"""Reductions of segments, slices and groups against NumPy's of each by itself."""

import itertools
import math
import random
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce._profiles.from_core import kernel_profiles, observe, race_scope
from gpureduce._segments import segments
from gpureduce._segments.segment_plan import OPS as ALL_OPS
from tests.support.sanitized import not_under_asan

TILE = 4096  # elements and ends of segments, of one column
GLOBAL = race_scope("global")
DTYPES = (
    "float32", "float64", "int32", "int64", "bool", "int8", "int16", "uint8", "uint16", "uint32", "uint64",
    "float16", "complex64", "complex128",
)  # fmt: skip
# Others are in test_segment_nan.py, and in a test below.
OPS = tuple(op for op in ALL_OPS if not op.startswith("nan") and op != "logsumexp")
PLACES = ("argmin", "argmax")
SPREADS = ("var", "std")
# What of no elements NumPy has a result for.
WITH_IDENTITY = ("sum", "prod", "any", "all", "count_nonzero")


def takes(op, dtype):
    if op in SPREADS:
        return np.dtype(dtype).kind != "c"
    return not op.startswith("bitwise") or np.dtype(dtype).kind in "biu"


def integers(shape, dtype, seed=0):
    """Small numbers, whose sums every dtype holds exactly."""
    draw = np.random.default_rng(seed)
    if dtype == "bool":
        return draw.integers(0, 2, shape).astype(bool)
    low = 0 if dtype.startswith("u") else -2
    values = draw.integers(low, 3, shape).astype(dtype)
    return values + 1j * draw.integers(-2, 3, shape).astype(dtype) if dtype[0] == "c" else values


def rows_reduced(op, a, rows, axis):
    """The reduction of some rows by NumPy, exactly."""
    part = np.take(a, rows, axis)
    ufuncs = {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor}
    if op in ufuncs:
        return ufuncs[op].reduce(part, axis=axis, dtype=a.dtype)
    if op in PLACES:
        return np.asarray(rows)[getattr(np, op)(part, axis=axis)]
    wide = a.dtype == np.float16 or (op in SPREADS and a.dtype == np.float32)
    if wide:
        part = part.astype(np.float64)
    with np.errstate(over="ignore"):
        found = np.asarray(getattr(np, op)(part, axis=axis))
        return found.astype(a.dtype) if wide and op not in ("any", "all", "count_nonzero") else found


def test_documented_reductions_are_those_taken(device):
    """The page names each reduction that segments take; all other functions raise."""
    page = Path(__file__).resolve().parents[2] / "docs/reference/differences-from-numpy.md"
    taken, more = re.search(
        r"^- Segments and groups have the reductions (.*?)\. "
        r"`segment_reduce` and `group_reduce` also have (.*?)\. All other names raise",
        page.read_text("utf-8"),
        re.M | re.S,
    ).groups()
    assert sorted(re.findall(r"`(\w+)`", taken)) == sorted(ALL_OPS)
    not_of_reduceat = re.findall(r"`(\w+)`", more)
    a, labels = np.arange(6), np.arange(6) % 2
    calls = (
        lambda op: gpureduce.segment_reduce(a, [0, 6], op, device=device),
        lambda op: gpureduce.reduceat(a, [0], op, device=device),
        lambda op: gpureduce.group_reduce(a, labels, op=op, device=device),
    )
    for op in (name for name in gpureduce.__all__ if name not in ALL_OPS):
        for call in calls[1:2] if op in not_of_reduceat else calls:
            with pytest.raises(ValueError, match=f"^op: expected one of sum, .*, got '{op}'"):
                call(op)


def segments_reduced(op, a, offsets, axis):
    parts = [rows_reduced(op, a, np.arange(i, j), axis) for i, j in itertools.pairwise(offsets)]
    return np.stack(parts, axis)


def agree(got, wanted, op):
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    if op in ("mean", "prod", *SPREADS) and got.dtype.kind in "fc":
        tolerance = {"float16": 2e-3, "float32": 3e-7, "complex64": 1e-6}.get(got.dtype.name, 1e-13)
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=0 if op in SPREADS else 1e-15)
    else:
        np.testing.assert_array_equal(got, wanted)


def cuts(n, draw, parts):
    """Offsets of `parts` segments with elements."""
    parts = min(parts, n)
    return [0, *sorted(draw.sample(range(1, n), parts - 1)), n]


@pytest.mark.core
@pytest.mark.parametrize("op", OPS)
def test_every_operator(op, device, some):
    draw = random.Random(op)
    for dtype in some([dtype for dtype in DTYPES if takes(op, dtype)], 3):
        for shape, axis in (((700,), 0), ((3, 2 * TILE + 9), 1), ((900, 3), 0), ((2, 150, 40), 1)):
            a = integers(shape, dtype, draw.randrange(99))
            offsets = cuts(shape[axis], draw, draw.choice((1, 2, 30)))
            got = gpureduce.segment_reduce(a, offsets, op, axis=axis, device=device)
            agree(got, segments_reduced(op, a, offsets, axis), op)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype, device):
    draw = random.Random(dtype)
    a = integers(3 * TILE, dtype)
    offsets = cuts(len(a), draw, 25)
    for op in OPS:
        if takes(op, dtype):
            got = gpureduce.segment_reduce(a, offsets, op, device=device)
            agree(got, segments_reduced(op, a, offsets, 0), op)


def sums_of(a, offsets):
    """Sums of segments of the first axis."""
    before = np.zeros_like(a[:1], np.int64)
    return np.diff(np.concatenate([before, np.cumsum(a, axis=0)])[offsets], axis=0)


@pytest.mark.core
@pytest.mark.parametrize("columns", [1, 2])
def test_lengths_and_borders(columns, device):
    """Segments that begin and end where tiles do, one before and one after."""
    for n in (1, 2, 15, 16, 17, TILE - 2, TILE - 1, TILE, TILE + 1, 2 * TILE, 5 * TILE + 3):
        a = integers((n, columns), "int32", n)
        for offsets in ([0, n], [0, n // 2, n], [0, max(n - 1, 0), n], [0, min(1, n), n]):
            got = gpureduce.segment_reduce(a, offsets, axis=0, device=device)
            np.testing.assert_array_equal(got, sums_of(a, offsets))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "int64"])
def test_lines_that_begin_anywhere(dtype):
    """Of elements side by side, whose addresses are multiples of 16 or not."""
    draw = np.random.default_rng(9)
    for lines, n, skip in ((1, 40000, 1), (3, 9001, 3), (2, 700, 0), (5, 16385, 2)):
        a = integers((lines, n + skip), dtype, n)
        there = gpureduce.to_device(a, "sim")[:, skip:]
        for count in (1, 40, n // 3):
            offsets = np.sort(draw.integers(0, n + 1, count + 1))
            got = gpureduce.segment_reduce(there, offsets, axis=1).numpy()
            np.testing.assert_array_equal(got.T, sums_of(a[:, skip:].T, offsets))
            first = gpureduce.segment_reduce(there, offsets, "argmax", axis=1).numpy()
            for i in range(0, count, 1 + count // 40):
                begin, end = offsets[i : i + 2]
                if begin < end:
                    wanted = begin + a[:, skip + begin : skip + end].argmax(axis=1)
                    np.testing.assert_array_equal(first[:, i], wanted)


def skewed(name, draw):
    n = 9 * TILE
    if name == "one huge":  # of more tiles than a node has branches
        return [0, 3, 4, 2 * TILE, 70 * TILE - 7, 70 * TILE - 7, 70 * TILE]
    if name == "many empty":
        return [0] * 20000 + [5] * 9000 + [n // 2] * 5000 + [n] * 12000
    if name == "all empty":
        return [7] * 10000
    if name == "singles":
        return list(range(n + 1))
    if name == "gaps at the ends":
        return cuts(n - 20, draw, 50)[1:-1]
    return sorted(draw.choices(range(n), k=3000))


@pytest.mark.parametrize(
    "name", ["one huge", "many empty", "all empty", "singles", "gaps at the ends", "any"]
)
def test_skewed_segments(name, device):
    offsets = skewed(name, random.Random(name))
    a = integers(max(9 * TILE, offsets[-1]), "int16", 1)
    got = gpureduce.segment_reduce(a, offsets, device=device)
    np.testing.assert_array_equal(got, sums_of(a, offsets))
    twice = np.stack([a, 3 - a], axis=1)
    got = gpureduce.segment_reduce(twice, offsets, axis=0, device=device)
    np.testing.assert_array_equal(got, sums_of(twice, offsets))
    real = gpureduce.segment_reduce(a.astype(np.float32), np.array(offsets), "max", device=device)
    full = [i for i in range(len(offsets) - 1) if offsets[i] < offsets[i + 1]]
    for i in full[:50] + full[-50:]:
        assert real[i] == a[offsets[i] : offsets[i + 1]].max()
    assert np.isneginf(np.delete(real, full)).all()


def test_empty_segments(device):
    a = integers(10, "int8")
    for op in OPS:
        got = gpureduce.segment_reduce(a, [0, 4, 4, 10], op, device=device)[1]
        if op in WITH_IDENTITY:
            assert got == getattr(np, op)(a[:0])
    wanted = {"min": 127, "max": -128, "argmin": -1, "argmax": -1, "bitwise_and": -1, "bitwise_or": 0}
    for op, value in wanted.items():
        assert gpureduce.segment_reduce(a, [0, 4, 4], op, device=device)[1] == value
    assert np.isnan(gpureduce.segment_reduce(a, [0, 0, 10], "mean", device=device)[0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_are_within_a_rounding(dtype, device):
    """An element that is lost, or taken twice, is seen at once."""
    a = (1 + np.random.default_rng(3).random(6 * TILE)).astype(dtype)
    offsets = cuts(len(a), random.Random(3), 60)
    got = gpureduce.segment_reduce(a, offsets, device=device)
    for i, (begin, end) in enumerate(itertools.pairwise(offsets)):
        exact = math.fsum(a[begin:end].tolist())
        assert (
            abs(float(got[i]) - exact) <= 0.5000001 * np.spacing(a.dtype.type(exact)) + 40 * exact * 2.0**-53
        )


def test_bits_are_the_same_on_every_run_and_backend(device):
    a = np.random.default_rng(4).standard_normal(20 * TILE)
    for parts in (1, 3, 500):
        offsets = cuts(len(a), random.Random(parts), parts)
        first = gpureduce.segment_reduce(a, offsets, device=device)
        assert all((gpureduce.segment_reduce(a, offsets, device=device) == first).all() for _ in range(3))
        assert (gpureduce.segment_reduce(a, offsets, device="sim") == first).all()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64"])
def test_ends_of_the_range(dtype, device):
    info = np.iinfo(dtype)
    a = np.array([info.max, info.min, 3, 5, info.max - 1], dtype)
    for op in ("min", "max", "argmin", "argmax", "sum", "prod", "bitwise_xor"):
        got = gpureduce.segment_reduce(a, [0, 1, 2, 5], op, device=device)
        agree(got, segments_reduced(op, a, [0, 1, 2, 5], 0), op)


def test_nan_ties_and_signs(device):
    a = np.array([1.0, np.nan, 3.0, np.nan, 5.0, 5.0, -0.0, 0.0])
    offsets = [0, 2, 4, 6, 8]
    for op in ("min", "max", "argmin", "argmax", "sum"):
        got = gpureduce.segment_reduce(a, offsets, op, device=device)
        np.testing.assert_array_equal(got, segments_reduced(op, a, offsets, 0))
    equal = np.zeros(3 * TILE, np.int32)
    assert gpureduce.segment_reduce(equal, [5, 3 * TILE], "argmax", device=device)[0] == 5
    assert np.signbit(gpureduce.segment_reduce(np.array([-0.0, -0.0]), [0, 2], device=device)[0])


# ---- slices ----


@pytest.mark.parametrize("op", ["sum", "prod", "min", "max", "bitwise_and", "bitwise_or", "bitwise_xor"])
def test_reduceat(op, device, some):
    ufunc = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}.get(op) or getattr(
        np, op
    )
    draw = random.Random(op)
    for dtype in some([dtype for dtype in DTYPES if takes(op, dtype) and dtype != "float16"], 3):
        for shape, axis in (((40,), 0), ((6, 300), 1), ((90, 4), 0)):
            a = integers(shape, dtype, 2)
            for count in (1, 2, 25):
                indices = draw.choices(range(shape[axis]), k=count)
                for each in (indices, sorted(set(indices))):
                    wanted = ufunc.reduceat(a, each, axis)
                    agree(gpureduce.reduceat(a, each, op, axis=axis, device=device), wanted, op)


def test_reduceat_takes_dtype_and_refuses_rows_that_are_none(device):
    a = integers((5, 8), "int8")
    for dtype in ("int16", "float32", "int64"):
        wanted = np.add.reduceat(a, [0, 3, 1], axis=1, dtype=dtype)
        agree(gpureduce.reduceat(a, [0, 3, 1], axis=1, dtype=dtype, device=device), wanted, "sum")
    for indices in ([8], [-1], [0, 9]):
        with pytest.raises(IndexError, match="indices: "):
            gpureduce.reduceat(a, indices, axis=1, device=device)
    assert gpureduce.reduceat(a, np.array([], int), axis=1, device=device).shape == (5, 0)
    out = np.empty((5, 2))
    assert gpureduce.reduceat(a, [0, 3], axis=1, out=out, device=device) is out
    np.testing.assert_array_equal(out, np.add.reduceat(a, [0, 3], axis=1))


# ---- variances ----


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_variances_about_a_large_mean(dtype, device):
    """No worse than NumPy's two passes, against exact fractions; and with ddof, down to nothing left."""
    draw = np.random.default_rng(11)
    n, far = 3 * TILE + 5, 1e8 if dtype == "float64" else 1e4
    a = (far + draw.standard_normal(n)).astype(dtype)
    offsets = [0, 1, 3, 700, 700, TILE + 1, n]
    for op, root in (("var", False), ("std", True)):
        for ddof in (0, 1, 1.5):
            got = gpureduce.segment_reduce(a, offsets, op, ddof=ddof, device=device)
            assert got.dtype == a.dtype
            for result, (i, j) in zip(got, itertools.pairwise(offsets), strict=True):
                part = [Fraction(float(x)) for x in a[i:j]]
                if j - i <= ddof:  # of one element squares are 0, and 0 / 0 is NaN
                    assert np.isnan(result) if j - i < 2 else np.isinf(result) or result > 0
                    continue
                if not part:
                    assert np.isnan(result)
                    continue
                mean = sum(part) / len(part)
                exact = float(sum((x - mean) ** 2 for x in part) / Fraction(len(part) - ddof))
                exact = math.sqrt(exact) if root else exact
                assert abs(float(result) - exact) <= 4 * float(np.finfo(dtype).eps) * exact


def test_variances_of_what_is_not_finite(device):
    a = np.array([1.0, np.nan, 3.0, np.inf, 5.0, 7.0, -np.inf, 1e200, -1e200])
    got = gpureduce.segment_reduce(a, [0, 1, 3, 4, 6, 7, 9, 9], "var", device=device)
    np.testing.assert_array_equal(got, [0, np.nan, np.nan, 1, np.nan, np.inf, np.nan])
    with pytest.raises(TypeError, match="ddof: only for var and std, not for sum"):
        gpureduce.segment_reduce(a, [0, 9], ddof=1, device=device)
    with pytest.raises(TypeError, match="a: segments of complex64 have no var"):
        gpureduce.group_reduce(np.zeros(9, np.complex64), np.zeros(9, int), "var", device=device)


def test_variances_of_groups_on_the_device(device):
    draw = np.random.default_rng(12)
    a, labels = draw.standard_normal((3, 2000, 4)), draw.integers(-1, 6, 2000)
    there = gpureduce.to_device(a, device), gpureduce.to_device(labels, device)
    got = gpureduce.group_reduce(*there, "std", 7, axis=1, ddof=1).numpy()
    assert np.isnan(got[:, 6]).all()
    for group in range(6):
        want = a[:, labels == group].std(axis=1, ddof=1)
        np.testing.assert_allclose(got[:, group], want, rtol=2e-15)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
def test_logarithms_of_sums_of_exponentials(dtype, device):
    """Of segments and groups, in one column and two; infinities and NaN as in SciPy; of none, -infinity."""
    draw = np.random.default_rng(8)
    a = (draw.standard_normal(5000) * 9).astype(dtype)
    offsets = [0, 1, 1, 40, 4500, 5000]
    labels = np.repeat(np.arange(5), np.diff(offsets))
    order = draw.permutation(5000)
    parts = [a[begin:end].astype(np.longdouble) for begin, end in itertools.pairwise(offsets)]
    want = [float(np.log(np.exp(x - x.max()).sum()) + x.max()) if len(x) else -math.inf for x in parts]
    to = np.dtype("float64") if dtype == "int32" else a.dtype
    for got in (
        gpureduce.segment_reduce(a, offsets, "logsumexp", device=device),
        gpureduce.segment_reduce(np.stack([a, a], 1), offsets, "logsumexp", device=device)[:, 1],
        gpureduce.group_reduce(a[order], labels[order], "logsumexp", 5, device=device),
    ):
        assert got.dtype == to
        np.testing.assert_allclose(got.astype(float), want, rtol=2 * np.finfo(to).eps)
    a = np.array([math.inf, 1, math.inf, -math.inf, -math.inf, math.nan, math.inf])
    got = gpureduce.segment_reduce(a, [0, 3, 5, 7], "logsumexp", device=device)
    np.testing.assert_array_equal(got, [math.inf, -math.inf, math.nan])


# ---- groups ----


@pytest.mark.parametrize("op", OPS)
def test_groups(op, device):
    draw = np.random.default_rng(5)
    for shape, axis, groups in (((50,), 0, 7), ((2, 3 * TILE), 1, 40), ((700, 3), 0, 5)):
        labels = draw.integers(-1, groups, shape[axis])
        a = integers(shape, "int32", 6)
        got = gpureduce.group_reduce(a, labels, op, groups + 2, axis=axis, device=device)
        assert got.shape[axis] == groups + 2
        for group in range(groups):
            rows = np.flatnonzero(labels == group)
            wanted = rows_reduced(op, a, rows, axis)
            agree(np.take(got, group, axis), np.asarray(wanted), op)


def test_groups_of_floats_have_the_same_bits(device):
    draw = np.random.default_rng(7)
    a, labels = draw.standard_normal(5 * TILE), draw.integers(0, 9, 5 * TILE)
    got = gpureduce.group_reduce(a, labels, device=device)
    assert got.shape == (9,)
    for group in range(9):
        exact = math.fsum(a[labels == group].tolist())
        assert abs(got[group] - exact) <= 30 * 2.0**-53 * np.abs(a[labels == group]).sum()
    assert (gpureduce.group_reduce(a, labels, device="sim") == got).all()
    many = gpureduce.group_reduce(np.ones(70000), np.arange(70000)[::-1], device=device)
    assert (many == 1).all()


# Tiles of the sort, digits of 8 bits, and their borders.
LABELLED = [
    *((n, 40) for n in (0, 1, 31, 33, TILE - 1, TILE, TILE + 1, 3 * TILE + 7)),
    *((2 * TILE + 5, groups) for groups in (2, 254, 255, 256, 257, 2**16 - 1, 2**16, 70000)),
]


@pytest.mark.parametrize(("n", "groups"), LABELLED)
def test_labels_on_the_device_are_put_in_order_there(n, groups, device, monkeypatch, some):
    """As on the host, to the bit: rows of a group are taken in their order."""
    draw = np.random.default_rng(n + groups)
    a = draw.standard_normal(n) * 2.0 ** draw.integers(-30, 30, n)
    there = gpureduce.to_device(a, device)
    for dtype in some(("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"), 2):
        labels = draw.integers(0, min(groups, np.iinfo(dtype).max + 1), n).astype(dtype)
        if dtype[0] == "i":
            labels[draw.random(n) < 0.1] = draw.choice([-1, np.iinfo(dtype).min])
        host = gpureduce.group_reduce(a, labels, num_groups=groups, device=device)
        first = gpureduce.group_reduce(a, labels, "argmax", groups, device=device)
        with monkeypatch.context() as patch:
            patch.setattr(_core, "device_read", None)
            for given in (labels, np.repeat(labels, 3)[::3], labels[::-1].copy()[::-1]):
                lie = gpureduce.to_device(given, device)
                got = gpureduce.group_reduce(there, lie, num_groups=groups)
                place = gpureduce.group_reduce(there, lie, "argmax", groups)
        assert np.array_equal(got.numpy(), host) and np.array_equal(place.numpy(), first), dtype


def test_many_labels_of_the_host_are_put_in_order_on_the_gpu(device, monkeypatch):
    draw = np.random.default_rng(8)
    a, labels = draw.standard_normal((2 * TILE, 2)), draw.integers(-1, 9, 2 * TILE)
    calls, order = [], _core.label_order
    reduced = gpureduce.group_reduce.__wrapped__  # the core leaves many labels to Python
    there = (a, gpureduce.to_device(a, device))
    wanted = [gpureduce.group_reduce(a, labels, op, 9, device=device) for op in ("prod", "argmin")]
    monkeypatch.setattr(segments, "_MANY", 10)
    monkeypatch.setattr(_core, "CUDA", gpureduce.to_device(a, device)._kind)
    monkeypatch.setattr(_core, "label_order", lambda *args: calls.append(args) or order(*args))
    for each in there:
        for op, want in zip(("prod", "argmin"), wanted, strict=True):
            got = reduced(each, labels, op, 9, device=device, as_device=False)
            assert np.array_equal(got, want)
    assert len(calls) == 4
    reduced(a, np.sort(labels), "prod", 9, device=device)
    assert len(calls) == 4  # nothing is to be sorted
    with pytest.raises(ValueError, match="labels: expected up to 7"):
        reduced(a, labels, "prod", 8, device=device)


def test_labels_on_the_device_of_skewed_groups(device):
    n = 20 * TILE + 3
    draw = np.random.default_rng(2)
    for labels in (np.zeros(n), np.arange(n) // 9, np.arange(n)[::-1], (draw.random(n) < 1e-3) * 7.0):
        labels, a = labels.astype("int32"), draw.integers(-99, 99, (n, 2))
        groups = int(labels.max()) + 1
        want = np.stack([np.bincount(labels, weights=column, minlength=groups) for column in a.T], 1)
        there = gpureduce.to_device(a, device), gpureduce.to_device(labels, device)
        for number in (None, groups):  # of None the largest label is looked for
            assert np.array_equal(gpureduce.group_reduce(*there, num_groups=number).numpy(), want)


def test_labels_of_more_tiles_than_a_block_adds_up_at_once():
    labels = np.random.default_rng(3).integers(0, 3, 258 * TILE + 5).astype(np.uint8)
    made = _core.label_order(labels, 3, (None, _core.SIM, 0, 0))
    offsets = np.append(0, np.cumsum(np.bincount(labels)))
    assert np.array_equal(made, np.append(offsets, np.argsort(labels, kind="stable")))


def test_labels_on_the_device_that_are_no_groups(device):
    """They are not looked at, as the host would have to wait."""
    labels = gpureduce.to_device(np.array([0, 5, 1, 2**40, -(2**62), 2**32 + 1, 1]), device)
    a = gpureduce.to_device(np.array([1.0, 2, 4, 8, 16, 32, 64]), device)
    assert gpureduce.group_reduce(a, labels, num_groups=3).numpy().tolist() == [1, 68, 0]
    assert gpureduce.group_reduce(a, labels, num_groups=0).shape == (0,)
    none = gpureduce.to_device(np.full(3, -1), device)
    assert gpureduce.group_reduce(a[:3], none).shape == (0,)
    with pytest.raises(ValueError, match="labels: expected 7"):
        gpureduce.group_reduce(a, none, num_groups=3)
    with pytest.raises(TypeError, match="num_groups: expected int or None"):
        gpureduce.group_reduce(a, labels, num_groups="3")


@pytest.mark.parametrize("groups", [9, 300])
def test_kernels_of_labels_have_no_races(groups):
    labels = np.random.default_rng(groups).integers(-1, groups, 2 * TILE + 9)
    made, launches, problem = observe(
        lambda device: _core.label_order(labels, groups, (None, device, 0, 0)), GLOBAL
    )
    assert problem is None and all(kernel.races == () for kernel in kernel_profiles(launches, "", 0))
    order = np.argsort(np.where(labels < 0, groups, labels), kind="stable")
    offsets = np.append(0, np.cumsum(np.bincount(labels[labels >= 0], minlength=groups)))
    assert np.array_equal(made, np.append(offsets, order))
    for wrong, number in ((labels.astype(float), 3), (labels[None], 3), (labels > 0, 3), (labels, -1)):
        with pytest.raises(ValueError, match="labels: expected integers"):
            _core.label_order(wrong, number, (None, _core.SIM, 0, 0))


@pytest.mark.parametrize(
    ("labels", "groups", "error", "text"),
    [
        ([0, 1], None, ValueError, "labels: expected 3"),
        ([0, 1, 2], 2, ValueError, "labels: expected up to 1"),
        ([-1, 4, 2], 0, ValueError, "labels: expected negative labels alone, as there are no groups, got 4"),
        ([0.0, 1, 2], 3, TypeError, "labels: expected integers"),
        ([[0, 1, 2]], 3, ValueError, "labels: expected a one-dimensional array"),
        ([0, 1, 2], 2.5, TypeError, "num_groups: "),
        ([0, 1, 2], -1, ValueError, "num_groups: "),
    ],
)
def test_labels_that_are_refused(labels, groups, error, text, device):
    with pytest.raises(error, match=text):
        gpureduce.group_reduce(np.zeros(3), labels, num_groups=groups, device=device)


@pytest.mark.parametrize(
    ("offsets", "arguments", "error", "text"),
    [
        ([0, 2, 1], {}, ValueError, "offsets: expected integers in ascending order"),
        ([0, 4], {}, ValueError, "offsets: expected 0 to 3"),
        ([-1, 3], {}, ValueError, "offsets: expected 0 to 3"),
        (np.array([0, 2**64 - 1], np.uint64), {}, ValueError, "offsets: "),
        ([], {}, ValueError, "offsets: "),
        ([0.5, 1], {}, TypeError, "offsets: "),
        ([0, 3], {"op": "moments"}, ValueError, "op: "),
        ([0, 3], {"op": 3}, TypeError, "op: "),
        ([0, 3], {"axis": 1}, np.exceptions.AxisError, "out of bounds"),
        ([0, 3], {"axis": None}, TypeError, "axis: "),
        ([0, 3], {"op": "bitwise_or"}, TypeError, "a: "),
        ([0, 3], {"out": np.empty(2)}, ValueError, "out: "),
    ],
)  # fmt: skip
def test_segmented_reductions_refuse_bad_arguments(offsets, arguments, error, text, device):
    with pytest.raises(error, match=text):
        gpureduce.segment_reduce(np.zeros(3), offsets, device=device, **arguments)


def test_arrays_on_the_device(device):
    a = integers((5000, 3), "float32", 8)
    offsets = np.array([0, 9, 9, 4000, 5000])
    there, ends = gpureduce.to_device(a, device), gpureduce.to_device(offsets, device)
    wanted = np.diff(np.append(np.zeros((1, 3)), np.cumsum(a, axis=0), axis=0)[offsets], axis=0)
    for given in (offsets, ends):
        got = gpureduce.segment_reduce(there, given)
        assert isinstance(got, gpureduce.DeviceArray)
        np.testing.assert_array_equal(got.numpy(), wanted)
    out = gpureduce.to_device(np.zeros((4, 3), np.float32), device)
    assert gpureduce.segment_reduce(there, ends, out=out) is out
    np.testing.assert_array_equal(out.numpy(), wanted)
    labels = np.arange(5000) % 7
    on_device = gpureduce.to_device(labels, device)
    grouped = gpureduce.group_reduce(there, on_device, num_groups=7, as_device=False)
    np.testing.assert_array_equal(grouped[2], a[2::7].sum(axis=0))
    with pytest.raises(TypeError, match="offsets: "):
        gpureduce.segment_reduce(there, gpureduce.to_device(offsets.astype(np.int32), device))
    with pytest.raises(TypeError, match="offsets: "):
        gpureduce.segment_reduce(a, ends, device=device)


@pytest.mark.parametrize(
    "ends", [[], [5, -3], [1 / 3, 1 / 3, 0.34, -1], [0.01 * k for k in range(1, 100)], [0.25] * 9 + [0.6]]
)
@pytest.mark.parametrize("op", ["sum", "argmax"])
def test_segments_reach_over_hundreds_of_blocks(op, ends, device):
    """And a second call finds what the first one left in memory."""
    n = (2 << 20) + 77
    a = gpureduce.to_device(integers((n,), "float32", 3), device)
    offsets = np.array([0, *(int(n * end) if 0 < end < 1 else end % n for end in ends), n])
    sums = np.concatenate([[0], np.cumsum(a.numpy(), dtype=np.float64)])
    for _ in range(2):
        found = gpureduce.segment_reduce(a, offsets, op, as_device=False)
        if op == "sum":
            wanted = sums[offsets[1:]] - sums[offsets[:-1]]
        else:
            wanted = [
                begin + np.argmax(a.numpy()[begin:end]) if end > begin else -1
                for begin, end in itertools.pairwise(offsets)
            ]
        np.testing.assert_array_equal(found, wanted)


def test_offsets_on_a_device_that_are_nonsense_read_nothing_else():
    """The simulator sees every access outside an array."""
    a = gpureduce.to_device(np.ones(2 * TILE), "sim")
    for offsets in ([9, 2, 7], [-5, 10**9], [2**62, -(2**62), 3], [2 * TILE, 0, 2 * TILE, 0] * 4000):
        ends = gpureduce.to_device(np.array(offsets), "sim")
        gpureduce.segment_reduce(a, ends, "mean")
        gpureduce.segment_reduce(gpureduce.to_device(np.ones((TILE, 2)), "sim"), ends, "mean", axis=0)


@pytest.mark.parametrize("op", ["sum", "argmax", "var"])
@pytest.mark.parametrize(
    ("shape", "dtype"), [((3 * TILE,), "complex64"), ((400, 5), "complex64"), ((9 * TILE,), "float32")]
)
def test_kernels_have_no_races(op, shape, dtype):
    a = integers(shape, "float32" if op in SPREADS else dtype, 9)
    offsets = np.array([0, 1, 1, shape[0] // 2, shape[0]])
    result, launches, problem = observe(
        lambda device: _core.segments(
            a=a,
            op=op,
            axis=0,
            offsets=offsets,
            permuted_rows=0,
            ddof=0.0,
            destination=(None, device, 0, 0),
        ),
        GLOBAL,
    )
    assert problem is None and result.shape[0] == 4
    assert all(kernel.races == () for kernel in kernel_profiles(launches, "", 0))


@pytest.mark.gpu
def test_graphs_put_labels_in_order(device):
    """Memory between kernels stays with the graph, whatever else takes and gives back some."""
    torch = pytest.importorskip("torch")
    a, labels = torch.randn(300, 500, device=device), torch.randint(0, 7, (300,), device=device)
    bits = torch.randint(0, 2, (300, 50), device=device)
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()

    def call():
        odd = gpureduce.logical_xor(bits, axis=1)
        return gpureduce.group_reduce(a, labels, num_groups=7), odd, *gpureduce.softmax_denominator(a, axis=1)

    with torch.cuda.stream(stream):
        call()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        found = call()
    for _ in range(3):
        a.copy_(torch.randn(300, 500, device=device))
        labels.copy_(torch.randint(0, 7, (300,), device=device))
        bits.copy_(torch.randint(0, 2, (300, 50), device=device))
        wanted = call()
        gpureduce.free_memory()
        graph.replay()
        torch.cuda.synchronize()
        for result, right in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(result.numpy(), right.numpy())


@pytest.mark.parametrize("place", ["host", "device"])
def test_slices_that_overlap_take_memory_in_proportion_to_rows_and_slices(place, device, monkeypatch):
    """Their rows together are 60 times as many, and an order of all of them would be as long."""
    from gpureduce._segments import segments

    monkeypatch.setattr(segments, "_LEAST_BATCH", 1)
    lengths = []
    ordered = segments._ordered
    monkeypatch.setattr(segments, "_ordered", lambda b, c: lengths.append(int(c.sum())) or ordered(b, c))
    draw = np.random.default_rng(37)
    a = draw.standard_normal((3, 400)).astype(np.float32)
    indices = np.sort(draw.integers(0, 400, 300))[::-1].copy()
    indices[::2] = draw.integers(0, 20, 150)  # every other slice is long
    given = gpureduce.to_device(a, device) if place == "device" else a
    where = {} if place == "device" else {"device": device}
    for op, ufunc in (("sum", np.add), ("max", np.maximum)):
        expected = ufunc.reduceat(a.astype(np.float64) if op == "sum" else a, indices, axis=1)
        found = gpureduce.reduceat(given, indices, op, axis=1, **where)
        found = found.numpy() if place == "device" else found
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-5)
        out = np.zeros((3, 300), np.float32)
        target = gpureduce.to_device(out, device) if place == "device" else out
        assert gpureduce.reduceat(given, indices, op, axis=1, out=target, **where) is target
        np.testing.assert_array_equal(target.numpy() if place == "device" else target, found)
    assert len(lengths) > 40 and max(lengths) <= 400 + 300
    assert sum(lengths) / 4 > 20 * (400 + 300)


@not_under_asan("it ends a process that asks for so much")
@pytest.mark.parametrize("op", ["sum", "max"])
def test_groups_that_fit_no_memory(device, op):
    with pytest.raises(MemoryError, match=f"^num_groups: no memory for the results of {2**46} groups"):
        gpureduce.group_reduce([1.0, 2.0], [0, 1], op, num_groups=2**46, device=device)


def test_labels_groups_and_offsets_that_are_too_large(device):
    """Errors of ours, which name the argument."""
    a = [1.0, 2.0]
    for largest in (2**63, 2**64 - 1):
        with pytest.raises(ValueError, match="labels: expected up to"):
            gpureduce.group_reduce(a, np.array([largest, 1], np.uint64), device=device)
        with pytest.raises(ValueError, match="labels: expected up to 2"):
            gpureduce.group_reduce(a, np.array([largest, 1], np.uint64), num_groups=3, device=device)
        with pytest.raises(ValueError, match="offsets: "):
            gpureduce.segment_reduce(a, np.array([0, largest], np.uint64), device=device)
        with pytest.raises(IndexError, match="indices: "):
            gpureduce.reduceat(a, np.array([0, largest], np.uint64), device=device)
    with pytest.raises(ValueError, match="num_groups: expected up to"):
        gpureduce.group_reduce(a, [0, 1], num_groups=2**70, device=device)
    with pytest.raises(ValueError, match="labels: expected up to"):
        gpureduce.group_reduce(
            gpureduce.to_device(a, device), gpureduce.to_device(np.array([2**62, 1]), device)
        )
