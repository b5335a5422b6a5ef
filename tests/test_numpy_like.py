"""The shim: NumPy's names, no arithmetic by NumPy, and a counter that would show it."""

import copy
import inspect
import multiprocessing
import pickle
import sys
import threading

import numpy as np
import numpy_oracle as oracle
import pytest

import gpureduce
import gpureduce.numpy_like as xp

FUNCTIONS = ("sum", "prod", "min", "max", "amin", "amax", "mean", "any", "all", *oracle.ARG, "count_nonzero")
REDUCERS = (
    "add", "multiply", "minimum", "maximum", "logical_and", "logical_or",
    "bitwise_and", "bitwise_or", "bitwise_xor",
)  # fmt: skip
NUMBERS = np.array([[3, 0, 2, 1], [1, 4, 2, 2], [3, 3, 0, 1]])


def assert_same(got, wanted):
    assert type(got) is type(wanted) or isinstance(wanted, int)
    assert np.array_equal(got, wanted) and np.shape(got) == np.shape(wanted)
    assert np.asarray(got).dtype == np.asarray(wanted).dtype


@pytest.fixture(autouse=True)
def no_fallbacks():
    """Every test of this file leaves the counter as it was."""
    before = xp.fallbacks()
    yield
    assert xp.fallbacks() == before


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, device):
    ours, theirs = getattr(xp, name), getattr(np, name)
    for array in (NUMBERS, NUMBERS.astype(np.float32), NUMBERS.T, NUMBERS[::-1, ::2], NUMBERS.tolist()):
        for axis in (None, 0, -1):
            assert_same(ours(array, axis=axis, device=device), theirs(array, axis=axis))
    assert_same(ours(NUMBERS, axis=1, keepdims=True, device=device), theirs(NUMBERS, axis=1, keepdims=True))
    assert_same(ours(NUMBERS, 1, device=device), theirs(NUMBERS, 1))


@pytest.mark.parametrize("name", REDUCERS)
def test_reducers(name, device):
    ours, theirs = getattr(xp, name).reduce, getattr(np, name).reduce
    for array in (NUMBERS, NUMBERS > 0, NUMBERS.T, 3):
        assert_same(ours(array, device=device), theirs(array))
        for axis in (None, 0, -1):
            assert_same(ours(array, axis=axis, device=device), theirs(array, axis=axis))
    mask = NUMBERS > 1
    for arguments in (
        {"initial": 1},
        {"where": mask, "initial": 2},
        {"axis": 1, "keepdims": True},
        {"axis": None, "dtype": bool},
    ):
        assert_same(ours(NUMBERS, device=device, **arguments), theirs(NUMBERS, **arguments))
    out = np.zeros(4, np.int64)
    assert ours(NUMBERS, out=(out,), device=device) is out
    assert np.array_equal(out, theirs(NUMBERS))
    with pytest.raises(ValueError):
        ours(NUMBERS, out=(out, out), device=device)


@pytest.mark.parametrize("name", ["minimum", "maximum", "bitwise_or"])
def test_reducers_take_a_dtype(name, device):
    ours, theirs = getattr(xp, name).reduce, getattr(np, name).reduce
    assert_same(ours(NUMBERS, dtype=np.int16, device=device), theirs(NUMBERS, dtype=np.int16))


@pytest.mark.parametrize("name", ["logical_and", "logical_or"])
def test_logical_reducers_stay_bool(name, device):
    for dtype in (np.int64, np.float32):
        with pytest.raises(TypeError):
            getattr(np, name).reduce(NUMBERS, dtype=dtype)
        with pytest.raises(TypeError):
            getattr(xp, name).reduce(NUMBERS, dtype=dtype, device=device)


def test_dot(device):
    assert_same(xp.dot(NUMBERS[0], NUMBERS[1], device=device), np.dot(NUMBERS[0], NUMBERS[1]))


STANDARD = {
    "sum": ("axis", "dtype", "keepdims"),
    "prod": ("axis", "dtype", "keepdims"),
    "min": ("axis", "keepdims"),
    "max": ("axis", "keepdims"),
    "mean": ("axis", "keepdims"),
    "any": ("axis", "keepdims"),
    "all": ("axis", "keepdims"),
    "argmin": ("axis", "keepdims"),
    "argmax": ("axis", "keepdims"),
    "count_nonzero": ("axis", "keepdims"),
}


@pytest.mark.parametrize("name", STANDARD)
def test_signatures_contain_those_of_the_array_api(name):
    parameters = inspect.signature(getattr(xp, name)).parameters
    for argument in STANDARD[name]:
        assert parameters[argument].kind is not inspect.Parameter.POSITIONAL_ONLY
    assert parameters["keepdims"].default is False and parameters["axis"].default is None


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "count_nonzero"])
def test_signatures_begin_like_numpys(name):
    ours = list(inspect.signature(getattr(xp, name)).parameters)
    theirs = list(inspect.signature(getattr(np, name)).parameters)
    assert ours[: len(theirs)] == theirs


def test_everything_is_listed():
    assert set(xp.__all__) == {*FUNCTIONS, *REDUCERS, "dot", "fallbacks"}
    for name in xp.__all__:
        assert getattr(xp, name) is not None


def reductions_by_numpy(call):
    """The reductions of NumPy that a function calls, itself or through NumPy's own Python code."""
    seen = []
    watched = ("reduce", "dot", "argmin", "argmax", "count_nonzero")

    def watch(frame, event, argument):
        if event == "c_call" and getattr(argument, "__name__", "") in watched:
            seen.append(argument)

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen


def test_the_watch_sees_numpy():
    for call in (lambda: np.sum(NUMBERS), lambda: NUMBERS.max(axis=0), lambda: np.add.reduce(NUMBERS)):
        assert reductions_by_numpy(call)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpy_reduces_nothing(name, device):
    function = getattr(xp, name)
    arrays = [NUMBERS, NUMBERS.astype(">f4")[::2], NUMBERS.astype(np.complex64).T]
    if name not in (*oracle.ARG, "min", "max", "amin", "amax"):
        arrays.append(NUMBERS[:0])
    for array in arrays:
        if array.size or name != "mean":
            assert reductions_by_numpy(lambda array=array: function(array, axis=0, device=device)) == []
    if name in ("sum", "prod", "mean"):
        for arguments in ({"dtype": np.int16}, {"where": NUMBERS > 0}):
            assert reductions_by_numpy(lambda a=arguments: function(NUMBERS, device=device, **a)) == []


@pytest.mark.parametrize("name", [*FUNCTIONS, "dot", "fallbacks", *REDUCERS])
def test_copies_and_pickles_are_the_thing_itself(name):
    thing = getattr(xp, name)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(thing, protocol)) is thing
    assert copy.copy(thing) is thing and copy.deepcopy(thing) is thing
    if name in REDUCERS:
        assert pickle.loads(pickle.dumps(thing.reduce)) == thing.reduce


def test_other_processes_take_them(device):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for function, wanted in (
            (xp.sum, NUMBERS.sum()),
            (xp.argmax, NUMBERS.argmax()),
            (xp.maximum.reduce, NUMBERS.max(axis=0)),
        ):
            assert_same(pool.apply(function, (NUMBERS,), {"device": device}), wanted)
        add = pool.apply(copy.copy, (xp.add,))
    assert add is xp.add


def test_the_counter_counts(monkeypatch):
    """A function that never reaches the core is counted, once a call."""
    monkeypatch.setattr(xp, "_fallbacks", 0)
    counted = xp._counted(np.sum)
    assert counted(NUMBERS) == NUMBERS.sum() and xp.fallbacks() == 1
    with pytest.raises(TypeError):
        counted()
    assert xp.fallbacks() == 1


def test_threads_do_not_hide_fallbacks(monkeypatch, device):
    """What another thread runs on the core does not count for this one."""
    monkeypatch.setattr(xp, "_fallbacks", 0)
    slow = xp._counted(lambda array: [thread.start(), thread.join(), np.sum(array)][-1])
    thread = threading.Thread(target=lambda: xp.sum(NUMBERS, device=device))
    slow(NUMBERS)
    assert xp.fallbacks() == 1


def test_errors_come_through(device):
    for call, error in (
        (lambda: xp.sum(NUMBERS, axis=5, device=device), np.exceptions.AxisError),
        (lambda: xp.min([], device=device), ValueError),
        (lambda: xp.bitwise_or.reduce([1.5], device=device), TypeError),
        (lambda: xp.add.reduce(NUMBERS, blocksize=3), TypeError),
        (lambda: xp.sum(np.ones(3), device="nowhere"), ValueError),
    ):
        with pytest.raises(error):
            call()


def test_device_arrays(device):
    array = gpureduce.to_device(NUMBERS, device=device)
    assert isinstance(xp.sum(array, axis=0), gpureduce.DeviceArray)
    assert np.array_equal(xp.maximum.reduce(array).numpy(), NUMBERS.max(axis=0))
