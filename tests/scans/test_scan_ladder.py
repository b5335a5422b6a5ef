"""The ladder of scans: right for hostile lengths and data, and what each rung promises of its bits."""

import re

import numpy as np
import pytest

import gpureduce

VARIANTS = gpureduce.variants("scan")
RUNGS = [variant.name for variant in VARIANTS]
TIMED = [variant.name for variant in VARIANTS if variant.float_atomics]
# Around a warp, the tiles of the rungs, and the tiles of the sums of tiles of s1 and s2.
LENGTHS = (0, 1, 2, 31, 33, 1023, 1025, 2048, 2049, 4095, 4097, 8193, 70001)


def drawn(n, spread=6):
    """Elements that cancel, within exponents of 2 * spread."""
    rng = np.random.default_rng([20261129, n])
    return (rng.standard_normal(n) * 2.0 ** rng.integers(-spread, spread + 1, n)).astype(np.float32)


def assert_sums(result, a):
    """Compare with sums of float64, whose roundings do not count beside those of float32."""
    exact = np.cumsum(a, dtype=np.float64)
    # An element is part of at most 64 additions in a row: 16 in a thread, tree by tree, and sums of blocks.
    bound = np.cumsum(np.abs(a), dtype=np.float64) * 64 * 2.0**-24
    assert result.dtype == np.float32 and result.shape == a.shape
    assert (np.abs(result - exact) <= bound).all()


def scan(rung, a, **options):
    return gpureduce.cumulative_sum(a, variant=rung, **options)


def test_the_table_of_rungs():
    assert RUNGS == ["s0", "s1", "s2", "s3", "s4"] and TIMED == ["s4"]
    for variant in VARIANTS:
        assert variant.coverage == (("sum", "float32"),)
        assert gpureduce.source(variant.name).startswith(f"// {variant.name}: ")
        assert f"{variant.name}_" in gpureduce.kernels.ptx(variant.name, dtype="float32")


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("n", LENGTHS)
def test_lengths(rung, n, device):
    a = drawn(n)
    assert_sums(scan(rung, a, device=device), a)


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("n", [5000, 2**21 + 77])
def test_whole_numbers_are_exact(rung, n, device):
    """Sums of whole numbers below 2^24 do not round. 2^21 elements are three levels of tiles in s1."""
    a = np.random.default_rng(n).integers(-3, 4, n).astype(np.float32)
    assert np.array_equal(scan(rung, a, device=device), np.cumsum(a, dtype=np.float64))


@pytest.mark.parametrize("rung", RUNGS)
def test_one_element_counts_from_its_place_on(rung, device):
    """Each place of three tiles, one at a time, among elements that are zero."""
    n = 8200
    for place in (0, 1, 31, 32, 255, 1023, 1024, 2047, 2048, 4095, 4096, 8191, 8192, n - 1):
        a = np.zeros(n, np.float32)
        a[place] = 1
        assert np.array_equal(scan(rung, a, device=device), np.arange(n) >= place)


@pytest.mark.parametrize("rung", RUNGS)
def test_infinities_and_nans(rung, device):
    a = drawn(5000)
    a[1000], a[3000] = np.inf, -np.inf
    result = scan(rung, a, device=device)
    assert np.isfinite(result[:1000]).all() and np.isnan(result[3000:]).all()
    assert (result[1000:3000] == np.inf).all()


@pytest.mark.parametrize("rung", RUNGS)
def test_which_rungs_depend_on_the_order_of_blocks(rung, device, monkeypatch):
    """On the simulator a tile of s4 finds all tiles before it complete; on a GPU its bits may differ."""
    if device != "sim" and rung in TIMED:
        pytest.skip("bits depend on when blocks finish")
    a = drawn(70001, spread=20)
    found = {scan(rung, a, device=device).tobytes()}
    for seed in ("3", "11"):
        monkeypatch.setenv("GPUREDUCE_SIM_BLOCK_ORDER", seed)
        found.add(scan(rung, a, device=device).tobytes())
    assert len(found) == 1


@pytest.mark.parametrize("rung", RUNGS)
def test_device_arrays(rung, device):
    """At any address; into `out`; without a change of the elements."""
    a = drawn(10001)
    for start in (0, 1, 3):
        on_device = gpureduce.to_device(a, device)[start:]
        out = gpureduce.to_device(np.full(len(a) - start, 9, np.float32), device)
        assert scan(rung, on_device, out=out) is out
        assert_sums(out.numpy(), a[start:])
        assert np.array_equal(on_device.numpy(), a[start:])
    assert isinstance(scan(rung, on_device), gpureduce.DeviceArray)


@pytest.mark.parametrize("rung", RUNGS)
def test_arrays_of_the_host(rung, device):
    """Of any strides, and into `out` of another dtype."""
    a = drawn(6000)
    assert_sums(scan(rung, a[::-2], device=device), np.ascontiguousarray(a[::-2]))
    out = np.zeros(6000)
    assert scan(rung, a, axis=0, dtype=np.float32, out=out, device=device) is out
    assert_sums(out.astype(np.float32), a)


FLOATS = np.ones(4, np.float32)


@pytest.mark.parametrize(
    "error, message, a, options",
    [
        (TypeError, "a: s3 takes float32, not float64", FLOATS.astype(float), {}),
        (ValueError, "a: s3 takes one dimension, not 2; 'auto'", FLOATS.reshape(2, 2), {"axis": 0}),
        (ValueError, "axis", FLOATS, {"axis": 1}),
        (TypeError, "dtype: s3 returns float32, not float64; 'auto'", FLOATS, {"dtype": float}),
        (ValueError, "exact: only with variant='auto'", FLOATS, {"exact": True}),
        (ValueError, "include_initial: only with variant='auto'", FLOATS, {"include_initial": True}),
        (ValueError, "variant: unknown variant 's9'; expected one", FLOATS, {"variant": "s9"}),
        (ValueError, "variant: v7 belongs to the ladder 'reduction'", FLOATS, {"variant": "v7"}),
        (TypeError, "variant: expected str, got int", FLOATS, {"variant": 2}),
    ],
)  # fmt: skip
def test_errors_name_the_argument(error, message, a, options, device):
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        gpureduce.cumulative_sum(a, **{"variant": "s3", "device": device, **options})


def test_device_arrays_that_a_rung_does_not_take(device):
    a = gpureduce.to_device(np.ones(8, np.float32), device)
    with pytest.raises(ValueError, match=r"^a: s1 takes contiguous device arrays; 'auto' takes any strides"):
        scan("s1", a[::2])
    with pytest.raises(ValueError, match=r"^out: "):
        scan("s1", a, out=a)


def test_the_default_variant_is_auto(device):
    a = drawn(3000)
    default = gpureduce.cumulative_sum(a, device=device)
    assert gpureduce.cumulative_sum(a, variant="auto", device=device).tobytes() == default.tobytes()


@pytest.mark.parametrize("rung", RUNGS)
def test_profiles(rung):
    a = drawn(9000)
    found = gpureduce.profile(a, rung, races="global")
    assert found.races == () and found.result.tobytes() == scan(rung, a, device="sim").tobytes()
    assert found.title.startswith(f"{rung}: cumulative sum of 9,000 float32, ")
    with pytest.raises(ValueError, match=r"^block_size: s"):
        gpureduce.profile(a, rung, block_size=64)
