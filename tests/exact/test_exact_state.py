"""The state of an exact sum in C: what is added and merged in it, its carries, and its one rounding."""

import ctypes
import math
import os
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.support import exact_reference as reference
from tests.support.exact_reference import FORMATS, dtype_of, exact_sum, same

HERE = Path(__file__).resolve().parent
EXPONENT_BITS = {"float16": 5, "bfloat16": 8, "float32": 8, "float64": 11}
NARROW, WIDE, WIDEST = (16, 160), (72, 1088), (144, 2176)


class Pair(ctypes.Structure):
    """A gr_exact_size or a gr_exact_format."""

    _fields_ = [("first", ctypes.c_uint32), ("second", ctypes.c_uint32)]


class State(ctypes.Structure):
    """The exact_state of exact_state.c."""

    _fields_ = [("size", Pair), ("word", ctypes.c_int64 * 144)]


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    """The functions of exact_state.c, built with the checks of the compiler."""
    library = tmp_path_factory.mktemp("state") / "state.so"
    checks = ["-fsanitize=undefined", "-fno-sanitize-recover", "-fsanitize-undefined-trap-on-error"]
    command = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-std=c11", "-O1", *checks]
    folder, source = HERE.parents[1] / "csrc", HERE / "exact_state.c"
    subprocess.run([*" ".join(command).split(), f"-I{folder}", source, "-o", library], check=True)
    functions = ctypes.CDLL(str(library))
    functions.exact_state_begin.argtypes = [ctypes.POINTER(State), Pair]
    functions.exact_state_add.argtypes = [ctypes.POINTER(State), ctypes.c_double]
    functions.exact_state_merge.argtypes = [ctypes.POINTER(State)] * 2
    functions.exact_state_round.argtypes = [ctypes.POINTER(State), ctypes.c_uint64, Pair]
    functions.exact_state_round.restype = ctypes.c_uint64
    return functions


def state_of(c, values, size):
    state = State()
    c.exact_state_begin(state, Pair(*size))
    for value in np.asarray(values).astype(np.float64).tolist():
        c.exact_state_add(state, value)
    return state


def result(c, state, name, divisor=1):
    bits = c.exact_state_round(state, divisor, Pair(FORMATS[name][0], EXPONENT_BITS[name]))
    dtype = dtype_of(name)
    return np.array(bits, f"u{dtype.itemsize}").view(dtype)[()]


def held(state):
    """What the digits stand for, in units of 2^-below."""
    words = state.size.first
    return sum(digit << 32 * i for i, digit in enumerate(state.word[: words - 2]))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("size", [NARROW, WIDE, WIDEST])
def test_sums_merged_anyhow(c, name, size):
    if (size == NARROW and name == "float64") or dtype_of(name) is None:
        pytest.skip("not of this size")
    rng = np.random.default_rng(3)
    for kind in reference.KINDS:
        for n in (0, 1, 2, 30):
            values = kind(rng, n, dtype_of(name))
            states = [state_of(c, part, size) for part in np.array_split(rng.permutation(values), 4)]
            for other in states[1:]:
                c.exact_state_merge(states[0], other)
            c.exact_state_add(states[0], 0.0)  # where a sum starts
            for divisor in (1, 3, 10, 2**40 + 1):
                want = exact_sum(values, divisor=divisor)
                assert same(result(c, states[0], name, divisor), want), (kind, n, divisor)


def test_digits_have_the_value_that_they_are_said_to_have(c):
    for size in (NARROW, WIDE, WIDEST):
        for value in (1.0, -1.0, 2.0**-149, -(2.0**127), 1.5 * 2.0**-100):
            state = state_of(c, [value], size)
            assert Fraction(held(state), 2 ** size[1]) == Fraction(value)
            assert all(0 <= digit < 2**32 for digit in state.word[: size[0] - 3])


def test_there_is_room_for_any_count(c):
    """As many of the largest as 2^63 additions make: doubled again and again, and back to nothing."""
    for size, largest in ((NARROW, 2.0**127), (WIDE, 2.0**1023)):
        state, other = state_of(c, [largest], size), state_of(c, [-largest], size)
        for _ in range(63):
            c.exact_state_merge(state, state)
            c.exact_state_merge(other, other)
        assert Fraction(held(state), 2 ** size[1]) == Fraction(largest) * 2**63
        assert result(c, state, "float64", 2**63) == largest
        c.exact_state_merge(state, other)
        assert held(state) == 0


def test_rounding(c):
    """Ties to even, and what lies far below them; the largest number, the smallest ones."""
    one_ulp = 2.0**-23
    cases = [
        ([1, one_ulp / 2], 1), ([1 + one_ulp, one_ulp / 2], 1 + 2 * one_ulp),
        ([1, one_ulp / 2, 2.0**-149], 1 + one_ulp), ([1, one_ulp / 2, -(2.0**-149)], 1),
        ([1, one_ulp / 2, 2.0**-64], 1 + one_ulp), ([1, one_ulp / 2, -(2.0**-64)], 1),
        ([-1, -one_ulp / 2], -1), ([-1, -one_ulp / 2, -(2.0**-149)], -1 - one_ulp),
        ([2.0**-149, 2.0**-149], 2.0**-148), ([-(2.0**-149)], -(2.0**-149)),
        ([float(np.finfo(np.float32).max), 2.0**102], float(np.finfo(np.float32).max)),
        ([float(np.finfo(np.float32).max), 2.0**103], math.inf),
        ([float(np.finfo(np.float32).max), 2.0**103, -(2.0**-149)], float(np.finfo(np.float32).max)),
    ]  # fmt: skip
    for values, want in cases:
        assert result(c, state_of(c, values, NARROW), "float32") == np.float32(want), values
    # Quotients of which only what is left of the sum, or the remainder, is no tie, and one that is; by
    # numbers of 32 bits, and by more.
    for more in (0, 33):
        ties = (([3 * 2.0**40, 2], 2.0**41), ([4 * 2.0**40], 2.0**41), ([3 * 2.0**40], 0))
        for last, want in (*ties, ([3 * 2.0**40, 2.0**32], 2.0**41)):
            state = state_of(c, [x * 2.0**more for x in (3 * 2.0**64, *last)], NARROW)
            assert result(c, state, "float32", 3 << more) == 2.0**64 + want, (last, more)
    assert result(c, state_of(c, [3 * 2.0**-149], NARROW), "float32", 2) == np.float32(2.0**-148)
    assert result(c, state_of(c, [2.0**-149], NARROW), "float32", 2) == 0


def test_flags(c):
    inf, nan = math.inf, math.nan
    for values, want in (
        ([inf, 1], inf),
        ([-inf], -inf),
        ([inf, -inf], nan),
        ([nan, inf], nan),
        ([inf, inf], inf),
    ):
        assert same(result(c, state_of(c, values, NARROW), "float32"), np.float32(want)), values
        parts = [state_of(c, [value], WIDE) for value in values]
        for part in parts[1:]:
            c.exact_state_merge(parts[0], part)
        assert same(result(c, parts[0], "float64"), np.float64(want)), values
    assert np.signbit(result(c, state_of(c, [-0.0, -0.0], NARROW), "float32"))
    assert not np.signbit(result(c, state_of(c, [-0.0, 0.0], NARROW), "float32"))
    assert not np.signbit(result(c, state_of(c, [1.0, -1.0], NARROW), "float32"))
    assert np.isnan(result(c, state_of(c, [1.0], NARROW), "float32", 0))
