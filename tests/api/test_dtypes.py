"""The list of dtypes, which is the core's, compared with NumPy's own rules."""

import ml_dtypes
import numpy as np
import pytest

from gpureduce import _core
from gpureduce._rules import dtypes

DTYPE_TABLE = {row.numpy_name: row for row in dtypes.DTYPE_TABLE}
every_row = pytest.mark.parametrize("row", dtypes.DTYPE_TABLE, ids=lambda row: row.numpy_name)


def test_the_list_is_the_cores():
    assert sorted(_core.dtypes()) == sorted(dtypes.DTYPE_TABLE)
    assert len(DTYPE_TABLE) == len(dtypes.DTYPE_TABLE) == len({row.name for row in dtypes.DTYPE_TABLE}) == 15
    assert ", ".join(dtypes.SUPPORTED) == (
        "bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, "
        "float16, bfloat16, float32, float64, complex64, complex128"
    )


@every_row
def test_results_have_numpys_dtypes(row):
    dtype = dtypes.dtype_from_name(row.numpy_name)
    assert (dtype.itemsize, dtypes.dtype_name(dtype)) == (row.item_bytes, row.numpy_name)
    ones = np.ones(2, dtype)
    if row.numpy_name == "bfloat16":  # NumPy knows no rule for it
        assert row.sum == row.mean == "bfloat16"
    else:
        assert (np.sum(ones).dtype, np.mean(ones).dtype) == (row.sum, row.mean)
    assert (
        dtypes.core_dtype("sum", dtype) == dtypes.core_dtype("prod", dtype) == dtypes.dtype_from_name(row.sum)
    )
    assert dtypes.core_dtype("mean", dtype) == dtypes.dtype_from_name(row.mean)
    assert dtypes.core_dtype("max", dtype) == dtype
    assert dtypes.core_dtype("any", dtype) == np.bool_ and dtypes.core_dtype("argmin", dtype) == np.int64
    assert row.kind == ("bits" if dtype.kind in "biu" else "number")


@every_row
def test_dlpack_calls_them_alike(row):
    """NumPy's own capsules are told apart by code and bits."""
    assert row.bits == 8 * row.item_bytes
    if row.numpy_name == "bfloat16":
        assert row.code == 4
        return
    one = np.ones(1, row.numpy_name)
    assert _core.dlpack_import(one.__dlpack__())[3] == row.numpy_name
    capsule = _core.dlpack_export(one, one.ctypes.data, one.shape, row.numpy_name, 1, 0, False, False)

    class Producer:
        def __dlpack__(self, **_):
            return capsule

        def __dlpack_device__(self):
            return (1, 0)

    assert np.from_dlpack(Producer()).dtype == one.dtype


@pytest.mark.parametrize("dtype", [">f4", "longlong", "ulonglong", ml_dtypes.bfloat16, "?"])
def test_native(dtype):
    dtype = np.dtype(dtype)
    found = dtypes.native(dtype, "a")
    assert found.isnative and (found.name, found.kind) == (dtype.name, dtype.kind)
    assert found.num in (np.dtype(found.name).num, np.dtype(ml_dtypes.bfloat16).num)


@pytest.mark.parametrize("dtype", ["O", "U3", "M8[s]", "V4", "i4,i4", ml_dtypes.float8_e4m3fn, np.longdouble])
def test_unlisted_dtypes_are_refused(dtype):
    for refuse in (dtypes.native, dtypes.require_supported):
        with pytest.raises(TypeError, match=r"^a: dtype .* is not supported; supported are bool, int8"):
            refuse(np.dtype(dtype), "a")


def test_bfloat16_without_its_package(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)
    with pytest.raises(TypeError, match="bfloat16 arrays need the package ml_dtypes"):
        dtypes.dtype_from_name("bfloat16")
