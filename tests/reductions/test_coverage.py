"""The table docs/reference/coverage.md is current and true: every cell runs, and every blank is refused."""

from pathlib import Path

import numpy as np
import pytest

import gpureduce
from benchmarks.report import coverage
from tests.support import numpy_oracle as oracle

PAGE = Path(__file__).resolve().parents[2] / "docs/reference/coverage.md"
TABLE = coverage.cells()
VARIANTS = ("auto", *(variant.name for variant in gpureduce.variants("reduction")))
INSTALLED = {variant.name: variant.installed for variant in gpureduce.variants("reduction")}
N = 64


def arrays(op, dtype):
    """Small integers, on which no operator rounds in any dtype: with zeros, without, and nothing but."""
    rng = np.random.default_rng(7)
    values = rng.integers(1, 2, N, endpoint=True) * rng.choice([-1, 1], N)
    some = np.where(rng.random(N) < 0.8, values, 0)
    if np.dtype(oracle.dtype_of(dtype)).kind == "u":
        values, some = abs(values), abs(some)
    if op == "prod":
        values = np.sign(values)
    return [array.astype(oracle.dtype_of(dtype)) for array in (values, some, np.zeros(N))]


def call(op, array, variant, device):
    if op == "dot":
        return gpureduce.dot(array, array[::-1], variant=variant, device=device)
    result = getattr(gpureduce, op)(array, variant=variant, device=device)
    return result.var if op == "moments" else result


@pytest.mark.parametrize("op, dtype", [pytest.param(*pair, id="-".join(pair)) for pair in TABLE])
def test_cells(op, dtype, device, device_record):
    """Each variant that the table has for the operator and dtype, where it is installed."""
    if oracle.dtype_of(dtype) is None:
        pytest.skip("ml_dtypes is not installed")
    mismatch = oracle.mismatch_of_near if op in oracle.MORE else oracle.mismatch_of_equal
    for array in arrays(op, dtype):
        operands = (array, array[::-1]) if op == "dot" else (array,)
        wanted = oracle.call_numpy("var" if op == "moments" else op, *operands)
        for variant, backends in TABLE[op, dtype].items():
            if device_record.kind in backends and INSTALLED.get(variant, True):
                got = call(op, array, variant, device)
                wrong = oracle.mismatch_of_form(op, got, wanted) or mismatch(got, wanted)
                assert wrong is None, variant


@pytest.mark.parametrize("variant", VARIANTS)
def test_blanks_are_refused(variant, device):
    ops = dict.fromkeys(op for op, _ in TABLE)
    dtypes = dict.fromkeys(dtype for _, dtype in TABLE)
    for op in ops:
        for dtype in dtypes:
            if oracle.dtype_of(dtype) is not None and variant not in TABLE.get((op, dtype), {}):
                with pytest.raises((TypeError, ValueError)):
                    call(op, arrays(op, dtype)[0], variant, device)


def test_every_operator_and_dtype_is_in_the_table():
    assert {op for op, _ in TABLE} == {*oracle.OPS, *oracle.MORE, "dot"}
    assert {dtype for _, dtype in TABLE} == set(oracle.DTYPES) | {"bfloat16"}


def test_the_page_is_current():
    if not PAGE.exists():
        pytest.skip("no docs next to the tests")
    assert PAGE.read_text(encoding="utf-8") == coverage.page()
