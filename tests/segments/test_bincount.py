"""Counts of integers, and exact sums of their weights: as numpy.bincount, in host memory and on a device."""

import math

import numpy as np
import pytest

import gpureduce
from tests.segments.test_group_sums import launched
from tests.support import exact_reference as reference
from tests.support.sanitized import not_under_asan

LABELS = ("int64", "int32", "uint64", "uint32", "int16", "uint16", "int8", "uint8")


def on_host(array):
    return array.numpy() if isinstance(array, gpureduce.DeviceArray) else array


def both_places(device):
    """Return functions that put an array where a call takes it, and the options of the call."""
    return (np.asarray, {"device": device}), (lambda array: gpureduce.to_device(array, device), {})


def test_counts_are_numpys(device):
    rng = np.random.default_rng(1)
    for number, dtype in enumerate(LABELS):
        n = (0, 1, 7, 3000, 9000, 20_000)[number % 6]
        numbers = rng.integers(0, 1 + (number * 37) % 100, n).astype(dtype)
        for place, options in both_places(device):
            for length in (0, 5, 200):
                got = on_host(gpureduce.bincount(place(numbers), minlength=length, **options))
                assert got.dtype == np.int64
                assert got.tolist() == np.bincount(numbers.astype(np.int64), minlength=length).tolist()


def test_counts_read_one_number_and_the_labels():
    """In windows, as other sums of integers: the one number repeats."""
    rng = np.random.default_rng(2)
    for n, groups in ((20_000, 40), (20_003, 5000), (9001, 3)):
        for dtype in ("int64", "int32"):
            labels = np.sort(rng.integers(0, groups, n)) if n % 2 else rng.integers(0, groups, n)
            sevens = np.broadcast_to(np.array([-7], np.int32), n)
            got, kernels = launched(sevens, labels.astype(dtype), groups, races=True)
            assert kernels[0].name == f"group_window_i32_i{8 * np.dtype(dtype).itemsize}"
            assert all(kernel.races == () for kernel in kernels)
            assert got.tolist() == (-7 * np.bincount(labels, minlength=groups)).tolist()
    means = launched(sevens, labels, groups, "mean")[0]
    assert means.tolist() == [-7] * groups


def test_repeated_rows_of_many_groups(device):
    """No partition takes them."""
    n, groups = 1 << 18, 70_000
    labels = np.arange(n) * 7 % groups
    for place, options in both_places(device):
        got = on_host(gpureduce.bincount(place(labels), **options))
        assert got.tolist() == np.bincount(labels).tolist()


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "int32", "uint8"])
def test_weights_are_added_exactly(name, device):
    rng = np.random.default_rng(3)
    numbers = rng.integers(0, 30, 4000)
    weights = rng.standard_normal(4000) * 2.0 ** rng.integers(-8, 8, 4000)
    weights[1::2] = -weights[::2] * (1 + (rng.random(2000) < 0.1) * 2.0**-9)
    numbers[1::2] = numbers[::2]
    weights = (
        rng.integers(0, 200, 4000) if name[-2:] in ("32", "t8") and "f" not in name else weights
    ).astype(name)
    sums = [math.fsum(weights[numbers == i].astype(np.float64).tolist()) for i in range(30)]
    for place, options in both_places(device):
        got = on_host(gpureduce.bincount(place(numbers), place(weights), **options))
        if place is np.asarray:
            assert got.dtype == np.float64
        else:
            assert got.dtype == gpureduce.sum(weights, device=device).dtype
        assert got.tolist() == np.array(sums).astype(got.dtype).tolist()
        order = rng.permutation(4000)
        again = gpureduce.bincount(place(numbers[order]), place(weights[order]), **options)
        assert reference.same(np.asarray(on_host(again), np.float64), np.asarray(got, np.float64))


def test_errors_name_the_argument(device):
    numbers = np.array([0, 3, 1])
    for place, options in both_places(device):
        for error, match, call in (
            (ValueError, "x: expected one dimension", {"x": numbers[None]}),
            (ValueError, "x: expected nonnegative integers, got -2", {"x": np.array([1, -2])}),
            (ValueError, "x: expected up to", {"x": np.array([1, 2**60])}),
            (TypeError, "x: expected integers", {"x": numbers.astype(float)}),
            (TypeError, "x: expected integers", {"x": numbers > 0}),
            (TypeError, "weights: expected real", {"x": numbers, "weights": numbers.astype(complex)}),
            (ValueError, "weights: expected shape", {"x": numbers, "weights": numbers[1:]}),
        ):
            arrays = {name: place(array) for name, array in call.items()}
            with pytest.raises(error, match=match):
                gpureduce.bincount(**arrays, **options)
        for length in (-1, 2**64):
            with pytest.raises(ValueError, match="minlength"):
                gpureduce.bincount(place(numbers), minlength=length, **options)
    with pytest.raises(TypeError, match="weights"):
        gpureduce.bincount(gpureduce.to_device(numbers, device), numbers)
    assert gpureduce.bincount([], device=device).tolist() == []
    assert gpureduce.bincount([], [], 2, device=device).tolist() == [0, 0]


@not_under_asan("it ends a process that asks for so much")
def test_errors_of_memory_name_the_argument(device):
    numbers = np.array([0, 3, 1])
    for place, options in both_places(device):
        for name, arguments in (("size", {"size": 2**46}), ("minlength", {"minlength": 2**46}), ("x", {})):
            many = place(np.array([0, 2**45])) if name == "x" else place(numbers)
            with pytest.raises(MemoryError, match=f"^{name}: no memory for the results of"):
                gpureduce.bincount(many, **arguments, **options)


def test_a_number_of_bins_leaves_the_others_out(device):
    rng = np.random.default_rng(8)
    for dtype in LABELS:
        n = 3001
        numbers = rng.integers(0, 40, n).astype(dtype)
        if not dtype.startswith("u"):
            numbers[::7] = -1
        weights = rng.standard_normal(n) * 2.0 ** rng.integers(-30, 30, n)
        for size in (1, 25, 50):
            counted = numbers[(numbers >= 0) & (numbers < size)].astype(np.int64)
            for place, options in both_places(device):
                got = gpureduce.bincount(place(numbers), size=size, **options)
                assert got.dtype == np.int64
                assert on_host(got).tolist() == np.bincount(counted, minlength=size).tolist()
                sums = on_host(gpureduce.bincount(place(numbers), place(weights), size=size, **options))
                assert sums.tolist() == [
                    math.fsum(weights[numbers.astype(np.int64) == each]) for each in range(size)
                ]
    strided = gpureduce.to_device(np.arange(20), device)[::2]
    assert gpureduce.bincount(strided, size=3).numpy().tolist() == [1, 0, 1]
    assert gpureduce.bincount(strided, strided, size=5, as_device=False).tolist() == [0, 0, 2, 0, 4]


@pytest.mark.core
def test_counts_of_a_number_of_bins_run_in_the_core(device):
    """The call parses no arguments in Python, and reads nothing on the host."""
    numbers = gpureduce.to_device(np.array([1, 1, 4]), device)
    core = gpureduce._core.fast_path("bincount", ("x", "weights", "minlength"), ("size",), None)
    assert core(numbers, size=3).numpy().tolist() == [0, 2, 0]
    for call in ((numbers,), (numbers, None, 2)):
        assert core(*call) is NotImplemented
    for wrong in (0, -1, True, 2.0, 2**70):
        assert core(numbers, size=wrong) is NotImplemented
    assert core(np.array([1]), size=3) is core(numbers[None], size=3) is NotImplemented
    assert core(numbers, numbers[1:], size=3) is NotImplemented
    for size, error in ((-1, ValueError), (2.5, TypeError), (1, ValueError)):
        with pytest.raises(error, match="size"):
            gpureduce.bincount(numbers, minlength=2, size=size)
