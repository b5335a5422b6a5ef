"""Any operator, dtype, shape, layout and arguments: the answer is NumPy's, or the exception is.

Hypothesis draws the calls; each draws its numbers from a generator with a drawn seed. The cases are the same
in every run, unless --hypothesis-seed says otherwise. --property-cases sets their number.
"""

import numpy as np
import pytest

import gpureduce
from tests.support import drawn
from tests.support import numpy_oracle as oracle

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies


class Case:
    """One call. Not a dataclass, of which Hypothesis would print every element."""

    def __init__(self, op, array, arguments, fault, notes):
        self.op = op
        self.array = array  # or a list
        self.arguments = arguments
        self.fault = fault
        self.notes = notes
        self.out = None  # makes a new array for `out`, or whatever else is passed

    def fresh_arguments(self):
        """The arguments, with an array of its own for `out`."""
        if self.out is None:
            return self.arguments
        return {**self.arguments, "out": self.out()}

    def __repr__(self):
        array = np.asarray(self.array)
        with np.printoptions(threshold=40, edgeitems=2):
            return (
                f"Case({self.op}, {array.dtype.str} {array.dtype}{array.shape}, strides {array.strides}, "
                f"{', '.join(self.notes)}, fault: {self.fault}, {self.fresh_arguments()}, {array!r})"
            )


# Calls

BAD_AXES = st.sampled_from([1.0, "x", [0], True, 2**70, (0, 0), (0, 9), (1.5,), (None,), 9, -9, (9,)])
TAKES = {
    "dtype": ("sum", "prod", "mean", *oracle.BITWISE),
    "out": tuple(op for op in oracle.OPS if op != "count_nonzero"),
    "initial": ("sum", "prod", "min", "max", *oracle.BITWISE),
    "where": ("sum", "prod", "min", "max", "mean", "any", "all", *oracle.BITWISE),
}


def _initial(draw, rng, dtype, op):
    if dtype.kind == "b":
        return draw(st.sampled_from([0, 1, True]))
    if dtype.kind in "iu":
        low = max(int(np.iinfo(dtype).min), -100)
        return draw(st.one_of(st.integers(low, 100), st.integers(0, 9).map(dtype.type)))
    values = [0, 1, 2.5, -0.75, np.float32(3)]
    if op in ("min", "max"):
        values += [np.inf, -np.inf, np.nan]
    return draw(st.sampled_from([*values, 1 - 2j] if dtype.kind == "c" else values))


def _out_shape(shape, axis, keepdims):
    """The shape of the result of valid arguments."""
    return np.add.reduce(np.empty(shape, bool), axis=axis, keepdims=keepdims).shape if shape else ()


@st.composite
def cases(draw, op):
    """A call of `op`, most of them good."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtypes = oracle.DTYPES
    if op in oracle.BITWISE and draw(st.integers(0, 9)):
        dtypes = ("bool", *oracle.INTEGERS)
    dtype = oracle.dtype_of(draw(st.sampled_from(dtypes)))
    flavours = ["near one", "near one", "special", "small"] if op == "prod" else list(drawn.FLAVOURS)
    flavour = draw(st.sampled_from(flavours))
    shape = draw(drawn.shapes())
    arguments = {}
    fault = draw(st.sampled_from([None] * 24 + ["axis", "where", "out", "keepdims", "initial", "dtype"]))
    if fault not in (None, "axis", "keepdims") and op not in TAKES[fault]:
        fault = None

    accumulator = draw(st.sampled_from(dtypes)) if draw(st.integers(0, 3)) == 0 else None
    if accumulator is not None and op in TAKES["dtype"]:
        arguments["dtype"] = oracle.dtype_of(accumulator)
        # What a cast to integers makes of larger floats is not defined.
        if dtype.kind in "fcV" and arguments["dtype"].kind in "biu":
            flavour = "sparse"
    layout = draw(st.sampled_from(list(drawn.LAYOUTS)))
    if layout == "list" and dtype.name not in ("int64", "float64", "complex128", "bool"):
        layout = "C"
    array = drawn.LAYOUTS[layout](draw, rng, shape, lambda shape: drawn.numbers(rng, dtype, shape, flavour))
    case = Case(op, array, arguments, fault, [layout, flavour])
    shape = np.shape(array)
    dtype = np.asarray(array).dtype

    axis = draw(drawn.valid_axes(op, len(shape)))
    if axis is not None or draw(st.booleans()):
        arguments["axis"] = axis
    keepdims = draw(st.sampled_from([False, False, True, 0, 1]))
    if keepdims or draw(st.booleans()):
        arguments["keepdims"] = keepdims
    if op in TAKES["where"] and draw(st.integers(0, 2)) == 0:
        arguments["where"] = drawn.mask(draw, rng, shape)
    masked_without_identity = op in ("min", "max") and "where" in arguments
    if op in TAKES["initial"] and (masked_without_identity or draw(st.integers(0, 3)) == 0):
        loop = _loop_dtype(op, dtype, arguments)
        if draw(st.integers(0, 9)):
            arguments["initial"] = _initial(draw, rng, loop, op)
    if op in TAKES["out"] and draw(st.integers(0, 4)) == 0:
        case.out = _out(draw, case, dtype, _out_shape(shape, axis, keepdims))
    _break(draw, case, shape)
    return case


def _loop_dtype(op, dtype, arguments):
    """The dtype to which NumPy casts `initial`; any that exists, for a call that fails."""
    chosen = arguments.get("dtype", dtype)
    result = (
        oracle.call_numpy(op, np.zeros(1, dtype.newbyteorder("=")), dtype=chosen)
        if ("dtype" in arguments)
        else oracle.call_numpy(op, np.zeros(1, dtype.newbyteorder("=")))
    )
    return chosen if isinstance(result, Exception) else result.dtype


def _out(draw, case, dtype, shape):
    """Makes arrays for `out`: of the result's dtype or, where nothing is rounded, of another."""
    result = _loop_dtype(case.op, dtype, case.arguments)
    if case.op not in oracle.ROUNDED and case.op not in oracle.ARG and draw(st.booleans()):
        other = np.dtype(draw(st.sampled_from(["bool", "int8", "uint16", "int64", "float32", "complex128"])))
        # NumPy casts partial results to `out` and reads them again; we cast once.
        if case.op in ("any", "all") or np.can_cast(result, other):
            result = other
    swapped = draw(st.integers(0, 5)) == 0 and result != oracle.BFLOAT16
    result = result.newbyteorder() if swapped else result
    apart = draw(st.integers(1, 2))

    def make():
        array = np.zeros([length * apart for length in shape], result)
        return array[(..., *(slice(None, None, apart) for _ in shape))]

    return make


def _break(draw, case, shape):
    """Make the call a bad one in the way that its `fault` says."""
    wrong = {
        "where": _bad_masks(shape),
        "initial": [[1, 2], {}, object(), "x"],
        "dtype": ["zork", ">f4", "M8[s]"],
    }
    if case.fault == "axis":
        case.arguments["axis"] = draw(BAD_AXES)
        if case.op == "mean" and case.arguments["axis"] is True and len(shape) < 2:
            case.arguments["axis"] = 1  # NumPy takes True for axis 1, until it finds that it is no integer
    elif case.fault == "keepdims":
        # NumPy's argmin takes anything.
        case.arguments["keepdims"] = draw(st.sampled_from([None, "x", 1.5, [1]]))
        case.fault = None if case.op in (*oracle.ARG, "count_nonzero") else case.fault
        if case.fault is None:
            del case.arguments["keepdims"]
    elif case.fault == "out":
        bad = ["list", "shape", "dimensions", "read-only"]
        if case.op not in oracle.BITWISE:  # NumPy has them as methods only, which take tuples
            bad.append("tuple")
        bad = draw(st.sampled_from(bad))
        case.out = {
            "list": lambda: [0.0],
            "tuple": lambda: (np.zeros(()),),
            "shape": lambda: np.zeros([length + 2 for length in shape] or [3, 3], bool),
            "dimensions": lambda: np.zeros([1] * 6, bool),
            "read-only": lambda: _frozen(case, shape),
        }[bad]
    elif case.fault is not None:
        case.arguments[case.fault] = draw(st.sampled_from(wrong[case.fault]))


def _frozen(case, shape):
    axis, keepdims = case.arguments.get("axis"), case.arguments.get("keepdims", False)
    array = np.zeros(_out_shape(shape, axis, keepdims), bool)  # the dtype is no second fault
    array.setflags(write=False)
    return array


def _bad_masks(shape):
    too_long = np.ones(7 if not shape or shape[-1] == 1 else shape[-1] + 1, bool)
    masks = [np.ones(shape, np.int64), np.ones(shape, object), np.ones((1, *shape), bool)]
    # An axis of one stays one, but an empty array takes part in anything.
    return masks if 0 in shape else [*masks, too_long]


# Judgement


def judge(case, device):
    """None, or a sentence on what is wrong; and into which class the case falls."""
    given = case.fresh_arguments()
    # Subclasses are read as plain arrays.
    array = np.asarray(case.array) if isinstance(case.array, np.ndarray) else case.array
    arguments = case.fresh_arguments()
    wanted = oracle.call_numpy(case.op, array, **arguments)
    if case.out is not None and not isinstance(wanted, Exception):
        wanted = arguments["out"]  # NumPy returns a scalar for some
    got = oracle.attempt(getattr(gpureduce, case.op), case.array, device=device, **given)
    if isinstance(got, gpureduce.DeviceError):
        raise got
    if isinstance(wanted, Exception):
        return _judge_error(case, got, wanted), "raised"
    if isinstance(got, Exception):
        return f"{type(got).__name__} ({got}), NumPy gives {wanted!r}", "raised"
    if case.out is not None and got is not given["out"]:
        return "the result is not the array given as out=", "compared"
    wrong = oracle.mismatch_of_form(case.op, got, wanted)
    if wrong is not None:
        return wrong, "compared"
    if case.op == "mean" and wanted.dtype.kind in "biu":
        # What an integer becomes of the NaN of an empty slice is not defined.
        whole = oracle.call_numpy("mean", array, **{**case.arguments, "dtype": np.complex128})
        got, wanted = np.where(np.isnan(whole), 0, got), np.where(np.isnan(whole), 0, wanted)
    if case.op not in oracle.ROUNDED or wanted.dtype.kind in "biu":
        return oracle.mismatch_of_equal(got, wanted), "compared"
    wrong = _judge_rounded(case, got, wanted)
    return (None, "order dependent") if wrong == oracle.ORDER_DEPENDENT else (wrong, "compared")


def _judge_error(case, got, wanted):
    if not isinstance(got, Exception):
        return f"{got!r}, NumPy raises {type(wanted).__name__} ({wanted})"
    if oracle.public_type(got) is oracle.public_type(wanted):
        return None
    if case.fault is not None:
        # Where the call is bad without its fault too, either may be noticed first.
        others = {key: value for key, value in case.fresh_arguments().items() if key != case.fault}
        if isinstance(oracle.call_numpy(case.op, case.array, **others), Exception):
            return None
    return f"{type(got).__name__} ({got}), NumPy raises {type(wanted).__name__} ({wanted})"


def _judge_rounded(case, got, wanted):
    array = np.asarray(case.array)
    array = array.astype(array.dtype.newbyteorder("=")) if array.dtype != oracle.BFLOAT16 else array
    dtype = wanted.dtype.newbyteorder("=") if wanted.dtype != oracle.BFLOAT16 else wanted.dtype
    with np.errstate(all="ignore"):
        elements = oracle.attempt(array.astype, dtype)
    arguments = {key: value for key, value in case.arguments.items() if key not in ("dtype", "out")}
    arguments.setdefault("axis", None)
    if "initial" in arguments:
        arguments["initial"] = dtype.type(arguments["initial"])
    if "where" in arguments:
        arguments["where"] = np.asarray(arguments["where"], bool)
    return oracle.mismatch_of_rounded(case.op, got, elements, dtype, **arguments)


@pytest.mark.parametrize("op", oracle.OPS)
def test_like_numpy(op, device, pytestconfig, capsys):
    wanted = -(-pytestconfig.getoption("property_cases") // len(oracle.OPS))
    classes = drawn.judged(cases(op), judge, device, wanted, pytestconfig)
    total = sum(classes.values())
    with capsys.disabled():
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(classes.items()))
        print(f"\n{op}: {total} cases: {counts}", end=" ")
    assert total >= min(wanted, 100)  # Hypothesis ends sooner only where it has seen all there is
    if total >= 100:  # a test of errors alone would show little
        assert classes["compared"] > total / 2, classes
