"""Calls of `gpureduce.torch` that leave out PyTorch's dispatcher, without PyTorch, against the fake driver.

A class of ours stands for `torch.Tensor`. The fake driver adds up int32.
"""

import numpy as np

import gpureduce
from gpureduce import _core
from tests.support.fake_driver import run, tensor
from tests.support.producers import Exchange

HOST = np.arange(1, 61, dtype=np.int32).reshape(10, 6) * 37 % 101 - 50


def summed_by(named, recorded=None):
    """A function of tensors as `gpureduce.torch.sum`, and a tensor, which is of int32.

    The function returns None for calls that it leaves to Python, else the sums that it has written to the
    memory of a new tensor.
    """
    exchange = Exchange()
    results = gpureduce.to_device(np.zeros(60, np.int64), "cuda:0")
    exchange.type.requires_grad = False
    shapes = []

    def new_empty(self, shape, dtype):
        shapes[:] = [shape]
        assert dtype == "int64 of PyTorch"
        return type("Result", (), {"data_ptr": lambda self: results._pointer})()

    exchange.type.new_empty = new_empty
    types = exchange.type, exchange.type
    rules = types, (), ((), (), ()), lambda: True, recorded, {"int64": "int64 of PyTorch"}
    core = _core.fast_path("sum", ("a", "axis", "keepdims"), named, None, 0, False, rules)

    def call(*args, **options):
        if core(*args, **options) is NotImplemented:
            return None
        return results.numpy()[: np.prod(shapes[0], dtype=int)].reshape(shapes[0])

    there = gpureduce.to_device(HOST, "cuda:0")
    return call, tensor(there, exchange), there


def check_names():
    summed, a, _ = summed_by(("dim", "keepdim"))
    for args, options, wanted in (
        ((), {"dim": 1}, HOST.sum(1)),
        ((), {"dim": 0, "keepdim": True}, HOST.sum(0, keepdims=True)),
        ((1,), {"keepdim": False}, HOST.sum(1)),
        ((), {"dim": None, "keepdim": None}, HOST.sum()),
        ((), {"dim": -1, "keepdims": True}, HOST.sum(1, keepdims=True)),
    ):
        got = summed(a, *args, **options)
        assert got.shape == wanted.shape and (got == wanted).all()
    for args, options in (
        ((1,), {"dim": 1}),
        ((None,), {"dim": 1}),
        ((1, True), {"keepdim": True}),
        ((), {"keepdim": 1}),
        ((), {"dim": "x"}),
        ((), {"dims": 1}),
    ):
        assert summed(a, *args, **options) is None


def check_masks():
    """The fake driver has no kernel that reads a mask."""
    summed, a, there = summed_by(("where",))
    assert summed(a, where=None) == HOST.sum()
    host = np.ones(HOST.shape, bool)
    for where in (True, False, host, gpureduce.to_device(host, "cuda:0"), a, there):
        assert summed(a, where=where) is None


def check_recorded_calls():
    """Autograd gets the result, and the arguments as they are; calls with masks are left to the operator."""
    seen = []

    def record(*args, **options):
        seen.append((args, options))
        return args[0]

    summed, a, _ = summed_by(("dim", "where"), record)
    type(a).requires_grad = True
    assert (summed(a, dim=1) == HOST.sum(1)).all()
    ((result, *args), options) = seen.pop()
    assert type(result).__name__ == "Result" and (args, options) == ([a], {"dim": 1})
    assert summed(a, where=a) is summed(a, dim=2) is None and not seen
    without, a, _ = summed_by(("dim",), True)
    type(a).requires_grad = True
    assert (without(a, dim=1) == HOST.sum(1)).all()


def test_functions_of_tensors(fake_libraries):
    run(fake_libraries, check_names, check_masks, check_recorded_calls)
