"""Profiles: counters against figures worked out by hand, what they are shown as, and PTX of one's own."""

import base64
import io
import math
import os
import re
import signal
import threading
import time

import numpy as np
import pytest

import gpureduce
from gpureduce._demo import demo_array
from gpureduce._profiles.arguments import elements_of
from gpureduce._profiles.palette import DARK, LIGHT
from gpureduce._profiles.timeline import KINDS

VARIANTS = [variant.name for variant in gpureduce.variants("reduction") if "sim" in variant.backends]
N = 2**14


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


# Shown


@pytest.mark.parametrize("variant", VARIANTS)
def test_annotations_hold_the_source_and_its_counters(variant):
    found = gpureduce.profile(3000, variant)
    text = found.annotate()
    for line in gpureduce.source(variant).splitlines():
        assert line in text
    assert f"{found.lines()[0].counts.warp_instructions:,}" in text
    ptx = found.annotate(ptx=True)
    assert ("ret;" in ptx and "st.global" in ptx) or variant == "atomic"
    for name in found.files():
        assert name in found.annotate(name)


def test_annotations_fit_a_terminal():
    found = gpureduce.profile(2**18, "v1")
    (wide,) = [line for line in found.annotate(width=180).splitlines() if "slots[left + stride]" in line]
    assert wide in found.annotate()
    line = found.lines()[-1]
    listing = found.annotate(width=100).splitlines()
    assert max(map(len, listing[4:40])) <= 100
    (brief,) = [each for each in listing if f"{line.number:4} | " in each]
    for counted in (line.counts.warp_instructions, line.counts.global_sectors):
        text = f"{counted:,}"
        assert text.count(",") == 1 and f"{text.replace(',', '.')[:4].rstrip('.')}k" in brief
    assert line.text.strip()[:10] in brief and any(each.endswith("…") for each in listing)


def test_instructions_as_predicated_are_asked_for():
    found = gpureduce.profile(3000, "v2")
    assert "predicated" not in found.annotate() and "predicated" not in found._repr_html_()
    text = found.annotate(predicated=True)
    head = next(line for line in text.splitlines() if "cuda_kernels/" in line)
    assert head.split("  ")[:2] == ["warp instr.", "predicated"] and "as in ptxas" in text
    assert f"{found.lines()[-1].counts.warp_instructions_predicated:,}" in text


def test_heat_is_of_each_column():
    """In v1 the line of the conflicts glows, and the `for` in the column of instructions alone."""
    found = gpureduce.profile(4096, "v1")
    rows = re.findall("<tr>(.*?)</tr>", found._repr_html_().replace("&nbsp;", " "))
    head = re.findall("<th[^>]*>(.*?)</th>", rows[0])

    def heats(words):
        (row,) = (row for row in rows if words in row)
        cells = re.findall(r'<td(?: align="right")?(?: style="([^"]*)")?(?: title="[^"]*")?>', row)
        shades = [re.search(r"rgba\(.*,([\d.]+)\)", style) for style in cells]
        return {name: float(shade[1]) if shade else 0 for name, shade in zip(head, shades, strict=True)}

    loop, conflicts = heats("for (unsigned stride"), heats("slots[left] = ")
    assert loop["warp instr."] == conflicts["conflicts"] == conflicts["shared / ideal"] == 0.7
    assert 0 < conflicts["warp instr."] < 0.7 and loop["conflicts"] == 0
    assert conflicts["CUDA C++"] == 0.7 and loop["CUDA C++"] == 0
    assert found.file in found._repr_html_()
    assert heats("x = Op::combine(x, in[i])")["sectors / ideal"] == 0.7
    naive = gpureduce.profile((64, 64, 32), "m0", races=False)._repr_html_()
    (row,) = (row for row in re.findall("<tr>(.*?)</tr>", naive) if "0.70" in "".join(row.split("<td")[2:3]))
    assert "a[row * k + i]" in row or "multiply_add" in row  # where sectors are fetched in vain


def test_what_is_inlined_counts_for_the_line_that_calls_it():
    """The tree of v6 stands in a header; its barriers belong to the one line that calls it."""
    found = gpureduce.profile(N, "v6")
    (line,) = (line for line in found.lines() if "unrolled_tree" in line.text)
    assert line.counts.barriers == found.totals.barriers > 0
    in_header = found.lines("unrolled_tree.cuh")
    assert sum(each.counts.barriers for each in in_header) == found.totals.barriers
    assert len([each for each in in_header if each.counts.barriers]) > 2


def test_html(tmp_path):
    found = gpureduce.profile(4096, "v4_published")
    page = found._repr_html_()
    assert page.count("<tr>") == page.count("</tr>") == 1 + len(gpureduce.source("v4_published").splitlines())
    assert "&lt;cstdint&gt;" in page and "__syncwarp is missing" in page
    assert "v2" in found.compare(gpureduce.profile(4096, "v2"))._repr_html_()


def test_both_sides_of_a_comparison_have_names():
    small, large = (gpureduce.profile(n, "v1") for n in (100, 4096))
    mine = gpureduce.simulate("__global__ void mine() {}", "mine", 1, 32, [])
    assert small.compare(large).names == ("v1, left", "v1, right")
    assert small.compare(mine).names == ("v1", "mine")
    named = small.compare(large, names=("100 elements", "4,096 elements"))
    for shown in (str(named), str(named.sources()), named._repr_html_(), named.sources()._repr_html_()):
        assert "100 elements" in shown and "4,096 elements" in shown
    with pytest.raises(TypeError, match="names: expected two strings"):
        small.compare(large, names="ab")
    with pytest.raises(ValueError, match="names: expected two strings, got 3"):
        small.compare(large, names=("a", "b", "c"))


def test_a_timeline_is_a_picture_that_any_notebook_shows():
    image = pytest.importorskip("PIL.Image")
    timeline = gpureduce.profile(4096, "v1").timeline()
    page = timeline._repr_html_()
    encoded = re.search(r'<img [^>]*src="data:image/png;base64,([^"]+)"', page)[1]
    picture = image.open(io.BytesIO(base64.b64decode(encoded)))
    rounds, threads = timeline.states.shape
    assert picture.size == (4 * threads, 14 * rounds)
    pixels = np.asarray(picture.convert("RGBA"))[6::14, 2::4, :3]
    assert set(timeline.kinds.ravel()) == {0, 1, 2, 3, 4}  # idle, at work, conflicts of 2, 4 and 8 ways
    for kind, colour in enumerate(LIGHT.lanes[1:], 1):
        seen = (pixels == list(bytes.fromhex(colour[1:]))).all(axis=2)
        assert np.array_equal(seen, timeline.kinds == kind)
    assert "8-way bank conflict" in page and "16-way" not in page


def test_comparison():
    left, right = gpureduce.profile(N, "v1"), gpureduce.profile(N, "v2")
    rows = {name: (a, b) for name, a, b in left.compare(right).rows()}
    assert rows["bank conflicts"] == (left.totals.bank_conflicts, 0)
    assert rows["barriers"] == (left.totals.barriers, right.totals.barriers)
    assert "0x" in str(left.compare(right))
    with pytest.raises(TypeError, match="other: expected Profile"):
        left.compare(3)


def test_timeline():
    found = gpureduce.profile(N, "v1")
    first, last = found.timeline(), found.timeline(block=N // 256 - 1)
    assert first.block == 0 and last.block == N // 256 - 1
    assert (first.states == last.states).all()
    assert first.active.sum(axis=1).tolist() == [256, 128, 64, 32, 16, 8, 4, 2, 1, 1]
    assert first.conflict.sum(axis=1).tolist() == [0, 128, 64, 32, 16, 8, 4, 2, 0, 0]
    assert first.ways.max(axis=1).tolist() == [0, 2, 4, 8, 8, 8, 4, 2, 0, 0]
    assert first.kinds.max(axis=1).tolist() == [1, 2, 3, 4, 4, 4, 3, 2, 1, 1]
    assert "round    1 |" + "2" * 32 + "." * 32 + "|" in str(first)
    assert "round    3 |" + "8" * 8 + "." * 56 + "|" in str(first)
    assert first.text(width=256).splitlines()[-1].count(".") == 255
    assert found.timeline(kernel=1).states.shape == (10, 256)
    with pytest.raises(ValueError, match=r"block: expected 0 to 63, got 64"):
        found.timeline(64)
    with pytest.raises(ValueError, match=r"kernel: expected 0 to 1, got 2"):
        found.timeline(kernel=2)
    with pytest.raises(ValueError, match="width"):
        first.text(0)


def test_who_begins_a_copy_is_at_work():
    """In v12 the first thread alone asks for pieces of the array before the first barrier."""
    first = gpureduce.profile(2**13, "v12", block_size=64, grid_size=2, races=False).timeline().active[0]
    assert first.sum() == 1


def test_timeline_plot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    timeline = gpureduce.profile(4096, "v1").timeline()
    for dark, palette in ((False, LIGHT), (True, DARK)):
        mesh = timeline.plot(dark=dark).collections[0]
        colours = mesh.cmap(mesh.norm(np.arange(len(KINDS))))
        assert [matplotlib.colors.to_hex(each) for each in colours] == list(palette.lanes)
        assert np.array_equal(mesh.get_array().reshape(timeline.kinds.shape), timeline.kinds)


# Refused


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


def test_a_kernel_of_ones_own_is_looked_at_again():
    """As it ran first, though it changed what it was given, and the caller did, too."""
    a = np.arange(64, dtype=np.float32)
    found = gpureduce.simulate(SCALE, "scale", 2, 32, [a, a, 2.0, 64, 0])
    assert (a == 2 * np.arange(64)).all()
    a[:] = -1
    accesses = found.accesses(block=1)
    assert len(accesses) == 64 and set(accesses["memory"]) == {0}
    assert found.timeline(block=1).block == 1 and (a == -1).all()


EMPTY = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{ ret; }\n"


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


# PTX of one's own

SCALE = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry scale(.param .u64 in, .param .u64 out, .param .f32 factor, .param .u32 n, .param .s16 shift)
{
    .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<4>; .reg .b16 %h<2>;
    ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; ld.param.f32 %f1, [factor]; ld.param.u32 %r1, [n];
    ld.param.s16 %h1, [shift]; cvt.s32.s16 %r6, %h1; cvt.rn.f32.s32 %f3, %r6;
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p, %r5, %r1;
    @%p bra end;
    mul.wide.u32 %rd3, %r5, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;
    ld.global.f32 %f2, [%rd4]; mul.rn.f32 %f2, %f2, %f1; add.rn.f32 %f2, %f2, %f3;
    st.global.f32 [%rd5], %f2;
end: ret;
}
"""


def scale(a, out, factor=2.5, n=None, shift=-3, grid=4, block=64):
    return gpureduce.simulate(
        SCALE, "scale", grid, block, [a, out, factor, len(a) if n is None else n, shift]
    )


def test_simulate_runs_a_kernel():
    a = np.arange(200, dtype=np.float32)
    out = np.full(201, 7, dtype=np.float32)
    found = scale(a, out)
    assert (out[:200] == a * np.float32(2.5) - 3).all() and out[200] == 7
    assert (a == np.arange(200)).all()
    assert found.totals.global_load_requests == 7 and found.totals.global_load_sectors == 25
    assert found.races == () and found.kernels[0].grid == (4, 1, 1)
    assert "ld.global.f32" in found.annotate()
    assert "2 x" not in found.title and "4 x 1 x 1 blocks of 64 x 1 x 1" in found.title


REMOTE = """.version 8.0
.target sm_90
.address_size 64
.visible .entry remote(.param .u64 out) {
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    .shared .align 4 .b32 slot;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %cluster_ctarank;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, slot;
    st.shared.u32 [slot], %r2;
    {wait}
    xor.b32 %r4, %r1, 1;
    mapa.shared::cluster.u32 %r5, %r3, %r4;
    ld.shared::cluster.u32 %r6, [%r5];
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r6;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    ret;
}
"""


def test_simulate_takes_a_cluster_size():
    """Each block takes its neighbour's number; with the barrier gone that is a race."""
    out = np.zeros(6, np.uint32)
    waiting = REMOTE.replace("{wait}", "barrier.cluster.arrive; barrier.cluster.wait;")
    assert gpureduce.simulate(waiting, "remote", 6, 1, [out], cluster=2).races == ()
    assert out.tolist() == [1, 0, 3, 2, 5, 4]
    races = gpureduce.simulate(REMOTE.replace("{wait}", ""), "remote", 6, 1, [out], cluster=(2, 1, 1)).races
    assert {race.kind for race in races} == {"write-read", "read-write", "uninitialised"}
    with pytest.raises(gpureduce.SimulationError, match="no block 1 in a cluster of 1"):
        gpureduce.simulate(waiting, "remote", 6, 1, [out])


def test_simulate_takes_any_numpy_array():
    grid = np.arange(400, dtype=np.float32).reshape(20, 20)
    out = np.zeros((20, 20), dtype=np.float32)
    scale(grid[::2, ::2], out[::2, ::2], n=100)
    assert (out[::2, ::2] == grid[::2, ::2] * np.float32(2.5) - 3).all()
    assert not out[1::2].any()
    inplace = np.arange(64, dtype=np.float32)
    gpureduce.simulate(
        SCALE, "scale", 1, (64, 1), (inplace, inplace, np.float32(2), np.uint32(64), np.int16(1))
    )
    assert (inplace == 2 * np.arange(64) + 1).all()
    frozen = np.zeros(64, dtype=np.float32)
    frozen.flags.writeable = False
    scale(np.ones(64, dtype=np.float32), frozen)
    assert not frozen.any()


def test_simulate_refuses():
    a, out = np.ones(64, dtype=np.float32), np.zeros(64, dtype=np.float32)

    def simulate(ptx=SCALE, kernel="scale", grid=1, block=64, args=(a, out, 2.0, 64, 1), **rest):
        return gpureduce.simulate(ptx, kernel, grid, block, args, **rest)

    for call, error, text in [
        (lambda: simulate(ptx=b"x"), TypeError, "source: expected str or a path, got bytes"),
        (lambda: simulate(ptx=".nonsense\n"), gpureduce.SimulationError, "line 1"),
        (
            lambda: simulate(ptx=SCALE.replace("mul.rn.f32", "frob.f32")),
            gpureduce.SimulationError,
            r"line 14.*frob",
        ),
        (lambda: simulate(kernel="scales"), ValueError, r"kernel: there is no kernel 'scales'.*\['scale'\]"),
        (lambda: simulate(kernel="scale\0"), ValueError, "kernel: a name cannot have a NUL"),
        (lambda: simulate(grid=0), ValueError, "grid: expected 1 to"),
        (lambda: simulate(grid=(1, 2, 3, 4)), TypeError, "grid: expected an int or up to three"),
        (lambda: simulate(grid=1.5), TypeError, "grid: expected an int"),
        (lambda: simulate(grid=(1, "2")), TypeError, "grid: expected an int"),
        (lambda: simulate(block=2048), ValueError, "a block of 2048"),
        (lambda: simulate(cluster=0), ValueError, "cluster: expected 1 to"),
        (lambda: simulate(cluster="2"), TypeError, "cluster: expected an int"),
        (lambda: simulate(grid=3, cluster=2), ValueError, "clusters of 2 blocks do not divide the grid's 3"),
        (lambda: simulate(shared_bytes=-1), ValueError, "shared_bytes: expected 0 or more"),
        (lambda: simulate(shared_bytes=10**6), ValueError, "1000000 dynamic bytes"),
        (lambda: simulate(args=(a, out)), ValueError, "args: the kernel takes 5 arguments, got 2"),
        (lambda: simulate(args=a), TypeError, "args: expected a list or tuple"),
        (lambda: simulate(args=(a, out, "x", 64, 1)), TypeError, r"args\[2\]: expected a value for a .f32"),
        (lambda: simulate(args=(a, out, 1e300, 64, 1)), ValueError, r"args\[2\]: 1e\+300 does not fit"),
        (
            lambda: simulate(args=(a, out, 2.0, 2**32, 1)),
            ValueError,
            r"args\[3\]: 4294967296 does not fit a .u32",
        ),
        (lambda: simulate(args=(a, out, 2.0, 64.0, 1)), TypeError, r"args\[3\]: expected a value for a .u32"),
        (
            lambda: simulate(args=(a, out, 2.0, 64, 70000)),
            ValueError,
            r"args\[4\]: 70000 does not fit a .s16",
        ),
        (lambda: simulate(args=(a, out, a, 64, 1)), TypeError, r"args\[2\]: the kernel takes a .f32 here"),
        (
            lambda: simulate(args=(a, out, 2.0, b"123", 1)),
            ValueError,
            r"args\[3\]: the parameter has 4 bytes",
        ),
        (lambda: simulate(args=(a, a[1:], 2.0, 64, 1)), ValueError, r"args\[1\]: the array shares memory"),
        (lambda: simulate(args=(a, out.astype(">f4"), 2.0, 64, 1)), ValueError, r"args\[1\]:.*byte order"),
        (lambda: simulate(args=(a, out.astype(object), 2.0, 64, 1)), TypeError, r"args\[1\]:.*objects"),
        (lambda: simulate(args=(a, out, 2.0, 65, 1), grid=2), gpureduce.SimulationError, "not allocated"),
        (lambda: simulate(races="yes"), ValueError, "races: expected True, False or 'global'"),
    ]:
        with pytest.raises(error, match=text):
            call()
    assert not out.any()


def test_a_stopped_kernel_leaves_its_profile():
    a, out = np.ones(64, dtype=np.float32), np.zeros(32, dtype=np.float32)
    with pytest.raises(gpureduce.SimulationError, match="past the end") as raised:
        scale(a, out, grid=1)
    assert raised.value.profile.totals.global_load_requests == 2
    assert not out.any()


LOOP = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry forever() { again: bra again; }
"""


def test_ctrl_c_stops_a_simulation():
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored
    start = time.monotonic()
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            gpureduce.simulate(LOOP, "forever", 1, 32)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - start < 20


def test_profiles_run_beside_each_other():
    """From several threads at once, and with the GIL released meanwhile."""
    wanted = str(gpureduce.profile(50_000, "v2").annotate())
    got = [None] * 4
    threads = [
        threading.Thread(target=lambda i=i: got.__setitem__(i, gpureduce.profile(50_000, "v2").annotate()))
        for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [wanted] * 4
