"""What is written down of a block, step by step, and the page that plays it (tests/tools/check_player.py)."""

import base64
import json
import re
import zlib

import numpy as np
import pytest

import gpureduce
from gpureduce._profiles import program
from gpureduce._profiles.records import STEPS
from gpureduce._profiles.trace import STEP, TOUCH, WRITTEN

KERNEL = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out)
{
.reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .f32 %f<4>; .reg .pred %p<4>;
.shared .align 8 .b32 s[128];
ld.param.u64 %rd1, [out];
mov.u32 %r1, %tid.x;
mul.lo.u32 %r2, %r1, 16;
mov.u32 %r3, s;
and.b32 %r4, %r2, 511; add.u32 %r3, %r3, %r4;
st.shared.u32 [%r3], %r1;
bar.sync 0;
setp.lt.u32 %p1, %r1, 3;
@%p1 ld.shared.u32 %r5, [%r3];
cvt.rn.f32.u32 %f1, %r1; mul.f32 %f2, %f1, 0f3F000000;
mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;
st.global.f32 [%rd3], %f2;
ret;
}
"""


@pytest.fixture(scope="module")
def found():
    out = np.zeros(40, np.float32)
    found = gpureduce.simulate(KERNEL, "k", 1, 40, [out])
    assert (out == 0.5 * np.arange(40)).all()
    return found


@pytest.fixture(scope="module")
def trace(found):
    return found._rerun(0, STEPS).kernels[0].trace


def test_ptx_is_parsed_once_for_all_runs_of_a_kernel(found):
    misses = program._parsed.cache_info().misses
    found._rerun(0, STEPS)
    gpureduce.simulate(KERNEL, "k", 1, 40, [np.zeros(40, np.float32)])
    assert program._parsed.cache_info().misses == misses


def steps_of(trace, words):
    """Return the steps of an instruction, by warp."""
    found = [i for i, step in enumerate(trace.steps) if trace.statements[step["pc"]].startswith(words)]
    return sorted(found, key=lambda i: trace.steps[i]["warp"])


def test_every_instruction_of_each_warp_is_a_step(found, trace):
    assert len(trace.steps) == found.totals.warp_instructions and trace.lost == 0
    first, second = (trace.steps[trace.steps["warp"] == warp] for warp in (0, 1))
    assert first["pc"].tolist() == second["pc"].tolist() == list(range(trace.statements.index("ret") + 1))
    assert set(first["active"]) == {2**32 - 1} and set(second["active"]) == {2**8 - 1}
    behind = [int(step["round"]) for step in trace.steps if trace.statements[step["pc"]].startswith("setp")]
    assert behind == [1, 1] and trace.steps["round"][0] == 0
    executed = [int(trace.steps["executed"][i]) for i in steps_of(trace, "ld.shared")]
    assert executed == [7, 0]


def test_accesses_are_lane_by_lane(trace):
    (store, other) = (trace.touches[trace.touches["step"] == i][0] for i in steps_of(trace, "st.shared"))
    assert (store["mask"], store["bytes"], store["space"], store["effect"]) == (2**32 - 1, 4, 2, 2)
    assert store["offset"].tolist() == [16 * lane % 512 for lane in range(32)]
    assert (store["wavefronts"], store["ideal"], other["wavefronts"]) == (4, 1, 1)
    stores = [trace.touches[trace.touches["step"] == i][0] for i in steps_of(trace, "st.global")]
    assert stores[1]["offset"][:8].tolist() == [4 * thread for thread in range(32, 40)]
    assert stores[0]["memory"] == stores[1]["memory"] != 0 and stores[0]["wavefronts"] == 4


def test_registers_are_those_behind_the_step(trace):
    second = steps_of(trace, "mul.f32")[1]
    pc = trace.steps[second]["pc"]
    assert trace.registers(pc)[0] == "%f2"
    (written,) = trace.written[trace.written["step"] == second]
    halves = written["lanes"][:8].astype(np.uint32).view(np.float32)
    assert halves.tolist() == [0.5 * thread for thread in range(32, 40)] and written["bytes"] == 4
    (wide,) = trace.written[trace.written["step"] == steps_of(trace, "mul.wide")[0]]
    assert wide["bytes"] == 8 and wide["lanes"].tolist() == [4 * thread for thread in range(32)]
    assert not len(trace.written[trace.written["step"] == steps_of(trace, "setp")[0]])


def test_names_of_registers():
    trace = (
        gpureduce.simulate(KERNEL, "k", 1, 32, [np.zeros(32, np.float32)])._rerun(0, STEPS).kernels[0].trace
    )
    pc = {text.partition(" ")[0]: i for i, text in enumerate(trace.statements)}
    assert trace.registers(pc["st.shared.u32"]) == ["%r3", "%r1"]
    assert trace.registers(pc["setp.lt.u32"])[0] == "%r1"  # the predicate is none


def test_the_trace_is_as_long_as_it_may_be():
    found = gpureduce.profile(4 * 10**5, "v7", block_size=256, grid_size=1, races=False)
    launch = found._rerun(0, STEPS).kernels[0]
    assert len(launch.trace.steps) == 10_000 and launch.trace.lost == launch.totals.warp_instructions - 10_000
    player = found.player()
    assert (player.steps, player.lost) == (10_000, launch.trace.lost)
    assert f"{player.lost:,} further steps are not kept" in player.html and len(player.html) < 4_000_000


def test_bulk_copies_are_seen():
    launch = gpureduce.profile(2**13, "v12", block_size=64, races=False)._rerun(0, STEPS).kernels[0]
    copies = launch.trace.touches[launch.trace.touches["effect"] == 8]
    assert copies["bytes"].sum() > 0 and set(copies["space"]) == {2}
    assert all(
        "cp.async.bulk" in launch.trace.statements[launch.trace.steps[i]["pc"]] for i in copies["step"]
    )


def test_another_block_is_another_trace():
    found = gpureduce.profile(1000, "v0", block_size=64, races=False)
    first, last = (found._rerun(block, STEPS).kernels[0].trace for block in (0, 15))
    loads = [
        trace.touches[(trace.touches["space"] == 1) & (trace.touches["effect"] == 1)]
        for trace in (first, last)
    ]
    assert loads[0]["offset"][0, 0] == 0 and loads[1]["offset"][0, 0] == 4 * 64 * 15
    assert loads[1]["mask"].tolist() == [2**32 - 1, 2**8 - 1]


def data_of(player):
    text = re.search('<script type="application/json" id="data">(.*?)</script>', player.html, re.DOTALL)[1]
    assert "<" not in text  # whatever stands in a source, it ends no script and begins no comment
    return json.loads(text)


def test_the_page_needs_nothing_else(found, tmp_path):
    player = found.player()
    player.save(tmp_path / "k.html")
    assert (tmp_path / "k.html").read_text("utf-8") == player.html
    assert not re.search(r"https?://|src=|@import|url\(|<link", player.html)
    data = data_of(player)
    tables = zlib.decompress(base64.b64decode(data["trace"]))
    sizes = [
        count * kind.itemsize for count, kind in zip(data["counts"], (STEP, TOUCH, WRITTEN), strict=True)
    ]
    assert len(tables) == sum(sizes) and data["counts"][0] == player.steps
    assert np.frombuffer(tables[: sizes[0]], STEP)["warp"].max() == 1
    assert data["warps"] == 2 and data["threads"] == 40 and len(data["memories"]) == 1
    assert "<iframe srcdoc=" in player._repr_html_() and "<script" not in player._repr_html_()


def test_the_page_has_the_source():
    found = gpureduce.profile(256, "v2", block_size=64, races=False)
    data = data_of(found.player())
    names = [each["name"] for each in data["files"]]
    at = names.index("cuda_kernels/reduce/v2_sequential.cu")
    assert data["files"][at]["lines"] == gpureduce.source("v2").splitlines()
    assert data["main"] == at == 0
    for each in data["instructions"]:
        of_own = [i for i, (file, _) in enumerate(each["frames"]) if file == at]
        assert each["here"] == (of_own[0] if of_own else None)
    lines = [each["frames"][each["here"]][1] for each in data["instructions"] if each["effect"] == "barrier"]
    assert sorted(lines) == [line.number for line in found.lines() if line.counts.barriers]


def test_player_refuses_absent_indices():
    found = gpureduce.profile(2000, "v2", block_size=512)
    assert data_of(found.player())["warps"] == 16
    with pytest.raises(ValueError, match="block: expected 0 to 3, got 4"):
        found.player(block=4)
    with pytest.raises(ValueError, match="kernel: expected 0 to 1, got 2"):
        found.player(kernel=2)


def test_a_stopped_kernel_is_played_until_then():
    out = np.zeros(32, np.float32)
    with pytest.raises(gpureduce.SimulationError, match="past the end") as raised:
        gpureduce.simulate(KERNEL, "k", 1, 40, [out])
    data = data_of(raised.value.profile.player())
    statements = [each["text"] for each in data["instructions"]]
    steps = np.frombuffer(zlib.decompress(base64.b64decode(data["trace"])), STEP, data["counts"][0])
    assert statements[steps["pc"][-1]].startswith("st.global") and len(steps) > 20
