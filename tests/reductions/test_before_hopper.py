"""The kernels for devices before compute capability 9.0, which the simulator takes where it is told to."""

import os
import subprocess
import sys

import pytest

from tests.support.children import package_without

PROGRAM = """
import math

import numpy as np
import gpureduce
from gpureduce import multi

rng = np.random.default_rng(5)
for dtype in ("int8", "uint16", "int32", "int64", "float16", "float32", "float64", "complex64"):
    for n in (1, 31, 1000, 70001):
        a = rng.integers(1, 100, n).astype(dtype)
        for name in ("sum", "min", "max", "any", "all", "count_nonzero", "argmin", "argmax"):
            if dtype == "complex64" and name in ("min", "max", "argmin", "argmax"):
                continue
            if dtype == "float16" and name == "sum":  # rounded on the way
                continue
            got, want = getattr(gpureduce, name)(a, device="sim"), getattr(np, name)(a)
            assert got == want, (name, dtype, n, got, want)
    a = rng.integers(1, 100, 70001).astype(dtype)
    if dtype in ("int32", "float64"):
        assert gpureduce.dot(a, a[::-1], device="sim") == np.dot(a, a[::-1]), dtype
    a = np.tile(a[:999], 3)
    if a.dtype.kind == "f" and a.itemsize > 2:
        assert abs(gpureduce.mean(a, device="sim") - a.astype(float).mean()) < 1e-4, dtype
b = rng.integers(0, 1000, (37, 1003)).astype(np.float32)
for axis in (0, 1):
    assert (gpureduce.sum(b, axis=axis, device="sim") == b.sum(axis=axis)).all()
for n in (1, 1000, 70001):
    c = rng.integers(1, 100, n).astype(np.float64)
    assert gpureduce.norm(c, 1, device="sim") == c.sum()
    assert abs(gpureduce.logsumexp(c, device="sim") - np.log(np.exp(c).sum())) < 1e-12
    c[: n // 2] = np.nan
    for name in ("nansum", "nanmin", "nanmax", "nanargmin", "nanargmax"):
        assert getattr(gpureduce, name)(c, device="sim") == getattr(np, name)(c), (name, n)
for n in (3, 1000, 70001):
    d = rng.standard_normal(n) * np.exp2(rng.integers(-60, 60, n))
    for dtype in ("float16", "float32", "float64"):
        e = np.clip(d, -50, 50).astype(dtype)
        want = np.dtype(dtype).type(math.fsum(e.tolist()))
        assert gpureduce.fsum(e, device="sim") == want, (dtype, n)
        assert gpureduce.sum(np.tile(e, (2, 1)), axis=1, exact=True, device="sim").tolist() == [want] * 2
        assert gpureduce.partial(e, "sum", device="sim").result() == want
    whole = rng.integers(-(2**20), 2**20, (2, n)).astype(np.float32)
    want = np.dot(*whole.astype(np.int64))
    for dtype in ("float32", "float64"):
        assert gpureduce.dot(*whole.astype(dtype), exact=True, device="sim") == np.dtype(dtype).type(want)
rows = rng.standard_normal((3000, 40))
assert gpureduce.sum(rows, axis=1, exact=True, device="sim").tolist() == [math.fsum(r) for r in rows.tolist()]
for dtype in ("float16", "float32", "float64"):
    parts = [np.clip(rng.standard_normal(n), -4, 4).astype(dtype) for n in (1, 70, 30_000)]
    assert multi.sums(parts, dtype="float64", device="sim").tolist() == [math.fsum(p.tolist()) for p in parts]
    square = math.fsum(x * x for p in parts for x in p.astype(float).tolist())
    assert abs(multi.total_norm(parts, dtype="float64", device="sim") - math.sqrt(square)) < 1e-12 * square
print("done")
"""


@pytest.mark.core
@pytest.mark.parametrize("capability", ["7.5", "9.0"])
def test_core_reductions(capability, tmp_path):
    def of_the_other_kind(name):
        if name.startswith(("exact_", "multi_")):
            return name.endswith("_75.ptx.xz") == (capability == "9.0")
        return name.startswith("flat_") and name.endswith("_90.ptx.xz") and capability == "7.5"

    package_without(tmp_path, of_the_other_kind)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "GPUREDUCE_SIM_CAPABILITY": capability, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.stdout == "done\n", done.stderr
