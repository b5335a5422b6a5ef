"""The variant `cub`: absent, refused by the simulator, and, where it was built, complete."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from tests.support.selection import runs_on

CUB = next(variant for variant in gpureduce.variants("reduction") if variant.name == "cub")
LIBRARY = Path(gpureduce.__file__).parent / "_ptx" / "libgpureduce_cub.so"
DTYPE_SHORT = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64"}
EXPORTS = [f"cub_{op}_{DTYPE_SHORT[dtype]}" for op, dtype in CUB.coverage]

if_built = pytest.mark.skipif(not CUB.installed, reason="built without GPUREDUCE_CUB=1")


@pytest.mark.core
def test_the_simulator_refuses_it():
    with pytest.raises(ValueError, match="cub runs on cuda, not on sim"):
        gpureduce.sum([1.0, 2.0], variant="cub", device="sim")
    with pytest.raises(ValueError, match="cub runs on CUDA devices only"):
        _core.reduce(np.ones(3), "sum", "cub", None, None, _core.SIM, 0)


def test_source_and_no_ptx():
    assert "cub::DeviceReduce::Sum(" in gpureduce.source("cub")
    with pytest.raises(ValueError, match="cub has no PTX"):
        gpureduce.kernels.ptx("cub")


@pytest.mark.gpu
@pytest.mark.skipif(CUB.installed, reason="built with GPUREDUCE_CUB=1")
def test_an_installation_without_it_says_how_to_get_it(device):
    with pytest.raises(ValueError, match=r"variant: cub is not part of this installation.*GPUREDUCE_CUB=1"):
        gpureduce.sum([1.0, 2.0], variant="cub", device=device)


@pytest.fixture
def library():
    cub = ctypes.CDLL(str(LIBRARY))
    cub.cub_describe.restype = ctypes.c_char_p
    return cub


@pytest.mark.core
@if_built
@pytest.mark.parametrize("name", EXPORTS)
def test_every_cell_has_its_function(name, library):
    """Called for the size of its temporary memory; where there is no device, it says so and nothing else."""
    function = getattr(library, name)
    function.argtypes = [ctypes.c_uint64, ctypes.c_void_p, *[ctypes.c_uint64] * 3, ctypes.c_void_p]
    needed = ctypes.c_size_t(0)
    code = function(0, ctypes.byref(needed), 0, 0, 1_000_003, 1)
    if _core.cuda_problem() is None:
        assert code == 0 and needed.value > 0
    else:
        assert code != 0 or "arg" in name  # CUB passes over the error of that query
        assert b"invalid argument" in library.cub_describe(1)


@pytest.mark.gpu
@if_built
@pytest.mark.parametrize("op, dtype", CUB.coverage)
def test_cub_is_timed(op, dtype, device):
    """Its launches can be captured, and eight times the elements take longer."""
    index = int(device.partition(":")[2] or 0)
    medians = []
    for n in (2**22, 2**25):
        data = np.arange(n).astype(dtype)
        first, whole = _core.time(data, op, "cub", None, None, _core.CUDA, index, (8, 2, 5))
        assert len(first) == len(whole) == 5 and min(first + whole) > 0
        medians.append(sorted(whole)[2])
    assert medians[1] > 2 * medians[0]


@pytest.mark.gpu
@if_built
@pytest.mark.parametrize("option", ["block_size", "grid_size"])
def test_cub_chooses_its_sizes(option, device):
    with pytest.raises(ValueError, match=option):
        gpureduce.sum([1.0, 2.0], variant="cub", device=device, **{option: 256})


def test_selection_of_variants():
    assert not runs_on(CUB, "sim")  # on GPUs: see test_ladder_views.py
    assert all(runs_on(variant, "sim") for variant in gpureduce.variants("reduction") if variant is not CUB)
