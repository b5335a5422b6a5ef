"""The ladder of group sums: right for hostile lengths and labels, and what each rung promises of its bits."""

import math
import re

import numpy as np
import pytest

import gpureduce
from gpureduce import _core

RUNGS = [variant.name for variant in gpureduce.variants("groups")]
FLOATS = [variant.name for variant in gpureduce.variants("groups") if variant.float_atomics]
INTEGERS = ["g3", "g4"]


def drawn(n, groups, spread=6):
    """Elements that cancel, within exponents of 2 * spread, and labels of which some are no group's."""
    rng = np.random.default_rng([20261127, n, groups])
    values = rng.standard_normal(n) * 2.0 ** rng.integers(-spread, spread + 1, n)
    return values.astype(np.float32), rng.integers(-1, groups, n).astype(np.int32)


def rounded(values, labels, groups):
    """Return the exact sums, rounded once."""
    members = [[] for _ in range(groups)]
    for value, label in zip(values.tolist(), labels.tolist(), strict=True):
        if 0 <= label < groups:
            members[label].append(value)
    return np.array([math.fsum(each) for each in members], np.float32)


def tolerance(values, labels, groups):
    """Return what additions in any order may lose of each group."""
    inside = (labels >= 0) & (labels < groups)
    labels, values = labels[inside], np.abs(values[inside]).astype(np.float64)
    absolute = np.bincount(labels, values, groups)
    return absolute * np.bincount(labels, minlength=groups) * 2.0**-24


def sums(rung, values, labels, groups, **options):
    return gpureduce.group_reduce(values, labels, num_groups=groups, variant=rung, **options)


def host(array):
    return array.numpy() if isinstance(array, gpureduce.DeviceArray) else np.asarray(array)


def bits(array):
    return host(array).tobytes()


def test_the_table_of_rungs():
    assert RUNGS == ["g0", "g1", "g2", "g3", "g4"] and FLOATS == ["g0", "g2"]
    for variant in gpureduce.variants("groups"):
        assert variant.coverage == (("sum", "float32"),)
        assert gpureduce.source(variant.name).startswith(f"// {variant.name}: ")
        assert f"{variant.name}_sum_f32" in gpureduce.kernels.ptx(variant.name, dtype="float32")


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize(
    "n, groups", [(0, 3), (1, 1), (31, 1), (33, 255), (1025, 256), (16385, 257), (40000, 1), (30011, 5000)]
)
def test_lengths_and_groups(rung, n, groups, device):
    values, labels = drawn(n, groups)
    result = sums(rung, values, labels, groups, device=device)
    right = rounded(values, labels, groups)
    assert result.dtype == np.float32 and result.shape == (groups,)
    if rung in INTEGERS:
        assert bits(result) == bits(right)
    else:
        assert (np.abs(result - right.astype(np.float64)) <= tolerance(values, labels, groups)).all()


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("kind", ["equal", "ascending", "descending", "last"])
def test_labels(rung, kind, device):
    n, groups = 20000, 300
    values, _ = drawn(n, groups)
    ascending = (np.arange(n) * groups // n).astype(np.int32)
    kinds = {
        "equal": np.full(n, 7, np.int32),
        "ascending": ascending,
        "descending": ascending[::-1].copy(),
        "last": np.full(n, groups - 1, np.int32),
    }
    labels = kinds[kind]
    result, right = sums(rung, values, labels, groups, device=device), rounded(values, labels, groups)
    assert (np.abs(result - right.astype(np.float64)) <= tolerance(values, labels, groups)).all()
    if rung in INTEGERS:
        assert bits(result) == bits(right)


@pytest.mark.parametrize("rung", ["g0", "g1", "g4"])
def test_more_groups_than_shared_memory_holds(rung, device):
    values, labels = drawn(20000, 100_000)
    result, right = sums(rung, values, labels, 100_000, device=device), rounded(values, labels, 100_000)
    assert (np.abs(result - right.astype(np.float64)) <= tolerance(values, labels, 100_000)).all()
    if rung in INTEGERS:
        assert bits(result) == bits(right)


@pytest.mark.parametrize("rung", ["g2", "g3"])
def test_too_many_groups_for_shared_memory(rung, device):
    with pytest.raises(ValueError, match=rf"^num_groups: {rung} takes up to \d+ groups on "):
        sums(rung, *drawn(10, 10), 1 << 20, device=device)


def test_which_rungs_depend_on_the_order_of_blocks(device, monkeypatch):
    if device != "sim":
        pytest.skip("the order of blocks can be chosen on the simulator alone")
    values, labels = drawn(70001, 50)
    found = {rung: {bits(sums(rung, values, labels, 50, device="sim"))} for rung in RUNGS}
    for seed in ("3", "11"):
        monkeypatch.setenv("GPUREDUCE_SIM_BLOCK_ORDER", seed)
        for rung in RUNGS:
            found[rung].add(bits(sums(rung, values, labels, 50, device="sim")))
    assert [rung for rung in RUNGS if len(found[rung]) > 1] == FLOATS


@pytest.mark.parametrize("rung", RUNGS)
def test_which_rungs_depend_on_the_order_of_elements(rung, device):
    """Of wide exponents, too, for which the unit rounds elements."""
    values, labels = drawn(20000, 50, spread=40)
    order = np.random.default_rng(1).permutation(len(values))
    one, other = (sums(rung, values[at], labels[at], 50, device=device) for at in (slice(None), order))
    assert (bits(one) == bits(other)) == (rung in INTEGERS)


@pytest.mark.parametrize("rung", INTEGERS)
def test_elements_beyond_the_window_lose_bits_below_the_unit(rung, device):
    """A lost bit is at most half a unit per element, which is 2^-42 of the largest element's power of two."""
    n, groups = 1 << 14, 10
    values, labels = drawn(n, groups, spread=40)
    result, right = sums(rung, values, labels, groups, device=device), rounded(values, labels, groups)
    unit = 2.0 ** (math.frexp(np.abs(values).max())[1] - (62 - 14))
    lost = np.abs(result - right.astype(np.float64))
    assert (lost <= n * unit / 2 + np.spacing(np.abs(right))).all()
    tiny = np.array([2.0**60, 2.0**-60, 2.0**-60], np.float32)
    assert bits(sums(rung, tiny, [0, 1, 1], 2, device=device)) == bits(np.array([2.0**60, 0], np.float32))


@pytest.mark.parametrize("rung", INTEGERS)
def test_the_unit(rung, device):
    """Of four elements, the largest has 60 bits: of 1, the unit is 2^-59. What is less is rounded to even."""
    for element, wanted in (
        (2.0**-59, 2.0**-59),
        (2.0**-60, 0),
        (3 * 2.0**-60, 2.0**-58),
        (-(2.0**-58), -(2.0**-58)),
    ):
        values = np.array([1, element, 0, 0], np.float32)
        assert sums(rung, values, [0, 1, 1, 1], 2, device=device).tolist() == [1, wanted]


@pytest.mark.parametrize("rung", INTEGERS)
@pytest.mark.parametrize("scale", [2.0**-149, 2.0**-135, 2.0**103])
def test_the_ends_of_the_range(rung, scale, device):
    """Subnormal elements and sums, and the largest numbers."""
    rng = np.random.default_rng(2)
    values = (rng.integers(-(2**20), 2**20, 3000) * scale).astype(np.float32)
    labels = rng.integers(0, 40, 3000).astype(np.int32)
    right = rounded(values, labels, 40)
    assert np.count_nonzero(right) == 40
    assert bits(sums(rung, values, labels, 40, device=device)) == bits(right)


@pytest.mark.parametrize("rung", INTEGERS)
def test_an_overflow_is_infinite(rung, device):
    largest = np.finfo(np.float32).max
    values = np.array([largest, largest, -largest, largest, -largest], np.float32)
    result = sums(rung, values, [0, 0, 1, 2, 2], 3, device=device)
    assert result.tolist() == [np.inf, -largest, 0]


@pytest.mark.parametrize("rung", RUNGS)
def test_infinities_and_nans(rung, device):
    values = np.array([np.inf, 1, -np.inf, np.inf, np.nan, 2, -np.inf, 3], np.float32)
    result = sums(rung, values, [0, 0, 1, 1, 2, 2, 3, 4], 6, device=device)
    assert np.array_equal(result, [np.inf, np.nan, np.nan, -np.inf, 3, 0], equal_nan=True)


@pytest.mark.parametrize("rung", RUNGS)
def test_labels_on_the_device(rung, device):
    """Those that are no group's are ignored there."""
    values, labels = drawn(5000, 40)
    on_device = [gpureduce.to_device(each, device) for each in (values, labels)]
    out = gpureduce.to_device(np.full(37, 9, np.float32), device)
    assert gpureduce.group_reduce(*on_device, num_groups=37, variant=rung, out=out) is out
    right = rounded(values, labels, 37)
    assert (np.abs(host(out) - right.astype(np.float64)) <= tolerance(values, labels, 37)).all()
    default = gpureduce.group_reduce(*on_device, variant=rung)
    assert default.shape == (40,)
    mixed = gpureduce.group_reduce(on_device[0], labels, num_groups=40, variant=rung)
    if rung in ("g1", *INTEGERS):
        assert bits(mixed) == bits(default)


@pytest.mark.parametrize("rung", RUNGS)
def test_arrays_of_the_host(rung, device):
    """Of any strides, and labels of any integer dtype."""
    values, labels = drawn(4000, 30)
    right = bits(sums("g3", values, labels, 30, device=device))
    wide = np.repeat(values, 2)[::2]
    far = np.where(labels < 0, np.int64(-(2**40)), labels)
    for some in (labels.astype(np.int64), far, labels.astype(np.int8)):
        result = sums(rung, wide, some, 30, device=device)
        if rung in INTEGERS:
            assert bits(result) == right
    out = np.zeros(30)
    assert sums(rung, values, labels, 30, device=device, out=out) is out and out.any()
    assert sums(rung, values[:0], labels[:0], 0, device=device).shape == (0,)


VALUES, LABELS = np.ones(4, np.float32), np.array([0, 1, 1, 0], np.int32)


@pytest.mark.parametrize(
    "error, message, arguments, options",
    [
        (TypeError, "a: g2 takes float32, not float64", (VALUES.astype(float), LABELS), {}),
        (ValueError, "a: g2 takes one dimension, not 2; 'auto'", (VALUES.reshape(4, 1), LABELS), {}),
        (TypeError, "labels: expected integers, got float32", (VALUES, VALUES), {}),
        (ValueError, "labels: expected 4, one for each row, got 3", (VALUES, LABELS[:3]), {}),
        (ValueError, "labels: expected up to 0, got 1", (VALUES, LABELS, "sum", 1), {}),
        (ValueError, "num_groups: expected 0 or more, got -1", (VALUES, LABELS, "sum", -1), {}),
        (ValueError, "num_groups: g2 takes up to 2147483647, not", (VALUES, LABELS, "sum", 2**31), {}),
        (ValueError, "op: g2 takes sum, not max; 'auto' takes others", (VALUES, LABELS, "max"), {}),
        (TypeError, "ddof: only for var and std, not for sum", (VALUES, LABELS), {"ddof": 1}),
        (ValueError, "axis", (VALUES, LABELS), {"axis": 1}),
        (ValueError, "variant: unknown variant 'g9'; expected one", (VALUES, LABELS), {"variant": "g9"}),
        (ValueError, "variant: v7 belongs to the ladder 'reduction'", (VALUES, LABELS), {"variant": "v7"}),
        (TypeError, "variant: expected str, got int", (VALUES, LABELS), {"variant": 2}),
    ],
)  # fmt: skip
def test_errors_name_the_argument(error, message, arguments, options, device):
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        gpureduce.group_reduce(*arguments, **{"variant": "g2", "device": device, **options})


def test_device_arrays_that_a_rung_does_not_take(device):
    values = gpureduce.to_device(np.ones(8, np.float32), device)
    labels = gpureduce.to_device(np.zeros(8, np.int64), device)
    with pytest.raises(TypeError, match=r"^labels: g1 takes int32, not int64"):
        gpureduce.group_reduce(values, labels, num_groups=1, variant="g1")
    labels = gpureduce.to_device(np.zeros(4, np.int32), device)
    with pytest.raises(ValueError, match=r"^a: g1 takes contiguous device arrays; 'auto' takes any strides"):
        gpureduce.group_reduce(values[::2], labels, num_groups=1, variant="g1")


def test_the_default_variant_is_auto(device):
    values, labels = drawn(1000, 9)
    right = bits(rounded(values, labels, 9))
    assert bits(gpureduce.group_reduce(values, labels, num_groups=9, device=device)) == right
    assert bits(gpureduce.group_reduce(values, labels, num_groups=9, variant="auto", device=device)) == right


@pytest.mark.parametrize("rung", RUNGS)
def test_profiles(rung):
    values, labels = drawn(3000, 20)
    found = gpureduce.profile((values, labels), rung)
    assert found.races == () and found.result.shape == (20,)
    assert found.result.tobytes() == sums(rung, values, labels, 20, device="sim").tobytes()
    assert f"{rung}_sum_f32" in [kernel.name for kernel in found.kernels]
    assert "sums of 7 groups of 500 float32" in gpureduce.profile((500, 7), rung).title
    assert "sums of 100 groups of 500 float32" in gpureduce.profile(500, rung).title


@pytest.mark.parametrize(
    "error, message, asked",
    [
        (TypeError, "a: a group sum takes two arrays", (1, 2, 3)),
        (ValueError, "a: expected at least one group, got 0", (10, 0)),
        (ValueError, "a: expected one integer label for each element", (VALUES, LABELS[:3])),
        (ValueError, "a: expected one integer label for each element", (VALUES, VALUES)),
        (TypeError, "a: g3 takes float32, not float64", (VALUES.astype(float), LABELS)),
    ],
)
def test_errors_of_profiles(error, message, asked):
    with pytest.raises(error, match=f"^{message}"):
        gpureduce.profile(asked, "g3")


def test_the_core_checks_its_arguments():
    """What Python checks before is an error there, too, and no access out of bounds."""
    place = (None, _core.SIM, 0, 0)
    for labels, groups, message in ((LABELS[:3], 2, "labels: expected one"), (LABELS, -1, "num_groups: exp")):
        with pytest.raises(ValueError, match=message):
            _core.group_rung(VALUES, labels, groups, "g0", place)
    with pytest.raises(ValueError, match="unknown variant 'v7' of group sums"):
        _core.group_rung(VALUES, LABELS, 2, "v7", place)
