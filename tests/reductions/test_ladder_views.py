"""Named variants take device arrays, from any element on where they say so."""

from dataclasses import replace

import numpy as np
import pytest

import gpureduce
from gpureduce._arrays.device_array import DeviceArray, DeviceView
from tests.support import operator_cases, reference
from tests.support.children import python

VARIANTS = [variant for variant in gpureduce.variants("reduction") if variant.role != "study"]
every_variant = pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
# These load 16 bytes at a time, from the first element on.
FROM_BOUNDARIES = {"v8", "v9", "cub_block"}
SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 63, 257, 1025, 4099, 65537)


class Part(DeviceView):
    """Elements of another array on the device."""

    def __init__(self, array, start, count, step=1):
        item = array.dtype.itemsize
        self._pointer = array._pointer + start * item
        self.shape, self.strides = (count,), (step * item,)
        self.dtype, self._kind, self._index = array.dtype, array._kind, array._index
        self._read_only, self._owner, self._producer = False, array, array
        self.stream, self._says_stream = array.stream, True


def surrounded(array, start):
    """The array on the device behind `start` other elements and before some more, all of which would show."""
    other = np.full(8, 77, array.dtype)
    return np.concatenate([other[:start], array, other])


@pytest.mark.core
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@every_variant
def test_from_any_element(variant, dtype, device, some):
    found = []
    for start in range(16 // np.dtype(dtype).itemsize + 1):
        misaligned = start * np.dtype(dtype).itemsize % 16 != 0
        for n in some(SIZES, 2):
            case = reference.case("positive", dtype, n)
            whole = gpureduce.to_device(surrounded(case.array, start), device)
            part = Part(whole, start, n)
            if misaligned and variant.name in FROM_BOUNDARIES:
                with pytest.raises(ValueError, match=f"a: {variant.name} .* 16-byte boundary; 'auto'"):
                    gpureduce.sum(part, variant=variant.name)
                continue
            for block in (variant.block_sizes[0], 256, 1024) if variant.block_sizes else (None,):
                reason = reference.mismatch(
                    case, gpureduce.sum(part, variant=variant.name, block_size=block), 0
                )
                if reason:
                    found.append(f"from element {start}, {block} threads: {reason}")
    assert not found, "\n".join(found)


@every_variant
def test_other_operators_from_any_element(variant, device):
    for op, dtype in variant.coverage:
        for start in (0,) if variant.name in FROM_BOUNDARIES else (1, 16 // np.dtype(dtype).itemsize - 1):
            for case in operator_cases.cases(op, dtype, 1000) if op != "sum" else ():
                part = Part(gpureduce.to_device(surrounded(case.array, start), device), start, 1000)
                got = getattr(gpureduce, op)(part, variant=variant.name)
                assert operator_cases.mismatch(case, got) is None, f"{op} {dtype} from element {start}"


@pytest.mark.core
@every_variant
def test_results_are_those_of_host_arrays(variant, device):
    """The same bits, in any place that a result may go to."""
    if variant.float_atomics:
        pytest.skip("the bits depend on the order in which blocks finish")
    array = reference.case("uniform", "float32", 4099).array.reshape(1, 4099)
    wanted = gpureduce.sum(array, variant=variant.name, device=device)
    there = gpureduce.to_device(array, device)
    got = gpureduce.sum(there, variant=variant.name)
    assert type(got) is np.float32 and got.tobytes() == wanted.tobytes()
    kept = gpureduce.sum(there, variant=variant.name, as_device=True)
    assert isinstance(kept, DeviceArray) and kept.numpy().tobytes() == wanted.tobytes()
    out = np.empty((), np.float32)
    assert gpureduce.sum(there, variant=variant.name, out=out) is out and out.tobytes() == wanted.tobytes()


@every_variant
def test_refused_views(variant, device):
    whole = gpureduce.to_device(np.ones(64, np.float32), device)
    with pytest.raises(ValueError, match=f"a: {variant.name} takes device arrays in C order; 'auto'"):
        gpureduce.sum(Part(whole, 0, 32, step=2), variant=variant.name)
    with pytest.raises(TypeError, match="float16"):
        gpureduce.sum(gpureduce.to_device(np.ones(64, np.float16), device), variant=variant.name)


# Blocks that meet in one launch


SINGLE_PASS = [f"v{i}" for i in range(9, 13)]


@pytest.mark.parametrize("name", SINGLE_PASS)
def test_a_launch_leaves_the_ticket_as_it_was(name):
    """So that launches may follow one another, whatever their grids."""
    ticket = np.zeros(1, np.uint32)
    for n, grid in ((5000, 3), (5000, 8), (100, 2), (70_001, 33)):
        a = np.random.default_rng(n).integers(-1000, 1000, n).astype(np.float32)
        out, block_sums = np.empty(1, np.float32), np.empty(grid, np.float32)
        ring = 64 * 192 if name == "v12" else 0
        arguments = (a, out, n, block_sums, ticket)
        found = gpureduce.simulate(
            gpureduce.kernels.ptx(name), f"{name}_sum_f32", grid, 64, arguments, shared_bytes=ring
        )
        assert out[0] == a.sum(dtype=np.float64) and ticket[0] == 0 and found.races == ()


@pytest.mark.parametrize("name", SINGLE_PASS)
def test_the_last_block_may_be_any(name, monkeypatch):
    """On the simulator the number of CPU threads decides which block is last, and nothing else."""
    array = reference.case("lognormal", "float32", 65537).array
    seen = set()
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("GPUREDUCE_SIM_THREADS", threads)
        found = gpureduce.profile(array, name)
        assert len(found.kernels) == 1 and found.races == ()
        seen.add(found.result.tobytes())
    assert len(seen) == 1


def test_clusters_leave_fewer_block_sums():
    """One ticket a cluster of eight; none where one cluster is the grid, or where it is one block."""

    def atomics(name, n):
        totals = gpureduce.profile(n, name).kernels[0]
        return sum(each.counts.warp_instructions for each in totals.instructions if "atom" in each.text)

    for n, blocks, clusters in ((2**16, 64, 8), (2**13, 8, 1), (1000, 1, 1)):
        assert atomics("v10", n) == blocks
        assert atomics("v11", n) == (clusters if clusters > 1 else 0)


# Compute capability 9.0


def test_capability():
    for variant in gpureduce.variants("reduction"):
        assert variant.compute_capability == ((9, 0) if variant.name in ("v11", "v12") else (7, 5))
        target = ".target sm_90" if variant.compute_capability == (9, 0) else ".target sm_75"
        assert not variant.block_sizes or target in gpureduce.kernels.ptx(variant.name)


def test_runs_on():
    sim = gpureduce.devices()[-1]
    for variant in gpureduce.variants("reduction"):
        assert variant.runs_on("sim") == variant.runs_on(sim) == ("sim" in variant.backends)
        for capability in ((7, 5), (8, 9), (9, 0), (12, 0)):
            cuda = replace(sim, kind="cuda", compute_capability=capability)
            assert variant.runs_on(cuda) == (variant.installed and variant.compute_capability <= capability)
    with pytest.raises(gpureduce.DeviceError, match="cuda:99: no such device"):
        gpureduce.variants("reduction")[0].runs_on("cuda:99")
    with pytest.raises(ValueError, match="device"):
        gpureduce.variants("reduction")[0].runs_on("gpu")


def test_an_older_device_is_told():
    """A device before Hopper, played by the simulator."""
    done = python(
        """
        import gpureduce
        assert gpureduce.sum([1.0, 2.0], variant="v10", device="sim") == 3
        for name in ("v11", "v12"):
            try:
                gpureduce.sum([1.0, 2.0], variant=name, device="sim")
            except ValueError as error:
                print(error)
        """,
        GPUREDUCE_SIM_CAPABILITY="8.6",
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 2, done.stderr
    for name, line in zip(("v11", "v12"), lines, strict=True):
        assert line.startswith(f"variant: {name} needs compute capability 9.0; ")
