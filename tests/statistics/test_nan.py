"""The reductions that leave NaNs out, against NumPy."""

import warnings

import numpy as np
import pytest

import gpureduce
from tests.support import float_cases
from tests.support import numpy_oracle as oracle
from tests.support.float_cases import is_nan, plain

ACCUMULATED = {"nansum": ("sum", 0), "nanmean": ("mean", 0), "nanprod": ("prod", 1)}
EXTREMES = {"nanmin": np.fmin, "nanmax": np.fmax, "fmin": np.fmin, "fmax": np.fmax}
CASES = 60


def quietly(function, *args, **arguments):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(*args, **arguments)


def numpy_form(op, array, **arguments):
    """What NumPy returns for the same shape and dtype, bfloat16 not known to it."""
    return quietly(getattr(np, op), np.ones(array.shape, array.dtype), **arguments)


def draws(name, exhaustive, count=CASES):
    count *= 40 if exhaustive else 1
    return [np.random.default_rng([len(name), ord(name[3]), seed]) for seed in range(count)]


def places(rng, array, device):
    """The array as it is, or on the device, where a result of an axis stays."""
    if rng.random() < 0.6:
        return array, {"device": device}
    return gpureduce.to_device(array, device), {"as_device": bool(rng.random() < 0.7)}


@pytest.mark.parametrize("op", ACCUMULATED)
def test_sums_means_and_products(op, device, exhaustive):
    whole, neutral = ACCUMULATED[op]
    compared = 0
    for rng in draws(op, exhaustive):
        array, axis = float_cases.case(rng)
        chosen = {"axis": axis, "keepdims": bool(rng.random() < 0.3)}
        where, initial = True, None
        if rng.random() < 0.3:
            where = chosen["where"] = rng.random(array.shape) < 0.6
        if op != "nanmean" and rng.random() < 0.3:
            initial = chosen["initial"] = array.dtype.type(2.5)
        given, options = places(rng, array, device)
        got = plain(quietly(getattr(gpureduce, op), given, **chosen, **options))
        wanted = numpy_form(op, array, **chosen)
        if not options.get("as_device"):
            assert oracle.mismatch_of_form(op, got, wanted) is None
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
        counted = ~is_nan(array) & where
        without = np.where(is_nan(array), array.dtype.type(neutral), array)
        wrong = oracle.mismatch_of_rounded(
            whole, got, without, array.dtype, axis, chosen["keepdims"], initial, counted
        )
        compared += wrong is None
        assert wrong in (None, oracle.ORDER_DEPENDENT), (array, chosen)
    assert compared > CASES / 2


@pytest.mark.parametrize("op", EXTREMES)
def test_extremes(op, device, exhaustive):
    for rng in draws(op, exhaustive):
        array, axis = float_cases.case(rng)
        chosen = {"axis": axis, "keepdims": bool(rng.random() < 0.3)}
        if rng.random() < 0.3:
            chosen |= {
                "where": rng.random(array.shape) < 0.6,
                "initial": array.dtype.type(rng.choice([0.5, np.nan])),
            }
        given, options = places(rng, array, device)
        got = plain(quietly(getattr(gpureduce, op), given, **chosen, **options))
        wide = array.astype(np.float32) if array.dtype == oracle.BFLOAT16 else array
        wanted = np.asarray(quietly(EXTREMES[op].reduce, wide, **chosen))
        assert got.dtype == array.dtype and got.shape == wanted.shape
        assert oracle.mismatch_of_equal(got, wanted.astype(array.dtype)) is None, (array, chosen)


@pytest.mark.parametrize("op", ["nanargmin", "nanargmax"])
def test_positions(op, device, exhaustive):
    """The first of equals; of NaNs and infinities alone NumPy's are not to be trusted, as it says."""
    plain_op = getattr(np, op.replace("nan", ""))
    for rng in draws(op, exhaustive, 2 * CASES):
        array, axis = float_cases.case(rng, several=False)
        chosen = {"axis": axis, "keepdims": bool(rng.random() < 0.3)}
        nans = is_nan(array)
        given, options = places(rng, array, device)
        whole = nans.all(axis, keepdims=chosen["keepdims"])
        on_host = not (options.get("as_device", True) and options.get("device") is None)
        if whole.any() and on_host:
            with pytest.raises(ValueError, match="All-NaN slice"):
                getattr(gpureduce, op)(given, **chosen, **options)
            continue
        got = plain(getattr(gpureduce, op)(given, **chosen, **options))
        flat = array if axis is not None else array.ravel()
        skipped = nans if axis is not None else nans.ravel()
        order = _ranks(flat)
        order = np.where(skipped, order.max(initial=0) + 1 if op == "nanargmin" else -1, order)
        wanted = plain_op(order, -1 if axis is None else axis)
        wanted = np.where(whole, -1, np.reshape(wanted, whole.shape))
        assert got.dtype == np.int64
        assert oracle.mismatch_of_equal(got, wanted) is None, (array, chosen)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_the_first_of_equals_is_found(dtype, device):
    array = np.ones((700, 24), dtype)
    array[:5], array[333] = np.nan, np.nan
    for op in ("nanargmin", "nanargmax"):
        function = getattr(gpureduce, op)
        assert (function(array, 0, device=device) == 5).all()
        assert (function(np.ascontiguousarray(array.T), 1, device=device) == 5).all()
        assert function(array[:, ::2], device=device) == 5 * 12 and function(array, device=device) == 5 * 24
    long = np.ones(700_000 if dtype == "float64" else 0)  # several turns a thread
    long[:7] = np.nan
    assert not len(long) or gpureduce.nanargmax(long, device=device) == 7


def _ranks(array):
    """Numbers in the order of the elements, equal for equal ones; complex ones by their real parts first."""
    if array.dtype.kind != "c":
        array = array.astype(np.float64)
    return np.unique(np.nan_to_num(array, posinf=1e30, neginf=-1e30), return_inverse=True)[1].reshape(
        array.shape
    )


@pytest.mark.parametrize("op", ["nansum", "nanmean", "nanmin", "nanargmax"])
@pytest.mark.parametrize("n", [0, 1, 31, 1023, 4096 + 5, 100003])
def test_lengths_and_ends(op, n, device):
    """A number alone among NaNs is found wherever it lies: first, last, and between."""
    if n == 0:
        if op in ("nanmin", "nanargmax"):
            with pytest.raises(ValueError):
                getattr(gpureduce, op)(np.zeros(0), device=device)
        else:
            got = quietly(getattr(gpureduce, op), np.zeros(0), device=device)
            assert got == 0 if op == "nansum" else np.isnan(got)
        return
    for at in {0, n // 3, n - 1}:
        array = np.full(n, np.nan, np.float32)
        array[at] = -3
        got = getattr(gpureduce, op)(array, device=device)
        assert got == (at if op == "nanargmax" else -3)
        rows = np.full((n, 2), np.nan, np.float32)
        rows[at, 1] = rows[n - 1 - at, 0] = -3
        got = getattr(gpureduce, op)(rows, axis=0, device=device)
        assert list(got) == ([n - 1 - at, at] if op == "nanargmax" else [-3, -3])


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    "shape, axis", [((5, 30001), 1), ((3001, 42), 0), ((700, 3), 0), ((300, 64), 1), ((90000,), 0)]
)
def test_lines_of_many_threads(name, shape, axis, device):
    """Of numbers whose sums are exact; a quotient is rounded as sums are kept, and to the dtype."""
    rng = np.random.default_rng(len(shape) + axis)
    array = (rng.integers(-32, 33, shape) / 4).astype(name)
    shares = np.expand_dims(rng.uniform(0, 0.6, np.delete(shape, axis)), axis)
    array[rng.random(shape) < shares] = np.nan
    wide = array.astype(np.float64)
    count = (~np.isnan(wide)).sum(axis)
    kept = np.float32 if name == "float16" else np.float64
    wanted = {op: np.asarray(getattr(np, op)(wide, axis)) for op in ("nansum", "nanmin", "nanmax")}
    wanted["nanmean"] = wanted["nansum"].astype(kept) / count.astype(kept)
    for op, right in wanted.items():
        got = getattr(gpureduce, op)(array, axis=axis, device=device)
        assert np.array_equal(got, right.astype(name)), op


@pytest.mark.parametrize("op", ["nanmin", "nanmax", "nanmean"])
def test_numpys_warnings(op, device):
    array = np.array([[np.nan, np.nan], [1, np.nan]])
    message = {"nanmean": "Mean of empty slice"}.get(op, "All-NaN slice encountered")
    for axis in (0, 1):
        with pytest.warns(RuntimeWarning, match=message) as caught:
            got = getattr(gpureduce, op)(array, axis=axis, device=device)
        assert caught[0].filename == __file__
        assert np.isnan(got[1 - axis]) and got[axis] == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        getattr(gpureduce, op)(array, device=device)
        getattr(gpureduce, op)(array, axis=1, device=device, as_device=True)
        gpureduce.fmin(array, axis=1, device=device)
        gpureduce.nansum(array, axis=1, device=device)
    if op == "nanmean":  # a NaN of infinities is no empty slice
        with pytest.warns(RuntimeWarning, match="invalid value encountered in reduce"):
            getattr(gpureduce, op)([np.inf, -np.inf], device=device)


@pytest.mark.parametrize("op", [*ACCUMULATED, "nanmin", "nanmax", "nanargmin", "nanargmax", "fmin", "fmax"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64"])
def test_integers_go_to_the_plain_operator(op, dtype, device):
    array = np.arange(-6, 6).reshape(3, 4).astype(dtype)
    function = getattr(np, op).reduce if op in ("fmin", "fmax") else getattr(np, op)
    for axis in (None, 0, 1):
        got, wanted = getattr(gpureduce, op)(array, axis=axis, device=device), function(array, axis=axis)
        assert oracle.mismatch_of_form(op, got, wanted) is None
        assert oracle.mismatch_of_equal(got, wanted) is None


@pytest.mark.parametrize("name", EXTREMES)
def test_errors_name_the_function(name, device):
    with pytest.raises(ValueError, match=f"^{name}: zero-size array"):
        getattr(gpureduce, name)(np.empty((0, 2)), axis=0, device=device)
    with pytest.raises(ValueError, match=f"^{name}: .* where= needs initial="):
        getattr(gpureduce, name)([1.0, 2.0], where=[True, False], device=device)


def test_out_dtype_and_what_is_refused(device):
    array = np.array([[1, np.nan, 2.5], [np.nan, 4, 0.25]], np.float32)
    out = np.zeros(2)
    assert gpureduce.nansum(array, 1, out=out, device=device) is out and list(out) == [3.5, 4.25]
    assert gpureduce.nansum(array, dtype=int, device=device) == np.nansum(array, dtype=int) == 7
    assert gpureduce.nanprod(array, dtype=np.float64, device=device).dtype == np.float64
    complex_one = np.array([1 + 2j, complex(np.nan, 3), complex(4, np.nan)])
    assert gpureduce.nansum(complex_one, device=device) == 1 + 2j
    with pytest.raises(TypeError, match="dtype: must be inexact"):
        gpureduce.nanmean(array, dtype=int, device=device)
    with pytest.raises(TypeError, match="out: must be inexact"):
        gpureduce.nanmean(array, 0, out=np.zeros(3, int), device=device)
    with pytest.raises(TypeError, match="safe"):
        gpureduce.nanargmin(array, out=np.zeros((), np.float32), device=device)
    with pytest.raises(ValueError, match="needs initial"):
        gpureduce.nanmin(array, where=array > 1, device=device)
    with pytest.raises(TypeError, match="convert it before"):
        gpureduce.vecdot(gpureduce.to_device(array, device), gpureduce.to_device(array.astype("f8"), device))


def test_means_beyond_the_dtype_are_finite(device):
    largest = np.finfo(np.float32).max
    assert gpureduce.nanmean(np.array([largest, np.nan, largest]), device=device) == largest


def test_long_arrays_come_in_parts(device):
    """Longer than a chunk of the ring, so that parts hand on their States."""
    array = np.ones(5 << 20, np.float16)
    array[::3] = np.nan
    assert gpureduce.nanmean(array, device=device) == 1
    array[4 << 20] = 3
    assert gpureduce.nanargmax(array, device=device) == 4 << 20
