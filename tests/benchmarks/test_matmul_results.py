"""The committed times of products on an H200 hold what the documents say of them."""

import json

import pytest

import gpureduce
from benchmarks.harness.results import RESULTS

PUBLISHED = (2048, 2048, 1024)
# Microseconds of the best known form of each rung at the published size, by measurements of our own.
KNOWN = {
    "m0": 17690, "m1": 1318, "m2": 947, "m3": 498, "m4": 305, "m5": 245, "m6": 220, "m7": 192, "m8": 209,
    "m9": 173,
}  # fmt: skip
# Where the default is to take at most cuBLAS's time, and where it takes a little more.
SIZES = (
    PUBLISHED, (512,) * 3, (2048,) * 3, (4096,) * 3, (8192,) * 3, (8192, 128, 1024), (128, 8192, 1024),
    (4096, 4096, 64), (65536, 64, 64), (64, 64, 65536), (8192, 1, 8192), (1000, 1001, 1002), (4095,) * 3,
)  # fmt: skip
MISSED = {(1, 8192, 8192): 1.03, (2047, 2049, 1023): 1.08}


def rows(name):
    return json.loads((RESULTS / f"{name}.json").read_text())["rows"]


def row(name, variant, shape, dtype="float32"):
    found = [
        each
        for each in rows(name)
        if (each["variant"], each["dtype"]) == (variant, dtype) and (each["m"], each["n"], each["k"]) == shape
    ]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("name", KNOWN)
def test_every_published_rung(name):
    assert row("matmul_h200", name, PUBLISHED)["us"]["median"] <= 1.05 * KNOWN[name]


def test_every_rung_was_measured():
    floats = {each["variant"] for each in rows("matmul_h200")}
    others = {
        each["variant"]
        for kind in ("tf32", "tf32x3", "f16x3", "halves", "others")
        for each in rows(f"matmul_{kind}_h200")
    }
    names = {variant.name for variant in gpureduce.variants("matmul") if variant.role == "rung"}
    assert names | {"auto", "cublas"} == floats | others


def test_errors():
    """No product is wrong, and the opt-in precisions are at least as exact as cuBLAS's."""
    for path in RESULTS.glob("matmul_*h200.json"):
        for each in rows(path.stem):
            limit = {"float16": 4e-4, "bfloat16": 3e-3}.get(each["dtype"], 2e-6)
            limit = 4e-4 if each["precision"] == "tf32" else limit
            assert 0 <= each["error"] < limit, each
    for kind, name in (("tf32x3", "t2"), ("f16x3", "t4")):
        own, theirs = (row(f"matmul_{kind}_h200", each, PUBLISHED) for each in (name, "cublas"))
        assert own["error"] < theirs["error"]


@pytest.mark.parametrize(
    "name, variant, shape, dtype, bound",
    [
        ("matmul_tf32_h200", "t1", PUBLISHED, "float32", 1.0),
        ("matmul_tf32_h200", "auto", (4096,) * 3, "float32", 1.0),
        ("matmul_tf32x3_h200", "t2", PUBLISHED, "float32", 0.47),
        ("matmul_tf32x3_h200", "auto", (4096,) * 3, "float32", 0.5),
        ("matmul_tf32x3_h200", "auto", (8192,) * 3, "float32", 0.5),
        ("matmul_f16x3_h200", "t4", PUBLISHED, "float32", 0.39),
        ("matmul_f16x3_h200", "auto", (4096,) * 3, "float32", 0.27),
        ("matmul_halves_h200", "t3", PUBLISHED, "bfloat16", 1.10),
        ("matmul_halves_h200", "t3", PUBLISHED, "float16", 1.10),
        ("matmul_halves_h200", "auto", (4096,) * 3, "bfloat16", 1.08),
        ("matmul_halves_h200", "auto", (4095,) * 3, "bfloat16", 1 / 3),
        ("matmul_h200", "auto", (256,) * 3, "float32", 0.90),
        ("matmul_h200", "auto", (1024,) * 3, "float32", 0.90),
        *(("matmul_h200", "auto", shape, "float32", 1.0) for shape in SIZES),
        *(("matmul_h200", "auto", shape, "float32", bound) for shape, bound in MISSED.items()),
        *(
            ("matmul_others_h200", "auto", shape, dtype, bound)
            for shape in (
                PUBLISHED,
                *((n,) * 3 for n in (256, 512, 1024, 4096)),
                (2047, 2049, 1023),
                (64, 64, 65536),
            )
            for dtype, bound in (("float64", 1.10), ("complex128", 1.10), ("complex64", 1 / 0.7))
        ),
    ],
)
def test_beside_cublas(name, variant, shape, dtype, bound):
    assert row(name, variant, shape, dtype)["of_cublas"] <= bound


def test_small_calls():
    us = json.loads((RESULTS / "matmul_h200.json").read_text())["call_us"]
    assert us["gpureduce"] <= us["torch"] and us["gpureduce_out"] <= us["torch_out"]
