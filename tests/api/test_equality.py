"""Results that hold arrays are compared by value, and the comparison is a bool."""

import copy
import dataclasses
import importlib
import pickle
import pkgutil

import numpy as np
import pytest

import gpureduce
from gpureduce._bench.halo import halo_of
from gpureduce._bench.tiles import Tiles
from gpureduce._profiles.counts import Counts
from gpureduce._profiles.trace import Trace
from gpureduce._profiles.user_kernel import Pass
from gpureduce.course import Case


def profiles():
    data = np.arange(300, dtype=np.float32)
    found = gpureduce.profile(data, "v2")
    changed = data.copy()
    changed[7] = np.nan
    drawn = found.kernels[0], found.timeline()
    product = gpureduce.profile((np.eye(32, dtype=np.float32), np.ones((32, 32), np.float32)), "m3")
    return found, gpureduce.profile(changed, "v2"), drawn, product


def test_profiles_are_equal_by_value():
    found, changed, (kernel, timeline), product = profiles()
    again, changed_again, (_, timeline_again), product_again = profiles()
    assert (
        found == again and found.kernels == again.kernels and kernel.instructions[3] != kernel.instructions[4]
    )
    assert timeline == timeline_again and found.totals == again.totals and product == product_again
    assert (found == changed) is False and found != changed and found != product and found != 1
    assert changed == changed_again and np.isnan(changed.result)  # bit for bit, NaN as well
    assert found == pickle.loads(pickle.dumps(found)) == copy.deepcopy(found)
    other = dataclasses.replace(kernel, timeline=None)
    assert kernel.timeline is not None and kernel != other
    assert found != dataclasses.replace(found, kernels=(other, *found.kernels[1:]))
    states = timeline.states.copy()
    states[0, 0] ^= 1
    assert dataclasses.replace(timeline, states=states) != timeline
    assert dataclasses.replace(product, result=product.result + 1) != product
    assert found in [changed, again] and [changed, again].index(found) == 1
    assert found.compare(product) == again.compare(product)


def test_further_records_with_arrays():
    a, b = np.arange(3.0), np.array([0.0, 1, 3])
    for make in (
        lambda x: Counts(histogram=x),
        lambda x: Pass(x, b, None, False),
        lambda x: Trace(b, x, b, 0, ("ret;",)),
        lambda x: Case("one", 1, 32, [x, 3], {0: b}),
        lambda x: Case("one", 1, 32, [b, 3], {0: x}),
    ):
        assert make(a) == make(a.copy()) and make(a) != make(b) and (make(a) == make(b)) is False
        assert make(a) != make(a.astype(np.float32)) and make(a) != make(a[:2])
    block = halo_of("c0")
    assert block == halo_of("c0") and block != dataclasses.replace(block, comes=block.comes + 1)


def test_no_dataclass_compares_arrays_by_itself():
    for module in pkgutil.walk_packages(gpureduce.__path__, "gpureduce."):
        try:
            contents = vars(importlib.import_module(module.name))
        except ImportError:
            continue  # an extra that is not installed
        for each in contents.values():
            if isinstance(each, type) and dataclasses.is_dataclass(each) and each.__dataclass_params__.eq:
                holds = [
                    one.name for one in dataclasses.fields(each) if one.compare and "ndarray" in str(one.type)
                ]
                assert not holds, each
    assert not Tiles.__dataclass_params__.eq


def test_what_holds_arrays_is_not_hashable():
    with pytest.raises(TypeError, match="unhashable"):
        hash(gpureduce.profile(10, "v2"))
