"""Numbers, shapes, and things that are none, for arguments of public functions: generators of Hypothesis."""

import operator

import numpy as np
from hypothesis import strategies as st


def mostly(usual, odd, one_in=12):
    """The usual; now and then the odd, of which `one_of` would take each kind as often as the usual."""
    return st.integers(1, one_in).flatmap(lambda n: odd if n == one_in else usual)


SIZES = (
    0,
    1,
    2,
    3,
    7,
    8,
    31,
    32,
    33,
    64,
    65,
    255,
    256,
    1000,
    65535,
    65536,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32,
)
SIZES += (2**53, 2**61, 2**62, 2**63 - 8, 2**63 - 1, 2**63, 2**64 - 8, 2**64 - 1, 2**64, 2**70, 10**30)
integers = st.one_of(
    st.sampled_from(SIZES), st.sampled_from(SIZES).map(operator.neg), st.integers(-40, 40), st.integers()
)
small = st.integers(0, 9)


class Index:
    """An integer that does something else while it is asked for."""

    def __init__(self, value, effect=None):
        self.value, self.effect = value, effect

    def __index__(self):
        if self.effect is not None:
            self.effect()
        return self.value

    __int__ = __index__

    def __repr__(self):
        return f"Index({self.value!r})"


class Raises:
    """Raises whatever is asked of it."""

    def __getattr__(self, name):
        raise ValueError(name)

    def __index__(self):
        raise ValueError("on purpose")

    def __len__(self):
        raise ValueError("on purpose")

    def __repr__(self):
        return "Raises()"


junk = st.one_of(
    st.none(),
    st.booleans(),
    integers,
    integers.map(Index),
    st.floats(),
    st.complex_numbers(),
    st.sampled_from(
        ("", "sum", "v3", "sim", "cuda", "cuda:0", "cuda:99999999999", "\0", "f4", "\udc80", "axis")
    ),
    st.text(max_size=5),
    st.binary(max_size=9),
    st.builds(Raises),
    st.builds(object),
    st.sampled_from((np.float32, np.dtype("f8"), np.int8(3), np.float64("nan"), np._NoValue, Ellipsis, int)),
    st.tuples(integers),
    st.lists(integers, max_size=3),
    st.integers(0, 200).map(lambda n: (0,) * n),
    st.just({}),
    st.just(np.arange(6.0).reshape(2, 3)),
    st.just(np.array([True, False, True])),
)
odd_shapes = st.one_of(
    st.lists(integers, max_size=5).map(tuple),
    st.integers(30, 70).map(lambda n: (1,) * n),
    st.lists(st.one_of(integers, junk), max_size=3).map(tuple),
    junk,
)
shapes = mostly(st.lists(small, max_size=4).map(tuple), odd_shapes, 4)


class Refuses:
    """Raises whatever a number or an array is asked for."""

    def __index__(self):
        raise ValueError("on purpose")

    __int__ = __float__ = __bool__ = __len__ = __iter__ = __array__ = __index__


# By name, for every argument of every public function.
HOSTILE = {
    "None": None,
    "True": True,
    "-1": -1,
    "2**45": 2**45,  # elements that no machine has,
    "-2**63": -(2**63),
    "2**64": 2**64,
    "10**30": 10**30,
    "0.5": 0.5,
    "nan": float("nan"),
    "inf": np.float64("inf"),
    "1j": 1j,
    "text": "1",
    "surrogate": "\udc80",
    "null byte": "a\0b",
    "bytes": b"\xff",
    "list": [1, [2]],
    "tuple": (1, 2**70),
    "dict": {},
    "object": object(),
    "refuses": Refuses(),
    "dates": np.zeros(2, "M8[s]"),
    "records": np.zeros(2, "i4,f4"),
    "objects": np.array([1, None], object),
    "text array": np.array("x"),
    "function": lambda: None,
    "class": int,
}
