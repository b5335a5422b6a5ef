"""Functions of the core that take and return tensors of another library; here our arrays play their part."""

import numpy as np
import pytest

import gpureduce
from gpureduce import DeviceArray, _core
from gpureduce._arrays.device_array import to_device

DTYPES = {"float32": np.float32, "int64": np.int64, "bool": np.bool_}
STATE = {"mode": 0, "recording": True, "requires": False, "made": 0}


class Level:
    """An object with an attribute that guards compare."""

    current = -1


@pytest.fixture
def tensors(monkeypatch, device):
    """Let device arrays have what the core calls of PyTorch's tensors; return the rules of functions."""

    def new_empty(self, shape, dtype):
        STATE["made"] += 1
        return to_device(np.zeros(shape, dtype), self.device)

    monkeypatch.setattr(DeviceArray, "requires_grad", property(lambda _: STATE["requires"]), raising=False)
    monkeypatch.setattr(DeviceArray, "new_empty", new_empty, raising=False)
    monkeypatch.setattr(DeviceArray, "data_ptr", lambda self: self._pointer, raising=False)
    for name, value in {"mode": 0, "recording": True, "requires": False, "made": 0}.items():
        monkeypatch.setitem(STATE, name, value)
    monkeypatch.setattr(Level, "current", -1)

    def rules(recorded=None, kind=DeviceArray, dtypes=DTYPES, keys=((), (), ())):
        guards = ((lambda: STATE["mode"], None, 0), (Level, "current", -1))
        return (kind, kind), guards, keys, lambda: STATE["recording"], recorded, dtypes

    return rules


def values():
    """Elements that cancel and spread over exponents."""
    rng = np.random.default_rng(45)
    return (rng.standard_normal((5, 70)) * 10.0 ** rng.integers(-9, 10, (5, 70))).astype(np.float32)


PARAMETERS = ("a", "axis", "keepdims")


@pytest.mark.core
@pytest.mark.parametrize("op", ["sum", "max", "argmax", "any", "count_nonzero"])
def test_results_are_tensors_made_by_the_library(op, device, tensors):
    function = _core.fast_path(op, PARAMETERS, (), None, 0, False, tensors())
    array = values()
    a = to_device(array, device)
    for axis, keepdims in ((1, False), (0, True), (None, False), ((0, 1), True)):
        if op == "argmax" and isinstance(axis, tuple):
            continue
        got = function(a, axis, keepdims)
        want = getattr(gpureduce, op)(a, axis=axis, keepdims=keepdims, as_device=True)
        assert got.shape == want.shape
        assert got.dtype == want.dtype
        assert got.numpy().tobytes() == want.numpy().tobytes()
    assert STATE["made"] == (3 if op == "argmax" else 4)


@pytest.mark.core
def test_products_are_tensors(device, tensors):
    array = values()
    a, b = to_device(array, device), to_device(array.T.copy(), device)
    matmul = _core.fast_path("matmul", ("a", "b", "precision"), (), None, 0, False, tensors())
    assert matmul(a, b, None).numpy().tobytes() == gpureduce.matmul(a, b).numpy().tobytes()
    assert matmul(a[0], b) is matmul(a, b[:, 0]) is NotImplemented
    dot = _core.fast_path("dot", ("a", "b"), (), None, 0, False, tensors())
    got = dot(a[0], a[1])
    assert (got.shape, got.numpy()) == ((), gpureduce.dot(a[0], a[1]))
    assert STATE["made"] == 2


@pytest.mark.core
def test_normalized_rows_are_tensors(device, tensors):
    array = values()
    a, weight, residual = (to_device(each, device) for each in (array, array[0], array[::-1].copy()))
    softmax = _core.fast_path("softmax", ("a", "axis"), (), None, 0, False, tensors())
    assert softmax(a, 0).numpy().tobytes() == gpureduce.softmax(a, 0).numpy().tobytes()
    parameters = ("a", "residual", "weight", "eps")
    rms_norm = _core.fast_path("rms_norm", parameters, (), None, 0, False, tensors())
    got = rms_norm(a, residual, weight, 1e-6)
    sums = to_device(array[::-1].copy(), device)
    assert got.numpy().tobytes() == gpureduce.rms_norm(a, weight, residual=sums).numpy().tobytes()
    assert residual.numpy().tobytes() == sums.numpy().tobytes()
    assert rms_norm(a, residual, weight[::2], 1e-6) is rms_norm(a, a, weight, 1e-6) is NotImplemented
    assert STATE["made"] == 2


@pytest.mark.core
def test_sorted_lines_are_tensors(device, tensors):
    a = to_device(values(), device)

    def function(name, *parameters):
        report = None if name == "argsort" else lambda *results: results
        return _core.fast_path(name, ("a", *parameters), (), report, 0, False, tensors())

    topk = function("topk", "k", "axis", "largest", "sorted")
    for inputs in ((a, 3), (a, 70, -1, False), (a, 9, 1, True, False), (a, 2, None)):
        got, want = topk(*inputs), gpureduce.topk(*[-1 if each is None else each for each in inputs])
        for mine, other in zip(got, want, strict=True):
            assert (mine.shape, mine.dtype) == (other.shape, other.dtype)
            assert mine.numpy().tobytes() == other.numpy().tobytes()
    for descending in (False, True):
        order = np.argsort(-values() if descending else values(), axis=1, kind="stable")
        sorted_values, indices = function("sort", "axis", "descending")(a, -1, descending)
        assert np.array_equal(indices.numpy(), order)
        assert np.array_equal(sorted_values.numpy(), np.take_along_axis(values(), order, 1))
        assert np.array_equal(function("argsort", "axis", "descending")(a, 1, descending).numpy(), order)
    for inputs in ((a, 3, 0), (a, 0), (a, 71), (a, True), (a.T, 2), (a, 2, 1, 1)):
        assert topk(*inputs) is NotImplemented
    assert function("sort", "axis")(a, 0) is function("argsort", "descending")(a, 1) is NotImplemented
    without = tensors(dtypes={"float32": np.float32})
    assert _core.fast_path("sort", ("a",), (), print, 0, False, without)(a) is NotImplemented


@pytest.mark.core
def test_guards_leave_the_call_to_the_operator(device, tensors, monkeypatch):
    function = _core.fast_path("sum", PARAMETERS, (), None, 0, False, tensors())
    a = to_device(values(), device)
    before = _core.runs()
    for change in (
        lambda patch: patch.setitem(STATE, "mode", 1),
        lambda patch: patch.setattr(Level, "current", 0),
        lambda patch: patch.setitem(STATE, "requires", True),
    ):
        with monkeypatch.context() as patch:
            change(patch)
            assert function(a, 1, False) is NotImplemented
    assert function(values(), 1, False) is NotImplemented
    assert function(a, 2, False) is function(a, (0, 0), False) is NotImplemented
    assert _core.fast_path("sum", ("a",), (), None, 0, False, tensors(kind=int))(a) is NotImplemented
    assert _core.fast_path("sum", ("a",), (), None, 0, False, tensors(kind=_core.Array))(a) is NotImplemented
    only_counts = tensors(dtypes={"int64": np.int64})
    function = _core.fast_path("sum", PARAMETERS, (), None, 0, False, only_counts)
    assert function(a, 1, False) is NotImplemented
    function = _core.fast_path("sum", PARAMETERS, (), None, 0, False, tensors())
    assert _core.runs() == before
    assert STATE["made"] == 0
    monkeypatch.setitem(STATE, "requires", True)
    monkeypatch.setitem(STATE, "recording", False)
    assert function(a, 1, False).shape == (5,)


@pytest.mark.core
def test_calls_that_are_recorded(device, tensors, monkeypatch):
    calls = []

    def recorded(*inputs):
        calls.append(inputs)
        return "recorded"

    function = _core.fast_path("sum", PARAMETERS, (), None, 0, False, tensors(recorded))
    a = to_device(values(), device)
    assert function(a, 1, False).shape == (5,)
    monkeypatch.setitem(STATE, "requires", True)
    assert function(a, 1, False) == "recorded"
    ((result, *inputs),) = calls
    assert result.numpy().tobytes() == gpureduce.sum(a, axis=1).numpy().tobytes() and inputs == [a, 1, False]
    assert function(a, 7, False) is NotImplemented and len(calls) == 1

    def apply(*inputs):
        assert inputs[:-1] == (a, 1, 4, 5)
        return inputs[-1][0]

    record = apply, (None, 3, 4, 5), 2, recorded
    applying = _core.fast_path("sum", (*PARAMETERS, "initial"), (), None, 0, False, tensors(record))
    assert applying(a, 1).numpy().tobytes() == result.numpy().tobytes() and len(calls) == 1
    assert applying(a, 1, False) == "recorded" and calls.pop()[1:] == (a, 1, False)
    for wrong in ((print, (), 1, print), (print, [], 0, print), (print, (1,)), (print, (1,) * 99, 0, print)):
        with pytest.raises((TypeError, ValueError)):
            _core.fast_path("sum", PARAMETERS, (), None, 0, False, tensors(wrong))
    results_without_gradients = _core.fast_path("sum", PARAMETERS, (), None, 0, False, tensors(True))
    assert results_without_gradients(a, 1, False).shape == (5,)
    monkeypatch.setattr(Level, "current", 0)
    assert function(a, 1, False) is NotImplemented


@pytest.mark.core
def test_errors_of_the_library_are_raised(device, tensors, monkeypatch):
    a = to_device(values(), device)

    def fail(*_, **__):
        raise KeyError("no memory")

    function = _core.fast_path("sum", PARAMETERS, (), None, 0, False, tensors())
    for name in ("new_empty", "data_ptr", "requires_grad"):
        with monkeypatch.context() as patch:
            patch.setattr(DeviceArray, name, property(fail))
            with pytest.raises(KeyError):
                function(a, 1, False)


@pytest.mark.parametrize(
    "change",
    [
        lambda rules: rules[:5],
        lambda rules: (1, *rules[1:]),
        lambda rules: ((int, 1), *rules[1:]),
        lambda rules: (rules[0], ((1, 2),), *rules[2:]),
        lambda rules: (*rules[:5], {"x": 1}),
        lambda rules: (*rules[:5], {1: 1}),
        lambda rules: list(rules),
        lambda rules: (*rules[:2], ((1,) * 9, (), ()), *rules[3:]),
        lambda rules: (*rules[:2], (("x",), (), ()), *rules[3:]),
    ],
)
def test_wrong_rules(change, tensors):
    with pytest.raises((TypeError, ValueError)):
        _core.fast_path("sum", PARAMETERS, (), None, 0, False, change(tensors()))
