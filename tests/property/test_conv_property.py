"""Random convolutions of all arguments against the reference, and against PyTorch where it is installed."""

import numpy as np
import pytest

import gpureduce
from tests.support import conv_cases as cases
from tests.support.selection import runs_on

LIES = ("plain", "plain", "moved", "turned", "backwards", "apart", "cropped")


def draw(rng):
    """A case that has results, or none because there are no pictures or filters."""
    groups = int(rng.choice([1, 1, 1, 2, 3, 5]))
    kernel, dilation = rng.integers(1, 6, 2), rng.integers(1, 4, 2)
    padding, stride = rng.integers(0, 5, 2), rng.integers(1, 5, 2)
    reach = dilation * (kernel - 1) + 1
    size = np.maximum(reach - 2 * padding, rng.integers(0, 3, 2)) + rng.integers(0, 9, 2)
    n, channels, filters = (
        int(rng.choice(values)) for values in ([0, 1, 1, 2, 3], [1, 2, 3, 8], [0, 1, 2, 3, 8, 17])
    )
    options = [tuple(map(int, pair)) for pair in (stride, padding, dilation)]
    if rng.random() < 0.2:
        options[0], options[1] = 1, str(rng.choice(["same", "same", "valid"]))
        size += reach
    return cases.Case(
        n, *map(int, size), groups * channels, groups * filters, *map(int, kernel), *options, groups
    )


@pytest.mark.core
def test_random_convolutions(device, thin):
    rng = np.random.default_rng(20261123)
    own = [each for each in gpureduce.variants("conv") if each.block_sizes]  # not a library's
    records = {each.name: each for each in own if runs_on(each, device)}
    for _ in range(30 if thin else 400):
        case, layout = draw(rng), str(rng.choice(cases.LAYOUTS))
        variant = str(rng.choice(["auto", *records]))
        dtype = str(rng.choice(records[variant].dtypes if variant != "auto" else ["float32", "float64"]))
        if dtype == "bfloat16":
            pytest.importorskip("ml_dtypes")
        x, w = cases.arrays(dtype, case, layout, "exact")
        options = {**case.options, "layout": layout}
        lie = [cases.strided(each, str(rng.choice(LIES))) for each in (x, w)]
        what = (case, layout, dtype, variant, [each.strides for each in lie])
        got = gpureduce.conv2d(*lie, **options, variant=variant, device=device)
        precision = "ieee" if variant == "auto" else records[variant].precision or "ieee"
        assert cases.mismatch(x, w, got, "exact", precision, **options) is None, what
        if rng.random() < 0.3:
            there = [gpureduce.to_device(each, device) for each in (x, w)]
            found = gpureduce.conv2d(*there, **options, variant=variant)
            np.testing.assert_array_equal(found.numpy(), got, err_msg=str(what))


def test_random_convolutions_against_pytorch(device):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(7)
    for _ in range(100):
        case = draw(rng)
        if case.n * case.f == 0:
            continue
        x, w = cases.arrays("float64", case, "NCHW", "exact")
        wanted = torch.nn.functional.conv2d(torch.from_numpy(x), torch.from_numpy(w), None, **case.options)
        got = gpureduce.conv2d(x, w, **case.options, layout="NCHW", device=device)
        np.testing.assert_array_equal(got, wanted.numpy(), err_msg=str(case))
