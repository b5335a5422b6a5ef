"""Whole programs: compiled by nvcc, run on the simulator by `gpureduce run` and `run_program`."""

import base64
import json
import os
import re
import signal
import subprocess
import sys
import time
import types
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from gpureduce._custom import nvcc
from gpureduce._profiles.counts import total
from gpureduce._profiles.trace import STEP
from gpureduce._program.build import RUNTIME, compile_program, search_path
from gpureduce.kernels import run_program

ROOT = Path(__file__).parents[2]
SOURCES = Path(__file__).parent / "sources"
pytestmark = [
    pytest.mark.skipif(nvcc.find() is None, reason="needs nvcc and g++"),
    pytest.mark.skipif(not RUNTIME.is_file(), reason="built without the runtime"),
]

# How programs are built besides by `run`: as nvcc does by default (packed by zstd), by LZ4, not packed.
BUILDS = {
    "memory": (),
    "device": ("-gencode", "arch=compute_90,code=compute_90", "-std=c++17"),
    "faults": ("-lineinfo", "-Xfatbin=-compress=false"),
    "reduction": ("-compress-mode=speed", "-DTHREADS=128"),
    "repeated": (),
    "graphs": (),
    "textures": ("-lineinfo",),
    "blocks": ("-lineinfo",),
    "others": ("-w",),  # some of them are deprecated
    "lessons": ("-lineinfo",),
    "children": ("-rdc=true", "-lineinfo"),
}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Programs that nvcc has built without our library, with the name of the runtime in them."""
    folder = tmp_path_factory.mktemp("built")

    def build(name):
        source, program = str(SOURCES / f"{name}.cu"), str(folder / name)
        compile_program(source, program, ("-cudart", "shared", *BUILDS[name]), simulated=False)
        return name, program

    with ThreadPoolExecutor(2) as pool:
        return dict(pool.map(build, BUILDS))


def test_a_program_as_in_a_textbook():
    result = run_program(SOURCES / "reduction.cu", ["1000"], profile=True, races=True)
    assert (result.status, result.launches, result.failures, result.findings) == (0, 1, (), ())
    shown = re.fullmatch(r"right: 2997 in (\d\.\d{6}) ms\n", result.output)
    assert round(float(shown[1]) * 1e6) == result.warp_instructions == result.profile.totals.warp_instructions
    assert result.errors == "gpureduce: times between events are counts: 1 ns per warp instruction\n"
    by_text = {line.text.strip(): line.counts for line in result.profile.lines()}
    assert by_text["out[blockIdx.x] = part[0];"].global_requests == 4
    assert by_text["if (tid < s)"].divergent_branches == 4 * 5
    assert "part[tid] += part[tid + s];" in result.profile.annotate()


def test_a_program_as_in_first_lessons(built):
    result = run_program(built["lessons"], races="global", profile=True)
    lines = result.output.splitlines()
    assert (lines[0], lines[-1]) == ("the sum of 1000 integers is 499500", "the answer is right")
    assert (result.status, result.launches, result.failures, result.findings) == (0, 8, (), ())
    shown = sum(round(float(line.split()[-2]) * 1e3) for line in lines[1:-1])  # 1 ns per warp instruction
    assert 0.9 < 1e3 * shown / result.warp_instructions < 1.1
    counts = {
        kernel.name.partition("(")[0]: total([line.counts for line in kernel.instructions])
        for kernel in result.profile.kernels
    }
    naive, tiled, cores = (counts[name] for name in ("multiply", "multiply_tiled", "multiply_cores"))
    assert naive.multiply_adds == tiled.multiply_adds == 64 * 48 * 32
    assert cores.multiply_adds == 0 and cores.warp_instructions < tiled.warp_instructions / 2
    assert naive.shared_wavefronts == 0 and 4 * tiled.global_sectors < naive.global_sectors
    (finding,) = run_program(built["lessons"], ["race"], races=True).findings
    assert finding.missing == "__syncthreads"
    assert (
        "part[tid] += part[tid + s];"
        in (SOURCES / "lessons.cu").read_text().splitlines()[finding.races[0].first.line - 1]
    )


def test_kernels_launch_kernels(built):
    """Launches by kernels run after the kernel, in their order, and are launches of the program."""
    result = run_program(built["children"], races="global", profile=True)
    assert result.output.splitlines() == [
        "63 nodes: 32 16 8 4 2 1",
        "last error 0 0",
        "the steps are right, the sum is 496",
    ]
    assert (result.status, result.launches, result.failures, result.findings) == (0, 37, (), ())
    names = {kernel.name.partition("(")[0] for kernel in result.profile.kernels}
    assert names == {"grow", "steps", "square", "keep", "give_back"}
    beyond = run_program(SOURCES / "children.cu", ["beyond"], options=["-rdc=true"])
    (failure,) = beyond.failures
    assert "cudaErrorIllegalAddress" in beyond.output and "kernel square(" in failure.message


def data_of(player):
    found = re.search('<script type="application/json" id="data">(.*?)</script>', player.html, re.DOTALL)
    return json.loads(found[1])


def test_a_launch_is_played(built, tmp_path):
    result = run_program(SOURCES / "reduction.cu", ["1000"], player=(0, 3))
    assert result.player.title == "reduction.cu, launch 0: block 3 of reduce"
    data = data_of(result.player)
    assert (data["threads"], data["warps"], data["lost"]) == (256, 8, 0)
    assert data["files"][0]["lines"] == (SOURCES / "reduction.cu").read_text().splitlines()
    # The last block has 232 elements: in its last warp 8 of 32 lanes load.
    steps = np.frombuffer(zlib.decompress(base64.b64decode(data["trace"])), STEP, data["counts"][0])
    loads = [i for i, each in enumerate(data["instructions"]) if each["text"].startswith("ld.global")]
    masks = {int(step["warp"]): int(step["executed"]) for step in steps if step["pc"] in loads}
    assert masks == {**dict.fromkeys(range(7), 2**32 - 1), 7: 2**8 - 1}
    assert result.profile is None and len(steps) == result.player.steps < result.warp_instructions
    # Launches that repeat without effect are traced, too.
    assert run_program(built["repeated"], player=30).player.steps
    assert run_program(SOURCES / "reduction.cu", ["1000"], player=1).player is None
    page = tmp_path / "page.html"
    done = command("--player", str(page), "--launch", "0", "--block", "2", built["reduction"], "1000")
    assert done.returncode == 0 and "block 2 of reduce" in page.read_text()
    done = command("--player", str(page), "--launch", "7", built["reduction"], "1000")
    assert done.returncode == 0
    assert "launch 7 with block 0 did not run; the program had 1 launches" in done.stderr


def test_memory_functions(built):
    result = run_program(built["memory"])
    assert result.output == "memory: right\n", result.errors
    assert result.status == 0
    assert "8 bytes from byte 12 of a variable of 16 bytes" in result.errors


def test_device_functions(built):
    result = run_program(built["device"], races=True)
    lines = result.output.splitlines()
    assert lines[-1] == "device: right", (result.output, result.errors)
    assert lines[0] == "before the kernel's output"  # a synchronisation shows what kernels print
    assert sorted(lines[1:5]) == [f"block {b}, thread {t}" for b in range(2) for t in range(2)]
    assert (result.status, result.findings, len(result.failures)) == (0, (), 5)
    assert [failure.code for failure in result.failures] == [1, 720, 1, 1, 400]
    assert "cudaGraphDebugDotPrint is not simulated yet" in result.errors


def test_the_results_do_not_depend_on_the_number_of_threads(built, monkeypatch):
    counts = set()
    for threads in ("1", "2"):
        monkeypatch.setenv("GPUREDUCE_SIM_THREADS", threads)
        result = run_program(built["device"])
        counts.add((result.output, result.warp_instructions))
    assert len(counts) == 1


def test_launches_that_repeat_without_effect_are_counted(built, monkeypatch):
    skipping = run_program(built["repeated"])
    monkeypatch.setenv("GPUREDUCE_RUN_EVERY_LAUNCH", "1")
    simulated = run_program(built["repeated"])
    assert skipping == simulated and skipping.launches == 67
    # 18 of the first 20 squares, 3 of each 5 of the next, one of the last 3; the others have an effect.
    assert (skipping.repeated, simulated.repeated) == (18 + 4 * 3 + 1, 0)
    first, sixth = 100 * (100 + sum(range(1, 50))), 5 * sum(range(5, 55))
    assert skipping.output.splitlines() == [*["number 7"] * 4, f"640 {first} {sixth} {50 * 3 * 3}"]
    budget = skipping.warp_instructions // 2  # which counted launches use, too
    limited = run_program(built["repeated"], max_steps=budget)
    monkeypatch.delenv("GPUREDUCE_RUN_EVERY_LAUNCH")
    assert limited.failures and run_program(built["repeated"], max_steps=budget) == limited


def test_graphs_and_captures(built):
    result = run_program(built["graphs"])
    assert (result.output, result.status) == ("graphs: right\n", 0), result.errors
    assert result.launches == 4 * 2 + 2 * 2 + 1  # of kernels in graphs, each time


def test_a_race_has_the_lines_of_the_program(built):
    result = run_program(built["faults"], ["race"], races=True)
    (finding,) = result.findings
    assert finding.missing == "__syncthreads" and result.status == 0
    sides = {side.line for race in finding.races for side in (race.first, race.second) if side}
    assert sides == {14, 15}
    assert "faults.cu:14; __syncthreads is missing between" in str(finding)
    assert run_program(built["faults"], ["race"]).findings == ()


def test_an_error_of_a_kernel_stays(built):
    result = run_program(built["faults"], ["bounds"])
    assert result.output.splitlines() == [
        "launch: cudaSuccess",
        "synchronize: cudaErrorIllegalAddress",
        "copy: cudaErrorIllegalAddress",
        "allocate: cudaErrorIllegalAddress",
        "again: cudaErrorIllegalAddress",
    ]
    (failure,) = result.failures
    assert (failure.kernel, failure.code) == ("write", 700)
    assert failure.message.startswith(
        "faults.cu:9: thread (16, 0, 0) of block (1, 0, 0): kernel write(int*, int)"
    )
    assert "0 bytes past the end of the allocation of 256 bytes" in failure.message
    assert failure.message in result.errors
    assert result.errors.endswith("1 of 1 launches failed\n")


def test_an_unknown_instruction_refuses_its_own_kernel(built):
    result = run_program(built["faults"], ["video"])
    assert result.output.startswith("launch: cudaErrorNotSupported\nsynchronize: cudaSuccess\n")
    assert result.output.endswith("again: cudaSuccess\n")
    assert "faults.cu:30: kernel video(" in result.failures[0].message
    assert "not simulated yet (video instructions)" in result.failures[0].message


def test_textures_and_surfaces(built):
    result = run_program(built["textures"], ["outside"])
    assert result.output.splitlines() == ["cudaErrorIllegalAddress", "textures: right"], result.errors
    (failure,) = result.failures
    assert failure.message.startswith("textures.cu:57: thread (0, 0, 0)")
    assert "(0, 100, 0) are outside the surface of 32 bytes x 8 x 1" in failure.message


def test_a_program_that_never_ends(built):
    result = run_program(built["faults"], ["spin"], max_steps=20000)
    assert "synchronize: cudaErrorLaunchTimeout" in result.output
    assert "over its budget of 20000 warp instructions" in result.failures[0].message
    result = run_program(built["faults"], ["deadlock"])
    assert "deadlock: the warp polls memory" in result.failures[0].message
    with pytest.raises(TimeoutError, match=r"timeout: the program takes longer than 0\.5 s"):
        run_program(built["faults"], ["spin"], timeout=0.5)


def test_host_code_that_reads_device_memory(built):
    result = run_program(built["faults"], ["host"])
    assert result.status == -signal.SIGSEGV
    assert re.search(r"host code accesses 0x7\w+, byte 12 of the 256 bytes of device memory", result.errors)


def test_an_abort_still_reports(built):
    assert run_program(built["faults"], ["abort"]).status == -signal.SIGABRT


def test_output_that_no_synchronisation_shows_is_lost(built):
    result = run_program(built["faults"], ["silent"])
    assert result.output == "" and "17 bytes that kernels printed are lost" in result.errors


def command(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "gpureduce", "run", *words], capture_output=True, text=True, **options
    )


def test_the_command(built, tmp_path):
    faults = built["faults"]
    done = command("--races", faults, "race")
    assert done.returncode == 99 and "gpureduce: write-read (reverse, block 0" in done.stderr
    assert command("--races", "--findings-status", "3", faults, "race").returncode == 3
    done = command(faults, "unchecked")
    assert (done.returncode, done.stdout) == (1, "")  # a failed launch does not pass in silence
    assert "a block of 2000 x 1 x 1 threads" in done.stderr and "1 of 1 launches failed" in done.stderr
    done = command(faults, "echo", "--races", input="a\nb\n")
    assert (done.returncode, done.stdout) == (7, "--races>a\n--races>b\n")
    listing = tmp_path / "profile.txt"
    done = command(f"--profile={listing}", built["reduction"], "500")
    assert done.returncode == 0 and done.stdout.startswith("right: 1494 in ")
    assert "reduce: grid 4, block 128" in listing.read_text()
    done = command("--profile", built["reduction"], "500")
    assert "warp instr." in done.stderr and done.returncode == 0
    assert command(faults, "abort").returncode == 128 + signal.SIGABRT


def test_the_command_ends_a_program_by_an_interrupt(built):
    process = subprocess.Popen(
        [sys.executable, "-m", "gpureduce", "run", "--clock", "wall", built["faults"], "spin"],
        stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # it may be ignored
    )  # fmt: skip
    time.sleep(1.5)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    errors = process.communicate(timeout=30)[1]
    assert process.returncode == 130
    assert "kernel spin(int*) was interrupted" in errors


def test_a_text_is_compiled_and_errors_are_the_compilers():
    program = '#include <cstdio>\n__global__ void k() {}\nint main() { k<<<1, 1>>>(); puts("%s"); }\n'
    result = run_program(program % "done", options=["-DX"])
    assert (result.output, result.status, result.launches) == ("done\n", 0, 1)
    with pytest.raises(ValueError, match=r'(?s)program\.cu: nvcc rejects it\n.*"nonsense" is undefined'):
        run_program("int main() {\n    return nonsense;\n}\n")


def test_a_cell_of_a_notebook(capsys):
    pytest.importorskip("IPython")
    from IPython.core.error import UsageError

    from gpureduce._course.magic import cuda

    shell = types.SimpleNamespace(user_ns={})
    program = (
        (SOURCES / "faults.cu").read_text().replace('#include "check.h"', (SOURCES / "check.h").read_text())
    )
    shown = cuda(shell, "--program -o done race", program)
    assert "synchronize: cudaSuccess" in capsys.readouterr().out
    assert shown is shell.user_ns["done"].profile and shown.findings[0].missing == "__syncthreads"
    with pytest.raises(UsageError, match="nvcc rejects it"):
        cuda(shell, "--program", "int main() { return nothing; }\n")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"source": 3}, TypeError, "source: expected str or path, got int"),
        ({"args": "one"}, TypeError, "args: expected a list"),
        ({"device": "sim:1"}, ValueError, "device: expected 'sim' or 'cuda', got 'sim:1'"),
        ({"device": "cuda", "races": True}, ValueError, "device: races, profiles and players need"),
        ({"device": "cuda", "player": 0}, ValueError, "device: races, profiles and players need"),
        ({"player": -1}, ValueError, "player: expected 0 or more, got -1"),
        ({"player": (0, 1, 2)}, ValueError, "player: expected a launch, or a launch and a block"),
        ({"player": "first"}, TypeError, "player: expected an integer, got str"),
        ({"races": "local"}, ValueError, "races: expected True, False or 'global', got 'local'"),
        ({"races": 1}, TypeError, "races: expected bool or 'global', got int"),
        ({"clock": "sun"}, ValueError, "clock: expected one of"),
        ({"max_steps": 0}, ValueError, "max_steps: expected 1 or more, got 0"),
        ({"options": "-DX"}, TypeError, "options: expected a list"),
        ({"source": "absent.cu"}, FileNotFoundError, "absent.cu"),
    ],
)
def test_arguments(arguments, error, message):
    with pytest.raises(error, match=re.escape(message)):
        run_program(**{"source": "absent", **arguments})


def test_every_name_of_the_runtime_is_there():
    toolkit = Path(nvcc.find()).resolve().parents[1]
    real = next((path for path in toolkit.glob("**/libcudart.so.13") if path.is_file()), None)
    if real is None:
        pytest.skip("needs the toolkit's libcudart.so.13")

    assert {name for name in symbols(real) if "@@" in name} <= symbols(RUNTIME)


def symbols(library, kind="--defined-only"):
    """Return the names of CUDA that a library defines, or that a program takes from libraries."""
    done = subprocess.run(["nm", "-D", kind, library], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in done.stdout.splitlines() if "cuda" in line.split()[-1]}


def test_the_other_functions(built):
    result = run_program(built["others"])
    assert (result.output, result.status, result.launches) == ("others: right\n", 0, 4), result.errors


def test_every_function_is_called_by_a_program(built):
    """Other names of a function, of a default stream per thread, need no call of their own."""
    text = (ROOT / "csrc/cudart/missing.def").read_text()
    missing = set(re.findall(r"^MISSING\((\w+)\)", text, re.MULTILINE))
    simulated = {name for name in plain(symbols(RUNTIME)) if not name.endswith(("_ptsz", "_ptds"))} - missing
    called = {name for program in built.values() for name in plain(symbols(program, "--undefined-only"))}
    assert len(simulated) > 180 and simulated - called == set()


def plain(names):
    """Return the names of functions without their version."""
    return {name.partition("@")[0] for name in names if re.match("(__)?cuda", name)}


def test_the_search_path_begins_with_the_runtime():
    assert search_path({}) == str(RUNTIME.parent)
    assert search_path({"LD_LIBRARY_PATH": "/x:/y"}) == f"{RUNTIME.parent}:/x:/y"


@pytest.mark.parametrize(
    ("name", "kind", "lines"),
    [
        ("in place", "write-read", {13, 15}),
        ("unfenced", "write-read", {21, 28}),
        ("bytes", "write-write", {73}),
    ],
)
def test_races_between_blocks(built, name, kind, lines):
    result = run_program(built["blocks"], [name], races="global")
    (finding,) = result.findings
    assert (finding.missing, result.status) == ("an order between the blocks", 0)
    race = finding.races[0]
    assert (race.kind, race.space) == (kind, "global")
    assert {race.first.line, race.second.line} == lines and race.first.block != race.second.block
    assert "nothing orders the blocks of a launch" in str(finding)
    assert run_program(built["blocks"], [name], races=True).findings == ()  # shared memory only


def test_ordered_blocks_have_no_races(built):
    result = run_program(built["blocks"], ["ordered"], races="global")
    assert (result.status, result.launches, result.findings) == (0, 7, ())


def test_the_command_looks_for_races_between_blocks(built):
    done = command("--races=global", built["blocks"], "in place")
    assert done.returncode == 99
    assert (
        "in_place, global memory, byte 4 of the allocation): thread 0 of block 0 at blocks.cu:13"
        in done.stderr
    )
    assert command("--races", built["blocks"], "in place").returncode == 0
