"""`numpy.errstate`: results on the host that are not finite are told of, as by NumPy, for every function.

The elements lie on the host or on a device; NaNs and infinities among them are no fault, and are not told of.
"""

import warnings

import numpy as np
import pytest

import gpureduce

INF, NAN, BIG = np.inf, np.nan, 1.5e308


def told(function, *args, **kwargs):
    """The kinds of floating-point errors that a call tells of; "empty" for a slice without elements."""
    kinds = set()
    with warnings.catch_warnings(record=True) as seen, np.errstate(all="warn"):
        warnings.simplefilter("always")
        result = function(*args, **kwargs)
    for warning in seen:
        assert issubclass(warning.category, RuntimeWarning)
        text = str(warning.message)
        kinds.add("over" if "overflow" in text else "invalid" if "invalid" in text else text)
    return kinds, result


ROWS = [
    [BIG, BIG, 1.0],
    [INF, -INF, 1.0],
    [INF, BIG, BIG],
    [NAN, BIG, BIG],
    [NAN, INF, -INF],
    [NAN, 1.0, 2.0],
    [INF, 1.0, 0.0],
    [1e200, -1e200, 1e200],
    [BIG, -BIG, 3.0],
]
PLAIN = ["sum", "prod", "mean", "nansum", "nanprod", "nanmean", "ptp"]


@pytest.mark.parametrize("place", ["host", "device"])
@pytest.mark.parametrize("name", PLAIN)
def test_like_numpy(name, place, device):
    for row in ROWS:
        for a, axis in ((np.array(row), None), (np.array([row, [1.0, 2.0, 3.0]]), 1)):
            expected, wanted = told(getattr(np, name), a, axis=axis)
            given = gpureduce.to_device(a, device) if place == "device" else a
            options = {"as_device": False} if place == "device" else {"device": device}
            found, result = told(getattr(gpureduce, name), given, axis=axis, **options)
            # A mean is rounded once, of a sum that may lie beyond the dtype.
            if np.array_equal(np.isfinite(result), np.isfinite(wanted)):
                assert found == expected, (row, axis, result, wanted)
            else:
                assert "mean" in name and np.isfinite(result).all() and not found


PAIRS = [
    ([BIG, BIG], [10.0, 10.0], {"over"}),
    ([INF, -INF], [1.0, 1.0], {"invalid"}),
    ([INF, BIG], [1.0, 10.0], set()),
    ([NAN, BIG], [1.0, 10.0], set()),
    ([1.0, 2.0], [3.0, 4.0], set()),
]


@pytest.mark.parametrize("place", ["host", "device"])
@pytest.mark.parametrize("name", ["vecdot", "inner", "dot"])
def test_pairs(name, place, device):
    function = getattr(gpureduce, name)
    for first, second, expected in PAIRS:
        a, b, options = np.array(first), np.array(second), {"device": device}
        if place == "device":
            a, b, options = (
                gpureduce.to_device(a, device),
                gpureduce.to_device(b, device),
                {"as_device": False},
            )
        found, result = told(function, a, b, **options)
        assert found == expected, (first, second, result)
    if name in ("vecdot", "inner"):
        found, _ = told(function, np.array([[BIG, 1], [INF, -INF]]), np.array([10.0, 1.0]), device=device)
        assert found == {"over", "invalid"}


@pytest.mark.parametrize("place", ["host", "device"])
def test_averages(place, device):
    cases = [
        ([BIG, -BIG], [3.0, -2.0], {"over"}),
        ([INF, -INF], [1.0, 1.0], {"invalid"}),
        ([INF, 1.0], [1.0, 1.0], set()),
        ([NAN, BIG], [1.0, 1.0], set()),
        ([1.0, 2.0], [3.0, 1.0], set()),
    ]
    for elements, weights, expected in cases:
        a, b, options = np.array(elements), np.array(weights), {"device": device}
        if place == "device":
            a, b, options = (
                gpureduce.to_device(a, device),
                gpureduce.to_device(b, device),
                {"as_device": False},
            )
        found, result = told(gpureduce.average, a, weights=b, **options)
        assert found == expected, (elements, weights, result)


@pytest.mark.parametrize("place", ["host", "device"])
@pytest.mark.parametrize(("op", "ufunc"), [("sum", np.add), ("prod", np.multiply)])
def test_reduceat(op, ufunc, place, device):
    for row in ROWS:
        if row[1:] in ([BIG, BIG], [INF, -INF]):
            continue  # NumPy adds the first one last, and tells of a partial sum
        a = np.array([*row, 5.0, 6.0])
        expected, _ = told(ufunc.reduceat, a, [0, 3])
        given = gpureduce.to_device(a, device) if place == "device" else a
        options = {"as_device": False} if place == "device" else {"device": device}
        found, _ = told(gpureduce.reduceat, given, np.array([0, 3]), op, **options)
        assert found == expected, row
        found, _ = told(gpureduce.segment_reduce, given, np.array([0, 3, 5]), op, **options)
        assert found == expected, row


def test_norm(device):
    assert told(gpureduce.norm, [BIG, BIG], device=device)[0] == {"over"}
    assert told(gpureduce.norm, [BIG, BIG], 1, device=device)[0] == {"over"}
    assert told(gpureduce.norm, [1e200, 1e200], device=device)[0] == set()  # scaled
    assert told(gpureduce.norm, [INF, 1.0], device=device)[0] == set()


@pytest.mark.parametrize("name", ["nansum", "inner", "vecdot", "ptp"])
def test_errstate_is_obeyed(name, device):
    args = ([BIG, BIG, 1.0], [10.0, 1.0, 1.0]) if name in ("inner", "vecdot") else ([BIG, BIG, -BIG],)
    args = ([BIG, -BIG, 0.0],) if name == "ptp" else ([BIG, BIG, NAN],) if name == "nansum" else args
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
        getattr(gpureduce, name)(*args, device=device)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        getattr(gpureduce, name)(*args, device=device)


def test_a_cast_that_overflows(device):
    """An element may become infinite in the dtype that is asked for: NumPy reports an overflow, too."""
    a = np.array([[70000, 1, 2]])
    calls = {
        "cumsum": lambda m, a: m.cumsum(a, dtype="float16"),
        "cumulative_prod": lambda m, a: m.cumulative_prod(a, axis=1, dtype="float16"),
        "matmul": lambda m, a: m.matmul(
            a, a.T, dtype="float16", **({"casting": "unsafe"} if m is np else {})
        ),
        "var": lambda m, a: m.var(a, dtype="float16"),
        "sum": lambda m, a: m.sum(a, dtype="float16"),
        "reduceat": lambda m, a: (
            np.add.reduceat(a[0], [0], dtype="float16") if m is np else m.reduceat(a[0], [0], dtype="float16")
        ),
    }
    with gpureduce.device(device):
        for name, call in calls.items():
            for module in (np, gpureduce):
                assert "over" in told(call, module, a)[0], (name, module)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="overflow encountered in cast"):
        gpureduce.cumsum(a, dtype="float16", device=device)
