"""Results have, on every device, the bits of the GPU that tests/data/gpu_bits.json was measured on."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support import bit_patterns
from tests.support.selection import usual_block_sizes

FILE = Path(__file__).parents[1] / "data" / "gpu_bits.json"
LAUNCHES = {}  # block and grid sizes by variant and dtype
for variant, dtype, *launch in bit_patterns.combinations():
    LAUNCHES.setdefault((variant, dtype), []).append(launch)
OPERATORS = {}  # operators by variant and dtype
for variant, op, dtype in bit_patterns.operator_combinations():
    OPERATORS.setdefault((variant, dtype), []).append(op)


def named(pairs):
    return [pytest.param(*pair, id=f"{pair[0].name}-{pair[1]}") for pair in pairs]


@pytest.fixture(scope="module")
def measured():
    if not FILE.exists():
        pytest.skip("tests/data/gpu_bits.json was not measured yet: run tests/tools/make_bits.py on a GPU")
    return json.loads(FILE.read_text())


def test_the_file_holds_the_bits_of_a_gpu(measured):
    header = measured["header"]
    assert header["device_kind"] == "cuda"
    assert header["sizes"] == list(bit_patterns.SIZES)
    for key in ("device", "driver", "toolkit", "date", "package"):
        assert header[key]


def test_the_file_has_no_entries_of_variants_that_are_gone(measured):
    current = {
        (variant.name, dtype, bit_patterns.launch_name(block, grid))
        for variant, dtype, block, grid in bit_patterns.combinations()
    }
    stored = {
        (variant, dtype, launch)
        for variant, dtypes in measured["bits"].items()
        for dtype, launches in dtypes.items()
        for launch in launches
    }
    assert stored <= current


def test_the_file_has_no_operators_that_are_gone(measured):
    current = {(variant.name, op, dtype) for variant, op, dtype in bit_patterns.operator_combinations()}
    stored = {
        (variant, op, dtype)
        for variant, ops in measured["operators"].items()
        for op, dtypes in ops.items()
        for dtype in dtypes
    }
    assert stored <= current


@pytest.fixture
def sizes(thin):
    return (1, 257, 4097) if thin else bit_patterns.SIZES


@pytest.mark.parametrize("variant, dtype", named(LAUNCHES))
def test_bits_of_sums(variant, dtype, device, measured, sizes, exhaustive, thin, some):
    """With every launch; without --exhaustive a launch other than the default sums a third of the sizes.

    Of a variant of many launches, as with clusters or with grids, it sums a sixth.
    """
    stored = measured["bits"].get(variant.name, {}).get(dtype, {})
    usual = [launch for launch in LAUNCHES[variant, dtype] if launch[0] in usual_block_sizes(variant)]
    launches = LAUNCHES[variant, dtype] if exhaustive else some(usual, 6) if thin else usual
    step = 3 if len(launches) < 9 else 6
    for i, (block, grid) in enumerate(launches):
        chosen = sizes
        if not exhaustive:  # of the largest, which takes most of the time, the default launch is enough
            is_default = (block, grid) == (variant.default_block_size, None)
            chosen = some(sizes, 2) if is_default else sizes[:-1][i % step :: step]
        name = bit_patterns.launch_name(block, grid)
        here = bit_patterns.bits(variant, dtype, block, grid, device, sizes=chosen)
        compare(stored.get(name), here, chosen, name)


@pytest.mark.parametrize("variant, dtype", named(OPERATORS))
def test_bits_of_operators(variant, dtype, device, measured, sizes, exhaustive, thin, some):
    stored = measured["operators"].get(variant.name, {})
    for i, op in enumerate(some(OPERATORS[variant, dtype], 6) if thin else OPERATORS[variant, dtype]):
        chosen = sizes if exhaustive else sizes[i % 2 :: 2]
        here = bit_patterns.bits(variant, dtype, None, None, device, op, chosen)
        compare(stored.get(op, {}).get(dtype), here, chosen, op)


def compare(stored, here, sizes, what):
    assert stored is not None, f"{what}: not in gpu_bits.json: run tests/tools/make_bits.py on a GPU"
    assert here.keys() == stored.keys(), "other data sets than measured: run make_bits.py on a GPU"
    wrong = []
    for dataset in here:
        wanted = dict(zip(bit_patterns.SIZES, stored[dataset].split(), strict=True))
        for n, got in zip(sizes, here[dataset].split(), strict=True):
            if got != wanted[n]:
                wrong.append(f"{dataset}, n = {n}: {got}, on the GPU {wanted[n]}")
    assert not wrong, f"{what}: {len(wrong)} results differ:\n" + "\n".join(wrong)


def categories(values):
    tiny = np.finfo(values.dtype).tiny
    return {
        "nan": np.isnan(values),
        "infinite": np.isinf(values),
        "subnormal": (values != 0) & (np.abs(values) < tiny),
        "zero": values == 0,
        "normal": np.isfinite(values) & (np.abs(values) >= tiny),
    }


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_data_sets_hold_what_their_names_say(dtype):
    n = 4097
    got = {name: bit_patterns.array(name, dtype, n) for name in bit_patterns.datasets(dtype)}
    count = {name: {k: int(v.sum()) for k, v in categories(values).items()} for name, values in got.items()}
    assert count["narrow"]["normal"] == count["quiet_nan"]["normal"] + 1 == n
    assert count["subnormal"]["subnormal"] > n - 5
    assert count["around_subnormal"]["subnormal"] > n / 5 < count["around_subnormal"]["normal"]
    assert count["negative_zeros"]["zero"] == n and np.signbit(got["negative_zeros"]).all()
    assert 0.4 * n < np.signbit(got["zeros_of_both_signs"]).sum() < 0.6 * n
    assert count["wide"]["subnormal"] + count["wide"]["normal"] == n
    with np.errstate(over="ignore", invalid="ignore"):
        assert np.isfinite(np.sum(got["wide"])) and not np.isfinite(np.sum(got["overflowing"]))
    assert count["infinities_of_both_signs"]["infinite"] == 2
    assert count["two_nans"]["nan"] == 2 and count["signalling_nan"]["nan"] == 1
    layout = bit_patterns.Layout(dtype)
    quiet = {name: values.view(layout.uint)[np.isnan(values)] & layout.quiet for name, values in got.items()}
    assert not quiet["signalling_nan"].any() and quiet["quiet_nan"].all()
    assert np.isnan(bit_patterns.array("any_pattern", dtype, 65537)).any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_order_shows_in_the_bits(dtype):
    """The narrow data rounds differently in another order, or these tests would compare very little."""
    values = bit_patterns.array("narrow", dtype, 4097)
    sums = {np.cumsum(values)[-1], np.cumsum(values[::-1])[-1], np.sum(values), np.sum(np.sort(values))}
    assert len(sums) > 2


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_order_shows_in_the_bits_of_products(dtype):
    values = bit_patterns.array("near_one", dtype, 4097)
    assert np.isfinite(np.prod(bit_patterns.array("near_one", dtype, 65537)))
    assert np.abs(np.abs(values) - 1).max() < 2.0**-10 and len(np.unique(values)) > 3000
    assert len({np.prod(order) for order in (values, values[::-1], np.sort(values))}) > 1
