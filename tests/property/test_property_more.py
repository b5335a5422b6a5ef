"""Spreads, NaN forms, order statistics, norms, weights and running results, of calls that are drawn.

As test_property.py, whose options say how many calls. What does not round is NumPy's to the bit; the rest is
held against `numpy.longdouble`, with a bound that one element lost would break.
"""

import numpy as np
import pytest

import gpureduce
from tests.support import drawn
from tests.support import numpy_oracle as oracle
from tests.support.float_cases import is_nan

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies

REAL = tuple(name for name in oracle.DTYPES if not name.startswith("complex"))
FLOATING = (*oracle.FLOATS, *oracle.COMPLEX)
SELECTED = ("median", "nanmedian", "quantile", "nanquantile", "percentile", "nanpercentile")
METHODS = (
    "linear", "lower", "higher", "nearest", "midpoint", "inverted_cdf", "averaged_inverted_cdf",
    "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased",
    "normal_unbiased",
)  # fmt: skip
ORDERS = (None, 0, 1, 2, 3, -1, 0.5, np.inf, -np.inf)
# By operator: the dtypes that it is drawn with.
OPS = {
    "nansum": oracle.DTYPES,
    "nanprod": oracle.DTYPES,
    "nanmean": oracle.DTYPES,
    "nanmin": oracle.DTYPES,
    "nanmax": oracle.DTYPES,
    "fmin": oracle.DTYPES,
    "fmax": oracle.DTYPES,
    "nanargmin": REAL,
    "nanargmax": REAL,
    "ptp": oracle.DTYPES,
    "logical_xor": oracle.DTYPES,
    "var": oracle.DTYPES,
    "std": oracle.DTYPES,
    "nanvar": oracle.DTYPES,
    "nanstd": oracle.DTYPES,
    **dict.fromkeys(SELECTED, tuple(name for name in REAL if name != "bfloat16")),
    "norm": FLOATING,
    "logsumexp": oracle.FLOATS,
    "average": oracle.DTYPES,
    "cumulative_sum": oracle.DTYPES,
    "cumulative_prod": oracle.DTYPES,
}
SUMS = {"nansum": ("sum", 0), "nanprod": ("prod", 1), "nanmean": ("mean", 0)}
SPREADS = ("var", "std", "nanvar", "nanstd")
SCANS = ("cumulative_sum", "cumulative_prod")
UFUNCS = ("fmin", "fmax", "logical_xor")
ONE_AXIS = ("nanargmin", "nanargmax", *SCANS)
MASKED = (*SUMS, *SPREADS, "nanmin", "nanmax", *UFUNCS)
needs_new_numpy = np.lib.NumpyVersion(np.__version__) < "2.4.0"


class Call:
    """One call. Not a dataclass, of which Hypothesis would print every element."""

    def __init__(self, op, array, arguments, notes):
        self.op, self.array, self.arguments, self.notes = op, array, arguments, notes

    def bad_without_its_fault(self):
        """Whether NumPy refuses it with all axes, too: either may be noticed first."""
        return isinstance(numpys(Call(self.op, self.array, {**self.arguments, "axis": None}, [])), Exception)

    def __repr__(self):
        with np.printoptions(threshold=40, edgeitems=2):
            array = (
                f"{self.array.dtype.str} {self.array.dtype}{self.array.shape}, strides {self.array.strides}"
            )
            return f"{self.op}({array}, {', '.join(self.notes)}, {self.arguments}, {self.array!r})"


def flavours(op):
    """Numbers whose results mean something."""
    if op in ("nanprod", "cumulative_prod"):
        return ["near one", "near one", "special"]
    if op in (*SPREADS, "average", "norm", "logsumexp", "cumulative_sum"):
        return ["near one", "small", "sparse", "special"]
    return list(drawn.FLAVOURS)


@st.composite
def calls(draw, op):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = oracle.dtype_of(draw(st.sampled_from(OPS[op])))
    flavour, shape = draw(st.sampled_from(flavours(op))), draw(drawn.shapes())
    share = draw(st.sampled_from([0.0, 0.1, 0.9, 1.0])) if "nan" in op or op in UFUNCS else 0.0

    def make(shape):
        values = drawn.numbers(rng, dtype, shape, flavour)
        if share and dtype.kind in "fcV":
            values = np.where(rng.random(shape) < share, dtype.type(np.nan), values).astype(dtype)
        return values

    layout = draw(st.sampled_from([name for name in drawn.LAYOUTS if name != "list"]))
    array = drawn.LAYOUTS[layout](draw, rng, shape, make)
    if op in SELECTED and array.size == 0:
        array = array.astype(np.float64)  # nothing has quantiles but of floats
    arguments = _arguments(draw, rng, op, array)
    if draw(st.sampled_from([False] * 19 + [True])):  # Hypothesis likes what comes first
        arguments["axis"] = draw(st.sampled_from([9, -9, 1.5, "x"]))
    return Call(op, array, arguments, [layout, flavour])


def _arguments(draw, rng, op, array):
    ndim, arguments = array.ndim, {}
    if op in SCANS:
        if ndim > 1 or (ndim and draw(st.booleans())):
            arguments["axis"] = draw(st.integers(-ndim, ndim - 1))
        arguments["include_initial"] = draw(st.booleans())
        return arguments
    arguments["axis"] = draw(drawn.valid_axes("argmin" if op in ONE_AXIS else op, ndim))
    # NumPy's functions are not of one mind on an axis of an array without any, nor on none of several, nor on
    # medians of nothing.
    if (
        ndim == 0
        or (op in SELECTED and array.size == 0)
        or (arguments["axis"] == () and op not in (*SUMS, *UFUNCS))
    ):
        arguments["axis"] = None
    arguments["keepdims"] = draw(st.booleans())
    if op in MASKED and draw(st.integers(0, 2)) == 0:
        arguments["where"] = np.asarray(drawn.mask(draw, rng, array.shape), bool)
    extreme = op in ("nanmin", "nanmax", "fmin", "fmax")
    if (op in ("nansum", "nanprod") and draw(st.booleans())) or (extreme and "where" in arguments):
        arguments["initial"] = draw(st.sampled_from([0, 1, 5]))
    if op in SPREADS:
        arguments["ddof"] = draw(st.sampled_from([0, 1, 2, 0.5]))
    if op.endswith(("quantile", "percentile")):
        q = draw(st.sampled_from([0.5, 0.0, 1.0, [0.25, 0.5], [[0.1, 0.9]], [0.7], rng.random(3).tolist()]))
        if not array.size or (np.ndim(q) > 1 and op.startswith("nan")):
            q = 0.5  # NumPy's nanquantile puts axes of q in another order
        arguments["q"] = np.multiply(q, 100.0 if "percentile" in op else 1.0)
        arguments["method"] = draw(st.sampled_from(METHODS))
    if op == "norm":
        arguments["ord"] = draw(st.sampled_from(ORDERS))
    if op == "average":
        _weigh(draw, rng, array, arguments)
    return arguments


def _weigh(draw, rng, array, arguments):
    """Weights of the array's shape or, along axes, of theirs."""
    axis = arguments["axis"]
    chosen = draw(st.sampled_from(["none", "whole", "of the axes"]))
    if array.size == 0:
        arguments["axis"] = None  # NumPy counts elements by dividing by the number of results
        return
    if chosen == "none":
        return
    shape = array.shape
    if chosen == "of the axes" and axis is not None:
        shape = tuple(array.shape[one] for one in np.atleast_1d(axis))
    arguments["weights"] = rng.uniform(0.5, 2, shape)


# Judgement


def numpys(call):
    """What NumPy returns or raises, of float32 where it does not know bfloat16."""
    array, arguments, op = np.asarray(call.array), dict(call.arguments), call.op
    if array.dtype == oracle.BFLOAT16:
        array = array.astype(np.float32)
    if op == "norm":
        return oracle.attempt(_norm, array, **arguments)
    if op == "logsumexp":
        return oracle.attempt(_logsumexp, array, **arguments)
    if op == "logical_xor" and not isinstance(arguments["axis"], (int, float, str)):
        return oracle.attempt(_parity, array, **arguments)  # NumPy's takes one axis
    function = getattr(np, op)
    return oracle.attempt(function.reduce if op in UFUNCS else function, array, **arguments)


def _parity(array, axis, keepdims, where=True):
    odd = np.add.reduce(array.astype(bool).astype(np.int64), axis, keepdims=keepdims, where=where) % 2
    return np.asarray(odd == 1)[()]


def _norm(array, ord, axis, keepdims):
    sizes = np.abs(array.astype(np.clongdouble)).astype(np.longdouble)
    if ord in (np.inf, -np.inf):
        found = (
            np.max(sizes, axis, keepdims=keepdims, initial=0)
            if ord > 0
            else np.min(sizes, axis, keepdims=keepdims)
        )
    elif ord == 0:
        found = np.asarray(sizes != 0).sum(axis, keepdims=keepdims)
    else:
        power = np.longdouble(2 if ord is None else ord)
        found = (sizes**power).sum(axis, keepdims=keepdims) ** (1 / power)
    return np.asarray(found, np.longdouble)


def _logsumexp(array, axis, keepdims):
    wide = array.astype(np.longdouble)
    top = wide.max(axis, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(top), top, 0)
    total = np.exp(wide - shift).sum(axis, keepdims=True)
    found = np.log(total) + shift
    return found if keepdims else found.reshape(np.add.reduce(np.zeros(array.shape), axis).shape)


def judge(call, device):
    """None, or a sentence on what is wrong; and into which class the call falls."""
    wanted = numpys(call)
    arguments = dict(call.arguments)
    got = oracle.attempt(getattr(gpureduce, call.op), call.array, device=device, **arguments)
    if isinstance(got, gpureduce.DeviceError):
        raise got
    if isinstance(wanted, Exception):
        if isinstance(got, Exception):
            same = oracle.public_type(got) is oracle.public_type(wanted)
            same |= isinstance(wanted, IndexError) and str(got).startswith("a: zero-size")  # of quantiles
            if same or call.bad_without_its_fault():
                return None, "raised"
        return f"{got!r}, NumPy raises {type(wanted).__name__} ({wanted})", "raised"
    if isinstance(got, Exception):
        return f"{type(got).__name__} ({got}), NumPy gives {wanted!r}", "raised"
    wrong = wrong_form(call, got, wanted) or value(call, np.asarray(got), np.asarray(wanted))
    return (None, "order dependent") if wrong == oracle.ORDER_DEPENDENT else (wrong, "compared")


def wrong_form(call, got, wanted):
    dtype, asked = np.asarray(wanted).dtype.newbyteorder("="), np.asarray(call.array).dtype
    if call.op in ("norm", "logsumexp"):
        dtype = np.zeros(0, asked.newbyteorder("=")).real.dtype if asked != oracle.BFLOAT16 else asked
    elif asked == oracle.BFLOAT16 and dtype == np.float32:
        dtype = asked
    if call.op in SELECTED and np.size(wanted) and np.isnan(wanted).all():
        dtype = got.dtype  # NumPy's NaNs have the elements'
    if np.shape(got) != np.shape(wanted) or got.dtype != dtype:
        return f"{got.dtype}{np.shape(got)}, NumPy gives {dtype}{np.shape(wanted)}"
    scalar = not isinstance(got, np.ndarray)
    expected = np.ndim(wanted) == 0 and not (call.op in SELECTED and isinstance(wanted, np.ndarray))
    return None if scalar == expected else f"a {type(got).__name__} came back"


def value(call, got, wanted):
    elements = np.asarray(call.array)
    if elements.dtype != oracle.BFLOAT16:
        elements = elements.astype(elements.dtype.newbyteorder("="))
    with np.errstate(all="ignore"):
        if call.op in SUMS:
            return _sums(call, got, elements)
        if call.op in SPREADS:
            return _spreads(call, got, elements)
        if call.op in SCANS:
            return _scans(call, got, elements)
        if call.op in ("norm", "logsumexp"):
            return _near(got, wanted, elements, 1.0 if call.op == "norm" else np.abs(wanted) + 1)
        if call.op == "average":
            return _averages(call, got, elements)
        if call.op in ("nanargmin", "nanargmax"):
            return oracle.mismatch_of_equal(got, _positions(call, elements))
        if call.op == "ptp" and elements.dtype.kind == "c" and not np.isfinite(elements).all():
            return None
        return oracle.mismatch_of_equal(got, wanted.astype(got.dtype))


def _sums(call, got, elements):
    whole, neutral = SUMS[call.op]
    counted = ~is_nan(elements) if elements.dtype.kind in "fcV" else np.ones(elements.shape, bool)
    without = np.where(counted, elements, elements.dtype.type(neutral)).astype(elements.dtype)
    accumulator = got.dtype
    arguments = dict(call.arguments)
    where = counted & arguments.pop("where", True)
    initial = arguments.pop("initial", None)
    if accumulator.kind in "iu":
        reduce = np.add.reduce if whole == "sum" else np.multiply.reduce
        start = neutral if initial is None else initial
        exact = reduce(without.astype(accumulator), where=where, initial=start, **arguments)
        return oracle.mismatch_of_equal(got, exact)
    if initial is not None:
        initial = accumulator.type(initial)
    return oracle.mismatch_of_rounded(
        whole, got, without.astype(accumulator), accumulator, initial=initial, where=where, **arguments
    )


def _spreads(call, got, elements):
    """Two passes in extended precision; NaN where there are too few elements, or one is not finite."""
    arguments = {"axis": call.arguments["axis"], "keepdims": True}
    counted = np.ones(elements.shape, bool) & call.arguments.get("where", True)
    leaves_out = call.op.startswith("nan") and elements.dtype.kind in "fcV"
    if leaves_out:
        counted = counted & ~is_nan(elements)
    wide = elements.astype(np.clongdouble if elements.dtype.kind == "c" else np.longdouble)
    count = counted.sum(**arguments)
    mean = np.add.reduce(wide, where=counted, **arguments) / count
    squares = np.add.reduce(np.abs(wide - mean) ** 2, where=counted, **arguments)
    freedom = count - call.arguments["ddof"]
    size = np.maximum.reduce(np.abs(wide), where=counted, initial=0, **arguments)
    wanted = squares / np.maximum(freedom, 0)  # NumPy divides by no degrees of freedom, too
    if leaves_out:
        wanted = np.where(freedom > 0, wanted, np.nan)
    slack = 1e-17 * np.where(np.isfinite(size), size, 0)
    if call.op.endswith("std"):
        wanted = np.sqrt(wanted)
    else:
        slack = slack**2
    return _near(got.reshape(wanted.shape), wanted, elements, 1.0, slack)


def _averages(call, got, elements):
    double = np.clongdouble if elements.dtype.kind == "c" else np.longdouble
    axis, weights = call.arguments["axis"], call.arguments.get("weights")
    keepdims = call.arguments["keepdims"]
    wide = elements.astype(double)
    if elements.size == 0:
        return _within(got, np.mean(wide, axis, keepdims=keepdims), 0.0)
    if weights is None:
        weights = np.ones(elements.shape)
    wanted = np.average(wide, axis, weights.astype(np.longdouble), keepdims=keepdims)
    sizes = np.where(np.isfinite(wide), np.abs(wide), 0)
    size = np.average(sizes, axis, weights.astype(np.longdouble), keepdims=keepdims)
    if elements.dtype.kind == "c" and not np.isfinite(elements).all():
        return None
    roundoff = oracle.ROUNDOFF[got.real.dtype.name]
    allowed = (4 * roundoff + 2 * elements.size * 2.0**-53) * size
    return _within(got, wanted, allowed)


def _scans(call, got, elements):
    """Each running result, within the roundings of all before it."""
    reference = np.cumulative_sum if call.op == "cumulative_sum" else np.cumulative_prod
    if got.dtype.kind in "iu":
        return oracle.mismatch_of_equal(got, reference(elements.astype(got.dtype), **call.arguments))
    if not np.isfinite(elements.astype(np.clongdouble)).all() and got.dtype.kind == "c":
        return None
    wide = elements.astype(np.clongdouble if got.dtype.kind == "c" else np.longdouble)
    wanted = reference(wide, **call.arguments)
    finite = np.where(np.isfinite(wide), np.abs(wide), 1 if call.op.endswith("prod") else 0)
    size = reference(finite.astype(np.longdouble), **call.arguments)
    name = got.real.dtype.name
    carrier = oracle.ROUNDOFF["float32" if name in oracle.HALVES else name]
    rounds = 4 * (elements.size + 1)
    allowed = (2 * oracle.ROUNDOFF[name] + rounds * carrier) * size + oracle.SMALLEST[name]
    return _within(got, wanted, allowed)


def _positions(call, elements):
    """The first of equals; where all are NaN both raise. NumPy's of infinities are not to be trusted."""
    axis, keepdims = call.arguments["axis"], call.arguments["keepdims"]
    ranked = np.unique(elements.astype(np.longdouble), return_inverse=True)[1].reshape(elements.shape)
    if elements.dtype.kind in "fV":
        last = ranked.size + 1 if call.op == "nanargmin" else -1
        ranked = np.where(is_nan(elements), last, ranked)
    return getattr(np, call.op.removeprefix("nan"))(ranked, axis, keepdims=keepdims)


def _near(got, wanted, elements, scale, slack=0.0):
    name = got.dtype.name
    allowed = (4 * oracle.ROUNDOFF[name] + 8 * (elements.size + 10) * 2.0**-53) * np.abs(wanted) * scale
    return _within(got, wanted, allowed + slack + oracle.SMALLEST[name])


def _within(got, wanted, allowed):
    """None if all are as near as that; what is too large for the dtype is infinite."""
    name = got.real.dtype.name
    wide = got.astype(np.float32) if got.dtype == oracle.BFLOAT16 else got
    wide = wide.astype(np.clongdouble if got.dtype.kind == "c" else np.longdouble)
    large = np.abs(wanted) > oracle.LARGEST[name] * (1 - 2 * oracle.ROUNDOFF[name])
    near = (wide == wanted) | (np.isnan(wide) & np.isnan(wanted)) | (np.abs(wide - wanted) <= allowed)
    return oracle.first_difference(~(near | (large & np.isinf(wide))), got, wanted, allowed)


@pytest.mark.parametrize("op", OPS)
def test_one_wrong_element_is_seen(op, device, monkeypatch):
    """By the judge of results, in one of 61 elements, of one sign or the other."""
    if op in SCANS and not hasattr(np, op):
        pytest.skip("NumPy has no cumulative_sum")
    right = getattr(gpureduce, op)
    array = np.random.default_rng(8).normal(1, 1, 61)
    array[37] = 9
    arguments = {"axis": 0, **({} if op in SCANS else {"keepdims": False})}
    arguments |= {"ddof": 1} if op in SPREADS else {"ord": 2} if op == "norm" else {}
    arguments |= {"q": 0.5} if op.endswith("tile") else {}
    verdicts = []
    for elements in (array, -array):
        call = Call(op, elements, arguments, [])
        wrong = elements.copy()
        wrong[37] = 0
        monkeypatch.setattr(gpureduce, op, right)
        assert judge(call, device) == (None, "compared")
        monkeypatch.setattr(gpureduce, op, lambda a, wrong=wrong, **given: right(wrong, **given))
        verdicts.append(judge(call, device)[0])
    assert any(verdict not in (None, oracle.ORDER_DEPENDENT) for verdict in verdicts)


@pytest.mark.parametrize("op", OPS)
def test_like_numpy(op, device, pytestconfig):
    if op in SELECTED and needs_new_numpy:
        pytest.skip("dtypes of quantiles are those of NumPy 2.4")
    if op in SCANS and not hasattr(np, "cumulative_sum"):
        pytest.skip("NumPy has no cumulative_sum")
    wanted = -(-pytestconfig.getoption("property_cases") // (2 * len(OPS)))
    classes = drawn.judged(calls(op), judge, device, wanted, pytestconfig)
    if wanted >= 50:  # a test of errors alone would show little
        assert classes["compared"] > sum(classes.values()) / 2, classes
