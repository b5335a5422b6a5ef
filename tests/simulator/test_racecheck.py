"""The race detector: every rung but the racy one is clean, and each deliberately broken kernel is flagged."""

import json
import re
import struct
from pathlib import Path

import numpy as np
import pytest

import gpureduce
from gpureduce._device.ptx import ptx_text
from gpureduce._profiles import diagnostics, from_core, records
from tests.support import broken

ROOT = Path(__file__).resolve().parents[2]

HOPPER = broken.names(broken.HOPPER)
ALL = broken.names() + HOPPER


def ptx_of(name):
    try:
        return broken.ptx(name)
    except ImportError as error:
        pytest.skip(f"the broken kernels need NVRTC: {error}")


def run(name):
    """The profile of a broken kernel, whether it runs to its end or not."""
    try:
        return gpureduce.simulate(ptx_of(name), name, broken.BLOCKS, broken.THREADS, broken.arguments())
    except gpureduce.SimulationError as error:
        return error.profile


def test_there_are_enough_of_them():
    kinds = [broken.expected(name) for name in broken.names()]
    assert sum("race" in kind for kind in kinds) >= 12
    assert sum("uninitialised" in kind for kind in kinds) >= 3
    assert sum("barrier" in kind for kind in kinds) >= 2
    assert sum(not kind for kind in kinds) >= 4


@pytest.mark.parametrize("name", ALL)
def test_a_broken_kernel_is_flagged_for_what_it_is(name):
    races = run(name).races
    assert broken.flagged(races) == broken.expected(name)
    text = broken.source(name).read_text().splitlines()
    for race in races:
        for side in (race.first, race.second):
            if side is None:
                continue
            assert side.file.endswith((f"{name}.cu", "copies.cuh")) and 0 < side.line <= len(text)
            assert 0 <= side.thread < broken.THREADS and side.place in str(race)
            assert 0 <= side.block < broken.BLOCKS
        assert 0 <= race.block < broken.BLOCKS and race.count > 0


def test_reports_name_the_lines():
    """The two statements of the missing barrier, by the words in them."""
    text = (broken.FOLDER / "missing_syncwarp_after_write.cu").read_text().splitlines()
    (race,) = run("missing_syncwarp_after_write").races[:1]
    assert race.kind == "write-read" and race.same_warp and race.missing == "__syncwarp"
    assert "slots[t] = x" in text[race.first.line - 1]
    assert "x += slots[t + stride]" in text[race.second.line - 1]
    text = (broken.FOLDER / "missing_barrier_before_reuse.cu").read_text().splitlines()
    races = run("missing_barrier_before_reuse").races
    lines = {text[side.line - 1].strip() for race in races for side in (race.first, race.second)}
    assert any(line.startswith("slots[t] = i < n") for line in lines)
    assert any(line.startswith("total += slots[0]") for line in lines)
    assert any(race.missing == "__syncthreads" for race in races)


def test_a_barrier_that_lanes_miss_stops_the_kernel():
    name = "barrier_in_branch"
    arguments = broken.arguments()
    with pytest.raises(gpureduce.SimulationError, match="divergent barrier") as raised:
        gpureduce.simulate(ptx_of(name), name, broken.BLOCKS, broken.THREADS, arguments)
    (race,) = raised.value.profile.races
    assert race.kind == "barrier" and race.first.line != race.second.line
    assert not arguments[1].any()  # nothing came back


@pytest.mark.parametrize("variant", [v.name for v in gpureduce.variants("reduction") if "sim" in v.backends])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_every_rung_but_the_racy_one_is_clean(variant, dtype, some):
    record = {each.name: each for each in gpureduce.variants("reduction")}[variant]
    sizes = record.block_sizes
    for block in some(sorted({sizes[0], sizes[len(sizes) // 2], sizes[-1]}), 2):
        for n in (0, 1, 1025, 5003):
            races = gpureduce.profile(n, variant, dtype=dtype, block_size=block).races
            if record.role == "study":
                assert broken.flagged(races) == {"race"}
                assert all(race.same_warp and race.missing == "__syncwarp" for race in races)
            else:
                assert races == ()


def test_the_racy_rung_is_flagged_where_it_races():
    races = gpureduce.profile(4096, "v4_published").races
    source = gpureduce.source("v4_published").splitlines()
    assert {race.kind for race in races} == {"write-read", "read-write"}
    for race in races:
        assert "slots[t] = Op::combine(slots[t], slots[t + " in source[race.first.line - 1]
        assert "slots[t] = Op::combine(slots[t], slots[t + " in source[race.second.line - 1]


ONE_CAUSE = [
    name
    for name in broken.names()
    if name.startswith(("missing_barrier", "missing_syncwarp", "product_without_first", "product_of_two"))
]


@pytest.mark.parametrize("name", ONE_CAUSE)
def test_one_missing_barrier_is_one_finding(name):
    found = run(name)
    assert len(found.findings) == 1 and set(found.findings[0].races) == set(found.races)
    assert found.findings[0].count == sum(race.count for race in found.races)
    assert found.findings[0].missing == ("__syncwarp" if "syncwarp" in name else "__syncthreads")
    assert "! 1 hazard:" in found.annotate() and found._repr_html_().count("<li>") == 1
    assert found.compare(found).rows()[-1] == ("hazards", 1, 1)


def race_of_lines(first, second, warps=(0, 1), kind="write-read"):
    sides = [
        records.Access("k.cu", line, 100 * line, "ld.shared", 32 * warp, 0)
        for line, warp in zip((first, second), warps, strict=True)
    ]
    return records.Race(kind, *sides, "k", 0, 0, 1)


def test_two_missing_barriers_are_two_findings():
    """One before a loop at line 11, whose statement races with itself, and one in it."""
    before, itself = race_of_lines(8, 11), race_of_lines(11, 11, kind="read-write")
    behind, warp = race_of_lines(14, 11, kind="read-write"), race_of_lines(11, 14, warps=(0, 0))
    found = diagnostics.findings([itself, behind, before, warp])
    assert [set(each.races) for each in found] == [{before}, {itself, behind, warp}]
    assert [each.missing for each in found] == ["__syncthreads", "__syncthreads"]
    assert "2 more pairs of instructions" in str(found[1]) and str(found[0]) == str(before)
    assert [each.missing for each in diagnostics.findings([warp])] == ["__syncwarp"]
    elsewhere = records.Race(*("write-read", before.first, before.second, "other", 0, 0, 1))
    assert len(diagnostics.findings([before, elsewhere])) == 2


def test_races_can_be_left_out():
    assert gpureduce.profile(4096, "v4_published", races=False).races == ()


# compute-sanitizer on an H200, recorded by tests/gpu/sanitize_broken.py

SANITIZER = [
    row
    for name in ("sanitizer_agreement_h200.json", "sanitizer_planted_h200.json")
    for row in json.loads((ROOT / "tests" / "data" / name).read_text())["rows"]
]
DIFFERENCES = {
    "early_result": "racecheck does not hold a plain read against atomics",
    "race_before_exit": "racecheck is silent about what follows the last barrier",
    "barrier_of_odd_lanes": "the simulator stops at the barrier, before the race that racecheck sees",
    "clean_wait_of_lanes": "racecheck has __syncwarp pass on no wait at an mbarrier",
    "missing_wait_for_reads": "racecheck does not see what a bulk copy reads",
    **dict.fromkeys(
        ("missing_barrier_before_product", "missing_barrier_after_product", "missing_wait_for_products"),
        "racecheck does not see what tensor cores read",
    ),
}


def test_every_broken_kernel_was_given_to_compute_sanitizer():
    assert {row["kernel"] for row in SANITIZER if row["broken"]} == set(ALL)
    agreeing = [row for row in SANITIZER if row["broken"] and row["racecheck"]["findings"]]
    assert len({row["kernel"] for row in agreeing} - DIFFERENCES.keys()) >= 12


@pytest.mark.parametrize("name", ALL)
def test_racecheck_agrees(name):
    """What the file announces is what the detector finds: see above."""
    (row,) = (row for row in SANITIZER if row["kernel"] == name)
    ours, theirs = "race" in broken.expected(name), row["racecheck"]["findings"] > 0
    assert (ours != theirs) == (name in DIFFERENCES)
    # Shared memory that no lane has written is no business of any of its tools.
    assert row["initcheck"]["findings"] == 0
    if row["synccheck"]["findings"]:
        # A place that is filled again without a wait for the lanes that arrived is a race in our terms.
        missing = row["synccheck"]["kinds"] == ["Barrier error detected. Missing wait."]
        assert ("race" if missing else "barrier") in broken.expected(name)


def test_racecheck_agrees_on_the_rungs():
    rows = {row["kernel"]: row for row in SANITIZER if not row["broken"]}
    for variant in gpureduce.variants("reduction"):
        if not variant.installed or variant.name not in rows:
            continue
        racy = variant.role == "study"
        assert (rows[variant.name]["racecheck"]["findings"] > 0) == racy
        assert rows[variant.name]["synccheck"]["findings"] == 0
    assert {f"v{i}" for i in range(9)} <= rows.keys() and "v4_published" in rows


# Readers that the writer has not met

READERS = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out)
{
.reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<8>;
.shared .align 4 .b32 x;
ld.param.u64 %rd1, [out];
mov.u32 %r1, %tid.x;
shr.u32 %r2, %r1, 5;
setp.eq.u32 %p1, %r1, 96;
@%p1 st.shared.u32 [x], 5;
bar.sync 0;
setp.lt.u32 %p2, %r2, {readers};
@%p2 ld.shared.u32 %r3, [x];
setp.eq.u32 %p3, %r2, 0;
@%p3 bra DONE;
bar.sync 1{count};
@%p1 st.shared.u32 [x], 6;
DONE:
{after}
mul.wide.u32 %rd2, %r1, 4;
add.u64 %rd1, %rd1, %rd2;
st.global.u32 [%rd1], %r1;
ret;
}
"""


@pytest.mark.parametrize("readers", [1, 2, 3])
@pytest.mark.parametrize("after", ["", "bar.sync 0;"])
def test_a_reader_that_misses_the_barrier_is_found(readers, after):
    """Warp 0 is not at the barrier of the others, whether it has left by then or not, and they read, too."""
    ptx = READERS.replace("{readers}", str(readers)).replace("{count}", ", 96").replace("{after}", after)
    out = np.zeros(128, np.uint32)
    (race,) = gpureduce.simulate(ptx, "k", 1, 128, [out]).races
    assert (race.kind, race.first.thread, race.second.thread) == ("read-write", 0, 96)
    assert out.tolist() == list(range(128))


def test_a_barrier_of_all_waits_for_those_who_have_left():
    ptx = READERS.replace("{readers}", "3").replace("{count}", "").replace("{after}", "")
    assert gpureduce.simulate(ptx, "k", 1, 128, [np.zeros(128, np.uint32)]).races == ()


COPIED = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{{
.reg .b32 %r<8>; .reg .b64 %rd<8>;
.shared .align 4 .b8 s[512];
ld.param.u64 %rd1, [out];
mov.u32 %r1, %tid.x;
shl.b32 %r2, %r1, 2;
mov.u32 %r3, s;
add.u32 %r3, %r3, %r2;
cvt.u64.u32 %rd2, %r2;
add.u64 %rd1, %rd1, %rd2;
cp.async.ca.shared.global [%r3], [%rd1], 4;
{between}
xor.b32 %r3, %r3, {other};
ld.shared.u32 %r4, [%r3];
st.global.u32 [%rd1], %r4;
ret;
}}
"""


@pytest.mark.parametrize(
    ("between", "other", "missing"),
    [
        ("", 0, "a wait for the copy's group"),
        ("bar.sync 0;", 4, "a wait for the copy's group, or __syncthreads behind it,"),
        ("cp.async.wait_all;", 4, "a wait for the copy's group, or __syncthreads behind it,"),
        ("cp.async.wait_all;", 0, None),
        ("cp.async.wait_all; bar.sync 0;", 4, None),
    ],
)
def test_copies_of_a_group_are_waited_for(between, other, missing):
    ptx = COPIED.format(between=between, other=other)
    races = gpureduce.simulate(ptx, "k", 1, 128, [np.zeros(128, np.uint32)]).races
    assert [(race.kind, race.missing) for race in races] == ([("write-read", missing)] if missing else [])
    assert all(race.by_copy and f"; {missing} is missing between" in str(race) for race in races)


# Clusters, mbarriers and bulk copies


def test_there_are_broken_kernels_for_hopper():
    flawed = [name for name in HOPPER if broken.expected(name)]
    assert len(flawed) >= 8 and len(HOPPER) - len(flawed) >= 5
    assert {"missing_mbarrier_wait", "missing_cluster_barrier", "missing_fence"} <= set(flawed)


def test_a_missing_fence_is_named():
    race, *_ = run("missing_fence").races
    assert race.missing == "fence.proxy.async" and race.first.ptx.startswith("st.shared")
    assert "copies shared memory that a thread has written by ordinary stores" in str(race)


def test_reports_name_copies_and_blocks():
    race, *_ = run("missing_mbarrier_wait").races
    assert (
        race.kind == "write-read"
        and race.by_copy
        and race.missing == "a wait at the mbarrier of the copy, or a barrier before it"
    )
    assert race.first.thread == 0 and race.first.ptx.startswith("cp.async.bulk")
    races = run("missing_cluster_barrier").races
    race = next(race for race in races if race.kind == "write-read")
    assert not race.same_block and race.missing == "a barrier of the cluster"
    assert race.first.block == race.block == (race.second.block + 1) % broken.BLOCKS
    assert f"of block {race.second.block}" in str(race)


FLAT_SUM = ptx_text("flat_sum.cu")
RING_SUM = ptx_text("flat_sum_90.cu")


def flat_launch(kernel, values, text=None, out_dtype=None, skipped=0):
    """Run a kernel of the default way by itself, observed; return its result and its races.

    The array begins behind as many `skipped` elements of memory that is aligned to 256 bytes.
    """
    count = values.size - skipped
    text = text or (RING_SUM if kernel.startswith("ring") else FLAT_SUM)
    if skipped > 0:
        text = with_offset(text, kernel, skipped * values.itemsize)
    out, slots = np.zeros(16, values.dtype if out_dtype is None else out_dtype), np.zeros(264 * 8, np.uint64)
    flags = 1  # GR_FLAT_FINAL
    params = struct.pack("<4Q2I4Q16x", 0, 0, count, 0, flags, 0, 0, 0, 0, count)
    block, shared = (256, 6 * (32768 + 128)) if kernel.startswith("ring") else (512, 0)
    places = ((values, 0), (out, 8), (slots, 24))
    one = (1, 1, 1)
    launches, problem = gpureduce._core.simulate(
        gpureduce._core.parse_ptx(text),
        kernel,
        (3, 1, 1),
        (block, 1, 1),
        one,
        params,
        places,
        shared,
        (True, 0, 0),
    )
    assert problem is None
    return out, from_core.kernel_profiles(launches, "", 0)[0].races


def with_offset(text, kernel, offset):
    """Return PTX of a kernel that adds `offset` to the address that is its first parameter."""
    names = {"rd": "s64", "r": "s32", "rs": "s16"}
    loads = re.compile(rf"ld\.param\.\S+\s+\{{?%(rd|rs|r)(\d+)[^;]*\[{kernel}_param_0\];")
    found = loads.search(text)
    assert found is not None
    return loads.sub(
        lambda load: f"{load[0]}\n\tadd.{names[load[1]]} %{load[1]}{load[2]}, %{load[1]}{load[2]}, {offset};",
        text,
    )


@pytest.mark.parametrize(
    "name", ["ring_sum_f16", "ring_sum_f32", "ring_sum_f64", "ring_sum_c64", "flat_sum_f16"]
)
def test_the_order_does_not_depend_on_the_address(name):
    """The bits at offsets in a line of 128 bytes, with elements behind the last piece and with none."""
    dtype = np.dtype(name.rpartition("_")[2].replace("f", "float").replace("c64", "complex64"))
    item = dtype.itemsize
    offsets = sorted({*range(16 // item + 1), *range(0, 128 // item + 1, 16 // item), 128 // item - 1})
    for count in (3 * 7 * 32768 // item, 2 * 32768 // item + 16 // item + 1, 5 * 32768 // item - 1):
        values = np.random.default_rng(count).standard_normal(count) * 2.0 ** (np.arange(count) % 11)
        wanted = None
        for skipped in offsets:
            placed = np.concatenate([np.full(skipped, np.nan), values]).astype(dtype)
            out, races = flat_launch(name, placed, skipped=skipped)
            wanted = out[0] if skipped == 0 else wanted
            assert races == () and out[0] == wanted, (count, skipped)


@pytest.mark.parametrize("kernel", ["flat_sum", "ring_sum"])
@pytest.mark.parametrize("dtype", ["f32", "u64", "u8"])
def test_the_default_kernels_are_clean(kernel, dtype):
    """The ring is filled more than once: each block has more pieces than places."""
    numpy_type = np.dtype({"f32": "f4", "u64": "u8", "u8": "u1"}[dtype])
    count = 3 * 7 * 32768 // numpy_type.itemsize + 1234
    values = np.random.default_rng(3).integers(0, 100, count).astype(numpy_type)
    out, races = flat_launch(f"{kernel}_{dtype}", values)
    assert races == ()
    total = out.view(np.uint64)[0] if dtype == "u8" else out[0]
    assert total == values.sum(dtype=np.uint64 if dtype == "u8" else None)


def test_the_ring_finds_the_first_of_equals():
    """Sums begin at the end of an array; what looks for a place does not."""
    values = np.zeros(3 * 7 * 8192 + 5, np.float32)
    text = ptx_text("flat_argmax_90.cu")
    for first in (0, 70000, values.size - 1):
        values[first:] = 7
        out, races = flat_launch("ring_argmax_f32", values, text, np.int64)
        assert (out[0], races) == (first, ())
        values[:] = 0


def test_the_ring_needs_each_of_its_barriers():
    """But for the first, which tells the others that the mbarriers are set up: that is not looked at."""
    text = RING_SUM
    first = text.index(".entry ring_sum_f32(")
    end = text.index("\n}", first)
    barriers = list(re.finditer(r"bar\.sync[^;]*;", text[first:end]))
    values = np.random.default_rng(3).integers(0, 100, 3 * 7 * 8192 + 1).astype(np.float32)
    assert len(barriers) >= 3
    for barrier in barriers[1:]:
        changed = text[: first + barrier.start()] + text[first + barrier.end() :]
        races = [flat_launch("ring_sum_f32", values, changed, skipped=skipped)[1] for skipped in (0, 1)]
        assert any(broken.flagged(each) == {"race"} for each in races)
