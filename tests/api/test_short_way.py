"""What the core makes of the public arguments by itself is what the functions of the package make of them."""

import random
import warnings

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce._device.devices import LEGACY_STREAM
from gpureduce._reduce import composed, norms
from gpureduce._rules import dtypes

OPERATORS = ("sum", "prod", "min", "max", "mean", "any", "all", "argmin", "argmax", "count_nonzero")
OPERATORS += ("bitwise_and", "bitwise_or", "bitwise_xor", "var", "nanstd", "fsum", "ptp", "logical_xor")
DTYPES = ("bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex64")
WITH_MASKS = {"sum", "prod", "min", "max", "mean", "any", "all", "bitwise_and", "bitwise_or", "bitwise_xor"}
WITH_MASKS |= {"var", "nanstd", "fsum", "logical_xor"}
WITH_INITIAL = {
    "sum",
    "prod",
    "min",
    "max",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "fsum",
    "logical_xor",
}
INITIAL = (0, 0, 1, -3, 2.5, 300, 1e300, 2**40, 2**63, 10**30, True, None, np.inf, np.nan, np.int8(2), "x")
EXACT = (True, True, True, False, False, None, 1, np.True_, "x")


@pytest.fixture
def share(thin):
    """The share of the calls that slow builds draw: one of so many."""
    return 4 if thin else 1


def outcome(function, a, arguments):
    """The result, or the error, as something to compare."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            got = function(a, **arguments)
        except Exception as error:
            return type(error), str(error), len(warned)
    if isinstance(got, gpureduce.DeviceArray):
        return type(got), got.shape, got.dtype, got.stream, got.device, got.numpy().tobytes()
    got_array = np.asarray(got)
    strides = got_array.strides if got_array.size else ()  # without elements there is no memory order
    order = [s for s, n in zip(strides, got_array.shape, strict=bool(strides)) if n > 1]
    return type(got), got_array.shape, got_array.dtype, order, got_array.tobytes(), len(warned)


def drawn(draw, op, device):
    """Arguments, such that each is often what the core takes and at times what it leaves."""
    ndim = draw.randrange(4)
    shape = tuple(draw.choice((1, 2, 3, 5, 5, 0)) if draw.random() < 0.3 else 4 for _ in range(ndim))
    values = np.arange(1, np.prod(shape, dtype=int) + 1).reshape(shape) * 7 % 11 - 4
    array = np.asarray(values.astype(draw.choice(DTYPES)))
    if array.dtype.kind in "fc" and draw.random() < 0.3:  # what rounds, overflows and is nothing
        most = np.finfo(array.dtype).max
        numbers = np.array([1.0, -1.0, most / 3, -most, 1e-3, 1e-7, *draw.choice(((), (np.inf, np.nan)))])
        chosen = np.array([draw.randrange(len(numbers)) for _ in range(array.size)], int)
        array[...] = numbers[chosen].reshape(shape)
    if ndim and draw.random() < 0.4:
        array = array.transpose(draw.sample(range(ndim), ndim))
    if ndim and draw.random() < 0.2:
        array = array[::-2]
    there = draw.random() < 0.6
    a = gpureduce.to_device(array, device) if there else array
    arguments = {} if there and draw.random() < 0.5 else {"device": device}
    if draw.random() < 0.7:
        axes = [0, -1, ndim - 1, ndim, True, (), (0,), (0, -1), (0, 0), tuple(range(ndim)), None]
        arguments["axis"] = draw.choice([axis for axis in axes if axis is not True or draw.random() < 0.3])
    if draw.random() < 0.4:
        arguments["keepdims"] = draw.choice((True, False, 1, np.True_))
    if draw.random() < 0.3:
        arguments["as_device"] = draw.choice((True, False, None, 1))
    if draw.random() < 0.2:
        arguments["stream"] = draw.choice((None, 1, 0, -1, "x", 1.5))
    if op in ("sum", "mean") and draw.random() < 0.4:
        arguments["exact"] = draw.choice(EXACT)
    if op in ("var", "nanstd") and draw.random() < 0.4:
        name = draw.choice(("ddof", "ddof", "correction", "mean"))
        arguments[name] = draw.choice((0, 1, 1, 0.5, 2.0, np.float64(1), 4, -1, True, "x", 10**30))
    if op in WITH_INITIAL and draw.random() < 0.2:
        arguments["initial"] = draw.choice(INITIAL)
    if op in WITH_MASKS and draw.random() < 0.4:
        mask = np.asarray(array.real > draw.randrange(-3, 4))
        mask = draw.choice((mask, mask, mask[:1] if ndim else mask, np.array(True), np.array([1, 0])))
        arguments["where"] = gpureduce.to_device(mask, device) if draw.random() < 0.6 else mask
    return array, a, arguments


@pytest.mark.core
@pytest.mark.parametrize("op", OPERATORS)
def test_results_and_errors(op, device):
    function = getattr(gpureduce, op)
    core = function.__closure__[0].cell_contents
    draw = random.Random(op)
    gpureduce.sum([1.0], device=device)
    at_once = 0
    for _ in range(250):
        _, a, arguments = drawn(draw, op, device)
        short, long = (outcome(each, a, arguments) for each in (function, function.__wrapped__))
        assert short == long, (a, arguments)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                at_once += core(a, **arguments) is not NotImplemented
            except Exception:
                at_once += 0
    assert at_once > 30


@pytest.mark.core
@pytest.mark.parametrize("op", [op for op in OPERATORS if op != "count_nonzero"])
def test_arrays_that_are_given(op, device):
    """`out=` of either place, right and wrong: what is refused is left as it was."""
    function = getattr(gpureduce, op)
    draw = random.Random(op)
    written = 0
    for _ in range(150):
        array, a, arguments = drawn(draw, op, device)
        arguments.pop("as_device", None)
        wanted = outcome(function.__wrapped__, a, arguments)
        shape = wanted[1] if isinstance(wanted[1], tuple) else ()
        shape = shape if draw.random() < 0.8 else (2, *shape)
        dtype = wanted[2] if isinstance(wanted[2], np.dtype) and draw.random() < 0.8 else np.dtype("float64")
        order = draw.choice("CF")
        frozen = draw.random() < 0.1
        places, results = [], []
        on_device = draw.random() < 0.6
        for run in (function, function.__wrapped__):
            place = np.full(shape, 1, dtype, order)
            place.flags.writeable = not frozen
            place = gpureduce.to_device(place, device) if on_device else place
            results.append(outcome(run, a, {"out": place, **arguments}))
            places.append(place.numpy() if on_device else place)
        assert results[0] == results[1], (array, arguments, shape, dtype)
        np.testing.assert_array_equal(*places)
        written += issubclass(results[0][0], (np.ndarray, gpureduce.DeviceArray))
    assert written > 12


@pytest.mark.core
def test_dot(device):
    core = gpureduce.dot.__closure__[0].cell_contents
    draw = random.Random(5)
    at_once = 0
    for _ in range(400):
        n = draw.choice((0, 1, 7, 300))
        first = np.asarray(np.arange(n) * 7 % 11 - 4, draw.choice(DTYPES))
        second = np.asarray(
            np.arange(n)[::-1] * 3 % 7 - 2, draw.choice((first.dtype, first.dtype, "float64"))
        )
        pair = [first, second[:: draw.choice((1, 1, -1))]]
        pair[1] = draw.choice((pair[1], pair[1], pair[1], pair[1][1:], pair[1].reshape(1, -1)))
        there = draw.choice(((True, True), (False, False), (True, False)))
        a, b = (
            gpureduce.to_device(each, device) if on else each for each, on in zip(pair, there, strict=True)
        )
        arguments = {"b": b, "device": device}
        if draw.random() < 0.4:
            arguments["exact"] = draw.choice(EXACT)
        if draw.random() < 0.3:
            arguments["as_device"] = draw.choice((True, False))
        if draw.random() < 0.3:
            arguments["stream"] = 1
        short, long = (outcome(each, a, arguments) for each in (gpureduce.dot, gpureduce.dot.__wrapped__))
        assert short == long, (a, arguments)
        out = np.zeros((), draw.choice((first.dtype, np.dtype("float64"))))
        outs = [gpureduce.to_device(out, device) if there[0] else out.copy() for _ in range(2)]
        for place, each in zip(outs, (gpureduce.dot, gpureduce.dot.__wrapped__), strict=True):
            arguments = {"b": b, "device": device, "out": place}
            assert outcome(each, a, arguments)[:1] == outcome(gpureduce.dot.__wrapped__, a, arguments)[:1]
        assert outs[0].numpy() == outs[1].numpy() if there[0] else outs[0] == outs[1]
        with np.errstate(all="ignore"):
            try:
                at_once += core(a, b, device=device) is not NotImplemented
            except Exception:
                at_once += 0
    assert at_once > 100


@pytest.mark.core
def test_norms(device, monkeypatch):
    """Of all orders, some of which the core takes at once."""
    draw = random.Random(6)
    calls = []
    for _ in range(300):
        _, a, arguments = drawn(draw, "norm", device)
        arguments["ord"] = draw.choice(
            (None, 2, 2.0, 1, True, np.inf, -np.inf, 0, 3, -1, 0.5, 1e308, 10**400, np.float64(1), "x", [2])
        )
        calls.append((a, arguments, outcome(gpureduce.norm, a, arguments)))
    for core in (norms._QUICK[None], norms._core_of(3)):
        assert sum(core(a, device=device) is not NotImplemented for a, _, _ in calls) > 50
    monkeypatch.setattr(norms, "_core_of", lambda ord: None)
    monkeypatch.setattr(norms, "_QUICK", {})
    for a, arguments, short in calls:
        assert outcome(gpureduce.norm, a, arguments) == short, (a, arguments)


@pytest.mark.core
def test_vectors_along_an_axis(device, monkeypatch):
    draw = random.Random(7)
    calls, at_once = [], 0
    for _ in range(300):
        first, a, arguments = drawn(draw, "vecdot", device)
        for name in ("keepdims", "device"):
            arguments.pop(name, None)
        other = draw.choice(
            (first * 3, first[..., ::-1] if first.ndim else first, np.atleast_1d(first)[:1], first.T)
        )
        other = other.astype(draw.choice((first.dtype, first.dtype, first.dtype, "complex128")))
        there = isinstance(a, gpureduce.DeviceArray) == (draw.random() < 0.9)
        arguments["x2"] = gpureduce.to_device(other, device) if there else other
        with np.errstate(all="ignore"):
            at_once += composed._DOTS(a, arguments["x2"], axis=-1, device=device) is not NotImplemented
        arguments["device"] = device
        calls.append((a, arguments, outcome(gpureduce.vecdot, a, arguments)))
    assert at_once > 30
    for name in ("_DOTS", "_BROADCAST_DOTS"):
        monkeypatch.setattr(composed, name, lambda *args, **options: NotImplemented)
    for a, arguments, short in calls:
        assert outcome(gpureduce.vecdot, a, arguments) == short, (a, arguments)


@pytest.mark.core
def test_inner(device):
    function = gpureduce.inner
    core = function.__closure__[0].cell_contents
    draw = random.Random(12)
    at_once = 0
    for _ in range(300):
        first, a, arguments = drawn(draw, "inner", device)
        for name in ("keepdims", "axis"):
            arguments.pop(name, None)
        other = draw.choice((first, first[..., ::-1] if first.ndim else first, np.atleast_1d(first)[:1]))
        other = draw.choice(
            (other, other, first.T, other.reshape(-1)[: first.shape[-1] if first.ndim else 1])
        )
        other = other.astype(draw.choice((first.dtype, first.dtype, first.dtype, "complex128")))
        arguments["b"] = gpureduce.to_device(other, device) if isinstance(a, gpureduce.DeviceArray) else other
        short, long = (outcome(each, a, arguments) for each in (function, function.__wrapped__))
        assert short == long, (a, arguments)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                at_once += core(a, **arguments) is not NotImplemented
            except Exception:
                at_once += 0
    assert at_once > 30, at_once


@pytest.mark.core
def test_traces(device):
    def more(draw, array, a):
        found = (
            {"offset": draw.choice((0, 0, 1, -2, 9, -9, True, "x", 10**30))} if draw.random() < 0.5 else {}
        )
        for name, default in (("axis1", 0), ("axis2", 1)):
            if draw.random() < 0.5:
                found[name] = draw.choice((default, default, -1, 2, 7, None))
        return found

    check_function("trace", device, more, 25, 900, without=("axis",))


@pytest.mark.core
def test_softmax_denominators(device):
    function = gpureduce.softmax_denominator
    core = function.__closure__[0].cell_contents
    draw = random.Random(13)
    at_once = 0
    for _ in range(500):
        _, a, arguments = drawn(draw, "softmax_denominator", device)
        results = []
        for each in (function, function.__wrapped__):
            try:
                results.append([outcome(with_one_nan, part, {}) for part in each(a, **arguments)])
            except Exception as error:
                results.append((type(error), str(error)))
        assert results[0] == results[1], (a, arguments)
        try:
            at_once += core(a, **arguments) is not NotImplemented
        except Exception:
            at_once += 0
    assert at_once > 10, at_once


def along(axis, values):
    """Weights of the axes of an average, in their order: elements of the values."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    if not all(type(one) is int and -values.ndim <= one < values.ndim for one in axes):
        return values
    lengths = [values.shape[one] for one in axes]
    return np.resize(values, lengths)


@pytest.mark.core
def test_averages(device, monkeypatch):
    draw = random.Random(8)
    calls, at_once = [], 0
    for _ in range(600):
        array, a, arguments = drawn(draw, "average", device)
        with np.errstate(all="ignore"):
            some = (array * 2, np.abs(array) + array.dtype.type(1), array * 0)
        weights = draw.choice(
            (*some, np.atleast_1d(array)[:1], array.T, along(arguments.get("axis"), some[1]))
        )
        weights = weights.astype(draw.choice((array.dtype, array.dtype, array.dtype, "float64")))
        there = isinstance(a, gpureduce.DeviceArray) == (draw.random() < 0.9)
        arguments["weights"] = gpureduce.to_device(weights, device) if there else weights
        calls.append((a, arguments, outcome(gpureduce.average, a, arguments)))
        given = {name: value for name, value in arguments.items() if name != "weights"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                at_once += composed._AVERAGES(a, b=arguments["weights"], **given) is not NotImplemented
            except Exception:
                at_once += 0
    assert at_once > 40, at_once
    monkeypatch.setattr(composed, "_AVERAGES", lambda *args, **options: NotImplemented)
    for a, arguments, short in calls:
        assert outcome(gpureduce.average, a, arguments) == short, (a, arguments)


def check_function(name, device, more, least, draws=300, without=()):
    """Compare what the core does at once, at least `least` times, with the function in Python."""
    function = getattr(gpureduce, name)
    core = function.__closure__[0].cell_contents
    draw = random.Random(name)
    gpureduce.sum([1.0], device=device)
    at_once = 0
    for _ in range(draws):
        array, a, arguments = drawn(draw, name, device)
        for parameter in ("keepdims", *without):
            arguments.pop(parameter, None)
        arguments |= more(draw, array, a)
        short, long = (outcome(each, a, arguments) for each in (function, function.__wrapped__))
        assert short == long, (array, a, arguments)
        if draw.random() < 0.4 and isinstance(short[1], tuple):
            places, results = [], []
            dtype = draw.choice((short[2], short[2], short[2], np.dtype("float64")))
            order, on_device = draw.choice("CF"), draw.random() < 0.5
            for run in (function, function.__wrapped__):
                place = np.full(short[1], 1, dtype, order)
                place = gpureduce.to_device(place, device) if on_device else place
                given = {**arguments, "out": place}
                given.pop("as_device", None)
                results.append(outcome(run, a, given))
                places.append(place.numpy() if on_device else place)
            assert results[0] == results[1], (array, a, arguments, dtype, order)
            np.testing.assert_array_equal(*places)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                at_once += core(a, **arguments) is not NotImplemented
            except Exception:
                at_once += 0
    assert at_once > least, at_once


@pytest.mark.core
@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_scans(name, device, share):
    def more(draw, array, a):
        found = {"include_initial": draw.choice((True, False, False, 1, np.True_, "x"))}
        return found if draw.random() < 0.5 else {}

    check_function(name, device, more, 40 // share, 300 // share)


@pytest.mark.core
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name, device, share):
    def more(draw, array, a):
        return {"axis": draw.choice((-1, -1, array.ndim - 1, 0, 1, 5, None))} if draw.random() < 0.8 else {}

    check_function(name, device, more, 20 // share, 900 // share)


@pytest.mark.core
@pytest.mark.parametrize("name", ["rms_norm", "layer_norm"])
def test_norms_of_rows(name, device, share):
    """With weights and biases that fit and that do not; a residual gets the same sums both ways."""

    def more(draw, array, a):
        length = array.shape[-1] if array.ndim else 1
        found = {"eps": draw.choice((1e-5, 0.0, 1, -1.0, "x", np.float64(2)))} if draw.random() < 0.4 else {}
        for parameter in ("weight", "bias") if name == "layer_norm" else ("weight",):
            if draw.random() < 0.5:
                vector = np.linspace(-2, 3, length + (draw.random() < 0.1)).astype(
                    draw.choice((array.dtype, array.dtype, "float64"))
                )
                there = isinstance(a, gpureduce.DeviceArray) == (draw.random() < 0.95)
                found[parameter] = gpureduce.to_device(vector, device) if there else vector
        return found

    check_function(name, device, more, 20 // share, 900 // share, without=("axis",))


@pytest.mark.core
def test_residuals(device):
    function = gpureduce.rms_norm
    draw = random.Random(11)
    for _ in range(60):
        shape = draw.choice(((3, 5), (4,), (2, 1, 6)))
        rng = np.random.default_rng(draw.randrange(99))
        array, sums = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
        sums = sums.astype(draw.choice(("float32", "float32", "float64")))
        sums = sums[..., : draw.choice((shape[-1], shape[-1], 1))]
        a = gpureduce.to_device(array, device)
        residuals = [gpureduce.to_device(sums, device) for _ in range(2)]
        results = [
            outcome(run, a, {"residual": residual})
            for run, residual in zip((function, function.__wrapped__), residuals, strict=True)
        ]
        assert results[0] == results[1]
        assert residuals[0].numpy().tobytes() == residuals[1].numpy().tobytes()
    assert outcome(function, a, {"residual": a}) == outcome(function.__wrapped__, a, {"residual": a})


SEGMENT_OPS = (*OPERATORS[:14], "std", "sum", "prod", "median", 3)


def integers_in_some_form(draw, values, device, there):
    """Integers as a list, as an array of any dtype and stride, or on the device."""
    dtype = draw.choice(("int64", "int64", "int32", "uint64", "int8", "float64"))
    array = np.array(values, np.float64 if values and isinstance(values[0], float) else np.int64).astype(
        dtype
    )
    strided = np.repeat(array, 2)[::2]
    some = [list(values), tuple(values), array, array, strided, array[None], array.astype(">i4")]
    if draw.random() < (0.4 if there else 0.05):
        return gpureduce.to_device(draw.choice((array, np.array(values, np.int64))), device)
    return draw.choice(some)


def options_of_segments(draw, length):
    found = {"op": draw.choice(SEGMENT_OPS)} if draw.random() < 0.9 else {}
    if draw.random() < 0.3:
        found["ddof"] = draw.choice((0, 0.0, 1, 0.5, True, -1, "x", float("nan"), 10**400))
    return found


@pytest.mark.core
def test_segments(device, share):
    def more(draw, array, a):
        length = array.shape[0] if array.ndim else 1
        ends = sorted(draw.choices(range(length + 1), k=draw.randrange(1, 6)))
        if draw.random() < 0.1:
            ends = draw.choice(([], [-1, 2], [0, length + 1], [2, 1], [2**63 - 1], [1.5, 2.0]))
        offsets = integers_in_some_form(draw, ends, device, a is not array)
        return {
            "offsets": offsets,
            "axis": draw.choice((0, 0, 0, -1, 1)),
            **options_of_segments(draw, length),
        }

    check_function("segment_reduce", device, more, 180 // share, 1500 // share)


@pytest.mark.core
def test_slices(device, share):
    def more(draw, array, a):
        length = array.shape[0] if array.ndim else 1
        rows = sorted(draw.sample(range(length), min(length, draw.randrange(1, 4))))
        if draw.random() < 0.2:
            rows = draw.choice(([], [-1, 2], [0, length], [2, 1, 3], [1, 1], [2**63 - 1]))
        indices = integers_in_some_form(draw, rows, device, False)
        options = options_of_segments(draw, length)
        options.pop("ddof", None)
        return {"indices": indices, "axis": draw.choice((0, 0, 0, -1, 1)), **options}

    check_function("reduceat", device, more, 180 // share, 1500 // share)


@pytest.mark.core
def test_groups(device, share):
    def more(draw, array, a):
        length = array.shape[0] if array.ndim else 1
        numbers = [draw.randrange(-1, 4) for _ in range(length)]
        numbers = draw.choice((numbers, numbers, sorted(numbers), numbers[1:]))
        found = {"labels": integers_in_some_form(draw, numbers, device, a is not array)}
        if draw.random() < 0.6:
            found["num_groups"] = draw.choice((4, 4, 5, 7, 3, 0, None, -1, True, "x", 10**30, np.int64(4)))
        return found | {"axis": draw.choice((0, 0, 0, -1, 1)), **options_of_segments(draw, length)}

    check_function("group_reduce", device, more, 120 // share, 1500 // share)


@pytest.mark.core
@pytest.mark.parametrize("name", ["median", "nanmedian", "quantile", "percentile"])
def test_quantiles(name, device, share):
    whole = 100.0 if name == "percentile" else 1.0

    def more(draw, array, a):
        found = {"keepdims": draw.choice((True, False, 1))} if draw.random() < 0.4 else {}
        if draw.random() < 0.2:
            found["overwrite_input"] = draw.choice((True, "x"))
        if name.endswith("median"):
            return found
        q = [
            draw.choice((0.0, 1.0, 0.5, 1 / 3, 0.1, draw.random())) * whole
            for _ in range(draw.randrange(1, 5))
        ]
        forms = [
            q[0],
            q[0],
            q[0],
            q,
            tuple(q),
            np.array(q),
            np.array(q[0]),
            np.repeat(q, 2)[::2],
            np.float64(q[0]),
        ]
        forms += [1, [0, 1], [], [q], 1.5 * whole, -0.1, float("nan"), "x", 3 * q, np.array(q, np.float32)]
        found["q"] = draw.choice(forms)
        if draw.random() < 0.2:
            found["method"] = draw.choice(("linear", "lower", "midpoint", "x", 3))
        return found

    check_function(name, device, more, 90 // share, 1500 // share)


def with_one_nan(part):
    """The same with all NaNs alike: which sign one has is up to the compiler."""
    if isinstance(part, gpureduce.DeviceArray):
        assert part.stream == LEGACY_STREAM
        return gpureduce.to_device(with_one_nan(part.numpy()), part.device)
    if part.dtype.kind != "f":
        return part
    alike = np.copy(part, order="K")
    alike[np.isnan(alike)] = np.nan
    return alike if isinstance(part, np.ndarray) else alike[()]


def check_parts(function, kind, a, arguments):
    """Compare the parts of a named tuple, or the errors, of a function's two ways."""
    results = []
    for each in (function, function.__wrapped__):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                got = each(a, **arguments)
            except Exception as error:
                results.append((type(error), str(error)))
                continue
        assert type(got).__name__ == kind
        parts = [None if part is None else outcome(with_one_nan, part, {}) for part in got]
        results.append(parts)
    assert results[0] == results[1], (a, arguments)


@pytest.mark.core
def test_moments(device):
    function = gpureduce.moments
    core = function.__closure__[0].cell_contents
    draw = random.Random(10)
    gpureduce.sum([1.0], device=device)
    at_once = 0
    for _ in range(800):
        array, a, arguments = drawn(draw, "moments", device)
        if array.dtype.kind == "f" and draw.random() < 0.3:
            arguments["nan_policy"] = draw.choice(("omit", "omit", "propagate", "x", None))
        more = {
            "order": (1, 2, 3, 4, 0, 5, 2.0, np.int64(2), True),
            "ddof": (0, 1, 0.5, 2.0, 3, np.float64(1), 9, -1, True, "x", 10**30, float("-inf")),
            "bias": (True, False, False, 0, "x"),
            "fisher": (True, False, False, 0),
        }
        arguments |= {name: draw.choice(values) for name, values in more.items() if draw.random() < 0.3}
        if draw.random() < 0.2:
            mask = np.asarray(array.real > draw.randrange(-3, 4))
            arguments["where"] = gpureduce.to_device(mask, device) if draw.random() < 0.6 else mask
        check_parts(function, "Moments", a, arguments)
        try:
            at_once += core(a, **arguments) is not NotImplemented
        except Exception:
            at_once += 0
    assert at_once > 100, at_once


STATES = ("sum", "mean", "min", "max", "any", "all", "count_nonzero", "prod", "bitwise_or", "bitwise_xor")


def state_outcome(function, a, op, arguments):
    """Return what a state is, whether the device has it, its bytes and those of twice the state."""
    try:
        got = function(a, op, **arguments)
        of_elements = got._element_dtype, got.to_bytes(), (got + got).to_bytes()
        layout = got._device_state and (got._device_state.layout, got._device_state.stream)
        return repr(got), got.dtype, of_elements, layout
    except Exception as error:
        return type(error), str(error)


@pytest.mark.core
@pytest.mark.parametrize("op", STATES)
def test_states(op, device):
    function = gpureduce.partial
    core = function.__closure__[0].cell_contents
    draw = random.Random(op)
    at_once = 0
    for _ in range(250):
        array, a, arguments = drawn(draw, "partial", device)
        if array.dtype.kind in "fc":
            a = gpureduce.to_device(array, device)
        arguments["as_device"] = draw.choice((True, True, True, False, None, 1))
        for name, values in {
            "offset": (0, 0, 1, -1, True),
            "within": (None, array.shape),
            "dtype": (None, "float64"),
            "where": (True, array.real > 0),
        }.items():
            if draw.random() < 0.1:
                arguments[name] = draw.choice(values)
        short, long = (state_outcome(each, a, op, arguments) for each in (function, function.__wrapped__))
        assert short == long, (a, arguments)
        try:
            at_once += core(a, op, **arguments) is not NotImplemented
        except Exception:
            at_once += 0
    assert at_once > 10, at_once


@pytest.mark.core
def test_first_elements(device):
    function = gpureduce.topk
    core = function.__closure__[0].cell_contents
    draw = random.Random(9)
    gpureduce.sum([1.0], device=device)
    at_once = 0
    for _ in range(800):
        array, a, arguments = drawn(draw, "topk", device)
        arguments.pop("keepdims", None)
        arguments["k"] = draw.choice((1, 1, 2, 3, 4, 0, 5, -1, True, "x", 10**30, np.int64(1)))
        if draw.random() < 0.5:
            arguments["axis"] = draw.choice((-1, -1, array.ndim - 1, 0, 1, None))
        for name in ("largest", "sorted"):
            if draw.random() < 0.4:
                arguments[name] = draw.choice((True, False, 1, "x"))
        check_parts(function, "TopK", a, arguments)
        try:
            at_once += core(a, **arguments) is not NotImplemented
        except Exception:
            at_once += 0
    assert at_once > 30, at_once


@pytest.mark.parametrize("dtype", [*DTYPES, "int64", "uint8", "complex128", "bfloat16"])
def test_empty_segments_of_every_operator(dtype, device):
    """As NumPy's identities, of the dtype of the result."""
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    dtype = dtypes.dtype_from_name(dtype)
    a = np.ones(3, dtype)
    for op in dict.fromkeys(op for op, name in _core.segment_coverage() if name == dtype.name):
        got = gpureduce.segment_reduce(a, [1, 1, 3], op, device=device)
        op = "max" if op == "logsumexp" else op.removeprefix("nan")
        if op in ("min", "max") and dtype.kind in "iu":
            want = np.iinfo(dtype).max if op == "min" else np.iinfo(dtype).min
        elif op in ("min", "max") and dtype.kind != "b":
            end = float("inf") if op == "min" else -float("inf")
            want = complex(end, end) if dtype.kind == "c" else end
        else:
            want = {
                "min": True,
                "max": False,
                "prod": 1,
                "all": 1,
                "argmin": -1,
                "argmax": -1,
                "mean": complex(np.nan, np.nan) if dtype.kind == "c" else np.nan,
                "var": np.nan,
                "std": np.nan,
                "bitwise_and": np.invert(np.zeros((), dtype)) if op == "bitwise_and" else 0,
            }.get(op, 0)
        assert got[:1].tobytes() == np.array([want]).astype(got.dtype).tobytes(), (op, got)


def test_arguments_by_place_and_by_name(device):
    there = gpureduce.to_device(np.arange(12.0).reshape(3, 4), device)
    out = gpureduce.to_device(np.zeros(3), device)
    assert gpureduce.sum(there, 1, None, out) is out
    assert gpureduce.min(there, 1, out) is gpureduce.max(axis=1, a=there, out=out) is out
    assert gpureduce.mean(there, 1, None, out, False) is out
    assert gpureduce.sum(there, 1, None, None, True).shape == (3, 1)
    assert gpureduce.count_nonzero(there, 0).shape == (4,)
    for wrong in (
        lambda: gpureduce.sum(),
        lambda: gpureduce.sum(there, 1, axis=1),
        lambda: gpureduce.sum(there, a=there),
        lambda: gpureduce.count_nonzero(there, 0, out),
        lambda: gpureduce.count_nonzero(there, out=out),
        lambda: gpureduce.argmax(there, initial=0),
        lambda: gpureduce.sum(there, nonsense=1),
        lambda: gpureduce.sum(*[there] * 9),
    ):
        with pytest.raises(TypeError, match="argument"):
            wrong()


def test_functions_of_other_parameters(device):
    """As the package makes them, from signatures; names come in any string of that text."""
    core = _core.fast_path("sum", ("axis", "a"), ("out", "device"))
    array = np.arange(6.0).reshape(2, 3)
    got = core(1, array, **{"".join(["dev", "ice"]): device})
    assert got.tolist() == [3.0, 12.0]
    assert core(array, 1, 2) is core(1) is core(1, array, keepdims=True) is NotImplemented
    for wrong in (
        ("sum", ("a", "a"), ()),
        ("sum", ("b",), ()),
        ("sum", (1,), ()),
        ("no", (), ()),
        (1, (), ()),
    ):
        with pytest.raises(ValueError):
            _core.fast_path(*wrong)
    assert _core.fast_path("dot", ("a",), ())(array[0]) is NotImplemented


def test_results_that_are_not_finite_are_computed_once(device):
    """Only for NumPy's floating-point state are the elements read again."""
    nan, huge = np.full(5, np.nan), np.full(5, 1e308)
    causes = 2  # kernels that find the largest and the smallest element
    for function, array, more in (
        (gpureduce.fmin, nan, 0),
        (gpureduce.nanmax, nan, 0),
        (gpureduce.logsumexp, -np.inf * huge, 0),
        (gpureduce.sum, huge, causes),
        (gpureduce.var, huge * [1, -1, 1, -1, 1], causes),
        (gpureduce.norm, huge, causes),
        (gpureduce.ptp, huge * [1, -1, 1, -1, 1], causes),
        (gpureduce.nansum, huge, causes),
    ):
        before = _core.runs()
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            assert not np.isfinite(function(array, device=device)), function
        assert _core.runs() - before == 1 + more, function
