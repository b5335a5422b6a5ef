"""Rungs as files by themselves: nvcc takes them, their kernels are right, and launched as ours are."""

import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gpureduce
from gpureduce.__main__ import main
from gpureduce._course.export import exported

pytestmark = pytest.mark.usefixtures("kept_kernels")

NAMES = exported()
ROOT = Path(__file__).resolve().parents[2]
SINGLE_PASS = ("v9", "v10", "v11", "v12")
SIZES = [0, 1, 3, 255, 257, 1000, 4099, 70001]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with all of them."""
    folder = tmp_path_factory.mktemp("exported")
    for name in NAMES:
        (folder / f"{name}.cu").write_text(gpureduce.kernels.export(name))
    return folder


@pytest.fixture(scope="module")
def nvcc():
    sys.path.insert(0, str(ROOT / "build_support"))
    try:
        from find_nvcc import find_nvcc

        return find_nvcc()
    except Exception as error:
        pytest.skip(f"no nvcc: {error}")
    finally:
        sys.path.pop(0)


def plan(name, n):
    """Return how we launch a rung: grid and shared memory of each launch."""
    found = gpureduce.profile(n, name, races=False)
    return [(kernel.grid[0], kernel.shared_bytes) for kernel in found.kernels]


def test_every_rung_can_be_exported():
    rungs = [variant.name for variant in gpureduce.variants("reduction") if variant.role == "rung"]
    assert [*rungs, "grid_stride"] == NAMES and len(rungs) == 13


@pytest.mark.parametrize("name", [name for name in NAMES if name not in SINGLE_PASS])
def test_kernels_of_several_passes(name, files):
    pytest.importorskip("cuda.pathfinder")
    walks = name not in ("v0", "v1", "v2", "v3", "v4", "v5")
    rung = gpureduce.course.ladder(
        files / f"{name}.cu",
        f"{name}_sum_f32",
        elements={"v8": 4}.get(name, 1 if name in ("v0", "v1", "v2", "grid_stride") else 2),
        grid=1024 if walks else None,
    )
    assert rung.check(SIZES).passed


@pytest.mark.parametrize("name", SINGLE_PASS)
def test_kernels_of_one_pass(name, files):
    pytest.importorskip("cuda.pathfinder")
    for n in (*SIZES[:-1], 20011):
        data = np.random.default_rng(n).integers(1, 16, n + 1).astype(np.float32)[:n]
        grid = max(1, min(n // 1024, 24))
        sums, ticket, out = np.full(grid, np.nan, np.float32), np.zeros(1, np.uint32), np.zeros(1, np.float32)
        found = gpureduce.simulate(
            files / f"{name}.cu", f"{name}_sum_f32", grid, 256,
            [data if n else np.zeros(1, np.float32), out, n, sums, ticket],
            shared_bytes=256 * 192 if name == "v12" else 0,
            cluster=math.gcd(grid, 8) if name == "v11" else 1,
        )  # fmt: skip
        assert out[0] == data.sum(dtype=np.float64) and not found.races and ticket[0] == 0


def test_nvcc_takes_all(files, nvcc):
    """All in one run of the compiler, for time's sake; --exhaustive links each by itself."""
    each = "".join(f'namespace of_{name} {{\n#include "{name}.cu"\n#undef CHECK\n}}\n' for name in NAMES)
    heads = "".join(f"#include <{name}>\n" for name in ("cstdint", "cstdio", "cstdlib", "vector"))
    (files / "all.cu").write_text(heads + each)
    command = [
        nvcc,
        "-ptx",
        "-std=c++17",
        "-arch=compute_90",
        "-Werror=all-warnings",
        "all.cu",
        "-o",
        "all.ptx",
    ]
    done = subprocess.run(command, cwd=files, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    entries = re.findall(r"\.entry (\w+)\(", (files / "all.ptx").read_text())
    assert sorted(entries) == sorted(f"{name}_sum_f32" for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_nvcc_builds_each(name, dtype, nvcc, tmp_path, exhaustive, on_gpu):
    if not exhaustive:
        pytest.skip("seconds each; needs --exhaustive or --device=cuda")
    text = gpureduce.kernels.export(name, dtype=dtype, block_size=128)
    (tmp_path / f"{name}.cu").write_text(text)
    command = re.search(r"nvcc -O3.*?(?=  )", text)[0].split()
    libraries = Path(nvcc).resolve().parent.parent / "lib"
    subprocess.run([nvcc, *command[1:], f"-L{libraries}"], cwd=tmp_path, check=True, timeout=300)
    if on_gpu:
        done = subprocess.run(
            [f"./{name}", "5000000"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0 and done.stdout.startswith(f"{name}: right; 5000000"), done.stdout


def test_the_host_launches_as_we_do(files, tmp_path):
    """As many blocks, and as much dynamic shared memory, pass for pass."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    lengths = {name: [2**16 + 1] for name in NAMES}
    for name in ("v6", "v8", "v10"):  # where the grid is held down, each in its way
        lengths[name] += [1, 1_200_000]
    parts, calls = [], []
    for name in NAMES:
        text = (files / f"{name}.cu").read_text()
        constants = re.findall(r"^constexpr unsigned .*?;", text, re.MULTILINE)
        span = re.search(r"constexpr uint64_t SPAN.*?;", text)[0]
        stages = re.search(r"^enum \{.*?\};", text, re.MULTILINE | re.DOTALL)
        plan_of = re.search(r"^static unsigned blocks_for.*?^\}", text, re.MULTILINE | re.DOTALL)[0]
        lines = [stages[0] if stages else "", *constants, span, plan_of]
        parts.append(f"namespace of_{name} {{\n" + "\n".join(lines) + "\n}")
        later = ", false" if ", bool first" in plan_of else ""
        first = ", true" if later else ""
        for n in lengths[name]:
            calls.append(f"""\
    for (unsigned long n = {n}, pass = 0; pass == 0 || ({int(name not in SINGLE_PASS)} && n > 1); ++pass) {{
        n = pass == 0 ? of_{name}::blocks_for(n{first}) : of_{name}::blocks_for(n{later});
        std::printf("{name} {n} %lu %u\\n", n, of_{name}::SHARED_BYTES);
    }}""")
    source = "#include <cstdint>\n#include <cstdio>\n" + "\n".join(parts)
    source += "\nint main() {\n" + "\n".join(calls) + "\n}\n"
    (tmp_path / "plan.cpp").write_text(source)
    subprocess.run([compiler, "-std=c++17", "plan.cpp", "-o", "plan"], cwd=tmp_path, check=True, timeout=60)
    said = subprocess.run([tmp_path / "plan"], capture_output=True, text=True, check=True).stdout.splitlines()
    wanted = []
    for name in NAMES:
        for n in lengths[name]:
            wanted += [(name, n, *each) for each in plan(name, n)]
    got = [(name, int(n), int(grid), int(shared)) for name, n, grid, shared in map(str.split, said)]
    assert [row[:3] for row in got] == [row[:3] for row in wanted]
    dynamic = {"v12": 256 * 192} | dict.fromkeys(("v0", "v1", "v2", "v3", "v4", "grid_stride"), 256 * 4)
    assert all(shared == dynamic.get(name, 0) for name, *_, shared in got)
    assert all(shared - dynamic.get(name, 0) in range(2048) for name, *_, shared in wanted)


def test_on_the_command_line(tmp_path, capsys):
    assert main(["export", "v3"]) == 0 and capsys.readouterr().out == gpureduce.kernels.export("v3")
    assert (
        main(["export", "v3", "--dtype", "float64", "--block-size", "64", "-o", str(tmp_path / "v3.cu")]) == 0
    )
    text = (tmp_path / "v3.cu").read_text()
    assert "v3_sum_f64(const double *in, double *out" in text and "BLOCK = 64;" in text
    for words, said in [
        (["v99"], "unknown variant 'v99'"),
        (["m3"], "m3 belongs to the ladder 'matmul'"),
        (["atomic"], "atomic cannot be exported"),
        (["v3", "--dtype", "int8"], "expected one of float32, float64, int64"),
        (["v3", "--block-size", "100"], "100 is not one of the block sizes of v3"),
    ]:
        assert main(["export", *words]) == 2 and said in capsys.readouterr().err


def test_files_can_be_read():
    for name in NAMES:
        text = gpureduce.kernels.export(name)
        assert '#include "' not in text and "GR_RUNG" not in text and "pragma once" not in text
        assert max(map(len, text.splitlines())) <= 120 and "\n\n\n" not in text
        assert text.startswith(gpureduce.source(name).splitlines()[0])
        assert text.count("struct Sum {") == 1 and "struct Prod" not in text
