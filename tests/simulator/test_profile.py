"""Profiles: counters and accesses against figures worked out by hand, and which calls are refused."""

import math
import os

import numpy as np
import pytest

import gpureduce
from gpureduce._demo import demo_array
from gpureduce._profiles.arguments import elements_of

VARIANTS = [variant.name for variant in gpureduce.variants("reduction") if "sim" in variant.backends]
N = 2**14
EMPTY = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{ ret; }\n"


def tree_loads(block, first_stride, rounds):
    """Warps that load in the rounds of a tree with halving strides."""
    return sum(math.ceil(max(first_stride >> r, 1) / 32) for r in range(rounds))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64"])
def test_random_elements_are_those_of_numpys_default_generator(dtype):
    """All drawn at once here, a piece at a time there."""
    rng, n = np.random.default_rng(0), 150_001
    wanted = (rng.random(n) if dtype.startswith("float") else rng.integers(0, 100, n)).astype(dtype)
    found = elements_of(n, dtype)
    assert found.dtype == wanted.dtype and np.array_equal(found, wanted)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda n: gpureduce.profile(n, "v1"), "a"),
        (lambda n: gpureduce.bench(n, "v1", device="sim", progress=False), "n"),
        (lambda n: gpureduce.bench((n, 1, 1), ops="matmul", device="sim", progress=False), "n"),
        (lambda n: demo_array("int64", n), "size"),
    ],
)
def test_more_elements_than_the_machine_has_memory(call, name):
    """The kernel promises the memory: the process would be ended while elements are drawn."""
    n = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4 + 1
    with pytest.raises(
        MemoryError, match=rf"{name}: .* GiB needed for the elements; the machine has .* GiB of memory"
    ):
        call(n)


@pytest.mark.parametrize("dtype", [{}, [], "V0", "S3", "M8[s]"])
def test_elements_of_no_number(dtype):
    """Those of no bytes were drawn for hours."""
    with pytest.raises(TypeError, match="dtype: "):
        gpureduce.profile(2**45, "v1", dtype=dtype)


# Counters


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_result_is_that_of_an_ordinary_run(variant):
    data = np.random.default_rng(3).integers(-1000, 1000, 5003)
    assert gpureduce.profile(data, variant).result == data.sum()


@pytest.mark.parametrize(("variant", "op"), [("v3", "any"), ("v3", "all"), ("cub_block", "argmax")])
def test_the_result_has_the_dtype_of_its_operator(variant, op):
    data = np.random.default_rng(3).random(1003, dtype=np.float32)
    result = gpureduce.profile(data, variant, op).result
    assert result == getattr(np, op)(data) and result.dtype == getattr(np, op)(data).dtype


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bank_conflicts_by_hand(dtype):
    """One block of v1: in the round of stride s, the lanes of a warp are 2s slots apart."""
    width = np.dtype(dtype).itemsize // 4  # words an element
    passes = ideal = 0
    for r in range(8):
        stride, threads = 2**r, 128 >> r
        for warp in range(math.ceil(threads / 32)):
            for half in range(width):
                lanes = [lane for lane in range(32) if 32 * warp + lane < threads]
                lanes = [lane for lane in lanes if width == 1 or lane // 16 == half]
                if not lanes:
                    continue
                ideal += 3  # two loads and a store
                for offset in (0, stride, 0):
                    words = {
                        width * (2 * stride * (32 * warp + lane) + offset) + k
                        for lane in lanes
                        for k in range(width)
                    }
                    banks = [word % 32 for word in words]
                    passes += max(banks.count(bank) for bank in set(banks))
    found = gpureduce.profile(256, "v1", dtype=dtype).totals
    fill_and_result = 8 * width + 1
    assert found.shared_wavefronts == passes + fill_and_result
    assert found.shared_ideal == ideal + fill_and_result
    assert found.bank_conflicts == passes - ideal > 0


def test_conflicts_of_v1_and_of_no_other_rung():
    for variant in VARIANTS:
        conflicts = gpureduce.profile(2**16, variant).kernels[0].totals.bank_conflicts
        assert conflicts == (105 * 256 if variant == "v1" else 0), variant


def test_shared_wavefronts_of_the_first_rungs():
    """A block of 256 threads: 8 warps fill, 8 rounds of two loads and a store, one load of the result."""
    blocks = N // 256
    v0, v2 = (gpureduce.profile(N, variant).kernels[0].totals for variant in ("v0", "v2"))
    assert v0.shared_load_wavefronts == blocks * (2 * (5 * 8 + 4 + 2 + 1) + 1)
    assert v2.shared_load_wavefronts == blocks * (2 * (4 + 2 + 6) + 1)
    assert v2.shared_store_wavefronts == blocks * (8 + 4 + 2 + 6)
    assert v0.barriers == v2.barriers == blocks * 8 * 9


@pytest.mark.parametrize(
    ("variant", "requests"), [("v0", N // 32), ("v3", N // 32), ("v7", N // 32), ("v8", N // 128)]
)
def test_global_loads_by_hand(variant, requests):
    totals = gpureduce.profile(N, variant).kernels[0].totals
    assert totals.global_load_requests == requests
    assert totals.global_load_sectors == totals.global_load_ideal == N * 4 // 32


def test_sectors_of_a_tail():
    """33 elements of 4 bytes: four full sectors and one more, by two warps."""
    totals = gpureduce.profile(33, "v0").totals
    assert (totals.global_load_requests, totals.global_load_sectors) == (2, 5)


def test_rounds_and_idle_warps():
    rounds = gpureduce.profile(N, "v2").kernels[0].rounds
    blocks = N // 256
    assert [each.blocks for each in rounds] == [blocks] * 10
    assert [each.warps - each.idle_warps for each in rounds] == [blocks * k for k in (8, 4, 2, *[1] * 7)]
    busy = [each.threads - each.idle_threads for each in rounds]
    assert busy == [blocks * k for k in (256, 128, 64, 32, 16, 8, 4, 2, 1, 1)]


def test_branched_and_predicated():
    """In v2's round of stride 64 two of eight warps take the body as branched, all eight as predicated."""
    found = gpureduce.profile(N, "v2")
    (line,) = (line for line in found.lines() if "slots[t] = Op::combine" in line.text)
    body = [each for each in found.kernels[0].instructions if each.line_in(found.file) == line.number]
    loads = [each.counts for each in body if each.effect == "load"]
    assert len(loads) == 2
    for counts in loads:
        assert counts.warp_instructions == N // 256 * 12
        assert counts.warp_instructions_predicated == N // 256 * 8 * 8
        assert counts.lane_instructions == N // 256 * 255
        assert counts.histogram[32] == N // 256 * (4 + 2 + 1)
        assert [int(counts.histogram[k]) for k in (1, 2, 4, 8, 16)] == [N // 256] * 5
    (guard,) = (line for line in found.lines() if "if (t < stride)" in line.text)
    branch = [
        each.counts for each in found.kernels[0].instructions if each.line_in(found.file) == guard.number
    ]
    assert sum(each.divergent_branches for each in branch) == N // 256 * 5


def test_multiply_adds_by_hand():
    """Of whole tiles every rung does exactly the product's, and reductions do none."""
    for variant in gpureduce.variants("matmul"):
        if "float32" not in variant.dtypes or "sim" not in variant.backends:
            continue
        found = gpureduce.profile((128, 128, 32), variant.name, races=False)
        assert found.multiply_adds == found.n == 128 * 128 * 32
        issued = found.totals.warp_instructions
        assert found.multiply_adds_an_instruction == found.n / issued
        if variant.role == "rung" and variant.name in ("m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7"):
            assert found.totals.multiply_adds == found.n
    naive, tiles = (gpureduce.profile((64, 64, 32), name, races=False) for name in ("m1", "m2"))
    # A warp of m1 asks for one sector of A and four of B a multiply-add, and stores four at the end.
    assert naive.totals.global_sectors == 64 * 64 * 32 // 32 * 5 + 64 * 64 // 8
    assert naive.bytes_a_flop == (5 * 32 / 64) + 4 / 64
    # A block of m2, 32 by 32, loads 32 rows of either once.
    assert tiles.totals.global_sectors == 4 * (32 * 32 + 32 * 32) // 8 + 64 * 64 // 8
    assert tiles.totals.multiply_adds == 64 * 64 * 32
    of_sum = gpureduce.profile(1000, "v3")
    assert (of_sum.multiply_adds, of_sum.totals.multiply_adds) == (0, 0)
    assert math.isnan(of_sum.bytes_a_flop)


def test_tensor_cores_by_hand():
    """Of whole tiles they do as many multiply-adds as the product has, or three times that."""
    for name, times in (("t0", 1), ("t1", 1), ("t2", 3)):
        variant = next(each for each in gpureduce.variants("matmul") if each.name == name)
        if "sim" not in variant.backends:
            continue
        found = gpureduce.profile((256, 256, 64), name, races=False)
        assert found.totals.tensor_multiply_adds == times * 256 * 256 * 64
        assert "tensor FMA" in found.annotate() and "by tensor cores" in str(found)
        # In each step along k a block brings its tiles of A and B.
        tile = {"t0": 0, "t1": 256 + 128, "t2": 128 + 128}[name]
        blocks = 256 * 256 // {"t0": 1, "t1": 256 * 128, "t2": 128 * 128}[name]
        assert found.totals.copied_bytes == blocks * tile * 64 * 4
    # Blocks of a cluster share tiles of B, which are copied once; the results, in whole tiles, go out once.
    shared = gpureduce.profile((256, 256, 64), "t3", dtype="float16", races=False)
    assert shared.totals.copied_bytes == 2 * (256 + 256) * 64 + 2 * 256 * 256
    assert "copied" in shared.annotate() and "bytes of bulk copies" in str(shared)
    # ldmatrix loads: only the copies to the tiles of t0's four blocks store to shared memory.
    copied = gpureduce.profile((256, 256, 64), "t0", races=False).totals
    assert copied.shared_store_wavefronts == 4 * (128 + 128) * 64 * 4 // 128
    without = gpureduce.profile((128, 128, 32), "m7", races=False)
    assert without.totals.tensor_multiply_adds == 0
    assert without.totals.copied_bytes == 0 and "copied" not in without.annotate()
    assert "tensor" not in without.annotate() and "tensor" not in str(without)


def test_bulk_copies_are_bytes_of_global_memory():
    n = 2**18
    of_loads, of_copies = (gpureduce.profile(n, name, races=False) for name in ("v9", "v12"))
    assert of_loads.totals.copied_bytes == 0 and of_copies.totals.copied_bytes == 4 * n
    assert of_loads.totals.global_bytes == 32 * of_loads.totals.global_sectors > 4 * n
    found = of_copies.totals
    assert found.copied_global_bytes == 4 * n and 4 * n < found.global_bytes < 1.05 * 4 * n
    assert f"{found.global_bytes:,}" in str(of_copies)
    product = gpureduce.profile((256, 256, 64), "t1", races=False)
    tiles, results = 2 * (256 + 128) * 64 * 4, 256 * 256 * 4
    assert product.bytes_a_flop == (tiles + results) / (2 * 256 * 256 * 64)


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_more_than_all_lanes_are_at_work(variant):
    """Of branches that become predicates neither the instruction counts nor its lanes."""
    totals = gpureduce.profile(2**13, variant, block_size=64, races=False).totals
    assert 0 < totals.mean_lanes_predicated <= 32 and 0 < totals.mean_lanes <= 32
    assert totals.lane_instructions_predicated <= totals.lane_instructions


def test_asynchronous_copies_load_from_memory_and_store_to_shared_memory():
    """As those of m8, whose only stores to global memory are those of C."""
    counts = gpureduce.profile((128, 128, 64), "m8", races=False).totals
    assert counts.global_load_sectors == 2 * 128 * 64 // 8
    assert counts.global_store_ideal == 128 * 128 // 8
    assert counts.shared_store_wavefronts >= 2 * 128 * 64 // 32


def test_margins_show_multiply_adds_where_there_are_any():
    assert "FMA" in gpureduce.profile((8, 8, 8), "m0").annotate()
    found = gpureduce.profile(100, "v0").annotate()
    assert "FMA" not in found and "fused multiply-adds" not in str(gpureduce.profile(100, "v0"))


def test_totals_are_the_sum_of_the_instructions():
    found = gpureduce.profile(N, "v5")
    for kernel in found.kernels:
        issued = sum(each.counts.warp_instructions for each in kernel.instructions)
        assert kernel.totals.warp_instructions == issued == int(kernel.totals.histogram.sum())
    assert found.totals.warp_instructions == sum(kernel.totals.warp_instructions for kernel in found.kernels)


@pytest.mark.parametrize("variant", VARIANTS)
def test_counters_do_not_depend_on_the_number_of_cpu_threads(variant, monkeypatch):
    seen = []
    for threads in ("1", "3"):
        monkeypatch.setenv("GPUREDUCE_SIM_THREADS", threads)
        found = gpureduce.profile(20011, variant)
        seen.append((str(found.annotate(ptx=True)), [kernel.rounds for kernel in found.kernels]))
    assert seen[0] == seen[1]


def test_an_operator_block_and_grid_can_be_chosen():
    found = gpureduce.profile(N, "v7", block_size=96, grid_size=5)
    assert (found.kernels[0].block, found.kernels[0].grid) == ((96, 1, 1), (5, 1, 1))


# Accesses of blocks, and calls that are refused


@pytest.mark.parametrize(("variant", "along"), [("m0", 0), ("m1", 1)])
def test_accesses_of_a_naive_product(variant, along):
    """Thread t of a block makes the element (t % 32, t // 32), or the other way round; of the right block."""
    m, n, k = 32, 64, 5
    found = gpureduce.profile((m, n, k), variant, races=False).accesses(block=1)
    row = found["thread"] % 32 if along == 0 else found["thread"] // 32
    column = 32 + (found["thread"] // 32 if along == 0 else found["thread"] % 32)
    of_a, of_b, of_c = (found["memory"] == i for i in range(3))
    assert (found["bytes"] == 4).all() and (found["round"] == 0).all()
    assert (found["writes"] == of_c).all() and sorted(found["thread"][of_c]) == list(range(1024))
    assert (found["offset"][of_c] == 4 * (row * n + column)[of_c]).all()
    i = found["offset"] // 4 - row * k
    assert (np.sort(i[of_a].reshape(-1, 32 * k), axis=0) >= 0).all() and set(i[of_a]) == set(range(k))
    assert of_a.sum() == of_b.sum() == 1024 * k
    assert (found["offset"][of_b] // 4 % n == column[of_b]).all()


def test_accesses_of_tiles_come_in_rounds():
    profile = gpureduce.profile((64, 64, 64), "m2", races=False)
    found = profile.accesses(3)
    for round_, step in ((0, 0), (2, 32)):  # the second step's loads come after two barriers
        loads = found[(found["round"] == round_) & ~found["writes"]]
        of_a, of_b = (loads[loads["memory"] == i] for i in (0, 1))
        rows, columns = np.divmod(of_a["offset"] // 4, 64)
        assert len(of_a) == len(of_b) == 1024
        assert (rows == 32 + of_a["thread"] // 32).all() and (columns == step + of_a["thread"] % 32).all()
        rows, columns = np.divmod(of_b["offset"] // 4, 64)
        assert (rows == step + of_b["thread"] // 32).all() and (columns == 32 + of_b["thread"] % 32).all()
    text = profile.kernels[0].instructions[found["instruction"][0]].text
    assert "ld.global" in text
    vectors = gpureduce.profile((128, 128, 8), "m5", races=False).accesses()
    loads = vectors[~vectors["writes"]]
    assert set(loads["bytes"]) == {16} and len(loads) == 128 * (8 + 8) // 4
    assert vectors["bytes"][vectors["writes"]].sum() == 4 * 128 * 128


def test_accesses_of_a_reduction():
    found = gpureduce.profile(1000, "v0", block_size=128).accesses(block=7)
    loads, stores = found[~found["writes"]], found[found["writes"]]
    assert (loads["offset"] == 4 * (7 * 128 + loads["thread"])).all() and len(loads) == 1000 - 7 * 128
    assert len(stores) == 1 and stores["offset"][0] == 4 * 7 and stores["memory"][0] == 1


def test_accesses_that_are_not_there():
    profile = gpureduce.profile((32, 32, 8), "m1")
    with pytest.raises(ValueError, match="block: expected 0 to 0"):
        profile.accesses(block=1)
    with pytest.raises(ValueError, match="kernel: expected 0 to 0"):
        profile.accesses(kernel=-1)
    with pytest.raises(MemoryError, match="than can be kept"):
        gpureduce.profile((32, 32, 2100), "m1", races=False).accesses()
    assert len(gpureduce.simulate(EMPTY, "k", grid=1, block=1).accesses()) == 0


def test_bad_arguments():
    for call, error, text in [
        (lambda: gpureduce.profile(100, "v99"), ValueError, "variant: unknown variant 'v99'"),
        (lambda: gpureduce.profile(100, 3), TypeError, "variant: expected str"),
        (
            lambda: gpureduce.profile(-1, "v0"),
            ValueError,
            "a: a number of elements cannot be negative",
        ),
        (
            lambda: gpureduce.profile(np.ones(3), "v0", dtype="float32"),
            TypeError,
            "dtype: only valid if a is a number",
        ),
        (lambda: gpureduce.profile(100, "v0", block_size=100), ValueError, "block"),
        (lambda: gpureduce.profile(100, "v0", op="median"), ValueError, "op"),
        (lambda: gpureduce.profile(100, "v0", races=1), TypeError, "races: expected bool or 'global'"),
        (lambda: gpureduce.profile(100, "v0", dtype="float16"), TypeError, "float16"),
        (lambda: gpureduce.profile(np.ma.array([1.0], mask=[1]), "v0"), TypeError, "masked"),
        (lambda: gpureduce.profile(100, "v0").lines("x.cu"), ValueError, "no instruction comes from 'x.cu'"),
    ]:
        with pytest.raises(error, match=text):
            call()
