"""The committed times of convolutions on an H200."""

import json
from pathlib import Path

import pytest

import gpureduce

RESULTS = Path(gpureduce.__file__).parent / "bench" / "results"


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
        ("float32", "ieee", "NHWC", 0.45),
        ("float32", "ieee", "NCHW", 0.52),
        ("float32", "tf32x3", "NHWC", 0.36),
        ("float32", "tf32x3", "NCHW", 0.52),
        ("float32", "tf32", "NHWC", 0.5),
        ("float32", "tf32", "NCHW", 0.4),
        ("float16", "ieee", "NHWC", 0.9),
        ("float16", "ieee", "NCHW", 0.36),
    ],
)
def test_beside_cudnn(dtype, precision, layout, bound):
    assert published("auto", dtype, precision, layout)["of_cudnn"] <= bound
