"""How a user's CUDA C++ is compiled: files, what they include, the cache on disk, the process."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import gpureduce
from gpureduce.__main__ import main
from gpureduce._custom import includes, nvrtc, process

pytest.importorskip("cuda.pathfinder")


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    folder = tmp_path / "cache"
    monkeypatch.setenv("GPUREDUCE_CACHE_DIR", str(folder))
    return folder


def kept(folder):
    return sorted(path.name for path in folder.glob("*.ptx"))


# Where lines are found


MINE = """\
#include "parts/half.cuh"
__global__ void mine(int *a) {
    a[threadIdx.x] = half_of(a[threadIdx.x]);
}
"""
HALF = """\
#include "two.h"
__device__ int half_of(int x) {
    return x / TWO;
}
"""


def project(folder, two=2):
    (folder / "parts").mkdir(parents=True)
    (folder / "mine.cu").write_text(MINE)
    (folder / "parts" / "half.cuh").write_text(HALF)
    (folder / "parts" / "two.h").write_text(f"#define TWO {two}\n")
    return folder


def halved(source, **options):
    a = np.arange(0, 64, 2, dtype=np.int32)
    found = gpureduce.simulate(source, "mine", 1, 32, [a], **options)
    assert a.tolist() == list(range(32)), a
    return found


def test_lines_are_found_from_any_folder(tmp_path, monkeypatch, cache):
    first, second = project(tmp_path / "first"), project(tmp_path / "second" / "inner")
    for folder, named in (
        (tmp_path, first / "mine.cu"),  # absolute, below the working folder
        (first, first / "mine.cu"),  # in it
        (first / "parts", first / "mine.cu"),  # above it
        (first, Path("mine.cu")),
        (tmp_path, Path("first/mine.cu")),
        (first / "parts", Path("../mine.cu")),
        (second, "mine.cu"),  # of the same text elsewhere, from the disk cache
        (Path("/"), str(second / "mine.cu")),
    ):
        monkeypatch.chdir(folder)
        found = halved(named)
        assert found.file == str(named) and set(found.sources) == {
            str(named),
            "parts/half.cuh",
            "parts/two.h",
        }
        assert {(line.number, line.text) for line in found.lines()} >= {
            (3, "    a[threadIdx.x] = half_of(a[threadIdx.x]);")
        }
        assert [line.text for line in found.lines("parts/half.cuh")] == ["    return x / TWO;"]
        assert "   3 |     a[threadIdx.x] = half_of" in found.annotate()
        with pytest.raises(gpureduce.SimulationError) as raised:
            gpureduce.simulate(named, "mine", 1, 32, [np.zeros(31, np.int32)])
        assert str(raised.value).endswith(f"\n{named}:3: a[threadIdx.x] = half_of(a[threadIdx.x]);")
        assert len(kept(cache)) == 1  # the key holds no folder


def test_errors_name_the_file(tmp_path, monkeypatch):
    folder = project(tmp_path / "first")
    (folder / "mine.cu").write_text(MINE.replace("half_of(", "falh_of("))
    monkeypatch.chdir(tmp_path)
    for named in ("first/mine.cu", folder / "mine.cu"):
        with pytest.raises(gpureduce.CompileError) as raised:
            gpureduce.simulate(named, "mine", 1, 1)
        assert f'{named}(3): error: identifier "falh_of" is undefined' in raised.value.log
        assert str(raised.value).startswith(f"{named}: ")
        assert raised.value.source == (folder / "mine.cu").read_text()


# Which texts are paths, and in which encodings


@pytest.mark.parametrize(
    "name", ["mine.CU", "mine.cpp", "mine.Cuh", "mine.txt", "mine", "a {folder}/mine.cu"]
)
def test_paths_are_told_from_texts(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if name != "mine":
        with pytest.raises(FileNotFoundError) as raised:
            gpureduce.simulate(name, "mine", 1, 1)
        assert name in str(raised.value)
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.mkdir()
    with pytest.raises(IsADirectoryError, match="mine"):
        gpureduce.simulate(name, "mine", 1, 1)
    path.rmdir()
    path.write_text("__global__ void mine(int *a) { a[0] = 7; }")
    a = np.zeros(1, np.int32)
    assert gpureduce.simulate(name, "mine", 1, 1, [a]).file == name and a[0] == 7
    path.write_text("__global__ void mine(const int *in, int *out, int n) { out[0] = 9; }")
    if name != "mine":  # which may be the name of a variant
        assert gpureduce.profile(5, name).result == 9
        assert main(["profile", name, "-n", "5"]) == 0
    assert gpureduce.course.ladder(name).profile(5).result == 9
    gpureduce.simulate("__global__ void mine(int *a) { a[0] = 8; } // a.cu, once", "mine", 1, 1, [a])
    assert a[0] == 8


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252"])
def test_encodings_that_nvcc_takes(encoding, tmp_path):
    """It looks at no byte of comments and strings; what is in a string stays as it is."""
    path = tmp_path / "mine.cu"
    text = '// Größe\n__global__ void mine(int *a) {\n    a[0] = sizeof "é"; // für é\n}\n'
    path.write_bytes(text.encode(encoding))
    a = np.zeros(1, np.int32)
    found = gpureduce.simulate(path, "mine", 1, 1, [a])
    assert a[0] == (3 if encoding.startswith("utf") else 2)
    assert [line.text for line in found.lines() if line.number == 3] == ['    a[0] = sizeof "é"; // für é']
    assert "für" in found._repr_html_()
    gpureduce.simulate("\ufeff" + text, "mine", 1, 1, [a])
    assert a[0] == 3
    ptx = tmp_path / "mine.ptx"
    ptx.write_bytes("\ufeff// é\n.version 7.0\n.target sm_75\n.address_size 64\n.entry k() { ret; }".encode())
    assert gpureduce.simulate(ptx, "k", 1, 1).totals.warp_instructions == 1


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_encodings_that_nvcc_refuses(encoding, tmp_path):
    path = tmp_path / "mine.cu"
    path.write_bytes("__global__ void mine() {}\n".encode(encoding))
    with pytest.raises(ValueError, match=r"source: .*mine\.cu is not UTF-8 text"):
        gpureduce.simulate(path, "mine", 1, 1)
    with pytest.raises(ValueError, match=r"source: .*lone surrogates"):
        gpureduce.simulate("// \udcff\n__global__ void mine() {}\n", "mine", 1, 1)


# What is kept on disk depends on


@pytest.mark.parametrize(
    ("options", "absolute"),
    [
        (("-I{}",), True), (("-I{}",), False), (("-I", "{}"), True), (("--include-path={}",), False),
        (("-Inowhere", "-I {}"), False), (("-I={}", "-include=before.h"), True), ((), True),
    ],
)  # fmt: skip
def test_an_edited_header_is_compiled_again(options, absolute, tmp_path, monkeypatch, cache):
    folder = project(tmp_path / "headers", two=2) / "parts"
    monkeypatch.chdir(tmp_path if options else folder)
    (folder / "before.h").write_text("#define BEFORE 0\n")
    named = str(folder) if absolute else os.path.relpath(folder)
    options = [option.format(named) for option in options]
    source = MINE.replace('"parts/half.cuh"', '"half.cuh"' if absolute or not options else "<half.cuh>")
    if len(options) == 2 and options[1].endswith("before.h"):
        source = source.replace("half_of(a[threadIdx.x])", "half_of(a[threadIdx.x]) + BEFORE")
    for _ in range(2):
        found = halved(source, options=options)
        assert len(kept(cache)) == 1
        assert any(name.endswith("half.cuh") for name in found.sources)
    changed = folder / ("before.h" if "BEFORE" in source else "two.h")
    changed.write_text("#define TWO 1\n" if changed.name == "two.h" else "#define BEFORE 1\n")
    for _ in range(2):
        with pytest.raises(AssertionError, match=r"2,|1,"):
            halved(source, options=options)
        assert len(kept(cache)) == 2


def test_a_header_that_hides_another_one(tmp_path, cache):
    project(tmp_path / "b")
    source, options = MINE, [f"-I{tmp_path / 'a'}", f"-I{tmp_path / 'b'}"]
    halved(source, options=options)
    project(tmp_path / "a", two=1)  # which is searched first
    with pytest.raises(AssertionError):
        halved(source, options=options)


def test_headers_that_a_macro_names_are_not_kept(tmp_path, cache):
    project(tmp_path)
    options = [f"-I{tmp_path}", '-DHALF="parts/half.cuh"']
    source = MINE.replace('"parts/half.cuh"', "HALF")
    halved(source, options=options)
    assert kept(cache) == []
    (tmp_path / "parts" / "two.h").write_text("#define TWO 1\n")
    with pytest.raises(AssertionError):
        halved(source, options=options)


def test_headers_of_a_reduction_kernel(tmp_path, monkeypatch, cache):
    header = tmp_path / "factor.h"
    monkeypatch.chdir(tmp_path)
    x = np.arange(1, 9, dtype=np.int64)

    def scaled(preamble, options=()):
        kernel = gpureduce.ReductionKernel(
            "T x", "T y", "x * FACTOR", "a + b", "y = a", "0", "scaled", preamble=preamble, options=options
        )
        return kernel(x, device="sim") // x.sum(), kernel.cache_info()

    for factor, (preamble, options) in enumerate(
        [
            (f'#include "{header}"', ()),
            ('#include "factor.h"', ()),
            ("#include <factor.h>", (f"-I{tmp_path}",)),
        ]
        * 2,
        3,
    ):
        header.write_text(f"#define FACTOR {factor}\n")
        assert scaled(preamble, options) == (factor, (1, 0, 0))
        assert scaled(preamble, options) == (factor, (0, 0, 1))
        code = (
            "import gpureduce\n"
            f"k = gpureduce.ReductionKernel('T x', 'T y', 'x * FACTOR', 'a + b', 'y = a', '0', 'scaled', "
            f"preamble={preamble!r}, options={options!r})\n"
            "import numpy as np\n"
            "print(k(np.arange(1, 9), device='sim') // 36, *k.cache_info())"
        )
        if factor in (3, 8):
            assert python(code) == f"{factor} 0 1 0\n"


def test_which_files_are_found(tmp_path):
    project(tmp_path)
    scan = includes.included(MINE.encode(), str(tmp_path), ["-Inowhere", "-DX"])
    assert [Path(path).name for path in scan.texts] == ["half.cuh", "two.h"] and scan.certain
    scan = includes.included(b"#if __has_include(<mine.cu>)\n# include <limits>\n", str(tmp_path), [])
    assert scan.names == {"mine.cu", "parts/half.cuh", "two.h"} and scan.system == {"limits"}
    assert not includes.included(b"int a;", str(tmp_path), ["--use-pch=x"]).certain
    assert includes.without_folders(["-Ia", "-I", "b", "-DX", "-I=c", "-I d", "--std=c++14"]) == (
        "-DX",
        "--std=c++14",
    )


# The process that compiles


def python(code, *, rc=0, **environment):
    path = str(Path(gpureduce.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == rc, done.stderr
    assert done.stderr == ""
    return done.stdout


SLOW = """
import atexit, signal, sys, time
import gpureduce
from gpureduce.__main__ import main
from gpureduce._custom import nvrtc
atexit.register(print, "atexit")
lines = "".join(f"a[{i}] = a[{i + 1}] * {i} / a[{i + 2}];" for i in range(8000))
slow = "__global__ void k(volatile double *a) {" + lines + "}"
quick = "__global__ void k(int *a) { a[0] = 1; }"
nvrtc.library()
nvrtc.library().compile("quick.cu", quick, (), {})
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGALRM"])
def test_a_signal_ends_the_compilation_and_not_the_process(name):
    """Its handler may raise, whichever signal it is; then another kernel compiles."""
    code = f"""{SLOW}
def stop(number, frame):
    raise KeyboardInterrupt
signal.signal(signal.{name}, stop)  # SIGINT, too, which a background job of a shell ignores
import os, threading
threading.Timer(0.2, os.kill, (os.getpid(), signal.{name})).start()
begin = time.monotonic()
try:
    nvrtc.library().compile("slow.cu", slow, (), {{}})
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - begin < 3)
finally:
    print("finally")
print(len(nvrtc.library().compile("quick.cu", quick, (), {{}})) > 100)
"""
    assert python(code) == "interrupted True\nfinally\nTrue\natexit\n"


def test_the_process_ends_with_what_started_it():
    code = f"""{SLOW}
from gpureduce._custom import process
worker = process._take()
print(worker.results)
"""
    begin = time.monotonic()
    python(code)
    assert time.monotonic() - begin < 20  # though the compiling process waits a minute for more


def compile_one(number=0):
    ptx = nvrtc.library().compile("k.cu", f"__global__ void k(int *a) {{ a[0] = {number}; }}", (), {})
    assert f"{number}" in ptx
    return ptx


@pytest.mark.parametrize("executable", ["", None, "/nowhere/python3", "/usr/bin/blender", "{}/python3"])
def test_without_an_interpreter_it_compiles_in_process(executable, monkeypatch, tmp_path):
    fails = tmp_path / "python3"
    fails.write_text("#!/bin/sh\nexit 3\n")
    fails.chmod(0o755)
    executable = executable and executable.format(tmp_path)
    monkeypatch.setattr(process, "_idle", [])
    monkeypatch.setattr(sys, "executable", executable)
    compile_one(5)
    assert process._idle == []


def test_threads_have_processes_of_their_own_and_few_are_kept():
    threads = [threading.Thread(target=compile_one, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1 <= len(process._idle) <= process._KEPT
    assert set(process._all.values()) == set(process._idle)


def test_a_forked_child_starts_its_own():
    compile_one()
    code = f"""{SLOW}
import os
child = os.fork()
if child == 0:
    ok = len(nvrtc.library().compile("quick.cu", quick, (), {{}})) > 100
    os._exit(0 if ok else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(len(nvrtc.library().compile("quick.cu", quick, (), {{}})) > 100)
try:
    os.wait()
except ChildProcessError:
    print("no children are left to be waited for")
"""
    said = python(code, PYTHONWARNINGS="ignore::DeprecationWarning")
    assert said == "0\nTrue\nno children are left to be waited for\natexit\n"


def test_a_process_that_ended_meanwhile_is_replaced(monkeypatch):
    monkeypatch.setattr(process, "_idle", [])
    compile_one()
    (worker,) = process._idle
    os.close(worker.requests)
    worker.requests = os.open(os.devnull, os.O_WRONLY)  # without a reader
    compile_one(3)
    assert worker not in process._idle


BUILTINS = """
import sys
from gpureduce._custom import worker

request = {"library": sys.argv[1], "name": b"k.cu", "source": b"__global__ void k() {}", "kernel": b""}
done, text, _ = worker.Library(sys.argv[1]).compile(request | {"options": [], "headers": {}})
assert done, text
with open("/proc/self/maps") as maps:
    print(*{line.split()[-1] for line in maps if "libnvrtc-builtins" in line})
"""


def test_built_in_functions_come_from_the_folder_of_nvrtc(tmp_path):
    """A wheel's NVRTC compiles where no CUDA toolkit is known to the dynamic linker."""
    library = Path(nvrtc.library().path).resolve()
    for file in library.parent.glob("libnvrtc*.so*"):
        os.symlink(file, tmp_path / file.name)
    program = [sys.executable, "-c", BUILTINS, str(tmp_path / library.name)]
    ended = subprocess.run(program, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    (found,) = ended.stdout.split()
    assert Path(found).parent == library.parent


def test_time_and_memory_are_bounded(monkeypatch):
    lines = "".join(f"a[{i}] = a[{i + 1}] * {i} / a[{i + 2}];" for i in range(8000))
    source = f"__global__ void k(volatile double *a) {{ {lines} }}"
    monkeypatch.setattr(process, "_idle", [])
    monkeypatch.setattr(process, "_MOST_SECONDS", 0.2)
    with pytest.raises(gpureduce.CompileError, match=r"slow.cu: NVRTC takes longer than 0\.2 s"):
        nvrtc.library().compile("slow.cu", source, (), {})
    monkeypatch.undo()
    monkeypatch.setattr(process, "_idle", [])
    monkeypatch.setattr(process, "_MOST_BYTES", 300 << 20)
    doubled = "#define A0 1+\n" + "".join(f"#define A{i + 1} A{i} A{i}\n" for i in range(40))
    with pytest.raises(gpureduce.CompileError, match="NVRTC") as raised:
        nvrtc.library().compile("large.cu", f"{doubled}__global__ void k(int *a) {{ *a = A40 0; }}", (), {})
    assert "memory" in str(raised.value)
    monkeypatch.undo()
    compile_one()
