"""The build: one at a time in a tree, for which GPUs, what is compiled first and what is said of it."""

import importlib
import lzma
import os
import re
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SUPPORT = ROOT / "build_support"

pytestmark = pytest.mark.skipif(not SUPPORT.is_dir(), reason="no sources next to the tests")


@pytest.fixture
def support(monkeypatch):
    """A function that imports a module of build_support/."""
    pytest.importorskip("setuptools", "77")
    monkeypatch.syspath_prepend(SUPPORT)
    return importlib.import_module


def test_builds_in_one_tree_go_in_turn(tmp_path):
    """As those of two pips; each would find the other's files in setuptools' folders."""
    pytest.importorskip("setuptools", "77")
    program = """
        import sys, time
        sys.path.insert(0, sys.argv[1])
        import backend
        def build(number):
            for word in ("begins", "ends"):
                with open("log", "a") as log:
                    log.write(f"{number} {word}\\n")
                time.sleep(0.3)
        assert backend.build_wheel.__wrapped__ is backend.build_meta.build_wheel
        backend._in_turn(build)(sys.argv[2])
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(SUPPORT)]
    running = [subprocess.Popen([*command, str(number)], cwd=tmp_path) for number in range(3)]
    assert [child.wait(60) for child in running] == [0, 0, 0]
    lines = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    numbers = [number for number, _ in lines[::2]]
    assert sorted(numbers) == ["0", "1", "2"]
    assert lines == [[number, word] for number in numbers for word in ("begins", "ends")]


# ---- for which GPUs ----

DRIVER = """
    static const int capabilities[] = {CAPABILITIES -1};
    int cuInit(unsigned flags) { return flags ? 1 : INIT; }
    int cuDeviceGetCount(int *count) {
        *count = sizeof capabilities / sizeof *capabilities - 1;
        return 0;
    }
    int cuDeviceGet(int *device, int index) { *device = 7 + index; return 0; }
    int cuDeviceGetAttribute(int *value, int attribute, int device) {
        const int capability = capabilities[device - 7];
        *value = attribute == 75 ? capability / 10 : attribute == 76 ? capability % 10 : -1;
        return 0;
    }
"""

NVCC = """#!/bin/sh
case "$*" in
*--version*) echo "Cuda compilation tools, release 13.0, V13.0.88" ;;
*--list-gpu-code*) printf 'sm_%s\\n' 75 80 86 89 90 100 120 ;;
*wrong.cu*) echo "wrong.cu(3): error"; exit 2 ;;
*)
    echo "$*" >>log
    for last in "$@"; do :; done
    printf '\\t.file\\t1 "/somewhere/cuda_kernels/a.cuh"\\n%s\\n' "$*" >"$last" ;;
esac
"""


@pytest.fixture
def nvcc(tmp_path, monkeypatch):
    """A compiler whose output is its command line; it keeps a log of those."""
    path = tmp_path / "nvcc"
    path.write_text(NVCC)
    path.chmod(0o755)
    monkeypatch.setenv("NVCC", str(path))
    return str(path)


@pytest.fixture
def devices(tmp_path, monkeypatch):
    """A function that puts a driver with GPUs of these compute capabilities in the place of libcuda."""

    monkeypatch.delenv("GPUREDUCE_CUDA_ARCHITECTURES", raising=False)

    def install(*capabilities, init=0):
        source = tmp_path / "driver.c"
        source.write_text(DRIVER)
        library = tmp_path / f"driver{init}{capabilities}.so"
        numbers = "".join(f"{number}," for number in capabilities)
        flags = ["-shared", "-fPIC", f"-DCAPABILITIES={numbers}", f"-DINIT={init}"]
        subprocess.run(["cc", *flags, str(source), "-o", str(library)], check=True)
        monkeypatch.setenv("GPUREDUCE_LIBCUDA", str(library))

    return install


@pytest.mark.parametrize(
    ("there", "expected", "said"),
    [
        ((), [], "no GPU here (the CUDA driver has no devices): PTX alone"),
        ((90,), [90], "machine code for the GPUs here: sm_90\n"),
        ((120, 86), [86, 120], "machine code for the GPUs here: sm_86, sm_120\n"),
        ((90, 90), [90], "machine code for the GPUs here: sm_90\n"),
        ((130, 90), [90], "sm_90\nthis nvcc makes none for sm_130\n"),
        ((70,), [], "machine code for the GPUs here: none\nthis nvcc makes none for sm_70\n"),
    ],
)
@pytest.mark.parametrize("text", ["", "native", " Native "])
def test_native_is_for_the_gpus_that_are_there(support, nvcc, devices, capsys, there, expected, said, text):
    devices(*there)
    assert support("architectures").architectures(text, nvcc) == expected
    assert said in capsys.readouterr().out


def test_native_without_a_driver_that_works(support, nvcc, devices, capsys, monkeypatch, tmp_path):
    architectures = support("architectures").architectures
    devices(90, init=100)
    assert architectures("", nvcc) == []
    assert "no GPU here (cuInit returns 100): PTX alone" in capsys.readouterr().out
    monkeypatch.setenv("GPUREDUCE_LIBCUDA", str(tmp_path / "nowhere.so"))
    assert architectures("", nvcc) == []
    assert re.search(r"no GPU here \(no CUDA driver: .*nowhere.so.*\): PTX alone", capsys.readouterr().out)
    monkeypatch.setenv("GPUREDUCE_LIBCUDA", next(iter(Path("/lib").rglob("libm.so.6"))).as_posix())
    assert architectures("", nvcc) == []
    assert re.search(r"no GPU here \(.*cuInit\): PTX alone", capsys.readouterr().out)


def test_architectures_that_are_named(support, nvcc, devices, capsys):
    """Whatever GPUs are there."""
    architectures = support("architectures").architectures
    devices(86)
    assert architectures("all", nvcc) == [75, 80, 90, 100, 120]
    assert architectures(" PTX", nvcc) == []
    assert architectures("100", nvcc) == [100]
    assert architectures("90, 89,90", nvcc) == [89, 90]
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("text", ["hopper", "9.0", "90;100", "90,", "sm_90", "60", "130", "90,130", "-90"])
def test_unknown_architectures_are_refused(support, nvcc, text):
    module = support("architectures")
    said = (
        f"GPUREDUCE_CUDA_ARCHITECTURES is '{text}': say native, ptx, all, or .*90,100; this nvcc knows 75, 80"
    )
    with pytest.raises(module.ArchitectureError, match=said):
        module.architectures(text, nvcc)
    with pytest.raises(module.ArchitectureError, match="GPUREDUCE_CUB is"):
        module.architectures(text, nvcc, "GPUREDUCE_CUB")


# ---- what is compiled ----


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A tree with a kernel of each kind."""
    for name in (
        "v0.cu",
        "v12.cu",
        "general/general_sum.cu",
        "flat/flat_sum.cu",
        "cub/cub_device_reduce.cu",
        "../exact/auto/exact_sum.cu",
    ):
        path = tmp_path / "cuda_kernels" / "reduce" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('#include "a.cuh"\n')
    (tmp_path / "cuda_kernels" / "include").mkdir()
    (tmp_path / "cuda_kernels" / "include" / "a.cuh").write_text("// a\n")
    (tmp_path / "csrc" / "base").mkdir(parents=True)
    (tmp_path / "csrc" / "base" / "dtypes.def").touch()
    (tmp_path / "csrc" / "reduce").mkdir()
    rows = "".join(f"GR_RUNG({n}, {n}, , RUNG, BOTH, {c}, RUNTIME,\n" for n, c in [("v0", 75), ("v12", 90)])
    (tmp_path / "csrc" / "reduce" / "rungs.def").write_text(rows)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def codes(folder):
    """What the fatbins in a folder hold."""
    found = {path.stem: re.search(r"code=\[(.*?)\]", path.read_text())[1] for path in folder.glob("*.fatbin")}
    return {stem: text.replace("sm_", "") for stem, text in found.items()}


def compiled(sources):
    """What nvcc has made since the last call: a set of file names and kinds."""
    log = sources / "log"
    lines = log.read_text().splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return sorted(f"{Path(line.split()[-3]).stem.partition('-')[0]} {line.split()[0]}" for line in lines)


def test_fatbins_hold_what_is_asked_for(support, nvcc, devices, sources, capsys, monkeypatch):
    build = support("kernels").build_kernels
    out = sources / "out"
    every = ["exact_sum", "exact_sum_75", "flat_sum", "flat_sum_90", "general_sum", "v0", "v12"]

    devices()
    build(out)
    assert codes(out) == {}
    assert compiled(sources) == sorted(f"{re.sub('_[79].$', '', name)} -ptx" for name in every)
    said = capsys.readouterr().out
    assert "7 kernel files, 7 to compile with" in said
    lines = re.findall(r"^\[(\d)/7\] (\w+) \(\d+ s\)$", said, re.MULTILINE)
    assert [int(number) for number, _ in lines] == [1, 2, 3, 4, 5, 6, 7]
    assert sorted(name for _, name in lines) == every
    assert not list(out.glob("*.ptx"))
    packed = {path.name: path.read_bytes() for path in out.glob("*.ptx.xz")}
    ptx = [lzma.decompress(data) for data in packed.values()]
    assert len(ptx) == 7
    assert all(b'.file\t1 "cuda_kernels/a.cuh"' in text for text in ptx)

    build(out)
    assert compiled(sources) == []
    assert "7 kernel files, 0 to compile with" in capsys.readouterr().out

    # Other architectures: of the same PTX.
    devices(86, 90)
    build(out)
    assert codes(out) == {
        "v0": "86,90", "v12": "90", "general_sum": "86,90", "flat_sum": "86,90", "flat_sum_90": "90",
        "exact_sum": "90", "exact_sum_75": "86",
    }  # fmt: skip
    assert compiled(sources) == [f"{name} -fatbin" for name in every]
    assert {path.name: path.read_bytes() for path in out.glob("*.ptx.xz")} == packed

    monkeypatch.setenv("GPUREDUCE_CUDA_ARCHITECTURES", "all")
    build(out)
    assert codes(out)["general_sum"] == "75,80,90,100,120"
    assert codes(out)["flat_sum_90"] == codes(out)["exact_sum"] == "90,100,120"
    assert codes(out)["exact_sum_75"] == "75,80"
    compiled(sources)
    devices(75)
    monkeypatch.delenv("GPUREDUCE_CUDA_ARCHITECTURES")
    build(out)
    assert codes(out) == dict.fromkeys(["v0", "general_sum", "flat_sum", "exact_sum_75"], "75")
    compiled(sources)

    # A kernel is compiled again where its text or a header has changed.
    (sources / "cuda_kernels" / "reduce" / "v0.cu").write_text("changed\n")
    build(out)
    assert compiled(sources) == ["v0 -fatbin", "v0 -ptx"]


def test_what_comments_say_is_not_compiled(support, nvcc, devices, sources):
    """Where the PTX has line numbers, lines must stay at their places."""
    build = support("kernels").build_kernels
    rung, general = (
        sources / "cuda_kernels" / "reduce" / name for name in ("v0.cu", "general/general_sum.cu")
    )
    for path in (rung, general):
        path.write_text('#include "a.cuh"\n// one\nint a; // two\nasm("// three");\nchar b = \'"\';\n')
    devices()
    build(sources / "out")
    compiled(sources)
    texts = [
        ('#include "a.cuh"\n/* 1 */\nint a;\nasm("// three");\nchar b = \'"\'; // "\n', []),
        ('#include "a.cuh"\n/* 1\n*/ int a;\nasm("// three");\nchar b = \'"\';\n', []),
        ('#include "a.cuh"\n\n\nint a;\nasm("// three");\nchar b = \'"\';\n', ["v0 -ptx"]),
        ('#include "a.cuh"\n\n\nint a;\nasm("// four");\nchar b = \'"\';\n', ["general_sum -ptx", "v0 -ptx"]),
    ]
    for text, expected in texts:
        for path in (rung, general):
            path.write_text(text)
        build(sources / "out")
        assert compiled(sources) == expected, text
    (sources / "cuda_kernels" / "include" / "a.cuh").write_text("// of one more line\n\n")
    build(sources / "out")
    assert "general_sum -ptx" not in compiled(sources)


def test_releases_are_as_small_as_they_can_be(support, nvcc, devices, sources, monkeypatch):
    """Which takes too long where a build is for the GPUs that are there, or for none."""
    kernels, out = support("kernels"), sources / "out"
    monkeypatch.setattr(kernels, "pack", lambda text, dense: b"dense" if dense else b"fast")
    devices(90)
    found = {}
    for asked in ("", "90", "all", "ptx"):
        monkeypatch.setenv("GPUREDUCE_CUDA_ARCHITECTURES", asked)
        kernels.build_kernels(out)
        fatbins = {kernels.SMALLEST[0] in path.read_text() for path in out.glob("*.fatbin")}
        found[asked] = {path.read_bytes() for path in out.glob("*.ptx.xz")}, fatbins
    assert found == {
        "": ({b"fast"}, {False}),
        "90": ({b"fast"}, {False}),
        "all": ({b"dense"}, {True}),
        "ptx": ({b"dense"}, set()),
    }


def test_remarks_become_instructions_for_later_devices(support):
    kernels = support("kernels")
    text = (
        b".version 9.0\n.target sm_75\n\t// begin inline asm\n\t// griddepcontrol.launch_dependents;\n"
        b"\t// griddepcontrol.wait;\n\t// end inline asm\n\tld.global.u32 %r1, [%rd1]; // griddepcontrol\n"
        b"\tmov.b32 %r2, %r1;\n\t// cvt.rn.bf16x2.f32 %r2, %f1, %f2;\n"
    )
    assert kernels.with_instructions(text) == (
        b".version 9.0\n.target sm_90\n\t// begin inline asm\n\tgriddepcontrol.launch_dependents;\n"
        b"\tgriddepcontrol.wait;\n\t// end inline asm\n\tld.global.u32 %r1, [%rd1]; // griddepcontrol\n"
        b"\tmov.b32 %r2, %r1;\n\tcvt.rn.bf16x2.f32 %r2, %f1, %f2;\n"
    )


def test_fatbins_are_joined(support):
    """As NVIDIA's fatbinary joins them: the images follow one another behind one header."""
    joined = support("kernels").joined
    first, second = (
        b"\x50\xed\x55\xba\1\0\x10\0" + len(images).to_bytes(8, "little") + images
        for images in (b"one image", b"another")
    )
    assert joined([first]) == first
    assert joined([first, second]) == first[:8] + (16).to_bytes(8, "little") + b"one imageanother"


def test_cub_is_for_the_same_gpus_or_for_its_own(support, nvcc, devices, sources, monkeypatch):
    build = support("kernels").build_kernels
    devices(86)
    for asked, expected in [
        ("1", ["compute_86,code=sm_86", "compute_86,code=compute_86"]),
        ("native", ["compute_86,code=sm_86", "compute_86,code=compute_86"]),
        ("100,90", ["compute_90,code=sm_90", "compute_100,code=sm_100", "compute_100,code=compute_100"]),
    ]:
        monkeypatch.setenv("GPUREDUCE_CUB", asked)
        build(sources / "out")
        text = (sources / "out" / "libgpureduce_cub.so").read_text()
        assert re.findall(r"-gencode arch=(\S+)", text) == expected
    devices()
    monkeypatch.setenv("GPUREDUCE_CUB", "1")
    build(sources / "out")
    text = (sources / "out" / "libgpureduce_cub.so").read_text()
    assert re.findall(r"-gencode arch=(\S+)", text) == ["compute_75,code=compute_75"]


def test_a_kernel_that_does_not_compile(support, nvcc, devices, sources):
    devices()
    (sources / "cuda_kernels" / "reduce" / "wrong.cu").write_text("wrong\n")
    with pytest.raises(
        support("kernels").CompileError, match=r"nvcc failed:\n.*wrong.cu.*\nwrong.cu\(3\): error"
    ):
        support("kernels").build_kernels(sources / "out")


# ---- side by side ----


def test_the_longest_kernels_come_first(support, monkeypatch):
    kernels = support("kernels")
    monkeypatch.chdir(ROOT)
    found = [
        kernel
        for path in Path("cuda_kernels").rglob("*.cu")
        if path != kernels.CUB_SOURCE
        for kernel in kernels.kernels_of(path)
    ]
    order = [str(kernel) for kernel in sorted(found, key=kernels._effort, reverse=True)]
    longest = ("general_var", "general_nan", "cub_", "flat_nan", "general_norms")
    assert order[0] == "general_var" and all(name.startswith(longest) for name in order[:5])
    others = [name.partition("_")[0] for name in order if not name.startswith(longest)]
    general, flat = ([i for i, kind in enumerate(others) if kind == name] for name in ("general", "flat"))
    assert len(general) > 12 and len(flat) > 24 and max(general) < min(flat)


def test_work_side_by_side(support, capsys, monkeypatch):
    """The longest is begun first, each has a line, the result is out of the way."""
    side_by_side = support("progress").side_by_side
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3})
    begun = []

    def work(piece):
        begun.append(piece)
        return len(piece)

    pieces = ["a", "long one", "middle", "b", "c", "d", "e", "f", "g", "h"]
    assert side_by_side(work, pieces, len) == {piece: len(piece) for piece in pieces}
    assert begun[:2] == ["long one", "middle"]
    assert sorted(begun) == sorted(pieces)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["[ 1/10] long one (0 s)", "[ 2/10] middle (0 s)", "[ 3/10] a (0 s)"]
    assert len(lines) == 10

    # On two processors, two at a time.
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 5})
    both = threading.Barrier(2, timeout=60)
    assert side_by_side(lambda piece: both.wait() < 2, ["x", "y", "z", "w"], len) == dict.fromkeys(
        "xyzw", True
    )
    assert side_by_side(work, [], len) == {}


def test_work_ends_with_the_first_error(support, capsys, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3})
    begun = []

    def work(piece):
        begun.append(piece)
        if piece == 8:
            raise ValueError("eight")
        time.sleep(0.2)

    with pytest.raises(ValueError, match="eight"):
        support("progress").side_by_side(work, range(10), float)
    assert begun[:2] == [9, 8]
    assert len(begun) < 10
    assert "[ 1/10] 9 " in capsys.readouterr().out


# ---- objects of C files ----


def test_objects_are_compiled_where_something_has_changed(support, tmp_path, monkeypatch):
    objects = support("objects")
    monkeypatch.chdir(tmp_path)
    source, header, target = Path("a.c"), Path("a.h"), "out/deep/a.o"
    source.write_text("one")
    header.write_text("two")

    def build(*options, compiler=("cc",)):
        """Whether the source is compiled; the object is what it was compiled from."""
        text = source.read_text() + header.read_text() + "".join(options)
        kept = objects.Objects(objects.common_key([*compiler], options, ["a.h"]))
        Path(target).unlink(missing_ok=True)
        taken = kept.take("a.c", target)
        if not taken:
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            kept.make("a.c", target, lambda: Path(target).write_text(text))
        assert Path(target).read_text() == text
        return not taken

    assert build() and not build()
    source.write_text("three")
    assert build() and not build()
    header.write_text("four")
    assert build() and not build()
    assert build("-O2") and not build("-O2") and not build()
    assert build(compiler=("gcc", "-O2"))
    source.write_text("one")
    header.write_text("two")
    assert not build()  # as at first

    def fail():
        raise ValueError("error")

    source.write_text("five")
    kept = objects.Objects(objects.common_key(["cc"], (), ["a.h"]))
    with pytest.raises(ValueError, match="error"):
        kept.make("a.c", target, fail)
    assert not kept.take("a.c", target)
