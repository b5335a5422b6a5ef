"""The shim: NumPy's names, no arithmetic by NumPy, and a counter that would show it."""

import contextlib
import copy
import inspect
import multiprocessing
import pickle
import sys
import threading

import numpy as np
import pytest

import gpureduce
import gpureduce.numpy_like as xp
from gpureduce import _ufuncs
from gpureduce._rules.arguments import NO_VALUE
from tests.support import numpy_oracle as oracle

FUNCTIONS = ("sum", "prod", "min", "max", "amin", "amax", "mean", "any", "all", *oracle.ARG, "count_nonzero")
REDUCERS = (
    "add", "multiply", "minimum", "maximum", "logical_and", "logical_or",
    "bitwise_and", "bitwise_or", "bitwise_xor",
)  # fmt: skip
NUMPYS = (
    "average", "median", "nanargmax", "nanargmin", "nanmax", "nanmean", "nanmedian", "nanmin", "nanprod",
    "nanstd", "nansum", "nanvar", "ptp", "trace",
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


@pytest.mark.parametrize("name", [*NUMPYS, "var", "std"])
def test_other_functions_of_numpy(name, device):
    ours, theirs = getattr(xp, name), getattr(np, name)
    floats = np.where(NUMBERS == 4, np.nan, NUMBERS / 8) if name.startswith("nan") else NUMBERS / 8
    for array in (NUMBERS, floats, floats.T):
        for axis in ({},) if name == "trace" else ({}, {"axis": 0}, {"axis": -1}):
            got, wanted = ours(array, device=device, **axis), theirs(array, **axis)
            assert np.shape(got) == np.shape(wanted) and got.dtype == wanted.dtype
            np.testing.assert_allclose(got, wanted, rtol=1e-14)
    wanted = list(inspect.signature(theirs).parameters)
    if name not in ("average", "trace"):
        assert list(inspect.signature(ours).parameters)[: len(wanted) - 3] == wanted[: len(wanted) - 3]


QUANTILES = ("quantile", "percentile", "nanquantile", "nanpercentile")


@pytest.mark.parametrize("name", QUANTILES)
def test_quantiles(name, device):
    ours, theirs = getattr(xp, name), getattr(np, name)
    for array in (NUMBERS, NUMBERS / 8):
        for axis in ({}, {"axis": 0}, {"axis": (0, 1), "keepdims": True}):
            assert_same(ours(array, 0.4, device=device, **axis), theirs(array, 0.4, **axis))
    wanted = list(inspect.signature(theirs).parameters)
    assert list(inspect.signature(ours).parameters)[: len(wanted)] == wanted


def test_the_standards_statistics(device):
    for name in ("var", "std"):
        got = getattr(xp, name)(NUMBERS, axis=0, correction=1.0, device=device)
        np.testing.assert_allclose(got, getattr(np, name)(NUMBERS, axis=0, ddof=1), rtol=1e-14)
    assert_same(xp.vecdot(NUMBERS, NUMBERS, device=device), (NUMBERS * NUMBERS).sum(axis=-1))
    assert_same(xp.inner(NUMBERS[0], NUMBERS[1], device=device), np.inner(NUMBERS[0], NUMBERS[1]))


def test_dot(device):
    assert_same(xp.dot(NUMBERS[0], NUMBERS[1], device=device), np.dot(NUMBERS[0], NUMBERS[1]))


# Of the standard's version 2024.12; a correction that is not given is 0, or what ``ddof=`` says.
STANDARD = {
    "sum": lambda x, /, *, axis=None, dtype=None, keepdims=False: 0,
    "prod": lambda x, /, *, axis=None, dtype=None, keepdims=False: 0,
    "min": lambda x, /, *, axis=None, keepdims=False: 0,
    "max": lambda x, /, *, axis=None, keepdims=False: 0,
    "mean": lambda x, /, *, axis=None, keepdims=False: 0,
    "any": lambda x, /, *, axis=None, keepdims=False: 0,
    "all": lambda x, /, *, axis=None, keepdims=False: 0,
    "cumulative_sum": lambda x, /, *, axis=None, dtype=None, include_initial=False: 0,
    "cumulative_prod": lambda x, /, *, axis=None, dtype=None, include_initial=False: 0,
    "argmin": lambda x, /, *, axis=None, keepdims=False: 0,
    "argmax": lambda x, /, *, axis=None, keepdims=False: 0,
    "count_nonzero": lambda x, /, *, axis=None, keepdims=False: 0,
    "var": lambda x, /, *, axis=None, correction=NO_VALUE, keepdims=False: 0,
    "std": lambda x, /, *, axis=None, correction=NO_VALUE, keepdims=False: 0,
    "sort": lambda x, /, *, axis=-1, descending=False, stable=True: 0,
    "unique_counts": lambda x, /: 0,
    "argsort": lambda x, /, *, axis=-1, descending=False, stable=True: 0,
    "vecdot": lambda x1, x2, /, *, axis=-1: 0,
    "nonzero": lambda x, /: 0,
    "searchsorted": lambda x1, x2, /, *, side="left", sorter=None: 0,
    "where": lambda condition, x1, x2, /: 0,
    "matmul": lambda x1, x2, /: 0,
    "matrix_transpose": lambda x, /: 0,
    "astype": lambda x, dtype, /, *, copy=True, device=None: 0,
    "expand_dims": lambda x, /, *, axis=0: 0,
    "permute_dims": lambda x, /, axes: 0,
    "reshape": lambda x, /, shape, *, copy=None: 0,
    "squeeze": lambda x, /, axis: 0,
    "__array_namespace_info__": lambda: 0,
}


@pytest.mark.parametrize("name", STANDARD)
def test_signatures_contain_those_of_the_array_api(name):
    """Each call that the standard's signature takes is taken."""
    kinds = inspect.Parameter
    wanted = inspect.signature(STANDARD[name]).parameters
    ours = inspect.signature(getattr(xp, name)).parameters
    positional = [each for each in wanted.values() if each.kind is not kinds.KEYWORD_ONLY]
    # What the standard takes by its name alone may be positional here, as NumPy's `expand_dims` has it.
    for theirs, own in zip(positional, ours.values(), strict=False):
        if own.name in wanted and wanted[own.name].kind is kinds.KEYWORD_ONLY:
            continue
        assert own.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
        assert own.kind is kinds.POSITIONAL_OR_KEYWORD or theirs.kind is kinds.POSITIONAL_ONLY
        assert own.default is kinds.empty and (
            theirs.kind is kinds.POSITIONAL_ONLY or own.name == theirs.name
        )
    assert len(ours) >= len(wanted)
    for theirs in wanted.values():
        if theirs.kind is kinds.KEYWORD_ONLY:
            assert ours[theirs.name].kind is not kinds.POSITIONAL_ONLY
            assert ours[theirs.name].default == theirs.default
    more = [each for each in ours if each not in wanted][len(positional) :]
    assert all(ours[each].default is not kinds.empty for each in more)


@pytest.mark.parametrize("name", REDUCERS)
def test_slices(name, device):
    ours, theirs = getattr(xp, name).reduceat, getattr(np, name).reduceat
    for array, axis in ((NUMBERS, 0), (NUMBERS > 0, 1), (NUMBERS.astype(np.int8).T, -1)):
        assert_same(ours(array, [0, 2, 1], axis, device=device), theirs(array, [0, 2, 1], axis))
    out = np.zeros((2, 4), bool if name.startswith("logical") else np.int64)
    assert ours(NUMBERS, [0, 1], out=(out,), device=device) is out
    assert_same(out, theirs(NUMBERS, [0, 1]))


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_running_results(name, device):
    for array, axis in ((NUMBERS, 0), (NUMBERS.astype(np.float32), 1), (NUMBERS[0], None)):
        wanted = {"cumulative_sum": np.cumsum, "cumulative_prod": np.cumprod}[name](array, axis=axis)
        assert_same(getattr(xp, name)(array, axis=axis, device=device), wanted)


OLDER = ("cumsum", "cumprod", "nancumsum", "nancumprod")  # names of running results before the array API's


@pytest.mark.parametrize("name", OLDER)
def test_running_results_under_numpys_older_names(name, device):
    ours, theirs = getattr(xp, name), getattr(np, name)
    for array in (NUMBERS, NUMBERS.astype(np.int8).T, NUMBERS[0] > 1, NUMBERS.astype(np.float32), NUMBERS[1]):
        for axis in (None, 0, -1):
            assert_same(ours(array, axis, device=device), theirs(array, axis))
    assert_same(ours(NUMBERS, 1, np.float32, device=device), theirs(NUMBERS, 1, np.float32))
    out = np.zeros(12, np.int64)
    assert ours(NUMBERS, None, None, out, device=device) is out
    assert_same(out, theirs(NUMBERS))
    assert list(inspect.signature(ours).parameters)[:4] == list(inspect.signature(theirs).parameters)


@pytest.mark.parametrize("name", ["add", "multiply"])
def test_accumulators(name, device):
    ours, theirs = getattr(xp, name).accumulate, getattr(np, name).accumulate
    for array, axis in ((NUMBERS, 0), (NUMBERS > 0, 1), (NUMBERS.astype(np.int8).T, -1), (NUMBERS / 2, 0)):
        assert_same(ours(array, axis, device=device), theirs(array, axis))
    assert_same(ours(NUMBERS, device=device), theirs(NUMBERS))
    out = np.zeros((3, 4), np.float32)
    assert ours(NUMBERS, 1, np.float32, (out,), device=device) is out
    assert_same(out, theirs(NUMBERS, 1, np.float32))
    there = gpureduce.to_device(NUMBERS, device)
    assert_same(ours(there, 1).numpy(), theirs(NUMBERS, 1))
    with pytest.raises(ValueError, match="out: expected one array, got a tuple of 2"):
        ours(NUMBERS, out=(out, out), device=device)
    assert not hasattr(xp.logical_or, "accumulate")  # there is no kernel for its running results


def test_functions_of_linalg(device):
    stack = np.arange(48.0).reshape(3, 4, 4)
    for axis in (None, 1, (0, 2)):
        for order in (1, 2, np.inf):
            got = xp.linalg.vector_norm(stack, axis=axis, ord=order, keepdims=True, device=device)
            wanted = np.linalg.vector_norm(stack, axis=axis, ord=order, keepdims=True)
            np.testing.assert_allclose(got, wanted, rtol=1e-15, strict=True)
    assert_same(xp.linalg.trace(stack, offset=1, device=device), np.linalg.trace(stack, offset=1))
    assert (xp.linalg.trace(stack, device=device) != xp.trace(stack, device=device)[:3]).any()
    assert_same(xp.linalg.vecdot(stack, stack, axis=1, device=device), np.linalg.vecdot(stack, stack, axis=1))
    assert_same(xp.linalg.matmul(stack, stack, device=device), np.linalg.matmul(stack, stack))
    there = gpureduce.to_device(stack, device)
    assert_same(xp.linalg.trace(there, dtype="float32").numpy(), np.linalg.trace(stack, dtype="float32"))
    for name in ("vector_norm", "vecdot", "matmul", "trace"):
        function = getattr(xp.linalg, name)
        assert pickle.loads(pickle.dumps(function)) is function and name in dir(xp.linalg)
    assert pickle.loads(pickle.dumps(xp.linalg)) is xp.linalg


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "count_nonzero"])
def test_signatures_begin_like_numpys(name):
    ours = list(inspect.signature(getattr(xp, name)).parameters)
    theirs = list(inspect.signature(getattr(np, name)).parameters)
    assert ours[: len(theirs)] == theirs


def test_everything_is_listed():
    assert set(xp.__all__) == {
        *FUNCTIONS,
        *REDUCERS,
        *STANDARD,
        *NUMPYS,
        *QUANTILES,
        *OLDER,
        "linalg",
        "dot",
        "inner",
        "fallbacks",
    }
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
    monkeypatch.setattr(_ufuncs, "_fallbacks", 0)
    counted = _ufuncs.counted(np.sum)
    assert counted(NUMBERS) == NUMBERS.sum() and xp.fallbacks() == 1
    with pytest.raises(TypeError):
        counted()
    assert xp.fallbacks() == 1


def test_threads_do_not_hide_fallbacks(monkeypatch, device):
    """What another thread runs on the core does not count for this one."""
    monkeypatch.setattr(_ufuncs, "_fallbacks", 0)
    slow = _ufuncs.counted(lambda array: [thread.start(), thread.join(), np.sum(array)][-1])
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


# The namespace


def test_the_namespace_of_an_array(device):
    array = gpureduce.to_device(NUMBERS, device)
    assert array.__array_namespace__() is xp
    assert array.__array_namespace__(api_version=xp.__array_api_version__) is xp
    with pytest.raises(ValueError, match="api_version"):
        array.__array_namespace__(api_version="1999.12")


def test_inspection(device, monkeypatch):
    info = xp.__array_namespace_info__()
    assert info.capabilities() == {
        "boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64,
    }  # fmt: skip
    assert np.ones((1,) * 64).ndim == gpureduce.to_device(np.ones((1,) * 64), device).ndim == 64
    assert info.devices() == [str(each) for each in gpureduce.devices()]
    assert gpureduce.to_device(NUMBERS, device).device in info.devices()
    with pytest.warns(gpureduce.SimulatorWarning) if device == "sim" else contextlib.nullcontext():
        gpureduce.set_default_device(None)
        monkeypatch.setattr(gpureduce._device.devices, "_not_warned", [True])
        assert info.default_device() in info.devices()
    kinds = {
        "bool": 1, "signed integer": 4, "unsigned integer": 4, "integral": 8, "real floating": 2,
        "complex floating": 2, "numeric": 12, None: 13, ("bool", "integral"): 9, (): 0,
    }  # fmt: skip
    for kind, count in kinds.items():
        found = info.dtypes(kind=kind, device=device)
        assert len(found) == count and all(dtype == np.dtype(name) for name, dtype in found.items())
    defaults = info.default_dtypes(device=device)
    assert set(defaults) == {"real floating", "complex floating", "integral", "indexing"}
    assert defaults["indexing"] == xp.argmax(NUMBERS, device=device).dtype
    assert defaults["real floating"] == xp.mean(NUMBERS, device=device).dtype
    for refused in ({"kind": "float"}, {"device": "nowhere"}):
        with pytest.raises(ValueError):
            info.dtypes(**refused)


def test_the_module_can_be_pickled():
    assert pickle.loads(pickle.dumps(xp)) is xp and copy.copy(xp) is xp and copy.deepcopy([xp]) == [xp]


def test_what_numpy_answers_is_counted(device, monkeypatch):
    monkeypatch.setattr(_ufuncs, "_fallbacks", 0)
    for got, wanted in zip(xp.nonzero(NUMBERS), np.nonzero(NUMBERS), strict=True):
        assert_same(got, wanted)
    line = np.sort(NUMBERS[1])
    assert_same(xp.searchsorted(line, NUMBERS[0], side="right"), np.searchsorted(line, NUMBERS[0], "right"))
    assert_same(xp.where(NUMBERS > 1, NUMBERS, -1), np.where(NUMBERS > 1, NUMBERS, -1))
    assert xp.fallbacks() == 3
    array = gpureduce.to_device(NUMBERS, device)
    for call in (
        lambda: xp.nonzero(array),
        lambda: xp.searchsorted(line, array),
        lambda: xp.where(array, 1, 2),
        lambda: xp.where(NUMBERS > 0, NUMBERS, array),
    ):
        with pytest.raises(TypeError, match=r"torch\.from_dlpack"):
            call()
    assert xp.fallbacks() == 3


@pytest.mark.parametrize("there", [False, True])
def test_shapes_and_dtypes(there, device):
    x = gpureduce.to_device(NUMBERS, device) if there else NUMBERS
    back = (lambda array: array.numpy()) if there else np.asarray
    for got, wanted in (
        (xp.reshape(x, (2, -1)), NUMBERS.reshape(2, -1)),
        (xp.reshape(xp.matrix_transpose(x), (12,)), NUMBERS.T.reshape(12)),
        (xp.reshape(x, (12,), copy=True), NUMBERS.reshape(12)),
        (xp.permute_dims(x, (1, 0)), NUMBERS.T),
        (xp.matrix_transpose(x), NUMBERS.T),
        (xp.expand_dims(x), NUMBERS[None]),
        (xp.expand_dims(x, axis=-2), NUMBERS[:, None]),
        (xp.squeeze(xp.expand_dims(x, axis=1), axis=1), NUMBERS),
        (xp.astype(x, np.float32), NUMBERS.astype(np.float32)),
        (xp.matmul(x, xp.matrix_transpose(x), device=device), NUMBERS @ NUMBERS.T),
    ):
        assert isinstance(got, gpureduce.DeviceArray) == there
        assert_same(back(got), wanted)
    assert xp.astype(x, NUMBERS.dtype, copy=False) is x
    with pytest.raises(ValueError, match="copy"):
        xp.reshape(xp.matrix_transpose(x), (12,), copy=False)
    with pytest.raises(np.exceptions.AxisError):
        xp.expand_dims(x, axis=3)
    with pytest.raises(ValueError):
        xp.matrix_transpose(x[0])


def test_device_arrays(device):
    array = gpureduce.to_device(NUMBERS, device=device)
    assert isinstance(xp.sum(array, axis=0), gpureduce.DeviceArray)
    assert np.array_equal(xp.maximum.reduce(array).numpy(), NUMBERS.max(axis=0))
