"""Every argument of every public function, with hostile values: documented exceptions, texts of ours.

pytest tests/robustness/test_hostile_arguments.py --hostile-seconds=3600 --timeout=0  (an hour of pairs)

The functions are the package's public names, their arguments those of `inspect.signature`.
"""

import random
import re
import time
import warnings

import pytest

import gpureduce
from tests.support.fake_driver import run
from tests.support.hostile_values import HOSTILE
from tests.support.public_functions import FUNCTIONS, ROWS, call, subjects_on
from tests.support.sanitized import UNDER_ASAN

# AddressSanitizer ends a process that asks for as much memory as 2**45 elements take.
VALUES = [value for name, value in HOSTILE.items() if not (UNDER_ASAN and name == "2**45")]
# docs/reference/errors.md lists these.
DOCUMENTED = (
    TypeError,
    ValueError,  # CompileError and numpy.exceptions.AxisError are of this class
    MemoryError,
    OverflowError,
    NotImplementedError,
    BufferError,
    gpureduce.DeviceError,
    gpureduce.SimulationError,
)
# Texts of C, of Python and of the standard library, which do not tell a caller which argument is wrong.
FOREIGN = re.compile(
    r"C (long|int|ssize_t|unsigned)|ssize_t|unhashable|struct\.|required argument is not|"
    r"argument for .* format|NoneType' object|object has no attribute|not subscriptable|not iterable|"
    r"unsupported operand|bad operand|object is not callable|has no len\(\)|not supported between|"
    r"cannot unpack|not enough values to unpack|too many values to unpack|index out of range|"
    r"cannot convert float|object cannot be interpreted as an integer|reinstall|"
    r"ufunc '|must be real number|could not convert string|invalid literal|The truth value of|"
    r"argument \d+ must be|Cannot compare|bad argument type for built-in|"
    r"surrogates not allowed|codec can't|embedded null|got an unexpected"
)
# What a function calls its argument that it passes to another one, and that one's name for it.
PASSED_AS = {
    ("bench", "variants"): "variant",
    ("kernel.__call__", "args"): "x",
    ("array.__matmul__", "other"): "b", ("array.transpose", "axes"): "axis", ("profile", "dtype"): "a",
    **{("array.swapaxes", axis): "axis" for axis in ("axis1", "axis2")},
    **{(name, axis): "axis" for name in FUNCTIONS for axis in ("axis1", "axis2") if "trace" in name},
    **{(name, "array"): "a" for name in FUNCTIONS if name.startswith("numpy_like")},
    **{(name, "x"): "a" for name in FUNCTIONS if name.startswith("numpy_like.linalg")},
}  # fmt: skip
# Texts of NumPy for shapes that do not go together, and texts about the object that a method is of.
NAMELESS = re.compile(
    r"axes don't match array|Axis must be specified|axis1 and axis2 cannot|cannot select an axis|"
    r"cannot reshape|negative dimensions|can only specify one unknown|All-NaN slice|Unable to allocate|"
    r"Maximum allowed dimension|a DeviceArray is not converted|DLPack: |repeated axis|"
    r"kernel \w+: |[\w.]+: NVRTC rejected|out of memory|.*: the reduction has no identity"
)
# It would measure 2^25 elements, or so often.
LEFT_OUT = {("bench", "n"): ("None",), ("bench", "repeats"): ("2**45", "2**64", "10**30")}
ARGUMENTS = [
    (name, argument)
    for name, (_, parameters) in FUNCTIONS.items()
    for argument, parameter in parameters.items()
    if argument != "self" and parameter.kind != parameter.VAR_KEYWORD
]


@pytest.fixture
def every(pytestconfig, thin):
    """Every so-manieth value is taken: every one in the long form, few in slow builds."""
    return 1 if pytestconfig.getoption("hostile_seconds") > 60 else 9 if thin else 3


@pytest.fixture(scope="module")
def subjects(device):
    return subjects_on(device)


# NumPy's own functions, of host arrays: the texts are NumPy's.
NUMPYS = {
    f"numpy_like.{name}"
    for name in ("astype", "nonzero", "permute_dims", "reshape", "searchsorted", "squeeze", "where")
}
# As in Python: of an index that is none, or beyond; of a file that is not there.
MORE = {
    "array.__getitem__": IndexError,
    "array.item": IndexError,
    "simulate": OSError,
    "ladder": OSError,
}


def is_handle(changed, device):
    """Return whether a number is given for a stream of CUDA: a handle is an address, which CUDA reads."""
    return device != "sim" and type(changed.get("stream")) is int and changed["stream"] > 2


def names_an_argument(name, changed, error):
    """Return whether an error begins with the name of an argument, or of the function.

    Errors of axes and indices are of NumPy's classes, with NumPy's texts.
    """
    text = str(error)
    names = {*FUNCTIONS[name][1], *(PASSED_AS.get((name, argument)) for argument in changed), "ddof"}
    begin = text.partition(":")[0]
    return (
        isinstance(error, (IndexError, gpureduce.DeviceError))
        or not names.isdisjoint(re.split(r"[, ]+", begin))
        or begin
        in (name.split(".")[-1], f"nan{name.split('.')[-1][1:]}", "sum")  # nanmax of fmax, sum of fsum
        or NAMELESS.match(text) is not None
    )


def complaint(name, changed, device, subjects):
    """Return what is wrong with the exception of a call, if anything."""
    if is_handle(changed, device):
        return None
    for argument, value in changed.items():
        if any(value is HOSTILE[each] for each in LEFT_OUT.get((name, argument), ())):
            return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call(name, changed, device, subjects)
    except Exception as error:
        text = str(error)
        documented = isinstance(error, (*DOCUMENTED, MORE.get(name, TypeError)))
        if documented and (text == "on purpose" or name in NUMPYS):
            return None
        if documented and not FOREIGN.search(text) and names_an_argument(name, changed, error):
            return None
        return f"{type(error).__name__}: {text}"
    return None


def shown(name, changed):
    return f"{name}({', '.join(f'{argument}={value!r:.60}' for argument, value in changed.items())})"


def test_one_hostile_argument(device, subjects, every):
    """Of the values each argument takes some, and the next argument others; all with the option."""
    found = []
    values = VALUES
    for i, (name, argument) in enumerate(ARGUMENTS):
        for value in values[i % every :: every]:
            what = complaint(name, {argument: value}, device, subjects)
            if what is not None:
                found.append(f"{shown(name, {argument: value})}: {what}")
    assert not found, "\n".join(found)


def check_on_the_fake_driver():
    """The fake knows sums of int32 alone: other calls with right arguments end in a DeviceError."""
    every = 15 if UNDER_ASAN else 5
    arrays = {"array": ROWS, "row": ROWS[0], "bits": ROWS > 0}
    subjects = subjects_on("sim") | {key: gpureduce.to_device(each, "cuda") for key, each in arrays.items()}
    found = []
    for i, (name, argument) in enumerate(ARGUMENTS):
        if name not in ("bench", "ladder"):
            for value in VALUES[i % every :: every]:
                what = complaint(name, {argument: value}, "cuda", subjects)
                if what is not None:
                    found.append(f"{shown(name, {argument: value})}: {what}")
    assert not found, "\n".join(found)


def test_one_hostile_argument_on_the_fake_driver(fake_libraries):
    run(fake_libraries, check_on_the_fake_driver)


# It shows that nothing but the hostile argument can be wrong.
REFUSED = {
    "allreduce": "comm: expected",
    "State.from_bytes": "data: not the bytes of a state",
    "array.__array__": "is not converted to a NumPy array",
}


def test_arguments_that_are_not_hostile_are_right(device, subjects):
    for name in FUNCTIONS:
        try:
            call(name, {}, device, subjects)
        except Exception as error:
            assert name in REFUSED and REFUSED[name] in str(error), (name, error)


def test_hostile_arguments_in_pairs(pytestconfig, device, subjects):
    """Until the time is over; the first pairs are the same in every run."""
    end = time.monotonic() + pytestconfig.getoption("hostile_seconds")
    draw = random.Random(0)
    values = VALUES
    by_name = {}
    for name, argument in ARGUMENTS:
        by_name.setdefault(name, []).append(argument)
    names = list(by_name)
    while time.monotonic() < end:
        name = draw.choice(names)
        some = draw.sample(by_name[name], min(len(by_name[name]), draw.choice((1, 2, 2, 3))))
        changed = {argument: draw.choice(values) for argument in some}
        what = complaint(name, changed, device, subjects)
        assert what is None, f"{shown(name, changed)}: {what}"
