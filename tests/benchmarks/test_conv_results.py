"""The committed times of convolutions on an H200."""

import json

import pytest

from benchmarks.harness.results import RESULTS
from benchmarks.suite import conv


def rows(name):
    return json.loads((RESULTS / f"{name}_h200.json").read_text())["rows"]


def published(variant, dtype, precision, layout):
    (found,) = (
        row
        for row in rows("conv_published")
        if (row["variant"], row["dtype"], row["precision"], row["layout"])
        == (variant, dtype, precision, layout)
    )
    return found


@pytest.mark.parametrize("name", ["conv", "conv_tf32", "conv_halves", "conv_published"])
def test_errors(name):
    for row in rows(name):
        if row["variant"] != "cudnn":
            limit = 4e-4 if row["dtype"] == "float16" or row["precision"] == "tf32" else 2e-6
            assert 0 <= row["error"] < limit, row


@pytest.mark.parametrize(
    "dtype, precision, layout, bound",
    [
        ("float32", "ieee", "NHWC", 0.32),
        ("float32", "ieee", "NCHW", 0.46),
        ("float32", "tf32x3", "NHWC", 0.24),
        ("float32", "tf32x3", "NCHW", 0.38),
        ("float32", "tf32", "NHWC", 0.35),
        ("float32", "tf32", "NCHW", 0.32),
        ("float16", "ieee", "NHWC", 0.79),
        ("float16", "ieee", "NCHW", 0.38),
    ],
)
def test_beside_cudnn(dtype, precision, layout, bound):
    assert published("auto", dtype, precision, layout)["of_cudnn"] <= bound


@pytest.mark.parametrize(
    "name, layout, bound, most",
    [
        ("conv", "NHWC", 0.68, 1.5),
        ("conv", "NCHW", 0.80, 1.8),
        ("conv_tf32", "NHWC", 0.89, 1.25),
        ("conv_tf32", "NCHW", 0.78, 1.35),
        ("conv_halves", "NHWC", 1.03, 1.45),
        ("conv_halves", "NCHW", 0.93, 1.4),
    ],
)
def test_all_layers_beside_cudnn(name, layout, bound, most):
    mine = [row for row in rows(name) if (row["variant"], row["layout"]) == ("auto", layout)]
    assert conv.geometric_mean(mine) <= bound
    assert max(row["of_cudnn"] for row in mine) <= most
