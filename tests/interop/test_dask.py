"""Reductions of Dask arrays are those of NumPy's, by states, wherever the chunks are."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from tests.support import exact_reference as reference
from tests.support.exact_reference import same

da = pytest.importorskip("dask.array")

import gpureduce.dask as gd  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
OPS = tuple(name for name in gd.__all__ if name != "dot")
PLACES = ("argmin", "argmax")

pytestmark = pytest.mark.filterwarnings("ignore::gpureduce.SimulatorWarning")


def numbers(shape, seed=3):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) * 2.0 ** rng.integers(-20, 20, shape)).astype(np.float32)


def wanted(op, array, axis, keepdims=False):
    """What the states of the whole give."""
    state = gpureduce.partial(array, op, axis, keepdims=keepdims, device="sim")
    return state.result()


@pytest.mark.parametrize("op", OPS)
def test_chunks_axes_and_trees(op, device):
    array = numbers((20, 18, 5))
    if op == "prod":
        array = np.sign(array)
    lazy = da.from_array(array, chunks=(10, 10, 5))
    some = 1 if op in PLACES else (0, 2)
    for axis, options in ((None, {}), (some, {"keepdims": True, "split_every": 2}), (-1, {})):
        found = getattr(gd, op)(lazy, axis=axis, device=device, **options)
        got = found.compute(scheduler="sync")
        want = wanted(op, array, axis, options.get("keepdims", False))
        assert np.array_equal(got, want) and np.asarray(got).dtype == want.dtype == found.dtype
        assert found.shape == np.shape(got) and found.name.startswith(f"gpureduce-{op}-")
    theirs = getattr(da, op)(lazy, axis=-1)
    assert found.dtype == theirs.dtype
    np.testing.assert_allclose(got, theirs.compute(scheduler="sync"), rtol=1e-3)


@pytest.mark.gpu
@pytest.mark.parametrize("op", OPS)
def test_chunks_of_cupy(op, device):
    """Chunks that lie on the GPU already stay there."""
    cupy = pytest.importorskip("cupy")
    array = np.sign(numbers((20, 18))) if op == "prod" else numbers((20, 18))
    lazy = da.from_array(cupy.asarray(array), chunks=(7, 10), asarray=False)
    for axis, options in ((None, {}), (1, {"keepdims": True, "split_every": 2})):
        got = getattr(gd, op)(lazy, axis=axis, device=device, **options).compute(scheduler="sync")
        assert np.array_equal(got, wanted(op, array, axis, options.get("keepdims", False)))


def test_dot(device):
    a, b = (numbers(50, seed) for seed in (1, 2))
    found = gd.dot(da.from_array(a, chunks=20), da.from_array(b, chunks=7), device=device)
    assert same(found.compute(scheduler="sync"), reference.exact_dot(a, b))
    assert same(
        gd.dot(da.from_array(a), b, device=device).compute(scheduler="sync"), reference.exact_dot(a, b)
    )
    with pytest.raises(ValueError, match="one length"):
        gd.dot(da.from_array(a), da.from_array(b[1:]))


def test_options(device):
    lazy = da.from_array(np.arange(12).reshape(3, 4), chunks=2)
    assert gd.sum(lazy, dtype=np.float32, device=device).compute(scheduler="sync").dtype == np.float32
    assert gd.var(lazy, ddof=1, device=device).compute(scheduler="sync") == 13
    assert gd.sum(np.arange(4), device=device) == 6  # no Dask array
    assert gd.sum(lazy[lazy > 3], device=device).compute(scheduler="sync") == 60  # of unknown lengths
    for name in ("sum", "var", "argmax", "count_nonzero"):
        number = getattr(gd, name)(da.from_array(np.array(7)), keepdims=name == "sum", device=device)
        assert number.compute(scheduler="sync") == getattr(np, name)(7) and number.shape == ()
    empty = da.from_array(np.arange(10.0), chunks=((5, 0, 5),))
    assert gd.min(empty, device=device).compute(scheduler="sync") == 0
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        gd.argmax(lazy[lazy > 3])
    with pytest.raises(ValueError, match="no elements"):
        gd.max(lazy[lazy > 99], device=device).compute(scheduler="sync")
    with pytest.raises(TypeError, match="argmin and argmax take one integer"):
        gd.argmax(lazy, axis=(0, 1))


def test_the_client_runs_nothing(monkeypatch):
    """Nor does it look for a device: what is known before is known of empty arrays."""
    for name in ("general", "exact", "exact_states", "reduce", "cuda_problem"):
        monkeypatch.setattr(_core, name, None)
    lazy = da.from_array(np.ones((6, 6), np.float32), chunks=4)
    for op in OPS:
        assert getattr(gd, op)(lazy, axis=0).shape == (6,)
    assert gd.dot(lazy[0], lazy[1]).dtype == np.float32


def test_what_progress_bars_and_dashboards_show(capsys):
    """Tasks by their names: parts, and what merges them."""
    from dask.diagnostics import Profiler, ProgressBar
    from dask.utils import key_split

    lazy = gd.var(da.from_array(numbers((40, 30)), chunks=5), device="sim")
    with ProgressBar(dt=0.01), Profiler() as seen:
        lazy.compute(scheduler="sync")
    assert "[########################################] | 100% Completed" in capsys.readouterr().out
    names = [key_split(each.key) for each in seen.results]
    assert names.count("array-gpureduce-var") == 48  # parts, with the name of what they read
    assert names.count("gpureduce-var-partial") > 3 and names.count("gpureduce-var-aggregate") == 1


def test_dask_arrays_elsewhere_are_refused():
    """What would compute them as a whole, on the client."""
    partial = functools.partial(gpureduce.partial, op="sum")
    for call in (gpureduce.sum, gpureduce.argmax, gpureduce.fsum, partial):
        with pytest.raises(TypeError, match=r"gpureduce\.dask has functions"):
            call(da.ones(4, chunks=2))


def test_xarray(device):
    xarray = pytest.importorskip("xarray")
    array = numbers((6, 8))
    lazy = xarray.DataArray(da.from_array(array, chunks=3), dims=("x", "y"))
    got = lazy.reduce(gd.sum, "x", device=device)
    assert got.dims == ("y",) and isinstance(got.data, da.Array)
    assert np.array_equal(got.compute(scheduler="sync"), wanted("sum", array, 0))
    assert lazy.reduce(gd.argmax, device=device).compute(scheduler="sync") == array.argmax()
    assert np.array_equal(lazy.compute().reduce(gd.mean, ("x",), device=device), wanted("mean", array, 0))


def test_the_example_runs(monkeypatch, capsys):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(sys, "argv", ["dask_sum.py", "3"])
    source = (ROOT / "examples" / "dask_sum.py").read_text("utf-8")
    smaller = source.replace("16384, 8192)", "30, 20)")
    lines = [line for line in source.split('"""')[2].splitlines() if line]
    assert smaller != source and len(lines) <= 10
    x = da.random.default_rng(1).random((3, 30, 20), dtype="float32", chunks=(1, 30, 20))
    want = reference.exact_sum(x.compute(scheduler="sync").reshape(-1))
    # After the first computation of the process, at which Dask imports the class.
    monkeypatch.setattr(distributed, "Client", lambda **options: None)
    exec(compile(smaller, "dask_sum.py", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == f"{want!s}\n"


# Workers in processes of their own

PROGRAM = Path(__file__).parent / "dask_workers.py"


def work(folder, *arguments):
    """Run the program of a cluster; its lines say what it found."""
    command = [sys.executable, str(PROGRAM), str(folder), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(PROGRAM.parent)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=800, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout, done.stderr


def test_two_workers(tmp_path):
    """One of them is killed in the middle."""
    pytest.importorskip("distributed")
    pytest.importorskip("zarr")
    said, warned = work(tmp_path, "small")
    assert said.splitlines()[-1] == "all alike"
    assert warned.count("SimulatorWarning:") <= 2  # none where there is a GPU


def test_many_workers(tmp_path, exhaustive):
    """An array larger than a worker's memory; other chunks; 1, 2 and 4 workers; one that is killed."""
    pytest.importorskip("distributed")
    pytest.importorskip("zarr")
    if not exhaustive:
        pytest.skip("takes minutes: --exhaustive")
    said, _ = work(tmp_path, "large")
    print(said)
    assert said.splitlines()[-1] == "all alike"
