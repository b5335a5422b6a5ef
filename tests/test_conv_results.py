"""The committed times of convolutions on an H200 hold what docs/conv.md says of them."""

import json
import math
import re
from pathlib import Path

import pytest

import gpureduce
from gpureduce.bench import conv

ROOT = Path(__file__).resolve().parent.parent
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


def test_the_table_in_the_documents():
    text = (ROOT / "docs" / "conv.md").read_text("utf-8")
    lines = re.findall(r"^\| (\w+) \| `?(\w+)[^|]*\| ([\d.]+) \| ([\d.]+) \|$", text, re.MULTILINE)
    assert len(lines) == 12
    for kind, name, *figures in lines:
        dtype, precision = (kind, "ieee") if kind.startswith("float") else ("float32", kind)
        for layout, figure in zip(("NHWC", "NCHW"), figures, strict=True):
            assert f"{published(name.lower(), dtype, precision, layout)['us']['median']:.1f}" == figure


def test_means_in_the_documents():
    text = " ".join((ROOT / "docs" / "conv.md").read_text("utf-8").split())
    said = re.search(
        r"geometric mean, ([\d.]+) of cuDNN's time in float32 and NHWC, ([\d.]+) in NCHW; "
        r"in TF32 ([\d.]+) and ([\d.]+), in float16 ([\d.]+) and ([\d.]+):",
        text,
    )
    found = []
    for name in ("conv", "conv_tf32", "conv_halves"):
        for layout in ("NHWC", "NCHW"):
            shares = [
                row["of_cudnn"] for row in rows(name) if (row["variant"], row["layout"]) == ("auto", layout)
            ]
            assert len(shares) == len(conv.LAYERS)
            found.append(f"{math.exp(sum(map(math.log, shares)) / len(shares)):.2f}")
    assert list(said.groups()) == found


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
