"""nanargmin, nanargmax, nanmedian and nanquantile of groups and segments, compared with NumPy's of each."""

import itertools
import warnings

import numpy as np
import pytest

import gpureduce
from tests.support.numpy_oracle import BFLOAT16

GROUPS = 6  # no row has label 5
SHAPES = (((90,), 0), ((2, 24, 3), 1))
FLOATS = ("float32", "float64", "float16", *(["bfloat16"] if BFLOAT16 is not None else []))
POSITIONS = ("nanargmin", "nanargmax")
QUANTILES = (("nanmedian", None), ("nanquantile", 0.3), ("nanquantile", 1))
SPECIAL = (np.nan, np.nan, np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -1.5, 7.0)


def dtype_of(name):
    return BFLOAT16 if name == "bfloat16" else np.dtype(name)


def drawn(shape, name, seed=1):
    """Numbers of which many are equal, infinite, NaN, or zeros of either sign."""
    rng = np.random.default_rng(seed)
    values = rng.choice(SPECIAL, shape)
    if name.startswith("complex"):
        values = values.astype(complex)
        values.imag = rng.choice((0.0, 0.0, np.nan, 2.0, -np.inf), shape)
    return values.astype(dtype_of(name))


def of_column(op, q, values, rows):
    """Return NumPy's result of some elements of a column: -1 or NaN of none, or of NaNs alone."""
    numbers = ~np.isnan(values)
    if op in POSITIONS:  # of numbers alone, as NumPy's puts an infinity for a NaN
        return rows[numbers][getattr(np, op[3:])(values[numbers])] if numbers.any() else -1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        if not numbers.any():
            return np.nan
        if q is None or np.isfinite(values[numbers]).all():
            return np.nanmedian(values) if q is None else np.nanquantile(values, q)
        ordered, at = np.sort(values[numbers]), q * (numbers.sum() - 1)  # NumPy's of equal infinities is NaN
        lower, upper, part = ordered[int(at)], ordered[int(np.ceil(at))], at % 1
        return lower if lower == upper else lower * (1 - part) + upper * part


def expected(a, labels, groups, op, q, axis, mask):
    moved, chosen = (np.moveaxis(np.broadcast_to(each, a.shape), axis, 0) for each in (a, mask))
    wide = moved.astype(np.result_type(moved.dtype, np.float64) if a.dtype.kind != "V" else np.float64)
    result = np.empty((groups, *moved.shape[1:]))
    for column in np.ndindex(moved.shape[1:]):
        at = (slice(None), *column)
        for group in range(groups):
            rows = np.flatnonzero((labels == group) & chosen[at])
            result[(group, *column)] = of_column(op, q, wide[at][rows], rows)
    return np.moveaxis(result, 0, axis)


def put(array, device, on_device):
    return gpureduce.to_device(np.ascontiguousarray(array), device) if on_device else array


def calls_of(length, device, on_device):
    """Return functions with their arguments but for the operator, the label of each row, and the groups."""
    labels = np.random.default_rng(2).integers(-1, GROUPS - 1, length)
    offsets = np.array([2, 5, 5, length - 3, length - 1])
    segments = np.searchsorted(offsets, np.arange(length), "right") - 1
    segments[segments == len(offsets) - 1] = -1
    return (
        (gpureduce.group_reduce, put(labels, device, on_device), {"num_groups": GROUPS}, labels, GROUPS),
        (gpureduce.segment_reduce, put(offsets, device, on_device), {}, segments, 4),
    )


def masks_of(shape, axis):
    rng = np.random.default_rng(3)
    rows = [-1 if i == axis else 1 for i in range(len(shape))]
    return (True, rng.random(shape) < 0.6, (rng.random(shape[axis]) < 0.6).reshape(rows))


QUICK = {("float32", False), ("float64", True), ("complex64", True), ("bfloat16", False)}
CASES = [
    pytest.param(name, there, marks=() if (name, there) in QUICK else pytest.mark.large)
    for name, there in itertools.product([*FLOATS, "complex64", "int32"], (False, True))
]


@pytest.mark.parametrize(("name", "on_device"), CASES)
def test_results(name, on_device, device):
    """With ties, infinities, zeros of both signs, groups of NaNs alone and empty ones, and masks."""
    for shape, axis in SHAPES:
        a = (
            drawn(shape, name)
            if name != "int32"
            else np.random.default_rng(4).integers(-3, 4, shape, np.int32)
        )
        there = put(a, device, on_device)
        ops = [(op, None) for op in POSITIONS] + list(QUANTILES if a.dtype.kind != "c" else ())
        for mask, (op, q) in itertools.product(masks_of(shape, axis), ops):
            given = {} if mask is True else {"where": put(mask, device, on_device)}
            given |= {} if q is None else {"q": q}
            for function, cut, more, labels, count in calls_of(shape[axis], device, on_device):
                want = expected(a, labels, count, op, q, axis, mask)
                got = function(there, cut, op, axis=axis, device=device, as_device=True, **given, **more)
                assert got.device.split(":")[0] == device.split(":")[0]
                got = got.numpy().astype(np.float64)
                np.testing.assert_allclose(got, want, 8e-3, 1e-14, err_msg=f"{shape} {op} {q}")


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
def test_groups_of_nans_alone(on_device, device):
    """Host results of positions raise ValueError, others have -1; an infinity is a number."""
    inf, nan = np.inf, np.nan
    a = np.array([[nan, inf], [inf, nan], [nan, 1], [2, nan], [2, 3], [nan, nan], [-0.0, 0.0], [0.0, -0.0]])
    labels, options = np.array([0, 0, 1, 1, 1, -1, 3, 3]), {"device": device}
    there, cut = put(a, device, on_device), put(labels, device, on_device)
    for op, want in (
        ("nanargmin", [[1, 0], [3, 2], [-1, -1], [6, 6]]),
        ("nanargmax", [[1, 0], [3, 4], [-1, -1], [6, 6]]),
    ):
        got = gpureduce.group_reduce(there, cut, op, 4, as_device=False, **options)
        assert got.dtype == np.int64 and got.tolist() == want
        out = np.full((4, 2), 9)
        assert gpureduce.group_reduce(there, cut, op, 4, out=out, **options) is out and out.tolist() == want
    labels[5] = 2
    cut = put(labels, device, on_device)
    for op in POSITIONS:
        out = np.full((4, 2), 9)
        with pytest.raises(ValueError, match=f"^a: {op} of group 2, which has no elements but NaNs"):
            gpureduce.group_reduce(there, cut, op, 4, out=out, **options)
        assert (out == 9).all()
        with pytest.raises(ValueError, match=f"^a: {op} of segment 1, which has no elements but NaNs"):
            gpureduce.segment_reduce(a, [0, 5, 6, 6, 8], op, **options)
        got = gpureduce.group_reduce(there, cut, op, 4, as_device=True, **options).numpy()
        assert got[2].tolist() == [-1, -1]
        masked = gpureduce.group_reduce(a, labels, op, 4, where=~np.isnan(a).all(1, keepdims=True), **options)
        assert masked[2].tolist() == [-1, -1]
    for op in ("nanmedian", "nanquantile"):
        with np.errstate(all="raise"):
            got = gpureduce.group_reduce(there, cut, op, 4, q=0.5 if "q" in op else None, **options)
        got = got.numpy() if on_device else got
        np.testing.assert_array_equal(got, [[inf, inf], [2, 2], [nan, nan], [0, 0]])


def test_rows_of_a_tensor_in_another_order(device):
    """Strides of a device array: columns of a wider one, backwards."""
    a = drawn((60, 8), "float32", 6)
    labels = np.random.default_rng(7).integers(0, 3, 60)
    view = gpureduce.to_device(a, device)[::-1, 1::3]
    rows = np.ascontiguousarray(a[::-1, 1::3])
    for op, q in (("nanargmax", None), ("nanmedian", None)):
        got = gpureduce.group_reduce(view, gpureduce.to_device(labels, device), op, 3).numpy()
        np.testing.assert_array_equal(got, expected(rows, labels, 3, op, q, 0, True))


def test_medians_are_exact_in_any_order(device):
    n = 3001
    rng = np.random.default_rng(8)
    a = (rng.standard_normal(n) * 2.0 ** rng.integers(-60, 60, n)).astype(np.float32)
    a[rng.random(n) < 0.3] = np.nan
    labels = rng.integers(-1, 40, n)
    want = [np.nanmedian(a[labels == group].astype(np.float64)) for group in range(40)]
    for order in (np.arange(n), rng.permutation(n)):
        given = [gpureduce.to_device(each[order], device) for each in (a, labels)]
        got = gpureduce.group_reduce(given[0], given[1], "nanmedian", 40)
        assert got.numpy().tobytes() == np.array(want).astype(np.float32).tobytes()


def test_errors_name_the_argument(device):
    a, labels = np.array([1.0, np.nan, 2.0]), [0, 0, 1]
    for error, message, op, options in (
        (TypeError, "q: missing for nanquantile", "nanquantile", {}),
        (TypeError, "q: only for quantile, not for nanmedian", "nanmedian", {"q": 0.5}),
        (TypeError, "q: only for quantile, not for nanargmin", "nanargmin", {"q": 0.5}),
        (TypeError, "ddof: only for var and std, not for nanargmax", "nanargmax", {"ddof": 1}),
        (TypeError, "weights: only for sum and mean, not for nanargmin", "nanargmin", {"weights": a}),
        (TypeError, "weights: only for sum and mean, not for nanmedian", "nanmedian", {"weights": a}),
    ):
        with pytest.raises(error, match=f"^{message}"):
            gpureduce.group_reduce(a, labels, op, device=device, **options)
    with pytest.raises(TypeError, match=r"^a: nanmedian takes real numbers"):
        gpureduce.group_reduce(a * 1j, labels, "nanmedian", device=device)
    with pytest.raises(ValueError, match=r"^op: expected one of"):
        gpureduce.reduceat(a, [0, 2], "nanargmin", device=device)
