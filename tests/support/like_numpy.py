"""Data for all operators, and the comparison of a call with NumPy's."""

import numpy as np

import gpureduce
from tests.support import numpy_oracle as oracle


def numbers(dtype, shape, seed=0):
    """Numbers of both signs with ties, small enough that half floats hold their sums' partial results."""
    dtype = oracle.dtype_of(dtype)
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.random(shape) < 0.7
    low = 0 if dtype.kind == "u" else -20
    values = rng.integers(low, 20, size=shape, endpoint=True)
    if dtype.kind == "c":
        values = values + 1j * rng.integers(-20, 20, size=shape)
    elif dtype.kind in "fV":
        values = values + rng.integers(0, 8, size=shape) / 8
    return values.astype(dtype)


def around_one(dtype, shape, seed=0):
    """Factors whose product stays in range."""
    dtype = oracle.dtype_of(dtype)
    if dtype.kind in "biu":
        return numbers(dtype, shape, seed)
    rng = np.random.default_rng(seed)
    values = np.exp(0.05 * rng.normal(size=shape)) * rng.choice([-1, 1], size=shape)
    if dtype.kind == "c":
        values = values * np.exp(2j * np.pi * rng.random(size=shape))
    return values.astype(dtype)


def assert_like_numpy(on, op, array, **arguments):
    """The result equals NumPy's, or lies within the bound of the operator."""
    wanted = oracle.call_numpy(op, array, **arguments)
    got = oracle.attempt(on, op, array, **arguments)
    if isinstance(got, gpureduce.DeviceError):
        raise got
    said = f"{op} of {array.dtype}{array.shape}, {arguments}: "
    if isinstance(wanted, Exception):
        assert isinstance(got, Exception), f"{said}{got!r}, NumPy raises {wanted!r}"
        assert oracle.public_type(got) is oracle.public_type(wanted), f"{said}{got!r}, not {wanted!r}"
        return
    assert not isinstance(got, Exception), f"{said}{got!r}"
    wrong = oracle.mismatch_of_form(op, got, wanted)
    if wrong is None and op in oracle.ROUNDED and wanted.dtype.kind not in "biu":
        chosen = {key: value for key, value in arguments.items() if key != "dtype"}
        chosen.setdefault("axis", None)
        wrong = oracle.mismatch_of_rounded(op, got, array.astype(wanted.dtype), wanted.dtype, **chosen)
        if wrong == oracle.ORDER_DEPENDENT:
            assert op == "prod" and array.size > 5000, said
            return
    elif wrong is None:
        wrong = oracle.mismatch_of_equal(got, wanted)
    assert wrong is None, said + wrong
