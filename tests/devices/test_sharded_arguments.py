"""`Sharded` as every argument of every public function: taken as the array it stands for, or named."""

import warnings

import numpy as np
import pytest

import gpureduce
from tests.support.public_functions import FUNCTIONS, ROWS, call, subjects_on

# What an argument is called that is an array.
ARRAYS = (
    "a",
    "array",
    "x",
    "x1",
    "x2",
    "b",
    "w",
    "other",
    "where",
    "labels",
    "offsets",
    "indices",
    "condition",
)
TAKERS = gpureduce.Sharded.takers()
EACH = [
    (name, argument) for name, (_, given) in FUNCTIONS.items() for argument in given if argument != "self"
]


def outcome(name, changed, device, subjects):
    """Return the result, or the exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(name, changed, device, subjects)
        except (TypeError, ValueError, IndexError) as error:
            return error


def test_arrays_in_parts_are_taken_or_named(device):
    subjects, taken = subjects_on(device), set()
    for name, argument in EACH:
        array = ROWS > 0 if "bitwise" in name else ROWS
        parts = gpureduce.Sharded(
            [gpureduce.to_device(array[:1], "sim"), gpureduce.to_device(array[1:], "sim")]
        )
        found = outcome(name, {argument: parts}, device if device == "sim" else None, subjects)
        assert not isinstance(found, Exception) or "dtype object" not in str(found), (name, argument, found)
        if argument not in ARRAYS:
            continue
        if isinstance(found, Exception):
            needs_more = name == "partial" and argument in ("b", "labels")  # an operator, a number of groups
            assert "Sharded" in str(found) or needs_more, (name, argument, found)
            assert isinstance(found, TypeError) or name.endswith("dot"), (name, argument, found)
            continue
        own = name.removeprefix("numpy_like.").removeprefix("dask.")
        taken.add({"amax": "max", "amin": "min"}.get(own, own))
        wanted = outcome(name, {argument: array}, "sim", subjects)
        same = found.result() == wanted.result() if own == "partial" else found == wanted
        assert np.all(same), (name, argument, found, wanted)
    assert sorted({*taken, "dot"}) == TAKERS  # which takes two of them


def test_a_variance_in_a_complex_dtype():
    rows = np.array([[1.0, 5.0], [2.0, -3.0], [4.0, 0.5]])
    parts = gpureduce.Sharded([gpureduce.to_device(rows[:1], "sim"), gpureduce.to_device(rows[1:], "sim")])
    for name in ("var", "std"):
        for axis in (None, 0):
            found = getattr(gpureduce, name)(parts, axis=axis, dtype=np.complex64)
            wanted = getattr(np, name)(rows, axis=axis, dtype=np.complex64)
            assert found.dtype == np.complex64
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_the_error_lists_the_functions():
    parts = gpureduce.Sharded([gpureduce.to_device(row, "sim") for row in ROWS[:2]])
    assert gpureduce.dot(parts, parts) == (ROWS[:2] ** 2).sum()
    with pytest.raises(TypeError) as caught:
        gpureduce.median(parts)
    assert (
        str(caught.value)
        == f"a: a Sharded is not supported here; it is accepted as the array of {', '.join(TAKERS)}"
    )
    with pytest.raises(TypeError, match="where: a Sharded is not supported here"):
        gpureduce.sum(ROWS[0], where=parts, device="sim")
    with pytest.raises(
        TypeError, match="a Sharded is not converted to a NumPy array; it is accepted as the array of all"
    ):
        np.asarray(parts)


def test_annotations_say_who_takes_several_devices():
    """A function whose `device` is annotated as a list, too, takes a list."""
    a = np.ones((4, 4))
    more = {"dot": (a[0], a[0]), "partial": (a, "sum"), "reduce": (a, "sum")}
    more |= dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), (a > 0,))
    for name in gpureduce.__all__:
        function = getattr(gpureduce, name)
        device = getattr(function, "__annotations__", {}).get("device")
        if device == "Devices":
            function(*more.get(name, (a,)), device=["sim", "sim:1"])
        elif device == "str | Device | None" and name in ("norm", "nansum", "ptp"):
            with pytest.raises(TypeError, match="device: expected str, Device or None, got list"):
                function(a, device=["sim", "sim:1"])
