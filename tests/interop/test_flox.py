"""flox's engine: what flox's own one gives, by group_reduce, and xarray's groupby by it."""

import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gpureduce

flox = pytest.importorskip("flox")

import gpureduce.flox as gf  # noqa: E402

GUIDE = Path(__file__).resolve().parents[2] / "docs/how-to/xarray.md"
OURS = (
    *("sum", "nansum", "prod", "nanprod", "mean", "nanmean", "min", "max", "nanmin", "nanmax", "count"),
    *("any", "all", "argmin", "argmax", "var", "nanvar", "std", "nanstd"),
)
THEIRS = ("median", "nanmedian", "first", "last", "nanfirst", "nanlast", "nanargmin", "nanargmax")
EXACT = ("min", "max", "nanmin", "nanmax", "count", "any", "all", "argmin", "argmax", *THEIRS)

pytestmark = [
    pytest.mark.filterwarnings("ignore::gpureduce.SimulatorWarning"),
    pytest.mark.filterwarnings("ignore:.*NaN slice:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning"),
]


def groups(dtype, nan=False, shape=(4, 300), count=7, seed=0):
    """Elements of both signs, and a label for each column; all NaN in group 3, group 5 empty."""
    rng = np.random.default_rng(seed)
    a = rng.integers(-9, 10, shape)
    a = (a * (1 + 1j) if dtype == "complex64" else a).astype(dtype)
    labels = rng.integers(0, count, shape[-1])
    labels[labels == 5] = 4
    if nan:
        a[rng.random(shape) < 0.3] = np.nan
        a[..., labels == 3] = np.nan
    return a, labels


def compare(got, want, func, dtype):
    assert got.dtype == want.dtype and got.shape == want.shape
    if func in EXACT:
        assert np.array_equal(got, want, equal_nan=want.dtype.kind in "fc")
    else:
        eps = np.finfo(want.dtype).eps if want.dtype.kind in "fc" else 0
        np.testing.assert_allclose(got, want, rtol=8 * eps, atol=0)


DTYPES = ("float32", "float64", "int16", "int64", "uint8", "bool", "complex64")
CASES = [
    (func, dtype, nan)
    for func in OURS + THEIRS
    for dtype in DTYPES
    for nan in (False, True)
    if not (nan and np.dtype(dtype).kind in "biu")
    and not (
        dtype == "complex64" and (func.endswith(("var", "std")) or (nan and "arg" in func))
    )  # theirs err
    and not (nan and func in ("argmin", "argmax"))  # and give 0: test_the_first_nan
]


@pytest.mark.parametrize(("func", "dtype", "nan"), CASES)
def test_as_their_own_engine(device, func, dtype, nan):
    a, labels = groups(dtype, nan)
    if func.endswith("prod"):
        a = np.sign(a) if dtype != "bool" else a
    engine = f"gpureduce:{device}"
    for options in (
        {},
        {"expected_groups": np.arange(9)},
        {"expected_groups": np.arange(9), "fill_value": 99},
    ):
        want, *names = flox.groupby_reduce(a, labels, func=func, engine="numpy", **options)
        got, *mine = flox.groupby_reduce(a, labels, func=func, engine=engine, **options)
        compare(got, want, func, dtype)
        assert all(map(np.array_equal, mine, names))


def test_the_first_nan(device):
    a, labels = groups("float64", True)
    for func in ("argmin", "argmax"):
        got, names = flox.groupby_reduce(a[1], labels, func=func, engine=gf.Engine(device))
        for one, name in zip(got, names, strict=True):
            rows = np.flatnonzero(labels == name)
            assert one == rows[getattr(np, func)(a[1][rows])]


def test_flox_engine_calls_group_reduce(device, monkeypatch):
    """Not flox's engine, whatever it gives; and that is called for what is not ours."""
    calls = []
    spy = lambda *args, **options: calls.append(args[2]) or gpureduce.group_reduce(*args, **options)  # noqa: E731
    monkeypatch.setattr(gf, "group_reduce", spy)
    a, labels = groups("float32", True)
    for func in OURS:
        calls.clear()
        flox.groupby_reduce(a, labels, func=func, engine=f"gpureduce:{device}")
        assert calls, func
    calls.clear()
    for func in THEIRS:
        flox.groupby_reduce(a, labels, func=func, engine=f"gpureduce:{device}")
    flox.groupby_reduce(a, labels, func="sum", engine="numpy")
    flox.groupby_reduce(a.astype("longdouble"), labels, func="nanmax", engine=f"gpureduce:{device}")
    assert not calls


def test_axes_dtypes_and_several_labels(device):
    a, labels = groups("float32", shape=(6, 8, 50))
    engine, other = f"gpureduce:{device}", np.array(list("xyzxyzxy"))
    for options in ({"dtype": np.float64}, {"min_count": 20, "fill_value": -1}, {"axis": -1}):
        want = flox.groupby_reduce(a, labels, func="nansum", engine="numpy", **options)[0]
        compare(flox.groupby_reduce(a, labels, func="nansum", engine=engine, **options)[0], want, "sum", "f4")
    both = np.broadcast_to(labels, (8, 50))
    for axis in ((1, 2), (2,), (1,)):
        for func in ("mean", "max", "count"):
            options = {"func": func, "axis": axis, "expected_groups": np.arange(7), "fill_value": -1}
            want, got = (flox.groupby_reduce(a, both, engine=e, **options)[0] for e in ("numpy", engine))
            compare(got, want, func, "f4")
    want, got = (
        flox.groupby_reduce(a, other[:, None], labels[None], func="sum", engine=e) for e in ("numpy", engine)
    )
    assert np.array_equal(want[0], got[0]) and got[0].shape == (6, 3, 6)
    wide = np.full(3, 2**24, np.float32) + np.array([0, 2, 2], np.float32)
    assert flox.groupby_reduce(wide, [0, 0, 0], func="sum", engine=engine, dtype="f8")[0] == 3 * 2**24 + 4


def test_chunks_of_dask(device):
    da = pytest.importorskip("dask.array")
    a, labels = groups("float64", True)
    for func in ("nansum", "nanmean", "nanmax", "count", "nanvar", "any"):
        for method in ("map-reduce", "cohorts"):
            options = {"func": func, "method": method, "engine": gf.Engine(device)}
            lazy = flox.groupby_reduce(da.from_array(a, chunks=(2, 70)), labels, **options)[0]
            want = flox.groupby_reduce(a, labels, func=func, engine="numpy")[0]
            np.testing.assert_allclose(lazy.compute(scheduler="sync"), want, rtol=4e-15, err_msg=func)


def test_where_it_is_unpickled_flox_knows_it():
    engine = gf.Engine("sim")
    assert engine == "gpureduce:sim" and gf.Engine() == "gpureduce"
    assert pickle.loads(pickle.dumps(engine)) == engine and isinstance(
        pickle.loads(pickle.dumps(engine)), gf.Engine
    )
    code = (
        f"import pickle, flox; engine = pickle.loads({pickle.dumps(engine)!r});"
        "print(flox.groupby_reduce([1, 2, 4], [0, 1, 0], func='sum', engine=engine)[0])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[5 2]"


def test_flox_engine_refuses_bad_arguments(device):
    a, labels = groups("float32")
    for engine in ("gpureduce:tpu", "gpureduce:cuda:x"):
        with pytest.raises(ValueError, match="device: unknown device"):
            flox.groupby_reduce(a, labels, func="sum", engine=engine)
    with pytest.raises(ValueError, match="device: unknown device"):
        gf.Engine("tpu")
    with pytest.raises(ValueError, match="Expected engine to be one of"):
        flox.groupby_reduce(a, labels, func="sum", engine="gpu")


def test_groupby_of_xarray(default_device):
    xarray = pytest.importorskip("xarray")
    guide = re.findall(r"<!-- flox -->\n```python\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    names = {}
    for example in guide:
        exec(example, names)
    temperature = names["temperature"]
    months = temperature.groupby("time.month")
    with xarray.set_options(use_flox=False):
        wide = temperature.astype("f8").groupby("time.month")
        xarray.testing.assert_allclose(names["monthly"].astype("f8"), wide.mean(), rtol=2e-7)
        xarray.testing.assert_allclose(names["spread"].astype("f8"), wide.std(), rtol=2e-6)
    with_holes = temperature.where(temperature > 10).groupby("time.month")
    for name in ("max", "count", "sum"):
        got = getattr(with_holes, name)(engine=gf.Engine(default_device))
        want = getattr(with_holes, name)(engine="numpy")
        xarray.testing.assert_allclose(got, want, rtol=3e-7)
    assert months.sum(engine=gf.Engine(default_device)).shape == (12, 50)
